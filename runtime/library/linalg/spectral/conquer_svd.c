/* SPDX-License-Identifier: ISC */
/* Divide and conquer of an upper bidiagonal matrix B. Without the row in its middle it is two
 * matrices, the upper one with a column more than rows; in their vectors B is a diagonal matrix
 * with one full row. What is left of that after deflation has the roots of a secular equation as
 * its values, some a task; then the weights w, of which they are the exact roots, are computed anew
 * (Gu and Eisenstat 1995). Right vectors are w / (D^2 - root^2), left ones D times that, and both
 * are multiplied by those of the halves. */
#include "conquer_svd.h"

#include <math.h>
#include <string.h>

#include "runtime/library/blas/level3.h"
#include "runtime/library/linalg/rescale.h"
#include "secular.h"

typedef void (*lasd0_fn)(const int *n, const int *more, void *d, void *e, void *u, const int *ldu,
                         void *vt, const int *ldvt, const int *least, int *iwork, void *work,
                         int *info);
typedef void (*lasd2_fn)(const int *above, const int *below, const int *more, int *k, void *d,
                         void *z, const void *alpha, const void *beta, void *u, const int *ldu,
                         void *vt, const int *ldvt, void *sigma, void *u2, const int *ldu2,
                         void *vt2, const int *ldvt2, int *idxp, int *idx, int *idxc, int *idxq,
                         int *types, int *info);

enum {
  CHUNK = 64, /* vectors of a task */
  LEAST = 25, /* rows that LAPACK does not divide */
};
/* Arrays of `work`, n elements each; LEFT is n x n, and so is what follows. */
enum { RHO, Z, SIGMA, WEIGHTS, LEFT };
/* Arrays of `integers`, n elements each. PLACES: in LEFT, of rows of the secular equation. */
enum { ORDER, SORTED, PLACES, DEFLATED, TYPES, INFOS, INTEGERS = 8 };

int nxi_conquer_svd_chunks(const nxi_conquer_svd *c) { return (c->n + CHUNK - 1) / CHUNK; }

int64_t nxi_conquer_svd_work(const nxi_conquer_svd *c) {
  return (int64_t)c->n * (2 * (int64_t)c->n + LEFT);
}

int64_t nxi_conquer_svd_integers(const nxi_conquer_svd *c) { return (int64_t)c->n * INTEGERS; }

int64_t nxi_conquer_svd_own(const nxi_conquer_svd *c) { return (int64_t)c->n * (2 * CHUNK + 1); }

static char *array(const nxi_conquer_svd *c, const nxi_conquer_svd_arrays *at, int which) {
  return nxi_at(c->t, at->work, 0, which, c->n);
}

static char *right_halves(const nxi_conquer_svd *c, const nxi_conquer_svd_arrays *at) {
  return nxi_at(c->t, array(c, at, LEFT), 0, c->n, c->n);
}

static int *integers(const nxi_conquer_svd *c, const nxi_conquer_svd_arrays *at, int which) {
  return at->integers + (int64_t)which * c->n;
}

const int *nxi_conquer_svd_order(const nxi_conquer_svd *c, const int *all) {
  return all + (int64_t)ORDER * c->n;
}

static size_t size_of(const nxi_conquer_svd *c) { return (size_t)nxi_dtype_size(c->t); }

static double value(nx_dtype t, const void *array, int i) {
  return t == NX_F32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}
static void set_value(nx_dtype t, void *array, int i, double x) {
  if (t == NX_F32) ((float *)array)[i] = (float)x;
  else ((double *)array)[i] = x;
}

/* Scaled to about 1, no element of the diagonal is less than the unit of rounding, as LAPACK has
 * it. For a matrix of zeros there is the identity, whose values are changed at the end. */
void nxi_conquer_svd_tear(const nxi_conquer_svd *c, const nxi_conquer_svd_arrays *at) {
  const double largest = fmax(nxi_largest(c->t, c->n, at->diagonal),
                              nxi_largest(c->t, c->n - 1, at->beside)),
               least = 0.9 * (c->t == NX_F32 ? 0x1p-24 : 0x1p-53);
  nxi_conquer_svd_state *s = at->state;
  *s = (nxi_conquer_svd_state){.zero = largest == 0};
  for (int i = 0; i < c->n && s->zero; i++) set_value(c->t, at->diagonal, i, 1);
  if (!s->zero) frexp(largest, &s->scale);
  s->scale = -s->scale;
  nxi_scale(c->t, c->n, at->diagonal, s->scale);
  nxi_scale(c->t, c->n - 1, at->beside, s->scale);
  for (int i = 0; i < c->n; i++) {
    const double x = value(c->t, at->diagonal, i);
    if (fabs(x) < least) set_value(c->t, at->diagonal, i, copysign(least, x));
  }
}

/* Clears columns of an n x n matrix, but for ones on the diagonal. */
static void clear(const nxi_conquer_svd *c, void *a, int first, int last) {
  for (int j = first; j < last; j++) {
    char *column = nxi_at(c->t, a, 0, j, c->n);
    memset(column, 0, (size_t)c->n * size_of(c));
    nxi_store_one(c->t, column + (size_t)j * size_of(c));
  }
}

void nxi_conquer_svd_half(const nxi_conquer_svd *c, const nxi_conquer_svd_arrays *at, int half) {
  const int first = half ? c->above + 1 : 0, n = half ? c->below : c->above, more = !half,
            least = LEAST;
  const int64_t skipped = half ? (3 * ((int64_t)c->above + 1) + 2) * (c->above + 1) : 0;
  clear(c, at->left, first, first + n + more);
  clear(c, at->right, first, first + n + more);
  nxi_lapack_enter();
  ((lasd0_fn)nxi_lapack(NXI_LAPACK_lasd0, c->t))(
      &n, &more, nxi_at(c->t, at->diagonal, first, 0, 1), nxi_at(c->t, at->beside, first, 0, 1),
      nxi_at(c->t, at->left, first, first, c->n), &c->n,
      nxi_at(c->t, at->right, first, first, c->n), &c->n, &least,
      at->integers + (half ? 8 * c->above : 0), nxi_at(c->t, at->work, skipped, 0, 1),
      &at->state->info[half]);
  nxi_lapack_leave();
}

/* Writes the ascending order of n numbers, from 1. */
static void sort(nx_dtype t, int n, const void *x, int *order) {
  for (int i = 0; i < n; i++) order[i] = i + 1;
  for (int gap = n / 2; gap > 0; gap = gap > 2 ? gap * 5 / 11 : gap - 1)
    for (int i = gap, j; i < n; i++) {
      const int kept = order[i];
      const double own = value(t, x, kept - 1);
      for (j = i; j >= gap && value(t, x, order[j - gap] - 1) > own; j -= gap)
        order[j] = order[j - gap];
      order[j] = kept;
    }
}

/* Divides z by its length, whose square becomes rho. */
static void normalise(const nxi_conquer_svd *c, const nxi_conquer_svd_arrays *at, int k) {
  char *z = array(c, at, Z);
  double sum = 0;
  for (int i = 0; i < k; i++) sum += value(c->t, z, i) * value(c->t, z, i);
  const double length = sqrt(sum);
  for (int i = 0; i < k; i++) set_value(c->t, z, i, value(c->t, z, i) / length);
  set_value(c->t, array(c, at, RHO), 0, sum);
}

void nxi_conquer_svd_join(const nxi_conquer_svd *c, const nxi_conquer_svd_arrays *at) {
  nxi_conquer_svd_state *s = at->state;
  const int middle = c->above, none = 0;
  const size_t size = size_of(c);
  int info = 0, *order = integers(c, at, ORDER), *types = integers(c, at, TYPES);
  char *right = right_halves(c, at);
  if (s->info[0] || s->info[1]) return;
  sort(c->t, c->above, at->diagonal, order);
  sort(c->t, c->below, nxi_at(c->t, at->diagonal, middle + 1, 0, 1), order + middle + 1);
  memset(integers(c, at, INFOS), 0, (size_t)c->n * sizeof(int));
  _Alignas(16) char alpha[sizeof(double)];
  memcpy(alpha, nxi_at(c->t, at->diagonal, middle, 0, 1), size);
  nxi_lapack_enter();
  ((lasd2_fn)nxi_lapack(NXI_LAPACK_lasd2, c->t))(
      &c->above, &c->below, &none, &s->k, at->diagonal, array(c, at, Z), alpha,
      nxi_at(c->t, at->beside, middle, 0, 1), at->left, &c->n, at->right, &c->n,
      array(c, at, SIGMA), array(c, at, LEFT), &c->n, right, &c->n, integers(c, at, DEFLATED),
      integers(c, at, SORTED), integers(c, at, PLACES), order, types, &info);
  nxi_lapack_leave();
  memcpy(s->types, types, sizeof s->types);
  normalise(c, at, s->k);
  if (s->k <= 2) return;
  for (int j = middle + 1; j < c->n && s->types[0] > 0; j++) /* where rows are 0, the first one */
    memcpy(nxi_at(c->t, right, s->types[0], j, c->n), nxi_at(c->t, right, 0, j, c->n), size);
}

static int end_of(const nxi_conquer_svd_state *s, int chunk) {
  return (chunk + 1) * CHUNK < s->k ? (chunk + 1) * CHUNK : s->k;
}

/* squares: of the halves' values minus that of a root. weights: those from number `first` on, the
 * square roots of the products over all roots j of (square of a value - that of root j), divided
 * by the same of two values. vectors: those of a root, from such squares, right and left. */
#define CONQUER(name, T)                                                                          \
  static void weights_##name(int64_t k, int64_t ld, const T *squares, const T *sigma, const T *z, \
                             int64_t first, int64_t count, T *w) {                                \
    const T *s = sigma + first;                                                                   \
    for (int64_t i = 0; i < count; i++) w[i] = squares[(k - 1) * ld + first + i];                 \
    for (int64_t j = 0; j < k - 1; j++) {                                                         \
      const T *d = squares + j * ld + first, next = sigma[j + 1], same = sigma[j];                \
      const int64_t up_to = j < first ? 0 : j - first + 1 < count ? j - first + 1 : count;        \
      for (int64_t i = 0; i < up_to; i++) w[i] *= d[i] / ((s[i] - next) * (s[i] + next));         \
      for (int64_t i = up_to; i < count; i++) w[i] *= d[i] / ((s[i] - same) * (s[i] + same));     \
    }                                                                                             \
    for (int64_t i = 0; i < count; i++)                                                           \
      w[i] = (T)copysign(sqrt(fabs((double)w[i])), (double)z[first + i]);                         \
  }                                                                                               \
  static void vectors_##name(int64_t k, const T *squares, const T *sigma, const T *w,             \
                             const int *places, T *room, T *left, T *right) {                     \
    double sums[4] = {0, 0, 0, 0}, lefts[4] = {1, 0, 0, 0};                                       \
    for (int64_t i = 0; i < k; i++) room[i] = w[i] / squares[i];                                  \
    for (int64_t i = 0; i < k; i++) sums[i % 4] += (double)room[i] * (double)room[i];             \
    for (int64_t i = 1; i < k; i++) {                                                             \
      const double x = (double)room[i] * (double)sigma[i];                                        \
      lefts[i % 4] += x * x;                                                                      \
    }                                                                                             \
    const double by = 1 / sqrt((sums[0] + sums[2]) + (sums[1] + sums[3])),                        \
                 left_by = 1 / sqrt((lefts[0] + lefts[2]) + (lefts[1] + lefts[3]));               \
    right[0] = (T)((double)room[0] * by);                                                         \
    left[0] = (T) - left_by;                                                                      \
    for (int64_t i = 1; i < k; i++) {                                                             \
      const double x = (double)room[places[i] - 1];                                               \
      right[i] = (T)(x * by);                                                                     \
      left[i] = (T)(x * (double)sigma[places[i] - 1] * left_by);                                  \
    }                                                                                             \
  }
CONQUER(f32, float)
CONQUER(f64, double)

/* Column j of the left vectors becomes the differences of squares of the halves' values and root
 * j. */
void nxi_conquer_svd_roots(const nxi_conquer_svd *c, const nxi_conquer_svd_arrays *at, int chunk,
                           void *own) {
  const nxi_conquer_svd_state *s = at->state;
  const nxi_secular_arrays arrays = {
      c->t, array(c, at, SIGMA),   array(c, at, Z), array(c, at, RHO), at->diagonal, at->left,
      c->n, integers(c, at, INFOS)};
  nxi_secular_roots(&arrays, s->k, true, chunk * CHUNK, end_of(s, chunk), own);
}

void nxi_conquer_svd_weights(const nxi_conquer_svd *c, const nxi_conquer_svd_arrays *at,
                             int chunk) {
  const int first = chunk * CHUNK, count = end_of(at->state, chunk) - first;
  void *w = nxi_at(c->t, array(c, at, WEIGHTS), first, 0, 1);
  if (count <= 0) return;
  if (c->t == NX_F32)
    weights_f32(at->state->k, c->n, at->left, (void *)array(c, at, SIGMA), (void *)array(c, at, Z),
                first, count, w);
  else
    weights_f64(at->state->k, c->n, at->left, (void *)array(c, at, SIGMA), (void *)array(c, at, Z),
                first, count, w);
}

/* Vectors number j of the secular equation, in the order of LEFT. */
static void make_vectors(const nxi_conquer_svd *c, const nxi_conquer_svd_arrays *at, int j,
                         void *room, void *left, void *right) {
  const void *squares = nxi_at(c->t, at->left, 0, j, c->n);
  const int *places = integers(c, at, PLACES), k = at->state->k;
  if (k == 1) {
    nxi_store_one(c->t, right);
    set_value(c->t, left, 0, value(c->t, array(c, at, Z), 0) > 0 ? 1 : -1);
  } else if (c->t == NX_F32) {
    vectors_f32(k, squares, (void *)array(c, at, SIGMA), (void *)array(c, at, WEIGHTS), places,
                room, left, right);
  } else {
    vectors_f64(k, squares, (void *)array(c, at, SIGMA), (void *)array(c, at, WEIGHTS), places,
                room, left, right);
  }
}

/* Some of the inner extent of a product. */
typedef struct part_of {
  int from, count;
} part_of;

static void negate(nx_dtype t, int k, int width, part_of rows, void *a) {
  for (int j = 0; j < width; j++)
    for (int i = rows.from; i < rows.from + rows.count; i++) {
      char *x = nxi_at(t, a, i, j, k);
      set_value(t, x, 0, -value(t, x, 0));
    }
}

/* Rows first .. of left vectors: the halves' times those of the secular equation, over two parts
 * of the inner extent. */
static void multiply_left(const nxi_conquer_svd *c, const nxi_conquer_svd_arrays *at, int first,
                          int rows, int width, part_of a, part_of b, void *secular, char *to) {
  const int k = at->state->k;
  char *halves = array(c, at, LEFT), *c_at = nxi_at(c->t, to, first, 0, c->n);
  for (int j = 0; j < width && a.count == 0; j++)
    memset(nxi_at(c->t, c_at, 0, j, c->n), 0, (size_t)rows * size_of(c));
  if (a.count > 0)
    nxi_product(c->t, rows, width, a.count,
                (nxi_factor){"N", nxi_at(c->t, halves, first, a.from, c->n), c->n},
                (nxi_factor){"N", nxi_at(c->t, secular, a.from, 0, k), k}, c_at, c->n);
  negate(c->t, k, width, b, secular);
  nxi_subtract_product(NULL, c->t, rows, width, b.count,
                       (nxi_factor){"N", nxi_at(c->t, halves, first, b.from, c->n), c->n},
                       (nxi_factor){"N", nxi_at(c->t, secular, b.from, 0, k), k}, c_at, c->n);
  negate(c->t, k, width, b, secular);
}

/* Columns first .. of right vectors, likewise. */
static void multiply_right(const nxi_conquer_svd *c, const nxi_conquer_svd_arrays *at, int first,
                           int columns, int width, part_of a, part_of b, void *secular, char *to) {
  const int k = at->state->k;
  char *halves = right_halves(c, at), *c_at = nxi_at(c->t, to, 0, first, c->n);
  nxi_product(c->t, width, columns, a.count,
              (nxi_factor){"T", nxi_at(c->t, secular, a.from, 0, k), k},
              (nxi_factor){"N", nxi_at(c->t, halves, a.from, first, c->n), c->n}, c_at, c->n);
  negate(c->t, k, width, b, secular);
  nxi_subtract_product(NULL, c->t, width, columns, b.count,
                       (nxi_factor){"T", nxi_at(c->t, secular, b.from, 0, k), k},
                       (nxi_factor){"N", nxi_at(c->t, halves, b.from, first, c->n), c->n}, c_at,
                       c->n);
  negate(c->t, k, width, b, secular);
}

/* The first row of the secular equation is that in the middle; then follow upper, lower and whole
 * columns. Where upper ones are zero, the last of them has the first row's part (join). */
void nxi_conquer_svd_vectors(const nxi_conquer_svd *c, const nxi_conquer_svd_arrays *at, int chunk,
                             void *own) {
  const nxi_conquer_svd_state *s = at->state;
  const int first = chunk * CHUNK, width = end_of(s, chunk) - first, k = s->k, middle = c->above,
            upper = s->types[0], lower = s->types[1], whole = s->types[2];
  const part_of all = {0, k}, none = {0, 0}, last = {1 + upper + lower, whole};
  if (width <= 0) return;
  char *left = own, *right = nxi_at(c->t, left, 0, CHUNK, k),
       *room = nxi_at(c->t, right, 0, CHUNK, k), *to_left = nxi_at(c->t, at->left, 0, first, c->n),
       *to_right = nxi_at(c->t, at->right, first, 0, c->n);
  for (int j = 0; j < width; j++)
    make_vectors(c, at, first + j, room, nxi_at(c->t, left, 0, j, k), nxi_at(c->t, right, 0, j, k));
  if (k <= 2) {
    multiply_left(c, at, 0, c->n, width, all, none, left, to_left);
    multiply_right(c, at, 0, c->n, width, all, none, right, to_right);
    return;
  }
  multiply_left(c, at, 0, middle, width, (part_of){1, upper}, last, left, to_left);
  for (int j = 0; j < width; j++)
    memcpy(nxi_at(c->t, to_left, middle, j, c->n), nxi_at(c->t, left, 0, j, k), size_of(c));
  multiply_left(c, at, middle + 1, c->below, width, (part_of){1 + upper, lower + whole}, none, left,
                to_left);
  multiply_right(c, at, 0, middle + 1, width, (part_of){0, 1 + upper}, last, right, to_right);
  for (int j = 0; j < width && upper > 0; j++)
    memcpy(nxi_at(c->t, right, upper, j, k), nxi_at(c->t, right, 0, j, k), size_of(c));
  multiply_right(c, at, middle + 1, c->below, width, (part_of){upper, 1 + lower + whole}, none,
                 right, to_right);
}

/* Roots are in ascending order, and what was deflated is behind them in descending order, but for
 * the last digits. */
int nxi_conquer_svd_end(const nxi_conquer_svd *c, const nxi_conquer_svd_arrays *at) {
  const nxi_conquer_svd_state *s = at->state;
  int *order = integers(c, at, ORDER), info = s->info[0] || s->info[1];
  for (int j = 0; j < s->k; j++) info |= integers(c, at, INFOS)[j] != 0;
  if (info) return info;
  for (int i = 0, root = s->k - 1, other = s->k; i < c->n; i++) {
    const bool is_root = other == c->n || (root >= 0 && value(c->t, at->diagonal, root) >=
                                                            value(c->t, at->diagonal, other));
    order[i] = is_root ? root-- : other++;
    for (int j = i;
         j > 0 && value(c->t, at->diagonal, order[j]) > value(c->t, at->diagonal, order[j - 1]);
         j--) {
      const int kept = order[j];
      order[j] = order[j - 1];
      order[j - 1] = kept;
    }
  }
  for (int i = 0; i < c->n && s->zero; i++) set_value(c->t, at->diagonal, i, 0);
  nxi_scale(c->t, c->n, at->diagonal, -s->scale);
  return 0;
}
