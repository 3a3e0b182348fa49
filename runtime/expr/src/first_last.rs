//! Results by equal keys, in one pass with a hash table: the first, the last or the only row of each key. Also
//! aggregates that stand in every row.
//!
//! Window functions of ours, since DataFusion would sort the rows by the keys.

use std::any::Any;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, DynComparator, UInt64Array, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, UInt64Type};
use datafusion::common::hash_utils::{RandomState, create_hashes};
use datafusion::error::Result;
use datafusion::logical_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::{
    AggregateUDF, EmitTo, PartitionEvaluator, Signature, Volatility, WindowUDF, WindowUDFImpl,
};
use datafusion::physical_expr::aggregate::{AggregateExprBuilder, AggregateFunctionExpr};
use datafusion::physical_expr::expressions::Column;
use onrush_wire::plan::Keep;
use serde::{Deserialize, Serialize};

use crate::ipc_type::IpcType;

#[derive(Debug, PartialEq, Eq, Hash)]
struct Distinct {
    keep: Keep,
    signature: Signature,
}

/// `true` for the rows that `keep` keeps of those with equal keys. The keys are the arguments but for the last. The
/// last one is the row's number (`u64`), since rows may come in another order. Nulls are equal, and so are NaNs; 0.0
/// and -0.0 are not: normalise before.
pub fn distinct(keep: Keep) -> Arc<WindowUDF> {
    let signature = Signature::variadic_any(Volatility::Immutable);
    Arc::new(WindowUDF::new_from_impl(Distinct { keep, signature }))
}

impl WindowUDFImpl for Distinct {
    fn name(&self) -> &str {
        match self.keep {
            Keep::First | Keep::Any => "is_first_distinct",
            Keep::Last => "is_last_distinct",
            Keep::None => "is_unique",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn partition_evaluator(&self, _: PartitionEvaluatorArgs) -> Result<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(Evaluator(self.keep)))
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(args.name(), DataType::Boolean, false)))
    }
}

#[derive(Debug)]
struct Evaluator(Keep);

impl PartitionEvaluator for Evaluator {
    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let Some((order, keys)) = values.split_last() else {
            return Ok(Arc::new(BooleanArray::from(vec![true; rows])));
        };
        let order = order.as_primitive::<UInt64Type>().values();
        Ok(Arc::new(BooleanArray::from(kept(keys, order, self.0)?)))
    }
}

/// An empty slot of the table.
const FREE: u32 = u32::MAX;

fn kept(keys: &[ArrayRef], order: &[u64], keep: Keep) -> Result<Vec<bool>> {
    let (groups, count) = group(keys, order.len())?;
    // For each group the row that stays, if one does.
    let mut best: Vec<Option<usize>> = vec![None; count];
    let mut rows = vec![0usize; count];
    for (row, &group) in groups.iter().enumerate() {
        rows[group] += 1;
        let better = |seen: usize| match keep {
            Keep::Last => order[row] > order[seen],
            _ => order[row] < order[seen],
        };
        if best[group].is_none_or(better) {
            best[group] = Some(row);
        }
    }
    let mut out = vec![false; order.len()];
    for (row, n) in best.into_iter().zip(rows) {
        if let Some(row) = row {
            out[row] = keep != Keep::None || n == 1;
        }
    }
    Ok(out)
}

/// For each row the number of its group, and how many groups there are. Groups are numbered as they come.
fn group(keys: &[ArrayRef], rows: usize) -> Result<(Vec<usize>, usize)> {
    if u32::try_from(rows).is_err() {
        return Err(super::scalar_udf::error("more than 4 294 967 295 rows cannot be grouped here"));
    }
    let mut hashes = vec![0u64; rows];
    create_hashes(keys, &RandomState::with_seed(0), &mut hashes)?;
    let same: Vec<DynComparator> =
        keys.iter().map(|c| make_comparator(c, c, SortOptions::default())).collect::<std::result::Result<_, _>>()?;
    // Open addressing over the groups' first rows, at most half full.
    let mask = (rows * 2).next_power_of_two().max(2) - 1;
    let mut table = vec![FREE; mask + 1];
    let mut groups = vec![0usize; rows];
    let mut count = 0;
    for row in 0..rows {
        let mut slot = (hashes[row] ^ (hashes[row] >> 32)) as usize & mask;
        loop {
            let seen = table[slot];
            if seen == FREE {
                table[slot] = row as u32;
                groups[row] = count;
                count += 1;
                break;
            }
            let seen = seen as usize;
            if hashes[seen] == hashes[row] && same.iter().all(|compare| compare(seen, row).is_eq()) {
                groups[row] = groups[seen];
                break;
            }
            slot = (slot + 1) & mask;
        }
    }
    Ok((groups, count))
}

/// An aggregate whose result stands in each row of its group.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Spread {
    function: Arc<AggregateUDF>,
    /// How many of the arguments are the aggregate's; the others are keys.
    values: usize,
    filtered: bool,
    output: DataType,
    signature: Signature,
}

/// `aggregate(values) over keys` in one pass, without sorting the rows by the keys. Arguments: the values, the
/// condition if `filtered`, the keys. `None` if the aggregate cannot be computed for many groups at once.
pub fn spread(function: &Arc<AggregateUDF>, values: &[DataType], filtered: bool) -> Option<Arc<WindowUDF>> {
    let output = function.return_type(values).ok()?;
    let spread = Spread {
        function: Arc::clone(function),
        values: values.len(),
        filtered,
        output,
        signature: Signature::variadic_any(Volatility::Immutable),
    };
    let fields = values.iter().map(|t| Arc::new(Field::new("value", t.clone(), true)) as FieldRef).collect::<Vec<_>>();
    spread.aggregate(&fields).ok()?.groups_accumulator_supported().then(|| Arc::new(WindowUDF::new_from_impl(spread)))
}

impl Spread {
    fn aggregate(&self, fields: &[FieldRef]) -> Result<AggregateFunctionExpr> {
        let schema = Arc::new(Schema::new(
            fields.iter().enumerate().map(|(i, f)| f.as_ref().clone().with_name(format!("v{i}"))).collect::<Vec<_>>(),
        ));
        let args = (0..fields.len()).map(|i| Arc::new(Column::new(&format!("v{i}"), i)) as _).collect();
        AggregateExprBuilder::new(Arc::clone(&self.function), args).schema(schema).alias(self.function.name()).build()
    }
}

impl WindowUDFImpl for Spread {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn partition_evaluator(&self, args: PartitionEvaluatorArgs) -> Result<Box<dyn PartitionEvaluator>> {
        let aggregate = self.aggregate(&args.input_fields()[..self.values])?;
        Ok(Box::new(Spreader { aggregate, values: self.values, filtered: self.filtered }))
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(args.name(), self.output.clone(), true)))
    }
}

/// A [`spread`] as data, without its aggregate.
#[derive(Serialize, Deserialize)]
pub(crate) struct SpreadForm {
    values: usize,
    filtered: bool,
    output: IpcType,
}

impl SpreadForm {
    /// The form of a [`spread`], with its aggregate. `None` for any other function.
    pub(crate) fn of(function: &WindowUDF) -> Option<(SpreadForm, &Arc<AggregateUDF>)> {
        let inner: &dyn Any = function.inner().as_ref();
        let Spread { function, values, filtered, output, .. } = inner.downcast_ref::<Spread>()?;
        Some((SpreadForm { values: *values, filtered: *filtered, output: IpcType(output.clone()) }, function))
    }

    pub(crate) fn into_function(self, aggregate: Arc<AggregateUDF>) -> Arc<WindowUDF> {
        Arc::new(WindowUDF::new_from_impl(Spread {
            function: aggregate,
            values: self.values,
            filtered: self.filtered,
            output: self.output.0,
            signature: Signature::variadic_any(Volatility::Immutable),
        }))
    }
}

/// How many arguments of one of these functions are values; the others are keys and conditions.
pub fn own_args(function: &dyn Any) -> Option<usize> {
    let keys = function.downcast_ref::<Distinct>().map(|_| 0);
    keys.or_else(|| function.downcast_ref::<Spread>().map(|spread| spread.values + usize::from(spread.filtered)))
}

/// A function of this module, for engines that compute it in another way.
pub enum KeyedUdf<'f> {
    /// Arguments: the keys, then the number of the row.
    Distinct(Keep),
    /// Arguments: so many values, the condition if `filtered`, then the keys.
    Spread { function: &'f Arc<AggregateUDF>, values: usize, filtered: bool },
}

/// The function as data. `None` for any other one.
pub fn keyed(function: &dyn Any) -> Option<KeyedUdf<'_>> {
    if let Some(distinct) = function.downcast_ref::<Distinct>() {
        return Some(KeyedUdf::Distinct(distinct.keep));
    }
    let spread = function.downcast_ref::<Spread>()?;
    Some(KeyedUdf::Spread { function: &spread.function, values: spread.values, filtered: spread.filtered })
}

#[derive(Debug)]
struct Spreader {
    aggregate: AggregateFunctionExpr,
    values: usize,
    filtered: bool,
}

impl PartitionEvaluator for Spreader {
    fn evaluate_all(&mut self, args: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let (values, rest) = args.split_at(self.values);
        let (filter, keys) = rest.split_at(usize::from(self.filtered));
        let (groups, count) = group(keys, rows)?;
        let mut accumulator = self.aggregate.create_groups_accumulator()?;
        accumulator.update_batch(values, &groups, filter.first().map(|f| f.as_boolean()), count)?;
        let results = accumulator.evaluate(EmitTo::All)?;
        let places = UInt64Array::from_iter_values(groups.into_iter().map(|g| g as u64));
        Ok(arrow::compute::take(&results, &places, None)?)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, StringArray};

    use super::*;

    /// From Polars 2.1: `unique(keep=...)` of these two columns.
    #[test]
    fn rows_are_kept_by_all_columns() {
        let a: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), None, Some(1.0), None, Some(f64::NAN)]));
        let b: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None, Some("x"), None, Some("x")]));
        let of = |keep| kept(&[Arc::clone(&a), Arc::clone(&b)], &[1, 2, 3, 4, 5], keep).unwrap();
        assert_eq!(of(Keep::First), [true, true, false, false, true]);
        assert_eq!(of(Keep::Last), [false, false, true, true, true]);
        assert_eq!(of(Keep::None), [false, false, false, false, true]);
        assert_eq!(kept(&[a], &[5, 4, 3, 2, 1], Keep::First).unwrap(), [false, false, true, true, true]);
    }
}
