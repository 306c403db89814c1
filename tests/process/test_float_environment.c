/* SPDX-License-Identifier: ISC */
/* The caller's floating-point environment does not affect results, and is not changed. A program of
 * the interface, which records, parses, transforms, multiplies, solves, folds and prints, runs
 * under each environment, contexts, threads and tables included; its results, numbers and texts,
 * are compared with those in the default environment. `conformance hostile` runs the whole contract
 * so (tests/conformance/hostile.py). */
#include "tests/util/api.h"

#include <math.h>

#include "float_environment.h"

enum { MOST_BYTES = 1 << 20, LENGTHS = 7 };

/* All results of a run, in order. */
typedef struct outcome {
  size_t size;
  char bytes[MOST_BYTES];
} outcome;

static outcome expected, found;
static double input[2 * 1100], output[2 * 1100];

static void keep(outcome *o, const void *bytes, size_t n) {
  assert_true(o->size + n <= sizeof o->bytes);
  memcpy(o->bytes + o->size, bytes, n);
  o->size += n;
}

static bool ok(nx_status status) { return status == NX_OK; }

/* This runs in the tested environment, so no number is computed or compared here. */
static bool keep_tensor(outcome *o, nx_tensor *t, size_t bytes) {
  bool good = t && ok(nx_read(t, output, bytes, NULL));
  if (good) keep(o, output, bytes);
  nx_tensor_release(t);
  return good;
}

static bool run_transforms(nx_context *c, outcome *o) {
  static const int64_t lengths[LENGTHS] = {8, 30, 97, 128, 243, 1000, 1009};
  bool good = true;
  for (int i = 0; i < LENGTHS && good; i++) {
    nx_import_desc d = {.size = sizeof d,
                        .mode = NX_IMPORT_COPY,
                        .dtype = NX_C128,
                        .rank = 1,
                        .shape = &lengths[i],
                        .base = input,
                        .bytes = sizeof input};
    nx_tensor *x = NULL;
    good =
        ok(nx_import(c, &d, &x)) && keep_tensor(o, nx_fft(x, NX_AXES(0)), (size_t)lengths[i] * 16);
    nx_tensor_release(x);
  }
  return good;
}

/* Numbers that are rounded when they are recorded, folded when they are planned, computed when they
 * run. */
static bool run_numbers(nx_context *c, outcome *o) {
  nx_tensor *third = nx_full(c, 0, NX_F32, NX_SHAPE(40), NX_NUMBER(0x1.5555555555555p-2)),
            *tiny = nx_full(c, 0, NX_F32, NX_SHAPE(40), NX_NUMBER(1e-40)),
            *ramp = nx_arange(c, 0, NX_F32, NX_NUMBER(0.1), NX_NUMBER(0.7), 40),
            *zero = nx_full(c, 0, NX_F32, NX_SHAPE(40), NX_NUMBER(0)),
            *folded = nx_mul(third, third), *small = nx_mul(tiny, third),
            *sum = nx_add(nx_mul(ramp, folded), small);
  bool good = keep_tensor(o, nx_exp(sum), 160) && keep_tensor(o, nx_div(third, zero), 160) &&
              keep_tensor(o, nx_sqrt(nx_neg(ramp)), 160) && keep_tensor(o, small, 160) &&
              keep_tensor(o, nx_reduce_sum(sum, NX_AXES(0), 0), 4) &&
              keep_tensor(o, nx_pow(ramp, third), 160) &&
              keep_tensor(o, nx_cast(ramp, NX_BF16), 80);
  nx_scalar s;
  good = good && ok(nx_item(ramp, (int64_t[]){7}, 1, &s, NULL));
  if (good) keep(o, &s.v.f[0], sizeof s.v.f[0]);
  return good;
}

static bool run_matrices(nx_context *c, outcome *o) {
  nx_tensor *ramp = nx_arange(c, 0, NX_F64, NX_NUMBER(0.1), NX_NUMBER(0.37), 36 * 36),
            *a = nx_add(nx_sin(nx_reshape(ramp, NX_SHAPE(36, 36), 0)),
                        nx_eye(c, 0, NX_F64, 36, 36, 0));
  nx_tensor *q = NULL, *r = NULL;
  return keep_tensor(o, nx_matmul(a, a), 36 * 36 * 8) && keep_tensor(o, nx_inv(a), 36 * 36 * 8) &&
         ok(nx_qr(a, 0, &q, &r)) && keep_tensor(o, r, 36 * 36 * 8) &&
         keep_tensor(o, nx_pinv(a, -1), 36 * 36 * 8);
}

static bool run_texts(nx_context *c, outcome *o) {
  static const char text[] = "nxir 2\n"
                             "graph @texts(%x: f64[2]) -> (%y) {\n"
                             "  %a = full 0.1 : f64[2]\n"
                             "  %b = full 123456.789e-13 : f64[2]\n"
                             "  %c = mul %a, %b : f64[2]\n"
                             "  %y = add %c, %x : f64[2]\n"
                             "}\n";
  nx_function *f = NULL;
  char *printed = NULL;
  if (!ok(nx_function_parse(c, text, strlen(text), NULL, &f))) return false;
  bool good = ok(nx_function_dump(f, "graph", &printed));
  if (good) keep(o, printed, strlen(printed));
  nx_string_free(printed);
  nx_function_release(f);
  nx_tensor *x = nx_full(c, 0, NX_F64, NX_SHAPE(3), NX_NUMBER(0x1.999999999999ap-4)),
            *y = nx_exp(nx_add(x, nx_arange(c, 0, NX_F64, NX_NUMBER(0), NX_NUMBER(0.3), 3)));
  good = good && ok(nx_dump(&y, 1, "graph", &printed));
  if (good) keep(o, printed, strlen(printed));
  if (good) nx_string_free(printed);
  return good;
}

/* Numbers of the host in every type: written by value, as a step, outside of an array, and read
 * again. */
static bool run_scalars(nx_context *c, outcome *o) {
  static const nx_dtype types[] = {NX_F8E4M3, NX_F8E5M2, NX_F16, NX_BF16, NX_F32, NX_F64,
                                   NX_C64,    NX_C128,   NX_I8,  NX_U64,  NX_I64};
  static const double numbers[] = {0x1.999999999999ap-4, -0x1.5555555555555p+1,
                                   0x1.8p-150,           0x1.fffffffffffffp-1023,
                                   0x1.ffffffp+6,        0x1.0000020000001p+3};
  bool good = true;
  for (size_t i = 0; i < sizeof types / sizeof *types && good; i++)
    for (size_t j = 0; j < sizeof numbers / sizeof *numbers && good; j++) {
      nx_scalar value = {NX_SCALAR_F64, {.f = {numbers[j], 0}}}, read;
      nx_tensor *x = nx_full(c, 0, types[i], NX_SHAPE(3), &value),
                *padded = x ? nx_pad(x, (int64_t[]){1}, (int64_t[]){2}, 1, &value) : NULL,
                *ramp = nx_arange(c, 0, types[i], &value, &value, 7);
      nx_error_take(NULL); /* values that a type cannot represent are refused in the same way */
      keep(o, (char[]){x != NULL, padded != NULL, ramp != NULL}, 3);
      size_t bytes = nx_dtype_bits(types[i]) / 8;
      if (padded) good = keep_tensor(o, padded, 6 * bytes);
      if (ramp && good) good = keep_tensor(o, nx_copy(ramp), 7 * bytes);
      if (ramp && good && (good = ok(nx_item(ramp, (int64_t[]){6}, 1, &read, NULL))))
        keep(o, &read.v, sizeof read.v);
    }
  return good;
}

static bool run_random(nx_context *c, outcome *o) {
  static const nx_dtype types[] = {NX_F16, NX_BF16, NX_F32, NX_F64};
  nx_tensor *key = nx_arange(c, 0, NX_U32, NX_NUMBER(3), NX_NUMBER(4), 2),
            *random = nx_rand(key, NX_F64, NX_SHAPE(12, 12)), *sign = NULL, *log = NULL;
  bool good = keep_tensor(o, nx_permutation(key, 50), 200);
  for (int i = 0; i < 4 && good; i++) {
    size_t bytes = 300 * nx_dtype_bits(types[i]) / 8;
    good = keep_tensor(o, nx_rand(key, types[i], NX_SHAPE(300)), bytes) &&
           keep_tensor(o, nx_randn(key, types[i], NX_SHAPE(300)), bytes);
  }
  return good && ok(nx_slogdet(random, &sign, &log)) && keep_tensor(o, log, 8) &&
         keep_tensor(o, nx_lstsq(random, random, -1, 0), 12 * 12 * 8) &&
         keep_tensor(o, nx_irfft(nx_rfft(random, NX_AXES(1)), NX_AXES(1), NULL, 0), 12 * 12 * 8) &&
         keep_tensor(o, nx_associative_scan(random, NX_SCAN_SUM, 1), 12 * 12 * 8);
}

/* All available stages; the code generator's texts contain constants too. */
static bool run_stages(nx_context *c, outcome *o) {
  static const char *const stages[] = {"graph", "clusters", "kernels", "bound",
                                       "llvm",  "asm",      "cuda"};
  nx_tensor *x = nx_arange(c, 0, NX_F32, NX_NUMBER(0.1), NX_NUMBER(0.3), 1000),
            *y = nx_tanh(nx_add(nx_mul(x, nx_full(c, 0, NX_F32, NX_SHAPE(1000), NX_NUMBER(0.7))),
                                nx_full(c, 0, NX_F32, NX_SHAPE(1000), NX_NUMBER(1e-42))));
  for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
    char *text = NULL;
    if (nx_dump(&y, 1, stages[i], &text) == NX_OK) keep(o, text, strlen(text));
    nx_error_take(NULL);
    nx_string_free(text);
  }
  return true;
}

/* The context releases the handles. */
static bool run_all(outcome *o) {
  nx_context *c = NULL;
  nx_context_options options = {.size = sizeof options, .threads = 2, .cache_dir = ""};
  o->size = 0;
  bool good = ok(nx_context_create(&options, &c)) && run_transforms(c, o) && run_numbers(c, o) &&
              run_matrices(c, o) && run_texts(c, o) && run_scalars(c, o) && run_random(c, o) &&
              run_stages(c, o);
  nx_context_release(c);
  return good;
}

static void explain(void) {
  nx_error e = {.size = sizeof e};
  if (nx_error_take(&e) != NX_OK) fail_msg("%s: %s", e.op, e.message);
}

static void test_each(void **state) {
  (void)state;
  for (int i = 0; i < 2200; i++) input[i] = (i * 7919) % 1000 / 500.0 - 1;
  if (!run_all(&expected)) explain();
  assert_true(expected.size > 60000);
  for (int i = 0; i < NXT_ENVIRONMENTS; i++) {
    const nxt_environment *e = &nxt_environments[i];
    nxt_enter_environment(e);
    nxt_float_state before = nxt_float_state_now();
    bool good = run_all(&found);
    nxt_float_state after = nxt_float_state_now();
    nxt_leave_environment();
    if (!good) explain();
    if (!nxt_float_state_equal(before, after))
      fail_msg("%s: control %x flags %x x87 %x %x became %x %x %x %x", e->name, before.control,
               before.flags, before.x87_control, before.x87_flags, after.control, after.flags,
               after.x87_control, after.x87_flags);
    size_t at = 0;
    while (at < expected.size && found.bytes[at] == expected.bytes[at]) at++;
    if (found.size != expected.size || at < expected.size)
      fail_msg("%s: byte %zu of %zu differs", e->name, at, expected.size);
  }
}

/* ---- callbacks run in the caller's environment */

static nxt_float_state wanted;
static int calls, wrong;

static int32_t look(void *user) {
  (void)user;
  calls++;
  wrong += !nxt_float_state_equal(nxt_float_state_now(), wanted);
  return 0;
}

static void released(void *user) { look(user); }

static void test_callbacks(void **state) {
  (void)state;
  static float numbers[4] = {1, 2, 3, 4};
  nx_context *c = NULL;
  nx_run_options o = {.size = sizeof o, .poll = look};
  OK(nx_context_create(NULL, &c));
  nx_import_desc d = {.size = sizeof d,
                      .mode = NX_IMPORT_IMMUTABLE,
                      .dtype = NX_F32,
                      .rank = 1,
                      .shape = (int64_t[]){4},
                      .base = numbers,
                      .bytes = sizeof numbers,
                      .release = released};
  nx_tensor *x = NULL;
  OK(nx_import(c, &d, &x));
  nx_tensor *long_one = nx_arange(c, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(1e-6), 1 << 15),
            *y = long_one;
  for (int i = 0; i < 4; i++) y = nx_sin(nx_exp(y));
  for (int i = 0; i < NXT_ENVIRONMENTS; i++) {
    nx_tensor *z =
        nx_reduce_sum(nx_add(y, nx_full(c, 0, NX_F32, NULL, 0, NX_NUMBER(i))), NX_AXES(0), 0);
    float value;
    calls = 0;
    nxt_enter_environment(&nxt_environments[i]);
    wanted = nxt_float_state_now();
    nx_status status = nx_read(z, &value, sizeof value, &o);
    nxt_leave_environment();
    OK(status);
    if (wrong || !calls) fail_msg("%s: %d of %d calls", nxt_environments[i].name, wrong, calls);
  }
  nx_tensor_release(x);
  calls = 0;
  nxt_enter_environment(&nxt_environments[0]);
  wanted = nxt_float_state_now();
  nx_context_collect(c);
  nxt_leave_environment();
  assert_int_equal(calls, 1);
  assert_int_equal(wrong, 0);
  nx_context_release(c);
}

NXT_MAIN(float_environment) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each),
      cmocka_unit_test(test_callbacks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
