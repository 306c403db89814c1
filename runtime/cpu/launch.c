/* SPDX-License-Identifier: ISC */
/* Runs the steps of a plan. Code was loaded and memory was reserved before, so compiled steps
 * cannot fail. A launch can be interrupted, but not after it has begun to overwrite memory whose
 * contents are needed if the launch fails. */
#include "cpu.h"

#include <stdatomic.h>
#include <string.h>

#include "codegen_llvm/codegen_llvm.h"
#include "passes/pipeline.h"
#include "runtime/library/blas/blas.h"
#include "runtime/library/floats/windows.h"
#include "runtime/library/scatter.h"
#include "runtime/trace.h"

enum { MAX_PARAMS = NXP_STEP_BUFFERS + NXI_MOST_VALUES };

typedef struct run {
  const nxi_executable *executable;
  const nxp_plan *plan;
  const nxi_launch *launch;
  const nxp_step *step;
  const _Atomic bool *stop; /* NULL: the step is not to stop */
  void *buffers[NXP_STEP_BUFFERS];
  uint64_t params[MAX_PARAMS];
  nxi_diag *d;
  _Atomic bool failed; /* a kernel inside a product found no memory; only interpreters need any */
} run;

/* Begins a step. What arrays hold is written by each step for itself: they have 12 KB, and clearing
 * them would take longer than many kernels. */
static void begin_run(run *r, const nxi_executable *e, const nxi_launch *l, const nxp_step *s,
                      nxi_diag *d) {
  r->executable = e;
  r->plan = e->plan;
  r->launch = l;
  r->step = s;
  r->stop = NULL;
  r->d = d;
  atomic_init(&r->failed, false);
}

static const _Atomic bool never = false;

/* What a kernel reads of it. */
static char *stop_of(const run *r) {
  return (char *)(uintptr_t)(r->stop != NULL ? r->stop : &never);
}

static char *address(const run *r, const nxp_location *l) {
  char *base = NULL;
  if (l->kind == NXP_STOP) return stop_of(r);
  if (l->kind == NXP_INPUT) base = r->launch->inputs[l->number];
  else if (l->kind == NXP_OUTPUT) base = r->launch->outputs[l->number];
  else if (l->kind == NXP_TEMPORARY) base = r->launch->temporary;
  if (l->alias_range != NXP_NO_ALIAS_RANGE)
    base +=
        (char *)r->launch->inputs[l->alias_range] - (char *)r->launch->inputs[l->alias_range_of];
  return base == NULL ? NULL : base + l->offset;
}

static char *scratch_of(const run *r, int worker) {
  int64_t stride = (r->plan->scratch_bytes + 63) & ~(int64_t)63;
  if (stride == 0) return NULL;
  return (char *)r->launch->temporary + r->plan->scratch_offset + stride * worker;
}

static const nxp_kernel *kernel_of(const run *r) { return &r->plan->kernels[r->step->kernel]; }

static void run_tasks(void *arg, int worker, int64_t begin, int64_t end) {
  const run *r = arg;
  const nxi_kernel *code = r->executable->code[r->step->kernel];
  nxl_entry(nxi_kernel_code(code))(r->buffers, r->params, begin, end, scratch_of(r, worker));
}

static int64_t task_count(const run *r) {
  const nxp_kernel *k = kernel_of(r);
  if (k->tasks_param < 0) return k->tasks;
  int64_t n = (int64_t)r->params[k->tasks_param];
  return (n + k->tasks_divisor - 1) / k->tasks_divisor;
}

/* The parameters of a step's kernel: its own, and those of code that serves other kernels, too. */
static void set_params(run *r, const nxp_step *s) {
  const nxp_kernel *k = &r->plan->kernels[s->kernel];
  for (uint32_t i = 0; i < s->n_params; i++)
    if (!(s->params[i] & NXP_PARAM_AXIS)) r->params[i] = r->launch->params[s->params[i]];
  if (k->n_values) memcpy(r->params + s->n_params, k->values, k->n_values * sizeof *k->values);
}

static nx_status interpret_kernel(const nxk_kernel *k, void *const *buffers, const uint64_t *params,
                                  nxi_diag *d) {
  if (k->threads > 0 && nxp_debugging.run_threads != NULL)
    return nxp_debugging.run_threads(k, buffers, params, d);
  return nxk_interpret(k, buffers, params, 0, INT64_MAX, d);
}

/* Of a kernel that may have stopped. */
static nx_status stopped(const run *r) {
  bool stop = r->stop != NULL && atomic_load_explicit(r->stop, memory_order_relaxed);
  return stop ? NX_INTERRUPTED : NX_OK;
}

static nx_status interpret_step(const run *r) {
  nx_status status = interpret_kernel(kernel_of(r)->ir, r->buffers, r->params, r->d);
  return status == NX_OK && r->step->stops ? stopped(r) : status;
}

static nx_status run_kernel(run *r, const nxi_poll *poll) {
  const nxp_step *s = r->step;
  for (uint32_t i = 0; i < s->n_buffers; i++) r->buffers[i] = address(r, &s->buffers[i]);
  set_params(r, s);
  if (r->executable->code == NULL || r->executable->code[s->kernel] == NULL)
    return interpret_step(r);
  int64_t tasks = task_count(r);
  if (tasks <= 1) {
    run_tasks(r, 0, 0, tasks);
    return s->stops ? stopped(r) : NX_OK;
  }
  if (poll->fn != NULL) return nxi_pool_run_polled(r->launch->pool, poll, run_tasks, r, tasks, 1);
  nxi_pool_run(r->launch->pool, run_tasks, r, tasks, 1);
  return NX_OK;
}

/* Runs a kernel that is part of a product once, on this thread. */
static void run_inside(run *product, run *own, int worker) {
  nxi_diag d;
  nxi_diag_clear(&d);
  if (own->executable->code != NULL) run_tasks(own, worker, 0, task_count(own));
  else if (interpret_kernel(kernel_of(own)->ir, own->buffers, own->params, &d) != NX_OK)
    product->failed = true;
}

/* The address of buffer i of a kernel inside a product, for these indices of its outer axes. */
static char *moved_address(const run *r, const nxp_step *s, uint32_t i, const int64_t *index) {
  char *at = address(r, &s->buffers[i]);
  for (int32_t a = 0; a < s->row_rank; a++)
    at += index[a] * s->row_bytes[(int64_t)i * s->row_rank + a];
  return at;
}

/* Begins a kernel inside a product: what is the same for all indices of its outer axes. */
static void begin_inside(const run *r, run *own, const nxp_step *s) {
  begin_run(own, r->executable, r->launch, s, NULL);
  set_params(own, s);
}

/* Fills in its addresses, and the parameters that are indices. */
static void move_to(const run *r, run *own, const int64_t *index) {
  const nxp_step *s = own->step;
  for (uint32_t i = 0; i < s->n_params; i++)
    if (s->params[i] & NXP_PARAM_AXIS)
      own->params[i] = (uint64_t)index[s->params[i] & ~NXP_PARAM_AXIS];
  for (uint32_t i = 0; i < s->n_buffers; i++) own->buffers[i] = moved_address(r, s, i, index);
}

static void split_index(int64_t number, const int64_t *shape, int32_t begin, int32_t end,
                        int64_t *index) {
  for (int32_t a = end; a-- > begin; number /= shape[a]) index[a] = number % shape[a];
}

/* Runs the epilogue for one row after the other, on the thread that finished the row panel. */
static void run_epilogue(void *user, int worker, int64_t batch, int64_t row_begin,
                         int64_t row_end) {
  run *r = user;
  const nxp_step *product = r->step, *s = product->epilogue;
  run own;
  begin_inside(r, &own, s);
  for (int64_t row = batch * product->m + row_begin; row < batch * product->m + row_end; row++) {
    int64_t index[NXG_MAX_RANK] = {0};
    split_index(row, s->row_shape, 0, s->row_rank, index);
    move_to(r, &own, index);
    run_inside(r, &own, worker);
  }
}

/* Makes rows of a chain's second product of rows of its first one, both in blocks of this
 * thread. */
static void run_between(void *user, int worker, int64_t batch, int64_t row_begin, int64_t row_end) {
  run *r = user;
  const nxp_chain *c = r->step->chain;
  const nxp_step *s = c->product->epilogue;
  run own;
  begin_inside(r, &own, s);
  int64_t row_bytes = c->product->n * nxi_dtype_size(c->product->dtype);
  char *read = address(r, &s->buffers[c->rows_read]) + worker * c->block_bytes[0],
       *made = address(r, &s->buffers[c->rows_made]) + worker * c->block_bytes[1];
  for (int64_t row = row_begin; row < row_end; row++) {
    int64_t index[NXG_MAX_RANK] = {0};
    split_index(batch * c->product->m + row, s->row_shape, 0, s->row_rank, index);
    move_to(r, &own, index);
    own.buffers[c->rows_read] = read + (row - row_begin) * row_bytes;
    own.buffers[c->rows_made] = made + (row - row_begin) * row_bytes;
    run_inside(r, &own, worker);
  }
}

/* Writes one unit of a packed tile to `to`; index: indices of the outer axes. */
static void stage_unit(run *r, run *own, int worker, const nxp_packed_part *part,
                       const int64_t *index, char *to) {
  move_to(r, own, index);
  own->buffers[part->buffer] = to;
  run_inside(r, own, worker);
}

/* Returns the beginning of the unit that contains element `at`, and computes its indices begin ..
 * end - 1. */
static int64_t unit_at(const nxp_units *u, int64_t at, const int64_t *shape, int32_t begin,
                       int32_t end, int64_t *index) {
  int64_t line = at / u->line, in = 0;
  if (u->step > 0) {
    int64_t last = u->line - u->unit;
    in = at % u->line / u->step * u->step;
    in = in < last ? in : last;
    index[--end] = in / u->step;
  }
  split_index(line, shape, begin, end, index);
  return line * u->line + in;
}

/* Writes the elements begin .. end - 1 of the inner extent, which are all in one part. Units at the
 * ends extend into the margins. */
static void stage_part(run *r, int worker, const nxp_packed_part *part,
                       const nxi_packed_tile *packed, int64_t begin, int64_t end, char *base) {
  const nxp_staging *p = r->step->staging;
  const nxp_step *s = part->kernel;
  int32_t columns = part->batch_axes + part->column_axes;
  run own;
  begin_inside(r, &own, s);
  int64_t index[NXG_MAX_RANK + 1] = {0};
  split_index(packed->batch, s->row_shape, 0, part->batch_axes, index);
  for (int64_t d = begin; d < end;) {
    int64_t deep = part->begin + unit_at(&part->depth, d - part->begin, s->row_shape, columns,
                                         s->row_rank, index);
    for (int64_t c = packed->first; c < packed->last;) {
      int64_t first = unit_at(&part->columns, c, s->row_shape, part->batch_axes, columns, index);
      stage_unit(r, &own, worker, part, index,
                 base + (first - packed->first) * p->column_bytes +
                     (deep - packed->begin) * p->depth_bytes);
      c = first + part->columns.unit;
    }
    d = deep + part->depth.unit;
  }
}

/* Copies what a packed tile needs of the image whose windows it is. */
static void copy_image(const run *r, const nxi_packed_tile *packed, void *memory) {
  const nxp_staging *p = r->step->staging;
  const nxp_packed_part *part = &p->parts[0];
  const char *image = address(r, &part->kernel->buffers[part->source]) + p->windows->offset;
  const nxi_image_tile tile = {packed->batch, packed->first, packed->last, packed->begin,
                               packed->end};
  nxi_image_copy(nxi_floats_kernels_for(r->step->dtype), &p->windows->windows, &p->windows->layout,
                 image, &tile, memory);
}

/* Whether it does so: there are loops for it, and kernels are not interpreted. */
static bool copies_images(const run *r) {
  return r->executable->code != NULL && nxi_copies_images(r->step);
}

static void run_staging(void *user, int worker, const nxi_packed_tile *packed, void **base) {
  run *r = user;
  const nxp_staging *p = r->step->staging;
  char *first = address(r, &r->step->buffers[p->operand]) + worker * p->packed_bytes;
  if (copies_images(r)) {
    copy_image(r, packed, *base = first);
    return;
  }
  first += p->margin_bytes;
  for (int32_t i = 0; i < p->n_parts; i++) {
    const nxp_packed_part *part = &p->parts[i];
    int64_t begin = packed->begin > part->begin ? packed->begin : part->begin,
            end = packed->end < part->end ? packed->end : part->end;
    stage_part(r, worker, part, packed, begin, end, first);
  }
  *base = first;
}

static void describe_product(const run *r, const nxp_step *s, nxi_matmul *p) {
  *p = (nxi_matmul){.type = s->dtype,
                    .m = s->m,
                    .n = s->n,
                    .k = s->k,
                    .batch_rank = s->batch_rank,
                    .batch_shape = s->batch_shape};
  nxi_matrix *matrix[3] = {&p->a, &p->b, &p->c};
  for (int i = 0; i < 3; i++)
    *matrix[i] = (nxi_matrix){address(r, &s->buffers[i]), i < 2 && s->transposed[i], s->ld[i],
                              s->batch_strides[i]};
}

static nx_status run_chain(run *r, const nxi_blas *blas, const nxi_poll *poll) {
  const nxp_step *s = r->step;
  nxi_matmul_chain c = {.rows = s->chain->rows,
                        .block_bytes = {s->chain->block_bytes[0], s->chain->block_bytes[1]},
                        .between = {run_between, r},
                        .after = {s->epilogue != NULL ? run_epilogue : NULL, r},
                        .seen = s->chain->seen};
  describe_product(r, s->chain->product, &c.products[0]);
  describe_product(r, s, &c.products[1]);
  return nxi_matmul_chained(blas, r->launch->pool, poll, &c, r->d);
}

static nx_status run_alone(run *r, const nxi_blas *blas, const nxi_poll *poll) {
  const nxp_step *s = r->step;
  nxi_matmul p;
  describe_product(r, s, &p);
  nxi_epilogue epilogue = {run_epilogue, r};
  if (s->n_buffers > 3) p.scratch = address(r, &s->buffers[3]);
  nxi_staging staging = {s->staging != NULL ? s->staging->operand : 0, run_staging, r, NULL, NULL};
  if (copies_images(r)) {
    staging.windows = &s->staging->windows->windows;
    staging.layout = &s->staging->windows->layout;
  }
  if (s->staging != NULL) p.staging = &staging;
  return nxi_matmul_panels(blas, r->launch->pool, poll, &p, s->epilogue != NULL ? &epilogue : NULL,
                           r->d);
}

/* The bytes from the first element of the result to behind the last. */
static int64_t result_bytes(const nxp_step *s) {
  int64_t last = (s->m - 1) * s->ld[2] + s->n - 1;
  for (int32_t a = 0; a < s->batch_rank; a++)
    last += (s->batch_shape[a] - 1) * s->batch_strides[2][a];
  return (last + 1) * nxi_dtype_size(s->dtype);
}

static nx_status run_matmul(run *r, const nxi_poll *poll) {
  const nxi_blas *blas = nxi_products_are_own() ? NULL : nxi_blas_get(r->d);
  if (blas == NULL && !nxi_products_are_own()) return r->d->status;
  char *result = address(r, &r->step->buffers[2]);
  if (nxi_touch_run(r->launch->pool, poll, result, result_bytes(r->step)) != NX_OK)
    return NX_INTERRUPTED;
  r->failed = false;
  nx_status status = r->step->chain != NULL ? run_chain(r, blas, poll) : run_alone(r, blas, poll);
  return status == NX_OK && r->failed ? nxi_oom(r->d) : status;
}

/* Also the scratch of the call: the buffer after its results. */
static nx_status touch_results(const run *r, const nxi_poll *poll) {
  const nxg_call *c = r->step->call->call;
  nx_status status = NX_OK;
  if (poll->fn == NULL) return NX_OK; /* nobody asks how long it takes */
  for (uint32_t i = 0; i <= c->n_results && status == NX_OK; i++) {
    const nxg_array *a = &c->results[i];
    int64_t bytes = i == c->n_results ? r->step->call->work.shared_bytes
                                      : nxi_dtype_bytes(a->dtype, nxg_elements(a->rank, a->shape));
    status = nxi_touch_run(r->launch->pool, poll, r->buffers[c->n_operands + i], bytes);
  }
  return status;
}

static nx_status run_call(run *r, const nxi_poll *poll) {
  const nxp_step *s = r->step;
  for (uint32_t i = 0; i < s->n_buffers; i++) r->buffers[i] = address(r, &s->buffers[i]);
  const nxg_functions *functions = r->executable->functions[s - r->plan->steps];
  if (touch_results(r, poll) != NX_OK) return NX_INTERRUPTED;
  return nxi_run_call(s->call, functions, r->buffers, r->launch->pool, poll, r->d);
}

/* ---- control flow */

static nx_status run_body(void *user, uint32_t body, void *const *inputs, void *const *outputs,
                          nxi_diag *d) {
  nxi_control_device *v = user;
  const nxi_executable *e = v->bodies[body];
  nxi_launch l = {.inputs = inputs,
                  .outputs = outputs,
                  .temporary = v->temporary,
                  .pool = v->launch->pool,
                  .poll = v->poll->fn != NULL ? nxi_control_poll : NULL,
                  .poll_user = v,
                  .stop = v->stop};
  return e->kind->launch(e, &l, d);
}

static nx_status copy_bytes(void *user, void *to, const void *from, int64_t bytes, nxi_diag *d) {
  nxi_control_device *v = user;
  const nxi_poll none = {NULL, NULL};
  (void)d;
  return bytes > 0 ? nxi_copy_run(v->launch->pool, &none, to, from, bytes) : NX_OK;
}

static nx_status run_control(const run *r, const nxi_poll *poll) {
  const nxp_step *s = r->step;
  nxi_control_device v = {.run = run_body,
                          .copy = copy_bytes,
                          .fetch = copy_bytes,
                          .put = copy_bytes,
                          .ask = nxi_control_ask,
                          .bodies = r->executable->bodies[s - r->plan->steps],
                          .launch = r->launch,
                          .poll = poll,
                          .stop = r->stop};
  void **at = (void **)(void *)address(r, &s->buffers[s->n_buffers - 2]);
  for (uint32_t i = 0; i < s->n_buffers; i++) at[i] = address(r, &s->buffers[i]);
  return nxi_run_control(s, at, &v, r->d);
}

static const char *step_name(const nxp_step *s) {
  if (s->name != NULL) return s->name;
  return s->kind == NXP_STEP_MATMUL ? "matmul" : "copy";
}

static nx_status run_check(const run *r) {
  int64_t found;
  memcpy(&found, address(r, &r->step->buffers[0]), sizeof found);
  return nxi_report_check(r->step, found, r->d);
}

static nx_status run_scatter(const run *r, const nxi_poll *poll) {
  const nxp_step *s = r->step;
  const char *from[2] = {address(r, &s->buffers[1]), address(r, &s->buffers[2])};
  return nxi_scatter_run(s->scatter, r->launch->pool, poll, address(r, &s->buffers[0]), from[0],
                         from[1]);
}

static nx_status run_step(run *r, const nxi_poll *poll) {
  const nxp_step *s = r->step;
  if (s->kind == NXP_STEP_CHECK) return run_check(r);
  if (s->kind == NXP_STEP_SCATTER) return run_scatter(r, poll);
  if (s->kind == NXP_STEP_KERNEL) return run_kernel(r, poll);
  if (s->kind == NXP_STEP_MATMUL) return run_matmul(r, poll);
  if (s->kind == NXP_STEP_CALL) return run_call(r, poll);
  if (s->kind == NXP_STEP_CONTROL) return run_control(r, poll);
  return nxi_copy_run(r->launch->pool, poll, address(r, &s->buffers[1]), address(r, &s->buffers[0]),
                      s->bytes);
}

/* Bytes that a step reads and writes, each element once; 0: not known. */
static int64_t traffic_of(const nxp_step *s) {
  if (s->kind == NXP_STEP_COPY) return 2 * s->bytes;
  if (s->kind != NXP_STEP_MATMUL) return s->bytes;
  const nxp_step *first = s->chain != NULL ? s->chain->product : NULL;
  int64_t elements = s->k * s->n + s->m * s->n;
  elements += first != NULL ? first->m * first->k + first->k * first->n : s->m * s->k;
  for (int32_t a = 0; a < s->batch_rank; a++) elements *= s->batch_shape[a];
  return elements * nxi_dtype_size(s->dtype);
}

static nx_status run_traced(run *r, const nxi_poll *poll) {
  if (!nxi_trace_is_on()) return run_step(r, poll);
  int64_t began = nxi_trace_step(step_name(r->step));
  nx_status status = run_step(r, poll);
  nxi_trace_stepped(began, traffic_of(r->step), nxi_pool_size(r->launch->pool));
  return status;
}

/* The poll of a plan that has begun to overwrite memory that must not be lost. The plan runs to its
 * end; the caller's function is still called as often as promised, but its answer is ignored until
 * the plan has ended. */
static int32_t ask_unheeded(void *user) {
  const nxi_poll *poll = user;
  poll->fn(poll->user);
  return 0;
}

nx_status nxi_cpu_launch(const nxi_executable *e, const nxi_launch *l, nxi_diag *d) {
  const nxp_plan *p = e->plan;
  nxi_fp saved = nxi_fp_enter();
  nx_status status = NX_OK;
  run r;
  begin_run(&r, e, l, NULL, d);
  nxi_poll poll = {l->poll, l->poll_user};
  nxi_poll unheeded = {l->poll != NULL ? ask_unheeded : NULL, &poll};
  bool overwriting = false;
  for (uint32_t i = 0; i < p->n_steps && status == NX_OK; i++) {
    r.step = &p->steps[i];
    overwriting = overwriting || r.step->overwrites || (l->keep_outputs && r.step->stores);
    r.stop = overwriting ? NULL : l->stop;
    if (!overwriting && poll.fn != NULL && poll.fn(poll.user) != 0) status = NX_INTERRUPTED;
    else status = run_traced(&r, overwriting ? &unheeded : &poll);
  }
  nxi_fp_leave(saved);
  if (status == NX_INTERRUPTED) nxi_fail(d, NX_INTERRUPTED, "", "the poll callback asked to stop");
  return status;
}
