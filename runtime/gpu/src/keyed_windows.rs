//! Window functions partitioned by keys without an order: aggregates that are broadcast to the rows of their group, and
//! `unique` (first, last, only). The CPU uses a hash table (`expr/first_last.rs`). Here rows are sorted by key, a
//! window runs over each group, and the order of the input is restored.

use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::logical_expr::AggregateUDF;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateExprBuilder;
use onrush_kernels::Scalar;
use onrush_ops::{
    AggregateOp, Comparison, DeviceType, ExprGraph, NodeId, Op, OverflowPolicy, Window, WindowBoundary, kind_of, window,
};
use onrush_wire::plan::Keep;

use super::aggregates::{self, Accumulators, AggregateResult};
use super::arithmetic;
use super::cpu_reason::CpuReason;
use super::fragment_builder::FragmentBuilder;
use super::keyed_stage::{KeyedCall, KeyedFunction, KeyedStage};
use super::lower::{ColumnSource, Lowering};
use super::quantiles::{self, FilteredValue, SortedValues};
use super::window_frame::{edge, row, rows, two};

/// Adds the columns of calls that are alike, with the fields of their results. The rows come out in the order in which
/// they came, which is that of the stage that is left open.
pub fn windows(open: &mut FragmentBuilder, calls: &[(&KeyedCall, FieldRef)]) -> Result<(), CpuReason> {
    let Some((first, _)) = calls.first() else { return Ok(()) };
    let known = open.keyed.take().filter(|stage| calls.iter().all(|(call, _)| stage.takes(call)));
    let schema = Arc::clone(&open.lowering.schema);
    let mut stage = match known {
        Some(stage) => stage,
        None => {
            if !open.is_fresh() {
                open.materialise();
            }
            sorted(open, first, &schema)?
        }
    };
    let lowering = &mut open.lowering;
    for (call, field) in calls {
        let wanted = kind_of(field.data_type());
        let wanted = wanted.ok_or_else(|| CpuReason::of_type("a result", field.data_type()))?;
        let mut id = match &call.how {
            KeyedFunction::Distinct(keep) => is_kept(&mut lowering.graph, *keep),
            KeyedFunction::Aggregate { function, values, filter } => {
                let of = Aggregate { function, values, filter: filter.as_ref(), sorted: stage.sorted };
                of.of_group(lowering, &mut stage.accumulators)?
            }
        };
        let kind = lowering.graph.kind(id);
        if kind != wanted && kind != DeviceType::String {
            id = lowering.graph.add(Op::Convert(OverflowPolicy::Error), &[id], wanted);
        }
        lowering.columns.push(ColumnSource::Node(id));
    }
    let results = calls.iter().map(|(_, field)| Arc::clone(field));
    lowering.schema = Arc::new(Schema::new(schema.fields().iter().map(Arc::clone).chain(results).collect::<Vec<_>>()));
    let prefix = stage.accumulators.all.clone();
    open.window = Some(Window { partition: stage.partition.clone(), prefix, ..Window::default() });
    open.keyed = Some(stage);
    Ok(())
}

/// Sorts the rows by keys in a stage before the one that is open then, and which sorts them back. Its table has the
/// columns of the rows, the keys, the second sort key, and the number that each row had. The columns of the open stage
/// are those of the rows.
fn sorted(open: &mut FragmentBuilder, call: &KeyedCall, schema: &Arc<Schema>) -> Result<KeyedStage, CpuReason> {
    let width = schema.fields().len();
    let mut fields: Vec<FieldRef> = open.lowering.schema.fields().iter().map(Arc::clone).collect();
    let mut keys = Vec::new();
    let options = SortOptions { descending: false, nulls_first: false };
    let of_keys = call.keys.iter().map(|key| FilteredValue { of: Arc::clone(key), filter: None });
    for (index, by) in of_keys.chain(call.then.clone()).enumerate() {
        let lowering = &mut open.lowering;
        let dtype = lowering.dtype(&by.of)?;
        let mut value = by.node(lowering)?;
        if index < call.keys.len() {
            value = arithmetic::as_group(&mut lowering.graph, value);
        }
        if lowering.graph.kind(value) == DeviceType::Number(Scalar::I128) {
            return Err(CpuReason::feature("a window over decimals of more than 18 digits"));
        }
        fields.push(Arc::new(Field::new(format!("by {}", fields.len()), dtype, true)));
        lowering.columns.push(ColumnSource::Node(value));
        keys.push(open.ordered(value, options));
    }
    let then = fields.len().saturating_sub(1);
    let number = row(&mut open.lowering.graph);
    let row = fields.len();
    fields.push(Arc::new(Field::new("row", DataType::UInt64, false)));
    open.lowering.columns.push(ColumnSource::Node(number));
    open.lowering.schema = Arc::new(Schema::new(fields));
    if keys.is_empty() {
        keys.push(open.ordered(number, options));
    }
    open.order = Some(keys);
    open.materialise();

    let lowering = &mut open.lowering;
    let mut partition = Vec::new();
    for index in 0..call.keys.len() {
        partition.push(lowering.column_as(width + index, false)?);
    }
    let last = lowering.column_as(then, false)?;
    let Op::Input(sorted) = lowering.graph.node(last).op else {
        return Err(CpuReason::Unexpected("a column that was sorted and is not there".into()));
    };
    let sorted = sorted as usize;
    let row = lowering.column(row)?;
    lowering.columns.truncate(width);
    lowering.schema = Arc::clone(schema);
    open.order = Some(vec![open.ordered(row, SortOptions::default())]);
    open.restores = true;
    let (keys, then) = (call.keys.clone(), call.then.clone());
    Ok(KeyedStage { keys, then, width, sorted, partition, accumulators: Accumulators::that_run() })
}

/// Whether a row is one that is kept of those with equal keys.
fn is_kept(graph: &mut ExprGraph, keep: Keep) -> NodeId {
    let (begin, end, one) = (edge(graph, WindowBoundary::Begin), edge(graph, WindowBoundary::End), rows(graph, 1));
    let (a, b) = match keep {
        Keep::First | Keep::Any => (row(graph), begin),
        Keep::Last => {
            let here = row(graph);
            (two(graph, Op::Add, here, one), end)
        }
        Keep::None => (two(graph, Op::Subtract, end, begin), one),
    };
    graph.add(Op::Compare(Comparison::Equal), &[a, b], DeviceType::Bool)
}

/// An aggregate over the rows of equal keys.
struct Aggregate<'c> {
    function: &'c Arc<AggregateUDF>,
    values: &'c [Arc<dyn PhysicalExpr>],
    filter: Option<&'c Arc<dyn PhysicalExpr>>,
    /// The input of the stage that has a quantile's sorted values.
    sorted: usize,
}

impl Aggregate<'_> {
    fn of_group(&self, lowering: &mut Lowering, accumulators: &mut Accumulators) -> Result<NodeId, CpuReason> {
        let name = self.function.name();
        if let Some((interpolation, q)) = quantiles::parameters(self.function) {
            let input = self.sorted as u32;
            let value = lowering.graph.input(self.sorted, DeviceType::Number(Scalar::F64));
            let count = accumulators.add(AggregateOp::Count, Some(value));
            let graph = &mut lowering.graph;
            let count = at_end(graph, count, DeviceType::Number(Scalar::I64));
            let begin = edge(graph, WindowBoundary::Begin);
            return Ok(SortedValues { begin, count, input }.quantile(graph, interpolation, q));
        }
        let builder = AggregateExprBuilder::new(Arc::clone(self.function), self.values.to_vec());
        let function = builder.schema(Arc::clone(&lowering.schema)).alias(name).build()?;
        let recipe = aggregates::aggregate(lowering, accumulators, &function, self.filter)?;
        if matches!(recipe, AggregateResult::Fetch { .. }) || !accumulators.all.iter().all(window::can_run) {
            return Err(CpuReason::form(name, "over a window"));
        }
        let kinds = window::kinds(&lowering.graph, &accumulators.all);
        let at = |graph: &mut ExprGraph, index: usize| at_end(graph, index, kinds[index]);
        Ok(aggregates::result(&mut lowering.graph, &recipe, &at))
    }
}

/// The value of an accumulator over all rows of a row's partition.
fn at_end(graph: &mut ExprGraph, index: usize, kind: DeviceType) -> NodeId {
    let (end, one) = (edge(graph, WindowBoundary::End), rows(graph, 1));
    let last = two(graph, Op::Subtract, end, one);
    graph.add(Op::Prefix(index as u32), &[last], kind)
}
