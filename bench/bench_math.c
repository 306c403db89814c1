/* SPDX-License-Identifier: ISC */
/* Elements per second of each function expansion, compiled for this machine, on arrays in the
 * second-level cache and one thread, compared with libmvec (within 4 ulp) and SLEEF (its 1.0 ulp
 * forms) if they are installed. The three are timed in turn; the best time of each counts, since
 * interruptions only add time.
 *
 *     nx-bench-math [--json] [function ...]
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codegen_llvm/codegen_llvm.h"
#include "ir/kernel/kernel.h"
#include "passes/kernel/passes.h"
#include "ir/target.h"

enum { ELEMENTS = 16384, ROUNDS = 200 };

/* A function and the interval its arguments are drawn from. */
typedef struct math_row {
  const char *name;
  nxk_op op;
  double low, high;
} math_row;

static const math_row rows[] = {
    {"exp", NXK_exp, -20, 20},
    {"log", NXK_log, 0.01, 100},
    {"sin", NXK_sin, -10, 10},
    {"cos", NXK_cos, -10, 10},
    {"tan", NXK_tan, -10, 10},
    {"asin", NXK_asin, -1, 1},
    {"acos", NXK_acos, -1, 1},
    {"atan", NXK_atan, -5, 5},
    {"sinh", NXK_sinh, -10, 10},
    {"cosh", NXK_cosh, -10, 10},
    {"tanh", NXK_tanh, -3, 3},
    {"erf", NXK_erf, -3, 3},
    {"log1p", NXK_log1p, -0.9, 5},
    {"expm1", NXK_expm1, -5, 5},
    {"asinh", NXK_asinh, -10, 10},
    {"acosh", NXK_acosh, 1, 20},
    {"atanh", NXK_atanh, -1, 1},
    {"pow", NXK_pow, 0.1, 10},
    {"atan2", NXK_atan2, -5, 5},
    {"exp2", NXK_exp2, -20, 20},
    {"log2", NXK_log2, 0.01, 100},
    {"log10", NXK_log10, 0.01, 100},
    {"cbrt", NXK_cbrt, -100, 100},
    {"rsqrt", NXK_rsqrt, 0.01, 100},
    {"logistic", NXK_logistic, -10, 10},
    {"hypot", NXK_hypot, -5, 5},
    {"logaddexp", NXK_logaddexp, -10, 10},
    {"erfc", NXK_erfc, -3, 6},
    {"erfinv", NXK_erfinv, -1, 1},
    {"lgamma", NXK_lgamma, 0, 20},
    {"digamma", NXK_digamma, 0, 20},
    {"i0e", NXK_i0e, -20, 20},
    {"i1e", NXK_i1e, -20, 20},
    {"j0", NXK_j0, -20, 20},
    {"j1", NXK_j1, -20, 20},
};

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- ours: a bound kernel of one loop over whole vectors */

static nxk_kernel *function_kernel(nxk_op op, nx_dtype t, uint8_t lanes) {
  nxk_kernel *k = nxk_create(NXK_BOUND, "function");
  if (!k) return NULL;
  nxk_access access[3];
  for (uint32_t b = 0; b < 3; b++)
    access[b] = nxk_access_at(nxk_add_buffer(k, b < 2 ? NXK_IN : NXK_OUT, t, ELEMENTS), 0);
  nxk_begin_region(k);
  nxk_begin_range(k, NXK_TASK, 1);
  nxk_term term = {nxk_begin_for(k, NXK_SEQ, nxk_bound_const(0), nxk_bound_const(ELEMENTS), lanes),
                   1};
  for (int b = 0; b < 3; b++) {
    access[b].n_terms = 1;
    access[b].terms = &term;
    access[b].lane_stride = 1;
  }
  nxk_value x = nxk_load(k, &access[0], lanes);
  nxk_value y = nxk_scalars[op].arity == 2 ? nxk_load(k, &access[1], lanes) : NXK_NONE;
  nxk_value args[4] = {x, y, NXK_NONE, NXK_NONE};
  nxk_store(k, &access[2], nxk_expand_function(k, op, args));
  for (int i = 0; i < 3; i++) nxk_end(k);
  return k;
}

static nxl_code *compile(nxk_op op, nx_dtype t) {
  const nxi_target *host = nxi_target_host();
  nxl_target target = {0};
  snprintf(target.isa, sizeof target.isa, "%s", host->isa);
  nxk_kernel *k = function_kernel(op, t, (uint8_t)(host->vector_bytes / nxi_dtype_size(t))),
             *legal = NULL;
  nxi_diag d = {0};
  void *object = NULL;
  size_t size = 0;
  nxl_code *code = NULL;
  if (k && !k->failed) legal = nxk_pass_legalize(k, host, &d);
  if (legal && nxl_compile(legal, &target, NXL_OBJECT, &object, &size, &d) == NX_OK)
    nxl_load(object, size, "function", &code, &d);
  nxi_free(object);
  nxk_destroy(legal);
  nxk_destroy(k);
  return code;
}

/* ---- peers: vector functions of 64 bytes, called on the arrays */

typedef struct arrays {
  void *x, *y, *out;
} arrays;
typedef void (*function)(void);

#if defined(__x86_64__)
typedef float floats __attribute__((vector_size(64)));
typedef double doubles __attribute__((vector_size(64)));

#define WALK(type, lanes)                                                                         \
  __attribute__((target("avx512f"))) static void walk_##type(function f, int arity,               \
                                                             const arrays *a) {                   \
    const type *x = a->x, *y = a->y;                                                              \
    type *out = a->out;                                                                           \
    if (arity == 1)                                                                               \
      for (int i = 0; i < ELEMENTS / (lanes); i++) out[i] = ((type(*)(type))f)(x[i]);             \
    else                                                                                          \
      for (int i = 0; i < ELEMENTS / (lanes); i++) out[i] = ((type(*)(type, type))f)(x[i], y[i]); \
  }
WALK(floats, 16)
WALK(doubles, 8)

static void run_peer(function f, int arity, nx_dtype t, const arrays *a) {
  if (t == NX_F64) walk_doubles(f, arity, a);
  else walk_floats(f, arity, a);
}
static bool has_peers(void) { return __builtin_cpu_supports("avx512f"); }
#else
static void run_peer(function f, int arity, nx_dtype t, const arrays *a) {
  (void)f, (void)arity, (void)t, (void)a;
}
static bool has_peers(void) { return false; }
#endif

/* The entry of a library for a function; NULL if there is none. */
static function peer(void *library, bool sleef, const math_row *row, nx_dtype t) {
  char name[64];
  const bool wide = t == NX_F64;
  if (!library || !has_peers()) return NULL;
  if (sleef) snprintf(name, sizeof name, "Sleef_%s%s_u10avx512f", row->name, wide ? "d8" : "f16");
  else
    snprintf(name, sizeof name, "_ZGVeN%s%s_%s%s", wide ? "8" : "16",
             nxk_scalars[row->op].arity == 2 ? "vv" : "v", row->name, wide ? "" : "f");
  union {
    void *object;
    function code;
  } symbol = {dlsym(library, name)};
  return symbol.code;
}

/* ---- measuring */

static void fill(const math_row *row, nx_dtype t, const arrays *a) {
  uint64_t state = 1;
  for (int i = 0; i < 2 * ELEMENTS; i++) {
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    double x = row->low + (row->high - row->low) * (double)(state >> 11) * 0x1p-53;
    if (row->op == NXK_pow && i >= ELEMENTS) x -= 5;
    void *array = i < ELEMENTS ? a->x : a->y;
    if (t == NX_F64) ((double *)array)[i % ELEMENTS] = x;
    else ((float *)array)[i % ELEMENTS] = (float)x;
  }
}

/* Elements a second, in 10^9: ours, libmvec, SLEEF; 0 where there is none. */
static void measure(const math_row *row, nx_dtype t, nxi_kernel_fn ours, const function *peers,
                    const arrays *a, double *rate) {
  double best[3] = {INFINITY, INFINITY, INFINITY};
  void *buffers[3] = {a->x, a->y, a->out};
  for (int round = 0; round < ROUNDS; round++) {
    for (int j = 0; j < 3; j++) {
      double start = seconds();
      if (j == 0) ours(buffers, NULL, 0, 1, NULL);
      else if (peers[j - 1]) run_peer(peers[j - 1], nxk_scalars[row->op].arity, t, a);
      else continue;
      best[j] = fmin(best[j], seconds() - start);
    }
  }
  for (int j = 0; j < 3; j++) rate[j] = ELEMENTS * 1e-9 / best[j];
}

static void print_row(const math_row *row, nx_dtype t, const double *rate, bool json) {
  if (!json) {
    printf("%-6s %s %8.2f %8.2f %8.2f\n", row->name, nx_dtype_name(t), rate[0], rate[1], rate[2]);
    return;
  }
  const double ms = ELEMENTS * 1e-6;
  printf("{\"name\": \"math %s\", \"dtype\": \"%s\", \"size\": %d, \"threads\": 1, \"ms\": %.6f, "
         "\"gelements\": %.3f, \"peers\": {",
         row->name, nx_dtype_name(t), ELEMENTS, ms / rate[0], rate[0]);
  if (rate[1] > 0) printf("\"libmvec\": %.6f%s", ms / rate[1], rate[2] > 0 ? ", " : "");
  if (rate[2] > 0) printf("\"sleef\": %.6f", ms / rate[2]);
  printf("}}\n");
}

static bool wanted(const char *name, int argc, char **argv) {
  bool any = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], name) == 0) return true;
    any = any || argv[i][0] != '-';
  }
  return !any;
}

int main(int argc, char **argv) {
  bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
  if (nxl_unavailable()) {
    fprintf(stderr, "nx-bench-math: %s\n", nxl_unavailable());
    return 1;
  }
  void *libraries[2] = {dlopen("libmvec.so.1", RTLD_NOW), dlopen("libsleef.so.3", RTLD_NOW)};
  arrays a = {aligned_alloc(64, ELEMENTS * 8), aligned_alloc(64, ELEMENTS * 8),
              aligned_alloc(64, ELEMENTS * 8)};
  if (!a.x || !a.y || !a.out) return 1;
  if (!json)
    printf("10^9 elements a second, one thread, %d elements\n%-10s %8s %8s %8s\n", ELEMENTS, "",
           "nx", "libmvec", "SLEEF");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (nx_dtype t = NX_F32; t <= NX_F64; t++) {
      if (!wanted(rows[i].name, argc, argv)) continue;
      nxl_code *code = compile(rows[i].op, t);
      if (!code) return 1;
      function peers[2] = {peer(libraries[0], false, &rows[i], t),
                           peer(libraries[1], true, &rows[i], t)};
      double rate[3];
      fill(&rows[i], t, &a);
      measure(&rows[i], t, nxl_entry(code), peers, &a, rate);
      print_row(&rows[i], t, rate, json);
      nxl_unload(code);
    }
  }
  free(a.x);
  free(a.y);
  free(a.out);
  return 0;
}
