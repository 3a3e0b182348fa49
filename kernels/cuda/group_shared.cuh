// GROUP BY with tables in shared memory, for keys that are slots. A table has an array for each accumulator. Generated
// code describes the accumulators by a class `Tables`:
//
// `Tables(memory, slots)` places the arrays, and `clear(i)` empties a slot. `GroupTotals` adds up the slots of one
// group in registers: `add(tables, i)`. `is_present()` says whether the group has rows, and `store(slot)` adds the
// result to a slot in device memory. Updates are atomic in both memories (acc_* of pipeline.cuh). Determinism: as
// hash_group.cuh.

// Each block has a table with `replicas` slots for each group, side by side, so that lanes with the same key do not
// collide. `rows(tables, mine)` adds the rows of the block to replica `mine`. A table is merged once, at the end.
template <class Tables, int STRIDE, class Rows>
__device__ __forceinline__ void group_in_shared(u64 size, u32 replicas, u64* table, Rows rows) {
    DYNAMIC_SHARED(memory);
    const u32 slots = (u32)size * replicas;
    const Tables tables(memory, slots);
    for (u32 i = threadIdx.x; i < slots; i += blockDim.x) tables.clear(i);
    __syncthreads();
    rows(tables, lane_id() & (replicas - 1));
    __syncthreads();
#pragma unroll 1
    for (u32 group = threadIdx.x; group < (u32)size; group += blockDim.x) {
        typename Tables::GroupTotals merged;
#pragma unroll 1
        for (u32 i = 0; i < replicas; i++) merged.add(tables, group * replicas + ((i + lane_id()) & (replicas - 1)));
        if (merged.is_present()) merged.store(table + (u64)group * STRIDE);
    }
}
