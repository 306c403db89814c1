/* SPDX-License-Identifier: ISC */
/* Memory of another library that is lent for a call, one array, or all tensors of PyTorch that a
 * call takes, and its results as such tensors. Many at once go by the functions that a class of
 * tensors has in a table (`__dlpack_c_exchange_api__`, DLPack 1.3), without an object of Python for
 * each of their properties. */
#include <string.h>

#include "core.h"
#include "runtime/files/dlpack_abi.h"

/* ---- an array over memory */

static int drop(void *owner) {
  Py_DECREF((PyObject *)owner);
  return 0;
}
/* From any thread: the owner of the memory is not needed any more. */
static void give_back(void *owner) { core_locked(drop, owner); }

/* The bytes from an address to behind the last element. */
static size_t reach(const int64_t *shape, const int64_t *strides, int32_t n, size_t itemsize) {
  int64_t last = 0;
  for (int32_t i = 0; i < n; i++) {
    if (shape[i] == 0) return 0;
    last += (shape[i] - 1) * strides[i];
  }
  return (size_t)(last + 1) * itemsize;
}

/* strides, in elements, are not negative. owner keeps the memory. */
static PyObject *lend(void *base, nx_dtype t, int32_t rank, const int64_t *shape,
                      const int64_t *strides, PyObject *owner) {
  const size_t bytes = reach(shape, strides, rank, nx_dtype_bits(t) / 8);
  nx_import_desc d = {.size = sizeof d,
                      .mode = NX_IMPORT_IMMUTABLE,
                      .dtype = t,
                      .rank = rank,
                      .shape = shape,
                      .strides = strides,
                      .base = base,
                      .bytes = bytes,
                      .release = give_back,
                      .user = owner};
  nx_tensor *x = NULL;
  core_mark();
  if (bytes == 0) return core_wrap(nx_empty(core_context(), 0, t, shape, rank));
  Py_INCREF(owner);
  if (nx_import(core_context(), &d, &x) != NX_OK) {
    Py_DECREF(owner);
    x = NULL;
  }
  return core_wrap(x);
}

static int take_numbers(PyObject *from, Py_ssize_t n, int64_t *out) {
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *o = PySequence_GetItem(from, i);
    if (o == NULL) return -1;
    out[i] = PyLong_AsLongLong(o);
    Py_DECREF(o);
    if (out[i] == -1 && PyErr_Occurred()) return -1;
  }
  return 0;
}

/* lent(address, dtype, shape, strides, owner): an array over memory that nobody writes while the
 * array, or what was recorded of it, lives. */
static PyObject *lent(PyObject *self, PyObject *args) {
  (void)self;
  unsigned long long address;
  PyObject *type, *extents, *steps, *owner;
  if (!PyArg_ParseTuple(args, "KOOOO", &address, &type, &extents, &steps, &owner)) return NULL;
  const nx_dtype t = core_dtype_of(type);
  const Py_ssize_t n = PySequence_Size(extents);
  int64_t shape[NX_MAX_RANK], strides[NX_MAX_RANK];
  if (t == 0 || n < 0 || core_context() == NULL) return NULL;
  if (n > NX_MAX_RANK)
    return PyErr_Format(PyExc_ValueError, "nx: %zd axes, an array has %d at most", n, NX_MAX_RANK);
  if (take_numbers(extents, n, shape) < 0 || take_numbers(steps, n, strides) < 0) return NULL;
  return lend((void *)(uintptr_t)address, t, (int32_t)n, shape, strides, // NOLINT
              owner);
}

/* ---- many tensors */

/* DLPack's table of a class of tensors. */
typedef struct table {
  uint32_t major, minor;
  struct table *older;
  int (*make)(nxi_dlpack_tensor *like, struct DLManagedTensorVersioned **made, void *user,
              void (*fail)(void *user, const char *kind, const char *message));
  int (*give)(void *tensor, struct DLManagedTensorVersioned **made);
  int (*take)(struct DLManagedTensorVersioned *given, void **tensor);
  int (*look)(void *tensor, nxi_dlpack_tensor *seen); /* may be NULL */
  int (*stream)(int32_t device, int32_t number, void **stream);
} table;

/* Of a class; NULL without an error: it has none that this knows. */
static const table *table_of(PyObject *class) {
  static const char name[] = "dlpack_exchange_api";
  PyObject *capsule = PyObject_GetAttrString(class, "__dlpack_c_exchange_api__");
  const table *t = NULL;
  if (capsule != NULL && PyCapsule_IsValid(capsule, name)) t = PyCapsule_GetPointer(capsule, name);
  Py_XDECREF(capsule); /* the table stays as long as the process */
  PyErr_Clear();
  while (t != NULL && t->major > NXI_DLPACK_MAJOR) t = t->older;
  return t != NULL && t->major == NXI_DLPACK_MAJOR && t->look != NULL ? t : NULL;
}

/* Whether a tensor says so of itself by a method. -1 with an error. */
static int says(PyObject *tensor, const char *method) {
  PyObject *answer = PyObject_CallMethod(tensor, method, NULL);
  const int is = answer != NULL ? PyObject_IsTrue(answer) : -1;
  Py_XDECREF(answer);
  return is;
}

/* Whether its memory holds something else than its elements: their conjugates, or the negative
 * ones. -1 with an error. */
static int is_put_off(PyObject *tensor, nx_dtype t) {
  if (t == NX_BOOL) return 0;
  const int negative = says(tensor, "is_neg");
  return negative != 0 || core_kind(t) != 'c' ? negative : says(tensor, "is_conj");
}

/* The array of a tensor; None: the caller has to look at it more closely. */
static PyObject *lend_tensor(const table *t, PyObject *tensor) {
  nxi_dlpack_tensor d = {.data = NULL};
  if (t->look(tensor, &d) != 0) {
    PyErr_Clear();
    return Py_NewRef(Py_None);
  }
  const nx_dtype type = nxi_dtype_of_dlpack(d.dtype);
  bool good = type != 0 && nx_dtype_bits(type) >= 8 && nxi_dlpack_is_host(d.device.type) &&
              d.rank <= NX_MAX_RANK && (d.rank == 0 || (d.shape != NULL && d.strides != NULL));
  for (int32_t i = 0; good && i < d.rank; i++) good = d.strides[i] >= 0 && d.shape[i] >= 0;
  char *base = (char *)d.data + d.byte_offset;
  bool none = false;
  for (int32_t i = 0; good && i < d.rank; i++) none = none || d.shape[i] == 0;
  good = good && (none || d.data != NULL); /* one of zeros alone may have no memory */
  const size_t alignment = good ? nx_dtype_bits(type) / 8 : 1;
  const int put_off = good ? is_put_off(tensor, type) : 0;
  if (put_off < 0) return NULL;
  if (!good || put_off || (uintptr_t)base % alignment != 0) return Py_NewRef(Py_None);
  return lend(base, type, d.rank, d.shape, d.strides, tensor);
}

static PyObject *pair(PyObject *list, Py_ssize_t missing) {
  return list != NULL ? Py_BuildValue("(Nn)", list, missing) : NULL;
}

static bool is_among(PyObject *classes, PyTypeObject *type) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(classes); i++)
    if (PyTuple_GetItem(classes, i) == (PyObject *)type) return true;
  return false;
}

/* lend_all(classes, tensors): arrays over the memory of tensors, as `lent`, and how many are None
 * instead: those of other classes, and that are not plain memory of the host. The first class has
 * the table. */
static PyObject *lend_all(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *classes, *tensors;
  Py_ssize_t missing = 0;
  if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &classes, &PyList_Type, &tensors)) return NULL;
  PyObject *first = PyTuple_GetItem(classes, 0);
  if (first == NULL || core_context() == NULL) return NULL;
  const table *t = table_of(first);
  const Py_ssize_t n = PyList_Size(tensors);
  PyObject *made = PyList_New(n);
  for (Py_ssize_t i = 0; made != NULL && i < n; i++) {
    PyObject *tensor = PyList_GetItem(tensors, i);
    const bool plain = t != NULL && tensor != NULL && is_among(classes, Py_TYPE(tensor));
    PyObject *x = plain ? lend_tensor(t, tensor) : Py_NewRef(Py_None);
    missing += x == Py_None;
    if (x == NULL || PyList_SetItem(made, i, x) < 0) Py_CLEAR(made);
  }
  return pair(made, missing);
}

/* ---- results */

/* A tensor with the memory of an array, if its elements lie there as the layout says: strides of 8
 * bytes each. None: the caller has to look at it more closely. */
static PyObject *give_tensor(const table *t, nx_tensor *x, PyObject *layout) {
  struct DLManagedTensorVersioned *m = NULL;
  void *made = NULL;
  char *strides;
  Py_ssize_t bytes;
  if (PyBytes_AsStringAndSize(layout, &strides, &bytes) < 0) return NULL;
  if (nx_to_dlpack(x, NX_MAP_READ | NX_MAP_WRITE, NX_DLPACK_NO_STREAM, &m) != NX_OK) {
    nx_error_take(NULL);
    return Py_NewRef(Py_None);
  }
  const bool same = bytes == m->tensor.rank * 8 &&
                    (bytes == 0 || memcmp(m->tensor.strides, strides, (size_t)bytes) == 0);
  if (same) return t->take(m, &made) == 0 ? made : NULL;
  m->deleter(m);
  return Py_NewRef(Py_None);
}

static int compute(PyObject *const *arrays, Py_ssize_t n) {
  nx_tensor **all = PyMem_Calloc((size_t)n + 1, sizeof *all);
  if (all == NULL) return PyErr_NoMemory(), -1;
  for (Py_ssize_t i = 0; i < n; i++) all[i] = core_tensor(arrays[i]);
  core_action a;
  core_begin(&a);
  const nx_status status =
      n > 0 ? nx_realize(nx_context_of(all[0]), all, (size_t)n, &a.options) : NX_OK;
  PyMem_Free(all);
  return core_end(&a, status);
}

/* give_all(class, arrays, layouts): tensors of that class with the memory of the arrays, and how
 * many are None instead. layouts: the strides that each is to have, as bytes. */
static PyObject *give_all(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *class, *arrays, *layouts, *made = NULL, **all = NULL;
  Py_ssize_t missing = 0;
  if (!PyArg_ParseTuple(args, "OO!O!", &class, &PyTuple_Type, &arrays, &PyList_Type, &layouts))
    return NULL;
  const table *t = table_of(class);
  const Py_ssize_t n = PyTuple_Size(arrays);
  if (PyList_Size(layouts) != n)
    return PyErr_Format(PyExc_ValueError, "nx: %zd arrays, another number of layouts", n);
  bool good = (all = PyMem_Calloc((size_t)n + 1, sizeof *all)) != NULL;
  if (!good) PyErr_NoMemory();
  for (Py_ssize_t i = 0; good && i < n; i++) {
    all[i] = PyTuple_GetItem(arrays, i);
    good = core_is_array(all[i]);
    if (!good) PyErr_SetString(PyExc_TypeError, "nx: not an Array");
  }
  good = good && core_settle_elements() == 0 && (t == NULL || compute(all, n) == 0);
  if (good) made = PyList_New(n);
  for (Py_ssize_t i = 0; made != NULL && i < n; i++) {
    PyObject *x = t != NULL ? give_tensor(t, core_tensor(all[i]), PyList_GetItem(layouts, i))
                            : Py_NewRef(Py_None);
    missing += x == Py_None;
    if (x == NULL || PyList_SetItem(made, i, x) < 0) Py_CLEAR(made);
  }
  PyMem_Free(all);
  return pair(made, missing);
}

static PyMethodDef functions[] = {
    {"lent", lent, METH_VARARGS, "An array over memory that nobody writes while it lives."},
    {"lend_all", lend_all, METH_VARARGS, "Arrays over the memory of tensors."},
    {"give_all", give_all, METH_VARARGS, "Tensors with the memory of arrays."},
    {NULL, NULL, 0, NULL}};

int core_lending_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
