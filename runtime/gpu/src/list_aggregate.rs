//! Aggregates that make lists: the rows are sorted by group, so that the list of a group is a range of rows.

use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::aggregates::AggregateExec;
use onrush_kernels::Scalar;
use onrush_ops::{AggregateOp, DeviceType, NodeId, Op};

use super::aggregates::{self, AggregateResult};
use super::arithmetic;
use super::cpu_reason::CpuReason;
use super::fragment_builder::FragmentBuilder;
use super::lower::lists::is_nested;
use super::lower::{ColumnSource, Lowering};

/// Whether an aggregate makes lists.
pub fn collects(aggregate: &AggregateExec) -> bool {
    aggregate.aggr_expr().iter().any(|function| function.fun().name() == "array_agg")
}

/// Lists of groups: rows sorted by group, in the order that the lists are to have; those that are left out come last.
pub fn aggregate(open: &mut FragmentBuilder, aggregate: &AggregateExec) -> Result<(), CpuReason> {
    let group = aggregate.group_expr();
    if !group.is_single() {
        return Err(CpuReason::feature("a grouping set"));
    }
    let functions: Vec<_> = aggregate.aggr_expr().iter().zip(aggregate.filter_expr()).collect();
    let refused = |why: &'static str| Err(CpuReason::form("array_agg", why));
    let mut how = None;
    for (function, filter) in &functions {
        if function.fun().name() != "array_agg" {
            if matches!(function.fun().name(), "first_value" | "last_value") {
                return refused("with `first_value` or `last_value` in one aggregate");
            }
            continue;
        }
        if function.is_distinct() {
            return refused("of distinct values");
        }
        let args = function.expressions();
        let [arg] = &args[..] else { return refused("of several columns") };
        // The rows of a list, and their order, depend on three things.
        let past_nulls = function.ignore_nulls().then(|| Arc::clone(arg));
        // One that a rule turned round gathers the rows in the other order, and reads them from the end.
        let order = function.order_bys().iter().map(|key| match function.is_reversed() {
            true => PhysicalSortExpr::new(Arc::clone(&key.expr), !key.options),
            false => key.clone(),
        });
        let this = (order.collect::<Vec<_>>(), filter.as_ref().map(Arc::clone), past_nulls);
        if how.get_or_insert_with(|| this.clone()) != &this {
            return refused("with several orders or filters in one aggregate");
        }
    }
    let Some((order, filter, past_nulls)) = how else { return refused("without arguments") };

    // The rows in order, with keys and values as separate columns.
    if !open.can_be_sorted() {
        open.materialise();
    }
    let mut fields: Vec<FieldRef> = open.lowering.schema.fields().iter().map(Arc::clone).collect();
    let mut column = |lowering: &mut Lowering, dtype: DataType, id: NodeId| {
        fields.push(Arc::new(Field::new(format!("of a list {}", fields.len()), dtype, true)));
        lowering.columns.push(ColumnSource::Node(id));
        fields.len() - 1
    };
    let mut keys = Vec::new();
    let ascending = |expr: &Arc<dyn PhysicalExpr>| PhysicalSortExpr::new_default(Arc::clone(expr));
    for (key, _) in group.expr() {
        let dtype = open.lowering.dtype(key)?;
        keys.extend(match dtype.is_floating() {
            // The rows of a group lie together only if its floats are one to the order, too.
            true => {
                let value = open.lowering.key(key)?;
                let value = arithmetic::as_group(&mut open.lowering.graph, value);
                vec![open.ordered(value, SortOptions::default())]
            }
            false => open.sort_keys(&ascending(key))?,
        });
    }
    let lowering = &mut open.lowering;
    let mut by_group = Vec::new();
    for (key, _) in group.expr() {
        let (dtype, id) = (lowering.dtype(key)?, lowering.key(key)?);
        let id = arithmetic::as_group(&mut lowering.graph, id);
        by_group.push(column(lowering, dtype, id));
    }
    let filter = filter.as_ref().map(|filter| lowering.boolean(filter)).transpose()?;
    let there = match past_nulls {
        None => None,
        Some(value) => {
            let value = lowering.expr(&value)?;
            let absent = lowering.graph.add(Op::IsNull, &[value], DeviceType::Bool);
            Some(lowering.graph.add(Op::Not, &[absent], DeviceType::Bool))
        }
    };
    let no = lowering.graph.bool(false);
    let passes =
        [filter, there].into_iter().flatten().reduce(|a, b| lowering.graph.add(Op::And, &[a, b], DeviceType::Bool));
    let passes = passes.map(|passes| lowering.graph.add(Op::Coalesce, &[passes, no], DeviceType::Bool));
    let mut passing = None;
    if let Some(passes) = passes {
        let lacks = lowering.graph.add(Op::Not, &[passes], DeviceType::Bool);
        passing = Some(column(lowering, DataType::Boolean, passes));
        keys.push(open.ordered(lacks, SortOptions::default()));
    }
    for by in &order {
        keys.extend(open.sort_keys(by)?);
    }
    let lowering = &mut open.lowering;
    let mut values = Vec::new();
    for (function, _) in &functions {
        values.push(match (function.fun().name(), &function.expressions()[..]) {
            ("array_agg", [arg]) => {
                let dtype = lowering.dtype(arg)?;
                let id = if is_nested(&dtype) { lowering.expr(arg)? } else { lowering.key(arg)? };
                Some(column(lowering, dtype, id))
            }
            _ => None,
        });
    }
    open.lowering.schema = Arc::new(Schema::new(fields));
    open.order = (!keys.is_empty()).then_some(keys);
    open.materialise();

    let lowering = &mut open.lowering;
    let number = DeviceType::Number(Scalar::U64);
    let row = lowering.graph.add(Op::RowNumber, &[], number);
    let passing = passing.map(|passing| lowering.column(passing)).transpose()?;
    let counted = passing.map(|passing| {
        let null = lowering.graph.null(DeviceType::Bool);
        lowering.graph.add(Op::IfElse, &[passing, passing, null], DeviceType::Bool)
    });
    let keys = by_group.into_iter().map(|key| lowering.column_as(key, false)).collect::<Result<Vec<_>, _>>()?;
    open.aggregate_by(aggregate, keys, &mut |lowering, accumulators, index| {
        let (function, filter) = functions[index];
        let Some(column) = values[index] else {
            return aggregates::aggregate(lowering, accumulators, function, filter.as_ref()).map(|one| vec![one]);
        };
        let value = lowering.column_as(column, false)?;
        let Op::Input(input) = lowering.graph.node(value).op else {
            return Err(CpuReason::Unexpected("a list of no column".into()));
        };
        let row = accumulators.add(AggregateOp::MinUnsigned, Some(row));
        Ok(vec![AggregateResult::Rows { row, count: accumulators.add(AggregateOp::Count, counted), input }])
    })
}
