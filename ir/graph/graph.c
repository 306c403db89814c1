/* SPDX-License-Identifier: ISC */
/* The graph IR as data: the operation table, and the life and growth of graphs. A node's arrays
 * live in one piece of the graph's arena. Nothing here checks types; ir/graph/infer.c does, before
 * a node is added. */
#include "graph.h"

#include <stdio.h>
#include <string.h>

#include "control.h"

#define B        NXI_B
#define I        NXI_I
#define F        NXI_F
#define C        NXI_C
#define S        NXI_S
#define NXK_none -1
const nxg_op_info nxg_ops[NXG_OP_COUNT] = {
#define IS_MAP(kind) (NXG_KIND_##kind == NXG_KIND_MAP)
#define GOP(name, args, kind, kernel, admits, result) \
  {#name,                                             \
   args,                                              \
   NXG_KIND_##kind,                                   \
   admits,                                            \
   NXG_RESULT_##result,                               \
   IS_MAP(kind) ? (int)NXK_##kernel : -1,             \
   IS_MAP(kind) ? -1 : (int)NXK_##kernel},
#include "graph_ops.def"
#undef GOP
};
#undef B
#undef I
#undef F
#undef C
#undef S
#undef NXK_none
#undef IS_MAP

nxg_op nxg_op_from_name(const char *name, size_t length) {
  for (int op = 0; op < NXG_OP_COUNT; op++) {
    const char *row = nxg_ops[op].name;
    if (length && row[0] == name[0] && strlen(row) == length && !memcmp(row, name, length))
      return (nxg_op)op;
  }
  return NXG_OP_COUNT;
}

nxg_op nxg_op_of_scalar(nxk_op scalar) {
  int op = 0;
  while (op < NXG_OP_COUNT && nxg_ops[op].scalar != (int)scalar) op++;
  return (nxg_op)op;
}

nxg_graph *nxg_create(const char *name) {
  nxg_graph *g = nxi_calloc(1, sizeof *g);
  if (g && name) memcpy(g->name, name, strnlen(name, sizeof g->name - 1));
  return g;
}

void nxg_destroy(nxg_graph *g) {
  if (!g) return;
  nxi_free(g->nodes);
  nxi_free(g->inputs);
  nxi_free(g->outputs);
  for (uint32_t i = 0; i < g->n_bodies; i++) nxg_body_release(g->bodies[i]);
  nxi_free(g->bodies);
  nxi_arena_destroy(&g->arena);
  nxi_free(g);
}

/* Holds the bodies that a new node names. One that does not exist is a fault that the verifier
 * finds. */
static bool hold_bodies(nxg_graph *g, nxg_op op, const int64_t *attrs, uint32_t n_attrs) {
  uint32_t first, n = nxg_control_bodies(op, n_attrs, &first);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t known = 0;
    while (known < g->n_bodies && g->bodies[known] != attrs[first + i]) known++;
    if (known < g->n_bodies) continue;
    if (!nxi_grow(&g->bodies, &g->cap_bodies, g->n_bodies + 1, sizeof *g->bodies)) return false;
    if (nxg_body_hold(attrs[first + i])) g->bodies[g->n_bodies++] = attrs[first + i];
  }
  return true;
}

uint32_t nxg_add(nxg_graph *g, nxg_op op, uint32_t n_args, const uint32_t *args,
                 const int64_t *attrs, uint32_t n_attrs, nx_dtype dtype, int32_t rank,
                 const int64_t *shape) {
  size_t words = (size_t)rank + n_attrs,
         bytes = words * sizeof(int64_t) + n_args * sizeof(uint32_t);
  int64_t *piece = nxi_arena_alloc(&g->arena, bytes);
  bool held = !nxg_is_control(op) || hold_bodies(g, op, attrs, n_attrs);
  if (!piece || !held || g->n_nodes == UINT32_MAX - 1 ||
      !nxi_grow(&g->nodes, &g->cap_nodes, g->n_nodes + 1, sizeof *g->nodes)) {
    g->failed = true;
    return UINT32_MAX;
  }
  nxg_node *n = &g->nodes[g->n_nodes];
  *n = (nxg_node){.op = (uint16_t)op,
                  .dtype = (uint8_t)dtype,
                  .rank = (uint8_t)rank,
                  .n_args = n_args,
                  .n_attrs = n_attrs,
                  .origin = g->n_nodes,
                  .shape = piece,
                  .attrs = piece + rank,
                  .args = (uint32_t *)(piece + words)};
  if (rank) memcpy(n->shape, shape, (size_t)rank * sizeof *shape);
  if (n_attrs) memcpy(n->attrs, attrs, n_attrs * sizeof *attrs);
  if (n_args) memcpy(n->args, args, n_args * sizeof *args);
  if (op == NXG_full && n_attrs >= 2 && attrs[1] >= (int64_t)g->n_params)
    g->n_params = (uint32_t)attrs[1] + 1;
  return g->n_nodes++;
}

/* Copies the text into the graph's arena. Returns NULL if the text is NULL or memory is
 * exhausted. */
static const char *keep_text(nxg_graph *g, const char *text) {
  if (!text) return NULL;
  const char *kept = nxi_arena_copy(&g->arena, text, strlen(text) + 1);
  if (!kept) g->failed = true;
  return kept;
}

uint32_t nxg_add_input(nxg_graph *g, nx_dtype dtype, int32_t rank, const int64_t *shape,
                       uint32_t flags, int32_t alias, const char *name) {
  int64_t number = g->n_inputs;
  const char *kept = keep_text(g, name);
  if (g->failed || !nxi_grow(&g->inputs, &g->cap_inputs, g->n_inputs + 1, sizeof *g->inputs)) {
    g->failed = true;
    return UINT32_MAX;
  }
  uint32_t node = nxg_add(g, NXG_input, 0, NULL, &number, 1, dtype, rank, shape);
  if (node == UINT32_MAX) return node;
  g->nodes[node].name = kept;
  g->inputs[g->n_inputs++] = (nxg_input){node, flags, alias};
  return node;
}

bool nxg_set_tag(nxg_graph *g, uint32_t node, uint64_t number, const char *text) {
  size_t n = text ? strnlen(text, NXG_NOTE_MOST) : 0;
  /* memory from the arena is zeroed, so the text is terminated */
  char *kept = n ? nxi_arena_alloc(&g->arena, n + 1) : NULL;
  if (n && !kept) return false;
  if (n) memcpy(kept, text, n);
  g->nodes[node].tag = number;
  g->nodes[node].tag_text = kept;
  return true;
}

void nxg_add_output(nxg_graph *g, uint32_t node, const char *name) {
  const char *kept = keep_text(g, name);
  if (g->failed || !nxi_grow(&g->outputs, &g->cap_outputs, g->n_outputs + 1, sizeof *g->outputs)) {
    g->failed = true;
    return;
  }
  g->outputs[g->n_outputs++] = (nxg_output){node, kept};
}

bool nxg_is_bool_arithmetic(const nxg_node *n) {
  if (n->dtype != NX_BOOL) return false;
  switch ((int)n->op) {
    case NXG_add:
    case NXG_mul:
    case NXG_reduce_sum:
    case NXG_reduce_prod:
    case NXG_scan_sum:
    case NXG_scan_prod:
    case NXG_scan_max:
    case NXG_scan_min:
    case NXG_matmul: return true;
    case NXG_scatter: {
      nxi_scatter_mode mode = nxg_scatter_mode(n->attrs[1]);
      return mode > NXI_SCATTER_SET && mode < NXI_SCATTER_AND;
    }
    default: return false;
  }
}

void nxg_node_view(const nxg_graph *g, uint32_t node, nxg_view *v) {
  const nxg_node *n = &g->nodes[node];
  nxg_view_contiguous(v, n->rank, n->shape);
  if (n->op != NXG_view) return;
  v->offset = n->attrs[0];
  memcpy(v->strides, n->attrs + 1, n->rank * sizeof *v->strides);
}

int32_t nxg_reduce_runs(int32_t rank, const int64_t *shape, uint32_t mask, nxg_run *runs) {
  int32_t n = 0;
  bool open = false; /* the last axis before i whose size is not 1 is in runs[n - 1] */
  for (int32_t i = 0; i < rank; i++) {
    if (shape[i] == 1) continue;
    bool reduced = mask >> i & 1;
    if (reduced && open) runs[n - 1].axes |= 1u << i;
    if (reduced && !open) runs[n++] = (nxg_run){1u << i, NXK_ORDER_PLAIN};
    open = reduced;
  }
  if (open) runs[n - 1].order = NXK_ORDER_LANES;
  return n;
}
