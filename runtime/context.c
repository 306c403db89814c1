/* SPDX-License-Identifier: ISC */
/* Contexts: creation, destruction, statistics, fork. */
#include "ir/platform/exit.h"
#include "ir/platform/fork.h"
#include "ir/platform/lock.h"
#include "ir/platform/thread.h"
#include "runtime/debug.h"
#include "runtime/library/blas/blas.h"
#include "runtime/realize/async/offload.h"
#include "runtime/realize/residency.h"
#include "runtime/realize/async/runner.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"
#include "runtime/record/pending.h"
#include "runtime/record/record.h"

/* objects.c */
void nxi_slabs_free(nx_context *c);
void nxi_callbacks_orphan(nx_context *c);

/* ---- fork. In the child all locks are free. Runs of other threads are lost there: their values
 * are again what they were before, except for memory that was being overwritten. */

static void fork_prepare(void *object) {
  nx_context *c = object;
  nxi_lock_take(&c->run_lock);
  nxi_lock_take(&c->record_lock);
}

static void fork_parent(void *object) {
  nx_context *c = object;
  nxi_lock_give(&c->record_lock);
  nxi_lock_give(&c->run_lock);
}

static void fork_child(void *object) {
  nx_context *c = object;
  nxi_lock_child(&c->run_lock);
  nxi_lock_child(&c->record_lock);
  nxi_condition_init(&c->changed); /* no thread of the child waits for it */
  for (nxi_run *run = c->runs, *next; run; run = next) {
    next = run->next;
    if (run->thread != nxi_thread_self()) nxi_release_locked(run, NX_INTERRUPTED, NULL);
  }
  nxi_plans_unbusy(c);
  nxi_lock_give(&c->record_lock);
  nxi_lock_give(&c->run_lock);
}

static const nxi_fork_hooks fork_hooks = {fork_prepare, fork_parent, fork_child};

/* ---- creation and destruction */

static nx_status create_runners(nx_context *c, int32_t n, nxi_diag *d) {
  nx_status status = NX_OK;
  c->runners = nxi_calloc(NXI_MOST_DEVICES, sizeof *c->runners);
  if (!c->runners) return nxi_oom(d);
  for (int32_t i = 0; i < n && !status; i++) {
    nxi_runner *made = NULL;
    status = nxi_runner_create(&made, d);
    atomic_init(&c->runners[i], made);
  }
  return status;
}

static void destroy_runners(nx_context *c) {
  for (int32_t i = 0; c->runners && i < NXI_MOST_DEVICES; i++)
    nxi_runner_destroy(atomic_load(&c->runners[i]));
  nxi_free(c->runners);
}

static nx_status create(nx_context *c, const nx_context_options *o, nxi_diag *d) {
  if (o->threads < 0)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "context",
                    "context: the number of threads is negative");
  if (o->memory_limit > INT64_MAX)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "context",
                    "context: the memory limit does not fit in 63 bits");
  if (o->cpu_devices < 0 || o->cpu_devices > NXI_MOST_OF_A_KIND)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "context",
                    "context: %d devices of the processor: between 1 and %d are possible",
                    o->cpu_devices, NXI_MOST_OF_A_KIND);
  nxi_allocator_options memory = {.memory_limit = (int64_t)o->memory_limit};
  nxi_pool_options pool = {.threads = o->threads};
  nx_status status = nxi_blas_prepare();
  if (!status) status = nxi_watch_prepare();
  if (!status) status = nxi_allocator_create(&memory, &c->allocator, d);
  if (!status) status = nxi_pool_create(&pool, &c->pool, d);
  if (!status) status = nxi_offload_create(&c->offload, d);
  if (!status) status = create_runners(c, o->cpu_devices, d);
  if (!status) status = nxi_executor_create(c, d);
  if (!status) status = nxi_devices_create(c, o, d);
  if (!status) status = nxi_fork_register(&c->fork_entry, &fork_hooks, c);
  if (status) return d->status ? status : nxi_oom(d);
  c->fork_registered = true;
  c->spares = o->memory_limit == 0;
  return NX_OK;
}

/* Destroys a context to which nothing refers. Left are objects whose teardown was deferred, and
 * caches. */
static void destroy(nx_context *c) {
  destroy_runners(c);
  if (c->fork_registered) nxi_fork_unregister(&c->fork_entry);
  atomic_store(&c->refs, 1); /* teardown takes and gives references */
  nxi_record_lock(c);
  for (uint32_t i = 0; i < c->deferred_used; i++) {
    nxi_node_unref(c, c->deferred[i].node);
    if (c->deferred[i].storage) nxi_storage_unref(c, c->deferred[i].storage);
  }
  nxi_numbers_drop(c);
  nxi_drain(c, UINT32_MAX);
  nxi_record_unlock(c);
  nxi_buffers_drop_spare(c);
  nxi_free(c->deferred);
  nxi_run_free(c->spare_run);
  nxi_run_free(c->brief_run);
  nxi_executor_destroy(c);
  nxi_callbacks_orphan(c);
  nxi_devices_destroy(c->devices);
  nxi_offload_destroy(c->offload);
  nxi_pool_destroy(c->pool);
  nxi_allocator_destroy(c->allocator);
  nxi_table_free(&c->table);
  nxi_slabs_free(c);
  nxi_condition_destroy(&c->changed);
  nxi_lock_destroy(&c->run_lock);
  nxi_lock_destroy(&c->record_lock);
  if (c->watched) nxi_watch_released(c, false);
  nxi_handle_free(c, c->watched);
}

static nx_status create_context(const nx_context_options *options, nx_context **out) {
  nx_context_options o = {.size = sizeof o};
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!out) return nxi_error_null("context", 1), NX_INVALID_ARGUMENT;
  if (nxi_take(&o, options, sizeof o, "nx_context_options", "context", &d))
    return nxi_error_report(&d);
  if (o.flags & ~(uint32_t)(NX_MANUAL_COLLECT | NX_DEFER_EXPOSED | NX_UNORDERED_SUMS)) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, "context",
             "context: the flags 0x%x hold more than NX_MANUAL_COLLECT, NX_DEFER_EXPOSED and "
             "NX_UNORDERED_SUMS",
             o.flags);
    return nxi_error_report(&d);
  }
  if (nxi_debug_init(&d)) return nxi_error_report(&d);
  if (o.cpu_devices == 0) o.cpu_devices = nxi_debug_cpu_devices();
  bool watched;
  nx_context *c = nxi_handle_alloc(sizeof *c, &watched);
  if (!c) return nxi_oom_in(&d, NX_OUT_OF_MEMORY, "context"), nxi_error_report(&d);
  atomic_init(&c->refs, 1);
  c->watched = watched;
  c->flags = o.flags;
  nxi_lock_init_biased(&c->run_lock);
  nxi_lock_init_biased(&c->record_lock);
  nx_status status = nxi_condition_init(&c->changed) ? create(c, &o, &d) : nxi_oom(&d);
  if (nxi_oom_in(&d, status, "context")) {
    destroy(c);
    return nxi_error_report(&d);
  }
  if (watched) nxi_watch_made(c, NXI_CONTEXT, c, "of %d threads", nxi_pool_size(c->pool));
  *out = c;
  return NX_OK;
}

nx_status nx_context_create(const nx_context_options *options, nx_context **out) {
  nxi_fp environment = nxi_fp_enter();
  nxi_stay_loaded();
  if (nxi_thread_is_alone()) nxi_bias_prepare(); /* then it takes a microsecond */
  nx_status status = create_context(options, out);
  nxi_fp_leave(environment);
  return status;
}

void nxi_context_unref(nx_context *c) {
  NXI_NO_LOCK();
  if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1) destroy(c);
}

nx_context *nx_context_retain(nx_context *c) {
  if (c && !nxi_have_context("retain", 0, c)) return NULL;
  if (c) nxi_context_ref(c);
  if (c && c->watched) nxi_watch_retain(c);
  return c;
}

/* Objects whose teardown was deferred still have references to the context. They are torn down
 * first; their references may be the last ones. */
void nx_context_release(nx_context *c) {
  if (!c || !nxi_have_context("release", 0, c)) return;
  if (c->watched && !nxi_watch_give_up(c)) return;
  if (nxi_lock_try(&c->record_lock)) {
    nxi_drain(c, 64);
    nxi_record_unlock(c);
  }
  nxi_context_unref(c);
}

void nx_context_collect(nx_context *c) {
  if (!c) {
    nxi_run_callbacks(NULL, true);
    return;
  }
  if (!nxi_have_context("collect", 0, c)) return;
  nxi_context_ref(c);
  nxi_drain_all(c);
  nxi_record_lock(c);
  nxi_deferred_settle(c);
  nxi_record_unlock(c);
  nxi_drain_all(c);
  nxi_run_callbacks(c, true);
  nxi_context_unref(c);
}

/* ---- statistics */

void nx_context_stats(const nx_context *context, nx_stats *out) {
  nx_context *c = (nx_context *)context;
  if (!c || !out || !nxi_have_context("stats", 0, c)) return;
  nxi_memory_stats memory;
  nxi_buffers_drop_spare(c);
  nxi_allocator_stats(c->allocator, &memory);
  nx_stats stats = {.size = sizeof stats,
                    .live_bytes = (uint64_t)memory.live,
                    .peak_bytes = (uint64_t)memory.peak,
                    .kernels_compiled = atomic_load(&c->kernels_compiled),
                    .kernels_generic = atomic_load(&c->kernels_generic),
                    .kernels_shared = atomic_load(&c->kernels_shared)};
  uint64_t before = atomic_load(&c->peak_bytes);
  if (before > stats.peak_bytes) stats.peak_bytes = before;
  stats.pending_nodes = nx_pending(c, &stats.pending_bytes);
  stats.pinned_bytes = atomic_load_explicit(&c->pinned_bytes, memory_order_relaxed);
  nxi_fill(out, &stats, sizeof stats, "nx_stats", "stats");
}
