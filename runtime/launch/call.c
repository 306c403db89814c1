/* SPDX-License-Identifier: ISC */
/* Runs a library call: its phases one after the other, the tasks of each phase on the pool. If
 * several tasks fail, the failure of the task with the lowest number is reported, so that it does
 * not depend on the number of threads. Also reports what a check of indices found. */
#include "internal.h"

#include <stdatomic.h>

bool nxi_call_is_of_one_task(const nxg_call_work *work) {
  bool one = true;
  for (uint32_t i = 0; one && i < work->n_phases; i++) {
    int64_t tasks, grain;
    nxg_call_phase(work, i, &tasks, &grain);
    one = tasks <= grain;
  }
  return one;
}

typedef struct call_run {
  const nxp_call *call;
  const nxg_functions *functions;
  void *const *buffers; /* operands, results, scratch of the call, of threads */
  uint32_t phase;
  const nxi_poll *poll;
  atomic_bool stop;              /* the poll has requested a stop */
  _Atomic uint64_t first_failed; /* task << 8 | status; UINT64_MAX: none */
  char sentence[NXG_CALL_SENTENCE];
} call_run;

static int32_t ask(void *user) {
  call_run *r = user;
  if (!atomic_load_explicit(&r->stop, memory_order_relaxed) && r->poll->fn(r->poll->user) != 0)
    atomic_store_explicit(&r->stop, true, memory_order_relaxed);
  return atomic_load_explicit(&r->stop, memory_order_relaxed);
}

/* The caller's poll is called only on the caller's thread; other threads check whether it has
 * requested a stop. */
static bool stopped_caller(void *user) {
  call_run *r = user;
  return r->poll->fn != NULL && ask(r) != 0;
}
static bool stopped_other(void *user) {
  const call_run *r = user;
  return atomic_load_explicit(&r->stop, memory_order_relaxed);
}

static void note_failure(call_run *r, int64_t task, nx_status status) {
  uint64_t mine = (uint64_t)task << 8 | (uint64_t)status;
  uint64_t first = atomic_load_explicit(&r->first_failed, memory_order_relaxed);
  while (mine < first && !atomic_compare_exchange_weak(&r->first_failed, &first, mine)) {}
}

static void run_part(void *arg, int worker, int64_t begin, int64_t end) {
  call_run *r = arg;
  const nxg_call *call = r->call->call;
  void *const *results = r->buffers + call->n_operands, *const *scratch = results + call->n_results;
  if ((uint64_t)begin > atomic_load_explicit(&r->first_failed, memory_order_relaxed) >> 8) return;
  int64_t own = (r->call->work.own_bytes + 63) & ~(int64_t)63;
  nxg_call_part part = {.call = call,
                        .state = r->call->work.state,
                        .phase = r->phase,
                        .begin = begin,
                        .end = end,
                        .operands = r->buffers,
                        .results = results,
                        .shared = scratch[0],
                        .own = own ? (char *)scratch[1] + own * worker : NULL,
                        .stopped = worker == 0 ? stopped_caller : stopped_other,
                        .user = r,
                        .unpolled = r->poll->fn == NULL,
                        .failed = begin,
                        .sentence = r->sentence,
                        .room = sizeof r->sentence};
  nx_status status = r->functions->run(&part);
  if (status != NX_OK) note_failure(r, part.failed, status);
}

nx_status nxi_run_call(const nxp_call *call, const nxg_functions *functions, void *const *buffers,
                       nxi_pool *pool, const nxi_poll *poll, nxi_diag *d) {
  call_run r; /* most of it is room for a sentence, which is not cleared */
  r.call = call;
  r.functions = functions;
  r.buffers = buffers;
  r.poll = poll;
  r.sentence[0] = 0;
  nxi_poll own = {poll->fn != NULL ? ask : NULL, &r};
  atomic_init(&r.stop, false);
  atomic_init(&r.first_failed, UINT64_MAX);
  for (r.phase = 0; r.phase < call->work.n_phases; r.phase++) {
    int64_t tasks, grain;
    /* A pool calls the poll after 10 ms within a phase, so never during many short phases. */
    if (r.phase > 0 && poll->fn != NULL && ask(&r) != 0) return NX_INTERRUPTED;
    nxg_call_phase(&call->work, r.phase, &tasks, &grain);
    nx_status status = NX_OK;
    if (tasks <= grain && tasks > 0) run_part(&r, 0, 0, tasks);
    else if (tasks > 0) status = nxi_pool_run_polled(pool, &own, run_part, &r, tasks, grain);
    if (status != NX_OK) return status;
    if (atomic_load_explicit(&r.stop, memory_order_relaxed)) return NX_INTERRUPTED;
    uint64_t failed = atomic_load_explicit(&r.first_failed, memory_order_relaxed);
    if (failed == UINT64_MAX) continue;
    if (d != NULL) d->node = (int32_t)call->origin;
    return nxg_call_failed(call->call, &call->work, (nx_status)(failed & 0xff),
                           (int64_t)(failed >> 8), r.sentence, d);
  }
  return NX_OK;
}

/* `found` is a position in the shape without the axes along which indices repeat. */
nx_status nxi_report_check(const nxp_step *s, int64_t found, nxi_diag *d) {
  int64_t position = 0, stride = 1;
  if (found == INT64_MAX) return NX_OK;
  for (int32_t i = s->rank; i-- > 0; stride *= s->shape[i]) {
    position += found % s->looked_at[i] * stride;
    found /= s->looked_at[i];
  }
  return nxi_fail_index(d, s->origin, s->op, position);
}
