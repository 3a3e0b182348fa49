// Stable radix sort of unsigned keys with their row numbers, a digit of 8 bits a pass, the least significant one first (onesweep: Adinets
// and Merrill 2022). The digits of all passes are counted before, so that a pass in which all keys have the same digit is left
// out; a pass reads and writes each key once, and knows where its tile's keys go by looking back over the tiles before.
//
// Where the upper digits tell nearly all keys apart, the passes of the lower ones are left out, too: runs of keys with the same upper
// bits that are not in order are marked and put in order one by one (as the local sorts of Stehle and Jacobsen 2017).
//
// Layout: keys of 32 or 64 bits; row numbers of 32 bits, which the first pass makes up, or values of 64. Determinism: the order is the only
// one possible. Bytes: 4 or 8 a key, with row numbers 4 more, with values 8, in and out, for each pass that is not left out.

enum : u32 { SORT_DIGITS = 256, LONGEST_RUN = 64 };

// `counts`: for each pass from FIRST to before LAST, how many keys have each digit; zero before.
template <class K, int FIRST, int LAST> __device__ __forceinline__ void sort_count(const K* keys, u64 rows, u64* counts) {
    constexpr u32 WORDS = (LAST - FIRST) * SORT_DIGITS;
    __shared__ u32 local[WORDS];
    for (u32 i = threadIdx.x; i < WORDS; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (u64 row = thread_in_grid(); row - lane_id() < rows; row += threads_in_grid()) {
        const bool there = row < rows;
        const K key = there ? keys[row] : (K)0;
        const u32 lanes = __ballot_sync(ALL_LANES, there);
#pragma unroll
        for (int pass = 0; pass < LAST - FIRST; pass++) {
            const u32 digit = (u32)(key >> (8 * (FIRST + pass))) & (SORT_DIGITS - 1);
            // Upper digits are often the same: one addition then, rather than 32 in a row.
            const u32 first = __shfl_sync(ALL_LANES, digit, 0);
            if (__all_sync(ALL_LANES, !there || digit == first)) {
                if (lane_id() == 0) atomicAdd(&local[pass * SORT_DIGITS + digit], (u32)__popc(lanes));
            } else if (there) {
                atomicAdd(&local[pass * SORT_DIGITS + digit], 1u);
            }
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < WORDS; i += blockDim.x) {
        if (local[i] != 0) atomicAdd(&counts[FIRST * SORT_DIGITS + i], (u64)local[i]);
    }
}

// Of the counts of each pass, how many keys have a lower digit: by a block of 256 threads for each pass.
__device__ __forceinline__ void sort_begins(u64* counts) {
    __shared__ u64 of_warp[SORT_DIGITS / WARP];
    u64* mine = counts + blockIdx.x * SORT_DIGITS + threadIdx.x;
    const u64 own = *mine;
    u64 sum = own;
    for (u32 by = 1; by < WARP; by *= 2) {
        const u64 lower = __shfl_up_sync(ALL_LANES, sum, by);
        if (lane_id() >= by) sum += lower;
    }
    if (lane_id() == WARP - 1) of_warp[warp_id()] = sum;
    __syncthreads();
    u64 before = sum - own;
    for (u32 w = 0; w < warp_id(); w++) before += of_warp[w];
    *mine = before;
}

// One pass by 256 threads a block, each of which is for one digit, too. `begins`: how many keys have a lower digit. `state`: a word for
// each digit of each tile, zero before, as the ticket is. What is CARRIED beside the keys are numbers of rows, which may be null for the first
// pass, or values of 64 bits, or nothing.
enum SortCarried { SORT_NOTHING, SORT_NUMBERS, SORT_VALUES };
template <class K, class N, int ITEMS, SortCarried CARRIED>
__device__ __forceinline__ void sort_pass(const K* keys, const N* numbers, K* keys_out, N* numbers_out, u64 rows, u32 shift,
                                          const u64* begins, u64* state, u32* ticket) {
    constexpr u32 WARPS = SORT_DIGITS / WARP, TILE = SORT_DIGITS * ITEMS;
    __shared__ u32 tile_number;
    __shared__ u16 by_warp[WARPS][SORT_DIGITS];
    __shared__ u32 starts[SORT_DIGITS];
    __shared__ u32 of_warp[WARPS];
    __shared__ u32 goes_to[SORT_DIGITS];
    __shared__ u64 both[TILE * (sizeof(K) > sizeof(N) ? sizeof(K) : sizeof(N)) / 8];
    K* moved = (K*)both;
    const u32 tile = next_tile(ticket, &tile_number);
    const u64 begin = (u64)tile * TILE;
    const u32 here = rows - begin < TILE ? (u32)(rows - begin) : TILE;
    const u32 warp = warp_id(), lane = lane_id();
    for (u32 d = lane; d < SORT_DIGITS; d += WARP) by_warp[warp][d] = 0;
    __syncwarp();

    K key[ITEMS];
    u32 place[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u32 at = warp * (WARP * ITEMS) + i * WARP + lane;
        // What is missing at the end of the last tile sorts behind all that is there.
        key[i] = at < here ? keys[begin + at] : (K) ~(K)0;
    }
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u32 digit = (u32)(key[i] >> shift) & (SORT_DIGITS - 1);
        const u32 peers = same_lanes<8>(digit);
        const u32 below = (u32)__popc(peers & ((1u << lane) - 1));
        const u32 before = by_warp[warp][digit];
        __syncwarp();
        if (below == 0) by_warp[warp][digit] = (u16)(before + (u32)__popc(peers));
        __syncwarp();
        place[i] = before + below;
    }
    __syncthreads();

    // From here on this thread is for the digit of its number.
    const u32 digit = threadIdx.x;
    u32 own = 0;
#pragma unroll
    for (u32 w = 0; w < WARPS; w++) {
        const u32 count = by_warp[w][digit];
        by_warp[w][digit] = (u16)own;
        own += count;
    }
    u64* mine = state + (u64)tile * SORT_DIGITS + digit;
    const u64 published = digit == SORT_DIGITS - 1 ? own - (TILE - here) : own;
    u64 before = 0;
    if (tile == 0) {
        store_relaxed(mine, LOOKBACK_ALL | published);
    } else {
        store_relaxed(mine, LOOKBACK_OWN | published);
    }
    u32 sum = own;
    for (u32 by = 1; by < WARP; by *= 2) {
        const u32 lower = __shfl_up_sync(ALL_LANES, sum, by);
        if (lane >= by) sum += lower;
    }
    if (lane == WARP - 1) of_warp[warp] = sum;
    __syncthreads();
    u32 start = sum - own;
    for (u32 w = 0; w < warp; w++) start += of_warp[w];
    if (tile != 0) {
        for (const u64* at = mine - SORT_DIGITS;; at -= SORT_DIGITS) {
            u64 word;
            while ((word = load_relaxed(at)) >> 62 == 0) __nanosleep(20);
            before += word & LOOKBACK_SUM;
            if (word >> 62 == 2) break;
        }
        store_relaxed(mine, LOOKBACK_ALL | (before + published));
    }
    starts[digit] = start;
    // Rows have numbers of 32 bits: what wraps here wraps back below.
    goes_to[digit] = (u32)(begins[digit] + before) - start;
    __syncthreads();

#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u32 d = (u32)(key[i] >> shift) & (SORT_DIGITS - 1);
        place[i] += starts[d] + by_warp[warp][d];
        moved[place[i]] = key[i];
    }
    // Only now, when the keys need no registers any more.
    N number[ITEMS];
    if (CARRIED != SORT_NOTHING) {
        const bool makes = CARRIED == SORT_NUMBERS && numbers == nullptr;
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            const u32 at = warp * (WARP * ITEMS) + i * WARP + lane;
            number[i] = at < here ? (makes ? (N)(begin + at) : numbers[begin + at]) : 0;
        }
    }
    __syncthreads();
    u32 to[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u32 at = i * SORT_DIGITS + threadIdx.x;
        const K k = moved[at];
        to[i] = goes_to[(u32)(k >> shift) & (SORT_DIGITS - 1)] + at;
        if (at < here) keys_out[to[i]] = k;
    }
    if (CARRIED == SORT_NOTHING) return;
    __syncthreads();
    N* moved_numbers = (N*)both;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) moved_numbers[place[i]] = number[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const u32 at = i * SORT_DIGITS + threadIdx.x;
        if (at < here) numbers_out[to[i]] = moved_numbers[at];
    }
}

// Of keys in the order of their bits from `shift` on: marks the first one of each run with the same such bits that is not in order.
template <class K>
__device__ __forceinline__ void sort_mark(const K* keys, u64 rows, u32 shift, u32* marks, u32* too_long) {
    for (u64 row = thread_in_grid() + 1; row < rows; row += threads_in_grid()) {
        const K key = keys[row];
        if (keys[row - 1] <= key) continue;
        u64 head = row - 1;
        while (head > 0 && keys[head - 1] >> shift == key >> shift && row - head <= LONGEST_RUN) head--;
        if (row - head > LONGEST_RUN) store_relaxed(too_long, 1u);
        atomicOr(&marks[head / 32], 1u << (head % 32));
    }
}

// Puts the marked runs in order, each by one thread. The caller begins again with all digits where one is too long for that. Behind its
// run a thread sees a key that another one may be moving; the upper bits, which it looks at, stay.
template <class K, bool NUMBERED>
__device__ __forceinline__ void sort_repair(K* keys, u32* numbers, u64 rows, u32 shift, const u32* marks, u32* too_long) {
    for (u64 word = thread_in_grid(); word * 32 < rows; word += threads_in_grid()) {
        for (u32 marked = marks[word]; marked != 0; marked &= marked - 1) {
            const u64 head = word * 32 + (u32)__ffs((i32)marked) - 1;
            const K bits = keys[head] >> shift;
            for (u64 at = head + 1; at < rows && load_relaxed(&keys[at]) >> shift == bits; at++) {
                if (at - head > LONGEST_RUN) {
                    store_relaxed(too_long, 1u);
                    break;
                }
                const K key = keys[at];
                u64 to = at;
                while (to > head && keys[to - 1] > key) to--;
                if (to == at) continue;
                const u32 number = NUMBERED ? numbers[at] : 0;
                for (u64 from = at; from > to; from--) {
                    store_relaxed(&keys[from], keys[from - 1]);
                    if (NUMBERED) numbers[from] = numbers[from - 1];
                }
                store_relaxed(&keys[to], key);
                if (NUMBERED) numbers[to] = number;
            }
        }
    }
}
