/* SPDX-License-Identifier: ISC */
/* The harness of the systematic tests: contents of inputs, runs, comparison. */
#include "compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen_llvm/codegen_llvm.h"
#include "tests/util/guarded.h"
#include "tests/util/random_values.h"
#include "tests/util/share.h"
#include "runtime/cache/kernel.h"
#include "runtime/debug.h"
#include "runtime/threads.h"

enum { MOST_REPORTS = 12, MOST_NASTY = 64 };

typedef struct way {
  unsigned bit;
  const char *name;
  nxi_executor_kind executor;
  bool fuse, bound;
  const char *isa; /* NULL: this machine's best */
  bool pool;
} way;

static const way all_ways[] = {
    {NXT_LLVM, "llvm", NXI_COMPILED, true, false, NULL, true},
    {NXT_LLVM_AVX2, "llvm avx2", NXI_COMPILED, true, false, "avx2", true},
    {NXT_LLVM_GENERIC, "llvm generic", NXI_COMPILED, true, false, "generic", true},
    {NXT_LLVM_ALONE, "llvm, one thread", NXI_COMPILED, true, false, NULL, false},
    {NXT_LLVM_UNFUSED, "llvm, no fusion", NXI_COMPILED, false, false, NULL, true},
    {NXT_LOGICAL, "kernel interpreter", NXI_KERNEL_INTERP, true, false, NULL, false},
    {NXT_BOUND, "bound interpreter", NXI_KERNEL_INTERP, true, true, NULL, false},
    {NXT_BOUND_AVX2, "bound interpreter avx2", NXI_KERNEL_INTERP, true, true, "avx2", false},
    {NXT_BOUND_GENERIC, "bound interpreter generic", NXI_KERNEL_INTERP, true, true, "generic",
     false},
    {NXT_BOUND_GPU, "bound interpreter, 32 threads", NXI_KERNEL_INTERP, true, true, "sm_90:32",
     false},
};

struct nxt_shop {
  nxi_pool *pool;
  nxi_kernel_cache *kernels;
  int differences, reports;
  uint64_t outputs, plans;
  int64_t l2_bytes, l3_bytes; /* 0: this machine's */
  int32_t shifted_lines;
};

/* A test without its harness says nothing. */
static void *must(void *p) {
  if (p == NULL) {
    fprintf(stderr, "out of memory\n");
    exit(1);
  }
  return p;
}

nxt_shop *nxt_shop_open(void) {
  nxt_shop *s = must(calloc(1, sizeof *s));
  nxi_pool_options two = {.threads = 2};
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxi_debug_init(&d) != NX_OK || /* NX_DEBUG=verify,roundtrip holds here too */
      nxi_pool_create(&two, &s->pool, &d) != NX_OK ||
      (nxl_unavailable() == NULL && nxi_kernel_cache_create("", &s->kernels, &d) != NX_OK)) {
    fprintf(stderr, "%s\n", d.message);
    exit(1);
  }
  return s;
}

void nxt_shop_close(nxt_shop *s) {
  nxi_kernel_cache_destroy(s->kernels);
  nxi_pool_destroy(s->pool);
  free(s);
}

void nxt_shop_second_level(nxt_shop *s, int64_t bytes) { s->l2_bytes = bytes; }

void nxt_shop_shifted_lines(nxt_shop *s, int32_t lines) { s->shifted_lines = lines; }

void nxt_shop_last_level(nxt_shop *s, int64_t bytes) { s->l3_bytes = bytes; }

int nxt_differences(nxt_shop *s) {
  int n = s->differences;
  s->differences = 0;
  return n;
}

void nxt_summary(const nxt_shop *s, const char *what) {
  printf("%s: %llu outputs compared, %llu plans\n", what, (unsigned long long)s->outputs,
         (unsigned long long)s->plans);
}

/* ---- contents */

/* Integers as they are, floats by value: bits of dtype t. */
static int make_pool(nx_dtype t, uint64_t *pool) {
  static const double floats[] = {0.0,
                                  -0.0,
                                  1,
                                  -1,
                                  0.5,
                                  -1.5,
                                  2,
                                  2.5,
                                  -3,
                                  10,
                                  100.25,
                                  -7.75,
                                  1e-3,
                                  0x1p-14,
                                  -0x1p-24,
                                  0x1p-126,
                                  0x1p-149,
                                  -0x1p-1022,
                                  0x1p-1074,
                                  65504,
                                  65520,
                                  0x1p31,
                                  -0x1p63,
                                  0x1p64,
                                  0x1.fffffep127,
                                  -0x1.fffffffffffffp1023,
                                  88.8,
                                  -104,
                                  710,
                                  16777217,
                                  0x1.921fb6p1,
                                  1e22};
  static const int64_t integers[] = {0,  1,  -1, 2,  -2, 3,  5,   7,    8,  10, 13,  15,  16,
                                     17, 31, 32, 33, 63, 64, 100, -100, -3, -7, 127, 128, 255};
  int n = 0;
  if (t == NX_BOOL) {
    pool[n++] = 0;
    pool[n++] = 1;
    return n;
  }
  if (nxi_is_float(t)) {
    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++)
      pool[n++] = nxi_cast_bits(nxi_bits_f64(floats[i]), NX_F64, t);
    pool[n++] = nxi_cast_bits(nxi_bits_f64(__builtin_inf()), NX_F64, t);
    pool[n++] = nxi_cast_bits(nxi_bits_f64(-__builtin_inf()), NX_F64, t);
    pool[n++] = nxi_cast_bits(nxi_bits_f64(__builtin_nan("")), NX_F64, t);
    return n;
  }
  for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++)
    pool[n++] = nxi_cast_bits((uint64_t)integers[i], NX_I64, t);
  uint64_t lowest = nxk_reduce_identity(NXK_MAX, t), highest = nxk_reduce_identity(NXK_MIN, t);
  pool[n++] = lowest;
  pool[n++] = highest;
  pool[n++] = nxi_cast_bits(lowest + 1, NX_U64, t);
  pool[n++] = nxi_cast_bits(highest - 1, NX_U64, t);
  return n;
}

int64_t nxt_nasty_count(nx_dtype t) {
  uint64_t pool[MOST_NASTY];
  return make_pool(nxi_part_dtype(t), pool);
}

/* Magnitudes around 1 with all bits of the mantissa, and odd integers: no sum is exact, so its
 * order shows, and no product runs into 0 soon. */
static uint64_t tame(nxt_random *r, nx_dtype t) {
  double unit = (double)(nxt_next(r) >> 11) * 0x1p-53,
         x = (0.7 + unit) * (nxt_chance(r, 50) ? 1 : -1);
  if (nxi_is_float(t)) return nxi_cast_bits(nxi_bits_f64(x), NX_F64, t);
  return t == NX_BOOL ? nxt_next(r) & 1
                      : nxi_cast_bits((uint64_t)(2 * nxt_below(r, 8) - 7), NX_I64, t);
}

/* Complex elements are filled part by part. */
static void fill(const char *name, uint64_t seed, nx_dtype t, void *data, int64_t n) {
  n *= nxi_parts(t);
  t = nxi_part_dtype(t);
  nxt_random r = {seed};
  uint64_t pool[MOST_NASTY];
  int64_t values = make_pool(t, pool);
  bool pairs = name != NULL && strncmp(name, "pair", 4) == 0,
       is_tame = name != NULL && strncmp(name, "tame", 4) == 0;
  for (int64_t i = 0; i < n; i++) {
    uint64_t bits;
    if (pairs && i < values * values) {
      bits = pool[name[4] == '1' ? i / values : i % values];
    } else if (is_tame) {
      bits = tame(&r, t);
    } else if (nxt_chance(&r, 60)) {
      bits = pool[nxt_below(&r, values)];
    } else {
      char element[8] = {0};
      nxt_random_fill(&r, t, element, 1);
      bits = nxi_load_element(element, t);
    }
    nxi_store_at(data, t, i, bits);
  }
}

/* ---- one run */

static int64_t node_bytes(const nxg_graph *g, uint32_t node) {
  return nxi_dtype_bytes(g->nodes[node].dtype, nxg_node_elements(&g->nodes[node]));
}

typedef struct memory {
  void **inputs, **outputs;
} memory;

static void *copy_input(const nxg_graph *g, uint32_t i, const memory *pristine) {
  const nxg_node *n = &g->nodes[g->inputs[i].node];
  int64_t bytes = node_bytes(g, g->inputs[i].node);
  void *p = nxt_guarded(bytes);
  if (pristine != NULL) memcpy(p, pristine->inputs[i], (size_t)bytes);
  else fill(n->name, 0x9e37 + 77 * i, n->dtype, p, nxg_node_elements(n));
  return p;
}

static void make_memory(const nxg_graph *g, const memory *pristine, memory *m) {
  m->inputs = must(calloc(g->n_inputs + 1, sizeof *m->inputs));
  m->outputs = must(calloc(g->n_outputs + 1, sizeof *m->outputs));
  for (uint32_t i = 0; i < g->n_inputs; i++) m->inputs[i] = copy_input(g, i, pristine);
  for (uint32_t i = 0; i < g->n_outputs; i++)
    m->outputs[i] = nxt_guarded(node_bytes(g, g->outputs[i].node));
}

static void free_memory(const nxg_graph *g, memory *m) {
  for (uint32_t i = 0; i < g->n_inputs; i++) nxt_guarded_free(m->inputs[i]);
  for (uint32_t i = 0; i < g->n_outputs; i++) nxt_guarded_free(m->outputs[i]);
  free(m->inputs);
  free(m->outputs);
}

static const char *violation(const nxg_graph *g, const memory *m, const memory *pristine) {
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    int64_t bytes = node_bytes(g, g->inputs[i].node);
    if (!nxt_guards_hold(m->inputs[i], bytes)) return "memory outside an input was written";
    if (pristine != NULL && !(g->inputs[i].flags & (NXG_INPUT_OVERWRITE | NXG_INPUT_GIVEN)) &&
        memcmp(m->inputs[i], pristine->inputs[i], (size_t)bytes) != 0)
      return "an input was written that must not be";
  }
  for (uint32_t i = 0; i < g->n_outputs; i++)
    if (!nxt_guards_hold(m->outputs[i], node_bytes(g, g->outputs[i].node)))
      return "memory outside an output was written";
  return NULL;
}

static nx_status launch(nxt_shop *s, const nxg_graph *g, const nxi_executable *executable,
                        bool pool, memory *m, nxi_diag *d) {
  const nxp_plan *made = nxi_executable_plan(executable);
  const nxp_output *outputs = made->outputs;
  uint32_t n = made->n_outputs;
  void **destination = must(calloc(n + 1, sizeof *destination));
  for (uint32_t i = 0; i < n; i++)
    destination[i] = outputs[i].in_place_of < 0 ? m->outputs[i] : NULL;
  int64_t bytes = made->temporary_bytes;
  unsigned char *temporary = nxt_guarded(bytes);
  nxi_launch l = {.inputs = m->inputs,
                  .outputs = destination,
                  .temporary = temporary,
                  .pool = pool ? s->pool : NULL};
  nx_status status = nxi_executable_launch(executable, &l, d);
  if (status == NX_OK && !nxt_guards_hold(temporary, bytes))
    status = nxi_fail(d, NX_INTERNAL, "", "memory outside the temporaries was written");
  for (uint32_t i = 0; i < n; i++)
    if (outputs[i].in_place_of >= 0)
      memcpy(m->outputs[i], m->inputs[outputs[i].in_place_of],
             (size_t)node_bytes(g, g->outputs[i].node));
  nxt_guarded_free(temporary);
  free(destination);
  return status;
}

static nx_status run(nxt_shop *s, const nxg_graph *g, const way *w, memory *m, nxi_diag *d) {
  nxi_target target = *nxi_target_host();
  if (w->isa != NULL && !nxi_target_for_isa(w->isa, &target))
    snprintf(target.isa, sizeof target.isa, "%s", w->isa);
  if (s->l2_bytes > 0) target.l2_bytes = s->l2_bytes;
  if (s->l3_bytes > 0) target.l3_bytes = s->l3_bytes;
  if (s->shifted_lines > 0) target.shifted_lines = s->shifted_lines;
  nxi_executable_options o = {.executor = w->executor,
                              .fuse = w->fuse,
                              .bound_interp = w->bound,
                              .target = &target,
                              .threads = 2,
                              .kernels = w->executor == NXI_COMPILED ? s->kernels : NULL};
  nxi_executable *plan = NULL;
  nx_status status = nxi_executable_create(g, &o, NULL, NULL, &plan, NULL, d);
  s->plans++;
  if (status != NX_OK) return status;
  status = launch(s, g, plan, w->pool, m, d);
  nxi_executable_destroy(plan);
  return status;
}

/* ---- comparison */

/* What one output needs, and nothing else. */
static void print_alone(const nxg_graph *g, uint32_t output) {
  nxg_graph *out = must(nxg_create("failing"));
  uint8_t *live = must(calloc(g->n_nodes + 1, 1));
  uint32_t *map = must(calloc(g->n_nodes + 1, sizeof *map)),
           *args = must(calloc(g->n_nodes + 1, sizeof *args));
  live[output] = 1;
  for (uint32_t i = g->n_nodes; i-- > 0;)
    for (uint32_t a = 0; live[i] && a < g->nodes[i].n_args; a++) live[g->nodes[i].args[a]] = 1;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    if (!live[i]) continue;
    for (uint32_t a = 0; a < n->n_args; a++) args[a] = map[n->args[a]];
    if (n->op == NXG_input)
      map[i] = nxg_add_input(out, n->dtype, n->rank, n->shape, g->inputs[n->attrs[0]].flags, -1,
                             n->name);
    else
      map[i] = nxg_add(out, (nxg_op)n->op, n->n_args, args, n->attrs, n->n_attrs, n->dtype, n->rank,
                       n->shape);
  }
  nxg_add_output(out, map[output], NULL);
  nxi_text text = {0};
  nxg_print(out, &text);
  if (text.data != NULL && strlen(text.data) < 4000) fprintf(stderr, "%s", text.data);
  nxi_text_free(&text);
  nxg_destroy(out);
  free(args);
  free(live);
  free(map);
}

static bool report(nxt_shop *s, const char *label, const way *w) {
  s->differences++;
  if (++s->reports > MOST_REPORTS) return false;
  fprintf(stderr, "%s, %s: ", label, w->name);
  return true;
}

static void compare_output(nxt_shop *s, const nxg_graph *g, uint32_t i, const memory *want,
                           const memory *got, const char *label, const way *w) {
  const nxg_node *n = &g->nodes[g->outputs[i].node];
  nx_dtype t = nxi_part_dtype(n->dtype);
  s->outputs++;
  if (memcmp(want->outputs[i], got->outputs[i], (size_t)node_bytes(g, g->outputs[i].node)) == 0)
    return;
  for (int64_t e = 0; e < nxg_node_elements(n) * nxi_parts(n->dtype); e++) {
    uint64_t x = nxi_load_at(want->outputs[i], t, e), y = nxi_load_at(got->outputs[i], t, e);
    if (nxi_same_bits(x, y, t)) continue;
    if (!report(s, label, w)) return;
    fprintf(stderr, "output %u (%s) element %lld: graph interpreter %#llx, here %#llx\n", i,
            nxg_ops[n->op].name, (long long)e, (unsigned long long)x, (unsigned long long)y);
    print_alone(g, g->outputs[i].node);
    return;
  }
}

static void compare_way(nxt_shop *s, const nxg_graph *g, const way *w, nx_status expected,
                        const memory *want, const char *label) {
  memory got;
  nxi_diag d;
  nxi_diag_clear(&d);
  make_memory(g, want, &got);
  nx_status status = run(s, g, w, &got, &d);
  const char *wrong = violation(g, &got, want);
  if (status != expected) {
    if (report(s, label, w))
      fprintf(stderr, "%s %s, the graph interpreter gives %s\n", nx_status_name(status), d.message,
              nx_status_name(expected));
  } else if (wrong != NULL) {
    if (report(s, label, w)) fprintf(stderr, "%s\n", wrong);
  } else if (status == NX_OK) {
    for (uint32_t i = 0; i < g->n_outputs; i++) compare_output(s, g, i, want, &got, label, w);
  }
  free_memory(g, &got);
}

void nxt_compare(nxt_shop *s, nxg_graph *g, const char *label, unsigned ways) {
  static const way oracle = {0, "graph interpreter", NXI_GRAPH_INTERP, false, false, NULL, false};
  static int64_t turn;
  if (turn % nxt_share() != 0) ways &= NXT_INTERPRETED;
  if (turn % nxt_kernel_share() != 0) ways &= ~(unsigned)NXT_INTERPRETED;
  turn++;
  if (g == NULL || g->failed || g->n_outputs == 0) {
    fprintf(stderr, "%s: the graph could not be built\n", label);
    s->differences++;
    nxg_destroy(g);
    return;
  }
  if (ways == 0) { /* this build compares it with nothing */
    nxg_destroy(g);
    return;
  }
  memory want;
  nxi_diag d;
  nxi_diag_clear(&d);
  make_memory(g, NULL, &want);
  nx_status expected = run(s, g, &oracle, &want, &d);
  const char *wrong = violation(g, &want, NULL);
  if ((expected != NX_OK || wrong != NULL) && report(s, label, &oracle))
    fprintf(stderr, "%s %s\n", nx_status_name(expected), wrong != NULL ? wrong : d.message);
  for (size_t i = 0; i < sizeof all_ways / sizeof all_ways[0] && expected == NX_OK; i++) {
    nxi_target t;
    const way *w = &all_ways[i];
    bool here = w->executor != NXI_COMPILED ||
                (s->kernels != NULL && (w->isa == NULL || nxi_target_for_isa(w->isa, &t)));
    if (here && ways & w->bit) compare_way(s, g, w, expected, &want, label);
  }
  free_memory(g, &want);
  nxg_destroy(g);
}

/* ---- building */

uint32_t nxt_node(nxg_graph *g, nxg_op op, uint32_t n_args, const uint32_t *args, uint32_t n_attrs,
                  const int64_t *attrs, nx_dtype given) {
  nxg_type types[16];
  nxi_diag d;
  nx_dtype t;
  int32_t rank = 0;
  int64_t shape[NXG_MAX_RANK];
  nxi_diag_clear(&d);
  for (uint32_t i = 0; i < n_args; i++) {
    if (args[i] >= g->n_nodes) return UINT32_MAX;
    const nxg_node *n = &g->nodes[args[i]];
    types[i] = (nxg_type){n->dtype, n->rank, n->shape};
  }
  if (nxg_infer(op, n_args, types, attrs, n_attrs, given, &t, &rank, shape, &d) != NX_OK)
    return UINT32_MAX;
  return nxg_add(g, op, n_args, args, attrs, n_attrs, t, rank, shape);
}

uint32_t nxt_input(nxg_graph *g, const char *name, nx_dtype t, int32_t rank, const int64_t *shape) {
  return nxg_add_input(g, t, rank, shape, 0, -1, name);
}

uint32_t nxt_view(nxg_graph *g, uint32_t node, const nxg_view *v) {
  int64_t attrs[1 + NXG_MAX_RANK] = {v->offset};
  memcpy(attrs + 1, v->strides, (size_t)v->rank * sizeof attrs[0]);
  return nxg_add(g, NXG_view, 1, &node, attrs, 1 + (uint32_t)v->rank, g->nodes[node].dtype, v->rank,
                 v->shape);
}

nxg_graph *nxt_parse(const char *text, nx_dtype t, const int64_t *numbers) {
  char out[8192];
  size_t n = 0;
  nxg_graph *g = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  for (const char *p = text; *p != 0 && n < sizeof out - 32; p++) {
    if (*p == '$' && p[1] == 'T')
      n += (size_t)snprintf(out + n, sizeof out - n, "%s", nxi_dtypes[t].name);
    else if (*p == '$')
      n += (size_t)snprintf(out + n, sizeof out - n, "%lld", (long long)numbers[p[1] - '1']);
    else out[n++] = *p;
    p += *p == '$';
  }
  if (nxg_parse(out, n, &g, &d) == NX_OK) return g;
  fprintf(stderr, "%s\n%.*s\n", d.message, (int)n, out);
  return NULL;
}

nxt_plan_size nxt_plan(nxg_graph *g) {
  nxi_executable_options o = {
      .executor = NXI_KERNEL_INTERP, .fuse = true, .target = nxi_target_host(), .threads = 2};
  nxi_compile_report report = {0};
  nxi_executable *plan = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (g == NULL || nxi_executable_create(g, &o, NULL, NULL, &plan, &report, &d) != NX_OK) {
    fprintf(stderr, "%s\n", d.message);
    nxg_destroy(g);
    return (nxt_plan_size){-1, -1};
  }
  nxi_executable_destroy(plan);
  nxg_destroy(g);
  return (nxt_plan_size){(int)report.kernels, (int)report.library_calls};
}
