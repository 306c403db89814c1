/* SPDX-License-Identifier: ISC */
/* Places for temporaries of which more is known than when they begin: all at once, large ones
 * first. Each goes to the smallest gap that is wide enough between those in the same memory whose
 * lives overlap with its own.
 *
 * Two kinds of memory are filled in this way. An output has its memory from the beginning of a
 * launch, and what lies there before the first step that touches it costs nothing. And the block of
 * temporaries, where best fit in the order of steps leaves gaps: then large ones come first, or
 * those that are large and live long; what ends the block comes first in the next try, and in the
 * last tries it changes places with any other.
 *
 * The time is the product of how many there are and of how many lie in the same memory. It is
 * bounded: in plans of very many, what is not placed by then stays where best fit puts it. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LOOKS = 1 << 20, ROUNDS = 12, CHANGES = 64, LEAST_BYTES = 4096 };

/* A temporary to place; in order of falling weight. */
typedef struct ranked {
  double weight;
  uint32_t number;
} ranked;

/* Memory that temporaries share. */
typedef struct room {
  int64_t bytes;
  uint32_t until;  /* the first step in which something else is there */
  uint32_t first;  /* the temporary at the lowest offset, NXP_NONE */
  uint32_t output; /* NXP_NONE: the block */
} room;

typedef struct fitter {
  nxp_temporary *temporaries;
  ranked *order;
  uint32_t n_order;
  int64_t looks; /* how many more temporaries may be looked at */
} fitter;

/* ---- one temporary */

/* Puts it where it fits best, or at the end. False: there is no room. */
static bool put(fitter *f, room *r, uint32_t number) {
  nxp_temporary *all = f->temporaries, *t = &all[number];
  const int64_t bytes = nxp_round_up(t->bytes);
  int64_t end = 0, best = INT64_MAX, at = -1;
  for (uint32_t i = r->first; i != NXP_NONE; i = all[i].next, f->looks--) {
    const nxp_temporary *u = &all[i];
    if (u->last < t->first || u->first > t->last) continue;
    const int64_t gap = u->offset - end, after = u->offset + nxp_round_up(u->bytes);
    if (gap >= bytes && gap < best) {
      best = gap;
      at = end;
    }
    if (after > end) end = after;
  }
  if (at < 0 && bytes <= r->bytes - end) at = end;
  if (at < 0) return false;
  t->offset = at;
  t->output = r->output;
  uint32_t *link = &r->first;
  while (*link != NXP_NONE && all[*link].offset < at) link = &all[*link].next;
  t->next = *link;
  *link = number;
  return true;
}

static int heavier(const void *left, const void *right) {
  const ranked *a = left, *b = right;
  if (a->weight != b->weight) return a->weight > b->weight ? -1 : 1;
  return (a->number > b->number) - (a->number < b->number);
}

/* Those of the block that are placed, by bytes or by bytes and the steps that they live. */
static void rank(fitter *f, uint32_t n, bool by_life) {
  f->n_order = 0;
  for (uint32_t i = 0; i < n; i++) {
    const nxp_temporary *t = &f->temporaries[i];
    if (!nxp_is_placed(t) || t->output != NXP_NONE) continue;
    double life = by_life ? (double)(t->last - t->first) + 1 : 1;
    f->order[f->n_order++] = (ranked){(double)nxp_round_up(t->bytes) * life, i};
  }
  if (f->n_order > 1) qsort(f->order, f->n_order, sizeof *f->order, heavier);
}

/* ---- outputs */

typedef struct touches {
  uint32_t *first; /* output -> the first step that touches it */
  uint32_t step;
} touches;

static void note_touch(void *user, nxp_location *where, bool writes) {
  const touches *t = user;
  (void)writes;
  if (where->kind == NXP_OUTPUT && t->first[where->number] > t->step)
    t->first[where->number] = t->step;
}

static int smaller(const void *left, const void *right) {
  const room *a = left, *b = right;
  if (a->bytes != b->bytes) return a->bytes < b->bytes ? -1 : 1;
  return (a->output > b->output) - (a->output < b->output);
}

/* The memory of outputs that is of use, smallest first; their number. */
static uint32_t find_rooms(const nxp_plan *p, uint32_t *first_touch, room *rooms) {
  touches t = {.first = first_touch};
  uint32_t n = 0;
  memset(first_touch, 0xff, p->n_outputs * sizeof *first_touch);
  for (; t.step < p->n_steps; t.step++) nxp_each_location(&p->steps[t.step], note_touch, &t);
  for (uint32_t i = 0; i < p->n_outputs; i++) {
    int64_t bytes = p->outputs[i].bytes & ~(int64_t)(NXP_ALIGNMENT - 1);
    if (p->outputs[i].in_place_of >= 0 || first_touch[i] == 0 || bytes == 0) continue;
    rooms[n++] = (room){bytes, first_touch[i], NXP_NONE, i};
  }
  if (n > 1) qsort(rooms, n, sizeof *rooms, smaller);
  return n;
}

/* The first room that is large enough. */
static uint32_t first_room(const room *rooms, uint32_t n, int64_t bytes) {
  uint32_t low = 0, high = n;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (rooms[middle].bytes < bytes) low = middle + 1;
    else high = middle;
  }
  return low;
}

static void fill_rooms(fitter *f, room *rooms, uint32_t n) {
  for (uint32_t i = 0; i < f->n_order && f->looks > 0; i++) {
    const nxp_temporary *t = &f->temporaries[f->order[i].number];
    uint32_t r = first_room(rooms, n, nxp_round_up(t->bytes));
    for (; r < n && f->looks > 0; r++, f->looks--)
      if (t->last < rooms[r].until && put(f, &rooms[r], f->order[i].number)) break;
  }
}

static int64_t all_bytes(const nxp_plan *p) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < p->n_temporaries; i++)
    if (nxp_is_placed(&p->temporaries[i])) bytes += nxp_round_up(p->temporaries[i].bytes);
  return bytes;
}

bool nxp_fit_outputs(nxp_plan *p) {
  if (p->n_outputs == 0 || p->n_steps < 2 || all_bytes(p) < LEAST_BYTES) return true;
  fitter f = {.temporaries = p->temporaries, .looks = MOST_LOOKS};
  uint32_t *first_touch = nxi_malloc(p->n_outputs * sizeof *first_touch);
  room *rooms = nxi_malloc(p->n_outputs * sizeof *rooms);
  f.order = nxi_malloc(((size_t)p->n_temporaries + 1) * sizeof *f.order);
  bool ok = first_touch != NULL && rooms != NULL && f.order != NULL;
  uint32_t n = ok ? find_rooms(p, first_touch, rooms) : 0;
  if (n > 0) {
    rank(&f, p->n_temporaries, false);
    fill_rooms(&f, rooms, n);
  }
  nxi_free(first_touch);
  nxi_free(rooms);
  nxi_free(f.order);
  return ok;
}

/* ---- the block */

/* Places all in order. What that takes; INT64_MAX: it takes too long. */
static int64_t place_all(fitter *f, uint32_t *last) {
  room block = {INT64_MAX, NXP_NONE, NXP_NONE, NXP_NONE};
  int64_t end = 0;
  for (uint32_t i = 0; i < f->n_order; i++) {
    const nxp_temporary *t = &f->temporaries[f->order[i].number];
    if (f->looks <= 0) return INT64_MAX;
    put(f, &block, f->order[i].number);
    if (t->offset + nxp_round_up(t->bytes) <= end) continue;
    end = t->offset + nxp_round_up(t->bytes);
    *last = i; /* ends the block */
  }
  return end;
}

static void move_to_front(fitter *f, uint32_t at) {
  ranked moved = f->order[at];
  memmove(f->order + 1, f->order, at * sizeof *f->order);
  f->order[0] = moved;
}

/* An order for the next round, after one in which number `last` of the order ended the block. */
static void change_order(fitter *f, uint32_t n, int round, uint32_t last, uint64_t *random) {
  if (round == ROUNDS) rank(f, n, true);
  else if (round < 2 * ROUNDS) move_to_front(f, last);
  else {
    *random = *random * 0x5851f42d4c957f2du + 0x14057b7ef767814fu;
    uint32_t other = (uint32_t)(*random >> 33) % f->n_order;
    ranked moved = f->order[last];
    f->order[last] = f->order[other];
    f->order[other] = moved;
  }
}

/* Keeps the offsets that are there, or takes the kept ones back. */
static void keep(const fitter *f, int64_t *kept, bool back) {
  for (uint32_t i = 0; i < f->n_order; i++) {
    const uint32_t number = f->order[i].number;
    if (back) f->temporaries[number].offset = kept[number];
    else kept[number] = f->temporaries[number].offset;
  }
}

bool nxp_fit_block(nxp_plan *p, int64_t least, int64_t *end) {
  if (*end <= least || *end < LEAST_BYTES) return true;
  fitter f = {.temporaries = p->temporaries, .looks = MOST_LOOKS};
  int64_t *kept = nxi_malloc(((size_t)p->n_temporaries + 1) * sizeof *kept);
  f.order = nxi_malloc(((size_t)p->n_temporaries + 1) * sizeof *f.order);
  bool ok = kept != NULL && f.order != NULL;
  if (ok) {
    rank(&f, p->n_temporaries, false);
    keep(&f, kept, false);
  }
  uint64_t random = 1;
  for (int round = 1; ok && *end > least && f.looks > 0 && round < 2 * ROUNDS + CHANGES; round++) {
    uint32_t last = 0;
    int64_t now = place_all(&f, &last);
    if (now < *end) {
      *end = now;
      keep(&f, kept, false);
    }
    change_order(&f, p->n_temporaries, round, last, &random);
  }
  if (ok) keep(&f, kept, true);
  nxi_free(kept);
  nxi_free(f.order);
  return ok;
}
