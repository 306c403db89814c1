/* SPDX-License-Identifier: ISC */
/* What the functions of calls.c, which are generated, take from Python. Nothing is converted but
 * numbers: an Array is a tensor, with its dtype. */
#include "core.h"

int core_count(const char *name, Py_ssize_t given, int least, int most) {
  if (given >= least && given <= most) return 0;
  PyErr_Format(PyExc_TypeError, "nx: %s takes %d to %d arguments, not %zd", name, least, most,
               given);
  return -1;
}

int core_take_tensor(PyObject *o, bool nullable, nx_tensor **out) {
  if (nullable && o == Py_None) return *out = NULL, 0;
  if (!core_is_array(o)) {
    PyErr_Format(PyExc_TypeError, "nx: an Array is wanted, not %R", o);
    return -1;
  }
  if (core_settle_element((core_array *)o) < 0) return -1;
  *out = core_tensor(o);
  return 0;
}

void core_list_free(core_list *l) {
  for (size_t i = 0; l->tensors && i < l->n; i++) nx_tensor_release(((nx_tensor **)l->items)[i]);
  if (l->items != l->room) PyMem_Free(l->items);
}

/* Room for n entries of a size. */
static int reserve(core_list *l, size_t n, size_t size) {
  l->n = n;
  l->items = n * size <= sizeof l->room ? l->room : PyMem_Malloc(n * size);
  if (l->items != NULL) return 0;
  PyErr_NoMemory();
  return -1;
}

int core_take_tensors(PyObject *o, core_list *out) {
  Py_ssize_t n = PySequence_Size(o);
  *out = (core_list){.items = out->room};
  if (n < 0 || reserve(out, (size_t)n, sizeof(nx_tensor *)) < 0) return -1;
  nx_tensor **to = out->items;
  out->tensors = true;
  out->n = 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *item = PySequence_GetItem(o, i);
    int status = item ? core_take_tensor(item, false, &to[i]) : -1;
    if (status == 0) nx_tensor_retain(to[i]); /* the sequence may make its items, or lose them */
    if (status == 0) out->n++;
    Py_XDECREF(item);
    if (status < 0) return -1;
  }
  return 0;
}

int core_take_i64(PyObject *o, int64_t low, int64_t high, int64_t *out) {
  PyObject *number = PyLong_CheckExact(o) ? Py_NewRef(o) : PyNumber_Index(o);
  if (number == NULL) return -1;
  *out = PyLong_AsLongLong(number);
  Py_DECREF(number);
  if (*out == -1 && PyErr_Occurred()) return -1;
  if (*out >= low && *out <= high) return 0;
  PyErr_Format(PyExc_OverflowError, "nx: %lld is too large", (long long)*out);
  return -1;
}

int core_take_list(PyObject *o, int bits, bool nullable, bool all, core_list *out) {
  *out = (core_list){.items = out->room};
  if (nullable && o == Py_None) {
    out->items = NULL;
    out->n = all ? NX_ALL : 0;
    return 0;
  }
  bool single = PyIndex_Check(o) && !PySequence_Check(o);
  Py_ssize_t n = single ? 1 : PySequence_Size(o);
  if (n < 0 || reserve(out, (size_t)n, bits == 32 ? 4 : 8) < 0) return -1;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *item = single ? Py_NewRef(o) : PySequence_GetItem(o, i);
    int64_t v = 0;
    int64_t low = bits == 32 ? INT32_MIN : INT64_MIN, high = bits == 32 ? INT32_MAX : INT64_MAX;
    int status = item ? core_take_i64(item, low, high, &v) : -1;
    Py_XDECREF(item);
    if (status < 0) return -1;
    if (bits == 32) ((int32_t *)out->items)[i] = (int32_t)v;
    else ((int64_t *)out->items)[i] = v;
  }
  return 0;
}

int core_take_f64(PyObject *o, double *out) {
  *out = PyFloat_AsDouble(o);
  return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

int core_take_f64s(PyObject *o, core_list *out) {
  *out = (core_list){.items = out->room};
  Py_ssize_t n = PySequence_Size(o);
  if (n < 0 || reserve(out, (size_t)n, sizeof(double)) < 0) return -1;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *item = PySequence_GetItem(o, i);
    int status = item ? core_take_f64(item, (double *)out->items + i) : -1;
    Py_XDECREF(item);
    if (status < 0) return -1;
  }
  return 0;
}

int core_take_scalar(PyObject *o, nx_scalar *out) {
  char kind = core_number_kind(o);
  if (kind == 'b' || kind == 'i') {
    int beyond = 0;
    *out = (nx_scalar){NX_SCALAR_I64, {.i = PyLong_AsLongLongAndOverflow(o, &beyond)}};
    if (beyond > 0) *out = (nx_scalar){NX_SCALAR_U64, {.u = PyLong_AsUnsignedLongLong(o)}};
    else if (beyond < 0) PyErr_Format(PyExc_OverflowError, "nx: %S is too small", o);
    return PyErr_Occurred() ? -1 : 0;
  }
  if (kind != 0) return core_scalar(o, kind == 'c' ? NX_C128 : NX_F64, out);
  PyErr_Format(PyExc_TypeError, "nx: a number is wanted, not %R", o);
  return -1;
}

int core_take_dtype(PyObject *o, nx_dtype *out) {
  *out = core_dtype_of(o);
  return *out != 0 ? 0 : -1;
}

PyObject *core_wrap_all(nx_tensor **of, int n) {
  PyObject *t = PyTuple_New(n);
  for (int i = 0; i < n; i++) {
    PyObject *a = t ? core_wrap(of[i]) : (nx_tensor_release(of[i]), NULL);
    if (t != NULL && a == NULL) Py_CLEAR(t);
    if (t != NULL) PyTuple_SetItem(t, i, a);
  }
  return t;
}

int core_same_length(size_t a, size_t b) {
  if (a == b) return 0;
  PyErr_Format(PyExc_ValueError, "nx: lists of %zu and %zu entries belong together", a, b);
  return -1;
}
