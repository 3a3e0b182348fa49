// Betweenness by Brandes' algorithm, level by level, from SOURCES sources at once.
//
// Layout: values of a node and of all sources are next to each other, so that an arc reads 64 bytes at a time.
// `frontier` and `share` have numbers of nodes of one level, and 0 elsewhere: a sum over a row needs no test. Both
// passes pull over rows, without atomics, so sums have one order. Lanes: a source each; up to FEW arcs a node has
// SOURCES lanes, up to 1,024 a warp, else a block. Bytes: 68 for an arc, level and direction, from L2 where it fits.

enum : u32 { SOURCES = 8, UNSEEN = 0xffffffffu, WIDE_THREADS = 512 };

struct PathState {
    // Words of 64 bits, so that the host can read them.
    u64 done;
    u64 found;
    u64 depth;
};

struct PathCounts {
    const u32* offsets;
    const u32* targets;
    // Nodes by falling degree.
    const u32* order;
    u32* level;
    f64* sigma;
    f64* delta;
    f64* from;
    f64* to;
    PathState* state;
};

__device__ __forceinline__ void begin_paths(PathCounts p, u64 nodes, const u32* sources, u32 count) {
    for (u64 i = thread_in_grid(); i < nodes * SOURCES; i += threads_in_grid()) {
        const u32 s = (u32)(i % SOURCES);
        const bool is_source = s < count && sources[s] == i / SOURCES;
        p.level[i] = is_source ? 0 : (u32)UNSEEN;
        p.sigma[i] = is_source ? 1.0 : 0.0;
        p.from[i] = is_source ? 1.0 : 0.0;
        p.delta[i] = 0.0;
    }
    if (thread_in_grid() == 0) *p.state = PathState{0, 0, 0};
}

// Applies the sum over a node's row: outwards, its number of paths; back, its share of them. Whether it was found.
template <bool BACK> __device__ __forceinline__ u32 take_sum(const PathCounts& p, u64 at, u32 level, u32 own, f64 sum) {
    if (BACK) {
        const f64 sigma = p.sigma[at], delta = sigma * sum;
        p.delta[at] = delta;
        p.to[at] = (1.0 + delta) / sigma;
        return 0;
    }
    if (!(sum > 0.0)) {
        p.to[at] = 0.0;
        return 0;
    }
    p.level[at] = level;
    p.sigma[at] = sum;
    p.to[at] = sum;
    return 1;
}

template <bool BACK> __device__ __forceinline__ bool is_asked(u32 own, u32 level) { return own == (BACK ? level : (u32)UNSEEN); }

__device__ __forceinline__ void count_found(const PathCounts& p, u32 found) {
    for (u32 by = 16; by > 0; by /= 2) found += __shfl_down_sync(ALL_LANES, found, by);
    if (lane_id() == 0 && found != 0) atomicAdd(&p.state->found, (u64)found);
}

// Nodes `begin` to `end` of the order, SOURCES lanes each.
template <bool BACK> __device__ __forceinline__ void pull_few(PathCounts p, u32 level, u32 begin, u32 end) {
    if (p.state->done != 0 && !BACK) return;
    const u32 s = threadIdx.x % SOURCES;
    u32 found = 0;
    for (u64 i = begin + thread_in_grid() / SOURCES; i < end; i += threads_in_grid() / SOURCES) {
        const u32 v = p.order[i];
        const u64 at = (u64)v * SOURCES + s;
        const u32 own = p.level[at];
        if (!is_asked<BACK>(own, level)) {
            p.to[at] = 0.0;
            continue;
        }
        f64 sum = 0;
        for (u32 arc = p.offsets[v]; arc < p.offsets[v + 1]; arc++) sum += p.from[(u64)p.targets[arc] * SOURCES + s];
        found += take_sum<BACK>(p, at, level, own, sum);
    }
    __syncwarp();
    if (!BACK) count_found(p, found);
}

// A warp a node: groups of SOURCES lanes take arcs in turn.
template <bool BACK> __device__ __forceinline__ void pull_warp(PathCounts p, u32 level, u32 begin, u32 end) {
    if (p.state->done != 0 && !BACK) return;
    const u32 s = lane_id() % SOURCES, group = lane_id() / SOURCES;
    u32 found = 0;
    for (u64 i = begin + thread_in_grid() / WARP; i < end; i += threads_in_grid() / WARP) {
        const u32 v = p.order[i];
        const u64 at = (u64)v * SOURCES + s;
        const u32 own = p.level[at];
        const bool asked = is_asked<BACK>(own, level);
        f64 sum = 0;
        if (__any_sync(ALL_LANES, asked)) {
            const u32 last = p.offsets[v + 1];
#pragma unroll 4
            for (u32 arc = p.offsets[v] + group; arc < last; arc += WARP / SOURCES) {
                sum += p.from[(u64)p.targets[arc] * SOURCES + s];
            }
            __syncwarp();
            for (u32 by = WARP / 2; by >= SOURCES; by /= 2) sum += Shuffle<f64>::down(sum, by);
        }
        if (group != 0) continue;
        if (asked) {
            found += take_sum<BACK>(p, at, level, own, sum);
        } else {
            p.to[at] = 0.0;
        }
    }
    __syncwarp();
    if (!BACK) count_found(p, found);
}

// A block a node.
template <bool BACK> __device__ __forceinline__ void pull_block(PathCounts p, u32 level, u32 begin, u32 end) {
    __shared__ f64 sums[WIDE_THREADS / WARP][SOURCES];
    if (p.state->done != 0 && !BACK) return;
    const u32 s = threadIdx.x % SOURCES, group = threadIdx.x / SOURCES;
    u32 found = 0;
    for (u64 i = begin + blockIdx.x; i < end; i += gridDim.x) {
        const u32 v = p.order[i];
        const u64 at = (u64)v * SOURCES + s;
        const u32 own = p.level[at];
        const bool asked = is_asked<BACK>(own, level);
        f64 sum = 0;
        // The same in all warps: each has all sources.
        if (__any_sync(ALL_LANES, asked)) {
            const u32 last = p.offsets[v + 1];
#pragma unroll 4
            for (u32 arc = p.offsets[v] + group; arc < last; arc += WIDE_THREADS / SOURCES) {
                sum += p.from[(u64)p.targets[arc] * SOURCES + s];
            }
            __syncwarp();
            for (u32 by = WARP / 2; by >= SOURCES; by /= 2) sum += Shuffle<f64>::down(sum, by);
        }
        // Not before all warps have looked at their levels.
        __syncthreads();
        if (lane_id() < SOURCES) sums[warp_id()][s] = sum;
        __syncthreads();
        if (group != 0) continue;
        if (asked) {
            f64 all = 0;
            for (u32 w = 0; w < WIDE_THREADS / WARP; w++) all += sums[w][s];
            found += take_sum<BACK>(p, at, level, own, all);
        } else {
            p.to[at] = 0.0;
        }
    }
    __syncwarp();
    if (!BACK && warp_id() == 0) count_found(p, found);
}

// After a level outwards: the last one found nothing. One thread.
__device__ __forceinline__ void end_level(PathState* state, u32 level) {
    if (state->done != 0) return;
    if (state->found == 0) {
        state->done = 1;
    } else {
        state->depth = level;
        state->found = 0;
    }
}

// The shares of the farthest level.
__device__ __forceinline__ void begin_back(PathCounts p, u64 nodes, u32 depth) {
    for (u64 i = thread_in_grid(); i < nodes * SOURCES; i += threads_in_grid()) {
        p.from[i] = p.level[i] == depth ? 1.0 / p.sigma[i] : 0.0;
    }
}

// Nodes that each source reached, itself too; 0 before.
__device__ __forceinline__ void count_reached(PathCounts p, u64 nodes, u64* reached) {
    const u32 s = threadIdx.x % SOURCES;
    u64 own = 0;
    for (u64 i = thread_in_grid(); i < nodes * SOURCES; i += threads_in_grid()) own += p.level[i] != (u32)UNSEEN;
    for (u32 by = WARP / 2; by >= SOURCES; by /= 2) own += Shuffle<u64>::down(own, by);
    if (lane_id() < SOURCES && own != 0) atomicAdd(&reached[s], own);
}

// Adds the dependencies of all sources, one after another. With `endpoints` a path counts for its ends, too.
__device__ __forceinline__ void add_paths(PathCounts p, u64 nodes, const u32* sources, u32 count, u32 endpoints, const u64* reached,
                                          f64* sums) {
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) {
        f64 sum = sums[v];
        for (u32 s = 0; s < count; s++) {
            const u64 at = v * SOURCES + s;
            if (p.level[at] == (u32)UNSEEN) continue;
            if (sources[s] == v) {
                if (endpoints) sum += (f64)reached[s] - 1.0;
            } else {
                sum += p.delta[at] + (endpoints ? 1.0 : 0.0);
            }
        }
        sums[v] = sum;
    }
}
