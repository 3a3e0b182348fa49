// Lists as pieces of a column that holds their elements, one list behind the other or not.
//
// Layout: 64 bits a list, where it begins in the upper half and how many elements it has in the lower one; a row without a list has a
// bitmap beside it, and any piece. The column of the elements has fewer than 2^32 rows. `list_spread` says of each of the rows that others
// become, whose ends are known, which row it comes from and its number among those of that row. Deterministic.
// Bytes: two words of 32 bits for each row that comes out, and the ends once.

__device__ __forceinline__ u64 list_begin(u64 list) { return list >> 32; }
__device__ __forceinline__ u32 list_length(u64 list) { return (u32)list; }
__device__ __forceinline__ u64 list_of(u64 begin, u64 length) { return begin << 32 | (u32)length; }

// The row of the element of a number from 1 on, or from the end below it; all bits set where there is none.
__device__ __forceinline__ u64 list_place(u64 list, i64 number) {
    const i64 length = list_length(list);
    const i64 place = number > 0 ? number - 1 : number < 0 && number >= -length ? length + number : length;
    return place < length ? list_begin(list) + (u64)place : ~0ull;
}

// The elements from one number to another one, both counted from 1 on or from the end below it, of which the latter is left out then.
__device__ __forceinline__ u64 list_slice(u64 list, i64 from, i64 to) {
    const i64 length = list_length(list);
    const i64 first = from < -length ? 0 : from < 0 ? from + length : from > 0 ? from - 1 : 0;
    const i64 last = to < 0 ? to + length : to < length ? to - 1 : length - 1;
    return last < first ? list_of(list_begin(list), 0) : list_of(list_begin(list) + (u64)first, (u64)(last - first + 1));
}

// The last of the rows from `low` to `high` that begins at `at` or before: of those that begin there, the only one that is not empty.
__device__ __forceinline__ u64 list_row(const u64* begins, u64 low, u64 high, u64 at) {
    while (low < high) {
        const u64 middle = (low + high + 1) / 2;
        if (begins[middle] <= at) low = middle;
        else high = middle - 1;
    }
    return low;
}

// `begins` of each row, and behind the last one `total`. The lanes of a warp look among the few rows that its first and its last one found.
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

// Lists one behind the other, in the order of their rows; `begins` of each row tells a row without a list, too, from the next one's. Notes
// whether an element moves.
__device__ __forceinline__ void list_settle(const u64* lists, u64 rows, const u64* begins, u64* settled, u64* moved) {
    for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) {
        const u64 length = begins[row + 1] - begins[row];
        settled[row] = list_of(begins[row], length);
        if (length != 0 && list_begin(lists[row]) != begins[row]) *(volatile u64*)moved = 1;
    }
}
