// Gather and scatter: out[i] = values[indices[i]], and out[indices[i]] = values[i].
//
// Layout: values of T, indices of I (u32 or u64), at any aligned address; validity of both by bitmaps from any bit on.
// A null index gives a null, as for the unmatched rows of an outer join. Output: values from a 16-byte boundary on, and
// with NULLS a bitmap from bit 0 on. The caller guarantees indices in range, and distinct ones for scatter.
// Deterministic. Bytes: the indices and the output once, and a 32-byte sector for each random row. So 1e8 f64 of 8 GB
// take about 3 ms at 33 G sectors/s.

template <class T, class I, bool NULLS, int UNROLL>
__device__ __forceinline__ void gather(const T* values, const u32* validity, u64 bit, const I* indices, const u32* index_validity,
                                       u64 index_bit, u64 rows, T* out, u32* out_validity) {
    u64 stride = threads_in_grid();
    // Whole warps iterate together, because they vote.
#pragma unroll 1
    for (u64 first = thread_in_grid(); first - lane_id() < rows; first += stride * UNROLL) {
        I index[UNROLL];
        bool valid[UNROLL];
        T value[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            u64 row = first + k * stride;
            valid[k] = row < rows && (!NULLS || index_validity == nullptr || is_valid(index_validity, index_bit + row));
            if (valid[k]) index[k] = __ldcs(&indices[row]);
        }
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            value[k] = 0;
            if (valid[k]) {
                value[k] = values[index[k]];
                if (NULLS && validity != nullptr) valid[k] = is_valid(validity, bit + index[k]);
            }
        }
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            u64 row = first + k * stride;
            if (row < rows) out[row] = value[k];
            if (NULLS) {
                u32 word = __ballot_sync(ALL_LANES, valid[k]);
                if (lane_id() == 0 && row < rows) out_validity[row / 32] = word;
            }
        }
    }
}

template <class T, class I> __device__ __forceinline__ void scatter(const T* values, const I* indices, u64 rows, T* out) {
    for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) out[indices[row]] = values[row];
}
