//! Quantiles of groups. Rows are sorted by the group keys and the value. A window finds the first row and the number of
//! rows of each group, and the quantile is read at a position. The other aggregates run over the same sorted rows.
//! Quantiles of several columns need one sort for each column.

use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_plan::aggregates::AggregateExec;
use onrush_kernels::Scalar;
use onrush_ops::{
    AggregateOp, Comparison, DeviceType, ExprGraph, Interpolation, LiteralValue, NodeId, Op, Quantile, Window,
    WindowBoundary, window,
};

use super::aggregates::{self, Accumulators, AggregateResult};
use super::arithmetic;
use super::cpu_reason::CpuReason;
use super::fragment_builder::FragmentBuilder;
use super::lower::{ColumnSource, Lowering};
use super::quantiles::{FilteredValue, SortedValues, quantile};

const ROWS: DeviceType = DeviceType::Number(Scalar::U64);

/// The value of a quantile.
fn value_of(function: &AggregateFunctionExpr) -> Result<Arc<dyn PhysicalExpr>, CpuReason> {
    match &function.expressions()[..] {
        [arg] if !function.is_distinct() => Ok(Arc::clone(arg)),
        _ => Err(CpuReason::feature("a quantile of distinct values or of several columns")),
    }
}

/// Lowers an aggregate with quantiles.
pub fn aggregate(open: &mut FragmentBuilder, aggregate: &AggregateExec) -> Result<(), CpuReason> {
    let group = aggregate.group_expr();
    if !group.is_single() {
        return Err(CpuReason::feature("a grouping set"));
    }
    if group.expr().is_empty() {
        return of_all_rows(open, aggregate);
    }
    let functions = || aggregate.aggr_expr().iter().zip(aggregate.filter_expr());
    let mut values: Vec<FilteredValue> = Vec::new();
    for (function, filter) in functions().filter(|(function, _)| quantile(function).is_some()) {
        let value = FilteredValue { of: value_of(function)?, filter: filter.clone() };
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let keys: Vec<&Arc<dyn PhysicalExpr>> = group.expr().iter().map(|(key, _)| key).collect();
    let Some(first) = values.first() else {
        return Err(CpuReason::Unexpected("an aggregate without quantiles".into()));
    };
    let mut sorted = SortedRows::new(open, &keys, first)?;
    let mut results: Vec<Option<QuantileColumn>> = vec![None; aggregate.aggr_expr().len()];
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            sorted = sorted.by(open, value, &mut results)?;
        }
        for (result, (function, filter)) in results.iter_mut().zip(functions()) {
            if let Some((interpolation, q)) = quantile(function)
                && (value_of(function)?, filter) == (Arc::clone(&value.of), &value.filter)
            {
                let id = sorted.quantile(&mut open.lowering, interpolation, q);
                *result = Some(QuantileColumn::Node(id));
            }
        }
    }

    let SortedRows { partition, mut accumulators, begin, last, .. } = sorted;
    let lowering = &mut open.lowering;
    let at = |graph: &mut ExprGraph, kind: DeviceType, index: usize| graph.add(Op::Prefix(index as u32), &[last], kind);
    let mut columns: Vec<NodeId> = partition.clone();
    for ((function, filter), result) in functions().zip(results) {
        match result {
            Some(QuantileColumn::Node(id)) => columns.push(id),
            Some(QuantileColumn::Made(column)) => columns.push(lowering.column(column)?),
            None => {
                let recipe = aggregates::aggregate(lowering, &mut accumulators, function, filter.as_ref())?;
                if matches!(recipe, AggregateResult::Fetch { .. }) || !accumulators.all.iter().all(window::can_run) {
                    return Err(CpuReason::form(function.fun().name(), "with a quantile in one aggregate"));
                }
                let kinds = window::kinds(&lowering.graph, &accumulators.all);
                let of = |graph: &mut ExprGraph, index: usize| at(graph, kinds[index], index);
                columns.push(aggregates::result(&mut lowering.graph, &recipe, &of));
            }
        }
    }
    let row = lowering.graph.add(Op::RowNumber, &[], ROWS);
    let begins = lowering.graph.add(Op::Compare(Comparison::Equal), &[row, begin], DeviceType::Bool);
    lowering.columns = columns.into_iter().map(ColumnSource::Node).collect();
    open.filter = Some(begins);
    open.window = Some(Window { partition, prefix: accumulators.all, ..Window::default() });
    Ok(())
}

/// Without keys each value is sorted by itself, and the rest is one row of aggregates.
fn of_all_rows(open: &mut FragmentBuilder, aggregate: &AggregateExec) -> Result<(), CpuReason> {
    open.aggregate_by(aggregate, Vec::new(), &mut |lowering, accumulators, index| {
        let (function, filter) = (&aggregate.aggr_expr()[index], aggregate.filter_expr()[index].as_ref());
        let Some((interpolation, q)) = quantile(function) else {
            return Ok(vec![aggregates::aggregate(lowering, accumulators, function, filter)?]);
        };
        let of = FilteredValue { of: value_of(function)?, filter: filter.cloned() }.node(lowering)?;
        accumulators.quantiles.push(Quantile { of, rank: q.to_bits(), how: interpolation });
        Ok(vec![AggregateResult::Quantile(accumulators.quantiles.len() - 1)])
    })
}

/// The quantiles of a function: a node of the stage that is open, or a column of its table.
#[derive(Clone, Copy)]
enum QuantileColumn {
    Node(NodeId),
    Made(usize),
}

/// A stage over rows that are sorted by group and by the values of a quantile. Its table has the columns that it had
/// before, the keys, and what stages before found.
struct SortedRows {
    partition: Vec<NodeId>,
    /// The places of the keys.
    keys: std::ops::Range<usize>,
    /// The column of the values.
    input: u32,
    accumulators: Accumulators,
    /// The number of values in a group.
    count: usize,
    begin: NodeId,
    last: NodeId,
}

/// Values that are there come before those that are not.
const VALUES_FIRST: SortOptions = SortOptions { descending: false, nulls_first: false };

impl SortedRows {
    fn new(
        open: &mut FragmentBuilder,
        keys: &[&Arc<dyn PhysicalExpr>],
        value: &FilteredValue,
    ) -> Result<SortedRows, CpuReason> {
        if !open.can_be_sorted() {
            open.materialise();
        }
        let lowering = &mut open.lowering;
        let mut fields: Vec<FieldRef> = lowering.schema.fields().iter().map(Arc::clone).collect();
        let first = fields.len();
        for expr in keys {
            let (dtype, id) = (lowering.dtype(expr)?, lowering.key(expr)?);
            if lowering.graph.kind(id) == DeviceType::Number(Scalar::I128) {
                return Err(CpuReason::feature("a quantile with keys of more than 18 digits"));
            }
            let id = arithmetic::as_group(&mut lowering.graph, id);
            fields.push(Arc::new(Field::new(format!("by {}", fields.len()), dtype, true)));
            lowering.columns.push(ColumnSource::Node(id));
        }
        let keys = first..fields.len();
        SortedRows::sorted(open, fields, keys, value)
    }

    /// The same rows, sorted by other values. Quantiles that are found become columns.
    fn by(
        self,
        open: &mut FragmentBuilder,
        value: &FilteredValue,
        found: &mut [Option<QuantileColumn>],
    ) -> Result<SortedRows, CpuReason> {
        let lowering = &mut open.lowering;
        let mut fields: Vec<FieldRef> = lowering.schema.fields().iter().map(Arc::clone).collect();
        for column in found.iter_mut().flatten() {
            if let QuantileColumn::Node(id) = *column {
                *column = QuantileColumn::Made(fields.len());
                fields.push(Arc::new(Field::new(format!("quantile {}", fields.len()), DataType::Float64, true)));
                lowering.columns.push(ColumnSource::Node(id));
            }
        }
        let SortedRows { partition, accumulators, keys, .. } = self;
        open.window = Some(Window { partition, prefix: accumulators.all, ..Window::default() });
        SortedRows::sorted(open, fields, keys, value)
    }

    fn sorted(
        open: &mut FragmentBuilder,
        mut fields: Vec<FieldRef>,
        keys: std::ops::Range<usize>,
        value: &FilteredValue,
    ) -> Result<SortedRows, CpuReason> {
        let lowering = &mut open.lowering;
        let (dtype, id) = (lowering.dtype(&value.of)?, value.node(lowering)?);
        let place = fields.len();
        fields.push(Arc::new(Field::new(format!("by {place}"), dtype, true)));
        lowering.columns.push(ColumnSource::Node(id));
        let mut by = Vec::new();
        for index in keys.clone() {
            by.push(match open.lowering.columns[index] {
                ColumnSource::Node(id) => id,
                _ => open.lowering.column_as(index, false)?,
            });
        }
        by.push(id);
        open.order = Some(by.into_iter().map(|id| open.ordered(id, VALUES_FIRST)).collect());
        open.lowering.schema = Arc::new(Schema::new(fields));
        open.materialise();

        let lowering = &mut open.lowering;
        let mut partition = Vec::new();
        for index in keys.clone() {
            partition.push(lowering.column_as(index, false)?);
        }
        let value = lowering.column(place)?;
        let Op::Input(input) = lowering.graph.node(value).op else {
            return Err(CpuReason::Unexpected("a quantile of a value that does not exist".into()));
        };
        let mut accumulators = Accumulators::that_run();
        let count = accumulators.add(AggregateOp::Count, Some(value));
        let begin = lowering.graph.add(Op::WindowBoundary(WindowBoundary::Begin), &[], ROWS);
        let end = lowering.graph.add(Op::WindowBoundary(WindowBoundary::End), &[], ROWS);
        let one = lowering.graph.literal(ROWS, LiteralValue::U64(1));
        let last = lowering.graph.add(Op::Subtract, &[end, one], ROWS);
        Ok(SortedRows { partition, keys, input, accumulators, count, begin, last })
    }

    fn quantile(&self, lowering: &mut Lowering, interpolation: Interpolation, q: f64) -> NodeId {
        let graph = &mut lowering.graph;
        let count = graph.add(Op::Prefix(self.count as u32), &[self.last], DeviceType::Number(Scalar::I64));
        SortedValues { begin: self.begin, count, input: self.input }.quantile(graph, interpolation, q)
    }
}
