//! Output kernels: write columns of all rows, or compact the rows that pass a filter in their order.

use std::fmt::Write;

use onrush_device::Buffer;
use onrush_kernels::{Program, headers};

use super::{Inputs, KernelBody, Parameters, ValueExpr, Writer};
use crate::column::output_column::OutputColumn;
use crate::column::string::{StringBuffers, StringRows};
use crate::ir::expr::{DeviceType, NodeId, Op};
use crate::launch::stream_context::StreamContext;

pub const THREADS: u32 = 256;
/// Threads of a block of the filtering kernel. The size of a block and the rows of a thread were measured on an H200.
pub const FILTERING: u32 = 512;
/// Rows of a thread in a tile of the filtering kernel. A tile waits for those before it once: more rows make that
/// cheaper, but build-side rows of probes are kept in registers.
pub fn items(body: &KernelBody) -> u32 {
    let Some(filter) = body.filter else { return 8 };
    let finds = body.graph.needed(&[filter]).iter().any(|id| matches!(body.graph.node(*id).op, Op::Probe(_)));
    if finds || body.unroll(&[filter]) < 4 { 8 } else { 16 }
}

pub(super) fn declare(parameters: &mut Parameters, body: &KernelBody, roots: &[NodeId], targets: &[OutputColumn]) {
    for (index, (root, target)) in roots.iter().zip(targets).enumerate() {
        let bits = if target.packed { "u32" } else { "u8" };
        let kind = body.graph.kind(*root);
        let stored = match kind {
            DeviceType::Bool => bits,
            DeviceType::String => "u32",
            _ => kind.cuda(),
        };
        parameters.buffer(&format!("{stored}* __restrict__"), &format!("o{index}"), &target.values);
        if let Some(valid) = &target.valid {
            parameters.buffer(&format!("{bits}* __restrict__"), &format!("ov{index}"), valid);
        }
    }
}

/// Rows of a source by their numbers: the address of these, and how many there are.
pub type RowOrder = (u64, u64);

/// Declares the parameters of the completion flag.
pub(super) fn telling(parameters: &mut Parameters, lane: &StreamContext) {
    parameters.address("u32*", "done", lane.status.done());
    parameters.address("volatile u64*", "told", lane.mailbox.address());
}

pub fn all_parameters(
    body: &KernelBody,
    roots: &[NodeId],
    targets: &[OutputColumn],
    lane: &StreamContext,
    order: Option<RowOrder>,
) -> Parameters {
    let mut parameters = body.parameters(lane.status.fault());
    telling(&mut parameters, lane);
    if let Some((numbers, count)) = order {
        parameters.address("const u32* __restrict__", "order", numbers);
        parameters.u64("count", count);
    }
    declare(&mut parameters, body, roots, targets);
    parameters
}

/// All rows, or those that an order names. The lanes of a warp have 32 rows side by side, whose bits are one word. A
/// warp that writes bits has as many adjacent words in flight as rows, and writes them together. Otherwise its rows are
/// as far apart as those of the grid.
pub fn all(body: &KernelBody, roots: &[NodeId], parameters: &Parameters, ordered: bool) -> Program {
    // Bits are little to write: such kernels wait for what they read.
    let are_bits = roots.iter().all(|root| body.graph.kind(*root) == DeviceType::Bool);
    let unroll = body.unroll(roots).min(if are_bits { 8 } else { 4 });
    let (inputs, read, rows) = match ordered {
        true => (Inputs::Memory, &[][..], "count"),
        false => (Inputs::Loaded, roots, "rows"),
    };
    let loads = body.loads(read);
    let mut writer = Writer::new(body, inputs, "        ");
    writer.line("const u64 to = row;");
    if ordered {
        writer.line("{ const u64 row = order[to];");
    }
    let (mut bits, mut declared, mut votes, mut put) = (0, String::new(), String::new(), String::new());
    for ((index, root), nullable) in roots.iter().enumerate().zip(body.nullable(roots)) {
        let names = writer.value(*root);
        writer.note(&names);
        let mut bit = |target: &str, writer: &mut Writer, value: &str| {
            let _ = write!(declared, " bool bit{bits} = false;");
            writer.line(&format!("bit{bits} = {value};"));
            let _ = write!(votes, " vote_word(words[{bits}], k, bit{bits});");
            let _ = write!(put, " {target}[word] = words[{bits}];");
            bits += 1;
        };
        match body.graph.kind(*root) {
            DeviceType::Bool => bit(&format!("o{index}"), &mut writer, &names.value),
            DeviceType::String => writer.length(index, *root),
            _ => writer.line(&format!("o{index}[to] = {};", names.value)),
        }
        if nullable {
            bit(&format!("ov{index}"), &mut writer, names.ok());
        }
    }
    if ordered {
        writer.line("}");
    }
    let text = format!(
        "{}extern \"C\" __global__ void __launch_bounds__({THREADS}) output_all({}) {{\n  u32 faults = 0;\n  \
         write_all_rows<Columns, {unroll}, {bits}>({rows}, {},\n    \
         [&](u32 k, u64 row, const Columns& loaded, u32* words) ROW_CODE {{\n     {declared}\n      \
         if (row < {rows}) {{\n{}      }}\n     {votes}\n    }},\n    \
         [&](u64 word, const u32* words) ROW_CODE {{{put} }});\n  \
         if (faults != 0) atomicOr(fault, 1u);\n  tell_grid(done, fault, nullptr, told);\n}}\n",
        loads.columns,
        parameters.text(),
        loads.load,
        writer.text,
    );
    body.program(&[&headers::WRITE_ROWS], text, "output_all")
}

/// Memory of the filtering kernel.
pub struct Scratch<'a> {
    /// Ticket, then the look-back state of each tile: zero before the launch.
    pub state: &'a Buffer,
    pub skip: u64,
    pub limit: u64,
}

pub fn filtered_parameters(
    body: &KernelBody,
    roots: &[NodeId],
    targets: &[OutputColumn],
    lane: &StreamContext,
    scratch: &Scratch,
) -> Parameters {
    let mut parameters = body.parameters(lane.status.fault());
    telling(&mut parameters, lane);
    parameters.address("u32*", "ticket", scratch.state.address());
    parameters.address("u64*", "state", scratch.state.address() + 8);
    parameters.address("u64*", "count", lane.status.count());
    parameters.u64("skip", scratch.skip);
    parameters.u64("limit", scratch.limit);
    declare(&mut parameters, body, roots, targets);
    parameters
}

/// Rows that are there and pass the filter, without the first `skip`, at most `limit` of them. Rows are counted after
/// all of a thread have been looked at, so that many loads are under way at once.
pub fn filtered(body: &KernelBody, roots: &[NodeId], parameters: &Parameters) -> Program {
    let items = items(body);
    let mut first = Writer::new(body, Inputs::Memory, "      ");
    let pass = body.passing(&mut first);
    let mut second = Writer::new(body, Inputs::Memory, "        ");
    // The results of probes are kept: a second probe costs as much as the first.
    let mut found = String::new();
    for (id, names) in first.probes() {
        let _ = write!(found, " u32 row{id};");
        first.line(&format!("found.row{id} = {};", names.value));
        // The filter need not have looked at it.
        if let Some(fault) = &names.fault {
            first.line(&format!("faults |= ({pass}) && ({fault});"));
        }
        let name = format!("found.row{id}");
        second.know(id, ValueExpr { valid: names.valid.map(|_| format!("({name} != ~0u)")), value: name, fault: None });
    }
    for ((index, root), nullable) in roots.iter().enumerate().zip(body.nullable(roots)) {
        let names = second.value(*root);
        second.note(&names);
        match body.graph.kind(*root) {
            DeviceType::String => second.length(index, *root),
            _ => second.line(&format!("o{index}[to] = {};", names.value)),
        }
        if nullable {
            second.line(&format!("ov{index}[to] = {};", names.ok()));
        }
    }
    let again = if found.is_empty() { body.unroll(roots).min(4) } else { items };
    first.line(&format!("return {pass};"));
    let text = format!(
        "struct ProbeResults {{{found} }};\n\
         extern \"C\" __global__ void __launch_bounds__({FILTERING}) output_filtered({}) {{\n  u32 faults = 0;\n  \
         write_filtered_rows<ProbeResults, {FILTERING}, {items}, {again}>(rows, ticket, state, count, skip, limit,\n    \
         [&](u64 row, ProbeResults& found) ROW_CODE -> bool {{\n{}    }},\n    \
         [&](u64 row, u64 to, const ProbeResults& found) ROW_CODE {{\n{}    }});\n  \
         if (faults != 0) atomicOr(fault, 1u);\n  tell_grid(done, fault, count, told);\n}}\n",
        parameters.text(),
        first.text,
        second.text,
    );
    body.program(&[&headers::WRITE_ROWS], text, "output_filtered")
}

/// `texts` are the columns of `texts` by their place among the results.
pub fn texts_parameters(
    body: &KernelBody,
    texts: &[(usize, &StringBuffers)],
    fault: u64,
    rows: &StringRows,
) -> Parameters {
    let mut parameters = body.parameters(fault);
    if let Some((kind, numbers)) = rows.numbers {
        parameters.address(&format!("const {kind}* __restrict__"), "order", numbers);
    }
    parameters.u64("count", rows.count);
    for (index, texts) in texts {
        parameters.buffer("const u64* __restrict__", &format!("oo{index}"), &texts.offsets);
        parameters.buffer("u8*", &format!("ob{index}"), &texts.bytes);
    }
    parameters
}

/// Bytes that a warp puts together for one column before they go to memory, at most: more lessens the threads that run
/// at once.
const STAGE: usize = 2048;
/// For all columns.
const STAGES: usize = 4096;

/// Writes the bytes of strings, at the offsets that the scan of their lengths gave. It writes all rows, or the rows
/// whose numbers are of type `order`. The strings of a warp's rows are adjacent. They are assembled in shared memory
/// and written in whole words, because single bytes of many lanes cost a transaction each. A longer string is written
/// to its place directly.
pub fn texts(body: &KernelBody, roots: &[NodeId], parameters: &Parameters, order: Option<&str>) -> Program {
    let of_texts = || roots.iter().enumerate().filter(|(_, root)| body.graph.kind(**root) == DeviceType::String);
    // With many columns some bytes that nothing fits into: an array of none is an error.
    let stage = ((STAGES / of_texts().count().max(1)).min(STAGE) / 8 * 8).max(8);
    let mut writer = Writer::new(body, Inputs::Memory, "      ");
    let (mut stages, mut declared, mut together) = (String::new(), String::new(), String::new());
    for (index, root) in of_texts() {
        let _ = writeln!(stages, "  __shared__ u64 stages{index}[{THREADS} / WARP][{stage} / 8];");
        let _ = writeln!(
            declared,
            "    const Stage s{index}((u8*)stages{index}[warp_id()], {stage}, ob{index}, oo{index}[to - lane_id()], \
             oo{index}[smaller(to - lane_id() + WARP, count)]);"
        );
        let names = writer.value(*root);
        if matches!(body.graph.node(*root).op, Op::Str(op) if op.is_computed()) {
            writer.line(&format!("if ({}) {{ u8* at = s{index}.place(oo{index}[to]);", names.ok()));
            writer.put(*root);
            writer.line("}");
            let _ = writeln!(together, "    s{index}.write();");
        } else {
            let _ = writeln!(declared, "    Text t{index}(0); u8* at{index} = ob{index};");
            let _ = writeln!(
                together,
                "    if (s{index}.is_used()) {{ put_text(at{index}, t{index}); s{index}.write(); }} else put_texts(at{index}, t{index});"
            );
            writer.line(&format!(
                "if ({}) {{ t{index} = {}; at{index} = s{index}.place(oo{index}[to]); }}",
                names.ok(),
                names.value
            ));
        }
    }
    let row = if order.is_some() { "order[to]" } else { "to" };
    let text = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) output_texts({}) {{\n{stages}  u32 faults = 0;\n\
         #pragma unroll 1\n  \
         for (u64 to = thread_in_grid(); to - lane_id() < count; to += threads_in_grid()) {{\n{declared}    \
         if (to < count) {{\n      const u64 row = {row};\n{}    }}\n{together}  }}\n  \
         if (faults != 0) atomicOr(fault, 1u);\n}}\n",
        parameters.text(),
        writer.text,
    );
    body.program(&[&headers::STRINGS], text, "output_texts")
}
