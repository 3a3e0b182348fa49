//! Stable sorting by unsigned keys: `cuda/sort.cuh`.

use onrush_device::{Arguments, Buffer, Grid};

use crate::column::Column;
use crate::error::{Error, Result};
use crate::headers;
use crate::launch::fill;
use crate::library::{Context, Program};
use crate::scalar::Scalar;

const DIGITS: u64 = 256;
const COUNT_THREADS: u32 = 512;

/// Keys of a thread in a pass.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    pub items: u32,
}

/// As many as 48 KB of shared memory have room for: fewer tiles look back. Measured on an H200.
pub fn tuning(_: Scalar) -> Tuning {
    Tuning { items: 20 }
}

pub fn program(scalar: Scalar) -> Program {
    let (k, passes, Tuning { items }) = (scalar.cuda(), scalar.bytes(), tuning(scalar));
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__({COUNT_THREADS}) sort_count_digits(const {k}* keys, u64 rows, u64* counts) {{\n  \
         sort_count<{k}, {passes}>(keys, rows, counts);\n}}\n\
         extern \"C\" __global__ void __launch_bounds__({DIGITS}) sort_by_digit(const {k}* keys, const u32* numbers, {k}* keys_out, \
         u32* numbers_out, u64 rows, u32 shift, const u64* begins, u64* state, u32* ticket) {{\n  \
         sort_pass<{k}, {items}>(keys, numbers, keys_out, numbers_out, rows, shift, begins, state, ticket);\n}}\n"
    );
    Program::new(&[&headers::SORT], body, ["sort_count_digits", "sort_by_digit"])
}

/// Keys in ascending order, and the rows that they were at. Equal keys keep their order.
pub struct Sorted {
    pub keys: Buffer,
    /// Numbers of 32 bits.
    pub rows: Buffer,
}

/// Sorts keys of type `u32` or `u64` without nulls. The column stays as it is.
///
/// # Errors
/// For other types, for 2^32 rows or more, and where there is no memory for four copies of keys and rows.
pub fn sort(context: &Context, column: &Column) -> Result<Sorted> {
    let (scalar, rows) = (column.scalar, column.rows);
    if !matches!(scalar, Scalar::U32 | Scalar::U64) || rows >= u64::from(u32::MAX) {
        return Err(Error::Unsupported { algorithm: "sorting", scalar: scalar.cuda() });
    }
    let program = program(scalar);
    let count = context.library.function(&program, "sort_count_digits")?;
    let pass = context.library.function(&program, "sort_by_digit")?;
    let passes = scalar.bytes();
    let counts = context.zeros(passes * DIGITS * 8)?;
    let arguments = Arguments::new().value(column.address()).value(rows).buffer(&counts);
    if rows > 0 {
        fill(context, &count, arguments, rows, COUNT_THREADS, 0)?;
    }
    let counted = counts.read::<u64>(0..(passes * DIGITS) as usize, &context.stream)?;

    let mut begins: Vec<u64> = Vec::with_capacity(counted.len());
    let mut needed = Vec::new();
    for (number, digits) in counted.chunks(DIGITS as usize).enumerate() {
        let mut before = 0;
        for digit in digits {
            begins.push(before);
            before += digit;
        }
        if !digits.contains(&rows) {
            needed.push(number);
        }
    }
    // One at least, which makes the numbers of rows.
    if needed.is_empty() {
        needed.push(0);
    }
    let begins = context.upload(&begins)?;
    let tiles = rows.div_ceil(DIGITS * u64::from(tuning(scalar).items));
    let state = context.allocate((tiles * DIGITS + 1) * 8)?;
    let room = || -> Result<(Buffer, Buffer)> {
        Ok((context.allocate(rows.max(1) * scalar.bytes())?, context.allocate(rows.max(1) * 4)?))
    };
    let mut from: Option<(Buffer, Buffer)> = None;
    let mut spare: Option<(Buffer, Buffer)> = None;
    for number in needed {
        let (keys_out, numbers_out) = match spare.take() {
            Some(spare) => spare,
            None => room()?,
        };
        state.fill(0, &context.stream)?;
        let (keys, numbers) = from.as_ref().map_or((column.address(), 0), |(k, n)| (k.address(), n.address()));
        let arguments = Arguments::new()
            .value(keys)
            .value(numbers)
            .buffer(&keys_out)
            .buffer(&numbers_out)
            .value(rows)
            .value(8 * number as u32)
            .value(begins.address() + number as u64 * DIGITS * 8)
            .value(state.address())
            .value(state.address() + tiles * DIGITS * 8);
        if rows > 0 {
            // SAFETY: a tile for each block, state for each tile and the ticket behind it, and outputs of as many rows as the input.
            unsafe { pass.launch(&Grid::new(tiles as u32, DIGITS as u32), arguments, &context.stream)? };
        }
        spare = from.replace((keys_out, numbers_out));
    }
    match from {
        Some((keys, rows)) => Ok(Sorted { keys, rows }),
        None => Err(Error::Unsupported { algorithm: "sorting", scalar: scalar.cuda() }),
    }
}
