/* SPDX-License-Identifier: ISC */
/* The order of fusion groups while they are formed, kept up to date as groups are merged, so that
 * whether one group depends on another is answered exactly and by looking at few groups.
 *
 * All groups stand in one list in which every group comes before those that read it: a topological
 * order. `a` depends on `b` only if it comes after it, so a search visits only groups between the
 * two. It alternates between two directions, one edge forwards from the first of the two and one
 * edge backwards from the second, until the two fronts meet (there is a dependence) or one front is
 * exhausted (there is none, and the groups of that front are those that must be moved). Nodes are
 * visited from the last to the first: a new group is read by old ones and reads none of them yet.
 * So it comes first in the order at no cost, and the search backwards from the newer groups ends
 * after a few steps however many groups follow them.
 *
 * Positions in the list are compared by labels with gaps between them. If there is no gap left at
 * an insertion, the labels of the smallest range around it that is not too dense are spread evenly,
 * which takes O(log n) steps for each insertion on average. */
#include "draft.h"

#include <stdlib.h>

enum { BACKWARD, FORWARD };

/* ---- labels */

static const uint64_t FRONT_GAP = (uint64_t)1 << 32;

/* Makes room for more labels on both sides of the label of `at`. */
static void spread(nxp_clusterer *c, uint32_t at) {
  uint32_t first = at, last = at;
  uint64_t n = 1, width = 1, base;
  double most = 1;
  do { /* an aligned range of labels, twice as wide in each round, and the groups in it */
    width *= 2;
    most *= 4.0 / 3;
    base = c->drafts[at].label & ~(width - 1);
    for (uint32_t i; (i = c->drafts[first].before) != NXP_NO_GROUP && c->drafts[i].label >= base;
         n++)
      first = i;
    for (uint32_t i;
         (i = c->drafts[last].after) != NXP_NO_GROUP && c->drafts[i].label - base < width; n++)
      last = i;
  } while (width < (uint64_t)1 << 63 && ((double)n > most || width / n < 16));
  uint64_t step = width / n, label = base + step / 2;
  for (uint32_t i = first; n > 0; i = c->drafts[i].after, label += step, n--)
    c->drafts[i].label = label;
}

/* Puts `group` directly after `at` (NXP_NO_GROUP: first of all); `more` others will follow it
 * there. */
static void insert(nxp_clusterer *c, uint32_t at, uint32_t group, uint32_t more) {
  bool front = at == NXP_NO_GROUP;
  uint32_t next = front ? c->first_draft : c->drafts[at].after;
  nxp_draft *d = &c->drafts[group];
  uint64_t low, high;
  for (;;) {
    low = front ? 0 : c->drafts[at].label;
    high = next == NXP_NO_GROUP ? UINT64_MAX : c->drafts[next].label;
    if (high - low >= 2) break;
    spread(c, front ? next : at);
  }
  uint64_t share = (high - low) / ((uint64_t)more + 2);
  if (share == 0) share = 1;
  if (share > FRONT_GAP) share = FRONT_GAP;
  d->label = front && next != NXP_NO_GROUP ? high - share : low + share;
  if (front && next == NXP_NO_GROUP) d->label = (uint64_t)1 << 63;
  d->before = at;
  d->after = next;
  if (next != NXP_NO_GROUP) c->drafts[next].before = group;
  if (front) c->first_draft = group;
  else c->drafts[at].after = group;
}

void nxp_order_first(nxp_clusterer *c, uint32_t group) { insert(c, NXP_NO_GROUP, group, 0); }

void nxp_order_remove(nxp_clusterer *c, uint32_t group) {
  const nxp_draft *d = &c->drafts[group];
  if (d->before == NXP_NO_GROUP) c->first_draft = d->after;
  else c->drafts[d->before].after = d->after;
  if (d->after != NXP_NO_GROUP) c->drafts[d->after].before = d->before;
}

/* ---- search */

typedef enum outcome { CONTINUES, EXHAUSTED, MET } outcome;

static bool reach(nxp_clusterer *c, int way, uint32_t group) {
  nxp_front *f = &c->fronts[way];
  if (!nxi_grow(&f->found, &f->cap, f->n + 1, sizeof *f->found)) return !(c->failed = true);
  c->drafts[group].stamp = c->stamp + (uint64_t)way;
  f->found[f->n++] = (nxp_ordered){0, group};
  return true;
}

static bool start(nxp_clusterer *c, int way, uint32_t group) {
  nxp_front *f = &c->fronts[way];
  f->n = f->next = 0;
  f->link = NXP_NO_GROUP;
  return reach(c, way, group);
}

/* Follows one edge of a front; groups beyond the label `limit` are ignored. */
static outcome follow(nxp_clusterer *c, int way, uint64_t limit) {
  nxp_front *f = &c->fronts[way];
  while (f->link == NXP_NO_GROUP) {
    if (f->next == f->n) return EXHAUSTED;
    const nxp_draft *from = &c->drafts[f->found[f->next++].group];
    f->link = way == FORWARD ? from->readers : from->sources;
  }
  uint32_t group = nxp_draft_find(c, c->links[f->link].group);
  const nxp_draft *d = &c->drafts[group];
  f->link = c->links[f->link].next;
  c->search_budget--;
  if (d->stamp == c->stamp + (uint64_t)(1 - way)) return MET;
  bool beyond = way == FORWARD ? d->label > limit : d->label < limit;
  if (beyond || d->stamp == c->stamp + (uint64_t)way) return CONTINUES;
  return reach(c, way, group) ? CONTINUES : MET;
}

/* Whether there is a path from `first` to `last`, or the budget is exhausted. If not, *exhausted is
 * the direction whose front is complete. */
static bool reaches(nxp_clusterer *c, uint32_t first, uint32_t last, bool bounded, int *exhausted) {
  c->stamp += 2;
  if (!start(c, FORWARD, first) || !start(c, BACKWARD, last)) return true;
  while (!bounded || c->search_budget > 0) {
    for (int way = BACKWARD; way <= FORWARD; way++) {
      outcome o = follow(c, way, c->drafts[way == FORWARD ? last : first].label);
      if (o == MET) return true;
      *exhausted = way;
      if (o == EXHAUSTED) return false;
    }
  }
  return true;
}

/* ---- changes of place */

static int by_label(const void *a, const void *b) {
  uint64_t x = ((const nxp_ordered *)a)->label, y = ((const nxp_ordered *)b)->label;
  return (x > y) - (x < y);
}

/* Moves all groups of a front directly after `at`; they keep their order. */
static void move_after(nxp_clusterer *c, nxp_front *f, uint32_t at) {
  for (uint32_t i = 0; i < f->n; i++) f->found[i].label = c->drafts[f->found[i].group].label;
  if (f->n > 1) qsort(f->found, f->n, sizeof *f->found, by_label);
  for (uint32_t i = 0; i < f->n; i++) {
    uint32_t group = f->found[i].group;
    nxp_order_remove(c, group);
    insert(c, at, group, f->n - 1 - i);
    at = group;
  }
}

static bool put_before(nxp_clusterer *c, uint32_t a, uint32_t b, bool bounded) {
  int exhausted = FORWARD;
  if (c->drafts[a].label < c->drafts[b].label) return true;
  if (reaches(c, b, a, bounded, &exhausted)) return false;
  /* Either the groups between the two on which `a` depends, and `a`, move before `b`, or `b` and
   * the groups that depend on it move after `a`. */
  uint32_t at = exhausted == FORWARD ? a : c->drafts[b].before;
  move_after(c, &c->fronts[exhausted], at);
  return true;
}

bool nxp_order_before(nxp_clusterer *c, uint32_t a, uint32_t b) {
  return put_before(c, a, b, true);
}

void nxp_order_read(nxp_clusterer *c, uint32_t group, uint32_t reader) {
  put_before(c, group, reader, false);
}

bool nxp_order_adjoin(nxp_clusterer *c, uint32_t a, uint32_t b) {
  bool in_order = c->drafts[a].label < c->drafts[b].label;
  return put_before(c, in_order ? b : a, in_order ? a : b, true);
}
