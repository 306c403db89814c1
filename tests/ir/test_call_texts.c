/* SPDX-License-Identifier: ISC */
/* Attributes of library calls in texts: each has a key, and what is printed is read as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/library/library.h"
#include "ir/text/parse_graph.h"
#include "tests/util/runner.h"

static void every_attribute_has_a_key(void **state) {
  int seen = 0;
  (void)state;
  for (int op = 0; op < NXG_OP_COUNT; op++) {
    const uint32_t n =
        nxg_ops[op].kind == NXG_KIND_CALL && op != NXG_custom ? nxg_call_attrs((nxg_op)op) : 0;
    for (uint32_t i = 0; i < n; i++, seen++)
      if (nxg_key_of_call((nxg_op)op, i) >= NXG_KEYS)
        fail_msg("attribute %u of %s has no key", i, nxg_ops[op].name);
  }
  assert_true(seen > 50);
}

static void attention_is_read_as_printed(void **state) {
  static const char text[] =
      "nxir 2\n"
      "graph @main(%0: bf16[1,1,2,16], %1: bf16[1,1,4,16], %2: bf16[1,1,4,16]) -> (%3) {\n"
      "  %3 = attention %0, %1, %2 scale=-1 fill=7 least=-9 most=8 turned=0 hides=1 wide=3 empty=1 "
      "whole=1 : f32[1,1,2,16]\n}\n";
  static const int64_t wanted[] = {-1, 7, -9, 8, 0, 1, 3, 1, 1};
  (void)state;
  nxg_graph *g = NULL, *again = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxg_parse(text, sizeof text - 1, &g, &d)) fail_msg("%s", d.message);
  const nxg_node *n = &g->nodes[3];
  assert_int_equal(n->op, NXG_attention);
  assert_memory_equal(n->attrs, wanted, sizeof wanted);
  nxi_text printed = {0};
  nxg_print(g, &printed);
  if (nxg_parse(printed.data, printed.size, &again, &d)) fail_msg("%s", d.message);
  assert_memory_equal(again->nodes[3].attrs, wanted, sizeof wanted);
  nxi_text_free(&printed);
  nxg_destroy(g);
  nxg_destroy(again);
}

NXT_MAIN(call_texts) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_attribute_has_a_key),
                                     cmocka_unit_test(attention_is_read_as_printed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
