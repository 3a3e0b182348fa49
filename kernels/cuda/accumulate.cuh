// Accumulators of a group: sum, count, minimum and maximum of one column. They are in a slot of 64-bit words in device
// memory, and in arrays in shared memory. Updates are atomic in both; a block merges its shared arrays into device
// memory once.
//
// WANT selects them, in the order of a slot. A group exists if its COUNT is above zero, or its ROWS, which includes
// nulls. Determinism: integers wrap and do not depend on the order; float sums vary in their last bits. Minimum and
// maximum are the total-order keys of prelude.cuh, as i64.

enum { ACC_SUM = 1, ACC_COUNT = 2, ACC_LOW = 4, ACC_HIGH = 8, ACC_ROWS = 16 };

constexpr int ones(int bits) { return bits == 0 ? 0 : (bits & 1) + ones(bits >> 1); }

__device__ __forceinline__ u64 sum_bits(f64 x) { return bits_of(x); }
__device__ __forceinline__ u64 sum_bits(i64 x) { return (u64)x; }
__device__ __forceinline__ u64 sum_bits(u64 x) { return x; }
__device__ __forceinline__ void add_sum(u64* to, f64 x) { atomicAdd((f64*)to, x); }
__device__ __forceinline__ void add_sum(u64* to, i64 x) { atomicAdd(to, (u64)x); }
__device__ __forceinline__ void add_sum(u64* to, u64 x) { atomicAdd(to, x); }
template <class S> __device__ __forceinline__ S sum_of_bits(u64 bits) { return (S)bits; }
template <> __device__ __forceinline__ f64 sum_of_bits<f64>(u64 bits) { return __longlong_as_double((i64)bits); }

// The accumulators of one group.
template <class V> struct Part {
    typename SumOf<V>::type sum;
    u64 count, rows;
    i64 low, high;

    __device__ __forceinline__ void clear() {
        sum = 0;
        count = rows = 0;
        low = Limits<i64>::high();
        high = Limits<i64>::low();
    }
    template <int WANT> __device__ __forceinline__ void add(V x, bool valid) {
        rows++;
        if (!valid) return;
        sum += (typename SumOf<V>::type)x;
        count++;
        if (WANT & (ACC_LOW | ACC_HIGH)) {
            i64 key = (i64)Order<V>::of(x);
            low = smaller(low, key);
            high = larger(high, key);
        }
    }
};

// A slot in device memory.
template <class V, int WANT> struct Slots {
    typedef typename SumOf<V>::type Sum;
    static constexpr int WORDS = ones(WANT);
    static constexpr int at(int which) { return ones(WANT & (which - 1)); }
    // The word that says whether the group exists.
    static constexpr int PRESENCE = at(WANT & ACC_ROWS ? ACC_ROWS : ACC_COUNT);

    static __device__ __forceinline__ void clear(u64* words) {
        if (WANT & ACC_SUM) words[at(ACC_SUM)] = 0;
        if (WANT & ACC_COUNT) words[at(ACC_COUNT)] = 0;
        if (WANT & ACC_LOW) words[at(ACC_LOW)] = (u64)Limits<i64>::high();
        if (WANT & ACC_HIGH) words[at(ACC_HIGH)] = (u64)Limits<i64>::low();
        if (WANT & ACC_ROWS) words[at(ACC_ROWS)] = 0;
    }
    static __device__ __forceinline__ void add(u64* words, V x, bool valid) {
        if (WANT & ACC_ROWS) atomicAdd(&words[at(ACC_ROWS)], 1ull);
        if (!valid) return;
        if (WANT & ACC_SUM) add_sum(&words[at(ACC_SUM)], (Sum)x);
        if (WANT & ACC_COUNT) atomicAdd(&words[at(ACC_COUNT)], 1ull);
        if (WANT & ACC_LOW) atomicMin((i64*)&words[at(ACC_LOW)], (i64)Order<V>::of(x));
        if (WANT & ACC_HIGH) atomicMax((i64*)&words[at(ACC_HIGH)], (i64)Order<V>::of(x));
    }
    static __device__ __forceinline__ void merge(u64* words, const Part<V>& part) {
        if (WANT & ACC_ROWS) atomicAdd(&words[at(ACC_ROWS)], part.rows);
        if (part.count == 0 && WANT & ACC_COUNT) return;
        if (WANT & ACC_SUM) add_sum(&words[at(ACC_SUM)], part.sum);
        if (WANT & ACC_COUNT) atomicAdd(&words[at(ACC_COUNT)], part.count);
        if (WANT & ACC_LOW) atomicMin((i64*)&words[at(ACC_LOW)], part.low);
        if (WANT & ACC_HIGH) atomicMax((i64*)&words[at(ACC_HIGH)], part.high);
    }
};

// Arrays in shared memory, one for each accumulator; the wide ones first.
template <class V, int WANT> struct SharedSlots {
    typedef typename SumOf<V>::type Sum;
    u64* sums;
    i64 *lows, *highs;
    u32 *counts, *rows;

    __device__ __forceinline__ SharedSlots(unsigned char* memory, u32 slots) {
        u64* wide = (u64*)memory;
        sums = wide;
        if (WANT & ACC_SUM) wide += slots;
        lows = (i64*)wide;
        if (WANT & ACC_LOW) wide += slots;
        highs = (i64*)wide;
        if (WANT & ACC_HIGH) wide += slots;
        counts = (u32*)wide;
        rows = counts + (WANT & ACC_COUNT ? slots : 0);
    }
    __device__ __forceinline__ void clear(u32 i) const {
        if (WANT & ACC_SUM) sums[i] = 0;
        if (WANT & ACC_LOW) lows[i] = Limits<i64>::high();
        if (WANT & ACC_HIGH) highs[i] = Limits<i64>::low();
        if (WANT & ACC_COUNT) counts[i] = 0;
        if (WANT & ACC_ROWS) rows[i] = 0;
    }
    __device__ __forceinline__ void add(u32 i, V x, bool valid) const {
        if (WANT & ACC_ROWS) atomicAdd(&rows[i], 1u);
        if (!valid) return;
        if (WANT & ACC_SUM) add_sum(&sums[i], (Sum)x);
        if (WANT & ACC_COUNT) atomicAdd(&counts[i], 1u);
        // Most values change neither: a load is cheaper than an atomic operation.
        if (WANT & ACC_LOW) {
            i64 key = (i64)Order<V>::of(x);
            if (key < peek(&lows[i])) atomicMin(&lows[i], key);
        }
        if (WANT & ACC_HIGH) {
            i64 key = (i64)Order<V>::of(x);
            if (key > peek(&highs[i])) atomicMax(&highs[i], key);
        }
    }
    // After a barrier: adds slot i to `part`.
    __device__ __forceinline__ void take(u32 i, Part<V>& part) const {
        if (WANT & ACC_SUM) part.sum += sum_of_bits<Sum>(sums[i]);
        if (WANT & ACC_LOW) part.low = smaller(part.low, lows[i]);
        if (WANT & ACC_HIGH) part.high = larger(part.high, highs[i]);
        if (WANT & ACC_COUNT) part.count += counts[i];
        if (WANT & ACC_ROWS) part.rows += rows[i];
    }
    static __device__ __forceinline__ bool is_there(const Part<V>& part) {
        return (WANT & ACC_ROWS ? part.rows : part.count) != 0;
    }
};

// Calls `write(group, slot)` for each used slot, with groups numbered from 0. The order is that of slots within a tile
// of THREADS x ITEMS; tiles are in no order. One atomic operation for each tile.
template <int THREADS, int ITEMS, class U, class W>
__device__ __forceinline__ void extract(u64 slots, u64* groups, U used, W write) {
    const u64 TILE = (u64)THREADS * ITEMS;
    __shared__ u32 used_by[THREADS / WARP];
    __shared__ u64 first_group;
    for (u64 tile = blockIdx.x; tile * TILE < slots; tile += gridDim.x) {
        u64 start = tile * TILE + (u64)warp_id() * WARP * ITEMS + lane_id();
        u32 words[ITEMS];
        u32 count = 0;
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            u64 at = start + (u64)i * WARP;
            words[i] = __ballot_sync(ALL_LANES, at < slots && used(at));
            count += __popc(words[i]);
        }
        if (lane_id() == 0) used_by[warp_id()] = count;
        __syncthreads();
        if (threadIdx.x == 0) {
            u32 all = 0;
            for (u32 w = 0; w < THREADS / WARP; w++) all += used_by[w];
            first_group = all == 0 ? 0 : atomicAdd(groups, (u64)all);
        }
        __syncthreads();
        u64 to = first_group;
        for (u32 w = 0; w < warp_id(); w++) to += used_by[w];
        u32 below = (1u << lane_id()) - 1;
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            if (words[i] >> lane_id() & 1) write(to + __popc(words[i] & below), start + (u64)i * WARP);
            to += __popc(words[i]);
        }
        __syncthreads();
    }
}
