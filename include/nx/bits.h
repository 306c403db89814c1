/* SPDX-License-Identifier: ISC */
/* Operations on the bits of elements: integers as words of bits, floats as sign, exponent and
 * fraction. As in ops.h, each function records one operation and returns its result, a new handle;
 * classes of dtypes, statuses, and who owns what are those of ops.h. i4 and u4 have four bits. The
 * sign and the bits of a NaN that was computed may be any (docs/contract.md, section 3). */
#ifndef NX_BITS_H
#define NX_BITS_H

#include "ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- integers */

/** Not. B I. Bitwise on integers, logical on bool. */
NX_API nx_tensor *nx_not(nx_tensor *x);
/** How many bits are 1. I; of the operand's dtype. */
NX_API nx_tensor *nx_popcount(nx_tensor *x);
/** How many bits are 0 above the highest 1; of 0 the width. I; of the operand's dtype. */
NX_API nx_tensor *nx_clz(nx_tensor *x);
/** How many bits are 0 below the lowest 1; of 0 the width. I; of the operand's dtype. */
NX_API nx_tensor *nx_ctz(nx_tensor *x);
/** The bits in reverse order: the lowest becomes the highest. I. */
NX_API nx_tensor *nx_reverse_bits(nx_tensor *x);
/** a shifted right by count bits, with zeros from the left also where the dtype is signed. I, both
 * of one dtype; shapes broadcast. A count outside [0, width) gives 0. */
NX_API nx_tensor *nx_shr_logical(nx_tensor *a, nx_tensor *count);
/** a shifted right by count bits, with its highest bit from the left also where the dtype is
 * unsigned. As nx_shr_logical, but a count outside [0, width) gives zeros or ones, as the highest
 * bit is. */
NX_API nx_tensor *nx_shr_arithmetic(nx_tensor *a, nx_tensor *count);

/* ---- floats */

/** The magnitude of a with the sign bit of b, both of one dtype; shapes broadcast. F. Of NaNs
 * too. */
NX_API nx_tensor *nx_copysign(nx_tensor *a, nx_tensor *b);
/** The next number of the dtype from a toward b, as C's nextafter; b itself where they are equal;
 * NaN where either is. F, both of one dtype; shapes broadcast. */
NX_API nx_tensor *nx_nextafter(nx_tensor *a, nx_tensor *b);
/** Whether the sign bit is set, of -0 and of NaNs too. F; result bool. */
NX_API nx_tensor *nx_signbit(nx_tensor *x);
/** Whether it is NaN, of a complex number either part. I F C; of integers false; result bool. */
NX_API nx_tensor *nx_isnan(nx_tensor *x);
/** Whether it is infinite, of a complex number either part. As nx_isnan. */
NX_API nx_tensor *nx_isinf(nx_tensor *x);
/** Whether it is neither infinite nor NaN, of a complex number both parts. I F C; of integers true;
 * result bool. */
NX_API nx_tensor *nx_isfinite(nx_tensor *x);
/** x rounded to a float with so many bits of exponent and of fraction, of x's dtype. F. The
 * fraction is rounded to nearest even; what then exceeds the largest number of that format is
 * infinite, what is below its smallest normal one becomes 0, with x's sign; NaN stays NaN. A count
 * that is not below that of x's dtype changes nothing. f8e4m3 has no infinity and becomes NaN.
 * NX_INVALID_ARGUMENT: exponent_bits below 1, mantissa_bits below 0. */
NX_API nx_tensor *nx_reduce_precision(nx_tensor *x, int32_t exponent_bits, int32_t mantissa_bits);

/* ---- between widths */

/** The same bits as another dtype of any size, in the order in which they are in memory, the lowest
 * first. To one of 1/k of the size: a new last axis of extent k. To one of k times the size: the
 * last axis, which has the extent k, is gone. To one of equal size: nx_bitcast. B I F, c32 and c64.
 * NX_INVALID_ARGUMENT: another extent of the last axis, a result of more than 32 axes, no such
 * dtype; NX_UNSUPPORTED_DTYPE: c128 to another size. */
NX_API nx_tensor *nx_bitcast_convert(nx_tensor *x, nx_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
