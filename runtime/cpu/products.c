/* SPDX-License-Identifier: ISC */
/* Finds the products that a plan for the processor may have as steps of their own: those of small
 * integers, and those of floats where there are loops for them, or OpenBLAS. */
#include "cpu.h"
#include "runtime/library/blas/blas.h"

/* Whether a product of the graph needs OpenBLAS. It takes 2 to 4 ms to load, so it is not looked
 * for without need. */
static bool needs_blas(const nxg_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes && !nxi_products_are_own(); i++)
    if (g->nodes[i].op == NXG_matmul && !nxi_is_integer(g->nodes[i].dtype)) return true;
  return false;
}

void nxi_cpu_plan_for(const nxi_executable_options *o, const nxg_graph *g, nxp_options *out) {
  bool there = !needs_blas(g) || nxi_blas_get(NULL) != NULL;
  (void)o;
  out->all_products = NXP_PRODUCTS_OF_BLAS | NXP_OF_SMALL_INTEGERS;
  out->products = there ? out->all_products : NXP_OF_SMALL_INTEGERS;
  out->no_library = there ? NULL : nxi_blas_missing();
}

nx_status nxi_cpu_find_blas(const nxg_graph *g, nxi_diag *d) {
  nxi_diag why;
  nxi_diag_clear(&why);
  if (!needs_blas(g) || nxi_blas_get(&why) != NULL) return NX_OK;
  return why.status == NX_OUT_OF_MEMORY ? nxi_oom_during(d, nxi_oom(d), "loading OpenBLAS") : NX_OK;
}
