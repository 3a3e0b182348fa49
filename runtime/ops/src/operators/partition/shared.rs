//! Radix partitioning for groups whose table is larger than shared memory: each block aggregates one partition in its
//! shared memory.
//!
//! In place, each row costs one or two atomic operations at a random address of device memory. These are 14 to 50 G
//! rows a second on an H200, depending on whether the table fits into its L2 cache. Partitioned, a row is read once
//! more and its values are written and read once.

use onrush_device::{Buffer, Grid};

use crate::Result;
use crate::codegen::KernelBody;
use crate::codegen::group::{KeyLookup, shared_threads};
use crate::codegen::partition::{self, MOST, PartitionOutput, PartitionSpec, PartitionedColumn};
use crate::ir::aggregate::{Pass, SlotLayout};
use crate::ir::expr::{DeviceType, NodeId, Op};
use crate::launch::{launch, launch_grid};
use crate::operators::group::{GroupContext, HALF_SHARED};

/// Thresholds of partitioning and of dictionary-encoding keys.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Bytes that the table of a block in shared memory may have.
    pub shared_bytes: u32,
    /// Rows from which on they are partitioned, and an eighth of that if the table has more bytes than the L2 cache
    /// holds.
    pub rows: u64,
    /// Bytes of a table that the L2 cache holds in addition to the data that passes through it.
    pub cached_bytes: u64,
    /// Rows from which on sparse keys are dictionary-encoded.
    pub encode_from: u64,
}

impl Tuning {
    /// As measured on an H200: tables in its L2 cache are as fast in place as long as rows are few.
    pub fn new(shared_bytes: u32) -> Tuning {
        Tuning { shared_bytes, rows: 1 << 25, cached_bytes: 32 << 20, encode_from: 1 << 20 }
    }

    /// Always where a table has more than a few groups or rows, for tests.
    pub fn small() -> Tuning {
        Tuning { shared_bytes: 400, rows: 0, cached_bytes: 256, encode_from: 6 }
    }
}

/// Bytes of a row that are moved, at most: beyond, moving costs as much as it saves.
pub const WIDEST: u64 = 64;
/// An item has at most the rows of so many partitions of average size, or `LEAST` rows if that is more.
const ITEM: u64 = 2;
const LEAST: u64 = 1 << 14;
/// Rows are partitioned if at least one row in so many is in another partition than the row before. Otherwise rows are
/// clustered as they are.
const CLUSTERED_ROWS: u64 = 8;

/// Rows, ordered by partition.
pub struct PartitionedRows {
    pub moved: Vec<PartitionedColumn>,
    pub rows: PartitionOutput,
    pub count: u64,
    pub memory: Vec<Buffer>,
    cut: PartitionSpec,
    /// The starts of the partitions.
    _state: Buffer,
}

/// Partitioned rows of groups, and the body that aggregates them.
pub struct PartitionedAggregation<'b> {
    body: KernelBody<'b>,
    size: u64,
    shifted: PartitionedRows,
    shared: u32,
}

impl GroupContext<'_> {
    /// Moves the rows of a large table of groups, if that is worth it.
    pub fn part<'b>(
        &self,
        body: &KernelBody<'b>,
        key_lookup: &KeyLookup,
        layout: &SlotLayout,
        place: u64,
    ) -> Result<Option<PartitionedAggregation<'b>>> {
        let KeyLookup::Direct { size, .. } = *key_lookup else { return Ok(None) };
        let place = place ^ ROWS_SEED;
        let (rows, tuning) = (body.source.rows, self.tuning);
        let each_bytes = layout.shared_bytes(Pass::First).max(layout.shared_bytes(Pass::Second)).max(4);
        let table = size.saturating_mul(u64::from(key_lookup.stride(layout)) * 8);
        let is_large = size.saturating_mul(u64::from(each_bytes)) > u64::from(tuning.shared_bytes);
        let least = if table > tuning.cached_bytes { tuning.rows / 8 } else { tuning.rows };
        let worth = rows >= least.max(size).max(1);
        if !is_large || !worth || size > u64::from(u32::MAX) || self.sizes.get(place) == Some(IN_PLACE) {
            return Ok(None);
        }
        // The kernel has a few words in addition to the table.
        let room = tuning.shared_bytes - tuning.shared_bytes / 64;
        // Two blocks on a multiprocessor, or one with more of the table.
        let most = |bytes: u32| u64::from(bytes / each_bytes).clamp(1, 1 << 16);
        let (half, full) = (most(HALF_SHARED.min(room)), most(room));
        let blocks = 2 * u64::from(self.context.device().properties().multiprocessors);
        let needed = if size.div_ceil(half) <= MOST / 2 { size.div_ceil(half) } else { size.div_ceil(full) };
        // As many as make all blocks work as long as the others.
        let even = needed.next_multiple_of(blocks);
        let each = size.div_ceil(if even <= MOST { even } else { needed }).max(1);
        let parts = size.div_ceil(each);
        let read: Vec<_> =
            partition::read(layout.in_pass(Pass::First).chain(layout.in_pass(Pass::Second)).map(|(_, a)| a)).collect();
        if parts > MOST || !is_movable(body, key_lookup, &read) {
            return Ok(None);
        }
        let moved = PartitionedColumn::all(body, read);
        if partition::staged_bytes(&moved) > WIDEST {
            return Ok(None);
        }
        let shifted = match self.shift(body, key_lookup, (each, parts, true), moved, place) {
            // The rows stay where they are.
            Err(error) if error.is_memory() => return Ok(None),
            shifted => shifted?,
        };
        let body = KernelBody::new(body.source, body.graph, body.beside, None, body.memo);
        Ok(shifted.map(|shifted| PartitionedAggregation { body, size, shifted, shared: each as u32 * each_bytes }))
    }

    /// Partitions rows. A partition has `each` slots if each key has a slot. If `wanted`, the rows' numbers within
    /// their partitions are written, too. `None` if rows are clustered as they are.
    pub fn shift(
        &self,
        body: &KernelBody,
        key_lookup: &KeyLookup,
        (each, parts, wanted): (u64, u64, bool),
        moved: Vec<PartitionedColumn>,
        place: u64,
    ) -> Result<Option<PartitionedRows>> {
        let (context, rows) = (self.context, body.source.rows);
        let state = context.zeros((4 * parts + 3) * 8)?;
        let changes = state.address() + (4 * parts + 2) * 8;
        let limit = (rows / parts * ITEM).max(LEAST);
        let cut = PartitionSpec { each: each as u32, parts: parts as u32, limit, state: state.address() };
        let fault = self.status.fault();
        let parameters = partition::count_parameters(body, key_lookup, fault, self.status.ticket(), changes, &cut);
        let program = || partition::count(body, key_lookup, &parameters);
        let function = body.kernel(context, "part_count", key_lookup.codegen_key(), program)?;
        launch(context, &function, parameters.arguments(), rows, partition::THREADS, 4 * cut.parts)?;
        let mut count = rows;
        let is_known = self.sizes.get(place) == Some(PARTITIONED);
        if !is_known || body.filter.is_some() || body.source.present.is_some() {
            // The rows that pass the filter, and how often the partition changes from row to row.
            let (from, to) = (3 * parts as usize, (4 * parts + 3) as usize);
            let words = state.read::<u64>(from..to, &context.stream)?;
            count = words[0];
            let together = words[words.len() - 1].saturating_mul(4 * CLUSTERED_ROWS) < count;
            self.sizes.put(place, if together { IN_PLACE } else { PARTITIONED });
            if together {
                return Ok(None);
            }
        }
        let mut memory = Vec::new();
        let mut take = |bytes: u64| -> Result<u64> {
            let buffer = context.allocate(bytes * count.max(1))?;
            let address = buffer.address();
            memory.push(buffer);
            Ok(address)
        };
        let group = if wanted { Some(take(2)?) } else { None };
        let mut columns = Vec::new();
        for moved in &moved {
            let values = if moved.value { take(moved.width())? } else { 0 };
            columns.push((values, if moved.nullable { take(1)? } else { 0 }));
        }
        let to = PartitionOutput { group, columns };
        let parameters = partition::move_parameters(body, key_lookup, fault, &cut, &moved, &to);
        let items = partition::items(&moved, cut.parts);
        let program = || partition::moving(body, key_lookup, (&moved, &to), items, &parameters);
        let function = body.kernel(context, "part_move", (key_lookup.codegen_key(), &moved, items, wanted), program)?;
        let tiles = rows.div_ceil(u64::from(partition::THREADS * items));
        let grid = Grid::new(tiles as u32, partition::THREADS).shared(partition::moving_bytes(&moved, cut.parts));
        launch_grid(context, &function, parameters.arguments(), &grid)?;
        Ok(Some(PartitionedRows { moved, rows: to, count, memory, cut, _state: state }))
    }
}

/// Whether what is read of the rows of a pipeline can be moved, and is not computed at a great cost: it is, twice.
pub fn is_movable(body: &KernelBody, key_lookup: &KeyLookup, read: &[(NodeId, bool)]) -> bool {
    let roots: Vec<NodeId> = read.iter().map(|(id, _)| *id).chain(key_lookup.keys()).chain(body.filter).collect();
    let probes = body.graph.needed(&roots).iter().any(|id| matches!(body.graph.node(*id).op, Op::Probe(_)));
    let has_width = |id: &NodeId| !matches!(body.graph.kind(*id), DeviceType::String | DeviceType::ListView);
    !probes && roots.iter().all(has_width) && body.beside.window.is_none()
}

/// The entry of a place in `sizes` if its groups have a slot each: whether rows stay or move. For hashed keys the entry
/// is the number of groups.
pub const IN_PLACE: u64 = u64::MAX;
const PARTITIONED: u64 = u64::MAX - 1;
/// Makes another place of it.
const ROWS_SEED: u64 = 0x9e37_79b9_7f4a_7c15;

impl PartitionedAggregation<'_> {
    /// Adds the moved rows to a table.
    pub fn add(
        &self,
        tools: &GroupContext,
        key_lookup: &KeyLookup,
        layout: &SlotLayout,
        round: Pass,
        table: &Buffer,
    ) -> Result<()> {
        let body = &self.body;
        let PartitionedRows { moved, rows, cut, .. } = &self.shifted;
        let fault = tools.status.fault();
        let parameters = partition::add_parameters(body, fault, cut, self.size, (moved, rows), table.address());
        let program = || partition::add(body, layout, round, key_lookup, moved, &parameters);
        let function = body.kernel(tools.context, "group_parted", (layout, round, moved), program)?;
        let threads = shared_threads(layout);
        // Items are partitions, or pieces of partitions.
        let items = u64::from(cut.parts) + body.source.rows / cut.limit;
        launch(tools.context, &function, parameters.arguments(), items * u64::from(threads), threads, self.shared)
    }
}
