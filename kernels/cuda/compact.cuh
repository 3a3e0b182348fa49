// Stream compaction in one pass: the values of the rows whose bit is set, in their order. The first column of a table computes the
// output offset of each tile and stores it for the other columns.
//
// Layout: a bitmap of rows to keep, 32-bit words from bit 0 on (bits past the last row may be anything); values of T at any aligned
// address. Output: values, the count, and the first output row of each tile. Scratch: a ticket and a word for each tile, zero before
// the launch. Tiles of THREADS x ITEMS rows. Deterministic.
// Bytes that must cross memory: a bit a row, and twice sizeof(T) for each row that is kept (whole 32-byte sectors when few are).

// Output positions of the kept rows of this warp's share of a tile. `words[i]` is the mask of round i, the same in all lanes.
template <int THREADS, int ITEMS>
__device__ __forceinline__ u32 compact_masks(const u32* keep, u64 first_row, u64 rows, u32 (&words)[ITEMS]) {
    u32 kept = 0;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        u64 row = first_row + (u64)i * WARP;
        u32 word = 0;
        if (row < rows) {
            word = keep[row / 32];
            if (rows - row < 32) word &= (1u << (rows - row)) - 1;
        }
        words[i] = word;
        kept += __popc(word);
    }
    return kept;
}

template <class T, int ITEMS>
__device__ __forceinline__ void compact_copy(const T* values, u64 first_row, const u32 (&words)[ITEMS], u64 to, T* out) {
    u32 below = (1u << lane_id()) - 1;
    T x[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        if (words[i] >> lane_id() & 1) x[i] = values[first_row + (u64)i * WARP + lane_id()];
    }
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        if (words[i] >> lane_id() & 1) out[to + __popc(words[i] & below)] = x[i];
        to += __popc(words[i]);
    }
}

// `offsets` has one entry more than there are tiles; the last is the count. `values` may be null: then only the offsets are
// computed.
template <class T, int THREADS, int ITEMS>
__device__ __forceinline__ void compact(const T* values, const u32* keep, u64 rows, u32* ticket, u64* state, u64* offsets, T* out) {
    const u64 WARP_ROWS = (u64)WARP * ITEMS;
    const u64 TILE = WARP_ROWS * (THREADS / WARP);
    __shared__ u32 tile_number;
    __shared__ u32 kept_by[THREADS / WARP];
    __shared__ u64 before_tile;
    u32 tile = next_tile(ticket, &tile_number);
    u64 first_row = (u64)tile * TILE + warp_id() * WARP_ROWS;
    u32 words[ITEMS];
    u32 kept = compact_masks<THREADS>(keep, first_row, rows, words);
    if (lane_id() == 0) kept_by[warp_id()] = kept;
    __syncthreads();
    if (warp_id() == 0) {
        u32 sum = lane_id() < THREADS / WARP ? kept_by[lane_id()] : 0;
        for (u32 by = 16; by > 0; by /= 2) sum += __shfl_down_sync(ALL_LANES, sum, by);
        sum = __shfl_sync(ALL_LANES, sum, 0);
        u64 before = lookback(state, tile, sum);
        if (lane_id() == 0) {
            before_tile = before;
            offsets[tile] = before;
            if ((u64)(tile + 1) * TILE >= rows) offsets[tile + 1] = before + sum;
        }
    }
    __syncthreads();
    u64 to = before_tile;
    for (u32 w = 0; w < warp_id(); w++) to += kept_by[w];
    if (values != nullptr) compact_copy(values, first_row, words, to, out);
}

// Another column of the same table, with the offsets that `compact` computed.
template <class T, int THREADS, int ITEMS>
__device__ __forceinline__ void compact_more(const T* values, const u32* keep, u64 rows, const u64* offsets, T* out) {
    const u64 WARP_ROWS = (u64)WARP * ITEMS;
    const u64 TILE = WARP_ROWS * (THREADS / WARP);
    __shared__ u32 kept_by[THREADS / WARP];
    u64 first_row = (u64)blockIdx.x * TILE + warp_id() * WARP_ROWS;
    u32 words[ITEMS];
    u32 kept = compact_masks<THREADS>(keep, first_row, rows, words);
    if (lane_id() == 0) kept_by[warp_id()] = kept;
    __syncthreads();
    u64 to = offsets[blockIdx.x];
    for (u32 w = 0; w < warp_id(); w++) to += kept_by[w];
    compact_copy(values, first_row, words, to, out);
}
