/* SPDX-License-Identifier: ISC */
/* What is rounded to bf16 after each operation, for every bf16 there is, NaNs among them: compiled
 * code leaves out what a rounding does to a NaN where it has proved that it need not be done. */
#include "shop.h"
#include "tests/util/runner.h"

/* Of %x, which is every bf16, %y, which is every bf16 in another order, and %full, which is an f32
 * with each upper half and a lower half of ones, to %z. */
static const char *const bodies[] = {
    "%h = mul %x, %x\n %e = erf %h\n %z = mul %e, %y\n",
    "%e = erf %x\n %f = add %e, %x\n %z = mul %f, %x\n",
    "%e = exp %x\n %z = sub %e, %x\n",
    "%e = tanh %x\n %z = mul %e, %y\n",
    "%e = log %x\n %z = add %e, %y\n",
    "%e = sqrt %x\n %z = div %e, %y\n",
    "%a = abs %x\n %n = neg %y\n %s = add %a, %n\n %z = abs %s\n",
    "%c = cmplt %x, %y\n %w = where %c, %x, %y\n %s = mul %w, %x\n %z = sub %s, %w\n",
    "%m = max %x, %y\n %s = add %m, %x\n %n = min %s, %y\n %z = mul %n, %n\n",
    "%w = cast %x : f32[65536]\n %v = mul %nasty0, %w\n %z = cast %v : bf16[65536]\n",
    "%f = neg %full\n %z = cast %f : bf16[65536]\n",
    "%m = cmplt %nasty0, %nasty1\n %w = where %m, %full, %nasty1\n %z = cast %w : bf16[65536]\n",
    "%w = cast %y : f32[65536]\n %v = mul %full, %w\n %z = cast %v : bf16[65536]\n",
    "%b = cast %full : bf16[65536]\n %c = cmple %b, %y\n %s = mul %b, %y\n %z = where %c, %s, %b\n",
    /* one that is stored and compared as it was rounded, and computed with in f64 */
    ("%s = add %x, %y\n %c = cmplt %s, %x\n %d = cast %s : f64[65536]\n %e = sqrt %d\n"
     " %f = cast %e : bf16[65536]\n %z = where %c, %f, %s\n"),
};

static nxg_graph *graph_of(const char *body) {
  char text[1024];
  snprintf(text, sizeof text,
           "nxir 2\ngraph @g(%%nasty0: f32[65536], %%nasty1: f32[65536]) -> (%%z) {\n"
           " %%i = arange start=0 step=1 : i32[65536]\n %%j = arange start=40503 step=40503 : "
           "i32[65536]\n %%k = cast %%i : u16[65536]\n %%l = cast %%j : u16[65536]\n"
           " %%o = arange start=65535 step=65536 : u32[65536]\n %%full = bitcast %%o : "
           "f32[65536]\n"
           " %%x = bitcast %%k : bf16[65536]\n %%y = bitcast %%l : bf16[65536]\n %s}\n",
           body);
  return nxt_parse(text, 0, (const int64_t[9]){0});
}

static void every_bf16(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(bodies); i++)
    nxt_compare(shop, graph_of(bodies[i]), bodies[i], NXT_COMPILED | NXT_LOGICAL | NXT_BOUND);
  assert_int_equal(nxt_differences(shop), 0);
}

NXT_MAIN(bf16) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_bf16)};
  return cmocka_run_group_tests(tests, open_shop, close_shop);
}
