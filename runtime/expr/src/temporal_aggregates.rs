//! Quantiles and means of dates, times and spans of time, exact to the tick: floats have no place for microseconds far
//! from 1970.

use std::any::Any;
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, Int64Type, TimeUnit};
use datafusion::common::{ScalarValue, internal_err};
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility};
use serde::{Deserialize, Serialize};

use super::quantile::{GroupCounter, GroupedValues, Values, state_of};
use crate::error::external;
use crate::{diagnostics, type_coercion};

#[derive(Debug, PartialEq, Eq, Hash)]
struct Ticks {
    /// The bits of the quantile; none for the mean.
    quantile: Option<u64>,
    name: String,
    signature: Signature,
}

fn of(quantile: Option<f64>, name: String) -> Arc<AggregateUDF> {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(AggregateUDF::new_from_impl(Ticks { quantile: quantile.map(f64::to_bits), name, signature }))
}

/// Quantile of a column of times or spans, between the two nearest values. Nulls are left out; null if there is no
/// value.
pub fn quantile(q: f64) -> Arc<AggregateUDF> {
    of(Some(q), format!("quantile_of_times_{q}"))
}

/// The mean of times or spans, to the nearest tick.
pub fn mean() -> Arc<AggregateUDF> {
    of(None, "mean_of_times".to_string())
}

impl Ticks {
    /// The statistic of the ticks of a group.
    fn made(&self, dtype: &DataType) -> impl Fn(&mut [i64]) -> Result<ScalarValue> + Send + Sync + 'static {
        let (dtype, quantile) = (dtype.clone(), self.quantile.map(f64::from_bits));
        move |ticks| {
            let found = match quantile {
                _ if ticks.is_empty() => None,
                Some(q) => Some(between(ticks, q)),
                None => {
                    let (sum, count) = (ticks.iter().map(|t| i128::from(*t)).sum::<i128>(), ticks.len() as i128);
                    Some(((2 * sum + count).div_euclid(2 * count)) as i64)
                }
            };
            ScalarValue::Int64(found).cast_to(&dtype)
        }
    }
}

impl AggregateUDFImpl for Ticks {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        Ok(args[0].clone())
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Values::<Int64Type, _>::new(self.made(args.return_field.data_type()))))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        let dtype = args.return_field.data_type();
        Ok(Box::new(GroupCounter::new(GroupedValues::<Int64Type, _>::new(self.made(dtype), dtype.clone()))))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(vec![state_of(&args, DataType::Int64)])
    }
}

/// Placeholder names of `median` and its like, until the type of their argument is known. The plan then has the
/// functions.
#[derive(Debug, PartialEq, Eq, Hash)]
struct AnyQuantile {
    q: u64,
    name: String,
    signature: Signature,
}

pub fn any_quantile(q: f64) -> Arc<AggregateUDF> {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(AggregateUDF::new_from_impl(AnyQuantile { q: q.to_bits(), name: format!("quantile_{q}"), signature }))
}

/// The quantile that an [`any_quantile`] stands for.
pub fn quantile_of(function: &AggregateUDF) -> Option<f64> {
    let inner: &dyn Any = function.inner().as_ref();
    inner.downcast_ref::<AnyQuantile>().map(|any| f64::from_bits(any.q))
}

impl AggregateUDFImpl for AnyQuantile {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        match &args[0] {
            DataType::Date32 => Ok(DataType::Timestamp(TimeUnit::Microsecond, None)),
            DataType::Timestamp(..) | DataType::Duration(_) => Ok(args[0].clone()),
            DataType::Null => Ok(DataType::Float64),
            dtype if type_coercion::is_number(dtype) => Ok(DataType::Float64),
            dtype => {
                let message =
                    format!("there is nothing between two values of type `{}`", diagnostics::type_name(dtype));
                let diagnostic = diagnostics::plan_error("type-mismatch", message);
                let help = "medians and quantiles are of numbers, dates and times; `quantile_disc(x, 0.5)` takes one of the values";
                Err(external(diagnostic.help(help)))
            }
        }
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        internal_err!("a quantile of no type")
    }
}

/// An aggregate of this module as data.
#[derive(Serialize, Deserialize)]
pub(crate) enum TimesForm {
    Quantile(f64),
    Mean,
    AnyQuantile(f64),
}

impl TimesForm {
    /// The form of an aggregate of this module. `None` for any other function.
    pub(crate) fn of(function: &AggregateUDF) -> Option<TimesForm> {
        let inner: &dyn Any = function.inner().as_ref();
        match inner.downcast_ref::<Ticks>() {
            Some(ticks) => {
                Some(ticks.quantile.map_or(TimesForm::Mean, |bits| TimesForm::Quantile(f64::from_bits(bits))))
            }
            None => quantile_of(function).map(TimesForm::AnyQuantile),
        }
    }

    pub(crate) fn into_function(self) -> Arc<AggregateUDF> {
        match self {
            TimesForm::Quantile(q) => quantile(q),
            TimesForm::Mean => mean(),
            TimesForm::AnyQuantile(q) => any_quantile(q),
        }
    }
}

fn between(values: &mut [i64], q: f64) -> i64 {
    let last = values.len() - 1;
    let position = q * last as f64;
    let (low, high) = (position.floor() as usize, position.ceil() as usize);
    let a = *values.select_nth_unstable(low.min(last)).1;
    let b = *values.select_nth_unstable(high.min(last)).1;
    let part = (i128::from(b) - i128::from(a)) as f64 * (position - low as f64);
    a.saturating_add(part.round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From DuckDB 2.0: quantiles of timestamps are rounded to the microsecond.
    #[test]
    fn quantiles_lie_between_two_ticks() {
        assert_eq!(between(&mut [10, 0], 0.5), 5);
        assert_eq!(between(&mut [3, 0], 0.5), 2);
        assert_eq!(between(&mut [i64::MAX - 2, i64::MAX], 0.5), i64::MAX - 1);
    }
}
