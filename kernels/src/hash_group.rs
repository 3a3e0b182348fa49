//! Grouping by a 64-bit key in a hash table: `cuda/hash_group.cuh`. Kernels that are generated from plans use the same tables with
//! expressions for keys and values.

use onrush_device::{Arguments, Buffer, Function};

use crate::accumulate::{Groups, Output, Shape, rows};
use crate::column::Column;
use crate::error::{Error, Result};
use crate::headers;
use crate::launch::fill;
use crate::library::{Context, Program};
use crate::partition::{By, Partition};

#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Threads of a block, and rows of a thread in flight.
    pub threads: u32,
    pub unroll: u32,
    /// The same with a table in shared memory in front of the other one.
    pub front_threads: u32,
    pub front_unroll: u32,
    pub slots_per_group: u64,
    pub smallest_table: u64,
    /// Number of groups above which there are one and a half slots for each.
    pub large: u64,
    /// The growth factor of a table that was too small.
    pub growth: u64,
    /// Shared memory that lets two blocks of 1024 threads be resident on a multiprocessor.
    pub half_shared: u32,
    /// Rows that a block aggregates in shared memory before it merges them, if rows are partitioned.
    pub chunk: u64,
    /// Thresholds of rows and table bytes above which rows are partitioned first.
    pub partition_rows: u64,
    pub partition_bytes: u64,
}

pub const TUNING: Tuning = Tuning {
    threads: 256,
    unroll: 4,
    front_threads: 1024,
    front_unroll: 2,
    slots_per_group: 2,
    smallest_table: 1 << 10,
    large: 1 << 21,
    growth: 8,
    half_shared: 113 << 10,
    chunk: 1 << 17,
    partition_rows: 1 << 22,
    partition_bytes: 100 << 20,
};

/// The strategy by which rows find their groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// A table in shared memory first, `front` slots, replicated so many times.
    Front { front: u32, replicas: u32 },
    /// The same after a partition by hash. Not with nulls.
    PartitionedFront { front: u32 },
    /// The table in device memory only.
    Direct,
    /// The same after a partition by hash. Not with nulls.
    Partitioned,
}

impl Strategy {
    fn is_partitioned(self) -> bool {
        matches!(self, Strategy::PartitionedFront { .. } | Strategy::Partitioned)
    }

    fn front(self) -> Option<(u32, u32)> {
        match self {
            Strategy::Front { front, replicas } => Some((front, replicas)),
            Strategy::PartitionedFront { front } => Some((front, 1)),
            _ => None,
        }
    }
}

/// The fastest strategy for a shape, a number of rows and an estimate of groups.
pub fn strategy(shape: &Shape, rows: u64, groups: u64) -> Strategy {
    let bytes = 8 + shape.shared_bytes();
    // Slots that each of two resident blocks can have.
    let half = TUNING.half_shared / bytes - 2;
    if groups.saturating_mul(2) <= u64::from(half) {
        let front = (groups as u32 * 2).max(16);
        let fits = (TUNING.half_shared / (bytes * (front + 2))).clamp(1, 32);
        return Strategy::Front { front, replicas: 1 << fits.ilog2() };
    }
    let table = slots(rows, groups).saturating_mul(8 * stride(shape));
    if shape.nulls || rows < TUNING.partition_rows {
        return Strategy::Direct;
    }
    // One block for each multiprocessor with a table in shared memory is slower on the H200, also after a partition:
    // see docs/measurements.
    if table > TUNING.partition_bytes { Strategy::Partitioned } else { Strategy::Direct }
}

/// Two slots for each expected group, or one and a half if clearing and reading the table would cost more than probing.
/// There may be more groups than expected, but with 64 times the rows the next table is the last.
fn slots(rows: u64, groups: u64) -> u64 {
    let groups = groups.min(rows.saturating_mul(64));
    let slots =
        if groups >= TUNING.large && rows < 4 * groups { groups + groups / 2 } else { groups * TUNING.slots_per_group };
    slots.max(TUNING.smallest_table)
}

/// 64-bit words of a slot: the key and the accumulators, in whole sectors or fractions of one.
fn stride(shape: &Shape) -> u64 {
    (1 + shape.words()).next_power_of_two()
}

pub fn table_program(shape: &Shape) -> Program {
    let (v, kept, stride, out) = (shape.value.cuda(), shape.kept(), stride(shape), shape.want.count_ones());
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__(256) hash_clear_table(u64* words, u64 slots, u32* overflow) {{\n  \
           if (thread_in_grid() == 0) *overflow = 0;\n  \
           hash_clear<{v}, {kept}, {stride}>(HashTable<{stride}>{{words, slots, overflow}});\n}}\n\
         extern \"C\" __global__ void __launch_bounds__(256) hash_write(const u64* words, u64 slots, u64* groups, u64* keys, \
         u64* accumulators, u64 capacity) {{\n  \
           extract<256, 4>(slots + 2, groups,\n    \
             [&](u64 at) {{ return words[at * {stride}] != EMPTY_KEY; }},\n    \
             [&](u64 group, u64 at) {{\n      \
               if (group >= capacity) return;\n      \
               keys[group] = at == slots ? (u64)EMPTY_KEY : at > slots ? 0 : words[at * {stride}];\n      \
               for (int i = 0; i < {out}; i++) accumulators[i * capacity + group] = words[at * {stride} + 1 + i];\n      \
               if (at > slots) groups[1] = group + 1;\n    }});\n}}\n"
    );
    Program::new(&[&headers::HASH_GROUP], body, ["hash_clear_table", "hash_write"])
}

pub fn rows_program(shape: &Shape, front: bool) -> Program {
    let (k, v, kept, nulls, stride) = (shape.key.cuda(), shape.value.cuda(), shape.kept(), shape.nulls, stride(shape));
    let parameters = shape.row_parameters();
    let columns = "keys, key_validity, key_bit, values, value_validity, value_bit, rows";
    if front {
        let Tuning { front_threads: threads, front_unroll: unroll, .. } = TUNING;
        let body = format!(
            "extern \"C\" __global__ void __launch_bounds__({threads}) hash_front_rows({parameters}, u64* words, u64 slots, u32* overflow, \
             u64 chunk, u32 front, u32 replicas) {{\n  \
             hash_front<{k}, {v}, {kept}, {nulls}, {stride}, {unroll}>(HashTable<{stride}>{{words, slots, overflow}}, {columns}, chunk, \
             front, replicas);\n}}\n"
        );
        return Program::new(&[&headers::HASH_GROUP], body, ["hash_front_rows"]);
    }
    let Tuning { threads, unroll, .. } = TUNING;
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__({threads}) hash_direct_rows({parameters}, u64* words, u64 slots, u32* overflow) {{\n  \
         hash_direct<{k}, {v}, {kept}, {nulls}, {stride}, {unroll}>(HashTable<{stride}>{{words, slots, overflow}}, {columns});\n}}\n"
    );
    Program::new(&[&headers::HASH_GROUP], body, ["hash_direct_rows"])
}

/// A reusable grouping: kernels, table, and memory for the groups.
pub struct HashGroup {
    clear: Function,
    rows: Function,
    write: Function,
    shape: Shape,
    strategy: Strategy,
    table: Buffer,
    slots: u64,
    overflow: Buffer,
    partition: Option<Partition>,
    output: Output,
}

impl HashGroup {
    /// Makes a table for about `groups` keys.
    pub fn new(context: &Context, shape: Shape, rows: u64, groups: u64, strategy: Strategy) -> Result<HashGroup> {
        let table_program = table_program(&shape);
        let front = strategy.front().is_some();
        let entry = if front { "hash_front_rows" } else { "hash_direct_rows" };
        let slots = slots(rows, groups);
        let partition = match strategy.is_partitioned() {
            true => Some(Partition::new(context, shape.key, shape.value, rows, By::Hash)?),
            false => None,
        };
        Ok(HashGroup {
            clear: context.library.function(&table_program, "hash_clear_table")?,
            rows: context.library.function(&rows_program(&shape, front), entry)?,
            write: context.library.function(&table_program, "hash_write")?,
            table: context.allocate((slots + 2) * stride(&shape) * 8)?,
            slots,
            overflow: context.allocate(4)?,
            partition,
            output: Output::new(context, &shape, (slots + 2).min(rows))?,
            shape,
            strategy,
        })
    }

    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// Enqueues all kernels on the stream.
    pub fn run(&self, context: &Context, keys: &Column, values: &Column) -> Result<()> {
        let table = |arguments: Arguments| arguments.buffer(&self.table).value(self.slots);
        fill(context, &self.clear, table(Arguments::new()).buffer(&self.overflow), self.slots + 2, 256, 0)?;
        let (mut keys, mut values) = (*keys, *values);
        if let Some(partition) = &self.partition {
            partition.run(context, &keys, &values)?;
            (keys, values) = (partition.keys(), partition.values());
        }
        let arguments = table(rows(&keys, &values)).buffer(&self.overflow);
        match self.strategy.front() {
            Some((front, replicas)) => self.add_with_front(context, arguments, keys.rows, front, replicas)?,
            None => {
                let items = keys.rows.div_ceil(u64::from(TUNING.unroll));
                fill(context, &self.rows, arguments, items, TUNING.threads, 0)?;
            }
        }
        self.output.counts.fill(0, &context.stream)?;
        let arguments = table(Arguments::new())
            .buffer(&self.output.counts)
            .buffer(&self.output.keys)
            .buffer(&self.output.accumulators)
            .value(self.output.capacity);
        fill(context, &self.write, arguments, self.slots + 2, 256, 0)
    }

    fn add_with_front(
        &self,
        context: &Context,
        arguments: Arguments,
        rows: u64,
        front: u32,
        replicas: u32,
    ) -> Result<()> {
        let shared = (front + 2) * replicas * (8 + self.shape.shared_bytes());
        let threads = u64::from(TUNING.front_threads);
        let chunk = if self.strategy.is_partitioned() {
            TUNING.chunk
        } else {
            // One chunk for each resident block.
            let blocks = u64::from(self.rows.resident_blocks(TUNING.front_threads, shared)?);
            rows.div_ceil(blocks).max(1).next_multiple_of(threads)
        };
        let arguments = arguments.value(chunk).value(front).value(replicas);
        fill(context, &self.rows, arguments, rows.div_ceil(chunk) * threads, TUNING.front_threads, shared)
    }

    /// Synchronises. `None` if the table was too small.
    pub fn groups(self, context: &Context, retries: u32) -> Result<Option<Groups>> {
        if self.overflow.read_one::<u32>(&context.stream)? != 0 {
            return Ok(None);
        }
        Ok(Some(self.output.groups(context, retries)?))
    }
}

/// Groups with a table for `estimate` keys, and with a larger one if that was too small.
pub fn group(
    context: &Context,
    keys: &Column,
    values: &Column,
    want: u32,
    estimate: u64,
    chosen: Option<Strategy>,
) -> Result<Groups> {
    let shape = Shape::new(keys, values, want)?;
    let mut expected = estimate;
    let mut retries = 0;
    loop {
        let strategy = chosen.unwrap_or_else(|| strategy(&shape, keys.rows, expected));
        let table = HashGroup::new(context, shape, keys.rows, expected, strategy)?;
        table.run(context, keys, values)?;
        let slots = table.slots();
        if let Some(groups) = table.groups(context, retries)? {
            return Ok(groups);
        }
        // A table with twice as many slots as rows overflows only with a bad hash.
        if slots > 64 * keys.rows.max(1) {
            return Err(Error::TooManyGroups { slots });
        }
        retries += 1;
        expected = slots.saturating_mul(TUNING.growth / TUNING.slots_per_group);
    }
}
