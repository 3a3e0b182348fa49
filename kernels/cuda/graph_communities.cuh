// Communities of high modularity: local moving (Louvain, Leiden) and refinement (Leiden) of one level.
//
// Nodes move in classes that a hash gives. All nodes of a class decide by one snapshot, then all of them move. Sums are
// u64 in fixed point, and ties go to the community of the lowest number. So results do not depend on the order of
// threads, and are those of the host.
//
// A node sums up the weights to neighbouring communities. Nodes of up to 8 and up to 32 arcs use shuffles. Nodes of up
// to 128 and up to `some` use a hash table of a warp, nodes of up to `most` one of a block. Nodes with more arcs (hubs)
// have a block for each CHUNK_ARCS. A block first gathers the labels of its arcs, then adds up the communities whose
// hash is its own. Lists of nodes are ordered by class, then by these bins.
//
// Bytes that must cross memory: 4 for an arc, and a gather of 4 from L2, once to decide and once to mark.

enum : u32 {
    NO_COMMUNITY = 0xffffffffu,
    CLASSES = 16,
    BINS = 6,
    // For each class: nodes of each bin, chunks of hubs, and their labels.
    HUB_CHUNKS = 6,
    HUB_LABELS = 7,
    CLASS_COUNTS = 8,
    ALL_COUNTS = CLASSES * CLASS_COUNTS,
    CHUNK_ARCS = 4096,
    // Twice as many as there are arcs of a chunk.
    CHUNK_SLOTS = 8192,
    CHUNK_PROBES = 256,
    WARP_ARCS = 128,
    GAIN_SLOTS = 128,
    SEARCH_THREADS = 256,
};

struct CommunityLevel {
    u64 nodes;
    u64 arcs;
    const u32* offsets;
    const u32* targets;
    // Null: each arc weighs `unit`.
    const u64* weights;
    u64 unit;
    const u64* out;
    // Null if undirected.
    const u64* into;
    f64 total;
};

// Communities by number: sums of the members' `out` and `into`, and how many they are.
struct CommunityState {
    u32* label;
    u64* out;
    u64* into;
    u32* sizes;
};

struct CommunitySearch {
    CommunityLevel level;
    CommunityState state;
    f64 resolution;
    // The part of the seed in the hash.
    u64 key;
    // One bit for each node that is to be looked at.
    u32* marks;
    // Nodes by class and bin, the community that each goes to, and what it changes of that part's cut.
    u32* list;
    u32* to;
    u64* change;
    // For each class and bin the place in `list` of its next node.
    u64* cursors;
    // GAIN_SLOTS pairs: gained weight, moved nodes.
    u64* gained;
    // For hubs, by place in `list` less `hub_first`: the starts of their labels and of their chunks. For chunks: the
    // hub, and the number of the chunk in it.
    u64* hub_begin;
    u64* chunks;
    // The communities of the arcs of hubs of one class.
    u32* labels;
    // Refinement: the communities of the whole, and the weight between a part and the rest of its community.
    CommunityState whole;
    u64* cut;
    u64 some;
    u64 most;
    // The best of each chunk's communities, and the weight to the own one.
    struct Partial* partials;
};

__device__ __forceinline__ u64 class_of(u64 key, u32 sweep, u32 node) {
    return mix(key + ((u64)sweep << 32 | node) * 0x9e3779b97f4a7c15ull) % CLASSES;
}

__device__ __forceinline__ u32 slot_of(u32 key) {
    const u32 bits = key * 0x9e3779b1u;
    return bits ^ bits >> 15;
}

// The part of a hub's communities that a community belongs to, as a fraction of 2^32: other bits than those of its
// slot.
__device__ __forceinline__ u32 part_bits(u32 key) {
    u32 bits = (key ^ key >> 16) * 0x85ebca6bu;
    bits = (bits ^ bits >> 13) * 0xc2b2ae35u;
    return bits ^ bits >> 16;
}

__device__ __forceinline__ u64 slots_for(u64 degree) {
    u64 slots = 64;
    while (slots < 2 * degree) slots *= 2;
    return slots;
}

// Adds to a sum in shared memory. A sum of 64 bits is two additions of 32 with a carry, which hardware has. One
// addition of 64 is a compare-and-swap loop, with a turn for each lane if many add to one community.
__device__ __forceinline__ void add_shared(u32* sum, u32 value) { atomicAdd(sum, value); }
__device__ __forceinline__ void add_shared(u64* sum, u64 value) {
    u32* halves = (u32*)sum;
    const u32 low = (u32)value, before = atomicAdd(&halves[0], low);
    const u32 high = (u32)(value >> 32) + (before + low < before ? 1 : 0);
    if (high != 0) atomicAdd(&halves[1], high);
}

// Adds to the sum of a key in shared memory. False if so many slots have other keys: then the key is in none of them,
// and never will be.
template <class S> __device__ __forceinline__ bool table_add(u32* keys, S* sums, u32 mask, u32 key, S weight, u32 probes) {
    u32 slot = slot_of(key) & mask;
    for (u32 probe = 0; probe < probes; probe++) {
        u32 there = peek(&keys[slot]);
        if (there == NO_COMMUNITY) there = atomicCAS(&keys[slot], (u32)NO_COMMUNITY, key);
        if (there == NO_COMMUNITY || there == key) {
            add_shared(&sums[slot], weight);
            return true;
        }
        slot = (slot + 1) & mask;
    }
    return false;
}

// The best community so far.
struct Best {
    f64 score;
    u32 community;
    u64 weight;

    __device__ __forceinline__ void clear() {
        score = -1.0 / 0.0;
        community = NO_COMMUNITY;
        weight = 0;
    }
    __device__ __forceinline__ bool is_below(f64 other, u32 number) const {
        return other > score || (other == score && number < community);
    }
    __device__ __forceinline__ void merge_lane(u32 lane) {
        const f64 other = Shuffle<f64>::from(score, lane);
        const u32 number = Shuffle<u32>::from(community, lane);
        const u64 sum = Shuffle<u64>::from(weight, lane);
        if (is_below(other, number)) {
            score = other;
            community = number;
            weight = sum;
        }
    }
};

struct Partial {
    Best best;
    u64 mine;
};

template <bool WEIGHTED> struct ArcSum { typedef u64 type; };
template <> struct ArcSum<false> { typedef u32 type; };

// How a node chooses: REFINE among parts of its community, else among communities.
template <bool WEIGHTED, bool REFINE> struct CommunityRule {
    typedef typename ArcSum<WEIGHTED>::type Sum;
    CommunitySearch s;
    u32 sweep, own_class;
    // The node at hand.
    u32 node, own, community, own_size;
    u64 out, into, cut;

    __device__ __forceinline__ CommunityRule(const CommunitySearch* search, u32 sweep, u32 own_class)
        : s(*search), sweep(sweep), own_class(own_class) {}

    __device__ __forceinline__ f64 expected(u64 other_out, u64 other_into) const {
        f64 product = (f64)out * (f64)other_out;
        if (s.level.into) product = (f64)out * (f64)other_into + (f64)into * (f64)other_out;
        return s.resolution * product / s.level.total;
    }

    // Whether a part has enough weight to the rest of its community, as seen from that part.
    __device__ __forceinline__ bool is_connected(u64 part_out, u64 part_into, u64 part_cut) const {
        const u64 rest_out = s.whole.out[community] - part_out;
        const u64 rest_into = s.level.into ? s.whole.into[community] - part_into : 0;
        f64 product = (f64)part_out * (f64)rest_out;
        if (s.level.into) product = (f64)part_out * (f64)rest_into + (f64)part_into * (f64)rest_out;
        return (f64)part_cut >= s.resolution * product / s.level.total;
    }

    // False if the node stays for sure.
    __device__ __forceinline__ bool begin(u32 v) {
        node = v;
        own = s.state.label[v];
        out = s.level.out[v];
        into = s.level.into ? s.level.into[v] : 0;
        own_size = s.state.sizes[own];
        if (!REFINE) return true;
        community = s.whole.label[v];
        cut = s.cut[v];
        return own == v && own_size == 1 && cut != 0 && is_connected(out, into, cut);
    }

    __device__ __forceinline__ u32 key(u32 target) const {
        if (target == node || (REFINE && s.whole.label[target] != community)) return NO_COMMUNITY;
        return s.state.label[target];
    }
    __device__ __forceinline__ Sum weight(u64 arc) const { return WEIGHTED ? (Sum)s.level.weights[arc] : (Sum)1; }
    __device__ __forceinline__ u64 total(Sum sum) const { return WEIGHTED ? (u64)sum : (u64)sum * s.level.unit; }

    __device__ __forceinline__ void consider(u32 other, u64 sum, Best& best) const {
        consider(other, sum, s.state.out[other], s.level.into ? s.state.into[other] : 0, best);
    }
    __device__ __forceinline__ void consider(u32 other, u64 sum, u64 other_out, u64 other_into, Best& best) const {
        const f64 score = (f64)sum - expected(other_out, other_into);
        if (!best.is_below(score, other)) return;
        if (REFINE) {
            if (sum == 0 || !(score >= 0.0)) return;
            // The node that began a part may move in this class.
            if (s.state.sizes[other] == 1 && class_of(s.key, sweep, other) == own_class) return;
            if (!is_connected(other_out, other_into, s.cut[other])) return;
        } else if (own_size <= 1 && other > own && s.state.sizes[other] <= 1 && class_of(s.key, sweep, other) == own_class) {
            // Two nodes of a class, each alone, must not change places.
            return;
        }
        best.score = score;
        best.community = other;
        best.weight = sum;
    }

    // By one thread: `mine` is the weight to the node's own community.
    __device__ __forceinline__ void decide(u64 place, const Best& best, u64 mine) const {
        u32 to = NO_COMMUNITY;
        if (REFINE) {
            to = best.community;
            s.change[place] = cut - 2 * best.weight;
        } else if (best.community != NO_COMMUNITY) {
            const u64 rest_out = s.state.out[own] - out;
            const u64 rest_into = s.level.into ? s.state.into[own] - into : 0;
            const f64 stays = (f64)mine - expected(rest_out, rest_into);
            // Below this, a difference is a matter of rounding.
            const f64 least = 1e-12 * (f64)(out + into) * (1.0 + s.resolution);
            if (best.score > stays + least) {
                to = best.community;
                u64* slot = s.gained + 2 * (place % GAIN_SLOTS);
                atomicAdd(&slot[0], (u64)((best.score - stays) / (1.0 + s.resolution)));
                atomicAdd(&slot[1], (u64)1);
            }
        }
        s.to[place] = to;
    }
};

// The best of the communities in a table, and the weight to the own one: slots `first`, `first + step`, ...
template <class Rule>
__device__ __forceinline__ void read_table(const Rule& rule, const u32* keys, const typename Rule::Sum* sums, u32 slots, u32 first,
                                           u32 step, Best& best, u64& mine) {
    // Strengths of several communities are loaded before the first is used.
    const u32 AT_ONCE = 4;
    for (u32 base = first; base < slots; base += AT_ONCE * step) {
        u32 key[AT_ONCE];
        u64 out[AT_ONCE], into[AT_ONCE];
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            const u32 slot = base + i * step;
            key[i] = slot < slots ? keys[slot] : (u32)NO_COMMUNITY;
        }
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            out[i] = key[i] == NO_COMMUNITY ? 0 : rule.s.state.out[key[i]];
            into[i] = key[i] == NO_COMMUNITY || !rule.s.level.into ? 0 : rule.s.state.into[key[i]];
        }
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            if (key[i] == NO_COMMUNITY) continue;
            const u64 sum = rule.total(sums[base + i * step]);
            if (key[i] == rule.own) {
                mine = sum;
            } else {
                rule.consider(key[i], sum, out[i], into[i], best);
            }
        }
    }
}

// Adds arcs `first`, `first + step`, ... up to `end` to a table with room for all of them. Labels of several are loaded
// before the first is used: the loop waits for L2.
template <class Rule>
__device__ __forceinline__ void add_arcs(const Rule& rule, u32* keys, typename Rule::Sum* sums, u32 slots, u64 first, u64 end, u32 step) {
    const u32 AT_ONCE = 4;
    for (u64 base = first; base < end; base += AT_ONCE * step) {
        u32 target[AT_ONCE], key[AT_ONCE];
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            const u64 arc = base + i * step;
            target[i] = arc < end ? rule.s.level.targets[arc] : rule.node;
        }
        // The node itself has no key.
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) key[i] = rule.key(target[i]);
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            if (key[i] != NO_COMMUNITY) table_add(keys, sums, slots - 1, key[i], rule.weight(base + i * step), slots);
        }
    }
}

// Up to LANES arcs a node: a lane has one arc, and adds up those of the other lanes to the same community.
template <class Rule, u32 LANES> __device__ __forceinline__ void decide_lanes(Rule rule, u64 begin, u64 count) {
    typedef typename Rule::Sum Sum;
    const u32 lane = lane_id() % LANES, first = lane_id() - lane;
    const u64 step = threads_in_grid() / LANES;
    for (u64 base = (thread_in_grid() - lane_id()) / LANES; base < count; base += step) {
        const u64 at = base + first / LANES;
        const bool there = at < count && rule.begin(rule.s.list[begin + at]);
        u32 key = NO_COMMUNITY;
        Sum sum = 0;
        if (there) {
            const u64 arc = rule.s.level.offsets[rule.node] + lane;
            if (arc < rule.s.level.offsets[rule.node + 1]) {
                key = rule.key(rule.s.level.targets[arc]);
                sum = rule.weight(arc);
            }
        }
        const Sum weight = sum;
        bool leads = key != NO_COMMUNITY;
#pragma unroll
        for (u32 by = 1; by < LANES; by++) {
            const u32 other = first + (lane + by) % LANES;
            const bool same = Shuffle<u32>::from(key, other) == key;
            const Sum add = Shuffle<Sum>::from(weight, other);
            if (same) {
                sum += add;
                leads &= other > lane_id();
            }
        }
        Best best;
        best.clear();
        u64 mine = 0;
        if (leads) {
            if (key == rule.own) {
                mine = rule.total(sum);
            } else {
                rule.consider(key, rule.total(sum), best);
            }
        }
#pragma unroll
        for (u32 by = LANES / 2; by > 0; by /= 2) {
            mine += Shuffle<u64>::from(mine, lane_id() ^ by);
            best.merge_lane(lane_id() ^ by);
        }
        if (lane == 0 && at < count) {
            if (there) {
                rule.decide(begin + at, best, mine);
            } else {
                rule.s.to[begin + at] = NO_COMMUNITY;
            }
        }
    }
}

// A warp a node, with a table of up to `slots` in dynamic shared memory: at least twice its arcs.
template <class Rule> __device__ __forceinline__ void decide_warp(Rule rule, u64 begin, u64 count, u32 slots) {
    typedef typename Rule::Sum Sum;
    DYNAMIC_SHARED(memory);
    Sum* sums = (Sum*)memory + warp_id() * slots;
    u32* keys = (u32*)((Sum*)memory + SEARCH_THREADS / WARP * slots) + warp_id() * slots;
    for (u64 at = thread_in_grid() / WARP; at < count; at += threads_in_grid() / WARP) {
        if (!rule.begin(rule.s.list[begin + at])) {
            if (lane_id() == 0) rule.s.to[begin + at] = NO_COMMUNITY;
            continue;
        }
        const u64 first = rule.s.level.offsets[rule.node], end = rule.s.level.offsets[rule.node + 1];
        const u32 own_slots = (u32)slots_for(end - first);
        for (u32 slot = lane_id(); slot < own_slots; slot += WARP) {
            keys[slot] = NO_COMMUNITY;
            sums[slot] = 0;
        }
        __syncwarp();
        add_arcs(rule, keys, sums, own_slots, first + lane_id(), end, WARP);
        __syncwarp();
        Best best;
        best.clear();
        u64 mine = 0;
        read_table(rule, keys, sums, own_slots, lane_id(), WARP, best, mine);
        __syncwarp();
        for (u32 by = 16; by > 0; by /= 2) {
            mine += Shuffle<u64>::from(mine, lane_id() ^ by);
            best.merge_lane(lane_id() ^ by);
        }
        if (lane_id() == 0) rule.decide(begin + at, best, mine);
        __syncwarp();
    }
}

// The best of all threads of a block, and the sum of `mine`, in thread 0. Barriers are inside.
__device__ __forceinline__ void merge_block(Best& best, u64& mine) {
    __shared__ f64 scores[WARP];
    __shared__ u32 numbers[WARP];
    __shared__ u64 weights[WARP];
    __shared__ u64 owns[WARP];
    for (u32 by = 16; by > 0; by /= 2) {
        mine += Shuffle<u64>::from(mine, lane_id() ^ by);
        best.merge_lane(lane_id() ^ by);
    }
    if (lane_id() == 0) {
        scores[warp_id()] = best.score;
        numbers[warp_id()] = best.community;
        weights[warp_id()] = best.weight;
        owns[warp_id()] = mine;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (u32 w = 1; w < blockDim.x / WARP; w++) {
            mine += owns[w];
            if (best.is_below(scores[w], numbers[w])) {
                best.score = scores[w];
                best.community = numbers[w];
                best.weight = weights[w];
            }
        }
    }
    __syncthreads();
}

// A block a node, with a table of at least twice its arcs in dynamic shared memory.
template <class Rule> __device__ __forceinline__ void decide_block(Rule rule, u64 begin, u64 count) {
    typedef typename Rule::Sum Sum;
    DYNAMIC_SHARED(memory);
    for (u64 at = blockIdx.x; at < count; at += gridDim.x) {
        if (!rule.begin(rule.s.list[begin + at])) {
            if (threadIdx.x == 0) rule.s.to[begin + at] = NO_COMMUNITY;
            continue;
        }
        const u64 first = rule.s.level.offsets[rule.node], end = rule.s.level.offsets[rule.node + 1];
        const u32 slots = (u32)slots_for(end - first);
        Sum* sums = (Sum*)memory;
        u32* keys = (u32*)(sums + slots);
        for (u32 slot = threadIdx.x; slot < slots; slot += blockDim.x) {
            keys[slot] = NO_COMMUNITY;
            sums[slot] = 0;
        }
        __syncthreads();
        add_arcs(rule, keys, sums, slots, first + threadIdx.x, end, blockDim.x);
        __syncthreads();
        Best best;
        best.clear();
        u64 mine = 0;
        read_table(rule, keys, sums, slots, threadIdx.x, blockDim.x, best, mine);
        merge_block(best, mine);
        if (threadIdx.x == 0) rule.decide(begin + at, best, mine);
    }
}

// A block a chunk of a hub: the communities of its arcs.
template <class Rule> __device__ __forceinline__ void gather_chunks(Rule rule, u64 begin, u64 first_chunk, u64 count, u64 hub_first) {
    for (u64 at = blockIdx.x; at < count; at += gridDim.x) {
        const u64 hub = rule.s.chunks[2 * (first_chunk + at)], number = rule.s.chunks[2 * (first_chunk + at) + 1];
        if (!rule.begin(rule.s.list[begin + hub])) continue;
        const u64 first = rule.s.level.offsets[rule.node], end = rule.s.level.offsets[rule.node + 1];
        const u64 to = rule.s.hub_begin[2 * (begin - hub_first + hub)];
        const u64 last = smaller(first + (number + 1) * CHUNK_ARCS, end);
        const u32 AT_ONCE = 4;
        for (u64 base = first + number * CHUNK_ARCS + threadIdx.x; base < last; base += AT_ONCE * blockDim.x) {
            u32 target[AT_ONCE], key[AT_ONCE];
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; i++) {
                const u64 arc = base + i * blockDim.x;
                target[i] = arc < last ? rule.s.level.targets[arc] : rule.node;
            }
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; i++) key[i] = rule.key(target[i]);
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; i++) {
                const u64 arc = base + i * blockDim.x;
                if (arc < last) rule.s.labels[to + (arc - first)] = key[i];
            }
        }
    }
}

// A block a chunk: adds up the communities of the hub whose hash is that of the chunk. If more of them have it than
// there are slots, the block takes them in several turns.
template <class Rule> __device__ __forceinline__ void add_chunks(Rule rule, u64 begin, u64 first_chunk, u64 count, u64 hub_first) {
    typedef typename Rule::Sum Sum;
    DYNAMIC_SHARED(memory);
    __shared__ u32 is_full;
    Sum* sums = (Sum*)memory;
    u32* keys = (u32*)(sums + CHUNK_SLOTS);
    for (u64 at = blockIdx.x; at < count; at += gridDim.x) {
        const u64 hub = rule.s.chunks[2 * (first_chunk + at)], number = rule.s.chunks[2 * (first_chunk + at) + 1];
        if (!rule.begin(rule.s.list[begin + hub])) continue;
        const u64 first = rule.s.level.offsets[rule.node], arcs = rule.s.level.offsets[rule.node + 1] - first;
        const u32* labels = rule.s.labels + rule.s.hub_begin[2 * (begin - hub_first + hub)];
        const u32 parts = (u32)((arcs + CHUNK_ARCS - 1) / CHUNK_ARCS);
        Best best;
        u64 mine;
        for (u32 turns = 1;; turns *= 2) {
            best.clear();
            mine = 0;
            bool overflows = false;
            for (u32 turn = 0; turn < turns && !overflows; turn++) {
                for (u32 slot = threadIdx.x; slot < CHUNK_SLOTS; slot += blockDim.x) {
                    keys[slot] = NO_COMMUNITY;
                    sums[slot] = 0;
                }
                if (threadIdx.x == 0) is_full = 0;
                __syncthreads();
                const u32 AT_ONCE = 8;
                for (u64 base = threadIdx.x; base < arcs; base += AT_ONCE * blockDim.x) {
                    u32 key[AT_ONCE];
#pragma unroll
                    for (u32 i = 0; i < AT_ONCE; i++) {
                        const u64 at = base + i * blockDim.x;
                        key[i] = at < arcs ? labels[at] : (u32)NO_COMMUNITY;
                    }
#pragma unroll
                    for (u32 i = 0; i < AT_ONCE; i++) {
                        const u32 bits = part_bits(key[i]);
                        const bool is_own = __umulhi(bits, parts) == number && (bits & (turns - 1)) == turn;
                        if (key[i] == NO_COMMUNITY || !is_own) continue;
                        const Sum weight = rule.weight(first + base + i * blockDim.x);
                        if (!table_add(keys, sums, CHUNK_SLOTS - 1, key[i], weight, CHUNK_PROBES)) atomicOr(&is_full, 1u);
                    }
                }
                __syncthreads();
                overflows = is_full != 0;
                if (!overflows) read_table(rule, keys, sums, CHUNK_SLOTS, threadIdx.x, blockDim.x, best, mine);
                __syncthreads();
            }
            if (!overflows) break;
        }
        merge_block(best, mine);
        if (threadIdx.x == 0) rule.s.partials[first_chunk + at] = Partial{best, mine};
    }
}

// A warp a hub: the best of its chunks.
template <class Rule> __device__ __forceinline__ void decide_hubs(Rule rule, u64 begin, u64 count, u64 hub_first) {
    for (u64 at = thread_in_grid() / WARP; at < count; at += threads_in_grid() / WARP) {
        if (!rule.begin(rule.s.list[begin + at])) {
            if (lane_id() == 0) rule.s.to[begin + at] = NO_COMMUNITY;
            continue;
        }
        const u64 degree = rule.s.level.offsets[rule.node + 1] - rule.s.level.offsets[rule.node];
        const u64 first = rule.s.hub_begin[2 * (begin - hub_first + at) + 1], parts = (degree + CHUNK_ARCS - 1) / CHUNK_ARCS;
        Best best;
        best.clear();
        u64 mine = 0;
        for (u64 i = first + lane_id(); i < first + parts; i += WARP) {
            const Partial part = rule.s.partials[i];
            mine += part.mine;
            if (best.is_below(part.best.score, part.best.community)) best = part.best;
        }
        __syncwarp();
        for (u32 by = 16; by > 0; by /= 2) {
            mine += Shuffle<u64>::from(mine, lane_id() ^ by);
            best.merge_lane(lane_id() ^ by);
        }
        if (lane_id() == 0) rule.decide(begin + at, best, mine);
    }
}

// All of a class that decided to move, move.
template <bool REFINE> __device__ __forceinline__ void move_nodes(const CommunitySearch* search, u64 begin, u64 count) {
    const CommunitySearch s = *search;
    for (u64 at = thread_in_grid(); at < count; at += threads_in_grid()) {
        const u32 to = s.to[begin + at];
        if (to == NO_COMMUNITY) continue;
        const u32 v = s.list[begin + at], from = s.state.label[v];
        const u64 out = s.level.out[v];
        atomicAdd(&s.state.sizes[from], 0u - 1u);
        atomicAdd(&s.state.sizes[to], 1u);
        atomicAdd(&s.state.out[from], 0ull - out);
        atomicAdd(&s.state.out[to], out);
        if (s.level.into) {
            const u64 into = s.level.into[v];
            atomicAdd(&s.state.into[from], 0ull - into);
            atomicAdd(&s.state.into[to], into);
        }
        if (REFINE) atomicAdd(&s.cut[to], s.change[begin + at]);
        s.state.label[v] = to;
    }
}

// Marks the ends in other communities of arcs `first`, `first + step`, ... up to `end`.
__device__ __forceinline__ void mark_arcs(const CommunitySearch& s, u64 first, u64 end, u32 step, u32 to) {
    const u32 AT_ONCE = 4;
    for (u64 base = first; base < end; base += AT_ONCE * step) {
        u32 target[AT_ONCE];
        bool asked[AT_ONCE];
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) target[i] = base + i * step < end ? s.level.targets[base + i * step] : (u32)NO_COMMUNITY;
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            asked[i] = target[i] != NO_COMMUNITY && !(load_relaxed(&s.marks[target[i] / 32]) >> (target[i] % 32) & 1);
        }
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) {
            if (asked[i] && s.state.label[target[i]] != to) atomicOr(&s.marks[target[i] / 32], 1u << (target[i] % 32));
        }
    }
}

// Marks the neighbours in other communities of nodes that moved: LANES lanes a node.
template <u32 LANES> __device__ __forceinline__ void mark_lanes(const CommunitySearch* search, u64 begin, u64 count) {
    const CommunitySearch s = *search;
    for (u64 at = thread_in_grid() / LANES; at < count; at += threads_in_grid() / LANES) {
        const u32 to = s.to[begin + at];
        if (to == NO_COMMUNITY) continue;
        const u32 v = s.list[begin + at];
        const u64 end = s.level.offsets[v + 1];
        mark_arcs(s, s.level.offsets[v] + threadIdx.x % LANES, end, LANES, to);
    }
}

__device__ __forceinline__ void mark_chunks(const CommunitySearch* search, u64 begin, u64 first_chunk, u64 count) {
    const CommunitySearch s = *search;
    for (u64 at = blockIdx.x; at < count; at += gridDim.x) {
        const u64 hub = s.chunks[2 * (first_chunk + at)], number = s.chunks[2 * (first_chunk + at) + 1];
        const u32 to = s.to[begin + hub];
        if (to == NO_COMMUNITY) continue;
        const u32 v = s.list[begin + hub];
        const u64 first = s.level.offsets[v] + number * CHUNK_ARCS, end = smaller(first + CHUNK_ARCS, (u64)s.level.offsets[v + 1]);
        mark_arcs(s, first + threadIdx.x, end, blockDim.x, to);
    }
}

__device__ __forceinline__ u32 bin_of(u64 degree, const CommunitySearch& s) {
    return degree <= 8 ? 0 : degree <= 32 ? 1 : degree <= WARP_ARCS ? 2 : degree <= s.some ? 3 : degree <= s.most ? 4 : BINS - 1;
}

// Whether a node is looked at in a sweep.
template <bool REFINE> __device__ __forceinline__ bool is_wanted(CommunityRule<true, REFINE>& rule, u32 v) {
    if (REFINE) return rule.begin(v);
    return rule.s.marks[v / 32] >> (v % 32) & 1;
}

// How many nodes each class has in each bin: adds to ALL_COUNTS numbers that are zero before.
template <bool REFINE> __device__ __forceinline__ void count_classes(const CommunitySearch* search, u32 sweep, u64* counts) {
    __shared__ u32 local[CLASSES * BINS];
    CommunityRule<true, REFINE> rule(search, sweep, 0);
    for (u32 i = threadIdx.x; i < CLASSES * BINS; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (u64 v = thread_in_grid(); v < rule.s.level.nodes; v += threads_in_grid()) {
        const u64 degree = rule.s.level.offsets[v + 1] - rule.s.level.offsets[v];
        if (degree == 0 || !is_wanted<REFINE>(rule, (u32)v)) continue;
        const u32 own_class = (u32)class_of(rule.s.key, sweep, (u32)v), bin = bin_of(degree, rule.s);
        atomicAdd(&local[own_class * BINS + bin], 1u);
        if (bin == BINS - 1) {
            atomicAdd(&counts[own_class * CLASS_COUNTS + HUB_CHUNKS], (degree + CHUNK_ARCS - 1) / CHUNK_ARCS);
            atomicAdd(&counts[own_class * CLASS_COUNTS + HUB_LABELS], degree);
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < CLASSES * BINS; i += blockDim.x) {
        if (local[i] != 0) atomicAdd(&counts[i / BINS * CLASS_COUNTS + i % BINS], (u64)local[i]);
    }
}

// The starts of the nodes of each class and bin: classes one after another, hubs of all classes after all others. Then,
// for each class, where its chunks begin, and 0 for its labels. One thread.
__device__ __forceinline__ void class_begins(const u64* counts, u64* begins, u64* cursors) {
    u64 begin = 0, chunk = 0;
    for (u32 bin = 0; bin < BINS; bin += BINS - 1) {
        for (u32 i = 0; i < CLASSES; i++) {
            for (u32 b = bin; b < (bin == 0 ? BINS - 1 : BINS); b++) {
                begins[i * CLASS_COUNTS + b] = begin;
                begin += counts[i * CLASS_COUNTS + b];
            }
        }
    }
    for (u32 i = 0; i < CLASSES; i++) {
        begins[i * CLASS_COUNTS + HUB_CHUNKS] = chunk;
        chunk += counts[i * CLASS_COUNTS + HUB_CHUNKS];
        begins[i * CLASS_COUNTS + HUB_LABELS] = 0;
    }
    for (u32 i = 0; i < ALL_COUNTS; i++) cursors[i] = begins[i];
}

// Writes the lists, and takes the marks away. `begins` are the cursors before, `hub_first` the place of the first hub.
template <bool REFINE> __device__ __forceinline__ void fill_classes(const CommunitySearch* search, u32 sweep, const u64* begins) {
    __shared__ u32 local[CLASSES * BINS];
    __shared__ u64 place[CLASSES * BINS];
    CommunityRule<true, REFINE> rule(search, sweep, 0);
    const u64 hub_first = begins[BINS - 1];
    const u32 ROUNDS = 8;
    const u64 tile = (u64)blockDim.x * ROUNDS;
    for (u64 base = (u64)blockIdx.x * tile; base < rule.s.level.nodes; base += (u64)gridDim.x * tile) {
        __syncthreads();
        for (u32 i = threadIdx.x; i < CLASSES * BINS; i += blockDim.x) local[i] = 0;
        __syncthreads();
        u32 which[ROUNDS], rank[ROUNDS];
#pragma unroll
        for (u32 r = 0; r < ROUNDS; r++) {
            const u64 v = base + (u64)r * blockDim.x + threadIdx.x;
            which[r] = NO_COMMUNITY;
            if (v >= rule.s.level.nodes) continue;
            const u64 degree = rule.s.level.offsets[v + 1] - rule.s.level.offsets[v];
            if (degree == 0 || !is_wanted<REFINE>(rule, (u32)v)) continue;
            which[r] = (u32)class_of(rule.s.key, sweep, (u32)v) * BINS + bin_of(degree, rule.s);
            rank[r] = atomicAdd(&local[which[r]], 1u);
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < CLASSES * BINS; i += blockDim.x) {
            if (local[i] != 0) place[i] = atomicAdd(&rule.s.cursors[i / BINS * CLASS_COUNTS + i % BINS], (u64)local[i]);
        }
        __syncthreads();
#pragma unroll
        for (u32 r = 0; r < ROUNDS; r++) {
            const u64 v = base + (u64)r * blockDim.x + threadIdx.x;
            if (!REFINE && v < rule.s.level.nodes && v % 32 == 0) rule.s.marks[v / 32] = 0;
            if (which[r] == NO_COMMUNITY) continue;
            const u64 at = place[which[r]] + rank[r];
            rule.s.list[at] = (u32)v;
            if (which[r] % BINS != BINS - 1) continue;
            const u32 own_class = which[r] / BINS;
            const u64 degree = rule.s.level.offsets[v + 1] - rule.s.level.offsets[v];
            const u64 chunks = (degree + CHUNK_ARCS - 1) / CHUNK_ARCS;
            rule.s.hub_begin[2 * (at - hub_first)] = atomicAdd(&rule.s.cursors[own_class * CLASS_COUNTS + HUB_LABELS], degree);
            const u64 chunk = atomicAdd(&rule.s.cursors[own_class * CLASS_COUNTS + HUB_CHUNKS], chunks);
            rule.s.hub_begin[2 * (at - hub_first) + 1] = chunk;
            for (u64 c = 0; c < chunks; c++) {
                rule.s.chunks[2 * (chunk + c)] = at - begins[own_class * CLASS_COUNTS + BINS - 1];
                rule.s.chunks[2 * (chunk + c) + 1] = c;
            }
        }
    }
}
