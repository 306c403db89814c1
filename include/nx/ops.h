/* SPDX-License-Identifier: ISC */
/* Operations. Each records one operation and returns its result, a new handle; nothing runs. On a
 * failure (null operand, dtype the operation does not admit, shapes that do not fit, axis out of
 * range, operands on two devices) the result is NULL and this thread's error says which operand and
 * why (error.h). NULL in gives NULL out.
 *
 * Classes of dtypes below: B bool, I integers, F floats, C complex. Binary operands have one dtype;
 * shapes broadcast as in NumPy. Axes count from 0, negative ones from the end. Every operation
 * rounds to its dtype: small floats compute in f32, and c32 in c64, and round each result to
 * nearest even.
 *
 * Operands are borrowed, lists copied; the result is one reference, the caller's. Statuses of every
 * operation: NX_UNSUPPORTED_DTYPE for a dtype of no class that its comment names;
 * NX_INVALID_ARGUMENT for operands of two dtypes where it wants one, of two contexts or two devices
 * (a constant of rank 0 goes with any device), for shapes, axes and flags that it does not admit,
 * and for a result of more than 32 axes or 63 bits of bytes; NX_OUT_OF_MEMORY. An operation that
 * reads exposed storage is carried out when recorded (tensor.h, nx_map) and gives what realising
 * gives as well. */
#ifndef NX_OPS_H
#define NX_OPS_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A list of axes as the two arguments `axes, n`: nx_reduce_sum(x, NX_AXES(0, -1), 0). In C++ the
 * axes must be constants; pass array and count where they are not. */
#ifdef __cplusplus
}
template <int32_t... axis> struct nx_axes_of {
  static constexpr int32_t values[sizeof...(axis)] = {axis...};
};
#define NX_AXES(...) \
  nx_axes_of<__VA_ARGS__>::values, (sizeof(nx_axes_of<__VA_ARGS__>::values) / sizeof(int32_t))
extern "C" {
#else
#define NX_AXES(...) \
  (const int32_t[]){__VA_ARGS__}, (sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))
#endif

/** Every axis, in order, as the two arguments `axes, n`: nx_reduce_sum(x, NX_ALL_AXES, 0). A list
 * without entries, which is not NULL, names none. `NULL, 0` is refused, since libraries differ in
 * which of the two it means. */
#define NX_ALL_AXES NULL, NX_ALL
#define NX_ALL      ((size_t)-1)

/** Flags of reductions. */
enum { NX_KEEPDIMS = 1 /**< reduced axes stay, with extent 1 */ };
/** Flags of sort and argsort. */
enum { NX_DESCENDING = 1 };
/** Flags of top_k. */
enum { NX_SMALLEST = 1 /**< the smallest elements, instead of the largest */ };
/** Flags of reshape. */
enum { NX_MAY_COPY = 1 /**< copy where strides cannot express the view */ };

/* ---- binary */

/** Sum. B I F C. Integers wrap. On bool: or. */
NX_API nx_tensor *nx_add(nx_tensor *a, nx_tensor *b);
/** Difference, a - b. I F C. Integers wrap. */
NX_API nx_tensor *nx_sub(nx_tensor *a, nx_tensor *b);
/** Product, element by element. B I F C. Integers wrap. On bool: and. C: infinite products as in
 * Annex G of C99, products of parts in f64 for c64. */
NX_API nx_tensor *nx_mul(nx_tensor *a, nx_tensor *b);
/** Quotient, a / b. I F C. Integers truncate toward zero; x/0 = 0, MIN/-1 = MIN. C: no overflow but
 * of the quotient itself. */
NX_API nx_tensor *nx_div(nx_tensor *a, nx_tensor *b);
/** Remainder of a / b. I F. The sign of the dividend; x%0 = 0, MIN%-1 = 0; floats as C's fmod. */
NX_API nx_tensor *nx_mod(nx_tensor *a, nx_tensor *b);
/** Quotient rounded toward minus infinity, as Python's //. I F. Integers: x/0 = 0, MIN/-1 = MIN.
 * Floats: x/0 is that of nx_div, and the quotient of an infinite x is NaN. */
NX_API nx_tensor *nx_floor_div(nx_tensor *a, nx_tensor *b);
/** The remainder of nx_floor_div, with the sign of b, as Python's % and NumPy's remainder. I F.
 * Integers: x%0 = 0; floats: NaN for b = 0, b where a has the other sign and b is infinite. */
NX_API nx_tensor *nx_floor_mod(nx_tensor *a, nx_tensor *b);
/** log(e^a + e^b) without overflow. F. Within 4 ulp of the larger one of the result and of the
 * operands: where they are negative and the result is near 0 it has fewer digits. */
NX_API nx_tensor *nx_logaddexp(nx_tensor *a, nx_tensor *b);
/** sqrt(a^2 + b^2) without overflow on the way, as C's hypot. F. Within 2 ulp. */
NX_API nx_tensor *nx_hypot(nx_tensor *a, nx_tensor *b);
/** a to the power b. I F C. Integers wrap, 0^0 = 1, a negative exponent gives 1 for 1, ±1 for -1,
 * else 0; floats as C's pow; C: exp(b log a), but 1 for b = 0, and 0 for a = 0 where b has a
 * positive real part. */
NX_API nx_tensor *nx_pow(nx_tensor *a, nx_tensor *b);
/** F. The angle of the point (x, y), in (-pi, pi]; nx_atan2(y, x) as C's. */
NX_API nx_tensor *nx_atan2(nx_tensor *y, nx_tensor *x);
/** a == b. B I F C; result bool. NaN, or one in either part, is unequal to everything. */
NX_API nx_tensor *nx_cmpeq(nx_tensor *a, nx_tensor *b);
/** a != b. As nx_cmpeq. */
NX_API nx_tensor *nx_cmpne(nx_tensor *a, nx_tensor *b);
/** Whether a is less than b; false with NaN. B I F C; result bool. False < true. Complex numbers by
 * their real parts, and where these are equal by their imaginary ones. */
NX_API nx_tensor *nx_cmplt(nx_tensor *a, nx_tensor *b);
/** Whether a is less than b or equal. As nx_cmplt. */
NX_API nx_tensor *nx_cmple(nx_tensor *a, nx_tensor *b);
/** The larger of a and b. B I F C. NaN in either operand gives NaN; -0 < +0. Complex numbers in the
 * order of nx_cmplt: a NaN in any part makes both parts NaN; of equal real parts that are zeros the
 * result has the larger one. */
NX_API nx_tensor *nx_max(nx_tensor *a, nx_tensor *b);
/** The smaller of a and b. As nx_max. */
NX_API nx_tensor *nx_min(nx_tensor *a, nx_tensor *b);
/** Exclusive or. B I. Bitwise on integers, logical on bool. */
NX_API nx_tensor *nx_xor(nx_tensor *a, nx_tensor *b);
/** Or. As nx_xor. */
NX_API nx_tensor *nx_or(nx_tensor *a, nx_tensor *b);
/** And. As nx_xor. */
NX_API nx_tensor *nx_and(nx_tensor *a, nx_tensor *b);
/** a shifted left by count bits. I, both of one dtype. A count outside [0, width) gives 0. */
NX_API nx_tensor *nx_shl(nx_tensor *a, nx_tensor *count);
/** a shifted right by count bits; keeps the sign of signed integers. I, both of one dtype. A count
 * outside [0, width) gives 0, or the sign. */
NX_API nx_tensor *nx_shr(nx_tensor *a, nx_tensor *count);

/* ---- unary */

/** The negative of x. I F C. Of the lowest integer that integer. */
NX_API nx_tensor *nx_neg(nx_tensor *x);
/** Absolute value, of the operand's dtype. I F C. Of the lowest integer that integer. C: the
 * absolute value + 0i. */
NX_API nx_tensor *nx_abs(nx_tensor *x);
/** The sign: -1, 0 or 1. I F C. sign(NaN) = NaN, sign(±0) = 0. C: z divided by its absolute value.
 * */
NX_API nx_tensor *nx_sign(nx_tensor *x);
/** 1 / x. I F C. Integers: 1/x truncated, recip(0) = 0. */
NX_API nx_tensor *nx_recip(nx_tensor *x);
/** Square root. F C. This and the functions to nx_atanh: of floats at most 1 ulp for sqrt, exp,
 * log, sin and cos, 2 for the others; special values and branch cuts as C's (Annexes F and G). C:
 * docs/math.md has the errors. */
NX_API nx_tensor *nx_sqrt(nx_tensor *x);
/** e to the power x. F C. As nx_sqrt. */
NX_API nx_tensor *nx_exp(nx_tensor *x);
/** Natural logarithm. F C. As nx_sqrt. */
NX_API nx_tensor *nx_log(nx_tensor *x);
/** Sine. F C. As nx_sqrt. */
NX_API nx_tensor *nx_sin(nx_tensor *x);
/** Cosine. F C. As nx_sqrt. */
NX_API nx_tensor *nx_cos(nx_tensor *x);
/** Tangent. F C. As nx_sqrt. */
NX_API nx_tensor *nx_tan(nx_tensor *x);
/** Arc sine. F C. As nx_sqrt. */
NX_API nx_tensor *nx_asin(nx_tensor *x);
/** Arc cosine. F C. As nx_sqrt. */
NX_API nx_tensor *nx_acos(nx_tensor *x);
/** Arc tangent. F C. As nx_sqrt. */
NX_API nx_tensor *nx_atan(nx_tensor *x);
/** Hyperbolic sine. F C. As nx_sqrt. */
NX_API nx_tensor *nx_sinh(nx_tensor *x);
/** Hyperbolic cosine. F C. As nx_sqrt. */
NX_API nx_tensor *nx_cosh(nx_tensor *x);
/** Hyperbolic tangent. F C. As nx_sqrt. */
NX_API nx_tensor *nx_tanh(nx_tensor *x);
/** Error function. F alone. Else as nx_sqrt. */
NX_API nx_tensor *nx_erf(nx_tensor *x);
/** Complementary error function, 1 - erf(x) without its cancellation. F alone. Else as nx_sqrt. */
NX_API nx_tensor *nx_erfc(nx_tensor *x);
/** The inverse of erf. F alone. At 1 and -1 infinite, beyond NaN. Else as nx_sqrt. */
NX_API nx_tensor *nx_erfinv(nx_tensor *x);
/** log(1 + x). F C. As nx_sqrt. */
NX_API nx_tensor *nx_log1p(nx_tensor *x);
/** exp(x) - 1. F C. As nx_sqrt. */
NX_API nx_tensor *nx_expm1(nx_tensor *x);
/** Inverse hyperbolic sine. F C. As nx_sqrt. */
NX_API nx_tensor *nx_asinh(nx_tensor *x);
/** Inverse hyperbolic cosine. F C. As nx_sqrt. */
NX_API nx_tensor *nx_acosh(nx_tensor *x);
/** Inverse hyperbolic tangent. F C. As nx_sqrt. */
NX_API nx_tensor *nx_atanh(nx_tensor *x);
/** 2 to the power x. F alone. Else as nx_sqrt. */
NX_API nx_tensor *nx_exp2(nx_tensor *x);
/** Logarithm to base 2; of powers of 2 exact. F C. As nx_sqrt; C: that of nx_log, divided. */
NX_API nx_tensor *nx_log2(nx_tensor *x);
/** Logarithm to base 10. As nx_log2. */
NX_API nx_tensor *nx_log10(nx_tensor *x);
/** The real cube root, with the sign of x. F alone. Else as nx_sqrt. */
NX_API nx_tensor *nx_cbrt(nx_tensor *x);
/** 1 / sqrt(x); of a zero infinite with its sign. F C. Else as nx_sqrt. */
NX_API nx_tensor *nx_rsqrt(nx_tensor *x);
/** 1 / (1 + e^-x), the sigmoid. F C. Else as nx_sqrt. */
NX_API nx_tensor *nx_logistic(nx_tensor *x);
/** x times x, which is nx_mul(x, x). B I F C. */
NX_API nx_tensor *nx_square(nx_tensor *x);
/** To the nearest whole number, half to even. F. */
NX_API nx_tensor *nx_rint(nx_tensor *x);
/** Toward zero to a whole number. I F; the identity on integers. */
NX_API nx_tensor *nx_trunc(nx_tensor *x);
/** Up to a whole number. As nx_trunc. */
NX_API nx_tensor *nx_ceil(nx_tensor *x);
/** Down to a whole number. As nx_trunc. */
NX_API nx_tensor *nx_floor(nx_tensor *x);
/** To the nearest whole number, half away from zero. As nx_trunc. */
NX_API nx_tensor *nx_round(nx_tensor *x);

/* ---- complex numbers */

/** The real part of a complex number: f16 of c32, f32 of c64, f64 of c128. F C. A float is its own
 * real part. */
NX_API nx_tensor *nx_real(nx_tensor *x);
/** The imaginary part; of a float 0. Dtypes as of nx_real. */
NX_API nx_tensor *nx_imag(nx_tensor *x);
/** The conjugate, of the operand's dtype; a float is its own. F C. */
NX_API nx_tensor *nx_conj(nx_tensor *x);
/** Complex numbers of their parts: c32 of f16, c64 of f32, c128 of f64; other dtypes are
 * NX_UNSUPPORTED_DTYPE. */
NX_API nx_tensor *nx_complex(nx_tensor *re, nx_tensor *im);

/* ---- choice and conversion */

/** x where it lies between low and high, else the nearer one of them: min(max(x, low), high). B I
 * F C, all of one dtype; all three broadcast. NaN in any gives NaN. */
NX_API nx_tensor *nx_clamp(nx_tensor *low, nx_tensor *x, nx_tensor *high);

/** Of a where cond is true, else of b. cond is bool; a and b are B I F C, of one dtype, which is
 * that of the result; all three broadcast. */
NX_API nx_tensor *nx_where(nx_tensor *cond, nx_tensor *a, nx_tensor *b);
/** x converted to dtype. Every pair of dtypes. F -> I truncates and saturates, NaN -> 0; I -> I
 * wraps; to bool: x != 0, NaN true; I -> F and F -> F round to nearest even, once. Of a complex
 * number a real dtype takes the real part (bool: whether either part is not 0); a real one has the
 * imaginary part 0. NX_INVALID_ARGUMENT: no such dtype. */
NX_API nx_tensor *nx_cast(nx_tensor *x, nx_dtype dtype);
/** The same bits as another dtype of equal size. B I F C. NX_INVALID_ARGUMENT: another size, or no
 * such dtype. */
NX_API nx_tensor *nx_bitcast(nx_tensor *x, nx_dtype dtype);

/* ---- reductions: nx_reduce_ and what they do */

/** The sum over n axes, any set of them; an empty list reduces nothing. B I F C; of the operand's
 * dtype; 0 over nothing. Integers wrap; of bools: any (cast them first to count). The order of
 * floats is fixed: the same bits on any number of threads. flags: NX_KEEPDIMS.
 * NX_INVALID_ARGUMENT: an axis that is out of range or named twice, a list that is NULL, another
 * flag. NX_UNSUPPORTED_DTYPE. */
NX_API nx_tensor *nx_reduce_sum(nx_tensor *x, const int32_t *axes, size_t n, uint32_t flags);
/** The product; 1 over nothing; of bools: all. As nx_reduce_sum. */
NX_API nx_tensor *nx_reduce_prod(nx_tensor *x, const int32_t *axes, size_t n, uint32_t flags);
/** The largest element, as of nx_max. B I F C (on bool: any); of the operand's dtype. NaN
 * propagates. Over an empty axis false of bools; of numbers NX_INVALID_ARGUMENT, unless the result
 * is empty too. Axes, flags and statuses as of nx_reduce_sum. */
NX_API nx_tensor *nx_reduce_max(nx_tensor *x, const int32_t *axes, size_t n, uint32_t flags);
/** The smallest element (on bool: all; true over an empty axis). Else as nx_reduce_max. */
NX_API nx_tensor *nx_reduce_min(nx_tensor *x, const int32_t *axes, size_t n, uint32_t flags);
/** The place of the largest element of each line along one axis, of 1 to 2^31 - 1 elements; the
 * first one of equal ones; the first NaN wins. B I F C. dtype is that of the result, NX_I32 or
 * NX_I64; another one is NX_UNSUPPORTED_DTYPE. flags: NX_KEEPDIMS. NX_INVALID_ARGUMENT: the axis
 * is out of range or has another extent (0 is admitted where the result is empty too), another
 * flag. */
NX_API nx_tensor *nx_reduce_argmax(nx_tensor *x, int32_t axis, uint32_t flags, nx_dtype dtype);
/** The place of the smallest element. As nx_reduce_argmax. */
NX_API nx_tensor *nx_reduce_argmin(nx_tensor *x, int32_t axis, uint32_t flags, nx_dtype dtype);

/* ---- order */

/** B I F C; of the operand's shape and dtype. The elements of each line along axis in ascending
 * order, or with NX_DESCENDING in descending order; equal ones keep theirs (also in descending
 * order), and so do zeros of both signs, which are equal. NaNs come last in both directions, in
 * their order, with their bits. Complex numbers are ordered by their real parts, then by the
 * imaginary ones; those with a NaN in either are last. NX_INVALID_ARGUMENT: the axis is out of
 * range, another flag. NX_UNSUPPORTED_DTYPE. */
NX_API nx_tensor *nx_sort(nx_tensor *x, int32_t axis, uint32_t flags);
/** B I F C. The places on the axis that nx_sort takes its elements from, at most 2^31 - 1 of them,
 * as dtype: NX_I32 or NX_I64; another one is NX_UNSUPPORTED_DTYPE. Flags and statuses as of
 * nx_sort; NX_INVALID_ARGUMENT for a longer axis. */
NX_API nx_tensor *nx_argsort(nx_tensor *x, int32_t axis, uint32_t flags, nx_dtype dtype);

/** Flags of searchsorted. */
enum { NX_AFTER_EQUAL = 1 /**< behind the elements that are equal, instead of before them */ };
/** B I F. Where `values` would have to stand in sorted lines to keep them sorted: how many elements
 * of the line are less, or with NX_AFTER_EQUAL less or equal. NaN is behind all numbers, and equal
 * to NaN. sorted: of rank 1, and values of any shape; or values of its shape but for the last
 * axis, each line beside its own. sorter: NULL, or i32 or i64 of the shape of sorted, as
 * nx_argsort gives them: the order in which the lines are sorted. Of the shape of values, as
 * dtype: NX_I32 or NX_I64, another one is NX_UNSUPPORTED_DTYPE. Lines that are not sorted give
 * some place. One kernel in a function, else one for each bit of the extent. NX_INVALID_ARGUMENT:
 * two dtypes, shapes that do not fit, another flag. */
NX_API nx_tensor *nx_searchsorted(nx_tensor *sorted, nx_tensor *values, nx_tensor *sorter,
                                  uint32_t flags, nx_dtype dtype);

/** F. Signed integers of the width of x that are ordered as x is by its bits: -NaN, -infinity, ..
 * -0, +0, .. infinity, NaN, where NaNs differ by sign and bits (totalOrder of IEEE 754). To compare
 * two tensors in total order, or sort by it, do so with these. */
NX_API nx_tensor *nx_total_order(nx_tensor *x);

/** I F C. The k largest elements of each line along axis in descending order, or with NX_SMALLEST
 * the k smallest in ascending order: the first k that nx_sort gives, equal ones in their order,
 * NaNs last, with their bits. values: of x's shape with extent k along axis, and of its dtype;
 * places: the places on the axis that they come from, as dtype: NX_I32 or NX_I64, another one is
 * NX_UNSUPPORTED_DTYPE. Either may be NULL. NX_INVALID_ARGUMENT: k is negative or larger than the
 * extent of the axis, the axis is out of range or longer than 2^31 - 1, another flag. */
NX_API nx_status nx_top_k(nx_tensor *x, int64_t k, int32_t axis, uint32_t flags, nx_dtype dtype,
                          nx_tensor **values, nx_tensor **places);

/* ---- movement: views of the same storage, no copy */

/** A view of the same storage, no copy, of any dtype: axes of extent 1, and new leading axes,
 * repeat to `shape`. NX_INVALID_ARGUMENT: they do not, or shape is NULL. */
NX_API nx_tensor *nx_expand(nx_tensor *x, const int64_t *shape, int32_t rank);
/** The same elements in C order in another shape, of any dtype: a view of the same storage. Where
 * strides cannot express that it is NX_NEEDS_COPY, or, with NX_MAY_COPY in flags, a new tensor
 * with the elements copied, which shares nothing with x; no error is noted then.
 * NX_INVALID_ARGUMENT: another number of elements, shape is NULL, another flag. */
NX_API nx_tensor *nx_reshape(nx_tensor *x, const int64_t *shape, int32_t rank, uint32_t flags);
/** A view of the same storage, of any dtype. Axis i of the result is axis axes[i] of x. n is the
 * rank. NX_INVALID_ARGUMENT: it is not, or the axes are not each of x's once. */
NX_API nx_tensor *nx_permute(nx_tensor *x, const int32_t *axes, size_t n);
/** A view of the same storage, of any dtype. Along axis i the elements from start[i] to stop[i],
 * which is not one of them. n is the length of both lists and the rank of x: any other one, or a
 * list that is NULL, is NX_INVALID_ARGUMENT. NX_INDEX_OUT_OF_RANGE: not 0 <= start <= stop <=
 * extent. */
NX_API nx_tensor *nx_shrink(nx_tensor *x, const int64_t *start, const int64_t *stop, size_t n);
/** A view of the same storage, of any dtype. The elements in reverse order along each of these
 * axes. NX_INVALID_ARGUMENT as of nx_reduce_sum. */
NX_API nx_tensor *nx_flip(nx_tensor *x, const int32_t *axes, size_t n);

/* ---- movement: new tensors */

/** All dtypes. before[i] elements of *value before axis i, after[i] behind it. n is the length of
 * both lists and the rank of x: any other one, a list that is NULL, an entry
 * below 0, a value that is NULL, or a shape beyond 63 bits is NX_INVALID_ARGUMENT. */
NX_API nx_tensor *nx_pad(nx_tensor *x, const int64_t *before, const int64_t *after, size_t n,
                         const nx_scalar *value);
/** The n tensors one behind the other along axis. B I F C, of one dtype and rank, with equal
 * extents but along axis. NX_INVALID_ARGUMENT: they are not, there are none, or the axis is out of
 * range. */
NX_API nx_tensor *nx_cat(nx_tensor *const *tensors, size_t n, int32_t axis);

/* ---- memory */

/** A new handle of x's own storage if its view is C-contiguous with offset 0, else a new storage
 * that is, as of nx_copy. Every dtype. */
NX_API nx_tensor *nx_contiguous(nx_tensor *x);
/** Always a new storage of exactly x's elements. Every dtype. */
NX_API nx_tensor *nx_copy(nx_tensor *x);

/* ---- sources */

/** n elements start + i * step, where start and step become dtype first, as by nx_full. B I F C.
 * Integers wrap; f32 and f64 round the product and the sum; small floats compute both in f32,
 * which rounds each, and round the result to dtype; complex numbers part by part; bool: whether
 * the sum, of integers, is not 0. Statuses as of nx_full. */
NX_API nx_tensor *nx_arange(nx_context *context, nx_device device, nx_dtype dtype,
                            const nx_scalar *start, const nx_scalar *step, int64_t n);
/** n rows, m columns, 1 where column - row == k, else 0. Every dtype. Statuses as of nx_empty. */
NX_API nx_tensor *nx_eye(nx_context *context, nx_device device, nx_dtype dtype, int64_t n,
                         int64_t m, int64_t k);

/* ---- random bits */

/** Threefry-2x32 with 20 rounds of each pair of words of the counter: as many random bits. key and
 * counter are i32, or both are u32; the last axis of each is of size 2, else NX_INVALID_ARGUMENT;
 * the other axes broadcast. */
NX_API nx_tensor *nx_threefry(nx_tensor *key, nx_tensor *counter);

/* ---- composed of the operations above */

/** a > b, which is nx_cmplt(b, a). B I F; result bool; both broadcast. With NaN false, false <
 * true. The statuses of nx_cmplt. */
NX_API nx_tensor *nx_cmpgt(nx_tensor *a, nx_tensor *b);
/** a >= b, which is nx_cmple(b, a). Else as nx_cmpgt. */
NX_API nx_tensor *nx_cmpge(nx_tensor *a, nx_tensor *b);

/** F C. The arithmetic mean over axes, which are given as to nx_reduce_sum, flags too: their sum in
 * the order of nx_reduce_sum, divided by how many there are; NaN over nothing. The dtype of x;
 * floats below f32 are summed and divided in f32 and rounded once, complex numbers are divided part
 * by part. The statuses of nx_reduce_sum. */
NX_API nx_tensor *nx_reduce_mean(nx_tensor *x, const int32_t *axes, size_t n, uint32_t flags);
/** F C. The variance over axes: the sum of |x - mean|^2, divided by the number of elements less
 * `ddof`, as NumPy's var (0: of a population; 1: the unbiased estimate from a sample). A divisor
 * below 0 counts as 0, and what is divided by 0 is infinite or NaN. Real: the dtype of x, or of its
 * parts; floats below f32 are computed in f32 and rounded once. axes and flags as for
 * nx_reduce_mean. The statuses of nx_reduce_sum; NX_INVALID_ARGUMENT for a ddof that is infinite or
 * NaN. */
NX_API nx_tensor *nx_reduce_var(nx_tensor *x, const int32_t *axes, size_t n, double ddof,
                                uint32_t flags);

/** How a quantile that lies between two elements is made of them. */
typedef enum nx_quantile_method {
  NX_QUANTILE_LINEAR,  /**< in proportion */
  NX_QUANTILE_LOWER,   /**< the lower one */
  NX_QUANTILE_HIGHER,  /**< the higher one */
  NX_QUANTILE_NEAREST, /**< the nearer one; of two, the one with an even place */
  NX_QUANTILE_MIDPOINT /**< the middle */
} nx_quantile_method;
/** F. The quantiles q[i], from 0 to 1, of each line of n elements along axis: q[i] (n - 1) is a
 * place in the sorted line. Along a new first axis, then the axes of x without the reduced one, or
 * with NX_KEEPDIMS with extent 1. A NaN in a line makes NaN of it. Between a and b at part w of the
 * way: a if they are equal, else a + w (b - a) for w < 0.5, else b - (1 - w) (b - a); floats below
 * f32 in f32, rounded once. NX_INVALID_ARGUMENT: n_q is not from 1 to 64, a q outside, the axis is
 * out of range or empty, rank 32, no such method, another flag. */
NX_API nx_tensor *nx_quantile(nx_tensor *x, const double *q, size_t n_q, int32_t axis,
                              nx_quantile_method method, uint32_t flags);
/** nx_quantile of all elements along several axes together, which are given as to nx_reduce_sum. */
NX_API nx_tensor *nx_quantile_over(nx_tensor *x, const double *q, size_t n_q, const int32_t *axes,
                                   size_t n, nx_quantile_method method, uint32_t flags);
/** The linear quantile at 0.5, without the axis of quantiles. Else as nx_quantile. */
NX_API nx_tensor *nx_median(nx_tensor *x, int32_t axis, uint32_t flags);

#ifdef __cplusplus
}
#endif
#endif
