/* SPDX-License-Identifier: ISC */
#include "tree.h"

#include <string.h>

/* The memory of a tree that was freed, for the next one, unless that is much. */
enum { MOST_SPARE = 1 << 12 };
static core_tree spare;

static void begin(core_tree *t) {
  t->key = spare.key;
  t->room_key = spare.room_key;
  t->leaves = spare.leaves;
  t->tensors = spare.tensors;
  t->values = spare.values;
  t->kinds = spare.kinds;
  t->room = spare.room;
  spare = (core_tree){0};
}

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
  if (t->room_key == 0 && t->room == 0) begin(t);
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
  size_t room[] = {t->room, t->room, t->room};
  if (grow((void **)&t->leaves, &room[0], t->n + 1, sizeof *t->leaves) < 0 ||
      grow((void **)&t->values, &room[1], t->n + 1, sizeof *t->values) < 0 ||
      grow((void **)&t->kinds, &room[2], t->n + 1, sizeof *t->kinds) < 0 ||
      grow((void **)&t->tensors, &t->room, t->n + 1, sizeof *t->tensors) < 0) {
    Py_XDECREF(array);
    if (array == NULL) nx_tensor_release(tensor);
    return -1;
  }
  t->leaves[t->n] = array;
  t->kinds[t->n] = 0;
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
  const uint8_t truth = as == NX_BOOL && s.v.i != 0;
  const size_t bytes = (nx_dtype_bits(as) + 7) / 8;
  /* in memory, where a constant would have to be computed first */
  nx_tensor *x = nx_from_data(c, 0, as, NULL, 0, as == NX_BOOL ? (void *)&truth : &s.v, bytes);
  if (x == NULL) return core_fail(), -1;
  if (add_leaf(t, NULL, x) < 0) return -1;
  t->values[t->n - 1] = s;
  t->kinds[t->n - 1] = kind;
  return 0;
}

int core_tree_add_hidden(core_tree *t) {
  nx_scalar s = {NX_SCALAR_I64, {.i = 0}};
  nx_tensor *x = nx_full(core_context(), 0, NX_BOOL, NULL, 0, &s);
  if (x == NULL) return core_fail(), -1;
  return add_leaf(t, NULL, x);
}

static int fix_items(core_tree *t, PyObject *o) {
  int64_t n = PyTuple_Size(o);
  if (put(t, &n, sizeof n) < 0) return -1;
  if (Py_EnterRecursiveCall(" in the arguments of a captured function")) return -1;
  int status = 0;
  for (Py_ssize_t i = 0; i < n && status == 0; i++)
    status = core_tree_fix(t, PyTuple_GetItem(o, i));
  Py_LeaveRecursiveCall();
  return status;
}

/* Objects are the same if they are equal and of one type; but 0.0 and -0.0 are equal, NaN is not
 * even equal to itself, and (1,) equals (True,): floats are told apart by their bits, and tuples by
 * their items. */
int core_tree_fix(core_tree *t, PyObject *o) {
  uintptr_t type = (uintptr_t)Py_TYPE(o); /* the object keeps it */
  if (t->fixed == NULL) t->fixed = PyList_New(0);
  if (t->fixed == NULL || put(t, "S", 1) < 0 || put(t, &type, sizeof type) < 0) return -1;
  if (PyTuple_CheckExact(o)) return fix_items(t, o);
  if (!PyFloat_CheckExact(o) && !PyComplex_CheckExact(o)) return PyList_Append(t->fixed, o);
  double v[2] = {PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)};
  return put(t, v, sizeof v);
}

/* A function's tuple of cells, a list in one, a function in that, .. */
typedef struct search {
  int depth, left; /* at most so many levels, and objects: they may hold each other */
} search;

static bool holds_arrays(PyObject *o, search *s);

/* Of a copy: what is asked for may be code of Python, which changes o. */
static bool items_hold_arrays(PyObject *o, search *s) {
  if (!PyTuple_Check(o) && !PyList_Check(o) && !PyDict_Check(o)) return false;
  PyObject *values = PyDict_Check(o) ? PyDict_Values(o) : Py_NewRef(o);
  PyObject *all = values ? PySequence_Tuple(values) : NULL;
  bool found = false;
  for (Py_ssize_t i = 0; all != NULL && i < PyTuple_Size(all) && !found; i++)
    found = holds_arrays(PyTuple_GetItem(all, i), s);
  Py_XDECREF(all);
  Py_XDECREF(values);
  PyErr_Clear();
  return found;
}

/* Also what a function has of its surroundings, a method its object, a partial its arguments. */
static bool holds_arrays(PyObject *o, search *s) {
  static const char *const parts[] = {
      "__dict__", "cell_contents", "__closure__", "__defaults__", "__kwdefaults__", "__self__",
      "__func__", "func",          "args",        "keywords",     "__wrapped__"};
  if (core_is_array(o)) return true;
  if (s->depth == 0 || --s->left < 0 || PyModule_Check(o) || PyType_Check(o)) return false;
  size_t n = PyCallable_Check(o) ? sizeof parts / sizeof *parts : 2;
  s->depth--;
  bool found = items_hold_arrays(o, s);
  for (size_t i = 0; i < n && !found; i++) {
    PyObject *part = PyObject_GetAttrString(o, parts[i]);
    PyErr_Clear();
    found = part != NULL && holds_arrays(part, s);
    Py_XDECREF(part);
  }
  s->depth++;
  return found;
}

/* A result that is no array is given by each call, the object of the capture: what changes, or
 * holds arrays of the capture, would be wrong then. */
static int add_other(core_tree *t, PyObject *o) {
  if (!t->results) return core_tree_fix(t, o);
  search s = {8, 10000};
  bool changes = PyObject_Hash(o) == -1 || PyIter_Check(o) || holds_arrays(o, &s) ||
                 PyObject_HasAttrString(o, "__await__");
  PyErr_Clear();
  if (!changes) return core_tree_fix(t, o);
  PyErr_Format(PyExc_TypeError,
               "nx: a captured function gives arrays, numbers, strings, None, and tuples, lists, "
               "dicts and dataclasses of them, not %R",
               o);
  return -1;
}

/* ---- what an object is */

/* That of a number that is an input. Numbers of other types, enumerations among them, are objects
 * like any other: a function may ask what they are. So are integers that no input holds. */
static char number_kind(PyObject *o) {
  int beyond = 0;
  if (PyLong_CheckExact(o)) {
    (void)PyLong_AsLongLongAndOverflow(o, &beyond);
    return beyond == 0 ? 'i' : 0;
  }
  bool plain = PyBool_Check(o) || PyFloat_CheckExact(o) || PyComplex_CheckExact(o);
  return plain ? core_number_kind(o) : 0;
}

/* 1, 0, or -1 without memory: PyObject_HasAttrString would say no. */
static int has(PyObject *o, const char *name) {
  PyObject *found = PyObject_GetAttrString(o, name);
  Py_XDECREF(found);
  if (found == NULL && PyErr_ExceptionMatches(PyExc_MemoryError)) return -1;
  PyErr_Clear();
  return found != NULL;
}

static int is_foreign(PyObject *o) {
  return PyObject_CheckBuffer(o) ? has(o, "__array_interface__") : 0;
}

static int is_dataclass(PyObject *o) {
  return PyType_Check(o) || PyUnicode_Check(o)
             ? 0
             : has((PyObject *)Py_TYPE(o), "__dataclass_fields__");
}

/* A tuple of fields, whose `name` is one. */
static PyObject *fields_of(PyObject *o) {
  PyObject *module = PyImport_ImportModule("dataclasses");
  PyObject *fields = module ? PyObject_CallMethod(module, "fields", "O", o) : NULL;
  Py_XDECREF(module);
  return fields;
}

static PyObject *name_of_field(PyObject *fields, Py_ssize_t i) {
  return PyObject_GetAttrString(PyTuple_GetItem(fields, i), "name");
}

/* ---- adding */

static int add_dict(core_tree *t, PyObject *o, bool numbers) {
  PyObject *key, *value;
  Py_ssize_t at = 0;
  bool plain = PyDict_CheckExact(o);
  if (put_count(t, plain ? 'D' : 'E', PyDict_Size(o)) < 0) return -1;
  if (!plain && core_tree_fix(t, (PyObject *)Py_TYPE(o)) < 0) return -1;
  if (Py_EnterRecursiveCall(" in the arguments of a captured function")) return -1;
  int status = 0;
  while (status == 0 && PyDict_Next(o, &at, &key, &value)) {
    Py_INCREF(value);
    status = core_tree_fix(t, key) < 0 ? -1 : core_tree_add(t, value, numbers);
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

static int add_dataclass(core_tree *t, PyObject *o, bool numbers) {
  PyObject *fields = fields_of(o);
  Py_ssize_t n = fields ? PyTuple_Size(fields) : 0;
  int status = fields && put_count(t, 'C', n) == 0 ? core_tree_fix(t, (PyObject *)Py_TYPE(o)) : -1;
  if (status == 0 && Py_EnterRecursiveCall(" in the arguments of a captured function")) status = -1;
  else if (status == 0) {
    for (Py_ssize_t i = 0; i < n && status == 0; i++) {
      PyObject *name = name_of_field(fields, i), *value = name ? PyObject_GetAttr(o, name) : NULL;
      status = value ? core_tree_add(t, value, numbers) : -1;
      Py_XDECREF(value);
      Py_XDECREF(name);
    }
    Py_LeaveRecursiveCall();
  }
  Py_XDECREF(fields);
  return status;
}

static int add_sequence(core_tree *t, PyObject *o, bool numbers) {
  bool plain = PyTuple_CheckExact(o) || PyList_Check(o);
  Py_ssize_t n = PySequence_Size(o);
  if (put_count(t, PyList_Check(o) ? 'L' : plain ? 'T' : 'P', n) < 0) return -1;
  if (!plain && core_tree_fix(t, (PyObject *)Py_TYPE(o)) < 0) return -1;
  return add_items(t, o, n, numbers);
}

int core_tree_add(core_tree *t, PyObject *o, bool numbers) {
  char kind = numbers ? number_kind(o) : 0;
  if (core_is_array(o)) return add_array(t, o);
  if (kind != 0) return add_number(t, o, kind);
  if (PyDict_Check(o)) return add_dict(t, o, numbers);
  if (PyTuple_Check(o) || PyList_CheckExact(o)) return add_sequence(t, o, numbers);
  if (o == Py_None) return put(t, "N", 1);
  int fields = is_dataclass(o), foreign = fields == 0 && numbers ? is_foreign(o) : 0;
  if (fields < 0 || foreign < 0) return -1;
  if (fields) return add_dataclass(t, o, numbers);
  if (!foreign) return add_other(t, o);
  PyObject *a = core_array_of(o, 0, 0, -1);
  int status = a ? add_array(t, a) : -1;
  Py_XDECREF(a);
  return status;
}

void core_tree_free(core_tree *t) {
  for (size_t i = 0; i < t->n; i++) {
    if (t->leaves[i] == NULL) nx_tensor_release(t->tensors[i]);
    Py_XDECREF(t->leaves[i]);
  }
  Py_XDECREF(t->fixed);
  if (spare.room_key == 0 && t->room <= MOST_SPARE && t->room_key <= MOST_SPARE) {
    spare = *t;
    return;
  }
  PyMem_Free(t->key);
  PyMem_Free(t->leaves);
  PyMem_Free(t->tensors);
  PyMem_Free(t->values);
  PyMem_Free(t->kinds);
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

/* A dict of another type is copied as that does it, and filled anew. */
static PyObject *dict_with(PyObject *o, PyObject *leaves, Py_ssize_t *at, bool numbers) {
  PyObject *made = PyDict_CheckExact(o) ? PyDict_New() : PyObject_CallMethod(o, "copy", NULL);
  PyObject *key, *value;
  Py_ssize_t i = 0;
  if (made != NULL && Py_TYPE(made) != Py_TYPE(o)) {
    PyErr_Format(PyExc_TypeError, "nx: the copy of a dict of the type %R is none",
                 (PyObject *)Py_TYPE(o));
    Py_CLEAR(made);
  }
  while (made != NULL && PyDict_Next(o, &i, &key, &value)) {
    PyObject *item = core_tree_with(value, leaves, at, numbers);
    if (item == NULL || PyObject_SetItem(made, key, item) < 0) Py_CLEAR(made);
    Py_XDECREF(item);
  }
  return made;
}

static PyObject *dataclass_with(PyObject *o, PyObject *leaves, Py_ssize_t *at, bool numbers) {
  PyObject *module = PyImport_ImportModule("copy"), *fields = module ? fields_of(o) : NULL;
  PyObject *made = fields ? PyObject_CallMethod(module, "copy", "O", o) : NULL;
  for (Py_ssize_t i = 0; made != NULL && i < PyTuple_Size(fields); i++) {
    PyObject *name = name_of_field(fields, i), *old = name ? PyObject_GetAttr(o, name) : NULL;
    PyObject *item = old ? core_tree_with(old, leaves, at, numbers) : NULL;
    if (item == NULL || PyObject_GenericSetAttr(made, name, item) < 0) Py_CLEAR(made);
    Py_XDECREF(item);
    Py_XDECREF(old);
    Py_XDECREF(name);
  }
  Py_XDECREF(fields);
  Py_XDECREF(module);
  return made;
}

PyObject *core_tree_with(PyObject *o, PyObject *leaves, Py_ssize_t *at, bool numbers) {
  if (core_is_array(o) || (numbers && number_kind(o)))
    return Py_XNewRef(PyList_GetItem(leaves, (*at)++));
  if (PyDict_Check(o)) return dict_with(o, leaves, at, numbers);
  if (PyTuple_Check(o) || PyList_CheckExact(o)) return list_with(o, leaves, at, numbers);
  if (o == Py_None) return Py_NewRef(o);
  int fields = is_dataclass(o), foreign = fields == 0 && numbers ? is_foreign(o) : 0;
  if (fields < 0 || foreign < 0) return NULL;
  if (fields) return dataclass_with(o, leaves, at, numbers);
  return foreign ? Py_XNewRef(PyList_GetItem(leaves, (*at)++)) : Py_NewRef(o);
}
