// Breadth-first search, level by level: outwards from a queue of rows, or inwards over the nodes that are left, by
// bitmaps.
//
// A queue has an entry for each 128 arcs of a row, so that work is dealt out by arcs: 8 lanes take an entry. Distances
// of levels do not depend on the order of the work; the order in a queue does. Predecessors are chosen after the
// search, by the order of rows.

enum : u32 { GRAPH_NONE = ~0u, GRAPH_ENTRY_ARCS = 128, GRAPH_ENTRY_LANES = 8, GRAPH_SERIAL_ARCS = 8 };

// Entries of rows: a node in the lower 32 bits, and the first arc in the upper ones. `count` is the number of entries.
struct GraphQueue {
    u64* entries;
    u64* count;
};

__device__ __forceinline__ u32 graph_entries_of(u32 arcs) { return (arcs + GRAPH_ENTRY_ARCS - 1) / GRAPH_ENTRY_ARCS; }

// Appends the rows of nodes where `take` is true. All threads of a warp call it. A row without arcs has no entry.
__device__ __forceinline__ void graph_append(const GraphRows& rows, const GraphQueue& queue, bool take, u32 node) {
    const u32 begin = take ? rows.begin(node) : 0;
    const u32 own = take ? graph_entries_of(rows.end(node) - begin) : 0;
    u32 sum = own;
#pragma unroll
    for (u32 by = 1; by < WARP; by *= 2) {
        const u32 lower = __shfl_up_sync(ALL_LANES, sum, by);
        if (lane_id() >= by) sum += lower;
    }
    const u32 all = __shfl_sync(ALL_LANES, sum, WARP - 1);
    if (all == 0) return;
    u64 first = 0;
    if (lane_id() == 0) first = atomicAdd(queue.count, (u64)all);
    first = __shfl_sync(ALL_LANES, first, 0) + (sum - own);
    for (u32 i = 0; i < own; i++) queue.entries[first + i] = (u64)(begin + i * GRAPH_ENTRY_ARCS) << 32 | node;
}

// Calls `visit(node, arcs, count)` for the arcs of entries, by all threads of warps: up to four arcs a thread, whose
// loads can be in flight together.
enum : u32 { GRAPH_ARCS_AT_ONCE = 4 };
template <class V> __device__ __forceinline__ void graph_each_entry(const GraphRows& rows, const u64* entries, u64 count, V visit) {
    const u32 lane = threadIdx.x % GRAPH_ENTRY_LANES;
    for (u64 at = thread_in_grid() / GRAPH_ENTRY_LANES; at - lane_id() / GRAPH_ENTRY_LANES < count;
         at += threads_in_grid() / GRAPH_ENTRY_LANES) {
        const bool is_entry = at < count;
        const u64 entry = is_entry ? entries[at] : 0;
        const u32 node = (u32)entry, begin = (u32)(entry >> 32);
        const u32 end = is_entry ? smaller(rows.end(node) - begin, (u32)GRAPH_ENTRY_ARCS) : 0;
#pragma unroll 1
        for (u32 i = lane; __any_sync(ALL_LANES, i < end); i += GRAPH_ARCS_AT_ONCE * GRAPH_ENTRY_LANES) {
            u32 arcs[GRAPH_ARCS_AT_ONCE];
            bool is_arc[GRAPH_ARCS_AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < GRAPH_ARCS_AT_ONCE; k++) {
                is_arc[k] = i + k * GRAPH_ENTRY_LANES < end;
                arcs[k] = begin + i + k * GRAPH_ENTRY_LANES;
            }
            visit(node, arcs, is_arc);
        }
    }
}

struct GraphSearch {
    u32* distance;
    // A bit for each node that is reached.
    u32* reached;
};

// The state of a level: nodes found, arcs of their rows, and entries of the queue.
enum : u32 { GRAPH_FOUND = 0, GRAPH_FOUND_ARCS = 1, GRAPH_ENTRIES = 2 };

// The finds of the threads of a warp: one addition for all of them.
__device__ __forceinline__ void graph_count_found(u64* state, u32 nodes, u64 arcs) {
#pragma unroll
    for (u32 by = WARP / 2; by > 0; by /= 2) {
        nodes += __shfl_xor_sync(ALL_LANES, nodes, by);
        arcs += __shfl_xor_sync(ALL_LANES, arcs, by);
    }
    if (lane_id() == 0 && nodes != 0) {
        atomicAdd(&state[GRAPH_FOUND], (u64)nodes);
        atomicAdd(&state[GRAPH_FOUND_ARCS], arcs);
    }
}

__device__ __forceinline__ void graph_search_begin(GraphRows rows, const u32* sources, u32 count, GraphSearch search, GraphQueue next,
                                                   u64* state) {
    u32 nodes = 0;
    u64 arcs = 0;
    for (u64 i = thread_in_grid(); i - lane_id() < count; i += threads_in_grid()) {
        const u32 node = i < count ? sources[i] : 0;
        const u32 bit = 1u << node % 32;
        const bool found = i < count && (atomicOr(&search.reached[node / 32], bit) & bit) == 0;
        if (found) search.distance[node] = 0, nodes++, arcs += rows.degree(node);
        graph_append(rows, next, found, node);
    }
    graph_count_found(state, nodes, arcs);
}

// The neighbours of the queue's rows that are not reached yet.
__device__ __forceinline__ void graph_search_outwards(GraphRows rows, const u64* entries, u64 count, u32 depth, GraphSearch search,
                                                      GraphQueue next, u64* state) {
    u32 nodes = 0;
    u64 arcs = 0;
    graph_each_entry(rows, entries, count, [&](u32, const auto& at, const auto& is_arc) {
        u32 node[GRAPH_ARCS_AT_ONCE], word[GRAPH_ARCS_AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < GRAPH_ARCS_AT_ONCE; k++) node[k] = is_arc[k] ? rows.targets[at[k]] : 0;
#pragma unroll
        for (u32 k = 0; k < GRAPH_ARCS_AT_ONCE; k++) word[k] = is_arc[k] ? load_relaxed(&search.reached[node[k] / 32]) : ALL_LANES;
#pragma unroll
        for (u32 k = 0; k < GRAPH_ARCS_AT_ONCE; k++) {
            const u32 bit = 1u << node[k] % 32;
            bool found = (word[k] & bit) == 0;
            if (found) found = (atomicOr(&search.reached[node[k] / 32], bit) & bit) == 0;
            if (!__any_sync(ALL_LANES, found)) continue;
            if (found) search.distance[node[k]] = depth, nodes++, arcs += rows.degree(node[k]);
            graph_append(rows, next, found, node[k]);
        }
    });
    graph_count_found(state, nodes, arcs);
}

// Whether one of a row's targets satisfies `is`, and the first that does. Each thread looks at a few arcs, then the
// whole warp at the others of rows that are still open. All threads of a warp call it.
template <class P> __device__ __forceinline__ u32 graph_first(const GraphRows& rows, bool is_row, u32 node, P is) {
    u32 found = GRAPH_NONE, arc = 0, end = 0;
    if (is_row) {
        arc = rows.begin(node), end = rows.end(node);
        const u32 stop = smaller(end - arc, (u32)GRAPH_SERIAL_ARCS) + arc;
        for (; arc < stop && found == GRAPH_NONE; arc++) {
            if (is(rows.targets[arc], arc)) found = arc;
        }
    }
    u32 open = __ballot_sync(ALL_LANES, found == GRAPH_NONE && arc < end);
    for (; open != 0; open &= open - 1) {
        const u32 of = (u32)__ffs((i32)open) - 1;
        const u32 last = __shfl_sync(ALL_LANES, end, of), first = __shfl_sync(ALL_LANES, arc, of);
        const u32 row = __shfl_sync(ALL_LANES, node, of);
        for (u64 at = (u64)first + lane_id(); at - lane_id() < last; at += WARP) {
            const u32 hits = __ballot_sync(ALL_LANES, at < last && is.with(row, rows.targets[at < last ? at : first], (u32)at));
            if (hits == 0) continue;
            if (lane_id() == of) found = (u32)(at - lane_id()) + (u32)__ffs((i32)hits) - 1;
            break;
        }
    }
    return found;
}

// A node that is reached: neighbours of all earlier levels are, so that a reached neighbour of another node is of the
// last level.
struct GraphIsReached {
    const u32* reached;
    __device__ __forceinline__ bool operator()(u32 target, u32) const { return reached[target / 32] >> target % 32 & 1; }
    __device__ __forceinline__ bool with(u32, u32 target, u32 arc) const { return (*this)(target, arc); }
};

// The nodes that are not reached and have a reached neighbour. A warp has a word of the bitmap; the new words go to
// `reached_out`.
__device__ __forceinline__ void graph_search_inwards(GraphRows inwards, GraphRows rows, u32 depth, GraphSearch search, u32* reached_out,
                                                     u64* state) {
    const GraphIsReached is{search.reached};
    u32 nodes = 0;
    u64 arcs = 0;
    for (u64 v = thread_in_grid(); v - lane_id() < inwards.nodes; v += threads_in_grid()) {
        const u32 word = search.reached[v / 32];
        const bool is_row = v < inwards.nodes && (word >> lane_id() & 1) == 0;
        const bool found = word != ALL_LANES && graph_first(inwards, is_row, (u32)v, is) != GRAPH_NONE;
        if (found) search.distance[v] = depth, arcs += rows.degree((u32)v);
        const u32 bits = __ballot_sync(ALL_LANES, found);
        if (lane_id() == 0) reached_out[v / 32] = word | bits;
        nodes += found;
    }
    graph_count_found(state, nodes, arcs);
}

// A queue of the nodes of a level.
__device__ __forceinline__ void graph_search_queue(GraphRows rows, const u32* distance, u32 depth, GraphQueue next) {
    for (u64 v = thread_in_grid(); v - lane_id() < rows.nodes; v += threads_in_grid()) {
        graph_append(rows, next, v < rows.nodes && distance[v] == depth, (u32)v);
    }
}

// The first node of a row that is one hop nearer.
struct GraphIsNearer {
    const u32* distance;
    u32 wanted;
    __device__ __forceinline__ bool operator()(u32 target, u32) const { return distance[target] == wanted; }
    __device__ __forceinline__ bool with(u32 row, u32 target, u32) const { return distance[target] == distance[row] - 1; }
};
__device__ __forceinline__ void graph_search_predecessors(GraphRows inwards, const u32* distance, u32* predecessor) {
    for (u64 v = thread_in_grid(); v - lane_id() < inwards.nodes; v += threads_in_grid()) {
        const u32 own = v < inwards.nodes ? distance[v] : GRAPH_NONE;
        const bool is_row = own != GRAPH_NONE && own != 0;
        const u32 arc = graph_first(inwards, is_row, (u32)v, GraphIsNearer{distance, own - 1});
        if (v < inwards.nodes) predecessor[v] = arc == GRAPH_NONE ? GRAPH_NONE : inwards.targets[arc];
    }
}
// The same from rows by source: the lowest node. `predecessor` is NONE before.
__device__ __forceinline__ void graph_search_push_predecessors(GraphRows rows, GraphBins bins, const u32* distance, u32* predecessor,
                                                               u32* ticket) {
    graph_each_arc(rows, bins, ticket, [&](u32 node, u32 arc) {
        const u32 target = rows.targets[arc];
        if (distance[node] == GRAPH_NONE || distance[target] != distance[node] + 1) return;
        if (load_relaxed(&predecessor[target]) > node) atomicMin(&predecessor[target], node);
    });
}
