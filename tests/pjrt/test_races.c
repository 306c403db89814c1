/* SPDX-License-Identifier: ISC */
/* Callers that do several things at once: a buffer is donated while it is copied, lent or donated
 * by another thread, and the process forks in the middle of calls. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin.h"

enum { N = 1 << 16, ROUNDS = 60 };
#define V "tensor<65536xf32>"
static const char donating[] =
    "func.func @main(%a: " V " {tf.aliasing_output = 0 : i32}) -> " V " {\n"
    "  %0 = stablehlo.add %a, %a : " V "\n"
    "  return %0 : " V "\n"
    "}\n";
/* Takes long. */
static const char looping[] =
    "func.func @main(%a: " V ") -> " V " {\n"
    "  %n = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "  %most = stablehlo.constant dense<300> : tensor<i32>\n"
    "  %r:2 = stablehlo.while(%i = %n, %x = %a) : tensor<i32>, " V "\n"
    "    cond {\n"
    "      %c = stablehlo.compare LT, %i, %most : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "      stablehlo.return %c : tensor<i1>\n"
    "    } do {\n"
    "      %j = stablehlo.add %i, %one : tensor<i32>\n"
    "      %y = stablehlo.sine %x : " V "\n"
    "      stablehlo.return %j, %y : tensor<i32>, " V "\n"
    "    }\n"
    "  return %r#1 : " V "\n"
    "}\n";
static const int64_t dims[] = {N};
static float data[N];

static nxj_buffer *give(nxj_client *c) {
  for (int i = 0; i < N; i++) data[i] = (float)i;
  return upload(c, data, dims, 1);
}

static void expect(nxj_buffer *b, float factor) {
  float *got = malloc(sizeof data);
  good(try_download(b, got, N));
  for (int i = 0; i < N; i++)
    if (got[i] != (float)i * factor) fail_msg("%g at %d, not %g", got[i], i, (float)i * factor);
  free(got);
}

static nxj_device *device_of(nxj_client *c, int id) {
  ARGS(client_lookup, a, .client = c, .id = id);
  good(RUN(Client_LookupDevice, &a));
  return a.device;
}

static nxj_buffer *copy_to(nxj_buffer *b, nxj_device *d) {
  ARGS(copy_to_device, a, .buffer = b, .device = d);
  good(RUN(Buffer_CopyToDevice, &a));
  return a.copy;
}

/* A copy that was asked for before, and is made after, has what there was. */
static void copies_before_donation(void **state) {
  (void)state;
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, donating);
  ARGS(client_compile, a, .client = c);
  nxj_program p = {.size = sizeof p,
                   .code = (char *)(uintptr_t)looping,
                   .n = sizeof looping - 1,
                   .format = "mlir",
                   .n_format = 4};
  a.program = &p; /* on device 1: one replica, of one partition, assigned to it */
  a.options = "\x1a\x0f\x20\x01\x28\x01\x4a\x09\x08\x01\x10\x01\x1a\x03\x0a\x01\x01";
  a.n_options = 17;
  good(RUN(Client_Compile, &a));
  for (int i = 0; i < 5; i++) {
    nxj_buffer *x = give(c), *y = copy_to(x, device_of(c, 1)), *busy, *out;
    good(try_call(a.loaded, &y, 1, &busy)); /* device 1 has something to do */
    ARGS(buffer_event, ready, .buffer = busy);
    good(RUN(Buffer_ReadyEvent, &ready));
    ARGS(event_set, set, .event = ready.event);
    nxj_error *mine = RUN(Event_Set, &set); /* nobody but the plugin says so */
    assert_int_equal(code_of(mine), NXJ_FAILED_PRECONDITION);
    destroy_error(mine);
    drop_event(ready.event);
    nxj_buffer *copy = copy_to(x, device_of(c, 1));
    good(try_call(l, &x, 1, &out));
    assert_true(is_deleted(x));
    expect(out, 2);
    expect(copy, 1);
    nxj_buffer *all[] = {x, y, busy, out, copy};
    for (int k = 0; k < 5; k++) drop_buffer(all[k]);
  }
  drop_loaded(l);
  drop_loaded(a.loaded);
  drop_client(c);
}

/* Memory that is lent stays as it is. */
static void lends_before_donation(void **state) {
  (void)state;
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, donating);
  for (int i = 0; i < 3; i++) {
    nxj_buffer *x = give(c), *out;
    ARGS(buffer, b, .buffer = x);
    good(RUN(Buffer_IncreaseExternalReferenceCount, &b));
    ARGS(buffer_pointer, at, .buffer = x);
    good(RUN(Buffer_OpaqueDeviceMemoryDataPointer, &at));
    good(try_call(l, &x, 1, &out));
    expect(out, 2);
    assert_memory_equal(at.pointer, data, sizeof data);
    good(RUN(Buffer_DecreaseExternalReferenceCount, &b));
    drop_buffer(x);
    drop_buffer(out);
  }
  drop_loaded(l);
  drop_client(c);
}

typedef struct call {
  nxj_loaded *loaded;
  nxj_buffer *in, *out;
  nxj_error *error;
  pthread_barrier_t *start;
} call;

static void *call_once(void *user) {
  call *k = user;
  pthread_barrier_wait(k->start);
  k->error = try_call(k->loaded, &k->in, 1, &k->out);
  return NULL;
}

/* One of two gets the buffer, and the other an error: of its call, or of its result. */
static void donates_once(void **state) {
  (void)state;
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, donating);
  for (int i = 0; i < ROUNDS; i++) {
    pthread_barrier_t start;
    pthread_t threads[2];
    pthread_barrier_init(&start, NULL, 2);
    nxj_buffer *x = give(c);
    call calls[2] = {{l, x, NULL, NULL, &start}, {l, x, NULL, NULL, &start}};
    for (int k = 0; k < 2; k++) pthread_create(&threads[k], NULL, call_once, &calls[k]);
    for (int k = 0; k < 2; k++) pthread_join(threads[k], NULL);
    pthread_barrier_destroy(&start);
    int went = 0;
    for (int k = 0; k < 2; k++) {
      if (calls[k].error != NULL) {
        refused(calls[k].error, NXJ_INVALID_ARGUMENT, "deleted or donated");
        continue;
      }
      expect(calls[k].out, 2);
      drop_buffer(calls[k].out);
      went++;
    }
    assert_int_equal(went, 1);
    drop_buffer(x);
  }
  drop_loaded(l);
  drop_client(c);
}

/* ---- a call reads a buffer while another thread gives it away */

enum { FEW = 64, MORE = 120, TRIES = 400 };
#define S "tensor<64xf32>"
static const int64_t few[] = {FEW};
static const char giving[] =
    "func.func @main(%a: " S " {tf.aliasing_output = 0 : i32}) -> " S " {\n"
    "  %0 = stablehlo.add %a, %a : " S "\n"
    "  return %0 : " S "\n"
    "}\n";
static const char reads[] = "  %0 = stablehlo.negate %a : " S "\n"
                            "  return %0 : " S "\n"
                            "}\n";
/* It takes so long that calls are the queue's. */
static const char reads_long[] =
    "  %n = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "  %most = stablehlo.constant dense<1001> : tensor<i32>\n"
    "  %r:2 = stablehlo.while(%i = %n, %x = %a) : tensor<i32>, " S "\n"
    "    cond {\n"
    "      %c = stablehlo.compare LT, %i, %most : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "      stablehlo.return %c : tensor<i1>\n"
    "    } do {\n"
    "      %j = stablehlo.add %i, %one : tensor<i32>\n"
    "      %y = stablehlo.negate %x : " S "\n"
    "      stablehlo.return %j, %y : tensor<i32>, " S "\n"
    "    }\n"
    "  return %r#1 : " S "\n"
    "}\n";

/* Many more arguments: from taking the first to using it takes a while. */
static nxj_loaded *compile_reader(nxj_client *c, const char *body) {
  char text[16384];
  int n = snprintf(text, sizeof text, "func.func @main(%%a: " S);
  for (int i = 0; i < MORE; i++) n += snprintf(text + n, sizeof text - (size_t)n, ", %%b%d: " S, i);
  snprintf(text + n, sizeof text - (size_t)n, ") -> " S " {\n%s", body);
  return compile(c, text);
}

typedef struct giver {
  nxj_loaded *loaded;
  nxj_buffer *in, *out;
  nxj_error *error;
  int spin;
  atomic_int *meet;
} giver;

static void meet(atomic_int *n, int spin) {
  atomic_fetch_add(n, 1);
  while (atomic_load(n) < 2) continue;
  for (volatile int i = 0; i < spin; i++) continue;
}

static void *give_away(void *user) {
  giver *g = user;
  meet(g->meet, g->spin);
  g->error = try_call(g->loaded, &g->in, 1, &g->out);
  return NULL;
}

static void expect_few(nxj_buffer *b, float factor) {
  float got[FEW];
  good(try_download(b, got, FEW));
  for (int i = 0; i < FEW; i++) assert_true(got[i] == (float)i * factor);
  drop_buffer(b);
}

/* A call that was accepted reads what there was. */
static void reads_before_donation(void **state) {
  const char *bodies[] = {reads, reads_long};
  float numbers[FEW];
  (void)state;
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, giving);
  for (int i = 0; i < FEW; i++) numbers[i] = (float)i;
  nxj_buffer *other = upload(c, numbers, few, 1), *in[1 + MORE];
  for (int i = 0; i < MORE; i++) in[1 + i] = other;
  for (int k = 0; k < 2; k++) {
    nxj_loaded *reader = compile_reader(c, bodies[k]);
    for (int i = 0; i < TRIES; i++) {
      atomic_int both = 0;
      pthread_t thread;
      in[0] = upload(c, numbers, few, 1);
      giver g = {.loaded = l, .in = in[0], .spin = i % 100 * 100, .meet = &both};
      assert_int_equal(pthread_create(&thread, NULL, give_away, &g), 0);
      nxj_buffer *out;
      meet(&both, 0);
      nxj_error *e = try_call(reader, in, 1 + MORE, &out);
      pthread_join(thread, NULL);
      if (e == NULL) expect_few(out, -1);
      else refused(e, NXJ_INVALID_ARGUMENT, "argument 0 is a buffer that has been deleted");
      good(g.error);
      expect_few(g.out, 2);
      drop_buffer(in[0]);
    }
    drop_loaded(reader);
  }
  drop_buffer(other);
  drop_loaded(l);
  drop_client(c);
}

/* ---- forks in the middle of calls */

typedef struct busy {
  nxj_client *client;
  nxj_loaded *loaded;
  atomic_bool ends;
} busy;

static void *keep_busy(void *user) {
  busy *b = user;
  nxj_buffer *x = upload(b->client, data, dims, 1);
  while (!atomic_load(&b->ends)) {
    nxj_buffer *out;
    float got;
    good(try_call(b->loaded, &x, 1, &out));
    ARGS(raw_to_host, r, .buffer = out, .data = &got, .n = 4);
    good(RUN(Buffer_CopyRawToHost, &r));
    good(await(r.event));
    drop_buffer(out);
  }
  drop_buffer(x);
  return NULL;
}

static int in_child(nxj_client *c, nxj_loaded *l) {
  nxj_buffer *x = upload(c, data, dims, 1), *out;
  float *got = malloc(sizeof data);
  if (try_call(l, &x, 1, &out) != NULL || try_download(out, got, N) != NULL) return 1;
  if (got[5] != 2 * data[5]) return 2;
  nxj_loaded *own;
  if (try_compile(c, donating, &own) != NULL) return 3;
  if (try_call(own, &out, 1, &x) != NULL || try_download(x, got, N) != NULL) return 4;
  return got[7] == 4 * data[7] ? 0 : 5;
}

static void forks_in_calls(void **state) {
  (void)state;
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, donating);
  busy b = {c, compile(c, looping), false};
  pthread_t thread;
  drop_buffer(give(c));
  assert_int_equal(pthread_create(&thread, NULL, keep_busy, &b), 0);
  for (int i = 0; i < 20; i++) {
    usleep(1000 * (unsigned)(i % 5));
    pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(in_child(c, l));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), 0);
  }
  atomic_store(&b.ends, true);
  pthread_join(thread, NULL);
  drop_loaded(b.loaded);
  drop_loaded(l);
  drop_client(c);
}

NXT_MAIN(races) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies_before_donation), cmocka_unit_test(lends_before_donation),
      cmocka_unit_test(donates_once),           cmocka_unit_test(reads_before_donation),
      cmocka_unit_test(forks_in_calls),
  };
  setenv("NX_CPU_DEVICES", "2", 1);
  alarm(100);
  load_plugin();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
