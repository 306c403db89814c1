/* SPDX-License-Identifier: ISC */
/* Fourier transforms have the same bits for every instruction set, order of tasks and place in a
 * tensor. Also what is refused, empty tensors and exhausted memory. */
#include "fft_util.h"

#include "runtime/launch/internal.h"
#include "tests/util/runner.h"

/* ---- the same bits */

static void same(const void *a, const void *b, int64_t bytes, const char *what, int64_t n) {
  if (memcmp(a, b, (size_t)bytes) != 0)
    fail_msg("%s: other bits for length %lld", what, (long long)n);
}

/* A transform alone, as row 1 of 3, as row 20 of 37, and as a column. */
static void check_places(int bytes, int64_t n) {
  static const int64_t batches[][2] = {{3, 1}, {37, 20}, {37, 36}};
  void *x = numbers(bytes, 2 * n), *alone = transform(NXG_fft, bytes, n, 0, x);
  for (int i = 0; i < 9; i++) {
    int64_t batch = batches[i / 3][0], place = batches[i / 3][1], axis = i % 3 != 0;
    int64_t shape[2] = {axis ? batch : n, axis ? n : batch};
    if (i % 3 == 2 && n > 100) continue;
    fft_call c = {.kind = NXG_fft,
                  .dtype = dtype_of(NXG_fft, bytes),
                  .rank = 2,
                  .shape = shape,
                  .n_axes = 1,
                  .axes = &axis};
    void *many = numbers(bytes, 2 * n * batch);
    int64_t step = axis ? 1 : batch, first = axis ? place * n : place, pair = 2 * bytes;
    for (int64_t j = 0; j < n; j++)
      memcpy((char *)many + (first + j * step) * pair, (char *)x + j * pair, (size_t)pair);
    void *y = run(&c, many), *taken = room(n * pair);
    for (int64_t j = 0; j < n; j++)
      memcpy((char *)taken + j * pair, (char *)y + (first + j * step) * pair, (size_t)pair);
    same(alone, taken, n * pair, axis ? "a row" : "a column", n);
    free(many), free(y), free(taken);
  }
  free(x), free(alone);
}

/* The transforms of real lines along an axis, *y, and those back, *z. */
static void there_and_back(int bytes, int64_t n, int64_t lines, int64_t axis, const char *x,
                           char **y, char **z) {
  int64_t shape[2] = {n, n}, spectrum[2] = {n / 2 + 1, n / 2 + 1};
  shape[1 - axis] = spectrum[1 - axis] = lines;
  fft_call c = {.kind = NXG_rfft,
                .dtype = dtype_of(NXG_rfft, bytes),
                .rank = 2,
                .shape = shape,
                .n_axes = 1,
                .axes = &axis};
  *y = run(&c, x);
  c.kind = NXG_irfft;
  c.dtype = dtype_of(NXG_irfft, bytes);
  c.shape = spectrum;
  c.size = n;
  *z = run(&c, *y);
}

/* Columns of real numbers have the bits of rows, both ways. */
static void check_real_columns(int bytes, int64_t n, int64_t columns) {
  int64_t half = n / 2 + 1;
  char *x = numbers(bytes, n * columns), *row = room(2 * half * bytes),
       *pair = room(2 * half * bytes), *y, *z;
  there_and_back(bytes, n, columns, 0, x, &y, &z);
  for (int64_t i = 0; i < columns; i += 5) {
    for (int64_t j = 0; j < n; j++)
      memcpy(row + j * bytes, x + (j * columns + i) * bytes, (size_t)bytes);
    char *alone = transform(NXG_rfft, bytes, n, 0, row);
    for (int64_t j = 0; j < half; j++)
      memcpy(pair + 2 * j * bytes, y + 2 * (j * columns + i) * bytes, 2 * (size_t)bytes);
    same(alone, pair, 2 * half * bytes, "a real column", n);
    char *back = transform(NXG_irfft, bytes, n, half, pair);
    for (int64_t j = 0; j < n; j++)
      memcpy(row + j * bytes, z + (j * columns + i) * bytes, (size_t)bytes);
    same(back, row, n * bytes, "a column of reals", n);
    free(alone), free(back);
  }
  free(x), free(y), free(z), free(row), free(pair);
}

/* Each of many rows of real numbers has the bits that it has alone, both ways. */
static void check_real_rows(int bytes, int64_t n, int64_t rows) {
  int64_t half = n / 2 + 1;
  char *x = numbers(bytes, n * rows), *y, *z;
  there_and_back(bytes, n, rows, 1, x, &y, &z);
  for (int64_t i = 0; i < rows; i++) {
    char *pairs = y + 2 * i * half * bytes,
         *alone = transform(NXG_rfft, bytes, n, 0, x + i * n * bytes);
    same(alone, pairs, 2 * half * bytes, "a real row", n);
    char *back = transform(NXG_irfft, bytes, n, half, pairs);
    same(back, z + i * n * bytes, n * bytes, "a row of reals", n);
    free(alone), free(back);
  }
  free(x), free(y), free(z);
}

static void test_places(void **state) {
  (void)state;
  for (int bytes = F32; bytes <= F64; bytes += 4) {
    for (int64_t n = 1; n <= 64; n++) {
      check_places(bytes, n);
      check_real_columns(bytes, n, 19);
      check_real_columns(bytes, n, n % 7 + 1);
    }
    for (int64_t n = 2; n <= 260; n += n < 40 ? 2 : 22) check_real_rows(bytes, n, 83);
    check_real_rows(bytes, 100, 149); /* twice as many as are done together, and some */
    check_real_rows(bytes, 1024, 5);
    check_real_columns(bytes, 1000, 37);
    check_real_columns(bytes, 2 * 509, 6);
    check_real_columns(bytes, 40000, 35); /* shared by tasks, in blocks of 16 */
    check_real_columns(bytes, 59049, 17);
    check_real_columns(bytes, 2 * 20011, 17);
    for (int i = 0; i < N_LENGTHS; i++)
      if (lengths[i] <= 5000 || lengths[i] == 20480) check_places(bytes, lengths[i]);
  }
}

static void check_targets(int bytes, nxg_op kind, int64_t n, int64_t rows,
                          const nxi_target *targets, int count) {
  int64_t shape[2] = {rows, kind == NXG_irfft ? n / 2 + 1 : n}, axis = 1,
          results = kind == NXG_rfft ? n / 2 + 1 : n;
  fft_call c = {.kind = kind,
                .dtype = dtype_of(kind, bytes),
                .rank = 2,
                .shape = shape,
                .n_axes = 1,
                .axes = &axis};
  if (kind == NXG_irfft) c.size = n;
  void *x = numbers(bytes, 2 * rows * (n + 1)), *first = run_on(&targets[0], false, &c, x);
  for (int i = 1; i < count; i++) {
    void *other = run_on(&targets[i], rows < 8 && i % 2, &c, x);
    same(first, other, rows * results * bytes * (kind == NXG_irfft ? 1 : 2), targets[i].isa, n);
    free(other);
  }
  free(x), free(first);
}

static void test_targets(void **state) {
  (void)state;
  static const char *const names[] = {"generic", "avx2", "avx512"};
  nxi_target targets[4];
  int count = 0;
  for (int i = 0; i < 3; i++) count += nxi_target_for_isa(names[i], &targets[count]);
  if (count < 2) skip();
  targets[count] = targets[count - 1]; /* which prefers other widths */
  targets[count].halves = !targets[count].halves;
  count++;
  for (int bytes = F32; bytes <= F64; bytes += 4) {
    for (int kind = NXG_fft; kind <= NXG_irfft; kind++) {
      for (int64_t n = 1; n <= 70; n++) {
        check_targets(bytes, (nxg_op)kind, n, 3, targets, count);
        check_targets(bytes, (nxg_op)kind, n, 37, targets, count); /* in lanes, and some alone */
      }
      for (int64_t n = 71; n <= 420; n += n % 3 + 3)
        check_targets(bytes, (nxg_op)kind, n, 21, targets, count);
      for (int i = 0; i < N_LENGTHS; i++)
        if (lengths[i] <= 5000 || i % 4 == kind - NXG_fft)
          check_targets(bytes, (nxg_op)kind, lengths[i], 3, targets, count);
    }
  }
}

/* Results that go past the caches, and those that stay in them, where long transforms lie between
 * their two steps. There are as many rows as are done together twice, and some. */
static void check_past(int bytes, nxg_op kind, int64_t n, int32_t n_axes, nxi_target *target) {
  static const int64_t axes[] = {0, 1};
  int64_t rows = n > 700 ? 7 : 37, shape[2] = {rows, kind == NXG_irfft ? n / 2 + 1 : n};
  fft_call c = {.kind = kind,
                .dtype = dtype_of(kind, bytes),
                .rank = 2,
                .shape = shape,
                .n_axes = n_axes,
                .axes = axes + 2 - n_axes};
  if (kind == NXG_irfft) c.size = n;
  nxg_call call;
  assert_int_equal(infer(&c, &call, NULL), NX_OK);
  void *x = numbers(bytes, 2 * rows * (n + 1));
  target->l3_bytes = 0;
  void *through = run_on(target, false, &c, x);
  target->l3_bytes = 1;
  void *past = run_on(target, false, &c, x);
  same(through, past, bytes_of(&call.results[0]), target->isa, n);
  target->l3_bytes = 0;
  target->l2_bytes = target->l2_bytes ? 0 : INT64_MAX; /* what is fetched meanwhile */
  void *other = run_on(target, false, &c, x);
  same(through, other, bytes_of(&call.results[0]), target->isa, n);
  free(x), free(through), free(past), free(other);
}

static void test_past(void **state) {
  (void)state;
  static const char *const names[] = {"generic", "avx2", "avx512"};
  nxi_target target;
  for (int i = 0; i < 3; i++) {
    if (!nxi_target_for_isa(names[i], &target)) continue;
    for (int bytes = F32; bytes <= F64; bytes += 4) {
      for (int kind = NXG_fft; kind <= NXG_irfft; kind++) {
        nxg_op k = (nxg_op)kind;
        for (int64_t n = 1; n < 70; n++) check_past(bytes, k, n, 1, &target);
        for (int64_t n = 96; n < 3000; n += n / 4) check_past(bytes, k, n, 1, &target);
        for (int64_t n = 64; n <= 4096; n *= 2) check_past(bytes, k, n, 1, &target);
        check_past(bytes, k, 1009, 1, &target);
        check_past(bytes, k, 2018, 1, &target);
        check_past(bytes, k, 32768, 1, &target);
        check_past(bytes, k, 2 * 19683, 1, &target); /* strips that are not full */
        check_past(bytes, k, 100, 2, &target);
        check_past(bytes, k, 1000, 2, &target);
      }
    }
  }
}

static void check_order(int bytes, nxg_op kind, int32_t rank, const int64_t *shape, int32_t n_axes,
                        const int64_t *axes) {
  fft_call c = {.kind = kind,
                .dtype = dtype_of(kind, bytes),
                .rank = rank,
                .shape = shape,
                .n_axes = n_axes,
                .axes = axes};
  nxg_call call;
  assert_int_equal(infer(&c, &call, NULL), NX_OK);
  void *x = numbers(bytes, 2 * nxg_elements(rank, shape));
  void *one = run(&c, x), *two = run_on(nxi_target_host(), true, &c, x);
  same(one, two, bytes_of(&call.results[0]), "another order of tasks", shape[rank - 1]);
  free(x), free(one), free(two);
}

static void test_order(void **state) {
  (void)state;
  static const int64_t both[] = {0, 1}, zero[] = {0}, one[] = {1};
  for (int bytes = F32; bytes <= F64; bytes += 4) {
    for (int kind = NXG_fft; kind <= NXG_irfft; kind++) {
      nxg_op k = (nxg_op)kind;
      check_order(bytes, k, 1, (int64_t[]){1 << 16}, 1, zero);
      check_order(bytes, k, 1, (int64_t[]){100003}, 1, zero);
      check_order(bytes, k, 2, (int64_t[]){300, 1000}, 2, both);
      check_order(bytes, k, 2, (int64_t[]){5, 32768}, 1, one);
      check_order(bytes, k, 2, (int64_t[]){32768, 11}, 1, zero);
      check_order(bytes, k, 2, (int64_t[]){2000, 24}, 1, one);
    }
  }
}

/* ---- bad input, empty tensors, interruption, memory */

static void refused(fft_call c, nx_status want, const char *words) {
  nxi_diag d = {0};
  nxg_call call;
  assert_int_equal(infer(&c, &call, &d), want);
  if (!strstr(d.message, words)) fail_msg("'%s' has no '%s'", d.message, words);
}

static void test_refused(void **state) {
  (void)state;
  static const int64_t shape[] = {4, 0, 1}, axes[] = {0, 1, 2, 3};
  fft_call c = {
      .kind = NXG_fft, .dtype = NX_C64, .rank = 3, .shape = shape, .n_axes = 1, .axes = axes};
  fft_call bad = c;
  bad.dtype = NX_F32;
  refused(bad, NX_UNSUPPORTED_DTYPE, "f32");
  bad = c, bad.kind = NXG_rfft;
  refused(bad, NX_UNSUPPORTED_DTYPE, "c64");
  bad = c, bad.n_axes = 0;
  refused(bad, NX_INVALID_ARGUMENT, "an axis or more");
  bad = c, bad.axes = axes + 3;
  refused(bad, NX_INVALID_ARGUMENT, "axis 3 is out of range");
  bad = c, bad.kind = NXG_rfft, bad.dtype = NX_F64, bad.axes = axes + 1;
  refused(bad, NX_INVALID_ARGUMENT, "length 0");
  bad = c, bad.kind = NXG_irfft, bad.axes = axes + 2;
  refused(bad, NX_INVALID_ARGUMENT, "length 0");
  bad.size = -2;
  refused(bad, NX_INVALID_ARGUMENT, "length -2");
}

static void test_empty(void **state) {
  (void)state;
  static const int64_t shape[] = {4, 0, 6}, axes[] = {0, 1, 2};
  fft_call c = {
      .kind = NXG_fft, .dtype = NX_C64, .rank = 3, .shape = shape, .n_axes = 3, .axes = axes};
  free(run(&c, NULL));
  c.kind = NXG_rfft, c.dtype = NX_F64;
  free(run(&c, NULL));
  /* No pairs given: zeros. */
  static const int64_t none[] = {3, 0};
  c = (fft_call){.kind = NXG_irfft,
                 .dtype = NX_C128,
                 .rank = 2,
                 .shape = none,
                 .n_axes = 2,
                 .axes = axes,
                 .size = 5};
  double *zeros = run(&c, NULL);
  for (int i = 0; i < 15; i++) assert_true(zeros[i] == 0);
  free(zeros);
}

/* ---- polls: phases are often too short for one of their own, so there is one between them */

typedef struct stops {
  int asked, at;
  uint32_t last_phase;
} stops;
static stops stopping;

static int32_t stop(void *user) {
  (void)user;
  return ++stopping.asked == stopping.at;
}

static nx_status run_noting(nxg_call_part *part) {
  stopping.last_phase = part->phase;
  return nxi_fft_functions.run(part);
}

static void test_polls(void **state) {
  (void)state;
  static const int64_t shape[] = {40000, 17}, axes[] = {0};
  const nxg_functions noting = {.run = run_noting};
  fft_call c = {
      .kind = NXG_fft, .dtype = NX_C64, .rank = 2, .shape = shape, .n_axes = 1, .axes = axes};
  nxg_call described;
  nxp_call call = {.call = &described};
  assert_int_equal(infer(&c, &described, NULL), NX_OK);
  assert_int_equal(nxi_fft_prepare(&described, nxi_target_host(), &call.work, NULL), NX_OK);
  assert_true(call.work.n_phases > 60);
  void *buffers[] = {numbers(F32, 2 * 40000 * 17), room(bytes_of(&described.results[0])),
                     room(call.work.shared_bytes), room(call.work.own_bytes)};
  nxi_poll poll = {stop, NULL};
  for (int at = 0; at < 50; at = 3 * at + 1) { /* 0: it is not told to stop */
    stopping = (stops){.at = at};
    assert_int_equal(nxi_run_call(&call, &noting, buffers, NULL, &poll, NULL),
                     at ? NX_INTERRUPTED : NX_OK);
    if (at) assert_true(stopping.asked == at && stopping.last_phase < (uint32_t)at);
    else assert_true(stopping.last_phase == call.work.n_phases - 1);
  }
  for (int i = 0; i < 4; i++) free(buffers[i]);
  nxi_fft_functions.release(call.work.state);
}

/* Tables of long transforms take long: chirps, factors between two steps, of half lengths. */
static void test_polls_while_prepared(void **state) {
  (void)state;
  static const struct {
    nxg_op kind;
    int64_t n;
  } cases[] = {{NXG_fft, 20011}, {NXG_fft, 1 << 18}, {NXG_rfft, 1 << 20}};
  static const int64_t axes[] = {0};
  nxi_poll poll = {stop, NULL};
  for (int i = 0; i < 3; i++) {
    const bool real = cases[i].kind == NXG_rfft;
    fft_call c = {.kind = cases[i].kind,
                  .dtype = real ? NX_F64 : NX_C128,
                  .rank = 1,
                  .shape = &cases[i].n,
                  .n_axes = 1,
                  .axes = axes};
    nxg_call described;
    assert_int_equal(infer(&c, &described, NULL), NX_OK);
    stopping = (stops){0};
    for (int at = 0, all = 1; at <= all; at++) { /* 0: it is not told to stop */
      nxg_call_work work = {.poll = &poll};
      nxi_diag d;
      nxi_diag_clear(&d);
      stopping = (stops){.at = at};
      nx_status status = nxi_fft_prepare(&described, nxi_target_host(), &work, &d);
      assert_int_equal(status, at ? NX_INTERRUPTED : NX_OK);
      if (at) assert_int_equal(stopping.asked, at);
      else all = stopping.asked < 20 ? stopping.asked : 20;
      if (at == 0) nxi_fft_functions.release(work.state);
    }
    assert_true(stopping.asked >= 2);
  }
}

static void test_memory(void **state) {
  (void)state;
  static const int64_t shape[] = {100003, 96, 67}, axes[] = {0, 1, 2};
  for (int kind = NXG_fft; kind <= NXG_irfft; kind++) {
    fft_call c = {.kind = (nxg_op)kind,
                  .dtype = dtype_of((nxg_op)kind, F64),
                  .rank = 3,
                  .shape = shape,
                  .n_axes = 3,
                  .axes = axes};
    nxg_call call;
    assert_int_equal(infer(&c, &call, NULL), NX_OK);
    for (int64_t after = 0;; after++) {
      nxg_call_work work = {0};
      nxi_alloc_fail(after, false);
      nx_status status = nxi_fft_prepare(&call, nxi_target_host(), &work, NULL);
      nxi_alloc_fail(-1, false);
      if (status == NX_OK) {
        assert_true(after > 10);
        nxi_fft_functions.release(work.state);
        break;
      }
      assert_int_equal(status, NX_OUT_OF_MEMORY);
      assert_null(work.state);
    }
  }
}

NXT_MAIN(fft_bits) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_places),  cmocka_unit_test(test_targets),
      cmocka_unit_test(test_order),   cmocka_unit_test(test_past),
      cmocka_unit_test(test_refused), cmocka_unit_test(test_empty),
      cmocka_unit_test(test_polls),   cmocka_unit_test(test_polls_while_prepared),
      cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
