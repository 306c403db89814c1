/* SPDX-License-Identifier: ISC */
/* Programs of the graph interpreter for any graph. The interpreter knows no complex values, so the
 * pass that makes pairs of them runs first; complex inputs and outputs of the program are arrays
 * with the two parts of each element side by side. */
#include "passes.h"

nx_status nxp_program_create(const nxg_graph *g, nxg_program **out, nxi_diag *d) {
  nxg_graph *real = NULL;
  nx_status status = nxg_pass_types(g, &real, NULL, d);
  if (status != NX_OK) return status;
  status = nxg_program_create(real, out, d);
  if (real != g) nxg_destroy(real);
  return status;
}
