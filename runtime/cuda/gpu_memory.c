/* SPDX-License-Identifier: ISC */
/* Memory of a GPU. Freed memory is kept and reused, of a size class the piece with the smallest
 * address first, so that repeated equal allocations get the same addresses, in whatever order
 * memory is freed: graphs know few addresses. That is safe without waiting because all work that
 * uses memory is started on one stream: the earlier user of a piece runs before the later one. */
#include "ir/alloc.h"
#include "ir/platform/thread.h"
#include "state.h"

enum { GRANULE = 512, STEPS = 32 };

/* Size classes: four for each power of two, so that freed pieces fit similar requests; eight from 1
 * MiB on, and 32 from 64 MiB on, where unused memory is expensive. The numbers of classes leave
 * room for 32 in each power of two. */
int nxi_gpu_class(int64_t bytes, int64_t *size) {
  *size = GRANULE;
  if (bytes <= GRANULE) return 0;
  int top = 63 - __builtin_clzll((uint64_t)bytes);
  int64_t steps = top < 20 ? 4 : top < 26 ? 8 : STEPS, step = ((int64_t)1 << top) / steps;
  if (top >= NXI_GPU_MOST_BITS) { /* no GPU has that much */
    *size = bytes;
    return NXI_GPU_CLASSES - 1;
  }
  *size = (bytes + step - 1) / step * step;
  top = 63 - __builtin_clzll((uint64_t)*size);
  return (top - 9) * STEPS + (int)(*size >> (top - 5) & (STEPS - 1));
}

static uint32_t rank_of(const nxi_gpu_piece *p) { return p != NULL ? p->rank : 0; }

/* Leftist heaps: no way along below[1] is longer than the logarithm of their size. */
static nxi_gpu_piece *joined(nxi_gpu_piece *a, nxi_gpu_piece *b) {
  if (a == NULL || b == NULL) return a != NULL ? a : b;
  nxi_gpu_piece *top = a->at < b->at ? a : b, *other = top == a ? b : a;
  nxi_gpu_piece *rest = joined(top->below[1], other);
  const bool shorter = rank_of(rest) <= rank_of(top->below[0]);
  top->below[1] = shorter ? rest : top->below[0];
  top->below[0] = shorter ? top->below[0] : rest;
  top->rank = rank_of(top->below[1]) + 1;
  return top;
}

void nxi_gpu_free_kept(nxi_gpu *g) {
  for (int i = 0; i < NXI_GPU_CLASSES; i++)
    while (g->kept[i] != NULL) {
      nxi_gpu_piece *p = g->kept[i];
      g->kept[i] = joined(p->below[0], p->below[1]);
      if (!g->forked) g->cuda->memory_free(p->at);
      nxi_free(p);
    }
  g->stats.cached = 0;
}

/* Lock. */
static uint64_t take_kept(nxi_gpu *g, int number, int64_t size, uint64_t *after) {
  nxi_gpu_piece *p = g->kept[number];
  if (p == NULL) return 0;
  uint64_t at = p->at;
  *after = p->after;
  g->kept[number] = joined(p->below[0], p->below[1]);
  g->stats.cached -= size;
  nxi_free(p);
  return at;
}

/* Inside. */
void nxi_gpu_free_all_kept(nxi_gpu *g) {
  g->cuda->stream_wait(g->stream);
  nxi_mutex_lock(&g->lock);
  nxi_gpu_free_kept(g);
  nxi_mutex_unlock(&g->lock);
}

nx_status nxi_gpu_trim(nxi_gpu *g, nxi_diag *d) {
  nx_status status = nxi_gpu_enter(g, d);
  if (status != NX_OK) return status;
  nxi_gpu_free_all_kept(g);
  nxi_gpu_leave(g);
  return NX_OK;
}

static nx_status no_memory(nxi_gpu *g, int64_t bytes, nxi_diag *d) {
  nxi_gpu_stats s;
  nxi_gpu_statistics(g, &s);
  if (g->limit != 0 && s.live > g->limit - bytes)
    return nxi_fail(
        d, NX_OUT_OF_MEMORY, "",
        "%lld more bytes on the GPU %s would pass the memory limit of %lld bytes: %lld are in use",
        (long long)bytes, g->info.name, (long long)g->limit, (long long)s.live);
  return nxi_fail(d, NX_OUT_OF_MEMORY, "",
                  "the GPU %s has no %lld bytes left: %lld of its %lld are in use here",
                  g->info.name, (long long)bytes, (long long)s.live, (long long)g->info.memory);
}

/* Allocates a new piece. If that fails, or exceeds the limit, kept memory is freed and it tries
 * again. */
static nx_status alloc_new(nxi_gpu *g, int64_t bytes, int64_t size, bool tight, uint64_t *at,
                           nxi_diag *d) {
  nx_status status = nxi_gpu_enter(g, d);
  if (status != NX_OK) return status;
  if (tight) nxi_gpu_free_all_kept(g);
  int result = g->cuda->memory_alloc(at, (size_t)size);
  if (result == NXI_CUDA_NO_MEMORY) {
    nxi_gpu_free_all_kept(g);
    result = g->cuda->memory_alloc(at, (size_t)size);
  }
  nxi_gpu_leave(g);
  if (result == 0) return NX_OK;
  if (result == NXI_CUDA_NO_MEMORY) return no_memory(g, bytes, d);
  return nxi_gpu_refused(g, result, "reserving memory", d);
}

nx_status nxi_gpu_alloc(nxi_gpu *g, int64_t bytes, uint64_t *at, nxi_diag *d) {
  uint64_t after;
  return nxi_gpu_alloc_after(g, bytes, at, &after, d);
}

static nx_status alloc_once(nxi_gpu *g, int64_t bytes, uint64_t *at, uint64_t *after, nxi_diag *d) {
  int64_t size;
  *after = 0;
  int number = nxi_gpu_class(bytes, &size);
  nxi_mutex_lock(&g->lock);
  bool within = g->limit == 0 || g->stats.live <= g->limit - bytes;
  *at = within ? take_kept(g, number, size, after) : 0;
  bool tight = within && g->limit != 0 && g->stats.cached > 0 &&
               g->stats.live + g->stats.cached > g->limit - size;
  if (within) {
    g->stats.live += bytes;
    g->stats.allocations++;
  }
  nxi_mutex_unlock(&g->lock);
  if (!within) return no_memory(g, bytes, d);
  nx_status status = *at != 0 ? NX_OK : alloc_new(g, bytes, size, tight, at, d);
  nxi_mutex_lock(&g->lock);
  if (status != NX_OK) g->stats.live -= bytes;
  else if (g->stats.live > g->stats.peak) g->stats.peak = g->stats.live;
  nxi_mutex_unlock(&g->lock);
  return status;
}

nx_status nxi_gpu_alloc_after(nxi_gpu *g, int64_t bytes, uint64_t *at, uint64_t *after,
                              nxi_diag *d) {
  nxi_diag own;
  *after = 0;
  if (nxi_gpu_captures(g)) return nxi_gpu_captured_alloc(g, bytes, at, d);
  for (;;) {
    if (atomic_load(&g->lost)) return nxi_gpu_is_lost(g, d);
    nxi_diag_clear(&own);
    nx_status status = alloc_once(g, bytes, at, after, &own);
    if (status == NX_OK) return NX_OK;
    const bool more = status == NX_OUT_OF_MEMORY && g->base.reclaim != NULL;
    if (more && g->base.reclaim(&g->base, bytes) > 0) continue;
    return nxi_fail(d, status, own.op, "%s", own.message);
  }
}

void nxi_gpu_free(nxi_gpu *g, uint64_t at, int64_t bytes) {
  nxi_gpu_free_after(g, at, bytes, NXI_NOW);
}

void nxi_gpu_free_after(nxi_gpu *g, uint64_t at, int64_t bytes, uint64_t after) {
  int64_t size;
  int number = nxi_gpu_class(bytes, &size);
  if (nxi_gpu_captures(g) && nxi_gpu_captured_free(at)) return;
  if (nxi_gpu_scratch_returns(g, at)) return;
  nxi_gpu_piece *p = nxi_malloc(sizeof *p);
  nxi_mutex_lock(&g->lock);
  g->stats.live -= bytes;
  if (p != NULL) {
    /* The next mark comes after all work that was started up to now. */
    if (after == NXI_NOW) after = atomic_load(&g->marks.last) + 1;
    *p = (nxi_gpu_piece){.rank = 1, .at = at, .after = after};
    g->kept[number] = joined(g->kept[number], p);
    g->stats.cached += size;
  }
  nxi_mutex_unlock(&g->lock);
  if (p != NULL || !nxi_gpu_enter_to_free(g)) return;
  g->cuda->stream_wait(g->stream);
  g->cuda->memory_free(at);
  nxi_gpu_leave(g);
}

void nxi_gpu_statistics(nxi_gpu *g, nxi_gpu_stats *out) {
  nxi_mutex_lock(&g->lock);
  *out = g->stats;
  out->launches = atomic_load_explicit(&g->launches, memory_order_relaxed);
  out->graph_launches = atomic_load_explicit(&g->graph_launches, memory_order_relaxed);
  nxi_mutex_unlock(&g->lock);
}
