/* SPDX-License-Identifier: ISC */
/* Actions: what computes runs without the runtime's lock, and can be interrupted. */
#include "stubs.h"

#include <stdatomic.h>

typedef struct watch {
  value *raised; /* a root of the action's caller */
  bool begun;
} watch;

/* Runs handlers of signals; keeps what they raise, which must not pass through the library. */
static bool handle_signals(value *raised) {
  value result = caml_process_pending_actions_exn();
  if (!Is_exception_result(result)) return false;
  *raised = Extract_exception(result);
  return true;
}

/* A collection runs finalisers of the program, which may raise. Nothing may pass through here. */
static bool collect_all(nx_context *context, value *raised) {
  value result = caml_callback_exn(*caml_named_value("nx.full_major"), Val_unit);
  if (Is_exception_result(result)) *raised = Extract_exception(result);
  nx_context_collect(context);
  return *raised == Val_unit;
}

/* A handler that runs in an action of this thread reads what it wants: what else waits is very
 * likely what the action is computing. */
static _Thread_local bool in_action;

/* The library calls this on the thread of the action, without locks, at its beginning and then
 * every 20 ms. Signals that came before the beginning have been handled. The runtime's plain way
 * to give up its lock would run handlers too, and raise. */
static int32_t poll(void *user) {
  watch *w = user;
  if (!w->begun) {
    w->begun = true;
    return 0;
  }
  bool outer = in_action;
  caml_leave_blocking_section();
  in_action = true;
  bool stop = handle_signals(w->raised);
  in_action = outer;
  caml_enter_blocking_section_no_pending();
  return stop;
}

/* Neither giving up the runtime's lock nor the action has a price then. */
const nx_run_options *nx_ocaml_briefly(void) {
  static const nx_run_options options = {.size = sizeof options, .flags = NX_AT_ONCE};
  nx_ocaml_drain();
  return &options;
}

/* Operations recorded since all that waited was last computed. */
static _Atomic int64_t recorded;
/* What was stopped is still recorded, and would be computed with all that waits, though nobody may
 * want it any more: the collector has the first word then. */
static _Atomic bool interrupted;

nx_status nx_ocaml_perform(nx_context *context, nx_ocaml_work *work, void *user, value *raised) {
  nx_ocaml_drain();
  for (int attempt = 0;; attempt++) {
    watch w = {.raised = raised};
    nx_run_options options = {.size = sizeof options, .poll = poll, .user = &w};
    if (handle_signals(raised)) return NX_INTERRUPTED;
    caml_enter_blocking_section_no_pending();
    nx_status status = work(user, &options);
    caml_leave_blocking_section();
    if (*raised != Val_unit) {
      interrupted = true;
      recorded = 0;
    }
    if (status != NX_OUT_OF_MEMORY || *raised != Val_unit || attempt == 2) return status;
    nx_error_take(NULL);
    /* Garbage holds the memory: its finalisers release it. */
    if (!collect_all(context, raised)) return NX_INTERRUPTED;
  }
}

void nx_ocaml_check(nx_status status, value raised) {
  if (raised != Val_unit) {
    nx_error_take(NULL);
    caml_raise(raised);
  }
  if (status != NX_OK) nx_ocaml_raise();
}

/* ---- bounds of laziness */

enum { OPERATIONS = 10000, BYTES = 256 << 20, BETWEEN_READS = 16 };
static _Atomic int64_t most_operations = OPERATIONS, most_bytes = BYTES;
/* What was left over when all that waited was last computed (values that fail stay): the bounds
 * count from there, or each operation would try again. */
static _Atomic int64_t left_operations, left_bytes;

value nx_ocaml_set_limits(value operations, value bytes) {
  most_operations = Long_val(operations);
  most_bytes = Long_val(bytes);
  return Val_unit;
}

static bool too_much(nx_context *context) {
  uint64_t bytes;
  int64_t operations = (int64_t)nx_pending(context, &bytes);
  return operations - left_operations > most_operations || (int64_t)bytes - left_bytes > most_bytes;
}

typedef struct realization {
  nx_context *context;
  nx_tensor *const *tensors;
  size_t n;
  uint32_t flags;
} realization;

static nx_status realize(void *user, const nx_run_options *options) {
  realization *r = user;
  nx_run_options own = *options;
  own.flags = r->flags;
  return nx_realize(r->context, r->tensors, r->n, &own);
}

/* All that waits. A value that cannot be computed is no fault of who records something else: it
 * stays as it is, and who reads it is told. */
static void compute_pending(nx_context *context, value *raised) {
  if (in_action) return;
  realization r = {context, NULL, 0, NX_DO_PENDING};
  recorded = 0;
  if (atomic_exchange(&interrupted, false) && !collect_all(context, raised)) return;
  nx_status status = nx_ocaml_perform(context, realize, &r, raised);
  uint64_t bytes;
  left_operations = (int64_t)nx_pending(context, &bytes);
  left_bytes = (int64_t)bytes;
  if (status != NX_OK) nx_error_take(NULL);
}

bool nx_ocaml_due(nx_context *context) {
  int64_t so_far = atomic_load_explicit(&recorded, memory_order_relaxed);
  atomic_store_explicit(&recorded, so_far + 1, memory_order_relaxed); /* domains may lose some */
  return nx_has_deferred(context) || too_much(context);
}

nx_status nx_ocaml_settle(nx_context *context, nx_tensor *own, value *raised) {
  nx_status status = NX_OK;
  if (nx_capturing(context)) return NX_OK; /* values that depend on placeholders have none */
  if (nx_has_deferred(context)) {
    realization r = {context, NULL, 0, NX_DO_DEFERRED};
    status = nx_ocaml_perform(context, realize, &r, raised);
    if (status != NX_OK && *raised == Val_unit) { /* of this operation, or of another one? */
      nx_error_take(NULL);
      realization again = {context, &own, 1, 0};
      status = nx_ocaml_perform(context, realize, &again, raised);
    }
  }
  if (status == NX_OK && *raised == Val_unit && too_much(context)) compute_pending(context, raised);
  return status;
}

void nx_ocaml_after_reading(nx_context *context) {
  if (recorded <= BETWEEN_READS) return;
  uint64_t bytes;
  if ((int64_t)nx_pending(context, &bytes) <= left_operations) { /* nothing waits */
    recorded = 0;
    return;
  }
  CAMLparam0();
  CAMLlocal1(raised);
  raised = Val_unit;
  int64_t since = recorded;
  if (since > BETWEEN_READS && since > nx_ocaml_live() / 1024 && !nx_capturing(context))
    compute_pending(context, &raised);
  nx_ocaml_check(NX_OK, raised);
  CAMLreturn0;
}

/* ---- realise, item, read, write */

value nx_ocaml_realize(value context, value tensors) {
  CAMLparam2(context, tensors);
  CAMLlocal1(raised);
  raised = Val_unit;
  mlsize_t n = Wosize_val(tensors);
  nx_tensor **list = nx_ocaml_handles(tensors);
  realization r = {Context_val(context), list, n, 0};
  nx_status status = nx_ocaml_perform(r.context, realize, &r, &raised);
  nx_ocaml_handles_free(list, n);
  nx_ocaml_check(status, raised);
  CAMLreturn(Val_unit);
}

typedef struct element {
  nx_tensor *tensor;
  int64_t index[NX_MAX_RANK];
  int32_t n;
  nx_scalar scalar;
} element;

static nx_status item(void *user, const nx_run_options *options) {
  element *e = user;
  return nx_item(e->tensor, e->index, (size_t)e->n, &e->scalar, options);
}

value nx_ocaml_item(value tensor, value index) {
  CAMLparam2(tensor, index);
  CAMLlocal1(raised);
  raised = Val_unit;
  element e = {.tensor = Tensor_val(tensor)};
  e.n = nx_ocaml_extents(index, e.index);
  nx_context *context = nx_context_of(e.tensor);
  if (item(&e, nx_ocaml_briefly())) {
    nx_error_take(NULL);
    nx_status status = nx_ocaml_perform(context, item, &e, &raised);
    nx_ocaml_check(status, raised);
  }
  nx_ocaml_after_reading(context);
  CAMLreturn(nx_ocaml_number(&e.scalar));
}

typedef struct transfer {
  nx_tensor *tensor;
  void *data;
  size_t bytes;
} transfer;

static nx_status read_elements(void *user, const nx_run_options *options) {
  transfer *t = user;
  return nx_read(t->tensor, t->data, t->bytes, options);
}

static nx_status write_elements(void *user, const nx_run_options *options) {
  transfer *t = user;
  return nx_write(t->tensor, t->data, t->bytes, options);
}

/* The elements of a bigarray of C layout. The module has compared the element types. */
static value move(value tensor, value array, nx_ocaml_work *work) {
  CAMLparam2(tensor, array);
  CAMLlocal1(raised);
  raised = Val_unit;
  transfer t = {Tensor_val(tensor), Caml_ba_data_val(array),
                caml_ba_byte_size(Caml_ba_array_val(array))};
  nx_context *context = nx_context_of(t.tensor);
  nx_status status = nx_ocaml_perform(context, work, &t, &raised);
  nx_ocaml_check(status, raised);
  nx_ocaml_after_reading(context);
  CAMLreturn(Val_unit);
}

value nx_ocaml_read(value tensor, value array) { return move(tensor, array, read_elements); }

value nx_ocaml_write(value tensor, value array) { return move(tensor, array, write_elements); }

static nx_status end_sharing(void *user, const nx_run_options *options) {
  return nx_end_sharing(user, options);
}

value nx_ocaml_end_sharing(value tensor) {
  CAMLparam1(tensor);
  CAMLlocal1(raised);
  raised = Val_unit;
  nx_tensor *t = Tensor_val(tensor);
  nx_status status = nx_ocaml_perform(nx_context_of(t), end_sharing, t, &raised);
  nx_ocaml_check(status, raised);
  CAMLreturn(Val_unit);
}

value nx_ocaml_collect(value context) {
  nx_context_collect(Context_val(context));
  nx_ocaml_drain();
  return Val_unit;
}

value nx_ocaml_assign(value to, value from) {
  CAMLparam1(to);
  CAMLlocal1(raised);
  raised = Val_unit;
  nx_tensor *target = Tensor_val(to);
  if (nx_assign(target, Tensor_val(from))) nx_ocaml_raise();
  nx_hold(target, true); /* state: computed once, whoever needs it first */
  nx_context *context = nx_context_of(target);
  if (nx_ocaml_due(context)) nx_ocaml_check(nx_ocaml_settle(context, target, &raised), raised);
  CAMLreturn(Val_unit);
}
