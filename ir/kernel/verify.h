/* SPDX-License-Identifier: ISC */
/* Private to the verifier of kernels: its state, and what its two files call of each other. */
#ifndef NXI_VERIFY_H
#define NXI_VERIFY_H

#include "build.h"
#include "ir/text/print_kernel.h"

typedef struct nxi_fault_row {
  nxk_value at; /* the instruction; NXK_NONE: the declarations */
  char text[124];
} nxi_fault_row;

/* What the verifier has found out about an instruction that it has visited. */
typedef struct nxi_place {
  nxk_value block;     /* the block that holds it */
  nxk_value scope;     /* the block to whose end its value is visible; NXK_NONE: everywhere */
  nxk_value hidden_in; /* reduce: the loop after whose end it is visible; NXK_NONE: at once */
  nxk_value closes;    /* an end, and the blends after it: the opener */
  bool open;           /* it opens a block that is not closed yet */
  bool has_next;       /* a carry with a next */
} nxi_place;

typedef struct nxi_checker {
  const nxk_kernel *k;
  nxi_place *places;
  nxk_value open[NXI_MAX_DEPTH];
  uint32_t depth, cold_depth, task_loops;
  bool too_deep;
  nxi_fault_row *faults;
  /* n_found also counts faults for which there was no memory */
  uint32_t n_faults, cap_faults, n_found;
} nxi_checker;

void nxi_fault(nxi_checker *c, nxk_value v, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool nxi_visible(const nxi_checker *c, nxk_value at, nxk_value v);
/* The instruction of an operand; NULL after recording that it is not visible. */
const nxk_instr *nxi_operand(nxi_checker *c, nxk_value at, nxk_value v);
nxk_value nxi_parent(const nxi_checker *c); /* the innermost open block */
bool nxi_is_loop(const nxk_kernel *k, nxk_value v, nxk_loop_kind kind);

/* ir/kernel/verify_types.c: whether the number of operands is n (else records a fault); and the
 * check of one instruction's operands, element types, lanes and accesses. */
bool nxi_has_args(nxi_checker *c, nxk_value v, int n);
void nxi_check_types(nxi_checker *c, nxk_value v);

#endif
