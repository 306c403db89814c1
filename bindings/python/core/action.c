/* SPDX-License-Identifier: ISC */
/* Actions: calls that may compute, and take long. The interpreter lock is given up; the poll takes
 * it for a moment, so that a signal's handler runs, and what that raises stops the action. Long
 * ones tell of themselves on the standard error output if that is asked for.
 *
 * When the interpreter ends, actions of other threads are stopped, and waited for: what they
 * compute with would go from under them. Their threads end, as Python's do, with no word. */
#include "core.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static bool shown; /* whether progress is */
static const double patience = 0.5;

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void tell(core_action *a) {
  double now = seconds();
  if (now - a->begun < patience || now - a->told < 0.1) return;
  nx_stats s = {.size = sizeof s};
  nx_context_stats(core_context(), &s);
  a->told = now;
  PySys_WriteStderr("\rnx: %.1f s, %llu kernels compiled, %llu MiB in use ", now - a->begun,
                    (unsigned long long)(s.kernels_compiled - a->compiled),
                    (unsigned long long)(s.live_bytes >> 20));
  PyObject *stream = PySys_GetObject("stderr");
  PyObject *done = stream ? PyObject_CallMethod(stream, "flush", NULL) : NULL;
  Py_XDECREF(done);
  PyErr_Clear();
}

/* ---- the end of the interpreter */

enum { LEAVE_MS = 5000 };

static _Atomic int32_t running; /* actions */
static int32_t outer;           /* of those, not of functions that actions call */
static _Atomic bool ending;     /* and whose thread ends it: */
static unsigned long ender;

static bool is_stopped(const core_action *a) {
  return atomic_load_explicit(&ending, memory_order_acquire) && a->thread != ender;
}

static PyObject *end(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  ender = PyThread_get_thread_ident();
  atomic_store_explicit(&ending, true, memory_order_release);
  core_stop_customs(PyExc_SystemExit);
  Py_BEGIN_ALLOW_THREADS;
  for (int ms = 0; atomic_load(&running) > 0 && ms < LEAVE_MS; ms++)
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  Py_END_ALLOW_THREADS;
  return Py_NewRef(Py_None);
}

/* Other threads of the parent are not in the child. */
static void in_child(void) {
  atomic_store(&running, 0);
  outer = 0;
  core_forget_customs();
}

static int watch_end(PyObject *module) {
  PyObject *atexit = PyImport_ImportModule("atexit");
  PyObject *function = atexit ? PyObject_GetAttrString(module, "_end") : NULL;
  PyObject *done = function ? PyObject_CallMethod(atexit, "register", "O", function) : NULL;
  Py_XDECREF(done);
  Py_XDECREF(function);
  Py_XDECREF(atexit);
  return done != NULL && pthread_atfork(NULL, NULL, in_child) == 0 ? 0 : -1;
}

/* ---- an action */

static int32_t poll(void *user) {
  core_action *a = user;
  if (is_stopped(a)) return 1;
  bool first = !a->asked;
  a->asked = true;
  if (first) return 0;
  PyEval_RestoreThread(a->state);
  if (shown) tell(a);
  int stop = PyErr_CheckSignals();
  if (stop != 0 && outer <= 1) core_stop_customs(PyErr_Occurred()); /* all are this action's */
  a->state = PyEval_SaveThread();
  return stop != 0;
}

const nx_run_options core_briefly = {.size = sizeof core_briefly, .flags = NX_AT_ONCE};

bool core_at_once(nx_status status) {
  if (status == NX_OK) return true;
  nx_error_take(NULL);
  return false;
}

void core_begin(core_action *a) {
  *a = (core_action){.options = {.size = sizeof a->options, .poll = poll, .user = a}};
  if (shown) {
    nx_stats s = {.size = sizeof s};
    nx_context_stats(core_context(), &s);
    a->begun = seconds();
    a->compiled = s.kernels_compiled;
  }
  a->thread = PyThread_get_thread_ident();
  a->nested = core_in_custom();
  if (!a->nested) outer++;
  atomic_fetch_add(&running, 1);
  a->state = PyEval_SaveThread();
}

static int raise_kept(void *exception) {
  PyErr_SetObject((PyObject *)Py_TYPE((PyObject *)exception), exception);
  Py_DECREF((PyObject *)exception);
  return -1;
}

/* The poll has called a handler of a signal, which has raised, when all was done already: the
 * interpreter raises that as soon as the caller has its result. */
static int raise_afterwards(void) {
  PyObject *type, *value, *where;
  PyErr_Fetch(&type, &value, &where);
  PyErr_NormalizeException(&type, &value, &where);
  if (where != NULL) PyException_SetTraceback(value, where);
  Py_XDECREF(type);
  Py_XDECREF(where);
  if (Py_AddPendingCall(raise_kept, value) == 0) return 0;
  return raise_kept(value);
}

int core_end(core_action *a, nx_status status) {
  atomic_fetch_sub(&running, 1); /* a thread that comes too late never gets the lock */
  PyEval_RestoreThread(a->state);
  if (!a->nested && outer > 0) outer--;
  if (a->told > 0) PySys_WriteStderr("\n");
  if (status == NX_OK) return PyErr_Occurred() == NULL ? 0 : raise_afterwards();
  core_fail_later();
  if (is_stopped(a)) {
    PyErr_Clear();
    PyErr_SetNone(PyExc_SystemExit);
  }
  return -1;
}

static PyObject *progress(PyObject *self, PyObject *on) {
  (void)self;
  int truth = PyObject_IsTrue(on);
  if (truth < 0) return NULL;
  shown = truth != 0;
  return Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {
    {"progress", progress, METH_O,
     "progress(True): what takes more than half a second says so on the standard error output: "
     "seconds, kernels compiled meanwhile, memory in use."},
    {"_end", end, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

int core_action_init(PyObject *module) {
  return PyModule_AddFunctions(module, functions) < 0 ? -1 : watch_end(module);
}
