/* SPDX-License-Identifier: ISC */
#ifndef NXG_ODD_ROWS_H
#define NXG_ODD_ROWS_H

#include "rewrite.h"

/* The value of node i, a product of f16 or bf16 on a GPU, of these operands in r->to, by matrices
 * whose rows are multiples of 16 bytes, if some of its own are not even multiples of 4 and that is
 * worth the copies. UINT32_MAX: it is not. */
uint32_t nxg_even_product(nxg_rewrite *r, uint32_t i, const uint32_t operands[2]);

#endif
