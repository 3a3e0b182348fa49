// Sums over rows of a value of the other end: PageRank, and the products of HITS.
//
// A row is added by lanes that take every LANES-th arc, four sums each, then by a tree over lanes. The order depends on
// the degree alone. Sums over nodes are integers, or those of tiles, added in the order of tiles. Sums over rows are
// f64.

// No node has this number.
enum : u32 { GRAPH_NO_TARGET = ~0u };

// Values of nodes, and those of the first ones in shared memory.
struct GraphValues {
    const f64* values;
    __device__ __forceinline__ f64 at(u32 node) const { return values[node]; }
};
template <class G> struct GraphNearValues {
    const G* near;
    u32 count;
    const G* values;
    __device__ __forceinline__ f64 at(u32 node) const { return (f64)(node < count ? near[node] : values[node]); }
};

template <u32 LANES, bool WEIGHTED, class V>
__device__ __forceinline__ f64 graph_row_part(const GraphRows& rows, const V& values, u32 node, u32 lane) {
    // Arcs of a lane whose loads are in flight together, also the last ones.
    constexpr u32 N = LANES >= WARP ? 8 : 4;
    const u32 end = rows.end(node);
    f64 sums[4] = {};
    u64 first = (u64)rows.begin(node) + lane;
    u32 target[N];
    f64 weight[N];
    // Targets are read once: they must not drive values out of the caches.
    const auto load = [&] {
#pragma unroll
        for (u32 k = 0; k < N; k++) {
            const u64 arc = first + k * LANES;
            target[k] = arc < end ? __ldcs(&rows.targets[arc]) : GRAPH_NO_TARGET;
            if (WEIGHTED) weight[k] = arc < end ? __ldcs(&rows.weights[arc]) : 0;
        }
    };
    load();
    while (first < end) {
        f64 x[N];
#pragma unroll
        for (u32 k = 0; k < N; k++) {
            x[k] = target[k] == GRAPH_NO_TARGET ? 0 : values.at(target[k]);
            if (WEIGHTED) x[k] *= weight[k];
        }
        // While values are on their way.
        first += N * LANES;
        load();
#pragma unroll
        for (u32 k = 0; k < N; k++) sums[k % 4] += x[k];
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The sum of a row, for the first of its lanes. All threads of the block, or of the warp, call it.
template <u32 LANES> __device__ __forceinline__ f64 graph_row_total(f64 part) {
    if constexpr (LANES > WARP) return graph_block_sum<LANES>(part);
    else return graph_lanes_sum<LANES>(part);
}

// out[v] = sum of weight x values[other end]: the product of an adjacency matrix and a vector. Without `values`, sums
// of weights.
template <bool WEIGHTED>
__device__ __forceinline__ void graph_product(GraphRows rows, GraphBins bins, const f64* values, f64* out, u32* ticket) {
    for (u32 tile; (tile = graph_next_tile(ticket)) < bins.tiles;) {
        graph_visit(bins, tile, [&](auto lanes, bool is_row, u32 node, u32 lane) {
            constexpr u32 N = decltype(lanes)::COUNT;
            const f64 part = is_row ? graph_row_part<N, WEIGHTED>(rows, GraphValues{values}, node, lane) : 0.0;
            const f64 sum = graph_row_total<N>(part);
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

// Blocks of PageRank fill a multiprocessor, so that its shared memory is theirs.
enum : u32 { RANK_THREADS = 1024 };

struct GraphPageRank {
    u64 done;
    u64 iterations;
    // The L1 norm of the last change, and the rank of nodes that lead nowhere.
    f64 change;
    f64 lost;
    // The same of the running iteration, in units of 2^-60: integers add up to the same sum in any order.
    u64 change_sum;
    u64 lost_sum;
    // Zero before and after each launch.
    u32 blocks;
    u32 ticket;
};
__device__ __forceinline__ u64 graph_fixed(f64 x) { return (u64)rint(x * 1152921504606846976.0); }
__device__ __forceinline__ f64 graph_of_fixed(u64 x) { return (f64)x * (1.0 / 1152921504606846976.0); }

// A vector with a value for each node, or one value for all.
struct GraphVector {
    const f64* values;
    f64 all;
    __device__ __forceinline__ f64 at(u32 node) const { return values == nullptr ? all : values[node]; }
};

// The rank that nodes give along an edge of weight 1, and the lost rank, in tiles of 1,024 nodes. G is f64 or f32.
template <class G>
__device__ __forceinline__ void graph_pagerank_start(u32 nodes, GraphVector start, const f64* scale, f64* rank, G* gift, f64* partials,
                                                     GraphPageRank* state) {
    const u32 tiles = (nodes + 1023) / 1024;
    for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        f64 lost = 0;
        for (u32 i = threadIdx.x; i < 1024; i += GRAPH_THREADS) {
            const u32 v = tile * 1024 + i;
            if (v >= nodes) break;
            const f64 x = start.at(v);
            rank[v] = x;
            gift[v] = (G)(x * scale[v]);
            if (scale[v] == 0) lost += x;
        }
        lost = graph_block_sum(lost);
        if (threadIdx.x == 0) partials[tile] = lost;
    }
    if (!graph_is_last(&state->blocks)) return;
    const f64 lost = graph_ordered_sum(partials, tiles, 1);
    if (threadIdx.x == 0) state->lost = lost, state->blocks = 0;
}

// One iteration over rows by falling degree: those of a block are the first, `blocks` in number, then come those of
// `bins`. The values of the first `hubs` nodes, which most arcs come from, are in shared memory.
template <class G, bool WEIGHTED>
__device__ __forceinline__ void graph_pagerank(GraphRows rows, GraphLaneBins bins, u32 blocks, u32 hubs, f64 alpha, f64 limit,
                                               GraphVector jump, GraphVector leave, const f64* scale, const G* gift, f64* rank,
                                               G* gift_out, GraphPageRank* state) {
    if (state->done != 0) return;
    DYNAMIC_SHARED(memory);
    __shared__ u64 sums[2][RANK_THREADS / WARP];
    G* near = (G*)memory;
    for (u32 i = threadIdx.x; i < hubs; i += RANK_THREADS) near[i] = gift[i];
    __syncthreads();
    const f64 lost = state->lost;
    const GraphNearValues<G> values{near, hubs, gift};
    u64 change = 0, lost_next = 0;
    const auto finish = [&](u32 v, f64 sum, f64 before, f64 share) {
        const f64 next = alpha * (sum + lost * leave.at(v)) + (1.0 - alpha) * jump.at(v);
        change += graph_fixed(fabs(next - before));
        rank[v] = next;
        gift_out[v] = (G)(next * share);
        if (share == 0) lost_next += graph_fixed(next);
    };
    // Back and forth, so that no block has the longest row of each turn.
    for (u32 turn = 0; turn * gridDim.x < blocks; turn++) {
        const u32 v = turn * gridDim.x + (turn % 2 == 0 ? blockIdx.x : gridDim.x - 1 - blockIdx.x);
        if (v >= blocks) continue;
        const f64 sum = graph_block_sum<RANK_THREADS>(graph_row_part<RANK_THREADS, WEIGHTED>(rows, values, v, threadIdx.x));
        if (threadIdx.x == 0) finish(v, sum, rank[v], scale[v]);
    }
    const auto visit = [&](auto lanes, bool is_row, u32 v, u32 lane) {
        constexpr u32 N = decltype(lanes)::COUNT;
        // Loaded before the sum, whose loads take as long.
        const bool finishes = is_row && lane == 0;
        const f64 before = finishes ? rank[v] : 0, share = finishes ? scale[v] : 0;
        const f64 sum = graph_lanes_sum<N>(is_row ? graph_row_part<N, WEIGHTED>(rows, values, v, lane) : 0.0);
        if (finishes) finish(v, sum, before, share);
    };
    // Rows of warps have up to 2^13 arcs: the next one goes to the first warp that is free.
    const u32 warps = (u32)(threads_in_grid() / WARP);
    for (u32 at = (u32)(thread_in_grid() / WARP); at < bins.begins[1] - bins.begins[0];) {
        const u32 next = lane_id() == 0 ? atomicAdd(&state->ticket, 1u) : 0;
        visit(Lanes<WARP>(), true, bins.begins[0] + at, lane_id());
        at = warps + __shfl_sync(ALL_LANES, next, 0);
    }
    graph_visit_lanes<8>(bins.order, bins.begins[1], bins.begins[2], visit);
    graph_visit_lanes<2>(bins.order, bins.begins[2], bins.begins[3], visit);
    graph_visit_lanes<1>(bins.order, bins.begins[3], bins.begins[4], visit);
#pragma unroll
    for (u32 by = WARP / 2; by > 0; by /= 2) {
        change += __shfl_xor_sync(ALL_LANES, change, by);
        lost_next += __shfl_xor_sync(ALL_LANES, lost_next, by);
    }
    if (lane_id() == 0) sums[0][warp_id()] = change, sums[1][warp_id()] = lost_next;
    __syncthreads();
    if (threadIdx.x < 2) {
        u64 sum = 0;
        for (u32 w = 0; w < RANK_THREADS / WARP; w++) sum += sums[threadIdx.x][w];
        atomicAdd(threadIdx.x == 0 ? &state->change_sum : &state->lost_sum, sum);
        __threadfence();
    }
    if (!graph_is_last(&state->blocks) || threadIdx.x != 0) return;
    state->change = graph_of_fixed(load_relaxed(&state->change_sum));
    state->lost = graph_of_fixed(load_relaxed(&state->lost_sum));
    state->change_sum = 0;
    state->lost_sum = 0;
    state->blocks = 0;
    state->ticket = 0;
    state->iterations++;
    state->done = state->change < limit ? 1 : 0;
}

// out[i] = values[order[i]], and out[order[i]] = values[i].
__device__ __forceinline__ void graph_to_inner(const f64* values, const u32* order, u32 nodes, f64* out) {
    for (u64 i = thread_in_grid(); i < nodes; i += threads_in_grid()) out[i] = values[order[i]];
}
__device__ __forceinline__ void graph_from_inner(const f64* values, const u32* order, u32 nodes, f64* out) {
    for (u64 i = thread_in_grid(); i < nodes; i += threads_in_grid()) out[order[i]] = values[i];
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
