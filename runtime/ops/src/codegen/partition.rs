//! Radix partitioning kernels for tables that are larger than shared memory or the L2 cache: count rows for each
//! partition, then move the columns that are read later. Direct-address groups are then aggregated partition by
//! partition in shared memory.

use std::fmt::Write;

use onrush_kernels::{Program, Scalar, headers};

use super::group::{self, KeyLookup, shared_tables, shared_threads, updates, values, write_key};
use super::{Inputs, KernelBody, Parameters, ValueExpr, Writer};
use crate::ir::aggregate::{Accumulator, AggregateOp, Pass, SlotLayout};
use crate::ir::expr::{DeviceType, NodeId};

/// Parts at most, as in `shared_partition.cuh`.
pub const MOST: u64 = 2048;
/// Of a block that counts or moves.
pub const THREADS: u32 = 512;
/// Rows of a thread that counts.
const COUNTED: u32 = 4;

/// A value that is moved with its row.
#[derive(Clone, Copy, Debug, Hash)]
pub struct PartitionedColumn {
    pub of: NodeId,
    pub kind: DeviceType,
    /// Whether the value itself is needed, and not only whether it is there.
    pub value: bool,
    pub nullable: bool,
    /// Of 128 bits that fit into 64.
    pub narrow: bool,
}

impl PartitionedColumn {
    /// What is read of some nodes, each once; `true` for those whose values are, and not only whether they are there.
    pub fn all(body: &KernelBody, read: impl IntoIterator<Item = (NodeId, bool)>) -> Vec<PartitionedColumn> {
        let mut found: Vec<PartitionedColumn> = Vec::new();
        for (of, value) in read {
            match found.iter_mut().find(|moved| moved.of == of) {
                Some(moved) => moved.value |= value,
                None => found.push(PartitionedColumn {
                    of,
                    kind: body.graph.kind(of),
                    value,
                    nullable: body.nullable(&[of])[0],
                    narrow: body.fits_i64(of),
                }),
            }
        }
        // The widest first, so that all are aligned one after another.
        found.sort_by_key(|moved| std::cmp::Reverse(moved.width()));
        found
    }

    /// Its type in memory.
    pub fn stored(&self) -> &'static str {
        match self.kind {
            DeviceType::Bool => "u8",
            _ if self.narrow => "i64",
            kind => kind.cuda(),
        }
    }

    /// Bytes of a value.
    pub fn width(&self) -> u64 {
        match self.kind {
            _ if !self.value => 0,
            DeviceType::Number(Scalar::I128) if self.narrow => 8,
            kind => kind.bytes(),
        }
    }
}

/// What accumulators read of each row: see [`PartitionedColumn::all`].
pub fn read<'a>(accumulators: impl Iterator<Item = &'a Accumulator>) -> impl Iterator<Item = (NodeId, bool)> {
    accumulators.flat_map(|a| a.of.into_iter().chain(a.with).map(|of| (of, a.op != AggregateOp::Count)))
}

/// Bytes of a row while its tile is in shared memory: its group, then what is moved.
pub fn staged_bytes(moved: &[PartitionedColumn]) -> u64 {
    4 + moved.iter().map(|moved| moved.width() + u64::from(moved.nullable)).sum::<u64>()
}

/// Rows of a thread that moves: as many as fit. The more rows a tile has, the more rows of a partition are written next
/// to each other.
pub fn items(moved: &[PartitionedColumn], parts: u32) -> u32 {
    // For two blocks on a multiprocessor.
    const ROOM: u32 = 112 << 10;
    let fit = u64::from(ROOM - tables_bytes(parts)) / (u64::from(THREADS) * staged_bytes(moved));
    1 << fit.clamp(1, 16).ilog2()
}

/// Shared memory of a block that moves.
pub fn moving_bytes(moved: &[PartitionedColumn], parts: u32) -> u32 {
    tables_bytes(parts) + (u64::from(THREADS * items(moved, parts)) * staged_bytes(moved)) as u32
}

/// The bytes of the tile's tables: where the next row of each partition goes, and how many rows the tile has of it.
fn tables_bytes(parts: u32) -> u32 {
    (12 * parts).next_multiple_of(16)
}

/// How a table is partitioned.
#[derive(Clone, Copy, Debug)]
pub struct PartitionSpec {
    /// Slots of a partition if each key has a slot. The keys of a hash table are partitioned by the high bits of their
    /// hash.
    pub each: u32,
    pub parts: u32,
    /// Rows of an item.
    pub limit: u64,
    pub state: u64,
}

fn parameters(body: &KernelBody, key_lookup: &KeyLookup, fault: u64, cut: &PartitionSpec) -> Parameters {
    let mut parameters = body.parameters(fault);
    if let KeyLookup::Direct { digits, size } = key_lookup {
        group::digit_parameters(digits, "k", &mut parameters);
        parameters.u64("size", *size);
        parameters.u32("each", cut.each);
    }
    if let KeyLookup::HashPacked { digits } = key_lookup {
        group::digit_parameters(digits, "k", &mut parameters);
    }
    parameters.u32("parts", cut.parts);
    parameters.u64("limit", cut.limit);
    parameters.address("u64* __restrict__", "state", cut.state);
    parameters
}

/// The C++ expression of a row's key number, of which `each` belong to a partition; and the declaration of `each` if it
/// is not a parameter.
fn number(key_lookup: &KeyLookup) -> (&'static str, &'static str) {
    const ONE: &str = "  const u32 each = 1;\n";
    match key_lookup {
        KeyLookup::Direct { .. } => ("(u32)(key < size ? key : 0)", ""),
        KeyLookup::HashPacked { .. } => ("(u32)__umul64hi(mix(key), parts)", ONE),
        KeyLookup::HashSingle { .. } => ("nokey ? 0u : (u32)__umul64hi(mix(key), parts)", ONE),
        KeyLookup::HashMultiWord { .. } => ("(u32)__umul64hi(hash_of(key), parts)", ONE),
    }
}

pub fn count_parameters(
    body: &KernelBody,
    key_lookup: &KeyLookup,
    fault: u64,
    ticket: u64,
    changes: u64,
    cut: &PartitionSpec,
) -> Parameters {
    let mut parameters = parameters(body, key_lookup, fault, cut);
    parameters.address("u32*", "ticket", ticket);
    parameters.address("u64*", "changes", changes);
    parameters
}

/// Counts the rows of each partition. `changes` counts how often a row's partition is not that of the row before, for
/// one in four rows: if the rows of a group are clustered anyway, nothing is won by moving them. A key outside of the
/// range that was computed for it is a row error.
pub fn count(body: &KernelBody, key_lookup: &KeyLookup, parameters: &Parameters) -> Program {
    let roots: Vec<NodeId> = key_lookup.keys().into_iter().chain(body.filter).collect();
    let mut writer = Writer::new(body, Inputs::Loaded, "        ");
    let pass = body.passing(&mut writer);
    writer.line(&format!("if ({pass}) {{"));
    write_key(&mut writer, key_lookup);
    if let KeyLookup::Direct { .. } = key_lookup {
        writer.line("faults |= key >= size;");
    }
    let (its_number, declare) = number(key_lookup);
    writer.line(&format!("number = ({its_number}) / each;"));
    writer.line("atomicAdd(&here[number], 1u);");
    writer.line("}");
    let text = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) part_count({}) {{\n  DYNAMIC_SHARED(memory);\n{declare}  \
         u32* here = (u32*)memory;\n  u32 faults = 0, changed = 0;\n  \
         for (u32 p = threadIdx.x; p < parts; p += blockDim.x) here[p] = 0;\n  __syncthreads();\n  \
         const u64 stride = threads_in_grid();\n#pragma unroll 1\n  \
         for (u64 first = thread_in_grid(); first - lane_id() < rows; first += stride * {COUNTED}) {{\n{}\
         #pragma unroll\n    for (int k = 0; k < {COUNTED}; k++) {{\n      const u64 row = first + k * stride;\n      u32 number = ~0u;\n      \
         if (row < rows) {{\n{}      }}\n      \
         if (k == 0) {{\n        const u32 before = __shfl_up_sync(ALL_LANES, number, 1);\n        \
         changed += lane_id() != 0 && number != before ? 1 : 0;\n      }}\n    }}\n  }}\n  \
         for (u32 by = 16; by > 0; by /= 2) changed += __shfl_down_sync(ALL_LANES, changed, by);\n  \
         if (lane_id() == 0 && changed != 0) atomicAdd(changes, (u64)changed);\n  \
         if (faults != 0) atomicOr(fault, 1u);\n  __syncthreads();\n  parted_count(here, parts, state, limit, ticket);\n}}\n",
        parameters.text(),
        body.loads(&body.inputs(&roots), COUNTED),
        writer.text,
    );
    body.program(&[&headers::SHARED_PARTITION], text, "part_count")
}

/// Where moved rows go: the group's number within its partition if it is wanted, then the columns.
pub struct PartitionOutput {
    pub group: Option<u64>,
    /// Address of the values, and of the bytes that say whether they are there.
    pub columns: Vec<(u64, u64)>,
}

fn columns(parameters: &mut Parameters, moved: &[PartitionedColumn], rows: &PartitionOutput, constant: &str) {
    if let Some(group) = rows.group {
        parameters.address(&format!("{constant}u16* __restrict__"), "group", group);
    }
    for (index, (moved, (values, valid))) in moved.iter().zip(&rows.columns).enumerate() {
        if moved.value {
            parameters.address(&format!("{constant}{}* __restrict__", moved.stored()), &format!("m{index}"), *values);
        }
        if moved.nullable {
            parameters.address(&format!("{constant}u8* __restrict__"), &format!("mv{index}"), *valid);
        }
    }
}

pub fn move_parameters(
    body: &KernelBody,
    key_lookup: &KeyLookup,
    fault: u64,
    cut: &PartitionSpec,
    moved: &[PartitionedColumn],
    rows: &PartitionOutput,
) -> Parameters {
    let mut parameters = parameters(body, key_lookup, fault, cut);
    columns(&mut parameters, moved, rows, "");
    parameters
}

/// Moves rows to their partitions, a tile for each block: in shared memory first, so that rows of a partition are
/// written next to each other.
pub fn moving(
    body: &KernelBody,
    key_lookup: &KeyLookup,
    (moved, rows): (&[PartitionedColumn], &PartitionOutput),
    items: u32,
    parameters: &Parameters,
) -> Program {
    let mut keys = Writer::new(body, Inputs::Memory, "      ");
    let pass = body.passing(&mut keys);
    keys.line(&format!("if ({pass}) {{"));
    write_key(&mut keys, key_lookup);
    let (its_number, declare) = number(key_lookup);
    keys.line(&format!("number[k] = {its_number};"));
    keys.line("}");
    let group = if rows.group.is_some() { " group[to] = (u16)(numbers[i] - part * each);" } else { "" };
    let mut found = Writer::new(body, Inputs::Memory, "      ");
    let (mut staged, mut written) = (String::new(), String::new());
    let mut room = "TILE * 4ull".to_string();
    for (index, moved) in moved.iter().enumerate() {
        let names = found.value(moved.of);
        found.note(&names);
        let stored = moved.stored();
        if moved.value {
            let _ = writeln!(staged, "  {stored}* s{index} = ({stored}*)(columns + {room});");
            let _ = write!(room, " + TILE * {}ull", moved.width());
            found.line(&format!("s{index}[at] = ({stored})({});", names.value));
            let _ = write!(written, " m{index}[to] = s{index}[i];");
        }
    }
    for (index, moved) in moved.iter().enumerate().filter(|(_, moved)| moved.nullable) {
        let names = found.value(moved.of);
        let _ = writeln!(staged, "  u8* sv{index} = columns + {room};");
        let _ = write!(room, " + TILE");
        found.line(&format!("sv{index}[at] = {} ? 1 : 0;", names.ok()));
        let _ = write!(written, " mv{index}[to] = sv{index}[i];");
    }
    let text = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) part_move({}) {{\n  DYNAMIC_SHARED(memory);\n{declare}  \
         const u64 TILE = {THREADS} * {items};\n  u64* goes = (u64*)memory;\n  u32* here = (u32*)(goes + parts);\n  \
         unsigned char* columns = memory + (12ull * parts + 15) / 16 * 16;\n  u32* numbers = (u32*)columns;\n{staged}  \
         u32 faults = 0, number[{items}], place[{items}];\n  \
         for (u32 p = threadIdx.x; p < parts; p += blockDim.x) here[p] = 0;\n  __syncthreads();\n  \
         const u64 first = blockIdx.x * TILE + threadIdx.x;\n\
         #pragma unroll\n  for (int k = 0; k < {items}; k++) {{\n    const u64 row = first + k * {THREADS};\n    \
         number[k] = ~0u;\n    if (row < rows) {{\n{}    }}\n  }}\n\
         #pragma unroll\n  for (int k = 0; k < {items}; k++) {{\n    place[k] = 0;\n    \
         if (number[k] != ~0u) place[k] = atomicAdd(&here[number[k] / each], 1u);\n  }}\n  __syncthreads();\n  \
         const u32 count = parted_tile<{THREADS}>(here, goes, parts, state + parts);\n\
         #pragma unroll\n  for (int k = 0; k < {items}; k++) {{\n    const u64 row = first + k * {THREADS};\n    \
         if (number[k] != ~0u) {{\n      const u32 at = here[number[k] / each] + place[k];\n      numbers[at] = number[k];\n{}    }}\n  }}\n  \
         __syncthreads();\n  for (u32 i = threadIdx.x; i < count; i += {THREADS}) {{\n    \
         const u32 part = numbers[i] / each;\n    const u64 to = goes[part] + i;\n   {group}{written}\n  }}\n  \
         if (faults != 0) atomicOr(fault, 1u);\n}}\n",
        parameters.text(),
        keys.text,
        found.text,
    );
    body.program(&[&headers::SHARED_PARTITION], text, "part_move")
}

pub fn add_parameters(
    body: &KernelBody,
    fault: u64,
    cut: &PartitionSpec,
    size: u64,
    (moved, rows): (&[PartitionedColumn], &PartitionOutput),
    table: u64,
) -> Parameters {
    let mut parameters = body.parameters(fault);
    parameters.u64("size", size);
    parameters.u32("each", cut.each);
    parameters.u32("parts", cut.parts);
    parameters.u64("limit", cut.limit);
    parameters.address("const u64* __restrict__", "state", cut.state);
    columns(&mut parameters, moved, rows, "const ");
    parameters.address("u64*", "table", table);
    parameters
}

/// Aggregates moved rows into the table, one partition after another in shared memory.
pub fn add(
    body: &KernelBody,
    layout: &SlotLayout,
    round: Pass,
    key_lookup: &KeyLookup,
    moved: &[PartitionedColumn],
    parameters: &Parameters,
) -> Program {
    let (threads, stride) = (shared_threads(layout), key_lookup.stride(layout));
    let read: Vec<NodeId> = layout.in_pass(round).flat_map(|(_, a)| a.values(round)).collect();
    let unroll = if read.len() > 2 { 4 } else { 8 };
    let mut writer = Writer::new(body, Inputs::Memory, "          ");
    let mut loads = String::from(" at_k[k] = group[row];");
    let mut arrays = format!("      u16 at_k[{unroll}];\n");
    for (index, moved) in moved.iter().enumerate().filter(|(_, moved)| read.contains(&moved.of)) {
        let mut names = ValueExpr { value: format!("({})0", moved.kind.cuda()), ..ValueExpr::default() };
        if moved.value {
            let _ = writeln!(arrays, "      {} m{index}x[{unroll}];", moved.stored());
            // Numbers of 128 bits have no such load.
            let _ = match moved.width() {
                16 => write!(loads, " m{index}x[k] = m{index}[row];"),
                _ => write!(loads, " m{index}x[k] = __ldcs(&m{index}[row]);"),
            };
            names.value = match moved.kind {
                DeviceType::Bool => format!("(m{index}x[k] != 0)"),
                kind if moved.narrow => format!("({})m{index}x[k]", kind.cuda()),
                _ => format!("m{index}x[k]"),
            };
        }
        if moved.nullable {
            let _ = writeln!(arrays, "      u8 mv{index}x[{unroll}];");
            let _ = write!(loads, " mv{index}x[k] = mv{index}[row];");
            names.valid = Some(format!("(mv{index}x[k] != 0)"));
        }
        writer.know(moved.of, names);
    }
    writer.line("const u32 at = at_k[k];");
    let found = values(&mut writer, layout, round);
    if round == Pass::Second {
        writer.line(&format!("const u64* slot = table + ((u64)part * each + at) * {stride};"));
    }
    updates(&mut writer, layout, round, &found, true);
    let tables = shared_tables(layout, round);
    let text = format!(
        "extern \"C\" __global__ void __launch_bounds__({threads}) group_parted({}) {{\n  DYNAMIC_SHARED(memory);\n  __shared__ u32 its_part;\n  \
         const u32 slots = each, replicas = 1;\n{}  const u64 *starts = state + 2 * parts, *items = starts + parts + 1;\n  const u64 all = items[parts];\n\
         #pragma unroll 1\n  for (u64 item = blockIdx.x; item < all; item += gridDim.x) {{\n    \
         if (threadIdx.x == 0) its_part = parted_part(items, parts, item);\n    \
         for (u32 i = threadIdx.x; i < slots; i += blockDim.x) {{{} }}\n    __syncthreads();\n    const u32 part = its_part;\n    \
         const u64 begin = starts[part] + (item - items[part]) * limit, end = smaller(starts[part + 1], begin + limit);\n\
         #pragma unroll 1\n    for (u64 first = begin + threadIdx.x; first < end; first += (u64)blockDim.x * {unroll}) {{\n{arrays}\
         #pragma unroll\n      for (int k = 0; k < {unroll}; k++) {{\n        const u64 row = first + k * blockDim.x;\n        if (row < end) {{{loads} }}\n      }}\n\
         #pragma unroll\n      for (int k = 0; k < {unroll}; k++) {{\n        if (first + k * blockDim.x < end) {{\n{}        }}\n      }}\n    }}\n    \
         __syncthreads();\n\
         #pragma unroll 1\n    for (u32 r = threadIdx.x; r < each && (u64)part * each + r < size; r += blockDim.x) {{\n     {}\n     {}\n      \
         if ({}) {{\n        u64* slot = table + ((u64)part * each + r) * {stride};\n       {}\n      }}\n    }}\n    __syncthreads();\n  }}\n}}\n",
        parameters.text(),
        tables.arrays,
        tables.clear,
        writer.text,
        tables.declare,
        tables.step,
        tables.presence,
        tables.merge,
    );
    body.program(&[&headers::SHARED_PARTITION], text, "group_parted")
}
