/* SPDX-License-Identifier: ISC */
/* Partial results of threads in different warps, which are combined through LOCAL arrays. Few are
 * read by every thread; if there are many, the threads of the first group read them and show the
 * result to all. So there are one or two barriers, where shuffles would need two for each level of
 * the tree. */
#include "passes/bind/gpu/gpu.h"

enum { FEW_GROUPS = 8, MOST_GROUPS = 32 };

typedef struct far {
  nxk_value reduce;
  uint32_t values, items; /* LOCAL arrays; items: NXK_NONE if there are none */
  uint16_t wide;
  nxk_value own, first; /* the thread, and the first of those whose results are combined */
  int64_t width, groups;
} far;

static nxk_access access_at(const nxb_binder *b, const far *f, uint32_t array, nxk_value thread,
                            int64_t group) {
  nxk_access a = nxk_access_at(array, group * f->width * f->wide);
  a.index = thread;
  if (f->wide > 1) {
    a.group = f->wide;
    a.lane_stride = 1;
    a.flags = NXK_WHOLE;
  }
  (void)b;
  return a;
}

static void show(nxb_binder *b, const far *f, nxb_partial p, nxk_value mask) {
  nxk_access a = access_at(b, f, f->values, f->own, 0);
  a.mask = mask;
  nxk_store(b->to, &a, p.value);
  a.buffer = f->items;
  if (f->items != NXK_NONE) nxk_store(b->to, &a, p.item);
  nxk_barrier(b->to);
}

static nxb_partial see(nxb_binder *b, const far *f, int64_t group) {
  uint16_t lanes = (uint16_t)(b->threads * f->wide);
  nxk_access a = access_at(b, f, f->values, f->first, group);
  nxb_partial p = {nxk_load(b->to, &a, lanes), NXK_NONE};
  a.buffer = f->items;
  if (f->items != NXK_NONE) p.item = nxk_load(b->to, &a, lanes);
  return p;
}

static nxb_partial see_all(nxb_binder *b, const far *f) {
  nxb_partial all[MOST_GROUPS] = {{NXK_NONE, NXK_NONE}};
  for (int64_t g = 0; g < f->groups && !b->to->failed; g++) all[g] = see(b, f, g);
  if (!b->to->failed) nxb_tree(b, f->reduce, all, (uint32_t)f->groups, 1, true);
  return all[0];
}

static bool add_arrays(nxb_binder *b, far *f, const nxb_partial *p) {
  int64_t lanes = (int64_t)b->threads * f->wide;
  f->values = nxb_add_local(b, nxk_dtype(b->to, p->value), lanes);
  f->items = p->item == NXK_NONE ? NXK_NONE : nxb_add_local(b, nxk_dtype(b->to, p->item), lanes);
  return !b->to->failed;
}

void nxb_gpu_join_far(nxb_binder *b, nxk_value reduce, nxb_partial *p, int64_t width,
                      int64_t groups, uint16_t wide) {
  far f = {.reduce = reduce, .wide = wide, .width = width, .groups = groups};
  if (b->to->failed || !add_arrays(b, &f, p)) return;
  nxk_value thread = nxk_step_vector(b->to, nxb_int(b, 0), b->threads);
  nxk_value within = nxb_mod(b, thread, width);
  nxk_value row = nxb_mul(b, nxb_div(b, thread, width * groups), width * groups);
  f.own = nxb_mul(b, thread, wide);
  f.first = nxb_mul(b, nxb_op(b, NXK_add, row, within), wide);
  show(b, &f, *p, NXK_NONE);
  if (groups <= FEW_GROUPS) {
    *p = see_all(b, &f);
    return;
  }
  nxk_value leads = nxb_op(b, NXK_eq, f.own, f.first);
  nxk_value pred = nxk_splat(b->to, leads, (uint16_t)(b->threads * wide));
  nxk_value cold = nxk_begin_cold(b->to, pred);
  nxb_partial inside = see_all(b, &f);
  nxk_end(b->to);
  if (b->to->failed || !add_arrays(b, &f, p)) return;
  p->value = nxk_blend(b->to, cold, inside.value, p->value);
  if (p->item != NXK_NONE) p->item = nxk_blend(b->to, cold, inside.item, p->item);
  show(b, &f, *p, leads);
  *p = see(b, &f, 0);
}
