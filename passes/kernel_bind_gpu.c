/* SPDX-License-Identifier: ISC */
/* The GPU binder: from what a kernel computes to how blocks of threads do it. Lanes are threads, a task is a block; what
 * threads say to each other, and in which order, is explicit afterwards: swaps, barriers, masks.
 *
 * Sums are added in the order of docs/numerics.md, as on a processor, so all results have the same bits there.
 * Requires: a verified logical kernel without functions (passes/kernel_expand.c). */
#include "bind.h"
#include "kernel_passes.h"

/* Any part: one thread does all of it. */
static void bind_literal(nxb_binder *b) {
  nxb_view view;
  if (!nxb_view_init(b, &view)) return;
  view.lanes = b->threads;
  view.columns = b->threads;
  nxb_add_locals(b, b->threads);
  nxk_begin_part(b->to);
  nxk_begin_range(b->to, NXK_TASK, 1);
  nxk_value from = nxb_int(b, 0), to = nxb_int(b, 1);
  view.active = nxk_active(b->to, from, to, b->threads);
  nxb_write_body(b, &view, 1, b->part->first + 1, b->part->last - 1, NULL, NULL);
  nxk_end(b->to);
  nxk_end(b->to);
}

static void bind_part(nxb_binder *b) {
  if (!b->part->regular) bind_literal(b);
  else if (nxb_gpu_rows_fit(b)) nxb_gpu_rows(b);
  else nxb_gpu_points(b);
}

nxk_kernel *nxk_pass_bind_gpu(const nxk_kernel *k, const nxi_target *t, nxi_diag *d) {
  return nxb_bind_kernel(k, t, (uint16_t)t->block_threads, bind_part, d);
}
