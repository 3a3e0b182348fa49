//! Window functions: what they are of the edges of a row's partition and peers, and of accumulators that run along a sorted table.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::{WindowFrame, WindowFrameBound, WindowFrameUnits};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::window::{
    PlainAggregateWindowExpr, SlidingAggregateWindowExpr, StandardWindowExpr, WindowExpr,
};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::windows::WindowUDFExpr;
use onrush_kernels::Scalar;
use onrush_ops::{Comparison, Edge, Graph, Id, Kind, Misfit, Op, Value, What, Window, kind_of, window};

use super::aggregates::{self, Accumulators, Recipe};
use super::lower::{Lowering, Refusal, Slot, literal_of};
use super::numbers;
use super::place::Open;

const ROWS: Kind = Kind::Number(Scalar::U64);
const FLOAT: Kind = Kind::Number(Scalar::F64);

/// Rows of a frame that moves at most: each row looks at all of its own.
const WIDEST: u64 = 1024;

/// The rows that a function sees from a row: `from` to before `to`.
struct Frame {
    from: Id,
    to: Id,
    reach: Reach,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// From the partition's beginning on.
    FromBegin,
    /// Up to the partition's end.
    ToEnd,
    /// A few rows that move with both ends.
    Few,
}

/// The accumulators of a node's windows, by how far their frames reach.
#[derive(Default)]
struct Lists {
    running: Accumulators,
    back: Accumulators,
    sliding: Accumulators,
}

impl Lists {
    fn of(&mut self, reach: Reach) -> &mut Accumulators {
        match reach {
            Reach::FromBegin => &mut self.running,
            Reach::ToEnd => &mut self.back,
            Reach::Few => &mut self.sliding,
        }
    }
}

impl Frame {
    /// What an accumulator has of the frame's rows; null where there are none and nothing was looped over.
    fn value(&self, graph: &mut Graph, index: usize, kind: Kind) -> Id {
        let index = index as u32;
        if self.reach == Reach::Few {
            return graph.add(Op::Sliding(index), &[self.from, self.to], kind);
        }
        let some = graph.add(Op::Compare(Comparison::Greater), &[self.to, self.from], Kind::Bool);
        let none = graph.null(ROWS);
        if self.reach == Reach::ToEnd {
            let first = graph.add(Op::Choose, &[some, self.from, none], ROWS);
            return graph.add(Op::RunningBack(index), &[first], kind);
        }
        let one = rows(graph, 1);
        let last = graph.add(Op::Subtract, &[self.to, one], ROWS);
        let last = graph.add(Op::Choose, &[some, last, none], ROWS);
        graph.add(Op::Running(index), &[last], kind)
    }
}

/// Adds the columns of a window node, whose input is sorted by partition and order.
pub fn windows(open: &mut Open, exprs: &[Arc<dyn WindowExpr>], plan: &Arc<dyn ExecutionPlan>) -> Result<(), Refusal> {
    let Some(first) = exprs.first() else { return Err("a window without functions".to_string()) };
    let alike =
        |expr: &Arc<dyn WindowExpr>| expr.partition_by() == first.partition_by() && expr.order_by() == first.order_by();
    if !exprs.iter().all(alike) {
        return Err("windows of several orders in one node are not on the GPU yet".to_string());
    }
    if !open.is_fresh() {
        open.materialise();
    }
    let lowering = &mut open.lowering;
    let mut of = Window::default();
    for key in first.partition_by() {
        of.partition.push(lowering.key(key)?);
    }
    for key in first.order_by() {
        of.order.push(lowering.key(&key.expr)?);
    }
    let mut columns = lowering.columns.clone();
    let mut lists = Lists::default();
    for (expr, field) in exprs.iter().zip(&plan.schema().fields()[columns.len()..]) {
        let any: &dyn Any = expr.as_any();
        let frame = || frame(expr.get_window_frame(), expr.order_by().is_empty());
        let mut id = if let Some(standard) = any.downcast_ref::<StandardWindowExpr>() {
            let function: &dyn Any = standard.get_standard_func_expr().as_any();
            let Some(function) = function.downcast_ref::<WindowUDFExpr>() else {
                return Err(format!("`{}` is not on the GPU yet", expr.name()));
            };
            // The node does not tell in any other way.
            let told = format!("{function:?}");
            if told.contains("is_reversed: true") {
                return Err(format!("`{}` backwards is not on the GPU yet", function.fun().name()));
            }
            let past_nulls = told.contains("ignore_nulls: true");
            match function.fun().name() {
                name @ ("first_value" | "last_value") => {
                    let (of, frame) = (&function.args()[0], frame()?(&mut lowering.graph));
                    first_or_last(lowering, &mut lists, (name, of), &frame, past_nulls)?
                }
                name if past_nulls => return Err(format!("`{name}` past nulls is not on the GPU yet")),
                _ => standard_function(lowering, function, &frame)?,
            }
        } else {
            let function = match any.downcast_ref::<PlainAggregateWindowExpr>() {
                Some(plain) => plain.get_aggregate_expr(),
                None => match any.downcast_ref::<SlidingAggregateWindowExpr>() {
                    Some(sliding) => sliding.get_aggregate_expr(),
                    None => return Err(format!("`{}` is not on the GPU yet", expr.name())),
                },
            };
            // Their last field, which they do not tell in any other way either.
            if !format!("{expr:?}").ends_with("filter: None }") {
                return Err(format!("`{}` over a window with FILTER is not on the GPU yet", function.fun().name()));
            }
            let frame = frame()?(&mut lowering.graph);
            if let (name @ ("first_value" | "last_value"), [of]) = (function.fun().name(), &function.expressions()[..])
                && function.order_bys().is_empty()
            {
                let id = first_or_last(lowering, &mut lists, (name, of), &frame, function.ignore_nulls())?;
                columns.push(Slot::Node(id));
                continue;
            }
            let list = lists.of(frame.reach);
            let recipe = aggregates::aggregate(lowering, list, function, None)?;
            if matches!(recipe, Recipe::Fetch { .. }) || !list.all.iter().all(window::can_run) {
                return Err(format!("`{}` over a window is not on the GPU yet", function.fun().name()));
            }
            let kinds = window::kinds(&lowering.graph, &list.all);
            let at = |graph: &mut Graph, index: usize| {
                let value = frame.value(graph, index, kinds[index]);
                match kinds[index] {
                    // Of no rows.
                    Kind::Number(scalar) if frame.reach != Reach::Few => {
                        let zero = graph.number(scalar, 0);
                        graph.add(Op::Coalesce, &[value, zero], kinds[index])
                    }
                    _ => value,
                }
            };
            aggregates::result(&mut lowering.graph, &recipe, &at)
        };
        let wanted = kind_of(field.data_type());
        let wanted = wanted.ok_or_else(|| format!("results of type {} are not on the GPU yet", field.data_type()))?;
        if lowering.graph.kind(id) != wanted {
            id = lowering.graph.add(Op::Convert(Misfit::Fault), &[id], wanted);
        }
        columns.push(Slot::Node(id));
    }
    (of.running, of.back, of.sliding) = (lists.running.all, lists.back.all, lists.sliding.all);
    lowering.columns = columns;
    open.window = Some(of);
    Ok(())
}

fn rows(graph: &mut Graph, count: u64) -> Id {
    graph.literal(ROWS, Value::U64(count))
}

fn edge(graph: &mut Graph, edge: Edge) -> Id {
    graph.add(Op::Edge(edge), &[], ROWS)
}

fn row(graph: &mut Graph) -> Id {
    graph.add(Op::Row, &[], ROWS)
}

fn two(graph: &mut Graph, op: Op, a: Id, b: Id) -> Id {
    graph.add(op, &[a, b], ROWS)
}

/// Whether `a` is at least so much above `b`, which is not above it.
fn apart(graph: &mut Graph, a: Id, b: Id, by: u64) -> Id {
    let distance = two(graph, Op::Subtract, a, b);
    let by = rows(graph, by);
    graph.add(Op::Compare(Comparison::GreaterEqual), &[distance, by], Kind::Bool)
}

/// `of` less `by`, but no further than the partition's beginning.
fn back(graph: &mut Graph, of: Id, by: u64) -> Id {
    let begin = edge(graph, Edge::Begin);
    let inside = apart(graph, of, begin, by);
    let by = rows(graph, by);
    let there = two(graph, Op::Subtract, of, by);
    graph.add(Op::Choose, &[inside, there, begin], ROWS)
}

/// `of` and `by` more, but no further than the partition's end.
fn forth(graph: &mut Graph, of: Id, by: u64) -> Id {
    let end = edge(graph, Edge::End);
    let inside = apart(graph, end, of, by);
    let by = rows(graph, by);
    let there = two(graph, Op::Add, of, by);
    graph.add(Op::Choose, &[inside, there, end], ROWS)
}

/// Where a frame begins and ends.
fn frame(of: &WindowFrame, no_order: bool) -> Result<impl Fn(&mut Graph) -> Frame + use<>, Refusal> {
    let refused = |what: &str| Err(format!("a window {what} is not on the GPU yet"));
    let ranges = match of.units {
        WindowFrameUnits::Rows => false,
        WindowFrameUnits::Range => true,
        WindowFrameUnits::Groups => return refused("of groups of rows"),
    };
    let count = |value: &ScalarValue| match value {
        _ if ranges => Err("a window of a range of values is not on the GPU yet".to_string()),
        value => value
            .cast_to(&arrow::datatypes::DataType::UInt64)
            .ok()
            .and_then(|value| if let ScalarValue::UInt64(count) = value { count } else { None })
            .ok_or_else(|| format!("a window of `{value}` rows")),
    };
    /// Rows behind the row's own, or before it; none for the edge of the partition.
    #[derive(Clone, Copy)]
    enum Bound {
        Edge,
        Peers,
        Before(u64),
        Behind(u64),
    }
    let bound = |bound: &WindowFrameBound| match bound {
        bound if bound.is_unbounded() => Ok(Bound::Edge),
        WindowFrameBound::CurrentRow if ranges && no_order => Ok(Bound::Edge),
        WindowFrameBound::CurrentRow if ranges => Ok(Bound::Peers),
        WindowFrameBound::CurrentRow => Ok(Bound::Before(0)),
        WindowFrameBound::Preceding(by) => Ok::<_, Refusal>(Bound::Before(count(by)?)),
        WindowFrameBound::Following(by) => Ok(Bound::Behind(count(by)?)),
    };
    let (start, end) = (bound(&of.start_bound)?, bound(&of.end_bound)?);
    let reach = match (start, end) {
        (Bound::Edge, _) => Reach::FromBegin,
        (_, Bound::Edge) => Reach::ToEnd,
        _ => Reach::Few,
    };
    if reach == Reach::Few {
        let signed = |bound: Bound| match bound {
            Bound::Before(by) => i64::try_from(by).ok().map(|by| -by),
            Bound::Behind(by) => i64::try_from(by).ok(),
            Bound::Edge | Bound::Peers => None,
        };
        match (signed(start), signed(end)) {
            (Some(from), Some(to)) if to.saturating_sub(from) < WIDEST as i64 => {}
            (Some(_), Some(_)) => return refused(&format!("of more than {WIDEST} rows")),
            _ => return refused("of peers and a number of rows"),
        }
    }
    Ok(move |graph: &mut Graph| {
        let here = row(graph);
        let from = match start {
            Bound::Edge => edge(graph, Edge::Begin),
            Bound::Peers => edge(graph, Edge::PeersBegin),
            Bound::Before(by) => back(graph, here, by),
            Bound::Behind(by) => forth(graph, here, by),
        };
        let one = rows(graph, 1);
        let next = two(graph, Op::Add, here, one);
        let to = match end {
            Bound::Edge => edge(graph, Edge::End),
            Bound::Peers => edge(graph, Edge::PeersEnd),
            Bound::Before(by) => back(graph, next, by),
            Bound::Behind(by) => forth(graph, next, by),
        };
        Frame { from, to, reach }
    })
}

/// The first or last value of a frame; past nulls that of the lowest or highest row that has one.
fn first_or_last(
    lowering: &mut Lowering,
    lists: &mut Lists,
    (name, of): (&str, &Arc<dyn PhysicalExpr>),
    frame: &Frame,
    past_nulls: bool,
) -> Result<Id, Refusal> {
    let is_first = name == "first_value";
    let value = lowering.key(of)?;
    let graph = &mut lowering.graph;
    let (one, none) = (rows(graph, 1), graph.null(ROWS));
    let there = if past_nulls {
        // Rows from 1 on, as 0 is the highest of none; the lowest of none is no row at all.
        let here = row(graph);
        let here = two(graph, Op::Add, here, one);
        let absent = graph.add(Op::IsNull, &[value], Kind::Bool);
        let present = graph.add(Op::Choose, &[absent, none, here], ROWS);
        let (what, nothing) = match is_first {
            true => (What::LeastUnsigned, u64::MAX),
            false => (What::GreatestUnsigned, 0),
        };
        let index = lists.of(frame.reach).add(what, Some(present));
        let found = frame.value(graph, index, ROWS);
        let nothing = rows(graph, nothing);
        let is_none = graph.add(Op::Compare(Comparison::Equal), &[found, nothing], Kind::Bool);
        let there = two(graph, Op::Subtract, found, one);
        graph.add(Op::Choose, &[is_none, none, there], ROWS)
    } else {
        let inside = graph.add(Op::Compare(Comparison::Greater), &[frame.to, frame.from], Kind::Bool);
        let at = if is_first { frame.from } else { two(graph, Op::Subtract, frame.to, one) };
        graph.add(Op::Choose, &[inside, at, none], ROWS)
    };
    fetched(lowering, of, there, name)
}

/// A whole number of rows that is given as a literal.
fn offset(function: &WindowUDFExpr, at: usize) -> Result<Option<i64>, Refusal> {
    let Some(arg) = function.args().get(at) else { return Ok(None) };
    let value = literal_of(arg).and_then(|value| value.cast_to(&arrow::datatypes::DataType::Int64).ok());
    match value {
        Some(ScalarValue::Int64(Some(value))) => Ok(Some(value)),
        _ => Err(format!("`{}` of a number that is no literal is not on the GPU yet", function.fun().name())),
    }
}

fn standard_function<F: Fn(&mut Graph) -> Frame>(
    lowering: &mut Lowering,
    function: &WindowUDFExpr,
    frame: &dyn Fn() -> Result<F, Refusal>,
) -> Result<Id, Refusal> {
    let name = function.fun().name();
    let graph = &mut lowering.graph;
    let here = row(graph);
    let begin = edge(graph, Edge::Begin);
    let one = rows(graph, 1);
    let float = |graph: &mut Graph, id: Id| graph.add(Op::Convert(Misfit::Fault), &[id], FLOAT);
    let number = |graph: &mut Graph, of: Id| {
        let distance = two(graph, Op::Subtract, of, begin);
        two(graph, Op::Add, distance, one)
    };
    Ok(match name {
        "row_number" => number(graph, here),
        "rank" => {
            let peers = edge(graph, Edge::PeersBegin);
            number(graph, peers)
        }
        "dense_rank" => edge(graph, Edge::PeersNumber),
        "percent_rank" | "cume_dist" => {
            let end = edge(graph, Edge::End);
            let mut all = two(graph, Op::Subtract, end, begin);
            let part = match name {
                "percent_rank" => {
                    let peers = edge(graph, Edge::PeersBegin);
                    // Of one row it is 0.
                    all = two(graph, Op::Subtract, all, one);
                    let none = rows(graph, 0);
                    let alone = graph.add(Op::Compare(Comparison::Equal), &[all, none], Kind::Bool);
                    all = graph.add(Op::Choose, &[alone, one, all], ROWS);
                    two(graph, Op::Subtract, peers, begin)
                }
                _ => {
                    let peers = edge(graph, Edge::PeersEnd);
                    two(graph, Op::Subtract, peers, begin)
                }
            };
            let (part, all) = (float(graph, part), float(graph, all));
            graph.add(Op::Divide, &[part, all], FLOAT)
        }
        "ntile" => {
            let Some(tiles) = offset(function, 0)?.filter(|tiles| *tiles > 0) else {
                return Err("`ntile` of no number is not on the GPU yet".to_string());
            };
            // No more tiles than rows; the first ones have a row more, where the rows do not come out even.
            let end = edge(graph, Edge::End);
            let all = two(graph, Op::Subtract, end, begin);
            let tiles = rows(graph, tiles as u64);
            let fewer = graph.add(Op::Compare(Comparison::Less), &[all, tiles], Kind::Bool);
            let tiles = graph.add(Op::Choose, &[fewer, all, tiles], ROWS);
            let each = two(graph, Op::Divide, all, tiles);
            let larger = two(graph, Op::Remainder, all, tiles);
            let more = two(graph, Op::Add, each, one);
            let at = two(graph, Op::Subtract, here, begin);
            let of_larger = two(graph, Op::Multiply, larger, more);
            let early = graph.add(Op::Compare(Comparison::Less), &[at, of_larger], Kind::Bool);
            let first = two(graph, Op::Divide, at, more);
            let rest = two(graph, Op::Subtract, at, of_larger);
            let rest = two(graph, Op::Divide, rest, each);
            let rest = two(graph, Op::Add, rest, larger);
            let tile = graph.add(Op::Choose, &[early, first, rest], ROWS);
            two(graph, Op::Add, tile, one)
        }
        "lag" | "lead" => {
            let by = offset(function, 1)?.unwrap_or(1);
            let by = if name == "lag" { by } else { by.wrapping_neg() };
            let none = graph.null(ROWS);
            let other = match by {
                0.. => {
                    let inside = apart(graph, here, begin, by as u64);
                    let by = rows(graph, by as u64);
                    let there = two(graph, Op::Subtract, here, by);
                    graph.add(Op::Choose, &[inside, there, none], ROWS)
                }
                _ => {
                    let end = edge(graph, Edge::End);
                    let inside = apart(graph, end, here, by.unsigned_abs() + 1);
                    let by = rows(graph, by.unsigned_abs());
                    let there = two(graph, Op::Add, here, by);
                    graph.add(Op::Choose, &[inside, there, none], ROWS)
                }
            };
            let default = function.args().get(2).and_then(literal_of).filter(|value| !value.is_null());
            let found = fetched(lowering, &function.args()[0], other, name)?;
            match default {
                None => found,
                Some(default) => {
                    let dtype = lowering.dtype(&function.args()[0])?;
                    let kind = lowering.graph.kind(found);
                    if kind == Kind::Code {
                        return Err(format!("`{name}` with a text in place of none is not on the GPU yet"));
                    }
                    let default = default.cast_to(&dtype).map_err(|e| e.to_string())?;
                    let default = numbers::literal(&mut lowering.graph, &default)?;
                    let graph = &mut lowering.graph;
                    let outside = graph.add(Op::IsNull, &[other], Kind::Bool);
                    graph.add(Op::Choose, &[outside, default, found], kind)
                }
            }
        }
        "nth_value" => {
            let frame = frame()?(graph);
            let Some(n) = offset(function, 1)?.filter(|n| *n > 0) else {
                return Err("`nth_value` from the end is not on the GPU yet".to_string());
            };
            let n = rows(graph, n as u64 - 1);
            let at = two(graph, Op::Add, frame.from, n);
            let inside = graph.add(Op::Compare(Comparison::Greater), &[frame.to, at], Kind::Bool);
            let none = graph.null(ROWS);
            let at = graph.add(Op::Choose, &[inside, at, none], ROWS);
            fetched(lowering, &function.args()[0], at, name)?
        }
        _ => return Err(format!("`{name}` is not on the GPU yet")),
    })
}

/// A column at another row.
fn fetched(lowering: &mut Lowering, of: &Arc<dyn PhysicalExpr>, row: Id, name: &str) -> Result<Id, Refusal> {
    let id = lowering.key(of)?;
    let node = lowering.graph.node(id);
    let (Op::Input(input), kind) = (node.op, node.kind) else {
        return Err(format!("`{name}` of a computed value is not on the GPU yet"));
    };
    Ok(lowering.graph.add(Op::Fetch(input), &[row], kind))
}
