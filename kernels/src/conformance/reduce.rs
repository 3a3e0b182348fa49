//! `reduce` against a loop, and its speed.

use super::values::{Nulls, Random, Value, bitmap};
use super::{Bench, Cases};
use crate::column::Column;
use crate::error::Result;
use crate::reduce::{HIGH, LOW, Number, Reduce, SUM, Totals, reduce};
use crate::scalar::Scalar;

/// Result of a loop. Floats: the sum in order with compensation (Neumaier), and its tolerance.
trait Reference: Value {
    fn totals(values: &[Self], valid: &[bool]) -> (Totals, f64);
}

macro_rules! integers {
    ($($type:ident $sum:ident)*) => {
        $(
            impl Reference for $type {
                fn totals(values: &[Self], valid: &[bool]) -> (Totals, f64) {
                    let there: Vec<$type> = values.iter().zip(valid).filter(|(_, valid)| **valid).map(|(value, _)| *value).collect();
                    let sum = there.iter().fold(0 as $sum, |sum, value| sum.wrapping_add(*value as $sum));
                    let low = there.iter().copied().min().unwrap_or($type::MAX);
                    let high = there.iter().copied().max().unwrap_or($type::MIN);
                    let number = |value: $type| Number::Integer(value as i128);
                    let totals = Totals { sum: Number::Integer(sum as i128), low: number(low), high: number(high), count: there.len() as u64 };
                    (totals, 0.0)
                }
            }
        )*
    };
}
integers!(i8 i64 i16 i64 i32 i64 i64 i64 u8 u64 u16 u64 u32 u64 u64 u64 i128 i128);

macro_rules! floats {
    ($($type:ident $key:ident)*) => {
        $(
            impl Reference for $type {
                fn totals(values: &[Self], valid: &[bool]) -> (Totals, f64) {
                    let there: Vec<$type> = values.iter().zip(valid).filter(|(_, valid)| **valid).map(|(value, _)| *value).collect();
                    let (mut sum, mut lost, mut size) = (0.0f64, 0.0f64, 0.0f64);
                    for value in &there {
                        let value = f64::from(*value);
                        let next = sum + value;
                        lost += if sum.abs() >= value.abs() { (sum - next) + value } else { (value - next) + sum };
                        sum = next;
                        size += value.abs();
                    }
                    let exact = if lost.is_finite() { sum + lost } else { sum };
                    // The extremes of the order are NaNs with all bits set.
                    let low = there.iter().copied().min_by(|a, b| a.total_cmp(b)).unwrap_or($type::from_bits($key::MAX >> 1));
                    let high = there.iter().copied().max_by(|a, b| a.total_cmp(b)).unwrap_or($type::from_bits($key::MAX));
                    let number = |value: $type| Number::Float(value.into());
                    let totals = Totals { sum: Number::Float(exact), low: number(low), high: number(high), count: there.len() as u64 };
                    (totals, size * 1e-13)
                }
            }
        )*
    };
}
floats!(f32 u32 f64 u64);

fn agree(found: &Totals, expected: &Totals, tolerance: f64) -> std::result::Result<(), String> {
    let same = |found: Number, expected: Number, tolerance: f64| match (found, expected) {
        (Number::Integer(found), Number::Integer(expected)) => found == expected,
        (Number::Float(found), Number::Float(expected)) => {
            found.to_bits() == expected.to_bits()
                || found.is_nan() && expected.is_nan()
                || (found - expected).abs() <= tolerance
        }
        _ => false,
    };
    // Two sums of NaN or of infinities of both signs are NaN in any order.
    let good = found.count == expected.count
        && same(found.sum, expected.sum, tolerance)
        && same(found.low, expected.low, 0.0)
        && same(found.high, expected.high, 0.0);
    if good { Ok(()) } else { Err(format!("{found:?}, expected {expected:?}")) }
}

fn check_type<T: Reference>(cases: &mut Cases) {
    let mut random = Random(T::SCALAR.bytes());
    for rows in cases.depth.sizes() {
        let values = T::column(&mut random, rows);
        let valid = vec![true; rows];
        one::<T>(cases, &mut random, &values, &valid, 0, Nulls::Absent);
    }
    for rows in cases.depth.few_sizes() {
        for nulls in Nulls::ALL {
            for first in [0, 1, 3, 7, 37] {
                let values = T::column(&mut random, rows);
                let valid = nulls.valid(&mut random, rows);
                one::<T>(cases, &mut random, &values, &valid, first, nulls);
            }
        }
    }
}

fn one<T: Reference>(cases: &mut Cases, random: &mut Random, values: &[T], valid: &[bool], first: usize, nulls: Nulls) {
    let mut all = T::column(random, first);
    all.extend_from_slice(values);
    let bits = bitmap(random, valid, first);
    let rows = values.len();
    cases.case(
        || format!("reduce {} {rows} rows from {first}, nulls {nulls:?}", T::SCALAR.cuda()),
        |context| {
            let buffer = context.upload(&all)?;
            let validity = context.upload(&bits)?;
            let mut column = Column::new(T::SCALAR, &buffer).slice(first as u64, rows as u64);
            if nulls != Nulls::Absent {
                column = column.with_validity(&validity);
            }
            let found = reduce(context, &column, SUM | LOW | HIGH)?;
            let (expected, tolerance) = T::totals(values, valid);
            Ok(agree(&found, &expected, tolerance))
        },
    );
}

fn check_condition(cases: &mut Cases) {
    let mut random = Random(63);
    for rows in cases.depth.sizes() {
        let values = i32::column(&mut random, rows);
        cases.case(
            || format!("reduce i32 where x % 3 == 0, {rows} rows"),
            |context| {
                let buffer = context.upload(&values)?;
                let reduce = Reduce::filtered(context, Scalar::I32, SUM | LOW | HIGH, false, "x % 3 == 0")?;
                reduce.launch(context, &Column::new(Scalar::I32, &buffer))?;
                let chosen: Vec<i32> = values.iter().copied().filter(|x| x % 3 == 0).collect();
                let (expected, tolerance) = i32::totals(&chosen, &vec![true; chosen.len()]);
                Ok(agree(&reduce.result(context)?, &expected, tolerance))
            },
        );
    }
}

pub fn check(cases: &mut Cases) {
    check_condition(cases);
    check_type::<i8>(cases);
    check_type::<u16>(cases);
    check_type::<i32>(cases);
    check_type::<u32>(cases);
    check_type::<i64>(cases);
    check_type::<u64>(cases);
    check_type::<f32>(cases);
    check_type::<f64>(cases);
    check_type::<i128>(cases);
}

pub fn measure(bench: &mut Bench) -> Result<()> {
    let nothing = Reduce::new(bench.context, Scalar::F64, SUM, false)?;
    let empty = bench.context.zeros(0)?;
    bench.measure("reduce of no rows: what a launch costs", 0, 0, |context| {
        nothing.launch(context, &Column::new(Scalar::F64, &empty))
    })?;
    let rows = bench.rows;
    for (scalar, want, nulls, name) in [
        (Scalar::F64, SUM, false, "reduce f64 sum (mean)"),
        (Scalar::F64, SUM | LOW | HIGH, false, "reduce f64 sum, min, max"),
        (Scalar::F64, SUM, true, "reduce f64 sum, nulls"),
        (Scalar::I64, SUM, false, "reduce i64 sum"),
        (Scalar::I32, SUM | LOW | HIGH, false, "reduce i32 sum, min, max"),
        (Scalar::U8, SUM, false, "reduce u8 sum"),
    ] {
        let values = bench.context.zeros(rows * scalar.bytes())?;
        let validity = bench.context.zeros(rows.div_ceil(32) * 4)?;
        let reduce = Reduce::new(bench.context, scalar, want, nulls)?;
        let bytes = rows * scalar.bytes() + if nulls { rows / 8 } else { 0 };
        bench.measure(name, rows, bytes, |context| {
            let mut column = Column::new(scalar, &values);
            if nulls {
                column = column.with_validity(&validity);
            }
            reduce.launch(context, &column)
        })?;
    }
    let mut random = Random(8);
    let values: Vec<f64> = (0..rows).map(|_| random.below(1 << 40) as f64 / f64::from(1 << 30)).collect();
    let values = bench.context.upload(&values)?;
    let condition = "([](f64 v) { f64 s, c; sincos(v, &s, &c); return s * s + c * c == 1.0; })(x)";
    let count = Reduce::filtered(bench.context, Scalar::F64, 0, false, condition)?;
    bench.measure("count where sin2 + cos2 == 1, f64", rows, rows * 8, |context| {
        count.launch(context, &Column::new(Scalar::F64, &values))
    })
}
