// ForceAtlas2: attraction by pull over rows, repulsion by a quadtree (Barnes and Hut 1986), with the second moments of
// a cell.
//
// Layout: positions and forces are pairs of f64. Points are sorted along Morton's curve of CURVE_LEVELS halvings of a
// square, so that those of a cell follow one another. Cells are in depth-first order, and name the next cell that is
// not in them. So a walk needs no stack. Sums over all nodes are made of LAYOUT_BLOCKS partial ones in order: results
// do not depend on the device.

enum : u32 { CURVE_LEVELS = 21, LEAF_POINTS = 12, LAYOUT_BLOCKS = 264, LAYOUT_THREADS = 256, WIDE_ROW_THREADS = 512 };

struct LayoutCell {
    f64 mass;
    f64 x;
    f64 y;
    // The sum of mass * (point - centre)^2, as a complex number.
    f64 second_x;
    f64 second_y;
    // The square of the distance from which on the cell is far.
    f64 near;
    u32 begin;
    u32 end;
    u32 next;
    u32 level;
};

// The sum over a block in thread 0, in the order of a tree. Barriers are inside.
__device__ __forceinline__ f64 block_sum(f64 value) {
    __shared__ f64 sums[LAYOUT_THREADS / WARP];
    for (u32 by = 16; by > 0; by /= 2) value += Shuffle<f64>::down(value, by);
    __syncthreads();
    if (lane_id() == 0) sums[warp_id()] = value;
    __syncthreads();
    f64 all = 0;
    for (u32 w = 0; w < LAYOUT_THREADS / WARP; w++) all += sums[w];
    return all;
}
__device__ __forceinline__ f64 block_low(f64 value) {
    __shared__ f64 lows[LAYOUT_THREADS / WARP];
    for (u32 by = 16; by > 0; by /= 2) value = smaller(value, Shuffle<f64>::down(value, by));
    __syncthreads();
    if (lane_id() == 0) lows[warp_id()] = value;
    __syncthreads();
    f64 all = lows[0];
    for (u32 w = 1; w < LAYOUT_THREADS / WARP; w++) all = smaller(all, lows[w]);
    return all;
}

// By block: the sums of both coordinates, their lowest values, and their highest with the sign changed.
__device__ __forceinline__ void summarize(const double2* points, u64 nodes, f64* partials) {
    f64 sum_x = 0, sum_y = 0, low_x = 1.0 / 0.0, low_y = low_x, high_x = low_x, high_y = low_x;
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) {
        const double2 p = points[v];
        sum_x += p.x;
        sum_y += p.y;
        low_x = smaller(low_x, p.x);
        low_y = smaller(low_y, p.y);
        high_x = smaller(high_x, -p.x);
        high_y = smaller(high_y, -p.y);
    }
    sum_x = block_sum(sum_x);
    sum_y = block_sum(sum_y);
    low_x = block_low(low_x);
    low_y = block_low(low_y);
    high_x = block_low(high_x);
    high_y = block_low(high_y);
    if (threadIdx.x != 0) return;
    f64* out = partials + 6 * blockIdx.x;
    out[0] = sum_x;
    out[1] = sum_y;
    out[2] = low_x;
    out[3] = low_y;
    out[4] = high_x;
    out[5] = high_y;
}

// A zero before each of the low 32 bits.
__device__ __forceinline__ u64 spread_bits(u64 x) {
    x = (x | x << 16) & 0x0000ffff0000ffffull;
    x = (x | x << 8) & 0x00ff00ff00ff00ffull;
    x = (x | x << 4) & 0x0f0f0f0f0f0f0f0full;
    x = (x | x << 2) & 0x3333333333333333ull;
    return (x | x << 1) & 0x5555555555555555ull;
}

__device__ __forceinline__ void curve_keys(const double2* points, u64 nodes, f64 low_x, f64 low_y, f64 side, u64* keys, u64* numbers) {
    const f64 cells = (f64)(1u << CURVE_LEVELS);
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) {
        const u64 x = (u64)smaller((points[v].x - low_x) / side * cells, cells - 1.0);
        const u64 y = (u64)smaller((points[v].y - low_y) / side * cells, cells - 1.0);
        keys[v] = spread_bits(x) | spread_bits(y) << 1;
        numbers[v] = v;
    }
}

__device__ __forceinline__ void take_order(const u64* numbers, const double2* points, const f64* mass, u64 nodes, u32* order,
                                           double2* sorted, f64* sorted_mass) {
    for (u64 i = thread_in_grid(); i < nodes; i += threads_in_grid()) {
        const u64 v = numbers[i];
        order[i] = (u32)v;
        sorted[i] = points[v];
        sorted_mass[i] = mass[v];
    }
}

// The deepest level on which two keys are in one cell.
__device__ __forceinline__ u32 common_level(u64 a, u64 b) {
    return a == b ? (u32)CURVE_LEVELS : ((u32)__clzll((i64)(a ^ b)) - (64 - 2 * CURVE_LEVELS)) / 2;
}

// The first position in a cell of `key`, or behind it.
__device__ __forceinline__ u64 cell_bound(const u64* keys, u64 nodes, u64 key, u32 level, bool behind) {
    const u32 shift = 2 * (CURVE_LEVELS - level);
    const u64 wanted = (key >> shift) + (behind ? 1 : 0);
    u64 low = 0, high = nodes;
    while (low < high) {
        const u64 middle = low + (high - low) / 2;
        if (keys[middle] >> shift < wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// The levels of the cells that begin at a point: from `first` to before `end`. A cell of more than LEAF_POINTS has
// smaller ones.
__device__ __forceinline__ void levels_at(const u64* keys, u64 nodes, u64 i, u32* first, u32* end) {
    const u64 key = keys[i];
    *first = 0;
    if (i > 0) {
        const u32 level = common_level(keys[i - 1], key);
        *first = *end = level + 1;
        if (level == CURVE_LEVELS) return;
        const u64 begin = cell_bound(keys, nodes, key, level, false);
        if (begin + LEAF_POINTS >= nodes || common_level(keys[begin + LEAF_POINTS], key) < level) return;
    }
    u32 last = *first;
    if (i + LEAF_POINTS < nodes) last = larger(last, smaller((u32)CURVE_LEVELS, common_level(keys[i + LEAF_POINTS], key) + 1));
    *end = last + 1;
}

__device__ __forceinline__ void count_cells(const u64* keys, u64 nodes, u32* counts) {
    for (u64 i = thread_in_grid(); i < nodes; i += threads_in_grid()) {
        u32 first, end;
        levels_at(keys, nodes, i, &first, &end);
        counts[i] = end - first;
    }
}

// `starts` are the numbers of cells before each point; the last one is that of all. `unit` is the side of the square
// over the opening angle.
__device__ __forceinline__ void write_cells(const u64* keys, u64 nodes, const u64* starts, f64 unit, LayoutCell* cells) {
    for (u64 i = thread_in_grid(); i < nodes; i += threads_in_grid()) {
        u32 first, last;
        levels_at(keys, nodes, i, &first, &last);
        for (u32 level = first; level < last; level++) {
            const u64 end = cell_bound(keys, nodes, keys[i], level, true);
            const f64 side = unit / (f64)(1u << level);
            LayoutCell cell;
            cell.mass = cell.x = cell.y = cell.second_x = cell.second_y = 0;
            cell.near = side * side;
            cell.begin = (u32)i;
            cell.end = (u32)end;
            cell.next = (u32)starts[end];
            cell.level = level;
            cells[starts[i] + (level - first)] = cell;
        }
    }
}

// Masses and moments of the cells of a level, of points or of the cells in them.
__device__ __forceinline__ void sum_cells(LayoutCell* cells, u64 count, u32 level, const double2* points, const f64* mass) {
    for (u64 c = thread_in_grid(); c < count; c += threads_in_grid()) {
        if (cells[c].level != level) continue;
        LayoutCell cell = cells[c];
        const bool is_leaf = cell.next == c + 1;
        for (u32 i = is_leaf ? cell.begin : (u32)c + 1; i < (is_leaf ? cell.end : cell.next); i = is_leaf ? i + 1 : cells[i].next) {
            const f64 m = is_leaf ? mass[i] : cells[i].mass;
            cell.mass += m;
            cell.x += m * (is_leaf ? points[i].x : cells[i].x);
            cell.y += m * (is_leaf ? points[i].y : cells[i].y);
        }
        cell.x /= cell.mass;
        cell.y /= cell.mass;
        for (u32 i = is_leaf ? cell.begin : (u32)c + 1; i < (is_leaf ? cell.end : cell.next); i = is_leaf ? i + 1 : cells[i].next) {
            const f64 m = is_leaf ? mass[i] : cells[i].mass;
            const f64 x = (is_leaf ? points[i].x : cells[i].x) - cell.x, y = (is_leaf ? points[i].y : cells[i].y) - cell.y;
            cell.second_x += m * (x * x - y * y) + (is_leaf ? 0.0 : cells[i].second_x);
            cell.second_y += m * (2.0 * x * y) + (is_leaf ? 0.0 : cells[i].second_y);
        }
        cells[c] = cell;
    }
}

// The force between two points at one place, as if their distance were 0.01, in a direction that a hash gives.
__device__ __forceinline__ double2 push_apart(u32 node, u32 other) {
    const u64 low = smaller(node, other), high = larger(node, other);
    u64 z = (low ^ 0x6a09e667f3bcc909ull) * 0xff51afd7ed558ccdull;
    z = (z ^ (z >> 33)) * 0xc4ceb9fe1a85ec53ull;
    const f64 angle = (f64)(mix(z + high * 0x9e3779b97f4a7c15ull) >> 11) / 9007199254740992.0 * 6.283185307179586;
    const f64 sign = node == low ? 100.0 : -100.0;
    return double2{sign * cos(angle), sign * sin(angle)};
}

// Adds the force of one point.
__device__ __forceinline__ void push(u32 node, double2 point, u32 other, double2 at, f64 mass, double2& force) {
    const f64 x = point.x - at.x, y = point.y - at.y;
    const f64 square = x * x + y * y;
    if (square > 0) {
        const f64 factor = mass / square;
        force.x += factor * x;
        force.y += factor * y;
    } else if (other != node) {
        const double2 apart = push_apart(node, other);
        force.x += mass * apart.x;
        force.y += mass * apart.y;
    }
}

// For each node the sum over all others of mass * difference / distance^2, by the tree; a thread a point of the curve.
__device__ __forceinline__ void tree_forces(const LayoutCell* cells, u32 count, const u32* order, const double2* points, const f64* mass,
                                            u64 nodes, double2* forces) {
    for (u64 i = thread_in_grid(); i < nodes; i += threads_in_grid()) {
        const double2 point = points[i];
        const u32 node = order[i];
        double2 force{0.0, 0.0};
        for (u32 at = 0; at < count;) {
            const LayoutCell& cell = cells[at];
            const f64 x = point.x - cell.x, y = point.y - cell.y;
            const f64 square = x * x + y * y;
            const u32 next = cell.next;
            if (square > cell.near && (i < cell.begin || i >= cell.end)) {
                // M / w + Q / w^3 for the complex w = x + iy, of which the force is the conjugate.
                const f64 inverse = 1.0 / square;
                const f64 re = x * inverse, im = -y * inverse;
                const f64 re2 = re * re - im * im, im2 = 2.0 * re * im;
                const f64 a = cell.mass + cell.second_x * re2 - cell.second_y * im2;
                const f64 b = cell.second_x * im2 + cell.second_y * re2;
                force.x += a * re - b * im;
                force.y -= a * im + b * re;
                at = next;
                continue;
            }
            if (next == at + 1) {
                for (u32 j = cell.begin; j < cell.end; j++) push(node, point, order[j], points[j], mass[j], force);
            }
            at++;
        }
        forces[node] = force;
    }
}

// The same by all pairs.
__device__ __forceinline__ void exact_forces(const double2* points, const f64* mass, u64 nodes, double2* forces) {
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) {
        double2 force{0.0, 0.0};
        for (u32 u = 0; u < nodes; u++) push((u32)v, points[v], u, points[u], mass[u], force);
        forces[v] = force;
    }
}

__device__ __forceinline__ void take_masses(const u64* first, const u64* second, u64 nodes, f64* mass) {
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) mass[v] = (f64)(first[v] + (second ? second[v] : 0) + 1);
}

// Adds the force along an arc.
template <bool LINLOG> __device__ __forceinline__ void pull_arc(double2 point, double2 at, f64 factor, double2& force) {
    const f64 x = at.x - point.x, y = at.y - point.y;
    if (LINLOG) {
        const f64 distance = hypot(x, y);
        factor *= distance > 0 ? log1p(distance) / distance : 0.0;
    }
    force.x += factor * x;
    force.y += factor * y;
}

// Forces along the arcs of the nodes `begin` to `end` of the order, LANES lanes each: 8, a warp, or a block (0).
template <bool LINLOG, u32 LANES>
__device__ __forceinline__ void attract(const u32* offsets, const u32* targets, const f64* weights, const u32* order, u32 begin, u32 end,
                                        const double2* points, double2* forces) {
    __shared__ double2 sums[WIDE_ROW_THREADS / WARP];
    const u32 lanes = LANES == 0 ? blockDim.x : LANES;
    const u64 first = LANES == 0 ? blockIdx.x : thread_in_grid() / lanes, step = LANES == 0 ? gridDim.x : threads_in_grid() / lanes;
    // Lanes of a warp leave the loop together.
    const u64 own = LANES == 8 ? first % (WARP / 8) : 0;
    for (u64 base = begin + first - own; base < end; base += step) {
        const u64 i = base + own;
        double2 force{0.0, 0.0};
        u32 v = 0;
        if (i < end) {
            v = order[i];
            const double2 point = points[v];
            const u32 last = offsets[v + 1];
            for (u32 arc = offsets[v] + threadIdx.x % lanes; arc < last; arc += lanes) {
                pull_arc<LINLOG>(point, points[targets[arc]], weights ? weights[arc] : 1.0, force);
            }
        }
        __syncwarp();
        for (u32 by = (LANES == 8 ? 4 : 16); by > 0; by /= 2) {
            force.x += Shuffle<f64>::down(force.x, by);
            force.y += Shuffle<f64>::down(force.y, by);
        }
        if (LANES == 0) {
            __syncthreads();
            if (lane_id() == 0) sums[warp_id()] = force;
            __syncthreads();
            if (threadIdx.x == 0) {
                for (u32 w = 1; w < blockDim.x / WARP; w++) {
                    force.x += sums[w].x;
                    force.y += sums[w].y;
                }
            }
        }
        if (i < end && threadIdx.x % lanes == 0) forces[v] = force;
    }
}

struct LayoutForces {
    f64 middle_x;
    f64 middle_y;
    f64 scaling;
    f64 gravity;
    u32 distributed;
    u32 strong;
};

// All forces of each node, into those of attraction. By block: swing and traction.
__device__ __forceinline__ void add_forces(LayoutForces options, const double2* points, const f64* mass, const double2* repulsion,
                                           u64 nodes, double2* forces, f64* partials) {
    f64 swing = 0, traction = 0;
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) {
        const double2 point = points[v];
        const f64 m = mass[v];
        double2 force = forces[v];
        if (options.distributed) {
            force.x /= m;
            force.y /= m;
        }
        const f64 x = point.x - options.middle_x, y = point.y - options.middle_y;
        const f64 unit = options.strong ? 1.0 : hypot(x, y);
        const f64 gravity = unit > 0 ? -options.gravity * m / unit : 0.0;
        force.x = force.x + repulsion[v].x * m * options.scaling + gravity * x;
        force.y = force.y + repulsion[v].y * m * options.scaling + gravity * y;
        forces[v] = force;
        swing += m * hypot(point.x - force.x, point.y - force.y);
        traction += m * hypot(point.x + force.x, point.y + force.y);
    }
    swing = block_sum(swing);
    traction = block_sum(traction);
    if (threadIdx.x != 0) return;
    partials[2 * blockIdx.x] = swing;
    partials[2 * blockIdx.x + 1] = traction;
}

// Moves all nodes. By block: how far, along both axes.
__device__ __forceinline__ void move_points(const double2* forces, const f64* mass, u64 nodes, f64 speed, double2* points, f64* partials) {
    f64 moved = 0;
    for (u64 v = thread_in_grid(); v < nodes; v += threads_in_grid()) {
        const double2 force = forces[v];
        const f64 swinging = mass[v] * hypot(force.x, force.y);
        const f64 factor = speed / (1.0 + sqrt(speed * swinging));
        const f64 x = force.x * factor, y = force.y * factor;
        points[v] = double2{points[v].x + x, points[v].y + y};
        moved += fabs(x) + fabs(y);
    }
    moved = block_sum(moved);
    if (threadIdx.x == 0) partials[blockIdx.x] = moved;
}
