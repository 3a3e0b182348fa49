// Sum, minimum, maximum and count of a column in one pass and one launch.
//
// Layout: values of T, at any address that is aligned for T; nulls by an Arrow bitmap that may start at any bit.
// Output: Totals. Scratch: one Totals for each block and a ticket, zero before the launch and after it. Grid: any;
// blocks of REDUCE_THREADS. Determinism: the same grid gives the same sum of floats. Integers wrap. Minimum and maximum
// are in the total order of prelude.cuh. Bytes that must cross memory: sizeof(T) a row, and a bit where there are
// nulls: 1e8 f64 take 0.187 ms at 4.28 TB/s. The last block to finish adds up the others' results (CUB's DeviceReduce
// needs a second launch for it).

template <class T> struct Totals {
    typename SumOf<T>::type sum;
    typename Order<T>::key low;
    typename Order<T>::key high;
    u64 count;
};

enum { WANT_SUM = 1, WANT_LOW = 2, WANT_HIGH = 4 };

template <class T, int WANT> struct Accumulator {
    typedef typename SumOf<T>::type Sum;
    typedef typename Order<T>::key Key;
    Sum sum;
    Key low, high;
    u64 count;

    __device__ __forceinline__ void clear() {
        sum = 0;
        low = Limits<Key>::high();
        high = Limits<Key>::low();
        count = 0;
    }
    __device__ __forceinline__ void add(T x) {
        if (WANT & WANT_SUM) sum += (Sum)x;
        if (WANT & WANT_LOW) low = smaller(low, Order<T>::of(x));
        if (WANT & WANT_HIGH) high = larger(high, Order<T>::of(x));
        count++;
    }
    __device__ __forceinline__ void merge(const Totals<T>& t) {
        if (WANT & WANT_SUM) sum += t.sum;
        if (WANT & WANT_LOW) low = smaller(low, t.low);
        if (WANT & WANT_HIGH) high = larger(high, t.high);
        count += t.count;
    }
    __device__ __forceinline__ Totals<T> totals() const { return Totals<T>{sum, low, high, count}; }
    __device__ __forceinline__ void across_warp() {
#pragma unroll 1
        for (u32 by = 16; by > 0; by /= 2) {
            Totals<T> other = totals();
            if (WANT & WANT_SUM) other.sum = Shuffle<Sum>::down(sum, by);
            if (WANT & WANT_LOW) other.low = Shuffle<Key>::down(low, by);
            if (WANT & WANT_HIGH) other.high = Shuffle<Key>::down(high, by);
            other.count = Shuffle<u64>::down(count, by);
            merge(other);
        }
    }
};

// Counts only values for which `where` is true.
template <class T, int WANT, bool NULLS, int UNROLL, class F>
__device__ __forceinline__ void reduce(const T* values, const u32* validity, u64 first_bit, u64 rows, Totals<T>* partials, u32* ticket,
                                       Totals<T>* out, F where) {
    Accumulator<T, WANT> a;
    a.clear();
    const int N = Pack<T>::N;
    u64 head = rows_to_alignment(values, rows);
    u64 packs = (rows - head) / N;
    u64 stride = threads_in_grid();
    u64 me = thread_in_grid();
    // All loads of a round are in flight before the first is used.
#pragma unroll 1
    for (u64 p = me; p < packs; p += stride * UNROLL) {
        Pack<T> pack[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            u64 at = p + k * stride;
            if (at < packs) pack[k] = stream_pack(values + head + at * N);
        }
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            u64 at = p + k * stride;
            if (at < packs) {
#pragma unroll
                for (int i = 0; i < N; i++) {
                    T x = pack[k].v[i];
                    if ((!NULLS || is_valid(validity, first_bit + head + at * N + i)) && where(x)) a.add(x);
                }
            }
        }
    }
    u64 tail = head + packs * N;
    u64 rest = head + (rows - tail);
    if (me < rest) {
        u64 row = me < head ? me : tail + (me - head);
        if ((!NULLS || is_valid(validity, first_bit + row)) && where(values[row])) a.add(values[row]);
    }

    __shared__ Totals<T> shared[WARP];
    __shared__ bool last;
    // Twice the same code, which the compiler sees once: the threads of a block, and then, in the last block, the
    // blocks.
#pragma unroll 1
    for (u32 round = 0; round < 2; round++) {
        a.across_warp();
        if (lane_id() == 0) shared[warp_id()] = a.totals();
        __syncthreads();
        if (threadIdx.x == 0) {
#pragma unroll 1
            for (u32 w = 1; w < blockDim.x / WARP; w++) a.merge(shared[w]);
            if (round == 0) {
                partials[blockIdx.x] = a.totals();
                __threadfence();
                last = atomicAdd(ticket, 1u) == gridDim.x - 1;
                __threadfence();
            } else {
                *out = a.totals();
                *ticket = 0;
            }
        }
        __syncthreads();
        if (round == 1 || !last) return;
        a.clear();
#pragma unroll 1
        for (u32 b = threadIdx.x; b < gridDim.x; b += blockDim.x) a.merge(partials[b]);
    }
}
