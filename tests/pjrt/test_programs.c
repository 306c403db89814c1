/* SPDX-License-Identifier: ISC */
/* Programs that are handed over as text, with constants that stand outside of it. */
#include <stdio.h>

#include "bindings/pjrt/programs.h"
#include "plugin.h"

#include <unistd.h>

static uint64_t (*program_new)(const char *, size_t, const void *const *, const size_t *, size_t,
                               int32_t *);
static void (*program_drop)(uint64_t);

/* Two constants that are not in the text, one that is, and one in a region. */
static const char text[] =
    "module @jit_sum {\n"
    "  func.func public @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {\n"
    "    %cst = stablehlo.constant dense_resource<__elided__> : tensor<3xf32>\n"
    "    %cst_0 = stablehlo.constant dense<1.0> : tensor<3xf32>\n"
    "    %yes = stablehlo.constant dense<true> : tensor<i1>\n"
    "    %0 = stablehlo.add %arg0, %cst : tensor<3xf32>\n"
    "    %1 = stablehlo.add %0, %cst_0 : tensor<3xf32>\n"
    "    %2 = \"stablehlo.if\"(%yes) ({\n"
    "      %3 = \"stablehlo.constant\"() <{value = dense_resource<__elided__> : tensor<3xf32>}> : "
    "() -> tensor<3xf32>\n"
    "      stablehlo.return %3 : tensor<3xf32>\n"
    "    }, {\n"
    "      stablehlo.return %1 : tensor<3xf32>\n"
    "    }) : (tensor<i1>) -> tensor<3xf32>\n"
    "    %4 = stablehlo.multiply %1, %2 : tensor<3xf32>\n"
    "    return %4 : tensor<3xf32>\n"
    "  }\n"
    "}\n";
static const float first[] = {10, 20, 30}, second[] = {2, -3, 0.5F}, x[] = {1, 2, 3};
static const float want[] = {24, -69, 17};
static const int64_t three[] = {3};
static const size_t sizes[] = {sizeof first, sizeof second};

static uint64_t hand_over(const char *program, const float *a, const float *b) {
  const void *constants[] = {a, b};
  return program_new(program, strlen(program), constants, sizes, 2, NULL);
}

static nxj_error *try_load(nxj_client *c, uint64_t number, nxj_loaded **out) {
  char bytes[64];
  size_t n = (size_t)snprintf(bytes, sizeof bytes, "%s", NX_PJRT_PROGRAM);
  memcpy(bytes + n, &number, sizeof number);
  ARGS(deserialize, d, .client = c, .bytes = bytes, .n = n + sizeof number);
  nxj_error *e = RUN(Executable_DeserializeAndLoad, &d);
  *out = d.loaded;
  return e;
}

static void gives(nxj_client *c, nxj_loaded *l, const float *result) {
  float got[3];
  nxj_buffer *in[] = {upload(c, x, three, 1)}, *out = NULL;
  good(try_call(l, in, 1, &out));
  good(try_download(out, got, 3));
  assert_memory_equal(got, result, sizeof got);
  drop_buffer(in[0]);
  drop_buffer(out);
}

static nxj_executable *executable_of(nxj_loaded *l) {
  ARGS(loaded_executable, e, .loaded = l);
  good(RUN(LoadedExecutable_GetExecutable, &e));
  return e.executable;
}

static void computes(void **state) {
  (void)state;
  nxj_client *c = make_client();
  uint64_t number = hand_over(text, first, second);
  nxj_loaded *l;
  assert_true(number != 0);
  good(try_load(c, number, &l));
  program_drop(number);
  gives(c, l, want);
  drop_loaded(l);
  refused(try_load(c, number, &l), NXJ_INVALID_ARGUMENT, "no program of this process");
  program_drop(number); /* of which there is none */
  drop_client(c);
}

/* Constants that are lent are read where they lie, until the program's end. */
static void lends(void **state) {
  (void)state;
  float own[2][3];
  const void *constants[] = {own[0], own[1]};
  int32_t lent = 0;
  nxj_loaded *l;
  nxj_client *c = make_client();
  memcpy(own[0], first, sizeof own[0]);
  memcpy(own[1], second, sizeof own[1]);
  uint64_t number = program_new(text, strlen(text), constants, sizes, 2, &lent);
  assert_int_equal(lent, 1);
  good(try_load(c, number, &l));
  program_drop(number);
  gives(c, l, want);
  assert_int_equal(lent, 1);
  drop_loaded(l);
  drop_client(c);
  for (int i = 0; __atomic_load_n(&lent, __ATOMIC_ACQUIRE) != 0; i++) {
    assert_true(i < 60000); /* code may be made of the program in the background */
    usleep(1000);
  }
  assert_int_equal(program_new("no program", 10, constants, sizes, 2, &lent), 0);
  assert_int_equal(lent, 0);
}

/* What it says of itself, and what is stored, has the constants. */
static void is_whole(void **state) {
  (void)state;
  static const char *const parts[] = {"dense<\"0x000020410000A0410000F041\"> : tensor<3xf32>",
                                      "dense<\"0x00000040000040C00000003F\"> : tensor<3xf32>"};
  nxj_client *c = make_client();
  uint64_t number = hand_over(text, first, second);
  nxj_loaded *l, *again;
  good(try_load(c, number, &l));
  program_drop(number);
  nxj_executable *e = executable_of(l);
  nxj_program p = {.size = sizeof p};
  ARGS(executable_program, a, .executable = e, .program = &p);
  good(RUN(Executable_OptimizedProgram, &a));
  p.code = test_calloc(p.n + 1, 1);
  good(RUN(Executable_OptimizedProgram, &a));
  assert_non_null(strstr(p.code, parts[0]));
  assert_non_null(strstr(p.code, parts[1]));
  assert_null(strstr(p.code, "elided"));
  good(try_compile(c, p.code, &again));
  gives(c, again, want);
  drop_loaded(again);
  test_free(p.code);
  ARGS(executable_serialize, s, .executable = e);
  good(RUN(Executable_Serialize, &s));
  ARGS(deserialize, d, .client = c, .bytes = s.bytes, .n = s.n);
  good(RUN(Executable_DeserializeAndLoad, &d));
  s.release(s.owner);
  drop_loaded(l);
  gives(c, d.loaded, want);
  drop_loaded(d.loaded);
  ARGS(executable, end, .executable = e);
  good(RUN(Executable_Destroy, &end));
  drop_client(c);
}

/* Programs that differ in constants have other fingerprints. */
static void tells_apart(void **state) {
  (void)state;
  static const float other[] = {2, -3, 0.25F}, product[] = {24, -69, 8.5F};
  char prints[2][33];
  nxj_client *c = make_client();
  for (int i = 0; i < 2; i++) {
    uint64_t number = hand_over(text, first, i == 0 ? second : other);
    nxj_loaded *l;
    good(try_load(c, number, &l));
    program_drop(number);
    gives(c, l, i == 0 ? want : product);
    ARGS(loaded_text, a, .loaded = l);
    good(RUN(LoadedExecutable_Fingerprint, &a));
    snprintf(prints[i], sizeof prints[i], "%.*s", (int)a.n, a.text);
    drop_loaded(l);
  }
  assert_string_not_equal(prints[0], prints[1]);
  drop_client(c);
}

#define PROGRAM(constant, type)                                                                 \
  "func.func @main(%a: " type ") -> " type " {\n  %0 = stablehlo.constant " constant " : " type \
  "\n  %1 = stablehlo.add %a, %0 : " type "\n  return %1 : " type "\n}\n"
#define LEFT_OUT "dense_resource<__elided__>"

static void refuses(void **state) {
  (void)state;
  static const struct {
    const char *program;
    size_t bytes, n;
  } bad[] = {{PROGRAM(LEFT_OUT, "tensor<3xf32>"), 8, 1},      /* too few bytes */
             {PROGRAM(LEFT_OUT, "tensor<2xf32>"), 12, 1},     /* too many */
             {PROGRAM(LEFT_OUT, "tensor<3xf32>"), 12, 0},     /* not given */
             {PROGRAM(LEFT_OUT, "tensor<3xf32>"), 12, 2},     /* more than the text names */
             {PROGRAM("dense<1.0>", "tensor<3xf32>"), 12, 1}, /* which names none */
             {PROGRAM(LEFT_OUT, "tensor<12xi1>"), 12, 1},
             {PROGRAM(LEFT_OUT, "tensor<24xi4>"), 12, 1},
             {PROGRAM(LEFT_OUT, "tensor<?xf32>"), 12, 1},
             {PROGRAM(LEFT_OUT, "tensor<0xf32>"), 0, 1},
             {PROGRAM(LEFT_OUT, "tuple<>"), 12, 1},
             {PROGRAM("dense_resource<named>", "tensor<3xf32>"), 12, 1},
             {"func.func @main(", 12, 1},
             {"", 12, 0}};
  const void *constants[] = {first, second};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    size_t given[] = {bad[i].bytes, bad[i].bytes};
    uint64_t number =
        program_new(bad[i].program, strlen(bad[i].program), constants, given, bad[i].n, NULL);
    if (number != 0) fail_msg("program %zu is taken", i);
  }
  size_t huge[] = {SIZE_MAX / 3, SIZE_MAX / 3};
  assert_true(program_new(text, strlen(text), constants, huge, 2, NULL) == 0);
  const void *missing[] = {first, NULL};
  assert_true(program_new(text, strlen(text), missing, (size_t[]){12, 12}, 2, NULL) == 0);
  assert_true(program_new(text, strlen(text), NULL, NULL, 2, NULL) == 0);
  assert_true(program_new(NULL, 0, NULL, NULL, 0, NULL) == 0);
  nxj_loaded *l;
  nxj_client *c = make_client();
  refused(try_load(c, 0, &l), NXJ_INVALID_ARGUMENT, "no program of this process");
  drop_client(c);
}

static void find(void *library, const char *name, void *out, size_t size) {
  void *symbol = dlsym(library, name);
  assert_non_null(symbol);
  memcpy(out, &symbol, size);
}

NXT_MAIN(programs) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(computes), cmocka_unit_test(lends),
                                     cmocka_unit_test(is_whole), cmocka_unit_test(tells_apart),
                                     cmocka_unit_test(refuses)};
  if (load_plugin() == NULL) return 1;
  void *library = dlopen(getenv("NXT_PJRT"), RTLD_NOW | RTLD_LOCAL);
  find(library, "nx_pjrt_program_new", &program_new, sizeof program_new);
  find(library, "nx_pjrt_program_drop", &program_drop, sizeof program_drop);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
