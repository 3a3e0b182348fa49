// Core numbers of a simple graph: nodes with at most k neighbours left are taken away, for ascending k.
//
// One kernel is launched again and again; the last block of a launch decides what the next one does. A scan goes over
// the nodes that are left, queues those with at most k neighbours and keeps the others. A wave takes the arcs of the
// queued nodes away and queues the neighbours that fall to k. The last block goes on alone while waves are small.
// Numbers do not depend on the order.

enum : u32 {
    CORE_SCAN = 0,
    CORE_WAVE = 1,
    CORE_THREADS = 256,
    // Nodes of a wave that one block takes alone, and how many waves.
    FEW_NODES = 64,
    MOST_ALONE = 256,
    // Arcs from which on a block takes a node.
    LONG_ROW = 1024,
    NO_NODE = 0xffffffffu,
    // The start of numbers below 0: some threads have taken away what others take back.
    BELOW_ZERO = 0x80000000u,
};

// Words of 64 bits, so that the host can read them.
struct CoreState {
    u64 done;
    u64 k;
    // The nodes that are left.
    u64 nodes;
    u64 phase;
    // Nodes of the queue of this wave, and where the queue ends by now.
    u64 begin;
    u64 end;
    u64 tail;
    // Nodes with at most so many neighbours left are gone.
    u64 gone;
    u64 kept;
    u64 lowest;
    u64 ticket;
    u64 side;
    // The end of the queue when the last k was done.
    u64 gone_queue;
};

struct CoreGraph {
    const u32* offsets;
    const u32* targets;
    u32* left;
    u32* core;
    u32* lists[2];
    u32* queue;
    CoreState* state;
};

__device__ __forceinline__ void append_lanes(bool is_in, u64* length, u32* out, u32 value) {
    const u32 lanes = __ballot_sync(ALL_LANES, is_in);
    if (lanes == 0) return;
    u64 first = 0;
    if (lane_id() == 0) first = atomicAdd(length, (u64)__popc(lanes));
    first = __shfl_sync(ALL_LANES, first, 0);
    if (is_in) store_relaxed(&out[first + (u32)__popc(lanes & ((1u << lane_id()) - 1))], value);
}

__device__ __forceinline__ void begin_cores(CoreGraph g, u64 nodes) {
    for (u64 base = thread_in_grid() - lane_id(); base < nodes; base += threads_in_grid()) {
        const u64 v = base + lane_id();
        u32 degree = 0;
        if (v < nodes) {
            degree = g.offsets[v + 1] - g.offsets[v];
            g.left[v] = degree;
            g.core[v] = 0;
        }
        append_lanes(degree > 0, &g.state->nodes, g.lists[0], (u32)v);
    }
}

// Takes arcs `arc`, `arc + step`, ... of a node away; a whole warp calls it.
__device__ __forceinline__ void take_arcs(const CoreGraph& g, u32 arc, u32 end, u32 step, u32 k) {
    for (u32 base = arc - lane_id(); base < end; base += step) {
        const u32 at = base + lane_id();
        bool falls = false;
        u32 target = 0;
        if (at < end) {
            target = g.targets[at];
            const u32 there = load_relaxed(&g.left[target]);
            if (there > k && there < BELOW_ZERO) {
                const u32 before = atomicSub(&g.left[target], 1u);
                falls = before == k + 1;
                // Other threads were quicker.
                if (before <= k || before >= BELOW_ZERO) atomicAdd(&g.left[target], 1u);
            }
        }
        append_lanes(falls, &g.state->tail, g.queue, target);
    }
}

// Nodes `begin + first`, `begin + first + step`, ... of the queue, a warp each, and long rows by the whole block.
__device__ __forceinline__ void take_nodes(const CoreGraph& g, u64 begin, u64 end, u64 first, u64 step, u32 k) {
    __shared__ u32 rows[CORE_THREADS / WARP];
    const u32 warps = CORE_THREADS / WARP;
    for (u64 base = begin + first; base < end; base += step) {
        const u64 at = base + warp_id();
        u32 row = NO_NODE;
        if (at < end) {
            const u32 v = load_relaxed(&g.queue[at]);
            if (lane_id() == 0) g.core[v] = k;
            const u32 from = g.offsets[v], to = g.offsets[v + 1];
            if (to - from >= LONG_ROW) {
                row = v;
            } else {
                take_arcs(g, from + lane_id(), to, WARP, k);
            }
        }
        __syncthreads();
        if (lane_id() == 0) rows[warp_id()] = row;
        __syncthreads();
        for (u32 w = 0; w < warps; w++) {
            if (rows[w] != NO_NODE) take_arcs(g, g.offsets[rows[w]] + threadIdx.x, g.offsets[rows[w] + 1], CORE_THREADS, k);
        }
    }
}

__device__ __forceinline__ void core_step(CoreGraph g) {
    __shared__ bool is_last;
    __shared__ u64 wave[2];
    CoreState* s = g.state;
    if (load_relaxed(&s->done) != 0) return;
    const u32 k = (u32)load_relaxed(&s->k);
    const u64 phase = load_relaxed(&s->phase);
    if (phase == CORE_SCAN) {
        const u64 nodes = load_relaxed(&s->nodes), side = load_relaxed(&s->side);
        const u32 gone = (u32)load_relaxed(&s->gone);
        const u32* list = g.lists[side];
        u32 lowest = NO_NODE;
        for (u64 base = thread_in_grid() - lane_id(); base < nodes; base += threads_in_grid()) {
            const u64 at = base + lane_id();
            u32 v = 0, left = 0;
            if (at < nodes) {
                v = load_relaxed(&list[at]);
                left = load_relaxed(&g.left[v]);
            }
            const bool stays = at < nodes && left > k;
            append_lanes(at < nodes && left > gone && left <= k, &s->tail, g.queue, v);
            append_lanes(stays, &s->kept, g.lists[1 - side], v);
            if (stays) lowest = smaller(lowest, left);
        }
        for (u32 by = 16; by > 0; by /= 2) lowest = smaller(lowest, __shfl_down_sync(ALL_LANES, lowest, by));
        if (lane_id() == 0 && lowest != NO_NODE) atomicMin(&s->lowest, (u64)lowest);
    } else {
        const u64 warps = CORE_THREADS / WARP;
        take_nodes(g, load_relaxed(&s->begin), load_relaxed(&s->end), blockIdx.x * warps, gridDim.x * warps, k);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        is_last = atomicAdd(&s->ticket, (u64)1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!is_last) return;
    // From here on one block is left.
    for (u32 round = 0;; round++) {
        if (threadIdx.x == 0) {
            wave[0] = load_relaxed(&s->end);
            wave[1] = load_relaxed(&s->tail);
            store_relaxed(&s->begin, wave[0]);
            store_relaxed(&s->end, wave[1]);
        }
        __syncthreads();
        const u64 count = wave[1] - wave[0];
        if (count == 0 || count > FEW_NODES || round == MOST_ALONE) break;
        take_nodes(g, wave[0], wave[1], 0, CORE_THREADS / WARP, k);
        __threadfence();
        __syncthreads();
    }
    if (threadIdx.x != 0) return;
    store_relaxed(&s->ticket, (u64)0);
    u64 left = load_relaxed(&s->nodes);
    if (phase == CORE_SCAN) {
        left = load_relaxed(&s->kept);
        store_relaxed(&s->nodes, left);
        store_relaxed(&s->side, 1 - load_relaxed(&s->side));
        store_relaxed(&s->kept, (u64)0);
    }
    if (wave[1] > wave[0]) {
        store_relaxed(&s->phase, (u64)CORE_WAVE);
        return;
    }
    // The next scan is for the lowest number that is left, if nothing was taken away since it was found.
    const bool took = wave[1] != load_relaxed(&s->gone_queue);
    store_relaxed(&s->phase, (u64)CORE_SCAN);
    store_relaxed(&s->gone, (u64)k);
    store_relaxed(&s->k, took ? (u64)k + 1 : load_relaxed(&s->lowest));
    store_relaxed(&s->gone_queue, wave[1]);
    store_relaxed(&s->lowest, (u64)NO_NODE);
    if (left == 0) store_relaxed(&s->done, (u64)1);
}
