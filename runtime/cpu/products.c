/* SPDX-License-Identifier: ISC */
/* Finds the products that a plan for the processor may leave to OpenBLAS. Those of small integers
 * are our own. */
#include "cpu.h"
#include "runtime/library/blas/blas.h"

static bool multiplies(const nxg_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == NXG_matmul && !nxi_is_integer(g->nodes[i].dtype)) return true;
  return false;
}

/* OpenBLAS takes 2 ms to load, so it is not looked for where no floats are multiplied. */
void nxi_cpu_plan_for(const nxi_executable_options *o, const nxg_graph *g, nxp_options *out) {
  bool there = !multiplies(g) || nxi_blas_get(NULL) != NULL;
  (void)o;
  out->all_products = NXP_PRODUCTS_OF_BLAS | NXP_OF_SMALL_INTEGERS;
  out->products = there ? out->all_products : NXP_OF_SMALL_INTEGERS;
  out->no_library = there ? NULL : nxi_blas_missing();
}

nx_status nxi_cpu_find_blas(const nxg_graph *g, nxi_diag *d) {
  nxi_diag why;
  nxi_diag_clear(&why);
  if (!multiplies(g) || nxi_blas_get(&why) != NULL) return NX_OK;
  return why.status == NX_OUT_OF_MEMORY ? nxi_oom_during(d, nxi_oom(d), "loading OpenBLAS") : NX_OK;
}
