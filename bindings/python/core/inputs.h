/* SPDX-License-Identifier: ISC */
/* A captured function's arguments, some of which belong to it (jit(static=..)). */
#ifndef NX_PYTHON_INPUTS_H
#define NX_PYTHON_INPUTS_H

#include "core.h"
#include "tree.h"

typedef struct jitted {
  PyObject_HEAD PyObject *function, *traces; /* key -> trace */
  PyObject *donated;                         /* numbers of positional arguments, a tuple */
  PyObject *fixed;                           /* numbers and names of arguments, a tuple, or NULL */
  PyObject *name;
  PyObject *attributes; /* a dict, or NULL: those of the function, as functools.wraps copies them */
  PyObject *weakrefs;
} jitted;

/* A leaf for each array and number that is no fixed argument. */
int core_add_arguments(const jitted *j, core_tree *t, PyObject *args, PyObject *kwargs);
/* With one leaf at least: without an input nothing would be captured. */
int core_add_all(const jitted *j, core_tree *t, PyObject *args, PyObject *kwargs);
/* The arguments with their leaves replaced. */
int core_with_arguments(const jitted *j, PyObject *args, PyObject *kwargs, PyObject *leaves,
                        PyObject **a, PyObject **k);
/* Whether the function left its arguments, `args` and `kwargs` with the leaves `shown`, as they
 * were: what it puts into a list or a dict that it was given would be in none of the caller's. 0,
 * or -1 with an exception. */
int core_check_arguments(const jitted *j, const core_tree *given, PyObject *args, PyObject *kwargs,
                         PyObject *shown);

#endif
