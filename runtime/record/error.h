/* SPDX-License-Identifier: ISC */
/* Failures on their way to the caller: the thread's error, the thread's tag, and the operation in
 * whose name the thread records. All of it belongs to the calling thread and needs no lock. */
#ifndef NXI_ERROR_H
#define NXI_ERROR_H

#include <stddef.h>

#include "ir/diag.h"
#include "node.h"

/* ---- error.c */
/* Puts a failure into this thread's slot (unless it is full), with the thread's tag; returns
 * d->status. */
nx_status nxi_error_report(const nxi_diag *d);
nx_status nxi_error_status(void); /* of the thread; NX_OK if none waits to be taken */
/* The same with the tag of the operation that failed, and the number of the requested tensor. */
nx_status nxi_error_report_tagged(const nxi_diag *d, uint64_t tag, const char *text,
                                  int32_t output);
/* A null operand: fills an empty slot only. Always NULL. */
void *nxi_error_null(const char *op, int32_t operand);
/* Whether the first field of a struct of this type, its size, is set. NX_INVALID_ARGUMENT in d if
 * it is not: all of the struct would go unheard, or stay empty. */
nx_status nxi_size_check(const void *given, const char *type, const char *op, nxi_diag *d);
/* Copies what the caller gave of an options struct over the defaults in *to; NULL: nothing. Fails
 * as above. */
nx_status nxi_take(void *to, const void *given, size_t known, const char *type, const char *op,
                   nxi_diag *d);
/* Fills a struct that the caller sized in its first field; fields that the caller does not know are
 * left out, fields that the library does not know are left alone. NULL: nobody wants to know. Fails
 * as above, and reports it. */
nx_status nxi_fill(void *out, const void *from, size_t known, const char *type, const char *op);
/* From here to its end, this thread records what `op` is made of: nodes that are made are its
 * parts, and failures are its own. Within another operation nothing changes. Returns what the end
 * is given. */
uint16_t nxi_called_begin(uint32_t op);
void nxi_called_end(uint16_t outer);
/* Until its end nothing is called: for what is no part of the operation, a caller's callback. */
uint16_t nxi_called_pause(void);
uint16_t nxi_called(void); /* 0: each operation is recorded for itself */
/* Notes in a new node under which tag, and as a part of what, this thread records it. */
void nxi_node_sign(nxi_node *n);
/* This thread's tag, with a reference; NULL if it has none. */
nxi_tag *nxi_tag_current(void);
/* What a tag says; of NULL, that there is none. */
static inline bool nxi_tag_is_plain(const nxi_tag *t) { return (uintptr_t)t & 1; }
static inline uint64_t nxi_tag_number(const nxi_tag *t) {
  if (nxi_tag_is_plain(t)) return (uintptr_t)t >> 1;
  return t ? t->number : 0;
}
static inline const char *nxi_tag_text(const nxi_tag *t) {
  return t && !nxi_tag_is_plain(t) && t->has_text ? t->text : NULL;
}
/* One more reference; t. */
static inline nxi_tag *nxi_tag_retain(nxi_tag *t) {
  if (t && !nxi_tag_is_plain(t)) atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
  return t;
}
void nxi_tag_give_up(nxi_tag *t); /* one that has memory */
static inline void nxi_tag_release(nxi_tag *t) {
  if (t && !nxi_tag_is_plain(t)) nxi_tag_give_up(t);
}
/* A node fails for good, for a reason that later runs repeat: a sentence; NULL or "": that of the
 * status. It is lost without memory. record_lock. */
void nxi_node_fail(nxi_node *n, nx_status failure, const char *reason);
/* Why a node failed; not "". */
const char *nxi_node_reason(const nxi_node *n);

/* ---- composite_ops.c */
/* Of nodes too, and of the recording's own operations. Static. */
const char *nxi_op_name(uint32_t op);
/* Says a failure in the name of `op` (0: as it is), which recorded what failed as a part of it. */
void nxi_called_diag(nxi_diag *d, uint16_t op);

nx_tensor *nxi_fail_null(const nxi_diag *d); /* reports; NULL */
void *nxi_no_memory(const char *op);         /* reports that memory is exhausted; NULL */

#endif
