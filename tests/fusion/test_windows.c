/* SPDX-License-Identifier: ISC */
/* Sums over windows that overlap, as the gradient of the weights of a convolution of each channel
 * by itself: the taps of a window share an iteration, and every way to run it has the bits of the
 * graph interpreter. What is beside an image is a number times what comes from above, which may be
 * infinite or NaN. */
#include "shop.h"
#include "tests/util/runner.h"

/* Images of n times c times h times w, or with the channels last, in windows of rows x columns;
 * what is beside an image is `value`. */
typedef struct images {
  const char *name;
  bool last;
  int64_t n, c, h, w, rows, columns;
  const char *value;
} images;

static const images cases[] = {
    {"channels last", true, 2, 40, 9, 23, 3, 3, "0"},
    {"channels last, rows of a vector", true, 1, 128, 7, 56, 3, 3, "0"},
    {"channels last, ones beside", true, 2, 24, 12, 20, 3, 3, "1"},
    {"channels last, two taps", true, 2, 40, 12, 17, 2, 2, "0"},
    {"channels last, four taps", true, 3, 16, 9, 40, 4, 4, "0"},
    {"channels first", false, 3, 24, 20, 37, 3, 3, "0"},
    {"channels first, rows of a vector", false, 2, 12, 33, 56, 3, 3, "0"},
    {"channels first, ones beside", false, 2, 24, 15, 33, 3, 3, "1"},
    {"channels first, two taps", false, 2, 40, 12, 35, 2, 2, "0"},
    {"channels first, a row of taps", false, 2, 40, 12, 39, 1, 4, "0"},
    {"channels first, a column of taps", false, 2, 40, 12, 39, 3, 1, "0"},
};

/* Large enough for all rows of taps to share an iteration. */
static const images with_rows[] = {
    {"rows of taps", true, 2, 48, 17, 35, 3, 3, "0"},
    {"two rows of four taps, ones beside", true, 2, 64, 18, 33, 2, 4, "1"},
};

/* Four numbers in the order in which the axes n, c, h, w of an image lie. */
static const char *in_order(const images *i, char *to, int64_t n, int64_t c, int64_t h, int64_t w) {
  if (i->last) sprintf(to, "[%ld,%ld,%ld,%ld]", (long)n, (long)h, (long)w, (long)c);
  else sprintf(to, "[%ld,%ld,%ld,%ld]", (long)n, (long)c, (long)h, (long)w);
  return to;
}

/* An axis of the products: which of the image, of the windows' taps, or both, it walks along. */
typedef struct axis {
  int64_t extent, x, above; /* x, above: how far it goes in the padded image, and in the other */
} axis;

/* The view of an image along all axes. */
static void write_view(char *to, const axis *axes, bool above) {
  to += sprintf(to, "strides=[");
  for (int k = 0; k < 6; k++)
    to += sprintf(to, "%s%ld", k ? "," : "", (long)(above ? axes[k].above : axes[k].x));
  to += sprintf(to, "] offset=0 : $T[");
  for (int k = 0; k < 6; k++) to += sprintf(to, "%s%ld", k ? "," : "", (long)axes[k].extent);
  sprintf(to, "]");
}

/* Products of each tap with what comes from above; summed along rows where channels are last, so
 * that lanes are channels, and else over images and rows, so that lanes run along rows. */
static nxg_graph *gradient(const images *i, nx_dtype t) {
  const int64_t high = i->h + i->rows - 1, wide = i->w + i->columns - 1, last = i->last;
  const int64_t x_column = last ? i->c : 1, x_row = wide * x_column, column = x_column,
                row = i->w * column;
  const axis rows = {i->rows, x_row, 0}, columns = {i->columns, x_column, 0},
             n = {i->n, i->c * high * wide, i->c * i->h * i->w}, h = {i->h, x_row, row},
             w = {i->w, x_column, column},
             c = {i->c, last ? 1 : high * wide, last ? 1 : i->h * i->w};
  const axis along[2][6] = {{c, rows, columns, w, n, h}, {n, h, rows, columns, w, c}};
  char text[2048], shape[64], before[64], after[64], x[256], above[256];
  in_order(i, shape, i->n, i->c, i->h, i->w);
  in_order(i, before, 0, 0, i->rows / 2, i->columns / 2);
  in_order(i, after, 0, 0, (i->rows - 1) / 2, (i->columns - 1) / 2);
  write_view(x, along[last], false);
  write_view(above, along[last], true);
  snprintf(text, sizeof text,
           "nxir 2\ngraph @g(%%tame0: $T%s, %%nasty1: $T%s) -> (%%z) {\n"
           " %%p = pad %%tame0 value=%s before=%s after=%s\n %%w = as_strided %%p %s\n"
           " %%a = as_strided %%nasty1 %s\n %%m = mul %%w, %%a\n"
           " %%z = reduce_sum %%m axes=[%s]\n}\n",
           shape, shape, i->value, before, after, x, above, last ? "4" : "4,5");
  return nxt_parse(text, t, (const int64_t[9]){0});
}

static void taps_share_an_iteration(void **state) {
  (void)state;
  static const nx_dtype types[] = {NX_F32, NX_F64, NX_BF16, NX_I32};
  for (size_t i = 0; i < COUNT(cases); i++)
    for (size_t k = 0; k < COUNT(types); k++)
      nxt_compare(shop, gradient(&cases[i], types[k]), cases[i].name, NXT_ALL);
  assert_int_equal(nxt_differences(shop), 0);
}

static void rows_of_taps_share_an_iteration(void **state) {
  (void)state;
  static const nx_dtype types[] = {NX_F32, NX_BF16};
  for (size_t i = 0; i < COUNT(with_rows); i++)
    nxt_compare(shop, gradient(&with_rows[i], types[i]), with_rows[i].name, NXT_ALL);
  assert_int_equal(nxt_differences(shop), 0);
}

NXT_MAIN(windows) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(taps_share_an_iteration),
                                     cmocka_unit_test(rows_of_taps_share_an_iteration)};
  return cmocka_run_group_tests(tests, open_shop, close_shop);
}
