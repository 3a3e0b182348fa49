//! The steps of a plan: each `wire::plan::Op` on top of its inputs' schemas, as a DataFusion plan whose inputs are
//! still names (`table.rs`).

pub mod asof;
pub mod describe;
pub mod group;
pub mod join;
pub mod pivot;
pub mod project;
pub mod reshape;
pub mod rows;
pub mod sample;
pub mod summary;

use std::sync::Arc;

use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use onrush_expr::column;
use onrush_expr::diagnostics::{self, HIDDEN};
use onrush_expr::error::diagnose;
use onrush_wire::plan::Op;
use onrush_wire::{Diagnostic, FrameId, Span};

use crate::frame_table::{Frame, scan};

/// The inputs of a step, from the engine.
pub trait Inputs {
    fn frame(&self, id: FrameId) -> Result<Arc<Frame>, Diagnostic>;
    /// The rows of a frame, computed now: for steps whose columns depend on values (`pivot`).
    fn rows(&self, plan: LogicalPlan) -> Result<onrush_frame::Table, Diagnostic>;
}

/// The plan of a step. Its columns have no qualifier.
pub fn plan(op: &Op, inputs: &dyn Inputs, at: Option<&Span>) -> Result<LogicalPlan, Diagnostic> {
    let input = |id: &FrameId| input(inputs, *id);
    let plan = match op {
        Op::Select { input: id, exprs } => project::select(input(id)?, exprs, at),
        Op::WithColumns { input: id, exprs } => project::with_columns(input(id)?, exprs, at),
        Op::Filter { input: id, predicate } => rows::filter(input(id)?, predicate, at),
        Op::GroupBy { input: id, keys, aggs } => group::group_by(input(id)?, keys, aggs, at),
        Op::Join { left, right, how, left_on, right_on, suffix } => {
            join::join(input(left)?, input(right)?, *how, left_on, right_on, suffix, at)
        }
        Op::JoinAsof { left, right, with } => asof::join(input(left)?, input(right)?, with, at),
        Op::Sort { input: id, keys } => rows::sort(input(id)?, keys, at),
        Op::Slice { input: id, offset, length } => rows::slice(input(id)?, *offset, *length),
        Op::Sample { input: id, amount, seed, with_replacement } => {
            sample::sample(input(id)?, *amount, *seed, *with_replacement, at)
        }
        Op::Unique { input: id, subset, keep } => rows::unique(input(id)?, subset, *keep, at),
        Op::DropNulls { input: id, subset } => rows::drop_nulls(input(id)?, subset, at),
        Op::FillNull { input: id, value } => project::fill_null(input(id)?, value, at),
        Op::Rename { input: id, names } => project::rename(input(id)?, names, at),
        Op::Drop { input: id, columns } => project::drop(input(id)?, columns, at),
        Op::Cast { input: id, columns, strict } => project::cast(input(id)?, columns, *strict, at),
        Op::Concat { inputs: ids, how } => {
            let plans = ids.iter().map(input).collect::<Result<Vec<_>, _>>()?;
            reshape::concat(plans, *how, at)
        }
        Op::Describe { input: id } => summary::describe(input(id)?),
        Op::ValueCounts { input: id, column } => summary::value_counts(input(id)?, column, at),
        Op::Pivot { input: id, on, index, values, aggregate } => {
            pivot::pivot(inputs, input(id)?, pivot::Request { on, index, values, aggregate }, at)
        }
        Op::Unpivot { input: id, index, on, variable_name, value_name } => {
            reshape::unpivot(input(id)?, index, on, variable_name, value_name, at)
        }
        Op::WithRowIndex { input: id, name, offset } => project::with_row_index(input(id)?, name, *offset, at),
        Op::Explode { input: id, columns } => reshape::explode(input(id)?, columns, at),
        Op::Read(_) | Op::FromArrow { .. } | Op::Sql { .. } | Op::Map { .. } | Op::Split { .. } | Op::Graph { .. } => {
            Err(onrush_expr::error::internal("this step is planned elsewhere"))
        }
    };
    plan.map_err(|d| if d.labels.is_empty() { diagnostics::place(d, None, at, "") } else { d })
}

/// An input's scan with plain column names.
fn input(inputs: &dyn Inputs, id: FrameId) -> Result<LogicalPlan, Diagnostic> {
    plain(&inputs.frame(id)?)
}

pub fn plain(frame: &Arc<Frame>) -> Result<LogicalPlan, Diagnostic> {
    let scan = scan("frame", frame).map_err(diagnose)?;
    unqualified(scan)
}

/// The same columns without their table's name.
pub fn unqualified(plan: LogicalPlan) -> Result<LogicalPlan, Diagnostic> {
    let exprs: Vec<Expr> = plan
        .schema()
        .iter()
        .map(|(qualifier, field)| {
            let column = datafusion::common::Column::new(qualifier.cloned(), field.name());
            Expr::Column(column).alias(field.name())
        })
        .collect();
    project_exprs(plan, exprs)
}

/// A projection. Names are taken as they are.
pub fn project_exprs(plan: LogicalPlan, exprs: Vec<Expr>) -> Result<LogicalPlan, Diagnostic> {
    LogicalPlanBuilder::new(plan).project(exprs).and_then(LogicalPlanBuilder::build).map_err(diagnose)
}

pub fn build(builder: datafusion::error::Result<LogicalPlanBuilder>) -> Result<LogicalPlan, Diagnostic> {
    builder.and_then(LogicalPlanBuilder::build).map_err(diagnose)
}

/// Names of the columns that the user sees.
pub fn names(plan: &LogicalPlan) -> Vec<String> {
    plan.schema().fields().iter().map(|f| f.name().clone()).filter(|n| !n.starts_with(HIDDEN)).collect()
}

/// Only the named columns, in that order.
pub fn keep(plan: LogicalPlan, names: &[String]) -> Result<LogicalPlan, Diagnostic> {
    project_exprs(plan, names.iter().map(|n| column(n)).collect())
}

/// Fails for a name that occurs twice.
pub fn distinct_names<'n>(
    names: impl IntoIterator<Item = (&'n str, Option<&'n Span>)>,
    at: Option<&Span>,
) -> Result<(), Diagnostic> {
    let mut seen = std::collections::HashSet::new();
    for (name, span) in names {
        if !seen.insert(name) {
            return Err(diagnostics::place(diagnostics::duplicate_column(name), span, at, "this name is taken"));
        }
    }
    Ok(())
}
