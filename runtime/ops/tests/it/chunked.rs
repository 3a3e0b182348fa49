//! Chunks of host columns.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::datatypes::Int64Type;

use onrush_ops::column::{Chunk, LARGE, PIECE, each, pieces};

#[test]
fn each_chunk_knows_its_first_row() {
    let rows = (LARGE + 3) as i64;
    let all: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let none = all.slice(0, 0);
    let few: ArrayRef = Arc::new(Int64Array::from_iter_values(rows..rows + 5));
    let cut = pieces(&[none, all, few]);
    assert_eq!(cut.iter().map(|piece| piece.len()).collect::<Vec<_>>(), [PIECE, PIECE, 3, 5]);
    let first = |chunk: Chunk<'_>| Ok((chunk.row, chunk.array.as_primitive::<Int64Type>().value(0) as u64));
    for (row, value) in each(&cut, first).unwrap() {
        assert_eq!(row, value);
    }
}
