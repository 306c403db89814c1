/* SPDX-License-Identifier: ISC */
/* Tests of the kernel IR: building, copying, text and verifying, on small kernels made by hand, and
 * what exhausted memory does to each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel_util.h"
#include "tests/util/runner.h"

/* ---- the builder */

static uint32_t count_op(const nxk_kernel *k, nxk_op op) {
  uint32_t n = 0;
  for (uint32_t v = 0; v < k->n_instrs; v++) n += k->instrs[v].op == op;
  return n;
}

static void builder_folds_and_merges(void **state) {
  (void)state;
  nxk_kernel *k = nxk_create(NXK_BOUND, "builder");
  uint32_t in = nxk_add_buffer(k, NXK_IN, NX_F32, 64), out = nxk_add_buffer(k, NXK_OUT, NX_F32, 64);
  nxk_value p = nxk_param(k, nxk_add_param(k, NX_F32));
  nxk_begin_region(k);
  nxk_begin_range(k, NXK_TASK, 1);
  nxk_value two = nxk_const_f(k, NX_F32, 2),
            three = nxk_scalar(k, NXK_add, 0, two, nxk_const_f(k, NX_F32, 1), NXK_NONE);
  assert_int_equal(k->instrs[three].op, NXK_const);
  assert_int_equal(k->instrs[three].imm, nxi_bits_f32(3));
  assert_int_equal(nxk_const_f(k, NX_F32, 3), three);
  assert_int_not_equal(nxk_const_f(k, NX_F64, 3), three);
  nxk_value sum = nxk_scalar(k, NXK_add, 0, p, two, NXK_NONE);
  assert_int_equal(nxk_scalar(k, NXK_add, 0, two, p, NXK_NONE), sum); /* commutative */
  nxk_value difference = nxk_scalar(k, NXK_sub, 0, p, two, NXK_NONE);
  assert_int_not_equal(nxk_scalar(k, NXK_sub, 0, two, p, NXK_NONE), difference);
  assert_int_equal(nxk_param(k, 0), p);
  nxk_value exponential =
      nxk_scalar(k, NXK_exp, 0, two, NXK_NONE, NXK_NONE); /* functions never fold */
  assert_int_equal(k->instrs[exponential].op, NXK_exp);
  assert_int_equal(nxk_cast_to(k, NX_F32, p), p);
  /* a value of a closed block is not found again, one around it is */
  nxk_value i = nxk_begin_range(k, NXK_SEQ, 4);
  nxk_value inside = nxk_scalar(k, NXK_add, 0, i, nxk_const_i(k, NX_I64, 7), NXK_NONE);
  assert_int_equal(nxk_scalar(k, NXK_add, 0, p, two, NXK_NONE), sum);
  nxk_value negative = nxk_scalar(k, NXK_neg, 0, p, NXK_NONE, NXK_NONE);
  assert_int_equal(nxk_scalar(k, NXK_neg, 0, p, NXK_NONE, NXK_NONE), negative);
  nxk_end(k);
  nxk_value again = nxk_scalar(k, NXK_neg, 0, p, NXK_NONE, NXK_NONE);
  assert_int_not_equal(again, negative);
  assert_true(inside < again);
  /* lanes: operands are splatted, constants fold through splats */
  nxk_access a = nxk_access_at(in, 0);
  a.lane_stride = 1;
  nxk_value x = nxk_load(k, &a, 16);
  assert_int_equal(nxk_load(k, &a, 16), x);
  a.offset = 16;
  assert_int_not_equal(nxk_load(k, &a, 16), x);
  nxk_value wide = nxk_scalar(k, NXK_mul, 0, x, two, NXK_NONE);
  assert_int_equal(k->instrs[wide].lanes, 16);
  assert_int_equal(k->instrs[k->instrs[wide].args[1]].op, NXK_splat);
  nxk_value constants = nxk_scalar(k, NXK_mul, 0, nxk_splat(k, two, 16), three, NXK_NONE);
  assert_int_equal(k->instrs[constants].op, NXK_splat);
  assert_int_equal(k->instrs[k->instrs[constants].args[0]].imm, nxi_bits_f32(6));
  /* loads of what may be written are not merged */
  nxk_access o = nxk_access_at(out, 0);
  assert_int_not_equal(nxk_load(k, &o, 1), nxk_load(k, &o, 1));
  nxk_store(k, &o, sum);
  nxk_end(k);
  nxk_end(k);
  assert_false(k->failed);
  assert_verified(k);
  nxk_destroy(k);
}

/* Many equal and unequal values: a table that forgets or scans would show in what it finds, or in
 * time. */
static void builder_numbers_many(void **state) {
  (void)state;
  nxk_kernel *k = nxk_create(NXK_LOGICAL, "many");
  for (int round = 0; round < 2; round++) {
    nxk_begin_region(k);
    nxk_value x = nxk_begin_range(k, NXK_OUTER, 4);
    for (int64_t i = 0; i < 20000; i++) {
      nxk_value c = nxk_const_i(k, NX_I64, i), y = nxk_scalar(k, NXK_add, 0, x, c, NXK_NONE);
      assert_int_equal(nxk_scalar(k, NXK_add, 0, x, nxk_const_i(k, NX_I64, i), NXK_NONE), y);
    }
    nxk_end(k);
    nxk_end(k);
  }
  assert_int_equal(count_op(k, NXK_add), 40000);
  assert_int_equal(count_op(k, NXK_const), 40000);
  assert_verified(k);
  nxk_destroy(k);
}

/* ---- texts */

/* Every structural operation of the bound level. */
static const char *const everything =
    "nxir 2\n"
    "kernel @all bound {\n"
    "  b0: in f32[64]\n"
    "  b1: inout f32[?] aligned restricted\n"
    "  b2: in i64[64]\n"
    "  b3: local f32[256]\n"
    "  b4: local i64[256]\n"
    "  p0: i64\n"
    "  p1: f16\n"
    "  %0 = param i64 p0\n"
    "  %1 = const f32 -0\n"
    "  %2 = const i64 -9223372036854775808\n"
    "  region tasks=p0/16 {\n"
    "    %4 = for task 0..%0 {\n"
    "      %5 = splat f32x16 %1\n"
    "      %6 = step_vector i64x16 %4\n"
    "      %7 = active boolx16 %4, %0\n"
    "      %8 = load f32x16 b0[0] stride=1 mask=%7 else %5\n"
    "      %9 = load f32x16 b0[3 + -1*%4 + idx %6] mask=%7 skips prefetch=32\n"
    "      %10 = for seq 0..%0 step 16 {\n"
    "        %11 = carry f32x16 %5\n"
    "        %12 = carry f32x16 %8\n"
    "        %13 = add f32x16 %11, %12\n"
    "        %14 = lt boolx16 %13, %5\n"
    "        %15 = cold %14 {\n"
    "          %16 = neg f32x16 %13\n"
    "        }\n"
    "        %18 = blend f32x16 %15, %16, %13\n"
    "        next %11, %18\n"
    "        next %12, %11\n"
    "      }\n"
    "      tree_push lanes=16 sum %4, %11, b3[0] stride=1 tree=16\n"
    "      %23 = tree_join f32x16 sum %4, b3[0] stride=1 tree=16\n"
    "      tree_push lanes=16 argmax %4, %11, %6, b3[0] stride=1 tree=16, b4[0] stride=1 tree=16\n"
    "      %25 = tree_join i64x16 argmax %4, b3[0] stride=1 tree=16, b4[0] stride=1 tree=16 "
    "index_part\n"
    "      %26 = lane_reduce f32 sum %23\n"
    "      %27 = lane_reduce i64 argmax %23, %25\n"
    "      store %26, b1[0 + 1*%27]\n"
    "      store lanes=16 %11, b1[0 + 16*%4] stride=1 mask=%7\n"
    "      store lanes=16 %11, b1[0 + 16*%4] stride=1 nontemporal\n"
    "    }\n"
    "  }\n"
    "}\n";

static const char *const constants = "nxir 2\n"
                                     "kernel @constants logical {\n"
                                     "  %0 = const bool true\n"
                                     "  %1 = const i8 -128\n"
                                     "  %2 = const u64 18446744073709551615\n"
                                     "  %3 = const f32 0.1\n"
                                     "  %4 = const f32 16777216\n"
                                     "  %5 = const f32 0x1p-149\n"
                                     "  %6 = const f32 nan\n"
                                     "  %7 = const f32 nan:0xffc00001\n"
                                     "  %8 = const f32 -inf\n"
                                     "  %9 = const f64 0.1\n"
                                     "  %10 = const f64 -0x1.921fb54442d18p1023\n"
                                     "  %11 = const f64 0x1.8p-1073\n"
                                     "  %12 = const f64 3.141592653589793\n"
                                     "  %13 = const f16 65504\n"
                                     "  %14 = const bf16 -0.25\n"
                                     "  %15 = const f16 nan:0x7e01\n"
                                     "  %16 = const i64 -9223372036854775808\n"
                                     "}\n";

static void texts_round_trip(void **state) {
  (void)state;
  const char *const texts[] = {SOFTMAX, everything, constants};
  for (int i = 0; i < 3; i++) {
    nxk_kernel *k = parse(texts[i]), *copy = nxk_clone(k);
    char *printed = text_of(k), *cloned = text_of(copy);
    assert_string_equal(printed, texts[i]);
    assert_string_equal(cloned, texts[i]);
    if (i < 2) assert_verified(k);
    nxi_free(printed);
    nxi_free(cloned);
    nxk_destroy(k);
    nxk_destroy(copy);
  }
}

/* ---- keys: equal exactly if the texts are */

typedef struct change {
  const char *from, *to; /* the first place in `everything`, or in SOFTMAX */
} change;
static const change changes[] = {
    {"@all", "@any"},
    {"b0: in f32[64]", "b0: in f32[65]"},
    {"b0: in f32[64]", "b0: inout f32[64]"},
    {"b0: in f32[64]", "b0: in f32[64] aligned"},
    {"f32[?] aligned restricted", "f32[?] aligned"},
    {"f32[?] aligned restricted", "f64[?] aligned restricted"},
    {"p1: f16", "p1: bf16"},
    {"p1: f16", "p1: f16\n  p2: f16"},
    {"const f32 -0", "const f32 0"},
    {"tasks=p0/16", "tasks=p0/32"},
    {"tasks=p0/16", "tasks=7"},
    {"task 0..%0", "task 0..9"},
    {"splat f32x16 %1", "splat f32x8 %1"},
    {"mask=%7 else %5", "mask=%7"},
    {"b0[0] stride=1", "b0[0] stride=2"},
    {"b0[3 + -1", "b0[4 + -1"},
    {"-1*%4", "-2*%4"},
    {"-1*%4", "-1*%4 + 1*%4"},
    {" + idx %6", ""},
    {"idx %6] mask=%7", "idx %6]"},
    {"for seq 0..%0", "for seq 1..%0"},
    {"step 16", "step 8"},
    {"add f32x16 %11, %12", "sub f32x16 %11, %12"},
    {"add f32x16 %11, %12", "add f32x16 %12, %11"},
    {"%15, %16, %13", "%15, %13, %16"},
    {"next %12, %11", "next %12, %12"},
    {"tree_push lanes=16 sum", "tree_push lanes=16 max"},
    {"%11, b3[0] stride=1 tree=16", "%11, b3[0] stride=1 tree=32"},
    {"b4[0] stride=1 tree=16\n", "b4[1] stride=1 tree=16\n"},
    {" index_part", ""},
    {"lane_reduce f32 sum", "lane_reduce f32 prod"},
    {"1*%27", "1*%4"},
    {" nontemporal", ""},
    {" skips", ""},
    {" prefetch=32", ""},
    {"prefetch=32", "prefetch=33"},
    {"reduce f32 max lanes", "reduce f32 max plain"},
    {"reduce f32 max lanes", "reduce f32 min lanes"},
    {"outer 0..5", "outer 0..6"},
    {"logical", "bound"},
    {"exp f32 %9", "exp f32 %8"},
};
enum { CHANGES = sizeof changes / sizeof *changes };

static nxk_kernel *changed(const change *c) {
  char text[8192];
  const char *from = strstr(everything, c->from) ? everything : SOFTMAX,
             *at = strstr(from, c->from);
  assert_non_null(at);
  snprintf(text, sizeof text, "%.*s%s%s", (int)(at - from), from, c->to, at + strlen(c->from));
  return parse(text);
}

static void keys_tell_kernels_apart(void **state) {
  (void)state;
  nxi_text keys[CHANGES + 3]; /* the last one: of the same text as another */
  keys[CHANGES] = key_of(parse(everything));
  keys[CHANGES + 1] = key_of(parse(SOFTMAX));
  for (int i = 0; i < CHANGES; i++) keys[i] = key_of(changed(&changes[i]));
  for (int i = 0; i < CHANGES + 2; i++)
    for (int k = 0; k < i; k++)
      if (same_key(&keys[i], &keys[k])) fail_msg("change %d and %d have the same key", k, i);
  keys[CHANGES + 2] = key_of(parse(everything));
  assert_true(same_key(&keys[CHANGES + 2], &keys[CHANGES]));
  for (int i = 0; i < CHANGES + 3; i++) nxi_text_free(&keys[i]);
}

/* Names are free, comments and spaces too; printing renumbers. */
static void text_is_lenient(void **state) {
  (void)state;
  nxk_kernel *k = parse(
      "; a remark\n\nnxir 2 ; more\n kernel @k.1 bound{ \n b0 : out f32[4]\nregion tasks=2{\n"
      "%row=for task 0..2{ ; rows\r\n%x = const f32 1.50\nstore %x,b0[ 1+2*%row ]\n}\n}\n}\n; end");
  char *printed = text_of(k);
  assert_string_equal(printed,
                      "nxir 2\nkernel @k.1 bound {\n  b0: out f32[4]\n  region tasks=2 {\n    %1 = "
                      "for task 0..2 {\n"
                      "      %2 = const f32 1.5\n      store %2, b0[1 + 2*%1]\n    }\n  }\n}\n");
  nxi_free(printed);
  nxk_destroy(k);
}

/* Every float that is printed parses back to its bits. */
static void floats_round_trip(void **state) {
  (void)state;
  static const nx_dtype types[] = {NX_F16, NX_BF16, NX_F32, NX_F64, NX_F8E4M3, NX_F8E5M2};
  nxk_kernel *k = nxk_create(NXK_LOGICAL, "floats");
  uint64_t bits = 88172645463325252u;
  for (int i = 0; i < 20000; i++) {
    bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
    nx_dtype t = types[i % 6];
    nxk_const(k, t,
              i < 16000 ? bits
                        : nxi_cast_bits(nxi_bits_f64((double)(bits % 100000) / 1000), NX_F64, t));
  }
  char *printed = text_of(k);
  nxk_kernel *again = parse(printed);
  assert_int_equal(again->n_instrs, k->n_instrs);
  for (uint32_t v = 0; v < k->n_instrs; v++) assert_true(again->instrs[v].imm == k->instrs[v].imm);
  nxi_free(printed);
  nxk_destroy(k);
  nxk_destroy(again);
}

typedef struct bad_text {
  const char *text;
  int line, column;
  const char *message;
} bad_text;

#define HEAD "nxir 2\nkernel @k bound {\n"
static const bad_text bad_texts[] = {
    {"", 1, 1, "expected 'nxir 2'"},
    {"nxir 3\n", 1, 7, "version"},
    {"nxir 2\ngraph", 2, 1, "expected 'kernel'"},
    {"nxir 2\nkernel @k sideways {\n", 2, 11, "expected logical or bound: 'sideways'"},
    {HEAD, 3, 1, "the text ends"},
    {HEAD "  %0 = cosnt f32 1\n}\n", 3, 8, "no such operation: 'cosnt'"},
    {HEAD "  %0 = const f33 1\n}\n", 3, 14, "expected a type"},
    {HEAD "  %0 = const f32 1.2.3\n}\n", 3, 18, "is not a number"},
    {HEAD "  %0 = const i8 128\n}\n", 3, 17, "whole number"},
    {HEAD "  %0 = const f32 0.12345678901234567890\n}\n", 3, 18, "hexadecimal"},
    {HEAD "  %0 = const bool 2\n}\n", 3, 19, "neither"},
    {HEAD "  %0 = neg f32 %1\n}\n", 3, 17, "no such value so far: '1'"},
    {HEAD "  %0 = const f32 1\n  %0 = const f32 2\n}\n", 4, 4, "given before"},
    {HEAD "  const f32 1\n}\n", 3, 3, "needs a name"},
    {HEAD "  %0 = region tasks=1 {\n}\n", 3, 8, "no result"},
    {HEAD "  b1: in f32[3]\n}\n", 3, 3, "next buffer"},
    {HEAD "  b0: in f32[99999999999999999999]\n}\n", 3, 14, "out of range"},
    {HEAD "  b0: in c64[4]\n}\n", 3, 10, "element type"},
    {HEAD "  region tasks=p0/1 {\n", 3, 16, "declared parameter"},
    {HEAD "  %0 = load f32 b0[0]\n}\n", 3, 17, "declared buffer"},
    {HEAD "  %0 = param f32 p0\n}\n", 3, 18, "declared parameter"},
    {HEAD "  %0 = const f32x30000 1\n}\n", 3, 14, "expected a type"},
    {HEAD "  %0 = for round 0..2 {\n}\n", 3, 12, "expected outer"},
    {HEAD "  %0 = for seq 0.2 {\n}\n", 3, 18, "expected '.'"},
    {HEAD "}\nmore", 4, 1, "nothing after"},
    {HEAD "  %0 = const f32 1 2\n}\n", 3, 20, "end of the line"},
    {HEAD "  %0 = const f32 nan:0x3f800000\n}\n", 3, 18, "NaN"},
};

static void bad_texts_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad_texts / sizeof *bad_texts; i++) {
    const bad_text *b = &bad_texts[i];
    nxk_kernel *k = NULL;
    nxi_diag d;
    nxi_diag_clear(&d);
    assert_int_equal(nxk_parse(b->text, strlen(b->text), &k, &d), NX_PARSE);
    assert_null(k);
    if (d.line != b->line || d.column != b->column || !strstr(d.message, b->message))
      fail_msg("text %zu: %d:%d: %s", i, d.line, d.column, d.message);
  }
}

/* Truncated and damaged texts neither crash nor read past their end (each copy is exactly as long
 * as it says), and the verifier stands whatever parses. */
static void hostile_texts(void **state) {
  (void)state;
  const char *const texts[] = {everything, SOFTMAX, constants};
  const char junk[] = "%{}[]*+=,.;:\n -0189abx\xff";
  for (int t = 0; t < 3; t++) {
    size_t length = strlen(texts[t]);
    for (size_t i = 0; i < 2 * length; i++) {
      size_t n = i < length ? i : length;
      char *copy = malloc(n ? n : 1);
      memcpy(copy, texts[t], n);
      random_state = random_state * 1664525u + 1013904223u;
      if (n == length) copy[i - length] = junk[(random_state >> 20) % (sizeof junk - 1)];
      nxk_kernel *k = NULL;
      nxi_diag d;
      nxi_diag_clear(&d);
      if (nxk_parse(copy, n, &k, &d) == NX_OK) {
        nxi_text faults = {0};
        nxk_verify(k, &faults);
        nxi_text_free(&faults);
        nxk_destroy(k);
      } else {
        assert_true(d.line > 0 && d.column > 0);
      }
      free(copy);
    }
  }
  nxi_text deep = {0};
  nxi_text_add(&deep, "nxir 2\nkernel @deep logical {\nregion {\n");
  for (int i = 0; i < 100000; i++) nxi_text_add(&deep, "%%%d = for outer 0..1 {\n", i);
  nxk_kernel *k = NULL;
  assert_int_equal(nxk_parse(deep.data, deep.size, &k, NULL), NX_PARSE);
  nxi_text_free(&deep);
}

/* ---- the verifier */

typedef struct bad_kernel {
  const char *level, *body, *fault;
} bad_kernel;

#define P     "b0: in f32[4]\nb1: out f32[4]\nb2: local i64[4]\np0: i64\n"
#define TASK  P "region tasks=4 {\n%t = for task 0..4 {\n%c = const f32 1\n%n = const i64 2\n"
#define OUTER P "region {\n%t = for outer 0..4 {\n%c = const f32 1\n%n = const i64 2\n"
#define CLOSE "}\n}\n"
static const bad_kernel bad_kernels[] = {
    {"bound", P "%c = const f32 1\n%d = neg f32 %c\n", "top level"},
    {"bound", TASK "%i = for seq 0..2 {\n%x = neg f32 %c\n}\n%y = neg f32 %x\n" CLOSE,
     "is not visible here"},
    {"bound", TASK "%i = for seq 0..2 {\n}\n%y = neg i64 %i\n" CLOSE, "is not visible here"},
    {"logical",
     OUTER "%i = for reduce 0..2 {\n%x = reduce f32 sum lanes %c\n%y = neg f32 %x\n}\n" CLOSE,
     "is not visible here"},
    {"bound", TASK "%x = add f32 %c, %n\n" CLOSE, "operand 1 has another type"},
    {"bound", TASK "%x = and f32 %c, %c\n" CLOSE, "does not admit f32"},
    {"bound", TASK "%h = cast f16 %c\n%x = neg f16 %h\n" CLOSE, "widen to f32"},
    {"bound", TASK "%x = lt f32 %c, %c\n" CLOSE, "the result has another type"},
    {"bound", TASK "%x = neg f64 %c\n" CLOSE, "the result has another type"},
    {"bound", TASK "%x = select f32 %c, %c, %c\n" CLOSE, "operand 1 has another type"},
    {"bound", TASK "%x = bitcast i64 %c\n" CLOSE, "differ in size"},
    {"bound", TASK "%x = umulh i64 %n, %n\n" CLOSE, "umulh"},
    {"bound", TASK "%s = splat f32x16 %c\n%x = add f32x16 %s, %c\n" CLOSE,
     "operand 2 has not the lanes"},
    {"bound", TASK "%s = splat f32x12 %c\n" CLOSE, "power of two"},
    {"logical", OUTER "%s = splat f32x16 %c\n" CLOSE, "not of this level"},
    {"logical", OUTER "%s = load f32x4 b0[0] stride=1\n" CLOSE, "logical level has lanes"},
    {"bound", TASK "%i = for reduce 0..2 {\n}\n" CLOSE, "not of this level"},
    {"logical", OUTER "%i = for reduce 0..2 {\n%j = for map 0..2 {\n}\n}\n" CLOSE,
     "cannot stand here"},
    {"logical", OUTER "%i = for map 0..2 {\n%j = for outer 0..2 {\n}\n}\n" CLOSE,
     "cannot stand here"},
    {"logical", OUTER "%x = reduce f32 sum lanes %c\n" CLOSE, "does not stand in a reduce loop"},
    {"logical", OUTER "%i = for reduce 0..2 {\n%x = reduce f32 dot lanes %c, %c\n}\n" CLOSE,
     "dot is sequential"},
    {"logical", OUTER "%i = for reduce 0..2 {\n%x = reduce f32 argmax lanes %c\n}\n" CLOSE,
     "another type"},
    {"bound", P "region tasks=4 {\n}\n", "no task loop"},
    {"bound", P "region tasks=4 {\n%t = for task 0..3 {\n}\n}\n", "does not end at"},
    {"bound", P "region tasks=4 {\n%t = for task 0..4 {\n}\n%u = for task 0..4 {\n}\n}\n",
     "more than one task loop"},
    {"bound", P "region tasks=4 {\n%c = const f32 1\nstore %c, b1[0]\n%t = for task 0..4 {\n}\n}\n",
     "outside the task loop"},
    {"bound", TASK "%i = for seq 0..2 step 0 {\n}\n" CLOSE, "step"},
    {"bound", TASK "%i = for seq 0..%c {\n}\n" CLOSE, "bound of the loop"},
    {"bound", TASK "store %c, b0[0]\n" CLOSE, "store to an input"},
    {"bound", TASK "store %n, b1[0]\n" CLOSE, "not the type of the memory"},
    {"bound", TASK "%x = load f64 b0[0]\n" CLOSE, "not the type of the memory"},
    {"bound", TASK "%x = load f32 b0[0 + 1*%c]\n" CLOSE, "index of a term"},
    {"bound", TASK "%x = load f32 b0[0] mask=%c\n" CLOSE, "mask is not bool"},
    {"bound", TASK "%x = load f32 b0[0] else %c\n" CLOSE, "else without"},
    {"bound", TASK "%x = load f32x4 b0[0]\n" CLOSE, "one element"},
    {"bound", TASK "%x = load f32 b0[0] nontemporal\n" CLOSE, "nontemporal"},
    {"bound", TASK "%x = splat f32x8 %c\nstore lanes=8 %x, b1[0] stride=1 nontemporal\n" CLOSE,
     "part of a cache line"},
    {"bound", TASK "%x = load f32 b0[0] skips\n" CLOSE, "skips"},
    {"bound", TASK "store %c, b1[0] skips\n" CLOSE, "skips"},
    {"bound", TASK "%x = carry f32 %c\n" CLOSE, "not stand in a seq loop"},
    {"bound", TASK "%i = for seq 0..2 {\n%d = const f32 1\n%x = carry f32 %c\n}\n" CLOSE,
     "start of its loop"},
    {"bound", TASK "%i = for seq 0..2 {\n%x = carry i64 %c\n}\n" CLOSE, "differ in type"},
    {"bound", TASK "%i = for seq 0..2 {\n%x = carry i64 %i\n}\n" CLOSE, "before the loop"},
    {"bound",
     TASK "%i = for seq 0..2 {\n%x = carry f32 %c\nnext %x, %c\n%d = neg f32 %x\n}\n" CLOSE,
     "end of its loop"},
    {"bound", TASK "%i = for seq 0..2 {\n%x = carry f32 %c\nnext %x, %c\nnext %x, %c\n}\n" CLOSE,
     "next value already"},
    {"bound", TASK "%i = for seq 0..2 {\n%x = carry f32 %c\nnext %x, %n\n}\n" CLOSE,
     "differ in type"},
    {"bound", TASK "%i = for seq 0..2 {\nnext %c, %c\n}\n" CLOSE, "not a carry of this loop"},
    {"bound", TASK "%r = cold %c {\n}\n" CLOSE, "condition is not bool"},
    {"bound", TASK "%b = const bool true\n%r = cold %b {\nstore %c, b1[0]\n}\n" CLOSE,
     "has an effect"},
    {"bound",
     TASK
     "%b = const bool true\n%r = cold %b {\n}\n%x = neg f32 %c\n%y = blend f32 %r, %c, %c\n" CLOSE,
     "does not follow"},
    {"bound",
     TASK "%b = const bool true\n%r = cold %b {\n%i = for seq 0..2 {\n%z = neg f32 %c\n}\n}\n%y = "
          "blend f32 %r, %z, %c\n" CLOSE,
     "is not visible here"},
    {"bound",
     TASK
     "%b = const bool true\n%r = cold %b {\n%z = neg i64 %n\n}\n%y = blend f32 %r, %z, %c\n" CLOSE,
     "differ in type"},
    {"bound", TASK "%x = lane_reduce f32 sum %c\n" CLOSE, "one lane of several"},
    {"bound", TASK "%s = splat boolx4 %n\n" CLOSE, "its own type"},
    {"bound", TASK "%l = step_vector i64x4 %c\n" CLOSE, "not an i64"},
    {"bound", TASK "tree_push sum %n, %n, b2[0]\n" CLOSE, "no distance"},
    {"bound", TASK "tree_push sum %n, %c, b2[0] tree=1\n" CLOSE, "type of the partials"},
    {"bound", TASK "%x = tree_join i64 argmax %n, b2[0] tree=1\n" CLOSE, "indices belong"},
    {"bound", "b0: local f32[4]\nb1: in f32[4]\n", "after a local array"},
    {"bound", "b0: local f64[999999999999]\n", "too large"},
    {"bound", "p0: f32\nregion tasks=p0/2 {\n%x = for task 0..2 {\n}\n}\n", "not an i64 parameter"},
};

static void bad_kernels_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad_kernels / sizeof *bad_kernels; i++) {
    char text[2048];
    snprintf(text, sizeof text, "nxir 2\nkernel @bad %s {\n%s}\n", bad_kernels[i].level,
             bad_kernels[i].body);
    nxk_kernel *k = parse(text);
    nxi_text faults = {0};
    bool good = nxk_verify(k, &faults);
    if (good || !strstr(faults.data, bad_kernels[i].fault))
      fail_msg("kernel %zu, expected: %s\n%s", i, bad_kernels[i].fault, good ? text : faults.data);
    assert_false(nxk_verify(k, NULL));
    nxi_text_free(&faults);
    nxk_destroy(k);
  }
}

/* All faults, each under its line. */
static void faults_stand_under_their_lines(void **state) {
  (void)state;
  nxk_kernel *k =
      parse("nxir 2\nkernel @k bound {\n" TASK "%x = not f32 %c\nstore %n, b1[0]\n}\n}\n}\n");
  nxi_text faults = {0};
  assert_false(nxk_verify(k, &faults));
  assert_non_null(strstr(faults.data, "%4 = not f32 %2\n    ^ the operation does not admit f32\n"));
  assert_non_null(
      strstr(faults.data, "store %3, b1[0]\n    ^ the value has not the type of the memory\n"));
  nxi_text_free(&faults);
  nxk_destroy(k);
}

/* ---- copying instruction by instruction gives the same kernel */

static void copies(void **state) {
  (void)state;
  const char *const texts[] = {SOFTMAX, everything};
  for (int i = 0; i < 2; i++) {
    nxk_kernel *k = parse(texts[i]), *copy = nxk_create(k->level, k->name);
    nxk_value *map = malloc(k->n_instrs * sizeof *map);
    for (uint32_t b = 0; b < k->n_buffers; b++) {
      nxk_add_buffer(copy, k->buffers[b].kind, k->buffers[b].dtype, k->buffers[b].elements);
      copy->buffers[b] = k->buffers[b];
    }
    for (uint32_t p = 0; p < k->n_params; p++) nxk_add_param(copy, k->param_types[p]);
    for (uint32_t v = 0; v < k->n_instrs; v++) nxk_copy_instr(copy, k, v, map);
    assert_verified(copy);
    char *printed = text_of(copy);
    /* of `everything`, equal loads alone could merge, and there are none; a repeated load of
     * softmax is in another loop */
    assert_string_equal(printed, texts[i]);
    nxi_free(printed);
    free(map);
    nxk_destroy(k);
    nxk_destroy(copy);
  }
}

/* ---- exhausted memory */

static bool whole_life(void) {
  bool ok = false;
  nxk_kernel *k = NULL, *built = NULL, *copy = NULL;
  nxi_text printed = {0};
  float x[300] = {1}, y = 0;
  void *buffers[] = {x, &y};
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxk_parse(everything, strlen(everything), &k, &d) == NX_OK && (copy = nxk_clone(k)) != NULL) {
    nxk_print(copy, &printed);
    built = bound_reduction(NXK_SUM, NX_F32, 300);
    ok = !printed.failed && nxk_verify(copy, NULL) && built && !built->failed &&
         nxk_verify(built, NULL) &&
         nxk_interpret(built, buffers, NULL, 0, INT64_MAX, &d) == NX_OK && y == 1;
  }
  nxi_text_free(&printed);
  nxk_destroy(k);
  nxk_destroy(built);
  nxk_destroy(copy);
  return ok;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  int64_t before = nxi_alloc_count();
  assert_true(whole_life());
  int64_t n = nxi_alloc_count() - before;
  assert_true(n > 30);
  for (int64_t i = 0; i < n; i++) {
    nxi_alloc_fail(i, false);
    bool ok = whole_life();
    nxi_alloc_fail(-1, false);
    assert_false(ok);
  }
  assert_true(whole_life());
}

NXT_MAIN(kernel_ir) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(builder_folds_and_merges),
      cmocka_unit_test(builder_numbers_many),
      cmocka_unit_test(texts_round_trip),
      cmocka_unit_test(keys_tell_kernels_apart),
      cmocka_unit_test(text_is_lenient),
      cmocka_unit_test(floats_round_trip),
      cmocka_unit_test(bad_texts_are_refused),
      cmocka_unit_test(hostile_texts),
      cmocka_unit_test(bad_kernels_are_refused),
      cmocka_unit_test(faults_stand_under_their_lines),
      cmocka_unit_test(copies),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
