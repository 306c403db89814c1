/* SPDX-License-Identifier: ISC */
/* What programs send to the host and receive from it, by the functions that a call names for their
 * channels. The bytes of an array that is received come in chunks, on any thread, by a stream that
 * the caller owns; the program waits for all of them. */
#include <stdio.h>
#include <string.h>

#include "calls.h"
#include "ir/alloc.h"

bool nxj_take_transfers(nxj_job *j, const nxj_execute_options *o, size_t k) {
  bool has = o != NULL && NXJ_HAS(o, n_receive);
  size_t n = has && o->send != NULL ? o->n_send : 0;
  size_t m = has && o->receive != NULL ? o->n_receive : 0;
  j->sends = nxi_calloc(n + 1, sizeof *j->sends);
  j->receives = nxi_calloc(m + 1, sizeof *j->receives);
  if (j->sends == NULL || j->receives == NULL) return false;
  if (n > 0) memcpy(j->sends, o->send[k], n * sizeof *j->sends);
  if (m > 0) memcpy(j->receives, o->receive[k], m * sizeof *j->receives);
  j->n_sends = n;
  j->n_receives = m;
  return true;
}

static size_t bytes_of(const nx_array *a) {
  return (size_t)a->elements * nx_dtype_bits(a->dtype) / 8;
}

static nx_status no_function(const nx_stablehlo_transfer *t, const char *what) {
  char said[120];
  snprintf(said, sizeof said, "the call has no function for what channel %lld %s",
           (long long)t->channel, what);
  return nx_custom_fail(t->call, NX_INVALID_ARGUMENT, said);
}

/* ---- sends */

static nxj_error *make_error(int code, const char *message, size_t n) {
  return nxj_fail(code, "%.*s", (int)(n < 400 ? n : 400), message);
}

static void release_chunk(void *data, void *user) {
  (void)user;
  nxi_free(data);
}

static nx_status send_one(const nx_stablehlo_transfer *t, const nxj_send_info *f, size_t i,
                          size_t total) {
  size_t n = bytes_of(&t->arrays[i]);
  nxj_chunk chunk = {nxi_malloc(n + 1), n, release_chunk, NULL};
  nxj_callback_error fail = make_error;
  if (chunk.data == NULL) return NX_OUT_OF_MEMORY;
  if (n > 0) memcpy(chunk.data, t->arrays[i].data, n);
  if (!nxj_callback_begin()) {
    nxi_free(chunk.data);
    return nx_custom_fail(t->call, NX_INVALID_ARGUMENT, "a callback of a runtime that has ended");
  }
  nxj_error *e = f->call(&chunk, &fail, total, i + 1 == t->n, f->user);
  nxj_callback_end();
  if (e == NULL) return NX_OK;
  nx_status s = nx_custom_fail(t->call, NX_INTERNAL, nxj_error_text(e));
  struct nxj_error_destroy_args destroy = {.size = sizeof destroy, .error = e};
  nxj_error_destroy(&destroy);
  return s;
}

/* The function of the channel, of the call that is under way. False: none. */
static bool find_send(const nx_stablehlo_transfer *t, nxj_send_info *out) {
  const struct nxj_slot *slot = t->user;
  bool found = false;
  nxj_lock();
  for (size_t i = 0; slot->job != NULL && !found && i < slot->job->n_sends; i++) {
    found = slot->job->sends[i].channel == t->channel;
    if (found) *out = slot->job->sends[i];
  }
  nxj_unlock();
  return found && out->call != NULL;
}

static nx_status send(const nx_stablehlo_transfer *t) {
  nxj_send_info f = {0};
  size_t total = 0;
  nx_status s = NX_OK;
  if (!find_send(t, &f)) return no_function(t, "sends");
  for (size_t i = 0; i < t->n; i++) total += bytes_of(&t->arrays[i]);
  for (size_t i = 0; s == NX_OK && i < t->n; i++) s = send_one(t, &f, i, total);
  return s;
}

/* ---- receives */

/* Of the caller, and of the program that waits. All is the lock's. */
struct nxj_stream {
  int refs;
  size_t total, current;
  bool dropped; /* the caller adds nothing more */
  bool over;    /* nobody waits */
  char *data;
};

/* The lock. */
static void let_go(nxj_stream *s) {
  if (--s->refs > 0) return;
  nxi_free(s->data);
  nxi_free(s);
}

static nxj_stream *new_stream(size_t n) {
  nxj_stream *s = nxi_calloc(1, sizeof *s);
  char *data = nxi_malloc(n + 1);
  if (s == NULL || data == NULL) {
    nxi_free(s);
    nxi_free(data);
    return NULL;
  }
  *s = (nxj_stream){.refs = 2, .total = n, .data = data};
  return s;
}

static nx_status wait_for(const nx_stablehlo_transfer *t, nxj_stream *s, void *to) {
  const struct nxj_slot *slot = t->user;
  const char *failed = NULL;
  nxj_lock();
  while (s->current < s->total && !s->dropped && !slot->client->closed) nxj_wait();
  if (s->current == s->total) memcpy(to, s->data, s->total);
  else if (s->dropped) failed = "a stream was destroyed before all bytes of its array had come";
  else failed = "the client was destroyed while its program waited for an array";
  s->over = true;
  let_go(s);
  nxj_unlock();
  return failed == NULL ? NX_OK : nx_custom_fail(t->call, NX_INVALID_ARGUMENT, failed);
}

static nx_status receive_one(const nx_stablehlo_transfer *t, const nxj_receive_info *f,
                             const nx_array *a) {
  nxj_stream *s = new_stream(bytes_of(a));
  if (s == NULL) return NX_OUT_OF_MEMORY;
  if (!nxj_callback_begin()) {
    s->refs = 1;
    let_go(s);
    return nx_custom_fail(t->call, NX_INVALID_ARGUMENT, "a callback of a runtime that has ended");
  }
  f->call(s, f->user);
  nxj_callback_end();
  return wait_for(t, s, a->data);
}

static bool find_receive(const nx_stablehlo_transfer *t, nxj_receive_info *out) {
  const struct nxj_slot *slot = t->user;
  bool found = false;
  nxj_lock();
  for (size_t i = 0; slot->job != NULL && !found && i < slot->job->n_receives; i++) {
    found = slot->job->receives[i].channel == t->channel;
    if (found) *out = slot->job->receives[i];
  }
  nxj_unlock();
  return found && out->call != NULL;
}

static nx_status receive(const nx_stablehlo_transfer *t) {
  nxj_receive_info f = {0};
  nx_status s = NX_OK;
  if (!find_receive(t, &f)) return no_function(t, "receives");
  for (size_t i = 0; s == NX_OK && i < t->n; i++) s = receive_one(t, &f, &t->arrays[i]);
  return s;
}

/* The interface has no call for infeed and outfeed. */
nx_stablehlo_host nxj_host_of(struct nxj_slot *slot) {
  return (nx_stablehlo_host){
      .size = sizeof(nx_stablehlo_host), .user = slot, .send = send, .receive = receive};
}

/* ---- the stream, for the caller */

nxj_error *nxj_stream_destroy(void *args) {
  NXJ_TAKE(stream, stream);
  if (a->stream == NULL) return NULL;
  nxj_lock();
  a->stream->dropped = true;
  let_go(a->stream);
  nxj_changed();
  nxj_unlock();
  return NULL;
}

/* With the lock: adds bytes, or says why not. */
static const char *add(nxj_stream *s, const nxj_chunk *chunk) {
  if (s->over) return "the program does not wait any more";
  if (s->current == s->total && chunk->n > 0) return "all bytes of the array have come";
  if (chunk->n > s->total - s->current) return "a chunk with more bytes than the array still needs";
  if (chunk->n > 0) memcpy(s->data + s->current, chunk->data, chunk->n);
  s->current += chunk->n;
  return NULL;
}

nxj_error *nxj_stream_add(void *args) {
  NXJ_TAKE(stream_add, done);
  nxj_event *done = nxj_event_new();
  nxj_chunk chunk = *a->chunk;
  if (done == NULL) {
    if (chunk.release != NULL) chunk.release(chunk.data, chunk.user);
    return nxj_no_memory();
  }
  nxj_lock();
  const char *bad = add(a->stream, &chunk);
  nxj_changed();
  nxj_unlock();
  if (chunk.release != NULL) chunk.release(chunk.data, chunk.user);
  nxj_event_finish(done, bad == NULL ? NULL : nxj_fail(NXJ_INVALID_ARGUMENT, "nx: %s", bad));
  a->done = done;
  return NULL;
}

nxj_error *nxj_stream_total(void *args) {
  NXJ_TAKE(stream_size, n);
  a->n = (int64_t)a->stream->total;
  return NULL;
}

nxj_error *nxj_stream_granule(void *args) {
  NXJ_TAKE(stream_size, n);
  a->n = 1;
  return NULL;
}

nxj_error *nxj_stream_current(void *args) {
  NXJ_TAKE(stream_size, n);
  nxj_lock();
  a->n = (int64_t)a->stream->current;
  nxj_unlock();
  return NULL;
}
