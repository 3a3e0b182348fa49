//! Grouping by integer keys of a small known range: `cuda/dense_group.cuh`. Dictionary indices, booleans, days, and any
//! column with a small range in its statistics. Kernels that are generated from plans use the same tables with
//! expressions for keys and values.

use onrush_device::{Arguments, Buffer, Function};

use crate::accumulate::{Groups, Output, Shape, rows};
use crate::column::Column;
use crate::error::Result;
use crate::headers;
use crate::launch::fill;
use crate::library::{Context, Program};
use crate::partition::{By, Partition};

#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Threads of a block, and rows of a thread in flight, with a table in shared memory.
    pub shared_threads: u32,
    pub shared_unroll: u32,
    /// The same for the table in device memory.
    pub threads: u32,
    pub unroll: u32,
    /// Shared memory that lets two blocks of 1024 threads be resident on a multiprocessor.
    pub half_shared: u32,
    /// Thresholds of rows and table bytes above which rows are partitioned first.
    pub partition_rows: u64,
    pub partition_bytes: u64,
}

pub const TUNING: Tuning = Tuning {
    shared_threads: 1024,
    shared_unroll: 4,
    threads: 256,
    unroll: 4,
    half_shared: 113 << 10,
    partition_rows: 1 << 22,
    partition_bytes: 40 << 20,
};

/// The strategy by which rows find their groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// A table of each block in shared memory, replicated so many times.
    Shared { replicas: u32 },
    /// Atomic operations in device memory.
    Direct,
    /// Atomic operations after a partition by key. Not with nulls.
    Partitioned,
}

/// The lowest key, and the size of the key range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub base: i64,
    pub size: u64,
}

/// The fastest strategy for a shape, a range and a number of rows.
pub fn strategy(context: &Context, shape: &Shape, range: Range, rows: u64) -> Strategy {
    let bytes = (range.size.saturating_add(1)).saturating_mul(u64::from(shape.shared_bytes()));
    if bytes <= u64::from(context.device().properties().shared_memory_per_block) {
        let fits = u64::from(TUNING.half_shared) / bytes;
        return Strategy::Shared { replicas: if fits < 2 { 1 } else { 1 << fits.min(32).ilog2() } };
    }
    let table = range.size.saturating_mul(8 * stride(shape));
    if !shape.nulls && rows >= TUNING.partition_rows && table > TUNING.partition_bytes {
        Strategy::Partitioned
    } else {
        Strategy::Direct
    }
}

/// 64-bit words of a slot, which does not straddle sectors.
fn stride(shape: &Shape) -> u64 {
    shape.words().next_power_of_two()
}

pub fn table_program(shape: &Shape) -> Program {
    let (v, kept, stride, out) = (shape.value.cuda(), shape.kept(), stride(shape), shape.want.count_ones());
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__(256) dense_clear_table(u64* table, u64 slots, u32* outside) {{\n  \
           if (thread_in_grid() == 0) *outside = 0;\n  dense_clear<{v}, {kept}, {stride}>(table, slots);\n}}\n\
         extern \"C\" __global__ void __launch_bounds__(256) dense_write(const u64* table, u64 slots, i64 base, u64* groups, u64* keys, \
         u64* accumulators, u64 capacity) {{\n  \
           extract<256, 4>(slots, groups,\n    \
             [&](u64 at) {{ return table[at * {stride} + Slots<{v}, {kept}>::PRESENCE] != 0; }},\n    \
             [&](u64 group, u64 at) {{\n      \
               keys[group] = (u64)base + at;\n      \
               for (int i = 0; i < {out}; i++) accumulators[i * capacity + group] = table[at * {stride} + i];\n      \
               if (at == slots - 1) groups[1] = group + 1;\n    }});\n}}\n"
    );
    Program::new(&[&headers::DENSE_GROUP], body, ["dense_clear_table", "dense_write"])
}

pub fn rows_program(shape: &Shape, in_shared: bool) -> Program {
    let (k, v, kept, nulls, stride) = (shape.key.cuda(), shape.value.cuda(), shape.kept(), shape.nulls, stride(shape));
    let parameters = shape.row_parameters();
    let columns = "keys, key_validity, key_bit, values, value_validity, value_bit, rows, base, size";
    if in_shared {
        let Tuning { shared_threads: threads, shared_unroll: unroll, .. } = TUNING;
        let body = format!(
            "extern \"C\" __global__ void __launch_bounds__({threads}) dense_shared_rows({parameters}, i64 base, u64 size, u32 replicas, \
             u64* table, u32* outside) {{\n  \
             dense_shared<{k}, {v}, {kept}, {nulls}, {stride}, {unroll}>({columns}, replicas, table, outside);\n}}\n"
        );
        return Program::new(&[&headers::DENSE_GROUP], body, ["dense_shared_rows"]);
    }
    let Tuning { threads, unroll, .. } = TUNING;
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__({threads}) dense_direct_rows({parameters}, i64 base, u64 size, u64* table, \
         u32* outside) {{\n  \
         dense_direct<{k}, {v}, {kept}, {nulls}, {stride}, {unroll}>({columns}, table, outside);\n}}\n"
    );
    Program::new(&[&headers::DENSE_GROUP], body, ["dense_direct_rows"])
}

/// A reusable grouping: kernels, table, and memory for the groups.
pub struct DenseGroup {
    clear: Function,
    rows: Function,
    write: Function,
    shape: Shape,
    range: Range,
    strategy: Strategy,
    table: Buffer,
    outside: Buffer,
    partition: Option<Partition>,
    output: Output,
}

impl DenseGroup {
    pub fn new(context: &Context, shape: Shape, range: Range, rows: u64, strategy: Strategy) -> Result<DenseGroup> {
        let in_shared = matches!(strategy, Strategy::Shared { .. });
        let table_program = table_program(&shape);
        let entry = if in_shared { "dense_shared_rows" } else { "dense_direct_rows" };
        let slots = range.size + 1;
        let partition = match strategy {
            Strategy::Partitioned => {
                let by = By::Range { base: range.base, size: range.size };
                Some(Partition::new(context, shape.key, shape.value, rows, by)?)
            }
            _ => None,
        };
        Ok(DenseGroup {
            clear: context.library.function(&table_program, "dense_clear_table")?,
            rows: context.library.function(&rows_program(&shape, in_shared), entry)?,
            write: context.library.function(&table_program, "dense_write")?,
            table: context.allocate(slots * stride(&shape) * 8)?,
            outside: context.allocate(4)?,
            partition,
            output: Output::new(context, &shape, slots.min(rows))?,
            shape,
            range,
            strategy,
        })
    }

    /// Enqueues all kernels on the stream.
    pub fn run(&self, context: &Context, keys: &Column, values: &Column) -> Result<()> {
        let slots = self.range.size + 1;
        let arguments = Arguments::new().buffer(&self.table).value(slots).buffer(&self.outside);
        fill(context, &self.clear, arguments, slots, 256, 0)?;
        let (mut keys, mut values) = (*keys, *values);
        if let Some(partition) = &self.partition {
            partition.run(context, &keys, &values)?;
            (keys, values) = (partition.keys(), partition.values());
        }
        let arguments = rows(&keys, &values).value(self.range.base).value(self.range.size);
        if let Strategy::Shared { replicas } = self.strategy {
            let arguments = arguments.value(replicas).buffer(&self.table).buffer(&self.outside);
            let shared = slots as u32 * replicas * self.shape.shared_bytes();
            let items = keys.rows.div_ceil(u64::from(TUNING.shared_unroll));
            fill(context, &self.rows, arguments, items, TUNING.shared_threads, shared)?;
        } else {
            let arguments = arguments.buffer(&self.table).buffer(&self.outside);
            fill(context, &self.rows, arguments, keys.rows.div_ceil(u64::from(TUNING.unroll)), TUNING.threads, 0)?;
        }
        self.output.counts.fill(0, &context.stream)?;
        let arguments = Arguments::new()
            .buffer(&self.table)
            .value(slots)
            .value(self.range.base)
            .buffer(&self.output.counts)
            .buffer(&self.output.keys)
            .buffer(&self.output.accumulators)
            .value(self.output.capacity);
        fill(context, &self.write, arguments, slots, 256, 0)
    }

    /// Synchronises. `None` if a key was outside the range.
    pub fn groups(self, context: &Context) -> Result<Option<Groups>> {
        if self.outside.read_one::<u32>(&context.stream)? != 0 {
            return Ok(None);
        }
        Ok(Some(self.output.groups(context, 0)?))
    }
}

/// Groups by keys of a range; `None` if a key was outside it.
pub fn group(
    context: &Context,
    keys: &Column,
    values: &Column,
    want: u32,
    range: Range,
    chosen: Option<Strategy>,
) -> Result<Option<Groups>> {
    let shape = Shape::new(keys, values, want)?;
    let strategy = chosen.unwrap_or_else(|| strategy(context, &shape, range, keys.rows));
    let grouping = DenseGroup::new(context, shape, range, keys.rows, strategy)?;
    grouping.run(context, keys, values)?;
    grouping.groups(context)
}
