// Arcs of compressed sparse rows, dealt out evenly: a block takes a tile of consecutive arcs, whatever the lengths of
// the rows.
//
// Layout: `offsets` has the begin of each row and the number of arcs at the end. Empty rows are allowed. A thread looks
// at ARC_ITEMS consecutive arcs and finds their rows by binary search between the rows of the tile's first and last
// arcs.

enum : u32 { ARC_THREADS = 256, ARC_ITEMS = 8, ARC_TILE = ARC_THREADS * ARC_ITEMS };

// The row of an arc, between `low` and before `high`: the last one that begins at or before the arc.
__device__ __forceinline__ u64 row_of_arc(const u32* offsets, u64 low, u64 high, u64 arc) {
    while (high - low > 1) {
        const u64 middle = low + (high - low) / 2;
        if (offsets[middle] <= arc) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

// Calls `visit(row, arc)` for this thread's arcs of tile `tile`, and `leave(row)` after the last arc of each of its
// rows. All threads of a block of ARC_THREADS call it; barriers are inside.
template <class V, class L>
__device__ __forceinline__ void visit_tile(const u32* offsets, u64 nodes, u64 arcs, u64 tile, V visit, L leave) {
    __shared__ u64 bounds[2];
    const u64 first = tile * ARC_TILE, last = smaller(first + ARC_TILE, arcs) - 1;
    __syncthreads();
    if (threadIdx.x < 2) bounds[threadIdx.x] = row_of_arc(offsets, 0, nodes, threadIdx.x == 0 ? first : last);
    __syncthreads();
    const u64 begin = first + (u64)threadIdx.x * ARC_ITEMS;
    if (begin > last) return;
    const u64 high = bounds[1] + 1;
    u64 row = row_of_arc(offsets, bounds[0], high, begin);
    u64 end = offsets[row + 1];
    for (u64 arc = begin; arc < begin + ARC_ITEMS && arc <= last; arc++) {
        if (arc >= end) {
            leave(row);
            row = row_of_arc(offsets, row + 1, high, arc);
            end = offsets[row + 1];
        }
        visit(row, arc);
    }
    leave(row);
}

// The same for all arcs of the graph.
template <class V, class L> __device__ __forceinline__ void visit_arcs(const u32* offsets, u64 nodes, u64 arcs, V visit, L leave) {
    for (u64 tile = blockIdx.x; tile * ARC_TILE < arcs; tile += gridDim.x) visit_tile(offsets, nodes, arcs, tile, visit, leave);
}

// The sum of `own` over the threads before this one in a block of ARC_THREADS, and the sum over all of them. Barriers
// are inside.
__device__ __forceinline__ u32 sum_before(u32 own, u32* all) {
    __shared__ u32 sums[ARC_THREADS / WARP];
    u32 sum = own;
    for (u32 by = 1; by < WARP; by *= 2) {
        const u32 lower = __shfl_up_sync(ALL_LANES, sum, by);
        if (lane_id() >= by) sum += lower;
    }
    __syncthreads();
    if (lane_id() == WARP - 1) sums[warp_id()] = sum;
    __syncthreads();
    u32 before = sum - own, total = 0;
    for (u32 w = 0; w < ARC_THREADS / WARP; w++) {
        if (w < warp_id()) before += sums[w];
        total += sums[w];
    }
    *all = total;
    return before;
}
