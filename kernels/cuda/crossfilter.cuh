// Passes over the slots of the rows of a dashboard: the filters that each row fails, and the rows of each slot of each
// view. Pairs of slots are for a brush (Falcon: Moritz, Howe and Heer, CHI 2019).
//
// Layout: a row's slot of a view is a u8 or u16 (or the sum of up to three of them, each with a factor). The mask has a
// u16 for each row, with a bit for each filter that the row fails. A view counts the rows that fail no filter but its
// own. Output: the rows of each slot, u64. Integers: the result is the same on every device. Counters are in shared
// memory, small views in several copies, so that lanes with equal slots seldom wait for each other. Bytes that must
// cross memory: the mask and the slots of each view once. So 1e9 rows of six views of a byte take 8 GB, 2.4 ms at 3.35
// TB/s.

// Rows of a thread: slots of a byte are read 16 at a time.
enum : u32 { CROSS_ROWS = 16, CROSS_GLOBAL = 0xffffffffu };

struct CrossAxis {
    u64 slots;   // of each row; 0: there are none
    u32 factor;
    u32 bytes;   // of a slot: 1 or 2
};

struct CrossView {
    CrossAxis axes[3];
    u64 first;   // of its counts
    u32 count;   // slots
    u32 own;     // bits that do not count
    u32 shared;  // first word of its counters in shared memory, or CROSS_GLOBAL
    u32 copies;  // a power of two
};

// Adds the slots of `count` rows from `row` on, which is a multiple of CROSS_ROWS. Rows behind them get nothing. Axes
// without slots are the last ones.
__device__ __forceinline__ void cross_add(const CrossAxis& axis, u64 row, u32 count, u32* slots) {
    if (axis.slots == 0) return;
    if (count < CROSS_ROWS) {
#pragma unroll
        for (u32 i = 0; i < CROSS_ROWS; i++) {
            if (i < count) {
                slots[i] += axis.factor * (axis.bytes == 1 ? (u32)((const u8*)axis.slots)[row + i] : (u32)((const u16*)axis.slots)[row + i]);
            }
        }
    } else if (axis.bytes == 1) {
        Pack<u8> pack = load_pack((const u8*)axis.slots + row);
#pragma unroll
        for (u32 i = 0; i < CROSS_ROWS; i++) slots[i] += axis.factor * pack.v[i];
    } else {
        Pack<u16> low = load_pack((const u16*)axis.slots + row), high = load_pack((const u16*)axis.slots + row + 8);
#pragma unroll
        for (u32 i = 0; i < CROSS_ROWS; i++) slots[i] += axis.factor * (i < 8 ? low.v[i % 8] : high.v[i % 8]);
    }
}

// The failed filters of 16 rows. Rows that are not there fail all.
__device__ __forceinline__ void cross_failed(const u16* failed, u32 bits, u64 row, u32 count, u32* out) {
#pragma unroll
    for (u32 i = 0; i < CROSS_ROWS; i++) out[i] = i < count ? 0 : 0xffffffffu;
    if (failed == nullptr) return;
    if (count < CROSS_ROWS) {
#pragma unroll
        for (u32 i = 0; i < CROSS_ROWS; i++) {
            if (i < count) out[i] = failed[row + i] & bits;
        }
    } else {
        Pack<u16> low = load_pack(failed + row), high = load_pack(failed + row + 8);
#pragma unroll
        for (u32 i = 0; i < CROSS_ROWS; i++) out[i] = (i < 8 ? low.v[i % 8] : high.v[i % 8]) & bits;
    }
}

__device__ __forceinline__ void cross_count(const CrossView* views, u32 view_count, const u16* failed, u32 bits, u64 rows, u32 words,
                                            u64* counts) {
    DYNAMIC_SHARED(memory);
    u32* local = (u32*)memory;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < words; i += blockDim.x) local[i] = 0;
    __syncthreads();
#pragma unroll 1
    for (u64 row = thread_in_grid() * CROSS_ROWS; row < rows; row += threads_in_grid() * CROSS_ROWS) {
        u32 count = (u32)smaller((u64)CROSS_ROWS, rows - row);
        u32 fails[CROSS_ROWS];
        cross_failed(failed, bits, row, count, fails);
#pragma unroll 1
        for (u32 v = 0; v < view_count; v++) {
            const CrossView& view = views[v];
            u32 slots[CROSS_ROWS];
#pragma unroll
            for (u32 i = 0; i < CROSS_ROWS; i++) slots[i] = 0;
            cross_add(view.axes[0], row, count, slots);
            if (view.axes[1].slots != 0) {
                cross_add(view.axes[1], row, count, slots);
                cross_add(view.axes[2], row, count, slots);
            }
            u32 others = ~view.own;
            if (view.shared == CROSS_GLOBAL) {
#pragma unroll
                for (u32 i = 0; i < CROSS_ROWS; i++) {
                    if ((fails[i] & others) == 0) atomicAdd(&counts[view.first + slots[i]], (u64)1);
                }
            } else {
                u32* own = local + view.shared + (lane_id() & (view.copies - 1));
                u32 copies = view.copies;
#pragma unroll
                // An add of 0 is faster than a branch.
                for (u32 i = 0; i < CROSS_ROWS; i++) atomicAdd(&own[slots[i] * copies], (fails[i] & others) == 0 ? 1u : 0u);
            }
        }
    }
    __syncthreads();
#pragma unroll 1
    for (u32 v = 0; v < view_count; v++) {
        const CrossView& view = views[v];
        if (view.shared == CROSS_GLOBAL) continue;
#pragma unroll 1
        for (u32 slot = threadIdx.x; slot < view.count; slot += blockDim.x) {
            u64 sum = 0;
#pragma unroll 1
            for (u32 copy = 0; copy < view.copies; copy++) sum += local[view.shared + slot * view.copies + copy];
            if (sum != 0) atomicAdd(&counts[view.first + slot], sum);
        }
    }
}

// Sets the bit for the rows whose slot the filter does not keep, and clears it for the others. `kept` has a byte for
// each slot; without it all rows are kept.
__device__ __forceinline__ void cross_mark(const CrossView* view, const u8* kept, u32 bit, u64 rows, u16* failed) {
#pragma unroll 1
    for (u64 row = thread_in_grid() * CROSS_ROWS; row < rows; row += threads_in_grid() * CROSS_ROWS) {
        u32 count = (u32)smaller((u64)CROSS_ROWS, rows - row);
        u32 fails[CROSS_ROWS], slots[CROSS_ROWS];
        cross_failed(failed, 0xffffu & ~bit, row, count, fails);
#pragma unroll
        for (u32 i = 0; i < CROSS_ROWS; i++) slots[i] = 0;
#pragma unroll 1
        for (u32 a = 0; a < 3; a++) cross_add(view->axes[a], row, count, slots);
        if (kept != nullptr) {
#pragma unroll
            for (u32 i = 0; i < CROSS_ROWS; i++) {
                if (i < count && kept[slots[i]] == 0) fails[i] |= bit;
            }
        }
        if (count == CROSS_ROWS) {
            Pack<u16> low, high;
#pragma unroll
            for (u32 i = 0; i < CROSS_ROWS; i++) (i < 8 ? low : high).v[i % 8] = (u16)fails[i];
            store_pack(failed + row, low);
            store_pack(failed + row + 8, high);
        } else {
#pragma unroll
            for (u32 i = 0; i < CROSS_ROWS; i++) {
                if (i < count) failed[row + i] = (u16)fails[i];
            }
        }
    }
}
