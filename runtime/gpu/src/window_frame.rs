//! The rows that a window function sees from a row: between two rows, two values of the order's key, or an edge of the
//! partition.

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{WindowFrame, WindowFrameBound, WindowFrameUnits};
use datafusion::physical_expr::PhysicalSortExpr;
use onrush_kernels::Scalar;
use onrush_ops::{Comparison, DeviceType, ExprGraph, LiteralValue, NodeId, Op, WindowBoundary};

use super::arithmetic;
use super::cpu_reason::CpuReason;
use super::fragment_builder::FragmentBuilder;

pub const ROWS: DeviceType = DeviceType::Number(Scalar::U64);

/// Rows of a moving frame from which on a row does not visit all rows of its frame.
const BLOCK_TREE_ROWS: u64 = 64;
/// With more rows than this, sums of integers are computed from prefix sums, without a visit to each row.
const PREFIX_SUM_ROWS: u64 = 32;

/// The rows that a function sees from a row: `from` to before `to`.
pub struct Frame {
    pub from: NodeId,
    pub to: NodeId,
    pub reach: FrameExtent,
    /// How many rows it has at most, where both ends move: none where values tell.
    rows: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum FrameExtent {
    /// From the partition's beginning on.
    FromBegin,
    /// Up to the partition's end.
    ToEnd,
    /// Some rows that move with both ends; how many a range of values has, only the kernel finds.
    Sliding,
}

impl Frame {
    /// Whether looking at all rows costs more than what runs along the partition, where that is as exact.
    pub fn is_long(&self) -> bool {
        self.reach == FrameExtent::Sliding && self.rows.is_none_or(|rows| rows > PREFIX_SUM_ROWS)
    }

    /// Whether what is known of spans of rows makes it shorter.
    pub fn is_spanned(&self) -> bool {
        self.reach == FrameExtent::Sliding && self.rows.is_none_or(|rows| rows > BLOCK_TREE_ROWS)
    }

    /// The sum of an integer accumulator over the frame: the prefix sum at its end less the prefix sum before its
    /// start.
    pub fn difference(&self, graph: &mut ExprGraph, index: usize, kind: DeviceType) -> NodeId {
        let DeviceType::Number(scalar) = kind else { return self.value(graph, index, kind) };
        let (one, none, zero) = (rows(graph, 1), graph.null(ROWS), graph.number(scalar, 0));
        let upto = |graph: &mut ExprGraph, some: NodeId, end: NodeId| {
            let last = two(graph, Op::Subtract, end, one);
            let last = graph.add(Op::IfElse, &[some, last, none], ROWS);
            let value = graph.add(Op::Prefix(index as u32), &[last], kind);
            graph.add(Op::Coalesce, &[value, zero], kind)
        };
        let some = graph.add(Op::Compare(Comparison::Greater), &[self.to, self.from], DeviceType::Bool);
        let begin = edge(graph, WindowBoundary::Begin);
        let later = graph.add(Op::Compare(Comparison::Greater), &[self.from, begin], DeviceType::Bool);
        let later = graph.add(Op::And, &[some, later], DeviceType::Bool);
        let (all, before) = (upto(graph, some, self.to), upto(graph, later, self.from));
        graph.add(Op::Subtract, &[all, before], kind)
    }

    /// The value of an accumulator over the frame's rows. Null if there are none and nothing was looped over.
    pub fn value(&self, graph: &mut ExprGraph, index: usize, kind: DeviceType) -> NodeId {
        let index = index as u32;
        if self.reach == FrameExtent::Sliding {
            return graph.add(Op::Sliding(index), &[self.from, self.to], kind);
        }
        let some = graph.add(Op::Compare(Comparison::Greater), &[self.to, self.from], DeviceType::Bool);
        let none = graph.null(ROWS);
        if self.reach == FrameExtent::ToEnd {
            let first = graph.add(Op::IfElse, &[some, self.from, none], ROWS);
            return graph.add(Op::Suffix(index), &[first], kind);
        }
        let one = rows(graph, 1);
        let last = graph.add(Op::Subtract, &[self.to, one], ROWS);
        let last = graph.add(Op::IfElse, &[some, last, none], ROWS);
        graph.add(Op::Prefix(index), &[last], kind)
    }
}

/// A value less or more by so much, as a literal of the key's type.
#[derive(Clone, Copy)]
struct Distance {
    by: NodeId,
    /// Before the row in the order.
    before: bool,
}

/// The start or the end of a frame.
#[derive(Clone, Copy)]
enum FrameBound {
    Edge,
    Peers,
    /// Rows behind the row's own, or before it.
    Before(u64),
    Behind(u64),
    Range(Distance),
}

/// The only key of an order, among whose values a frame's ends are looked for.
#[derive(Clone, Copy)]
struct Key {
    value: NodeId,
    /// The bits that order it.
    bits: NodeId,
    descending: bool,
    nulls_first: bool,
}

/// How the frames of windows with one order are found.
pub struct Frames<'a> {
    pub order: &'a [PhysicalSortExpr],
}

impl Frames<'_> {
    /// The frame of a row, as nodes.
    pub fn of(&self, open: &mut FragmentBuilder, of: &WindowFrame) -> Result<Frame, CpuReason> {
        let refused = |what: &str| Err(CpuReason::feature(format!("a window {what}")));
        let ranges = match of.units {
            WindowFrameUnits::Rows => false,
            WindowFrameUnits::Range => true,
            WindowFrameUnits::Groups => return refused("of groups of rows"),
        };
        let count = |value: &ScalarValue| {
            let count = value.cast_to(&DataType::UInt64).ok();
            let count = count.and_then(|value| if let ScalarValue::UInt64(count) = value { count } else { None });
            count.ok_or_else(|| CpuReason::feature(format!("a window of `{value}` rows")))
        };
        let is_range = |bound: &WindowFrameBound| {
            ranges && !bound.is_unbounded() && !matches!(bound, WindowFrameBound::CurrentRow)
        };
        let key = match is_range(&of.start_bound) || is_range(&of.end_bound) {
            true => Some(self.key(open)?),
            false => None,
        };
        let mut bound = |bound: &WindowFrameBound| match (bound, key) {
            (bound, _) if bound.is_unbounded() => Ok(FrameBound::Edge),
            (WindowFrameBound::CurrentRow, _) if ranges && self.order.is_empty() => Ok(FrameBound::Edge),
            (WindowFrameBound::CurrentRow, _) if ranges => Ok(FrameBound::Peers),
            (WindowFrameBound::CurrentRow, _) => Ok(FrameBound::Before(0)),
            (WindowFrameBound::Preceding(by), Some(_)) => self.distance(open, by, true).map(FrameBound::Range),
            (WindowFrameBound::Following(by), Some(_)) => self.distance(open, by, false).map(FrameBound::Range),
            (WindowFrameBound::Preceding(by), None) => Ok::<_, CpuReason>(FrameBound::Before(count(by)?)),
            (WindowFrameBound::Following(by), None) => Ok(FrameBound::Behind(count(by)?)),
        };
        let (start, end) = (bound(&of.start_bound)?, bound(&of.end_bound)?);
        let reach = match (start, end) {
            (FrameBound::Edge, _) => FrameExtent::FromBegin,
            (_, FrameBound::Edge) => FrameExtent::ToEnd,
            _ => FrameExtent::Sliding,
        };
        let signed = |bound: FrameBound| match bound {
            FrameBound::Before(by) => Some(-i64::try_from(by).unwrap_or(i64::MAX)),
            FrameBound::Behind(by) => Some(i64::try_from(by).unwrap_or(i64::MAX)),
            _ => None,
        };
        let length = signed(start).zip(signed(end)).filter(|_| !ranges);
        let length = length.map(|(from, to)| u64::try_from(to.saturating_sub(from).saturating_add(1)).unwrap_or(0));
        let graph = &mut open.lowering.graph;
        let here = row(graph);
        let from = match start {
            FrameBound::Edge => edge(graph, WindowBoundary::Begin),
            FrameBound::Peers => edge(graph, WindowBoundary::PeersBegin),
            FrameBound::Before(by) => back(graph, here, by),
            FrameBound::Behind(by) => forth(graph, here, by),
            FrameBound::Range(distance) => self.found(graph, key, &distance, WindowBoundary::PeersBegin)?,
        };
        let one = rows(graph, 1);
        let next = two(graph, Op::Add, here, one);
        let to = match end {
            FrameBound::Edge => edge(graph, WindowBoundary::End),
            FrameBound::Peers => edge(graph, WindowBoundary::PeersEnd),
            FrameBound::Before(by) => back(graph, next, by),
            FrameBound::Behind(by) => forth(graph, next, by),
            FrameBound::Range(distance) => self.found(graph, key, &distance, WindowBoundary::PeersEnd)?,
        };
        Ok(Frame { from, to, reach, rows: length })
    }

    fn key(&self, open: &mut FragmentBuilder) -> Result<Key, CpuReason> {
        let [by] = self.order else {
            return Err(CpuReason::feature("a RANGE window with several keys"));
        };
        let dtype = open.lowering.dtype(&by.expr)?;
        let known = dtype.is_integer()
            || matches!(dtype, DataType::Float32 | DataType::Float64 | DataType::Date32 | DataType::Timestamp(..));
        if !known {
            return Err(CpuReason::of_type("a RANGE window over values", &dtype));
        }
        let key = open.sort_key(by)?;
        let nulls_first = by.options.nulls_first;
        Ok(Key { value: key.value, bits: key.key, descending: key.descending, nulls_first })
    }

    fn distance(&self, open: &mut FragmentBuilder, by: &ScalarValue, before: bool) -> Result<Distance, CpuReason> {
        let dtype = open.lowering.dtype(&self.order[0].expr)?;
        let refused = || CpuReason::feature(format!("a RANGE window of `{by}` over {dtype}"));
        let by = match (&dtype, by) {
            (DataType::Date32 | DataType::Timestamp(..), ScalarValue::IntervalMonthDayNano(Some(by))) => {
                let ticks = ticks(&dtype, by.months, by.days, by.nanoseconds).ok_or_else(refused)?;
                let scalar = if dtype == DataType::Date32 { Scalar::I32 } else { Scalar::I64 };
                i32::try_from(ticks).map(|_| ()).or(if scalar == Scalar::I32 { Err(refused()) } else { Ok(()) })?;
                open.lowering.graph.number(scalar, ticks.into())
            }
            (DataType::Date32 | DataType::Timestamp(..), _) => return Err(refused()),
            _ => {
                let by = by.cast_to(&dtype)?;
                if by.is_null() {
                    return Err(refused());
                }
                arithmetic::literal(&mut open.lowering.graph, &by)?
            }
        };
        Ok(Distance { by, before })
    }

    /// The first row of the partition whose key is not before a value, or the first one that is behind it. Rows without
    /// a key are peers.
    fn found(
        &self,
        graph: &mut ExprGraph,
        key: Option<Key>,
        distance: &Distance,
        side: WindowBoundary,
    ) -> Result<NodeId, CpuReason> {
        let Some(key) = key else { return Err(CpuReason::Unexpected("a RANGE window without a key".into())) };
        let kind = graph.kind(key.value);
        let DeviceType::Number(scalar) = kind else {
            return Err(CpuReason::Unexpected("a RANGE window over values that are not numbers".into()));
        };
        let more = distance.before == key.descending;
        let target = match (scalar.is_float(), more) {
            (true, true) => graph.add(Op::Add, &[key.value, distance.by], kind),
            (true, false) => graph.add(Op::Subtract, &[key.value, distance.by], kind),
            (false, true) => graph.add(Op::AddChecked, &[key.value, distance.by], kind),
            // Below zero there is nothing.
            (false, false) if scalar.is_unsigned() => {
                let below = graph.add(Op::Compare(Comparison::Less), &[key.value, distance.by], DeviceType::Bool);
                let zero = graph.number(scalar, 0);
                let less = graph.add(Op::Subtract, &[key.value, distance.by], kind);
                graph.add(Op::IfElse, &[below, zero, less], kind)
            }
            (false, false) => graph.add(Op::SubtractChecked, &[key.value, distance.by], kind),
        };
        let mut target = ordered(graph, target, key.descending);
        if scalar.is_float() {
            // A NaN has its peers in its frame and no other rows, whatever its bits are.
            let unknown = graph.add(Op::MathFn("is_nan"), &[key.value], DeviceType::Bool);
            let none = graph.null(ROWS);
            target = graph.add(Op::IfElse, &[unknown, none, target], ROWS);
        }
        let (begin, end, peers) =
            (edge(graph, WindowBoundary::Begin), edge(graph, WindowBoundary::End), edge(graph, side));
        let seek = Op::LowerBound { behind: side == WindowBoundary::PeersEnd, nulls_first: key.nulls_first };
        let found = graph.add(seek, &[begin, end, target, key.bits, key.value], ROWS);
        Ok(graph.add(Op::Coalesce, &[found, peers], ROWS))
    }
}

/// The bits by which a number that is there is ordered, as [`FragmentBuilder::sort_key`] makes them.
fn ordered(graph: &mut ExprGraph, value: NodeId, descending: bool) -> NodeId {
    let mut bits = value;
    if graph.kind(value) != ROWS {
        let signed = graph.add(Op::OrderKey, &[value], DeviceType::Number(Scalar::I64));
        let unsigned = graph.add(Op::Bits, &[signed], ROWS);
        let sign = rows(graph, 1 << 63);
        bits = graph.add(Op::BitXor, &[unsigned, sign], ROWS);
    }
    if descending {
        let all = rows(graph, u64::MAX);
        bits = graph.add(Op::BitXor, &[bits, all], ROWS);
    }
    bits
}

/// An interval in ticks of a type; none where it is not as long everywhere. Days of a zone have no length.
fn ticks(dtype: &DataType, months: i32, days: i32, nanoseconds: i64) -> Option<i64> {
    let (per_day, per_tick) = match dtype {
        DataType::Date32 => return (months == 0 && nanoseconds == 0).then_some(days.into()),
        DataType::Timestamp(_, Some(_)) if days != 0 => return None,
        DataType::Timestamp(unit, _) => {
            let per_tick = match unit {
                TimeUnit::Second => 1_000_000_000,
                TimeUnit::Millisecond => 1_000_000,
                TimeUnit::Microsecond => 1_000,
                TimeUnit::Nanosecond => 1,
            };
            (arithmetic::tick(*unit).per_day(), per_tick)
        }
        _ => return None,
    };
    if months != 0 || nanoseconds % per_tick != 0 {
        return None;
    }
    i64::from(days).checked_mul(per_day)?.checked_add(nanoseconds / per_tick)
}

pub fn rows(graph: &mut ExprGraph, count: u64) -> NodeId {
    graph.literal(ROWS, LiteralValue::U64(count))
}

pub fn edge(graph: &mut ExprGraph, edge: WindowBoundary) -> NodeId {
    graph.add(Op::WindowBoundary(edge), &[], ROWS)
}

pub fn row(graph: &mut ExprGraph) -> NodeId {
    graph.add(Op::RowNumber, &[], ROWS)
}

pub fn two(graph: &mut ExprGraph, op: Op, a: NodeId, b: NodeId) -> NodeId {
    graph.add(op, &[a, b], ROWS)
}

/// Whether `a` is at least so much above `b`, which is not above it.
pub fn apart(graph: &mut ExprGraph, a: NodeId, b: NodeId, by: u64) -> NodeId {
    let distance = two(graph, Op::Subtract, a, b);
    let by = rows(graph, by);
    graph.add(Op::Compare(Comparison::GreaterEqual), &[distance, by], DeviceType::Bool)
}

/// `of` less `by`, but no further than the partition's beginning.
fn back(graph: &mut ExprGraph, of: NodeId, by: u64) -> NodeId {
    let begin = edge(graph, WindowBoundary::Begin);
    let inside = apart(graph, of, begin, by);
    let by = rows(graph, by);
    let there = two(graph, Op::Subtract, of, by);
    graph.add(Op::IfElse, &[inside, there, begin], ROWS)
}

/// `of` and `by` more, but no further than the partition's end.
fn forth(graph: &mut ExprGraph, of: NodeId, by: u64) -> NodeId {
    let end = edge(graph, WindowBoundary::End);
    let inside = apart(graph, end, of, by);
    let by = rows(graph, by);
    let there = two(graph, Op::Add, of, by);
    graph.add(Op::IfElse, &[inside, there, end], ROWS)
}
