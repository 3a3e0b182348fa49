//! Variances, skewness, kurtosis and absolute deviations of the elements of lists.

use std::sync::Arc;

use arrow::array::types::{IntervalMonthDayNano, IntervalMonthDayNanoType};
use arrow::array::{ArrayRef, AsArray, Decimal128Array, PrimitiveArray};
use arrow::datatypes::{DataType, Decimal128Type, IntervalUnit, TimeUnit};
use datafusion::error::Result;
use onrush_expr::scalar_udf::strict;
use onrush_expr::type_coercion;

use super::super::{integers_of, takes};
use super::{element, list_of, median, of_numbers, present, rows};

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// The variance of a sample (`degrees` 1) or of all values (0).
pub fn deviation(values: &mut [f64], degrees: usize) -> Option<f64> {
    if values.len() <= degrees {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    Some(values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() - degrees) as f64)
}

/// The median of the distances from the median.
fn absolute_deviation(values: &mut [f64]) -> Option<f64> {
    let middle = median(values)?;
    median(&mut values.iter().map(|v| (v - middle).abs()).collect::<Vec<_>>())
}

/// Decimals stay decimals, and times are intervals apart.
pub fn deviation_type(dtypes: &[DataType]) -> Result<DataType> {
    Ok(match element(dtypes.first())? {
        dtype @ DataType::Decimal128(..) => dtype,
        dtype
            if type_coercion::is_date_or_time(&dtype) || matches!(dtype, DataType::Time64(_) | DataType::Time32(_)) =>
        {
            DataType::Interval(IntervalUnit::MonthDayNano)
        }
        _ => DataType::Float64,
    })
}

pub fn absolute_deviations(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("list_mad", args, 1, 1)?;
    let list = list_of(&args[0])?;
    let micros = match list.value_type() {
        DataType::Decimal128(precision, scale) => {
            let values = list.values().as_primitive::<Decimal128Type>();
            let deviations = rows(&list)
                .map(|range| whole_deviation(present(&list, range?).map(|at| values.value(at)).collect(), Half::Down))
                .collect::<Decimal128Array>();
            return Ok(Arc::new(deviations.with_precision_and_scale(precision, scale)?));
        }
        DataType::Time32(_) | DataType::Time64(_) => strict(list.values(), &DataType::Time64(TimeUnit::Microsecond))?,
        dtype if type_coercion::is_date_or_time(&dtype) => {
            strict(list.values(), &DataType::Timestamp(TimeUnit::Microsecond, None))?
        }
        _ => return of_numbers("list_mad", args, absolute_deviation),
    };
    let micros = integers_of(&micros)?;
    let apart = rows(&list).map(|range| {
        let all = present(&list, range?).map(|at| i128::from(micros.value(at))).collect();
        let micros = i64::try_from(whole_deviation(all, Half::Up)?).ok()?;
        let days = i32::try_from(micros / DAY).ok()?;
        Some(IntervalMonthDayNano::new(0, days, micros % DAY * 1000))
    });
    Ok(Arc::new(apart.collect::<PrimitiveArray<IntervalMonthDayNanoType>>()))
}

/// The direction in which the middle between two integers is rounded.
#[derive(Clone, Copy, PartialEq)]
enum Half {
    Down,
    Up,
}

/// The median of the distances from the median, in integers. `None` beyond the range of integers.
fn whole_deviation(mut values: Vec<i128>, half: Half) -> Option<i128> {
    let up = i128::from(half == Half::Up);
    let median = |values: &mut Vec<i128>| {
        values.sort_unstable();
        let middle = values.len() / 2;
        let upper = *values.get(middle)?;
        if values.len() % 2 == 1 {
            Some(upper)
        } else {
            Some(values[middle - 1].checked_add(upper)?.checked_add(up)? / 2)
        }
    };
    let middle = median(&mut values)?;
    let mut apart =
        values.iter().map(|value| value.checked_sub(middle)?.checked_abs()).collect::<Option<Vec<i128>>>()?;
    median(&mut apart)
}

/// The mean of a power of the distances from the mean.
fn moment(values: &[f64], power: i32) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    values.iter().map(|v| (v - mean).powi(power)).sum::<f64>() / count
}

/// Fisher and Pearson's coefficient, adjusted for samples (G1).
pub fn skewness(values: &mut [f64]) -> Option<f64> {
    let count = values.len() as f64;
    let variance = moment(values, 2);
    if count <= 2.0 {
        return None;
    }
    let skew = moment(values, 3) / variance.powf(1.5);
    if variance == 0.0 {
        return None;
    }
    Some((count * (count - 1.0)).sqrt() / (count - 2.0) * skew)
}

/// Excess kurtosis, adjusted for samples (G2).
pub fn kurtosis(values: &mut [f64]) -> Option<f64> {
    let count = values.len() as f64;
    if count <= 3.0 {
        return None;
    }
    let excess = kurtosis_pop(values)?;
    Some((count - 1.0) / ((count - 2.0) * (count - 3.0)) * ((count + 1.0) * excess + 6.0))
}

pub fn kurtosis_pop(values: &mut [f64]) -> Option<f64> {
    let variance = moment(values, 2);
    (values.len() > 1 && variance > 0.0).then(|| moment(values, 4) / (variance * variance) - 3.0)
}
