/* SPDX-License-Identifier: ISC */
/* What tests of library calls through the interface share: how many kernels and calls a realise
 * takes, and exhausted memory at every point of one. */
#ifndef NXT_CALL_UTIL_H
#define NXT_CALL_UTIL_H

#include "tests/util/api.h"
#include "tests/util/executor.h"
#include "codegen_llvm/codegen_llvm.h"
#include "ir/alloc.h"

/* Kernels are there to be counted: neither the graph interpreter nor a build without LLVM makes any
 * of graphs so small. */
static inline bool counts_kernels(void) { return !nxt_executor_is("interp") && !nxl_unavailable(); }

/* Realises y, in so many kernels and calls. */
static inline nx_report realise_in(nx_tensor *y, int kernels, int calls) {
  nx_report r = {.size = sizeof r};
  nx_run_options o = {.size = sizeof o, .report = &r};
  OK(nx_realize(ctx, &y, 1, &o));
  assert_int_equal(r.interpreted, 0);
  assert_int_equal(r.kernels, kernels);
  assert_int_equal(r.library_calls, calls);
  return r;
}

/* The same of a graph whose plan is new, and an equal one makes nothing anew. */
static inline void counts(nx_tensor *(*operand)(void), nx_tensor *(*make)(nx_tensor *x),
                          int kernels, int calls) {
  for (int round = 0; round < 2; round++) {
    nx_report r = realise_in(GOOD(make(operand())), kernels, calls);
    if (round) assert_true(r.plan_hits == 1 && r.plan_misses == 0 && r.kernel_misses == 0);
  }
}

/* Runs `program` on operands that `prepare` makes, in a context for each point at which an
 * allocation fails: it works, or says that there was no memory. `finish` tries again, and releases
 * what was made. */
static inline void each_allocation_fails(void (*prepare)(void), nx_status (*program)(void),
                                         void (*finish)(void)) {
  nx_context *kept = ctx;
  bool over = false;
  for (int64_t point = 0; !over; point++) {
    nx_context_options o = {.size = sizeof o, .cache_dir = "", .threads = 1};
    OK(nx_context_create(&o, &ctx));
    prepare();
    int64_t before = nxi_alloc_count();
    nxi_alloc_fail(point, false);
    nx_status status = program();
    nxi_alloc_fail(-1, false);
    over = nxi_alloc_count() - before <= point;
    assert_int_equal(nx_error_take(NULL), status);
    assert_true(status == NX_OK || (status == NX_OUT_OF_MEMORY && !over));
    finish();
    nx_context_release(ctx);
  }
  ctx = kept;
}

#endif
