// Levels of Louvain and Leiden: weights in fixed point, sums by community, and graphs whose nodes are communities.
//
// A level is made by a radix sort of its arcs' pairs of communities; arcs inside of a community only add to its
// `inside`. All sums are u64, so that their order has no meaning. Sums that many nodes add to go through a table of the
// block first.

enum : u32 { SUM_SLOTS = 256, SUM_PROBES = 8, SUM_CHUNK = 4096 };

// Sums by community of one block's items, added to the global ones at the end.
struct SumTable {
    u32* keys;
    u64* sums;
    u64* all;

    // Barriers are inside.
    __device__ __forceinline__ void clear() {
        __syncthreads();
        for (u32 i = threadIdx.x; i < SUM_SLOTS; i += blockDim.x) {
            keys[i] = NO_COMMUNITY;
            sums[i] = 0;
        }
        __syncthreads();
    }
    __device__ __forceinline__ void add(u32 key, u64 value) {
        if (!table_add(keys, sums, SUM_SLOTS - 1, key, value, SUM_PROBES)) atomicAdd(&all[key], value);
    }
    __device__ __forceinline__ void flush() {
        __syncthreads();
        for (u32 i = threadIdx.x; i < SUM_SLOTS; i += blockDim.x) {
            if (keys[i] != NO_COMMUNITY) atomicAdd(&all[keys[i]], sums[i]);
        }
    }
};

// The sum of all values, added to `out`.
__device__ __forceinline__ void sum_all(const u64* values, u64 count, u64* out) {
    u64 sum = 0;
    for (u64 i = thread_in_grid(); i < count; i += threads_in_grid()) sum += values[i];
    for (u32 by = 16; by > 0; by /= 2) sum += Shuffle<u64>::down(sum, by);
    if (lane_id() == 0 && sum != 0) atomicAdd(out, sum);
}

// Sums of chunks of SUM_CHUNK values, each from its first value on: those of the host, bit for bit. A warp a chunk.
template <class F> __device__ __forceinline__ void sum_chunks(u64 count, f64* partials, F value) {
    for (u64 chunk = thread_in_grid() / WARP; chunk * SUM_CHUNK < count; chunk += threads_in_grid() / WARP) {
        const u64 end = smaller((chunk + 1) * SUM_CHUNK, count);
        // Rust's sums of floats begin with -0.
        f64 sum = -0.0;
        for (u64 base = chunk * SUM_CHUNK; base < end; base += WARP) {
            const u64 i = base + lane_id();
            const f64 own = i < end ? value(i) : 0.0;
            const u32 here = (u32)smaller((u64)WARP, end - base);
            for (u32 lane = 0; lane < here; lane++) sum += Shuffle<f64>::from(own, lane);
        }
        if (lane_id() == 0) partials[chunk] = sum;
    }
}

__device__ __forceinline__ void weight_chunks(const f64* weights, u64 arcs, f64* partials) {
    sum_chunks(arcs, partials, [&](u64 i) { return weights[i]; });
}

// The share of random edges inside of communities, by chunk of communities.
__device__ __forceinline__ void expected_chunks(const u64* out, const u64* into, f64 total, u64 nodes, f64* partials) {
    sum_chunks(nodes, partials, [&](u64 v) { return (f64)out[v] / total * ((f64)into[v] / total); });
}

// The first arc with a negative weight; `first` is the highest number before.
__device__ __forceinline__ void find_negative(const f64* weights, u64 arcs, u32* first) {
    for (u64 arc = thread_in_grid(); arc < arcs; arc += threads_in_grid()) {
        if (weights[arc] < 0) atomicMin(first, (u32)arc);
    }
}

__device__ __forceinline__ void fix_weights(const f64* weights, u64 arcs, f64 scale, u64* out) {
    for (u64 arc = thread_in_grid(); arc < arcs; arc += threads_in_grid()) out[arc] = (u64)round(weights[arc] * scale);
}

// Weights of rows, and of their self-loops times `sides`. Undirected (`sides` is 2), a self-loop counts twice for its
// row.
__device__ __forceinline__ void row_sums(const u32* offsets, const u32* targets, const u64* weights, u64 unit, u64 nodes, u64 arcs,
                                         u32 sides, u64* sums, u64* loops) {
    u64 sum = 0, loop = 0;
    visit_arcs(
        offsets, nodes, arcs,
        [&](u64 row, u64 arc) {
            const u64 weight = weights ? weights[arc] : unit;
            sum += weight;
            if (targets[arc] == row) loop += weight;
        },
        [&](u64 row) {
            if (sum != 0) atomicAdd(&sums[row], sum + (sides == 2 ? loop : 0));
            if (loop != 0 && loops) atomicAdd(&loops[row], sides * loop);
            sum = loop = 0;
        });
}

// Writes the arcs of rows behind `gap[row]` others, into rows with both.
__device__ __forceinline__ void join_rows(const u32* offsets, const u32* targets, const u64* weights, u64 nodes, u64 arcs,
                                          const u32* before, u32 is_second, u32* joined, u64* joined_weights) {
    visit_arcs(
        offsets, nodes, arcs,
        [&](u64 row, u64 arc) {
            // `before` are the offsets of the other rows.
            const u64 to = arc + before[row + (is_second ? 1 : 0)];
            joined[to] = targets[arc];
            if (weights) joined_weights[to] = weights[arc];
        },
        [&](u64) {});
}

__device__ __forceinline__ void join_offsets(const u32* a, const u32* b, u64 nodes, u32* out) {
    for (u64 v = thread_in_grid(); v <= nodes; v += threads_in_grid()) out[v] = a[v] + b[v];
}

// ---- states ----
__device__ __forceinline__ void begin_alone(CommunityLevel level, u32* label, u64* out, u64* into, u32* sizes) {
    for (u64 v = thread_in_grid(); v < level.nodes; v += threads_in_grid()) {
        label[v] = (u32)v;
        sizes[v] = 1;
        out[v] = level.out[v];
        if (level.into) into[v] = level.into[v];
    }
}

// Sums by label; `sums` are 0 before. `values` null: counts.
__device__ __forceinline__ void sum_labels(const u32* label, const u64* values, u64 nodes, u64* sums) {
    __shared__ u32 keys[SUM_SLOTS];
    __shared__ u64 parts[SUM_SLOTS];
    SumTable table{keys, parts, sums};
    const u64 tile = (u64)blockDim.x * ARC_ITEMS;
    for (u64 base = (u64)blockIdx.x * tile; base < nodes; base += (u64)gridDim.x * tile) {
        table.clear();
        for (u64 v = base + threadIdx.x; v < smaller(base + tile, nodes); v += blockDim.x) {
            if (label[v] != NO_COMMUNITY) table.add(label[v], values ? values[v] : 1);
        }
        table.flush();
    }
}

__device__ __forceinline__ void narrow(const u64* values, u64 count, u32* out) {
    for (u64 i = thread_in_grid(); i < count; i += threads_in_grid()) out[i] = (u32)values[i];
}

// ---- the next level ----
__device__ __forceinline__ bool is_isolated(const CommunityLevel& level, u64 v) {
    return level.offsets[v] == level.offsets[v + 1] && level.out[v] == 0 && (!level.into || level.into[v] == 0);
}

// Labels of nodes that are not isolated.
__device__ __forceinline__ void find_labels(CommunityLevel level, const u32* label, u32* occurs) {
    for (u64 v = thread_in_grid(); v < level.nodes; v += threads_in_grid()) {
        if (!is_isolated(level, v)) store_relaxed(&occurs[label[v]], 1u);
    }
}

// The number of each node's community in the next level, NO_COMMUNITY of isolated ones.
__device__ __forceinline__ void number_nodes(CommunityLevel level, const u32* label, const u64* rank, u32* number) {
    for (u64 v = thread_in_grid(); v < level.nodes; v += threads_in_grid()) {
        number[v] = is_isolated(level, v) ? (u32)NO_COMMUNITY : (u32)rank[label[v]];
    }
}

// The sums of labels that occur, by number.
__device__ __forceinline__ void keep_sums(const u64* sums, const u32* occurs, const u64* rank, u64 nodes, u64* kept) {
    for (u64 c = thread_in_grid(); c < nodes; c += threads_in_grid()) {
        if (occurs[c]) kept[rank[c]] = sums[c];
    }
}

// Pairs of communities of arcs between communities, with their weights if there are any, in no order: `count` is how
// many. The weights of other arcs are added to `within`.
__device__ __forceinline__ void pair_communities(CommunityLevel level, const u32* number, u32 bits, u64* keys, u64* values, u64* within,
                                                 u64* count) {
    __shared__ u32 table_keys[SUM_SLOTS];
    __shared__ u64 table_sums[SUM_SLOTS];
    __shared__ u64 first;
    SumTable table{table_keys, table_sums, within};
    for (u64 tile = blockIdx.x; tile * ARC_TILE < level.arcs; tile += gridDim.x) {
        table.clear();
        u64 own[ARC_ITEMS], weights[ARC_ITEMS];
        u32 found = 0;
        u64 inside = 0;
        u64 last_row = level.nodes;
        u32 from = 0;
        visit_tile(
            level.offsets, level.nodes, level.arcs, tile,
            [&](u64 row, u64 arc) {
                const u32 target = level.targets[arc];
                if (target == row) return;
                if (row != last_row) {
                    last_row = row;
                    from = number[row];
                }
                const u32 to = number[target];
                const u64 weight = level.weights ? level.weights[arc] : level.unit;
                if (from == to) {
                    inside += weight;
                    return;
                }
#pragma unroll
                for (u32 i = 0; i < ARC_ITEMS; i++) {
                    if (i == found) {
                        own[i] = (u64)from << bits | to;
                        weights[i] = weight;
                    }
                }
                found++;
            },
            [&](u64) {
                if (inside != 0) table.add(from, inside);
                inside = 0;
            });
        table.flush();
        u32 all;
        const u32 before = sum_before(found, &all);
        if (threadIdx.x == 0) first = atomicAdd(count, (u64)all);
        __syncthreads();
#pragma unroll
        for (u32 i = 0; i < ARC_ITEMS; i++) {
            if (i < found) {
                keys[first + before + i] = own[i];
                if (values) values[first + before + i] = weights[i];
            }
        }
    }
}

// The lanes of a warp at whose keys a run of equal keys begins. The keys ascend.
__device__ __forceinline__ u32 run_heads(const u64* keys, u64 count, u64 at) {
    return __ballot_sync(ALL_LANES, at < count && (at == 0 || keys[at] != keys[at - 1]));
}

// How many runs of equal keys begin in each tile of ARC_TILE keys. A warp takes an eighth of a tile.
__device__ __forceinline__ void count_runs(const u64* keys, u64 count, u32* counts) {
    for (u64 tile = blockIdx.x; tile * ARC_TILE < count; tile += gridDim.x) {
        const u64 first = tile * ARC_TILE + (u64)warp_id() * (WARP * ARC_ITEMS) + lane_id();
        u32 own = 0;
        for (u32 i = 0; i < ARC_ITEMS; i++) own += (u32)__popc(run_heads(keys, count, first + i * WARP));
        u32 all;
        sum_before(lane_id() == 0 ? own : 0, &all);
        if (threadIdx.x == 0) counts[tile] = all;
    }
}

// The key and the first position of each run; `before` are the runs before each tile.
__device__ __forceinline__ void write_runs(const u64* keys, u64 count, const u64* before, u64* run_keys, u32* run_begins) {
    for (u64 tile = blockIdx.x; tile * ARC_TILE < count; tile += gridDim.x) {
        const u64 first = tile * ARC_TILE + (u64)warp_id() * (WARP * ARC_ITEMS) + lane_id();
        u32 heads[ARC_ITEMS], own = 0;
#pragma unroll
        for (u32 i = 0; i < ARC_ITEMS; i++) {
            heads[i] = run_heads(keys, count, first + i * WARP);
            own += (u32)__popc(heads[i]);
        }
        u32 all;
        u64 run = before[tile] + __shfl_sync(ALL_LANES, sum_before(lane_id() == 0 ? own : 0, &all), 0);
#pragma unroll
        for (u32 i = 0; i < ARC_ITEMS; i++) {
            const u64 at = first + i * WARP;
            if (heads[i] >> lane_id() & 1) {
                const u64 to = run + (u32)__popc(heads[i] & ((1u << lane_id()) - 1));
                run_keys[to] = keys[at];
                run_begins[to] = (u32)at;
            }
            run += (u32)__popc(heads[i]);
        }
    }
}

// Targets and weights of the runs. `sums` are inclusive sums of the weights of keys; null: each key weighs `unit`.
__device__ __forceinline__ void weigh_runs(const u64* run_keys, const u32* run_begins, u64 runs, u64 count, u32 bits, const u64* sums,
                                           u64 unit, u32* targets, u64* weights) {
    for (u64 run = thread_in_grid(); run < runs; run += threads_in_grid()) {
        const u64 begin = run_begins[run], end = run + 1 < runs ? run_begins[run + 1] : count;
        targets[run] = (u32)(run_keys[run] & ((1ull << bits) - 1));
        weights[run] = sums ? sums[end - 1] - (begin == 0 ? 0 : sums[begin - 1]) : (end - begin) * unit;
    }
}

// The starts of the runs of each community.
__device__ __forceinline__ void begin_rows(const u64* run_keys, u64 runs, u32 bits, u64 nodes, u32* offsets) {
    for (u64 c = thread_in_grid(); c <= nodes; c += threads_in_grid()) {
        const u64 key = c << bits;
        u64 low = 0, high = runs;
        while (low < high) {
            const u64 middle = low + (high - low) / 2;
            if (run_keys[middle] < key) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        offsets[c] = (u32)low;
    }
}

// Weight inside of communities: of their members, and of arcs between them, which were seen `seen` times too often.
__device__ __forceinline__ void add_within(const u64* within, u64 nodes, u32 seen, u64* inside) {
    for (u64 c = thread_in_grid(); c < nodes; c += threads_in_grid()) inside[c] += within[c] / seen;
}

// ---- results ----
__device__ __forceinline__ void follow_numbers(const u32* number, u64 nodes, u32* membership) {
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) {
        if (membership[v] != NO_COMMUNITY) membership[v] = number[membership[v]];
    }
}

__device__ __forceinline__ void take_labels(const u32* node, const u32* label, u64 nodes, u32* membership) {
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) {
        if (node[v] != NO_COMMUNITY) membership[v] = label[node[v]];
    }
}

// 1 for each node without a community.
__device__ __forceinline__ void flag_missing(const u32* membership, u64 nodes, u32* flags) {
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) flags[v] = membership[v] == NO_COMMUNITY;
}

// Nodes without a community get the numbers from `first` on. Sizes are 0 and lowest nodes the highest number before.
__device__ __forceinline__ void measure_communities(const u64* missing, u64 first, u64 nodes, u32* membership, u32* sizes, u32* lowest) {
    for (u64 base = thread_in_grid() - lane_id(); base < nodes; base += threads_in_grid()) {
        const u64 v = base + lane_id();
        u32 own = NO_COMMUNITY;
        if (v < nodes) {
            own = membership[v];
            if (own == NO_COMMUNITY) own = membership[v] = (u32)(first + missing[v]);
        }
        const u32 peers = __match_any_sync(ALL_LANES, own);
        if (v < nodes && (u32)__ffs((i32)peers) - 1 == lane_id()) {
            atomicAdd(&sizes[own], (u32)__popc(peers));
            if (load_relaxed(&lowest[own]) > v) atomicMin(&lowest[own], (u32)v);
        }
    }
}

// Keys in the order of communities: larger ones first, then the lower node. Numbers that do not occur are last.
__device__ __forceinline__ void size_keys(const u32* sizes, const u32* lowest, u64 count, u64* keys) {
    for (u64 c = thread_in_grid(); c < count; c += threads_in_grid()) keys[c] = (u64)~sizes[c] << 32 | lowest[c];
}

__device__ __forceinline__ void invert(const u32* order, u64 count, u32* place) {
    for (u64 i = thread_in_grid(); i < count; i += threads_in_grid()) place[order[i]] = (u32)i;
}

// ---- Leiden ----
// Weight of each node to others of its community; 0 before.
__device__ __forceinline__ void cut_sums(CommunityLevel level, const u32* label, u64* cut) {
    u64 sum = 0;
    visit_arcs(
        level.offsets, level.nodes, level.arcs,
        [&](u64 row, u64 arc) {
            const u32 target = level.targets[arc];
            if (target != row && label[target] == label[row]) sum += level.weights ? level.weights[arc] : level.unit;
        },
        [&](u64 row) {
            if (sum != 0) atomicAdd(&cut[row], sum);
            sum = 0;
        });
}

// The lowest number of each label; the highest number before. Nodes without a number have none.
__device__ __forceinline__ void lowest_numbers(const u32* label, const u32* number, u64 nodes, u32* lowest) {
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) {
        const u32 own = number ? number[v] : (u32)v;
        if (own != NO_COMMUNITY && load_relaxed(&lowest[label[v]]) > own) atomicMin(&lowest[label[v]], own);
    }
}

// The communities of parts, by the lowest number of their parts.
__device__ __forceinline__ void start_labels(const u32* label, const u32* number, const u32* lowest, u64 nodes, u32* start) {
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) {
        if (number[v] != NO_COMMUNITY) store_relaxed(&start[number[v]], lowest[label[v]]);
    }
}

// Names communities by their lowest nodes, of those that have a `node` in the last level; others by themselves.
__device__ __forceinline__ void find_names(const u32* node, const u32* membership, u64 nodes, u32* lowest) {
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) {
        if (node[v] == NO_COMMUNITY) continue;
        u32* at = &lowest[membership[v]];
        if (load_relaxed(at) > v) atomicMin(at, (u32)v);
    }
}
__device__ __forceinline__ void take_names(const u32* node, const u32* lowest, u64 nodes, u32* membership) {
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) {
        membership[v] = node[v] == NO_COMMUNITY ? (u32)v : lowest[membership[v]];
    }
}

__device__ __forceinline__ void find_above(const u32* values, u64 count, u32 limit, u32* found) {
    for (u64 i = thread_in_grid(); i < count; i += threads_in_grid()) {
        if (values[i] > limit) store_relaxed(found, 1u);
    }
}

__device__ __forceinline__ void find_change(const u32* a, const u32* b, u64 count, u32* found) {
    for (u64 i = thread_in_grid(); i < count; i += threads_in_grid()) {
        if (a[i] != b[i]) store_relaxed(found, 1u);
    }
}

// The root of a tree, with path halving (ECL-CC: Jaiganesh and Burtscher 2018). A parent has a lower number than its
// node.
__device__ __forceinline__ u32 root_of(u32* parent, u32 node) {
    u32 at = load_relaxed(&parent[node]);
    if (at == node) return at;
    u32 before = node, next;
    while (at > (next = load_relaxed(&parent[at]))) {
        store_relaxed(&parent[before], next);
        before = at;
        at = next;
    }
    return at;
}

__device__ __forceinline__ void begin_roots(u64 nodes, u32* parent) {
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) parent[v] = (u32)v;
}

// Joins the trees of neighbours in one community: the higher root under the lower.
__device__ __forceinline__ void join_roots(const u32* offsets, const u32* targets, u64 nodes, u64 arcs, u32 directed,
                                           const u32* membership, u32* parent) {
    visit_arcs(
        offsets, nodes, arcs,
        [&](u64 row, u64 arc) {
            const u32 v = (u32)row, target = targets[arc];
            if ((!directed && target >= v) || membership[target] != membership[v]) return;
            u32 a = root_of(parent, v), b = root_of(parent, target);
            while (a != b) {
                if (a < b) {
                    const u32 swap = a;
                    a = b;
                    b = swap;
                }
                const u32 there = atomicCAS(&parent[a], a, b);
                if (there == a) break;
                a = there;
            }
        },
        [&](u64) {});
}

__device__ __forceinline__ void take_roots(u64 nodes, u32* parent, u32* membership) {
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) membership[v] = root_of(parent, (u32)v);
}
