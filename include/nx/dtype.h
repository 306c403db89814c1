/* SPDX-License-Identifier: ISC */
/* Element types. Values never change; `docs/contract.md` gives layouts and conversions. */
#ifndef NX_DTYPE_H
#define NX_DTYPE_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t nx_dtype;

enum {
  NX_BOOL = 1, /**< one byte, 0 or 1 */
  NX_I4 = 2,   /**< two per byte, even index in the low nibble */
  NX_U4 = 3,
  NX_I8 = 4,
  NX_U8 = 5,
  NX_I16 = 6,
  NX_U16 = 7,
  NX_I32 = 8,
  NX_U32 = 9,
  NX_I64 = 10,
  NX_U64 = 11,
  NX_F8E4M3 = 12, /**< OCP "fn": no infinity, max 448 */
  NX_F8E5M2 = 13, /**< OCP: has infinities */
  NX_F16 = 14,
  NX_BF16 = 15,
  NX_F32 = 16,
  NX_F64 = 17,
  NX_C32 = 18, /**< pair of f16; computed as c64, each result rounded */
  NX_C64 = 19,
  NX_C128 = 20,
  NX_F8E4M3FNUZ = 21, /**< stored, moved and cast only: no infinity, no -0, one NaN; max 240 */
  NX_F8E5M2FNUZ = 22, /**< the same: no infinity, no -0, one NaN; max 57344 */
  NX_F8E8M0 = 23,     /**< the same, OCP scale: powers of two from 2^-127 to 2^127, and NaN */
  NX_F4E2M1 = 24 /**< the same, OCP: 0, 0.5, 1, 1.5, 2, 3, 4, 6, their negatives; two per byte */
};

/** "f32"; NULL for a value that is no dtype. Static. */
NX_API const char *nx_dtype_name(nx_dtype dtype);
/** The dtype of a name, 0 if there is none. */
NX_API nx_dtype nx_dtype_from_name(const char *name);
/** Bits of one element: 4 for i4, u4 and f4e2m1, 8 for bool. 0 for a value that is no dtype. */
NX_API size_t nx_dtype_bits(nx_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
