/* SPDX-License-Identifier: ISC */
/* Actions: what is done before and after each, and how the caller's poll is called meanwhile.
 *
 * The caller's poll is called on the caller's thread only: once when the action begins, before
 * anything is acquired; then, if the work may take long, every 10 ms while an offload thread does
 * the work (offload.h). On the offload thread a poll only checks whether the caller's poll has said
 * to stop. Both use the one poll in the action's options.
 *
 * So a poll may use the library, and may even wait for a value that its own action computes: the
 * action continues while the poll runs. */
#include <string.h>

#include "ir/op.h"
#include "runtime/realize/async/offload.h"
#include "ir/platform/clock.h"
#include "run.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"

/* ---- before and after */

/* The poll of the action's options. */
static int32_t ask(void *user) {
  nxi_action *a = user;
  if (!a->offloaded && !atomic_load_explicit(&a->stop, memory_order_relaxed) &&
      a->asked.fn(a->asked.user))
    atomic_store_explicit(&a->stop, true, memory_order_relaxed);
  return atomic_load_explicit(&a->stop, memory_order_relaxed);
}

/* Calls the caller's poll in the caller's floating-point environment, and keeps changes that it
 * makes there. */
static int32_t ask_caller(void *user) {
  nxi_action *a = user;
  nxi_fp_leave(a->environment);
  int32_t answer = a->caller.fn(a->caller.user);
  a->environment = nxi_fp_enter();
  return answer;
}

static void run_callbacks(nxi_action *a) {
  if (!nxi_callbacks_wait(a->context)) return;
  nxi_fp_leave(a->environment);
  nxi_run_callbacks(a->context, false);
  a->environment = nxi_fp_enter();
}

void nxi_action_begin(nxi_action *a, nx_context *c, const nx_run_options *o) {
  a->environment = nxi_fp_enter();
  nxi_context_ref(c);
  a->context = c;
  a->filled = (nx_run_options){.size = sizeof a->filled};
  nxi_diag_clear(&a->diag);
  nx_status fault = nxi_take(&a->filled, o, sizeof a->filled, "nx_run_options", "", &a->diag);
  if (!fault && a->filled.report)
    fault = nxi_size_check(a->filled.report, "nx_report", "", &a->diag);
  if (fault) a->filled.report = NULL;
  a->refused = fault != NX_OK;
  a->tried = false;
  a->options = &a->filled;
  a->caller = (nxi_poll){a->filled.poll, a->filled.user};
  a->asked = (nxi_poll){a->filled.poll ? ask_caller : NULL, a};
  if (a->filled.poll) {
    a->filled.poll = ask;
    a->filled.user = a;
  }
  a->offloaded = false;
  atomic_init(&a->stop, false);
  a->stopped = &a->stop;
  a->began = a->filled.report ? nxi_now_ms() : 0;
  a->blamed = false;
  memset(&a->report, 0, sizeof a->report);
  if (!(c->flags & NX_MANUAL_COLLECT)) run_callbacks(a);
  if (a->asked.fn) ask(a);
  if (!a->filled.report) return;
  nxi_buffers_drop_spare(c);
  nxi_memory_stats memory;
  nxi_allocator_stats(c->allocator, &memory);
  uint64_t peak = atomic_load(&c->peak_bytes);
  while (peak < (uint64_t)memory.peak &&
         !atomic_compare_exchange_weak(&c->peak_bytes, &peak, (uint64_t)memory.peak)) {}
  nxi_allocator_reset_peak(c->allocator);
}

nx_status nxi_action_end(nxi_action *a, nx_status status) {
  nx_context *c = a->context;
  if (a->filled.report) {
    nxi_memory_stats memory;
    nxi_allocator_stats(c->allocator, &memory);
    a->report.size = sizeof a->report;
    a->report.peak_bytes = (uint64_t)memory.peak;
    a->report.total_ms = nxi_now_ms() - a->began;
    nxi_fill(a->filled.report, &a->report, sizeof a->report, "nx_report", "");
  }
  if (status && a->diag.status == NX_OK)
    nxi_fail(&a->diag, status, "", "%s", nx_status_sentence(status));
  if (status && a->blamed)
    nxi_error_report_tagged(&a->diag, a->tag, a->tag_text[0] ? a->tag_text : NULL, a->output);
  else if (status) nxi_error_report(&a->diag);
  nxi_context_unref(c);
  nxi_fp_leave(a->environment);
  return status;
}

/* ---- work that may take long */

nx_status nxi_action_flags(uint32_t flags, const char *op, nxi_diag *d) {
  if (!(flags & ~(uint32_t)(NX_DO_DEFERRED | NX_DO_PENDING))) return NX_OK;
  return nxi_fail(
      d, NX_INVALID_ARGUMENT, op,
      "the flags 0x%x of an action's options hold more than NX_DO_DEFERRED and NX_DO_PENDING",
      flags);
}

nx_status nxi_action_stopped(nxi_action *a) {
  if (a->refused) return a->diag.status;
  if (nxi_action_flags(a->filled.flags, "", &a->diag)) return a->diag.status;
  if (!atomic_load_explicit(&a->stop, memory_order_relaxed)) return NX_OK;
  return nxi_fail(&a->diag, NX_INTERRUPTED, "", "%s", nx_status_sentence(NX_INTERRUPTED));
}

nx_status nxi_action_work(nxi_action *a, nx_status (*work)(void *arg), void *arg) {
  if (!a->asked.fn || a->offloaded) return work(arg);
  nx_status status = NX_OK;
  a->offloaded = true;
  nxi_offload_end end =
      nxi_offload_run(a->context->offload, work, arg, &a->asked, &a->stop, &status);
  a->offloaded = false;
  if (end == NXI_OFFLOAD_LOST) {
    nxi_diag_clear(&a->diag); /* another thread may have written a part of it */
    atomic_store_explicit(&a->stop, true, memory_order_relaxed);
    return nxi_action_stopped(a);
  }
  return end == NXI_OFFLOAD_DONE
             ? status
             : work(arg); /* without an offload thread polls are less frequent */
}

/* ---- copies of elements */

enum { QUICK_COPY = 1 << 16, PIECE = 1 << 18 }; /* elements */

typedef struct copying {
  nxi_action *a;
  char *to;
  const char *base;
  nx_dtype dtype;
  const nxg_view *view;
} copying;

/* The first axis of a view with an extent above 1. Ranges of it are consecutive in C order. */
static int32_t leading_axis(const nxg_view *v) {
  int32_t axis = 0;
  while (axis < v->rank && v->shape[axis] == 1) axis++;
  return axis;
}

static nx_status copy_in_pieces(void *arg) {
  const copying *k = arg;
  nxg_view piece = *k->view;
  int32_t axis = leading_axis(&piece);
  int64_t extent = axis < piece.rank ? piece.shape[axis] : 1;
  int64_t row = nxg_elements(piece.rank, piece.shape) / (extent ? extent : 1);
  int64_t most = row >= PIECE ? 1 : PIECE / (row ? row : 1), count;
  if (nxi_is_nibble(k->dtype)) most += most % 2; /* pieces start at whole bytes */
  for (int64_t at = 0; at < extent; at += count) {
    nx_status status = nxi_poll_now(k->a->options, &k->a->diag);
    if (status) return status;
    count = extent - at < most ? extent - at : most;
    if (axis < piece.rank) {
      piece.shape[axis] = count;
      piece.offset = k->view->offset + at * k->view->strides[axis];
    }
    nxi_copy_packed(k->to + nxi_dtype_bytes(k->dtype, at * row), k->base, k->dtype, &piece);
  }
  return NX_OK;
}

nx_status nxi_action_copy(nxi_action *a, void *to, const void *base, nx_dtype dtype,
                          const nxg_view *v) {
  copying k = {a, to, base, dtype, v};
  int64_t elements = nxg_elements(v->rank, v->shape);
  if (elements > QUICK_COPY) return nxi_action_work(a, copy_in_pieces, &k);
  nxi_copy_packed(to, base, dtype, v);
  return NX_OK;
}

nx_status nxi_action_bytes(nxi_action *a, void *to, const void *from, int64_t bytes,
                           nx_dtype dtype) {
  nxg_view v;
  nxg_view_contiguous(&v, 1, &bytes);
  return nxi_action_copy(a, to, from, dtype == NX_BOOL ? NX_BOOL : NX_U8, &v);
}
