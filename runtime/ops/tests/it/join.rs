//! Hash joins. Expected is a loop over the pairs of rows with equal keys, as SQL defines joins: a null key matches
//! no row. Rows come in
//! the order of the probe side, then of the build side; a full join appends the build rows without a match.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, Int64Array, StringArray, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::Int64Type;
use onrush_ops::{Accumulator, AggregateOp, Comparison, ExprGraph, Join, JoinKind, NodeId, Op, Sink, Stage, kind_of};

use super::support::{
    BOOL, INDEX, LONG, Nulls, ROW, STRINGS, check, check_unordered, column, long, one_of, output, random, stage,
};

/// The name of the join in SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sql {
    Inner,
    Left,
    Full,
    Semi,
    Anti,
}

const ALL: [Sql; 5] = [Sql::Inner, Sql::Left, Sql::Full, Sql::Semi, Sql::Anti];

/// A pipeline that joins by its first `keys` columns, and gives the columns of both tables.
struct Case {
    sql: Sql,
    keys: usize,
    nulls_equal: bool,
    /// Whether the last column of the probe side must be below that of the build side.
    residual: bool,
}

impl Case {
    fn stages(&self, probe: &[ArrayRef], build: &[ArrayRef]) -> Vec<Stage> {
        let kind = |column: &ArrayRef| kind_of(column.data_type()).unwrap();
        let (mut graph, mut side) = (ExprGraph::new(), ExprGraph::new());
        let mine: Vec<NodeId> = probe.iter().enumerate().map(|(at, column)| graph.input(at, kind(column))).collect();
        let its: Vec<NodeId> = build[..self.keys].iter().enumerate().map(|(at, c)| side.input(at, kind(c))).collect();
        let probe = graph.add(Op::Probe(0), &mine[..self.keys], ROW);
        let none = graph.add(Op::IsNull, &[probe], BOOL);
        let found = graph.add(Op::Not, &[none], BOOL);
        let mut joined = Vec::new();
        for (at, column) in build.iter().enumerate() {
            joined.push(graph.add(Op::BuildColumn(0, at as u32), &[probe], kind(column)));
        }
        let mut filter = match self.sql {
            Sql::Inner | Sql::Semi => Some(found),
            Sql::Anti => Some(none),
            Sql::Left | Sql::Full => None,
        };
        let mut residual = None;
        if self.residual {
            let args = [mine[mine.len() - 1], joined[joined.len() - 1]];
            let below = graph.add(Op::Compare(Comparison::Less), &args, BOOL);
            match self.sql {
                Sql::Inner => filter = Some(graph.add(Op::And, &[found, below], BOOL)),
                _ => residual = Some(below),
            }
        }
        let columns = match self.sql {
            Sql::Semi | Sql::Anti => mine,
            _ => [mine, joined].concat(),
        };
        let how = match self.sql {
            Sql::Inner => JoinKind::Inner,
            Sql::Left => JoinKind::Outer,
            Sql::Full => JoinKind::Full,
            Sql::Semi | Sql::Anti => JoinKind::Semi,
        };
        let join = Join {
            table: 0,
            graph: side,
            keys: its,
            probe,
            nulls_equal: self.nulls_equal,
            how,
            residual,
            probe_filter: None,
        };
        vec![Stage { joins: vec![join], filter, ..stage(graph, output(columns)) }]
    }

    /// The pairs of rows by a loop over the probe side.
    fn expected(&self, probe: &[ArrayRef], build: &[ArrayRef]) -> Vec<ArrayRef> {
        let (rows, others) = (probe[0].len(), build[0].len());
        let text = |column: &ArrayRef, row: usize| {
            column.is_valid(row).then(|| arrow::util::display::array_value_to_string(column, row).unwrap())
        };
        let keys = |columns: &[ArrayRef], row: usize| -> Vec<Option<String>> {
            columns[..self.keys].iter().map(|column| text(column, row)).collect()
        };
        let last = |columns: &[ArrayRef], row: usize| {
            let column = columns[columns.len() - 1].as_primitive::<Int64Type>();
            column.is_valid(row).then(|| column.value(row))
        };
        let mut all: HashMap<Vec<Option<String>>, Vec<usize>> = HashMap::new();
        (0..others).for_each(|other| all.entry(keys(build, other)).or_default().push(other));
        let mut matched = vec![false; others];
        let (mut left, mut right): (Vec<Option<u64>>, Vec<Option<u64>>) = (Vec::new(), Vec::new());
        for row in 0..rows {
            let key = keys(probe, row);
            let comparable = self.nulls_equal || key.iter().all(Option::is_some);
            let holds = |other: &&usize| {
                let below = || matches!((last(probe, row), last(build, **other)), (Some(a), Some(b)) if a < b);
                comparable && (!self.residual || below())
            };
            let found: Vec<usize> = all.get(&key).into_iter().flatten().filter(holds).copied().collect();
            found.iter().for_each(|other| matched[*other] = true);
            match self.sql {
                Sql::Semi if !found.is_empty() => left.push(Some(row as u64)),
                Sql::Anti if found.is_empty() => left.push(Some(row as u64)),
                Sql::Semi | Sql::Anti => {}
                Sql::Left | Sql::Full if found.is_empty() => {
                    left.push(Some(row as u64));
                    right.push(None);
                }
                _ => {
                    left.extend(found.iter().map(|_| Some(row as u64)));
                    right.extend(found.iter().map(|other| Some(*other as u64)));
                }
            }
        }
        if self.sql == Sql::Full {
            for other in (0..others).filter(|other| !matched[*other]) {
                left.push(None);
                right.push(Some(other as u64));
            }
        }
        let taken = |columns: &[ArrayRef], rows: Vec<Option<u64>>| -> Vec<ArrayRef> {
            let rows = UInt64Array::from(rows);
            columns.iter().map(|column| take(column, &rows, None).unwrap()).collect()
        };
        let mut columns = taken(probe, left);
        if !matches!(self.sql, Sql::Semi | Sql::Anti) {
            columns.extend(taken(build, right));
        }
        columns
    }

    #[track_caller]
    fn check(&self, probe: &[ArrayRef], build: &[ArrayRef]) {
        let (stages, expected) = (self.stages(probe, build), self.expected(probe, build));
        match self.sql {
            Sql::Full => check_unordered(stages, &[probe, build], &expected),
            _ => check(stages, &[probe, build], &expected),
        }
    }
}

/// Rows of the probe side and of the build side.
const PAIRS: [(usize, usize); 6] = [(1, 1), (31, 32), (33, 1), (1025, 33), (33, 1025), (1024, 1023)];

fn payload(rows: usize, nulls: Nulls, seed: u64) -> ArrayRef {
    column::<Int64Array, i64>(rows, nulls, |row| (random(row, seed) % 100) as i64)
}

fn check_long_keys(probe: impl Fn(usize) -> i64, build: impl Fn(usize, usize) -> i64, nulls: (Nulls, Nulls)) {
    for (rows, others) in PAIRS {
        for sql in ALL {
            let here = [column::<Int64Array, i64>(rows, nulls.0, &probe), payload(rows, Nulls::None, 71)];
            let key = |row: usize| build(row, others);
            let there = [column::<Int64Array, i64>(others, nulls.1, key), payload(others, Nulls::Alternating, 72)];
            Case { sql, keys: 1, nulls_equal: false, residual: false }.check(&here, &there);
        }
    }
}

/// Each build key is there once; `row * 7` modulo a prime above the rows shuffles them.
#[test]
fn join_by_unique_dense_keys_matches_at_most_once() {
    check_long_keys(
        |row| (random(row, 73) % 50) as i64 - 5,
        |row, rows| (row * 7 % rows) as i64,
        (Nulls::Alternating, Nulls::None),
    );
}

#[test]
fn join_by_unique_sparse_keys_hashes_them() {
    let sparse = |key: i64| key.wrapping_mul(0x1234_5678_9abc_def1);
    check_long_keys(
        |row| sparse((random(row, 74) % 50) as i64),
        |row, _| sparse(row as i64),
        (Nulls::None, Nulls::First),
    );
}

#[test]
fn join_by_duplicate_dense_keys_gives_all_pairs() {
    check_long_keys(
        |row| (random(row, 75) % 30) as i64,
        |row, _| (random(row, 76) % 20) as i64,
        (Nulls::First, Nulls::Alternating),
    );
}

#[test]
fn join_by_duplicate_keys_at_the_ends_of_64_bits_gives_all_pairs() {
    check_long_keys(
        |row| one_of(&[i64::MIN, i64::MAX, 0, -1, 17], row, 77),
        |row, _| if row % 8 == 0 { one_of(&[i64::MIN, i64::MAX, 0], row, 78) } else { long(row, 79) },
        (Nulls::Last, Nulls::None),
    );
}

/// Foreign keys: every probe row has exactly one match.
#[test]
fn join_by_foreign_keys_matches_every_row() {
    for (rows, others) in PAIRS {
        for sql in ALL {
            let key = |row: usize| (random(row, 80) % others as u64) as i64;
            let here = [column::<Int64Array, i64>(rows, Nulls::None, key), payload(rows, Nulls::First, 81)];
            let there = [
                column::<Int64Array, i64>(others, Nulls::None, |row| (others - 1 - row) as i64),
                payload(others, Nulls::None, 82),
            ];
            Case { sql, keys: 1, nulls_equal: false, residual: false }.check(&here, &there);
        }
    }
}

#[test]
fn join_with_null_keys_on_both_sides_matches_none_of_them() {
    for (rows, others) in PAIRS {
        for sql in ALL {
            for nulls in [Nulls::All, Nulls::Alternating] {
                let here = [column::<Int32Array, i32>(rows, nulls, |row| row as i32 % 90), payload(rows, nulls, 83)];
                let there =
                    [column::<Int32Array, i32>(others, nulls, |row| row as i32 % 70), payload(others, nulls, 84)];
                Case { sql, keys: 1, nulls_equal: false, residual: false }.check(&here, &there);
            }
        }
    }
}

/// IS NOT DISTINCT FROM, as INTERSECT and EXCEPT compare rows.
#[test]
fn join_with_equal_nulls_matches_null_with_null() {
    for (rows, others) in PAIRS {
        for sql in ALL {
            let here =
                [column::<Int32Array, i32>(rows, Nulls::Last, |row| row as i32 % 90), payload(rows, Nulls::None, 104)];
            let there = [
                column::<Int32Array, i32>(others, Nulls::First, |row| row as i32 % 70),
                payload(others, Nulls::Last, 105),
            ];
            Case { sql, keys: 1, nulls_equal: true, residual: false }.check(&here, &there);
        }
    }
}

#[test]
fn join_by_strings_of_two_dictionaries_compares_strings() {
    for (rows, others) in PAIRS {
        for sql in ALL {
            let here = [
                column::<StringArray, &str>(rows, Nulls::First, |row| one_of(&STRINGS[..8], row, 85)),
                payload(rows, Nulls::None, 86),
            ];
            let there = [
                column::<StringArray, &str>(others, Nulls::Last, |row| one_of(&STRINGS[4..], row, 87)),
                payload(others, Nulls::None, 88),
            ];
            Case { sql, keys: 1, nulls_equal: false, residual: false }.check(&here, &there);
        }
    }
}

#[test]
fn join_by_several_keys_compares_each_of_them() {
    for (rows, others) in PAIRS {
        for (sql, wide) in [(Sql::Inner, false), (Sql::Inner, true), (Sql::Left, true), (Sql::Anti, false)] {
            for nulls_equal in [false, true] {
                let number = |row: usize, seed: u64| match wide {
                    true => one_of(&[i64::MIN, i64::MAX, 0], row, seed),
                    false => (random(row, seed) % 3) as i64,
                };
                let table = |rows: usize, nulls: Nulls, seed: u64| -> [ArrayRef; 3] {
                    [
                        column::<Int64Array, i64>(rows, nulls, |row| number(row, seed)),
                        column::<StringArray, &str>(rows, Nulls::Last, |row| one_of(&STRINGS[..4], row, seed + 1)),
                        payload(rows, Nulls::None, seed + 2),
                    ]
                };
                let (here, there) = (table(rows, Nulls::Alternating, 89), table(others, Nulls::First, 93));
                Case { sql, keys: 2, nulls_equal, residual: false }.check(&here, &there);
            }
        }
    }
}

#[test]
fn join_with_a_residual_condition_keeps_pairs_for_which_it_holds() {
    for (rows, others) in PAIRS {
        for sql in ALL {
            for few in [6, 2000] {
                let here = [
                    column::<Int64Array, i64>(rows, Nulls::None, |row| (random(row, 97) % few) as i64),
                    payload(rows, Nulls::Last, 98),
                ];
                let there = [
                    column::<Int64Array, i64>(others, Nulls::First, |row| (row as u64 * 3 % few) as i64),
                    payload(others, Nulls::Alternating, 99),
                ];
                Case { sql, keys: 1, nulls_equal: false, residual: true }.check(&here, &there);
            }
        }
    }
}

/// The sum over joined rows of groups by a column of the build side, as a loop over the pairs gives it.
#[test]
fn join_below_an_aggregate_sums_over_the_pairs() {
    for (rows, others) in PAIRS {
        for factor in [1, 0x1234_5678_9abc_def1_i64] {
            let key = |row: usize, seed: u64| ((random(row, seed) % 60) as i64).wrapping_mul(factor);
            let keys = column::<Int64Array, i64>(rows, Nulls::First, |row| key(row, 100));
            let values = payload(rows, Nulls::None, 101);
            let other_keys = column::<Int64Array, i64>(others, Nulls::None, |row| key(row, 102));
            let names = column::<StringArray, &str>(others, Nulls::Last, |row| one_of(&STRINGS, row, 103));
            let mut graph = ExprGraph::new();
            let (input, value) = (graph.input(0, LONG), graph.input(1, LONG));
            let probe = graph.add(Op::Probe(0), &[input], ROW);
            let none = graph.add(Op::IsNull, &[probe], BOOL);
            let found = graph.add(Op::Not, &[none], BOOL);
            let name = graph.add(Op::BuildColumn(0, 1), &[probe], INDEX);
            let mut side = ExprGraph::new();
            let its = side.input(0, LONG);
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
                Accumulator::new(AggregateOp::SumInteger, Some(value)),
            ];
            let sink = Sink::Aggregate { keys: vec![name], accumulators, quantiles: Vec::new() };
            let mut next = ExprGraph::new();
            let columns = vec![next.input(0, INDEX), next.input(1, LONG), next.input(2, LONG)];
            let stages = vec![
                Stage { joins: vec![join], filter: Some(found), ..stage(graph, sink) },
                stage(next, output(columns)),
            ];
            let mut expected: std::collections::BTreeMap<Option<&str>, (i64, i64)> = std::collections::BTreeMap::new();
            for row in (0..rows).filter(|row| Nulls::First.is_valid(*row, rows)) {
                for other in (0..others).filter(|other| key(*other, 102) == key(row, 100)) {
                    let name = Nulls::Last.is_valid(other, others).then(|| one_of(&STRINGS, other, 103));
                    let group = expected.entry(name).or_default();
                    group.0 += 1;
                    group.1 += (random(row, 101) % 100) as i64;
                }
            }
            let columns: [ArrayRef; 3] = [
                Arc::new(expected.keys().copied().collect::<StringArray>()),
                Arc::new(Int64Array::from_iter_values(expected.values().map(|group| group.0))),
                Arc::new(Int64Array::from_iter_values(expected.values().map(|group| group.1))),
            ];
            check_unordered(stages, &[&[keys, values], &[other_keys, names]], &columns);
        }
    }
}
