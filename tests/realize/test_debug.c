/* SPDX-License-Identifier: ISC */
/* Tests of NX_DEBUG, NX_SKIP, NX_EXECUTOR, NX_ISA and NX_DUMP_DIR: stages that they name are shown
 * no matter where code comes from, and unknown names are errors. The environment is read once, so
 * every case runs in a separate process: this program with the name of one of the programs
 * below. */
#include "tests/util/api.h"

#include <math.h>

#include <dirent.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen_llvm/codegen_llvm.h"

/* ---- programs, whose output the tests check */

static int complain(void) {
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  printf("%s: %s\n", nx_status_name(e.status), e.message);
  return 1;
}

/* -(x * x), and its sum: two kernels or one, and more than is interpreted. */
static nx_status compute(int64_t n, nx_report *report) {
  nx_run_options o = {.size = sizeof o, .report = report};
  nx_scope *scope = nx_scope_begin(ctx);
  nx_tensor *x = nx_arange(ctx, 0, NX_F32, NX_NUMBER(1), NX_NUMBER(0.5f), n);
  nx_status status = nx_realize(ctx, &x, 1, NULL);
  nx_tensor *y[2] = {nx_neg(nx_mul(x, x)), NULL};
  y[1] = nx_reduce_sum(y[0], NX_AXES(0), 0);
  if (!status) status = nx_realize(ctx, y, 2, &o);
  nx_scope_end(scope);
  return status;
}

static int run_large(void) {
  nx_report report = {.size = sizeof report};
  if (compute(100000, &report)) return complain();
  printf("kernels %llu from disk %llu\n", (unsigned long long)report.kernels,
         (unsigned long long)report.kernel_disk_hits);
  return 0;
}

static int run_small(void) { return compute(4, NULL) ? complain() : 0; }

/* The words of NX_DEBUG change while the program runs. */
static int change_words(void) {
  static const char *const words[] = {"", "asm,cache", "asm,cache", "", "graph"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    fprintf(stderr, "words \"%s\"\n", words[i]);
    if ((i == 0 || strcmp(words[i], words[i - 1])) && nx_debug_set(words[i])) return complain();
    if (compute(100000, NULL)) return complain();
  }
  return 0;
}

static int call_function(void) {
  static const char text[] = "nxir 2\ngraph @f(%x: f32[3]) -> (%y) {\n  %e = exp %x : f32[3]\n"
                             "  %y = mul %e, %e : f32[3]\n}\n";
  nx_function *f;
  nx_tensor *y = NULL, *x = nx_full(ctx, 0, NX_F32, NX_SHAPE(3), NX_NUMBER(1));
  if (nx_function_parse(ctx, text, sizeof text - 1, NULL, &f)) return complain();
  nx_status status = nx_function_call(f, &x, 1, &y, 1, NULL);
  nx_tensor_release(x);
  nx_tensor_release(y);
  nx_function_release(f);
  return status ? complain() : 0;
}

/* The directory is deleted while the program runs. */
static int lose_directory(void) { return rmdir(getenv("NX_DUMP_DIR")) || run_large(); }

/* There are no elements, but the view of one operand does not begin at the first element of its
 * storage. */
static int compare_nothing(void) {
  nx_scope *scope = nx_scope_begin(ctx);
  nx_tensor *line = nx_arange(ctx, 0, NX_F32, NX_NUMBER(1), NX_NUMBER(1), 20);
  nx_tensor *row = nx_as_strided(line, (const int64_t[]){1, 2}, (const int64_t[]){0, -1}, 2, 10);
  nx_tensor *none = nx_shrink(row, (const int64_t[]){0, 0}, (const int64_t[]){0, 2}, 2);
  nx_tensor *y = nx_cmpeq(none, row);
  nx_tensor *square =
      nx_as_strided(line, (const int64_t[]){1, 2, 2}, (const int64_t[]){0, 2, 1}, 3, 3);
  nx_tensor *product = nx_matmul(nx_full(ctx, 0, NX_F32, NX_SHAPE(0, 2, 2), NX_NUMBER(1)), square);
  nx_tensor *both[2] = {y, product};
  nx_status status = nx_realize(ctx, both, 2, NULL);
  nx_scope_end(scope);
  return status ? complain() : 0;
}

/* Infinity minus infinity, and operations on the result, with floats and with complex numbers. */
static int make_nan(void) {
  static const nx_dtype types[] = {NX_F32, NX_C64, NX_C128};
  static const double values[] = {1, 2, (double)INFINITY, 4};
  nx_status status = NX_OK;
  for (size_t i = 0; i < sizeof types / sizeof types[0] && !status; i++) {
    nx_scope *scope = nx_scope_begin(ctx);
    nx_tensor *x = nx_empty(ctx, 0, NX_F64, NX_SHAPE(4));
    status = nx_write(x, values, sizeof values, NULL);
    nx_tensor *z = nx_cast(x, types[i]);
    if (!status) status = nx_realize(ctx, &z, 1, NULL);
    nx_tag_set(12, "line 12");
    nx_tensor *difference = nx_sub(z, z);
    nx_tag_set(0, NULL);
    nx_tensor *y = nx_neg(difference);
    if (!status) status = nx_realize(ctx, &y, 1, NULL);
    nx_scope_end(scope);
  }
  return status ? complain() : 0;
}

/* A function from a text, with names, an output, and an operation that is not elementwise. */
static int make_nan_sum(void) {
  static const char text[] = "nxir 2\ngraph @f(%x: f32[2,2]) -> (%s) {\n"
                             "  %s = reduce_sum %x axes=[1] : f32[2]\n}\n";
  static const float values[] = {1, 2, INFINITY, -INFINITY};
  nx_function *f;
  nx_tensor *s = NULL, *x = nx_empty(ctx, 0, NX_F32, NX_SHAPE(2, 2));
  nx_write(x, values, sizeof values, NULL);
  if (nx_function_parse(ctx, text, sizeof text - 1, NULL, &f)) return complain();
  nx_status status = nx_function_call(f, &x, 1, &s, 1, NULL);
  nx_tensor_release(x);
  nx_tensor_release(s);
  nx_function_release(f);
  return status ? complain() : 0;
}

static const struct program {
  const char *name;
  int (*run)(void);
} programs[] = {{"large", run_large},        {"small", run_small},     {"words", change_words},
                {"function", call_function}, {"lose", lose_directory}, {"nothing", compare_nothing},
                {"nan", make_nan},           {"nan_sum", make_nan_sum}};

static int run_program(const char *name) {
  int result = 1;
  if (nx_context_create(NULL, &ctx)) return complain();
  for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
    if (!strcmp(programs[i].name, name)) result = programs[i].run();
  nx_context_release(ctx);
  return result;
}

/* ---- running them */

static char directory[] = "/tmp/nx-debug-XXXXXX", output[1 << 20];

/* Runs a program; stores all that it prints in `output`, and returns its exit status. */
static int run(const char *program, const char *const *settings) {
  int pipes[2];
  assert_int_equal(pipe(pipes), 0);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    static const char *const all[] = {"NX_DEBUG", "NX_SKIP", "NX_EXECUTOR", "NX_ISA",
                                      "NX_DUMP_DIR"}; /* NX_BACKGROUND stays off */
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) unsetenv(all[i]);
    for (; *settings; settings += 2) setenv(settings[0], settings[1], 1);
    dup2(pipes[1], STDOUT_FILENO);
    dup2(pipes[1], STDERR_FILENO);
    close(pipes[0]);
    execl(nxt_program(), "run_realize", "debug", program, (char *)NULL);
    _exit(127);
  }
  close(pipes[1]);
  size_t size = 0;
  for (ssize_t n; (n = read(pipes[0], output + size, sizeof output - 1 - size)) > 0;)
    size += (size_t)n;
  output[size] = 0;
  close(pipes[0]);
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}
#define RUN(program, ...) run(program, (const char *const[]){__VA_ARGS__, NULL})

static int count(const char *words) {
  int n = 0;
  for (const char *at = output; (at = strstr(at, words)); at += strlen(words)) n++;
  return n;
}

static void expect(const char *words) {
  if (!count(words)) fail_msg("\"%s\" is not in: %s", words, output);
}

/* A path in this test's directory. */
static const char *below(const char *name) {
  static char paths[4][256];
  static unsigned next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", directory, name);
  return path;
}

/* ---- tests */

static void wrong_words_are_errors(void **state) {
  (void)state;
  static const struct {
    const char *name, *value, *sentence;
  } rows[] = {
      {"NX_DEBUG", "verify,grph",
       "NX_INVALID_ARGUMENT: NX_DEBUG: there is no word \"grph\"; known are graph, "},
      {"NX_SKIP", "cse,sce",
       "NX_INVALID_ARGUMENT: NX_SKIP: there is no optional pass \"sce\"; known are count_loops, "
       "unroll_loops, chunk_loops, hoist, repeated_indices, affine_gathers, line_scatters, "
       "scans, constant_fold, algebra, integers, "
       "reshapes, cse, dce, loop_kernels, simplify"},
      {"NX_SKIP", "lower", "there is no optional pass \"lower\""},
      {"NX_EXECUTOR", "lvm",
       "NX_INVALID_ARGUMENT: NX_EXECUTOR: there is no executor \"lvm\"; known are llvm, "
       "kernel-interp, interp"},
      {"NX_BACKGROUND", "maybe",
       "NX_INVALID_ARGUMENT: NX_BACKGROUND: there is no setting \"maybe\"; known are off, on"},
      {"NX_ISA", "vax",
       "NX_INVALID_ARGUMENT: NX_ISA: this processor has no instruction set \"vax\""},
      {"NX_DUMP_DIR", "/dev/null",
       "NX_IO: NX_DUMP_DIR: the directory \"/dev/null\" cannot be written: Not a directory"},
      {"NX_DUMP_DIR", "/nowhere/at/all",
       "NX_IO: NX_DUMP_DIR: the directory \"/nowhere/at/all\" cannot be written: No such file or "
       "directory"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_int_equal(RUN("small", rows[i].name, rows[i].value), 1);
    expect(rows[i].sentence);
    assert_int_equal(count("\n"), 1); /* and nothing else is printed */
  }
}

static void known_words_are_none(void **state) {
  (void)state;
  assert_int_equal(RUN("small", "NX_DEBUG", "", "NX_SKIP", "", "NX_EXECUTOR", "", "NX_ISA", ""), 0);
  assert_string_equal(output, "");
  assert_int_equal(RUN("small", "NX_SKIP", "constant_fold,algebra,cse,dce,simplify,"), 0);
  assert_string_equal(output, "");
  assert_int_equal(RUN("small", "NX_DEBUG", "cuda,ptx,verify,roundtrip"), 0);
  assert_string_equal(output, "");
  assert_int_equal(RUN("small", "NX_DEBUG", "help"), 0);
  assert_string_equal(output, nx_debug_help());
  expect("  cuda: CUDA source of each kernel\n");
  expect("  ptx: ");
}

static void llvm_that_is_missing_is_an_error(void **state) {
  (void)state;
  bool there = nxl_unavailable() == NULL;
  assert_int_equal(RUN("small", "NX_EXECUTOR", "llvm"), there ? 0 : 1);
  if (!there) expect("NX_DEVICE_UNAVAILABLE: NX_EXECUTOR: llvm is not there: ");
}

/* The same texts whether the kernels are compiled or come from the disk. */
static void stages_of_stored_kernels(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  static char cold[sizeof output];
  const char *cache = below("stages");
  assert_int_equal(
      RUN("large", "NX_CACHE_DIR", cache, "NX_DEBUG", "graph,clusters,kernels,bound,plan,llvm,asm"),
      0);
  expect(" from disk 0\n");
  strcpy(cold, output);
  static const char *const stages[] = {"-- graph f\nnxir 2\ngraph @f(",
                                       "-- clusters f\nnxir 2\ngraph @f(",
                                       "-- kernels ",
                                       "-- bound ",
                                       "-- plan f\n",
                                       "-- llvm ",
                                       "-- asm "};
  for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) expect(stages[i]);
  assert_int_equal(
      RUN("large", "NX_CACHE_DIR", cache, "NX_DEBUG", "graph,clusters,kernels,bound,plan,llvm,asm"),
      0);
  assert_int_equal(count(" from disk 0\n"), 0);
  char *a = strstr(cold, "kernels 1"), *b = strstr(output, "kernels 1");
  a = a ? a : strstr(cold, "\nkernels "), b = b ? b : strstr(output, "\nkernels ");
  assert_true(a && b);
  *a = *b = 0;
  assert_string_equal(cold, output);
}

static void words_that_change(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  assert_int_equal(RUN("words", "NX_CACHE_DIR", ""), 0);
  const char *first = strstr(output, "words \"asm,cache\""),
             *second = first ? strstr(first + 1, "words \"asm,cache\"") : NULL,
             *shown = strstr(output, "-- asm ");
  assert_true(second && shown > first &&
              shown < second); /* once more, though the kernels are in memory */
  expect("nx: new plan: NX_DEBUG asks for something else\n");
  assert_null(strstr(second, "-- asm "));
  assert_null(strstr(second, "nx: new plan"));
  assert_non_null(strstr(second, "-- graph f\n"));
}

/* A request for stages that exist only for compiled graphs makes graphs be compiled. */
static void stages_of_tiny_graphs(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  assert_int_equal(RUN("small", "NX_DEBUG", "graph,time"), 0);
  expect("-- graph f\nnxir 2\n");
  expect("interpreted: ");
  assert_int_equal(RUN("small", "NX_DEBUG", "kernels,time"), 0);
  expect("-- kernels ");
  expect("kernels: ");
  assert_int_equal(count("interpreted: "), 0);
}

static int count_files(const char *path, const char *end) {
  int n = 0;
  DIR *d = opendir(path);
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) {
    size_t length = strlen(e->d_name), wanted = strlen(end);
    n += length >= wanted && !strcmp(e->d_name + length - wanted, end);
  }
  closedir(d);
  return n;
}

static void dump_directory(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  const char *dumps = below("dumps"), *cache = below("dump-cache");
  for (int warm = 1; warm <= 2; warm++) { /* the directory is made, then found */
    assert_int_equal(RUN("large", "NX_CACHE_DIR", cache, "NX_DUMP_DIR", dumps), 0);
    if (warm == 2) assert_int_equal(count(" from disk 0\n"), 0);
    assert_int_equal(count_files(dumps, "-graph.nxir"), 2); /* of x, and of y */
    assert_int_equal(count_files(dumps, "-plan.txt"), 2);
    assert_true(count_files(dumps, "-bound.nxir") >= 2);
    assert_int_equal(count_files(dumps, "-asm.s"), count_files(dumps, "-bound.nxir"));
    assert_int_equal(count_files(dumps, "-llvm.ll"), count_files(dumps, "-bound.nxir"));
    char command[300];
    snprintf(command, sizeof command, "rm %s/*", dumps);
    assert_int_equal(system(command), 0);
  }
  assert_int_equal(RUN("lose", "NX_DUMP_DIR", dumps), 1);
  expect("NX_IO: NX_DUMP_DIR: ");
  expect("NX_DUMP_DIR: cannot write ");
  expect("-graph.nxir: No such file or directory");
}

static void time_of_a_function(void **state) {
  (void)state;
  assert_int_equal(RUN("function", "NX_DEBUG", "time", "NX_EXECUTOR", "interp"), 0);
  expect("nx: 3 nodes, 1 inputs, 1 outputs, interpreted: ");
}

static void views_of_nothing(void **state) {
  (void)state;
  assert_int_equal(RUN("nothing", "NX_DEBUG", "verify"), 0);
  assert_string_equal(output, "");
  assert_int_equal(RUN("nothing", "NX_DEBUG", "roundtrip"), 0);
  assert_int_equal(RUN("nothing", "NX_DEBUG", "verify,roundtrip", "NX_EXECUTOR", "kernel-interp"),
                   0);
}

static void where_a_nan_is_made(void **state) {
  (void)state;
  assert_int_equal(RUN("nan", "NX_DEBUG", "nan"), 0);
  assert_int_equal(count("nx: NaN first made by node 1, sub: %1: "), 3);
  expect("sub: %1: f32[4] at [2], tag 12 \"line 12\"; operands: %0 = inf, %0 = inf\n");
  expect("sub: %1: c64[4] at [2], tag 12 \"line 12\"; operands: %0 = inf");
  assert_int_equal(RUN("nan_sum", "NX_DEBUG", "nan"), 0);
  expect(
      "nx: NaN first made by node 1, reduce_sum: %s: f32[2] at [1], output s; operands: %x holds "
      "inf at [1,0]\n");
  assert_int_equal(RUN("nan", "NX_DEBUG", ""), 0);
  assert_string_equal(output, "");
}

static int make_directory(void **state) {
  (void)state;
  return mkdtemp(directory) == NULL;
}

static int remove_directory(void **state) {
  (void)state;
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", directory);
  return system(command);
}

NXT_MAIN(debug) {
  if (argc > 1) return run_program(argv[1]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_words_are_errors),
      cmocka_unit_test(known_words_are_none),
      cmocka_unit_test(llvm_that_is_missing_is_an_error),
      cmocka_unit_test(stages_of_stored_kernels),
      cmocka_unit_test(words_that_change),
      cmocka_unit_test(stages_of_tiny_graphs),
      cmocka_unit_test(dump_directory),
      cmocka_unit_test(time_of_a_function),
      cmocka_unit_test(views_of_nothing),
      cmocka_unit_test(where_a_nan_is_made),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
