/* SPDX-License-Identifier: ISC */
/* What follows a product row by row, on all threads, when the whole product is there. */
#include "blas.h"

enum { TASKS_A_THREAD = 8 };

typedef struct run {
  const nxi_epilogue *epilogue;
  int64_t m, rows, tasks; /* of one product; rows of a task, tasks of a product */
} run;

static int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

static void run_tasks(void *arg, int worker, int64_t begin, int64_t end) {
  const run *r = arg;
  for (int64_t i = begin; i < end; i++) {
    const int64_t row = i % r->tasks * r->rows, last = row + r->rows;
    r->epilogue->fn(r->epilogue->user, worker, i / r->tasks, row, last < r->m ? last : r->m);
  }
}

nx_status nxi_epilogue_run(const nxi_epilogue *epilogue, nxi_pool *pool, const nxi_poll *poll,
                           int64_t batches, int64_t m) {
  const int64_t wanted = (int64_t)TASKS_A_THREAD * nxi_pool_size(pool);
  run r = {.epilogue = epilogue, .m = m};
  if (batches <= 0 || m <= 0) return NX_OK;
  r.rows = ceil_div(m, ceil_div(wanted, batches));
  r.tasks = ceil_div(m, r.rows);
  return nxi_pool_run_polled(pool, poll, run_tasks, &r, batches * r.tasks, 1);
}
