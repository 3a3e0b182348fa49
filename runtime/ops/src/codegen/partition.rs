//! Radix partitioning kernels for tables that are larger than shared memory or the L2 cache. They count the rows of
//! each partition, then move the columns that are read later. Direct-address groups are then aggregated partition by
//! partition in shared memory.

use std::fmt::Write;

use onrush_kernels::{Program, Scalar, headers};

use super::group::{self, KeyLookup, shared_tables, shared_threads, updates, values, write_key};
use super::{Inputs, KernelBody, Parameters, ValueExpr, Writer};
use crate::ir::aggregate::{Accumulator, AggregateOp, Pass, SlotLayout};
use crate::ir::expr::{DeviceType, NodeId};

/// Parts at most, as in `shared_partition.cuh`.
pub const MOST: u64 = 2048;
/// Threads of a block that counts or moves.
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
    /// Whether values of 128 bits fit into 64.
    pub narrow: bool,
}

impl PartitionedColumn {
    /// The columns that are read of some nodes, each once; `true` for those whose values are, and not only whether they
    /// are there.
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

/// The nodes that accumulators read of each row: see [`PartitionedColumn::all`].
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

/// The C++ expression of a row's key number, of which `each` belong to a partition. The second text declares `each` if
/// it is not a parameter.
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
/// one in four rows. If the rows of a group are clustered anyway, moving them has no benefit. A key outside of the
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
    writer.line(&format!("part = count_row(here, ({its_number}) / each);"));
    writer.line("}");
    let loads = body.loads(&roots);
    let text = format!(
        "{}extern \"C\" __global__ void __launch_bounds__({THREADS}) part_count({}) {{\n{declare}  u32 faults = 0;\n  \
         partition_count<Columns, {COUNTED}>(rows, parts, state, limit, ticket, changes, {}, \
         [&](u64 row, const Columns& loaded, u32* here, u32& part) ROW_CODE {{\n{}  }});\n  \
         if (faults != 0) atomicOr(fault, 1u);\n}}\n",
        loads.columns,
        parameters.text(),
        loads.load,
        writer.text,
    );
    body.program(&[&headers::PARTITION_ROWS], text, "part_count")
}

/// Destinations of moved rows: the group's number within its partition if it is wanted, then the columns.
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

/// Moves rows to their partitions, a tile for each block. Tiles in shared memory keep the rows of a partition adjacent
/// when they are written.
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
    keys.line(&format!("number = {its_number};"));
    keys.line("}");
    let group = if rows.group.is_some() { " group[to] = (u16)within;" } else { "" };
    let mut found = Writer::new(body, Inputs::Memory, "      ");
    let (mut fields, mut places, mut written) = (String::new(), String::new(), String::new());
    let tile = THREADS * items;
    let mut room = 0_u64;
    for (index, moved) in moved.iter().enumerate() {
        let names = found.value(moved.of);
        found.note(&names);
        let stored = moved.stored();
        if moved.value {
            let _ = write!(fields, " {stored}* s{index};");
            let _ = write!(places, " s{index} = ({stored}*)(memory + {room}ull);");
            room += u64::from(tile) * moved.width();
            found.line(&format!("tile.s{index}[at] = ({stored})({});", names.value));
            let _ = write!(written, " m{index}[to] = tile.s{index}[at];");
        }
    }
    for (index, moved) in moved.iter().enumerate().filter(|(_, moved)| moved.nullable) {
        let names = found.value(moved.of);
        let _ = write!(fields, " u8* sv{index};");
        let _ = write!(places, " sv{index} = memory + {room}ull;");
        room += u64::from(tile);
        found.line(&format!("tile.sv{index}[at] = {} ? 1 : 0;", names.ok()));
        let _ = write!(written, " mv{index}[to] = tile.sv{index}[at];");
    }
    let text = format!(
        "struct Tile {{\n {fields}\n  __device__ __forceinline__ Tile(unsigned char* memory) {{{places} }}\n}};\n\
         extern \"C\" __global__ void __launch_bounds__({THREADS}) part_move({}) {{\n{declare}  u32 faults = 0;\n  \
         partition_move<Tile, {THREADS}, {items}>(rows, parts, each, state,\n    \
         [&](u64 row, u32& number) ROW_CODE {{\n{}    }},\n    \
         [&](u64 row, u32 at, const Tile& tile) ROW_CODE {{\n{}    }},\n    \
         [&](const Tile& tile, u32 at, u32 within, u64 to) ROW_CODE {{{group}{written} }});\n  \
         if (faults != 0) atomicOr(fault, 1u);\n}}\n",
        parameters.text(),
        keys.text,
        found.text,
    );
    body.program(&[&headers::PARTITION_ROWS], text, "part_move")
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
    let mut loads = String::from(" loaded.at = group[row];");
    let mut columns = String::from(" u16 at;");
    for (index, moved) in moved.iter().enumerate().filter(|(_, moved)| read.contains(&moved.of)) {
        let mut names = ValueExpr { value: format!("({})0", moved.kind.cuda()), ..ValueExpr::default() };
        if moved.value {
            let _ = write!(columns, " {} m{index};", moved.stored());
            // Numbers of 128 bits have no such load.
            let _ = match moved.width() {
                16 => write!(loads, " loaded.m{index} = m{index}[row];"),
                _ => write!(loads, " loaded.m{index} = __ldcs(&m{index}[row]);"),
            };
            names.value = match moved.kind {
                DeviceType::Bool => format!("(loaded.m{index} != 0)"),
                kind if moved.narrow => format!("({})loaded.m{index}", kind.cuda()),
                _ => format!("loaded.m{index}"),
            };
        }
        if moved.nullable {
            let _ = write!(columns, " u8 mv{index};");
            let _ = write!(loads, " loaded.mv{index} = mv{index}[row];");
            names.valid = Some(format!("(loaded.mv{index} != 0)"));
        }
        writer.know(moved.of, names);
    }
    writer.line("const u32 at = loaded.at;");
    let found = values(&mut writer, layout, round);
    if round == Pass::Second {
        writer.line(&format!("const u64* slot = table + ((u64)part * each + at) * {stride};"));
    }
    updates(&mut writer, layout, round, &found, true);
    let text = format!(
        "struct Columns {{{columns} }};\n{}\
         extern \"C\" __global__ void __launch_bounds__({threads}) group_parted({}) {{\n  \
         group_partitions<Columns, Tables, {unroll}, {stride}>(size, each, parts, limit, state, table, \
         [&](u64 row, Columns& loaded) ROW_CODE {{{loads} }},\n    \
         [&](u32 part, const Columns& loaded, const Tables& tables) ROW_CODE {{\n{}    }});\n}}\n",
        shared_tables(layout, round),
        parameters.text(),
        writer.text,
    );
    body.program(&[&headers::PARTITION_ROWS], text, "group_parted")
}
