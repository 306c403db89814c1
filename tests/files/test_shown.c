/* SPDX-License-Identifier: ISC */
/* Memory that host code knows: what overlaps is found, against a look at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/record/shown.h"
#include "tests/util/runner.h"

enum { BUFFERS = 300, STEPS = 20000, ADDRESSES = 5000 };

static nxi_buffer buffers[BUFFERS];
static bool there[BUFFERS], seen[BUFFERS];
static char memory[2 * ADDRESSES];
static int n_seen, most;

static uint64_t seed = 7;
static int64_t random_below(int64_t n) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (int64_t)((seed >> 20) % (uint64_t)n);
}

static bool note(nxi_buffer *other, nxi_buffer *b) {
  assert_ptr_not_equal(other, b);
  assert_false(seen[other - buffers]);
  seen[other - buffers] = true;
  return ++n_seen < most;
}

static bool overlap(const nxi_buffer *a, const nxi_buffer *b) {
  const char *x = a->data, *y = b->data;
  return x < y + b->bytes && y < x + a->bytes;
}

static void check(nxi_buffer *all, nxi_buffer *b) {
  int wanted = 0;
  for (int i = 0; i < BUFFERS; i++)
    wanted += there[i] && &buffers[i] != b && overlap(&buffers[i], b);
  memset(seen, 0, sizeof seen);
  n_seen = 0, most = BUFFERS + 1;
  assert_true(nxi_shown_overlapping(all, b, note));
  assert_int_equal(n_seen, wanted);
  for (int i = 0; i < BUFFERS; i++)
    if (seen[i]) assert_true(there[i] && overlap(&buffers[i], b));
  if (wanted == 0) return;
  memset(seen, 0, sizeof seen);
  n_seen = 0, most = 1;
  assert_false(nxi_shown_overlapping(all, b, note));
  assert_int_equal(n_seen, 1);
}

/* Many that overlap, lie in each other, or begin at one address; some are empty. */
static void overlapping(void **state) {
  nxi_buffer *all = NULL;
  (void)state;
  for (int i = 0; i < BUFFERS; i++) buffers[i].data = memory;
  for (int step = 0; step < STEPS; step++) {
    const int64_t i = random_below(BUFFERS);
    nxi_buffer *b = &buffers[i];
    if (there[i]) {
      nxi_shown_remove(&all, b);
    } else {
      const int64_t longest = step % 7 == 0 ? ADDRESSES : 40;
      b->data = memory + random_below(ADDRESSES) / 10 * 10;
      b->bytes = random_below(longest);
      check(all, b);
      nxi_shown_add(&all, b);
    }
    there[i] = !there[i];
    check(all, &buffers[random_below(BUFFERS)]);
  }
  for (int i = 0; i < BUFFERS; i++)
    if (there[i]) nxi_shown_remove(&all, &buffers[i]);
  assert_null(all);
}

NXT_MAIN(shown) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(overlapping)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
