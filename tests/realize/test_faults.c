/* SPDX-License-Identifier: ISC */
/* A representative program is run many times, each time with another allocation that fails. Each
 * step reports an error or gives the right result; a failed step succeeds when it is tried again;
 * and nothing is leaked, which the context's counters and the address sanitizer check. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ir/alloc.h"
#include "runtime/record/objects.h"
#include "tests/util/api.h"
#include "tests/util/executor.h"
#include "tests/util/share.h"

static int released;
static void count_release(void *user) { (void)user, released++; }
static char path[] = "nx_fault_XXXXXX";

/* Each step may fail because an allocation fails; then it is tried again with memory, and must
 * succeed. */
static bool failing; /* an allocation is going to fail */
static uint32_t failures;

static bool out_of_memory(void) {
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  if (e.status != NX_OUT_OF_MEMORY)
    fprintf(stderr, "unexpected: %s: %s\n", nx_status_name(e.status), e.message);
  assert_true(failing && e.status == NX_OUT_OF_MEMORY);
  /* Checks that the error names the operation, and the number of bytes that could not be
   * allocated. */
  char lead[64];
  snprintf(lead, sizeof lead, "%s: ", e.op);
  if (!e.op[0] || strncmp(e.message, lead, strlen(lead)) != 0 || !strstr(e.message, " bytes "))
    fprintf(stderr, "%s: %s\n", e.op, e.message);
  assert_true(e.op[0] && strncmp(e.message, lead, strlen(lead)) == 0);
  assert_non_null(strstr(e.message, " bytes "));
  failing = false;
  failures++;
  return true;
}
#define STEP(call)                                    \
  do {                                                \
    if ((call) != NX_OK && out_of_memory()) OK(call); \
  } while (0)
#define MAKE(variable, expression)                                 \
  do {                                                             \
    variable = (expression);                                       \
    if (!variable && out_of_memory()) variable = GOOD(expression); \
  } while (0)

/* An expression of several calls. If any of them fails, all are tried again. */
static nx_tensor *formula(nx_tensor *x) {
  nx_tensor *two = nx_full(ctx, 0, NX_F32, NULL, 0, NX_NUMBER(3)), *scaled = nx_mul(x, two),
            *e = nx_tanh(scaled);
  nx_tensor *s = nx_reduce_sum(e, NX_AXES(1), NX_KEEPDIMS), *d = nx_div(e, s);
  nx_tensor *p = nx_pad(d, (int64_t[]){0, 1}, (int64_t[]){0, 0}, 2, NX_NUMBER(7));
  nx_tensor *result = nx_cat((nx_tensor *[]){p, p, p, p, p, p}, 6, 0);
  nx_tensor *all[] = {two, scaled, e, s, d, p};
  for (int i = 0; i < 6; i++) nx_tensor_release(all[i]);
  return result;
}

static nx_status make_function(nx_tensor *w, nx_function **f) {
  nx_tensor *x = nx_placeholder(ctx, 0, NX_F32, NX_SHAPE(4, 4)), *y = nx_matmul(x, w),
            *z = nx_add(w, x);
  nx_status status = y && z ? NX_OK : NX_OUT_OF_MEMORY;
  if (!status) status = nx_assign(w, z);
  if (!status) status = nx_function_create(ctx, &x, 1, &y, 1, NULL, f);
  nx_tensor_release(y), nx_tensor_release(z), nx_tensor_release(x);
  return status;
}

static void part_function(nx_tensor *w) {
  nx_function *f = NULL;
  nx_tensor *one, *out = NULL, *again = NULL;
  STEP(make_function(w, &f));
  MAKE(one, nx_full(ctx, 0, NX_F32, NX_SHAPE(4, 4), NX_NUMBER(1)));
  STEP(nx_function_call(f, &one, 1, &out, 1, NULL));
  STEP(nx_function_record(f, &one, 1, &again, 1));
  nx_scalar a;
  STEP(nx_item(again, (int64_t[]){0, 0}, 2, &a, NULL));
  assert_true(a.v.f[0] == 12);
  STEP(nx_item(out, (int64_t[]){0, 0}, 2, &a, NULL));
  assert_true(a.v.f[0] == 8);
  nx_function_release(f);
  release(one), release(out), release(again);
}

static void part_mutation(nx_tensor *x) {
  nx_tensor *view, *negated, *before;
  nx_mapping *m = NULL;
  MAKE(before, nx_neg(x));
  MAKE(view, nx_slice(x, (int64_t[]){0, 0}, (int64_t[]){2, 4}, (int64_t[]){2, 1}, 2));
  MAKE(negated, nx_neg(view));
  STEP(nx_assign(view, negated));
  STEP(nx_map(x, NX_MAP_READ | NX_MAP_WRITE, NULL, &m));
  float *p = nx_mapping_base(m, NULL);
  assert_true(p[1] == -1 && p[5] == 5);
  p[1] = 50;
  STEP(nx_assign(view, negated));
  assert_true(p[1] == -1);
  nx_mapping_release(m);
  nx_scalar a;
  STEP(nx_item(before, (int64_t[]){0, 1}, 2, &a, NULL));
  assert_true(a.v.f[0] == -1);
  release(before), release(view), release(negated);
}

static void part_import(void) {
  float memory[4] = {1, 2, 3, 4};
  int64_t shape = 4;
  nx_import_desc d = {.size = sizeof d,
                      .mode = NX_IMPORT_SHARED,
                      .dtype = NX_F32,
                      .rank = 1,
                      .shape = &shape,
                      .base = memory,
                      .bytes = sizeof memory,
                      .release = count_release};
  nx_tensor *t = NULL, *one, *sum;
  int before = released;
  STEP(nx_import(ctx, &d, &t));
  assert_int_equal(released, before);
  MAKE(one, nx_full(ctx, 0, NX_F32, NULL, 0, NX_NUMBER(1)));
  MAKE(sum, nx_add(t, one));
  STEP(nx_assign(t, sum));
  assert_true(memory[0] == 2 && memory[3] == 5);
  d.base = memory + 2, d.bytes = sizeof *memory, shape = 1;
  nx_tensor *within = NULL;
  STEP(nx_import(ctx, &d, &within));
  STEP(nx_end_sharing(t, NULL)); /* the other tensor keeps the memory */
  STEP(nx_end_sharing(within, NULL));
  nx_scalar last;
  STEP(nx_item(t, (int64_t[]){3}, 1, &last, NULL));
  assert_true(last.v.f[0] == 5);
  release(t), release(one), release(sum), release(within);
  nx_context_collect(ctx);
  assert_int_equal(released, before + 2);
}

/* Two elements in a byte, a view that begins between bytes. */
static void part_nibbles(void) {
  nx_tensor *x, *odd, *twice;
  const uint8_t memory[3] = {0x21, 0x43, 0x05};
  uint8_t is[3];
  MAKE(x, nx_empty(ctx, 0, NX_I4, NX_SHAPE(5)));
  STEP(nx_write(x, memory, sizeof memory, NULL));
  MAKE(odd, nx_slice(x, (int64_t[]){1}, (int64_t[]){3}, (int64_t[]){1}, 1));
  MAKE(twice, nx_add(odd, odd));
  STEP(nx_assign(odd, twice));
  STEP(nx_read(x, is, sizeof is, NULL));
  assert_true(is[0] == 0x41 && is[1] == 0x86 && (is[2] & 15) == 5);
  release(x), release(odd), release(twice);
}

/* State that is assigned and read later, with other values that are computed in the same run; and a
 * call that takes this state. */
static void part_state(nx_tensor *x) {
  nx_tensor *w, *y, *aside, *loss, *in, *out, *gone, *taken = NULL;
  const uint8_t donate = 1;
  nx_function_options fo = {.size = sizeof fo, .donate = &donate};
  nx_run_options pending = {.size = sizeof pending, .flags = NX_DO_PENDING};
  nx_function *f = NULL;
  nx_scalar a;
  MAKE(w, nx_copy(x));
  for (int step = 0; step < 3; step++) {
    MAKE(y, nx_matmul(x, w));
    MAKE(aside, nx_neg(x));
    STEP(nx_assign(w, y));
    MAKE(loss, nx_matmul(x, y));
    release(y);
    STEP(nx_item(loss, (int64_t[]){0, 0}, 2, &a, step == 1 ? &pending : NULL));
    release(aside), release(loss);
  }
  static double wanted; /* the result of the first run */
  if (wanted == 0) wanted = a.v.f[0];
  assert_true(a.v.f[0] == wanted && wanted != 0);
  MAKE(in, nx_placeholder(ctx, 0, NX_F32, NX_SHAPE(4, 4)));
  MAKE(out, nx_neg(in));
  STEP(nx_function_create(ctx, &in, 1, &out, 1, &fo, &f));
  STEP(nx_function_call(f, &w, 1, &taken, 1, NULL));
  MAKE(gone, nx_neg(w));
  nx_status status = nx_realize(ctx, &gone, 1, NULL);
  if (status == NX_OUT_OF_MEMORY && out_of_memory()) status = nx_realize(ctx, &gone, 1, NULL);
  assert_int_equal(status, NX_DONATED);
  nx_error_take(NULL);
  nx_function_release(f);
  release(w), release(in), release(out), release(gone), release(taken);
}

static int32_t go_on(void *user) { return ++*(int *)user, 0; }

/* With a poll another thread does the work, or this one if there is no memory for another. */
static void part_polled(void) {
  nx_tensor *line, *y;
  int polls = 0;
  nx_run_options o = {.size = sizeof o, .poll = go_on, .user = &polls};
  MAKE(line, nx_arange(ctx, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(1), 70000));
  MAKE(y, nx_neg(line));
  STEP(nx_realize(ctx, &y, 1, &o));
  assert_true(polls > 0);
  nx_scalar last;
  STEP(nx_item(y, (int64_t[]){69999}, 1, &last, &o));
  assert_true(last.v.f[0] == -69999);
  release(line), release(y);
}

/* Composed operations, checks of indices, scans in blocks. */
static void part_indexed(nx_tensor *x) {
  nx_tensor *i, *g, *half, *small, *s, *line, *c, *found, *mask;
  int64_t two[2] = {2, 2};
  nx_window w = {.size = sizeof w, .n = 2, .kernel = two};
  nx_scalar a;
  MAKE(i, nx_full(ctx, 0, NX_I32, NX_SHAPE(2, 4), NX_INTEGER(-2)));
  MAKE(g, nx_gather(x, i, 0));
  MAKE(half, nx_cast(x, NX_F16));
  MAKE(small, nx_cast(g, NX_F16));
  MAKE(s, nx_scatter(half, i, small, 0, NX_SCATTER_ADD, 0));
  STEP(nx_item(s, (int64_t[]){2, 3}, 2, &a, NULL));
  assert_true(a.v.f[0] == 33);
  MAKE(line, nx_arange(ctx, 0, NX_F32, NX_NUMBER(1), NX_NUMBER(0), 40000));
  MAKE(c, nx_associative_scan(line, NX_SCAN_SUM, 0));
  STEP(nx_item(c, (int64_t[]){39999}, 1, &a, NULL));
  assert_true(a.v.f[0] == 40000);
  release(g), release(c);
  MAKE(g, nx_unfold(x, &w));
  MAKE(c, nx_fold(g, (int64_t[]){4, 4}, 2, &w));
  STEP(nx_item(c, (int64_t[]){1, 1}, 2, &a, NULL));
  assert_true(a.v.f[0] == 20);
  MAKE(mask, nx_cmpeq(x, x));
  MAKE(found, nx_true_indices(mask, 3));
  STEP(nx_item(found, (int64_t[]){2}, 1, &a, NULL));
  assert_true(a.v.i == 2);
  release(i), release(g), release(half), release(small), release(s), release(line), release(c);
  release(found), release(mask);
}

static void program(void) {
  nx_tensor *line, *x, *y, *back = NULL;
  MAKE(line, nx_arange(ctx, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(1), 16));
  MAKE(x, nx_reshape(line, NX_SHAPE(4, 4), 0));
  nx_scope *s = nx_scope_begin(ctx);
  if (!s && out_of_memory()) s = nx_scope_begin(ctx);
  MAKE(y, nx_keep(formula(x)));
  nx_scope_end(s);
  STEP(nx_realize(ctx, &y, 1, NULL));
  float values[24 * 5];
  STEP(nx_read(y, values, sizeof values, NULL));
  assert_true(values[0] == 7 && values[1] == 0);
  char *text = NULL;
  STEP(nx_dump(&x, 1, "graph", &text));
  nx_string_free(text);
  part_indexed(x);
  part_mutation(x);
  part_import();
  part_nibbles();
  part_function(x);
  part_state(x);
  part_polled();
  STEP(nx_save_npy(y, path, NULL));
  STEP(nx_load_npy(ctx, path, &back));
  STEP(nx_write(back, values, sizeof values, NULL));
  release(line), release(x), release(y), release(back);
}

static void expect_nothing_left(void) {
  nx_context_collect(ctx);
  nx_stats s = {.size = sizeof s};
  nx_context_stats(ctx, &s);
  assert_int_equal(s.pending_nodes, 0);
  assert_int_equal(s.live_bytes, 0);
  assert_int_equal(ctx->live_nodes, 0);
  assert_int_equal(ctx->live_storages, 0);
}

/* Every step-th allocation fails, each in a new context, so that nothing is cached from the last
 * one but what lies on disk. */
static void each_fails_once(const char *cache_dir, int64_t step) {
  failures = 0;
  nxi_slab_each = true; /* handles, storages and nodes can fail too */
  /* with the address sanitizer in between the points of a build without it */
  for (int64_t point = SANITIZED ? step / 3 : 0;; point += step) {
    nx_context_options o = {.size = sizeof o, .cache_dir = cache_dir, .threads = 1};
    failing = true;
    int64_t before = nxi_alloc_count();
    nxi_alloc_fail(point, false);
    nx_status status = nx_context_create(&o, &ctx);
    if (status) {
      out_of_memory();
      continue;
    }
    program();
    bool over = nxi_alloc_count() - before <= point; /* the program has fewer allocations */
    nxi_alloc_fail(-1, false);
    expect_nothing_left();
    nx_context_release(ctx);
    if (over) break;
  }
  nxi_slab_each = false;
  assert_true(failures * step > 150);
}

/* The step between allocations that fail. Interpreting graphs node by node is fast, so with the
 * address sanitizer, which finds leaks, each allocation fails once. If kernels are interpreted or
 * compiled, each `others`-th allocation fails; with that sanitizer, or where of many tests a part
 * is run, an eighth or a quarter of those. */
static int64_t step_of(int64_t others) {
  if (nxt_executor_is("interp")) return SANITIZED ? 1 : nxt_share();
  return others * (SANITIZED ? 8 : nxt_share() > 1 ? 4 : 1);
}

/* Kernels come from the directory that the tests share, where there are compiled ones. */
static void every_allocation_fails_once(void **state) {
  (void)state;
  each_fails_once(NULL, step_of(3));
}

/* Kernels are made anew for each point, a tenth of a second by LLVM. */
static void with_nothing_stored(void **state) {
  (void)state;
  each_fails_once("", step_of(29));
}

/* From some point on every allocation fails: there are errors but no leak, and the context works
 * again afterwards. */
static void memory_stays_exhausted(void **state) {
  (void)state;
  nx_context_options o = {.size = sizeof o, .cache_dir = "", .threads = 1};
  OK(nx_context_create(&o, &ctx));
  for (int64_t point = 0; point < 60; point++) {
    nx_tensor *line = nx_arange(ctx, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(1), 16),
              *x = GOOD(nx_reshape(line, NX_SHAPE(4, 4), 0));
    nxi_alloc_fail(point, true);
    nx_tensor *y = formula(x);
    nx_status status = y ? nx_realize(ctx, &y, 1, NULL) : NX_OUT_OF_MEMORY;
    nxi_alloc_fail(-1, false);
    nx_status error = nx_error_take(NULL);
    assert_true(error == status);
    assert_true(status == NX_OK || status == NX_OUT_OF_MEMORY);
    if (y) OK(nx_realize(ctx, &y, 1, NULL));
    release(line), release(x), release(y);
    expect_nothing_left();
  }
  nx_context_release(ctx);
}

/* ---- the error of a realise names the operation with its tag, and the purpose of the memory */

static const struct {
  const char *text, *op; /* op: NULL if it may be either */
  bool compiled;         /* only if kernels are compiled */
} purposes[] = {
    {"planning: ", NULL, false},
    {"launching: ", NULL, false},
    {"its result, f32[20000]: memory is exhausted: ", "sub", false},
    {"its result, f32[20000]: memory is exhausted: 80000 bytes could not be had", "sub", false},
    {"its result, f32[1]: memory is exhausted: ", "reduce_sum", false},
    {"its result, f32[1]: memory is exhausted: 4 bytes could not be had", "reduce_sum", false},
    {"compiling kernel ", NULL, true},
    {"intermediate results, ", NULL, true},
    {"interpreting: ", NULL, false} /* by some executors */
};
enum { PURPOSES = sizeof purposes / sizeof *purposes, SOMETIMES = PURPOSES - 1 };

/* Two results: a sum, which is computed by two kernels with partial results between them, and an
 * operation that uses it. */
static void two_results(nx_tensor *line, nx_tensor **y) {
  nx_tensor *root = nx_sqrt(line), *all;
  nx_tag_set(7, "the sum");
  y[0] = GOOD(nx_reduce_sum(root, NX_AXES(0), NX_KEEPDIMS));
  all = nx_abs(y[0]);
  nx_tag_set(8, "the difference");
  y[1] = GOOD(nx_sub(line, all));
  nx_tag_set(0, NULL);
  release(root), release(all);
}

static void note_purpose(const nx_error *e, bool *seen) {
  bool known = false, sum = !strcmp(e->op, "reduce_sum") && e->tag == 7,
       difference = !strcmp(e->op, "sub") && e->tag == 8,
       neither = !strncmp(e->message, "realize: planning: ", 19);
  const char *purpose = e->message + strlen(e->op) + 2;
  for (int i = 0; i < PURPOSES; i++) {
    if (strncmp(purpose, purposes[i].text, strlen(purposes[i].text)) != 0) continue;
    seen[i] = true;
    known |= !purposes[i].op || !strcmp(purposes[i].op, e->op);
  }
  if (!known || !(sum || difference || neither))
    fail_msg("%s, tag %d: %s", e->op, (int)e->tag, e->message);
}

static void memory_has_a_purpose(void **state) {
  (void)state;
  bool seen[PURPOSES] = {false}, over = false, compiled = false;
  for (int64_t point = 0; !over; point++) {
    nx_context_options o = {.size = sizeof o, .cache_dir = "", .threads = 2};
    OK(nx_context_create(&o, &ctx));
    nx_tensor *line = vector(20000, 1, 1), *y[2];
    two_results(line, y);
    nx_report r = {.size = sizeof r};
    nx_run_options run = {.size = sizeof run, .report = &r};
    int64_t before = nxi_alloc_count();
    nxi_alloc_fail(point, false);
    nx_status status = nx_realize(ctx, y, 2, &run);
    nxi_alloc_fail(-1, false);
    over = nxi_alloc_count() - before <= point; /* the realise has fewer allocations */
    compiled = r.kernel_misses > 0;
    nx_error e = {.size = sizeof e};
    assert_int_equal(nx_error_take(&e), status);
    assert_true(status == NX_OK || (status == NX_OUT_OF_MEMORY && !over));
    if (status) note_purpose(&e, seen); /* else the realise succeeded without this memory */
    release(line), release(y[0]), release(y[1]);
    nx_context_release(ctx);
  }
  for (int i = 0; i < SOMETIMES; i++)
    if (!seen[i] && (compiled || !purposes[i].compiled))
      fail_msg("nothing was wanted for \"%s\"", purposes[i].text);
}

static int make_path(void **state) {
  (void)state;
  int file = mkstemp(path);
  return file < 0 || close(file);
}
static int remove_path(void **state) {
  (void)state;
  return unlink(path);
}

NXT_MAIN(faults) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_has_a_purpose), cmocka_unit_test(memory_stays_exhausted),
      cmocka_unit_test(every_allocation_fails_once), cmocka_unit_test(with_nothing_stored)};
  return cmocka_run_group_tests(tests, make_path, remove_path);
}
