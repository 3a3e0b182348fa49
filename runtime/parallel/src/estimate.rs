//! Estimates of the rows of plans.

use std::any::Any;

use datafusion::datasource::memory::DataSourceExec;
use datafusion::physical_expr::utils::split_conjunction;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use onrush_logical::mem_table::HeldRows;

use crate::nodes::{Plan, cast};

/// The rows of a plan, about. `None` if a source is not in memory.
pub fn rows(plan: &Plan) -> Option<usize> {
    estimate(plan).map(|(rows, _)| rows as usize)
}

/// The rows of a plan, and their share of the source's rows. A condition leaves a third, and a join the share of one
/// side that is left of the other.
fn estimate(plan: &Plan) -> Option<(f64, f64)> {
    if let Some(source) = cast::<DataSourceExec>(plan) {
        let source: &dyn Any = source.data_source().as_ref();
        return source.downcast_ref::<HeldRows>().map(|rows| (rows.table().rows() as f64, 1.0));
    }
    // Ranges and files have any number of rows.
    if plan.children().is_empty() && cast::<EmptyExec>(plan).is_none() && cast::<PlaceholderRowExec>(plan).is_none() {
        return None;
    }
    let inputs = plan.children().into_iter().map(estimate).collect::<Option<Vec<_>>>()?;
    if let Some(filter) = cast::<FilterExec>(plan) {
        let (rows, part) = inputs.first()?;
        let left = 3f64.powi(-(split_conjunction(filter.predicate()).len() as i32));
        return Some((rows * left, part * left));
    }
    let most = inputs.iter().map(|(rows, _)| *rows).fold(0.0, f64::max);
    let part = inputs.iter().map(|(_, part)| *part).fold(1.0, f64::min);
    match cast::<HashJoinExec>(plan) {
        Some(_) => {
            let larger = inputs.iter().find(|(rows, _)| *rows == most)?.1;
            Some((most * (part / larger).min(1.0), part))
        }
        None => Some((most, part)),
    }
}
