/* SPDX-License-Identifier: ISC */
/* Loads the code of all kernels of a plan on the threads of the pool. Kernels of one kind are
 * loaded one after the other by one thread, since the first of them decides how later ones share
 * code (runtime/cache/generic.h): as many are compiled as if there were one thread. Of a kind that
 * is new and has few different kernels, each is compiled as it is, and by whoever is free. */
#include <stdatomic.h>
#include <stdlib.h>

#include "internal.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "ir/platform/clock.h"
#include "ir/platform/thread.h"
#include "passes/pipeline.h"

enum { FEW = 3, MANY = 8 };
typedef struct loading {
  uint32_t number; /* of the kernel */
  nxi_kernel_kind kind;
  bool may_lack;     /* code that is not there is done without */
  bool may_haste;    /* code that is not there is first made in haste */
  bool may_call;     /* so that it calls functions */
  bool hasty;        /* that was done */
  uint64_t integers; /* of a kernel that is compiled as it is: a hash of them */
  size_t weight;     /* instructions of all kernels that one thread loads */
  nx_status status;
  nxi_compile_report report;
  nxi_diag d;
} loading;

typedef struct loadings {
  nxi_executable *executable;
  const nxi_poll *poll;  /* asked by the first worker, which is the caller */
  loading *of;           /* those of one group beside each other, the heaviest group first */
  uint32_t n, n_groups;  /* a group: what one thread loads, of one kind */
  _Atomic uint32_t next; /* the first loading that nobody has begun */
  _Atomic bool stopped;  /* by the poll, or since a kernel failed */
  nx_status asked;       /* what the poll said */
  nxi_diag d;
} loadings;

/* ---- their order */

static int by_kind(const void *a, const void *b) {
  const loading *x = a, *y = b;
  if (x->kind.number != y->kind.number) return x->kind.number < y->kind.number ? -1 : 1;
  if (x->integers != y->integers) return x->integers < y->integers ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

static int by_weight(const void *a, const void *b) {
  const loading *x = a, *y = b;
  if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
  return by_kind(a, b);
}

static uint32_t end_of_group(const loadings *all, uint32_t first) {
  const loading *l = &all->of[first];
  uint32_t end = first + 1;
  while (l->kind.number != 0 && end < all->n && all->of[end].kind.number == l->kind.number &&
         all->of[end].integers == l->integers)
    end++;
  return end;
}

/* ---- kinds of many kernels, and of few */

static bool same_integers(const nxi_kernel_kind *a, const nxi_kernel_kind *b) {
  for (uint32_t i = 0; i < a->n_holes; i++)
    if (a->holes[i].value != b->holes[i].value) return false;
  return true;
}

/* How many kernels of a kind differ, up to MANY. */
static uint32_t count_different(const loading *l, uint32_t n) {
  const nxi_kernel_kind *met[MANY];
  uint32_t n_met = 0;
  for (uint32_t i = 0; i < n && n_met < MANY; i++) {
    uint32_t k = 0;
    while (k < n_met && !same_integers(met[k], &l[i].kind)) k++;
    if (k == n_met) met[n_met++] = &l[i].kind;
  }
  return n_met;
}

/* Whether code is only looked for; what is done without it comes after that. */
static bool is_found_only(const nxi_executable *e, const loading *l) {
  return e->options.found_only || l->may_lack || l->may_haste;
}

/* A special form of the first of many kernels of a kind would be a compilation for one of many
 * steps. And the code that serves all of them is made knowing all of them, once and not in haste.
 */
static void expect_all(const loadings *all, uint32_t first, uint32_t end) {
  for (uint32_t i = first; i < end; i++) {
    loading *l = &all->of[i];
    nxi_kernel_expect(all->executable->options.kernels, &l->kind);
    l->may_haste = l->may_call;
    l->kind.found_only = is_found_only(all->executable, l);
  }
}

static uint64_t hash_of_integers(const nxi_kernel_kind *k) {
  uint64_t hash = 0;
  for (uint32_t i = 0; i < k->n_holes; i++)
    hash = XXH3_64bits_withSeed(&k->holes[i].value, sizeof k->holes[i].value, hash);
  return hash | 1;
}

/* Code whose integers are parameters takes longer to make than that of two or three kernels, and
 * nothing is made beside it. */
static void set_apart(const loadings *all, uint32_t first, uint32_t end) {
  for (uint32_t i = first; i < end; i++) {
    all->of[i].kind.apart = true;
    all->of[i].integers = hash_of_integers(&all->of[i].kind);
  }
}

static bool may_be_apart(const loadings *all, const nxi_kernel_kind *k) {
  return !k->varies && !k->all && !nxp_debugging.generic &&
         !nxi_kernel_met(all->executable->options.kernels, k);
}

static void choose_forms(const loadings *all) {
  for (uint32_t first = 0, end; first < all->n; first = end) {
    const nxi_kernel_kind *kind = &all->of[first].kind;
    end = end_of_group(all, first);
    if (kind->number == 0 || end - first < 2) continue;
    uint32_t different = count_different(&all->of[first], end - first);
    if (different >= MANY) expect_all(all, first, end);
    else if (different > 1 &&
             (all->of[first].may_haste || (different <= FEW && may_be_apart(all, kind))))
      set_apart(all, first, end);
  }
}

/* The longest compilation begins first, or one thread would be busy with it in the end. */
static void sort_loadings(loadings *all) {
  const nxp_plan *p = all->executable->plan;
  qsort(all->of, all->n, sizeof *all->of, by_kind);
  choose_forms(all);
  qsort(all->of, all->n, sizeof *all->of, by_kind);
  for (uint32_t first = 0, end; first < all->n; first = end) {
    size_t weight = 0;
    end = end_of_group(all, first);
    for (uint32_t i = first; i < end; i++) weight += p->kernels[all->of[i].number].ir->n_instrs;
    for (uint32_t i = first; i < end; i++) all->of[i].weight = weight;
    all->n_groups++;
  }
  qsort(all->of, all->n, sizeof *all->of, by_weight);
}

/* What is found out about the kernels of a plan before any is loaded. */
typedef struct wants {
  bool *needed, *may_lack;
  double *work;
} wants;

static bool find_wants(const nxi_executable *e, wants *w) {
  const nxp_plan *p = e->plan;
  w->needed = nxi_malloc(p->n_kernels + 1);
  w->may_lack = nxi_calloc((size_t)p->n_kernels + 1, 1);
  w->work = nxi_malloc((p->n_kernels + 1) * sizeof *w->work);
  if (w->needed == NULL || w->may_lack == NULL || w->work == NULL) return false;
  nxi_find_needed(p, w->needed);
  if (e->options.at_first && !e->options.in_body && !p->options.on_gpu)
    nxi_may_lack_code(p, w->may_lack, w->work);
  return true;
}

static void free_wants(wants *w) {
  nxi_free(w->needed);
  nxi_free(w->may_lack);
  nxi_free(w->work);
}

static void fill_loading(const nxi_executable *e, uint32_t number, bool may_lack, loading *l) {
  const nxp_plan *p = e->plan;
  *l = (loading){.number = number, .may_lack = may_lack};
  if (p->options.on_gpu) return;
  const bool first =
      e->options.at_first && !e->options.in_body && !e->options.found_only && !may_lack;
  l->may_call = first && nxi_calls_pay(p->kernels[number].ir, &p->target);
  l->may_haste = l->may_call || (first && !p->kernels[number].varies &&
                                 nxi_haste_pays(p->kernels[number].ir, &p->target));
  l->kind = nxi_kind_of(p->kernels[number].ir);
  l->kind.all = p->kernels[number].varies;
  l->kind.special = e->options.special && !l->kind.all;
  l->kind.varies = e->options.varies && !l->kind.special;
  l->kind.found_only = is_found_only(e, l);
}

static bool make_loadings(loadings *all) {
  const nxi_executable *e = all->executable;
  const uint32_t n = e->plan->n_kernels;
  wants w = {0};
  all->of = nxi_calloc((size_t)n + 1, sizeof *all->of);
  bool done = all->of != NULL && find_wants(e, &w);
  for (uint32_t i = 0; done && i < n; i++)
    if (w.needed[i]) fill_loading(e, i, w.may_lack[i], &all->of[all->n++]);
  free_wants(&w);
  if (done) sort_loadings(all);
  else nxi_free(all->of);
  return done;
}

static void free_loadings(loadings *all) {
  for (uint32_t i = 0; i < all->n; i++) nxi_kind_free(&all->of[i].kind);
  nxi_free(all->of);
}

/* ---- loading */

/* Takes the kernels of a group. False: none are left, or the work is to stop. */
static bool take_group(loadings *all, uint32_t *first, uint32_t *end) {
  *first = atomic_load(&all->next);
  do {
    if (*first >= all->n || atomic_load(&all->stopped)) return false;
    *end = end_of_group(all, *first);
  } while (!atomic_compare_exchange_weak(&all->next, first, *end));
  return true;
}

/* Code that is made in haste, and replaced later. */
static void load_hasty(nxi_executable *e, loading *l) {
  const nxi_kernel_kind kind = {.hasty = true, .calls = l->may_call};
  nxi_diag_clear(&l->d);
  l->report = (nxi_compile_report){0};
  l->hasty = true;
  l->status = nxi_load_kernel(e, l->number, &kind, &l->report, &l->d);
}

/* Those that are loaded already have no IR any more. */
static void load_one(loadings *all, loading *l, int worker) {
  const nxp_plan *p = all->executable->plan;
  if (worker == 0) all->asked = nxp_ask(all->poll, &all->d);
  bool goes_on = (worker != 0 || all->asked == NX_OK) && !atomic_load(&all->stopped);
  if (goes_on && p->kernels[l->number].ir != NULL) {
    nxi_diag_clear(&l->d);
    l->status = nxi_load_kernel(all->executable, l->number, &l->kind, &l->report, &l->d);
    if (l->may_lack && l->report.absent) l->status = NX_OK;
    if (l->may_haste && l->report.absent) load_hasty(all->executable, l);
  }
  if (!goes_on || l->status != NX_OK) atomic_store(&all->stopped, true);
}

static void load_groups(void *arg, int worker, int64_t first_share, int64_t end_share) {
  loadings *all = arg;
  uint32_t i, end;
  (void)first_share, (void)end_share; /* who is free takes what is left */
  while (take_group(all, &i, &end))
    for (; i < end; i++) load_one(all, &all->of[i], worker);
}

/* Loads all kernels that are not loaded yet. */
static void load_with(loadings *all, nxi_pool *pool) {
  int32_t size = nxi_pool_size(pool);
  int64_t shares = all->n_groups < (uint32_t)size ? all->n_groups : (uint32_t)size;
  atomic_store(&all->next, 0);
  atomic_store(&all->stopped, false);
  for (uint32_t i = 0; i < all->n; i++) all->of[i].status = NX_OK;
  nx_status status = nxi_pool_run_polled(pool, all->poll, load_groups, all, shares, 1);
  if (status == NX_OK || all->asked != NX_OK) return;
  all->asked = nxi_fail(&all->d, status, "", "%s", nx_status_sentence(status));
}

/* The loading that failed; NULL: none. */
static const loading *failed(const loadings *all) {
  const loading *found = NULL;
  for (uint32_t i = 0; i < all->n; i++)
    if (all->of[i].status != NX_OK && (found == NULL || found->status == NX_OUT_OF_MEMORY))
      found = &all->of[i];
  return found;
}

/* compile_ms: as much time as passed, at most. */
static void add_up(const loadings *all, double ms, nxi_compile_report *report) {
  nxp_plan *p = all->executable->plan;
  double compile_ms = 0;
  for (uint32_t i = 0; i < all->n; i++) {
    const nxi_compile_report *one = &all->of[i].report;
    report->kernel_hits += one->kernel_hits;
    report->kernel_disk_hits += one->kernel_disk_hits;
    report->kernel_misses += one->kernel_misses;
    report->generic_hits += one->generic_hits;
    report->generic_misses += one->generic_misses;
    compile_ms += one->compile_ms;
    if (!all->of[i].kind.all) all->executable->shares += one->generic_hits + one->generic_misses;
    all->executable->lacks = all->executable->lacks || one->absent || all->of[i].hasty;
    const int64_t scratch = p->kernels[all->of[i].number].scratch_bytes;
    if (scratch > p->scratch_bytes) p->scratch_bytes = scratch;
  }
  report->compile_ms += compile_ms < ms ? compile_ms : ms;
}

/* Stages are shown in the order of kernels; and how much stack the threads of the library's user
 * have is not known. */
static nxi_pool *helpers(const nxi_executable *e, uint32_t n_groups) {
  bool alone = n_groups < 2 || nxp_wanted("generic");
  alone = alone || !nxi_threads_have_heaps();
  return !alone && nxi_pool_has_threads(e->options.pool) ? e->options.pool : NULL;
}

/* What finds no memory while others are compiled is tried again alone. */
nx_status nxi_load_together(nxi_executable *e, const nxi_poll *poll, nxi_compile_report *report,
                            nxi_diag *d) {
  loadings all = {.executable = e, .poll = poll};
  double began = nxi_now_ms();
  if (!make_loadings(&all)) return nxi_oom(d);
  nxi_pool *pool = helpers(e, all.n_groups);
  nxi_diag_clear(&all.d);
  load_with(&all, pool);
  const loading *bad = failed(&all);
  if (bad != NULL && bad->status == NX_OUT_OF_MEMORY && pool != NULL) {
    load_with(&all, NULL);
    bad = failed(&all);
  }
  nx_status status = all.asked != NX_OK ? all.asked : bad != NULL ? bad->status : NX_OK;
  if (status != NX_OK && d->status == NX_OK) *d = bad != NULL ? bad->d : all.d;
  if (bad != NULL)
    nxi_oom_during(d, status, "compiling kernel %.64s", e->plan->kernels[bad->number].name);
  if (status == NX_OK) add_up(&all, nxi_now_ms() - began, report);
  else report->absent = bad != NULL && bad->report.absent;
  free_loadings(&all);
  return status;
}
