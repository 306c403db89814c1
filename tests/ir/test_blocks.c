/* SPDX-License-Identifier: ISC */
/* Functions applied to blocks give what the scalar evaluator gives, bit for bit (any NaN for a
 * NaN): every function on every type that has loops, for each instruction set, for lengths that
 * are not multiples of a block. So do basic operations of floats, the lanes of reductions, and
 * columns that are reduced beside each other. */
#include "ir/interp/beside.h"
#include "ir/interp/block.h"
#include "ir/interp/interp.h"
#include "ir/interp/interp_graph.h"
#include "tests/util/runner.h"
#include "tests/util/share.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = NXG_BLOCK + 17, TYPES = 6 };
static const nx_dtype types[TYPES] = {NX_F32, NX_F64, NX_I32, NX_I64, NX_U32, NX_U64};

static uint64_t state;
static uint64_t random_bits(void) { /* xorshift* */
  state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
  return state * UINT64_C(2685821657736338717);
}

static const double specials[] = {
    0,     -0.0,   1,       -1,       2,      0.5,    -0.5,     1e-310,   -1e-40,    1e300,
    -1e30, 1e5,    -3e7,    88.8,     -105.5, 709.9,  -746.5,   INFINITY, -INFINITY, NAN,
    3,     0x1p23, -0x1p52, 0x1p-126, 1e-8,   0.9999, -0.99999, 1.5707963};
enum { SPECIALS = sizeof specials / sizeof *specials };

/* Every eighth number has any bits; others are of moderate size, or special. */
static uint64_t operand(nx_dtype t, int i, int k) {
  uint64_t bits = random_bits();
  if (i % 8 == 0) return nxi_dtype_size(t) == 4 ? bits >> 32 : bits;
  if (!nxi_is_float(t)) return nxi_cast_bits((uint64_t)((int64_t)bits >> (bits % 64)), NX_I64, t);
  double x = i % 3 ? ((double)(bits >> 11) * 0x1p-53 - 0.5) * (i % 2 ? 8 : 200)
                   : specials[(size_t)(i / 3 * (k + 1)) % SPECIALS];
  return nxi_cast_bits(nxi_bits_f64(x), NX_F64, t);
}

static bool same(nx_dtype t, uint64_t a, uint64_t b) {
  if (!nxi_is_float(t)) return a == b;
  double x = nxi_f64_bits(nxi_cast_bits(a, t, NX_F64)),
         y = nxi_f64_bits(nxi_cast_bits(b, t, NX_F64));
  return a == b || (x != x && y != y);
}

static void compare(nxk_op op, nx_dtype t, nxg_block_loops *loops, int64_t n) {
  static _Alignas(64) char data[4][(N + 2) * 8], result[(N + 2) * 8];
  const void *operands[4];
  int64_t size = nxi_dtype_size(t);
  nxg_function *f = nxg_function_create(op, t, loops);
  if (f == NULL) fail_msg("%s of %s is not applied to blocks", nxk_op_name(op), nxi_dtypes[t].name);
  for (int k = 0; k < 4; k++) {
    operands[k] = data[k] + size; /* not aligned to vectors */
    for (int i = 0; i < n; i++) nxi_store_element(data[k] + (i + 1) * size, t, operand(t, i, k));
  }
  memset(result, 0x5a, sizeof result);
  nxg_function_apply(f, result + size, operands, n);
  nxg_function_destroy(f);
  for (int64_t i = 0; i < n; i++) {
    uint64_t args[4], got = nxi_load_element(result + (i + 1) * size, t);
    for (int k = 0; k < 4; k++) args[k] = nxi_load_element(data[k] + (i + 1) * size, t);
    uint64_t expected = nxk_eval(op, t, t, args);
    if (!same(t, got, expected))
      fail_msg("%s of %s of %llx, %llx: %llx, not %llx", nxk_op_name(op), nxi_dtypes[t].name,
               (unsigned long long)args[0], (unsigned long long)args[1], (unsigned long long)got,
               (unsigned long long)expected);
  }
  assert_int_equal(result[size - 1], 0x5a);
  assert_int_equal(result[(n + 1) * size], 0x5a);
}

static bool admits(nxk_op op, nx_dtype t) {
  const nxk_scalar_info *s = &nxk_scalars[op];
  return s->flags & NXK_FUNC && s->admits & (uint32_t)nxi_dtype_class(t);
}

/* Under sanitizers, every third function and type: `which` says of three which. */
static void compare_all(nxg_block_loops *loops, int which) {
  int met = which;
  state = 88172645463325252u;
  for (int op = 0; op < NXK_SCALAR_COUNT; op++)
    for (int t = 0; t < TYPES; t++)
      if (admits((nxk_op)op, types[t]) && (!SANITIZED || met++ % 3 == 0)) {
        compare((nxk_op)op, types[t], loops, N);
        compare((nxk_op)op, types[t], loops, 1);
        if (!SANITIZED) compare((nxk_op)op, types[t], loops, NXG_BLOCK);
      }
}

/* ---- basic operations of floats, by the loops of this processor and what follows them */

static void compare_map(nxk_op op, nx_dtype t, int64_t n) {
  static _Alignas(64) char data[2][3 * N * 8], result[3 * N * 8];
  const nxk_scalar_info *info = &nxk_scalars[op];
  const nx_dtype to = op == NXK_eq || op == NXK_ne || op == NXK_lt || op == NXK_le ? NX_BOOL : t;
  const int64_t size = nxi_dtype_size(t), result_size = nxi_dtype_size(to);
  const void *operands[2] = {data[0] + size, data[1] + size}; /* not aligned to vectors */
  const nxg_step s = {.scalar = op, .dtype = t, .result = to, .n_args = (uint32_t)info->arity};
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < n; i++) nxi_store_element(data[k] + (i + 1) * size, t, operand(t, i, k));
  memset(result, 0x5a, sizeof result);
  nxg_find_map(op, t)(&s, result, operands, n);
  for (int64_t i = 0; i < n; i++) {
    uint64_t args[2], got = nxi_load_element(result + i * result_size, to);
    for (int k = 0; k < 2; k++) args[k] = nxi_load_element(data[k] + (i + 1) * size, t);
    uint64_t expected = nxk_eval(op, t, to, args);
    if (!same(to, got, expected))
      fail_msg("%s of %s of %llx, %llx: %llx, not %llx", nxk_op_name(op), nxi_dtypes[t].name,
               (unsigned long long)args[0], (unsigned long long)args[1], (unsigned long long)got,
               (unsigned long long)expected);
  }
  assert_int_equal(result[n * result_size], 0x5a);
}

static void basic_operations(void **unused) {
  static const nxk_op ops[] = {NXK_neg,  NXK_abs, NXK_sqrt, NXK_rint, NXK_trunc, NXK_floor,
                               NXK_ceil, NXK_add, NXK_sub,  NXK_mul,  NXK_div,   NXK_mod,
                               NXK_max,  NXK_min, NXK_eq,   NXK_ne,   NXK_lt,    NXK_le};
  (void)unused;
  state = 88172645463325252u;
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    for (int t = 0; t < 2; t++) {
      compare_map(ops[i], types[t], 1);
      compare_map(ops[i], types[t], NXG_BLOCK);
      compare_map(ops[i], types[t], 2 * NXG_BLOCK + 17);
    }
}

/* ---- lanes of reductions */

#if defined(__x86_64__)
/* What the elements are: maxima and minima have another way where there is no NaN, in which zeros
 * have an order. */
typedef enum kind { ANY, NUMBERS, ZEROS, KINDS } kind;

static uint64_t element(kind kind, nx_dtype t, int i) {
  uint64_t x = operand(t, i, 0), sign = (uint64_t)1 << (8 * nxi_dtype_size(t) - 1);
  double value = nxi_f64_bits(nxi_cast_bits(x, t, NX_F64));
  if (kind == ZEROS) return x & sign;
  return kind == NUMBERS && value != value ? x & sign : x;
}

static void compare_rounds(nxg_rounds *rounds, nxk_op op, nx_dtype t, int64_t n, kind kind) {
  static char data[(2 * N + 1) * 8];
  const int64_t size = nxi_dtype_size(t);
  uint64_t lanes[NXG_ROUND] = {0};
  _Alignas(64) char part[NXG_ROUND * 8];
  assert_non_null(rounds);
  for (int i = 0; i < n; i++) {
    uint64_t x = element(kind, t, i), args[2] = {lanes[i % NXG_ROUND], x};
    nxi_store_element(data + (i + 1) * size, t, x);
    lanes[i % NXG_ROUND] = i < NXG_ROUND ? x : nxk_eval(op, t, t, args);
  }
  rounds(part, data + size, n);
  for (int l = 0; l < NXG_ROUND; l++)
    if (!same(t, nxi_load_element(part + l * size, t), lanes[l]))
      fail_msg("%s of %ld %s: lane %d", nxk_op_name(op), (long)n, nxi_dtypes[t].name, l);
}

static void compare_all_rounds(nxg_rounds *(*get)(nxk_reduce_kind kind, nx_dtype t)) {
  static const struct {
    nxk_reduce_kind kind;
    nxk_op op;
  } kinds[] = {{NXK_SUM, NXK_add}, {NXK_PROD, NXK_mul}, {NXK_MAX, NXK_max}, {NXK_MIN, NXK_min}};
  state = 88172645463325252u;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (int t = 0; t < 2 * KINDS; t++) {
      const nx_dtype type = types[t % 2];
      nxg_rounds *rounds = get(kinds[i].kind, type);
      for (int64_t n = NXG_ROUND; n < 3 * NXG_ROUND; n++)
        compare_rounds(rounds, kinds[i].op, type, n, (kind)(t / 2));
      compare_rounds(rounds, kinds[i].op, type, 256, (kind)(t / 2));
    }
}
#endif

/* Columns beside each other, in memory that ends with the last row, each against the reducer that
 * takes one element after the other. */
static void compare_columns(nxg_beside *beside, nxk_reduce_kind kind, nx_dtype t, int64_t n,
                            int width, int apart) {
  const int64_t size = nxi_dtype_size(t), row = width + apart, elements = (n - 1) * row + width;
  char *rows = malloc((size_t)(elements * size)), *results = malloc((size_t)(width + 1) * size);
  nxi_reducer *r = malloc(sizeof *r);
  if (rows == NULL || results == NULL || r == NULL || beside == NULL) fail();
  for (int64_t i = 0; i < elements; i++)
    nxi_store_element(rows + i * size, t, operand(t, (int)(i % N), 0));
  memset(results, 0x5a, (size_t)(width + 1) * size);
  beside(rows, row * size, n, width, results);
  for (int j = 0; j < width; j++) {
    nxi_reducer_start(r, kind, NXK_ORDER_PLAIN, t);
    for (int64_t k = 0; k < n; k++)
      nxi_reducer_add(r, nxi_load_element(rows + (k * row + j) * size, t), 0);
    if (!same(t, nxi_load_element(results + j * size, t), nxi_reducer_finish(r)))
      fail_msg("kind %d of %ld rows of %d %s: column %d", (int)kind, (long)n, width,
               nxi_dtypes[t].name, j);
  }
  assert_int_equal(results[width * size], 0x5a);
  free(rows);
  free(results);
  free(r);
}

static void compare_all_columns(nxg_beside *(*get)(nxk_reduce_kind kind, nx_dtype t)) {
  static const nxk_reduce_kind kinds[] = {NXK_SUM, NXK_PROD, NXK_MAX, NXK_MIN};
  static const int64_t rows[] = {1, 2, 15, 16, 17, 31, 32, 33, 47, 64, 100, 257, 1000, 4113};
  static const int widths[] = {1, 4, 17, 32, 63, NXG_BESIDE};
  state = 88172645463325252u;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
      for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (int t = 0; t < 2; t++)
          compare_columns(get(kinds[i], types[t]), kinds[i], types[t], rows[k], widths[w],
                          (int)(k + w) % 3);
  for (int t = 0; t < 2; t++) /* the highest tree */
    compare_columns(get(NXK_SUM, types[t]), NXK_SUM, types[t], NXG_BESIDE_MOST - t, 2, 0);
  assert_null(get(NXK_ARGMAX, NX_F32));
  assert_null(get(NXK_SUM, NX_I32));
}

static void any_processor(void **unused) {
  (void)unused;
  compare_all(nxg_block_generic, 0);
  compare_all_columns(nxg_besides_generic);
}

#if defined(__x86_64__)
static void avx2(void **unused) {
  (void)unused;
  if (!nxg_block_has_avx2()) skip();
  compare_all(nxg_block_avx2, 1);
  compare_all_rounds(nxg_rounds_avx2);
  compare_all_columns(nxg_besides_avx2);
}

static void avx512(void **unused) {
  (void)unused;
  if (!nxg_block_has_avx512()) skip();
  compare_all(nxg_block_avx512, 2);
  compare_all_rounds(nxg_rounds_avx512);
  compare_all_columns(nxg_besides_avx512);
}
#endif

NXT_MAIN(blocks) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(basic_operations),
      cmocka_unit_test(any_processor),
#if defined(__x86_64__)
      cmocka_unit_test(avx2),
      cmocka_unit_test(avx512),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
