// Grouping by integer keys of a small known range, with a direct-address table: the slot is the key minus the lowest key. The range
// has `size` keys; slot `size` is for null keys. A key outside the range sets `outside`, and the result is invalid: the caller
// groups by hash.
//
// dense_shared: a table of each block in shared memory, replicated `replicas` times so that lanes with the same key do not collide
// (few keys), merged into device memory at the end. dense_direct: atomic operations on the table in device memory; while it fits
// into L2, 51 G rows/s for sum and count. Above, the rows are partitioned by key first (partition.cuh), so that the working set
// fits again. Layout: keys and values at any aligned address. Determinism: only the last bits of float sums vary. Bytes: the
// columns once: 1e8 rows of 8 + 8 bytes take 0.374 ms at 4.28 TB/s.

template <class K> __device__ __forceinline__ u64 dense_slot(K key, i64 base) { return (u64)(i64)key - (u64)base; }

// Calls `use(slot, value, value is valid)` for each row, UNROLL rows of a thread in flight.
template <class K, class V, bool NULLS, int UNROLL, class F>
__device__ __forceinline__ void dense_rows(const K* keys, const u32* key_validity, u64 key_bit, const V* values, const u32* value_validity,
                                           u64 value_bit, u64 rows, i64 base, u64 size, u32* outside, F use) {
    u64 stride = threads_in_grid();
#pragma unroll 1
    for (u64 first = thread_in_grid(); first < rows; first += stride * UNROLL) {
        K key[UNROLL];
        V value[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            u64 row = first + k * stride;
            if (row < rows) {
                key[k] = __ldcs(&keys[row]);
                value[k] = __ldcs(&values[row]);
            }
        }
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            u64 row = first + k * stride;
            if (row < rows) {
                u64 slot = dense_slot(key[k], base);
                bool valid = true;
                if (NULLS) {
                    valid = value_validity == nullptr || is_valid(value_validity, value_bit + row);
                    if (key_validity != nullptr && !is_valid(key_validity, key_bit + row)) slot = size;
                    else if (slot >= size) slot = ~0ull;
                }
                if (slot > size || !NULLS && slot == size) store_relaxed(outside, 1u);
                else use(slot, value[k], valid);
            }
        }
    }
}

template <class K, class V, int WANT, bool NULLS, int STRIDE, int UNROLL>
__device__ __forceinline__ void dense_shared(const K* keys, const u32* key_validity, u64 key_bit, const V* values,
                                             const u32* value_validity, u64 value_bit, u64 rows, i64 base, u64 size, u32 replicas,
                                             u64* table, u32* outside) {
    DYNAMIC_SHARED(memory);
    u32 slots = ((u32)size + 1) * replicas;
    SharedSlots<V, WANT> shared(memory, slots);
    for (u32 i = threadIdx.x; i < slots; i += blockDim.x) shared.clear(i);
    __syncthreads();
    u32 mine = lane_id() & (replicas - 1);
    dense_rows<K, V, NULLS, UNROLL>(keys, key_validity, key_bit, values, value_validity, value_bit, rows, base, size, outside,
                                    [&](u64 slot, V x, bool valid) { shared.add((u32)slot * replicas + mine, x, valid); });
    __syncthreads();
#pragma unroll 1
    for (u32 slot = threadIdx.x; slot <= (u32)size; slot += blockDim.x) {
        Part<V> part;
        part.clear();
#pragma unroll 1
        for (u32 r = 0; r < replicas; r++) {
            // Each lane starts at another replica: otherwise all would read the same bank.
            shared.take(slot * replicas + ((r + lane_id()) & (replicas - 1)), part);
        }
        if (shared.is_there(part)) Slots<V, WANT>::merge(table + (u64)slot * STRIDE, part);
    }
}

template <class K, class V, int WANT, bool NULLS, int STRIDE, int UNROLL>
__device__ __forceinline__ void dense_direct(const K* keys, const u32* key_validity, u64 key_bit, const V* values,
                                             const u32* value_validity, u64 value_bit, u64 rows, i64 base, u64 size, u64* table,
                                             u32* outside) {
    // Null keys are one group, however many there are: they are aggregated in registers first.
    Part<V> nulls;
    nulls.clear();
    dense_rows<K, V, NULLS, UNROLL>(keys, key_validity, key_bit, values, value_validity, value_bit, rows, base, size, outside,
                                    [&](u64 slot, V x, bool valid) {
                                        if (NULLS && slot == size) nulls.template add<WANT>(x, valid);
                                        else Slots<V, WANT>::add(table + slot * STRIDE, x, valid);
                                    });
    if (NULLS && nulls.rows != 0) Slots<V, WANT>::merge(table + size * STRIDE, nulls);
}

template <class V, int WANT, int STRIDE> __device__ __forceinline__ void dense_clear(u64* table, u64 slots) {
    u64 words[STRIDE] = {};
    Slots<V, WANT>::clear(words);
    for (u64 i = thread_in_grid(); i < slots; i += threads_in_grid()) {
#pragma unroll
        for (int w = 0; w < STRIDE; w++) table[i * STRIDE + w] = words[w];
    }
}
