/* SPDX-License-Identifier: ISC */
/* Types of library calls, one function for each row of library.def. Each refuses operands that the
 * operation does not take, and fills in the results. It is called with the right number of
 * operands, which share one dtype of an admitted class. */
#ifndef NXG_LIBRARY_TYPES_H
#define NXG_LIBRARY_TYPES_H

#include "library.h"

#define LIB(name, operands, results, admits, keys, fails) \
  nx_status nxg_types_##name(nxg_call *call, nxi_diag *d);
#include "library.def"
#undef LIB

#endif
