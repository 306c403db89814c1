/* SPDX-License-Identifier: ISC */
/* Loads the code of a plan's kernels: machine code from the cache, which binds and compiles kernels
 * that it does not have; or the form that an interpreter runs. */
#include "internal.h"

#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "ir/platform/clock.h"
#include "passes/kernel/generalize.h"
#include "passes/pipeline.h"
#include "runtime/trace.h"

static nx_status print_stage(const nxi_device_stage *s, const nxk_kernel *bound,
                             const nxi_target *t, nxi_text *out, nxi_diag *d) {
  nxi_text source = {0};
  if (s->translate == NULL) return s->print(bound, t, true, out, d);
  nx_status status = s->source->print(bound, t, true, &source, d);
  if (status == NX_OK && source.failed) status = nxi_oom(d);
  if (status == NX_OK) status = s->translate(source.data, bound->name, t, out, d);
  nxi_text_free(&source);
  return status;
}

/* Whether NX_DEBUG asks for a stage. */
static bool is_shown(const nxi_device_stage *s) { return !s->dumped_alone && nxp_wanted(s->name); }

/* Shows the stages of a kernel even if its code will come from a cache. Code in a cache was made
 * from the same text by the same passes, so the stages are made once more and are the same as those
 * of the code that runs. */
static nx_status show_stages(const nxi_executable *e, const nxk_kernel *bound, const nxi_target *t,
                             nxi_diag *d) {
  nx_status status = NX_OK;
  for (const nxi_device_stage *s = e->kind->stages; s->name != NULL && status == NX_OK; s++) {
    nxi_text text = {0};
    if (!is_shown(s)) continue;
    status = print_stage(s, bound, t, &text, d);
    if (status == NX_OK) status = nxp_show(s->name, bound->name, &text, d);
    else nxi_text_free(&text);
  }
  return status;
}

static bool wants_stages(const nxi_executable *e) {
  for (const nxi_device_stage *s = e->kind->stages; s->name != NULL; s++)
    if (is_shown(s)) return true;
  return false;
}

static nx_status show_bound(const nxi_executable *e, const nxk_kernel *k, const nxi_target *t,
                            bool code, nxi_diag *d) {
  nxk_kernel *bound = NULL;
  nx_status status = nxp_bind_kernel(k, t, &bound, d);
  if (status == NX_OK && t->calls)
    snprintf(bound->name, sizeof bound->name, "%.57s_first", k->name);
  if (status == NX_OK) status = nxp_show_kernel("bound", bound, d);
  if (status == NX_OK && code) status = show_stages(e, bound, t, d);
  nxk_destroy(bound);
  return status;
}

/* Where stages are shown all code is made at once; of a kernel whose first code would call
 * functions elsewhere (at_first.c) that is shown, too, as NAME_first. */
static nx_status show_code(const nxi_executable *e, const nxk_kernel *k, nxi_diag *d) {
  bool code = e->options.executor == NXI_COMPILED && wants_stages(e);
  nxi_target target = e->plan->target;
  if (!code && !nxp_wanted("bound")) return NX_OK;
  target.calls =
      e->options.executor == NXI_COMPILED && !e->plan->options.on_gpu && nxi_calls_pay(k, &target);
  target.hasty = target.calls;
  nx_status status = target.calls ? show_bound(e, k, &target, code, d) : NX_OK;
  return status == NX_OK ? show_bound(e, k, &e->plan->target, code, d) : status;
}

/* ---- code */

typedef struct production {
  const nxk_kernel *logical;
  const nxi_target *target;
  const nxi_kernel_kind *kind; /* of the logical kernel */
} production;

nx_status nxi_bind_generic(const nxk_kernel *logical, const nxi_target *t, bool any_extent,
                           nxk_kernel **bound, nxi_diag *d) {
  nxi_target target = *t;
  target.generic = true;
  target.any_extent = any_extent;
  return nxp_bind_kernel(logical, &target, bound, d);
}

/* The iterations of the loop and of those around it, as far as they are known; INT64_MAX: more than
 * can be counted. */
static int64_t iterations_of(const nxk_kernel *k, nxk_value loop) {
  int64_t n = 1;
  for (nxk_value v = loop; v != NXK_NONE; v = k->instrs[v].block) {
    if (k->instrs[v].op != NXK_for) continue;
    const nxk_loop *l = &k->loops[k->instrs[v].imm];
    const bool known = l->lower.value == NXK_NONE && l->upper.value == NXK_NONE;
    const int64_t trips = known ? l->upper.constant - l->lower.constant : 1;
    if (trips > 0 && __builtin_mul_overflow(n, trips, &n)) return INT64_MAX;
  }
  return n;
}

/* Whether there may be such a kernel: integers that all grew can stand for more elements than any
 * memory has, and the binder, which counts them, need not expect that. */
static bool is_possible(const nxk_kernel *k) {
  const int64_t most = INT64_C(1) << 56;
  for (nxk_value v = 0; v < k->n_instrs; v++)
    if (k->instrs[v].op == NXK_for && iterations_of(k, v) > most) return false;
  return true;
}

static nx_status vary(void *user, const nxk_hole *holes, bool few, nxk_kernel **bound,
                      nxi_diag *d) {
  const production *p = user;
  if (holes == p->kind->holes) return nxi_bind_generic(p->logical, p->target, few, bound, d);
  nxk_kernel *other = nxk_refill(p->logical, holes, p->kind->n_holes, d);
  if (other == NULL) return d->status;
  nx_status status = is_possible(other) ? nxi_bind_generic(other, p->target, few, bound, d)
                                        : nxi_fail(d, NX_COMPILE_FAILED, "", "too many elements");
  nxk_destroy(other);
  return status;
}

static nx_status produce(void *user, nxk_kernel **bound, nxi_diag *d) {
  const production *p = user;
  return nxp_bind_kernel(p->logical, p->target, bound, d);
}

/* Strides of 0, 1 and -1 are part of a kind, because kernels with others are bound differently.
 * What the plan has bound for its integers is of no kind. */
nxi_kernel_kind nxi_kind_of(const nxk_kernel *logical) {
  nxk_anatomy a;
  if (logical->level == NXK_BOUND) return (nxi_kernel_kind){0};
  if (!nxk_dissect(logical, &a)) return (nxi_kernel_kind){0};
  uint64_t hash = XXH3_64bits(a.structure.data, a.structure.size);
  for (uint32_t i = 0; i < a.n_holes; i++) {
    uint64_t words[] = {hash, i, a.holes[i].value};
    if (a.holes[i].role == NXK_STRIDE && a.holes[i].value + 1 <= 2)
      hash = XXH3_64bits(words, sizeof words);
  }
  nxi_text_free(&a.structure);
  return (nxi_kernel_kind){.number = hash, .holes = a.holes, .n_holes = a.n_holes};
}

void nxi_kind_free(nxi_kernel_kind *k) {
  nxi_free(k->holes);
  *k = (nxi_kernel_kind){0};
}

nx_status nxi_get_code(nxi_kernel_cache *c, const nxk_kernel *logical, const nxi_target *t,
                       const nxi_kernel_kind *kind, nxi_kernel **out, nxi_kernel_outcome *how,
                       nxi_diag *d) {
  nxi_text key = {0};
  nxi_kernel_kind own = *kind;
  production what = {.logical = logical, .target = t, .kind = &own};
  own.always = nxp_debugging.generic;
  own.vary = vary;
  nxp_put_bind_key(logical, t, &key);
  nx_status status = key.failed ? nxi_oom(d)
                                : nxi_kernel_get_of_kind(c, t->isa, key.data, key.size, produce,
                                                         &own, &what, out, how, d);
  nxi_text_free(&key);
  return status;
}

static void count_outcome(nxi_compile_report *report, nxi_kernel_outcome how, bool generic,
                          double ms) {
  report->generic_misses += generic && how == NXI_KERNEL_COMPILED;
  report->generic_hits += generic && how != NXI_KERNEL_COMPILED;
  report->kernel_hits += how == NXI_KERNEL_HIT;
  report->kernel_disk_hits += how == NXI_KERNEL_DISK_HIT;
  report->kernel_misses += how == NXI_KERNEL_COMPILED;
  report->compile_ms += how == NXI_KERNEL_COMPILED ? ms : 0;
}

nx_status nxi_load_kernel(nxi_executable *e, uint32_t number, const nxi_kernel_kind *kind,
                          nxi_compile_report *report, nxi_diag *d) {
  nxp_plan *p = e->plan;
  nxp_kernel *k = &p->kernels[number];
  nxi_kernel_outcome how = NXI_KERNEL_HIT;
  nxi_target target = p->target;
  target.hasty = kind->hasty;
  target.calls = kind->calls;
  const bool traced = nxi_trace_is_on();
  int64_t began = traced ? nxi_now_ns() : 0;
  nx_status status =
      nxi_get_code(e->options.kernels, k->ir, &target, kind, &e->code[number], &how, d);
  report->absent = how == NXI_KERNEL_ABSENT;
  if (traced) nxi_trace_add(how == NXI_KERNEL_COMPILED ? "compile" : "load", k->name, began);
  if (status != NX_OK) return status;
  const nxi_kernel_info *info = nxi_kernel_describe(e->code[number]);
  k->scratch_bytes = p->options.on_gpu ? 0 : info->scratch_bytes; /* a GPU's are the blocks' */
  k->tasks = info->tasks;
  k->tasks_param = info->tasks_param;
  k->tasks_divisor = info->tasks_divisor;
  k->values = info->values;
  k->n_values = info->n_values;
  nxk_destroy(k->ir);
  k->ir = NULL;
  count_outcome(report, how, info->values != NULL, info->compile_ms);
  return NX_OK;
}

static nx_status bind(nxi_executable *e, nxp_kernel *k, nxi_diag *d) {
  nxk_kernel *bound = NULL;
  nx_status status = nxp_bind_kernel(k->ir, &e->plan->target, &bound, d);
  if (status != NX_OK) return status;
  nxk_destroy(k->ir);
  k->ir = bound;
  return NX_OK;
}

nx_status nxi_load_kernels(nxi_executable *e, const nxi_poll *poll, nxi_compile_report *report,
                           nxi_diag *d) {
  nxp_plan *p = e->plan;
  bool compiled = e->options.executor == NXI_COMPILED;
  if (compiled && (e->code = nxi_calloc((size_t)p->n_kernels + 1, sizeof(void *))) == NULL)
    return nxi_oom(d);
  for (uint32_t i = 0; i < p->n_kernels; i++) {
    nxp_kernel *k = &p->kernels[i];
    nx_status status = nxp_ask(poll, d);
    if (status == NX_OK) status = show_code(e, k->ir, d);
    if (status == NX_OK && !compiled && e->options.bound_interp) status = bind(e, k, d);
    nxi_oom_during(d, status, "compiling kernel %.64s", k->name);
    if (status != NX_OK) return status;
  }
  return compiled ? nxi_load_together(e, poll, report, d) : NX_OK;
}
