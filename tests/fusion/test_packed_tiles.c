/* SPDX-License-Identifier: ISC */
/* Operands of products that are packed tile by tile: the bits of the graph interpreter, which
 * writes them whole, from every executor, for one thread and two; and nothing is left out or lost.
 * Skipped without a BLAS. */
#include "shop.h"

#include "ir/alloc.h"
#include "runtime/library/blas/blas.h"
#include "tests/util/runner.h"

enum { SECOND_LEVEL = 16 << 10 };

static void need_library(void) {
  if (nxi_blas_get(NULL) == NULL) skip();
}

static nxi_target small_target(void) {
  nxi_target t = *nxi_target_host();
  t.l2_bytes = SECOND_LEVEL;
  return t;
}

/* How many operands a plan packs in tiles. */
static int packed_tiles_of(const char *text, bool whole) {
  return in_plan(text, whole, SECOND_LEVEL, "packs tiles", NULL);
}

typedef struct sample {
  const char *label, *text;
  int packed; /* operands that are made so */
} sample;

#define GRAPH(inputs, outputs, body) "nxir 2\ngraph @g(" inputs ") -> (" outputs ") {\n" body "}\n"

/* Windows of images [n, c, h, w] of kernel 3x3: the padded image, its view, and the columns. */
static const sample samples[] = {
    {"images",
     GRAPH("%tame0: f32[6,4,13,11], %tame1: f32[40,36]", "%y",
           " %p = pad %tame0 before=[0,0,1,1] after=[0,0,1,1]\n"
           " %v = as_strided %p strides=[780,195,13,1,13,1] offset=0 : f32[6,4,3,3,13,11]\n"
           " %c = copy %v\n %r = reshape %c shape=[6,36,143]\n %y = matmul %tame1, %r\n"),
     1},
    {"stride 2, dilation 3, more padding after, bias and relu",
     GRAPH("%tame0: f32[7,4,29,30], %tame1: f32[40,24], %tame2: f32[40,1]", "%y",
           " %p = pad %tame0 before=[0,0,2,0] after=[0,0,3,5]\n"
           " %v = as_strided %p strides=[4760,1190,105,3,70,2] offset=0 : f32[7,4,2,3,15,14]\n"
           " %c = copy %v\n %r = reshape %c shape=[7,24,210]\n %q = matmul %tame1, %r\n"
           " %b = add %q, %tame2\n %o = full 0 : f32[]\n %y = max %b, %o\n"),
     1},
    {"channels last, the first operand, rows of all images",
     GRAPH("%tame0: f32[8,52,52,4], %tame1: f32[36,34]", "%y",
           " %p = pad %tame0 before=[0,1,1,0] after=[0,1,1,0]\n"
           " %v = as_strided %p strides=[11664,216,4,216,4,1] offset=0 : f32[8,52,52,3,3,4]\n"
           " %c = copy %v\n %r = reshape %c shape=[21632,36]\n %y = matmul %r, %tame1\n"),
     1},
    {"one axis: units slide",
     GRAPH("%tame0: f32[8,16001], %tame1: f32[40,40]", "%y",
           " %p = pad %tame0 before=[0,2] after=[0,2]\n"
           " %v = as_strided %p strides=[16005,1,1] offset=0 : f32[8,5,16001]\n"
           " %c = copy %v\n %r = reshape %c shape=[40,16001]\n %y = matmul %tame1, %r\n"),
     1},
    {"three axes",
     GRAPH("%tame0: f32[6,2,9,8,7], %tame1: f32[33,54]", "%y",
           " %p = pad %tame0 before=[0,0,1,1,1] after=[0,0,1,1,1]\n"
           " %v = as_strided %p strides=[1980,990,90,9,1,90,9,1] offset=0 : f32[6,2,3,3,3,9,8,7]\n"
           " %c = copy %v\n %r = reshape %c shape=[6,54,504]\n %y = matmul %tame1, %r\n"),
     1},
    {"rows of what is elementwise",
     GRAPH("%tame0: f32[20001,40], %tame1: f32[40,40]", "%y",
           " %e = exp %tame0\n %y = matmul %e, %tame1\n"),
     1},
    {"rows that a position is part of",
     GRAPH("%tame0: f64[20000,36], %tame1: f64[36,40]", "%y",
           " %i = arange : f64[20000]\n %k = reshape %i shape=[20000,1]\n %b = expand %k "
           "shape=[20000,36]\n"
           " %h = full 1e-4 : f64[]\n %s = mul %b, %h\n %e = add %tame0, %s\n %y = matmul %e, "
           "%tame1\n"),
     1},
    {"the first operand transposed",
     GRAPH("%tame0: f32[40,20000], %tame1: f32[40,36]", "%y",
           " %e = neg %tame0\n %t = permute %e axes=[1,0]\n %y = matmul %t, %tame1\n"),
     1},
    {"the second operand transposed",
     GRAPH("%tame0: f32[20000,40], %tame1: f32[36,40]", "%y",
           " %e = neg %tame0\n %t = permute %e axes=[1,0]\n %y = matmul %tame1, %t\n"),
     1},
    {"small floats",
     GRAPH("%tame0: bf16[8,40,400], %tame1: bf16[36,40]", "%y", " %y = matmul %tame1, %tame0\n"),
     1},
    {"rows found by numbers",
     GRAPH("%tame0: f32[50,40], %i: i32[20000,1], %tame1: f32[40,40]", "%y",
           " %z = full 0 : i32[]\n %j = mul %i, %z\n %k = expand %j shape=[20000,40]\n"
           " %e = gather %tame0, %k axis=0\n %y = matmul %e, %tame1\n"),
     1},
    {"two axes of batches, a part of what is stored",
     GRAPH("%tame0: f32[3,5,40,101], %tame1: f32[3,5,36,40]", "%y",
           " %e = abs %tame0\n %v = shrink %e start=[0,0,0,1] stop=[3,5,40,100]\n %y = matmul "
           "%tame1, %v\n"),
     1},
    {"a product of a product",
     GRAPH("%tame0: f32[6,4,13,11], %tame1: f32[40,36], %tame2: f32[33,40]", "%y",
           " %p = pad %tame0 before=[0,0,1,1] after=[0,0,1,1]\n"
           " %v = as_strided %p strides=[780,195,13,1,13,1] offset=0 : f32[6,4,3,3,13,11]\n"
           " %c = copy %v\n %r = reshape %c shape=[6,36,143]\n %q = matmul %tame1, %r\n"
           " %t = tanh %q\n %y = matmul %tame2, %t\n"),
     1},
    {"an input that is updated later",
     GRAPH("%tame0: f32[20000,40] overwrite, %tame1: f32[40,40], %tame2: f32[20000,40]", "%y, %u",
           " %e = neg %tame0\n %q = matmul %e, %tame1\n"
           " %u = update %tame0, %tame2 offset=0 shape=[20000,40] strides=[40,1]\n %y = add %q, "
           "%u\n"),
     1},
    {"deep: even pieces of the inner extent, bias and relu",
     GRAPH("%tame0: f32[8,256,6,6], %tame1: f32[40,2304], %tame2: f32[40,1]", "%y",
           " %p = pad %tame0 before=[0,0,1,1] after=[0,0,1,1]\n"
           " %v = as_strided %p strides=[16384,64,8,1,8,1] offset=0 : f32[8,256,3,3,6,6]\n"
           " %c = copy %v\n %r = reshape %c shape=[8,2304,36]\n %q = matmul %tame1, %r\n"
           " %b = add %q, %tame2\n %o = full 0 : f32[]\n %y = max %b, %o\n"),
     1},
    {"deep: pieces that cut through a window",
     GRAPH("%tame0: f32[8,683,40], %tame1: f32[40,2049]", "%y",
           " %p = pad %tame0 before=[0,0,1] after=[0,0,1]\n"
           " %v = as_strided %p strides=[28686,42,1,1] offset=0 : f32[8,683,3,40]\n"
           " %c = copy %v\n %r = reshape %c shape=[8,2049,40]\n %y = matmul %tame1, %r\n"),
     1},
    {"deep: the gradient of the weights, of each image",
     GRAPH("%tame0: f32[4,4,50,50], %tame1: f32[4,40,2500]", "%y",
           " %p = pad %tame0 before=[0,0,1,1] after=[0,0,1,1]\n"
           " %v = as_strided %p strides=[10816,2704,52,1,52,1] offset=0 : f32[4,4,3,3,50,50]\n"
           " %c = copy %v\n %r = reshape %c shape=[4,36,2500]\n %t = permute %r axes=[0,2,1]\n"
           " %y = matmul %tame1, %t\n"),
     1},
    {"deep: the gradient of the weights, of all images, stride and dilation 2",
     GRAPH("%tame0: f32[8,32,36,37], %tame1: f32[40,2312]", "%y",
           " %p = pad %tame0 before=[0,0,1,0] after=[0,0,0,0]\n"
           " %v = as_strided %p strides=[43808,1369,74,2,74,2] offset=0 : f32[8,32,3,3,17,17]\n"
           " %t = permute %v axes=[0,4,5,1,2,3]\n %c = copy %t\n"
           " %r = reshape %c shape=[2312,288]\n %y = matmul %tame1, %r\n"),
     1},
    {"deep: pieces that cut through a row of positions, f64",
     GRAPH("%tame0: f64[9,32,13,19], %tame1: f64[40,2223]", "%y",
           " %p = pad %tame0 before=[0,0,1,1] after=[0,0,1,1]\n"
           " %v = as_strided %p strides=[10080,315,21,1,21,1] offset=0 : f64[9,32,3,3,13,19]\n"
           " %t = permute %v axes=[0,4,5,1,2,3]\n %c = copy %t\n"
           " %r = reshape %c shape=[2223,288]\n %y = matmul %tame1, %r\n"),
     1},
    {"deep: rows of what is elementwise",
     GRAPH("%tame0: f32[500,2203], %tame1: f32[2203,40]", "%y",
           " %e = abs %tame0\n %y = matmul %e, %tame1\n"),
     1},
    {"deep: small floats, the first operand transposed",
     GRAPH("%tame0: bf16[2200,500], %tame1: bf16[2200,36]", "%y",
           " %t = permute %tame0 axes=[1,0]\n %y = matmul %t, %tame1\n"),
     1},
    {"complex: the parts in turn",
     GRAPH("%tame0: c128[6,4,13,11], %tame1: c128[40,36]", "%y",
           " %p = pad %tame0 before=[0,0,1,1] after=[0,0,1,1]\n"
           " %v = as_strided %p strides=[780,195,13,1,13,1] offset=0 : c128[6,4,3,3,13,11]\n"
           " %c = copy %v\n %r = reshape %c shape=[6,36,143]\n %y = matmul %tame1, %r\n"),
     1},
    {"complex: rows, channels last, stride 2",
     GRAPH("%tame0: c64[20,55,63,4], %tame1: c64[36,34]", "%y",
           " %p = pad %tame0 before=[0,1,1,0] after=[0,1,1,0]\n"
           " %v = as_strided %p strides=[14820,520,8,260,4,1] offset=0 : c64[20,28,32,3,3,4]\n"
           " %c = copy %v\n %r = reshape %c shape=[17920,36]\n %y = matmul %r, %tame1\n"),
     1},
    {"complex, deep: pieces that cut through the parts",
     GRAPH("%tame0: c64[8,513,40], %tame1: c64[36,1539]", "%y",
           " %p = pad %tame0 before=[0,0,1] after=[0,0,1]\n"
           " %v = as_strided %p strides=[21546,42,1,1] offset=0 : c64[8,513,3,40]\n"
           " %c = copy %v\n %r = reshape %c shape=[8,1539,40]\n %y = matmul %tame1, %r\n"),
     1},
    {"deep: a cat of what is elementwise, which pieces cut through",
     GRAPH("%tame0: f32[500,1151], %tame1: f32[500,1152], %tame2: f32[2303,40]", "%y",
           " %a = neg %tame0\n %b = abs %tame1\n %e = cat %a, %b axis=1\n"
           " %y = matmul %e, %tame2\n"),
     1},
    {"a cat, transposed",
     GRAPH("%tame0: f32[20000,16], %tame1: f32[20000,24], %tame2: f32[36,40]", "%y",
           " %a = neg %tame0\n %b = abs %tame1\n %e = cat %a, %b axis=1\n"
           " %t = permute %e axes=[1,0]\n %y = matmul %tame2, %t\n"),
     1},
    {"the same windows for two sets of weights",
     GRAPH("%tame0: f32[6,4,23,21], %tame1: f32[2,1,40,36]", "%y",
           " %p = pad %tame0 before=[0,0,1,1] after=[0,0,1,1]\n"
           " %v = as_strided %p strides=[2300,575,23,1,23,1] offset=0 : f32[6,4,3,3,23,21]\n"
           " %c = copy %v\n %r = reshape %c shape=[6,36,483]\n %y = matmul %tame1, %r\n"),
     1},
    {"two products read it: the result and the gradient",
     GRAPH("%tame0: f32[8,4,23,21], %tame1: f32[40,36], %tame2: f32[8,40,483]", "%y, %g",
           " %p = pad %tame0 before=[0,0,1,1] after=[0,0,1,1]\n"
           " %v = as_strided %p strides=[2300,575,23,1,23,1] offset=0 : f32[8,4,3,3,23,21]\n"
           " %c = copy %v\n %r = reshape %c shape=[8,36,483]\n %y = matmul %tame1, %r\n"
           " %t = permute %r axes=[0,2,1]\n %q = matmul %tame2, %t\n"
           " %g = reduce_sum %q axes=[0]\n"),
     2},
    {"two products read it, what it reads is updated after both",
     GRAPH("%tame0: f32[20000,40] overwrite, %tame1: f32[40,40], %tame2: f32[20000,40], "
           "%tame3: f32[40,36]",
           "%y, %z, %u",
           " %e = neg %tame0\n %q = matmul %e, %tame1\n %z = matmul %e, %tame3\n"
           " %u = update %tame0, %tame2 offset=0 shape=[20000,40] strides=[40,1]\n %y = add %q, "
           "%u\n"),
     2},
    /* not these */
    {"read by a product that can make it and one that cannot",
     GRAPH("%tame0: f32[20000,40], %tame1: f32[40,40]", "%y, %z",
           " %e = neg %tame0\n %y = matmul %e, %tame1\n %t = permute %e axes=[1,0]\n"
           " %z = matmul %t, %e\n"),
     0},
    {"read twice",
     GRAPH("%tame0: f32[20000,40], %tame1: f32[40,40]", "%y, %s",
           " %e = exp %tame0\n %y = matmul %e, %tame1\n %s = reduce_sum %e axes=[0,1]\n"),
     0},
    {"an output",
     GRAPH("%tame0: f32[20000,40], %tame1: f32[40,40]", "%y, %e",
           " %e = exp %tame0\n %y = matmul %e, %tame1\n"),
     0},
    {"in one tile",
     GRAPH("%tame0: f32[100,100], %tame1: f32[100,100]", "%y",
           " %e = exp %tame0\n %y = matmul %e, %tame1\n"),
     0},
};

/* What several products would make, each again. */
static const sample expensive[] = {
    {"read by two products, and expensive",
     GRAPH("%tame0: f32[20000,40], %tame1: f32[40,40], %tame2: f32[40,36]", "%y, %z",
           " %e = erf %tame0\n %y = matmul %e, %tame1\n %z = matmul %e, %tame2\n"),
     0},
    {"the same for all batches, and expensive",
     GRAPH("%tame0: f32[4608,400], %tame1: f32[2,36,4608]", "%y",
           " %e = erf %tame0\n %y = matmul %tame1, %e\n"),
     0},
};

static void what_is_expensive_is_made_once(void **state) {
  (void)state;
  need_library();
  for (size_t i = 0; i < COUNT(expensive); i++)
    if (packed_tiles_of(expensive[i].text, false) != expensive[i].packed)
      fail_msg("%s", expensive[i].label);
}

static void every_layout_has_the_same_bits(void **state) {
  (void)state;
  need_library();
  nxt_shop_second_level(shop, SECOND_LEVEL);
  for (size_t i = 0; i < COUNT(samples); i++) {
    const sample *s = &samples[i];
    if (packed_tiles_of(s->text, false) != s->packed)
      fail_msg("%s: wrong operands in packed tiles", s->label);
    assert_int_equal(packed_tiles_of(s->text, true), 0);
    nxt_compare(shop, nxt_parse(s->text, 0, NULL), s->label,
                NXT_LLVM | NXT_LLVM_ALONE | (i < 2 ? NXT_LLVM_AVX2 | NXT_INTERPRETED : 0));
  }
  nxt_shop_second_level(shop, 0);
  assert_int_equal(nxt_differences(shop), 0);
}

/* ---- what the library reads lies as it was recorded, for its loops for rows and for columns round
 * differently */

static const sample lying[] = {
    {"the batch runs backwards",
     GRAPH("%tame0: f32[3,100,100], %tame1: f32[100,100]", "%y",
           "  %v = view %tame0 strides=[-10000,1,100] offset=20000 : f32[3,100,100]\n"
           "  %y = matmul %v, %tame1 : f32[3,100,100]\n"),
     0},
    {"numbers in a row, read by columns",
     GRAPH("%tame0: f32[100,100]", "%y",
           "  %n = arange start=0.1 step=0.37 : f32[10000]\n"
           "  %v = view %n strides=[1,100] offset=0 : f32[100,100]\n"
           "  %y = matmul %v, %tame0 : f32[100,100]\n"),
     0},
    {"what changes nothing",
     GRAPH("%tame0: f32[100,100], %tame1: f32[100,100]", "%y, %z",
           "  %one = full 1 : f32[100,100]\n"
           "  %v = view %tame0 strides=[1,100] offset=0 : f32[100,100]\n"
           "  %a = mul %v, %one : f32[100,100]\n"
           "  %u = view %tame1 strides=[1,100] offset=0 : f32[100,100]\n"
           "  %b = neg %u : f32[100,100]\n"
           "  %c = neg %b : f32[100,100]\n"
           "  %y = matmul %a, %c : f32[100,100]\n"
           "  %z = matmul %v, %u : f32[100,100]\n"),
     0},
};

static void operands_lie_as_recorded(void **state) {
  (void)state;
  need_library();
  for (size_t i = 0; i < COUNT(lying); i++)
    nxt_compare(shop, nxt_parse(lying[i].text, 0, NULL), lying[i].label,
                NXT_LLVM | NXT_LLVM_ALONE | NXT_INTERPRETED);
  assert_int_equal(nxt_differences(shop), 0);
}

/* ---- want of memory, while the plan is made and while it runs: said, and nothing leaks */

typedef struct run {
  nxg_graph *g;
  void *inputs[2];
  float *y;
  int64_t elements;
} run;

static void open_run(run *r, const char *text) {
  r->g = nxt_parse(text, 0, NULL);
  assert_non_null(r->g);
  for (uint32_t i = 0; i < 2; i++) {
    int64_t n = nxg_node_elements(&r->g->nodes[r->g->inputs[i].node]);
    float *x = r->inputs[i] = malloc((size_t)n * sizeof *x);
    assert_non_null(x);
    for (int64_t e = 0; e < n; e++) x[e] = (float)(e * 7919 % 1000) / 999;
  }
  r->elements = nxg_node_elements(&r->g->nodes[r->g->outputs[0].node]);
  r->y = malloc((size_t)r->elements * sizeof *r->y);
  assert_non_null(r->y);
}

static void close_run(run *r) {
  nxg_destroy(r->g);
  free(r->inputs[0]), free(r->inputs[1]), free(r->y);
}

static nx_status make_plan(const run *r, bool bound, nxi_executable **plan, nxi_diag *d) {
  nxi_target target = small_target();
  nxi_executable_options o = {.executor = NXI_KERNEL_INTERP,
                              .fuse = true,
                              .bound_interp = bound,
                              .target = &target,
                              .threads = 2};
  nxi_diag_clear(d);
  return nxi_executable_create(r->g, &o, NULL, NULL, plan, NULL, d);
}

static nx_status launch(run *r, const nxi_executable *plan, nxi_diag *d) {
  void *outputs[1] = {r->y};
  size_t bytes = (size_t)nxi_executable_plan(plan)->temporary_bytes;
  void *temporary = aligned_alloc(64, (bytes + 127) / 64 * 64);
  assert_non_null(temporary);
  memset(r->y, 0xff, (size_t)r->elements * sizeof *r->y);
  nxi_diag_clear(d);
  nx_status status = nxi_executable_launch(
      plan, &(nxi_launch){.inputs = r->inputs, .outputs = outputs, .temporary = temporary}, d);
  free(temporary);
  return status;
}

static void no_memory_is_said(void **state) {
  (void)state;
  need_library();
  run r;
  nxi_diag d;
  nxi_executable *plan = NULL;
  open_run(&r, samples[0].text);
  nx_status status = NX_OUT_OF_MEMORY;
  for (int64_t point = 0; status != NX_OK; point++) {
    nxi_alloc_fail(point, false);
    status = make_plan(&r, true, &plan, &d);
    nxi_alloc_fail(-1, false);
    if (status != NX_OK) assert_int_equal(status, NX_OUT_OF_MEMORY);
    assert_true(point < 5000);
  }
  assert_int_equal(launch(&r, plan, &d), NX_OK);
  float *wanted = malloc((size_t)r.elements * sizeof *wanted);
  memcpy(wanted, r.y, (size_t)r.elements * sizeof *wanted);
  status = NX_OUT_OF_MEMORY;
  for (int64_t point = 0; status != NX_OK; point += 1 + point / 8) { /* of thousands, some */
    nxi_alloc_fail(point, false);
    status = launch(&r, plan, &d);
    nxi_alloc_fail(-1, false);
    if (status != NX_OK) assert_int_equal(status, NX_OUT_OF_MEMORY);
    assert_true(point < 1000000);
  }
  assert_memory_equal(wanted, r.y, (size_t)r.elements * sizeof *wanted);
  nxi_executable_destroy(plan);
  free(wanted);
  close_run(&r);
}

/* The interpreter of graphs asks for memory while it multiplies: it has the plan's bits or says
 * that there is none. */
static void the_interpreter_says_it_too(void **state) {
  (void)state;
  need_library();
  run r;
  nxi_diag d;
  nxi_executable *plan = NULL;
  nxi_executable_options o = {
      .executor = NXI_GRAPH_INTERP, .fuse = true, .target = nxi_target_host(), .threads = 1};
  open_run(&r, GRAPH("%tame0: f32[40,20000], %tame1: f32[20000,36]", "%y",
                     " %y = matmul %tame0, %tame1\n"));
  nxi_diag_clear(&d);
  assert_int_equal(nxi_executable_create(r.g, &o, NULL, NULL, &plan, NULL, &d), NX_OK);
  assert_int_equal(launch(&r, plan, &d), NX_OK);
  float *wanted = malloc((size_t)r.elements * sizeof *wanted);
  assert_non_null(wanted);
  memcpy(wanted, r.y, (size_t)r.elements * sizeof *wanted);
  int failures = -1;
  for (nx_status status = NX_OUT_OF_MEMORY; status != NX_OK; failures++) {
    nxi_alloc_fail(failures + 1, false);
    status = launch(&r, plan, &d);
    nxi_alloc_fail(-1, false);
    if (status != NX_OK) assert_int_equal(status, NX_OUT_OF_MEMORY);
    if (status != NX_OK) assert_int_equal(d.status, NX_OUT_OF_MEMORY);
  }
  assert_true(failures > 0);
  assert_memory_equal(wanted, r.y, (size_t)r.elements * sizeof *wanted);
  nxi_executable_destroy(plan);
  free(wanted);
  close_run(&r);
}

NXT_MAIN(packed_tiles) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_layout_has_the_same_bits),
      cmocka_unit_test(what_is_expensive_is_made_once),
      cmocka_unit_test(operands_lie_as_recorded),
      cmocka_unit_test(no_memory_is_said),
      cmocka_unit_test(the_interpreter_says_it_too),
  };
  return cmocka_run_group_tests(tests, open_shop, close_shop);
}
