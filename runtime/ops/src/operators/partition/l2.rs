//! Radix partitioning for tables that are larger than the L2 cache. Later kernels work on one partition of the table at
//! a time, which the cache holds.
//!
//! On an H200, 1e8 rows in 1e7 groups by a computed key take 1.9 ms to partition and 3.5 ms to aggregate. In place they
//! take 8.9 ms. Build tables of dense joins stay in place: rows of one partition contend for the words of the presence
//! bitmap. With 1e8 rows that took 12.3 ms instead of 6.1 ms. Build tables of hashed joins are partitioned
//! (`join/radix.rs`).

use std::hash::{DefaultHasher, Hash, Hasher};

use onrush_device::Buffer;

use crate::Result;
use crate::codegen::group::KeyLookup;
use crate::codegen::partition::{self, PartitionedColumn};
use crate::codegen::{ColumnRef, KernelBody, Parameters, RowSource, SideInputs};
use crate::ir::aggregate::Accumulator;
use crate::ir::expr::{DeviceType, ExprGraph, NodeId};
use crate::launch::kernel_cache::KernelCache;
use crate::operators::group::GroupContext;
use crate::operators::partition::shared::{IN_PLACE, PartitionedRows, WIDEST, is_movable};

/// Bytes of a table's partition. Rows that are processed at once may be of two or three partitions. Half and a quarter
/// of this size took longer on an H200.
const PART: u64 = 16 << 20;
/// Partitions, at least and at most. With many partitions, few rows of a tile are written next to each other.
const PARTS: (u64, u64) = (8, 256);
/// Tables with more than so many times the bytes of the L2 cache are partitioned. Measured on an H200 with 1e8 rows: a
/// table of 128 MB takes 6.9 ms in place and 8.7 ms partitioned. One of 1.3 GB takes 15.5 ms and 11.0 ms.
const FAR: u64 = 6;

/// Into how many partitions a table of so many bytes is split.
pub(crate) fn parts_of(bytes: u64) -> u64 {
    (bytes / PART).clamp(PARTS.0, PARTS.1)
}

/// Partitioned rows, as separate columns.
pub struct PartitionedSource {
    source: RowSource,
    graph: ExprGraph,
    /// The node that was computed of each row, and its column in the partitioned rows.
    columns: Vec<(NodeId, NodeId)>,
    _memory: Vec<Buffer>,
}

impl GroupContext<'_> {
    /// Whether so many rows may be worth moving for a table of so many bytes.
    pub fn exceeds_l2(&self, rows: u64, bytes: u64) -> bool {
        bytes > FAR * self.tuning.cached_bytes && rows >= (self.tuning.rows / 8).max(1)
    }

    /// Partitions rows for a table of so many bytes, with their keys and then the values that are `read` of them.
    /// `true` reads the value, and not only whether it is valid. `None` if partitioning does not pay, or if there is no
    /// memory.
    pub fn cluster(
        &self,
        body: &KernelBody,
        key_lookup: &KeyLookup,
        read: impl Iterator<Item = (NodeId, bool)>,
        bytes: u64,
        place: u64,
    ) -> Result<Option<PartitionedSource>> {
        let place = {
            let mut hasher = DefaultHasher::new();
            ("clustered", place).hash(&mut hasher);
            hasher.finish()
        };
        if !self.exceeds_l2(body.source.rows, bytes) || self.sizes.get(place) == Some(IN_PLACE) {
            return Ok(None);
        }
        let read: Vec<_> = read.chain(key_lookup.keys().into_iter().map(|key| (key, true))).collect();
        if !is_movable(body, key_lookup, &read) {
            return Ok(None);
        }
        let moved = PartitionedColumn::all(body, read);
        if partition::staged_bytes(&moved) > WIDEST {
            return Ok(None);
        }
        let parts = parts_of(bytes);
        let each = match key_lookup {
            KeyLookup::Direct { size, .. } if *size > u64::from(u32::MAX) => return Ok(None),
            KeyLookup::Direct { size, .. } => size.div_ceil(parts).max(1),
            _ => 1,
        };
        match self.shift(body, key_lookup, (each, parts, false), moved, place) {
            Err(error) if error.is_memory() => Ok(None),
            shifted => Ok(shifted?.map(|shifted| PartitionedSource::new(body, shifted, place))),
        }
    }
}

impl PartitionedSource {
    fn new(body: &KernelBody, shifted: PartitionedRows, identity: u64) -> PartitionedSource {
        let (mut graph, mut parameters) = (ExprGraph::new(), Parameters::new());
        let (mut inputs, mut columns) = (Vec::new(), Vec::new());
        for (index, (moved, (values, valid))) in shifted.moved.iter().zip(&shifted.rows.columns).enumerate() {
            let mut value = format!("({})0", moved.kind.cuda());
            if moved.value {
                parameters.address(&format!("const {}* __restrict__", moved.stored()), &format!("r{index}"), *values);
                value = match moved.kind {
                    DeviceType::Bool => format!("(r{index}[row] != 0)"),
                    kind if kind.cuda() != moved.stored() => format!("({})r{index}[row]", kind.cuda()),
                    _ => format!("r{index}[row]"),
                };
            }
            let valid = moved.nullable.then(|| {
                parameters.address("const u8* __restrict__", &format!("rv{index}"), *valid);
                format!("(rv{index}[row] != 0)")
            });
            inputs.push(ColumnRef {
                kind: moved.kind,
                value,
                valid,
                range: body.range(moved.of),
                elements: Vec::new(),
            });
            columns.push((moved.of, graph.input(index, moved.kind)));
        }
        // Several rows of a group find it in the cache, also where rows drift apart; with fewer of them under way it
        // takes longer.
        let is_partitioned = false;
        let source = RowSource {
            rows: shifted.count,
            parameters,
            inputs,
            fetched: Vec::new(),
            present: None,
            identity,
            is_partitioned,
        };
        PartitionedSource { source, graph, columns, _memory: shifted.memory }
    }

    /// The node of a value of the original rows, `None` if it was not read.
    fn now(&self, of: NodeId) -> Option<NodeId> {
        self.columns.iter().find(|(before, _)| *before == of).map(|(_, now)| *now)
    }

    /// The nodes that keys are in the partitioned rows. All keys are read.
    pub fn keys(&self, of: &[NodeId]) -> Vec<NodeId> {
        of.iter().filter_map(|id| self.now(*id)).collect()
    }

    /// Values of accumulators that are not read are never null, and are only counted: their accumulators count rows.
    pub fn accumulators(&self, of: &[Accumulator]) -> Vec<Accumulator> {
        let now = |of: Option<NodeId>| of.and_then(|of| self.now(of));
        of.iter().map(|a| Accumulator { of: now(a.of), with: now(a.with), ..*a }).collect()
    }

    pub fn body<'a>(&'a self, memo: &'a KernelCache) -> KernelBody<'a> {
        KernelBody::new(&self.source, &self.graph, SideInputs::default(), None, memo)
    }
}
