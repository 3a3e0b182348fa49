// Prefix sums of a column, inclusive or exclusive, in one pass.
//
// Layout: values of T at any address that is aligned for T, no nulls (a null column's values are made zero before).
// Output: sums of S, which may be wider. Scratch: a ticket and the look-back state of each tile, flags zero before the
// launch. Tiles of THREADS x ROUNDS x (16 / sizeof(S)) rows. Integers wrap; sums of floats depend on the order in which
// blocks run, in the last bits. Bytes that must cross memory: sizeof(T) + sizeof(S) a row: 1e8 i64 take 0.374 ms.

template <class T, class S, bool INCLUSIVE, int THREADS, int ROUNDS>
__device__ __forceinline__ void scan(const T* values, u64 rows, u32* ticket, Lookback<S> state, S* out) {
    // 16 bytes of output for each lane, so that a warp writes whole lines.
    const int N = Pack<S>::N;
    const u64 WARP_ROWS = (u64)WARP * N * ROUNDS;
    const u64 TILE = WARP_ROWS * (THREADS / WARP);
    __shared__ u32 tile_number;
    __shared__ S sums[THREADS / WARP];
    __shared__ S before_tile;
    u32 tile = next_tile(ticket, &tile_number);
    // The rows of a warp are contiguous; in each round a lane has 16 bytes.
    u64 start = (u64)tile * TILE + warp_id() * WARP_ROWS + lane_id() * N;
    bool aligned = sizeof(T) == sizeof(S) && ((u64)values & 15) == 0;
    T x[ROUNDS][N];
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        u64 row = start + (u64)r * WARP * N;
        if (aligned && row + N <= rows) {
            Pack<T> pack = stream_pack(values + row);
#pragma unroll
            for (int i = 0; i < N; i++) x[r][i] = pack.v[i % Pack<T>::N];
        } else {
#pragma unroll
            for (int i = 0; i < N; i++) x[r][i] = row + i < rows ? values[row + i] : (T)0;
        }
    }
    // `before[r]`: the sum of this warp's rows before those of this lane in round r.
    S before[ROUNDS];
    S carry = 0;
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        S own = 0;
#pragma unroll
        for (int i = 0; i < N; i++) own += (S)x[r][i];
        S inclusive = own;
#pragma unroll
        for (u32 by = 1; by < WARP; by *= 2) {
            S other = Shuffle<S>::up(inclusive, by);
            if (lane_id() >= by) inclusive += other;
        }
        before[r] = carry + (inclusive - own);
        carry += Shuffle<S>::from(inclusive, WARP - 1);
    }
    if (lane_id() == 0) sums[warp_id()] = carry;
    __syncthreads();
    if (warp_id() == 0) {
        S sum = lane_id() < THREADS / WARP ? sums[lane_id()] : (S)0;
        for (u32 by = 16; by > 0; by /= 2) sum += Shuffle<S>::down(sum, by);
        sum = Shuffle<S>::from(sum, 0);
        S all = state.before(tile, sum);
        if (lane_id() == 0) before_tile = all;
    }
    __syncthreads();
    S base = before_tile;
    for (u32 w = 0; w < warp_id(); w++) base += sums[w];
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        u64 row = start + (u64)r * WARP * N;
        S sum = base + before[r];
        S results[N];
#pragma unroll
        for (int i = 0; i < N; i++) {
            S next = sum + (S)x[r][i];
            results[i] = INCLUSIVE ? next : sum;
            sum = next;
        }
        if (row + N <= rows) {
            // `out` comes from the pool, aligned to 256 bytes.
            Pack<S> pack;
#pragma unroll
            for (int i = 0; i < N; i++) pack.v[i] = results[i];
            store_pack(out + row, pack);
        } else {
#pragma unroll
            for (int i = 0; i < N; i++) {
                if (row + i < rows) out[row + i] = results[i];
            }
        }
    }
}
