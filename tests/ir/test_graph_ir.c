/* SPDX-License-Identifier: ISC */
/* Tests of the graph IR as text: what is printed parses back to the same bytes, what is malformed
 * or ill-typed is refused with its place and a sentence, hostile text does no harm, exhausted
 * memory is an error, and a chain of a million nodes is a graph like any other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/graph/graph.h"
#include "tests/util/runner.h"

static nxg_graph *parse(const char *text) {
  nxg_graph *g = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxg_parse(text, strlen(text), &g, &d))
    fail_msg("%d:%d: %s\n%s", d.line, d.column, d.message, text);
  return g;
}

static char *print(const nxg_graph *g) {
  nxi_text t = {0};
  nxg_print(g, &t);
  assert_false(t.failed);
  return t.data;
}

static void check_verifies(const nxg_graph *g) {
  nxi_text t = {0};
  if (!nxg_verify(g, &t)) fail_msg("%s", t.data);
  nxi_text_free(&t);
}

/* text -> graph -> first print -> graph -> second print: both prints are equal. Returns the
 * print. */
static char *check_round_trip(const char *text) {
  nxg_graph *g = parse(text);
  check_verifies(g);
  char *first = print(g);
  nxg_destroy(g);
  g = parse(first);
  check_verifies(g);
  char *second = print(g);
  nxg_destroy(g);
  assert_string_equal(first, second);
  nxi_free(second);
  return first;
}

#define HEAD "nxir 2\ngraph @g(%x: f32[4,5], %b: bool[4,5], %i: i32[5], %m: f32[5,3]) -> (%y) {\n"

static const char softmax[] = "nxir 2\n"
                              "graph @softmax(%x: f32[4096,1024]) -> (%y) {\n"
                              "  %m = reduce_max %x axes=[1] keepdims : f32[4096,1]\n"
                              "  %0 = expand %m : f32[4096,1024]\n"
                              "  %d = sub %x, %0 : f32[4096,1024]\n"
                              "  %e = exp %d : f32[4096,1024]\n"
                              "  %s = reduce_sum %e axes=[1] keepdims : f32[4096,1]\n"
                              "  %1 = expand %s : f32[4096,1024]\n"
                              "  %y = div %e, %1 : f32[4096,1024]\n"
                              "}\n";

/* Every operation and movement word, as the printer writes them. */
static const char everything[] =
    "nxir 2\n"
    "graph @every.thing(%x: f32[4,6] overwrite aligned alias=0, %1: f32[4,6] alias=0 tag=7 "
    "note=\"a \\\"b\\\" \\x01\", %c: bool[4,6], %i: i32[4,6],"
    " %k: u32[4,2], %old: f32[50], %win: f32[20]) -> (%n, %n as twice, %mm, %t3, %u2) {\n"
    "  %n = neg %x : f32[4,6]\n"
    "  %w = where %c, %x, %1 : f32[4,6] tag=18446744073709551615\n"
    "  %q = cast %x : i8[4,6]\n"
    "  %r = bitcast %x : i32[4,6]\n"
    "  %cmp = cmplt %i, %r : bool[4,6]\n"
    "  %f0 = full 0.1 : f32[]\n"
    "  %f1 = full -0 : f64[2]\n"
    "  %f2 = full nan : bf16[]\n"
    "  %f3 = full nan:0x7fc00001 : f32[3]\n"
    "  %f4 = full -inf : f16[]\n"
    "  %f5 = full -9223372036854775808 : i64[]\n"
    "  %f6 = full 18446744073709551615 : u64[]\n"
    "  %f7 = full true : bool[0]\n"
    "  %f8 = full param 3 : f32[]\n"
    "  %ar = arange start=-1.5 step=0.25 : f64[7]\n"
    "  %ey = eye k=-2 : i16[3,4]\n"
    "  %s0 = reduce_sum %x axes=[] : f32[4,6]\n"
    "  %s1 = reduce_prod %x axes=[0,1] keepdims : f32[1,1]\n"
    "  %s2 = argmax %x axis=1 : i32[4]\n"
    "  %p = pad %x value=0.5 before=[1,0] after=[0,2] : f32[5,8]\n"
    "  %ca = cat %x, %1, %n axis=0 : f32[12,6]\n"
    "  %cp = copy %ca : f32[12,6]\n"
    "  %v0 = expand %f0 : f32[2,3]\n"
    "  %v1 = reshape %x : f32[2,12]\n"
    "  %v2 = permute %x axes=[1,0] : f32[6,4]\n"
    "  %v3 = shrink %x start=[1,2] stop=[3,6] : f32[2,4]\n"
    "  %v4 = flip %x axes=[0] : f32[4,6]\n"
    "  %v5 = slice %x start=[3,1] count=[2,2] step=[-2,3] : f32[2,2]\n"
    "  %v6 = as_strided %x strides=[1,1] offset=2 : f32[3,3]\n"
    "  %v7 = view %v6 strides=[3,-1] offset=2 : f32[3,3]\n"
    "  %v8 = view %x strides=[6,1] offset=0 : f32[4,6]\n"
    "  %v9 = shrink %x start=[0,0] stop=[0,6] : f32[0,6]\n"
    "  %u1 = update %old, %x offset=5 shape=[4,6] strides=[10,-1] : f32[50]\n"
    "  %u2 = update %old, %v5, %win offset=0 shape=[2,2] strides=[2,7] : f32[50]\n"
    "  %t3 = threefry %k, %k : u32[4,2]\n"
    "  %mm = matmul %x, %v2 : f32[4,4]\n"
    "}\n";

static void test_exact_text(void **state) {
  (void)state;
  char *printed = check_round_trip(everything);
  assert_string_equal(printed, everything);
  nxi_free(printed);
}

static void test_softmax(void **state) {
  (void)state;
  const char *short_form = "; a comment\n\nnxir 2 ; and another\n"
                           "graph @softmax(\n  %x: f32[4096,1024]) ->\n (%y)\n{\n"
                           "%m = reduce_max %x axes=[-1] keepdims\n\t%d=sub %x,%m\r\n"
                           "  %e = exp %d : f32[ 4096 , 1024 ]\n %s = reduce_sum keepdims=no %e\n";
  nxg_graph *g = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  assert_int_equal(nxg_parse(short_form, strlen(short_form), &g, &d),
                   NX_PARSE); /* the last line's operand is in the wrong place */
  assert_int_equal(d.line, 11);
  const char *good = "; a comment\n\nnxir 2 ; and another\n"
                     "graph @softmax(\n  %x: f32[4096,1024]) ->\n (%y)\n{\n"
                     "%m = reduce_max %x axes=[-1] keepdims\n\t%d=sub %x,%m\r\n"
                     "  %e = exp %d : f32[ 4096 , 1024 ]\n %s = reduce_sum %e keepdims axes=[1]; "
                     "sums\n%y = div %e, %s }\n\n; the end";
  char *printed = check_round_trip(good);
  char *expected = check_round_trip(softmax);
  assert_non_null(strstr(printed, "%d = sub %x, %"));
  assert_int_equal(strlen(printed), strlen(expected));
  nxi_free(printed);
  nxi_free(expected);
}

/* Movement words compose: through a view, not of its copy. */
static void test_composition(void **state) {
  (void)state;
  nxg_graph *g =
      parse("nxir 2\ngraph @g(%x: f32[4,6]) -> (%s, %w, %same, %k, %c) {\n"
            "  %p = permute %x axes=[1,0]\n  %s = shrink %p start=[1,2] stop=[3,4]\n"
            "  %w = as_strided %s strides=[1] offset=20 : f32[4]\n  %same = permute %p axes=[1,0]\n"
            "  %k = contiguous %x\n  %c = contiguous %p\n}\n");
  const nxg_node *s = &g->nodes[g->outputs[0].node];
  assert_int_equal(s->op, NXG_view);
  assert_int_equal(s->args[0], g->inputs[0].node);
  assert_int_equal(s->attrs[0], 13);
  assert_int_equal(s->attrs[1], 1);
  assert_int_equal(s->attrs[2], 6);
  assert_int_equal(g->nodes[g->outputs[1].node].args[0], g->inputs[0].node);
  assert_int_equal(g->outputs[2].node, g->inputs[0].node);
  assert_string_equal(g->outputs[2].name, "same");
  assert_int_equal(g->outputs[3].node, g->inputs[0].node);
  assert_int_equal(g->nodes[g->outputs[4].node].op, NXG_copy);
  nxg_destroy(g);
}

/* Names that are unusable or taken, inputs that do not come first, and everything a program may
 * build. */
static void test_print_built(void **state) {
  (void)state;
  nxg_graph *g = nxg_create("a name, with blanks");
  int64_t shape[2] = {2, 3}, scalar[2] = {0x3fc00000, -1}, transpose[3] = {0, 1, 3},
          turned[2] = {3, 2}, raw[3] = {1, 0, 2};
  uint32_t f = nxg_add(g, NXG_full, 0, NULL, scalar, 2, NX_F32, 0, NULL);
  uint32_t x = nxg_add_input(g, NX_F32, 2, shape, 0, -1, "not a name");
  uint32_t n = nxg_add(g, NXG_neg, 1, &x, NULL, 0, NX_F32, 2, shape);
  uint32_t v = nxg_add(g, NXG_view, 1, &n, transpose, 3, NX_F32, 2, turned);
  uint32_t vv = nxg_add(g, NXG_view, 1, &v, raw, 3, NX_F32, 2, turned);
  g->nodes[n].name = g->nodes[v].name = "twin";
  g->nodes[f].name = "12";
  nxg_add_output(g, vv, "7up");
  nxg_add_output(g, f, "f");
  check_verifies(g);
  char *first = print(g), *second = check_round_trip(first);
  assert_string_equal(first, second);
  assert_non_null(strstr(first, "graph @a_name__with_blanks(%0: f32[2,3]) -> (%4, %1 as f) {"));
  assert_non_null(strstr(first, "%3 = permute %twin"));
  assert_non_null(strstr(first, "%4 = view %3 strides=[0,2] offset=1 : f32[3,2]"));
  nxi_free(first);
  nxi_free(second);
  nxg_destroy(g);
}

static void test_scalars(void **state) {
  (void)state;
  uint64_t random = 2463534242u;
  nxg_graph *g = nxg_create("scalars");
  for (int i = 0; i < 4000; i++) {
    static const nx_dtype types[] = {NX_F16, NX_BF16, NX_F32,    NX_F64,    NX_I8, NX_U16,
                                     NX_I64, NX_U64,  NX_F8E4M3, NX_F8E5M2, NX_I4, NX_U4};
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    nx_dtype t = types[i % 12];
    int64_t attrs[2] = {(int64_t)(random >> (64 - nxi_dtypes[t].bits)), -1};
    if (i % 3 == 0)
      attrs[0] &= (int64_t)(UINT64_MAX << (nxi_dtypes[t].bits / 2)) &
                  (int64_t)(UINT64_MAX >> (64 - nxi_dtypes[t].bits));
    nxg_add_output(g, nxg_add(g, NXG_full, 0, NULL, attrs, 2, t, 0, NULL), NULL);
  }
  check_verifies(g);
  char *text = print(g);
  nxg_graph *again = parse(text);
  for (uint32_t i = 0; i < g->n_nodes; i++)
    assert_int_equal(again->nodes[i].attrs[0], g->nodes[i].attrs[0]);
  nxi_free(text);
  nxg_destroy(g);
  nxg_destroy(again);
}

/* ---- refusals */

typedef struct refusal {
  nx_status status;
  int line, column;
  const char *words, *text;
} refusal;

#define STATEMENT(...) HEAD "  " __VA_ARGS__ "\n  %y = neg %x\n}\n"
static const refusal refusals[] = {
    {NX_PARSE, 1, 1, "does not start with its version", ""},
    {NX_PARSE, 1, 6, "version 3 of the text is unknown", "nxir 3\n"},
    {NX_PARSE, 1, 8, "stands alone", "nxir 2 graph"},
    {NX_PARSE, 2, 1, "a graph is expected", "nxir 2\nkernel"},
    {NX_PARSE, 2, 7, "'@' is missing", "nxir 2\ngraph g"},
    {NX_PARSE, 2, 10, "'%' is missing", "nxir 2\ngraph @g(f32[3])"},
    {NX_PARSE, 2, 14, "q32 is no element type", "nxir 2\ngraph @g(%x: q32[3]) -> () {\n}"},
    {NX_UNSUPPORTED_DTYPE, 3, 12, "operand 0 has dtype c32",
     "nxir 2\ngraph @g(%x: c32[3]) -> () {\n  %y = fft %x axes=[0]\n}"},
    {NX_INVALID_ARGUMENT, 2, 14, "extent 0 of the shape [-3] is negative",
     "nxir 2\ngraph @g(%x: f32[-3]) -> () {\n}"},
    {NX_INVALID_ARGUMENT, 2, 14, "does not fit in 63 bits",
     "nxir 2\ngraph @g(%x: f32[4294967296,4294967296]) -> () {\n}"},
    {NX_PARSE, 2, 21, "is defined twice", "nxir 2\ngraph @g(%x: f32[], %x: f32[]) -> () {\n}"},
    {NX_PARSE, 2, 21, "an input has no attribute shiny",
     "nxir 2\ngraph @g(%x: f32[3] shiny) -> () {\n}"},
    {NX_PARSE, 2, 16, "%z is not defined", "nxir 2\ngraph @g() -> (%z) {\n}\n"},
    {NX_PARSE, 3, 1, "ends before the graph does", "nxir 2\ngraph @g() -> () {\n"},
    {NX_PARSE, 4, 1, "text follows the graph", "nxir 2\ngraph @g() -> () {\n}\nnxir"},
    {NX_PARSE, 3, 8, "there is no operation frobnicate", STATEMENT("%a = frobnicate %x")},
    {NX_PARSE, 3, 8, "there is no operation input", STATEMENT("%a = input")},
    {NX_PARSE, 3, 8, "there is no operation reduce_smu; did you mean reduce_sum?",
     STATEMENT("%a = reduce_smu %x axes=[0]")},
    {NX_PARSE, 3, 8, "there is no operation multiply; here it is mul",
     STATEMENT("%a = multiply %x, %x")},
    {NX_PARSE, 3, 8, "there is no operation 2.5; a number is a node: %n = full 2.5 : f32[]",
     STATEMENT("%a = 2.5")},
    {NX_PARSE, 3, 16, "missing after the comma; a number is a node: %n = full 2 : f32[]",
     STATEMENT("%a = mul %x, 2")},
    {NX_PARSE, 3, 12, "there is no attribute 2; a number is a node: %n = full 2 : f32[]",
     STATEMENT("%a = mul 2, %x")},
    {NX_PARSE, 3, 22, "there is no attribute keepdim; did you mean keepdims?",
     STATEMENT("%a = reduce_sum %x keepdim")},
    {NX_PARSE, 3, 15, "is expected here; a remark begins with a semicolon",
     STATEMENT("%a = neg %x # what")},
    {NX_PARSE, 3, 3, "a remark begins with a semicolon", STATEMENT("// what")},
    {NX_PARSE, 3, 11, "operands stand without parentheses: exp %x", STATEMENT("%a = exp(%x)")},
    {NX_PARSE, 3, 27, "lists stand in [ ]", STATEMENT("%a = reduce_sum %x axes=(0)")},
    {NX_PARSE, 3, 18, "no '=' belongs here: full 1", STATEMENT("%a = full value=3 : f32[]")},
    {NX_PARSE, 3, 15, "here; operands are separated by commas", STATEMENT("%a = add %x %x")},
    {NX_PARSE, 3, 12, "no attribute x; the name of an operand begins with %",
     STATEMENT("%a = exp x")},
    {NX_PARSE, 3, 27, "reduce_sum has no attribute axis; it has axes, keepdims",
     STATEMENT("%a = reduce_sum %x axis=1")},
    {NX_PARSE, 2, 14, "float32 is no element type; here it is f32",
     "nxir 2\ngraph @g(%x: float32[3]) -> () {\n}"},
    {NX_PARSE, 2, 14, "bf61 is no element type; did you mean bf16?",
     "nxir 2\ngraph @g(%x: bf61[3]) -> () {\n}"},
    {NX_PARSE, 3, 12, "%u is not defined", STATEMENT("%a = neg %u")},
    {NX_PARSE, 3, 12, "%a is not defined", STATEMENT("%a = neg %a")},
    {NX_PARSE, 3, 3, "%x is defined twice", STATEMENT("%x = neg %x")},
    {NX_PARSE, 3, 15, "there is no attribute color", STATEMENT("%a = neg %x color=3")},
    {NX_PARSE, 3, 15, "neg has no attribute axes", STATEMENT("%a = neg %x axes=[0]")},
    {NX_PARSE, 3, 31, "the attribute axes is given twice",
     STATEMENT("%a = reduce_sum %x axes=[0] axes=[1]")},
    {NX_PARSE, 3, 8, "reduce_sum needs the attribute axes", STATEMENT("%a = reduce_sum %x")},
    {NX_PARSE, 3, 17, "the result of neg has type f32[4,5], but f32[5,4] is written",
     STATEMENT("%a = neg %x : f32[5,4]")},
    {NX_PARSE, 3, 17, "but f64[4,5] is written", STATEMENT("%a = neg %x : f64[4,5]")},
    {NX_INVALID_ARGUMENT, 3, 8, "add: it has 1 operands where 2 are wanted",
     STATEMENT("%a = add %x")},
    {NX_INVALID_ARGUMENT, 3, 8, "neg: it has 2 operands where 1 are wanted",
     STATEMENT("%a = neg %x, %x")},
    {NX_INVALID_ARGUMENT, 3, 8, "add: the shapes [4,5] and [5,3] do not broadcast",
     STATEMENT("%a = add %x, %m")},
    {NX_INVALID_ARGUMENT, 3, 16, "add: operand 1 has dtype i32, operand 0 has f32",
     STATEMENT("%a = add %x, %i")},
    {NX_UNSUPPORTED_DTYPE, 3, 12,
     "sub: operand 0 has dtype bool, but sub takes integers, floats and complex numbers: cast it "
     "first; bools have `xor`",
     STATEMENT("%a = sub %b, %b")},
    {NX_UNSUPPORTED_DTYPE, 3, 12, "exp: operand 0 has dtype i32", STATEMENT("%a = exp %i")},
    {NX_UNSUPPORTED_DTYPE, 3, 12, "and: operand 0 has dtype f32", STATEMENT("%a = and %x, %x")},
    {NX_UNSUPPORTED_DTYPE, 3, 14, "where: the condition (operand 0) has dtype f32",
     STATEMENT("%a = where %x, %x, %x")},
    {NX_INVALID_ARGUMENT, 3, 22, "where: operand 2 has dtype i32, operand 1 has f32",
     STATEMENT("%a = where %b, %x, %i")},
    {NX_INVALID_ARGUMENT, 3, 8, "axis 2 is out of range for rank 2",
     STATEMENT("%a = reduce_sum %x axes=[2]")},
    {NX_INVALID_ARGUMENT, 3, 8, "axis -1 is given twice",
     STATEMENT("%a = reduce_sum %x axes=[1,-1]")},
    {NX_INVALID_ARGUMENT, 3, 8, "argmax: axis 9 is out of range for rank 2",
     STATEMENT("%a = argmax %x axis=9")},
    {NX_INVALID_ARGUMENT, 4, 8,
     "reduce_max: it has no value over the empty axes of the shape [0,5]",
     STATEMENT("%e = shrink %x start=[0,0] stop=[0,5]\n  %a = reduce_max %e axes=[0]")},
    {NX_INVALID_ARGUMENT, 4, 8, "argmin: it has no value",
     STATEMENT("%e = shrink %x start=[0,0] stop=[0,5]\n  %a = argmin %e axis=0")},
    {NX_INVALID_ARGUMENT, 4, 8, "more than an i32 can number",
     STATEMENT("%e = full 1 : i8[2147483648]\n  %a = argmax %e axis=0")},
    {NX_PARSE, 3, 8, "cast needs its type", STATEMENT("%a = cast %x")},
    {NX_INVALID_ARGUMENT, 3, 8, "bitcast: f32 and f64 differ in size",
     STATEMENT("%a = bitcast %x : f64[4,5]")},
    {NX_PARSE, 3, 13, "the i8 scalar 300", STATEMENT("%a = full 300 : i8[]")},
    {NX_PARSE, 3, 13, "the f32 scalar zero", STATEMENT("%a = full zero : f32[]")},
    {NX_PARSE, 3, 13, "a scalar is missing", STATEMENT("%a = full : f32[]")},
    {NX_PARSE, 3, 8, "full needs its type", STATEMENT("%a = full 1")},
    {NX_PARSE, 3, 19, "there is no parameter 1000000",
     STATEMENT("%a = full param 1000000 : f32[]")},
    {NX_INVALID_ARGUMENT, 3, 8, "arange: the shape [2,2] is not of rank 1",
     STATEMENT("%a = arange : f32[2,2]")},
    {NX_UNSUPPORTED_DTYPE, 3, 12,
     "neg: operand 0 has dtype bool, but neg takes integers, floats and complex numbers: cast it "
     "first; bools have `xor`",
     STATEMENT("%a = neg %b")},
    {NX_INVALID_ARGUMENT, 3, 8, "reshape: the operand of shape [4,5] cannot become [3]",
     STATEMENT("%a = reshape %x shape=[3]")},
    {NX_NEEDS_COPY, 4, 8, "reshape: the operand of shape [5,4] cannot become [20]",
     STATEMENT("%p = permute %x axes=[1,0]\n  %a = reshape %p : f32[20]")},
    {NX_INVALID_ARGUMENT, 3, 8, "expand: the operand of shape [4,5] cannot become [2,5]",
     STATEMENT("%a = expand %x : f32[2,5]")},
    {NX_INDEX_OUT_OF_RANGE, 3, 8, "shrink: 0 .. 9 is not a range of axis 1 of the shape [4,5]",
     STATEMENT("%a = shrink %x start=[0,0] stop=[4,9]")},
    {NX_INVALID_ARGUMENT, 3, 8, "leaves the storage of shape [20]",
     STATEMENT("%a = as_strided %x strides=[20] : f32[2]")},
    {NX_PARSE, 3, 23, "has 1 entries where rank 2 is wanted",
     STATEMENT("%a = pad %x value=0 before=[0] after=[0,0]")},
    {NX_INVALID_ARGUMENT, 3, 8, "neither may be negative",
     STATEMENT("%a = pad %x before=[0,-1] after=[0,0]")},
    {NX_INVALID_ARGUMENT, 3, 8, "longer than 63 bits",
     STATEMENT("%a = pad %x before=[0,9223372036854775807] after=[0,0]")},
    {NX_INVALID_ARGUMENT, 3, 16,
     "cat: operand 1 of shape [5,3] does not go with operand 0 of shape [4,5]",
     STATEMENT("%a = cat %x, %m axis=0")},
    {NX_INVALID_ARGUMENT, 3, 8, "cat: it has no operands", STATEMENT("%a = cat axis=0")},
    {NX_INVALID_ARGUMENT, 3, 19, "the inner extents differ", STATEMENT("%a = matmul %x, %x")},
    {NX_INVALID_ARGUMENT, 3, 19, "both need two dimensions", STATEMENT("%a = matmul %i, %i")},
    {NX_UNSUPPORTED_DTYPE, 3, 17, "threefry: operand 0 has dtype f32",
     STATEMENT("%a = threefry %x, %x")},
    {NX_INVALID_ARGUMENT, 3, 8, "threefry: the last axis of the shape [5] is not of size 2",
     STATEMENT("%a = threefry %i, %i")},
    {NX_INVALID_ARGUMENT, 3, 8, "maps two indices to one element",
     STATEMENT("%a = update %x, %x shape=[4,5] strides=[3,1]")},
    {NX_INVALID_ARGUMENT, 3, 8, "leaves the storage",
     STATEMENT("%a = update %x, %x offset=1 shape=[4,5] strides=[5,1]")},
    {NX_PARSE, 4, 23, "operand 2 is not an input",
     STATEMENT("%z = neg %x\n  %a = update %x, %x, %z shape=[4,5] strides=[5,1]")},
    {NX_PARSE, 3, 90, "more than 32 entries",
     STATEMENT("%a = reshape %x "
               "shape=[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]")},
    {NX_PARSE, 3, 4, "is longer than 63 characters",
     STATEMENT(
         "%aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa = neg %x")},
    {NX_PARSE, 3, 26, "is no integer of 64 bits",
     STATEMENT("%a = reshape %x shape=[99999999999999999999]")},
};

static void test_refusals(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    const refusal *r = &refusals[i];
    nxg_graph *g = (nxg_graph *)&g; /* stays what it is when the text is refused */
    nxi_diag d;
    nxi_diag_clear(&d);
    nx_status status = nxg_parse(r->text, strlen(r->text), &g, &d);
    if (status != r->status || d.status != status || d.line != r->line || d.column != r->column ||
        !strstr(d.message, r->words))
      fail_msg("%s\nis refused with %s at %d:%d: %s\nnot with %s at %d:%d: %s", r->text,
               nx_status_name(status), d.line, d.column, d.message, nx_status_name(r->status),
               r->line, r->column, r->words);
    assert_ptr_equal(g, (nxg_graph *)&g);
    assert_int_equal(nxg_parse(r->text, strlen(r->text), &g, NULL), r->status);
  }
}

/* ---- hostile text. The copy ends where its memory does, so that the address sanitizer sees a read
 * too many. */

static uint64_t random_state = 88172645463325252u;
static uint32_t next_random(uint32_t below) {
  random_state ^= random_state << 13, random_state ^= random_state >> 7,
      random_state ^= random_state << 17;
  return (uint32_t)(random_state >> 20) % below;
}

/* Accepted or not, the text does no harm; what is accepted is a graph that verifies and
 * round-trips. */
static bool try_text(const char *text, size_t n) {
  char *copy = malloc(n ? n : 1);
  nxg_graph *g = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  assert_non_null(copy);
  memcpy(copy, text, n);
  nx_status status = nxg_parse(copy, n, &g, &d);
  assert_int_equal(status, d.status);
  assert_true(status == NX_OK || (d.line > 0 && d.column > 0 && d.message[0]));
  if (!status) {
    check_verifies(g);
    char *printed = print(g);
    nxi_free(check_round_trip(printed));
    nxi_free(printed);
    nxg_destroy(g);
  }
  free(copy);
  return status == NX_OK;
}

static void test_truncated(void **state) {
  (void)state;
  for (size_t n = 0; n < sizeof everything - 1; n++)
    assert_int_equal(try_text(everything, n), n == sizeof everything - 2);
}

static void test_mutated(void **state) {
  (void)state;
  static const char *const pieces[] = {"[",
                                       "]",
                                       ",",
                                       "%",
                                       "99999999999999999999",
                                       "-1",
                                       "4611686018427387904",
                                       ":",
                                       "=",
                                       "%x",
                                       "f64[]",
                                       "\n",
                                       " ",
                                       "axes=[0]",
                                       "keepdims",
                                       "view ",
                                       "\"",
                                       "\\x",
                                       "nan:0x",
                                       ";",
                                       "}",
                                       "32",
                                       "0"};
  int accepted = 0;
  for (int trial = 0; trial < 6000; trial++) {
    char text[sizeof everything + 256];
    size_t n = sizeof everything - 1;
    memcpy(text, everything, n);
    for (uint32_t change = 0; change < 1 + next_random(3); change++) {
      size_t at = next_random((uint32_t)n);
      const char *piece = pieces[next_random(sizeof pieces / sizeof *pieces)];
      size_t length = strlen(piece), cut = next_random(4);
      switch (next_random(4)) {
        case 0: text[at] = (char)next_random(256); break;
        case 1: text[at] = text[next_random((uint32_t)n)]; break;
        case 2:
          memmove(text + at + length, text + at, n - at);
          memcpy(text + at, piece, length);
          n += length;
          break;
        default:
          if (cut > n - at) cut = n - at;
          memmove(text + at, text + at + cut, n - at - cut);
          n -= cut;
      }
    }
    accepted += try_text(text, n);
  }
  assert_in_range(accepted, 100, 5900); /* both sides are exercised */
}

/* A short text must not make large tables. */
static void test_modest_memory(void **state) {
  (void)state;
  const char *text = "nxir 2\ngraph @g(%x: f32[1152921504606846975]) -> (%z) {\n%y = reshape %x : "
                     "f32[1,1152921504606846975]\n"
                     "%z = cat %y, %y, %y axis=0\n}\n";
  nxg_graph *g = parse("nxir 2\ngraph @g() -> (%y) {\n %y = full 1 : i8[9223372036854775807]\n}");
  nxg_destroy(g);
  nxi_diag d;
  nxi_diag_clear(&d);
  assert_int_equal(nxg_parse(text, strlen(text), &g, &d), NX_INVALID_ARGUMENT);
  assert_non_null(strstr(d.message, "63 bits"));
}

/* ---- exhausted memory: an error each time, and afterwards all is well */

static void test_no_memory(void **state) {
  (void)state;
  int failures = 0;
  for (int64_t after = 0;; after++) {
    nxg_graph *g = NULL;
    nxi_diag d;
    nxi_text t = {0};
    nxi_diag_clear(&d);
    nxi_alloc_fail(after, after % 2);
    nx_status status = nxg_parse(everything, sizeof everything - 1, &g, &d);
    if (!status) nxg_print(g, &t);
    if (!status && !t.failed) nxg_verify(g, &t);
    nxi_alloc_fail(-1, false);
    bool failed = status || t.failed;
    if (status) assert_int_equal(status, NX_OUT_OF_MEMORY);
    else nxg_destroy(g);
    nxi_text_free(&t);
    failures += failed;
    if (!failed) break;
  }
  assert_in_range(failures, 20, 1000);
  nxi_free(check_round_trip(everything));
}

/* ---- the verifier */

static void test_verifier(void **state) {
  (void)state;
  nxg_graph *g = parse(softmax);
  nxi_text t = {0};
  g->nodes[2].shape[0] = 4097;
  g->nodes[3].args[0] = 5;
  g->nodes[4].op = NXG_full;
  g->outputs[0].node = 99;
  assert_false(nxg_verify(g, &t));
  assert_non_null(strstr(t.data, "; fault: output 0 is no node\n"));
  assert_non_null(strstr(t.data, "f32[4097,1024]\n  ; fault: as_strided: shape [4097,1024]"));
  assert_non_null(
      strstr(t.data, "  ; fault: operand 0 is node 5, which does not come before node 3\n"));
  assert_non_null(strstr(t.data, "%e = full "));
  nxi_text_free(&t);
  assert_false(nxg_verify(g, NULL));
  nxg_destroy(g);
}

/* ---- a chain of a million nodes: linear time, no recursion, a picture of a short one */

static void test_chain(void **state) {
  (void)state;
  enum { LENGTH = 1000000 };
  nxi_text t = {0};
  nxi_text_add(&t, "nxir 2\ngraph @chain(%%x: f32[4]) -> (%%%d) {\n", LENGTH);
  for (int i = 1; i <= LENGTH; i++) {
    if (i == 1) nxi_text_add(&t, "  %%1 = neg %%x : f32[4]\n");
    else nxi_text_add(&t, "  %%%d = add %%%d, %%x : f32[4]\n", i, i - 1);
  }
  nxi_text_add(&t, "}\n");
  nxg_graph *g = parse(t.data);
  assert_int_equal(g->n_nodes, LENGTH + 1);
  assert_true(nxg_verify(g, NULL));
  char *printed = print(g);
  assert_int_equal(strcmp(printed, t.data), 0);
  nxi_free(printed);
  nxg_destroy(g);
  nxi_text_free(&t);
}

static void test_dot(void **state) {
  (void)state;
  nxg_graph *g = parse(softmax);
  nxi_text t = {0};
  nxg_print_dot(g, &t);
  assert_non_null(strstr(t.data, "digraph nx {"));
  assert_non_null(strstr(t.data, "n1 [label=\"%m reduce_max\\nf32[4096,1]\"];"));
  assert_non_null(strstr(t.data, "n1 -> n2;"));
  nxi_text_free(&t);
  nxg_destroy(g);
}

NXT_MAIN(graph_ir) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exact_text),    cmocka_unit_test(test_softmax),
      cmocka_unit_test(test_composition),   cmocka_unit_test(test_print_built),
      cmocka_unit_test(test_scalars),       cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_truncated),     cmocka_unit_test(test_mutated),
      cmocka_unit_test(test_modest_memory), cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_verifier),      cmocka_unit_test(test_chain),
      cmocka_unit_test(test_dot),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
