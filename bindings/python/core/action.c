/* SPDX-License-Identifier: ISC */
/* Actions: calls that may compute, and take long. The interpreter lock is given up; the poll takes
 * it for a moment, so that a signal's handler runs, and what that raises stops the action. Long
 * ones tell of themselves on the standard error output if that is asked for. */
#include "core.h"

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

static int32_t poll(void *user) {
  core_action *a = user;
  bool first = !a->asked;
  a->asked = true;
  if (first) return 0;
  PyEval_RestoreThread(a->state);
  if (shown) tell(a);
  int stop = PyErr_CheckSignals();
  a->state = PyEval_SaveThread();
  return stop != 0;
}

void core_begin(core_action *a) {
  *a = (core_action){.options = {.size = sizeof a->options, .poll = poll, .user = a}};
  if (shown) {
    nx_stats s = {.size = sizeof s};
    nx_context_stats(core_context(), &s);
    a->begun = seconds();
    a->compiled = s.kernels_compiled;
  }
  a->state = PyEval_SaveThread();
}

int core_end(core_action *a, nx_status status) {
  PyEval_RestoreThread(a->state);
  if (a->told > 0) PySys_WriteStderr("\n");
  if (status == NX_OK) return 0;
  core_fail_later();
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
    {NULL, NULL, 0, NULL}};

int core_action_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
