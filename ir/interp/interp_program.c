/* SPDX-License-Identifier: ISC */
/* Prepares a kernel for the kernel interpreter: finds where its blocks end, and gives its values
 * slots in memory. */
#include <string.h>

#include "ir/kernel/build.h"
#include "interp.h"

/* Finds the end of each opener; false if blocks do not nest or nest too deep. */
static bool match_blocks(nxi_program *p) {
  nxk_value open[NXI_MAX_DEPTH];
  uint32_t depth = 0;
  for (uint32_t v = 0; v < p->kernel->n_instrs; v++) {
    nxk_op op = (nxk_op)p->kernel->instrs[v].op;
    if (nxi_opens(op)) {
      if (depth == NXI_MAX_DEPTH) return false;
      open[depth++] = v;
    } else if (op == NXK_end) {
      if (depth == 0) return false;
      p->aux[open[--depth]] = v;
    } else if (op == NXK_reduce || op == NXK_scan) {
      p->aux[v] = p->n_reduces++;
    }
  }
  return depth == 0;
}

bool nxi_program_init(nxi_program *p, const nxk_kernel *k) {
  memset(p, 0, sizeof *p);
  p->kernel = k;
  p->slot = nxi_calloc(k->n_instrs + 1, sizeof *p->slot);
  p->aux = nxi_calloc(k->n_instrs + 1, sizeof *p->aux);
  if (!p->slot || !p->aux || !match_blocks(p)) {
    nxi_program_free(p);
    return false;
  }
  for (uint32_t v = 0; v < k->n_instrs; v++) {
    p->slot[v] = p->n_slots;
    p->n_slots += k->instrs[v].op == NXK_carry ? 2u * k->instrs[v].lanes : k->instrs[v].lanes;
  }
  return true;
}

void nxi_program_free(nxi_program *p) {
  nxi_free(p->slot);
  nxi_free(p->aux);
  memset(p, 0, sizeof *p);
}
