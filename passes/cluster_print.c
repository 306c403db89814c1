/* SPDX-License-Identifier: ISC */
/* Fusion groups as remarks, to stand after the text of their graph: nodes have the same labels there. */
#include "cluster.h"

#include "ir/graph_text.h"

void nxp_clusters_print(const nxg_graph *g, const nxp_clusters *c, nxi_text *out) {
  static const char *const kinds[] = {"kernel", "cat", "update", "matmul", "call"};
  nxg_printer printer;
  if (!nxg_printer_init(&printer, g, out)) return;
  for (uint32_t i = 0; i < c->n_groups; i++) {
    const nxp_group *group = &c->groups[i];
    nxi_text_add(out, "; group %u: %s over [", i, kinds[group->kind]);
    for (int32_t a = 0; a < group->rank; a++)
      nxi_text_add(out, "%s%s%lld", a ? "," : "", group->reduced >> a & 1 ? "reduced " : "",
                   (long long)group->shape[a]);
    nxi_text_add(out, "], %u operations, stores", group->size);
    for (uint32_t r = 0; r < group->n_roots; r++) {
      nxi_text_add(out, r ? ", " : " ");
      nxg_print_label(&printer, group->roots[r].node);
      nxi_text_add(out, " (%s)", nxg_ops[g->nodes[group->roots[r].node].op].name);
    }
    nxi_text_add(out, "\n");
  }
  nxg_printer_free(&printer);
}
