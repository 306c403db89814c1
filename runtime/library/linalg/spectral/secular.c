/* SPDX-License-Identifier: ISC */
/* A root of the secular equation is looked for as its distance from the nearer of the poles beside
 * it, so that differences are those of small numbers. In each step the poles up to the left one
 * and those from the right one on are each replaced by a constant and one pole that has their value
 * and slope (Bunch, Nielsen and Sorensen 1978); a step that leaves the interval in which the root
 * must be is replaced by a bisection. */
#include "secular.h"

#include <float.h>
#include <math.h>

#include "runtime/library/linalg/rescale.h"

enum { MOST = 100 }; /* steps */

/* left: of the poles up to the left one; and their slopes. */
typedef struct sums {
  double left, left_slope, right, right_slope;
} sums;

/* What is known about root j. */
typedef struct place {
  int left, right; /* the poles beside it; of the last root the last two */
  double from, to; /* where it is, as a distance from pole `origin` */
  int origin;
  double at;
} place;

static double distance(const nxi_secular *s, int i, int from) {
  const double d = s->d[i] - s->d[from];
  return s->squares ? d * (s->d[i] + s->d[from]) : d;
}

static void measure_from(const nxi_secular *s, place *p, int origin) {
  p->origin = origin;
  for (int i = 0; i < s->k; i++) s->poles[i] = distance(s, i, origin);
}

static void plain_sums(const nxi_secular *s, int first, int end, double at, double *sums) {
  sums[0] = sums[1] = 0;
  for (int i = first; i < end; i++) {
    const double t = s->z[i] / (s->poles[i] - at);
    sums[0] += s->z[i] * t;
    sums[1] += t * t;
  }
}

static sums evaluate(const nxi_secular *s, const place *p, double at) {
  const nxi_floats_kernels *loops = nxi_floats_kernels_for(NX_F64);
  double left[2], right[2];
  if (loops) {
    loops->secular(s->z, s->poles, 0, p->right, at, left);
    loops->secular(s->z, s->poles, p->right, s->k, at, right);
  } else {
    plain_sums(s, 0, p->right, at, left);
    plain_sums(s, p->right, s->k, at, right);
  }
  return (sums){left[0], left[1], right[0], right[1]};
}

static double value_of(const nxi_secular *s, const sums *f) {
  return s->inverse + f->left + f->right;
}

/* The root of c x^2 - a x + b that lies between the poles, or (last) behind both. */
static double quadratic(double a, double b, double c, bool last) {
  const double inner = a * a - 4 * b * c, root = sqrt(inner > 0 ? inner : 0);
  if (last) return a >= 0 ? (a + root) / (2 * c) : 2 * b / (a - root);
  return a > 0 ? 2 * b / (a + root) : (a - root) / (2 * c);
}

static bool is_last(const nxi_secular *s, int j) { return j == s->k - 1; }

/* The first guess: the poles beside the root as they are, and all others as they are in the middle
 * of its interval. */
static void guess(const nxi_secular *s, int j, place *p) {
  const bool last = is_last(s, j);
  *p = (place){.left = last ? j - 1 : j, .right = last ? j : j + 1};
  measure_from(s, p, j);
  const double width = last ? 1 / s->inverse : s->poles[p->right], middle = width / 2;
  const sums f = evaluate(s, p, middle);
  const double value = value_of(s, &f), zl = s->z[p->left] * s->z[p->left],
               zr = s->z[p->right] * s->z[p->right],
               rest =
                   value - zl / (s->poles[p->left] - middle) - zr / (s->poles[p->right] - middle);
  p->from = 0;
  p->to = middle;
  if (last && value <= 0) {
    p->from = middle;
    p->to = 2 * width;
  } else if (!last && value < 0) {
    measure_from(s, p, p->right);
    p->from = -middle;
    p->to = 0;
  }
  const double l = s->poles[p->left], r = s->poles[p->right];
  p->at = quadratic(rest * (l + r) + zl + zr, rest * l * r + zl * r + zr * l, rest, last);
}

/* Half way, in orders of magnitude if the ends differ by some. */
static double between(double from, double to) {
  if (from * to > 0 && (from / to > 16 || to / from > 16))
    return copysign(sqrt(fabs(from)) * sqrt(fabs(to)), from);
  return from + (to - from) / 2;
}

static double next(const nxi_secular *s, const place *p, const sums *f, bool last) {
  const double value = value_of(s, f), l = s->poles[p->left] - p->at,
               r = s->poles[p->right] - p->at, c = value - l * f->left_slope - r * f->right_slope,
               a = (l + r) * value - l * r * (f->left_slope + f->right_slope);
  return p->at + quadratic(a, l * r * value, c, last);
}

/* True: it is the root, as far as rounding allows. */
static bool improve(const nxi_secular *s, place *p, bool last) {
  if (!(p->at > p->from && p->at < p->to)) p->at = between(p->from, p->to);
  const sums f = evaluate(s, p, p->at);
  const double value = value_of(s, &f), error = 8 * (fabs(f.left) + fabs(f.right)) + s->inverse +
                                                fabs(p->at) * (f.left_slope + f.right_slope);
  if (fabs(value) <= DBL_EPSILON / 2 * error) return true;
  if (value < 0) p->from = p->at;
  else p->to = p->at;
  const double x = next(s, p, &f, last), y = between(p->from, p->to);
  const bool done = fabs(x - p->at) <= DBL_EPSILON / 2 * fabs(p->at) || y == p->from || y == p->to;
  if (!done) p->at = x;
  return done;
}

/* The only root of one pole. */
static void only_root(const nxi_secular *s, double *root, double *differences) {
  const double square = s->z[0] * s->z[0] / s->inverse;
  differences[0] = -square;
  *root = s->squares ? sqrt(s->d[0] * s->d[0] + square) : s->d[0] + square;
}

bool nxi_secular_root(const nxi_secular *s, int j, double *root, double *differences) {
  const bool last = is_last(s, j);
  int steps = 0;
  place p;
  if (s->k == 1) {
    only_root(s, root, differences);
    return true;
  }
  guess(s, j, &p);
  while (!improve(s, &p, last))
    if (++steps == MOST) return false;
  const double own = s->d[p.origin];
  if (!s->squares) {
    for (int i = 0; i < s->k; i++) differences[i] = s->poles[i] - p.at;
    *root = own + p.at;
    return true;
  }
  const double more = p.at / (own + sqrt(own * own + p.at));
  for (int i = 0; i < s->k; i++) differences[i] = (s->d[i] - own - more) * (s->d[i] + own + more);
  *root = own + more;
  return true;
}

void nxi_secular_roots(const nxi_secular_arrays *at, int k, bool squares, int first, int end,
                       double *own) {
  const bool narrow = at->t == NX_F32;
  double *d = own, *z = own + k, *differences = own + 3 * (int64_t)k, root;
  nxi_secular s = {k, squares, 0, d, z, own + 2 * (int64_t)k};
  nxi_widen_values(at->t, 1, at->rho, &root);
  s.inverse = 1 / root;
  nxi_widen_values(at->t, k, at->d, d);
  nxi_widen_values(at->t, k, at->z, z);
  for (int j = first; j < end; j++) {
    float *narrow_to = (float *)at->differences + (int64_t)j * at->ld;
    double *to = narrow ? differences : (double *)at->differences + (int64_t)j * at->ld;
    at->infos[j] = !nxi_secular_root(&s, j, &root, to);
    for (int i = 0; i < k && narrow; i++) narrow_to[i] = (float)to[i];
    if (narrow) ((float *)at->roots)[j] = (float)root;
    else ((double *)at->roots)[j] = root;
  }
}

/* weights: those from number `first` on, the square roots of minus the products over all roots j of
 * (d[i] - root j) / (d[i] - d[j]), without the denominator for j = i, or of their squares. vectors:
 * of a root, sums in an order that is the same everywhere. */
#define SECULAR(name, T)                                                                     \
  static void weights_##name(int64_t k, int64_t ld, bool squares, const T *differences,      \
                             const T *d, const T *z, int64_t first, int64_t count, T *w) {   \
    const T *l = d + first;                                                                  \
    for (int64_t i = 0; i < count; i++) w[i] = differences[(first + i) * (ld + 1)];          \
    for (int64_t j = 0; j < k; j++) {                                                        \
      const T *x = differences + j * ld + first, own = d[j];                                 \
      const int64_t end = j < first           ? 0                                            \
                          : j - first < count ? j - first                                    \
                                              : count,                                       \
                    next = j < first ? 0 : end + 1;                                          \
      if (squares) {                                                                         \
        for (int64_t i = 0; i < end; i++) w[i] *= x[i] / ((l[i] - own) * (l[i] + own));      \
        for (int64_t i = next; i < count; i++) w[i] *= x[i] / ((l[i] - own) * (l[i] + own)); \
      } else {                                                                               \
        for (int64_t i = 0; i < end; i++) w[i] *= x[i] / (l[i] - own);                       \
        for (int64_t i = next; i < count; i++) w[i] *= x[i] / (l[i] - own);                  \
      }                                                                                      \
    }                                                                                        \
    for (int64_t i = 0; i < count; i++)                                                      \
      w[i] = (T)copysign(sqrt(fabs((double)w[i])), (double)z[first + i]);                    \
  }                                                                                          \
  static void vector_##name(int64_t k, const T *differences, const T *w, const int *places,  \
                            T *room, T *to) {                                                \
    double sums[4] = {0, 0, 0, 0};                                                           \
    for (int64_t i = 0; i < k; i++) room[i] = w[i] / differences[i];                         \
    for (int64_t i = 0; i < k; i++) sums[i % 4] += (double)room[i] * (double)room[i];        \
    const double by = 1 / sqrt((sums[0] + sums[2]) + (sums[1] + sums[3]));                   \
    for (int64_t i = 0; i < k; i++) to[i] = (T)((double)room[places[i]] * by);               \
  }                                                                                          \
  static void left_##name(int64_t k, const T *d, const int *places, const T *room, T *to) {  \
    double sums[4] = {1, 0, 0, 0};                                                           \
    for (int64_t i = 1; i < k; i++) {                                                        \
      const double x = (double)room[i] * (double)d[i];                                       \
      sums[i % 4] += x * x;                                                                  \
    }                                                                                        \
    const double by = 1 / sqrt((sums[0] + sums[2]) + (sums[1] + sums[3]));                   \
    for (int64_t i = 0; i < k; i++) {                                                        \
      const int from = places[i];                                                            \
      to[i] = (T)(from == 0 ? -by : (double)room[from] * (double)d[from] * by);              \
    }                                                                                        \
  }
SECULAR(f32, float)
SECULAR(f64, double)

void nxi_secular_weights(const nxi_secular_arrays *at, int k, bool squares, int first, int end,
                         void *weights) {
  if (at->t == NX_F32)
    weights_f32(k, at->ld, squares, at->differences, at->d, at->z, first, end - first,
                (float *)weights + first);
  else
    weights_f64(k, at->ld, squares, at->differences, at->d, at->z, first, end - first,
                (double *)weights + first);
}

void nxi_secular_vectors(const nxi_secular_arrays *at, int k, int j, const void *weights,
                         const int *places, void *room, void *to, void *left) {
  const float *narrow = (const float *)at->differences + (int64_t)j * at->ld;
  const double *wide = (const double *)at->differences + (int64_t)j * at->ld;
  if (k == 1) {
    nxi_store_one(at->t, to);
    if (left) nxi_store_one(at->t, left);
  } else if (at->t == NX_F32) {
    vector_f32(k, narrow, weights, places, room, to);
    if (left) left_f32(k, at->d, places, room, left);
  } else {
    vector_f64(k, wide, weights, places, room, to);
    if (left) left_f64(k, at->d, places, room, left);
  }
}
