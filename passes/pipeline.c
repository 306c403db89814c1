/* SPDX-License-Identifier: ISC */
/* Runs passes in order, and does for all of them what pass bodies do not: skipping, verifying,
 * round trips, showing stages. */
#include "pipeline.h"

#include <string.h>

#include "facts.h"
#include "ir/library/custom.h"
#include "passes/bind/bind.h"
#include "passes/graph/passes.h"

nxp_debug nxp_debugging;

/* ---- around a pass */

const nxp_pass_row nxp_passes[NXP_PASSES] = {
#define NXP_PASS(name, stage, optional, gives) {#name, optional},
#include "pass_list.def"
#undef NXP_PASS
};

_Static_assert(NXP_PASSES <= 64, "nxp_debug.skip has a bit for each pass");
static bool is_skipped(int pass) { return nxp_debugging.skip >> pass & 1; }
bool nxp_is_skipped(int pass) { return is_skipped(pass); }

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
  if (nxg_has_custom(g)) return NX_OK; /* a text alone does not have them */
  nxi_text first = {0}, second = {0};
  nxg_graph *again = NULL;
  nxg_print(g, &first);
  if (!first.failed) status = nxg_parse(first.data, first.size, &again, d);
  if (status == NX_OK && again != NULL) nxg_print(again, &second);
  nxg_destroy(again);
  nx_status same = not_the_same(pass, &first, &second, d);
  return status != NX_OK ? status : same;
}

nx_status nxp_check_kernel(const nxk_kernel *k, const char *pass, nxi_diag *d) {
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

static nx_status check_graph_facts(const nxg_graph *g, const char *pass, uint32_t facts,
                                   nxi_diag *d) {
  nxi_text faults = {0};
  if (!nxp_debugging.verify) return NX_OK;
  nx_status status = nxp_graph_has(g, facts, &faults) ? NX_OK : bad_ir(pass, &faults, d);
  nxi_text_free(&faults);
  return status;
}

typedef nx_status graph_pass(const nxg_graph *g, nxp_products products, nxg_graph **next,
                             nxi_diag *d);

/* Graph passes without, and with, the supported products as a parameter. */
#define PLAIN(name)                                                                        \
  static nx_status run_##name(const nxg_graph *g, nxp_products products, nxg_graph **next, \
                              nxi_diag *d) {                                               \
    bool changed = false;                                                                  \
    (void)products;                                                                        \
    return nxg_pass_##name(g, next, &changed, d);                                          \
  }
#define ASKING(name, function)                                                             \
  static nx_status run_##name(const nxg_graph *g, nxp_products products, nxg_graph **next, \
                              nxi_diag *d) {                                               \
    bool changed = false;                                                                  \
    return function(g, products, next, &changed, d);                                       \
  }
PLAIN(count_loops)
PLAIN(unroll_loops)
PLAIN(chunk_loops)
ASKING(types, nxg_pass_types_for)
PLAIN(hoist)
PLAIN(stored_types)
PLAIN(small_types)
ASKING(vectors, nxg_pass_vectors)
PLAIN(repeated_indices)
PLAIN(affine_gathers)
PLAIN(line_scatters)
PLAIN(checks)
ASKING(scans, nxg_pass_scans)
PLAIN(views)
PLAIN(runs)
PLAIN(constant_fold)
PLAIN(algebra)
ASKING(windows, nxg_pass_windows)
ASKING(attention, nxg_pass_attention)
ASKING(integers, nxg_pass_integers)
ASKING(library, nxg_pass_library)
PLAIN(reshapes)
PLAIN(cse)
PLAIN(dce)
#undef PLAIN
#undef ASKING

static const struct {
  int row;
  graph_pass *run;
  uint32_t gives;
} graph_passes[] = {
#define ROW_graph(name, gives) {NXP_PASS_##name, run_##name, NXP_FACT_##gives},
#define ROW_plan(name, gives)
#define ROW_kernel(name, gives)
#define NXP_PASS(name, stage, optional, gives) ROW_##stage(name, gives)
#define NXP_AGAIN(name, stage, gives)          ROW_##stage(name, gives)
#include "pass_list.def"
#undef NXP_PASS
#undef ROW_graph
#undef ROW_kernel
};

/* Runs one pass on *g, which it replaces; `owned` says whether *g may be freed. facts: what holds
 * afterwards. */
static nx_status run_graph_pass(int row, graph_pass *run, nxp_products products, uint32_t facts,
                                const nxg_graph **g, bool *owned, nxi_diag *d) {
  const char *name = nxp_passes[row].name;
  nxg_graph *next = NULL;
  nx_status status = run(*g, products, &next, d);
  if (status != NX_OK) return status;
  nxp_passed(name, next);
  if (next != *g) {
    if (*owned) nxg_destroy((nxg_graph *)*g);
    *g = next;
    *owned = true;
    status = nxp_check_graph(next, name, d);
  }
  return status == NX_OK ? check_graph_facts(next, name, facts, d) : status;
}

static bool may_fail(const nxg_node *n) {
  return n->op == NXG_gather || n->op == NXG_scatter || nxg_ops[n->op].kind == NXG_KIND_CALL ||
         nxg_is_control(n->op);
}

/* Whether a node that no output needs could fail. Texts can have such nodes; recorded graphs
 * cannot. */
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

/* Nodes that no output needs are removed if they could fail, even if the passes that do so are
 * skipped, because the interpreter does not run them either. */
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
  const nxg_graph *g = recorded;
  uint32_t facts = NXP_FACT_none;
  bool owned = false;
  nx_status status = nxp_check_graph(g, "recording", d);
  if (status == NX_OK) status = drop_dead_failures(&g, &owned, d);
  for (size_t i = 0; i < sizeof graph_passes / sizeof *graph_passes && status == NX_OK; i++) {
    int row = graph_passes[i].row;
    facts |= graph_passes[i].gives;
    if (nxp_passes[row].optional && (!optimise || is_skipped(row))) continue;
    status = nxp_ask(poll, d);
    if (status == NX_OK)
      status = run_graph_pass(row, graph_passes[i].run, products, facts, &g, &owned, d);
  }
  if (status == NX_OK) {
    *out = (nxg_graph *)g;
    return NX_OK;
  }
  if (owned) nxg_destroy((nxg_graph *)g);
  return status;
}

/* ---- kernel passes */

nx_status nxp_show_kernel(const char *stage, const nxk_kernel *k, nxi_diag *d) {
  if (!nxp_wanted(stage)) return NX_OK;
  nxi_text text = {0};
  nxk_print(k, &text);
  return nxp_show(stage, k->name, &text, d);
}

nx_status nxp_simplify_kernel(const nxp_plan *plan, const nxk_kernel *k, nxk_kernel **out,
                              nxi_diag *d) {
  nx_status status = nxp_check_kernel(k, "lower", d);
  if (status != NX_OK) return status;
  *out =
      is_skipped(NXP_PASS_simplify) || !plan->options.fuse ? nxk_clone(k) : nxk_pass_simplify(k, d);
  if (*out == NULL) return d->status != NX_OK ? d->status : nxi_oom(d);
  status = nxp_check_kernel(*out, "simplify", d);
  return status == NX_OK ? nxp_show_kernel("kernels", *out, d) : status;
}

/* Replaces *k by the result of a pass. */
static nx_status next_kernel(const char *pass, nxk_kernel **k, nxk_kernel *result, nxi_diag *d) {
  nxk_destroy(*k);
  *k = result;
  if (result == NULL) return d->status != NX_OK ? d->status : nxi_oom(d);
  return nxp_check_kernel(result, pass, d);
}

static nx_status check_kernel_facts(const nxk_kernel *k, const char *pass, uint32_t facts,
                                    nxi_diag *d) {
  nxi_text faults = {0};
  if (!nxp_debugging.verify) return NX_OK;
  nx_status status = nxp_kernel_has(k, facts, &faults) ? NX_OK : bad_ir(pass, &faults, d);
  nxi_text_free(&faults);
  return status;
}

/* Whether a pass has to run. from: the kernel before the first pass; now: the kernel after the
 * passes so far. */
typedef bool kernel_wants(const nxk_kernel *from, const nxk_kernel *now, const nxi_target *t);
typedef nxk_kernel *kernel_pass(const nxk_kernel *k, const nxi_target *t, nxi_diag *d);

#define KERNEL_PASS(name, wanted, result)                                                        \
  static bool wants_##name(const nxk_kernel *from, const nxk_kernel *now, const nxi_target *t) { \
    (void)from, (void)now, (void)t;                                                              \
    return wanted;                                                                               \
  }                                                                                              \
  static nxk_kernel *run_##name(const nxk_kernel *k, const nxi_target *t, nxi_diag *d) {         \
    (void)t;                                                                                     \
    return result;                                                                               \
  }
#define OF_PROCESSORS (t->block_threads == 0)
#define IS_SUITED     (!t->generic || !nxb_is_tiny(from)) /* see there */
KERNEL_PASS(unroll, OF_PROCESSORS && (nxk_loads_under_masks(from) || nxk_has_windows(from)),
            nxk_pass_unroll(k, d))
KERNEL_PASS(index_split, OF_PROCESSORS &&nxk_loads_under_masks(from), nxk_pass_index_split(k, t, d))
KERNEL_PASS(unroll_pairs, nxk_has_pairs(from) && IS_SUITED, nxk_pass_unroll_pairs(k, t, d))
KERNEL_PASS(jam, OF_PROCESSORS &&nxk_has_shared_loads(from) && IS_SUITED, nxk_pass_jam(k, t, d))
KERNEL_PASS(quotients, !OF_PROCESSORS && nxk_has_quotients(now), nxk_pass_quotients(k, d))
KERNEL_PASS(expand, true, nxk_pass_expand(k, t, d))
KERNEL_PASS(bind, true, OF_PROCESSORS ? nxk_pass_bind_cpu(k, t, d) : nxk_pass_bind_gpu(k, t, d))
KERNEL_PASS(expand_loops, nxk_has_functions(now, t), nxk_pass_expand(k, t, d))
KERNEL_PASS(ranges, now->threads == 0, nxk_pass_ranges(k, t, d))
KERNEL_PASS(extremes, nxk_wants_extremes(now, t), nxk_pass_extremes(k, t, d))
KERNEL_PASS(extreme_chains, nxk_wants_extremes(now, t), nxk_pass_extreme_chains(k, t, d))
KERNEL_PASS(legalize, true, nxk_pass_legalize(k, t, d))
KERNEL_PASS(narrow, now->threads > 0, nxk_pass_narrow(k, d))
#undef KERNEL_PASS
#undef OF_PROCESSORS
#undef IS_SUITED

static const struct {
  int row;
  kernel_wants *wants;
  kernel_pass *run;
  uint32_t gives;
} kernel_passes[] = {
#define ROW_graph(name, gives)
#define ROW_kernel(name, g) {NXP_PASS_##name, wants_##name, run_##name, NXP_FACT_##g},

#define NXP_PASS(name, stage, optional, gives) ROW_##stage(name, gives)
#include "pass_list.def"
#undef NXP_PASS
#undef ROW_graph
#undef ROW_plan
#undef ROW_kernel
};
enum { KERNEL_PASSES = sizeof kernel_passes / sizeof *kernel_passes };

nx_status nxp_bind_kernel(const nxk_kernel *k, const nxi_target *t, nxk_kernel **out, nxi_diag *d) {
  nxk_kernel *work = NULL;
  uint32_t facts = NXP_FACT_none;
  nx_status status = NX_OK;
  if (k->level == NXK_BOUND) return (*out = nxk_clone(k)) != NULL ? NX_OK : nxi_oom(d);
  for (int i = 0; i < KERNEL_PASSES && status == NX_OK; i++) {
    const char *name = nxp_passes[kernel_passes[i].row].name;
    const nxk_kernel *now = work != NULL ? work : k;
    facts |= kernel_passes[i].gives & (t->calls ? ~(uint32_t)NXP_FACT_basic : UINT32_MAX);
    if (is_skipped(kernel_passes[i].row) || !kernel_passes[i].wants(k, now, t)) continue;
    status = next_kernel(name, &work, kernel_passes[i].run(now, t, d), d);
    if (status == NX_OK) status = check_kernel_facts(work, name, facts, d);
  }
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
  nx_status status = nxp_check_kernel(out->first, "split", d);
  if (status == NX_OK) status = nxp_check_kernel(out->second, "split", d);
  if (status == NX_OK) status = nxp_show_kernel("kernels", out->first, d);
  return status == NX_OK ? nxp_show_kernel("kernels", out->second, d) : status;
}

void nxp_put_bind_key(const nxk_kernel *k, const nxi_target *t, nxi_text *out) {
  nxk_put_key(k, out);
  /* All properties of the target that binding and legalising depend on. */
  nxi_text_add(out, "\n%s l1=%lld l2=%lld l3=%lld\n", t->isa, (long long)t->l1_bytes,
               (long long)t->l2_bytes, (long long)t->l3_bytes);
  if (t->calls) nxi_text_add(out, "calls\n");
  if (t->shifted_lines) nxi_text_add(out, "shifted %d\n", (int)t->shifted_lines);
  if (t->hasty) nxi_text_add(out, "hasty\n");
  for (int i = 0; i < KERNEL_PASSES; i++)
    if (is_skipped(kernel_passes[i].row))
      nxi_text_add(out, "no %s\n", nxp_passes[kernel_passes[i].row].name);
}
