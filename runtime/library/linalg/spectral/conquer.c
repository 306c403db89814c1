/* SPDX-License-Identifier: ISC */
/* Divide and conquer of a tridiagonal matrix T. Without the element beside the diagonal in its
 * middle, and with that subtracted from its two neighbours, it is two matrices, whose vectors are
 * those of T = Q (D + rho z z^T) Q^T. What is left of that after deflation has the roots of a
 * secular equation as its values, one task for some; then the weights w of which they are the exact
 * roots are computed anew (Gu and Eisenstat 1995), which makes the vectors orthogonal; these are
 * w / (D - root), and multiplied by those of the halves. */
#include "conquer.h"

#include <math.h>
#include <string.h>

#include "runtime/library/blas/level3.h"
#include "runtime/library/linalg/rescale.h"

typedef void (*stedc_fn)(const char *vectors, const int *n, void *d, void *e, void *z,
                         const int *ldz, void *work, const int *lwork, int *iwork,
                         const int *liwork, int *info, size_t);
typedef void (*laed2_fn)(int *k, const int *n, const int *half, void *d, void *q, const int *ldq,
                         int *order, void *rho, void *z, void *lambda, void *w, void *q2, int *indx,
                         int *indxc, int *indxp, int *types, int *info);
typedef void (*laed4_fn)(const int *k, const int *i, const void *lambda, const void *z,
                         void *differences, const void *rho, void *root, int *info);

enum { CHUNK = 64 }; /* columns of a task */
/* Arrays of `work`, n elements each; the rest is the vectors of the halves, sorted. */
enum { RHO, Z, LAMBDA, UPDATE, WEIGHTS, HALVES };
/* Arrays of `integers`, n elements each. PLACES: in HALVES, of rows of the secular equation. */
enum { ORDER, SORTED, PLACES, DEFLATED, TYPES, INFOS, INTEGERS };

int nxi_conquer_chunks(const nxi_conquer *c) { return (c->n + CHUNK - 1) / CHUNK; }

int64_t nxi_conquer_work(const nxi_conquer *c) { return (int64_t)c->n * (c->n + HALVES); }

int64_t nxi_conquer_integers(const nxi_conquer *c) { return (int64_t)c->n * INTEGERS + 6; }

int64_t nxi_conquer_own(const nxi_conquer *c) { return (int64_t)c->n * (CHUNK + 1); }

static char *array(const nxi_conquer *c, const nxi_conquer_arrays *at, int which) {
  return nxi_at(c->t, at->work, 0, which, c->n);
}

static int *integers(const nxi_conquer *c, const nxi_conquer_arrays *at, int which) {
  return at->integers + (int64_t)which * c->n;
}

const int *nxi_conquer_order(const nxi_conquer *c, const int *all) {
  return all + (int64_t)ORDER * c->n;
}

static size_t size_of(const nxi_conquer *c) { return (size_t)nxi_dtype_size(c->t); }

/* x -= |rho| */
static void subtract_size(nx_dtype t, const void *rho, void *x) {
  if (t == NX_F32) *(float *)x -= fabsf(*(const float *)rho);
  else *(double *)x -= fabs(*(const double *)rho);
}

/* Deflation compares numbers of the matrix with those of z, so they are scaled to about 1. */
void nxi_conquer_tear(const nxi_conquer *c, const nxi_conquer_arrays *at) {
  const double largest =
      fmax(nxi_largest(c->t, c->n, at->diagonal), nxi_largest(c->t, c->n - 1, at->beside));
  nxi_conquer_state *s = at->state;
  *s = (nxi_conquer_state){0};
  if (largest > 0) frexp(largest, &s->scale);
  s->scale = -s->scale;
  nxi_scale(c->t, c->n, at->diagonal, s->scale);
  nxi_scale(c->t, c->n - 1, at->beside, s->scale);
  char *rho = nxi_at(c->t, at->beside, c->half - 1, 0, 1);
  subtract_size(c->t, rho, nxi_at(c->t, at->diagonal, c->half - 1, 0, 1));
  subtract_size(c->t, rho, nxi_at(c->t, at->diagonal, c->half, 0, 1));
}

void nxi_conquer_half(const nxi_conquer *c, const nxi_conquer_arrays *at, int half) {
  const int first = half ? c->half : 0, n = half ? c->n - c->half : c->half,
            other = half ? 0 : c->half, rest = c->n - n, lwork = 1 + 4 * n + n * n,
            liwork = 3 + 5 * n;
  const int64_t skipped = half ? 1 + (4 + (int64_t)c->half) * c->half : 0;
  for (int j = first; j < first + n; j++)
    memset(nxi_at(c->t, at->vectors, other, j, c->n), 0, (size_t)rest * size_of(c));
  nxi_lapack_enter();
  ((stedc_fn)nxi_lapack(NXI_LAPACK_stedc, c->t))(
      "I", &n, nxi_at(c->t, at->diagonal, first, 0, 1), nxi_at(c->t, at->beside, first, 0, 1),
      nxi_at(c->t, at->vectors, first, first, c->n), &c->n, nxi_at(c->t, at->work, skipped, 0, 1),
      &lwork, at->integers + (half ? 3 + 5 * c->half : 0), &liwork, &at->state->info[half], 1);
  nxi_lapack_leave();
}

static bool has_failed(const nxi_conquer_state *s) { return s->info[0] || s->info[1]; }

void nxi_conquer_join(const nxi_conquer *c, const nxi_conquer_arrays *at) {
  nxi_conquer_state *s = at->state;
  int info = 0, *order = integers(c, at, ORDER), *types = integers(c, at, TYPES);
  if (has_failed(s)) return;
  memcpy(array(c, at, RHO), nxi_at(c->t, at->beside, c->half - 1, 0, 1), size_of(c));
  for (int j = 0; j < c->n; j++) {
    const bool lower = j >= c->half;
    memcpy(nxi_at(c->t, array(c, at, Z), j, 0, 1),
           nxi_at(c->t, at->vectors, c->half - !lower, j, c->n), size_of(c));
    order[j] = 1 + j - (lower ? c->half : 0);
    integers(c, at, INFOS)[j] = 0;
  }
  nxi_lapack_enter();
  ((laed2_fn)nxi_lapack(NXI_LAPACK_laed2, c->t))(
      &s->k, &c->n, &c->half, at->diagonal, at->vectors, &c->n, order, array(c, at, RHO),
      array(c, at, Z), array(c, at, LAMBDA), array(c, at, UPDATE), array(c, at, HALVES),
      integers(c, at, SORTED), integers(c, at, PLACES), integers(c, at, DEFLATED), types, &info);
  nxi_lapack_leave();
  if (s->k > 0) memcpy(s->types, types, sizeof s->types);
}

static int end_of(const nxi_conquer_state *s, int chunk) {
  return (chunk + 1) * CHUNK < s->k ? (chunk + 1) * CHUNK : s->k;
}

/* Column j of the vectors becomes the differences of the halves' values and root j. */
void nxi_conquer_roots(const nxi_conquer *c, const nxi_conquer_arrays *at, int chunk) {
  const nxi_conquer_state *s = at->state;
  const laed4_fn laed4 = (laed4_fn)nxi_lapack(NXI_LAPACK_laed4, c->t);
  int *infos = integers(c, at, INFOS);
  nxi_lapack_enter();
  for (int j = chunk * CHUNK; j < end_of(s, chunk); j++) {
    const int number = j + 1;
    laed4(&s->k, &number, array(c, at, LAMBDA), array(c, at, UPDATE),
          nxi_at(c->t, at->vectors, 0, j, c->n), array(c, at, RHO),
          nxi_at(c->t, at->diagonal, j, 0, 1), &infos[j]);
  }
  nxi_lapack_leave();
}

/* weights: those from number `first` on, the square roots of minus the products over all roots j of
 * (lambda[i] - root j) / (lambda[i] - lambda[j]), without the denominator for j = i. vector: of a
 * root, sums in an order that is the same everywhere. */
#define CONQUER(name, T)                                                                           \
  static void weights_##name(int64_t k, int64_t ld, const T *differences, const T *lambda,         \
                             const T *update, int64_t first, int64_t count, T *w) {                \
    for (int64_t i = 0; i < count; i++) w[i] = differences[(first + i) * (ld + 1)];                \
    for (int64_t j = 0; j < k; j++) {                                                              \
      const T *d = differences + j * ld + first, *l = lambda + first;                              \
      const int64_t own = j < first ? 0 : j - first < count ? j - first : count;                   \
      for (int64_t i = 0; i < own; i++) w[i] *= d[i] / (l[i] - lambda[j]);                         \
      for (int64_t i = j < first ? 0 : own + 1; i < count; i++) w[i] *= d[i] / (l[i] - lambda[j]); \
    }                                                                                              \
    for (int64_t i = 0; i < count; i++)                                                            \
      w[i] = (T)copysign(sqrt(-(double)w[i]), (double)update[first + i]);                          \
  }                                                                                                \
  static void vector_##name(int64_t k, const T *differences, const T *w, const int *places,        \
                            T *room, T *to) {                                                      \
    double sums[4] = {0, 0, 0, 0};                                                                 \
    for (int64_t i = 0; i < k; i++) room[i] = w[i] / differences[i];                               \
    for (int64_t i = 0; i < k; i++) sums[i % 4] += (double)room[i] * (double)room[i];              \
    const double by = 1 / sqrt((sums[0] + sums[2]) + (sums[1] + sums[3]));                         \
    for (int64_t i = 0; i < k; i++) to[i] = (T)((double)room[places[i] - 1] * by);                 \
  }
CONQUER(f32, float)
CONQUER(f64, double)

void nxi_conquer_weights(const nxi_conquer *c, const nxi_conquer_arrays *at, int chunk) {
  const int first = chunk * CHUNK, count = end_of(at->state, chunk) - first;
  void *w = nxi_at(c->t, array(c, at, WEIGHTS), first, 0, 1);
  if (count <= 0) return;
  if (c->t == NX_F32)
    weights_f32(at->state->k, c->n, at->vectors, (void *)array(c, at, LAMBDA),
                (void *)array(c, at, UPDATE), first, count, w);
  else
    weights_f64(at->state->k, c->n, at->vectors, (void *)array(c, at, LAMBDA),
                (void *)array(c, at, UPDATE), first, count, w);
}

/* Vector j of the secular equation, in the order of the columns of HALVES. LAPACK gives those of
 * one and of two rows themselves. */
static void make_vector(const nxi_conquer *c, const nxi_conquer_arrays *at, int j, void *room,
                        char *to) {
  const char *from = nxi_at(c->t, at->vectors, 0, j, c->n);
  const int *places = integers(c, at, PLACES), k = at->state->k;
  if (k <= 2) {
    for (int i = 0; i < k; i++)
      memcpy(to + (size_t)i * size_of(c), from + (size_t)(places[i] - 1) * size_of(c), size_of(c));
  } else if (c->t == NX_F32) {
    vector_f32(k, (const void *)from, (void *)array(c, at, WEIGHTS), places, room, (void *)to);
  } else {
    vector_f64(k, (const void *)from, (void *)array(c, at, WEIGHTS), places, room, (void *)to);
  }
}

/* Rows of some vectors from one half's columns; `count` of them. */
static void multiply(const nxi_conquer *c, int rows, int width, int count, const void *half,
                     const void *secular, int k, char *to) {
  const size_t size = size_of(c);
  if (count > 0)
    nxi_product(c->t, rows, width, count, (nxi_factor){"N", half, rows},
                (nxi_factor){"N", secular, k}, to, c->n);
  for (int j = 0; count == 0 && j < width; j++)
    memset(to + (size_t)j * (size_t)c->n * size, 0, (size_t)rows * size);
}

void nxi_conquer_vectors(const nxi_conquer *c, const nxi_conquer_arrays *at, int chunk, void *own) {
  const nxi_conquer_state *s = at->state;
  const int first = chunk * CHUNK, width = end_of(s, chunk) - first, k = s->k,
            lower = c->n - c->half, with_upper = s->types[0] + s->types[1],
            with_lower = s->types[1] + s->types[2];
  char *room = nxi_at(c->t, own, 0, CHUNK, k), *halves = array(c, at, HALVES),
       *to = nxi_at(c->t, at->vectors, 0, first, c->n);
  if (width <= 0) return;
  for (int j = 0; j < width; j++) make_vector(c, at, first + j, room, nxi_at(c->t, own, 0, j, k));
  multiply(c, c->half, width, with_upper, halves, own, k, to);
  multiply(c, lower, width, with_lower, nxi_at(c->t, halves, 0, with_upper, c->half),
           nxi_at(c->t, own, s->types[0], 0, k), k, nxi_at(c->t, to, c->half, 0, c->n));
}

static double value(const nxi_conquer *c, const nxi_conquer_arrays *at, int i) {
  const void *x = nxi_at(c->t, at->diagonal, i, 0, 1);
  return c->t == NX_F32 ? (double)*(const float *)x : *(const double *)x;
}

/* Roots are in ascending order, and what was deflated is behind them in descending order, but for
 * the last digits; without roots all is in ascending order. */
int nxi_conquer_end(const nxi_conquer *c, const nxi_conquer_arrays *at) {
  const nxi_conquer_state *s = at->state;
  int *order = integers(c, at, ORDER), info = has_failed(s);
  for (int j = 0; j < s->k; j++) info |= integers(c, at, INFOS)[j] != 0;
  if (info) return info;
  for (int i = 0, root = 0, other = c->n - 1; i < c->n; i++) {
    if (s->k == 0) order[i] = i;
    else if (other < s->k || (root < s->k && value(c, at, root) <= value(c, at, other)))
      order[i] = root++;
    else order[i] = other--;
    for (int j = i; j > 0 && value(c, at, order[j]) < value(c, at, order[j - 1]); j--) {
      const int kept = order[j];
      order[j] = order[j - 1];
      order[j - 1] = kept;
    }
  }
  nxi_scale(c->t, c->n, at->diagonal, -s->scale);
  return 0;
}
