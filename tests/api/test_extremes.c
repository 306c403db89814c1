/* SPDX-License-Identifier: ISC */
/* What a sanitizer has to see: every function that takes integers with the largest and smallest
 * there are, in all combinations that are drawn; and arrays without elements through every library
 * call, each result asked for alone. A call is refused with a status or its result is realised,
 * where that is small. Without sanitizers this shows no more than that nothing crashes. */
#include "tests/util/api.h"

#include "runtime/files/dlpack_abi.h"

enum { RANK = 3, DRAWS = 3000, SMALL = 4096 };

static uint64_t state_of_draws = 1;
static uint64_t draw(uint64_t n) {
  state_of_draws = state_of_draws * 6364136223846793005u + 1442695040888963407u;
  return (state_of_draws >> 33) % n;
}

static int64_t extreme(void) {
  static const int64_t all[] = {
      INT64_MIN, INT64_MIN + 1, INT64_MIN / 2, -INT64_MAX / 3, -3,       -1, 0, 0, 1, 1, 2,
      3,         INT64_MAX / 3, INT64_MAX / 2, INT64_MAX - 1,  INT64_MAX};
  return all[draw(sizeof all / sizeof *all)];
}

static int32_t extreme_axis(void) {
  static const int32_t all[] = {INT32_MIN, INT32_MIN + 1, -3, -1, 0, 1, 2, 3, INT32_MAX};
  return all[draw(sizeof all / sizeof *all)];
}

static const int64_t *extremes(int64_t *list) {
  for (int i = 0; i < RANK; i++) list[i] = extreme();
  return list;
}

/* A refusal leaves an error, a result none; a small one is computed. */
static void settle(nx_tensor *t) {
  nx_tensor_info info = {.size = sizeof info};
  if (t == NULL) {
    assert_int_not_equal(nx_error_take(NULL), NX_OK);
    return;
  }
  nx_tensor_describe(t, &info);
  if (info.elements <= SMALL && info.storage_elements <= SMALL) {
    nx_status status = nx_realize(ctx, &t, 1, NULL);
    assert_true(status == NX_OK || status == NX_OUT_OF_MEMORY || status == NX_UNBOUND);
    assert_int_equal(nx_error_take(NULL), status);
  }
  release(t);
}

static nx_tensor *operand(void) {
  static const int64_t shapes[][RANK] = {{2, 3, 4}, {1, 3, 1}, {0, 3, 2}, {2, 0, 1}};
  nx_tensor *t = GOOD(nx_full(ctx, 0, NX_F32, shapes[draw(4)], RANK, NX_NUMBER(1)));
  if (draw(2)) return t;
  nx_tensor *turned = GOOD(nx_permute(t, NX_AXES(2, 0, 1)));
  release(t);
  return turned;
}

static void views(void **state) {
  (void)state;
  int64_t a[RANK], b[RANK], c[RANK];
  for (int i = 0; i < DRAWS; i++) {
    nx_tensor *x = operand();
    int32_t axes[RANK] = {extreme_axis(), extreme_axis(), extreme_axis()};
    settle(nx_slice(x, extremes(a), extremes(b), extremes(c), draw(RANK + 1)));
    settle(nx_shrink(x, extremes(a), extremes(b), draw(RANK + 1)));
    settle(nx_pad(x, extremes(a), extremes(b), draw(RANK + 1), NX_NUMBER(0)));
    settle(nx_as_strided(x, extremes(a), extremes(b), (int32_t)draw(RANK + 1), extreme()));
    settle(nx_expand(x, extremes(a), RANK));
    settle(nx_reshape(x, extremes(a), (int32_t)draw(RANK + 1), 0));
    settle(nx_permute(x, axes, draw(RANK + 1)));
    settle(nx_flip(x, axes, draw(RANK + 1)));
    settle(nx_reduce_sum(x, axes, draw(RANK + 1), 0));
    settle(nx_reduce_argmax(x, axes[0], 0, NX_I32));
    settle(nx_sort(x, axes[0], 0));
    settle(nx_cat(&x, 1, axes[0]));
    settle(nx_associative_scan(x, NX_SCAN_SUM, axes[0]));
    release(x);
  }
}

static void made(void **state) {
  (void)state;
  int64_t a[RANK];
  nx_tensor *key = GOOD(nx_full(ctx, 0, NX_U32, NX_SHAPE(2), NX_INTEGER(1)));
  nx_tensor *mask = GOOD(nx_full(ctx, 0, NX_BOOL, NX_SHAPE(3), NX_INTEGER(1)));
  nx_tensor *indices = GOOD(nx_full(ctx, 0, NX_I64, NX_SHAPE(3), NX_INTEGER(1)));
  for (int i = 0; i < DRAWS; i++) {
    int32_t rank = (int32_t)draw(RANK + 1);
    settle(nx_full(ctx, 0, NX_I8, extremes(a), rank, NX_INTEGER(extreme())));
    settle(nx_empty(ctx, 0, NX_C128, extremes(a), rank));
    settle(nx_placeholder(ctx, 0, NX_U4, extremes(a), 0));
    settle(nx_arange(ctx, 0, NX_I64, NX_INTEGER(extreme()), NX_INTEGER(extreme()), extreme()));
    settle(nx_arange(ctx, 0, NX_I4, NX_INTEGER(extreme()), NX_INTEGER(extreme()), extreme()));
    settle(nx_eye(ctx, 0, NX_I8, extreme(), extreme(), extreme()));
    settle(nx_true_indices(mask, extreme()));
    settle(nx_one_hot(indices, extreme(), NX_I8));
    settle(nx_rand(key, NX_F32, extremes(a), rank));
    settle(nx_permutation(key, extreme()));
  }
  release(key), release(mask), release(indices);
}

static void ranges_and_windows(void **state) {
  (void)state;
  int64_t kernel[RANK], stride[RANK], dilation[RANK], before[RANK], after[RANK], output[RANK];
  for (int i = 0; i < 4 * DRAWS; i++) {
    nx_tensor *x = operand();
    nx_range r[2] = {{extreme(), extreme(), extreme()}, {extreme(), extreme(), extreme()}};
    nx_window w = {.size = sizeof w,
                   .n = 1 + (int32_t)draw(2),
                   .kernel = extremes(kernel),
                   .stride = draw(2) ? extremes(stride) : NULL,
                   .dilation = draw(2) ? extremes(dilation) : NULL,
                   .before = draw(2) ? extremes(before) : NULL,
                   .after = draw(2) ? extremes(after) : NULL};
    settle(nx_get(x, r, 2));
    settle(nx_unfold(x, &w));
    settle(nx_fold(x, extremes(output), 1 + draw(2), &w));
    nx_scalar s;
    nx_status status = nx_item(x, extremes(output), draw(RANK + 1), &s, NULL);
    assert_int_equal(nx_error_take(NULL), status);
    release(x);
  }
}

/* fold takes few operands: those that unfold gives, for windows that leave one or nothing. */
static void folds(void **state) {
  (void)state;
  int64_t kernel[RANK], dilation[RANK], before[RANK], output[RANK];
  for (int i = 0; i < 4 * DRAWS; i++) {
    nx_window w = {.size = sizeof w,
                   .n = 1,
                   .kernel = extremes(kernel),
                   .dilation = extremes(dilation),
                   .before = extremes(before)};
    if (kernel[0] > 3 || kernel[0] < 0) kernel[0] = 2;
    for (int64_t windows = 0; windows < 2; windows++) {
      nx_tensor *x = GOOD(nx_full(ctx, 0, NX_F32, NX_SHAPE(1, kernel[0], windows), NX_NUMBER(1)));
      settle(nx_fold(x, extremes(output), 1 + draw(2), &w));
      release(x);
    }
  }
}

/* Strides along axes of one element lead nowhere, so they may be any number, in everything that is
 * done with the view. */
static void strides_that_lead_nowhere(void **state) {
  (void)state;
  static const nx_dtype types[] = {NX_F32, NX_U4, NX_C64, NX_I8};
  for (int i = 0; i < DRAWS / 10; i++) {
    nx_dtype type = types[draw(4)];
    nx_tensor *x = GOOD(nx_full(ctx, 0, type, NX_SHAPE(2, 3), NX_NUMBER(1)));
    OK(nx_realize(ctx, &x, draw(2), NULL));
    int64_t strides[4] = {extreme(), draw(2) ? 3 : -3, extreme(), draw(2) ? 1 : -1};
    int64_t offset = (strides[1] < 0 ? 3 : 0) + (strides[3] < 0 ? 2 : 0);
    nx_tensor *v = GOOD(nx_as_strided(x, (const int64_t[]){1, 2, 1, 3}, strides, 4, offset));
    nx_tensor *scalar = GOOD(nx_full(ctx, 0, type, NULL, 0, NX_NUMBER(3)));
    settle(nx_copy(v));
    settle(nx_reduce_sum(v, NX_AXES(0, 3), 0));
    settle(nx_permute(v, NX_AXES(3, 2, 1, 0)));
    settle(nx_flip(v, NX_AXES(0, 1, 2, 3)));
    settle(nx_pad(v, (int64_t[]){1, 0, 1, 0}, (int64_t[]){0, 1, 0, 1}, 4, NX_NUMBER(0)));
    OK(nx_assign(v, scalar));
    settle(nx_cat((nx_tensor *[]){v, v}, 2, (int32_t)draw(4)));
    nx_tensor *copy = GOOD(nx_copy(v));
    OK(nx_assign(v, copy));
    OK(nx_realize(ctx, &v, 1, NULL));
    nx_mapping *m = NULL;
    if (nx_map(v, 0, NULL, &m) == NX_OK) nx_mapping_release(m);
    nx_error_take(NULL);
    release(copy), release(scalar), release(v), release(x);
  }
}

static void transforms(void **state) {
  (void)state;
  int64_t sizes[RANK];
  for (int i = 0; i < DRAWS / 10; i++) {
    nx_tensor *x = operand(), *y = GOOD(nx_cast(x, NX_C64));
    int32_t axes[RANK] = {extreme_axis(), extreme_axis(), extreme_axis()};
    size_t n = draw(RANK + 1);
    settle(nx_fft(y, axes, n));
    settle(nx_rfft(x, axes, n));
    settle(nx_irfft(y, axes, n, extremes(sizes), n));
    release(x), release(y);
  }
}

static void imports(void **state) {
  (void)state;
  static float memory[64];
  int64_t shape[RANK], strides[RANK];
  for (int i = 0; i < 4 * DRAWS; i++) {
    nx_tensor *t = NULL;
    int32_t rank = (int32_t)draw(RANK + 1);
    nx_import_desc d = {.size = sizeof d,
                        .base = memory,
                        .bytes = sizeof memory,
                        .dtype = draw(2) ? NX_F32 : NX_U4,
                        .rank = rank,
                        .shape = extremes(shape),
                        .strides = extremes(strides),
                        .offset = extreme(),
                        .mode = NX_IMPORT_IMMUTABLE};
    nx_status status = nx_import(ctx, &d, &t);
    assert_int_equal(nx_error_take(NULL), status);
    release(t);
    struct DLManagedTensorVersioned m = {.major = 1};
    m.tensor.data = memory;
    m.tensor.device.type = 1;
    m.tensor.rank = rank;
    m.tensor.shape = shape;
    m.tensor.strides = strides;
    m.tensor.byte_offset = draw(2) ? 0 : (uint64_t)extreme();
    m.tensor.dtype = (nxi_dlpack_dtype){2, 32, 1};
    for (int j = 0; j < rank; j++) shape[j] = draw(2) ? 2 : shape[j];
    t = NULL;
    /* No memory but that of one element is read, whatever the tensor says. */
    status = nx_from_dlpack(ctx, &m, NX_IMPORT_IMMUTABLE, &t);
    assert_int_equal(nx_error_take(NULL), status);
    release(t);
    nx_context_collect(ctx); /* who lent it hears of it while it is there */
  }
}

/* ---- nothing */

/* Each result by itself, others forgotten. */
#define ALONE(count, call)                        \
  for (int alone = 0; alone < (count); alone++) { \
    nx_tensor *out[3] = {NULL, NULL, NULL};       \
    OK(call);                                     \
    for (int i = 0; i < (count); i++)             \
      if (i != alone) release(out[i]);            \
    OK(nx_realize(ctx, &out[alone], 1, NULL));    \
    release(out[alone]);                          \
  }

static void none_of(nx_dtype t, int64_t batch, int64_t m, int64_t n) {
  nx_tensor *a = GOOD(nx_full(ctx, 0, t, NX_SHAPE(batch, m, n), NX_NUMBER(1))),
            *b = GOOD(nx_full(ctx, 0, t, NX_SHAPE(batch, n, m), NX_NUMBER(1)));
  ALONE(2, nx_qr(a, 0, &out[0], &out[1]));
  ALONE(2, nx_qr(a, NX_FULL_MATRICES, &out[0], &out[1]));
  ALONE(3, nx_svd(a, NX_FULL_MATRICES, &out[0], &out[1], &out[2]));
  ALONE(3, nx_svd(a, 0, &out[0], &out[1], &out[2]));
  settle(nx_matmul(a, b));
  settle(nx_matmul(b, a));
  settle(nx_pinv(a, 0.0));
  if (m == n) {
    ALONE(2, nx_eigh(a, 0, &out[0], &out[1]));
    ALONE(2, nx_eig(a, &out[0], &out[1]));
    ALONE(2, nx_slogdet(a, &out[0], &out[1]));
    nx_tensor *eye = GOOD(nx_eye(ctx, 0, t, n, n, 0)),
              *all = GOOD(nx_expand(eye, NX_SHAPE(batch, n, n)));
    settle(nx_inv(all)), settle(nx_det(all)), settle(nx_cholesky(all, NX_LOWER));
    settle(nx_eigvals(all)), settle(nx_eigvalsh(all, 0));
    release(eye), release(all);
  }
  nx_tensor *square = GOOD(nx_eye(ctx, 0, t, m, m, 0)),
            *all = GOOD(nx_expand(square, NX_SHAPE(batch, m, m)));
  settle(nx_solve(all, a, 0));
  settle(nx_triangular_solve(all, a, NX_LOWER));
  release(square), release(all);
  release(a), release(b);
}

static void nothing(void **state) {
  (void)state;
  static const nx_dtype types[] = {NX_F32, NX_F64, NX_C64, NX_C128, NX_F16, NX_F8E4M3};
  nx_tensor *probe = GOOD(nx_eye(ctx, 0, NX_F32, 2, 2, 0)), *det = GOOD(nx_det(probe));
  bool has_lapack = nx_realize(ctx, &det, 1, NULL) == NX_OK;
  nx_error_take(NULL);
  release(probe), release(det);
  for (size_t i = 0; has_lapack && i < sizeof types / sizeof *types; i++)
    for (int64_t batch = 0; batch < 3; batch++)
      for (int64_t m = 0; m < 3; m++)
        for (int64_t n = 0; n < 3; n++)
          if (batch * m * n == 0 || batch == 1) none_of(types[i], batch, m, n);
}

/* Sorts, gathers, scatters, joins of nothing. */
static void nothing_moved(void **state) {
  (void)state;
  for (int i = 0; i < 8; i++) {
    int64_t shape[RANK] = {i & 1, i >> 1 & 1, i >> 2 & 1};
    nx_tensor *x = GOOD(nx_full(ctx, 0, NX_F32, shape, RANK, NX_NUMBER(1)));
    nx_tensor *at = GOOD(nx_full(ctx, 0, NX_I32, shape, RANK, NX_INTEGER(0)));
    for (int32_t axis = 0; axis < RANK; axis++) {
      settle(nx_sort(x, axis, NX_DESCENDING)), settle(nx_argsort(x, axis, 0, NX_I32));
      settle(nx_gather(x, at, axis));
      settle(nx_scatter(x, at, x, axis, NX_SCATTER_ADD, 0));
      settle(nx_scatter(x, at, x, axis, NX_SCATTER_SET, 0));
      settle(nx_cat((nx_tensor *[]){x, x}, 2, axis));
      settle(nx_associative_scan(x, NX_SCAN_MAX, axis));
      settle(nx_reduce_sum(x, &axis, 1, 0)), settle(nx_reduce_prod(x, &axis, 1, 0));
    }
    float all[1] = {0};
    assert_int_equal(nx_read(x, i == 7 ? all : NULL, i == 7 ? sizeof all : 0, NULL), NX_OK);
    assert_int_equal(nx_write(x, i == 7 ? all : NULL, i == 7 ? sizeof all : 0, NULL), NX_OK);
    release(x), release(at);
  }
}

NXT_MAIN(extremes) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(views),
      IN_SCOPE(made),
      IN_SCOPE(ranges_and_windows),
      IN_SCOPE(folds),
      IN_SCOPE(strides_that_lead_nowhere),
      IN_SCOPE(transforms),
      IN_SCOPE(imports),
      IN_SCOPE(nothing),
      IN_SCOPE(nothing_moved),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
