// Loops of generated kernels over the rows of a pipeline. The generated code is functors: one loads the columns of a
// row, another one computes the row.

// Generated functors are part of their kernel, also when it is compiled quickly.
#define ROW_CODE __attribute__((always_inline))

// A grid-stride loop. UNROLL rows of a thread are in flight: their columns are loaded before the first row is computed.
// `finish` is called behind the last row. A thread ends without it if `goes_on`, which is called before the loads, or
// `each` returns false.
template <class Columns, int UNROLL, class GoesOn, class Load, class Each, class Finish>
__device__ __forceinline__ void each_row_while(u64 rows, GoesOn goes_on, Load load, Each each, Finish finish) {
    const u64 stride = threads_in_grid();
#pragma unroll 1
    for (u64 first = thread_in_grid(); first < rows; first += stride * UNROLL) {
        if (!goes_on()) return;
        Columns loaded[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            const u64 row = first + k * stride;
            if (row < rows) load(row, loaded[k]);
        }
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            const u64 row = first + k * stride;
            if (row < rows) {
                if (!each(row, loaded[k])) return;
            }
        }
    }
    finish();
}

template <class Columns, int UNROLL, class Load, class Each, class Finish>
__device__ __forceinline__ void each_row(u64 rows, Load load, Each each, Finish finish) {
    each_row_while<Columns, UNROLL>(rows, []() ROW_CODE { return true; }, load, each, finish);
}
