// Concatenation of columns: each function appends one part.

// Appends `rows` bits, at bit `at`: those of `from`, or ONES. `to` is zero there before. Neighbouring parts share a
// word.
template <bool ONES> __device__ __forceinline__ void concat_bitmap(const u32* from, u64 rows, u32* to, u64 at) {
    const u64 words = (rows + 31) / 32;
    for (u64 i = thread_in_grid(); i < words; i += threads_in_grid()) {
        u32 word = ONES ? ~0u : from[i];
        if (i + 1 == words && rows % 32 != 0) word &= (1u << (rows % 32)) - 1;
        const u64 first = at + 32 * i;
        const u32 shift = (u32)(first % 32);
        if (word << shift != 0) atomicOr(&to[first / 32], word << shift);
        if (shift != 0 && word >> (32 - shift) != 0) atomicOr(&to[first / 32 + 1], word >> (32 - shift));
    }
}

// Values of another type, moved by `by`.
template <class From, class To, class By>
__device__ __forceinline__ void concat_moved(const From* from, u64 rows, To* to, By by) {
    for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) to[row] = (To)(from[row] + by);
}

// Dictionary indices, as indices of the merged dictionary: index `i` becomes `places[i]`. An index that is not below
// `count`, as a null may have, becomes 0.
template <class From>
__device__ __forceinline__ void concat_indices(const From* from, u64 rows, u32* to, const u32* places, u32 count) {
    for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) {
        const u32 index = from[row];
        to[row] = index < count ? places[index] : 0;
    }
}
