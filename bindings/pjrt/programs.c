/* SPDX-License-Identifier: ISC */
/* The table of programs that are handed over, for the moment between that and their loading. */
#include "programs.h"

#include <string.h>
#include <sys/random.h>

#include "bindings/stablehlo/module.h"
#include "ir/alloc.h"
#include "objects.h"

typedef struct entry {
  uint64_t number;
  nx_stablehlo *module;
  struct entry *next;
} entry;

static entry *entries; /* the lock's */

static const char mark[] = NX_PJRT_PROGRAM;
enum { MARK = sizeof mark - 1 };

static nx_stablehlo *read_program(const char *text, size_t size, const void *const *constants,
                                  const size_t *sizes, size_t n, int32_t *lent) {
  nx_stablehlo *m = NULL;
  bool good = text != NULL && (n == 0 || (constants != NULL && sizes != NULL));
  for (size_t i = 0; good && i < n; i++) good = constants[i] != NULL;
  if (!good || n >= SIZE_MAX / sizeof(nxh_outside)) return NULL;
  nxh_outside *outside = nxi_calloc(n + 1, sizeof *outside);
  if (outside == NULL) return NULL;
  for (size_t i = 0; i < n; i++) outside[i] = (nxh_outside){constants[i], sizes[i], NULL, NULL};
  nxj_error_free(nxj_of_status(nxh_parse(text, size, outside, n, lent, &m)));
  nxi_free(outside);
  return m;
}

uint64_t nx_pjrt_program_new(const char *text, size_t size, const void *const *constants,
                             const size_t *sizes, size_t n, int32_t *lent) {
  nx_stablehlo *m = read_program(text, size, constants, sizes, n, lent);
  entry *e = m != NULL ? nxi_calloc(1, sizeof *e) : NULL;
  if (e == NULL || getrandom(&e->number, sizeof e->number, 0) != sizeof e->number) {
    nx_stablehlo_release(m);
    nxi_free(e);
    return 0;
  }
  e->number |= 1; /* 0 is none */
  e->module = m;
  nxj_lock();
  e->next = entries;
  entries = e;
  nxj_unlock();
  return e->number;
}

void nx_pjrt_program_drop(uint64_t number) {
  nxj_lock();
  entry **at = &entries;
  while (*at != NULL && (*at)->number != number) at = &(*at)->next;
  entry *e = *at;
  if (e != NULL) *at = e->next;
  nxj_unlock();
  if (e == NULL) return;
  nx_stablehlo_release(e->module);
  nxi_free(e);
}

nx_stablehlo *nxj_program_of(const char *bytes, size_t n, bool *unknown) {
  uint64_t number = 0;
  nx_stablehlo *found = NULL;
  if (n != MARK + sizeof number || memcmp(bytes, mark, MARK) != 0) return NULL;
  memcpy(&number, bytes + MARK, sizeof number);
  nxj_lock();
  for (entry *e = entries; e != NULL && found == NULL; e = e->next)
    if (e->number == number) found = nx_stablehlo_retain(e->module);
  nxj_unlock();
  *unknown = found == NULL;
  return found;
}
