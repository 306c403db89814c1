/* SPDX-License-Identifier: ISC */
/* Which steps of a plan a GPU runs side by side (passes/plan/tracks.c): in a graph, and where
 * neither of two fills the GPU. A kernel that moves little is over before it has used all of the
 * memory's bandwidth: what it takes is a latency, and several of these pass at the same time. So
 * small steps are on tracks, and all others run alone, which also means that no large temporary
 * has to live longer.
 *
 * Steps that are started one by one are not for tracks: the host takes as long to start a small
 * kernel as the GPU to run it. Library calls keep working memory from one to the next, so they
 * are on one track. */
#include "launch.h"

/* Bytes that an H200 moves in about a microsecond; rows and columns that a block of a library's
 * product kernel has; multiprocessors of the GPU that is imagined. */
enum { SMALL_BYTES = 4 << 20, PRODUCT_TILE = 128, USUAL_PROCESSORS = 132 };

static int64_t processors_of(const nxi_executable *e) {
  const bool here = e->options.device != NULL;
  return here ? nxi_gpu_properties(nxi_gpu_of(e))->processors : USUAL_PROCESSORS;
}

static bool is_small_product(const nxp_step *s, int64_t processors) {
  const double rows = (double)((s->m - 1) / PRODUCT_TILE + 1),
               columns = (double)((s->n - 1) / PRODUCT_TILE + 1);
  double blocks = rows * columns;
  for (int32_t i = 0; i < s->batch_rank; i++) blocks *= (double)s->batch_shape[i];
  return blocks < (double)processors;
}

static bool is_small_kernel(const nxi_executable *e, const nxp_step *s) {
  const nxp_kernel *k = &e->plan->kernels[s->kernel];
  const bool known = k->ir == NULL && k->tasks_param < 0;
  return s->bytes <= SMALL_BYTES || (known && k->tasks < processors_of(e));
}

static nxp_beside kind_of(const nxi_executable *e, const nxp_step *s) {
  bool small = false;
  switch (s->kind) {
    case NXP_STEP_CALL:
    case NXP_STEP_SCATTER: return NXP_FIRST_TRACK;
    case NXP_STEP_KERNEL: small = is_small_kernel(e, s); break;
    case NXP_STEP_COPY: small = s->bytes <= SMALL_BYTES; break;
    case NXP_STEP_MATMUL: small = is_small_product(s, processors_of(e)); break;
    default: break;
  }
  return small ? NXP_ANY_TRACK : NXP_ALONE;
}

/* Whether the host does something in the middle: then there is no graph. */
static bool has_host_steps(const nxi_executable *e) {
  const nxi_gpu_step *own = nxi_gpu_plan_of(e)->calls;
  for (uint32_t i = 0; e->options.device != NULL && i < e->plan->n_steps; i++) {
    const nxp_step_kind kind = e->plan->steps[i].kind;
    const nxi_gpu_functions *f = own[i].functions;
    if (kind == NXP_STEP_CALL && (f == NULL || !f->captured)) return true;
    if (kind == NXP_STEP_SCATTER && own[i].scatter == NULL) return true;
  }
  return false;
}

nx_status nxi_gpu_plan_tracks(nxi_executable *e, nxi_diag *d) {
  nxp_plan *p = e->plan;
  if (has_host_steps(e)) return NX_OK;
  nxp_beside *beside = nxi_malloc(((size_t)p->n_steps + 1) * sizeof *beside);
  if (beside == NULL) return nxi_oom(d);
  for (uint32_t i = 0; i < p->n_steps; i++) beside[i] = kind_of(e, &p->steps[i]);
  nx_status status = nxp_plan_find_tracks(p, beside, d);
  nxi_free(beside);
  return status;
}
