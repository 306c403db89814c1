/* SPDX-License-Identifier: ISC */
/* NX_DEBUG=nan: after a run whose results hold a NaN, the graph is run again by the interpreter with every node as an
 * output, and the first one that makes a NaN from operands without one is named. */
#include "runtime/debug.h"
#include "runtime/place.h"

#include "ir/op.h"

static bool has_nan(const void *data, nx_dtype t, int64_t elements) {
  const char *at = data;
  elements *= nxi_parts(t);
  t = nxi_part_dtype(t);
  if (!nxi_is_float(t)) return false;
  for (int64_t i = 0; i < elements; i++, at += nxi_dtype_size(t)) {
    double x = nxi_f64_bits(nxi_cast_bits(nxi_load_element(at, t), t, NX_F64));
    if (x != x) return true;
  }
  return false;
}

static bool results_have_nan(const nxi_run *run) {
  for (uint32_t i = 0; i < run->n_outputs; i++) {
    const nxi_run_output *o = &run->outputs[i];
    const nxi_buffer *b = o->land ? o->land : o->buffer;
    if (b && nxi_buffer_to_host(run->context, (nxi_buffer *)b, NULL, NULL)) continue;
    if (b && has_nan(b->data, o->node->dtype, o->node->elements)) return true;
  }
  return false;
}

static void name_culprit(const nxg_graph *g, void *const *values) {
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    if (!has_nan(values[i], n->dtype, nxg_node_elements(n))) continue;
    bool given = n->op == NXG_input;
    for (uint32_t k = 0; k < n->n_args; k++) {
      const nxg_node *a = &g->nodes[n->args[k]];
      given |= has_nan(values[n->args[k]], a->dtype, nxg_node_elements(a));
    }
    if (given) continue;
    fprintf(stderr, "nx: NaN first made by node %u, %s\n", i, nxg_ops[n->op].name);
    return;
  }
  fputs("nx: NaN came in with an input\n", stderr);
}

void nxi_debug_nan(const nxi_run *run) {
  if (run->n_updates || !results_have_nan(run)) return; /* inputs may be overwritten by now */
  nxi_diag d;
  nxi_diag_clear(&d);
  nxg_graph *g = NULL;
  nxg_program *program = NULL;
  if (nxi_decode(run, false, &g, &d)) return;
  g->n_outputs = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++) nxg_add_output(g, i, NULL);
  void **values = nxi_calloc(g->n_nodes, sizeof *values);
  bool good = values && !g->failed && !nxg_program_create(g, &program, &d);
  for (uint32_t i = 0; good && i < g->n_nodes; i++) {
    values[i] =
        nxi_malloc((size_t)nxi_dtype_bytes(g->nodes[i].dtype, nxg_node_elements(&g->nodes[i])));
    good = values[i] != NULL;
  }
  if (good && !nxg_program_run(program, run->pointers, run->params, NULL, values, &d))
    name_culprit(g, values);
  for (uint32_t i = 0; values && i < g->n_nodes; i++) nxi_free(values[i]);
  nxi_free(values);
  nxg_program_destroy(program);
  nxg_destroy(g);
}
