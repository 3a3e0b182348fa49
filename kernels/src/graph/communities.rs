//! Local moving and refinement of one level of Louvain or Leiden: `cuda/graph_communities.cuh`.

use onrush_device::{Arguments, Buffer};

use super::levels::{CommunityLevel, CommunityState};
use super::{Kernel, Kernels, filled};
use crate::error::Result;
use crate::headers;
use crate::library::Context;

/// Classes of nodes that decide by one snapshot.
pub const CLASSES: usize = 16;

const BINS: usize = 6;
const HUBS: usize = BINS - 1;
const HUB_CHUNKS: usize = 6;
const HUB_LABELS: usize = 7;
const CLASS_COUNTS: usize = 8;
const ALL_COUNTS: usize = CLASSES * CLASS_COUNTS;
const GAIN_SLOTS: usize = 128;
const CHUNK_ARCS: u64 = 4096;
/// Slots of the hash table of a block with a part of a hub.
const CHUNK_SLOTS: u32 = 8192;
/// Slots of a warp for few arcs, at most 128.
const FEW_SLOTS: u32 = 256;
/// Warps of a block.
const WARPS: u32 = super::THREADS / 32;
/// Bytes of `Partial`.
const PARTIAL_BYTES: u64 = 32;

/// The most arcs of a node that one warp looks at alone, and that one block looks at alone. They have a hash table of
/// at least twice as many slots in shared memory.
const MOST: [u64; 2] = [512, 2048];
/// Smaller, so that tests have hubs.
const MOST_EMULATED: [u64; 2] = [144, 200];

macro_rules! search_kernels {
    ($constant:ident, $weighted:literal, $refine:literal) => {
        const $constant: &[Kernel] = &[
            Kernel {
                name: "count_classes_",
                parameters: "const CommunitySearch* search, u32 sweep, u64* counts",
                call: concat!("count_classes<", $refine, ">(search, sweep, counts)"),
            },
            Kernel {
                name: "class_begins_",
                parameters: "const u64* counts, u64* begins, u64* cursors",
                call: "if (thread_in_grid() == 0) class_begins(counts, begins, cursors)",
            },
            Kernel {
                name: "fill_classes_",
                parameters: "const CommunitySearch* search, u32 sweep, const u64* begins",
                call: concat!("fill_classes<", $refine, ">(search, sweep, begins)"),
            },
            Kernel {
                name: "decide_8",
                parameters: "const CommunitySearch* search, u32 sweep, u32 own, u64 begin, u64 count",
                call: concat!(
                    "decide_lanes<CommunityRule<",
                    $weighted,
                    ", ",
                    $refine,
                    ">, 8>({search, sweep, own}, begin, count)"
                ),
            },
            Kernel {
                name: "decide_32",
                parameters: "const CommunitySearch* search, u32 sweep, u32 own, u64 begin, u64 count",
                call: concat!(
                    "decide_lanes<CommunityRule<",
                    $weighted,
                    ", ",
                    $refine,
                    ">, 32>({search, sweep, own}, begin, count)"
                ),
            },
            Kernel {
                name: "decide_warp_",
                parameters: "const CommunitySearch* search, u32 sweep, u32 own, u64 begin, u64 count, u32 slots",
                call: concat!(
                    "decide_warp<CommunityRule<",
                    $weighted,
                    ", ",
                    $refine,
                    ">>({search, sweep, own}, begin, count, slots)"
                ),
            },
            Kernel {
                name: "decide_block_",
                parameters: "const CommunitySearch* search, u32 sweep, u32 own, u64 begin, u64 count",
                call: concat!(
                    "decide_block<CommunityRule<",
                    $weighted,
                    ", ",
                    $refine,
                    ">>({search, sweep, own}, begin, count)"
                ),
            },
            Kernel {
                name: "gather_chunks_",
                parameters: "const CommunitySearch* search, u32 sweep, u32 own, u64 begin, u64 first_chunk, u64 count, \
                             u64 hub_first",
                call: concat!(
                    "gather_chunks<CommunityRule<",
                    $weighted,
                    ", ",
                    $refine,
                    ">>({search, sweep, own}, begin, first_chunk, count, hub_first)"
                ),
            },
            Kernel {
                name: "add_chunks_",
                parameters: "const CommunitySearch* search, u32 sweep, u32 own, u64 begin, u64 first_chunk, u64 count, \
                             u64 hub_first",
                call: concat!(
                    "add_chunks<CommunityRule<",
                    $weighted,
                    ", ",
                    $refine,
                    ">>({search, sweep, own}, begin, first_chunk, count, hub_first)"
                ),
            },
            Kernel {
                name: "decide_hubs_",
                parameters: "const CommunitySearch* search, u32 sweep, u32 own, u64 begin, u64 count, u64 hub_first",
                call: concat!(
                    "decide_hubs<CommunityRule<",
                    $weighted,
                    ", ",
                    $refine,
                    ">>({search, sweep, own}, begin, count, hub_first)"
                ),
            },
            Kernel {
                name: "move_nodes_",
                parameters: "const CommunitySearch* search, u64 begin, u64 count",
                call: concat!("move_nodes<", $refine, ">(search, begin, count)"),
            },
            Kernel {
                name: "mark_8",
                parameters: "const CommunitySearch* search, u64 begin, u64 count",
                call: "mark_lanes<8>(search, begin, count)",
            },
            Kernel {
                name: "mark_32",
                parameters: "const CommunitySearch* search, u64 begin, u64 count",
                call: "mark_lanes<32>(search, begin, count)",
            },
            Kernel {
                name: "mark_chunks_",
                parameters: "const CommunitySearch* search, u64 begin, u64 first_chunk, u64 count",
                call: "mark_chunks(search, begin, first_chunk, count)",
            },
        ];
    };
}

search_kernels!(MOVE, "false", "false");
search_kernels!(MOVE_WEIGHTED, "true", "false");
search_kernels!(REFINE, "false", "true");
search_kernels!(REFINE_WEIGHTED, "true", "true");

/// The communities that a refinement stays within, and for each part the weight to the rest of its community.
pub struct Whole<'a> {
    pub state: &'a CommunityState,
    /// A u64 for each node.
    pub cut: &'a Buffer,
}

/// How nodes choose.
pub struct SearchOptions {
    pub resolution: f64,
    /// The part of a seed in the hash of classes: the 64 bits to which `counter * 0x9e3779b97f4a7c15` is added before
    /// the finaliser of SplitMix64.
    pub key: u64,
}

/// The result of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// Gained weight, divided by 1 + resolution, in fixed point.
    pub gained: u64,
    /// Nodes that moved.
    pub moved: u64,
}

/// The nodes of a sweep, by class and bin.
pub struct SweepPlan {
    number: u32,
    counts: [u64; ALL_COUNTS],
}

impl SweepPlan {
    pub fn is_empty(&self, class: usize) -> bool {
        self.counts[class * CLASS_COUNTS..][..BINS].iter().all(|n| *n == 0)
    }

    fn count(&self, class: usize, what: usize) -> u64 {
        self.counts[class * CLASS_COUNTS + what]
    }

    /// The begin of the nodes of a class and bin, and of its chunks.
    fn begin(&self, class: usize, bin: usize) -> u64 {
        let of = |class: usize, bins: std::ops::Range<usize>| bins.map(|b| self.count(class, b)).sum::<u64>();
        if bin < HUBS {
            return (0..class).map(|c| of(c, 0..HUBS)).sum::<u64>() + of(class, 0..bin);
        }
        (0..CLASSES).map(|c| of(c, 0..HUBS)).sum::<u64>() + (0..class).map(|c| self.count(c, HUBS)).sum::<u64>()
    }
}

/// One level of moving or refining: its scratch, and its parameters on the device.
pub struct Search<'a> {
    kernels: Kernels<'a>,
    level: &'a CommunityLevel,
    refines: bool,
    most: [u64; 2],
    parameters: Buffer,
    /// Counts of classes, then gains: one read has both.
    counts: Buffer,
    begins: Buffer,
    cursors: Buffer,
    /// The memory that the parameters name.
    _scratch: Vec<Buffer>,
    /// Communities of the arcs of hubs.
    labels: Option<Buffer>,
}

/// Words of `CommunitySearch` before the address of the labels.
const WORDS_BEFORE_LABELS: u64 = 23;

impl<'a> Search<'a> {
    /// A search that moves the nodes of `state`, or with `whole` those that are alone to parts of their communities.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn new(
        context: &'a Context,
        level: &'a CommunityLevel,
        state: &'a CommunityState,
        options: &SearchOptions,
        whole: Option<&Whole<'a>>,
    ) -> Result<Search<'a>> {
        let kernels = match (level.weights.is_some(), whole.is_some()) {
            (false, false) => MOVE,
            (true, false) => MOVE_WEIGHTED,
            (false, true) => REFINE,
            (true, true) => REFINE_WEIGHTED,
        };
        let kernels = Kernels::new(context, &headers::GRAPH_COMMUNITIES, kernels);
        let most = if context.device().is_emulated() { MOST_EMULATED } else { MOST };
        let (nodes, arcs) = (u64::from(level.nodes), u64::from(level.arcs));
        let hubs = arcs / most[1] + 1;
        let refines = whole.is_some();
        let counts = context.zeros(8 * (ALL_COUNTS + 2 * GAIN_SLOTS) as u64)?;
        let (begins, cursors) = (context.allocate(8 * ALL_COUNTS as u64)?, context.allocate(8 * ALL_COUNTS as u64)?);
        let marks = filled(context, nodes.div_ceil(32), u32::MAX)?;
        let (list, to) = (context.allocate(4 * nodes)?, context.allocate(4 * nodes)?);
        let change = refines.then(|| context.allocate(8 * nodes)).transpose()?;
        let hub_begin = context.allocate(16 * hubs)?;
        let chunks = context.allocate(16 * (arcs / CHUNK_ARCS + hubs))?;
        let partials = context.allocate(PARTIAL_BYTES * (arcs / CHUNK_ARCS + hubs))?;
        let address = |buffer: &Option<Buffer>| buffer.as_ref().map_or(0, Buffer::address);
        let mut words = level.parameter().to_vec();
        words.extend(state.parameter());
        words.extend([options.resolution.to_bits(), options.key]);
        words.extend([&marks, &list, &to].map(Buffer::address));
        words.extend([address(&change), cursors.address(), counts.address() + 8 * ALL_COUNTS as u64]);
        words.extend([hub_begin.address(), chunks.address(), 0]);
        words.extend(whole.map_or([0; 4], |w| w.state.parameter()));
        words.extend([whole.map_or(0, |w| w.cut.address()), most[0], most[1], partials.address()]);
        let parameters = context.upload(&words)?;
        let _scratch = [marks, list, to, hub_begin, chunks, partials].into_iter().chain(change).collect();
        Ok(Search { kernels, level, refines, most, parameters, counts, begins, cursors, _scratch, labels: None })
    }

    /// Lists the marked nodes of a level by class, and takes their marks away; at first all are marked. In a
    /// refinement, lists the nodes that may join a part. Also gives what the sweep before did. Waits for the stream.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn plan(&mut self, sweep: u32) -> Result<(SweepPlan, Sweep)> {
        let context = self.kernels.context;
        let nodes = u64::from(self.level.nodes);
        let bytes = 8 * ALL_COUNTS as u64;
        self.counts.fill_range(0, bytes, 0, &context.stream)?;
        let arguments = Arguments::new().buffer(&self.parameters).value(sweep).buffer(&self.counts);
        self.kernels.over("count_classes_", nodes.div_ceil(8), arguments)?;
        let arguments = Arguments::new().buffer(&self.counts).buffer(&self.begins).buffer(&self.cursors);
        self.kernels.blocks("class_begins_", 1, 0, arguments)?;
        let arguments = Arguments::new().buffer(&self.parameters).value(sweep).buffer(&self.begins);
        self.kernels.over("fill_classes_", nodes.div_ceil(8), arguments)?;
        let words = self.counts.read::<u64>(0..ALL_COUNTS + 2 * GAIN_SLOTS, &context.stream)?;
        self.counts.fill_range(bytes, 16 * GAIN_SLOTS as u64, 0, &context.stream)?;
        let mut before = Sweep::default();
        for slot in words[ALL_COUNTS..].chunks_exact(2) {
            (before.gained, before.moved) = (before.gained.wrapping_add(slot[0]), before.moved + slot[1]);
        }
        let mut plan = SweepPlan { number: sweep, counts: [0; ALL_COUNTS] };
        plan.counts.copy_from_slice(&words[..ALL_COUNTS]);
        self.enlarge((0..CLASSES).map(|class| plan.count(class, HUB_LABELS)).max().unwrap_or(0))?;
        Ok((plan, before))
    }

    /// Allocates the labels of so many arcs.
    fn enlarge(&mut self, arcs: u64) -> Result<()> {
        if 4 * arcs > self.labels.as_ref().map_or(0, Buffer::bytes) {
            let context = self.kernels.context;
            self.labels = None;
            let labels = context.allocate(4 * arcs)?;
            self.parameters.write(8 * WORDS_BEFORE_LABELS, &[labels.address()], &context.stream)?;
            self.labels = Some(labels);
        }
        Ok(())
    }

    /// All nodes of a class decide, then move; neighbours in other communities are marked.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn run(&self, plan: &SweepPlan, class: usize) -> Result<()> {
        let own = class as u32;
        let sums = if self.level.weights.is_some() { 8 } else { 4 };
        let hub_first = plan.begin(0, HUBS);
        let decide = |bin: usize| {
            let arguments = Arguments::new().buffer(&self.parameters).value(plan.number).value(own);
            arguments.value(plan.begin(class, bin))
        };
        for (bin, name, lanes) in [(0, "decide_8", 8), (1, "decide_32", 32)] {
            let count = plan.count(class, bin);
            if count > 0 {
                self.kernels.over(name, count * lanes, decide(bin).value(count))?;
            }
        }
        let table = |arcs: u64| (2 * arcs).next_power_of_two() as u32;
        // A launch with more than 48 KiB asks the driver first, which counts static memory too.
        let shared = |slots: u32| slots * (4 + sums) + 1024;
        for (bin, slots) in [(2, FEW_SLOTS), (3, table(self.most[0]))] {
            let count = plan.count(class, bin);
            if count > 0 {
                let shared = shared(WARPS * slots);
                let blocks =
                    self.kernels.resident("decide_warp_", shared)?.min(count.div_ceil(u64::from(WARPS)) as u32);
                self.kernels.blocks("decide_warp_", blocks, shared, decide(bin).value(count).value(slots))?;
            }
        }
        let count = plan.count(class, 4);
        if count > 0 {
            let shared = shared(table(self.most[1]));
            let blocks = self.kernels.resident("decide_block_", shared)?.min(count as u32);
            self.kernels.blocks("decide_block_", blocks, shared, decide(4).value(count))?;
        }
        let (hubs, chunks) = (plan.count(class, HUBS), plan.count(class, HUB_CHUNKS));
        let first_chunk: u64 = (0..class).map(|c| plan.count(c, HUB_CHUNKS)).sum();
        if hubs > 0 {
            for (name, shared) in [("gather_chunks_", 0), ("add_chunks_", shared(CHUNK_SLOTS))] {
                let arguments = decide(HUBS).value(first_chunk).value(chunks).value(hub_first);
                self.kernels.blocks(name, chunks as u32, shared, arguments)?;
            }
            self.kernels.over("decide_hubs_", 32 * hubs, decide(HUBS).value(hubs).value(hub_first))?;
        }
        let range = |bin: usize, count: u64| {
            Arguments::new().buffer(&self.parameters).value(plan.begin(class, bin)).value(count)
        };
        let others: u64 = (0..HUBS).map(|bin| plan.count(class, bin)).sum();
        for (bin, count) in [(0, others), (HUBS, hubs)] {
            if count > 0 {
                self.kernels.over("move_nodes_", count, range(bin, count))?;
            }
        }
        if self.refines {
            return Ok(());
        }
        let few = plan.count(class, 0);
        if few > 0 {
            self.kernels.over("mark_8", 8 * few, range(0, few))?;
        }
        if others > few {
            self.kernels.over("mark_32", 32 * (others - few), range(1, others - few))?;
        }
        if hubs > 0 {
            let arguments = Arguments::new().buffer(&self.parameters).value(plan.begin(class, HUBS));
            self.kernels.blocks("mark_chunks_", chunks as u32, 0, arguments.value(first_chunk).value(chunks))?;
        }
        Ok(())
    }
}
