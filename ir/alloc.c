/* SPDX-License-Identifier: ISC */
/* Host allocation with failures on demand, growing arrays, and the arena. Every allocation takes a
 * number from one process-wide counter; a test names the number that fails. */
#include "alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ir/platform/pages.h"

enum { LARGE_PAGE = 2 << 20 };

static _Atomic bool counting;               /* a test has asked; the atomic addition costs time */
static _Atomic int64_t allocations;         /* numbers given out so far */
static _Atomic int64_t failing_number = -1; /* the allocation that fails, -1: none */
static _Atomic bool failing_sticky;         /* and every one after it */
static _Atomic size_t largest;
static _Thread_local size_t refused;

void nxi_alloc_fail(int64_t after, bool sticky) {
  atomic_store(&counting, true);
  atomic_store(&failing_number, -1);
  atomic_store(&failing_sticky, sticky);
  if (after >= 0) atomic_store(&failing_number, atomic_load(&allocations) + after);
}

bool nxi_alloc_should_fail(void) {
  if (!atomic_load_explicit(&counting, memory_order_relaxed)) return false;
  int64_t number = atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
  int64_t failing = atomic_load_explicit(&failing_number, memory_order_relaxed);
  if (failing < 0 || number < failing) return false;
  return number == failing || atomic_load_explicit(&failing_sticky, memory_order_relaxed);
}

int64_t nxi_alloc_count(void) {
  atomic_store(&counting, true);
  return atomic_load_explicit(&allocations, memory_order_relaxed);
}

/* Large blocks get huge pages if the system has them. The first access of a small page costs
 * several times as much as clearing it, and a graph of a million operations has a hundred thousand
 * small pages. The hint covers the whole mapping, because realloc cannot move a mapping that is
 * divided. */
static void *advised(void *p, size_t bytes) {
  if (p) nxi_pages_want_large(p, bytes);
  return p;
}

size_t nxi_alloc_refused(void) { return refused; }

static void note(size_t bytes) {
  if (bytes > atomic_load_explicit(&largest, memory_order_relaxed))
    atomic_store_explicit(&largest, bytes, memory_order_relaxed);
}

size_t nxi_alloc_largest(void) { return atomic_exchange(&largest, 0); }

void *nxi_alloc_refuse(size_t bytes) {
  refused = bytes;
  return NULL;
}

/* Zero bytes are rounded up to one, so that NULL always means failure. */
void *nxi_malloc_plain(size_t bytes) {
  note(bytes);
  if (nxi_alloc_should_fail()) return nxi_alloc_refuse(bytes);
  void *p = malloc(bytes ? bytes : 1);
  return p ? p : nxi_alloc_refuse(bytes);
}

void *nxi_malloc(size_t bytes) {
  void *p = nxi_malloc_plain(bytes);
  return bytes < LARGE_PAGE ? p : advised(p, bytes);
}

/* glibc has blocks of up to a kibibyte at hand for each thread, but not for calloc (2.36), which
 * takes five times as long. gcc would make a calloc of malloc and memset. */
enum { AT_HAND = 1024 };

static void *zeroed(size_t bytes) {
  if (bytes > AT_HAND) return calloc(1, bytes);
  void *p = malloc(bytes ? bytes : 1);
  __asm__("" : : "r"(p) : "memory");
  return p ? memset(p, 0, bytes) : NULL;
}

void *nxi_calloc(size_t count, size_t bytes) {
  size_t all = bytes && count > SIZE_MAX / bytes ? SIZE_MAX : count * bytes;
  note(all);
  if (nxi_alloc_should_fail()) return nxi_alloc_refuse(all);
  void *p = zeroed(all);
  if (!p) return nxi_alloc_refuse(all);
  return all < LARGE_PAGE ? p : advised(p, all);
}

void *nxi_realloc(void *p, size_t bytes) {
  note(bytes);
  if (nxi_alloc_should_fail()) return nxi_alloc_refuse(bytes);
  void *grown = realloc(p, bytes ? bytes : 1);
  if (!grown) return nxi_alloc_refuse(bytes);
  return bytes < LARGE_PAGE ? grown : advised(grown, bytes);
}

void nxi_free(void *p) { free(p); }

char *nxi_strdup(const char *s) {
  size_t bytes = strlen(s) + 1;
  char *copy = nxi_malloc(bytes);
  if (copy) memcpy(copy, s, bytes);
  return copy;
}

bool nxi_grow_array(void *array_pointer, uint32_t *capacity, uint32_t need, size_t element) {
  uint32_t doubled = *capacity > UINT32_MAX / 2 ? UINT32_MAX : *capacity * 2;
  uint32_t wanted = doubled > need ? doubled : need;
  const uint32_t least = element <= AT_HAND / 8 ? 8 : (uint32_t)(AT_HAND / element);
  if (wanted < least) wanted = least;
  if (element > SIZE_MAX / wanted) return nxi_alloc_refuse(SIZE_MAX);
  void *old; /* the caller's pointer has its own type: read and written as bytes */
  memcpy(&old, array_pointer, sizeof old);
  void *grown = nxi_realloc(old, wanted * element);
  if (!grown) return false;
  memcpy(array_pointer, &grown, sizeof grown);
  *capacity = wanted;
  return true;
}

/* ---- arena: blocks double up to a limit, the newest is the one being filled */

enum { LARGEST_BLOCK = 8 << 20, ALIGNMENT = 16 };

struct nxi_arena_block {
  _Alignas(ALIGNMENT) struct nxi_arena_block *next;
};

enum { FIRST_BLOCK = AT_HAND - sizeof(struct nxi_arena_block) };

static bool add_block(nxi_arena *a, size_t bytes) {
  size_t capacity = a->capacity ? a->capacity * 2 : FIRST_BLOCK;
  if (capacity > LARGEST_BLOCK) capacity = LARGEST_BLOCK;
  if (capacity < bytes) capacity = bytes;
  if (capacity > SIZE_MAX - sizeof(struct nxi_arena_block)) return false;
  struct nxi_arena_block *block = nxi_calloc(1, sizeof *block + capacity);
  if (!block) return false;
  block->next = a->blocks;
  a->blocks = block;
  a->used = 0;
  a->capacity = capacity;
  return true;
}

void *nxi_arena_alloc(nxi_arena *a, size_t bytes) {
  if (bytes > SIZE_MAX - ALIGNMENT) return NULL;
  bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
  if (bytes == 0) bytes = ALIGNMENT; /* a pointer of its own, so that NULL always means failure */
  if ((!a->blocks || bytes > a->capacity - a->used) && !add_block(a, bytes)) return NULL;
  char *p = (char *)(a->blocks + 1) + a->used;
  a->used += bytes;
  return p;
}

void *nxi_arena_copy(nxi_arena *a, const void *p, size_t bytes) {
  void *copy = nxi_arena_alloc(a, bytes);
  if (copy && bytes) memcpy(copy, p, bytes);
  return copy;
}

void nxi_arena_destroy(nxi_arena *a) {
  for (struct nxi_arena_block *block = a->blocks, *next; block; block = next) {
    next = block->next;
    nxi_free(block);
  }
  *a = (nxi_arena){0};
}
