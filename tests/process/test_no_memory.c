/* SPDX-License-Identifier: ISC */
/* Tests a process in which memory is exhausted at any place: in this library, in LLVM, in OpenBLAS,
 * in the C library. Each attempt is a separate process, which must end by itself, and in which each
 * call gives the right value or NX_OUT_OF_MEMORY.
 *
 * Two methods are used. The first is a limit on the addresses of the process (RLIMIT_AS), in steps.
 * In the second the library starve.c is loaded first, and the n-th allocation of the process fails,
 * alone or with all later ones, for different n. NX_STARVE in the environment is the number of n
 * that are tried, of each kind 60, or, where of many tests a part is run (NXT_SHARE), 30; 0: all of
 * them. */
#include "tests/util/api.h"
#include "tests/util/sanitizers.h"
#include "tests/util/share.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen_llvm/codegen_llvm.h"
#include "config.h"

enum { N = 3000, SIDE = 130, SECONDS = 60 };

/* ---- the program that runs with little memory. Its exit status is 0, or the number of the step
 * that failed. */

enum {
  FINE = 0,
  WRONG_VALUE = 1,
  WRONG_STATUS = 2,
  NEVER_WORKED = 3,
  HOST_ASKED = 4,
  HOST_NOT_ASKED = 5
};

static int32_t lacks; /* number of calls that failed with NX_OUT_OF_MEMORY */

/* True if there is nothing to compare, because there was no memory. Ends the process on another
 * failure. */
static bool lacking(nx_status status) {
  nx_error e = {.size = sizeof e};
  nx_status first = nx_error_take(&e);
  if (status == NX_OK && first == NX_OK) return false;
  if ((status == NX_OK ? first : status) == NX_OUT_OF_MEMORY) return ++lacks, true;
  fprintf(stderr, "%s: %s\n", nx_status_name(status), e.message);
  _exit(WRONG_STATUS);
}

static void compare(const char *what, double value, double expected, double bound) {
  if (fabs(value - expected) <= bound * fabs(expected)) return;
  fprintf(stderr, "%s: %.17g, not %.17g\n", what, value, expected);
  _exit(WRONG_VALUE);
}

static bool read_number(nx_tensor *t, float *out) {
  nx_status status = t ? nx_read(t, out, sizeof *out, NULL) : NX_OUT_OF_MEMORY;
  nx_tensor_release(t);
  return !lacking(status);
}

/* A different kernel for each k: sum of (x + k) (x + k + 1) .. over x = 0 .. N - 1, over N. */
static void run_kernel(nx_context *c, int k) {
  int64_t shape[] = {N};
  nx_tensor *x = nx_arange(c, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(1.0 / N), N);
  nx_tensor *y = nx_full(c, 0, NX_F32, shape, 1, NX_NUMBER(1));
  double expected = 0;
  for (int i = 0; i < N; i++) {
    double product = 1;
    for (int j = 0; j <= k; j++) product *= i / (double)N + j;
    expected += product;
  }
  for (int j = 0; j <= k; j++) {
    nx_tensor *offset = nx_full(c, 0, NX_F32, shape, 1, NX_NUMBER(j));
    nx_tensor *term = nx_add(x, offset), *next = nx_mul(y, term);
    nx_tensor_release(offset);
    nx_tensor_release(term);
    nx_tensor_release(y);
    y = next;
  }
  float value;
  nx_tensor *sum = nx_reduce_sum(y, NX_AXES(0), 0);
  nx_tensor_release(x);
  nx_tensor_release(y);
  if (read_number(sum, &value)) compare("kernel", value, expected, 1e-4);
}

static nx_tensor *square(nx_context *c, double value) {
  int64_t shape[] = {SIDE, SIDE};
  return nx_full(c, 0, NX_F32, shape, 2, NX_NUMBER(value));
}

static void run_product(nx_context *c) {
  float value;
  nx_tensor *a = square(c, 0.5), *b = square(c, 2), *p = nx_matmul(a, b),
            *sum = nx_reduce_sum(p, NX_AXES(0, 1), 0);
  nx_tensor_release(a);
  nx_tensor_release(b);
  nx_tensor_release(p);
  if (read_number(sum, &value)) compare("product", value, (double)SIDE * SIDE * SIDE, 1e-6);
}

static void run_sort(nx_context *c) {
  float value;
  nx_tensor *x = nx_arange(c, 0, NX_F32, NX_NUMBER(N), NX_NUMBER(-1), N), *s = nx_sort(x, 0, 0),
            *first = nx_reduce_min(s, NX_AXES(0), 0);
  nx_tensor_release(x);
  nx_tensor_release(s);
  if (read_number(first, &value)) compare("sort", value, 1, 0);
}

static void run_transform(nx_context *c) {
  float value;
  nx_tensor *x = nx_full(c, 0, NX_F32, NX_SHAPE(1009), NX_NUMBER(1)), *f = nx_rfft(x, NX_AXES(0)),
            *re = nx_real(f), *most = nx_reduce_max(re, NX_AXES(0), 0);
  nx_tensor_release(x);
  nx_tensor_release(f);
  nx_tensor_release(re);
  if (read_number(most, &value)) compare("transform", value, 1009, 1e-5);
}

static void run_solver(nx_context *c) {
  float value;
  nx_tensor *i = nx_eye(c, 0, NX_F32, SIDE, SIDE, 0), *a = nx_add(i, i), *inverse = nx_inv(a),
            *sum = nx_reduce_sum(inverse, NX_AXES(0, 1), 0);
  nx_tensor_release(i);
  nx_tensor_release(a);
  nx_tensor_release(inverse);
  if (read_number(sum, &value)) compare("inverse", value, SIDE / 2.0, 1e-6);
}

static void run_steps(nx_context *c, int rounds) {
  for (int k = 0; k < rounds; k++) run_kernel(c, k);
  run_product(c);
  run_sort(c);
  run_transform(c);
  run_solver(c);
}

/* ---- a C++ host with a new-handler, which must be called when an allocation of the host fails,
 * and never for allocations of LLVM */

typedef void handler(void);
static bool host_asks;
static int host_asked;

static void *cxx(const char *symbol) {
  void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL),
       *at = library ? dlsym(library, symbol) : NULL;
  if (!at) _exit(NEVER_WORKED);
  return at;
}

static void set_handler(handler *h) {
  handler *(*set)(handler *);
  void *at = cxx("_ZSt15set_new_handlerPFvvE");
  memcpy(&set, &at, sizeof set);
  set(h);
}

/* What a handler that gives up does. */
static void on_host_lack(void) {
  if (!host_asks) _exit(HOST_ASKED);
  host_asked++;
  set_handler(NULL);
}

/* `new (std::nothrow) char[2^62]` */
static bool host_is_asked(void) {
  void *(*new_nothrow)(size_t, const void *);
  void *at = cxx("_ZnamRKSt9nothrow_t");
  memcpy(&new_nothrow, &at, sizeof new_nothrow);
  host_asks = true;
  return !new_nothrow((size_t)1 << 62, cxx("_ZSt7nothrow")) && host_asked == 1;
}

/* ---- the whole program */

/* Constructors of LLVM end the process when they find no memory, as they did in a program that was
 * linked with it. That there is room for them is found out before, which test_loading tries. */
static void open_llvm(void) {
  if (nxl_open(NULL) != NX_OK) _exit(NEVER_WORKED);
}

static void *function_of_llvm(const char *name) {
  void *module = dlopen(NX_LLVM_MODULE, RTLD_LAZY | RTLD_NOLOAD),
       *at = module ? dlsym(module, name) : NULL;
  if (!at) _exit(NEVER_WORKED);
  return at;
}

/* The context is made with little memory, or with `late` before memory becomes short. Returns the
 * exit status. */
static int run_program(void (*begin)(void), bool late) {
  nx_context *c = NULL;
  nx_context_options o = {.size = sizeof o, .threads = 2, .cache_dir = ""};
  if (!late) begin();
  if (lacking(nx_context_create(&o, &c))) return FINE;
  if (late) {
    run_kernel(c, 6);
    run_product(c);
    run_solver(c); /* loads OpenBLAS */
    begin();
  }
  run_steps(c, 4);
  nx_context_release(c);
  return FINE;
}

/* ---- attempts */

/* NULL: the process ended by itself and succeeded. */
static const char *fate(pid_t child, char text[80]) {
  int status = 0;
  if (child < 0) return "fork";
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) == FINE) return NULL;
  if (WIFEXITED(status)) snprintf(text, 80, "exit status %d", WEXITSTATUS(status));
  else snprintf(text, 80, "signal %d", WTERMSIG(status));
  return text;
}

/* ---- limits of addresses */

enum { MOST_LOADING = 1024 }; /* MiB, in which everything works */
static int64_t headroom;      /* bytes */

static void limit_addresses(void) {
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%ld", &pages) != 1) _exit(NEVER_WORKED);
  fclose(f);
  struct rlimit limit = {(rlim_t)(pages * sysconf(_SC_PAGESIZE) + headroom), RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(NEVER_WORKED);
}

static int run_limited(int kib, bool late) {
  headroom = (int64_t)kib << 10;
  alarm(SECONDS);
  open_llvm();
  int status = run_program(limit_addresses, late);
  return kib == 64 << 10 && lacks && late ? NEVER_WORKED : status;
}

static void try_limits(bool late) {
  for (int kib = 0; kib <= 64 << 10; kib += kib < 8 << 10 ? 256 : 4 << 10) {
    char text[80];
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) exit(run_limited(kib, late));
    const char *end = fate(child, text);
    if (end) fail_msg("%d KiB of addresses left: %s", kib, end);
  }
}

static void test_limits(void **state) {
  (void)state;
  if (NXT_SANITIZED) skip(); /* it reserves terabytes of addresses */
  try_limits(false);
}

static void test_limits_late(void **state) {
  (void)state;
  if (NXT_SANITIZED) skip();
  try_limits(true);
}

/* LLVM is loaded with little room: it is refused, or works. */
static int run_loading(int mib) {
  headroom = (int64_t)mib << 20;
  alarm(SECONDS);
  int status = run_program(limit_addresses, false);
  return mib == MOST_LOADING && lacks ? NEVER_WORKED : status;
}

static void test_loading(void **state) {
  (void)state;
  if (NXT_SANITIZED) skip();
  for (int mib = 192; mib <= MOST_LOADING; mib += mib < 256 ? 16 : mib) {
    char text[80];
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) exit(run_loading(mib));
    const char *end = fate(child, text);
    if (end) fail_msg("%d MiB of addresses left: %s", mib, end);
  }
}

/* ---- every allocation of the process */

static int64_t starving;
static bool starving_all;
static void (*starve)(int64_t n, bool sticky);
static int64_t (*starve_count)(void);

static bool with_handler;
static const char *starving_in; /* a function of LLVM; NULL: everywhere */
static void (*starve_within)(void *function);

static void begin_starving(void) {
  if (with_handler) set_handler(on_host_lack);
  open_llvm();
  if (starving_in) starve_within(function_of_llvm(starving_in));
  else starve(starving, starving_all);
}

/* `self` under starve.c: "starved N KIND", KIND of e(arly) or l(ate), 1 or a(ll), and perhaps h for
 * a host with a new-handler, which it installs before the library is used, or once it has compiled.
 * N = 0 prints how many there are. With w for 1 or a, N is the name of a function in which no
 * allocation works; with n, of one in which there must be none. */
static int run_starved(char **argv) {
  void *begin = dlsym(RTLD_DEFAULT, "starve"), *counted = dlsym(RTLD_DEFAULT, "starve_count"),
       *within = dlsym(RTLD_DEFAULT, "starve_within");
  if (!begin || !counted || !within) return NEVER_WORKED;
  memcpy(&starve, &begin, sizeof begin);
  memcpy(&starve_count, &counted, sizeof counted);
  memcpy(&starve_within, &within, sizeof within);
  starving = strtoll(argv[2], NULL, 10);
  starving_all = argv[3][1] == 'a';
  with_handler = argv[3][2] == 'h';
  bool none = argv[3][1] == 'n';
  starving_in = argv[3][1] == 'w' || none ? argv[2] : NULL;
  alarm(SECONDS);
  int status = run_program(begin_starving, argv[3][0] == 'l');
  int64_t n = starve_count();
  starve(-1, false);
  if (starving_in && !n != none) return NEVER_WORKED;
  if (starving == 0 && !starving_in) printf("%lld\n", (long long)n);
  return with_handler && status == FINE && !host_is_asked() ? HOST_NOT_ASKED : status;
}

/* The child's standard output, if `out` is not NULL. */
static pid_t start_starved(const char *n, const char *kind, int out) {
  fflush(NULL);
  pid_t child = fork();
  if (child != 0) return child;
  if (out >= 0) dup2(out, 1);
  setenv("LD_PRELOAD", NXT_STARVE, 1);
  execl(nxt_program(), nxt_program(), "no_memory", "starved", n, kind, (char *)NULL);
  _exit(NEVER_WORKED);
}

static int64_t count_allocations(const char *kind) {
  int ends[2];
  char text[80] = "";
  assert_int_equal(pipe(ends), 0);
  pid_t child = start_starved("0", kind, ends[1]);
  close(ends[1]);
  FILE *f = fdopen(ends[0], "r");
  long long n = 0;
  assert_int_equal(fscanf(f, "%lld", &n), 1);
  fclose(f);
  assert_null(fate(child, text));
  return n;
}

static void try_starving(const char *kind, int64_t most) {
  int64_t total = count_allocations(kind), step = most && total > most ? total / most : 1;
  assert_true(total > 1000);
  for (int64_t n = 1; n <= total + 1; n += step > 1 ? 1 + (n * 7919) % (2 * step - 1) : 1) {
    char text[80], number[24];
    snprintf(number, sizeof number, "%lld", (long long)n);
    const char *end = fate(start_starved(number, kind, -1), text);
    if (end)
      fail_msg("no_memory starved %lld %s, of %lld: %s", (long long)n, kind, (long long)total, end);
  }
}

static void test_starving(void **state) {
  (void)state;
  const char *wish = getenv("NX_STARVE");
  int64_t most = wish ? strtoll(wish, NULL, 10) : nxt_share() > 1 ? 30 : 60;
  if (NXT_SANITIZED) skip();
  try_starving("e1", most);
  try_starving("ea", most);
  try_starving("l1", most);
  try_starving("la", most);
}

/* Allocations for which LLVM returns NULL and reports no failure. */
static void test_starving_function(void **state) {
  (void)state;
  const char *function = "LLVMCreateMemoryBufferWithMemoryRangeCopy";
  if (NXT_SANITIZED) skip();
  for (int late = 0; late < 2; late++) {
    char text[80];
    const char *end = fate(start_starved(function, late ? "lw" : "ew", -1), text);
    if (end) fail_msg("no_memory starved %s, %d: %s", function, late, end);
  }
}

/* LLVM's thread-local data, which this function is the first to use on a thread, is made before. */
static void test_thread_data(void **state) {
  (void)state;
  char text[80];
  if (NXT_SANITIZED) skip();
  const char *function = "_ZN4llvm28getTimeTraceProfilerInstanceEv",
             *end = fate(start_starved(function, "en", -1), text);
  if (end) fail_msg("no_memory starved %s: %s", function, end);
}

static void test_host_with_handler(void **state) {
  (void)state;
  if (NXT_SANITIZED) skip();
  try_starving("eah", 20);
  try_starving("lah", 20);
  try_starving("l1h", 20);
}

NXT_MAIN(no_memory) {
  if (argc == 4 && strcmp(argv[1], "starved") == 0) return run_starved(argv);
  if (argc == 4 && strcmp(argv[1], "limited") == 0)
    return run_limited(atoi(argv[2]), argv[3][0] == 'l');
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_limits_late),
      cmocka_unit_test(test_loading),
      cmocka_unit_test(test_starving),
      cmocka_unit_test(test_starving_function),
      cmocka_unit_test(test_thread_data),
      cmocka_unit_test(test_host_with_handler),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
