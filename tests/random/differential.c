/* SPDX-License-Identifier: ISC */
/* The differential harness behind test_random and the fuzzer. */
#include "differential.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen_llvm/codegen_llvm.h"
#include "tests/util/guarded.h"
#include "tests/util/random_values.h"
#include "runtime/cache/kernel.h"
#include "runtime/debug.h"
#include "runtime/library/libraries.h"

/* Some graphs are planned for a machine with a last-level cache so small that their results pass
 * it. */
enum { MAX_CONFIGS = 16, SMALL_CACHE = 2048 };

struct nxt_lab {
  nxi_pool *pool;
  char directory[64]; /* of the disk cache; empty: nothing is compiled here */
  nxt_config configs[MAX_CONFIGS];
  size_t n_configs;
  nxt_lab_stats stats;
};

/* Without its harness a test says nothing. */
static void must(bool good, const char *what) {
  if (good) return;
  fprintf(stderr, "%s\n", what);
  exit(1);
}

/* In memory, where there is such a place: entries of the cache are synced, and here there are
 * many. */
static void make_directory(char *path, size_t size) {
  static const char *const places[] = {"/dev/shm", "/tmp"};
  for (size_t i = 0; i < 2; i++) {
    snprintf(path, size, "%s/nx-random-XXXXXX", places[i]);
    if (mkdtemp(path) != NULL) return;
  }
  must(false, "no directory for the disk cache");
}

static bool compiles(void) { return nxl_unavailable() == NULL; }

nxt_lab *nxt_lab_create(void) {
  static const nxt_config all[] = {
      {"kernel-interp", NXI_KERNEL_INTERP, true, false, NULL, 1, {0}},
      {"kernel-interp, no fusion", NXI_KERNEL_INTERP, false, false, NULL, 1, {0}},
      {"bound interp avx512", NXI_KERNEL_INTERP, true, true, "avx512", 1, {0}},
      {"bound interp avx2", NXI_KERNEL_INTERP, true, true, "avx2", 1, {0}},
      {"bound interp, 32 threads", NXI_KERNEL_INTERP, true, true, "sm_90:32", 1, {0}},
      {"llvm", NXI_COMPILED, true, false, NULL, 1, {0}},
      {"llvm, no fusion", NXI_COMPILED, false, false, NULL, 8, {0}},
      {"llvm avx2", NXI_COMPILED, true, false, "avx2", 4, {0}},
  };
  nxt_lab *lab = calloc(1, sizeof *lab);
  nxi_pool_options two = {.threads = 2};
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_use_libraries();                          /* the interpreter wants them, and makes no plan */
  must(nxi_debug_init(&d) == NX_OK, d.message); /* NX_DEBUG=verify,roundtrip holds here too */
  must(lab != NULL && nxi_pool_create(&two, &lab->pool, NULL) == NX_OK, "out of memory");
  if (compiles()) make_directory(lab->directory, sizeof lab->directory);
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    nxi_target t;
    bool machine =
        all[i].isa == NULL || all[i].executor != NXI_COMPILED || nxi_target_for_isa(all[i].isa, &t);
    if ((all[i].executor != NXI_COMPILED || compiles()) && machine)
      lab->configs[lab->n_configs++] = all[i];
  }
  return lab;
}

static nxi_kernel_cache *open_cache(const nxt_lab *lab) {
  nxi_kernel_cache *kernels = NULL;
  must(nxi_kernel_cache_create(lab->directory, &kernels, NULL) == NX_OK, "out of memory");
  return kernels;
}

static void clear_disk(const nxt_lab *lab) {
  nxi_disk_cache *disk = NULL;
  must(nxi_kernel_disk_open(lab->directory, &disk, NULL) == NX_OK, "out of memory");
  must(nxi_disk_reason(disk) == NULL, "the disk cache cannot be used");
  nxi_disk_clear(disk);
  nxi_disk_close(disk);
}

void nxt_lab_destroy(nxt_lab *lab) {
  if (lab->directory[0] != 0) {
    clear_disk(lab);
    rmdir(lab->directory);
  }
  nxi_pool_destroy(lab->pool);
  free(lab);
}

nxt_lab_stats nxt_lab_statistics(const nxt_lab *lab) { return lab->stats; }

const nxt_config *nxt_configs(const nxt_lab *lab, size_t *n) {
  *n = lab->n_configs;
  return lab->configs;
}

bool nxt_in_turn(const nxt_config *config, uint64_t seed) {
  nxt_random r = {seed ^ 0x7042}; /* whatever else the generator makes of the seed */
  return config->one_in <= 1 || nxt_below(&r, config->one_in) == 0;
}

/* ---- memory, with guard bytes on both sides */

typedef struct memory {
  void *inputs[NXT_MOST_INPUTS], *outputs[NXT_MOST_INPUTS];
  int64_t shift[NXT_MOST_INPUTS];    /* of inputs, in bytes from a multiple of 64 */
  bool alias_range[NXT_MOST_INPUTS]; /* the input lies in another one's memory */
} memory;

struct nxt_trial {
  nxt_lab *lab;
  const nxg_graph *g;
  uint64_t seed;
  memory want;
  uint64_t params[4096];
  nx_status status;
  nxi_diag diag;
};

static int64_t node_bytes(const nxg_graph *g, uint32_t node) {
  return nxi_dtype_bytes(g->nodes[node].dtype, nxg_node_elements(&g->nodes[node]));
}
static int64_t input_bytes(const nxg_graph *g, uint32_t i) {
  return node_bytes(g, g->inputs[i].node);
}
static int64_t output_bytes(const nxg_graph *g, uint32_t i) {
  return node_bytes(g, g->outputs[i].node);
}

/* An update through an alias range: that input lies in the memory of the one that is updated, where
 * the view still fits. */
static void place_alias_range(const nxg_graph *g, const nxg_node *update, nxt_random *r,
                              memory *m) {
  const nxg_node *old = &g->nodes[update->args[0]], *alias_range = &g->nodes[update->args[2]];
  while (old->op == NXG_update) old = &g->nodes[old->args[0]];
  if (old->op != NXG_input || alias_range->op != NXG_input || m->alias_range[alias_range->attrs[0]])
    return;
  nxg_view v = {.rank = (int32_t)update->attrs[1]};
  memcpy(v.shape, update->attrs + 2, (size_t)v.rank * sizeof *v.shape);
  memcpy(v.strides, update->attrs + 2 + v.rank, (size_t)v.rank * sizeof *v.strides);
  int64_t low = 0, high = 0, whole = nxg_node_elements(old), own = nxg_node_elements(alias_range);
  nxg_view_range(&v, &low, &high);
  if (own - 1 > high) high = own - 1;
  if (high - low >= whole) return;
  int64_t offset = -low + nxt_below(r, whole - (high - low));
  nxt_guarded_free_at(m->inputs[alias_range->attrs[0]], m->shift[alias_range->attrs[0]]);
  m->inputs[alias_range->attrs[0]] =
      (char *)m->inputs[old->attrs[0]] + offset * nxi_dtype_size(old->dtype);
  m->alias_range[alias_range->attrs[0]] = true;
}

/* Where an input begins that need not be aligned: often at an odd element. */
static int64_t shift_of(const nxg_graph *g, uint32_t i, nxt_random *r) {
  int64_t size = nxi_dtype_size(nxi_part_dtype(g->nodes[g->inputs[i].node].dtype));
  if (g->inputs[i].flags & NXG_INPUT_ALIGNED || nxt_chance(r, 60)) return 0;
  return size * nxt_below(r, NXT_GUARD / size);
}

static void make_memory(const nxg_graph *g, uint64_t seed, memory *m) {
  nxt_random r = {seed ^ 0x5eed};
  memset(m, 0, sizeof *m);
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    const nxg_node *n = &g->nodes[g->inputs[i].node];
    m->shift[i] = shift_of(g, i, &r);
    m->inputs[i] = nxt_guarded_at(input_bytes(g, i), m->shift[i]);
    (nxt_chance(&r, 50) ? nxt_random_fill : nxt_random_fill_plain)(&r, n->dtype, m->inputs[i],
                                                                   nxg_node_elements(n));
  }
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == NXG_update && g->nodes[i].n_args == 3)
      place_alias_range(g, &g->nodes[i], &r, m);
  for (uint32_t i = 0; i < g->n_outputs; i++) m->outputs[i] = nxt_guarded(output_bytes(g, i));
}

/* False if something outside a buffer, or an input that is to be kept, was written. */
static bool free_memory(const nxg_graph *g, memory *m, const memory *pristine) {
  bool hold = true;
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    if (m->alias_range[i]) continue;
    hold = hold && nxt_guards_hold(m->inputs[i], input_bytes(g, i));
    if (pristine != NULL && !(g->inputs[i].flags & (NXG_INPUT_OVERWRITE | NXG_INPUT_GIVEN)))
      hold = hold && memcmp(m->inputs[i], pristine->inputs[i], (size_t)input_bytes(g, i)) == 0;
  }
  for (uint32_t i = 0; i < g->n_inputs; i++)
    if (!m->alias_range[i]) nxt_guarded_free_at(m->inputs[i], m->shift[i]);
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    hold = hold && nxt_guards_hold(m->outputs[i], output_bytes(g, i));
    nxt_guarded_free(m->outputs[i]);
  }
  return hold;
}

static void make_params(nxt_trial *t) {
  must(t->g->n_params <= sizeof t->params / sizeof t->params[0], "too many parameters");
  for (uint32_t i = 0; i < t->g->n_nodes; i++) {
    const nxg_node *n = &t->g->nodes[i];
    if (n->op != NXG_full || n->attrs[1] < 0) continue;
    unsigned char element[8];
    nxt_random r = {(t->seed ^ 0x9a7a) + (uint64_t)n->attrs[1] * 0x9e3779b97f4a7c15u};
    nxt_random_fill(&r, n->dtype, element, 1);
    t->params[n->attrs[1]] = nxi_load_element(element, n->dtype);
  }
}

/* ---- runs */

/* How one run of a compiled configuration goes. */
typedef struct turn {
  const char *name;
  int32_t threads;
  bool new_cache; /* kernels in memory are forgotten before it */
} turn;
static const turn turns[] = {{"compiled anew, one thread", 1, true},
                             {"kernels in memory, two threads", 2, false},
                             {"kernels from disk, two threads", 2, true},
                             {"kernels in memory, one thread", 1, false}};
static const turn interpreted = {"", 1, false};

static nx_status launch(nxt_trial *t, const nxi_executable *executable, int32_t threads, memory *m,
                        nxi_diag *d) {
  const nxp_plan *made = nxi_executable_plan(executable);
  const nxp_output *outputs = made->outputs;
  uint32_t n = made->n_outputs;
  for (uint32_t i = 0; i < n; i++) {
    if (outputs[i].in_place_of < 0) continue;
    nxt_guarded_free(m->outputs[i]);
    m->outputs[i] = NULL;
  }
  int64_t bytes = made->temporary_bytes;
  unsigned char *temporary = nxt_guarded(bytes);
  nxi_launch l = {.inputs = m->inputs,
                  .params = t->params,
                  .outputs = m->outputs,
                  .temporary = temporary,
                  .pool = threads > 1 ? t->lab->pool : NULL};
  nx_status status = nxi_executable_launch(executable, &l, d);
  if (status == NX_OK && !nxt_guards_hold(temporary, bytes))
    status = nxi_fail(d, NX_INTERNAL, "", "temporary memory was written out of bounds");
  nxt_guarded_free(temporary);
  for (uint32_t i = 0; i < n; i++) {
    if (outputs[i].in_place_of < 0) continue;
    m->outputs[i] = nxt_guarded(output_bytes(t->g, i));
    memcpy(m->outputs[i], m->inputs[outputs[i].in_place_of], (size_t)output_bytes(t->g, i));
  }
  return status;
}

/* Twice, and the graph is as before. */
static void exchange(const nxg_graph *g, const nxg_op pair[2]) {
  for (uint32_t i = 0; pair[0] != pair[1] && i < g->n_nodes; i++) {
    if (g->nodes[i].op == pair[0]) g->nodes[i].op = (uint16_t)pair[1];
    else if (g->nodes[i].op == pair[1]) g->nodes[i].op = (uint16_t)pair[0];
  }
}

static nx_status run_plan(nxt_trial *t, const nxt_config *config, int32_t threads,
                          nxi_kernel_cache *kernels, memory *m, nxi_compile_report *report,
                          nxi_diag *d) {
  nxi_target target = *nxi_target_host();
  if (config->isa != NULL && !nxi_target_for_isa(config->isa, &target))
    snprintf(target.isa, sizeof target.isa, "%s", config->isa);
  nxt_random r = {t->seed ^ 0x11fe};
  if (nxt_chance(&r, 30)) target.l3_bytes = SMALL_CACHE;
  if (nxt_chance(&r, 50)) target.shifted_lines = 32;
  nxi_executable_options o = {.executor = config->executor,
                              .fuse = config->fuse,
                              .bound_interp = config->bound,
                              .target = &target,
                              .threads = threads,
                              .kernels = kernels};
  nxi_executable *plan = NULL;
  exchange(t->g, config->exchanged);
  nx_status status = nxi_executable_create(t->g, &o, NULL, NULL, &plan, report, d);
  exchange(t->g, config->exchanged);
  t->lab->stats.plans++;
  t->lab->stats.compiled += report->kernel_misses;
  t->lab->stats.from_memory += report->kernel_hits;
  t->lab->stats.from_disk += report->kernel_disk_hits;
  if (status != NX_OK) return status;
  status = launch(t, plan, threads, m, d);
  nxi_executable_destroy(plan);
  return status;
}

/* Whether two outputs of one type have the same bits, all NaNs being one. *at: where they differ,
 * and with what. */
static bool same_elements(const nxg_node *n, const void *a, const void *b, int64_t *at,
                          uint64_t bits[2]) {
  nx_dtype part = nxi_part_dtype(n->dtype);
  for (*at = 0; *at < nxg_node_elements(n) * nxi_parts(n->dtype); ++*at) {
    bits[0] = nxi_load_at(a, part, *at);
    bits[1] = nxi_load_at(b, part, *at);
    if (!nxi_same_bits(bits[0], bits[1], part)) return false;
  }
  return true;
}

static bool same_outputs(nxt_trial *t, const memory *b, char *why, size_t size) {
  for (uint32_t i = 0; i < t->g->n_outputs; i++) {
    const nxg_node *n = &t->g->nodes[t->g->outputs[i].node];
    int64_t e;
    uint64_t bits[2];
    if (same_elements(n, t->want.outputs[i], b->outputs[i], &e, bits)) continue;
    snprintf(why, size, "output %u (%%%u, %s) element %lld: interpreter %llx, here %llx", i,
             t->g->outputs[i].node, nxg_ops[n->op].name, (long long)e, (unsigned long long)bits[0],
             (unsigned long long)bits[1]);
    return false;
  }
  return true;
}

bool nxt_trial_same(const nxt_trial *t, const nxt_trial *other, const uint32_t *order, char *why,
                    size_t size) {
  bool same = t->status == other->status;
  if (!same)
    snprintf(why, size, "%s; in another order %s", nx_status_name(other->status),
             nx_status_name(t->status));
  for (uint32_t i = 0; same && t->status == NX_OK && i < t->g->n_outputs; i++) {
    int64_t e;
    uint64_t bits[2];
    same = same_elements(&t->g->nodes[t->g->outputs[i].node], other->want.outputs[order[i]],
                         t->want.outputs[i], &e, bits);
    if (!same)
      snprintf(why, size, "output %u element %lld: %llx, in another order %llx", order[i],
               (long long)e, (unsigned long long)bits[0], (unsigned long long)bits[1]);
  }
  return same;
}

static void count_nan(nxt_trial *t) {
  for (uint32_t i = 0; i < t->g->n_outputs; i++) {
    const nxg_node *n = &t->g->nodes[t->g->outputs[i].node];
    if (!nxi_is_float(n->dtype)) continue;
    t->lab->stats.elements += (uint64_t)nxg_node_elements(n);
    for (int64_t e = 0; e < nxg_node_elements(n); e++) {
      uint64_t bits = nxi_load_at(t->want.outputs[i], n->dtype, e);
      t->lab->stats.nan += nxi_same_bits(
          bits, nxi_cast_bits(nxi_bits_f64(__builtin_nan("")), NX_F64, n->dtype), n->dtype);
    }
  }
}

nxt_trial *nxt_trial_create(nxt_lab *lab, const nxg_graph *g, uint64_t seed) {
  static const nxt_config oracle = {"interp", NXI_GRAPH_INTERP, false, false, NULL, 1, {0}};
  nxt_trial *t = calloc(1, sizeof *t);
  nxi_compile_report report = {0};
  must(t != NULL && g->n_inputs <= NXT_MOST_INPUTS && g->n_outputs <= NXT_MOST_INPUTS,
       "the graph is too large for this test");
  *t = (nxt_trial){.lab = lab, .g = g, .seed = seed};
  nxi_diag_clear(&t->diag);
  make_params(t);
  make_memory(g, seed, &t->want);
  t->status = run_plan(t, &oracle, 1, NULL, &t->want, &report, &t->diag);
  if (t->status == NX_OK) count_nan(t);
  return t;
}

void nxt_trial_destroy(nxt_trial *t) {
  free_memory(t->g, &t->want, NULL);
  free(t);
}

static bool agrees_once(nxt_trial *t, const nxt_config *config, const turn *turn,
                        nxi_kernel_cache *kernels, nxi_compile_report *report, char *why,
                        size_t size) {
  memory m;
  nxi_diag d;
  nxi_diag_clear(&d);
  make_memory(t->g, t->seed, &m);
  nx_status got = run_plan(t, config, turn->threads, kernels, &m, report, &d);
  bool ok = t->status == got;
  if (!ok)
    snprintf(why, size, "interpreter: %s %s; here: %s %s", nx_status_name(t->status),
             t->diag.message, nx_status_name(got), d.message);
  else if (got == NX_OK) ok = same_outputs(t, &m, why, size);
  if (!free_memory(t->g, &m, &t->want) && ok) {
    snprintf(why, size, "memory outside a buffer was written, or an input that must not be");
    ok = false;
  }
  return ok;
}

/* Whether the kernels came from where they should, in turn number `k`. */
static bool from_the_right_place(const nxi_compile_report *first, const nxi_compile_report *report,
                                 size_t k, char *why, size_t size) {
  bool right = k == 0 ? report->kernel_disk_hits == 0
               : k == 2
                   ? report->kernel_misses == 0 && report->kernel_disk_hits == first->kernel_misses
                   : report->kernel_misses == 0 && report->kernel_disk_hits == 0;
  if (!right)
    snprintf(why, size, "%u kernels compiled, %u from disk, %u from memory; at first %u compiled",
             report->kernel_misses, report->kernel_disk_hits, report->kernel_hits,
             first->kernel_misses);
  return right;
}

static bool agrees_compiled(nxt_trial *t, const nxt_config *config, char *why, size_t size) {
  nxi_kernel_cache *kernels = NULL;
  nxi_compile_report reports[sizeof turns / sizeof turns[0]] = {0};
  bool ok = true;
  clear_disk(t->lab);
  for (size_t k = 0; k < sizeof turns / sizeof turns[0] && ok; k++) {
    char where[500] = "";
    if (turns[k].new_cache) {
      nxi_kernel_cache_destroy(kernels);
      kernels = open_cache(t->lab);
    }
    ok = agrees_once(t, config, &turns[k], kernels, &reports[k], where, sizeof where) &&
         from_the_right_place(&reports[0], &reports[k], k, where, sizeof where);
    if (!ok) snprintf(why, size, "%s: %s", turns[k].name, where);
  }
  nxi_kernel_cache_destroy(kernels);
  return ok;
}

bool nxt_trial_agrees(nxt_trial *t, const nxt_config *config, char *why, size_t size) {
  if (config->executor == NXI_COMPILED) return agrees_compiled(t, config, why, size);
  nxi_compile_report report = {0};
  return agrees_once(t, config, &interpreted, NULL, &report, why, size);
}
