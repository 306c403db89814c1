/* SPDX-License-Identifier: ISC */
/* After a gather or scatter has failed: the value of the first index that is out of range, its
 * place, and the extent. A kernel that checks indices returns only a position, so the interpreter
 * computes the indices again. All inputs of the run are still available, because nothing is
 * overwritten before all indices have been checked. If that would be much work, only the position
 * is reported. */
#include <stdio.h>
#include <string.h>

#include "ir/interp/interp.h"
#include "passes/graph/passes.h"
#include "runtime/device.h"
#include "runtime/debug.h"
#include "runtime/record/context.h"

enum { MOST_WORK = 1 << 24 };

/* The part of the run's graph that computes the indices. *extent: the extent of the axis that they
 * select from. NULL: there is none. */
static nxg_graph *graph_of_indices(const nxi_run *run, int32_t origin, int64_t *extent) {
  nxi_diag d;
  nxi_diag_clear(&d);
  nxg_graph *g = NULL, *small = NULL;
  bool changed, found = false;
  if (nxi_decode(run, true, &g, &d)) return NULL;
  g->n_outputs = 0;
  for (uint32_t i = 0; i < g->n_nodes && !found; i++) {
    const nxg_node *n = &g->nodes[i];
    if ((int32_t)n->origin != origin || (n->op != NXG_gather && n->op != NXG_scatter)) continue;
    uint32_t indices = n->args[1];
    *extent = g->nodes[n->args[0]].shape[n->attrs[0]];
    const nxg_node *of = &g->nodes[indices];
    uint32_t copy = nxg_add(g, NXG_copy, 1, &indices, NULL, 0, of->dtype, of->rank, of->shape);
    if (copy != UINT32_MAX) nxg_add_output(g, copy, NULL);
    found = copy != UINT32_MAX && !g->failed;
  }
  if (found && nxg_pass_dce(g, &small, &changed, &d) == NX_OK && small == g) return g;
  nxg_destroy(g);
  return small;
}

static void say_index(nxi_diag *d, const nxg_node *n, const void *values, int64_t extent) {
  char place[NXG_SHAPE_TEXT];
  int64_t at[NXG_MAX_RANK], element = 0, value = 0, elements = nxg_node_elements(n);
  for (; element < elements; element++) {
    value = (int64_t)nxi_load_at(values, n->dtype, element);
    if (n->dtype == NX_I32) value = (int32_t)value;
    if (value < -extent || value >= extent) break;
  }
  if (element == elements) return;
  for (int32_t i = n->rank; i-- > 0; element /= n->shape[i]) at[i] = element % n->shape[i];
  size_t said = strlen(d->message);
  snprintf(d->message + said, sizeof d->message - said,
           ": index %lld at position %s, the extent is %lld", (long long)value,
           nxg_format_shape(place, n->rank, at), (long long)extent);
}

void nxi_explain_index(const nxi_run *run, nxi_diag *d) {
  nxi_diag own;
  int64_t extent = 0;
  nxg_program *program = NULL;
  if (d->status != NX_INDEX_OUT_OF_RANGE || d->node < 0) return;
  if (nxi_device_kind_of(run->context, run->device)->own_memory) return;
  nxi_diag_clear(&own);
  nxg_graph *g = graph_of_indices(run, d->node, &extent);
  void *values = NULL;
  if (g != NULL && nxp_program_create(g, &program, &own) == NX_OK &&
      nxg_program_work(program) <= MOST_WORK) {
    const nxg_node *n = &g->nodes[g->outputs[0].node];
    values = nxi_malloc((size_t)nxi_dtype_bytes(n->dtype, nxg_node_elements(n)));
    if (values != NULL &&
        !nxg_program_run(program, run->pointers, run->params, NULL, &values, &own))
      say_index(d, n, values, extent);
  }
  nxi_free(values);
  nxg_program_destroy(program);
  nxg_destroy(g);
}
