/* SPDX-License-Identifier: ISC */
/* CUDA graphs: all steps of a plan started by one call. A CUDA graph contains the addresses and
 * parameters of a launch, so a plan keeps one graph for each of a few sets of them. Few are
 * enough for a plan that runs repeatedly, because memory that is freed and allocated again comes
 * back at the same address. A set is captured when it is seen for the second time: launches that
 * do not repeat cost nothing, and what the first run prepares (loaded code, choices of
 * libraries) is ready for the capture.
 *
 * Only plans whose steps do nothing but start work on the GPU have graphs: plans with checks of
 * indices, or with functions that run on the host, have none. */
#include <string.h>

#include "launch.h"
#include "ir/platform/thread.h"
#include "passes/pipeline.h"
#include "runtime/debug.h"

enum {
  FEWEST_STEPS = 3, /* a graph costs about as much as two launches */
  MOST_KEPT = 8,
  MOST_SEEN = 32,
  WORTH = 4, /* launches after which making a graph has paid off */
  MOST_WASTED = 8
};

typedef struct kept {
  uint64_t *key;
  nxi_gpu_graph *graph; /* NULL: the entry is free */
  uint64_t last;        /* number of the last launch that used it */
  uint32_t launches;
} kept;

struct nxi_gpu_graphs {
  nxi_mutex lock;
  uint32_t inputs, outputs, params, words; /* numbers of these in a key */
  uint64_t *key;                           /* key of the current launch */
  uint64_t seen[MOST_SEEN];                /* hashes of keys */
  uint32_t next_seen, wasted;
  uint64_t launches;
  kept kept[MOST_KEPT];
};

/* ---- life */

static bool may_be_captured(const nxi_gpu_plan *own, const nxp_step *s, uint32_t number) {
  const nxi_gpu_functions *functions = own->calls[number].functions;
  if (s->kind == NXP_STEP_CALL) return functions != NULL && functions->captured;
  if (s->kind == NXP_STEP_SCATTER) return own->calls[number].scatter != NULL;
  return s->kind == NXP_STEP_KERNEL || s->kind == NXP_STEP_COPY || s->kind == NXP_STEP_MATMUL;
}

static void at_least(uint32_t *n, uint32_t number) {
  if (*n <= number) *n = number + 1;
}

/* Counts the inputs, outputs and parameters that the steps of the plan use. */
static void measure(const nxp_plan *p, struct nxi_gpu_graphs *all) {
  for (uint32_t i = 0; i < p->n_steps; i++) {
    const nxp_step *s = &p->steps[i];
    for (uint32_t b = 0; b < s->n_buffers; b++) {
      const nxp_location *l = &s->buffers[b];
      if (l->kind == NXP_INPUT) at_least(&all->inputs, l->number);
      if (l->kind == NXP_OUTPUT) at_least(&all->outputs, l->number);
      if (l->alias_range == NXP_NO_ALIAS_RANGE) continue;
      at_least(&all->inputs, l->alias_range);
      at_least(&all->inputs, l->alias_range_of);
    }
    for (uint32_t k = 0; k < s->n_params; k++) at_least(&all->params, s->params[k]);
  }
  all->words = all->inputs + all->outputs + all->params + 1;
}

nx_status nxi_gpu_plan_capture(nxi_executable *e, nxi_diag *d) {
  const nxp_plan *p = e->plan;
  if (p->n_steps < FEWEST_STEPS) return NX_OK;
  for (uint32_t i = 0; i < p->n_steps; i++)
    if (!may_be_captured(nxi_gpu_plan_of(e), &p->steps[i], i)) return NX_OK;
  struct nxi_gpu_graphs *all = nxi_calloc(1, sizeof *all);
  if (all == NULL) return nxi_oom(d);
  measure(p, all);
  all->key = nxi_calloc((size_t)all->words * (MOST_KEPT + 1), sizeof *all->key);
  if (all->key == NULL) {
    nxi_free(all);
    return nxi_oom(d);
  }
  nxi_mutex_init(&all->lock);
  for (uint32_t i = 0; i < MOST_KEPT; i++)
    all->kept[i].key = all->key + (size_t)all->words * (i + 1);
  nxi_gpu_plan_of(e)->graphs = all;
  return NX_OK;
}

void nxi_gpu_graphs_destroy(struct nxi_gpu_graphs *all) {
  if (all == NULL) return;
  for (uint32_t i = 0; i < MOST_KEPT; i++) nxi_gpu_graph_destroy(all->kept[i].graph);
  nxi_mutex_destroy(&all->lock);
  nxi_free(all->key);
  nxi_free(all);
}

/* ---- keys */

static uint64_t make_key(const nxi_launch *l, const struct nxi_gpu_graphs *all) {
  uint64_t *word = all->key, hash = 0;
  for (uint32_t i = 0; i < all->inputs; i++) *word++ = (uint64_t)(uintptr_t)l->inputs[i];
  for (uint32_t i = 0; i < all->outputs; i++) *word++ = (uint64_t)(uintptr_t)l->outputs[i];
  *word++ = (uint64_t)(uintptr_t)l->temporary;
  if (all->params > 0) memcpy(word, l->params, all->params * sizeof *word);
  for (uint32_t i = 0; i < all->words; i++) {
    hash = (hash ^ all->key[i]) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 29;
  }
  return hash | 1;
}

static kept *find(struct nxi_gpu_graphs *all) {
  for (uint32_t i = 0; i < MOST_KEPT; i++) {
    kept *k = &all->kept[i];
    if (k->graph != NULL && memcmp(k->key, all->key, all->words * sizeof *all->key) == 0) return k;
  }
  return NULL;
}

/* Whether this key was seen before; remembers it. */
static bool is_known(struct nxi_gpu_graphs *all, uint64_t hash) {
  for (uint32_t i = 0; i < MOST_SEEN; i++)
    if (all->seen[i] == hash) return true;
  all->seen[all->next_seen++ % MOST_SEEN] = hash;
  return false;
}

static void forget(struct nxi_gpu_graphs *all, kept *k) {
  all->wasted += k->launches < WORTH;
  nxi_gpu_graph_destroy(k->graph);
  k->graph = NULL;
}

/* Returns a free entry; the least recently launched one is dropped if there is none. */
static kept *room(struct nxi_gpu_graphs *all) {
  kept *oldest = &all->kept[0];
  for (uint32_t i = 0; i < MOST_KEPT; i++) {
    kept *k = &all->kept[i];
    if (k->graph == NULL) return k;
    if (k->last < oldest->last) oldest = k;
  }
  forget(all, oldest);
  return oldest;
}

/* ---- launches */

/* Captures a launch. NULL: there is no graph; the steps are then started one by one and report a
 * failure, if there is one. */
static kept *capture(const nxi_executable *e, const nxi_launch *l) {
  struct nxi_gpu_graphs *all = nxi_gpu_plan_of(e)->graphs;
  nxi_poll nobody = {NULL, NULL};
  nxi_diag ignored;
  nxi_diag_clear(&ignored);
  if (!nxi_gpu_capture_begin(nxi_gpu_of(e))) return NULL;
  nx_status status = nxi_gpu_start_steps(e, l, &nobody, &ignored);
  nxi_gpu_graph *graph = nxi_gpu_capture_end(nxi_gpu_of(e), status == NX_OK);
  if (graph == NULL) {
    all->wasted++;
    return NULL;
  }
  kept *k = room(all);
  memcpy(k->key, all->key, all->words * sizeof *all->key);
  k->graph = graph;
  k->launches = 0;
  return k;
}

/* Lock. */
static nx_status launch(const nxi_executable *e, const nxi_launch *l, bool *done, nxi_diag *d) {
  struct nxi_gpu_graphs *all = nxi_gpu_plan_of(e)->graphs;
  nxi_poll poll = {l->poll, l->poll_user};
  uint64_t hash = make_key(l, all);
  kept *k = find(all);
  if (k == NULL && is_known(all, hash)) k = capture(e, l);
  if (k == NULL) return NX_OK;
  nx_status status = nxp_ask(&poll, d);
  if (status != NX_OK) return status;
  nxi_diag own;
  nxi_diag_clear(&own);
  if (nxi_gpu_graph_launch(k->graph, &own) != NX_OK) {
    forget(all, k); /* the steps are started one by one, and report a failure */
    return NX_OK;
  }
  k->last = ++all->launches;
  if (++k->launches == WORTH && all->wasted > 0) all->wasted--;
  *done = true;
  if (l->graph_launches != NULL) ++*l->graph_launches;
  return NX_OK;
}

nx_status nxi_gpu_launch_graph(const nxi_executable *e, const nxi_launch *l, bool *done,
                               nxi_diag *d) {
  struct nxi_gpu_graphs *all = nxi_gpu_plan_of(e)->graphs;
  if (all == NULL || (nxi_debug_flags() & NXI_DEBUG_nographs)) return NX_OK;
  if (!nxi_mutex_try(&all->lock)) return NX_OK; /* another thread is capturing or launching */
  nx_status status = all->wasted < MOST_WASTED ? launch(e, l, done, d) : NX_OK;
  nxi_mutex_unlock(&all->lock);
  return status;
}
