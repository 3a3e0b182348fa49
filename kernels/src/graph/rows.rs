//! Compressed sparse rows on a device, their transposition, and their nodes by degree.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use onrush_device::{Arguments, Buffer};

use super::{kernels, numbers};
use crate::error::Result;
use crate::library::Context;
use crate::scan::{Bounds, scan};
use crate::sort::sort;

/// Compressed sparse rows on a device. A clone shares the memory.
///
/// `offsets` has a u32 for each node and the number of arcs at the end. `targets` and `edges` have a u32 for each arc,
/// `weights` an f64. A row is sorted by target, then by edge.
#[derive(Clone)]
pub struct Csr {
    pub nodes: u32,
    pub arcs: u32,
    pub offsets: Arc<Buffer>,
    pub targets: Arc<Buffer>,
    /// `None` if the graph has no weights.
    pub weights: Option<Arc<Buffer>>,
    /// The edge of each arc. `None` if they were not asked for.
    pub edges: Option<Arc<Buffer>>,
    classes: Arc<OnceLock<DegreeClasses>>,
    inner: Arc<OnceLock<InnerRows>>,
}

/// Nodes by the bits of their degrees, largest first; those of one class ascend.
pub struct DegreeClasses {
    /// A u32 for each node.
    pub order: Buffer,
    /// The begin of the nodes whose degrees have 32, 31, ... 0 bits, and the number of nodes at the end.
    begins: Vec<u32>,
}

impl DegreeClasses {
    /// The positions in `order` of the nodes with at least `2^least` arcs, and less than `2^below`.
    ///
    /// # Panics
    /// If a bound is above 32.
    pub fn range(&self, least: u32, below: u32) -> Range<u32> {
        // Degrees of `2^k` to `2^(k + 1) - 1` have k + 1 bits.
        self.begins[32 - below as usize]..self.begins[32 - least as usize]
    }

    /// The positions in `order` of the nodes without arcs.
    pub fn empty(&self) -> Range<u32> {
        self.begins[32]..self.begins[33]
    }
}

/// Rows in the order of falling degrees, with nodes numbered in that order. Rows of one size are adjacent, and so are
/// the values of the nodes that most arcs come from.
pub struct InnerRows {
    pub csr: Csr,
    order: u64,
    /// How many rows have 2^13 arcs or more: those of blocks.
    pub(super) blocks: u32,
    /// The parameter `GraphLaneBins` of the others.
    pub(super) lane_bins: [u64; 4],
}

/// The parameter `GraphLaneBins` of nodes from `first` on. Rows from 128 arcs on are those of a warp, from 16 on of
/// eight lanes, from 4 on of two.
fn lane_bins(classes: &DegreeClasses, order: u64, first: u32) -> [u64; 4] {
    let begin = |least: u32| u64::from(classes.range(least, 32).end.max(first));
    [order, u64::from(first) | begin(7) << 32, begin(4) | begin(2) << 32, u64::from(classes.empty().end)]
}

impl InnerRows {
    /// The address of the node of each number.
    pub(super) fn order(&self) -> u64 {
        self.order
    }
}

/// The rows that a block, a warp, four lanes or a thread each work on.
pub struct Bins {
    order: u64,
    begins: [u32; 5],
    /// Tiles of 1, 32, 256 or 1,024 rows.
    pub tiles: u32,
}

impl Bins {
    /// Rows from 1,024 arcs on are those of a block, from 32 on of a warp, from 4 on of four lanes.
    fn new(classes: &DegreeClasses) -> Bins {
        let begin = |least: u32| classes.range(least, 32).end;
        let begins = [0, begin(10), begin(5), begin(2), classes.empty().end];
        let tiles = [1, 32, 256, 1024].iter().zip(begins.windows(2)).map(|(rows, b)| (b[1] - b[0]).div_ceil(*rows));
        Bins { order: classes.order.address(), begins, tiles: tiles.sum() }
    }

    /// The parameter `GraphBins` of kernels.
    pub fn parameter(&self) -> [u64; 4] {
        let [a, b, c, d, e] = self.begins;
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        [self.order, pair(a, b), pair(c, d), pair(e, self.tiles)]
    }
}

impl Csr {
    /// Rows of buffers that have the lengths that [`Csr`] says.
    ///
    /// # Panics
    /// If one is shorter.
    pub fn new(
        (nodes, arcs): (u32, u32),
        offsets: Buffer,
        targets: Buffer,
        weights: Option<Buffer>,
        edges: Option<Buffer>,
    ) -> Csr {
        let arc_bytes = u64::from(arcs);
        assert!(offsets.bytes() >= 4 * (u64::from(nodes) + 1) && targets.bytes() >= 4 * arc_bytes, "short rows");
        assert!(weights.as_ref().is_none_or(|w| w.bytes() >= 8 * arc_bytes), "too few weights");
        assert!(edges.as_ref().is_none_or(|e| e.bytes() >= 4 * arc_bytes), "too few edges");
        Csr {
            nodes,
            arcs,
            offsets: Arc::new(offsets),
            targets: Arc::new(targets),
            weights: weights.map(Arc::new),
            edges: edges.map(Arc::new),
            classes: Arc::default(),
            inner: Arc::default(),
        }
    }

    /// The same rows without weights.
    #[must_use]
    pub fn unweighted(&self) -> Csr {
        if self.weights.is_none() {
            return self.clone();
        }
        Csr { weights: None, inner: Arc::default(), ..self.clone() }
    }

    /// The parameter `GraphRows` of kernels.
    pub fn parameter(&self) -> [u64; 4] {
        let weights = self.weights.as_ref().map_or(0, |w| w.address());
        let counts = u64::from(self.nodes) | u64::from(self.arcs) << 32;
        [self.offsets.address(), self.targets.address(), weights, counts]
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        let optional = |buffer: &Option<Arc<Buffer>>| buffer.as_ref().map_or(0, |b| b.bytes());
        let classes = self.classes.get().map_or(0, |c| c.order.bytes());
        let inner = self.inner.get().map_or(0, |inner| inner.csr.bytes());
        self.offsets.bytes() + self.targets.bytes() + optional(&self.weights) + optional(&self.edges) + classes + inner
    }

    /// Rows by target: a stable radix sort of the arcs. Waits for the stream.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn transposed(&self, context: &Context) -> Result<Csr> {
        let kernels = kernels(context);
        let (nodes, arcs) = (u64::from(self.nodes), u64::from(self.arcs));
        let offsets = context.allocate(4 * (nodes + 1))?;
        let targets = context.allocate(4 * arcs)?;
        let weights = self.weights.as_ref().map(|_| context.allocate(8 * arcs)).transpose()?;
        let edges = self.edges.as_ref().map(|_| context.allocate(4 * arcs)).transpose()?;
        let sorted = sort(context, &numbers(&self.targets, arcs))?;
        let arguments = Arguments::new().buffer(&sorted.keys).value(self.arcs).value(self.nodes).buffer(&offsets);
        kernels.over("begins", nodes + 1, arguments)?;
        let arguments = Arguments::new()
            .value(self.parameter())
            .optional(self.edges.as_deref())
            .buffer(&sorted.rows)
            .buffer(&targets)
            .optional(weights.as_ref())
            .optional(edges.as_ref());
        kernels.over("transpose", arcs, arguments)?;
        context.stream.synchronize()?;
        Ok(Csr::new((self.nodes, self.arcs), offsets, targets, weights, edges))
    }

    /// The nodes by degree, found at the first call, which waits for the stream. Two callers at once may both find
    /// them.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn classes(&self, context: &Context) -> Result<&DegreeClasses> {
        if let Some(classes) = self.classes.get() {
            return Ok(classes);
        }
        let kernels = kernels(context);
        let nodes = u64::from(self.nodes);
        let keys = context.allocate(4 * nodes)?;
        kernels.over("class_keys", nodes, Arguments::new().value(self.parameter()).buffer(&keys))?;
        let sorted = sort(context, &numbers(&keys, nodes))?;
        let begins = context.allocate(4 * 34)?;
        let arguments = Arguments::new().buffer(&sorted.keys).value(self.nodes).value(33_u32).buffer(&begins);
        kernels.over("begins", 34, arguments)?;
        let begins = begins.read::<u32>(0..34, &context.stream)?;
        Ok(self.classes.get_or_init(|| DegreeClasses { order: sorted.rows, begins }))
    }

    /// The rows by the threads that work on one. As [`Csr::classes`].
    ///
    /// # Errors
    /// Errors of the device.
    pub fn bins(&self, context: &Context) -> Result<Bins> {
        Ok(Bins::new(self.classes(context)?))
    }

    /// The parameter `GraphLaneBins` of all rows. As [`Csr::classes`].
    ///
    /// # Errors
    /// Errors of the device.
    pub fn lane_bins(&self, context: &Context) -> Result<[u64; 4]> {
        let classes = self.classes(context)?;
        Ok(lane_bins(classes, classes.order.address(), 0))
    }

    /// The rows in the order of falling degrees, made at the first call: a copy, which PageRank reads. Waits for the
    /// stream.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn inner(&self, context: &Context) -> Result<&InnerRows> {
        if let Some(inner) = self.inner.get() {
            return Ok(inner);
        }
        let (nodes, arcs) = (u64::from(self.nodes), u64::from(self.arcs));
        let (kernels, classes, bins) = (kernels(context), self.classes(context)?, self.bins(context)?);
        let (numbers, degrees) = (context.allocate(4 * nodes)?, context.allocate(4 * (nodes + 1))?);
        let arguments = Arguments::new().value(self.parameter()).buffer(&classes.order);
        kernels.over("inner_numbers", nodes + 1, arguments.buffer(&numbers).buffer(&degrees))?;
        let wide = scan(context, &super::numbers(&degrees, nodes + 1), Bounds::Exclusive)?;
        // The degrees are not needed any more.
        let offsets = degrees;
        kernels.over("narrow", nodes + 1, Arguments::new().buffer(&wide).value(nodes + 1).buffer(&offsets))?;
        let (targets, ticket) = (context.allocate(4 * arcs)?, context.zeros(4)?);
        let weights = self.weights.as_ref().map(|_| context.allocate(8 * arcs)).transpose()?;
        let arguments = Arguments::new().value(self.parameter()).value(bins.parameter()).buffer(&numbers);
        let arguments = arguments.buffer(&offsets).buffer(&targets).optional(weights.as_ref()).buffer(&ticket);
        let blocks = kernels.resident("inner_rows", 0)?.min(bins.tiles.max(1));
        kernels.blocks("inner_rows", blocks, 0, arguments)?;
        context.stream.synchronize()?;
        let blocks = classes.range(13, 32).end;
        let made = InnerRows {
            csr: Csr::new((self.nodes, self.arcs), offsets, targets, weights, None),
            order: classes.order.address(),
            blocks,
            lane_bins: lane_bins(classes, 0, blocks),
        };
        Ok(self.inner.get_or_init(|| made))
    }
}
