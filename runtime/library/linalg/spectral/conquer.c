/* SPDX-License-Identifier: ISC */
/* Divide and conquer. A tridiagonal matrix T without the element beside the diagonal in its
 * middle, and with that subtracted from its two neighbours, is two matrices, whose vectors are
 * those of T = Q (D + rho z z^T) Q^T. A bidiagonal matrix without the row in its middle is two
 * matrices, the upper one with a column more than rows, and so has the lower one, as a column of
 * zeros is put behind the whole; in their vectors it is a diagonal matrix D, of which one element
 * is 0, with a full row z there. What is left of that after deflation has the roots of a secular
 * equation as its values, one task for some; then the weights w of which they are the exact roots
 * are computed anew (Gu and Eisenstat 1995), which makes the vectors orthogonal; these are
 * w / (D - root), with squares for singular values, of which left ones are D times that, and are
 * multiplied by those of the halves.
 *
 * Matrices of a level are parts of all arrays: of the vectors a square of the diagonal. Zeros
 * outside of the squares are written once. */
#include "conquer.h"

#include <math.h>
#include <string.h>

#include "conquer_parts.h"
#include "deflation.h"
#include "runtime/library/blas/level3.h"
#include "runtime/library/linalg/rescale.h"
#include "secular.h"

enum {
  CHUNK = 64, /* columns of a task; twice as many of a matrix that is LARGE */
  LARGE = 512,
  MOST_SYMMETRIC = 48, /* most columns of a part */
  MOST_SINGULAR = 13
};
/* Arrays of `work`, n elements each; the rest is the vectors of the halves, sorted, of each side.
 */
enum { RHO, LAMBDA, UPDATE, WEIGHTS, HALVES };
/* Arrays of `integers`, n elements each. PLACES: columns of the halves, those that are joined
 * first, in ascending order; PACKED: in which order they lie in HALVES, as numbers of PLACES;
 * KINDS: of each column; INFOS: of each root. */
enum { HEAD, ORDER, PLACES, PACKED, KINDS, INFOS, INTEGERS };
/* Numbers of HEAD. k: rows of the secular equation; columns that are joined with an upper part
 * alone, with both, and with a lower one; whether a half has failed. */
enum { K, UPPER, WHOLE, LOWER, FAILED };
/* RIGHT: the only ones of a symmetric matrix. */
enum { RIGHT, LEFT };

/* Stages of a level. */
enum { JOIN, COPY, ROOTS, WEIGH, MULTIPLY, STEPS };

nxi_conquer nxi_conquer_of(nx_dtype real, bool singular, int n) {
  nxi_conquer c = {real, singular, n + singular, 0};
  while (c.n >> c.levels > (singular ? MOST_SINGULAR : MOST_SYMMETRIC)) c.levels++;
  return c;
}

/* Columns of a task: each product copies what it multiplies them by. */
static int chunk_of(int n) { return n >= LARGE ? 2 * CHUNK : CHUNK; }

static int sides(const nxi_conquer *c) { return 1 + c->singular; }

/* Elements of `work` from one column to the next. */
static int work_ld(const nxi_conquer *c) { return sides(c) * c->n + HALVES; }

int64_t nxi_conquer_work(const nxi_conquer *c) { return (int64_t)c->n * work_ld(c); }

int64_t nxi_conquer_integers(const nxi_conquer *c) { return 2 * (int64_t)c->n * INTEGERS + 2; }

int64_t nxi_conquer_own(const nxi_conquer *c) {
  return (int64_t)c->n * (sides(c) * chunk_of(c->n) + 1);
}

int nxi_conquer_parts(const nxi_conquer *c) { return 1 << c->levels; }

int nxi_conquer_stages(const nxi_conquer *c) { return c->levels * STEPS; }

static int level_of(const nxi_conquer *c, int stage) { return c->levels - 1 - stage / STEPS; }

static int chunks(const nxi_conquer *c, int level) {
  const int n = c->n >> level, chunk = chunk_of(n);
  return (n + chunk) / chunk;
}

int64_t nxi_conquer_tasks(const nxi_conquer *c, int stage) {
  const int level = level_of(c, stage), nodes = 1 << level;
  return stage % STEPS == JOIN ? nodes : (int64_t)nodes * chunks(c, level);
}

/* Vectors of one side: of the upper half's rows, of one between, of the lower half's. */
typedef struct side {
  char *v;
  int ld, upper, between, lower;
} side;

/* A matrix of a level, 0 being the whole one: columns `first` .. */
typedef struct node {
  nx_dtype t;
  bool singular;
  int first, n, half, count, chunk; /* columns; those of the upper half; values; of a task */
  char *d, *beside, *work;
  int *integers;
  side sides[2];
} node;

static int begin_of(const nxi_conquer *c, int level, int number) {
  return (int)(((int64_t)c->n * number) >> level);
}

static node node_of(const nxi_conquer *c, const nxi_conquer_arrays *at, int level, int number) {
  const int first = begin_of(c, level, number), middle = begin_of(c, level + 1, 2 * number + 1),
            n = begin_of(c, level, number + 1) - first, half = middle - first, less = c->n - 1;
  node x = {
      .t = c->t,
      .singular = c->singular,
      .first = first,
      .n = n,
      .half = half,
      .count = n - c->singular,
      .chunk = chunk_of(c->n >> level),
      .d = nxi_at(c->t, at->diagonal, first, 0, 1),
      .beside = nxi_at(c->t, at->beside, first, 0, 1),
      .work = nxi_at(c->t, at->work, 0, first, work_ld(c)),
      .integers = at->integers + ((int64_t)(level % 2) * c->n + first) * INTEGERS,
  };
  x.sides[RIGHT] = (side){nxi_at(c->t, at->vectors, first, first, c->n), c->n, half, 0, n - half};
  if (c->singular)
    x.sides[LEFT] =
        (side){nxi_at(c->t, at->left, first, first, less), less, half - 1, 1, n - half - 1};
  return x;
}

static char *array(const node *n, int which) { return nxi_at(n->t, n->work, 0, which, n->n); }
static int *integers(const node *n, int which) { return n->integers + (int64_t)which * n->n; }
static char *column(const node *n, const side *s, int row, int j) {
  return nxi_at(n->t, s->v, row, j, s->ld);
}
static size_t size_of(const node *n) { return (size_t)nxi_dtype_size(n->t); }
static int rows_of(const side *s) { return s->upper + s->between + s->lower; }
/* The scale, and whether all is 0. */
static int *state_of(const nxi_conquer *c, const nxi_conquer_arrays *at) {
  return at->integers + 2 * (int64_t)c->n * INTEGERS;
}

static double value(nx_dtype t, const void *array, int i) {
  return t == NX_F32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}
static void set_value(nx_dtype t, void *array, int i, double x) {
  if (t == NX_F32) ((float *)array)[i] = (float)x;
  else ((double *)array)[i] = x;
}
static double unit_of(nx_dtype t) { return t == NX_F32 ? 0x1p-24 : 0x1p-53; }

/* ---- parts */

/* Parts of symmetric matrices end where one is torn. Of singular values no element of the diagonal
 * is less than the unit of rounding; a matrix of zeros has the identity's, which are changed at the
 * end. */
static void tear(const nxi_conquer *c, const nxi_conquer_arrays *at) {
  void *d = at->diagonal;
  for (int i = 1; i < nxi_conquer_parts(c) && !c->singular; i++) {
    const int j = begin_of(c, c->levels, i);
    const double rho = fabs(value(c->t, at->beside, j - 1));
    set_value(c->t, d, j - 1, value(c->t, d, j - 1) - rho);
    set_value(c->t, d, j, value(c->t, d, j) - rho);
  }
  for (int i = 0; i < c->n - 1 && c->singular; i++) {
    const double x = value(c->t, d, i), least = 0.9 * unit_of(c->t);
    if (fabs(x) < least) set_value(c->t, d, i, copysign(least, x));
    if (state_of(c, at)[1]) set_value(c->t, d, i, 1);
  }
}

/* Deflation compares numbers of the matrix with those of z, so they are scaled to about 1. */
void nxi_conquer_tear(const nxi_conquer *c, const nxi_conquer_arrays *at) {
  const int n = c->n - c->singular;
  const double largest =
      fmax(nxi_largest(c->t, n, at->diagonal), nxi_largest(c->t, n - 1, at->beside));
  int scale = 0;
  if (largest > 0) frexp(largest, &scale);
  state_of(c, at)[0] = -scale;
  state_of(c, at)[1] = c->singular && largest == 0;
  nxi_scale(c->t, n, at->diagonal, -scale);
  nxi_scale(c->t, n - 1, at->beside, -scale);
  if (c->singular) set_value(c->t, at->beside, n - 1, 0);
  tear(c, at);
}

/* Clears all columns of a part. */
static void clear(const node *n, int which, int columns, bool last) {
  const side *s = &n->sides[which];
  memset(column(n, s, -n->first, 0), 0,
         ((size_t)columns * (size_t)s->ld + (last ? NXI_CONQUER_MORE : 0)) * size_of(n));
}

void nxi_conquer_part(const nxi_conquer *c, const nxi_conquer_arrays *at, int part) {
  const node n = node_of(c, at, c->levels, part);
  const bool last = n.first + n.n == c->n;
  const nxi_conquer_part_arrays own = {n.t,
                                       n.d,
                                       n.beside,
                                       n.sides[RIGHT].v,
                                       n.sides[LEFT].v,
                                       n.sides[RIGHT].ld,
                                       n.sides[LEFT].ld,
                                       n.work,
                                       n.integers};
  bool solved;
  clear(&n, RIGHT, n.n, last);
  if (n.singular) {
    clear(&n, LEFT, n.count + !last, last);
    if (!last) nxi_store_one(n.t, column(&n, &n.sides[LEFT], n.count, n.count));
    solved = nxi_conquer_singular_part(&own, n.count);
  } else {
    solved = nxi_conquer_symmetric_part(&own, n.n);
  }
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
  for (int i = 0, root = 0, other = k; i < n->count && k > 0; i++) {
    const bool is_root =
        other == n->count || (root < k && value(n->t, n->d, root) <= value(n->t, n->d, other));
    order[i] = is_root ? root++ : other++;
    for (int j = i; j > 0 && value(n->t, n->d, order[j]) < value(n->t, n->d, order[j - 1]); j--) {
      const int kept = order[j];
      order[j] = order[j - 1];
      order[j - 1] = kept;
    }
  }
  return !failed;
}

/* The order of both halves' values. */
static void merge(const node *n, const node *upper, const node *lower, const double *d,
                  int *order) {
  const int *a = integers(upper, ORDER), *b = integers(lower, ORDER),
            all = upper->count + lower->count;
  for (int i = 0, j = 0, to = 0; to < all; to++) {
    const bool from_upper = j == lower->count || (i < upper->count && d[a[i]] <= d[n->half + b[j]]);
    order[to] = from_upper ? a[i++] : n->half + b[j++];
  }
}

/* What the halves' columns are, and who asks whether to go on. */
typedef struct rotation {
  const node *n;
  const nxg_call_part *part;
} rotation;

enum { IS_UPPER = 1, IS_LOWER = 2, IS_WHOLE = 3 };

static void rotate_columns(const node *n, const side *s, int i, int j, double c, double sine) {
  void *x = column(n, s, 0, i), *y = column(n, s, 0, j);
  float *xf = x, *yf = y;
  double *xd = x, *yd = y;
  for (int l = 0; l < rows_of(s) && n->t == NX_F32; l++) {
    const float a = xf[l], b = yf[l];
    xf[l] = (float)c * a + (float)sine * b;
    yf[l] = (float)c * b - (float)sine * a;
  }
  for (int l = 0; l < rows_of(s) && n->t == NX_F64; l++) {
    const double a = xd[l], b = yd[l];
    xd[l] = c * a + sine * b;
    yd[l] = c * b - sine * a;
  }
}

static bool rotate(void *user, int i, int j, double c, double s) {
  const rotation *r = user;
  const node *n = r->n;
  int *kinds = integers(n, KINDS);
  rotate_columns(n, &n->sides[RIGHT], i, j, c, s);
  if (n->singular) rotate_columns(n, &n->sides[LEFT], i, j, c, s);
  kinds[i] = kinds[j] = kinds[i] | kinds[j];
  return i % CHUNK != 0 || !nxi_told_to_stop(r->part);
}

/* In which order columns lie in HALVES, and how many there are of each kind. */
static void pack(const node *n) {
  static const int kinds[] = {IS_UPPER, IS_WHOLE, IS_LOWER};
  int *head = integers(n, HEAD), *packed = integers(n, PACKED), count = 0;
  for (int kind = 0; kind < 3; kind++) {
    const int before = count;
    for (int j = 0; j < head[K]; j++)
      if (integers(n, KINDS)[integers(n, PLACES)[j]] == kinds[kind]) packed[count++] = j;
    head[UPPER + kind] = count - before;
  }
  for (int j = head[K]; j < n->count; j++) packed[j] = j;
}

/* What is to be joined: the values of both halves, numbers for them, and their order. */
typedef struct joint {
  double rho, tolerance, *d, *z;
  int *order, *own;
} joint;

/* The first of the joined columns is the middle one of singular values, which is not deflated:
 * its number and the next value are made larger, if need be. */
static void deflate(const node *n, const nxg_call_part *part, const joint *j) {
  int *head = integers(n, HEAD), *places = integers(n, PLACES);
  const int middle = n->singular;
  rotation r = {n, part};
  const nxi_deflation f = {n->count - middle, j->rho,          j->tolerance, j->d, j->z,
                           j->order,          places + middle, rotate,       &r};
  const int k = nxi_deflate(&f, j->own) + middle;
  if (k < middle) return; /* told to stop */
  head[K] = k;
  if (middle) places[0] = n->half - 1;
  pack(n);
  for (int i = 0; i < k; i++) {
    set_value(n->t, array(n, LAMBDA), i, j->d[places[i]]);
    set_value(n->t, array(n, UPDATE), i, j->z[places[i]]);
  }
  for (int i = k; i < n->count; i++) set_value(n->t, n->d, i, j->d[places[i]]);
}

static void join_symmetric(const node *n, const nxg_call_part *part, joint *j) {
  const double rho = value(n->t, n->beside, n->half - 1);
  double largest = 0, largest_z = 0;
  for (int i = 0; i < n->n; i++) {
    const bool is_lower = i >= n->half;
    const double x = value(n->t, column(n, &n->sides[RIGHT], n->half - !is_lower, i), 0);
    j->z[i] = (is_lower && rho < 0 ? -x : x) * sqrt(0.5);
    largest = fmax(largest, fabs(j->d[i]));
    largest_z = fmax(largest_z, fabs(j->z[i]));
  }
  j->rho = 2 * fabs(rho);
  j->tolerance = 8 * unit_of(n->t) * fmax(largest, largest_z);
  set_value(n->t, array(n, RHO), 0, j->rho);
  if (j->rho * largest_z > j->tolerance) deflate(n, part, j);
  else memcpy(integers(n, ORDER), j->order, (size_t)n->n * sizeof *j->order);
}

/* The halves' vectors of columns without a value become one of the middle and one without. */
static double join_nulls(const node *n, double upper, double lower) {
  const double size = hypot(upper, lower);
  if (size > 0)
    rotate_columns(n, &n->sides[RIGHT], n->half - 1, n->n - 1, upper / size, lower / size);
  return size;
}

/* Numbers z become 1 together. */
static void normalise(const node *n) {
  const int k = integers(n, HEAD)[K];
  char *z = array(n, UPDATE);
  double sum = 0;
  for (int i = 0; i < k; i++) sum += value(n->t, z, i) * value(n->t, z, i);
  for (int i = 0; i < k; i++) set_value(n->t, z, i, value(n->t, z, i) / sqrt(sum));
  set_value(n->t, array(n, RHO), 0, sum);
}

static void join_singular(const node *n, const nxg_call_part *part, joint *j) {
  const int middle = n->half - 1;
  const double alpha = value(n->t, n->d, middle), beta = value(n->t, n->beside, middle);
  double largest = fmax(fabs(alpha), fabs(beta));
  for (int i = 0; i < n->n; i++) {
    const bool is_lower = i >= n->half;
    const double x = value(n->t, column(n, &n->sides[RIGHT], n->half - !is_lower, i), 0);
    j->z[i] = x * (is_lower ? beta : alpha);
    if (i != middle && i < n->count) largest = fmax(largest, fabs(j->d[i]));
  }
  j->rho = 1;
  j->tolerance = 8 * unit_of(n->t) * largest;
  j->d[middle] = 0;
  j->z[middle] = fmax(join_nulls(n, j->z[middle], j->z[n->n - 1]), j->tolerance);
  integers(n, KINDS)[middle] = IS_WHOLE;
  deflate(n, part, j);
  if (integers(n, HEAD)[K] > 1 && value(n->t, array(n, LAMBDA), 1) < j->tolerance / 2)
    set_value(n->t, array(n, LAMBDA), 1, j->tolerance / 2);
  normalise(n);
}

static void join(const nxi_conquer *c, const nxi_conquer_arrays *at, const nxg_call_part *part,
                 int level, int number, void *own) {
  const node n = node_of(c, at, level, number), upper = node_of(c, at, level + 1, 2 * number),
             lower = node_of(c, at, level + 1, 2 * number + 1);
  joint j = {.d = own, .z = (double *)own + n.n};
  j.order = (int *)(void *)(j.z + n.n);
  j.own = j.order + n.n;
  const bool solved = find_order(&upper), also = find_order(&lower);
  nxi_widen_values(n.t, n.n, n.d, j.d);
  merge(&n, &upper, &lower, j.d, j.order);
  for (int i = 0; i < n.n; i++) {
    integers(&n, KINDS)[i] = i < n.half ? IS_UPPER : IS_LOWER;
    integers(&n, INFOS)[i] = 0;
  }
  integers(&n, HEAD)[K] = 0;
  if (n.singular) join_singular(&n, part, &j);
  else join_symmetric(&n, part, &j);
  integers(&n, HEAD)[FAILED] = !solved || !also;
}

/* ---- a level */

/* Columns of a task, in the order of PACKED or of the matrix. */
typedef struct some {
  int first, end, joined; /* joined: the end of those that are */
} some;

static some some_of(const node *n, int chunk) {
  const int k = integers(n, HEAD)[K], first = chunk * n->chunk,
            end = first + n->chunk < n->count ? first + n->chunk : n->count;
  if (k == 0) return (some){first, first, first};
  return (some){first, end, end < k ? end : k > first ? k : first};
}

/* Where a column lies in HALVES: its upper part, its lower one, and all of one that is not joined.
 */
static char *upper_at(const node *n, const side *s, int packed) {
  const int64_t begin = s == &n->sides[LEFT] ? (int64_t)n->n * n->n : 0;
  return nxi_at(n->t, array(n, HALVES), begin, packed, s->upper);
}
static char *lower_at(const node *n, const side *s, int packed) {
  const int *head = integers(n, HEAD);
  return nxi_at(n->t, upper_at(n, s, head[UPPER] + head[WHOLE]), 0, packed - head[UPPER], s->lower);
}
static char *whole_at(const node *n, const side *s, int packed) {
  const int k = integers(n, HEAD)[K];
  return nxi_at(n->t, lower_at(n, s, k), 0, packed - k, rows_of(s));
}

static void copy(const node *n, const side *s, int chunk) {
  const some part = some_of(n, chunk);
  const int *head = integers(n, HEAD), *packed = integers(n, PACKED), *places = integers(n, PLACES);
  const size_t size = size_of(n);
  for (int i = part.first; i < part.joined; i++) {
    const char *from = column(n, s, 0, places[packed[i]]),
               *below = from + (size_t)(s->upper + s->between) * size;
    if (i < head[UPPER] + head[WHOLE]) memcpy(upper_at(n, s, i), from, (size_t)s->upper * size);
    if (i >= head[UPPER]) memcpy(lower_at(n, s, i), below, (size_t)s->lower * size);
  }
  for (int i = part.joined; i < part.end; i++)
    memcpy(whole_at(n, s, i), column(n, s, 0, places[i]), (size_t)rows_of(s) * size);
}

/* Differences of the halves' values and a root are a column of one side. */
static const side *differences_of(const node *n) { return &n->sides[n->singular ? LEFT : RIGHT]; }

static nxi_secular_arrays equation_of(const node *n) {
  const side *s = differences_of(n);
  return (nxi_secular_arrays){n->t,  array(n, LAMBDA),  array(n, UPDATE), array(n, RHO), n->d, s->v,
                              s->ld, integers(n, INFOS)};
}

static void put_back(const node *n, const side *s, some part) {
  for (int j = part.joined; j < part.end; j++)
    memcpy(column(n, s, 0, j), whole_at(n, s, j), (size_t)rows_of(s) * size_of(n));
}

/* Roots, and what was deflated. */
static void find_roots(const node *n, int chunk, void *own) {
  const some part = some_of(n, chunk);
  const nxi_secular_arrays arrays = equation_of(n);
  if (part.first < part.joined)
    nxi_secular_roots(&arrays, integers(n, HEAD)[K], n->singular, part.first, part.joined, own);
  put_back(n, &n->sides[RIGHT], part);
  if (n->singular) put_back(n, &n->sides[LEFT], part);
}

static void weigh(const node *n, int chunk) {
  const some part = some_of(n, chunk);
  const nxi_secular_arrays arrays = equation_of(n);
  if (part.first < part.joined)
    nxi_secular_weights(&arrays, integers(n, HEAD)[K], n->singular, part.first, part.joined,
                        array(n, WEIGHTS));
}

/* Rows of some vectors from one half's columns; `count` of them. */
static void multiply_half(const node *n, int rows, int width, int count, const void *half,
                          const void *secular, int k, char *to, int ld) {
  const size_t size = size_of(n);
  if (count > 0 && rows > 0)
    nxi_product(n->t, rows, width, count, (nxi_factor){"N", half, rows},
                (nxi_factor){"N", secular, k}, to, ld);
  for (int j = 0; count == 0 && j < width; j++)
    memset(to + (size_t)j * (size_t)ld * size, 0, (size_t)rows * size);
}

/* Columns first .. of one side; the middle row of left ones is that of the middle column, which is
 * the first of those that are whole. */
static void multiply_side(const node *n, const side *s, int first, int width, char *secular) {
  const int *head = integers(n, HEAD), k = head[K];
  multiply_half(n, s->upper, width, head[UPPER] + head[WHOLE], upper_at(n, s, 0), secular, k,
                column(n, s, 0, first), s->ld);
  multiply_half(n, s->lower, width, head[WHOLE] + head[LOWER], lower_at(n, s, head[UPPER]),
                nxi_at(n->t, secular, head[UPPER], 0, k), k,
                column(n, s, s->upper + s->between, first), s->ld);
  for (int j = 0; j < width && s->between; j++)
    memcpy(column(n, s, s->upper, first + j), nxi_at(n->t, secular, head[UPPER], j, k), size_of(n));
}

static void multiply(const node *n, int chunk, void *own) {
  const some part = some_of(n, chunk);
  const nxi_secular_arrays arrays = equation_of(n);
  const int k = integers(n, HEAD)[K], width = part.joined - part.first;
  char *room = own, *right = nxi_at(n->t, room, k, 0, k),
       *left = nxi_at(n->t, right, 0, n->chunk, k);
  if (width <= 0) return;
  for (int j = 0; j < width; j++)
    nxi_secular_vectors(&arrays, k, part.first + j, array(n, WEIGHTS), integers(n, PACKED), room,
                        nxi_at(n->t, right, 0, j, k),
                        n->singular ? nxi_at(n->t, left, 0, j, k) : NULL);
  multiply_side(n, &n->sides[RIGHT], part.first, width, right);
  if (n->singular) multiply_side(n, &n->sides[LEFT], part.first, width, left);
}

void nxi_conquer_run(const nxi_conquer *c, const nxi_conquer_arrays *at, const nxg_call_part *part,
                     int stage, int64_t task, void *own) {
  const int level = level_of(c, stage), step = stage % STEPS,
            each = step == JOIN ? 1 : chunks(c, level), chunk = (int)(task % each);
  const node n = node_of(c, at, level, (int)(task / each));
  switch (step) {
    case JOIN: join(c, at, part, level, (int)task, own); return;
    case COPY:
      for (int i = 0; i < sides(c); i++) copy(&n, &n.sides[i], chunk);
      return;
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
  const int *state = state_of(c, at);
  if (!find_order(&n)) return false;
  for (int i = 0; i < n.count && state[1]; i++) set_value(c->t, at->diagonal, i, 0);
  nxi_scale(c->t, n.count, at->diagonal, -state[0]);
  return true;
}
