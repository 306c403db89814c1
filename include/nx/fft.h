/* SPDX-License-Identifier: ISC */
/* Fourier transforms over any set of axes. Recorded like every other operation (ops.h).
 *
 * fft of x along an axis of n elements is y[k] = sum over j of x[j] exp(-2 pi i j k / n); ifft has
 * the other sign. Neither is divided by anything: ifft(fft(x)) = n x. Several axes: one after the
 * other. Every length has an algorithm of n log n, primes too. In the precision of the operand, c64
 * or c128 (rfft: f32 or f64); errors stay below 3 eps log2(n) relative to the largest number of the
 * result (eps: half a unit in the last place of 1). NaN and infinities spread over their whole
 * line.
 *
 * Axes may be negative (from the end) and in any order; NX_ALL_AXES (ops.h) names all of them, in
 * order. Their number is 1 at least. Refused when recorded: NX_INVALID_ARGUMENT for an axis that is
 * out of range or named twice, or for none; NX_UNSUPPORTED_DTYPE for dtypes of other classes. A
 * tensor without elements gives one without elements, but there is no spectrum of nothing: rfft
 * along an axis of extent 0 and irfft to 0 elements are NX_INVALID_ARGUMENT. When realised:
 * NX_OUT_OF_MEMORY. */
#ifndef NX_FFT_H
#define NX_FFT_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The transform along n_axes axes. c64 or c128, any shape -> the same shape and dtype. */
NX_API nx_tensor *nx_fft(nx_tensor *x, const int32_t *axes, size_t n_axes);
/** The inverse transform, not divided. As nx_fft. */
NX_API nx_tensor *nx_ifft(nx_tensor *x, const int32_t *axes, size_t n_axes);

/** F -> c64, of f64 c128. Transforms real numbers along the last axis of the list, of extent n, and
 * keeps the n / 2 + 1 (rounded down) elements that determine the others; then along the other axes.
 * Floats below f32 are converted to it. */
NX_API nx_tensor *nx_rfft(nx_tensor *x, const int32_t *axes, size_t n_axes);

/** c64 -> f32, c128 -> f64. The inverse of rfft, but for the factor: ifft along all axes but the
 * last of the list, then from half a spectrum to real numbers along that one. sizes: the extents
 * of the result along the axes, in the order of the list, n_sizes of them: as many as there are
 * axes, or, as `NULL, 0`, none, which leaves them unchanged, and 2 (extent - 1) along the last.
 * With sizes the operand is cut, or zeros are appended, along every axis; of the last one the
 * first size / 2 + 1 elements count. Imaginary parts that those of a real signal do not have (of
 * element 0, and of the last one if the size is even) are ignored. NX_INVALID_ARGUMENT: another
 * number of sizes, a size below 1, a list of sizes that is NULL. */
NX_API nx_tensor *nx_irfft(nx_tensor *x, const int32_t *axes, size_t n_axes, const int64_t *sizes,
                           size_t n_sizes);

#ifdef __cplusplus
}
#endif
#endif
