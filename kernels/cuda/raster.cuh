// Rasters: the rows at each pixel of a window, with the pixels of datashader. A value's pixel is
// `value * width / (x1 - x0) - x0 * width / (x1 - x0)` rounded down, and the last pixel has the upper edge.
//
// Layout: two columns of numbers without nulls; a mask of u16 may leave rows out (crossfilter.cuh). Pixels are rows
// from the top. Output: the rows of each pixel, u32. Integers: the result is the same on every device. Counters are u16
// in the shared memory of a block, which has a part of the pixels. The blocks of all parts read the same rows at about
// the same time, so that memory is read once. A counter that reaches half of its range is moved to the canvas. Between
// two barriers a counter grows by at most RASTER_ROUND, which is less than the other half. Bytes that must cross
// memory: 16 a row of f64: 3e8 rows take 1.4 ms at 3.35 TB/s.

enum : u32 { RASTER_THREADS = 1024, RASTER_EACH = 8, RASTER_ROUND = RASTER_THREADS * RASTER_EACH, RASTER_HALF = 0x8000 };

struct RasterGrid {
    f64 x0, y0, x1, y1;
    f64 x_scale, x_offset, y_scale, y_offset;
    u32 width, height;
};

enum : u32 { RASTER_OUTSIDE = 0xffffffffu };

__device__ __forceinline__ bool raster_inside(const RasterGrid& grid, f64 x, f64 y) {
    return x >= grid.x0 && x <= grid.x1 && y >= grid.y0 && y <= grid.y1;
}

__device__ __forceinline__ u32 raster_pixel(const RasterGrid& grid, f64 x, f64 y) {
    if (!raster_inside(grid, x, y)) return RASTER_OUTSIDE;
    // By rounding a product may lie a bit below 0, which becomes 0.
    u32 column = smaller((u32)(i32)(x * grid.x_scale - grid.x_offset), grid.width - 1);
    u32 row = smaller((u32)(i32)(y * grid.y_scale - grid.y_offset), grid.height - 1);
    return (grid.height - 1 - row) * grid.width + column;
}

// A block counts the pixels from `part * size` on. Rows are dealt out in rounds to the groups of blocks that have all
// parts.
template <class X, class Y>
__device__ __forceinline__ void raster_count(const X* xs, const Y* ys, const RasterGrid* window, const u16* failed, u32 bits, u64 rows,
                                             u32 parts, u32 size, u32* canvas) {
    DYNAMIC_SHARED(memory);
    u32* local = (u32*)memory;
    const RasterGrid grid = *window;
    const u32 part = blockIdx.x % parts, group = blockIdx.x / parts, groups = gridDim.x / parts;
    const u32 first = part * size, words = (size + 1) / 2;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < words; i += RASTER_THREADS) local[i] = 0;
    __syncthreads();
#pragma unroll 1
    for (u64 base = (u64)group * RASTER_ROUND; base < rows; base += (u64)groups * RASTER_ROUND) {
        u32 pixels[RASTER_EACH];
        u64 row = base + threadIdx.x;
        if (base + RASTER_ROUND <= rows) {
            // All loads first, so that they wait for memory together.
            X x[RASTER_EACH];
            Y y[RASTER_EACH];
#pragma unroll
            for (u32 i = 0; i < RASTER_EACH; i++) x[i] = xs[row + i * RASTER_THREADS], y[i] = ys[row + i * RASTER_THREADS];
#pragma unroll
            for (u32 i = 0; i < RASTER_EACH; i++) pixels[i] = raster_pixel(grid, (f64)x[i], (f64)y[i]);
        } else {
#pragma unroll
            for (u32 i = 0; i < RASTER_EACH; i++) {
                u64 at = row + i * RASTER_THREADS;
                pixels[i] = at < rows ? raster_pixel(grid, (f64)xs[at], (f64)ys[at]) : RASTER_OUTSIDE;
            }
        }
        if (failed != nullptr) {
#pragma unroll
            for (u32 i = 0; i < RASTER_EACH; i++) {
                u64 at = row + i * RASTER_THREADS;
                if (at < rows && (failed[at] & bits) != 0) pixels[i] = RASTER_OUTSIDE;
            }
        }
#pragma unroll
        for (u32 i = 0; i < RASTER_EACH; i++) {
            u32 at = pixels[i] - first;
            if (pixels[i] == RASTER_OUTSIDE || at >= size) continue;
            u32 shift = 16 * (at & 1);
            u32 before = atomicAdd(&local[at / 2], 1u << shift) >> shift & 0xffffu;
            if (before == RASTER_HALF - 1) {
                atomicAdd(&local[at / 2], 0u - (RASTER_HALF << shift));
                atomicAdd(&canvas[pixels[i]], (u32)RASTER_HALF);
            }
        }
        __syncthreads();
    }
#pragma unroll 1
    for (u32 i = threadIdx.x; i < words; i += RASTER_THREADS) {
        u32 both = local[i], at = first + 2 * i;
        if (both & 0xffffu) atomicAdd(&canvas[at], both & 0xffffu);
        if (both >> 16) atomicAdd(&canvas[at + 1], both >> 16);
    }
}

// As `raster_count`, for canvases of very many pixels: straight into them.
template <class X, class Y>
__device__ __forceinline__ void raster_count_large(const X* xs, const Y* ys, const RasterGrid* window, const u16* failed, u32 bits,
                                                   u64 rows, u32* canvas) {
    const RasterGrid grid = *window;
#pragma unroll 4
    for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) {
        if (failed != nullptr && (failed[row] & bits) != 0) continue;
        u32 pixel = raster_pixel(grid, (f64)xs[row], (f64)ys[row]);
        if (pixel != RASTER_OUTSIDE) atomicAdd(&canvas[pixel], 1u);
    }
}

// Sets the bit for the rows outside of a window, and clears it for the others.
template <class X, class Y>
__device__ __forceinline__ void raster_mark(const X* xs, const Y* ys, const RasterGrid* window, u32 bit, u64 rows, u16* failed) {
    const RasterGrid grid = *window;
#pragma unroll 4
    for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) {
        u32 others = failed[row] & ~bit;
        failed[row] = (u16)(raster_inside(grid, (f64)xs[row], (f64)ys[row]) ? others : others | bit);
    }
}

// The range of the rows of which both positions are finite, and how many there are: five numbers for each block.
template <class X, class Y>
__device__ __forceinline__ void raster_extent(const X* xs, const Y* ys, u64 rows, f64* out) {
    DYNAMIC_SHARED(memory);
    f64* local = (f64*)memory;
    const f64 infinity = __longlong_as_double(0x7ff0000000000000LL);
    f64 x0 = infinity, x1 = -infinity, y0 = infinity, y1 = -infinity, count = 0;
#pragma unroll 4
    for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) {
        f64 x = (f64)xs[row], y = (f64)ys[row];
        if (fabs(x) < infinity && fabs(y) < infinity) {
            x0 = smaller(x0, x), x1 = larger(x1, x), y0 = smaller(y0, y), y1 = larger(y1, y);
            count += 1;
        }
    }
    f64* own = local + 5 * threadIdx.x;
    own[0] = x0, own[1] = x1, own[2] = y0, own[3] = y1, own[4] = count;
    __syncthreads();
#pragma unroll 1
    for (u32 by = blockDim.x / 2; by > 0; by /= 2) {
        if (threadIdx.x < by) {
            const f64* other = own + 5 * by;
            own[0] = smaller(own[0], other[0]), own[1] = larger(own[1], other[1]);
            own[2] = smaller(own[2], other[2]), own[3] = larger(own[3], other[3]);
            own[4] += other[4];
        }
        __syncthreads();
    }
    if (threadIdx.x < 5) out[5 * blockIdx.x + threadIdx.x] = local[threadIdx.x];
}
