// Graphs without self-loops and parallel edges, and their orientation from lower to higher degrees.
//
// Rows are sorted, so that parallel edges are next to each other. Arcs that stay are counted by tile and by row, and
// written in order.

enum : u32 { KEEP_DISTINCT = 0, KEEP_HIGHER = 1 };

// Whether an arc is the first to its target, and no self-loop.
__device__ __forceinline__ bool is_distinct(const u32* offsets, const u32* targets, u64 row, u64 arc) {
    const u32 target = targets[arc];
    return target != row && (arc == offsets[row] || targets[arc - 1] != target);
}

// Whether `b` comes before `a`: it has the higher degree, or as high a one and the lower number.
__device__ __forceinline__ bool is_higher(const u32* degrees, u32 a, u32 b) {
    const u32 of_a = degrees[a], of_b = degrees[b];
    return of_b > of_a || (of_b == of_a && b < a);
}

template <u32 KEEP>
__device__ __forceinline__ bool is_kept(const u32* offsets, const u32* targets, const u32* degrees, u64 row, u64 arc) {
    if (!is_distinct(offsets, targets, row, arc)) return false;
    return KEEP == KEEP_DISTINCT || is_higher(degrees, (u32)row, targets[arc]);
}

// Arcs that stay, by row (0 before) and by tile.
template <u32 KEEP>
__device__ __forceinline__ void count_kept(const u32* offsets, const u32* targets, const u32* degrees, u64 nodes, u64 arcs, u32* by_row,
                                           u32* by_tile) {
    for (u64 tile = blockIdx.x; tile * ARC_TILE < arcs; tile += gridDim.x) {
        u32 own = 0, of_row = 0;
        visit_tile(
            offsets, nodes, arcs, tile,
            [&](u64 row, u64 arc) { of_row += is_kept<KEEP>(offsets, targets, degrees, row, arc); },
            [&](u64 row) {
                if (of_row != 0) atomicAdd(&by_row[row], of_row);
                own += of_row;
                of_row = 0;
            });
        u32 all;
        sum_before(own, &all);
        if (threadIdx.x == 0) by_tile[tile] = all;
    }
}

// Writes the targets that stay; `before` are the numbers of those before each tile.
template <u32 KEEP>
__device__ __forceinline__ void write_kept(const u32* offsets, const u32* targets, const u32* degrees, u64 nodes, u64 arcs,
                                           const u64* before, u32* kept) {
    for (u64 tile = blockIdx.x; tile * ARC_TILE < arcs; tile += gridDim.x) {
        u32 own = 0, stays = 0, next = 0;
        visit_tile(
            offsets, nodes, arcs, tile,
            [&](u64 row, u64 arc) {
                if (is_kept<KEEP>(offsets, targets, degrees, row, arc)) {
                    stays |= 1u << next;
                    own++;
                }
                next++;
            },
            [&](u64) {});
        u32 all;
        u64 to = before[tile] + sum_before(own, &all);
        const u64 first = tile * ARC_TILE + (u64)threadIdx.x * ARC_ITEMS;
        for (u32 i = 0; i < next; i++) {
            if (stays >> i & 1) kept[to++] = targets[first + i];
        }
    }
}

// Offsets of 32 bits of sums of 64.
__device__ __forceinline__ void narrow_offsets(const u64* sums, u64 count, u32* out) {
    for (u64 i = thread_in_grid(); i < count; i += threads_in_grid()) out[i] = (u32)sums[i];
}
