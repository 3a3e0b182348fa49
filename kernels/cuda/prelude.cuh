// Shared by all kernels, also generated ones: names of types, lanes, validity bitmaps, 16-byte loads. It stays small:
// NVRTC reads it for each kernel. It has no algorithm and no inline PTX (ptx.cuh).

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef __int128 i128;
typedef unsigned __int128 u128;
typedef float f32;
typedef double f64;

#define WARP 32u
#define ALL_LANES 0xffffffffu

#ifdef ONRUSH_EMULATED
#define DYNAMIC_SHARED(name) unsigned char* name = (unsigned char*)onrush_fiber->dynamic_shared
#else
#define DYNAMIC_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#endif

__device__ __forceinline__ u32 lane_id() { return threadIdx.x & (WARP - 1); }
__device__ __forceinline__ u32 warp_id() { return threadIdx.x / WARP; }
__device__ __forceinline__ u64 thread_in_grid() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ u64 threads_in_grid() { return (u64)gridDim.x * blockDim.x; }

template <class T> __device__ __forceinline__ T smaller(T a, T b) { return b < a ? b : a; }
template <class T> __device__ __forceinline__ T larger(T a, T b) { return a < b ? b : a; }

// ---- values as their bits, and back ----
template <int BYTES> struct Bits;
template <> struct Bits<1> { typedef u8 type; };
template <> struct Bits<2> { typedef u16 type; };
template <> struct Bits<4> { typedef u32 type; };
template <> struct Bits<8> { typedef u64 type; };
template <> struct Bits<16> { typedef u128 type; };

__device__ __forceinline__ u64 bits_of(f64 x) { return (u64)__double_as_longlong(x); }
__device__ __forceinline__ u32 bits_of(f32 x) { return (u32)__float_as_int(x); }

// ---- order ----
// Integers as they are. Floats by IEEE 754's total order, as Arrow sorts them:
// -NaN < -inf < ... < -0 < 0 < ... < NaN.
template <class T> struct Order {
    typedef T key;
    static __device__ __forceinline__ T of(T x) { return x; }
    static __device__ __forceinline__ T value(T k) { return k; }
};
template <> struct Order<f64> {
    typedef i64 key;
    static __device__ __forceinline__ i64 of(f64 x) {
        i64 bits = __double_as_longlong(x);
        return bits ^ (i64)((u64)(bits >> 63) >> 1);
    }
    static __device__ __forceinline__ f64 value(i64 k) { return __longlong_as_double(k ^ (i64)((u64)(k >> 63) >> 1)); }
};
template <> struct Order<f32> {
    typedef i32 key;
    static __device__ __forceinline__ i32 of(f32 x) {
        i32 bits = __float_as_int(x);
        return bits ^ (i32)((u32)(bits >> 31) >> 1);
    }
    static __device__ __forceinline__ f32 value(i32 k) { return __int_as_float(k ^ (i32)((u32)(k >> 31) >> 1)); }
};
template <class T> struct Limits;
#define LIMITS(T, LOW, HIGH)                                            \
    template <> struct Limits<T> {                                      \
        static __device__ __forceinline__ T low() { return LOW; }       \
        static __device__ __forceinline__ T high() { return HIGH; }     \
    };
LIMITS(i8, -128, 127)
LIMITS(u8, 0, 255)
LIMITS(i16, -32768, 32767)
LIMITS(u16, 0, 65535)
LIMITS(i32, -2147483647 - 1, 2147483647)
LIMITS(u32, 0, 4294967295u)
LIMITS(i64, -9223372036854775807LL - 1, 9223372036854775807LL)
LIMITS(u64, 0, 18446744073709551615ull)
LIMITS(i128, (i128)((u128)1 << 127), (i128)(~((u128)1 << 127)))

// The type of sums: integers wrap at 64 bits, floats add up as f64.
template <class T> struct SumOf { typedef i64 type; };
template <> struct SumOf<u8> { typedef u64 type; };
template <> struct SumOf<u16> { typedef u64 type; };
template <> struct SumOf<u32> { typedef u64 type; };
template <> struct SumOf<u64> { typedef u64 type; };
template <> struct SumOf<f32> { typedef f64 type; };
template <> struct SumOf<f64> { typedef f64 type; };
template <> struct SumOf<i128> { typedef i128 type; };

// ---- validity bitmaps, as in Arrow: bit set = valid, lowest bit first. `bits` null: all rows are valid. ----
__device__ __forceinline__ bool is_valid(const u32* bits, u64 row) { return bits[row / 32] >> (row % 32) & 1; }

// ---- 16 bytes at a time ----
template <class T> struct __align__(16) Pack {
    static constexpr int N = 16 / sizeof(T);
    T v[N];
};
template <class T> __device__ __forceinline__ Pack<T> load_pack(const T* at) {
    Pack<T> pack;
    *(uint4*)&pack = *(const uint4*)at;
    return pack;
}
template <class T> __device__ __forceinline__ void store_pack(T* at, const Pack<T>& pack) {
    *(uint4*)at = *(const uint4*)&pack;
}
// Rows before the first one that is aligned to 16 bytes.
template <class T> __device__ __forceinline__ u64 rows_to_alignment(const T* at, u64 rows) {
    u64 head = ((16 - ((u64)at & 15)) & 15) / sizeof(T);
    return head < rows ? head : rows;
}

// ---- shuffles of any size ----
template <class T> struct Shuffle {
    static __device__ __forceinline__ T down(T x, u32 by) { return __shfl_down_sync(ALL_LANES, x, by); }
    static __device__ __forceinline__ T up(T x, u32 by) { return __shfl_up_sync(ALL_LANES, x, by); }
    static __device__ __forceinline__ T from(T x, u32 lane) { return __shfl_sync(ALL_LANES, x, lane); }
};
template <> struct Shuffle<i128> {
    static __device__ __forceinline__ i128 join(u64 high, u64 low) { return (i128)((u128)high << 64 | low); }
    static __device__ __forceinline__ i128 down(i128 x, u32 by) {
        return join(__shfl_down_sync(ALL_LANES, (u64)(x >> 64), by), __shfl_down_sync(ALL_LANES, (u64)x, by));
    }
    static __device__ __forceinline__ i128 up(i128 x, u32 by) {
        return join(__shfl_up_sync(ALL_LANES, (u64)(x >> 64), by), __shfl_up_sync(ALL_LANES, (u64)x, by));
    }
    static __device__ __forceinline__ i128 from(i128 x, u32 lane) {
        return join(__shfl_sync(ALL_LANES, (u64)(x >> 64), lane), __shfl_sync(ALL_LANES, (u64)x, lane));
    }
};
template <class T> struct SmallShuffle {
    static __device__ __forceinline__ T down(T x, u32 by) { return (T)__shfl_down_sync(ALL_LANES, (i32)x, by); }
    static __device__ __forceinline__ T up(T x, u32 by) { return (T)__shfl_up_sync(ALL_LANES, (i32)x, by); }
    static __device__ __forceinline__ T from(T x, u32 lane) { return (T)__shfl_sync(ALL_LANES, (i32)x, lane); }
};
template <> struct Shuffle<i8> : SmallShuffle<i8> {};
template <> struct Shuffle<u8> : SmallShuffle<u8> {};
template <> struct Shuffle<i16> : SmallShuffle<i16> {};
template <> struct Shuffle<u16> : SmallShuffle<u16> {};

// Mixes the bits of a key for hash tables and partitions (the finaliser of splitmix64).
__device__ __forceinline__ u64 mix(u64 x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    x ^= x >> 31;
    return x;
}

// Probes of a hash table before it counts as too small.
enum : u32 { PROBES = 512 };

