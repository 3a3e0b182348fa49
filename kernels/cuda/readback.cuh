// Small buffers on their way to the host: one launch copies all of them to mapped pinned memory.

// Two words for each buffer: its address; and its position in `room` (upper half) and its bytes (lower half).
template <int WORDS> struct Pieces {
    u64 words[WORDS];
};

// A block for each buffer, which is aligned to 4 bytes. The last block sets the completion flag `told` from 0 to DONE.
// `done` is zero before and after.
template <u64 DONE, int WORDS>
__device__ __forceinline__ void collect_pieces(const Pieces<WORDS>& pieces, u8* room, u32* done, volatile u64* told) {
    const u8* from = (const u8*)pieces.words[2 * blockIdx.x];
    const u64 place = pieces.words[2 * blockIdx.x + 1];
    u8* to = room + (place >> 32);
    const u32 bytes = (u32)place;
    for (u32 i = threadIdx.x; i < bytes / 4; i += blockDim.x) ((u32*)to)[i] = ((const u32*)from)[i];
    if (threadIdx.x < bytes % 4) to[bytes / 4 * 4 + threadIdx.x] = from[bytes / 4 * 4 + threadIdx.x];
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x != 0) return;
    if (atomicAdd(done, 1u) != gridDim.x - 1) return;
    __threadfence_system();
    *done = 0;
    told[1] = 0;
    __threadfence_system();
    told[0] = DONE;
}
