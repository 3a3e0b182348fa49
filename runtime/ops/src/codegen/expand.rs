//! Join expansion kernels for duplicate keys: count matches, write row-index pairs, or write the columns of matches
//! directly.

use std::ops::Range;

use onrush_device::Buffer;
use onrush_kernels::{Program, headers};

use super::group::rows_loop;
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
    let text = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) join_ordered({}) {{\n  u32 faults = 0;\n{}}}\n",
        parameters.text(),
        rows_loop(body, roots, body.unroll(roots).min(4), &writer.text, ""),
    );
    body.program(&[&headers::HASH_GROUP], text, "join_ordered")
}

/// The row numbers that are written for each pair: that of the source, those of earlier joins, and that of this join.
pub struct ExpandPlan<'a> {
    pub join: usize,
    pub how: JoinKind,
    /// Which joins before have pairs.
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

/// Statements that give a row's run: `from`, and how many rows it becomes, `many`. Where more than the keys decides, `each` is done with
/// each `other` row instead.
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

/// How many pairs there are, and each row's run: where it begins in the lower half of a word, how many rows it has in the upper one.
/// `count` must be zero before.
pub fn count(body: &KernelBody, pairs: &ExpandPlan, probe: NodeId, parameters: &Parameters) -> Program {
    let text = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) join_count({}) {{\n  u32 faults = 0;\n  u64 sum = 0;\n\
         #pragma unroll 1\n  for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) {{\n    u32 from = 0, many = 0;\n{}    \
         runs[row] = (u64)many << 32 | from;\n    sum += many;\n  }}\n  for (u32 by = 16; by > 0; by /= 2) sum += __shfl_down_sync(ALL_LANES, sum, by);\n  \
         if (lane_id() == 0 && sum != 0) atomicAdd(count, sum);\n  if (faults != 0) atomicOr(fault, 1u);\n}}\n",
        parameters.text(),
        run_of(body, pairs, probe, "    ", ""),
    );
    body.program(&[&headers::HASH_GROUP], text, "join_count")
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

/// A kernel in which the threads of a tile of rows share its pairs, so that a row with many pairs is not the work of
/// one thread. `each` is run with a `row`, its match `found`, and the pair's place, `to`. Without an `order` of the
/// build-side rows, they are in the order of their duplicate-key ranges themselves.
fn load_balanced_expand(name: &str, parameters: &Parameters, is_ordered: bool, each: &str) -> String {
    let other = "starts[low] + (u32)(k - first)";
    let other = if is_ordered { other.to_string() } else { format!("order[{other}]") };
    format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) {name}({}) {{\n  \
         __shared__ u32 tile_number;\n  __shared__ u64 of_warp[{THREADS} / WARP];\n  __shared__ u64 before_tile;\n  \
         __shared__ u64 ends[{THREADS} * {ITEMS}];\n  __shared__ u32 starts[{THREADS} * {ITEMS}];\n  \
         __shared__ u16 marks[{MARKED}];\n  \
         u32 faults = 0;\n  const u32 tile = next_tile(ticket, &tile_number);\n  const u32 ROWS = {THREADS} * {ITEMS};\n  \
         u64 mine = 0;\n\
         #pragma unroll 1\n  for (u32 i = 0; i < {ITEMS}; i++) {{\n    const u32 at = threadIdx.x * {ITEMS} + i;\n    \
         const u64 row = (u64)tile * ROWS + at;\n    const u64 run = row < rows ? runs[row] : 0;\n    \
         mine += run >> 32;\n    starts[at] = (u32)run;\n    ends[at] = mine;\n  }}\n  \
         u64 sum = mine;\n  for (u32 by = 1; by < WARP; by *= 2) {{\n    const u64 below = __shfl_up_sync(ALL_LANES, sum, by);\n    \
         if (lane_id() >= by) sum += below;\n  }}\n  if (lane_id() == WARP - 1) of_warp[warp_id()] = sum;\n  __syncthreads();\n  \
         u64 base = sum - mine, total = 0;\n  for (u32 w = 0; w < {THREADS} / WARP; w++) {{\n    if (w < warp_id()) base += of_warp[w];\n    total += of_warp[w];\n  }}\n  \
         for (u32 i = 0; i < {ITEMS}; i++) ends[threadIdx.x * {ITEMS} + i] += base;\n  \
         if (warp_id() == 0) {{\n    const u64 before = lookback(state, tile, total);\n    if (lane_id() == 0) before_tile = before;\n  }}\n  \
         if (total <= {MARKED}) {{\n    u32 k = (u32)base;\n    for (u32 i = 0; i < {ITEMS}; i++) {{\n      \
         const u32 at = threadIdx.x * {ITEMS} + i;\n      for (; k < (u32)ends[at]; k++) marks[k] = (u16)at;\n    }}\n  }}\n  \
         __syncthreads();\n\
         #pragma unroll 1\n  for (u64 k = threadIdx.x; k < total; k += {THREADS}) {{\n    u32 low = 0, high = ROWS - 1;\n    \
         if (total <= {MARKED}) low = high = marks[k];\n    while (low < high) {{\n      const u32 middle = (low + high) / 2;\n      if (ends[middle] > k) high = middle; else low = middle + 1;\n    }}\n    \
         const u64 first = low == 0 ? 0 : ends[low - 1];\n    const u64 row = (u64)tile * ROWS + low;\n    const u64 to = before_tile + k;\n    \
         const u32 found = starts[low] == ~0u ? ~0u : {other};\n{each}  }}\n  \
         if (faults != 0) atomicOr(fault, 1u);\n}}\n",
        parameters.text(),
    )
}

/// Writes pairs.
pub fn pairs(body: &KernelBody, pairs: &ExpandPlan, is_ordered: bool, parameters: &Parameters) -> Program {
    let each = format!("    {}\n", pairs.write("found"));
    let text = load_balanced_expand("join_pairs", parameters, is_ordered, &each);
    body.program(&[&headers::HASH_GROUP, &headers::LOOKBACK], text, "join_pairs")
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
    body.program(&[&headers::HASH_GROUP, &headers::LOOKBACK], text, "output_expanded")
}

/// Marks the rows of a build side that have no match. `left` is 1 for each row before the kernel runs, and 0 for
/// matched rows after it.
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
