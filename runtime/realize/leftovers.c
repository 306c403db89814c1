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
  nx_tensor *const *tensors;
  size_t n;
  nxi_list nodes; /* wanted: one reference each; the first `named` are named or deferred */
  uint32_t named;
  root *roots;       /* of the nodes, in the order of groups */
  uint32_t *parents; /* of groups; a group that is its own parent stands for those below it */
} request;

/* ---- collecting */

static bool add_values(request *r) {
  for (size_t i = 0; i < r->n; i++) {
    nxi_node *value = r->tensors[i]->storage->value;
    if (value->state == NXI_REALIZED) continue;
    if (!nxi_list_add(&r->nodes, value)) return false;
    value->refs++;
  }
  return true;
}

/* Leftovers are collected first, because a named or deferred node that is collected looks as if it
 * had a user. */
static bool collect(request *r) {
  nx_context *c = r->a->context;
  uint32_t flags = r->a->filled.flags;
  nxi_list leftovers = {0};
  if (flags & NX_DO_PENDING) nxi_drain_all(c); /* dead nodes must not count as users */
  nxi_record_lock(c);
  nxi_drain(c, 64);
  bool good = !(flags & NX_DO_PENDING) || nxi_pending_collect(c, &leftovers);
  good = good && add_values(r) && (!flags || nxi_deferred_collect(c, &r->nodes));
  r->named = r->nodes.n;
  uint32_t moved = 0;
  while (good && moved < leftovers.n && nxi_list_add(&r->nodes, leftovers.items[moved])) moved++;
  good = good && moved == leftovers.n;
  while (leftovers.n > moved) nxi_node_unref(c, leftovers.items[--leftovers.n]);
  nxi_record_unlock(c);
  nxi_free(leftovers.items);
  return good;
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

/* Puts all pending nodes below root `group` into its group. Nodes without operands, such as
 * constants and ranges, do not connect groups, because they are shared by unrelated graphs.
 * run_lock. */
static bool mark(nx_context *c, uint32_t *parents, nxi_node *n, uint32_t group, nxi_list *stack) {
  bool good = nxi_list_add(stack, n);
  while (good && stack->n) {
    n = stack->items[--stack->n];
    if (is_exposed(n)) join(parents, group, 0);
    if (n->state != NXI_PENDING || !n->n_args) continue;
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
  r->roots = nxi_malloc((r->nodes.n + 1) * sizeof *r->roots);
  r->parents = nxi_malloc((r->nodes.n + 1) * sizeof *r->parents);
  bool good = r->roots && r->parents;
  for (uint32_t i = 0; good && i <= r->nodes.n; i++) r->parents[i] = i;
  nxi_run_lock(c);
  c->epoch++;
  for (uint32_t i = 0; good && i < r->nodes.n; i++)
    good = mark(c, r->parents, r->nodes.items[i], group_of(r, i), &stack);
  nxi_run_unlock(c);
  for (uint32_t i = 0; good && i < r->nodes.n; i++)
    r->roots[i] = (root){r->nodes.items[i], find(r->parents, group_of(r, i))};
  nxi_free(stack.items);
  if (good) qsort(r->roots, r->nodes.n, sizeof *r->roots, compare_roots);
  return good;
}

/* ---- computing */

/* The number of the first tensor with a value; -1: none. */
static int32_t number_of(const request *r, const nxi_node *value) {
  int32_t number = -1;
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
  nxi_node **nodes = (nxi_node **)r->nodes.items;
  failure first = {0};
  for (uint32_t i = 0; i < r->nodes.n; i++) nodes[i] = r->roots[i].node;
  for (uint32_t begin = 0, end; begin < r->nodes.n; begin = end) {
    uint32_t number = r->roots[begin].group;
    for (end = begin; end < r->nodes.n && r->roots[end].group == number;) end++;
    nx_status status = realize_some(r, nodes + begin, end - begin);
    if (status == NX_INTERRUPTED || (status && number == 0 && r->named)) return status;
    if (status) set_aside(r->a, status, &first);
  }
  return put_back(r->a, &first);
}

static nx_status realize(void *arg) {
  request *r = arg;
  nxi_action *a = r->a;
  nx_context *c = a->context;
  nx_status status = nxi_action_stopped(a);
  if (status) return status;
  bool good = collect(r), grouped = good && r->nodes.n > r->named;
  if (grouped) good = group(r);
  if (!good) status = NX_OUT_OF_MEMORY;
  else if (grouped) status = realize_groups(r);
  else if (r->nodes.n) status = realize_some(r, (nxi_node **)r->nodes.items, r->nodes.n);
  nxi_oom_during(&a->diag, status, "planning");
  nxi_record_lock(c);
  for (uint32_t i = 0; i < r->nodes.n; i++) nxi_node_unref(c, r->nodes.items[i]);
  nxi_deferred_settle(c);
  nxi_record_unlock(c);
  nxi_free(r->nodes.items);
  nxi_free(r->roots);
  nxi_free(r->parents);
  return status;
}

nx_status nxi_realize_tensors(nxi_action *a, nx_tensor *const *t, size_t n) {
  request r = {.a = a, .tensors = t, .n = n};
  bool lasts = a->asked.fn && !a->offloaded && nxi_may_last(a->context);
  return lasts ? nxi_action_work(a, realize, &r) : realize(&r);
}

nx_status nxi_action_asked(nxi_action *a, nx_tensor *const *t, size_t n) {
  nx_status status = nxi_action_stopped(a);
  if (status || !a->filled.flags) return status;
  return nxi_realize_tensors(a, t, n);
}
