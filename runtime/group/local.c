/* SPDX-License-Identifier: ISC */
/* The engine of groups in one process. Members meet, each shows where its block is, each copies
 * what it gets from the memory of the others, and nobody leaves before all have copied, because
 * then that memory is used again. Only the first wait can take long and fail: who is past it is so
 * with all others, and copying ends. */
#include <stdio.h>
#include <string.h>

#include "group.h"
#include "ir/alloc.h"
#include "ir/platform/clock.h"
#include "ir/platform/fork.h"
#include "ir/platform/thread.h"

enum { POLL_NS = 10 * 1000 * 1000 };

typedef struct local {
  nxi_members base;
  nxi_mutex lock;
  nxi_condition changed;
  nxi_fork_entry fork_entry;
  uint64_t met, left; /* rounds that have begun, and that have ended */
  int32_t coming, leaving;
  nx_status broken; /* why no member can come any more; NX_OK: they can */
  char why[NXI_GROUP_SENTENCE];
  nxi_header *headers; /* of each member */
  const void **blocks;
  bool *here;
} local;

/* ---- meeting */

/* The ranks that have not come, as "1, 2". lock. */
static void list_missing(const local *g, char *out, size_t room) {
  size_t used = 0;
  out[0] = 0;
  for (int32_t i = 0; i < g->base.size && used + 8 < room; i++)
    if (!g->here[i]) used += (size_t)snprintf(out + used, room - used, "%s%d", used ? ", " : "", i);
  if (used + 8 >= room) snprintf(out + used, room - used, "..");
}

/* lock */
static void give_up(local *g, nx_status status, int32_t rank) {
  char missing[100];
  list_missing(g, missing, sizeof missing);
  if (status == NX_INTERRUPTED)
    snprintf(g->why, sizeof g->why, "rank %d was told to stop while it waited for rank %s", rank,
             missing);
  else
    snprintf(g->why, sizeof g->why, "rank %d has waited %.3g s for rank %s", rank,
             (double)g->base.timeout_ns * 1e-9, missing);
  g->broken = status;
  nxi_condition_wake_all(&g->changed);
}

/* Waits until all have come, or the group is broken. lock, which is released meanwhile. */
static void wait_for_all(local *g, nxi_exchange_call *call, uint64_t round) {
  int64_t now = nxi_now_ns(), timeout = g->base.timeout_ns,
          end = timeout < 0 || timeout > INT64_MAX - now ? INT64_MAX : now + timeout;
  while (g->met == round && !g->broken) {
    nxi_condition_wait_until(&g->changed, &g->lock, now + POLL_NS < end ? now + POLL_NS : end);
    nxi_mutex_unlock(&g->lock);
    bool stopped = call->stopped(call->user);
    nxi_mutex_lock(&g->lock);
    now = nxi_now_ns();
    if (g->met != round || g->broken) return;
    if (stopped) give_up(g, NX_INTERRUPTED, call->rank);
    else if (now >= end) give_up(g, NX_TIMED_OUT, call->rank);
  }
}

static nx_status meet(local *g, nxi_exchange_call *call) {
  nxi_mutex_lock(&g->lock);
  bool late = g->broken;
  uint64_t round = g->met;
  g->headers[call->rank] = call->exchange->header;
  g->blocks[call->rank] = call->in;
  g->here[call->rank] = true;
  if (!late && ++g->coming == g->base.size) {
    g->coming = 0;
    memset(g->here, 0, (size_t)g->base.size);
    g->met++;
    nxi_condition_wake_all(&g->changed);
  } else if (!late) {
    wait_for_all(g, call, round);
  }
  /* of a round that has begun all copy, whatever another one finds in the next */
  nx_status status = g->met == round ? g->broken : NX_OK;
  if (status) snprintf(call->sentence, sizeof call->sentence, "%s", g->why);
  nxi_mutex_unlock(&g->lock);
  return status;
}

static void leave(local *g, nx_status status, const char *why) {
  nxi_mutex_lock(&g->lock);
  uint64_t round = g->left;
  if (status && !g->broken) {
    g->broken = status;
    snprintf(g->why, sizeof g->why, "%s", why);
  }
  if (++g->leaving == g->base.size) {
    g->leaving = 0;
    g->left++;
    nxi_condition_wake_all(&g->changed);
  }
  while (g->left == round) nxi_condition_wait(&g->changed, &g->lock);
  nxi_mutex_unlock(&g->lock);
}

/* ---- copying */

static void copy(void *to, const void *from, int64_t bytes) {
  if (bytes > 0) memcpy(to, from, (size_t)bytes);
}

static void copy_block(const local *g, const nxi_exchange_call *call) {
  const nxi_exchange *e = call->exchange;
  if (e->from >= 0) copy(call->out, g->blocks[e->from], e->bytes);
  else if (e->bytes > 0) memset(call->out, 0, (size_t)e->bytes);
}

static void copy_all(const local *g, const nxi_exchange_call *call) {
  const nxi_exchange *e = call->exchange;
  int64_t at = e->kind == NXI_ALL_TO_ALL ? call->rank * e->bytes : 0;
  for (int32_t i = 0; i < g->base.size; i++)
    copy((char *)call->out + i * e->bytes, (const char *)g->blocks[i] + at, e->bytes);
}

static nx_status run(nxi_members *all, nxi_exchange_call *call) {
  local *g = (local *)all;
  nxi_exchange_kind kind = call->exchange->kind;
  nx_status status = meet(g, call);
  if (status) return status;
  status = nxi_headers_compare(g->headers, all->size, call->sentence);
  if (!status && (kind == NXI_GATHER || kind == NXI_ALL_TO_ALL)) copy_all(g, call);
  else if (!status) copy_block(g, call);
  leave(g, status, call->sentence);
  return status;
}

/* ---- life */

static void destroy(nxi_members *all) {
  local *g = (local *)all;
  nxi_fork_unregister(&g->fork_entry);
  nxi_condition_destroy(&g->changed);
  nxi_mutex_destroy(&g->lock);
  nxi_free(g->headers);
  nxi_free(g->blocks);
  nxi_free(g->here);
  nxi_free(g);
}

/* The threads of other members are the parent's. */
static void in_child(void *object) {
  local *g = object;
  nxi_condition_init(&g->changed);
  g->broken = NX_DEVICE_UNAVAILABLE;
  snprintf(g->why, sizeof g->why, "a process that fork made has no other members");
}

static const nxi_engine engine = {run, destroy};

nx_status nxi_local_create(int32_t size, const nx_group_options *o, nxi_members **out,
                           nxi_diag *d) {
  local *g = nxi_calloc(1, sizeof *g);
  size_t n = (size_t)size;
  if (!g) return nxi_oom(d);
  g->base = (nxi_members){.engine = &engine,
                          .size = size,
                          .timeout_ns = o->timeout_ms < 0 ? -1 : o->timeout_ms * 1000000};
  snprintf(g->base.name, sizeof g->base.name, "%s", o->name);
  atomic_init(&g->base.refs, 1);
  g->headers = nxi_calloc(n, sizeof *g->headers);
  g->blocks = nxi_calloc(n, sizeof *g->blocks);
  g->here = nxi_calloc(n, sizeof *g->here);
  nxi_mutex_init(&g->lock);
  bool good = g->headers && g->blocks && g->here && nxi_condition_init(&g->changed);
  if (good && !nxi_fork_register_mutex(&g->fork_entry, &g->lock, in_child, g)) {
    *out = &g->base;
    return NX_OK;
  }
  if (good) nxi_condition_destroy(&g->changed);
  nxi_mutex_destroy(&g->lock);
  nxi_free(g->headers);
  nxi_free(g->blocks);
  nxi_free(g->here);
  nxi_free(g);
  return nxi_oom(d);
}
