/* SPDX-License-Identifier: ISC */
/* Positions that are compared with the ends of i64, or wrap around: a vector of positions is
 * compared by what lies between the first one and the limit, which does not fit i64 there. */
#include "shop.h"
#include "tests/util/runner.h"

/* %h is a condition of %j, the positions along the last axis; %l is any number. */
#define GRAPH(body)                                                                       \
  "nxir 2\ngraph @g(%tame0: f32[3,300], %x1: i64[]) -> (%y) {\n %a = arange : i64[300]\n" \
  " %j = reshape %a shape=[1,300]\n %n = full -1 : f32[]\n" body " %y = where %h, %tame0, %n\n}\n"
#define MOST  "9223372036854775807"
#define LEAST "-9223372036854775808"

static const struct {
  const char *label, *text;
} samples[] = {
    {"before any number", GRAPH(" %h = cmplt %j, %x1\n")},
    {"up to any number", GRAPH(" %h = cmple %j, %x1\n")},
    {"after any number", GRAPH(" %h = cmplt %x1, %j\n")},
    {"before any number, from below", GRAPH(" %c = full 600 : i64[]\n %k = sub %j, %c\n"
                                            " %h = cmplt %k, %x1\n")},
    {"every second before any number", GRAPH(" %k = add %j, %j\n %h = cmplt %k, %x1\n")},
    {"before the greatest", GRAPH(" %l = full " MOST " : i64[]\n %c = full 600 : i64[]\n"
                                  " %k = sub %j, %c\n %h = cmplt %k, %l\n")},
    {"up to the least", GRAPH(" %l = full " LEAST " : i64[]\n %h = cmple %j, %l\n")},
    {"after the least", GRAPH(" %l = full " LEAST " : i64[]\n %h = cmplt %l, %j\n")},
    {"past the greatest", GRAPH(" %c = full 9223372036854775706 : i64[]\n %k = add %j, %c\n"
                                " %z = full 0 : i64[]\n %h = cmplt %k, %z\n")},
    {"past the greatest, every second",
     GRAPH(" %c = full 9223372036854775706 : i64[]\n %t = add %j, %j\n %k = add %t, %c\n"
           " %z = full 0 : i64[]\n %h = cmplt %k, %z\n")},
    {"times a large number", GRAPH(" %c = full 1152921504606846976 : i64[]\n %k = mul %j, %c\n"
                                   " %z = full 5 : i64[]\n %h = cmplt %k, %z\n")},
};

static void limits_change_no_bit(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(samples); i++)
    nxt_compare(shop, nxt_parse(samples[i].text, 0, NULL), samples[i].label,
                NXT_LLVM | NXT_LLVM_AVX2 | NXT_INTERPRETED);
  assert_int_equal(nxt_differences(shop), 0);
}

NXT_MAIN(limits) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(limits_change_no_bit),
  };
  return cmocka_run_group_tests(tests, open_shop, close_shop);
}
