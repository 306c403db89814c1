/* SPDX-License-Identifier: ISC */
/* Work that an action does in addition to its own tensors: NX_DO_DEFERRED and NX_DO_PENDING.
 *
 * Leftovers that share no recorded operation are computed in separate runs. In a single run they
 * would form one graph that changes whenever one of them changes, and its kernels would hardly ever
 * be used again; separate graphs recur. The named tensors are one run, as always. All deferred work
 * is in the same run, and so is everything that reads or writes memory that host code may write,
 * because such memory may overlap, and a run reads all of it before it writes. */
#include <stdlib.h>
#include <string.h>

#include "run.h"
#include "runtime/record/objects.h"
#include "runtime/record/pending.h"

typedef struct root {
  nxi_node *node; /* one reference */
  uint32_t group; /* 0: the group of the named tensors */
} root;

typedef struct request {
  nxi_action *a;
  nx_tensor *const *tensors; /* NULL: `values` tells them */
  size_t n;
  nxi_wanted *w;
  nxi_node **nodes; /* all wanted, w->nodes first, which are `named` */
  uint32_t n_nodes, named;
  root *roots;       /* of the nodes, in the order of groups */
  uint32_t *parents; /* of groups; a group that is its own parent stands for those below it */
} request;

/* ---- collecting */

static bool add_value(nxi_wanted *w, const nxi_storage *s) {
  nxi_node *value = s->value->state == NXI_REALIZED ? NULL : s->value;
  if (w->numbered && !nxi_list_add(&w->values, value)) return false;
  if (!value) return true;
  if (!nxi_list_add(&w->nodes, value)) return false;
  value->refs++;
  return true;
}

bool nxi_wanted_collect(nx_context *c, uint32_t flags, nx_tensor *const *t, size_t n,
                        nxi_wanted *w) {
  if (flags & NX_DO_PENDING) nxi_drain_all(c); /* what is dead waits no longer */
  nxi_record_lock(c);
  nxi_drain(c, 64);
  bool good = !(flags & NX_DO_PENDING) || nxi_pending_collect(c, &w->leftovers);
  for (size_t i = 0; good && i < n; i++) good = add_value(w, t[i]->storage);
  good = good && (!flags || nxi_deferred_collect(c, &w->nodes));
  nxi_record_unlock(c);
  return good;
}

bool nxi_wanted_reserve(nxi_wanted *w, uint32_t n) {
  return nxi_grow(&w->nodes.items, &w->nodes.capacity, w->nodes.n + n, sizeof(void *)) &&
         nxi_grow(&w->values.items, &w->values.capacity, w->values.n + n, sizeof(void *));
}

void nxi_wanted_add(nxi_wanted *w, const nxi_storage *s) { add_value(w, s); }

static void unref_all(nx_context *c, nxi_list *nodes) {
  for (uint32_t i = 0; i < nodes->n; i++) nxi_node_unref(c, nodes->items[i]);
  nxi_free(nodes->items);
  *nodes = (nxi_list){0};
}

void nxi_wanted_drop(nx_context *c, nxi_wanted *w) {
  nxi_record_lock(c);
  unref_all(c, &w->nodes);
  unref_all(c, &w->leftovers);
  nxi_deferred_settle(c);
  nxi_record_unlock(c);
  nxi_free(w->values.items);
  w->values = (nxi_list){0};
}

/* ---- groups */

static uint32_t find(uint32_t *parents, uint32_t group) {
  while (parents[group] != group) group = parents[group] = parents[parents[group]];
  return group;
}

static void join(uint32_t *parents, uint32_t a, uint32_t b) {
  a = find(parents, a);
  b = find(parents, b);
  if (a < b) parents[b] = a;
  else parents[a] = b;
}

/* Whether host code may write the value's memory, or another import may overlap it. */
static bool is_exposed(const nxi_node *n) {
  uint8_t flags = atomic_load_explicit(&n->flags, memory_order_relaxed);
  if (flags & NXI_NODE_EXPOSED) return true;
  return flags & NXI_NODE_FOREIGN && n->buffer && !n->buffer->immutable &&
         !atomic_load_explicit(&n->buffer->given, memory_order_relaxed);
}

/* Constants, also spread out to a shape, and ranges: unrelated graphs share them. */
static bool is_common(nxi_node *n) {
  while (n->op == NXG_view && n->state == NXI_PENDING) n = nxi_node_args(n)[0];
  return !n->n_args && n->state == NXI_PENDING;
}

/* Puts all pending nodes below root `group` into its group. What is common does not connect groups.
 * run_lock. */
static bool mark(nx_context *c, uint32_t *parents, nxi_node *n, uint32_t group, nxi_list *stack) {
  bool good = nxi_list_add(stack, n);
  while (good && stack->n) {
    n = stack->items[--stack->n];
    if (is_exposed(n)) join(parents, group, 0);
    if (n->state != NXI_PENDING || is_common(n)) continue;
    if (n->epoch == c->epoch) {
      join(parents, group, n->index);
      continue;
    }
    n->epoch = c->epoch;
    n->index = group;
    for (uint32_t i = 0; good && i < n->n_args; i++)
      good = nxi_list_add(stack, nxi_node_args(n)[i]);
  }
  return good;
}

static int compare_roots(const void *left, const void *right) {
  const root *a = left, *b = right;
  if (a->group != b->group) return a->group < b->group ? -1 : 1;
  return (a->node->id > b->node->id) - (a->node->id < b->node->id);
}

static uint32_t group_of(const request *r, uint32_t i) { return i < r->named ? 0 : i + 1; }

static bool group(request *r) {
  nx_context *c = r->a->context;
  nxi_list stack = {0};
  r->roots = nxi_malloc((r->n_nodes + 1) * sizeof *r->roots);
  r->parents = nxi_malloc((r->n_nodes + 1) * sizeof *r->parents);
  bool good = r->roots && r->parents;
  for (uint32_t i = 0; good && i <= r->n_nodes; i++) r->parents[i] = i;
  nxi_run_lock(c);
  c->epoch++;
  for (uint32_t i = 0; good && i < r->n_nodes; i++)
    good = mark(c, r->parents, r->nodes[i], group_of(r, i), &stack);
  nxi_run_unlock(c);
  for (uint32_t i = 0; good && i < r->n_nodes; i++)
    r->roots[i] = (root){r->nodes[i], find(r->parents, group_of(r, i))};
  nxi_free(stack.items);
  if (good) qsort(r->roots, r->n_nodes, sizeof *r->roots, compare_roots);
  return good;
}

/* ---- computing */

/* The number of the first tensor with a value; -1: none. */
static int32_t number_of(const request *r, const nxi_node *value) {
  const nxi_list *values = &r->w->values;
  int32_t number = -1;
  for (uint32_t i = 0; number < 0 && i < values->n; i++)
    if (values->items[i] == value) number = (int32_t)i;
  nxi_record_lock(r->a->context);
  for (size_t i = 0; number < 0 && i < r->n && i <= INT32_MAX; i++)
    if (r->tensors[i]->storage->value == value) number = (int32_t)i;
  nxi_record_unlock(r->a->context);
  return number;
}

static nx_status realize_some(request *r, nxi_node *const *nodes, uint32_t n) {
  nxi_action *a = r->a;
  nx_status status = nxi_realize_nodes(a, nodes, n);
  if (status && a->blamed && a->output >= 0) a->output = number_of(r, nodes[a->output]);
  return status;
}

/* The first failure, kept while the other groups are computed. */
typedef struct failure {
  nx_status status;
  nxi_diag diag;
  bool blamed;
  uint64_t tag;
  int32_t output;
  char tag_text[sizeof((nxi_action *)0)->tag_text];
} failure;

static void set_aside(nxi_action *a, nx_status status, failure *f) {
  if (!f->status) {
    *f = (failure){status, a->diag, a->blamed, a->tag, a->output, ""};
    memcpy(f->tag_text, a->tag_text, sizeof f->tag_text);
  }
  nxi_diag_clear(&a->diag);
  a->blamed = false;
}

static nx_status put_back(nxi_action *a, const failure *f) {
  if (!f->status) return NX_OK;
  a->diag = f->diag;
  a->blamed = f->blamed;
  a->tag = f->tag;
  a->output = f->output;
  memcpy(a->tag_text, f->tag_text, sizeof a->tag_text);
  return f->status;
}

/* Realises one group after the other. */
static nx_status realize_groups(request *r) {
  nxi_node **nodes = r->nodes;
  failure first = {0};
  for (uint32_t i = 0; i < r->n_nodes; i++) nodes[i] = r->roots[i].node;
  for (uint32_t begin = 0, end; begin < r->n_nodes; begin = end) {
    uint32_t number = r->roots[begin].group;
    for (end = begin; end < r->n_nodes && r->roots[end].group == number;) end++;
    nx_status status = realize_some(r, nodes + begin, end - begin);
    if (status == NX_INTERRUPTED || (status && number == 0 && r->named)) return status;
    if (status) set_aside(r->a, status, &first);
  }
  return put_back(r->a, &first);
}

/* The same of all that is left over, too, in groups. */
static nx_status realize_all(request *r) {
  const nxi_wanted *w = r->w;
  r->named = w->nodes.n;
  r->n_nodes = w->nodes.n + w->leftovers.n;
  r->nodes = nxi_malloc(r->n_nodes * sizeof *r->nodes);
  if (!r->nodes) return nxi_oom(&r->a->diag);
  if (w->nodes.n) memcpy(r->nodes, w->nodes.items, w->nodes.n * sizeof *r->nodes);
  memcpy(r->nodes + r->named, w->leftovers.items, w->leftovers.n * sizeof *r->nodes);
  nx_status status = group(r) ? realize_groups(r) : nxi_oom(&r->a->diag);
  nxi_free(r->nodes);
  nxi_free(r->roots);
  nxi_free(r->parents);
  return status;
}

static nx_status realize_wanted(request *r) {
  const nxi_list *nodes = &r->w->nodes;
  nx_status status = NX_OK;
  if (r->w->leftovers.n) status = realize_all(r);
  else if (nodes->n) status = realize_some(r, (nxi_node **)nodes->items, nodes->n);
  return nxi_oom_during(&r->a->diag, status, "planning");
}

nx_status nxi_wanted_realize(nxi_action *a, nxi_wanted *w) {
  request r = {.a = a, .w = w};
  return realize_wanted(&r);
}

static nx_status realize(void *arg) {
  request r = *(request *)arg;
  nxi_action *a = r.a;
  nxi_wanted w = {0};
  nx_status status = nxi_action_stopped(a);
  if (status) return status;
  r.w = &w;
  if (nxi_wanted_collect(a->context, a->filled.flags, r.tensors, r.n, &w))
    status = realize_wanted(&r);
  else status = nxi_oom_during(&a->diag, NX_OUT_OF_MEMORY, "planning");
  nxi_wanted_drop(a->context, &w);
  return status;
}

/* Whether the one tensor, of an action that asks for nothing else, is realised now. No lock. */
static bool realized_now(const nxi_action *a, nx_tensor *const *t, size_t n) {
  bool suits = n == 1 && !a->filled.flags && !nxi_poll_briefly && nxi_brief_suits(a);
  nxi_brief locked = NXI_BRIEF_NOT;
  if (suits) locked = nxi_brief_lock(a->context, t[0]->storage, false, !a->filled.poll);
  if (locked) nxi_brief_unlock(a->context, locked);
  return locked != NXI_BRIEF_NOT;
}

nx_status nxi_realize_tensors(nxi_action *a, nx_tensor *const *t, size_t n) {
  nx_status stopped = nxi_action_stopped(a);
  if (stopped || realized_now(a, t, n)) return stopped;
  request r = {.a = a, .tensors = t, .n = n};
  bool lasts = a->asked.fn && !a->offloaded && nxi_may_last(a->context);
  return lasts ? nxi_action_work(a, realize, &r) : realize(&r);
}

nx_status nxi_action_asked(nxi_action *a, nx_tensor *const *t, size_t n) {
  nx_status status = nxi_action_stopped(a);
  if (status || !a->filled.flags) return status;
  return nxi_realize_tensors(a, t, n);
}
