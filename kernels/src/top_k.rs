//! Top-k: the rows of the largest or smallest values: `cuda/top_k.cuh`.

use onrush_device::{Arguments, Buffer, Function};

use crate::column::Column;
use crate::error::{Error, Result};
use crate::headers;
use crate::launch::fill;
use crate::library::{Context, Program};
use crate::scalar::Scalar;

/// Threads of a block; each has four rows in flight, as in the header.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    pub threads: u32,
}

pub const TUNING: Tuning = Tuning { threads: 512 };

const DIGIT_BITS: u64 = 11;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    Largest,
    Smallest,
}

pub fn program(scalar: Scalar, which: Extreme) -> Program {
    let (t, largest, Tuning { threads }) = (scalar.cuda(), which == Extreme::Largest, TUNING);
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__({threads}) top_k_count_rows(const {t}* values, const u32* validity, u64 bit, u64 rows, \
         u64 k, u32 round, u64* histogram, Selection* selection) {{\n  \
         top_k_round<{t}, {largest}>(values, validity, bit, rows, k, round, histogram, selection);\n}}\n\
         extern \"C\" __global__ void __launch_bounds__({threads}) top_k_take_rows(const {t}* values, const u32* validity, u64 bit, u64 rows, \
         u64* out, Selection* selection) {{\n  \
         top_k_take<{t}, {largest}>(values, validity, bit, rows, out, selection);\n}}\n"
    );
    Program::new(&[&headers::TOP_K], body, ["top_k_count_rows", "top_k_take_rows"])
}

/// A reusable selection: kernels and memory.
pub struct TopK {
    count: Function,
    take: Function,
    scalar: Scalar,
    k: u64,
    histogram: Buffer,
    selection: Buffer,
    rows: Buffer,
}

/// Size of `Selection`, and the offset of `selected`.
const SELECTION_WORDS: u64 = 7;
const SELECTED: usize = 2;

impl TopK {
    pub fn new(context: &Context, scalar: Scalar, which: Extreme, k: u64) -> Result<TopK> {
        if scalar.bytes() > 8 {
            return Err(Error::Unsupported { algorithm: "top k", scalar: scalar.cuda() });
        }
        let program = program(scalar, which);
        Ok(TopK {
            count: context.library.function(&program, "top_k_count_rows")?,
            take: context.library.function(&program, "top_k_take_rows")?,
            scalar,
            k,
            histogram: context.zeros(8 << DIGIT_BITS)?,
            selection: context.zeros(8 * SELECTION_WORDS)?,
            rows: context.allocate(8 * k)?,
        })
    }

    /// Enqueues all rounds on the stream.
    pub fn launch(&self, context: &Context, column: &Column) -> Result<()> {
        assert_eq!(column.scalar, self.scalar);
        let view = || {
            let arguments = Arguments::new().value(column.address()).value(column.validity_address());
            arguments.value(column.first).value(column.rows)
        };
        // At least one block: it writes the selected rows.
        let items = column.rows.div_ceil(4).max(1);
        for round in 0..(8 * self.scalar.bytes()).div_ceil(DIGIT_BITS) as u32 {
            let arguments = view().value(self.k).value(round).buffer(&self.histogram).buffer(&self.selection);
            fill(context, &self.count, arguments, items, TUNING.threads, 0)?;
        }
        let arguments = view().buffer(&self.rows).buffer(&self.selection);
        fill(context, &self.take, arguments, items, TUNING.threads, 0)
    }

    /// 64-bit row indices, in no order: `k` of them if there are so many values.
    pub fn selected(&self) -> &Buffer {
        &self.rows
    }

    /// Synchronises and returns row indices, in no order; fewer than `k` if there are fewer values.
    pub fn rows(&self, context: &Context) -> Result<Vec<u64>> {
        let selected = self.selection.read::<u64>(SELECTED..SELECTED + 1, &context.stream)?[0];
        Ok(self.rows.read::<u64>(0..selected as usize, &context.stream)?)
    }
}
