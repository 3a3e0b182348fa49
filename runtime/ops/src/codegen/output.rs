//! Kernels that write columns: of all rows, or of those that pass a filter, in their order.

use std::fmt::Write;

use onrush_device::Buffer;
use onrush_kernels::Program;
use onrush_kernels::headers;

use super::{Body, Inputs, Parameters, Writer};
use crate::graph::{Id, Kind};

pub const THREADS: u32 = 256;
/// Rows of a thread in a tile of the filtering kernel.
pub const ITEMS: u32 = 8;

/// Where a column is written: values, and a byte a row that says whether the value is there.
pub struct Target {
    pub values: Buffer,
    pub valid: Option<Buffer>,
}

/// Whether each of some nodes can be null, in the code that is generated for them.
pub fn nullable(body: &Body, roots: &[Id]) -> Vec<bool> {
    let mut writer = Writer::new(body, Inputs::Memory, "");
    roots.iter().map(|root| writer.value(*root).valid.is_some()).collect()
}

fn declare(parameters: &mut Parameters, kinds: &[Kind], targets: &[Target]) {
    for (index, (kind, target)) in kinds.iter().zip(targets).enumerate() {
        let stored = if *kind == Kind::Bool { "u8" } else { kind.cuda() };
        parameters.buffer(&format!("{stored}* __restrict__"), &format!("o{index}"), &target.values);
        if let Some(valid) = &target.valid {
            parameters.buffer("u8* __restrict__", &format!("ov{index}"), valid);
        }
    }
}

fn stores(writer: &mut Writer, roots: &[Id], targets: &[Target], at: &str) {
    for (index, (root, target)) in roots.iter().zip(targets).enumerate() {
        let names = writer.value(*root);
        writer.note(&names);
        writer.line(&format!("o{index}[{at}] = {};", names.value));
        if target.valid.is_some() {
            writer.line(&format!("ov{index}[{at}] = {};", names.ok()));
        }
    }
}

/// All rows.
pub fn all(body: &Body, roots: &[Id], targets: &[Target], fault: u64) -> (Program, Parameters) {
    let kinds: Vec<Kind> = roots.iter().map(|root| body.graph.kind(*root)).collect();
    let mut parameters = body.parameters(fault);
    declare(&mut parameters, &kinds, targets);
    let unroll = body.unroll(roots).min(4);
    let mut writer = Writer::new(body, Inputs::Loaded, "        ");
    stores(&mut writer, roots, targets, "row");
    let text = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) output_all({}) {{\n  u32 faults = 0;\n  \
         const u64 stride = threads_in_grid();\n#pragma unroll 1\n  \
         for (u64 first = thread_in_grid(); first < rows; first += stride * {unroll}) {{\n{}\
         #pragma unroll\n    for (int k = 0; k < {unroll}; k++) {{\n      u64 row = first + k * stride;\n      if (row < rows) {{\n{}      }}\n    }}\n  }}\n  \
         if (faults != 0) atomicOr(fault, 1u);\n}}\n",
        parameters.text(),
        body.loads(&body.inputs(roots), unroll),
        writer.text,
    );
    (body.program(&[], text, "output_all"), parameters)
}

/// Memory of the filtering kernel.
pub struct Scratch<'a> {
    /// Ticket, then the look-back state of each tile: zero before the launch.
    pub state: &'a Buffer,
    /// Rows that pass.
    pub count: u64,
    pub limit: u64,
}

/// Rows that are there and pass the filter, at most `limit` of them.
pub fn filtered(body: &Body, roots: &[Id], targets: &[Target], fault: u64, scratch: &Scratch) -> (Program, Parameters) {
    let kinds: Vec<Kind> = roots.iter().map(|root| body.graph.kind(*root)).collect();
    let mut parameters = body.parameters(fault);
    parameters.address("u32*", "ticket", scratch.state.address());
    parameters.address("u64*", "state", scratch.state.address() + 8);
    parameters.address("u64*", "count", scratch.count);
    parameters.u64("limit", scratch.limit);
    declare(&mut parameters, &kinds, targets);
    let mut first = Writer::new(body, Inputs::Memory, "      ");
    let pass = body.passing(&mut first);
    let mut second = Writer::new(body, Inputs::Memory, "        ");
    stores(&mut second, roots, targets, "to");
    let mut text = String::new();
    let _ = write!(
        text,
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) output_filtered({parameters}) {{\n  \
         __shared__ u32 tile_number;\n  __shared__ u32 kept_by[{THREADS} / WARP];\n  __shared__ u64 before_tile;\n  \
         u32 faults = 0;\n  u32 tile = next_tile(ticket, &tile_number);\n  \
         const u64 TILE = {THREADS} * {ITEMS};\n  u64 start = tile * TILE + warp_id() * (WARP * {ITEMS}) + lane_id();\n  \
         u32 masks[{ITEMS}];\n  u32 kept = 0;\n\
         #pragma unroll\n  for (int i = 0; i < {ITEMS}; i++) {{\n    u64 row = start + i * WARP;\n    bool pass = false;\n    \
         if (row < rows) {{\n{first}      pass = {pass};\n    }}\n    masks[i] = __ballot_sync(ALL_LANES, pass);\n    kept += __popc(masks[i]);\n  }}\n  \
         if (lane_id() == 0) kept_by[warp_id()] = kept;\n  __syncthreads();\n  \
         if (warp_id() == 0) {{\n    u32 sum = lane_id() < {THREADS} / WARP ? kept_by[lane_id()] : 0;\n    \
         for (u32 by = 16; by > 0; by /= 2) sum += __shfl_down_sync(ALL_LANES, sum, by);\n    \
         sum = __shfl_sync(ALL_LANES, sum, 0);\n    u64 before = lookback(state, tile, sum);\n    \
         if (lane_id() == 0) {{\n      before_tile = before;\n      if ((u64)(tile + 1) * TILE >= rows) *count = before + sum;\n    }}\n  }}\n  \
         __syncthreads();\n  u64 base = before_tile;\n  for (u32 w = 0; w < warp_id(); w++) base += kept_by[w];\n  \
         const u32 below = (1u << lane_id()) - 1;\n\
         #pragma unroll {again}\n  for (int i = 0; i < {ITEMS}; i++) {{\n    u64 to = base + __popc(masks[i] & below);\n    \
         if ((masks[i] >> lane_id() & 1) != 0 && to < limit) {{\n      u64 row = start + i * WARP;\n{second}    }}\n    base += __popc(masks[i]);\n  }}\n  \
         if (faults != 0) atomicOr(fault, 1u);\n}}\n",
        parameters = parameters.text(),
        first = first.text,
        second = second.text,
        again = body.unroll(roots).min(4),
    );
    (body.program(&[&headers::LOOKBACK], text, "output_filtered"), parameters)
}
