/* SPDX-License-Identifier: ISC */
/* Which steps of a plan may run side by side. Each step is on a track. The steps of a track run in
 * order; a step of another track is waited for only where memory says so: where one of the two
 * writes what the other one touches. Steps that run alone (which is for the device to say) come
 * after everything before them and before everything after them, so that what is said here need
 * only be known between two of them.
 *
 * For each step it is known up to which step of each track everything comes before it (its past). A
 * temporary that is dead in the order of the steps may still be in use by another track: its life
 * is made longer, to the last step that has not all of its users in its past. So the plan is packed
 * as always, and no step needs to wait for another one because of memory that both were given.
 *
 * Needs: steps and temporaries of a plan that is not packed. */
#include "internal.h"

#include <string.h>

/* Memory that a plan may need more: an eighth, or this much. */
static const int64_t most_more_bytes = 32 << 20;

/* Steps of each track: the number of the last one, + 1; 0: none. */
typedef struct past {
  uint32_t of[NXP_TRACKS];
} past;

/* Of a temporary or an output. */
typedef struct uses {
  past written, touched;
} uses;

typedef struct tracker {
  nxp_plan *plan;
  past *pasts;       /* of each step: itself and all before it */
  uses *uses;        /* temporaries, then outputs */
  past last;         /* steps of each track since the last one that ran alone */
  uint32_t alone;    /* that one, + 1 */
  uint32_t *lasts;   /* temporary -> its last step, with the longer life */
  past need;         /* of the step at hand */
  bool writes_input; /* the step at hand */
} tracker;

static void more(past *p, const past *other) {
  for (int i = 0; i < NXP_TRACKS; i++)
    if (p->of[i] < other->of[i]) p->of[i] = other->of[i];
}

static uses *uses_of(const tracker *t, const nxp_location *where) {
  if (where->kind == NXP_TEMPORARY) return &t->uses[where->number];
  return where->kind == NXP_OUTPUT ? &t->uses[t->plan->n_temporaries + where->number] : NULL;
}

/* ---- one step */

static void note_need(void *user, nxp_location *where, bool writes) {
  tracker *t = user;
  const uses *u = uses_of(t, where);
  if (where->kind == NXP_INPUT && writes) t->writes_input = true;
  if (u != NULL) more(&t->need, writes ? &u->touched : &u->written);
}

/* What comes before the step, if it is on that track. */
static past past_on(const tracker *t, uint32_t track) {
  past p;
  for (int i = 0; i < NXP_TRACKS; i++) p.of[i] = t->alone;
  for (uint32_t i = 0; i < NXP_TRACKS; i++) {
    const uint32_t before = i == track ? t->last.of[i] : t->need.of[i];
    if (before > 0) more(&p, &t->pasts[before - 1]);
  }
  return p;
}

/* The track whose last step is the latest that this one needs. Else one on which it waits for
 * nothing else: all of it is in its past. Else the one that was left longest ago. */
static uint32_t choose(const tracker *t) {
  uint32_t best = NXP_NONE, oldest = 0;
  for (uint32_t i = 0; i < NXP_TRACKS; i++) {
    const uint32_t last = t->last.of[i];
    if (last > 0 && t->need.of[i] == last && (best == NXP_NONE || last > t->last.of[best]))
      best = i;
    if (last < t->last.of[oldest]) oldest = i;
  }
  const past all = past_on(t, NXP_TRACKS);
  for (uint32_t i = 0; i < NXP_TRACKS && best == NXP_NONE; i++)
    if (t->last.of[i] <= all.of[i]) best = i;
  return best != NXP_NONE ? best : oldest;
}

/* Whether what is waited for on track i is in the past of something else before the step. */
static bool follows(const tracker *t, uint32_t track, uint32_t i) {
  for (uint32_t k = 0; k < NXP_TRACKS; k++) {
    const uint32_t before = k == track ? t->last.of[k] : t->need.of[k];
    if (k != i && before > 0 && t->pasts[before - 1].of[i] >= t->need.of[i]) return true;
  }
  return false;
}

static bool set_waits(const tracker *t, nxp_step *s) {
  nxp_plan *p = t->plan;
  for (uint32_t i = 0; i < NXP_TRACKS; i++) {
    if (i == s->track || t->need.of[i] == 0 || follows(t, s->track, i)) continue;
    if (s->after == NULL) s->after = nxi_arena_alloc(&p->arena, NXP_TRACKS * sizeof *s->after);
    if (s->after == NULL) return false;
    s->after[i] = t->need.of[i];
    p->steps[t->need.of[i] - 1].awaited = true;
  }
  return true;
}

static void note_use(void *user, nxp_location *where, bool writes) {
  const tracker *t = user;
  uses *u = uses_of(t, where);
  if (u == NULL) return;
  more(&u->touched, &t->need); /* set to the step itself */
  if (writes) more(&u->written, &t->need);
}

static void run_alone(tracker *t, uint32_t number) {
  nxp_step *s = &t->plan->steps[number];
  s->alone = true;
  for (int i = 0; i < NXP_TRACKS; i++) t->pasts[number].of[i] = number + 1;
  t->alone = number + 1;
  t->last = (past){{0}};
}

/* Uses before the last step that ran alone are in everybody's past. */
static void forget_old(tracker *t) {
  for (int i = 0; i < NXP_TRACKS; i++)
    if (t->need.of[i] <= t->alone) t->need.of[i] = 0;
}

static bool track_step(tracker *t, uint32_t number, nxp_beside beside) {
  nxp_step *s = &t->plan->steps[number];
  t->need = (past){{0}};
  t->writes_input = s->overwrites;
  nxp_each_location(s, note_need, t);
  forget_old(t);
  if (beside == NXP_ALONE || t->writes_input || number - t->alone >= NXP_MOST_BESIDE)
    run_alone(t, number);
  else {
    s->track = beside == NXP_FIRST_TRACK ? 0 : choose(t);
    past p = past_on(t, s->track);
    if (!set_waits(t, s)) return false;
    p.of[s->track] = t->last.of[s->track] = number + 1;
    t->pasts[number] = p;
  }
  t->need = (past){{0}};
  t->need.of[s->track] = number + 1;
  nxp_each_location(s, note_use, t);
  return true;
}

/* ---- lives */

static bool has_all(const past *p, const past *users) {
  for (int i = 0; i < NXP_TRACKS; i++)
    if (p->of[i] < users->of[i]) return false;
  return true;
}

/* The last step that does not come after all that touches the temporary. */
static void lengthen(const tracker *t, uint32_t number) {
  const nxp_plan *p = t->plan;
  const past *users = &t->uses[number].touched;
  uint32_t step = p->temporaries[number].last;
  t->lasts[number] = step;
  if (p->temporaries[number].first == NXP_NONE || p->steps[step].alone) return;
  for (step++; step < p->n_steps && !p->steps[step].alone; step++)
    if (!has_all(&t->pasts[step], users)) t->lasts[number] = step;
}

/* Rounded, and so that a million of them can be added. */
static int64_t bytes_of(const nxp_temporary *t) {
  const int64_t most = INT64_C(1) << 40;
  return t->bytes < most ? nxp_round_up(t->bytes) : most;
}

/* The most bytes of temporaries that are alive at once. */
static int64_t most_live(const nxp_plan *p, const uint32_t *lasts, int64_t *change) {
  int64_t live = 0, most = 0;
  memset(change, 0, ((size_t)p->n_steps + 1) * sizeof *change);
  for (uint32_t i = 0; i < p->n_temporaries; i++) {
    const nxp_temporary *one = &p->temporaries[i];
    if (!nxp_is_placed(one)) continue;
    change[one->first] += bytes_of(one);
    change[(lasts != NULL ? lasts[i] : one->last) + 1] -= bytes_of(one);
  }
  for (uint32_t i = 0; i < p->n_steps; i++) {
    live += change[i];
    if (live > most) most = live;
  }
  return most;
}

static bool is_worth_it(const tracker *t, int64_t *change) {
  const int64_t before = most_live(t->plan, NULL, change);
  const int64_t now = most_live(t->plan, t->lasts, change);
  return now - before <= most_more_bytes || now - before <= before / 8;
}

static void give_up(nxp_plan *p) {
  for (uint32_t i = 0; i < p->n_steps; i++) {
    p->steps[i].track = 0;
    p->steps[i].after = NULL;
    p->steps[i].awaited = p->steps[i].alone = false;
  }
}

static bool find_tracks(tracker *t, const nxp_beside *beside, int64_t *change) {
  nxp_plan *p = t->plan;
  uint32_t most = 0;
  for (uint32_t i = 0; i < p->n_steps; i++) {
    if (!track_step(t, i, beside[i])) return false;
    if (p->steps[i].track > most) most = p->steps[i].track;
  }
  for (uint32_t i = 0; i < p->n_temporaries; i++) lengthen(t, i);
  if (most == 0 || !is_worth_it(t, change)) {
    give_up(p);
    return true;
  }
  for (uint32_t i = 0; i < p->n_temporaries; i++) p->temporaries[i].last = t->lasts[i];
  p->n_tracks = most + 1;
  return true;
}

nx_status nxp_plan_find_tracks(nxp_plan *p, const nxp_beside *beside, nxi_diag *d) {
  tracker t = {.plan = p};
  p->n_tracks = 1;
  if (p->n_steps < 2 || p->options.tight) return NX_OK;
  const size_t n_uses = (size_t)p->n_temporaries + p->n_outputs + 1;
  t.pasts = nxi_calloc(p->n_steps, sizeof *t.pasts);
  t.uses = nxi_calloc(n_uses, sizeof *t.uses);
  t.lasts = nxi_calloc((size_t)p->n_temporaries + 1, sizeof *t.lasts);
  int64_t *change = nxi_calloc((size_t)p->n_steps + 1, sizeof *change);
  const bool ok = t.pasts != NULL && t.uses != NULL && t.lasts != NULL && change != NULL &&
                  find_tracks(&t, beside, change);
  nxi_free(t.pasts);
  nxi_free(t.uses);
  nxi_free(t.lasts);
  nxi_free(change);
  return ok ? NX_OK : nxi_oom(d);
}
