//! Grouping by a 64-bit key in a hash table: `cuda/hash_group.cuh`. Sum, count, minimum and maximum of one column of values; kernels
//! generated from plans use the same table with other accumulators.

use onrush_device::{Arguments, Buffer, Function, Grid};

use crate::column::Column;
use crate::error::{Error, Result};
use crate::headers;
use crate::library::{Context, Program};
use crate::scalar::Scalar;

/// Accumulators beside the key, in this order.
pub const SUM: u32 = 1;
pub const COUNT: u32 = 2;
pub const LOW: u32 = 4;
pub const HIGH: u32 = 8;

/// Threads of a block, rows that a thread has under way, and slots for each group that is expected.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    pub threads: u32,
    pub unroll: u32,
    pub slots_per_group: u64,
    pub smallest_table: u64,
    /// How much larger the next table is when one was too small.
    pub growth: u64,
}

pub const TUNING: Tuning = Tuning { threads: 256, unroll: 4, slots_per_group: 2, smallest_table: 1 << 10, growth: 8 };

/// 64-bit words of a slot: the key and the accumulators, in whole sectors or parts of one.
fn words(want: u32) -> u64 {
    u64::from(1 + want.count_ones()).next_power_of_two()
}

pub fn program(key: Scalar, value: Scalar, want: u32) -> Program {
    let (k, v, s) = (key.cuda(), value.cuda(), value.sum().cuda());
    let (words, Tuning { threads, unroll, .. }) = (words(want), TUNING);
    // 64-bit atomics on two's complement are the same for both signs.
    let add_type = if s == "f64" { "f64" } else { "u64" };
    let mut initial = String::from("EMPTY_KEY");
    let mut update = String::new();
    let mut at = 1;
    let order = format!("(i64)Order<{v}>::of(x)");
    let mut place = |bit: u32, start: String, code: String| {
        if want & bit != 0 {
            initial.push_str(&format!(", {start}"));
            update.push_str(&code.replace("SLOT", &format!("slot[{at}]")));
            at += 1;
        }
    };
    place(SUM, "0".into(), format!("atomicAdd(({add_type}*)&SLOT, ({add_type})x); "));
    place(COUNT, "0".into(), "atomicAdd(&SLOT, 1ull); ".into());
    place(LOW, "(u64)Limits<i64>::high()".into(), format!("atomicMin((i64*)&SLOT, {order}); "));
    place(HIGH, "(u64)Limits<i64>::low()".into(), format!("atomicMax((i64*)&SLOT, {order}); "));
    let body = format!(
        "extern \"C\" __global__ void hash_clear_table(Slot<{words}>* slots, u64 mask, u32* overflow) {{\n  \
           hash_clear(HashTable<{words}>{{slots, mask, overflow}}, Slot<{words}>{{{{{initial}}}}});\n}}\n\
         extern \"C\" __global__ void __launch_bounds__({threads}) hash_add(const {k}* keys, const u32* key_validity, u64 key_bit, \
         const {v}* values, const u32* value_validity, u64 value_bit, u64 rows, Slot<{words}>* slots, u64 mask, u32* overflow) {{\n  \
           HashTable<{words}> table{{slots, mask, overflow}};\n  \
           hash_rows<{words}, {k}, {v}, {unroll}>(table, keys, key_validity, key_bit, values, value_validity, value_bit, rows,\n    \
             [](u64* slot, {v} x) {{ {update}}});\n}}\n\
         extern \"C\" __global__ void hash_write(Slot<{words}>* slots, u64 mask, u32* overflow, u64* groups, u64* keys, u64* accumulators, \
         u64 capacity) {{\n  \
           hash_extract(HashTable<{words}>{{slots, mask, overflow}}, groups,\n    \
             [&](u64 group, u64 key, bool is_null, const Slot<{words}>& slot) {{\n      \
               keys[group] = key;\n      \
               for (int i = 1; i < {at}; i++) accumulators[(i - 1) * capacity + group] = slot.word[i];\n      \
               if (is_null) groups[1] = group + 1;\n    }});\n}}\n"
    );
    Program::new(&[&headers::HASH_GROUP], body, ["hash_clear_table", "hash_add", "hash_write"])
}

/// Groups, in no order. Accumulators are 64-bit words as they were asked for, one column after the other.
pub struct Groups {
    pub count: u64,
    /// Keys, sign-extended or zero-extended to 64 bits as their type is.
    pub keys: Buffer,
    pub accumulators: Buffer,
    /// Entries of a column of `accumulators`.
    pub capacity: u64,
    /// Which of the groups has the null key.
    pub null_group: Option<u64>,
    /// How often the table was too small.
    pub retries: u32,
}

/// A table and its kernels.
pub struct HashGroup {
    clear: Function,
    add: Function,
    write: Function,
    slots: Buffer,
    mask: u64,
    overflow: Buffer,
}

impl HashGroup {
    /// A table for about `groups` keys.
    pub fn new(context: &Context, key: Scalar, value: Scalar, want: u32, groups: u64) -> Result<HashGroup> {
        if key.is_float() || key.bytes() > 8 {
            return Err(Error::Unsupported { algorithm: "grouping", scalar: key.cuda() });
        }
        if value.bytes() > 8 || value == Scalar::U64 && want & (LOW | HIGH) != 0 {
            return Err(Error::Unsupported { algorithm: "grouping of values", scalar: value.cuda() });
        }
        let program = program(key, value, want);
        let wanted = (groups.saturating_mul(TUNING.slots_per_group)).max(TUNING.smallest_table).next_power_of_two();
        Ok(HashGroup {
            clear: context.library.function(&program, "hash_clear_table")?,
            add: context.library.function(&program, "hash_add")?,
            write: context.library.function(&program, "hash_write")?,
            slots: context.allocate((wanted + 2) * words(want) * 8)?,
            mask: wanted - 1,
            overflow: context.allocate(4)?,
        })
    }

    pub fn slots(&self) -> u64 {
        self.mask + 1
    }

    pub fn clear(&self, context: &Context) -> Result<()> {
        self.overflow.fill(0, &context.stream)?;
        let arguments = Arguments::new().buffer(&self.slots).value(self.mask).buffer(&self.overflow);
        self.run(context, &self.clear, arguments, self.mask + 3)
    }

    pub fn add(&self, context: &Context, keys: &Column, values: &Column) -> Result<()> {
        assert_eq!(keys.rows, values.rows, "keys and values have different numbers of rows");
        let arguments = Arguments::new()
            .value(keys.address())
            .value(keys.validity_address())
            .value(keys.first)
            .value(values.address())
            .value(values.validity_address())
            .value(values.first)
            .value(keys.rows)
            .buffer(&self.slots)
            .value(self.mask)
            .buffer(&self.overflow);
        self.run(context, &self.add, arguments, keys.rows.div_ceil(u64::from(TUNING.unroll)))
    }

    /// Waits: whether the table was too small. Then its contents are worth nothing.
    pub fn has_overflowed(&self, context: &Context) -> Result<bool> {
        Ok(self.overflow.read_one::<u32>(&context.stream)? != 0)
    }

    /// Writes the groups out, at most `capacity` of them, which is the caller's promise.
    pub fn write(
        &self,
        context: &Context,
        groups: &Buffer,
        keys: &Buffer,
        accumulators: &Buffer,
        capacity: u64,
    ) -> Result<()> {
        groups.fill(0, &context.stream)?;
        let arguments = Arguments::new()
            .buffer(&self.slots)
            .value(self.mask)
            .buffer(&self.overflow)
            .buffer(groups)
            .buffer(keys)
            .buffer(accumulators)
            .value(capacity);
        self.run(context, &self.write, arguments, self.mask + 3)
    }

    fn run(&self, context: &Context, function: &Function, arguments: Arguments, items: u64) -> Result<()> {
        let most = function.resident_blocks(TUNING.threads, 0)?;
        let blocks = items.div_ceil(u64::from(TUNING.threads)).min(u64::from(most)) as u32;
        // SAFETY: the parameters are those of `program`; the table has `mask + 3` slots, and columns are views inside of their buffers.
        unsafe { function.launch(&Grid::new(blocks, TUNING.threads), arguments, &context.stream)? };
        Ok(())
    }
}

/// Groups with a table for `estimate` keys, and a larger one when that was too low.
pub fn group(context: &Context, keys: &Column, values: &Column, want: u32, estimate: u64) -> Result<Groups> {
    let mut expected = estimate;
    let mut retries = 0;
    loop {
        let table = HashGroup::new(context, keys.scalar, values.scalar, want, expected)?;
        table.clear(context)?;
        table.add(context, keys, values)?;
        if table.has_overflowed(context)? {
            // A table of twice as many slots as rows never overflows but by a bad hash.
            if table.slots() > 64 * keys.rows.max(1) {
                return Err(Error::TooManyGroups { slots: table.slots() });
            }
            retries += 1;
            expected = table.slots().saturating_mul(TUNING.growth / TUNING.slots_per_group);
            continue;
        }
        let capacity = (table.slots() + 2).min(keys.rows);
        let counts = context.allocate(16)?;
        let out_keys = context.allocate(capacity * 8)?;
        let accumulators = context.allocate(capacity * 8 * u64::from(want.count_ones()))?;
        table.write(context, &counts, &out_keys, &accumulators, capacity)?;
        let found = counts.read::<u64>(0..2, &context.stream)?;
        let null_group = found[1].checked_sub(1);
        return Ok(Groups { count: found[0], keys: out_keys, accumulators, capacity, null_group, retries });
    }
}
