/* SPDX-License-Identifier: ISC */
/* Plans by key. The number of plans is bounded, and the least recently used one is dropped first.
 * The whole key is compared. plan_miss.c explains misses. All functions are called with
 * run_lock. */
#include "plan_cache.h"

#include "background.h"
#include "ir/platform/lock.h"
#include "runtime/record/context.h"

#define XXH_INLINE_ALL
#include <string.h>
#include <xxhash.h>

enum { MOST_PLANS = 512, MOST_WORDS = 1 << 23, BUCKETS = 1024, KINDS = 256, SETS = 256, WAYS = 8 };
enum { ONCE = 16 }; /* plans that were met once and keep what interprets them */
enum { RECENT = 256, RECENT_WORDS = 128 }; /* brief plans, and the most words of their keys */

typedef struct kind {
  uint64_t skeleton;
  double interpreted_ms;
  nxi_alike_code code;
} kind;

struct nxi_plan_cache {
  nxi_plan *buckets[BUCKETS];
  nxi_plan *newest, *oldest;
  uint32_t plans;
  uint64_t words;
  kind kinds[KINDS]; /* each in the only place where it is looked for, until another comes there */
  nxi_stored *stored[SETS][WAYS]; /* in each set the newest comes first */
  nxi_plan *recent[RECENT]; /* brief ones, each where its key is looked for, until another comes */
  nxi_plan *once[ONCE];     /* the newest that were met once; NULL: was met again, or dropped */
  uint32_t next_once;
};

nxi_plan_cache *nxi_plan_cache_create(void) { return nxi_calloc(1, sizeof(nxi_plan_cache)); }

static void plan_free(nxi_plan *p) {
  nxi_executable_destroy(p->interpreted);
  nxi_executable_destroy(p->compiled);
  nxi_executable_destroy(p->at_first);
  nxi_executable_destroy(p->replaced);
  nxi_code_job_destroy(p->later);
  nxi_free(p->key);
  nxi_free(p);
}

static void unlink_use(nxi_plan_cache *cache, nxi_plan *p) {
  if (p->newer) p->newer->older = p->older;
  else cache->newest = p->older;
  if (p->older) p->older->newer = p->newer;
  else cache->oldest = p->newer;
}

static void link_newest(nxi_plan_cache *cache, nxi_plan *p) {
  p->newer = NULL;
  p->older = cache->newest;
  if (cache->newest) cache->newest->newer = p;
  else cache->oldest = p;
  cache->newest = p;
}

/* A place for a key among the recent plans. It need not be good, since keys are compared, but
 * quick. */
static nxi_plan **recent_place(nxi_plan_cache *cache, const uint64_t *key, uint32_t n) {
  uint64_t mixed = n;
  for (uint32_t i = 0; i < n; i++) mixed = (mixed << 7 | mixed >> 57) ^ key[i];
  return &cache->recent[(mixed * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}
_Static_assert(RECENT == 1 << (64 - 56), "a place for each value of the upper bits");

static void leave_recent(nxi_plan_cache *cache, nxi_plan *p) {
  nxi_plan **place = recent_place(cache, p->key, p->n_key);
  if (p->recent && *place == p) *place = NULL;
  p->recent = false;
}

static void leave_once(nxi_plan_cache *cache, nxi_plan *p) {
  if (p->once) cache->once[p->once - 1] = NULL;
  p->once = 0;
}

static void drop(nxi_plan_cache *cache, nxi_plan *p) {
  leave_recent(cache, p);
  leave_once(cache, p);
  nxi_plan **at = &cache->buckets[p->hash[0] % BUCKETS];
  while (*at != p) at = &(*at)->next;
  *at = p->next;
  unlink_use(cache, p);
  cache->plans--;
  cache->words -= p->n_key;
  plan_free(p);
}

void nxi_plan_cache_destroy(nxi_plan_cache *cache) {
  if (!cache) return;
  while (cache->newest) drop(cache, cache->newest);
  for (int i = 0; i < SETS; i++)
    for (int k = 0; k < WAYS; k++) nxi_free(cache->stored[i][k]);
  nxi_free(cache);
}

static void trim(nxi_plan_cache *cache) {
  for (nxi_plan *p = cache->oldest, *newer;
       p && (cache->plans > MOST_PLANS || cache->words > MOST_WORDS); p = newer) {
    newer = p->newer;
    if (p->users == 0) drop(cache, p);
  }
}

/* A hash of the operations only, without shapes, attributes and flags. */
static uint64_t skeleton_of(const nxi_run *run) {
  uint64_t hash = run->device + 1;
  const uint64_t *w = run->key;
  if (run->make_graph) return w[1];
  for (; *w != UINT64_MAX; w = nxi_key_next(w)) hash = XXH3_64bits_withSeed(w, 2, hash);
  return hash;
}

/* ---- graphs of the same operations */

/* True: it was met before. */
static bool note_skeleton(nxi_plan_cache *cache, uint64_t skeleton) {
  kind *k = &cache->kinds[skeleton % KINDS];
  bool met = k->skeleton == skeleton;
  if (!met) *k = (kind){.skeleton = skeleton};
  return met;
}

double nxi_plan_interpreted_ms(const nxi_plan_cache *cache, const nxi_plan *p) {
  const kind *k = &cache->kinds[p->skeleton % KINDS];
  return k->skeleton == p->skeleton ? k->interpreted_ms : p->interpreted_ms;
}

void nxi_plan_count_interpreted(nxi_plan_cache *cache, nxi_plan *p, double ms) {
  note_skeleton(cache, p->skeleton);
  cache->kinds[p->skeleton % KINDS].interpreted_ms += ms;
  p->interpreted_ms += ms;
}

nxi_alike_code nxi_plan_alike_code(const nxi_plan_cache *cache, const nxi_plan *p) {
  const kind *k = &cache->kinds[p->skeleton % KINDS];
  return k->skeleton == p->skeleton ? k->code : NXI_ALIKE_NONE;
}

void nxi_plan_set_alike_code(nxi_plan_cache *cache, const nxi_plan *p, nxi_alike_code code) {
  kind *k = &cache->kinds[p->skeleton % KINDS];
  if (k->skeleton == p->skeleton) k->code = code;
}

/* ---- look-up */

nxi_plan *nxi_plan_find(nxi_plan_cache *cache, const nxi_run *run, bool *is_new, nxi_diag *d) {
  NXI_HELD(&run->context->run_lock);
  XXH128_hash_t hash = {run->bare[0], run->bare[1]};
  if (!run->hashed) hash = XXH3_128bits(run->key, run->n_key * sizeof *run->key);
  nxi_plan **bucket = &cache->buckets[hash.low64 % BUCKETS];
  *is_new = false;
  for (nxi_plan *p = *bucket; p; p = p->next) {
    if (p->hash[0] != hash.low64 || p->hash[1] != hash.high64 || p->n_key != run->n_key) continue;
    if (memcmp(p->key, run->key, run->n_key * sizeof *run->key)) continue;
    unlink_use(cache, p);
    link_newest(cache, p);
    leave_once(cache, p);
    p->users++;
    return p;
  }
  nxi_plan *p = nxi_calloc(1, sizeof *p);
  uint64_t *key = p ? nxi_malloc(run->n_key * sizeof *key) : NULL;
  if (!key) {
    nxi_free(p);
    nxi_oom(d);
    return NULL;
  }
  memcpy(key, run->key, run->n_key * sizeof *key);
  p->key = key;
  p->n_key = run->n_key;
  p->debugging = run->debugging;
  p->hash[0] = hash.low64;
  p->hash[1] = hash.high64;
  p->skeleton = skeleton_of(run);
  p->alike = note_skeleton(cache, p->skeleton);
  p->users = 1;
  p->function = run->make_graph != NULL;
  *is_new = true;
  p->next = *bucket;
  *bucket = p;
  link_newest(cache, p);
  cache->plans++;
  cache->words += p->n_key;
  trim(cache);
  return p;
}

/* Called where the plan was found in the general way. */
static void note_recent(nxi_plan_cache *cache, nxi_plan *p) {
  if (p->recent || p->n_key > RECENT_WORDS || !p->compiled) return;
  if (!(p->function ? nxi_executable_is_quick : nxi_executable_is_brief)(p->compiled)) return;
  nxi_plan **place = recent_place(cache, p->key, p->n_key);
  if (*place) (*place)->recent = false;
  *place = p;
  p->recent = true;
}

/* Word by word: they were just written so, and a wider load waits until they are in the cache. */
static bool same_words(const uint64_t *a, const uint64_t *b, uint32_t n) {
  uint32_t i = 0;
  while (i < n && a[i] == b[i]) i++;
  return i == n;
}

const nxi_executable *nxi_plan_brief(nxi_plan_cache *cache, const uint64_t *key, uint32_t n_key) {
  if (n_key > RECENT_WORDS) return NULL;
  nxi_plan *p = *recent_place(cache, key, n_key);
  if (!p || p->n_key != n_key || !same_words(p->key, key, n_key)) return NULL;
  if (cache->newest != p) {
    unlink_use(cache, p);
    link_newest(cache, p);
  }
  return p->compiled;
}

void nxi_plan_leave(nxi_plan_cache *cache, nxi_plan *p) {
  note_recent(cache, p);
  if (--p->users) return;
  nxi_executable_destroy(p->replaced);
  p->replaced = NULL;
  if (p->compiled) { /* nobody runs the other any more */
    nxi_executable_destroy(p->at_first);
    p->at_first = NULL;
  } else if (!p->interpreted && !p->at_first) {
    drop(cache, p); /* making the plan failed */
  }
}

void nxi_plan_replace(nxi_plan_cache *cache, nxi_plan *p, nxi_executable *compiled) {
  leave_recent(cache, p); /* it may be brief no more */
  p->replaced = p->compiled;
  p->compiled = compiled;
}

/* Where each shape is new, programs would lie in kilobytes of memory each that no cache has. */
void nxi_plan_note_once(nxi_plan_cache *cache, nxi_plan *p) {
  uint32_t place = cache->next_once++ % ONCE;
  nxi_plan *old = cache->once[place];
  if (old) {
    leave_once(cache, old);
    if (!old->users && !old->later) {
      nxi_executable_destroy(old->interpreted);
      old->interpreted = NULL;
    }
  }
  leave_once(cache, p);
  cache->once[place] = p;
  p->once = (uint8_t)(place + 1);
}

/* ---- what plans store */

static void to_front(nxi_stored **set, int k) {
  nxi_stored *s = set[k];
  memmove(set + 1, set, (size_t)k * sizeof *set);
  set[0] = s;
}

const nxi_stored *nxi_plan_stored(nxi_plan_cache *cache, const uint64_t hash[2]) {
  nxi_stored **set = cache->stored[hash[0] % SETS];
  for (int k = 0; k < WAYS && set[k]; k++) {
    if (set[k]->hash[0] != hash[0] || set[k]->hash[1] != hash[1]) continue;
    to_front(set, k);
    return set[0];
  }
  return NULL;
}

bool nxi_plan_note_stored(nxi_plan_cache *cache, const uint64_t hash[2], const uint32_t *slots,
                          uint32_t n) {
  nxi_stored **set = cache->stored[hash[0] % SETS];
  if (nxi_plan_stored(cache, hash)) return true;
  nxi_stored *s = nxi_malloc(sizeof *s + n * sizeof *slots);
  if (!s) return false;
  s->hash[0] = hash[0];
  s->hash[1] = hash[1];
  s->n = n;
  if (n) memcpy(s->slots, slots, n * sizeof *slots);
  nxi_free(set[WAYS - 1]);
  set[WAYS - 1] = s;
  to_front(set, WAYS - 1);
  return true;
}

/* Called in a child of fork, where the threads that were making plans do not exist. */
void nxi_plans_unbusy(nx_context *c) {
  NXI_HELD(&c->run_lock);
  for (nxi_plan *p = c->plans->newest; p; p = p->older) {
    p->busy = false;
    if (p->pending && p->compiled) p->settled = false;
    p->users -= p->pending; /* the thread that was making its code */
    p->pending = false;
  }
  for (int i = 0; i < KINDS; i++)
    if (c->plans->kinds[i].code == NXI_ALIKE_MADE) c->plans->kinds[i].code = NXI_ALIKE_NONE;
  nxi_background_forked(c->background);
}
