/* SPDX-License-Identifier: ISC */
/* Every scalar operation on every dtype, through legalisation and LLVM, against the evaluator: bit
 * for bit on tables of awkward values, for each instruction set and several numbers of lanes. */
#include <math.h>

#include "tests/util/foreign.h"
#include "tests/util/runner.h"
#include "tests/util/llvm_util.h"
#include "tests/util/share.h"

/* ---- awkward values */

enum { MAX_VALUES = 96 };

static const double float_values[] = {0.0,
                                      -0.0,
                                      1,
                                      -1,
                                      2,
                                      -2,
                                      0.5,
                                      -0.5,
                                      1.5,
                                      2.5,
                                      -2.5,
                                      3,
                                      7,
                                      -7,
                                      10,
                                      0.1,
                                      1e10,
                                      -1e10,
                                      127,
                                      128,
                                      -128,
                                      -129,
                                      255,
                                      256,
                                      32767,
                                      32768,
                                      -32769,
                                      65535,
                                      65536,
                                      2147483647.0,
                                      2147483648.0,
                                      -2147483648.0,
                                      -2147483649.0,
                                      4294967295.0,
                                      4294967296.0,
                                      0x1p62,
                                      0x1p63,
                                      -0x1p63,
                                      0x1p64,
                                      0x1.fffffep62,
                                      0x1.fffffffffffffp62,
                                      0x1.fffffffffffffp63,
                                      8388607.5,
                                      8388609,
                                      4503599627370495.5,
                                      65504,
                                      65519,
                                      65520,
                                      0x1p-14,
                                      0x1p-24,
                                      0x1p-25,
                                      0x1.8p-25,
                                      0x1.004p-14,
                                      0x1p-126,
                                      0x1p-133,
                                      0x1p-134,
                                      0x1.8p-134,
                                      0x1.000001p-134,
                                      0x1p-149,
                                      0x1.8p-150,
                                      0x1p-1022,
                                      0x1p-1074,
                                      0x1.8p-1073,
                                      0x1.4p-1072,
                                      0x1.8p-148,
                                      0x1.4p-147,
                                      0x1.fffffep127,
                                      0x1.fffffffp127,
                                      0x1.fep127,
                                      0x1.ffp127,
                                      1.7976931348623157e308,
                                      1e300,
                                      3.14159265358979,
                                      0x1.01p0,
                                      0x1.02p0,
                                      0x1.03p0,
                                      0x1.0100000001p0,
                                      0x1.0020000001p0,
                                      0x1.006p0};

static uint32_t values_of(nx_dtype t, uint64_t *out) {
  uint32_t n = 0;
  uint64_t state = 7, width = nxi_dtypes[t].bits;
  if (t == NX_BOOL) {
    out[n++] = 0;
    out[n++] = 1;
    return n;
  }
  if (nxi_is_float(t)) {
    for (size_t i = 0; i < sizeof float_values / sizeof *float_values; i++)
      out[n++] = nxi_cast_bits(nxi_bits_f64(float_values[i]), NX_F64, t);
    const double special[] = {INFINITY, -INFINITY, NAN};
    for (int i = 0; i < 3; i++) out[n++] = nxi_cast_bits(nxi_bits_f64(special[i]), NX_F64, t);
  } else {
    uint64_t sign = UINT64_C(1) << (width - 1);
    const int64_t small[] = {0,  1,  2,   3,   5,  7,  8,  15, 16, 31,  32,   33,  63,
                             64, 65, 100, 127, -1, -2, -3, -5, -7, -64, -127, -128};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) out[n++] = (uint64_t)small[i];
    const uint64_t wide[] = {sign,
                             sign + 1,
                             sign - 1,
                             sign - 2,
                             16777215,
                             16777216,
                             16777217,
                             16842752,
                             UINT64_C(4311744513),
                             UINT64_C(0x80007fffffffffff),
                             UINT64_C(0x7fffff4000000001),
                             0xffffffff,
                             UINT64_C(0x100000000),
                             33554433};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) out[n++] = wide[i];
  }
  for (; n < MAX_VALUES; n++)
    out[n] = next_random(&state) >> (nxi_is_float(t) || n % 2 ? 0 : n % 64);
  if (width < 64)
    for (uint32_t i = 0; i < n; i++) out[i] &= (UINT64_C(1) << width) - 1;
  return n;
}

/* ---- one kernel that does everything a dtype admits */

typedef struct column {
  nxk_op op;
  nx_dtype type, result;
  uint8_t input[3]; /* numbers of input buffers */
} column;

enum { IN_A, IN_B, IN_C, IN_COND, IN_SCALED, IN_POWER, N_INPUTS, MAX_COLUMNS = 96 };

static const nx_dtype dtypes[] = {NX_BOOL,   NX_I8,  NX_U8,   NX_I16, NX_U16,
                                  NX_I32,    NX_U32, NX_I64,  NX_U64, NX_F8E4M3,
                                  NX_F8E5M2, NX_F16, NX_BF16, NX_F32, NX_F64};
enum { N_DTYPES = sizeof dtypes / sizeof *dtypes };

static bool admitted(nxk_op op, nx_dtype t) {
  if (nxk_scalars[op].flags & NXK_FUNC) return false;
  if (!(nxk_scalars[op].admits & nxi_dtype_class(t))) return false;
  if (op == NXK_umulh) return t == NX_U64;
  if (!nxi_is_small_float(t)) return true;
  return nxk_scalars[op].result == NXK_RESULT_BOOL || op == NXK_select;
}

static uint32_t list_columns(nx_dtype t, column *out) {
  uint32_t n = 0;
  for (int op = 0; op < NXK_SCALAR_COUNT; op++) {
    if (op == NXK_cast || op == NXK_bitcast) {
      for (int i = 0; i < N_DTYPES; i++) {
        bool fits =
            op == NXK_cast ? dtypes[i] != t : nxi_dtypes[dtypes[i]].bits == nxi_dtypes[t].bits;
        if (fits) out[n++] = (column){(nxk_op)op, t, dtypes[i], {IN_A, 0, 0}};
      }
    } else if (admitted((nxk_op)op, t)) {
      bool truth = nxk_scalars[op].result == NXK_RESULT_BOOL;
      column c = {(nxk_op)op, t, truth ? NX_BOOL : t, {IN_A, IN_B, IN_C}};
      if (op == NXK_select) c = (column){(nxk_op)op, t, t, {IN_COND, IN_A, IN_B}};
      if (op == NXK_ldexp) c = (column){(nxk_op)op, t, t, {IN_SCALED, IN_POWER, 0}};
      out[n++] = c;
    }
  }
  assert_true(n <= MAX_COLUMNS);
  return n;
}

static nxk_kernel *build_columns(nx_dtype t, const column *columns, uint32_t n_columns,
                                 uint8_t lanes, int64_t tasks) {
  nxk_kernel *k = nxk_create(NXK_BOUND, "columns");
  assert_non_null(k);
  for (int i = 0; i < N_INPUTS; i++)
    nxk_add_buffer(k, NXK_IN, i == IN_COND ? NX_BOOL : t, tasks * lanes);
  for (uint32_t i = 0; i < n_columns; i++)
    nxk_add_buffer(k, NXK_OUT, columns[i].result, tasks * lanes);
  nxk_begin_region(k);
  nxk_value task = nxk_begin_range(k, NXK_TASK, tasks);
  nxk_term term = {task, lanes};
  for (uint32_t i = 0; i < n_columns; i++) {
    nxk_value args[3] = {NXK_NONE, NXK_NONE, NXK_NONE};
    nxk_access a = nxk_access_at(0, 0);
    a.n_terms = 1;
    a.terms = &term;
    a.lane_stride = lanes > 1;
    for (int j = 0; j < nxk_scalars[columns[i].op].arity; j++) {
      a.buffer = columns[i].input[j];
      args[j] = nxk_load(k, &a, lanes);
    }
    a.buffer = N_INPUTS + i;
    nxk_store(k, &a, nxk_scalar(k, columns[i].op, columns[i].result, args[0], args[1], args[2]));
  }
  nxk_end(k);
  nxk_end(k);
  assert_false(k->failed);
  return k;
}

/* ---- inputs: all pairs of values; the rest cycles */

enum { MAX_ELEMENTS = MAX_VALUES * MAX_VALUES + 64 };

static uint64_t power_of(nx_dtype t, uint64_t random) {
  int limit = t == NX_F64 ? 2100 : 300;
  return nxi_cast_bits((uint64_t)((int64_t)(random % (uint64_t)(2 * limit)) - limit), NX_I64, t);
}

/* A float within the domain of ldexp. */
static uint64_t scaled_of(nx_dtype t, uint64_t random) {
  const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1, 0x1p-30, -0x1p30};
  if (random % 8 == 0) return nxi_cast_bits(nxi_bits_f64(special[random / 8 % 8]), NX_F64, t);
  double m = 1 + (double)(random >> 12) * 0x1p-52;
  return nxi_cast_bits(nxi_bits_f64(ldexp(random & 16 ? m : -m, (int)(random / 32 % 59) - 29)),
                       NX_F64, t);
}

static int64_t fill_inputs(nx_dtype t, char *inputs[N_INPUTS], int64_t n) {
  uint64_t values[MAX_VALUES], state = 3;
  uint32_t count = values_of(t, values);
  int64_t size = nxi_dtype_size(t);
  for (int64_t i = 0; i < n; i++) {
    nxi_store_element(inputs[IN_A] + i * size, t, values[i / count % count]);
    nxi_store_element(inputs[IN_B] + i * size, t, values[i % count]);
    nxi_store_element(inputs[IN_C] + i * size, t, values[next_random(&state) % count]);
    inputs[IN_COND][i] = (char)(next_random(&state) % 3); /* 2 is true too */
    if (t == NX_BOOL) inputs[IN_A][i] = (char)(inputs[IN_A][i] * (1 + i % 200));
    if (!nxi_is_float(t)) continue;
    nxi_store_element(inputs[IN_SCALED] + i * size, t, scaled_of(t, next_random(&state)));
    nxi_store_element(inputs[IN_POWER] + i * size, t, power_of(t, next_random(&state)));
  }
  return n;
}

static void check_column(const column *c, char *const *buffers, const char *got, int64_t n,
                         const char *isa, int lanes) {
  int arity = nxk_scalars[c->op].arity;
  for (int64_t i = 0; i < n; i++) {
    uint64_t args[3] = {0, 0, 0};
    for (int j = 0; j < arity; j++) {
      nx_dtype t = c->input[j] == IN_COND ? NX_BOOL : c->type;
      args[j] = nxi_load_element(buffers[c->input[j]] + i * nxi_dtype_size(t), t);
    }
    uint64_t want = nxk_eval(c->op, c->type, c->result, args),
             have = nxi_load_element(got + i * nxi_dtype_size(c->result), c->result);
    if (!nxi_same_bits(want, have, c->result))
      fail_msg("%s lanes %d: %s %s -> %s of %llx %llx %llx is %llx, not %llx", isa, lanes,
               nxk_op_name(c->op), nxi_dtypes[c->type].name, nxi_dtypes[c->result].name,
               (unsigned long long)args[0], (unsigned long long)args[1],
               (unsigned long long)args[2], (unsigned long long)have, (unsigned long long)want);
  }
}

static void check_dtype(nx_dtype t, const char *isa, uint8_t lanes, bool hasty) {
  column columns[MAX_COLUMNS];
  uint32_t n_columns = list_columns(t, columns);
  uint64_t unused[MAX_VALUES];
  uint32_t count = values_of(t, unused);
  int64_t tasks = (count * count + lanes - 1) / lanes, n = tasks * lanes;
  char *buffers[N_INPUTS + MAX_COLUMNS];
  for (uint32_t i = 0; i < N_INPUTS + n_columns; i++)
    assert_non_null(buffers[i] = calloc((size_t)n, 8));
  fill_inputs(t, buffers, n);
  nxk_kernel *k = build_columns(t, columns, n_columns, lanes, tasks), *l = legalized(k, isa);
  if (runs_here(isa)) {
    nxl_code *code = compile_kernel(l, isa, hasty);
    run_code(code, l, (void *const *)buffers, NULL, 0, tasks);
    nxl_unload(code);
  } else if (!nxt_foreign_run(l, (void *const *)buffers, NULL, 0, tasks)) {
    fail();
  }
  for (uint32_t i = 0; i < n_columns; i++)
    check_column(&columns[i], buffers, buffers[N_INPUTS + i], n, isa, lanes);
  nxk_destroy(l);
  nxk_destroy(k);
  for (uint32_t i = 0; i < N_INPUTS + n_columns; i++) free(buffers[i]);
}

static void check_isa(const char *isa) {
  static const uint8_t lanes[] = {1, 2, 8, 16, 64};
  static int64_t turn;
  if (nxl_unavailable()) skip();
  for (size_t i = 0; i < sizeof lanes; i++)
    for (int t = 0; t < N_DTYPES; t++, turn++)
      if (turn % nxt_share() == 0) {
        check_dtype(dtypes[t], isa, lanes[i], false);
        check_dtype(dtypes[t], isa, lanes[i], true);
      }
}

static void test_avx512(void **state) {
  (void)state;
  if (!runs_here("avx512")) skip();
  check_isa("avx512");
}
static void test_avx2(void **state) {
  (void)state;
  if (!runs_here("avx2")) skip();
  check_isa("avx2");
}
static void test_generic(void **state) {
  (void)state;
  if (!runs_here("generic")) skip();
  check_isa("generic");
}
/* In an emulator, except on AArch64. */
static void test_neon(void **state) {
  (void)state;
  if (!runs_here("neon") && nxt_foreign_missing() != NULL) skip();
  check_isa("neon");
}

NXT_MAIN(llvm) {
  nxl_set_verify(true);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_avx512),
      cmocka_unit_test(test_avx2),
      cmocka_unit_test(test_generic),
      cmocka_unit_test(test_neon),
  };
  return cmocka_run_group_tests(tests, NULL, nxt_foreign_end);
}
