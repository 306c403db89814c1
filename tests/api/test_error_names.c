/* SPDX-License-Identifier: ISC */
/* Errors name the operation that the caller called, not a part of which it is made: what is refused
 * when it is recorded, an allocation that fails at each point of recording and of realising, and
 * numbers that cannot be computed with. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/alloc.h"
#include "runtime/library/linalg/lapack.h"
#include "runtime/record/objects.h"
#include "tests/util/api.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static bool lapack(void) {
  nxi_diag d;
  nxi_diag_clear(&d);
  return nxi_lapack_ready("test", &d) == NX_OK;
}

#include "error_names.h"

static void drop(void) {
  for (size_t i = 0; i < COUNT(made); i++) {
    release(made[i]);
    made[i] = NULL;
  }
}

/* The error is one of memory, and of this operation, or of realising before there is one. */
static void expect_name(const struct call *c, bool realising) {
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  char lead[40];
  snprintf(lead, sizeof lead, "%s: ", e.op ? e.op : "(none)");
  bool named = e.op && (!strcmp(e.op, c->name) || (realising && !strcmp(e.op, "realize")));
  if (!named || e.status != NX_OUT_OF_MEMORY || strncmp(e.message, lead, strlen(lead)) != 0)
    fail_msg("%s: \"%s\" failed: %s", c->name, e.op, e.message);
  assert_true(e.operand < 0);
}

static uint64_t pending(void) {
  nx_stats s = {.size = sizeof s};
  nx_context_collect(ctx);
  nx_context_stats(ctx, &s);
  return s.pending_nodes;
}

/* Allocations that fail while it is recorded; it is tried until it needs no more. What failed has
 * left nothing behind. */
static void fail_recording(const struct call *c) {
  uint64_t before_all = pending();
  bool over = false;
  for (int64_t point = 0; !over; point++) {
    int64_t before = nxi_alloc_count();
    nxi_alloc_fail(point, false);
    bool good = c->make();
    nxi_alloc_fail(-1, false);
    over = nxi_alloc_count() - before <= point;
    if (!good) expect_name(c, false);
    if (!good) assert_int_equal(pending(), before_all);
    else OK(nx_realize(ctx, made, made[0] != NULL, NULL));
    drop();
  }
}

static void fail_realising(const struct call *c) {
  bool over = false;
  for (int64_t point = 0; !over; point += 3) {
    if (!c->make()) fail();
    nx_tensor **wanted = c->assigns ? &whole : made;
    size_t n = c->assigns ? 1 : made[2] ? 3 : made[1] ? 2 : 1;
    int64_t before = nxi_alloc_count();
    nxi_alloc_fail(point, false);
    nx_status status = nx_realize(ctx, wanted, n, NULL);
    nxi_alloc_fail(-1, false);
    over = nxi_alloc_count() - before <= point;
    if (status) expect_name(c, true);
    if (status) OK(nx_realize(ctx, wanted, n, NULL));
    drop();
  }
}

static void memory(void **state) {
  (void)state;
  nxi_slab_each = true;
  nx_context_options o = {.size = sizeof o, .cache_dir = "", .threads = 1};
  for (size_t i = 0; i < COUNT(calls); i++) {
    OK(nx_context_create(&o, &ctx));
    nx_scope *scope = nx_scope_begin(ctx);
    make_operands();
    if (lapack() || !calls[i].lapack) fail_recording(&calls[i]);
    if (lapack() || !calls[i].lapack) fail_realising(&calls[i]);
    release_functions();
    nx_scope_end(scope);
    nx_context_release(ctx);
  }
  nxi_slab_each = false;
}

/* ---- bad input */

/* The error that waits has this status, operation and operand, and each of the words in its
 * sentence. */
static void expect_error(int at, nx_status status, const char *op, int32_t operand,
                         const char *const *words) {
  nx_error e = {.size = sizeof e};
  char lead[40];
  nx_error_take(&e);
  snprintf(lead, sizeof lead, "%s: ", op);
  bool good = e.status == status && !strcmp(e.op, op) && e.operand == operand &&
              !strncmp(e.message, lead, strlen(lead));
  for (; good && *words; words++) good = strstr(e.message, *words) != NULL;
  if (!good)
    fail_msg("line %d: %s of \"%s\", operand %d: %s", at, nx_status_name(e.status),
             e.op ? e.op : "", (int)e.operand, e.message ? e.message : "");
}
#define BAD(status, op, operand, call, ...)                                                     \
  do {                                                                                          \
    assert_true(!(call));                                                                       \
    expect_error(__LINE__, NX_##status, op, operand, (const char *const[]){__VA_ARGS__, NULL}); \
  } while (0)

static nx_tensor *of(nx_dtype t, const int64_t *shape, int32_t rank) {
  return GOOD(nx_full(ctx, 0, t, shape, rank, NX_INTEGER(1)));
}

static void refused_solvers(void **state) {
  (void)state;
  nx_tensor *a = of(NX_F32, NX_SHAPE(4, 2)), *b = of(NX_F32, NX_SHAPE(3)),
            *many = of(NX_F32, NX_SHAPE(3, 4, 2)), *sides_of = of(NX_F32, NX_SHAPE(2, 4, 1)),
            *whole_numbers = of(NX_I32, NX_SHAPE(4, 2)), *flat = of(NX_F64, NX_SHAPE(4));
  BAD(INVALID_ARGUMENT, "lstsq", 0, nx_lstsq(NULL, b, 0, 0), "null");
  BAD(INVALID_ARGUMENT, "lstsq", 1, nx_lstsq(a, NULL, 0, 0), "null");
  BAD(INVALID_ARGUMENT, "lstsq", 1, nx_lstsq(a, b, 0, 0), "[3]", "[4,2]");
  BAD(INVALID_ARGUMENT, "lstsq", 1, nx_lstsq(a, number(1), 0, 0), "[]", "[4,2]");
  BAD(INVALID_ARGUMENT, "lstsq", 1, nx_lstsq(many, sides_of, 0, 0), "[3,4,2]", "[2,4,1]");
  BAD(INVALID_ARGUMENT, "lstsq", 0, nx_lstsq(flat, flat, 0, 0), "[4]");
  BAD(INVALID_ARGUMENT, "lstsq", 1, nx_lstsq(a, flat, 0, 0), "f64", "f32");
  BAD(UNSUPPORTED_DTYPE, "lstsq", 0, nx_lstsq(whole_numbers, whole_numbers, 0, 0), "i32");
  BAD(INVALID_ARGUMENT, "pinv", 0, nx_pinv(NULL, 0), "null");
  BAD(INVALID_ARGUMENT, "pinv", 0, nx_pinv(flat, 0), "[4]");
  BAD(UNSUPPORTED_DTYPE, "pinv", 0, nx_pinv(whole_numbers, 0), "i32");
  nx_tensor *there = GOOD(nx_to_device(of(NX_F32, NX_SHAPE(4)), 1));
  BAD(INVALID_ARGUMENT, "lstsq", 1, nx_lstsq(a, there, 0, 0), "device");
  /* A vector is shown as the caller has it. */
  BAD(INVALID_ARGUMENT, "solve", 1, nx_solve(of(NX_F32, NX_SHAPE(4, 4)), b, 0), "[3]", "[4,4]");
  nx_tensor *four = of(NX_F32, NX_SHAPE(4, 4)), *pairs = of(NX_F32, NX_SHAPE(2, 4, 4)),
            *places = of(NX_I32, NX_SHAPE(3)), *out;
  BAD(INVALID_ARGUMENT, "lu", 0, nx_lu(b, &out, NULL, NULL, NULL) == NX_OK, "[3]", "matrix");
  BAD(INVALID_ARGUMENT, "lu_solve", 0, nx_lu_solve(a, places, b, 0), "[4,2]", "square");
  BAD(INVALID_ARGUMENT, "lu_solve", 1, nx_lu_solve(four, places, four, 0), "[3]", "[4,4]");
  BAD(UNSUPPORTED_DTYPE, "lu_solve", 1, nx_lu_solve(four, b, four, 0), "f32");
  BAD(INVALID_ARGUMENT, "lu_solve", -1, nx_lu_solve(four, places, four, NX_TRANSPOSED | NX_ADJOINT),
      "both");
  BAD(INVALID_ARGUMENT, "geqrf", 0, nx_geqrf(b, &out, NULL) == NX_OK, "[3]");
  BAD(INVALID_ARGUMENT, "householder_product", 0,
      nx_householder_product(of(NX_F32, NX_SHAPE(2, 4)), of(NX_F32, NX_SHAPE(2))), "[2,4]");
  BAD(INVALID_ARGUMENT, "householder_product", 1,
      nx_householder_product(a, of(NX_F32, NX_SHAPE(3))), "[3]", "reflections");
  BAD(INVALID_ARGUMENT, "householder_product", 1, nx_householder_product(pairs, b), "[3]");
  BAD(INVALID_ARGUMENT, "ormqr", 2, nx_ormqr(four, b, of(NX_F32, NX_SHAPE(3, 4)), 0), "[3,4]",
      "rows");
  BAD(INVALID_ARGUMENT, "ormqr", 2, nx_ormqr(four, b, of(NX_F32, NX_SHAPE(4, 3)), NX_FROM_RIGHT),
      "[4,3]", "column");
  BAD(INVALID_ARGUMENT, "ormqr", -1, nx_ormqr(four, b, four, NX_TRANSPOSED), "NX_ADJOINT");
  BAD(INVALID_ARGUMENT, "lstsq_qr", 1, nx_lstsq_qr(a, b, 0), "[3]", "[4,2]");
  BAD(INVALID_ARGUMENT, "qr_pivoted", 0, nx_qr_pivoted(flat, 0, &out, NULL, NULL) == NX_OK, "[4]");
  BAD(INVALID_ARGUMENT, "banded_solve", 0, nx_banded_solve(four, 1, 1, four, 0), "[4,4]",
      "diagonal");
  BAD(INVALID_ARGUMENT, "banded_solve", -1, nx_banded_solve(four, -1, 4, four, 0), "-1");
  BAD(INVALID_ARGUMENT, "banded_solve", 1, nx_banded_solve(four, 1, 2, b, 0), "[3]", "[4,4]");
  BAD(INVALID_ARGUMENT, "tridiagonal_solve", 1,
      nx_tridiagonal_solve(b, of(NX_F32, NX_SHAPE(4)), b, b, 0), "[4]", "[3]");
  BAD(INVALID_ARGUMENT, "tridiagonal_solve", 3, nx_tridiagonal_solve(b, b, b, four, 0), "[4,4]");
  BAD(INVALID_ARGUMENT, "triangular_inv", 0, nx_triangular_inv(a, 0), "[4,2]", "square");
  BAD(INVALID_ARGUMENT, "cholesky_update", 1, nx_cholesky_update(four, b, 0), "[3]", "element");
  BAD(INVALID_ARGUMENT, "schur", 0, nx_schur(a, 0, &out, NULL) == NX_OK, "[4,2]", "square");
  BAD(INVALID_ARGUMENT, "eigh_generalized", 1,
      nx_eigh_generalized(four, pairs, 1, 0, &out, NULL) == NX_OK, "[2,4,4]", "[4,4]");
  BAD(INVALID_ARGUMENT, "eigh_generalized", -1,
      nx_eigh_generalized(four, four, 4, 0, &out, NULL) == NX_OK, "type 4");
  BAD(INVALID_ARGUMENT, "hessenberg", 0, nx_hessenberg(a, &out, NULL) == NX_OK, "[4,2]");
  BAD(INVALID_ARGUMENT, "expm", 0, nx_expm(a), "[4,2]", "square");
  BAD(INVALID_ARGUMENT, "logm", 0, nx_logm(a, 0), "[4,2]", "square");
  BAD(INVALID_ARGUMENT, "matrix_power", -1, nx_matrix_power(four, INT64_MIN, 0), "31 bits");
  BAD(INVALID_ARGUMENT, "triangular_solve", 1,
      nx_triangular_solve(four, of(NX_F32, NX_SHAPE(4, 3)), NX_FROM_RIGHT), "[4,3]", "right");
  BAD(INVALID_ARGUMENT, "triangular_solve", 1,
      nx_triangular_solve(of(NX_F16, NX_SHAPE(4, 4)), of(NX_F16, NX_SHAPE(3)), NX_LOWER), "[3]",
      "[4,4]");
}

static void refused_compositions(void **state) {
  (void)state;
  const int64_t huge = INT64_MAX / 2, past = INT64_MAX;
  nx_tensor *x = of(NX_F32, NX_SHAPE(2, 3)), *truth = of(NX_BOOL, NX_SHAPE(2, 3)),
            *i = of(NX_I32, NX_SHAPE(2)), *k = of(NX_U32, NX_SHAPE(2)),
            *z = of(NX_C64, NX_SHAPE(2, 3));
  BAD(INVALID_ARGUMENT, "true_indices", -1, nx_true_indices(truth, huge), "63 bits");
  BAD(INVALID_ARGUMENT, "true_indices", -1, nx_true_indices(truth, past), "");
  BAD(UNSUPPORTED_DTYPE, "true_indices", 0, nx_true_indices(x, 1), "f32");
  BAD(INVALID_ARGUMENT, "one_hot", -1, nx_one_hot(i, huge, NX_F32), "63 bits");
  BAD(INVALID_ARGUMENT, "one_hot", -1, nx_one_hot(i, -1, NX_F32), "-1");
  BAD(UNSUPPORTED_DTYPE, "one_hot", 0, nx_one_hot(x, 3, NX_F32), "f32");
  BAD(UNSUPPORTED_DTYPE, "associative_scan", 0,
      nx_associative_scan(nx_cast(x, NX_F8E8M0), NX_SCAN_SUM, 0), "f8e8m0");
  BAD(INVALID_ARGUMENT, "associative_scan", 0, nx_associative_scan(x, NX_SCAN_MAX, 2), "2");
  BAD(INVALID_ARGUMENT, "reduce_with_initial", 1,
      nx_reduce_with_initial(x, NX_SCAN_MAX, k, NX_AXES(0), 0), "u32", "[2]", "f32");
  BAD(UNSUPPORTED_DTYPE, "reduce_with_initial", 0,
      nx_reduce_with_initial(nx_cast(x, NX_F8E8M0), NX_SCAN_SUM, k, NX_AXES(0), 0), "f8e8m0");
  BAD(INVALID_ARGUMENT, "rand", -1, nx_rand(k, NX_F32, &huge, 1), "63 bits");
  BAD(INVALID_ARGUMENT, "randn", -1, nx_randn(k, NX_F64, &huge, 1), "63 bits");
  BAD(INVALID_ARGUMENT, "permutation", -1, nx_permutation(k, huge), "elements");
  BAD(INVALID_ARGUMENT, "set", 1, nx_set(x, NULL, 0, i) == NX_OK, "i32", "f32");
  BAD(INVALID_ARGUMENT, "set", 1, nx_set(x, NULL, 0, of(NX_F32, NX_SHAPE(7))) == NX_OK, "[7]",
      "[2,3]");
  BAD(INVALID_ARGUMENT, "copysign", -1, nx_copysign(x, of(NX_F32, NX_SHAPE(4))), "[4]", "[2,3]");
  BAD(INVALID_ARGUMENT, "nextafter", 1, nx_nextafter(x, of(NX_F64, NX_SHAPE(3))), "f64", "f32");
  BAD(INVALID_ARGUMENT, "clamp", -1, nx_clamp(x, of(NX_F32, NX_SHAPE(4)), x), "max", "[4]");
  BAD(UNSUPPORTED_DTYPE, "shr_logical", 0, nx_shr_logical(x, x), "f32", "integers");
  BAD(INVALID_ARGUMENT, "reduce_precision", -1, nx_reduce_precision(x, 0, 3), "0 bits");
  BAD(INVALID_ARGUMENT, "bitcast_convert", 0, nx_bitcast_convert(x, NX_F64), "2 elements", "[2,3]");
  BAD(INVALID_ARGUMENT, "bitcast_convert", -1, nx_bitcast_convert(x, (nx_dtype)77), "77");
  nx_window w = {.size = sizeof w, .n = 1, .kernel = &two, .before = &huge, .after = &huge};
  BAD(INVALID_ARGUMENT, "unfold", -1, nx_unfold(x, &w), "63 bits");
  BAD(INVALID_ARGUMENT, "irfft", -1, nx_irfft(z, NX_AXES(0, 1), (int64_t[]){huge, 4}, 2),
      "63 bits");
}

static void refused_ranks(void **state) {
  (void)state;
  int64_t shape[NX_MAX_RANK], kernel[NX_MAX_RANK];
  for (int i = 0; i < NX_MAX_RANK; i++) shape[i] = kernel[i] = 1;
  nx_tensor *x = of(NX_F32, shape, 20), *deep = of(NX_F32, shape, NX_MAX_RANK);
  nx_window w = {.size = sizeof w, .n = 13, .kernel = kernel};
  BAD(INVALID_ARGUMENT, "unfold", -1, nx_unfold(x, &w), "rank 20", "rank 13", "33");
  w.n = 21;
  BAD(INVALID_ARGUMENT, "unfold", -1, nx_unfold(x, &w), "rank 20", "rank 21");
  BAD(INVALID_ARGUMENT, "bitcast_convert", 0, nx_bitcast_convert(deep, NX_U8), "33 axes");
  w.n = 14;
  BAD(INVALID_ARGUMENT, "fold", -1, nx_fold(deep, shape, 14, &w), "rank 32", "rank 14");
  BAD(INVALID_ARGUMENT, "one_hot", -1, nx_one_hot(GOOD(nx_cast(deep, NX_I32)), 2, NX_F32), "32");
}

/* ---- numbers that cannot be computed with: the operation, the part of it that fails, the batch,
 * the tensor, the tag */

static nx_tensor *bad_matrices(nx_dtype t, bool nan) {
  const float numbers[8] = {2, 1, 1, 3, nan ? NAN : 1, 2, 2, nan ? 1 : 4};
  nx_tensor *x = GOOD(nx_empty(ctx, 0, NX_F32, NX_SHAPE(2, 2, 2)));
  OK(nx_write(x, numbers, sizeof numbers, NULL));
  return GOOD(nx_cast(x, t));
}

static void expect_failure(nx_tensor *t, nx_status status, const char *op, const char *part_of) {
  nx_tensor *both[2] = {GOOD(nx_neg(line)), t};
  nx_error e = {.size = sizeof e};
  assert_int_equal(nx_realize(ctx, both, 2, NULL), status);
  nx_error_take(&e);
  if (strcmp(e.op, op) != 0 || !strstr(e.message, part_of) || e.index != 1 || e.tag != 5 ||
      e.output != 1 || strncmp(e.message, op, strlen(op)) != 0)
    fail_msg("%s, %s: index %d, tag %d, output %d", e.op, e.message, (int)e.index, (int)e.tag,
             e.output);
}

static void failures(void **state) {
  (void)state;
  if (!lapack()) skip();
  make_operands();
  for (int i = 0; i < 2; i++) {
    nx_dtype t = i ? NX_BF16 : NX_F64;
    nx_tensor *nan = bad_matrices(t, true), *singular = bad_matrices(t, false), *sign, *log;
    nx_tag_set(5, "here");
    expect_failure(GOOD(nx_lstsq(nan, singular, -1, 0)), NX_NO_CONVERGENCE, "lstsq", "svd");
    expect_failure(GOOD(nx_pinv(bad_matrices(t, true), -1)), NX_NO_CONVERGENCE, "pinv", "svd");
    expect_failure(GOOD(nx_inv(singular)), NX_SINGULAR, "inv", "");
    expect_failure(GOOD(nx_solve(singular, nan, 0)), NX_SINGULAR, "solve", "");
    expect_failure(GOOD(nx_cholesky(singular, NX_LOWER)), NX_NOT_POSITIVE_DEFINITE, "cholesky", "");
    expect_failure(GOOD(nx_eigvalsh(nan, 0)), NX_NO_CONVERGENCE, "eigvalsh", "");
    nx_tag_set(0, NULL);
    OK(nx_realize(ctx, (nx_tensor *[]){GOOD(nx_det(singular))}, 1, NULL));
    OK(nx_slogdet(singular, &sign, &log));
    OK(nx_realize(ctx, &log, 1, NULL));
  }
  release_functions();
}

/* A function's call and its record blame what was called when it was captured. */
static void failures_of_functions(void **state) {
  (void)state;
  if (!lapack()) skip();
  nx_tensor *x = GOOD(nx_placeholder(ctx, 0, NX_F64, NX_SHAPE(2, 2, 2))),
            *y = GOOD(nx_pinv(GOOD(nx_neg(x)), 0)), *nan = bad_matrices(NX_F64, true);
  nx_function *f = NULL;
  OK(nx_function_create(ctx, &x, 1, &y, 1, NULL, &f));
  for (int recorded = 0; recorded < 2; recorded++) {
    nx_tensor *out = NULL;
    if (recorded) OK(nx_function_record(f, &nan, 1, &out, 1));
    nx_status status =
        recorded ? nx_realize(ctx, &out, 1, NULL) : nx_function_call(f, &nan, 1, &out, 1, NULL);
    assert_int_equal(status, NX_NO_CONVERGENCE);
    expect_error(__LINE__, NX_NO_CONVERGENCE, "pinv", -1, (const char *const[]){"svd", NULL});
  }
  nx_function_release(f);
}

/* What a callback records meanwhile, and what had been recorded before, fails in its own name. */
static nx_tensor *of_callback, *given;
static void record_svd(void *user) {
  (void)user;
  OK(nx_svd(given, 0, NULL, &of_callback, NULL));
}
static void others_keep_their_names(void **state) {
  (void)state;
  if (!lapack()) skip();
  float memory[4] = {0};
  nx_import_desc d = {.size = sizeof d,
                      .mode = NX_IMPORT_SHARED,
                      .dtype = NX_F32,
                      .rank = 1,
                      .shape = (int64_t[]){4},
                      .base = memory,
                      .bytes = sizeof memory};
  nx_tensor *shared, *gone, *nan = bad_matrices(NX_F32, true);
  OK(nx_import(ctx, &d, &shared));
  d.release = record_svd;
  OK(nx_import(ctx, &d, &gone));
  given = nan;
  release(nx_keep(gone));
  OK(nx_set(shared, NULL, 0, number(1))); /* is carried out: callbacks run */
  assert_non_null(of_callback);
  assert_int_equal(nx_realize(ctx, &of_callback, 1, NULL), NX_NO_CONVERGENCE);
  expect_error(__LINE__, NX_NO_CONVERGENCE, "svd", -1, (const char *const[]){NULL});
  nx_tensor *lost = GOOD(
      nx_reshape(GOOD(nx_contiguous(GOOD(nx_inv(bad_matrices(NX_F32, false))))), NX_SHAPE(8), 0));
  assert_int_equal(nx_set(shared, NULL, 0, part(lost, 0, 4, 1)), NX_SINGULAR);
  expect_error(__LINE__, NX_SINGULAR, "inv", -1, (const char *const[]){NULL});
}

NXT_MAIN(error_names) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(refused_solvers),       IN_SCOPE(refused_compositions),
      IN_SCOPE(refused_ranks),         IN_SCOPE(failures),
      IN_SCOPE(failures_of_functions), IN_SCOPE(others_keep_their_names)};
  const struct CMUnitTest alone[] = {cmocka_unit_test(memory)};
  int failed = cmocka_run_group_tests(alone, NULL, NULL);
  return failed + cmocka_run_group_tests(tests, open_context, close_context);
}
