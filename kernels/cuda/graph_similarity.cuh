// Similarity of pairs of nodes by common neighbours, on simple rows. A warp a pair: lanes take the shorter row and
// search in the longer.

enum : u32 { COMMON_NEIGHBORS, JACCARD, ADAMIC_ADAR, RESOURCE_ALLOCATION, PREFERENTIAL_ATTACHMENT, OVERLAP, SORENSEN, COSINE };

// The term that a common neighbour of a degree adds.
template <u32 MEASURE> __device__ __forceinline__ f64 term_of(u32 degree) {
    if (MEASURE == ADAMIC_ADAR) return 1.0 / log((f64)degree);
    if (MEASURE == RESOURCE_ALLOCATION) return 1.0 / (f64)degree;
    return 1.0;
}

// The value for a sum over common neighbours, and two degrees.
template <u32 MEASURE> __device__ __forceinline__ f64 similarity_of(f64 sum, f64 a, f64 b) {
    switch (MEASURE) {
    case JACCARD: return a + b == 0 ? 0.0 : sum / (a + b - sum);
    case PREFERENTIAL_ATTACHMENT: return a * b;
    case OVERLAP: return a == 0 || b == 0 ? 0.0 : sum / smaller(a, b);
    case SORENSEN: return a + b == 0 ? 0.0 : 2.0 * sum / (a + b);
    case COSINE: return a == 0 || b == 0 ? 0.0 : sum / sqrt(a * b);
    default: return sum;
    }
}

template <u32 MEASURE>
__device__ __forceinline__ void similarities(const u32* offsets, const u32* targets, const u32* first, const u32* second, u64 pairs,
                                             f64* out) {
    for (u64 pair = thread_in_grid() / WARP; pair < pairs; pair += threads_in_grid() / WARP) {
        u32 u = first[pair], v = second[pair];
        const f64 a = offsets[u + 1] - offsets[u], b = offsets[v + 1] - offsets[v];
        if (a > b) {
            const u32 swap = u;
            u = v;
            v = swap;
        }
        f64 sum = 0;
        const u32 begin = offsets[v], end = offsets[v + 1];
        if (MEASURE != PREFERENTIAL_ATTACHMENT) {
            for (u32 arc = offsets[u] + lane_id(); arc < offsets[u + 1]; arc += WARP) {
                const u32 target = targets[arc];
                u32 low = begin, high = end;
                while (low < high) {
                    const u32 middle = low + (high - low) / 2;
                    if (targets[middle] < target) {
                        low = middle + 1;
                    } else {
                        high = middle;
                    }
                }
                if (low < end && targets[low] == target) sum += term_of<MEASURE>(offsets[target + 1] - offsets[target]);
            }
            __syncwarp();
            for (u32 by = 16; by > 0; by /= 2) sum += Shuffle<f64>::down(sum, by);
        }
        if (lane_id() == 0) out[pair] = similarity_of<MEASURE>(sum, a, b);
    }
}
