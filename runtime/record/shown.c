/* SPDX-License-Identifier: ISC */
/* A tree by the first address, in which each part knows the last address of its buffers, so that
 * those that overlap one are found without looking at the others. It is kept balanced by chance: a
 * buffer is above those of lower rank, and ranks are hashes (a treap). */
#include "shown.h"

static uintptr_t begin_of(const nxi_buffer *b) { return (uintptr_t)b->data; }
static uintptr_t end_of(const nxi_buffer *b) { return (uintptr_t)b->data + (uintptr_t)b->bytes; }

static uint64_t rank_of(const nxi_buffer *b) {
  uint64_t x = (uint64_t)(uintptr_t)b * 0x9e3779b97f4a7c15u;
  return (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
}

static bool is_before(const nxi_buffer *a, const nxi_buffer *b) {
  return begin_of(a) != begin_of(b) ? begin_of(a) < begin_of(b) : (uintptr_t)a < (uintptr_t)b;
}

static void measure(nxi_buffer *t) {
  t->furthest = end_of(t);
  for (int i = 0; i < 2; i++)
    if (t->below[i] && t->below[i]->furthest > t->furthest) t->furthest = t->below[i]->furthest;
}

/* Two trees of t, without b: what is before it, and what is behind. */
static void split(nxi_buffer *t, const nxi_buffer *b, nxi_buffer **before, nxi_buffer **behind) {
  if (!t) {
    *before = *behind = NULL;
  } else if (is_before(t, b)) {
    split(t->below[1], b, &t->below[1], behind);
    measure(t);
    *before = t;
  } else {
    split(t->below[0], b, before, &t->below[0]);
    measure(t);
    *behind = t;
  }
}

/* One tree of two, of which the first is before the second. */
static nxi_buffer *join(nxi_buffer *before, nxi_buffer *behind) {
  if (!before) return behind;
  if (!behind) return before;
  if (rank_of(before) > rank_of(behind)) {
    before->below[1] = join(before->below[1], behind);
    measure(before);
    return before;
  }
  behind->below[0] = join(before, behind->below[0]);
  measure(behind);
  return behind;
}

void nxi_shown_add(nxi_buffer **all, nxi_buffer *b) {
  nxi_buffer *t = *all;
  if (!t || rank_of(b) > rank_of(t)) {
    split(t, b, &b->below[0], &b->below[1]);
    *all = b;
  } else {
    nxi_shown_add(&t->below[is_before(t, b)], b);
  }
  measure(*all);
}

void nxi_shown_remove(nxi_buffer **all, nxi_buffer *b) {
  nxi_buffer *t = *all;
  if (!t) return;
  if (t == b) {
    *all = join(b->below[0], b->below[1]);
    return;
  }
  nxi_shown_remove(&t->below[is_before(t, b)], b);
  measure(t);
}

bool nxi_shown_overlapping(nxi_buffer *all, nxi_buffer *b,
                           bool (*visit)(nxi_buffer *other, nxi_buffer *b)) {
  if (!all || all->furthest <= begin_of(b)) return true;
  if (!nxi_shown_overlapping(all->below[0], b, visit)) return false;
  if (begin_of(all) >= end_of(b)) return true;
  if (all != b && begin_of(b) < end_of(all) && !visit(all, b)) return false;
  return nxi_shown_overlapping(all->below[1], b, visit);
}
