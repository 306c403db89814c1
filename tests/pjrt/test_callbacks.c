/* SPDX-License-Identifier: ISC */
/* Functions of a caller in C in programs of the plugin: values, order, failures, tokens, and how
 * long a function is kept. */
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bindings/pjrt/callbacks.h"
#include "plugin.h"

#define V "tensor<3xf32>"
#define T "!stablehlo.token"
static const int64_t three[] = {3};
static const float ones[] = {1, 2, 3};

static struct {
  uint64_t (*make)(nx_pjrt_callback *call, void (*release)(uint64_t user), uint64_t user);
  void (*drop)(uint64_t number);
  void (*end)(void);
} exported;

static void find(void *library, const char *name, void *out) {
  void *symbol = dlsym(library, name);
  assert_non_null(symbol);
  memcpy(out, &symbol, sizeof symbol);
}

static void load(void) {
  void *library = dlopen(getenv("NXT_PJRT"), RTLD_NOW | RTLD_NOLOAD);
  assert_non_null(library);
  find(library, "nx_pjrt_callback_new", &exported.make);
  find(library, "nx_pjrt_callback_drop", &exported.drop);
  find(library, "nx_pjrt_callbacks_end", &exported.end);
  dlclose(library);
}

/* ---- functions */

static float seen[16];
static int n_seen;
static atomic_int n_released;
static bool failing;

static int twice(uint64_t user, const void *const *in, void *const *out, char *sentence) {
  const float *x = in[0];
  float *y = out[0];
  if (failing) snprintf(sentence, NX_PJRT_SENTENCE, "user %d has no luck", (int)user);
  for (int i = 0; i < 3; i++) y[i] = 2 * x[i];
  return failing;
}

/* The sum of operands, times 1, 2, .. in the results. */
static int sum(uint64_t user, const void *const *in, void *const *out, char *sentence) {
  (void)sentence;
  for (uint64_t i = 0; i < user; i++)
    for (int k = 0; k < 3; k++) {
      float all = 0;
      for (uint64_t j = 0; j < user; j++) all += ((const float *)in[j])[k] * (float)(j + 1);
      ((float *)out[i])[k] = all * (float)(i + 1);
    }
  return 0;
}

static int note(uint64_t user, const void *const *in, void *const *out, char *sentence) {
  (void)out;
  (void)sentence;
  float x = 0;
  if (user != 0) memcpy(&x, in[0], sizeof x);
  if (n_seen < 16) seen[n_seen++] = x;
  return 0;
}

static void count(uint64_t user) { atomic_fetch_add(&n_released, (int)user); }

/* Writes a number into the places %s of a program. */
static nxj_loaded *compile_with(nxj_client *c, const char *text, uint64_t number) {
  char program[2048], name[24];
  size_t n = 0;
  snprintf(name, sizeof name, "%016llx", (unsigned long long)number);
  for (const char *at = text; *at != 0; at++) {
    bool place = *at == '$';
    n += (size_t)snprintf(program + n, sizeof program - n, "%.*s", place ? 16 : 1,
                          place ? name : at);
  }
  return compile(c, program);
}

/* ---- cases */

static const char pure[] =
    "func.func @main(%x: " V ") -> " V " {\n"
    "  %0 = stablehlo.custom_call @nx_host_callback(%x) {backend_config = \"$\"} : (" V ") -> " V
    "\n"
    "  return %0 : " V "\n"
    "}\n";

static void gives_values(void **state) {
  (void)state;
  nxj_client *c = make_client();
  uint64_t f = exported.make(twice, count, 1);
  nxj_loaded *l = compile_with(c, pure, f);
  exported.drop(f);
  n_released = 0;
  nxj_buffer *x = upload(c, ones, three, 1), *out = NULL;
  float got[3];
  for (int i = 0; i < 4; i++) { /* a failure is not the next call's */
    failing = i % 2 != 0;
    good(try_call(l, &x, 1, &out));
    if (failing) refused(try_download(out, got, 3), NXJ_INTERNAL, "user 1 has no luck");
    else good(try_download(out, got, 3));
    assert_true(failing || (got[0] == 2 && got[2] == 6));
    drop_buffer(out);
  }
  failing = false;
  ARGS(loaded_executable, e, .loaded = l);
  good(RUN(LoadedExecutable_GetExecutable, &e));
  ARGS(executable_serialize, s, .executable = e.executable);
  refused(RUN(Executable_Serialize, &s), NXJ_UNIMPLEMENTED, "cannot be stored");
  ARGS(executable, end, .executable = e.executable);
  good(RUN(Executable_Destroy, &end));
  assert_int_equal(n_released, 0);
  drop_loaded(l);
  drop_buffer(x);
  /* the last call's thread may be the last to have it */
  for (int i = 0; i < 5000 && atomic_load(&n_released) == 0; i++) usleep(1000);
  assert_int_equal(atomic_load(&n_released), 1);
  drop_client(c);
}

/* As many operands and results as no operation has. */
static void takes_many(void **state) {
  (void)state;
  char text[1024] = "func.func @main(%x: " V ") -> " V " {\n  %0:17 = stablehlo.custom_call "
                    "@nx_host_callback(%x";
  for (int i = 1; i < 17; i++) strcat(text, ", %x");
  strcat(text, ") {backend_config = \"$\"} : (" V);
  for (int i = 1; i < 17; i++) strcat(text, ", " V);
  strcat(text, ") -> (" V);
  for (int i = 1; i < 17; i++) strcat(text, ", " V);
  strcat(text, ")\n  return %0#16 : " V "\n}\n");
  nxj_client *c = make_client();
  uint64_t f = exported.make(sum, NULL, 17);
  nxj_loaded *l = compile_with(c, text, f);
  exported.drop(f);
  nxj_buffer *x = upload(c, ones, three, 1), *out = NULL;
  float got[3];
  good(try_call(l, &x, 1, &out));
  good(try_download(out, got, 3));
  for (int k = 0; k < 3; k++) assert_true(got[k] == 17 * 153 * ones[k]);
  drop_buffer(out);
  drop_buffer(x);
  drop_loaded(l);
  drop_client(c);
}

static const char effects[] =
    "func.func @main(%t: " T ", %x: tensor<f32>) -> (" T ", tensor<f32>) {\n"
    "  %n = stablehlo.constant dense<3.0> : tensor<f32>\n"
    "  %one = stablehlo.constant dense<1.0> : tensor<f32>\n"
    "  %r:2 = stablehlo.while(%a = %t, %b = %x) : " T ", tensor<f32>\n"
    "    cond {\n"
    "      %p = stablehlo.compare LT, %b, %n : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "      stablehlo.return %p : tensor<i1>\n"
    "    } do {\n"
    "      %s = stablehlo.custom_call @nx_host_callback(%a, %b) {backend_config = \"$\",\n"
    "          has_side_effect = true} : (" T ", tensor<f32>) -> " T "\n"
    "      %c = stablehlo.add %b, %one : tensor<f32>\n"
    "      stablehlo.return %s, %c : " T ", tensor<f32>\n"
    "    }\n"
    "  stablehlo.custom_call @nx_host_callback(%r#1) {backend_config = \"$\",\n"
    "      has_side_effect = true} : (tensor<f32>) -> ()\n"
    "  return %r#0, %r#1 : " T ", tensor<f32>\n"
    "}\n";

/* The token of one call is an argument of the next. */
static void keeps_order(void **state) {
  (void)state;
  static const int64_t none[] = {0};
  nxj_client *c = make_client();
  uint64_t f = exported.make(note, NULL, 1);
  nxj_loaded *l = compile_with(c, effects, f);
  exported.drop(f);
  ARGS(from_host, t, .client = c, .type = NXJ_TYPE_PRED, .dims = none, .rank = 1);
  t.data = ones;
  good(RUN(Client_BufferFromHostBuffer, &t));
  drop_event(t.done);
  nxj_buffer *in[] = {t.buffer, upload(c, ones, NULL, 0)}, *out[2];
  float got;
  n_seen = 0;
  for (int i = 0; i < 2; i++) {
    good(try_call(l, in, 2, out));
    drop_buffer(in[0]);
    in[0] = out[0];
    good(try_download(out[1], &got, 1));
    assert_true(got == 3);
    drop_buffer(out[1]);
  }
  static const float want[] = {1, 2, 3, 1, 2, 3};
  assert_int_equal(n_seen, 6);
  for (int i = 0; i < 6; i++) assert_true(seen[i] == want[i]);
  drop_buffer(in[0]);
  drop_buffer(in[1]);
  drop_loaded(l);
  drop_client(c);
}

static void takes_nothing(void **state) {
  (void)state;
  nxj_client *c = make_client();
  uint64_t f = exported.make(note, NULL, 0);
  nxj_loaded *l =
      compile_with(c,
                   "func.func @main() {\n"
                   "  stablehlo.custom_call @nx_host_callback() {backend_config = \"$\",\n"
                   "      has_side_effect = true} : () -> ()\n"
                   "  return\n"
                   "}\n",
                   f);
  exported.drop(f);
  n_seen = 0;
  nxj_buffer *const *in = NULL;
  nxj_event *done = NULL;
  nxj_execute_options o = {.size = sizeof o};
  ARGS(execute, a, .loaded = l, .options = &o, .inputs = &in, .n_devices = 1, .done = &done);
  nxj_buffer **out = NULL;
  a.outputs = &out;
  for (int i = 0; i < 2; i++) {
    good(RUN(LoadedExecutable_Execute, &a));
    good(await(done));
  }
  assert_int_equal(n_seen, 2);
  drop_loaded(l);
  drop_client(c);
}

static void refuses_names(void **state) {
  (void)state;
  static const struct {
    const char *config, *words;
  } rows[] = {{"1", "no callback 0000000000000001"},
              {"", "no callback"},
              {"x", "names no callback"},
              {"1 0 0", "names no callback"}};
  nxj_client *c = make_client();
  nxj_loaded *l;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[512];
    snprintf(text, sizeof text,
             "func.func @main(%%x: " V ") -> " V " {\n"
             "  %%0 = stablehlo.custom_call @nx_host_callback(%%x) {backend_config = \"%s\"} : (" V
             ") -> " V "\n"
             "  return %%0 : " V "\n"
             "}\n",
             rows[i].config);
    refused(try_compile(c, text, &l), NXJ_INVALID_ARGUMENT, rows[i].words);
  }
  refused(try_compile(c,
                      "func.func @main(%x: " V ") -> " V " {\n"
                      "  %0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%x) : (" V
                      ") -> " V "\n"
                      "  return %0 : " V "\n"
                      "}\n",
                      &l),
          NXJ_INVALID_ARGUMENT, "nx.callbacks.install()");
  drop_client(c);
}

/* What a function is given to do, and whether the call it is ahead of has been made. */
static struct {
  nxj_loaded *loaded;
  nxj_buffer *in, *out;
  nxj_error *error;
  atomic_int entered, queued;
} giving;

static int give_away(uint64_t user, const void *const *in, void *const *out, char *sentence) {
  (void)user;
  (void)sentence;
  memcpy(out[0], in[0], sizeof ones);
  atomic_store(&giving.entered, 1);
  while (!atomic_load(&giving.queued)) usleep(100);
  giving.error = try_call(giving.loaded, &giving.in, 1, &giving.out);
  return 0;
}

/* A call that a function makes is ahead of those in the queue: what it is given is still theirs. */
static void donates_ahead_of_the_queue(void **state) {
  (void)state;
  nxj_client *c = make_client();
  uint64_t f = exported.make(give_away, count, 1);
  nxj_loaded *l = compile_with(c, pure, f);
  nxj_loaded *reader = compile(c, "func.func @main(%x: " V ") -> " V " {\n"
                                  "  %0 = stablehlo.negate %x : " V "\n"
                                  "  return %0 : " V "\n"
                                  "}\n");
  giving.loaded =
      compile(c, "func.func @main(%x: " V " {tf.aliasing_output = 0 : i32}) -> " V " {\n"
                 "  %0 = stablehlo.add %x, %x : " V "\n"
                 "  return %0 : " V "\n"
                 "}\n");
  exported.drop(f);
  nxj_buffer *x = upload(c, ones, three, 1), *called = NULL, *read = NULL;
  giving.in = upload(c, ones, three, 1);
  float got[3];
  good(try_call(l, &x, 1, &called)); /* the first: on the queue's thread */
  while (!atomic_load(&giving.entered)) usleep(100);
  good(try_call(reader, &giving.in, 1, &read));
  atomic_store(&giving.queued, 1);
  good(try_download(called, got, 3));
  good(giving.error);
  assert_true(is_deleted(giving.in));
  good(try_download(giving.out, got, 3));
  assert_true(got[0] == 2 && got[2] == 6);
  good(try_download(read, got, 3));
  assert_true(got[0] == -1 && got[2] == -3);
  nxj_buffer *all[] = {x, called, read, giving.in, giving.out};
  for (int i = 0; i < 5; i++) drop_buffer(all[i]);
  nxj_loaded *programs[] = {l, reader, giving.loaded};
  for (int i = 0; i < 3; i++) drop_loaded(programs[i]);
  drop_client(c);
}

static int wait_long(uint64_t user, const void *const *in, void *const *out, char *sentence) {
  (void)user;
  (void)sentence;
  memcpy(out[0], in[0], sizeof ones);
  atomic_store(&giving.entered, 1);
  while (!atomic_load(&giving.queued)) usleep(100);
  return 0;
}

/* The end in a child waits for no function that the parent is in. */
static void ends_after_fork(void **state) {
  (void)state;
  nxj_client *c = make_client();
  uint64_t f = exported.make(wait_long, NULL, 1);
  nxj_loaded *l = compile_with(c, pure, f);
  nxj_buffer *x = upload(c, ones, three, 1), *out = NULL;
  float got[3];
  exported.drop(f);
  atomic_store(&giving.entered, 0);
  atomic_store(&giving.queued, 0);
  good(try_call(l, &x, 1, &out));
  while (!atomic_load(&giving.entered)) usleep(100);
  pid_t child = fork();
  if (child == 0) {
    alarm(10);
    exported.end();
    _exit(0);
  }
  int status = 1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  atomic_store(&giving.queued, 1);
  good(try_download(out, got, 3));
  assert_true(got[2] == 3);
  drop_buffer(out);
  drop_buffer(x);
  drop_loaded(l);
  drop_client(c);
}

/* The last test: there is no way back. */
static void ends(void **state) {
  (void)state;
  nxj_client *c = make_client();
  uint64_t f = exported.make(twice, count, 1);
  nxj_loaded *l = compile_with(c, pure, f);
  nxj_buffer *x = upload(c, ones, three, 1), *out = NULL;
  float got[3];
  exported.end();
  n_released = 0;
  good(try_call(l, &x, 1, &out));
  refused(try_download(out, got, 3), NXJ_INVALID_ARGUMENT, "has ended");
  exported.drop(f);
  drop_buffer(out);
  drop_buffer(x);
  drop_loaded(l);
  drop_client(c);
  assert_int_equal(n_released, 0);
}

NXT_MAIN(callbacks) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gives_values),    cmocka_unit_test(keeps_order),
      cmocka_unit_test(takes_nothing),   cmocka_unit_test(takes_many),
      cmocka_unit_test(refuses_names),   cmocka_unit_test(donates_ahead_of_the_queue),
      cmocka_unit_test(ends_after_fork), cmocka_unit_test(ends),
  };
  alarm(100);
  load_plugin();
  load();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
