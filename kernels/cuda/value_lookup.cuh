// The position of a value in an array of distinct integers: an open-addressing table of positions with linear probing.
// An entry is a position plus one, 0 if it is empty. At most half of the slots are used.

template <class V> __device__ __forceinline__ void lookup_fill(const V* values, u64 entries, u32* table, u64 slots) {
    for (u64 number = thread_in_grid(); number < entries; number += threads_in_grid()) {
        u64 at = mix((u64)(i64)values[number]) % slots;
        while (atomicCAS(&table[at], 0u, (u32)number + 1) != 0) at = at + 1 == slots ? 0 : at + 1;
    }
}

// Writes the position of each key, and whether there is one (a bitmap). A null key, and one that is not among the
// values, gets position 0 and a null. `missing` counts them, and is zero before.
template <class K, class V>
__device__ __forceinline__ void lookup_rows(const K* keys, const u32* validity, u64 rows, const V* values,
                                            const u32* table, u64 slots, u32* numbers, u32* there, u64* missing) {
    u32 lost = 0;
    const u64 end = (rows + WARP - 1) / WARP * WARP;
    for (u64 row = thread_in_grid(); row < end; row += threads_in_grid()) {
        u32 number = 0;
        if (row < rows && (validity == nullptr || is_valid(validity, row))) {
            const i64 key = (i64)keys[row];
            u64 at = mix((u64)key) % slots;
            while ((number = table[at]) != 0 && (i64)values[number - 1] != key) at = at + 1 == slots ? 0 : at + 1;
        }
        const u32 found = __ballot_sync(ALL_LANES, number != 0);
        if (lane_id() == 0) there[row / WARP] = found;
        if (row < rows) {
            numbers[row] = number == 0 ? 0 : number - 1;
            lost += number == 0;
        }
    }
    if (lost != 0) atomicAdd(missing, (u64)lost);
}
