/* SPDX-License-Identifier: ISC */
/* Tests windows of images on the fake device, of sizes at which a thread stores several neighbours
 * as one word and loads them one by one, beside the definition. */
#include "fake_device.h"

#include "tests/util/runner.h"

enum { IMAGES = 40, SIZE = 40, TAPS = 3, MOST = IMAGES * SIZE * SIZE };

/* Windows of 3 x 3 with one zero around, of numbers of `bytes` bytes; `drop` columns less. */
static void check(nx_dtype t, int64_t bytes, int64_t drop, int64_t stride) {
  static unsigned char x[MOST * 8], got[TAPS * TAPS * MOST * 8];
  const int64_t wide = SIZE - drop, kernel[] = {TAPS, TAPS}, one[] = {1, 1},
                strides[] = {stride, stride}, down = (SIZE - 1) / stride + 1,
                across = (wide - 1) / stride + 1;
  const nx_window window = {.size = sizeof window,
                            .n = 2,
                            .kernel = kernel,
                            .stride = strides,
                            .dilation = one,
                            .before = one,
                            .after = one};
  for (int64_t i = 0; i < MOST * bytes; i++) x[i] = (unsigned char)(i * 2654435761u >> 13 & 0x3f);
  nx_import_desc d = {.size = sizeof d,
                      .base = x,
                      .bytes = (size_t)(IMAGES * SIZE * wide * bytes),
                      .dtype = t,
                      .rank = 3,
                      .shape = (const int64_t[]){IMAGES, SIZE, wide},
                      .mode = NX_IMPORT_COPY};
  nx_tensor *image = NULL;
  OK(nx_import(ctx, &d, &image));
  nx_tensor *y = GOOD(nx_unfold(GOOD(nx_to_device(image, CUDA)), &window));
  OK(nx_read(y, got, (size_t)(IMAGES * TAPS * TAPS * down * across * bytes), NULL));
  const unsigned char *at = got, zero[8] = {0};
  for (int64_t i = 0; i < IMAGES * TAPS * TAPS * down * across; i++, at += bytes) {
    int64_t rest = i, column, row, tap;
    column = rest % across * stride, rest /= across;
    row = rest % down * stride, rest /= down;
    tap = rest % (TAPS * TAPS), rest /= TAPS * TAPS;
    row += tap / TAPS - 1, column += tap % TAPS - 1;
    const bool inside = row >= 0 && row < SIZE && column >= 0 && column < wide;
    const unsigned char *want = inside ? x + ((rest * SIZE + row) * wide + column) * bytes : zero;
    if (memcmp(at, want, (size_t)bytes) != 0)
      fail_msg("%s, %lld columns: window element %lld is wrong", nx_dtype_name(t), (long long)wide,
               (long long)i);
  }
}

static void windows(void **state) {
  static const struct {
    nx_dtype t;
    int64_t bytes;
  } types[] = {{NX_U8, 1}, {NX_BF16, 2}, {NX_F32, 4}, {NX_I64, 8}};
  (void)state;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    check(types[i].t, types[i].bytes, 0, 1);
    check(types[i].t, types[i].bytes, 3, 1); /* an extent that no word divides */
    check(types[i].t, types[i].bytes, 0, 2);
  }
}

NXT_MAIN(cuda_windows) {
  const struct CMUnitTest tests[] = {IN_SCOPE(windows)};
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
