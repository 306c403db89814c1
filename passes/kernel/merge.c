/* SPDX-License-Identifier: ISC */
/* Merges adjacent outer loops if every access moves through them as through one loop. Lowering does
 * the same for its dimensions; this pass does it again for the regions of a kernel, in which there
 * are fewer conditions. Needs: logical level, nothing that is not needed. Keeps: bits. */
#include <string.h>

#include "passes/bind/bind.h"
#include "passes.h"

/* Whether the indices of both loops are used in addresses only, and in each address a step of the
 * outer loop is as long as all steps of the inner loop together. */
static bool walks_as_one(const nxb_binder *b, const nxb_region *p, const nxb_loop *outer,
                         const nxb_loop *inner) {
  const nxk_kernel *k = b->from;
  for (nxk_value v = p->first; v < p->last; v++) {
    const nxk_instr *in = &k->instrs[v];
    for (int i = 0; i < in->n_args; i++)
      if (in->args[i] == outer->value || in->args[i] == inner->value) return false;
    if (in->op != NXK_load && in->op != NXK_store) continue;
    const nxk_access *a = &k->accesses[in->imm];
    int64_t across = 0, along = 0;
    if (a->index == outer->value || a->index == inner->value) return false;
    for (uint32_t i = 0; i < a->n_terms; i++) {
      if (a->terms[i].index == outer->value) across += a->terms[i].stride;
      if (a->terms[i].index == inner->value) along += a->terms[i].stride;
    }
    if (across != along * inner->extent) return false;
  }
  return true;
}

/* Marks the outer loops of a region that are merged into the next one, and sets the extents after
 * merging. */
static void find_merged(nxb_binder *b, nxb_region *p, int64_t *extent, bool *merged) {
  for (uint32_t i = 0; i < p->n_outer; i++) extent[p->outer[i].value] = p->outer[i].extent;
  for (uint32_t i = 0; p->regular && i + 1 < p->n_outer; i++) {
    nxb_loop *outer = &p->outer[i], *inner = &p->outer[i + 1];
    bool plain = outer->lower == 0 && outer->step == 1 && outer->extent > 0 && inner->lower == 0 &&
                 inner->step == 1 && inner->extent > 0;
    nxb_loop own = *outer;
    own.extent = extent[outer->value];
    if (!plain || own.extent > INT64_MAX / inner->extent || !walks_as_one(b, p, &own, inner))
      continue;
    merged[outer->value] = true;
    extent[inner->value] = own.extent * inner->extent;
  }
}

static void write_merged(nxb_binder *b, nxk_value *map, const int64_t *extent, const bool *merged) {
  const nxk_kernel *k = b->from;
  for (nxk_value v = 0; v < k->n_instrs && !b->to->failed; v++) {
    const nxk_instr *in = &k->instrs[v];
    if (in->op == NXK_for && merged[v]) map[v] = nxk_const_i(b->to, NX_I64, 0);
    else if (in->op == NXK_for && extent[v] > 0)
      map[v] = nxk_begin_range(b->to, NXK_OUTER, extent[v]);
    else if (in->op != NXK_end || !merged[in->block]) nxk_copy_decided(b->to, k, v, map);
  }
}

nxk_kernel *nxk_merge_loops(const nxk_kernel *k, nxi_diag *d) {
  nxb_binder b = {.from = k, .to = nxk_create_like(k)};
  size_t n = (size_t)k->n_instrs + 1;
  nxk_value *map = nxb_alloc(&b, n * sizeof *map);
  int64_t *extent = nxb_alloc(&b, n * sizeof *extent);
  bool *merged = nxb_alloc(&b, n * sizeof *merged);
  bool ok = b.to != NULL && !b.failed && nxb_analyze_kernel(&b);
  if (ok) memset(map, 0xff, n * sizeof *map);
  for (nxk_value v = 0; ok && v < k->n_instrs; v++) {
    nxb_region region;
    if (k->instrs[v].op != NXK_region) continue;
    ok = nxb_analyze_region(&b, v, &region);
    if (ok) find_merged(&b, &region, extent, merged);
  }
  if (ok) write_merged(&b, map, extent, merged);
  ok = ok && !b.to->failed;
  nxi_arena_destroy(&b.arena);
  if (ok) return b.to;
  nxk_destroy(b.to);
  nxi_oom(d);
  return NULL;
}
