//! Kernels that group: rows find a slot by their keys and add to its accumulators. Behind them the table of slots is a source like any
//! other, from which the next pipeline reads.

use std::fmt::Write;

use onrush_device::Buffer;
use onrush_kernels::headers;
use onrush_kernels::headers::Header;
use onrush_kernels::{Program, Scalar};

use super::{Access, Body, Inputs, Names, Parameters, Source, Writer, both};
use crate::aggregate::{Accumulator, Layout, Round, Way, What};
use crate::graph::{Id, Kind};
use crate::lane::Status;

/// A key of a small known range: its number is its distance from `base`, or `count - 1` for null.
#[derive(Clone, Copy, Debug)]
pub struct Digit {
    pub key: Id,
    pub kind: Kind,
    pub base: i64,
    /// How many numbers there are, that of null included.
    pub count: u64,
    pub nullable: bool,
    /// The product of the counts before.
    pub stride: u64,
}

impl Digit {
    /// What a kernel's text depends on: the numbers are parameters.
    fn form(&self) -> (Id, Kind, bool) {
        (self.key, self.kind, self.nullable)
    }
}

/// How rows find their slot.
#[derive(Clone, Debug)]
pub enum Finding {
    /// Keys as one number, which is the slot.
    Dense { digits: Vec<Digit>, size: u64 },
    /// Keys as one number, which is hashed.
    Packed { digits: Vec<Digit> },
    /// The bits of the only key.
    Raw { key: Id, kind: Kind, nullable: bool },
    /// Keys of several words, the first of them bits for nulls.
    Wide { keys: Vec<(Id, Kind, bool)> },
}

impl Finding {
    /// What a kernel's text depends on.
    pub fn form(&self) -> (u8, Vec<(Id, Kind, bool)>) {
        let digits = |digits: &[Digit]| digits.iter().map(Digit::form).collect();
        match self {
            Finding::Dense { digits: all, .. } => (0, digits(all)),
            Finding::Packed { digits: all } => (1, digits(all)),
            Finding::Raw { key, kind, nullable } => (2, vec![(*key, *kind, *nullable)]),
            Finding::Wide { keys } => (3, keys.clone()),
        }
    }

    /// The same over other rows, where the keys are other nodes.
    #[must_use]
    pub fn over(&self, keys: &[Id]) -> Finding {
        let digits = |digits: &[Digit]| digits.iter().zip(keys).map(|(d, key)| Digit { key: *key, ..*d }).collect();
        match self {
            Finding::Dense { digits: all, size } => Finding::Dense { digits: digits(all), size: *size },
            Finding::Packed { digits: all } => Finding::Packed { digits: digits(all) },
            Finding::Raw { kind, nullable, .. } => Finding::Raw { key: keys[0], kind: *kind, nullable: *nullable },
            Finding::Wide { keys: all } => Finding::Wide {
                keys: all.iter().zip(keys).map(|((_, kind, null), key)| (*key, *kind, *null)).collect(),
            },
        }
    }

    pub fn keys(&self) -> Vec<Id> {
        match self {
            Finding::Dense { digits, .. } | Finding::Packed { digits } => digits.iter().map(|d| d.key).collect(),
            Finding::Raw { key, .. } => vec![*key],
            Finding::Wide { keys } => keys.iter().map(|(key, ..)| *key).collect(),
        }
    }

    /// Words of a slot before its accumulators.
    pub fn head(&self) -> u32 {
        match self {
            Finding::Dense { .. } => 0,
            Finding::Packed { .. } | Finding::Raw { .. } => 1,
            Finding::Wide { keys } => 1 + key_words(keys),
        }
    }

    /// 64-bit words of a slot: whole sectors, or parts of one.
    pub fn stride(&self, layout: &Layout) -> u32 {
        match (self.head() + layout.words).max(1) {
            words @ 0..=4 => words.next_power_of_two(),
            words => words.next_multiple_of(4),
        }
    }

    /// Slots behind the table: for the key that marks an empty slot, and for null.
    pub fn special(&self) -> u64 {
        if matches!(self, Finding::Raw { .. }) { 2 } else { 0 }
    }

    /// What an empty slot holds.
    pub fn start(&self, layout: &Layout) -> Vec<u64> {
        let mut words = match self {
            Finding::Dense { .. } => Vec::new(),
            Finding::Packed { .. } | Finding::Raw { .. } => vec![u64::MAX],
            Finding::Wide { keys } => vec![0; 1 + key_words(keys) as usize],
        };
        words.extend(layout.start());
        words.resize(self.stride(layout) as usize, 0);
        words
    }
}

pub(super) fn wide(kind: Kind) -> bool {
    kind == Kind::Number(Scalar::I128)
}

/// The word of nulls, and those of the keys.
pub(super) fn key_words(keys: &[(Id, Kind, bool)]) -> u32 {
    1 + keys.iter().map(|(_, kind, _)| if wide(*kind) { 2 } else { 1 }).sum::<u32>()
}

/// A key's bits as a word, the same for equal keys.
pub(super) fn bits(kind: Kind, value: &str) -> String {
    if kind.is_float() { format!("key_bits({value})") } else { format!("(u64){value}") }
}

fn from_bits(kind: Kind, word: &str) -> String {
    match kind {
        Kind::Bool => format!("({word} != 0)"),
        Kind::Number(Scalar::F64) => format!("__longlong_as_double((i64){word})"),
        Kind::Number(Scalar::F32) => format!("__int_as_float((i32){word})"),
        kind => format!("({}){word}", kind.cuda()),
    }
}

/// The keys that are in one number; their parameters begin with `of`.
pub fn keys_of(digits: &[Digit], of: &str, number: &str) -> Vec<Access> {
    let key = |(index, digit): (usize, &Digit)| {
        let number = match digits.len() {
            1 => number.to_string(),
            _ => format!("({number} / {of}s{index} % {of}n{index})"),
        };
        let base = i128::from(digit.base);
        Access {
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
pub fn digit_parameters(digits: &[Digit], of: &str, parameters: &mut Parameters) {
    for (index, digit) in digits.iter().enumerate() {
        parameters.u64(&format!("{of}b{index}"), digit.base as u64);
        parameters.u64(&format!("{of}n{index}"), digit.count);
        parameters.u64(&format!("{of}s{index}"), digit.stride);
    }
}

/// Writes statements that put the row's keys into `u64 key` (one word) or `u64 key[]` (several), and whether it is null into `nokey`.
pub(super) fn write_key(writer: &mut Writer, finding: &Finding) {
    match finding {
        Finding::Dense { digits, .. } | Finding::Packed { digits } => {
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
        Finding::Raw { key, kind, .. } => {
            let names = writer.value(*key);
            writer.note(&names);
            writer.line(&format!("const u64 key = {};", bits(*kind, &names.value)));
            writer.line(&format!("const bool nokey = !({});", names.ok()));
        }
        Finding::Wide { keys } => {
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
pub(super) fn values(writer: &mut Writer, layout: &Layout, round: Round) -> Vec<Option<Names>> {
    let mut all = Vec::new();
    for (_, accumulator) in layout.in_round(round) {
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

/// What of a value is added up, and when. In the second round `slot` is what the first one found of the row's group.
pub fn taken(
    layout: &Layout,
    accumulator: &Accumulator,
    names: &Names,
    with: Option<&Names>,
) -> (String, Option<String>) {
    let value = &names.value;
    let word_of = |what, of| format!("slot[{}]", layout.word_of(what, of).unwrap_or_default());
    let word = |what| word_of(what, accumulator.of);
    let mean_of = |of| {
        let (sum, count) = (word_of(What::SumFloat, of), word_of(What::Count, of));
        format!("__longlong_as_double((i64){sum}) / (f64)(i64){count}")
    };
    let upper = |what| both(&names.valid, &Some(format!("(i64)({value} >> 64) == (i64){}", word(what))), "&&");
    match accumulator.what {
        What::About | What::SquaresAbout => {
            let mean = mean_of(accumulator.of);
            let name = if accumulator.what == What::About { "distance" } else { "squared_distance" };
            (format!("{name}({value}, {mean})"), names.valid.clone())
        }
        What::ProductsAbout => {
            let other = with.map_or("0.0", |names| &names.value);
            let (mean, its_mean) = (mean_of(accumulator.of), mean_of(accumulator.with));
            let valid = both(&names.valid, &with.and_then(|names| names.valid.clone()), "&&");
            (format!("distance({value}, {mean}) * distance({other}, {its_mean})"), valid)
        }
        What::LeastUpper | What::GreatestUpper => (format!("(i64)({value} >> 64)"), names.valid.clone()),
        What::LeastLower => (format!("(u64){value}"), upper(What::LeastUpper)),
        What::GreatestLower => (format!("(u64){value}"), upper(What::GreatestUpper)),
        _ => (value.clone(), names.valid.clone()),
    }
}

/// One accumulator's update; `place` names word `w` of it.
fn update(way: Way, value: &str, place: &dyn Fn(u32) -> String, shared: bool) -> String {
    let at = place(0);
    match way {
        Way::Float => format!("acc_add_f({at}, {value});"),
        Way::Integer => format!("acc_add_i({at}, (u64){value});"),
        Way::Wide => format!("acc_add_w({at}, {}, {value});", place(1)),
        Way::Count if shared => format!("acc_add_n({at}, 1u);"),
        Way::Count => format!("acc_add_i({at}, 1ull);"),
        Way::Least => format!("acc_min_i({at}, {value});"),
        Way::Greatest => format!("acc_max_i({at}, {value});"),
        Way::LeastUnsigned => format!("acc_min_u({at}, {value});"),
        Way::GreatestUnsigned => format!("acc_max_u({at}, {value});"),
        // Along windows alone.
        Way::Spread => String::new(),
    }
}

pub(super) fn updates(writer: &mut Writer, layout: &Layout, round: Round, values: &[Option<Names>], shared: bool) {
    for ((index, accumulator), names) in layout.in_round(round).zip(values) {
        let place = |word: u32| match shared {
            true if word == 1 => format!("&s{index}h[at]"),
            true => format!("&s{index}[at]"),
            false => format!("slot + {}", layout.at[index] + word),
        };
        let with = accumulator.with.map(|with| writer.value(with));
        let taken = names.as_ref().map(|names| taken(layout, accumulator, names, with.as_ref()));
        let (value, condition) = taken.unwrap_or_default();
        let text = update(accumulator.what.way(), &value, &place, shared);
        match condition {
            Some(condition) => writer.line(&format!("if ({condition}) {text}")),
            None => writer.line(&text),
        }
    }
}

fn roots(body: &Body, layout: &Layout, round: Round, finding: &Finding) -> Vec<Id> {
    let values = layout.in_round(round).flat_map(|(_, a)| a.values(round));
    values.chain(finding.keys()).chain(body.filter).collect()
}

/// A loop over rows, `compute` for each of them.
pub(super) fn rows_loop(body: &Body, roots: &[Id], unroll: u32, compute: &str, head: &str) -> String {
    format!(
        "  const u64 stride = threads_in_grid();\n#pragma unroll 1\n  \
         for (u64 first = thread_in_grid(); first < rows; first += stride * {unroll}) {{\n{head}{}\
         #pragma unroll\n    for (int k = 0; k < {unroll}; k++) {{\n      u64 row = first + k * stride;\n      if (row < rows) {{\n{compute}      }}\n    }}\n  }}\n  \
         if (faults != 0) atomicOr(fault, 1u);\n",
        body.loads(&body.inputs(roots), unroll),
    )
}

/// Threads of a block with a table of its own: fewer where a row needs many registers.
pub fn shared_threads(layout: &Layout) -> u32 {
    if layout.accumulators.len() > 6 { 512 } else { 1024 }
}

pub fn shared_parameters(body: &Body, finding: &Finding, fault: u64, table: &Buffer, replicas: u32) -> Parameters {
    let mut parameters = body.parameters(fault);
    if let Finding::Dense { digits, size } = finding {
        digit_parameters(digits, "k", &mut parameters);
        parameters.u64("size", *size);
    }
    parameters.u32("replicas", replicas);
    parameters.buffer("u64*", "table", table);
    parameters
}

/// A table of each block in shared memory, several side by side so that lanes with the same key do not meet, merged at the end. A key
/// outside of the range that was computed for it is a fault.
pub fn shared(body: &Body, layout: &Layout, round: Round, finding: &Finding, parameters: &Parameters) -> Program {
    let (roots, threads) = (roots(body, layout, round, finding), shared_threads(layout));
    let unroll = body.unroll(&roots).min(4);
    let mut writer = Writer::new(body, Inputs::Loaded, "        ");
    let pass = body.passing(&mut writer);
    writer.line(&format!("if ({pass}) {{"));
    write_key(&mut writer, finding);
    let found = values(&mut writer, layout, round);
    writer.line("faults |= key >= size;");
    writer.line("const u32 at = (u32)(key < size ? key : 0) * replicas + mine;");
    if round == Round::Second {
        let stride = finding.stride(layout);
        writer.line(&format!("const u64* slot = table + (key < size ? key : 0) * {stride};"));
    }
    updates(&mut writer, layout, round, &found, true);
    writer.line("}");

    let tables = shared_tables(layout, round);
    let text = format!(
        "extern \"C\" __global__ void __launch_bounds__({threads}) group_shared({}) {{\n  DYNAMIC_SHARED(memory);\n  \
         u32 faults = 0;\n  const u32 slots = (u32)size * replicas;\n{}  \
         for (u32 i = threadIdx.x; i < slots; i += blockDim.x) {{{} }}\n  __syncthreads();\n  \
         const u32 mine = lane_id() & (replicas - 1);\n{}  __syncthreads();\n\
         #pragma unroll 1\n  for (u32 group = threadIdx.x; group < (u32)size; group += blockDim.x) {{\n   {}\n\
         #pragma unroll 1\n    for (u32 i = 0; i < replicas; i++) {{\n      u32 r = group * replicas + ((i + lane_id()) & (replicas - 1));\n     {}\n    }}\n    \
         if ({}) {{\n      u64* slot = table + (u64)group * {};\n     {}\n    }}\n  }}\n}}\n",
        parameters.text(),
        tables.arrays,
        tables.clear,
        rows_loop(body, &roots, unroll, &writer.text, ""),
        tables.declare,
        tables.step,
        tables.presence,
        finding.stride(layout),
        tables.merge,
    );
    body.program(&[], text, "group_shared")
}

/// Pieces of the kernel with tables in shared memory, each for all accumulators.
pub(super) struct SharedTables {
    pub arrays: String,
    pub clear: String,
    pub declare: String,
    pub step: String,
    pub merge: String,
    pub presence: String,
}

pub(super) fn shared_tables(layout: &Layout, round: Round) -> SharedTables {
    let text = String::new;
    let mut tables = SharedTables {
        arrays: text(),
        clear: text(),
        declare: text(),
        step: text(),
        merge: text(),
        presence: "true".to_string(),
    };
    let (short, long): (Vec<_>, Vec<_>) = layout.in_round(round).partition(|(_, a)| a.what.way() == Way::Count);
    let mut offset = String::new();
    for (index, accumulator) in long.into_iter().chain(short) {
        let what = accumulator.what;
        let (s, m, slot) = (format!("s{index}"), format!("m{index}"), format!("slot + {}", layout.at[index]));
        let (c_type, bytes) = if what.way() == Way::Count { ("u32", 4) } else { ("u64", 8) };
        let second = (what.way() == Way::Wide).then(|| format!("{s}h"));
        for array in std::iter::once(s.clone()).chain(second) {
            let _ = writeln!(tables.arrays, "  {c_type}* {array} = ({c_type}*)(memory{offset});");
            let _ = write!(offset, " + (u64)slots * {bytes}");
            let _ = write!(tables.clear, " {array}[i] = ({c_type}){}ull;", what.start());
        }
        let (declare, step, merge) = match what.way() {
            Way::Float => ("f64 M = 0;", "M += ((f64*)S)[r];", "acc_add_f(SLOT, M);"),
            Way::Integer | Way::Count => ("u64 M = 0;", "M += S[r];", "if (M != 0) acc_add_i(SLOT, M);"),
            Way::Wide => ("i128 M = 0;", "M += wide_of(S[r], Sh[r]);", "acc_add_w(SLOT, SLOT + 1, M);"),
            Way::Least => ("i64 M = Limits<i64>::high();", "M = smaller(M, (i64)S[r]);", "acc_min_i(SLOT, M);"),
            Way::Greatest => ("i64 M = Limits<i64>::low();", "M = larger(M, (i64)S[r]);", "acc_max_i(SLOT, M);"),
            Way::LeastUnsigned => ("u64 M = Limits<u64>::high();", "M = smaller(M, S[r]);", "acc_min_u(SLOT, M);"),
            Way::GreatestUnsigned => ("u64 M = 0;", "M = larger(M, S[r]);", "acc_max_u(SLOT, M);"),
            Way::Spread => ("", "", ""),
        };
        let named = |text: &str| text.replace("SLOT", &slot).replace('M', &m).replace('S', &s);
        let _ = write!(tables.declare, " {}", named(declare));
        let _ = write!(tables.step, " {}", named(step));
        let _ = write!(tables.merge, " {}", named(merge));
        if layout.rows() == Some(index) {
            tables.presence = format!("{m} != 0");
        }
    }
    tables
}

pub const DIRECT_THREADS: u32 = 256;

pub fn direct_parameters(body: &Body, finding: &Finding, status: &Status, table: &Buffer, slots: u64) -> Parameters {
    let mut parameters = body.parameters(status.fault());
    if let Finding::Dense { digits, .. } | Finding::Packed { digits } = finding {
        digit_parameters(digits, "k", &mut parameters);
    }
    parameters.u64("slots", slots);
    parameters.buffer("u64*", "table", table);
    parameters.address("u32*", "overflow", status.overflow());
    parameters
}

/// Atomic operations on the table in device memory. A dense key outside of the range that was computed for it is a fault.
pub fn direct(body: &Body, layout: &Layout, round: Round, finding: &Finding, parameters: &Parameters) -> Program {
    let (roots, head, stride) = (roots(body, layout, round, finding), finding.head(), finding.stride(layout));
    let unroll = body.unroll(&roots).min(4);
    let mut writer = Writer::new(body, Inputs::Loaded, "        ");
    let pass = body.passing(&mut writer);
    writer.line(&format!("if ({pass}) {{"));
    write_key(&mut writer, finding);
    let found = values(&mut writer, layout, round);
    let (declare, header): (String, &[&'static Header]) = match finding {
        Finding::Dense { .. } => {
            writer.line("faults |= key >= slots;");
            writer.line(&format!("u64* slot = table + (key < slots ? key : 0) * {stride};"));
            (String::new(), &[])
        }
        Finding::Packed { .. } => {
            writer.line("u64* slot = groups.find_from(key);");
            (format!("  HashTable<{stride}> groups{{table, slots, overflow}};\n"), &[&headers::HASH_GROUP])
        }
        Finding::Raw { .. } => {
            writer.line(
                "u64* slot = nokey ? groups.special(1) : key == EMPTY_KEY ? groups.special(0) : groups.find_from(key);",
            );
            (format!("  HashTable<{stride}> groups{{table, slots, overflow}};\n"), &[&headers::HASH_GROUP])
        }
        Finding::Wide { keys } => {
            writer.line("u64* slot = groups.find(key);");
            (format!("  WideTable<{}, {stride}> groups{{table, slots, overflow}};\n", key_words(keys)), &[])
        }
    };
    let mut lost = "";
    if !matches!(finding, Finding::Dense { .. }) {
        lost = "    if (load_relaxed(overflow) != 0) return;\n";
        // The caller starts again with a larger table.
        writer.line("if (slot == nullptr) return;");
        writer.line(&format!("slot += {head};"));
    }
    updates(&mut writer, layout, round, &found, false);
    writer.line("}");
    let text = format!(
        "extern \"C\" __global__ void __launch_bounds__({DIRECT_THREADS}) group_direct({}) {{\n  u32 faults = 0;\n{declare}{}}}\n",
        parameters.text(),
        rows_loop(body, &roots, unroll, &writer.text, lost),
    );
    body.program(header, text, "group_direct")
}

pub fn number_parameters(body: &Body, digits: &[Digit], fault: u64, numbers: &Buffer) -> Parameters {
    let mut parameters = body.parameters(fault);
    digit_parameters(digits, "k", &mut parameters);
    parameters.buffer("u64*", "numbers", numbers);
    parameters
}

/// Writes the keys of all rows as one number each.
pub fn numbers(body: &Body, finding: &Finding, parameters: &Parameters) -> Program {
    let roots = finding.keys();
    let unroll = body.unroll(&roots).min(4);
    let mut writer = Writer::new(body, Inputs::Loaded, "        ");
    write_key(&mut writer, finding);
    writer.line("numbers[row] = key;");
    let text = format!(
        "extern \"C\" __global__ void __launch_bounds__({DIRECT_THREADS}) group_numbers({}) {{\n  u32 faults = 0;\n{}}}\n",
        parameters.text(),
        rows_loop(body, &roots, unroll, &writer.text, ""),
    );
    body.program(&[], text, "group_numbers")
}

/// Fills a table of so many words with empty slots: a word a thread, so that those of a warp lie side by side.
pub fn clear(finding: &Finding, layout: &Layout) -> Program {
    let words = finding.start(layout);
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

/// The groups as rows: keys, then accumulators. Without `finding`, the only group of a reduction.
pub fn source(finding: Option<&Finding>, layout: &Layout, of: &[Kind], table: u64, slots: u64) -> Source {
    let mut parameters = Parameters::new();
    parameters.address("const u64*", "made", table);
    let mut inputs = Vec::new();
    let (head, stride) = match finding {
        Some(finding) => (finding.head(), finding.stride(layout)),
        None => (0, layout.words),
    };
    let word = |at: u32| format!("made[row * {stride} + {at}]");
    let mut present = None;
    match finding {
        None => {}
        Some(Finding::Dense { digits, .. } | Finding::Packed { digits }) => {
            let dense = matches!(finding, Some(Finding::Dense { .. }));
            let key = if dense { "row".to_string() } else { word(0) };
            digit_parameters(digits, "m", &mut parameters);
            inputs.extend(keys_of(digits, "m", &key));
            present = match (dense, layout.rows()) {
                (true, Some(rows)) => Some(format!("{} != 0", word(layout.at[rows]))),
                (true, None) => None,
                (false, _) => Some(format!("{} != ~0ull", word(0))),
            };
        }
        Some(Finding::Raw { kind, nullable, .. }) => {
            parameters.u64("made_slots", slots);
            let key = format!("(row == made_slots ? ~0ull : {})", word(0));
            inputs.push(Access {
                kind: *kind,
                value: from_bits(*kind, &key),
                valid: nullable.then(|| "(row != made_slots + 1)".to_string()),
                range: None,
                elements: Vec::new(),
            });
            present = Some(format!("{} != ~0ull", word(0)));
        }
        Some(Finding::Wide { keys }) => {
            let mut at = 2;
            for (index, (_, kind, nullable)) in keys.iter().enumerate() {
                let value = match wide(*kind) {
                    true => format!("wide_of({}, {})", word(at), word(at + 1)),
                    false => from_bits(*kind, &word(at)),
                };
                at += if wide(*kind) { 2 } else { 1 };
                let valid = nullable.then(|| format!("(({} >> {index} & 1) == 0)", word(1)));
                inputs.push(Access { kind: *kind, value, valid, range: None, elements: Vec::new() });
            }
            present = Some(format!("{} != 0", word(0)));
        }
    }
    for (kind, index) in of.iter().zip(&layout.asked) {
        let at = head + layout.at[*index];
        let value = match layout.accumulators[*index].what {
            What::SumWide | What::DistinctWide => format!("wide_of({}, {})", word(at), word(at + 1)),
            What::SumShort => format!("(i128)(i64){}", word(at)),
            _ => from_bits(*kind, &word(at)),
        };
        inputs.push(Access { kind: *kind, value, valid: None, range: None, elements: Vec::new() });
    }
    let special = finding.map_or(0, Finding::special);
    Source { rows: slots + special, parameters, inputs, fetched: Vec::new(), present, identity: table, parted: false }
}
