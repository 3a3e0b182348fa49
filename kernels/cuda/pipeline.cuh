// Building blocks of generated pipelines: arithmetic with the rules of Arrow, conversions, and accumulators with their
// reduction across a block and a grid. Also a hash table for keys of several words.
//
// Integers wrap. An error of Arrow sets a flag instead, and the caller lets the CPU report the error. Floats compare in
// the order of Arrow, except for the zeros, which are one value in SQL. Determinism: as reduce.cuh and hash_group.cuh.

template <int BYTES> struct CarrierOf { typedef u32 type; };
template <> struct CarrierOf<8> { typedef u64 type; };
template <> struct CarrierOf<16> { typedef u128 type; };
template <class T> struct Carrier { typedef typename CarrierOf<sizeof(T)>::type type; };

template <class T> struct IsFloat { static constexpr bool value = false; };
template <> struct IsFloat<f32> { static constexpr bool value = true; };
template <> struct IsFloat<f64> { static constexpr bool value = true; };

template <class T> __device__ __forceinline__ T plus(T a, T b) {
    if constexpr (IsFloat<T>::value) return a + b;
    else return (T)((typename Carrier<T>::type)a + (typename Carrier<T>::type)b);
}
template <class T> __device__ __forceinline__ T minus(T a, T b) {
    if constexpr (IsFloat<T>::value) return a - b;
    else return (T)((typename Carrier<T>::type)a - (typename Carrier<T>::type)b);
}
template <class T> __device__ __forceinline__ T times(T a, T b) {
    if constexpr (IsFloat<T>::value) return a * b;
    else return (T)((typename Carrier<T>::type)a * (typename Carrier<T>::type)b);
}
// Whether a sum, a difference or a product of integers of up to 64 bits overflows.
template <class T> __device__ __forceinline__ bool plus_overflows(T a, T b) {
    T sum = plus(a, b);
    if constexpr ((T)-1 < (T)0) return (((a ^ sum) & (b ^ sum)) < 0);
    else return sum < a;
}
template <class T> __device__ __forceinline__ bool minus_overflows(T a, T b) {
    if constexpr ((T)-1 < (T)0) return (((a ^ b) & (a ^ minus(a, b))) < 0);
    else return a < b;
}
template <class T> __device__ __forceinline__ bool times_overflows(T a, T b) {
    if constexpr (sizeof(T) < 8) {
        i64 whole = (i64)a * (i64)b;
        return (i64)(T)whole != whole;
    } else if constexpr ((T)-1 < (T)0) {
        return __mul64hi((i64)a, (i64)b) != ((i64)times(a, b) >> 63);
    } else {
        return __umul64hi((u64)a, (u64)b) != 0;
    }
}
// To the nearest, halves to even; values that would leave the range of floats stay as they are.
__device__ __forceinline__ f64 round_even(f64 x, f64 scale) {
    f64 moved = x * scale;
    return isfinite(moved) ? rint(moved) / scale : x;
}
// Whether a quotient or remainder of integers is an error: division by zero, and the smallest integer by -1.
template <class T> __device__ __forceinline__ bool divides_by_zero(T a, T b) {
    if constexpr (IsFloat<T>::value) return false;
    else return b == 0 || ((T)-1 < (T)0 && b == (T)-1 && a == Limits<T>::low());
}
template <class T> __device__ __forceinline__ T quotient(T a, T b) {
    if constexpr (!IsFloat<T>::value) {
        if (divides_by_zero(a, b)) return 0;
    }
    return (T)(a / b);
}
template <class T> __device__ __forceinline__ T remainder_of(T a, T b) {
    if constexpr (IsFloat<T>::value) return (T)fmod(a, b);
    else {
        if (divides_by_zero(a, b)) return 0;
        return (T)(a % b);
    }
}

// ---- conversions: truncating, and whether the value fits into the other type ----
template <class To, class From> __device__ __forceinline__ bool fits(From x) {
    if constexpr (IsFloat<To>::value) return true;
    else if constexpr (IsFloat<From>::value) {
        f64 whole = trunc((f64)x);
        return whole >= (f64)Limits<To>::low() && whole < (f64)Limits<To>::high() + 1.0;
    } else return (From)(To)x == x && ((To)x < (To)0) == (x < (From)0);
}
template <class To, class From> __device__ __forceinline__ To convert(From x) {
    if constexpr (IsFloat<From>::value && !IsFloat<To>::value) return fits<To, From>(x) ? (To)x : (To)0;
    else return (To)x;
}
// Bits past the end of a shift are an error in C++; Rust masks the distance, and so does Arrow.
template <class T> __device__ __forceinline__ T shift_left(T a, T by) {
    return (T)((typename Carrier<T>::type)a << ((u32)by & (8 * sizeof(T) - 1)));
}
template <class T> __device__ __forceinline__ T shift_right(T a, T by) { return (T)(a >> ((u32)by & (8 * sizeof(T) - 1))); }

// Comparisons of floats: both zeros are one, and all NaNs are one above all other numbers.
template <class T> __device__ __forceinline__ bool float_equal(T a, T b) { return a == b || (a != a && b != b); }
template <class T> __device__ __forceinline__ bool float_less(T a, T b) { return a < b || (b != b && a == a); }
template <class T> __device__ __forceinline__ bool is_nan(T x) { return x != x; }
// A float as a group key: both zeros are one, and so are all NaNs.
__device__ __forceinline__ u64 key_bits(f64 x) { return x == 0 ? 0 : x != x ? 0x7ff8000000000000ull : bits_of(x); }
__device__ __forceinline__ u64 key_bits(f32 x) { return x == 0 ? 0 : x != x ? 0x7fc00000u : bits_of(x); }

__device__ __forceinline__ i128 wide_of(u64 low, u64 high) { return (i128)((u128)high << 64 | low); }

// Accumulators of the second pass of a variance or covariance.
__device__ __forceinline__ f64 distance(f64 x, f64 mean) { return x - mean; }
__device__ __forceinline__ f64 squared_distance(f64 x, f64 mean) { return (x - mean) * (x - mean); }

// M2, the sum of squared deviations, in one pass: Welford 1962, merged as in Chan, Golub and LeVeque 1983.
struct Moments {
    u64 count;
    f64 mean, m2;

    __device__ __forceinline__ void clear() { count = 0, mean = 0, m2 = 0; }
    __device__ __forceinline__ void add(f64 x) {
        f64 off = x - mean;
        mean += off / (f64)++count;
        m2 += off * (x - mean);
    }
    __device__ __forceinline__ void merge(const Moments& o) {
        if (o.count == 0) return;
        if (count == 0) { *this = o; return; }
        f64 off = o.mean - mean, share = (f64)o.count / (f64)(count + o.count);
        m2 += o.m2 + off * off * (f64)count * share;
        mean += off * share;
        count += o.count;
    }
};

// ---- accumulators in memory that threads share: 64-bit words, and counts of 32 bits in shared memory ----
__device__ __forceinline__ void acc_add_f(u64* at, f64 x) { atomicAdd((f64*)at, x); }
__device__ __forceinline__ void acc_add_i(u64* at, u64 x) { atomicAdd(at, x); }
__device__ __forceinline__ void acc_add_n(u32* at, u32 x) { atomicAdd(at, x); }
__device__ __forceinline__ void acc_add_w(u64* low, u64* high, i128 x) {
    u64 before = atomicAdd(low, (u64)x);
    u64 more = (u64)(x >> 64) + (before + (u64)x < before ? 1 : 0);
    if (more != 0) atomicAdd(high, more);
}
// Devices have no atomic product: compare and swap.
__device__ __forceinline__ void acc_multiply_i(u64* at, u64 by) {
    u64 before = peek((const u64*)at), seen;
    while ((seen = atomicCAS(at, before, before * by)) != before) before = seen;
}
__device__ __forceinline__ void acc_multiply_f(u64* at, f64 by) {
    u64 before = peek((const u64*)at), seen;
    while ((seen = atomicCAS(at, before, bits_of(__longlong_as_double((i64)before) * by))) != before) before = seen;
}
// Most values change neither: a load is cheaper than an atomic operation.
__device__ __forceinline__ void acc_min_i(u64* at, i64 x) {
    if (x < peek((const i64*)at)) atomicMin((i64*)at, x);
}
__device__ __forceinline__ void acc_max_i(u64* at, i64 x) {
    if (x > peek((const i64*)at)) atomicMax((i64*)at, x);
}
__device__ __forceinline__ void acc_min_u(u64* at, u64 x) {
    if (x < peek((const u64*)at)) atomicMin(at, x);
}
__device__ __forceinline__ void acc_max_u(u64* at, u64 x) {
    if (x > peek((const u64*)at)) atomicMax(at, x);
}

// ---- one group: a structure of accumulators with clear and merge, its size a multiple of 8 bytes ----
template <class A> __device__ __forceinline__ A from_lane_below(const A& mine, u32 by) {
    union Words {
        A whole;
        u64 words[sizeof(A) / 8];
        __device__ Words() {}
    };
    Words here, there;
    here.whole = mine;
#pragma unroll
    for (u32 i = 0; i < sizeof(A) / 8; i++) there.words[i] = __shfl_down_sync(ALL_LANES, here.words[i], by);
    return there.whole;
}

// `partials` has an entry for each block; the ticket is zero before and after. The last block merges the others in
// their order. Returns true for the one thread that has written the result, after all blocks are done.
template <class A> __device__ __forceinline__ bool merge_grid(A& mine, A* partials, u32* ticket, A* out) {
    __shared__ __align__(16) unsigned char memory[sizeof(A) * WARP];
    __shared__ bool last;
    A* shared = (A*)memory;
#pragma unroll 1
    for (u32 round = 0; round < 2; round++) {
#pragma unroll 1
        for (u32 by = 16; by > 0; by /= 2) mine.merge(from_lane_below(mine, by));
        if (lane_id() == 0) shared[warp_id()] = mine;
        __syncthreads();
        if (threadIdx.x == 0) {
#pragma unroll 1
            for (u32 w = 1; w < blockDim.x / WARP; w++) mine.merge(shared[w]);
            if (round == 0) {
                partials[blockIdx.x] = mine;
                __threadfence();
                last = atomicAdd(ticket, 1u) == gridDim.x - 1;
                __threadfence();
            } else {
                *out = mine;
                *ticket = 0;
                return true;
            }
        }
        if (round == 1) return false;
        __syncthreads();
        if (!last) return false;
        mine.clear();
#pragma unroll 1
        for (u32 b = threadIdx.x; b < gridDim.x; b += blockDim.x) mine.merge(partials[b]);
    }
    return false;
}

// Sets the completion flag: the last active thread writes the result of a kernel to the memory of the host. A value
// comes first, then 1 for success, or 2 if a row had an error.
__device__ __forceinline__ void tell(u32* fault, const u64* value, volatile u64* told) {
    told[1] = value == nullptr ? 0 : *(const volatile u64*)value;
    const u64 word = *(volatile u32*)fault != 0 ? 2 : 1;
    __threadfence_system();
    told[0] = word;
}
// The same for all blocks of a kernel: `done` is zero before and after.
__device__ __forceinline__ void tell_grid(u32* done, u32* fault, const u64* value, volatile u64* told) {
    __syncthreads();
    if (threadIdx.x != 0) return;
    __threadfence();
    if (atomicAdd(done, 1u) != gridDim.x - 1) return;
    __threadfence();
    *done = 0;
    tell(fault, value, told);
}

// ---- keys of several words: a slot is a word of state, the key, then the accumulators ----
template <int KEYS> __device__ __forceinline__ u64 hash_of(const u64 (&key)[KEYS]) {
    u64 hash = 0;
#pragma unroll
    for (int i = 0; i < KEYS; i++) hash = mix(hash ^ key[i]) + 0x9e3779b97f4a7c15ull;
    return hash;
}

// Linear probing from the slot given by the high bits of the hash. State: 0 is empty, 1 is being written, otherwise
// bits of the hash with bit 1 set. A thread that meets a slot being written waits.
template <int KEYS, int STRIDE> struct WideTable {
    u64* words;
    u64 slots;
    u32* overflow;

    __device__ __forceinline__ u64* find(const u64 (&key)[KEYS]) const {
        const u32 lanes = __activemask();
        const u64 hash = hash_of(key);
        const u64 tag = (hash & ~3ull) | 2;
        u64 at = __umul64hi(hash, slots);
        u64* found = nullptr;
#pragma unroll 1
        for (u32 probe = 0; probe < PROBES; probe++) {
            u64* here = words + at * STRIDE;
            u64 state = load_relaxed(here);
            if (state == 0) state = claim(here, key, tag);
            while (state == 1) {
                __nanosleep(20);
                state = load_relaxed(here);
            }
            // Usually written long before the tag: an acquiring load invalidates the L1 cache, and is used only for
            // keys that differ.
            if (state == tag && (is_at(here, key) || (load_acquire(here) == tag && is_at(here, key)))) {
                found = here;
                break;
            }
            at = at + 1 == slots ? 0 : at + 1;
        }
        // Reconverges the warp: without this each thread continued alone.
        __syncwarp(lanes);
        if (found == nullptr) store_relaxed(overflow, 1u);
        return found;
    }

    __device__ __forceinline__ static bool is_at(const u64* here, const u64 (&key)[KEYS]) {
        bool same = true;
#pragma unroll
        for (int i = 0; i < KEYS; i++) same = same && load_relaxed(&here[1 + i]) == key[i];
        return same;
    }

    // The state of a slot that was empty.
    __device__ __forceinline__ static u64 claim(u64* here, const u64 (&key)[KEYS], u64 tag) {
        const u64 state = atomicCAS(here, 0ull, 1ull);
        if (state != 0) return state;
#pragma unroll
        for (int i = 0; i < KEYS; i++) store_relaxed(&here[1 + i], key[i]);
        __threadfence();
        store_release(here, tag);
        return tag;
    }

    // The word after a key in a table that is complete, 0 if the key is missing.
    __device__ __forceinline__ u64 word_of(const u64 (&key)[KEYS]) const {
        const u64 hash = hash_of(key);
        const u64 tag = (hash & ~3ull) | 2;
        u64 at = __umul64hi(hash, slots);
#pragma unroll 1
        for (u32 probe = 0; probe < PROBES; probe++) {
            const u64* here = words + at * STRIDE;
            if (here[0] == 0) break;
            bool same = here[0] == tag;
#pragma unroll
            for (int i = 0; i < KEYS; i++) same = same && here[1 + i] == key[i];
            if (same) return here[1 + KEYS];
            at = at + 1 == slots ? 0 : at + 1;
        }
        return 0;
    }
};

// Packs one byte for each row into one bit.
__device__ __forceinline__ void pack_bytes(const u8* bytes, u64 rows, u32* bits) {
    for (u64 row = thread_in_grid(); row - lane_id() < rows; row += threads_in_grid()) {
        u32 word = __ballot_sync(ALL_LANES, row < rows && bytes[row] != 0);
        if (lane_id() == 0) bits[row / 32] = word;
    }
}
