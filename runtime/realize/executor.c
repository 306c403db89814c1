/* SPDX-License-Identifier: ISC */
/* How an acquired run is executed: its plan is found or made, all memory is reserved, the plan is
 * launched, and values of pinned storages are moved to where they belong. */
#include <string.h>

#include "ir/op.h"
#include "runtime/realize/plans/background.h"
#include "runtime/realize/plans/estimate.h"
#include "runtime/realize/plans/obtain.h"
#include "ir/platform/clock.h"
#include "ir/platform/lock.h"
#include "ir/platform/thread.h"
#include "residency.h"
#include "runtime/debug.h"
#include "runtime/device.h"
#include "runtime/record/custom.h"
#include "runtime/record/objects.h"

nx_status nxi_executor_create(nx_context *c, nxi_diag *d) {
  c->plans = nxi_plan_cache_create();
  if (c->plans) c->background = nxi_background_create(c);
  return c->background ? NX_OK : nxi_oom(d);
}

void nxi_executor_destroy(nx_context *c) {
  nxi_background_destroy(c->background);
  nxi_plan_cache_destroy(c->plans);
}

void nxi_executor_options(const nx_context *c, int32_t device, nxi_executable_options *out) {
  nxi_device *v = nxi_device_opened(c, device);
  *out = (nxi_executable_options){.fuse = nxi_debug_fuse(),
                                  .threads = nxi_pool_size(v->pool),
                                  .pool = v->pool,
                                  .whole = nxi_debug_whole(),
                                  .device = v,
                                  .sums_in_any_order = c->flags & NX_UNORDERED_SUMS};
  v->kind->configure(v, out);
}

/* ---- memory */

static void add_bytes(uint64_t *sum, int64_t bytes) {
  if (__builtin_add_overflow(*sum, (uint64_t)bytes, sum)) *sum = UINT64_MAX;
}

static uint64_t total_bytes(const nxi_run *run, const nxp_plan *plan) {
  const nxp_output *outputs = plan->outputs;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < run->n_inputs; i++) add_bytes(&bytes, run->inputs[i].bytes);
  for (uint32_t i = 0; i < plan->n_outputs; i++)
    add_bytes(&bytes, outputs[i].in_place_of < 0 ? outputs[i].bytes : 0);
  return bytes;
}

/* Whether a value that was computed in an input's memory has to be moved, because that memory is
 * pinned and has to show another value. */
static bool has_to_leave(const nxi_run *run, const nxi_run_output *o) {
  const nxi_buffer *taken = run->inputs[o->in_place_of].buffer;
  if (o->destination == taken) return false;
  for (uint32_t i = 0; i < run->n_outputs; i++)
    if (run->outputs[i].destination == taken) return true;
  return false;
}

static nx_status no_result(nxi_run *run, nxi_node *n, nx_status status, nxi_diag *d) {
  char shape[NXG_SHAPE_TEXT];
  run->culprit = n;
  return nxi_oom_during(d, status, "its result, %s%.64s", nxi_dtypes[n->dtype].name,
                        nxg_format_shape(shape, n->rank, nxi_node_shape(n)));
}

/* Whether the plan writes output i, which is not in place of an input, where it has to be. */
static bool goes_there(const nxi_run_output *o, const nxi_executable *executable) {
  bool aligned =
      o->destination && ((uintptr_t)o->destination->data & 63) == 0; /* as plans assume */
  return o->direct && aligned && (!o->preserved || nxi_executable_cannot_fail(executable));
}

/* The bytes that a launch reserves in memory of the host. */
static int64_t bytes_to_reserve(const nxi_run *run, const nxi_executable *executable) {
  const nxp_plan *plan = nxi_executable_plan(executable);
  uint64_t bytes = (uint64_t)plan->temporary_bytes;
  for (uint32_t i = 0; i < plan->n_outputs; i++)
    if (plan->outputs[i].in_place_of < 0 && !goes_there(&run->outputs[i], executable))
      add_bytes(&bytes, plan->outputs[i].bytes);
  return bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
}

/* Whether another plan could help a launch that passes the memory limit. */
static bool is_short(const nxi_run *run, const nxi_executable *executable) {
  if (run->debugging & NXI_KEY_TIGHT || nxi_device_kind_of(run->context, run->device)->own_memory ||
      nxi_executable_plan(executable)->temporary_bytes == 0)
    return false;
  int64_t room = nxi_allocator_room(run->context->allocator);
  return room != INT64_MAX && bytes_to_reserve(run, executable) > room;
}

static nx_status reserve(nxi_run *run, const nxi_executable *executable, nxi_device *v,
                         int64_t *planned, nxi_diag *d) {
  const nxp_plan *plan = nxi_executable_plan(executable);
  const nxp_output *outputs = plan->outputs;
  for (uint32_t i = 0; i < plan->n_outputs; i++) {
    nxi_run_output *o = &run->outputs[i];
    o->in_place_of = outputs[i].in_place_of;
    if (o->in_place_of >= 0 && !has_to_leave(run, o)) continue;
    if (o->in_place_of < 0 && goes_there(o, executable)) {
      o->buffer = o->destination;
      nxi_buffer_ref(o->destination);
      continue;
    }
    nx_status status = v->kind->own_memory && o->in_place_of < 0
                           ? nxi_buffer_create_on(run->context, v, outputs[i].bytes, &o->buffer, d)
                           : nxi_buffer_create(run->context, outputs[i].bytes, &o->buffer, d);
    if (status) return no_result(run, o->node, status, d);
    if (__builtin_add_overflow(*planned, outputs[i].bytes, planned)) *planned = INT64_MAX;
  }
  return NX_OK;
}

/* Makes a buffer available for the run, in host memory or in that of the device, and sets *at to
 * its address. */
static nx_status place(nxi_run *run, nxi_device *v, nxi_buffer *b, bool contents, char **at,
                       nxi_diag *d) {
  uint64_t address = 0;
  nx_status status = NX_OK;
  if (v->kind->own_memory) status = nxi_buffer_to_device(run->context, b, v, contents, &address, d);
  else status = nxi_buffer_to_host(run->context, b, NULL, d);
  *at = v->kind->own_memory ? (char *)(uintptr_t)address : b->data;
  return status;
}

static nxi_buffer *nth_buffer(nxi_run *run, uint32_t i) {
  return i < run->n_inputs ? run->inputs[i].buffer : run->outputs[i - run->n_inputs].buffer;
}

/* Collects the addresses of inputs and outputs. *placed: how many buffers have been placed. */
static nx_status addresses(nxi_run *run, nxi_device *v, uint32_t *placed, nxi_diag *d) {
  uint32_t n = run->n_inputs + run->n_outputs;
  nx_status status = NX_OK;
  if (!nxi_grow(&run->pointers, &run->cap_pointers, n ? n : 1, sizeof *run->pointers))
    return nxi_oom(d);
  for (uint32_t i = 0; i < n && !status; i++) {
    bool input = i < run->n_inputs;
    nxi_buffer *b = nth_buffer(run, i);
    char *base = NULL;
    if (b) status = place(run, v, b, input, &base, d);
    if (!status) *placed = i + 1;
    run->pointers[i] = input && base ? base + run->inputs[i].offset : base;
  }
  return status;
}

/* Tells the buffers that all work of this run that uses them on a device has been started,
 * successfully or not. */
static void device_done(nxi_run *run, uint32_t placed, uint64_t mark) {
  for (uint32_t i = 0; i < placed; i++)
    if (nth_buffer(run, i)) nxi_buffer_device_done(nth_buffer(run, i), mark);
}

/* Records that the contents of written buffers are newer in memory of the device. */
static nx_status written(nxi_run *run, uint64_t mark, const nxi_poll *poll, nxi_diag *d) {
  nx_status status = NX_OK;
  for (uint32_t i = 0; i < run->n_outputs && !status; i++) {
    nxi_run_output *o = &run->outputs[i];
    nxi_buffer *taken = o->in_place_of >= 0 ? run->inputs[o->in_place_of].buffer : NULL;
    if (taken) status = nxi_buffer_device_written(run->context, taken, mark, poll, d);
    else if (o->buffer) status = nxi_buffer_device_written(run->context, o->buffer, mark, poll, d);
    bool leaves = taken && o->buffer; /* move_to_destinations will move it, in host memory */
    if (status || (!leaves && (!o->destination || o->destination == o->buffer))) continue;
    status = nxi_buffer_to_host(run->context, taken ? taken : o->buffer, poll, d);
    if (!status && o->destination)
      status = nxi_buffer_to_host(run->context, o->destination, poll, d);
  }
  return status;
}

/* The same of host memory, so that no device takes what it has of them for their contents. */
static void written_by_host(const nxi_run *run) {
  for (uint32_t i = 0; i < run->n_outputs; i++) {
    const nxi_run_output *o = &run->outputs[i];
    if (o->in_place_of >= 0) nxi_buffer_host_written(run->inputs[o->in_place_of].buffer);
    if (o->buffer) nxi_buffer_host_written(o->buffer);
  }
}

static void exchange(char *a, char *b, int64_t n) {
  char piece[4096];
  for (int64_t at = 0; at < n; at += (int64_t)sizeof piece) {
    size_t part = n - at < (int64_t)sizeof piece ? (size_t)(n - at) : sizeof piece;
    memcpy(piece, a + at, part);
    memcpy(a + at, b + at, part);
    memcpy(b + at, piece, part);
  }
}

/* Moves the values of pinned storages to the memory that has to show them. A value that is there
 * and still needed is moved to other memory first. */
static void move_to_destinations(nxi_run *run) {
  for (uint32_t i = 0; i < run->n_outputs; i++) {
    nxi_run_output *o = &run->outputs[i];
    if (o->in_place_of < 0 || !o->buffer || !o->buffer->bytes) continue;
    memcpy(o->buffer->data, run->inputs[o->in_place_of].buffer->data, (size_t)o->buffer->bytes);
    nxi_buffer_host_written(o->buffer);
  }
  for (uint32_t i = 0; i < run->n_outputs; i++) {
    nxi_run_output *o = &run->outputs[i];
    nxi_buffer *from =
        o->buffer || o->in_place_of < 0 ? o->buffer : run->inputs[o->in_place_of].buffer;
    if (!o->destination || !from || from == o->destination) continue;
    int64_t bytes = from->bytes < o->destination->bytes ? from->bytes : o->destination->bytes;
    if (o->displaced) exchange(o->destination->data, from->data, bytes);
    else if (bytes) memcpy(o->destination->data, from->data, (size_t)bytes);
    nxi_buffer_host_written(o->destination);
    nxi_buffer_host_written(from);
  }
}

static bool overwrites_preserved(const nxi_run *run) {
  for (uint32_t i = 0; i < run->n_outputs; i++)
    if (run->outputs[i].preserved && run->outputs[i].buffer == run->outputs[i].destination)
      return true;
  return false;
}

/* Memory that a launch needs: results, and places for its operands and temporaries. */
static nx_status prepare(nxi_run *run, const nxi_executable *executable, nxi_device *v,
                         uint64_t *temporary, int64_t *planned, nxi_diag *d) {
  int64_t bytes = nxi_executable_plan(executable)->temporary_bytes;
  uint32_t placed = 0;
  *planned = bytes;
  nx_status status = reserve(run, executable, v, planned, d);
  if (!status) status = addresses(run, v, &placed, d);
  if (!status && bytes)
    status =
        nxi_oom_during(d, v->kind->alloc(v, bytes, temporary, d),
                       "intermediate results, %lld bytes with its results", (long long)*planned);
  if (!status) return NX_OK;
  if (v->kind->own_memory) device_done(run, placed, NXI_NOW);
  return nxi_oom_during(d, status, "launching");
}

/* no_poll: the poll is not called. */
static nx_status launch(nxi_run *run, const nxi_executable *executable, bool no_poll, nxi_diag *d) {
  nxi_device *v = nxi_device_opened(run->context, run->device);
  uint64_t temporary = 0;
  int64_t planned;
  nx_status status = prepare(run, executable, v, &temporary, &planned, d);
  if (status) return status;
  run->overwriting = true;
  const uint64_t effects = nxi_custom_effects();
  atomic_store_explicit(&run->launcher, nxi_thread_self(), memory_order_relaxed);
  nxi_launch l = {.inputs = run->pointers,
                  .params = run->params,
                  .outputs = run->pointers + run->n_inputs,
                  .temporary = (void *)(uintptr_t)temporary,
                  .pool = v->pool,
                  .keep_outputs = overwrites_preserved(run),
                  .graph_launches = &run->report->graph_launches};
  if (run->options && !no_poll) {
    l.poll = run->options->poll;
    l.poll_user = run->options->user;
    l.stop = l.poll != NULL ? run->stopped : NULL;
  }
  status = nxi_executable_launch(executable, &l, d);
  atomic_store_explicit(&run->launcher, 0, memory_order_relaxed);
  run->effects = run->effects || nxi_custom_effects() != effects;
  nxi_poll poll = {l.poll, l.poll_user};
  uint64_t mark = v->kind->mark(v);
  if (v->kind->own_memory) {
    if (!status) status = written(run, mark, &poll, d);
    device_done(run, run->n_inputs + run->n_outputs, mark);
  } else if (!status) {
    written_by_host(run);
  }
  nxi_oom_during(d, status, "interpreting");
  if (status) run->overwriting = false; /* a failed launch has not overwritten anything */
  else move_to_destinations(run);
  if (temporary)
    v->kind->free_after(v, temporary, nxi_executable_plan(executable)->temporary_bytes, mark);
  if ((uint64_t)planned > run->report->planned_bytes)
    run->report->planned_bytes = (uint64_t)planned;
  return status;
}

/* ---- whether a run is so short that it need not be offloaded for the sake of polls */

static const int64_t brief_work =
    1 << 18; /* elements computed: a millisecond or two even without vectors */
static const int64_t brief_interpreted = 1 << 14;
static const uint64_t brief_bytes = 8 << 20;

/* A conservative form of is_tiny that needs the key only, not a graph. */
static bool has_tiny_key(const nxi_run *run) {
  int64_t most = 1, elements = 0, reductions = 0;
  if (run->make_graph || run->n_slots >= NXI_TINY_NODES) return false;
  for (const uint64_t *w = run->key; *w != UINT64_MAX; w = nxi_key_next(w)) {
    uint32_t op = w[0] & 0xffff;
    int64_t n = nxg_elements((int32_t)(w[0] >> 24 & 0xff), (const int64_t *)(w + 2));
    if (op == NXG_matmul || nxg_ops[op].kind == NXG_KIND_CALL || nxg_is_control(op) ||
        n >= NXI_TINY_WORK)
      return false;
    reductions += nxg_ops[op].kind == NXG_KIND_REDUCE;
    elements += n;
    most = n > most ? n : most;
  }
  return elements + reductions * most < NXI_TINY_WORK;
}

bool nxi_poll_briefly;

/* run_lock. */
static bool is_brief(const nxi_run *run, const nxi_plan *p) {
  NXI_HELD(&run->context->run_lock);
  bool interpret;
  const nxi_executable *ready = nxi_plan_ready(run, p, &interpret);
  if (!ready) return !p->busy && has_tiny_key(run) && nxi_plan_interprets_tiny(run, p);
  const nxp_plan *plan = nxi_executable_plan(ready);
  uint64_t bytes = total_bytes(run, plan);
  add_bytes(&bytes, plan->temporary_bytes);
  return plan->work <= (nxi_executable_cannot_fail(ready) ? brief_work : brief_interpreted) &&
         bytes <= brief_bytes;
}

/* ---- the whole */

typedef struct execution {
  nxi_run *run;
  bool brief;
  nxi_plan *p;
  nxi_diag *d;
  nxi_executable *executable;
  bool is_new;      /* the plan */
  const char *miss; /* why; NULL: it is not, or nobody is told */
  bool interpret;
  bool shared; /* it runs code that others share */
  bool told;   /* somebody is told why */
  bool timed;  /* or how long it took; reading clocks costs a tenth of a short run */
  double ms;
} execution;

static void count_run(const execution *e) {
  const nxi_plan *p = e->p;
  const bool interpret = e->interpret;
  nx_report *r = e->run->report;
  r->runs++;
  r->nodes += p->report.nodes;
  r->kernels += interpret ? 0 : p->report.kernels;
  r->library_calls += interpret ? 0 : p->report.library_calls;
  r->host_calls += interpret ? 0 : p->report.host_calls;
  r->interpreted += interpret;
  if (!interpret && p->report.missing_library) {
    r->without_library += p->report.without_library;
    r->missing_library = p->report.missing_library;
  }
  r->plan_misses += e->is_new;
  r->plan_hits += !e->is_new;
  if (e->miss) r->miss_reason = e->miss;
  r->bytes += total_bytes(e->run, nxi_executable_plan(e->executable));
  r->run_ms += e->ms;
}

/* The plan of the run's key. run_lock. */
static nxi_plan *find_plan(execution *e) {
  nxi_plan *p = nxi_plan_find(e->run->context->plans, e->run, &e->is_new, e->d);
  e->miss =
      p && e->is_new && e->told ? nxi_plan_miss(p, e->run, e->run->report->miss_detail) : NULL;
  return p;
}

/* Makes the key that of a plan that needs less memory. */
static void tighten(nxi_run *run) {
  run->debugging |= NXI_KEY_TIGHT;
  run->key[run->device_word] |= (uint64_t)NXI_KEY_TIGHT << 32;
  run->hashed = false;
}

/* The same with a plan that needs less memory, if one that does not care needs too much. run_lock,
 * as in nxi_plan_obtain. */
static nx_status obtain_that_fits(execution *e) {
  nx_context *c = e->run->context;
  nx_status status = nxi_plan_obtain(e->run, e->p, &e->executable, &e->interpret, e->d);
  if (status || !is_short(e->run, e->executable)) return status;
  tighten(e->run);
  nxi_plan *p = find_plan(e);
  if (!p) return NX_OUT_OF_MEMORY;
  nxi_plan_leave(c->plans, e->p);
  e->p = p;
  return nxi_plan_obtain(e->run, p, &e->executable, &e->interpret, e->d);
}

/* Executes the run, on any thread. run_lock, which is released. */
static nx_status carry_out(execution *e) {
  nx_context *c = e->run->context;
  NXI_HELD(&c->run_lock);
  nx_status status = obtain_that_fits(e);
  nxi_oom_during(e->d, status, "planning");
  uint32_t nodes = e->p->report.nodes;
  bool keeps = !(e->run->debugging & NXI_KEY_TIGHT);
  e->shared = !status && e->executable == e->p->compiled && nxi_plan_times_code(e->run, e->p);
  if (!status && e->is_new && e->interpret && !nxi_executable_plan(e->executable)->n_stored)
    keeps = false; /* it stores nothing to be kept, and is not noted as such until it comes again */
  if (!status && keeps && nxi_run_reconsider(e->run, nxi_executable_plan(e->executable)))
    status = NXI_AGAIN;
  nxi_run_unlock(c);
  if (status) return status;
  const bool timed = e->timed || e->interpret || e->shared;
  double began = timed ? nxi_now_ms() : 0;
  status = launch(e->run, e->executable, e->brief && !nxi_poll_briefly, e->d);
  e->ms = timed ? nxi_now_ms() - began : 0;
  if (status == NX_INDEX_OUT_OF_RANGE) nxi_explain_index(e->run, e->d);
  if (status) return status;
  const nxi_device *v = nxi_device_opened(c, e->run->device);
  if (e->interpret) e->run->report->interpreted_reason = v->kind->interpreted(v);
  nxi_debug_run(e->run, nodes, e->miss, e->interpret, e->ms);
  return NX_OK;
}

static nx_status carry_out_elsewhere(void *arg) {
  execution *e = arg;
  nxi_run_lock(e->run->context);
  return carry_out(e);
}

nx_status nxi_execute(nxi_run *run, nxi_action *a) {
  nx_context *c = run->context;
  NXI_HELD(&c->run_lock);
  execution e = {.run = run,
                 .d = &a->diag,
                 .told = a->filled.report || nxi_debug_flags() & NXI_DEBUG_cache,
                 .timed = a->filled.report || nxi_debug_flags() & NXI_DEBUG_time};
  e.p = find_plan(&e);
  if (!e.p) return nxi_oom_during(e.d, NX_OUT_OF_MEMORY, "planning");
  e.brief = is_brief(run, e.p);
  nx_status status;
  if (e.brief) {
    status = carry_out(&e);
  } else {
    nxi_run_unlock(c);
    status = nxi_action_work(a, carry_out_elsewhere, &e);
  }
  nxi_run_lock(c);
  if (!status) count_run(&e);
  if (e.interpret) nxi_plan_count_interpreted(c->plans, e.p, e.ms);
  if (e.shared && !status) e.p->shared_ms += e.ms;
  if (e.p->later) nxi_plan_was_run(c, e.p);
  nxi_plan_leave(c->plans, e.p);
  return status;
}
