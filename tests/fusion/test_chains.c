/* SPDX-License-Identifier: ISC */
/* Two products, the first one's rows being what the second one's first operand is made of: block of
 * rows by block of rows, with the bits of the graph interpreter, which stores everything, from
 * every executor, for one thread and two. Skipped without a BLAS. */
#include "shop.h"

#include "runtime/library/blas/blas.h"
#include "tests/util/runner.h"

enum { SECOND_LEVEL = 64 << 10 };

typedef struct sample {
  const char *label, *text;
  int chains;
} sample;

#define GRAPH(inputs, outputs, body) "nxir 2\ngraph @g(" inputs ") -> (" outputs ") {\n" body "}\n"
/* %p is the softmax of %s over its last axis. */
#define SOFTMAX(axis)                                                              \
  " %m = reduce_max %s axes=[" axis "] keepdims\n %d = sub %s, %m\n %e = exp %d\n" \
  " %z = reduce_sum %e axes=[" axis "] keepdims\n %p = div %e, %z\n"

static const sample samples[] = {
    {"attention",
     GRAPH("%tame0: f32[16,40,36], %tame1: f32[16,50,36], %tame2: f32[16,50,34], %c: f32[]", "%y",
           " %k = permute %tame1 axes=[0,2,1]\n %q = matmul %tame0, %k\n %s = mul %q, %c\n" SOFTMAX(
               "2") " %y = matmul %p, %tame2\n"),
     1},
    {"causal attention: the row's number is part of it",
     GRAPH("%tame0: f32[16,40,36], %tame1: f32[16,36,50], %tame2: f32[16,50,34]", "%y",
           " %q = matmul %tame0, %tame1\n %i = arange : i32[40]\n %r = reshape %i shape=[40,1]\n"
           " %j = arange : i32[50]\n %u = cmplt %r, %j\n %n = full -inf : f32[]\n"
           " %s = where %u, %n, %q\n" SOFTMAX("2") " %y = matmul %p, %tame2\n"),
     1},
    {"a mask for all batches, one bias for each of them, f64",
     GRAPH("%tame0: f64[2,10,40,36], %tame1: f64[2,10,36,50], %tame2: f64[2,10,50,34], "
           "%tame3: f64[40,50], %tame4: f64[10,1,1]",
           "%y",
           " %q = matmul %tame0, %tame1\n %b = add %q, %tame3\n %s = add %b, %tame4\n" SOFTMAX(
               "3") " %y = matmul %p, %tame2\n"),
     1},
    {"blocks of rows: a hidden layer",
     GRAPH("%tame0: f32[8192,36], %tame1: f32[36,600], %tame2: f32[600], %tame3: f32[600,36]", "%y",
           " %q = matmul %tame0, %tame1\n %b = add %q, %tame2\n %t = tanh %b\n"
           " %y = matmul %t, %tame3\n"),
     1},
    {"blocks of rows, the last one short, and an epilogue of the second product",
     GRAPH("%tame0: f32[9001,36], %tame1: f32[36,600], %tame2: f32[600], %tame3: f32[600,36], "
           "%tame4: f32[36]",
           "%y",
           " %q = matmul %tame0, %tame1\n %b = add %q, %tame2\n %t = tanh %b\n"
           " %h = matmul %t, %tame3\n %a = add %h, %tame4\n %y = exp %a\n"),
     1},
    {"the sums of rows are another result",
     GRAPH("%tame0: f32[16,40,36], %tame1: f32[16,36,50], %tame2: f32[16,50,34]", "%y, %z, %m",
           " %s = matmul %tame0, %tame1\n" SOFTMAX("2") " %y = matmul %p, %tame2\n"),
     1},
    {"another result of all elements",
     GRAPH("%tame0: f32[16,40,36], %tame1: f32[16,36,50], %tame2: f32[16,50,34]", "%y, %d",
           " %s = matmul %tame0, %tame1\n" SOFTMAX("2") " %y = matmul %p, %tame2\n"),
     1},
    {"not divided before the second product",
     GRAPH("%tame0: f32[16,40,36], %tame1: f32[16,36,50], %tame2: f32[16,50,34]", "%y",
           " %s = matmul %tame0, %tame1\n" SOFTMAX("2") " %h = matmul %e, %tame2\n"
                                                        " %y = div %h, %z\n"),
     0}, /* the sums are read again */
    {"rows are read after they have been made of themselves",
     GRAPH("%tame0: f32[16,40,36], %tame1: f32[16,36,50], %tame2: f32[16,50,34]", "%y, %w",
           " %s = matmul %tame0, %tame1\n %p = neg %s\n %m = reduce_max %p axes=[2] keepdims\n"
           " %x = sub %s, %m\n %w = reduce_sum %x axes=[2] keepdims\n %y = matmul %p, %tame2\n"),
     1},
    {"one set of keys for several sets of queries",
     GRAPH("%tame0: f32[4,4,40,36], %tame1: f32[4,1,50,36], %tame2: f32[4,1,50,34]", "%y",
           " %k = permute %tame1 axes=[0,1,3,2]\n %s = matmul %tame0, %k\n" SOFTMAX(
               "3") " %y = matmul %p, %tame2\n"),
     1},
    {"queries that are updated later",
     GRAPH("%tame0: f32[16,40,36] overwrite, %tame1: f32[16,36,50], %tame2: f32[16,50,34], "
           "%tame3: f32[16,40,36]",
           "%y, %u",
           " %s = matmul %tame0, %tame1\n" SOFTMAX(
               "2") " %y = matmul %p, %tame2\n"
                    " %u = update %tame0, %tame3 offset=0 shape=[16,40,36] strides=[1440,36,1]\n"),
     1},
    {"deep: pieces of the second product's inner extent",
     GRAPH("%tame0: f32[16,40,36], %tame1: f32[16,36,2100], %tame2: f32[16,2100,34]", "%y",
           " %s = matmul %tame0, %tame1\n" SOFTMAX("2") " %y = matmul %p, %tame2\n"),
     1},
    {"blocks of which some rows are made at a time",
     GRAPH("%tame0: f32[4,640,36], %tame1: f32[4,36,1500], %tame2: f32[4,1500,34]", "%y",
           " %s = matmul %tame0, %tame1\n" SOFTMAX("2") " %y = matmul %p, %tame2\n"),
     1},
    {"the same, transposed, with an epilogue",
     GRAPH("%tame0: f64[4,637,36], %tame1: f64[4,1000,36], %tame2: f64[4,1000,34], %tame3: f64[]",
           "%y",
           " %k = permute %tame1 axes=[0,2,1]\n %q = matmul %tame0, %k\n"
           " %s = mul %q, %tame3\n" SOFTMAX("2") " %h = matmul %p, %tame2\n %y = neg %h\n"),
     1},
    {"three products: the third one has none",
     GRAPH("%tame0: f32[16,40,36], %tame1: f32[16,36,50], %tame2: f32[16,50,40], %tame3: "
           "f32[16,40,36]",
           "%y",
           " %q = matmul %tame0, %tame1\n %t = tanh %q\n %r = matmul %t, %tame2\n %u = tanh %r\n"
           " %y = matmul %u, %tame3\n"),
     1},
    {"the rows of all batches are the rows of one product",
     GRAPH("%tame0: f32[8,1024,36], %tame1: f32[36,600], %tame2: f32[600,36]", "%y",
           " %r = reshape %tame0 shape=[8192,36]\n %q = matmul %r, %tame1\n %t = tanh %q\n"
           " %y = matmul %t, %tame2\n"),
     1},
    /* not these */
    {"one product, and the number of each row in what follows it",
     GRAPH("%tame0: f32[3,400,40], %tame1: f32[40,50]", "%y",
           " %q = matmul %tame0, %tame1\n %i = arange : f32[400]\n"
           " %r = reshape %i shape=[400,1]\n %y = mul %q, %r\n"),
     0},
    {"the scores are an output",
     GRAPH("%tame0: f32[16,40,36], %tame1: f32[16,36,50], %tame2: f32[16,50,34]", "%y, %s",
           " %s = matmul %tame0, %tame1\n" SOFTMAX("2") " %y = matmul %p, %tame2\n"),
     0},
    {"the weights are an output",
     GRAPH("%tame0: f32[16,40,36], %tame1: f32[16,36,50], %tame2: f32[16,50,34]", "%y, %p",
           " %s = matmul %tame0, %tame1\n" SOFTMAX("2") " %y = matmul %p, %tame2\n"),
     0},
    {"multiplied by themselves",
     GRAPH("%tame0: f32[16,40,36], %tame1: f32[16,36,40]", "%y",
           " %s = matmul %tame0, %tame1\n" SOFTMAX("2") " %y = matmul %p, %p\n"),
     0},
    {"the softmax of columns",
     GRAPH("%tame0: f32[16,40,36], %tame1: f32[16,36,50], %tame2: f32[16,50,34]", "%y",
           " %s = matmul %tame0, %tame1\n" SOFTMAX("1") " %y = matmul %p, %tame2\n"),
     0},
    {"transposed",
     GRAPH("%tame0: f32[16,40,36], %tame1: f32[16,36,50], %tame2: f32[16,40,34]", "%y",
           " %s = matmul %tame0, %tame1\n" SOFTMAX("2") " %t = permute %p axes=[0,2,1]\n"
                                                        " %y = matmul %t, %tame2\n"),
     0},
    {"few: all fits in the cache",
     GRAPH("%tame0: f32[1,40,36], %tame1: f32[1,36,50], %tame2: f32[1,50,34]", "%y",
           " %s = matmul %tame0, %tame1\n" SOFTMAX("2") " %y = matmul %p, %tame2\n"),
     0},
};

/* How many products of a plan are made block by block; and its temporary memory. */
static int chains_of(const char *text, bool whole, int64_t l2_bytes, int64_t *bytes) {
  return in_plan(text, whole, l2_bytes, "rows at a time", bytes);
}

static void need_library(void) {
  if (nxi_blas_get(NULL) == NULL) skip();
}

static void blocks_change_no_bit(void **state) {
  (void)state;
  need_library();
  nxt_shop_second_level(shop, SECOND_LEVEL);
  for (size_t i = 0; i < COUNT(samples); i++) {
    const sample *s = &samples[i];
    int64_t bytes, whole;
    int found = chains_of(s->text, false, SECOND_LEVEL, &bytes);
    if (found != s->chains) fail_msg("%s: %d chains", s->label, found);
    assert_int_equal(chains_of(s->text, true, SECOND_LEVEL, &whole), 0);
    if (found > 0 && bytes >= whole)
      fail_msg("%s: %lld bytes, %lld whole", s->label, (long long)bytes, (long long)whole);
    nxt_compare(shop, nxt_parse(s->text, 0, NULL), s->label,
                NXT_LLVM | NXT_LLVM_ALONE | NXT_LLVM_AVX2 | (i < 3 ? NXT_INTERPRETED : 0));
  }
  nxt_shop_second_level(shop, 0);
  assert_int_equal(nxt_differences(shop), 0);
}

/* The scores of eight heads of 1024 positions are 32 MiB; blocks take 4 at most. */
static void scores_are_never_whole(void **state) {
  (void)state;
  need_library();
  int64_t bytes;
  int n = chains_of(GRAPH("%q: f32[8,1024,64], %k: f32[8,64,1024], %v: f32[8,1024,64]", "%y",
                          " %s = matmul %q, %k\n" SOFTMAX("2") " %y = matmul %p, %v\n"),
                    false, 1 << 20, &bytes);
  assert_int_equal(n, 1);
  assert_in_range(bytes, 1, 4 << 20);
}

NXT_MAIN(chains) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_change_no_bit),
      cmocka_unit_test(scores_are_never_whole),
  };
  return cmocka_run_group_tests(tests, open_shop, close_shop);
}
