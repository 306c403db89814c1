/* SPDX-License-Identifier: ISC */
/* Divide and conquer of a tridiagonal matrix T. Without the element beside the diagonal in its
 * middle, and with that subtracted from its two neighbours, it is two matrices, whose vectors are
 * those of T = Q (D + rho z z^T) Q^T. What is left of that after deflation has the roots of a
 * secular equation as its values, one task for some; then the weights w of which they are the exact
 * roots are computed anew (Gu and Eisenstat 1995), which makes the vectors orthogonal; these are
 * w / (D - root), and multiplied by those of the halves.
 *
 * Matrices of a level are parts of all arrays: of the vectors a square of the diagonal. Zeros
 * outside of the squares are written once. */
#include "conquer.h"

#include <math.h>
#include <string.h>

#include "deflation.h"
#include "rotations.h"
#include "runtime/library/blas/level3.h"
#include "runtime/library/linalg/rescale.h"
#include "secular.h"

typedef void (*stedc_fn)(const char *vectors, const int *n, void *d, void *e, void *z,
                         const int *ldz, void *work, const int *lwork, int *iwork,
                         const int *liwork, int *info, size_t);

enum { CHUNK = 64, LEAST = 48 }; /* columns of a task; most rows of a part */
/* Arrays of `work`, n elements each; the rest is the vectors of the halves, sorted. */
enum { RHO, LAMBDA, UPDATE, WEIGHTS, HALVES };
/* Arrays of `integers`, n elements each. PLACES: columns of the halves, those that are joined
 * first, in ascending order; PACKED: in which order they lie in HALVES, as numbers of PLACES;
 * KINDS: of each column; INFOS: of each root. */
enum { HEAD, ORDER, PLACES, PACKED, KINDS, INFOS, INTEGERS };
/* Numbers of HEAD. k: rows of the secular equation; columns that are joined with an upper part
 * alone, with both, and with a lower one; whether a half has failed. */
enum { K, UPPER, WHOLE, LOWER, FAILED };

/* Stages of a level. */
enum { JOIN, COPY, ROOTS, WEIGH, MULTIPLY, STEPS };

nxi_conquer nxi_conquer_of(nx_dtype real, int n) {
  nxi_conquer c = {real, n, 0};
  while (n >> c.levels > LEAST) c.levels++;
  return c;
}

int64_t nxi_conquer_work(const nxi_conquer *c) { return (int64_t)c->n * (c->n + HALVES); }

int64_t nxi_conquer_integers(const nxi_conquer *c) { return 2 * (int64_t)c->n * INTEGERS + 1; }

int64_t nxi_conquer_own(const nxi_conquer *c) { return (int64_t)c->n * (CHUNK + 1); }

int nxi_conquer_parts(const nxi_conquer *c) { return 1 << c->levels; }

int nxi_conquer_stages(const nxi_conquer *c) { return c->levels * STEPS; }

static int level_of(const nxi_conquer *c, int stage) { return c->levels - 1 - stage / STEPS; }

static int chunks(const nxi_conquer *c, int level) { return ((c->n >> level) + CHUNK) / CHUNK; }

int64_t nxi_conquer_tasks(const nxi_conquer *c, int stage) {
  const int level = level_of(c, stage), nodes = 1 << level;
  return stage % STEPS == JOIN ? nodes : (int64_t)nodes * chunks(c, level);
}

/* A matrix of a level, 0 being the whole one: rows and columns `first` .. */
typedef struct node {
  nx_dtype t;
  int first, n, half, ld; /* ld: of the vectors */
  char *d, *beside, *v, *work;
  int *integers;
} node;

static int begin_of(const nxi_conquer *c, int level, int number) {
  return (int)(((int64_t)c->n * number) >> level);
}

static node node_of(const nxi_conquer *c, const nxi_conquer_arrays *at, int level, int number) {
  const int first = begin_of(c, level, number), middle = begin_of(c, level + 1, 2 * number + 1);
  return (node){
      .t = c->t,
      .first = first,
      .n = begin_of(c, level, number + 1) - first,
      .half = middle - first,
      .ld = c->n,
      .d = nxi_at(c->t, at->diagonal, first, 0, 1),
      .beside = nxi_at(c->t, at->beside, first, 0, 1),
      .v = nxi_at(c->t, at->vectors, first, first, c->n),
      .work = nxi_at(c->t, at->work, 0, first, c->n + HALVES),
      .integers = at->integers + ((int64_t)(level % 2) * c->n + first) * INTEGERS,
  };
}

static char *array(const node *n, int which) { return nxi_at(n->t, n->work, 0, which, n->n); }
static int *integers(const node *n, int which) { return n->integers + (int64_t)which * n->n; }
static char *column(const node *n, int row, int j) { return nxi_at(n->t, n->v, row, j, n->ld); }
static size_t size_of(const node *n) { return (size_t)nxi_dtype_size(n->t); }
static int *scale_at(const nxi_conquer *c, const nxi_conquer_arrays *at) {
  return at->integers + 2 * (int64_t)c->n * INTEGERS;
}

static double value(nx_dtype t, const void *array, int i) {
  return t == NX_F32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}
static void set_value(nx_dtype t, void *array, int i, double x) {
  if (t == NX_F32) ((float *)array)[i] = (float)x;
  else ((double *)array)[i] = x;
}

/* ---- parts */

/* Deflation compares numbers of the matrix with those of z, so they are scaled to about 1. */
void nxi_conquer_tear(const nxi_conquer *c, const nxi_conquer_arrays *at) {
  const double largest =
      fmax(nxi_largest(c->t, c->n, at->diagonal), nxi_largest(c->t, c->n - 1, at->beside));
  int scale = 0;
  if (largest > 0) frexp(largest, &scale);
  *scale_at(c, at) = -scale;
  nxi_scale(c->t, c->n, at->diagonal, -scale);
  nxi_scale(c->t, c->n - 1, at->beside, -scale);
  for (int i = 1; i < nxi_conquer_parts(c); i++) {
    const int j = begin_of(c, c->levels, i);
    const double rho = fabs(value(c->t, at->beside, j - 1));
    set_value(c->t, at->diagonal, j - 1, value(c->t, at->diagonal, j - 1) - rho);
    set_value(c->t, at->diagonal, j, value(c->t, at->diagonal, j) - rho);
  }
}

/* By LAPACK, where there are no loops of our own. */
static bool solve_by_library(const node *n) {
  const int lwork = 1 + 4 * n->n + n->n * n->n, liwork = 3 + 5 * n->n;
  int info;
  nxi_lapack_enter();
  ((stedc_fn)nxi_lapack(NXI_LAPACK_stedc, n->t))("I", &n->n, n->d, n->beside, n->v, &n->ld, n->work,
                                                 &lwork, n->integers, &liwork, &info, 1);
  nxi_lapack_leave();
  return info == 0;
}

static bool solve_by_rotations(const node *n, const nxi_floats_kernels *loops) {
  double d[LEAST], e[LEAST];
  nxi_widen_values(n->t, n->n, n->d, d);
  nxi_widen_values(n->t, n->n - 1, n->beside, e);
  const bool solved = nxi_rotations(loops, n->n, d, e, n->v, n->ld);
  for (int i = 0; i < n->n; i++) set_value(n->t, n->d, i, d[i]);
  return solved;
}

void nxi_conquer_part(const nxi_conquer *c, const nxi_conquer_arrays *at, int part) {
  const node n = node_of(c, at, c->levels, part);
  const nxi_floats_kernels *loops = nxi_floats_kernels_for(c->t);
  const int more = n.first + n.n == c->n ? NXI_CONQUER_MORE : 0;
  memset(nxi_at(c->t, at->vectors, 0, n.first, c->n), 0,
         ((size_t)n.n * (size_t)c->n + (size_t)more) * size_of(&n));
  const bool solved = loops ? solve_by_rotations(&n, loops) : solve_by_library(&n);
  for (int i = 0; i < n.n; i++) {
    integers(&n, ORDER)[i] = i;
    integers(&n, INFOS)[i] = 0;
  }
  integers(&n, HEAD)[K] = 0;
  integers(&n, HEAD)[FAILED] = !solved;
}

/* ---- joining two */

/* Roots are in ascending order, and so is what was deflated, behind them, but for the last digits;
 * without roots the order is known. False: one of them has not converged. */
static bool find_order(const node *n) {
  int *order = integers(n, ORDER), *head = integers(n, HEAD), k = head[K], failed = head[FAILED];
  for (int j = 0; j < k; j++) failed |= integers(n, INFOS)[j];
  for (int i = 0, root = 0, other = k; i < n->n && k > 0; i++) {
    const bool is_root =
        other == n->n || (root < k && value(n->t, n->d, root) <= value(n->t, n->d, other));
    order[i] = is_root ? root++ : other++;
    for (int j = i; j > 0 && value(n->t, n->d, order[j]) < value(n->t, n->d, order[j - 1]); j--) {
      const int kept = order[j];
      order[j] = order[j - 1];
      order[j - 1] = kept;
    }
  }
  return !failed;
}

/* The order of both halves. */
static void merge(const node *n, const node *upper, const node *lower, const double *d,
                  int *order) {
  const int *a = integers(upper, ORDER), *b = integers(lower, ORDER);
  for (int i = 0, j = 0, to = 0; to < n->n; to++) {
    const bool from_upper = j == lower->n || (i < upper->n && d[a[i]] <= d[n->half + b[j]]);
    order[to] = from_upper ? a[i++] : n->half + b[j++];
  }
}

/* What the halves' columns are, and who asks whether to go on. */
typedef struct rotation {
  const node *n;
  const nxg_call_part *part;
} rotation;

enum { IS_UPPER = 1, IS_LOWER = 2 };

static bool rotate(void *user, int i, int j, double c, double s) {
  const rotation *r = user;
  const node *n = r->n;
  int *kinds = integers(n, KINDS);
  void *x = column(n, 0, i), *y = column(n, 0, j);
  float *xf = x, *yf = y;
  double *xd = x, *yd = y;
  for (int l = 0; l < n->n && n->t == NX_F32; l++) {
    const float a = xf[l], b = yf[l];
    xf[l] = (float)c * a + (float)s * b;
    yf[l] = (float)c * b - (float)s * a;
  }
  for (int l = 0; l < n->n && n->t == NX_F64; l++) {
    const double a = xd[l], b = yd[l];
    xd[l] = c * a + s * b;
    yd[l] = c * b - s * a;
  }
  kinds[i] = kinds[j] = kinds[i] | kinds[j];
  return i % CHUNK != 0 || !nxi_told_to_stop(r->part);
}

/* In which order columns lie in HALVES, and how many there are of each kind. */
static void pack(const node *n) {
  static const int kinds[] = {IS_UPPER, IS_UPPER | IS_LOWER, IS_LOWER};
  int *head = integers(n, HEAD), *packed = integers(n, PACKED), count = 0;
  for (int kind = 0; kind < 3; kind++) {
    const int before = count;
    for (int j = 0; j < head[K]; j++)
      if (integers(n, KINDS)[integers(n, PLACES)[j]] == kinds[kind]) packed[count++] = j;
    head[UPPER + kind] = count - before;
  }
  for (int j = head[K]; j < n->n; j++) packed[j] = j;
}

/* d, z: of the matrix that the halves leave. */
static void deflate(const node *n, const nxg_call_part *part, double rho, double *d, double *z,
                    const int *order, int *own) {
  int *head = integers(n, HEAD), *places = integers(n, PLACES);
  rotation r = {n, part};
  double largest = 0, largest_z = 0;
  for (int j = 0; j < n->n; j++) {
    largest = fmax(largest, fabs(d[j]));
    largest_z = fmax(largest_z, fabs(z[j]));
    integers(n, KINDS)[j] = j < n->half ? IS_UPPER : IS_LOWER;
    integers(n, INFOS)[j] = 0;
  }
  const double unit = n->t == NX_F32 ? 0x1p-24 : 0x1p-53,
               tolerance = 8 * unit * fmax(largest, largest_z);
  head[K] = 0;
  if (rho * largest_z <= tolerance) {
    memcpy(integers(n, ORDER), order, (size_t)n->n * sizeof *order);
    return;
  }
  const int k =
      nxi_deflate(&(nxi_deflation){n->n, rho, tolerance, d, z, order, places, rotate, &r}, own);
  if (k < 0) return;
  head[K] = k;
  pack(n);
  set_value(n->t, array(n, RHO), 0, rho);
  for (int j = 0; j < k; j++) {
    set_value(n->t, array(n, LAMBDA), j, d[places[j]]);
    set_value(n->t, array(n, UPDATE), j, z[places[j]]);
  }
  for (int j = k; j < n->n; j++) set_value(n->t, n->d, j, d[places[j]]);
}

static void join(const nxi_conquer *c, const nxi_conquer_arrays *at, const nxg_call_part *part,
                 int level, int number, void *own) {
  const node n = node_of(c, at, level, number), upper = node_of(c, at, level + 1, 2 * number),
             lower = node_of(c, at, level + 1, 2 * number + 1);
  double *d = own, *z = d + n.n, rho = value(n.t, n.beside, n.half - 1);
  int *order = (int *)(void *)(z + n.n);
  const bool solved = find_order(&upper), also = find_order(&lower);
  nxi_widen_values(n.t, n.n, n.d, d);
  merge(&n, &upper, &lower, d, order);
  for (int j = 0; j < n.n; j++) {
    const bool is_lower = j >= n.half;
    const double x = value(n.t, column(&n, n.half - !is_lower, j), 0) * sqrt(0.5);
    z[j] = is_lower && rho < 0 ? -x : x;
  }
  deflate(&n, part, 2 * fabs(rho), d, z, order, order + n.n);
  integers(&n, HEAD)[FAILED] = !solved || !also;
}

/* ---- a level */

/* Columns of a task, in the order of PACKED or of the matrix. */
typedef struct some {
  int first, end, joined; /* joined: the end of those that are */
} some;

static some some_of(const node *n, int chunk) {
  const int k = integers(n, HEAD)[K], first = chunk * CHUNK,
            end = first + CHUNK < n->n ? first + CHUNK : n->n;
  if (k == 0) return (some){first, first, first};
  return (some){first, end, end < k ? end : k > first ? k : first};
}

/* Where a column lies in HALVES: its upper part, its lower one, and all of one that is not joined.
 */
static char *upper_at(const node *n, int packed) {
  return nxi_at(n->t, array(n, HALVES), 0, packed, n->half);
}
static char *lower_at(const node *n, int packed) {
  const int *head = integers(n, HEAD);
  return nxi_at(n->t, upper_at(n, head[UPPER] + head[WHOLE]), 0, packed - head[UPPER],
                n->n - n->half);
}
static char *whole_at(const node *n, int packed) {
  const int k = integers(n, HEAD)[K];
  return nxi_at(n->t, lower_at(n, k), 0, packed - k, n->n);
}

static void copy(const node *n, int chunk) {
  const some s = some_of(n, chunk);
  const int *head = integers(n, HEAD), *packed = integers(n, PACKED), *places = integers(n, PLACES);
  const size_t upper = (size_t)n->half * size_of(n), lower = (size_t)n->n * size_of(n) - upper;
  for (int i = s.first; i < s.joined; i++) {
    const char *from = column(n, 0, places[packed[i]]);
    if (i < head[UPPER] + head[WHOLE]) memcpy(upper_at(n, i), from, upper);
    if (i >= head[UPPER]) memcpy(lower_at(n, i), from + upper, lower);
  }
  for (int i = s.joined; i < s.end; i++)
    memcpy(whole_at(n, i), column(n, 0, places[i]), upper + lower);
}

/* Column j of the vectors becomes the differences of the halves' values and root j, or what was
 * deflated. */
static void find_roots(const node *n, int chunk, void *own) {
  const some s = some_of(n, chunk);
  const nxi_secular_arrays arrays = {
      n->t,  array(n, LAMBDA),  array(n, UPDATE), array(n, RHO), n->d, n->v,
      n->ld, integers(n, INFOS)};
  if (s.first < s.joined)
    nxi_secular_roots(&arrays, integers(n, HEAD)[K], false, s.first, s.joined, own);
  for (int j = s.joined; j < s.end; j++)
    memcpy(column(n, 0, j), whole_at(n, j), (size_t)n->n * size_of(n));
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
  static void vector_##name(int64_t k, const T *differences, const T *w, const int *packed,        \
                            T *room, T *to) {                                                      \
    double sums[4] = {0, 0, 0, 0};                                                                 \
    for (int64_t i = 0; i < k; i++) room[i] = w[i] / differences[i];                               \
    for (int64_t i = 0; i < k; i++) sums[i % 4] += (double)room[i] * (double)room[i];              \
    const double by = 1 / sqrt((sums[0] + sums[2]) + (sums[1] + sums[3]));                         \
    for (int64_t i = 0; i < k; i++) to[i] = (T)((double)room[packed[i]] * by);                     \
  }
CONQUER(f32, float)
CONQUER(f64, double)

static void weigh(const node *n, int chunk) {
  const some s = some_of(n, chunk);
  const int k = integers(n, HEAD)[K], count = s.joined - s.first;
  void *w = nxi_at(n->t, array(n, WEIGHTS), s.first, 0, 1);
  if (count <= 0) return;
  if (n->t == NX_F32)
    weights_f32(k, n->ld, (void *)n->v, (void *)array(n, LAMBDA), (void *)array(n, UPDATE), s.first,
                count, w);
  else
    weights_f64(k, n->ld, (void *)n->v, (void *)array(n, LAMBDA), (void *)array(n, UPDATE), s.first,
                count, w);
}

/* Vector j of the secular equation, in the order of HALVES. */
static void make_vector(const node *n, int j, void *room, char *to) {
  const char *from = column(n, 0, j);
  const int *packed = integers(n, PACKED), k = integers(n, HEAD)[K];
  if (k == 1) nxi_store_one(n->t, to);
  else if (n->t == NX_F32)
    vector_f32(k, (const void *)from, (void *)array(n, WEIGHTS), packed, room, (void *)to);
  else vector_f64(k, (const void *)from, (void *)array(n, WEIGHTS), packed, room, (void *)to);
}

/* Rows of some vectors from one half's columns; `count` of them. */
static void multiply_half(const node *n, int rows, int width, int count, const void *half,
                          const void *secular, int k, char *to) {
  const size_t size = size_of(n);
  if (count > 0)
    nxi_product(n->t, rows, width, count, (nxi_factor){"N", half, rows},
                (nxi_factor){"N", secular, k}, to, n->ld);
  for (int j = 0; count == 0 && j < width; j++)
    memset(to + (size_t)j * (size_t)n->ld * size, 0, (size_t)rows * size);
}

static void multiply(const node *n, int chunk, void *own) {
  const some s = some_of(n, chunk);
  const int *head = integers(n, HEAD), k = head[K], width = s.joined - s.first;
  char *room = nxi_at(n->t, own, 0, CHUNK, k);
  if (width <= 0) return;
  for (int j = 0; j < width; j++) make_vector(n, s.first + j, room, nxi_at(n->t, own, 0, j, k));
  multiply_half(n, n->half, width, head[UPPER] + head[WHOLE], upper_at(n, 0), own, k,
                column(n, 0, s.first));
  multiply_half(n, n->n - n->half, width, head[WHOLE] + head[LOWER], lower_at(n, head[UPPER]),
                nxi_at(n->t, own, head[UPPER], 0, k), k, column(n, n->half, s.first));
}

void nxi_conquer_run(const nxi_conquer *c, const nxi_conquer_arrays *at, const nxg_call_part *part,
                     int stage, int64_t task, void *own) {
  const int level = level_of(c, stage), step = stage % STEPS,
            each = step == JOIN ? 1 : chunks(c, level), chunk = (int)(task % each);
  const node n = node_of(c, at, level, (int)(task / each));
  switch (step) {
    case JOIN: join(c, at, part, level, (int)task, own); return;
    case COPY: copy(&n, chunk); return;
    case ROOTS: find_roots(&n, chunk, own); return;
    case WEIGH: weigh(&n, chunk); return;
    default: multiply(&n, chunk, own);
  }
}

void nxi_conquer_all(const nxi_conquer *c, const nxi_conquer_arrays *at, void *own) {
  nxi_conquer_tear(c, at);
  for (int part = 0; part < nxi_conquer_parts(c); part++) nxi_conquer_part(c, at, part);
  for (int stage = 0; stage < nxi_conquer_stages(c); stage++)
    for (int64_t task = 0; task < nxi_conquer_tasks(c, stage); task++)
      nxi_conquer_run(c, at, NULL, stage, task, own);
}

/* ---- the result */

const int *nxi_conquer_order(const nxi_conquer *c, const int *integers) {
  return integers + (int64_t)ORDER * c->n;
}

bool nxi_conquer_end(const nxi_conquer *c, const nxi_conquer_arrays *at) {
  const node n = node_of(c, at, 0, 0);
  if (!find_order(&n)) return false;
  nxi_scale(c->t, c->n, at->diagonal, -*scale_at(c, at));
  return true;
}
