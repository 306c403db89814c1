/* SPDX-License-Identifier: ISC */
/* The systematic tests' group: a shop that is open while it runs, and a summary when it closes. */
#ifndef NXT_SHOP_H
#define NXT_SHOP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compare.h"
#include "runtime/launch/launch.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static nxt_shop *shop;

static inline int open_shop(void **state) {
  (void)state;
  shop = nxt_shop_open();
  return 0;
}
static inline int close_shop(void **state) {
  (void)state;
  nxt_summary(shop, "systematic");
  nxt_shop_close(shop);
  return 0;
}

static inline int occurrences(const char *text, const char *word) {
  int n = 0;
  for (const char *p = text; (p = strstr(p, word)) != NULL; p += strlen(word)) n++;
  return n;
}

/* How often `word` stands in the plan of a graph for two threads and a second-level cache of
 * `l2_bytes`. *bytes, if not NULL: its temporary memory. */
static inline int in_plan(const char *graph, bool whole, int64_t l2_bytes, const char *word,
                          int64_t *bytes) {
  nxi_target target = *nxi_target_host();
  target.l2_bytes = l2_bytes;
  nxi_executable_options o = {
      .executor = NXI_KERNEL_INTERP, .fuse = true, .target = &target, .threads = 2, .whole = whole};
  nxg_graph *g = nxt_parse(graph, 0, NULL);
  nxi_text plan = {0};
  nxi_diag d;
  nxi_diag_clear(&d);
  assert_non_null(g);
  assert_int_equal(nxi_dump(g, &o, "plan", &plan, &d), NX_OK);
  int n = occurrences(plan.data, word);
  const char *steps = strstr(plan.data, "steps, ");
  assert_non_null(steps);
  if (bytes) *bytes = strtoll(steps + strlen("steps, "), NULL, 10);
  nxi_text_free(&plan);
  nxg_destroy(g);
  return n;
}

#endif
