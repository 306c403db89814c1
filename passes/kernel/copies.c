/* SPDX-License-Identifier: ISC */
/* Writes a kernel once more, with several copies of some of its instructions. What is copied, and
 * how often, the pass decides (copies.h). Needs: logical level. */
#include "copies.h"

#include <string.h>

#include "passes.h"

void nxk_map_copies(nxk_copies *w, nxk_value v, nxk_value to) {
  for (uint32_t i = 0; i < w->n; i++) w->map[i][v] = to;
}

void nxk_copy_once(nxk_copies *w, nxk_value v) {
  nxk_map_copies(w, v, nxk_copy_instr(w->to, w->b.from, v, w->map[0]));
}

void nxk_copy_each(nxk_copies *w, nxk_value v, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) nxk_copy_decided(w->to, w->b.from, v, w->map[i]);
}

static bool is_reduce_loop(const nxk_kernel *k, nxk_value v) {
  const nxk_instr *in = &k->instrs[v];
  return in->op == NXK_for && k->loops[in->imm].kind == NXK_REDUCE;
}

bool nxk_begins_run(const nxk_kernel *k, nxk_value v) {
  nxk_value around = k->instrs[v].block;
  return is_reduce_loop(k, v) && (around == NXK_NONE || !is_reduce_loop(k, around));
}

bool nxk_is_past_caches(const nxb_binder *b) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < b->from->n_buffers; i++) {
    const nxk_buffer *buffer = &b->from->buffers[i];
    if (buffer->kind != NXK_LOCAL) bytes += buffer->elements * nxi_dtype_size(buffer->dtype);
  }
  return bytes > b->target->l2_bytes;
}

static void begin(nxk_copies *w) {
  size_t bytes = ((size_t)w->b.from->n_instrs + 1) * sizeof(nxk_value);
  for (uint32_t i = 0; i < w->n; i++) {
    w->map[i] = nxb_alloc(&w->b, bytes);
    if (w->map[i] != NULL) memset(w->map[i], 0xff, bytes);
  }
}

/* True if `rewrite` wrote anything. */
static bool write_all(nxk_copies *w, nxk_rewrite *rewrite) {
  bool any = false;
  for (nxk_value v = 0; v < w->b.from->n_instrs && !w->to->failed && !w->b.failed; v++) {
    nxk_value last = rewrite(w, v);
    if (last == v) nxk_copy_once(w, v);
    any = any || last != v;
    v = last;
  }
  return any;
}

nxk_kernel *nxk_write_copies(const nxk_kernel *k, const nxi_target *target, uint32_t copies,
                             nxk_rewrite *rewrite, nxi_diag *d) {
  nxk_copies w = {.b = {.from = k, .target = target}, .to = nxk_create_like(k), .n = copies};
  begin(&w);
  bool any = false, ok = w.to != NULL && !w.b.failed && nxb_analyze_kernel(&w.b);
  if (ok) any = write_all(&w, rewrite);
  ok = ok && !w.b.failed && !w.to->failed;
  nxi_arena_destroy(&w.b.arena);
  nxk_kernel *out = ok && any ? nxk_pass_simplify(w.to, d) : w.to;
  if (out != w.to || !ok) nxk_destroy(w.to);
  if (!ok) nxi_oom(d);
  return ok ? out : NULL;
}
