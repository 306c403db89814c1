/* SPDX-License-Identifier: ISC */
/* The Schur form of a small block, by steps with one bulge. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "bulges.h"
#include "runtime/library/floats/multiply.h"
#include "runtime/library/linalg/lapack.h"

typedef void (*lanv2_fn)(double *a, double *b, double *c, double *d, double *re, double *im,
                         double *other_re, double *other_im, double *cosine, double *sine);

enum { PATIENCE = 10, MOST = 30 }; /* steps before another shift; steps for each row */

/* x and y, n elements that are `step` apart, become c x + s y and c y - s x. */
static void rotate(int n, double *x, double *y, int64_t step, double c, double s) {
  for (int i = 0; i < n; i++, x += step, y += step) {
    const double old = *x;
    *x = c * old + s * *y;
    *y = c * *y - s * old;
  }
}

/* Rows k and k + 1 are a block of their own: two real values, or a pair. */
static void end_two(const nxi_bulges *b, int k) {
  double *own = b->h + k + (int64_t)k * b->ld, *next = own + b->ld, values[4], c, s;
  ((lanv2_fn)nxi_lapack(NXI_LAPACK_lanv2, NX_F64))(&own[0], &next[0], &own[1], &next[1], values,
                                                   values + 1, values + 2, values + 3, &c, &s);
  rotate(b->size - k - 2, next + b->ld, next + b->ld + 1, b->ld, c, s);
  rotate(k, own - k, next - k, 1, c, s);
  if (b->u)
    rotate(b->u_rows, b->u + (int64_t)k * b->u_ld, b->u + (int64_t)(k + 1) * b->u_ld, 1, c, s);
}

/* The values of a block of two rows, a b and c d, as shifts; of two real ones that nearer to d,
 * twice. */
static void take_shifts(double a, double b, double c, double d, double *re, double *im) {
  const double size = fabs(a) + fabs(b) + fabs(c) + fabs(d);
  re[0] = re[1] = im[0] = im[1] = 0;
  if (size == 0) return;
  const double half = (a / size + d / size) / 2, x = a / size - half, y = d / size - half,
               det = x * y - b / size * (c / size), root = sqrt(fabs(det));
  if (det >= 0) {
    re[0] = re[1] = half * size;
    im[0] = root * size;
    im[1] = -im[0];
    return;
  }
  const double p = half + root, q = half - root;
  re[0] = re[1] = (fabs(p - d / size) <= fabs(q - d / size) ? p : q) * size;
}

/* Shifts for a step; now and then others than the usual ones, without which some matrices would
 * stay as they are. */
static void choose_shifts(const nxi_bulges *b, int steps, double *re, double *im) {
  const int top = b->top, bottom = b->bottom;
  const int64_t ld = b->ld;
  const double *h = b->h, *last = h + bottom + bottom * ld;
  double size = 0, from = 0;
  if (steps % (2 * PATIENCE) == PATIENCE) {
    size = fabs(h[top + 1 + top * ld]) + fabs(h[top + 2 + (top + 1) * ld]);
    from = h[top + top * ld];
  } else if (steps % (2 * PATIENCE) == 0) {
    size = fabs(last[-ld]) + fabs(last[-1 - 2 * ld]);
    from = last[0];
  } else {
    take_shifts(last[-1 - ld], last[-1], last[-ld], last[0], re, im);
    return;
  }
  take_shifts(0.75 * size + from, -0.4375 * size, size, 0.75 * size + from, re, im);
}

/* The first row of the part that ends with `bottom`. */
static int top_of(const nxi_bulges *b, int bottom) {
  for (int k = bottom; k > 0; k--) {
    double *below = b->h + k + (int64_t)(k - 1) * b->ld;
    if (*below != 0 && !nxi_is_negligible(b->h, b->ld, k - 1, 0, b->size - 1)) continue;
    *below = 0;
    return k;
  }
  return 0;
}

bool nxi_block_schur(int n, double *h, int ld, double *z, int z_rows, int z_ld) {
  double re[2], im[2], v[3];
  nxi_bulges b = {.h = h,
                  .ld = ld,
                  .size = n,
                  .count = 1,
                  .re = re,
                  .im = im,
                  .v = v,
                  .u = z,
                  .u_ld = z_ld,
                  .u_rows = z_rows,
                  .loops = nxi_floats_kernels_for(NX_F64)};
  int64_t left = (int64_t)MOST * (n > PATIENCE ? n : PATIENCE);
  for (int bottom = n - 1, steps = 0; bottom >= 0; steps++) {
    b.bottom = bottom;
    b.top = top_of(&b, bottom);
    if (b.top >= bottom - 1) {
      if (b.top < bottom) end_two(&b, b.top);
      bottom = b.top - 1;
      steps = 0;
      continue;
    }
    if (left-- == 0) return false;
    choose_shifts(&b, steps + 1, re, im);
    nxi_chase(&b, b.top - 1, bottom - 1);
  }
  return true;
}

void nxi_block_values(int n, const double *h, int ld, double *re, double *im) {
  for (int k = 0; k < n; k++) {
    const double *own = h + k + (int64_t)k * ld;
    re[k] = own[0];
    im[k] = 0;
    if (k + 1 == n || own[1] == 0) continue;
    im[k] = sqrt(fabs(own[1])) * sqrt(fabs(own[ld]));
    re[k + 1] = own[ld + 1];
    im[k + 1] = -im[k];
    k++;
  }
}
