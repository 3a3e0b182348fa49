//! Sum, minimum, maximum and count of a column: `cuda/reduce.cuh`.

use onrush_device::{Arguments, Buffer, Function, Grid};

use crate::column::Column;
use crate::error::Result;
use crate::headers;
use crate::library::{Context, Program};
use crate::scalar::Scalar;

/// Bits of the results that are wanted in addition to the count.
pub const SUM: u32 = 1;
pub const LOW: u32 = 2;
pub const HIGH: u32 = 4;

/// Threads of a block, and loads of 16 bytes of a thread in flight.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    pub threads: u32,
    pub unroll: u32,
}

/// On the H200 1.02 times the floor for f64 and 1.85 for u8 (docs/measurements/gpu-kernels.md). Other choices were not
/// measured.
pub fn tuning(scalar: Scalar) -> Tuning {
    match scalar.bytes() {
        // More values in 16 bytes mean more work for each load: fewer loads are in flight.
        1 | 2 => Tuning { threads: 256, unroll: 2 },
        _ => Tuning { threads: 256, unroll: 4 },
    }
}

/// The result of `reduce`. The sum is in `Scalar::sum` of the type. The minimum and maximum are of the type itself, and
/// its extremes if there is no valid value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Totals {
    pub sum: Number,
    pub low: Number,
    pub high: Number,
    /// The number of valid values.
    pub count: u64,
}

impl Totals {
    /// `None` if there is no valid value.
    pub fn mean(&self) -> Option<f64> {
        let sum = match self.sum {
            Number::Integer(sum) => sum as f64,
            Number::Float(sum) => sum,
        };
        (self.count > 0).then(|| sum / self.count as f64)
    }
}

/// A value of any of the types.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Integer(i128),
    Float(f64),
}

/// `condition` is CUDA C++ that is true if a value `x` counts.
pub fn program(scalar: Scalar, want: u32, nulls: bool, condition: &str) -> Program {
    let t = scalar.cuda();
    let unroll = tuning(scalar).unroll;
    let body = format!(
        "extern \"C\" __global__ void reduce_{t}(const {t}* values, const u32* validity, u64 first_bit, u64 rows, \
         Totals<{t}>* partials, u32* ticket, Totals<{t}>* out) {{\n  \
         reduce<{t}, {want}, {nulls}, {unroll}>(values, validity, first_bit, rows, partials, ticket, out, \
         []({t} x) {{ return {condition}; }});\n}}\n"
    );
    Program::new(&[&headers::REDUCE], body, [format!("reduce_{t}")])
}

/// A reusable reduction: its kernel and scratch memory.
pub struct Reduce {
    function: Function,
    scalar: Scalar,
    blocks: u32,
    partials: Buffer,
    ticket: Buffer,
    out: Buffer,
}

impl Reduce {
    pub fn new(context: &Context, scalar: Scalar, want: u32, nulls: bool) -> Result<Reduce> {
        Reduce::filtered(context, scalar, want, nulls, "true")
    }

    /// Only values for which `condition`, a CUDA C++ expression of `x`, is true. A condition that is not an expression
    /// does not compile.
    pub fn filtered(context: &Context, scalar: Scalar, want: u32, nulls: bool, condition: &str) -> Result<Reduce> {
        let function =
            context.library.function(&program(scalar, want, nulls, condition), &format!("reduce_{}", scalar.cuda()))?;
        let blocks = function.resident_blocks(tuning(scalar).threads, 0)?;
        Ok(Reduce {
            function,
            scalar,
            blocks,
            partials: context.allocate(u64::from(blocks) * totals_bytes(scalar))?,
            ticket: context.zeros(4)?,
            out: context.allocate(totals_bytes(scalar))?,
        })
    }

    /// Enqueues the kernel on the stream.
    pub fn launch(&self, context: &Context, column: &Column) -> Result<()> {
        debug_assert_eq!(column.scalar, self.scalar);
        let threads = tuning(self.scalar).threads;
        let packs = (column.rows * self.scalar.bytes()).div_ceil(16);
        // No more blocks than needed, and at least one: it writes the result.
        let blocks = packs.div_ceil(u64::from(threads)).clamp(1, u64::from(self.blocks)) as u32;
        let arguments = Arguments::new()
            .value(column.address())
            .value(column.validity_address())
            .value(column.first)
            .value(column.rows)
            .buffer(&self.partials)
            .buffer(&self.ticket)
            .buffer(&self.out);
        // SAFETY: the parameters are those of `program`. The column's view is inside of its buffers, and scratch memory
        // is for as many blocks as are launched.
        unsafe { self.function.launch(&Grid::new(blocks, threads), arguments, &context.stream)? };
        Ok(())
    }

    /// Synchronises, and reads the result.
    pub fn result(&self, context: &Context) -> Result<Totals> {
        let bytes = self.out.read::<u8>(0..totals_bytes(self.scalar) as usize, &context.stream)?;
        let key = self.scalar.bytes() as usize;
        // The layout of Totals in C++: each field aligned to its size.
        let sum_bytes = self.scalar.sum().bytes() as usize;
        let low = number(&bytes[sum_bytes..], self.scalar, true);
        let high = number(&bytes[sum_bytes + key..], self.scalar, true);
        let count_at = (sum_bytes + 2 * key).div_ceil(8) * 8;
        let count = u64::from_le_bytes(bytes[count_at..count_at + 8].try_into().unwrap_or_default());
        Ok(Totals { sum: number(&bytes, self.scalar.sum(), false), low, high, count })
    }
}

/// All of a column at once.
pub fn reduce(context: &Context, column: &Column, want: u32) -> Result<Totals> {
    let reduce = Reduce::new(context, column.scalar, want, column.validity.is_some())?;
    reduce.launch(context, column)?;
    reduce.result(context)
}

fn totals_bytes(scalar: Scalar) -> u64 {
    let end = (scalar.sum().bytes() + 2 * scalar.bytes()).div_ceil(8) * 8 + 8;
    end.div_ceil(scalar.sum().bytes()) * scalar.sum().bytes()
}

/// `key`: floats are stored as the integers that order them.
fn number(bytes: &[u8], scalar: Scalar, key: bool) -> Number {
    fn take<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes[..N].try_into().unwrap_or([0; N])
    }
    let integer = |value: i128| Number::Integer(value);
    match scalar {
        Scalar::I8 => integer(i8::from_le_bytes(take(bytes)).into()),
        Scalar::I16 => integer(i16::from_le_bytes(take(bytes)).into()),
        Scalar::I32 => integer(i32::from_le_bytes(take(bytes)).into()),
        Scalar::I64 => integer(i64::from_le_bytes(take(bytes)).into()),
        Scalar::U8 => integer(u8::from_le_bytes(take(bytes)).into()),
        Scalar::U16 => integer(u16::from_le_bytes(take(bytes)).into()),
        Scalar::U32 => integer(u32::from_le_bytes(take(bytes)).into()),
        Scalar::U64 => integer(u64::from_le_bytes(take(bytes)).into()),
        Scalar::I128 => integer(i128::from_le_bytes(take(bytes))),
        Scalar::F32 if key => {
            let key = i32::from_le_bytes(take(bytes));
            Number::Float(f32::from_bits((key ^ ((key >> 31) as u32 >> 1) as i32) as u32).into())
        }
        Scalar::F64 if key => {
            let key = i64::from_le_bytes(take(bytes));
            Number::Float(f64::from_bits((key ^ ((key >> 63) as u64 >> 1) as i64) as u64))
        }
        Scalar::F32 => Number::Float(f32::from_le_bytes(take(bytes)).into()),
        Scalar::F64 => Number::Float(f64::from_le_bytes(take(bytes))),
    }
}
