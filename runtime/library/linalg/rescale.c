/* SPDX-License-Identifier: ISC */
/* Scaling by powers of two, and conversions of real arrays. */
#include "rescale.h"

#include <float.h>
#include <math.h>
#include <string.h>

static int64_t parts(nx_dtype t, int64_t n) { return nxi_lapack_complex(t) ? 2 * n : n; }

double nxi_largest(nx_dtype t, int64_t n, const void *a) {
  const float *f = a;
  const double *g = a;
  const bool single = nxi_lapack_single(t);
  double largest = 0;
  n = parts(t, n);
  for (int64_t i = 0; i < n; i++) {
    const double x = fabs(single ? (double)f[i] : g[i]);
    largest = x > largest ? x : largest;
  }
  return largest;
}

/* Numbers are scaled if they are outside the square roots of the smallest and the largest number,
 * with a margin of some bits. */
int nxi_scale_for(nx_dtype t, double largest) {
  const double limit = nxi_lapack_single(t) ? 0x1p50 : 0x1p480;
  int exponent;
  if (largest == 0 || (largest <= limit && largest >= 1 / limit)) return 0;
  frexp(largest, &exponent);
  return -exponent;
}

void nxi_scale(nx_dtype t, int64_t n, void *a, int power) {
  float *f = a;
  double *g = a;
  n = power ? parts(t, n) : 0;
  for (int64_t i = 0; i < n; i++) {
    if (nxi_lapack_single(t)) f[i] = ldexpf(f[i], power);
    else g[i] = ldexp(g[i], power);
  }
}

void nxi_widen_values(nx_dtype real, int64_t n, const void *from, double *to) {
  const float *f = from;
  if (real == NX_F64) memcpy(to, from, (size_t)n * sizeof *to);
  for (int64_t i = 0; i < n && real == NX_F32; i++) to[i] = f[i];
}

void nxi_copy_real(nx_dtype t, int64_t n, const void *from, void *to) {
  const int64_t size = nxi_lapack_single(t) ? 4 : 8;
  if (!nxi_lapack_complex(t)) {
    memcpy(to, from, (size_t)(n * size));
    return;
  }
  memset(to, 0, (size_t)(2 * n * size));
  for (int64_t i = 0; i < n; i++)
    memcpy((char *)to + 2 * i * size, (const char *)from + i * size, (size_t)size);
}
