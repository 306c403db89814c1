/* SPDX-License-Identifier: ISC */
/* Tests of the graph interpreter: results computed by hand, every elementwise operation against the
 * scalar evaluator and every reduction against the streaming reducer bit for bit, memory that is
 * reused, runs side by side, alias ranges, the hook for matrix products, and exhausted memory.
 * NumPy is compared in tests/numpy/numpy_ops.py. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/graph/graph.h"
#include "ir/interp/interp.h"
#include "passes/graph/passes.h"
#include "tests/util/runner.h"
#include "tests/util/share.h"

static nxg_graph *parse(const char *text) {
  nxg_graph *g = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxg_parse(text, strlen(text), &g, &d))
    fail_msg("%d:%d: %s\n%s", d.line, d.column, d.message, text);
  return g;
}

static nxg_program *program(const nxg_graph *g) {
  nxg_program *p = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxp_program_create(g, &p, &d)) fail_msg("%s", d.message);
  return p;
}

/* One input, one output. */
static void run_text(const char *text, const void *input, void *output) {
  nxg_graph *g = parse(text);
  nxg_program *p = program(g);
  nxg_destroy(g); /* a program stands alone */
  void *in = (void *)(uintptr_t)input;
  assert_int_equal(nxg_program_run(p, &in, NULL, NULL, &output, NULL), NX_OK);
  nxg_program_destroy(p);
}

static void check_floats(const float *got, const float *expected, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!nxi_same_bits(nxi_bits_f32(got[i]), nxi_bits_f32(expected[i]), NX_F32))
      fail_msg("element %zu is %g, not %g", i, (double)got[i], (double)expected[i]);
}
#define CHECK_FLOATS(got, ...) \
  check_floats(got, (const float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}) / sizeof(float))

/* ---- by hand */
static void test_expressions(void **state) {
  (void)state;
  float x[6] = {1, -2, 3, 4, 0.5f, -0.0f}, y[12];
  run_text("nxir 2\ngraph @g(%x: f32[2,3]) -> (%y) {\n%h = full 0.5 : f32[]\n%a = mul %x, %h\n%t = "
           "permute %a axes=[1,0]\n"
           "%b = add %t, %h\n%y = neg %b\n}\n",
           x, y);
  CHECK_FLOATS(y, -1, -2.5f, 0.5f, -0.75f, -2, -0.5f);
  run_text("nxir 2\ngraph @g(%x: f32[2,3]) -> (%y) {\n%a = pad %x value=7 before=[0,1] "
           "after=[1,0]\n%y = neg %a\n}\n",
           x, y);
  CHECK_FLOATS(y, -7, -1, 2, -3, -7, -4, -0.5f, 0.0f, -7, -7, -7, -7);
  run_text("nxir 2\ngraph @g(%x: f32[2,3]) -> (%y) {\n%f = flip %x axes=[1]\n%y = cat %x, %f "
           "axis=1\n}\n",
           x, y);
  CHECK_FLOATS(y, 1, -2, 3, 3, -2, 1, 4, 0.5f, -0.0f, -0.0f, 0.5f, 4);
  run_text("nxir 2\ngraph @g(%x: f32[2,3]) -> (%y) {\n%c = full 9 : f32[1]\n%s = slice %x "
           "start=[1,2] count=[2,2] step=[-1,-2]\n"
           "%y = update %s, %c offset=1 shape=[2] strides=[2]\n}\n",
           x, y);
  CHECK_FLOATS(y, -0.0f, 9, 3, 9);
  /* views of views: through a dense one, and of a stored one */
  run_text("nxir 2\ngraph @g(%x: f32[2,3]) -> (%y) {\n%r = reshape %x shape=[6]\n%s = view %r "
           "strides=[2] offset=1 : f32[3]\n"
           "%p = permute %x axes=[1,0]\n%q = view %p strides=[1] offset=1 : f32[3]\n%y = add %s, "
           "%q\n}\n",
           x, y);
  CHECK_FLOATS(y, -2 + 4, 4 - 2, -0.0f + 0.5f);
}

static void test_reductions_by_hand(void **state) {
  (void)state;
  float x[24], y[24];
  for (int i = 0; i < 24; i++) x[i] = (float)(i + 1);
  run_text("nxir 2\ngraph @g(%x: f32[2,3,4]) -> (%y) {\n%y = reduce_sum %x axes=[0,2]\n}\n", x, y);
  CHECK_FLOATS(y, 1 + 2 + 3 + 4 + 13 + 14 + 15 + 16, 5 + 6 + 7 + 8 + 17 + 18 + 19 + 20,
               9 + 10 + 11 + 12 + 21 + 22 + 23 + 24);
  run_text("nxir 2\ngraph @g(%x: f32[2,3,4]) -> (%y) {\n%e = shrink %x start=[0,0,0] "
           "stop=[0,3,4]\n%y = reduce_prod %e axes=[0]\n}\n",
           x, y);
  CHECK_FLOATS(y, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
  run_text("nxir 2\ngraph @g(%x: f32[24]) -> (%y) {\n%o = full 1 : f32[33554432]\n%y = reduce_sum "
           "%o axes=[0]\n}\n",
           x, y);
  CHECK_FLOATS(y, 33554432.0f); /* exact: a plain loop would stop at 2^24 */
  /* the order is visible: 2^24 + 1 + 1 is 2^24 one after the other, but lane 1 meets lane 9
   * first */
  for (int i = 0; i < 24; i++) x[i] = 0;
  x[0] = 16777216.0f, x[1] = x[9] = 1;
  run_text("nxir 2\ngraph @g(%x: f32[24]) -> (%y) {\n%y = reduce_sum %x axes=[0]\n}\n", x, y);
  CHECK_FLOATS(y, 16777218.0f);
  run_text("nxir 2\ngraph @g(%x: f32[24]) -> (%y) {\n%c = reshape %x shape=[12,2]\n%p = slice %c "
           "start=[0,0] count=[12,1] step=[1,1]\n"
           "%z = full 0 : f32[12,1]\n%d = cat %p, %z axis=1\n%y = reduce_sum %d axes=[0]\n}\n",
           x, y);
  CHECK_FLOATS(y, 16777216.0f, 0);
  float n[4] = {1, NAN, 2, NAN};
  int32_t at = -1;
  run_text("nxir 2\ngraph @g(%x: f32[4]) -> (%y) {\n%y = argmin %x axis=0\n}\n", n, &at);
  assert_int_equal(at, 1);
}

static void test_threefry(void **state) {
  (void)state;
  const int32_t counter[6] = {0, 0, -1, -1, 0x243f6a88, (int32_t)0x85a308d3};
  const int32_t expected[6] = {1797259609,  -1715843330, 481924860,
                               -1157616665, -997049700,  1212020640};
  int32_t y[6];
  /* the keys: zeros, ones, pi */
  run_text("nxir 2\ngraph @g(%c: i32[3,2]) -> (%y) {\n%z = full 0 : i32[1,2]\n%o = full -1 : "
           "i32[1,2]\n%a = full 320440878 : i32[1,1]\n"
           "%b = full 57701188 : i32[1,1]\n%p = cat %a, %b axis=1\n%k = cat %z, %o, %p axis=0\n%y "
           "= threefry %k, %c\n}\n",
           counter, y);
  assert_memory_equal(y, expected, sizeof expected);
}

static void test_parameters(void **state) {
  (void)state;
  nxg_graph *g = parse("nxir 2\ngraph @g(%x: f32[3]) -> (%y, %p, %y, %x, %h) {\n%p = full param 1 "
                       ": f32[]\n%h = full param 0 : f16[2]\n%y = mul %x, %p\n}\n");
  nxg_program *p = program(g);
  float x[3] = {1, 2, 3}, y[3], y2[3], x2[3], scalar;
  uint16_t half[2];
  void *in[1] = {x}, *out[5] = {y, &scalar, y2, x2, half};
  for (int i = 1; i < 4; i++) {
    uint64_t params[2] = {0x3c00u + (uint64_t)i, nxi_bits_f32((float)i)};
    assert_int_equal(nxg_program_run(p, in, params, NULL, out, NULL), NX_OK);
    CHECK_FLOATS(y, (float)i, 2.0f * (float)i, 3.0f * (float)i);
    CHECK_FLOATS(&scalar, (float)i);
    assert_memory_equal(y, y2, sizeof y);
    assert_memory_equal(x, x2, sizeof x);
    assert_true(half[0] == 0x3c00 + i && half[1] == 0x3c00 + i);
  }
  nxg_program_destroy(p);
  nxg_destroy(g);
}

static void test_alias_range(void **state) {
  (void)state;
  nxg_graph *g = parse("nxir 2\ngraph @g(%old: i32[10], %s: i32[2,2], %w: i32[4]) -> (%y) {\n"
                       "%y = update %old, %s, %w offset=0 shape=[2,2] strides=[3,-1]\n}\n");
  nxg_program *p = program(g);
  int32_t old[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, source[4] = {50, 51, 52, 53}, y[10];
  void *in[3] = {old, source, old}, *out[1] = {y};
  int64_t alias_offsets[3] = {0, 0, 4};
  nxi_diag d;
  nxi_diag_clear(&d);
  assert_int_equal(nxg_program_run(p, in, NULL, alias_offsets, out, &d), NX_OK);
  assert_memory_equal(y, ((int32_t[]){0, 1, 2, 51, 50, 5, 53, 52, 8, 9}), sizeof y);
  for (int64_t bad = -2; bad <= 7;
       bad += 9) { /* 0 is too low: the view reaches one below its first element */
    alias_offsets[2] = bad;
    nxi_diag_clear(&d);
    assert_int_equal(nxg_program_run(p, in, NULL, alias_offsets, out, &d), NX_INVALID_ARGUMENT);
    assert_non_null(strstr(d.message, "leaves the storage of shape [10]"));
  }
  alias_offsets[2] = INT64_MAX;
  assert_int_equal(nxg_program_run(p, in, NULL, alias_offsets, out, NULL), NX_INVALID_ARGUMENT);
  alias_offsets[2] = 6;
  assert_int_equal(nxg_program_run(p, in, NULL, alias_offsets, out, NULL), NX_OK);
  assert_int_equal(y[9], 52);
  nxg_program_destroy(p);
  nxg_destroy(g);
}

static void test_imported_bools(void **state) {
  (void)state;
  uint8_t x[4] = {0, 1, 2, 255}, y[4];
  static const char *const words[] = {"copy %x",
                                      "and %x, %x",
                                      "cast %x : u8[4]",
                                      "bitcast %x : u8[4]",
                                      "pad %x before=[0] after=[0]",
                                      "cat %x axis=0",
                                      "reduce_max %x axes=[]",
                                      "contiguous %x",
                                      "where %x, %x, %x"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    char text[200] = "nxir 2\ngraph @g(%x: bool[4]) -> (%y) {\n%y = ";
    strcat(strcat(text, words[i]), "\n}\n");
    run_text(text, x, y);
    assert_memory_equal(y, ((uint8_t[]){0, 1, 1, 1}), 4);
  }
}

/* ---- elementwise against the scalar evaluator */

enum { ELEMENTS = 600 }; /* more than two chunks */

static uint64_t random_state = 88172645463325252u;
static uint64_t next_random(void) {
  random_state ^= random_state << 13, random_state ^= random_state >> 7,
      random_state ^= random_state << 17;
  return random_state;
}

/* Random bits, many of them near 0, 1, -1 or the ends of the range. */
static uint64_t random_scalar(nx_dtype t) {
  int bits = t == NX_BOOL ? 1 : nxi_dtypes[t].bits;
  uint64_t r = next_random(), all = UINT64_MAX >> (64 - bits);
  switch (r % 5) {
    case 0: return (r >> 8) % 8 & all;
    case 1: return -((r >> 8) % 8) & all;
    case 2: return nxi_cast_bits((r >> 8) % 200, NX_I64, t);
    case 3: return ((all >> 1) + (r >> 8) % 3) & all;
    default: return r >> (64 - bits);
  }
}

static uint64_t evaluate(nxk_op op, nx_dtype type, nx_dtype result, const uint64_t *raw,
                         uint32_t n) {
  nx_dtype wide = nxi_compute_dtype(type), to = nxi_is_small_float(result) ? NX_F32 : result;
  uint64_t args[4];
  if (op == NXK_cast) return nxi_cast_bits(raw[0], type, result);
  if (!(nxk_scalars[op].admits & nxi_dtypes[type].cls))
    return raw[0]; /* rounding an integer: the graph alone admits it */
  if (op == NXK_bitcast || op == NXK_select) return nxk_eval(op, type, result, raw);
  for (uint32_t k = 0; k < n; k++) args[k] = nxi_cast_bits(raw[k], type, wide);
  return nxi_cast_bits(nxk_eval(op, wide, to, args), to, result);
}

/* The scalar operation that an operation of graphs is; sums and products of bools are logic. */
static nxk_op scalar_of(nxg_op op, nx_dtype t) {
  if (t == NX_BOOL && op == NXG_add) return NXK_or;
  if (t == NX_BOOL && op == NXG_mul) return NXK_and;
  return (nxk_op)nxg_ops[op].scalar;
}

/* One operation on dense operands, or on ones that are walked backwards. */
static void check_map(nxg_op op, nx_dtype type, nx_dtype given, bool backwards) {
  nxg_graph *g = nxg_create("map");
  int64_t shape[NXG_MAX_RANK] = {ELEMENTS}, turn[2] = {ELEMENTS - 1, -1};
  uint32_t n = (uint32_t)nxg_ops[op].args, args[4];
  uint64_t *raw[4];
  void *in[4], *out;
  nxg_type types[4];
  nx_dtype result;
  int32_t rank;
  for (uint32_t k = 0; k < n; k++) {
    nx_dtype t = op == NXG_where && k == 0 ? NX_BOOL : type;
    args[k] = nxg_add_input(g, t, 1, shape, 0, -1, NULL);
    if (backwards) args[k] = nxg_add(g, NXG_view, 1, &args[k], turn, 2, t, 1, shape);
    types[k] = (nxg_type){t, 1, g->nodes[args[k]].shape};
    raw[k] = malloc(ELEMENTS * sizeof *raw[k]);
    in[k] = calloc(ELEMENTS, (size_t)nxi_dtype_size(t));
    for (int i = 0; i < ELEMENTS; i++) {
      uint64_t bits = raw[k][backwards ? ELEMENTS - 1 - i : i] = random_scalar(t);
      nxi_store_at(in[k], t, i, bits);
    }
  }
  assert_int_equal(nxg_infer(op, n, types, NULL, 0, given, &result, &rank, shape, NULL), NX_OK);
  nxg_add_output(g, nxg_add(g, op, n, args, NULL, 0, result, rank, shape), "y");
  nxg_program *p = program(g);
  out = malloc(ELEMENTS * (size_t)nxi_dtype_size(result));
  assert_int_equal(nxg_program_run(p, in, NULL, NULL, &out, NULL), NX_OK);
  for (int i = 0; i < ELEMENTS; i++) {
    uint64_t each[4] = {0};
    for (uint32_t k = 0; k < n; k++) each[k] = raw[k][i];
    if (nxk_scalars[nxg_ops[op].scalar].flags & NXK_FUNC && i % 16) continue; /* slow */
    uint64_t want = evaluate(scalar_of(op, type), type, result, each, n);
    uint64_t got = nxi_load_at(out, result, i);
    if (!nxi_same_bits(got, want, result))
      fail_msg("%s %s -> %s of %#llx, %#llx is %#llx, not %#llx", nxg_ops[op].name,
               nxi_dtypes[type].name, nxi_dtypes[result].name, (unsigned long long)each[0],
               (unsigned long long)each[1], (unsigned long long)got, (unsigned long long)want);
  }
  for (uint32_t k = 0; k < n; k++) free(raw[k]), free(in[k]);
  free(out);
  nxg_program_destroy(p);
  nxg_destroy(g);
}

static bool admits(nxg_op op, nx_dtype t) {
  return nxg_op_admits(op, t) && !nxi_is_complex(t) && !nxi_is_stored(t) &&
         nxg_ops[op].scalar != -1;
}

static void test_every_map(void **state) {
  (void)state;
  int checked = 0;
  for (int op = 0; op < NXG_OP_COUNT; op++) {
    if (nxg_ops[op].kind != NXG_KIND_MAP) continue;
    for (nx_dtype t = 1; t < NXI_DTYPE_COUNT; t++) {
      bool converts = nxg_ops[op].result == NXG_RESULT_GIVEN;
      for (nx_dtype to = converts ? 1 : t;
           admits((nxg_op)op, t) && to < (converts ? NXI_DTYPE_COUNT : t + 1); to++) {
        if (converts && !admits((nxg_op)op, to)) continue;
        if (op == NXG_bitcast && nxi_dtypes[t].bits != nxi_dtypes[to].bits) continue;
        if (checked++ % (SANITIZED ? 3 : 1) == 0) check_map((nxg_op)op, t, to, checked % 2);
      }
    }
  }
  assert_in_range(checked, 500, 2000);
}

/* ---- reductions against the streaming reducer */

static void check_reduce(nxg_op op, nx_dtype t, int64_t rows, int64_t columns, bool last) {
  char text[300];
  nxk_reduce_kind kind = nxg_reduce_kind(op);
  if (t == NX_BOOL && kind == NXK_SUM) kind = NXK_MAX;
  if (t == NX_BOOL && kind == NXK_PROD) kind = NXK_MIN;
  int64_t n = last ? columns : rows, results = last ? rows : columns;
  bool arg = nxk_finds_index(kind);
  nx_dtype wide = nxi_compute_dtype(t), result = arg ? NX_I32 : t;
  snprintf(text, sizeof text,
           "nxir 2\ngraph @g(%%x: %s[%lld,%lld]) -> (%%y) {\n%%y = %s %%x %s%d%s\n}\n",
           nxi_dtypes[t].name, (long long)rows, (long long)columns, nxg_ops[op].name,
           arg ? "axis=" : "axes=[", last, arg ? "" : "]");
  char *in = calloc((size_t)(rows * columns), (size_t)nxi_dtype_size(t)),
       *out = malloc((size_t)(results * nxi_dtype_size(result)));
  for (int64_t i = 0; i < rows * columns; i++) {
    double unit = (double)(int64_t)next_random() * 0x1p-63; /* sums whose order shows */
    uint64_t bits = nxi_is_float(t) && next_random() % 64
                        ? nxi_cast_bits(nxi_bits_f64(unit), NX_F64, t)
                        : random_scalar(t);
    nxi_store_at(in, t, i, bits);
  }
  run_text(text, in, out);
  nxi_reducer *r = malloc(sizeof *r);
  for (int64_t i = 0; i < results; i++) {
    nxi_reducer_start(r, kind, last ? NXK_ORDER_LANES : NXK_ORDER_PLAIN, wide);
    for (int64_t k = 0; k < n; k++) {
      int64_t at = last ? i * columns + k : k * columns + i;
      nxi_reducer_add(r, nxi_cast_bits(nxi_load_at(in, t, at), t, wide), 0);
    }
    uint64_t value = nxi_reducer_finish(r),
             want = arg ? value & UINT32_MAX : nxi_cast_bits(value, wide, t);
    uint64_t got = nxi_load_at(out, result, i);
    if (!nxi_same_bits(got, want, result))
      fail_msg("%s: element %lld is %#llx, not %#llx", text, (long long)i, (unsigned long long)got,
               (unsigned long long)want);
  }
  free(r);
  free(in);
  free(out);
}

static void test_every_reduce(void **state) {
  (void)state;
  static const int64_t sizes[] = {2, 15, 16, 17, 31, 255, 256, 257, 512, 700, 1279};
  int checked = 0;
  for (int op = 0; op < NXG_OP_COUNT; op++) {
    if (nxg_ops[op].kind != NXG_KIND_REDUCE) continue;
    for (nx_dtype t = 1; t < NXI_DTYPE_COUNT; t++) {
      if (!nxg_op_admits((nxg_op)op, t) || nxi_is_complex(t) || nxi_is_stored(t)) continue;
      for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++, checked++) {
        check_reduce((nxg_op)op, t, 2, sizes[s], true);
        check_reduce((nxg_op)op, t, sizes[s], 2, false);
      }
    }
  }
  assert_in_range(checked, 900, 2000);
}

/* ---- matrix products */

static int library_calls;
static nx_status times_hundred(nx_dtype t, int64_t batches, int64_t m, int64_t n, int64_t k,
                               const void *a, int64_t a_row, int64_t a_column, const void *b,
                               int64_t b_row, int64_t b_column, void *c, nxi_diag *d) {
  (void)d;
  const float *x = a, *y = b;
  float *z = c;
  library_calls++;
  assert_int_equal(batches, 2);
  if (t != NX_F32) return NX_DEVICE_UNAVAILABLE;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      z[i * n + j] = 0;
      for (int64_t l = 0; l < k; l++)
        z[i * n + j] += 100 * x[i * a_row + l * a_column] * y[l * b_row + j * b_column];
    }
  return NX_OK;
}

static void check_product(const char *t, int size, bool by_library) {
  char text[300];
  nx_dtype type = nx_dtype_from_name(t);
  snprintf(text, sizeof text,
           "nxir 2\ngraph @g(%%x: %s[2,%d,3]) -> (%%y) {\n%%t = permute %%x axes=[0,2,1]\n%%y = "
           "matmul %%x, %%t\n}\n",
           t, size);
  char *x = malloc((size_t)(2 * size * 3 * 8)), *y = malloc((size_t)(2 * size * size * 8));
  for (int i = 0; i < 2 * size * 3; i++)
    nxi_store_at(x, type, i, nxi_cast_bits((uint64_t)(i % 5), NX_I64, type));
  run_text(text, x, y);
  for (int b = 0; b < 2; b++)
    for (int i = 0; i < size; i++)
      for (int j = 0; j < size; j++) {
        int64_t want = 0;
        for (int k = 0; k < 3; k++)
          want += (b * size * 3 + i * 3 + k) % 5 * ((b * size * 3 + j * 3 + k) % 5);
        uint64_t got = nxi_load_at(y, type, b * size * size + i * size + j);
        assert_int_equal(got,
                         nxi_cast_bits((uint64_t)(want * (by_library ? 100 : 1)), NX_I64, type));
      }
  free(x);
  free(y);
}

static void test_matmul_hook(void **state) {
  (void)state;
  static const char *const types[] = {"f32", "f64", "f16", "bf16", "i8", "u64"};
  nxg_set_matmul(times_hundred);
  library_calls = 0;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) check_product(types[i], 32, false);
  assert_int_equal(library_calls, 0); /* small ones are never asked for */
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    check_product(types[i], 33, i == 0 || i == 2 || i == 3);
  assert_int_equal(library_calls, 8); /* two matrices each of four float types */
  nxg_set_matmul(NULL);
  check_product("f32", 33, false);
}

/* ---- memory */

/* A long chain in little memory: dead buffers are used again, and nothing recurses. */
static void test_chain(void **state) {
  (void)state;
  enum { LENGTH = 200000, WIDTH = 1000 };
  nxg_graph *g = nxg_create("chain");
  int64_t shape[1] = {WIDTH};
  uint32_t args[2] = {nxg_add_input(g, NX_F32, 1, shape, 0, -1, NULL)};
  args[1] = args[0];
  for (int i = 0; i < LENGTH / 100; i++)
    args[0] = nxg_add(g, NXG_add, 2, args, NULL, 0, NX_F32, 1, shape);
  for (int i = 0; i < LENGTH; i++)
    args[0] = nxg_add(g, NXG_neg, 1, args, NULL, 0, NX_F32, 1, shape);
  nxg_add_output(g, args[0], NULL);
  assert_false(g->failed);
  nxg_program *p = program(g);
  assert_int_equal(nxg_program_work(p), (int64_t)WIDTH * (LENGTH + LENGTH / 100));
  float *x = malloc(WIDTH * sizeof *x), *y = malloc(WIDTH * sizeof *y);
  for (int i = 0; i < WIDTH; i++) x[i] = (float)i;
  void *in[1] = {x}, *out[1] = {y};
  for (int again = 0; again < 2; again++)
    assert_int_equal(nxg_program_run(p, in, NULL, NULL, out, NULL), NX_OK);
  for (int i = 0; i < WIDTH; i++) assert_true(y[i] == (float)i * (LENGTH / 100 + 1));
  free(x);
  free(y);
  nxg_program_destroy(p);
  nxg_destroy(g);
}

static const char diamond[] =
    "nxir 2\ngraph @g(%x: f32[40,50]) -> (%y, %s, %t) {\n%a = mul %x, %x\n%b = neg %a\n%c = "
    "permute %b axes=[1,0]\n%d = add %c, %c\n"
    "%e = reduce_sum %d axes=[0] keepdims\n%f = reduce_max %a axes=[0,1] keepdims\n%g = sub %a, "
    "%f\n%h = abs %g\n%i = cast %h : i16[40,50]\n"
    "%k = cast %i : bf16[40,50]\n%s = reduce_sum %k axes=[0,1]\n%l = expand %e shape=[40,40]\n%y = "
    "reduce_sum %l axes=[1]\n%t = permute %h axes=[1,0]\n}\n";

typedef struct job {
  const nxg_program *p;
  float *x;
  float y[40], t[2000];
  uint16_t s;
} job;

static void *run_job(void *argument) {
  job *j = argument;
  void *in[1] = {j->x}, *out[3] = {j->y, &j->s, j->t};
  for (int i = 0; i < 50; i++)
    if (nxg_program_run(j->p, in, NULL, NULL, out, NULL)) return "failed";
  return NULL;
}

static void test_side_by_side(void **state) {
  (void)state;
  enum { THREADS = 4 };
  nxg_graph *g = parse(diamond);
  nxg_program *p = program(g);
  float x[2000];
  pthread_t threads[THREADS];
  job *jobs = calloc(THREADS, sizeof *jobs);
  for (int i = 0; i < 2000; i++) x[i] = (float)(i % 37) * 0.25f;
  for (int i = 0; i < THREADS; i++) {
    jobs[i] = (job){.p = p, .x = x};
    assert_int_equal(pthread_create(&threads[i], NULL, run_job, &jobs[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    void *failed;
    assert_int_equal(pthread_join(threads[i], &failed), 0);
    assert_null(failed);
    assert_memory_equal(jobs[i].y, jobs[0].y, sizeof jobs[i].y);
    assert_memory_equal(jobs[i].t, jobs[0].t, sizeof jobs[i].t);
    assert_int_equal(jobs[i].s, jobs[0].s);
  }
  for (int i = 0; i < 40; i++)
    assert_true(jobs[0].t[i] == 81 - x[i * 50] * x[i * 50]); /* 9 squared is the largest */
  free(jobs);
  nxg_program_destroy(p);
  nxg_destroy(g);
}

static void test_no_memory(void **state) {
  (void)state;
  nxg_graph *g = parse(diamond);
  static float x[2000], y[40], t[2000];
  uint16_t s;
  void *in[1] = {x}, *out[3] = {y, &s, t};
  int failures = 0;
  for (int64_t after = 0;; after++, failures++) {
    nxg_program *p = NULL;
    nxi_diag d;
    nxi_diag_clear(&d);
    nxi_alloc_fail(after, after % 2);
    nx_status status = nxp_program_create(g, &p, &d);
    if (status) assert_null(p);
    else status = nxg_program_run(p, in, NULL, NULL, out, &d);
    nxi_alloc_fail(-1, false);
    nxg_program_destroy(p);
    if (!status) break;
    assert_int_equal(status, NX_OUT_OF_MEMORY);
    assert_int_equal(d.status, NX_OUT_OF_MEMORY);
  }
  assert_in_range(failures, 5, 500);
  nxg_destroy(g);
}

/* Nothing is computed that no output needs, and outputs of any kind work without elements. */
static void test_unneeded_and_empty(void **state) {
  (void)state;
  nxg_graph *g = parse("nxir 2\ngraph @g(%x: f32[1000]) -> () {\n%a = exp %x\n}\n");
  nxg_program *p = program(g);
  assert_int_equal(nxg_program_work(p), 0);
  void *none[1] = {NULL};
  assert_int_equal(nxg_program_run(p, none, NULL, NULL, none, NULL), NX_OK);
  nxg_program_destroy(p);
  nxg_destroy(g);
  g = parse("nxir 2\ngraph @g(%x: f32[0,3]) -> (%x, %a, %b, %c, %m, %e) {\n%a = neg %x\n%b = "
            "permute %x axes=[1,0]\n%c = cat %x, %x axis=1\n"
            "%m = matmul %x, %b\n%e = eye : i8[0,0]\n}\n");
  p = program(g);
  void *outs[6] = {NULL};
  assert_int_equal(nxg_program_run(p, none, NULL, NULL, outs, NULL), NX_OK);
  nxg_program_destroy(p);
  nxg_destroy(g);
}

/* A poll is heard within a step, wherever the time goes, and its answer ends the run. */
static int32_t polls;
static int32_t stop(void *user) { return (void)user, ++polls; }
static void test_poll(void **state) {
  (void)state;
  static const char *const bodies[] = {
      "%y = sin %b", "%c = sqrt %b\n%d = div %c, %b\n%e = sqrt %d\n%f = div %e, %c\n%y = sqrt %f",
      "%y = reduce_sum %b axes=[0]", "%y = argmax %b axis=0"};
  void *in = calloc(1, sizeof(float)), *out = malloc(sizeof(float) << 24);
  assert_true(in && out);
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++, polls = 0) {
    char text[400];
    snprintf(text, sizeof text,
             "nxir 2\ngraph @g(%%x: f32[1]) -> (%%y) {\n%%b = expand %%x : f32[%ld]\n%s\n}\n",
             i == 2 ? 1L << 28 : 1L << 24, bodies[i]);
    nxg_graph *g = parse(text);
    nxg_program *p = program(g);
    nx_status s = nxg_program_run_polled(p, &in, NULL, NULL, &out, stop, NULL, NULL, NULL);
    assert_int_equal(s, NX_INTERRUPTED);
    assert_int_equal(polls, 1);
    nxg_program_destroy(p);
    nxg_destroy(g);
  }
  free(in);
  free(out);
}

NXT_MAIN(interp_graph) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_expressions),        cmocka_unit_test(test_reductions_by_hand),
      cmocka_unit_test(test_threefry),           cmocka_unit_test(test_parameters),
      cmocka_unit_test(test_alias_range),        cmocka_unit_test(test_imported_bools),
      cmocka_unit_test(test_every_map),          cmocka_unit_test(test_every_reduce),
      cmocka_unit_test(test_matmul_hook),        cmocka_unit_test(test_chain),
      cmocka_unit_test(test_side_by_side),       cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_unneeded_and_empty), cmocka_unit_test(test_poll),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
