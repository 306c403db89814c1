/* SPDX-License-Identifier: ISC */
/* Bad input through the public interface, row by row of the contract's table: every operation with
 * null operands, dtypes it does not admit, shapes that do not fit, axes out of range or repeated,
 * results too large to exist. Each refusal returns NULL and leaves a status, the operation, the
 * operand, and a sentence with both shapes; the first error of a thread stays. */
#include "tests/util/api.h"
#include "codegen_llvm/codegen_llvm.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])
enum { B = 1, I = 2, F = 4 };

static const struct {
  nx_dtype dtype;
  int class;
} dtypes[] = {{NX_BOOL, B},   {NX_I4, I},  {NX_U4, I},   {NX_I8, I},  {NX_U8, I},  {NX_I16, I},
              {NX_U16, I},    {NX_I32, I}, {NX_U32, I},  {NX_I64, I}, {NX_U64, I}, {NX_F8E4M3, F},
              {NX_F8E5M2, F}, {NX_F16, F}, {NX_BF16, F}, {NX_F32, F}, {NX_F64, F}};

static nx_tensor *of(nx_dtype t, const int64_t *shape, int32_t rank) {
  return GOOD(nx_full(ctx, 0, t, shape, rank, NX_INTEGER(1)));
}

static nx_error take(void) {
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  return e;
}

static void explain(const nx_error *e, int line, const char *wanted) {
  fprintf(stderr, "line %d: %s of \"%s\", operand %d: \"%s\"; wanted %s\n", line,
          nx_status_name(e->status), e->op ? e->op : "", (int)e->operand,
          e->message ? e->message : "", wanted);
}

/* What the error must be; every word (up to a NULL) must be in the sentence. */
static void expect_error(int line, nx_status status, const char *op, int operand,
                         const char *const *words) {
  nx_error e = take();
  bool good = e.status == status && e.op != NULL && strcmp(e.op, op) == 0 &&
              (operand < 0 || e.operand == operand);
  good = good && e.message != NULL && strncmp(e.message, op, strlen(op)) == 0;
  if (!good) explain(&e, line, op);
  for (; good && *words != NULL; words++)
    if (strstr(e.message, *words) == NULL) {
      explain(&e, line, *words);
      good = false;
    }
  assert_true(good);
}

/* BAD(status, op, operand or -1, call, words that the sentence has...) */
#define BAD(status, op, operand, call, ...)                               \
  do {                                                                    \
    nx_tensor *bad = (call);                                              \
    if (bad != NULL) fprintf(stderr, "line %d: accepted\n", __LINE__);    \
    assert_null(bad);                                                     \
    expect_error(__LINE__, status, op, operand,                           \
                 (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL}); \
  } while (0)
#define INVALID(op, operand, call, ...) BAD(NX_INVALID_ARGUMENT, op, operand, call, __VA_ARGS__)
#define OUTSIDE(op, operand, call, ...) BAD(NX_INDEX_OUT_OF_RANGE, op, operand, call, __VA_ARGS__)
#define DTYPE(op, operand, call, ...)   BAD(NX_UNSUPPORTED_DTYPE, op, operand, call, __VA_ARGS__)

/* ---- the tables of operations, written down here again */

static const struct unary {
  const char *name;
  nx_tensor *(*f)(nx_tensor *);
  int admits;
} unaries[] = {
#define U(name, admits) {#name, nx_##name, admits}
    U(neg, I | F),  U(abs, I | F),   U(sign, I | F),  U(recip, I | F), U(sqrt, F), U(exp, F),
    U(log, F),      U(sin, F),       U(cos, F),       U(tan, F),       U(asin, F), U(acos, F),
    U(atan, F),     U(sinh, F),      U(cosh, F),      U(tanh, F),      U(erf, F),  U(log1p, F),
    U(expm1, F),    U(asinh, F),     U(acosh, F),     U(atanh, F),     U(rint, F), U(trunc, I | F),
    U(ceil, I | F), U(floor, I | F), U(round, I | F),
#undef U
};
static const struct binary {
  const char *name;
  nx_tensor *(*f)(nx_tensor *, nx_tensor *);
  int admits;
} binaries[] = {
#define N(name, admits) {#name, nx_##name, admits}
    N(add, B | I | F),   N(sub, I | F),       N(mul, B | I | F),   N(div, I | F),
    N(mod, I | F),       N(pow, I | F),       N(atan2, F),         N(cmpeq, B | I | F),
    N(cmpne, B | I | F), N(cmplt, B | I | F), N(cmple, B | I | F), N(cmpgt, B | I | F),
    N(cmpge, B | I | F), N(max, B | I | F),   N(min, B | I | F),   N(xor, B | I),
    N(or, B | I),        N(and, B | I),       N(shl, I),           N(shr, I),
#undef N
};
static const struct reduction {
  const char *name;
  nx_tensor *(*f)(nx_tensor *, const int32_t *, size_t, uint32_t);
  int admits;
  bool empty;
} reductions[] = {{"reduce_sum", nx_reduce_sum, B | I | F, true},
                  {"reduce_prod", nx_reduce_prod, B | I | F, true},
                  {"reduce_max", nx_reduce_max, B | I | F, false},
                  {"reduce_min", nx_reduce_min, B | I | F, false}};
static const struct arg {
  const char *name;
  nx_tensor *(*f)(nx_tensor *, int32_t, uint32_t, nx_dtype);
} args[] = {{"reduce_argmax", nx_reduce_argmax}, {"reduce_argmin", nx_reduce_argmin}};

/* ---- null operands, and the first error */

static void null_operands(void **state) {
  (void)state;
  nx_tensor *x = of(NX_F32, NX_SHAPE(2, 3)), *b = of(NX_BOOL, NX_SHAPE(2, 3)), *list[2] = {x, NULL};
  const int64_t zero[2] = {0, 0}, one[2] = {1, 1};
  for (size_t i = 0; i < COUNT(unaries); i++) INVALID(unaries[i].name, 0, unaries[i].f(NULL));
  for (size_t i = 0; i < COUNT(binaries); i++) {
    INVALID(binaries[i].name, 0, binaries[i].f(NULL, x));
    INVALID(binaries[i].name, 1, binaries[i].f(x, NULL));
    INVALID(binaries[i].name, 0, binaries[i].f(NULL, NULL));
  }
  for (size_t i = 0; i < COUNT(reductions); i++)
    INVALID(reductions[i].name, 0, reductions[i].f(NULL, NX_AXES(0), 0));
  for (size_t i = 0; i < COUNT(args); i++) INVALID(args[i].name, 0, args[i].f(NULL, 0, 0, NX_I32));
  INVALID("where", 0, nx_where(NULL, x, x));
  INVALID("where", 1, nx_where(b, NULL, x));
  INVALID("where", 2, nx_where(b, x, NULL));
  INVALID("cast", 0, nx_cast(NULL, NX_F32));
  INVALID("bitcast", 0, nx_bitcast(NULL, NX_F32));
  INVALID("expand", 0, nx_expand(NULL, NX_SHAPE(2)));
  INVALID("reshape", 0, nx_reshape(NULL, NX_SHAPE(2), 0));
  INVALID("permute", 0, nx_permute(NULL, NX_AXES(0)));
  INVALID("shrink", 0, nx_shrink(NULL, zero, one, 2));
  INVALID("flip", 0, nx_flip(NULL, NX_AXES(0)));
  INVALID("slice", 0, nx_slice(NULL, zero, one, one, 2));
  INVALID("as_strided", 0, nx_as_strided(NULL, (const int64_t[]){1}, one, 1, 0));
  INVALID("to_device", 0, nx_to_device(NULL, 0));
  INVALID("pad", 0, nx_pad(NULL, one, one, 2, NX_NUMBER(0)));
  INVALID("cat", 1, nx_cat(list, 2, 0));
  INVALID("contiguous", 0, nx_contiguous(NULL));
  INVALID("copy", 0, nx_copy(NULL));
  INVALID("threefry", 0, nx_threefry(NULL, x));
  INVALID("threefry", 1, nx_threefry(x, NULL));
  INVALID("matmul", 0, nx_matmul(NULL, x));
  INVALID("matmul", 1, nx_matmul(x, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_assign(NULL, x));
  FAILS(NX_INVALID_ARGUMENT, nx_assign(x, NULL));
}

/* Lists that have entries and are not there. */
static void null_lists(void **state) {
  (void)state;
  nx_tensor *x = of(NX_F32, NX_SHAPE(2, 3));
  const int64_t some[2] = {1, 1};
  for (size_t i = 0; i < COUNT(reductions); i++)
    INVALID(reductions[i].name, -1, reductions[i].f(x, NULL, 2, 0));
  INVALID("expand", -1, nx_expand(x, NULL, 2));
  INVALID("reshape", -1, nx_reshape(x, NULL, 1, 0));
  INVALID("permute", -1, nx_permute(x, NULL, 2));
  INVALID("flip", -1, nx_flip(x, NULL, 1));
  INVALID("shrink", -1, nx_shrink(x, NULL, some, 2));
  INVALID("shrink", -1, nx_shrink(x, some, NULL, 2));
  INVALID("slice", -1, nx_slice(x, NULL, some, some, 2));
  INVALID("slice", -1, nx_slice(x, some, NULL, some, 2));
  INVALID("slice", -1, nx_slice(x, some, some, NULL, 2));
  INVALID("as_strided", -1, nx_as_strided(x, NULL, some, 2, 0));
  INVALID("as_strided", -1, nx_as_strided(x, some, NULL, 2, 0));
  INVALID("pad", -1, nx_pad(x, NULL, some, 2, NX_NUMBER(0)));
  INVALID("pad", -1, nx_pad(x, some, NULL, 2, NX_NUMBER(0)));
  INVALID("pad", -1, nx_pad(x, some, some, 2, NULL));
  INVALID("cat", -1, nx_cat(NULL, 2, 0));
  INVALID("cat", -1, nx_cat(&x, 0, 0));
  INVALID("full", -1, nx_full(ctx, 0, NX_F32, NX_SHAPE(2), NULL));
  INVALID("full", -1, nx_full(ctx, 0, NX_F32, NULL, 2, NX_NUMBER(0)));
  INVALID("full", -1, nx_full(NULL, 0, NX_F32, NX_SHAPE(2), NX_NUMBER(0)));
  INVALID("full", -1,
          nx_full(ctx, 0, NX_F32, NX_SHAPE(2), &(const nx_scalar){(nx_scalar_kind)77, {0}}));
  INVALID("empty", -1, nx_empty(ctx, 0, NX_F32, NULL, 3));
  INVALID("arange", -1, nx_arange(ctx, 0, NX_F32, NULL, NX_NUMBER(1), 3));
  INVALID("arange", -1, nx_arange(ctx, 0, NX_F32, NX_NUMBER(1), NULL, 3));
  INVALID("eye", -1, nx_eye(NULL, 0, NX_F32, 2, 2, 0));
  INVALID("placeholder", -1, nx_placeholder(NULL, 0, NX_F32, NX_SHAPE(2)));
}

static void the_first_error_stays(void **state) {
  (void)state;
  nx_tensor *x = of(NX_F32, NX_SHAPE(2, 3)), *y = of(NX_F32, NX_SHAPE(4)),
            *i32 = of(NX_I32, NX_SHAPE(2, 3)), *list[2] = {x, NULL};
  for (size_t i = 0; i < COUNT(unaries) + COUNT(binaries) + 20; i++) {
    nx_tensor *bad = nx_mul(x, y), *n = NULL;
    assert_null(bad);
    size_t k = i - COUNT(unaries);
    if (i < COUNT(unaries)) n = unaries[i].f(bad);
    else if (k < COUNT(binaries)) n = binaries[k].f(bad, x);
    else switch (k - COUNT(binaries)) {
        case 0: n = nx_where(bad, x, x); break;
        case 1: n = nx_cast(bad, 99); break;
        case 2: n = nx_reduce_sum(bad, NX_AXES(7), 0); break;
        case 3: n = nx_reduce_argmax(bad, 7, 0, NX_I32); break;
        case 4: n = nx_expand(bad, NULL, 99); break;
        case 5: n = nx_reshape(bad, NULL, 99, 0); break;
        case 6: n = nx_permute(bad, NULL, 5); break;
        case 7: n = nx_shrink(bad, NULL, NULL, 0); break;
        case 8: n = nx_flip(bad, NULL, 2); break;
        case 9: n = nx_slice(bad, NULL, NULL, NULL, 0); break;
        case 10: n = nx_as_strided(bad, NULL, NULL, -2, -1); break;
        case 11: n = nx_pad(bad, NULL, NULL, 0, NULL); break;
        case 12: n = nx_cat(list, 2, 9); break;
        case 13: n = nx_copy(bad); break;
        case 14: n = nx_contiguous(bad); break;
        case 15: n = nx_matmul(x, bad); break;
        case 16: n = nx_threefry(bad, bad); break;
        case 17: n = nx_keep(bad); break;
        case 18: assert_int_equal(nx_assign(x, bad), NX_INVALID_ARGUMENT); break;
        default: n = nx_add(x, i32); break; /* a second failure of its own */
      }
    assert_null(n);
    expect_error(__LINE__, NX_INVALID_ARGUMENT, "mul", 1,
                 (const char *const[]){"[2,3]", "[4]", NULL});
    assert_int_equal(nx_error_take(NULL), NX_OK);
  }
}

/* ---- dtypes */

static void dtypes_that_are_not_admitted(void **state) {
  (void)state;
  for (size_t k = 0; k < COUNT(dtypes); k++) {
    const char *name = nx_dtype_name(dtypes[k].dtype);
    nx_tensor *x = of(dtypes[k].dtype, NX_SHAPE(2, 3));
    for (size_t i = 0; i < COUNT(unaries); i++) {
      if (unaries[i].admits & dtypes[k].class) GOOD(unaries[i].f(x));
      else DTYPE(unaries[i].name, 0, unaries[i].f(x), name);
    }
    for (size_t i = 0; i < COUNT(binaries); i++) {
      if (binaries[i].admits & dtypes[k].class) GOOD(binaries[i].f(x, x));
      else DTYPE(binaries[i].name, 0, binaries[i].f(x, x), name);
    }
    for (size_t i = 0; i < COUNT(reductions); i++) {
      if (reductions[i].admits & dtypes[k].class) GOOD(reductions[i].f(x, NX_AXES(0), 0));
      else DTYPE(reductions[i].name, 0, reductions[i].f(x, NX_AXES(0), 0), name);
    }
    if (dtypes[k].class != B) DTYPE("where", 0, nx_where(x, x, x), name);
    nx_tensor *pair = of(dtypes[k].dtype, NX_SHAPE(3, 2));
    if (dtypes[k].dtype != NX_I32 && dtypes[k].dtype != NX_U32)
      DTYPE("threefry", 0, nx_threefry(pair, pair), name);
  }
}

static void dtypes_that_do_not_exist_here(void **state) {
  (void)state;
  nx_tensor *x = of(NX_F32, NX_SHAPE(2));
  static const nx_dtype none[] = {0, -1, 25, 99, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < COUNT(none); i++) {
    assert_null(nx_dtype_name(none[i]));
    assert_null(nx_cast(x, none[i]));
    assert_true(take().status != NX_OK);
    assert_null(nx_bitcast(x, none[i]));
    assert_true(take().status != NX_OK);
    assert_null(nx_empty(ctx, 0, none[i], NX_SHAPE(2)));
    assert_true(take().status != NX_OK);
  }
}

static void dtypes_that_differ(void **state) {
  (void)state;
  nx_tensor *f = of(NX_F32, NX_SHAPE(2, 3)), *d = of(NX_F64, NX_SHAPE(2, 3)),
            *i = of(NX_I32, NX_SHAPE(2, 3)), *u = of(NX_U32, NX_SHAPE(2, 3));
  nx_tensor *b = of(NX_BOOL, NX_SHAPE(2, 3)), *pair[2] = {f, d};
  for (size_t k = 0; k < COUNT(binaries); k++) {
    if (binaries[k].admits & F) INVALID(binaries[k].name, 1, binaries[k].f(f, d), "f32", "f64");
    if (binaries[k].admits & I) INVALID(binaries[k].name, 1, binaries[k].f(i, u), "i32", "u32");
  }
  INVALID("where", 2, nx_where(b, f, d), "f32", "f64");
  INVALID("cat", 1, nx_cat(pair, 2, 0), "f32", "f64");
  INVALID("matmul", 1, nx_matmul(f, nx_permute(d, NX_AXES(1, 0))), "f32", "f64");
  INVALID("threefry", 1, nx_threefry(of(NX_I32, NX_SHAPE(2)), of(NX_U32, NX_SHAPE(2))), "i32",
          "u32");
  INVALID("bitcast", -1, nx_bitcast(f, NX_F64), "f32", "f64");
  INVALID("bitcast", -1, nx_bitcast(b, NX_U16), "bool", "u16");
  FAILS(NX_INVALID_ARGUMENT, nx_assign(f, d));
}

/* ---- shapes */

static void shapes_that_do_not_fit(void **state) {
  (void)state;
  nx_tensor *a = of(NX_I32, NX_SHAPE(2, 3)), *b = of(NX_I32, NX_SHAPE(4)),
            *f = of(NX_F32, NX_SHAPE(2, 3)), *g = of(NX_F32, NX_SHAPE(2, 1, 5)),
            *c = of(NX_BOOL, NX_SHAPE(4));
  for (size_t k = 0; k < COUNT(binaries); k++) {
    if (binaries[k].admits & I) INVALID(binaries[k].name, 1, binaries[k].f(a, b), "[2,3]", "[4]");
    if (binaries[k].admits & F)
      INVALID(binaries[k].name, 1, binaries[k].f(f, g), "[2,3]", "[2,1,5]");
  }
  INVALID("where", -1, nx_where(c, a, a), "[2,3]", "[4]");
  INVALID("where", 2, nx_where(of(NX_BOOL, NX_SHAPE(3)), a, b), "[2,3]", "[4]");
  INVALID("matmul", 1, nx_matmul(f, f), "[2,3]");
  INVALID("matmul", 1, nx_matmul(f, of(NX_F32, NX_SHAPE(2))), "[2,3]", "[2]", "inner");
  INVALID("matmul", 1, nx_matmul(of(NX_F32, NX_SHAPE(3)), f), "[3]", "[2,3]", "inner");
  INVALID("matmul", 0, nx_matmul(of(NX_F32, NULL, 0), f), "[]", "a number is no matrix");
  INVALID("matmul", 1, nx_matmul(f, of(NX_F32, NULL, 0)), "[]", "a number is no matrix");
  INVALID("matmul", 1, nx_matmul(of(NX_F32, NX_SHAPE(2, 4, 3)), of(NX_F32, NX_SHAPE(5, 3, 4))),
          "[2,4,3]", "[5,3,4]");
  nx_tensor *list[3] = {a, of(NX_I32, NX_SHAPE(2, 4)), b};
  INVALID("cat", 1, nx_cat(list, 2, 0), "[2,3]", "[2,4]");
  INVALID("cat", -1, nx_cat(list, 3, 1), "[2,3]", "[4]");
  INVALID("cat", -1, nx_cat(list, 2, 2));
  INVALID("cat", -1, nx_cat(list, 2, -3));
  nx_tensor *scalar = of(NX_I32, NULL, 0);
  INVALID("cat", -1, nx_cat(&scalar, 1, 0));
  INVALID("threefry", -1, nx_threefry(a, a), "[2,3]");
  INVALID("threefry", -1, nx_threefry(scalar, scalar));
  INVALID("threefry", 1, nx_threefry(of(NX_I32, NX_SHAPE(3, 2)), of(NX_I32, NX_SHAPE(4, 2))),
          "[3,2]", "[4,2]");
  INVALID("expand", 0, nx_expand(f, NX_SHAPE(2, 4)), "[2,3]", "[2,4]");
  INVALID("expand", 0, nx_expand(f, NX_SHAPE(3)), "[2,3]", "[3]");
  INVALID("reshape", 0, nx_reshape(f, NX_SHAPE(4, 2), 0), "[2,3]", "[4,2]");
  INVALID("reshape", -1, nx_reshape(f, NX_SHAPE(-1, 6), 0));
  INVALID("reshape", 0, nx_reshape(f, NULL, 0, 0), "[2,3]");
  BAD(NX_NEEDS_COPY, "reshape", 0, nx_reshape(nx_permute(f, NX_AXES(1, 0)), NX_SHAPE(6), 0),
      "[3,2]", "[6]");
  INVALID("full", -1, nx_full(ctx, 0, NX_F32, NX_SHAPE(2, -1), NX_NUMBER(0)));
  INVALID("full", -1, nx_full(ctx, 0, NX_F32, NULL, -1, NX_NUMBER(0)));
  INVALID("arange", -1, nx_arange(ctx, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(1), -1));
  INVALID("eye", -1, nx_eye(ctx, 0, NX_F32, 2, -2, 0));
  FAILS(NX_INVALID_ARGUMENT, nx_assign(a, list[1]));
  FAILS(NX_INVALID_ARGUMENT, nx_assign(b, a));
  assert_int_equal(nx_assign(f, g), NX_INVALID_ARGUMENT);
  nx_error e = take();
  assert_non_null(strstr(e.message, "[2,3]"));
  assert_non_null(strstr(e.message, "[2,1,5]"));
}

/* ---- axes and ranges */

static void axes_that_do_not_exist(void **state) {
  (void)state;
  static const int32_t wrong[] = {2, -3, INT32_MAX, INT32_MIN};
  nx_tensor *x = of(NX_F32, NX_SHAPE(2, 3)), *scalar = of(NX_F32, NULL, 0),
            *none = of(NX_F32, NX_SHAPE(0, 3));
  for (size_t k = 0; k < COUNT(wrong); k++) {
    for (size_t i = 0; i < COUNT(reductions); i++)
      INVALID(reductions[i].name, 0, reductions[i].f(x, &wrong[k], 1, 0), "axis");
    for (size_t i = 0; i < COUNT(args); i++)
      INVALID(args[i].name, 0, args[i].f(x, wrong[k], 0, NX_I32), "axis");
    INVALID("flip", 0, nx_flip(x, &wrong[k], 1), "axis");
    INVALID("permute", 0, nx_permute(x, (const int32_t[]){0, wrong[k]}, 2));
  }
  for (size_t i = 0; i < COUNT(reductions); i++) {
    INVALID(reductions[i].name, 0, reductions[i].f(x, NX_AXES(0, 0), 0), "twice");
    INVALID(reductions[i].name, 0, reductions[i].f(x, NX_AXES(0, -2), 0), "twice");
    INVALID(reductions[i].name, 0, reductions[i].f(scalar, NX_AXES(0), 0), "axis");
    GOOD(reductions[i].f(scalar, NX_ALL_AXES, 0));
    INVALID(reductions[i].name, -1, reductions[i].f(scalar, NULL, 0, 0), "NX_ALL_AXES");
    GOOD(reductions[i].f(none, NX_AXES(1), 0)); /* the result is empty too */
    if (reductions[i].empty) GOOD(reductions[i].f(none, NX_AXES(0), 0));
    else INVALID(reductions[i].name, -1, reductions[i].f(none, NX_AXES(0), 0), "[0,3]");
  }
  for (size_t i = 0; i < COUNT(args); i++) {
    INVALID(args[i].name, 0, args[i].f(scalar, 0, 0, NX_I32), "axis");
    INVALID(args[i].name, -1, args[i].f(none, 0, 0, NX_I32), "[0,3]");
    GOOD(args[i].f(none, 1, 0, NX_I32));
  }
  INVALID("flip", 0, nx_flip(x, NX_AXES(1, -1)), "twice");
  INVALID("permute", 0, nx_permute(x, NX_AXES(0, 0)));
  INVALID("permute", 0, nx_permute(x, NX_AXES(0)));
  INVALID("permute", 0, nx_permute(x, NX_AXES(0, 1, 2)));
}

static void ranges_outside(void **state) {
  (void)state;
  nx_tensor *x = of(NX_F32, NX_SHAPE(4, 6));
#define L(...) \
  (const int64_t[]) { __VA_ARGS__ }
  OUTSIDE("shrink", 0, nx_shrink(x, L(0, 0), L(4, 7), 2));
  OUTSIDE("shrink", 0, nx_shrink(x, L(-1, 0), L(4, 6), 2));
  OUTSIDE("shrink", 0, nx_shrink(x, L(3, 0), L(2, 6), 2));
  OUTSIDE("shrink", 0, nx_shrink(x, L(INT64_MIN, 0), L(INT64_MAX, 6), 2));
  INVALID("slice", 0, nx_slice(x, L(0, 0), L(4, 6), L(1, 0), 2));
  OUTSIDE("slice", 0, nx_slice(x, L(0, 0), L(4, 4), L(1, 2), 2));
  OUTSIDE("slice", 0, nx_slice(x, L(0, 2), L(4, 4), L(1, -1), 2));
  OUTSIDE("slice", 0, nx_slice(x, L(0, -1), L(4, 1), L(1, 1), 2));
  INVALID("slice", 0, nx_slice(x, L(0, 0), L(4, -1), L(1, 1), 2));
  OUTSIDE("slice", 0, nx_slice(x, L(0, 0), L(4, 3), L(1, INT64_MAX), 2));
  OUTSIDE("slice", 0, nx_slice(x, L(0, 0), L(4, INT64_MAX), L(1, INT64_MAX), 2));
  OUTSIDE("slice", 0, nx_slice(x, L(0, 5), L(4, 3), L(1, INT64_MIN), 2));
  OUTSIDE("slice", 0, nx_slice(x, L(4, 0), L(1, 1), L(1, 1), 2));
  INVALID("as_strided", 0, nx_as_strided(x, (const int64_t[]){5}, L(6), 1, 0));
  INVALID("as_strided", 0, nx_as_strided(x, (const int64_t[]){5}, L(-1), 1, 3));
  INVALID("as_strided", 0, nx_as_strided(x, (const int64_t[]){1}, L(1), 1, 24));
  INVALID("as_strided", 0, nx_as_strided(x, (const int64_t[]){1}, L(1), 1, -1));
  INVALID("as_strided", 0,
          nx_as_strided(x, (const int64_t[]){2, 2}, L(INT64_MAX, INT64_MAX), 2, 0));
  INVALID("as_strided", 0, nx_as_strided(x, (const int64_t[]){3}, L(INT64_MIN), 1, 23));
  INVALID("as_strided", -1, nx_as_strided(x, (const int64_t[]){-3}, L(1), 1, 0));
  INVALID("pad", -1, nx_pad(x, L(-1, 0), L(0, 0), 2, NX_NUMBER(0)), "[4,6]");
  INVALID("pad", -1, nx_pad(x, L(0, 0), L(0, -2), 2, NX_NUMBER(0)), "[4,6]");
  INVALID("pad", -1, nx_pad(x, L(0, INT64_MAX), L(0, 0), 2, NX_NUMBER(0)), "[4,6]");
  nx_tensor *row = nx_expand(of(NX_F32, NX_SHAPE(1)), NX_SHAPE(5)); /* one element five times */
  FAILS(NX_INVALID_ARGUMENT, nx_assign(row, of(NX_F32, NX_SHAPE(5))));
  assert_int_equal(nx_assign(x, of(NX_F32, NX_SHAPE(7))), NX_INVALID_ARGUMENT);
  expect_error(__LINE__, NX_INVALID_ARGUMENT, "assign", 1,
               (const char *const[]){"assign: the source", "[7]", "[4,6]", NULL});
  INVALID("reduce_max", -1, nx_reduce_max(x, NX_AXES(0), 2), "flags 0x2");
  INVALID("reduce_argmin", -1, nx_reduce_argmin(x, 0, 0x80000001u, NX_I32), "flags 0x80000001");
  INVALID("empty", -1, nx_empty(ctx, 0, 99, NULL, 0), "no dtype 99");
  INVALID("cast", -1, nx_cast(x, -3), "no dtype -3");
}

/* ---- sizes. Nothing here allocates: views of one element, and refusals. */

static void sizes_beyond_63_bits(void **state) {
  (void)state;
  const int64_t half = (int64_t)1 << 31, quarter = (int64_t)1 << 30;
  nx_tensor *d = of(NX_F64, NX_SHAPE(1, 1)), *byte = of(NX_I8, NX_SHAPE(1));
  INVALID("full", -1, nx_full(ctx, 0, NX_F32, NX_SHAPE(half, half, 2), NX_NUMBER(0)));
  INVALID("full", -1, nx_full(ctx, 0, NX_F64, NX_SHAPE(half, quarter), NX_NUMBER(0)));
  INVALID("full", -1, nx_full(ctx, 0, NX_F64, NX_SHAPE(0, INT64_MAX, INT64_MAX), NX_NUMBER(0)));
  INVALID("empty", -1, nx_empty(ctx, 0, NX_I16, NX_SHAPE(INT64_MAX)));
  INVALID("arange", -1, nx_arange(ctx, 0, NX_I64, NX_INTEGER(0), NX_INTEGER(1), INT64_MAX));
  INVALID("eye", -1, nx_eye(ctx, 0, NX_I8, INT64_MAX, 2, 0));
  INVALID("placeholder", -1, nx_placeholder(ctx, 0, NX_F64, NX_SHAPE(half, half)));
  INVALID("expand", 0, nx_expand(d, NX_SHAPE(half, quarter))); /* 2^61 elements of 8 bytes */
  INVALID("as_strided", 0,
          nx_as_strided(d, (const int64_t[]){half, quarter}, (const int64_t[]){0, 0}, 2, 0));
  nx_tensor *tall = GOOD(nx_expand(d, NX_SHAPE(half, 1))),
            *flat = GOOD(nx_expand(d, NX_SHAPE(1, half)));
  INVALID("add", -1, nx_add(tall, flat));
  INVALID("cmplt", -1, nx_cmplt(nx_expand(tall, NX_SHAPE(4, half, 1)), flat));
  INVALID("matmul", -1, nx_matmul(tall, flat));
  nx_tensor *bytes = GOOD(nx_expand(byte, NX_SHAPE(half, half >> 1))); /* 2^61 bytes */
  INVALID("cast", -1, nx_cast(bytes, NX_F64));
  INVALID("reduce_argmax", -1,
          nx_reduce_argmax(nx_expand(bytes, NX_SHAPE(1, half, half >> 1)), 0, 0,
                           NX_I32)); /* indices of 4 bytes */
  nx_tensor *list[4] = {bytes, bytes, bytes, bytes};
  INVALID("cat", -1, nx_cat(list, 4, 0));
  INVALID("pad", -1,
          nx_pad(bytes, (const int64_t[]){0, half * 2}, (const int64_t[]){0, half * 2}, 2,
                 NX_NUMBER(0)));
  INVALID("expand", -1, nx_expand(byte, NX_SHAPE(INT64_MAX, INT64_MAX)));
  nx_tensor *some = of(NX_F64, NX_SHAPE(4)), *c = of(NX_BOOL, NX_SHAPE(1));
  INVALID("where", -1, nx_where(nx_expand(c, NX_SHAPE(half, quarter)), d, d));
  FAILS(NX_INVALID_ARGUMENT, nx_assign(some, tall));
  nx_stats s = {.size = sizeof s};
  nx_context_stats(ctx, &s);
  assert_true(s.peak_bytes < 1 << 20);
}

/* Each tensor is legal, and no machine has the memory of all: sums of sizes and of work must not
 * come round to little. */
static void sums_beyond_63_bits(void **state) {
  (void)state;
  const int64_t n = (int64_t)1 << 30;
  nx_tensor *sum = NULL, *list[4];
  for (int i = 0; i < 4; i++) { /* 2^62 bytes each, by a library or a kernel of its own */
    nx_tensor *x = of(NX_F32, NX_SHAPE(1, 1));
    list[i] = GOOD(nx_matmul(nx_expand(x, NX_SHAPE(n, 2)), nx_expand(x, NX_SHAPE(2, n))));
    nx_tensor *total = GOOD(nx_reduce_sum(nx_reduce_argmax(list[i], 0, 0, NX_I32), NX_AXES(0), 0));
    sum = i ? GOOD(nx_add(sum, total)) : total;
  }
  for (int i = 0; i < 4; i++) /* all are there at once */
    sum = GOOD(nx_add(sum, nx_reduce_sum(nx_reduce_argmin(list[i], 1, 0, NX_I32), NX_AXES(0), 0)));
  FAILS(NX_OUT_OF_MEMORY, nx_realize(ctx, &sum, 1, NULL));
  nx_tensor *byte = of(NX_U8, NX_SHAPE(1)), *small = GOOD(nx_add(byte, byte)),
            *all = GOOD(nx_expand(small, NX_SHAPE(INT64_MAX))), *large = GOOD(nx_mul(all, all));
  FAILS(NX_OUT_OF_MEMORY, nx_realize(ctx, &large, 1, NULL));
  char *text = NULL;
  OK(nx_dump(&large, 1, "bound", &text));
  nx_string_free(text);
  const int64_t longest = INT64_MAX / 32; /* copies of both operands, in 63 bits only one by one */
  nx_tensor *one = of(NX_F64, NX_SHAPE(1, 1)),
            *dot = GOOD(nx_matmul(nx_expand(one, NX_SHAPE(2, longest)),
                                  nx_expand(one, NX_SHAPE(longest, 2))));
  OK(nx_dump(&dot, 1, "plan", &text));
  nx_string_free(text);
  if (nxl_unavailable()) return; /* interpreters compute all of what is read in part */
  nx_tensor *end = nx_arange(ctx, 0, NX_U8, NX_INTEGER(0), NX_INTEGER(1), INT64_MAX);
  end = GOOD(nx_copy(nx_shrink(end, L(INT64_MAX - 4), L(INT64_MAX), 1)));
  uint8_t last[4];
  OK(nx_read(end, last, 4, NULL));
  assert_int_equal(last[3], 254);
}

static void ranks_beyond_32(void **state) {
  (void)state;
  int64_t ones[40], zeros[40] = {0};
  for (int i = 0; i < 40; i++) ones[i] = 1;
  nx_tensor *x = of(NX_F32, ones, 32), *y = of(NX_F32, NX_SHAPE(1));
  INVALID("full", -1, nx_full(ctx, 0, NX_F32, ones, 33, NX_NUMBER(0)));
  INVALID("empty", -1, nx_empty(ctx, 0, NX_F32, ones, 33));
  INVALID("placeholder", -1, nx_placeholder(ctx, 0, NX_F32, ones, INT32_MAX));
  INVALID("expand", -1, nx_expand(y, ones, 33));
  INVALID("reshape", -1, nx_reshape(x, ones, 33, 0));
  INVALID("as_strided", -1, nx_as_strided(x, ones, zeros, 40, 0));
  INVALID("expand", -1, nx_expand(y, ones, INT32_MIN));
  int32_t axes[40] = {0};
  INVALID("reduce_sum", -1, nx_reduce_sum(x, axes, 40, 0));
  INVALID("permute", -1, nx_permute(x, axes, 40));
  GOOD(nx_exp(x));
  GOOD(nx_matmul(x, x));
}

static void axes_too_long_for_an_index(void **state) {
  (void)state;
  nx_tensor *one = of(NX_I8, NX_SHAPE(1, 1));
  const int64_t most = INT32_MAX;
  for (size_t i = 0; i < COUNT(args); i++) {
    GOOD(args[i].f(nx_expand(one, NX_SHAPE(1, most)), 1, 0, NX_I32));
    INVALID(args[i].name, -1, args[i].f(nx_expand(one, NX_SHAPE(1, most + 1)), 1, 0, NX_I32),
            "axis");
    GOOD(args[i].f(nx_expand(one, NX_SHAPE(1, most + 1)), 0, 0, NX_I32));
  }
}

/* ---- devices and contexts */

static void devices_and_contexts(void **state) {
  (void)state;
  nx_context *other;
  OK(nx_context_create(NULL, &other));
  nx_tensor *x = of(NX_F32, NX_SHAPE(3)),
            *y = GOOD(nx_full(other, 0, NX_F32, NX_SHAPE(3), NX_NUMBER(1)));
  nx_tensor *slow = GOOD(nx_full(ctx, 1, NX_F32, NX_SHAPE(3), NX_NUMBER(1))), *list[2] = {x, slow};
  INVALID("add", 1, nx_add(x, y), "context");
  INVALID("add", 1, nx_add(x, slow), "device");
  INVALID("cat", 1, nx_cat(list, 2, 0), "device");
  INVALID("matmul", 1,
          nx_matmul(nx_reshape(x, NX_SHAPE(1, 3), 0), nx_reshape(slow, NX_SHAPE(3, 1), 0)),
          "device");
  GOOD(nx_add(slow, of(NX_F32, NULL, 0))); /* a constant is everywhere */
  FAILS(NX_INVALID_ARGUMENT, nx_assign(x, y));
  list[1] = y;
  char *text = NULL;
  assert_int_equal(nx_dump(list, 2, "graph", &text), NX_INVALID_ARGUMENT);
  expect_error(__LINE__, NX_INVALID_ARGUMENT, "dump", 1, (const char *const[]){"context", NULL});
  INVALID("empty", -1, nx_empty(ctx, -1, NX_F32, NULL, 0));
  INVALID("empty", -1, nx_empty(ctx, nx_device_count(ctx), NX_F32, NULL, 0));
  assert_null(nx_to_device(x, 77));
  assert_true(take().status != NX_OK);
  for (int32_t i = 0; i < nx_device_count(ctx); i++) {
    nx_device_info info = {.size = sizeof info};
    OK(nx_device_describe(ctx, i, &info));
    assert_int_equal(info.available, info.reason == NULL);
    if (!info.available)
      BAD(NX_DEVICE_UNAVAILABLE, "empty", -1, nx_empty(ctx, i, NX_F32, NULL, 0), info.reason);
  }
  nx_context_release(other);
}

/* ---- refusals change nothing: what was recorded before still runs, and no node is left behind */

static void refusals_leave_nothing_behind(void **state) {
  (void)state;
  nx_stats before = {.size = sizeof before}, after = {.size = sizeof after};
  nx_tensor *x = vector(3, 1, 1), *y = of(NX_F32, NX_SHAPE(4)), *z = GOOD(nx_mul(x, x));
  nx_context_stats(ctx, &before);
  for (int i = 0; i < 100; i++) {
    assert_null(nx_add(nx_mul(x, y), nx_exp(nx_reduce_sum(x, NX_AXES(3), 0))));
    assert_null(nx_matmul(z, y));
    assert_null(nx_cat((nx_tensor *[]){x, y, NULL}, 3, 0));
    assert_true(take().status == NX_INVALID_ARGUMENT);
  }
  nx_context_collect(ctx);
  nx_context_stats(ctx, &after);
  assert_int_equal(after.pending_nodes, before.pending_nodes);
  EXPECT(z, 1, 4, 9);
}

static int begin(void **state) {
  if (open_context(state)) return 1;
  *state = nx_scope_begin(ctx);
  return *state == NULL;
}

/* A scope frees what the test made; the leak checker sees the rest. */
static int end(void **state) {
  nx_scope_end(*state);
  return close_context(state);
}

NXT_MAIN(bad_input) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(null_operands),
      TEST(null_lists),
      TEST(the_first_error_stays),
      TEST(dtypes_that_are_not_admitted),
      TEST(dtypes_that_do_not_exist_here),
      TEST(dtypes_that_differ),
      TEST(shapes_that_do_not_fit),
      TEST(axes_that_do_not_exist),
      TEST(ranges_outside),
      TEST(sizes_beyond_63_bits),
      TEST(sums_beyond_63_bits),
      TEST(ranks_beyond_32),
      TEST(axes_too_long_for_an_index),
      TEST(devices_and_contexts),
      TEST(refusals_leave_nothing_behind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
