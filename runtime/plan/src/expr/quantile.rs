//! Aggregates that DataFusion lacks: the quantile with Polars' interpolations, and the product.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Int64Type};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};

/// Which of the two neighbours a quantile between two values takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interpolation {
    /// Polars' default.
    Nearest,
    Lower,
    Higher,
    Midpoint,
    /// DuckDB's `quantile_cont`, pandas' and NumPy's default.
    Linear,
}

impl Interpolation {
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "nearest" => Interpolation::Nearest,
            "lower" => Interpolation::Lower,
            "higher" => Interpolation::Higher,
            "midpoint" => Interpolation::Midpoint,
            "linear" => Interpolation::Linear,
            _ => return None,
        })
    }
}

#[derive(Debug)]
struct Quantile {
    q: f64,
    interpolation: Interpolation,
    name: String,
    signature: Signature,
}

impl PartialEq for Quantile {
    fn eq(&self, other: &Self) -> bool {
        self.q.to_bits() == other.q.to_bits() && self.interpolation == other.interpolation
    }
}

impl Eq for Quantile {}

impl Hash for Quantile {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.q.to_bits().hash(state);
        self.interpolation.hash(state);
    }
}

/// The quantile of a `Float64` column, nulls left out; null if there is no value.
pub fn quantile(q: f64, interpolation: Interpolation) -> Arc<AggregateUDF> {
    let name = format!("quantile_{}_{q}", format!("{interpolation:?}").to_lowercase());
    let signature = Signature::exact(vec![DataType::Float64], Volatility::Immutable);
    Arc::new(AggregateUDF::new_from_impl(Quantile { q, interpolation, name, signature }))
}

impl AggregateUDFImpl for Quantile {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Values { q: self.q, interpolation: self.interpolation, values: VecDeque::new() }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let item = Field::new_list_field(DataType::Float64, true);
        Ok(vec![Arc::new(Field::new(format!("{}[values]", args.name), DataType::List(Arc::new(item)), true))])
    }
}

#[derive(Debug)]
struct Values {
    q: f64,
    interpolation: Interpolation,
    /// In the order of arrival, so that a sliding window can drop the oldest.
    values: VecDeque<f64>,
}

impl Accumulator for Values {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values.extend(values[0].as_primitive::<Float64Type>().iter().flatten());
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut sorted: Vec<f64> = self.values.iter().copied().collect();
        Ok(ScalarValue::Float64(of(&mut sorted, self.q, self.interpolation)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.capacity() * size_of::<f64>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values: Vec<ScalarValue> = self.values.iter().map(|v| ScalarValue::Float64(Some(*v))).collect();
        Ok(vec![ScalarValue::List(ScalarValue::new_list(&values, &DataType::Float64, true))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for list in states[0].as_list::<i32>().iter().flatten() {
            self.values.extend(list.as_primitive::<Float64Type>().iter().flatten());
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

/// The quantile of values, which are put in another order. NaN counts as the largest value.
pub fn of(values: &mut [f64], q: f64, interpolation: Interpolation) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let last = values.len() - 1;
    let position = q * last as f64;
    let (low, high) = (position.floor() as usize, position.ceil() as usize);
    let mut at = |index: usize| *values.select_nth_unstable_by(index.min(last), f64::total_cmp).1;
    Some(match interpolation {
        Interpolation::Nearest => at(position.round() as usize),
        Interpolation::Lower => at(low),
        Interpolation::Higher => at(high),
        Interpolation::Midpoint if low == high => at(low),
        Interpolation::Midpoint => (at(low) + at(high)) / 2.0,
        Interpolation::Linear if low == high => at(low),
        Interpolation::Linear => {
            let (a, b) = (at(low), at(high));
            a + (b - a) * (position - low as f64)
        }
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Product {
    signature: Signature,
}

/// The product of an `Int64` (wrapping) or `Float64` column, nulls left out; 1 if there is no value.
pub fn product() -> Arc<AggregateUDF> {
    let signature = Signature::uniform(1, vec![DataType::Int64, DataType::Float64], Volatility::Immutable);
    Arc::new(AggregateUDF::new_from_impl(Product { signature }))
}

impl AggregateUDFImpl for Product {
    fn name(&self) -> &str {
        "product"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        Ok(args[0].clone())
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let whole = args.return_field.data_type() == &DataType::Int64;
        Ok(Box::new(Running { whole, integer: 1, float: 1.0 }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let dtype = args.return_field.data_type().clone();
        Ok(vec![Arc::new(Field::new(format!("{}[product]", args.name), dtype, true))])
    }
}

#[derive(Debug)]
struct Running {
    whole: bool,
    integer: i64,
    float: f64,
}

impl Accumulator for Running {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        match self.whole {
            true => {
                for value in values[0].as_primitive::<Int64Type>().iter().flatten() {
                    self.integer = self.integer.wrapping_mul(value);
                }
            }
            false => {
                let values: &Float64Array = values[0].as_primitive::<Float64Type>();
                self.float *= values.iter().flatten().product::<f64>();
            }
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(match self.whole {
            true => ScalarValue::Int64(Some(self.integer)),
            false => ScalarValue::Float64(Some(self.float)),
        })
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From Polars 2.1: `pl.Series([1, 2, 3, 4]).quantile(0.4, interpolation)`, position 1.2.
    #[test]
    fn interpolations() {
        let at = |how| of(&mut [4.0, 2.0, 1.0, 3.0], 0.4, how);
        assert_eq!(at(Interpolation::Nearest), Some(2.0));
        assert_eq!(at(Interpolation::Lower), Some(2.0));
        assert_eq!(at(Interpolation::Higher), Some(3.0));
        assert_eq!(at(Interpolation::Midpoint), Some(2.5));
        assert!((at(Interpolation::Linear).unwrap() - 2.2).abs() < 1e-12);
        assert_eq!(of(&mut [], 0.4, Interpolation::Nearest), None);
    }
}
