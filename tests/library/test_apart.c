/* SPDX-License-Identifier: ISC */
/* Long calls of LAPACK, which are done apart where there is a poll: the bits are those of a call
 * that nobody can stop; a stop is answered at once, what is left goes on and ends, and what comes
 * next is right meanwhile; a poll that forks; a process that ends while such calls go on. */
#include "tests/util/api.h"

#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/library/apart.h"
#include "runtime/library/linalg/lapack.h"
#include "tests/util/sanitizers.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- polls */

typedef struct asked {
  int32_t calls, stop_at; /* 0: never */
} asked;

static int32_t poll(void *user) {
  asked *a = user;
  return ++a->calls == a->stop_at;
}

static nx_run_options options_of(asked *a, int32_t stop_at) {
  *a = (asked){.stop_at = stop_at};
  return (nx_run_options){.size = sizeof(nx_run_options), .poll = poll, .user = a};
}

/* ---- the calls. The sides are the least for which they are done apart, nearly. */

enum { MOST_RESULTS = 3 };
typedef uint32_t (*maker)(nx_tensor *a, nx_tensor **results);

static uint32_t make_eigh(nx_tensor *a, nx_tensor **r) { return nx_eigh(a, 0, r, r + 1) ? 0 : 2; }
static uint32_t make_eig(nx_tensor *a, nx_tensor **r) { return nx_eig(a, r, r + 1) ? 0 : 2; }
static uint32_t make_svd(nx_tensor *a, nx_tensor **r) {
  return nx_svd(a, 0, r, r + 1, r + 2) ? 0 : 3;
}
static uint32_t make_schur(nx_tensor *a, nx_tensor **r) { return nx_schur(a, 0, r, r + 1) ? 0 : 2; }
static uint32_t make_pivoted(nx_tensor *a, nx_tensor **r) {
  return nx_geqp3(a, r, r + 1, r + 2) ? 0 : 3;
}
static uint32_t make_values(nx_tensor *a, nx_tensor **r) {
  return (*r = nx_eigvalsh(a, 0)) != NULL;
}
static uint32_t make_product(nx_tensor *a, nx_tensor **r) {
  nx_tensor *packed, *tau;
  if (nx_geqrf(a, &packed, &tau)) return 0;
  return (*r = nx_ormqr(packed, tau, a, 0)) != NULL;
}
static uint32_t make_expm(nx_tensor *a, nx_tensor **r) { return (*r = nx_expm(a)) != NULL; }

static const struct {
  const char *name;
  maker make;
  nx_dtype dtype;
  int64_t batch, rows, columns;
} cases[] = {{"eigh c64", make_eigh, NX_C64, 1, 600, 600},
             {"eigvalsh f32", make_values, NX_F32, 2, 940, 940},
             {"eig c128", make_eig, NX_C128, 1, 220, 220},
             {"schur f32", make_schur, NX_F32, 1, 360, 360},
             {"svd f32, reduction", make_svd, NX_F32, 1, 1000, 740},
             {"svd c64", make_svd, NX_C64, 1, 460, 460},
             {"svd f64, long", make_svd, NX_F64, 1, 1400, 330},
             {"geqp3 f64", make_pivoted, NX_F64, 1, 660, 660},
             {"ormqr c128", make_product, NX_C128, 1, 420, 420},
             {"expm f64", make_expm, NX_F64, 1, 340, 340}};

/* Numbers without an order, and not symmetric. */
static nx_tensor *matrix(nx_dtype t, int64_t batch, int64_t rows, int64_t columns) {
  nx_tensor *x = nx_arange(ctx, 0, NX_F64, NX_NUMBER(1), NX_NUMBER(0.7548776662466927),
                           batch * rows * columns);
  x = nx_sin(nx_mul(x, x));
  x = nx_reshape(x, NX_SHAPE(batch, rows, columns), 0);
  if (t == NX_C64 || t == NX_C128) x = nx_complex(x, nx_neg(nx_cos(x)));
  return GOOD(nx_cast(x, t));
}

static size_t bytes_of(nx_tensor *t) {
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(t, &info);
  size_t n = (size_t)nx_dtype_bits(info.dtype) / 8;
  for (int32_t i = 0; i < info.rank; i++) n *= (size_t)info.shape[i];
  return n;
}

static void *read_all(nx_tensor *t, size_t *bytes) {
  void *to = malloc(*bytes = bytes_of(t));
  OK(nx_read(t, to, *bytes, NULL));
  return to;
}

/* The same elements, which the library does not know to be the same. */
static nx_tensor *copy_of(nx_tensor *a) {
  size_t bytes;
  void *elements = read_all(a, &bytes);
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(a, &info);
  nx_tensor *copy = GOOD(nx_empty(ctx, 0, info.dtype, info.shape, info.rank));
  OK(nx_write(copy, elements, bytes, NULL));
  free(elements);
  return copy;
}

static void bits(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    nx_scope *s = nx_scope_begin(ctx);
    nx_tensor *a = matrix(cases[i].dtype, cases[i].batch, cases[i].rows, cases[i].columns),
              *same = copy_of(a), *plain[MOST_RESULTS], *apart[MOST_RESULTS];
    const uint32_t n = cases[i].make(a, plain);
    assert_true(n > 0);
    assert_int_equal(cases[i].make(same, apart), n);
    asked count;
    nx_run_options o = options_of(&count, 0);
    const int32_t before = nxi_apart_begun();
    OK(nx_realize(ctx, plain, n, NULL));
    assert_int_equal(nxi_apart_begun(), before);
    OK(nx_realize(ctx, apart, n, &o));
    if (nxi_apart_begun() == before) fail_msg("%s: not apart", cases[i].name);
    for (uint32_t k = 0; k < n; k++) {
      size_t bytes;
      void *x = read_all(plain[k], &bytes), *y = read_all(apart[k], &bytes);
      if (memcmp(x, y, bytes)) fail_msg("%s: result %u has other bits", cases[i].name, k);
      free(x), free(y);
    }
    nx_scope_end(s);
  }
}

/* ---- stops */

static void wait_for_none(void) {
  const double began = now();
  while (nxi_apart_left() > 0 && now() - began < 120) usleep(10000);
  assert_int_equal(nxi_apart_left(), 0);
}

static nx_tensor *values_of(nx_tensor *a) { return GOOD(nx_abs(GOOD(nx_eigvals(a)))); }

/* The processors are shared with what is left, and others. */
static const double soon = 3;

static void stop_at_once(void **state) {
  (void)state;
  const int64_t n = NXT_SANITIZED ? 500 : 900;
  nx_tensor *a = matrix(NX_F64, 1, n, n), *same = copy_of(a);
  nx_tensor *once = values_of(a), *wanted = values_of(same);
  const double began = now();
  OK(nx_realize(ctx, &wanted, 1, NULL));
  const double whole = now() - began;
  asked a_few;
  nx_run_options o = options_of(&a_few, 3);
  const double stopped = now();
  FAILS(NX_INTERRUPTED, nx_realize(ctx, &once, 1, &o));
  printf("whole %.3f s, stopped after %.3f s\n", whole, now() - stopped);
  assert_true(now() - stopped < soon);
  assert_int_equal(a_few.calls, 3);
  /* what comes next, products too, and the value that was not computed */
  nx_tensor *sum = GOOD(nx_reduce_sum(GOOD(nx_matmul(a, a)), NX_AXES(0, 1, 2), 0));
  OK(nx_realize(ctx, &sum, 1, NULL));
  OK(nx_realize(ctx, &once, 1, NULL));
  size_t bytes;
  void *x = read_all(once, &bytes), *y = read_all(wanted, &bytes);
  assert_memory_equal(x, y, bytes);
  free(x), free(y);
  wait_for_none();
}

/* More than may go on: those that come then wait, and can be stopped, too. */
static void many_stops(void **state) {
  (void)state;
  nx_tensor *a = matrix(NX_F64, 1, 700, 700);
  OK(nx_realize(ctx, &a, 1, NULL));
  for (int i = 0; i < NXI_APART_MOST + 3; i++) {
    nx_tensor *values = values_of(GOOD(nx_add(a, GOOD(nx_cast(number((float)i), NX_F64)))));
    asked a_few;
    nx_run_options o = options_of(&a_few, 4);
    const double began = now();
    nx_status status = nx_realize(ctx, &values, 1, &o);
    assert_true(status == NX_OK || nx_error_take(NULL) == NX_INTERRUPTED);
    assert_true(now() - began < soon + 4);
    assert_true(nxi_apart_left() <= NXI_APART_MOST);
  }
  wait_for_none();
}

/* ---- fork and the end of the process */

static pid_t child;

static int32_t fork_once(void *user) {
  asked *a = user;
  if (++a->calls == 3) child = fork();
  return 0;
}

static int ends_with(pid_t process) {
  int status = 0;
  assert_true(process > 0);
  assert_int_equal(waitpid(process, &status, 0), process);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* The child, which has none of the threads, computes on. */
static int in_child(nx_status status, nx_tensor *small) {
  if (status != NX_INTERRUPTED || nx_error_take(NULL) != NX_INTERRUPTED) return 2;
  nx_tensor *values = nx_eigvals(small);
  return values && nx_realize(ctx, &values, 1, NULL) == NX_OK ? 3 : 4;
}

static void forks(void **state) {
  (void)state;
  if (NXT_THREAD_SANITIZER) return;
  nx_tensor *a = matrix(NX_F64, 1, 600, 600), *small = matrix(NX_F64, 1, 9, 9);
  OK(nx_realize(ctx, (nx_tensor *[]){a, small}, 2, NULL));
  nx_tensor *values = values_of(a);
  asked count = {0};
  nx_run_options o = {.size = sizeof o, .poll = fork_once, .user = &count};
  child = -1;
  nx_status status = nx_realize(ctx, &values, 1, &o);
  if (child == 0) _exit(in_child(status, small));
  assert_int_equal(status, NX_OK);
  assert_int_equal(ends_with(child), 3);
}

/* Ends while calls go on in the background: neither a crash nor a wait for them. */
static int end_early(int delay) {
  nx_tensor *a = matrix(NX_F64, 1, 1500, 1500), *values = values_of(a);
  asked a_few;
  nx_run_options o = options_of(&a_few, 2 + delay);
  nx_realize(ctx, &a, 1, NULL);
  nx_status status = nx_realize(ctx, &values, 1, &o);
  nx_error_take(NULL);
  exit(status == NX_INTERRUPTED ? 3 : 4);
}

static void ends(void **state) {
  (void)state;
  if (NXT_SANITIZED) return;
  for (int i = 0; i < 8; i++) {
    const double began = now();
    child = fork();
    if (child == 0) end_early(i);
    assert_int_equal(ends_with(child), 3);
    assert_true(now() - began < soon + 4);
  }
}

NXT_MAIN(apart) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(bits), IN_SCOPE(stop_at_once), IN_SCOPE(many_stops), IN_SCOPE(forks), IN_SCOPE(ends),
  };
  if (nxi_lapack_ready("test", NULL) != NX_OK) return 77; /* skipped */
  return cmocka_run_group_tests(tests, open_context, close_context);
}
