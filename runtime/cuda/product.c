/* SPDX-License-Identifier: ISC */
/* Runs a product of a plan on a GPU in as few calls of the library as its strides allow: axes of
 * the batch that are contiguous are merged, adjacent matrices that are multiplied by the same
 * matrix become one matrix, and the longest remaining axis is the batch of a call. */
#include "launch.h"

#include "library/blas.h"

/* Most matrices of one call; a multiple of 16, so that the matrices of the next call have the same
 * alignment. */
enum { MOST_BATCHES = 65520 };

typedef struct batch {
  int32_t rank;
  int64_t extent[NXG_MAX_RANK], strides[3][NXG_MAX_RANK];
} batch;

static bool goes_on(const batch *b, const nxp_step *s, int32_t axis) {
  for (int i = 0; i < 3; i++)
    if (b->strides[i][b->rank - 1] != s->batch_shape[axis] * s->batch_strides[i][axis])
      return false;
  return true;
}

static void find_batch(const nxp_step *s, batch *b) {
  b->rank = 0;
  for (int32_t axis = 0; axis < s->batch_rank; axis++) {
    if (s->batch_shape[axis] == 1) continue;
    bool more = b->rank > 0 && goes_on(b, s, axis);
    if (!more) b->extent[b->rank++] = 1;
    b->extent[b->rank - 1] *= s->batch_shape[axis];
    for (int i = 0; i < 3; i++) b->strides[i][b->rank - 1] = s->batch_strides[i][axis];
  }
}

/* If all matrices of a batch are multiplied by the same matrix, their rows are made the rows of one
 * matrix. */
static void join_rows(nxi_gpu_product *p, batch *b) {
  while (b->rank > 0) {
    int32_t last = b->rank - 1;
    int64_t from = b->strides[0][last];
    bool one = p->m == 1 ? from >= p->k : from == p->m * p->ld[0];
    if (b->strides[1][last] != 0 || p->transposed[0] || !one ||
        b->strides[2][last] != p->m * p->ld[2])
      return;
    if (p->m == 1) p->ld[0] = from;
    p->m *= b->extent[last];
    b->rank--;
  }
}

/* The axis that is the batch of a library call; -1: none. It is the longest one without negative
 * strides, which the library does not support. If something is added to the product, only the last
 * axis is possible, so that the result of a call is dense. */
static int32_t library_axis(const nxi_gpu_product *p, const batch *b) {
  int32_t axis = -1;
  for (int32_t i = b->rank; i-- > 0;) {
    bool known = b->strides[0][i] >= 0 && b->strides[1][i] >= 0;
    if (known && (axis < 0 || b->extent[i] > b->extent[axis])) axis = i;
    if (p->added != NXP_ADD_NOTHING) break;
  }
  return axis;
}

static void take_axis(nxi_gpu_product *p, batch *b) {
  int32_t axis = library_axis(p, b);
  p->batches = 1;
  if (axis < 0) return;
  p->batches = b->extent[axis];
  for (int i = 0; i < 3; i++) p->batch_strides[i] = b->strides[i][axis];
  b->rank--;
  for (; axis < b->rank; axis++) {
    b->extent[axis] = b->extent[axis + 1];
    for (int i = 0; i < 3; i++) b->strides[i][axis] = b->strides[i][axis + 1];
  }
}

/* The common alignment of all addresses of an operand, at most 16 bytes, the widest load. */
static int32_t alignment_of(const batch *b, int i, uint64_t at, int64_t size) {
  uint64_t bits = at | 16;
  for (int32_t axis = 0; axis < b->rank; axis++) bits |= (uint64_t)(b->strides[i][axis] * size);
  return (int32_t)(bits & -bits);
}

/* Bytes of an element of a, b, c. */
static int64_t size_of(const nxi_gpu_product *p, int i) {
  return nxi_dtype_size(i < 2 ? p->operands : p->dtype);
}

/* Computes the products for one index of the outer axes, in several calls if there are very many
 * matrices. */
static nx_status run_line(nxi_gpu *gpu, nxi_gpu_product p, const uint64_t start[4], nxi_diag *d) {
  int64_t left = p.batches;
  uint64_t at[4] = {start[0], start[1], start[2], start[3]};
  nx_status status = NX_OK;
  for (; left > 0 && status == NX_OK; left -= p.batches) {
    p.batches = left < MOST_BATCHES ? left : MOST_BATCHES;
    status = nxi_gpu_matmul(gpu, &p, at, d);
    for (int i = 0; i < 3; i++)
      at[i] += (uint64_t)(p.batches * p.batch_strides[i] * size_of(&p, i));
    if (p.added == NXP_ADD_MATRIX) at[3] = start[3] + (at[2] - start[2]);
  }
  return status;
}

nx_status nxi_gpu_run_product(const nxp_step *s, nxi_gpu *gpu, const uint64_t start[4],
                              nxi_diag *d) {
  nxi_gpu_product p = {.dtype = s->dtype,
                       .operands = s->operands,
                       .m = s->m,
                       .n = s->n,
                       .k = s->k,
                       .transposed = {s->transposed[0], s->transposed[1]},
                       .ld = {s->ld[0], s->ld[1], s->ld[2]},
                       .added = s->added};
  int64_t index[NXG_MAX_RANK] = {0};
  uint64_t at[4] = {start[0], start[1], start[2], start[3]};
  batch b;
  for (int32_t axis = 0; axis < s->batch_rank; axis++)
    if (s->batch_shape[axis] == 0) return NX_OK;
  if (s->m == 0 || s->n == 0) return NX_OK;
  find_batch(s, &b);
  join_rows(&p, &b);
  take_axis(&p, &b);
  for (int i = 0; i < 3; i++) p.alignment[i] = alignment_of(&b, i, at[i], size_of(&p, i));
  for (bool more = true; more;) {
    nx_status status = run_line(gpu, p, at, d);
    if (status != NX_OK) return status;
    more = false;
    for (int32_t axis = b.rank; axis-- > 0 && !more;) {
      more = ++index[axis] < b.extent[axis];
      int64_t steps = more ? 1 : 1 - b.extent[axis];
      if (!more) index[axis] = 0;
      for (int i = 0; i < 3; i++) at[i] += (uint64_t)(steps * b.strides[i][axis] * size_of(&p, i));
    }
    if (p.added == NXP_ADD_MATRIX) at[3] = start[3] + (at[2] - start[2]);
  }
  return NX_OK;
}
