// The only inline PTX, each piece with its emulated twin: loads and stores with an order, and waiting.

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
// A look at memory that other threads of the block change by atomic operations meanwhile.
template <class T> __device__ __forceinline__ T peek(const T* p) { return load_relaxed(p); }
// Loads that are used once: not kept in the nearest cache.
template <class T> __device__ __forceinline__ Pack<T> stream_pack(const T* p) { return load_pack(p); }
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
#endif
