/* SPDX-License-Identifier: ISC */
/* Custom operations that are kernels in text: elementwise ones become the operations they consist
 * of, others are kernels of the plan; both have the bits of the library's own operations. */
#include "tests/util/api.h"

static const int64_t six[] = {6}, two_three[] = {2, 3}, two[] = {2};
static const nx_type line = {NX_F32, 1, six}, matrix = {NX_F32, 2, two_three},
                     pair = {NX_F32, 1, two}, scalar = {NX_F32, 0, NULL};

/* a * b + c, of which c has one element */
static const char elementwise[] = "nxir 2\n"
                                  "kernel @axpy logical {\n"
                                  "  b0: in f32[6]\n"
                                  "  b1: in f32[6]\n"
                                  "  b2: in f32[1]\n"
                                  "  b3: out f32[6]\n"
                                  "  b4: out f32[6]\n"
                                  "  region {\n"
                                  "    %i = for outer 0..2 {\n"
                                  "      %j = for outer 0..3 {\n"
                                  "        %a = load f32 b0[0 + 3*%i + 1*%j]\n"
                                  "        %b = load f32 b1[0 + 3*%i + 1*%j]\n"
                                  "        %c = load f32 b2[0]\n"
                                  "        %ab = mul f32 %a, %b\n"
                                  "        %y = add f32 %ab, %c\n"
                                  "        store %y, b3[0 + 3*%i + 1*%j]\n"
                                  "        %one = const f32 1\n"
                                  "        %less = lt bool %a, %one\n"
                                  "        %z = select f32 %less, %one, %y\n"
                                  "        store %z, b4[0 + 3*%i + 1*%j]\n"
                                  "      }\n"
                                  "    }\n"
                                  "  }\n"
                                  "}\n";

/* Sums of rows, and fma, which no graph has. */
static const char rows[] = "nxir 2\n"
                           "kernel @rows logical {\n"
                           "  b0: in f32[6]\n"
                           "  b1: out f32[2]\n"
                           "  b2: out f32[6]\n"
                           "  region {\n"
                           "    %i = for outer 0..2 {\n"
                           "      %j = for reduce 0..3 {\n"
                           "        %a = load f32 b0[0 + 3*%i + 1*%j]\n"
                           "        %s = reduce f32 sum lanes %a\n"
                           "      }\n"
                           "      store %s, b1[0 + 1*%i]\n"
                           "      %k = for map 0..3 {\n"
                           "        %x = load f32 b0[0 + 3*%i + 1*%k]\n"
                           "        %y = fma f32 %x, %x, %s\n"
                           "        store %y, b2[0 + 3*%i + 1*%k]\n"
                           "      }\n"
                           "    }\n"
                           "  }\n"
                           "}\n";

static int released;
static void count_release(void *user) { released += *(int *)user; }

static nx_custom_desc desc_of(const char *text, const nx_type *in, size_t n_in, const nx_type *out,
                              size_t n_out) {
  static int one = 1;
  return (nx_custom_desc){.size = sizeof(nx_custom_desc),
                          .name = "test",
                          .user = &one,
                          .release = count_release,
                          .n_operands = n_in,
                          .operands = in,
                          .n_results = n_out,
                          .results = out,
                          .kernel = text,
                          .kernel_size = strlen(text)};
}

static nx_custom *make(const char *text, const nx_type *in, size_t n_in, const nx_type *out,
                       size_t n_out) {
  nx_custom *f = NULL;
  nx_custom_desc desc = desc_of(text, in, n_in, out, n_out);
  OK(nx_custom_create(ctx, &desc, &f));
  return f;
}

/* How often a text has a word. */
static int count(const char *text, const char *word) {
  int n = 0;
  for (const char *at = text; (at = strstr(at, word)) != NULL; at++) n++;
  return n;
}

static void expect_stage(nx_tensor *t, const char *stage, const char *word, int times) {
  char *text = NULL;
  OK(nx_dump(&t, 1, stage, &text));
  if (count(text, word) != times) fail_msg("%d times %s is expected in:\n%s", times, word, text);
  nx_string_free(text);
}

static void elementwise_ones_fuse(void **state) {
  (void)state;
  nx_custom *f =
      make(elementwise, (nx_type[]){line, matrix, scalar}, 3, (nx_type[]){matrix, matrix}, 2);
  nx_tensor *x = nx_neg(vector(6, -0.0F, -1)), *m = nx_reshape(vector(6, 1, 1), two_three, 2, 0),
            *in[] = {x, m, number(10)}, *out[2];
  OK(nx_custom_record(f, in, 3, NULL, out, 2));
  nx_tensor *both = nx_add(out[0], nx_mul(out[1], number(100)));
  expect_stage(both, "graph", "custom", 0);
  expect_stage(both, "kernels", "kernel @", 1);
  EXPECT(both, 110, 1212, 1616, 2222, 3030, 4040);
  nx_custom_release(f);
}

static void others_are_kernels_of_the_plan(void **state) {
  (void)state;
  nx_custom *f = make(rows, &line, 1, (nx_type[]){pair, matrix}, 2);
  nx_tensor *x = nx_add(vector(6, 0, 1), number(1)), *out[2];
  OK(nx_custom_record(f, &x, 1, NULL, out, 2));
  expect_stage(out[1], "graph", "custom \"test\"", 2);
  expect_stage(out[1], "plan", "kernel rows", 1);
  EXPECT(nx_add(out[0], number(1)), 7, 16);
  EXPECT(nx_mul(out[1], number(2)), 14, 20, 30, 62, 80, 102);
  nx_custom_record(f, &x, 1, NULL, out, 2);
  EXPECT(out[1], 7, 10, 15, 31, 40, 51); /* the first result is not wanted */
  released = 0;
  nx_custom_release(f);
}

/* A view is made dense, and one tensor may be two operands. */
static void operands_are_any_views(void **state) {
  (void)state;
  nx_custom *f = make(rows, &matrix, 1, (nx_type[]){pair, matrix}, 2);
  nx_tensor *x = nx_permute(nx_reshape(vector(6, 1, 1), (int64_t[]){3, 2}, 2, 0), (int32_t[]){1, 0},
                            2),
            *out[2];
  OK(nx_custom_record(f, &x, 1, NULL, out, 2));
  EXPECT(out[0], 9, 12);
  nx_custom *g =
      make(elementwise, (nx_type[]){matrix, matrix, scalar}, 3, (nx_type[]){matrix, matrix}, 2);
  OK(nx_custom_record(g, (nx_tensor *[]){x, x, number(0)}, 3, NULL, out, 2));
  EXPECT(out[0], 1, 9, 25, 4, 16, 36);
  nx_custom_release(f);
  nx_custom_release(g);
}

static void a_function_calls_them(void **state) {
  (void)state;
  nx_custom *f = make(rows, &matrix, 1, (nx_type[]){pair, matrix}, 2);
  nx_tensor *x = nx_placeholder(ctx, device(), NX_F32, two_three, 2), *out[2];
  nx_function *g = NULL;
  OK(nx_custom_record(f, &x, 1, NULL, out, 2));
  OK(nx_function_create(ctx, &x, 1, &out[1], 1, NULL, &g));
  nx_custom_release(f);
  for (int i = 0; i < 2; i++) {
    nx_tensor *in = nx_reshape(vector(6, 1, 1), two_three, 2, 0), *y = NULL;
    OK(nx_function_call(g, &in, 1, &y, 1, NULL));
    EXPECT(y, 7, 10, 15, 31, 40, 51);
  }
  nx_function_release(g);
}

static void refused(const char *from, const char *to, nx_status status, const char *sentence) {
  static char text[4096];
  const char *at = strstr(elementwise, from);
  assert_non_null(at);
  snprintf(text, sizeof text, "%.*s%s%s", (int)(at - elementwise), elementwise, to,
           at + strlen(from));
  nx_custom_desc desc =
      desc_of(text, (nx_type[]){line, matrix, scalar}, 3, (nx_type[]){matrix, matrix}, 2);
  nx_custom *f = NULL;
  released = 0;
  assert_int_equal(nx_custom_create(ctx, &desc, &f), status);
  error_says(status, sentence);
  assert_true(f == NULL && released == 0);
}

static void bad_kernels_are_refused(void **state) {
  (void)state;
  refused("mul f32", "mul f3", NX_PARSE, "line 14 of the kernel");
  refused("mul f32 %a, %b", "mul f32 %a, %less", NX_PARSE, "");
  refused("b4: out", "b4: in", NX_PARSE, "the kernel is invalid");
  refused("b4: out", "b4: inout", NX_INVALID_ARGUMENT, "buffer b4 of the kernel is result 1");
  refused("b2: in f32[1]", "b2: in f32[2]", NX_INVALID_ARGUMENT, "is f32[2], and operand 2 is f32");
  refused("b1: in f32[6]", "b1: in f64[6]", NX_PARSE, "");
  refused("outer 0..2", "outer 0..4", NX_INVALID_ARGUMENT, "reaches element 11 of b");
  refused("store %z, b4[0 + 3*%i + 1*%j]", "store %z, b4[0 + 3*%i]", NX_INVALID_ARGUMENT,
          "writes 2 elements of b4 at most, which has 6");
  refused("        store %z, b4[0 + 3*%i + 1*%j]\n", "", NX_INVALID_ARGUMENT,
          "writes 0 elements of b4 at most, which has 6");
  refused("outer 0..2", "outer 0..1", NX_INVALID_ARGUMENT, "writes 3 elements of b3 at most");
  refused("b0[0 + 3", "b0[-1 + 3", NX_INVALID_ARGUMENT, "reaches element -1 of b0");
  refused("  b2: in f32[1]\n", "", NX_PARSE, "");
  nx_custom_desc desc = desc_of(rows, &line, 1, (nx_type[]){pair, matrix}, 2);
  nx_custom *f = NULL;
  desc.flags = NX_ORDERED;
  FAILS(NX_INVALID_ARGUMENT, nx_custom_create(ctx, &desc, &f));
  nx_custom *g =
      make(elementwise, (nx_type[]){line, matrix, scalar}, 3, (nx_type[]){matrix, matrix}, 2);
  nx_tensor *out[2], *x = vector(6, 1, 1);
  FAILS(NX_INVALID_ARGUMENT,
        nx_custom_record(g, (nx_tensor *[]){x, x, number(1)}, 3, NULL, out, 2));
  nx_custom_release(g);
}

NXT_MAIN(custom_kernel) {
  nx_context_options o = {.size = sizeof o, .threads = 2, .cache_dir = ""};
  if (nx_context_create(&o, &ctx)) return 1;
  const struct CMUnitTest tests[] = {
      IN_SCOPE(elementwise_ones_fuse),   IN_SCOPE(others_are_kernels_of_the_plan),
      IN_SCOPE(operands_are_any_views),  IN_SCOPE(a_function_calls_them),
      IN_SCOPE(bad_kernels_are_refused),
  };
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  nx_context_release(ctx);
  return failures;
}
