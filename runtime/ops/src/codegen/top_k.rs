//! Top-k kernels: a sample bounds the keys that can be among the lowest, then one pass collects the candidate rows.

use onrush_device::Buffer;
use onrush_kernels::Program;

use super::output::telling;
use super::{Inputs, KernelBody, Parameters, Writer};
use crate::ir::expr::NodeId;
use crate::launch::stream_context::StreamContext;

pub const THREADS: u32 = 256;

/// Which rows a sample has: one of each part of so many rows, anywhere in it.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub rows: u64,
    pub part: u64,
    /// Of the lowest keys of the blocks, the one that is told.
    pub rank: u32,
}

pub fn sample_parameters(body: &KernelBody, lane: &StreamContext, of: Sample, lowest: &Buffer) -> Parameters {
    let mut parameters = body.parameters(lane.status.fault());
    telling(&mut parameters, lane);
    parameters.address("u64*", "count", lane.status.count());
    parameters.buffer("u64*", "lowest", lowest);
    parameters.u64("sample", of.rows);
    parameters.u64("part", of.part);
    parameters.u32("rank", of.rank);
    parameters
}

/// Tells the key of a rank among the lowest ones of the blocks, [`THREADS`] of them at most: not lower than the key of this rank in the sample. All
/// bits are set if there is none. Leaves the count of candidates at zero.
pub fn sample(body: &KernelBody, key: NodeId, parameters: &Parameters) -> Program {
    let mut writer = Writer::new(body, Inputs::Memory, "    ");
    let pass = body.passing(&mut writer);
    let names = writer.value(key);
    writer.line(&format!("if (({pass}) && {} < best) best = {};", names.value, names.value));
    let text = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) top_sample({parameters}) {{\n  u32 faults = 0;\n  u64 best = ~0ull;\n\
         #pragma unroll 4\n  \
         for (u64 i = (u64)threadIdx.x * gridDim.x + blockIdx.x; i < sample; i += (u64)gridDim.x * blockDim.x) {{\n    \
         const u64 row = i * part + mix(i) % part;\n{looked}  }}\n  \
         __shared__ u64 keys[{THREADS}];\n  __shared__ bool last;\n  \
         for (u32 by = 16; by > 0; by /= 2) best = smaller(best, (u64)__shfl_down_sync(ALL_LANES, best, by));\n  \
         if (lane_id() == 0) keys[warp_id()] = best;\n  __syncthreads();\n  \
         if (threadIdx.x == 0) {{\n    for (u32 w = 1; w < {THREADS} / WARP; w++) best = smaller(best, keys[w]);\n    \
         lowest[blockIdx.x] = best;\n    __threadfence();\n    last = atomicAdd(done, 1u) == gridDim.x - 1;\n    __threadfence();\n  }}\n  \
         __syncthreads();\n  if (!last) return;\n  \
         const u64 mine = threadIdx.x < gridDim.x ? ((volatile u64*)lowest)[threadIdx.x] : ~0ull;\n  \
         keys[threadIdx.x] = mine;\n  __syncthreads();\n  u32 before = 0;\n  \
         for (u32 other = 0; other < {THREADS}; other++) before += keys[other] < mine || (keys[other] == mine && other < threadIdx.x);\n  \
         // A fault is one of those rows' alone: whoever looks at all rows finds it.\n  \
         if (before == rank - 1) {{ *done = 0; *count = 0; told[1] = mine; __threadfence_system(); told[0] = 1; }}\n  (void)faults;\n}}\n",
        parameters = parameters.text(),
        looked = writer.text,
    );
    body.program(&[], text, "top_sample")
}

/// Where candidates go: keys and row numbers, so many at most. The first ones go to the host, too.
pub struct Candidates<'a> {
    pub keys: &'a Buffer,
    pub numbers: &'a Buffer,
    pub room: u64,
    pub near: u64,
    /// The highest key that can be among those that are wanted.
    pub limit: u64,
}

impl Candidates<'_> {
    /// Candidates that fit into the room of a stream's completion flag: first their keys, then their row numbers, then
    /// as many row numbers again for the rows of the result.
    pub const NEAR: u64 = (StreamContext::ROOM / 16) as u64;
    /// Where in its room the numbers are, and those of the rows that are wanted.
    pub const NUMBERS: usize = Self::NEAR as usize * 8;
    pub const WANTED: usize = Self::NEAR as usize * 12;
}

pub fn candidates_parameters(body: &KernelBody, lane: &StreamContext, of: &Candidates) -> Parameters {
    let mut parameters = body.parameters(lane.status.fault());
    telling(&mut parameters, lane);
    parameters.address("u64*", "count", lane.status.count());
    parameters.buffer("u64* __restrict__", "keys", of.keys);
    parameters.buffer("u32* __restrict__", "numbers", of.numbers);
    parameters.address("u64*", "near_keys", lane.mailbox.room_address());
    parameters.address("u32*", "near_numbers", lane.mailbox.room_address() + Candidates::NUMBERS as u64);
    parameters.u64("near", of.near);
    parameters.u64("room", of.room);
    parameters.u64("limit", of.limit);
    parameters
}

/// Writes the rows whose keys are not above a limit, in any order, and tells how many there are, with and without room. Its count is zero
/// before.
pub fn candidates(body: &KernelBody, key: NodeId, parameters: &Parameters) -> Program {
    let roots: Vec<NodeId> = body.filter.into_iter().chain([key]).collect();
    let unroll = body.unroll(&roots);
    let mut writer = Writer::new(body, Inputs::Loaded, "        ");
    let pass = body.passing(&mut writer);
    let names = writer.value(key);
    if let Some(fault) = &names.fault {
        writer.line(&format!("faults |= ({pass}) && ({fault});"));
    }
    let text = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) top_candidates({parameters}) {{\n  u32 faults = 0;\n  \
         const u64 stride = threads_in_grid();\n#pragma unroll 1\n  \
         for (u64 first = thread_in_grid(); first < rows; first += stride * {unroll}) {{\n{loads}\
         #pragma unroll\n    for (int k = 0; k < {unroll}; k++) {{\n      u64 row = first + k * stride;\n      if (row < rows) {{\n{looked}        \
         if (({pass}) && {key} <= limit) {{\n          const u64 to = atomicAdd(count, (u64)1);\n          \
         if (to < room) {{ keys[to] = {key}; numbers[to] = (u32)row; }}\n          \
         if (to < near) {{ near_keys[to] = {key}; near_numbers[to] = (u32)row; __threadfence_system(); }}\n        }}\n      }}\n    }}\n  }}\n  \
         if (faults != 0) atomicOr(fault, 1u);\n  tell_grid(done, fault, count, told);\n}}\n",
        parameters = parameters.text(),
        loads = body.loads(&body.inputs(&roots), unroll),
        looked = writer.text,
        key = names.value,
    );
    body.program(&[], text, "top_candidates")
}
