/* SPDX-License-Identifier: ISC */
/* Threads of the library that call Python. PyGILState_Ensure ends the process if it has no memory
 * for the state of a thread that Python has not met, and would make one at each call. So the state
 * is made here, which may fail as any allocation does, and stays until the thread ends. */
#include "core.h"

#include <pthread.h>
#include <stdlib.h>

static PyInterpreterState *interpreter;
static pthread_key_t key; /* a thread's state, if it was made here */

/* A thread ends. Python may have forgotten by then which state it had. */
static void forget(void *of) {
  PyThreadState *state = of;
  if (state == NULL || !Py_IsInitialized()) return;
  PyEval_AcquireThread(state);
  PyThreadState_Clear(state);
  PyEval_ReleaseThread(state);
  PyThreadState_Delete(state);
}

int core_threads_init(PyObject *module) {
  (void)module;
  interpreter = PyInterpreterState_Get();
  if (pthread_key_create(&key, forget) == 0) return 0;
  PyErr_NoMemory();
  return -1;
}

/* Before 3.12 PyThreadState_New does not survive a lack of memory, either. */
static bool there_is_memory(void) {
  if (Py_Version >= 0x030c0000) return true;
  void *volatile probe = calloc(1, 4096); /* which no compiler leaves out */
  bool good = probe != NULL;
  free(probe);
  return good;
}

/* The state of a thread that Python has not met. What may fail comes before it. */
static bool introduce(void) {
  if (pthread_setspecific(key, &key) != 0) return false;
  PyThreadState *state = there_is_memory() ? PyThreadState_New(interpreter) : NULL;
  pthread_setspecific(key, state);
  return state != NULL;
}

bool core_enter(core_entry *e) {
  if (PyGILState_GetThisThreadState() == NULL && !introduce()) return false;
  e->state = PyGILState_Ensure();
  return true;
}

void core_leave(const core_entry *e) { PyGILState_Release(e->state); }

void core_locked(int (*f)(void *), void *of) {
  core_entry e;
  if (!Py_IsInitialized()) return;
  if (core_enter(&e)) {
    f(of);
    core_leave(&e);
  } else Py_AddPendingCall(f, of);
}
