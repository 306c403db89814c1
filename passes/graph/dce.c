/* SPDX-License-Identifier: ISC */
/* Drops nodes that no output needs. Inputs stay: launches pass all of them. Keeps: values of
 * outputs. */
#include "rewrite.h"

nx_status nxg_pass_dce(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d) {
  nxg_rewrite r;
  nx_status status = nxg_rewrite_begin(&r, g, d);
  if (status != NX_OK) return status;
  uint8_t *live = nxi_calloc((size_t)g->n_nodes + 1, 1);
  if (live == NULL) r.failed = true;
  for (uint32_t i = 0; i < g->n_outputs && live != NULL; i++) live[g->outputs[i].node] = 1;
  for (uint32_t i = g->n_nodes; i-- > 0 && live != NULL;)
    for (uint32_t a = 0; live[i] && a < g->nodes[i].n_args; a++) live[g->nodes[i].args[a]] = 1;
  for (uint32_t i = 0; i < g->n_nodes && !nxg_rewrite_failed(&r); i++) {
    if (live[i]) nxg_rewrite_copy(&r, i);
    else nxg_rewrite_drop(&r, i);
  }
  nxi_free(live);
  return nxg_rewrite_end(&r, out, changed);
}
