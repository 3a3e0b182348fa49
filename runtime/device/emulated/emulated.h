// CUDA C++ as NVRTC has it built in, for the host's C++ compiler: qualifiers, indices, vector types, barriers, warps,
// atomics, mathematics. Not here: textures, surfaces, tensor cores, cooperative groups, inline PTX. No standard header
// is included, so that a kernel compiles in a tenth of a second.
#pragma once
#define ONRUSH_EMULATED 1

#define __global__
#define __device__
#define __host__
// A section for each, so that the checker knows them: one of its own because some are `const` and others are not.
#define ONRUSH_SECTION(NUMBER) __attribute__((section(".onrush_constant_" #NUMBER)))
#define ONRUSH_NUMBERED(NUMBER) ONRUSH_SECTION(NUMBER)
#define __constant__ ONRUSH_NUMBERED(__COUNTER__)
#define __managed__
#define __shared__ thread_local
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __grid_constant__
#define __restrict__ __restrict

typedef unsigned char uchar;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
#ifndef NULL
#define NULL __null
#endif

#define threadIdx ((const uint3&)onrush_fiber->thread)
#define blockIdx ((const uint3&)onrush_fiber->block)
#define blockDim ((const dim3&)onrush_fiber->block_dim)
#define gridDim ((const dim3&)onrush_fiber->grid_dim)
#define warpSize 32

#define ONRUSH_INLINE static inline __attribute__((always_inline, unused))

// ---- what kernels say ----
// Each value with its kind: C's own reads a whole number where `%f` or `%s` stands, and a GPU does, too.
#define ONRUSH_PRINTS(T, KIND)                                                                                                \
    ONRUSH_INLINE OnrushPrinted onrush_printed(T value) {                                                                     \
        OnrushPrinted printed = {0, KIND, sizeof(T)};                                                                         \
        __builtin_memcpy(&printed.bits, &value, sizeof(T));                                                                   \
        return printed;                                                                                                       \
    }
#define ONRUSH_PRINTS_WHOLE(T)                                                                                                \
    ONRUSH_INLINE OnrushPrinted onrush_printed(T value) {                                                                     \
        return OnrushPrinted{(unsigned long long)(long long)value, ONRUSH_WHOLE, sizeof(T) < 4 ? 4 : sizeof(T)};              \
    }
ONRUSH_PRINTS_WHOLE(bool)
ONRUSH_PRINTS_WHOLE(char)
ONRUSH_PRINTS_WHOLE(signed char)
ONRUSH_PRINTS_WHOLE(unsigned char)
ONRUSH_PRINTS_WHOLE(short)
ONRUSH_PRINTS_WHOLE(unsigned short)
ONRUSH_PRINTS_WHOLE(int)
ONRUSH_PRINTS_WHOLE(unsigned int)
ONRUSH_PRINTS_WHOLE(long)
ONRUSH_PRINTS_WHOLE(unsigned long)
ONRUSH_PRINTS_WHOLE(long long)
ONRUSH_PRINTS_WHOLE(unsigned long long)
ONRUSH_PRINTS(double, ONRUSH_FLOAT)
ONRUSH_PRINTS(const void*, ONRUSH_POINTER)
ONRUSH_INLINE OnrushPrinted onrush_printed(float value) { return onrush_printed((double)value); }
// For a value of any other type, such as a struct: chosen if no other fits.
ONRUSH_INLINE OnrushPrinted onrush_printed(...) { return OnrushPrinted{0, ONRUSH_POINTER, 0}; }
template <class... A> ONRUSH_INLINE int printf(const char* format, A... values) {
    static_assert((true && ... && !__is_class(A)), "printf prints numbers, texts and addresses: of a float3, each part alone");
    OnrushPrinted printed[sizeof...(A) + 1] = {onrush_printed(values)...};
    return onrush_print(format, sizeof...(A), printed);
}
#define assert(condition) ((condition) ? (void)0 : onrush_trap("the assertion `" #condition "` does not hold"))

// ---- vector types ----
#define ONRUSH_VECTOR(T, N, A1, A2, A4)                                                                                       \
    struct N##1 { T x; };                                                                                                     \
    struct __attribute__((aligned(A2))) N##2 { T x, y; };                                                                     \
    struct N##3 { T x, y, z; };                                                                                               \
    struct __attribute__((aligned(A4))) N##4 { T x, y, z, w; };                                                               \
    ONRUSH_INLINE N##1 make_##N##1(T x) { return N##1{x}; }                                                                   \
    ONRUSH_INLINE N##2 make_##N##2(T x, T y) { return N##2{x, y}; }                                                           \
    ONRUSH_INLINE N##3 make_##N##3(T x, T y, T z) { return N##3{x, y, z}; }                                                   \
    ONRUSH_INLINE N##4 make_##N##4(T x, T y, T z, T w) { return N##4{x, y, z, w}; }
struct uint1 { unsigned int x; };
struct __attribute__((aligned(8))) uint2 { unsigned int x, y; };
struct __attribute__((aligned(16))) uint4 { unsigned int x, y, z, w; };
ONRUSH_INLINE uint2 make_uint2(unsigned int x, unsigned int y) { return uint2{x, y}; }
ONRUSH_INLINE uint3 make_uint3(unsigned int x, unsigned int y, unsigned int z) { return uint3{x, y, z}; }
ONRUSH_INLINE uint4 make_uint4(unsigned int x, unsigned int y, unsigned int z, unsigned int w) { return uint4{x, y, z, w}; }
ONRUSH_VECTOR(signed char, char, 1, 2, 4)
ONRUSH_VECTOR(unsigned char, uchar, 1, 2, 4)
ONRUSH_VECTOR(short, short, 2, 4, 8)
ONRUSH_VECTOR(unsigned short, ushort, 2, 4, 8)
ONRUSH_VECTOR(int, int, 4, 8, 16)
ONRUSH_VECTOR(long, long, 8, 16, 16)
ONRUSH_VECTOR(unsigned long, ulong, 8, 16, 16)
ONRUSH_VECTOR(long long, longlong, 8, 16, 16)
ONRUSH_VECTOR(unsigned long long, ulonglong, 8, 16, 16)
ONRUSH_VECTOR(float, float, 4, 8, 16)
ONRUSH_VECTOR(double, double, 8, 16, 16)

// ---- barriers ----
// Macros: which one of the text's barriers it is, whatever the compiler makes of the code around it.
ONRUSH_INLINE void onrush_sync(unsigned int number) {
    onrush_fiber->barrier = number;
    onrush_barrier(0, nullptr);
}
ONRUSH_INLINE int onrush_sync_count(unsigned int number, int predicate) {
    unsigned int count;
    onrush_fiber->barrier = number;
    onrush_barrier(predicate, &count);
    return (int)count;
}
ONRUSH_INLINE int onrush_sync_and(unsigned int number, int predicate) {
    unsigned int count;
    onrush_fiber->barrier = number;
    return onrush_barrier(predicate, &count) == count;
}
#define __syncthreads() onrush_sync(__COUNTER__)
#define __syncthreads_count(...) onrush_sync_count(__COUNTER__, __VA_ARGS__)
#define __syncthreads_and(...) onrush_sync_and(__COUNTER__, __VA_ARGS__)
#define __syncthreads_or(...) (onrush_sync_count(__COUNTER__, __VA_ARGS__) != 0)
ONRUSH_INLINE void __syncwarp(unsigned int mask = 0xffffffffu) { onrush_warp(ONRUSH_SYNC_WARP, mask, 0, 0, 32); }
// The order tells the checker the scope: sequentially consistent is the device, acquire-release is the block.
ONRUSH_INLINE void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
ONRUSH_INLINE void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
ONRUSH_INLINE void __threadfence_block() { __atomic_thread_fence(__ATOMIC_ACQ_REL); }
ONRUSH_INLINE void __nanosleep(unsigned int) { onrush_yield(); }
ONRUSH_INLINE void __trap() { onrush_trap("the kernel called __trap()"); }

// ---- warps ----
template <class T> ONRUSH_INLINE unsigned long long onrush_bits(T value) {
    static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    return bits;
}
template <class T> ONRUSH_INLINE T onrush_from_bits(unsigned long long bits) {
    T value;
    __builtin_memcpy(&value, &bits, sizeof(T));
    return value;
}
#define ONRUSH_SHUFFLES(T)                                                                                                    \
    ONRUSH_INLINE T __shfl_sync(unsigned int mask, T value, int lane, int width = 32) {                                       \
        return onrush_from_bits<T>(onrush_warp(ONRUSH_SHUFFLE, mask, onrush_bits(value), lane, width));                       \
    }                                                                                                                         \
    ONRUSH_INLINE T __shfl_up_sync(unsigned int mask, T value, unsigned int delta, int width = 32) {                          \
        return onrush_from_bits<T>(onrush_warp(ONRUSH_SHUFFLE_UP, mask, onrush_bits(value), delta, width));                   \
    }                                                                                                                         \
    ONRUSH_INLINE T __shfl_down_sync(unsigned int mask, T value, unsigned int delta, int width = 32) {                        \
        return onrush_from_bits<T>(onrush_warp(ONRUSH_SHUFFLE_DOWN, mask, onrush_bits(value), delta, width));                 \
    }                                                                                                                         \
    ONRUSH_INLINE T __shfl_xor_sync(unsigned int mask, T value, int lanes, int width = 32) {                                  \
        return onrush_from_bits<T>(onrush_warp(ONRUSH_SHUFFLE_XOR, mask, onrush_bits(value), lanes, width));                  \
    }
ONRUSH_SHUFFLES(int)
ONRUSH_SHUFFLES(unsigned int)
ONRUSH_SHUFFLES(long)
ONRUSH_SHUFFLES(unsigned long)
ONRUSH_SHUFFLES(long long)
ONRUSH_SHUFFLES(unsigned long long)
ONRUSH_SHUFFLES(float)
ONRUSH_SHUFFLES(double)
ONRUSH_INLINE unsigned int __ballot_sync(unsigned int mask, int predicate) {
    return (unsigned int)onrush_warp(ONRUSH_BALLOT, mask, predicate != 0, 0, 32);
}
ONRUSH_INLINE int __any_sync(unsigned int mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
ONRUSH_INLINE int __all_sync(unsigned int mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }
// Any subset of the lanes that execute together is a correct answer; this one is the smallest.
ONRUSH_INLINE unsigned int __activemask() { return 1u << onrush_fiber->lane; }
#define ONRUSH_MATCH(T)                                                                                                       \
    ONRUSH_INLINE unsigned int __match_any_sync(unsigned int mask, T value) {                                                 \
        return (unsigned int)onrush_warp(ONRUSH_MATCH_ANY, mask, onrush_bits(value), 0, 32);                                  \
    }                                                                                                                         \
    ONRUSH_INLINE unsigned int __match_all_sync(unsigned int mask, T value, int* all) {                                       \
        unsigned int same = (unsigned int)onrush_warp(ONRUSH_MATCH_ALL, mask, onrush_bits(value), 0, 32);                     \
        *all = same != 0;                                                                                                     \
        return same;                                                                                                          \
    }
ONRUSH_MATCH(int)
ONRUSH_MATCH(unsigned int)
ONRUSH_MATCH(long long)
ONRUSH_MATCH(unsigned long long)
ONRUSH_MATCH(float)
ONRUSH_MATCH(double)
#define ONRUSH_REDUCE(NAME, T, OPERATION)                                                                                     \
    ONRUSH_INLINE T NAME(unsigned int mask, T value) {                                                                        \
        return (T)onrush_warp(OPERATION, mask, (unsigned long long)(unsigned int)value, 0, 32);                               \
    }
ONRUSH_REDUCE(__reduce_add_sync, unsigned int, ONRUSH_REDUCE_ADD)
ONRUSH_REDUCE(__reduce_add_sync, int, ONRUSH_REDUCE_ADD)
ONRUSH_REDUCE(__reduce_min_sync, unsigned int, ONRUSH_REDUCE_MIN)
ONRUSH_REDUCE(__reduce_max_sync, unsigned int, ONRUSH_REDUCE_MAX)
ONRUSH_REDUCE(__reduce_min_sync, int, ONRUSH_REDUCE_MIN_SIGNED)
ONRUSH_REDUCE(__reduce_max_sync, int, ONRUSH_REDUCE_MAX_SIGNED)
ONRUSH_REDUCE(__reduce_and_sync, unsigned int, ONRUSH_REDUCE_AND)
ONRUSH_REDUCE(__reduce_or_sync, unsigned int, ONRUSH_REDUCE_OR)
ONRUSH_REDUCE(__reduce_xor_sync, unsigned int, ONRUSH_REDUCE_XOR)

// ---- atomics: the overloads that CUDA has, and no others ----
ONRUSH_INLINE void onrush_tick() {
    if (__builtin_expect(--onrush_fiber->budget <= 0, 0)) onrush_yield();
}
#define ONRUSH_SCOPES(NAME, T)                                                                                                \
    ONRUSH_INLINE T NAME##_block(T* address, T value) { return NAME(address, value); }                                        \
    ONRUSH_INLINE T NAME##_system(T* address, T value) { return NAME(address, value); }
#define ONRUSH_FETCH(NAME, T, BUILTIN)                                                                                        \
    ONRUSH_INLINE T NAME(T* address, T value) { return BUILTIN(address, value, __ATOMIC_RELAXED); }                           \
    ONRUSH_SCOPES(NAME, T)
// `NEW` is an expression of `old` and `value`. The order tells the checker that this is no `atomicCAS` of the kernel:
// what the kernel has read before is not compared with anything.
#define ONRUSH_LOOP(NAME, T, BITS, NEW)                                                                                       \
    ONRUSH_INLINE T NAME(T* address, T value) {                                                                               \
        BITS* place = (BITS*)address;                                                                                         \
        BITS bits = __atomic_load_n(place, __ATOMIC_RELAXED);                                                                 \
        for (;;) {                                                                                                            \
            T old;                                                                                                            \
            __builtin_memcpy(&old, &bits, sizeof(T));                                                                         \
            T next = NEW;                                                                                                     \
            BITS next_bits;                                                                                                   \
            __builtin_memcpy(&next_bits, &next, sizeof(T));                                                                   \
            if (__atomic_compare_exchange_n(place, &bits, next_bits, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return old;  \
        }                                                                                                                     \
    }                                                                                                                         \
    ONRUSH_SCOPES(NAME, T)
#define ONRUSH_CAS(T)                                                                                                         \
    ONRUSH_INLINE T atomicCAS(T* address, T compare, T value) {                                                               \
        onrush_tick();                                                                                                        \
        __atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);                     \
        return compare;                                                                                                       \
    }                                                                                                                         \
    ONRUSH_INLINE T atomicCAS_block(T* address, T compare, T value) { return atomicCAS(address, compare, value); }            \
    ONRUSH_INLINE T atomicCAS_system(T* address, T compare, T value) { return atomicCAS(address, compare, value); }
#define ONRUSH_EXCHANGE(T)                                                                                                    \
    ONRUSH_INLINE T atomicExch(T* address, T value) {                                                                         \
        onrush_tick();                                                                                                        \
        T old;                                                                                                                \
        __atomic_exchange(address, &value, &old, __ATOMIC_RELAXED);                                                           \
        return old;                                                                                                           \
    }                                                                                                                         \
    ONRUSH_SCOPES(atomicExch, T)
#define ONRUSH_INTEGERS(T)                                                                                                    \
    ONRUSH_FETCH(atomicAdd, T, __atomic_fetch_add)                                                                            \
    ONRUSH_FETCH(atomicAnd, T, __atomic_fetch_and)                                                                            \
    ONRUSH_FETCH(atomicOr, T, __atomic_fetch_or)                                                                              \
    ONRUSH_FETCH(atomicXor, T, __atomic_fetch_xor)                                                                            \
    ONRUSH_CAS(T)                                                                                                             \
    ONRUSH_EXCHANGE(T)
ONRUSH_INTEGERS(int)
ONRUSH_INTEGERS(unsigned int)
ONRUSH_INTEGERS(unsigned long long)
ONRUSH_CAS(unsigned short)
ONRUSH_EXCHANGE(float)
ONRUSH_FETCH(atomicSub, int, __atomic_fetch_sub)
ONRUSH_FETCH(atomicSub, unsigned int, __atomic_fetch_sub)
ONRUSH_LOOP(atomicAdd, float, unsigned int, old + value)
ONRUSH_LOOP(atomicAdd, double, unsigned long long, old + value)
ONRUSH_LOOP(atomicMin, int, int, (old < value ? old : value))
ONRUSH_LOOP(atomicMin, unsigned int, unsigned int, (old < value ? old : value))
ONRUSH_LOOP(atomicMin, long long, long long, (old < value ? old : value))
ONRUSH_LOOP(atomicMin, unsigned long long, unsigned long long, (old < value ? old : value))
ONRUSH_LOOP(atomicMax, int, int, (old > value ? old : value))
ONRUSH_LOOP(atomicMax, unsigned int, unsigned int, (old > value ? old : value))
ONRUSH_LOOP(atomicMax, long long, long long, (old > value ? old : value))
ONRUSH_LOOP(atomicMax, unsigned long long, unsigned long long, (old > value ? old : value))
ONRUSH_LOOP(atomicInc, unsigned int, unsigned int, (old >= value ? 0 : old + 1))
ONRUSH_LOOP(atomicDec, unsigned int, unsigned int, (old == 0 || old > value ? value : old - 1))

// ---- loads and stores with a cache policy: plain ones here ----
#define ONRUSH_LOAD(NAME)                                                                                                     \
    template <class T> ONRUSH_INLINE T NAME(const T* address) { return *address; }
#define ONRUSH_STORE(NAME)                                                                                                    \
    template <class T> ONRUSH_INLINE void NAME(T* address, T value) { *address = value; }
ONRUSH_LOAD(__ldg)
ONRUSH_LOAD(__ldcg)
ONRUSH_LOAD(__ldca)
ONRUSH_LOAD(__ldcs)
ONRUSH_LOAD(__ldlu)
ONRUSH_LOAD(__ldcv)
ONRUSH_STORE(__stwb)
ONRUSH_STORE(__stcg)
ONRUSH_STORE(__stcs)
ONRUSH_STORE(__stwt)

// ---- memory: byte by byte, so that each access is checked ----
// The names are separate: the compiler inlines C's functions without a check.
ONRUSH_INLINE void* onrush_memset(void* to, int value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) ((unsigned char*)to)[i] = (unsigned char)value;
    return to;
}
ONRUSH_INLINE void* onrush_memcpy(void* to, const void* from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) ((unsigned char*)to)[i] = ((const unsigned char*)from)[i];
    return to;
}
#define memset onrush_memset
#define memcpy onrush_memcpy
// The heap has 8 MB, as on a GPU, and lasts from launch to launch.
#define malloc onrush_malloc
#define free onrush_free
// A compiler does not put them into their caller, whose line is what is told.
#define ONRUSH_OPERATOR __attribute__((noinline)) void
ONRUSH_OPERATOR* operator new(size_t bytes) { return onrush_malloc(bytes); }
ONRUSH_OPERATOR* operator new[](size_t bytes) { return onrush_malloc(bytes); }
ONRUSH_OPERATOR* operator new(size_t, void* place) noexcept { return place; }
ONRUSH_OPERATOR* operator new[](size_t, void* place) noexcept { return place; }
ONRUSH_OPERATOR operator delete(void* memory) noexcept { onrush_free(memory, __builtin_return_address(0)); }
ONRUSH_OPERATOR operator delete[](void* memory) noexcept { onrush_free(memory, __builtin_return_address(0)); }
ONRUSH_OPERATOR operator delete(void* memory, size_t) noexcept { onrush_free(memory, __builtin_return_address(0)); }
ONRUSH_OPERATOR operator delete[](void* memory, size_t) noexcept { onrush_free(memory, __builtin_return_address(0)); }

// ---- variables without values: called behind their declarations ----
template <class T> ONRUSH_INLINE void onrush_unset(T& to) {
    // A constructor gives values.
    if constexpr (__is_trivially_constructible(T)) onrush_mark(&to, sizeof(T));
}
template <class T> ONRUSH_INLINE void onrush_poison(T& to, const char* name) {
    if constexpr (__is_trivially_constructible(T) && sizeof(T) <= 64) {
        unsigned long long bits = onrush_nobodys(name);
        for (__SIZE_TYPE__ at = 0; at < sizeof(T); at += 8) {
            __builtin_memcpy((char*)&to + at, &bits, sizeof(T) - at < 8 ? sizeof(T) - at : 8);
        }
    }
}
ONRUSH_INLINE void onrush_poison(bool& to, const char* name) { to = onrush_nobodys(name) != 0; }

// ---- what is behind a function's arrays ----
extern "C" __attribute__((visibility("hidden"), noreturn, noinline, used)) void __stack_chk_fail() {
    onrush_overrun(__builtin_return_address(0));
    __builtin_unreachable();
}

// ---- bits ----
ONRUSH_INLINE int __popc(unsigned int x) { return __builtin_popcount(x); }
ONRUSH_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
ONRUSH_INLINE int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned int)x); }
ONRUSH_INLINE int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
ONRUSH_INLINE int __ffs(int x) { return __builtin_ffs(x); }
ONRUSH_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
ONRUSH_INLINE unsigned int __brev(unsigned int x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
ONRUSH_INLINE unsigned long long __brevll(unsigned long long x) {
    return (unsigned long long)__brev((unsigned int)x) << 32 | __brev((unsigned int)(x >> 32));
}
ONRUSH_INLINE unsigned int __byte_perm(unsigned int a, unsigned int b, unsigned int selector) {
    unsigned long long both = (unsigned long long)b << 32 | a;
    unsigned int result = 0;
    for (int i = 0; i < 4; i++) result |= (unsigned int)(both >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    return result;
}
ONRUSH_INLINE unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift) {
    return (unsigned int)((((unsigned long long)high << 32 | low) << (shift & 31)) >> 32);
}
ONRUSH_INLINE unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift) {
    return (unsigned int)(((unsigned long long)high << 32 | low) >> (shift & 31));
}
ONRUSH_INLINE int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
ONRUSH_INLINE unsigned int __umulhi(unsigned int a, unsigned int b) { return (unsigned int)((unsigned long long)a * b >> 32); }
ONRUSH_INLINE long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
ONRUSH_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
ONRUSH_INLINE long long clock64() {
#if defined(__x86_64__)
    return (long long)__builtin_ia32_rdtsc();
#else
    return 0;
#endif
}
ONRUSH_INLINE long clock() { return (long)clock64(); }
ONRUSH_INLINE double __longlong_as_double(long long x) { return onrush_from_bits<double>((unsigned long long)x); }
ONRUSH_INLINE long long __double_as_longlong(double x) { return (long long)onrush_bits(x); }
ONRUSH_INLINE float __int_as_float(int x) { return onrush_from_bits<float>((unsigned int)x); }
ONRUSH_INLINE int __float_as_int(float x) { return (int)onrush_bits(x); }
ONRUSH_INLINE float __uint_as_float(unsigned int x) { return onrush_from_bits<float>(x); }
ONRUSH_INLINE unsigned int __float_as_uint(float x) { return (unsigned int)onrush_bits(x); }
ONRUSH_INLINE int __double2hiint(double x) { return (int)(onrush_bits(x) >> 32); }
ONRUSH_INLINE int __double2loint(double x) { return (int)onrush_bits(x); }
ONRUSH_INLINE double __hiloint2double(int high, int low) {
    return onrush_from_bits<double>((unsigned long long)(unsigned int)high << 32 | (unsigned int)low);
}

// ---- mathematics ----
#define ONRUSH_MATH1(NAME)                                                                                                    \
    extern "C" double NAME(double) noexcept;                                                                                  \
    extern "C" float NAME##f(float) noexcept;                                                                                 \
    ONRUSH_INLINE float NAME(float x) { return __builtin_##NAME##f(x); }
#define ONRUSH_MATH2(NAME)                                                                                                    \
    extern "C" double NAME(double, double) noexcept;                                                                          \
    extern "C" float NAME##f(float, float) noexcept;                                                                          \
    ONRUSH_INLINE float NAME(float x, float y) { return __builtin_##NAME##f(x, y); }
ONRUSH_MATH1(sin) ONRUSH_MATH1(cos) ONRUSH_MATH1(tan) ONRUSH_MATH1(asin) ONRUSH_MATH1(acos) ONRUSH_MATH1(atan)
ONRUSH_MATH1(sinh) ONRUSH_MATH1(cosh) ONRUSH_MATH1(tanh) ONRUSH_MATH1(asinh) ONRUSH_MATH1(acosh) ONRUSH_MATH1(atanh)
ONRUSH_MATH1(exp) ONRUSH_MATH1(exp2) ONRUSH_MATH1(expm1) ONRUSH_MATH1(log) ONRUSH_MATH1(log2) ONRUSH_MATH1(log10)
ONRUSH_MATH1(log1p) ONRUSH_MATH1(sqrt) ONRUSH_MATH1(cbrt) ONRUSH_MATH1(floor) ONRUSH_MATH1(ceil) ONRUSH_MATH1(trunc)
ONRUSH_MATH1(round) ONRUSH_MATH1(rint) ONRUSH_MATH1(nearbyint) ONRUSH_MATH1(fabs) ONRUSH_MATH1(erf) ONRUSH_MATH1(erfc)
ONRUSH_MATH1(tgamma) ONRUSH_MATH1(lgamma)
ONRUSH_MATH2(pow) ONRUSH_MATH2(atan2) ONRUSH_MATH2(hypot) ONRUSH_MATH2(fmod) ONRUSH_MATH2(remainder) ONRUSH_MATH2(copysign)
ONRUSH_MATH2(fmin) ONRUSH_MATH2(fmax) ONRUSH_MATH2(nextafter) ONRUSH_MATH2(fdim)
extern "C" double fma(double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
extern "C" void sincos(double, double*, double*) noexcept;
extern "C" void sincosf(float, float*, float*) noexcept;
ONRUSH_INLINE double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
ONRUSH_INLINE float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
ONRUSH_INLINE float rsqrt(float x) { return rsqrtf(x); }
ONRUSH_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
ONRUSH_INLINE long lround(double x) { return __builtin_lround(x); }
ONRUSH_INLINE long lrint(double x) { return __builtin_lrint(x); }
ONRUSH_INLINE double exp10(double x) { return __builtin_pow(10.0, x); }
ONRUSH_INLINE double sinpi(double x) { return __builtin_sin(x * 3.14159265358979323846); }
ONRUSH_INLINE double cospi(double x) { return __builtin_cos(x * 3.14159265358979323846); }
ONRUSH_INLINE long long llrint(double x) { return __builtin_llrint(x); }
ONRUSH_INLINE long long llround(double x) { return __builtin_llround(x); }
ONRUSH_INLINE bool isnan(double x) { return __builtin_isnan(x); }
ONRUSH_INLINE bool isnan(float x) { return __builtin_isnan(x); }
ONRUSH_INLINE bool isinf(double x) { return __builtin_isinf(x); }
ONRUSH_INLINE bool isinf(float x) { return __builtin_isinf(x); }
ONRUSH_INLINE bool isfinite(double x) { return __builtin_isfinite(x); }
ONRUSH_INLINE bool isfinite(float x) { return __builtin_isfinite(x); }
ONRUSH_INLINE bool signbit(double x) { return __builtin_signbit(x); }
ONRUSH_INLINE bool signbit(float x) { return __builtin_signbit(x); }
#define ONRUSH_MINMAX(T)                                                                                                      \
    ONRUSH_INLINE T min(T a, T b) { return b < a ? b : a; }                                                                   \
    ONRUSH_INLINE T max(T a, T b) { return a < b ? b : a; }
ONRUSH_MINMAX(int)
ONRUSH_MINMAX(unsigned int)
ONRUSH_MINMAX(long)
ONRUSH_MINMAX(unsigned long)
ONRUSH_MINMAX(long long)
ONRUSH_MINMAX(unsigned long long)
ONRUSH_INLINE float min(float a, float b) { return __builtin_fminf(a, b); }
ONRUSH_INLINE float max(float a, float b) { return __builtin_fmaxf(a, b); }
ONRUSH_INLINE double min(double a, double b) { return __builtin_fmin(a, b); }
ONRUSH_INLINE double max(double a, double b) { return __builtin_fmax(a, b); }
// Pairs of two types: those that CUDA's headers have.
#define ONRUSH_MINMAX_MIXED(A, B, T)                                                                                          \
    ONRUSH_INLINE T min(A a, B b) { return min((T)a, (T)b); }                                                                 \
    ONRUSH_INLINE T max(A a, B b) { return max((T)a, (T)b); }                                                                 \
    ONRUSH_INLINE T min(B a, A b) { return min((T)a, (T)b); }                                                                 \
    ONRUSH_INLINE T max(B a, A b) { return max((T)a, (T)b); }
ONRUSH_MINMAX_MIXED(int, unsigned int, unsigned int)
ONRUSH_MINMAX_MIXED(long, unsigned long, unsigned long)
ONRUSH_MINMAX_MIXED(long long, unsigned long long, unsigned long long)
ONRUSH_MINMAX_MIXED(float, double, double)
ONRUSH_INLINE unsigned int umin(unsigned int a, unsigned int b) { return min(a, b); }
ONRUSH_INLINE unsigned int umax(unsigned int a, unsigned int b) { return max(a, b); }
ONRUSH_INLINE long long llmin(long long a, long long b) { return min(a, b); }
ONRUSH_INLINE long long llmax(long long a, long long b) { return max(a, b); }
ONRUSH_INLINE int abs(int x) { return x < 0 ? -x : x; }
ONRUSH_INLINE long abs(long x) { return x < 0 ? -x : x; }
ONRUSH_INLINE long labs(long x) { return x < 0 ? -x : x; }
ONRUSH_INLINE long long abs(long long x) { return x < 0 ? -x : x; }
ONRUSH_INLINE double abs(double x) { return __builtin_fabs(x); }
ONRUSH_INLINE float abs(float x) { return __builtin_fabsf(x); }
ONRUSH_INLINE long long llabs(long long x) { return x < 0 ? -x : x; }
#define ONRUSH_ROUNDED(PREFIX, T, SUFFIX)                                                                                     \
    ONRUSH_INLINE T __##PREFIX##add_rn(T a, T b) { return a + b; }                                                            \
    ONRUSH_INLINE T __##PREFIX##sub_rn(T a, T b) { return a - b; }                                                            \
    ONRUSH_INLINE T __##PREFIX##mul_rn(T a, T b) { return a * b; }                                                            \
    ONRUSH_INLINE T __##PREFIX##div_rn(T a, T b) { return a / b; }
ONRUSH_ROUNDED(d, double, )
ONRUSH_ROUNDED(f, float, f)
ONRUSH_INLINE double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
ONRUSH_INLINE float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
ONRUSH_INLINE double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
ONRUSH_INLINE float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
// Faster and less exact on a GPU: exact here.
ONRUSH_INLINE float __sinf(float x) { return __builtin_sinf(x); }
ONRUSH_INLINE float __cosf(float x) { return __builtin_cosf(x); }
ONRUSH_INLINE float __tanf(float x) { return __builtin_tanf(x); }
ONRUSH_INLINE void __sincosf(float x, float* s, float* c) { *s = __builtin_sinf(x), *c = __builtin_cosf(x); }
ONRUSH_INLINE float __expf(float x) { return __builtin_expf(x); }
ONRUSH_INLINE float __exp10f(float x) { return __builtin_powf(10.0f, x); }
ONRUSH_INLINE float __logf(float x) { return __builtin_logf(x); }
ONRUSH_INLINE float __log2f(float x) { return __builtin_log2f(x); }
ONRUSH_INLINE float __log10f(float x) { return __builtin_log10f(x); }
ONRUSH_INLINE float __powf(float x, float y) { return __builtin_powf(x, y); }
ONRUSH_INLINE float __fdividef(float x, float y) { return x / y; }
ONRUSH_INLINE float __frcp_rn(float x) { return 1.0f / x; }
ONRUSH_INLINE float __frsqrt_rn(float x) { return 1.0f / __builtin_sqrtf(x); }
// 0 for NaN.
ONRUSH_INLINE float __saturatef(float x) { return x > 0.0f ? x < 1.0f ? x : 1.0f : 0.0f; }
// Conversions that saturate, and give 0 for NaN, as the hardware's do.
#define ONRUSH_CONVERT(NAME, FROM, TO, LOWEST, END, ROUND)                                                                    \
    ONRUSH_INLINE TO NAME(FROM x) {                                                                                           \
        x = ROUND(x);                                                                                                         \
        return x != x ? 0 : x >= (FROM)END ? (TO)~LOWEST : x <= (FROM)LOWEST ? LOWEST : (TO)x;                                \
    }
#define ONRUSH_CONVERTS(NAME, FROM, TO, LOWEST, END, SUFFIX)                                                                  \
    ONRUSH_CONVERT(NAME##_rn, FROM, TO, LOWEST, END, __builtin_rint##SUFFIX)                                                  \
    ONRUSH_CONVERT(NAME##_rz, FROM, TO, LOWEST, END, __builtin_trunc##SUFFIX)                                                 \
    ONRUSH_CONVERT(NAME##_ru, FROM, TO, LOWEST, END, __builtin_ceil##SUFFIX)                                                  \
    ONRUSH_CONVERT(NAME##_rd, FROM, TO, LOWEST, END, __builtin_floor##SUFFIX)
ONRUSH_CONVERTS(__float2int, float, int, (-2147483647 - 1), 2147483648.0, f)
ONRUSH_CONVERTS(__float2uint, float, unsigned int, 0u, 4294967296.0, f)
ONRUSH_CONVERTS(__float2ll, float, long long, (-9223372036854775807LL - 1), 9223372036854775808.0, f)
ONRUSH_CONVERTS(__float2ull, float, unsigned long long, 0ull, 18446744073709551616.0, f)
ONRUSH_CONVERTS(__double2int, double, int, (-2147483647 - 1), 2147483648.0, )
ONRUSH_CONVERTS(__double2uint, double, unsigned int, 0u, 4294967296.0, )
ONRUSH_CONVERTS(__double2ll, double, long long, (-9223372036854775807LL - 1), 9223372036854775808.0, )
ONRUSH_CONVERTS(__double2ull, double, unsigned long long, 0ull, 18446744073709551616.0, )
ONRUSH_INLINE double __ll2double_rn(long long x) { return (double)x; }
ONRUSH_INLINE double __ull2double_rn(unsigned long long x) { return (double)x; }
ONRUSH_INLINE double __int2double_rn(int x) { return x; }
ONRUSH_INLINE double __uint2double_rn(unsigned int x) { return x; }
ONRUSH_INLINE float __int2float_rn(int x) { return (float)x; }
ONRUSH_INLINE float __uint2float_rn(unsigned int x) { return (float)x; }
ONRUSH_INLINE float __ll2float_rn(long long x) { return (float)x; }
ONRUSH_INLINE float __ull2float_rn(unsigned long long x) { return (float)x; }
ONRUSH_INLINE float __double2float_rn(double x) { return (float)x; }

// ---- less common mathematics ----
// What is written goes through a variable of the function's own: the library's writes are looked at by nobody.
#define ONRUSH_MATH_MORE(T, SUFFIX)                                                                                           \
    ONRUSH_INLINE T ldexp##SUFFIX(T x, int by) { return __builtin_ldexp##SUFFIX(x, by); }                                     \
    ONRUSH_INLINE T scalbn##SUFFIX(T x, int by) { return __builtin_ldexp##SUFFIX(x, by); }                                    \
    ONRUSH_INLINE T logb##SUFFIX(T x) { return __builtin_logb##SUFFIX(x); }                                                   \
    ONRUSH_INLINE int ilogb##SUFFIX(T x) { return __builtin_ilogb##SUFFIX(x); }                                               \
    ONRUSH_INLINE T frexp##SUFFIX(T x, int* exponent) {                                                                       \
        int own;                                                                                                              \
        T part = __builtin_frexp##SUFFIX(x, &own);                                                                            \
        *exponent = own;                                                                                                      \
        return part;                                                                                                          \
    }                                                                                                                         \
    ONRUSH_INLINE T modf##SUFFIX(T x, T* whole) {                                                                             \
        *whole = __builtin_trunc##SUFFIX(x);                                                                                  \
        return __builtin_copysign##SUFFIX(x - *whole == x - *whole ? x - *whole : (T)0, x);                                   \
    }                                                                                                                         \
    ONRUSH_INLINE T rcbrt##SUFFIX(T x) { return 1 / __builtin_cbrt##SUFFIX(x); }                                              \
    ONRUSH_INLINE T rhypot##SUFFIX(T x, T y) { return 1 / __builtin_hypot##SUFFIX(x, y); }                                    \
    ONRUSH_INLINE T norm3d##SUFFIX(T x, T y, T z) { return __builtin_sqrt##SUFFIX(x * x + y * y + z * z); }                   \
    ONRUSH_INLINE T rnorm3d##SUFFIX(T x, T y, T z) { return 1 / norm3d##SUFFIX(x, y, z); }                                    \
    ONRUSH_INLINE T norm4d##SUFFIX(T x, T y, T z, T w) { return __builtin_sqrt##SUFFIX(x * x + y * y + z * z + w * w); }      \
    ONRUSH_INLINE T normcdf##SUFFIX(T x) { return (T)0.5 * __builtin_erfc##SUFFIX(-x * (T)0.70710678118654752440); }
ONRUSH_MATH_MORE(double, )
ONRUSH_MATH_MORE(float, f)
ONRUSH_INLINE long lroundf(float x) { return __builtin_lroundf(x); }
ONRUSH_INLINE long lrintf(float x) { return __builtin_lrintf(x); }
ONRUSH_INLINE long long llroundf(float x) { return __builtin_llroundf(x); }
ONRUSH_INLINE long long llrintf(float x) { return __builtin_llrintf(x); }
ONRUSH_INLINE float exp10f(float x) { return __builtin_powf(10.0f, x); }
ONRUSH_INLINE float sinpif(float x) { return (float)sinpi(x); }
ONRUSH_INLINE float cospif(float x) { return (float)cospi(x); }
ONRUSH_INLINE void sincospif(float x, float* s, float* c) { *s = sinpif(x), *c = cospif(x); }
ONRUSH_INLINE float fdividef(float x, float y) { return x / y; }
ONRUSH_INLINE unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
ONRUSH_INLINE unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }

// ---- whole numbers ----
ONRUSH_INLINE int __mul24(int a, int b) { return (int)((unsigned int)(a << 8 >> 8) * (unsigned int)(b << 8 >> 8)); }
ONRUSH_INLINE unsigned int __umul24(unsigned int a, unsigned int b) { return (a & 0xffffffu) * (b & 0xffffffu); }
ONRUSH_INLINE unsigned int __sad(int a, int b, unsigned int c) { return (a < b ? (unsigned int)b - (unsigned int)a : (unsigned int)a - (unsigned int)b) + c; }
ONRUSH_INLINE unsigned int __usad(unsigned int a, unsigned int b, unsigned int c) { return (a < b ? b - a : a - b) + c; }
ONRUSH_INLINE int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
ONRUSH_INLINE int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
ONRUSH_INLINE unsigned int __uhadd(unsigned int a, unsigned int b) { return (unsigned int)(((unsigned long long)a + b) >> 1); }
ONRUSH_INLINE unsigned int __urhadd(unsigned int a, unsigned int b) { return (unsigned int)(((unsigned long long)a + b + 1) >> 1); }
ONRUSH_INLINE int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 32; i += 8) c += (int)(signed char)(a >> i) * (signed char)(b >> i);
    return c;
}

// ---- how the runtime calls a kernel: parameters by address, as cuLaunchKernel has them ----
template <class... A> struct OnrushInvoke;
template <> struct OnrushInvoke<> {
    template <class F, class... B> __attribute__((no_sanitize_thread)) static inline void call(F f, void**, B... b) { f(b...); }
};
template <class H, class... T> struct OnrushInvoke<H, T...> {
    template <class F, class... B> __attribute__((no_sanitize_thread)) static inline void call(F f, void** a, B... b) {
        OnrushInvoke<T...>::call(f, a + 1, b..., *(H*)*a);
    }
};
template <class... A> __attribute__((no_sanitize_thread)) static inline void onrush_invoke(void (*f)(A...), void** a) {
    OnrushInvoke<A...>::call(f, a);
}
#define ONRUSH_ENTRY(NAME)                                                                                                    \
    extern "C" __attribute__((visibility("default"), no_sanitize_thread)) void onrush_entry_##NAME(void** a) {                \
        onrush_invoke(NAME, a);                                                                                               \
    }
