/* SPDX-License-Identifier: ISC */
/* The cases of gpu_stress: an operand, made of random bits by the device itself, and what is
 * computed of it. */
#ifndef NXT_GPU_STRESS_H
#define NXT_GPU_STRESS_H

#include "nx/nx.h"

typedef enum stress_values {
  STRESS_NORMAL,  /* floats: uniform in [-2, 2); integers: any */
  STRESS_BITS,    /* any bits, so of floats all kinds of NaN, infinities and subnormals */
  STRESS_CORNERS, /* zeros of both signs, NaNs and a few numbers, in any order */
  STRESS_COUNT    /* 0, 1, 2, ... */
} stress_values;

typedef struct stress_case {
  const char *name;
  nx_dtype dtype;
  stress_values values;
  int32_t rank;
  int64_t shape[3];
  nx_tensor *(*record)(nx_tensor *x); /* what is computed: of any shape, a real dtype or bool */
  bool whole;                         /* its size is a part of what is tried: it is not shrunk */
} stress_case;

extern const stress_case stress_cases[];
extern const size_t stress_n_cases;

#endif
