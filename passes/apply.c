/* SPDX-License-Identifier: ISC */
/* Passes by name: see apply.h. The state between two passes is a graph, or kernels of one level. */
#include "apply.h"

#include <string.h>

#include "passes/fuse/cluster.h"
#include "passes/graph/passes.h"
#include "ir/text/near.h"
#include "passes/kernel/passes.h"
#include "pipeline.h"
#include "read.h"

typedef struct subject {
  const nxp_apply_options *o;
  nxi_diag *d;
  nxp_ir ir;
  nxp_clusters *clusters; /* of the graph; NULL before `cluster` */
  const char *pass;
} subject;

/* ---- checks */

static nx_status report_faults(subject *s, nxi_text *faults, bool good) {
  nx_status status = NX_OK;
  if (!good)
    status = nxi_fail(s->d, NX_INTERNAL, s->pass, "%s left an invalid IR:\n%.400s", s->pass,
                      faults->data ? faults->data : "");
  nxi_text_free(faults);
  return status;
}

static nx_status check_graph(subject *s) {
  nxi_text faults = {0};
  bool good = nxg_verify(s->ir.g, &faults);
  return report_faults(s, &faults, good);
}

static nx_status check_kernel(subject *s, const nxk_kernel *k) {
  nxi_text faults = {0};
  bool good = nxk_verify(k, &faults);
  return report_faults(s, &faults, good);
}

static nx_status wrong_level(subject *s, const char *what) {
  return nxi_fail(s->d, NX_INVALID_ARGUMENT, s->pass, "the pass %s works on %s", s->pass, what);
}

/* ---- graphs */

static nx_status replace_graph(subject *s, nxg_graph *g) {
  nxp_clusters_destroy(s->clusters);
  s->clusters = NULL;
  if (g != s->ir.g) nxg_destroy(s->ir.g);
  s->ir.g = g;
  return check_graph(s);
}

static nxp_products products_of(const subject *s) {
  const bool gpu = s->o->target->block_threads > 0;
  return (s->o->blas ? NXP_PRODUCTS_OF_BLAS : 0) | NXP_OF_SMALL_INTEGERS |
         (gpu ? NXP_OF_WINDOWS | NXP_OF_ATTENTION : 0);
}

static nx_status run_graph_pass(subject *s, nxg_pass pass) {
  nxg_graph *next = NULL;
  bool changed;
  if (s->ir.g == NULL) return wrong_level(s, "graphs");
  nx_status status = pass(s->ir.g, &next, &changed, s->d);
  return status == NX_OK ? replace_graph(s, next) : status;
}

/* Runs a pass that has the supported products as a parameter. */
static nx_status run_told_pass(subject *s, nx_status (*pass)(const nxg_graph *, nxp_products,
                                                             nxg_graph **, bool *, nxi_diag *)) {
  nxg_graph *next = NULL;
  bool changed;
  if (s->ir.g == NULL) return wrong_level(s, "graphs");
  nx_status status = pass(s->ir.g, products_of(s), &next, &changed, s->d);
  return status == NX_OK ? replace_graph(s, next) : status;
}

static nx_status pass_count_loops(subject *s) { return run_graph_pass(s, nxg_pass_count_loops); }
static nx_status pass_chunk_loops(subject *s) { return run_graph_pass(s, nxg_pass_chunk_loops); }
static nx_status pass_unroll_loops(subject *s) { return run_graph_pass(s, nxg_pass_unroll_loops); }
static nx_status pass_types(subject *s) { return run_graph_pass(s, nxg_pass_types); }
static nx_status pass_hoist(subject *s) { return run_graph_pass(s, nxg_pass_hoist); }
static nx_status pass_stored_types(subject *s) { return run_graph_pass(s, nxg_pass_stored_types); }
static nx_status pass_small_types(subject *s) { return run_graph_pass(s, nxg_pass_small_types); }
static nx_status pass_views(subject *s) { return run_graph_pass(s, nxg_pass_views); }
static nx_status pass_runs(subject *s) { return run_graph_pass(s, nxg_pass_runs); }
static nx_status pass_constant_fold(subject *s) {
  return run_graph_pass(s, nxg_pass_constant_fold);
}
static nx_status pass_algebra(subject *s) { return run_graph_pass(s, nxg_pass_algebra); }
static nx_status pass_windows(subject *s) { return run_told_pass(s, nxg_pass_windows); }
static nx_status pass_attention(subject *s) { return run_told_pass(s, nxg_pass_attention); }
static nx_status pass_integers(subject *s) { return run_told_pass(s, nxg_pass_integers); }
static nx_status pass_library(subject *s) { return run_told_pass(s, nxg_pass_library); }
static nx_status pass_reshapes(subject *s) { return run_graph_pass(s, nxg_pass_reshapes); }
static nx_status pass_repeated_indices(subject *s) {
  return run_graph_pass(s, nxg_pass_repeated_indices);
}
static nx_status pass_affine_gathers(subject *s) {
  return run_graph_pass(s, nxg_pass_affine_gathers);
}
static nx_status pass_line_scatters(subject *s) {
  return run_graph_pass(s, nxg_pass_line_scatters);
}
static nx_status pass_checks(subject *s) { return run_graph_pass(s, nxg_pass_checks); }
static nx_status pass_vectors(subject *s) { return run_told_pass(s, nxg_pass_vectors); }
static nx_status pass_scans(subject *s) { return run_told_pass(s, nxg_pass_scans); }
static nx_status pass_cse(subject *s) { return run_graph_pass(s, nxg_pass_cse); }
static nx_status pass_dce(subject *s) { return run_graph_pass(s, nxg_pass_dce); }

static nx_status all_graph_passes(subject *s, bool optimise) {
  nxg_graph *next = NULL;
  nx_status status = nxp_run_graph_passes(s->ir.g, optimise, products_of(s), NULL, &next, s->d);
  return status == NX_OK ? replace_graph(s, next) : status;
}

static nx_status pass_cluster(subject *s) {
  nxp_cluster_options options = {true, products_of(s), s->o->target, false};
  if (s->ir.g == NULL) return wrong_level(s, "graphs");
  nx_status status = all_graph_passes(s, false);
  return status == NX_OK ? nxp_cluster(s->ir.g, &options, &s->clusters, s->d) : status;
}

/* ---- from the graph to kernels */

/* Takes ownership of the kernel. */
static nx_status add_kernel(subject *s, nxk_kernel *k) {
  nx_status status = nxp_ir_add(&s->ir, k, s->d);
  return status == NX_OK ? check_kernel(s, k) : status;
}

static nx_status lower_groups(subject *s, nxp_lowering *lowering) {
  nx_status status = NX_OK;
  for (uint32_t i = 0; i < s->clusters->n_groups && status == NX_OK; i++) {
    uint32_t operand = 0;
    nxp_group_kind kind = s->clusters->groups[i].kind;
    if (kind == NXP_GROUP_MATMUL || kind == NXP_GROUP_CALL || kind == NXP_GROUP_SCATTER) continue;
    do {
      nxk_kernel *k = NULL;
      nxp_kernel_binding binding = {0};
      status = nxp_lower_group(lowering, i, &operand, &k, &binding, s->d);
      if (status == NX_OK) {
        nxp_kernel_binding_free(&binding);
        status = add_kernel(s, k);
      }
    } while (status == NX_OK && operand != 0);
  }
  return status;
}

static nx_status pass_lower(subject *s) {
  nxp_lower_options options = {s->o->target, true, NULL};
  nxp_lowering *lowering = NULL;
  if (s->ir.g == NULL) return wrong_level(s, "graphs");
  nx_status status = s->clusters != NULL ? NX_OK : pass_cluster(s);
  if (status == NX_OK)
    status = nxp_lowering_create(s->ir.g, s->clusters, &options, &lowering, s->d);
  if (status == NX_OK) status = lower_groups(s, lowering);
  nxp_lowering_destroy(lowering);
  nxp_clusters_destroy(s->clusters);
  nxg_destroy(s->ir.g);
  s->clusters = NULL;
  s->ir.g = NULL;
  return status;
}

/* The kernels of the graph's plan, in which loops are kernels. */
static nx_status pass_loop_kernels(subject *s) {
  nxp_options o = {.fuse = true, .target = s->o->target, .products = products_of(s)};
  nxp_plan *p = NULL;
  if (s->ir.g == NULL) return wrong_level(s, "graphs");
  nx_status status = nxp_plan_create(s->ir.g, &o, NULL, &p, s->d);
  for (uint32_t i = 0; status == NX_OK && i < p->n_kernels; i++) {
    nxk_kernel *k = nxk_clone(p->kernels[i].ir);
    status = k != NULL ? add_kernel(s, k) : nxi_oom(s->d);
  }
  nxp_plan_destroy(p);
  nxp_clusters_destroy(s->clusters);
  nxg_destroy(s->ir.g);
  s->clusters = NULL;
  s->ir.g = NULL;
  return status;
}

/* ---- kernels */

typedef nxk_kernel *(*kernel_pass)(const nxk_kernel *k, const subject *s);

static nxk_kernel *simplify(const nxk_kernel *k, const subject *s) {
  return nxk_pass_simplify(k, s->d);
}
static nxk_kernel *unroll(const nxk_kernel *k, const subject *s) {
  return nxk_pass_unroll(k, s->d);
}
static nxk_kernel *index_split(const nxk_kernel *k, const subject *s) {
  return nxk_pass_index_split(k, s->o->target, s->d);
}
static nxk_kernel *unroll_pairs(const nxk_kernel *k, const subject *s) {
  return nxk_pass_unroll_pairs(k, s->o->target, s->d);
}
static nxk_kernel *jam(const nxk_kernel *k, const subject *s) {
  return nxk_pass_jam(k, s->o->target, s->d);
}
static nxk_kernel *quotients(const nxk_kernel *k, const subject *s) {
  return nxk_pass_quotients(k, s->d);
}
static nxk_kernel *expand(const nxk_kernel *k, const subject *s) {
  return nxk_pass_expand(k, s->o->target, s->d);
}
static nxk_kernel *bind(const nxk_kernel *k, const subject *s) {
  const nxi_target *t = s->o->target;
  return t->block_threads > 0 ? nxk_pass_bind_gpu(k, t, s->d) : nxk_pass_bind_cpu(k, t, s->d);
}
static nxk_kernel *ranges(const nxk_kernel *k, const subject *s) {
  return nxk_pass_ranges(k, s->o->target, s->d);
}
static nxk_kernel *extremes(const nxk_kernel *k, const subject *s) {
  return nxk_pass_extremes(k, s->o->target, s->d);
}
static nxk_kernel *extreme_chains(const nxk_kernel *k, const subject *s) {
  return nxk_pass_extreme_chains(k, s->o->target, s->d);
}
static nxk_kernel *legalize(const nxk_kernel *k, const subject *s) {
  return nxk_pass_legalize(k, s->o->target, s->d);
}

static nxk_kernel *narrow(const nxk_kernel *k, const subject *s) {
  return k->threads > 0 ? nxk_pass_narrow(k, s->d) : nxk_clone(k);
}

static nx_status run_kernel_pass(subject *s, kernel_pass pass, nxk_level level) {
  nx_status status = NX_OK;
  if (s->ir.g != NULL) return wrong_level(s, "kernels: lower the graph first");
  for (uint32_t i = 0; i < s->ir.n_kernels && status == NX_OK; i++) {
    if (s->ir.kernels[i]->level != level)
      return wrong_level(s,
                         level == NXK_LOGICAL ? "logical kernels" : "bound kernels: bind it first");
    nxk_kernel *next = pass(s->ir.kernels[i], s);
    if (next == NULL) return s->d->status != NX_OK ? s->d->status : nxi_oom(s->d);
    nxk_destroy(s->ir.kernels[i]);
    s->ir.kernels[i] = next;
    status = check_kernel(s, next);
  }
  return status;
}

static nx_status pass_simplify(subject *s) { return run_kernel_pass(s, simplify, NXK_LOGICAL); }
static nx_status pass_unroll(subject *s) { return run_kernel_pass(s, unroll, NXK_LOGICAL); }
static nx_status pass_index_split(subject *s) {
  return run_kernel_pass(s, index_split, NXK_LOGICAL);
}
static nx_status pass_unroll_pairs(subject *s) {
  return run_kernel_pass(s, unroll_pairs, NXK_LOGICAL);
}
static nx_status pass_jam(subject *s) { return run_kernel_pass(s, jam, NXK_LOGICAL); }
static nx_status pass_quotients(subject *s) { return run_kernel_pass(s, quotients, NXK_LOGICAL); }
static nx_status pass_expand(subject *s) { return run_kernel_pass(s, expand, NXK_LOGICAL); }
static nx_status pass_expand_loops(subject *s) { return run_kernel_pass(s, expand, NXK_BOUND); }
static nx_status pass_ranges(subject *s) { return run_kernel_pass(s, ranges, NXK_BOUND); }
static nx_status pass_extremes(subject *s) { return run_kernel_pass(s, extremes, NXK_BOUND); }
static nx_status pass_extreme_chains(subject *s) {
  return run_kernel_pass(s, extreme_chains, NXK_BOUND);
}
static nx_status pass_legalize(subject *s) {
  bool more = false; /* functions with loops, for which a list of passes may have no place */
  for (uint32_t i = 0; s->ir.g == NULL && i < s->ir.n_kernels; i++)
    more |=
        s->ir.kernels[i]->level == NXK_BOUND && nxk_has_functions(s->ir.kernels[i], s->o->target);
  nx_status status = more ? pass_expand_loops(s) : NX_OK;
  return status == NX_OK ? run_kernel_pass(s, legalize, NXK_BOUND) : status;
}
static nx_status pass_narrow(subject *s) { return run_kernel_pass(s, narrow, NXK_BOUND); }

static nx_status pass_bind(subject *s) {
  nx_status status = pass_expand(s);
  return status == NX_OK ? run_kernel_pass(s, bind, NXK_LOGICAL) : status;
}

static nx_status split_kernel(subject *s, const nxk_kernel *k) {
  nxk_kernel *first = NULL, *second = NULL;
  int64_t elements[NXK_MAX_PARTIALS];
  nx_dtype types[NXK_MAX_PARTIALS];
  int n = 0;
  if (k->level != NXK_LOGICAL) return wrong_level(s, "logical kernels");
  if (!nxk_split_reduction(k, s->o->target, &first, &second, elements, types, &n, s->d)) {
    if (s->d->status != NX_OK) return s->d->status;
    nxk_kernel *whole = nxk_clone(k);
    return whole != NULL ? add_kernel(s, whole) : nxi_oom(s->d);
  }
  nx_status status = add_kernel(s, first);
  if (status == NX_OK) return add_kernel(s, second);
  nxk_destroy(second);
  return status;
}

static nx_status pass_split(subject *s) {
  nxp_ir whole = s->ir;
  nx_status status = NX_OK;
  if (s->ir.g != NULL) return wrong_level(s, "kernels: lower the graph first");
  s->ir = (nxp_ir){0};
  for (uint32_t i = 0; i < whole.n_kernels && status == NX_OK; i++)
    status = split_kernel(s, whole.kernels[i]);
  nxp_ir_free(&whole);
  return status;
}

/* ---- the whole */

static const struct {
  const char *name;
  nx_status (*run)(subject *s);
} passes[] = {
#define NXP_PASS(name, stage, optional, gives) {#name, pass_##name},
#include "pass_list.def"
#undef NXP_PASS
};

static void print_subject(const subject *s, nxi_text *out) {
  if (s->ir.g != NULL) nxg_print(s->ir.g, out);
  if (s->clusters != NULL) nxp_clusters_print(s->ir.g, s->clusters, out);
  for (uint32_t i = 0; i < s->ir.n_kernels; i++) {
    if (i > 0) nxi_text_add(out, "\n");
    nxk_print(s->ir.kernels[i], out);
  }
}

/* Calls the `passed` hook of nxp_debug. */
static void show_passed(const subject *s) {
  nxi_text text = {0};
  if (nxp_debugging.passed == NULL) return;
  print_subject(s, &text);
  nxp_debugging.passed(s->pass, &text);
  nxi_text_free(&text);
}

static nx_status no_pass(subject *s, const char *name, size_t length) {
  const char *known[sizeof passes / sizeof passes[0]];
  char near[NXI_NEAR_TEXT];
  nxi_text all = {0};
  for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
    known[i] = passes[i].name;
    nxi_text_add(&all, "%s%s", i > 0 ? " " : "", known[i]);
  }
  nxi_near_text(name, length, known, sizeof known / sizeof known[0], near);
  nx_status status = all.failed ? nxi_oom(s->d)
                                : nxi_fail(s->d, NX_INVALID_ARGUMENT, "",
                                           "there is no pass \"%.*s\"%s; the passes are: %s",
                                           length < 40 ? (int)length : 40, name, near, all.data);
  nxi_text_free(&all);
  return status;
}

static nx_status run_named(subject *s, const char *name, size_t length) {
  for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
    if (strlen(passes[i].name) != length || memcmp(passes[i].name, name, length) != 0) continue;
    s->pass = passes[i].name;
    nx_status status = passes[i].run(s);
    if (status == NX_OK) show_passed(s);
    return status;
  }
  return no_pass(s, name, length);
}

static nx_status run_list(subject *s, const char *list) {
  nx_status status = NX_OK;
  while (status == NX_OK) {
    list += strspn(list, ", ");
    size_t n = strcspn(list, ", ");
    if (n == 0) return NX_OK;
    status = run_named(s, list, n);
    list += n;
  }
  return status;
}

nx_status nxp_apply(const char *text, size_t size, const char *list, const nxp_apply_options *o,
                    nxi_text *out, nxi_diag *d) {
  nxi_diag own;
  nxi_diag_clear(&own);
  subject s = {.o = o, .d = &own};
  nx_status status = nxp_ir_read(text, size, &s.ir, &own);
  if (status == NX_OK && list != NULL) status = run_list(&s, list);
  else if (status == NX_OK && s.ir.g != NULL) status = all_graph_passes(&s, true);
  if (status == NX_OK) print_subject(&s, out);
  if (status == NX_OK && out->failed) status = nxi_oom(&own);
  nxp_clusters_destroy(s.clusters);
  nxp_ir_free(&s.ir);
  if (status != NX_OK && d != NULL && d->status == NX_OK) *d = own;
  return status;
}
