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

bool core_has_format(nx_dtype t) { return format_of(t) != NULL; }

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

/* ---- NumPy forgets what a buffer failed with, and asks the array itself (`__array__`): what a
 * handler of a signal has raised while the array was computed is kept for that. */

static PyObject *kept;          /* the exception, or NULL */
static const PyObject *refused; /* the array, which may not exist any more */

static void keep(const PyObject *array) {
  PyObject *type, *value, *where;
  PyErr_Fetch(&type, &value, &where);
  PyErr_NormalizeException(&type, &value, &where);
  Py_XDECREF(kept); /* another thread's */
  kept = Py_XNewRef(value);
  refused = array;
  PyErr_Restore(type, value, where);
}

int core_raise_kept(const PyObject *array) {
  PyObject *exception = kept;
  kept = NULL;
  if (exception != NULL && array == refused)
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
  Py_XDECREF(exception);
  return PyErr_Occurred() != NULL ? -1 : 0;
}

static nx_status map(nx_tensor *x, bool writes, nx_mapping **mapping, bool *failed) {
  const uint32_t access = writes ? NX_MAP_READ | NX_MAP_WRITE : NX_MAP_READ;
  *failed = false;
  if (!writes && core_at_once(nx_map(x, access, &core_briefly, mapping))) return NX_OK;
  core_action a;
  core_begin(&a);
  const nx_status status = nx_map(x, access, &a.options, mapping);
  *failed = core_end(&a, status) < 0;
  return status;
}

int core_getbuffer(PyObject *self, Py_buffer *view, int flags) {
  nx_tensor *x = core_tensor(self);
  bool writes = (flags & PyBUF_WRITABLE) == PyBUF_WRITABLE;
  bool known = format_of(nx_dtype_of(x)) != NULL;
  lent *l = known ? PyMem_Calloc(1, sizeof *l) : NULL;
  view->obj = NULL;
  Py_CLEAR(kept);
  if (l == NULL) {
    if (known) PyErr_NoMemory();
    else PyErr_SetString(PyExc_BufferError, "nx: buffers have no format for this dtype");
    return -1;
  }
  nx_tensor *seen = writes ? nx_tensor_retain(x) : core_seen(x);
  bool failed = seen == NULL;
  const nx_status status = seen ? map(seen, writes, &l->mapping, &failed) : NX_OK;
  if (failed) {
    if (status == NX_INTERRUPTED) keep(self);
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

/* Where an array lies: a number of its storage, the first element in it, the address of the
 * storage, 0 of one that has no memory yet, and whether others may know that: of an array over
 * memory of somebody else, or which somebody may write. */
PyObject *core_place(PyObject *self, PyObject *array) {
  (void)self;
  if (!core_is_array(array)) return PyErr_Format(PyExc_TypeError, "nx: not an Array");
  nx_tensor *x = core_tensor(array);
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(x, &info);
  nx_mapping *mapping = NULL;
  if (info.flags & NX_TENSOR_REALIZED && !nx_capturing(nx_context_of(x))) {
    core_action a;
    if (core_settle_element((core_array *)array) < 0) return NULL;
    core_begin(&a);
    if (core_end(&a, nx_map(core_tensor(array), NX_MAP_READ, &a.options, &mapping)) < 0)
      return NULL;
  }
  PyObject *base = PyLong_FromVoidPtr(nx_mapping_base(mapping, NULL));
  nx_mapping_release(mapping);
  bool lent = info.flags & (NX_TENSOR_EXPOSED | NX_TENSOR_READ_ONLY);
  return base ? Py_BuildValue("KLNN", (unsigned long long)info.storage_id, (long long)info.offset,
                              base, PyBool_FromLong(lent))
              : NULL;
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
  Py_ssize_t next = v->itemsize; /* without strides the elements lie in C order */
  for (int i = v->ndim - 1; i >= 0; i--) {
    Py_ssize_t stride = v->strides != NULL ? v->strides[i] : next;
    next *= v->shape[i];
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
  if (v->ndim > NX_MAX_RANK) {
    PyErr_Format(PyExc_ValueError, "nx: the buffer has %d axes, an array %d at most", v->ndim,
                 NX_MAX_RANK);
    return NX_INVALID_ARGUMENT;
  }
  if (!measure(v, strides, &d)) {
    PyErr_SetString(
        PyExc_ValueError,
        "nx: the strides of the buffer are no multiples of its elements: it needs a copy");
    return NX_INVALID_ARGUMENT;
  }
  d.mode = copy != 0 ? NX_IMPORT_COPY : v->readonly ? NX_IMPORT_IMMUTABLE : NX_IMPORT_SHARED;
  if (copy == 0) {
    d.release = give_back;
    d.user = v;
  }
  return nx_import(c, &d, out);
}

static bool gives_writable(PyObject *o) {
  Py_buffer v;
  const bool gives = PyObject_CheckBuffer(o) && PyObject_GetBuffer(o, &v, PyBUF_FULL) == 0;
  PyErr_Clear();
  if (gives) PyBuffer_Release(&v);
  return gives;
}

/* What a view is one of: `base` of NumPy's, `obj` of memoryview. */
static PyObject *viewed_by(PyObject *o) {
  PyObject *of = PyObject_GetAttrString(o, PyMemoryView_Check(o) ? "obj" : "base");
  PyErr_Clear();
  return of;
}

/* Whether memory that may not be written by way of an object may be by way of what that is a view
 * of: what was recorded with it would be computed with what is there by then. An array of ours is
 * given other memory when it is assigned to. */
static bool is_written_elsewhere(PyObject *o) {
  bool found = false;
  PyObject *at = Py_NewRef(o);
  for (int depth = 0; at != NULL && depth < 32; depth++) {
    found = !core_is_array(at) && gives_writable(at);
    if (found) break;
    PyObject *next = viewed_by(at);
    Py_DECREF(at);
    at = next;
  }
  Py_XDECREF(at);
  return found;
}

static PyObject *refuse_to_share(void) {
  return PyErr_Format(PyExc_ValueError,
                      "nx: a view that cannot be written, of memory that can: it needs a copy");
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
  if (copy == 0 && v->readonly && v->len > 0 && is_written_elsewhere(o)) {
    PyBuffer_Release(v);
    PyMem_Free(v);
    return refuse_to_share();
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

/* A place as DLPack names it: a type of devices, of which 1 is memory of the host, and a number. */
enum { HOST = 1, GPU = 2 };
typedef struct place {
  int type, number;
} place;

static int place_of(const nx_tensor *x, place *out) {
  nx_device_info d = {.size = sizeof d};
  if (nx_device_describe(nx_context_of(x), nx_device_of(x), &d) != NX_OK) return core_fail(), -1;
  *out = d.dlpack_type == GPU ? (place){GPU, d.ordinal} : (place){HOST, 0};
  return 0;
}

/* The device with memory of its own at that place; -1 with an error. */
static nx_device device_at(nx_context *c, place p) {
  for (nx_device i = 0; i < nx_device_count(c); i++) {
    nx_device_info d = {.size = sizeof d};
    if (nx_device_describe(c, i, &d) != NX_OK) return core_fail(), -1;
    if (d.dlpack_type == p.type && d.ordinal == p.number) return i;
  }
  PyErr_Format(PyExc_BufferError, "nx: no device is DLPack's (%d, %d)", p.type, p.number);
  return -1;
}

/* stream: on which the consumer uses memory of a GPU; NX_DLPACK_NO_STREAM: memory of the host. */
static PyObject *capsule_of(nx_tensor *x, int64_t stream, bool old) {
  struct DLManagedTensorVersioned *m = NULL;
  struct DLManagedTensor *m0 = NULL;
  const uint32_t access = stream == NX_DLPACK_NO_STREAM ? NX_MAP_READ | NX_MAP_WRITE : NX_MAP_READ;
  core_action a;
  core_begin(&a);
  nx_status status = nx_realize(nx_context_of(x), &x, 1, &a.options);
  if (status == NX_OK)
    status = old ? nx_to_dlpack_v0(x, stream, &m0) : nx_to_dlpack(x, access, stream, &m);
  if (status == NX_NOT_WRITABLE && !old) {
    nx_error_take(NULL);
    status = nx_to_dlpack(x, NX_MAP_READ, stream, &m);
  }
  if (core_end(&a, status) < 0) return NULL;
  PyObject *made =
      old ? PyCapsule_New(m0, plain, drop_capsule) : PyCapsule_New(m, versioned, drop_capsule);
  if (made == NULL && m0 != NULL) m0->deleter(m0);
  if (made == NULL && m != NULL) m->deleter(m);
  return made;
}

/* The consumer's stream for memory of a GPU, as it names it: None is the default stream; -1, with
 * which it asks for no waits, is ours. 0 with an error. */
static int64_t stream_of(const nx_tensor *x, PyObject *stream) {
  if (stream == Py_None) return 1;
  const long long number = PyLong_AsLongLong(stream);
  if (number == -1 && PyErr_Occurred()) return 0;
  if (number == -1) return nx_dlpack_stream(nx_context_of(x), nx_device_of(x));
  if (number > 0) return number;
  PyErr_Format(PyExc_ValueError, "nx: a stream of a GPU is -1, or above 0, not %lld", number);
  return 0;
}

static bool is_pair(PyObject *o, const char *what) {
  if (PyTuple_Check(o) && PyTuple_Size(o) == 2) return true;
  PyErr_Format(PyExc_TypeError, "nx: %s is a pair of integers, not %R", what, o);
  return false;
}

/* Where the consumer wants it: at its own place, or in memory of the host. copy: as it asked, or
 * not. *stream: as in capsule_of. */
static int choose_place(const nx_tensor *x, PyObject *device, PyObject *given, PyObject *copy,
                        int64_t *stream) {
  place own, wanted;
  if (place_of(x, &own) < 0) return -1;
  wanted = own;
  if (device != Py_None && !is_pair(device, "dl_device")) return -1;
  if (device != Py_None && !PyArg_ParseTuple(device, "ii", &wanted.type, &wanted.number)) return -1;
  const bool here = wanted.type == own.type && wanted.number == own.number;
  if (!here && (wanted.type != HOST || wanted.number != 0)) {
    PyErr_Format(PyExc_BufferError,
                 "nx: the array goes to its own device or to memory of the host, not to (%d, %d)",
                 wanted.type, wanted.number);
    return -1;
  }
  if (own.type == GPU && copy == Py_False) {
    PyErr_SetString(PyExc_BufferError, "nx: memory of a GPU is lent as a copy alone");
    return -1;
  }
  *stream = wanted.type == GPU ? stream_of(x, given) : NX_DLPACK_NO_STREAM;
  if (*stream != 0) return 0;
  if (!PyErr_Occurred()) core_fail();
  return -1;
}

PyObject *core_to_dlpack(PyObject *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
  PyObject *given = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
  int64_t stream;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO", names, &given, &version, &device, &copy))
    return NULL;
  if (choose_place(core_tensor(self), device, given, copy, &stream) < 0) return NULL;
  if (version != Py_None && !is_pair(version, "max_version")) return NULL;
  long major = version != Py_None ? PyLong_AsLong(PyTuple_GetItem(version, 0)) : 0;
  if (PyErr_Occurred()) return NULL;
  if (core_settle_elements() < 0) return NULL;          /* others may write */
  if (copy != Py_True || stream != NX_DLPACK_NO_STREAM) /* memory of a GPU is a copy anyhow */
    return capsule_of(core_tensor(self), stream, major < 1);
  PyObject *other = core_wrap(nx_copy(core_tensor(self)));
  PyObject *made = other ? capsule_of(core_tensor(other), stream, major < 1) : NULL;
  Py_XDECREF(other);
  return made;
}

PyObject *core_dlpack_device(PyObject *self, PyObject *unused) {
  place own;
  (void)unused;
  return place_of(core_tensor(self), &own) < 0 ? NULL : Py_BuildValue("(ii)", own.type, own.number);
}

/* Asks the producer for our stream, if its memory is a GPU's. */
static int ask_for_stream(PyObject *o, PyObject *words, int copy) {
  place p = {HOST, 0};
  PyObject *own = PyObject_CallMethod(o, "__dlpack_device__", NULL), *stream = NULL;
  if (own == NULL) { /* it is of before that method: of the host */
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
    PyErr_Clear();
    return 0;
  }
  const bool good = PyTuple_Check(own) && PyArg_ParseTuple(own, "ii", &p.type, &p.number);
  Py_DECREF(own);
  if (!good && !PyErr_Occurred())
    PyErr_SetString(PyExc_TypeError, "nx: __dlpack_device__ gives no pair of integers");
  if (!good || p.type != GPU) return good ? 0 : -1;
  if (copy == 0) {
    PyErr_SetString(PyExc_BufferError, "nx: memory of a GPU is taken as a copy alone");
    return -1;
  }
  nx_context *c = core_context();
  const nx_device device = device_at(c, p);
  const int64_t number = device < 0 ? 0 : nx_dlpack_stream(c, device);
  if (number != 0) stream = PyLong_FromLongLong(number);
  else if (!PyErr_Occurred()) core_fail();
  const int set = stream != NULL ? PyDict_SetItemString(words, "stream", stream) : -1;
  Py_XDECREF(stream);
  return set;
}

/* PyTorch exports a tensor whose elements are the negatives of what lies in memory as if they were
 * not; -1: an exception. */
static int refuse_negated(PyObject *o) {
  if (!PyObject_HasAttrString((PyObject *)Py_TYPE(o), "is_neg")) return 0;
  PyObject *said = PyObject_CallMethod(o, "is_neg", NULL);
  if (said == NULL) return -1;
  const int is = PyObject_IsTrue(said);
  Py_DECREF(said);
  if (is > 0)
    PyErr_SetString(PyExc_BufferError, "nx: elements of the tensor are negatives of its memory; "
                                       "resolve_neg() gives one of which they are not");
  return is == 0 ? 0 : -1;
}

/* What the object exports: of version 1 if it knows that. */
static PyObject *exported(PyObject *o, int copy) {
  if (refuse_negated(o) < 0) return NULL;
  PyObject *method = PyObject_GetAttrString(o, "__dlpack__"), *none = PyTuple_New(0);
  PyObject *words = PyDict_New(), *version = Py_BuildValue("(ii)", 1, 0), *made = NULL;
  bool good = method != NULL && words != NULL && none != NULL && version != NULL &&
              ask_for_stream(o, words, copy) == 0;
  PyObject *older = good ? PyDict_Copy(words) : NULL;
  good = good && older != NULL && PyDict_SetItemString(words, "max_version", version) == 0;
  if (good && copy == 0) good = PyDict_SetItemString(words, "copy", Py_False) == 0;
  if (good) made = PyObject_Call(method, none, words);
  if (good && made == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    made = PyObject_Call(method, none, older);
  }
  Py_XDECREF(older);
  Py_XDECREF(version);
  Py_XDECREF(method);
  Py_XDECREF(none);
  Py_XDECREF(words);
  return made;
}

static bool is_read_only(PyObject *capsule) {
  if (!PyCapsule_IsValid(capsule, versioned)) return false;
  struct DLManagedTensorVersioned *m = PyCapsule_GetPointer(capsule, versioned);
  return m->major == 1 && m->flags & NXI_DLPACK_READ_ONLY;
}

static nx_status take_capsule(PyObject *capsule, int copy, nx_tensor **out) {
  nx_context *c = core_context();
  if (PyCapsule_IsValid(capsule, versioned)) {
    struct DLManagedTensorVersioned *m = PyCapsule_GetPointer(capsule, versioned);
    bool known = m->major == 1, fixed = known && (m->flags & NXI_DLPACK_READ_ONLY);
    bool copied = copy > 0 || (known && m->tensor.device.type == GPU);
    uint32_t mode = copied ? NX_IMPORT_COPY : fixed ? NX_IMPORT_IMMUTABLE : NX_IMPORT_SHARED;
    nx_status status = nx_from_dlpack(c, m, mode, out);
    if (status == NX_OK) PyCapsule_SetName(capsule, used_versioned);
    return status;
  }
  struct DLManagedTensor *m = PyCapsule_GetPointer(capsule, plain);
  if (m == NULL) return NX_INVALID_ARGUMENT;
  const bool copied = copy > 0 || m->tensor.device.type == GPU;
  nx_status status = nx_from_dlpack_v0(c, m, copied ? NX_IMPORT_COPY : NX_IMPORT_SHARED, out);
  if (status == NX_OK) PyCapsule_SetName(capsule, used_plain);
  return status;
}

PyObject *core_from_dlpack(PyObject *o, nx_device device, int copy) {
  if (core_context() == NULL) return NULL;
  PyObject *capsule = PyCapsule_CheckExact(o) ? Py_NewRef(o) : exported(o, copy);
  if (capsule == NULL) return NULL;
  if (copy <= 0 && is_read_only(capsule) && is_written_elsewhere(o)) {
    if (copy == 0) {
      Py_DECREF(capsule);
      return refuse_to_share();
    }
    copy = 1;
  }
  nx_tensor *x = NULL;
  core_mark();
  nx_status status = take_capsule(capsule, copy, &x);
  Py_DECREF(capsule);
  if (status != NX_OK) return PyErr_Occurred() ? NULL : core_fail();
  if (device < 0) device = nx_device_of(x);
  if (device == nx_device_of(x)) return core_wrap(x);
  nx_tensor *far = nx_to_device(x, device);
  nx_tensor_release(x);
  return core_wrap(far);
}
