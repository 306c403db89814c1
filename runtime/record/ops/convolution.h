/* SPDX-License-Identifier: ISC */
/* What convolution.c and convolution_part.c share: a convolution with everything filled in, and one
 * along whose axes nothing is dilated but the window. */
#ifndef NXI_CONVOLUTION_H
#define NXI_CONVOLUTION_H

#include "compose.h"

enum { NXI_MOST_SPATIAL = 14 }; /* a view of windows has axes for position and window, and four */

/* One spatial axis of a part: output p and element k of its window read x[begin + p * stride + k *
 * dilation] and w[tap + k * tap_step]. */
typedef struct nxi_taps {
  int64_t count, begin, stride, dilation, taps, tap, tap_step;
} nxi_taps;

typedef struct nxi_convolution {
  int32_t n;
  bool features_last; /* of x, behind its spatial axes: the window's elements are features last */
  int32_t x_last;     /* the spatial axis that is the last one of x; -1: that is no spatial one */
  int64_t groups, batch, in, out; /* of one group */
  int32_t y_axes[NXI_MOST_SPATIAL + 2];
  nx_dtype dtype;
} nxi_convolution;

/* x [groups, batch, in, spatial..] and w [groups, out, in, window..] give [batch, groups * out,
 * positions..] in the order of the result's axes. */
nx_tensor *nxi_convolution_part(const nxi_convolution *c, nx_tensor *x, nx_tensor *w,
                                const nxi_taps *taps);

#endif
