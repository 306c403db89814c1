/* SPDX-License-Identifier: ISC */
/* Finds zeros at the ends of rows of A, and what has to hold for leaving them out. A row is looked
 * at from both ends until a number that is not +0 comes, and the rows of a block that follow only
 * as far as those before them; so dense rows cost two loads a block. */
#include "zeros.h"

#include <string.h>

#include "runtime/library/linalg/lapack.h"

enum {
  LEAST_ROWS = 16, /* of A: B may have to be read once more */
  LEAST_COLUMNS = 16,
  GAIN = 8, /* a span that is shorter by one part of this many is worth it */
  RUN = 64, /* bytes that are looked at together */
};

void nxi_floats_zeros_begin(nxi_floats_zeros *z, const nxi_floats_kernels *f,
                            const nxi_floats_product *p) {
  const bool worth = !p->a_transposed && !p->add && p->k >= NXI_FLOATS_ZEROS_DEPTH &&
                     p->m >= LEAST_ROWS && p->n >= LEAST_COLUMNS;
  *z = (nxi_floats_zeros){.f = f, .p = worth ? p : NULL};
  if (p->look) z->look = *p->look;
}

typedef uint64_t word __attribute__((vector_size(16)));

static bool is_zero(const char *x) {
  word a, b, c, d;
  memcpy(&a, x, sizeof a);
  memcpy(&b, x + 16, sizeof b);
  memcpy(&c, x + 32, sizeof c);
  memcpy(&d, x + 48, sizeof d);
  a = (a | b) | (c | d);
  return (a[0] | a[1]) == 0;
}

/* Elements at the beginning of a row of `size` bytes each, of those before `end`, that are +0:
 * whole runs of them. */
static int64_t zeros_before(const char *row, int64_t end, int64_t size) {
  int64_t at = 0;
  while (at + RUN <= end * size && is_zero(row + at)) at += RUN;
  return at / size;
}

/* Where those at the end of a row begin, which has k, looking no further than to `begin`. */
static int64_t zeros_from(const char *row, int64_t begin, int64_t k, int64_t size) {
  int64_t at = k * size;
  while (at - RUN >= begin * size && is_zero(row + at - RUN)) at -= RUN;
  return at / size;
}

static nxi_floats_span span_of(const nxi_floats_zeros *z, const char *row, int64_t rows) {
  const int64_t size = z->f->size, k = z->p->k;
  int64_t begin = k, end = 0;
  for (int64_t i = 0; i < rows && (begin > 0 || end < k); i++, row += z->p->a_ld * size) {
    begin = zeros_before(row, begin, size);
    end = zeros_from(row, end, k, size);
  }
  if (begin >= end) begin = 0, end = 1; /* the chains are +0 after one step, as after all */
  return (nxi_floats_span){(int32_t)begin, (int32_t)end};
}

static bool b_is_finite(const nxi_floats_zeros *z) {
  const nxi_floats_product *p = z->p;
  int64_t rows = p->b_transposed ? p->n : p->k, n = p->b_transposed ? p->k : p->n;
  const nx_dtype t = z->f->size == (int32_t)sizeof(float) ? NX_F32 : NX_F64;
  const char *row = p->b;
  bool finite = true;
  if (n == p->b_ld) n *= rows, rows = 1;
  for (int64_t i = 0; i < rows && finite; i++, row += p->b_ld * z->f->size)
    finite = nxi_all_finite(t, n, row);
  return finite;
}

bool nxi_floats_spans_of(nxi_floats_zeros *z, int64_t row, int64_t rows, nxi_floats_span *spans) {
  if (!z->p || (z->look.looked && !z->look.finite)) return false;
  const int64_t step = z->f->rows, ld = z->p->a_ld * z->f->size;
  bool any = false;
  for (int64_t i = 0; i < rows; i += step) {
    const int64_t some = rows - i < step ? rows - i : step;
    nxi_floats_span *s = &spans[i / step];
    *s = span_of(z, (const char *)z->p->a + (row + i) * ld, some);
    any = any || s->end - s->begin <= z->p->k - z->p->k / GAIN;
  }
  if (any && !z->look.looked) z->look = (nxi_floats_look){true, b_is_finite(z)};
  if (any && z->p->look) *z->p->look = z->look;
  return any && z->look.finite;
}

bool nxi_floats_has_minus_zero(const nxi_floats_kernels *f, const void *c, int64_t ld, int64_t rows,
                               int64_t columns) {
  uint32_t narrow = 0;
  uint64_t wide = 0;
  for (int64_t i = 0; i < rows; i++)
    if (f->size == (int32_t)sizeof(float)) {
      const uint32_t *x = (const uint32_t *)c + i * ld;
      for (int64_t j = 0; j < columns; j++) narrow |= x[j] == UINT32_C(1) << 31;
    } else {
      const uint64_t *x = (const uint64_t *)c + i * ld;
      for (int64_t j = 0; j < columns; j++) wide |= x[j] == UINT64_C(1) << 63;
    }
  return narrow != 0 || wide != 0;
}
