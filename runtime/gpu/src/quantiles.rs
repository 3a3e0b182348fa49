//! Quantiles: rows sorted by group and value, a window over each group, and the rows at which groups begin. What else is aggregated runs
//! along the groups.

use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::{Field, Schema};
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::aggregates::AggregateExec;
use onrush_kernels::Scalar;
use onrush_ops::{
    AggregateOp, Comparison, DeviceType, ExprGraph, LiteralValue, NodeId, Op, OverflowPolicy, Window, WindowBoundary,
    window,
};

use super::aggregates::{self, Accumulators, AggregateResult};
use super::arithmetic;
use super::lower::{ColumnSource, Lowering};
use super::placement::FragmentBuilder;
use super::unsupported::Unsupported;

const ROWS: DeviceType = DeviceType::Number(Scalar::U64);
const FLOAT: DeviceType = DeviceType::Number(Scalar::F64);

/// How the functions of `expr/quantile.rs` are called: `quantile_linear_0.5`.
fn quantile(function: &AggregateFunctionExpr) -> Option<(&str, f64)> {
    let (interpolation, q) = function.fun().name().strip_prefix("quantile_")?.split_once('_')?;
    Some((interpolation, q.parse().ok()?))
}

/// Whether an aggregate has quantiles among its functions.
pub fn has_quantiles(aggregate: &AggregateExec) -> bool {
    aggregate.aggr_expr().iter().any(|function| quantile(function).is_some())
}

/// Lowers an aggregate with quantiles of one value. Without groups the rows must be those of a table: of no row there would be none.
pub fn aggregate(open: &mut FragmentBuilder, aggregate: &AggregateExec) -> Result<(), Unsupported> {
    let group = aggregate.group_expr();
    if !group.is_single() {
        return Err(Unsupported::feature("a grouping set"));
    }
    if group.expr().is_empty() && !open.is_whole() {
        return Err(Unsupported::feature("a quantile with FILTER and no keys"));
    }
    let functions = || aggregate.aggr_expr().iter().zip(aggregate.filter_expr());
    let mut of: Option<Arc<dyn PhysicalExpr>> = None;
    for (function, filter) in functions().filter(|(function, _)| quantile(function).is_some()) {
        let [arg] = &function.expressions()[..] else {
            return Err(Unsupported::feature("a quantile of several columns"));
        };
        if filter.is_some() || function.is_distinct() || of.as_ref().is_some_and(|of| of != arg) {
            return Err(Unsupported::feature("an aggregate with quantiles of several values"));
        }
        of = Some(Arc::clone(arg));
    }
    let Some(of) = of else { return Err(Unsupported::Unexpected("an aggregate without quantiles".into())) };

    // The rows in order, with keys and values as separate columns.
    if !open.can_be_sorted() {
        open.materialise();
    }
    let lowering = &mut open.lowering;
    let mut fields: Vec<Field> = lowering.schema.fields().iter().map(|field| field.as_ref().clone()).collect();
    let first = fields.len();
    let by: Vec<&Arc<dyn PhysicalExpr>> = group.expr().iter().map(|(key, _)| key).chain([&of]).collect();
    let as_group = |lowering: &mut Lowering, index: usize, id: NodeId| match index < group.expr().len() {
        true => arithmetic::as_group(&mut lowering.graph, id),
        false => id,
    };
    for (index, expr) in by.iter().enumerate() {
        let (dtype, id) = (lowering.dtype(expr)?, lowering.key(expr)?);
        let id = as_group(lowering, index, id);
        fields.push(Field::new(format!("by {}", fields.len()), dtype, true));
        lowering.columns.push(ColumnSource::Node(id));
    }
    let mut keys = Vec::new();
    for (index, expr) in by.iter().copied().enumerate() {
        // Values that are there come before those that are not.
        let options = SortOptions { descending: false, nulls_first: false };
        let key = open.sort_key(&PhysicalSortExpr { expr: Arc::clone(expr), options })?;
        let value = as_group(&mut open.lowering, index, key.value);
        keys.push(if value == key.value { key } else { open.ordered(value, options) });
    }
    open.lowering.schema = Arc::new(Schema::new(fields));
    open.order = Some(keys);
    open.materialise();

    let lowering = &mut open.lowering;
    let mut partition = Vec::new();
    for index in 0..group.expr().len() {
        partition.push(lowering.column(first + index)?);
    }
    let value = lowering.column(first + partition.len())?;
    let Op::Input(input) = lowering.graph.node(value).op else {
        return Err(Unsupported::Unexpected("a quantile of a value that does not exist".into()));
    };
    let mut accumulators = Accumulators::that_run();
    let count = accumulators.add(AggregateOp::Count, Some(value));
    let begin = lowering.graph.add(Op::WindowBoundary(WindowBoundary::Begin), &[], ROWS);
    let end = lowering.graph.add(Op::WindowBoundary(WindowBoundary::End), &[], ROWS);
    let one = lowering.graph.literal(ROWS, LiteralValue::U64(1));
    let last = lowering.graph.add(Op::Subtract, &[end, one], ROWS);
    let at = |graph: &mut ExprGraph, kind: DeviceType, index: usize| graph.add(Op::Prefix(index as u32), &[last], kind);
    let mut results: Vec<NodeId> = partition.clone();
    for (function, filter) in functions() {
        if let Some((interpolation, q)) = quantile(function) {
            let count = at(&mut lowering.graph, DeviceType::Number(Scalar::I64), count);
            let place = Place { begin, count, input };
            results.push(place.quantile(&mut lowering.graph, interpolation, q)?);
            continue;
        }
        let recipe = aggregates::aggregate(lowering, &mut accumulators, function, filter.as_ref())?;
        if matches!(recipe, AggregateResult::Fetch { .. }) || !accumulators.all.iter().all(window::can_run) {
            return Err(Unsupported::form(function.fun().name(), "with a quantile in one aggregate"));
        }
        let kinds = window::kinds(&lowering.graph, &accumulators.all);
        let of = |graph: &mut ExprGraph, index: usize| at(graph, kinds[index], index);
        results.push(aggregates::result(&mut lowering.graph, &recipe, &of));
    }
    let row = lowering.graph.add(Op::RowNumber, &[], ROWS);
    let begins = lowering.graph.add(Op::Compare(Comparison::Equal), &[row, begin], DeviceType::Bool);
    lowering.columns = results.into_iter().map(ColumnSource::Node).collect();
    open.filter = Some(begins);
    open.window = Some(Window { partition, prefix: accumulators.all, ..Window::default() });
    Ok(())
}

/// The sorted values of a group.
struct Place {
    begin: NodeId,
    count: NodeId,
    /// The column that they are in.
    input: u32,
}

impl Place {
    /// As `expr/quantile.rs` has it.
    fn quantile(&self, graph: &mut ExprGraph, interpolation: &str, q: f64) -> Result<NodeId, Unsupported> {
        let zero = graph.number(Scalar::I64, 0);
        let some = graph.add(Op::Compare(Comparison::Greater), &[self.count, zero], DeviceType::Bool);
        let one = graph.number(Scalar::I64, 1);
        let last = graph.add(Op::Subtract, &[self.count, one], DeviceType::Number(Scalar::I64));
        let last = graph.add(Op::Convert(OverflowPolicy::Error), &[last], FLOAT);
        let q = graph.literal(FLOAT, LiteralValue::F64(q.to_bits()));
        let position = graph.add(Op::Multiply, &[q, last], FLOAT);
        let at = |graph: &mut ExprGraph, place: NodeId| {
            let row = graph.add(Op::Convert(OverflowPolicy::Null), &[place], ROWS);
            let row = graph.add(Op::Add, &[self.begin, row], ROWS);
            let none = graph.null(ROWS);
            let row = graph.add(Op::IfElse, &[some, row, none], ROWS);
            graph.add(Op::Gather(self.input), &[row], FLOAT)
        };
        let rounded = |graph: &mut ExprGraph, how| graph.add(Op::MathFn(how), &[position], FLOAT);
        let (low, high) = (rounded(graph, "floor"), rounded(graph, "ceil"));
        let between = match interpolation {
            "nearest" => {
                let place = rounded(graph, "round");
                return Ok(at(graph, place));
            }
            "lower" => return Ok(at(graph, low)),
            "higher" => return Ok(at(graph, high)),
            other => other,
        };
        let (a, b) = (at(graph, low), at(graph, high));
        let value = match between {
            "midpoint" => {
                let sum = graph.add(Op::Add, &[a, b], FLOAT);
                let two = graph.literal(FLOAT, LiteralValue::F64(2.0_f64.to_bits()));
                graph.add(Op::Divide, &[sum, two], FLOAT)
            }
            "linear" => {
                let distance = graph.add(Op::Subtract, &[b, a], FLOAT);
                let part = graph.add(Op::Subtract, &[position, low], FLOAT);
                let part = graph.add(Op::Multiply, &[distance, part], FLOAT);
                graph.add(Op::Add, &[a, part], FLOAT)
            }
            other => return Err(Unsupported::feature(format!("a quantile by `{other}`"))),
        };
        let whole = graph.add(Op::Compare(Comparison::Equal), &[low, high], DeviceType::Bool);
        Ok(graph.add(Op::IfElse, &[whole, a, value], FLOAT))
    }
}
