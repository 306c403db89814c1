/* SPDX-License-Identifier: ISC */
#include "linalg.h"

#include "ir/alloc.h"

enum { OWN = 64, OWN_IN_BATCHES = 256, BATCH = 16 };

bool nxi_linalg_is_own(int64_t most, int64_t count) {
  return most <= OWN || (most <= OWN_IN_BATCHES && count >= BATCH);
}

/* ---- preparing */

nxi_linalg *nxi_linalg_create(const nxg_call *call) {
  const nxg_array *a = &call->operands[0], *b = &call->operands[1];
  nxi_linalg *l = nxi_calloc(1, sizeof *l);
  if (l == NULL) return NULL;
  l->dtype = a->dtype;
  l->part = nxi_part_dtype(a->dtype);
  l->m = a->shape[a->rank - 2];
  l->n = a->shape[a->rank - 1];
  l->k = call->n_operands > 1 ? b->shape[b->rank - 1] : 0;
  l->count = nxg_elements(a->rank - 2, a->shape);
  l->scratch_bytes = (8 * l->count + 4 + 255) & ~(int64_t)255;
  return l;
}

void nxi_linalg_piece(nxi_linalg *l, int piece, int64_t elements, int64_t bytes) {
  int64_t all;
  l->at[piece] = l->scratch_bytes;
  if (__builtin_mul_overflow(elements, l->count, &all) ||
      __builtin_mul_overflow(all, bytes, &all) || all > INT64_MAX / 8 - l->scratch_bytes)
    l->scratch_bytes = INT64_MAX / 8; /* too much: every launch fails for lack of memory */
  else l->scratch_bytes += (all + 255) & ~(int64_t)255;
}

void nxi_linalg_release(void *state) {
  nxi_linalg *l = state;
  for (int i = 0; l != NULL && i < NXI_ARRAYS_KERNELS; i++) nxi_kernel_release(l->code[i]);
  nxi_free(l);
}

nx_status nxi_linalg_ready(nxi_gpu *g, nxi_linalg *l, nxi_gpu_call_work *work, nxi_diag *d) {
  nx_status status = nxi_arrays_get_all(g, l->needed, l->dtype, l->code, d);
  if (status != NX_OK) {
    nxi_linalg_release(l);
    return status;
  }
  work->scratch_bytes = l->scratch_bytes;
  work->state = l;
  return NX_OK;
}

/* ---- runs */

nxi_linalg_run nxi_linalg_begin(nxi_gpu_call_run *r, nxi_diag *d) {
  const nxi_linalg *l = r->work->state;
  nxi_linalg_run run = {.l = l, .r = r, .d = d, .status = NX_OK, .info = r->scratch};
  run.flags = run.info + 4 * (uint64_t)l->count;
  run.nobody = run.flags + 4 * (uint64_t)l->count;
  for (int i = 0; i < NXI_LINALG_PIECES; i++) run.piece[i] = r->scratch + (uint64_t)l->at[i];
  run.status = nxi_gpu_clear(r->gpu, run.info, 8 * l->count + 4, d);
  return run;
}

void nxi_linalg_launch(nxi_linalg_run *run, nxi_arrays_kernel which, int64_t items,
                       void **arguments) {
  if (run->status != NX_OK || items == 0) return;
  run->status = nxi_arrays_run(run->l->code[which], items, arguments, run->d);
}

void nxi_linalg_copy(nxi_linalg_run *run, uint64_t to, uint64_t from, int64_t elements) {
  if (run->status != NX_OK) return;
  run->status =
      nxi_gpu_copy(run->r->gpu, to, from, elements * nxi_dtype_size(run->l->dtype), run->d);
}

void nxi_linalg_turn(nxi_linalg_run *run, nxi_arrays_kernel which, uint64_t from, uint64_t to,
                     int64_t rows, int64_t columns, int64_t from_distance, int64_t to_distance) {
  int64_t count = run->l->count;
  nxi_linalg_launch(run, which, count * rows * columns,
                    (void *[]){&from, &to, &count, &rows, &columns, &from_distance, &to_distance});
}

nxi_cusolver_job nxi_linalg_job(const nxi_linalg_run *run, uint64_t a, int64_t m, int64_t n) {
  return (nxi_cusolver_job){run->r->gpu, run->l->dtype, m, n, run->l->count, a, run->info};
}

nx_status nxi_linalg_end(nxi_linalg_run *run, nx_status why) {
  int64_t count = run->l->count;
  if (run->status != NX_OK || count == 0) return run->status;
  int32_t *both = nxi_malloc((size_t)count * 2 * sizeof *both);
  if (both == NULL) return nxi_oom(run->d);
  nx_status status =
      nxi_gpu_download(run->r->gpu, both, run->info, 8 * count, NXI_NOW, run->r->poll, run->d);
  for (int64_t i = 0; i < count && status == NX_OK && run->r->why == NX_OK; i++)
    if (both[i] != 0 || both[count + i] != 0) {
      run->r->failed = i;
      run->r->why = why;
    }
  nxi_free(both);
  return status;
}
