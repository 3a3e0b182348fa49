// Rows with the lowest keys of a pipeline: a sample gives an upper bound for the keys, then one pass collects
// candidates.

// The key of rank `rank` among the lowest keys of the blocks, at most THREADS of them. This is not lower than the key
// of this rank in the sample. All bits are set if there is none. The sample has one row of each part of `part` rows.
// `look(row, best)` lowers `best` to the key of a row. Writes the key to `told`, leaves `count` and `done` at zero.
template <int THREADS, class Look>
__device__ __forceinline__ void top_sample_rows(u64 sample, u64 part, u32 rank, u64* lowest, u32* done, u64* count,
                                                volatile u64* told, Look look) {
    __shared__ u64 keys[THREADS];
    __shared__ bool last;
    u64 best = ~0ull;
#pragma unroll 4
    for (u64 i = (u64)threadIdx.x * gridDim.x + blockIdx.x; i < sample; i += (u64)gridDim.x * blockDim.x) {
        look(i * part + mix(i) % part, best);
    }
    for (u32 by = 16; by > 0; by /= 2) best = smaller(best, (u64)__shfl_down_sync(ALL_LANES, best, by));
    if (lane_id() == 0) keys[warp_id()] = best;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (u32 w = 1; w < THREADS / WARP; w++) best = smaller(best, keys[w]);
        lowest[blockIdx.x] = best;
        __threadfence();
        last = atomicAdd(done, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    const u64 mine = threadIdx.x < gridDim.x ? ((volatile u64*)lowest)[threadIdx.x] : ~0ull;
    keys[threadIdx.x] = mine;
    __syncthreads();
    u32 before = 0;
    for (u32 other = 0; other < THREADS; other++) {
        before += keys[other] < mine || (keys[other] == mine && other < threadIdx.x);
    }
    if (before == rank - 1) {
        *done = 0;
        *count = 0;
        told[1] = mine;
        __threadfence_system();
        told[0] = 1;
    }
}

// Rows whose key is not above a limit, in any order. The first `room` of them go to device memory, the first `near` to
// the host as well. `count` is zero before, and becomes their number.
struct Candidates {
    u64* count;
    u64* __restrict__ keys;
    u32* __restrict__ numbers;
    u64* near_keys;
    u32* near_numbers;
    u64 near, room;

    __device__ __forceinline__ void add(u64 key, u64 row) const {
        const u64 to = atomicAdd(count, (u64)1);
        if (to < room) {
            keys[to] = key;
            numbers[to] = (u32)row;
        }
        if (to < near) {
            near_keys[to] = key;
            near_numbers[to] = (u32)row;
            __threadfence_system();
        }
    }
};
