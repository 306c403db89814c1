/* SPDX-License-Identifier: ISC */
/* Whether a handle that a caller gives is alive. Two degrees:
 *
 *  - Always: handles begin with a count of references and a number that says what they are. A block
 *    of the pool that was given back does not look like that, so a released handle is refused
 *    unless its memory is another handle by now. This costs a comparison in a cache line that the
 *    call reads anyway.
 *  - NX_DEBUG=handles: every handle is an allocation of its own, is noted with a number, its tag
 *    and what it is, and its memory is kept and poisoned after its release (the last 2^18 of them).
 *    Each entry of the interface looks its handles up, and says which one was released, where it
 *    was made, and where it was released. What lives when a caller gives up its last reference of a
 *    context is listed.
 *
 * Scopes, archives and contexts are checked in the second degree alone. */
#ifndef NXI_WATCH_H
#define NXI_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/diag.h"
#include "nx/context.h"

/* What a handle is. The lower half of each is neither an operation nor a pair of dtype and device,
 * and the upper half is larger than the upper half of a pointer: nodes, storages and free blocks do
 * not look like handles. */
typedef enum nxi_kind {
  NXI_TENSOR = 0x6e78a3c1,
  NXI_MAPPING = 0x6e78a3c2,
  NXI_FUNCTION = 0x6e78a3c3,
  NXI_CONTEXT = 0x6e78a3c4,
  NXI_SCOPE = 0x6e78a3c5,
  NXI_ARCHIVE = 0x6e78a3c6,
  NXI_CUSTOM = 0x6e78a3c7,
  NXI_EVENT = 0x6e78a3c8,
  NXI_GROUP = 0x6e78a3c9
} nxi_kind;

/* The head of every handle with an atomic count. */
typedef struct nxi_head {
  _Atomic uint32_t refs;
  uint32_t kind;
  struct nxi_head *next; /* on the stack of the dead */
} nxi_head;

extern _Atomic bool nxi_watching; /* NX_DEBUG=handles is on */
static inline bool nxi_watch_on(void) {
  return __builtin_expect(atomic_load_explicit(&nxi_watching, memory_order_relaxed), 0);
}

/* Turns it on or off; from_start: no handle was made before. */
void nxi_watch_set(bool on, bool from_start);
/* Registers the lock with fork.c, once, before the locks of the first context. NX_OUT_OF_MEMORY. */
nx_status nxi_watch_prepare(void);

/* ---- the life of a handle. Each function is told by `watched` whether the handle is one of these.
 * */

/* Zeroed memory; *watched: to be given to nxi_watch_made, then to nxi_handle_free. NULL: there is
 * none. */
void *nxi_handle_alloc(size_t bytes, bool *watched);
/* Notes a handle that is complete. `format` says what it is: "mul f32[2,3]". */
void nxi_watch_made(const void *handle, nxi_kind kind, const nx_context *c, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Its last reference is gone; by_scope: a scope gave it up. Nothing happens if the handle is not
 * watched. */
void nxi_watch_released(const void *handle, bool by_scope);
/* The memory is given up, or kept and poisoned for a while. */
void nxi_handle_free(void *handle, bool watched);
/* A reference of a context that a caller took or gives up. The last one lists what lives; false: it
 * had none, and that is reported. */
void nxi_watch_retain(const nx_context *c);
bool nxi_watch_give_up(const nx_context *c);

/* ---- checks */

bool nxi_watch_live(const void *handle, nxi_kind kind);
/* A failure for a handle that is NULL or not alive, in d; and the same for the thread's error, as
 * false. */
void nxi_handle_fault(const char *op, int32_t operand, const void *handle, nxi_kind kind,
                      nxi_diag *d);
bool nxi_handle_bad(const char *op, int32_t operand, const void *handle, nxi_kind kind);

/* Whether a handle that is not NULL is alive. */
static inline bool nxi_looks_live(const void *handle, nxi_kind kind) {
  if (nxi_watch_on()) return nxi_watch_live(handle, kind);
  const nxi_head *h = handle;
  return h->kind == kind && atomic_load_explicit(&h->refs, memory_order_relaxed);
}
/* The same of kinds without a head. */
static inline bool nxi_known_live(const void *handle, nxi_kind kind) {
  return !nxi_watch_on() || nxi_watch_live(handle, kind);
}

/* True if the handle may be used; false: the failure of `op` is reported, NULL included. */
static inline bool nxi_have_tensor(const char *op, int32_t operand, const void *t) {
  return (t && nxi_looks_live(t, NXI_TENSOR)) || nxi_handle_bad(op, operand, t, NXI_TENSOR);
}
static inline bool nxi_have_mapping(const char *op, int32_t operand, const void *m) {
  return (m && nxi_looks_live(m, NXI_MAPPING)) || nxi_handle_bad(op, operand, m, NXI_MAPPING);
}
static inline bool nxi_have_function(const char *op, int32_t operand, const void *f) {
  return (f && nxi_looks_live(f, NXI_FUNCTION)) || nxi_handle_bad(op, operand, f, NXI_FUNCTION);
}
static inline bool nxi_have_custom(const char *op, int32_t operand, const void *f) {
  return (f && nxi_looks_live(f, NXI_CUSTOM)) || nxi_handle_bad(op, operand, f, NXI_CUSTOM);
}
static inline bool nxi_have_event(const char *op, int32_t operand, const void *e) {
  return (e && nxi_looks_live(e, NXI_EVENT)) || nxi_handle_bad(op, operand, e, NXI_EVENT);
}
static inline bool nxi_have_context(const char *op, int32_t operand, const void *c) {
  return (c && nxi_known_live(c, NXI_CONTEXT)) || nxi_handle_bad(op, operand, c, NXI_CONTEXT);
}
static inline bool nxi_have_archive(const char *op, int32_t operand, const void *a) {
  return (a && nxi_known_live(a, NXI_ARCHIVE)) || nxi_handle_bad(op, operand, a, NXI_ARCHIVE);
}

#endif
