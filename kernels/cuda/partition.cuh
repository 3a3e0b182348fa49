// Radix partitioning of rows into PARTS partitions by a function of their key, in two passes: count, then move. Rows of a partition
// are contiguous and in no order (grouping and joining need none), so that no tile waits for another.
//
// Layout: keys of K and values of V at any aligned address, no nulls. Output: keys and values of the partitions one after another,
// and PARTS + 1 offsets. Scratch: counts and a ticket, zero before the count and after it. A tile of THREADS x ITEMS rows is sorted
// in shared memory first, so that rows of a partition are written contiguously: 16 rows of 8 bytes are one line of 128.
// Bytes that must cross memory: keys twice, values once, and both written once: 1e8 x (8 + 8) take 0.93 ms at 4.28 TB/s.

// Counts; the last block turns counts into offsets.
template <class K, int PARTS, int UNROLL, class F>
__device__ __forceinline__ void partition_count(const K* keys, u64 rows, u64* counts, u32* ticket, u64* offsets, u64* cursors, F part) {
    __shared__ u32 here[PARTS];
    __shared__ u64 sums[2][PARTS];
    __shared__ bool last;
    for (u32 p = threadIdx.x; p < PARTS; p += blockDim.x) here[p] = 0;
    __syncthreads();
    u64 stride = threads_in_grid();
#pragma unroll 1
    for (u64 first = thread_in_grid(); first < rows; first += stride * UNROLL) {
        K key[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            if (first + k * stride < rows) key[k] = keys[first + k * stride];
        }
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            if (first + k * stride < rows) atomicAdd(&here[part(key[k])], 1u);
        }
    }
    __syncthreads();
    for (u32 p = threadIdx.x; p < PARTS; p += blockDim.x) {
        if (here[p] != 0) atomicAdd(&counts[p], (u64)here[p]);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(ticket, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    for (u32 p = threadIdx.x; p < PARTS; p += blockDim.x) {
        sums[0][p] = atomicExch(&counts[p], 0ull);
    }
    __syncthreads();
    u32 now = 0;
#pragma unroll 1
    for (u32 by = 1; by < PARTS; by *= 2) {
        for (u32 p = threadIdx.x; p < PARTS; p += blockDim.x) {
            sums[1 - now][p] = sums[now][p] + (p >= by ? sums[now][p - by] : 0);
        }
        now = 1 - now;
        __syncthreads();
    }
    for (u32 p = threadIdx.x; p < PARTS; p += blockDim.x) {
        u64 start = p == 0 ? 0 : sums[now][p - 1];
        offsets[p] = start;
        cursors[p] = start;
    }
    if (threadIdx.x == 0) {
        offsets[PARTS] = sums[now][PARTS - 1];
        *ticket = 0;
    }
}

// Moves. One tile for each block; `cursors` are the next output positions of each partition.
template <class K, class V, int PARTS, int THREADS, int ITEMS, class F>
__device__ __forceinline__ void partition_move(const K* keys, const V* values, u64 rows, u64* cursors, K* out_keys, V* out_values, F part) {
    const u32 TILE = THREADS * ITEMS;
    static_assert(PARTS <= THREADS && PARTS <= 256 && TILE <= 1 << 16, "a part is a byte and a place two");
    __shared__ u64 staged[(TILE * (sizeof(K) > sizeof(V) ? sizeof(K) : sizeof(V)) + 7) / 8];
    __shared__ u8 whose[TILE];
    __shared__ u32 here[PARTS];
    __shared__ u32 start[PARTS];
    __shared__ u64 to[PARTS];
    __shared__ u32 warps[THREADS / WARP];
    u64 first = (u64)blockIdx.x * TILE;
    u32 count = rows - first < TILE ? (u32)(rows - first) : TILE;
    if (threadIdx.x < PARTS) here[threadIdx.x] = 0;
    K key[ITEMS];
    V value[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        u32 i = threadIdx.x + k * THREADS;
        if (i < count) {
            key[k] = __ldcs(&keys[first + i]);
            value[k] = __ldcs(&values[first + i]);
        }
    }
    __syncthreads();
    // The partition in the low byte, the index of the row within partition and tile above it.
    u32 place[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (threadIdx.x + k * THREADS < count) {
            u32 p = part(key[k]);
            place[k] = p | atomicAdd(&here[p], 1u) << 8;
        }
    }
    __syncthreads();
    u32 mine = threadIdx.x < PARTS ? here[threadIdx.x] : 0;
    u32 upto = mine;
#pragma unroll
    for (u32 by = 1; by < WARP; by *= 2) {
        u32 other = __shfl_up_sync(ALL_LANES, upto, by);
        if (lane_id() >= by) upto += other;
    }
    if (lane_id() == WARP - 1) warps[warp_id()] = upto;
    __syncthreads();
    if (threadIdx.x < PARTS) {
        u32 before = upto - mine;
        for (u32 w = 0; w < warp_id(); w++) before += warps[w];
        start[threadIdx.x] = before;
        // So that the position of a row in the tile can be added to it.
        to[threadIdx.x] = (mine == 0 ? 0 : atomicAdd(&cursors[threadIdx.x], (u64)mine)) - before;
    }
    __syncthreads();
    K* staged_keys = (K*)staged;
    V* staged_values = (V*)staged;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (threadIdx.x + k * THREADS < count) {
            u32 p = place[k] & 255;
            place[k] = start[p] + (place[k] >> 8);
            staged_keys[place[k]] = key[k];
            whose[place[k]] = (u8)p;
        }
    }
    __syncthreads();
    u64 goes[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        u32 i = threadIdx.x + k * THREADS;
        if (i < count) {
            goes[k] = to[whose[i]] + i;
            out_keys[goes[k]] = staged_keys[i];
        }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (threadIdx.x + k * THREADS < count) staged_values[place[k]] = value[k];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        u32 i = threadIdx.x + k * THREADS;
        if (i < count) out_values[goes[k]] = staged_values[i];
    }
}
