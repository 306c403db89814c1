/* SPDX-License-Identifier: ISC */
/* Running a graph program: scratch memory, parameters, then one step after the other. Programs are
 * immutable and several threads may run one; the scratch memory of a run that is over is kept for
 * the next. */
#include "interp_graph.h"

#include <string.h>

#include "ir/platform/clock.h"

enum {
  STACK_BYTES = 1 << 15,     /* scratch memory up to this lives on the stack */
  POLL_NS = 10 * 1000 * 1000 /* between polls; the interface promises twice that */
};

bool nxg_stopped(nxg_run_state *r) {
  if (!r->poll || r->status) return r->status != NX_OK;
  int64_t now = nxi_now_ns();
  if (r->polled_ns == 0) r->polled_ns = now;
  if (now - r->polled_ns < POLL_NS) return false;
  if (r->poll(r->user))
    r->status = nxi_fail(r->d, NX_INTERRUPTED, "", "the poll callback asked to stop");
  r->polled_ns = nxi_now_ns(); /* the callback has taken time */
  return r->status != NX_OK;
}

static void *take_memory(nxg_program *p) {
  void *spare = atomic_exchange(&p->spare, NULL);
  return spare ? spare : nxi_malloc((size_t)p->scratch_bytes + 64);
}

/* Many programs run once, one after the other; memory that the next one takes is warm. */
static void give_memory(nxg_program *p, void *memory) {
  void *none = NULL;
  const bool again = atomic_exchange_explicit(&p->has_run, true, memory_order_relaxed);
  if (!again || !atomic_compare_exchange_strong(&p->spare, &none, memory)) nxi_free(memory);
}

/* What one step computes of a piece is in the nearest cache when the next one reads it. A piece of
 * very many steps takes long. */
static void run_together(const nxg_step *s, nxg_run_state *r) {
  for (int64_t done = 0; done < s->n && !r->status; done += NXG_PIECE_LENGTH) {
    int64_t n = s->n - done < NXG_PIECE_LENGTH ? s->n - done : NXG_PIECE_LENGTH;
    for (uint32_t i = 0; i < s->together && !nxg_stopped(r); i++) s[i].part(&s[i], r, done, n);
  }
}

static nx_status run_steps(const nxg_program *p, nxg_run_state *r, const uint64_t *params) {
  nxi_fp saved = nxi_fp_enter();
  for (uint32_t i = 0; i < p->n_slots; i++) {
    const nxg_param_slot *slot = &p->slots[i];
    nxi_store_element(r->scratch + slot->byte, slot->dtype, params[slot->param]);
  }
  for (uint32_t i = 0; i < p->n_steps && !nxg_stopped(r);) {
    const nxg_step *s = &p->steps[i];
    if (s->together) run_together(s, r);
    else s->run(s, r);
    i += s->together ? s->together : 1;
  }
  nxi_fp_leave(saved);
  return r->status;
}

static nx_status run_on_stack(const nxg_program *p, nxg_run_state *r, const uint64_t *params) {
  _Alignas(64) char scratch[STACK_BYTES];
  r->scratch = scratch;
  nx_status status = run_steps(p, r, params);
  r->scratch = NULL;
  return status;
}

nx_status nxg_program_run(const nxg_program *p, void *const *inputs, const uint64_t *params,
                          const int64_t *alias_offsets, void *const *outputs, nxi_diag *d) {
  return nxg_program_run_polled(p, inputs, params, alias_offsets, outputs, NULL, NULL, d);
}

nx_status nxg_program_run_polled(const nxg_program *p, void *const *inputs, const uint64_t *params,
                                 const int64_t *alias_offsets, void *const *outputs,
                                 int32_t (*poll)(void *user), void *user, nxi_diag *d) {
  nxg_run_state r = {.constants = p->constants,
                     .inputs = inputs,
                     .outputs = outputs,
                     .alias_offsets = alias_offsets,
                     .d = d,
                     .poll = poll,
                     .user = user};
  if (p->scratch_bytes <= STACK_BYTES) return run_on_stack(p, &r, params);
  if ((uint64_t)p->scratch_bytes > SIZE_MAX / 2) return nxi_oom(d);
  nxg_program *owner = (nxg_program *)(uintptr_t)p; /* only its spare memory changes, atomically */
  void *memory = take_memory(owner);
  if (!memory) return nxi_oom(d);
  r.scratch = (char *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
  nx_status status = run_steps(p, &r, params);
  give_memory(owner, memory);
  return status;
}

int64_t nxg_program_work(const nxg_program *p) { return p->work; }
