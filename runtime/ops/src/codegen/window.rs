//! Window kernels: find partition and peer boundaries, and scan accumulators along partitions. The scan reads values
//! twice (tiles, totals of tiles, tiles again), and no block waits for another block.

use std::fmt::Write;

use onrush_device::Buffer;
use onrush_kernels::{Program, headers};

use super::reduce::{add, totals};
use super::{Inputs, KernelBody, Parameters, ValueExpr, Writer};
use crate::ir::aggregate::{Accumulator, AggregateOp, Pass, SlotLayout, UpdateOp};
use crate::ir::expr::{DeviceType, Node, NodeId, Op, WindowBoundary};
use crate::ir::value_range::Range;
use crate::pipeline::Window;

pub const THREADS: u32 = 256;
/// Rows of a thread, side by side.
const ITEMS: u32 = 8;
/// Values of a thread in shared memory.
const ITEMS_APART: u32 = ITEMS + 1;
/// Rows of the shortest span, and spans of each longer one. A frame looks at less than two of these of each length.
pub const SPAN: u64 = 16;
/// Rows of a block.
pub const TILE: u64 = (THREADS * ITEMS) as u64;

/// The state of windows over a table.
pub struct WindowState {
    pub parameters: Parameters,
    pub sliding: Vec<Accumulator>,
    /// Of accumulators along rows, the lowest and the highest value that each can have, where that is known.
    pub prefix: Vec<Option<Range>>,
    pub suffix: Vec<Option<Range>>,
    /// The structure of what accumulators have of spans, if there are any.
    pub block_tree: Option<String>,
    pub(crate) _memory: Vec<Buffer>,
}

pub fn flags_parameters(body: &KernelBody, fault: u64, flags: &Buffer) -> Parameters {
    let mut parameters = body.parameters(fault);
    parameters.buffer("u64* __restrict__", "flags", flags);
    parameters
}

/// For each row whether a partition begins with it, and in the upper half whether its peers do. Values are compared as an order does:
/// null is like null, and zeros have signs.
pub fn flags(body: &KernelBody, window: &Window, parameters: &Parameters) -> Program {
    let mut here = Writer::new(body, Inputs::Memory, "    ");
    let mut before = Writer::new(body, Inputs::Memory, "      ");
    for (number, key) in window.partition.iter().chain(&window.order).enumerate() {
        let kind = body.graph.kind(*key);
        let bits = |value: &str| match kind.is_float() {
            true => format!("(u64)Order<{}>::of({value})", kind.cuda()),
            false => value.to_string(),
        };
        let names = here.value(*key);
        here.note(&names);
        let t = if kind.is_float() { "u64" } else { kind.cuda() };
        here.line(&format!("const {t} h{number} = {}; const bool hv{number} = {};", bits(&names.value), names.ok()));
        let names = before.value(*key);
        let flag = if number < window.partition.len() { "begins" } else { "differs" };
        let (value, ok) = (bits(&names.value), names.ok());
        before.line(&format!("if (hv{number} != ({ok}) || (hv{number} && h{number} != {value})) {flag} = true;"));
    }
    let text = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) window_flags({}) {{\n  u32 faults = 0;\n\
         #pragma unroll 1\n  for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) {{\n{}    \
         bool begins = row == 0, differs = false;\n    if (row > 0) {{\n      const u64 here = row;\n      const u64 row = here - 1;\n{}    }}\n    \
         flags[row] = (begins ? 1ull : 0ull) | (begins || differs ? 1ull << 32 : 0ull);\n  }}\n  if (faults != 0) atomicOr(fault, 1u);\n}}\n",
        parameters.text(),
        here.text,
        before.text,
    );
    body.program(&[], text, "window_flags")
}

/// From the numbers of each row's partition and peers, from 1 on, where these begin; behind the last one the number of rows.
pub fn starts() -> Program {
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) window_starts(const u64* ids, u64 rows, u32* starts, u32* peers) {{\n  \
         for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) {{\n    const u64 id = ids[row], before = row == 0 ? 0 : ids[row - 1];\n    \
         if ((u32)id != (u32)before) starts[(u32)id - 1] = (u32)row;\n    if (id >> 32 != before >> 32) peers[(id >> 32) - 1] = (u32)row;\n    \
         if (row + 1 == rows) {{ starts[(u32)id] = (u32)rows; peers[id >> 32] = (u32)rows; }}\n  }}\n}}\n"
    );
    Program::new(&[&headers::PRELUDE], body, ["window_starts"])
}

/// Memory of accumulators that run.
pub struct ScanSpec<'a> {
    pub layout: &'a SlotLayout,
    pub kinds: &'a [DeviceType],
    pub ids: &'a Buffer,
    pub totals: &'a Buffer,
    /// The address of what comes before each tile.
    pub before: u64,
    pub resets: &'a Buffer,
    /// From the last row to the first: partitions begin at their ends.
    pub backwards: bool,
}

pub fn running_parameters(body: &KernelBody, fault: u64, run: &ScanSpec, sums: Option<&[Buffer]>) -> Parameters {
    let mut parameters = body.parameters(fault);
    parameters.buffer("const u64* __restrict__", "ids", run.ids);
    match sums {
        None => {
            parameters.buffer("Totals*", "totals", run.totals);
            parameters.buffer("u32*", "resets", run.resets);
        }
        Some(sums) => {
            parameters.address("const Totals*", "before", run.before);
            for (index, (kind, buffer)) in run.kinds.iter().zip(sums).enumerate() {
                parameters.buffer(&format!("{}* __restrict__", kind.cuda()), &format!("to{index}"), buffer);
            }
        }
    }
    parameters
}

/// Statements that add one row to `t`.
fn adding(body: &KernelBody, accumulators: &[Accumulator], indent: &'static str) -> String {
    let mut writer = Writer::new(body, Inputs::Memory, indent);
    for (index, accumulator) in accumulators.iter().enumerate() {
        let way = accumulator.op.update_op();
        let Some(of) = accumulator.of else {
            writer.line(&add(way, index, ""));
            continue;
        };
        let names = writer.value(of);
        writer.note(&names);
        let text = add(way, index, &names.value);
        match &names.valid {
            Some(valid) => writer.line(&format!("if ({valid}) {text}")),
            None => writer.line(&text),
        }
    }
    writer.text
}

/// Of the threads before this one in a block: `t` with what they have, as far as no partition begins in between.
const SCAN: &str = "struct Scan {
  Totals* parts;
  u32* begins;
  // Gives what comes before the thread, and whether a partition begins there; `t` and `reset` become what is known behind it.
  __device__ __forceinline__ void run(Totals& t, u32& reset, Totals& earlier, u32& earlier_reset) {
    const u32 me = threadIdx.x;
    parts[me] = t;
    begins[me] = reset;
    __syncthreads();
    for (u32 by = 1; by < blockDim.x; by *= 2) {
      Totals left;
      u32 left_reset = 0;
      if (me >= by) { left = parts[me - by]; left_reset = begins[me - by]; }
      __syncthreads();
      if (me >= by) {
        if (reset == 0) { left.merge(t); t = left; }
        reset |= left_reset;
        parts[me] = t;
        begins[me] = reset;
      }
      __syncthreads();
    }
    earlier.clear();
    earlier_reset = 0;
    if (me > 0) { earlier = parts[me - 1]; earlier_reset = begins[me - 1]; }
  }
};
";

/// The totals of tiles (`window_tiles`), or the running values, once it is known what comes before each (`window_running`).
pub fn running(body: &KernelBody, run: &ScanSpec, entry: &str, writes: bool, parameters: &Parameters) -> Program {
    let adds = adding(body, &run.layout.accumulators, "      ");
    let (row, begins) = match run.backwards {
        true => ("rows - 1 - at", "at == 0 || (u32)ids[row] != (u32)ids[row + 1]"),
        false => ("at", "at == 0 || (u32)ids[row] != (u32)ids[row - 1]"),
    };
    let each = |unroll: u32, inside: &str| {
        format!(
            "#pragma unroll {unroll}\n  for (u32 i = 0; i < {ITEMS}; i++) {{\n    const u64 at = first + i;\n    if (at < rows) {{\n      const u64 row = {row};\n      \
             if ({begins}) {{ t.clear(); reset = 1; }}\n{adds}{inside}    }}\n  }}\n"
        )
    };
    // Words of shared memory: a block's totals, and, when these are known, a column's values of the block.
    let widest = run.kinds.iter().map(|kind| kind.bytes().div_ceil(8)).max().unwrap_or(1) as u32;
    let words = (THREADS * run.layout.words).max(if writes { THREADS * ITEMS_APART * widest } else { 0 });
    let mut text = format!(
        "{totals}{SCAN}extern \"C\" __global__ void __launch_bounds__({THREADS}) {entry}({parameters}) {{\n  \
         __shared__ __align__(16) u64 shared[{words}];\n  __shared__ u32 begins[{THREADS}];\n  u32 faults = 0;\n  \
         const u64 first = (u64)blockIdx.x * {TILE} + threadIdx.x * {ITEMS};\n  Totals t, earlier;\n  t.clear();\n  u32 reset = 0, earlier_reset;\n\
         {rows}  Scan{{(Totals*)shared, begins}}.run(t, reset, earlier, earlier_reset);\n",
        totals = totals(run.layout, Pass::First),
        parameters = parameters.text(),
        rows = each(1, ""),
    );
    if writes {
        // A thread's rows lie side by side, and a warp that wrote one of each would write a part of many lines at a time: the values go through shared
        // memory, a word apart for each thread so that they do not lie in one bank.
        let (mut declared, mut kept, mut written) = (String::new(), String::new(), String::new());
        for (index, (accumulator, kind)) in run.layout.accumulators.iter().zip(run.kinds).enumerate() {
            let value = match accumulator.op.update_op() {
                UpdateOp::I128 => format!("wide_of(t.a{index}, t.a{index}h)"),
                UpdateOp::Welford => format!("t.a{index}.m2"),
                _ => format!("t.a{index}"),
            };
            let c = kind.cuda();
            let _ = writeln!(declared, "  {c} had{index}[{ITEMS}];");
            let _ = writeln!(kept, "      had{index}[i] = ({c}){value};");
            let _ = write!(
                written,
                "  {{\n    {c}* const stage = ({c}*)shared;\n    __syncthreads();\n\
                 #pragma unroll\n    for (u32 i = 0; i < {ITEMS}; i++) if (first + i < rows) stage[threadIdx.x * {ITEMS_APART} + i] = had{index}[i];\n    \
                 __syncthreads();\n\
                 #pragma unroll\n    for (u32 i = threadIdx.x; i < {TILE}; i += {THREADS}) {{\n      const u64 at = (u64)blockIdx.x * {TILE} + i;\n      \
                 if (at < rows) to{index}[{row}] = stage[i / {ITEMS} * {ITEMS_APART} + i % {ITEMS}];\n    }}\n  }}\n"
            );
        }
        let _ = write!(
            text,
            "  t = earlier;\n  if (earlier_reset == 0) {{ t = before[blockIdx.x]; t.merge(earlier); }}\n{declared}{}{written}",
            each(ITEMS, &kept)
        );
    } else {
        let _ = writeln!(
            text,
            "  if (threadIdx.x == {THREADS} - 1) {{ totals[blockIdx.x] = t; resets[blockIdx.x] = reset; }}"
        );
    }
    text.push_str("  if (faults != 0) atomicOr(fault, 1u);\n}\n");
    body.program(&[], text, entry)
}

/// What comes before each tile, by one block.
pub fn before(body: &KernelBody, layout: &SlotLayout) -> Program {
    let text = format!(
        "{}{SCAN}extern \"C\" __global__ void __launch_bounds__({THREADS}) window_before(const Totals* totals, Totals* before, const u32* resets, u64 tiles) {{\n  \
         __shared__ Totals parts[{THREADS}];\n  __shared__ u32 begins[{THREADS}];\n  __shared__ Totals carried;\n  \
         if (threadIdx.x == 0) carried.clear();\n  __syncthreads();\n\
         #pragma unroll 1\n  for (u64 first = 0; first < tiles; first += {THREADS}) {{\n    const u64 tile = first + threadIdx.x;\n    \
         Totals t, earlier;\n    t.clear();\n    u32 reset = 0, earlier_reset;\n    if (tile < tiles) {{ t = totals[tile]; reset = resets[tile]; }}\n    \
         Scan{{parts, begins}}.run(t, reset, earlier, earlier_reset);\n    Totals whole = carried;\n    \
         if (tile < tiles) {{\n      if (earlier_reset == 0) {{ Totals left = whole; left.merge(earlier); earlier = left; }}\n      before[tile] = earlier;\n    }}\n    \
         __syncthreads();\n    if (threadIdx.x == {THREADS} - 1) {{\n      if (reset == 0) {{ whole.merge(t); t = whole; }}\n      carried = t;\n    }}\n    __syncthreads();\n  }}\n}}\n",
        totals(layout, Pass::First),
    );
    body.program(&[], text, "window_before")
}

/// What the accumulators of frames have of a span.
pub fn span(layout: &SlotLayout) -> String {
    totals(layout, Pass::First).replace("Totals", "Span")
}

pub fn spans_parameters(body: &KernelBody, fault: u64, spans: &Buffer) -> Parameters {
    let mut parameters = body.parameters(fault);
    parameters.buffer("Span*", "spans", spans);
    parameters
}

/// Computes the shortest spans, which consist of rows. Spans that are in no frame are computed, too. A row error in
/// such a span sends the fragment back to the CPU.
pub fn spans(body: &KernelBody, layout: &SlotLayout, parameters: &Parameters) -> Program {
    let text = format!(
        "{}extern \"C\" __global__ void __launch_bounds__({THREADS}) window_spans({}) {{\n  u32 faults = 0;\n\
         #pragma unroll 1\n  for (u64 span = thread_in_grid(); span < rows / {SPAN}; span += threads_in_grid()) {{\n    \
         Span t;\n    t.clear();\n\
         #pragma unroll 4\n    for (u32 i = 0; i < {SPAN}; i++) {{\n      const u64 row = span * {SPAN} + i;\n{}    }}\n    \
         spans[span] = t;\n  }}\n  if (faults != 0) atomicOr(fault, 1u);\n}}\n",
        span(layout),
        parameters.text(),
        adding(body, &layout.accumulators, "      "),
    );
    body.program(&[], text, "window_spans")
}

/// Longer spans, behind those that they are made of.
pub fn spans_of(body: &KernelBody, layout: &SlotLayout) -> Program {
    let text = format!(
        "{}extern \"C\" __global__ void __launch_bounds__({THREADS}) window_spans_of(Span* spans, u64 below, u64 shorter, u64 count) {{\n\
         #pragma unroll 1\n  for (u64 span = thread_in_grid(); span < count; span += threads_in_grid()) {{\n    \
         Span t;\n    t.clear();\n\
         #pragma unroll 4\n    for (u32 i = 0; i < {SPAN}; i++) t.merge(spans[below + span * {SPAN} + i]);\n    \
         spans[below + shorter + span] = t;\n  }}\n}}\n",
        span(layout),
    );
    body.program(&[], text, "window_spans_of")
}

impl Writer<'_> {
    /// Where a row's partition or peers begin or end, or the number of its peers in the partition, from 1 on.
    pub(super) fn edge(edge: WindowBoundary) -> &'static str {
        match edge {
            WindowBoundary::Begin => "(u64)wstarts[(u32)wids[row] - 1]",
            WindowBoundary::End => "(u64)wstarts[(u32)wids[row]]",
            WindowBoundary::PeersBegin => "(u64)wpeers[(wids[row] >> 32) - 1]",
            WindowBoundary::PeersEnd => "(u64)wpeers[wids[row] >> 32]",
            WindowBoundary::PeersNumber => "(wids[row] >> 32) - (wids[wstarts[(u32)wids[row] - 1]] >> 32) + 1",
        }
    }

    /// What an accumulator has at a row.
    pub(super) fn running(
        &mut self,
        id: NodeId,
        (name, number): (&str, u32),
        kind: DeviceType,
        row: &ValueExpr,
    ) -> ValueExpr {
        let t = kind.cuda();
        let value = match &row.valid {
            Some(valid) => format!("({valid}) ? {name}{number}[{}] : ({t})0", row.value),
            None => format!("{name}{number}[{}]", row.value),
        };
        self.line(&format!("const {t} x{id} = {value};"));
        ValueExpr { value: format!("x{id}"), valid: row.valid.clone(), fault: row.fault.clone() }
    }

    /// What an accumulator has of the rows from one to before another. With spans it begins with the rows at both ends that are in no span
    /// of the frame, goes on with the shortest spans that are in no longer one, and so on.
    pub(super) fn sliding(
        &mut self,
        id: NodeId,
        number: u32,
        kind: DeviceType,
        from: &ValueExpr,
        to: &ValueExpr,
    ) -> ValueExpr {
        let window = self.body.beside.window;
        let found = window.map(|found| found.sliding[number as usize]);
        let accumulator = found.unwrap_or(Accumulator::new(AggregateOp::Count, None));
        let t = kind.cuda();
        let way = accumulator.op.update_op();
        if way == UpdateOp::Welford {
            self.line(&format!("Moments mo{id}; mo{id}.clear();"));
        }
        let start = match way {
            UpdateOp::Min => "Limits<i64>::high()",
            UpdateOp::Max => "Limits<i64>::low()",
            UpdateOp::MinUnsigned => "Limits<u64>::high()",
            UpdateOp::Product | UpdateOp::ProductInteger => "1",
            _ => "0",
        };
        let more = |value: &str| match way {
            UpdateOp::Count => format!("x{id} += {value};"),
            UpdateOp::Welford => format!("mo{id}.add({value});"),
            UpdateOp::Float => format!("x{id} += {value};"),
            UpdateOp::Product => format!("x{id} *= {value};"),
            UpdateOp::ProductInteger => format!("x{id} = ({t})((u64)x{id} * (u64){value});"),
            UpdateOp::Integer => format!("x{id} = ({t})((u64)x{id} + (u64){value});"),
            UpdateOp::I128 => format!("x{id} = ({t})((u128)x{id} + (u128){value});"),
            UpdateOp::Min | UpdateOp::MinUnsigned => format!("x{id} = smaller(x{id}, ({t}){value});"),
            UpdateOp::Max | UpdateOp::MaxUnsigned => format!("x{id} = larger(x{id}, ({t}){value});"),
        };
        let has_spans = window.is_some_and(|found| found.block_tree.is_some());
        self.line(&format!("{t} x{id} = ({t}){start};"));
        self.line(&format!("u64 from{id} = {}, to{id} = {};", from.value, to.value));
        // Spans end where their numbers are whole multiples; the next one of a frame is at its begin or at its end.
        let next = format!("from{id} % {SPAN} != 0 ? from{id}++ : --to{id}");
        let inside = format!("from{id} < to{id} && (from{id} % {SPAN} != 0 || to{id} % {SPAN} != 0)");
        match has_spans {
            true => self.line(&format!("while ({inside}) {{\n{}  const u64 row = {next};", self.indent)),
            false => self
                .line(&format!("for (; from{id} < to{id}; from{id}++) {{\n{}  const u64 row = from{id};", self.indent)),
        }
        let mut inner = Writer::new(self.body, Inputs::Memory, self.indent);
        let names = accumulator.of.map(|of| inner.value(of)).unwrap_or_default();
        inner.note(&names);
        let value = if way == UpdateOp::Count { "1" } else { &names.value };
        inner.line(&format!("if ({}) {}", names.ok(), more(value)));
        self.text.push_str(&inner.text);
        self.line("}");
        if has_spans {
            let of = format!("wspans[first{id} + ({next})].a{number}");
            let merged = match way {
                UpdateOp::Welford => format!("mo{id}.merge({of});"),
                UpdateOp::I128 => format!(
                    "{{ const Span& of = wspans[first{id} + ({next})]; {} }}",
                    more(&format!("wide_of(of.a{number}, of.a{number}h)"))
                ),
                _ => more(&of),
            };
            self.line(&format!("u64 first{id} = 0, count{id} = 0, below{id} = rows;"));
            self.line(&format!("while (from{id} < to{id}) {{"));
            self.line(&format!("  first{id} += count{id}; below{id} /= {SPAN}; count{id} = below{id};"));
            self.line(&format!("  from{id} /= {SPAN}; to{id} /= {SPAN};"));
            self.line(&format!("  while ({inside}) {merged}"));
            self.line("}");
        }
        if way == UpdateOp::Welford {
            self.line(&format!("x{id} = mo{id}.m2;"));
        }
        let fault = super::both(&from.fault, &to.fault, "||");
        ValueExpr { value: format!("x{id}"), valid: None, fault }
    }

    /// A place among keys in order, by halves.
    pub(super) fn seek(&mut self, id: NodeId, node: &Node, args: &[ValueExpr]) -> ValueExpr {
        let Op::LowerBound { behind, nulls_first } = node.op else { return ValueExpr::default() };
        let [from, to, target, ..] = args else { return ValueExpr::default() };
        let valid = args.iter().fold(None, |valid, arg| super::both(&valid, &arg.valid, "&&"));
        let fault = args.iter().fold(None, |fault, arg| super::both(&fault, &arg.fault, "||"));
        let ok = valid.clone().unwrap_or_else(|| "true".to_string());
        self.line(&format!("u64 x{id} = {}, e{id} = {ok} ? {} : x{id};", from.value, to.value));
        self.line(&format!("while (x{id} < e{id}) {{"));
        self.line(&format!("  const u64 row = x{id} + (e{id} - x{id}) / 2;"));
        let mut inner = Writer::new(self.body, Inputs::Memory, self.indent);
        let (key, value) = (inner.value(node.args[3]), inner.value(node.args[4]));
        let operator = if behind { "<=" } else { "<" };
        inner.line(&format!(
            "if ({} ? {} {operator} {} : {nulls_first}) x{id} = row + 1; else e{id} = row;",
            value.ok(),
            key.value,
            target.value
        ));
        self.text.push_str(&inner.text);
        self.line("}");
        ValueExpr { value: format!("x{id}"), valid, fault }
    }
}
