/* SPDX-License-Identifier: ISC */
/* Memory shared with others: the buffer protocol, and DLPack. */
#include "core.h"

#include <string.h>

#include "runtime/files/dlpack_abi.h"

/* ---- buffers of arrays */

typedef struct lent {
  nx_mapping *mapping;
  Py_ssize_t shape[NX_MAX_RANK], strides[NX_MAX_RANK];
} lent;

static char *format_of(nx_dtype t) {
  switch (t) {
    case NX_BOOL: return "?";
    case NX_I8: return "b";
    case NX_U8: return "B";
    case NX_I16: return "h";
    case NX_U16: return "H";
    case NX_I32: return "i";
    case NX_U32: return "I";
    case NX_I64: return "q";
    case NX_U64: return "Q";
    case NX_F16: return "e";
    case NX_F32: return "f";
    case NX_F64: return "d";
    case NX_C64: return "Zf";
    case NX_C128: return "Zd";
    default: return NULL;
  }
}

/* Whether the elements lie as who asks can take them. */
static bool lies_well(const Py_buffer *v, int flags) {
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES ||
      (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS)
    return PyBuffer_IsContiguous(v, 'C');
  if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS) return PyBuffer_IsContiguous(v, 'F');
  return (flags & PyBUF_ANY_CONTIGUOUS) != PyBUF_ANY_CONTIGUOUS || PyBuffer_IsContiguous(v, 'A');
}

static void describe(Py_buffer *view, lent *l, nx_tensor *x, int flags) {
  nx_dtype t = nx_dtype_of(x);
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(x, &info);
  view->itemsize = (Py_ssize_t)(nx_dtype_bits(t) / 8);
  view->buf = (char *)nx_mapping_base(l->mapping, NULL) + info.offset * view->itemsize;
  view->len = (Py_ssize_t)nx_elements(x) * view->itemsize;
  view->ndim = nx_rank(x);
  view->format = flags & PyBUF_FORMAT ? format_of(t) : NULL;
  for (int i = 0; i < view->ndim; i++) {
    l->shape[i] = (Py_ssize_t)info.shape[i];
    l->strides[i] = (Py_ssize_t)info.strides[i] * view->itemsize;
  }
  view->shape = l->shape;
  view->strides = l->strides;
  view->suboffsets = NULL;
  view->internal = l;
}

int core_getbuffer(PyObject *self, Py_buffer *view, int flags) {
  nx_tensor *x = core_tensor(self);
  bool writes = (flags & PyBUF_WRITABLE) == PyBUF_WRITABLE;
  bool known = format_of(nx_dtype_of(x)) != NULL;
  lent *l = known ? PyMem_Calloc(1, sizeof *l) : NULL;
  view->obj = NULL;
  if (l == NULL) {
    if (known) PyErr_NoMemory();
    else PyErr_SetString(PyExc_BufferError, "nx: buffers have no format for this dtype");
    return -1;
  }
  core_action a;
  nx_tensor *seen = writes ? nx_tensor_retain(x) : core_seen(x);
  uint32_t access = writes ? NX_MAP_READ | NX_MAP_WRITE : NX_MAP_READ;
  core_begin(&a);
  nx_status status = seen ? nx_map(seen, access, &a.options, &l->mapping) : NX_OK;
  if (core_end(&a, status) < 0 || seen == NULL) {
    nx_tensor_release(seen);
    PyMem_Free(l);
    return -1;
  }
  describe(view, l, seen, flags);
  nx_tensor_release(seen);
  view->readonly = !writes;
  if (!lies_well(view, flags)) {
    nx_mapping_release(l->mapping);
    PyMem_Free(l);
    PyErr_SetString(PyExc_BufferError, "nx: the elements of this view are not beside each other");
    return -1;
  }
  if ((flags & PyBUF_ND) != PyBUF_ND) view->shape = NULL;
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES) view->strides = NULL;
  view->obj = Py_NewRef(self);
  return 0;
}

void core_releasebuffer(PyObject *self, Py_buffer *view) {
  (void)self;
  lent *l = view->internal;
  nx_mapping_release(l->mapping);
  PyMem_Free(l);
}

/* ---- arrays of buffers */

static nx_dtype sized(char kind, Py_ssize_t bytes) {
  static const nx_dtype whole[][2] = {
      {NX_I8, NX_U8}, {NX_I16, NX_U16}, {NX_I32, NX_U32}, {NX_I64, NX_U64}};
  for (int i = 0; i < 4; i++)
    if (bytes == 1 << i) return whole[i][kind == 'u'];
  return 0;
}

static nx_dtype of_format(const char *f, Py_ssize_t itemsize) {
  if (f == NULL) return NX_U8;
  if (*f == '@' || *f == '=' || *f == '<') f++; /* this library runs where low bytes come first */
  if (!strcmp(f, "?")) return NX_BOOL;
  if (!strcmp(f, "e")) return NX_F16;
  if (!strcmp(f, "f")) return NX_F32;
  if (!strcmp(f, "d")) return NX_F64;
  if (!strcmp(f, "Zf")) return NX_C64;
  if (!strcmp(f, "Zd")) return NX_C128;
  if (f[0] == 0 || f[1] != 0) return 0;
  if (strchr("bhilqn", *f)) return sized('i', itemsize);
  return strchr("BHILQN", *f) ? sized('u', itemsize) : 0;
}

static int drop(void *user) {
  PyBuffer_Release(user);
  PyMem_Free(user);
  return 0;
}
/* Gives a buffer back, from any thread. */
static void give_back(void *user) { core_locked(drop, user); }

/* The bytes between its lowest and its highest element, and where its first one is in them. */
static bool measure(const Py_buffer *v, int64_t *strides, nx_import_desc *d) {
  int64_t low = 0, high = 0;
  bool empty = v->len == 0;
  for (int i = 0; i < v->ndim; i++) {
    Py_ssize_t stride = v->strides[i];
    if (v->shape[i] <= 1 || empty) stride = 0;
    if (stride % v->itemsize != 0) return false;
    strides[i] = stride / v->itemsize;
    if (stride < 0) low += stride * (v->shape[i] - 1);
    else high += stride * (v->shape[i] - 1);
  }
  d->base = (char *)v->buf + low;
  d->offset = -low / v->itemsize;
  d->bytes = empty ? 0 : (size_t)(high - low + v->itemsize);
  return true;
}

static nx_status import(Py_buffer *v, nx_dtype t, int copy, nx_tensor **out) {
  int64_t shape[NX_MAX_RANK], strides[NX_MAX_RANK];
  nx_import_desc d = {
      .size = sizeof d, .dtype = t, .rank = v->ndim, .shape = shape, .strides = strides};
  for (int i = 0; i < v->ndim && i < NX_MAX_RANK; i++) shape[i] = v->shape[i];
  nx_context *c = core_context();
  if (v->ndim <= NX_MAX_RANK && (copy != 0 || v->len == 0) && PyBuffer_IsContiguous(v, 'C')) {
    *out = nx_from_data(c, 0, t, shape, v->ndim, v->len ? v->buf : shape, (size_t)v->len);
    return *out ? NX_OK : NX_INVALID_ARGUMENT;
  }
  if (v->ndim > NX_MAX_RANK || !measure(v, strides, &d)) {
    PyErr_SetString(PyExc_ValueError,
                    "nx: the strides of the buffer are no multiples of its elements");
    return NX_INVALID_ARGUMENT;
  }
  d.mode = copy != 0 ? NX_IMPORT_COPY : v->readonly ? NX_IMPORT_IMMUTABLE : NX_IMPORT_SHARED;
  if (copy == 0) {
    d.release = give_back;
    d.user = v;
  }
  return nx_import(c, &d, out);
}

PyObject *core_from_buffer(PyObject *o, int copy) {
  Py_buffer *v = PyMem_Calloc(1, sizeof *v);
  if (v == NULL) return PyErr_NoMemory();
  if (PyObject_GetBuffer(o, v, PyBUF_STRIDED | PyBUF_FORMAT) < 0) {
    bool memory = PyErr_ExceptionMatches(PyExc_MemoryError);
    if (!memory) PyErr_Clear();
    if (memory || PyObject_GetBuffer(o, v, PyBUF_STRIDED_RO | PyBUF_FORMAT) < 0) {
      PyMem_Free(v);
      return NULL;
    }
  }
  nx_dtype t = of_format(v->format, v->itemsize);
  nx_tensor *x = NULL;
  nx_status status = NX_UNSUPPORTED_DTYPE;
  if (t == 0)
    PyErr_Format(PyExc_TypeError, "nx: no dtype has the format %s of this buffer", v->format);
  else if (core_context() != NULL) status = import(v, t, copy, &x);
  if (status != NX_OK || copy != 0 || v->len == 0) { /* nothing of it is needed any more */
    PyBuffer_Release(v);
    PyMem_Free(v);
  }
  if (status != NX_OK) return PyErr_Occurred() ? NULL : core_fail();
  return core_wrap(x);
}

/* ---- DLPack */

static const char versioned[] = "dltensor_versioned", plain[] = "dltensor";
static const char used_versioned[] = "used_dltensor_versioned", used_plain[] = "used_dltensor";

static void drop_capsule(PyObject *capsule) {
  if (PyCapsule_IsValid(capsule, versioned)) {
    struct DLManagedTensorVersioned *m = PyCapsule_GetPointer(capsule, versioned);
    if (m->deleter != NULL) m->deleter(m);
  } else if (PyCapsule_IsValid(capsule, plain)) {
    struct DLManagedTensor *m = PyCapsule_GetPointer(capsule, plain);
    if (m->deleter != NULL) m->deleter(m);
  }
}

static PyObject *capsule_of(nx_tensor *x, bool old) {
  struct DLManagedTensorVersioned *m = NULL;
  struct DLManagedTensor *m0 = NULL;
  core_action a;
  core_begin(&a);
  nx_status status = nx_realize(nx_context_of(x), &x, 1, &a.options);
  if (status == NX_OK)
    status = old ? nx_to_dlpack_v0(x, NX_DLPACK_NO_STREAM, &m0)
                 : nx_to_dlpack(x, NX_MAP_READ | NX_MAP_WRITE, NX_DLPACK_NO_STREAM, &m);
  if (status == NX_NOT_WRITABLE && !old) {
    nx_error_take(NULL);
    status = nx_to_dlpack(x, NX_MAP_READ, NX_DLPACK_NO_STREAM, &m);
  }
  if (core_end(&a, status) < 0) return NULL;
  PyObject *made =
      old ? PyCapsule_New(m0, plain, drop_capsule) : PyCapsule_New(m, versioned, drop_capsule);
  if (made == NULL && m0 != NULL) m0->deleter(m0);
  if (made == NULL && m != NULL) m->deleter(m);
  return made;
}

PyObject *core_to_dlpack(PyObject *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
  PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO", names, &stream, &version, &device,
                                   &copy))
    return NULL;
  if (device != Py_None) {
    int type = 0, number = 0;
    if (!PyArg_ParseTuple(device, "ii", &type, &number)) return NULL;
    if (type != 1 || number != 0)
      return PyErr_Format(PyExc_BufferError,
                          "nx: the array goes to memory of the host alone, not to (%d, %d)", type,
                          number);
  }
  long major = version != Py_None ? PyLong_AsLong(PyTuple_GetItem(version, 0)) : 0;
  if (PyErr_Occurred()) return NULL;
  if (core_settle_elements() < 0) return NULL; /* others may write */
  if (copy != Py_True) return capsule_of(core_tensor(self), major < 1);
  PyObject *other = core_wrap(nx_copy(core_tensor(self)));
  PyObject *made = other ? capsule_of(core_tensor(other), major < 1) : NULL;
  Py_XDECREF(other);
  return made;
}

PyObject *core_dlpack_device(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  return Py_BuildValue("(ii)", 1, 0);
}

/* What the object exports: of version 1 if it knows that. */
static PyObject *exported(PyObject *o, int copy) {
  PyObject *method = PyObject_GetAttrString(o, "__dlpack__"), *none = PyTuple_New(0);
  PyObject *words = Py_BuildValue("{s:(ii)}", "max_version", 1, 0), *made = NULL;
  if (words != NULL && copy == 0) PyDict_SetItemString(words, "copy", Py_False);
  if (method != NULL && words != NULL && none != NULL) made = PyObject_Call(method, none, words);
  if (made == NULL && method != NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    made = PyObject_CallNoArgs(method);
  }
  Py_XDECREF(method);
  Py_XDECREF(none);
  Py_XDECREF(words);
  return made;
}

static nx_status take_capsule(PyObject *capsule, int copy, nx_tensor **out) {
  nx_context *c = core_context();
  if (PyCapsule_IsValid(capsule, versioned)) {
    struct DLManagedTensorVersioned *m = PyCapsule_GetPointer(capsule, versioned);
    bool fixed = m->major == 1 && (m->flags & NXI_DLPACK_READ_ONLY);
    uint32_t mode = copy > 0 ? NX_IMPORT_COPY : fixed ? NX_IMPORT_IMMUTABLE : NX_IMPORT_SHARED;
    nx_status status = nx_from_dlpack(c, m, mode, out);
    if (status == NX_OK) PyCapsule_SetName(capsule, used_versioned);
    return status;
  }
  struct DLManagedTensor *m = PyCapsule_GetPointer(capsule, plain);
  if (m == NULL) return NX_INVALID_ARGUMENT;
  nx_status status = nx_from_dlpack_v0(c, m, copy > 0 ? NX_IMPORT_COPY : NX_IMPORT_SHARED, out);
  if (status == NX_OK) PyCapsule_SetName(capsule, used_plain);
  return status;
}

PyObject *core_from_dlpack(PyObject *o, nx_device device, int copy) {
  if (core_context() == NULL) return NULL;
  PyObject *capsule = PyCapsule_CheckExact(o) ? Py_NewRef(o) : exported(o, copy);
  if (capsule == NULL) return NULL;
  nx_tensor *x = NULL;
  core_mark();
  nx_status status = take_capsule(capsule, copy, &x);
  Py_DECREF(capsule);
  if (status != NX_OK) return PyErr_Occurred() ? NULL : core_fail();
  if (device == nx_device_of(x)) return core_wrap(x);
  nx_tensor *far = nx_to_device(x, device);
  nx_tensor_release(x);
  return core_wrap(far);
}
