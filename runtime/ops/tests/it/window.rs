//! Window functions over a table that is sorted by partition and order. Expected is a loop over the rows that follows
//! SQL's definition.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use onrush_kernels::Scalar;
use onrush_ops::operators::window::kinds;
use onrush_ops::{
    Accumulator, AggregateOp, Comparison, ExprGraph, NodeId, Op, OverflowPolicy, Stage, Window, WindowBoundary,
};

use super::support::{
    BOOL, FLOAT, INDEX, LONG, Nulls, SIZES, STRINGS, UNSIGNED, check, column, one_of, output, random, stage,
};

/// Rows in order: partition, order key and value.
struct Rows {
    partition: Vec<Option<i64>>,
    order: Vec<Option<i64>>,
    value: Vec<Option<i64>>,
}

impl Rows {
    /// Partitions of `length` rows on average, the last one of nulls, each with `peers` equal keys on average.
    fn new(rows: usize, length: u64, peers: u64, nulls: Nulls) -> Rows {
        let mut keys: Vec<(bool, i64, bool, i64)> = (0..rows)
            .map(|row| {
                let partition = (random(row, 141) % (rows as u64 / length + 1)) as i64;
                let order = (random(row, 142) % (length / peers + 1)) as i64 - 3;
                (partition == 0, partition, order == 1, order)
            })
            .collect();
        keys.sort_unstable();
        Rows {
            partition: keys.iter().map(|key| (!key.0).then_some(key.1)).collect(),
            order: keys.iter().map(|key| (!key.2).then_some(key.3)).collect(),
            value: (0..rows)
                .map(|row| nulls.is_valid(row, rows).then(|| (random(row, 143) % 2001) as i64 - 1000))
                .collect(),
        }
    }

    fn columns(&self) -> Vec<ArrayRef> {
        let rows = self.value.len();
        vec![
            Arc::new(Int64Array::from(self.partition.clone())),
            Arc::new(Int64Array::from(self.order.clone())),
            Arc::new(Int64Array::from(self.value.clone())),
            column::<StringArray, &str>(rows, Nulls::Alternating, |row| one_of(&STRINGS, row, 144)),
        ]
    }

    /// The rows of a row's partition.
    fn partition(&self, row: usize) -> std::ops::Range<usize> {
        let is_in = |other: &usize| self.partition[*other] == self.partition[row];
        let begin = (0..=row).rev().take_while(is_in).last().unwrap_or(row);
        let end = (row..self.value.len()).take_while(is_in).last().unwrap_or(row) + 1;
        begin..end
    }

    /// The rows of a partition with the same order key.
    fn peers(&self, row: usize) -> std::ops::Range<usize> {
        let partition = self.partition(row);
        let is_peer = |other: &usize| self.order[*other] == self.order[row];
        let begin = (partition.start..=row).rev().take_while(is_peer).last().unwrap_or(row);
        let end = (row..partition.end).take_while(is_peer).last().unwrap_or(row) + 1;
        begin..end
    }

    fn longs(&self, of: impl Fn(usize) -> Option<i64>) -> ArrayRef {
        Arc::new((0..self.value.len()).map(of).collect::<Int64Array>())
    }

    fn values(&self, rows: std::ops::Range<usize>) -> Vec<i64> {
        self.value[rows].iter().flatten().copied().collect()
    }
}

/// Nodes over the columns of [`Rows`].
struct Nodes {
    graph: ExprGraph,
    columns: Vec<NodeId>,
}

impl Nodes {
    fn new() -> Nodes {
        let mut graph = ExprGraph::new();
        let columns = vec![graph.input(0, LONG), graph.input(1, LONG), graph.input(2, LONG), graph.input(3, INDEX)];
        Nodes { graph, columns }
    }

    fn edge(&mut self, edge: WindowBoundary) -> NodeId {
        self.graph.add(Op::WindowBoundary(edge), &[], UNSIGNED)
    }

    fn row(&mut self) -> NodeId {
        self.graph.add(Op::RowNumber, &[], UNSIGNED)
    }

    fn rows(&mut self, count: u64) -> NodeId {
        self.graph.number(Scalar::U64, count.into())
    }

    fn two(&mut self, op: Op, a: NodeId, b: NodeId) -> NodeId {
        self.graph.add(op, &[a, b], UNSIGNED)
    }

    fn less(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.graph.add(Op::Compare(Comparison::Less), &[a, b], BOOL)
    }

    fn choose(&mut self, condition: NodeId, yes: NodeId, no: NodeId) -> NodeId {
        let kind = self.graph.kind(yes);
        self.graph.add(Op::IfElse, &[condition, yes, no], kind)
    }

    fn long(&mut self, id: NodeId) -> NodeId {
        self.graph.add(Op::Convert(OverflowPolicy::Error), &[id], LONG)
    }

    fn null(&mut self) -> NodeId {
        self.graph.null(UNSIGNED)
    }

    fn stages(self, window: Window, columns: Vec<NodeId>) -> Vec<Stage> {
        let window = Window { partition: vec![self.columns[0]], order: vec![self.columns[1]], ..window };
        vec![Stage { window: Some(window), ..stage(self.graph, output(columns)) }]
    }
}

/// Few and many partitions, with few and many peers.
const SHAPES: [(u64, u64); 4] = [(1, 1), (7, 2), (400, 1), (100_000, 50)];

#[test]
fn row_number_rank_and_dense_rank_number_rows_and_peers() {
    for rows in SIZES {
        for (length, peers) in SHAPES {
            let table = Rows::new(rows, length, peers, Nulls::None);
            let mut nodes = Nodes::new();
            let (begin, row, one) = (nodes.edge(WindowBoundary::Begin), nodes.row(), nodes.rows(1));
            let peers = nodes.edge(WindowBoundary::PeersBegin);
            let mut columns = Vec::new();
            for of in [row, peers] {
                let distance = nodes.two(Op::Subtract, of, begin);
                columns.push(nodes.two(Op::Add, distance, one));
            }
            columns.push(nodes.edge(WindowBoundary::PeersNumber));
            for edge in [WindowBoundary::End, WindowBoundary::PeersEnd] {
                columns.push(nodes.edge(edge));
            }
            let columns = columns.into_iter().map(|id| nodes.long(id)).collect();
            let dense = |row: usize| {
                let firsts = (table.partition(row).start..=row).filter(|other| table.peers(*other).start == *other);
                firsts.count() as i64
            };
            let expected = [
                table.longs(|row| Some((row - table.partition(row).start) as i64 + 1)),
                table.longs(|row| Some((table.peers(row).start - table.partition(row).start) as i64 + 1)),
                table.longs(|row| Some(dense(row))),
                table.longs(|row| Some(table.partition(row).end as i64)),
                table.longs(|row| Some(table.peers(row).end as i64)),
            ];
            check(nodes.stages(Window::default(), columns), &[&table.columns()], &expected);
        }
    }
}

#[test]
fn lag_and_lead_read_rows_of_the_partition_or_are_null() {
    for rows in SIZES {
        for (length, peers) in SHAPES {
            for by in [1_usize, 40] {
                let table = Rows::new(rows, length, peers, Nulls::Alternating);
                let mut nodes = Nodes::new();
                let (begin, end) = (nodes.edge(WindowBoundary::Begin), nodes.edge(WindowBoundary::End));
                let (row, by_rows, null) = (nodes.row(), nodes.rows(by as u64), nodes.null());
                let before = nodes.two(Op::Subtract, row, begin);
                let too_early = nodes.less(before, by_rows);
                let there = nodes.two(Op::Subtract, row, by_rows);
                let lag = nodes.choose(too_early, null, there);
                let there = nodes.two(Op::Add, row, by_rows);
                let inside = nodes.less(there, end);
                let lead = nodes.choose(inside, there, null);
                let columns = vec![
                    nodes.graph.add(Op::Gather(2), &[lag], LONG),
                    nodes.graph.add(Op::Gather(2), &[lead], LONG),
                    nodes.graph.add(Op::Gather(3), &[lag], INDEX),
                ];
                let at = |row: usize, there: Option<usize>| there.filter(|there| table.partition(row).contains(there));
                let name = |row: usize| Nulls::Alternating.is_valid(row, rows).then(|| one_of(&STRINGS, row, 144));
                let names = (0..rows).map(|row| name(at(row, row.checked_sub(by))?));
                let expected = [
                    table.longs(|row| table.value[at(row, row.checked_sub(by))?]),
                    table.longs(|row| table.value[at(row, Some(row + by))?]),
                    Arc::new(names.collect::<StringArray>()) as ArrayRef,
                ];
                check(nodes.stages(Window::default(), columns), &[&table.columns()], &expected);
            }
        }
    }
}

/// count, sum, min and max of the value column, in this order.
fn accumulators(nodes: &mut Nodes) -> Vec<Accumulator> {
    let value = nodes.columns[2];
    let key = nodes.graph.add(Op::OrderKey, &[value], LONG);
    vec![
        Accumulator::new(AggregateOp::Count, Some(value)),
        Accumulator::new(AggregateOp::SumInteger, Some(value)),
        Accumulator::new(AggregateOp::Min, Some(key)),
        Accumulator::new(AggregateOp::Max, Some(key)),
    ]
}

/// The result of `read` for each accumulator, null if the count is 0.
fn statistics(
    nodes: &mut Nodes,
    accumulators: &[Accumulator],
    read: impl Fn(&mut Nodes, u32, onrush_ops::DeviceType) -> NodeId,
) -> Vec<NodeId> {
    let of = kinds(&nodes.graph, accumulators);
    let all: Vec<NodeId> = of.iter().zip(0..).map(|(kind, number)| read(nodes, number, *kind)).collect();
    let zero = nodes.graph.number(Scalar::I64, 0);
    let count = nodes.graph.add(Op::Coalesce, &[all[0], zero], LONG);
    let some = nodes.less(zero, count);
    let null = nodes.graph.null(LONG);
    let mut columns = vec![count];
    for id in &all[1..] {
        columns.push(nodes.choose(some, *id, null));
    }
    columns
}

fn expected_statistics(table: &Rows, frame: impl Fn(usize) -> std::ops::Range<usize>) -> Vec<ArrayRef> {
    let some = |row: usize, of: fn(&[i64]) -> Option<i64>| of(&table.values(frame(row)));
    vec![
        table.longs(|row| Some(table.values(frame(row)).len() as i64)),
        table.longs(|row| some(row, |values| (!values.is_empty()).then(|| values.iter().sum()))),
        table.longs(|row| some(row, |values| values.iter().min().copied())),
        table.longs(|row| some(row, |values| values.iter().max().copied())),
    ]
}

/// ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW, and from the current row to the end.
#[test]
fn running_aggregates_restart_at_each_partition() {
    for rows in SIZES {
        for (length, peers) in SHAPES {
            for nulls in [Nulls::None, Nulls::Alternating, Nulls::All] {
                let table = Rows::new(rows, length, peers, nulls);
                let mut nodes = Nodes::new();
                let all = accumulators(&mut nodes);
                let row = nodes.row();
                let mut columns = statistics(&mut nodes, &all, |nodes, number, kind| {
                    nodes.graph.add(Op::Prefix(number), &[row], kind)
                });
                columns.extend(statistics(&mut nodes, &all, |nodes, number, kind| {
                    nodes.graph.add(Op::Suffix(number), &[row], kind)
                }));
                let window = Window { prefix: all.clone(), suffix: all, ..Window::default() };
                let mut expected = expected_statistics(&table, |row| table.partition(row).start..row + 1);
                expected.extend(expected_statistics(&table, |row| row..table.partition(row).end));
                check(nodes.stages(window, columns), &[&table.columns()], &expected);
            }
        }
    }
}

/// RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW: up to the last peer.
#[test]
fn running_sum_up_to_the_last_peer_is_equal_among_peers() {
    for rows in SIZES {
        for (length, peers) in SHAPES {
            let table = Rows::new(rows, length, peers, Nulls::First);
            let mut nodes = Nodes::new();
            let all = accumulators(&mut nodes);
            let (end, one) = (nodes.edge(WindowBoundary::PeersEnd), nodes.rows(1));
            let last = nodes.two(Op::Subtract, end, one);
            let columns =
                statistics(&mut nodes, &all, |nodes, number, kind| nodes.graph.add(Op::Prefix(number), &[last], kind));
            let window = Window { prefix: all, ..Window::default() };
            let expected = expected_statistics(&table, |row| table.partition(row).start..table.peers(row).end);
            check(nodes.stages(window, columns), &[&table.columns()], &expected);
        }
    }
}

/// ROWS BETWEEN n PRECEDING AND n FOLLOWING, row by row and by blocks of rows.
#[test]
fn sliding_aggregates_see_the_rows_of_their_frame() {
    for rows in SIZES {
        for (length, peers) in SHAPES {
            for (reach, block_tree) in [(2_usize, false), (100, true), (100, false)] {
                let table = Rows::new(rows, length, peers, Nulls::Alternating);
                let mut nodes = Nodes::new();
                let all = accumulators(&mut nodes);
                let (begin, end) = (nodes.edge(WindowBoundary::Begin), nodes.edge(WindowBoundary::End));
                let (row, by) = (nodes.row(), nodes.rows(reach as u64));
                let after = nodes.rows(reach as u64 + 1);
                let distance = nodes.two(Op::Subtract, row, begin);
                let too_early = nodes.less(distance, by);
                let from = nodes.two(Op::Subtract, row, by);
                let from = nodes.choose(too_early, begin, from);
                let to = nodes.two(Op::Add, row, after);
                let inside = nodes.less(to, end);
                let to = nodes.choose(inside, to, end);
                let columns = statistics(&mut nodes, &all, |nodes, number, kind| {
                    nodes.graph.add(Op::Sliding(number), &[from, to], kind)
                });
                let window = Window { sliding: all, block_tree, ..Window::default() };
                let expected = expected_statistics(&table, |row| {
                    let partition = table.partition(row);
                    row.saturating_sub(reach).max(partition.start)..(row + reach + 1).min(partition.end)
                });
                check(nodes.stages(window, columns), &[&table.columns()], &expected);
            }
        }
    }
}

/// Float sums of small integers, which are exact, and sums of 128 bits.
#[test]
fn running_sums_of_floats_and_of_128_bits_are_exact_for_integers() {
    for rows in SIZES {
        for (length, peers) in SHAPES {
            let table = Rows::new(rows, length, peers, Nulls::None);
            let mut nodes = Nodes::new();
            let (value, row) = (nodes.columns[2], nodes.row());
            let float = nodes.graph.add(Op::Convert(OverflowPolicy::Error), &[value], FLOAT);
            let wide = nodes.graph.add(Op::Convert(OverflowPolicy::Error), &[value], super::support::WIDE);
            let prefix = vec![
                Accumulator::new(AggregateOp::SumFloat, Some(float)),
                Accumulator::new(AggregateOp::SumI128, Some(wide)),
            ];
            let of_float = nodes.graph.add(Op::Prefix(0), &[row], FLOAT);
            let of_wide = nodes.graph.add(Op::Prefix(1), &[row], super::support::WIDE);
            let of_wide = nodes.long(of_wide);
            let sum = |row: usize| table.values(table.partition(row).start..row + 1).iter().sum::<i64>();
            let floats: Float64Array = (0..rows).map(|row| Some(sum(row) as f64)).collect();
            let expected = [Arc::new(floats) as ArrayRef, table.longs(|row| Some(sum(row)))];
            let window = Window { prefix, ..Window::default() };
            check(nodes.stages(window, vec![of_float, of_wide]), &[&table.columns()], &expected);
        }
    }
}
