/* SPDX-License-Identifier: ISC */
/* Library calls as such, on the example of cholesky: operands of every layout, fusion with what
 * surrounds them, failures with index and tag that lose nothing, the same bits on every executor
 * and for every number of threads, plans replayed, functions, polls. */
#include <math.h>
#include <string.h>

#include "call_util.h"
#include "ir/library/library.h"
#include "runtime/library/linalg/lapack.h"
#include "runtime/record/context.h"
#include "tests/util/runner.h"

static bool available; /* there is a LAPACK */

/* n symmetric matrices of a batch; matrix `bad` (if there is one) has a negative diagonal. */
static nx_tensor *matrices(nx_device device, int64_t batch, int64_t n, int64_t bad) {
  nx_tensor *t = GOOD(nx_empty(ctx, device, NX_F64, NX_SHAPE(batch, n, n)));
  size_t bytes = (size_t)(batch * n * n) * sizeof(double);
  double *v = malloc(bytes ? bytes : 1);
  for (int64_t b = 0; b < batch; b++)
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < n; j++)
        v[(b * n + i) * n + j] =
            i == j ? (b == bad ? -1 : 2 * (double)n) : 1 / (double)(1 + i + j + b);
  OK(nx_write(t, v, bytes, NULL));
  free(v);
  return t;
}

static double *values(nx_tensor *t, size_t n) {
  double *v = calloc(n ? n : 1, sizeof *v);
  OK(nx_read(t, v, n * sizeof *v, NULL));
  return v;
}

/* L L^T is A, and nothing is above the diagonal. */
static void check_factor(const double *a, const double *l, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++) {
      double sum = 0;
      for (int64_t k = 0; k <= j; k++) sum += l[i * n + k] * l[j * n + k];
      assert_true(fabs(sum - a[i * n + j]) <= 1e-14 * (double)(n * n));
      if (j < i) assert_true(l[j * n + i] == 0);
    }
}

static void factors(void **state) {
  (void)state;
  for (int64_t n = 1; n < 70; n += n < 6 ? 1 : 21) {
    nx_tensor *a = matrices(0, 3, n, -1);
    double *in = values(a, (size_t)(3 * n * n)),
           *l = values(GOOD(nx_cholesky(a, NX_LOWER)), (size_t)(3 * n * n)),
           *u = values(GOOD(nx_cholesky(a, NX_UPPER)), (size_t)(3 * n * n));
    for (int64_t b = 0; b < 3; b++) check_factor(in + b * n * n, l + b * n * n, n);
    for (int64_t b = 0; b < 3; b++)
      for (int64_t i = 0; i < n * n; i++)
        assert_true(fabs(u[b * n * n + i] - l[b * n * n + i % n * n + i / n]) <= 1e-15 * (double)n);
    free(in), free(l), free(u);
  }
}

static void no_elements(void **state) {
  (void)state;
  double *v = values(GOOD(nx_cholesky(matrices(0, 0, 3, -1), NX_LOWER)), 0);
  free(v);
  v = values(GOOD(nx_cholesky(matrices(0, 4, 0, -1), NX_UPPER)), 0);
  free(v);
}

static void refused(void **state) {
  (void)state;
  nx_error e = {.size = sizeof e};
  assert_null(nx_cholesky(NULL, NX_LOWER));
  assert_int_equal(nx_error_take(&e), NX_INVALID_ARGUMENT);
  assert_null(nx_cholesky(vector(4, 0, 1), NX_LOWER));
  assert_int_equal(nx_error_take(&e), NX_INVALID_ARGUMENT);
  assert_non_null(strstr(e.message, "cholesky: operand 0 of shape [4] is no matrix"));
  assert_null(nx_cholesky(GOOD(nx_empty(ctx, 0, NX_F32, NX_SHAPE(2, 3, 4))), NX_LOWER));
  assert_int_equal(nx_error_take(&e), NX_INVALID_ARGUMENT);
  assert_non_null(strstr(e.message, "[2,3,4] is not square"));
  assert_null(nx_cholesky(GOOD(nx_empty(ctx, 0, NX_I32, NX_SHAPE(3, 3))), NX_LOWER));
  assert_int_equal(nx_error_take(&e), NX_UNSUPPORTED_DTYPE);
  assert_int_equal(e.operand, 0);
}

/* The bits are those of the dense copy, whatever the strides of the operand. */
static void layouts(void **state) {
  (void)state;
  enum { N = 4, ALL = 2 * N * N };
  nx_tensor *a = matrices(0, 2, N, -1),
            *wide = GOOD(nx_pad(a, (int64_t[]){0, 1, 3}, (int64_t[]){0, 2, 0}, 3, NX_NUMBER(7))),
            *views[] = {
                GOOD(nx_permute(a, NX_AXES(0, 2, 1))),
                GOOD(nx_shrink(wide, (int64_t[]){0, 1, 3}, (int64_t[]){2, 1 + N, 3 + N}, 3)),
                GOOD(nx_flip(a, NX_AXES(1, 2))),
                GOOD(nx_flip(a, NX_AXES(0))),
                GOOD(nx_expand(GOOD(nx_shrink(a, (int64_t[]){1, 0, 0}, (int64_t[]){2, N, N}, 3)),
                               NX_SHAPE(2, N, N))),
                GOOD(nx_shrink(a, (int64_t[]){1, 0, 0}, (int64_t[]){2, N, N}, 3)),
                GOOD(nx_eye(ctx, 0, NX_F64, N, N, 0)),
                GOOD(nx_expand(GOOD(nx_full(ctx, 0, NX_F64, NULL, 0, NX_NUMBER(3))),
                               NX_SHAPE(1, 1))),
            };
  for (int late = 0; late < 2; late++) /* before and after the memory is there */
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
      nx_tensor_info info = {.size = sizeof info};
      nx_tensor_describe(views[i], &info);
      size_t count = (size_t)info.elements;
      nx_tensor *dense = GOOD(nx_copy(views[i]));
      double *is = values(GOOD(nx_cholesky(views[i], late ? NX_UPPER : NX_LOWER)), count),
             wanted[ALL];
      OK(nx_realize(ctx, &dense, 1, NULL));
      OK(nx_read(GOOD(nx_cholesky(dense, late ? NX_UPPER : NX_LOWER)), wanted,
                 count * sizeof *wanted, NULL));
      assert_memory_equal(is, wanted, count * sizeof *wanted);
      free(is);
      if (late) OK(nx_realize(ctx, &views[i], 1, NULL));
    }
}

static nx_tensor *some_matrices(void) { return matrices(0, 2, 40, -1); }
static nx_tensor *alone(nx_tensor *a) { return nx_cholesky(a, NX_LOWER); }
static nx_tensor *transposed(nx_tensor *a) {
  return nx_cholesky(nx_permute(a, NX_AXES(0, 2, 1)), NX_LOWER);
}
static nx_tensor *surrounded(nx_tensor *a) {
  nx_tensor *s = nx_mul(nx_add(a, nx_permute(a, NX_AXES(0, 2, 1))), a);
  return nx_exp(nx_neg(nx_cholesky(nx_permute(s, NX_AXES(0, 2, 1)), NX_LOWER)));
}
static nx_tensor *summed(nx_tensor *a) {
  return nx_reduce_sum(nx_log(nx_abs(nx_cholesky(nx_add(a, a), NX_UPPER))), NX_AXES(2), 0);
}
/* The kernel that stages the operand computes it, and the one that reads the result does what
 * follows. */
static void fused(void **state) {
  (void)state;
  if (!counts_kernels()) skip();
  counts(some_matrices, alone, 0, 1);
  counts(some_matrices, transposed, 1, 1);
  counts(some_matrices, surrounded, 2, 1);
  counts(some_matrices, summed, 2, 1);
}

/* The interpreter, and every number of threads, give the same bits. */
static void same_bits(void **state) {
  (void)state;
  enum { BATCH = 40, N = 37, ALL = BATCH * N * N };
  double *first = NULL;
  for (int variant = 0; variant < 4; variant++) {
    nx_context *kept = ctx;
    nx_context_options o = {.size = sizeof o, .threads = variant == 3 ? 1 : 1 + variant};
    OK(nx_context_create(&o, &ctx));
    nx_tensor *y = GOOD(nx_cholesky(matrices(variant == 3 ? 1 : 0, BATCH, N, -1), NX_UPPER));
    double *is = values(y, ALL);
    nx_tensor_release(y);
    nx_context_release(ctx);
    ctx = kept;
    if (first) assert_memory_equal(is, first, ALL * sizeof *is);
    if (first) free(is);
    else first = is;
  }
  free(first);
}

/* Index and tag are those of the call, of several failures the first counts, and all can be read or
 * tried again. */
static void failures(void **state) {
  (void)state;
  nx_tensor *a = matrices(0, 50, 9, 17), *half;
  for (int both = 0; both < 2; both++) {
    if (both) half = GOOD(nx_cat((nx_tensor *[]){a, a}, 2, 0));
    nx_tag_set(5, "here");
    nx_tensor *l = GOOD(nx_cholesky(both ? half : a, NX_LOWER));
    nx_tag_set(6, "there");
    nx_tensor *y = GOOD(nx_neg(l));
    nx_tag_set(0, NULL);
    for (int again = 0; again < 2; again++) {
      nx_error e = {.size = sizeof e};
      assert_int_equal(nx_realize(ctx, &y, 1, NULL), NX_NOT_POSITIVE_DEFINITE);
      nx_error_take(&e);
      assert_int_equal(e.status, NX_NOT_POSITIVE_DEFINITE);
      assert_string_equal(e.op, "cholesky");
      assert_int_equal(e.index, 17);
      assert_int_equal(e.tag, 5);
      assert_string_equal(e.tag_text, "here");
      assert_non_null(strstr(e.message, "cholesky: at index 17 of the batch: the matrix is not"));
    }
  }
  double *v = values(a, 50 * 81);
  assert_true(v[17 * 81] == -1);
  free(v);
}

/* Adds to matrix 1 of three; nothing else keeps the old value. */
static void add_to_second(nx_tensor *a, double what) {
  int64_t n = 40;
  nx_scope *s = nx_scope_begin(ctx);
  nx_tensor *part = GOOD(nx_shrink(a, (int64_t[]){1, 0, 0}, (int64_t[]){2, n, n}, 3)),
            *more = GOOD(nx_full(ctx, 0, NX_F64, NULL, 0, NX_NUMBER(what)));
  OK(nx_assign(part, GOOD(nx_add(part, more))));
  nx_scope_end(s);
}

/* An update that would be done in place is not where what reads it fails and would lose the old
 * contents. */
static void failing_loses_nothing(void **state) {
  (void)state;
  nx_tensor *a = matrices(0, 3, 40, -1), *l;
  double *before = values(a, 3 * 1600);
  add_to_second(a, -100);
  l = GOOD(nx_cholesky(a, NX_LOWER));
  nx_tensor *both[2] = {l, a};
  for (int i = 0; i < 2; i++) {
    nx_error e = {.size = sizeof e};
    nx_realize(ctx, both, 2, NULL);
    assert_int_equal(nx_error_take(&e), NX_NOT_POSITIVE_DEFINITE);
    assert_int_equal(e.index, 1);
  }
  double *after = values(a, 3 * 1600); /* the update alone works, once */
  for (int i = 0; i < 3 * 1600; i++) assert_true(after[i] == before[i] - (i / 1600 == 1 ? 100 : 0));
  FAILS(NX_NOT_POSITIVE_DEFINITE, nx_realize(ctx, &l, 1, NULL));
  add_to_second(a, 100);
  l = GOOD(nx_cholesky(a, NX_LOWER));
  OK(nx_realize(ctx, &l, 1, NULL));
  free(before), free(after);
}

static void functions(void **state) {
  (void)state;
  int64_t n = 5;
  nx_tensor *x = GOOD(nx_placeholder(ctx, 0, NX_F64, NX_SHAPE(2, n, n))), *y;
  nx_tag_set(9, "inside");
  nx_tensor *l = GOOD(nx_cholesky(x, NX_LOWER));
  nx_tag_set(10, "after");
  y = GOOD(nx_neg(l));
  nx_tag_set(0, NULL);
  nx_function *f = NULL;
  OK(nx_function_create(ctx, &x, 1, &y, 1, NULL, &f));
  for (int round = 0; round < 2; round++) {
    nx_tensor *a = matrices(0, 2, n, -1), *out = NULL,
              *wanted = GOOD(nx_neg(nx_cholesky(a, NX_LOWER)));
    OK(nx_function_call(f, &a, 1, &out, 1, NULL));
    double *is = values(out, 50), *want = values(wanted, 50);
    assert_memory_equal(is, want, 50 * sizeof *is);
    release(out);
    free(is), free(want);
  }
  nx_tensor *bad = matrices(0, 2, n, 1), *none = NULL;
  nx_error e = {.size = sizeof e};
  assert_int_equal(nx_function_call(f, &bad, 1, &none, 1, NULL), NX_NOT_POSITIVE_DEFINITE);
  nx_error_take(&e);
  assert_int_equal(e.index, 1);
  assert_int_equal(e.tag, 9);
  assert_string_equal(e.tag_text, "inside");
  assert_null(none);
  nx_function_release(f);
}

static int32_t stop_later(void *user) { return ++*(int *)user > 3; }

/* Equal calls are equal whatever was in their memory: not all of it is written. */
static void equal_calls(void **state) {
  (void)state;
  static nxg_call a, b;
  const int64_t shape[] = {3, 3}, other[] = {4, 4}, attrs[NXG_CALL_ATTRS] = {0};
  nxg_type type = {NX_F64, 2, shape};
  memset(&a, 0x55, sizeof a);
  memset(&b, 0xaa, sizeof b);
  assert_int_equal(
      nxg_call_infer(NXG_cholesky, 1, &type, attrs, nxg_call_attrs(NXG_cholesky), &a, NULL), NX_OK);
  assert_int_equal(
      nxg_call_infer(NXG_cholesky, 1, &type, attrs, nxg_call_attrs(NXG_cholesky), &b, NULL), NX_OK);
  assert_true(nxg_calls_equal(&a, &b));
  b.attrs[0] = !b.attrs[0];
  assert_false(nxg_calls_equal(&a, &b));
  type.shape = other;
  assert_int_equal(
      nxg_call_infer(NXG_cholesky, 1, &type, attrs, nxg_call_attrs(NXG_cholesky), &b, NULL), NX_OK);
  assert_false(nxg_calls_equal(&a, &b));
}

static void interrupted(void **state) {
  (void)state;
  nx_tensor *a = matrices(0, 300, 120, -1), *l = GOOD(nx_eigvalsh(a, 0)); /* half a second or so */
  int polls = 0;
  nx_run_options o = {.size = sizeof o, .poll = stop_later, .user = &polls};
  FAILS(NX_INTERRUPTED, nx_realize(ctx, &l, 1, &o));
  assert_int_equal(polls, 4);
  OK(nx_realize(ctx, &l, 1, NULL));
}

/* Equal calls are one, other attributes are another. */
static void merged(void **state) {
  (void)state;
  nx_tensor *a = matrices(0, 1, 4, -1),
            *all[3] = {nx_cholesky(a, NX_LOWER), nx_cholesky(a, NX_LOWER),
                       nx_cholesky(a, NX_UPPER)};
  assert_ptr_equal(GOOD(all[0])->storage->value, GOOD(all[1])->storage->value);
  assert_ptr_not_equal(all[0]->storage->value, GOOD(all[2])->storage->value);
}

static void small_floats(void **state) {
  (void)state;
  nx_dtype types[] = {NX_F32, NX_F16, NX_BF16};
  nx_tensor *wide = GOOD(nx_cast(matrices(0, 2, 6, -1), NX_F16)); /* exact in f32, not in bf16 */
  for (int i = 0; i < 3; i++) {
    nx_tensor *a = GOOD(nx_cast(wide, types[i])),
              *l = GOOD(nx_cast(nx_cholesky(a, NX_LOWER), NX_F64)),
              *w = GOOD(
                  nx_cast(nx_cast(nx_cholesky(nx_cast(a, NX_F32), NX_LOWER), types[i]), NX_F64));
    double *is = values(l, 72), *wanted = values(w, 72);
    assert_memory_equal(is, wanted, 72 * sizeof *is);
    assert_true(is[0] > 3 && is[0] < 4);
    free(is), free(wanted);
  }
}

/* Two results of one call, of which one is read: without kernels, which take time to compile. */
static nx_tensor *matrix, *factor, *q, *r;
static void prepare(void) {
  matrix = matrices(0, 3, 33, -1);
  factor = q = r = NULL;
}
static nx_status program(void) {
  nx_status status = nx_qr(matrix, 0, &q, &r);
  if (!status) factor = nx_cholesky(matrix, NX_LOWER);
  if (!status && !factor) status = NX_OUT_OF_MEMORY;
  return status ? status : nx_realize(ctx, (nx_tensor *[]){factor, r}, 2, NULL);
}
static void finish(void) {
  assert_true((q != NULL) == (r != NULL));
  if (q) OK(nx_realize(ctx, (nx_tensor *[]){q, r}, 2, NULL));
  if (factor) OK(nx_realize(ctx, &factor, 1, NULL));
  release(matrix), release(factor), release(q), release(r);
}
static void allocations(void **state) {
  (void)state;
  each_allocation_fails(prepare, program, finish);
}

/* Without a LAPACK a realise says why, and that is all. */
static void unavailable(void **state) {
  (void)state;
  nx_tensor *l = GOOD(nx_cholesky(matrices(0, 1, 2, -1), NX_LOWER));
  nx_error e = {.size = sizeof e};
  assert_int_equal(nx_realize(ctx, &l, 1, NULL), NX_DEVICE_UNAVAILABLE);
  nx_error_take(&e);
  assert_non_null(strstr(e.message, "cholesky: LAPACK cannot be used: "));
}

NXT_MAIN(library) {
  const struct CMUnitTest tests[] = {IN_SCOPE(factors),     IN_SCOPE(no_elements),
                                     IN_SCOPE(refused),     IN_SCOPE(layouts),
                                     IN_SCOPE(fused),       IN_SCOPE(same_bits),
                                     IN_SCOPE(failures),    IN_SCOPE(failing_loses_nothing),
                                     IN_SCOPE(functions),   IN_SCOPE(interrupted),
                                     IN_SCOPE(merged),      IN_SCOPE(small_floats),
                                     IN_SCOPE(allocations), IN_SCOPE(equal_calls)};
  const struct CMUnitTest without[] = {IN_SCOPE(unavailable), IN_SCOPE(refused),
                                       IN_SCOPE(equal_calls)};
  available = nxi_lapack_ready("test", NULL) == NX_OK;
  return available ? cmocka_run_group_tests(tests, open_context, close_context)
                   : cmocka_run_group_tests(without, open_context, close_context);
}
