// Operations that the emulated device implements differently: the only inline PTX, ordered loads and stores, and
// `match` of digits.

#ifdef ONRUSH_EMULATED
template <class T> __device__ __forceinline__ T load_relaxed(const T* p) {
    onrush_tick();
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}
template <class T> __device__ __forceinline__ T load_acquire(const T* p) {
    onrush_tick();
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
template <class T> __device__ __forceinline__ void store_relaxed(T* p, T x) { __atomic_store_n(p, x, __ATOMIC_RELAXED); }
template <class T> __device__ __forceinline__ void store_release(T* p, T x) { __atomic_store_n(p, x, __ATOMIC_RELEASE); }
// A load of memory that other threads of the block change by atomic operations.
template <class T> __device__ __forceinline__ T peek(const T* p) { return load_relaxed(p); }
// Streaming loads: not cached in L1.
template <class T> __device__ __forceinline__ Pack<T> stream_pack(const T* p) { return load_pack(p); }
// The lanes of a warp with the same digit of so many bits.
template <int BITS> __device__ __forceinline__ u32 same_lanes(u32 x) { return __match_any_sync(ALL_LANES, x); }
#else
__device__ __forceinline__ u32 load_relaxed(const u32* p) {
    u32 x;
    asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
    return x;
}
__device__ __forceinline__ u64 load_relaxed(const u64* p) {
    u64 x;
    asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(x) : "l"(p) : "memory");
    return x;
}
__device__ __forceinline__ u32 load_acquire(const u32* p) {
    u32 x;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
    return x;
}
__device__ __forceinline__ u64 load_acquire(const u64* p) {
    u64 x;
    asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(x) : "l"(p) : "memory");
    return x;
}
__device__ __forceinline__ void store_relaxed(u32* p, u32 x) { asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(p), "r"(x) : "memory"); }
__device__ __forceinline__ void store_relaxed(u64* p, u64 x) { asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(p), "l"(x) : "memory"); }
__device__ __forceinline__ void store_release(u32* p, u32 x) { asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(p), "r"(x) : "memory"); }
__device__ __forceinline__ void store_release(u64* p, u64 x) { asm volatile("st.release.gpu.u64 [%0], %1;" ::"l"(p), "l"(x) : "memory"); }
template <class T> __device__ __forceinline__ T peek(const T* p) { return *(const volatile T*)p; }
template <class T> __device__ __forceinline__ Pack<T> stream_pack(const T* p) {
    Pack<T> pack;
    uint4& x = *(uint4*)&pack;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                 : "l"(p));
    return pack;
}
// One vote for each bit: `match` would take one turn for each distinct digit.
template <int BITS> __device__ __forceinline__ u32 same_lanes(u32 x) {
    u32 same = ALL_LANES;
#pragma unroll
    for (int bit = 0; bit < BITS; bit++) {
        const bool set = (x >> bit & 1) != 0;
        const u32 votes = __ballot_sync(ALL_LANES, set);
        same &= set ? votes : ~votes;
    }
    return same;
}
#endif
