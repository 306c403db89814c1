/* SPDX-License-Identifier: ISC */
/* Actions: calls that may compute, and take long. The interpreter lock is given up; the poll takes
 * it for a moment, so that a signal's handler runs, and what that raises stops the action. */
#include "core.h"

static int32_t poll(void *user) {
  core_action *a = user;
  bool first = !a->asked;
  a->asked = true;
  if (first) return 0;
  PyEval_RestoreThread(a->state);
  int stop = PyErr_CheckSignals();
  a->state = PyEval_SaveThread();
  return stop != 0;
}

void core_begin(core_action *a) {
  *a = (core_action){.options = {.size = sizeof a->options, .poll = poll, .user = a}};
  a->state = PyEval_SaveThread();
}

int core_end(core_action *a, nx_status status) {
  PyEval_RestoreThread(a->state);
  if (status == NX_OK) return 0;
  core_fail_later();
  return -1;
}
