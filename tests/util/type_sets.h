/* SPDX-License-Identifier: ISC */
/* Sets of element types, by the classes of the contract: bit n is the type with number n. */
#ifndef NXT_TYPE_SETS_H
#define NXT_TYPE_SETS_H

#include <stdint.h>

#include "nx/dtype.h"

#define TYPE(t) ((uint32_t)1 << (t))
enum {
  B = TYPE(NX_BOOL),
  I = TYPE(NX_I4) | TYPE(NX_U4) | TYPE(NX_I8) | TYPE(NX_U8) | TYPE(NX_I16) | TYPE(NX_U16) |
      TYPE(NX_I32) | TYPE(NX_U32) | TYPE(NX_I64) | TYPE(NX_U64),
  F = TYPE(NX_F8E4M3) | TYPE(NX_F8E5M2) | TYPE(NX_F16) | TYPE(NX_BF16) | TYPE(NX_F32) |
      TYPE(NX_F64),
  H = TYPE(NX_C32), /* which few formats of files have */
  C = H | TYPE(NX_C64) | TYPE(NX_C128),
  STORED = TYPE(NX_F8E4M3FNUZ) | TYPE(NX_F8E5M2FNUZ) | TYPE(NX_F8E8M0) | TYPE(NX_F4E2M1),
  ALL = B | I | F | C | STORED
};

#endif
