/* SPDX-License-Identifier: ISC */
/* Where a failure says that an operation of a portable artifact stands: where it came from, as far
 * as the artifact knows, or which one of its function it is. Malformed locations only shorten what
 * is said. */
#include <stdlib.h>

#include "places.h"
#include "tests/util/api.h"

#define END ": the custom call missing is not known"

static const struct {
  const unsigned char *bytes;
  size_t size;
  const char *said;
} rows[] = {
    {traced, sizeof traced,
     "stablehlo.custom_call, jit(f)/layer/call at /project/models/model.py:8:11 (layer), "
     "called from train.py:20:3 (step), called from train.py:40:5 (main), .." END},
    {fused, sizeof fused, "stablehlo.custom_call, call at b.py:3:4" END},
    {named, sizeof named, "stablehlo.custom_call, jit(f)/call" END},
    {unknown, sizeof unknown, "stablehlo.custom_call, operation 2 of @main" END},
};

enum { ROWS = sizeof rows / sizeof *rows };

static nx_status refuse(const void *bytes, size_t size, nx_error *e) {
  nx_stablehlo *m = NULL;
  nx_function *f = NULL;
  *e = (nx_error){.size = sizeof *e};
  nx_status s = nx_stablehlo_parse(bytes, size, &m);
  if (s == NX_OK) s = nx_stablehlo_function(m, ctx, NULL, &f);
  assert_int_equal(nx_error_take(e), s);
  nx_function_release(f);
  nx_stablehlo_release(m);
  return s;
}

static void test_said(void **state) {
  (void)state;
  for (int i = 0; i < ROWS; i++) {
    nx_error e;
    assert_int_equal(refuse(rows[i].bytes, rows[i].size, &e), NX_INVALID_ARGUMENT);
    assert_string_equal(e.message, rows[i].said);
  }
}

/* Every byte changed in several ways: what is read all the same fails at the same operation. */
static void test_changed(void **state) {
  (void)state;
  static const unsigned char changes[] = {1, 2, 0x80, 0xFF};
  for (int i = 0; i < ROWS; i++)
    for (size_t at = 4; at < rows[i].size; at++)
      for (size_t k = 0; k < sizeof changes; k++) {
        unsigned char *copy = malloc(rows[i].size);
        assert_non_null(copy);
        memcpy(copy, rows[i].bytes, rows[i].size);
        copy[at] ^= changes[k];
        nx_error e;
        if (refuse(copy, rows[i].size, &e) != NX_OK) assert_true(strlen(e.message) > 5);
        free(copy);
      }
}

NXT_MAIN(places) {
  const struct CMUnitTest tests[] = {IN_SCOPE(test_said), IN_SCOPE(test_changed)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
