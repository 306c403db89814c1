/* SPDX-License-Identifier: ISC */
/* Writes control flow as conditional nodes. The bodies are started as always, and captured; between
 * them one thread counts, reads predicates and sets the values of the nodes (control.cuh).
 *
 * Addresses in a graph are fixed. What is carried lies in its result's memory (place 0) or in the
 * second one (place 1), as where the host runs a loop (ir/graph/control_run.c); so the body of a
 * loop is two steps, from one place to the other and back, the second of them in a node of its own.
 * If all of it is updated in place, one step is enough. Slices of stacks are copied to memory of
 * their own before a step, and from there after it.
 *
 * After something has failed, nothing that follows in the body runs, and no loop makes another
 * step. */
#include "conditions.h"

#include "launch.h"
#include "state.h"

/* As in control.cuh. */
enum { BEGIN, ENTER, NEXT, CHOOSE, CHECK, UNLESS, ALLOW, NUMBERS };
enum { WIDE = 1, NARROW = 2, REVERSE = 4, HALF = 8, BUDGET = 16, EQUAL = 32, ROOT = 64 };
enum { TELLING_THREADS = 32, SLICE_THREADS = 256, MOST_BLOCKS = 4096, SLICE_WORDS = 4 };

typedef struct handles {
  uint64_t loop, half, odd; /* 0: there is none */
} handles;

static nxi_gpu *gpu_of(const nxi_gpu_control_run *x) { return nxi_gpu_of(x->executable); }
static const nxp_control *control_of(const nxi_gpu_control_run *x) { return x->step->control; }
static const nxg_control *parts(const nxi_gpu_control_run *x) { return &x->step->control->c; }
static uint64_t at_of(const void *p) { return (uint64_t)(uintptr_t)p; }
static uint64_t root_of(const nxi_gpu_control_run *x) { return x->record ? x->record->root : 0; }

/* The thread that decides: arguments as in control.cuh. */
typedef struct words {
  int32_t what, flags;
  uint64_t state, root, given;
  int64_t number, limit;
  handles set;
} words;

static nx_status tell(const nxi_kernel *kernel, words w, nxi_diag *d) {
  if (w.root != 0) w.flags |= ROOT;
  void *arguments[] = {&w.what,  &w.state, &w.root,     &w.given,    &w.number,
                       &w.limit, &w.flags, &w.set.loop, &w.set.half, &w.set.odd};
  return nxi_gpu_launch(nxi_kernel_code(kernel), 1, TELLING_THREADS, arguments, d);
}

static nx_status tell_of(const nxi_gpu_control_run *x, words w) {
  w.state = nxi_gpu_control_state(x);
  w.root = root_of(x);
  return tell(x->own->kernel, w, x->d);
}

static nx_status copy(const nxi_gpu_control_run *x, void *to, const void *from, int64_t bytes) {
  if (to == from || bytes <= 0) return NX_OK;
  return nxi_gpu_copy(gpu_of(x), at_of(to), at_of(from), bytes, x->d);
}

/* ---- where things are */

static void *const *results(const nxi_gpu_control_run *x) {
  return x->at + control_of(x)->n_operands;
}
static void *const *spares(const nxi_gpu_control_run *x) {
  return results(x) + parts(x)->n_results;
}
static void *predicate(const nxi_gpu_control_run *x) {
  return (char *)x->at[x->step->n_buffers - 3] + 64;
}

static bool is_in_place(const nxi_gpu_control_run *x, uint32_t i) {
  return control_of(x)->lies_in[i] == (int32_t)(parts(x)->indexed + i);
}

/* Carried i, in place 0 or 1. */
static void *carried(const nxi_gpu_control_run *x, uint32_t i, int place) {
  return place == 0 || is_in_place(x, i) ? results(x)[i] : spares(x)[i];
}

/* A loop whose steps are known begins so that it ends in place 0. */
static int first_place(const nxi_gpu_control_run *x) {
  const nxg_control *c = parts(x);
  return x->own->twice && c->counted && c->count > 0 && c->count % 2 != 0;
}

/* The memory of a slice: of stacked operands, then of stacked results. */
static char *slice_at(const nxi_gpu_control_run *x, uint32_t number) {
  const nxp_control *k = control_of(x);
  char *at = (char *)x->at[x->step->n_buffers - 1] + x->own->slices_at;
  for (uint32_t i = 0; i < number; i++) {
    bool in = i < k->c.n_stacked;
    int64_t bytes = in ? k->strides[i] : k->bytes[k->c.n_carried + i - k->c.n_stacked];
    at += (bytes + 63) & ~(int64_t)63;
  }
  return at;
}

static nx_status move_slice(const nxi_gpu_control_run *x, void *stack, void *own, int64_t bytes,
                            int32_t out) {
  uint64_t state = nxi_gpu_control_state(x), whole = at_of(stack), slice = at_of(own);
  void *arguments[] = {&state, &whole, &slice, &bytes, &out};
  int64_t blocks = bytes / (SLICE_THREADS * SLICE_WORDS) + 1;
  if (bytes == 0) return NX_OK;
  return nxi_gpu_launch(nxi_kernel_code(x->own->slice), blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS,
                        SLICE_THREADS, arguments, x->d);
}

/* ---- bodies */

/* What a body takes and gives. */
typedef struct body_run {
  void **inputs, **outputs; /* memory of the frame */
  uint32_t body;
  nxi_gpu_around around;
} body_run;

static uint32_t most_inputs(const nxg_control *c) {
  return 1 + c->n_carried + c->n_passed + c->n_stacked;
}

static nx_status start_body(const nxi_gpu_control_run *x, const body_run *b) {
  uint32_t number = (uint32_t)(x->step - x->executable->plan->steps);
  struct nxi_gpu_nesting inner = {.record = x->record};
  if (x->nesting != NULL) {
    inner = *x->nesting;
    inner.record = x->record;
  }
  if (inner.depth == NXI_GPU_SCOPES_MOST) return nxi_gpu_capture_refuses(x->d);
  inner.around[inner.depth++] = b->around;
  nxi_launch l = {.inputs = b->inputs,
                  .outputs = b->outputs,
                  .temporary = x->at[x->step->n_buffers - 1],
                  .pool = x->launch->pool};
  return nxi_gpu_start_steps(x->executable->bodies[number][b->body], &l, x->poll, &inner, x->d);
}

static void loop_inputs(const nxi_gpu_control_run *x, int place, void **inputs) {
  const nxg_control *c = parts(x);
  uint32_t n = 0;
  if (c->indexed) inputs[n++] = x->at[x->step->n_buffers - 3];
  for (uint32_t i = 0; i < c->n_carried; i++) inputs[n++] = carried(x, i, place);
  for (uint32_t i = 0; i < c->n_passed; i++) inputs[n++] = x->at[c->first + c->n_carried + i];
  for (uint32_t i = 0; i < c->n_stacked; i++) inputs[n++] = slice_at(x, i);
}

/* The condition, of what is in that place. */
static nx_status write_condition(const nxi_gpu_control_run *x, int place, void **frame,
                                 uint64_t state, int64_t add) {
  body_run b = {.inputs = frame,
                .outputs = frame + most_inputs(parts(x)),
                .body = 0,
                .around = {x->step, state, add}};
  if (parts(x)->counted) return NX_OK;
  loop_inputs(x, place, b.inputs);
  b.outputs[0] = predicate(x);
  return start_body(x, &b);
}

/* Takes over what a step gave, as nxg_control_run does. */
static nx_status take_results(const nxi_gpu_control_run *x, const body_run *b, int place) {
  const nxp_control *k = control_of(x);
  nx_status status = NX_OK;
  for (uint32_t i = 0; i < k->c.n_results && !status; i++) {
    void *made = k->lies_in[i] < 0 ? b->outputs[i] : b->inputs[k->lies_in[i]];
    status = i < k->c.n_carried ? copy(x, carried(x, i, 1 - place), made, k->bytes[i])
                                : move_slice(x, results(x)[i], made, k->bytes[i], 1);
  }
  return status;
}

static nx_status write_step(const nxi_gpu_control_run *x, int place, void **frame) {
  const nxp_control *k = control_of(x);
  const nxg_control *c = &k->c;
  body_run b = {.inputs = frame,
                .outputs = frame + most_inputs(c),
                .body = c->n_bodies - 1,
                .around = {x->step, nxi_gpu_control_state(x), 0}};
  nx_status status = NX_OK;
  for (uint32_t i = 0; i < c->n_stacked && !status; i++)
    status = move_slice(x, x->at[c->first + c->n_carried + c->n_passed + i], slice_at(x, i),
                        k->strides[i], 0);
  loop_inputs(x, place, b.inputs);
  for (uint32_t i = 0; i < c->n_results; i++)
    b.outputs[i] =
        i < c->n_carried ? carried(x, i, 1 - place) : slice_at(x, c->n_stacked + i - c->n_carried);
  if (!status) status = start_body(x, &b);
  return status ? status : take_results(x, &b, place);
}

/* ---- what fails */

/* The number of a new site; 0 without memory, or if nothing can fail. */
static int64_t add_site(nxi_gpu_record *r, const struct nxi_gpu_nesting *nesting,
                        const nxp_step *step) {
  if (r == NULL || r->root == 0) return 0;
  if (!nxi_grow(&r->sites, &r->cap_sites, r->n_sites + 1, sizeof *r->sites)) return 0;
  nxi_gpu_site *s = &r->sites[r->n_sites++];
  s->step = step;
  s->depth = nesting != NULL ? nesting->depth : 0;
  for (uint32_t i = 0; i < s->depth; i++) s->around[i] = nesting->around[i];
  return r->n_sites;
}

nx_status nxi_gpu_write_guard(nxi_gpu *g, const struct nxi_gpu_nesting *nesting,
                              const nxp_step *check, uint64_t found, nxi_diag *d) {
  words w = {.what = check != NULL ? CHECK : UNLESS, .given = found};
  void *body = NULL;
  if (nesting == NULL || nesting->record == NULL || nesting->record->root == 0)
    return nxi_gpu_capture_refuses(d);
  w.root = nesting->record->root;
  if (check != NULL && (w.number = add_site(nesting->record, nesting, check)) == 0)
    return nxi_oom(d);
  nx_status status = nxi_gpu_condition_handle(g, &w.set.loop, d);
  if (status == NX_OK) status = tell(nesting->record->kernel, w, d);
  if (status == NX_OK) status = nxi_gpu_add_condition(g, NXI_GPU_IF, w.set.loop, &body, 1, d);
  return status == NX_OK ? nxi_gpu_body_begin(g, body, d) : status;
}

/* ---- loops */

static void **new_frame(const nxi_gpu_control_run *x) {
  const nxg_control *c = parts(x);
  return nxi_malloc((most_inputs(c) + c->n_results + 1) * sizeof(void *));
}

nx_status nxi_gpu_write_begin(const nxi_gpu_control_run *x) {
  const nxp_control *k = control_of(x);
  const nxg_control *c = &k->c;
  int place = first_place(x);
  bool read = c->counted && c->count < 0;
  words w = {
      .what = BEGIN, .number = c->counted ? c->count : -1, .flags = c->reverse ? REVERSE : 0};
  nx_status status = NX_OK;
  if (read) w.flags |= k->index_dtype == NX_I32 ? NARROW : WIDE;
  w.given = read ? at_of(x->at[0]) : at_of(predicate(x));
  for (uint32_t i = 0; i < c->n_carried && !status; i++)
    status = copy(x, carried(x, i, place), x->at[c->first + i], k->bytes[i]);
  void **frame = new_frame(x);
  if (frame == NULL) return nxi_oom(x->d);
  if (!status) status = write_condition(x, place, frame, 0, 0);
  nxi_free(frame);
  return status ? nxg_control_failed_at(c, 0, status, x->d) : tell_of(x, w);
}

/* A step from a place to the other, the condition there, and what follows from it. */
static nx_status write_half(const nxi_gpu_control_run *x, int place, int32_t flags, handles set) {
  const nxg_control *c = parts(x);
  void **frame = new_frame(x);
  if (frame == NULL) return nxi_oom(x->d);
  nx_status status = write_step(x, place, frame);
  if (!status) status = write_condition(x, 1 - place, frame, nxi_gpu_control_state(x), 1);
  nxi_free(frame);
  if (status) return status;
  words w = {.what = NEXT, .given = at_of(predicate(x)), .limit = c->limit, .set = set};
  w.flags = flags | (c->reverse ? REVERSE : 0);
  if (c->limit > 0) w.number = add_site(x->record, x->nesting, x->step);
  if (c->limit > 0 && root_of(x) != 0 && w.number == 0) return nxi_oom(x->d);
  return tell_of(x, w);
}

/* A node with one body, which is begun. */
static nx_status begin_node(const nxi_gpu_control_run *x, nxi_gpu_condition kind, uint64_t handle) {
  void *body = NULL;
  nx_status status = nxi_gpu_add_condition(gpu_of(x), kind, handle, &body, 1, x->d);
  return status ? status : nxi_gpu_body_begin(gpu_of(x), body, x->d);
}

static nx_status end_node(const nxi_gpu_control_run *x, nx_status status) {
  nx_status ended = nxi_gpu_body_end(gpu_of(x), x->d);
  return status ? status : ended;
}

/* Two steps, or one. */
static nx_status write_steps(const nxi_gpu_control_run *x, handles set) {
  int place = first_place(x);
  int32_t flags = x->nesting == NULL && root_of(x) != 0 ? BUDGET : 0;
  if (!x->own->twice) return write_half(x, place, flags, set);
  nx_status status = nxi_gpu_condition_handle(gpu_of(x), &set.half, x->d);
  if (!status) status = write_half(x, place, HALF, set);
  if (!status) status = begin_node(x, NXI_GPU_IF, set.half);
  return status ? status : end_node(x, write_half(x, 1 - place, flags, set));
}

static nx_status write_back(const nxi_gpu_control_run *x) {
  const nxp_control *k = control_of(x);
  nx_status status = NX_OK;
  for (uint32_t i = 0; i < k->c.n_carried && !status; i++)
    status = copy(x, carried(x, i, 0), carried(x, i, 1), k->bytes[i]);
  return status;
}

static nx_status write_loop(const nxi_gpu_control_run *x) {
  const nxg_control *c = parts(x);
  handles set = {0};
  bool may_be_odd = x->own->twice && (!c->counted || c->count < 0);
  nx_status status = nxi_gpu_condition_handle(gpu_of(x), &set.loop, x->d);
  if (!status && may_be_odd) status = nxi_gpu_condition_handle(gpu_of(x), &set.odd, x->d);
  words w = {.what = ENTER, .set = {set.loop, 0, set.odd}};
  if (!status) status = tell_of(x, w);
  if (!status) status = begin_node(x, NXI_GPU_WHILE, set.loop);
  if (status) return status;
  status = end_node(x, write_steps(x, set));
  if (status || !may_be_odd) return status;
  status = begin_node(x, NXI_GPU_IF, set.odd);
  return status ? status : end_node(x, write_back(x));
}

nx_status nxi_gpu_write_allowance(const nxi_gpu_control_run *x, int64_t steps, bool fresh) {
  words w = {.what = ALLOW, .number = steps, .flags = fresh ? EQUAL : 0};
  return tell_of(x, w);
}

nx_status nxi_gpu_write_numbers(const nxi_gpu_control_run *x, const void *at) {
  words w = {.what = NUMBERS, .given = at_of(at), .number = parts(x)->count};
  return tell_of(x, w);
}

/* ---- case */

/* What branches take, and where they leave results, as in nxg_control_run. */
static nx_status begin_case(const nxi_gpu_control_run *x, body_run *b) {
  const nxp_control *k = control_of(x);
  nx_status status = NX_OK;
  for (uint32_t i = 0; i < k->c.n_passed; i++) b->inputs[i] = x->at[1 + i];
  for (uint32_t i = 0; i < k->c.n_results && !status; i++) {
    int32_t input = k->lies_in[i];
    void *result = results(x)[i];
    b->outputs[i] = result;
    if (input < 0 && k->bytes[i] > 0 && nxg_case_takes(&k->c, x->at, result))
      b->outputs[i] = spares(x)[i];
    if (input < 0) continue;
    status = copy(x, result, b->inputs[input], k->bytes[i]);
    b->inputs[input] = result;
  }
  return status;
}

static nx_status write_branch(const nxi_gpu_control_run *x, const body_run *b) {
  const nxp_control *k = control_of(x);
  nx_status status = start_body(x, b);
  for (uint32_t i = 0; i < k->c.n_results && !status; i++)
    status = copy(x, results(x)[i], b->outputs[i], k->bytes[i]);
  return status;
}

/* One node with a body for each branch, or, before CUDA 12.8, a node for each. */
static nx_status write_branches(const nxi_gpu_control_run *x, body_run *b, words w) {
  uint32_t n = parts(x)->n_bodies;
  bool one = nxi_cuda_version() >= NXI_CUDA_SWITCH_VERSION;
  void *bodies[NXG_CONTROL_BRANCHES];
  nx_status status = NX_OK;
  for (; b->body < n && !status; b->body++) {
    if (!one || b->body == 0) {
      status = nxi_gpu_condition_handle(gpu_of(x), &w.set.loop, x->d);
      w.number = b->body;
      if (!status) status = tell_of(x, w);
      if (!status)
        status = nxi_gpu_add_condition(gpu_of(x), one ? NXI_GPU_SWITCH : NXI_GPU_IF, w.set.loop,
                                       bodies + b->body, one ? n : 1, x->d);
    }
    if (!status) status = nxi_gpu_body_begin(gpu_of(x), bodies[b->body], x->d);
    if (!status) status = end_node(x, write_branch(x, b));
  }
  return status;
}

static nx_status write_case(const nxi_gpu_control_run *x) {
  const nxp_control *k = control_of(x);
  bool one = nxi_cuda_version() >= NXI_CUDA_SWITCH_VERSION;
  body_run b = {.around = {x->step, 0, -1}};
  words w = {.what = CHOOSE, .given = at_of(x->at[0]), .limit = k->c.n_bodies - 1};
  w.flags = one ? 0 : EQUAL;
  if (k->index_dtype != NX_BOOL) w.flags |= k->index_dtype == NX_I32 ? NARROW : WIDE;
  b.inputs = new_frame(x);
  if (b.inputs == NULL) return nxi_oom(x->d);
  b.outputs = b.inputs + most_inputs(&k->c);
  nx_status status = begin_case(x, &b);
  if (!status) status = write_branches(x, &b, w);
  nxi_free(b.inputs);
  return status;
}

nx_status nxi_gpu_write_nodes(const nxi_gpu_control_run *x) {
  return parts(x)->op == NXG_case ? write_case(x) : write_loop(x);
}
