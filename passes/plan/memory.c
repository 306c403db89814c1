/* SPDX-License-Identifier: ISC */
/* Packs the temporaries of a plan. Some lie in the memory of outputs that no step has touched yet
 * (plan/fit.c), the others in one block: best fit over free ranges, in the order of first use, a
 * range free again after the last step that touches it. Free ranges stand in two treaps, one by
 * offset, in which neighbours are found, and one by size: a range is taken or given back in
 * logarithmic time however many there are. If the block is larger than what is live at once, other
 * orders are tried. */
#include "internal.h"

#include <string.h>

enum { BY_OFFSET, BY_SIZE, TREES };
#define NO_RANGE UINT32_MAX

typedef struct range {
  int64_t offset, bytes;
  uint32_t priority, below[TREES][2]; /* in each tree: what is less, what is more */
} range;

typedef struct packer {
  range *ranges;             /* as many as there are temporaries, and one */
  uint32_t n_ranges, unused; /* a list through below[0][0] */
  uint32_t root[TREES];
  uint64_t random;
  int64_t end;
  int64_t live, most_live; /* bytes of temporaries in the step at hand; the most at once */
} packer;

/* ---- free ranges */

static bool is_less(int tree, const range *a, const range *b) {
  if (tree == BY_SIZE && a->bytes != b->bytes) return a->bytes < b->bytes;
  return a->offset < b->offset;
}

/* Parts a tree into what is less than `key` and the rest. */
static void part(packer *p, int tree, uint32_t at, const range *key, uint32_t *less,
                 uint32_t *rest) {
  uint32_t *ends[2] = {less, rest};
  while (at != NO_RANGE) {
    bool more = !is_less(tree, &p->ranges[at], key);
    *ends[more] = at;
    ends[more] = &p->ranges[at].below[tree][!more];
    at = *ends[more];
  }
  *ends[0] = NO_RANGE;
  *ends[1] = NO_RANGE;
}

/* One tree of two, all of `less` being less than all of `more`. */
static uint32_t join(packer *p, int tree, uint32_t less, uint32_t more) {
  uint32_t root, *end = &root;
  while (less != NO_RANGE && more != NO_RANGE) {
    bool left = p->ranges[less].priority > p->ranges[more].priority;
    uint32_t top = left ? less : more;
    *end = top;
    end = &p->ranges[top].below[tree][left];
    if (left) less = *end;
    else more = *end;
  }
  *end = less != NO_RANGE ? less : more;
  return root;
}

static void enter(packer *p, int tree, uint32_t i) {
  uint32_t less = NO_RANGE, rest = NO_RANGE;
  part(p, tree, p->root[tree], &p->ranges[i], &less, &rest);
  p->ranges[i].below[tree][0] = p->ranges[i].below[tree][1] = NO_RANGE;
  p->root[tree] = join(p, tree, join(p, tree, less, i), rest);
}

static void leave(packer *p, int tree, uint32_t i) {
  uint32_t *at = &p->root[tree];
  while (*at != i) at = &p->ranges[*at].below[tree][is_less(tree, &p->ranges[*at], &p->ranges[i])];
  *at = join(p, tree, p->ranges[i].below[tree][0], p->ranges[i].below[tree][1]);
}

/* The first range that is not less than `key`, or (`before`) the last that is less; NO_RANGE. */
static uint32_t find(const packer *p, int tree, const range *key, bool before) {
  uint32_t found = NO_RANGE;
  for (uint32_t at = p->root[tree]; at != NO_RANGE;) {
    bool less = is_less(tree, &p->ranges[at], key);
    if (less == before) found = at;
    at = p->ranges[at].below[tree][less];
  }
  return found;
}

static void drop_range(packer *p, uint32_t i) {
  leave(p, BY_OFFSET, i);
  leave(p, BY_SIZE, i);
  p->ranges[i].below[0][0] = p->unused;
  p->unused = i;
}

static void add_range(packer *p, int64_t offset, int64_t bytes) {
  uint32_t i = p->unused != NO_RANGE ? p->unused : p->n_ranges++;
  if (i == p->unused) p->unused = p->ranges[i].below[0][0];
  p->random = p->random * 0x5851f42d4c957f2du + 0x14057b7ef767814fu;
  p->ranges[i] = (range){.offset = offset, .bytes = bytes, .priority = (uint32_t)(p->random >> 32)};
  enter(p, BY_OFFSET, i);
  enter(p, BY_SIZE, i);
}

/* ---- packing */

static int64_t take(packer *p, int64_t bytes) {
  uint32_t best = find(p, BY_SIZE, &(range){.bytes = bytes, .offset = -1}, false);
  if (best == NO_RANGE) {
    int64_t offset = p->end;
    uint32_t last = find(p, BY_OFFSET, &(range){.offset = INT64_MAX}, true);
    if (last != NO_RANGE && p->ranges[last].offset + p->ranges[last].bytes == p->end) {
      offset = p->ranges[last].offset; /* the last range grows */
      drop_range(p, last);
    }
    p->end = offset + bytes;
    return offset;
  }
  range *r = &p->ranges[best];
  int64_t offset = r->offset;
  if (r->bytes == bytes) {
    drop_range(p, best);
    return offset;
  }
  leave(p, BY_SIZE, best);
  r->offset += bytes; /* no other range begins between the two: its place by offset stays */
  r->bytes -= bytes;
  enter(p, BY_SIZE, best);
  return offset;
}

static void give(packer *p, int64_t offset, int64_t bytes) {
  range key = {.offset = offset};
  uint32_t before = find(p, BY_OFFSET, &key, true), after = find(p, BY_OFFSET, &key, false);
  if (after != NO_RANGE && offset + bytes == p->ranges[after].offset) {
    bytes += p->ranges[after].bytes;
    drop_range(p, after);
  }
  if (before != NO_RANGE && p->ranges[before].offset + p->ranges[before].bytes == offset) {
    offset = p->ranges[before].offset;
    bytes += p->ranges[before].bytes;
    drop_range(p, before);
  }
  add_range(p, offset, bytes);
}

/* Whether 63 bits hold the sum of all temporaries. */
static bool is_sane(const nxp_temporary *t, uint32_t n) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < n; i++)
    if (t[i].bytes > INT64_MAX - NXP_ALIGNMENT ||
        __builtin_add_overflow(sum, nxp_round_up(t[i].bytes), &sum))
      return false;
  return true;
}

/* Temporaries of the block by the step that ends (or begins) them: heads[step], linked through
 * next. */
static void pack(nxp_plan *plan, packer *p, uint32_t *heads, uint32_t *next) {
  nxp_temporary *t = plan->temporaries;
  const uint32_t n = plan->n_temporaries;
  uint32_t *begins = heads, *ends = heads + plan->n_steps, *next_end = next + n;
  memset(heads, 0xff, 2 * (size_t)plan->n_steps * sizeof *heads);
  for (uint32_t i = n; i-- > 0;) {
    if (!nxp_is_placed(&t[i]) || t[i].output != NXP_NONE) continue;
    next[i] = begins[t[i].first];
    begins[t[i].first] = i;
    next_end[i] = ends[t[i].last];
    ends[t[i].last] = i;
  }
  for (uint32_t step = 0; step < plan->n_steps; step++) {
    for (uint32_t i = begins[step]; i != UINT32_MAX; i = next[i]) {
      t[i].offset = take(p, nxp_round_up(t[i].bytes));
      p->live += nxp_round_up(t[i].bytes);
    }
    if (p->live > p->most_live) p->most_live = p->live;
    for (uint32_t i = ends[step]; i != UINT32_MAX; i = next_end[i]) {
      give(p, t[i].offset, nxp_round_up(t[i].bytes));
      p->live -= nxp_round_up(t[i].bytes);
    }
  }
}

typedef struct resolution {
  nxp_step *step;
  const nxp_temporary *temporaries;
} resolution;

static void resolve(void *user, nxp_location *where, bool writes) {
  const resolution *r = user;
  if (where->kind != NXP_TEMPORARY) return;
  const nxp_temporary *t = &r->temporaries[where->number];
  where->offset += t->offset;
  if (t->output == NXP_NONE) return;
  where->kind = NXP_OUTPUT;
  where->number = t->output;
  r->step->stores = r->step->stores || writes;
}

/* Scratch that nobody needs is nowhere. */
static void drop_scratch(nxp_plan *plan, nxp_step *step) {
  bool control = step->kind == NXP_STEP_CONTROL;
  uint32_t first = step->kind == NXP_STEP_CALL ? step->n_buffers - 2 : 3;
  if (control) first = step->control->n_operands + step->control->c.n_results;
  if (!control && step->kind != NXP_STEP_CALL && step->kind != NXP_STEP_SCATTER) return;
  for (uint32_t i = first; i < step->n_buffers; i++)
    if (plan->temporaries[step->buffers[i].number].bytes == 0)
      step->buffers[i] = (nxp_location){.kind = NXP_NOWHERE, .alias_range = NXP_NO_ALIAS_RANGE};
}

void nxp_plan_set_scratch(nxp_plan *p, const nxp_step *step, uint32_t buffer, int64_t bytes) {
  p->temporaries[step->buffers[buffer].number].bytes = bytes;
}

void nxp_plan_keep(nxp_plan *p, const nxp_step *step, uint32_t buffer) {
  const nxp_location *at = &step->buffers[buffer];
  if (at->kind == NXP_TEMPORARY) p->temporaries[at->number].last = p->n_steps - 1;
}

/* Finds the place of each temporary. False without memory. */
static bool place(nxp_plan *plan, packer *p) {
  const uint32_t n = plan->n_temporaries;
  uint32_t *heads = nxi_malloc((2 * (size_t)plan->n_steps + 1) * sizeof *heads);
  uint32_t *next = nxi_malloc((2 * (size_t)n + 1) * sizeof *next);
  p->ranges = nxi_malloc(((size_t)n + 1) * sizeof *p->ranges);
  bool ok = heads != NULL && next != NULL && p->ranges != NULL && nxp_fit_outputs(plan);
  if (ok) {
    pack(plan, p, heads, next);
    ok = nxp_fit_block(plan, p->most_live, &p->end);
  }
  nxi_free(heads);
  nxi_free(next);
  nxi_free(p->ranges);
  return ok;
}

nx_status nxp_plan_pack(nxp_plan *plan, nxi_diag *d) {
  packer p = {.unused = NO_RANGE, .root = {NO_RANGE, NO_RANGE}};
  bool sane = is_sane(plan->temporaries, plan->n_temporaries);
  for (uint32_t i = 0; i < plan->n_temporaries; i++) plan->temporaries[i].output = NXP_NONE;
  bool ok = !sane || place(plan, &p);
  for (uint32_t i = 0; ok && sane && i < plan->n_steps; i++) {
    resolution r = {&plan->steps[i], plan->temporaries};
    drop_scratch(plan, &plan->steps[i]);
    nxp_each_location(&plan->steps[i], resolve, &r);
  }
  plan->scratch_offset = p.end;
  plan->live_bytes = p.most_live;
  int64_t scratch;
  if (!sane ||
      __builtin_mul_overflow(nxp_round_up(plan->scratch_bytes), (int64_t)plan->threads, &scratch) ||
      __builtin_add_overflow(p.end, scratch, &plan->temporary_bytes))
    plan->temporary_bytes = INT64_MAX; /* a launch cannot have them, and says so */
  nxi_free(plan->temporaries);
  plan->temporaries = NULL;
  return ok ? NX_OK : nxi_oom(d);
}
