//! `scan` against a loop, and its speed.

use super::values::{Random, Value};
use super::{Bench, Cases, same};
use crate::column::Column;
use crate::error::Result;
use crate::scalar::Scalar;
use crate::scan::{Bounds, Scan, scan};

fn reference(values: impl Iterator<Item = i128>, bounds: Bounds) -> Vec<u64> {
    let mut sum = 0i128;
    values
        .map(|value| {
            let before = sum;
            sum += value;
            (if bounds == Bounds::Inclusive { sum } else { before }) as u64
        })
        .collect()
}

fn check_type<T: Value + Into<i128>>(cases: &mut Cases) {
    let mut random = Random(11 + T::SCALAR.bytes());
    for bounds in [Bounds::Inclusive, Bounds::Exclusive] {
        for first in [0, 1, 5] {
            for rows in if first == 0 { cases.depth.sizes() } else { cases.depth.few_sizes() } {
                let values = T::column(&mut random, rows + first);
                cases.case(
                    || format!("scan {} {rows} rows from {first}, {bounds:?}", T::SCALAR.cuda()),
                    |context| {
                        let buffer = context.upload(&values)?;
                        let column = Column::new(T::SCALAR, &buffer).slice(first as u64, rows as u64);
                        // Integer sums wrap at 64 bits, and are compared as those bits.
                        let found = scan(context, &column, bounds)?.read::<u64>(0..rows, &context.stream)?;
                        Ok(same(&found, &reference(values[first..].iter().map(|v| (*v).into()), bounds)))
                    },
                );
            }
        }
    }
}

/// Sums of integers are exact in any order.
fn check_floats(cases: &mut Cases) {
    let mut random = Random(5);
    for rows in cases.depth.sizes() {
        let values: Vec<f64> = (0..rows).map(|_| random.below(1 << 20) as f64 - 5e5).collect();
        cases.case(
            || format!("scan f64 {rows} rows"),
            |context| {
                let buffer = context.upload(&values)?;
                let column = Column::new(Scalar::F64, &buffer);
                let found = scan(context, &column, Bounds::Inclusive)?.read::<f64>(0..rows, &context.stream)?;
                let mut sum = 0.0;
                let expected: Vec<f64> = values
                    .iter()
                    .map(|v| {
                        sum += v;
                        sum
                    })
                    .collect();
                Ok(same(&found, &expected))
            },
        );
    }
}

pub fn check(cases: &mut Cases) {
    check_type::<u8>(cases);
    check_type::<i16>(cases);
    check_type::<i32>(cases);
    check_type::<u32>(cases);
    check_type::<i64>(cases);
    check_type::<u64>(cases);
    check_floats(cases);
}

pub fn measure(bench: &mut Bench) -> Result<()> {
    let rows = bench.rows;
    for scalar in [Scalar::I64, Scalar::F64, Scalar::U32, Scalar::U8] {
        let values = bench.context.zeros(rows * scalar.bytes())?;
        let out = bench.context.allocate(rows * scalar.sum().bytes())?;
        let scan = Scan::new(bench.context, scalar, Bounds::Exclusive, rows)?;
        let bytes = rows * (scalar.bytes() + scalar.sum().bytes());
        bench.measure(format!("scan {}", scalar.cuda()), rows, bytes, |context| {
            scan.launch(context, &Column::new(scalar, &values), &out)
        })?;
    }
    Ok(())
}
