/* SPDX-License-Identifier: ISC */
/* The GPU binder: from what a kernel computes to how blocks of threads do it. A task is a block,
 * and lanes are spread over its threads. The communication between threads is explicit in the
 * result: shuffles, barriers, masks.
 *
 * Sums are added in the order of docs/numerics.md, as on a processor, so all results have the same
 * bits on both. Requires: a verified logical kernel without functions (ir/expand/expand.c). */
#include "passes/bind/gpu/gpu.h"
#include "passes/kernel/passes.h"

/* Any region: one thread does all of it. */
static void bind_literal(nxb_binder *b) {
  nxb_lane_map map;
  if (!nxb_lane_map_init(b, &map)) return;
  map.lanes = b->threads;
  map.columns = b->threads;
  nxb_add_locals(b, b->threads);
  nxk_begin_region(b->to);
  nxk_begin_range(b->to, NXK_TASK, 1);
  nxk_value from = nxb_int(b, 0), to = nxb_int(b, 1);
  map.active = nxk_active(b->to, from, to, b->threads);
  nxb_write_body(b, &map, 1, b->region->first + 1, b->region->last - 1, NULL, NULL);
  nxk_end(b->to);
  nxk_end(b->to);
}

/* ---- loops that are unrolled, so that the loads of all iterations are issued together */

enum { MOST_ITERATIONS = 16, MOST_WRITTEN = 512 };

/* Instructions in the body of an innermost loop; 0 if the loop contains another one or a cold
 * block. */
static int64_t innermost_length(const nxk_kernel *k, nxk_value loop) {
  for (nxk_value v = loop + 1; v < k->n_instrs; v++) {
    if (k->instrs[v].op == NXK_for || k->instrs[v].op == NXK_cold) return 0;
    if (k->instrs[v].op == NXK_end && k->instrs[v].block == loop) return v - loop;
  }
  return 0;
}

static void write_out_loops(nxk_kernel *k) {
  for (nxk_value v = 0; v < k->n_instrs; v++) {
    if (k->instrs[v].op != NXK_for) continue;
    nxk_loop *loop = &k->loops[k->instrs[v].imm];
    if (loop->kind != NXK_SEQ || loop->lower.value != NXK_NONE || loop->upper.value != NXK_NONE)
      continue;
    int64_t times = nxb_ceil(loop->upper.constant - loop->lower.constant, loop->step);
    if (times <= MOST_ITERATIONS && times * innermost_length(k, v) <= MOST_WRITTEN &&
        innermost_length(k, v) > 0)
      loop->unroll = true;
  }
}

/* ---- the pass */

enum { MORE_THREADS = 4 };

/* Whether the outer loops have constant extents, and points. */
static bool has_points(const nxb_region *region) {
  for (uint32_t i = 0; i < region->n_outer; i++)
    if (region->outer[i].extent <= 0) return false;
  return region->regular;
}

static void bind_region(nxb_binder *b) {
  if (!b->region->regular) bind_literal(b);
  else if (nxb_gpu_rows_fit(b)) nxb_gpu_rows(b);
  else if (nxb_gpu_scans_fit(b)) nxb_gpu_scans(b);
  else if (nxb_gpu_tiles_fit(b)) nxb_gpu_tiles(b);
  else nxb_gpu_points(b);
}

/* The threads of a block: those that the target says; if the kernel has one region, up to four
 * times as many for long runs, and fewer for scans of few columns. */
static uint16_t threads_of(const nxk_kernel *k, const nxi_target *t) {
  nxb_binder b = {.from = k, .target = t, .threads = (uint16_t)t->block_threads};
  nxb_region region;
  nxk_value first = 0;
  uint16_t most = MORE_THREADS * b.threads, threads = b.threads;
  while (first < k->n_instrs && k->instrs[first].op != NXK_region) first++;
  if (most > NXK_MAX_THREADS) most = NXK_MAX_THREADS;
  if (k->n_regions == 1 && nxb_analyze_kernel(&b) && nxb_analyze_region(&b, first, &region)) {
    b.region = &region;
    if (!has_points(&region)) threads = b.threads;
    else if (nxb_gpu_rows_fit(&b)) threads = nxb_gpu_rows_threads(&b, most);
    else if (nxb_gpu_scans_fit(&b)) threads = nxb_gpu_scans_threads(&b);
  }
  nxi_arena_destroy(&b.arena);
  return threads;
}

nxk_kernel *nxk_pass_bind_gpu(const nxk_kernel *k, const nxi_target *t, nxi_diag *d) {
  nxk_kernel *bound = nxb_bind_kernel(k, t, threads_of(k, t), bind_region, d);
  if (bound != NULL) write_out_loops(bound);
  return bound;
}
