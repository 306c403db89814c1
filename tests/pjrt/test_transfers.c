/* SPDX-License-Identifier: ISC */
/* Programs that send to the host and receive from it by the callbacks of a call: chunks in any
 * sizes, from other threads, and everything that a client may do wrong. */
#include <pthread.h>
#include <unistd.h>

#include "plugin.h"

#define CHANNEL(n, type)                                                          \
  "channel_handle = #stablehlo.channel_handle<handle = " n ", type = " type ">, " \
  "is_host_transfer = true"

/* Sends x, doubles what it receives, sends that too. */
static const char program[] =
    "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %t = stablehlo.create_token : !stablehlo.token\n"
    "  %a = \"stablehlo.send\"(%x, %t) {" CHANNEL(
        "1", "2") "} : (tensor<4xf32>, "
                  "!stablehlo.token) -> !stablehlo.token\n"
                  "  %b:2 = \"stablehlo.recv\"(%a) {" CHANNEL(
                      "2", "3") "} : (!stablehlo.token) -> "
                                "(tensor<4xf32>, !stablehlo.token)\n"
                                "  %y = stablehlo.add %b#0, %b#0 : tensor<4xf32>\n"
                                "  %c = \"stablehlo.send\"(%y, %b#1) {" CHANNEL(
                                    "1", "2") "} : (tensor<4xf32>, "
                                              "!stablehlo.token) -> !stablehlo.token\n"
                                              "  return %y : tensor<4xf32>\n"
                                              "}\n";

/* What the callbacks of one call share. */
typedef struct host {
  float sent[2][4];
  int n_sent, how;
  nxj_stream *stream;
  pthread_t thread;
  bool started;
} host;

enum { WHOLE, BYTEWISE, LATER, TOO_MUCH, SHORT, KEPT, FAILS };

static void released(void *data, void *user) {
  ++*(int *)user;
  free(data);
}

/* Returns whether the stream took the chunk; a chunk is always released once. */
static bool add(nxj_stream *s, const void *bytes, size_t n) {
  int times = 0;
  nxj_chunk chunk = {malloc(n + 1), n, released, &times};
  memcpy(chunk.data, bytes, n);
  ARGS(stream_add, a, .stream = s, .chunk = &chunk);
  good(RUN(CopyToDeviceStream_AddChunk, &a));
  assert_int_equal(times, 1);
  nxj_error *e = await(a.done);
  if (e != NULL) destroy_error(e);
  return e == NULL;
}

static void destroy(nxj_stream *s) {
  ARGS(stream, a, .stream = s);
  good(RUN(CopyToDeviceStream_Destroy, &a));
}

static int64_t current(nxj_stream *s) {
  ARGS(stream_size, a, .stream = s);
  good(RUN(CopyToDeviceStream_CurrentBytes, &a));
  return a.n;
}

static const float received[4] = {1, 2, 3, 0.25f};

static void *add_later(void *user) {
  host *h = user;
  usleep(20000);
  assert_true(add(h->stream, received, 6));
  usleep(5000);
  assert_true(add(h->stream, (const char *)received + 6, 10));
  destroy(h->stream);
  return NULL;
}

static void receive(nxj_stream *s, void *user) {
  host *h = user;
  ARGS(stream_size, total, .stream = s);
  good(RUN(CopyToDeviceStream_TotalBytes, &total));
  assert_int_equal(total.n, 16);
  ARGS(stream_size, granule, .stream = s);
  good(RUN(CopyToDeviceStream_GranuleSize, &granule));
  assert_int_equal(16 % granule.n, 0);
  h->stream = s;
  if (h->how == KEPT) return;
  if (h->how == LATER) {
    h->started = pthread_create(&h->thread, NULL, add_later, h) == 0;
    return;
  }
  size_t n = h->how == BYTEWISE ? 1 : 16;
  for (size_t i = 0; i < 16 && h->how != SHORT; i += n) {
    assert_true(add(s, (const char *)received + i, n));
    assert_int_equal(current(s), i + n);
  }
  if (h->how == TOO_MUCH) assert_false(add(s, received, 1));
  if (h->how == SHORT) assert_true(add(s, received, 15));
  if (h->how == SHORT) assert_false(add(s, received, 2));
  destroy(s);
}

static nxj_error *send(nxj_chunk *chunk, nxj_callback_error *make_error, size_t total, bool done,
                       void *user) {
  host *h = user;
  nxj_error *e = NULL;
  assert_int_equal(chunk->n, 16);
  assert_int_equal(total, 16);
  assert_true(done);
  if (h->n_sent < 2) memcpy(h->sent[h->n_sent++], chunk->data, 16);
  if (h->how == FAILS) e = (*make_error)(NXJ_INTERNAL, "the host wants nothing", 22);
  chunk->release(chunk->data, chunk->user);
  return e;
}

static nxj_error *call_with(nxj_loaded *l, nxj_buffer *x, host *h, int64_t channel,
                            nxj_buffer **out) {
  nxj_send_info sends[] = {{5, NULL, NULL}, {1, h, send}};
  nxj_receive_info receives[] = {{channel, h, receive}};
  const nxj_send_info *of_device = sends;
  const nxj_receive_info *for_device = receives;
  nxj_execute_options o = {.size = sizeof o,
                           .send = (nxj_send_info *const *)(uintptr_t)&of_device,
                           .receive = (nxj_receive_info *const *)(uintptr_t)&for_device,
                           .n_send = 2,
                           .n_receive = 1};
  nxj_buffer *const *in = &x;
  ARGS(execute, a, .loaded = l, .options = &o, .inputs = &in, .n_devices = 1, .n_inputs = 1,
       .outputs = &out);
  return RUN(LoadedExecutable_Execute, &a);
}

static nxj_buffer *upload_four(nxj_client *c) {
  static const float data[4] = {8, 9, 10, 11};
  return upload(c, data, (const int64_t[]){4}, 1);
}

static void test_chunks(void **state) {
  (void)state;
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, program);
  nxj_buffer *x = upload_four(c), *y;
  for (int how = WHOLE; how <= TOO_MUCH; how++)
    for (int again = 0; again < 3; again++) {
      host h = {.how = how};
      float got[4];
      good(call_with(l, x, &h, 2, &y));
      good(try_download(y, got, 4));
      for (int i = 0; i < 4; i++) {
        assert_true(got[i] == 2 * received[i]);
        assert_true(h.sent[0][i] == (float)(8 + i) && h.sent[1][i] == got[i]);
      }
      if (h.started) pthread_join(h.thread, NULL);
      drop_buffer(y);
    }
  drop_buffer(x);
  drop_loaded(l);
  drop_client(c);
}

static void test_failures(void **state) {
  (void)state;
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, program);
  nxj_buffer *x = upload_four(c), *y;
  float got[4];
  host h = {.how = FAILS};
  good(call_with(l, x, &h, 2, &y));
  refused(try_download(y, got, 4), NXJ_INTERNAL, "the host wants nothing");
  drop_buffer(y);
  h = (host){.how = SHORT};
  good(call_with(l, x, &h, 2, &y));
  refused(try_download(y, got, 4), NXJ_INVALID_ARGUMENT, "destroyed before all bytes");
  drop_buffer(y);
  h = (host){.how = WHOLE};
  good(call_with(l, x, &h, 3, &y));
  refused(try_download(y, got, 4), NXJ_INVALID_ARGUMENT, "no function for what channel 2 receives");
  drop_buffer(y);
  good(try_call(l, &x, 1, &y));
  refused(try_download(y, got, 4), NXJ_INVALID_ARGUMENT, "no function for what channel 1 sends");
  drop_buffer(y);
  h = (host){.how = WHOLE}; /* and the next call is well */
  good(call_with(l, x, &h, 2, &y));
  good(try_download(y, got, 4));
  drop_buffer(y);
  drop_buffer(x);
  drop_loaded(l);
  drop_client(c);
}

/* The client ends while its program waits for what nobody sends; the stream is given back later. */
static void test_no_answer(void **state) {
  (void)state;
  nxj_client *c = make_client();
  nxj_loaded *l = compile(c, program);
  nxj_buffer *x = upload_four(c), *y;
  float got[4];
  host h = {.how = KEPT};
  good(call_with(l, x, &h, 2, &y));
  while (__atomic_load_n(&h.stream, __ATOMIC_ACQUIRE) == NULL) usleep(1000);
  drop_buffer(x);
  drop_loaded(l);
  drop_client(c);
  refused(try_download(y, got, 4), NXJ_INVALID_ARGUMENT, "the client was destroyed while");
  drop_buffer(y);
  assert_false(add(h.stream, received, 16));
  destroy(h.stream);
  destroy(NULL);
}

static void test_no_infeed(void **state) {
  (void)state;
  nxj_client *c = make_client();
  nxj_loaded *l;
  refused(try_compile(c,
                      "func.func @main() -> tensor<2xf32> {\n"
                      "  %t = stablehlo.create_token : !stablehlo.token\n"
                      "  %a:2 = \"stablehlo.infeed\"(%t) : (!stablehlo.token) -> "
                      "(tensor<2xf32>, !stablehlo.token)\n"
                      "  return %a#0 : tensor<2xf32>\n}\n",
                      &l),
          NXJ_INVALID_ARGUMENT, "PJRT has no call for its other side");
  drop_client(c);
}

NXT_MAIN(transfers) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_chunks),
      cmocka_unit_test(test_failures),
      cmocka_unit_test(test_no_answer),
      cmocka_unit_test(test_no_infeed),
  };
  alarm(100);
  load_plugin();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
