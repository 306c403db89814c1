/* SPDX-License-Identifier: ISC */
/* Fourier transforms through the interface: values next to direct sums, operands of every layout,
 * several axes, sizes, fusion with what surrounds them, what is refused, the same bits on every
 * executor and for every number of threads, polls, functions, exhausted memory. Accuracy:
 * test_fft.c. */
#include <math.h>
#include <string.h>

#include "call_util.h"
#include "runtime/realize/async/offload.h"
#include "runtime/record/context.h"
#include "tests/util/runner.h"

/* ---- tensors and their values */

static double some(int64_t i) { return (double)((i * 7919 + 13) % 1009) / 500 - 1; }

/* f64, or c128 of parts some(2 i) and some(2 i + 1). */
static nx_tensor *tensor(nx_device device, nx_dtype t, int32_t rank, const int64_t *shape) {
  int64_t n = t == NX_C128 ? 2 : 1;
  for (int32_t i = 0; i < rank; i++) n *= shape[i];
  double *v = malloc((size_t)n * sizeof *v + 1);
  for (int64_t i = 0; i < n; i++) v[i] = some(i);
  nx_tensor *x = GOOD(nx_empty(ctx, device, t, shape, rank));
  OK(nx_write(x, v, (size_t)n * sizeof *v, NULL));
  free(v);
  return x;
}

static int64_t elements(nx_tensor *x) {
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(x, &info);
  return info.elements;
}

/* All parts as doubles; *count of them. */
static double *values(nx_tensor *x, size_t *count) {
  bool pairs = x->storage->dtype == NX_C64 || x->storage->dtype == NX_C128;
  nx_tensor *wide = GOOD(nx_cast(x, pairs ? NX_C128 : NX_F64));
  *count = (size_t)elements(wide) * (pairs ? 2 : 1);
  double *v = malloc(*count * sizeof *v + 1);
  OK(nx_read(wide, v, *count * sizeof *v, NULL));
  release(wide);
  return v;
}

static void same_as(nx_tensor *x, nx_tensor *wanted) {
  size_t n, m;
  double *is = values(x, &n), *want = values(wanted, &m);
  assert_int_equal(n, m);
  assert_memory_equal(is, want, n * sizeof *is);
  free(is), free(want);
}

static void close_to(nx_tensor *x, const double *want, size_t count) {
  size_t n;
  double *is = values(x, &n), most = 1, wrong = 0;
  assert_int_equal(n, count);
  for (size_t i = 0; i < n; i++) {
    if (!(fabs(is[i] - want[i]) <= wrong)) wrong = fabs(is[i] - want[i]);
    if (fabs(want[i]) > most) most = fabs(want[i]);
  }
  if (!(wrong <= 1e-14 * most)) fail_msg("%g of %g is wrong", wrong, most);
  free(is);
}

/* Sums over one axis of pairs, in place. */
static void direct(double *x, int32_t rank, const int64_t *shape, int32_t axis, int sign) {
  int64_t outer = 1, inner = 1, n = shape[axis];
  for (int32_t i = 0; i < axis; i++) outer *= shape[i];
  for (int32_t i = axis + 1; i < rank; i++) inner *= shape[i];
  double *y = calloc((size_t)(2 * n) + 1, sizeof *y);
  for (int64_t line = 0; line < outer * inner; line++) {
    double *at = x + 2 * (line / inner * n * inner + line % inner);
    for (int64_t k = 0; k < n; k++) {
      y[2 * k] = y[2 * k + 1] = 0;
      for (int64_t j = 0; j < n; j++) {
        double angle = sign * 6.28318530717958647692 * (double)(j * k % n) / (double)n;
        double re = at[2 * j * inner], im = at[2 * j * inner + 1];
        y[2 * k] += re * cos(angle) - im * sin(angle);
        y[2 * k + 1] += re * sin(angle) + im * cos(angle);
      }
    }
    for (int64_t k = 0; k < n; k++) memcpy(at + 2 * k * inner, y + 2 * k, 2 * sizeof *y);
  }
  free(y);
}

/* ---- values */

static const int64_t box[] = {3, 10, 7};
enum { BOX = 210 };

static void complex_values(void **state) {
  (void)state;
  static const int32_t lists[][3] = {{0}, {1}, {2}, {2, 0}, {-1, -2}, {0, 1, 2}};
  static const size_t lengths[] = {1, 1, 1, 2, 2, 3};
  for (nx_device device = 0; device < 2; device++) {
    nx_tensor *x = tensor(device, NX_C128, 3, box);
    for (int i = 0; i < 12; i++) {
      bool inverse = i % 2;
      const int32_t *axes = lists[i / 2];
      size_t n;
      double *want = values(x, &n);
      for (size_t k = 0; k < lengths[i / 2]; k++)
        direct(want, 3, box, axes[k] < 0 ? axes[k] + 3 : axes[k], inverse ? 1 : -1);
      close_to(GOOD((inverse ? nx_ifft : nx_fft)(x, axes, lengths[i / 2])), want, n);
      free(want);
    }
  }
}

/* rfft is the first half of fft, irfft its inverse. */
static void real_values(void **state) {
  (void)state;
  for (nx_device device = 0; device < 2; device++) {
    nx_tensor *x = tensor(device, NX_F64, 3, box), *pairs = GOOD(nx_cast(x, NX_C128));
    for (int32_t axis = 0; axis < 3; axis++) {
      int32_t axes[2] = {(axis + 1) % 3, axis};
      int64_t stop[3] = {3, 10, 7}, sizes[2] = {box[axes[0]], box[axis]};
      stop[axis] = box[axis] / 2 + 1;
      nx_tensor *y = GOOD(nx_rfft(x, axes, 2)),
                *half = GOOD(nx_shrink(nx_fft(pairs, axes, 2), (int64_t[3]){0}, stop, 3));
      size_t n;
      double *want = values(half, &n);
      close_to(y, want, n);
      free(want);
      nx_tensor *back = GOOD(nx_irfft(y, axes, 2, sizes, 2));
      want = values(x, &n);
      for (size_t i = 0; i < n; i++) want[i] *= (double)(sizes[0] * sizes[1]);
      close_to(back, want, n);
      free(want);
      if (box[axis] % 2 == 0) same_as(GOOD(nx_irfft(y, axes, 2, NULL, 0)), back);
    }
  }
}

/* Sizes cut, or append zeros, as the same done to the operand. */
static void sizes_of_results(void **state) {
  (void)state;
  nx_tensor *x = tensor(0, NX_C128, 3, box);
  static const int64_t sizes[][2] = {{2, 13}, {3, 8}, {5, 3}, {1, 1}, {4, 12}};
  for (int i = 0; i < 5; i++) {
    int64_t rows = sizes[i][0], n = sizes[i][1], half = n / 2 + 1;
    nx_tensor *fit = x;
    if (rows < 3) fit = GOOD(nx_shrink(x, (int64_t[3]){0}, (int64_t[]){rows, 10, 7}, 3));
    if (rows > 3)
      fit = GOOD(nx_pad(x, (int64_t[3]){0}, (int64_t[]){rows - 3, 0, 0}, 3, NX_NUMBER(0)));
    int64_t extent = nxi_shape(fit)[2];
    if (half < extent) fit = GOOD(nx_shrink(fit, (int64_t[3]){0}, (int64_t[]){rows, 10, half}, 3));
    if (half > extent)
      fit = GOOD(nx_pad(fit, (int64_t[3]){0}, (int64_t[]){0, 0, half - extent}, 3, NX_NUMBER(0)));
    nx_tensor *y = GOOD(nx_irfft(x, NX_AXES(0, 2), sizes[i], 2)),
              *columns = GOOD(nx_ifft(fit, NX_AXES(0)));
    same_as(y, GOOD(nx_irfft(columns, NX_AXES(2), &n, 1)));
    assert_true(nxi_shape(y)[0] == rows && nxi_shape(y)[1] == 10 && nxi_shape(y)[2] == n);
  }
}

/* The bits are those of the dense copy, whatever the strides of the operand; before and after the
 * memory is there. */
static void layouts(void **state) {
  (void)state;
  nx_tensor *x = tensor(0, NX_C128, 3, box), *r = tensor(0, NX_F64, 3, box);
  for (int k = 0; k < 2; k++) {
    nx_tensor *a = k ? r : x,
              *row = GOOD(nx_shrink(a, (int64_t[]){1, 2, 0}, (int64_t[]){2, 3, 7}, 3)),
              *views[] = {
                  GOOD(nx_permute(a, NX_AXES(2, 1, 0))),
                  GOOD(nx_shrink(a, (int64_t[]){0, 3, 1}, (int64_t[]){3, 8, 7}, 3)),
                  GOOD(nx_shrink(a, (int64_t[]){1, 0, 0}, (int64_t[]){2, 10, 7}, 3)),
                  GOOD(nx_flip(a, NX_AXES(0, 2))),
                  GOOD(nx_slice(a, (int64_t[]){2, 9, 0}, (int64_t[]){3, 4, 3},
                                (int64_t[]){-1, -2, 3}, 3)),
                  GOOD(nx_expand(row, NX_SHAPE(4, 5, 7))),
                  GOOD(nx_expand(GOOD(nx_full(ctx, 0, a->storage->dtype, NULL, 0, NX_NUMBER(3))),
                                 NX_SHAPE(2, 3, 4))),
              };
    for (int late = 0; late < 2; late++)
      for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        nx_tensor *dense = GOOD(nx_copy(views[i]));
        OK(nx_realize(ctx, &dense, 1, NULL));
        if (k) same_as(GOOD(nx_rfft(views[i], NX_AXES(0, 1))), nx_rfft(dense, NX_AXES(0, 1)));
        else same_as(GOOD(nx_fft(views[i], NX_AXES(1, 2))), nx_fft(dense, NX_AXES(1, 2)));
        if (late) OK(nx_realize(ctx, &views[i], 1, NULL));
      }
  }
}

static void nothing_there(void **state) {
  (void)state;
  int64_t five = 5;
  nx_tensor *x = GOOD(nx_empty(ctx, 0, NX_C64, NX_SHAPE(4, 0, 3))),
            *r = GOOD(nx_empty(ctx, 0, NX_F32, NX_SHAPE(4, 0, 3)));
  assert_int_equal(elements(GOOD(nx_fft(x, NX_AXES(0, 1, 2)))), 0);
  OK(nx_read(GOOD(nx_fft(x, NX_AXES(1))), NULL, 0, NULL));
  OK(nx_read(GOOD(nx_rfft(r, NX_AXES(1, 2))), NULL, 0, NULL));
  OK(nx_read(GOOD(nx_irfft(x, NX_AXES(0, 2), NULL, 0)), NULL, 0, NULL));
  EXPECT(GOOD(nx_irfft(nx_reshape(x, NX_SHAPE(1, 0), 0), NX_AXES(1), &five, 1)), 0, 0, 0, 0, 0);
}

static void deepest(void **state) {
  (void)state;
  int64_t shape[32], less[31];
  for (int i = 0; i < 32; i++) shape[i] = i == 3 ? 5 : i == 20 ? 6 : i == 31 ? 4 : 1;
  for (int i = 0; i < 31; i++) less[i] = shape[i + 1];
  nx_tensor *x = tensor(0, NX_C128, 32, shape), *y = GOOD(nx_reshape(x, less, 31, 0)),
            *z = GOOD(nx_fft(x, NX_AXES(31, 0, 3, 20)));
  assert_int_equal(z->rank, 32);
  same_as(z, nx_fft(y, NX_AXES(2, 19, 30)));
  z = GOOD(nx_irfft(x, NX_AXES(31, 20), NULL, 0));
  assert_true(nxi_shape(z)[20] == 10 && nxi_shape(z)[3] == 5);
  same_as(z, nx_irfft(y, NX_AXES(30, 19), NULL, 0));
  same_as(GOOD(nx_rfft(nx_real(x), NX_AXES(20))), nx_rfft(nx_real(y), NX_AXES(19)));
  same_as(GOOD(nx_ifft(x, NX_AXES(5))), x);
  int32_t all[32];
  for (int i = 0; i < 32; i++) all[i] = i, shape[i] = i == 9 ? 0 : 2;
  same_as(GOOD(nx_fft(x, all, 32)), nx_fft(x, NX_AXES(3, 20, 31)));
  x = GOOD(nx_empty(ctx, 0, NX_C64, shape, 32));
  assert_int_equal(elements(GOOD(nx_irfft(x, all, 32, NULL, 0))), 0);
}

static void small_floats(void **state) {
  (void)state;
  static const nx_dtype types[] = {NX_F16, NX_BF16, NX_F32, NX_F8E4M3, NX_F8E5M2};
  for (int i = 0; i < 5; i++) {
    nx_tensor *x = GOOD(nx_cast(tensor(0, NX_F64, 3, box), types[i]));
    nx_tensor *y = GOOD(nx_rfft(x, NX_AXES(1)));
    assert_int_equal(y->storage->dtype, NX_C64);
    same_as(y, nx_rfft(nx_cast(x, NX_F32), NX_AXES(1)));
  }
}

/* ---- as a part of graphs */

static nx_tensor *big(void) { return tensor(0, NX_C128, 2, (int64_t[]){64, 300}); }

static nx_tensor *alone(nx_tensor *x) { return nx_fft(x, NX_AXES(0, 1)); }
static nx_tensor *transposed(nx_tensor *x) {
  return nx_fft(nx_permute(x, NX_AXES(1, 0)), NX_AXES(1));
}
static nx_tensor *surrounded(nx_tensor *x) {
  return nx_neg(nx_real(nx_fft(nx_mul(x, nx_conj(x)), NX_AXES(1))));
}
/* A convolution: two transforms forward, a product between them, one back. */
static nx_tensor *convolved(nx_tensor *x) {
  nx_tensor *a = nx_rfft(nx_real(x), NX_AXES(1)), *b = nx_rfft(nx_imag(x), NX_AXES(1));
  return nx_exp(nx_irfft(nx_mul(a, b), NX_AXES(1), NULL, 0));
}

static void fused(void **state) {
  (void)state;
  if (!counts_kernels()) skip();
  counts(big, alone, 0, 1);
  counts(big, transposed, 1, 1);
  counts(big, surrounded, 2, 1);
  counts(big, convolved, 3, 3);
}

/* The interpreter, and every number of threads, give the same bits. */
static void same_bits(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{60, 1000}, {1, 40000}, {2, 10007}, {9, 509}};
  for (int i = 0; i < 4 * 4; i++) {
    double *first = NULL;
    for (int variant = 0; variant < 3; variant++) {
      nx_context *kept = ctx;
      nx_context_options o = {.size = sizeof o, .threads = 1 + variant % 2};
      OK(nx_context_create(&o, &ctx));
      nx_device device = variant == 2;
      nx_tensor *x = tensor(device, i / 4 == 2 ? NX_F64 : NX_C128, 2, shapes[i % 4]);
      nx_tensor *y = i / 4 == 0   ? nx_fft(x, NX_AXES(1))
                     : i / 4 == 1 ? nx_ifft(x, NX_AXES(0, 1))
                     : i / 4 == 2 ? nx_rfft(x, NX_AXES(1))
                                  : nx_irfft(x, NX_AXES(0, 1), NULL, 0);
      size_t n;
      double *is = values(GOOD(y), &n);
      release(x), release(y);
      nx_context_release(ctx);
      ctx = kept;
      if (first) assert_memory_equal(is, first, n * sizeof *is);
      if (first) free(is);
      else first = is;
    }
    free(first);
  }
}

static void functions(void **state) {
  (void)state;
  nx_tensor *x = GOOD(nx_placeholder(ctx, 0, NX_C128, box, 3)),
            *y = GOOD(nx_neg(nx_fft(x, NX_AXES(1))));
  nx_function *f = NULL;
  OK(nx_function_create(ctx, &x, 1, &y, 1, NULL, &f));
  nx_tensor *a = tensor(0, NX_C128, 3, box), *out = NULL;
  OK(nx_function_call(f, &a, 1, &out, 1, NULL));
  same_as(out, nx_neg(nx_fft(a, NX_AXES(1))));
  release(out);
  nx_function_release(f);
}

/* Onto its own operand; the axes' order is no other operation; those of rfft are. */
static void identity(void **state) {
  (void)state;
  nx_tensor *x = tensor(0, NX_C128, 3, box), *y = GOOD(nx_copy(nx_fft(x, NX_AXES(1, 2))));
  OK(nx_realize(ctx, &y, 1, NULL));
  OK(nx_assign(x, GOOD(nx_fft(x, NX_AXES(1, 2)))));
  same_as(x, y);
  nx_tensor *a = GOOD(nx_fft(x, NX_AXES(1, 2))), *b = GOOD(nx_fft(x, NX_AXES(2, 1)));
  assert_ptr_equal(a->storage->value, b->storage->value);
  nx_tensor *r = GOOD(nx_real(x));
  assert_true(nxi_shape(GOOD(nx_rfft(r, NX_AXES(1, 2))))[2] == 4);
  assert_true(nxi_shape(GOOD(nx_rfft(r, NX_AXES(2, 1))))[1] == 6);
}

typedef struct polls {
  int count, stop_at; /* 0: never */
} polls;

static int32_t count_polls(void *user) {
  polls *p = user;
  return ++p->count == p->stop_at;
}

/* Wherever it stops nothing is lost, and nobody asks again. Time between polls is cut, so that a
 * transform sees some; on a busy machine the caller may wake after it all the same, and then it is
 * tried again. */
static void interrupted(void **state) {
  (void)state;
  nx_tensor *x = tensor(0, NX_C128, 2, (int64_t[]){40000, 17}), *y = GOOD(nx_fft(x, NX_AXES(0)));
  polls p = {0};
  nx_run_options o = {.size = sizeof o, .poll = count_polls, .user = &p};
  atomic_store(&nxi_offload_poll_ns, 50 * 1000);
  OK(nx_realize(ctx, &y, 1, &o));
  nx_tensor *z = NULL;
  for (int stop = 1; stop <= 3; stop++) {
    nx_status status = NX_OK;
    for (int tries = 0; tries < 50 && status == NX_OK; tries++) {
      p = (polls){.stop_at = stop};
      z = GOOD(nx_neg(nx_fft(x, NX_AXES(0)))); /* merged with nothing that is realised */
      status = nx_realize(ctx, &z, 1, &o);
    }
    FAILS(NX_INTERRUPTED, status);
    assert_int_equal(p.count, stop);
  }
  atomic_store(&nxi_offload_poll_ns, 10 * 1000 * 1000);
  same_as(z, nx_neg(y));
}

/* ---- bad input */

static void refuse(nx_tensor *result, nx_status status, const char *words) {
  nx_error e = {.size = sizeof e};
  assert_null(result);
  assert_int_equal(nx_error_take(&e), status);
  if (!strstr(e.message, words)) fail_msg("'%s' has no '%s'", e.message, words);
}

static void refused(void **state) {
  (void)state;
  nx_tensor *c = GOOD(nx_empty(ctx, 0, NX_C64, NX_SHAPE(4, 1))),
            *r = GOOD(nx_empty(ctx, 0, NX_F32, NX_SHAPE(4, 0)));
  int64_t none = 0, huge = INT64_MAX;
  refuse(nx_fft(NULL, NX_AXES(0)), NX_INVALID_ARGUMENT, "fft");
  refuse(nx_irfft(NULL, NX_AXES(0), NULL, 0), NX_INVALID_ARGUMENT, "irfft");
  refuse(nx_fft(c, NULL, 1), NX_INVALID_ARGUMENT, "fft: the list of axes is null");
  refuse(nx_fft(c, NULL, 0), NX_INVALID_ARGUMENT, "fft: the list of axes is null");
  refuse(nx_ifft(c, &(int32_t){0}, 0), NX_INVALID_ARGUMENT, "ifft: it needs an axis");
  refuse(nx_irfft(c, NX_AXES(0), &huge, 2), NX_INVALID_ARGUMENT, "there are 2 sizes for 1 axes");
  refuse(nx_irfft(c, NX_AXES(0), NULL, 1), NX_INVALID_ARGUMENT, "the list of sizes is null");
  refuse(nx_fft(c, NX_AXES(2)), NX_INVALID_ARGUMENT, "axis 2 is out of range");
  refuse(nx_fft(c, NX_AXES(1, -1)), NX_INVALID_ARGUMENT, "axis -1 is given twice");
  refuse(nx_fft(r, NX_AXES(0)), NX_UNSUPPORTED_DTYPE, "f32");
  refuse(nx_irfft(r, NX_AXES(0), NULL, 0), NX_UNSUPPORTED_DTYPE, "f32");
  refuse(nx_rfft(c, NX_AXES(0)), NX_UNSUPPORTED_DTYPE, "c64");
  refuse(nx_rfft(nx_cast(r, NX_I32), NX_AXES(0)), NX_UNSUPPORTED_DTYPE, "i32");
  refuse(nx_rfft(nx_cast(r, NX_BOOL), NX_AXES(0)), NX_UNSUPPORTED_DTYPE, "bool");
  refuse(nx_fft(nx_cast(r, NX_F16), NX_AXES(0)), NX_UNSUPPORTED_DTYPE, "f16");
  refuse(nx_irfft(nx_cast(r, NX_BF16), NX_AXES(0), NULL, 0), NX_UNSUPPORTED_DTYPE, "bf16");
  refuse(nx_rfft(r, NX_AXES(1)), NX_INVALID_ARGUMENT, "rfft: there is no transform of length 0");
  refuse(nx_irfft(c, NX_AXES(1), NULL, 0), NX_INVALID_ARGUMENT, "no transform of length 0");
  refuse(nx_irfft(c, NX_AXES(1), &none, 1), NX_INVALID_ARGUMENT, "size 0 of the list is 0");
  refuse(nx_irfft(c, NX_AXES(1), &huge, 1), NX_INVALID_ARGUMENT, "irfft");
  refuse(nx_fft(number(1), NX_AXES(0)), NX_INVALID_ARGUMENT, "out of range for rank 0");
}

/* Without kernels, whose compilation takes longer. */
static nx_tensor *operand, *result;
static void prepare(void) { operand = tensor(0, NX_F64, 2, (int64_t[]){74, 20}); }
/* Axes from the end are the same ones, with sizes too. */
static void axes_from_the_end(void **state) {
  (void)state;
  nx_tensor *x = GOOD(nx_cast(GOOD(nx_reshape(vector(60, 1, 1), NX_SHAPE(3, 4, 5), 0)), NX_C64));
  const int64_t sizes[] = {6, 3, 8};
  same_as(GOOD(nx_irfft(x, NX_AXES(-3, -2, -1), sizes, 3)),
          GOOD(nx_irfft(x, NX_AXES(0, 1, 2), sizes, 3)));
  same_as(GOOD(nx_irfft(x, NX_ALL_AXES, sizes, 3)), GOOD(nx_irfft(x, NX_AXES(0, 1, 2), sizes, 3)));
  same_as(GOOD(nx_fft(x, NX_ALL_AXES)), GOOD(nx_fft(x, NX_AXES(0, 1, 2))));
  same_as(GOOD(nx_irfft(x, NX_AXES(-1, -3), sizes, 2)), GOOD(nx_irfft(x, NX_AXES(2, 0), sizes, 2)));
}

static nx_status program(void) {
  result = nx_rfft(operand, NX_AXES(0, 1));
  return result ? nx_realize(ctx, &result, 1, NULL) : NX_OUT_OF_MEMORY;
}
static void finish(void) {
  if (result) OK(nx_realize(ctx, &result, 1, NULL));
  release(operand), release(result);
}
static void allocations(void **state) {
  (void)state;
  each_allocation_fails(prepare, program, finish);
}

NXT_MAIN(fft_api) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(complex_values),    IN_SCOPE(real_values),   IN_SCOPE(sizes_of_results),
      IN_SCOPE(layouts),           IN_SCOPE(nothing_there), IN_SCOPE(deepest),
      IN_SCOPE(small_floats),      IN_SCOPE(fused),         IN_SCOPE(same_bits),
      IN_SCOPE(functions),         IN_SCOPE(identity),      IN_SCOPE(interrupted),
      IN_SCOPE(axes_from_the_end), IN_SCOPE(refused),       IN_SCOPE(allocations)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
