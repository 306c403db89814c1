/* SPDX-License-Identifier: ISC */
/* Every host allocation of the library that is not tensor data goes through here, so that a test
 * can fail the n-th one. Also a small arena. All return NULL when memory is exhausted; nothing
 * aborts. */
#ifndef NXI_ALLOC_H
#define NXI_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *nxi_malloc(size_t bytes);
/* The same without the hint for huge pages: where memory is in pieces the system moves others to
 * make one, which takes it some 5 ms each. For what is written once and soon. */
void *nxi_malloc_plain(size_t bytes);
void *nxi_calloc(size_t count, size_t bytes);
void *nxi_realloc(void *p, size_t bytes);
void nxi_free(void *p);
char *nxi_strdup(const char *s);

/* Tests: fail the allocation number `after` from now (0: the next one) and, if `sticky`, all after
 * it; negative: never. Also consulted by the tensor allocator (runtime/memory.c). Process
 * wide. */
void nxi_alloc_fail(int64_t after, bool sticky);
/* True when the next tensor-data allocation must fail (counts as one allocation). */
bool nxi_alloc_should_fail(void);
/* Allocations since this, or nxi_alloc_fail, was first called. */
int64_t nxi_alloc_count(void);
/* Tests: the most bytes asked for at once since the last call. Process wide. */
size_t nxi_alloc_largest(void);
/* The size of this thread's last allocation that failed, in bytes. */
size_t nxi_alloc_refused(void);
/* Records an allocation of that size that failed elsewhere, for nxi_alloc_refused. Returns NULL. */
void *nxi_alloc_refuse(size_t bytes);

/* Grows *array (element size bytes) so that it holds at least `need` elements. False: out of
 * memory, *array untouched. */
bool nxi_grow_array(void *array_pointer, uint32_t *capacity, uint32_t need, size_t element);
static inline bool nxi_grow(void *array_pointer, uint32_t *capacity, uint32_t need,
                            size_t element) {
  return need <= *capacity || nxi_grow_array(array_pointer, capacity, need, element);
}

/* An arena: allocations live until the arena is destroyed. Zero-initialise it. Memory is zeroed,
 * 16-byte aligned. */
typedef struct nxi_arena {
  struct nxi_arena_block *blocks;
  size_t used, capacity; /* of the newest block */
} nxi_arena;
void *nxi_arena_alloc(nxi_arena *a, size_t bytes);
void *nxi_arena_copy(nxi_arena *a, const void *p, size_t bytes); /* p may be NULL if bytes is 0 */
void nxi_arena_destroy(nxi_arena *a);

#endif
