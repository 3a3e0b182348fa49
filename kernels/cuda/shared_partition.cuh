// Radix partitioning by group, so that the table of a partition fits into shared memory: the shared code of generated
// kernels (runtime/ops/src/codegen/partition.rs). A partition has EACH consecutive groups; its rows have no order.
//
// `state`, in 64-bit words: the rows of each partition (zero before), the position of its next row, its start, and its
// first work item. The latter two have one more entry at the end. A work item is at most `limit` rows of a partition:
// the input of a block, so that many blocks share a large partition.

enum : u32 { MOST_PARTS = 2048 };

// Called after the rows of this block were counted; the last block turns the counts into offsets. The ticket is zero
// before and after.
__device__ __forceinline__ void parted_count(const u32* here, u32 parts, u64* state, u64 limit, u32* ticket) {
    __shared__ u64 sums[2][MOST_PARTS];
    __shared__ bool last;
    for (u32 p = threadIdx.x; p < parts; p += blockDim.x) {
        if (here[p] != 0) atomicAdd(&state[p], (u64)here[p]);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(ticket, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    u64 *next = state + parts, *starts = next + parts, *items = starts + parts + 1;
#pragma unroll 1
    for (u32 which = 0; which < 2; which++) {
        for (u32 p = threadIdx.x; p < parts; p += blockDim.x) {
            u64 rows = load_relaxed(&state[p]);
            sums[0][p] = which == 0 ? rows : (rows + limit - 1) / limit;
        }
        __syncthreads();
        u32 now = 0;
#pragma unroll 1
        for (u32 by = 1; by < parts; by *= 2) {
            for (u32 p = threadIdx.x; p < parts; p += blockDim.x) {
                sums[1 - now][p] = sums[now][p] + (p >= by ? sums[now][p - by] : 0);
            }
            now = 1 - now;
            __syncthreads();
        }
        for (u32 p = threadIdx.x; p < parts; p += blockDim.x) {
            u64 start = p == 0 ? 0 : sums[now][p - 1];
            (which == 0 ? starts : items)[p] = start;
            if (which == 0) next[p] = start;
        }
        if (threadIdx.x == 0) (which == 0 ? starts : items)[parts] = sums[now][parts - 1];
        __syncthreads();
    }
    if (threadIdx.x == 0) *ticket = 0;
}

// Turns the rows of a tile in each partition (`here`) into the start of each partition in the tile. The position of a
// row in the tile plus `to` is its position among all rows. Called by all threads of the block; returns the rows of the
// tile.
template <int THREADS> __device__ __forceinline__ u32 parted_tile(u32* here, u64* to, u32 parts, u64* next) {
    const u32 EACH = MOST_PARTS / THREADS;
    __shared__ u32 warps[THREADS / WARP];
    u32 counts[EACH], mine = 0;
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        u32 p = threadIdx.x * EACH + i;
        counts[i] = p < parts ? here[p] : 0;
        mine += counts[i];
    }
    u32 upto = mine;
#pragma unroll
    for (u32 by = 1; by < WARP; by *= 2) {
        u32 other = __shfl_up_sync(ALL_LANES, upto, by);
        if (lane_id() >= by) upto += other;
    }
    if (lane_id() == WARP - 1) warps[warp_id()] = upto;
    __syncthreads();
    u32 before = upto - mine, all = 0;
    for (u32 w = 0; w < THREADS / WARP; w++) {
        if (w < warp_id()) before += warps[w];
        all += warps[w];
    }
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        u32 p = threadIdx.x * EACH + i;
        if (p < parts) {
            here[p] = before;
            to[p] = (counts[i] == 0 ? 0 : atomicAdd(&next[p], (u64)counts[i])) - before;
        }
        before += counts[i];
    }
    __syncthreads();
    return all;
}

// The partition of a work item.
__device__ __forceinline__ u32 parted_part(const u64* items, u32 parts, u64 item) {
    u32 low = 0, high = parts;
    while (high - low > 1) {
        u32 middle = (low + high) / 2;
        if (items[middle] <= item) low = middle;
        else high = middle;
    }
    return low;
}
