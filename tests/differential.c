/* SPDX-License-Identifier: ISC */
/* The differential harness behind test_random and the fuzzer. */
#include "differential.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen_llvm/codegen_llvm.h"
#include "random_graph.h"
#include "runtime/cache_kernel.h"

enum { MAX_CONFIGS = 16, GUARD = 64 };

struct nxt_lab {
  nxi_pool *pool;
  nxi_kernel_cache *kernels;
  nxt_config configs[MAX_CONFIGS];
  size_t n_configs;
};

nxt_lab *nxt_lab_create(void) {
  static const nxt_config all[] = {
      {"kernel-interp", NXP_KERNEL_INTERP, true, false, NULL, false},
      {"kernel-interp, no fusion", NXP_KERNEL_INTERP, false, false, NULL, false},
      {"bound interp avx512", NXP_KERNEL_INTERP, true, true, "avx512", false},
      {"bound interp avx2", NXP_KERNEL_INTERP, true, true, "avx2", false},
      {"llvm", NXP_LLVM, true, false, NULL, false},
      {"llvm, 2 threads", NXP_LLVM, true, false, NULL, true},
      {"llvm, no fusion", NXP_LLVM, false, false, NULL, true},
      {"llvm avx2", NXP_LLVM, true, false, "avx2", true},
  };
  nxt_lab *lab = calloc(1, sizeof *lab);
  nxi_pool_options two = {.threads = 2};
  nxi_diag d;
  nxi_diag_clear(&d);
  if (lab == NULL || nxi_pool_create(&two, &lab->pool, &d) != NX_OK) abort();
  if (nxl_unavailable() == NULL && nxi_kernel_cache_create("", &lab->kernels, &d) != NX_OK) abort();
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    nxi_target t;
    bool runs = all[i].executor != NXP_LLVM || nxl_unavailable() == NULL;
    bool machine =
        all[i].isa == NULL || all[i].executor != NXP_LLVM || nxi_target_for_isa(all[i].isa, &t);
    if (runs && machine) lab->configs[lab->n_configs++] = all[i];
  }
  return lab;
}

void nxt_lab_destroy(nxt_lab *lab) {
  if (lab->kernels != NULL) nxi_kernel_cache_destroy(lab->kernels);
  nxi_pool_destroy(lab->pool);
  free(lab);
}

const nxt_config *nxt_configs(const nxt_lab *lab, size_t *n) {
  *n = lab->n_configs;
  return lab->configs;
}

/* Memory with guard bytes on both sides. */
static unsigned char *guarded(int64_t bytes) {
  unsigned char *p = NULL;
  if (posix_memalign((void **)&p, 64, (size_t)(bytes + 2 * GUARD)) != 0) abort();
  memset(p, 0xa5, (size_t)(bytes + 2 * GUARD));
  return p + GUARD;
}

static bool guards_hold(const unsigned char *p, int64_t bytes) {
  for (int i = 0; i < GUARD; i++)
    if (p[-1 - i] != 0xa5 || p[bytes + i] != 0xa5) return false;
  return true;
}

typedef struct memory {
  void *inputs[16], *outputs[16];
  int64_t input_bytes[16], output_bytes[16];
} memory;

static int64_t node_bytes(const nxg_graph *g, uint32_t node) {
  return nxg_node_elements(&g->nodes[node]) * nxi_dtype_size(g->nodes[node].dtype);
}

static void make_memory(const nxg_graph *g, uint64_t seed, memory *m) {
  nxt_random r = {seed ^ 0x5eed};
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    const nxg_node *n = &g->nodes[g->inputs[i].node];
    m->input_bytes[i] = node_bytes(g, g->inputs[i].node);
    m->inputs[i] = guarded(m->input_bytes[i]);
    nxt_random_fill(&r, n->dtype, m->inputs[i], nxg_node_elements(n));
  }
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    m->output_bytes[i] = node_bytes(g, g->outputs[i].node);
    m->outputs[i] = guarded(m->output_bytes[i]);
  }
}

static bool free_memory(const nxg_graph *g, memory *m) {
  bool hold = true;
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    hold = hold && guards_hold(m->inputs[i], m->input_bytes[i]);
    free((char *)m->inputs[i] - GUARD);
  }
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    hold = hold && guards_hold(m->outputs[i], m->output_bytes[i]);
    free((char *)m->outputs[i] - GUARD);
  }
  return hold;
}

static nx_status run_plan(nxt_lab *lab, const nxg_graph *g, const nxt_config *config, memory *m,
                          nxi_diag *d) {
  nxi_target target = *nxi_target_host();
  if (config->isa != NULL && !nxi_target_for_isa(config->isa, &target))
    snprintf(target.isa, sizeof target.isa, "%s", config->isa);
  nxp_options o = {config->executor, config->fuse, config->bound, &target, 2, lab->kernels};
  nxp_plan *plan = NULL;
  nx_status status = nxp_plan_create(g, &o, NULL, NULL, &plan, NULL, d);
  if (status != NX_OK) return status;
  uint32_t n;
  const nxp_output *outputs = nxp_plan_outputs(plan, &n);
  for (uint32_t i = 0; i < n; i++) {
    if (outputs[i].in_place_of < 0) continue;
    free((char *)m->outputs[i] - GUARD);
    m->outputs[i] = NULL;
  }
  int64_t bytes = nxp_plan_temporary_bytes(plan);
  unsigned char *temporary = guarded(bytes);
  nxp_launch l = {m->inputs, NULL, m->outputs, temporary, config->pool ? lab->pool : NULL,
                  NULL,      NULL};
  status = nxp_plan_launch(plan, &l, d);
  if (status == NX_OK && !guards_hold(temporary, bytes))
    status = nxi_fail(d, NX_INTERNAL, "", "temporary memory was written out of bounds");
  free(temporary - GUARD);
  for (uint32_t i = 0; i < n; i++) {
    if (outputs[i].in_place_of < 0) continue;
    m->outputs[i] = guarded(m->output_bytes[i]);
    memcpy(m->outputs[i], m->inputs[outputs[i].in_place_of], (size_t)m->output_bytes[i]);
  }
  nxp_plan_destroy(plan);
  return status;
}

static bool same_outputs(const nxg_graph *g, const memory *a, const memory *b, char *why,
                         size_t size) {
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    const nxg_node *n = &g->nodes[g->outputs[i].node];
    int64_t bytes = nxi_dtype_size(n->dtype);
    for (int64_t e = 0; e < nxg_node_elements(n); e++) {
      uint64_t x = nxi_load_element((char *)a->outputs[i] + e * bytes, n->dtype);
      uint64_t y = nxi_load_element((char *)b->outputs[i] + e * bytes, n->dtype);
      if (nxi_same_bits(x, y, n->dtype)) continue;
      snprintf(why, size, "output %u (%%%u, %s) element %lld: interpreter %llx, here %llx", i,
               g->outputs[i].node, nxg_ops[n->op].name, (long long)e, (unsigned long long)x,
               (unsigned long long)y);
      return false;
    }
  }
  return true;
}

bool nxt_agrees(nxt_lab *lab, const nxg_graph *g, uint64_t seed, const nxt_config *config,
                char *why, size_t size) {
  static const nxt_config oracle = {"interp", NXP_GRAPH_INTERP, false, false, NULL, false};
  memory a, b;
  nxi_diag d, e;
  nxi_diag_clear(&d);
  nxi_diag_clear(&e);
  make_memory(g, seed, &a);
  make_memory(g, seed, &b);
  nx_status expected = run_plan(lab, g, &oracle, &a, &d);
  nx_status got = run_plan(lab, g, config, &b, &e);
  bool ok = expected == got;
  if (!ok)
    snprintf(why, size, "interpreter: %s %s; here: %s %s", nx_status_name(expected), d.message,
             nx_status_name(got), e.message);
  else if (got == NX_OK) ok = same_outputs(g, &a, &b, why, size);
  bool hold_a = free_memory(g, &a), hold_b = free_memory(g, &b);
  if (ok && !(hold_a && hold_b)) {
    snprintf(why, size, "memory outside a buffer was written");
    ok = false;
  }
  return ok;
}
