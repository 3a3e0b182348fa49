//! Lookup tables as a stage names them: values for each dictionary entry, UTC offsets of a time zone, or constant
//! bytes.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::ArrayRef;
use parking_lot::Mutex;

use crate::Result;

/// A table that a pipeline looks values up in.
#[derive(Clone)]
pub enum Lookup {
    /// A function of one string column, evaluated once for each entry of its dictionary.
    Strings {
        of: StringSource,
        /// From the dictionary's strings, followed by a null, to as many values.
        evaluate: Evaluate,
    },
    /// UTC offsets of a time zone.
    TimeZone(Arc<TimeZoneTable>),
    /// A constant of an expression: a string, a set of characters, an automaton.
    Constant(Arc<Constant>),
}

/// Bytes in whole words, so that they can be read so.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Constant(pub(crate) Vec<u64>);

impl Lookup {
    /// Bytes that a kernel reads. The same ones are uploaded once.
    pub fn constant(bytes: &[u8]) -> Lookup {
        static CACHE: Mutex<VecDeque<Arc<Constant>>> = Mutex::new(VecDeque::new());
        const CONSTANTS: usize = 256;
        let words = bytes.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        });
        let constant = Constant(words.collect());
        let mut known = CACHE.lock();
        let place = known.iter().position(|one| **one == constant);
        let found = place.and_then(|place| known.remove(place)).unwrap_or_else(|| Arc::new(constant));
        known.push_back(Arc::clone(&found));
        if known.len() > CONSTANTS {
            known.pop_front();
        }
        Lookup::Constant(found)
    }

    /// A string for [`crate::ir::expr::StringOp::Literal`].
    pub fn text(text: &str) -> Lookup {
        let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
        bytes.extend(text.as_bytes());
        Lookup::constant(&bytes)
    }
}

/// A dictionary-encoded string column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StringSource {
    /// A column of the source.
    Input(u32),
    /// A column of the table of a join.
    BuildColumn(u32, u32),
    /// Elements of lists of the source.
    Elements(u32),
}

pub type Evaluate = Arc<dyn Fn(&ArrayRef) -> Result<ArrayRef> + Send + Sync>;

/// The UTC offsets of a time zone in seconds, and since when each one applies: ascending, the first one from the
/// beginning of time on.
#[derive(Debug)]
pub struct TimeZoneTable {
    pub starts: Vec<i64>,
    pub offsets: Vec<i64>,
}
