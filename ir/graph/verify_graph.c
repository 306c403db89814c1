/* SPDX-License-Identifier: ISC */
/* The verifier of graphs. It checks everything that the rest of the library assumes, collects all
 * faults, and prints the graph with each fault under the line of its node. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ir/text/graph_text.h"

/* A fault, and the node after whose line it is printed; UINT32_MAX: after the first line. */
typedef struct fault {
  uint32_t node;
  char message[200];
} fault;

typedef struct verifier {
  const nxg_graph *g;
  fault *faults;
  uint32_t n_faults, cap_faults;
  nxg_type *types;
  uint32_t cap_types;
  bool no_memory;
} verifier;

__attribute__((format(printf, 3, 4))) static void add_fault(verifier *v, uint32_t node,
                                                            const char *format, ...) {
  if (!nxi_grow(&v->faults, &v->cap_faults, v->n_faults + 1, sizeof *v->faults)) {
    v->no_memory = true;
    return;
  }
  fault *f = &v->faults[v->n_faults++];
  f->node = node;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(f->message, sizeof f->message, format, arguments);
  va_end(arguments);
}

/* True if the node's operands exist and come before it. */
static bool check_operands(verifier *v, uint32_t i) {
  const nxg_node *n = &v->g->nodes[i];
  bool ok = true;
  for (uint32_t k = 0; k < n->n_args; k++) {
    if (n->args[k] < i) continue;
    add_fault(v, i, "operand %u is node %u, which does not come before node %u", k, n->args[k], i);
    ok = false;
  }
  if (ok && n->op == NXG_update && n->n_args == 3 && v->g->nodes[n->args[2]].op != NXG_input) {
    add_fault(v, i, "operand 2 of update is not an input");
    ok = false;
  }
  return ok;
}

/* Checks that the node has the type that nxg_infer gives for its operands and attributes. */
static void check_type(verifier *v, uint32_t i) {
  const nxg_node *n = &v->g->nodes[i];
  int64_t shape[NXG_MAX_RANK];
  int32_t rank = n->rank;
  nx_dtype dtype = 0;
  nxi_diag d;
  nxi_diag_clear(&d);
  memcpy(shape, n->shape, n->rank * sizeof *shape);
  if (n->n_args && !nxi_grow(&v->types, &v->cap_types, n->n_args, sizeof *v->types)) {
    v->no_memory = true;
    return;
  }
  for (uint32_t k = 0; k < n->n_args; k++) {
    const nxg_node *a = &v->g->nodes[n->args[k]];
    v->types[k] = (nxg_type){a->dtype, a->rank, a->shape};
  }
  if (nxg_infer((nxg_op)n->op, n->n_args, v->types, n->attrs, n->n_attrs, n->dtype, &dtype, &rank,
                shape, &d)) {
    add_fault(v, i, "%s", d.message);
  } else if (dtype != n->dtype || !nxg_same_shape(rank, shape, n->rank, n->shape)) {
    char text[NXG_SHAPE_TEXT];
    add_fault(v, i, "its operands give it the type %s%s", nxi_dtypes[dtype].name,
              nxg_format_shape(text, rank, shape));
  }
  if (n->op == NXG_full && n->n_attrs == 2 && n->attrs[1] >= (int64_t)v->g->n_params)
    add_fault(v, i, "the graph has %u parameters", v->g->n_params);
  bool listed = n->op != NXG_input ||
                (n->n_attrs == 1 && n->attrs[0] >= 0 && n->attrs[0] < (int64_t)v->g->n_inputs &&
                 v->g->inputs[n->attrs[0]].node == i);
  if (!listed) add_fault(v, i, "the graph's inputs do not list this one under its number");
}

static void check_node(verifier *v, uint32_t i) {
  const nxg_node *n = &v->g->nodes[i];
  if (n->op >= NXG_OP_COUNT) add_fault(v, i, "%u is no operation", n->op);
  else if (n->rank > NXG_MAX_RANK) add_fault(v, i, "its rank is %u", n->rank);
  else if (check_operands(v, i)) check_type(v, i);
}

static void check_tables(verifier *v) {
  const nxg_graph *g = v->g;
  if (g->failed) add_fault(v, UINT32_MAX, "memory was exhausted while it was built");
  for (uint32_t i = 0; i < g->n_inputs; i++)
    if (g->inputs[i].node >= g->n_nodes || g->nodes[g->inputs[i].node].op != NXG_input)
      add_fault(v, UINT32_MAX, "input %u is no input node", i);
  for (uint32_t i = 0; i < g->n_outputs; i++)
    if (g->outputs[i].node >= g->n_nodes) add_fault(v, UINT32_MAX, "output %u is no node", i);
}

static void print_faults(const verifier *v, nxi_text *out) {
  nxg_printer p;
  if (!nxg_printer_init(&p, v->g, out)) return;
  uint32_t at = 0;
  nxg_print_version(out);
  nxg_print_head(&p, v->g->name);
  for (; at < v->n_faults && v->faults[at].node == UINT32_MAX; at++)
    nxi_text_add(out, "  ; fault: %s\n", v->faults[at].message);
  for (uint32_t i = 0; i < v->g->n_nodes; i++) {
    bool faulty = at < v->n_faults && v->faults[at].node == i;
    if (v->g->nodes[i].op != NXG_input || faulty) nxg_print_node(&p, i);
    for (; at < v->n_faults && v->faults[at].node == i; at++)
      nxi_text_add(out, "  ; fault: %s\n", v->faults[at].message);
  }
  nxi_text_put(out, "}\n", 2);
  nxg_printer_free(&p);
}

bool nxg_verify(const nxg_graph *g, nxi_text *out) {
  verifier v = {.g = g};
  check_tables(&v);
  for (uint32_t i = 0; i < g->n_nodes; i++) check_node(&v, i);
  if (v.n_faults && out) print_faults(&v, out);
  if (v.no_memory && out) out->failed = true;
  bool ok = !v.n_faults && !v.no_memory;
  nxi_free(v.faults);
  nxi_free(v.types);
  return ok;
}
