/* SPDX-License-Identifier: ISC */
/* Prints fusion groups as comments after the text of their graph, with the same names of nodes. */
#include "cluster.h"

#include <stdio.h>

#include "ir/text/graph_text.h"

bool nxp_group_is_kernel(const nxp_group *group) {
  return group->kind == NXP_GROUP_KERNEL || group->kind == NXP_GROUP_CAT ||
         group->kind == NXP_GROUP_UPDATE;
}

void nxp_group_name(const nxg_graph *g, const nxp_group *group, char *name, size_t size) {
  const nxg_node *n = &g->nodes[group->roots[group->n_roots - 1].node];
  snprintf(name, size, "%s_%u", nxg_ops[n->op].name, group->size);
}

void nxp_clusters_print(const nxg_graph *g, const nxp_clusters *c, nxi_text *out) {
  static const char *const kinds[] = {
      [NXP_GROUP_KERNEL] = "kernel", [NXP_GROUP_CAT] = "cat",   [NXP_GROUP_UPDATE] = "update",
      [NXP_GROUP_MATMUL] = "matmul", [NXP_GROUP_CALL] = "call", [NXP_GROUP_SCATTER] = "scatter"};
  nxg_printer printer;
  if (!nxg_printer_init(&printer, g, out)) return;
  for (uint32_t i = 0; i < c->n_groups; i++) {
    const nxp_group *group = &c->groups[i];
    char name[64];
    nxp_group_name(g, group, name, sizeof name);
    bool named = nxp_group_is_kernel(group);
    nxi_text_add(out, "; group %u: %s%s%s over [", i, kinds[group->kind], named ? " @" : "",
                 named ? name : "");
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
