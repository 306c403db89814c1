/* SPDX-License-Identifier: ISC */
/* Uniform numbers that other distributions are made of; see draw.h for how. */
#ifndef NXI_UNIFORM_H
#define NXI_UNIFORM_H

#include "draw.h"

/* In (0, 1), of f32 or f64. */
nx_tensor *nxi_random_open(nx_tensor *key, nx_dtype t, const int64_t *shape, int32_t rank);
/* sqrt(2) erfinv(u): normal where u is uniform in (-1, 1). */
nx_tensor *nxi_random_probit(nx_tensor *u);

#endif
