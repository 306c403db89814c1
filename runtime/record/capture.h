/* SPDX-License-Identifier: ISC */
/* Capture: what a thread records between its first placeholder and the function that it makes of
 * it. The session notes which storages are read and assigned, so that the function can do both at
 * each call. All with record_lock. */
#ifndef NXI_CAPTURE_H
#define NXI_CAPTURE_H

#include "context.h"

/* A session lasts from a thread's first placeholder until its function is created, or until its
 * placeholders are gone. */
typedef struct nxi_captured_assign {
  nxi_storage *storage; /* one reference, but for placeholders of this session */
  bool held;            /* that reference */
  nxi_node *value;      /* what the session's thread reads; one reference */
  nxi_node *before;     /* what a storage of the session itself was, which has moved on; or NULL */
  uint64_t id;          /* of the time when it was assigned, and no placeholder was made since */
} nxi_captured_assign;
struct nxi_session {
  nxi_session *next;
  uint64_t thread;
  uint64_t start;            /* storages of lower ids existed before: they are read at each call */
  uint64_t *open;            /* ids of its placeholders that are alive, in order: a function in a */
  uint32_t n_open, cap_open; /* function begins at one of them */
  bool ended;     /* by nx_capture_end: in no list, and empty; only its placeholders refer to it */
  nxi_list cells; /* storages that were read, one reference each but of its placeholders */
  /* In the order of time. A storage is there again where a placeholder was made in between: the
   * later one is of a function that begins there, or of both. */
  nxi_captured_assign *assigns;
  uint32_t n_assigns, cap_assigns;
};
/* What a captured operation reads of s instead of `value`; takes a reference, gives one. NULL
 * without memory. It is a NXI_OP_CELL where a function that begins after this value was there has
 * to read the storage at each call; its operand is the value for all others. Its attributes: the
 * ids of the storage, and of its last assign in the session, or 0. */
nxi_node *nxi_capture_read(nx_context *c, nxi_storage *s, nxi_node *value);
bool nxi_capture_placeholder(nx_context *c, nxi_storage *s); /* false without memory */
void nxi_capture_forget(nx_context *c, nxi_storage *s); /* s leaves its session, which may end */
/* *captured: this thread is in a session, so the assign is only noted there, for calls, and nobody
 * else sees it; the reference of value is taken. A storage that the session has made itself moves
 * on at once; that is noted if a function may begin later than the storage, and taken back when
 * there is one. False without memory. */
bool nxi_capture_assign(nx_context *c, nxi_storage *s, nxi_node *value, bool *captured);
void nxi_capture_take_back(nx_context *c, const nxi_captured_assign *a);
void nxi_captured_drop(nx_context *c, nxi_captured_assign *a);
/* The session that this thread records into, or NULL. */
nxi_session *nxi_capture_session(nx_context *c);
/* The id of its last placeholder; 0: there is none. */
uint64_t nxi_capture_newest(const nxi_session *session);
/* Whether the storage was assigned in the session since the id was given. */
bool nxi_capture_assigned(const nxi_session *session, const nxi_storage *s, uint64_t since);
nxi_storage *nxi_capture_cell(const nxi_session *session,
                              uint64_t id); /* a storage of `cells`, or NULL */

#endif
