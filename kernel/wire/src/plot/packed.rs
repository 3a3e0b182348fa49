//! Lists of pixels as bytes: a raster has some hundred thousand of them, which are copied instead of being written one
//! by one.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, Visitor};
use serde::ser::Serializer;

/// A number of four bytes.
pub trait Word: Sized + Copy {
    fn bytes(self) -> [u8; 4];
    fn of(bytes: [u8; 4]) -> Self;
}

impl Word for u32 {
    fn bytes(self) -> [u8; 4] {
        self.to_le_bytes()
    }

    fn of(bytes: [u8; 4]) -> Self {
        u32::from_le_bytes(bytes)
    }
}

impl Word for f32 {
    fn bytes(self) -> [u8; 4] {
        self.to_le_bytes()
    }

    fn of(bytes: [u8; 4]) -> Self {
        f32::from_le_bytes(bytes)
    }
}

pub fn serialize<W: Word, S: Serializer>(words: &[W], to: S) -> Result<S::Ok, S::Error> {
    let mut bytes = Vec::with_capacity(words.len() * 4);
    words.iter().for_each(|word| bytes.extend(word.bytes()));
    to.serialize_bytes(&bytes)
}

struct Words<W>(PhantomData<W>);

impl<W: Word> Visitor<'_> for Words<W> {
    type Value = Vec<W>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("numbers of four bytes each")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<W>, E> {
        let (words, rest) = bytes.as_chunks::<4>();
        if rest.is_empty() {
            return Ok(words.iter().map(|word| W::of(*word)).collect());
        }
        Err(E::invalid_length(bytes.len(), &"a multiple of four"))
    }
}

pub fn deserialize<'de, W: Word, D: Deserializer<'de>>(from: D) -> Result<Vec<W>, D::Error> {
    from.deserialize_bytes(Words(PhantomData))
}

#[cfg(test)]
mod tests {
    use crate::codec;
    use crate::plot::Pixels;

    #[test]
    fn pixels_come_back() {
        for pixels in
            [Pixels::Counts(vec![0, 1, u32::MAX]), Pixels::Numbers(vec![0.5, -1e30]), Pixels::Counts(Vec::new())]
        {
            let bytes = codec::content(&pixels);
            assert_eq!(codec::decode::<Pixels>(&bytes).unwrap(), pixels);
        }
        // Five bytes are not a list of numbers of four bytes.
        assert!(codec::decode::<Pixels>(&[0, 5, 1, 2, 3, 4, 5]).is_err());
    }
}
