/* SPDX-License-Identifier: ISC */
/* Kernels of threads: their text, their keys, what the verifier says of them, and what their
 * operations mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel_util.h"
#include "passes/kernel/passes.h"
#include "tests/util/runner.h"

/* Everything that only kernels of threads have. b1 = the negative of pairs of b0, exchanged; b2:
 * rows of each thread. */
static const char *const everything = "nxir 2\n"
                                      "kernel @all bound threads=32 {\n"
                                      "  b0: in f32[640] aligned\n"
                                      "  b1: out f32[640] aligned\n"
                                      "  b2: local f32[64] private\n"
                                      "  b3: local f32[64]\n"
                                      "  region tasks=4 {\n"
                                      "    %1 = for task 0..4 {\n"
                                      "      %2 = const i64 64\n"
                                      "      %3 = mul i64 %1, %2\n"
                                      "      %4 = const i64 200\n"
                                      "      %5 = step_vector i64x32 %3\n"
                                      "      %6 = splat i64x32 %4\n"
                                      "      %7 = lt boolx32 %5, %6\n"
                                      "      %8 = load f32x64 b0[0 + 1*%3] stride=1 mask=%7 whole\n"
                                      "      %9 = load f32x64 b0[0 + idx %5] stride=64 group=2\n"
                                      "      %10 = shuffle_xor f32x64 %8, 3\n"
                                      "      %11 = load f32x32 b0[32] stride=1\n"
                                      "      %12 = splat f32x64 %11\n"
                                      "      %13 = add f32x64 %10, %12\n"
                                      "      store lanes=64 %13, b3[0] stride=1 whole\n"
                                      "      barrier\n"
                                      "      %16 = for seq 0..2 unroll {\n"
                                      "        store lanes=32 %11, b2[0 + 32*%16] stride=1\n"
                                      "        %18 = load f32x32 b2[0 + 32*%16] stride=1\n"
                                      "      }\n"
                                      "      %20 = load f32x64 b3[63] stride=-1\n"
                                      "      %21 = cast i32 %1\n"
                                      "      %22 = const i32 64\n"
                                      "      %23 = mul i32 %21, %22 nsw\n"
                                      "      %24 = step_vector i32x32 %23\n"
                                      "      %25 = const i32 200\n"
                                      "      %26 = active boolx32 %23, %25\n"
                                      "      store lanes=64 %20, b1[0 + 1*%23] stride=1 mask=%26\n"
                                      "    }\n"
                                      "  }\n"
                                      "}\n";

static void texts_round_trip(void **state) {
  (void)state;
  nxk_kernel *k = parse(everything), *copy = nxk_clone(k);
  char *printed = text_of(k), *cloned = text_of(copy);
  assert_string_equal(printed, everything);
  assert_string_equal(cloned, everything);
  assert_verified(k);
  nxi_free(printed);
  nxi_free(cloned);
  nxk_destroy(k);
  nxk_destroy(copy);
}

/* ---- keys */

typedef struct change {
  const char *from, *to;
} change;
static const change changes[] = {
    {"threads=32", "threads=64"},
    {"f32[64] private", "f32[64]"},
    {"mask=%7 whole\n", "mask=%7\n"},
    {"group=2", "group=4"},
    {"stride=64 group=2", "stride=64"},
    {"shuffle_xor f32x64 %8, 3", "shuffle_xor f32x64 %8, 5"},
    {"shuffle_xor f32x64 %8, 3", "neg f32x64 %8"},
    {"barrier", "store %4, b0[0]"},
    {" unroll", ""},
    {"splat f32x64 %11", "splat f32x128 %11"},
    {" nsw", ""},
    {"step_vector i32x32 %23", "step_vector i64x32 %23"},
};
enum { CHANGES = sizeof changes / sizeof *changes };

/* The kernel with one of the changes, or, of NULL, none. */
static nxk_kernel *changed(const change *c) {
  char text[4096];
  const char *at = c ? strstr(everything, c->from) : everything;
  assert_non_null(at);
  snprintf(text, sizeof text, "%.*s%s%s", (int)(at - everything), everything, c ? c->to : "",
           at + (c ? strlen(c->from) : 0));
  return parse(text);
}

static void keys_tell_kernels_apart(void **state) {
  (void)state;
  nxi_text keys[CHANGES + 2];
  keys[CHANGES] = key_of(changed(NULL));
  keys[CHANGES + 1] = key_of(changed(NULL));
  assert_true(same_key(&keys[CHANGES], &keys[CHANGES + 1]));
  for (int i = 0; i < CHANGES; i++) keys[i] = key_of(changed(&changes[i]));
  for (int i = 0; i <= CHANGES; i++)
    for (int k = 0; k < i; k++)
      if (same_key(&keys[i], &keys[k])) fail_msg("change %d and %d have the same key", k, i);
  for (int i = 0; i < CHANGES + 2; i++) nxi_text_free(&keys[i]);
}

/* ---- the verifier */

typedef struct bad_kernel {
  const char *head, *body, *fault;
} bad_kernel;

#define T32  "bound threads=32"
#define T0   "bound"
#define WIDE "%w = splat f32x32 %c\n%l = step_vector i64x32 %n\n"
static const bad_kernel bad_kernels[] = {
    {"bound threads=48", "", "power of two from 32"},
    {"logical threads=32", "", "of a bound kernel"},
    {T32, "%x = splat f32x16 %c\n", "fewer than threads"},
    {T32, "%x = splat f32x1024 %c\n", "power of two up to 512"},
    {T0, "%x = splat f32x256 %c\n", "power of two up to 128"},
    {T0, "%x = splat f32x4 %c\n%y = splat f32x8 %x\n", "repeats one lane"},
    {T32, WIDE "%x = splat f32x64 %w\n%y = splat f32x64 %x\n", "repeats one lane"},
    {T0, "%x = splat f32x4 %c\n%y = shuffle_xor f32x4 %x, 1\n",
     "a shuffle_xor in a kernel without threads"},
    {T32, WIDE "%x = shuffle_xor f32x32 %w, 32\n", "no lane at that distance"},
    {T32, WIDE "%x = shuffle_xor f32x32 %l, 1\n", "not the type and lanes"},
    {T32, WIDE "%x = shuffle_xor f32x64 %w, 1\n", "not the type and lanes"},
    {T0, "%i = for seq 0..2 {\nuntil %c\n}\n", "not a bool of one lane"},
    {T0, "%p = const bool true\nuntil %p\n", "does not stand in a seq loop"},
    {T32, "%p = const bool true\n%i = for seq 0..2 {\nuntil %p\n}\n", "the kernel has threads"},
    {T0, "%p = const bool true\n%i = for seq 0..2 {\nuntil %p\nstore %c, b1[0]\n}\n",
     "until does not stand at the end"},
    {T0, "%p = const bool true\n%x = load f32 b0[0] mask=%p volatile\n", "a volatile load"},
    {T0, "store %c, b1[0] volatile\n", "a volatile store"},
    {T0, "barrier\n", "a barrier in a kernel without threads"},
    {T32, "%b = const bool true\n%r = cold %b {\nbarrier\n}\n", "has an effect"},
    {T32, WIDE "%b = const bool true\n%r = cold %b {\n%x = shuffle_xor f32x32 %w, 1\n}\n",
     "has an effect"},
    {T32, WIDE "%x = interleave_low f32x32 %w, %w\n", "a interleave in a kernel of threads"},
    {T32, WIDE "%x = concat f32x64 %w, %w\n", "a concat in a kernel of threads"},
    {T0, "%x = splat f32x4 %c\n%y = concat f32x4 %x, %x\n", "not the type and half the lanes"},
    {T0, "%y = concat f32 %c, %c\n", "a concat of one lane"},
    {T32, WIDE "%x = deinterleave f32x32 %w, %w first=0\n", "one operand is needed"},
    {T32, WIDE "%v = splat f32x64 %c\n%x = deinterleave f32x32 %v first=2\n", "no such element"},
    {T32, WIDE "%x = deinterleave f32x32 %w first=0\n", "type and lanes of the row"},
    {T32, WIDE "%x = interleave f32x128 %w, %w, %w piece=0\n", "2 or 4 operands"},
    {T32, WIDE "%x = interleave f32x128 %w, %w piece=0\n", "type and lanes of the row"},
    {T32, WIDE "%x = interleave f32x64 %w, %w piece=1\n", "no such element"},
    {T0, "%x = splat f32x4 %c\n%y = deinterleave f32x4 %x, %x first=2\n", "no such element"},
    {T0, "%x = splat f32x4 %c\n%y = deinterleave f32x4 %x, %x first=1 overlap=1\n",
     "no such element"},
    {T0, "%x = splat f32x4 %c\n%y = deinterleave f32x4 %x first=0\n", "2 to 4 operands"},
    {T0, "%x = splat f32x4 %c\n%y = deinterleave f32x8 %x, %x first=0\n", "not the type and lanes"},
    {T0, "%x = splat f32x2 %c\n%y = deinterleave f32x2 %x, %x first=0\n", "fewer than 4 lanes"},
    {T0, "%x = splat f32x4 %c\n%y = interleave f32x4 %x, %x piece=0\n", "3 to 4 operands"},
    {T0, "%x = splat f32x4 %c\n%y = interleave f32x4 %x, %x, %x piece=3\n", "no such element"},
    {T32, WIDE "%x = lane_reduce f32 sum %w\n", "a lane_reduce in a kernel of threads"},
    {T0, "%i = for seq 0..4 unroll {\n}\n", "cannot be written out"},
    {T32, "%i = for seq 0..%n unroll {\n}\n", "cannot be written out"},
    {T32, "%i = for seq 0..4 apart {\n}\n", "a loop that cannot stand apart"},
    {T0, "%b = const bool true\n%r = cold %b {\n%i = for seq 0..4 apart {\n}\n}\n",
     "a loop that cannot stand apart"},
    {T0, "%i = for seq 0..4 apart {\n%j = for seq 0..%n {\n%k = for seq 0..2 apart {\n}\n}\n}\n",
     "a loop that stands apart is inside another one"},
    {T0, "%i = for seq 0..4 apart {\n%x = carry f32 %c\nnext %x, %x\n}\n",
     "a loop that stands apart has a carry"},
    {T32, "%x = load f32x64 b0[0] stride=2 whole\n", "do not lie beside each other"},
    {T32, "%x = load f32x32 b0[0] stride=1 whole\n", "do not lie beside each other"},
    {T32, "%i = step_vector i64x64 %n\n%x = load f32x64 b0[0 + idx %i] stride=1 whole\n",
     "do not lie beside each other"},
    {T0, "%x = load f32x4 b0[0] stride=1 whole\n", "do not lie beside each other"},
    {T32, WIDE "%x = load f32x64 b0[0] stride=1 group=2\n", "at a computed index"},
    {T32, WIDE "%x = load f32x64 b0[0 + idx %l] stride=1 group=4\n", "the lanes of one thread"},
    {T32, "%i = step_vector i64x64 %n\n%x = load f32x64 b0[0 + idx %i] stride=1 group=2\n",
     "idx is not i64"},
    {T32, WIDE "%m = splat boolx64 %b\n%x = load f32x32 b0[0] stride=1 mask=%m\n",
     "lanes of the access"},
    {T32, "%x = load f32 b2[0]\n", "keep to their own"},
    {T32, "%x = load f32x32 b2[0] stride=1\n%y = load f32x64 b2[0] stride=1\n",
     "keep to their own"},
    {T32, "%x = load f32x64 b2[32] stride=1\n", "keep to their own"},
    {T32, "%x = load f32x32 b2[0] stride=2\n", "keep to their own"},
    {T32, "%x = load f32x32 b2[8] stride=1\n", "keep to their own"},
    {T32, "%x = load f32x32 b2[0 + 8*%n] stride=1\n", "keep to their own"},
    {T32, WIDE "%x = load f32x32 b2[0 + idx %l]\n", "keep to their own"},
    {T0, "%x = load f32x4 b2[0] stride=1\n", "no local array of threads"},
    {T32, "%x = load f32x32 b0[0] stride=1 prefetch=64\n", "a prefetch in a kernel of threads"},
    {T32, "%x = add i64 %n, %n nsw\n", "nsw, and no"},
    {T32, "%x = add f32 %c, %c nsw\n", "nsw, and no"},
    {T32, "%i = const i32 1\n%x = and i32 %i, %i nsw\n", "nsw, and no"},
    {T0, "%i = const i32 1\n%x = add i32 %i, %i nsw\n", "nsw, and no"},
    {T0, "%i = const i32 1\n%x = step_vector i32x4 %i\n", "not an i64 of one lane"},
    {T0, "%i = const i32 1\n%x = load f32 b0[0 + 1*%i]\n", "not an i64 of one lane"},
    {T32, "%i = const i32 1\n%x = step_vector i64x32 %i\n", "another type than it should"},
    {T32, "%i = const i32 1\n%x = active boolx32 %i, %n\n", "not an i64 of one lane"},
    {T32, "%i = const i16 1\n%x = load f32 b0[0 + 1*%i]\n", "not an i64 of one lane"},
    {T32, "%i = const i32 1\n%x = load f32 b0[0 + 1*%i + 1*%n]\n", "differ in type"},
    {T32, "%i = const i32 1\n%l = step_vector i64x32 %n\n%x = load f32x32 b0[0 + 1*%i + idx %l]\n",
     "differ in type"},
};

static void bad_kernels_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad_kernels / sizeof *bad_kernels; i++) {
    const bad_kernel *bad = &bad_kernels[i];
    char text[2048];
    snprintf(text, sizeof text,
             "nxir 2\nkernel @bad %s {\nb0: in f32[999] aligned\nb1: out f32[999]\n"
             "b2: local f32[64] private\n%s%s%s}\n",
             bad->head,
             bad->body[0] ? "region tasks=4 {\n%t = for task 0..4 {\n%c = const f32 1\n"
                            "%n = const i64 2\n"
                          : "",
             bad->body, bad->body[0] ? "}\n}\n" : "");
    if (strstr(bad->body, "%b\n")) { /* a condition */
      char *at = strstr(text, "%c = ");
      memmove(at + 21, at, strlen(at) + 1);
      memcpy(at, "%b = const bool true\n", 21);
    }
    nxk_kernel *k = parse(text);
    nxi_text faults = {0};
    bool good = nxk_verify(k, &faults);
    if (good || !strstr(faults.data, bad->fault))
      fail_msg("kernel %zu, expected: %s\n%s", i, bad->fault, good ? text : faults.data);
    nxi_text_free(&faults);
    nxk_destroy(k);
  }
}

static void bad_texts_are_refused(void **state) {
  (void)state;
  static const char *const texts[] = {
      "kernel @k bound threads=16 {\n}\n",
      "kernel @k bound threads=2048 {\n}\n",
      "kernel @k bound threads=32 {\n  %0 = const f32x32768 1\n}\n",
      "kernel @k bound threads=32 {\n  b0: in f32[4]\n  %0 = load f32x64 b0[0] group=32\n}\n",
      "kernel @k bound threads=32 {\n  %0 = const f32 1\n  %1 = shuffle_xor f32x32 %0, 0\n}\n",
      "kernel @k bound threads=32 {\n  %0 = barrier\n}\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    char text[200];
    nxk_kernel *k = NULL;
    snprintf(text, sizeof text, "nxir 2\n%s", texts[i]);
    if (nxk_parse(text, strlen(text), &k, NULL) != NX_PARSE) fail_msg("text %zu was read", i);
    assert_null(k);
  }
}

/* ---- copying instruction by instruction gives the same kernel */

static void copies(void **state) {
  (void)state;
  nxk_kernel *k = parse(everything), *copy = nxk_create(k->level, k->name);
  nxk_value *map = malloc(k->n_instrs * sizeof *map);
  copy->threads = k->threads;
  for (uint32_t b = 0; b < k->n_buffers; b++) {
    nxk_add_buffer(copy, k->buffers[b].kind, k->buffers[b].dtype, k->buffers[b].elements);
    copy->buffers[b] = k->buffers[b];
  }
  for (uint32_t v = 0; v < k->n_instrs; v++) nxk_copy_instr(copy, k, v, map);
  assert_verified(copy);
  char *printed = text_of(copy);
  assert_string_equal(printed, everything);
  nxi_free(printed);
  free(map);
  nxk_destroy(k);
  nxk_destroy(copy);
}

/* ---- what they mean */

/* b1[task * 64 + l] = b0[63 - l swapped by 3] + b0[32 + (63 - l) / 2], where the task's mask of
 * each two lanes lets it. */
static void swaps_splats_and_masks(void **state) {
  (void)state;
  nxk_kernel *k = parse(everything);
  float x[640], y[640];
  for (int i = 0; i < 640; i++) x[i] = (float)i, y[i] = -1;
  void *buffers[] = {x, y};
  nxi_diag d;
  nxi_diag_clear(&d);
  assert_int_equal(nxk_interpret(k, buffers, NULL, 0, 4, &d), NX_OK);
  for (int i = 0; i < 640; i++) {
    int task = i / 64, from = 63 - i % 64, partner = from ^ 3;
    bool stored = i < 256 && task * 64 + i % 64 / 2 < 200;
    bool loaded = task * 64 + partner / 2 < 200;
    float expected = (loaded ? x[task * 64 + partner] : 0) + x[32 + from / 2];
    if (y[i] != (stored ? expected : -1)) fail_msg("element %d: %g", i, (double)y[i]);
  }
  nxk_destroy(k);
}

/* Lane l of a group is at the index of its thread and stride times its number there. */
static void groups_share_an_index(void **state) {
  (void)state;
  nxk_kernel *k =
      parse("nxir 2\nkernel @k bound threads=32 {\nb0: in i32[320]\nb1: out i32[64]\n"
            "region tasks=1 {\n%t = for task 0..1 {\n%two = const i64 2\n"
            "%one = step_vector i64x32 %t\n%w = splat i64x32 %two\n%i = mul i64x32 %one, %w\n"
            "%x = load i32x64 b0[3 + idx %i] stride=100 group=2\n"
            "store lanes=64 %x, b1[0 + idx %i] stride=1 group=2 whole\n}\n}\n}\n");
  int32_t x[320], y[64];
  for (int i = 0; i < 320; i++) x[i] = i;
  void *buffers[] = {x, y};
  assert_verified(k);
  interpret(k, buffers, NULL);
  for (int l = 0; l < 64; l++) assert_int_equal(y[l], 3 + l / 2 * 2 + l % 2 * 100);
  nxk_destroy(k);
}

/* ---- 32 bits */

static void what_32_bits_do_not_hold_is_an_error(void **state) {
  (void)state;
  static const char *const bodies[] = {
      "%x = add i32 %big, %one nsw\n",
      "%x = mul i32 %big, %big nsw\n",
      "%x = sub i32 %least, %one nsw\n",
      "%x = step_vector i32x32 %big\n",
      "%x = active boolx32 %big, %big\n",
      "%x = load f32 b0[-2147483647 + 1*%big]\nstore %x, b1[0]\n%y = load f32 b0[-2147483648 + "
      "1*%big "
      "+ 1*%one]\n%z = load f32 b0[2 + 1*%big + 1*%least]\n",
      "%x = load f32 b0[-4294967294 + 2*%big]\n",
  };
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    char text[1024];
    snprintf(
        text, sizeof text,
        "nxir 2\nkernel @k bound threads=32 {\nb0: in f32[4]\nb1: out f32[4]\nregion tasks=1 {\n"
        "%%t = for task 0..1 {\n%%big = const i32 2147483647\n%%one = const i32 1\n"
        "%%least = const i32 -2147483648\n%s}\n}\n}\n",
        bodies[i]);
    nxk_kernel *k = parse(text);
    float x[4] = {0}, y[4];
    void *buffers[] = {x, y};
    nxi_diag d;
    nxi_diag_clear(&d);
    assert_verified(k);
    if (nxk_interpret(k, buffers, NULL, 0, 1, &d) != NX_INTERNAL || !strstr(d.message, "32 bits"))
      fail_msg("body %zu: %s", i, d.message);
    nxk_destroy(k);
  }
}

/* Index arithmetic that fits is done in 32 bits, and nothing else is: of the rows of a kernel of
 * `elements` elements whose data are i64 too. */
static uint32_t wide_operations(int64_t elements) {
  char text[2048];
  snprintf(
      text, sizeof text,
      "nxir 2\nkernel @k bound threads=32 {\nb0: in i64[?]\nb1: out i64[?]\nregion tasks=%lld {\n"
      "%%t = for task 0..%lld {\n%%n = const i64 32\n%%base = mul i64 %%t, %%n\n"
      "%%l = step_vector i64x32 %%base\n%%c = const i64 48\n%%w = splat i64x32 %%c\n"
      "%%row = div i64x32 %%l, %%w\n%%column = mod i64x32 %%l, %%w\n"
      "%%s = mul i64x32 %%row, %%w\n%%p = add i64x32 %%s, %%column\n"
      "%%v = load i64x32 b0[0 + idx %%p]\n%%d = mul i64x32 %%v, %%v\n"
      "store lanes=32 %%d, b1[0 + 32*%%t] stride=1\n}\n}\n}\n",
      (long long)elements / 32, (long long)elements / 32);
  nxi_diag d;
  nxi_diag_clear(&d);
  nxk_kernel *k = parse(text), *narrow = nxk_pass_narrow(k, &d);
  uint32_t found = 0;
  assert_non_null(narrow);
  assert_verified(narrow);
  for (uint32_t v = 0; v < narrow->n_instrs; v++) {
    const nxk_instr *in = &narrow->instrs[v];
    found += in->dtype == NX_I64 && in->op < NXK_SCALAR_COUNT && in->op != NXK_cast;
  }
  nxk_destroy(k);
  nxk_destroy(narrow);
  return found;
}

/* Whether the address of a load is narrow: offset + stride * task + lanes up to 31, of tasks up to
 * 99. */
static bool has_narrow_address(int64_t offset, int64_t stride) {
  char text[1024];
  snprintf(
      text, sizeof text,
      "nxir 2\nkernel @k bound threads=32 {\nb0: in i8[?]\nb1: out i8[3200]\nregion tasks=100 {\n"
      "%%t = for task 0..100 {\n%%z = const i64 0\n%%l = step_vector i64x32 %%z\n"
      "%%v = load i8x32 b0[%lld + %lld*%%t + idx %%l]\n"
      "store lanes=32 %%v, b1[0 + 32*%%t] stride=1\n}\n}\n}\n",
      (long long)offset, (long long)stride);
  nxi_diag d;
  nxi_diag_clear(&d);
  nxk_kernel *k = parse(text), *narrow = nxk_pass_narrow(k, &d);
  bool found = false;
  assert_non_null(narrow);
  assert_verified(narrow);
  for (uint32_t v = 0; v < narrow->n_instrs; v++)
    if (narrow->instrs[v].op == NXK_load) {
      const nxk_access *a = &narrow->accesses[narrow->instrs[v].imm];
      found = nxk_dtype(narrow, a->index) == NX_I32;
    }
  nxk_destroy(k);
  nxk_destroy(narrow);
  return found;
}

static void indices_are_narrowed(void **state) {
  (void)state;
  assert_int_equal(wide_operations(1 << 20), 1);    /* of the data */
  assert_int_equal(wide_operations(0x7fffffe0), 1); /* all indices below 2^31 */
  assert_int_equal(wide_operations(INT64_C(1) << 32), 6);
  assert_true(has_narrow_address(0, 32));
  assert_true(has_narrow_address(INT32_MAX - 31 - 99 * 32, 32));
  assert_false(has_narrow_address(INT32_MAX - 31 - 99 * 32 + 1, 32));
  assert_true(has_narrow_address(0, (INT32_MAX - 31) / 99));
  assert_false(has_narrow_address(0, (INT32_MAX - 31) / 99 + 1));
  assert_false(has_narrow_address(INT32_MIN, 1)); /* beyond in between */
}

NXT_MAIN(kernel_threads) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_round_trip),
      cmocka_unit_test(keys_tell_kernels_apart),
      cmocka_unit_test(bad_kernels_are_refused),
      cmocka_unit_test(bad_texts_are_refused),
      cmocka_unit_test(copies),
      cmocka_unit_test(swaps_splats_and_masks),
      cmocka_unit_test(groups_share_an_index),
      cmocka_unit_test(indices_are_narrowed),
      cmocka_unit_test(what_32_bits_do_not_hold_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
