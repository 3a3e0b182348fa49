//! decimal128 arithmetic as in Arrow: `cuda/decimal.cuh`.

use onrush_device::{Arguments, Buffer};

use crate::column::Column;
use crate::error::{Error, Result};
use crate::headers;
use crate::launch::fill;
use crate::library::{Context, Program};
use crate::scalar::Scalar;

const THREADS: u32 = 256;

/// The maximum precision and scale.
pub const DIGITS: i8 = 38;

/// Numbered as in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Errors of some row; the results are then invalid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    pub overflow: bool,
    pub by_zero: bool,
}

/// The scale of a result, and the powers of ten by which both sides are multiplied. `None` if Arrow refuses: a product
/// with a scale above 38, or a power of ten that does not fit.
pub fn scales(operation: Operation, left: i8, right: i8) -> Option<(i8, i128, i128)> {
    let power = |digits: i8| 10_i128.checked_pow(u32::try_from(digits).ok()?);
    match operation {
        Operation::Add | Operation::Subtract => {
            let scale = left.max(right);
            Some((scale, power(scale.checked_sub(left)?)?, power(scale.checked_sub(right)?)?))
        }
        Operation::Multiply => {
            let scale = left.saturating_add(right);
            (scale <= DIGITS).then_some((scale, 1, 1))
        }
        Operation::Divide => {
            let scale = left.saturating_add(4).min(DIGITS);
            let digits = scale.checked_sub(left)?.checked_add(right)?;
            let (up, down) = (power(digits.max(0))?, power(digits.checked_neg()?.max(0))?);
            Some((scale, up, down))
        }
    }
}

pub fn program(operation: Operation) -> Program {
    let operation = operation as u32;
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) decimal_binary(const i128* a, const u32* valid_a, u64 bit_a, const i128* b, \
         const u32* valid_b, u64 bit_b, u64 rows, i128 left, i128 right, i128* out, u32* error) {{\n  \
         decimal_rows<{operation}>(a, valid_a, bit_a, b, valid_b, bit_b, rows, left, right, out, error);\n}}\n"
    );
    Program::new(&[&headers::DECIMAL], body, ["decimal_binary"])
}

pub fn rescale_program(up: bool) -> Program {
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) decimal_to_scale(const i128* values, const u32* validity, u64 bit, u64 rows, \
         i128 factor, i128 limit, i128* out, u32* out_validity) {{\n  \
         decimal_rescale<{up}>(values, validity, bit, rows, factor, limit, out, out_validity);\n}}\n"
    );
    Program::new(&[&headers::DECIMAL], body, ["decimal_to_scale"])
}

fn check(column: &Column, out: &Buffer) -> Result<()> {
    assert!(out.bytes() >= column.rows * 16, "the output is too short");
    match column.scalar {
        Scalar::I128 => Ok(()),
        other => Err(Error::Unsupported { algorithm: "decimal arithmetic", scalar: other.cuda() }),
    }
}

/// Computes two columns with the factors of `scales`. `faults` is a word, zero before: read it with `faults`. Rows with
/// a null become zero.
pub fn binary(
    context: &Context,
    operation: Operation,
    (a, left): (&Column, i128),
    (b, right): (&Column, i128),
    out: &Buffer,
    faults: &Buffer,
) -> Result<()> {
    check(a, out)?;
    check(b, out)?;
    assert_eq!(a.rows, b.rows, "the two sides have different rows");
    let function = context.library.function(&program(operation), "decimal_binary")?;
    let side = |arguments: Arguments, column: &Column| {
        arguments.value(column.address()).value(column.validity_address()).value(column.first)
    };
    let arguments =
        side(side(Arguments::new(), a), b).value(a.rows).value(left).value(right).buffer(out).buffer(faults);
    fill(context, &function, arguments, a.rows, THREADS, 0)
}

/// Synchronises, and reads the errors.
pub fn faults(context: &Context, faults: &Buffer) -> Result<Faults> {
    let bits = faults.read_one::<u32>(&context.stream)?;
    Ok(Faults { overflow: bits & 1 != 0, by_zero: bits & 2 != 0 })
}

/// Converts from one scale to another, into a type of `precision` digits; values that do not fit become null. Scales
/// are at most 38 apart.
pub fn rescale(
    context: &Context,
    column: &Column,
    (from, to): (i8, i8),
    precision: u8,
    out: &Buffer,
    out_validity: &Buffer,
) -> Result<()> {
    check(column, out)?;
    assert!(from.abs_diff(to) <= 38 && precision <= 38, "decimal128 has 38 digits");
    assert!(out_validity.bytes() >= column.rows.div_ceil(32) * 4, "no room for nulls");
    let up = to >= from;
    let function = context.library.function(&rescale_program(up), "decimal_to_scale")?;
    let arguments = Arguments::new()
        .value(column.address())
        .value(column.validity_address())
        .value(column.first)
        .value(column.rows)
        .value(10_i128.pow(u32::from(from.abs_diff(to))))
        .value(10_i128.pow(u32::from(precision)) - 1)
        .buffer(out)
        .buffer(out_validity);
    fill(context, &function, arguments, column.rows, THREADS, 0)
}
