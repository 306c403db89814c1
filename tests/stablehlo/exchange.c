/* SPDX-License-Identifier: ISC */
/* Arrays in queues, one a channel, and one for infeed. Who receives waits until there is one, for
 * ten seconds at most. A channel above 99 is not known. */
#include "exchange.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHANNELS = 100, ARRAYS = 64, INFEED = 0 };

typedef struct piece {
  nx_dtype dtype;
  int64_t elements;
  size_t bytes;
  void *data;
} piece;

typedef struct queue {
  piece pieces[ARRAYS];
  int first, n;
} queue;

struct exchange {
  pthread_mutex_t lock;
  queue queues[CHANNELS];
};

static bool put(queue *q, nx_dtype dtype, int64_t elements, const void *data) {
  piece *p = &q->pieces[q->n];
  size_t bytes = (size_t)elements * nx_dtype_bits(dtype) / 8;
  if (q->n == ARRAYS || (p->data = malloc(bytes + 1)) == NULL) return false;
  if (bytes > 0) memcpy(p->data, data, bytes);
  p->dtype = dtype;
  p->elements = elements;
  p->bytes = bytes;
  q->n++;
  return true;
}

/* ---- what is fed */

static nx_status feed(exchange *e, const nx_stablehlo_call *call, const char *name) {
  nx_stablehlo_options o = {.size = sizeof o, .symbol = name};
  nx_function *f = NULL;
  nx_tensor *out[ARRAYS] = {NULL};
  nx_function_info info = {.size = sizeof info};
  nx_status s = nx_stablehlo_function(call->user, call->context, &o, &f);
  if (s == NX_OK) nx_function_describe(f, &info);
  if (s == NX_OK && info.outputs > ARRAYS) s = NX_INVALID_ARGUMENT;
  if (s == NX_OK) s = nx_function_call(f, NULL, 0, out, info.outputs, NULL);
  for (size_t i = 0; s == NX_OK && i < info.outputs; i++) {
    size_t bytes = (size_t)nx_elements(out[i]) * nx_dtype_bits(nx_dtype_of(out[i])) / 8;
    void *data = malloc(bytes + 1);
    s = data != NULL ? nx_read(out[i], data, bytes, NULL) : NX_OUT_OF_MEMORY;
    if (s == NX_OK && !put(&e->queues[INFEED], nx_dtype_of(out[i]), nx_elements(out[i]), data))
      s = NX_OUT_OF_MEMORY;
    free(data);
  }
  for (size_t i = 0; i < ARRAYS; i++) nx_tensor_release(out[i]);
  nx_function_release(f);
  return s;
}

nx_status exchange_open(const nx_stablehlo_call *call, const char *names, exchange **out) {
  char name[64];
  int used;
  exchange *e = *out = calloc(1, sizeof *e);
  if (e == NULL) return NX_OUT_OF_MEMORY;
  pthread_mutex_init(&e->lock, NULL);
  nx_status s = NX_OK;
  for (; s == NX_OK && sscanf(names, "%63s%n", name, &used) == 1; names += used)
    s = feed(e, call, name);
  return s;
}

void exchange_close(exchange *e) {
  for (int i = 0; e != NULL && i < CHANNELS; i++)
    for (int k = 0; k < e->queues[i].n; k++) free(e->queues[i].pieces[k].data);
  if (e != NULL) pthread_mutex_destroy(&e->lock);
  free(e);
}

/* ---- the functions */

static queue *queue_of(const nx_stablehlo_transfer *t) {
  exchange *e = t->user;
  return t->channel >= 0 && t->channel < CHANNELS ? &e->queues[t->channel] : NULL;
}

static nx_status give(const nx_stablehlo_transfer *t) {
  exchange *e = t->user;
  queue *q = queue_of(t);
  if (q == NULL) return nx_custom_fail(t->call, NX_INVALID_ARGUMENT, "the channel is not known");
  bool good = true;
  pthread_mutex_lock(&e->lock);
  for (size_t i = 0; good && i < t->n; i++)
    good = put(q, t->arrays[i].dtype, t->arrays[i].elements, t->arrays[i].data);
  pthread_mutex_unlock(&e->lock);
  return good ? NX_OK : NX_OUT_OF_MEMORY;
}

/* The next array; what has another type fails. */
static nx_status take_one(exchange *e, queue *q, const nx_array *a, bool *there) {
  nx_status s = NX_OK;
  pthread_mutex_lock(&e->lock);
  *there = q->first < q->n;
  if (*there) {
    const piece *p = &q->pieces[q->first++];
    if (p->dtype != a->dtype || p->elements != a->elements) s = NX_INVALID_ARGUMENT;
    else if (p->bytes > 0) memcpy(a->data, p->data, p->bytes);
  }
  pthread_mutex_unlock(&e->lock);
  return s;
}

static nx_status take(const nx_stablehlo_transfer *t) {
  static const struct timespec wait = {0, 1000000};
  queue *q = queue_of(t);
  if (q == NULL) return nx_custom_fail(t->call, NX_INVALID_ARGUMENT, "the channel is not known");
  nx_status s = NX_OK;
  int waits = 0;
  for (size_t i = 0; s == NX_OK && i < t->n;) {
    bool there;
    s = take_one(t->user, q, &t->arrays[i], &there);
    i += there;
    if (s != NX_OK) return nx_custom_fail(t->call, s, "an array of another type was sent");
    if (there) continue;
    if (nx_custom_stopped(t->call)) return NX_INTERRUPTED;
    waits++;
    if (waits > 10000 || (t->channel == INFEED && waits > 100))
      return nx_custom_fail(t->call, NX_TIMED_OUT, "nothing was sent");
    nanosleep(&wait, NULL);
  }
  return s;
}

nx_stablehlo_host exchange_host(exchange *e) {
  return (nx_stablehlo_host){.size = sizeof(nx_stablehlo_host),
                             .user = e,
                             .infeed = take,
                             .outfeed = give,
                             .send = give,
                             .receive = take};
}
