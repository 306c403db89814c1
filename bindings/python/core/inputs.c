/* SPDX-License-Identifier: ISC */
#include "inputs.h"

#include "guard.h"

/* Whether an argument, by its number or its name, which it takes, belongs to the function. */
static int is_fixed(const jitted *j, PyObject *which) {
  int is = which == NULL ? -1 : PySequence_Contains(j->fixed, which);
  Py_XDECREF(which);
  return is;
}

static int add_argument(const jitted *j, core_tree *t, PyObject *which, PyObject *o) {
  int fixed = is_fixed(j, which);
  return fixed < 0 ? -1 : fixed ? core_tree_fix(t, o) : core_tree_add(t, o, true);
}

int core_add_arguments(const jitted *j, core_tree *t, PyObject *args, PyObject *kwargs) {
  PyObject *key, *value;
  Py_ssize_t at = 0, n = PyTuple_Size(args);
  if (j->fixed == NULL)
    return core_tree_add(t, args, true) < 0 ||
                   (kwargs != NULL && core_tree_add(t, kwargs, true) < 0)
               ? -1
               : 0;
  PyObject *count = PyLong_FromSsize_t(n); /* where names begin */
  int status = count != NULL ? core_tree_fix(t, count) : -1;
  Py_XDECREF(count);
  for (Py_ssize_t i = 0; status == 0 && i < n; i++)
    status = add_argument(j, t, PyLong_FromSsize_t(i), PyTuple_GetItem(args, i));
  while (status == 0 && kwargs != NULL && PyDict_Next(kwargs, &at, &key, &value))
    status = core_tree_fix(t, key) < 0 ? -1 : add_argument(j, t, Py_NewRef(key), value);
  return status;
}

int core_add_all(const jitted *j, core_tree *t, PyObject *args, PyObject *kwargs) {
  if (core_add_arguments(j, t, args, kwargs) < 0) return -1;
  return t->n == 0 ? core_tree_add_hidden(t) : 0;
}

static PyObject *with_argument(const jitted *j, PyObject *which, PyObject *o, PyObject *leaves,
                               Py_ssize_t *at) {
  int fixed = is_fixed(j, which);
  return fixed < 0 ? NULL : fixed ? Py_NewRef(o) : core_tree_with(o, leaves, at, true);
}

static PyObject *with_names(const jitted *j, PyObject *kwargs, PyObject *leaves, Py_ssize_t *at) {
  PyObject *made = PyDict_New(), *key, *value;
  Py_ssize_t i = 0;
  while (made != NULL && PyDict_Next(kwargs, &i, &key, &value)) {
    PyObject *item = with_argument(j, Py_NewRef(key), value, leaves, at);
    if (item == NULL || PyDict_SetItem(made, key, item) < 0) Py_CLEAR(made);
    Py_XDECREF(item);
  }
  return made;
}

int core_with_arguments(const jitted *j, PyObject *args, PyObject *kwargs, PyObject *leaves,
                        PyObject **a, PyObject **k) {
  Py_ssize_t at = 0, n = PyTuple_Size(args);
  if (j->fixed == NULL) {
    *a = core_tree_with(args, leaves, &at, true);
    *k = *a && kwargs ? core_tree_with(kwargs, leaves, &at, true) : NULL;
    return *a != NULL && (*k != NULL || kwargs == NULL) ? 0 : -1;
  }
  *a = PyTuple_New(n);
  for (Py_ssize_t i = 0; *a != NULL && i < n; i++) {
    PyObject *item = with_argument(j, PyLong_FromSsize_t(i), PyTuple_GetItem(args, i), leaves, &at);
    if (item == NULL) Py_CLEAR(*a);
    else PyTuple_SetItem(*a, i, item);
  }
  *k = *a && kwargs ? with_names(j, kwargs, leaves, &at) : NULL;
  return *a != NULL && (*k != NULL || kwargs == NULL) ? 0 : -1;
}

int core_check_arguments(const jitted *j, const core_tree *given, PyObject *args, PyObject *kwargs,
                         PyObject *shown) {
  core_tree t = {0};
  int status = core_add_arguments(j, &t, args, kwargs);
  Py_ssize_t n = PyList_Size(shown);
  bool same = status == 0 && (t.n == 0 || (Py_ssize_t)t.n == n);
  for (size_t i = 0; same && i < t.n; i++) {
    PyObject *o = PyList_GetItem(shown, (Py_ssize_t)i);
    same = t.leaves[i] == (core_is_array(o) ? o : NULL);
    if (same && t.leaves[i] == NULL)
      same = t.kinds[i] == given->kinds[i] &&
             core_same_number(t.kinds[i], &t.values[i], &given->values[i]);
  }
  same = same && (t.fixed == NULL) == (given->fixed == NULL);
  int others = same && t.fixed ? PyObject_RichCompareBool(t.fixed, given->fixed, Py_EQ) : 1;
  core_tree_free(&t);
  if (status < 0 || others < 0) return -1;
  if (same && others) return 0;
  PyErr_Format(PyExc_TypeError,
               "nx: %S changes a list, dict or dataclass among its arguments, which a call of a "
               "captured function cannot do; give what is new as a result",
               j->name);
  return -1;
}
