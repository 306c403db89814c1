/* SPDX-License-Identifier: ISC */
/* Fusion really happens, and stops where it would cost: each graph has the number of kernels it
 * must have, each has the bits of the graph interpreter, expensive values are computed once,
 * kernels stay small, and planning takes linear time.
 *
 * In the texts $T is the dtype, $1 and $2 the extents, $3 the reduced axis. */
#include "shop.h"
#include "tests/util/runner.h"

#include <time.h>

/* ---- one kernel */

typedef struct row {
  const char *name, *text;
} row;
#define GRAPH(inputs, outputs, body) "nxir 2\ngraph @g(" inputs ") -> (" outputs ") {\n" body "}\n"
#define XY                           "%tame0: $T[$1,$2], %tame1: $T[$1,$2]"

/* Elementwise work, movement, several outputs. */
static const row maps[] = {
    {"chain",
     GRAPH(XY, "%z",
           "%a = add %tame0, %tame1\n %b = mul %a, %tame0\n %c = exp %b\n %d = neg %c\n %e = tanh "
           "%d\n %f = max %e, %tame1\n %g = abs %f\n %h = sqrt %g\n %z = sub %h, %a\n")},
    {"dag with where and casts",
     GRAPH(XY, "%z",
           "%c = cmplt %tame0, %tame1\n %w = where %c, %tame0, %tame1\n %i = cast %w : "
           "i32[$1,$2]\n %k = full 3 : i32[]\n %j = mul %i, %k\n %f = cast %j : f64[$1,$2]\n"
           "%s = cast %tame1 : f64[$1,$2]\n %t = div %f, %s\n %n = cast %t : $T[$1,$2]\n %u = add "
           "%n, %w\n %e = exp %u\n %z = where %c, %e, %u\n")},
    {"movement",
     GRAPH("%tame0: $T[$1,$2], %tame1: $T[$2,$1]", "%z",
           "%p = permute %tame1 axes=[1,0]\n %f = flip %p axes=[0]\n %e = exp %tame0\n %r = "
           "reshape %e shape=[1,$1,$2]\n %x = reshape %f shape=[1,$1,$2]\n %z = add %r, %x\n")},
    {"slices and broadcasts", GRAPH("%tame0: $T[$1,$2], %tame1: $T[$2]", "%z",
                                    "%s = slice %tame0 start=[0,1] count=[$1,20] step=[1,2]\n %b = "
                                    "shrink %tame1 start=[0] stop=[20]\n %z = mul %s, %b\n")},
    {"pad", GRAPH(XY, "%z",
                  "%e = exp %tame0\n %p = pad %e value=2 before=[1,0] after=[0,1]\n %q = pad "
                  "%tame1 before=[0,1] after=[1,0]\n %z = mul %p, %q\n")},
    {"cat of three", GRAPH(XY, "%z",
                           "%a = neg %tame0\n %b = abs %tame1\n %c = cat %a, %b, %tame0 axis=0\n "
                           "%d = tanh %c\n %z = add %d, %c\n")},
    {"cat along the last axis",
     GRAPH(XY, "%z", "%a = exp %tame0\n %c = cat %a, %tame1 axis=1\n %z = neg %c\n")},
    {"two outputs", GRAPH("%tame0: $T[$1,$2]", "%a, %b", "%a = exp %tame0\n %b = tanh %tame0\n")},
    {"an output in the middle",
     GRAPH(XY, "%b, %z", "%a = exp %tame0\n %b = add %a, %tame1\n %z = tanh %b\n")},
    {"eight outputs",
     GRAPH("%tame0: $T[$1,$2]", "%a, %b, %c, %d, %e, %f, %g, %h",
           "%a = exp %tame0\n %b = tanh %tame0\n %c = neg %tame0\n %d = abs %tame0\n %e = sqrt "
           "%tame0\n %f = sin %tame0\n %g = floor %tame0\n %h = mul %tame0, %tame0\n")},
    {"two outputs of different dtypes",
     GRAPH("%tame0: $T[$1,$2]", "%a, %b",
           "%a = cast %tame0 : f64[$1,$2]\n %b = cmplt %tame0, %tame0\n")},
    {"random bits and what uses them",
     GRAPH("%nasty0: i32[$1,2], %nasty1: i32[$1,2]", "%z",
           "%r = threefry %nasty0, %nasty1\n %f = cast %r : f32[$1,2]\n %s = full 0.5 : f32[]\n %z "
           "= mul %f, %s\n")},
};

/* Reductions; $4 is any number. */
static const row reductions[] = {
    {"sum of a product, then its root",
     GRAPH(
         XY, "%z",
         "%a = mul %tame0, %tame1\n %s = reduce_sum %a axes=[$3]\n %b = abs %s\n %z = sqrt %b\n")},
    {"sum and max", GRAPH("%tame0: $T[$1,$2]", "%s, %m",
                          "%s = reduce_sum %tame0 axes=[$3]\n %m = reduce_max %tame0 axes=[$3]\n")},
    {"sum of a padded, shifted, flipped value",
     GRAPH("%tame0: $T[$1,$2]", "%s",
           "%p = pad %tame0 value=1 before=[0,2] after=[3,0]\n %f = flip %p axes=[0,1]\n %e = exp "
           "%f\n %s = reduce_sum %e axes=[$3]\n")},
    {"small product as a sum",
     GRAPH(XY, "%s",
           "%c = cmplt %tame0, %tame1\n %k = full 1 : $T[]\n %o = full 0 : $T[]\n %w = where %c, "
           "%k, %o\n %s = reduce_sum %w axes=[$3] keepdims\n")},
};

/* Several walks over a row. */
static const row rows[] = {
    {"softmax", GRAPH("%tame0: $T[$1,$2]", "%y",
                      "%m = reduce_max %tame0 axes=[$3] keepdims\n %d = sub %tame0, %m\n %e = exp "
                      "%d\n %s = reduce_sum %e axes=[$3] keepdims\n %y = div %e, %s\n")},
    {"log-softmax",
     GRAPH("%tame0: $T[$1,$2]", "%y",
           "%m = reduce_max %tame0 axes=[$3] keepdims\n %d = sub %tame0, %m\n %e = exp %d\n %s = "
           "reduce_sum %e axes=[$3] keepdims\n %l = log %s\n %y = sub %d, %l\n")},
    {"log-sum-exp",
     GRAPH("%tame0: $T[$1,$2]", "%y",
           "%m = reduce_max %tame0 axes=[$3] keepdims\n %d = sub %tame0, %m\n %e = exp %d\n %s = "
           "reduce_sum %e axes=[$3] keepdims\n %l = log %s\n %y = add %l, %m\n")},
    {"layer norm",
     GRAPH("%tame0: $T[$1,$2], %tame1: $T[$2], %tame2: $T[$2]", "%y",
           "%n = full 0.001 : $T[]\n %s = reduce_sum %tame0 axes=[$3] keepdims\n %m = mul %s, %n\n "
           "%d = sub %tame0, %m\n %q = mul %d, %d\n %v = reduce_sum %q axes=[$3] keepdims\n"
           "%w = mul %v, %n\n %o = add %w, %n\n %r = sqrt %o\n %h = div %d, %r\n %g = mul %h, "
           "%tame1\n %y = add %g, %tame2\n")},
    {"rms norm", GRAPH("%tame0: $T[$1,$2], %tame1: $T[$2]", "%y",
                       "%n = full 0.001 : $T[]\n %q = mul %tame0, %tame0\n %s = reduce_sum %q "
                       "axes=[$3] keepdims\n %m = mul %s, %n\n %o = add %m, %n\n %r = sqrt %o\n %h "
                       "= div %tame0, %r\n %y = mul %h, %tame1\n")},
    {"variance", GRAPH("%tame0: $T[$1,$2]", "%w",
                       "%n = full 0.001 : $T[]\n %s = reduce_sum %tame0 axes=[$3] keepdims\n %m = "
                       "mul %s, %n\n %d = sub %tame0, %m\n %q = mul %d, %d\n %v = reduce_sum %q "
                       "axes=[$3]\n %w = mul %v, %n\n")},
    {"argmax of an expression",
     GRAPH(XY, "%y", "%a = mul %tame0, %tame1\n %s = sin %a\n %y = argmax %s axis=$3\n")},
    {"sum, then broadcast back",
     GRAPH("%tame0: $T[$1,$2]", "%y",
           "%s = reduce_sum %tame0 axes=[$3] keepdims\n %y = sub %tame0, %s\n")},
    {"max and sum, each broadcast back",
     GRAPH(XY, "%y",
           "%m = reduce_max %tame0 axes=[$3] keepdims\n %s = reduce_sum %tame1 axes=[$3] "
           "keepdims\n %a = sub %tame0, %m\n %b = div %tame1, %s\n %y = mul %a, %b\n")},
};

/* Two elements in a byte: what is packed again works on the halves of bytes. */
static const row nibbles[] = {
    {"chain in place",
     GRAPH(XY, "%z", "%a = mul %tame0, %tame1\n %b = add %a, %tame0\n %z = neg %b\n")},
    {"from between bytes",
     GRAPH("%tame0: $T[$2], %tame1: $T[$2]", "%z",
           "%a = shrink %tame0 start=[1] stop=[$2]\n %b = shrink %tame1 start=[0] stop=[$3]\n"
           " %m = mul %a, %b\n %n = xor %m, %a\n %z = sub %n, %b\n")},
    {"backwards and stepped",
     GRAPH("%tame0: $T[$1,$2]", "%z",
           "%f = flip %tame0 axes=[1]\n %s = slice %tame0 start=[0,1] count=[$1,$1] step=[1,2]\n"
           " %t = slice %f start=[0,0] count=[$1,$1] step=[1,2]\n %z = add %s, %t\n")},
    {"to floats and back",
     GRAPH(XY, "%z",
           "%a = cast %tame0 : f32[$1,$2]\n %h = full 0.3 : f32[]\n %m = mul %a, %h\n"
           " %r = rint %m\n %q = cast %r : $T[$1,$2]\n %z = max %q, %tame1\n")},
    {"from floats", GRAPH("%tame0: f32[$1,$2]", "%z",
                          "%h = full 3 : f32[]\n %m = mul %tame0, %h\n %r = rint %m\n"
                          " %z = cast %r : $T[$1,$2]\n")},
    {"to floats",
     GRAPH(XY, "%z", "%m = mul %tame0, %tame1\n %a = cast %m : f32[$1,$2]\n %z = exp %a\n")},
    {"assigned between bytes", GRAPH("%tame0: $T[$2] overwrite, %tame1: $T[$2]", "%z",
                                     "%a = shrink %tame1 start=[0] stop=[$1]\n %m = mul %a, %a\n"
                                     " %z = update %tame0, %m offset=5 shape=[$1] strides=[1]\n")},
    {"sums", GRAPH(XY, "%z",
                   "%m = mul %tame0, %tame1\n %a = cast %m : i32[$1,$2]\n %z = reduce_sum %a "
                   "axes=[1]\n")},
};

static void check(const row *r, const nx_dtype t, int64_t n, int64_t m, int64_t axis, int most,
                  unsigned ways) {
  const int64_t numbers[9] = {n, m, axis};
  char label[96];
  snprintf(label, sizeof label, "%s, %s [%lld,%lld] axis %lld", r->name, nxi_dtypes[t].name,
           (long long)n, (long long)m, (long long)axis);
  if (most > 0) {
    nxt_plan_size size = nxt_plan(nxt_parse(r->text, t, numbers));
    if (size.kernels < 1 || size.kernels > most || size.library_calls != 0) {
      fprintf(stderr, "%s: %d kernels and %d library calls instead of at most %d kernels\n", label,
              size.kernels, size.library_calls, most);
      fail();
    }
  }
  if (ways != 0) nxt_compare(shop, nxt_parse(r->text, t, numbers), label, ways);
}

static void elementwise_is_one_kernel(void **state) {
  (void)state;
  static const nx_dtype types[] = {NX_F32, NX_BF16, NX_F64, NX_F16};
  for (size_t i = 0; i < COUNT(maps); i++) {
    check(&maps[i], NX_F32, 4096, 1024, 0, 1, 0);
    check(&maps[i], types[i % 4], 37, 53, 0, 1, NXT_LLVM | NXT_LLVM_AVX2 | NXT_INTERPRETED);
    check(&maps[i], NX_F32, 130, 1030, 0, 1, NXT_LLVM);
  }
  assert_int_equal(nxt_differences(shop), 0);
}

static void nibbles_are_unpacked_and_packed_inside(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(nibbles); i++) {
    nx_dtype t = i % 2 ? NX_U4 : NX_I4;
    check(&nibbles[i], t, 1024, 4096, 4095, 1, 0);
    check(&nibbles[i], t, 18, 54, 53, 1, NXT_LLVM | NXT_LLVM_AVX2 | NXT_INTERPRETED);
    check(&nibbles[i], NX_I4, 130, 1030, 1029, 1, NXT_LLVM | NXT_LLVM_GENERIC);
    check(&nibbles[i], NX_U4, 7, 75, 74, i == 1 ? 1 : 2, NXT_LLVM | NXT_LLVM_UNFUSED);
  }
  assert_int_equal(nxt_differences(shop), 0);
}

static void reductions_take_their_neighbours(void **state) {
  (void)state;
  static const nx_dtype types[] = {NX_F32, NX_BF16, NX_F64, NX_F16};
  for (size_t i = 0; i < COUNT(reductions); i++)
    for (int axis = 0; axis < 2; axis++) {
      check(&reductions[i], NX_F32, 4096, 1024, axis, 2, 0); /* the second one joins strips */
      check(&reductions[i], types[(i + (size_t)axis) % 4], 40, 300, axis, 1,
            NXT_LLVM | NXT_LLVM_AVX2 | NXT_INTERPRETED);
      check(&reductions[i], NX_F32, axis ? 3 : 100000, axis ? 100000 : 3, axis, 2,
            NXT_LLVM | NXT_LLVM_ALONE);
    }
  assert_int_equal(nxt_differences(shop), 0);
}

static void rows_are_one_kernel(void **state) {
  (void)state;
  static const nx_dtype types[] = {NX_F32, NX_F64, NX_BF16, NX_F16};
  static const int64_t small[][2] = {{37, 1000}, {64, 17}, {9, 256}, {5, 4097},
                                     {3, 1},     {1, 300}, {257, 31}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    for (int k = 0; k < 4; k++) {
      check(&rows[i], types[k], 4096, 1024, 1, 1, 0);
      check(&rows[i], types[k], 512, 4096, 0, 1, 0);
    }
    for (size_t k = 0; k < COUNT(small); k++)
      for (int axis = 0; axis < 2; axis++) {
        unsigned more = (i + k + (size_t)axis) % 3 == 0   ? NXT_LLVM_AVX2
                        : (i + k + (size_t)axis) % 3 == 1 ? NXT_LLVM_GENERIC
                                                          : NXT_LLVM_UNFUSED;
        check(&rows[i], types[(i + k) % 4], small[k][0], small[k][1], axis, 1,
              NXT_LLVM | NXT_INTERPRETED | more);
      }
    check(&rows[i], NX_F32, 2, 300000, 1, 0,
          NXT_LLVM | NXT_LLVM_AVX2); /* too long for a cache: several kernels */
    check(&rows[i], NX_F32, 100000, 5, 0, 0, NXT_LLVM);
  }
  assert_int_equal(nxt_differences(shop), 0);
}

static void rows_with_more_axes(void **state) {
  (void)state;
  static const char text[] =
      "nxir 2\ngraph @g(%tame0: f32[8,16,64,128]) -> (%y) {\n %m = reduce_max %tame0 axes=[$1] "
      "keepdims\n %d = sub %tame0, %m\n %e = exp %d\n"
      "%s = reduce_sum %e axes=[$1] keepdims\n %y = div %e, %s\n}\n";
  for (int64_t axis = 0; axis < 4; axis++) {
    assert_int_equal(nxt_plan(nxt_parse(text, 0, &axis)).kernels, 1);
    nxt_compare(shop, nxt_parse(text, 0, &axis), "softmax of rank 4", NXT_LLVM);
  }
  assert_int_equal(nxt_differences(shop), 0);
}

/* All elements are one sum: chunks of it for all threads, then their sum, then what uses it. */
static void whole_sums_are_split(void **state) {
  (void)state;
  static const char sum[] =
      "nxir 2\ngraph @g(%tame0: $T[$1]) -> (%s) {\n %s = reduce_sum %tame0 axes=[0]\n}\n";
  static const char share[] = "nxir 2\ngraph @g(%tame0: $T[$1]) -> (%y) {\n %e = exp %tame0\n %s = "
                              "reduce_sum %e axes=[0] keepdims\n %y = div %e, %s\n}\n";
  const int64_t n = (1 << 20) + 77;
  assert_int_equal(nxt_plan(nxt_parse(sum, NX_F32, &n)).kernels, 2);
  assert_in_range(nxt_plan(nxt_parse(share, NX_F32, &n)).kernels, 2, 4);
  nxt_compare(shop, nxt_parse(sum, NX_F32, &n), "sum of 2^20",
              NXT_LLVM | NXT_LLVM_ALONE | NXT_LLVM_AVX2 | NXT_INTERPRETED);
  nxt_compare(shop, nxt_parse(share, NX_BF16, &n), "share of the sum", NXT_LLVM | NXT_LLVM_ALONE);
  assert_int_equal(nxt_differences(shop), 0);
}

/* ---- what must not be fused */

static char *kernels_of(nxg_graph *g) {
  nxi_executable_options o = {
      .executor = NXI_KERNEL_INTERP, .fuse = true, .target = nxi_target_host(), .threads = 2};
  nxi_text text = {0};
  nxi_diag d;
  nxi_diag_clear(&d);
  assert_non_null(g);
  assert_int_equal(nxi_dump(g, &o, "kernels", &text, &d), NX_OK);
  nxg_destroy(g);
  char *copy = strdup(text.data);
  nxi_text_free(&text);
  assert_non_null(copy);
  return copy;
}

static void expensive_values_are_computed_once(void **state) {
  (void)state;
  static const char *const texts[] = {
      /* for two sums along different axes */
      "nxir 2\ngraph @g(%x: f32[512,600]) -> (%a, %b) {\n %e = exp %x\n %a = reduce_sum %e "
      "axes=[0]\n %b = reduce_sum %e axes=[1]\n}\n",
      /* at two positions */
      "nxir 2\ngraph @g(%x: f32[1001,600]) -> (%y) {\n %e = exp %x\n %u = shrink %e start=[0,0] "
      "stop=[1000,600]\n %v = shrink %e start=[1,0] stop=[1001,600]\n %y = sub %u, %v\n}\n",
      /* broadcast over rows */
      "nxir 2\ngraph @g(%x: f32[1000,640], %row: f32[640]) -> (%y) {\n %e = exp %row\n %y = mul "
      "%x, %e\n}\n",
      /* in both factors of a product that is made by the library */
      "nxir 2\ngraph @g(%x: f32[200,200]) -> (%y) {\n %e = exp %x\n %y = matmul %e, %e\n}\n",
      /* by many users of other shapes */
      "nxir 2\ngraph @g(%x: f32[64,64]) -> (%a, %b, %c, %d, %f, %h) {\n %e = exp %x\n %a = "
      "reduce_sum %e axes=[0]\n %b = reduce_max %e axes=[1]\n %c = reduce_prod %e axes=[0,1]\n"
      " %d = permute %e axes=[1,0]\n %k = copy %d\n %f = cat %e, %k axis=0\n %h = pad %e "
      "before=[1,1] after=[1,1]\n}\n"};
  for (size_t i = 0; i < COUNT(texts); i++) {
    char *kernels = kernels_of(nxt_parse(texts[i], 0, NULL));
    if (occurrences(kernels, "= exp ") != 1) fprintf(stderr, "%s%s", texts[i], kernels);
    assert_int_equal(occurrences(kernels, "= exp "), 1);
    free(kernels);
    nxt_compare(shop, nxt_parse(texts[i], 0, NULL), "computed once", NXT_LLVM);
  }
  assert_int_equal(nxt_differences(shop), 0);
}

/* Two long rows feed two threads only by pieces; one kernel a row would leave the others idle. */
/* A small product reads each element of a factor often: an expensive one is stored, a cheap one
 * computed again. */
static void factors_of_small_products(void **state) {
  (void)state;
  static const struct {
    const char *function, *factors;
    int kernels;
  } cases[] = {{"exp", "%f, %b", 2}, {"neg", "%f, %b", 1}, {"exp", "%b, %f", 2}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    char text[256];
    snprintf(
        text, sizeof text,
        "nxir 2\ngraph @g(%%a: f32[9,16,16], %%b: f32[9,16,16]) -> (%%y) {\n %%f = %s %%a\n %%y = "
        "matmul %s\n}\n",
        cases[i].function, cases[i].factors);
    char *kernels = kernels_of(nxt_parse(text, 0, NULL));
    assert_int_equal(occurrences(kernels, "kernel @"), cases[i].kernels);
    free(kernels);
    nxt_compare(shop, nxt_parse(text, 0, NULL), "small product", NXT_LLVM);
  }
}

static void parallelism_is_kept(void **state) {
  (void)state;
  assert_true(nxt_plan(nxt_parse(rows[0].text, NX_F32, (const int64_t[]){2, 4000000, 1})).kernels >
              1);
}

/* A product that is finished row by row by what follows it runs when that has its turn: what it
 * reads must not be updated in place before. */
static void products_that_wait_read_old_contents(void **state) {
  (void)state;
  static const char text[] =
      "nxir 2\ngraph @g(%tame0: f32[64,64] overwrite, %tame1: f32[64,64], %tame2: f32[64]) -> (%y, "
      "%u) {\n"
      " %p = matmul %tame0, %tame1\n %u = update %tame0, %tame2 offset=0 shape=[64] strides=[1]\n"
      " %y = add %p, %u\n}\n";
  nxt_compare(shop, nxt_parse(text, 0, NULL), "product that waits", NXT_LLVM | NXT_INTERPRETED);
  assert_int_equal(nxt_differences(shop), 0);
}

/* ---- size and time */

/* y = cos(...(x + c)...): `n` operations; `step` inputs of their own if `many`. */
static nxg_graph *chain(int64_t n, bool many) {
  static const nxg_op ops[] = {NXG_add, NXG_mul, NXG_sub, NXG_max};
  nxg_graph *g = nxg_create("chain");
  int64_t shape = 64;
  uint32_t x = nxt_input(g, "tame0", NX_F32, 1, &shape),
           y = nxt_input(g, "tame1", NX_F32, 1, &shape), start = x;
  for (int64_t i = 0; i < n; i++) {
    uint32_t args[2] = {x, many && i % 8 == 0 ? nxt_input(g, "tame", NX_F32, 1, &shape)
                           : i % 3            ? y
                                              : start};
    x = nxt_node(g, ops[i % 4], 2, args, 0, NULL, 0);
  }
  nxg_add_output(g, x, NULL);
  return g;
}

static nxg_graph *fan(int64_t n, bool many) {
  nxg_graph *g = nxg_create("fan");
  int64_t shape[2] = {8, 8}, attrs[2] = {0, 0};
  uint32_t x = nxt_input(g, "tame0", NX_F32, 2, shape);
  for (int64_t i = 0; i < n; i++) {
    attrs[0] = 1 + i % 3;
    uint32_t e = nxt_node(g, i % 2 ? NXG_exp : NXG_neg, 1, &x, 0, NULL, 0);
    uint32_t pair[2] = {e, x};
    uint32_t s = nxt_node(g, NXG_add, 2, pair, 0, NULL, 0);
    nxg_add_output(g, many ? nxt_node(g, NXG_reduce_sum, 1, &s, 2, attrs, 0) : s, NULL);
    if (i % 5 == 0) x = s;
  }
  return g;
}

static void kernels_stay_small(void **state) {
  (void)state;
  for (int many = 0; many < 2; many++) {
    char *kernels = kernels_of(chain(2000, many));
    long longest = 0, most = 0;
    int n = 0;
    for (char *p = strstr(kernels, "kernel @"), *next; p != NULL; p = next, n++) {
      next = strstr(p + 1, "kernel @");
      long lines = 0, loads = 0;
      for (const char *q = p; q != next && *q != 0; q++) {
        lines += *q == '\n';
        loads += strncmp(q, "= load ", 7) == 0;
      }
      longest = lines > longest ? lines : longest;
      most = loads > most ? loads : most;
    }
    free(kernels);
    assert_in_range(n, 2000 / 340, 2000 / 20);
    assert_in_range(longest, 20, 450);
    assert_in_range(most, 1, 60);
    nxt_compare(shop, chain(2000, many), "long chain", NXT_LLVM | NXT_INTERPRETED);
  }
  assert_int_equal(nxt_differences(shop), 0);
}

static double planning_seconds(nxg_graph *(*make)(int64_t, bool), int64_t n, bool many) {
  nxg_graph *g = make(n, many);
  clock_t begin = clock();
  assert_true(nxt_plan(g).kernels > 0);
  return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

/* What a graph takes and a quarter of it, the best of several rounds each: others are at work on
 * the machine, and a neighbour can make one measurement twice as long. More rounds only if the
 * first ones look bad. */
static void planning_takes_linear_time(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) {
    nxg_graph *(*make)(int64_t, bool) = i < 2 ? chain : fan;
    int64_t n = i < 2 ? 20000 : 6000;
    double full = 1e9, quarter = 1e9;
    for (int round = 0; round < 12 && (round < 2 || full > 8 * quarter); round++) {
      double seconds = planning_seconds(make, n, i % 2);
      full = seconds < full ? seconds : full;
      seconds = planning_seconds(make, n / 4, i % 2);
      quarter = seconds < quarter ? seconds : quarter;
    }
    printf("%s of %lld: %.3f s, a quarter of it %.3f s\n", i < 2 ? "chain" : "fan", (long long)n,
           full, quarter);
    assert_true(full < 9 * quarter + 0.05); /* 4 is linear, 16 quadratic */
  }
}

NXT_MAIN(fusion) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nibbles_are_unpacked_and_packed_inside),
      cmocka_unit_test(elementwise_is_one_kernel),
      cmocka_unit_test(reductions_take_their_neighbours),
      cmocka_unit_test(rows_are_one_kernel),
      cmocka_unit_test(rows_with_more_axes),
      cmocka_unit_test(whole_sums_are_split),
      cmocka_unit_test(expensive_values_are_computed_once),
      cmocka_unit_test(factors_of_small_products),
      cmocka_unit_test(parallelism_is_kept),
      cmocka_unit_test(kernels_stay_small),
      cmocka_unit_test(products_that_wait_read_old_contents),
      cmocka_unit_test(planning_takes_linear_time),
  };
  return cmocka_run_group_tests(tests, open_shop, close_shop);
}
