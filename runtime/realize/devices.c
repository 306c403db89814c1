/* SPDX-License-Identifier: ISC */
/* Realising values of several devices in one action. Each device is realised on a thread of its
 * own, since one may wait in a collective for the others. This thread calls the poll meanwhile. If
 * one fails, the others are asked to end, because they may wait for it. */
#include <string.h>

#include "ir/op.h"
#include "runtime/realize/async/offload.h"
#include "run.h"
#include "runtime/device.h"

typedef struct all_shares {
  nxi_action *action;
  nxi_node *const *nodes;
  uint32_t n;
  _Atomic bool failed;
} all_shares;

/* The work of one device. */
typedef struct share {
  all_shares *all;
  int32_t device;
  nxi_action action; /* its diagnosis and report */
  nx_status status;
  nxi_offloaded *thread; /* NULL: this thread does it */
} share;

static int32_t is_stopped(void *user) {
  all_shares *all = user;
  return atomic_load_explicit(&all->failed, memory_order_relaxed) ||
         atomic_load_explicit(&all->action->stop, memory_order_relaxed);
}

static nx_status work(void *arg) {
  share *s = arg;
  s->status = nxi_realize_on(&s->action, s->device, s->all->nodes, s->all->n);
  if (s->status) atomic_store_explicit(&s->all->failed, true, memory_order_relaxed);
  return s->status;
}

/* An action of the share's own, which polls whether it is to stop and calls nobody. */
static void begin_share(share *s, all_shares *all, int32_t device) {
  nxi_action *a = &s->action;
  s->all = all;
  s->device = device;
  a->context = all->action->context;
  a->filled = all->action->filled;
  a->filled.poll = is_stopped;
  a->filled.user = all;
  a->options = &a->filled;
  a->offloaded = true;
  a->began = all->action->began;
  nxi_diag_clear(&a->diag);
  atomic_init(&a->stop, false);
  a->stopped = &all->action->stop;
}

/* ---- what the action reports */

static void add_counts(nx_report *to, const nx_report *from) {
  to->nodes += from->nodes;
  to->kernels += from->kernels;
  to->library_calls += from->library_calls;
  to->runs += from->runs;
  to->interpreted += from->interpreted;
  to->plan_hits += from->plan_hits;
  to->plan_misses += from->plan_misses;
  to->kernel_hits += from->kernel_hits;
  to->kernel_disk_hits += from->kernel_disk_hits;
  to->kernel_misses += from->kernel_misses;
  to->host_calls += from->host_calls;
  to->graph_launches += from->graph_launches;
  to->without_library += from->without_library;
  to->generic_hits += from->generic_hits;
  to->generic_misses += from->generic_misses;
  to->bytes = to->bytes > UINT64_MAX - from->bytes ? UINT64_MAX : to->bytes + from->bytes;
  if (from->planned_bytes > to->planned_bytes) to->planned_bytes = from->planned_bytes;
}

static void add_report(nx_report *to, const nx_report *from) {
  add_counts(to, from);
  to->record_ms += from->record_ms;
  to->plan_ms += from->plan_ms;
  to->compile_ms += from->compile_ms;
  to->run_ms += from->run_ms;
  if (from->miss_reason) {
    to->miss_reason = from->miss_reason;
    memcpy(to->miss_detail, from->miss_detail, sizeof to->miss_detail);
  }
  if (from->missing_library) to->missing_library = from->missing_library;
  if (from->interpreted_reason) to->interpreted_reason = from->interpreted_reason;
}

static void take_failure(nxi_action *to, const nxi_action *from) {
  to->diag = from->diag;
  to->blamed = from->blamed;
  to->tag = from->tag;
  to->output = from->output;
  memcpy(to->tag_text, from->tag_text, sizeof to->tag_text);
}

/* The first failure that is not only the end that another one asked for. */
static nx_status outcome(nxi_action *a, const share *shares, uint32_t n) {
  const share *failed = NULL;
  for (uint32_t i = 0; i < n; i++) {
    add_report(&a->report, &shares[i].action.report);
    bool better = !failed || failed->status == NX_INTERRUPTED;
    if (shares[i].status && better && (!failed || shares[i].status != NX_INTERRUPTED))
      failed = &shares[i];
  }
  if (!failed) return NX_OK;
  take_failure(a, &failed->action);
  return failed->status;
}

/* ---- the whole */

/* Whether device number `device` is that of a node. */
static bool is_wanted(const all_shares *all, int32_t device) {
  for (uint32_t i = 0; i < all->n; i++)
    if (all->nodes[i]->device == device) return true;
  return false;
}

static uint32_t begin_all(all_shares *all, share *shares, int32_t devices) {
  nx_context *c = all->action->context;
  uint32_t n = 0;
  for (int32_t device = 0; device < devices; device++) {
    if (!is_wanted(all, device)) continue;
    share *s = &shares[n++];
    begin_share(s, all, device);
    s->thread = nxi_offload_begin(c->offload, work, s);
  }
  for (uint32_t i = 0; i < n; i++)
    if (!shares[i].thread) work(&shares[i]);
  return n;
}

/* False: this is a child of fork, where nothing goes on. */
static bool end_all(all_shares *all, share *shares, uint32_t n) {
  nxi_action *a = all->action;
  nxi_poll poll = a->offloaded ? (nxi_poll){NULL, NULL} : a->asked;
  bool here = true;
  for (uint32_t i = 0; i < n; i++) {
    nx_status ignored;
    if (!shares[i].thread) continue;
    here &= nxi_offload_end_of(a->context->offload, shares[i].thread, &poll, &a->stop, &ignored) ==
            NXI_OFFLOAD_DONE;
  }
  return here;
}

nx_status nxi_realize_on_each(nxi_action *a, nxi_node *const *nodes, uint32_t n) {
  int32_t devices = nx_device_count(a->context);
  all_shares all = {.action = a, .nodes = nodes, .n = n};
  share *shares = nxi_calloc((size_t)devices, sizeof *shares);
  if (!shares) return nxi_oom_during(&a->diag, NX_OUT_OF_MEMORY, "planning");
  uint32_t begun = begin_all(&all, shares, devices);
  nx_status status;
  if (end_all(&all, shares, begun)) {
    status = outcome(a, shares, begun);
  } else {
    atomic_store_explicit(&a->stop, true, memory_order_relaxed);
    status = nxi_action_stopped(a);
  }
  nxi_free(shares);
  return status;
}
