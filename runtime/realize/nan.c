/* SPDX-License-Identifier: ISC */
/* NX_DEBUG=nan: after a run whose results hold a NaN, the graph is run again by the interpreter
 * with every node as an output, and the first one that makes a NaN from operands without one is
 * named: with its name or number in the text of the graph, its tag, the first element that is a
 * NaN, and what its operands hold there. */
#include <stdio.h>

#include "ir/op.h"
#include "ir/text/graph_text.h"
#include "residency.h"
#include "ir/library/custom.h"
#include "runtime/debug.h"
#include "runtime/record/error.h"
#include "passes/graph/passes.h"

/* The first element that is NaN, or that is not finite; a complex number is if either part is. -1:
 * there is none. */
static int64_t find_odd(const void *data, nx_dtype t, int64_t elements, bool only_nan) {
  const char *at = data;
  int64_t parts = nxi_parts(t);
  t = nxi_part_dtype(t);
  if (!nxi_is_float(t)) return -1;
  for (int64_t i = 0; i < elements * parts; i++, at += nxi_dtype_size(t)) {
    double x = nxi_f64_bits(nxi_cast_bits(nxi_load_element(at, t), t, NX_F64));
    if (only_nan ? x != x : x - x != 0) return i / parts;
  }
  return -1;
}

static bool has_nan(const void *data, nx_dtype t, int64_t elements) {
  return find_odd(data, t, elements, true) >= 0;
}

static bool results_have_nan(const nxi_run *run) {
  for (uint32_t i = 0; i < run->n_outputs; i++) {
    const nxi_run_output *o = &run->outputs[i];
    const nxi_buffer *b = o->destination ? o->destination : o->buffer;
    if (b && nxi_buffer_to_host(run->context, (nxi_buffer *)b, NULL, NULL)) continue;
    if (b && has_nan(b->data, o->node->dtype, o->node->elements)) return true;
  }
  return false;
}

/* " at [1,2]" */
static void say_place(nxi_text *out, const nxg_node *n, int64_t element) {
  int64_t index[NXG_MAX_RANK];
  if (n->rank == 0) return;
  for (int32_t i = n->rank; i-- > 0; element /= n->shape[i]) index[i] = element % n->shape[i];
  nxi_text_add(out, " at ");
  for (int32_t i = 0; i < n->rank; i++)
    nxi_text_add(out, "%s%lld", i ? "," : "[", (long long)index[i]);
  nxi_text_add(out, "]");
}

static void say_element(nxi_text *out, const nxg_node *n, const void *data, int64_t element) {
  if (nxi_is_complex(n->dtype))
    nxi_print_element(out, n->dtype, (const char *)data + element * nxi_dtype_size(n->dtype));
  else nxi_print_scalar(out, n->dtype, nxi_load_at(data, n->dtype, element));
}

/* Describes operand k: for an elementwise operation the value at the same place, else the first
 * value that is not finite. */
static void say_operand(nxg_printer *p, const nxg_node *n, uint32_t k, int64_t element,
                        void *const *values) {
  nxi_text *out = p->out;
  const nxg_node *a = &p->g->nodes[n->args[k]];
  const void *data = values[n->args[k]];
  bool same = nxg_ops[n->op].kind == NXG_KIND_MAP;
  int64_t at = same ? element : find_odd(data, a->dtype, nxg_node_elements(a), false);
  nxi_text_add(out, "%s ", k ? "," : "; operands:");
  nxg_print_label(p, n->args[k]);
  if (at < 0) {
    nxi_text_add(out, " is finite");
    return;
  }
  nxi_text_add(out, same ? " = " : " holds ");
  say_element(out, a, data, at);
  if (!same) say_place(out, a, at);
}

/* The graph's own outputs, before every node is made an output. */
typedef struct own_outputs {
  nxg_output *items;
  uint32_t n;
} own_outputs;

static void say_node(nxi_text *out, const nxg_graph *g, const own_outputs *own, uint32_t i,
                     void *const *values) {
  enum { MOST_OPERANDS = 8 };
  const nxg_node *n = &g->nodes[i];
  int64_t element = find_odd(values[i], n->dtype, nxg_node_elements(n), true);
  nxg_printer p;
  nxi_text_add(out, "nx: NaN first made by node %u, %s", i,
               n->called ? nxi_op_name(n->called) : nxg_ops[n->op].name);
  if (n->called) nxi_text_add(out, " (its %s)", nxg_ops[n->op].name);
  if (!nxg_printer_init(&p, g, out)) return;
  nxi_text_add(out, ": ");
  nxg_print_label(&p, i);
  nxi_text_add(out, ": ");
  nxg_print_type(out, n->dtype, n->rank, n->shape);
  say_place(out, n, element);
  for (uint32_t k = 0; k < own->n; k++)
    if (own->items[k].node == i && own->items[k].name)
      nxi_text_add(out, ", output %s", own->items[k].name);
  if (n->tag || n->tag_text) nxi_text_add(out, ", tag %llu", (unsigned long long)n->tag);
  if (n->tag_text) nxi_text_add(out, " \"%s\"", n->tag_text);
  for (uint32_t k = 0; k < n->n_args && k < MOST_OPERANDS; k++)
    say_operand(&p, n, k, element, values);
  nxg_printer_free(&p);
}

static void name_culprit(const nxg_graph *g, const own_outputs *own, void *const *values) {
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    if (!has_nan(values[i], n->dtype, nxg_node_elements(n))) continue;
    bool given = n->op == NXG_input;
    for (uint32_t k = 0; k < n->n_args; k++) {
      const nxg_node *a = &g->nodes[n->args[k]];
      given |= has_nan(values[n->args[k]], a->dtype, nxg_node_elements(a));
    }
    if (given) continue;
    nxi_text text = {0};
    say_node(&text, g, own, i, values);
    if (text.data) fprintf(stderr, "%s\n", text.data);
    nxi_text_free(&text);
    return;
  }
  fputs("nx: NaN came in with an input\n", stderr);
}

void nxi_debug_nan(const nxi_run *run) {
  for (uint32_t i = 0; i < run->n_outputs; i++)
    if (run->outputs[i].in_place_of >= 0) return; /* inputs are overwritten by now */
  if (!results_have_nan(run)) return;
  nxi_diag d;
  nxi_diag_clear(&d);
  nxg_graph *g = NULL;
  nxg_program *program = NULL;
  if (nxi_decode(run, true, &g, &d)) return;
  own_outputs own = {g->outputs, g->n_outputs};
  g->outputs = NULL;
  g->n_outputs = g->cap_outputs = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++) nxg_add_output(g, i, NULL);
  void **values = nxi_calloc(g->n_nodes, sizeof *values);
  bool again = !nxg_has_custom(g);
  if (!again)
    fputs("nx: NaN in a run with custom operations, which are not called again\n", stderr);
  bool good = again && values && !g->failed && !nxp_program_create(g, &program, &d);
  for (uint32_t i = 0; good && i < g->n_nodes; i++) {
    values[i] =
        nxi_malloc((size_t)nxi_dtype_bytes(g->nodes[i].dtype, nxg_node_elements(&g->nodes[i])));
    good = values[i] != NULL;
  }
  if (good && !nxg_program_run(program, run->pointers, run->params, NULL, values, &d))
    name_culprit(g, &own, values);
  for (uint32_t i = 0; values && i < g->n_nodes; i++) nxi_free(values[i]);
  nxi_free(values);
  nxg_program_destroy(program);
  nxg_destroy(g);
  nxi_free(own.items);
}
