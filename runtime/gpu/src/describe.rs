//! `describe` on a device: the aggregate `quartiles` becomes three quantiles.

use std::any::Any;
use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_expr::aggregate::{AggregateExprBuilder, AggregateFunctionExpr};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::projection::ProjectionExec;
use onrush_expr::quantile::{Interpolation, quantile};
use onrush_logical::ops::describe::DescribeExec;

use super::accelerator::Accelerator;
use super::classify::can_be_read_again;
use super::lower::literal_of;
use super::lower::strings::is_text;

/// Aggregates of one row: those of about ten columns.
const MAX_FUNCTIONS: usize = 96;

/// Whether a node only picks the values of one row, on the host.
pub fn is_description(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let any: &dyn Any = plan.as_ref();
    any.is::<DescribeExec>()
}

/// A description over quantiles. `None` for other nodes, and if its quartiles are read in a way that is not known here.
pub fn with_quantiles(
    plan: &Arc<dyn ExecutionPlan>,
    accelerator: &Accelerator,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let any: &dyn Any = plan.as_ref();
    let Some(describe) = any.downcast_ref::<DescribeExec>() else { return Ok(None) };
    let [row] = &describe.inputs[..] else { return Ok(None) };
    let Some((aggregate, of)) = aggregates(row) else { return Ok(None) };
    if !aggregate.group_expr().expr().is_empty() {
        return Ok(None);
    }
    let is_again = can_be_read_again(aggregate.input(), accelerator)?;
    let mut functions = Vec::new();
    let mut filters = Vec::new();
    // The new place of each function, and whether it became three.
    let mut places = vec![(0, false); aggregate.aggr_expr().len()];
    let of_strings =
        |index: &usize| is_again && reads_strings(&aggregate.aggr_expr()[*index], &aggregate.input_schema());
    let (texts, others): (Vec<usize>, Vec<usize>) = (0..places.len()).partition(of_strings);
    for &index in others.iter().chain(&texts) {
        let (function, filter) = (&aggregate.aggr_expr()[index], &aggregate.filter_expr()[index]);
        let is_three = function.fun().name() == "quartiles";
        places[index] = (functions.len(), is_three);
        if !is_three {
            functions.push(Arc::clone(function));
            filters.push(filter.clone());
            continue;
        }
        for q in [0.25, 0.5, 0.75] {
            let builder = AggregateExprBuilder::new(quantile(q, Interpolation::Nearest), function.expressions());
            let alias = format!("{} {q}", function.name());
            functions.push(Arc::new(builder.schema(aggregate.input_schema()).alias(alias).build()?));
            filters.push(filter.clone());
        }
    }
    if functions.len() == places.len() {
        return Ok(None);
    }
    let names: Vec<String> = functions.iter().map(|function| function.name().to_string()).collect();
    let column = |index: usize| -> Arc<dyn PhysicalExpr> { Arc::new(Column::new(&names[index], index)) };
    // Many columns are several rows of aggregates, whose kernels are compiled in less time.
    let each = if is_again { MAX_FUNCTIONS } else { functions.len() };
    let numbers = functions.len() - texts.len();
    let parts = |from: usize, to: usize| (from..to).step_by(each).map(move |at| at..to.min(at + each));
    let mut rows: Vec<Arc<dyn ExecutionPlan>> = Vec::new();
    for part in parts(0, numbers).chain(parts(numbers, functions.len())) {
        let (functions, filters) = (&functions[part.clone()], &filters[part]);
        let (mode, group, input) = (*aggregate.mode(), aggregate.group_expr().clone(), Arc::clone(aggregate.input()));
        let (functions, filters) = (functions.to_vec(), filters.to_vec());
        let row = AggregateExec::try_new(mode, group, functions, filters, input, aggregate.input_schema())?;
        rows.push(Arc::new(row));
    }
    let mut values = Vec::new();
    let mut is_known = true;
    for value in describe.values() {
        let value = Arc::clone(value).transform_down(|expr| {
            let any: &dyn Any = expr.as_ref();
            if let Some((index, which)) = quartile(&expr) {
                let (place, is_three) = places[of[index]];
                is_known &= is_three;
                // Replaced columns are not visited again.
                return Ok(Transformed::new(column(place + which - 1), true, TreeNodeRecursion::Jump));
            }
            Ok(match any.downcast_ref::<Column>() {
                Some(old) => {
                    let (place, is_three) = places[of[old.index()]];
                    is_known &= !is_three;
                    Transformed::new(column(place), true, TreeNodeRecursion::Jump)
                }
                None => Transformed::no(expr),
            })
        })?;
        values.push(value.data);
    }
    Ok(is_known.then(|| Arc::new(describe.over(rows, values)) as Arc<dyn ExecutionPlan>))
}

/// The aggregates of a row, and which of them each of its columns is: the planner computes equal ones once, and repeats
/// them above.
fn aggregates(row: &Arc<dyn ExecutionPlan>) -> Option<(&AggregateExec, Vec<usize>)> {
    let any: &dyn Any = row.as_ref();
    if let Some(projection) = any.downcast_ref::<ProjectionExec>() {
        let (aggregate, of) = aggregates(projection.input())?;
        let chosen = projection.expr().iter().map(|chosen| {
            let any: &dyn Any = chosen.expr.as_ref();
            Some(of[any.downcast_ref::<Column>()?.index()])
        });
        return Some((aggregate, chosen.collect::<Option<_>>()?));
    }
    let aggregate = any.downcast_ref::<AggregateExec>()?;
    Some((aggregate, (0..aggregate.aggr_expr().len()).collect()))
}

/// Whether an aggregate reads strings and nothing else.
fn reads_strings(function: &AggregateFunctionExpr, schema: &Schema) -> bool {
    let columns: Vec<Column> = function.expressions().iter().flat_map(collect_columns).collect();
    !columns.is_empty() && columns.iter().all(|column| is_text(schema.field(column.index()).data_type()))
}

/// The columns of strings that a row of aggregates reads, if it reads nothing else, and the rows that they are of.
pub fn only_strings(row: &Arc<dyn ExecutionPlan>) -> Option<(Vec<usize>, &Arc<dyn ExecutionPlan>)> {
    let any: &dyn Any = row.as_ref();
    let aggregate = any.downcast_ref::<AggregateExec>()?;
    let schema = aggregate.input_schema();
    if !aggregate.aggr_expr().iter().all(|function| reads_strings(function, &schema)) {
        return None;
    }
    let args = aggregate.aggr_expr().iter().flat_map(|function| function.expressions());
    let columns = args.flat_map(|arg| collect_columns(&arg)).map(|column| column.index()).collect();
    Some((columns, aggregate.input()))
}

/// The column of quartiles that an expression reads, and which one, from 1.
fn quartile(expr: &Arc<dyn PhysicalExpr>) -> Option<(usize, usize)> {
    let any: &dyn Any = expr.as_ref();
    let function = any.downcast_ref::<ScalarFunctionExpr>().filter(|f| f.name() == "array_element")?;
    let [list, which] = function.args() else { return None };
    let list: &dyn Any = list.as_ref();
    let Some(ScalarValue::Int64(Some(which @ 1..=3))) = literal_of(which) else { return None };
    Some((list.downcast_ref::<Column>()?.index(), *which as usize))
}
