/* SPDX-License-Identifier: ISC */
/* Running a graph program: scratch memory, parameters, then one step after the other. Programs are
 * immutable and several threads may run one; the scratch memory of a run that is over is kept for
 * the next. */
#include "interp_graph.h"

#include <string.h>

#include "ir/platform/clock.h"

enum {
  STACK_BYTES = 1 << 13,     /* scratch memory up to this lives on the stack */
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
  return spare ? spare : nxi_malloc((size_t)(p->scratch_bytes + p->piece_bytes) + 64);
}

/* Many programs run once, one after the other; memory that the next one takes is warm. */
static void give_memory(nxg_program *p, void *memory) {
  void *none = NULL;
  const bool again = atomic_exchange_explicit(&p->has_run, true, memory_order_relaxed);
  if (!again || !atomic_compare_exchange_strong(&p->spare, &none, memory)) nxi_free(memory);
}

/* ---- steps that are divided among threads */

nxg_run_state nxg_run_part(const nxg_run_state *r) {
  nxg_run_state part = *r;
  part.poll = NULL;
  part.parallel = NULL;
  return part;
}

static int32_t ask(void *r) { return nxg_stopped(r); }

bool nxg_divide(nxg_run_state *r, nxg_loop_body *body, void *arg, int64_t n, int64_t work) {
  const nxg_parallel_loop *loop = r->parallel;
  if (!loop || n < 2 || work < loop->least) return false;
  const int64_t parts = work / (loop->least / 2 + 1) + 1, grain = n > parts ? n / parts : 1;
  nx_status status = loop->run(loop->pool, body, arg, n, grain, r->poll ? ask : NULL, r);
  if (status && !r->status)
    r->status = nxi_fail(r->d, status, "", "%s", nx_status_sentence(status));
  return true;
}

/* The first whole cache line of memory that has 64 bytes more than are wanted. */
static char *aligned(void *memory) { return (char *)(((uintptr_t)memory + 63) & ~(uintptr_t)63); }

/* ---- steps that run together */

/* Scratch memory of pieces that each thread takes. Not from its stack: one of the threads is the
 * caller's, which may have a small one. */
enum { MOST_PIECE_BYTES = 1 << 16 };

typedef struct pieces {
  const nxg_step *first;
  uint32_t n; /* steps */
  const nxg_run_state *r;
  int64_t bytes;
  atomic_bool exhausted; /* a thread had no memory, and did nothing */
} pieces;

static void run_piece(const nxg_step *s, uint32_t steps, nxg_run_state *r, int64_t done) {
  int64_t n = s->n - done < NXG_PIECE_LENGTH ? s->n - done : NXG_PIECE_LENGTH;
  for (uint32_t i = 0; i < steps && !nxg_stopped(r); i++) s[i].part(&s[i], r, done, n);
}

static void some_pieces(void *arg, int worker, int64_t begin, int64_t end) {
  pieces *p = arg;
  nxg_run_state part = nxg_run_part(p->r);
  char *memory = nxi_malloc((size_t)p->bytes + 64);
  (void)worker;
  if (!memory) {
    atomic_store_explicit(&p->exhausted, true, memory_order_relaxed);
    return;
  }
  part.pieces = aligned(memory);
  for (int64_t i = begin; i < end; i++) run_piece(p->first, p->n, &part, i * NXG_PIECE_LENGTH);
  nxi_free(memory);
}

/* In elements of a basic operation; functions take four times as long. */
static int64_t work_of(const nxg_step *s, uint32_t steps) {
  int64_t each = 0, work;
  for (uint32_t i = 0; i < steps; i++) each += s[i].loop ? 1 : 4;
  return __builtin_mul_overflow(s->n, each, &work) ? INT64_MAX : work;
}

/* Whether several threads have computed the elements of these steps. */
static bool divide_pieces(const nxg_program *p, const nxg_step *s, uint32_t steps,
                          nxg_run_state *r) {
  pieces all = {.first = s, .n = steps, .r = r, .bytes = p->piece_bytes};
  int64_t n = s->n / NXG_PIECE_LENGTH + (s->n % NXG_PIECE_LENGTH > 0);
  if (!r->parallel || n < 2 || p->piece_bytes > MOST_PIECE_BYTES) return false;
  if (!nxg_divide(r, some_pieces, &all, n, work_of(s, steps))) return false;
  if (atomic_load_explicit(&all.exhausted, memory_order_relaxed) && !r->status)
    r->status = nxi_oom(r->d);
  return true;
}

/* What one step computes of a piece is in the nearest cache when the next one reads it. A piece of
 * very many steps takes long. */
static void run_together(const nxg_step *s, nxg_run_state *r) {
  for (int64_t done = 0; done < s->n && !r->status; done += NXG_PIECE_LENGTH)
    run_piece(s, s->together, r, done);
}

static void run_step(const nxg_program *p, const nxg_step *s, nxg_run_state *r) {
  bool pieces = s->part != NULL; /* as all steps that run together have */
  if (pieces && divide_pieces(p, s, s->together ? s->together : 1, r)) return;
  if (pieces && s->together) run_together(s, r);
  else s->run(s, r);
}

static nx_status run_steps(const nxg_program *p, nxg_run_state *r, const uint64_t *params) {
  nxi_fp saved = nxi_fp_enter();
  for (uint32_t i = 0; i < p->n_slots; i++) {
    const nxg_param_slot *slot = &p->slots[i];
    nxi_store_element(r->scratch + slot->byte, slot->dtype, params[slot->param]);
  }
  for (uint32_t i = 0; i < p->n_steps && !nxg_stopped(r);) {
    const nxg_step *s = &p->steps[i];
    run_step(p, s, r);
    i += s->together ? s->together : 1;
  }
  nxi_fp_leave(saved);
  return r->status;
}

static nx_status run_on_stack(const nxg_program *p, nxg_run_state *r, const uint64_t *params) {
  _Alignas(64) char scratch[STACK_BYTES];
  r->scratch = scratch;
  r->pieces = scratch + p->scratch_bytes;
  nx_status status = run_steps(p, r, params);
  r->scratch = r->pieces = NULL;
  return status;
}

nx_status nxg_program_run(const nxg_program *p, void *const *inputs, const uint64_t *params,
                          const int64_t *alias_offsets, void *const *outputs, nxi_diag *d) {
  return nxg_program_run_polled(p, inputs, params, alias_offsets, outputs, NULL, NULL, NULL, d);
}

nx_status nxg_program_run_polled(const nxg_program *p, void *const *inputs, const uint64_t *params,
                                 const int64_t *alias_offsets, void *const *outputs,
                                 int32_t (*poll)(void *user), void *user,
                                 const nxg_parallel_loop *parallel, nxi_diag *d) {
  nxg_run_state r = {.constants = p->constants,
                     .inputs = inputs,
                     .outputs = outputs,
                     .alias_offsets = alias_offsets,
                     .d = d,
                     .poll = poll,
                     .user = user,
                     .parallel = parallel};
  int64_t bytes;
  if (__builtin_add_overflow(p->scratch_bytes, p->piece_bytes, &bytes)) return nxi_oom(d);
  if (bytes <= STACK_BYTES) return run_on_stack(p, &r, params);
  if ((uint64_t)bytes > SIZE_MAX / 2) return nxi_oom(d);
  nxg_program *owner = (nxg_program *)(uintptr_t)p; /* only its spare memory changes, atomically */
  void *memory = take_memory(owner);
  if (!memory) return nxi_oom(d);
  r.scratch = aligned(memory);
  r.pieces = r.scratch + p->scratch_bytes;
  nx_status status = run_steps(p, &r, params);
  give_memory(owner, memory);
  return status;
}

int64_t nxg_program_work(const nxg_program *p) { return p->work; }
