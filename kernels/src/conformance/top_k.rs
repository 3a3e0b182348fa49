//! `top_k` against a sort, and its speed.

use super::values::{Nulls, Random, Value, bitmap};
use super::{Bench, Cases, same};
use crate::column::Column;
use crate::error::Result;
use crate::scalar::Scalar;
use crate::top_k::{Extreme, TopK};

/// A type with its total order.
trait TotalOrder: Value {
    fn compare(&self, other: &Self) -> std::cmp::Ordering;
    /// Equal ones only if the bits are.
    fn bits(&self) -> u64;
}

macro_rules! ranked {
    ($($type:ident $compare:ident $bits:expr;)*) => {
        $(
            impl TotalOrder for $type {
                fn compare(&self, other: &Self) -> std::cmp::Ordering {
                    self.$compare(other)
                }

                fn bits(&self) -> u64 {
                    $bits(*self)
                }
            }
        )*
    };
}
ranked! {
    u8 cmp u64::from;
    i16 cmp |x: i16| x as u64;
    i32 cmp |x: i32| x as u64;
    u64 cmp |x: u64| x;
    f32 total_cmp |x: f32| x.to_bits().into();
    f64 total_cmp f64::to_bits;
}

fn one<T: TotalOrder>(cases: &mut Cases, random: &mut Random, values: &[T], which: Extreme, k: u64, nulls: Nulls) {
    let rows = values.len();
    let valid = nulls.valid(random, rows);
    let bits = bitmap(random, &valid, 0);
    cases.case(
        || format!("top_k {} {which:?} {k} of {rows} rows, nulls {nulls:?}", T::SCALAR.cuda()),
        |context| {
            let (there, bits) = (context.upload(values)?, context.upload(&bits)?);
            let mut column = Column::new(T::SCALAR, &there);
            if nulls != Nulls::Absent {
                column = column.with_validity(&bits);
            }
            let top = TopK::new(context, T::SCALAR, which, k)?;
            // Twice: the first run must leave the scratch memory as the second one needs it.
            top.launch(context, &column)?;
            top.launch(context, &column)?;
            let mut chosen = top.rows(context)?;
            chosen.sort_unstable();
            let different = chosen.windows(2).all(|pair| pair[0] < pair[1]);
            if !different || chosen.iter().any(|row| *row >= rows as u64 || !valid[*row as usize]) {
                return Ok(Err("a row is there twice, or is null, or does not exist".into()));
            }
            let mut found: Vec<T> = chosen.iter().map(|row| values[*row as usize]).collect();
            let mut expected: Vec<T> =
                values.iter().zip(&valid).filter(|(_, valid)| **valid).map(|(value, _)| *value).collect();
            let order = |a: &T, b: &T| if which == Extreme::Largest { b.compare(a) } else { a.compare(b) };
            found.sort_by(order);
            expected.sort_by(order);
            expected.truncate(k as usize);
            let bits = |values: &[T]| values.iter().map(TotalOrder::bits).collect::<Vec<u64>>();
            Ok(same(&bits(&found), &bits(&expected)))
        },
    );
}

fn check_type<T: TotalOrder>(cases: &mut Cases) {
    let mut random = Random(23 + T::SCALAR.bytes());
    for rows in cases.depth.sizes() {
        let values = T::column(&mut random, rows);
        one(cases, &mut random, &values, Extreme::Largest, 10, Nulls::Absent);
    }
    for rows in cases.depth.few_sizes() {
        let values = T::column(&mut random, rows);
        for (which, k) in [(Extreme::Smallest, 1), (Extreme::Largest, 33), (Extreme::Smallest, 2000)] {
            one(cases, &mut random, &values, which, k, Nulls::Random);
        }
        // All equal: any will do.
        let equal = vec![T::random(&mut random); rows];
        one(cases, &mut random, &equal, Extreme::Largest, 100, Nulls::Alternating);
    }
}

pub fn check(cases: &mut Cases) {
    check_type::<u8>(cases);
    check_type::<i16>(cases);
    check_type::<i32>(cases);
    check_type::<u64>(cases);
    check_type::<f32>(cases);
    check_type::<f64>(cases);
}

pub fn measure(bench: &mut Bench) -> Result<()> {
    let (rows, context) = (bench.rows, bench.context);
    let mut random = Random(29);
    let values: Vec<f64> = (0..rows).map(|_| random.below(1 << 50) as f64).collect();
    let values = context.upload(&values)?;
    for k in [10, 1000] {
        let top = TopK::new(context, Scalar::F64, Extreme::Largest, k)?;
        bench.measure(format!("top_k f64, {k} largest"), rows, rows * 8, |context| {
            top.launch(context, &Column::new(Scalar::F64, &values))
        })?;
    }
    Ok(())
}
