/* SPDX-License-Identifier: ISC */
/* Walking one graph while writing another: see graph_rewrite.h. */
#include "graph_rewrite.h"

#include <string.h>

static void free_tables(nxg_rewrite *r) {
  nxi_free(r->map);
  nxi_free(r->args);
  r->map = r->args = NULL;
}

nx_status nxg_rewrite_begin(nxg_rewrite *r, const nxg_graph *from, nxi_diag *d) {
  uint32_t most = 1;
  for (uint32_t i = 0; i < from->n_nodes; i++)
    most = from->nodes[i].n_args > most ? from->nodes[i].n_args : most;
  *r = (nxg_rewrite){.from = from, .to = nxg_create(from->name)};
  r->map = nxi_malloc(((size_t)from->n_nodes + 1) * sizeof *r->map);
  r->args = nxi_malloc(most * sizeof *r->args);
  if (r->to == NULL || r->map == NULL || r->args == NULL) {
    nxg_destroy(r->to);
    free_tables(r);
    return nxi_oom(d);
  }
  memset(r->map, 0xff, ((size_t)from->n_nodes + 1) * sizeof *r->map);
  for (uint32_t i = 0; i < from->n_inputs; i++) {
    const nxg_input *in = &from->inputs[i];
    const nxg_node *n = &from->nodes[in->node];
    r->map[in->node] =
        nxg_add_input(r->to, n->dtype, n->rank, n->shape, in->flags, in->alias, n->name);
  }
  r->to->n_params = from->n_params;
  return NX_OK;
}

uint32_t nxg_rewrite_add(nxg_rewrite *r, uint32_t i, nxg_op op, uint32_t n_args,
                         const uint32_t *args, const int64_t *attrs, uint32_t n_attrs,
                         nx_dtype dtype, int32_t rank, const int64_t *shape) {
  if (r->to->failed) return UINT32_MAX;
  uint32_t node = nxg_add(r->to, op, n_args, args, attrs, n_attrs, dtype, rank, shape);
  if (node == UINT32_MAX) return node;
  const nxg_node *old = &r->from->nodes[i];
  nxg_node *n = &r->to->nodes[node];
  n->tag = old->tag;
  if (old->tag_text != NULL)
    n->tag_text = nxi_arena_copy(&r->to->arena, old->tag_text, strlen(old->tag_text) + 1);
  return node;
}

uint32_t nxg_rewrite_copy(nxg_rewrite *r, uint32_t i) {
  const nxg_node *n = &r->from->nodes[i];
  if (n->op == NXG_input) return r->map[i];
  for (uint32_t a = 0; a < n->n_args; a++) r->args[a] = r->map[n->args[a]];
  r->map[i] = nxg_rewrite_add(r, i, (nxg_op)n->op, n->n_args, r->args, n->attrs, n->n_attrs,
                              n->dtype, n->rank, n->shape);
  if (r->map[i] != UINT32_MAX && n->name != NULL)
    r->to->nodes[r->map[i]].name = nxi_arena_copy(&r->to->arena, n->name, strlen(n->name) + 1);
  return r->map[i];
}

nx_status nxg_rewrite_end(nxg_rewrite *r, nxg_graph **out, bool *changed, nxi_diag *d) {
  for (uint32_t i = 0; i < r->from->n_outputs && !r->to->failed; i++)
    nxg_add_output(r->to, r->map[r->from->outputs[i].node], r->from->outputs[i].name);
  free_tables(r);
  if (r->to->failed) {
    nxg_destroy(r->to);
    return nxi_oom(d);
  }
  if (changed != NULL) *changed = r->changed;
  *out = r->to;
  return NX_OK;
}
