/* SPDX-License-Identifier: ISC */
/* Functions of the caller in programs: the table of them, and the custom call that names one, which
 * becomes a custom operation of the library. */
#include "callbacks.h"
#include "callbacks_pack.h"

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

bool nxj_callback_begin(void) {
  nxj_lock();
  bool open = !ended;
  running += open;
  nxj_unlock();
  inside += open;
  return open;
}

void nxj_callback_end(void) {
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
  if (e->release != NULL && nxj_callback_begin()) {
    e->release(e->user);
    nxj_callback_end();
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
  while (running > inside) nxj_wait();
  nxj_unlock();
}

/* The child has only the thread that forked. */
void nxj_callbacks_after_fork(void) { running = inside; }

/* ---- calls */

/* More are packed into one tensor of bytes each way. */
enum { MOST = 15, MOST_PACKED = 4096 };

/* A call of a program: a reference to the function, and where in a packed tensor operands and then
 * results are. */
typedef struct site {
  entry *e;
  size_t n_in, n_out, *offsets;
} site;

static void leave(void *user) {
  site *s = user;
  give_up(s->e);
  nxi_free(s->offsets);
  nxi_free(s);
}

/* The addresses of operands or results. data: of each tensor of the operation. */
static void spread(const nx_array *tensors, size_t n, const size_t *offsets, void **out) {
  for (size_t i = 0; i < n; i++)
    out[i] = n <= MOST ? tensors[i].data : (char *)tensors[0].data + offsets[i];
}

static nx_status run(const nx_custom_call *k) {
  const site *s = k->user;
  void *few[2 * MOST], **all = few;
  char said[NX_PJRT_SENTENCE] = "";
  if (s->n_in > MOST || s->n_out > MOST) all = nxi_calloc(s->n_in + s->n_out, sizeof *all);
  if (all == NULL) return NX_OUT_OF_MEMORY;
  spread(k->operands, s->n_in, s->offsets, all);
  spread(k->results, s->n_out, s->offsets + s->n_in, all + s->n_in);
  bool open = nxj_callback_begin();
  int failed = open ? s->e->call(s->e->user, (const void *const *)all, all + s->n_in, said) : 1;
  if (open) nxj_callback_end();
  if (all != few) nxi_free(all);
  if (!open)
    return nx_custom_fail(k, NX_INVALID_ARGUMENT, "a callback of a runtime that has ended");
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

/* The function that the program names, with a reference, whether this device calls it, and whether
 * it wants to know the extents of its operands. */
static nx_status read_config(const nx_stablehlo_call *call, const nxj_place *place, entry **out,
                             bool *here, bool *extents) {
  char *rest = NULL;
  unsigned long long number = strtoull(call->config, &rest, 16);
  *extents = strcmp(rest, " parts") == 0;
  if (*extents) rest += strlen(rest);
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

/* Operands and results while a call is recorded, of types of the host. */
typedef struct draft {
  site *at;
  nx_tensor **in, **out;
  nx_type *types; /* of operands, then of results */
  size_t size_in, size_out;
} draft;

static void close_draft(draft *d) {
  nxi_free(d->in);
  nxi_free(d->types);
}

/* Takes the reference to the function over. */
static bool open_draft(const nx_stablehlo_call *call, entry *e, draft *d) {
  size_t n = call->n_operands + call->n_results;
  *d = (draft){.at = nxi_calloc(1, sizeof *d->at), .in = nxi_calloc(n + 1, sizeof *d->in)};
  d->types = nxi_calloc(n + 1, sizeof *d->types);
  size_t *offsets = nxi_calloc(n + 1, sizeof *offsets);
  if (d->at == NULL || d->in == NULL || d->types == NULL || offsets == NULL) {
    nxi_free(d->at);
    nxi_free(offsets);
    close_draft(d);
    give_up(e);
    return false;
  }
  d->out = d->in + call->n_operands;
  *d->at = (site){e, call->n_operands, call->n_results, offsets};
  return true;
}

static bool take_types(const nx_stablehlo_call *call, draft *d) {
  nx_type *out = d->types + call->n_operands;
  for (size_t i = 0; i < call->n_operands; i++) { /* handles are the scope's, of results too */
    nx_tensor *x = d->in[i] = nxh_in_host_form(call->operands[i]);
    if (x == NULL) return false;
    d->types[i] = (nx_type){nx_dtype_of(x), nx_rank(x), nx_shape(x)};
  }
  for (size_t i = 0; i < call->n_results; i++) {
    out[i] = call->types[i];
    out[i].dtype = nxh_host_type(out[i].dtype);
  }
  size_t *offsets = d->at->offsets;
  d->size_in = nxj_packed_size(d->types, call->n_operands, offsets);
  d->size_out = nxj_packed_size(out, call->n_results, offsets + call->n_operands);
  if (call->n_operands <= MOST) return true;
  d->in[0] = nxj_pack(d->in, call->n_operands, offsets, d->size_in);
  return d->in[0] != NULL;
}

static nx_status describe(const nx_stablehlo_call *call, const draft *d, nx_custom **f) {
  const int64_t sizes[2] = {(int64_t)d->size_in, (int64_t)d->size_out};
  const nx_type packed[2] = {{NX_U8, 1, &sizes[0]}, {NX_U8, 1, &sizes[1]}};
  size_t n = call->n_operands, m = call->n_results;
  nx_custom_desc desc = {.size = sizeof desc,
                         .name = "callback",
                         .run = run,
                         .user = d->at,
                         .release = leave,
                         .flags = call->token != NULL ? NX_ORDERED : 0,
                         .n_operands = n <= MOST ? n : 1,
                         .n_results = m <= MOST ? m : 1,
                         .operands = n <= MOST ? d->types : &packed[0],
                         .results = m <= MOST ? d->types + n : &packed[1]};
  return nx_custom_create(call->context, &desc, f);
}

/* Results of the types of the program. */
static nx_status give_results(const nx_stablehlo_call *call, const draft *d) {
  const nx_type *types = d->types + call->n_operands;
  nx_tensor *all = d->out[0];
  for (size_t i = 0; i < call->n_results; i++) {
    nx_tensor *x = d->out[i];
    if (call->n_results > MOST)
      x = nxj_unpack(all, &types[i], d->at->offsets[call->n_operands + i]);
    if (x != NULL) x = nxh_in_program_form(x, call->types[i].dtype);
    if (x == NULL) return nxi_error_status();
    call->results[i] = x;
  }
  return NX_OK;
}

static nx_status record_entry(const nx_stablehlo_call *call, entry *e) {
  draft d;
  nx_custom *f = NULL;
  if (!open_draft(call, e, &d)) return refuse(NX_OUT_OF_MEMORY, "out of memory");
  nx_status s = take_types(call, &d) ? describe(call, &d, &f) : nxi_error_status();
  if (s != NX_OK) leave(d.at);
  size_t n = call->n_operands <= MOST ? call->n_operands : 1;
  size_t m = call->n_results <= MOST ? call->n_results : 1;
  if (s == NX_OK) s = nx_custom_record(f, d.in, n, call->token, d.out, m);
  if (s == NX_OK) s = give_results(call, &d);
  nx_custom_release(f);
  close_draft(&d);
  return s;
}

/* The extents of all operands, one behind the other. */
static nx_tensor *extents_of(const nx_stablehlo_call *call) {
  int64_t n = 0;
  for (size_t i = 0; i < call->n_operands; i++) n += nx_rank(call->operands[i]);
  int64_t *list = nxi_calloc((size_t)n + 1, sizeof *list);
  if (list == NULL) return refuse(NX_OUT_OF_MEMORY, "out of memory"), NULL;
  n = 0;
  for (size_t i = 0; i < call->n_operands; i++)
    for (int32_t k = 0; k < nx_rank(call->operands[i]); k++)
      list[n++] = nx_shape(call->operands[i])[k];
  nx_tensor *made =
      nx_from_data(call->context, call->device, NX_I64, &n, 1, list, (size_t)n * sizeof *list);
  nxi_free(list);
  return made;
}

/* Takes the reference over. */
static nx_status record_with_extents(const nx_stablehlo_call *call, entry *e) {
  nx_stablehlo_call with = *call;
  nx_tensor **list = nxi_calloc(call->n_operands + 1, sizeof *list);
  nx_tensor *extents = list != NULL ? extents_of(call) : NULL;
  if (extents == NULL) {
    give_up(e);
    nxi_free(list);
    return list == NULL ? refuse(NX_OUT_OF_MEMORY, "out of memory") : nxi_error_status();
  }
  list[0] = extents;
  for (size_t i = 0; i < call->n_operands; i++) list[i + 1] = call->operands[i];
  with.operands = list;
  with.n_operands++;
  nx_status s = record_entry(&with, e);
  nxi_free(list);
  return s;
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
  bool here, extents;
  if (call->n_operands > MOST_PACKED || call->n_results > MOST_PACKED)
    return refuse(NX_INVALID_ARGUMENT, "%zu operands and %zu results; at most %d each",
                  call->n_operands, call->n_results, MOST_PACKED);
  nx_status s = read_config(call, place, &e, &here, &extents);
  if (s != NX_OK || e == NULL) return s;
  bool called = call->token != NULL ? here : call->n_results > 0;
  if (called) return extents ? record_with_extents(call, e) : record_entry(call, e);
  give_up(e);
  return record_zeros(call);
}

nx_status nxj_refuse_python(const nx_stablehlo_call *call) {
  (void)call;
  return refuse(NX_INVALID_ARGUMENT,
                "a callback into Python that JAX wrote for its own backend; nx.callbacks.install() "
                "makes it write what this plugin can call");
}

nx_status nxj_refuse_partitioning(const nx_stablehlo_call *call) {
  (void)call;
  return refuse(NX_INVALID_ARGUMENT,
                "a function of custom_partitioning that JAX left to its own compiler to divide; "
                "nx.callbacks.install() makes it write the function itself");
}
