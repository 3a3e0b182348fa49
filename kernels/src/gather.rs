//! Gather and scatter: values by row index: `cuda/gather.cuh`.

use onrush_device::{Arguments, Buffer};

use crate::column::{Column, moved_as};
use crate::error::{Error, Result};
use crate::headers;
use crate::launch::fill;
use crate::library::{Context, Program};
use crate::scalar::Scalar;

/// Threads of a block, and rows of a thread in flight.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    pub threads: u32,
    pub unroll: u32,
}

pub const TUNING: Tuning = Tuning { threads: 256, unroll: 4 };

pub fn program(value: Scalar, index: Scalar, nulls: bool) -> Program {
    let (t, i, Tuning { threads, unroll }) = (moved_as(value), index.cuda(), TUNING);
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__({threads}) gather_rows(const {t}* values, const u32* validity, u64 bit, \
         const {i}* indices, const u32* index_validity, u64 index_bit, u64 rows, {t}* out, u32* out_validity) {{\n  \
         gather<{t}, {i}, {nulls}, {unroll}>(values, validity, bit, indices, index_validity, index_bit, rows, out, out_validity);\n}}\n\
         extern \"C\" __global__ void __launch_bounds__({threads}) scatter_rows(const {t}* values, const {i}* indices, u64 rows, {t}* out) {{\n  \
         scatter<{t}, {i}>(values, indices, rows, out);\n}}\n"
    );
    Program::new(&[&headers::GATHER], body, ["gather_rows", "scatter_rows"])
}

fn check(indices: &Column) -> Result<()> {
    match indices.scalar {
        Scalar::U32 | Scalar::U64 => Ok(()),
        other => Err(Error::Unsupported { algorithm: "row numbers", scalar: other.cuda() }),
    }
}

/// `out[i] = values[indices[i]]`. `out_validity`, one bit for each row in words of 32, is written if one of the columns
/// has nulls. The caller guarantees that the indices are in range.
pub fn gather(
    context: &Context,
    values: &Column,
    indices: &Column,
    out: &Buffer,
    out_validity: Option<&Buffer>,
) -> Result<()> {
    check(indices)?;
    let nulls = values.validity.is_some() || indices.validity.is_some();
    assert!(out.bytes() >= indices.rows * values.scalar.bytes(), "the output is too short");
    assert!(
        !nulls || out_validity.is_some_and(|bits| bits.bytes() >= indices.rows.div_ceil(32) * 4),
        "no room for nulls"
    );
    let program = program(values.scalar, indices.scalar, nulls);
    let function = context.library.function(&program, "gather_rows")?;
    let arguments = Arguments::new()
        .value(values.address())
        .value(values.validity_address())
        .value(values.first)
        .value(indices.address())
        .value(indices.validity_address())
        .value(indices.first)
        .value(indices.rows)
        .buffer(out)
        .optional(out_validity);
    fill(context, &function, arguments, indices.rows.div_ceil(u64::from(TUNING.unroll)), TUNING.threads, 0)
}

/// `out[indices[i]] = values[i]`, without nulls. The caller guarantees that the indices are in range of `out` and
/// distinct.
pub fn scatter(context: &Context, values: &Column, indices: &Column, out: &Buffer) -> Result<()> {
    check(indices)?;
    assert_eq!(values.rows, indices.rows, "values and numbers have different rows");
    let function = context.library.function(&program(values.scalar, indices.scalar, false), "scatter_rows")?;
    let arguments = Arguments::new().value(values.address()).value(indices.address()).value(values.rows).buffer(out);
    fill(context, &function, arguments, values.rows, TUNING.threads, 0)
}
