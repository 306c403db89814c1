/* SPDX-License-Identifier: ISC */
/* Runs the steps of a plan on a GPU. Addresses are the GPU's. Kernels and copies are started one
 * after the other without waiting for them. Steps that only compute are started before it is known
 * what a check of indices found: kernels cut indices to their axis, and what they have made of a
 * bad one is dropped. Library calls that are done by functions of the host wait for their operands,
 * which are copied to the host, and the results are copied back. */
#include "launch.h"

#include <string.h>

#include "passes/pipeline.h"
#include "runtime/debug.h"
#include "runtime/library/scatter.h"

enum { MOST_ARGUMENTS = 2 * NXP_STEP_BUFFERS + NXI_MOST_VALUES, BLOCKS_A_PROCESSOR = 8 };

typedef struct gpu_run {
  const nxi_executable *executable;
  const nxp_plan *plan;
  const nxi_launch *launch;
  const nxp_step *step;
  const nxi_poll *poll;
  const struct nxi_gpu_nesting *nesting; /* of the capture that this is a part of, or NULL */
  nxi_diag *d;
} gpu_run;

static nxi_gpu *gpu_of(const gpu_run *r) { return nxi_gpu_of(r->executable); }

static uint64_t address(const gpu_run *r, const nxp_location *l) {
  const nxi_launch *launch = r->launch;
  uint64_t base = 0;
  if (l->kind == NXP_INPUT) base = (uint64_t)(uintptr_t)launch->inputs[l->number];
  else if (l->kind == NXP_OUTPUT) base = (uint64_t)(uintptr_t)launch->outputs[l->number];
  else if (l->kind == NXP_TEMPORARY) base = (uint64_t)(uintptr_t)launch->temporary;
  if (l->alias_range != NXP_NO_ALIAS_RANGE)
    base += (uint64_t)(uintptr_t)launch->inputs[l->alias_range] -
            (uint64_t)(uintptr_t)launch->inputs[l->alias_range_of];
  return base == 0 ? 0 : base + (uint64_t)l->offset;
}

static uint32_t number_of(const gpu_run *r) { return (uint32_t)(r->step - r->plan->steps); }
static const nxi_gpu_step *own_of(const gpu_run *r) {
  return &nxi_gpu_plan_of(r->executable)->calls[number_of(r)];
}

/* ---- kernels */

static int64_t task_count(const gpu_run *r) {
  const nxp_kernel *k = &r->plan->kernels[r->step->kernel];
  if (k->tasks_param < 0) return k->tasks;
  int64_t n = (int64_t)r->launch->params[r->step->params[k->tasks_param]];
  return n <= 0 ? 0 : (n - 1) / k->tasks_divisor + 1;
}

static nx_status run_kernel(const gpu_run *r) {
  const nxp_step *s = r->step;
  nxi_gpu *gpu = gpu_of(r);
  const nxi_kernel *code = r->executable->code[s->kernel];
  const nxi_kernel_info *info = nxi_kernel_describe(code);
  uint64_t values[MOST_ARGUMENTS], scratch = 0;
  void *arguments[MOST_ARGUMENTS];
  uint32_t n = 0;
  int64_t blocks = task_count(r);
  for (uint32_t i = 0; i < s->n_buffers; i++) values[n++] = address(r, &s->buffers[i]);
  for (uint32_t i = 0; i < s->n_params; i++) values[n++] = r->launch->params[s->params[i]];
  nx_status status = NX_OK;
  if (info->scratch_bytes > 0) {
    int64_t most = (int64_t)nxi_gpu_properties(gpu)->processors * BLOCKS_A_PROCESSOR;
    if (blocks > most) blocks = most;
    status = nxi_gpu_alloc(gpu, info->scratch_bytes * blocks, &scratch, r->d);
    if (status != NX_OK) return status;
    values[n++] = scratch;
  }
  for (uint32_t i = 0; i < n; i++) arguments[i] = &values[i];
  status = nxi_gpu_launch(nxi_kernel_code(code), blocks, info->threads, arguments, r->d);
  if (scratch != 0) nxi_gpu_free(gpu, scratch, info->scratch_bytes * blocks);
  return status;
}

/* ---- steps of the host */

/* Memory of the GPU that a function of the host reads or writes: a number of bytes from `low` on,
 * which may be before the address. */
typedef struct span {
  uint64_t at;
  int64_t low, bytes;
  bool reads, writes;
  char *host; /* host address that corresponds to the address itself */
} span;

enum { MOST_SPANS = NXG_CALL_OPERANDS + NXG_CALL_RESULTS + 2 };

static int64_t padded(int64_t bytes) { return (bytes + 63) & ~(int64_t)63; }

static nx_status bring(const gpu_run *r, span *spans, uint32_t n, void **memory) {
  int64_t bytes = 64, used = 0;
  for (uint32_t i = 0; i < n; i++) bytes += padded(spans[i].bytes);
  char *block = nxi_malloc((size_t)bytes);
  if ((*memory = block) == NULL) return nxi_oom(r->d);
  block += -(uintptr_t)block & 63;
  for (uint32_t i = 0; i < n; i++) {
    spans[i].host = block + used - spans[i].low;
    used += padded(spans[i].bytes);
    if (!spans[i].reads) continue;
    nx_status status = nxi_gpu_download(gpu_of(r), spans[i].host + spans[i].low,
                                        spans[i].at + (uint64_t)spans[i].low, spans[i].bytes,
                                        NXI_NOW, r->poll, r->d);
    if (status != NX_OK) return status;
  }
  return NX_OK;
}

static nx_status bring_back(const gpu_run *r, const span *spans, uint32_t n) {
  nx_status status = NX_OK;
  for (uint32_t i = 0; i < n && status == NX_OK; i++)
    if (spans[i].writes)
      status = nxi_gpu_upload(gpu_of(r), spans[i].at + (uint64_t)spans[i].low,
                              spans[i].host + spans[i].low, spans[i].bytes, NXI_NOW, r->d);
  return status;
}

static nx_status run_call_on_host(const gpu_run *r) {
  const nxp_step *s = r->step;
  const nxg_call *call = s->call->call;
  const nxg_functions *functions = r->executable->functions[number_of(r)];
  span spans[MOST_SPANS] = {{0}};
  void *host[MOST_SPANS], *memory = NULL;
  uint32_t n = call->n_operands + call->n_results;
  for (uint32_t i = 0; i < n; i++) {
    bool operand = i < call->n_operands;
    const nxg_array *a = operand ? &call->operands[i] : &call->results[i - call->n_operands];
    spans[i] = (span){.at = address(r, &s->buffers[i]),
                      .bytes = nxg_elements(a->rank, a->shape) * nxi_dtype_size(a->dtype),
                      .reads = operand,
                      .writes = !operand};
  }
  spans[n].bytes = s->call->work.shared_bytes;
  spans[n + 1].bytes = padded(s->call->work.own_bytes) * r->plan->threads;
  nx_status status = bring(r, spans, n + 2, &memory);
  for (uint32_t i = 0; i < n + 2; i++) host[i] = spans[i].host;
  if (status == NX_OK)
    status = nxi_run_call(s->call, functions, host, r->launch->pool, r->poll, r->d);
  if (status == NX_OK) status = bring_back(r, spans, n);
  nxi_free(memory);
  return status;
}

static nx_status run_call(const gpu_run *r) {
  const nxp_call *c = r->step->call;
  const nxg_call *call = c->call;
  uint64_t at[MOST_SPANS];
  uint32_t n = call->n_operands + call->n_results;
  if (own_of(r)->functions == NULL) return run_call_on_host(r);
  for (uint32_t i = 0; i <= n; i++) at[i] = address(r, &r->step->buffers[i]);
  nxi_gpu_call_run run = {.gpu = gpu_of(r),
                          .call = call,
                          .work = &own_of(r)->work,
                          .operands = at,
                          .results = at + call->n_operands,
                          .scratch = at[n],
                          .poll = r->poll};
  nx_status status = own_of(r)->functions->run(&run, r->d);
  if (status != NX_OK || run.why == NX_OK) return status;
  if (r->d != NULL) r->d->node = (int32_t)c->origin;
  nxg_call_work batch = {.split = 1};
  return nxg_call_failed(call, &batch, run.why, run.failed, run.said, r->d);
}

/* Finds the range of bytes of elements with these strides, relative to the element with index 0. */
static void reach(span *out, int32_t rank, const int64_t *shape, const int64_t *strides,
                  int32_t axis, int64_t extent, int64_t size) {
  int64_t low = 0, high = 0;
  for (int32_t i = 0; i < rank; i++) {
    int64_t farthest = ((i == axis ? extent : shape[i]) - 1) * strides[i];
    *(farthest < 0 ? &low : &high) += farthest;
  }
  out->low = low * size;
  out->bytes = (high - low + 1) * size;
}

static nx_status run_scatter_on_host(const gpu_run *r) {
  const nxp_step *s = r->step;
  const nxi_scatter *c = s->scatter;
  int64_t size = nxi_dtype_size(c->dtype) * (c->pairs ? 2 : 1);
  span spans[3] = {{.reads = true, .writes = true}, {.reads = true}, {.reads = true}};
  void *memory = NULL;
  for (int32_t i = 0; i < c->rank; i++)
    if (c->shape[i] == 0) return NX_OK;
  for (uint32_t i = 0; i < 3; i++) spans[i].at = address(r, &s->buffers[i]);
  reach(&spans[0], c->rank, c->shape, c->to, c->axis, c->extent, size);
  reach(&spans[1], c->rank, c->shape, c->indices, -1, 0, nxi_dtype_size(c->index));
  reach(&spans[2], c->rank, c->shape, c->updates, -1, 0, size);
  nx_status status = bring(r, spans, 3, &memory);
  if (status == NX_OK)
    status =
        nxi_scatter_run(c, r->launch->pool, r->poll, spans[0].host, spans[1].host, spans[2].host);
  if (status == NX_OK) status = bring_back(r, spans, 3);
  nxi_free(memory);
  return status;
}

static nx_status run_scatter(const gpu_run *r) {
  const nxp_step *s = r->step;
  if (own_of(r)->scatter == NULL) return run_scatter_on_host(r);
  return nxi_gpu_scatter_run(own_of(r)->scatter, gpu_of(r), address(r, &s->buffers[0]),
                             address(r, &s->buffers[1]), address(r, &s->buffers[2]),
                             address(r, &s->buffers[3]), r->d);
}

/* What a check found stays where it is until the plan has ended (nxi_gpu_plan_create). */
static nx_status look_at(const gpu_run *r, uint64_t mark) {
  int64_t found;
  nx_status status = nxi_gpu_download(gpu_of(r), &found, address(r, &r->step->buffers[0]),
                                      sizeof found, mark, r->poll, r->d);
  return status != NX_OK ? status : nxi_report_check(r->step, found, r->d);
}

static nx_status run_matmul(const gpu_run *r) {
  uint64_t at[4] = {0};
  for (uint32_t i = 0; i < r->step->n_buffers; i++) at[i] = address(r, &r->step->buffers[i]);
  return nxi_gpu_run_product(r->step, gpu_of(r), at, r->d);
}

/* ---- control flow: conditional nodes of a graph, or the host reads the condition between launches
 * of bodies */

static nxi_gpu *gpu_of_bodies(const nxi_control_device *v) { return nxi_gpu_of(v->bodies[0]); }
static uint64_t at_of(const void *p) { return (uint64_t)(uintptr_t)p; }

static nx_status run_body(void *user, uint32_t body, void *const *inputs, void *const *outputs,
                          nxi_diag *d) {
  nxi_control_device *v = user;
  nxi_poll poll = {v->poll->fn != NULL ? nxi_control_poll : NULL, v};
  nxi_launch l = {
      .inputs = inputs, .outputs = outputs, .temporary = v->temporary, .pool = v->launch->pool};
  l.graph_launches = v->launch->graph_launches;
  return nxi_gpu_start_steps(v->bodies[body], &l, &poll, NULL, d);
}

static nx_status copy_within(void *user, void *to, const void *from, int64_t bytes, nxi_diag *d) {
  return bytes > 0 ? nxi_gpu_copy(gpu_of_bodies(user), at_of(to), at_of(from), bytes, d) : NX_OK;
}

static nx_status fetch(void *user, void *to, const void *from, int64_t bytes, nxi_diag *d) {
  nxi_control_device *v = user;
  return nxi_gpu_download(gpu_of_bodies(v), to, at_of(from), bytes, NXI_NOW, v->poll, d);
}

static nx_status put(void *user, void *to, const void *from, int64_t bytes, nxi_diag *d) {
  return nxi_gpu_upload(gpu_of_bodies(user), at_of(to), from, bytes, NXI_NOW, d);
}

nx_status nxi_gpu_run_by_host(const nxi_gpu_control_run *x, char *numbers) {
  nxi_control_device v = {.run = run_body,
                          .copy = copy_within,
                          .fetch = fetch,
                          .put = put,
                          .ask = nxi_control_ask,
                          .bodies = x->executable->bodies[x->step - x->executable->plan->steps],
                          .launch = x->launch,
                          .poll = x->poll,
                          .numbers = numbers};
  return nxi_run_control(x->step, x->at, &v, x->d);
}

static nx_status run_control(const gpu_run *r) {
  const nxp_step *s = r->step;
  bool done = false;
  uint32_t n = s->n_buffers;
  void **at = nxi_malloc((n + nxg_control_room(&s->control->c)) * sizeof *at);
  if (at == NULL) return nxi_oom(r->d);
  for (uint32_t i = 0; i < n; i++) at[i] = (void *)(uintptr_t)address(r, &s->buffers[i]);
  nxi_gpu_control_run x = {.executable = r->executable,
                           .step = s,
                           .own = own_of(r)->control,
                           .launch = r->launch,
                           .at = at,
                           .poll = r->poll,
                           .nesting = r->nesting,
                           .record = r->nesting != NULL ? r->nesting->record : NULL,
                           .d = r->d};
  nx_status status = nxi_gpu_run_conditions(&x, &done);
  if (status != NX_OK && r->d != NULL && r->d->node < 0) r->d->node = (int32_t)s->control->origin;
  if (status == NX_OK && !done) status = nxi_gpu_run_by_host(&x, NULL);
  nxi_free(at);
  return status;
}

/* ---- all */

static nx_status run_step(const gpu_run *r) {
  const nxp_step *s = r->step;
  switch (s->kind) {
    case NXP_STEP_KERNEL: return run_kernel(r);
    case NXP_STEP_CHECK: return NX_OK; /* the last kernel before it has found something */
    case NXP_STEP_SCATTER: return run_scatter(r);
    case NXP_STEP_CALL: return run_call(r);
    case NXP_STEP_CONTROL: return run_control(r);
    case NXP_STEP_COPY:
      return nxi_gpu_copy(gpu_of(r), address(r, &s->buffers[1]), address(r, &s->buffers[0]),
                          s->bytes, r->d);
    default: return run_matmul(r);
  }
}

/* A library reports that it failed, but not why: if the GPU is broken, that is the reason. */
static nx_status reason(const nxi_executable *e, nxi_diag *d) {
  nxi_diag lost;
  nxi_diag_clear(&lost);
  if (nxi_gpu_fault(nxi_gpu_of(e), &lost) == NX_OK) return NX_INTERNAL;
  if (d != NULL) *d = lost;
  return NX_DEVICE_LOST;
}

/* After a step of a body that may have failed in a graph: what follows runs if it has not. */
static nx_status guard(const gpu_run *r, uint32_t *guards) {
  const nxp_step *s = r->step;
  bool check = s->kind == NXP_STEP_CHECK, control = s->kind == NXP_STEP_CONTROL;
  if (r->nesting == NULL) return NX_OK; /* of a plan: the host looks, after the launch */
  if (!check && !(control && own_of(r)->control->fails)) return NX_OK;
  nx_status status = nxi_gpu_write_guard(gpu_of(r), r->nesting, check ? s : NULL,
                                         check ? address(r, &s->buffers[0]) : 0, r->d);
  *guards += status == NX_OK;
  return status;
}

bool nxi_gpu_is_final(const nxi_executable *e, const nxi_launch *l, uint32_t number) {
  const nxp_step *s = &e->plan->steps[number];
  const nxi_gpu_step *own = &nxi_gpu_plan_of(e)->calls[number];
  if (s->overwrites || (l->keep_outputs && s->stores)) return true;
  if (s->kind == NXP_STEP_CALL) return own->functions == NULL || !own->functions->captured;
  if (s->kind == NXP_STEP_SCATTER) return own->scatter == NULL;
  return s->kind == NXP_STEP_CONTROL;
}

nx_status nxi_gpu_look(const nxi_executable *e, const nxi_launch *l, const nxi_poll *poll,
                       nxi_gpu_steps *some, nxi_diag *d) {
  gpu_run r = {.executable = e, .plan = e->plan, .launch = l, .poll = poll, .d = d};
  nx_status status = NX_OK;
  for (; some->looked < some->end && status == NX_OK; some->looked++) {
    r.step = &e->plan->steps[some->looked];
    if (r.step->kind == NXP_STEP_CHECK) status = look_at(&r, some->mark);
  }
  return status;
}

/* Before step number `i`: checks that it has to be known of. */
static nx_status look_before(const gpu_run *r, nxi_gpu_steps *some, uint32_t i, nxi_diag *d) {
  nxi_gpu_steps before = *some;
  if (!nxi_gpu_is_final(r->executable, r->launch, i)) return NX_OK;
  before.end = i;
  nx_status status = nxi_gpu_look(r->executable, r->launch, r->poll, &before, d);
  some->looked = before.looked;
  return status;
}

/* ---- side by side, in graphs */

static bool has_tracks(const gpu_run *r, bool captures) {
  return captures && r->plan->n_tracks > 1 && !(nxi_debug_flags() & NXI_DEBUG_notracks);
}

static nx_status run_on_track(const gpu_run *r) {
  const nxp_step *s = r->step;
  nx_status status = s->alone ? nxi_gpu_tracks_join(gpu_of(r), r->d)
                              : nxi_gpu_track(gpu_of(r), s->track, s->after, r->d);
  if (status == NX_OK) status = run_step(r);
  if (status != NX_OK || !s->awaited) return status;
  return nxi_gpu_track_mark(gpu_of(r), number_of(r), r->d);
}

nx_status nxi_gpu_start_some(const nxi_executable *e, const nxi_launch *l, const nxi_poll *poll,
                             const struct nxi_gpu_nesting *nesting, nxi_gpu_steps *some,
                             nxi_diag *d) {
  const nxp_plan *p = e->plan;
  nxi_poll none = {NULL, NULL};
  gpu_run r = {.executable = e, .plan = p, .launch = l, .poll = poll, .nesting = nesting, .d = d};
  bool captures = nxi_gpu_captures(nxi_gpu_of(e));
  nx_status status = NX_OK;
  uint32_t guards = 0;
  if (!captures) r.nesting = NULL;
  const bool tracks = has_tracks(&r, captures);
  if (tracks) status = nxi_gpu_tracks_begin(gpu_of(&r), d);
  for (uint32_t i = some->first; i < some->end && status == NX_OK; i++) {
    r.step = &p->steps[i];
    if (!captures) status = look_before(&r, some, i, d);
    if (status != NX_OK) break;
    if (r.step->overwrites || (l->keep_outputs && r.step->stores)) r.poll = &none;
    if (r.poll == poll) status = nxp_ask(poll, d);
    if (status == NX_OK) status = tracks ? run_on_track(&r) : run_step(&r);
    if (status == NX_OK && captures) status = guard(&r, &guards);
    if (status == NX_OK && tracks && r.step->alone) status = nxi_gpu_tracks_begin(gpu_of(&r), d);
    if (r.step->kind == NXP_STEP_CHECK && !captures) some->mark = nxi_gpu_mark(nxi_gpu_of(e));
    if (status == NX_INTERNAL) status = reason(e, d);
  }
  if (tracks) {
    nx_status joined = nxi_gpu_tracks_join(gpu_of(&r), d);
    if (status == NX_OK) status = joined;
  }
  for (; guards > 0; guards--) {
    nx_status ended = nxi_gpu_body_end(nxi_gpu_of(e), d);
    if (status == NX_OK) status = ended;
  }
  return status;
}

nx_status nxi_gpu_start_steps(const nxi_executable *e, const nxi_launch *l, const nxi_poll *poll,
                              const struct nxi_gpu_nesting *nesting, nxi_diag *d) {
  nxi_gpu_steps all = {.end = e->plan->n_steps};
  nx_status status = nxi_gpu_start_some(e, l, poll, nesting, &all, d);
  bool captures = nxi_gpu_captures(nxi_gpu_of(e));
  return status != NX_OK || captures ? status : nxi_gpu_look(e, l, poll, &all, d);
}

nx_status nxi_gpu_plan_launch(const nxi_executable *e, const nxi_launch *l, nxi_diag *d) {
  nxi_poll poll = {l->poll, l->poll_user};
  bool done = false;
  nx_status status = nxi_gpu_enter(nxi_gpu_of(e), d);
  if (status != NX_OK) return status;
  nxi_fp saved = nxi_fp_enter();
  if (nxi_gpu_plan_of(e)->graphs != NULL) status = nxi_gpu_launch_graph(e, l, &done, d);
  if (status == NX_OK && !done) status = nxi_gpu_start_steps(e, l, &poll, NULL, d);
  nxi_fp_leave(saved);
  nxi_gpu_leave(nxi_gpu_of(e));
  return status;
}
