//! Degrees, sums over rows, iterations of PageRank, and vectors of a Lanczos iteration: `cuda/graph_rank.cuh`.

use onrush_device::{Arguments, Buffer};

use super::{Bins, Csr, InnerRows, Kernel, Kernels};
use crate::error::Result;
use crate::headers;
use crate::library::Context;

const KERNELS: &[Kernel] = &[
    Kernel {
        name: "graph_product_plain",
        parameters: "GraphRows rows, GraphBins bins, const f64* values, f64* out, u32* ticket",
        call: "graph_product<false>(rows, bins, values, out, ticket)",
    },
    Kernel {
        name: "graph_product_weighted",
        parameters: "GraphRows rows, GraphBins bins, const f64* values, f64* out, u32* ticket",
        call: "graph_product<true>(rows, bins, values, out, ticket)",
    },
    Kernel {
        name: "graph_scale_of_rows",
        parameters: "GraphRows rows, GraphBins bins, f64* scale, u32* ticket",
        call: "graph_out_scale(rows, bins, scale, ticket)",
    },
    Kernel {
        name: "graph_pagerank_begin",
        parameters: "u32 nodes, GraphVector start, const f64* scale, f64* rank, f64* gift, f64* partials, \
                     GraphPageRank* state",
        call: "graph_pagerank_start(nodes, start, scale, rank, gift, partials, state)",
    },
    Kernel {
        name: "graph_pagerank_begin_narrow",
        parameters: "u32 nodes, GraphVector start, const f64* scale, f64* rank, f32* gift, f64* partials, \
                     GraphPageRank* state",
        call: "graph_pagerank_start(nodes, start, scale, rank, gift, partials, state)",
    },
    Kernel {
        name: "graph_vector_to_inner",
        parameters: "const f64* values, const u32* order, u32 nodes, f64* out",
        call: "graph_to_inner(values, order, nodes, out)",
    },
    Kernel {
        name: "graph_vector_from_inner",
        parameters: "const f64* values, const u32* order, u32 nodes, f64* out",
        call: "graph_from_inner(values, order, nodes, out)",
    },
    Kernel {
        name: "graph_dots_of",
        parameters: "const f64* basis, u32 count, u32 nodes, const f64* x, f64* partials, f64* dots, u32* blocks",
        call: "graph_dots(basis, count, nodes, x, partials, dots, blocks)",
    },
    Kernel {
        name: "graph_combination",
        parameters: "const f64* basis, u32 count, u32 nodes, const f64* factors, f64 sign, const f64* from, f64 \
                     scale, f64* out",
        call: "graph_combine(basis, count, nodes, factors, sign, from, scale, out)",
    },
    Kernel {
        name: "graph_clamped_sum",
        parameters: "f64* values, u32 nodes, f64* partials, f64* sum, u32* blocks",
        call: "graph_clamp_sum(values, nodes, partials, sum, blocks)",
    },
    Kernel {
        name: "graph_divided",
        parameters: "f64* values, u32 nodes, const f64* sum",
        call: "graph_divide(values, nodes, sum)",
    },
    Kernel {
        name: "graph_degrees_of",
        parameters: "GraphRows rows, GraphRows into, u64* out",
        call: "graph_degrees(rows, into, out)",
    },
    Kernel { name: "graph_lengths_of", parameters: "GraphRows rows, u64* out", call: "graph_row_lengths(rows, out)" },
    Kernel {
        name: "graph_centrality_of",
        parameters: "const u64* degrees, u32 nodes, f64* out",
        call: "graph_centrality(degrees, nodes, out)",
    },
];

/// Iterations of PageRank have larger blocks. `Gift` is f64 or f32.
const ITERATIONS: &[Kernel] = &[
    Kernel {
        name: "graph_pagerank_plain",
        parameters: PAGERANK,
        call: "graph_pagerank<Gift, false>(rows, bins, blocks, hubs, alpha, limit, jump, leave, scale, gift, rank, \
               gift_out, state)",
    },
    Kernel {
        name: "graph_pagerank_weighted",
        parameters: PAGERANK,
        call: "graph_pagerank<Gift, true>(rows, bins, blocks, hubs, alpha, limit, jump, leave, scale, gift, rank, \
               gift_out, state)",
    },
];

const PAGERANK: &str = "GraphRows rows, GraphLaneBins bins, u32 blocks, u32 hubs, f64 alpha, f64 limit, \
                        GraphVector jump, GraphVector leave, const f64* scale, const Gift* gift, f64* rank, \
                        Gift* gift_out, GraphPageRank* state";

/// Threads of a block of an iteration of PageRank: as many as a multiprocessor runs with 64 registers each.
const RANK_THREADS: u32 = 1024;
/// Bytes of shared memory for the values of hubs. A block has up to 227 KB, and uses some without asking.
const HUB_BYTES: u32 = 220 << 10;

/// Nodes of a chunk of a sum over nodes.
const CHUNK: u64 = 4096;
/// Nodes of a tile that begins a PageRank.
const TILE: u64 = 1024;

/// A vector on the device, or one value for all nodes.
#[derive(Clone, Copy)]
pub enum NodeVector<'a> {
    Each(&'a Buffer),
    All(f64),
}

impl NodeVector<'_> {
    fn parameter(self) -> [u64; 2] {
        match self {
            NodeVector::Each(buffer) => [buffer.address(), 0],
            NodeVector::All(value) => [0, value.to_bits()],
        }
    }
}

/// The kernels, and what many launches use.
pub struct Rank<'a> {
    kernels: Kernels<'a>,
    ticket: Buffer,
}

impl<'a> Rank<'a> {
    /// # Errors
    /// Errors of the device.
    pub fn new(context: &'a Context) -> Result<Rank<'a>> {
        Ok(Rank { kernels: Kernels::new(context, &headers::GRAPH_RANK, KERNELS), ticket: context.zeros(4)? })
    }

    /// `out[v]`: the sum over the row of v of weight x values of the other end.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn product(&self, rows: &Csr, bins: &Bins, values: &Buffer, out: &Buffer) -> Result<()> {
        self.ticket.fill(0, &self.kernels.context.stream)?;
        let name = if rows.weights.is_some() { "graph_product_weighted" } else { "graph_product_plain" };
        let arguments = Arguments::new().value(rows.parameter()).value(bins.parameter());
        self.tiles(name, bins, arguments.buffer(values).buffer(out).buffer(&self.ticket))
    }

    /// 1 / the sum of the weights of each row, 0 where there are none.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn scale_of_rows(&self, rows: &Csr, bins: &Bins, scale: &Buffer) -> Result<()> {
        self.ticket.fill(0, &self.kernels.context.stream)?;
        let arguments = Arguments::new().value(rows.parameter()).value(bins.parameter());
        self.tiles("graph_scale_of_rows", bins, arguments.buffer(scale).buffer(&self.ticket))
    }

    fn tiles(&self, name: &str, bins: &Bins, arguments: Arguments) -> Result<()> {
        let blocks = self.kernels.resident(name, 0)?.min(bins.tiles.max(1));
        self.kernels.blocks(name, blocks, 0, arguments)
    }

    /// `dots[j]`: the product of the vector `j` of `basis` and `x`, an f64 each.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn dots(&self, basis: &Buffer, count: u32, nodes: u32, x: &Buffer, dots: &Buffer) -> Result<()> {
        let chunks = u64::from(nodes).div_ceil(CHUNK);
        let partials = self.kernels.context.allocate(8 * chunks * u64::from(count))?;
        self.ticket.fill(0, &self.kernels.context.stream)?;
        let arguments = Arguments::new().buffer(basis).value(count).value(nodes).buffer(x);
        let arguments = arguments.buffer(&partials).buffer(dots).buffer(&self.ticket);
        self.kernels.blocks("graph_dots_of", self.chunk_blocks("graph_dots_of", chunks)?, 0, arguments)
    }

    /// `out = (from + sign * sum of factors[j] x basis[j]) * scale`; a null `from` is 0, and `from` may be `out`.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn combine(
        &self,
        (basis, count, nodes): (&Buffer, u32, u32),
        (factors, sign): (&Buffer, f64),
        from: Option<&Buffer>,
        scale: f64,
        (out, offset): (&Buffer, u64),
    ) -> Result<()> {
        let arguments = Arguments::new().buffer(basis).value(count).value(nodes).buffer(factors).value(sign);
        let arguments = arguments.optional(from).value(scale).value(out.address() + offset);
        self.kernels.over("graph_combination", u64::from(nodes), arguments)
    }

    /// Makes negative values 0, and divides by the sum if it is above 0 and `divided` says so.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn clamp(&self, values: &Buffer, nodes: u32, divided: bool) -> Result<()> {
        let chunks = u64::from(nodes).div_ceil(CHUNK);
        let (partials, sum) = (self.kernels.context.allocate(8 * chunks)?, self.kernels.context.zeros(8)?);
        self.ticket.fill(0, &self.kernels.context.stream)?;
        let arguments = Arguments::new().buffer(values).value(nodes).buffer(&partials).buffer(&sum);
        let blocks = self.chunk_blocks("graph_clamped_sum", chunks)?;
        self.kernels.blocks("graph_clamped_sum", blocks, 0, arguments.buffer(&self.ticket))?;
        if !divided {
            return Ok(());
        }
        let arguments = Arguments::new().buffer(values).value(nodes).buffer(&sum);
        self.kernels.over("graph_divided", u64::from(nodes), arguments)
    }

    fn chunk_blocks(&self, name: &str, chunks: u64) -> Result<u32> {
        Ok(u64::from(self.kernels.resident(name, 0)?).min(chunks.max(1)) as u32)
    }

    /// The edges at each node, a u64 each. A loop of an undirected graph counts twice. Rows by target count as well if
    /// there are any.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn degrees(&self, rows: &Csr, into: Option<&Csr>, out: &Buffer) -> Result<()> {
        let into = into.map_or([0; 4], Csr::parameter);
        let arguments = Arguments::new().value(rows.parameter()).value(into).buffer(out);
        self.kernels.over("graph_degrees_of", u64::from(rows.nodes), arguments)
    }

    /// The arcs of each row, a u64 each.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn lengths(&self, rows: &Csr, out: &Buffer) -> Result<()> {
        let arguments = Arguments::new().value(rows.parameter()).buffer(out);
        self.kernels.over("graph_lengths_of", u64::from(rows.nodes), arguments)
    }

    /// Degrees / (nodes - 1), and 1 if there is one node.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn centrality(&self, degrees: &Buffer, nodes: u32, out: &Buffer) -> Result<()> {
        let arguments = Arguments::new().buffer(degrees).value(nodes).buffer(out);
        self.kernels.over("graph_centrality_of", u64::from(nodes), arguments)
    }
}

/// The type of values that are gathered along arcs: an f64, or half as many bytes. The latter has a relative error of
/// 2^-25 that sums of many arcs lessen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contributions {
    Exact,
    Narrow,
}

impl Contributions {
    fn bytes(self) -> u32 {
        if self == Contributions::Exact { 8 } else { 4 }
    }
}

/// A PageRank in work: vectors on the device, in the order of falling degrees.
pub struct PageRankState<'a> {
    iterations: Kernels<'a>,
    kernels: &'a Rank<'a>,
    rows: &'a InnerRows,
    /// Nodes whose values are in shared memory, and its bytes.
    hubs: u32,
    shared: u32,
    rank: Buffer,
    gifts: [Buffer; 2],
    scale: Buffer,
    jump: InnerVector,
    leave: InnerVector,
    /// Whether it has converged, iterations, the last change as an f64, and what else kernels need.
    pub state: Buffer,
}

/// The parameters of a PageRank. Vectors are by node, and each adds up to 1.
#[derive(Clone, Copy)]
pub struct PageRankVectors<'a> {
    /// The ranks to start with.
    pub start: NodeVector<'a>,
    /// The destinations of jumps.
    pub jump: NodeVector<'a>,
    /// The destinations of nodes without edges out.
    pub leave: NodeVector<'a>,
}

/// A vector in the order of falling degrees, or one value for all nodes.
enum InnerVector {
    Each(Buffer),
    All(f64),
}

impl InnerVector {
    fn parameter(&self) -> [u64; 2] {
        match self {
            InnerVector::Each(buffer) => NodeVector::Each(buffer).parameter(),
            InnerVector::All(value) => NodeVector::All(*value).parameter(),
        }
    }
}

impl<'a> PageRankState<'a> {
    /// `out` are the rows by source, whose sums of weights scale what nodes give, and `rows` those by target.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn begin(
        kernels: &'a Rank<'a>,
        out: &Csr,
        rows: &'a InnerRows,
        vectors: &PageRankVectors,
        contributions: Contributions,
    ) -> Result<PageRankState<'a>> {
        let context = kernels.kernels.context;
        let nodes = u64::from(out.nodes);
        let vector = || context.allocate(8 * nodes);
        let by_node = vector()?;
        kernels.scale_of_rows(out, &out.bins(context)?, &by_node)?;
        let scale = kernels.to_inner(&by_node, rows)?;
        let room = HUB_BYTES.min(context.device().properties().shared_memory_per_block - 4096);
        let hubs = out.nodes.min(room / contributions.bytes());
        let gift = || context.allocate(u64::from(contributions.bytes()) * nodes);
        let (gift_type, begin) = match contributions {
            Contributions::Exact => ("f64", "graph_pagerank_begin"),
            Contributions::Narrow => ("f32", "graph_pagerank_begin_narrow"),
        };
        let made = PageRankState {
            iterations: Kernels::typed(
                context,
                &headers::GRAPH_RANK,
                RANK_THREADS,
                &format!("typedef {gift_type} Gift;\n"),
                ITERATIONS,
            ),
            kernels,
            rows,
            hubs,
            shared: contributions.bytes() * hubs,
            rank: by_node,
            gifts: [gift()?, gift()?],
            scale,
            jump: kernels.inner_vector(vectors.jump, rows)?,
            leave: kernels.inner_vector(vectors.leave, rows)?,
            state: context.zeros(56)?,
        };
        let start = kernels.inner_vector(vectors.start, rows)?;
        let tiles = nodes.div_ceil(TILE);
        let partials = context.allocate(8 * tiles)?;
        let arguments = Arguments::new().value(out.nodes).value(start.parameter()).buffer(&made.scale);
        let arguments = arguments.buffer(&made.rank).buffer(&made.gifts[0]).buffer(&partials).buffer(&made.state);
        kernels.kernels.blocks(begin, kernels.chunk_blocks(begin, tiles)?, 0, arguments)?;
        Ok(made)
    }

    /// The iteration `number`, counted from 0. Converged if the L1 norm of the change is below `limit`: later
    /// iterations do nothing.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn step(&self, alpha: f64, limit: f64, number: u64) -> Result<()> {
        let name = match self.rows.csr.weights {
            Some(_) => "graph_pagerank_weighted",
            None => "graph_pagerank_plain",
        };
        let (from, to) = (&self.gifts[(number % 2) as usize], &self.gifts[(number % 2) as usize ^ 1]);
        let arguments = Arguments::new()
            .value(self.rows.csr.parameter())
            .value(self.rows.lane_bins)
            .value(self.rows.blocks)
            .value(self.hubs)
            .value(alpha)
            .value(limit)
            .value(self.jump.parameter())
            .value(self.leave.parameter())
            .buffer(&self.scale)
            .buffer(from)
            .buffer(&self.rank)
            .buffer(to)
            .buffer(&self.state);
        self.iterations.blocks(name, self.iterations.resident(name, self.shared)?, self.shared, arguments)
    }

    /// The ranks by node, an f64 each.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn ranks(&self) -> Result<Buffer> {
        let context = self.kernels.kernels.context;
        let out = context.allocate(self.rank.bytes())?;
        let nodes = self.rows.csr.nodes;
        let arguments = Arguments::new().buffer(&self.rank).value(self.rows.order()).value(nodes).buffer(&out);
        self.kernels.kernels.over("graph_vector_from_inner", u64::from(nodes), arguments)?;
        Ok(out)
    }
}

impl Rank<'_> {
    fn to_inner(&self, values: &Buffer, rows: &InnerRows) -> Result<Buffer> {
        let nodes = rows.csr.nodes;
        let out = self.kernels.context.allocate(8 * u64::from(nodes))?;
        let arguments = Arguments::new().buffer(values).value(rows.order()).value(nodes).buffer(&out);
        self.kernels.over("graph_vector_to_inner", u64::from(nodes), arguments)?;
        Ok(out)
    }

    fn inner_vector(&self, vector: NodeVector, rows: &InnerRows) -> Result<InnerVector> {
        Ok(match vector {
            NodeVector::Each(buffer) => InnerVector::Each(self.to_inner(buffer, rows)?),
            NodeVector::All(value) => InnerVector::All(value),
        })
    }
}
