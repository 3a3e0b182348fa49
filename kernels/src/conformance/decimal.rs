//! `decimal` against the checked arithmetic of Rust's 128-bit integers, after Arrow's rules, and its speed.

use super::values::{Nulls, Random, Value, bitmap};
use super::{Bench, Cases, same};
use crate::column::Column;
use crate::decimal::{Faults, Operation, binary, faults, rescale, scales};
use crate::error::Result;
use crate::scalar::Scalar;

const OPERATIONS: [Operation; 4] = [Operation::Add, Operation::Subtract, Operation::Multiply, Operation::Divide];

/// As `arrow-arith` 59 has it: `l.mul_checked(l_mul)?.add_checked(r.mul_checked(r_mul)?)` and so on.
fn reference(
    operation: Operation,
    (a, left): (i128, i128),
    (b, right): (i128, i128),
) -> std::result::Result<i128, Faults> {
    let overflow = Faults { overflow: true, by_zero: false };
    let (a, b) = match operation {
        Operation::Multiply => (a, b),
        _ => (a.checked_mul(left).ok_or(overflow)?, b.checked_mul(right).ok_or(overflow)?),
    };
    match operation {
        Operation::Add => a.checked_add(b).ok_or(overflow),
        Operation::Subtract => a.checked_sub(b).ok_or(overflow),
        Operation::Multiply => a.checked_mul(b).ok_or(overflow),
        Operation::Divide if b == 0 => Err(Faults { overflow: false, by_zero: true }),
        Operation::Divide => a.checked_div(b).ok_or(overflow),
    }
}

/// Values of about so many digits.
fn digits(random: &mut Random, rows: usize, digits: u32) -> Vec<i128> {
    (0..rows)
        .map(|_| i128::random(random) % 10_i128.pow(random.below(u64::from(digits)) as u32 + 1))
        .map(|value| if value == 0 { 1 } else { value })
        .collect()
}

fn one(
    cases: &mut Cases,
    random: &mut Random,
    operation: Operation,
    (a, left): (&[i128], i8),
    (b, right): (&[i128], i8),
    nulls: Nulls,
) {
    let rows = a.len();
    let valid = nulls.valid(random, rows);
    let bits = bitmap(random, &valid, 0);
    cases.case(
        || format!("decimal {operation:?} of scales {left} and {right}, {rows} rows, nulls {nulls:?}"),
        |context| {
            let Some((_, up, down)) = scales(operation, left, right) else { return Ok(Err("no scale".into())) };
            let (a_there, b_there, bits) = (context.upload(a)?, context.upload(b)?, context.upload(&bits)?);
            let mut column = Column::new(Scalar::I128, &a_there);
            if nulls != Nulls::Absent {
                column = column.with_validity(&bits);
            }
            let out = context.allocate(rows as u64 * 16)?;
            let error = context.zeros(4)?;
            binary(context, operation, (&column, up), (&Column::new(Scalar::I128, &b_there), down), &out, &error)?;
            let told = faults(context, &error)?;
            let mut expected_faults = Faults::default();
            let mut expected = Vec::new();
            for row in 0..rows {
                let there = if valid[row] { reference(operation, (a[row], up), (b[row], down)) } else { Ok(0) };
                match there {
                    Ok(value) => expected.push(value),
                    Err(fault) => {
                        expected_faults.overflow |= fault.overflow;
                        expected_faults.by_zero |= fault.by_zero;
                    }
                }
            }
            if told != expected_faults {
                return Ok(Err(format!("{told:?}, expected {expected_faults:?}")));
            }
            if told != Faults::default() {
                return Ok(Ok(()));
            }
            Ok(same(&out.read::<i128>(0..rows, &context.stream)?, &expected))
        },
    );
}

/// By the definition: half away from zero, null above the precision.
fn rescaled(value: i128, from: i8, to: i8, precision: u32) -> Option<i128> {
    let factor = 10_i128.pow(u32::from(from.abs_diff(to)));
    let found = if to >= from {
        value.checked_mul(factor)?
    } else {
        let (whole, rest) = (value / factor, value % factor);
        whole + if rest.unsigned_abs() * 2 >= factor.unsigned_abs() { value.signum() } else { 0 }
    };
    (found.unsigned_abs() < 10_u128.pow(precision)).then_some(found)
}

pub fn check(cases: &mut Cases) {
    let mut random = Random(71);
    for rows in cases.depth.sizes() {
        for operation in OPERATIONS {
            // Sizes at which nothing overflows.
            let (a, b) = (digits(&mut random, rows, 18), digits(&mut random, rows, 17));
            for (left, right) in [(2, 2), (0, 6), (8, 3)] {
                one(cases, &mut random, operation, (&a, left), (&b, right), Nulls::Absent);
            }
            one(cases, &mut random, operation, (&a, 4), (&b, 4), Nulls::Random);
        }
    }
    // Pairs around the limits, each in a separate column.
    let awkward = [
        0,
        1,
        -1,
        i128::MAX,
        i128::MIN,
        i128::MAX / 10,
        10_i128.pow(38) - 1,
        1 << 64,
        -(1 << 64),
        (1 << 64) - 1,
        1 << 63,
    ];
    for operation in OPERATIONS {
        for a in awkward {
            for b in awkward {
                one(cases, &mut random, operation, (&[a], 2), (&[b], 2), Nulls::Absent);
                one(cases, &mut random, operation, (&[a], 2), (&[b], 3), Nulls::Absent);
            }
        }
    }
    for rows in cases.depth.few_sizes() {
        for (from, to, precision) in [(2, 2, 38), (3, 1, 10), (6, 0, 5), (0, 9, 20), (38, 0, 38), (1, 38, 38)] {
            let mut values = i128::column(&mut random, rows);
            // Halves of the last digit that stays.
            values.iter_mut().step_by(3).for_each(|value| *value = (*value % 1000) * 10 + 5);
            let valid = Nulls::Random.valid(&mut random, rows);
            let bits = bitmap(&mut random, &valid, 0);
            cases.case(
                || format!("decimal scale {from} to {to}, {precision} digits, {rows} rows"),
                |context| {
                    let (there, bits) = (context.upload(&values)?, context.upload(&bits)?);
                    let words = rows.div_ceil(32);
                    let (out, out_bits) = (context.allocate(rows as u64 * 16)?, context.allocate(words as u64 * 4)?);
                    let column = Column::new(Scalar::I128, &there).with_validity(&bits);
                    rescale(context, &column, (from, to), precision, &out, &out_bits)?;
                    let found = out.read::<i128>(0..rows, &context.stream)?;
                    let found_bits = out_bits.read::<u32>(0..words, &context.stream)?;
                    let read = |row: usize| (found_bits[row / 32] >> (row % 32) & 1 == 1).then_some(found[row]);
                    let found: Vec<Option<i128>> = (0..rows).map(read).collect();
                    let expect = |row: usize| {
                        if valid[row] { rescaled(values[row], from, to, u32::from(precision)) } else { None }
                    };
                    Ok(same(&found, &(0..rows).map(expect).collect::<Vec<_>>()))
                },
            );
        }
    }
}

pub fn measure(bench: &mut Bench) -> Result<()> {
    let (rows, context) = (bench.rows, bench.context);
    let (a, b) = (context.zeros(rows * 16)?, context.zeros(rows * 16)?);
    b.fill(1, &context.stream)?;
    let out = context.allocate(rows * 16)?;
    let error = context.zeros(4)?;
    let (a, b) = (Column::new(Scalar::I128, &a), Column::new(Scalar::I128, &b));
    for operation in OPERATIONS {
        bench.measure(format!("decimal {operation:?}, one scale"), rows, rows * 48, |context| {
            binary(context, operation, (&a, 1), (&b, 1), &out, &error)
        })?;
    }
    Ok(())
}
