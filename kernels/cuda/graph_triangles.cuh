// Triangles of a simple undirected graph whose edges lead from lower to higher degrees: each is found once, at its
// lowest corner.
//
// Layout: `offsets` and `targets` are the oriented rows. A node's targets become a hash table in shared memory, with a
// count for each; the rows of these targets are streamed against it. A warp takes a node of up to FEW_TARGETS targets,
// a block others, in segments of MOST_TARGETS. Counts are u64 by node, 0 before. Reads: the sum over arcs of the
// target's row, from L2.

enum : u32 {
    FEW_TARGETS = 128,
    FEW_SLOTS = 256,
    MOST_TARGETS = 4096,
    TRIANGLE_THREADS = 256,
    NO_TARGET = 0xffffffffu,
    GROUP = 8,
};

__device__ __forceinline__ u32 target_slot(u32 target) {
    const u32 bits = target * 0x9e3779b1u;
    return bits ^ bits >> 15;
}

__device__ __forceinline__ void insert_target(u32* keys, u32 mask, u32 target) {
    u32 slot = target_slot(target) & mask;
    while (atomicCAS(&keys[slot], (u32)NO_TARGET, target) != NO_TARGET) slot = (slot + 1) & mask;
}

// 1 if the target is in the table, whose count goes up.
__device__ __forceinline__ u32 hit_target(const u32* keys, u32* counts, u32 mask, u32 target) {
    u32 slot = target_slot(target) & mask;
    for (;;) {
        const u32 there = keys[slot];
        if (there == target) {
            atomicAdd(&counts[slot], 1u);
            return 1;
        }
        if (there == NO_TARGET) return 0;
        slot = (slot + 1) & mask;
    }
}

// Nodes with at least two targets, by whether they have few: `lengths` are 0 before.
__device__ __forceinline__ void list_corners(const u32* offsets, u64 nodes, u32* few, u32* many, u32* lengths) {
    for (u64 base = thread_in_grid() - lane_id(); base < nodes; base += threads_in_grid()) {
        const u64 v = base + lane_id();
        const u32 count = v < nodes ? offsets[v + 1] - offsets[v] : 0;
        for (u32 side = 0; side < 2; side++) {
            const bool is_in = count >= 2 && (side == 0) == (count <= FEW_TARGETS);
            const u32 lanes = __ballot_sync(ALL_LANES, is_in);
            u32 first = 0;
            if (lanes != 0 && lane_id() == 0) first = atomicAdd(&lengths[side], (u32)__popc(lanes));
            first = __shfl_sync(ALL_LANES, first, 0);
            if (is_in) (side == 0 ? few : many)[first + (u32)__popc(lanes & ((1u << lane_id()) - 1))] = (u32)v;
        }
    }
}

// A warp a node: groups of lanes take its targets.
__device__ __forceinline__ void count_few(const u32* offsets, const u32* targets, const u32* list, u32 count, u64* triangles) {
    __shared__ u32 all_keys[TRIANGLE_THREADS / WARP][FEW_SLOTS];
    __shared__ u32 all_counts[TRIANGLE_THREADS / WARP][FEW_SLOTS];
    u32* keys = all_keys[warp_id()];
    u32* counts = all_counts[warp_id()];
    const u32 lane = lane_id() % GROUP, group = lane_id() / GROUP;
    for (u64 at = thread_in_grid() / WARP; at < count; at += threads_in_grid() / WARP) {
        const u32 x = list[at], begin = offsets[x], end = offsets[x + 1];
        u32 slots = 8;
        while (slots < 2 * (end - begin)) slots *= 2;
        for (u32 i = lane_id(); i < slots; i += WARP) {
            keys[i] = NO_TARGET;
            counts[i] = 0;
        }
        __syncwarp();
        for (u32 i = begin + lane_id(); i < end; i += WARP) insert_target(keys, slots - 1, targets[i]);
        __syncwarp();
        u32 all = 0;
        for (u32 base = begin; base < end; base += WARP / GROUP) {
            const u32 i = base + group;
            u32 found = 0, y = 0;
            if (i < end) {
                y = targets[i];
                const u32 last = offsets[y + 1];
                for (u32 arc = offsets[y] + lane; arc < last; arc += GROUP) found += hit_target(keys, counts, slots - 1, targets[arc]);
            }
            __syncwarp();
            for (u32 by = GROUP / 2; by > 0; by /= 2) found += __shfl_down_sync(ALL_LANES, found, by);
            if (lane == 0 && found != 0) {
                atomicAdd(&triangles[y], (u64)found);
                all += found;
            }
        }
        if (all != 0) atomicAdd(&triangles[x], (u64)all);
        __syncwarp();
        for (u32 i = lane_id(); i < slots; i += WARP) {
            if (counts[i] != 0) atomicAdd(&triangles[keys[i]], (u64)counts[i]);
        }
        __syncwarp();
    }
}

// A block a node, taken by a ticket: a warp takes one of its targets at a time. Dynamic shared memory: 4 words for each
// of MOST_TARGETS.
__device__ __forceinline__ void count_many(const u32* offsets, const u32* targets, const u32* list, u32 count, u32* ticket,
                                           u64* triangles) {
    DYNAMIC_SHARED(memory);
    u32* keys = (u32*)memory;
    u32* counts = keys + 2 * MOST_TARGETS;
    __shared__ u32 next;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) next = atomicAdd(ticket, 1u);
        __syncthreads();
        if (next >= count) return;
        const u32 x = list[next], begin = offsets[x], end = offsets[x + 1];
        for (u32 first = begin; first < end; first += MOST_TARGETS) {
            const u32 length = smaller((u32)MOST_TARGETS, end - first);
            u32 slots = 8;
            while (slots < 2 * length) slots *= 2;
            for (u32 i = threadIdx.x; i < slots; i += blockDim.x) {
                keys[i] = NO_TARGET;
                counts[i] = 0;
            }
            __syncthreads();
            for (u32 i = threadIdx.x; i < length; i += blockDim.x) insert_target(keys, slots - 1, targets[first + i]);
            __syncthreads();
            u64 all = 0;
            for (u32 i = begin + warp_id(); i < end; i += blockDim.x / WARP) {
                const u32 y = targets[i], last = offsets[y + 1];
                u32 found = 0;
                for (u32 arc = offsets[y] + lane_id(); arc < last; arc += WARP) found += hit_target(keys, counts, slots - 1, targets[arc]);
                __syncwarp();
                for (u32 by = 16; by > 0; by /= 2) found += __shfl_down_sync(ALL_LANES, found, by);
                if (lane_id() == 0 && found != 0) {
                    atomicAdd(&triangles[y], (u64)found);
                    all += found;
                }
            }
            if (all != 0) atomicAdd(&triangles[x], all);
            __syncthreads();
            for (u32 i = threadIdx.x; i < slots; i += blockDim.x) {
                if (counts[i] != 0) atomicAdd(&triangles[keys[i]], (u64)counts[i]);
            }
            __syncthreads();
        }
    }
}

// The part of the pairs of neighbours that are neighbours of each other.
__device__ __forceinline__ void clustering_of(const u64* triangles, const u32* degrees, u64 nodes, f64* out) {
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) {
        const f64 degree = (f64)degrees[v];
        out[v] = triangles[v] == 0 ? 0.0 : 2.0 * (f64)triangles[v] / (degree * (degree - 1.0));
    }
}
