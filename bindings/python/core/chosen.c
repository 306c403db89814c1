/* SPDX-License-Identifier: ISC */
/* Which arguments of a function a program means, by numbers or names. */
#include "core.h"

/* What names arguments: one number, a name where those are allowed, or several; as a tuple. */
static PyObject *numbers_and_names(PyObject *of, bool names, const char *what) {
  if (of == Py_None) return PyTuple_New(0);
  bool one = PyLong_Check(of) || PyUnicode_Check(of);
  PyObject *made = one ? PyTuple_Pack(1, of) : PySequence_Tuple(of);
  for (Py_ssize_t i = 0; made != NULL && i < PyTuple_Size(made); i++) {
    PyObject *item = PyTuple_GetItem(made, i);
    bool number = PyLong_Check(item) && !PyBool_Check(item);
    if (number && PyLong_AsSsize_t(item) >= 0) continue;
    if (names && PyUnicode_Check(item)) continue;
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "nx: %s takes numbers of arguments from 0 on%s, not %R", what,
                 names ? " and names" : "", item);
    Py_CLEAR(made);
  }
  return made;
}

/* Whether the function has the arguments that were chosen; one whose arguments are not known, or
 * that takes any, has. */
static bool has_arguments(PyObject *function, PyObject *chosen, const char *what) {
  enum { ANY_NUMBER = 4, ANY_NAME = 8 }; /* of co_flags */
  PyObject *code = PyObject_GetAttrString(function, "__code__");
  PyObject *flags = code ? PyObject_GetAttrString(code, "co_flags") : NULL;
  PyObject *count = flags ? PyObject_GetAttrString(code, "co_argcount") : NULL;
  PyObject *names = count ? PyObject_GetAttrString(code, "co_varnames") : NULL;
  PyObject *only = names ? PyObject_GetAttrString(code, "co_kwonlyargcount") : NULL;
  bool good = true;
  PyErr_Clear();
  if (only != NULL && PyTuple_Check(names)) {
    const long any = PyLong_AsLong(flags), n = PyLong_AsLong(count), all = n + PyLong_AsLong(only);
    PyObject *known = PyTuple_GetSlice(names, 0, all);
    for (Py_ssize_t i = 0; known != NULL && good && i < PyTuple_Size(chosen); i++) {
      PyObject *item = PyTuple_GetItem(chosen, i);
      if (PyLong_Check(item)) good = any & ANY_NUMBER || PyLong_AsLong(item) < n;
      else good = any & ANY_NAME || PySequence_Contains(known, item) == 1;
      if (!good)
        PyErr_Format(PyExc_ValueError, "nx: %s says %R, and %R has no such argument", what, item,
                     function);
    }
    good = good && known != NULL;
    Py_XDECREF(known);
  }
  Py_XDECREF(only);
  Py_XDECREF(names);
  Py_XDECREF(count);
  Py_XDECREF(flags);
  Py_XDECREF(code);
  return good;
}

PyObject *core_chosen(PyObject *function, PyObject *of, bool names, const char *what) {
  PyObject *made = numbers_and_names(of, names, what);
  if (made != NULL && !has_arguments(function, made, what)) Py_CLEAR(made);
  return made;
}
