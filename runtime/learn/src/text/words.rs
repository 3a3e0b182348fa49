//! Numbered words: of the terms of some documents, and of a trained vocabulary.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::tensor::Tensor;

/// Words with their numbers in the order of their first occurrence: a hash table with open addressing.
pub struct Words {
    text: String,
    /// The end of each word in `text`.
    ends: Vec<usize>,
    hashes: Vec<u64>,
    /// The number of a word plus 1, or 0.
    slots: Vec<u32>,
    state: RandomState,
}

impl Words {
    /// Words whose hashes of `state` can be passed to another table of it.
    pub fn new(state: &RandomState) -> Self {
        Words { text: String::new(), ends: Vec::new(), hashes: Vec::new(), slots: vec![0; 64], state: state.clone() }
    }

    /// A table of the given words.
    pub fn of(words: &[String]) -> Self {
        let mut table = Words::new(&RandomState::new());
        words.iter().for_each(|word| {
            table.insert(word);
        });
        table
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn word(&self, number: usize) -> &str {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.text[start..self.ends[number]]
    }

    pub fn hash(&self, number: usize) -> u64 {
        self.hashes[number]
    }

    /// The number of a word.
    pub fn get(&self, word: &str) -> Option<u32> {
        let hash = self.state.hash_one(word);
        self.find(word, hash).ok()
    }

    /// The number of a word, which is added if it is new.
    pub fn insert(&mut self, word: &str) -> u32 {
        self.insert_hashed(word, self.state.hash_one(word))
    }

    /// [`Words::insert`] of a word whose hash another table of the same state knows.
    pub fn insert_hashed(&mut self, word: &str, hash: u64) -> u32 {
        match self.find(word, hash) {
            Ok(number) => number,
            Err(slot) => {
                self.text.push_str(word);
                self.ends.push(self.text.len());
                self.hashes.push(hash);
                let number = self.ends.len() as u32;
                self.slots[slot] = number;
                if self.ends.len() * 2 > self.slots.len() {
                    self.grow();
                }
                number - 1
            }
        }
    }

    /// The number of a word, or the slot for it.
    fn find(&self, word: &str, hash: u64) -> Result<u32, usize> {
        let last = self.slots.len() - 1;
        let mut slot = hash as usize & last;
        loop {
            match self.slots[slot] {
                0 => return Err(slot),
                found => {
                    let number = found as usize - 1;
                    if self.hashes[number] == hash && self.word(number) == word {
                        return Ok(found - 1);
                    }
                }
            }
            slot = (slot + 1) & last;
        }
    }

    fn grow(&mut self) {
        let mut slots = vec![0_u32; self.slots.len() * 4];
        let last = slots.len() - 1;
        for (number, hash) in (1..).zip(&self.hashes) {
            let mut slot = *hash as usize & last;
            while slots[slot] != 0 {
                slot = (slot + 1) & last;
            }
            slots[slot] = number;
        }
        self.slots = slots;
    }
}

/// Names in a model's file: arrays, because a description of many of them would be too long for a safetensors header.
#[derive(Serialize, Deserialize)]
struct PackedWords {
    /// The bytes of each name.
    lengths: Tensor,
    /// All names, six bytes in a number.
    bytes: Tensor,
}

/// For `#[serde(with = "...")]`.
pub mod packed {
    use super::*;

    pub fn serialize<S: Serializer>(names: &Arc<Vec<String>>, serializer: S) -> Result<S::Ok, S::Error> {
        let text = names.concat();
        let number = |six: &[u8]| six.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)) as f64;
        let lengths = Tensor::vector(names.iter().map(|name| name.len() as f64).collect());
        let bytes = Tensor::vector(text.as_bytes().chunks(6).map(number).collect());
        PackedWords { lengths, bytes }.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Vec<String>>, D::Error> {
        const LARGEST: f64 = (1_u64 << 48) as f64;
        let packed = PackedWords::deserialize(deserializer)?;
        let is_whole = |v: &f64| *v >= 0.0 && *v < LARGEST && v.fract() == 0.0;
        if !packed.lengths.data.iter().chain(&packed.bytes.data).all(is_whole) {
            return Err(D::Error::custom("names are not packed as numbers of six bytes"));
        }
        let six = |v: &f64| (*v as u64).to_le_bytes().into_iter().take(6);
        let bytes: Vec<u8> = packed.bytes.data.iter().flat_map(six).collect();
        let mut at = 0_usize;
        let mut names = Vec::with_capacity(packed.lengths.data.len());
        for length in &packed.lengths.data {
            let end = at.saturating_add(*length as usize);
            let name = bytes.get(at..end).and_then(|name| std::str::from_utf8(name).ok());
            names.push(name.ok_or_else(|| D::Error::custom("the bytes of the names are cut off"))?.to_string());
            at = end;
        }
        if bytes.len() - at >= 6 {
            return Err(D::Error::custom("there are more bytes than the names have"));
        }
        Ok(Arc::new(names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_numbers_when_the_table_grows() {
        let words: Vec<String> = (0..5000).map(|i| format!("w{i}")).collect();
        let table = Words::of(&words);
        assert!(words.iter().zip(0..).all(|(word, number)| table.get(word) == Some(number)));
        assert_eq!((table.len(), table.get("x"), table.get("")), (5000, None, None));
    }

    #[derive(Serialize, Deserialize)]
    struct Named(#[serde(with = "packed")] Arc<Vec<String>>);

    #[test]
    fn packed_names_come_back() {
        for names in [vec![], vec!["", "é中😀\n", "a"], vec!["abcdef", "ghijklm"]] {
            let names: Vec<String> = names.into_iter().map(str::to_string).collect();
            let (json, arrays) =
                crate::tensor::collect(|| serde_json::to_string(&Named(Arc::new(names.clone()))).unwrap());
            let read = crate::tensor::supply(arrays, || serde_json::from_str::<Named>(&json)).unwrap();
            assert_eq!(*read.0, names);
        }
    }
}
