/* SPDX-License-Identifier: ISC */
/* Reductions over every set of axes, moves with guards, reshapes that do not line up, products,
 * updates: machine code and the kernel interpreters against the graph interpreter, over extents
 * around the sizes of vectors, blocks and tiles. */
#include "shop.h"
#include "tests/util/runner.h"

static const nx_dtype dtypes[] = {NX_F32,    NX_F64,    NX_BF16, NX_F16, NX_I32, NX_U8,
                                  NX_I64,    NX_I8,     NX_U32,  NX_I16, NX_U64, NX_U16,
                                  NX_F8E4M3, NX_F8E5M2, NX_I4,   NX_U4,  NX_BOOL};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };

/* One of the ways that are expensive, by turns. */
static unsigned turn(size_t i) {
  static const unsigned turns[] = {NXT_LLVM_AVX2,  NXT_LLVM_GENERIC, NXT_LLVM_UNFUSED,
                                   NXT_BOUND_AVX2, NXT_LLVM_ALONE,   NXT_BOUND_GENERIC};
  return turns[i % COUNT(turns)];
}

static void keep(nxg_graph *g, uint32_t node) {
  if (node != UINT32_MAX) nxg_add_output(g, node, NULL);
}

/* ---- reductions */

static uint32_t reduce(nxg_graph *g, nxg_op op, uint32_t x, int64_t axes, bool keepdims) {
  return nxt_node(g, op, 1, &x, 2, (int64_t[]){axes, keepdims}, 0);
}

/* Every set of axes of a tensor of rank 4, as it lies or with its axes turned round. */
static nxg_graph *every_set(nx_dtype t, const int64_t *shape, bool turned) {
  static const nxg_op others[] = {NXG_reduce_max, NXG_reduce_prod, NXG_reduce_min};
  nxg_graph *g = nxg_create("fold");
  uint32_t tame = nxt_input(g, "tame", t, 4, shape), nasty = nxt_input(g, "nasty", t, 4, shape);
  if (turned) {
    nxg_view v;
    nxi_diag d;
    nxi_diag_clear(&d);
    nxg_node_view(g, tame, &v);
    assert_int_equal(nxg_view_permute(&v, (const int32_t[]){2, 3, 0, 1}, 4, &v, &d), NX_OK);
    tame = nxt_view(g, tame, &v);
    nasty = nxt_view(g, nasty, &v);
  }
  for (int64_t mask = 0; mask < 16; mask++) {
    nxg_op other = others[mask % 3];
    keep(g, reduce(g, t == NX_BOOL ? NXG_reduce_max : NXG_reduce_sum, tame, mask, mask % 2));
    keep(g, reduce(g, other, other == NXG_reduce_prod ? tame : nasty, mask, mask % 3 == 0));
  }
  for (int64_t axis = 0; axis < 4; axis++)
    keep(g, reduce(g, axis % 2 ? NXG_argmax : NXG_argmin, axis < 2 ? nasty : tame, axis,
                   axis % 3 == 0));
  return g;
}

static void every_set_of_axes(void **state) {
  (void)state;
  static const int64_t shapes[][4] = {
      {2, 3, 16, 17},  {1, 255, 3, 2},  {3, 1, 2, 257},  {256, 2, 1, 3},  {2, 17, 1, 1000},
      {1000, 2, 3, 1}, {3, 4097, 1, 2}, {1, 1, 2, 4097}, {16, 16, 1, 17}, {17, 255, 1, 1},
      {2, 1, 256, 16}, {1, 1, 1, 1},    {2, 0, 3, 17}};
  for (size_t i = 0; i < COUNT(shapes); i++)
    for (size_t k = 0; k < 3; k++) {
      nx_dtype t = k == 0 ? NX_F32 : dtypes[(i * 2 + k) % DTYPES];
      char label[80];
      snprintf(label, sizeof label, "every set of axes of %s[%lld,%lld,%lld,%lld]",
               nxi_dtypes[t].name, (long long)shapes[i][0], (long long)shapes[i][1],
               (long long)shapes[i][2], (long long)shapes[i][3]);
      nxt_compare(shop, every_set(t, shapes[i], k == 1), label,
                  NXT_LLVM | NXT_INTERPRETED | turn(i + k));
    }
  assert_int_equal(nxt_differences(shop), 0);
}

/* Long enough to be cut into pieces for several threads. */
static void long_runs(void **state) {
  (void)state;
  static const struct {
    int32_t rank;
    int64_t shape[3];
  } rows[] = {{1, {(1 << 20) + 7}}, {2, {3, 262147}}, {2, {262147, 3}},
              {2, {513, 2048}},     {2, {4097, 257}}, {3, {2, 70000, 5}},
              {3, {300, 2, 700}},   {1, {65536}},     {1, {131073}}};
  for (size_t i = 0; i < COUNT(rows); i++)
    for (size_t k = 0; k < 2; k++) {
      nx_dtype t = k == 0 ? NX_F32 : dtypes[1 + i % (DTYPES - 1)];
      char label[80];
      nxg_graph *g = nxg_create("long");
      uint32_t x = nxt_input(g, "tame", t, rows[i].rank, rows[i].shape),
               nasty = nxt_input(g, "nasty", t, rows[i].rank, rows[i].shape);
      for (int64_t mask = 1; mask < 1 << rows[i].rank; mask++) {
        keep(g, reduce(g, NXG_reduce_sum, x, mask, false));
        keep(g, reduce(g, mask % 2 ? NXG_reduce_max : NXG_reduce_min, mask % 3 ? x : nasty, mask,
                       true));
      }
      for (int64_t axis = 0; axis < rows[i].rank; axis++) {
        keep(g, reduce(g, NXG_argmax, x, axis, false));
        keep(g, reduce(g, NXG_argmin, nasty, axis, true));
      }
      snprintf(label, sizeof label, "long runs of %s[%lld,%lld,%lld]", nxi_dtypes[t].name,
               (long long)rows[i].shape[0], (long long)rows[i].shape[1],
               (long long)rows[i].shape[2]);
      nxt_compare(shop, g, label,
                  NXT_LLVM | (k == 0  ? NXT_LLVM_AVX2 | NXT_LLVM_ALONE
                              : i % 2 ? NXT_LOGICAL
                                      : NXT_BOUND));
    }
  assert_int_equal(nxt_differences(shop), 0);
}

/* Ties and NaN in every place: bool data are all ties, small integers mostly; nasty floats have
 * many NaN. */
static void first_of_the_best(void **state) {
  (void)state;
  static const int64_t extents[] = {1, 2, 15, 16, 17, 31, 33, 64, 255, 256, 257, 513, 4097};
  for (size_t i = 0; i < COUNT(extents); i++) {
    nxg_graph *g = nxg_create("arg");
    const int64_t shape[2] = {3, extents[i]}, column[2] = {extents[i], 5};
    for (int k = 0; k < 4; k++) {
      static const nx_dtype types[] = {NX_F32, NX_BOOL, NX_I8, NX_BF16};
      uint32_t row = nxt_input(g, "nasty", types[k], 2, shape),
               down = nxt_input(g, "nasty", types[k], 2, column);
      uint32_t tame = nxt_input(g, "tame", types[k], 2, shape);
      keep(g, reduce(g, NXG_argmax, row, 1, false));
      keep(g, reduce(g, NXG_argmin, row, 1, true));
      keep(g, reduce(g, NXG_argmax, tame, 1, true));
      keep(g, reduce(g, NXG_argmax, down, 0, true));
      keep(g, reduce(g, NXG_argmin, down, 0, false));
    }
    nxt_compare(shop, g, "argmax and argmin", NXT_LLVM | NXT_INTERPRETED | turn(i));
  }
  assert_int_equal(nxt_differences(shop), 0);
}

/* ---- moves. $T is the dtype, $1 $2 the extents */

static const char *const moves[] = {
    "%z = pad %nasty0 value=1 before=[1,2] after=[3,0]\n",
    "%e = neg %nasty0\n %p = pad %e value=1 before=[0,1] after=[1,0]\n %f = flip %p axes=[0,1]\n "
    "%z = pad %f before=[2,0] after=[0,5]\n",
    "%p = pad %nasty0 before=[1,1] after=[1,1]\n %a = shrink %p start=[0,1] stop=[$1,3]\n %b = "
    "shrink %p start=[2,0] stop=[$3,2]\n %z = max %a, %b\n",
    "%c = cat %nasty0, %nasty1, %nasty0 axis=1\n %f = flip %c axes=[1]\n %z = max %f, %c\n",
    "%c = cat %nasty0, %nasty1 axis=0\n %p = permute %c axes=[1,0]\n %z = cat %p, %p axis=1\n",
    "%s = slice %nasty0 start=[0,0] count=[$1,1] step=[1,1]\n %e = expand %s shape=[$1,$2]\n %z = "
    "cat %e, %nasty1, %s, %nasty0, %s, %s, %e axis=1\n",
    "%p = permute %nasty0 axes=[1,0]\n %c = contiguous %p\n %r = reshape %c shape=[$1,$2]\n %z = "
    "max %r, %nasty1\n",
    "%p = permute %nasty0 axes=[1,0]\n %c = contiguous %p\n %r = reshape %c shape=[$4]\n %f = flip "
    "%r axes=[0]\n %z = reshape %f shape=[$2,$1]\n",
    "%e = max %nasty0, %nasty1\n %r = reshape %e shape=[$4]\n %s = slice %r start=[1] count=[$5] "
    "step=[2]\n %z = flip %s axes=[0]\n",
    "%e = max %nasty0, %nasty1\n %p = permute %e axes=[1,0]\n %c = contiguous %p\n %r = reshape %c "
    "shape=[$6,2]\n %z = min %r, %r\n",
    "%p = pad %nasty0 value=1 before=[1,0] after=[0,0]\n %c = contiguous %p\n %r = reshape %c "
    "shape=[$7]\n %z = shrink %r start=[1] stop=[$4]\n",
    "%d = as_strided %nasty0 strides=[1,1] offset=0 : $T[$1,$2]\n %z = max %d, %nasty1\n",
    "%p = pad %nasty0 before=[0,0] after=[1,0]\n %m = reduce_max %p axes=[0]\n %c = cat %m, %m "
    "axis=0\n %z = copy %c\n",
    "%s = expand %nasty0 shape=[3,$1,$2]\n %p = permute %s axes=[2,0,1]\n %z = copy %p\n",
    "%w = cast %mask : $T[$1,$2]\n %e = cmpeq %nasty0, %w\n %p = pad %e value=true before=[1,1] "
    "after=[0,0]\n %s = shrink %p start=[0,0] stop=[$1,$2]\n %z = where %s, %nasty0, %nasty1\n",
};

static void moves_with_guards(void **state) {
  (void)state;
  static const int64_t extents[][2] = {{4, 6}, {17, 34}, {2, 257}, {300, 4}, {64, 128}};
  for (size_t k = 0; k < COUNT(extents); k++)
    for (size_t i = 0; i < COUNT(moves); i++) {
      int64_t n = extents[k][0], m = extents[k][1];
      const int64_t numbers[9] = {n, m, n + 2, n * m, n * m / 2, n * m / 2, (n + 1) * m};
      char text[2048], label[64];
      snprintf(text, sizeof text,
               "nxir 2\ngraph @moves(%%nasty0: $T[$1,$2], %%nasty1: $T[$1,$2], %%mask: "
               "bool[$1,$2]) -> (%%z) {\n %s}\n",
               moves[i]);
      nx_dtype t = dtypes[(i + 3 * k) % (DTYPES - 1)];
      snprintf(label, sizeof label, "move %zu, %s [%lld,%lld]", i, nxi_dtypes[t].name, (long long)n,
               (long long)m);
      nxt_compare(shop, nxt_parse(text, t, numbers), label,
                  NXT_LLVM | NXT_INTERPRETED | turn(i + k));
    }
  assert_int_equal(nxt_differences(shop), 0);
}

/* Every way to cut 720 elements after the axes were turned: few of them line up. */
static void reshapes_after_permutes(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{720, 1, 1}, {2, 360, 1}, {7 - 2, 144, 1}, {16, 45, 1},
                                      {48, 15, 1}, {90, 8, 1},  {3, 16, 15},     {16, 3, 15},
                                      {6, 6, 20},  {40, 2, 9},  {1, 9, 80}};
  static const int32_t orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2},
                                      {0, 2, 1}, {2, 0, 1}, {1, 2, 0}};
  for (size_t o = 0; o < COUNT(orders); o++) {
    nxg_graph *g = nxg_create("reshape");
    nxg_view v;
    nxi_diag d;
    nxi_diag_clear(&d);
    uint32_t x = nxt_input(g, "nasty", NX_F32, 3, (const int64_t[]){6, 8, 15});
    uint32_t e = nxt_node(g, NXG_sign, 1, &x, 0, NULL, 0);
    nxg_node_view(g, e, &v);
    assert_int_equal(nxg_view_permute(&v, orders[o], 3, &v, &d), NX_OK);
    uint32_t turned = nxt_node(g, NXG_copy, 1, (const uint32_t[]){nxt_view(g, e, &v)}, 0, NULL, 0);
    for (size_t i = 0; i < COUNT(shapes); i++) {
      nxg_view r;
      nxg_view_contiguous(&r, 3, shapes[i]);
      uint32_t other = nxt_view(g, turned, &r), plain = nxt_view(g, e, &r);
      keep(g, nxt_node(g, NXG_add, 2, (const uint32_t[]){other, plain}, 0, NULL, 0));
      keep(g, reduce(g, NXG_reduce_sum, other, 1 + (int64_t)i % 7, false));
    }
    nxt_compare(shop, g, "reshape after permute", NXT_LLVM | NXT_INTERPRETED | turn(o));
  }
  assert_int_equal(nxt_differences(shop), 0);
}

/* ---- products: $1 rows, $2 inner, $3 columns */

#define PRODUCT(inputs, body) "nxir 2\ngraph @product(" inputs ") -> (%z) {\n " body "}\n"
#define AB                    "%tame0: $T[$1,$2], %tame1: $T[$2,$3]"
static const char *const products[] = {
    PRODUCT(AB, "%z = matmul %tame0, %tame1\n"),
    PRODUCT(AB ", %tame2: $T[$3]", "%p = matmul %tame0, %tame1\n %z = add %p, %tame2\n"),
    PRODUCT(AB ", %tame2: $T[$3]", "%p = matmul %tame0, %tame1\n %b = add %p, %tame2\n %o = full 0 "
                                   ": $T[]\n %z = max %b, %o\n"),
    PRODUCT("%tame0: $T[$2,$1], %tame1: $T[$2,$3]",
            "%a = permute %tame0 axes=[1,0]\n %z = matmul %a, %tame1\n"),
    PRODUCT("%tame0: $T[$1,$2], %tame1: $T[$3,$2]",
            "%b = permute %tame1 axes=[1,0]\n %p = matmul %tame0, %b\n %z = neg %p\n"),
    PRODUCT(
        "%tame0: $T[$2,$1], %tame1: $T[$3,$2]",
        "%a = permute %tame0 axes=[1,0]\n %b = permute %tame1 axes=[1,0]\n %z = matmul %a, %b\n"),
    PRODUCT("%tame0: $T[3,$1,$2], %tame1: $T[3,$2,$3]", "%z = matmul %tame0, %tame1\n"),
    PRODUCT("%tame0: $T[2,3,$1,$2], %tame1: $T[3,$2,$3]", "%z = matmul %tame0, %tame1\n"),
    PRODUCT("%tame0: $T[2,1,$1,$2], %tame1: $T[1,3,$2,$3]",
            "%p = matmul %tame0, %tame1\n %z = add %p, %p\n"),
    PRODUCT("%tame0: $T[3,$1,$2], %tame1: $T[$2,$3]",
            "%b = flip %tame1 axes=[0]\n %z = matmul %tame0, %b\n"),
    PRODUCT("%tame0: $T[$1,$2], %tame1: $T[$2,$3]",
            "%a = flip %tame0 axes=[1]\n %b = flip %tame1 axes=[1]\n %z = matmul %a, %b\n"),
    PRODUCT("%tame0: $T[$1,1], %tame1: $T[1,$3]", "%a = expand %tame0 shape=[$1,$2]\n %b = expand "
                                                  "%tame1 shape=[$2,$3]\n %z = matmul %a, %b\n"),
    PRODUCT("%tame0: $T[$4,$5], %tame1: $T[$2,$3]",
            "%a = slice %tame0 start=[1,0] count=[$1,$2] step=[1,2]\n %z = matmul %a, %tame1\n"),
    PRODUCT("%tame0: $T[$4,$5], %tame1: $T[$2,$3]",
            "%a = shrink %tame0 start=[1,0] stop=[$4,$2]\n %z = matmul %a, %tame1\n"),
    PRODUCT("%tame0: $T[$1,2,$2], %tame1: $T[$2,2,$3]",
            "%a = permute %tame0 axes=[1,0,2]\n %b = permute %tame1 axes=[1,0,2]\n %p = matmul %a, "
            "%b\n %z = permute %p axes=[1,0,2]\n"),
    PRODUCT(AB, "%a = neg %tame0\n %b = abs %tame1\n %p = matmul %a, %b\n %m = reduce_max %p "
                "axes=[1]\n %z = neg %m\n"),
};

static void all_products(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {{1, 1, 1},    {5, 7, 3},    {17, 16, 31},  {32, 32, 32},
                                     {3, 0, 4},    {33, 40, 65}, {130, 70, 50}, {1, 100, 77},
                                     {90, 257, 1}, {2, 1, 100}};
  static const nx_dtype types[] = {NX_F32, NX_F64, NX_BF16, NX_F16, NX_I32, NX_U8, NX_I64, NX_I16};
  for (size_t k = 0; k < COUNT(sizes); k++)
    for (size_t i = 0; i < COUNT(products); i++) {
      int64_t m = sizes[k][0], inner = sizes[k][1], n = sizes[k][2];
      const int64_t numbers[9] = {m, inner, n, m + 1, 2 * inner};
      nx_dtype t = i == 0 ? NX_F32 : types[(i + 3 * k) % COUNT(types)];
      char label[80];
      snprintf(label, sizeof label, "product %zu, %s %lld x %lld x %lld", i, nxi_dtypes[t].name,
               (long long)m, (long long)inner, (long long)n);
      nxt_compare(shop, nxt_parse(products[i], t, numbers), label,
                  NXT_LLVM | NXT_LOGICAL | turn(i + k));
    }
  assert_int_equal(nxt_differences(shop), 0);
}

/* Products whose own value is wanted beside what follows them: that may not be written over
 * them. */
static void products_that_others_read(void **state) {
  (void)state;
  static const char *const texts[] = {
      "nxir 2\ngraph @product(" AB ", %tame2: $T[$3]) -> (%p, %z) {\n %p = matmul %tame0, %tame1\n"
      " %z = add %p, %tame2\n}\n",
      "nxir 2\ngraph @product(" AB ", %tame2: $T[$3]) -> (%z, %w) {\n %p = matmul %tame0, %tame1\n"
      " %z = add %p, %tame2\n %t = permute %p axes=[1,0]\n %w = neg %t\n}\n"};
  static const int64_t sizes[][3] = {{33, 40, 65}, {130, 70, 50}};
  static const nx_dtype types[] = {NX_F32, NX_F64, NX_BF16};
  for (size_t i = 0; i < COUNT(texts); i++)
    for (size_t k = 0; k < COUNT(sizes); k++)
      for (size_t t = 0; t < COUNT(types); t++)
        nxt_compare(shop, nxt_parse(texts[i], types[t], sizes[k]), "product that others read",
                    NXT_LLVM | NXT_LOGICAL);
  assert_int_equal(nxt_differences(shop), 0);
}

/* ---- updates: a.. are overwritten in place where that is right */

static const char *const updates[] = {
    "%u = update %x, %v offset=1 shape=[$1] strides=[2] -> %u",
    "%u = update %x, %v offset=0 shape=[$1] strides=[1] | %s = add %x, %x -> %u, %s",
    "%n = neg %v | %u = update %x, %n offset=$2 shape=[$1] strides=[-2] | %w = neg %u -> %u, %w",
    "%r = slice %x start=[0] count=[$1] step=[1] | %n = add %r, %v | %u = update %x, %n offset=0 "
    "shape=[$1] strides=[1] -> %u",
    "%r = slice %x start=[1] count=[$1] step=[1] | %n = add %r, %v | %u = update %x, %n offset=0 "
    "shape=[$1] strides=[1] -> %u",
    "%r = slice %x start=[0] count=[$1] step=[1] | %n = max %r, %v | %u = update %x, %n offset=1 "
    "shape=[$1] strides=[1] -> %u",
    "%f = flip %x axes=[0] | %u = update %x, %f offset=0 shape=[$3] strides=[1] -> %u",
    "%r = slice %x start=[0] count=[$1] step=[2] | %u = update %x, %r offset=1 shape=[$1] "
    "strides=[2] | %q = update %u, %v offset=0 shape=[$1] strides=[1] -> %q",
    "%u = update %x, %v offset=0 shape=[$1] strides=[1] | %m = reduce_max %x axes=[0] | %k = "
    "reduce_max %u axes=[0] -> %u, %m, %k",
    "%s = reduce_max %x axes=[0] keepdims | %e = expand %s shape=[$3] | %n = sub %x, %e | %u = "
    "update %x, %n offset=0 shape=[$3] strides=[1] -> %u",
    "%u = update %x, %x offset=0 shape=[$3] strides=[1] -> %u, %x",
    "%c = copy %x | %u = update %c, %v offset=3 shape=[$1] strides=[1] -> %u, %x",
    "%o = full 1 : $T[$3] | %u = update %o, %v offset=3 shape=[$1] strides=[1] -> %u",
    "%a = reshape %v shape=[2,$4] | %u = update %x, %a offset=1 shape=[2,$4] strides=[1,2] -> %u",
};

/* "a | b -> %u" as a graph. */
static nxg_graph *make_update(const char *line, bool overwrite, nx_dtype t,
                              const int64_t *numbers) {
  char text[1024], body[768];
  const char *arrow = strstr(line, "->");
  snprintf(body, sizeof body, "%.*s", (int)(arrow - line), line);
  for (char *p = body; *p != 0; p++) *p = *p == '|' ? '\n' : *p;
  snprintf(text, sizeof text,
           "nxir 2\ngraph @update(%%x: $T[$3]%s, %%v: $T[$1]) -> (%s) {\n%s\n}\n",
           overwrite ? " overwrite" : "", arrow + 2, body);
  return nxt_parse(text, t, numbers);
}

static void updates_in_place_and_not(void **state) {
  (void)state;
  static const int64_t sizes[] = {2, 16, 34, 1000, 40000};
  for (size_t k = 0; k < COUNT(sizes); k++)
    for (size_t i = 0; i < COUNT(updates); i++)
      for (int overwrite = 0; overwrite < 2; overwrite++) {
        int64_t n = sizes[k];
        const int64_t numbers[9] = {n, 2 * n + 2, 2 * n + 3, n / 2};
        nx_dtype t = dtypes[(i + k) % (DTYPES - 1)];
        char label[64];
        snprintf(label, sizeof label, "update %zu%s, %s %lld", i, overwrite ? " in place" : "",
                 nxi_dtypes[t].name, (long long)n);
        nxt_compare(shop, make_update(updates[i], overwrite, t, numbers), label,
                    NXT_LLVM | NXT_INTERPRETED | turn(i + k));
      }
  assert_int_equal(nxt_differences(shop), 0);
}

/* ---- the harness itself: a wrong result must be seen */

static void the_harness_sees_a_difference(void **state) {
  (void)state;
  nxt_compare(shop, NULL, "(no graph, expected)", NXT_LLVM);
  assert_int_equal(nxt_differences(shop), 1);
  assert_int_equal(nxt_differences(shop), 0);
}

NXT_MAIN(shapes) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_set_of_axes),
      cmocka_unit_test(long_runs),
      cmocka_unit_test(first_of_the_best),
      cmocka_unit_test(moves_with_guards),
      cmocka_unit_test(reshapes_after_permutes),
      cmocka_unit_test(all_products),
      cmocka_unit_test(products_that_others_read),
      cmocka_unit_test(updates_in_place_and_not),
      cmocka_unit_test(the_harness_sees_a_difference),
  };
  return cmocka_run_group_tests(tests, open_shop, close_shop);
}
