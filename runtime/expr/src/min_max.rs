//! `min` and `max` of floats in groups with NaN as the largest number, as in DuckDB. DataFusion's take the first of two
//! numbers that do not compare, so that NaN counts, or not, by the order of the rows. They start from the largest
//! finite number, so that a group of infinities had that as its smallest one. Lists, structs and maps are compared by
//! their first parts that differ, with nulls inside of them as the largest.

use std::any::Any;
use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float32Array, Float64Array, Int64Array, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, Float32Type, Float64Type, Int64Type};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, SetMonotonicity, Signature,
};

/// DataFusion's function, but for floats in groups and for nested values.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Extreme(Arc<AggregateUDF>);

/// `min` and `max`.
pub fn extremes() -> [AggregateUDF; 2] {
    [min_udaf(), max_udaf()].map(|function| AggregateUDF::new_from_impl(Extreme(function)))
}

/// `max`, or else `min`, as of [`extremes`].
pub fn extreme(max: bool) -> Arc<AggregateUDF> {
    static BOTH: LazyLock<[Arc<AggregateUDF>; 2]> = LazyLock::new(|| extremes().map(Arc::new));
    Arc::clone(&BOTH[usize::from(max)])
}

/// Whether an [`extreme`] is `max`. `None` for any other function, also for DataFusion's of the same name.
pub(crate) fn is_maximum(function: &AggregateUDF) -> Option<bool> {
    let inner: &dyn Any = function.inner().as_ref();
    inner.downcast_ref::<Extreme>().map(|extreme| extreme.name() == "max")
}

impl AggregateUDFImpl for Extreme {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.0.return_type(types)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if is_nested(args.return_field.data_type()) {
            let best = ScalarValue::try_from(args.return_field.data_type())?;
            return Ok(Box::new(NestedExtreme { best, is_max: self.name() == "max" }));
        }
        self.0.accumulator(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !is_nested(args.return_field.data_type()) && self.0.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        let dtype = args.return_field.data_type().clone();
        if !matches!(dtype, DataType::Float32 | DataType::Float64) {
            return self.0.create_groups_accumulator(args);
        }
        let of_keys = Field::new(args.return_field.name(), DataType::Int64, true);
        let inner = self.0.create_groups_accumulator(AccumulatorArgs { return_field: Arc::new(of_keys), ..args })?;
        Ok(Box::new(Groups { inner, dtype }))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.0.create_sliding_accumulator(args)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.0.coerce_types(types)
    }

    fn is_descending(&self) -> Option<bool> {
        self.0.is_descending()
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.0.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.0.reverse_udf()
    }

    fn set_monotonicity(&self, dtype: &DataType) -> SetMonotonicity {
        self.0.inner().set_monotonicity(dtype)
    }
}

fn is_nested(dtype: &DataType) -> bool {
    dtype.is_nested() && !matches!(dtype, DataType::Dictionary(..) | DataType::RunEndEncoded(..))
}

/// Accumulates one extreme of lists, structs or maps. Null if there is none yet.
#[derive(Debug)]
struct NestedExtreme {
    best: ScalarValue,
    is_max: bool,
}

impl Accumulator for NestedExtreme {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = &values[0];
        let nulls_last = SortOptions { descending: false, nulls_first: false };
        let is_better = |order: Ordering| if self.is_max { order.is_gt() } else { order.is_lt() };
        let compare = make_comparator(values, values, nulls_last)?;
        let present = (0..values.len()).filter(|row| values.is_valid(*row));
        let Some(best) = present.reduce(|best, row| if is_better(compare(row, best)) { row } else { best }) else {
            return Ok(());
        };
        if !self.best.is_null() {
            let old = self.best.to_array()?;
            if !is_better(make_comparator(values, &old, nulls_last)?(best, 0)) {
                return Ok(());
            }
        }
        self.best = ScalarValue::try_from_array(values, best)?;
        // The batch is not kept alive by its row.
        self.best.compact();
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.best.clone())
    }

    fn size(&self) -> usize {
        size_of::<Self>() - size_of::<ScalarValue>() + self.best.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.best.clone()])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}

/// Accumulates extremes of floats as extremes of integers, which have the same order.
struct Groups {
    inner: Box<dyn GroupsAccumulator>,
    dtype: DataType,
}

/// NaN is the largest, whatever its sign; the two zeros are one.
fn key(value: f64) -> i64 {
    match value {
        value if value.is_nan() => i64::MAX,
        value => ordered((value + 0.0).to_bits().cast_signed()),
    }
}

/// Its own inverse: numbers below zero are in the opposite order of their bits.
fn ordered(bits: i64) -> i64 {
    bits ^ (((bits >> 63).cast_unsigned()) >> 1).cast_signed()
}

fn value(key: i64) -> f64 {
    if key == i64::MAX { f64::NAN } else { f64::from_bits(ordered(key).cast_unsigned()) }
}

impl Groups {
    fn keys(&self, values: &[ArrayRef]) -> Vec<ArrayRef> {
        let keys = values.iter().map(|values| {
            let keys: Int64Array = match self.dtype {
                DataType::Float32 => values.as_primitive::<Float32Type>().unary(|value| key(f64::from(value))),
                _ => values.as_primitive::<Float64Type>().unary(key),
            };
            Arc::new(keys) as ArrayRef
        });
        keys.collect()
    }

    fn floats(&self, keys: &ArrayRef) -> ArrayRef {
        let keys = keys.as_primitive::<Int64Type>();
        match self.dtype {
            // It was one.
            #[allow(clippy::cast_possible_truncation)]
            DataType::Float32 => Arc::new(keys.unary::<_, Float32Type>(|key| value(key) as f32)) as Arc<Float32Array>,
            _ => Arc::new(keys.unary::<_, Float64Type>(value)) as Arc<Float64Array>,
        }
    }
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.inner.update_batch(&self.keys(values), groups, filter, total)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.inner.merge_batch(&self.keys(values), groups, total)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let keys = self.inner.evaluate(emit_to)?;
        Ok(self.floats(&keys))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let states = self.inner.state(emit_to)?;
        Ok(states.iter().map(|keys| self.floats(keys)).collect())
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let states = self.inner.convert_to_state(&self.keys(values), filter)?;
        Ok(states.iter().map(|keys| self.floats(keys)).collect())
    }

    fn size(&self) -> usize {
        self.inner.size() + size_of::<Self>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_numbers() {
        let numbers = [f64::NEG_INFINITY, -1.5, -f64::MIN_POSITIVE, 0.0, 1e-300, 2.5, f64::INFINITY, f64::NAN];
        assert!(numbers.is_sorted_by(|a, b| key(*a) < key(*b)));
        assert_eq!((key(-f64::NAN), key(-0.0)), (key(f64::NAN), key(0.0)));
        assert!(numbers.iter().all(|number| value(key(*number)).to_bits() == number.to_bits()));
    }
}
