/* SPDX-License-Identifier: ISC */
/* Programs of the graph interpreter for any graph. The interpreter knows no complex values and no
 * stored floats, so the passes that make pairs and integers of them run first; complex inputs and
 * outputs of the program are arrays with the two parts of each element side by side. */
#include "passes.h"

nx_status nxp_program_create(const nxg_graph *g, nxg_program **out, nxi_diag *d) {
  nxg_graph *real = NULL, *plain = NULL;
  nx_status status = nxg_pass_types(g, &real, NULL, d);
  if (status != NX_OK) return status;
  status = nxg_pass_stored_types(real, &plain, NULL, d);
  if (status == NX_OK) status = nxg_program_create(plain, out, d);
  if (plain != real) nxg_destroy(plain);
  if (real != g) nxg_destroy(real);
  return status;
}
