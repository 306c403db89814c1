/* SPDX-License-Identifier: ISC */
/* The call attention: its attributes, and what kernels of a GPU take, which the pass that makes the
 * call keeps to. What the operands are: library_attention.c. */
#ifndef NXG_ATTENTION_H
#define NXG_ATTENTION_H

#include "ir/dtype.h"

/* Bits of the scores' dtype, or -1; bounds of column - row; bits of operands in which rows come
 * before heads; whether a condition in memory is true where columns are hidden; and whether scores
 * and weights are f32, not of the operands' dtype, and weights are rounded to that for the second
 * product. */
enum {
  NXG_ATTENTION_SCALE,
  NXG_ATTENTION_FILL,
  NXG_ATTENTION_LEAST,
  NXG_ATTENTION_MOST,
  NXG_ATTENTION_TURNED,
  NXG_ATTENTION_HIDES,
  NXG_ATTENTION_WIDE,
  NXG_ATTENTION_ATTRS
};
enum {
  NXG_ATTENTION_FAR = 1 << 30, /* a bound that is none */
  NXG_ATTENTION_PART = 8,      /* columns of a summand in memory are a multiple of it */
  NXG_ATTENTION_STEP = 16,     /* and so are features, and the width of values, for kernels */
  NXG_ATTENTION_WIDEST = 256,
  NXG_ATTENTION_MOST_ROWS = 1 << 29, /* fewer than this, and so of columns and of tiles */
  /* Columns of f16: a sum of exponentials, each at most 1, is finite in f16, and kernels divide by
   * no infinite sum. */
  NXG_ATTENTION_MOST_OF_HALVES = 65504
};

/* The operands behind queries, keys and values: a summand of scores and a condition, of which each
 * may be missing; -1. */
typedef struct nxg_attention_masks {
  int32_t summand, condition;
} nxg_attention_masks;

static inline nx_dtype nxg_attention_scores(nx_dtype t, const int64_t *attrs) {
  return attrs[NXG_ATTENTION_WIDE] ? NX_F32 : t;
}

/* Whether larger scores, of that dtype, stay larger when they are multiplied by it: it is none, or
 * positive and finite. */
static inline bool nxg_attention_grows(nx_dtype t, int64_t scale) {
  const int64_t infinity = t == NX_F32 ? 0x7f800000 : t == NX_BF16 ? 0x7f80 : 0x7c00;
  return scale == -1 || (scale > 0 && scale < infinity);
}

/* Whether kernels take features of queries and keys, the width of values, and so many columns. */
static inline bool nxg_attention_fits(nx_dtype t, int64_t features, int64_t width,
                                      int64_t columns) {
  return features > 0 && features % NXG_ATTENTION_STEP == 0 && features <= NXG_ATTENTION_WIDEST &&
         width > 0 && width % NXG_ATTENTION_STEP == 0 && width <= NXG_ATTENTION_WIDEST &&
         columns > 0 && columns < NXG_ATTENTION_MOST_ROWS &&
         (t == NX_BF16 || columns <= NXG_ATTENTION_MOST_OF_HALVES);
}

#endif
