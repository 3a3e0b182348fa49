// Joins with duplicate keys. Build rows are sorted by slot. A slot holds its run in a word: the begin of its rows in
// the lower half, their end in the upper half. The run of a probe row has the number of rows in the upper half.

// `slots` are the sorted slots of the build rows; `last` and above is no slot. Word WORD of each slot of STRIDE words
// gets the run. `duplicates` is set if a run has several rows. The first row of a run looks for its end in steps that
// double (exponential search). A word is then written at once, and a long run is not the work of one thread.
template <int STRIDE, int WORD>
__device__ __forceinline__ void join_write_runs(const u32* slots, u64 rows, u32 last, u64* table, u32* duplicates) {
    bool several = false;
    for (u64 i = thread_in_grid(); i < rows; i += threads_in_grid()) {
        const u32 slot = slots[i];
        if (slot >= last || (i > 0 && slots[i - 1] == slot)) continue;
        u64 end = i + 1, step = 1;
        while (end < rows && slots[end] == slot) {
            end += step;
            step *= 2;
        }
        if (step > 1) {
            several = true;
            u64 low = end - step / 2 + 1;
            if (end > rows) end = rows;
            while (low < end) {
                const u64 middle = (low + end) / 2;
                if (slots[middle] == slot) low = middle + 1;
                else end = middle;
            }
        }
        table[(u64)slot * STRIDE + WORD] = end << 32 | i;
    }
    if (several) store_relaxed(duplicates, 1u);
}

// Slots get the first row of their run instead, plus one.
template <int STRIDE, int WORD>
__device__ __forceinline__ void join_write_first_rows(const u32* slots, u64 rows, u32 last, u64* table,
                                                      const u32* order) {
    for (u64 i = thread_in_grid(); i < rows; i += threads_in_grid()) {
        const u32 slot = slots[i];
        if (slot >= last || (i > 0 && slots[i - 1] == slot)) continue;
        table[(u64)slot * STRIDE + WORD] = (u64)order[i] + 1;
    }
}

// Counts pairs. `run_of(row, from, many)` gives the first position of a row's run and its number of pairs. `count` is
// zero before.
template <class RunOf> __device__ __forceinline__ void join_count_pairs(u64 rows, u64* runs, u64* count, RunOf run_of) {
    u64 sum = 0;
#pragma unroll 1
    for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) {
        u32 from = 0, many = 0;
        run_of(row, from, many);
        runs[row] = (u64)many << 32 | from;
        sum += many;
    }
    for (u32 by = 16; by > 0; by /= 2) sum += __shfl_down_sync(ALL_LANES, sum, by);
    if (lane_id() == 0 && sum != 0) atomicAdd(count, sum);
}

// Load-balanced expansion: the threads of a tile of THREADS x ITEMS rows share its pairs. A row with many pairs is then
// not the work of one thread. Up to MARKED pairs of a tile are marked with their row. With more pairs, each of them
// finds its row by binary search. `each(row, found, to)` is called with the row, its match and the position of the
// pair. `found` is ~0u for a row that stays without a match. Runs are positions of build rows if they are ORDERED, and
// else of `order`. `ticket` and `state` are those of lookback.cuh, zero before.
template <int THREADS, int ITEMS, int MARKED, bool ORDERED, class Each>
__device__ __forceinline__ void join_expand(u64 rows, u32* ticket, u64* state, const u64* __restrict__ runs,
                                            const u32* __restrict__ order, Each each) {
    const u32 ROWS = THREADS * ITEMS;
    __shared__ u32 tile_number;
    __shared__ u64 of_warp[THREADS / WARP];
    __shared__ u64 before_tile;
    __shared__ u64 ends[ROWS];
    __shared__ u32 starts[ROWS];
    __shared__ u16 marks[MARKED];
    const u32 tile = next_tile(ticket, &tile_number);
    u64 mine = 0;
#pragma unroll 1
    for (u32 i = 0; i < ITEMS; i++) {
        const u32 at = threadIdx.x * ITEMS + i;
        const u64 row = (u64)tile * ROWS + at;
        const u64 run = row < rows ? runs[row] : 0;
        mine += run >> 32;
        starts[at] = (u32)run;
        ends[at] = mine;
    }
    u64 sum = mine;
    for (u32 by = 1; by < WARP; by *= 2) {
        const u64 below = __shfl_up_sync(ALL_LANES, sum, by);
        if (lane_id() >= by) sum += below;
    }
    if (lane_id() == WARP - 1) of_warp[warp_id()] = sum;
    __syncthreads();
    u64 base = sum - mine, total = 0;
    for (u32 w = 0; w < THREADS / WARP; w++) {
        if (w < warp_id()) base += of_warp[w];
        total += of_warp[w];
    }
    for (u32 i = 0; i < ITEMS; i++) ends[threadIdx.x * ITEMS + i] += base;
    if (warp_id() == 0) {
        const u64 before = lookback(state, tile, total);
        if (lane_id() == 0) before_tile = before;
    }
    if (total <= MARKED) {
        u32 k = (u32)base;
        for (u32 i = 0; i < ITEMS; i++) {
            const u32 at = threadIdx.x * ITEMS + i;
            for (; k < (u32)ends[at]; k++) marks[k] = (u16)at;
        }
    }
    __syncthreads();
#pragma unroll 1
    for (u64 k = threadIdx.x; k < total; k += THREADS) {
        u32 low = 0, high = ROWS - 1;
        if (total <= MARKED) low = high = marks[k];
        while (low < high) {
            const u32 middle = (low + high) / 2;
            if (ends[middle] > k) high = middle;
            else low = middle + 1;
        }
        const u64 first = low == 0 ? 0 : ends[low - 1];
        u32 found = ~0u;
        if (starts[low] != ~0u) {
            found = starts[low] + (u32)(k - first);
            if constexpr (!ORDERED) found = order[found];
        }
        each((u64)tile * ROWS + low, found, before_tile + k);
    }
}

// The rows of a build side without a match: `left` is 1 for each of them.
__device__ __forceinline__ void join_mark_all(u32* left, u64 rows) {
    for (u64 i = thread_in_grid(); i < rows; i += threads_in_grid()) left[i] = 1;
}
__device__ __forceinline__ void join_unmark_matched(const u32* found, u64 pairs, u32* left) {
    for (u64 i = thread_in_grid(); i < pairs; i += threads_in_grid()) {
        if (found[i] != ~0u) store_relaxed(left + found[i], 0u);
    }
}
// Writes a pair without a probe row for each of them, at its inclusive running count in `places`.
__device__ __forceinline__ void join_append_left(const u32* left, const u64* places, u64 rows, u32* source,
                                                 u32* found) {
    for (u64 i = thread_in_grid(); i < rows; i += threads_in_grid()) {
        if (left[i] == 0) continue;
        source[places[i] - 1] = ~0u;
        found[places[i] - 1] = (u32)i;
    }
}
