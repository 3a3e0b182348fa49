//! Work on the chunks of a host column by all cores.

use arrow::array::{Array, ArrayRef};
use rayon::prelude::*;

use crate::Result;

/// Rows of a piece: a chunk of a file that was read.
pub const PIECE: usize = 1 << 17;
/// Rows from which on several cores share the work.
pub const LARGE: usize = 1 << 18;

/// The chunks without empty ones, large ones cut. Shares the buffers.
pub fn pieces(parts: &[ArrayRef]) -> Vec<ArrayRef> {
    let mut pieces = Vec::with_capacity(parts.len());
    for part in parts {
        match part.len() {
            0 => {}
            rows if rows < LARGE => pieces.push(std::sync::Arc::clone(part)),
            rows => {
                let starts = (0..rows).step_by(PIECE);
                pieces.extend(starts.map(|start| part.slice(start, PIECE.min(rows - start))));
            }
        }
    }
    pieces
}

/// A chunk of a column.
#[derive(Clone, Copy)]
pub struct Chunk<'a> {
    pub index: usize,
    /// The number of its first row.
    pub row: u64,
    pub array: &'a ArrayRef,
}

/// Runs `work` for each chunk. The results have the order of the chunks; of several errors one is given.
pub fn each<'a, T: Send>(parts: &'a [ArrayRef], work: impl Fn(Chunk<'a>) -> Result<T> + Sync + Send) -> Result<Vec<T>> {
    let (starts, rows) = starts(parts.iter().map(|part| part.len() as u64));
    let chunk = |(index, (row, array))| work(Chunk { index, row, array });
    if rows < LARGE as u64 || parts.len() < 2 {
        return starts.into_iter().zip(parts).enumerate().map(chunk).collect();
    }
    starts.into_par_iter().zip(parts).enumerate().map(chunk).collect()
}

/// The begin of each of some pieces, and the end of the last one.
pub fn starts(lengths: impl Iterator<Item = u64>) -> (Vec<u64>, u64) {
    let mut end = 0;
    let mut starts = Vec::with_capacity(lengths.size_hint().0);
    for length in lengths {
        starts.push(end);
        end += length;
    }
    (starts, end)
}
