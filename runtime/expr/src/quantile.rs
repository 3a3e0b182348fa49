//! Aggregates that DataFusion lacks: the quantile with Polars' interpolations, the product and the mode.

pub mod grouped;

use std::any::Any;
use std::cmp::Ordering;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, Float64Array, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Int64Type};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility};
use serde::{Deserialize, Serialize};

pub use grouped::{GroupCounter, GroupedCounts, GroupedValues};

/// The choice of a quantile between two neighbouring values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
        let (q, interpolation) = (self.q, self.interpolation);
        let quantile = move |values: &mut [f64]| Ok(ScalarValue::Float64(of(values, q, interpolation)));
        Ok(Box::new(Values::<Float64Type, _>::new(quantile)))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        let (q, interpolation) = (self.q, self.interpolation);
        let quantile = move |values: &mut [f64]| Ok(ScalarValue::Float64(of(values, q, interpolation)));
        Ok(Box::new(GroupCounter::new(GroupedValues::<Float64Type, _>::new(quantile, DataType::Float64))))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(vec![state_of(&args, DataType::Float64)])
    }
}

/// The values of a group, and what is made of them at the end.
pub struct Values<T: ArrowPrimitiveType, F> {
    /// In the order of arrival, so that a sliding window can drop the oldest.
    values: VecDeque<T::Native>,
    made: F,
}

impl<T: ArrowPrimitiveType, F: Fn(&mut [T::Native]) -> Result<ScalarValue>> Values<T, F> {
    /// `made` may put them in another order; nulls are not among them.
    pub fn new(made: F) -> Self {
        Values { values: VecDeque::new(), made }
    }
}

impl<T: ArrowPrimitiveType, F> fmt::Debug for Values<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.values).finish()
    }
}

/// The type in which values are handed on.
pub fn state_of(args: &StateFieldsArgs<'_>, item: DataType) -> FieldRef {
    let list = DataType::List(Arc::new(Field::new_list_field(item, true)));
    Arc::new(Field::new(format!("{}[values]", args.name), list, true))
}

impl<T, F> Accumulator for Values<T, F>
where
    T: ArrowPrimitiveType + Send,
    F: Fn(&mut [T::Native]) -> Result<ScalarValue> + Send + Sync + 'static,
{
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        append(&mut self.values, cast(&values[0], &T::DATA_TYPE)?.as_primitive::<T>());
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut values: Vec<T::Native> = self.values.iter().copied().collect();
        (self.made)(&mut values)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.capacity() * size_of::<T::Native>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let value = |v: &T::Native| ScalarValue::new_primitive::<T>(Some(*v), &T::DATA_TYPE);
        let values = self.values.iter().map(value).collect::<Result<Vec<ScalarValue>>>()?;
        Ok(vec![ScalarValue::List(ScalarValue::new_list(&values, &T::DATA_TYPE, true))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for list in states[0].as_list::<i32>().iter().flatten() {
            append(&mut self.values, list.as_primitive::<T>());
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
    let last = values.len().checked_sub(1)?;
    Some(between(last, |index| *values.select_nth_unstable_by(index, f64::total_cmp).1, q, interpolation))
}

/// The quantile of values that are sorted by `f64::total_cmp`.
pub fn of_sorted(values: &[f64], q: f64, interpolation: Interpolation) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    Some(between(last, |index| values[index], q, interpolation))
}

/// The parameters of a [`quantile`].
pub fn parameters(function: &AggregateUDF) -> Option<(f64, Interpolation)> {
    let inner: &dyn Any = function.inner().as_ref();
    inner.downcast_ref::<Quantile>().map(|quantile| (quantile.q, quantile.interpolation))
}

/// The quantile of `last + 1` values, of which `at` gives the one of that rank.
fn between(last: usize, mut at: impl FnMut(usize) -> f64, q: f64, interpolation: Interpolation) -> f64 {
    let position = q * last as f64;
    let (low, high) = (position.floor() as usize, (position.ceil() as usize).min(last));
    match interpolation {
        Interpolation::Nearest => at((position.round() as usize).min(last)),
        Interpolation::Lower => at(low),
        Interpolation::Higher => at(high),
        Interpolation::Midpoint if low == high => at(low),
        Interpolation::Midpoint => (at(low) + at(high)) / 2.0,
        Interpolation::Linear if low == high => at(low),
        Interpolation::Linear => {
            let (a, b) = (at(low), at(high));
            a + (b - a) * (position - low as f64)
        }
    }
}

fn append<T: ArrowPrimitiveType>(all: &mut impl Extend<T::Native>, values: &PrimitiveArray<T>) {
    match values.null_count() {
        0 => all.extend(values.values().iter().copied()),
        _ => all.extend(values.iter().flatten()),
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Quartiles {
    signature: Signature,
}

/// The three quartiles of a `Float64` column (`nearest`) as a list, nulls left out; null if there is no value.
pub fn quartiles() -> Arc<AggregateUDF> {
    let signature = Signature::exact(vec![DataType::Float64], Volatility::Immutable);
    Arc::new(AggregateUDF::new_from_impl(Quartiles { signature }))
}

fn floats() -> DataType {
    DataType::List(Arc::new(Field::new_list_field(DataType::Float64, true)))
}

impl AggregateUDFImpl for Quartiles {
    fn name(&self) -> &str {
        "quartiles"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(floats())
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Three { values: Vec::new() }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(vec![state_of(&args, DataType::Float64)])
    }
}

#[derive(Debug)]
struct Three {
    values: Vec<f64>,
}

impl Accumulator for Three {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        append(&mut self.values, values[0].as_primitive::<Float64Type>());
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.values.is_empty() {
            return ScalarValue::try_new_null(&floats());
        }
        // The middle first: it halves the rest.
        let last = self.values.len() - 1;
        let place = |q: f64| (q * last as f64).round() as usize;
        let (low, middle, high) = (place(0.25), place(0.5), place(0.75));
        let (left, median, right) = self.values.select_nth_unstable_by(middle, f64::total_cmp);
        let median = *median;
        let first = if low < middle { *left.select_nth_unstable_by(low, f64::total_cmp).1 } else { median };
        let third = match high.checked_sub(middle + 1) {
            Some(place) => *right.select_nth_unstable_by(place, f64::total_cmp).1,
            None => median,
        };
        let values = [first, median, third].map(|v| ScalarValue::Float64(Some(v)));
        Ok(ScalarValue::List(ScalarValue::new_list(&values, &DataType::Float64, true)))
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
            append(&mut self.values, list.as_primitive::<Float64Type>());
        }
        Ok(())
    }
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
        Ok(Box::new(RunningProduct { whole, integer: 1, float: 1.0 }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let dtype = args.return_field.data_type().clone();
        Ok(vec![Arc::new(Field::new(format!("{}[product]", args.name), dtype, true))])
    }
}

#[derive(Debug)]
struct RunningProduct {
    whole: bool,
    integer: i64,
    float: f64,
}

impl Accumulator for RunningProduct {
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

#[derive(Debug, PartialEq, Eq, Hash)]
struct Mode {
    /// Whether the largest of equally frequent values is the one.
    descending: bool,
    signature: Signature,
}

/// The most frequent value, nulls left out; the smallest of those that are equally frequent; null if there is none.
pub fn mode() -> Arc<AggregateUDF> {
    AggregateUDF::new_from_impl(Mode { descending: false, signature: Signature::any(1, Volatility::Immutable) }).into()
}

/// As [`mode`], with the largest of the values that are equally frequent.
pub fn mode_desc() -> Arc<AggregateUDF> {
    AggregateUDF::new_from_impl(Mode { descending: true, signature: Signature::any(1, Volatility::Immutable) }).into()
}

impl AggregateUDFImpl for Mode {
    fn name(&self) -> &str {
        if self.descending { "mode_desc" } else { "mode" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        Ok(args[0].clone())
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let dtype = args.return_field.data_type().clone();
        Ok(Box::new(Counts { dtype, counts: HashMap::new(), descending: self.descending }))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !self.descending && GroupedCounts::new(args.return_field.data_type()).is_ok()
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(GroupCounter::new(GroupedCounts::new(args.return_field.data_type())?)))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let list = |dtype| DataType::List(Arc::new(Field::new_list_field(dtype, true)));
        let values = list(args.return_field.data_type().clone());
        Ok(vec![
            Arc::new(Field::new(format!("{}[values]", args.name), values, true)),
            Arc::new(Field::new(format!("{}[counts]", args.name), list(DataType::Int64), true)),
        ])
    }
}

/// An aggregate of this module as data.
#[derive(Serialize, Deserialize)]
pub(crate) enum QuantileForm {
    Quantile(f64, Interpolation),
    Quartiles,
    Product,
    Mode,
    ModeDesc,
}

impl QuantileForm {
    /// The form of an aggregate of this module. `None` for any other function.
    pub(crate) fn of(function: &AggregateUDF) -> Option<QuantileForm> {
        let inner: &dyn Any = function.inner().as_ref();
        if let Some((q, interpolation)) = parameters(function) {
            return Some(QuantileForm::Quantile(q, interpolation));
        }
        if let Some(mode) = inner.downcast_ref::<Mode>() {
            return Some(if mode.descending { QuantileForm::ModeDesc } else { QuantileForm::Mode });
        }
        if inner.is::<Quartiles>() {
            return Some(QuantileForm::Quartiles);
        }
        inner.is::<Product>().then_some(QuantileForm::Product)
    }

    pub(crate) fn into_function(self) -> Arc<AggregateUDF> {
        match self {
            QuantileForm::Quantile(q, interpolation) => quantile(q, interpolation),
            QuantileForm::Quartiles => quartiles(),
            QuantileForm::Product => product(),
            QuantileForm::Mode => mode(),
            QuantileForm::ModeDesc => mode_desc(),
        }
    }
}

#[derive(Debug)]
struct Counts {
    dtype: DataType,
    counts: HashMap<ScalarValue, i64>,
    descending: bool,
}

impl Accumulator for Counts {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for row in 0..values[0].len() {
            if values[0].is_valid(row) {
                *self.counts.entry(ScalarValue::try_from_array(&values[0], row)?).or_default() += 1;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let better = |(a, n): &(&ScalarValue, &i64), (b, m): &(&ScalarValue, &i64)| {
            let order = b.partial_cmp(a).unwrap_or(Ordering::Equal);
            n.cmp(m).then(if self.descending { order.reverse() } else { order })
        };
        match self.counts.iter().max_by(better) {
            Some((value, _)) => Ok(value.clone()),
            None => ScalarValue::try_new_null(&self.dtype),
        }
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.counts.len() * (size_of::<ScalarValue>() + size_of::<i64>())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let (values, counts): (Vec<_>, Vec<_>) =
            self.counts.iter().map(|(v, n)| (v.clone(), ScalarValue::Int64(Some(*n)))).unzip();
        Ok(vec![
            ScalarValue::List(ScalarValue::new_list(&values, &self.dtype, true)),
            ScalarValue::List(ScalarValue::new_list(&counts, &DataType::Int64, true)),
        ])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for (values, counts) in states[0].as_list::<i32>().iter().zip(states[1].as_list::<i32>().iter()) {
            let (Some(values), Some(counts)) = (values, counts) else { continue };
            for (row, count) in counts.as_primitive::<Int64Type>().iter().enumerate() {
                *self.counts.entry(ScalarValue::try_from_array(&values, row)?).or_default() += count.unwrap_or(0);
            }
        }
        Ok(())
    }

    // Counting down is exact.
    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for row in 0..values[0].len() {
            if values[0].is_valid(row) {
                let value = ScalarValue::try_from_array(&values[0], row)?;
                if let Some(count) = self.counts.get_mut(&value) {
                    *count -= 1;
                    if *count <= 0 {
                        self.counts.remove(&value);
                    }
                }
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
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
