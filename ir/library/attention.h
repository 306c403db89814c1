/* SPDX-License-Identifier: ISC */
/* The call attention: its attributes, and what kernels of a GPU take, which the pass that makes the
 * call keeps to. What the operands are: library_attention.c. */
#ifndef NXG_ATTENTION_H
#define NXG_ATTENTION_H

#include "ir/dtype.h"

/* Bits of the scores' dtype, or -1; bounds of column - row; bits of operands and of the result in
 * which rows come before heads; whether a condition in memory is true where columns are hidden;
 * from where on scores are f32; whether rows of which all scores are minus infinity have weights
 * of 0 and not of NaN; and whether weights and the result are f32, too. The last two are 0 where
 * scores are never f32. */
enum {
  NXG_ATTENTION_SCALE,
  NXG_ATTENTION_FILL,
  NXG_ATTENTION_LEAST,
  NXG_ATTENTION_MOST,
  NXG_ATTENTION_TURNED,
  NXG_ATTENTION_HIDES,
  NXG_ATTENTION_WIDE,
  NXG_ATTENTION_EMPTY,
  NXG_ATTENTION_WHOLE,
  NXG_ATTENTION_ATTRS
};
/* Scores are of the operands' dtype throughout; f32 from the product on, where it is rounded to
 * f32, or to the operands' dtype first; from the softmax on; or from the factor on, where it
 * multiplies numbers of the operands' dtype. */
enum { NXG_NOT_WIDE, NXG_WIDE, NXG_WIDE_ROUNDED, NXG_WIDE_LATE, NXG_WIDE_SCALED };
enum {
  NXG_ATTENTION_RESULT = 3,    /* the bit of the result in `turned` */
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

/* Of what the product is multiplied with, added to and replaced by; a factor of the operands' dtype
 * (NXG_WIDE_SCALED) is given in f32, too. */
static inline nx_dtype nxg_attention_scores(nx_dtype t, const int64_t *attrs) {
  const int64_t wide = attrs[NXG_ATTENTION_WIDE];
  return wide == NXG_NOT_WIDE || wide == NXG_WIDE_LATE ? t : NX_F32;
}
static inline nx_dtype nxg_attention_result(nx_dtype t, const int64_t *attrs) {
  return attrs[NXG_ATTENTION_WHOLE] ? NX_F32 : t;
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
