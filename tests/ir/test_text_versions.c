/* SPDX-License-Identifier: ISC */
/* Texts of version 1 are read: every word that version 2 renamed, each in its place, gives what the
 * word of today gives. No version has the words of the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ir/graph/graph.h"
#include "kernel_util.h"
#include "tests/util/runner.h"

/* The same kernels in the words of both versions. */
#define KERNELS(version, region, cold, blend, fold, lanes, join, low, high, ahead)     \
  version "kernel @all bound {\n"                                                      \
          "  b0: in f32[64]\n"                                                         \
          "  b1: inout f32[?] aligned restricted\n"                                    \
          "  p0: i64\n"                                                                \
          "  %0 = param i64 p0\n"                                                      \
          "  %1 = const f32 -0\n"                                                      \
          "  " region " tasks=p0/16 {\n"                                               \
          "    %3 = for task 0..%0 {\n"                                                \
          "      %4 = splat f32x16 %1\n"                                               \
          "      %5 = " lanes " i64x16 %3\n"                                           \
          "      %6 = active boolx16 %3, %0\n"                                         \
          "      %7 = load f32x16 b0[3 + idx %5] mask=%6 else %4 skips " ahead "=32\n" \
          "      %8 = lt boolx16 %4, %7\n"                                             \
          "      %9 = " cold " %8 {\n"                                                 \
          "        %10 = neg f32x16 %7\n"                                              \
          "      }\n"                                                                  \
          "      %12 = " blend " f32x16 %9, %10, %7\n"                                 \
          "      %13 = " low " f32x16 %12, %7\n"                                       \
          "      %14 = " high " f32x16 %12, %7\n"                                      \
          "      %15 = " join " f32x32 %13, %14\n"                                     \
          "      %16 = " fold " f32 sum %15\n"                                         \
          "      store %16, b1[0 + 1*%3]\n"                                            \
          "    }\n"                                                                    \
          "  }\n"                                                                      \
          "}\n"
#define THREADS(version, region, own, lanes, exact, swap)    \
  version "kernel @threads bound threads=32 {\n"             \
          "  b0: out f32[640] aligned\n"                     \
          "  b1: local f32[64] " own "\n"                    \
          "  " region " tasks=4 {\n"                         \
          "    %1 = for task 0..4 {\n"                       \
          "      %2 = cast i32 %1\n"                         \
          "      %3 = const i32 64\n"                        \
          "      %4 = mul i32 %2, %3 " exact "\n"            \
          "      %5 = " lanes " i32x32 %4\n"                 \
          "      %6 = cast f32x32 %5\n"                      \
          "      %7 = " swap " f32x32 %6, 3\n"               \
          "      store lanes=32 %7, b1[0] stride=1\n"        \
          "      %9 = load f32x32 b1[0] stride=1\n"          \
          "      store lanes=32 %9, b0[0 + 1*%4] stride=1\n" \
          "    }\n"                                          \
          "  }\n"                                            \
          "}\n"
#define GRAPH(version, pair)                             \
  version "graph @f(%x: f32[3], %z: f32[3]) -> (%y) {\n" \
          "  %y = " pair " %x, %z : f32[6]\n"            \
          "}\n"

static const struct {
  const char *of_1, *of_2;
} kernels[] = {
    {KERNELS("nxir 1\n", "part", "rare", "pick", "fold", "lanes", "join", "zip_low", "zip_high",
             "ahead"),
     KERNELS("nxir 2\n", "region", "cold", "blend", "lane_reduce", "step_vector", "concat",
             "interleave_low", "interleave_high", "prefetch")},
    {THREADS("nxir 1\n", "part", "own", "lanes", "exact", "swap"),
     THREADS("nxir 2\n", "region", "private", "step_vector", "nsw", "shuffle_xor")},
};
enum { N_KERNELS = sizeof kernels / sizeof *kernels };

static void kernels_of_version_1_are_read(void **state) {
  (void)state;
  for (int i = 0; i < N_KERNELS; i++) {
    nxk_kernel *k = parse(kernels[i].of_1);
    char *printed = text_of(k);
    assert_verified(k);
    assert_string_equal(printed, kernels[i].of_2);
    nxi_free(printed);
    nxk_destroy(k);
  }
}

static char *printed_graph(const char *text) {
  nxg_graph *g = NULL;
  nxi_text out = {0};
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxg_parse(text, strlen(text), &g, &d)) fail_msg("%s in\n%s", d.message, text);
  nxg_print(g, &out);
  nxg_destroy(g);
  return out.data;
}

static void graphs_of_version_1_are_read(void **state) {
  (void)state;
  char *printed = printed_graph(GRAPH("nxir 1\n", "pair"));
  assert_string_equal(printed, GRAPH("nxir 2\n", "interleave"));
  nxi_free(printed);
}

/* Whether a text is refused, at this line. */
static void expect_refusal(const char *text, bool kernel, int line) {
  nxk_kernel *k = NULL;
  nxg_graph *g = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  nx_status status =
      kernel ? nxk_parse(text, strlen(text), &k, &d) : nxg_parse(text, strlen(text), &g, &d);
  if (status != NX_PARSE || d.line != line)
    fail_msg("refused in line %d expected, here it is %d in\n%s", line, d.line, text);
}

/* Each line that differs between the versions, in a text of the other one. */
static void no_version_has_words_of_the_other(void **state) {
  (void)state;
  int mixed = 0;
  for (int i = 0; i < 2 * N_KERNELS; i++) {
    const char *text = i % 2 ? kernels[i / 2].of_1 : kernels[i / 2].of_2,
               *from = i % 2 ? kernels[i / 2].of_2 : kernels[i / 2].of_1;
    int line = 1;
    for (const char *a = text, *b = from; *a; line++) {
      int n = (int)(strchr(a, '\n') - a), m = (int)(strchr(b, '\n') - b);
      if (line > 1 && (n != m || memcmp(a, b, (size_t)n) != 0)) {
        char both[4096];
        snprintf(both, sizeof both, "%.*s%.*s%s", (int)(a - text), text, m, b, a + n);
        expect_refusal(both, true, line);
        mixed++;
      }
      a += n + 1, b += m + 1;
    }
  }
  assert_int_equal(mixed, 2 * (9 + 5));
  expect_refusal(GRAPH("nxir 2\n", "pair"), false, 3);
  expect_refusal(GRAPH("nxir 1\n", "interleave"), false, 3);
}

NXT_MAIN(text_versions) {
  (void)argc, (void)argv;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_of_version_1_are_read),
      cmocka_unit_test(graphs_of_version_1_are_read),
      cmocka_unit_test(no_version_has_words_of_the_other),
  };
  return cmocka_run_group_tests_name("text_versions", tests, NULL, NULL);
}
