/* SPDX-License-Identifier: ISC */
/* Convolutions, and what readers of other formats need around them. As in ops.h, each records and
 * returns a new handle; NULL and this thread's error on a failure, with the statuses of ops.h. */
#ifndef NX_CONVOLUTION_H
#define NX_CONVOLUTION_H

#include "ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What nx_convolution does along its n spatial axes, and which axes those are. A list that is NULL
 * has the value that its comment names; lists are read before the call returns. All zeros but size
 * and n: images [batch, features, spatial..], weights [out, in, spatial..], and windows that move
 * by one element and lie within the image. */
typedef struct nx_convolution_options {
  size_t size;                   /**< sizeof(nx_convolution_options) */
  int32_t n;                     /**< spatial axes, 0 to 14: both ranks less two */
  const int64_t *stride;         /**< from window to window; NULL: 1 */
  const int64_t *before, *after; /**< zeros around x; negative ones cut it off; NULL: 0 */
  const int64_t *x_dilation;     /**< x_dilation - 1 zeros between elements of x; NULL: 1 */
  const int64_t *w_dilation;     /**< the distance of the window's elements; NULL: 1 */
  const int32_t *reversed;       /**< not 0: the window runs backwards along the axis; NULL: 0 */
  int64_t feature_groups;        /**< 0 is 1 */
  int64_t batch_groups;          /**< 0 is 1; one of the two is 1 */
  /** Where x has batch, features and the spatial axes: n + 2 axes, each once, negative ones from
   * the end; NULL: 0, 1, 2, .. */
  const int32_t *x_axes;
  const int32_t *w_axes; /**< the same for the out and in features and spatial axes of w */
  const int32_t *y_axes; /**< the same for batch, features and spatial axes of the result */
  nx_dtype dtype;        /**< both operands are cast to it first; 0: the operands' own */
} nx_convolution_options;

/** B I F C. The windows of x, each multiplied with the weights and summed (of bools: whether any
 * pair is true twice, as in nx_matmul): with the usual axes, and without groups, y[b, o, p] = sum
 * over i, k of x[b, i, p * stride + k * w_dilation] * w[o, i, k], where x has its zeros around and
 * between already. The weights are not turned around, as in every frontend's convolution;
 * `reversed` does it. Along an axis where the window is longer than x with
 * its zeros, or has extent 0, there are no windows; over no features the result is 0.
 *
 * feature_groups: features of x and out features of w are in that many parts, one behind the other;
 * part g of the result's features is the convolution of parts g. As many groups as features is a
 * depthwise convolution. batch_groups: the same with the batch of x in place of its features, and
 * the result has batch / batch_groups. Both gradients of a convolution are convolutions: of the
 * upstream gradient with x_dilation for the stride and reversed weights, and of x with the upstream
 * gradient for weights, batch and features in each other's place.
 *
 * Values and their order: as of nx_matmul over features and window, or of sums of products where
 * groups have one feature (numerics.md); floats below f32 add up in f32 and round once. A zero
 * around x is multiplied as any element; zeros between its elements are left out, unless x_dilation
 * makes more than 64 kinds of windows. The result is C-contiguous; the windows are not stored where
 * nx_unfold says so. NX_INVALID_ARGUMENT: options that are NULL, a number or list that is out of
 * the bounds above, ranks other than n + 2, features that do not fit, operands of two dtypes,
 * groups that do not divide what they part. NX_UNSUPPORTED_DTYPE: a dtype that is only stored, of
 * an operand or as dtype. */
NX_API nx_tensor *nx_convolution(nx_tensor *x, nx_tensor *w, const nx_convolution_options *options);

/** All dtypes. As nx_pad with between[i] elements of *value between neighbours along axis i, and
 * with before[i] and after[i] that may be negative: after all others are inserted, so many
 * elements, inserted ones too, are cut off at that end. between NULL: none. NX_INVALID_ARGUMENT: as
 * of nx_pad; an entry of between below 0, or above it of an x of rank 32; more is cut off than is
 * there. */
NX_API nx_tensor *nx_pad_between(nx_tensor *x, const int64_t *before, const int64_t *after,
                                 const int64_t *between, size_t n, const nx_scalar *value);

#ifdef __cplusplus
}
#endif
#endif
