/* SPDX-License-Identifier: ISC */
/* A bound kernel taken apart into its structure and its integers, and put together again with some
 * of the integers as parameters. Two kernels of equal structure that agree in all other integers
 * then share machine code. */
#ifndef NXI_GENERALIZE_H
#define NXI_GENERALIZE_H

#include "ir/kernel/kernel.h"

/* What a value of a bound kernel decides. */
typedef enum nxk_role {
  NXK_ROOM,  /* elements of a LOCAL array; never a parameter */
  NXK_PLACE, /* bounds of loops, numbers of tasks, offsets; i64 */
  NXK_STRIDE,
  NXK_WORD, /* an i64 operand: of index arithmetic, or data */
  NXK_DATA  /* any other operand */
} nxk_role;

typedef struct nxk_hole {
  uint64_t value;
  uint8_t type, role; /* nx_dtype, nxk_role */
} nxk_hole;

/* structure: bytes; equal for two kernels exactly if they differ at most in the values of their
 * holes and in their names. */
typedef struct nxk_anatomy {
  nxi_text structure;
  nxk_hole *holes;
  uint32_t n_holes, cap_holes;
} nxk_anatomy;

/* Logical kernels, and bound ones of processors. False: out of memory, or the kernel is for a
 * GPU. */
bool nxk_dissect(const nxk_kernel *k, nxk_anatomy *out);
void nxk_anatomy_free(nxk_anatomy *a);
enum { NXK_LITERAL = -1 };
/* The kernel with the holes filled: param[i] is NXK_LITERAL (the value is that of literal[i]) or
 * the number of the parameter that hole i becomes, counted from the kernel's own parameters on.
 * n_params: how many such parameters there are. Rooms are literal. NULL: d says why. */
nxk_kernel *nxk_generalize(const nxk_kernel *k, const int32_t *param, const nxk_hole *literal,
                           uint32_t n_params, nxi_diag *d);
/* The kernel with other values in its holes, all of them literal. NULL: d says why. */
nxk_kernel *nxk_refill(const nxk_kernel *k, const nxk_hole *holes, uint32_t n_holes, nxi_diag *d);

#endif
