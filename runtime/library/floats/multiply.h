/* SPDX-License-Identifier: ISC */
/* One product of f32 or f64 on the calling thread, by loops of our own. */
#ifndef NXI_FLOATS_MULTIPLY_H
#define NXI_FLOATS_MULTIPLY_H

#include "ir/dtype.h"
#include "ir/library/seen.h"
#include "kernels.h"

/* Whether all numbers of B are finite, once somebody has looked. */
typedef struct nxi_floats_look {
  bool looked, finite;
} nxi_floats_look;

/* Row-major: c is m x n, a is m x k (stored k x m if a_transposed), b is k x n (stored n x k if
 * b_transposed). */
typedef struct nxi_floats_product {
  int64_t m, n, k;
  const void *a, *b;
  bool a_transposed, b_transposed;
  int64_t a_ld, b_ld;
  void *c;
  int64_t c_ld;
  bool add;              /* c = c + a b */
  bool b_is_cached;      /* this thread has just written b: it is read where it lies */
  nxi_floats_look *look; /* or NULL: of products with the same b, for the next ones */
  const nxi_seen *seen;  /* or NULL; other elements of c may stay as they are */
} nxi_floats_product;

/* Bytes that nxi_floats_multiply may use for operands. */
enum { NXI_FLOATS_ROOM = 6 << 20 };

/* The kernels for the host; NULL where it has none, and for other types. */
const nxi_floats_kernels *nxi_floats_kernels_for(nx_dtype type);

/* Whether the product would be faster with memory: an operand is packed. b_transposed wants it. */
bool nxi_floats_wants_room(const nxi_floats_kernels *f, const nxi_floats_product *p);

/* The same of a B that is strips of rows, one after the other, each of nxi_floats_strip_width of
 * the columns that are left. A lies as p says. */
void nxi_floats_multiply_strips(const nxi_floats_kernels *f, const nxi_floats_product *p,
                                const void *strips);

/* Bytes of such strips of B; 0: they would not help, or B is not transposed. */
int64_t nxi_floats_strips_bytes(const nxi_floats_kernels *f, const nxi_floats_product *p);
/* Makes them, as far as what counts of the product needs them. */
void nxi_floats_make_strips(const nxi_floats_kernels *f, const nxi_floats_product *p, void *strips);

/* Columns of the first strip of so many columns. */
int64_t nxi_floats_strip_width(const nxi_floats_kernels *f, int64_t columns);

/* room: aligned to 64 bytes, or NULL. The same bits with and without it. */
void nxi_floats_multiply(const nxi_floats_kernels *f, const nxi_floats_product *p, void *room);

/* ---- for the other files of this folder */

/* Whether so many rows of A wait for their strips of B, which come from the second level, if these
 * do not lie in order: as where blocks are of few rows, for each of which a strip is read. */
bool nxi_floats_waits_for_b(const nxi_floats_kernels *f, int64_t rows, int64_t depth,
                            int64_t columns);
/* The kernels for the most rows of a block out of `rows`. */
const nxi_floats_class *nxi_floats_class_of(const nxi_floats_kernels *f, int64_t rows);
/* Rows of A that lie across: for each block the inner extent, its rows beside each other. */
void nxi_floats_copy_rows(const nxi_floats_kernels *f, const nxi_floats_product *p, int64_t row,
                          int64_t rows, char *to);

#endif
