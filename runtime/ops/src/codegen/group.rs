//! Group-by kernels: each row looks up the slot of its keys and updates the accumulators there. The table of slots is
//! the row source of the next pipeline.

use std::fmt::Write;

use onrush_device::Buffer;
use onrush_kernels::headers;
use onrush_kernels::headers::Header;
use onrush_kernels::{Program, Scalar};

use super::{ColumnRef, Inputs, KernelBody, Parameters, RowSource, ValueExpr, Writer, both};
use crate::ir::aggregate::{Accumulator, AggregateOp, Pass, SlotLayout, UpdateOp};
use crate::ir::expr::{DeviceType, NodeId};
use crate::ir::packed_key::PackedKeyPart;
use crate::launch::stream_context::StatusBlock;

/// How rows find their slot.
#[derive(Clone, Debug)]
pub enum KeyLookup {
    /// Keys as one number, which is the slot.
    Direct { digits: Vec<PackedKeyPart>, size: u64 },
    /// Keys as one number, which is hashed.
    HashPacked { digits: Vec<PackedKeyPart> },
    /// The bits of the only key.
    HashSingle { key: NodeId, kind: DeviceType, nullable: bool },
    /// Keys of several words, the first of them bits for nulls.
    HashMultiWord { keys: Vec<(NodeId, DeviceType, bool)> },
}

impl KeyLookup {
    /// All that a kernel's text depends on.
    pub fn codegen_key(&self) -> (u8, Vec<(NodeId, DeviceType, bool)>) {
        let digits = |digits: &[PackedKeyPart]| digits.iter().map(PackedKeyPart::codegen_key).collect();
        match self {
            KeyLookup::Direct { digits: all, .. } => (0, digits(all)),
            KeyLookup::HashPacked { digits: all } => (1, digits(all)),
            KeyLookup::HashSingle { key, kind, nullable } => (2, vec![(*key, *kind, *nullable)]),
            KeyLookup::HashMultiWord { keys } => (3, keys.clone()),
        }
    }

    /// The same over other rows, where the keys are other nodes.
    #[must_use]
    pub fn over(&self, keys: &[NodeId]) -> KeyLookup {
        let digits = |digits: &[PackedKeyPart]| {
            digits.iter().zip(keys).map(|(d, key)| PackedKeyPart { key: *key, ..*d }).collect()
        };
        match self {
            KeyLookup::Direct { digits: all, size } => KeyLookup::Direct { digits: digits(all), size: *size },
            KeyLookup::HashPacked { digits: all } => KeyLookup::HashPacked { digits: digits(all) },
            KeyLookup::HashSingle { kind, nullable, .. } => {
                KeyLookup::HashSingle { key: keys[0], kind: *kind, nullable: *nullable }
            }
            KeyLookup::HashMultiWord { keys: all } => KeyLookup::HashMultiWord {
                keys: all.iter().zip(keys).map(|((_, kind, null), key)| (*key, *kind, *null)).collect(),
            },
        }
    }

    pub fn keys(&self) -> Vec<NodeId> {
        match self {
            KeyLookup::Direct { digits, .. } | KeyLookup::HashPacked { digits } => {
                digits.iter().map(|d| d.key).collect()
            }
            KeyLookup::HashSingle { key, .. } => vec![*key],
            KeyLookup::HashMultiWord { keys } => keys.iter().map(|(key, ..)| *key).collect(),
        }
    }

    /// Words of a slot before its accumulators.
    pub fn head(&self) -> u32 {
        match self {
            KeyLookup::Direct { .. } => 0,
            KeyLookup::HashPacked { .. } | KeyLookup::HashSingle { .. } => 1,
            KeyLookup::HashMultiWord { keys } => 1 + key_words(keys),
        }
    }

    /// 64-bit words of a slot: whole sectors, or parts of one.
    pub fn stride(&self, layout: &SlotLayout) -> u32 {
        match (self.head() + layout.words).max(1) {
            words @ 0..=4 => words.next_power_of_two(),
            words => words.next_multiple_of(4),
        }
    }

    /// Slots behind the table: for the key that marks an empty slot, and for null.
    pub fn special(&self) -> u64 {
        if matches!(self, KeyLookup::HashSingle { .. }) { 2 } else { 0 }
    }

    /// The words of an empty slot.
    pub fn init_words(&self, layout: &SlotLayout) -> Vec<u64> {
        let mut words = match self {
            KeyLookup::Direct { .. } => Vec::new(),
            KeyLookup::HashPacked { .. } | KeyLookup::HashSingle { .. } => vec![u64::MAX],
            KeyLookup::HashMultiWord { keys } => vec![0; 1 + key_words(keys) as usize],
        };
        words.extend(layout.init_words());
        words.resize(self.stride(layout) as usize, 0);
        words
    }
}

pub(super) fn wide(kind: DeviceType) -> bool {
    kind == DeviceType::Number(Scalar::I128)
}

/// The word of nulls, and those of the keys.
pub(super) fn key_words(keys: &[(NodeId, DeviceType, bool)]) -> u32 {
    1 + keys.iter().map(|(_, kind, _)| if wide(*kind) { 2 } else { 1 }).sum::<u32>()
}

/// A key's bits as a word, the same for equal keys.
pub(super) fn bits(kind: DeviceType, value: &str) -> String {
    if kind.is_float() { format!("key_bits({value})") } else { format!("(u64){value}") }
}

fn from_bits(kind: DeviceType, word: &str) -> String {
    match kind {
        DeviceType::Bool => format!("({word} != 0)"),
        DeviceType::Number(Scalar::F64) => format!("__longlong_as_double((i64){word})"),
        DeviceType::Number(Scalar::F32) => format!("__int_as_float((i32){word})"),
        kind => format!("({}){word}", kind.cuda()),
    }
}

/// The keys that are in one number; their parameters begin with `of`.
pub fn keys_of(digits: &[PackedKeyPart], of: &str, number: &str) -> Vec<ColumnRef> {
    let key = |(index, digit): (usize, &PackedKeyPart)| {
        let number = match digits.len() {
            1 => number.to_string(),
            _ => format!("({number} / {of}s{index} % {of}n{index})"),
        };
        let base = i128::from(digit.base);
        ColumnRef {
            kind: digit.kind,
            value: match wide(digit.kind) {
                true => format!("(i128)(i64)({number} + {of}b{index})"),
                false => from_bits(digit.kind, &format!("({number} + {of}b{index})")),
            },
            valid: digit.nullable.then(|| format!("({number} != {of}n{index} - 1)")),
            range: Some((base, base + i128::from(digit.count) - 1 - i128::from(digit.nullable))),
            elements: Vec::new(),
        }
    };
    digits.iter().enumerate().map(key).collect()
}

/// `of` begins their names: groups can be grouped again, and a kernel then has the digits of both.
pub fn digit_parameters(digits: &[PackedKeyPart], of: &str, parameters: &mut Parameters) {
    for (index, digit) in digits.iter().enumerate() {
        parameters.u64(&format!("{of}b{index}"), digit.base as u64);
        parameters.u64(&format!("{of}n{index}"), digit.count);
        parameters.u64(&format!("{of}s{index}"), digit.stride);
    }
}

/// Writes statements that put the row's keys into `u64 key` (one word) or `u64 key[]` (several), and whether it is null
/// into `nokey`.
pub(super) fn write_key(writer: &mut Writer, key_lookup: &KeyLookup) {
    match key_lookup {
        KeyLookup::Direct { digits, .. } | KeyLookup::HashPacked { digits } => {
            let mut terms = Vec::new();
            for (index, digit) in digits.iter().enumerate() {
                let names = writer.value(digit.key);
                writer.note(&names);
                let distance = format!("(u64)(i64){} - kb{index}", names.value);
                let number = match (&names.valid, digit.nullable) {
                    (Some(valid), true) => format!("({valid} ? {distance} : kn{index} - 1)"),
                    _ => format!("({distance})"),
                };
                terms.push(if index == 0 { number } else { format!("{number} * ks{index}") });
            }
            let sum = if terms.is_empty() { "0".to_string() } else { terms.join(" + ") };
            writer.line(&format!("const u64 key = {sum};"));
        }
        KeyLookup::HashSingle { key, kind, .. } => {
            let names = writer.value(*key);
            writer.note(&names);
            writer.line(&format!("const u64 key = {};", bits(*kind, &names.value)));
            writer.line(&format!("const bool nokey = !({});", names.ok()));
        }
        KeyLookup::HashMultiWord { keys } => {
            let mut nulls = vec!["0ull".to_string()];
            let mut words = Vec::new();
            for (index, (key, kind, _)) in keys.iter().enumerate() {
                let names = writer.value(*key);
                writer.note(&names);
                if let Some(valid) = &names.valid {
                    nulls.push(format!("({valid} ? 0ull : {}ull)", 1u64 << index));
                }
                let there = |word: String| match &names.valid {
                    Some(valid) => format!("({valid} ? {word} : 0ull)"),
                    None => word,
                };
                if wide(*kind) {
                    words.push(there(format!("(u64){}", names.value)));
                    words.push(there(format!("(u64)({} >> 64)", names.value)));
                } else {
                    words.push(there(bits(*kind, &names.value)));
                }
            }
            words.insert(0, nulls.join(" | "));
            writer.line(&format!("const u64 key[{}] = {{{}}};", words.len(), words.join(", ")));
        }
    }
}

/// The values of a round's accumulators, computed before the slot is known.
pub(super) fn values(writer: &mut Writer, layout: &SlotLayout, round: Pass) -> Vec<Option<ValueExpr>> {
    let mut all = Vec::new();
    for (_, accumulator) in layout.in_pass(round) {
        if let Some(with) = accumulator.with {
            let names = writer.value(with);
            writer.note(&names);
        }
        all.push(accumulator.value(round).map(|of| {
            let names = writer.value(of);
            writer.note(&names);
            names
        }));
    }
    all
}

/// The value that is added up of a row, and the condition for it. In the second round `slot` is what the first one
/// found of the row's group.
pub fn taken(
    layout: &SlotLayout,
    accumulator: &Accumulator,
    names: &ValueExpr,
    with: Option<&ValueExpr>,
) -> (String, Option<String>) {
    let value = &names.value;
    let word_of = |what, of| format!("slot[{}]", layout.word_of(what, of).unwrap_or_default());
    let word = |what| word_of(what, accumulator.of);
    let mean_of = |of| {
        let (sum, count) = (word_of(AggregateOp::SumFloat, of), word_of(AggregateOp::Count, of));
        format!("__longlong_as_double((i64){sum}) / (f64)(i64){count}")
    };
    let upper = |what| both(&names.valid, &Some(format!("(i64)({value} >> 64) == (i64){}", word(what))), "&&");
    match accumulator.op {
        AggregateOp::DeviationSum | AggregateOp::M2 => {
            let mean = mean_of(accumulator.of);
            let name = if accumulator.op == AggregateOp::DeviationSum { "distance" } else { "squared_distance" };
            (format!("{name}({value}, {mean})"), names.valid.clone())
        }
        AggregateOp::CoMoment => {
            let other = with.map_or("0.0", |names| &names.value);
            let (mean, its_mean) = (mean_of(accumulator.of), mean_of(accumulator.with));
            let valid = both(&names.valid, &with.and_then(|names| names.valid.clone()), "&&");
            (format!("distance({value}, {mean}) * distance({other}, {its_mean})"), valid)
        }
        AggregateOp::MinHigh | AggregateOp::MaxHigh => (format!("(i64)({value} >> 64)"), names.valid.clone()),
        AggregateOp::MinLow => (format!("(u64){value}"), upper(AggregateOp::MinHigh)),
        AggregateOp::MaxLow => (format!("(u64){value}"), upper(AggregateOp::MaxHigh)),
        _ => (value.clone(), names.valid.clone()),
    }
}

/// One accumulator's update; `place` names word `w` of it.
fn update(way: UpdateOp, value: &str, place: &dyn Fn(u32) -> String, shared: bool) -> String {
    let at = place(0);
    match way {
        UpdateOp::Float => format!("acc_add_f({at}, {value});"),
        UpdateOp::Product => format!("acc_multiply_f({at}, (f64){value});"),
        UpdateOp::ProductInteger => format!("acc_multiply_i({at}, (u64){value});"),
        UpdateOp::Integer => format!("acc_add_i({at}, (u64){value});"),
        UpdateOp::I128 => format!("acc_add_w({at}, {}, {value});", place(1)),
        UpdateOp::Count if shared => format!("acc_add_n({at}, 1u);"),
        UpdateOp::Count => format!("acc_add_i({at}, 1ull);"),
        UpdateOp::Min => format!("acc_min_i({at}, {value});"),
        UpdateOp::Max => format!("acc_max_i({at}, {value});"),
        UpdateOp::MinUnsigned => format!("acc_min_u({at}, {value});"),
        UpdateOp::MaxUnsigned => format!("acc_max_u({at}, {value});"),
        // Along windows alone.
        UpdateOp::Welford => String::new(),
    }
}

pub(super) fn updates(
    writer: &mut Writer,
    layout: &SlotLayout,
    round: Pass,
    values: &[Option<ValueExpr>],
    shared: bool,
) {
    for ((index, accumulator), names) in layout.in_pass(round).zip(values) {
        let place = |word: u32| match shared {
            true if word == 1 => format!("&tables.s{index}h[at]"),
            true => format!("&tables.s{index}[at]"),
            false => format!("slot + {}", layout.at[index] + word),
        };
        let with = accumulator.with.map(|with| writer.value(with));
        let taken = names.as_ref().map(|names| taken(layout, accumulator, names, with.as_ref()));
        let (value, condition) = taken.unwrap_or_default();
        let text = update(accumulator.op.update_op(), &value, &place, shared);
        match condition {
            Some(condition) => writer.line(&format!("if ({condition}) {text}")),
            None => writer.line(&text),
        }
    }
}

fn roots(body: &KernelBody, layout: &SlotLayout, round: Pass, key_lookup: &KeyLookup) -> Vec<NodeId> {
    let values = layout.in_pass(round).flat_map(|(_, a)| a.values(round));
    values.chain(key_lookup.keys()).chain(body.filter).collect()
}

/// Threads of a block that has a separate table: fewer if a row needs many registers.
pub fn shared_threads(layout: &SlotLayout) -> u32 {
    if layout.accumulators.len() > 6 { 512 } else { 1024 }
}

pub fn shared_parameters(
    body: &KernelBody,
    key_lookup: &KeyLookup,
    fault: u64,
    table: &Buffer,
    replicas: u32,
) -> Parameters {
    let mut parameters = body.parameters(fault);
    if let KeyLookup::Direct { digits, size } = key_lookup {
        digit_parameters(digits, "k", &mut parameters);
        parameters.u64("size", *size);
    }
    parameters.u32("replicas", replicas);
    parameters.buffer("u64*", "table", table);
    parameters
}

/// Groups in tables in shared memory, one for each block. A table has several slots for a key, so that lanes with the
/// same key do not collide. Tables are merged at the end. A key outside of the range that was computed for it is a row
/// error.
pub fn shared(
    body: &KernelBody,
    layout: &SlotLayout,
    round: Pass,
    key_lookup: &KeyLookup,
    parameters: &Parameters,
) -> Program {
    let (roots, threads) = (roots(body, layout, round, key_lookup), shared_threads(layout));
    let unroll = body.unroll(&roots).min(4);
    let mut writer = Writer::new(body, Inputs::Loaded, "        ");
    let pass = body.passing(&mut writer);
    writer.line(&format!("if ({pass}) {{"));
    write_key(&mut writer, key_lookup);
    let found = values(&mut writer, layout, round);
    writer.line("faults |= key >= size;");
    writer.line("const u32 at = (u32)(key < size ? key : 0) * replicas + mine;");
    if round == Pass::Second {
        let stride = key_lookup.stride(layout);
        writer.line(&format!("const u64* slot = table + (key < size ? key : 0) * {stride};"));
    }
    updates(&mut writer, layout, round, &found, true);
    writer.line("}");

    let loads = body.loads(&roots);
    let text = format!(
        "{}{}extern \"C\" __global__ void __launch_bounds__({threads}) group_shared({}) {{\n  u32 faults = 0;\n  \
         group_in_shared<Tables, {}>(size, replicas, table, [&](const Tables& tables, u32 mine) ROW_CODE {{\n{}  }});\n}}\n",
        loads.columns,
        shared_tables(layout, round),
        parameters.text(),
        key_lookup.stride(layout),
        body.rows_loop(&loads, unroll, &writer.text),
    );
    body.program(&[&headers::GROUP_SHARED], text, "group_shared")
}

/// The class of a block's tables in shared memory, with an array for each accumulator, as `group_shared.cuh` expects
/// it.
pub(super) fn shared_tables(layout: &SlotLayout, round: Pass) -> String {
    let text = String::new;
    let (mut fields, mut places, mut clear) = (text(), text(), text());
    let (mut declare, mut step, mut merge) = (text(), text(), text());
    let mut presence = "true".to_string();
    let (short, long): (Vec<_>, Vec<_>) = layout.in_pass(round).partition(|(_, a)| a.op.update_op() == UpdateOp::Count);
    let mut offset = String::new();
    for (index, accumulator) in long.into_iter().chain(short) {
        let what = accumulator.op;
        let (s, m, slot) = (format!("s{index}"), format!("m{index}"), format!("slot + {}", layout.at[index]));
        let (c_type, bytes) = if what.update_op() == UpdateOp::Count { ("u32", 4) } else { ("u64", 8) };
        let second = (what.update_op() == UpdateOp::I128).then(|| format!("{s}h"));
        for array in std::iter::once(s.clone()).chain(second) {
            let _ = write!(fields, " {c_type}* {array};");
            let _ = write!(places, " {array} = ({c_type}*)(memory{offset});");
            let _ = write!(offset, " + (u64)slots * {bytes}");
            let _ = write!(clear, " {array}[i] = ({c_type}){}ull;", what.init_words());
        }
        let (start, add, store) = match what.update_op() {
            UpdateOp::Float => ("f64 M = 0;", "M += ((f64*)S)[i];", "acc_add_f(SLOT, M);"),
            UpdateOp::Product => ("f64 M = 1;", "M *= ((f64*)S)[i];", "acc_multiply_f(SLOT, M);"),
            UpdateOp::ProductInteger => ("u64 M = 1;", "M *= S[i];", "acc_multiply_i(SLOT, M);"),
            UpdateOp::Integer | UpdateOp::Count => ("u64 M = 0;", "M += S[i];", "if (M != 0) acc_add_i(SLOT, M);"),
            UpdateOp::I128 => ("i128 M = 0;", "M += wide_of(S[i], Sh[i]);", "acc_add_w(SLOT, SLOT + 1, M);"),
            UpdateOp::Min => ("i64 M = Limits<i64>::high();", "M = smaller(M, (i64)S[i]);", "acc_min_i(SLOT, M);"),
            UpdateOp::Max => ("i64 M = Limits<i64>::low();", "M = larger(M, (i64)S[i]);", "acc_max_i(SLOT, M);"),
            UpdateOp::MinUnsigned => ("u64 M = Limits<u64>::high();", "M = smaller(M, S[i]);", "acc_min_u(SLOT, M);"),
            UpdateOp::MaxUnsigned => ("u64 M = 0;", "M = larger(M, S[i]);", "acc_max_u(SLOT, M);"),
            UpdateOp::Welford => ("", "", ""),
        };
        let named = |text: &str, s: &str| text.replace("SLOT", &slot).replace('M', &m).replace('S', s);
        let _ = write!(declare, " {}", named(start, ""));
        let _ = write!(step, " {}", named(add, &format!("tables.{s}")));
        let _ = write!(merge, " {}", named(store, ""));
        if layout.rows() == Some(index) {
            presence = format!("{m} != 0");
        }
    }
    format!(
        "struct Tables {{\n {fields}\n  \
         __device__ __forceinline__ Tables(unsigned char* memory, u32 slots) {{{places} }}\n  \
         __device__ __forceinline__ void clear(u32 i) const {{{clear} }}\n  \
         struct GroupTotals {{\n   {declare}\n    \
         __device__ __forceinline__ void add(const Tables& tables, u32 i) {{{step} }}\n    \
         __device__ __forceinline__ bool is_present() const {{ return {presence}; }}\n    \
         __device__ __forceinline__ void store(u64* slot) const {{{merge} }}\n  }};\n}};\n"
    )
}

pub const DIRECT_THREADS: u32 = 256;

pub fn direct_parameters(
    body: &KernelBody,
    key_lookup: &KeyLookup,
    status: &StatusBlock,
    table: &Buffer,
    slots: u64,
) -> Parameters {
    let mut parameters = body.parameters(status.fault());
    if let KeyLookup::Direct { digits, .. } | KeyLookup::HashPacked { digits } = key_lookup {
        digit_parameters(digits, "k", &mut parameters);
    }
    parameters.u64("slots", slots);
    parameters.buffer("u64*", "table", table);
    parameters.address("u32*", "overflow", status.overflow());
    parameters
}

/// Atomic operations on the table in device memory. A dense key outside of the range that was computed for it is a row
/// error.
pub fn direct(
    body: &KernelBody,
    layout: &SlotLayout,
    round: Pass,
    key_lookup: &KeyLookup,
    parameters: &Parameters,
) -> Program {
    let (roots, head, stride) = (roots(body, layout, round, key_lookup), key_lookup.head(), key_lookup.stride(layout));
    let unroll = body.unroll(&roots).min(4);
    let mut writer = Writer::new(body, Inputs::Loaded, "        ");
    let pass = body.passing(&mut writer);
    writer.line(&format!("if ({pass}) {{"));
    write_key(&mut writer, key_lookup);
    let found = values(&mut writer, layout, round);
    let (declare, header): (String, &[&'static Header]) = match key_lookup {
        KeyLookup::Direct { .. } => {
            writer.line("faults |= key >= slots;");
            writer.line(&format!("u64* slot = table + (key < slots ? key : 0) * {stride};"));
            (String::new(), &[])
        }
        KeyLookup::HashPacked { .. } => {
            writer.line("u64* slot = groups.find_from(key);");
            (format!("  HashTable<{stride}> groups{{table, slots, overflow}};\n"), &[&headers::HASH_GROUP])
        }
        KeyLookup::HashSingle { .. } => {
            writer.line("u64* slot = groups.find_any(key, nokey);");
            (format!("  HashTable<{stride}> groups{{table, slots, overflow}};\n"), &[&headers::HASH_GROUP])
        }
        KeyLookup::HashMultiWord { keys } => {
            writer.line("u64* slot = groups.find(key);");
            (format!("  WideTable<{}, {stride}> groups{{table, slots, overflow}};\n", key_words(keys)), &[])
        }
    };
    let mut goes_on = None;
    if !matches!(key_lookup, KeyLookup::Direct { .. }) {
        goes_on = Some("load_relaxed(overflow) == 0");
        // The caller starts again with a larger table.
        writer.line("if (slot == nullptr) return false;");
        writer.line(&format!("slot += {head};"));
    }
    updates(&mut writer, layout, round, &found, false);
    writer.line("}");
    let loads = body.loads(&roots);
    let text = format!(
        "{}extern \"C\" __global__ void __launch_bounds__({DIRECT_THREADS}) group_direct({}) {{\n  u32 faults = 0;\n{declare}{}}}\n",
        loads.columns,
        parameters.text(),
        body.ending_loop(&loads, unroll, &writer.text, goes_on, ""),
    );
    body.program(header, text, "group_direct")
}

pub fn number_parameters(body: &KernelBody, digits: &[PackedKeyPart], fault: u64, numbers: &Buffer) -> Parameters {
    let mut parameters = body.parameters(fault);
    digit_parameters(digits, "k", &mut parameters);
    parameters.buffer("u64*", "numbers", numbers);
    parameters
}

/// Writes the keys of all rows as one number each.
pub fn numbers(body: &KernelBody, key_lookup: &KeyLookup, parameters: &Parameters) -> Program {
    let roots = key_lookup.keys();
    let unroll = body.unroll(&roots).min(4);
    let mut writer = Writer::new(body, Inputs::Loaded, "        ");
    write_key(&mut writer, key_lookup);
    writer.line("numbers[row] = key;");
    let loads = body.loads(&roots);
    let text = format!(
        "{}extern \"C\" __global__ void __launch_bounds__({DIRECT_THREADS}) group_numbers({}) {{\n  u32 faults = 0;\n{}}}\n",
        loads.columns,
        parameters.text(),
        body.rows_loop(&loads, unroll, &writer.text),
    );
    body.program(&[], text, "group_numbers")
}

/// Fills a table of so many words with empty slots: a word a thread, so that those of a warp lie side by side.
pub fn clear(key_lookup: &KeyLookup, layout: &SlotLayout) -> Program {
    let words = key_lookup.init_words(layout);
    let stride = words.len();
    let others: String = words
        .iter()
        .enumerate()
        .filter(|(_, word)| **word != 0)
        .map(|(at, word)| format!("    if (i % {stride} == {at}) word = {word}ull;\n"))
        .collect();
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__(256) group_clear(u64* table, u64 words) {{\n  \
         for (u64 i = thread_in_grid(); i < words; i += threads_in_grid()) {{\n    u64 word = 0;\n{others}    \
         table[i] = word;\n  }}\n}}\n"
    );
    Program::new(&[&headers::PRELUDE], body, ["group_clear"])
}

/// The groups as rows: keys, then accumulators. Without `key_lookup`, the only group of a reduction.
pub fn source(
    key_lookup: Option<&KeyLookup>,
    layout: &SlotLayout,
    of: &[DeviceType],
    table: u64,
    slots: u64,
) -> RowSource {
    let mut parameters = Parameters::new();
    parameters.address("const u64*", "made", table);
    let mut inputs = Vec::new();
    let (head, stride) = match key_lookup {
        Some(key_lookup) => (key_lookup.head(), key_lookup.stride(layout)),
        None => (0, layout.words),
    };
    let word = |at: u32| format!("made[row * {stride} + {at}]");
    let mut present = None;
    match key_lookup {
        None => {}
        Some(KeyLookup::Direct { digits, .. } | KeyLookup::HashPacked { digits }) => {
            let dense = matches!(key_lookup, Some(KeyLookup::Direct { .. }));
            let key = if dense { "row".to_string() } else { word(0) };
            digit_parameters(digits, "m", &mut parameters);
            inputs.extend(keys_of(digits, "m", &key));
            present = match (dense, layout.rows()) {
                (true, Some(rows)) => Some(format!("{} != 0", word(layout.at[rows]))),
                (true, None) => None,
                (false, _) => Some(format!("{} != ~0ull", word(0))),
            };
        }
        Some(KeyLookup::HashSingle { kind, nullable, .. }) => {
            parameters.u64("made_slots", slots);
            let key = format!("(row == made_slots ? ~0ull : {})", word(0));
            inputs.push(ColumnRef {
                kind: *kind,
                value: from_bits(*kind, &key),
                valid: nullable.then(|| "(row != made_slots + 1)".to_string()),
                range: None,
                elements: Vec::new(),
            });
            present = Some(format!("{} != ~0ull", word(0)));
        }
        Some(KeyLookup::HashMultiWord { keys }) => {
            let mut at = 2;
            for (index, (_, kind, nullable)) in keys.iter().enumerate() {
                let value = match wide(*kind) {
                    true => format!("wide_of({}, {})", word(at), word(at + 1)),
                    false => from_bits(*kind, &word(at)),
                };
                at += if wide(*kind) { 2 } else { 1 };
                let valid = nullable.then(|| format!("(({} >> {index} & 1) == 0)", word(1)));
                inputs.push(ColumnRef { kind: *kind, value, valid, range: None, elements: Vec::new() });
            }
            present = Some(format!("{} != 0", word(0)));
        }
    }
    for (kind, index) in of.iter().zip(&layout.asked) {
        let at = head + layout.at[*index];
        let value = match layout.accumulators[*index].op {
            AggregateOp::SumI128 | AggregateOp::DistinctI128 => format!("wide_of({}, {})", word(at), word(at + 1)),
            AggregateOp::SumFitsI64 => format!("(i128)(i64){}", word(at)),
            _ => from_bits(*kind, &word(at)),
        };
        inputs.push(ColumnRef { kind: *kind, value, valid: None, range: None, elements: Vec::new() });
    }
    let special = key_lookup.map_or(0, KeyLookup::special);
    RowSource {
        rows: slots + special,
        parameters,
        inputs,
        fetched: Vec::new(),
        present,
        identity: table,
        is_partitioned: false,
    }
}
