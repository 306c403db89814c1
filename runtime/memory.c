/* SPDX-License-Identifier: ISC */
/* Memory is held in three ways under one lock:
 *
 *   slabs   64 KiB, aligned to their size, blocks of one size class after a header of one cache
 *           line. A block's slab is found by masking its address. Slabs are cut from 1 MiB chunks
 *           that live as long as the allocator; trimming gives the pages of empty ones back.
 *   medium  size classes in four steps a doubling, from aligned_alloc.
 *   large   mapped, aligned to 2 MiB, in multiples of 2 MiB, eight steps a doubling. Where none of
 *           a size is cached, a larger one is divided.
 *
 * Freed medium and large blocks contain their list entry in their first bytes; if there are too
 * many, the one that was freed first is returned first. With the address sanitizer all bytes that
 * are not allocated are poisoned. */
#include "memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ir/alloc.h"
#include "ir/platform/fork.h"
#include "ir/platform/lock.h"
#include "ir/platform/pages.h"

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif
#ifdef UNDER_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   __asan_poison_memory_region(p, n)
#define UNPOISON(p, n) __asan_unpoison_memory_region(p, n)
#else
#define POISON(p, n)   ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

enum {
  ALIGNMENT = 64,
  SMALL_MAX = NXI_SMALL_BUFFER, /* the most bytes of a slab block */
  SMALL_CLASSES = 28,           /* multiples of 64 up to 1 KiB, then of 256 up to 4 KiB */
  SLAB = 64 << 10,
  CHUNK_SLABS = 16,
  MEDIUM_MAX = 1 << 20, /* larger blocks have separate pages */
  HUGE_PAGE = 2 << 20,
  BINS = (47 - 12) * 8, /* eight steps a doubling, from 4 KiB to BYTES_MAX */
  NODE_BYTES = 64,
};
#define BYTES_MAX \
  (INT64_C(1) << 46) /* more than any system maps; keeps sums below from overflowing */

/* The head of a freed slab block. */
typedef struct free_block {
  struct free_block *next;
} free_block;

typedef struct slab {
  /* the list of slabs of its class that have room, or of empty slabs */
  struct slab *next, *previous;
  free_block *free;
  uint32_t class;
  uint32_t live;
  uint32_t fresh; /* offset of the first block that was never used; SLAB: none is left */
} slab;

typedef struct chunk {
  struct chunk *next;
  char *map;
  size_t map_bytes;
} chunk;

/* The head of a cached medium or large block. */
typedef struct node {
  struct node *older, *newer;           /* of all cached ones */
  struct node *bin_next, *bin_previous; /* of those of its size */
  int64_t bytes;
  uint32_t bin;
} node;
_Static_assert(sizeof(node) <= NODE_BYTES,
               "a cached block keeps its entry in its first cache line");
_Static_assert(sizeof(slab) <= ALIGNMENT, "a slab's header is one cache line");

struct nxi_allocator {
  nxi_lock lock;
  nxi_fork_entry fork_entry;
  int64_t memory_limit, cache_limit;
  nxi_memory_stats stats;
  slab *partial[SMALL_CLASSES];
  slab *empty;
  chunk *chunks;
  node *oldest, *newest;
  node *bins[BINS];
};

/* ---- sizes */

static uint32_t small_class(int64_t bytes) {
  if (bytes <= 1024) return bytes ? (uint32_t)((bytes - 1) / 64) : 0;
  return (uint32_t)(16 + (bytes - 1025) / 256);
}

static int64_t small_bytes(uint32_t class) {
  return class < 16 ? ((int64_t)class + 1) * 64 : 1024 + ((int64_t)class - 15) * 256;
}

static bool is_small(int64_t bytes) { return bytes <= SMALL_MAX; }
static bool is_large(int64_t bytes) { return bytes > MEDIUM_MAX; }

/* Rounds up to one of `steps` sizes a doubling (a power of two), and at least to a multiple of
 * `unit`. All of these are powers of two. */
static int64_t round_size(int64_t bytes, int64_t steps, int64_t unit) {
  int64_t top = (int64_t)1 << (63 - __builtin_clzll((uint64_t)bytes));
  int64_t step = top / steps > unit ? top / steps : unit;
  return (bytes + step - 1) & -step;
}

/* The bytes that a medium or large buffer occupies. */
static int64_t block_bytes(int64_t bytes) {
  return is_large(bytes) ? round_size(bytes, 8, HUGE_PAGE) : round_size(bytes, 4, ALIGNMENT);
}

/* Each block size has a separate bin: its power of two and the three bits below it. */
static uint32_t bin_of(int64_t bytes) {
  uint32_t top = 63 - (uint32_t)__builtin_clzll((uint64_t)bytes);
  return (top - 12) * 8 + (uint32_t)(bytes >> (top - 3) & 7);
}

/* ---- slabs */

static void unlink_slab(slab **list, slab *s) {
  if (s->previous) s->previous->next = s->next;
  else *list = s->next;
  if (s->next) s->next->previous = s->previous;
}

static void push_slab(slab **list, slab *s) {
  s->previous = NULL;
  s->next = *list;
  if (s->next) s->next->previous = s;
  *list = s;
}

static bool add_chunk(nxi_allocator *a) {
  size_t map_bytes = (size_t)SLAB * (CHUNK_SLABS + 1);
  chunk *c = nxi_malloc(sizeof *c);
  char *map = c ? nxi_pages_map(map_bytes) : NULL;
  if (!map) {
    nxi_free(c);
    return false;
  }
  *c = (chunk){.next = a->chunks, .map = map, .map_bytes = map_bytes};
  a->chunks = c;
  a->stats.reserved += (int64_t)map_bytes;
  char *first = map + (SLAB - (uintptr_t)map % SLAB) % SLAB;
  for (int i = 0; i < CHUNK_SLABS; i++)
    push_slab(&a->empty, (slab *)(void *)(first + (size_t)i * SLAB));
  return true;
}

static slab *new_slab(nxi_allocator *a, uint32_t class) {
  if (!a->empty && !add_chunk(a)) return NULL;
  slab *s = a->empty;
  unlink_slab(&a->empty, s);
  *s = (slab){.class = class, .fresh = ALIGNMENT};
  POISON((char *)s + ALIGNMENT, SLAB - ALIGNMENT);
  push_slab(&a->partial[class], s);
  return s;
}

static void *small_alloc(nxi_allocator *a, int64_t bytes) {
  NXI_HELD(&a->lock);
  uint32_t class = small_class(bytes);
  slab *s = a->partial[class];
  if (!s && !(s = new_slab(a, class))) return NULL;
  void *p = s->free;
  if (p) {
    UNPOISON(p, sizeof(free_block));
    s->free = s->free->next;
  } else {
    p = (char *)s + s->fresh;
    s->fresh += (uint32_t)small_bytes(class);
    if (s->fresh + small_bytes(class) > SLAB) s->fresh = SLAB;
  }
  s->live++;
  if (!s->free && s->fresh == SLAB) unlink_slab(&a->partial[class], s);
  return p;
}

static void small_free(nxi_allocator *a, void *p) {
  NXI_HELD(&a->lock);
  slab *s = (slab *)((uintptr_t)p & ~((uintptr_t)SLAB - 1));
  bool was_full = !s->free && s->fresh == SLAB;
  UNPOISON(p, sizeof(free_block));
  free_block *block = p;
  block->next = s->free;
  s->free = block;
  if (was_full) push_slab(&a->partial[s->class], s);
  if (--s->live == 0 &&
      (s->next || s->previous)) { /* the last slab of a class is kept for later allocations */
    unlink_slab(&a->partial[s->class], s);
    UNPOISON((char *)s, SLAB);
    push_slab(&a->empty, s);
    return;
  }
  POISON(p, (size_t)small_bytes(s->class));
}

static void retire_idle_slabs(nxi_allocator *a) {
  for (uint32_t class = 0; class < SMALL_CLASSES; class ++) {
    slab *s = a->partial[class];
    if (!s || s->live) continue;
    unlink_slab(&a->partial[class], s);
    UNPOISON((char *)s, SLAB);
    push_slab(&a->empty, s);
  }
  size_t page = nxi_page_bytes();
  for (slab *s = a->empty; s; s = s->next)
    if (page < SLAB) nxi_pages_drop((char *)s + page, SLAB - page);
}

/* ---- medium and large blocks */

static void *map_large(size_t bytes) {
  size_t wanted = bytes + HUGE_PAGE;
  char *map = nxi_pages_map(wanted);
  if (!map) return NULL;
  size_t before = (HUGE_PAGE - (uintptr_t)map % HUGE_PAGE) % HUGE_PAGE;
  if (before) nxi_pages_unmap(map, before);
  nxi_pages_unmap(map + before + bytes, wanted - before - bytes);
  nxi_pages_want_large(map + before, bytes);
  return map + before;
}

static void *fresh_block(int64_t bytes) {
  NXI_NO_LOCK();
  return is_large(bytes) ? map_large((size_t)bytes) : aligned_alloc(ALIGNMENT, (size_t)bytes);
}

/* Returns a list of blocks that left the allocator, linked by bin_next, to the system. No lock is
 * held. */
static void give_back(node *list) {
  NXI_NO_LOCK();
  for (node *n = list, *next; n; n = next) {
    /* The analyser cannot see that unlinking changed the head of the list: no node is in it
     * twice. */
    next = n->bin_next; /* NOLINT(clang-analyzer-unix.Malloc) */
    int64_t bytes = n->bytes;
    UNPOISON(n, (size_t)bytes);
    if (is_large(bytes)) nxi_pages_unmap(n, (size_t)bytes);
    else free(n);
  }
}

static void unlink_cached(nxi_allocator *a, node *n) {
  NXI_HELD(&a->lock);
  if (n->older) n->older->newer = n->newer;
  else a->oldest = n->newer;
  if (n->newer) n->newer->older = n->older;
  else a->newest = n->older;
  if (n->bin_previous) n->bin_previous->bin_next = n->bin_next;
  else a->bins[n->bin] = n->bin_next;
  if (n->bin_next) n->bin_next->bin_previous = n->bin_previous;
  a->stats.cached -= n->bytes;
}

static void put_cached(nxi_allocator *a, void *p, int64_t bytes) {
  NXI_HELD(&a->lock);
  node *n = p;
  *n = (node){.bytes = bytes, .bin = bin_of(bytes), .older = a->newest};
  n->bin_next = a->bins[n->bin];
  if (n->bin_next) n->bin_next->bin_previous = n;
  a->bins[n->bin] = n;
  if (a->newest) a->newest->newer = n;
  else a->oldest = n;
  a->newest = n;
  a->stats.cached += bytes;
  POISON((char *)p + NODE_BYTES, (size_t)bytes - NODE_BYTES);
}

/* The most that a large block has, as a multiple of what is wanted, to be divided. New pages cost
 * the system more than most work on them, but who wants the large block again has to map one. */
enum { DIVIDED_MOST = 4 };

/* The largest size of a block that is at most `bytes`, a multiple of HUGE_PAGE. */
static int64_t block_within(int64_t bytes) {
  int64_t eighth = INT64_C(1) << (60 - __builtin_clzll((uint64_t)bytes));
  return bytes & -(eighth > HUGE_PAGE ? eighth : HUGE_PAGE);
}

/* The first bytes of a larger block; the rest stays in the cache, as blocks. */
static void *divide_cached(nxi_allocator *a, int64_t bytes) {
  NXI_HELD(&a->lock);
  uint32_t last = bin_of(bytes * DIVIDED_MOST);
  for (uint32_t bin = bin_of(bytes) + 1; is_large(bytes) && bin <= last && bin < BINS; bin++) {
    node *n = a->bins[bin];
    if (!n) continue;
    int64_t all = n->bytes;
    unlink_cached(a, n);
    for (int64_t at = bytes, part; at < all; at += part) {
      part = block_within(all - at);
      UNPOISON((char *)n + at, NODE_BYTES);
      put_cached(a, (char *)n + at, part);
    }
    return n;
  }
  return NULL;
}

static void *take_cached(nxi_allocator *a, int64_t bytes) {
  node *n = a->bins[bin_of(bytes)];
  if (!n) return divide_cached(a, bytes);
  unlink_cached(a, n);
  return n;
}

/* Takes the longest unused blocks out of the cache until `keep` bytes are left. */
static node *shrink_cache(nxi_allocator *a, int64_t keep) {
  NXI_HELD(&a->lock);
  node *list = NULL;
  while (a->oldest && a->stats.cached > keep) {
    node *n = a->oldest;
    unlink_cached(a, n);
    a->stats.reserved -= n->bytes;
    n->bin_next = list;
    list = n;
  }
  return list;
}

/* ---- the interface */

static void lock_all(void *object) { nxi_lock_take(&((nxi_allocator *)object)->lock); }
static void unlock_all(void *object) { nxi_lock_give(&((nxi_allocator *)object)->lock); }
static void unlock_in_child(void *object) {
  nxi_lock_child(&((nxi_allocator *)object)->lock);
  unlock_all(object);
}
static const nxi_fork_hooks fork_hooks = {lock_all, unlock_all, unlock_in_child};

static int64_t default_cache_limit(void) {
  int64_t all = nxi_machine_memory();
  return all > 0 ? all / 4 : (int64_t)1 << 30;
}

nx_status nxi_allocator_create(const nxi_allocator_options *options, nxi_allocator **out,
                               nxi_diag *d) {
  nxi_allocator_options o = options ? *options : (nxi_allocator_options){0};
  if (o.memory_limit < 0 || o.cache_limit < -1)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "", "a memory limit is negative");
  nxi_allocator *a = nxi_calloc(1, sizeof *a);
  if (!a) return nxi_oom(d);
  a->memory_limit = o.memory_limit ? o.memory_limit : INT64_MAX;
  a->cache_limit = o.cache_limit > 0   ? o.cache_limit
                   : o.cache_limit < 0 ? 0
                                       : default_cache_limit();
  nxi_lock_init_biased(&a->lock);
  if (nxi_fork_register(&a->fork_entry, &fork_hooks, a) != NX_OK) {
    nxi_free(a);
    return nxi_oom(d);
  }
  *out = a;
  return NX_OK;
}

void nxi_allocator_destroy(nxi_allocator *a) {
  if (!a) return;
  nxi_fork_unregister(&a->fork_entry);
  nxi_lock_take(&a->lock);
  node *cached = shrink_cache(a, 0);
  nxi_lock_give(&a->lock);
  give_back(cached);
  for (chunk *c = a->chunks, *next; c; c = next) {
    next = c->next;
    UNPOISON(c->map, c->map_bytes);
    nxi_pages_unmap(c->map, c->map_bytes);
    nxi_free(c);
  }
  nxi_lock_destroy(&a->lock);
  nxi_free(a);
}

/* The part of an allocation that the lock protects. False: the limit would be exceeded. *block
 * stays NULL if a new block is needed; that block is already counted, so that allocations of other
 * threads respect the limit. */
static bool alloc_locked(nxi_allocator *a, int64_t bytes, int64_t rounded, void **block,
                         node **drop) {
  NXI_HELD(&a->lock);
  if (bytes > a->memory_limit - a->stats.live) return false;
  *block = rounded ? take_cached(a, rounded) : small_alloc(a, bytes);
  if (!*block && !rounded) return true;
  a->stats.live += bytes;
  a->stats.allocations++;
  if (*block) {
    if (a->stats.live > a->stats.peak) a->stats.peak = a->stats.live;
  } else {
    a->stats.reserved += rounded;
    *drop = shrink_cache(a, a->memory_limit - a->stats.live); /* the limit includes cached memory */
  }
  return true;
}

/* Allocates the block that alloc_locked has counted; if that fails, returns NULL and no longer
 * counts it. */
static void *fresh_and_settle(nxi_allocator *a, int64_t bytes, int64_t rounded) {
  void *p = fresh_block(rounded);
  if (!p) {
    nxi_allocator_trim(a, 0);
    p = fresh_block(rounded);
  }
  nxi_lock_take(&a->lock);
  if (!p) {
    a->stats.live -= bytes;
    a->stats.allocations--;
    a->stats.reserved -= rounded;
  } else if (a->stats.live > a->stats.peak) {
    a->stats.peak = a->stats.live;
  }
  nxi_lock_give(&a->lock);
  return p;
}

static nx_status no_memory(int64_t bytes, nxi_diag *d) {
  return nxi_fail(d, NX_OUT_OF_MEMORY, "", "memory is exhausted: %lld bytes could not be had",
                  (long long)bytes);
}

nx_status nxi_buffer_alloc(nxi_allocator *a, int64_t bytes, void **out, nxi_diag *d) {
  if (bytes < 0 || bytes > BYTES_MAX || nxi_alloc_should_fail()) return no_memory(bytes, d);
  int64_t rounded = is_small(bytes) ? 0 : block_bytes(bytes);
  void *p = NULL;
  node *drop = NULL;
  nxi_lock_take(&a->lock);
  bool within_limit = alloc_locked(a, bytes, rounded, &p, &drop);
  nxi_lock_give(&a->lock);
  if (drop) give_back(drop);
  if (!within_limit)
    return nxi_fail(d, NX_OUT_OF_MEMORY, "",
                    "%lld more bytes would pass the memory limit of %lld bytes", (long long)bytes,
                    (long long)a->memory_limit);
  if (!p && rounded) p = fresh_and_settle(a, bytes, rounded);
  if (!p) return no_memory(bytes, d);
  UNPOISON(p, (size_t)bytes);
  if (rounded) POISON((char *)p + bytes, (size_t)(rounded - bytes));
  *out = p;
  return NX_OK;
}

/* A large block that nobody has written, as those of a run that was interrupted, goes back to the
 * system: a place in the cache is written into the block, which would first make a page of 2 MiB of
 * it. True if it was one. */
static bool give_back_untouched(nxi_allocator *a, void *buffer, int64_t bytes) {
  int64_t block = block_bytes(bytes);
  if (!is_large(block) || nxi_pages_touched(buffer)) return false;
  nxi_lock_take(&a->lock);
  a->stats.live -= bytes;
  a->stats.reserved -= block;
  nxi_lock_give(&a->lock);
  UNPOISON(buffer, (size_t)block);
  nxi_pages_unmap(buffer, (size_t)block);
  return true;
}

static bool is_ready(const nxi_allocator *a, int64_t bytes) {
  NXI_HELD(&a->lock);
  return is_small(bytes) || a->bins[bin_of(block_bytes(bytes))];
}

bool nxi_buffer_ready(nxi_allocator *a, int64_t bytes) {
  nxi_lock_take(&a->lock);
  bool ready = bytes <= NXI_QUICK_BUFFER && is_ready(a, bytes);
  nxi_lock_give(&a->lock);
  return ready;
}

bool nxi_buffer_alloc_small(nxi_allocator *a, int64_t bytes, void **out) {
  if (bytes < 0 || bytes > NXI_QUICK_BUFFER || nxi_alloc_should_fail()) return false;
  int64_t rounded = is_small(bytes) ? 0 : block_bytes(bytes);
  void *p = NULL;
  node *drop = NULL;
  nxi_lock_take(&a->lock);
  if (!is_ready(a, bytes) || !alloc_locked(a, bytes, rounded, &p, &drop)) p = NULL;
  nxi_lock_give(&a->lock);
  if (!p) return false;
  UNPOISON(p, (size_t)bytes);
  if (rounded) POISON((char *)p + bytes, (size_t)(rounded - bytes));
  *out = p;
  return true;
}

void nxi_buffer_free_small(nxi_allocator *a, void *buffer, int64_t bytes) {
  nxi_lock_take(&a->lock);
  a->stats.live -= bytes;
  small_free(a, buffer);
  nxi_lock_give(&a->lock);
}

void nxi_buffer_unused(void *buffer, int64_t bytes) { POISON(buffer, (size_t)bytes); }
void nxi_buffer_used(void *buffer, int64_t bytes) { UNPOISON(buffer, (size_t)bytes); }

void nxi_buffer_free(nxi_allocator *a, void *buffer, int64_t bytes) {
  if (!buffer || (!is_small(bytes) && give_back_untouched(a, buffer, bytes))) return;
  node *drop = NULL;
  nxi_lock_take(&a->lock);
  a->stats.live -= bytes;
  if (is_small(bytes)) {
    small_free(a, buffer);
  } else {
    put_cached(a, buffer, block_bytes(bytes));
    int64_t room = a->memory_limit - a->stats.live;
    drop = shrink_cache(a, room < a->cache_limit ? room : a->cache_limit);
  }
  nxi_lock_give(&a->lock);
  if (drop) give_back(drop);
}

void nxi_allocator_trim(nxi_allocator *a, int64_t keep) {
  nxi_lock_take(&a->lock);
  node *drop = shrink_cache(a, keep < 0 ? 0 : keep);
  retire_idle_slabs(a);
  nxi_lock_give(&a->lock);
  give_back(drop);
}

int64_t nxi_allocator_room(nxi_allocator *a) {
  if (a->memory_limit == INT64_MAX) return INT64_MAX; /* it never changes */
  nxi_lock_take(&a->lock);
  int64_t room = a->memory_limit - a->stats.live;
  nxi_lock_give(&a->lock);
  return room;
}

void nxi_allocator_stats(nxi_allocator *a, nxi_memory_stats *out) {
  nxi_lock_take(&a->lock);
  *out = a->stats;
  nxi_lock_give(&a->lock);
}

void nxi_allocator_reset_peak(nxi_allocator *a) {
  nxi_lock_take(&a->lock);
  a->stats.peak = a->stats.live;
  nxi_lock_give(&a->lock);
}
