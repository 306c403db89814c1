/* SPDX-License-Identifier: ISC */
/* Tests of Fourier transforms on the device "cuda" with a fake cuFFT (fake_cufft.c), compared with
 * the device "cpu". */
#include "tests/cuda/cuda_util.h"
#include "tests/util/runner.h"

#include <sys/wait.h>
#include <unistd.h>

enum { FFT, IFFT, RFFT, IRFFT };

static nx_tensor *transform(int op, nx_tensor *x, const int32_t *axes, size_t n,
                            const int64_t *sizes) {
  switch (op) {
    case FFT: return nx_fft(x, axes, n);
    case IFFT: return nx_ifft(x, axes, n);
    case RFFT: return nx_rfft(x, axes, n);
    default: return nx_irfft(x, axes, n, sizes, sizes ? n : 0);
  }
}

static nx_dtype dtype_of(int op, bool wide) {
  if (op == RFFT) return wide ? NX_F64 : NX_F32;
  return wide ? NX_C128 : NX_C64;
}

static void both(int op, bool wide, int32_t rank, const int64_t *shape, const int32_t *axes,
                 size_t n, const int64_t *sizes) {
  nx_tensor *x = GOOD(tensor_in(ctx, 0, dtype_of(op, wide), shape, rank, 0));
  nx_tensor *there = GOOD(tensor_in(ctx, CUDA, dtype_of(op, wide), shape, rank, 0));
  nx_tensor *wanted = GOOD(transform(op, x, axes, n, sizes)),
            *is = GOOD(transform(op, there, axes, n, sizes));
  expect_calls(&is, 1, 1, 0);
  close_to(is, wanted, wide ? 1e-13 : 2e-6);
  close_to(there, x, 0); /* the operand is not overwritten */
}

typedef struct form {
  int32_t rank;
  int64_t shape[5];
  int32_t axes[5];
  size_t n;
} form;

static void every_layout(void **state) {
  static const form forms[] = {
      {3, {3, 10, 7}, {0}, 1},
      {3, {3, 10, 7}, {1}, 1},
      {3, {3, 10, 7}, {2}, 1},
      {3, {3, 10, 7}, {2, 0}, 2},
      {3, {3, 10, 7}, {1, 2}, 2},
      {3, {3, 10, 7}, {2, 1}, 2},
      {3, {3, 10, 7}, {1, 0}, 2},
      {3, {3, 10, 7}, {0, 1, 2}, 3},
      {3, {2, 40, 35}, {1}, 1},
      {5, {2, 1, 4, 3, 5}, {0, 1, 2, 3, 4}, 5},
      {5, {2, 1, 4, 3, 5}, {0, 2, 1}, 3},
      {2, {1, 1}, {0, 1}, 2},
      {2, {2, 3}, {0}, 1},
      {1, {1009}, {0}, 1},
  };
  (void)state;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    const form *f = &forms[i];
    for (int op = FFT; op <= RFFT; op++)
      both(op, i % 2 != (size_t)op % 2, f->rank, f->shape, f->axes, f->n, NULL);
    if (f->shape[f->axes[f->n - 1]] > 1) both(IRFFT, i % 2, f->rank, f->shape, f->axes, f->n, NULL);
  }
}

static void sizes_of_real_results(void **state) {
  static const struct {
    form form;
    int64_t sizes[3];
  } all[] = {
      {{3, {3, 4, 5}, {2}, 1}, {8}},
      {{3, {3, 4, 5}, {2}, 1}, {9}},
      {{3, {3, 4, 5}, {2}, 1}, {5}},
      {{3, {3, 4, 5}, {2}, 1}, {14}},
      {{3, {3, 4, 5}, {1}, 1}, {1}},
      {{3, {3, 4, 5}, {1}, 1}, {2}},
      {{3, {3, 4, 5}, {0, 1}, 2}, {4, 6}},
      {{3, {3, 4, 5}, {2, 1, 0}, 3}, {5, 3, 7}},
      {{3, {3, 4, 5}, {0, 1, 2}, 3}, {2, 5, 11}},
      {{2, {3, 0}, {0, 1}, 2}, {3, 5}},
  };
  (void)state;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    const form *f = &all[i].form;
    both(IRFFT, i % 2 == 0, f->rank, f->shape, f->axes, f->n, all[i].sizes);
  }
}

/* Real numbers that are not aligned like a pair, and spectra with a NaN. */
static void odd_operands(void **state) {
  (void)state;
  nx_tensor *x[2], *y[2];
  for (int i = 0; i < 2; i++) {
    nx_tensor *all = GOOD(tensor_in(ctx, i ? CUDA : 0, NX_F32, NX_SHAPE(31), 5));
    x[i] = GOOD(nx_reshape(part(all, 1, 30, 1), NX_SHAPE(3, 10), 0));
    y[i] = GOOD(nx_rfft(x[i], NX_AXES(1)));
  }
  expect_calls(&y[1], 1, 1, 0);
  close_to(y[1], y[0], 2e-6);
  nx_tensor *back = GOOD(tensor_in(ctx, CUDA, NX_F32, NX_SHAPE(31), 0)),
            *wanted = GOOD(nx_irfft(y[0], NX_AXES(1), NULL, 0));
  OK(nx_assign(part(back, 1, 30, 1),
               GOOD(nx_reshape(GOOD(nx_irfft(y[1], NX_AXES(1), NULL, 0)), NX_SHAPE(30), 0))));
  close_to(part(back, 1, 30, 1), GOOD(nx_reshape(wanted, NX_SHAPE(30), 0)), 2e-6);
  int64_t none[] = {0, 4};
  nx_tensor *empty = GOOD(nx_fft(GOOD(nx_empty(ctx, CUDA, NX_C64, none, 2)), NX_AXES(1)));
  OK(nx_read(empty, NULL, 0, NULL));
  float line[] = {1, NAN, 2, 3}, spectrum[6];
  nx_tensor *bad = GOOD(nx_empty(ctx, CUDA, NX_F32, NX_SHAPE(4)));
  OK(nx_write(bad, line, sizeof line, NULL));
  OK(nx_read(GOOD(nx_rfft(bad, NX_AXES(0))), spectrum, sizeof spectrum, NULL));
  for (int i = 0; i < 3; i++) assert_true(isnan(spectrum[2 * i]));
}

/* More forms of transforms than plans that are kept. */
static void plans_are_bounded(void **state) {
  (void)state;
  int64_t handles = fake->handles;
  for (int64_t n = 2; n < 102; n++)
    for (int again = 0; again < 2; again++) both(FFT, true, 1, &n, NX_AXES(0), NULL);
  assert_true(fake->handles - handles <= 64);
}

static nx_status program(nx_context *c) {
  nx_scope *s = nx_scope_begin(c);
  nx_tensor *x = tensor_in(c, CUDA, NX_F64, NX_SHAPE(2, 3, 5), 0), *y = NULL;
  double first[30], back[30];
  if (x != NULL) y = nx_irfft(nx_rfft(x, NX_AXES(2, 1)), NX_AXES(2, 1), (int64_t[]){5, 3}, 2);
  nx_status status = y != NULL ? nx_read(y, back, sizeof back, NULL) : nx_error_take(NULL);
  if (status == NX_OK) status = nx_read(x, first, sizeof first, NULL);
  for (int i = 0; i < 30 && status == NX_OK; i++)
    assert_true(fabs(back[i] / 15 - first[i]) < 1e-13);
  if (status != NX_OK) nx_error_take(NULL);
  if (s != NULL) nx_scope_end(s);
  return status;
}

static void every_call_fails(void **state) {
  (void)state;
  each_call_fails(program, true);
}

/* In a separate process, because libraries are searched only once. */
static int without_the_library(void) {
  pid_t child = fork();
  if (child == 0) {
    setenv("NX_CUFFT", "/none", 1);
    float first[2] = {0};
    nx_report report = {.size = sizeof report};
    nx_run_options o = {.size = sizeof o, .report = &report};
    bool good = nx_context_create(NULL, &ctx) == NX_OK;
    nx_tensor *x = good ? tensor_in(ctx, CUDA, NX_C64, NX_SHAPE(8), 0) : NULL,
              *y = nx_fft(x, NX_AXES(0));
    good = y != NULL && nx_realize(ctx, &y, 1, &o) == NX_OK && report.host_calls == 1 &&
           nx_read(nx_shrink(y, (int64_t[]){0}, (int64_t[]){1}, 1), first, sizeof first, NULL) ==
               NX_OK;
    for (int i = 0; i < 8; i++) first[0] -= (float)some(2 * i);
    _exit(good && fabsf(first[0]) < 1e-5f ? 0 : 1);
  }
  int status;
  return waitpid(child, &status, 0) != child || status != 0;
}

NXT_MAIN(cuda_fft) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(every_layout),      IN_SCOPE(sizes_of_real_results), IN_SCOPE(odd_operands),
      IN_SCOPE(plans_are_bounded), IN_SCOPE(every_call_fails),
  };
  setenv("NX_CUDA", NXT_FAKE, 1);
  setenv("NX_NVRTC", NXT_FAKE, 1);
  setenv("NX_CACHE_DIR", "", 1);
  if (without_the_library()) {
    fprintf(stderr, "without cuFFT the host does not do it\n");
    return 1;
  }
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
