//! Partitioned execution on small tables: the same rows as without partitions, by the kernels of partitions. Expected
//! is a loop over the rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use onrush_ops::{Accumulator, AggregateOp, Executor, ExprGraph, Join, JoinKind, Op, Sink, Stage, Tuning};

use super::support::{BOOL, LONG, Nulls, ROW, column, open, output, random, run, stage};

const SIZES: [usize; 4] = [33, 1023, 1025, 5000];

/// A separate device, whose kernels are those of one test.
fn device() -> Executor {
    open(true, Some(Tuning::small()))
}

/// Whether a kernel of this name was launched.
fn has_run(gpu: &Executor, entry: &str) -> bool {
    gpu.context().library.programs().iter().any(|program| program.entries.iter().any(|name| name == entry))
}

/// Sums and counts of the second column by the first one.
fn sums(filter_odd: bool) -> Vec<Stage> {
    let mut graph = ExprGraph::new();
    let (key, value, keep) = (graph.input(0, LONG), graph.input(1, LONG), graph.input(2, LONG));
    let one = graph.number(onrush_kernels::Scalar::I64, 1);
    let keep = graph.add(Op::Compare(onrush_ops::Comparison::Equal), &[keep, one], BOOL);
    let accumulators = vec![
        Accumulator::new(AggregateOp::Count, None),
        Accumulator::new(AggregateOp::Count, Some(value)),
        Accumulator::new(AggregateOp::SumInteger, Some(value)),
    ];
    let mut next = ExprGraph::new();
    let columns = (0..4).map(|at| next.input(at, LONG)).collect();
    let mut first = stage(graph, Sink::Aggregate { keys: vec![key], accumulators, quantiles: Vec::new() });
    first.filter = filter_odd.then_some(keep);
    vec![first, stage(next, output(columns))]
}

fn check_sums(gpu: &Executor, rows: usize, key: impl Fn(usize) -> i64, nulls: Nulls, filter_odd: bool) {
    let value = |row: usize| (random(row, 181) % 1000) as i64 - 500;
    let columns = [
        column::<Int64Array, i64>(rows, nulls, &key),
        column::<Int64Array, i64>(rows, Nulls::Alternating, value),
        column::<Int64Array, i64>(rows, Nulls::None, |row| (row % 2) as i64),
    ];
    let mut expected: BTreeMap<Option<i64>, (i64, i64, i64)> = BTreeMap::new();
    for row in (0..rows).filter(|row| !filter_odd || row % 2 == 1) {
        let group = expected.entry(nulls.is_valid(row, rows).then(|| key(row))).or_default();
        group.0 += 1;
        if row % 2 == 0 {
            group.1 += 1;
            group.2 += value(row);
        }
    }
    let chunks = columns.map(|column| vec![column]).to_vec();
    let types = vec![arrow::datatypes::DataType::Int64; 4];
    for found in run(gpu, &Arc::new(sums(filter_odd)), &[chunks], &types, 2).unwrap() {
        use arrow::array::{Array, AsArray};
        let found: Vec<&Int64Array> = found.iter().map(|column| column.as_primitive()).collect();
        let row = |row: usize| {
            let values = (found[1].value(row), found[2].value(row), found[3].value(row));
            (found[0].is_valid(row).then(|| found[0].value(row)), values)
        };
        let groups: BTreeMap<_, _> = (0..found[0].len()).map(row).collect();
        assert_eq!(groups.len(), found[0].len(), "a group is there twice");
        assert_eq!(groups, expected);
    }
}

#[test]
fn group_by_dense_keys_in_shared_memory_partitions_gives_each_group_once() {
    let gpu = device();
    for rows in SIZES {
        for nulls in [Nulls::None, Nulls::First] {
            for filter_odd in [false, true] {
                let keys = (rows / 4).max(1) as u64;
                check_sums(&gpu, rows, |row| (random(row, 182) % keys) as i64, nulls, filter_odd);
            }
        }
    }
    assert!(has_run(&gpu, "part_move") && has_run(&gpu, "group_parted"));
}

#[test]
fn group_by_keys_in_order_is_not_partitioned() {
    let gpu = device();
    for rows in SIZES {
        check_sums(&gpu, rows, |row| row as i64 / 10, Nulls::None, false);
    }
    assert!(has_run(&gpu, "part_count") && !has_run(&gpu, "group_parted"));
}

#[test]
fn group_by_sparse_computed_keys_in_l2_partitions_gives_each_group_once() {
    let gpu = device();
    for rows in SIZES {
        for nulls in [Nulls::None, Nulls::Alternating] {
            let keys = (rows / 2).max(1) as u64;
            let sparse = |row: usize| ((random(row, 183) % keys) as i64).wrapping_mul(0x1234_5678_9abc_def1);
            check_sums(&gpu, rows, sparse, nulls, false);
        }
    }
}

/// Pairs of rows are counted below an aggregate without keys: by hash tables, in partitions of both sides.
#[test]
fn join_of_sparse_keys_in_partitions_counts_each_pair_once() {
    let gpu = device();
    let sparse = |key: u64| (key as i64).wrapping_mul(0x1234_5678_9abc_def1);
    for rows in SIZES {
        for (others, unique) in [(33, true), (1025, true), (1025, false)] {
            let key = |row: usize| random(row, 184) % 1500;
            let other_key = |row: usize| if unique { row as u64 } else { random(row, 185) % 700 };
            let value = |row: usize| (random(row, 186) % 100) as i64;
            let here = [
                vec![column::<Int64Array, i64>(rows, Nulls::First, |row| sparse(key(row)))],
                vec![column::<Int64Array, i64>(rows, Nulls::None, value)],
            ];
            let there: [Vec<ArrayRef>; 2] = [
                vec![column::<Int64Array, i64>(others, Nulls::Last, |row| sparse(other_key(row)))],
                vec![column::<Int64Array, i64>(others, Nulls::None, value)],
            ];
            let (mut graph, mut side) = (ExprGraph::new(), ExprGraph::new());
            let (input, mine, its) = (graph.input(0, LONG), graph.input(1, LONG), side.input(0, LONG));
            let probe = graph.add(Op::Probe(0), &[input], ROW);
            let none = graph.add(Op::IsNull, &[probe], BOOL);
            let found = graph.add(Op::Not, &[none], BOOL);
            let joined = graph.add(Op::BuildColumn(0, 1), &[probe], LONG);
            let join = Join {
                table: 0,
                graph: side,
                keys: vec![its],
                probe,
                nulls_equal: false,
                how: JoinKind::Inner,
                residual: None,
                probe_filter: None,
            };
            let accumulators = vec![
                Accumulator::new(AggregateOp::Count, None),
                Accumulator::new(AggregateOp::SumInteger, Some(mine)),
                Accumulator::new(AggregateOp::SumInteger, Some(joined)),
            ];
            let sink = Sink::Aggregate { keys: Vec::new(), accumulators, quantiles: Vec::new() };
            let mut next = ExprGraph::new();
            let columns = (0..3).map(|at| next.input(at, LONG)).collect();
            let first = Stage { joins: vec![join], filter: Some(found), ..stage(graph, sink) };
            let stages = Arc::new(vec![first, stage(next, output(columns))]);
            let mut expected = [0_i64; 3];
            for row in 1..rows {
                for other in (0..others - 1).filter(|other| other_key(*other) == key(row)) {
                    expected[0] += 1;
                    expected[1] += value(row);
                    expected[2] += value(other);
                }
            }
            let types = vec![arrow::datatypes::DataType::Int64; 3];
            let tables = [here.to_vec(), there.to_vec()];
            for found in run(&gpu, &stages, &tables, &types, 3).unwrap() {
                let expected: Vec<ArrayRef> =
                    expected.iter().map(|value| Arc::new(Int64Array::from(vec![*value])) as ArrayRef).collect();
                assert_eq!(found, expected, "{rows} by {others} rows");
            }
        }
    }
    assert!(has_run(&gpu, "part_move"));
}
