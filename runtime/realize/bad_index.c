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

/* What the indices address. */
typedef struct addressed {
  int64_t extent;       /* of the axis that they select from */
  bool starts;          /* they are starts of windows, */
  int64_t axis, window; /* along this axis of something, of this extent */
} addressed;

static addressed addressed_by(const nxg_graph *g, const nxg_node *n) {
  const int64_t *shape = n->op == NXG_scatter ? nxg_scatter_shape(n) : g->nodes[n->args[0]].shape;
  addressed a = {.extent = shape[n->attrs[0]]};
  a.starts = n->op == NXG_gather && nxg_gathers_starts(n);
  if (a.starts) a.axis = n->attrs[1], a.window = n->attrs[2];
  return a;
}

/* The part of the run's graph that computes the indices. NULL: there is none. */
static nxg_graph *graph_of_indices(const nxi_run *run, int32_t origin, addressed *of) {
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
    *of = addressed_by(g, n);
    const nxg_node *x = &g->nodes[indices];
    uint32_t copy = nxg_add(g, NXG_copy, 1, &indices, NULL, 0, x->dtype, x->rank, x->shape);
    if (copy != UINT32_MAX) nxg_add_output(g, copy, NULL);
    found = copy != UINT32_MAX && !g->failed;
  }
  if (found && nxg_pass_dce(g, &small, &changed, &d) == NX_OK && small == g) return g;
  nxg_destroy(g);
  return small;
}

static void say_index(nxi_diag *d, const nxg_node *n, const void *values, const addressed *of) {
  char place[NXG_SHAPE_TEXT];
  int64_t at[NXG_MAX_RANK], element = 0, value = 0, elements = nxg_node_elements(n),
                            lowest = of->starts ? 0 : -of->extent;
  for (; element < elements; element++) {
    value = (int64_t)nxi_load_at(values, n->dtype, element);
    if (n->dtype == NX_I32) value = (int32_t)value;
    if (value < lowest || value >= of->extent) break;
  }
  if (element == elements) return;
  for (int32_t i = n->rank; i-- > 0; element /= n->shape[i]) at[i] = element % n->shape[i];
  size_t said = strlen(d->message);
  char *end = d->message + said;
  size_t room = sizeof d->message - said;
  nxg_format_shape(place, n->rank, at);
  if (of->starts)
    snprintf(end, room, ": start %lld of axis %lld, at position %s, for %lld of %lld elements",
             (long long)value, (long long)of->axis, place, (long long)of->window,
             (long long)(of->extent + of->window - 1));
  else
    snprintf(end, room, ": index %lld at position %s, the extent is %lld", (long long)value, place,
             (long long)of->extent);
}

void nxi_explain_index(const nxi_run *run, nxi_diag *d) {
  nxi_diag own;
  addressed of = {0};
  nxg_program *program = NULL;
  if (d->status != NX_INDEX_OUT_OF_RANGE || d->node < 0) return;
  if (nxi_device_kind_of(run->context, run->device)->own_memory) return;
  nxi_diag_clear(&own);
  nxg_graph *g = graph_of_indices(run, d->node, &of);
  void *values = NULL;
  if (g != NULL && nxp_program_create(g, &program, &own) == NX_OK &&
      nxg_program_work(program) <= MOST_WORK) {
    const nxg_node *n = &g->nodes[g->outputs[0].node];
    values = nxi_malloc((size_t)nxi_dtype_bytes(n->dtype, nxg_node_elements(n)));
    if (values != NULL &&
        !nxg_program_run(program, run->pointers, run->params, NULL, &values, &own))
      say_index(d, n, values, &of);
  }
  nxi_free(values);
  nxg_program_destroy(program);
  nxg_destroy(g);
}
