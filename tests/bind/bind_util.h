/* SPDX-License-Identifier: ISC */
/* Shared parts of the tests of the binders: random memory, running a logical kernel and its bound
 * forms on equal memory, and short functions that write instructions of kernels. */
#ifndef NXT_BIND_UTIL_H
#define NXT_BIND_UTIL_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "passes/kernel/generalize.h"
#include "passes/kernel/passes.h"
#ifdef NXT_COMPILED /* bound forms are compiled, every n-th kernel, instead of interpreted */
#include "tests/util/llvm_util.h"
#endif
#include "tests/util/share.h"

#define PROCESSOR(name, vector, l1, l2, l3) \
  {.isa = name,                             \
   .cpu = "test",                           \
   .vector_bytes = vector,                  \
   .threads = 2,                            \
   .l1_bytes = l1,                          \
   .l2_bytes = l2,                          \
   .l3_bytes = l3}
#define GPU(name, block, shared) \
  {.isa = name,                  \
   .cpu = "test",                \
   .vector_bytes = 4 * (block),  \
   .threads = 2,                 \
   .l1_bytes = 32 << 10,         \
   .l2_bytes = 1 << 18,          \
   .l3_bytes = 8 << 20,          \
   .block_threads = block,       \
   .shared_bytes = shared}
__attribute__((unused)) static const nxi_target targets[] = {
    PROCESSOR("avx512", 64, 48 << 10, 1 << 20, 32 << 20),
    PROCESSOR("avx2", 32, 32 << 10, 1 << 18, 8 << 20),
    PROCESSOR("generic", 16, 32 << 10, 1 << 18, 8 << 20),
    PROCESSOR("avx2", 32, 2 << 10, 1 << 13, 1 << 14), /* all comes from memory */
    GPU("sm_90", 32, 227 << 10),
    GPU("sm_80", 128, 163 << 10),
};
enum { TARGETS = 6, MAX_BUFFERS = 8, MAX_PARAMS = 4 };

__attribute__((unused)) static uint64_t seed = 88172645463325252u;
__attribute__((unused)) static uint64_t any_bits(void) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return seed * UINT64_C(2685821657736338717);
}
__attribute__((unused)) static int64_t below(int64_t n) {
  return (int64_t)((any_bits() >> 33) % (uint64_t)n);
}

/* ---- running both forms */

typedef struct memory {
  void *at[MAX_BUFFERS];
  size_t bytes[MAX_BUFFERS];
  uint32_t n;
} memory;

static void *new_memory(size_t bytes) {
  void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
  assert_non_null(p);
  return p;
}

/* Numbers of all magnitudes and signs, so that sums depend on the order of additions; many of them
 * are equal. Every `nasty`-th number is an infinity or a NaN; 0: none. */
static uint64_t random_element(nx_dtype t, int64_t nasty) {
  if (nxi_is_float(t)) {
    static const double values[] = {0, -0.0, 1, -1, 0.5, 3, -7.25, 1e-3};
    double x = values[below(8)];
    if (below(3) > 0) x = (double)(below(2000001) - 1000000) * ldexp(1, -(int)below(24));
    if (nasty && below(nasty) == 0)
      x = below(3) ? (double)NAN : below(2) ? (double)INFINITY : (double)-INFINITY;
    return nxi_cast_bits(nxi_bits_f64(x), NX_F64, t);
  }
  if (t == NX_BOOL) return (uint64_t)below(2);
  return nxi_cast_bits((uint64_t)(below(2) ? below(9) - 4 : (int64_t)any_bits()), NX_I64, t);
}

__attribute__((unused)) static void make_memory(const nxk_kernel *k, memory *m, int64_t nasty) {
  m->n = 0;
  for (uint32_t i = 0; i < k->n_buffers; i++) {
    const nxk_buffer *b = &k->buffers[i];
    if (b->kind == NXK_LOCAL) continue;
    size_t size = (size_t)nxi_dtype_size(b->dtype);
    m->bytes[i] = (size_t)b->elements * size;
    m->at[i] = new_memory(m->bytes[i]);
    for (int64_t e = 0; e < b->elements; e++)
      nxi_store_element((char *)m->at[i] + (size_t)e * size, b->dtype,
                        random_element(b->dtype, nasty));
    m->n++;
  }
}

__attribute__((unused)) static void copy_memory(const memory *from, memory *to) {
  *to = *from;
  for (uint32_t i = 0; i < from->n; i++) {
    to->at[i] = new_memory(from->bytes[i]);
    memcpy(to->at[i], from->at[i], from->bytes[i]);
  }
}

__attribute__((unused)) static void free_memory(memory *m) {
  for (uint32_t i = 0; i < m->n; i++) free(m->at[i]);
}

__attribute__((unused)) static void fail_with(const nxk_kernel *a, const nxk_kernel *b,
                                              const char *what) {
  nxi_text text = {0};
  nxk_print(a, &text);
  if (b) nxk_print(b, &text);
  fail_msg("%s\n%s", what, text.data ? text.data : "");
}

__attribute__((unused)) static void compare_memory(const nxk_kernel *k, const nxk_kernel *bound,
                                                   const memory *a, const memory *b,
                                                   const char *isa) {
  for (uint32_t i = 0; i < a->n; i++) {
    nx_dtype t = k->buffers[i].dtype;
    size_t size = (size_t)nxi_dtype_size(t);
    for (int64_t e = 0; e < k->buffers[i].elements; e++) {
      uint64_t x = nxi_load_element((char *)a->at[i] + (size_t)e * size, t);
      uint64_t y = nxi_load_element((char *)b->at[i] + (size_t)e * size, t);
      if (nxi_same_bits(x, y, t)) continue;
      char what[160];
      snprintf(what, sizeof what, "%s: element %lld of b%u is %llx, not %llx", isa, (long long)e, i,
               (unsigned long long)y, (unsigned long long)x);
      fail_with(k, bound, what);
    }
  }
}

__attribute__((unused)) static void must_run(const nxk_kernel *k, const nxk_kernel *logical,
                                             memory *m, const uint64_t *params, int64_t begin,
                                             int64_t end) {
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxk_interpret(k, m->at, params, begin, end, &d) != NX_OK) fail_with(logical, k, d.message);
}

#ifdef NXT_COMPILED
typedef nxl_code *runnable;
static runnable make_runnable(const nxk_kernel *bound, const nxi_target *t, nxk_kernel **legal) {
  static int64_t n;
  *legal = legalized(bound, t->isa);
  return compile_kernel(*legal, t->isa, n++ % 3 == 0);
}
static void free_runnable(runnable code, nxk_kernel *legal) {
  nxl_unload(code);
  nxk_destroy(legal);
}
static void run_bound(const nxk_kernel *bound, runnable code, const nxk_kernel *legal,
                      const nxk_kernel *logical, memory *m, const uint64_t *params, int64_t begin,
                      int64_t end) {
  (void)bound;
  (void)logical;
  run_code(code, legal, m->at, params, begin, end);
}
static bool runs_on(const nxi_target *t) { return runs_here(t->isa); }
static bool is_chosen(void) {
  static int64_t n;
  return n++ % NXT_COMPILED == 0;
}
#else
typedef int runnable;
static runnable make_runnable(const nxk_kernel *bound, const nxi_target *t, nxk_kernel **legal) {
  (void)bound;
  (void)t;
  *legal = NULL;
  return 0;
}
static void free_runnable(runnable code, nxk_kernel *legal) {
  (void)code;
  (void)legal;
}
static void run_bound(const nxk_kernel *bound, runnable code, const nxk_kernel *legal,
                      const nxk_kernel *logical, memory *m, const uint64_t *params, int64_t begin,
                      int64_t end) {
  (void)code;
  (void)legal;
  must_run(bound, logical, m, params, begin, end);
}
static bool runs_on(const nxi_target *t) {
  (void)t;
  return true;
}
static bool is_chosen(void) {
  static int64_t n;
  return n++ % nxt_kernel_share() == 0;
}
#endif

/* Runs k and all bound forms of it on equal memory and compares. Destroys k. */
/* Checks that the printed kernel, parsed and printed again, gives the same bytes. */
static void check_text(const nxk_kernel *k) {
  nxi_text text = {0}, again = {0};
  nxk_kernel *parsed = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  nxk_print(k, &text);
  if (nxk_parse(text.data, text.size, &parsed, &d) != NX_OK) fail_with(k, NULL, d.message);
  nxk_print(parsed, &again);
  assert_string_equal(text.data, again.data);
  nxk_destroy(parsed);
  nxi_text_free(&text);
  nxi_text_free(&again);
}

static nxk_kernel *bind_for_processor(const nxk_kernel *k, const nxi_target *t, nxi_diag *d) {
  nxk_kernel *bound = nxk_pass_bind_cpu(k, t, d);
  nxk_kernel *loops = bound ? nxk_pass_extremes(bound, t, d) : NULL;
  nxk_kernel *rewritten = loops ? nxk_pass_extreme_chains(loops, t, d) : NULL;
  nxk_destroy(bound);
  nxk_destroy(loops);
  return rewritten;
}

static nxk_kernel *bind_for(const nxk_kernel *k, const nxi_target *t, nxi_diag *d) {
  if (t->block_threads == 0) return bind_for_processor(k, t, d);
  nxk_kernel *bound = nxk_pass_bind_gpu(k, t, d);
  nxk_kernel *narrow = bound ? nxk_pass_narrow(bound, d) : NULL;
  nxk_destroy(bound);
  return narrow;
}

static void check_bound(const nxk_kernel *k, const nxk_kernel *bound, const nxi_target *t,
                        const memory *start, const memory *expected, const uint64_t *params) {
  nxk_kernel *legal;
  runnable code = make_runnable(bound, t, &legal);
  int64_t tasks = nxk_task_count(bound, params);
  for (int split = 0; split < (tasks > 1 ? 2 : 1); split++) {
    memory got;
    copy_memory(start, &got);
    if (split == 0) run_bound(bound, code, legal, k, &got, params, 0, tasks);
    for (int64_t i = tasks; split == 1 && i-- > 0;)
      run_bound(bound, code, legal, k, &got, params, i, i + 1);
    compare_memory(k, bound, expected, &got, t->isa);
    free_memory(&got);
  }
  free_runnable(code, legal);
}

/* The parameters of every hole but rooms and data that are not integers; equal holes share one. */
static uint32_t every_integer(const nxk_anatomy *a, int32_t *param, uint64_t *values) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < a->n_holes; i++) {
    bool integer = a->holes[i].role != NXK_ROOM && a->holes[i].role != NXK_DATA;
    uint32_t p = 0;
    while (integer && p < n && values[p] != a->holes[i].value) p++;
    param[i] = integer ? (int32_t)p : NXK_LITERAL;
    if (integer && p == n) values[n++] = a->holes[i].value;
  }
  return n;
}

/* Checks the form of which all integers are parameters. */
static void check_general(const nxk_kernel *k, const nxi_target *t, const memory *start,
                          const memory *expected, const uint64_t *params) {
  nxi_target target = *t;
  nxk_anatomy a;
  nxi_diag d;
  nxi_text faults = {0};
  nxi_diag_clear(&d);
  target.generic = true;
  target.any_extent = k->n_instrs % 2 == 0;
  nxk_kernel *bound = bind_for_processor(k, &target, &d);
  if (!bound || !nxk_dissect(bound, &a)) fail_with(k, NULL, d.message);
  int32_t *param = calloc(a.n_holes + 1, sizeof *param);
  uint64_t *values = calloc(a.n_holes + MAX_PARAMS + 1, sizeof *values);
  assert_true(param && values);
  memcpy(values, params, k->n_params * sizeof *params);
  uint32_t n = every_integer(&a, param, values + k->n_params);
  nxk_kernel *general = nxk_generalize(bound, param, a.holes, n, &d);
  if (!general) fail_with(k, bound, d.message);
  if (!nxk_verify(general, &faults)) fail_with(bound, general, faults.data ? faults.data : "");
  assert_int_equal(nxk_task_count(general, values), nxk_task_count(bound, params));
  check_text(general);
  check_bound(k, general, t, start, expected, values);
  free(param);
  free(values);
  nxk_anatomy_free(&a);
  nxk_destroy(bound);
  nxk_destroy(general);
  nxi_text_free(&faults);
}

__attribute__((unused)) static void check_with(nxk_kernel *k, const uint64_t *params,
                                               int64_t nasty) {
  nxi_text faults = {0};
  memory start, expected;
  if (k->failed || !nxk_verify(k, &faults))
    fail_with(k, NULL, faults.data ? faults.data : "not built");
  if (!is_chosen()) {
    nxk_destroy(k);
    return;
  }
  make_memory(k, &start, nasty);
  copy_memory(&start, &expected);
  must_run(k, NULL, &expected, params, 0, INT64_MAX);
  for (int i = 0; i <= TARGETS; i++) { /* the last: first code */
    nxi_target t = targets[i % TARGETS];
    nxi_diag d;
    nxi_diag_clear(&d);
    t.hasty = i == TARGETS;
    if (!runs_on(&t)) continue;
    nxk_kernel *bound = bind_for(k, &t, &d);
    if (!bound) fail_with(k, NULL, d.message);
    if (!nxk_verify(bound, &faults)) fail_with(k, NULL, faults.data ? faults.data : "invalid");
    check_text(bound);
    check_bound(k, bound, &t, &start, &expected, params);
    if (t.block_threads == 0 && !t.hasty) check_general(k, &t, &start, &expected, params);
    nxk_destroy(bound);
  }
  free_memory(&start);
  free_memory(&expected);
  nxi_text_free(&faults);
  nxk_destroy(k);
}

__attribute__((unused)) static void check(nxk_kernel *k) {
  static const uint64_t none[MAX_PARAMS];
  static const int64_t nasty[] = {0, 0, 7, 500};
  check_with(k, none, nasty[below(4)]);
}

static void check_exhausted_on(const nxk_kernel *k, const nxi_target *t) {
  bool done = false;
  for (int64_t n = 0; !done; n++) {
    nxi_diag d;
    nxi_diag_clear(&d);
    nxi_alloc_fail(n, true);
    nxk_kernel *bound = bind_for(k, t, &d);
    nxi_alloc_fail(-1, false);
    done = bound != NULL;
    if (!done) assert_int_equal(d.status, NX_OUT_OF_MEMORY);
    nxk_destroy(bound);
  }
}

/* Each allocation fails once while k is bound: the failure is reported and nothing is leaked.
 * Destroys k. */
__attribute__((unused)) static void check_exhausted(nxk_kernel *k) {
  check_exhausted_on(k, &targets[0]);
  check_exhausted_on(k, &targets[4]);
  nxk_destroy(k);
}

/* ---- writing kernels */

__attribute__((unused)) static const nx_dtype every_type[] = {
    NX_F32, NX_BOOL, NX_I8,  NX_U8,   NX_I16, NX_U16,    NX_I32,   NX_U32,
    NX_I64, NX_U64,  NX_F16, NX_BF16, NX_F64, NX_F8E4M3, NX_F8E5M2};
enum { TYPES = sizeof every_type / sizeof every_type[0] };

__attribute__((unused)) static nxk_access at(uint32_t buffer, int64_t offset, nxk_term *terms,
                                             uint32_t n) {
  nxk_access a = nxk_access_at(buffer, offset);
  a.terms = terms;
  a.n_terms = n;
  return a;
}

__attribute__((unused)) static nxk_value load1(nxk_kernel *k, uint32_t buffer, int64_t offset,
                                               nxk_value i, int64_t s) {
  nxk_term terms[1] = {{i, s}};
  nxk_access a = at(buffer, offset, terms, 1);
  return nxk_load(k, &a, 1);
}

__attribute__((unused)) static nxk_value load2(nxk_kernel *k, uint32_t buffer, nxk_value i,
                                               int64_t si, nxk_value j, int64_t sj) {
  nxk_term terms[2] = {{i, si}, {j, sj}};
  nxk_access a = at(buffer, 0, terms, 2);
  return nxk_load(k, &a, 1);
}

__attribute__((unused)) static void store1(nxk_kernel *k, uint32_t buffer, nxk_value i, int64_t s,
                                           nxk_value v) {
  nxk_term terms[1] = {{i, s}};
  nxk_access a = at(buffer, 0, terms, 1);
  nxk_store(k, &a, v);
}

__attribute__((unused)) static void store2(nxk_kernel *k, uint32_t buffer, nxk_value i, int64_t si,
                                           nxk_value j, int64_t sj, nxk_value v) {
  nxk_term terms[2] = {{i, si}, {j, sj}};
  nxk_access a = at(buffer, 0, terms, 2);
  nxk_store(k, &a, v);
}

__attribute__((unused)) static void end_all(nxk_kernel *k, int n) {
  while (n-- > 0) nxk_end(k);
}

__attribute__((unused)) static nxk_value add(nxk_kernel *k, nxk_value a, nxk_value b) {
  return nxk_scalar(k, NXK_add, 0, a, b, NXK_NONE);
}
__attribute__((unused)) static nxk_value mul(nxk_kernel *k, nxk_value a, nxk_value b) {
  return nxk_scalar(k, NXK_mul, 0, a, b, NXK_NONE);
}
__attribute__((unused)) static nxk_value sub(nxk_kernel *k, nxk_value a, nxk_value b) {
  return nxk_scalar(k, NXK_sub, 0, a, b, NXK_NONE);
}
__attribute__((unused)) static nxk_value widen(nxk_kernel *k, nxk_value a) {
  return nxk_cast_to(k, nxi_compute_dtype(nxk_dtype(k, a)), a);
}

#endif
