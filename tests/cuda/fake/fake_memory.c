/* SPDX-License-Identifier: ISC */
/* The fake driver's memory: the bytes asked for, behind a head that remembers them. Large pieces
 * are sparse: their pages come when they are touched, and pages of zeros are not, so that arrays of
 * more elements than 32 bits count can be tried where there is no memory for them. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fake_cuda_internal.h"

enum { HEAD = 4096, SPARSE = 64 << 20, CHUNK = 64 << 10 };

static char *take(size_t bytes) {
  if (bytes < SPARSE) {
    char *p = aligned_alloc(256, (bytes + HEAD + 255) / 256 * 256);
    if (p != NULL) memset(p + HEAD, 0xa5, bytes);
    return p;
  }
  char *p = mmap(NULL, bytes + HEAD, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return NULL;
  memset(p + HEAD, 0xa5, CHUNK); /* not all zeros */
  return p;
}

/* The head of a piece. */
typedef struct piece {
  size_t bytes;
  struct piece *next, **at;
} piece;
static piece *pieces;

EXPORT int cuMemAlloc_v2(uint64_t *at, size_t bytes) {
  INSIDE;
  nxt_fake *fake = nxt_fake_cuda();
  if (fake->most_memory && fake->memory + (int64_t)bytes > fake->most_memory) return 2;
  char *p = take(bytes);
  if (p == NULL) return 2;
  piece *head = (piece *)p;
  *head = (piece){bytes, pieces, &pieces};
  if (pieces != NULL) pieces->at = &head->next;
  pieces = head;
  fake->memory += (int64_t)bytes;
  fake->allocations++;
  *at = (uint64_t)(uintptr_t)p + HEAD + NXT_FAKE_OFFSET;
  return 0;
}
EXPORT int cuMemFree_v2(uint64_t at) {
  size_t bytes;
  SETTLED;
  char *p = nxt_fake_host(at) - HEAD;
  const piece *head = (const piece *)p;
  bytes = head->bytes;
  *head->at = head->next;
  if (head->next != NULL) head->next->at = head->at;
  nxt_fake_cuda()->memory -= (int64_t)bytes;
  nxt_fake_cuda()->allocations--;
  if (bytes < SPARSE) free(p);
  else munmap(p, bytes + HEAD);
  return 0;
}

/* Memory of a GPU is the only kind of memory that is known. */
EXPORT int cuPointerGetAttribute(unsigned *value, int attribute, uint64_t at) {
  INSIDE;
  if (attribute != 2) return 1;
  for (const piece *p = pieces; p != NULL; p = p->next) {
    const uint64_t first = (uint64_t)(uintptr_t)p + HEAD + NXT_FAKE_OFFSET;
    if (at < first || at - first >= p->bytes) continue;
    *value = 2;
    return 0;
  }
  return 1;
}

static bool is_zero(const char *at, size_t bytes) {
  return bytes == 0 || (at[0] == 0 && memcmp(at, at + 1, bytes - 1) == 0);
}

void nxt_fake_set(char *to, unsigned char value, size_t bytes) {
  for (size_t at = 0; at < bytes; at += CHUNK) {
    size_t part = bytes - at < CHUNK ? bytes - at : CHUNK;
    if (value != 0 || !is_zero(to + at, part)) memset(to + at, value, part);
  }
}
void nxt_fake_move(char *to, const char *from, size_t bytes) {
  if (bytes < CHUNK || (from < to + bytes && to < from + bytes)) {
    memmove(to, from, bytes);
    return;
  }
  for (size_t at = 0; at < bytes; at += CHUNK) {
    size_t part = bytes - at < CHUNK ? bytes - at : CHUNK;
    if (is_zero(from + at, part)) nxt_fake_set(to + at, 0, part);
    else memcpy(to + at, from + at, part);
  }
}
