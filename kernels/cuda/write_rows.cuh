// Columns of all rows of a pipeline, or of the rows that pass a filter, in their order.

// Lane `k` of a warp gets the word of the bits of its lanes.
__device__ __forceinline__ void vote_word(u32& word, u32 k, bool bit) {
    const u32 votes = __ballot_sync(ALL_LANES, bit);
    if (lane_id() == k) word = votes;
}

// Writes all rows. A boolean, and the validity of a value, is a bit, BITS of them in a row.
// `each(k, row, columns, words)` writes row `k` of a thread, if there is one, and votes for the bits (`vote_word`).
// `put(word, words)` writes the words of 32 rows. The lanes of a warp have 32 adjacent rows, whose bits are one word.
// With bits, a warp has UNROLL adjacent words in flight and writes them together. Without bits, its rows are as far
// apart as those of the grid.
template <class Columns, int UNROLL, int BITS, class Load, class Each, class Put>
__device__ __forceinline__ void write_all_rows(u64 rows, Load load, Each each, Put put) {
    const u64 stride = BITS > 0 ? WARP : threads_in_grid();
    const u64 begin = BITS > 0 ? (thread_in_grid() - lane_id()) * UNROLL + lane_id() : thread_in_grid();
#pragma unroll 1
    for (u64 first = begin; first - lane_id() < rows; first += threads_in_grid() * UNROLL) {
        Columns loaded[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            const u64 row = first + k * stride;
            if (row < rows) load(row, loaded[k]);
        }
        u32 words[BITS + 1] = {};
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            each(k, first + k * stride, loaded[k], words);
        }
        if constexpr (BITS > 0) {
            const u64 word = first / 32 + lane_id();
            if (lane_id() < UNROLL && word * 32 < rows) put(word, words);
        }
    }
}

// Compacts the rows for which `passes(row, found)` is true, without the first `skip` of them, at most `limit`. A tile
// has THREADS x ITEMS rows. Rows are counted after all of a thread have been tested, so that many loads are in flight.
// `found` keeps the results of probes for `write(row, to, found)`. `count` becomes the number of rows that pass.
// `ticket` and `state` are those of lookback.cuh, zero before.
template <class ProbeResults, int THREADS, int ITEMS, int UNROLL, class Passes, class Write>
__device__ __forceinline__ void write_filtered_rows(u64 rows, u32* ticket, u64* state, u64* count, u64 skip, u64 limit,
                                                    Passes passes, Write write) {
    __shared__ u32 tile_number;
    __shared__ u32 kept_by[THREADS / WARP];
    __shared__ u64 before_tile;
    const u64 TILE = THREADS * ITEMS;
    const u32 tile = next_tile(ticket, &tile_number);
    const u64 first = tile * TILE + warp_id() * (WARP * ITEMS) + lane_id();
    ProbeResults found[ITEMS];
    u32 mine = 0, kept = 0;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const u64 row = first + k * (u64)WARP;
        if (row < rows) mine |= (u32)passes(row, found[k]) << k;
    }
    for (int k = 0; k < ITEMS; k++) kept += __popc(__ballot_sync(ALL_LANES, (mine >> k & 1) != 0));
    if (lane_id() == 0) kept_by[warp_id()] = kept;
    __syncthreads();
    if (warp_id() == 0) {
        u32 sum = lane_id() < THREADS / WARP ? kept_by[lane_id()] : 0;
        for (u32 by = 16; by > 0; by /= 2) sum += __shfl_down_sync(ALL_LANES, sum, by);
        sum = __shfl_sync(ALL_LANES, sum, 0);
        const u64 before = lookback(state, tile, sum);
        if (lane_id() == 0) {
            before_tile = before;
            if ((u64)(tile + 1) * TILE >= rows) *count = before + sum;
        }
    }
    __syncthreads();
    u64 base = before_tile;
    for (u32 w = 0; w < warp_id(); w++) base += kept_by[w];
    const u32 below = (1u << lane_id()) - 1;
#pragma unroll UNROLL
    for (int k = 0; k < ITEMS; k++) {
        const u32 mask = __ballot_sync(ALL_LANES, (mine >> k & 1) != 0);
        // For skipped rows this wraps to a position above any limit.
        const u64 to = base + __popc(mask & below) - skip;
        if ((mine >> k & 1) != 0 && to < limit) write(first + k * (u64)WARP, to, found[k]);
        base += __popc(mask);
    }
}
