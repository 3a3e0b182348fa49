// Windows over a table that is sorted by PARTITION BY and ORDER BY. Partition and peer boundaries are written first.
// Running aggregates are a segmented scan, sliding frames read block aggregates.
//
// The scan reads rows twice (tiles, totals of tiles, tiles again), and no block waits for another block. Generated code
// describes the accumulators by a structure `Totals` with clear and merge, its size a multiple of 8 bytes. `ids` has
// the number of a row's partition in the lower half, that of its peers in the upper half, both from 1 on. A scan can
// run BACKWARDS, from the last row to the first: partitions begin at their ends.

// The first row of each partition and of each group of peers; behind the last one the number of rows.
__device__ __forceinline__ void window_write_starts(const u64* ids, u64 rows, u32* starts, u32* peers) {
    for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) {
        const u64 id = ids[row], before = row == 0 ? 0 : ids[row - 1];
        if ((u32)id != (u32)before) starts[(u32)id - 1] = (u32)row;
        if (id >> 32 != before >> 32) peers[(id >> 32) - 1] = (u32)row;
        if (row + 1 == rows) {
            starts[(u32)id] = (u32)rows;
            peers[id >> 32] = (u32)rows;
        }
    }
}

// A segmented scan across the threads of a block (Hillis and Steele 1986). `t` and `reset` become the totals up to the
// thread, and whether a partition begins there; `earlier` and `earlier_reset` are those before the thread.
template <class Totals>
__device__ __forceinline__ void window_scan(Totals* parts, u32* begins, Totals& t, u32& reset, Totals& earlier,
                                            u32& earlier_reset) {
    const u32 me = threadIdx.x;
    parts[me] = t;
    begins[me] = reset;
    __syncthreads();
    for (u32 by = 1; by < blockDim.x; by *= 2) {
        Totals left;
        u32 left_reset = 0;
        if (me >= by) {
            left = parts[me - by];
            left_reset = begins[me - by];
        }
        __syncthreads();
        if (me >= by) {
            if (reset == 0) {
                left.merge(t);
                t = left;
            }
            reset |= left_reset;
            parts[me] = t;
            begins[me] = reset;
        }
        __syncthreads();
    }
    earlier.clear();
    earlier_reset = 0;
    if (me > 0) {
        earlier = parts[me - 1];
        earlier_reset = begins[me - 1];
    }
}

template <bool BACKWARDS> __device__ __forceinline__ u64 window_row(u64 at, u64 rows) {
    return BACKWARDS ? rows - 1 - at : at;
}

// Adds ITEMS rows of a thread, from position `first` on. `add(row, t)` adds a row; `keep(i, t)` is called behind it.
template <int ITEMS, int UNROLL, bool BACKWARDS, class Totals, class Add, class Keep>
__device__ __forceinline__ void window_add_rows(const u64* __restrict__ ids, u64 rows, u64 first, Totals& t, u32& reset,
                                                Add add, Keep keep) {
#pragma unroll UNROLL
    for (u32 i = 0; i < ITEMS; i++) {
        const u64 at = first + i;
        if (at < rows) {
            const u64 row = window_row<BACKWARDS>(at, rows);
            if (at == 0 || (u32)ids[row] != (u32)ids[BACKWARDS ? row + 1 : row - 1]) {
                t.clear();
                reset = 1;
            }
            add(row, t);
            keep(i, t);
        }
    }
}

// The total of each tile, and whether a partition begins in the tile.
template <class Totals, int THREADS, int ITEMS, bool BACKWARDS, class Add>
__device__ __forceinline__ void window_scan_tiles(const u64* __restrict__ ids, u64 rows, Totals* totals, u32* resets,
                                                  Add add) {
    __shared__ __align__(16) u64 shared[THREADS * sizeof(Totals) / 8];
    __shared__ u32 begins[THREADS];
    const u64 first = (u64)blockIdx.x * (THREADS * ITEMS) + threadIdx.x * ITEMS;
    Totals t, earlier;
    t.clear();
    u32 reset = 0, earlier_reset;
    window_add_rows<ITEMS, 1, BACKWARDS>(ids, rows, first, t, reset, add, [](u32, const Totals&) ROW_CODE {});
    window_scan((Totals*)shared, begins, t, reset, earlier, earlier_reset);
    if (threadIdx.x == THREADS - 1) {
        totals[blockIdx.x] = t;
        resets[blockIdx.x] = reset;
    }
}

// The totals before each tile, by one block.
template <class Totals, int THREADS>
__device__ __forceinline__ void window_scan_totals(const Totals* totals, Totals* before, const u32* resets, u64 tiles) {
    __shared__ Totals parts[THREADS];
    __shared__ u32 begins[THREADS];
    __shared__ Totals carried;
    if (threadIdx.x == 0) carried.clear();
    __syncthreads();
#pragma unroll 1
    for (u64 first = 0; first < tiles; first += THREADS) {
        const u64 tile = first + threadIdx.x;
        Totals t, earlier;
        t.clear();
        u32 reset = 0, earlier_reset;
        if (tile < tiles) {
            t = totals[tile];
            reset = resets[tile];
        }
        window_scan(parts, begins, t, reset, earlier, earlier_reset);
        Totals whole = carried;
        if (tile < tiles) {
            if (earlier_reset == 0) {
                Totals left = whole;
                left.merge(earlier);
                earlier = left;
            }
            before[tile] = earlier;
        }
        __syncthreads();
        if (threadIdx.x == THREADS - 1) {
            if (reset == 0) {
                whole.merge(t);
                t = whole;
            }
            carried = t;
        }
        __syncthreads();
    }
}

// Writes a column of a tile. The rows of a thread are adjacent: a warp that wrote one row of each thread would write a
// part of many lines. The values therefore go through shared memory, with one word of padding for each thread
// against bank conflicts. `value(i)` is the value of row `i` of the thread.
template <int THREADS, int ITEMS, bool BACKWARDS, class T, class Value>
__device__ __forceinline__ void window_write_tile(u64* shared, u64 rows, u64 first, T* __restrict__ to, Value value) {
    const u64 TILE = THREADS * ITEMS;
    const u32 APART = ITEMS + 1;
    T* const stage = (T*)shared;
    __syncthreads();
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
        if (first + i < rows) stage[threadIdx.x * APART + i] = value(i);
    }
    __syncthreads();
#pragma unroll
    for (u32 i = threadIdx.x; i < TILE; i += THREADS) {
        const u64 at = (u64)blockIdx.x * TILE + i;
        if (at < rows) to[window_row<BACKWARDS>(at, rows)] = stage[i / ITEMS * APART + i % ITEMS];
    }
}

// The running values of each row, from the totals before each tile. `keep(t, kept)` copies the values of a row, and
// `write(shared, first, kept)` writes the columns of a tile by window_write_tile, with WORDS words of shared memory.
template <class Totals, class RunningValues, int THREADS, int ITEMS, int WORDS, bool BACKWARDS, class Add, class Keep,
          class Write>
__device__ __forceinline__ void window_scan_rows(const u64* __restrict__ ids, u64 rows, const Totals* before, Add add,
                                                 Keep keep, Write write) {
    __shared__ __align__(16) u64 shared[WORDS];
    __shared__ u32 begins[THREADS];
    const u64 first = (u64)blockIdx.x * (THREADS * ITEMS) + threadIdx.x * ITEMS;
    Totals t, earlier;
    t.clear();
    u32 reset = 0, earlier_reset;
    window_add_rows<ITEMS, 1, BACKWARDS>(ids, rows, first, t, reset, add, [](u32, const Totals&) ROW_CODE {});
    window_scan((Totals*)shared, begins, t, reset, earlier, earlier_reset);
    t = earlier;
    if (earlier_reset == 0) {
        t = before[blockIdx.x];
        t.merge(earlier);
    }
    RunningValues kept[ITEMS];
    window_add_rows<ITEMS, ITEMS, BACKWARDS>(ids, rows, first, t, reset, add,
                                             [&](u32 i, const Totals& t) ROW_CODE { keep(t, kept[i]); });
    write(shared, first, kept);
}

// Block aggregates with fan-out FANOUT. The lowest level aggregates rows, each other level aggregates blocks of the
// level below it and lies behind that level. Rows and blocks beyond the last full block are in none.
template <class Block, int FANOUT, class Add>
__device__ __forceinline__ void window_write_blocks(u64 rows, Block* blocks, Add add) {
#pragma unroll 1
    for (u64 block = thread_in_grid(); block < rows / FANOUT; block += threads_in_grid()) {
        Block t;
        t.clear();
#pragma unroll 4
        for (u32 i = 0; i < FANOUT; i++) add(block * FANOUT + i, t);
        blocks[block] = t;
    }
}
// A level of `count` blocks from the level of `shorter` blocks that begins at `below`.
template <class Block, int FANOUT>
__device__ __forceinline__ void window_write_level(Block* blocks, u64 below, u64 shorter, u64 count) {
#pragma unroll 1
    for (u64 block = thread_in_grid(); block < count; block += threads_in_grid()) {
        Block t;
        t.clear();
#pragma unroll 4
        for (u32 i = 0; i < FANOUT; i++) t.merge(blocks[below + block * FANOUT + i]);
        blocks[below + shorter + block] = t;
    }
}

// Visits a frame, the rows `from` to before `to`. Rows at both ends that are in no full block of the frame are first.
// Then come the blocks of each level that are in no full block of the next level, less than two times FANOUT of them.
template <int FANOUT, class Row, class Block>
__device__ __forceinline__ void window_visit_frame(u64 from, u64 to, u64 rows, Row row, Block block) {
    // Blocks end at multiples of FANOUT; the next one of a frame is at its begin or at its end.
    while (from < to && (from % FANOUT != 0 || to % FANOUT != 0)) row(from % FANOUT != 0 ? from++ : --to);
    u64 first = 0, count = 0, below = rows;
    while (from < to) {
        first += count;
        below /= FANOUT;
        count = below;
        from /= FANOUT;
        to /= FANOUT;
        while (from < to && (from % FANOUT != 0 || to % FANOUT != 0)) {
            block(first + (from % FANOUT != 0 ? from++ : --to));
        }
    }
}
