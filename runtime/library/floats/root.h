/* SPDX-License-Identifier: ISC */
/* Cholesky factors of f32 or f64 on the calling thread, by loops of our own: A = L L^T. */
#ifndef NXI_FLOATS_ROOT_H
#define NXI_FLOATS_ROOT_H

#include "triangle.h"

/* Bytes of memory to work in, aligned to 64, for matrices of up to n rows. */
int64_t nxi_floats_root_bytes(int64_t n);

/* Row-major, in place: the lower triangle of a becomes L; what is above may change. As kernels.h
 * says of the elements of L; nothing else changes a bit. 0, or the number of the first row, from 1,
 * whose diagonal would be no positive number. room: of nxi_floats_root_bytes. */
int64_t nxi_floats_find_root(const nxi_floats_kernels *f, int64_t n, void *a, int64_t ld,
                             void *room);

/* The same of `count` rows below those of L, as far as they are left of them: their part of L. */
void nxi_floats_root_below(const nxi_floats_kernels *f, int64_t n, const void *l, int64_t ld,
                           int64_t count, void *below, void *room);

#endif
