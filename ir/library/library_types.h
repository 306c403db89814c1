/* SPDX-License-Identifier: ISC */
/* Types of library calls, one function a row of library.def: each refuses what the operation does
 * not take, and fills in the results. Operands share one dtype of an admitted class, and their
 * number is right. */
#ifndef NXG_LIBRARY_TYPES_H
#define NXG_LIBRARY_TYPES_H

#include "library.h"

#define LIB(name, operands, results, admits, keys, fails) \
  nx_status nxg_types_##name(nxg_call *call, nxi_diag *d);
#include "library.def"
#undef LIB

#endif
