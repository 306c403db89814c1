/* SPDX-License-Identifier: ISC */
/* Which kernels of a plan need no code: those that are never run; and until it is there those that
 * do so little that the interpreter of kernels, slow as it is, is done with them long before LLVM
 * would be. And which need less: code that is made in haste, which may call functions, until code
 * that is optimised is there. */
#include "internal.h"
#include "passes/kernel/passes.h"
#include "runtime/library/floats/windows.h"

#include <string.h>

/* Lanes of instructions, of 3 to 8 ns each: half a millisecond at most. The shortest kernel is
 * compiled in two to four. */
static const double most_work = 1 << 16;

/* How often the instruction runs in one launch; -1: that is not known before. */
static double times_of(const nxk_kernel *k, nxk_value instr) {
  double n = 1;
  for (nxk_value v = k->instrs[instr].block; v != NXK_NONE; v = k->instrs[v].block) {
    const nxk_instr *in = &k->instrs[v];
    if (in->op == NXK_region && k->level == NXK_BOUND && k->regions[in->imm].tasks_param >= 0)
      return -1;
    if (in->op != NXK_for) continue;
    const nxk_loop *l = &k->loops[in->imm];
    if (l->lower.value != NXK_NONE || l->upper.value != NXK_NONE) return -1;
    double trips = ((double)l->upper.constant - (double)l->lower.constant) / (double)l->step;
    n *= trips > 0 ? trips : 0;
  }
  return n;
}

/* What the interpreter does for the kernel, in lanes of simple instructions; above most_work if it
 * is more or is not known. */
static double work_of(const nxk_kernel *k) {
  const double cleared = (double)nxk_scratch_bytes(k) / 64;
  double work = 0;
  for (nxk_value v = 0; v < k->n_instrs && work <= most_work; v++) {
    const nxk_instr *in = &k->instrs[v];
    const double times = times_of(k, v);
    const bool function = in->op < NXK_SCALAR_COUNT && nxk_scalars[in->op].flags & NXK_FUNC;
    if (times < 0) return most_work + 1;
    work += times * (in->lanes + 1) * (function ? nxk_scalars[in->op].cost : 1);
    if (in->op != NXK_for) work += in->block == NXK_NONE ? cleared : 0;
    else if (k->loops[in->imm].kind != NXK_SEQ) work += times * cleared;
  }
  return work;
}

/* ---- functions that are called */

/* Vector instructions of functions in a kernel, each of which takes LLVM 40 to 130 us with all that
 * becomes of it; and 4-byte results for each of them: calling takes 0.15 ns longer for one, and
 * the code runs three times or so before it is replaced. */
enum { LEAST_CALLED = 20, MOST_RESULTS = 100000 };
/* The same where it is not known how often the kernel calls. */
enum { LEAST_IF_UNKNOWN = 60 };

bool nxi_calls_pay(const nxk_kernel *k, const nxi_target *t) {
  double cost = 0, results = 0;
  bool known = true;
  if (k->level != NXK_LOGICAL) return false; /* it is bound for computing */
  for (nxk_value v = 0; v < k->n_instrs; v++) {
    const double times = nxk_is_callable(k, t, v) ? times_of(k, v) : 0;
    if (times == 0) continue;
    cost += nxk_scalars[k->instrs[v].op].cost;
    results += times * (double)nxi_dtype_size((nx_dtype)k->instrs[v].dtype) / 4;
    known = known && times > 0;
  }
  return known ? cost >= LEAST_CALLED && results <= cost * MOST_RESULTS : cost >= LEAST_IF_UNKNOWN;
}

/* ---- code that is made in haste */

/* 4-byte results of each instruction that a thread may compute: an instruction takes LLVM some 60
 * us less, and a run 0.01 ns longer for each result. */
enum { MOST_IN_HASTE = 8000000 };

/* Elements of 4 bytes in the largest array: a kernel inside a product runs for a part of it. */
static double largest_of(const nxk_kernel *k) {
  double most = 1;
  for (uint32_t b = 0; b < k->n_buffers; b++) {
    const nxk_buffer *buffer = &k->buffers[b];
    const double size = (double)buffer->elements * (double)nxi_dtype_size(buffer->dtype) / 4;
    if (buffer->kind != NXK_LOCAL && size > most) most = size;
  }
  return most;
}

bool nxi_haste_pays(const nxk_kernel *k, const nxi_target *t) {
  double cost = 0, results = 0;
  for (nxk_value v = 0; v < k->n_instrs; v++) {
    const nxk_instr *in = &k->instrs[v];
    const double times = times_of(k, v);
    const bool function = in->op < NXK_SCALAR_COUNT && nxk_scalars[in->op].flags & NXK_FUNC;
    const double own = function ? nxk_scalars[in->op].cost : 1;
    if (in->op == NXK_const || in->op == NXK_for || in->op == NXK_region) continue;
    if (times < 0) return false;
    cost += own;
    results += own * times * in->lanes * (double)nxi_dtype_size((nx_dtype)in->dtype) / 4;
  }
  if (results < cost * largest_of(k)) results = cost * largest_of(k);
  return results <= cost * t->threads * MOST_IN_HASTE;
}

/* ---- kernels that do little */

static void except(const nxp_step *s, double *work) {
  if (s != NULL) work[s->kernel] = most_work + 1;
}

/* Kernels inside products run once for each row, or for each unit of a packed tile. */
static void except_inside(const nxp_step *s, double *work) {
  except(s->epilogue, work);
  for (int32_t i = 0; s->staging != NULL && i < s->staging->n_parts; i++)
    except(s->staging->parts[i].kernel, work);
  if (s->chain != NULL) except_inside(s->chain->product, work);
}

/* The interpreter may find no memory, so it does nothing once an input is being overwritten. */
void nxi_may_lack_code(const nxp_plan *p, bool *may, double *work) {
  bool overwriting = false;
  memset(work, 0, p->n_kernels * sizeof *work);
  for (uint32_t i = 0; i < p->n_steps; i++) {
    const nxp_step *s = &p->steps[i];
    overwriting = overwriting || s->overwrites;
    except_inside(s, work);
    if (s->kind != NXP_STEP_KERNEL) continue;
    if (overwriting) except(s, work);
    else if (work[s->kernel] <= most_work) work[s->kernel] += work_of(p->kernels[s->kernel].ir);
  }
  for (uint32_t i = 0; i < p->n_kernels; i++) may[i] = work[i] > 0 && work[i] <= most_work;
}

/* ---- kernels that are never run */

bool nxi_copies_images(const nxp_step *s) {
  return s->staging != NULL && s->staging->windows != NULL && s->chain == NULL &&
         nxi_floats_kernels_for(s->dtype) != NULL;
}

static void set_packing(const nxp_step *s, bool *needed, bool value) {
  for (int32_t i = 0; s->staging != NULL && i < s->staging->n_parts; i++)
    needed[s->staging->parts[i].kernel->kernel] = value;
}

static void need(const nxp_step *s, bool *needed) {
  if (s->kind == NXP_STEP_KERNEL) needed[s->kernel] = true;
  if (s->epilogue != NULL) needed[s->epilogue->kernel] = true;
  if (!nxi_copies_images(s)) set_packing(s, needed, true);
  if (s->chain != NULL) need(s->chain->product, needed);
}

void nxi_find_needed(const nxp_plan *p, bool *needed) {
  memset(needed, true, p->n_kernels * sizeof *needed);
  if (p->options.on_gpu) return;
  for (uint32_t i = 0; i < p->n_steps; i++)
    if (nxi_copies_images(&p->steps[i])) set_packing(&p->steps[i], needed, false);
  for (uint32_t i = 0; i < p->n_steps; i++) need(&p->steps[i], needed);
}
