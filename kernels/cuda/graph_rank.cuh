// Sums over rows of a value of the other end: PageRank, and the products of HITS.
//
// A row is added by lanes that take every LANES-th arc, four sums each, then by a tree over lanes: the order depends on the degree
// alone. Sums over nodes are those of tiles, added in the order of tiles. All sums are f64.

template <u32 LANES, bool WEIGHTED>
__device__ __forceinline__ f64 graph_row_part(const GraphRows& rows, const f64* values, u32 node, u32 lane) {
    const u32 end = rows.end(node);
    u32 arc = rows.begin(node) + lane;
    f64 a = 0, b = 0, c = 0, d = 0;
    for (; arc + 3 * LANES < end && arc + 3 * LANES > arc; arc += 4 * LANES) {
        const u32 i = rows.targets[arc], j = rows.targets[arc + LANES];
        const u32 k = rows.targets[arc + 2 * LANES], l = rows.targets[arc + 3 * LANES];
        if (WEIGHTED) {
            a += rows.weights[arc] * values[i], b += rows.weights[arc + LANES] * values[j];
            c += rows.weights[arc + 2 * LANES] * values[k], d += rows.weights[arc + 3 * LANES] * values[l];
        } else {
            a += values[i], b += values[j], c += values[k], d += values[l];
        }
    }
    for (; arc < end; arc += LANES) a += WEIGHTED ? rows.weights[arc] * values[rows.targets[arc]] : values[rows.targets[arc]];
    return (a + b) + (c + d);
}

// The sum of a row, for the first of its lanes. All threads of the block, or of the warp, call it.
template <u32 LANES> __device__ __forceinline__ f64 graph_row_total(f64 part) {
    if constexpr (LANES > WARP) return graph_block_sum(part);
    else return graph_lanes_sum<LANES>(part);
}

// out[v] = sum of weight x values[other end]: the product of an adjacency matrix and a vector. Without `values`, sums of weights.
template <bool WEIGHTED>
__device__ __forceinline__ void graph_product(GraphRows rows, GraphBins bins, const f64* values, f64* out, u32* ticket) {
    for (u32 tile; (tile = graph_next_tile(ticket)) < bins.tiles;) {
        graph_visit(bins, tile, [&](auto lanes, bool is_row, u32 node, u32 lane) {
            constexpr u32 N = decltype(lanes)::COUNT;
            const f64 sum = graph_row_total<N>(is_row ? graph_row_part<N, WEIGHTED>(rows, values, node, lane) : 0.0);
            if (is_row && lane == 0) out[node] = sum;
        });
    }
}

// 1 / the sum of weights of each row, 0 where it is 0. Without weights: 1 / degree.
__device__ __forceinline__ void graph_out_scale(GraphRows rows, GraphBins bins, f64* scale, u32* ticket) {
    for (u32 tile; (tile = graph_next_tile(ticket)) < bins.tiles;) {
        graph_visit(bins, tile, [&](auto lanes, bool is_row, u32 node, u32 lane) {
            constexpr u32 N = decltype(lanes)::COUNT;
            f64 part = 0;
            if (is_row && rows.weights != nullptr) {
                for (u32 arc = rows.begin(node) + lane; arc < rows.end(node); arc += N) part += rows.weights[arc];
            }
            f64 sum = graph_row_total<N>(part);
            if (!is_row || lane != 0) return;
            if (rows.weights == nullptr) sum = (f64)rows.degree(node);
            scale[node] = sum == 0 ? 0.0 : 1.0 / sum;
        });
    }
}

struct GraphPageRank {
    u64 done;
    u64 iterations;
    // The L1 norm of the last change, and the rank of nodes that lead nowhere.
    f64 change;
    f64 lost;
    // Zero before and after each launch.
    u32 ticket;
    u32 blocks;
};

// A vector with a value for each node, or one value for all.
struct GraphVector {
    const f64* values;
    f64 all;
    __device__ __forceinline__ f64 at(u32 node) const { return values == nullptr ? all : values[node]; }
};

// What nodes give along an edge of weight 1, and what is lost, in tiles of 1,024 nodes.
__device__ __forceinline__ void graph_pagerank_start(u32 nodes, GraphVector start, const f64* scale, f64* rank, f64* gift, f64* partials,
                                                     GraphPageRank* state) {
    const u32 tiles = (nodes + 1023) / 1024;
    for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        f64 lost = 0;
        for (u32 i = threadIdx.x; i < 1024; i += GRAPH_THREADS) {
            const u32 v = tile * 1024 + i;
            if (v >= nodes) break;
            const f64 x = start.at(v);
            rank[v] = x;
            gift[v] = x * scale[v];
            if (scale[v] == 0) lost += x;
        }
        lost = graph_block_sum(lost);
        if (threadIdx.x == 0) partials[tile] = lost;
    }
    if (!graph_is_last(&state->blocks)) return;
    const f64 lost = graph_ordered_sum(partials, tiles, 1);
    if (threadIdx.x == 0) state->lost = lost, state->blocks = 0;
}

// One iteration. `partials` has two sums for each tile.
template <bool WEIGHTED>
__device__ __forceinline__ void graph_pagerank(GraphRows rows, GraphBins bins, f64 alpha, f64 limit, GraphVector jump, GraphVector leave,
                                               const f64* scale, const f64* gift, f64* rank, f64* gift_out, f64* partials,
                                               GraphPageRank* state) {
    if (state->done != 0) return;
    const f64 lost = state->lost;
    for (u32 tile; (tile = graph_next_tile(&state->ticket)) < bins.tiles;) {
        f64 change = 0, lost_here = 0;
        graph_visit(bins, tile, [&](auto lanes, bool is_row, u32 node, u32 lane) {
            constexpr u32 N = decltype(lanes)::COUNT;
            const f64 sum = graph_row_total<N>(is_row ? graph_row_part<N, WEIGHTED>(rows, gift, node, lane) : 0.0);
            if (!is_row || lane != 0) return;
            const f64 next = alpha * (sum + lost * leave.at(node)) + (1.0 - alpha) * jump.at(node);
            const f64 share = scale[node];
            change += fabs(next - rank[node]);
            rank[node] = next;
            gift_out[node] = next * share;
            if (share == 0) lost_here += next;
        });
        change = graph_block_sum(change);
        lost_here = graph_block_sum(lost_here);
        if (threadIdx.x == 0) partials[2 * tile] = change, partials[2 * tile + 1] = lost_here;
    }
    if (!graph_is_last(&state->blocks)) return;
    const f64 change = graph_ordered_sum(partials, bins.tiles, 2);
    const f64 next_lost = graph_ordered_sum(partials + 1, bins.tiles, 2);
    if (threadIdx.x != 0) return;
    state->change = change;
    state->lost = next_lost;
    state->iterations++;
    state->ticket = 0;
    state->blocks = 0;
    state->done = change < limit ? 1 : 0;
}

// ---- vectors of a Lanczos iteration: `basis` has `count` vectors, one after the other ----
enum : u32 { GRAPH_CHUNK = 4096 };

// dots[j] = basis[j] . x, by chunks of nodes. `partials` has `count` sums for each chunk.
__device__ __forceinline__ void graph_dots(const f64* basis, u32 count, u32 nodes, const f64* x, f64* partials, f64* dots, u32* blocks) {
    const u32 chunks = (nodes + GRAPH_CHUNK - 1) / GRAPH_CHUNK;
    for (u32 chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
        const u32 begin = chunk * GRAPH_CHUNK, end = smaller(nodes, begin + GRAPH_CHUNK);
        for (u32 j = 0; j < count; j++) {
            const f64* vector = basis + (u64)j * nodes;
            f64 sum = 0;
            for (u32 v = begin + threadIdx.x; v < end; v += GRAPH_THREADS) sum += vector[v] * x[v];
            sum = graph_block_sum(sum);
            if (threadIdx.x == 0) partials[(u64)chunk * count + j] = sum;
        }
    }
    if (!graph_is_last(blocks)) return;
    for (u32 j = 0; j < count; j++) {
        const f64 sum = graph_ordered_sum(partials + j, chunks, count);
        if (threadIdx.x == 0) dots[j] = sum;
    }
    if (threadIdx.x == 0) *blocks = 0;
}

// out = from + sum of factors[j] x basis[j], times `scale`. `from` may be null, and `out` may be `from`.
__device__ __forceinline__ void graph_combine(const f64* basis, u32 count, u32 nodes, const f64* factors, f64 sign, const f64* from,
                                              f64 scale, f64* out) {
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) {
        f64 x = from == nullptr ? 0.0 : from[v];
        for (u32 j = 0; j < count; j++) x += sign * factors[j] * basis[(u64)j * nodes + v];
        out[v] = x * scale;
    }
}

// Values at least 0, and their sum.
__device__ __forceinline__ void graph_clamp_sum(f64* values, u32 nodes, f64* partials, f64* sum, u32* blocks) {
    const u32 chunks = (nodes + GRAPH_CHUNK - 1) / GRAPH_CHUNK;
    for (u32 chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
        const u32 begin = chunk * GRAPH_CHUNK, end = smaller(nodes, begin + GRAPH_CHUNK);
        f64 part = 0;
        for (u32 v = begin + threadIdx.x; v < end; v += GRAPH_THREADS) {
            const f64 x = larger(values[v], 0.0);
            values[v] = x;
            part += x;
        }
        part = graph_block_sum(part);
        if (threadIdx.x == 0) partials[chunk] = part;
    }
    if (!graph_is_last(blocks)) return;
    const f64 total = graph_ordered_sum(partials, chunks, 1);
    if (threadIdx.x == 0) *sum = total, *blocks = 0;
}
// Divided by a sum that is above 0.
__device__ __forceinline__ void graph_divide(f64* values, u32 nodes, const f64* sum) {
    if (!(*sum > 0)) return;
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) values[v] /= *sum;
}

// Edges at each node: a loop of an undirected graph counts twice. `into` has no offsets if the graph is undirected.
__device__ __forceinline__ void graph_degrees(GraphRows rows, GraphRows into, u64* out) {
    for (u64 v = thread_in_grid(); v < rows.nodes; v += threads_in_grid()) {
        u64 degree = rows.degree((u32)v);
        if (into.offsets != nullptr) {
            degree += into.degree((u32)v);
        } else {
            const u32* row = rows.targets + rows.begin((u32)v);
            const u32 count = (u32)degree;
            degree += graph_lower_bound(row, count, (u32)v + 1) - graph_lower_bound(row, count, (u32)v);
        }
        out[v] = degree;
    }
}
__device__ __forceinline__ void graph_row_lengths(GraphRows rows, u64* out) {
    for (u64 v = thread_in_grid(); v < rows.nodes; v += threads_in_grid()) out[v] = rows.degree((u32)v);
}
// Degrees / (nodes - 1); 1 if there is one node.
__device__ __forceinline__ void graph_centrality(const u64* degrees, u32 nodes, f64* out) {
    const f64 scale = 1.0 / ((f64)nodes - 1.0);
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) out[v] = nodes <= 1 ? 1.0 : (f64)degrees[v] * scale;
}
