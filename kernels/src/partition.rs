//! Radix partitioning of rows into 256 partitions by their key: `cuda/partition.cuh`.

use onrush_device::{Arguments, Buffer, Function, Grid};

use crate::column::{Column, moved_as};
use crate::error::{Error, Result};
use crate::headers;
use crate::launch::fill;
use crate::library::{Context, Program};
use crate::scalar::Scalar;

pub const PARTS: u64 = 256;

/// Threads of a block, rows that each thread moves, and keys of a thread in flight while counting.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    pub threads: u32,
    pub items: u32,
    pub unroll: u32,
}

/// A tile of 4096 rows: 16 rows for each partition, 128 bytes of a column of 8.
pub const TUNING: Tuning = Tuning { threads: 512, items: 8, unroll: 8 };

/// The function that assigns a row to a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The high bits of the hash of the key, as in the slots of hash tables.
    Hash,
    /// Equal key ranges from `base` on, `size` keys in all; the last partition takes keys outside.
    Range { base: i64, size: u64 },
}

pub fn program(key: Scalar, value: Scalar, by: By) -> Program {
    let (k, v) = (key.cuda(), moved_as(value));
    let Tuning { threads, items, unroll } = TUNING;
    let part = match by {
        By::Hash => "return (u32)(mix((u64)key) >> 56);",
        By::Range { .. } => "u64 p = __umul64hi((u64)(i64)key - (u64)base, scale); return p < 256 ? (u32)p : 255u;",
    };
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__({threads}) partition_count_rows(const {k}* keys, u64 rows, i64 base, u64 scale, \
         u64* counts, u32* ticket, u64* offsets, u64* cursors) {{\n  \
         partition_count<{k}, 256, {unroll}>(keys, rows, counts, ticket, offsets, cursors, [=]({k} key) {{ {part} }});\n}}\n\
         extern \"C\" __global__ void __launch_bounds__({threads}) partition_move_rows(const {k}* keys, const {v}* values, u64 rows, \
         i64 base, u64 scale, u64* cursors, {k}* out_keys, {v}* out_values) {{\n  \
         partition_move<{k}, {v}, 256, {threads}, {items}>(keys, values, rows, cursors, out_keys, out_values, \
         [=]({k} key) {{ {part} }});\n}}\n"
    );
    Program::new(&[&headers::PARTITION], body, ["partition_count_rows", "partition_move_rows"])
}

/// Kernels and memory for a number of rows.
pub struct Partition {
    count: Function,
    move_rows: Function,
    by: By,
    key: Scalar,
    value: Scalar,
    rows: u64,
    /// Counts of the partitions, then the ticket.
    counts: Buffer,
    cursors: Buffer,
    offsets: Buffer,
    keys: Buffer,
    values: Buffer,
}

impl Partition {
    pub fn new(context: &Context, key: Scalar, value: Scalar, rows: u64, by: By) -> Result<Partition> {
        if key.is_float() || key.bytes() > 8 {
            return Err(Error::Unsupported { algorithm: "partitioning", scalar: key.cuda() });
        }
        if value.bytes() > 8 {
            return Err(Error::Unsupported { algorithm: "partitioning of values", scalar: value.cuda() });
        }
        let program = program(key, value, by);
        Ok(Partition {
            count: context.library.function(&program, "partition_count_rows")?,
            move_rows: context.library.function(&program, "partition_move_rows")?,
            by,
            key,
            value,
            rows,
            counts: context.zeros(8 * (PARTS + 1))?,
            cursors: context.allocate(8 * PARTS)?,
            offsets: context.allocate(8 * (PARTS + 1))?,
            keys: context.allocate(rows * key.bytes())?,
            values: context.allocate(rows * value.bytes())?,
        })
    }

    /// Enqueues both passes on the stream. Columns without nulls.
    pub fn run(&self, context: &Context, keys: &Column, values: &Column) -> Result<()> {
        assert!(keys.rows == self.rows && values.rows == self.rows, "the columns have other rows than the partition");
        assert!(keys.validity.is_none() && values.validity.is_none(), "columns with nulls are not partitioned");
        let (base, scale) = match self.by {
            By::Hash => (0, 0),
            // A multiplication by it and a shift by 64 bits divide by the size of a partition.
            By::Range { base, size } => (base, ((u128::from(PARTS) << 64) / u128::from(size.max(PARTS + 1))) as u64),
        };
        let arguments = Arguments::new().value(keys.address()).value(self.rows).value(base).value(scale);
        let counting = arguments
            .buffer(&self.counts)
            .value(self.counts.address() + 8 * PARTS)
            .buffer(&self.offsets)
            .buffer(&self.cursors);
        // One block at least: it writes the offsets.
        let items = self.rows.div_ceil(u64::from(TUNING.unroll)).max(1);
        fill(context, &self.count, counting, items, TUNING.threads, 0)?;
        let moving = Arguments::new()
            .value(keys.address())
            .value(values.address())
            .value(self.rows)
            .value(base)
            .value(scale)
            .buffer(&self.cursors)
            .buffer(&self.keys)
            .buffer(&self.values);
        let tiles = self.rows.div_ceil(u64::from(TUNING.threads * TUNING.items));
        // SAFETY: the parameters are those of `program`; the output has capacity for all rows.
        unsafe { self.move_rows.launch(&Grid::new(tiles as u32, TUNING.threads), moving, &context.stream)? };
        Ok(())
    }

    pub fn keys(&self) -> Column<'_> {
        Column::new(self.key, &self.keys)
    }

    pub fn values(&self) -> Column<'_> {
        Column::new(self.value, &self.values)
    }

    /// The offset of each partition, and the end of the last: 64-bit words.
    pub fn offsets(&self) -> &Buffer {
        &self.offsets
    }
}
