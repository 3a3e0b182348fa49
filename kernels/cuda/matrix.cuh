// Passes over the rows of columns of numbers, read as f64: statistics, sums of products, gradients of linear models,
// k-means.
//
// Layout: columns of any number type without nulls, each with a shift and a scale: a pass sees (value - shift) * scale.
// A block reads a tile of rows into shared memory, row after row. A row has the features, a column of ones, and the
// target if there is one. Output: sums of each chunk of rows; `matrix_merge` adds them up in the order of the chunks.
// Determinism: a chunk is one block, and the chunks depend on the number of rows alone. So results depend on neither
// the device nor the grid. Bytes that must cross memory: each column once: 1e6 x 50 f32 take 0.047 ms at 4.28 TB/s.
// Products of 52 columns are 1.4e9 multiplications: 0.08 ms at 16.7e12 a second.

enum { MATRIX_THREADS = 256 };
enum { MATRIX_PRODUCTS = 0, MATRIX_RESIDUALS = 1, MATRIX_LOGISTIC = 2 };

struct MatrixColumn {
    u64 address;
    u64 type;
    f64 shift;
    f64 scale;
};

__device__ __forceinline__ f64 matrix_raw(u64 address, u64 type, u64 row) {
    switch (type) {
    case 0: return ((const f32*)address)[row];
    case 1: return ((const f64*)address)[row];
    case 2: return ((const i8*)address)[row];
    case 3: return ((const i16*)address)[row];
    case 4: return ((const i32*)address)[row];
    case 5: return (f64)((const i64*)address)[row];
    case 6: return ((const u8*)address)[row];
    case 7: return ((const u16*)address)[row];
    case 8: return ((const u32*)address)[row];
    default: return (f64)((const u64*)address)[row];
    }
}

__device__ __forceinline__ f64 matrix_value(const MatrixColumn& column, u64 row) {
    return (matrix_raw(column.address, column.type, row) - column.shift) * column.scale;
}

// Doubles from one row of a tile to the next. Columns are read four at a time; two more spread the rows over the banks.
__device__ __forceinline__ u32 matrix_pitch(u32 width) { return (width + 3) / 4 * 4 + 2; }

__device__ __forceinline__ u32 matrix_power(u32 least) {
    u32 power = 1;
#pragma unroll 1
    while (power < least) power *= 2;
    return power;
}

// The rows base to base + count of a tile. Rows behind them are 0. Between two barriers.
template <int TILE>
__device__ __forceinline__ void matrix_load(const MatrixColumn* columns, u32 features, u32 width, u32 pitch, u64 base, u32 count,
                                            f64* tile) {
#pragma unroll 1
    for (u32 c = warp_id(); c < width; c += MATRIX_THREADS / WARP) {
        MatrixColumn column = columns[c < features ? c : features];
#pragma unroll 1
        for (u32 r = lane_id(); r < TILE; r += WARP) {
            f64 value = 0;
            if (r < count) value = c == features ? 1.0 : matrix_value(column, base + r);
            tile[r * pitch + c] = value;
        }
    }
}

// Sums of products of all columns; or of the features and ones: residuals of the target, or the derivatives of the mean
// logistic loss. `columns` are the features and then the target. A chunk's sums: gradient, sums of columns, two
// numbers, blocks of 4 x 4 products.
template <int MODE, int TILE>
__device__ __forceinline__ void matrix_pass(const MatrixColumn* columns, u32 features, u32 target, const f64* params, f64 share, u64 rows,
                                            u64 chunk_rows, u32 slots, f64* partials, u64 stride) {
    DYNAMIC_SHARED(memory);
    u32 width = features + 1 + target;
    u32 used = MODE == MATRIX_PRODUCTS ? width : features + 1;
    u32 pitch = matrix_pitch(width);
    f64* tile = (f64*)memory;
    f64* weight = tile + TILE * pitch;
    f64* residual = weight + pitch;
    f64* root = residual + TILE;
    u32 t = threadIdx.x;
    u64 first = blockIdx.x * chunk_rows;
    u64 end = smaller(rows, first + chunk_rows);

    u32 quads = (used + 3) / 4;
    u32 groups = MATRIX_THREADS / slots, slot = t % slots, group = t / slots;
    u32 number = blockIdx.y * slots + slot;
    bool works = MODE != MATRIX_RESIDUALS && number < quads * (quads + 1) / 2;
    u32 right = 0;
    if (works) {
#pragma unroll 1
        while ((right + 1) * (right + 2) / 2 <= number) right++;
    }
    u32 left = works ? number - right * (right + 1) / 2 : 0;
    f64 product[16];
#pragma unroll
    for (int i = 0; i < 16; i++) product[i] = 0;

    // The gradient: some groups of threads, one for each column.
    u32 lanes = matrix_power(used);
    u32 column = t % lanes, share_of = t / lanes, shares = MATRIX_THREADS / lanes;
    f64 gradient = 0, sum = 0, squares = 0, total = 0;

#pragma unroll 1
    for (u32 i = t; i < TILE * pitch; i += MATRIX_THREADS) tile[i] = 0;
    if (MODE != MATRIX_PRODUCTS) {
#pragma unroll 1
        for (u32 i = t; i <= features; i += MATRIX_THREADS) weight[i] = params[i];
    }
#pragma unroll 1
    for (u64 base = first; base < end; base += TILE) {
        u32 count = (u32)smaller((u64)TILE, end - base);
        __syncthreads();
        // The target is the last column of the tile, behind the ones.
        matrix_load<TILE>(columns, features, features + 1, pitch, base, count, tile);
        if (target) {
            MatrixColumn last = columns[features];
#pragma unroll 1
            for (u32 r = t; r < TILE; r += MATRIX_THREADS) {
                tile[r * pitch + features + 1] = r < count ? matrix_value(last, base + r) : 0.0;
            }
        }
        __syncthreads();
        if (MODE != MATRIX_PRODUCTS) {
            const u32 each = MATRIX_THREADS / TILE;
            u32 r = t / each, q = t % each;
            f64 z = 0;
#pragma unroll 1
            for (u32 c = q; c <= features; c += each) z += tile[r * pitch + c] * weight[c];
#pragma unroll
            for (u32 by = each / 2; by > 0; by /= 2) z += Shuffle<f64>::down(z, by);
            if (q == 0) {
                f64 y = tile[r * pitch + features + 1];
                bool is_row = r < count;
                if (MODE == MATRIX_RESIDUALS) {
                    f64 rest = is_row ? y - z : 0.0;
                    residual[r] = rest;
                    squares += rest * rest;
                    total += rest;
                } else {
                    f64 e = exp(-fabs(z));
                    f64 p = z >= 0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
                    residual[r] = is_row ? (p - y) * share : 0.0;
                    root[r] = is_row ? sqrt(share * e) / (1.0 + e) : 0.0;
                    if (is_row) squares += share * (log1p(e) + (z > 0 ? z : 0.0) - y * z);
                }
            }
            __syncthreads();
            if (column < used && (blockIdx.y == 0)) {
#pragma unroll 1
                for (u32 k = share_of; k < TILE; k += shares) {
                    f64 value = tile[k * pitch + column];
                    gradient += value * residual[k];
                    sum += value;
                }
            }
            if (MODE == MATRIX_LOGISTIC) {
                __syncthreads();
#pragma unroll 1
                for (u32 k = warp_id(); k < TILE; k += MATRIX_THREADS / WARP) {
#pragma unroll 1
                    for (u32 c = lane_id(); c <= features; c += WARP) tile[k * pitch + c] *= root[k];
                }
                // The second derivatives do not include the target.
#pragma unroll 1
                for (u32 k = t; k < TILE; k += MATRIX_THREADS) tile[k * pitch + features + 1] = 0;
                __syncthreads();
            }
        }
        if (works) {
#pragma unroll 2
            for (u32 k = group; k < TILE; k += groups) {
                const f64* row = tile + k * pitch;
                f64 a[4], b[4];
#pragma unroll
                for (int i = 0; i < 4; i += 2) {
                    *(double2*)(a + i) = *(const double2*)(row + 4 * left + i);
                    *(double2*)(b + i) = *(const double2*)(row + 4 * right + i);
                }
#pragma unroll
                for (int j = 0; j < 4; j++) {
#pragma unroll
                    for (int i = 0; i < 4; i++) product[4 * j + i] += a[i] * b[j];
                }
            }
        }
    }

    f64* out = partials + blockIdx.x * stride;
    if (MODE != MATRIX_PRODUCTS) {
        // The parts of a column, and of the numbers, in order.
        __syncthreads();
        tile[2 * t] = gradient;
        tile[2 * t + 1] = sum;
        __syncthreads();
        if (blockIdx.y == 0 && share_of == 0 && column < used) {
#pragma unroll 1
            for (u32 k = 1; k < shares; k++) {
                gradient += tile[2 * (k * lanes + column)];
                sum += tile[2 * (k * lanes + column) + 1];
            }
            out[column] = gradient;
            out[used + column] = sum;
        }
        __syncthreads();
        tile[2 * t] = squares;
        tile[2 * t + 1] = total;
        __syncthreads();
        if (blockIdx.y == 0 && t == 0) {
#pragma unroll 1
            for (u32 k = 1; k < MATRIX_THREADS; k++) {
                squares += tile[2 * k];
                total += tile[2 * k + 1];
            }
            out[2 * used] = squares;
            out[2 * used + 1] = total;
        }
        out += 2 * used + 2;
    }
    if (MODE != MATRIX_RESIDUALS) {
#pragma unroll 1
        for (u32 k = 1; k < groups; k++) {
            __syncthreads();
            if (works && group == k) {
#pragma unroll
                for (int i = 0; i < 16; i++) tile[i * slots + slot] = product[i];
            }
            __syncthreads();
            if (works && group == 0) {
#pragma unroll
                for (int i = 0; i < 16; i++) product[i] += tile[i * slots + slot];
            }
        }
        if (works && group == 0) {
#pragma unroll
            for (int i = 0; i < 16; i++) out[number * 16 + i] = product[i];
        }
    }
}

// Sums of the chunks in their order.
__device__ __forceinline__ void matrix_merge(const f64* partials, u64 chunks, u64 stride, f64* out) {
    u64 i = thread_in_grid();
    if (i >= stride) return;
    f64 sum = 0;
    u64 chunk = 0;
#pragma unroll 1
    for (; chunk + 8 <= chunks; chunk += 8) {
        f64 part[8];
#pragma unroll
        for (int k = 0; k < 8; k++) part[k] = partials[(chunk + k) * stride + i];
#pragma unroll
        for (int k = 0; k < 8; k++) sum += part[k];
    }
#pragma unroll 1
    for (; chunk < chunks; chunk++) sum += partials[chunk * stride + i];
    out[i] = sum;
}

// Lowest and highest value and the sum of a chunk of one column, and how many values are not finite. Grid: chunks x
// columns.
__device__ __forceinline__ void matrix_statistics(const MatrixColumn* columns, u64 rows, u64 chunk_rows, f64* out) {
    __shared__ f64 shared[4 * MATRIX_THREADS];
    MatrixColumn column = columns[blockIdx.y];
    u64 first = blockIdx.x * chunk_rows;
    u64 end = smaller(rows, first + chunk_rows);
    const f64 infinity = __longlong_as_double(0x7ff0000000000000LL);
    f64 low = infinity, high = -infinity, sum = 0, bad = 0;
    u32 t = threadIdx.x;
#pragma unroll 4
    for (u64 row = first + t; row < end; row += MATRIX_THREADS) {
        f64 value = matrix_raw(column.address, column.type, row);
        if (fabs(value) < infinity) {
            low = smaller(low, value);
            high = larger(high, value);
            sum += value;
        } else {
            bad += 1;
        }
    }
#pragma unroll 1
    for (u32 half = MATRIX_THREADS; half > 0; half /= 2) {
        if (half < MATRIX_THREADS && t < half) {
            low = smaller(low, shared[4 * (t + half)]);
            high = larger(high, shared[4 * (t + half) + 1]);
            sum += shared[4 * (t + half) + 2];
            bad += shared[4 * (t + half) + 3];
        }
        __syncthreads();
        if (t < half) {
            shared[4 * t] = low;
            shared[4 * t + 1] = high;
            shared[4 * t + 2] = sum;
            shared[4 * t + 3] = bad;
        }
        __syncthreads();
    }
    if (t < 4) out[4 * (blockIdx.y * gridDim.x + blockIdx.x) + t] = shared[t];
}

// Features of some rows, shifted and scaled, row after row.
__device__ __forceinline__ void matrix_gather(const MatrixColumn* columns, u32 features, const u64* rows, u64 count, f64* out) {
    u64 i = thread_in_grid();
    if (i < count * features) out[i] = matrix_value(columns[i % features], rows[i / features]);
}

// Distances of the rows to some points: the smaller of each and of what `closest` has. A chunk's sums for each point.
// `keep`: those to the first point become `closest`.
template <int TILE>
__device__ __forceinline__ void matrix_nearer(const MatrixColumn* columns, u32 features, const f64* points, u32 count, u32 keep, u64 rows,
                                              u64 chunk_rows, f64* closest, f64* partials) {
    DYNAMIC_SHARED(memory);
    u32 pitch = matrix_pitch(features + 1);
    f64* tile = (f64*)memory;
    f64* point = tile + TILE * pitch;
    f64* distance = point + count * features;
    u32 t = threadIdx.x;
    u64 first = blockIdx.x * chunk_rows;
    u64 end = smaller(rows, first + chunk_rows);
    f64 sum = 0;
#pragma unroll 1
    for (u32 i = t; i < count * features; i += MATRIX_THREADS) point[i] = points[i];
#pragma unroll 1
    for (u64 base = first; base < end; base += TILE) {
        u32 here = (u32)smaller((u64)TILE, end - base);
        __syncthreads();
        matrix_load<TILE>(columns, features, features, pitch, base, here, tile);
        __syncthreads();
#pragma unroll 1
        for (u32 i = t; i < TILE * count; i += MATRIX_THREADS) {
            u32 r = i % TILE, p = i / TILE;
            f64 square = 0;
#pragma unroll 1
            for (u32 c = 0; c < features; c++) {
                f64 apart = tile[r * pitch + c] - point[p * features + c];
                square += apart * apart;
            }
            if (r < here) square = smaller(square, closest[base + r]);
            distance[i] = r < here ? square : 0.0;
        }
        __syncthreads();
        if (t < count) {
#pragma unroll 1
            for (u32 r = 0; r < here; r++) sum += distance[t * TILE + r];
        }
        if (keep) {
#pragma unroll 1
            for (u32 r = t; r < here; r += MATRIX_THREADS) closest[base + r] = distance[r];
        }
    }
    if (t < count) partials[blockIdx.x * count + t] = sum;
}

// The nearest centre of each row, the lower one on ties. A chunk's sums: for each centre its features and its rows;
// then the rows whose centre changed, and the squared distances.
template <int TILE>
__device__ __forceinline__ void matrix_assign(const MatrixColumn* columns, u32 features, const f64* centers, u32 count, u64 rows,
                                              u64 chunk_rows, u32* labels, f64* partials, u64 stride) {
    DYNAMIC_SHARED(memory);
    u32 width = features + 1;
    u32 pitch = matrix_pitch(width);
    f64* tile = (f64*)memory;
    f64* center = tile + TILE * pitch;
    f64* sums = center + count * features;
    f64* square = sums + count * width;
    u32* label = (u32*)(square + TILE);
    u32 t = threadIdx.x;
    u64 first = blockIdx.x * chunk_rows;
    u64 end = smaller(rows, first + chunk_rows);
    f64 changed = 0, inertia = 0;
#pragma unroll 1
    for (u32 i = t; i < count * features; i += MATRIX_THREADS) center[i] = centers[i];
#pragma unroll 1
    for (u32 i = t; i < count * width; i += MATRIX_THREADS) sums[i] = 0;
#pragma unroll 1
    for (u64 base = first; base < end; base += TILE) {
        u32 here = (u32)smaller((u64)TILE, end - base);
        __syncthreads();
        matrix_load<TILE>(columns, features, width, pitch, base, here, tile);
        __syncthreads();
        const u32 each = MATRIX_THREADS / TILE;
        u32 r = t / each, q = t % each;
        f64 best = __longlong_as_double(0x7ff0000000000000LL);
        u32 nearest = 0xffffffffu;
#pragma unroll 1
        for (u32 k = q; k < count; k += each) {
            f64 apart = 0;
#pragma unroll 4
            for (u32 c = 0; c < features; c++) {
                f64 by = tile[r * pitch + c] - center[k * features + c];
                apart += by * by;
            }
            // The first one also where its distance is infinite.
            if (nearest == 0xffffffffu || apart < best) {
                best = apart;
                nearest = k;
            }
        }
#pragma unroll
        for (u32 by = each / 2; by > 0; by /= 2) {
            f64 other = Shuffle<f64>::down(best, by);
            u32 its = Shuffle<u32>::down(nearest, by);
            if (other < best || (other == best && its < nearest)) {
                best = other;
                nearest = its;
            }
        }
        if (q == 0) {
            label[r] = nearest;
            square[r] = best;
            if (r < here) {
                if (labels[base + r] != nearest) changed += 1;
                labels[base + r] = nearest;
                inertia += best;
            }
        }
        __syncthreads();
        if (t < width) {
#pragma unroll 1
            for (u32 k = 0; k < here; k++) sums[label[k] * width + t] += tile[k * pitch + t];
        }
    }
    __syncthreads();
    f64* out = partials + blockIdx.x * stride;
#pragma unroll 1
    for (u32 i = t; i < count * width; i += MATRIX_THREADS) out[i] = sums[i];
    // Threads that have rows, in order.
    __syncthreads();
    tile[2 * t] = changed;
    tile[2 * t + 1] = inertia;
    __syncthreads();
    if (t == 0) {
#pragma unroll 1
        for (u32 k = 1; k < MATRIX_THREADS; k++) {
            changed += tile[2 * k];
            inertia += tile[2 * k + 1];
        }
        out[count * width] = changed;
        out[count * width + 1] = inertia;
    }
}
