//! Join kernels: build the hash table or direct-address table, and probe it within a pipeline's kernel.

use std::hash::Hash;

use onrush_device::Buffer;
use onrush_kernels::{Program, Scalar, headers};

use super::group::{KeyLookup, bits, digit_parameters, key_words, wide, write_key};
use super::output::declare;
use super::{ColumnRef, Inputs, KernelBody, Parameters, ValueExpr, Writer};
use crate::column::output_column::OutputColumn;
use crate::ir::expr::{DeviceType, NodeId};
use crate::launch::stream_context::StatusBlock;

pub const THREADS: u32 = 256;

/// The payload that the table has for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BuildPayload {
    /// One row.
    Row,
    /// The begin and the end of its rows in a list of all rows.
    Run,
    /// Whether there is a row: its columns are at the slot itself. `complete`: each slot has one.
    Slot { complete: bool },
}

/// How a pipeline's rows probe a build side.
pub struct ProbePlan {
    pub number: usize,
    /// Keys are nodes of the pipeline.
    pub key_lookup: KeyLookup,
    pub nulls_equal: bool,
    /// Whether a key is a string whose dictionary indices must be mapped to another dictionary.
    pub renumbered: Vec<bool>,
    pub holds: BuildPayload,
    /// The residual condition on both rows, in terms of the pipeline's nodes.
    pub residual: Option<NodeId>,
    /// Whether each slot of dense keys has one row.
    pub complete: bool,
    /// Whether each row of the pipeline has a match.
    pub certain: bool,
    /// Rows of the build side, or slots if its columns are at these.
    pub rows: u64,
    /// Its columns, in terms of `row`.
    pub columns: Vec<ColumnRef>,
    pub parameters: Parameters,
    /// The parameters of the columns alone.
    pub of_columns: Parameters,
    /// Rows are pairs already, whose second half this array names; whether it may be none.
    pub paired: Option<bool>,
}

impl ProbePlan {
    /// All that a kernel's text depends on.
    pub fn codegen_key(&self) -> impl Hash {
        let columns: Vec<_> = self.columns.iter().map(ColumnRef::codegen_key).collect();
        let declarations = self.parameters.declarations.clone();
        let of = (self.nulls_equal, self.renumbered.clone(), self.holds, self.residual, self.certain);
        (self.key_lookup.codegen_key(), of, columns, declarations, self.paired)
    }
}

impl ProbePlan {
    /// Rows are pairs from here on.
    pub fn pair(&mut self, rows: &Buffer) {
        self.parameters = self.of_columns.clone();
        self.parameters.buffer("const u32* __restrict__", &format!("j{}pair", self.number), rows);
    }
}

/// 64-bit words of a slot.
pub fn stride(key_lookup: &KeyLookup) -> u32 {
    match key_lookup {
        KeyLookup::Direct { .. } => 1,
        KeyLookup::HashPacked { .. } | KeyLookup::HashSingle { .. } => 2,
        KeyLookup::HashMultiWord { keys } => (2 + key_words(keys)).next_multiple_of(4),
    }
}

/// The word of a slot that holds its row or run.
fn value_word(key_lookup: &KeyLookup) -> u32 {
    match key_lookup {
        KeyLookup::Direct { .. } => 0,
        KeyLookup::HashPacked { .. } | KeyLookup::HashSingle { .. } => 1,
        KeyLookup::HashMultiWord { keys } => 1 + key_words(keys),
    }
}

/// The table's type.
fn table_type(key_lookup: &KeyLookup) -> String {
    match key_lookup {
        KeyLookup::HashMultiWord { keys } => format!("WideTable<{}, {}>", key_words(keys), stride(key_lookup)),
        _ => "HashTable<2>".to_string(),
    }
}

fn filled(key_lookup: &KeyLookup, parameters: &mut Parameters, table: &Buffer, slots: u64) {
    if let KeyLookup::Direct { digits, .. } | KeyLookup::HashPacked { digits } = key_lookup {
        digit_parameters(digits, "k", parameters);
    }
    parameters.u64("slots", slots);
    parameters.buffer("u64*", "table", table);
}

/// The condition that a row has a key, behind statements that compute it.
fn keyed(writer: &mut Writer, key_lookup: &KeyLookup, nulls_equal: bool) -> String {
    let mut conditions = Vec::new();
    for key in key_lookup.keys() {
        let names = writer.value(key);
        writer.note(&names);
        conditions.extend(names.valid.filter(|_| !nulls_equal));
    }
    if conditions.is_empty() { "true".to_string() } else { conditions.join(" && ") }
}

/// Statements that note that a key has several rows: once a thread, because all write to one place.
const STORE_DUPLICATES: &str = " if (several) store_relaxed(duplicates, 1u);";

pub fn build_parameters(
    body: &KernelBody,
    key_lookup: &KeyLookup,
    status: &StatusBlock,
    table: &Buffer,
    slots: u64,
) -> Parameters {
    let mut parameters = body.parameters(status.fault());
    filled(key_lookup, &mut parameters, table, slots);
    parameters.address("u32*", "overflow", status.overflow());
    parameters.address("u32*", "duplicates", status.duplicates());
    parameters
}

/// Builds a table: puts one row under each key, and notes whether a key has several rows. A slot stores the row's
/// number plus one, and 0 if it is empty. In tables of 64-bit keys an empty slot has all bits set instead.
pub fn build(body: &KernelBody, key_lookup: &KeyLookup, nulls_equal: bool, parameters: &Parameters) -> Program {
    let mut writer = Writer::new(body, Inputs::Loaded, "        ");
    let condition = keyed(&mut writer, key_lookup, nulls_equal);
    writer.line(&format!("if ({condition}) {{"));
    write_key(&mut writer, key_lookup);
    let (place, empty) = match key_lookup {
        KeyLookup::Direct { .. } => {
            writer.line("faults |= key >= slots;");
            ("(u32*)(table + (key < slots ? key : 0))".to_string(), 0)
        }
        KeyLookup::HashPacked { .. } => {
            writer.line("u64* slot = found.find_from(key);");
            ("(u32*)(slot + 1)".to_string(), u32::MAX)
        }
        KeyLookup::HashSingle { .. } => {
            writer.line("u64* slot = found.find_any(key, nokey);");
            ("(u32*)(slot + 1)".to_string(), u32::MAX)
        }
        KeyLookup::HashMultiWord { .. } => {
            writer.line("u64* slot = found.find(key);");
            (format!("(u32*)(slot + {})", value_word(key_lookup)), 0)
        }
    };
    let mut declare = String::new();
    if !matches!(key_lookup, KeyLookup::Direct { .. }) {
        declare = format!("  {} found{{table, slots, overflow}};\n", table_type(key_lookup));
        // The caller starts again with a larger table.
        writer.line("if (slot == nullptr) return false;");
    }
    let stored = if empty == 0 { "(u32)row + 1" } else { "(u32)row" };
    writer.line(&format!("several |= atomicExch({place}, {stored}) != {empty}u;"));
    writer.line("}");
    let roots = key_lookup.keys();
    let loads = body.loads(&roots);
    let text = format!(
        "{}extern \"C\" __global__ void __launch_bounds__({THREADS}) join_build({}) {{\n  u32 faults = 0;\n  bool several = false;\n\
         {declare}{}}}\n",
        loads.columns,
        parameters.text(),
        body.ending_loop(&loads, body.unroll(&roots).min(4), &writer.text, None, STORE_DUPLICATES),
    );
    body.program(&[&headers::HASH_GROUP], text, "join_build")
}

/// `targets` are where the columns `roots` of a row go, by its slot.
pub fn direct_parameters(
    body: &KernelBody,
    key_lookup: &KeyLookup,
    status: &StatusBlock,
    (present, slots): (&Buffer, u64),
    (roots, targets): (&[NodeId], &[OutputColumn]),
) -> Parameters {
    let mut parameters = body.parameters(status.fault());
    if let KeyLookup::Direct { digits, .. } = key_lookup {
        digit_parameters(digits, "k", &mut parameters);
    }
    parameters.u64("slots", slots);
    parameters.buffer("u32*", "present", present);
    parameters.address("u32*", "duplicates", status.duplicates());
    declare(&mut parameters, body, roots, targets);
    parameters
}

/// Puts columns of the rows of a table to the slots of their dense keys, and notes whether some key has several.
pub fn direct(
    body: &KernelBody,
    key_lookup: &KeyLookup,
    nulls_equal: bool,
    roots: &[NodeId],
    parameters: &Parameters,
) -> Program {
    let mut writer = Writer::new(body, Inputs::Loaded, "        ");
    let condition = keyed(&mut writer, key_lookup, nulls_equal);
    writer.line(&format!("if ({condition}) {{"));
    write_key(&mut writer, key_lookup);
    writer.line("faults |= key >= slots;");
    writer.line("const u32 slot = (u32)(key < slots ? key : 0), bit = 1u << (slot % 32);");
    writer.line("if ((atomicOr(&present[slot / 32], bit) & bit) != 0) several = true;");
    writer.line("else {");
    put(&mut writer, roots, "slot");
    writer.line("}}");
    let read: Vec<NodeId> = key_lookup.keys().into_iter().chain(roots.iter().copied()).collect();
    let loads = body.loads(&read);
    let text = format!(
        "{}extern \"C\" __global__ void __launch_bounds__({THREADS}) join_direct({}) {{\n  u32 faults = 0;\n  bool several = false;\n{}}}\n",
        loads.columns,
        parameters.text(),
        body.ending_loop(&loads, body.unroll(&read).min(4), &writer.text, None, STORE_DUPLICATES),
    );
    body.program(&[&headers::HASH_GROUP], text, "join_direct")
}

pub fn slots_parameters(
    body: &KernelBody,
    key_lookup: &KeyLookup,
    status: &StatusBlock,
    (table, slots): (&Buffer, u64),
    out: &Buffer,
    values: Option<&Buffer>,
) -> Parameters {
    let mut parameters = build_parameters(body, key_lookup, status, table, slots);
    parameters.buffer("u32*", "out", out);
    if let Some(values) = values {
        parameters.buffer("u64*", "values", values);
    }
    parameters
}

/// The slot of each row of a table that has been built; behind the last one for rows without a key. And the bits of a
/// value that is never null, where it is to be moved with them.
pub fn slots(
    body: &KernelBody,
    key_lookup: &KeyLookup,
    nulls_equal: bool,
    moved: Option<NodeId>,
    parameters: &Parameters,
) -> Program {
    let mut writer = Writer::new(body, Inputs::Loaded, "        ");
    let condition = keyed(&mut writer, key_lookup, nulls_equal);
    writer.line(&format!("u64 mine = slots + {};", key_lookup.special()));
    writer.line(&format!("if ({condition}) {{"));
    write_key(&mut writer, key_lookup);
    let place = match key_lookup {
        KeyLookup::Direct { .. } => "key",
        KeyLookup::HashPacked { .. } => "found.find_from(key)",
        KeyLookup::HashSingle { .. } => "found.find_any(key, nokey)",
        KeyLookup::HashMultiWord { .. } => "found.find(key)",
    };
    let mut declare = String::new();
    if matches!(key_lookup, KeyLookup::Direct { .. }) {
        writer.line("faults |= key >= slots;");
        writer.line(&format!("mine = {place} < slots ? {place} : slots;"));
    } else {
        declare = format!("  {} found{{table, slots, overflow}};\n", table_type(key_lookup));
        writer.line(&format!("u64* slot = {place};"));
        writer.line(&format!("if (slot != nullptr) mine = (u64)(slot - table) / {};", stride(key_lookup)));
    }
    writer.line("}");
    writer.line("out[row] = (u32)mine;");
    if let Some(moved) = moved {
        let names = writer.value(moved);
        writer.note(&names);
        writer.line(&format!(
            "values[row] = {};",
            match body.graph.kind(moved) {
                DeviceType::Number(Scalar::F64) => format!("(u64)__double_as_longlong({})", names.value),
                _ => format!("(u64){}", names.value),
            }
        ));
    }
    let roots: Vec<NodeId> = key_lookup.keys().into_iter().chain(moved).collect();
    let loads = body.loads(&roots);
    let text = format!(
        "{}extern \"C\" __global__ void __launch_bounds__({THREADS}) join_slots({}) {{\n  u32 faults = 0;\n{declare}{}}}\n",
        loads.columns,
        parameters.text(),
        body.rows_loop(&loads, body.unroll(&roots).min(4), &writer.text),
    );
    body.program(&[&headers::HASH_GROUP], text, "join_slots")
}

/// From the sorted slots of rows, the run of each slot or the first row of each slot: see `join_pairs.cuh`.
pub fn runs(key_lookup: &KeyLookup) -> Program {
    let (stride, word) = (stride(key_lookup), value_word(key_lookup));
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) join_runs(const u32* slots, u64 rows, u32 last, u64* table, u32* duplicates) {{\n  \
         join_write_runs<{stride}, {word}>(slots, rows, last, table, duplicates);\n}}\n\
         extern \"C\" __global__ void __launch_bounds__({THREADS}) join_rows(const u32* slots, u64 rows, u32 last, u64* table, const u32* order) {{\n  \
         join_write_first_rows<{stride}, {word}>(slots, rows, last, table, order);\n}}\n"
    );
    Program::new(&[&headers::JOIN_PAIRS], body, ["join_runs", "join_rows"])
}

/// Statements that put columns of a row to a place.
pub(super) fn put(writer: &mut Writer, roots: &[NodeId], to: &str) {
    for ((index, root), nullable) in roots.iter().enumerate().zip(writer.body.nullable(roots)) {
        let names = writer.value(*root);
        writer.note(&names);
        writer.line(&format!("o{index}[{to}] = {};", names.value));
        if nullable {
            writer.line(&format!("ov{index}[{to}] = {};", names.ok()));
        }
    }
}

/// Declares the parameters of a probe. `renumber` has the address of the dictionary-index map of each string key that
/// needs one.
pub fn probe_parameters(
    number: usize,
    key_lookup: &KeyLookup,
    (table, slots): (&Buffer, u64),
    renumber: &[Option<u64>],
    order: Option<&Buffer>,
    holds: BuildPayload,
) -> Parameters {
    let mut parameters = Parameters::new();
    if let KeyLookup::Direct { digits, .. } | KeyLookup::HashPacked { digits } = key_lookup {
        digit_parameters(digits, &format!("j{number}k"), &mut parameters);
    }
    parameters.u64(&format!("j{number}slots"), slots);
    match holds {
        BuildPayload::Slot { complete: true } => {}
        BuildPayload::Slot { complete: false } => {
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
    pub(super) fn probe(&mut self, id: NodeId, join: u32, args: &[ValueExpr]) -> ValueExpr {
        let probing = &self.body.beside.joins[join as usize];
        if let Some(maybe) = probing.paired {
            self.line(&format!("const u32 x{id} = j{join}pair[row];"));
            let valid = maybe.then(|| format!("(x{id} != ~0u)"));
            return ValueExpr { value: format!("x{id}"), valid, fault: None };
        }
        let fault = args.iter().fold(None, |fault, arg| super::both(&fault, &arg.fault, "||"));
        let found = self.find(id, join, args);
        let row = match (&probing.key_lookup, probing.holds) {
            (_, BuildPayload::Run) => String::new(),
            (_, BuildPayload::Slot { .. }) => found.clone(),
            (KeyLookup::Direct { .. } | KeyLookup::HashMultiWord { .. }, _) => format!("(u32){found} - 1"),
            _ => format!("(u32){found}"),
        };
        match probing.residual {
            None => self.line(&format!("const u32 x{id} = {row};")),
            Some(_) => {
                self.line(&format!("u32 x{id} = ~0u;"));
                let loops = match probing.holds {
                    BuildPayload::Row | BuildPayload::Slot { .. } => {
                        format!("for (u32 jc{id} = {row}, once = 0; once == 0 && jc{id} != ~0u; once++) {{")
                    }
                    BuildPayload::Run => {
                        self.line(&format!("const u64 jr{id} = {found};"));
                        run_loop(join, &format!("jr{id}"), &format!("jc{id}"))
                    }
                };
                let (text, condition) = self.holding(id, join, &format!("jc{id}"));
                self.line(&loops);
                self.text.push_str(&text);
                // All rows of the range are tested: one after the first match may have a row error.
                self.line(&format!("if (x{id} == ~0u && ({condition})) x{id} = jc{id};"));
                self.line("}");
            }
        }
        let valid = (!probing.certain).then(|| format!("(x{id} != ~0u)"));
        ValueExpr { value: format!("x{id}"), valid, fault }
    }

    /// Statements that compute what else must hold of a row that has the keys, and the condition.
    pub(super) fn holding(&self, probe: NodeId, join: u32, row: &str) -> (String, String) {
        let Some(residual) = self.body.beside.joins[join as usize].residual else {
            return (String::new(), "true".to_string());
        };
        let mut inner = Writer::new(self.body, Inputs::Memory, self.indent);
        inner.names.insert(probe, ValueExpr { value: row.to_string(), ..ValueExpr::default() });
        let names = inner.value(residual);
        inner.note(&names);
        (inner.text, format!("{} && {}", names.ok(), names.value))
    }

    /// The word that the table has for the keys: that of an empty slot where there are no such keys. The slot itself
    /// where its columns are there.
    pub(super) fn find(&mut self, id: NodeId, join: u32, args: &[ValueExpr]) -> String {
        let probing = &self.body.beside.joins[join as usize];
        let mut conditions: Vec<String> = Vec::new();
        let mut values = Vec::new();
        for (index, arg) in args.iter().enumerate() {
            if !probing.nulls_equal {
                conditions.extend(arg.valid.clone());
            }
            let value = match probing.renumbered[index] {
                true => {
                    // The dictionary index of a null is arbitrary.
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
        let object = format!("{}{{j{join}table, j{join}slots, nullptr}}", table_type(&probing.key_lookup));
        let call = match &probing.key_lookup {
            KeyLookup::Direct { digits, .. } | KeyLookup::HashPacked { digits } => {
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
                match &probing.key_lookup {
                    KeyLookup::Direct { .. } => {
                        if probing.holds == (BuildPayload::Slot { complete: false }) {
                            conditions.push(format!("is_valid(j{join}present, jk{id})"));
                        }
                        let condition = if probing.certain { "true".to_string() } else { all(&conditions) };
                        return match probing.holds {
                            BuildPayload::Slot { .. } => format!("({condition} ? (u32)jk{id} : ~0u)"),
                            _ => format!("j{join}table[{condition} ? jk{id} : j{join}slots]"),
                        };
                    }
                    _ => format!("{object}.word_of(jk{id})"),
                }
            }
            KeyLookup::HashSingle { kind, .. } => {
                self.line(&format!("const u64 jk{id} = {};", bits(*kind, &values[0])));
                let key = format!("(jk{id} == EMPTY_KEY ? {object}.special_word(0) : {object}.word_of(jk{id}))");
                match &args[0].valid {
                    Some(valid) if probing.nulls_equal => format!("(({valid}) ? {key} : {object}.special_word(1))"),
                    _ => key,
                }
            }
            KeyLookup::HashMultiWord { keys } => {
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
        let empty = if matches!(probing.key_lookup, KeyLookup::HashMultiWord { .. }) { "0ull" } else { "~0ull" };
        match conditions.is_empty() {
            true => call,
            false => format!("({} ? {call} : {empty})", all(&conditions)),
        }
    }

    /// Reads a column of the build side at the matching row.
    pub(super) fn joined(&mut self, id: NodeId, join: u32, column: u32, row: &ValueExpr) -> ValueExpr {
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
        ValueExpr { value: format!("x{id}"), valid, fault: row.fault.clone() }
    }
}

/// A loop over the rows of a run, which may be empty. Empty slots have all bits or no bits set, and no run is that
/// long.
pub(super) fn run_loop(join: u32, run: &str, row: &str) -> String {
    let some = format!("{run} != 0 && {run} != ~0ull");
    format!(
        "for (u32 at{row} = {some} ? (u32){run} : 0, to{row} = {some} ? (u32)({run} >> 32) : 0; at{row} < to{row}; at{row}++) {{ \
         const u32 {row} = j{join}order[at{row}];"
    )
}

fn all(conditions: &[String]) -> String {
    if conditions.is_empty() { "true".to_string() } else { format!("({})", conditions.join(" && ")) }
}

/// Whether the values of a key have 128 bits.
pub fn is_wide(kind: DeviceType) -> bool {
    wide(kind)
}
