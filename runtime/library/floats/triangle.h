/* SPDX-License-Identifier: ISC */
/* One triangular system of f32 or f64 on the calling thread, by loops of our own. */
#ifndef NXI_FLOATS_TRIANGLE_H
#define NXI_FLOATS_TRIANGLE_H

#include "multiply.h"

enum { NXI_FLOATS_TRIANGLE = 512 }; /* rows up to which strips are solved one after the other */

/* Row-major: a x = b, a is n x n (stored transposed if a_transposed) and only one triangle of it,
 * or that without the diagonal, is read; x, `columns` wide, has the place of b. */
typedef struct nxi_floats_system {
  int64_t n, columns;
  const void *a;
  int64_t a_ld;
  bool lower, a_transposed, unit; /* lower: of a itself, however it is stored */
  const void *b;                  /* NULL: x has it; may be the same memory */
  int64_t b_ld;
  bool of_unit; /* there is no b: it is the unit matrix from its column `one` on */
  int64_t one;
  void *x;
  int64_t x_ld;
  bool (*stopped)(void *user); /* or NULL: asked between the blocks of a longer system */
  void *user;
} nxi_floats_system;

/* An element of x is a chain of fma, from its element of b on, over the rows that are known before
 * it in the order in which they become known, times 1 / the diagonal (rounded), or divided by the
 * diagonal if 1 / that is no normal number. Nothing else changes a bit. room: NULL, or memory of
 * NXI_FLOATS_ROOM bytes, aligned to 64. False: stopped, and x is of no use. */
bool nxi_floats_solve(const nxi_floats_kernels *f, const nxi_floats_system *s, void *room);
/* Solves `before` first, whose x are the last rows of that of s, as many or less, and then s, of
 * which that is the right side. In one pass over x. */
bool nxi_floats_solve_both(const nxi_floats_kernels *f, const nxi_floats_system *before,
                           const nxi_floats_system *s, void *room);

#endif
