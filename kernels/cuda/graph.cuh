// Graphs as compressed sparse rows: the parameter of all graph kernels, searches in sorted keys, and the passes that make rows.
//
// Layout: `offsets` has a u32 for each node and the number of arcs at the end; `targets`, and `weights` where there are any, have a
// value for each arc. A row is sorted by target, then by edge. A graph has less than 2^32 - 1 arcs. Deterministic.

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

// Sets the completion flag after the words of a loop's state were copied behind it. One thread.
__device__ __forceinline__ void graph_tell(const u64* words, u32 count, volatile u64* told) {
    for (u32 i = 0; i < count; i++) told[8 + i] = words[i];
    __threadfence_system();
    told[0] = 1;
}

template <class T> __device__ __forceinline__ void graph_fill(T* out, u64 count, T value) {
    for (u64 i = thread_in_grid(); i < count; i += threads_in_grid()) out[i] = value;
}

// 32 less the bits of each degree: ascending keys are falling degrees. 32 of an empty row.
__device__ __forceinline__ void graph_class_keys(GraphRows rows, u32* keys) {
    for (u64 v = thread_in_grid(); v < rows.nodes; v += threads_in_grid()) keys[v] = (u32)__clz((i32)rows.degree((u32)v));
}

// Where the keys from each of 0 to `count` on begin.
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
