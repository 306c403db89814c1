/* SPDX-License-Identifier: ISC */
/* Scores that a mask hides: which columns of a product a plan finds to be used, and that the bits
 * are those of the graph interpreter, which computes all of them, from every executor, for one
 * thread and two, with NaN and infinities among the hidden ones. Skipped without a BLAS. */
#include "shop.h"

#include "runtime/library/blas/blas.h"
#include "tests/util/runner.h"

enum { SECOND_LEVEL = 64 << 10 };

typedef struct sample {
  const char *label, *columns, *text; /* columns: NULL: all */
} sample;

/* Attention whose scores %s are made of the products %q, with %i and %j the numbers of row and
 * column as `type`. Operands that are not tame have NaN and infinities. */
#define SCORES(values, type, more, inputs, body)                                            \
  "nxir 2\ngraph @g(" inputs "0: " values "[4,200,36], " inputs "1: " values "[4,36,250], " \
  "%tame2: " values "[4,250,34]" more ") -> (%y) {\n"                                       \
  " %q = matmul " inputs "0, " inputs "1\n %n = full -inf : " values "[]\n"                 \
  " %ai = arange : " type "[200]\n %aj = arange : " type "[250]\n"                          \
  " %i = reshape %ai shape=[200,1]\n %j = reshape %aj shape=[1,250]\n" body
#define SOFTMAX                                                             \
  " %m = reduce_max %s axes=[2] keepdims\n %d = sub %s, %m\n %e = exp %d\n" \
  " %z = reduce_sum %e axes=[2] keepdims\n %p = div %e, %z\n %y = matmul %p, %tame2\n}\n"
#define ATTENTION(values, type, more, inputs, body) SCORES(values, type, more, inputs, body) SOFTMAX
/* Powers around the least one, and zeros, divided. */
#define POWERS(values, middle)                                                 \
  SCORES(values, "i32", "", TAME,                                              \
         " %t = full 3 : " values "[]\n %b = full " middle " : " values "[]\n" \
         " %l = add %q, %b\n %h = cmplt %i, %j\n %s = where %h, %n, %l\n")     \
  " %e = exp %s\n %p = div %e, %t\n %y = matmul %p, %tame2\n}\n"
#define TAME         "%tame"
#define WILD         "%x"
#define OF_I32(body) ATTENTION("f32", "i32", "", TAME, body)

static const sample samples[] = {
    {"no position sees a later one", "from 0 to before 1 per row +1",
     OF_I32(" %h = cmplt %i, %j\n %s = where %h, %n, %q\n")},
    {"the same, of numbers of any kind", "from 0 to before 1 per row +1",
     ATTENTION("f32", "i32", "", WILD, " %h = cmplt %i, %j\n %s = where %h, %n, %q\n")},
    {"the other way round, with a scale", "from 0 to before 1 per row +1",
     ATTENTION("f64", "i64", ", %c: f64[]", WILD,
               " %k = mul %q, %c\n %v = cmple %j, %i\n %s = where %v, %k, %n\n")},
    {"of many rows", "from 0 to before 1 per row +1",
     "nxir 2\ngraph @g(%x0: f32[4,637,36], %x1: f32[4,1500,36], %tame2: f32[4,1500,34]) -> (%y) {\n"
     " %k = permute %x1 axes=[0,2,1]\n %q = matmul %x0, %k\n %n = full -inf : f32[]\n"
     " %ai = arange : i32[637]\n %aj = arange : i32[1500]\n %i = reshape %ai shape=[637,1]\n"
     " %j = reshape %aj shape=[1,1500]\n %h = cmplt %i, %j\n %s = where %h, %n, %q\n" SOFTMAX},
    {"powers around the least one", "from 0 to before 1 per row +1", POWERS("f32", "-100")},
    {"powers around the least one, f64", "from 0 to before 1 per row +1", POWERS("f64", "-740")},
    {"positions as floats", "from 0 to before 1 per row +1",
     ATTENTION("f32", "f32", "", TAME, " %h = cmplt %i, %j\n %s = where %h, %n, %q\n")},
    {"earlier positions are known", "from 0 to before 1 per row +11",
     OF_I32(" %t = full 10 : i32[]\n %a = add %i, %t\n %v = cmple %j, %a\n"
            " %s = where %v, %q, %n\n")},
    {"a window", "from 1 per row -7 to before 1 per row +1",
     OF_I32(" %t = full 8 : i32[]\n %b = sub %i, %t\n %u = cmple %j, %i\n %w = cmplt %b, %j\n"
            " %v = and %u, %w\n %s = where %v, %q, %n\n")},
    {"a window, by what it hides", "from 1 per row -7 to before 1 per row +1",
     OF_I32(" %t = full 8 : i32[]\n %f = sub %i, %j\n %u = cmplt %f, %t\n %l = not %u\n"
            " %w = cmplt %i, %j\n %h = or %l, %w\n %s = where %h, %n, %q\n")},
    {"later positions alone", "from 1 per row +0 to before 250",
     OF_I32(" %h = cmplt %j, %i\n %s = where %h, %n, %q\n")},
    {"the diagonal", "from 1 per row +0 to before 1 per row +1",
     OF_I32(" %v = cmpeq %j, %i\n %s = where %v, %q, %n\n")},
    {"backwards", "from 0 to before -1 per row +200",
     OF_I32(" %t = full 200 : i32[]\n %a = add %i, %j\n %v = cmplt %a, %t\n"
            " %s = where %v, %q, %n\n")},
    {"a triangle of truth values", "from 0 to before 1 per row +1",
     OF_I32(" %t = full true : bool[]\n %f = full false : bool[]\n %u = cmple %j, %i\n"
            " %v = where %u, %t, %f\n %s = where %v, %q, %n\n")},
    {"padding", "from 0 to before 70",
     OF_I32(" %t = full 70 : i32[]\n %v = cmplt %j, %t\n %s = where %v, %q, %n\n")},
    {"a mask from outside, and a triangle", "from 0 to before 1 per row +1",
     ATTENTION("f32", "i32", ", %o: bool[4,200,250]", TAME,
               " %u = cmple %j, %i\n %v = and %o, %u\n %s = where %v, %q, %n\n")},
    {"one of two masks", "from 0 to before 1 per row +6",
     OF_I32(" %t = full 5 : i32[]\n %a = add %i, %t\n %u = cmple %j, %i\n %w = cmple %j, %a\n"
            " %b = where %u, %q, %n\n %c = where %w, %q, %n\n %s = add %b, %c\n")},
    /* not these */
    {"a mask that is added", NULL,
     OF_I32(" %h = cmplt %i, %j\n %z0 = full 0 : f32[]\n %a = where %h, %n, %z0\n"
            " %s = add %q, %a\n")},
    {"hidden scores are used elsewhere", NULL,
     OF_I32(" %h = cmplt %i, %j\n %a = where %h, %n, %q\n %b = neg %q\n %s = max %a, %b\n")},
    {"a mask from outside", NULL,
     ATTENTION("f32", "i32", ", %o: bool[200,250]", TAME, " %s = where %o, %q, %n\n")},
    {"either of a mask from outside and a triangle", NULL,
     ATTENTION("f32", "i32", ", %o: bool[200,250]", TAME,
               " %u = cmple %j, %i\n %v = or %o, %u\n %s = where %v, %q, %n\n")},
    {"positions that wrap around", NULL,
     ATTENTION("f32", "u8", "", TAME,
               " %t = full 100 : u8[]\n %a = add %j, %t\n %v = cmple %a, %i\n"
               " %s = where %v, %q, %n\n")},
    {"rows alone", NULL,
     OF_I32(" %t = full 70 : i32[]\n %v = cmplt %i, %t\n %s = where %v, %q, %n\n")},
};

static void hidden_scores_change_no_bit(void **state) {
  (void)state;
  if (nxi_blas_get(NULL) == NULL) skip();
  nxt_shop_second_level(shop, SECOND_LEVEL);
  for (size_t i = 0; i < COUNT(samples); i++) {
    const sample *s = &samples[i];
    char line[96];
    snprintf(line, sizeof line, "its columns %s\n", s->columns ? s->columns : "");
    const char *word = s->columns ? line : "its columns";
    if (in_plan(s->text, false, SECOND_LEVEL, "rows at a time", NULL) != 1)
      fail_msg("%s: no chain", s->label);
    if (in_plan(s->text, false, SECOND_LEVEL, word, NULL) != (s->columns != NULL))
      fail_msg("%s: other columns", s->label);
    nxt_compare(shop, nxt_parse(s->text, 0, NULL), s->label,
                NXT_LLVM | NXT_LLVM_ALONE | NXT_LLVM_AVX2 | (i < 3 ? NXT_INTERPRETED : 0));
  }
  nxt_shop_second_level(shop, 0);
  assert_int_equal(nxt_differences(shop), 0);
}

/* Masks of several layers, and of a window, are computed where they are used, not stored. */
static void masks_are_not_stored(void **state) {
  (void)state;
  if (nxi_blas_get(NULL) == NULL) skip();
  assert_int_equal(in_plan(samples[8].text, false, SECOND_LEVEL, "step ", NULL), 1);
}

NXT_MAIN(seen) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hidden_scores_change_no_bit),
      cmocka_unit_test(masks_are_not_stored),
  };
  return cmocka_run_group_tests(tests, open_shop, close_shop);
}
