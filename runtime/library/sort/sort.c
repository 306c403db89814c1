/* SPDX-License-Identifier: ISC */
/* The library calls sort and argsort, over the middle axis of [outer, length, inner]. Stable in
 * both directions: equal elements keep their order, and so do the signs of zeros, which are equal.
 * NaNs come last in both directions, with their bits, in their order. Complex numbers are ordered
 * by (re, im); a NaN in either part makes them a NaN.
 *
 * No task fails. A stable sort has only one result, so it does not depend on the division into
 * tasks, nor on the algorithms of the build. */
#include "ir/alloc.h"
#include "ir/dtype.h"
#include "runtime/library/libraries.h"
#include "core.h"

enum {
  TOGETHER_FROM = 1 << 16, /* elements of a row that threads share ... */
  TOGETHER_ROWS = 16,      /* ... unless there are at least this many rows */
};

static void describe(nxi_sort *s, const nxg_call *call) {
  const nxg_array *a = &call->operands[0];
  const int32_t axis = (int32_t)call->attrs[0];
  s->dtype = a->dtype;
  s->indices = call->op == NXG_argsort;
  s->descending = call->attrs[1] != 0;
  s->outer = s->inner = 1;
  s->length = a->shape[axis];
  for (int32_t i = 0; i < axis; i++) s->outer *= a->shape[i];
  for (int32_t i = axis + 1; i < a->rank; i++) s->inner *= a->shape[i];
  nx_dtype part = nxi_is_complex(s->dtype) ? nxi_part_dtype(s->dtype) : s->dtype;
  nxi_sort_keys_init(&s->keys, part, s->descending);
  nxi_sort_form_of(&s->form, s->dtype, s->indices);
  s->from_size = nxi_dtype_size(s->dtype);
  s->to_size = s->indices ? (int64_t)sizeof(int32_t) : s->from_size;
  s->in_place = s->form.in_place && s->inner == 1;
  s->together = s->length >= TOGETHER_FROM && s->outer * s->inner < TOGETHER_ROWS;
  s->counted = nxi_sort_is_counted(s);
}

static nx_status too_large(const nxg_call *call, nxi_diag *d) {
  const char *name = nxg_ops[call->op].name;
  return nxi_fail(d, NX_INVALID_ARGUMENT, name, "%s: its operand is too large to be sorted", name);
}

static nx_status prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  nxi_sort *s = nxi_calloc(1, sizeof *s);
  if (!s) return nxi_oom(d);
  describe(s, call);
  s->alone = work->threads == 1;
  work->n_phases = 1;
  work->grain[0] = 1;
  const bool nothing = s->length == 0 || s->outer == 0 || s->inner == 0;
  bool good = true;
  if (!nothing && s->counted) good = nxi_sort_plan_counted(s, work);
  else if (!nothing && s->together) good = nxi_sort_plan_long(s, work);
  else if (!nothing) good = nxi_sort_plan_rows(s, work);
  if (!good) {
    nxi_free(s);
    return too_large(call, d);
  }
  const double rows = (double)s->outer * (double)s->inner, n = (double)s->length;
  work->cost = rows * n * (4 + (n > 1 ? 64 - __builtin_clzll((uint64_t)s->length) : 0));
  work->state = s;
  return NX_OK;
}

static nx_status run(nxg_call_part *part) {
  const nxi_sort *s = part->state;
  if (s->counted) nxi_sort_run_counted(s, part);
  else if (s->together) nxi_sort_run_long(s, part);
  else nxi_sort_run_rows(s, part);
  return NX_OK;
}

static void release(void *state) { nxi_free(state); }

const nxg_functions nxi_sort_functions = {prepare, run, release};

/* ---- what both ways share */

nxi_sort_stretch nxi_sort_row(const nxi_sort *s, const nxg_call_part *part, int64_t row) {
  const int64_t first = row / s->inner * s->length * s->inner + row % s->inner;
  return (nxi_sort_stretch){.from = (const char *)part->operands[0] + first * s->from_size,
                            .from_stride = s->inner * s->from_size,
                            .to = (char *)part->results[0] + first * s->to_size,
                            .to_stride = s->inner * s->to_size};
}

nxi_sort_own nxi_sort_own_of(const nxi_sort *s, const nxg_call_part *part) {
  char *own = part->own;
  return (nxi_sort_own){.counts = (void *)own,
                        .cutter = (void *)(own + s->cutter_at),
                        .columns = own + s->columns_at,
                        .elements = own + s->elements_at};
}
