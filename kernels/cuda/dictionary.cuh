// Dictionary encoding: equal values get the same index, counted from 0, and one row represents each index. Three steps:
// each row finds or claims a slot, slots are numbered, and rows get the number of their slot.
//
// A slot is one word, so that no thread waits for another. It has 24 bits of the hash of the value, and the 40-bit
// index of the row that claimed it. The value of that row represents the slot. Values with the same hash are compared
// with the value of that row. Linear probing; a value without a free slot within DICTIONARY_PROBES sets `overflow`, and
// the caller starts again with a larger table. Layout: `Values` has hash(row) and same(row, row): fixed-width values,
// or strings of Arrow. Up to 2^40 rows and 2^32 slots. Rows with a null get no index. Determinism: the numbering
// varies; which rows share an index does not.

enum : u64 { EMPTY_SLOT = ~0ull, ROW_BITS = 40 };
enum : u32 { DICTIONARY_PROBES = 512, NO_CODE = ~0u };

template <class T> struct FixedValues {
    const T* values;
    __device__ __forceinline__ u64 hash(u64 row) const { return mix((u64)values[row]); }
    __device__ __forceinline__ bool same(u64 a, u64 b) const { return values[a] == values[b]; }
};

// Arrow's strings and binaries: offsets of O (u32 or i64) into bytes.
template <class O> struct StringValues {
    const O* offsets;
    const u8* bytes;
    __device__ __forceinline__ u64 hash(u64 row) const {
        i64 at = offsets[row], end = offsets[row + 1];
        u64 hash = (u64)(end - at);
#pragma unroll 1
        for (; end - at >= 8; at += 8) {
            u64 word = 0;
#pragma unroll
            for (int i = 0; i < 8; i++) word |= (u64)bytes[at + i] << (8 * i);
            hash = mix(hash ^ word) + 0x9e3779b97f4a7c15ull;
        }
        u64 word = 0;
#pragma unroll 1
        for (int i = 0; at < end; at++, i += 8) word |= (u64)bytes[at] << i;
        return mix(hash ^ word);
    }
    __device__ __forceinline__ bool same(u64 a, u64 b) const {
        i64 at = offsets[a], other = offsets[b], length = offsets[a + 1] - at;
        if (offsets[b + 1] - other != length) return false;
#pragma unroll 1
        for (i64 i = 0; i < length; i++) {
            if (bytes[at + i] != bytes[other + i]) return false;
        }
        return true;
    }
};

// Writes the slot of each row into `codes`.
template <class VALUES>
__device__ __forceinline__ void dictionary_find(VALUES values, const u32* validity, u64 bit, u64 rows, u64* table, u64 slots, u32* codes,
                                                u32* overflow) {
#pragma unroll 1
    for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) {
        if (validity != nullptr && !is_valid(validity, bit + row)) {
            codes[row] = NO_CODE;
            continue;
        }
        u64 hash = values.hash(row);
        u64 mine = hash << ROW_BITS | row;
        u64 at = __umul64hi(hash, slots);
        bool found = false;
#pragma unroll 1
        for (u32 probe = 0; probe < DICTIONARY_PROBES && !found; probe++) {
            u64 there = load_relaxed(&table[at]);
            if (there == EMPTY_SLOT) there = atomicCAS(&table[at], (u64)EMPTY_SLOT, mine);
            u64 row_there = there & ((1ull << ROW_BITS) - 1);
            found = there == EMPTY_SLOT || (there >> ROW_BITS == mine >> ROW_BITS && values.same(row, row_there));
            if (found) codes[row] = (u32)at;
            else at = at + 1 == slots ? 0 : at + 1;
        }
        if (!found) {
            store_relaxed(overflow, 1u);
            return;
        }
    }
}

// Numbers the slots: writes the row that represents each index, and the index of each slot into the slot.
__device__ __forceinline__ void dictionary_number(u64* table, u64 slots, u64* count, u64* first_rows, u64 capacity) {
    extract<256, 4>(
        slots, count, [&](u64 at) { return table[at] != EMPTY_SLOT; },
        [&](u64 code, u64 at) {
            if (code < capacity) first_rows[code] = table[at] & ((1ull << ROW_BITS) - 1);
            table[at] = code;
        });
}

// From slots to indices. The index of a null is 0.
__device__ __forceinline__ void dictionary_codes(const u64* table, u64 rows, u32* codes) {
    for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) {
        u32 slot = codes[row];
        codes[row] = slot == NO_CODE ? 0u : (u32)table[slot];
    }
}
