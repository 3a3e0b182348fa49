// Lists as slices of a column that holds their elements, contiguous or not.
//
// Layout: 64 bits for each list, its offset in the upper half and its length in the lower one. A null has a validity
// bit, and any slice. The column of the elements has fewer than 2^32 rows. `list_spread` gives for each exploded row
// its source row and its element index in that row. Deterministic. Bytes: two words of 32 bits for each output row, and
// the ends once.

__device__ __forceinline__ u64 list_begin(u64 list) { return list >> 32; }
__device__ __forceinline__ u32 list_length(u64 list) { return (u32)list; }
__device__ __forceinline__ u64 list_of(u64 begin, u64 length) { return begin << 32 | (u32)length; }

// The row of an element by its number from 1 on, or from the end if negative; all bits set if there is none.
__device__ __forceinline__ u64 list_place(u64 list, i64 number) {
    const i64 length = list_length(list);
    const i64 place = number > 0 ? number - 1 : number < 0 && number >= -length ? length + number : length;
    return place < length ? list_begin(list) + (u64)place : ~0ull;
}

// The elements between two numbers, both counted from 1 on or from the end if negative, in which case the second one is
// exclusive.
__device__ __forceinline__ u64 list_slice(u64 list, i64 from, i64 to) {
    const i64 length = list_length(list);
    const i64 first = from < -length ? 0 : from < 0 ? from + length : from > 0 ? from - 1 : 0;
    const i64 last = to < 0 ? to + length : to < length ? to - 1 : length - 1;
    return last < first ? list_of(list_begin(list), 0) : list_of(list_begin(list) + (u64)first, (u64)(last - first + 1));
}

// The last row from `low` to `high` that begins at `at` or before. It is the only one there that is not empty.
__device__ __forceinline__ u64 list_row(const u64* begins, u64 low, u64 high, u64 at) {
    while (low < high) {
        const u64 middle = (low + high + 1) / 2;
        if (begins[middle] <= at) low = middle;
        else high = middle - 1;
    }
    return low;
}

// `begins` of each row, and `total` at the end. The lanes of a warp search among the few rows between those of its
// first and its last lane.
__device__ __forceinline__ void list_spread(const u64* begins, u64 rows, u64 total, u32* of_row, u32* places) {
    for (u64 at = thread_in_grid(); at - lane_id() < total; at += threads_in_grid()) {
        const u64 first = at - lane_id(), last = first + WARP < total ? first + WARP - 1 : total - 1;
        const u64 low = list_row(begins, 0, rows - 1, first), high = list_row(begins, low, rows - 1, last);
        if (at < total) {
            const u64 row = list_row(begins, low, high, at);
            of_row[at] = (u32)row;
            places[at] = (u32)(at - begins[row]);
        }
    }
}

// Makes lists contiguous in the order of their rows; `begins` also distinguishes a null from the next row. Notes
// whether an element moves.
__device__ __forceinline__ void list_settle(const u64* lists, u64 rows, const u64* begins, u64* settled, u64* moved) {
    for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) {
        const u64 length = begins[row + 1] - begins[row];
        settled[row] = list_of(begins[row], length);
        if (length != 0 && list_begin(lists[row]) != begins[row]) *(volatile u64*)moved = 1;
    }
}
