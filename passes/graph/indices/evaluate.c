/* SPDX-License-Identifier: ISC */
/* Integers that a graph computes of constants alone, such as the numbers of the elements that an
 * image is resized or padded from: the interpreter evaluates them while the plan is made. They are
 * few, and so are the operations that they take. */
#include "evaluate.h"

#include "ir/alloc.h"
#include "ir/op.h"

enum { MOST_NODES = 48 };

/* The nodes that one is computed of, itself included, in no order. */
typedef struct sources {
  uint32_t n, node[MOST_NODES];
} sources;

static bool has(const sources *s, uint32_t node) {
  for (uint32_t i = 0; i < s->n; i++)
    if (s->node[i] == node) return true;
  return false;
}

static bool is_simple(const nxg_node *n) {
  const nxg_kind kind = (nxg_kind)nxg_ops[n->op].kind;
  if (!nxi_is_element((nx_dtype)n->dtype) || nxg_node_elements(n) > NXG_MOST_EVALUATED)
    return false;
  if (n->op == NXG_full) return n->attrs[1] < 0;
  return n->op == NXG_arange || n->op == NXG_copy || kind == NXG_KIND_VIEW ||
         (kind == NXG_KIND_MAP && nxg_ops[n->op].scalar >= 0);
}

static bool find_sources(const nxg_graph *g, uint32_t node, sources *s) {
  s->n = 0;
  s->node[s->n++] = node;
  for (uint32_t i = 0; i < s->n; i++) {
    const nxg_node *n = &g->nodes[s->node[i]];
    if (!is_simple(n)) return false;
    for (uint32_t a = 0; a < n->n_args; a++) {
      if (has(s, n->args[a])) continue;
      if (s->n == MOST_NODES) return false;
      s->node[s->n++] = n->args[a];
    }
  }
  return true;
}

static uint32_t place_of(const sources *s, uint32_t node) {
  uint32_t below = 0;
  for (uint32_t i = 0; i < s->n; i++) below += s->node[i] < node;
  return below;
}

/* The sources alone, operands first. NULL without memory. */
static nxg_graph *graph_of(const nxg_graph *g, sources *s) {
  uint32_t sorted[MOST_NODES] = {0}, args[8];
  nxg_graph *out = nxg_create("constants");
  for (uint32_t i = 0; i < s->n; i++) sorted[place_of(s, s->node[i])] = s->node[i];
  for (uint32_t i = 0; i < s->n && out != NULL; i++) {
    const nxg_node *n = &g->nodes[sorted[i]];
    for (uint32_t a = 0; a < n->n_args; a++) args[a] = place_of(s, n->args[a]);
    nxg_add(out, (nxg_op)n->op, n->n_args, args, n->attrs, n->n_attrs, (nx_dtype)n->dtype, n->rank,
            n->shape);
  }
  if (out != NULL) nxg_add_output(out, s->n - 1, NULL);
  if (out == NULL || !out->failed) return out;
  nxg_destroy(out);
  return NULL;
}

static bool run(const nxg_graph *g, void *values) {
  nxi_diag d;
  nxg_program *program = NULL;
  nxi_diag_clear(&d);
  const nxi_fp saved = nxi_fp_enter();
  const bool good = nxg_program_create(g, &program, &d) == NX_OK &&
                    nxg_program_run(program, NULL, NULL, NULL, &values, &d) == NX_OK;
  nxi_fp_leave(saved);
  nxg_program_destroy(program);
  return good;
}

int64_t nxg_evaluate_integers(const nxg_graph *g, uint32_t node, int64_t *out) {
  sources s;
  const nxg_node *n = &g->nodes[node];
  const nx_dtype t = (nx_dtype)n->dtype;
  uint64_t values[NXG_MOST_EVALUATED];
  if (!nxi_is_integer(t) || !find_sources(g, node, &s)) return 0;
  nxg_graph *own = graph_of(g, &s);
  const int64_t elements = own != NULL && run(own, values) ? nxg_node_elements(n) : 0;
  nxg_destroy(own);
  for (int64_t i = 0; i < elements; i++)
    out[i] = nxg_integer_of(t, (int64_t)nxi_load_at(values, t, i));
  return elements;
}
