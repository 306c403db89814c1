/* SPDX-License-Identifier: ISC */
/* The region of binding that all targets share: buffers and parameters are copied, and each region
 * that is not empty is written by a template of the target. */
#include "bind.h"

#include "passes/kernel/passes.h"

enum { TINY_POINTS = 256 };

static bool is_loop(const nxk_kernel *k, nxk_value v) {
  return v != NXK_NONE && k->instrs[v].op == NXK_for;
}

bool nxb_is_tiny(const nxk_kernel *k) {
  for (nxk_value v = 0; v < k->n_instrs; v++) {
    int64_t points = 1;
    for (nxk_value at = v; is_loop(k, at) && points <= TINY_POINTS; at = k->instrs[at].block) {
      const nxk_loop *loop = &k->loops[k->instrs[at].imm];
      if (loop->upper.value != NXK_NONE || loop->upper.constant > TINY_POINTS) return false;
      points *= loop->upper.constant > 1 ? loop->upper.constant : 1;
    }
    if (points > TINY_POINTS) return false;
  }
  return true;
}

static void copy_launch(nxb_binder *b) {
  for (uint32_t i = 0; i < b->from->n_buffers; i++) {
    const nxk_buffer *buffer = &b->from->buffers[i];
    if (buffer->kind == NXK_LOCAL) continue;
    uint32_t number = nxk_add_buffer(b->to, buffer->kind, buffer->dtype, buffer->elements);
    if (number != NXK_NONE) b->to->buffers[number] = *buffer;
  }
  for (uint32_t i = 0; i < b->from->n_params; i++) nxk_add_param(b->to, b->from->param_types[i]);
}

static void copy_top(nxb_binder *b, nxk_value v) {
  const nxk_instr *in = &b->from->instrs[v];
  if (in->op == NXK_const) b->top[v] = nxk_const(b->to, in->dtype, in->imm);
  if (in->op == NXK_param) b->top[v] = nxk_param(b->to, (uint32_t)in->imm);
}

static void bind_nothing(nxb_binder *b) {
  nxb_close_pending(b);
  nxk_begin_region(b->to);
  nxk_begin_range(b->to, NXK_TASK, 0);
  nxk_end(b->to);
  nxk_end(b->to);
}

static bool is_param(const nxb_binder *b, nxk_value v) {
  return v != NXK_NONE && b->from->instrs[v].op == NXK_param;
}

static void bind_region(nxb_binder *b, nxk_value v, void (*bind)(nxb_binder *b)) {
  nxb_region region;
  bool empty = false;
  if (!nxb_analyze_region(b, v, &region)) return;
  b->region = &region;
  for (uint32_t i = 0; i < region.n_outer; i++) {
    empty = empty || region.outer[i].extent == 0;
    if (region.outer[i].extent < 0 && !is_param(b, region.outer[i].upper)) region.regular = false;
  }
  if (empty) bind_nothing(b);
  else bind(b);
  b->region = NULL;
}

static bool bind_all(nxb_binder *b, void (*bind)(nxb_binder *b)) {
  copy_launch(b);
  if (!nxb_analyze_kernel(b)) return false;
  for (nxk_value v = 0; v < b->from->n_instrs && !b->to->failed;
       v++) /* including those inside regions */
    if (b->from->instrs[v].op == NXK_param) copy_top(b, v);
  for (nxk_value v = 0; v < b->from->n_instrs && !b->failed && !b->to->failed; v++) {
    copy_top(b, v);
    if (b->from->instrs[v].op != NXK_region) continue;
    bind_region(b, v, bind);
    v = b->end_of[v];
  }
  nxb_close_pending(b);
  return !b->failed && !b->to->failed;
}

nxk_kernel *nxb_bind_kernel(const nxk_kernel *k, const nxi_target *t, uint16_t threads,
                            void (*bind)(nxb_binder *b), nxi_diag *d) {
  nxi_diag own;
  nxi_diag_clear(&own);
  nxb_binder b = {.from = k,
                  .to = nxk_create(NXK_BOUND, k->name),
                  .target = t,
                  .diag = &own,
                  .threads = threads,
                  .tiny = t->generic && nxb_is_tiny(k)};
  if (b.to) b.to->threads = threads;
  bool ok = b.to && bind_all(&b, bind);
  nxi_arena_destroy(&b.arena);
  if (ok && own.status == NX_OK) return b.to;
  nxk_destroy(b.to);
  if (own.status != NX_OK) nxi_fail(d, own.status, own.op, "%s", own.message);
  else nxi_oom(d);
  return NULL;
}
