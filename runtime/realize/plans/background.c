/* SPDX-License-Identifier: ISC */
/* The thread that makes code in the background, and its jobs. The list of jobs is protected by the
 * context's run_lock, which the thread does not hold while it works. */
#include "background.h"

#include "ir/alloc.h"
#include "ir/op.h"
#include "ir/platform/cpus.h"
#include "ir/platform/lock.h"
#include "runtime/record/custom.h"

enum { STACK_BYTES = 2 << 20 }; /* twice what LLVM's guard reserves on the first thread */

struct nxi_code_job {
  nxi_code_job *next;
  nxg_graph *graph;
  nxi_executable_options options;
  nxi_plan *plan;
};

struct nxi_background {
  nx_context *context;
  nxi_thread thread;
  bool running;               /* the thread exists */
  nxi_condition wanted;       /* with run_lock: there is a job, or the thread is to end */
  nxi_code_job *first, *last; /* jobs that wait */
  nxi_code_job *current;      /* the one in progress */
  nxi_code_job *lost;         /* of the parent of this process; only their memory exists */
  _Atomic bool quit;
  nxi_cpus cpus; /* of the process, not of the thread that starts this one */
};

/* ---- jobs */

nxi_code_job *nxi_code_job_create(nxg_graph *g, const nxi_executable_options *o) {
  nxi_code_job *j = nxi_calloc(1, sizeof *j);
  if (!j) return NULL;
  *j = (nxi_code_job){.graph = g, .options = *o};
  j->options.pool = NULL; /* its threads are for those who wait */
  return j;
}

void nxi_code_job_destroy(nxi_code_job *j) {
  if (!j) return;
  nxg_destroy(j->graph);
  nxi_free(j);
}

/* One that was started. It has its graph's custom operations, which the program may have released
 * meanwhile. */
static void end_job(nx_context *c, nxi_code_job *j) {
  nxi_record_lock(c);
  nxi_customs_unref(c, j->graph);
  nxi_record_unlock(c);
  nxi_code_job_destroy(j);
}

static void end_jobs(nx_context *c, nxi_code_job *j) {
  for (nxi_code_job *next; j; j = next) {
    next = j->next;
    end_job(c, j);
  }
}

/* ---- the thread */

static int32_t is_over(void *user) {
  const nxi_background *b = user;
  return atomic_load_explicit(&b->quit, memory_order_relaxed);
}

/* A plan whose code could not be made waits for it the next time, and reports why; one that has
 * code keeps that. run_lock. */
static void finish(nxi_background *b, const nxi_code_job *j, nxi_executable *made,
                   const nxi_compile_report *report) {
  nx_context *c = b->context;
  nxi_plan *p = j->plan;
  NXI_HELD(&c->run_lock);
  p->pending = false;
  if (made) p->report = *report;
  if (!p->compiled) {
    p->compiled = made;
    p->waits = !made;
  } else if (made) {
    nxi_plan_replace(c->plans, p, made);
  }
  if (p->alike) nxi_plan_set_alike_code(c->plans, p, NXI_ALIKE_THERE);
  nxi_condition_wake_all(&c->changed);
  nxi_plan_leave(c->plans, p);
}

static void work(nxi_background *b, const nxi_code_job *j) {
  nxi_executable *made = NULL;
  nxi_compile_report report = {0};
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxi_executable_create(j->graph, &j->options, is_over, b, &made, &report, &d)) made = NULL;
  nxi_count_kernels(b->context, &report);
  nxi_run_lock(b->context);
  finish(b, j, made, &report);
}

/* With nothing to do, and not before: in a process with threads it takes ten milliseconds. */
static void prepare_locks(nx_context *c) {
  nxi_run_unlock(c);
  nxi_bias_prepare();
  nxi_run_lock(c);
}

static void *background_main(void *argument) {
  nxi_background *b = argument;
  nx_context *c = b->context;
  bool prepared = false;
  nxi_fp_enter();
  nxi_run_lock(c);
  while (!atomic_load_explicit(&b->quit, memory_order_relaxed)) {
    nxi_code_job *j = b->first;
    if (!j && !prepared) {
      prepared = true;
      prepare_locks(c);
      continue;
    }
    if (!j) {
      nxi_lock_wait(&b->wanted, &c->run_lock, -1);
      continue;
    }
    b->first = j->next;
    b->current = j;
    nxi_run_unlock(c);
    work(b, j);
    b->current = NULL;
    nxi_run_unlock(c);
    end_job(c, j);
    nxi_run_lock(c);
  }
  nxi_run_unlock(c);
  return NULL;
}

static bool start_thread(nxi_background *b) {
  if (b->running) return true;
  b->running = nxi_thread_start(&b->thread, STACK_BYTES, background_main, b);
  if (b->running && b->cpus.ids_known) nxi_thread_confine(&b->thread, b->cpus.ids, b->cpus.count);
  return b->running;
}

bool nxi_background_start(nxi_background *b, nxi_code_job *j, nxi_plan *p) {
  NXI_HELD(&b->context->run_lock);
  if (!nxi_threads_have_heaps() || !start_thread(b)) return false;
  j->plan = p;
  j->next = NULL;
  nxi_customs_ref(j->graph);
  p->users++;
  p->pending = true;
  if (b->first) b->last->next = j;
  else b->first = j;
  b->last = j;
  nxi_condition_wake_all(&b->wanted);
  return true;
}

/* ---- life */

nxi_background *nxi_background_create(nx_context *c) {
  nxi_background *b = nxi_calloc(1, sizeof *b);
  if (!b) return NULL;
  b->context = c;
  nxi_cpus_read(&b->cpus);
  if (nxi_condition_init(&b->wanted)) return b;
  nxi_free(b);
  return NULL;
}

void nxi_background_destroy(nxi_background *b) {
  if (!b) return;
  nxi_run_lock(b->context);
  atomic_store_explicit(&b->quit, true, memory_order_relaxed);
  nxi_condition_wake_all(&b->wanted);
  nxi_run_unlock(b->context);
  if (b->running) nxi_thread_join(&b->thread);
  end_jobs(b->context, b->first);
  end_jobs(b->context, b->lost);
  nxi_condition_destroy(&b->wanted);
  nxi_free(b);
}

/* The jobs are freed with the context, since nothing is freed in a child before fork returns. Their
 * plans forget them in nxi_plans_unbusy. */
void nxi_background_forked(nxi_background *b) {
  NXI_HELD(&b->context->run_lock);
  if (b->current) {
    b->current->next = b->lost;
    b->lost = b->current;
  }
  for (nxi_code_job *next; b->first; b->first = next) {
    next = b->first->next;
    b->first->next = b->lost;
    b->lost = b->first;
  }
  b->current = NULL;
  b->running = false;
  nxi_condition_init(&b->wanted);
}
