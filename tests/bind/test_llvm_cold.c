/* SPDX-License-Identifier: ISC */
/* Cold blocks that stand apart: their code is a function, of which equal blocks have one. Random
 * blocks between more values than there are registers, on every instruction set, against the
 * interpreter; for lanes of all widths and counts, of which none, few or all need the block. */
#include "tests/util/llvm_util.h"
#include "tests/util/runner.h"

enum { TASKS = 16, MAX_POOL = 24, LIVE = 40, COPIES = 3 };

/* ---- random kernels */

typedef struct maker {
  nxk_kernel *k;
  uint64_t seed;
  uint16_t lanes;
  nxk_value uniform; /* of one lane, not constant */
} maker;

static nxk_value constant(maker *m, nx_dtype t) {
  int64_t x = (int64_t)(next_random(&m->seed) % 9) + 1;
  return nxi_is_float(t) ? nxk_const_f(m->k, t, (double)x / 4) : nxk_const_i(m->k, t, x);
}

static nxk_value op2(maker *m, nxk_op op, nxk_value a, nxk_value b) {
  return nxk_scalar(m->k, op, 0, a, b, NXK_NONE);
}

static nxk_value cast(maker *m, nx_dtype t, nxk_value a) {
  return nxk_scalar(m->k, NXK_cast, t, a, NXK_NONE, NXK_NONE);
}

/* One more value of x and what was made of it, of various widths. */
static nxk_value next_value(maker *m, const nxk_value *pool, uint32_t n) {
  static const nx_dtype types[] = {NX_F32, NX_F64, NX_U32, NX_I64, NX_U64};
  nxk_value a = pool[next_random(&m->seed) % n], b = pool[next_random(&m->seed) % n];
  nx_dtype t = nxk_dtype(m->k, a);
  b = nxk_cast_to(m->k, t, b);
  switch (next_random(&m->seed) % 8) {
    case 0: return op2(m, NXK_mul, a, b);
    case 1: return op2(m, NXK_sub, a, constant(m, t));
    case 2: return op2(m, NXK_add, a, nxk_cast_to(m->k, t, m->uniform));
    case 3: return nxk_scalar(m->k, NXK_select, 0, op2(m, NXK_lt, a, b), a, constant(m, t));
    case 4: return nxi_is_float(t) ? op2(m, NXK_max, a, b) : op2(m, NXK_xor, a, b);
    case 5: return nxi_is_float(t) ? a : op2(m, NXK_shr, a, constant(m, t));
    case 6: return t == NX_U64 ? op2(m, NXK_umulh, a, b) : op2(m, NXK_add, a, b);
    default: return cast(m, types[next_random(&m->seed) % 5], op2(m, NXK_min, a, constant(m, t)));
  }
}

/* A block of x, which decides by `limit` what lanes need it; the blend of x and its result. The
 * seed decides what the block computes. */
static nxk_value block(maker *m, nxk_value x, double limit, uint64_t seed) {
  nxk_kernel *k = m->k;
  uint64_t before = m->seed;
  nxk_value pool[MAX_POOL] = {x};
  uint32_t n = 1;
  m->seed = seed;
  nxk_value needed = op2(m, NXK_lt, nxk_const_f(k, NX_F32, limit), x);
  nxk_value cold = nxk_begin_cold_apart(k, needed);
  for (; n < MAX_POOL; n++) pool[n] = next_value(m, pool, n);
  nxk_value inside = nxk_splat(k, nxk_cast_to(k, NX_F32, pool[n - 1]), m->lanes);
  nxk_end(k);
  m->seed = before;
  return inside <= cold ? x : nxk_blend(k, cold, inside, x); /* nothing was computed */
}

/* Blocks in a row, each of what was there after the one before, with many values around them that
 * are needed at the end. kinds: how many of the blocks differ. */
static nxk_kernel *make_kernel(uint16_t lanes, uint64_t seed, double limit, int kinds) {
  maker m = {nxk_create(NXK_BOUND, "apart"), seed, lanes, NXK_NONE};
  nxk_kernel *k = m.k;
  uint32_t in = nxk_add_buffer(k, NXK_IN, NX_F32, (int64_t)TASKS * lanes),
           out = nxk_add_buffer(k, NXK_OUT, NX_F32, (int64_t)TASKS * lanes);
  uint32_t param = nxk_add_param(k, NX_F32);
  m.uniform = nxk_param(k, param);
  nxk_begin_region(k);
  nxk_term term = {nxk_begin_range(k, NXK_TASK, TASKS), lanes};
  nxk_access a = nxk_access_at(in, 0);
  a.n_terms = 1;
  a.terms = &term;
  a.lane_stride = lanes > 1;
  nxk_value x = nxk_load(k, &a, lanes), live[LIVE], negative = op2(&m, NXK_lt, x, m.uniform);
  for (int i = 0; i < LIVE; i++)
    live[i] = op2(&m, NXK_mul, i ? live[i - 1] : x, nxk_const_f(k, NX_F32, 1 + i / 64.0));
  for (int i = 0; i < COPIES; i++)
    x = op2(&m, NXK_add, block(&m, x, limit, seed * 31 + (uint64_t)(i % kinds)), live[i]);
  for (int i = LIVE; i-- > 0;)
    x = op2(&m, NXK_add, x, nxk_scalar(k, NXK_select, 0, negative, live[i], x));
  a.buffer = out;
  nxk_store(k, &a, x);
  nxk_end(k);
  nxk_end(k);
  nxi_text faults = {0};
  if (k->failed || !nxk_verify(k, &faults))
    fail_msg("%s", faults.data ? faults.data : "building failed");
  return k;
}

/* ---- against the interpreter */

static void compare(const nxk_kernel *k, uint16_t lanes, const char *isa) {
  const size_t n = (size_t)TASKS * lanes, bytes = (n * sizeof(float) + 63) & ~(size_t)63;
  float *in = aligned_alloc(64, bytes), *is = aligned_alloc(64, bytes),
        *want = aligned_alloc(64, bytes);
  uint64_t seed = 9;
  for (size_t i = 0; i < n; i++) in[i] = (float)(next_random(&seed) % 4001) / 16 - 125;
  nxk_kernel *l = legalized(k, isa);
  nxl_code *code = compile_kernel(l, isa, false);
  const uint64_t params[] = {nxi_cast_bits(nxi_bits_f64(0.75), NX_F64, NX_F32)};
  void *ours[2] = {in, is}, *theirs[2] = {in, want};
  nxi_diag d = {0};
  run_code(code, l, ours, params, 0, TASKS);
  if (nxk_interpret(k, theirs, params, 0, TASKS, &d) != NX_OK) fail_msg("%s", d.message);
  for (size_t i = 0; i < n; i++)
    if (!nxi_same_bits(((uint32_t *)(void *)is)[i], ((uint32_t *)(void *)want)[i], NX_F32))
      fail_msg("%s, %u lanes: [%zu] of %a is %a, not %a", isa, lanes, i, (double)in[i],
               (double)is[i], (double)want[i]);
  nxl_unload(code);
  nxk_destroy(l);
  free(in), free(is), free(want);
}

static void same_bits(void **state) {
  static const uint16_t lanes[] = {1, 2, 8, 16, 32, 64, 128};
  static const double limits[] = {-200, 0, 110, 200}; /* all, half, few, none */
  (void)state;
  if (nxl_unavailable()) skip();
  for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++)
    for (int l = 0; l < 4; l++) {
      nxk_kernel *k = make_kernel(lanes[i], 7 * i + (uint64_t)l, limits[l], 1 + (l & 1));
      for (int isa = 0; isa < N_ISAS; isa++)
        if (runs_here(isas[isa])) compare(k, lanes[i], isas[isa]);
      nxk_destroy(k);
    }
}

/* ---- equal blocks have one function */

static uint32_t count(const char *text, const char *word) {
  uint32_t n = 0;
  for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) n++;
  return n;
}

static void expect_functions(const char *isa, int kinds, uint32_t functions, uint32_t calls) {
  nxk_kernel *k = make_kernel(32, 3, 0, kinds), *l = legalized(k, isa);
  void *text;
  size_t size;
  compile_to(l, isa, NXL_IR, &text, &size);
  assert_int_equal(count(text, "define internal void @apart.cold"), functions);
  assert_int_equal(count(text, "call void @apart.cold"), calls);
  nxi_free(text);
  nxk_destroy(l);
  nxk_destroy(k);
}

static void one_function(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  expect_functions("avx512", 1, 1, COPIES);
  expect_functions("avx2", 1, 1, COPIES);
  expect_functions("avx2", 2, 2, COPIES);
  expect_functions("generic", 1, 0, 0);
}

NXT_MAIN(llvm_cold) {
  nxl_set_verify(true);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_bits),
      cmocka_unit_test(one_function),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
