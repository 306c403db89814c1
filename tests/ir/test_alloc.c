/* SPDX-License-Identifier: ISC */
/* Tests of ir/alloc.c and ir/diag.c: failures on demand, growth, the arena, the status table,
 * text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/alloc.h"
#include "ir/diag.h"
#include "nx/version.h"
#include "tests/util/runner.h"

/* ---- failures on demand */

static bool allocation_works(void) {
  void *p = nxi_malloc(8);
  nxi_free(p);
  return p != NULL;
}

static void the_named_allocation_fails(void **state) {
  (void)state;
  nxi_alloc_fail(1, false);
  assert_true(allocation_works());
  assert_false(allocation_works());
  assert_true(allocation_works());
  nxi_alloc_fail(0, true);
  for (int i = 0; i < 3; i++) assert_false(allocation_works());
  nxi_alloc_fail(-1, false);
  assert_true(allocation_works());
}

static void every_way_to_allocate_can_fail(void **state) {
  (void)state;
  char *kept = nxi_malloc(4);
  uint32_t capacity = 0;
  int *array = NULL;
  nxi_arena arena = {0};
  int64_t before = nxi_alloc_count();
  nxi_alloc_fail(0, true);
  assert_null(nxi_malloc(1));
  assert_null(nxi_calloc(1, 1));
  assert_null(nxi_realloc(kept, 100)); /* kept is still the caller's */
  assert_null(nxi_strdup("text"));
  assert_false(nxi_grow(&array, &capacity, 1, sizeof *array));
  assert_null(nxi_arena_alloc(&arena, 1));
  assert_true(nxi_alloc_should_fail());
  nxi_alloc_fail(-1, false);
  assert_int_equal(nxi_alloc_count() - before, 7);
  assert_null(array);
  assert_int_equal(capacity, 0);
  nxi_arena_destroy(&arena);
  nxi_free(kept);
}

static void sizes_that_overflow_fail(void **state) {
  (void)state;
  uint32_t capacity = 0;
  char *array = NULL;
  nxi_arena arena = {0};
  assert_null(nxi_calloc(SIZE_MAX / 2, 4));
  assert_false(nxi_grow(&array, &capacity, UINT32_MAX, SIZE_MAX / 2));
  assert_null(nxi_arena_alloc(&arena, SIZE_MAX));
  assert_null(nxi_arena_alloc(&arena, SIZE_MAX - 16));
  nxi_arena_destroy(&arena);
}

/* ---- growth and arena */

static void arrays_grow_and_keep_their_elements(void **state) {
  (void)state;
  uint32_t capacity = 0;
  uint64_t *array = NULL;
  for (uint32_t i = 0; i < 1000; i++) {
    assert_true(nxi_grow(&array, &capacity, i + 1, sizeof *array));
    assert_true(capacity > i);
    array[i] = i * 3;
  }
  for (uint32_t i = 0; i < 1000; i++) assert_int_equal(array[i], i * 3);
  nxi_free(array);
}

static void arena_memory_is_zero_aligned_and_apart(void **state) {
  (void)state;
  nxi_arena arena = {0};
  for (size_t bytes = 0; bytes < 3000; bytes += 7) {
    unsigned char *p = nxi_arena_alloc(&arena, bytes);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % 16, 0);
    for (size_t i = 0; i < bytes; i++) assert_int_equal(p[i], 0); /* an overlap would show 0xff */
    memset(p, 0xff, bytes);
  }
  unsigned char *large = nxi_arena_alloc(&arena, 3 << 20);
  assert_non_null(large);
  large[(3 << 20) - 1] = 1;
  assert_string_equal(nxi_arena_copy(&arena, "copied", 7), "copied");
  assert_non_null(nxi_arena_copy(&arena, NULL, 0));
  nxi_arena_destroy(&arena);
  assert_null(arena.blocks);
}

/* ---- failures and text */

static void statuses_have_names_and_sentences(void **state) {
  (void)state;
  assert_string_equal(nx_status_name(NX_OUT_OF_MEMORY), "NX_OUT_OF_MEMORY");
  assert_string_equal(nx_status_sentence(NX_OUT_OF_MEMORY), "memory is exhausted");
  assert_string_equal(nx_status_name((nx_status)99), "NX_UNKNOWN");
  assert_non_null(nx_status_sentence((nx_status)-1));
  assert_string_equal(nx_version(), NX_VERSION_STRING);
}

static void the_first_failure_stays(void **state) {
  (void)state;
  nxi_diag d;
  nxi_diag_clear(&d);
  assert_int_equal(d.operand, -1);
  assert_int_equal(d.index, -1);
  assert_int_equal(nxi_fail(&d, NX_PARSE, "load", "line %d", 3), NX_PARSE);
  assert_int_equal(nxi_fail(&d, NX_IO, "save", "later"), NX_IO);
  assert_int_equal(d.status, NX_PARSE);
  assert_string_equal(d.op, "load");
  assert_string_equal(d.message, "line 3");
  assert_int_equal(nxi_oom(NULL), NX_OUT_OF_MEMORY);
  char endless[2000];
  memset(endless, 'x', sizeof endless - 1);
  endless[sizeof endless - 1] = 0;
  nxi_diag_clear(&d);
  nxi_fail(&d, NX_IO, endless, "%s", endless);
  assert_int_equal(strlen(d.op), sizeof d.op - 1);
  assert_int_equal(strlen(d.message), sizeof d.message - 1);
}

static void text_grows(void **state) {
  (void)state;
  nxi_text t = {0};
  char piece[301];
  memset(piece, 'a', 300);
  piece[300] = 0;
  for (int i = 0; i < 100; i++)
    nxi_text_add(&t, "%s%d", piece, i % 10); /* longer than the inner buffer */
  nxi_text_put(&t, "end", 3);
  assert_int_equal(t.size, 100 * 301 + 3);
  assert_int_equal(strlen(t.data), t.size);
  assert_int_equal(t.data[300], '0');
  assert_string_equal(t.data + t.size - 4, "9end");
  nxi_text_free(&t);
  assert_null(t.data);
}

static void text_remembers_that_memory_ran_out(void **state) {
  (void)state;
  nxi_text t = {0};
  nxi_text_add(&t, "kept");
  nxi_alloc_fail(0, false);
  nxi_text_add(&t, "%0500d", 1);
  assert_true(t.failed);
  nxi_text_add(&t, "dropped");
  assert_string_equal(t.data, "kept");
  nxi_text_free(&t);
  assert_false(t.failed);
}

NXT_MAIN(alloc) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_named_allocation_fails),
                                     cmocka_unit_test(every_way_to_allocate_can_fail),
                                     cmocka_unit_test(sizes_that_overflow_fail),
                                     cmocka_unit_test(arrays_grow_and_keep_their_elements),
                                     cmocka_unit_test(arena_memory_is_zero_aligned_and_apart),
                                     cmocka_unit_test(statuses_have_names_and_sentences),
                                     cmocka_unit_test(the_first_failure_stays),
                                     cmocka_unit_test(text_grows),
                                     cmocka_unit_test(text_remembers_that_memory_ran_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
