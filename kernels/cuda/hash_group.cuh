// Grouping by a 64-bit key in an open-addressing table in device memory, with the accumulators (accumulate.cuh) next to
// the key.
//
// A slot is STRIDE 64-bit words: the key, then the accumulators. STRIDE is 2 or 4, so that a slot lies in one 32-byte
// sector (8 if there are more). Linear probing starts at the slot given by the high bits of the mixed key. So rows
// partitioned by these bits use a part of the table that fits into L2. Two extra slots: one for the key that marks an
// empty slot, one for null keys. A key without a free slot within PROBES sets `overflow`, and the caller starts again
// with a larger table. A too low estimate of the number of groups costs time and never gives a wrong result.
//
// The kernel hash_direct uses that table only. The kernel hash_front has a table in shared memory in front of it. The
// front table takes the first keys that arrive and is merged at the end of a chunk of rows; other keys bypass it. It is
// for few groups, and for partitioned rows. With `replicas` above one, lanes with the same key do not collide. Layout:
// keys of up to 64 bits at any aligned address. Determinism: the order of groups and the last bits of float sums vary.
// Bytes: the columns once; and at random, one sector read and one updated for each row. That is 51 G rows/s while the
// table fits L2 (32 MB), 14 above.

enum : u64 { EMPTY_KEY = ~0ull };
enum : u32 { FRONT_PROBES = 64 };

template <int STRIDE> struct HashTable {
    u64* words;
    u64 slots;
    u32* overflow;

    __device__ __forceinline__ u64* slot(u64 at) const { return words + at * STRIDE; }
    __device__ __forceinline__ u64 place(u64 hash) const { return __umul64hi(hash, slots); }

    // The slot of a key, claimed if needed; null if the table is too small. `there` is the key at `place(mix(key))`,
    // loaded before.
    __device__ __forceinline__ u64* find(u64 key, u64 at, u64 there) const {
        const u32 lanes = __activemask();
        u64* found = nullptr;
        for (u32 probe = 0; probe < PROBES; probe++) {
            u64* here = slot(at);
            if (there == EMPTY_KEY) there = atomicCAS(here, (u64)EMPTY_KEY, key);
            if (there == key || there == EMPTY_KEY) {
                found = here;
                break;
            }
            at = at + 1 == slots ? 0 : at + 1;
            there = load_relaxed(slot(at));
        }
        // Reconverges the warp: without this each thread continued alone.
        __syncwarp(lanes);
        if (found == nullptr) store_relaxed(overflow, 1u);
        return found;
    }
    // The same from the key alone; `find_far` for rare cases: compiled once and called.
    __device__ __forceinline__ u64* find_from(u64 key) const {
        u64 at = place(mix(key));
        return find(key, at, load_relaxed(slot(at)));
    }
    __device__ __noinline__ u64* find_far(u64 key) const { return find_from(key); }
    // The extra slots: 0 for the key that marks an empty slot, 1 for null keys. Any key marks it as used.
    __device__ __forceinline__ u64* special(u32 which) const {
        u64* here = slot(slots + which);
        if (load_relaxed(here) == EMPTY_KEY) atomicExch(here, 0ull);
        return here;
    }
    // The slot of any key, also of null.
    __device__ __forceinline__ u64* find_any(u64 key, bool is_null) const {
        return is_null ? special(1) : key == EMPTY_KEY ? special(0) : find_from(key);
    }
    // The word after a key in a table that is complete, all bits set if the key is missing. STRIDE is 2.
    __device__ __forceinline__ u64 word_of(u64 key) const {
        u64 at = place(mix(key));
        for (u32 probe = 0; probe < PROBES; probe++) {
            ulonglong2 here = *(const ulonglong2*)slot(at);
            if (here.x == key) return here.y;
            if (here.x == EMPTY_KEY) break;
            at = at + 1 == slots ? 0 : at + 1;
        }
        return ~0ull;
    }
    __device__ __forceinline__ u64 special_word(u32 which) const { return slot(slots + which)[1]; }
    // Whether another thread has found the table too small: then continuing is useless.
    __device__ __forceinline__ bool is_lost() const { return load_relaxed(overflow) != 0; }
};

template <class V, int WANT, int STRIDE> __device__ __forceinline__ void hash_clear(HashTable<STRIDE> table) {
    u64 words[STRIDE] = {};
    words[0] = EMPTY_KEY;
    Slots<V, WANT>::clear(words + 1);
    for (u64 i = thread_in_grid(); i < table.slots + 2; i += threads_in_grid()) {
#pragma unroll
        for (int w = 0; w < STRIDE; w++) table.slot(i)[w] = words[w];
    }
}

// UNROLL rows of a thread are in flight, up to the first probe.
template <class K, class V, int WANT, bool NULLS, int STRIDE, int UNROLL>
__device__ __forceinline__ void hash_direct(HashTable<STRIDE> table, const K* keys, const u32* key_validity, u64 key_bit, const V* values,
                                            const u32* value_validity, u64 value_bit, u64 rows) {
    u64 stride = threads_in_grid();
    Part<V> nulls;
    nulls.clear();
#pragma unroll 1
    for (u64 first = thread_in_grid(); first < rows; first += stride * UNROLL) {
        if (table.is_lost()) return;
        K key[UNROLL];
        V value[UNROLL];
        u64 at[UNROLL], there[UNROLL];
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
            if (first + k * stride < rows) {
                at[k] = table.place(mix((u64)key[k]));
                there[k] = load_relaxed(table.slot(at[k]));
            }
        }
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            u64 row = first + k * stride;
            if (row < rows) {
                bool valid = !NULLS || value_validity == nullptr || is_valid(value_validity, value_bit + row);
                if (NULLS && key_validity != nullptr && !is_valid(key_validity, key_bit + row)) {
                    nulls.template add<WANT>(value[k], valid);
                } else {
                    u64 word = (u64)key[k];
                    u64* slot = word == EMPTY_KEY ? table.special(0) : table.find(word, at[k], there[k]);
                    if (slot == nullptr) return;
                    Slots<V, WANT>::add(slot + 1, value[k], valid);
                }
            }
        }
    }
    if (NULLS && nulls.rows != 0) Slots<V, WANT>::merge(table.special(1) + 1, nulls);
}

// `front` slots and two extra ones, times `replicas`, in dynamic shared memory. Chunks of `chunk` rows: one for each
// block, or several.
template <class K, class V, int WANT, bool NULLS, int STRIDE, int UNROLL>
__device__ __forceinline__ void hash_front(HashTable<STRIDE> table, const K* keys, const u32* key_validity, u64 key_bit, const V* values,
                                           const u32* value_validity, u64 value_bit, u64 rows, u64 chunk, u32 front, u32 replicas) {
    DYNAMIC_SHARED(memory);
    u32 slots = (front + 2) * replicas;
    u64* front_keys = (u64*)memory;
    SharedSlots<V, WANT> shared(memory + 8ull * slots, slots);
    u32 mine = lane_id() & (replicas - 1);
#pragma unroll 1
    for (u64 begin = (u64)blockIdx.x * chunk; begin < rows; begin += (u64)gridDim.x * chunk) {
        u64 end = rows - begin < chunk ? rows : begin + chunk;
        for (u32 i = threadIdx.x; i < slots; i += blockDim.x) {
            front_keys[i] = EMPTY_KEY;
            shared.clear(i);
        }
        __syncthreads();
#pragma unroll 1
        for (u64 first = begin + threadIdx.x; first < end; first += (u64)blockDim.x * UNROLL) {
            K key[UNROLL];
            V value[UNROLL];
#pragma unroll
            for (int k = 0; k < UNROLL; k++) {
                u64 row = first + (u64)k * blockDim.x;
                if (row < end) {
                    key[k] = __ldcs(&keys[row]);
                    value[k] = __ldcs(&values[row]);
                }
            }
#pragma unroll
            for (int k = 0; k < UNROLL; k++) {
                u64 row = first + (u64)k * blockDim.x;
                if (row < end) {
                    bool valid = !NULLS || value_validity == nullptr || is_valid(value_validity, value_bit + row);
                    bool null_key = NULLS && key_validity != nullptr && !is_valid(key_validity, key_bit + row);
                    u64 word = (u64)key[k];
                    if (null_key || word == EMPTY_KEY) {
                        // These slots need no key: their counts say that they are used.
                        shared.add((front + (null_key ? 1 : 0)) * replicas + mine, value[k], valid);
                    } else {
                        // The low bits of the hash: the high ones are the same in a partition.
                        u32 s = __umulhi((u32)mix(word), front);
                        u32 at = 0;
                        bool found = false;
#pragma unroll 1
                        for (u32 probe = 0; probe < FRONT_PROBES; probe++) {
                            at = s * replicas + mine;
                            u64 there = peek(&front_keys[at]);
                            if (there == EMPTY_KEY) there = atomicCAS(&front_keys[at], (u64)EMPTY_KEY, word);
                            found = there == word || there == EMPTY_KEY;
                            if (found) break;
                            s = s + 1 == front ? 0 : s + 1;
                        }
                        if (found) {
                            shared.add(at, value[k], valid);
                        } else if (!table.is_lost()) {
                            u64* slot = table.find_far(word);
                            if (slot != nullptr) Slots<V, WANT>::add(slot + 1, value[k], valid);
                        }
                    }
                }
            }
        }
        __syncthreads();
#pragma unroll 1
        for (u32 i = threadIdx.x; i < slots; i += blockDim.x) {
            Part<V> part;
            part.clear();
            shared.take(i, part);
            if (shared.is_there(part) && !table.is_lost()) {
                u64 key = front_keys[i];
                u32 s = i / replicas;
                u64* slot = s >= front ? table.special(s - front) : table.find_far(key);
                if (slot != nullptr) Slots<V, WANT>::merge(slot + 1, part);
            }
        }
        __syncthreads();
    }
}
