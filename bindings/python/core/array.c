/* SPDX-License-Identifier: ISC */
/* The type Array: its life, its attributes and its methods. */
#include "core.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

PyTypeObject *core_array_type;

/* Recorded work that nobody has asked for is done when there is this much of it, so that a loop
 * which only reads its loss does not grow. */
static const uint64_t most_operations = 20000, most_bytes = (uint64_t)1 << 30;
static uint32_t since_asked;

static int settle(void) {
  nx_context *c = core_context();
  uint64_t bytes = 0;
  if (c == NULL) return -1;
  if (nx_pending(c, &bytes) < most_operations && bytes < most_bytes) return 0;
  if (nx_capturing(c)) return 0;
  core_action a;
  core_begin(&a);
  a.options.flags = NX_DO_PENDING;
  nx_status status = nx_realize(c, NULL, 0, &a.options);
  if (status == NX_INTERRUPTED) return core_end(&a, status);
  if (status != NX_OK) nx_error_take(NULL); /* whoever asks for the value is told */
  return core_end(&a, NX_OK);
}

int core_recorded(void) { return (++since_asked & 63) == 0 ? settle() : 0; }

PyObject *core_wrap(nx_tensor *tensor) {
  if (tensor == NULL) return core_fail();
  core_array *a = PyObject_New(core_array, core_array_type);
  if (a == NULL) {
    nx_tensor_release(tensor);
    return NULL;
  }
  a->tensor = tensor;
  a->weak = false;
  a->element = 0;
  a->single = false;
  a->number = NULL;
  a->weakrefs = NULL;
  if (core_recorded() < 0) Py_CLEAR(a);
  return (PyObject *)a;
}

nx_tensor *core_cast(nx_tensor *x, nx_dtype dtype) {
  if (x == NULL) return core_fail(), NULL;
  if (nx_dtype_of(x) == dtype) return x;
  nx_tensor *made = nx_cast(x, dtype);
  nx_tensor_release(x);
  if (made == NULL) core_fail();
  return made;
}

static void dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  if (((core_array *)self)->weakrefs != NULL) PyObject_ClearWeakRefs(self);
  if (((core_array *)self)->element != 0) core_element_gone((core_array *)self);
  if (((core_array *)self)->number != NULL) core_number_free(((core_array *)self)->number);
  nx_tensor_release(core_tensor(self));
  PyObject_Free(self);
  Py_DECREF(type);
}

/* ---- attributes */

static PyObject *extents(const int64_t *of, int32_t n, int64_t factor) {
  PyObject *t = PyTuple_New(n);
  for (int32_t i = 0; t != NULL && i < n; i++) {
    PyObject *e = PyLong_FromLongLong(of[i] * factor);
    if (e == NULL) Py_CLEAR(t);
    else PyTuple_SetItem(t, i, e);
  }
  return t;
}
static PyObject *get_shape(PyObject *self, void *unused) {
  (void)unused;
  nx_tensor *x = core_tensor(self);
  return extents(nx_shape(x), nx_rank(x), 1);
}
static int64_t item_bytes(nx_tensor *x) { return (int64_t)(nx_dtype_bits(nx_dtype_of(x)) + 7) / 8; }
static PyObject *get_strides(PyObject *self, void *unused) {
  (void)unused;
  nx_tensor *x = core_tensor(self);
  return extents(nx_strides(x), nx_rank(x), item_bytes(x));
}
static PyObject *get_dtype(PyObject *self, void *unused) {
  (void)unused;
  return core_dtype_object(nx_dtype_of(core_tensor(self)));
}
static PyObject *get_device(PyObject *self, void *unused) {
  (void)unused;
  return core_device_name(nx_device_of(core_tensor(self)));
}
static PyObject *get_ndim(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLong(nx_rank(core_tensor(self)));
}
static PyObject *get_size(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLongLong(nx_elements(core_tensor(self)));
}
static PyObject *get_itemsize(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLongLong(item_bytes(core_tensor(self)));
}
static PyObject *get_nbytes(PyObject *self, void *unused) {
  (void)unused;
  nx_tensor *x = core_tensor(self);
  int64_t bits = (int64_t)nx_dtype_bits(nx_dtype_of(x));
  return PyLong_FromLongLong(bits < 8 ? (nx_elements(x) * bits + 7) / 8
                                      : nx_elements(x) * (bits / 8));
}

static PyObject *permuted(PyObject *self, const int32_t *axes, int32_t n) {
  core_mark();
  return core_wrap(nx_permute(core_tensor(self), axes, (size_t)n));
}
static PyObject *reversed(PyObject *self) {
  int32_t axes[NX_MAX_RANK], n = nx_rank(core_tensor(self));
  for (int32_t i = 0; i < n; i++) axes[i] = n - 1 - i;
  return permuted(self, axes, n);
}
static PyObject *get_t(PyObject *self, void *unused) {
  (void)unused;
  return reversed(self);
}
static PyObject *get_mt(PyObject *self, void *unused) {
  (void)unused;
  int32_t axes[NX_MAX_RANK], n = nx_rank(core_tensor(self));
  if (n < 2)
    return PyErr_Format(PyExc_ValueError, "nx: mT is of matrices, this array has rank %d", n);
  for (int32_t i = 0; i < n; i++) axes[i] = i;
  axes[n - 1] = n - 2;
  axes[n - 2] = n - 1;
  return permuted(self, axes, n);
}
static PyObject *get_realized(PyObject *self, void *unused) {
  (void)unused;
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(core_tensor(self), &info);
  return PyBool_FromLong(info.flags & NX_TENSOR_REALIZED);
}
/* Of a part: real, imag and the conjugate. */
static PyObject *part(PyObject *self, nx_tensor *(*of)(nx_tensor *)) {
  core_mark();
  return core_derived(of(core_tensor(self)), self);
}
/* Of what is not complex it is the array itself; of the number True it is 1. */
static PyObject *part_or_self(PyObject *self, nx_tensor *(*of)(nx_tensor *)) {
  char kind = core_kind(nx_dtype_of(core_tensor(self)));
  if (kind == 'b') core_number_needed(self);
  return kind == 'c' ? part(self, of) : Py_NewRef(self);
}
static PyObject *get_real(PyObject *self, void *unused) {
  (void)unused;
  return part_or_self(self, nx_real);
}
static PyObject *get_imag(PyObject *self, void *unused) {
  (void)unused;
  nx_tensor *x = core_tensor(self);
  char kind = core_kind(nx_dtype_of(x));
  if (kind == 'c') return part(self, nx_imag);
  if (core_is_weak(self)) return kind == 'f' ? PyFloat_FromDouble(0) : PyLong_FromLong(0);
  if (kind == 'f') return part(self, nx_imag);
  core_mark();
  return core_wrap(
      nx_full_i64(nx_context_of(x), nx_device_of(x), nx_dtype_of(x), nx_shape(x), nx_rank(x), 0));
}

/* x.real = value: the parts of an array are no views, so x gets both anew. */
static int set_part(PyObject *self, PyObject *value, bool real) {
  nx_tensor *x = core_tensor(self);
  if (value == NULL || core_kind(nx_dtype_of(x)) != 'c') {
    PyErr_SetString(PyExc_TypeError, "nx: parts of complex arrays are assigned alone");
    return -1;
  }
  PyObject *parts[2] = {get_real(self, NULL), NULL}, *whole = NULL;
  if (parts[0] != NULL) parts[1] = get_imag(self, NULL);
  bool good = parts[1] && core_assign(core_tensor(parts[real ? 0 : 1]), value) == 0;
  if (good) whole = core_wrap(nx_complex(core_tensor(parts[0]), core_tensor(parts[1])));
  good = whole && core_settle_elements() == 0 && core_assign(x, whole) == 0;
  Py_XDECREF(parts[0]);
  Py_XDECREF(parts[1]);
  Py_XDECREF(whole);
  return good ? 0 : -1;
}
static int set_real(PyObject *self, PyObject *value, void *unused) {
  (void)unused;
  return set_part(self, value, true);
}
static int set_imag(PyObject *self, PyObject *value, void *unused) {
  (void)unused;
  return set_part(self, value, false);
}

static PyGetSetDef properties[] = {
    {"shape", get_shape, NULL, "extents", NULL},
    {"strides", get_strides, NULL, "in bytes", NULL},
    {"dtype", get_dtype, NULL, "element type", NULL},
    {"device", get_device, NULL, "\"cpu\", \"cuda\", ..", NULL},
    {"ndim", get_ndim, NULL, "number of axes", NULL},
    {"size", get_size, NULL, "number of elements", NULL},
    {"itemsize", get_itemsize, NULL, "bytes of an element", NULL},
    {"nbytes", get_nbytes, NULL, "bytes of all elements", NULL},
    {"T", get_t, NULL, "with the axes in reverse order, a view", NULL},
    {"mT", get_mt, NULL, "with the last two axes exchanged, a view", NULL},
    {"real", get_real, set_real, "real part, a copy", NULL},
    {"imag", get_imag, set_imag, "imaginary part, a copy", NULL},
    {"is_realized", get_realized, NULL, "whether its value is in memory", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

/* ---- methods */

static PyObject *realize(PyObject *self, PyObject *unused) {
  (void)unused;
  nx_tensor *own = core_tensor(self);
  if (core_at_once(nx_realize(nx_context_of(own), &own, 1, &core_briefly))) return Py_NewRef(self);
  nx_tensor *x = nx_tensor_retain(own); /* another thread may settle the element */
  core_action a;
  core_begin(&a);
  int done = core_end(&a, nx_realize(nx_context_of(x), &x, 1, &a.options));
  nx_tensor_release(x);
  return done < 0 ? NULL : Py_NewRef(self);
}

/* f"{x:.2f}" of an array without axes is its number's. */
static PyObject *format(PyObject *self, PyObject *how) {
  if (PyUnicode_Check(how) && PyUnicode_GetLength(how) == 0) return PyObject_Str(self);
  if (nx_rank(core_tensor(self)) != 0)
    return PyErr_Format(PyExc_TypeError, "nx: an array with axes has no format %R", how);
  int64_t none[1] = {0};
  PyObject *number = core_item(core_tensor(self), none, 0);
  PyObject *made = number ? PyObject_Format(number, how) : NULL;
  Py_XDECREF(number);
  return made;
}

/* round(x, digits); of an array without axes and no digits an int. */
static PyObject *rounded(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  if (core_count("__round__", n, 0, 1) < 0) return NULL;
  int64_t none[1] = {0};
  if ((n == 0 || args[0] == Py_None) && nx_rank(core_tensor(self)) == 0) {
    PyObject *number = core_item(core_tensor(self), none, 0);
    PyObject *made = number ? PyObject_CallMethod(number, "__round__", NULL) : NULL;
    Py_XDECREF(number);
    return made;
  }
  core_number_needed(self); /* its result is a number, too */
  PyObject *of = PyObject_GetAttrString(self, "round");
  PyObject *made = of ? PyObject_CallFunctionObjArgs(of, n == 1 ? args[0] : NULL, NULL) : NULL;
  Py_XDECREF(of);
  return made;
}

static PyObject *item(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  nx_tensor *x = core_tensor(self);
  int64_t index[NX_MAX_RANK] = {0};
  if (n == 0 && nx_elements(x) != 1)
    return PyErr_Format(PyExc_ValueError, "nx: item() is of one element, this array has %lld",
                        (long long)nx_elements(x));
  if (n != 0 && n != nx_rank(x))
    return PyErr_Format(PyExc_ValueError, "nx: %zd indices for an array of rank %d", n, nx_rank(x));
  for (Py_ssize_t i = 0; i < n; i++)
    if (core_take_i64(args[i], INT64_MIN, INT64_MAX, &index[i]) < 0) return NULL;
  return core_item(x, index, (size_t)nx_rank(x));
}

static PyObject *tolist(PyObject *self, PyObject *unused) {
  (void)unused;
  return core_tolist(core_tensor(self));
}

static PyObject *copy(PyObject *self, PyObject *unused) {
  (void)unused;
  core_mark();
  return core_wrap(nx_copy(core_tensor(self)));
}
static PyObject *conjugate(PyObject *self, PyObject *unused) {
  (void)unused;
  return part_or_self(self, nx_conj);
}
static PyObject *deepcopy(PyObject *self, PyObject *memo) { return copy(self, memo); }

static PyObject *astype(PyObject *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"dtype", "copy", NULL};
  PyObject *dtype;
  int always = 1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$p", names, &dtype, &always)) return NULL;
  nx_dtype code = core_dtype_of(dtype);
  if (code == 0) return NULL;
  if (code == nx_dtype_of(core_tensor(self)) && !core_is_weak(self))
    return always ? copy(self, NULL) : Py_NewRef(self);
  core_mark();
  return core_wrap(nx_cast(core_tensor(self), code));
}

static PyObject *to_device(PyObject *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"device", "stream", NULL};
  PyObject *device, *stream = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$O", names, &device, &stream)) return NULL;
  if (stream != Py_None) return PyErr_Format(PyExc_ValueError, "nx: to_device takes no stream");
  nx_device to = core_device(device);
  if (to < 0) return NULL;
  core_mark();
  return core_wrap(nx_to_device(core_tensor(self), to));
}

/* One argument that is a sequence, or several numbers. */
static int numbers(PyObject *args, int64_t *out) {
  Py_ssize_t n = PyTuple_Size(args);
  PyObject *of = n == 1 ? PyTuple_GetItem(args, 0) : args;
  return core_integers(of, out, NX_MAX_RANK, "a shape");
}

/* reshape(shape, order="F"): the function in Python. */
static PyObject *reshape_in_order(PyObject *self, PyObject *args, PyObject *kwargs) {
  PyObject *module = PyImport_ImportModule("nx._manipulation");
  PyObject *of = module ? PyObject_GetAttrString(module, "reshape") : NULL;
  PyObject *shape = PyTuple_Size(args) == 1 ? PyTuple_GetItem(args, 0) : args;
  PyObject *both = of ? PyTuple_Pack(2, self, shape) : NULL;
  PyObject *made = both ? PyObject_Call(of, both, kwargs) : NULL;
  Py_XDECREF(both);
  Py_XDECREF(of);
  Py_XDECREF(module);
  return made;
}

static PyObject *reshape(PyObject *self, PyObject *args, PyObject *kwargs) {
  int64_t shape[NX_MAX_RANK], known = 1;
  if (kwargs != NULL && PyDict_Size(kwargs) > 0) return reshape_in_order(self, args, kwargs);
  int n = numbers(args, shape), open = -1;
  for (int i = 0; i < n; i++) {
    if (shape[i] >= 0) {
      if (__builtin_mul_overflow(known, shape[i], &known)) known = INT64_MAX;
    } else if (open >= 0)
      return PyErr_Format(PyExc_ValueError, "nx: two extents of a shape are -1");
    else open = i;
  }
  if (n < 0) return NULL;
  int64_t all = nx_elements(core_tensor(self));
  if (open >= 0 && known > 0 && all % known == 0) shape[open] = all / known;
  else if (open >= 0)
    return PyErr_Format(PyExc_ValueError,
                        "nx: reshape: %lld elements do not divide into parts of %lld",
                        (long long)all, (long long)known);
  core_mark();
  if (core_settle_element((core_array *)self) < 0) return NULL;
  return core_wrap(nx_reshape(core_tensor(self), shape, n, NX_MAY_COPY));
}

static PyObject *transpose(PyObject *self, PyObject *args) {
  int64_t axes[NX_MAX_RANK];
  int32_t order[NX_MAX_RANK];
  if (PyTuple_Size(args) == 0) return reversed(self);
  int n = numbers(args, axes);
  if (n < 0) return NULL;
  for (int i = 0; i < n; i++) {
    if (axes[i] < -NX_MAX_RANK || axes[i] >= NX_MAX_RANK)
      return PyErr_Format(PyExc_ValueError, "nx: transpose: there is no axis %lld",
                          (long long)axes[i]);
    order[i] = (int32_t)axes[i];
  }
  return permuted(self, order, n);
}

static PyObject *namespace(PyObject *self, PyObject *args, PyObject *kwargs) {
  (void)self;
  static char *names[] = {"api_version", NULL};
  PyObject *version = Py_None, *of = core_hook(CORE_HOOK_NAMESPACE);
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", names, &version)) return NULL;
  return of != NULL ? core_call(of, version) : NULL;
}

static PyObject *html(PyObject *self, PyObject *unused) {
  (void)unused;
  PyObject *of = core_hook(CORE_HOOK_HTML);
  return of != NULL ? core_call(of, self) : NULL;
}

/* For NumPy where it cannot take the buffer: a dtype that it lacks, or an interruption. */
static PyObject *as_numpy(PyObject *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"dtype", "copy", NULL};
  PyObject *dtype = Py_None, *copied = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO", names, &dtype, &copied)) return NULL;
  if (core_raise_kept(self) < 0) return NULL;
  nx_tensor *x = core_tensor(self);
  PyObject *numpy = PyImport_ImportModule("numpy");
  if (numpy == NULL) return NULL;
  bool known = core_has_format(nx_dtype_of(x));
  nx_dtype as = core_kind(nx_dtype_of(x)) == 'f' ? NX_F32
                : nx_dtype_of(x) == NX_C32       ? NX_C64
                                                 : NX_I8;
  if (!known && copied == Py_False) {
    Py_DECREF(numpy);
    return PyErr_Format(PyExc_ValueError, "nx: NumPy has no such dtype: it gets a copy alone");
  }
  PyObject *of = known ? Py_NewRef(self) : core_wrap(nx_cast(x, as));
  PyObject *view = of ? PyMemoryView_FromObject(of) : NULL;
  PyObject *args_of = view ? Py_BuildValue("(OO)", view, dtype) : NULL;
  PyObject *words = args_of && copied != Py_None ? Py_BuildValue("{s:O}", "copy", copied) : NULL;
  PyObject *how =
      args_of ? PyObject_GetAttrString(numpy, copied == Py_None ? "asarray" : "array") : NULL;
  PyObject *made = how && !PyErr_Occurred() ? PyObject_Call(how, args_of, words) : NULL;
  Py_XDECREF(how);
  Py_XDECREF(words);
  Py_XDECREF(args_of);
  Py_XDECREF(view);
  Py_XDECREF(of);
  Py_DECREF(numpy);
  return made;
}

/* The names of the type, and those that Python adds. */
static PyObject *names_of(PyObject *self, PyObject *unused) {
  (void)unused;
  PyObject *of = core_hook(CORE_HOOK_NAMES);
  return of != NULL ? core_call(of, (PyObject *)Py_TYPE(self)) : NULL;
}

static PyMethodDef methods[] = {
    {"realize", realize, METH_NOARGS, "Computes the value, and returns the array."},
    {"item", (PyCFunction)(void (*)(void))item, METH_FASTCALL, "One element as a Python number."},
    {"tolist", tolist, METH_NOARGS, "The elements as nested lists of Python numbers."},
    {"copy", copy, METH_NOARGS, "A copy, with memory of its own."},
    {"__copy__", copy, METH_NOARGS, NULL},
    {"__deepcopy__", deepcopy, METH_O, NULL},
    {"conj", conjugate, METH_NOARGS, "The complex conjugate; of real numbers the array itself."},
    {"conjugate", conjugate, METH_NOARGS,
     "The complex conjugate; of real numbers the array itself."},
    {"astype", (PyCFunction)(void (*)(void))astype, METH_VARARGS | METH_KEYWORDS,
     "Converted to a dtype."},
    {"to_device", (PyCFunction)(void (*)(void))to_device, METH_VARARGS | METH_KEYWORDS,
     "On another device."},
    {"__format__", format, METH_O, "As a number's, of an array without axes."},
    {"__round__", (PyCFunction)(void (*)(void))rounded, METH_FASTCALL, "round(x, digits)"},
    {"reshape", (PyCFunction)(void (*)(void))reshape, METH_VARARGS | METH_KEYWORDS,
     "The same elements with another shape; one may be -1."},
    {"transpose", transpose, METH_VARARGS, "A view with the axes in another order."},
    {"__array_namespace__", (PyCFunction)(void (*)(void)) namespace, METH_VARARGS | METH_KEYWORDS,
     "The module nx."},
    {"__array__", (PyCFunction)(void (*)(void))as_numpy, METH_VARARGS | METH_KEYWORDS, NULL},
    {"__dlpack__", (PyCFunction)(void (*)(void))core_to_dlpack, METH_VARARGS | METH_KEYWORDS, NULL},
    {"__dlpack_device__", core_dlpack_device, METH_NOARGS, NULL},
    {"__complex__", core_as_complex, METH_NOARGS, NULL},
    {"__dir__", names_of, METH_NOARGS, NULL},
    {"_repr_html_", html, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyObject *repr(PyObject *self) {
  PyObject *of = core_hook(CORE_HOOK_REPR);
  return of != NULL ? core_call(of, self) : NULL;
}

static PyObject *str(PyObject *self) {
  PyObject *of = core_hook(CORE_HOOK_STR);
  return of != NULL ? core_call(of, self) : NULL;
}

static bool is_public(PyObject *name) {
  return PyUnicode_Check(name) && PyUnicode_GetLength(name) > 0 &&
         PyUnicode_ReadChar(name, 0) != '_';
}

/* Whether numbers of Python that the array stands for have an attribute, as `bit_length`. */
static bool numbers_have(PyObject *self, PyObject *name) {
  char kind = core_kind(nx_dtype_of(core_tensor(self)));
  PyTypeObject *type = kind == 'c' ? &PyComplex_Type : kind == 'f' ? &PyFloat_Type : &PyLong_Type;
  PyObject *kept[3];
  PyErr_Fetch(&kept[0], &kept[1], &kept[2]);
  const bool have = PyObject_HasAttr((PyObject *)type, name);
  PyErr_Restore(kept[0], kept[1], kept[2]);
  return have;
}

/* What the type has not is asked of Python, but for names that begin with an underscore: others ask
 * for those all the time, to find out what an object is. */
static PyObject *attribute(PyObject *self, PyObject *name) {
  PyObject *found = PyObject_GenericGetAttr(self, name);
  if (found != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError) || !is_public(name))
    return found;
  PyErr_Clear();
  PyObject *of = core_hook(CORE_HOOK_ATTRIBUTE);
  found = of != NULL ? PyObject_CallFunctionObjArgs(of, self, name, NULL) : NULL;
  if (found == NULL && core_is_weak(self) && numbers_have(self, name)) core_number_needed(self);
  return found;
}

static Py_ssize_t length(PyObject *self) {
  nx_tensor *x = core_tensor(self);
  if (nx_rank(x) > 0) return (Py_ssize_t)nx_shape(x)[0];
  PyErr_SetString(PyExc_TypeError, "nx: an array of rank 0 has no len()");
  return -1;
}

static PyObject *iterate(PyObject *self) {
  if (nx_rank(core_tensor(self)) == 0)
    return PyErr_Format(PyExc_TypeError, "nx: an array of rank 0 has no elements to go through");
  return PySeqIter_New(self);
}

static PyObject *at(PyObject *self, Py_ssize_t i) {
  PyObject *index = PyLong_FromSsize_t(i), *made = index ? core_getitem(self, index) : NULL;
  Py_XDECREF(index);
  return made;
}

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(core_array, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot own_slots[] = {
    {Py_tp_dealloc, dealloc},
    {Py_tp_repr, repr},
    {Py_tp_str, str},
    {Py_tp_getattro, attribute},
    {Py_tp_iter, iterate},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_mp_subscript, core_getitem},
    {Py_mp_ass_subscript, core_setitem},
    {Py_mp_length, length},
    {Py_sq_item, at},
    {Py_bf_getbuffer, core_getbuffer},
    {Py_bf_releasebuffer, core_releasebuffer},
    {Py_tp_doc, "An array whose value is computed when somebody asks for it."}};

int core_array_init(PyObject *module) {
  static PyType_Slot slots[96];
  size_t n = sizeof own_slots / sizeof *own_slots, m = 0;
  memcpy(slots, own_slots, sizeof own_slots);
  for (; core_operator_slots[m].slot != 0; m++) slots[n + m] = core_operator_slots[m];
  slots[n + m] = (PyType_Slot){0, NULL};
  PyType_Spec spec = {"nx.Array", sizeof(core_array), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  core_array_type = (PyTypeObject *)PyType_FromSpec(&spec);
  if (core_array_type == NULL) return -1;
  return PyModule_AddObjectRef(module, "Array", (PyObject *)core_array_type);
}
