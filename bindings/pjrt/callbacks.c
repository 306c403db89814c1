/* SPDX-License-Identifier: ISC */
/* Functions of the caller in programs: the table of them, and the custom call that names one, which
 * becomes a custom operation of the library. */
#include "callbacks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "ir/alloc.h"
#include "ir/diag.h"
#include "objects.h"
#include "runtime/record/error.h"

typedef struct entry {
  uint64_t number, user;
  nx_pjrt_callback *call;
  void (*release)(uint64_t user);
  size_t refs; /* of the caller, and of operations */
  bool dropped;
  struct entry *next;
} entry;

/* All of it is the lock's. */
static entry *entries;
static size_t running;
static bool ended;
static _Thread_local unsigned inside;

bool nxj_in_callback(void) { return inside > 0; }

/* ---- the table */

uint64_t nx_pjrt_callback_new(nx_pjrt_callback *call, void (*release)(uint64_t), uint64_t user) {
  entry *e = nxi_calloc(1, sizeof *e);
  if (e == NULL || getrandom(&e->number, sizeof e->number, 0) != sizeof e->number) {
    nxi_free(e);
    return 0;
  }
  e->number |= 1; /* 0 is none */
  e->call = call;
  e->release = release;
  e->user = user;
  e->refs = 1;
  nxj_lock();
  e->next = entries;
  entries = e;
  nxj_unlock();
  return e->number;
}

/* The lock. */
static entry *find(uint64_t number) {
  entry *e = entries;
  while (e != NULL && (e->number != number || e->dropped)) e = e->next;
  return e;
}

static bool begin(void) {
  nxj_lock();
  bool open = !ended;
  running += open;
  nxj_unlock();
  inside += open;
  return open;
}

static void end(void) {
  inside--;
  nxj_lock();
  running--;
  nxj_changed();
  nxj_unlock();
}

static void give_up(void *user) {
  entry *e = user, **at = &entries;
  nxj_lock();
  bool last = --e->refs == 0;
  while (last && *at != e) at = &(*at)->next;
  if (last) *at = e->next;
  nxj_unlock();
  if (!last) return;
  if (e->release != NULL && begin()) {
    e->release(e->user);
    end();
  }
  nxi_free(e);
}

void nx_pjrt_callback_drop(uint64_t number) {
  nxj_lock();
  entry *e = find(number);
  if (e != NULL) e->dropped = true;
  nxj_unlock();
  if (e != NULL) give_up(e);
}

void nx_pjrt_callbacks_end(void) {
  nxj_lock();
  ended = true;
  while (running > 0) nxj_wait();
  nxj_unlock();
}

/* ---- calls */

static nx_status run(const nx_custom_call *k) {
  const entry *e = k->user;
  const void *in[16];
  void *out[16];
  char said[NX_PJRT_SENTENCE] = "";
  for (size_t i = 0; i < k->n_operands; i++) in[i] = k->operands[i].data;
  for (size_t i = 0; i < k->n_results; i++) out[i] = k->results[i].data;
  if (!begin())
    return nx_custom_fail(k, NX_INVALID_ARGUMENT, "a callback of a runtime that has ended");
  int failed = e->call(e->user, in, out, said);
  end();
  said[sizeof said - 1] = 0;
  if (failed == 0) return NX_OK;
  return nx_custom_fail(k, NX_INTERNAL, said[0] != 0 ? said : "a callback failed");
}

/* ---- recording */

__attribute__((format(printf, 2, 3))) static nx_status refuse(nx_status status, const char *format,
                                                              ...) {
  nxi_diag d;
  va_list list;
  char said[300];
  va_start(list, format);
  vsnprintf(said, sizeof said, format, list);
  va_end(list);
  nxi_diag_clear(&d);
  nxi_fail(&d, status, "nx_host_callback", "%s", said);
  return nxi_error_report(&d);
}

/* The function that the program names, with a reference, and whether this device calls it. */
static nx_status read_config(const nx_stablehlo_call *call, const nxj_place *place, entry **out,
                             bool *here) {
  char *rest = NULL;
  unsigned long long number = strtoull(call->config, &rest, 16);
  long only = *rest == ' ' ? strtol(rest + 1, &rest, 10) : -1;
  *here = only < 0 || only == place->index;
  if (*rest != 0) return refuse(NX_INVALID_ARGUMENT, "\"%.64s\" names no callback", call->config);
  atomic_store(place->bound, true);
  nxj_lock();
  *out = find(number);
  if (*out != NULL) (*out)->refs++;
  nxj_unlock();
  if (*out == NULL)
    return refuse(NX_INVALID_ARGUMENT, "there is no callback %016llx in this process", number);
  return NX_OK;
}

enum { MOST = 15 };

/* Elements of half a byte are a byte each in arrays of the host. */
static nx_dtype host_type(nx_dtype t) { return t == NX_I4 ? NX_I8 : t == NX_U4 ? NX_U8 : t; }

static nx_status describe(const nx_stablehlo_call *call, entry *e, nx_tensor *const *operands,
                          nx_custom **f) {
  nx_type in[MOST], out[MOST];
  for (size_t i = 0; i < call->n_operands; i++)
    in[i] = (nx_type){nx_dtype_of(operands[i]), nx_rank(operands[i]), nx_shape(operands[i])};
  for (size_t i = 0; i < call->n_results; i++) {
    out[i] = call->types[i];
    out[i].dtype = host_type(out[i].dtype);
  }
  nx_custom_desc d = {.size = sizeof d,
                      .name = "callback",
                      .run = run,
                      .user = e,
                      .release = give_up,
                      .flags = call->token != NULL ? NX_ORDERED : 0,
                      .n_operands = call->n_operands,
                      .n_results = call->n_results,
                      .operands = in,
                      .results = out};
  nx_status s = nx_custom_create(call->context, &d, f);
  if (s != NX_OK) give_up(e);
  return s;
}

/* Gives its results as tensors of other types, in place of them. */
static nx_status cast_results(const nx_stablehlo_call *call) {
  for (size_t i = 0; i < call->n_results; i++) {
    nx_dtype wanted = call->types[i].dtype;
    if (nx_dtype_of(call->results[i]) == wanted) continue;
    call->results[i] = nx_cast(call->results[i], wanted);
    if (call->results[i] == NULL) return nxi_error_status();
  }
  return NX_OK;
}

static nx_status record_entry(const nx_stablehlo_call *call, entry *e) {
  nx_tensor *in[MOST];
  nx_custom *f;
  for (size_t i = 0; i < call->n_operands; i++) { /* handles are the scope's, of results too */
    nx_dtype t = nx_dtype_of(call->operands[i]), host = host_type(t);
    in[i] = host == t ? call->operands[i] : nx_cast(call->operands[i], host);
    if (in[i] == NULL) return give_up(e), nxi_error_status();
  }
  nx_status s = describe(call, e, in, &f);
  if (s != NX_OK) return s;
  s = nx_custom_record(f, in, call->n_operands, call->token, call->results, call->n_results);
  nx_custom_release(f);
  return s == NX_OK ? cast_results(call) : s;
}

/* What a device gives that does not call: the program has the results sent to it. */
static nx_status record_zeros(const nx_stablehlo_call *call) {
  for (size_t i = 0; i < call->n_results; i++) {
    const nx_type *t = &call->types[i];
    call->results[i] =
        nx_full(call->context, call->device, t->dtype, t->shape, t->rank, NX_INTEGER(0));
    if (call->results[i] == NULL) return nxi_error_status();
  }
  return NX_OK;
}

nx_status nxj_record_callback(const nx_stablehlo_call *call) {
  const nxj_place *place = call->user;
  entry *e = NULL;
  bool here;
  if (call->n_operands > MOST || call->n_results > MOST)
    return refuse(NX_INVALID_ARGUMENT, "%zu operands and %zu results; at most %d each",
                  call->n_operands, call->n_results, MOST);
  nx_status s = read_config(call, place, &e, &here);
  if (s != NX_OK || e == NULL) return s;
  bool called = call->token != NULL ? here : call->n_results > 0;
  if (called) return record_entry(call, e);
  give_up(e);
  return record_zeros(call);
}

nx_status nxj_refuse_python(const nx_stablehlo_call *call) {
  (void)call;
  return refuse(NX_INVALID_ARGUMENT,
                "a callback into Python that JAX wrote for its own backend; nx.callbacks.install() "
                "makes it write what this plugin can call");
}
