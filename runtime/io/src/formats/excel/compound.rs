//! The sector chains of a compound file, the container of xls ([MS-CFB]). A damaged file may have a cycle, which
//! calamine follows without end.
//!
//! [MS-CFB]: https://learn.microsoft.com/openspecs/windows_protocols/ms-cfb

use std::io::{self, Read, Seek, SeekFrom};

/// Sector numbers from here on are marks: free, end of a chain, sectors of the table itself.
const MARKS: u32 = 0xFFFF_FFFA;
const HEADER: usize = 512;

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(u32::MAX, u32::from_le_bytes)
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(4).map(|four| word(four, 0))
}

/// Whether a chain of sectors is a cycle. A file that is cut off or has no such table has none: its reader says what is
/// wrong.
///
/// # Errors
/// If the file cannot be read.
pub fn has_cycle(file: &mut (impl Read + Seek)) -> io::Result<bool> {
    let mut header = Vec::with_capacity(HEADER);
    file.by_ref().take(HEADER as u64).read_to_end(&mut header)?;
    let size = match header.get(30) {
        Some(9) => 512_usize,
        Some(12) => 4096,
        _ => return Ok(false),
    };
    if header.len() < HEADER {
        return Ok(false);
    }
    let length = file.seek(SeekFrom::End(0))?;
    let sectors = length / size as u64;
    let mut sector = |number: u32| -> io::Result<Vec<u8>> {
        file.seek(SeekFrom::Start((u64::from(number) + 1) * size as u64))?;
        let mut bytes = Vec::with_capacity(size);
        file.by_ref().take(size as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    // The sectors of the table: 109 in the header, the others in a chain whose last word in each sector is the next
    // one.
    let mut table: Vec<u32> = words(&header[76..]).collect();
    let (mut next, mut seen) = (word(&header, 68), 0);
    while next < MARKS && seen <= sectors {
        table.extend(words(&sector(next)?));
        next = table.pop().unwrap_or(MARKS);
        seen += 1;
    }
    let mut following: Vec<u32> = Vec::new();
    for number in table.into_iter().filter(|number| u64::from(*number) < sectors).take(sectors as usize + 1) {
        following.extend(words(&sector(number)?));
    }
    Ok(is_cyclic(&following))
}

/// Whether a walk along `following` comes back to where it was.
fn is_cyclic(following: &[u32]) -> bool {
    // The walk that came to a sector first, from 1.
    let mut walks = vec![0_u32; following.len()];
    for start in 0..following.len() {
        let (mut at, walk) = (start, start as u32 + 1);
        while let Some(first) = walks.get_mut(at) {
            match *first {
                0 => *first = walk,
                same if same == walk => return true,
                _ => break,
            }
            at = following[at] as usize;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_found() {
        let end = 0xFFFF_FFFE;
        assert!(!is_cyclic(&[1, 2, end, 1, u32::MAX]));
        assert!(is_cyclic(&[1, 2, 0]) && is_cyclic(&[end, 1]) && is_cyclic(&[1, 2, 1]));
        assert!(!is_cyclic(&[]));
    }
}
