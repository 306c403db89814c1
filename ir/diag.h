/* SPDX-License-Identifier: ISC */
/* How a failure travels inside the library: a status and one sentence, filled by whoever fails
 * first. The runtime copies it to the thread's error slot. No allocation. */
#ifndef NXI_DIAG_H
#define NXI_DIAG_H

#include <stdbool.h>
#include <stdint.h>

#include "nx/status.h"

typedef struct nxi_diag {
  nx_status status; /* NX_OK: nothing failed yet */
  char op[32];      /* operation, "" if none */
  char during[96];  /* for exhausted memory: what it was needed for; "" if unknown */
  char message[480];
  int32_t line, column; /* of a text, 1-based; 0 if none */
  int32_t operand;      /* -1 if none */
  int32_t node;         /* index in the graph, -1 if none */
  int64_t index;        /* first bad index or byte offset, -1 if none */
} nxi_diag;

void nxi_diag_clear(nxi_diag *d);
/* Records the first failure; later ones are dropped. d may be NULL. Returns status. */
nx_status nxi_fail(nxi_diag *d, nx_status status, const char *op, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* NX_INDEX_OUT_OF_RANGE: element `index`, in C order, of the indices of this operation, which is
 * `node` of its graph. */
nx_status nxi_fail_index(nxi_diag *d, int64_t node, const char *op, int64_t index);
/* If a failure is recorded and its sentence does not name this file, puts "PATH: " in front of the
 * sentence. */
void nxi_fail_in_file(nxi_diag *d, const char *path);
/* Records exhausted memory, with the size of this thread's last allocation that failed
 * (alloc.h). */
void nxi_oom_record(nxi_diag *d);
static inline nx_status nxi_oom(nxi_diag *d) {
  nxi_oom_record(d);
  return NX_OUT_OF_MEMORY;
}
/* If `status` is exhausted memory, records in a few words what it was needed for, unless that is
 * recorded already. Returns status. */
nx_status nxi_oom_during(nxi_diag *d, nx_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* If `status` is exhausted memory and no operation is recorded, records the operation and completes
 * the sentence. Returns status. */
nx_status nxi_oom_in(nxi_diag *d, nx_status status, const char *op);

/* A growing text buffer: printers write here. On exhausted memory `failed` is set and text is
 * dropped. */
typedef struct nxi_text {
  char *data; /* NUL terminated once anything was written; free with nxi_free */
  uint32_t size, capacity;
  bool failed;
} nxi_text;
void nxi_text_add(nxi_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void nxi_text_put(nxi_text *t, const char *s, uint32_t n);
void nxi_text_free(nxi_text *t);

#endif
