//! ORDER BY. Expected is a stable sort of the row numbers by Arrow's comparators (`arrow-ord`): floats are in their
//! total order, strings in that of their bytes.

use std::cmp::Ordering;

use arrow::array::{
    Array, ArrayRef, BooleanArray, Float32Array, Float64Array, Int8Array, Int64Array, StringArray, UInt32Array,
    UInt64Array, make_comparator,
};
use arrow::compute::{SortOptions, take};
use arrow::datatypes::DataType;
use onrush_ops::{ExprGraph, NodeId, Op, Sink, Sort, Stage, kind_of};

use super::support::{
    BOOL, FEW_SIZES, LONG, Nulls, SIZES, STRINGS, as_group, check_row_error, check_unchecked, column, float, long,
    one_of, random, sort_key, stage,
};

const OPTIONS: [SortOptions; 4] = [
    SortOptions { descending: false, nulls_first: false },
    SortOptions { descending: false, nulls_first: true },
    SortOptions { descending: true, nulls_first: false },
    SortOptions { descending: true, nulls_first: true },
];

fn inputs(graph: &mut ExprGraph, columns: &[ArrayRef]) -> Vec<NodeId> {
    columns.iter().enumerate().map(|(at, column)| graph.input(at, kind_of(column.data_type()).unwrap())).collect()
}

/// A pipeline that sorts by some of its columns.
fn stages(columns: &[ArrayRef], by: &[(usize, SortOptions)], skip: u64, limit: Option<u64>) -> Vec<Stage> {
    let mut graph = ExprGraph::new();
    let ids = inputs(&mut graph, columns);
    let keys = by.iter().map(|(at, options)| sort_key(&mut graph, ids[*at], options.descending, options.nulls_first));
    let keys = keys.collect();
    vec![stage(graph, Sink::Sort(Sort { columns: ids, keys, skip, limit }))]
}

fn sorted(columns: &[ArrayRef], by: &[(usize, SortOptions)], kept: impl Fn(usize) -> bool) -> Vec<ArrayRef> {
    let compare: Vec<_> =
        by.iter().map(|(at, options)| make_comparator(&columns[*at], &columns[*at], *options).unwrap()).collect();
    let mut rows: Vec<usize> = (0..columns[0].len()).filter(|row| kept(*row)).collect();
    rows.sort_by(|a, b| {
        compare.iter().map(|compare| compare(*a, *b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    });
    let rows = UInt32Array::from_iter_values(rows.into_iter().map(|row| row as u32));
    columns.iter().map(|column| take(column, &rows, None).unwrap()).collect()
}

/// The row's number, by which the order of equal keys is seen.
fn numbers(rows: usize) -> ArrayRef {
    column::<Int64Array, i64>(rows, Nulls::None, |row| row as i64)
}

#[test]
fn sort_by_one_key_of_each_type_is_stable() {
    for rows in SIZES {
        for (number, nulls) in Nulls::ALL.into_iter().enumerate() {
            let keys = [
                column::<Int64Array, i64>(rows, nulls, |row| long(row, 111)),
                column::<Int64Array, i64>(rows, nulls, |row| (random(row, 112) % 5) as i64 - 2),
                column::<UInt64Array, u64>(rows, nulls, |row| long(row, 113) as u64),
                column::<Int8Array, i8>(rows, nulls, |row| long(row, 114) as i8),
                column::<Float64Array, f64>(rows, nulls, |row| float(row, 115)),
                column::<Float32Array, f32>(rows, nulls, |row| float(row, 116) as f32),
                column::<BooleanArray, bool>(rows, nulls, |row| random(row, 117).is_multiple_of(2)),
                column::<StringArray, &str>(rows, nulls, |row| one_of(&STRINGS, row, 118)),
            ];
            for (key, options) in keys.iter().zip(OPTIONS.into_iter().cycle().skip(number)) {
                let columns = [std::sync::Arc::clone(key), numbers(rows)];
                let by = [(0, options)];
                check_unchecked(stages(&columns, &by, 0, None), &[&columns], &sorted(&columns, &by, |_| true));
            }
        }
    }
}

#[test]
fn sort_of_a_key_alone_gives_its_values_in_order() {
    for rows in SIZES {
        for nulls in [Nulls::None, Nulls::Alternating] {
            for options in OPTIONS {
                let keys = [
                    column::<Int64Array, i64>(rows, nulls, |row| long(row, 119)),
                    column::<UInt64Array, u64>(rows, nulls, |row| long(row, 120) as u64),
                    column::<StringArray, &str>(rows, nulls, |row| one_of(&STRINGS, row, 121)),
                ];
                for key in keys {
                    let by = [(0, options)];
                    let expected = sorted(std::slice::from_ref(&key), &by, |_| true);
                    check_unchecked(stages(std::slice::from_ref(&key), &by, 0, None), &[&[key]], &expected);
                }
            }
        }
    }
}

/// Zeros are one value in SQL and NaNs another one above all others: both stay in the order in which they came.
#[test]
fn sort_of_floats_as_sql_compares_them_keeps_the_order_of_zeros() {
    for rows in SIZES {
        for nulls in [Nulls::None, Nulls::First] {
            for options in OPTIONS {
                let columns = [column::<Float64Array, f64>(rows, nulls, |row| float(row, 122)), numbers(rows)];
                let mut graph = ExprGraph::new();
                let ids = inputs(&mut graph, &columns);
                let value = as_group(&mut graph, ids[0]);
                let keys = vec![sort_key(&mut graph, value, options.descending, options.nulls_first)];
                let pipeline = stage(graph, Sink::Sort(Sort { columns: ids, keys, skip: 0, limit: None }));
                // The same order of keys in which zeros are equal.
                let floats = column::<Float64Array, f64>(rows, nulls, |row| float(row, 122) + 0.0);
                let by_key = [std::sync::Arc::clone(&floats), numbers(rows)];
                let order = sorted(&by_key, &[(0, options)], |_| true);
                let rows_in_order = arrow::compute::cast(&order[1], &DataType::UInt32).unwrap();
                let expected = columns.each_ref().map(|column| take(column, &rows_in_order, None).unwrap());
                check_unchecked(vec![pipeline], &[&columns], &expected);
            }
        }
    }
}

#[test]
fn sort_by_several_keys_compares_the_first_one_first() {
    for rows in SIZES {
        for (number, nulls) in Nulls::ALL.into_iter().enumerate() {
            let columns = [
                column::<BooleanArray, bool>(rows, nulls, |row| random(row, 123).is_multiple_of(2)),
                column::<StringArray, &str>(rows, Nulls::Alternating, |row| one_of(&STRINGS, row, 124)),
                column::<Float64Array, f64>(rows, nulls, |row| float(row, 125)),
                column::<Int64Array, i64>(rows, Nulls::Last, |row| long(row, 126)),
                numbers(rows),
            ];
            for order in [[0, 1, 2, 3], [3, 2, 1, 0]] {
                let options = OPTIONS.into_iter().cycle().skip(number);
                let by: Vec<(usize, SortOptions)> = order.into_iter().zip(options).collect();
                check_unchecked(stages(&columns, &by, 0, None), &[&columns], &sorted(&columns, &by, |_| true));
            }
        }
    }
}

#[test]
fn sort_with_skip_and_limit_gives_a_slice_of_the_sorted_rows() {
    for rows in FEW_SIZES {
        let columns = [column::<Int64Array, i64>(rows, Nulls::Alternating, |row| long(row, 127)), numbers(rows)];
        for (columns, by) in [(&columns[..], [(0, OPTIONS[2])]), (&columns[1..], [(0, OPTIONS[2])])] {
            let all = sorted(columns, &by, |_| true);
            for (skip, limit) in
                [(0, Some(1)), (5, None), (5, Some(7)), (2000, Some(3)), (0, Some(0)), (1, Some(u64::MAX))]
            {
                let from = rows.min(skip as usize);
                let count = (rows - from).min(limit.unwrap_or(u64::MAX) as usize);
                let expected: Vec<ArrayRef> = all.iter().map(|column| column.slice(from, count)).collect();
                check_unchecked(stages(columns, &by, skip, limit), &[columns], &expected);
            }
        }
    }
}

#[test]
fn sort_of_filtered_rows_sorts_the_kept_ones() {
    for rows in SIZES {
        let columns = [
            column::<Int64Array, i64>(rows, Nulls::First, |row| (random(row, 128) % 100) as i64),
            column::<BooleanArray, bool>(rows, Nulls::Alternating, |row| !random(row, 129).is_multiple_of(3)),
            numbers(rows),
        ];
        for options in OPTIONS {
            let by = [(0, options)];
            let mut pipeline = stages(&columns, &by, 0, None);
            pipeline[0].filter = Some(
                pipeline[0]
                    .graph
                    .find(&onrush_ops::ir::expr::Node { op: Op::Input(1), args: Vec::new(), kind: BOOL })
                    .unwrap(),
            );
            let kept = |row: usize| row.is_multiple_of(2) && !random(row, 129).is_multiple_of(3);
            check_unchecked(pipeline, &[&columns], &sorted(&columns, &by, kept));
        }
    }
}

/// By hand.
#[test]
fn sort_by_a_key_with_a_row_error_reports_it() {
    let columns: [ArrayRef; 1] = [std::sync::Arc::new(Int64Array::from(vec![3, 0, 1]))];
    let mut graph = ExprGraph::new();
    let input = graph.input(0, LONG);
    let one = graph.number(onrush_kernels::Scalar::I64, 1);
    let value = graph.add(Op::Divide, &[one, input], LONG);
    let keys = vec![sort_key(&mut graph, value, false, false)];
    let pipeline = stage(graph, Sink::Sort(Sort { columns: vec![input], keys, skip: 0, limit: None }));
    check_row_error(vec![pipeline], &[&columns], &[DataType::Int64]);
}
