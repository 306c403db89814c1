/* SPDX-License-Identifier: ISC */
/* Rows shorter than vectors, and what whole vectors leave of them, of elements of 8 and 16 bits: a
 * row added, sums of columns, a transpose added, the largest of rows and the inside of a matrix,
 * beside plain loops. With code for one shape and with code that shapes share, whose vectors end
 * otherwise. */
#include "tests/util/api.h"

/* Of 8 or 16 bits, unsigned: sums wrap alike in both. */
typedef struct elements {
  nx_dtype type;
  uint32_t bytes, mask;
} elements;
static const elements types[] = {{NX_U8, 1, 0xff}, {NX_U16, 2, 0xffff}};

static uint32_t at(const elements *t, const void *p, int64_t i) {
  return t->bytes == 1 ? ((const uint8_t *)p)[i] : ((const uint16_t *)p)[i];
}

/* An operand of the type, with the numbers that are in `numbers`. */
static nx_tensor *operand(const elements *t, const uint16_t *numbers, int64_t rows,
                          int64_t columns) {
  uint8_t *p = malloc((size_t)(rows * columns) * t->bytes);
  assert_non_null(p);
  for (int64_t i = 0; i < rows * columns; i++)
    if (t->bytes == 1) p[i] = (uint8_t)numbers[i];
    else ((uint16_t *)(void *)p)[i] = numbers[i];
  nx_tensor *x = GOOD(nx_from_data(ctx, device(), t->type, (int64_t[]){rows, columns}, 2, p,
                                   (size_t)(rows * columns) * t->bytes));
  free(p);
  return x;
}

static void *values(const elements *t, nx_tensor *y, int64_t n) {
  void *p = malloc((size_t)n * t->bytes);
  assert_non_null(p);
  OK(nx_read(y, p, (size_t)n * t->bytes, NULL));
  return p;
}

static void check_shape(const elements *t, int64_t rows, int64_t columns) {
  nx_scope *s = nx_scope_begin(ctx);
  const int64_t n = rows * columns;
  uint16_t *a = malloc((size_t)n * sizeof *a);
  assert_non_null(a);
  for (int64_t i = 0; i < n; i++) a[i] = (uint16_t)(i * 2654435761U >> 7);
  nx_tensor *x = operand(t, a, rows, columns), *turned = operand(t, a, columns, rows),
            *row = operand(t, a, 1, columns);
  nx_tensor *y[] = {
      GOOD(nx_add(x, row)), GOOD(nx_reduce_sum(x, NX_AXES(0), 0)),
      GOOD(nx_add(x, GOOD(nx_permute(turned, NX_AXES(1, 0))))),
      GOOD(nx_reduce_max(x, NX_AXES(1), 0)),
      GOOD(nx_contiguous(GOOD(nx_shrink(x, (int64_t[]){1, 1}, (int64_t[]){rows, columns}, 2))))};
  OK(nx_realize(ctx, y, 5, NULL));
  void *sums = values(t, y[0], n), *columns_of = values(t, y[1], columns),
       *both = values(t, y[2], n), *largest = values(t, y[3], rows),
       *inside = values(t, y[4], (rows - 1) * (columns - 1));
  for (int64_t i = 0; i < rows; i++) {
    uint32_t most = 0;
    for (int64_t j = 0; j < columns; j++)
      if ((a[i * columns + j] & t->mask) > most) most = a[i * columns + j] & t->mask;
    assert_int_equal(at(t, largest, i), most);
  }
  for (int64_t j = 0; j < columns; j++) {
    uint32_t sum = 0;
    for (int64_t i = 0; i < rows; i++) {
      const uint32_t v = a[i * columns + j] & t->mask;
      sum += v;
      assert_int_equal(at(t, sums, i * columns + j), (v + a[j]) & t->mask);
      assert_int_equal(at(t, both, i * columns + j), (v + a[j * rows + i]) & t->mask);
      if (i && j) assert_int_equal(at(t, inside, (i - 1) * (columns - 1) + j - 1), v);
    }
    assert_int_equal(at(t, columns_of, j), sum & t->mask);
  }
  free(a), free(sums), free(columns_of), free(both), free(largest), free(inside);
  nx_scope_end(s);
}

/* Enough rows that the form of the code suits the shape. */
static void check_columns(const elements *t, int64_t columns, int64_t points) {
  check_shape(t, points / columns + 3, columns);
}

static void test_code_of_its_own(void **state) {
  (void)state;
  static const int64_t columns[] = {2, 3, 7, 15, 20, 33, 47, 100, 127, 200, 325};
  nx_context *outer = ctx;
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
      OK(nx_context_create(
          &(nx_context_options){.size = sizeof(nx_context_options), .cache_dir = ""}, &ctx));
      check_columns(&types[t], columns[i], 6000);
      nx_context_release(ctx);
    }
  ctx = outer;
}

static void test_shared_code(void **state) {
  (void)state;
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    for (int64_t c = 2; c <= 72; c++) check_columns(&types[t], c, 5000 + 100 * c);
    for (int64_t c = 90; c <= 300; c += 7) check_columns(&types[t], c, 9000);
  }
}

NXT_MAIN(short_rows) {
  const struct CMUnitTest tests[] = {IN_SCOPE(test_code_of_its_own), IN_SCOPE(test_shared_code)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
