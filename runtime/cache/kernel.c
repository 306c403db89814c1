/* SPDX-License-Identifier: ISC */
/* The map of compiled kernels: a chained hash table and a list in the order of use, under one lock.
 * A thread that does not find a key enters it as pending and compiles without holding the lock;
 * other threads wait for it. */
#include "kernel_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/platform/clock.h"
#include "ir/platform/thread.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "code_id.h"
#include "ir/platform/fork.h"
#include "ir/platform/exit.h"
#include "ir/kernel_abi.h"
#include "ir/platform/lock.h"

enum { DEFAULT_KERNELS = 4096 };
static const size_t default_code_bytes = (size_t)128 << 20;

/* ---- kernels */

void nxi_kernel_retain(nxi_kernel *k) {
  atomic_fetch_add_explicit(&k->references, 1, memory_order_relaxed);
}

void nxi_kernel_release(nxi_kernel *k) {
  if (!k || atomic_fetch_sub_explicit(&k->references, 1, memory_order_acq_rel) != 1) return;
  k->maker->unload(k->code);
  nxi_kernel_release(k->shared);
  nxi_free(k->values);
  nxi_free(k);
}

const nxi_kernel_info *nxi_kernel_describe(const nxi_kernel *k) { return &k->info; }
const void *nxi_kernel_code(const nxi_kernel *k) { return k->shared ? k->shared->code : k->code; }

static nxi_kernel *make_kernel(const nxi_code_maker *maker, const char *isa, const void *key,
                               size_t key_size, uint64_t hash) {
  nxi_kernel *k = nxi_calloc(1, sizeof *k + key_size);
  if (!k) return NULL;
  atomic_init(&k->references, 2);
  k->maker = maker;
  k->hash = hash;
  snprintf(k->isa, sizeof k->isa, "%s", isa);
  k->key_size = key_size;
  memcpy(k->key, key, key_size);
  return k;
}

/* ---- the map; all under the lock */

static nxi_kernel *find(const nxi_kernel_cache *c, const char *isa, const void *key,
                        size_t key_size, uint64_t hash) {
  NXI_HELD(&c->lock);
  nxi_kernel *k = c->buckets[hash % NXI_KERNEL_BUCKETS];
  while (k && !(k->hash == hash && k->key_size == key_size && memcmp(k->key, key, key_size) == 0 &&
                strcmp(k->isa, isa) == 0))
    k = k->chain;
  return k;
}

static void enter(nxi_kernel_cache *c, nxi_kernel *k) {
  NXI_HELD(&c->lock);
  nxi_kernel **head = &c->buckets[k->hash % NXI_KERNEL_BUCKETS];
  k->chain = *head;
  *head = k;
  k->listed = true;
}

static void link_newest(nxi_kernel_cache *c, nxi_kernel *k) {
  NXI_HELD(&c->lock);
  k->newer = NULL;
  k->older = c->newest;
  if (c->newest) c->newest->newer = k;
  else c->oldest = k;
  c->newest = k;
}

static void unlink_use(nxi_kernel_cache *c, nxi_kernel *k) {
  NXI_HELD(&c->lock);
  if (k->newer) k->newer->older = k->older;
  else c->newest = k->older;
  if (k->older) k->older->newer = k->newer;
  else c->oldest = k->newer;
}

/* The code of others is used with every kernel that it serves; so it leaves the map after them, and
 * its memory is then free, unless it is in use. */
static void use_again(nxi_kernel_cache *c, nxi_kernel *k) {
  NXI_HELD(&c->lock);
  nxi_kernel *each[2] = {k, k->shared};
  for (int i = 0; i < 2 && each[i] != NULL && each[i]->listed; i++) {
    unlink_use(c, each[i]);
    link_newest(c, each[i]);
  }
}

static void remove_listed(nxi_kernel_cache *c, nxi_kernel *k) {
  NXI_HELD(&c->lock);
  nxi_kernel **at = &c->buckets[k->hash % NXI_KERNEL_BUCKETS];
  while (*at != k) at = &(*at)->chain;
  *at = k->chain;
  k->listed = false;
}

static void keep_ready(nxi_kernel_cache *c, nxi_kernel *k) {
  link_newest(c, k);
  c->n_ready++;
  c->stats.kernels += k->shared == NULL;
  c->stats.code_bytes += (int64_t)k->info.code_bytes;
}

/* Takes a ready kernel out of the map, whose reference is the caller's then. */
static void leave_map(nxi_kernel_cache *c, nxi_kernel *k) {
  NXI_HELD(&c->lock);
  unlink_use(c, k);
  remove_listed(c, k);
  if (k->general) nxi_generics_forget(c->generics, k);
  c->n_ready--;
  c->stats.kernels -= k->shared == NULL;
  c->stats.code_bytes -= (int64_t)k->info.code_bytes;
}

/* Removes the least recently used kernels until the limits hold; the caller releases the returned
 * chain without the lock. */
static nxi_kernel *evict(nxi_kernel_cache *c) {
  NXI_HELD(&c->lock);
  nxi_kernel *gone = NULL;
  while (c->oldest && c->oldest != c->newest &&
         (c->n_ready > c->max_kernels || c->stats.code_bytes > (int64_t)c->max_bytes)) {
    nxi_kernel *k = c->oldest;
    leave_map(c, k);
    c->stats.evictions++;
    k->chain = gone;
    gone = k;
  }
  return gone;
}

static void release_chain(nxi_kernel *k) {
  while (k) {
    nxi_kernel *next = k->chain;
    nxi_kernel_release(k);
    k = next;
  }
}

/* ---- fork: in the child LLVM's own locks and tables would be in the state in which a thread of
 * the parent had them, so fork waits until no thread is inside LLVM. Kernels that the parent's
 * threads were compiling are dropped in the child. */

static void before_fork(void *object) {
  nxi_kernel_cache *c = object;
  nxi_shared_lock_write(&c->inside_llvm);
  nxi_lock_take(&c->lock);
}

static void after_fork(void *object) {
  nxi_kernel_cache *c = object;
  nxi_lock_give(&c->lock);
  nxi_shared_lock_give(&c->inside_llvm);
}

static void after_fork_in_child(void *object) {
  nxi_kernel_cache *c = object;
  for (uint32_t i = 0; i < NXI_KERNEL_BUCKETS; i++)
    for (nxi_kernel **at = &c->buckets[i]; *at;) {
      nxi_kernel *k = *at;
      if (k->state != PENDING) {
        at = &k->chain;
        continue;
      }
      *at = k->chain; /* the thread that was compiling it does not exist here */
      k->listed = false;
    }
  nxi_condition_init(&c->settled);
  nxi_lock_give(&c->lock);
  nxi_shared_lock_init(&c->inside_llvm, true); /* its owner has another thread id in the child */
}

static const nxi_fork_hooks fork_hooks = {before_fork, after_fork, after_fork_in_child};

/* ---- life of a cache */

/* Entries for another LLVM, processor, calling convention or version of the code generator are
 * never found. */
static nx_status open_disk(const nxi_code_maker *maker, const char *directory, nxi_disk_cache **out,
                           nxi_diag *d) {
  nxi_text environment = {0};
  nxi_text_add(&environment, "abi %d; code %s; %s", NXI_KERNEL_ABI, NX_CODE_ID,
               maker->environment());
  nxi_disk_options options = {.directory = directory, .environment = environment.data};
  nx_status s = environment.failed ? nxi_oom(d) : nxi_disk_open(&options, out, d);
  nxi_text_free(&environment);
  return s;
}

nx_status nxi_kernel_disk_open_for(const nxi_code_maker *maker, const char *directory,
                                   nxi_disk_cache **out, nxi_diag *d) {
  return open_disk(maker, directory, out, d);
}

static void destroy_locks(nxi_kernel_cache *c) {
  nxi_shared_lock_destroy(&c->inside_llvm);
  nxi_condition_destroy(&c->settled);
  nxi_lock_destroy(&c->lock);
}

nx_status nxi_kernel_cache_create_for(const nxi_code_maker *maker, void *user,
                                      const char *cache_dir, nxi_kernel_cache **out, nxi_diag *d) {
  nxi_kernel_cache *c = nxi_calloc(1, sizeof *c);
  if (!c) return nxi_oom(d);
  c->maker = maker;
  c->user = user;
  nxi_lock_init(&c->lock);
  nxi_condition_init(&c->settled);
  nxi_shared_lock_init(&c->inside_llvm, true);
  c->max_kernels = DEFAULT_KERNELS;
  c->max_bytes = default_code_bytes;
  c->generics = nxi_generics_create();
  if (c->generics == NULL || nxi_fork_register(&c->fork_entry, &fork_hooks, c) != NX_OK) {
    nxi_generics_destroy(c->generics);
    destroy_locks(c);
    nxi_free(c);
    return nxi_oom(d);
  }
  nx_status s = cache_dir && !cache_dir[0] ? NX_OK : open_disk(maker, cache_dir, &c->disk, d);
  if (s == NX_OK) *out = c;
  else nxi_kernel_cache_destroy(c);
  return s;
}

void nxi_kernel_cache_destroy(nxi_kernel_cache *c) {
  if (!c) return;
  nxi_fork_unregister(&c->fork_entry);
  nxi_generics_destroy(c->generics);
  for (uint32_t i = 0; i < NXI_KERNEL_BUCKETS; i++) release_chain(c->buckets[i]);
  nxi_disk_close(c->disk);
  destroy_locks(c);
  nxi_free(c);
}

bool nxi_kernel_cache_outlives(const nxi_kernel_cache *c) {
  return nxi_disk_reason(c->disk) == NULL; /* it may be turned off, or unusable */
}

void nxi_kernel_cache_limit(nxi_kernel_cache *c, uint32_t kernels, size_t code_bytes) {
  nxi_lock_take(&c->lock);
  c->max_kernels = kernels ? kernels : 1;
  c->max_bytes = code_bytes ? code_bytes : 1;
  nxi_kernel *gone = evict(c);
  nxi_lock_give(&c->lock);
  release_chain(gone);
}

void nxi_kernel_cache_stats(nxi_kernel_cache *c, nxi_kernel_stats *out) {
  nxi_lock_take(&c->lock);
  *out = c->stats;
  nxi_lock_give(&c->lock);
}

/* ---- making a kernel */

nx_status nxi_kernel_count_tasks(nxi_kernel_info *info, const nxk_kernel *bound, nxi_diag *d) {
  for (uint32_t i = 0; i < bound->n_regions; i++) {
    const nxk_region *p = &bound->regions[i];
    if (p->tasks_param < 0) {
      info->tasks += p->tasks;
    } else if (bound->n_regions == 1) {
      info->tasks_param = p->tasks_param;
      info->tasks_divisor = p->tasks_divisor;
    } else {
      return nxi_fail(d, NX_INTERNAL, "",
                      "kernel %s: regions beside one whose tasks depend on a parameter",
                      bound->name);
    }
  }
  return NX_OK;
}

static nx_status compile_text(nxi_kernel_cache *c, nxi_kernel *k, const nxi_kernel_text *text,
                              char entry[72], void **object, size_t *size, nxi_diag *d) {
  snprintf(entry, 72, "%s", text->name);
  k->info.threads = text->threads;
  k->info.shared_bytes = text->shared_bytes;
  return c->maker->compile_text(c->user, text->text, text->name, k->isa, object, size, d);
}

static nx_status compile_bound(nxi_kernel_cache *c, nxi_kernel *k, const nxi_material *m,
                               char entry[72], void **object, size_t *size, nxi_diag *d) {
  nxk_kernel *bound = NULL;
  nx_status s = m->produce(m->user, &bound, d);
  if (s == NX_OK && !m->general) s = nxi_kernel_count_tasks(&k->info, bound, d);
  if (s == NX_OK) s = c->maker->compile(c->user, bound, k->isa, object, size, entry, &k->info, d);
  nxk_destroy(bound);
  return s;
}

static bool is_hasty(const nxi_material *m) { return m->kind != NULL && m->kind->hasty; }

static nx_status compile(nxi_kernel_cache *c, nxi_kernel *k, const nxi_material *m,
                         const nxk_anatomy *own, nxi_diag *d) {
  void *object = NULL;
  size_t size = 0;
  char entry[72];
  k->info = (nxi_kernel_info){.tasks_param = -1, .tasks_divisor = 1, .hasty = is_hasty(m)};
  k->info.calls = is_hasty(m) && m->kind->calls;
  nx_status s = m->text ? compile_text(c, k, m->text, entry, &object, &size, d)
                        : compile_bound(c, k, m, entry, &object, &size, d);
  if (s == NX_OK) s = c->maker->load(c->user, object, size, entry, &k->info, &k->code, d);
  if (s == NX_OK) k->info.object_bytes = size;
  if (s == NX_OK && !is_hasty(m)) nxi_kernel_store(c, k, entry, object, size, own);
  nxi_free(object);
  return s;
}

/* ---- one pending kernel */

static nx_status fail_absent(nxi_kernel_outcome *how, nxi_diag *d) {
  *how = NXI_KERNEL_ABSENT;
  return nxi_fail(d, NX_COMPILE_FAILED, "", "there is no code yet");
}

static bool is_special(const nxi_material *m) { return m->kind && m->kind->special; }
static bool is_found_only(const nxi_material *m) { return m->kind && m->kind->found_only; }

static nx_status fill(nxi_kernel_cache *c, nxi_kernel *k, const nxi_material *m,
                      nxi_kernel_outcome *how, nxi_diag *d) {
  double start = nxi_now_ms();
  nx_status s = NX_OK;
  k->general = m->general;
  bool generic = nxi_kernel_wants_sharing(c, m), kind = nxi_kernel_has_kind(m);
  bool always = kind && m->kind->always, seen = kind && !generic;
  nxk_anatomy own = {0}; /* of a kernel that is seen */
  *how = NXI_KERNEL_DISK_HIT;
  if (always || is_hasty(m) || !nxi_kernel_load_stored(c, k, seen ? &own : NULL)) {
    if (generic) s = nxi_kernel_share(c, k, m, how, d);
    if (s == NX_OK && !k->shared && is_found_only(m)) return fail_absent(how, d);
    if (s == NX_OK && !k->shared) {
      *how = NXI_KERNEL_COMPILED;
      if (seen) nxi_kernel_take_apart(c, m, &own);
      s = compile(c, k, m, &own, d);
    }
  }
  if (s == NX_OK && seen) nxi_kernel_see(c, k, m, &own);
  nxk_anatomy_free(&own);
  if (k->code) k->info.code_bytes = c->maker->bytes(k->code);
  k->info.compile_ms = nxi_now_ms() - start;
  return s;
}

/* Publishes the outcome of a pending kernel. The caller keeps its reference, unless compiling
 * failed. */
static void settle(nxi_kernel_cache *c, nxi_kernel *k, nx_status s, nxi_kernel_outcome how,
                   const nxi_diag *d) {
  nxi_kernel *gone = NULL;
  nxi_lock_take(&c->lock);
  if (k->shared) {
    c->stats.shared++;
  } else if (how == NXI_KERNEL_COMPILED) {
    c->stats.misses++;
    c->stats.compile_ms += k->info.compile_ms;
  } else if (how != NXI_KERNEL_ABSENT) {
    c->stats.disk_hits++;
  }
  if (s == NX_OK) {
    k->state = READY;
    keep_ready(c, k);
    use_again(c, k);
    gone = evict(c);
  } else {
    k->state = FAILED;
    k->absent = how == NXI_KERNEL_ABSENT;
    k->fault = *d;
    remove_listed(c, k);
    k->chain = NULL;
    gone = k; /* the map's reference */
  }
  nxi_condition_wake_all(&c->settled);
  nxi_lock_give(&c->lock);
  release_chain(gone);
}

/* Takes a kernel that is ready or pending; called with the lock held, which it releases. Who asks
 * only for what is there does not wait for a pending one, which another thread may be compiling.
 * *again: it was asked for by somebody who did not want it to be compiled. */
static nx_status take_found(nxi_kernel_cache *c, nxi_kernel *k, const nxi_material *m,
                            nxi_kernel **out, nxi_kernel_outcome *how, bool *again, nxi_diag *d) {
  NXI_HELD(&c->lock);
  *again = false;
  if (k->state == PENDING && is_found_only(m)) {
    nxi_lock_give(&c->lock);
    return fail_absent(how, d);
  }
  nxi_kernel_retain(k);
  while (k->state == PENDING) nxi_lock_wait(&c->settled, &c->lock, -1);
  nx_status s = k->state == READY ? NX_OK : k->fault.status;
  *again = s != NX_OK && k->absent;
  if (s == NX_OK) {
    c->stats.hits++;
    use_again(c, k);
  }
  nxi_lock_give(&c->lock);
  if (s == NX_OK) {
    *out = k;
    return NX_OK;
  }
  if (d && d->status == NX_OK && !*again) *d = k->fault;
  nxi_kernel_release(k);
  return s;
}

/* The kernel of a key. Called inside LLVM's guards, except for kernels that are ready. */
static nx_status make(nxi_kernel_cache *c, nxi_kernel *k, const nxi_material *m, bool may_compile,
                      nxi_kernel **out, nxi_kernel_outcome *how, nxi_diag *d) {
  nxi_kernel_outcome outcome = NXI_KERNEL_HIT;
  nxi_diag own;
  nxi_diag_clear(&own);
  nx_status s = may_compile        ? fill(c, k, m, &outcome, &own)
                : nxi_exit_begun() ? nxi_fail(&own, NX_COMPILE_FAILED, "",
                                              "the process ends: no kernel is compiled any more")
                                   : nxi_oom(&own);
  if (s != NX_OK && own.status == NX_OK) nxi_fail(&own, s, "", "a kernel could not be made");
  settle(c, k, s, outcome, &own);
  *how = outcome;
  if (s == NX_OK) {
    *out = k;
    return NX_OK;
  }
  if (d && d->status == NX_OK) *d = own;
  nxi_kernel_release(k);
  return s;
}

/* Looks for a key. What other code serves is not found where code of its own is wanted, and makes
 * room for it; it lives on with its users. False: *k is new, pending, and the caller's to make
 * (NULL: out of memory). True: *s is the outcome. */
static bool look_up(nxi_kernel_cache *c, const char *isa, const void *key, size_t key_size,
                    const nxi_material *m, nxi_kernel **k, nxi_kernel **out,
                    nxi_kernel_outcome *how, nx_status *s, nxi_diag *d) {
  uint64_t hash = XXH3_64bits(key, key_size);
  bool again = true;
  nxi_kernel *served = NULL;
  while (again) {
    nxi_lock_take(&c->lock);
    *k = find(c, isa, key, key_size, hash);
    if (*k && is_special(m) && (*k)->state == READY && (*k)->shared) {
      served = *k;
      leave_map(c, served);
      break;
    }
    if (!*k) break;
    *s = take_found(c, *k, m, out, how, &again, d);
    if (!again) return true;
  }
  *k = make_kernel(c->maker, isa, key, key_size, hash);
  if (*k) enter(c, *k);
  nxi_lock_give(&c->lock);
  nxi_kernel_release(served);
  return false;
}

nx_status nxi_kernel_get_inside(nxi_kernel_cache *c, const char *isa, const void *key,
                                size_t key_size, const nxi_material *m, nxi_kernel **out,
                                nxi_kernel_outcome *how, nxi_diag *d) {
  nxi_kernel *k = NULL;
  nx_status s = NX_OK;
  *how = NXI_KERNEL_HIT;
  if (look_up(c, isa, key, key_size, m, &k, out, how, &s, d)) return s;
  return k ? make(c, k, m, true, out, how, d) : nxi_oom(d);
}

static nx_status get(nxi_kernel_cache *c, const char *isa, const void *key, size_t key_size,
                     const nxi_material *m, nxi_kernel **out, nxi_kernel_outcome *how,
                     nxi_diag *d) {
  nxi_kernel *k = NULL;
  nxi_kernel_outcome ignored;
  nx_status s = NX_OK;
  if (!how) how = &ignored;
  *how = NXI_KERNEL_HIT;
  if (look_up(c, isa, key, key_size, m, &k, out, how, &s, d)) return s;
  if (!k) return nxi_oom(d);
  nxi_shared_lock_read(&c->inside_llvm);
  bool inside = nxi_exit_enter();
  s = make(c, k, m, inside, out, how, d);
  if (inside) nxi_exit_leave();
  nxi_shared_lock_give(&c->inside_llvm);
  return s;
}

nx_status nxi_kernel_get_of_kind(nxi_kernel_cache *c, const char *isa, const void *key,
                                 size_t key_size, nxi_kernel_produce *produce,
                                 const nxi_kernel_kind *kind, void *user, nxi_kernel **out,
                                 nxi_kernel_outcome *how, nxi_diag *d) {
  return get(c, isa, key, key_size, &(nxi_material){.produce = produce, .user = user, .kind = kind},
             out, how, d);
}

nx_status nxi_kernel_get(nxi_kernel_cache *c, const char *isa, const void *key, size_t key_size,
                         nxi_kernel_produce *produce, void *user, nxi_kernel **out,
                         nxi_kernel_outcome *how, nxi_diag *d) {
  return get(c, isa, key, key_size, &(nxi_material){.produce = produce, .user = user}, out, how, d);
}

nx_status nxi_kernel_get_text(nxi_kernel_cache *c, const char *isa, const nxi_kernel_text *text,
                              nxi_kernel **out, nxi_kernel_outcome *how, nxi_diag *d) {
  return get(c, isa, text->text, strlen(text->text), &(nxi_material){.text = text}, out, how, d);
}
