/* SPDX-License-Identifier: ISC */
/* Square roots and logarithms of triangular matrices. The root by the recurrence of Bjorck and
 * Hammarling (1983), column by column. The logarithm by inverse scaling and squaring: Higham,
 * "Functions of Matrices" (2008), algorithm 11.9: roots are taken until the matrix is near the
 * identity, where the Pade approximant of degree 7 of log(1 + x), in the form of partial fractions
 * that Gauss-Legendre quadrature has, is exact to the rounding unit. The diagonal of what the
 * approximant is given, and that of the result, are computed from the eigenvalues themselves, as
 * Al-Mohy and Higham (2012) propose. */
#include "triangles.h"

#include <complex.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* Plain arithmetic: the operators of C look for infinities. */
static nxi_c128 times(nxi_c128 a, nxi_c128 b) {
  return (nxi_c128){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static nxi_c128 divided(nxi_c128 a, nxi_c128 b) {
  if (fabs(b.re) >= fabs(b.im)) {
    const double q = b.im / b.re, d = b.re + b.im * q;
    return (nxi_c128){(a.re + a.im * q) / d, (a.im - a.re * q) / d};
  }
  const double q = b.re / b.im, d = b.re * q + b.im;
  return (nxi_c128){(a.re * q + a.im) / d, (a.im * q - a.re) / d};
}
static bool is_zero(nxi_c128 a) { return a.re == 0 && a.im == 0; }

static double complex as_c(nxi_c128 x) {
  double complex z;
  memcpy(&z, &x, sizeof z);
  return z;
}
static nxi_c128 of_c(double complex z) { return (nxi_c128){creal(z), cimag(z)}; }

/* x -= a y, of n elements. */
static void subtract(int n, nxi_c128 a, const nxi_c128 *y, nxi_c128 *x) {
  for (int i = 0; i < n; i++) {
    const nxi_c128 p = times(a, y[i]);
    x[i].re -= p.re;
    x[i].im -= p.im;
  }
}

void nxi_triangle_root(int n, nxi_c128 *t) {
  for (int j = 0; j < n; j++) {
    nxi_c128 *x = t + (int64_t)j * n;
    x[j] = of_c(csqrt(as_c(x[j])));
    for (int k = j; k-- > 0;) {
      const nxi_c128 *r = t + (int64_t)k * n, sum = {r[k].re + x[j].re, r[k].im + x[j].im};
      if (!is_zero(sum) || !is_zero(x[k])) x[k] = divided(x[k], sum);
      subtract(k, x[k], r, x);
    }
  }
}

/* ---- the logarithm */

enum { NODES = 7, MOST_ROOTS = 100 };
static const double near_one = 2.642960831111435e-1;
/* Gauss-Legendre on [0, 1]. */
static const double nodes[NODES] = {0.5,
                                    0.5 - 0.2029225756886985834,
                                    0.5 + 0.2029225756886985834,
                                    0.5 - 0.3707655927996972200,
                                    0.5 + 0.3707655927996972200,
                                    0.5 - 0.4745539561713792622,
                                    0.5 + 0.4745539561713792622};
static const double weights[NODES] = {
    0.2089795918367346939, 0.1909150252525594725, 0.1909150252525594725, 0.1398526957446383340,
    0.1398526957446383340, 0.0647424830844348466, 0.0647424830844348466};

/* The 1-norm of t - 1. */
static double distance(int n, const nxi_c128 *t) {
  double most = 0;
  for (int j = 0; j < n; j++) {
    double sum = 0;
    for (int i = 0; i <= j; i++) {
      const nxi_c128 x = t[(int64_t)j * n + i];
      sum += hypot(x.re - (i == j), x.im);
    }
    if (!(sum <= most)) most = sum;
  }
  return most;
}

/* exp(z) - 1. */
static nxi_c128 exp_less_one(double re, double im) {
  const double half = sin(im / 2);
  return (nxi_c128){expm1(re) * cos(im) - 2 * half * half, exp(re) * sin(im)};
}

/* sum += w x (1 + c x)^-1 above the diagonal; y: memory. */
static void add_fraction(int n, double c, double w, const nxi_c128 *x, nxi_c128 *y, nxi_c128 *sum) {
  for (int j = 0; j < n; j++) {
    const nxi_c128 *column = x + (int64_t)j * n, pivot = {1 + c * column[j].re, c * column[j].im};
    nxi_c128 *to = y + (int64_t)j * n, *all = sum + (int64_t)j * n;
    memcpy(to, column, (size_t)(j + 1) * sizeof *to);
    for (int k = 0; k < j; k++)
      subtract(k + 1, (nxi_c128){c * column[k].re, c * column[k].im}, y + (int64_t)k * n, to);
    for (int i = 0; i <= j; i++) {
      to[i] = divided(to[i], pivot);
      if (i == j) break;
      all[i].re += w * to[i].re;
      all[i].im += w * to[i].im;
    }
  }
}

bool nxi_triangle_log(int n, nxi_c128 *t, nxi_c128 *own) {
  nxi_c128 *x = own, *y = own + (int64_t)n * n;
  int roots = 0;
  for (int i = 0; i < n; i++) {
    const nxi_c128 z = t[(int64_t)i * (n + 1)];
    if (is_zero(z) || !isfinite(z.re) || !isfinite(z.im)) return false;
  }
  memcpy(x, t, (size_t)n * (size_t)n * sizeof *x);
  for (; roots < MOST_ROOTS && !(distance(n, x) <= near_one); roots++) nxi_triangle_root(n, x);
  for (int i = 0; i < n; i++) {
    const nxi_c128 z = of_c(clog(as_c(t[(int64_t)i * (n + 1)])));
    x[(int64_t)i * (n + 1)] = exp_less_one(ldexp(z.re, -roots), ldexp(z.im, -roots));
    t[(int64_t)i * (n + 1)] = z;
  }
  for (int j = 0; j < n; j++) memset(t + (int64_t)j * n, 0, (size_t)j * sizeof *t);
  for (int f = 0; f < NODES; f++) add_fraction(n, nodes[f], weights[f], x, y, t);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < j; i++) {
      nxi_c128 *z = t + (int64_t)j * n + i;
      *z = (nxi_c128){ldexp(z->re, roots), ldexp(z->im, roots)};
    }
  return true;
}
