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

/* ---- the arguments that a function has */

/* Lists. */
typedef struct parameters {
  PyObject *positions; /* the names of those that a number says */
  PyObject *names;     /* of all */
  bool any_number, any_name;
} parameters;

/* Annotations that name nothing are no reason to know nothing: from Python 3.14 on they are
 * evaluated unless one says otherwise. */
static PyObject *words_of_signature(void) {
  if (Py_Version < 0x030e0000) return PyDict_New();
  PyObject *module = PyImport_ImportModule("annotationlib");
  PyObject *formats = module ? PyObject_GetAttrString(module, "Format") : NULL;
  PyObject *format = formats ? PyObject_GetAttrString(formats, "FORWARDREF") : NULL;
  PyObject *words = format ? Py_BuildValue("{s:O}", "annotation_format", format) : NULL;
  Py_XDECREF(format);
  Py_XDECREF(formats);
  Py_XDECREF(module);
  return words;
}

/* A list of the signature's parameters; None where there is no signature. */
static PyObject *signature_of(PyObject *function) {
  PyObject *module = PyImport_ImportModule("inspect");
  PyObject *signature = module ? PyObject_GetAttrString(module, "signature") : NULL;
  PyObject *words = signature ? words_of_signature() : NULL;
  PyObject *args = words ? PyTuple_Pack(1, function) : NULL;
  PyObject *found = args ? PyObject_Call(signature, args, words) : NULL;
  if (args != NULL && found == NULL &&
      (PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_TypeError))) {
    PyErr_Clear();
    found = Py_NewRef(Py_None);
  } else if (found != NULL) {
    PyObject *of = PyObject_GetAttrString(found, "parameters");
    PyObject *values = of ? PyObject_CallMethod(of, "values", NULL) : NULL;
    Py_XDECREF(of);
    Py_DECREF(found);
    found = values ? PySequence_List(values) : NULL;
    Py_XDECREF(values);
  }
  Py_XDECREF(args);
  Py_XDECREF(words);
  Py_XDECREF(signature);
  Py_XDECREF(module);
  return found;
}

static int add_parameter(parameters *p, PyObject *of) {
  enum { POSITION, EITHER, ANY_NUMBER, NAME, ANY_NAME }; /* inspect.Parameter.kind */
  PyObject *name = PyObject_GetAttrString(of, "name");
  PyObject *kind = name ? PyObject_GetAttrString(of, "kind") : NULL;
  const long is = kind ? PyLong_AsLong(kind) : -1;
  int status = is < 0 ? -1 : 0;
  if (is == ANY_NUMBER) p->any_number = true;
  else if (is == ANY_NAME) p->any_name = true;
  else if (status == 0) {
    status = PyList_Append(p->names, name);
    if (status == 0 && is != NAME) status = PyList_Append(p->positions, name);
  }
  Py_XDECREF(kind);
  Py_XDECREF(name);
  return status;
}

static int take_parameters(parameters *p, PyObject *list) {
  *p = (parameters){.positions = PyList_New(0), .names = PyList_New(0)};
  if (p->positions == NULL || p->names == NULL) return -1;
  if (list == Py_None) p->any_number = p->any_name = true;
  for (Py_ssize_t i = 0; list != Py_None && i < PyList_Size(list); i++)
    if (add_parameter(p, PyList_GetItem(list, i)) < 0) return -1;
  return 0;
}

static bool has(const parameters *p, PyObject *which) {
  if (PyLong_Check(which))
    return p->any_number || PyLong_AsSsize_t(which) < PyList_Size(p->positions);
  return p->any_name || PySequence_Contains(p->names, which) == 1;
}

/* The same argument by its other name; NULL, without an exception, if it has none. */
static PyObject *other(const parameters *p, PyObject *which) {
  const Py_ssize_t n = PyList_Size(p->positions);
  if (PyLong_Check(which)) {
    const Py_ssize_t i = PyLong_AsSsize_t(which);
    return i < n ? Py_NewRef(PyList_GetItem(p->positions, i)) : NULL;
  }
  for (Py_ssize_t i = 0; i < n; i++)
    if (PyUnicode_Compare(PyList_GetItem(p->positions, i), which) == 0)
      return PyLong_FromSsize_t(i);
  return NULL;
}

/* What was chosen, by numbers and names: the function may be called with either. */
static PyObject *joined(PyObject *function, const parameters *p, PyObject *chosen,
                        const char *what) {
  PyObject *all = PySequence_List(chosen);
  for (Py_ssize_t i = 0; all != NULL && i < PyTuple_Size(chosen); i++) {
    PyObject *which = PyTuple_GetItem(chosen, i), *also = NULL;
    if (has(p, which)) also = other(p, which);
    else if (!PyErr_Occurred())
      PyErr_Format(PyExc_ValueError, "nx: %s says %R, and %R has no such argument", what, which,
                   function);
    if (PyErr_Occurred() || (also != NULL && PyList_Append(all, also) < 0)) Py_CLEAR(all);
    Py_XDECREF(also);
  }
  PyObject *made = all ? PyList_AsTuple(all) : NULL;
  Py_XDECREF(all);
  return made;
}

PyObject *core_chosen(PyObject *function, PyObject *of, bool names, const char *what) {
  PyObject *chosen = numbers_and_names(of, names, what), *made = NULL;
  if (chosen == NULL || PyTuple_Size(chosen) == 0) return chosen;
  PyObject *list = signature_of(function);
  parameters p = {0};
  if (list != NULL && take_parameters(&p, list) == 0) made = joined(function, &p, chosen, what);
  Py_XDECREF(p.positions);
  Py_XDECREF(p.names);
  Py_XDECREF(list);
  Py_DECREF(chosen);
  return made;
}
