//! Filters, skipped rows and limits of an output.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Float64Array, Int8Array, Int64Array, StringArray};
use arrow::compute::filter;
use onrush_ops::{Comparison, DeviceType, ExprGraph, Op, Output, Sink, kind_of};

use super::support::{
    BOOL, FEW_SIZES, LONG, Nulls, SIZES, STRINGS, check, column, condition, float, long, one_of, random, stage,
};

fn table(rows: usize, nulls: Nulls) -> Vec<ArrayRef> {
    vec![
        column::<BooleanArray, bool>(rows, nulls, |row| !random(row, 1).is_multiple_of(3)),
        column::<Int64Array, i64>(rows, nulls, |row| long(row, 2)),
        column::<Float64Array, f64>(rows, Nulls::Alternating, |row| float(row, 3)),
        column::<Int8Array, i8>(rows, Nulls::None, |row| long(row, 4) as i8),
        column::<BooleanArray, bool>(rows, Nulls::Last, |row| random(row, 5).is_multiple_of(2)),
        column::<StringArray, &str>(rows, nulls, |row| one_of(&STRINGS, row, 6)),
    ]
}

fn inputs(graph: &mut ExprGraph, columns: &[ArrayRef]) -> Vec<u32> {
    let input = |(index, column): (usize, &ArrayRef)| {
        graph.input(index, kind_of(column.data_type()).unwrap_or(DeviceType::Bool))
    };
    columns.iter().enumerate().map(input).collect()
}

/// Expected from `arrow-select`; a null condition keeps no row.
#[test]
fn filter_of_all_column_types_keeps_the_order_of_rows() {
    for rows in SIZES {
        for nulls in Nulls::ALL {
            let columns = table(rows, nulls);
            let mut graph = ExprGraph::new();
            let ids = inputs(&mut graph, &columns);
            let mut pipeline = stage(graph, Sink::Output(Output { columns: ids.clone(), skip: 0, limit: None }));
            pipeline.filter = Some(ids[0]);
            let condition = condition(&columns[0]);
            let expected: Vec<ArrayRef> = columns.iter().map(|column| filter(column, &condition).unwrap()).collect();
            check(vec![pipeline], &[&columns], &expected);
        }
    }
}

/// Expected from slices of what `arrow-select` keeps.
#[test]
fn filter_with_skip_and_limit_gives_a_slice_of_the_kept_rows() {
    for rows in FEW_SIZES {
        let columns = table(rows, Nulls::First);
        let condition = condition(&columns[0]);
        for (skip, limit) in [(0, Some(0)), (0, Some(5)), (3, None), (3, Some(7)), (2000, Some(1)), (0, Some(u64::MAX))]
        {
            for filtered in [false, true] {
                let mut graph = ExprGraph::new();
                let ids = inputs(&mut graph, &columns);
                let mut pipeline = stage(graph, Sink::Output(Output { columns: ids.clone(), skip, limit }));
                pipeline.filter = filtered.then_some(ids[0]);
                let slice = |column: &ArrayRef| {
                    let kept = if filtered { filter(column, &condition).unwrap() } else { Arc::clone(column) };
                    let from = kept.len().min(skip as usize);
                    kept.slice(from, (kept.len() - from).min(limit.unwrap_or(u64::MAX) as usize))
                };
                let expected: Vec<ArrayRef> = columns.iter().map(slice).collect();
                check(vec![pipeline], &[&columns], &expected);
            }
        }
    }
}

/// By hand: no row has a value above the highest one.
#[test]
fn filter_that_keeps_no_row_gives_empty_columns() {
    for rows in FEW_SIZES {
        let columns = table(rows, Nulls::None);
        let mut graph = ExprGraph::new();
        let ids = inputs(&mut graph, &columns);
        let highest = graph.number(onrush_kernels::Scalar::I64, i64::MAX.into());
        let above = graph.add(Op::Compare(Comparison::Greater), &[ids[1], highest], BOOL);
        let mut pipeline = stage(graph, Sink::Output(Output { columns: ids, skip: 0, limit: None }));
        pipeline.filter = Some(above);
        let expected: Vec<ArrayRef> = columns.iter().map(|column| column.slice(0, 0)).collect();
        check(vec![pipeline], &[&columns], &expected);
    }
}

/// Expected from the rows' numbers.
#[test]
fn row_number_of_kept_rows_is_that_of_the_source() {
    for rows in SIZES {
        let condition = column::<BooleanArray, bool>(rows, Nulls::None, |row| row % 3 == 1);
        let mut graph = ExprGraph::new();
        let filter = graph.input(0, BOOL);
        let row = graph.add(Op::RowNumber, &[], super::support::UNSIGNED);
        let row = graph.add(Op::Convert(onrush_ops::OverflowPolicy::Error), &[row], LONG);
        let mut pipeline = stage(graph, Sink::Output(Output { columns: vec![row], skip: 0, limit: None }));
        pipeline.filter = Some(filter);
        let kept = (0..rows as i64).filter(|row| row % 3 == 1);
        check(vec![pipeline], &[&[condition]], &[Arc::new(Int64Array::from_iter_values(kept))]);
    }
}
