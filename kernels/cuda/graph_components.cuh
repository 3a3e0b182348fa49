// Connected components by Afforest (Sutton, Ben-Nun and Barak 2018). The first two arcs of each row are linked, then
// those of nodes outside of the component that is largest in a sample. Most arcs are never read. The label is the
// lowest node of the component, because roots are put under lower ones. It does not depend on the order of the work.

enum : u32 { GRAPH_NO_LABEL = ~0u };

// Puts the higher of two roots under the lower one.
__device__ __forceinline__ void graph_link(u32* labels, u32 u, u32 v) {
    u32 a = load_relaxed(&labels[u]), b = load_relaxed(&labels[v]);
    while (a != b) {
        const u32 high = larger(a, b), low = smaller(a, b);
        const u32 above = load_relaxed(&labels[high]);
        if (above == low || (above == high && atomicCAS(&labels[high], high, low) == high)) return;
        a = load_relaxed(&labels[load_relaxed(&labels[high])]);
        b = load_relaxed(&labels[low]);
    }
}

__device__ __forceinline__ void graph_link_begin(u32* labels, u32 nodes) {
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) labels[v] = (u32)v;
}
__device__ __forceinline__ void graph_link_nth(GraphRows rows, u32 nth, u32* labels) {
    for (u64 v = thread_in_grid(); v < rows.nodes; v += threads_in_grid()) {
        const u32 begin = rows.begin((u32)v);
        if (nth < rows.end((u32)v) - begin) graph_link(labels, (u32)v, rows.targets[begin + nth]);
    }
}
// Points each node at its root.
__device__ __forceinline__ void graph_compress(u32* labels, u32 nodes) {
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) {
        const u32 first = load_relaxed(&labels[v]);
        u32 root = first;
        for (u32 above; (above = load_relaxed(&labels[root])) != root;) root = above;
        if (root != first) store_relaxed(&labels[v], root);
    }
}
// The labels of nodes that are spread over all.
__device__ __forceinline__ void graph_sample(const u32* labels, u32 nodes, u32 count, u32* out) {
    for (u64 i = thread_in_grid(); i < count; i += threads_in_grid()) out[i] = labels[mix(i + 1) % nodes];
}
// Links the arcs from the `skip`-th on of nodes outside of `largest`: the warp takes the rows of its 32 nodes one by
// one.
__device__ __forceinline__ void graph_link_rest(GraphRows rows, u32 skip, u32 largest, u32* labels) {
    for (u64 v = thread_in_grid(); v - lane_id() < rows.nodes; v += threads_in_grid()) {
        const bool is_row = v < rows.nodes && load_relaxed(&labels[v]) != largest;
        const u32 begin = is_row ? rows.begin((u32)v) : 0, end = is_row ? rows.end((u32)v) : 0;
        for (u32 open = __ballot_sync(ALL_LANES, is_row && end - begin > skip); open != 0; open &= open - 1) {
            const u32 of = (u32)__ffs((i32)open) - 1;
            const u32 last = __shfl_sync(ALL_LANES, end, of), first = __shfl_sync(ALL_LANES, begin, of) + skip;
            const u32 node = (u32)(v - lane_id()) + of;
            for (u32 i = lane_id(); i < last - first; i += WARP) graph_link(labels, node, rows.targets[first + i]);
            __syncwarp();
        }
    }
}
__device__ __forceinline__ void graph_link_all(GraphRows rows, GraphBins bins, u32* labels, u32* ticket) {
    graph_each_arc(rows, bins, ticket, [&](u32 node, u32 arc) { graph_link(labels, node, rows.targets[arc]); });
}

// ---- numbers of components: by size, largest first, then by lowest node ----
__device__ __forceinline__ void graph_component_sizes(const u32* labels, u32 nodes, u32* sizes) {
    for (u64 v = thread_in_grid(); v - lane_id() < nodes; v += threads_in_grid()) {
        const u32 label = v < nodes ? labels[v] : GRAPH_NO_LABEL;
        const u32 first = __shfl_sync(ALL_LANES, label, 0);
        const u32 same = __ballot_sync(ALL_LANES, label == first);
        // Most neighbours are of one component: one addition for all of them.
        if (label == first) {
            if (lane_id() == 0 && label != GRAPH_NO_LABEL) atomicAdd(&sizes[label], (u32)__popc(same));
        } else if (label != GRAPH_NO_LABEL) {
            atomicAdd(&sizes[label], 1u);
        }
    }
}
// A key for each component, in no order: ascending keys are falling sizes, then ascending nodes.
__device__ __forceinline__ void graph_component_keys(const u32* labels, const u32* sizes, u32 nodes, u64* keys, u64* count) {
    for (u64 v = thread_in_grid(); v - lane_id() < nodes; v += threads_in_grid()) {
        const bool take = v < nodes && labels[v] == v;
        const u32 lanes = __ballot_sync(ALL_LANES, take);
        if (lanes == 0) continue;
        u64 first = 0;
        if (lane_id() == 0) first = atomicAdd(count, (u64)__popc(lanes));
        first = __shfl_sync(ALL_LANES, first, 0);
        if (take) keys[first + __popc(lanes & ((1u << lane_id()) - 1))] = (u64)~sizes[v] << 32 | v;
    }
}
// The number and the size of each component: `numbers` by its lowest node.
__device__ __forceinline__ void graph_component_numbers(const u64* keys, u32 count, u32* numbers, u32* sizes) {
    for (u64 i = thread_in_grid(); i < count; i += threads_in_grid()) {
        numbers[(u32)keys[i]] = (u32)i;
        sizes[i] = ~(u32)(keys[i] >> 32);
    }
}
__device__ __forceinline__ void graph_component_of(const u32* labels, const u32* numbers, u32 nodes, u32* component) {
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) component[v] = numbers[labels[v]];
}
