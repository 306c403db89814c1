/* SPDX-License-Identifier: ISC */
/* A result depends on inputs, operations, dtypes and shapes, and on nothing else: the same bits
 * with 1, 2 and 3 threads, whatever the instruction set, executor and state of the cache, fused or
 * not, and whatever the strides of imported memory.
 *
 * What the environment decides is decided once a process: the program runs itself, with the
 * argument `print`, and compares the digests that the children print with those of the first
 * one. */
#include "tests/util/api.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ir/target.h"
#include "tests/util/share.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])
enum { PROGRAMS = 16, MOST = 4 };
typedef struct digests {
  uint64_t of[PROGRAMS];
  uint64_t compiled, from_disk; /* kernels */
} digests;

/* ---- inputs: the same numbers, however they lie */

typedef enum layout { DENSE, COLUMNS, REVERSED, SPACED, LAYOUTS } layout;
static const char *const layout_names[LAYOUTS] = {"dense", "columns first", "reversed", "spaced"};
static layout lies;
static bool step_by_step; /* every recorded value is realised at once: nothing is fused */

static double value(uint64_t i, uint64_t salt) {
  uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u + salt * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return ((double)(z >> 40) / (1 << 24) - 0.5) * (z % 7 == 0 ? 100 : 4);
}

/* n x m floats. */
static nx_tensor *matrix(int64_t n, int64_t m, uint64_t salt) {
  int64_t strides[2] = {m, 1}, offset = 0, length = n * m;
  if (lies == COLUMNS) {
    strides[0] = 1;
    strides[1] = n;
  } else if (lies == REVERSED) {
    strides[0] = -m;
    strides[1] = -1;
    offset = n * m - 1;
  } else if (lies == SPACED) {
    strides[0] = 2 * m + 3;
    strides[1] = 2;
    offset = 1;
    length = n * (2 * m + 3) + 1;
  }
  float *data = malloc((size_t)length * sizeof *data);
  assert_non_null(data);
  for (int64_t i = 0; i < length; i++)
    data[i] = (float)value((uint64_t)i, 99); /* between the elements: anything */
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++)
      data[offset + i * strides[0] + j * strides[1]] = (float)value((uint64_t)(i * m + j), salt);
  nx_tensor *t = NULL;
  nx_import_desc d = {.size = sizeof d,
                      .mode = NX_IMPORT_IMMUTABLE,
                      .dtype = NX_F32,
                      .rank = 2,
                      .shape = (const int64_t[]){n, m},
                      .strides = strides,
                      .offset = offset,
                      .base = data,
                      .bytes = (size_t)length * sizeof *data,
                      .release = free,
                      .user = data};
  OK(nx_import(ctx, &d, &t));
  return t;
}

/* ---- programs */

static nx_tensor *now(nx_tensor *t) {
  GOOD(t);
  if (step_by_step) OK(nx_realize(ctx, &t, 1, NULL));
  return t;
}
static nx_tensor *sum(nx_tensor *t, int32_t axis) {
  return now(nx_reduce_sum(t, &axis, 1, NX_KEEPDIMS));
}
static nx_tensor *largest(nx_tensor *t, int32_t axis) {
  return now(nx_reduce_max(t, &axis, 1, NX_KEEPDIMS));
}

static nx_tensor *softmax(nx_tensor *x, int32_t axis) {
  nx_tensor *e = now(nx_exp(now(nx_sub(x, largest(x, axis)))));
  return now(nx_div(e, sum(e, axis)));
}

static nx_tensor *layer_norm(nx_tensor *x, int32_t axis, double n) {
  nx_tensor *d = now(nx_sub(x, now(nx_div(sum(x, axis), number((float)n)))));
  nx_tensor *v = now(nx_div(sum(now(nx_mul(d, d)), axis), number((float)n)));
  return now(nx_div(d, now(nx_sqrt(now(nx_add(v, number(1e-5f)))))));
}

static nx_tensor *waves(nx_tensor *x) {
  nx_tensor *a = now(nx_sin(x)), *b = now(nx_tanh(now(nx_mul(x, a)))),
            *c = now(nx_erf(now(nx_log1p(now(nx_abs(b))))));
  return now(nx_where(now(nx_cmplt(a, b)), now(nx_pow(now(nx_abs(x)), c)), now(nx_atan2(b, x))));
}

static nx_tensor *small_floats(nx_tensor *x) {
  nx_tensor *b = now(nx_cast(x, NX_BF16)), *h = now(nx_cast(x, NX_F16));
  nx_tensor *s = now(nx_add(now(nx_mul(b, b)), b)), *t = now(nx_add(now(nx_mul(h, h)), h));
  return now(nx_add(now(nx_cast(sum(s, 1), NX_F32)), now(nx_cast(sum(t, 1), NX_F32))));
}

static nx_tensor *stencil(nx_tensor *x, int64_t n, int64_t m) {
  const int64_t one[2] = {1, 1};
  nx_tensor *p = now(nx_pad(x, one, one, 2, NX_NUMBER(0.25))), *total = NULL;
  for (int64_t dy = 0; dy < 3; dy++)
    for (int64_t dx = 0; dx < 3; dx++) {
      nx_tensor *part =
          GOOD(nx_shrink(p, (const int64_t[]){dy, dx}, (const int64_t[]){dy + n, dx + m}, 2));
      total = total ? now(nx_add(total, part)) : part;
    }
  return total;
}

static nx_tensor *network(nx_tensor *x, nx_tensor *w, nx_tensor *bias) {
  nx_tensor *h = now(nx_max(now(nx_add(now(nx_matmul(x, w)), bias)), number(0)));
  return now(nx_matmul(h, nx_permute(w, NX_AXES(1, 0))));
}

static nx_tensor *integers(nx_tensor *x) {
  nx_tensor *i = now(nx_cast(now(nx_mul(x, number(1e4f))), NX_I32)),
            *k = GOOD(nx_full(ctx, 0, NX_I32, NULL, 0, NX_INTEGER(37)));
  nx_tensor *r =
      now(nx_threefry(GOOD(nx_full(ctx, 0, NX_I32, NX_SHAPE(64, 2), NX_INTEGER(5))),
                      GOOD(nx_shrink(i, (const int64_t[]){0, 0}, (const int64_t[]){64, 2}, 2))));
  nx_tensor *q = now(nx_xor(
      now(nx_div(i, k)),
      now(nx_shl(now(nx_mod(i, k)), GOOD(nx_full(ctx, 0, NX_I32, NULL, 0, NX_INTEGER(3)))))));
  return now(nx_add(sum(q, 1), sum(sum(r, 0), 1)));
}

/* The outputs of one program; how many. */
static int program(int which, nx_tensor **out) {
  nx_tensor *x = matrix(70, 300, 1), *y = matrix(300, 130, 2), *b = matrix(1, 130, 3),
            *tall = matrix(3000, 65, 4), *wide = matrix(3, 100001, 5);
  switch (which) {
    case 0: out[0] = softmax(x, 1); return 1;
    case 1: out[0] = softmax(tall, 0); return 1;
    case 2:
      out[0] = layer_norm(x, 1, 300);
      out[1] = layer_norm(tall, 0, 3000);
      return 2;
    case 3: out[0] = waves(x); return 1;
    case 4: out[0] = small_floats(tall); return 1;
    case 5: out[0] = stencil(tall, 3000, 65); return 1;
    case 6: out[0] = network(x, y, b); return 1;
    case 7: out[0] = integers(tall); return 1;
    case 8:
      out[0] = sum(wide, 1);
      out[1] = sum(sum(wide, 0), 1);
      out[2] = now(nx_reduce_sum(wide, NX_AXES(0, 1), 0));
      return 3;
    case 9:
      out[0] = now(nx_reduce_prod(now(nx_cos(x)), NX_AXES(0), 0));
      out[1] = sum(now(nx_permute(tall, NX_AXES(1, 0))), 1);
      return 2;
    case 10:
      out[0] = now(nx_reduce_argmax(waves(wide), 1, 0, NX_I32));
      out[1] = now(nx_reduce_argmin(tall, 0, 0, NX_I32));
      return 2;
    case 11: out[0] = softmax(wide, 1); return 1; /* rows too long for a cache */
    case 12:
      out[0] =
          now(nx_cat((nx_tensor *const[]){x, softmax(x, 0), now(nx_flip(x, NX_AXES(0, 1)))}, 3, 1));
      out[1] = sum(out[0], 0);
      return 2;
    case 13:
      out[0] = now(nx_associative_scan(wide, NX_SCAN_SUM, 1));
      out[1] = now(nx_exp(now(nx_associative_scan(now(nx_neg(tall)), NX_SCAN_SUM, 0))));
      out[2] = now(nx_associative_scan(waves(x), NX_SCAN_MAX, 1));
      return 3;
    case 14: {
      nx_tensor *big = now(nx_cast(now(nx_mul(x, number(1e4F))), NX_I32));
      nx_tensor *i = now(nx_mod(big, GOOD(nx_full(ctx, 0, NX_I32, NULL, 0, NX_INTEGER(300)))));
      out[0] = now(nx_neg(now(nx_gather(waves(x), i, 1))));
      out[1] = now(nx_scatter(x, i, waves(x), 1, NX_SCATTER_ADD, 0));
      return 2;
    }
    default: {
      nx_tensor *c = now(nx_copy(tall));
      OK(nx_assign(GOOD(nx_shrink(c, (const int64_t[]){1, 0}, (const int64_t[]){3000, 65}, 2)),
                   now(nx_exp(GOOD(
                       nx_shrink(c, (const int64_t[]){0, 0}, (const int64_t[]){2999, 65}, 2))))));
      out[0] = c;
      out[1] = sum(c, 1);
      return 2;
    }
  }
}

/* All NaNs count as one value. */
static uint64_t digest(nx_tensor *t) {
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(t, &info);
  size_t size = info.dtype == NX_I32 || info.dtype == NX_F32 ? 4 : 0,
         bytes = (size_t)info.elements * size;
  assert_true(size > 0);
  uint32_t *data = malloc(bytes + 4);
  assert_non_null(data);
  OK(nx_read(t, data, bytes, NULL));
  uint64_t h = 1469598103934665603u;
  for (int64_t i = 0; i < info.elements; i++) {
    bool nan = info.dtype == NX_F32 && (data[i] & 0x7fffffff) > 0x7f800000;
    h = (h ^ (nan ? 0x7fc00000 : data[i])) * 1099511628211u;
    h ^= h >> 29;
  }
  free(data);
  return h;
}

static digests run(int threads, const char *cache_dir, layout l, bool stepwise) {
  nx_context_options o = {.size = sizeof o, .threads = threads, .cache_dir = cache_dir};
  digests all = {.compiled = 0};
  lies = l;
  step_by_step = stepwise;
  OK(nx_context_create(&o, &ctx));
  for (int i = 0; i < PROGRAMS; i++) {
    nx_scope *scope = nx_scope_begin(ctx);
    nx_tensor *out[MOST];
    int n = program(i, out);
    nx_report report = {.size = sizeof report};
    nx_run_options options = {.size = sizeof options, .report = &report};
    OK(nx_realize(ctx, out, (size_t)n, &options));
    all.compiled += report.kernel_misses;
    all.from_disk += report.kernel_disk_hits;
    for (int k = 0; k < n; k++) all.of[i] = all.of[i] * 31 + digest(out[k]);
    nx_scope_end(scope);
  }
  nx_context_release(ctx);
  return all;
}

/* The program of products of more than 8 rows and columns, which are a BLAS's, and so have other
 * bits, where there are no vectors that multiply and add at once. */
enum { PRODUCTS = 6 };

static void expect_same(const digests *a, const digests *b, const char *what) {
  const bool other_products = strcmp(what, "generic") == 0;
  int differ = 0;
  for (int i = 0; i < PROGRAMS; i++)
    if (a->of[i] != b->of[i] && !(i == PRODUCTS && other_products)) {
      fprintf(stderr, "%s: program %d differs\n", what, i);
      differ++;
    }
  assert_int_equal(differ, 0);
}

/* ---- in this process */

static digests first;

static void any_number_of_threads(void **state) {
  (void)state;
  for (int threads = 2; threads <= 3; threads++) {
    digests d = run(threads, "", DENSE, false);
    expect_same(&first, &d, threads == 2 ? "two threads" : "three threads");
  }
}

static void any_layout(void **state) {
  (void)state;
  for (int l = 1; l < LAYOUTS; l++) {
    digests d = run(2, "", (layout)l, false);
    expect_same(&first, &d, layout_names[l]);
  }
}

static void fused_or_not(void **state) {
  (void)state;
  digests d = run(2, "", DENSE, true);
  expect_same(&first, &d, "step by step");
}

/* Different inputs must give different digests, or nothing above means anything. */
static void digests_tell_inputs_apart(void **state) {
  (void)state;
  for (int i = 0; i < PROGRAMS; i++)
    for (int k = 0; k < i; k++) assert_true(first.of[i] != first.of[k]);
  nx_context_options o = {.size = sizeof o, .cache_dir = ""};
  OK(nx_context_create(&o, &ctx));
  lies = DENSE;
  nx_tensor *a = sum(matrix(3, 1000, 1), 1), *b = sum(matrix(3, 1000, 2), 1);
  assert_true(digest(a) != digest(b));
  release(a);
  release(b);
  nx_context_release(ctx);
}

/* ---- in processes of their own */

static digests child(const char *const *settings, const char *cache_dir) {
  digests d = {.compiled = 0};
  int pipes[2];
  assert_int_equal(pipe(pipes), 0);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    dup2(pipes[1], STDOUT_FILENO);
    close(pipes[0]);
    for (; *settings != NULL; settings += 2) setenv(settings[0], settings[1], 1);
    execl(nxt_program(), "run_fusion", "determinism", "print", cache_dir, (char *)NULL);
    _exit(127);
  }
  close(pipes[1]);
  size_t got = 0;
  for (ssize_t n; (n = read(pipes[0], (char *)&d + got, sizeof d - got)) > 0;) got += (size_t)n;
  close(pipes[0]);
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  assert_int_equal(got, sizeof d);
  return d;
}

static void any_instructions_and_executor(void **state) {
  (void)state;
  /* The interpreter of kernels is slow, but not on these sizes. */
  static const char *const settings[][5] = {{"NX_ISA", "avx2"},
                                            {"NX_ISA", "generic"},
                                            {"NX_EXECUTOR", "interp"},
                                            {"NX_EXECUTOR", "kernel-interp"},
                                            {"NX_DEBUG", "nofuse"},
                                            {"NX_SKIP", "cse,algebra,constant_fold,dce,simplify"},
                                            {"NX_ISA", "avx2", "NX_DEBUG", "nofuse"}};
  for (size_t i = 0; i < COUNT(settings); i += (size_t)nxt_kernel_share()) {
    nxi_target ignored;
    bool isa = strcmp(settings[i][0], "NX_ISA") == 0;
    if (isa && !nxi_target_for_isa(settings[i][1], &ignored)) continue; /* not on this machine */
    digests d = child(settings[i], "");
    expect_same(&first, &d, settings[i][1]);
  }
}

static void any_state_of_the_cache(void **state) {
  (void)state;
  char directory[] = "/tmp/nx-determinism-XXXXXX", command[64];
  /* How much the background thread compiles before a process ends depends on other processes. */
  static const char *const counted[] = {"NX_BACKGROUND", "off", NULL};
  assert_non_null(mkdtemp(directory));
  digests cold = child(counted, directory), warm = child(counted, directory),
          here = run(2, directory, SPACED, false), off = child(counted, "");
  snprintf(command, sizeof command, "rm -r %s", directory);
  assert_int_equal(system(command), 0);
  expect_same(&first, &cold, "cold cache");
  expect_same(&first, &warm, "warm cache");
  expect_same(&first, &here, "warm cache, spaced inputs");
  expect_same(&first, &off, "no cache");
  /* Or nothing above means anything: the first one compiles, the others load what it stored. */
  bool compiles = cold.compiled > 0;
  assert_int_equal(cold.from_disk, 0);
  assert_int_equal(warm.compiled, 0);
  assert_int_equal(warm.from_disk > 0, compiles);
  assert_int_equal(here.from_disk > 0, compiles);
  assert_int_equal(off.from_disk, 0);
  assert_int_equal(off.compiled, cold.compiled);
}

static int compute_first(void **state) {
  (void)state;
  first = run(1, "", DENSE, false);
  return 0;
}

static void print_digests(void **state) {
  (void)state;
  digests d = run(2, *state, DENSE, false);
  assert_int_equal(write(STDOUT_FILENO, &d, sizeof d), sizeof d);
}

NXT_MAIN(determinism) {
  if (argc > 2 && strcmp(argv[1], "print") == 0) {
    void *directory = argv[2];
    print_digests(&directory);
    return 0;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_number_of_threads),  cmocka_unit_test(any_layout),
      cmocka_unit_test(fused_or_not),           cmocka_unit_test(any_instructions_and_executor),
      cmocka_unit_test(any_state_of_the_cache), cmocka_unit_test(digests_tell_inputs_apart),
  };
  return cmocka_run_group_tests(tests, compute_first, NULL);
}
