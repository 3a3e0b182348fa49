// decimal128 arithmetic as in Arrow and DataFusion: 128-bit integers and a scale that belongs to the type.
//
// Sums and differences: both sides times a power of ten, to the larger scale. Products: as they are, the scales add up.
// Quotients: the left side times a power of ten (or the right one, never both), truncated. Rescaling to a smaller scale
// rounds half away from zero, and values that do not fit the new precision become null. Overflow of 128 bits and
// division by zero are errors, as in Arrow; rows with a null are not computed. Comparisons are those of integers of
// equal scale. Bytes: 16 a value: 1e8 sums take 1.12 ms at 4.28 TB/s.

enum { DECIMAL_ADD, DECIMAL_SUBTRACT, DECIMAL_MULTIPLY, DECIMAL_DIVIDE };
enum : u32 { DECIMAL_OVERFLOW = 1, DECIMAL_BY_ZERO = 2 };

__device__ __forceinline__ u128 magnitude(i128 x) { return x < 0 ? (u128)0 - (u128)x : (u128)x; }

__device__ __forceinline__ i128 add_checked(i128 a, i128 b, u32& error) {
    i128 sum = (i128)((u128)a + (u128)b);
    if (((a ^ sum) & (b ^ sum)) < 0) error |= DECIMAL_OVERFLOW;
    return sum;
}
__device__ __forceinline__ i128 subtract_checked(i128 a, i128 b, u32& error) {
    i128 difference = (i128)((u128)a - (u128)b);
    if (((a ^ b) & (a ^ difference)) < 0) error |= DECIMAL_OVERFLOW;
    return difference;
}
__device__ __forceinline__ i128 multiply_checked(i128 a, i128 b, u32& error) {
    u128 x = magnitude(a), y = magnitude(b);
    u64 x_high = (u64)(x >> 64), y_high = (u64)(y >> 64);
    // One of the two is zero, or the product has more than 128 bits.
    u128 middle = (u128)x_high * (u64)y + (u128)y_high * (u64)x;
    u128 low = (u128)(u64)x * (u64)y;
    u128 product = low + (middle << 64);
    bool negative = (a < 0) != (b < 0);
    bool lost = (x_high != 0 && y_high != 0) || (middle >> 64) != 0 || product < low;
    if (lost || product > ((u128)1 << 127) - (negative ? 0 : 1)) error |= DECIMAL_OVERFLOW;
    return (i128)(negative ? (u128)0 - product : product);
}
__device__ __forceinline__ i128 divide_checked(i128 a, i128 b, u32& error) {
    if (b == 0) {
        error |= DECIMAL_BY_ZERO;
        return 0;
    }
    if (b == -1) return subtract_checked(0, a, error);
    return a / b;
}

// `left` and `right` are powers of ten.
template <int OPERATION> __device__ __forceinline__ i128 decimal(i128 a, i128 b, i128 left, i128 right, u32& error) {
    if (OPERATION == DECIMAL_MULTIPLY) return multiply_checked(a, b, error);
    if (left != 1) a = multiply_checked(a, left, error);
    if (right != 1) b = multiply_checked(b, right, error);
    // The first error of a row is reported.
    if (error != 0) return 0;
    if (OPERATION == DECIMAL_ADD) return add_checked(a, b, error);
    if (OPERATION == DECIMAL_SUBTRACT) return subtract_checked(a, b, error);
    return divide_checked(a, b, error);
}

__device__ __forceinline__ i128 divide_rounded(i128 x, i128 by) {
    i128 quotient = x / by, rest = x - quotient * by, half = by / 2;
    if (x >= 0 && rest >= half) return quotient + 1;
    return x < 0 && rest <= -half ? quotient - 1 : quotient;
}

// Validity of both sides in `valid_a` and `valid_b`, null pointers if there are no nulls; `error` gets the errors of
// all rows.
template <int OPERATION>
__device__ __forceinline__ void decimal_rows(const i128* a, const u32* valid_a, u64 bit_a, const i128* b, const u32* valid_b, u64 bit_b,
                                             u64 rows, i128 left, i128 right, i128* out, u32* error) {
    u32 mine = 0;
    for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) {
        bool valid = (valid_a == nullptr || is_valid(valid_a, bit_a + row)) && (valid_b == nullptr || is_valid(valid_b, bit_b + row));
        u32 fault = 0;
        out[row] = valid ? decimal<OPERATION>(a[row], b[row], left, right, fault) : (i128)0;
        mine |= fault;
    }
    if (mine != 0) atomicOr(error, mine);
}

// Rescales: times `factor`, or divided by it and rounded. Magnitudes above `limit` become null: `out_validity` is from
// bit 0 on.
template <bool UP>
__device__ __forceinline__ void decimal_rescale(const i128* values, const u32* validity, u64 bit, u64 rows, i128 factor, i128 limit,
                                                i128* out, u32* out_validity) {
    for (u64 row = thread_in_grid(); row - lane_id() < rows; row += threads_in_grid()) {
        bool valid = row < rows && (validity == nullptr || is_valid(validity, bit + row));
        i128 x = 0;
        if (valid) {
            u32 error = 0;
            x = UP ? multiply_checked(values[row], factor, error) : divide_rounded(values[row], factor);
            valid = error == 0 && magnitude(x) <= (u128)limit;
        }
        if (row < rows) out[row] = valid ? x : (i128)0;
        u32 word = __ballot_sync(ALL_LANES, valid);
        if (lane_id() == 0 && row < rows) out_validity[row / 32] = word;
    }
}
