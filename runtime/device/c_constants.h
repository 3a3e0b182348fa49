// Names of C's headers for CUDA C++ of users: limits of types, infinities, constants, and mathematics of integers. A
// compiler without headers has none of them. For the GPU's compiler and for the host's; not for our own kernels. It may
// stand before several texts, and gives back each name that one of them has taken away.

// Values that a variable can begin with: the host's compiler computes no division by zero for that, and the GPU's has
// no builtins.
#ifndef ONRUSH_INFINITY
#ifdef ONRUSH_EMULATED
#define ONRUSH_INFINITY __builtin_huge_val()
#define ONRUSH_NAN __builtin_nan("")
#else
#define ONRUSH_INFINITY (1.0 / 0.0)
#define ONRUSH_NAN (0.0 / 0.0)
#endif
#endif

// ---- limits.h ----
#ifndef CHAR_BIT
#define CHAR_BIT 8
#endif
#ifndef SCHAR_MAX
#define SCHAR_MAX 127
#endif
#ifndef SCHAR_MIN
#define SCHAR_MIN (-128)
#endif
#ifndef UCHAR_MAX
#define UCHAR_MAX 255
#endif
#ifndef CHAR_MAX
#define CHAR_MAX 127
#endif
#ifndef CHAR_MIN
#define CHAR_MIN (-128)
#endif
#ifndef SHRT_MAX
#define SHRT_MAX 32767
#endif
#ifndef SHRT_MIN
#define SHRT_MIN (-32768)
#endif
#ifndef USHRT_MAX
#define USHRT_MAX 65535
#endif
#ifndef INT_MAX
#define INT_MAX 2147483647
#endif
#ifndef INT_MIN
#define INT_MIN (-2147483647 - 1)
#endif
#ifndef UINT_MAX
#define UINT_MAX 4294967295u
#endif
#ifndef LONG_MAX
#define LONG_MAX 9223372036854775807l
#endif
#ifndef LONG_MIN
#define LONG_MIN (-9223372036854775807l - 1)
#endif
#ifndef ULONG_MAX
#define ULONG_MAX 18446744073709551615ul
#endif
#ifndef LLONG_MAX
#define LLONG_MAX 9223372036854775807ll
#endif
#ifndef LLONG_MIN
#define LLONG_MIN (-9223372036854775807ll - 1)
#endif
#ifndef ULLONG_MAX
#define ULLONG_MAX 18446744073709551615ull
#endif

// ---- stdint.h ----
#ifndef INT8_MAX
#define INT8_MAX 127
#endif
#ifndef INT8_MIN
#define INT8_MIN (-127 - 1)
#endif
#ifndef UINT8_MAX
#define UINT8_MAX 255
#endif
#ifndef INT16_MAX
#define INT16_MAX 32767
#endif
#ifndef INT16_MIN
#define INT16_MIN (-32767 - 1)
#endif
#ifndef UINT16_MAX
#define UINT16_MAX 65535
#endif
#ifndef INT32_MAX
#define INT32_MAX 2147483647
#endif
#ifndef INT32_MIN
#define INT32_MIN (-2147483647 - 1)
#endif
#ifndef UINT32_MAX
#define UINT32_MAX 4294967295u
#endif
#ifndef INT64_MAX
#define INT64_MAX 9223372036854775807l
#endif
#ifndef INT64_MIN
#define INT64_MIN (-9223372036854775807l - 1)
#endif
#ifndef UINT64_MAX
#define UINT64_MAX 18446744073709551615ul
#endif
#ifndef SIZE_MAX
#define SIZE_MAX 18446744073709551615ul
#endif

// ---- float.h ----
#ifndef FLT_MAX
#define FLT_MAX 3.402823466e+38f
#endif
#ifndef FLT_MIN
#define FLT_MIN 1.175494351e-38f
#endif
#ifndef FLT_EPSILON
#define FLT_EPSILON 1.1920928955e-7f
#endif
#ifndef FLT_DIG
#define FLT_DIG 6
#endif
#ifndef FLT_MANT_DIG
#define FLT_MANT_DIG 24
#endif
#ifndef DBL_MAX
#define DBL_MAX 1.7976931348623157e+308
#endif
#ifndef DBL_MIN
#define DBL_MIN 2.2250738585072014e-308
#endif
#ifndef DBL_EPSILON
#define DBL_EPSILON 2.2204460492503131e-16
#endif
#ifndef DBL_DIG
#define DBL_DIG 15
#endif
#ifndef DBL_MANT_DIG
#define DBL_MANT_DIG 53
#endif

// ---- math.h ----
#ifndef INFINITY
#define INFINITY ((float)ONRUSH_INFINITY)
#endif
#ifndef NAN
#define NAN ((float)ONRUSH_NAN)
#endif
#ifndef HUGE_VAL
#define HUGE_VAL ONRUSH_INFINITY
#endif
#ifndef HUGE_VALF
#define HUGE_VALF ((float)ONRUSH_INFINITY)
#endif
#ifndef M_E
#define M_E 2.7182818284590452354
#endif
#ifndef M_LOG2E
#define M_LOG2E 1.4426950408889634074
#endif
#ifndef M_LOG10E
#define M_LOG10E 0.43429448190325182765
#endif
#ifndef M_LN2
#define M_LN2 0.69314718055994530942
#endif
#ifndef M_LN10
#define M_LN10 2.30258509299404568402
#endif
#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif
#ifndef M_PI_2
#define M_PI_2 1.57079632679489661923
#endif
#ifndef M_PI_4
#define M_PI_4 0.78539816339744830962
#endif
#ifndef M_1_PI
#define M_1_PI 0.31830988618379067154
#endif
#ifndef M_2_PI
#define M_2_PI 0.63661977236758134308
#endif
#ifndef M_2_SQRTPI
#define M_2_SQRTPI 1.12837916709551257390
#endif
#ifndef M_SQRT2
#define M_SQRT2 1.41421356237309504880
#endif
#ifndef M_SQRT1_2
#define M_SQRT1_2 0.70710678118654752440
#endif

// ---- math_constants.h ----
#ifndef CUDART_INF_F
#define CUDART_INF_F ((float)ONRUSH_INFINITY)
#endif
// The GPU's compiler takes `!=` of two NaN constants for false. CUDA's own NaNs are not constants either.
#ifndef CUDART_NAN_F
#ifdef ONRUSH_EMULATED
#define CUDART_NAN_F ((float)ONRUSH_NAN)
#else
#define CUDART_NAN_F __int_as_float(0x7fffffff)
#endif
#endif
#ifndef CUDART_INF
#define CUDART_INF ONRUSH_INFINITY
#endif
#ifndef CUDART_NAN
#ifdef ONRUSH_EMULATED
#define CUDART_NAN ONRUSH_NAN
#else
#define CUDART_NAN __longlong_as_double(0xfff8000000000000ull)
#endif
#endif
#ifndef CUDART_MAX_NORMAL_F
#define CUDART_MAX_NORMAL_F 3.402823466e+38f
#endif
#ifndef CUDART_MIN_DENORM_F
#define CUDART_MIN_DENORM_F 1.401298464e-45f
#endif
#ifndef CUDART_ZERO_F
#define CUDART_ZERO_F 0.0f
#endif
#ifndef CUDART_ONE_F
#define CUDART_ONE_F 1.0f
#endif
#ifndef CUDART_ZERO
#define CUDART_ZERO 0.0
#endif
#ifndef CUDART_ONE
#define CUDART_ONE 1.0
#endif
#ifndef CUDART_PI_F
#define CUDART_PI_F 3.141592654f
#endif
#ifndef CUDART_PIO2_F
#define CUDART_PIO2_F 1.570796327f
#endif
#ifndef CUDART_PIO4_F
#define CUDART_PIO4_F 0.785398163f
#endif
#ifndef CUDART_PI
#define CUDART_PI 3.1415926535897931e+0
#endif
#ifndef CUDART_PIO2
#define CUDART_PIO2 1.5707963267948966e+0
#endif
#ifndef CUDART_PIO4
#define CUDART_PIO4 7.8539816339744828e-1
#endif
#ifndef CUDART_SQRT_TWO_F
#define CUDART_SQRT_TWO_F 1.414213562f
#endif
#ifndef CUDART_SQRT_TWO
#define CUDART_SQRT_TWO 1.4142135623730951e+0
#endif
#ifndef CUDART_LN2_F
#define CUDART_LN2_F 0.693147181f
#endif
#ifndef CUDART_L2E_F
#define CUDART_L2E_F 1.442695041f
#endif

// ---- mathematics of whole numbers, in double as C++ has it ----
#ifndef ONRUSH_WHOLE
#define ONRUSH_WHOLE
template <class T> struct OnrushWhole {};
template <> struct OnrushWhole<bool> { typedef double type; };
template <> struct OnrushWhole<char> { typedef double type; };
template <> struct OnrushWhole<signed char> { typedef double type; };
template <> struct OnrushWhole<unsigned char> { typedef double type; };
template <> struct OnrushWhole<short> { typedef double type; };
template <> struct OnrushWhole<unsigned short> { typedef double type; };
template <> struct OnrushWhole<int> { typedef double type; };
template <> struct OnrushWhole<unsigned int> { typedef double type; };
template <> struct OnrushWhole<long> { typedef double type; };
template <> struct OnrushWhole<unsigned long> { typedef double type; };
template <> struct OnrushWhole<long long> { typedef double type; };
template <> struct OnrushWhole<unsigned long long> { typedef double type; };
#define ONRUSH_WHOLE1(NAME) \
    template <class T> __device__ __forceinline__ typename OnrushWhole<T>::type NAME(T x) { return NAME((double)x); }
// `float` beside `double`, too. As templates: what the compilers have already comes first.
template <class A, class B> struct OnrushMixed {};
template <> struct OnrushMixed<float, double> { typedef double type; };
template <> struct OnrushMixed<double, float> { typedef double type; };
#define ONRUSH_WHOLE2(NAME) \
    template <class A, class B> \
    __device__ __forceinline__ decltype(typename OnrushWhole<A>::type() + typename OnrushWhole<B>::type()) NAME(A x, B y) { \
        return NAME((double)x, (double)y); \
    } \
    template <class A, class B> __device__ __forceinline__ typename OnrushMixed<A, B>::type NAME(A x, B y) { \
        return NAME((double)x, (double)y); \
    }
ONRUSH_WHOLE1(sin) ONRUSH_WHOLE1(cos) ONRUSH_WHOLE1(tan) ONRUSH_WHOLE1(asin) ONRUSH_WHOLE1(acos) ONRUSH_WHOLE1(atan)
ONRUSH_WHOLE1(sinh) ONRUSH_WHOLE1(cosh) ONRUSH_WHOLE1(tanh) ONRUSH_WHOLE1(exp) ONRUSH_WHOLE1(exp2) ONRUSH_WHOLE1(expm1)
ONRUSH_WHOLE1(log) ONRUSH_WHOLE1(log2) ONRUSH_WHOLE1(log10) ONRUSH_WHOLE1(log1p) ONRUSH_WHOLE1(sqrt) ONRUSH_WHOLE1(cbrt)
ONRUSH_WHOLE1(floor) ONRUSH_WHOLE1(ceil) ONRUSH_WHOLE1(trunc) ONRUSH_WHOLE1(round) ONRUSH_WHOLE1(rint) ONRUSH_WHOLE1(fabs)
ONRUSH_WHOLE2(pow) ONRUSH_WHOLE2(atan2) ONRUSH_WHOLE2(hypot) ONRUSH_WHOLE2(fmod) ONRUSH_WHOLE2(fmin) ONRUSH_WHOLE2(fmax)
#undef ONRUSH_WHOLE1
#undef ONRUSH_WHOLE2
#endif
