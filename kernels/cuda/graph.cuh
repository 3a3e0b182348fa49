// Graphs as compressed sparse rows: the parameter of all graph kernels, searches in sorted keys, and the passes that
// make rows.
//
// Layout: `offsets` has a u32 for each node and the number of arcs at the end; `targets`, and `weights` where there are
// any, have a value for each arc. A row is sorted by target, then by edge, but for rows of two joined. A graph has at
// most 2^32 - 1 - 4,096 nodes and arcs. So loops of 32 bits with steps of up to 4,096 do not wrap around.
// Deterministic.

struct GraphRows {
    const u32* offsets;
    const u32* targets;
    // Null without weights.
    const f64* weights;
    u32 nodes;
    u32 arcs;

    __device__ __forceinline__ u32 begin(u32 node) const { return offsets[node]; }
    __device__ __forceinline__ u32 end(u32 node) const { return offsets[node + 1]; }
    __device__ __forceinline__ u32 degree(u32 node) const { return offsets[node + 1] - offsets[node]; }
    __device__ __forceinline__ f64 weight(u32 arc) const { return weights == nullptr ? 1.0 : weights[arc]; }
};

// The first position whose key is not below `key`, in ascending keys.
template <class K> __device__ __forceinline__ u32 graph_lower_bound(const K* keys, u32 count, K key) {
    u32 low = 0, high = count;
    while (low < high) {
        const u32 middle = low + (high - low) / 2;
        if (keys[middle] < key) low = middle + 1;
        else high = middle;
    }
    return low;
}

// The node whose row has an arc.
__device__ __forceinline__ u32 graph_source_of(const GraphRows& rows, u32 arc) {
    return graph_lower_bound(rows.offsets, rows.nodes + 1, arc + 1) - 1;
}

// Sets the completion flag after the words of a loop's state were copied behind it, and makes them zero if `clears` is
// not. One thread.
__device__ __forceinline__ void graph_signal(u64* words, u32 count, u32 clears, volatile u64* flag) {
    for (u32 i = 0; i < count; i++) {
        flag[8 + i] = words[i];
        if (clears != 0) words[i] = 0;
    }
    __threadfence_system();
    flag[0] = 1;
}

template <class T> __device__ __forceinline__ void graph_fill(T* out, u64 count, T value) {
    for (u64 i = thread_in_grid(); i < count; i += threads_in_grid()) out[i] = value;
}

// 32 less the bits of each degree: ascending keys are falling degrees. 32 of an empty row.
__device__ __forceinline__ void graph_class_keys(GraphRows rows, u32* keys) {
    for (u64 v = thread_in_grid(); v < rows.nodes; v += threads_in_grid()) keys[v] = (u32)__clz((i32)rows.degree((u32)v));
}

// The start of the keys from each of 0 to `count` on.
__device__ __forceinline__ void graph_begins(const u32* keys, u32 rows, u32 count, u32* begins) {
    for (u64 k = thread_in_grid(); k <= count; k += threads_in_grid()) begins[k] = graph_lower_bound(keys, rows, (u32)k);
}

// Arcs in another order: the i-th is the arc `order[i]` of `rows`, with its source in place of its target.
__device__ __forceinline__ void graph_transpose(GraphRows rows, const u32* edges, const u32* order, u32* targets, f64* weights,
                                                u32* edges_out) {
    for (u64 i = thread_in_grid(); i < rows.arcs; i += threads_in_grid()) {
        const u32 arc = order[i];
        targets[i] = graph_source_of(rows, arc);
        if (weights != nullptr) weights[i] = rows.weights[arc];
        if (edges_out != nullptr) edges_out[i] = edges[arc];
    }
}

// ---- rows by degree: a block, a warp, four lanes or a thread for each ----

// Tiles of 1, 32, 256 and 1,024 rows, which blocks of 256 threads take by a ticket. Sums of a tile are kept by its
// number, so that they are added in an order that depends on the rows alone.
enum : u32 { GRAPH_THREADS = 256 };

struct GraphBins {
    // Nodes by falling degree.
    const u32* order;
    // The starts of the rows of blocks, warps, four lanes and threads in it, and the number of nodes.
    u32 begins[5];
    u32 tiles;
};

// The same sum in all lanes of a group of at most a warp.
template <u32 LANES> __device__ __forceinline__ f64 graph_lanes_sum(f64 x) {
#pragma unroll
    for (u32 by = LANES / 2; by > 0; by /= 2) x += __shfl_xor_sync(ALL_LANES, x, by);
    return x;
}
// The sum over a block of so many threads, for its first thread. Barriers are inside.
template <u32 THREADS = GRAPH_THREADS> __device__ __forceinline__ f64 graph_block_sum(f64 x) {
    __shared__ f64 of_warp[THREADS / WARP];
    x = graph_lanes_sum<WARP>(x);
    __syncthreads();
    if (lane_id() == 0) of_warp[warp_id()] = x;
    __syncthreads();
    f64 sum = 0;
    if (threadIdx.x == 0) {
        for (u32 w = 0; w < THREADS / WARP; w++) sum += of_warp[w];
    }
    return sum;
}

// Calls `visit` for each row of a tile, by all threads of warps. Its arguments: the lanes of a row, whether there is a
// row, the node, and the lane of this thread. `Lanes<N>` is the number as a type.
template <u32 N> struct Lanes { static constexpr u32 COUNT = N; };
template <u32 N, u32 ROUNDS, class V> __device__ __forceinline__ void graph_visit_bin(const GraphBins& bins, u32 bin, u32 tile, V visit) {
    constexpr u32 ROWS = GRAPH_THREADS / N;
#pragma unroll 1
    for (u32 round = 0; round < ROUNDS; round++) {
        const u32 at = bins.begins[bin] + (tile * ROUNDS + round) * ROWS + threadIdx.x / N;
        const bool is_row = at < bins.begins[bin + 1];
        visit(Lanes<N>(), is_row, is_row ? bins.order[at] : 0, threadIdx.x % N);
    }
}
template <class V> __device__ __forceinline__ void graph_visit(const GraphBins& bins, u32 tile, V visit) {
    const u32 blocks = bins.begins[1] - bins.begins[0];
    if (tile < blocks) return graph_visit_bin<GRAPH_THREADS, 1>(bins, 0, tile, visit);
    tile -= blocks;
    const u32 warps = (bins.begins[2] - bins.begins[1] + 31) / 32;
    if (tile < warps) return graph_visit_bin<WARP, 4>(bins, 1, tile, visit);
    tile -= warps;
    const u32 fours = (bins.begins[3] - bins.begins[2] + 255) / 256;
    if (tile < fours) return graph_visit_bin<4, 4>(bins, 2, tile, visit);
    graph_visit_bin<1, 4>(bins, 3, tile - fours, visit);
}

// The number of this block's next tile, for all of its threads. `ticket` is zero before the launch.
__device__ __forceinline__ u32 graph_next_tile(u32* ticket) {
    __shared__ u32 tile;
    __syncthreads();
    if (threadIdx.x == 0) tile = atomicAdd(ticket, 1u);
    __syncthreads();
    return tile;
}

// True for all threads of the block that comes last, which sees what the others wrote. `blocks` is zero before the
// launch.
__device__ __forceinline__ bool graph_is_last(u32* blocks) {
    __shared__ u32 last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(blocks, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    return last != 0;
}

// The sum of `count` values, `step` apart, by one block, for its first thread: in an order that depends on the count
// alone.
__device__ __forceinline__ f64 graph_ordered_sum(const f64* values, u32 count, u32 step) {
    f64 sum = 0;
    for (u32 i = threadIdx.x; i < count; i += GRAPH_THREADS) sum += ((const volatile f64*)values)[(u64)i * step];
    return graph_block_sum(sum);
}

// Calls `visit(node, arc)` for each arc of the rows.
template <class V> __device__ __forceinline__ void graph_each_arc(const GraphRows& rows, const GraphBins& bins, u32* ticket, V visit) {
    for (u32 tile; (tile = graph_next_tile(ticket)) < bins.tiles;) {
        graph_visit(bins, tile, [&](auto lanes, bool is_row, u32 node, u32 lane) {
            if (!is_row) return;
            const u32 end = rows.end(node);
            for (u32 arc = rows.begin(node) + lane; arc < end; arc += decltype(lanes)::COUNT) visit(node, arc);
        });
    }
}

// ---- rows by degree without tiles: rows of warps, eight lanes, two lanes and single threads begin at `begins` ----

// Each lane then has at least four arcs, whose loads are in flight together. Rows of one size go to the warps in turn.
struct GraphLaneBins {
    // Nodes by falling degree; null where nodes are numbered so.
    const u32* order;
    u32 begins[5];
    u32 unused;
};
template <u32 LANES, class V> __device__ __forceinline__ void graph_visit_lanes(const u32* order, u32 begin, u32 end, V visit) {
    for (u64 at = begin + thread_in_grid() / LANES; at - lane_id() / LANES < end; at += threads_in_grid() / LANES) {
        const bool is_row = at < end;
        visit(Lanes<LANES>(), is_row, is_row ? (order == nullptr ? (u32)at : order[at]) : 0, threadIdx.x % LANES);
    }
}
template <class V> __device__ __forceinline__ void graph_visit_rows(const GraphLaneBins& bins, V visit) {
    graph_visit_lanes<WARP>(bins.order, bins.begins[0], bins.begins[1], visit);
    graph_visit_lanes<8>(bins.order, bins.begins[1], bins.begins[2], visit);
    graph_visit_lanes<2>(bins.order, bins.begins[2], bins.begins[3], visit);
    graph_visit_lanes<1>(bins.order, bins.begins[3], bins.begins[4], visit);
}

// ---- rows by falling degree ----
// The number of each node in that order, and the degrees in it; `degrees` has room for a 0 at the end.
__device__ __forceinline__ void graph_inner_numbers(GraphRows rows, const u32* order, u32* inner, u32* degrees) {
    for (u64 i = thread_in_grid(); i <= rows.nodes; i += threads_in_grid()) {
        degrees[i] = i < rows.nodes ? rows.degree(order[i]) : 0;
        if (i < rows.nodes) inner[order[i]] = (u32)i;
    }
}
__device__ __forceinline__ void graph_narrow(const u64* values, u64 count, u32* out) {
    for (u64 i = thread_in_grid(); i < count; i += threads_in_grid()) out[i] = (u32)values[i];
}
__device__ __forceinline__ void graph_widen(const u32* values, u64 count, u64* out) {
    for (u64 i = thread_in_grid(); i < count; i += threads_in_grid()) out[i] = values[i];
}
// Copies rows to where they begin in that order. The arcs of a row keep their order.
__device__ __forceinline__ void graph_inner_rows(GraphRows rows, GraphBins bins, const u32* inner, const u32* offsets, u32* targets,
                                                 f64* weights, u32* ticket) {
    for (u32 tile; (tile = graph_next_tile(ticket)) < bins.tiles;) {
        graph_visit(bins, tile, [&](auto lanes, bool is_row, u32 node, u32 lane) {
            if (!is_row) return;
            const u32 begin = rows.begin(node), arcs = rows.end(node) - begin, to = offsets[inner[node]];
            for (u32 i = lane; i < arcs; i += decltype(lanes)::COUNT) {
                targets[to + i] = inner[__ldcs(&rows.targets[begin + i])];
                if (weights != nullptr) weights[to + i] = rows.weights[begin + i];
            }
        });
    }
}
