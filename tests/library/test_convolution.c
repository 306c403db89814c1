/* SPDX-License-Identifier: ISC */
/* Convolution as unfold, reshape and matmul, through the interface: next to its definition in
 * doubles, the same bits as with the windows written whole, in memory that does not grow with them,
 * and interruptible. */
#include "tests/util/api.h"

#include <math.h>

#include "ir/target.h"
#include "runtime/library/floats/windows.h"

/* Images [n, channels, size[0], size[1]], or the same with channels last; `out` channels of
 * results. */
typedef struct convolution {
  const char *label;
  int64_t images, channels, size[2], out, kernel[2], stride[2], dilation[2], before[2], after[2];
  bool channels_last;
} convolution;

static int64_t windows_of(const convolution *c, int axis) {
  return (c->size[axis] + c->before[axis] + c->after[axis] -
          (c->kernel[axis] - 1) * c->dilation[axis] - 1) /
             c->stride[axis] +
         1;
}

static int64_t positions(const convolution *c) { return windows_of(c, 0) * windows_of(c, 1); }
static int64_t taps(const convolution *c) { return c->channels * c->kernel[0] * c->kernel[1]; }

static float *random_numbers(int64_t n, uint32_t seed) {
  float *x = malloc((size_t)n * sizeof *x);
  assert_non_null(x);
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 1664525 + 1013904223;
    x[i] = (float)(seed >> 8) / (float)(1 << 23) - 1;
  }
  return x;
}

static nx_tensor *filled(int32_t rank, const int64_t *shape, const float *values) {
  int64_t n = 1;
  for (int32_t i = 0; i < rank; i++) n *= shape[i];
  nx_tensor *t = GOOD(nx_empty(ctx, 0, NX_F32, shape, rank));
  OK(nx_write(t, values, (size_t)n * sizeof *values, NULL));
  return t;
}

/* [images, out, positions] */
static nx_tensor *record(const convolution *c, nx_tensor *x, nx_tensor *w) {
  const nx_window window = {sizeof window, 2,         c->kernel, c->stride,
                            c->dilation,   c->before, c->after};
  const int64_t columns[3] = {c->images, taps(c), positions(c)};
  if (c->channels_last) x = GOOD(nx_permute(x, NX_AXES(0, 3, 1, 2)));
  return GOOD(nx_matmul(w, nx_reshape(nx_unfold(x, &window), columns, 3, 0)));
}

static int64_t place(const convolution *c, int64_t image, int64_t channel, int64_t i, int64_t j) {
  if (c->channels_last) return ((image * c->size[0] + i) * c->size[1] + j) * c->channels + channel;
  return ((image * c->channels + channel) * c->size[0] + i) * c->size[1] + j;
}

/* One result by its definition, and the sum of the sizes of what it adds. */
static double defined(const convolution *c, const float *x, const float *w, int64_t image,
                      int64_t out, int64_t position, double *size) {
  int64_t row = position / windows_of(c, 1), column = position % windows_of(c, 1);
  double sum = *size = 0;
  for (int64_t t = 0; t < taps(c); t++) {
    int64_t channel = t / (c->kernel[0] * c->kernel[1]),
            i = row * c->stride[0] + t / c->kernel[1] % c->kernel[0] * c->dilation[0] -
                c->before[0],
            j = column * c->stride[1] + t % c->kernel[1] * c->dilation[1] - c->before[1];
    if (i < 0 || j < 0 || i >= c->size[0] || j >= c->size[1]) continue;
    double term = (double)x[place(c, image, channel, i, j)] * (double)w[out * taps(c) + t];
    sum += term;
    *size += fabs(term);
  }
  return sum;
}

static const convolution cases[] = {
    {"3x3", 8, 16, {64, 64}, 40, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false},
    {"one image", 1, 16, {128, 128}, 40, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false},
    {"strides", 9, 15, {101, 95}, 37, {5, 3}, {2, 1}, {1, 1}, {2, 0}, {1, 3}, false},
    {"dilation", 5, 33, {67, 71}, 41, {2, 3}, {1, 1}, {3, 2}, {0, 4}, {3, 0}, false},
    {"channels last", 8, 16, {64, 63}, 40, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, true},
};

static void check_values(const convolution *c, const float *y, const float *x, const float *w) {
  int64_t count = c->images * c->out * positions(c);
  for (int64_t at = 0; at < count; at += 97) {
    double size, is = (double)y[at],
                 wanted = defined(c, x, w, at / positions(c) / c->out, at / positions(c) % c->out,
                                  at % positions(c), &size);
    if (fabs(is - wanted) > 1e-6 * size)
      fail_msg("%s: element %lld is %g, not %g", c->label, (long long)at, is, wanted);
  }
}

/* Realises y into memory of its own and gives the plan's bytes. */
static float *realised(nx_tensor *y, int64_t count, uint64_t *planned) {
  float *values = malloc((size_t)count * sizeof *values);
  nx_report report = {.size = sizeof report};
  nx_run_options options = {.size = sizeof options, .report = &report};
  assert_non_null(values);
  OK(nx_realize(ctx, &y, 1, &options));
  OK(nx_read(y, values, (size_t)count * sizeof *values, NULL));
  *planned = report.planned_bytes;
  return values;
}

static void check_case(const convolution *c, uint64_t *planned, uint64_t *planned_whole) {
  int64_t n = c->images * c->channels * c->size[0] * c->size[1],
          count = c->images * c->out * positions(c);
  const int64_t first[4] = {c->images, c->channels, c->size[0], c->size[1]},
                last[4] = {c->images, c->size[0], c->size[1], c->channels};
  float *x = random_numbers(n, 1), *w = random_numbers(c->out * taps(c), 2);
  nx_tensor *images = filled(4, c->channels_last ? last : first, x),
            *weights = filled(2, (const int64_t[]){c->out, taps(c)}, w);
  float *y = realised(record(c, images, weights), count, planned);
  check_values(c, y, x, w);
  OK(nx_debug_set("nopacking"));
  float *whole = realised(record(c, images, weights), count, planned_whole);
  OK(nx_debug_set(NULL));
  assert_memory_equal(y, whole, (size_t)count * sizeof *y);
  free(x), free(w), free(y), free(whole);
}

static void it_is_what_it_is_defined_to_be(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint64_t planned, planned_whole;
    check_case(&cases[i], &planned, &planned_whole);
  }
}

/* ---- memory */

/* A product of windows, or two. */
typedef struct user {
  const char *label;
  bool result, gradient; /* which of them */
  bool flat;             /* the gradient's inner extent is images * positions */
  nx_dtype dtype;
  convolution of;
} user;

static nx_tensor *ramp(nx_dtype dtype, int32_t rank, const int64_t *shape) {
  int64_t n = 1;
  for (int32_t i = 0; i < rank; i++) n *= shape[i];
  float *x = random_numbers(2 * n, (uint32_t)n);
  nx_dtype given = dtype == NX_C64 || dtype == NX_C128 ? NX_C64 : NX_F32;
  nx_tensor *t = GOOD(nx_empty(ctx, 0, given, shape, rank));
  OK(nx_write(t, x, (size_t)n * (given == NX_C64 ? 8 : 4), NULL));
  free(x);
  t = GOOD(nx_cast(t, dtype));
  OK(nx_realize(ctx, &t, 1, NULL));
  return t;
}

/* [images, taps, positions] */
static nx_tensor *windows(const convolution *c, nx_dtype dtype) {
  const nx_window window = {sizeof window, 2,         c->kernel, c->stride,
                            c->dilation,   c->before, c->after};
  const int64_t columns[3] = {c->images, taps(c), positions(c)},
                shape[4] = {c->images, c->channels, c->size[0], c->size[1]};
  return GOOD(nx_reshape(nx_unfold(ramp(dtype, 4, shape), &window), columns, 3, 0));
}

static nx_tensor *upstream(const convolution *c, nx_dtype dtype) {
  return ramp(dtype, 3, (const int64_t[]){c->images, c->out, positions(c)});
}

static nx_tensor *forward_of(const convolution *c, nx_dtype dtype, nx_tensor *columns) {
  return GOOD(nx_matmul(ramp(dtype, 2, (const int64_t[]){c->out, taps(c)}), columns));
}

static nx_tensor *gradient_of(const convolution *c, nx_dtype dtype, nx_tensor *columns) {
  nx_tensor *each = nx_matmul(upstream(c, dtype), nx_permute(columns, NX_AXES(0, 2, 1)));
  return GOOD(nx_reduce_sum(each, NX_AXES(0), 0));
}

static nx_tensor *flat_gradient_of(const convolution *c, nx_dtype dtype, nx_tensor *columns) {
  const int64_t left[2] = {c->out, c->images * positions(c)},
                right[2] = {c->images * positions(c), taps(c)};
  nx_tensor *g = nx_contiguous(nx_permute(upstream(c, dtype), NX_AXES(1, 0, 2))),
            *x = nx_contiguous(nx_permute(columns, NX_AXES(0, 2, 1)));
  OK(nx_realize(ctx, &g, 1, NULL));
  return GOOD(nx_matmul(nx_reshape(g, left, 2, 0), nx_reshape(x, right, 2, 0)));
}

static const user users[] = {
    {"3x3",
     true,
     false,
     false,
     NX_F32,
     {"", 8, 16, {64, 64}, 40, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false}},
    {"many channels",
     true,
     false,
     false,
     NX_F32,
     {"", 3, 512, {14, 14}, 48, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false}},
    {"gradient of the weights",
     false,
     true,
     false,
     NX_F32,
     {"", 2, 16, {99, 101}, 40, {3, 3}, {1, 1}, {2, 1}, {2, 0}, {2, 2}, false}},
    {"the same, of all images",
     false,
     true,
     true,
     NX_F32,
     {"", 5, 48, {57, 55}, 40, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, false}},
    {"result and gradient",
     true,
     true,
     false,
     NX_F32,
     {"", 8, 16, {64, 64}, 40, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false}},
    {"bf16",
     true,
     false,
     false,
     NX_BF16,
     {"", 8, 16, {64, 64}, 40, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false}},
    {"complex",
     true,
     false,
     false,
     NX_C64,
     {"", 8, 16, {64, 64}, 40, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false}},
    {"complex, many channels",
     true,
     false,
     false,
     NX_C128,
     {"", 3, 200, {14, 14}, 36, {3, 3}, {1, 1}, {1, 1}, {0, 2}, {2, 0}, false}},
};

/* Temporaries of one plan: what it planned less what it gave. The results go to `values`. */
static int64_t temporaries(const user *u, char *values, size_t room) {
  const convolution *c = &u->of;
  nx_tensor *out[2];
  nx_report report = {.size = sizeof report};
  nx_run_options options = {.size = sizeof options, .report = &report};
  nx_scope *scope = nx_scope_begin(ctx);
  nx_tensor *columns = windows(c, u->dtype);
  int64_t elements[2], size = nx_dtype_bits(u->dtype) / 8;
  size_t n = 0;
  if (u->result) {
    elements[n] = c->images * c->out * positions(c);
    out[n++] = forward_of(c, u->dtype, columns);
  }
  if (u->gradient) {
    elements[n] = c->out * taps(c);
    out[n++] = u->flat ? flat_gradient_of(c, u->dtype, columns) : gradient_of(c, u->dtype, columns);
  }
  OK(nx_realize(ctx, out, n, &options));
  int64_t bytes = (int64_t)report.planned_bytes;
  for (size_t i = 0; i < n; i++) {
    size_t given = (size_t)(elements[i] * size);
    assert_true(given <= room);
    OK(nx_read(out[i], values, given, NULL));
    values += given, room -= given, bytes -= (int64_t)given;
  }
  nx_scope_end(scope);
  return bytes;
}

/* Written whole the windows are in the plan's memory, else a packed tile for each thread is. */
static void memory_does_not_hold_the_windows(void **state) {
  (void)state;
  enum { ROOM = 16 << 20 };
  nx_context *own = ctx;
  nx_context_options o = {.size = sizeof o, .threads = 2};
  OK(nx_context_create(&o, &ctx));
  bool any = false;
  char *values = calloc(2, ROOM);
  assert_non_null(values);
  for (size_t i = 0; i < sizeof users / sizeof *users; i++) {
    const user *u = &users[i];
    const convolution *c = &u->of;
    int64_t unfolded = c->images * taps(c) * positions(c) * nx_dtype_bits(u->dtype) / 8;
    memset(values, 0, 2 * (size_t)ROOM);
    int64_t packed = temporaries(u, values, ROOM);
    OK(nx_debug_set("nopacking"));
    int64_t whole = temporaries(u, values + ROOM, ROOM);
    OK(nx_debug_set(NULL));
    if (memcmp(values, values + ROOM, ROOM) != 0) fail_msg("%s: other bits", u->label);
    if (packed < whole) any = true;
    else if (any && unfolded > nxi_target_host()->l2_bytes)
      fail_msg("%s: the windows are written whole", u->label);
    if (packed < whole && packed > whole - unfolded / 2)
      fail_msg("%s: %lld bytes of %lld", u->label, (long long)packed, (long long)whole);
  }
  free(values);
  nx_context_release(ctx);
  ctx = own;
  if (!any) skip(); /* no BLAS, no compiler, or larger caches than any of today */
}

/* Twice as many images take no more. */
static void memory_does_not_grow_with_the_windows(void **state) {
  (void)state;
  enum { ROOM = 32 << 20 };
  char *values = malloc(ROOM);
  user u = users[0];
  int64_t bytes[2];
  assert_non_null(values);
  for (int i = 0; i < 2; i++, u.of.images *= 2) bytes[i] = temporaries(&u, values, ROOM);
  free(values);
  int64_t unfolded = u.of.images / 2 * taps(&u.of) * positions(&u.of) * 4;
  assert_true(bytes[1] <= bytes[0] || bytes[1] >= unfolded);
}

/* Kernels that would pack windows, where these are copied from the image instead, have no code. */
static void no_code_for_what_is_copied(void **state) {
  const convolution c = {"", 8, 64, {56, 56}, 64, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false};
  nx_context *own = ctx;
  nx_context_options o = {.size = sizeof o, .threads = 2, .cache_dir = ""};
  nx_report report = {.size = sizeof report};
  nx_run_options options = {.size = sizeof options, .report = &report};
  (void)state;
  OK(nx_context_create(&o, &ctx));
  nx_scope *scope = nx_scope_begin(ctx);
  nx_tensor *y = forward_of(&c, NX_F32, windows(&c, NX_F32));
  OK(nx_realize(ctx, &y, 1, &options));
  nx_scope_end(scope);
  nx_context_release(ctx);
  ctx = own;
  if (nxi_floats_kernels_for(NX_F32) == NULL || report.kernels == 0) skip();
  assert_true(report.kernel_misses < report.kernels);
}

/* Few rows times weights of four bits with a scale for each 20 rows. Two columns are one byte. */
static nx_tensor *quantised_product(int64_t m, int64_t k, int64_t n) {
  const int64_t x[2] = {m, k}, w[2] = {k, n}, s[3] = {k / 20, 1, n}, groups[3] = {k / 20, 20, n};
  nx_tensor *seven = GOOD(nx_full(ctx, 0, NX_F32, NULL, 0, NX_NUMBER(7.9))),
            *bits = GOOD(nx_cast(nx_mul(ramp(NX_F32, 2, w), seven), NX_I4));
  OK(nx_realize(ctx, &bits, 1, NULL));
  nx_tensor *wide = GOOD(nx_reshape(nx_cast(bits, NX_F32), groups, 3, 0)),
            *weights = GOOD(nx_reshape(nx_mul(wide, ramp(NX_F32, 3, s)), w, 2, 0));
  return GOOD(nx_matmul(ramp(NX_F32, 2, x), weights));
}

static void packed_bytes_of_two_columns_have_the_same_bits(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{5, 1100, 1058}, {3, 640, 2050}, {40, 900, 1302}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const int64_t *e = shapes[i], count = e[0] * e[2];
    uint64_t planned[2];
    float *packed = realised(quantised_product(e[0], e[1], e[2]), count, &planned[0]);
    OK(nx_debug_set("nopacking"));
    float *whole = realised(quantised_product(e[0], e[1], e[2]), count, &planned[1]);
    OK(nx_debug_set(NULL));
    assert_memory_equal(packed, whole, (size_t)count * sizeof *packed);
    free(packed), free(whole);
  }
}

static int32_t stop(void *user) {
  int *left = user;
  return (*left)-- <= 0;
}

static void interrupted_it_is_done_again(void **state) {
  (void)state;
  const convolution *c = &cases[0];
  int64_t n = c->images * c->channels * c->size[0] * c->size[1],
          count = c->images * c->out * positions(c);
  float *x = random_numbers(n, 1), *w = random_numbers(c->out * taps(c), 2),
        *values = malloc((size_t)count * 4);
  nx_tensor *y = record(c, filled(4, (const int64_t[]){8, 16, 64, 64}, x),
                        filled(2, (const int64_t[]){c->out, taps(c)}, w));
  nx_status status = NX_INTERRUPTED;
  for (int polls = 0; status == NX_INTERRUPTED; polls++) {
    int left = polls;
    nx_run_options options = {.size = sizeof options, .poll = stop, .user = &left};
    status = nx_realize(ctx, &y, 1, &options);
    assert_int_equal(nx_error_take(NULL), status);
    assert_true(polls > 0 || status == NX_INTERRUPTED);
  }
  assert_int_equal(status, NX_OK);
  OK(nx_read(y, values, (size_t)count * sizeof *values, NULL));
  check_values(c, values, x, w);
  free(x), free(w), free(values);
}

NXT_MAIN(convolution) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(it_is_what_it_is_defined_to_be),
      IN_SCOPE(memory_does_not_hold_the_windows),
      IN_SCOPE(memory_does_not_grow_with_the_windows),
      IN_SCOPE(no_code_for_what_is_copied),
      IN_SCOPE(packed_bytes_of_two_columns_have_the_same_bits),
      IN_SCOPE(interrupted_it_is_done_again),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
