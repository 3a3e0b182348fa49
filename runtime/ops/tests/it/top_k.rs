//! Top-k: the rows with the lowest keys and all that equal the last of them, in the order in which they came. Expected
//! is the k-th key of a sorted copy, and a loop over the rows.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, StringArray, UInt32Array, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::UInt64Type;
use onrush_ops::{ExprGraph, Sink, TopK, kind_of};

use super::support::{LONG, Nulls, STRINGS, check, column, long, one_of, random, sort_key, stage};

/// Beyond 1024 rows a sample bounds the keys on the emulated device.
const SIZES: [usize; 8] = [1, 31, 32, 33, 1023, 1024, 1025, 5000];

fn lowest(columns: &[ArrayRef], keys: &[u64], wanted: u64, kept: impl Fn(usize) -> bool) -> Vec<ArrayRef> {
    let rows: Vec<usize> = (0..keys.len()).filter(|row| kept(*row)).collect();
    let mut sorted: Vec<u64> = rows.iter().map(|row| keys[*row]).collect();
    sorted.sort_unstable();
    let edge = sorted.get(wanted as usize - 1).copied().unwrap_or(u64::MAX);
    let rows = rows.into_iter().filter(|row| keys[*row] <= edge).map(|row| row as u32);
    let rows = UInt32Array::from_iter_values(rows);
    columns.iter().map(|column| take(column, &rows, None).unwrap()).collect()
}

fn check_keys(keys: &ArrayRef, wanted: u64) {
    let rows = keys.len();
    let columns = [
        std::sync::Arc::clone(keys),
        column::<StringArray, &str>(rows, Nulls::Alternating, |row| one_of(&STRINGS, row, 131)),
        column::<BooleanArray, bool>(rows, Nulls::First, |row| !random(row, 132).is_multiple_of(4)),
    ];
    for filtered in [false, true] {
        let mut graph = ExprGraph::new();
        let ids: Vec<u32> = columns
            .iter()
            .enumerate()
            .map(|(at, column)| graph.input(at, kind_of(column.data_type()).unwrap()))
            .collect();
        let mut pipeline = stage(graph, Sink::TopK(TopK { columns: ids.clone(), key: ids[0], rows: wanted }));
        pipeline.filter = filtered.then_some(ids[2]);
        let kept = |row: usize| !filtered || (row > 0 && !random(row, 132).is_multiple_of(4));
        let expected = lowest(&columns, keys.as_primitive::<UInt64Type>().values(), wanted, kept);
        check(vec![pipeline], &[&columns], &expected);
    }
}

#[test]
fn top_k_of_random_keys_gives_the_lowest_ones() {
    for rows in SIZES {
        for wanted in [1, 10, 100, 4000] {
            check_keys(&column::<UInt64Array, u64>(rows, Nulls::None, |row| random(row, 133)), wanted);
        }
    }
}

#[test]
fn top_k_with_equal_keys_gives_all_of_the_last_key() {
    for rows in SIZES {
        for (wanted, values) in [(1, 1), (10, 3), (10, 50), (100, 200)] {
            check_keys(&column::<UInt64Array, u64>(rows, Nulls::None, |row| random(row, 134) % values), wanted);
            // The highest key is one as any other.
            check_keys(&column::<UInt64Array, u64>(rows, Nulls::None, |_| u64::MAX), wanted);
        }
    }
}

#[test]
fn top_k_of_keys_in_order_gives_the_first_or_the_last_rows() {
    for rows in SIZES {
        for wanted in [1, 33] {
            check_keys(&column::<UInt64Array, u64>(rows, Nulls::None, |row| row as u64), wanted);
            check_keys(&column::<UInt64Array, u64>(rows, Nulls::None, |row| u64::MAX - row as u64), wanted);
        }
    }
}

/// With the keys of ORDER BY: nulls are next to the lowest or the highest value.
#[test]
fn top_k_of_a_nullable_column_follows_the_place_of_nulls() {
    for rows in SIZES {
        for nulls in Nulls::ALL {
            for (descending, nulls_first) in [(false, false), (false, true), (true, false), (true, true)] {
                let columns = [column::<Int64Array, i64>(rows, nulls, |row| long(row, 135))];
                let mut graph = ExprGraph::new();
                let input = graph.input(0, LONG);
                let key = sort_key(&mut graph, input, descending, nulls_first).key;
                let sink = Sink::TopK(TopK { columns: vec![input], key, rows: 10 });
                let key_of = |row: usize| match nulls.is_valid(row, rows) {
                    true => (long(row, 135) as u64 ^ 1 << 63) ^ if descending { u64::MAX } else { 0 },
                    false => {
                        if nulls_first {
                            0
                        } else {
                            u64::MAX
                        }
                    }
                };
                let keys: Vec<u64> = (0..rows).map(key_of).collect();
                let expected = lowest(&columns, &keys, 10, |_| true);
                check(vec![stage(graph, sink)], &[&columns], &expected);
            }
        }
    }
}
