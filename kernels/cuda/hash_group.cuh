// Grouping by a 64-bit key in an open-addressing table in device memory, with the accumulators beside the key.
//
// A slot is WORDS 64-bit words, 1, 2 or 4 so that a slot lies in one 32-byte sector: the key, then accumulators, which the caller
// updates by atomics. Linear probing from the mixed key on; the table has a power of two slots plus two: one for the key that marks an
// empty slot, one for null keys. A key that finds no place within PROBES slots sets `overflow`: the caller starts again with a larger
// table, so an estimate of the number of groups that is too low costs time and never a wrong result.
// Layout: keys of 64 bits at any aligned address. Determinism: the order of groups and the last bits of float sums vary.
// Bytes: the columns once; and at random, one sector read and one updated a row: 51 G rows/s while the table fits L2 (32 MB), 14 past it.

enum : u64 { EMPTY_KEY = ~0ull };
enum : u32 { PROBES = 512 };

template <int WORDS> struct Slot {
    u64 word[WORDS];
};

template <int WORDS> struct HashTable {
    Slot<WORDS>* slots;
    u64 mask;
    u32* overflow;

    __device__ __forceinline__ u64 null_slot() const { return mask + 2; }

    // The slot of a key, claimed if need be; null when the table is too small.
    __device__ __forceinline__ u64* find(u64 key) const {
        if (key == EMPTY_KEY) {
            u64* slot = slots[mask + 1].word;
            // Any other key marks it as used: its real key is known.
            if (load_relaxed(&slot[0]) == EMPTY_KEY) atomicExch(&slot[0], 0ull);
            return slot;
        }
        u64 at = mix(key) & mask;
        for (u32 probe = 0; probe < PROBES; probe++) {
            u64* slot = slots[at].word;
            u64 there = load_relaxed(&slot[0]);
            if (there == EMPTY_KEY) there = atomicCAS(&slot[0], (u64)EMPTY_KEY, key);
            if (there == key || there == EMPTY_KEY) return slot;
            at = (at + 1) & mask;
        }
        store_relaxed(overflow, 1u);
        return nullptr;
    }

    __device__ __forceinline__ u64* null_group() const {
        u64* slot = slots[mask + 2].word;
        if (load_relaxed(&slot[0]) == EMPTY_KEY) atomicExch(&slot[0], 0ull);
        return slot;
    }

    // Whether another thread has found the table too small: then going on is a waste.
    __device__ __forceinline__ bool is_lost() const { return load_relaxed(overflow) != 0; }
};

// Writes `initial` into all slots.
template <int WORDS> __device__ __forceinline__ void hash_clear(HashTable<WORDS> table, Slot<WORDS> initial) {
    u64 slots = table.mask + 3;
    for (u64 i = thread_in_grid(); i < slots; i += threads_in_grid()) table.slots[i] = initial;
}

// Calls `write(group, key, is_null, slot)` for each group, with groups numbered from 0 on in no order.
template <int WORDS, class F> __device__ __forceinline__ void hash_extract(HashTable<WORDS> table, u64* groups, F write) {
    u64 slots = table.mask + 3;
    u64 rounds = (slots + threads_in_grid() - 1) / threads_in_grid();
    for (u64 r = 0; r < rounds; r++) {
        u64 i = r * threads_in_grid() + thread_in_grid();
        Slot<WORDS> slot;
        bool used = false;
        if (i < slots) {
            slot = table.slots[i];
            used = slot.word[0] != EMPTY_KEY;
        }
        // One atomic operation for a warp.
        u32 all = __ballot_sync(ALL_LANES, used);
        u64 first = 0;
        if (lane_id() == 0 && all) first = atomicAdd(groups, (u64)__popc(all));
        first = __shfl_sync(ALL_LANES, first, 0);
        if (used) {
            u64 key = i == table.mask + 1 ? (u64)EMPTY_KEY : i == table.mask + 2 ? 0 : slot.word[0];
            write(first + __popc(all & ((1u << lane_id()) - 1)), key, i == table.mask + 2, slot);
        }
    }
}

// Finds each row's group and calls `update(slot, value)` where the value is there. UNROLL rows of a thread are under way at a time.
template <int WORDS, class K, class V, int UNROLL, class F>
__device__ __forceinline__ void hash_rows(HashTable<WORDS> table, const K* keys, const u32* key_validity, u64 key_bit, const V* values,
                                          const u32* value_validity, u64 value_bit, u64 rows, F update) {
    u64 stride = threads_in_grid();
    for (u64 first = thread_in_grid(); first < rows; first += stride * UNROLL) {
        if (table.is_lost()) return;
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
                bool has_key = key_validity == nullptr || is_valid(key_validity, key_bit + row);
                u64* slot = has_key ? table.find((u64)key[k]) : table.null_group();
                if (slot == nullptr) return;
                if (value_validity == nullptr || is_valid(value_validity, value_bit + row)) update(slot, value[k]);
            }
        }
    }
}
