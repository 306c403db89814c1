/* SPDX-License-Identifier: ISC */
/* Custom operations as library calls: their types, and the one task that calls the function. */
#include "custom.h"

#include <string.h>

#include "ir/graph/body.h"
#include "library_types.h"

const nxg_custom *nxg_customs_find(const nxg_customs *all, const char *name) {
  for (size_t i = 0; all && i < all->n; i++)
    if (!strcmp(all->items[i]->name, name)) return all->items[i];
  return NULL;
}

bool nxg_has_custom(const nxg_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == NXG_custom) return true;
  for (uint32_t i = 0; i < g->n_bodies; i++)
    if (nxg_body_find(g->bodies[i])->has_custom) return true;
  return false;
}

static nx_status bad_operand(const nxg_custom *f, uint32_t i, const nxg_array *is, nxi_diag *d) {
  char given[NXG_SHAPE_TEXT], wanted[NXG_SHAPE_TEXT];
  const nxg_array *w = &f->operands[i];
  const nx_dtype seen = f->seen_operands[i], got = is->dtype == w->dtype ? seen : is->dtype;
  nx_status status = nxi_fail(d, NX_INVALID_ARGUMENT, "custom",
                              "custom \"%s\": operand %u is %s%.80s, not %s%.80s", f->name, i,
                              nxi_dtypes[got].name, nxg_format_shape(given, is->rank, is->shape),
                              nxi_dtypes[seen].name, nxg_format_shape(wanted, w->rank, w->shape));
  if (d) d->operand = (int32_t)i;
  return status;
}

nx_status nxg_types_custom(nxg_call *call, nxi_diag *d) {
  const nxg_custom *f = nxg_custom_of(call->attrs);
  int64_t order = call->attrs[NXG_CUSTOM_ORDER];
  if (!f || f->number != (uint64_t)call->attrs[NXG_CUSTOM_NUMBER])
    return nxi_fail(d, NX_INVALID_ARGUMENT, "custom", "custom: it names no operation");
  if (order < 0 || (order > 0) != f->ordered)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "custom",
                    "custom \"%s\": it is %s, and its order is %lld", f->name,
                    f->ordered ? "ordered" : "not ordered", (long long)order);
  if (call->n_operands != f->n_operands)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "custom",
                    "custom \"%s\": it has %u operands where %u are wanted", f->name,
                    call->n_operands, f->n_operands);
  for (uint32_t i = 0; i < f->n_operands; i++) {
    const nxg_array *is = &call->operands[i], *w = &f->operands[i];
    if (is->dtype != w->dtype || !nxg_same_shape(is->rank, is->shape, w->rank, w->shape))
      return bad_operand(f, i, is, d);
  }
  call->n_results = f->n_results;
  for (uint32_t i = 0; i < f->n_results; i++) call->results[i] = f->results[i];
  return NX_OK;
}

/* ---- carrying it out: one task, on the thread that carries out the plan */

static nx_status prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  (void)call, (void)d;
  work->n_phases = 1;
  work->tasks[0] = work->grain[0] = 1;
  work->cost = 1e18; /* nobody knows; it is done once, and never tried out */
  return NX_OK;
}

static nx_status run(nxg_call_part *part) {
  const nxg_custom *f = nxg_custom_of(part->call->attrs);
  nx_status status = f->run(f, part, NULL, part->sentence, part->room);
  part->failed = 0;
  return status;
}

const nxg_functions nxg_custom_functions = {prepare, run, NULL};
