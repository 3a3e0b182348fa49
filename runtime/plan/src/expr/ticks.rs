//! Quantiles and means of dates, times and spans of time, exact to the tick: floats have no place for microseconds far from 1970.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type, TimeUnit};
use datafusion::common::{ScalarValue, internal_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};

use crate::{check, types};

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

/// Of a column of times or spans, between the two nearest values; nulls left out, null if there is no value.
pub fn quantile(q: f64) -> Arc<AggregateUDF> {
    of(Some(q), format!("quantile_of_times_{q}"))
}

/// The mean of times or spans, to the nearest tick.
pub fn mean() -> Arc<AggregateUDF> {
    of(None, "mean_of_times".to_string())
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
        let dtype = args.return_field.data_type().clone();
        Ok(Box::new(Values { quantile: self.quantile.map(f64::from_bits), dtype, values: VecDeque::new() }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let item = Field::new_list_field(DataType::Int64, true);
        Ok(vec![Arc::new(Field::new(format!("{}[values]", args.name), DataType::List(Arc::new(item)), true))])
    }
}

#[derive(Debug)]
struct Values {
    quantile: Option<f64>,
    dtype: DataType,
    /// In the order of arrival, so that a sliding window can drop the oldest.
    values: VecDeque<i64>,
}

impl Accumulator for Values {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let ticks = cast(&values[0], &DataType::Int64)?;
        self.values.extend(ticks.as_primitive::<Int64Type>().iter().flatten());
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut all: Vec<i64> = self.values.iter().copied().collect();
        let found = match self.quantile {
            _ if all.is_empty() => None,
            Some(q) => Some(between(&mut all, q)),
            None => {
                let (sum, count) = (all.iter().map(|t| i128::from(*t)).sum::<i128>(), all.len() as i128);
                Some(((2 * sum + count).div_euclid(2 * count)) as i64)
            }
        };
        ScalarValue::Int64(found).cast_to(&self.dtype)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.capacity() * size_of::<i64>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values: Vec<ScalarValue> = self.values.iter().map(|v| ScalarValue::Int64(Some(*v))).collect();
        Ok(vec![ScalarValue::List(ScalarValue::new_list(&values, &DataType::Int64, true))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for list in states[0].as_list::<i32>().iter().flatten() {
            self.values.extend(list.as_primitive::<Int64Type>().iter().flatten());
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let gone = values[0].len() - values[0].null_count();
        self.values.drain(..gone.min(self.values.len()));
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }
}

/// What `median` and its like are called until the type of their argument is known: the query's plan then has what they are.
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
            dtype if types::is_number(dtype) => Ok(DataType::Float64),
            dtype => {
                let message = format!("there is nothing between two values of type `{}`", check::type_name(dtype));
                let diagnostic = check::plan_error("type-mismatch", message);
                let help = "medians and quantiles are of numbers, dates and times; `quantile_disc(x, 0.5)` takes one of the values";
                Err(DataFusionError::External(Box::new(diagnostic.help(help))))
            }
        }
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        internal_err!("a quantile of no type")
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
