//! Join expansion kernels for duplicate keys: count matches, write row-index pairs, or write the columns of matches
//! directly.

use std::ops::Range;

use onrush_device::Buffer;
use onrush_kernels::{Program, headers};

use super::join::{THREADS, put, run_loop};
use super::output::declare;
use super::{ColumnRef, Inputs, KernelBody, Parameters, ValueExpr, Writer};
use crate::column::output_column::OutputColumn;
use crate::ir::expr::NodeId;
use crate::launch::stream_context::StatusBlock;
use crate::pipeline::JoinKind;

/// Rows of a thread in a tile of the kernel that writes pairs.
pub const ITEMS: u32 = 4;
/// Pairs of a tile up to which its rows write their pairs themselves. In a tile with more pairs, each pair looks for
/// its row.
const MARKED: u32 = 4096;

pub fn ordered_parameters(
    body: &KernelBody,
    status: &StatusBlock,
    roots: &[NodeId],
    targets: &[OutputColumn],
) -> Parameters {
    let mut parameters = body.parameters(status.fault());
    declare(&mut parameters, body, roots, targets);
    parameters
}

/// Puts columns of rows side by side.
pub fn ordered(body: &KernelBody, roots: &[NodeId], parameters: &Parameters) -> Program {
    let mut writer = Writer::new(body, Inputs::Loaded, "        ");
    put(&mut writer, roots, "row");
    let loads = body.loads(roots);
    let text = format!(
        "{}extern \"C\" __global__ void __launch_bounds__({THREADS}) join_ordered({}) {{\n  u32 faults = 0;\n{}}}\n",
        loads.columns,
        parameters.text(),
        body.rows_loop(&loads, body.unroll(roots).min(4), &writer.text),
    );
    body.program(&[&headers::HASH_GROUP], text, "join_ordered")
}

/// The row numbers that are written for each pair: that of the source, those of earlier joins, and that of this join.
pub struct ExpandPlan<'a> {
    pub join: usize,
    pub how: JoinKind,
    /// The earlier joins that have pairs.
    pub earlier: &'a [usize],
    /// Whether the source's rows are pairs themselves.
    pub composed: bool,
}

impl ExpandPlan<'_> {
    /// Statements that write a pair at `to`.
    fn write(&self, found: &str) -> String {
        let source = if self.composed { "pair[row]" } else { "(u32)row" };
        let copies: String = self.earlier.iter().map(|join| format!(" to_{join}[to] = j{join}pair[row];")).collect();
        format!("to_source[to] = {source};{copies} to_found[to] = {found};")
    }
}

/// Statements that give a row's run: `from`, and how many rows it becomes, `many`. With a residual condition, `each` is
/// done with each `other` row instead.
fn run_of(body: &KernelBody, pairs: &ExpandPlan, probe: NodeId, indent: &'static str, each: &str) -> String {
    let mut writer = Writer::new(body, Inputs::Memory, indent);
    let pass = body.passing(&mut writer);
    writer.line(&format!("if ({pass}) {{"));
    let args: Vec<ValueExpr> = body.graph.node(probe).args.clone().iter().map(|arg| writer.value(*arg)).collect();
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

pub fn count_parameters(body: &KernelBody, status: &StatusBlock, runs: &Buffer) -> Parameters {
    let mut parameters = body.parameters(status.fault());
    parameters.address("u64*", "count", status.count());
    parameters.buffer("u64* __restrict__", "runs", runs);
    parameters
}

/// Counts pairs, and writes each row's run: its begin in the lower half of a word, its number of rows in the upper
/// half. `count` must be zero before.
pub fn count(body: &KernelBody, pairs: &ExpandPlan, probe: NodeId, parameters: &Parameters) -> Program {
    let text = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) join_count({}) {{\n  u32 faults = 0;\n  \
         join_count_pairs(rows, runs, count, [&](u64 row, u32& from, u32& many) ROW_CODE {{\n{}  }});\n  \
         if (faults != 0) atomicOr(fault, 1u);\n}}\n",
        parameters.text(),
        run_of(body, pairs, probe, "    ", ""),
    );
    body.program(&[&headers::HASH_GROUP, &headers::JOIN_PAIRS], text, "join_count")
}

/// Memory of the kernel that writes pairs.
pub struct PairOutput<'a> {
    /// The rows of the build side ordered by duplicate-key range. `None` if its columns are in that order themselves.
    pub order: Option<&'a Buffer>,
    pub source: &'a Buffer,
    pub earlier: &'a [Buffer],
    pub found: &'a Buffer,
}

impl PairOutput<'_> {
    fn declare(&self, pairs: &ExpandPlan, parameters: &mut Parameters) {
        parameters.buffer("u32* __restrict__", "to_source", self.source);
        for (join, buffer) in pairs.earlier.iter().zip(self.earlier) {
            parameters.buffer("u32* __restrict__", &format!("to_{join}"), buffer);
        }
        parameters.buffer("u32* __restrict__", "to_found", self.found);
    }
}

/// `state`: a ticket, then the look-back state of each tile, zero before the launch.
fn tiled(body: &KernelBody, status: &StatusBlock, state: &Buffer, runs: &Buffer, order: Option<&Buffer>) -> Parameters {
    let mut parameters = body.parameters(status.fault());
    parameters.address("u32*", "ticket", state.address());
    parameters.address("u64*", "state", state.address() + 8);
    parameters.buffer("const u64* __restrict__", "runs", runs);
    if let Some(order) = order {
        parameters.buffer("const u32* __restrict__", "order", order);
    }
    parameters
}

pub fn pairs_parameters(
    body: &KernelBody,
    pairs: &ExpandPlan,
    status: &StatusBlock,
    (state, runs): (&Buffer, &Buffer),
    written: &PairOutput,
) -> Parameters {
    let mut parameters = tiled(body, status, state, runs, written.order);
    written.declare(pairs, &mut parameters);
    parameters
}

/// The scan of a join with a residual condition: all rows of a duplicate-key range are tested. Few blocks run the scan,
/// in pieces, so that blocks of other executions fit next to and between them.
#[derive(Clone)]
pub struct ResidualScan<'a> {
    pub rows: Range<u64>,
    /// How many pairs each row has.
    pub counts: &'a Buffer,
    /// With those of the rows before it, once they are added up; and where pairs go.
    pub written: Option<(&'a Buffer, &'a PairOutput<'a>)>,
}

pub fn looked_parameters(body: &KernelBody, pairs: &ExpandPlan, status: &StatusBlock, of: &ResidualScan) -> Parameters {
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
pub fn looked(body: &KernelBody, pairs: &ExpandPlan, probe: NodeId, parameters: &Parameters, writes: bool) -> Program {
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

/// A kernel that expands pairs (`join_expand`). `each` is run with a `row`, its match `found`, and the position of the
/// pair, `to`. Without an `order` of the build-side rows, they are in the order of their duplicate-key ranges
/// themselves.
fn load_balanced_expand(name: &str, parameters: &Parameters, is_ordered: bool, each: &str) -> String {
    let order = if is_ordered { "nullptr" } else { "order" };
    format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) {name}({}) {{\n  u32 faults = 0;\n  \
         join_expand<{THREADS}, {ITEMS}, {MARKED}, {is_ordered}>(rows, ticket, state, runs, {order}, \
         [&](u64 row, u32 found, u64 to) ROW_CODE {{\n{each}  }});\n  if (faults != 0) atomicOr(fault, 1u);\n}}\n",
        parameters.text(),
    )
}

/// Writes pairs.
pub fn pairs(body: &KernelBody, pairs: &ExpandPlan, is_ordered: bool, parameters: &Parameters) -> Program {
    let each = format!("    {}\n", pairs.write("found"));
    let text = load_balanced_expand("join_pairs", parameters, is_ordered, &each);
    body.program(&[&headers::HASH_GROUP, &headers::JOIN_PAIRS], text, "join_pairs")
}

pub fn expanded_parameters(
    body: &KernelBody,
    status: &StatusBlock,
    (state, runs, order): (&Buffer, &Buffer, Option<&Buffer>),
    (roots, targets): (&[NodeId], &[OutputColumn]),
) -> Parameters {
    let mut parameters = tiled(body, status, state, runs, order);
    declare(&mut parameters, body, roots, targets);
    parameters
}

/// Writes columns of pairs, which are nowhere themselves. `keeps`: a row without another one stays, too.
pub fn expanded(
    body: &KernelBody,
    (probe, keeps): (NodeId, bool),
    roots: &[NodeId],
    is_ordered: bool,
    parameters: &Parameters,
) -> Program {
    let mut writer = Writer::new(body, Inputs::Memory, "    ");
    let valid = keeps.then(|| "(found != ~0u)".to_string());
    writer.know(probe, ValueExpr { value: "found".to_string(), valid, fault: None });
    put(&mut writer, roots, "to");
    let text = load_balanced_expand("output_expanded", parameters, is_ordered, &writer.text);
    body.program(&[&headers::HASH_GROUP, &headers::JOIN_PAIRS], text, "output_expanded")
}

/// Marks the rows of a build side that have no match. `left` is 1 for each row before the kernel runs, and 0 for
/// matched rows after it.
pub fn matched() -> Program {
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) join_matched(const u32* found, u64 pairs, u32* left) {{\n  \
         join_unmark_matched(found, pairs, left);\n}}\n\
         extern \"C\" __global__ void __launch_bounds__({THREADS}) join_left(u32* left, u64 rows) {{\n  \
         join_mark_all(left, rows);\n}}\n\
         extern \"C\" __global__ void __launch_bounds__({THREADS}) join_rest(const u32* left, const u64* places, u64 rows, u32* source, u32* found) {{\n  \
         join_append_left(left, places, rows, source, found);\n}}\n"
    );
    Program::new(&[&headers::JOIN_PAIRS], body, ["join_matched", "join_left", "join_rest"])
}

/// An expression of a kernel in terms of `row`, at the source row of a pair.
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
pub fn paired(accesses: &[ColumnRef], lost: bool) -> Vec<ColumnRef> {
    let at = |access: &ColumnRef| {
        let (value, valid) = (at_pair(&access.value), access.valid.as_deref().map(at_pair));
        if !lost {
            return ColumnRef { value, valid, ..access.clone() };
        }
        // Without a match, the first row is read: the build side has at least one row.
        let first = |text: &str| text.replace("(u64)pair[row]", "(u64)(pair[row] == ~0u ? 0u : pair[row])");
        let there = valid.map(|valid| format!(" && {}", first(&valid))).unwrap_or_default();
        let valid = Some(format!("(pair[row] != ~0u{there})"));
        ColumnRef { value: first(&value), valid, ..access.clone() }
    };
    accesses.iter().map(at).collect()
}
