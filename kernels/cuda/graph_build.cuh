// Rows of a graph from columns of ids: numbers of nodes in ascending order of ids, arcs as sortable keys, and rows from
// sorted keys.
//
// Layout: two columns of integers of one type with validity bitmaps from any bit on; an edge with a null is left out. A
// key has the number of the row's node above that of the other end, each of `bits` bits. Keys of arcs that are left out
// are all ones, which no arc has. Bytes an edge: its ids three times, its keys as often as the sort passes over them.
// Deterministic.

template <class T> struct GraphIds {
    const T* values;
    const u32* validity;
    u64 bit;
    __device__ __forceinline__ bool is_there(u64 row) const { return validity == nullptr || is_valid(validity, bit + row); }
};

// ---- ids of a small range: a bitmap of those that occur ----
// `count` is the number of edges with two ends.
template <class T>
__device__ __forceinline__ void graph_presence(GraphIds<T> sources, GraphIds<T> targets, u64 rows, u64 low, u32* present, u64* count) {
    u64 edges = 0;
    for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) {
        if (!sources.is_there(row) || !targets.is_there(row)) continue;
        edges++;
        for (u32 end = 0; end < 2; end++) {
            const u64 id = (u64)(end == 0 ? sources.values[row] : targets.values[row]) - low;
            const u32 bit = 1u << id % 32;
            if ((load_relaxed(&present[id / 32]) & bit) == 0) atomicOr(&present[id / 32], bit);
        }
    }
    __syncwarp();
#pragma unroll
    for (u32 by = WARP / 2; by > 0; by /= 2) edges += __shfl_xor_sync(ALL_LANES, edges, by);
    if (lane_id() == 0 && edges != 0) atomicAdd(count, edges);
}
__device__ __forceinline__ void graph_popcounts(const u32* present, u64 words, u32* counts) {
    for (u64 word = thread_in_grid(); word < words; word += threads_in_grid()) counts[word] = (u32)__popc(present[word]);
}
// A word of `table` has the 32 bits of the bitmap and above them the ids that are lower. Writes the ids, too.
template <class T>
__device__ __forceinline__ void graph_id_table(const u32* present, const u64* before, u64 words, u64 low, u64* table, T* ids) {
    for (u64 word = thread_in_grid(); word < words; word += threads_in_grid()) {
        u64 at = before[word];
        table[word] = at << 32 | present[word];
        for (u32 bits = present[word]; bits != 0; bits &= bits - 1) ids[at++] = (T)(low + word * 32 + (u32)__ffs((i32)bits) - 1);
    }
}
template <class T> struct GraphDenseIds {
    GraphIds<T> ids;
    u64 low;
    const u64* table;
    __device__ __forceinline__ u64 number(u64 row) const {
        const u64 id = (u64)ids.values[row] - low, word = table[id / 32];
        return (word >> 32) + __popc((u32)word & ((1u << id % 32) - 1));
    }
};

// ---- ids of a wide range: codes of a dictionary, and the rank of each code ----

// Ids as numbers in their order, sources before targets, and which of them belong to edges with two ends.
template <class T>
__device__ __forceinline__ void graph_id_keys(GraphIds<T> sources, GraphIds<T> targets, u64 rows, u64* keys, u32* there, u64* count) {
    const u64 sign = (T)-1 < (T)0 ? 1ull << 63 : 0;
    for (u64 i = thread_in_grid(); i - lane_id() < 2 * rows; i += threads_in_grid()) {
        const u64 row = i < rows ? i : i - rows;
        const bool is_edge = i < 2 * rows && sources.is_there(row) && targets.is_there(row);
        if (i < 2 * rows) keys[i] = is_edge ? (u64)(i < rows ? sources.values[row] : targets.values[row]) ^ sign : 0;
        const u32 word = __ballot_sync(ALL_LANES, is_edge);
        const u32 edges = (u32)__popc(__ballot_sync(ALL_LANES, is_edge && i < rows));
        if (lane_id() == 0) {
            there[i / 32] = word;
            if (edges != 0) atomicAdd(count, (u64)edges);
        }
    }
}
// `order[i]` is the code of the i-th id.
template <class T> __device__ __forceinline__ void graph_id_ranks(const u64* keys, const u32* order, u64 count, u32* rank_of, T* ids) {
    const u64 sign = (T)-1 < (T)0 ? 1ull << 63 : 0;
    for (u64 i = thread_in_grid(); i < count; i += threads_in_grid()) {
        rank_of[order[i]] = (u32)i;
        ids[i] = (T)(keys[i] ^ sign);
    }
}
struct GraphCodedIds {
    const u32* codes;
    const u32* rank_of;
    __device__ __forceinline__ u64 number(u64 row) const { return rank_of[codes[row]]; }
};

// ---- arcs ----
// A key for each edge, or of an undirected graph two: a loop has one arc.
template <class T, class N>
__device__ __forceinline__ void graph_pack(GraphIds<T> sources, GraphIds<T> targets, N of_sources, N of_targets, u64 rows, u32 bits,
                                           u32 undirected, u64* keys) {
    // A shift by all 64 bits is undefined.
    const u64 none = bits == 32 ? ~0ull : (1ull << 2 * bits) - 1;
    for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) {
        u64 there = none, back = none;
        if (sources.is_there(row) && targets.is_there(row)) {
            const u64 u = of_sources.number(row), v = of_targets.number(row);
            there = u << bits | v;
            if (u != v) back = v << bits | u;
        }
        if (undirected == 0) keys[row] = there;
        else keys[2 * row] = there, keys[2 * row + 1] = back;
    }
}

// The starts of rows, of sorted keys.
__device__ __forceinline__ void graph_row_begins(const u64* keys, u32 count, u32 bits, u32 nodes, u32* offsets) {
    for (u64 v = thread_in_grid(); v <= nodes; v += threads_in_grid()) offsets[v] = graph_lower_bound(keys, count, v << bits);
}
// The other ends of sorted keys, and where `order` has the numbers of keys, edges and weights. `bad` is the lowest edge
// whose weight is not finite.
template <class W>
__device__ __forceinline__ void graph_unpack(const u64* keys, const u32* order, u32 arcs, u32 bits, u32 undirected, const W* weights_in,
                                             u32* targets, u32* edges, f64* weights, u32* bad) {
    const u64 mask = (1ull << bits) - 1;
    for (u64 i = thread_in_grid(); i < arcs; i += threads_in_grid()) {
        targets[i] = (u32)(keys[i] & mask);
        if (order == nullptr) continue;
        const u32 edge = undirected != 0 ? order[i] >> 1 : order[i];
        if (edges != nullptr) edges[i] = edge;
        if (weights != nullptr) {
            const f64 weight = (f64)weights_in[edge];
            weights[i] = weight;
            if (!isfinite(weight)) atomicMin(bad, edge);
        }
    }
}
