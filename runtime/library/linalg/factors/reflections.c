/* SPDX-License-Identifier: ISC */
/* Blocks of Householder reflections: forming V and V T, and multiplying by them. */
#include "reflections.h"

#include <string.h>

#include "runtime/library/blas/level3.h"

enum { BLOCK = NXI_REFLECTIONS, FEW = 16 };

int nxi_reflections_blocks(const nxi_reflections *r) { return (r->count + BLOCK - 1) / BLOCK; }

static int64_t matrix_bytes(const nxi_reflections *r, int64_t rows, int64_t columns) {
  return (rows * columns * nxi_dtype_size(r->t) + 63) & ~(int64_t)63;
}

/* Memory for V and V T, `length` x `count` each. */
int64_t nxi_reflections_bytes(const nxi_reflections *r) {
  return 2 * matrix_bytes(r, r->length, r->count);
}

int64_t nxi_reflections_own_bytes(const nxi_reflections *r, int width) {
  const int64_t make = 3 * matrix_bytes(r, BLOCK, BLOCK), apply = matrix_bytes(r, BLOCK, width);
  return make > apply ? make : apply;
}

/* A block: which reflections, in the order of the product, and the rows that they change. */
typedef struct block {
  int begin, count, low, high;
  char *v, *vt; /* from row `low` on; r->length elements from column to column */
} block;

static block block_of(const nxi_reflections *r, int number, const void *blocks) {
  block b = {.begin = number * BLOCK, .count = BLOCK, .high = r->length};
  if (r->count - b.begin < BLOCK) b.count = r->count - b.begin;
  if (r->form == NXI_REFLECT_BACKWARDS) b.high = r->count - b.begin;
  else b.low = r->first + b.begin;
  b.v = nxi_at(r->t, blocks, b.low, b.begin, r->length);
  b.vt = b.v + matrix_bytes(r, r->length, r->count);
  return b;
}

/* The number that LAPACK gives reflection i of the product. */
static int number_of(const nxi_reflections *r, int i) {
  return r->form == NXI_REFLECT_BACKWARDS ? r->count - 1 - i : i;
}

/* Writes the vector of reflection i of the product, from row `low` on. */
static void lay_down(const nxi_reflections *r, const block *b, int i, const void *a, char *to) {
  const size_t size = (size_t)nxi_dtype_size(r->t);
  const int k = number_of(r, i), one = r->form == NXI_REFLECT_BACKWARDS ? k : r->first + k;
  memset(to, 0, (size_t)(b->high - b->low) * size);
  nxi_store_one(r->t, to + (size_t)(one - b->low) * size);
  if (r->form == NXI_REFLECT_BACKWARDS)
    memcpy(to, nxi_at(r->t, a, 0, k + 1, r->ld), (size_t)one * size);
  char *rest = to + (size_t)(one + 1 - b->low) * size;
  const int after = r->length - one - 1;
  if (r->form == NXI_REFLECT_COLUMNS)
    memcpy(rest, nxi_at(r->t, a, one + 1, k, r->ld), (size_t)after * size);
}

/* The same of all reflections of a block whose vectors are rows of a. */
static void lay_down_rows(const nxi_reflections *r, const block *b, const void *a) {
  nxi_transpose(r->t, b->high - b->low, b->count, nxi_at(r->t, a, b->begin, b->low, r->ld), r->ld,
                b->v, r->length, true);
  for (int i = 0; i < b->count; i++) {
    char *v = nxi_at(r->t, b->v, 0, i, r->length);
    memset(v, 0, (size_t)i * (size_t)nxi_dtype_size(r->t));
    nxi_store_one(r->t, nxi_at(r->t, v, i, 0, r->length));
  }
}

/* Column i, from row `first` on, of T of reflections that begin with number `first`. */
#define JOIN(name, T)                                                                     \
  static void join_##name(int first, int i, const T *tau, int number, const T *g, T *t) { \
    T *column = t + i * BLOCK;                                                            \
    for (int k = first; k < i; k++)                                                       \
      for (int j = first; j <= k; j++) column[j] += t[k * BLOCK + j] * g[i * BLOCK + k];  \
    for (int j = first; j < i; j++) column[j] *= -tau[number];                            \
    column[i] = tau[number];                                                              \
  }
JOIN(f32, float)
JOIN(f64, double)
JOIN(c64, float _Complex)
JOIN(c128, double _Complex)

static void join_column(nx_dtype t, int first, int i, const void *tau, int number, const void *gram,
                        void *to) {
  switch (t) {
    case NX_F32: join_f32(first, i, tau, number, gram, to); break;
    case NX_F64: join_f64(first, i, tau, number, gram, to); break;
    case NX_C64: join_c64(first, i, tau, number, gram, to); break;
    default: join_c128(first, i, tau, number, gram, to);
  }
}

/* T, upper triangular, of (I - V' T' V'^H) (I - V'' T'' V''^H): T' and T'', and in the corner
 * -T' V'^H V'' T''. T'' is that of a few, of which the next column is -tau T'' V''^H v, then tau.
 * gram: V^H V; room: as large. */
static void join(const nxi_reflections *r, const block *b, const void *tau, char *gram, char *t,
                 char *room) {
  memset(t, 0, (size_t)matrix_bytes(r, BLOCK, BLOCK));
  for (int first = 0; first < b->count; first += FEW) {
    const int few = b->count - first < FEW ? b->count - first : FEW;
    const nxi_factor before = {"N", t, BLOCK}, product = {"N", room, BLOCK},
                     with = {"N", nxi_at(r->t, gram, 0, first, BLOCK), BLOCK},
                     own = {"N", nxi_at(r->t, t, first, first, BLOCK), BLOCK};
    for (int i = first; i < first + few; i++)
      join_column(r->t, first, i, tau, number_of(r, b->begin + i), gram, t);
    if (first == 0) continue;
    nxi_product(r->t, first, few, first, before, with, room, BLOCK);
    nxi_subtract_product(NULL, r->t, first, few, few, product, own,
                         nxi_at(r->t, t, 0, first, BLOCK), BLOCK);
  }
}

void nxi_reflections_make(const nxi_reflections *r, int number, const void *a, const void *tau,
                          void *blocks, void *own) {
  const block b = block_of(r, number, blocks);
  const int rows = b.high - b.low;
  char *gram = own, *t = gram + matrix_bytes(r, BLOCK, BLOCK),
       *room = t + matrix_bytes(r, BLOCK, BLOCK);
  if (r->form == NXI_REFLECT_ROWS) lay_down_rows(r, &b, a);
  for (int i = 0; i < b.count && r->form != NXI_REFLECT_ROWS; i++)
    lay_down(r, &b, b.begin + i, a, nxi_at(r->t, b.v, 0, i, r->length));
  nxi_product(r->t, b.count, b.count, rows, (nxi_factor){"C", b.v, r->length},
              (nxi_factor){"N", b.v, r->length}, gram, BLOCK);
  join(r, &b, tau, gram, t, room);
  nxi_product(r->t, rows, b.count, b.count, (nxi_factor){"N", b.v, r->length},
              (nxi_factor){"N", t, BLOCK}, b.vt, r->length);
}

/* C (width rows) -= (C X) Y^H, X and Y being V and V T or the other way round. */
static void from_right(const nxi_reflections *r, const nxg_call_part *part, const block *b,
                       const char *x, const char *y, int width, void *c, int ld, void *own) {
  void *at = nxi_at(r->t, c, 0, b->low, ld);
  const int rows = b->high - b->low;
  nxi_product(r->t, width, b->count, rows, (nxi_factor){"N", at, ld},
              (nxi_factor){"N", x, r->length}, own, width);
  nxi_subtract_product(part, r->t, width, rows, b->count, (nxi_factor){"N", own, width},
                       (nxi_factor){"C", y, r->length}, at, ld);
}

void nxi_reflections_apply(const nxi_reflections *r, const nxg_call_part *part, bool right,
                           int count, const void *blocks, int width, void *c, int ld, void *own) {
  for (int i = count; i-- > 0;) {
    const block b = block_of(r, i, blocks);
    const int rows = b.high - b.low;
    if (nxi_told_to_stop(part)) return;
    if (right) {
      from_right(r, part, &b, b.v, b.vt, width, c, ld, own);
      continue;
    }
    void *at = nxi_at(r->t, c, b.low, 0, ld);
    nxi_product(r->t, b.count, width, rows, (nxi_factor){"C", b.v, r->length},
                (nxi_factor){"N", at, ld}, own, BLOCK);
    nxi_subtract_product(part, r->t, rows, width, b.count, (nxi_factor){"N", b.vt, r->length},
                         (nxi_factor){"N", own, BLOCK}, at, ld);
  }
}

void nxi_reflections_apply_block(const nxi_reflections *r, const nxg_call_part *part, int number,
                                 const void *blocks, int width, void *c, int ld, void *own) {
  const block b = block_of(r, number, blocks);
  from_right(r, part, &b, b.vt, b.v, width, c, ld, own);
}
