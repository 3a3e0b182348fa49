//! Top-k kernels: a sample bounds the keys that can be among the lowest, then one pass collects the candidate rows.

use onrush_device::Buffer;
use onrush_kernels::{Program, headers};

use super::output::telling;
use super::{Inputs, KernelBody, Parameters, Writer};
use crate::ir::expr::NodeId;
use crate::launch::stream_context::StreamContext;

pub const THREADS: u32 = 256;

/// The rows of a sample: one row anywhere in each part of so many rows.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub rows: u64,
    pub part: u64,
    /// The rank of the key that is told, among the lowest keys of the blocks.
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

/// Tells the key of a rank among the lowest ones of the blocks, which are at most [`THREADS`]. This is not lower than
/// the key of this rank in the sample. All bits are set if there is none. Leaves the count of candidates at zero.
pub fn sample(body: &KernelBody, key: NodeId, parameters: &Parameters) -> Program {
    let mut writer = Writer::new(body, Inputs::Memory, "    ");
    let pass = body.passing(&mut writer);
    let names = writer.value(key);
    writer.line(&format!("if (({pass}) && {} < best) best = {};", names.value, names.value));
    let text = format!(
        // A fault of a row of the sample is noted by the pass over all rows.
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) top_sample({parameters}) {{\n  u32 faults = 0;\n  \
         top_sample_rows<{THREADS}>(sample, part, rank, lowest, done, count, told, [&](u64 row, u64& best) ROW_CODE {{\n{looked}  }});\n  \
         (void)faults;\n}}\n",
        parameters = parameters.text(),
        looked = writer.text,
    );
    body.program(&[&headers::TOP_ROWS], text, "top_sample")
}

/// Destinations of candidates: keys and row numbers, so many at most. The first ones go to the host, too.
pub struct Candidates<'a> {
    pub keys: &'a Buffer,
    pub numbers: &'a Buffer,
    pub room: u64,
    pub near: u64,
    /// The highest key that can be among those that are wanted.
    pub limit: u64,
}

impl Candidates<'_> {
    /// Candidates that fit into the room of a stream's completion flag. Their keys are first, then their row numbers,
    /// then room for as many row numbers of result rows.
    pub const NEAR: u64 = (StreamContext::ROOM / 16) as u64;
    /// The positions in the room of the candidates' numbers, and of those of the result rows.
    pub const NUMBERS: usize = Self::NEAR as usize * 8;
    pub const RESULT_NUMBERS: usize = Self::NEAR as usize * 12;
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

/// Writes the rows whose keys are not above a limit, in any order, and tells how many there are, with and without room.
/// Its count is zero before.
pub fn candidates(body: &KernelBody, key: NodeId, parameters: &Parameters) -> Program {
    let roots: Vec<NodeId> = body.filter.into_iter().chain([key]).collect();
    let unroll = body.unroll(&roots);
    let mut writer = Writer::new(body, Inputs::Loaded, "        ");
    let pass = body.passing(&mut writer);
    let names = writer.value(key);
    if let Some(fault) = &names.fault {
        writer.line(&format!("faults |= ({pass}) && ({fault});"));
    }
    writer.line(&format!("if (({pass}) && {key} <= limit) candidates.add({key}, row);", key = names.value));
    let loads = body.loads(&roots);
    let text = format!(
        "{}extern \"C\" __global__ void __launch_bounds__({THREADS}) top_candidates({}) {{\n  u32 faults = 0;\n  \
         const Candidates candidates{{count, keys, numbers, near_keys, near_numbers, near, room}};\n{}  \
         tell_grid(done, fault, count, told);\n}}\n",
        loads.columns,
        parameters.text(),
        body.rows_loop(&loads, unroll, &writer.text),
    );
    body.program(&[&headers::TOP_ROWS], text, "top_candidates")
}
