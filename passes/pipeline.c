/* SPDX-License-Identifier: ISC */
/* Runs passes in order and does around them what their bodies never do: skipping, verifying, round trips, showing stages. */
#include "pipeline.h"

#include <string.h>

#include "codegen_cuda/codegen_cuda.h"
#include "codegen_llvm/codegen_llvm.h"
#include "passes/graph/passes.h"

nxp_debug nxp_debugging;

/* ---- around a pass */

const nxp_pass_row nxp_passes[NXP_PASSES] = {
#define NXP_PASS(name, level, optional, needs, keeps) {#name, optional},
#include "pass_list.def"
#undef NXP_PASS
};

static bool is_skipped(int pass) { return nxp_debugging.skip >> pass & 1; }

bool nxp_wanted(const char *stage) {
  return nxp_debugging.wants != NULL && nxp_debugging.wants(stage);
}

nx_status nxp_show(const char *stage, const char *name, nxi_text *text, nxi_diag *d) {
  nx_status status = text->failed
                         ? nxi_oom(d)
                         : nxp_debugging.show(stage, name, text->data != NULL ? text->data : "", d);
  nxi_text_free(text);
  return status;
}

static nx_status not_the_same(const char *pass, nxi_text *first, nxi_text *second, nxi_diag *d) {
  bool failed = first->failed || second->failed;
  bool same = !failed && first->size == second->size &&
              (first->size == 0 || memcmp(first->data, second->data, first->size) == 0);
  nxi_text_free(first);
  nxi_text_free(second);
  if (failed) return nxi_oom(d);
  return same ? NX_OK
              : nxi_fail(d, NX_INTERNAL, pass,
                         "after %s, the text of the IR does not survive a round trip", pass);
}

static nx_status bad_ir(const char *pass, const nxi_text *faults, nxi_diag *d) {
  if (faults->failed || faults->data == NULL)
    return nxi_oom(d); /* the verifier itself ran out of memory */
  return nxi_fail(d, NX_INTERNAL, pass, "%s left an invalid IR:\n%.400s", pass, faults->data);
}

nx_status nxp_check_graph(const nxg_graph *g, const char *pass, nxi_diag *d) {
  nx_status status = NX_OK;
  if (nxp_debugging.verify) {
    nxi_text faults = {0};
    if (!nxg_verify(g, &faults)) status = bad_ir(pass, &faults, d);
    nxi_text_free(&faults);
  }
  if (status != NX_OK || !nxp_debugging.roundtrip) return status;
  nxi_text first = {0}, second = {0};
  nxg_graph *again = NULL;
  nxg_print(g, &first);
  if (!first.failed) status = nxg_parse(first.data, first.size, &again, d);
  if (status == NX_OK && again != NULL) nxg_print(again, &second);
  nxg_destroy(again);
  nx_status same = not_the_same(pass, &first, &second, d);
  return status != NX_OK ? status : same;
}

static nx_status check_kernel(const nxk_kernel *k, const char *pass, nxi_diag *d) {
  nx_status status = NX_OK;
  if (nxp_debugging.verify) {
    nxi_text faults = {0};
    if (!nxk_verify(k, &faults)) status = bad_ir(pass, &faults, d);
    nxi_text_free(&faults);
  }
  if (status != NX_OK || !nxp_debugging.roundtrip) return status;
  nxi_text first = {0}, second = {0};
  nxk_kernel *again = NULL;
  nxk_print(k, &first);
  if (!first.failed) status = nxk_parse(first.data, first.size, &again, d);
  if (status == NX_OK && again != NULL) nxk_print(again, &second);
  nxk_destroy(again);
  nx_status same = not_the_same(pass, &first, &second, d);
  return status != NX_OK ? status : same;
}

void nxp_passed(const char *pass, const nxg_graph *g) {
  nxi_text text = {0};
  if (nxp_debugging.passed == NULL) return;
  nxg_print(g, &text);
  nxp_debugging.passed(pass, &text);
  nxi_text_free(&text);
}

nx_status nxp_ask(const nxi_poll *poll, nxi_diag *d) {
  if (poll == NULL || poll->fn == NULL || poll->fn(poll->user) == 0) return NX_OK;
  return nxi_fail(d, NX_INTERRUPTED, "", "%s", nx_status_sentence(NX_INTERRUPTED));
}

/* ---- graph passes */

static nx_status apply_pass(int row, nxg_pass pass, nxp_products products, const nxg_graph *g,
                            nxg_graph **next, nxi_diag *d) {
  bool changed = false;
  if (row == NXP_PASS_types) return nxg_pass_types_for(g, products, next, &changed, d);
  if (row == NXP_PASS_scans) return nxg_pass_scans(g, products, next, &changed, d);
  if (row == NXP_PASS_library) return nxg_pass_library(g, products, next, &changed, d);
  return pass(g, next, &changed, d);
}

/* Runs one pass on *g, which it replaces; `owned` says whether *g may be freed. NULL: one that asks for the products. */
static nx_status run_graph_pass(int row, nxg_pass pass, nxp_products products, const nxg_graph **g,
                                bool *owned, nxi_diag *d) {
  if (is_skipped(row)) return NX_OK;
  nxg_graph *next = NULL;
  nx_status status = apply_pass(row, pass, products, *g, &next, d);
  if (status != NX_OK) return status;
  if (next == *g) { /* checked already */
    nxp_passed(nxp_passes[row].name, next);
    return NX_OK;
  }
  if (*owned) nxg_destroy((nxg_graph *)*g);
  *g = next;
  *owned = true;
  nxp_passed(nxp_passes[row].name, next);
  return nxp_check_graph(next, nxp_passes[row].name, d);
}

static bool may_fail(const nxg_node *n) {
  return n->op == NXG_gather || n->op == NXG_scatter || nxg_ops[n->op].kind == NXG_KIND_CALL;
}

/* Whether something that no output needs could fail; texts have such nodes, recorded graphs have not. */
static nx_status find_dead_failure(const nxg_graph *g, bool *found, nxi_diag *d) {
  uint32_t n = g->n_nodes;
  *found = false;
  while (n > 0 && !may_fail(&g->nodes[n - 1])) n--;
  if (n == 0) return NX_OK;
  uint8_t *live = nxi_calloc((size_t)g->n_nodes, 1);
  if (live == NULL) return nxi_oom(d);
  for (uint32_t i = 0; i < g->n_outputs; i++) live[g->outputs[i].node] = 1;
  for (uint32_t i = g->n_nodes; i-- > 0;) {
    for (uint32_t a = 0; live[i] && a < g->nodes[i].n_args; a++) live[g->nodes[i].args[a]] = 1;
    *found = *found || (!live[i] && may_fail(&g->nodes[i]));
  }
  nxi_free(live);
  return NX_OK;
}

/* What no output needs is not run, whichever passes are left out: the interpreter does not run it, and it might fail. */
static nx_status drop_dead_failures(const nxg_graph **g, bool *owned, nxi_diag *d) {
  bool found = false;
  nxg_graph *next = NULL;
  nx_status status = find_dead_failure(*g, &found, d);
  if (status != NX_OK || !found) return status;
  status = nxg_pass_dce(*g, &next, &found, d);
  if (status != NX_OK) return status;
  *owned = next != *g;
  *g = next;
  return nxp_check_graph(next, nxp_passes[NXP_PASS_dce].name, d);
}

nx_status nxp_run_graph_passes(const nxg_graph *recorded, bool optimise, nxp_products products,
                               const nxi_poll *poll, nxg_graph **out, nxi_diag *d) {
  const struct {
    int row;
    nxg_pass pass;
    bool always;
  } passes[] = {
      {NXP_PASS_types, NULL, true},
      {NXP_PASS_small_types, nxg_pass_small_types, true},
      {NXP_PASS_checks, nxg_pass_checks, true},
      {NXP_PASS_scans, NULL, false},
      {NXP_PASS_views, nxg_pass_views, true},
      {NXP_PASS_runs, nxg_pass_runs, true},
      {NXP_PASS_fold, nxg_pass_fold, false},
      {NXP_PASS_algebra, nxg_pass_algebra, false},
      {NXP_PASS_library, NULL, true},
      {NXP_PASS_views, nxg_pass_views, true},
      {NXP_PASS_cse, nxg_pass_cse, false},
      {NXP_PASS_dce, nxg_pass_dce, false},
  };
  const nxg_graph *g = recorded;
  bool owned = false;
  nx_status status = nxp_check_graph(g, "recording", d);
  if (status == NX_OK) status = drop_dead_failures(&g, &owned, d);
  for (size_t i = 0; i < sizeof passes / sizeof passes[0] && status == NX_OK; i++) {
    if (!optimise && !passes[i].always) continue;
    status = nxp_ask(poll, d);
    if (status == NX_OK)
      status = run_graph_pass(passes[i].row, passes[i].pass, products, &g, &owned, d);
  }
  if (status == NX_OK) {
    *out = (nxg_graph *)g;
    return NX_OK;
  }
  if (owned) nxg_destroy((nxg_graph *)g);
  return status;
}

/* ---- kernel passes */

static nx_status show_kernel(const char *stage, const nxk_kernel *k, nxi_diag *d) {
  if (!nxp_wanted(stage)) return NX_OK;
  nxi_text text = {0};
  nxk_print(k, &text);
  return nxp_show(stage, k->name, &text, d);
}

nx_status nxp_simplify_kernel(const nxp_plan *plan, const nxk_kernel *k, nxk_kernel **out,
                              nxi_diag *d) {
  nx_status status = check_kernel(k, "lower", d);
  if (status != NX_OK) return status;
  *out =
      is_skipped(NXP_PASS_simplify) || !plan->options.fuse ? nxk_clone(k) : nxk_pass_simplify(k, d);
  if (*out == NULL) return d->status != NX_OK ? d->status : nxi_oom(d);
  status = check_kernel(*out, "simplify", d);
  return status == NX_OK ? show_kernel("kernels", *out, d) : status;
}

/* Replaces *k by the result of a pass. */
static nx_status next_kernel(const char *pass, nxk_kernel **k, nxk_kernel *result, nxi_diag *d) {
  nxk_destroy(*k);
  *k = result;
  if (result == NULL) return d->status != NX_OK ? d->status : nxi_oom(d);
  return check_kernel(result, pass, d);
}

/* What processors want of the loops before they are bound. *k: NULL, or the result. */
static nx_status arrange_loops(const nxk_kernel *from, const nxi_target *t, nxk_kernel **k,
                               nxi_diag *d) {
  nx_status status = NX_OK;
  bool masks = nxk_loads_under_masks(from), pairs = nxk_has_pairs(from);
  bool shares = nxk_has_shared_loads(from);
  if (t->block_threads > 0) return NX_OK;
  if (masks && !is_skipped(NXP_PASS_unroll))
    status = next_kernel("unroll", k, nxk_pass_unroll(from, d), d);
  if (status == NX_OK && masks && !is_skipped(NXP_PASS_regions))
    status = next_kernel("regions", k, nxk_pass_regions(*k != NULL ? *k : from, t, d), d);
  if (status == NX_OK && pairs && !is_skipped(NXP_PASS_interleave))
    status = next_kernel("interleave", k, nxk_pass_interleave(*k != NULL ? *k : from, d), d);
  if (status == NX_OK && shares && !is_skipped(NXP_PASS_jam))
    status = next_kernel("jam", k, nxk_pass_jam(*k != NULL ? *k : from, t, d), d);
  return status;
}

nx_status nxp_bind_kernel(const nxk_kernel *k, const nxi_target *t, nxk_kernel **out, nxi_diag *d) {
  nxk_kernel *work = NULL;
  nx_status status = arrange_loops(k, t, &work, d);
  if (status == NX_OK)
    status = next_kernel("expand", &work, nxk_pass_expand(work != NULL ? work : k, d), d);
  if (status == NX_OK) {
    nxk_kernel *bound =
        t->block_threads > 0 ? nxk_pass_bind_gpu(work, t, d) : nxk_pass_bind_cpu(work, t, d);
    status = next_kernel("bind", &work, bound, d);
  }
  if (status == NX_OK && work->threads == 0 && !is_skipped(NXP_PASS_ranges))
    status = next_kernel("ranges", &work, nxk_pass_ranges(work, d), d);
  if (status == NX_OK) status = next_kernel("legalize", &work, nxk_pass_legalize(work, t, d), d);
  if (status == NX_OK && work->threads > 0 && !is_skipped(NXP_PASS_narrow))
    status = next_kernel("narrow", &work, nxk_pass_narrow(work, d), d);
  if (status == NX_OK) {
    *out = work;
    return NX_OK;
  }
  nxk_destroy(work);
  return status;
}

nx_status nxp_split_kernel(const nxp_plan *plan, const nxk_kernel *k, nxp_split *out, nxi_diag *d) {
  int64_t elements = 0;
  nx_dtype types[NXK_MAX_PARTIALS];
  *out = (nxp_split){0};
  if (!plan->options.fuse) return NX_OK;
  if (!nxk_split_reduction(k, &plan->target, &out->first, &out->second, &elements, types,
                           &out->n_partials, d)) {
    out->first = out->second = NULL;
    return d->status;
  }
  for (int i = 0; i < out->n_partials; i++)
    out->partial_bytes[i] = elements * nxi_dtype_size(types[i]);
  nx_status status = check_kernel(out->first, "split", d);
  if (status == NX_OK) status = check_kernel(out->second, "split", d);
  if (status == NX_OK) status = show_kernel("kernels", out->first, d);
  return status == NX_OK ? show_kernel("kernels", out->second, d) : status;
}

/* ---- code */

typedef struct production {
  const nxk_kernel *logical;
  const nxi_target *target;
} production;

static nx_status show_machine_code(const nxk_kernel *bound, const nxi_target *t, nxi_diag *d) {
  static const struct {
    const char *stage;
    nxl_form form;
  } stages[] = {{"llvm", NXL_IR_OPTIMIZED}, {"asm", NXL_ASM}};
  nxl_target target = {0};
  nx_status status = NX_OK;
  memcpy(target.isa, t->isa, sizeof target.isa);
  for (int i = 0; i < 2 && status == NX_OK; i++) {
    void *data = NULL;
    size_t size = 0;
    if (!nxp_wanted(stages[i].stage)) continue;
    status = nxl_compile(bound, &target, stages[i].form, &data, &size, d);
    if (status != NX_OK) return status;
    nxi_text text = {0};
    nxi_text_put(&text, data, (uint32_t)size);
    nxi_free(data);
    status = nxp_show(stages[i].stage, bound->name, &text, d);
  }
  return status;
}

static nx_status show_cuda(const nxk_kernel *bound, const nxi_target *t, nxi_diag *d) {
  nxi_text source = {0}, shown = {0}, text = {0};
  nxu_launch launch;
  void *ptx = NULL;
  size_t size = 0;
  nxi_text_add(&source, "%s", nxu_prelude());
  nx_status status = nxu_print(bound, t->shared_bytes, &source, &launch, d);
  if (status == NX_OK && source.failed) status = nxi_oom(d);
  if (status == NX_OK && nxp_wanted("cuda")) { /* before it may be refused */
    nxi_text_put(&text, source.data, source.size);
    status = nxp_show("cuda", bound->name, &text, d);
  }
  if (status == NX_OK && nxp_wanted("ptx"))
    status = nxu_compile(source.data, bound->name, t->isa, NXU_PTX, &ptx, &size, d);
  nxi_text_free(&source);
  if (status != NX_OK || ptx == NULL) return status;
  nxi_text_put(&shown, ptx, (uint32_t)size);
  nxi_free(ptx);
  return nxp_show("ptx", bound->name, &shown, d);
}

/* Wherever the code of the kernel will come from: what is in a cache was made from the same text by the same passes, so
 * making it once more shows what runs. */
static nx_status show_code(const nxp_plan *plan, const nxk_kernel *k, nxi_diag *d) {
  bool code = plan->options.executor == NXP_LLVM && (nxp_wanted("llvm") || nxp_wanted("asm"));
  bool cuda = plan->options.executor == NXP_CUDA && (nxp_wanted("cuda") || nxp_wanted("ptx"));
  nxk_kernel *bound = NULL;
  if (!code && !cuda && !nxp_wanted("bound")) return NX_OK;
  nx_status status = nxp_bind_kernel(k, &plan->target, &bound, d);
  if (status == NX_OK) status = show_kernel("bound", bound, d);
  if (status == NX_OK && cuda) status = show_cuda(bound, &plan->target, d);
  if (status == NX_OK && code) status = show_machine_code(bound, &plan->target, d);
  nxk_destroy(bound);
  return status;
}

static nx_status produce(void *user, nxk_kernel **bound, nxi_diag *d) {
  const production *p = user;
  return nxp_bind_kernel(p->logical, p->target, bound, d);
}

static void count_outcome(nxp_compile_report *report, nxi_kernel_outcome how) {
  if (report == NULL) return;
  report->kernel_hits += how == NXI_KERNEL_HIT;
  report->kernel_disk_hits += how == NXI_KERNEL_DISK_HIT;
  report->kernel_misses += how == NXI_KERNEL_COMPILED;
}

static nx_status compile(nxp_plan *plan, const nxk_kernel *k, nxp_step *step,
                         nxp_compile_report *report, nxi_diag *d) {
  nxi_text key = {0};
  nxi_kernel_outcome how = NXI_KERNEL_HIT;
  production p = {k, &plan->target};
  nxk_put_key(k, &key);
  /* Everything of the target that binding and legalising look at. */
  nxi_text_add(&key, "\n%s l1=%lld l2=%lld l3=%lld\n", plan->target.isa,
               (long long)plan->target.l1_bytes, (long long)plan->target.l2_bytes,
               (long long)plan->target.l3_bytes);
  if (is_skipped(NXP_PASS_unroll)) nxi_text_add(&key, "no unroll\n");
  if (is_skipped(NXP_PASS_regions)) nxi_text_add(&key, "no regions\n");
  if (is_skipped(NXP_PASS_jam)) nxi_text_add(&key, "no jam\n");
  if (is_skipped(NXP_PASS_ranges)) nxi_text_add(&key, "no ranges\n");
  if (is_skipped(NXP_PASS_interleave)) nxi_text_add(&key, "no interleave\n");
  nx_status status = NX_OK;
  if (key.failed) status = nxi_oom(d);
  else
    status = nxi_kernel_get(plan->options.kernels, plan->target.isa, key.data, key.size, produce,
                            &p, &step->code, &how, d);
  nxi_text_free(&key);
  if (status != NX_OK) return status;
  const nxi_kernel_info *info = nxi_kernel_describe(step->code);
  step->scratch_bytes = plan->options.executor == NXP_LLVM ? info->scratch_bytes : 0;
  step->tasks = info->tasks;
  step->tasks_param = info->tasks_param;
  step->tasks_divisor = info->tasks_divisor;
  count_outcome(report, how);
  if (report != NULL) report->compile_ms += how == NXI_KERNEL_COMPILED ? info->compile_ms : 0;
  return NX_OK;
}

nx_status nxp_make_code(nxp_plan *plan, const nxk_kernel *k, nxp_step *step,
                        nxp_compile_report *report, nxi_diag *d) {
  if (report != NULL) report->kernels++;
  step->tasks_param = -1;
  nx_status status = show_code(plan, k, d);
  if (status != NX_OK) return status;
  if (plan->options.executor == NXP_LLVM || plan->options.executor == NXP_CUDA)
    return compile(plan, k, step, report, d);
  if (plan->options.bound_interp) return nxp_bind_kernel(k, &plan->target, &step->ir, d);
  step->ir = nxk_clone(k);
  return step->ir != NULL ? NX_OK : nxi_oom(d);
}
