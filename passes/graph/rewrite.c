/* SPDX-License-Identifier: ISC */
/* Walking one graph while writing another: see graph/rewrite.h. */
#include "rewrite.h"

#include <string.h>

static void free_tables(nxg_rewrite *r) {
  nxi_free(r->map);
  nxi_free(r->args);
  r->map = r->args = NULL;
}

/* In a new graph the inputs come first, in their order. If they do so in the old graph already,
 * nodes can keep their numbers. */
static bool inputs_lead(const nxg_graph *g) {
  for (uint32_t i = 0; i < g->n_inputs; i++)
    if (g->inputs[i].node != i) return false;
  return true;
}

/* Makes the new graph, with the inputs alone. */
static bool own_graph(nxg_rewrite *r) {
  const nxg_graph *from = r->from;
  nxg_graph *g = nxg_create(from->name);
  if (g == NULL || !nxi_grow(&g->nodes, &g->cap_nodes, from->n_nodes, sizeof *g->nodes)) {
    nxg_destroy(g);
    return false;
  }
  for (uint32_t i = 0; i < from->n_inputs; i++) {
    const nxg_input *in = &from->inputs[i];
    const nxg_node *n = &from->nodes[in->node];
    r->map[in->node] = nxg_add_input(g, n->dtype, n->rank, n->shape, in->flags, in->alias, n->name);
  }
  g->n_params = from->n_params;
  r->to = r->own = g;
  return true;
}

nx_status nxg_rewrite_begin(nxg_rewrite *r, const nxg_graph *from, nxi_diag *d) {
  uint32_t most = 1;
  for (uint32_t i = 0; i < from->n_nodes; i++)
    most = from->nodes[i].n_args > most ? from->nodes[i].n_args : most;
  *r = (nxg_rewrite){.from = from, .to = from, .d = d};
  r->map = nxi_malloc(((size_t)from->n_nodes + 1) * sizeof *r->map);
  r->args = nxi_malloc(most * sizeof *r->args);
  bool good = r->map != NULL && r->args != NULL;
  if (good) memset(r->map, 0xff, ((size_t)from->n_nodes + 1) * sizeof *r->map);
  if (good && inputs_lead(from)) {
    for (uint32_t i = 0; i < from->n_inputs; i++) r->map[i] = i;
    r->passed = from->n_inputs;
  } else {
    good = good && own_graph(r);
  }
  if (good) return NX_OK;
  free_tables(r);
  return nxi_oom(d);
}

static void copy_text(nxg_rewrite *r, const char **to, const char *text) {
  if (text == NULL) return;
  *to = nxi_arena_copy(&r->own->arena, text, strlen(text) + 1);
  r->failed = r->failed || *to == NULL;
}

static uint32_t append(nxg_rewrite *r, uint32_t i, nxg_op op, uint32_t n_args, const uint32_t *args,
                       const int64_t *attrs, uint32_t n_attrs, nx_dtype dtype, int32_t rank,
                       const int64_t *shape) {
  uint32_t node = nxg_add(r->own, op, n_args, args, attrs, n_attrs, dtype, rank, shape);
  if (node == UINT32_MAX) return node;
  const nxg_node *old = &r->from->nodes[i];
  r->own->nodes[node].tag = old->tag;
  r->own->nodes[node].origin = old->origin;
  copy_text(r, &r->own->nodes[node].tag_text, old->tag_text);
  return node;
}

static void copy_node(nxg_rewrite *r, uint32_t i) {
  const nxg_node *n = &r->from->nodes[i];
  for (uint32_t a = 0; a < n->n_args; a++) r->args[a] = r->map[n->args[a]];
  r->map[i] = append(r, i, (nxg_op)n->op, n->n_args, r->args, n->attrs, n->n_attrs, n->dtype,
                     n->rank, n->shape);
  if (r->map[i] != UINT32_MAX) copy_text(r, &r->own->nodes[r->map[i]].name, n->name);
}

bool nxg_rewrite_own(nxg_rewrite *r) {
  if (r->own == NULL) {
    r->failed = r->failed || !own_graph(r);
    for (uint32_t i = r->from->n_inputs; i < r->passed && !r->failed; i++) copy_node(r, i);
  }
  return !r->failed && !r->own->failed;
}

uint32_t nxg_rewrite_add(nxg_rewrite *r, uint32_t i, nxg_op op, uint32_t n_args,
                         const uint32_t *args, const int64_t *attrs, uint32_t n_attrs,
                         nx_dtype dtype, int32_t rank, const int64_t *shape) {
  if (!nxg_rewrite_own(r)) return UINT32_MAX;
  return append(r, i, op, n_args, args, attrs, n_attrs, dtype, rank, shape);
}

uint32_t nxg_rewrite_copy(nxg_rewrite *r, uint32_t i) {
  if (r->from->nodes[i].op == NXG_input) return r->map[i];
  if (r->own == NULL) {
    r->passed = i + 1;
    return r->map[i] = i;
  }
  if (nxg_rewrite_own(r)) copy_node(r, i);
  return r->map[i];
}

uint32_t nxg_rewrite_copy_of(nxg_rewrite *r, uint32_t i, uint32_t node) {
  const nxg_node n = r->to->nodes[node];
  int64_t shape[NXG_MAX_RANK];
  for (int32_t a = 0; a < n.rank; a++) shape[a] = n.shape[a];
  r->changed = true;
  return nxg_rewrite_add(r, i, NXG_copy, 1, &node, NULL, 0, n.dtype, n.rank, shape);
}

uint32_t nxg_rewrite_whole(nxg_rewrite *r, uint32_t i, uint32_t node) {
  return r->to->nodes[node].op == NXG_view ? nxg_rewrite_copy_of(r, i, node) : node;
}

bool *nxg_read_by_products(const nxg_graph *g) {
  bool *read = nxi_calloc(g->n_nodes, sizeof *read);
  for (uint32_t i = 0; read != NULL && i < g->n_nodes; i++)
    for (uint32_t a = 0; g->nodes[i].op == NXG_matmul && a < 2; a++) {
      uint32_t node = g->nodes[i].args[a];
      while (g->nodes[node].op == NXG_view) node = g->nodes[node].args[0];
      read[node] = nxi_is_float(g->nodes[i].dtype);
    }
  return read;
}

void nxg_rewrite_map(nxg_rewrite *r, uint32_t i, uint32_t node) {
  nxg_rewrite_own(r);
  r->map[i] = node;
}

void nxg_rewrite_drop(nxg_rewrite *r, uint32_t i) {
  if (r->from->nodes[i].op == NXG_input) return;
  nxg_rewrite_own(r);
  r->changed = true;
}

nx_status nxg_rewrite_end(nxg_rewrite *r, nxg_graph **out, bool *changed) {
  for (uint32_t i = 0; r->own != NULL && i < r->from->n_outputs && !r->own->failed; i++)
    nxg_add_output(r->own, r->map[r->from->outputs[i].node], r->from->outputs[i].name);
  free_tables(r);
  if (r->failed || r->to->failed) {
    nxg_destroy(r->own);
    return nxi_oom(r->d);
  }
  if (changed != NULL) *changed = r->changed;
  *out = (nxg_graph *)r->to;
  return NX_OK;
}
