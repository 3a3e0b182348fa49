//! Window functions: what they are of the edges of a row's partition and peers, and of accumulators that run along a
//! sorted table.

use std::any::Any;
use std::sync::Arc;

use arrow::datatypes::{Field, FieldRef, Schema};
use datafusion::common::ScalarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::window::{
    PlainAggregateWindowExpr, SlidingAggregateWindowExpr, StandardWindowExpr, WindowExpr,
};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::windows::WindowUDFExpr;
use onrush_kernels::Scalar;
use onrush_ops::{
    Accumulator, AggregateOp, Comparison, DeviceType, ExprGraph, NodeId, Op, OverflowPolicy, Window, WindowBoundary,
    kind_of, window,
};

use super::aggregates::{self, Accumulators, AggregateResult};
use super::arithmetic;
use super::cpu_reason::CpuReason;
use super::fragment_builder::FragmentBuilder;
use super::keyed_stage::KeyedCall;
use super::keyed_windows;
use super::lower::strings::{self, is_text};
use super::lower::{ColumnSource, Lowering, literal_of};
use super::window_frame::{Frame, FrameExtent, Frames, ROWS, apart, edge, row, rows, two};

const FLOAT: DeviceType = DeviceType::Number(Scalar::F64);

/// The accumulators of a node's windows, by how far their frames reach.
struct Lists {
    prefix: Accumulators,
    suffix: Accumulators,
    sliding: Accumulators,
    /// Whether the last are of many rows.
    block_tree: bool,
}

impl Default for Lists {
    fn default() -> Self {
        let none = Accumulators::that_run;
        Lists { prefix: none(), suffix: none(), sliding: none(), block_tree: false }
    }
}

impl Lists {
    fn of(&mut self, reach: FrameExtent) -> &mut Accumulators {
        match reach {
            FrameExtent::FromBegin => &mut self.prefix,
            FrameExtent::ToEnd => &mut self.suffix,
            FrameExtent::Sliding => &mut self.sliding,
        }
    }
}

/// Adds the columns of a window node, whose input is sorted by the partition and order keys of all its windows. Windows
/// with equal keys share a stage, the others get a separate stage over the same rows.
pub fn windows(
    open: &mut FragmentBuilder,
    exprs: &[Arc<dyn WindowExpr>],
    plan: &Arc<dyn ExecutionPlan>,
) -> Result<(), CpuReason> {
    if exprs.is_empty() {
        return Err(CpuReason::Unexpected("a window without functions".into()));
    }
    let before = plan.schema().fields().len() - exprs.len();
    let keyed: Vec<Option<KeyedCall>> = exprs.iter().map(KeyedCall::of).collect();
    // More of the same keys.
    if let ([Some(call)], Some(stage)) = (&keyed[..], &open.keyed)
        && stage.takes(call)
    {
        return keyed_windows::windows(open, &[(call, Arc::clone(&plan.schema().fields()[before]))]);
    }
    let moved = moved(open, exprs)?;
    if !open.is_fresh() {
        open.materialise();
    }
    if exprs.iter().all(|expr| is_row_number(expr) && expr.partition_by().is_empty() && expr.order_by().is_empty()) {
        number_rows(&mut open.lowering, plan, before);
        return Ok(());
    }
    let mut schema: Vec<FieldRef> = open.lowering.schema.fields().iter().map(Arc::clone).collect();
    let width = schema.len();
    let mut left: Vec<usize> = (0..exprs.len()).collect();
    let mut done: Vec<usize> = Vec::new();
    while let Some(first) = left.first().copied() {
        let alike = |index: &usize| match (&keyed[*index], &keyed[first]) {
            (Some(one), Some(other)) => one.is_alike(other),
            (None, None) => {
                let (one, other) = (&exprs[*index], &exprs[first]);
                one.partition_by() == other.partition_by() && one.order_by() == other.order_by()
            }
            _ => false,
        };
        let (these, others): (Vec<usize>, Vec<usize>) = left.iter().copied().partition(alike);
        if !done.is_empty() {
            open.lowering.schema = Arc::new(Schema::new(schema.clone()));
            open.materialise();
        }
        let field = |index: &usize| Arc::clone(&plan.schema().fields()[before + index]);
        match keyed[first].is_some() {
            true => {
                let calls = these.iter().filter_map(|index| Some((keyed[*index].as_ref()?, field(index))));
                keyed_windows::windows(open, &calls.collect::<Vec<_>>())?;
            }
            false => alike_windows(open, exprs, &these, (plan, before), &moved)?,
        }
        schema.extend(these.iter().map(field));
        done.extend(these);
        left = others;
    }
    let columns = &open.lowering.columns;
    let place = |index: usize| done.iter().position(|done| *done == index).unwrap_or_default();
    let found = (0..exprs.len()).map(|index| columns[width + place(index)].clone());
    open.lowering.columns = columns[..before].iter().cloned().chain(found).collect();
    Ok(())
}

/// Expressions that functions read from other rows, and the column that each becomes. Empty if all are columns of the
/// table already.
type ShiftedColumns = Vec<(Arc<dyn PhysicalExpr>, usize)>;

/// Computes the expressions that are read from other rows in a separate stage, and appends them to the columns.
fn moved(open: &mut FragmentBuilder, exprs: &[Arc<dyn WindowExpr>]) -> Result<ShiftedColumns, CpuReason> {
    let mut wanted: ShiftedColumns = Vec::new();
    for expr in exprs.iter().filter(|expr| KeyedCall::of(expr).is_none()) {
        let any: &dyn Any = expr.as_any();
        let Some(of) = any.downcast_ref::<StandardWindowExpr>().map_or_else(
            || {
                let function = aggregate_of(expr)?;
                let is_end = matches!(function.fun().name(), "first_value" | "last_value");
                function.expressions().first().filter(|_| is_end).cloned()
            },
            |standard| {
                let function: &dyn Any = standard.get_standard_func_expr().as_any();
                let function = function.downcast_ref::<WindowUDFExpr>()?;
                let takes =
                    matches!(function.fun().name(), "first_value" | "last_value" | "lag" | "lead" | "nth_value");
                function.args().first().filter(|_| takes).cloned()
            },
        ) else {
            continue;
        };
        let any: &dyn Any = of.as_ref();
        let column = any.downcast_ref::<Column>().map(Column::index);
        let is_plain = |index: usize| match &open.lowering.columns[index] {
            ColumnSource::Node(id) => matches!(open.lowering.graph.node(*id).op, Op::Input(_)),
            ColumnSource::Source(_) | ColumnSource::Joined { .. } => true,
        };
        // Rows that are made a table anyway have all columns.
        let is_there = column.is_some_and(|index| !open.is_fresh() || is_plain(index));
        if !is_there && !wanted.iter().any(|(known, _)| known == &of) {
            wanted.push((of, 0));
        }
    }
    if wanted.is_empty() {
        return Ok(wanted);
    }
    let lowering = &mut open.lowering;
    let mut fields: Vec<FieldRef> = lowering.schema.fields().iter().map(Arc::clone).collect();
    for (expr, place) in &mut wanted {
        let dtype = lowering.dtype(expr)?;
        let id = lowering.expr(expr)?;
        *place = fields.len();
        fields.push(Arc::new(Field::new(format!("of {place}"), dtype, true)));
        lowering.columns.push(ColumnSource::Node(id));
    }
    lowering.schema = Arc::new(Schema::new(fields));
    open.materialise();
    Ok(wanted)
}

/// Adds columns with the numbers of the rows, from 1, which need no window.
fn number_rows(lowering: &mut Lowering, plan: &Arc<dyn ExecutionPlan>, before: usize) {
    let graph = &mut lowering.graph;
    let (here, one) = (row(graph), rows(graph, 1));
    let number = two(graph, Op::Add, here, one);
    lowering.rising.push(number);
    lowering.columns.extend(plan.schema().fields()[before..].iter().map(|_| ColumnSource::Node(number)));
}

fn is_row_number(expr: &Arc<dyn WindowExpr>) -> bool {
    let Some(standard) = expr.as_any().downcast_ref::<StandardWindowExpr>() else { return false };
    let function: &dyn Any = standard.get_standard_func_expr().as_any();
    function.downcast_ref::<WindowUDFExpr>().is_some_and(|function| function.fun().name() == "row_number")
}

fn aggregate_of(expr: &Arc<dyn WindowExpr>) -> Option<&AggregateFunctionExpr> {
    let any: &dyn Any = expr.as_any();
    let plain = any.downcast_ref::<PlainAggregateWindowExpr>().map(PlainAggregateWindowExpr::get_aggregate_expr);
    plain.or_else(|| {
        any.downcast_ref::<SlidingAggregateWindowExpr>().map(SlidingAggregateWindowExpr::get_aggregate_expr)
    })
}

/// Adds the columns of windows that have the same partition and order, by their numbers.
fn alike_windows(
    open: &mut FragmentBuilder,
    exprs: &[Arc<dyn WindowExpr>],
    these: &[usize],
    (plan, before): (&Arc<dyn ExecutionPlan>, usize),
    moved: &ShiftedColumns,
) -> Result<(), CpuReason> {
    let first = &exprs[these[0]];
    let mut of = Window::default();
    for key in first.partition_by() {
        of.partition.push(open.lowering.key(key)?);
    }
    for key in first.order_by() {
        of.order.push(open.lowering.key(&key.expr)?);
    }
    let frames = Frames { order: first.order_by() };
    let mut columns = open.lowering.columns.clone();
    let mut lists = Lists::default();
    for index in these {
        let expr = &exprs[*index];
        let field = &plan.schema().fields()[before + index].clone();
        let any: &dyn Any = expr.as_any();
        let mut id = if let Some(standard) = any.downcast_ref::<StandardWindowExpr>() {
            let function: &dyn Any = standard.get_standard_func_expr().as_any();
            let Some(function) = function.downcast_ref::<WindowUDFExpr>() else {
                return Err(CpuReason::Expression(expr.name().to_string()));
            };
            // The node does not tell in any other way.
            let told = format!("{function:?}");
            let backwards = told.contains("is_reversed: true");
            let past_nulls = told.contains("ignore_nulls: true");
            match function.fun().name() {
                // Backwards the one is called the other.
                name @ ("first_value" | "last_value") => {
                    let frame = frames.of(open, expr.get_window_frame())?;
                    let (of, lowering) = (&function.args()[0], &mut open.lowering);
                    first_or_last(lowering, &mut lists, (name, of), &frame, past_nulls, moved)?
                }
                name if past_nulls => return Err(CpuReason::form(name, "with IGNORE NULLS")),
                name @ ("lag" | "lead") => {
                    let by = offset(function, 1)?.unwrap_or(1);
                    let by = if (name == "lag") == backwards { by.wrapping_neg() } else { by };
                    lag(&mut open.lowering, function, by, moved)?
                }
                "nth_value" => {
                    let frame = frames.of(open, expr.get_window_frame())?;
                    let n = offset(function, 1)?
                        .filter(|n| *n != i64::MIN)
                        .ok_or(CpuReason::form("nth_value", "without a number"))?;
                    nth(&mut open.lowering, function, &frame, if backwards { -n } else { n }, moved)?
                }
                name if backwards => return Err(CpuReason::form(name, "in reverse order")),
                _ => standard_function(&mut open.lowering, function)?,
            }
        } else {
            let Some(function) = aggregate_of(expr) else {
                return Err(CpuReason::Expression(expr.name().to_string()));
            };
            // The filter is the last field, and only the debug form shows it. Filters that can be a CASE are one
            // already (`optimizer/window_filter_to_case.rs`).
            if !format!("{expr:?}").ends_with("filter: None }") {
                return Err(CpuReason::form(function.fun().name(), "over a window with FILTER"));
            }
            let frame = frames.of(open, expr.get_window_frame())?;
            let lowering = &mut open.lowering;
            if let (name @ ("first_value" | "last_value"), [of]) = (function.fun().name(), &function.expressions()[..])
                && function.order_bys().is_empty()
            {
                let past_nulls = function.ignore_nulls();
                let id = first_or_last(lowering, &mut lists, (name, of), &frame, past_nulls, moved)?;
                columns.push(ColumnSource::Node(id));
                continue;
            }
            // Sums of integers are differences of prefix sums, however long the frame is.
            let mut tried = Accumulators::that_run();
            aggregates::aggregate(lowering, &mut tried, function, None)?;
            let whole =
                |a: &Accumulator| matches!(a.op, AggregateOp::Count | AggregateOp::SumInteger | AggregateOp::SumI128);
            let differs = frame.is_long() && tried.all.iter().all(whole);
            lists.block_tree |= !differs && frame.is_spanned();
            let list = if differs { &mut lists.prefix } else { lists.of(frame.reach) };
            let recipe = aggregates::aggregate(lowering, list, function, None)?;
            if matches!(recipe, AggregateResult::Fetch { .. }) || !list.all.iter().all(window::can_run) {
                return Err(CpuReason::form(function.fun().name(), "over a window"));
            }
            let kinds = window::kinds(&lowering.graph, &list.all);
            let ops: Vec<AggregateOp> = list.all.iter().map(|accumulator| accumulator.op).collect();
            let at = |graph: &mut ExprGraph, index: usize| {
                if differs {
                    return frame.difference(graph, index, kinds[index]);
                }
                let value = frame.value(graph, index, kinds[index]);
                match kinds[index] {
                    // The value over no rows.
                    DeviceType::Number(scalar) if frame.reach != FrameExtent::Sliding => {
                        let is_product = matches!(ops[index], AggregateOp::ProductFloat | AggregateOp::ProductInteger);
                        let nothing = graph.number(scalar, i128::from(is_product));
                        graph.add(Op::Coalesce, &[value, nothing], kinds[index])
                    }
                    _ => value,
                }
            };
            aggregates::result(&mut lowering.graph, &recipe, &at)
        };
        let wanted = kind_of(field.data_type());
        let wanted = wanted.ok_or_else(|| CpuReason::of_type("a result", field.data_type()))?;
        let kind = open.lowering.graph.kind(id);
        if kind != wanted && kind != DeviceType::String {
            id = open.lowering.graph.add(Op::Convert(OverflowPolicy::Error), &[id], wanted);
        }
        let is_plain = expr.partition_by().is_empty() && expr.order_by().is_empty();
        if is_plain && is_row_number(expr) {
            open.lowering.rising.push(id);
        }
        columns.push(ColumnSource::Node(id));
    }
    (of.prefix, of.suffix, of.sliding) = (lists.prefix.all, lists.suffix.all, lists.sliding.all);
    of.block_tree = lists.block_tree;
    open.lowering.columns = columns;
    open.window = Some(of);
    Ok(())
}

/// The first or last value of a frame; past nulls that of the lowest or highest row that has one.
fn first_or_last(
    lowering: &mut Lowering,
    lists: &mut Lists,
    (name, of): (&str, &Arc<dyn PhysicalExpr>),
    frame: &Frame,
    past_nulls: bool,
    moved: &ShiftedColumns,
) -> Result<NodeId, CpuReason> {
    let is_first = name == "first_value";
    let (input, kind) = taken(lowering, of, name, moved)?;
    let value = lowering.graph.input(input as usize, kind);
    let graph = &mut lowering.graph;
    let (one, none) = (rows(graph, 1), graph.null(ROWS));
    let there = if past_nulls {
        // Rows count from 1, because 0 is the maximum of no rows. The minimum of no rows is larger than any row.
        let here = row(graph);
        let here = two(graph, Op::Add, here, one);
        let absent = graph.add(Op::IsNull, &[value], DeviceType::Bool);
        let present = graph.add(Op::IfElse, &[absent, none, here], ROWS);
        let (what, nothing) = match is_first {
            true => (AggregateOp::MinUnsigned, u64::MAX),
            false => (AggregateOp::MaxUnsigned, 0),
        };
        lists.block_tree |= frame.is_spanned();
        let index = lists.of(frame.reach).add(what, Some(present));
        let found = frame.value(graph, index, ROWS);
        let nothing = rows(graph, nothing);
        let is_none = graph.add(Op::Compare(Comparison::Equal), &[found, nothing], DeviceType::Bool);
        let there = two(graph, Op::Subtract, found, one);
        graph.add(Op::IfElse, &[is_none, none, there], ROWS)
    } else {
        let inside = graph.add(Op::Compare(Comparison::Greater), &[frame.to, frame.from], DeviceType::Bool);
        let at = if is_first { frame.from } else { two(graph, Op::Subtract, frame.to, one) };
        graph.add(Op::IfElse, &[inside, at, none], ROWS)
    };
    Ok(lowering.graph.add(Op::Gather(input), &[there], kind))
}

/// A number of rows that is given as an integer literal.
fn offset(function: &WindowUDFExpr, at: usize) -> Result<Option<i64>, CpuReason> {
    let Some(arg) = function.args().get(at) else { return Ok(None) };
    let value = literal_of(arg).and_then(|value| value.cast_to(&arrow::datatypes::DataType::Int64).ok());
    match value {
        Some(ScalarValue::Int64(Some(value))) => Ok(Some(value)),
        _ => Err(CpuReason::form(function.fun().name(), "with an argument that is not a literal")),
    }
}

fn standard_function(lowering: &mut Lowering, function: &WindowUDFExpr) -> Result<NodeId, CpuReason> {
    let name = function.fun().name();
    let graph = &mut lowering.graph;
    let here = row(graph);
    let begin = edge(graph, WindowBoundary::Begin);
    let one = rows(graph, 1);
    let float = |graph: &mut ExprGraph, id: NodeId| graph.add(Op::Convert(OverflowPolicy::Error), &[id], FLOAT);
    let number = |graph: &mut ExprGraph, of: NodeId| {
        let distance = two(graph, Op::Subtract, of, begin);
        two(graph, Op::Add, distance, one)
    };
    Ok(match name {
        "row_number" => number(graph, here),
        "rank" => {
            let peers = edge(graph, WindowBoundary::PeersBegin);
            number(graph, peers)
        }
        "dense_rank" => edge(graph, WindowBoundary::PeersNumber),
        "percent_rank" | "cume_dist" => {
            let end = edge(graph, WindowBoundary::End);
            let mut all = two(graph, Op::Subtract, end, begin);
            let part = match name {
                "percent_rank" => {
                    let peers = edge(graph, WindowBoundary::PeersBegin);
                    // For one row it is 0.
                    all = two(graph, Op::Subtract, all, one);
                    let none = rows(graph, 0);
                    let alone = graph.add(Op::Compare(Comparison::Equal), &[all, none], DeviceType::Bool);
                    all = graph.add(Op::IfElse, &[alone, one, all], ROWS);
                    two(graph, Op::Subtract, peers, begin)
                }
                _ => {
                    let peers = edge(graph, WindowBoundary::PeersEnd);
                    two(graph, Op::Subtract, peers, begin)
                }
            };
            let (part, all) = (float(graph, part), float(graph, all));
            graph.add(Op::Divide, &[part, all], FLOAT)
        }
        "ntile" => {
            let Some(tiles) = offset(function, 0)?.filter(|tiles| *tiles > 0) else {
                return Err(CpuReason::form("ntile", "without a positive number"));
            };
            // No more tiles than rows; the first ones have a row more, where the rows do not come out even.
            let end = edge(graph, WindowBoundary::End);
            let all = two(graph, Op::Subtract, end, begin);
            let tiles = rows(graph, tiles as u64);
            let fewer = graph.add(Op::Compare(Comparison::Less), &[all, tiles], DeviceType::Bool);
            let tiles = graph.add(Op::IfElse, &[fewer, all, tiles], ROWS);
            let each = two(graph, Op::Divide, all, tiles);
            let larger = two(graph, Op::Remainder, all, tiles);
            let more = two(graph, Op::Add, each, one);
            let at = two(graph, Op::Subtract, here, begin);
            let of_larger = two(graph, Op::Multiply, larger, more);
            let early = graph.add(Op::Compare(Comparison::Less), &[at, of_larger], DeviceType::Bool);
            let first = two(graph, Op::Divide, at, more);
            let rest = two(graph, Op::Subtract, at, of_larger);
            let rest = two(graph, Op::Divide, rest, each);
            let rest = two(graph, Op::Add, rest, larger);
            let tile = graph.add(Op::IfElse, &[early, first, rest], ROWS);
            two(graph, Op::Add, tile, one)
        }
        _ => return Err(CpuReason::Function(name.to_string())),
    })
}

/// The value so many rows before a row, or what stands in its place where there is no such row.
fn lag(
    lowering: &mut Lowering,
    function: &WindowUDFExpr,
    by: i64,
    moved: &ShiftedColumns,
) -> Result<NodeId, CpuReason> {
    let (name, of) = (function.fun().name(), &function.args()[0]);
    let default = function.args().get(2).and_then(literal_of).filter(|value| !value.is_null());
    let dtype = lowering.dtype(of)?;
    let (input, kind) = match (default.is_some() && is_text(&dtype), column_of(of, moved)) {
        // The default is a string that the column's dictionary may lack, so the column is read as bytes.
        (true, Some(column)) => match (lowering.column_as(column, true)?, DeviceType::String) {
            (id, kind) if matches!(lowering.graph.node(id).op, Op::Input(_)) => (input_of(lowering, id), kind),
            _ => return Err(CpuReason::form(name, "with a string default")),
        },
        _ => taken(lowering, of, name, moved)?,
    };
    let graph = &mut lowering.graph;
    let (here, none) = (row(graph), graph.null(ROWS));
    let other = match by {
        0.. => {
            let begin = edge(graph, WindowBoundary::Begin);
            let inside = apart(graph, here, begin, by as u64);
            let by = rows(graph, by as u64);
            let there = two(graph, Op::Subtract, here, by);
            graph.add(Op::IfElse, &[inside, there, none], ROWS)
        }
        _ => {
            let end = edge(graph, WindowBoundary::End);
            let inside = apart(graph, end, here, by.unsigned_abs().saturating_add(1));
            let by = rows(graph, by.unsigned_abs());
            let there = two(graph, Op::Add, here, by);
            graph.add(Op::IfElse, &[inside, there, none], ROWS)
        }
    };
    let found = graph.add(Op::Gather(input), &[other], kind);
    let Some(default) = default else { return Ok(found) };
    let default = match (kind, default.try_as_str()) {
        (DeviceType::String, Some(Some(text))) => strings::literal(lowering, text),
        _ => {
            let default = default.cast_to(&dtype)?;
            arithmetic::literal(&mut lowering.graph, &default)?
        }
    };
    let graph = &mut lowering.graph;
    let outside = graph.add(Op::IsNull, &[other], DeviceType::Bool);
    Ok(graph.add(Op::IfElse, &[outside, default, found], kind))
}

/// The value of a frame's row by its number from 1 on, or from the end below 0.
fn nth(
    lowering: &mut Lowering,
    function: &WindowUDFExpr,
    frame: &Frame,
    n: i64,
    moved: &ShiftedColumns,
) -> Result<NodeId, CpuReason> {
    let (input, kind) = taken(lowering, &function.args()[0], "nth_value", moved)?;
    let graph = &mut lowering.graph;
    let none = graph.null(ROWS);
    let there = match n {
        0 => none,
        1.. => {
            let by = rows(graph, n as u64 - 1);
            let at = two(graph, Op::Add, frame.from, by);
            let inside = graph.add(Op::Compare(Comparison::Greater), &[frame.to, at], DeviceType::Bool);
            graph.add(Op::IfElse, &[inside, at, none], ROWS)
        }
        _ => {
            let by = rows(graph, n.unsigned_abs());
            let first = two(graph, Op::Add, frame.from, by);
            let inside = graph.add(Op::Compare(Comparison::GreaterEqual), &[frame.to, first], DeviceType::Bool);
            let at = two(graph, Op::Subtract, frame.to, by);
            graph.add(Op::IfElse, &[inside, at, none], ROWS)
        }
    };
    Ok(graph.add(Op::Gather(input), &[there], kind))
}

/// The column that an expression is, or has become.
fn column_of(of: &Arc<dyn PhysicalExpr>, moved: &ShiftedColumns) -> Option<usize> {
    let any: &dyn Any = of.as_ref();
    let place = moved.iter().find(|(known, _)| known == of).map(|(_, place)| *place);
    place.or_else(|| any.downcast_ref::<Column>().map(Column::index))
}

fn input_of(lowering: &Lowering, id: NodeId) -> u32 {
    if let Op::Input(input) = lowering.graph.node(id).op { input } else { 0 }
}

/// The column of the table that a value is at other rows, too.
fn taken(
    lowering: &mut Lowering,
    of: &Arc<dyn PhysicalExpr>,
    name: &str,
    moved: &ShiftedColumns,
) -> Result<(u32, DeviceType), CpuReason> {
    let refused = || CpuReason::form(name, "of a computed value");
    let column = column_of(of, moved).ok_or_else(refused)?;
    let id = lowering.column_as(column, false)?;
    let node = lowering.graph.node(id);
    match node.op {
        Op::Input(input) => Ok((input, node.kind)),
        _ => Err(refused()),
    }
}
