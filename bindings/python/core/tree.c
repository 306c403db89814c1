/* SPDX-License-Identifier: ISC */
#include "tree.h"

#include <string.h>

static int grow(void **of, size_t *room, size_t needed, size_t size) {
  if (needed <= *room) return 0;
  size_t n = *room * 2 > needed ? *room * 2 : needed + 16;
  void *more = PyMem_Realloc(*of, n * size);
  if (more == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  *of = more;
  *room = n;
  return 0;
}

static int put(core_tree *t, const void *bytes, size_t n) {
  if (grow((void **)&t->key, &t->room_key, t->n_key + n, 1) < 0) return -1;
  memcpy(t->key + t->n_key, bytes, n);
  t->n_key += n;
  return 0;
}

static int put_count(core_tree *t, char what, int64_t n) {
  return put(t, &what, 1) < 0 ? -1 : put(t, &n, sizeof n);
}

/* Takes both. */
static int add_leaf(core_tree *t, PyObject *array, nx_tensor *tensor) {
  size_t room = t->room;
  if (grow((void **)&t->leaves, &room, t->n + 1, sizeof *t->leaves) < 0 ||
      grow((void **)&t->tensors, &t->room, t->n + 1, sizeof *t->tensors) < 0) {
    Py_XDECREF(array);
    if (array == NULL) nx_tensor_release(tensor);
    return -1;
  }
  t->leaves[t->n] = array;
  t->tensors[t->n++] = tensor;
  return 0;
}

static int add_array(core_tree *t, PyObject *o) {
  nx_tensor *x = core_tensor(o);
  int32_t words[] = {nx_dtype_of(x), nx_device_of(x), nx_rank(x), core_is_weak(o)};
  if (put(t, "A", 1) < 0 || put(t, words, sizeof words) < 0 ||
      put(t, nx_shape(x), sizeof(int64_t) * (size_t)nx_rank(x)) < 0)
    return -1;
  return add_leaf(t, Py_NewRef(o), x);
}

static int add_number(core_tree *t, PyObject *o, char kind) {
  nx_scalar s;
  nx_context *c = core_context();
  nx_dtype as = core_dtype_of_kind(kind);
  if (c == NULL || put_count(t, 'W', kind) < 0 || core_scalar(o, as, &s) < 0) return -1;
  nx_tensor *x = nx_full(c, 0, as, NULL, 0, &s);
  if (x == NULL) return core_fail(), -1;
  return add_leaf(t, NULL, x);
}

static int add_fixed(core_tree *t, PyObject *o) {
  if (t->fixed == NULL) t->fixed = PyList_New(0);
  return t->fixed == NULL || put(t, "S", 1) < 0 ? -1 : PyList_Append(t->fixed, o);
}

static int add_dict(core_tree *t, PyObject *o, bool numbers) {
  PyObject *key, *value;
  Py_ssize_t at = 0;
  if (put_count(t, 'D', PyDict_Size(o)) < 0) return -1;
  if (Py_EnterRecursiveCall(" in the arguments of a captured function")) return -1;
  int status = 0;
  while (status == 0 && PyDict_Next(o, &at, &key, &value)) {
    Py_INCREF(value);
    status = add_fixed(t, key) < 0 ? -1 : core_tree_add(t, value, numbers);
    Py_DECREF(value);
  }
  Py_LeaveRecursiveCall();
  return status;
}

static int add_items(core_tree *t, PyObject *o, Py_ssize_t n, bool numbers) {
  if (Py_EnterRecursiveCall(" in the arguments of a captured function")) return -1;
  int status = 0;
  for (Py_ssize_t i = 0; i < n && status == 0; i++) {
    PyObject *item = PySequence_GetItem(o, i);
    status = item ? core_tree_add(t, item, numbers) : -1;
    Py_XDECREF(item);
  }
  Py_LeaveRecursiveCall();
  return status;
}

int core_tree_add(core_tree *t, PyObject *o, bool numbers) {
  char kind = numbers ? core_number_kind(o) : 0;
  if (core_is_array(o)) return add_array(t, o);
  if (kind != 0) return add_number(t, o, kind);
  if (PyDict_CheckExact(o)) return add_dict(t, o, numbers);
  bool tuple = PyTuple_Check(o), list = PyList_CheckExact(o);
  if (tuple || list) {
    Py_ssize_t n = PySequence_Size(o);
    if (put_count(t, tuple ? 'T' : 'L', n) < 0) return -1;
    if (tuple && !PyTuple_CheckExact(o) && add_fixed(t, (PyObject *)Py_TYPE(o)) < 0) return -1;
    return add_items(t, o, n, numbers);
  }
  if (o == Py_None) return put(t, "N", 1);
  if (numbers && PyObject_CheckBuffer(o) && PyObject_HasAttrString(o, "__array_interface__")) {
    PyObject *a = core_array_of(o, 0, 0, -1);
    int status = a ? add_array(t, a) : -1;
    Py_XDECREF(a);
    return status;
  }
  return add_fixed(t, o);
}

void core_tree_free(core_tree *t) {
  for (size_t i = 0; i < t->n; i++) {
    if (t->leaves[i] == NULL) nx_tensor_release(t->tensors[i]);
    Py_XDECREF(t->leaves[i]);
  }
  PyMem_Free(t->key);
  PyMem_Free(t->leaves);
  PyMem_Free(t->tensors);
  Py_XDECREF(t->fixed);
}

/* ---- the way back */

static PyObject *list_with(PyObject *o, PyObject *leaves, Py_ssize_t *at, bool numbers) {
  Py_ssize_t n = PySequence_Size(o);
  PyObject *made = PyList_New(n);
  for (Py_ssize_t i = 0; made != NULL && i < n; i++) {
    PyObject *old = PySequence_GetItem(o, i);
    PyObject *item = old ? core_tree_with(old, leaves, at, numbers) : NULL;
    Py_XDECREF(old);
    if (item == NULL) Py_CLEAR(made);
    else PyList_SetItem(made, i, item);
  }
  if (made == NULL || !PyTuple_Check(o)) return made;
  PyObject *tuple = PyList_AsTuple(made);
  Py_DECREF(made);
  if (tuple == NULL || PyTuple_CheckExact(o)) return tuple;
  PyObject *type = (PyObject *)Py_TYPE(o);
  PyObject *named = PyObject_HasAttrString(o, "_fields") ? PyObject_Call(type, tuple, NULL)
                                                         : core_call(type, tuple);
  Py_DECREF(tuple);
  return named;
}

static PyObject *dict_with(PyObject *o, PyObject *leaves, Py_ssize_t *at, bool numbers) {
  PyObject *made = PyDict_New(), *key, *value;
  Py_ssize_t i = 0;
  while (made != NULL && PyDict_Next(o, &i, &key, &value)) {
    PyObject *item = core_tree_with(value, leaves, at, numbers);
    if (item == NULL || PyDict_SetItem(made, key, item) < 0) Py_CLEAR(made);
    Py_XDECREF(item);
  }
  return made;
}

PyObject *core_tree_with(PyObject *o, PyObject *leaves, Py_ssize_t *at, bool numbers) {
  bool foreign =
      numbers && PyObject_CheckBuffer(o) && PyObject_HasAttrString(o, "__array_interface__");
  if (core_is_array(o) || foreign || (numbers && core_number_kind(o)))
    return Py_XNewRef(PyList_GetItem(leaves, (*at)++));
  if (PyDict_CheckExact(o)) return dict_with(o, leaves, at, numbers);
  if (PyTuple_Check(o) || PyList_CheckExact(o)) return list_with(o, leaves, at, numbers);
  return Py_NewRef(o);
}
