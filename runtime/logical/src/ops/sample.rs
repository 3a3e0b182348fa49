//! Random samples that a seed fixes: the same rows each time, in the frame's order.

use std::any::Any;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanBuilder, ListBuilder, PrimitiveArray};
use arrow::datatypes::{DataType, Field, FieldRef, UInt64Type};
use datafusion::common::UnnestOptions;
use datafusion::functions_aggregate as df;
use datafusion::logical_expr::expr::{WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::{
    Expr, LogicalPlan, LogicalPlanBuilder, PartitionEvaluator, Signature, Volatility, WindowFrame,
    WindowFunctionDefinition, WindowUDF, WindowUDFImpl, cast,
};
use onrush_expr::diagnostics::{self, HIDDEN};
use onrush_expr::scalar_udf::kernel;
use onrush_expr::{Aggregation, Lower, Scope, column, lit};
use onrush_wire::plan::SampleSize;
use onrush_wire::{Diagnostic, Span};
use serde::{Deserialize, Serialize};

use super::{build, keep, names};
use crate::fingerprint;

/// Without replacement each row's place comes from a hash of its number and the seed, and the first places are taken.
pub fn sample(
    plan: LogicalPlan,
    amount: SampleSize,
    seed: u64,
    with_replacement: bool,
    at: Option<&Span>,
) -> Result<LogicalPlan, Diagnostic> {
    if let SampleSize::Fraction(f) = amount
        && !(f >= 0.0 && f.is_finite() && (with_replacement || f <= 1.0))
    {
        let message = format!("a fraction lies between 0 and 1, this is {f}");
        return Err(diagnostics::place(diagnostics::plan_error("argument", message), None, at, ""));
    }
    let available = names(&plan);
    if with_replacement {
        return replaced(plan, amount, seed, &available);
    }
    let mut lower = Lower::new(plan, at)?;
    let row = lower.row()?;
    let place = kernel("shuffle", DataType::UInt64, |args| {
        let (rows, seed) = (args[0].as_primitive::<UInt64Type>(), args[1].as_primitive::<UInt64Type>());
        let seed = if seed.is_empty() { 0 } else { seed.value(0) };
        let hashed: PrimitiveArray<UInt64Type> = rows.unary(|row| mix(row ^ mix(seed)));
        Ok(Arc::new(hashed))
    })
    .call(vec![row.clone(), lit(seed)]);
    let by_place = vec![place.sort(true, true), row.clone().sort(true, true)];
    let picked = match amount {
        SampleSize::Rows(n) => {
            let plan = build(LogicalPlanBuilder::new(lower.plan).sort(by_place))?;
            build(LogicalPlanBuilder::new(plan).limit(0, Some(n as usize)))?
        }
        SampleSize::Fraction(f) => {
            let total = lower.aggregate(df::count::count_udaf(), vec![lit(1i64)], Aggregation::default())?;
            lower.scope = Scope::Rows { partition: Vec::new(), order: by_place };
            let rank = lower.aggregate_rank()?;
            let limit = cast(cast(total, DataType::Float64) * lit(f), DataType::Int64);
            build(LogicalPlanBuilder::new(lower.plan).filter(rank.lt_eq(limit)))?
        }
    };
    // In the frame's own order: a sample of a sorted frame is sorted.
    let plan = build(LogicalPlanBuilder::new(picked).sort(vec![column(&format!("{HIDDEN}row")).sort(true, true)]))?;
    keep(plan, &available)
}

/// Each row as often as it was drawn.
fn replaced(plan: LogicalPlan, amount: SampleSize, seed: u64, available: &[String]) -> Result<LogicalPlan, Diagnostic> {
    let name = format!("{HIDDEN}draws");
    let amount = match amount {
        SampleSize::Rows(rows) => Amount::Rows(rows),
        SampleSize::Fraction(fraction) => Amount::Millionths((fraction * 1e6).round() as u64),
    };
    let fun = WindowFunctionDefinition::WindowUDF(Draws::function(amount, seed));
    let params = WindowFunctionParams {
        args: Vec::new(),
        partition_by: Vec::new(),
        order_by: Vec::new(),
        window_frame: WindowFrame::new(None),
        filter: None,
        null_treatment: None,
        distinct: false,
    };
    let draws = Expr::WindowFunction(Box::new(WindowFunction { fun, params })).alias(&name);
    let plan = build(LogicalPlanBuilder::new(plan).window(vec![draws]))?;
    let options = UnnestOptions::new().with_preserve_nulls(false);
    let columns = vec![datafusion::common::Column::from_name(&name)];
    let plan = build(LogicalPlanBuilder::new(plan).unnest_columns_with_options(columns, options))?;
    keep(plan, available)
}

/// How many draws: so many, or so many for each million of the rows.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Amount {
    Rows(u64),
    Millionths(u64),
}

/// For each row a list with one element for each time that it is drawn.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Draws {
    amount: Amount,
    seed: u64,
    signature: Signature,
}

impl Draws {
    fn function(amount: Amount, seed: u64) -> Arc<WindowUDF> {
        let signature = Signature::nullary(Volatility::Immutable);
        Arc::new(WindowUDF::new_from_impl(Draws { amount, seed, signature }))
    }
}

/// The draws of a sample as data.
#[derive(Serialize, Deserialize)]
pub(crate) struct DrawsForm {
    amount: Amount,
    seed: u64,
}

impl DrawsForm {
    /// The form of the draws of a sample. `None` for any other function.
    pub(crate) fn of(function: &WindowUDF) -> Option<DrawsForm> {
        let inner: &dyn Any = function.inner().as_ref();
        let Draws { amount, seed, .. } = inner.downcast_ref::<Draws>()?;
        Some(DrawsForm { amount: *amount, seed: *seed })
    }

    pub(crate) fn into_function(self) -> Arc<WindowUDF> {
        Draws::function(self.amount, self.seed)
    }
}

impl WindowUDFImpl for Draws {
    fn name(&self) -> &str {
        "draws"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn partition_evaluator(&self, _: PartitionEvaluatorArgs) -> datafusion::error::Result<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(Drawer { amount: self.amount, seed: self.seed }))
    }

    fn field(&self, args: WindowUDFFieldArgs) -> datafusion::error::Result<FieldRef> {
        let item = Arc::new(Field::new_list_field(DataType::Boolean, true));
        Ok(Arc::new(Field::new(args.name(), DataType::List(item), true)))
    }
}

#[derive(Debug)]
struct Drawer {
    amount: Amount,
    seed: u64,
}

impl PartitionEvaluator for Drawer {
    fn evaluate_all(&mut self, _: &[ArrayRef], rows: usize) -> datafusion::error::Result<ArrayRef> {
        let mut out = ListBuilder::with_capacity(BooleanBuilder::new(), rows);
        for count in draws(rows, self.amount, self.seed) {
            (0..count).for_each(|_| out.values().append_value(true));
            out.append(true);
        }
        Ok(Arc::new(out.finish()))
    }
}

/// How often each row is drawn.
#[doc(hidden)]
pub fn draws(rows: usize, amount: Amount, seed: u64) -> Vec<u32> {
    let total = match amount {
        Amount::Rows(n) => n,
        Amount::Millionths(n) => (rows as u128 * u128::from(n) / 1_000_000) as u64,
    };
    let mut counts = vec![0u32; rows];
    if rows > 0 {
        for draw in 0..total {
            // The high half of a product spreads 64 bits evenly over the rows.
            let row = (u128::from(mix(draw ^ mix(seed))) * rows as u128) >> 64;
            counts[row as usize] += 1;
        }
    }
    counts
}

/// A step of SplitMix64.
fn mix(value: u64) -> u64 {
    fingerprint::mix(value.wrapping_add(fingerprint::GOLDEN_RATIO))
}
