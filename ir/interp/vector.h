/* SPDX-License-Identifier: ISC */
/* Vectors of the graph interpreter's loops, where compilers make none of plain C: they may not turn
 * a branch on a comparison of floats into a mask, since the comparison might trap. As compilers
 * have them, at any address; of 16 bytes unless the file is for processors that have more, since
 * gcc makes scalars of comparisons that are wider than the processor's. */
#ifndef NXG_INTERP_VECTOR_H
#define NXG_INTERP_VECTOR_H

#include <stdint.h>

#ifndef NXG_VECTOR_BYTES
#define NXG_VECTOR_BYTES 16
#endif
#define NXG_VECTOR(name, T) \
  typedef T name __attribute__((vector_size(NXG_VECTOR_BYTES), aligned(sizeof(T)), may_alias))
NXG_VECTOR(nxg_f32s, float);
NXG_VECTOR(nxg_f64s, double);
NXG_VECTOR(nxg_u32s, uint32_t); /* of the width of a float; comparisons give masks of such */
NXG_VECTOR(nxg_u64s, uint64_t);
NXG_VECTOR(nxg_i32s, int32_t);
NXG_VECTOR(nxg_i64s, int64_t);

/* x where the mask has ones, else y. */
#define NXG_PICK(T, U, mask, x, y) ((T)(((U)(x) & (U)(mask)) | ((U)(y) & ~(U)(mask))))
/* As elementwise max and min: NaN wins; of equal numbers max takes the one without a sign, and min
 * the one with a sign. `top`: the number of the sign's bit. */
#define NXG_MAX(T, U, top, x, y)                                                                 \
  NXG_PICK(T, U, (U)((x) != (x)) | (U)((x) > (y)) | ((U)((x) == (y)) & (0 - ((U)(y) >> (top)))), \
           x, y)
#define NXG_MIN(T, U, top, x, y)                                                                 \
  NXG_PICK(T, U, (U)((x) != (x)) | (U)((x) < (y)) | ((U)((x) == (y)) & (0 - ((U)(x) >> (top)))), \
           x, y)

#endif
