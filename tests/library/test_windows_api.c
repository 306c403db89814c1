/* SPDX-License-Identifier: ISC */
/* Convolutions whose products read windows from copies of images: the same bits as with the windows
 * written whole, for layouts, groups, strides, dilations of both operands, and one to three
 * spatial axes. */
#include "tests/util/api.h"

#include <string.h>

/* Images [batch, channels, size..], or with channels last; `out` features of `groups`. */
typedef struct problem {
  const char *label;
  nx_dtype dtype;
  int32_t n;
  int64_t batch, channels, out, groups, size[3], taps[3], stride[3], spread[3], dilation[3],
      around[3];
  bool last;
} problem;

static const problem problems[] = {
    {"plain", NX_F32, 2, 6, 9, 20, 1, {37, 41}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false},
    {"f64", NX_F64, 2, 9, 9, 20, 1, {33, 40}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 2}, false},
    {"complex", NX_C64, 2, 8, 9, 20, 1, {37, 41}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false},
    {"without zeros", NX_F32, 2, 6, 9, 20, 1, {37, 41}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {0}, false},
    {"stride", NX_F32, 2, 6, 8, 36, 1, {75, 77}, {5, 5}, {2, 2}, {1, 1}, {1, 1}, {2, 2}, false},
    {"stride 3", NX_F32, 2, 6, 16, 20, 1, {75, 78}, {3, 3}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, false},
    {"vectors", NX_F32, 2, 6, 9, 20, 1, {33, 64}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false},
    {"dilation", NX_F32, 2, 6, 9, 20, 1, {37, 41}, {3, 3}, {1, 1}, {1, 1}, {2, 3}, {2, 3}, false},
    {"spread", NX_F32, 2, 6, 20, 10, 1, {40, 38}, {5, 5}, {1, 1}, {2, 2}, {1, 1}, {2, 2}, false},
    {"groups", NX_F32, 2, 6, 12, 12, 3, {37, 41}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false},
    {"groups, last",
     NX_F32,
     2,
     24,
     12,
     12,
     3,
     {37, 41},
     {3, 3},
     {1, 1},
     {1, 1},
     {1, 1},
     {1, 1},
     true},
    {"pieces", NX_F32, 2, 1, 300, 16, 1, {26, 30}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false},
    {"lines", NX_F32, 1, 5, 9, 20, 1, {3000}, {9}, {1}, {1}, {1}, {4}, false},
    {"space",
     NX_F32,
     3,
     2,
     5,
     12,
     1,
     {12, 20, 24},
     {3, 3, 3},
     {1, 1, 1},
     {1, 1, 1},
     {1, 1, 1},
     {1, 1, 1},
     false},
};

static nx_tensor *ramp(nx_dtype dtype, int32_t rank, const int64_t *shape) {
  int64_t n = 1;
  uint32_t seed = 1;
  for (int32_t i = 0; i < rank; i++) n *= shape[i];
  float *x = malloc((size_t)n * sizeof *x);
  assert_non_null(x);
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 1664525 + 1013904223;
    x[i] = (float)(seed >> 8) / (float)(1 << 23) - 1;
  }
  nx_tensor *t = GOOD(nx_empty(ctx, 0, NX_F32, shape, rank));
  OK(nx_write(t, x, (size_t)n * sizeof *x, NULL));
  free(x);
  t = dtype == NX_C64 ? GOOD(nx_complex(t, nx_flip(t, NX_AXES(rank - 1))))
                      : GOOD(nx_cast(t, dtype));
  OK(nx_realize(ctx, &t, 1, NULL));
  return t;
}

/* Each second one is followed by what runs for its rows while they are in a cache. */
static nx_tensor *convolved(const problem *p, nx_tensor *x, nx_tensor *w) {
  static const int32_t axes[4] = {0, 3, 1, 2};
  nx_tensor *y =
      GOOD(nx_convolution(x, w,
                          &(nx_convolution_options){.size = sizeof(nx_convolution_options),
                                                    .n = p->n,
                                                    .stride = p->stride,
                                                    .before = p->around,
                                                    .after = p->around,
                                                    .x_dilation = p->spread,
                                                    .w_dilation = p->dilation,
                                                    .feature_groups = p->groups,
                                                    .x_axes = p->last ? axes : NULL,
                                                    .y_axes = p->last ? axes : NULL}));
  return (p - problems) % 2 ? GOOD(nx_exp(y)) : y;
}

/* Its bytes; the caller frees them. */
static char *values_of(nx_tensor *y, size_t *bytes) {
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(y, &info);
  *bytes = (size_t)nx_dtype_bits(info.dtype) / 8;
  for (int32_t i = 0; i < info.rank; i++) *bytes *= (size_t)info.shape[i];
  char *values = malloc(*bytes);
  assert_non_null(values);
  OK(nx_read(y, values, *bytes, NULL));
  return values;
}

static void windows_read_from_images_have_the_same_bits(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    const problem *p = &problems[i];
    int64_t x[5] = {p->batch, p->channels}, w[5] = {p->out, p->channels / p->groups};
    for (int32_t k = 0; k < p->n; k++) {
      x[(p->last ? 1 : 2) + k] = p->size[k];
      w[2 + k] = p->taps[k];
    }
    if (p->last) x[p->n + 1] = p->channels;
    nx_scope *scope = nx_scope_begin(ctx);
    nx_tensor *image = ramp(p->dtype, p->n + 2, x), *weights = ramp(p->dtype, p->n + 2, w);
    size_t bytes;
    char *is = values_of(convolved(p, image, weights), &bytes);
    OK(nx_debug_set("nopacking"));
    char *whole = values_of(convolved(p, image, weights), &bytes);
    OK(nx_debug_set(NULL));
    if (memcmp(is, whole, bytes) != 0) fail_msg("%s: other bits", p->label);
    free(is), free(whole);
    nx_scope_end(scope);
  }
}

NXT_MAIN(windows_api) {
  const struct CMUnitTest tests[] = {IN_SCOPE(windows_read_from_images_have_the_same_bits)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
