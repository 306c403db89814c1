/* SPDX-License-Identifier: ISC */
/* Making the plan of a function, and the code of its kernels, before the first call: while whoever
 * will call it does something else. The key is that of a call whose inputs are all of their
 * storages, no two of them the same, in memory that is aligned, and whose results are new. Another
 * call finds no plan, makes its own, and has the code of the kernels that both have. */
#include "function_call.h"
#include "ir/op.h"
#include "ir/platform/lock.h"
#include "runtime/debug.h"
#include "runtime/realize/plans/obtain.h"

/* Both locks. */
static bool make_key(nxi_run *run, nx_function *f) {
  nxi_record_lock(f->context);
  bool good = nxi_call_key_of_none(run, f);
  nxi_record_unlock(f->context);
  return good;
}

/* run_lock, which is released meanwhile. */
static void make_plan(nxi_run *run) {
  nx_context *c = run->context;
  NXI_HELD(&c->run_lock);
  bool is_new, interpret;
  nxi_executable *made;
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_plan *p = nxi_plan_find(c->plans, run, &is_new, &d);
  if (!p) return;
  if (is_new && nxi_plan_obtain(run, p, &made, &interpret, &d) == NX_OK) p->prepared = true;
  nxi_plan_leave(c->plans, p);
}

void nxi_function_prepare(nx_function *f, const nx_run_options *o) {
  nx_context *c = f->context;
  nx_report report = {0};
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_debug_background() || f->n_effects > 0) return;
  nxi_run *run = nxi_run_take(c, &d);
  if (!run) return;
  const nxi_fp environment = nxi_fp_enter();
  run->options = o;
  run->report = &report;
  nxi_run_lock(c);
  if (make_key(run, f)) make_plan(run);
  nxi_run_unlock(c);
  nxi_fp_leave(environment);
  nxi_run_give(run);
}
