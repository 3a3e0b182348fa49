//! Kernels that join: a table of rows by their keys, how a pipeline finds a row in it, and rows that become several.

use std::hash::Hash;

use std::ops::Range;

use onrush_device::Buffer;
use onrush_kernels::{Program, headers};

use super::group::{Finding, bits, digit_parameters, key_words, rows_loop, wide, write_key};
use super::output::{Target, declare};
use super::{Access, Body, Inputs, Names, Parameters, Writer};
use crate::graph::{Id, Kind};
use crate::lane::Status;

pub const THREADS: u32 = 256;
/// Rows of a thread in a tile of the kernel that writes pairs.
pub const ITEMS: u32 = 4;

/// What a pipeline's row becomes by the rows that are found for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// It stays one row, of which is known whether there is a row at all.
    Exists,
    /// As many rows as are found.
    Inner,
    /// The same, and itself where none is.
    Outer,
    /// The same, and behind them the rows that none has found.
    Full,
}

impl How {
    /// Whether a row stays where none is found for it.
    fn keeps(self) -> bool {
        matches!(self, How::Outer | How::Full)
    }
}

/// What the table has for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holds {
    /// One row.
    Row,
    /// Where the rows begin and end in a list of all.
    Run,
    /// Whether there is a row: its columns are at the slot itself. `complete`: each slot has one.
    Slot { complete: bool },
}

/// How a pipeline's rows find those of another table.
pub struct Probing {
    pub number: usize,
    /// Keys are nodes of the pipeline.
    pub finding: Finding,
    pub nulls_equal: bool,
    /// Which keys are texts whose numbers are those of another dictionary.
    pub renumbered: Vec<bool>,
    pub holds: Holds,
    /// What else must hold of both rows, in terms of the pipeline's nodes.
    pub residual: Option<Id>,
    /// Whether each slot of dense keys has one row.
    pub complete: bool,
    /// Whether each row of the pipeline finds one.
    pub certain: bool,
    /// Rows of the other table, or slots where its columns are at these.
    pub rows: u64,
    /// Its columns, in terms of `row`.
    pub columns: Vec<Access>,
    pub parameters: Parameters,
    /// Those of the columns alone.
    pub of_columns: Parameters,
    /// Rows are pairs already, whose second half this array names; whether it may be none.
    pub paired: Option<bool>,
}

impl Probing {
    /// What a kernel's text depends on.
    pub fn form(&self) -> impl Hash {
        let columns: Vec<_> = self.columns.iter().map(Access::form).collect();
        let declarations = self.parameters.declarations.clone();
        let of = (self.nulls_equal, self.renumbered.clone(), self.holds, self.residual, self.certain);
        (self.finding.form(), of, columns, declarations, self.paired)
    }
}

impl Probing {
    /// Rows are pairs from here on.
    pub fn pair(&mut self, rows: &Buffer) {
        self.parameters = self.of_columns.clone();
        self.parameters.buffer("const u32* __restrict__", &format!("j{}pair", self.number), rows);
    }
}

/// 64-bit words of a slot.
pub fn stride(finding: &Finding) -> u32 {
    match finding {
        Finding::Dense { .. } => 1,
        Finding::Packed { .. } | Finding::Raw { .. } => 2,
        Finding::Wide { keys } => (2 + key_words(keys)).next_multiple_of(4),
    }
}

/// Where in a slot its row or run is.
fn value_word(finding: &Finding) -> u32 {
    match finding {
        Finding::Dense { .. } => 0,
        Finding::Packed { .. } | Finding::Raw { .. } => 1,
        Finding::Wide { keys } => 1 + key_words(keys),
    }
}

/// The table's type.
fn table_type(finding: &Finding) -> String {
    match finding {
        Finding::Wide { keys } => format!("WideTable<{}, {}>", key_words(keys), stride(finding)),
        _ => "HashTable<2>".to_string(),
    }
}

fn filled(finding: &Finding, parameters: &mut Parameters, table: &Buffer, slots: u64) {
    if let Finding::Dense { digits, .. } | Finding::Packed { digits } = finding {
        digit_parameters(digits, "k", parameters);
    }
    parameters.u64("slots", slots);
    parameters.buffer("u64*", "table", table);
}

/// The condition that a row has a key, behind statements that compute it.
fn keyed(writer: &mut Writer, finding: &Finding, nulls_equal: bool) -> String {
    let mut conditions = Vec::new();
    for key in finding.keys() {
        let names = writer.value(key);
        writer.note(&names);
        conditions.extend(names.valid.filter(|_| !nulls_equal));
    }
    if conditions.is_empty() { "true".to_string() } else { conditions.join(" && ") }
}

pub fn build_parameters(body: &Body, finding: &Finding, status: &Status, table: &Buffer, slots: u64) -> Parameters {
    let mut parameters = body.parameters(status.fault());
    filled(finding, &mut parameters, table, slots);
    parameters.address("u32*", "overflow", status.overflow());
    parameters.address("u32*", "duplicates", status.duplicates());
    parameters
}

/// Puts the rows of a table under their keys, one for each, and notes whether there were more. A slot's row is stored as the row behind
/// it, 0 where there is none, except in tables of 64-bit keys, which are empty where all bits are set.
pub fn build(body: &Body, finding: &Finding, nulls_equal: bool, parameters: &Parameters) -> Program {
    let mut writer = Writer::new(body, Inputs::Loaded, "        ");
    let condition = keyed(&mut writer, finding, nulls_equal);
    writer.line(&format!("if ({condition}) {{"));
    write_key(&mut writer, finding);
    let (place, empty) = match finding {
        Finding::Dense { .. } => {
            writer.line("faults |= key >= slots;");
            ("(u32*)(table + (key < slots ? key : 0))".to_string(), 0)
        }
        Finding::Packed { .. } => {
            writer.line("u64* slot = found.find_from(key);");
            ("(u32*)(slot + 1)".to_string(), u32::MAX)
        }
        Finding::Raw { .. } => {
            writer.line(
                "u64* slot = nokey ? found.special(1) : key == EMPTY_KEY ? found.special(0) : found.find_from(key);",
            );
            ("(u32*)(slot + 1)".to_string(), u32::MAX)
        }
        Finding::Wide { .. } => {
            writer.line("u64* slot = found.find(key);");
            (format!("(u32*)(slot + {})", value_word(finding)), 0)
        }
    };
    let mut declare = String::new();
    if !matches!(finding, Finding::Dense { .. }) {
        declare = format!("  {} found{{table, slots, overflow}};\n", table_type(finding));
        // The caller starts again with a larger table.
        writer.line("if (slot == nullptr) return;");
    }
    let stored = if empty == 0 { "(u32)row + 1" } else { "(u32)row" };
    writer.line(&format!("if (atomicExch({place}, {stored}) != {empty}u) store_relaxed(duplicates, 1u);"));
    writer.line("}");
    let roots = finding.keys();
    let text = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) join_build({}) {{\n  u32 faults = 0;\n{declare}{}}}\n",
        parameters.text(),
        rows_loop(body, &roots, body.unroll(&roots).min(4), &writer.text, ""),
    );
    body.program(&[&headers::HASH_GROUP], text, "join_build")
}

/// `targets` are where the columns `roots` of a row go, by its slot.
pub fn direct_parameters(
    body: &Body,
    finding: &Finding,
    status: &Status,
    (present, slots): (&Buffer, u64),
    (roots, targets): (&[Id], &[Target]),
) -> Parameters {
    let mut parameters = body.parameters(status.fault());
    if let Finding::Dense { digits, .. } = finding {
        digit_parameters(digits, "k", &mut parameters);
    }
    parameters.u64("slots", slots);
    parameters.buffer("u32*", "present", present);
    parameters.address("u32*", "duplicates", status.duplicates());
    declare(&mut parameters, body, roots, targets);
    parameters
}

/// Puts columns of the rows of a table to the slots of their dense keys, and notes whether some key has several.
pub fn direct(body: &Body, finding: &Finding, nulls_equal: bool, roots: &[Id], parameters: &Parameters) -> Program {
    let mut writer = Writer::new(body, Inputs::Loaded, "        ");
    let condition = keyed(&mut writer, finding, nulls_equal);
    writer.line(&format!("if ({condition}) {{"));
    write_key(&mut writer, finding);
    writer.line("faults |= key >= slots;");
    writer.line("const u32 slot = (u32)(key < slots ? key : 0), bit = 1u << (slot % 32);");
    writer.line("if ((atomicOr(&present[slot / 32], bit) & bit) != 0) store_relaxed(duplicates, 1u);");
    writer.line("else {");
    for ((index, root), nullable) in roots.iter().enumerate().zip(body.nullable(roots)) {
        let names = writer.value(*root);
        writer.note(&names);
        writer.line(&format!("o{index}[slot] = {};", names.value));
        if nullable {
            writer.line(&format!("ov{index}[slot] = {};", names.ok()));
        }
    }
    writer.line("}}");
    let read: Vec<Id> = finding.keys().into_iter().chain(roots.iter().copied()).collect();
    let text = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) join_direct({}) {{\n  u32 faults = 0;\n{}}}\n",
        parameters.text(),
        rows_loop(body, &read, body.unroll(&read).min(4), &writer.text, ""),
    );
    body.program(&[&headers::HASH_GROUP], text, "join_direct")
}

pub fn slots_parameters(
    body: &Body,
    finding: &Finding,
    status: &Status,
    (table, slots): (&Buffer, u64),
    out: &Buffer,
) -> Parameters {
    let mut parameters = build_parameters(body, finding, status, table, slots);
    parameters.buffer("u32*", "out", out);
    parameters
}

/// The slot of each row of a table that has been built; behind the last one for rows without a key.
pub fn slots(body: &Body, finding: &Finding, nulls_equal: bool, parameters: &Parameters) -> Program {
    let mut writer = Writer::new(body, Inputs::Loaded, "        ");
    let condition = keyed(&mut writer, finding, nulls_equal);
    writer.line(&format!("u64 mine = slots + {};", finding.special()));
    writer.line(&format!("if ({condition}) {{"));
    write_key(&mut writer, finding);
    let place = match finding {
        Finding::Dense { .. } => "key",
        Finding::Packed { .. } => "found.find_from(key)",
        Finding::Raw { .. } => {
            "(nokey ? found.special(1) : key == EMPTY_KEY ? found.special(0) : found.find_from(key))"
        }
        Finding::Wide { .. } => "found.find(key)",
    };
    let mut declare = String::new();
    if matches!(finding, Finding::Dense { .. }) {
        writer.line(&format!("mine = {place};"));
    } else {
        declare = format!("  {} found{{table, slots, overflow}};\n", table_type(finding));
        writer.line(&format!("u64* slot = {place};"));
        writer.line(&format!("if (slot != nullptr) mine = (u64)(slot - table) / {};", stride(finding)));
    }
    writer.line("}");
    writer.line("out[row] = (u32)mine;");
    let roots = finding.keys();
    let text = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) join_slots({}) {{\n  u32 faults = 0;\n{declare}{}}}\n",
        parameters.text(),
        rows_loop(body, &roots, body.unroll(&roots).min(4), &writer.text, ""),
    );
    body.program(&[&headers::HASH_GROUP], text, "join_slots")
}

/// From the slots of rows in their order, the run of each slot: where it begins in the lower half of its word, where it ends in the
/// upper one.
pub fn runs(finding: &Finding) -> Program {
    let (stride, word) = (stride(finding), value_word(finding));
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__(256) join_runs(const u32* slots, u64 rows, u32 last, u64* table) {{\n  \
         for (u64 i = thread_in_grid(); i < rows; i += threads_in_grid()) {{\n    const u32 slot = slots[i];\n    \
         if (slot >= last) continue;\n    u32* run = (u32*)(table + (u64)slot * {stride} + {word});\n    \
         if (i == 0 || slots[i - 1] != slot) run[0] = (u32)i;\n    \
         if (i + 1 == rows || slots[i + 1] != slot) run[1] = (u32)i + 1;\n  }}\n}}\n"
    );
    Program::new(&[&headers::PRELUDE], body, ["join_runs"])
}

/// The parameters with which rows are looked up; `renumber` are the numbers of keys that are texts.
pub fn probe_parameters(
    number: usize,
    finding: &Finding,
    (table, slots): (&Buffer, u64),
    renumber: &[Option<u64>],
    order: Option<&Buffer>,
    holds: Holds,
) -> Parameters {
    let mut parameters = Parameters::new();
    if let Finding::Dense { digits, .. } | Finding::Packed { digits } = finding {
        digit_parameters(digits, &format!("j{number}k"), &mut parameters);
    }
    parameters.u64(&format!("j{number}slots"), slots);
    match holds {
        Holds::Slot { complete: true } => {}
        Holds::Slot { complete: false } => {
            parameters.buffer("const u32* __restrict__", &format!("j{number}present"), table);
        }
        _ => parameters.buffer("u64*", &format!("j{number}table"), table),
    }
    for (key, address) in renumber.iter().enumerate() {
        if let Some(address) = address {
            parameters.address("const u32* __restrict__", &format!("j{number}r{key}"), *address);
        }
    }
    if let Some(order) = order {
        parameters.buffer("const u32* __restrict__", &format!("j{number}order"), order);
    }
    parameters
}

impl Writer<'_> {
    /// The row or slot that is found, or the number of a row's run behind none.
    pub(super) fn probe(&mut self, id: Id, join: u32, args: &[Names]) -> Names {
        let probing = &self.body.beside.joins[join as usize];
        if let Some(maybe) = probing.paired {
            self.line(&format!("const u32 x{id} = j{join}pair[row];"));
            let valid = maybe.then(|| format!("(x{id} != ~0u)"));
            return Names { value: format!("x{id}"), valid, fault: None };
        }
        let fault = args.iter().fold(None, |fault, arg| super::both(&fault, &arg.fault, "||"));
        let found = self.find(id, join, args);
        let row = match (&probing.finding, probing.holds) {
            (_, Holds::Run) => String::new(),
            (_, Holds::Slot { .. }) => found.clone(),
            (Finding::Dense { .. } | Finding::Wide { .. }, _) => format!("(u32){found} - 1"),
            _ => format!("(u32){found}"),
        };
        match probing.residual {
            None => self.line(&format!("const u32 x{id} = {row};")),
            Some(_) => {
                self.line(&format!("u32 x{id} = ~0u;"));
                let loops = match probing.holds {
                    Holds::Row | Holds::Slot { .. } => {
                        format!("for (u32 jc{id} = {row}, once = 0; once == 0 && jc{id} != ~0u; once++) {{")
                    }
                    Holds::Run => {
                        self.line(&format!("const u64 jr{id} = {found};"));
                        run_loop(join, &format!("jr{id}"), &format!("jc{id}"))
                    }
                };
                let (text, condition) = self.holding(id, join, &format!("jc{id}"));
                self.line(&loops);
                self.text.push_str(&text);
                // All are looked at: one behind the first may have a fault.
                self.line(&format!("if (x{id} == ~0u && ({condition})) x{id} = jc{id};"));
                self.line("}");
            }
        }
        let valid = (!probing.certain).then(|| format!("(x{id} != ~0u)"));
        Names { value: format!("x{id}"), valid, fault }
    }

    /// Statements that compute what else must hold of a row that has the keys, and the condition.
    fn holding(&self, probe: Id, join: u32, row: &str) -> (String, String) {
        let Some(residual) = self.body.beside.joins[join as usize].residual else {
            return (String::new(), "true".to_string());
        };
        let mut inner = Writer::new(self.body, Inputs::Memory, self.indent);
        inner.names.insert(probe, Names { value: row.to_string(), ..Names::default() });
        let names = inner.value(residual);
        inner.note(&names);
        (inner.text, format!("{} && {}", names.ok(), names.value))
    }

    /// The word that the table has for the keys: that of an empty slot where there are no such keys. The slot itself where its columns are
    /// there.
    fn find(&mut self, id: Id, join: u32, args: &[Names]) -> String {
        let probing = &self.body.beside.joins[join as usize];
        let mut conditions: Vec<String> = Vec::new();
        let mut values = Vec::new();
        for (index, arg) in args.iter().enumerate() {
            if !probing.nulls_equal {
                conditions.extend(arg.valid.clone());
            }
            let value = match probing.renumbered[index] {
                true => {
                    // The number of a null may be any, of no text, too.
                    let number = match &arg.valid {
                        Some(valid) => format!("({valid}) ? j{join}r{index}[{}] : 0u", arg.value),
                        None => format!("j{join}r{index}[{}]", arg.value),
                    };
                    self.line(&format!("const u32 jr{id}x{index} = {number};"));
                    let there = format!("jr{id}x{index} != ~0u");
                    conditions.push(match &arg.valid {
                        Some(valid) if probing.nulls_equal => format!("(!({valid}) || {there})"),
                        _ => there,
                    });
                    format!("jr{id}x{index}")
                }
                false => arg.value.clone(),
            };
            values.push(value);
        }
        let object = format!("{}{{j{join}table, j{join}slots, nullptr}}", table_type(&probing.finding));
        let call = match &probing.finding {
            Finding::Dense { digits, .. } | Finding::Packed { digits } => {
                let mut terms = Vec::new();
                for (index, digit) in digits.iter().enumerate() {
                    let name = format!("jd{id}x{index}");
                    let distance = format!("(u64)(i64){} - j{join}kb{index}", values[index]);
                    // The last number is that of null.
                    let (text, most) = match (&args[index].valid, digit.nullable) {
                        (Some(valid), true) => (
                            format!("({valid}) ? {distance} : j{join}kn{index} - 1"),
                            format!("j{join}kn{index} - (({valid}) ? 1 : 0)"),
                        ),
                        (None, true) => (distance, format!("j{join}kn{index} - 1")),
                        _ => (distance, format!("j{join}kn{index}")),
                    };
                    self.line(&format!("const u64 {name} = {text};"));
                    conditions.push(format!("{name} < {most}"));
                    if let (Some(valid), false, true) = (&args[index].valid, digit.nullable, probing.nulls_equal) {
                        conditions.push(valid.clone());
                    }
                    terms.push(if index == 0 { name } else { format!("{name} * j{join}ks{index}") });
                }
                let key = if terms.is_empty() { "0ull".to_string() } else { terms.join(" + ") };
                self.line(&format!("const u64 jk{id} = {key};"));
                match &probing.finding {
                    Finding::Dense { .. } => {
                        if probing.holds == (Holds::Slot { complete: false }) {
                            conditions.push(format!("is_valid(j{join}present, jk{id})"));
                        }
                        let condition = if probing.certain { "true".to_string() } else { all(&conditions) };
                        return match probing.holds {
                            Holds::Slot { .. } => format!("({condition} ? (u32)jk{id} : ~0u)"),
                            _ => format!("j{join}table[{condition} ? jk{id} : j{join}slots]"),
                        };
                    }
                    _ => format!("{object}.word_of(jk{id})"),
                }
            }
            Finding::Raw { kind, .. } => {
                self.line(&format!("const u64 jk{id} = {};", bits(*kind, &values[0])));
                let key = format!("(jk{id} == EMPTY_KEY ? {object}.special_word(0) : {object}.word_of(jk{id}))");
                match &args[0].valid {
                    Some(valid) if probing.nulls_equal => format!("(({valid}) ? {key} : {object}.special_word(1))"),
                    _ => key,
                }
            }
            Finding::Wide { keys } => {
                let mut nulls = vec!["0ull".to_string()];
                let mut words = Vec::new();
                for (index, (_, kind, _)) in keys.iter().enumerate() {
                    let there = |word: String| match &args[index].valid {
                        Some(valid) => format!("(({valid}) ? {word} : 0ull)"),
                        None => word,
                    };
                    if let Some(valid) = &args[index].valid {
                        nulls.push(format!("(({valid}) ? 0ull : {}ull)", 1u64 << index));
                    }
                    words.push(there(bits(*kind, &values[index])));
                    if wide(*kind) {
                        words.push(there(format!("(u64)({} >> 64)", values[index])));
                    }
                }
                words.insert(0, nulls.join(" | "));
                self.line(&format!("const u64 jk{id}[{}] = {{{}}};", words.len(), words.join(", ")));
                format!("{object}.word_of(jk{id})")
            }
        };
        let empty = if matches!(probing.finding, Finding::Wide { .. }) { "0ull" } else { "~0ull" };
        match conditions.is_empty() {
            true => call,
            false => format!("({} ? {call} : {empty})", all(&conditions)),
        }
    }

    /// A column of the joined table at the row that was found.
    pub(super) fn joined(&mut self, id: Id, join: u32, column: u32, row: &Names) -> Names {
        let access = &self.body.beside.joins[join as usize].columns[column as usize];
        let kind = access.kind.cuda();
        // Without a row, the first one is read, so that nothing has to wait for the condition.
        let at = match &row.valid {
            Some(valid) => format!("({valid}) ? {} : 0u", row.value),
            None => row.value.clone(),
        };
        self.line(&format!("{kind} x{id}; bool b{id} = true;"));
        let there = access.valid.as_ref().map(|valid| format!(" b{id} = {valid};")).unwrap_or_default();
        self.line(&format!("{{ const u64 row = {at}; x{id} = {};{there} }}", access.value));
        let valid = super::both(&row.valid, &access.valid.as_ref().map(|_| format!("b{id}")), "&&");
        Names { value: format!("x{id}"), valid, fault: row.fault.clone() }
    }
}

/// A loop over the rows of a run, which may be none: slots are empty with all bits or none set, and no run is as long as the former.
fn run_loop(join: u32, run: &str, row: &str) -> String {
    let some = format!("{run} != 0 && {run} != ~0ull");
    format!(
        "for (u32 at{row} = {some} ? (u32){run} : 0, to{row} = {some} ? (u32)({run} >> 32) : 0; at{row} < to{row}; at{row}++) {{ \
         const u32 {row} = j{join}order[at{row}];"
    )
}

fn all(conditions: &[String]) -> String {
    if conditions.is_empty() { "true".to_string() } else { format!("({})", conditions.join(" && ")) }
}

/// What is written for each pair, by its place: the row of the source, those that earlier joins found, and that of this join.
pub struct Pairs<'a> {
    pub join: usize,
    pub how: How,
    /// Which joins before have pairs.
    pub earlier: &'a [usize],
    /// Whether the source's rows are pairs themselves.
    pub composed: bool,
}

impl Pairs<'_> {
    /// Statements that write a pair at `to`.
    fn write(&self, found: &str) -> String {
        let source = if self.composed { "pair[row]" } else { "(u32)row" };
        let copies: String = self.earlier.iter().map(|join| format!(" to_{join}[to] = j{join}pair[row];")).collect();
        format!("to_source[to] = {source};{copies} to_found[to] = {found};")
    }
}

/// Statements that give a row's run: `from`, and how many rows it becomes, `many`. Where more than the keys decides, `each` is done with
/// each `other` row instead.
fn run_of(body: &Body, pairs: &Pairs, probe: Id, indent: &'static str, each: &str) -> String {
    let mut writer = Writer::new(body, Inputs::Memory, indent);
    let pass = body.passing(&mut writer);
    writer.line(&format!("if ({pass}) {{"));
    let args: Vec<Names> = body.graph.node(probe).args.clone().iter().map(|arg| writer.value(*arg)).collect();
    for arg in &args {
        writer.note(arg);
    }
    let found = writer.find(probe, pairs.join as u32, &args);
    writer.line(&format!("const u64 run = {found};"));
    if body.beside.joins[pairs.join].residual.is_some() {
        let (text, condition) = writer.holding(probe, pairs.join as u32, "other");
        writer.line(&run_loop(pairs.join as u32, "run", "other"));
        writer.text.push_str(&text);
        writer.line(&format!("if ({condition}) {{ {each} many++; }}"));
        writer.line("}");
        if pairs.how.keeps() {
            writer.line(&format!("if (many == 0) {{ const u32 other = ~0u; {each} many = 1; }}"));
        }
        writer.line("}");
        return writer.text;
    }
    // Slots are empty with all bits or none set; no run is as long as the former, or empty.
    writer.line("if (run != 0 && run != ~0ull) { from = (u32)run; many = (u32)(run >> 32) - from; }");
    if pairs.how.keeps() {
        writer.line("else { from = ~0u; many = 1; }");
    }
    writer.line("}");
    writer.text
}

pub fn count_parameters(body: &Body, status: &Status) -> Parameters {
    let mut parameters = body.parameters(status.fault());
    parameters.address("u64*", "count", status.count());
    parameters
}

/// How many pairs there are; `count` must be zero before.
pub fn count(body: &Body, pairs: &Pairs, probe: Id, parameters: &Parameters) -> Program {
    let text = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) join_count({}) {{\n  u32 faults = 0;\n  u64 sum = 0;\n\
         #pragma unroll 1\n  for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) {{\n    u32 from = 0, many = 0;\n{}    \
         sum += many;\n  }}\n  for (u32 by = 16; by > 0; by /= 2) sum += __shfl_down_sync(ALL_LANES, sum, by);\n  \
         if (lane_id() == 0 && sum != 0) atomicAdd(count, sum);\n  if (faults != 0) atomicOr(fault, 1u);\n}}\n",
        parameters.text(),
        run_of(body, pairs, probe, "    ", ""),
    );
    body.program(&[&headers::HASH_GROUP], text, "join_count")
}

/// Memory of the kernel that writes pairs.
pub struct Written<'a> {
    /// Ticket, then the look-back state of each tile: zero before the launch.
    pub state: &'a Buffer,
    /// The rows of the joined table in the order of their runs.
    pub order: &'a Buffer,
    pub source: &'a Buffer,
    pub earlier: &'a [Buffer],
    pub found: &'a Buffer,
}

impl Written<'_> {
    fn declare(&self, pairs: &Pairs, parameters: &mut Parameters) {
        parameters.buffer("u32* __restrict__", "to_source", self.source);
        for (join, buffer) in pairs.earlier.iter().zip(self.earlier) {
            parameters.buffer("u32* __restrict__", &format!("to_{join}"), buffer);
        }
        parameters.buffer("u32* __restrict__", "to_found", self.found);
    }
}

pub fn pairs_parameters(body: &Body, pairs: &Pairs, status: &Status, written: &Written) -> Parameters {
    let mut parameters = body.parameters(status.fault());
    parameters.address("u32*", "ticket", written.state.address());
    parameters.address("u64*", "state", written.state.address() + 8);
    parameters.buffer("const u32* __restrict__", "order", written.order);
    written.declare(pairs, &mut parameters);
    parameters
}

/// Where more than the keys decides, all rows of a run are looked at: by few blocks and in pieces, so that there is room for those of other runs beside and between them.
#[derive(Clone)]
pub struct Looked<'a> {
    pub rows: Range<u64>,
    /// How many pairs each row has.
    pub counts: &'a Buffer,
    /// With those of the rows before it, once they are added up; and where pairs go.
    pub written: Option<(&'a Buffer, &'a Written<'a>)>,
}

pub fn looked_parameters(body: &Body, pairs: &Pairs, status: &Status, of: &Looked) -> Parameters {
    let mut parameters = body.parameters(status.fault());
    parameters.u64("begin", of.rows.start);
    parameters.u64("end", of.rows.end);
    parameters.buffer("u32*", "counts", of.counts);
    if let Some((ends, written)) = of.written {
        parameters.buffer("const u64*", "ends", ends);
        written.declare(pairs, &mut parameters);
    }
    parameters
}

/// Counts the pairs of each row, or writes them where rows have some.
pub fn looked(body: &Body, pairs: &Pairs, probe: Id, parameters: &Parameters, writes: bool) -> Program {
    let (name, condition, before, after, each) = match writes {
        false => ("join_looked", "", "", "    counts[row] = many;\n", String::new()),
        true => (
            "join_written",
            "    if (counts[row] == 0) continue;\n",
            "    u64 to = ends[row] - counts[row];\n",
            "    (void)many;\n",
            format!("{} to++;", pairs.write("other")),
        ),
    };
    let text = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) {name}({}) {{\n  u32 faults = 0;\n\
         #pragma unroll 1\n  for (u64 row = begin + thread_in_grid(); row < end; row += threads_in_grid()) {{\n{condition}{before}    \
         u32 from = 0, many = 0;\n{}    (void)from;\n{after}  }}\n  if (faults != 0) atomicOr(fault, 1u);\n}}\n",
        parameters.text(),
        run_of(body, pairs, probe, "    ", &each),
    );
    body.program(&[&headers::HASH_GROUP], text, name)
}

/// A tile of rows finds its runs, then its threads share out the pairs, so that a row with many of them is not the work of one.
pub fn pairs(body: &Body, pairs: &Pairs, probe: Id, parameters: &Parameters) -> Program {
    let write = pairs.write("starts[low] == ~0u ? ~0u : order[starts[low] + (k - first)]");
    let shared_out = format!(
        "#pragma unroll 1\n  for (u64 k = threadIdx.x; k < total; k += {THREADS}) {{\n    u32 low = 0, high = ROWS - 1;\n    \
         while (low < high) {{\n      const u32 middle = (low + high) / 2;\n      if (ends[middle] > k) high = middle; else low = middle + 1;\n    }}\n    \
         const u64 first = low == 0 ? 0 : ends[low - 1];\n    const u64 row = (u64)tile * ROWS + low;\n    const u64 to = before_tile + k;\n    {write}\n  }}\n"
    );
    let text = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) join_pairs({parameters}) {{\n  \
         __shared__ u32 tile_number;\n  __shared__ u64 of_warp[{THREADS} / WARP];\n  __shared__ u64 before_tile;\n  \
         __shared__ u64 ends[{THREADS} * {ITEMS}];\n  __shared__ u32 starts[{THREADS} * {ITEMS}];\n  \
         u32 faults = 0;\n  const u32 tile = next_tile(ticket, &tile_number);\n  const u32 ROWS = {THREADS} * {ITEMS};\n  \
         u64 mine = 0;\n\
         #pragma unroll 1\n  for (u32 i = 0; i < {ITEMS}; i++) {{\n    const u32 at = threadIdx.x * {ITEMS} + i;\n    \
         const u64 row = (u64)tile * ROWS + at;\n    u32 from = 0, many = 0;\n    if (row < rows) {{\n{run}    }}\n    \
         mine += many;\n    starts[at] = from;\n    ends[at] = mine;\n  }}\n  \
         u64 sum = mine;\n  for (u32 by = 1; by < WARP; by *= 2) {{\n    const u64 below = __shfl_up_sync(ALL_LANES, sum, by);\n    \
         if (lane_id() >= by) sum += below;\n  }}\n  if (lane_id() == WARP - 1) of_warp[warp_id()] = sum;\n  __syncthreads();\n  \
         u64 base = sum - mine, total = 0;\n  for (u32 w = 0; w < {THREADS} / WARP; w++) {{\n    if (w < warp_id()) base += of_warp[w];\n    total += of_warp[w];\n  }}\n  \
         for (u32 i = 0; i < {ITEMS}; i++) ends[threadIdx.x * {ITEMS} + i] += base;\n  \
         if (warp_id() == 0) {{\n    const u64 before = lookback(state, tile, total);\n    if (lane_id() == 0) before_tile = before;\n  }}\n  \
         __syncthreads();\n{write}  \
         if (faults != 0) atomicOr(fault, 1u);\n}}\n",
        parameters = parameters.text(),
        run = run_of(body, pairs, probe, "      ", ""),
        write = shared_out,
    );
    body.program(&[&headers::HASH_GROUP, &headers::LOOKBACK], text, "join_pairs")
}

/// The rows of a joined table that no pair has: `left` is 1 for each before, and 0 for those that one has behind it.
pub fn matched() -> Program {
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) join_matched(const u32* found, u64 pairs, u32* left) {{\n  \
         for (u64 i = thread_in_grid(); i < pairs; i += threads_in_grid())\n    if (found[i] != ~0u) store_relaxed(left + found[i], 0u);\n}}\n\
         extern \"C\" __global__ void __launch_bounds__({THREADS}) join_left(u32* left, u64 rows) {{\n  \
         for (u64 i = thread_in_grid(); i < rows; i += threads_in_grid()) left[i] = 1;\n}}\n\
         extern \"C\" __global__ void __launch_bounds__({THREADS}) join_rest(const u32* left, const u64* places, u64 rows, u32* source, u32* found) {{\n  \
         for (u64 i = thread_in_grid(); i < rows; i += threads_in_grid()) {{\n    if (left[i] == 0) continue;\n    \
         source[places[i] - 1] = ~0u;\n    found[places[i] - 1] = (u32)i;\n  }}\n}}\n"
    );
    Program::new(&[&headers::HASH_GROUP], body, ["join_matched", "join_left", "join_rest"])
}

/// A text of a kernel in terms of `row`, at the source row of a pair.
pub fn at_pair(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    while let Some(at) = rest.find("row") {
        let (before, from) = rest.split_at(at);
        let after = &from[3..];
        let whole = !before.ends_with(is_word) && !after.starts_with(is_word);
        out.push_str(before);
        out.push_str(if whole { "(u64)pair[row]" } else { "row" });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Accesses of a source whose rows are named by `pair`. `lost`: some have none.
pub fn paired(accesses: &[Access], lost: bool) -> Vec<Access> {
    let at = |access: &Access| {
        let (value, valid) = (at_pair(&access.value), access.valid.as_deref().map(at_pair));
        if !lost {
            return Access { value, valid, ..access.clone() };
        }
        // Where there is none, the first row is read: there is one.
        let first = |text: &str| text.replace("(u64)pair[row]", "(u64)(pair[row] == ~0u ? 0u : pair[row])");
        let there = valid.map(|valid| format!(" && {}", first(&valid))).unwrap_or_default();
        let valid = Some(format!("(pair[row] != ~0u{there})"));
        Access { value: first(&value), valid, ..access.clone() }
    };
    accesses.iter().map(at).collect()
}

/// What a key's values are as digits.
pub fn is_wide(kind: Kind) -> bool {
    wide(kind)
}
