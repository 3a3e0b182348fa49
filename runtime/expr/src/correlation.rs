//! Pearson's correlation, which keeps means and sums of squared deviations (Welford 1962; merged as by Chan, Golub and
//! LeVeque 1983).
//!
//! DataFusion's function does so over all rows, but keeps plain sums of squares for groups. They lose all digits of
//! values that are large compared with their spread, such as times in seconds.

use std::any::Any;
use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, UInt64Array};
use arrow::datatypes::{DataType, FieldRef, Float64Type, UInt64Type};
use datafusion::error::Result;
use datafusion::functions_aggregate::correlation::Correlation;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature};

/// DataFusion's function with other accumulators of groups, whose state is that of its accumulator of all rows.
#[derive(Debug, PartialEq, Eq, Hash)]
struct GroupedCorrelation(Correlation);

/// `corr(x, y)` of two `f64` columns, over the rows that have both. Null for fewer than two rows and for a constant
/// column.
pub fn corr() -> Arc<AggregateUDF> {
    static FUNCTION: LazyLock<Arc<AggregateUDF>> =
        LazyLock::new(|| Arc::new(AggregateUDF::new_from_impl(GroupedCorrelation(Correlation::new()))));
    Arc::clone(&FUNCTION)
}

/// Whether a function is [`corr`], not DataFusion's of the same name.
pub(crate) fn is_corr(function: &AggregateUDF) -> bool {
    let inner: &dyn Any = function.inner().as_ref();
    inner.is::<GroupedCorrelation>()
}

impl AggregateUDFImpl for GroupedCorrelation {
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
        self.0.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.0.state_fields(args)
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Groups::default()))
    }
}

/// The state of one group. The order of the fields is that of DataFusion's state.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    count: u64,
    mean_x: f64,
    /// Sum of the squared deviations from the mean.
    m2_x: f64,
    mean_y: f64,
    m2_y: f64,
    /// Sum of the products of both deviations.
    products: f64,
}

impl Moments {
    fn add(&mut self, x: f64, y: f64) {
        self.count += 1;
        let n = self.count as f64;
        let (from_x, from_y) = (x - self.mean_x, y - self.mean_y);
        self.mean_x += from_x / n;
        self.mean_y += from_y / n;
        self.m2_x += from_x * (x - self.mean_x);
        self.m2_y += from_y * (y - self.mean_y);
        self.products += from_x * (y - self.mean_y);
    }

    fn merge(&mut self, other: &Moments) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let (n, more) = (self.count as f64, other.count as f64);
        let all = n + more;
        let (apart_x, apart_y) = (other.mean_x - self.mean_x, other.mean_y - self.mean_y);
        self.m2_x += other.m2_x + apart_x * apart_x * n * more / all;
        self.m2_y += other.m2_y + apart_y * apart_y * n * more / all;
        self.products += other.products + apart_x * apart_y * n * more / all;
        self.mean_x += apart_x * more / all;
        self.mean_y += apart_y * more / all;
        self.count += other.count;
    }

    /// As DataFusion's accumulator of all rows: NaN if both columns have one, null if one has.
    fn correlation(&self) -> Option<f64> {
        if self.mean_x.is_nan() && self.mean_y.is_nan() {
            return Some(f64::NAN);
        }
        if self.mean_x.is_nan() || self.mean_y.is_nan() || self.count < 2 {
            return None;
        }
        let n = self.count as f64;
        let (spread_x, spread_y) = ((self.m2_x / n).sqrt(), (self.m2_y / n).sqrt());
        (spread_x != 0.0 && spread_y != 0.0).then(|| self.products / n / spread_x / spread_y)
    }
}

#[derive(Debug, Default)]
struct Groups(Vec<Moments>);

impl Groups {
    fn taken(&mut self, emit_to: EmitTo) -> Vec<Moments> {
        emit_to.take_needed(&mut self.0)
    }
}

fn states(all: &[Moments]) -> Vec<ArrayRef> {
    let floats = |of: fn(&Moments) -> f64| -> ArrayRef { Arc::new(Float64Array::from_iter_values(all.iter().map(of))) };
    vec![
        Arc::new(UInt64Array::from_iter_values(all.iter().map(|moments| moments.count))),
        floats(|moments| moments.mean_x),
        floats(|moments| moments.m2_x),
        floats(|moments| moments.mean_y),
        floats(|moments| moments.m2_y),
        floats(|moments| moments.products),
    ]
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.0.resize(total, Moments::default());
        let (x, y) = (values[0].as_primitive::<Float64Type>(), values[1].as_primitive::<Float64Type>());
        let counts = |row: usize| {
            x.is_valid(row) && y.is_valid(row) && filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
        };
        for (row, group) in groups.iter().enumerate() {
            if counts(row) {
                self.0[*group].add(x.value(row), y.value(row));
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let values = self.taken(emit_to);
        Ok(Arc::new(values.iter().map(Moments::correlation).collect::<Float64Array>()))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(states(&self.taken(emit_to)))
    }

    /// A row as a group.
    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let rows = values[0].len();
        let mut each = Groups::default();
        each.update_batch(values, &(0..rows).collect::<Vec<_>>(), filter, rows)?;
        Ok(states(&each.0))
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.0.resize(total, Moments::default());
        let counts = states[0].as_primitive::<UInt64Type>().values();
        let float = |place: usize, row: usize| states[place].as_primitive::<Float64Type>().value(row);
        for (row, group) in groups.iter().enumerate() {
            let other = Moments {
                count: counts[row],
                mean_x: float(1, row),
                m2_x: float(2, row),
                mean_y: float(3, row),
                m2_y: float(4, row),
                products: float(5, row),
            };
            self.0[*group].merge(&other);
        }
        Ok(())
    }

    fn size(&self) -> usize {
        self.0.capacity() * size_of::<Moments>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From `numpy.corrcoef` of times in seconds; merged in two parts it is the same.
    #[test]
    fn large_values_keep_their_digits() {
        let y = [1.0, 2.0, 4.0, 3.0, 5.0, 7.0, 6.0, 8.0];
        let pairs: Vec<(f64, f64)> = y.iter().enumerate().map(|(i, y)| (1.7e9 + i as f64, *y)).collect();
        let of = |pairs: &[(f64, f64)]| {
            let mut moments = Moments::default();
            pairs.iter().for_each(|(x, y)| moments.add(*x, *y));
            moments
        };
        let whole = of(&pairs).correlation().unwrap();
        let mut merged = of(&pairs[..3]);
        merged.merge(&of(&pairs[3..]));
        let merged = merged.correlation().unwrap();
        assert!((whole - 0.952_380_952).abs() < 1e-8 && (merged - 0.952_380_952).abs() < 1e-8, "{whole} {merged}");
        assert_eq!(of(&pairs[..1]).correlation(), None);
        assert_eq!(of(&[(1.0, 2.0), (1.0, 3.0)]).correlation(), None);
    }
}
