/* SPDX-License-Identifier: ISC */
/* Rotations, pairs of shifts that are nearly ones, and rounds of them in which bits are mixed: the
 * code generator makes one instruction of the first, and hides the last from LLVM. */
#include "shop.h"
#include "tests/util/runner.h"

enum { N = 1009, ROUNDS = 5 };

/* %x shifted to the left, combined with %x or %y shifted to the right. Counts below 1 are so many
 * less than the bits of the type, so that pairs are rotations of each type or of none. */
typedef struct pair {
  const char *combine, *other;
  int left, right;
} pair;

static const pair pairs[] = {
    {"or", "x", 5, -5}, {"or", "x", -5, 5},  {"or", "x", 1, -1},  {"or", "x", 5, -4},
    {"or", "x", 5, 5},  {"or", "y", 5, -5},  {"add", "x", 3, -3}, {"xor", "x", 5, -5},
    {"or", "x", 9, -6}, {"and", "x", 5, -5},
};
static const struct {
  const char *name;
  int bits;
} types[] = {{"u8", 8}, {"u16", 16}, {"u32", 32}, {"u64", 64},
             {"i8", 8}, {"i16", 16}, {"i32", 32}, {"i64", 64}};

static int count(int by, int bits) { return by < 1 ? bits + by : by; }

/* Each round mixes the pair with what the rounds before made of the operands. */
static nxg_graph *graph_of(size_t t, const pair *p) {
  char text[4096];
  const char *type = types[t].name;
  int at = snprintf(text, sizeof text,
                    "nxir 2\ngraph @g(%%nasty0: f32[%d], %%nasty1: f32[%d]) -> (%%z) {\n"
                    " %%i = arange start=3 step=2654435761 : i64[%d]\n"
                    " %%j = arange start=77 step=40503 : i64[%d]\n"
                    " %%x = cast %%i : %s[%d]\n %%y = cast %%j : %s[%d]\n"
                    " %%left = full %d : %s[%d]\n %%right = full %d : %s[%d]\n",
                    N, N, N, N, type, N, type, N, count(p->left, types[t].bits), type, N,
                    count(p->right, types[t].bits), type, N);
  for (int r = 0; r < ROUNDS; r++) {
    char x[8] = "x", y[8] = "y";
    if (r > 0) snprintf(x, sizeof x, "p%d", r - 1);
    if (r > 0) snprintf(y, sizeof y, "q%d", r - 1);
    at += snprintf(text + at, sizeof text - (size_t)at,
                   " %%a%d = shl %%%s, %%left\n %%b%d = shr %%%s, %%right\n"
                   " %%c%d = %s %%a%d, %%b%d\n %%p%d = %s %%c%d, %%%s\n %%q%d = add %%p%d, %%%s\n",
                   r, x, r, p->other[0] == 'x' ? x : y, r, p->combine, r, r, r,
                   r % 2 ? "mul" : "xor", r, y, r, r, y);
  }
  snprintf(text + at, sizeof text - (size_t)at, " %%z = sub %%p%d, %%q%d\n}\n", ROUNDS - 1,
           ROUNDS - 1);
  return nxt_parse(text, 0, (const int64_t[9]){0});
}

static void each_pair(void **state) {
  (void)state;
  for (size_t t = 0; t < COUNT(types); t++)
    for (size_t i = 0; i < COUNT(pairs); i++)
      nxt_compare(shop, graph_of(t, &pairs[i]), types[t].name,
                  NXT_COMPILED | NXT_LOGICAL | NXT_BOUND);
  assert_int_equal(nxt_differences(shop), 0);
}

/* Counts that are other ones in each lane, of which the first make a rotation. */
static void each_lane(void **state) {
  (void)state;
  static const char *const counts[][2] = {{"up", "last"}, {"first", "down"}, {"up", "down"}};
  for (int bits = 32; bits <= 64; bits += 32)
    for (int n = 2; n <= 32; n *= 2)
      for (size_t i = 0; i < COUNT(counts); i++) {
        char text[1024], t[16];
        snprintf(t, sizeof t, "u%d[%d]", bits, n);
        snprintf(text, sizeof text,
                 "nxir 2\ngraph @g(%%nasty0: f%d[%d]) -> (%%z) {\n %%x = bitcast %%nasty0 : %s\n"
                 " %%bits = full %d : %s\n %%first = full 1 : %s\n %%last = full %d : %s\n"
                 " %%up = arange start=1 step=1 : %s\n %%down = sub %%bits, %%up\n"
                 " %%a = shl %%x, %%%s\n %%b = shr %%x, %%%s\n %%z = or %%a, %%b\n}\n",
                 bits, n, t, bits, t, t, bits - 1, t, t, counts[i][0], counts[i][1]);
        nxt_compare(shop, nxt_parse(text, 0, (const int64_t[9]){0}), t,
                    NXT_COMPILED | NXT_LOGICAL | NXT_BOUND);
      }
  assert_int_equal(nxt_differences(shop), 0);
}

NXT_MAIN(rotations) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_pair), cmocka_unit_test(each_lane)};
  return cmocka_run_group_tests(tests, open_shop, close_shop);
}
