/* SPDX-License-Identifier: ISC */
/* Reductions of floats in lanes (interp_reduce.c): one block of elements as vectors. */
#ifndef NXG_INTERP_ROUNDS_H
#define NXG_INTERP_ROUNDS_H

#include <stdint.h>

#include "ir/op.h"

enum { NXG_ROUND = 16 };

/* Sets the 16 lanes of `part` to what n >= 16 elements give, element k in lane k mod 16. */
typedef void nxg_rounds(void *part, const void *elements, int64_t n);

/* Of sums, products, maxima and minima of f32 and f64; else NULL. On x86-64 alone. */
nxg_rounds *nxg_rounds_avx2(nxk_reduce_kind kind, nx_dtype t);
nxg_rounds *nxg_rounds_avx512(nxk_reduce_kind kind, nx_dtype t);
nxg_rounds *nxg_rounds_host(nxk_reduce_kind kind, nx_dtype t); /* NULL, too: this has no such */

#endif
