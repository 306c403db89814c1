/* SPDX-License-Identifier: ISC */
/* Products of f32 whose operands are numbers of bf16, as those of bf16 become (docs/numerics.md),
 * by the instruction that multiplies two of them at once. */
#ifndef NXI_FLOATS_PAIRS_H
#define NXI_FLOATS_PAIRS_H

#include "multiply.h"

#if defined(__x86_64__)
/* The first numbers of both operands are such, the product is no small one, and this processor has
 * the instruction, with the sums that the loops need: nxi_floats_multiply_pairs is worth a try. */
bool nxi_floats_may_be_pairs(const nxi_floats_kernels *f, const nxi_floats_product *p);

/* Whether the instruction takes clearly less time than the two fma it stands for: on processors of
 * AMD; on Intel's Emerald Rapids it takes twice as long. Measured once, in some microseconds. */
bool nxi_floats_pairs_are_quick(void);

/* Multiplies if all numbers are such, and no sum of their products can be subnormal, which the
 * instruction would take for zero. False, and nothing written, if not. room: NXI_FLOATS_ROOM bytes.
 * The same bits as without. */
bool nxi_floats_multiply_pairs(const nxi_floats_product *p, void *room);
#endif

#endif
