//! `range` and `generate_series` of timestamps of all years. DataFusion's functions count in nanoseconds, so that lists
//! of years before 1677 or after 2262 are empty.

use std::sync::Arc;

use arrow::array::types::IntervalMonthDayNanoType;
use arrow::array::{Array, ArrayRef, AsArray, ListArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, IntervalUnit};
use datafusion::common::DFSchema;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, ExprSchemable};
use onrush_expr::scalar_udf::{error, kernel_by_types, strict};

use super::{MICRO, Moments, as_type, moments, moved, out_of_range};

/// Elements of one list, at most.
const LONGEST: usize = 100_000_000;

/// The call of a function over timestamps without a zone or in UTC, with an interval as the step. `None` for other
/// calls.
pub fn planned(name: &str, args: &[Expr], schema: &DFSchema) -> Option<Expr> {
    let [from, to, by] = args else { return None };
    let is_utc = |expr: &Expr| match expr.get_type(schema) {
        Ok(DataType::Timestamp(_, zone)) => zone.is_none_or(|zone| &*zone == "UTC"),
        _ => false,
    };
    if !is_utc(from) || !is_utc(to) || !matches!(by.get_type(schema), Ok(DataType::Interval(_))) {
        return None;
    }
    let function = match name {
        "range" => kernel_by_types("range_of_times", list_of, |args| series(args, false)),
        _ => kernel_by_types("series_of_times", list_of, |args| series(args, true)),
    };
    Some(function.call(args.to_vec()))
}

fn element(dtype: Option<&DataType>) -> DataType {
    match dtype {
        Some(DataType::Timestamp(_, zone)) => DataType::Timestamp(MICRO, zone.clone()),
        _ => DataType::Timestamp(MICRO, None),
    }
}

fn list_of(dtypes: &[DataType]) -> Result<DataType> {
    Ok(DataType::List(Arc::new(Field::new_list_field(element(dtypes.first()), true))))
}

/// Lists of times from the first argument on, each a step after the one before, up to the second argument.
fn series(args: &[ArrayRef], is_closed: bool) -> Result<ArrayRef> {
    let ((from, _), (to, _)) = (moments(&args[0])?, moments(&args[1])?);
    let steps = strict(&args[2], &DataType::Interval(IntervalUnit::MonthDayNano))?;
    let steps = steps.as_primitive::<IntervalMonthDayNanoType>();
    let (mut times, mut lengths, mut valid): (Vec<i64>, Vec<usize>, Vec<bool>) = Default::default();
    for row in 0..from.len() {
        let before = times.len();
        let is_valid = from.is_valid(row) && to.is_valid(row) && steps.is_valid(row);
        valid.push(is_valid);
        if is_valid {
            let (mut time, end, step) = (from.value(row), to.value(row), steps.value(row));
            let second = moved(time, step, false).ok_or_else(out_of_range)?;
            let (is_up, is_still) = (second > time, second == time);
            let is_inside = |time: i64| match (is_up, is_closed) {
                (true, _) if time < end => true,
                (false, _) if time > end => true,
                (_, is_closed) => is_closed && time == end,
            };
            while !is_still && is_inside(time) {
                if times.len() - before >= LONGEST {
                    return Err(error(format!("a list of more than {LONGEST} times is too long")));
                }
                times.push(time);
                let next = moved(time, step, false).ok_or_else(out_of_range)?;
                if next == time || (next > time) != is_up {
                    return Err(error("the interval of a range must lead to its end"));
                }
                time = next;
            }
        }
        lengths.push(times.len() - before);
    }
    let dtype = element(Some(args[0].data_type()));
    let field = Arc::new(Field::new_list_field(dtype.clone(), true));
    let times = as_type(Moments::from(times), &dtype)?;
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(field, offsets, times, Some(NullBuffer::from(valid)))?))
}
