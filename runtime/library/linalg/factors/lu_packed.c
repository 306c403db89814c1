/* SPDX-License-Identifier: ISC */
/* lu: the factors themselves, with the exchanges of rows. LAPACK factors a copy by columns; small
 * matrices are factored in C order, in the result, and large square ones in stages. */
#include <string.h>

#include "runtime/library/linalg/columns.h"
#include "lu.h"
#include "small_matrix.h"

typedef void (*getrf_fn)(const int *m, const int *n, void *a, const int *lda, int *pivots,
                         int *info);

enum { FACTORS, PIVOTS };

/* The first pivot that is zero, counted from 1; 0: none is. factors: in C order. */
static int32_t first_zero(nx_dtype t, int m, int n, const char *factors) {
  const size_t step = ((size_t)n + 1) * (size_t)nxi_dtype_size(t);
  for (int i = 0; i < nxi_least(m, n); i++)
    if (nxi_zero_on_diagonal(t, 1, factors + (size_t)i * step)) return i + 1;
  return 0;
}

/* The other results, from the factors in the first one. pivots: counted from `base`. */
static void write_exchanges(const nxg_call_part *part, int64_t index, const int *pivots, int base) {
  const nxg_call *call = part->call;
  const nxg_array *a = &call->operands[0];
  const int m = nxi_rows(a), n = nxi_columns(a);
  int32_t *to = nxi_item(&call->results[1], part->results[1], 1, index),
          *order = nxi_item(&call->results[2], part->results[2], 1, index),
          *info = nxi_item(&call->results[3], part->results[3], 0, index);
  for (int i = 0; i < m; i++) order[i] = i;
  for (int i = 0; i < nxi_least(m, n); i++) {
    to[i] = pivots[i] - base;
    const int32_t row = order[i];
    order[i] = order[to[i]];
    order[to[i]] = row;
  }
  *info = first_zero(a->dtype, m, n, nxi_item(a, part->results[0], 2, index));
}

static nx_status one(const nxg_call_part *part, int64_t index) {
  const nxg_array *a = &part->call->operands[0];
  const nx_dtype t = a->dtype;
  int m = nxi_rows(a), n = nxi_columns(a), info = 0, *pivots = nxi_work_array(part, PIVOTS, NULL);
  void *factors = nxi_work_array(part, FACTORS, NULL);
  const bool small = m == n && nxi_is_small_matrix(t, n);
  if (small && n > 0) {
    void *to = nxi_item(a, part->results[0], 2, index);
    memcpy(to, nxi_item(a, part->operands[0], 2, index),
           (size_t)n * (size_t)n * (size_t)nxi_dtype_size(t));
    nxi_small_lu(t, n, to, pivots);
  } else if (nxi_least(m, n) > 0) {
    nxi_take_columns(part, 0, index, factors);
    nxi_lapack_enter();
    ((getrf_fn)nxi_lapack(NXI_LAPACK_getrf, t))(&m, &n, factors, &m, pivots, &info);
    nxi_lapack_leave();
    nxi_give_columns(part, 0, index, factors);
  }
  write_exchanges(part, index, pivots, !small);
  return NX_OK;
}

static void finish(const nxi_stage_task *task, const nxi_lu *lu) {
  const nxg_call_part *part = task->part;
  nxi_give_columns(part, 0, task->index, task->memory);
  write_exchanges(part, task->index, nxi_lu_pivots(lu, task->memory), 1);
}

static bool is_blocked(const nxg_call *call) {
  const nxg_array *a = &call->operands[0];
  return nxi_rows(a) == nxi_columns(a) && nxi_lu_is_blocked(a);
}

static nx_status prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  const double m = nxi_rows(a), n = nxi_columns(a), k = m < n ? m : n, flops = 2 * m * n * k / 1.5;
  nx_status status = nxi_lapack_ready("lu", d);
  if (status) return status;
  if (is_blocked(call)) {
    const nxi_lu_call large = {.unchecked = true, .turned = true, .tasks = 1, .finish = finish};
    return nxi_lu_prepare(call, work, &large, flops, d);
  }
  nxi_batch_work(work, nxi_batches(a, 2), flops, m * n);
  const double lengths[] = {nxi_columns_room(m, n), k + 1};
  return nxi_work_state(call, work, a->dtype, lengths, 2, d);
}

static nx_status run(nxg_call_part *part) {
  if (is_blocked(part->call)) return nxi_stages_run(part->state, part);
  return nxi_each_item(part, one);
}

const nxg_functions nxi_lu_functions = {prepare, run, nxi_work_release};
