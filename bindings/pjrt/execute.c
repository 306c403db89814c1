/* SPDX-License-Identifier: ISC */
/* Calls of executables. A call makes a job for each device and returns: results are buffers that
 * become ready. What is known to be short, and has all that it needs, is done at once instead: that
 * takes less time than to wake a thread. */
#include <string.h>

#include "calls.h"
#include "ir/alloc.h"
#include "ir/platform/clock.h"
#include "runtime/realize/functions/function.h"

/* As long as waking a thread and waiting for it takes, several times over. */
enum { SHORT_NS = 100000 };

/* ---- jobs */

static void job_free(nxj_job *j) {
  for (size_t i = 0; i < j->n_in; i++)
    if (j->holds) nxj_value_let_go(j->in[i]);
    else nxj_value_drop(j->in[i]);
  for (size_t i = 0; i < j->n_out; i++) nxj_value_drop(j->out[i]);
  nxj_event_drop(j->done);
  nxj_event_drop(j->over);
  nxj_loaded_drop(j->loaded);
  nxi_free(j->sends);
  nxi_free(j->receives);
  nxi_free(j);
}

static nxj_job *job_new(nxj_loaded *l, nxj_device *d, size_t n_in, size_t n_out) {
  size_t n = n_in + n_out;
  nxj_job *j =
      nxi_calloc(1, sizeof *j + (n + 1) * (sizeof(nxj_value *) + sizeof(nx_tensor *)) + n_in);
  nxj_event *done = nxj_event_new();
  if (j == NULL || done == NULL) {
    nxi_free(j);
    nxj_event_drop(done);
    return NULL;
  }
  j->loaded = l;
  if (l != NULL) atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
  j->device = d;
  j->done = done;
  j->n_in = n_in;
  j->n_out = n_out;
  j->in = (nxj_value **)(j + 1);
  j->out = j->in + n_in;
  j->tensors = (nx_tensor **)(j->out + n_out);
  j->give = (uint8_t *)(j->tensors + n + 1);
  j->holds = true;
  return j;
}

/* An input that the function takes, and the caller keeps: a copy is given in its place. */
static nxj_error *spare(nx_tensor **t) {
  nx_tensor *copy = nx_copy(*t);
  nx_error e = {.size = sizeof e};
  if (copy == NULL) return nxj_of_status(nx_error_take(&e) ? e.status : NX_OUT_OF_MEMORY);
  *t = copy;
  return NULL;
}

/* What the last call on this thread failed with. */
static nxj_error *last_error(void) {
  nx_error e = {.size = sizeof e};
  return nxj_of_status(nx_error_take(&e) ? e.status : NX_OUT_OF_MEMORY);
}

/* The tensors of the inputs that are no tokens, one reference each. */
static nxj_error *take_tensors(nxj_job *j, nx_tensor **in, size_t *n) {
  const nxj_port *ports = j->loaded->executable->in;
  nxj_error *e = NULL;
  for (size_t i = 0; e == NULL && i < j->n_in; i++) {
    e = nxj_value_wait(j->in[i], &in[*n]);
    if (e != NULL || ports[i].token) continue;
    if (ports[i].donated && !j->give[i]) e = spare(&in[*n]);
    else nx_tensor_retain(in[*n]);
    if (e == NULL) ++*n;
  }
  nx_function_info info = {.size = sizeof info};
  nx_function_describe(j->function, &info);
  if (e != NULL || info.inputs == *n) return e;
  /* of a program with callbacks and no inputs */
  in[*n] = nx_full(j->device->client->context, j->device->index, NX_BOOL, NULL, 0, NX_INTEGER(0));
  if (in[*n] == NULL) return last_error();
  ++*n;
  return NULL;
}

/* A result that is an argument: the same value, with a life of its own. Memory of the host is
 * copied. */
static nxj_error *hand_through(nxj_job *j, size_t argument, nx_tensor **out) {
  nx_tensor *t = nx_copy(j->in[argument]->tensor);
  if (t == NULL) return last_error();
  nx_status s = nx_realize(j->device->client->context, &t, 1, NULL);
  if (s == NX_OK) *out = t;
  else nx_tensor_release(t);
  return nxj_of_status(s);
}

/* Names the call as the one that the program's sends and receives are of; returns the one before,
 * in whose callback this one may be. */
static nxj_job *enter_slot(const nxj_job *j, nxj_job *now) {
  nxj_loaded *l = j->loaded;
  nxj_job *before = NULL;
  if (!l->exchanges) return NULL;
  for (int i = 0; i < l->n; i++) {
    if (l->functions[i] != j->function) continue;
    nxj_lock();
    before = l->slots[i].job;
    l->slots[i].job = now;
    nxj_unlock();
  }
  return before;
}

static nxj_error *call(nxj_job *j) {
  nx_tensor **in = j->tensors, **out = in + j->n_in + 1;
  const nxj_port *ports = j->loaded->executable->out;
  size_t n_in = 0, n_out = 0, at = 0;
  nxj_error *e = take_tensors(j, in, &n_in);
  for (size_t i = 0; i < j->n_out; i++) n_out += !ports[i].token && ports[i].argument == 0;
  nxj_job *before = enter_slot(j, j);
  if (e == NULL) e = nxj_of_status(nx_function_call(j->function, in, n_in, out, n_out, NULL));
  enter_slot(j, before);
  for (size_t i = 0; i < n_in; i++) nx_tensor_release(in[i]);
  for (size_t i = 0; e == NULL && i < j->n_out; i++) {
    if (ports[i].argument > 0) e = hand_through(j, ports[i].argument - 1, &j->out[i]->tensor);
    else if (!ports[i].token) j->out[i]->tensor = out[at++];
    if (e == NULL && j->out[i]->tensor == NULL) e = last_error();
  }
  while (at < n_out && e != NULL && out[at] != NULL) nx_tensor_release(out[at++]);
  return e;
}

static nxj_error *copy(nxj_job *j) {
  nx_tensor *t;
  nxj_error *e = nxj_value_wait(j->in[0], &t);
  if (e != NULL) return e;
  nx_tensor *there = j->in[0]->device == j->device ? nx_copy(t) : nx_to_device(t, j->device->index);
  nx_error error = {.size = sizeof error};
  if (there == NULL) return nxj_of_status(nx_error_take(&error) ? error.status : NX_OUT_OF_MEMORY);
  nx_status s = nx_realize(j->device->client->context, &there, 1, NULL);
  if (s != NX_OK) nx_tensor_release(there);
  else j->out[0]->tensor = there;
  return nxj_of_status(s);
}

/* What nobody but such jobs has any more needs no code. */
static int32_t is_given_up(void *user) {
  nxj_loaded *l = user;
  return atomic_load(&l->refs) <= atomic_load(&l->preparing);
}

static void prepare_now(nxj_job *j) {
  nx_run_options o = {.size = sizeof o, .poll = is_given_up, .user = j->loaded};
  if (!is_given_up(j->loaded)) nxi_function_prepare(j->function, &o);
  atomic_fetch_sub(&j->loaded->preparing, 1);
  nxj_event_finish(j->done, NULL);
  job_free(j);
}

void nxj_prepare(nxj_loaded *l) {
  for (int i = 0; i < l->n; i++) {
    nxj_job *j = job_new(l, l->devices[i], 0, 0);
    if (j == NULL) return;
    atomic_fetch_add(&l->preparing, 1);
    j->function = l->functions[i];
    j->prepares = true;
    if (nxj_queues_add(&j, 1)) continue;
    atomic_fetch_sub(&l->preparing, 1);
    job_free(j);
  }
}

void nxj_job_run(nxj_job *j) {
  if (j->prepares) {
    prepare_now(j);
    return;
  }
  int64_t began = nxi_now_ns();
  nxj_error *e = j->loaded != NULL ? call(j) : copy(j);
  if (j->loaded != NULL)
    atomic_store_explicit(&j->loaded->last_ns, nxi_now_ns() - began, memory_order_relaxed);
  nxj_event_finish(j->done, e);
  if (j->over != NULL) nxj_event_finish(j->over, NULL);
  job_free(j);
}

/* ---- copies between devices */

static nxj_error *copy_to(nxj_buffer *b, nxj_memory *memory, nxj_buffer **out) {
  nxj_device *d = memory->device;
  if (d->client != b->client)
    return nxj_fail(NXJ_UNIMPLEMENTED, "nx: the device belongs to another client");
  nxj_value *from = nxj_buffer_hold(b);
  if (from == NULL) return nxj_deleted("a copy");
  nxj_job *j = job_new(NULL, d, 1, 1);
  if (j == NULL) {
    nxj_value_let_go(from);
    return nxj_no_memory();
  }
  j->in[0] = from;
  j->out[0] = nxj_value_new(d, b->type, b->shape, b->rank, j->done, NULL);
  nxj_buffer *made = j->out[0] != NULL ? nxj_buffer_new(nxj_value_keep(j->out[0])) : NULL;
  bool now = made != NULL && nxj_in_callback();
  if (now) nxj_job_run(j);
  else if (made == NULL || !nxj_queues_add(&j, 1)) {
    nxj_buffer_free(made);
    j->n_out = j->out[0] != NULL;
    job_free(j);
    return nxj_no_memory();
  }
  made->memory = memory;
  *out = made;
  return NULL;
}

nxj_error *nxj_copy_to_device(void *args) {
  NXJ_TAKE(copy_to_device, copy);
  return copy_to(a->buffer, &a->device->memory[0], &a->copy);
}

nxj_error *nxj_copy_to_memory(void *args) {
  NXJ_TAKE(copy_to_memory, copy);
  return copy_to(a->buffer, a->memory, &a->copy);
}

/* ---- calls */

static bool same_shape(const nxj_buffer *b, const nxj_port *p) {
  return b->rank == p->rank &&
         (p->rank == 0 || memcmp(b->shape, p->shape, nxj_shape_bytes(p->rank)) == 0);
}

/* Axes along which there is one element, or none, lie anywhere. */
static bool same_order(const nxj_buffer *b, const nxj_port *p) {
  const int64_t *in = b->shape + b->rank, *of = p->shape + p->rank;
  for (int32_t i = 0, k = 0; i < b->rank; i++) {
    if (b->shape[in[i]] == 1) continue;
    while (p->shape[of[k]] == 1) k++;
    if (in[i] != of[k++]) return nxj_elements(b->shape, (size_t)b->rank) == 0;
  }
  return true;
}

static nxj_error *check_shape(const nxj_buffer *b, const nxj_port *p, size_t i) {
  size_t bytes = (size_t)p->rank * sizeof *p->shape;
  if (same_shape(b, p)) return NULL;
  if (b->rank != p->rank || memcmp(b->shape, p->shape, bytes) != 0)
    return nxj_fail(NXJ_INVALID_ARGUMENT,
                    "nx: argument %zu has other dimensions than the program takes", i);
  if (same_order(b, p)) return NULL;
  return nxj_fail(NXJ_INVALID_ARGUMENT,
                  "nx: argument %zu has another layout than the program takes", i);
}

static nxj_error *check_input(const nxj_buffer *b, const nxj_port *p, const nxj_device *d,
                              size_t i) {
  if (b->client != d->client)
    return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: argument %zu belongs to another client", i);
  if (b->device != d)
    return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: argument %zu is on device %d, and the call on %d", i,
                    b->device->description->id, d->description->id);
  if (b->type != p->type)
    return nxj_fail(NXJ_INVALID_ARGUMENT,
                    "nx: argument %zu has elements %s, and the program takes %s", i,
                    nxj_type_name(b->type), nxj_type_name(p->type));
  return check_shape(b, p, i);
}

static bool is_kept(const nxj_execute_options *o, size_t i) {
  for (size_t k = 0; o != NULL && k < o->n_keep; k++)
    if (o->keep[k] == (int64_t)i) return true;
  return false;
}

/* A buffer that is donated is no other argument. */
static nxj_error *check_donated(nxj_buffer *const *in, const nxj_job *j) {
  for (size_t i = 0; i < j->n_in; i++)
    for (size_t k = 0; j->give[i] && k < j->n_in; k++)
      if (k != i && in[k] == in[i])
        return nxj_fail(NXJ_INVALID_ARGUMENT,
                        "nx: the buffer that is donated as argument %zu is argument %zu too", i, k);
  return NULL;
}

static NXJ_ERROR *gone(size_t argument) {
  return nxj_fail(NXJ_INVALID_ARGUMENT,
                  "nx: argument %zu is a buffer that has been deleted or donated", argument);
}

/* The inputs of a job, each held; those that are donated are still the buffers'. */
static nxj_error *take_inputs(nxj_job *j, nxj_buffer *const *in, const nxj_execute_options *o) {
  const nxj_executable *e = j->loaded->executable;
  for (size_t i = 0; i < j->n_in; i++) {
    if (in == NULL || in[i] == NULL)
      return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: there is no argument %zu", i);
    nxj_error *error = check_input(in[i], &e->in[i], j->device, i);
    if (error != NULL) return error;
    j->give[i] = e->in[i].donated && !is_kept(o, i);
  }
  size_t n = nxj_buffers_hold(in, j->in, j->n_in);
  return n < j->n_in ? gone(n) : check_donated(in, j);
}

/* A token says that a call is over, and not how it ended, which its event and its other results do:
 * a frontend gives it to the next call, which has nothing to do with that. */
static nxj_error *make_token(nxj_job *j, const nxj_port *p, nxj_value **out) {
  if (j->over == NULL && (j->over = nxj_event_new()) == NULL) return nxj_no_memory();
  nx_tensor *t = nx_full(j->device->client->context, j->device->index, NX_BOOL, p->shape, p->rank,
                         NX_INTEGER(0));
  if (t == NULL) return last_error();
  *out = nxj_value_new(j->device, p->type, p->shape, p->rank, j->over, t);
  return NULL;
}

static nxj_error *make_outputs(nxj_job *j, nxj_buffer **out) {
  const nxj_executable *e = j->loaded->executable;
  for (size_t i = 0; i < j->n_out; i++) {
    const nxj_port *p = &e->out[i];
    nxj_error *error = NULL;
    if (p->token) error = make_token(j, p, &j->out[i]);
    else j->out[i] = nxj_value_new(j->device, p->type, p->shape, p->rank, j->done, NULL);
    if (error != NULL) return error;
    if (j->out[i] == NULL) return nxj_no_memory();
    out[i] = nxj_buffer_new(nxj_value_keep(j->out[i]));
    if (out[i] == NULL) return nxj_no_memory();
    out[i]->memory = &j->device->memory[p->kind];
  }
  return NULL;
}

/* Without arguments, or results, a caller may have no list of them. */
static nxj_error *prepare(nxj_loaded *l, const struct nxj_execute_args *a, int device, size_t i,
                          nxj_job **out) {
  size_t n_out = l->executable->n_out;
  nxj_buffer **results = a->outputs != NULL ? a->outputs[i] : NULL;
  if (results == NULL && n_out > 0)
    return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: there is no list for %zu results", n_out);
  nxj_job *j = job_new(l, a->device ? a->device : l->devices[device], a->n_inputs, n_out);
  if (j == NULL) return nxj_no_memory();
  *out = j;
  j->function = l->functions[device];
  if (results != NULL) memset(results, 0, n_out * sizeof *results);
  if (!nxj_take_transfers(j, a->options, i)) return nxj_no_memory();
  nxj_error *e = take_inputs(j, a->inputs != NULL ? a->inputs[i] : NULL, a->options);
  return e == NULL && results != NULL ? make_outputs(j, results) : e;
}

static bool is_short(const nxj_job *j) {
  int64_t last = atomic_load_explicit(&j->loaded->last_ns, memory_order_relaxed);
  if (last == 0 || last > SHORT_NS || j->loaded->exchanges) return false;
  for (size_t i = 0; i < j->n_in; i++)
    if (!nxj_event_is_ready(j->in[i]->ready)) return false;
  return nxj_queue_is_idle(j->device);
}

static bool gives(nxj_job *const *jobs, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (memchr(jobs[k]->give, 1, jobs[k]->n_in) != NULL) return true;
  return false;
}

/* Donated buffers have no value any more: all, or none if another thread has taken one meanwhile.
 * Of what somebody still reads the function gets a copy, and of all in a callback, which may be
 * ahead of calls in the queue. */
static nxj_error *donate(nxj_job *const *jobs, const struct nxj_execute_args *a) {
  size_t lost = SIZE_MAX;
  if (!gives(jobs, a->n_devices)) return NULL;
  nxj_lock();
  for (size_t k = 0; k < a->n_devices; k++)
    for (size_t i = 0; i < jobs[k]->n_in; i++)
      if (jobs[k]->give[i] && a->inputs[k][i]->value != jobs[k]->in[i]) lost = i;
  for (size_t k = 0; lost == SIZE_MAX && k < a->n_devices; k++)
    for (size_t i = 0; i < jobs[k]->n_in; i++) {
      if (!jobs[k]->give[i]) continue;
      nxj_value *v = nxj_buffer_take(a->inputs[k][i]);
      int held = atomic_load_explicit(&v->held, memory_order_acquire); /* by the job too */
      jobs[k]->give[i] = held == 1 && !nxj_in_callback();
      nxj_value_drop(v); /* the job has one more reference */
    }
  nxj_unlock();
  return lost == SIZE_MAX ? NULL : gone(lost);
}

static void give_up(nxj_job **jobs, const struct nxj_execute_args *a) {
  for (size_t k = 0; k < a->n_devices && jobs[k] != NULL; k++) {
    for (size_t i = 0; i < jobs[k]->n_out; i++) {
      nxj_buffer_free(a->outputs[k][i]);
      a->outputs[k][i] = NULL;
    }
    job_free(jobs[k]);
  }
}

static nxj_error *check_call(const struct nxj_execute_args *a) {
  nxj_loaded *l = a->loaded;
  nxj_lock();
  bool deleted = l->deleted;
  nxj_unlock();
  if (deleted) return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: the executable has been deleted");
  if (a->n_inputs != l->executable->n_in)
    return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: %zu arguments of a program that takes %zu",
                    a->n_inputs, l->executable->n_in);
  size_t n = a->device != NULL ? 1 : (size_t)l->n;
  if (a->n_devices != n)
    return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: arguments for %zu devices of an executable for %zu",
                    a->n_devices, n);
  return NULL;
}

/* Which of its devices one is; a portable executable gets a function for it. */
static nxj_error *device_of(nxj_loaded *l, nxj_device *d, int *out) {
  for (int i = 0; i < l->n; i++)
    if (l->devices[i] == d) {
      *out = i;
      return NULL;
    }
  return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: the executable is not for device %d",
                  d->description->id);
}

static nxj_error *begin(nxj_job **jobs, const struct nxj_execute_args *a) {
  nxj_error *e = NULL;
  int device = 0;
  if (a->device != NULL) e = device_of(a->loaded, a->device, &device);
  for (size_t k = 0; e == NULL && k < a->n_devices; k++)
    e = prepare(a->loaded, a, a->device != NULL ? device : (int)k, k, &jobs[k]);
  return e;
}

nxj_error *nxj_execute(void *args) {
  NXJ_TAKE(execute, device);
  nxj_job *jobs[32] = {0};
  nxj_error *e = check_call(a);
  if (e != NULL) return e;
  e = begin(jobs, a);
  if (e == NULL) e = donate(jobs, a);
  if (e == NULL) {
    for (size_t k = 0; a->done != NULL && k < a->n_devices; k++)
      a->done[k] = nxj_event_keep(jobs[k]->done);
    if (a->n_devices == 1 && (nxj_in_callback() || is_short(jobs[0]))) {
      nxj_job_run(jobs[0]);
      return NULL;
    }
    if (nxj_queues_add(jobs, a->n_devices)) return NULL;
    for (size_t k = 0; a->done != NULL && k < a->n_devices; k++) nxj_event_drop(a->done[k]);
    e = nxj_fail(NXJ_RESOURCE_EXHAUSTED, "nx: the system gives no thread");
  }
  give_up(jobs, a);
  return e;
}

/* ---- contexts of a call: there is nothing to keep in them */

struct nxj_context {
  int nothing;
};

nxj_error *nxj_context_create(void *args) {
  NXJ_TAKE(context, context);
  nxj_context *c = nxi_calloc(1, sizeof *c);
  if (c == NULL) return nxj_no_memory();
  a->context = c;
  return NULL;
}

nxj_error *nxj_context_destroy(void *args) {
  NXJ_TAKE(context, context);
  nxi_free(a->context);
  return NULL;
}
