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
    /// The lowest and the highest value that each accumulator along rows can have, if they are known.
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

/// For each row whether a partition begins with it, and in the upper half whether its peers do. Values are compared as
/// an order does: null is like null, and zeros have signs.
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

/// From the numbers of the partition and the peers of each row, where they begin: see `window.cuh`.
pub fn starts() -> Program {
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) window_starts(const u64* ids, u64 rows, u32* starts, u32* peers) {{\n  \
         window_write_starts(ids, rows, starts, peers);\n}}\n"
    );
    Program::new(&[&headers::WINDOW], body, ["window_starts"])
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

/// The totals of tiles (`window_tiles`), or the running values, once it is known what comes before each
/// (`window_running`).
pub fn running(body: &KernelBody, run: &ScanSpec, entry: &str, writes: bool, parameters: &Parameters) -> Program {
    let adds = adding(body, &run.layout.accumulators, "      ");
    let backwards = run.backwards;
    let add = format!("[&](u64 row, Totals& t) ROW_CODE {{\n{adds}    }}");
    let (kept, scan) = match writes {
        false => {
            let scan = format!(
                "window_scan_tiles<Totals, {THREADS}, {ITEMS}, {backwards}>(ids, rows, totals, resets,\n    {add});"
            );
            (String::new(), scan)
        }
        true => {
            let (mut fields, mut keep, mut write) = (String::new(), String::new(), String::new());
            for (index, (accumulator, kind)) in run.layout.accumulators.iter().zip(run.kinds).enumerate() {
                let value = match accumulator.op.update_op() {
                    UpdateOp::I128 => format!("wide_of(t.a{index}, t.a{index}h)"),
                    UpdateOp::Welford => format!("t.a{index}.m2"),
                    _ => format!("t.a{index}"),
                };
                let c = kind.cuda();
                let _ = write!(fields, " {c} a{index};");
                let _ = write!(keep, " kept.a{index} = ({c}){value};");
                let _ = writeln!(
                    write,
                    "      window_write_tile<{THREADS}, {ITEMS}, {backwards}>(shared, rows, first, to{index}, \
                     [&](u32 i) ROW_CODE {{ return kept[i].a{index}; }});"
                );
            }
            // Words of shared memory: the totals of a block, and then the values of a column.
            let widest = run.kinds.iter().map(|kind| kind.bytes().div_ceil(8)).max().unwrap_or(1) as u32;
            let words = (THREADS * run.layout.words).max(THREADS * ITEMS_APART * widest);
            let scan = format!(
                "window_scan_rows<Totals, RunningValues, {THREADS}, {ITEMS}, {words}, {backwards}>(ids, rows, before,\n    {add},\n    \
                 [&](const Totals& t, RunningValues& kept) ROW_CODE {{{keep} }},\n    \
                 [&](u64* shared, u64 first, const RunningValues* kept) ROW_CODE {{\n{write}    }});"
            );
            (format!("struct RunningValues {{{fields} }};\n"), scan)
        }
    };
    let text = format!(
        "{}{kept}extern \"C\" __global__ void __launch_bounds__({THREADS}) {entry}({}) {{\n  u32 faults = 0;\n  {scan}\n  \
         if (faults != 0) atomicOr(fault, 1u);\n}}\n",
        totals(run.layout, Pass::First),
        parameters.text(),
    );
    body.program(&[&headers::WINDOW], text, entry)
}

/// The totals before each tile, by one block.
pub fn before(body: &KernelBody, layout: &SlotLayout) -> Program {
    let text = format!(
        "{}extern \"C\" __global__ void __launch_bounds__({THREADS}) window_before(const Totals* totals, Totals* before, const u32* resets, u64 tiles) {{\n  \
         window_scan_totals<Totals, {THREADS}>(totals, before, resets, tiles);\n}}\n",
        totals(layout, Pass::First),
    );
    body.program(&[&headers::WINDOW], text, "window_before")
}

/// The structure of the accumulators of a span.
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
        "{}extern \"C\" __global__ void __launch_bounds__({THREADS}) window_spans({}) {{\n  u32 faults = 0;\n  \
         window_write_blocks<Span, {SPAN}>(rows, spans, [&](u64 row, Span& t) ROW_CODE {{\n{}    }});\n  \
         if (faults != 0) atomicOr(fault, 1u);\n}}\n",
        span(layout),
        parameters.text(),
        adding(body, &layout.accumulators, "      "),
    );
    body.program(&[&headers::WINDOW], text, "window_spans")
}

/// Longer spans, behind those that they are made of.
pub fn spans_of(body: &KernelBody, layout: &SlotLayout) -> Program {
    let text = format!(
        "{}extern \"C\" __global__ void __launch_bounds__({THREADS}) window_spans_of(Span* spans, u64 below, u64 shorter, u64 count) {{\n  \
         window_write_level<Span, {SPAN}>(spans, below, shorter, count);\n}}\n",
        span(layout),
    );
    body.program(&[&headers::WINDOW], text, "window_spans_of")
}

impl Writer<'_> {
    /// The begin or the end of a row's partition or peers, or the number of its peers in the partition, from 1 on.
    pub(super) fn edge(edge: WindowBoundary) -> &'static str {
        match edge {
            WindowBoundary::Begin => "(u64)wstarts[(u32)wids[row] - 1]",
            WindowBoundary::End => "(u64)wstarts[(u32)wids[row]]",
            WindowBoundary::PeersBegin => "(u64)wpeers[(wids[row] >> 32) - 1]",
            WindowBoundary::PeersEnd => "(u64)wpeers[wids[row] >> 32]",
            WindowBoundary::PeersNumber => "(wids[row] >> 32) - (wids[wstarts[(u32)wids[row] - 1]] >> 32) + 1",
        }
    }

    /// The value of an accumulator at a row.
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

    /// The value of an accumulator over the rows from one to before another. With spans it visits a tree of block
    /// aggregates: `window_visit_frame`.
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
        match has_spans {
            true => self.line(&format!(
                "window_visit_frame<{SPAN}>({}, {}, rows, [&](u64 row) ROW_CODE {{",
                from.value, to.value
            )),
            false => {
                self.line(&format!("const u64 from{id} = {}, to{id} = {};", from.value, to.value));
                self.line(&format!("for (u64 row = from{id}; row < to{id}; row++) {{"));
            }
        }
        let mut inner = Writer::new(self.body, Inputs::Memory, self.indent);
        let names = accumulator.of.map(|of| inner.value(of)).unwrap_or_default();
        inner.note(&names);
        let value = if way == UpdateOp::Count { "1" } else { &names.value };
        inner.line(&format!("if ({}) {}", names.ok(), more(value)));
        self.text.push_str(&inner.text);
        match has_spans {
            true => {
                let of = format!("wspans[at].a{number}");
                let merged = match way {
                    UpdateOp::Welford => format!("mo{id}.merge({of});"),
                    UpdateOp::I128 => format!(
                        "const Span& of = wspans[at]; {}",
                        more(&format!("wide_of(of.a{number}, of.a{number}h)"))
                    ),
                    _ => more(&of),
                };
                self.line(&format!("}}, [&](u64 at) ROW_CODE {{ {merged} }});"));
            }
            false => self.line("}"),
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
