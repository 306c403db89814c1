/* SPDX-License-Identifier: ISC */
/* Explains, for people, why a plan was not found: the kind of the difference, and the first node
 * that differs from the nearest plan. The nearest plan is the one whose key has the longest common
 * prefix with the new one, among the newest plans with the same operations if there are any. Nodes
 * have the numbers that they have in the text of the graph: inputs first. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/realize/functions/function.h"
#include "ir/platform/lock.h"
#include "plan_cache.h"
#include "runtime/debug.h"

typedef struct said {
  char *text;
  size_t used;
} said;

/* What does not fit is left out. */
__attribute__((format(printf, 2, 3))) static void say(said *s, const char *format, ...) {
  size_t room = NXI_MISS_TEXT - s->used;
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(s->text + s->used, room, format, arguments);
  va_end(arguments);
  if (n > 0) s->used += (size_t)n < room ? (size_t)n : room - 1;
}

/* ---- the nearest plan */

static uint32_t agreement(const nxi_plan *p, const nxi_run *run) {
  uint32_t n = p->n_key < run->n_key ? p->n_key : run->n_key, i = 0;
  while (i < n && p->key[i] == run->key[i]) i++;
  return i;
}

/* So many plans are looked at, and of these so many with the same operations: where each shape is
 * new, there are hundreds, and reading them all would take a quarter of the time of a small one. */
enum { MOST_LOOKED_AT = 128, MOST_ALIKE = 8 };

static const nxi_plan *nearest(const nxi_plan *made, const nxi_run *run, uint32_t *same) {
  const nxi_plan *best = NULL;
  bool like = false; /* the best one has the same operations */
  int looked_at = 0, n_alike = 0;
  for (const nxi_plan *p = made->older; p && looked_at < MOST_LOOKED_AT && n_alike < MOST_ALIKE;
       p = p->older, looked_at++) {
    bool alike = p->skeleton == made->skeleton;
    n_alike += alike;
    if (p->function != (run->make_graph != NULL) || (like && !alike)) continue;
    uint32_t n = agreement(p, run);
    if (best && like == alike && n <= *same) continue;
    best = p;
    like = alike;
    *same = n;
  }
  return best;
}

/* ---- nodes of a key */

static uint32_t op_of(const uint64_t *w) { return w[0] & 0xffff; }
static int32_t rank_of(const uint64_t *w) { return (int32_t)(w[0] >> 24 & 0xff); }
static nx_dtype dtype_of(const uint64_t *w) { return (nx_dtype)(w[0] >> 16 & 0xff); }
static uint32_t args_of(const uint64_t *w) { return (uint32_t)(w[0] >> 32); }
static bool ends(const uint64_t *w) { return *w == UINT64_MAX; }

/* The number in the text of the node in this slot of the key. */
static uint32_t number_of(const nxi_run *run, uint64_t slot) {
  uint32_t inputs = 0;
  for (uint32_t i = 0; i < run->n_inputs; i++) {
    if (run->inputs[i].slot == slot) return i;
    inputs += run->inputs[i].slot < slot;
  }
  return run->n_inputs + (uint32_t)slot - inputs;
}

static void say_type(said *s, const uint64_t *w) {
  char shape[NXG_SHAPE_TEXT];
  nxg_format_shape(shape, rank_of(w), (const int64_t *)(w + 2));
  say(s, "%s%.50s", nxi_dtypes[dtype_of(w)].name, shape);
}

static void say_args(said *s, const nxi_run *run, const uint64_t *w) {
  const uint64_t *args = w + 2 + rank_of(w) + (uint32_t)w[1];
  for (uint32_t i = 0; i < args_of(w) && i < 8; i++)
    say(s, "%s%%%u", i ? ", " : " ", number_of(run, args[i]));
}

static bool same_words(const uint64_t *a, const uint64_t *b, uint32_t n) {
  return !memcmp(a, b, n * sizeof *a);
}

/* Describes a difference in attributes; operation, dtype, rank and shape of both nodes are the
 * same. */
static void say_attributes(said *s, const uint64_t *a, const uint64_t *b) {
  const int64_t *left = (const int64_t *)(a + 2 + rank_of(a)),
                *right = (const int64_t *)(b + 2 + rank_of(b));
  uint32_t n = (uint32_t)a[1], i = 0;
  while (i < n && left[i] == right[i]) i++;
  if (op_of(a) == NXG_input && i < 2)
    say(s,
        i == 0 ? ": flags %lld, in the nearest plan %lld (1: overwritten, 2: aligned)"
               : ": lies in memory %lld of the run, in the nearest plan in %lld",
        (long long)left[i], (long long)right[i]);
  else if (op_of(a) == NXG_view && i == 0)
    say(s, ": offset %lld, in the nearest plan %lld", (long long)left[0], (long long)right[0]);
  else if (op_of(a) == NXG_view)
    say(s, ": stride %lld of axis %u, in the nearest plan %lld", (long long)left[i], i - 1,
        (long long)right[i]);
  else if (op_of(a) == NXG_full) say(s, ": another constant than in the nearest plan");
  else
    say(s, ": attribute %u is %lld, in the nearest plan %lld", i, (long long)left[i],
        (long long)right[i]);
}

/* Describes how node a of the run differs from the plan's node at the same place. */
static void say_difference(said *s, const nxi_run *run, uint32_t slot, const uint64_t *a,
                           const uint64_t *b) {
  say(s, "node %u: %s ", number_of(run, slot), nxg_ops[op_of(a)].name);
  say_type(s, a);
  if (ends(b)) {
    say(s, ", where the nearest plan ends");
  } else if (op_of(a) != op_of(b)) {
    say(s, ", in the nearest plan %s ", nxg_ops[op_of(b)].name);
    say_type(s, b);
  } else if ((a[0] ^ b[0]) & 0xffff0000 || !same_words(a + 2, b + 2, (uint32_t)rank_of(a))) {
    say(s, ", in the nearest plan ");
    say_type(s, b);
  } else if ((uint32_t)a[1] != (uint32_t)b[1]) {
    say(s, ": %u attributes, in the nearest plan %u", (uint32_t)a[1], (uint32_t)b[1]);
  } else if (!same_words(a + 2 + rank_of(a), b + 2 + rank_of(b), (uint32_t)a[1])) {
    say_attributes(s, a, b);
  } else {
    say(s, " of");
    say_args(s, run, a);
    say(s, ", in the nearest plan of");
    say_args(s, run, b);
  }
}

/* Finds the first node in which the keys differ; the first `same` words are equal. */
static void find_difference(said *s, const nxi_run *run, const nxi_plan *p, uint32_t same) {
  const uint64_t *a = run->key, *b = p->key;
  uint32_t slot = 0;
  for (; !ends(a) && !ends(b) && nxi_key_next(a) - run->key <= same; slot++) {
    a = nxi_key_next(a);
    b = nxi_key_next(b);
  }
  if (!ends(a)) say_difference(s, run, slot, a, b);
  else if (!ends(b)) say(s, "the graph ends where the nearest plan has %s", nxg_ops[op_of(b)].name);
  else say(s, "the nodes are those of the nearest plan, the outputs others");
}

/* ---- calls of functions: the words of each input follow each other */

static void find_input(said *s, const nxi_run *run, uint32_t same) {
  static const char *const what[] = {"whether it is aligned", "whether it shares memory",
                                     "whether its elements lie densely"};
  const nx_function *f = run->user;
  uint32_t inputs = f->n_in + f->n_sources, i = 0;
  while (i + 1 < inputs && run->inputs[i + 1].flags_at <= same) i++;
  uint32_t begin = inputs ? run->inputs[i].flags_at : UINT32_MAX, at = same - begin;
  uint32_t rank = i < f->n_in ? f->graph->nodes[f->graph->inputs[i].node].rank : 0;
  if (begin <= same && at < 5 + rank)
    say(s, "input %u of %s: %s differs from the nearest plan", i, f->graph->name,
        at < 3 ? what[at] : "a stride");
  else say(s, "%s: where its results go differs from the nearest plan", f->graph->name);
}

/* ---- the kind of the difference */

static const char *reason_of(const nxi_plan *p, const nxi_run *run) {
  if ((p->debugging ^ run->debugging) == NXI_KEY_TIGHT) return "memory is short";
  if (p->debugging != run->debugging) return "NX_DEBUG asks for something else";
  if (run->make_graph) return "inputs of the function differ";
  const uint64_t *a = p->key, *b = run->key;
  for (; !ends(a) && !ends(b); a = nxi_key_next(a), b = nxi_key_next(b)) {
    uint32_t rank = (uint32_t)rank_of(a);
    if ((a[0] ^ b[0]) & 0xff0000) return "a dtype differs";
    if ((a[0] ^ b[0]) & 0xff000000 || !same_words(a + 2, b + 2, rank)) return "a shape differs";
    if ((uint32_t)a[1] != (uint32_t)b[1]) return "an attribute differs";
    if (same_words(a + 2 + rank, b + 2 + rank, (uint32_t)a[1])) continue;
    if (op_of(a) == NXG_input) return "alignment, aliasing or what may be overwritten differs";
    if (op_of(a) == NXG_full) return "a constant differs";
    return op_of(a) == NXG_view ? "strides differ" : "an attribute differs";
  }
  return "the operands or outputs differ";
}

const char *nxi_plan_miss(const nxi_plan *made, const nxi_run *run, char detail[NXI_MISS_TEXT]) {
  NXI_HELD(&run->context->run_lock);
  uint32_t same = 0;
  said s = {detail, 0};
  const nxi_plan *p = nearest(made, run, &same);
  const bool alike = p && p->skeleton == made->skeleton;
  detail[0] = 0;
  const char *reason = alike ? reason_of(p, run) : "these operations are new";
  if (!p || p->debugging != run->debugging) return reason;
  if (!run->make_graph) find_difference(&s, run, p, same);
  else if (alike) find_input(&s, run, same);
  return reason;
}
