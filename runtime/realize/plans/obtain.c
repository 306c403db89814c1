/* SPDX-License-Identifier: ISC */
/* How the plan of a run's key is made. Tiny graphs are interpreted until that has taken about as
 * long as compiling them would. Graphs that the interpreter is done with before the compiler are
 * interpreted while their code is made in the background. Of others, kernels that do little are
 * interpreted likewise. Code that kernels of other shapes share is replaced, once it has run for
 * long. */
#include "obtain.h"

#include <math.h>

#include "background.h"
#include "estimate.h"
#include "ir/platform/lock.h"
#include "runtime/cache/kernel.h"
#include "runtime/debug.h"
#include "runtime/device.h"
#include "ir/library/custom.h"
#include "runtime/realize/residency.h"
#include "runtime/record/objects.h"

static const double compile_cost_ms = 5;
/* That tiny graphs are interpreted before the background thread makes their code, which costs
 * nobody time. */
static const double early_cost_ms = 0.25;
static const double brief_ms = 2; /* that a graph is interpreted while its code is made */
/* The same of all graphs together that are longer, while no compiler is loaded: that takes as long
 * beside the code. */
static const double unstarted_ms = 12;
/* and that graphs of the same operations are, each of which is met for the first time, before code
 * for them is made */
static const double most_alike_ms = 5;
/* and what the interpreter does sooner than a kernel is bound for its integers is never looked up
 * for one run */
static const double bind_ms = 0.1;

/* That a plan runs code which others share, for each such kernel, until code of its own is made for
 * them: that takes about a fifth of it. */
static const double shared_kernel_ms = 50;

static nxi_executor_kind executor_of(const nxi_run *run) {
  nxi_executable_options now;
  const nxi_device *v = nxi_device_opened(run->context, run->device);
  v->kind->configure(v, &now);
  return now.executor;
}

void nxi_count_kernels(nx_context *c, const nxi_compile_report *made) {
  atomic_fetch_add(&c->kernels_compiled, made->kernel_misses);
  atomic_fetch_add(&c->kernels_generic, made->generic_misses);
  atomic_fetch_add(&c->kernels_shared, made->generic_hits);
}

static void count_plan(nx_report *report, const nxi_compile_report *made) {
  report->kernel_hits += made->kernel_hits;
  report->kernel_disk_hits += made->kernel_disk_hits;
  report->kernel_misses += made->kernel_misses;
  report->generic_hits += made->generic_hits;
  report->generic_misses += made->generic_misses;
  report->plan_ms += made->pass_ms;
  report->compile_ms += made->compile_ms;
}

/* Whether a graph of this kind is interpreted the next time it runs, if `most_ms` of interpreting
 * are worth its code. */
static bool interprets(const nxi_run *run, nxi_executor_kind kind, bool tiny, double interpreted_ms,
                       double most_ms) {
  if (kind != NXI_COMPILED) return kind == NXI_GRAPH_INTERP;
  return tiny && !nxi_device_kind_of(run->context, run->device)->own_memory &&
         interpreted_ms < most_ms && nxi_debug_interpret_tiny();
}

/* How long the graph takes if it is interpreted while its code is made in the background; INFINITY:
 * it never is, or that takes too long in any case. */
static double background_ms(const nxi_run *run, const nxg_graph *g) {
  if (nxi_device_kind_of(run->context, run->device)->own_memory || !nxi_debug_background())
    return INFINITY;
  double ms = nxi_interpreter_ms(g, unstarted_ms);
  return ms > unstarted_ms || nxg_has_custom(g) ? INFINITY : ms;
}

/* What making a plan starts from, and its results. */
typedef struct made {
  double interpreted_ms, alike_ms; /* alike: of all graphs with the same operations */
  double most_ms;                  /* as in nxi_plan */
  double background_ms;            /* of the graph */
  nxi_alike_code alike_code;
  double unstarted_ms;        /* as in nx_context */
  bool interpreted, at_first; /* there is such an executable, or was */
  bool pending;               /* as in nxi_plan */
  bool waits, alike;          /* as in nxi_plan */
  nxi_executable *executable;
  nxi_compile_report report;
  bool interpret, tiny;
  nxi_code_job *job; /* it makes the code, if that is not the executable */
  bool later;        /* once the executable has run */
} made;

static nx_status make_executable(nxi_run *run, const nxg_graph *g,
                                 const nxi_executable_options *options, made *m, nxi_diag *d) {
  const nx_run_options *o = run->options;
  nx_status status = nxi_executable_create(g, options, o ? o->poll : NULL, o ? o->user : NULL,
                                           &m->executable, &m->report, d);
  if (status) return status;
  nxi_count_kernels(run->context, &m->report);
  count_plan(run->report, &m->report);
  return NX_OK;
}

/* Makes it of code that is there; *absent: there is not enough. */
static nx_status make_of_code(nxi_run *run, const nxg_graph *g, nxi_executable_options *options,
                              made *m, bool *absent, nxi_diag *d) {
  nxi_diag own;
  nxi_diag_clear(&own);
  options->found_only = true;
  nx_status status = make_executable(run, g, options, m, &own);
  options->found_only = false;
  *absent = status && m->report.absent;
  if (status && !*absent) *d = own;
  return *absent ? NX_OK : status;
}

/* A brief graph that was not met before: many never come again, so it is interpreted. If that has
 * happened to many with the same operations, code pays, for they share it, unless finding it takes
 * as long. It is made in the background, and so is what it lacks for later ones. */
static nx_status make_of_brief(nxi_run *run, nxg_graph *g, nxi_executable_options *options, made *m,
                               nxi_diag *d) {
  bool pays = m->background_ms > bind_ms,
       absent = pays && m->alike_ms >= most_alike_ms && m->alike_code == NXI_ALIKE_NONE;
  if (pays && m->alike_code == NXI_ALIKE_THERE) {
    nx_status status = make_of_code(run, g, options, m, &absent, d);
    if (status || !absent) return status;
  }
  const nxi_executable_options code = *options;
  m->interpret = true;
  options->executor = NXI_GRAPH_INTERP;
  nx_status status = make_executable(run, g, options, m, d);
  if (!status && absent) m->job = nxi_code_job_create(g, &code); /* without memory another time */
  return status;
}

/* One that is longer, where the compiler would have to be loaded first: code that a cache has is
 * quicker still. The time counts, so that a program of many such graphs comes to its compiler. Code
 * is made although the graph may not come again: that loads the compiler for those that follow, and
 * on disk it outlives the process. */
static nx_status make_unstarted(nxi_run *run, nxg_graph *g, nxi_executable_options *options,
                                made *m, nxi_diag *d) {
  bool absent = false;
  nx_status status = make_of_code(run, g, options, m, &absent, d);
  if (status || !absent) return status;
  m->interpret = true;
  m->unstarted_ms += m->background_ms;
  const nxi_executable_options code = *options;
  options->executor = NXI_GRAPH_INTERP;
  status = make_executable(run, g, options, m, d);
  m->later = !status;
  if (m->later) m->job = nxi_code_job_create(g, &code);
  return status;
}

/* Whether kernels that do little may be interpreted: where it is likely that others share their
 * code it pays at once. */
static bool may_lack(const nxi_run *run, const made *m, bool code) {
  return code && !m->tiny && !m->alike && nxi_debug_background() &&
         !nxi_device_kind_of(run->context, run->device)->own_memory;
}

/* On disk optimised code outlives the process, so it is made although the graph may not come
 * again. */
static nx_status make_at_first(nxi_run *run, nxg_graph *g, const nxi_executable_options *options,
                               made *m, bool code, nxi_diag *d) {
  nxi_executable_options first = *options;
  first.at_first = may_lack(run, m, code);
  nx_status status = make_executable(run, g, &first, m, d);
  m->later =
      !status && nxi_executable_lacks(m->executable) && nxi_kernel_cache_outlives(options->kernels);
  if (m->later) m->job = nxi_code_job_create(g, options);
  return status;
}

static nx_status make_of_graph(nxi_run *run, nxg_graph *g, nxi_executable_options *options, made *m,
                               nxi_diag *d) {
  nxi_executor_kind kind = options->executor;
  m->tiny = nxi_is_tiny(g);
  m->background_ms = background_ms(run, g);
  m->most_ms = !m->waits && m->background_ms <= brief_ms ? early_cost_ms : compile_cost_ms;
  m->interpret = m->pending || interprets(run, kind, m->tiny, m->interpreted_ms, m->most_ms);
  bool code = !m->interpret && kind == NXI_COMPILED && !m->waits,
       brief = code && m->background_ms <= brief_ms,
       late = code && !brief && options->unstarted && m->background_ms <= unstarted_ms;
  if (code && (m->at_first || ((brief || late) && m->interpreted))) {
    m->job = nxi_code_job_create(g, options);
    return m->job ? NX_OK : nxi_oom(d);
  }
  if (brief) return make_of_brief(run, g, options, m, d);
  if (late && m->background_ms + m->unstarted_ms <= unstarted_ms)
    return make_unstarted(run, g, options, m, d);
  if (m->interpret) options->executor = NXI_GRAPH_INTERP;
  return make_at_first(run, g, options, m, code, d);
}

static void options_of(nxi_run *run, bool alike, nxi_executable_options *o) {
  nxi_executor_options(run->context, run->device, o);
  o->fuse = !(run->debugging & NXI_KEY_UNFUSED);
  o->whole = run->debugging & NXI_KEY_WHOLE;
  o->tight = run->debugging & NXI_KEY_TIGHT;
  o->varies = alike;
}

static nx_status try_plan(nxi_run *run, made *m, nxi_diag *d) {
  nxi_executable_options options;
  options_of(run, m->alike, &options);
  nxg_graph *g = NULL;
  nx_status status = nxi_debug_graph(run, d);
  if (!status) status = nxi_decode(run, false, &g, d);
  if (status) return status;
  status = make_of_graph(run, g, &options, m, d);
  if (!m->job) nxg_destroy(g);
  return status;
}

/* No lock is held, and the plan is not accessed, because other threads read it. If LLVM becomes
 * unusable meanwhile, the plan is made again for the interpreter; a lack of memory is reported. */
static nx_status make_plan(nxi_run *run, made *m, nxi_diag *d) {
  nxi_executor_kind kind = executor_of(run);
  nx_status status = try_plan(run, m, d);
  bool lost = status == NX_DEVICE_UNAVAILABLE || status == NX_COMPILE_FAILED;
  if (!lost || kind == executor_of(run)) return status;
  nxi_diag_clear(d);
  return try_plan(run, m, d);
}

nxi_executable *nxi_plan_ready(const nxi_run *run, const nxi_plan *p, bool *interpret) {
  NXI_HELD(&run->context->run_lock);
  bool useful = !p->compiled; /* existing code can run even if no more can be compiled */
  if (useful && p->prepared && (p->at_first || p->interpreted)) { /* it is met first now */
    *interpret = !p->at_first;
    return p->at_first ? p->at_first : p->interpreted;
  }
  if (useful && p->at_first && !p->waits) {
    *interpret = false;
    return p->pending || executor_of(run) != NXI_COMPILED ? p->at_first : NULL;
  }
  *interpret = useful && (p->pending || interprets(run, executor_of(run), p->tiny,
                                                   p->interpreted_ms, p->most_ms));
  return *interpret ? p->interpreted : p->compiled;
}

/* Code of a graph that is the first with its operations serves this one alone. */
static void start_job(nx_context *c, nxi_plan *p, nxi_code_job *job) {
  bool started = nxi_background_start(c->background, job, p);
  if (!started) {
    nxi_code_job_destroy(job);
    p->waits = true; /* there is no thread */
  }
  if (p->alike) nxi_plan_set_alike_code(c->plans, p, started ? NXI_ALIKE_MADE : NXI_ALIKE_THERE);
}

bool nxi_plan_interprets_tiny(const nxi_run *run, const nxi_plan *p) {
  return interprets(run, executor_of(run), true, p->interpreted_ms, compile_cost_ms);
}

void nxi_plan_was_run(nx_context *c, nxi_plan *p) {
  NXI_HELD(&c->run_lock);
  nxi_code_job *job = p->later;
  p->later = NULL;
  if (job && !p->pending && !p->compiled) start_job(c, p, job);
  else nxi_code_job_destroy(job);
}

/* Keeps what was made. run_lock. */
static void keep_made(nx_context *c, nxi_plan *p, made *m) {
  NXI_HELD(&c->run_lock);
  c->unstarted_ms = m->unstarted_ms > c->unstarted_ms ? m->unstarted_ms : c->unstarted_ms;
  p->tiny = m->tiny;
  p->most_ms = m->most_ms;
  if (m->later) p->later = m->job;
  else if (m->job) start_job(c, p, m->job);
  if (!m->executable) return;
  nxi_executable **at = m->interpret                          ? &p->interpreted
                        : nxi_executable_lacks(m->executable) ? &p->at_first
                                                              : &p->compiled;
  if (*at) { /* LLVM was lost after the graph had been interpreted once */
    nxi_executable_destroy(m->executable);
    m->executable = *at;
  }
  p->report = m->report;
  *at = m->executable;
  if (!m->interpret) return;
  if (!p->was_interpreted) nxi_plan_note_once(c->plans, p);
  p->was_interpreted = true;
}

/* ---- code of its own */

bool nxi_plan_times_code(const nxi_run *run, const nxi_plan *p) {
  NXI_HELD(&run->context->run_lock);
  return p->compiled && !p->settled && nxi_executable_shares(p->compiled) > 0 &&
         nxi_debug_background() && !nxi_device_kind_of(run->context, run->device)->own_memory;
}

/* A failure changes nothing, and neither does a compiler that was lost. run_lock, which is released
 * meanwhile. */
static void make_special(nxi_run *run, nxi_plan *p) {
  nx_context *c = run->context;
  nxi_executable_options options;
  nxg_graph *g = NULL;
  nxi_diag ignored;
  nxi_diag_clear(&ignored);
  p->settled = true;
  nxi_run_unlock(c);
  options_of(run, false, &options);
  options.special = true;
  nxi_code_job *job = NULL;
  if (options.executor == NXI_COMPILED && nxi_decode(run, false, &g, &ignored) == NX_OK)
    job = nxi_code_job_create(g, &options);
  if (!job) nxg_destroy(g);
  nxi_run_lock(c);
  if (job && (p->pending || !nxi_background_start(c->background, job, p)))
    nxi_code_job_destroy(job);
}

nx_status nxi_plan_obtain(nxi_run *run, nxi_plan *p, nxi_executable **out, bool *interpret,
                          nxi_diag *d) {
  nx_context *c = run->context;
  if (nxi_plan_times_code(run, p) &&
      p->shared_ms >= shared_kernel_ms * nxi_executable_shares(p->compiled))
    make_special(run, p);
  while (!(*out = nxi_plan_ready(run, p, interpret))) {
    if (p->busy) {
      nx_status status = nxi_wait_change(c, run->options, d);
      if (status) return status;
      continue;
    }
    p->busy = true;
    made m = {.interpreted_ms = p->interpreted_ms,
              .alike_ms = nxi_plan_interpreted_ms(c->plans, p),
              .alike_code = nxi_plan_alike_code(c->plans, p),
              .unstarted_ms = c->unstarted_ms,
              .interpreted = p->was_interpreted,
              .pending = p->pending,
              .at_first = p->at_first != NULL,
              .waits = p->waits,
              .alike = p->alike};
    nxi_run_unlock(c);
    nx_status status = make_plan(run, &m, d);
    nxi_run_lock(c);
    p->busy = false;
    nxi_condition_wake_all(&c->changed);
    if (status) return status;
    keep_made(c, p, &m);
    if (!m.executable) continue;
    *out = m.executable;
    *interpret = m.interpret;
    return NX_OK;
  }
  p->prepared = false;
  return NX_OK;
}
