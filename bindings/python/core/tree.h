/* SPDX-License-Identifier: ISC */
/* Arguments and results of captured functions: tuples, lists, dicts and dataclasses, nested, with
 * arrays and numbers as their leaves. What else there is, and None, belongs to the function that is
 * captured, with its type, for objects of two types may be equal. */
#ifndef NX_PYTHON_TREE_H
#define NX_PYTHON_TREE_H

#include "core.h"

typedef struct core_tree {
  char *key; /* what the structure is, and of each leaf dtype, device and shape */
  size_t n_key, room_key;
  PyObject **leaves; /* arrays, new references; NULL where a number of Python is */
  nx_tensor **tensors;
  nx_scalar *values; /* of numbers */
  char *kinds;       /* likewise; 0: an array */
  size_t n, room;
  PyObject *fixed; /* a list of the other objects */
  bool results;    /* of a function: an object that may be another at each call is refused */
} core_tree;

/* Adds an object and all in it; -1 with an exception. numbers: whether they are leaves. */
int core_tree_add(core_tree *t, PyObject *o, bool numbers);
/* Adds an object as one that belongs to the function, whatever it is. */
int core_tree_fix(core_tree *t, PyObject *o);
/* Adds a leaf that no argument is: a function of no arrays is captured like any other then. */
int core_tree_add_hidden(core_tree *t);
void core_tree_free(core_tree *t);
/* The object with the leaves replaced, in order, by the items of a list from *at on. */
PyObject *core_tree_with(PyObject *o, PyObject *leaves, Py_ssize_t *at, bool numbers);

#endif
