// Shortest paths by weights: near-far relaxation (Davidson, Baxter, Garland and Owens 2014), and predecessors.
//
// Distances are f64 of at least 0 as their bits, whose order is that of integers. They are the least over all paths of
// the sum of weights from the source on, whatever the order of the work. A node that comes nearer enters the near queue
// once a round, or the far list once until the list is split.

__device__ __forceinline__ f64 graph_distance_of(u64 bits) { return __longlong_as_double((i64)bits); }

enum : u32 { GRAPH_NEAR = 0, GRAPH_FAR = 1, GRAPH_LEAST = 2 };

struct GraphPaths {
    u64* distance;
    // The last round in which a node entered the near queue.
    u32* round_of;
    // A bit for each node that is in the far list.
    u32* is_far;
    u32* far;
};

// Adds nodes to a list. All threads of a warp call it.
__device__ __forceinline__ void graph_append_node(u32* list, u64* count, bool take, u32 node) {
    const u32 lanes = __ballot_sync(ALL_LANES, take);
    if (lanes == 0) return;
    u64 first = 0;
    if (lane_id() == 0) first = atomicAdd(count, (u64)__popc(lanes));
    first = __shfl_sync(ALL_LANES, first, 0);
    if (take) list[first + __popc(lanes & ((1u << lane_id()) - 1))] = node;
}

__device__ __forceinline__ void graph_paths_begin(GraphRows rows, const u32* sources, u32 count, GraphPaths paths, GraphQueue near) {
    for (u64 i = thread_in_grid(); i - lane_id() < count; i += threads_in_grid()) {
        const u32 node = i < count ? sources[i] : 0;
        // The queue of round 1.
        const bool first = i < count && atomicExch(&paths.round_of[node], 1u) != 1;
        if (first) paths.distance[node] = 0;
        graph_append(rows, near, first, node);
    }
}

// Follows the arcs of the near queue of a round. `state` counts entries of the next round's and nodes of the far list.
__device__ __forceinline__ void graph_paths_relax(GraphRows rows, const u64* entries, u64 count, f64 bound, f64 limit, u32 round,
                                                  GraphPaths paths, GraphQueue near, u64* far_count) {
    graph_each_entry(rows, entries, count, [&](u32 node, const auto& arcs, const auto& is_arc) {
        constexpr u32 N = GRAPH_ARCS_AT_ONCE;
        const f64 here = is_arc[0] ? graph_distance_of(load_relaxed(&paths.distance[node])) : 0;
        u32 targets[N];
        u64 known[N];
        f64 theres[N];
#pragma unroll
        for (u32 k = 0; k < N; k++) {
            targets[k] = is_arc[k] ? __ldcs(&rows.targets[arcs[k]]) : 0;
            // Adding 0 makes -0 to 0.
            theres[k] = is_arc[k] ? here + __ldcs(&rows.weights[arcs[k]]) + 0.0 : 0;
        }
#pragma unroll
        for (u32 k = 0; k < N; k++) known[k] = is_arc[k] ? load_relaxed(&paths.distance[targets[k]]) : 0;
#pragma unroll
        for (u32 k = 0; k < N; k++) {
            const u32 target = targets[k];
            const f64 there = theres[k];
            const u64 bits = bits_of(there);
            bool nearer = bits < known[k] && there <= limit;
            if (nearer) nearer = atomicMin(&paths.distance[target], bits) > bits;
            if (!__any_sync(ALL_LANES, nearer)) continue;
            const bool is_near = nearer && there < bound;
            const bool enters = is_near && atomicExch(&paths.round_of[target], round + 1) != round + 1;
            graph_append(rows, near, enters, target);
            const u32 bit = 1u << target % 32;
            const bool goes_far = nearer && !is_near && (load_relaxed(&paths.is_far[target / 32]) & bit) == 0 &&
                                  (atomicOr(&paths.is_far[target / 32], bit) & bit) == 0;
            graph_append_node(paths.far, far_count, goes_far, target);
        }
    });
}

// Splits the far list: nodes below `bound` enter the near queue of a round, those below `done` were near in the
// meantime, the others stay. `least` becomes the least distance that stays.
__device__ __forceinline__ void graph_paths_split(GraphRows rows, const u32* far, u64 count, f64 done, f64 bound, u32 round,
                                                  GraphPaths paths, GraphQueue near, u64* far_count, u64* least) {
    u64 lowest = ~0ull;
    for (u64 i = thread_in_grid(); i - lane_id() < count; i += threads_in_grid()) {
        const u32 node = i < count ? far[i] : 0;
        const u64 bits = load_relaxed(&paths.distance[node]);
        const f64 here = graph_distance_of(bits);
        const bool stays = i < count && here >= bound;
        const bool is_near = i < count && here >= done && here < bound;
        if (i < count && !stays) atomicAnd(&paths.is_far[node / 32], ~(1u << node % 32));
        if (stays) lowest = smaller(lowest, bits);
        if (is_near) paths.round_of[node] = round;
        graph_append(rows, near, is_near, node);
        graph_append_node(paths.far, far_count, stays, node);
    }
#pragma unroll
    for (u32 by = WARP / 2; by > 0; by /= 2) lowest = smaller(lowest, __shfl_xor_sync(ALL_LANES, lowest, by));
    if (lane_id() == 0 && lowest != ~0ull) atomicMin(least, lowest);
}

// ---- predecessors ----
__device__ __forceinline__ bool graph_is_reached(f64 distance) { return distance < __longlong_as_double(0x7ff0000000000000ll); }

// The first arc of a row by target that is on a shortest path from a nearer node, for all lanes of the row. All threads
// of a warp call it.
template <u32 LANES>
__device__ __forceinline__ u32 graph_first_tight(const GraphRows& rows, const f64* distance, bool is_row, u32 node, u32 lane, f64 there) {
    constexpr u32 N = 4;
    const u32 end = is_row ? rows.end(node) : 0;
    u32 found = GRAPH_NONE;
    for (u64 first = is_row ? rows.begin(node) : 0; __any_sync(ALL_LANES, found == GRAPH_NONE && first < end); first += N * LANES) {
        u32 mine = GRAPH_NONE;
        if (found == GRAPH_NONE && first < end) {
            u32 target[N];
            f64 weight[N], here[N];
#pragma unroll
            for (u32 k = 0; k < N; k++) {
                const u64 arc = first + lane + k * LANES;
                target[k] = arc < end ? __ldcs(&rows.targets[arc]) : node;
                weight[k] = arc < end && rows.weights != nullptr ? __ldcs(&rows.weights[arc]) : 1.0;
            }
#pragma unroll
            for (u32 k = 0; k < N; k++) here[k] = distance[target[k]];
            // A target that stands for none is not nearer than the node.
#pragma unroll
            for (u32 k = N; k-- > 0;) {
                if (here[k] < there && here[k] + weight[k] == there) mine = (u32)first + lane + k * LANES;
            }
        }
#pragma unroll
        for (u32 by = LANES / 2; by > 0; by /= 2) mine = smaller(mine, __shfl_xor_sync(ALL_LANES, mine, by));
        if (found == GRAPH_NONE) found = mine;
    }
    return found;
}

// `open` counts nodes that are reached and have no predecessor. Sources are marked in `round_of` by 1, others by 0 or,
// once they have a predecessor, by 2.
__device__ __forceinline__ void graph_paths_predecessors(GraphRows inwards, GraphLaneBins bins, const f64* distance, u32* round_of,
                                                         u32* predecessor, u64* open) {
    graph_visit_rows(bins, [&](auto lanes, bool is_node, u32 v, u32 lane) {
        const f64 there = is_node ? distance[v] : 0;
        const bool is_row = is_node && graph_is_reached(there) && round_of[v] != 1;
        const u32 arc = graph_first_tight<decltype(lanes)::COUNT>(inwards, distance, is_row, v, lane, there);
        // All lanes have read the mark.
        __syncwarp();
        if (is_node && lane == 0) {
            predecessor[v] = arc == GRAPH_NONE ? GRAPH_NONE : inwards.targets[arc];
            if (is_row && arc != GRAPH_NONE) round_of[v] = 2;
        }
        const u32 left = (u32)__popc(__ballot_sync(ALL_LANES, is_row && lane == 0 && arc == GRAPH_NONE));
        if (lane_id() == 0 && left != 0) atomicAdd(open, (u64)left);
    });
}
// The same from rows by source, and what is then open.
__device__ __forceinline__ void graph_paths_push_predecessors(GraphRows rows, GraphBins bins, const f64* distance, u32* predecessor,
                                                              u32* ticket) {
    graph_each_arc(rows, bins, ticket, [&](u32 node, u32 arc) {
        const u32 target = rows.targets[arc];
        const f64 here = distance[node], there = distance[target];
        if (!graph_is_reached(here) || !(here < there) || here + rows.weight(arc) != there) return;
        if (load_relaxed(&predecessor[target]) > node) atomicMin(&predecessor[target], node);
    });
}
__device__ __forceinline__ void graph_paths_open(u32 nodes, const f64* distance, u32* round_of, u32* predecessor, u64* open) {
    for (u64 v = thread_in_grid(); v - lane_id() < nodes; v += threads_in_grid()) {
        const bool is_node = v < nodes;
        const bool is_source = is_node && round_of[v] == 1;
        if (is_source) predecessor[v] = GRAPH_NONE;
        const bool has = is_node && !is_source && predecessor[v] != GRAPH_NONE;
        if (has) round_of[v] = 2;
        const u32 left =
            (u32)__popc(__ballot_sync(ALL_LANES, is_node && !is_source && !has && graph_is_reached(distance[v])));
        if (lane_id() == 0 && left != 0) atomicAdd(open, (u64)left);
    }
}

// Nodes whose neighbours on shortest paths are all as near: the lowest of those that have a predecessor since an
// earlier round. `open` counts the nodes that are left, and `found` those that this round gave one.
__device__ __forceinline__ void graph_paths_plateau(GraphRows inwards, const f64* distance, u32 round, u32* round_of, u32* predecessor,
                                                    u64* found) {
    for (u64 v = thread_in_grid(); v < inwards.nodes; v += threads_in_grid()) {
        if (load_relaxed(&round_of[v]) != 0 || !graph_is_reached(distance[v])) continue;
        const u32 end = inwards.end((u32)v);
        for (u32 arc = inwards.begin((u32)v); arc < end; arc++) {
            const u32 target = inwards.targets[arc], of = load_relaxed(&round_of[target]);
            if (of == 0 || of >= round || distance[target] + inwards.weight(arc) != distance[v]) continue;
            predecessor[v] = target;
            store_relaxed(&round_of[v], round);
            atomicAdd(found, 1ull);
            break;
        }
    }
}

__device__ __forceinline__ void graph_paths_of_hops(const u32* hops, u32 nodes, f64* distance) {
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) {
        distance[v] = hops[v] == GRAPH_NONE ? __longlong_as_double(0x7ff0000000000000ll) : (f64)hops[v];
    }
}
