/* SPDX-License-Identifier: ISC */
/* Arrays that are joined, rolled or padded on their way into a kernel: each region of the result
 * has a loop of its own that loads what lies there, without a mask, and every way to run it has the
 * bits of the graph interpreter.
 *
 * In the texts $T is the dtype, $1 and $2 the extents; $3 = $1 - 1, $4 = $2 - 1, $5 = 4 * $1, $6 =
 * 4 * $2, $7 = $1 + 1, $8 = $2 + 1. */
#include "shop.h"
#include "tests/util/runner.h"
#include "tests/util/share.h"

typedef struct row {
  const char *name, *inputs, *body;
} row;
#define X   "%tame0: $T[$1,$2]"
#define XYZ X ", %tame1: $T[$1,$2], %tame2: $T[$1,$2], %tame3: $T[$1,$2]"

/* The result is %z. */
static const row rows[] = {
    {"cat along rows", XYZ, "%c = cat %tame0, %tame1, %tame2, %tame3 axis=0\n %z = add %c, %c\n"},
    {"cat along the last axis", XYZ,
     "%c = cat %tame0, %tame1, %tame2, %tame3 axis=1\n %z = add %c, %c\n"},
    {"two cats", XYZ,
     "%c = cat %tame0, %tame1 axis=0\n %d = cat %tame2, %tame3 axis=0\n %e = cat %tame3, %tame1 "
     "axis=0\n %f = mul %c, %d\n %z = add %f, %e\n"},
    {"cat of cats", XYZ,
     "%c = cat %tame0, %tame1 axis=0\n %d = cat %tame2, %tame3 axis=0\n %e = cat %c, %d axis=1\n "
     "%z = neg %e\n"},
    {"roll of rows", X,
     "%s = shrink %tame0 start=[$3,0] stop=[$1,$2]\n %t = shrink %tame0 start=[0,0] "
     "stop=[$3,$2]\n %r = cat %s, %t axis=0\n %z = add %r, %tame0\n"},
    {"roll of both axes", X,
     "%s = shrink %tame0 start=[$3,0] stop=[$1,$2]\n %t = shrink %tame0 start=[0,0] "
     "stop=[$3,$2]\n %r = cat %s, %t axis=0\n %u = shrink %r start=[0,1] stop=[$1,$2]\n %v = "
     "shrink %r start=[0,0] stop=[$1,1]\n %w = cat %u, %v axis=1\n %z = add %w, %tame0\n"},
    {"sum of a stack", "%tame0: $T[1,$2], %tame1: $T[1,$2], %tame2: $T[1,$2], %tame3: $T[1,$2]",
     "%c = cat %tame0, %tame1, %tame2, %tame3, %tame2, %tame0 axis=0\n %z = reduce_sum %c "
     "axes=[0]\n"},
    {"greatest of a stack", "%tame0: $T[$1,$2,1], %tame1: $T[$1,$2,1], %tame2: $T[$1,$2,1]",
     "%c = cat %tame0, %tame1, %tame2 axis=2\n %z = reduce_max %c axes=[2]\n"},
    {"stencil of a row", X,
     "%p = pad %tame0 value=1 before=[0,1] after=[0,1]\n %l = shrink %p start=[0,0] stop=[$1,$2]\n "
     "%r = shrink %p start=[0,2] stop=[$1,$8+1]\n %s = add %l, %r\n %z = sub %s, %tame0\n"},
    {"stencil of both axes", X,
     "%p = pad %tame0 before=[1,1] after=[1,1]\n %a = shrink %p start=[0,0] stop=[$1,$2]\n %b = "
     "shrink %p start=[1,0] stop=[$7,$2]\n %c = shrink %p start=[1,1] stop=[$7,$8]\n %d = shrink "
     "%p start=[0,1] stop=[$1,$8]\n %e = add %a, %b\n %f = add %c, %d\n %z = mul %e, %f\n"},
};

/* Reductions over what is joined keep their order; masks are left where a vector lies across a
 * border. */
static const row reductions[] = {
    {"sum over rows that are joined", XYZ,
     "%c = cat %tame0, %tame1, %tame2 axis=0\n %z = reduce_sum %c axes=[0]\n"},
    {"sum along rows that are joined", XYZ,
     "%c = cat %tame0, %tame1, %tame2 axis=1\n %z = reduce_sum %c axes=[1]\n"},
    {"sum of everything that is joined", XYZ,
     "%c = cat %tame0, %tame1 axis=1\n %z = reduce_sum %c axes=[0,1]\n"},
    {"share of a padded row", X,
     "%p = pad %tame0 before=[2,3] after=[1,5]\n %s = reduce_sum %p axes=[1] keepdims\n %z = add "
     "%p, %s\n"},
    {"place of the greatest", XYZ,
     "%c = cat %tame0, %tame1, %tame2 axis=0\n %z = argmax %c axis=0\n"},
    {"running sum along what is joined", XYZ,
     "%c = cat %tame0, %tame1 axis=1\n %z = scan_sum %c axis=1\n"},
    {"every second element of padded rows", X,
     "%c = cat %tame0, %tame0 axis=1\n %p = pad %c value=2 before=[1,5] after=[1,9]\n %a = slice "
     "%p start=[0,0] count=[$1,$2] step=[1,2]\n %b = slice %p start=[0,9] count=[$1,$2] "
     "step=[1,2]\n %z = add %a, "
     "%b\n"},
    {"every third element of padded rows", X,
     "%c = cat %tame0, %tame0, %tame0 axis=1\n %p = pad %c value=2 before=[1,5] after=[1,9]\n %a = "
     "slice %p start=[0,0] count=[$1,$2] step=[1,3]\n %b = slice %p start=[0,9] count=[$1,$2] "
     "step=[1,3]\n %z = add %a, "
     "%b\n"},
    {"every fourth element of padded rows", "%tame0: $T[$1,$6]",
     "%p = pad %tame0 value=2 before=[1,5] after=[1,9]\n %a = slice %p start=[0,0] count=[$1,$2] "
     "step=[1,4]\n %b = slice %p start=[0,9] count=[$1,$2] step=[1,4]\n %z = add %a, "
     "%b\n"},
    {"many narrow pieces", X,
     "%a = shrink %tame0 start=[0,0] stop=[$1,1]\n %b = shrink %tame0 start=[0,1] stop=[$1,3]\n %c "
     "= cat %a, %b, %a, %b, %a, %b, %a, %b, %a, %b, %a, %b, %a, %b, %a, %b, %a, %b, %a, %b, %a, "
     "%b axis=1\n %z = neg %c\n"},
};

static nxg_graph *graph_of(const row *r, nx_dtype t, int64_t n, int64_t m) {
  const int64_t numbers[9] = {n, m, n - 1, m - 1, 4 * n, 4 * m, n + 1, m + 1, m + 2};
  char text[2048];
  snprintf(text, sizeof text, "nxir 2\ngraph @g(%s) -> (%%z) {\n %s}\n", r->inputs, r->body);
  char *sum = strstr(text, "$8+1");
  if (sum != NULL) memcpy(sum, "$9  ", 4);
  return nxt_parse(text, t, numbers);
}

static int32_t shifted_lines = 6; /* of the processor that lines_with binds for */

/* Lines of the bound kernels of a graph that hold both words. */
static int lines_with(nxg_graph *g, const char *isa, int64_t l3_bytes, const char *first,
                      const char *second, char **kernels) {
  nxi_target target;
  assert_true(nxi_target_for_isa(isa, &target));
  target.shifted_lines = shifted_lines;
  if (l3_bytes > 0) target.l3_bytes = l3_bytes;
  nxi_executable_options o = {
      .executor = NXI_KERNEL_INTERP, .fuse = true, .target = &target, .threads = 2};
  nxi_text text = {0};
  nxi_diag d;
  int n = 0;
  nxi_diag_clear(&d);
  assert_non_null(g);
  assert_int_equal(nxi_dump(g, &o, "bound", &text, &d), NX_OK);
  nxg_destroy(g);
  assert_non_null(text.data);
  const char *at = text.data != NULL ? text.data : "";
  for (const char *line = at; line != NULL && *line; line = strchr(line, '\n')) {
    line += *line == '\n';
    size_t length = strcspn(line, "\n");
    n += memmem(line, length, first, strlen(first)) != NULL &&
         memmem(line, length, second, strlen(second)) != NULL;
  }
  *kernels = strdup(at);
  nxi_text_free(&text);
  return n;
}

static void no_masks(void **state) {
  (void)state;
  static const char *const isas[] = {"avx2", "avx512"};
  static const nx_dtype types[] = {NX_F32, NX_I8, NX_F64};
  for (size_t i = 0; i < COUNT(rows); i++)
    for (size_t k = 0; k < 6; k++) {
      char *kernels = NULL;
      int n = lines_with(graph_of(&rows[i], types[k / 2], 512, 1024), isas[k % 2], 0, "= load ",
                         "mask=", &kernels);
      if (n > 0) fprintf(stderr, "%s, %s:\n%s", rows[i].name, isas[k % 2], kernels);
      free(kernels);
      assert_int_equal(n, 0);
    }
}

/* Vectors of a run that lie in one operand are loaded from that one, without a mask: two that lie
 * across a border are left, and the last one, where rows of the operands are no multiple of a
 * vector. */
static void few_masks_along_runs(void **state) {
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    char *kernels = NULL;
    int n = lines_with(graph_of(&reductions[1], NX_F32, 512, 1000), i ? "avx2" : "avx512", 0,
                       "= load ", "mask=", &kernels);
    if (n > 5) fprintf(stderr, "%s", kernels);
    free(kernels);
    assert_in_range(n, 1, 5);
  }
}

/* What a group of rows needs next is asked for once a line where a core's cache cannot hold the
 * arrays, and else not at all: four rows of the operand, and where four rows of the result go. */
static void looks_ahead(void **state) {
  (void)state;
  static const struct {
    int64_t n, m;
    int expected;
  } cases[] = {{2048, 2048, 4}, {64, 64, 0}};
  const row *stencil = &rows[COUNT(rows) - 1];
  for (size_t i = 0; i < 2 * COUNT(cases); i++) {
    const char *isa = i % 2 ? "avx2" : "avx512";
    for (size_t k = 0; k < 2; k++) {
      char *kernels = NULL;
      int n = lines_with(graph_of(stencil, NX_F64, cases[i / 2].n, cases[i / 2].m), isa, 1 << 30,
                         k ? "store" : "= load ", " prefetch=", &kernels);
      if (n != cases[i / 2].expected) fprintf(stderr, "%s", kernels);
      free(kernels);
      assert_int_equal(n, cases[i / 2].expected);
    }
  }
}

/* The sum of one image padded in 32 ways: 63 borders along each axis. */
static nxg_graph *many_pads(void) {
  char text[8192];
  size_t n =
      (size_t)snprintf(text, sizeof text, "nxir 2\ngraph @g(%%tame0: f32[200,200]) -> (%%z) {\n");
  for (int i = 0; i < 32; i++) {
    n += (size_t)snprintf(text + n, sizeof text - n,
                          " %%p%d = pad %%tame0 before=[%d,%d] after=[%d,%d]\n", i, i, 31 - i,
                          31 - i, i);
    if (i > 0)
      n += (size_t)snprintf(text + n, sizeof text - n, " %%%c%d = add %%%c%d, %%p%d\n",
                            i < 31 ? 's' : 'z', i, i > 1 ? 's' : 'p', i - 1, i);
  }
  char *last = strstr(text, "%z31");
  memcpy(last, "%z  ", 4);
  strcpy(text + n, "}\n");
  return nxt_parse(text, NX_F32, (const int64_t[9]){0});
}

/* Much code is cut into few regions, so that the compiler has a few times as much to do as without,
 * not 16 times. */
static void code_is_bounded(void **state) {
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    char *kernels = NULL;
    int n = lines_with(many_pads(), i ? "avx2" : "avx512", 0, "= load ", "", &kernels);
    free(kernels);
    assert_in_range(n, 5 * 32, 24 * 32);
  }
  nxt_compare(shop, many_pads(), "sum of 32 pads", NXT_ALL);
  assert_int_equal(nxt_differences(shop), 0);
}

static void compare(const row *r, size_t i) {
  static const nx_dtype types[] = {NX_F32, NX_I8, NX_F64, NX_BF16, NX_I32, NX_C64, NX_U16};
  static const int64_t shapes[][2] = {{37, 61}, {40, 128}, {2, 1031}, {1030, 3}, {130, 515}};
  for (size_t k = 0; k < COUNT(shapes); k++) {
    nx_dtype t = types[(i + 3 * k) % COUNT(types)];
    bool ordered = strstr(r->body, "max") == NULL;
    nxt_compare(shop, graph_of(r, t == NX_C64 && !ordered ? NX_F32 : t, shapes[k][0], shapes[k][1]),
                r->name, NXT_LLVM | NXT_LLVM_AVX2 | (k < 3 ? NXT_ALL : NXT_LLVM_ALONE));
  }
}

static void same_bits(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(rows); i++) compare(&rows[i], i);
  for (size_t i = 0; i < COUNT(reductions); i++) compare(&reductions[i], i + 2);
  assert_int_equal(nxt_differences(shop), 0);
}

/* Beyond the caches stores are whole cache lines: pieces begin and end with them. */
static void past_the_caches(void **state) {
  (void)state;
  if (SANITIZED) skip(); /* they see nothing of compiled loops */
  static const int64_t shapes[][2] = {{1, 12000000}, {3000, 4096}, {3001, 4001}};
  for (size_t i = 4; i < COUNT(rows); i++) {
    if (strstr(rows[i].name, "stack") != NULL) continue;
    for (size_t k = 0; k < COUNT(shapes); k++)
      nxt_compare(shop, graph_of(&rows[i], NX_F32, shapes[k][0], shapes[k][1]), rows[i].name,
                  k == 1 ? NXT_LLVM : NXT_LLVM_AVX2);
  }
  assert_int_equal(nxt_differences(shop), 0);
}

/* The verifier looks at the lanes of stores past the caches, the interpreter of bound kernels at
 * their addresses. */
static const row lines[] = {
    {"transposed", X, "%t = permute %tame0 axes=[1,0]\n %z = neg %t\n"},
    {"transposed sum", "%tame0: $T[$1,$2], %tame1: $T[$2,$1]",
     "%t = permute %tame0 axes=[1,0]\n %z = add %t, %tame1\n"},
    {"one-hot", "%tame0: $T[$1,1]",
     "%j = arange start=0 step=1 : $T[$2]\n %i = reshape %j shape=[1,$2]\n %c = cmpeq %tame0, %i\n "
     "%z = cast %c : $T[$1,$2]\n"},
    {"broadcast row", X ", %tame1: $T[$2]", "%z = add %tame0, %tame1\n"},
    {"comparison", X, "%c = cmplt %tame0, %tame0\n %z = copy %c\n"},
    {"sum and its parts", X, "%s = reduce_sum %tame0 axes=[1] keepdims\n %z = add %tame0, %s\n"},
    {"rolled", X,
     "%s = shrink %tame0 start=[$3,0] stop=[$1,$2]\n %t = shrink %tame0 start=[0,0] "
     "stop=[$3,$2]\n %z = cat %s, %t axis=0\n"},
    {"padded", X, "%p = pad %tame0 before=[1,1] after=[3,7]\n %z = neg %p\n"},
};

static void whole_lines(void **state) {
  (void)state;
  static const nx_dtype types[] = {NX_F32, NX_I8, NX_F64, NX_I16};
  static const int64_t shapes[][2] = {{64, 128}, {60, 100}, {128, 72}, {33, 65}, {1, 4096}};
  int marked = 0;
  nxt_shop_last_level(shop, 1024);
  for (size_t i = 0; i < COUNT(lines); i++)
    for (size_t k = 0; k < COUNT(types) * COUNT(shapes); k++) {
      nx_dtype t = types[k % COUNT(types)];
      const int64_t *shape = shapes[k / COUNT(types)];
      char *kernels = NULL;
      marked += lines_with(graph_of(&lines[i], t, shape[0], shape[1]), "avx2", 1024, "store",
                           "nontemporal", &kernels);
      free(kernels);
      nxt_compare(shop, graph_of(&lines[i], t, shape[0], shape[1]), lines[i].name,
                  NXT_BOUND | NXT_BOUND_AVX2 | NXT_LLVM | NXT_LLVM_AVX2);
    }
  nxt_shop_last_level(shop, 0);
  assert_true(marked >= 40);
  assert_int_equal(nxt_differences(shop), 0);
}

/* Blocks of half a line are turned over two at a time, and go from registers into whole lines. */
static void blocks_beside_each_other(void **state) {
  (void)state;
  static const nx_dtype types[] = {NX_F32, NX_F64, NX_I32, NX_U16};
  nxt_shop_last_level(shop, 1024);
  for (size_t i = 0; i < 2; i++)
    for (size_t k = 0; k < COUNT(types); k++)
      for (int64_t half = 0; half < 2; half++) {
        char *kernels = NULL;
        const char *isa = types[k] == NX_U16 ? "avx512" : "avx2";
        int64_t m = 192 + half * 32 / nxi_dtype_size(types[k]); /* rows of lines and a half */
        int stores = lines_with(graph_of(&lines[i], types[k], 128, m), isa, 1024,
                                "store lanes=", "nontemporal", &kernels);
        bool staged = strstr(kernels, "local") != NULL,
             joins = strstr(kernels, " = concat ") != NULL;
        free(kernels);
        assert_true(stores > 0 && joins && !staged);
        nxt_compare(shop, graph_of(&lines[i], types[k], 128, m), lines[i].name,
                    NXT_BOUND | NXT_BOUND_AVX2 | NXT_LLVM | NXT_LLVM_AVX2);
      }
  nxt_shop_last_level(shop, 0);
  assert_int_equal(nxt_differences(shop), 0);
}

/* Rows that begin in the middle of cache lines: whole lines from the first one on, past the
 * caches. */
static const row shifted[] = {
    {"broadcast row", X ", %tame1: $T[$2]", "%z = add %tame0, %tame1\n"},
    {"part of rows", X, "%s = shrink %tame0 start=[0,1] stop=[$1,$2]\n %z = add %s, %s\n"},
    {"flipped", X, "%f = flip %tame0 axes=[1]\n %z = sub %f, %tame0\n"},
    {"two results", X ", %tame1: $T[$2]",
     "%a = add %tame0, %tame1\n %b = mul %tame0, %tame1\n %s = cat %a, %b axis=0\n %z = neg %s\n"},
    {"comparison", X ", %tame1: $T[$2]", "%z = cmplt %tame0, %tame1\n"},
    {"broadcast column", X ", %tame1: $T[$1,1]", "%z = add %tame0, %tame1\n"},
    /* the result lies in the memory of the first input: no element may be computed twice */
    {"in place", "%tame0: $T[$1,$2] given aligned, %tame1: $T[$1,1]", "%z = add %tame0, %tame1\n"},
    {"update in place", "%tame0: $T[$1,$2] overwrite, %tame1: $T[$1,1]",
     "%s = shrink %tame0 start=[0,1] stop=[$1,$2]\n %v = add %s, %tame1\n"
     " %z = update %tame0, %v offset=1 shape=[$1,$4] strides=[$2,1]\n"},
};

static void compare_shifted(int32_t least) {
  static const nx_dtype types[] = {NX_F32, NX_F64, NX_I16, NX_I8, NX_I64};
  static const int64_t shapes[][2] = {{5, 1001},  {3, 2003}, {40, 517},
                                      {2, 20011}, {60, 110}, {900, 100}};
  nxt_shop_last_level(shop, 1024);
  nxt_shop_shifted_lines(shop, shifted_lines = least);
  for (size_t i = 0; i < COUNT(shifted); i++)
    for (size_t k = 0; k < COUNT(types) * COUNT(shapes); k++) {
      const int64_t *shape = shapes[k / COUNT(types)];
      nx_dtype t = types[k % COUNT(types)];
      char *kernels = NULL;
      int marked =
          lines_with(graph_of(&shifted[i], t, shape[0], shape[1]), k % 2 ? "avx2" : "avx512", 1024,
                     "store lanes=", "nontemporal", &kernels);
      const bool right = t != NX_F32 || i > 2 || (marked > 0) == (shape[1] > 16 * least);
      if (!right) fprintf(stderr, "%s: %s", shifted[i].name, kernels);
      free(kernels);
      assert_true(right);
      nxt_compare(shop, graph_of(&shifted[i], t, shape[0], shape[1]), shifted[i].name,
                  NXT_BOUND | NXT_BOUND_AVX2 | NXT_LLVM | NXT_LLVM_AVX2);
    }
  nxt_shop_last_level(shop, 0);
  nxt_shop_shifted_lines(shop, 0);
  shifted_lines = 6;
  assert_int_equal(nxt_differences(shop), 0);
}

static void rows_from_the_middle_of_lines(void **state) {
  (void)state;
  compare_shifted(6);
}

/* Shorter rows have plain stores where the processor wants that. */
static void rows_of_few_lines_are_plain(void **state) {
  (void)state;
  compare_shifted(50);
}

/* Transposes whose rows begin anywhere in a line write whole lines past the caches. */
static void odd_transposes_write_lines(void **state) {
  (void)state;
  static const char *const isas[] = {"avx2", "avx512"};
  nxt_shop_last_level(shop, 1024);
  for (size_t i = 0; i < 2; i++) {
    for (size_t k = 0; k < COUNT(isas); k++) {
      char *kernels = NULL;
      int marked = lines_with(graph_of(&lines[i], NX_F32, 517, 291), isas[k], 1024,
                              "store lanes=", "nontemporal", &kernels);
      free(kernels);
      assert_true(marked > 0);
    }
    nxt_compare(shop, graph_of(&lines[i], NX_F32, 517, 291), lines[i].name,
                NXT_BOUND | NXT_BOUND_AVX2 | NXT_LLVM | NXT_LLVM_AVX2);
  }
  nxt_shop_last_level(shop, 0);
  assert_int_equal(nxt_differences(shop), 0);
}

/* So they do where the result stays in the last cache, if the core's own does not hold it. */
static void odd_transposes_are_shifted(void **state) {
  (void)state;
  static const char *const isas[] = {"avx2", "avx512"};
  for (size_t k = 0; k < COUNT(isas); k++)
    for (int64_t n = 100; n <= 2100; n += 2000) {
      char *kernels = NULL;
      int marked = lines_with(graph_of(&lines[0], NX_F32, n + 5, n + 3), isas[k], 1 << 30,
                              "store lanes=", "mask=", &kernels);
      free(kernels);
      assert_int_equal(marked >= 2, n > 1000); /* at both ends of a row */
    }
  nxt_shop_second_level(shop, 1024);
  for (size_t i = 0; i < 2; i++)
    nxt_compare(shop, graph_of(&lines[i], NX_F32, 517, 291), lines[i].name,
                NXT_BOUND | NXT_BOUND_AVX2 | NXT_LLVM | NXT_LLVM_AVX2);
  nxt_shop_second_level(shop, 0);
  assert_int_equal(nxt_differences(shop), 0);
}

/* Two elements in a byte are no reason to read bytes that lie apart. */
static const row nibbles[] = {
    {"cast", X, "%z = cast %tame0 : f32[$1,$2]\n"},
    {"sum along rows", X, "%c = cast %tame0 : i32[$1,$2]\n %z = reduce_sum %c axes=[1]\n"},
    {"sum of rows", X, "%c = cast %tame0 : i32[$1,$2]\n %z = reduce_sum %c axes=[0]\n"},
    {"greatest", X, "%z = reduce_max %tame0 axes=[1]\n"},
    {"sum", X ", %tame1: $T[$1,$2]", "%z = add %tame0, %tame1\n"},
    {"float sum along rows", X, "%c = cast %tame0 : f32[$1,$2]\n %z = reduce_sum %c axes=[1]\n"},
    {"weighted", X ", %tame1: f32[$1,$2]",
     "%c = cast %tame0 : f32[$1,$2]\n %w = mul %c, %tame1\n %z = reduce_sum %w axes=[1]\n"},
    {"product with the last axis of a block", "%tame0: $T[$1,4,$2], %tame1: f32[4,$2]",
     "%c = cast %tame0 : f32[$1,4,$2]\n %w = mul %c, %tame1\n %z = reduce_sum %w axes=[1,2]\n"},
};

/* Sums of everything, which are split: a run in order, and one in any order. */
static const row nibble_sums[] = {
    {"float sum", X, "%c = cast %tame0 : f32[$1,$2]\n %z = reduce_sum %c axes=[0,1]\n"},
    {"integer sum", X, "%c = cast %tame0 : i32[$1,$2]\n %z = reduce_sum %c axes=[0,1]\n"},
    {"place of the least", X,
     "%s = reshape %tame0 shape=[$1,1,$2]\n %r = argmin %s axis=2\n %z = neg %r\n"},
};

static int nibble_lines(const row *r, nx_dtype t, size_t k, const char *first, const char *second) {
  char *kernels = NULL;
  int n =
      lines_with(graph_of(r, t, 512, 1024), k % 2 ? "avx2" : "avx512", 0, first, second, &kernels);
  free(kernels);
  return n;
}

/* Both elements of a byte are lanes beside each other, of loads and of stores, and their sums are
 * split among threads. */
static void nibbles_beside_each_other(void **state) {
  (void)state;
  for (size_t k = 0; k < 2; k++) {
    for (size_t i = 0; i < COUNT(nibbles); i++)
      assert_int_equal(nibble_lines(&nibbles[i], k ? NX_U4 : NX_I4, i, "= load u8x", "idx"), 0);
    assert_int_equal(nibble_lines(&nibbles[0], NX_I4, k, "store", "stride=2"), 0);
  }
  for (size_t i = 0; i < 2; i++)
    for (size_t k = 0; k < 2; k++)
      assert_int_equal(nibble_lines(&nibble_sums[i], NX_I4, k, "kernel @", "_a bound"), 1);
  for (size_t i = 0; i < COUNT(nibble_sums); i++) {
    nxt_compare(shop, graph_of(&nibble_sums[i], i % 2 ? NX_U4 : NX_I4, 300, 1030),
                nibble_sums[i].name, NXT_LLVM | NXT_LLVM_AVX2 | NXT_BOUND | NXT_BOUND_AVX2);
    nxt_compare(shop, graph_of(&nibble_sums[i], i % 2 ? NX_I4 : NX_U4, 1, 262144 + 6),
                nibble_sums[i].name, NXT_LLVM | NXT_LLVM_AVX2);
  }
  assert_int_equal(nxt_differences(shop), 0);
}

static void nibbles_along_rows(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{37, 62}, {64, 256}, {3, 1030}, {1030, 6}, {5, 7}};
  for (size_t i = 0; i < COUNT(nibbles); i++)
    for (size_t k = 0; k < COUNT(shapes); k++) {
      nx_dtype t = (i + k) % 2 ? NX_U4 : NX_I4;
      char *kernels = NULL;
      int apart = lines_with(graph_of(&nibbles[i], t, 512, 1024), k % 2 ? "avx2" : "avx512", 0,
                             "= load u8", " stride=512", &kernels);
      if (apart > 0) fprintf(stderr, "%s:\n%s", nibbles[i].name, kernels);
      free(kernels);
      assert_int_equal(apart, 0);
      nxt_compare(shop, graph_of(&nibbles[i], t, shapes[k][0], shapes[k][1]), nibbles[i].name,
                  NXT_ALL);
    }
  assert_int_equal(nxt_differences(shop), 0);
}

NXT_MAIN(index_split) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_masks),
      cmocka_unit_test(same_bits),
      cmocka_unit_test(past_the_caches),
      cmocka_unit_test(whole_lines),
      cmocka_unit_test(nibbles_along_rows),
      cmocka_unit_test(nibbles_beside_each_other),
      cmocka_unit_test(rows_from_the_middle_of_lines),
      cmocka_unit_test(rows_of_few_lines_are_plain),
      cmocka_unit_test(blocks_beside_each_other),
      cmocka_unit_test(odd_transposes_write_lines),
      cmocka_unit_test(odd_transposes_are_shifted),
      cmocka_unit_test(few_masks_along_runs),
      cmocka_unit_test(looks_ahead),
      cmocka_unit_test(code_is_bounded),
  };
  return cmocka_run_group_tests_name("index_split", tests, open_shop, close_shop);
}
