// Radix partitioning of the rows of a pipeline: count the rows of each partition, then move columns of the rows. The
// layout of `state` and the work items are those of shared_partition.cuh. Tiles in shared memory keep the rows of a
// partition adjacent when they are written. Determinism: the order of rows in a partition varies.

__device__ __forceinline__ u32 count_row(u32* here, u32 part) {
    atomicAdd(&here[part], 1u);
    return part;
}

// `part_of(row, columns, here, part)` sets the partition of a row and counts the row (`count_row`). `part` is ~0u
// before, and stays so for a row that is left out. `changes` counts how often the partition of a row is not that of the
// row before, for one in UNROLL rows.
template <class Columns, int UNROLL, class Load, class PartOf>
__device__ __forceinline__ void partition_count(u64 rows, u32 parts, u64* state, u64 limit, u32* ticket, u64* changes,
                                                Load load, PartOf part_of) {
    DYNAMIC_SHARED(memory);
    u32* here = (u32*)memory;
    u32 changed = 0;
    for (u32 p = threadIdx.x; p < parts; p += blockDim.x) here[p] = 0;
    __syncthreads();
    const u64 stride = threads_in_grid();
#pragma unroll 1
    for (u64 first = thread_in_grid(); first - lane_id() < rows; first += stride * UNROLL) {
        Columns loaded[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            const u64 row = first + k * stride;
            if (row < rows) load(row, loaded[k]);
        }
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            const u64 row = first + k * stride;
            u32 part = ~0u;
            if (row < rows) part_of(row, loaded[k], here, part);
            if (k == 0) {
                const u32 before = __shfl_up_sync(ALL_LANES, part, 1);
                changed += lane_id() != 0 && part != before ? 1 : 0;
            }
        }
    }
    for (u32 by = 16; by > 0; by /= 2) changed += __shfl_down_sync(ALL_LANES, changed, by);
    if (lane_id() == 0 && changed != 0) atomicAdd(changes, (u64)changed);
    __syncthreads();
    parted_count(here, parts, state, limit, ticket);
}

// Moves a tile of THREADS x ITEMS rows for each block. `number_of(row, number)` sets the number of a row's key, of
// which `each` belong to a partition. `number` is ~0u before, and stays so for a row that is left out. `Tile(memory)`
// places the arrays of the columns in shared memory, and `stage(row, at, tile)` fills them.
// `write(tile, at, within, to)` copies one row from there; `within` is the number of its key within the partition.
template <class Tile, int THREADS, int ITEMS, class NumberOf, class Stage, class Write>
__device__ __forceinline__ void partition_move(u64 rows, u32 parts, u32 each, u64* state, NumberOf number_of,
                                               Stage stage, Write write) {
    DYNAMIC_SHARED(memory);
    const u64 TILE = THREADS * ITEMS;
    u64* goes = (u64*)memory;
    u32* here = (u32*)(goes + parts);
    unsigned char* columns = memory + (12ull * parts + 15) / 16 * 16;
    u32* numbers = (u32*)columns;
    const Tile tile(columns + TILE * 4ull);
    u32 number[ITEMS], place[ITEMS];
    for (u32 p = threadIdx.x; p < parts; p += blockDim.x) here[p] = 0;
    __syncthreads();
    const u64 first = blockIdx.x * TILE + threadIdx.x;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const u64 row = first + k * THREADS;
        number[k] = ~0u;
        if (row < rows) number_of(row, number[k]);
    }
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        place[k] = 0;
        if (number[k] != ~0u) place[k] = atomicAdd(&here[number[k] / each], 1u);
    }
    __syncthreads();
    const u32 count = parted_tile<THREADS>(here, goes, parts, state + parts);
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const u64 row = first + k * THREADS;
        if (number[k] != ~0u) {
            const u32 at = here[number[k] / each] + place[k];
            numbers[at] = number[k];
            stage(row, at, tile);
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < count; i += THREADS) {
        const u32 part = numbers[i] / each;
        write(tile, i, numbers[i] - part * each, goes[part] + i);
    }
}

// Groups moved rows: a partition of `each` groups has a table in shared memory (`Tables` of group_shared.cuh). A block
// takes one work item after another. `load(row, columns)` loads a row, `add(part, columns, tables)` adds it.
template <class Columns, class Tables, int UNROLL, int STRIDE, class Load, class Add>
__device__ __forceinline__ void group_partitions(u64 size, u32 each, u32 parts, u64 limit, const u64* state, u64* table,
                                                 Load load, Add add) {
    DYNAMIC_SHARED(memory);
    __shared__ u32 its_part;
    const Tables tables(memory, each);
    const u64 *starts = state + 2 * parts, *items = starts + parts + 1;
    const u64 all = items[parts];
#pragma unroll 1
    for (u64 item = blockIdx.x; item < all; item += gridDim.x) {
        if (threadIdx.x == 0) its_part = parted_part(items, parts, item);
        for (u32 i = threadIdx.x; i < each; i += blockDim.x) tables.clear(i);
        __syncthreads();
        const u32 part = its_part;
        const u64 begin = starts[part] + (item - items[part]) * limit, end = smaller(starts[part + 1], begin + limit);
#pragma unroll 1
        for (u64 first = begin + threadIdx.x; first < end; first += (u64)blockDim.x * UNROLL) {
            Columns loaded[UNROLL];
#pragma unroll
            for (int k = 0; k < UNROLL; k++) {
                const u64 row = first + k * blockDim.x;
                if (row < end) load(row, loaded[k]);
            }
#pragma unroll
            for (int k = 0; k < UNROLL; k++) {
                if (first + k * blockDim.x < end) add(part, loaded[k], tables);
            }
        }
        __syncthreads();
#pragma unroll 1
        for (u32 i = threadIdx.x; i < each && (u64)part * each + i < size; i += blockDim.x) {
            typename Tables::GroupTotals merged;
            merged.add(tables, i);
            if (merged.is_present()) merged.store(table + ((u64)part * each + i) * STRIDE);
        }
        __syncthreads();
    }
}
