/* SPDX-License-Identifier: ISC */
/* Long chains of operations, whose vectors are several registers: what is loaded may be loaded
 * again further on, and registers are computed side by side. All operands that such code may have,
 * lengths that leave a rest, results in the memory of an operand, several results. */
#include "shop.h"
#include "tests/util/runner.h"

enum { OPERATIONS = 64, TEXT = 1 << 14 };

typedef struct sample {
  const char *label, *inputs; /* the latter of one shape but for numbers and rows */
  const char *operands[6];    /* in turn */
  const char *dtype, *shape;
  int every; /* each such operation's result is a result of the graph, too; 0: the last alone */
} sample;

#define SAME(name) "%" name ": $T[$S]"
static const sample samples[] = {
    {"one operand", SAME("tame0"), {"%tame0"}, "f32", "4096", 0},
    {"a rest", SAME("tame0") ", " SAME("tame1"), {"%tame0", "%tame1"}, "f32", "4099", 0},
    {"six operands, and a rest",
     SAME("tame0") ", " SAME("tame1") ", " SAME("tame2") ", " SAME("tame3") ", " SAME("tame4"),
     {"%tame0", "%tame1", "%tame2", "%tame3", "%tame4", "%tame0"},
     "f32",
     "5001",
     0},
    {"f64", SAME("tame0") ", " SAME("tame1"), {"%tame0", "%tame1"}, "f64", "4097", 0},
    {"i32", SAME("tame0") ", " SAME("tame1"), {"%tame0", "%tame1"}, "i32", "4097", 0},
    {"bf16", SAME("tame0") ", " SAME("tame1"), {"%tame0", "%tame1"}, "bf16", "4097", 0},
    {"in the memory of an operand",
     SAME("tame0") " overwrite, " SAME("tame1") ", " SAME("tame2"),
     {"%tame0", "%tame1", "%tame2"},
     "f32",
     "4099",
     0},
    {"several results", SAME("tame0") ", " SAME("tame1"), {"%tame0", "%tame1"}, "f32", "4096", 7},
    {"several results in the memory of operands",
     SAME("tame0") " overwrite, " SAME("tame1") " overwrite, " SAME("tame2") " overwrite",
     {"%tame0", "%tame1", "%tame2"},
     "f32",
     "4096",
     30},
    {"rows, columns and numbers",
     SAME("tame0") ", %tame1: $T[1,100], %tame2: $T[50,1], %tame3: $T[]",
     {"%tame0", "%tame1", "%tame2", "%tame3"},
     "f32",
     "50,100",
     0},
};

static void put(char *text, const char *more, const sample *s) {
  char *end = text + strlen(text);
  for (; *more; more++) {
    const char *word = more[0] != '$' ? NULL : more[1] == 'T' ? s->dtype : s->shape;
    assert_true(end - text + 32 < TEXT);
    if (word) end = stpcpy(end, word), more++;
    else *end++ = *more;
    *end = 0;
  }
}

/* sub, mul, sub, .. of what the one before gave and of the operands in turn. */
static nxg_graph *chain_of(const sample *s) {
  static char text[TEXT];
  char line[128];
  int n_operands = 0;
  while (n_operands < 6 && s->operands[n_operands]) n_operands++;
  snprintf(text, sizeof text, "nxir 2\ngraph @g(");
  put(text, s->inputs, s);
  put(text, ") -> (", s);
  for (int i = s->every - 1; s->every && i < OPERATIONS - 1; i += s->every) {
    snprintf(line, sizeof line, "%%v%d, ", i);
    put(text, line, s);
  }
  snprintf(line, sizeof line, "%%v%d) {\n", OPERATIONS - 1);
  put(text, line, s);
  for (int i = 0; i < OPERATIONS; i++) {
    char before[16] = "%tame0";
    if (i) snprintf(before, sizeof before, "%%v%d", i - 1);
    snprintf(line, sizeof line, " %%v%d = %s %s, %s\n", i, i & 1 ? "mul" : "sub", before,
             s->operands[(i + 1) % n_operands]);
    put(text, line, s);
  }
  put(text, "}\n", s);
  return nxt_parse(text, 0, NULL);
}

static void long_chains_change_no_bit(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(samples); i++) {
    nxg_graph *g = chain_of(&samples[i]);
    assert_non_null(g);
    nxt_compare(shop, g, samples[i].label, NXT_COMPILED | NXT_LLVM_ALONE | NXT_BOUND);
  }
  assert_int_equal(nxt_differences(shop), 0);
}

NXT_MAIN(long_code) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(long_chains_change_no_bit),
  };
  return cmocka_run_group_tests(tests, open_shop, close_shop);
}
