/* SPDX-License-Identifier: ISC */
/* Which loops and branches are conditional nodes of graphs, and running those.
 *
 * A body may have all that only starts work on the GPU: kernels, copies, products, library calls
 * that say so, checks of indices, control flow of that kind. Inner loops have to end by themselves
 * within some thousand steps: a launch of a graph is left after a number of steps of its outermost
 * loop alone, so that the host can poll; what is carried stays where it is, and another launch goes
 * on from there. A run that cannot fail and that ends soon is not waited for, and may be a part of
 * the graph of its plan. If the number of its steps is known, and small, they are written out: no
 * thread counts, slices of stacks are where they are, and what is carried is read where it is. */
#include "conditions.h"

#include "codegen_cuda/codegen_cuda.h"
#include "ir/platform/clock.h"
#include "launch.h"
#include "own_code.h"
#include "passes/pipeline.h"
#include "runtime/debug.h"

enum { MOST_STEPS = 4096, MOST_NODES = 8192, WORTH_STEPS = 16, SLICE_THREADS = 256 };
enum { MOST_WRITTEN_OUT = 2048 }; /* nodes of all steps */
enum { FIRST_ALLOWANCE = 64, MOST_ALLOWANCE = 1 << 16 };
enum { SHORT_NS = 2000000, LONG_NS = 20000000 };

/* ---- whether */

static bool is_node_call(const nxi_gpu_step *own, const nxp_step *s, bool imagined) {
  uint32_t op = s->call->call->op;
  if (imagined) return nxg_is_scan(op) || op == NXG_sort || op == NXG_argsort;
  return own->functions != NULL && own->functions->captured;
}

/* Why a step of a body is no work of a graph; NULL: it is. */
static const char *obstacle(const nxi_gpu_step *own, const nxp_step *s, bool imagined) {
  switch (s->kind) {
    case NXP_STEP_CALL:
      return is_node_call(own, s, imagined) ? NULL : "a body has a library call that may wait";
    case NXP_STEP_SCATTER:
      return imagined || own->scatter != NULL ? NULL : "a body has a scatter of the host";
    case NXP_STEP_CONTROL:
      if (own->control->why != NULL) return "a body has control flow of the host";
      return own->control->most < 0 ? "a body has a loop that may have many steps" : NULL;
    default: return NULL;
  }
}

/* What a body adds to the control flow that it is of. */
typedef struct sum {
  int64_t most;
  uint32_t scopes, nodes;
  bool fails;
} sum;

static int64_t limited(int64_t steps) { return steps < 0 || steps > MOST_STEPS ? -1 : steps; }

static const char *add_body(const nxi_executable *body, bool imagined, sum *out) {
  const nxp_plan *p = body->plan;
  uint32_t guards = 0;
  for (uint32_t i = 0; i < p->n_steps; i++) {
    const nxi_gpu_step *own = &nxi_gpu_plan_of(body)->calls[i];
    const char *why = obstacle(own, &p->steps[i], imagined);
    if (why != NULL) return why;
    bool control = p->steps[i].kind == NXP_STEP_CONTROL;
    if (control && guards + own->control->scopes > out->scopes)
      out->scopes = guards + own->control->scopes;
    if (control) out->most = out->most < 0 ? -1 : limited(out->most + own->control->most);
    out->nodes += control ? own->control->nodes : 2;
    bool fails = p->steps[i].kind == NXP_STEP_CHECK || (control && own->control->fails);
    guards += fails;
    out->fails = out->fails || fails;
    if (guards > out->scopes) out->scopes = guards;
  }
  if (out->scopes > NXI_GPU_SCOPES_MOST) return "bodies are too deep within each other";
  return out->nodes > MOST_NODES ? "its graph would be too large" : NULL;
}

/* How many steps a loop has at most, and whether it may pass its limit. */
static int64_t most_steps(const nxg_control *c, bool *fails) {
  bool known = c->counted && c->count >= 0;
  *fails = c->limit > 0 && !(known && c->count <= c->limit);
  if (known) return limited(c->count);
  return c->limit > 0 ? limited(c->limit) : -1;
}

static bool can_be_written_out(const nxg_control *c, const sum *body, bool fails) {
  if (!c->counted || c->count < 0 || fails || (nxi_debug_flags() & NXI_DEBUG_nounroll))
    return false;
  return c->count <= MOST_WRITTEN_OUT / (body->nodes + 1);
}

static const char *examine(const nxi_executable *e, const nxp_step *s, bool imagined,
                           nxi_gpu_control *own) {
  const nxp_control *k = s->control;
  bool branches = k->c.op == NXG_case, fails = false;
  nxi_executable *const *bodies = e->bodies[s - e->plan->steps];
  sum all = {0};
  for (uint32_t b = 0; b < k->c.n_bodies; b++) {
    const char *why = add_body(bodies[b], imagined, &all);
    if (why != NULL) return why;
  }
  for (uint32_t i = 0; !branches && i < k->c.n_carried; i++)
    own->twice = own->twice || (k->bytes[i] > 0 && k->lies_in[i] != (int32_t)(k->c.indexed + i));
  int64_t steps = branches ? 1 : most_steps(&k->c, &fails), each = all.most + !branches;
  own->most = steps < 0 || all.most < 0 || each > MOST_STEPS ? -1 : limited(steps * each);
  own->fails = fails || all.fails;
  if (can_be_written_out(&k->c, &all, own->fails)) {
    own->written_out = true;
    own->scopes = all.scopes;
    own->nodes = (uint32_t)k->c.count * (all.nodes + 1) + 1;
    return NULL;
  }
  own->scopes = all.scopes + 1 + own->twice;
  own->nodes = (own->twice ? 2 : 1) * (all.nodes + 4 + k->c.n_results + k->c.n_stacked) + 8;
  if (own->scopes > NXI_GPU_SCOPES_MOST) return "bodies are too deep within each other";
  return own->nodes > MOST_NODES ? "its graph would be too large" : NULL;
}

bool nxi_gpu_control_is_closed(const nxi_gpu_control *c) {
  return c->why == NULL && !c->fails && c->most >= 0;
}

/* ---- what it needs */

static const nxi_own_code telling = {
    .instance = "extern \"C\" __global__ void __launch_bounds__(32) nx_tell(int what, "
                "nx_i64 *state, nx_i64 *root, const void *given, nx_i64 number, nx_i64 limit, "
                "int flags, nx_u64 first, nx_u64 second, nx_u64 third) {\n"
                "  if (threadIdx.x == 0)\n"
                "    nx_control(what, state, root, given, number, limit, flags, first, second, "
                "third);\n}",
    .entry = "nx_tell",
    .threads = 32};
static const nxi_own_code slicing = {
    .instance = "extern \"C\" __global__ void __launch_bounds__(256) nx_move_slice("
                "const nx_i64 *state, char *stack, char *own, nx_i64 bytes, int out) {\n"
                "  nx_slice(state, stack, own, bytes, out);\n}",
    .entry = "nx_move_slice",
    .threads = SLICE_THREADS};

nx_status nxi_gpu_control_code(nxi_gpu *g, bool slices, nxi_gpu_control *own, nxi_diag *d) {
  nxi_own_code tell = telling, slice = slicing;
  tell.body = slice.body = nxu_control_code();
  nx_status status = nxi_own_code_get(g, &tell, &own->kernel, d);
  if (status == NX_OK && slices) status = nxi_own_code_get(g, &slice, &own->slice, d);
  return status;
}

/* Memory for slices, after the temporaries of the bodies. */
static void make_room(nxi_executable *e, const nxp_step *s, nxi_gpu_control *own) {
  const nxp_control *k = s->control;
  nxi_executable *const *bodies = e->bodies[s - e->plan->steps];
  int64_t bytes = 0;
  for (uint32_t b = 0; b < k->c.n_bodies; b++)
    if (bodies[b]->plan->temporary_bytes > bytes) bytes = bodies[b]->plan->temporary_bytes;
  own->slices_at = bytes = (bytes + 63) & ~(int64_t)63;
  if (own->written_out) {
    if (k->c.indexed) bytes += k->c.count * NXG_CONTROL_NUMBER;
    nxp_plan_set_scratch(e->plan, s, s->n_buffers - 1, bytes);
    return;
  }
  for (uint32_t i = 0; i < k->c.n_stacked; i++) bytes += (k->strides[i] + 63) & ~(int64_t)63;
  for (uint32_t i = k->c.n_carried; k->c.counted && i < k->c.n_results; i++)
    bytes += (k->bytes[i] + 63) & ~(int64_t)63;
  nxp_plan_set_scratch(e->plan, s, s->n_buffers - 1, bytes);
}

nx_status nxi_gpu_control_create(nxi_executable *e, uint32_t number, bool imagined, nxi_diag *d) {
  nxp_step *s = &e->plan->steps[number];
  const nxg_control *c = &s->control->c;
  nxi_gpu_control *own = nxi_calloc(1, sizeof *own);
  bool slices = c->counted && c->n_stacked + c->n_results > c->n_carried;
  nxi_diag ignored;
  if (own == NULL) return nxi_oom(d);
  nxi_gpu_plan_of(e)->calls[number].control = own;
  nxi_diag_clear(&ignored);
  if (!imagined && !nxi_gpu_has_conditions(nxi_gpu_of(e)))
    own->why = "the driver has no conditional nodes (CUDA 12.4)";
  else own->why = examine(e, s, imagined, own);
  if (own->written_out) slices = false;
  if (own->why == NULL && !imagined && (!own->written_out || c->indexed) &&
      nxi_gpu_control_code(nxi_gpu_of(e), slices, own, &ignored) != NX_OK)
    own->why = "NVRTC does not compile what sets conditions";
  if (own->why == NULL)
    s->control->by = own->written_out ? "steps written out" : "conditional nodes";
  s->control->by_host = own->why;
  if (own->why != NULL || imagined) return NX_OK;
  make_room(e, s, own);
  return nxi_gpu_graphs_create(s->n_buffers, &own->graphs, d);
}

void nxi_gpu_control_destroy(nxi_gpu_control *c) {
  if (c == NULL) return;
  nxi_gpu_graphs_destroy(c->graphs);
  nxi_kernel_release(c->kernel);
  nxi_kernel_release(c->slice);
  nxi_free(c);
}

/* ---- steps that are written out */

/* Starts all of them, in a capture or without. */
static nx_status write_out(const nxi_gpu_control_run *x) {
  char *numbers = NULL;
  nx_status status = NX_OK;
  if (x->step->control->c.indexed) {
    numbers = (char *)x->at[x->step->n_buffers - 1] + x->own->slices_at;
    status = nxi_gpu_write_numbers(x, numbers);
  }
  return status != NX_OK ? status : nxi_gpu_run_by_host(x, numbers);
}

static nx_status write_begin(const nxi_gpu_control_run *x) {
  bool none = x->own->written_out || x->step->control->c.op == NXG_case;
  return none ? NX_OK : nxi_gpu_write_begin(x);
}

static nx_status write_nodes(const nxi_gpu_control_run *x) {
  return x->own->written_out ? write_out(x) : nxi_gpu_write_nodes(x);
}

/* ---- graphs of their own */

/* Its entry has the sites of what can fail. */
static nxi_gpu_kept *capture(nxi_gpu_control_run *x) {
  nxi_gpu *gpu = nxi_gpu_of(x->executable);
  nxi_gpu_control_run own = *x;
  nxi_poll nobody = {NULL, NULL};
  nxi_diag ignored;
  nxi_diag_clear(&ignored);
  own.poll = &nobody;
  own.d = &ignored;
  if (!nxi_gpu_capture_begin(gpu)) return NULL;
  nx_status status = write_nodes(&own);
  nxi_gpu_graph *graph = nxi_gpu_capture_end(gpu, status == NX_OK);
  nxi_gpu_kept *k = nxi_gpu_graphs_keep(x->own->graphs, graph);
  if (k != NULL) k->more = x->record->sites;
  else nxi_free(x->record->sites);
  x->record->sites = NULL;
  return k;
}

/* A loop of many steps is worth a graph the first time already, unless starting them costs as much
 * as a capture does. */
static nxi_gpu_kept *find(nxi_gpu_control_run *x) {
  nxi_gpu_graphs *all = x->own->graphs;
  const nxg_control *c = &x->step->control->c;
  for (uint32_t i = 0; i < all->words; i++) all->key[i] = (uint64_t)(uintptr_t)x->at[i];
  nxi_gpu_kept *k = nxi_gpu_graphs_find(all);
  if (k != NULL) return k;
  bool known = nxi_gpu_graphs_seen(all) > 1;
  bool long_loop = c->op != NXG_case && (!c->counted || c->count < 0 || c->count >= WORTH_STEPS);
  return known || (long_loop && !x->own->written_out) ? capture(x) : NULL;
}

/* What failed, in the words of a run by the host. */
static nx_status report(const nxi_gpu_control_run *x, const nxi_gpu_site *sites,
                        const int64_t *words) {
  const nxi_gpu_site *s = &sites[words[NXI_GPU_FAILED] - 1];
  nx_status status = s->step->kind == NXP_STEP_CHECK
                         ? nxi_report_check(s->step, words[NXI_GPU_FOUND], x->d)
                         : nxg_control_too_long(&s->step->control->c, x->d);
  for (uint32_t i = s->depth; i-- > 0;) {
    const nxi_gpu_around *a = &s->around[i];
    int64_t step = 0;
    nx_status read = NX_OK;
    if (a->state != 0)
      read = nxi_gpu_download(nxi_gpu_of(x->executable), &step, a->state + NXI_GPU_STEP * 8, 8,
                              NXI_NOW, x->poll, x->d);
    if (read != NX_OK) return read;
    status = nxg_control_failed_at(&a->step->control->c, step + a->step_add, status, x->d);
  }
  return status;
}

/* As many steps as take some milliseconds. */
static int64_t adapted(int64_t steps, int64_t ns) {
  if (ns < SHORT_NS && steps < MOST_ALLOWANCE) return steps * 4;
  return ns > LONG_NS && steps > 1 ? steps / 2 : steps;
}

static nx_status launch(nxi_gpu_control_run *x, nxi_gpu_kept *k, nxi_diag *d) {
  nx_status status = nxi_gpu_graph_launch(k->graph, d);
  if (status != NX_OK) return status;
  nxi_gpu_graphs_count(x->own->graphs, k, x->step->control->c.op == NXG_case ? 1 : 2);
  if (x->launch->graph_launches != NULL) ++*x->launch->graph_launches;
  return NX_OK;
}

/* Launches after the first one, until the loop has ended. */
static nx_status go_on(nxi_gpu_control_run *x, nxi_gpu_kept *k, int64_t began) {
  int64_t words[NXI_GPU_WORDS], steps = FIRST_ALLOWANCE;
  bool loop = x->step->control->c.op != NXG_case;
  for (;;) {
    nx_status status = nxi_gpu_download(nxi_gpu_of(x->executable), words, nxi_gpu_control_state(x),
                                        sizeof words, NXI_NOW, x->poll, x->d);
    if (status != NX_OK) return status;
    if (words[NXI_GPU_FAILED] != 0) return report(x, k->more, words);
    if (!loop || words[NXI_GPU_MORE] == 0) return NX_OK;
    steps = adapted(steps, nxi_now_ns() - began);
    began = nxi_now_ns();
    status = nxp_ask(x->poll, x->d);
    if (status == NX_OK) status = nxi_gpu_write_allowance(x, steps, false);
    if (status == NX_OK) status = launch(x, k, x->d);
    if (status != NX_OK) return status;
  }
}

/* Lock. */
static nx_status run_graph(nxi_gpu_control_run *x, bool *done) {
  nxi_diag own;
  nxi_gpu_kept *k = find(x);
  nx_status status = NX_OK;
  if (k == NULL && x->own->written_out) {
    *done = true;
    return write_out(x);
  }
  if (k == NULL) return NX_OK;
  nxi_diag_clear(&own);
  int64_t began = nxi_now_ns();
  if (x->record->root != 0) status = nxi_gpu_write_allowance(x, FIRST_ALLOWANCE, true);
  if (status == NX_OK) status = write_begin(x);
  *done = status != NX_OK;
  if (status != NX_OK) return status;
  if (launch(x, k, &own) != NX_OK) { /* the host begins again, and reports a failure */
    nxi_gpu_graphs_forget(x->own->graphs, k);
    return NX_OK;
  }
  *done = true;
  return x->record->root != 0 ? go_on(x, k, began) : NX_OK;
}

nx_status nxi_gpu_run_conditions(nxi_gpu_control_run *x, bool *done) {
  const nxi_gpu_control *own = x->own;
  nxi_gpu_record record = {.kernel = own->kernel};
  *done = false;
  if (nxi_gpu_captures(nxi_gpu_of(x->executable))) {
    nx_status status = write_begin(x);
    *done = true;
    return status != NX_OK ? status : write_nodes(x);
  }
  if (own->why != NULL || (nxi_debug_flags() & NXI_DEBUG_nographs)) return NX_OK;
  if (!nxi_mutex_try(&own->graphs->lock)) return NX_OK;
  x->nesting = NULL;
  x->record = &record;
  if (!nxi_gpu_control_is_closed(own)) record.root = nxi_gpu_control_state(x) + NXI_GPU_ROOT * 8;
  nx_status status = nxi_gpu_graphs_pay(own->graphs) ? run_graph(x, done) : NX_OK;
  nxi_mutex_unlock(&own->graphs->lock);
  return status;
}
