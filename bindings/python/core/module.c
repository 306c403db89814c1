/* SPDX-License-Identifier: ISC */
/* The module nx._core: the context that all arrays share, devices, hooks, and functions. */
#include "core.h"

#include <string.h>

/* ---- the context */

static nx_context *shared;

nx_context *core_context(void) {
  if (shared != NULL) return shared;
  nx_context_options o = {.size = sizeof o};
  if (nx_context_create(&o, &shared) != NX_OK) core_fail();
  return shared;
}

/* "cpu" is the first device of the processor, "cuda:1" the second GPU. */
static nx_device of_name(PyObject *name) {
  nx_context *c = core_context();
  int32_t n = c ? nx_device_count(c) : 0;
  PyObject *text = c ? PyUnicode_AsUTF8String(name) : NULL;
  nx_device found = -1;
  for (nx_device i = 0; text != NULL && found < 0 && i < n; i++) {
    nx_device_info d = {.size = sizeof d};
    char first[64];
    nx_device_describe(c, i, &d);
    PyOS_snprintf(first, sizeof first, "%s:0", d.name);
    const char *wanted = PyBytes_AsString(text);
    if (!strcmp(wanted, d.name) || (strchr(d.name, ':') == NULL && !strcmp(wanted, first)))
      found = i;
  }
  Py_XDECREF(text);
  if (found < 0 && !PyErr_Occurred())
    PyErr_Format(PyExc_ValueError, "nx: there is no device %R", name);
  return found;
}

nx_device core_device(PyObject *of) {
  if (of == Py_None || of == NULL) return 0;
  if (PyUnicode_Check(of)) return of_name(of);
  int64_t number;
  nx_context *c = core_context();
  if (c == NULL || core_take_i64(of, 0, nx_device_count(c) - 1, &number) < 0) return -1;
  return (nx_device)number;
}

PyObject *core_device_name(nx_device device) {
  nx_device_info d = {.size = sizeof d};
  nx_context *c = core_context();
  if (c == NULL || nx_device_describe(c, device, &d) != NX_OK) return core_fail();
  return PyUnicode_FromString(d.name);
}

/* ---- hooks */

static PyObject *set_hooks[CORE_N_HOOKS];
static const char *const hook_names[] = {"getitem",   "setitem", "repr",      "html",
                                         "namespace", "str",     "attribute", "names"};

PyObject *core_hook(core_hook_name name) {
  if (set_hooks[name] == NULL)
    PyErr_Format(PyExc_SystemError, "nx: there is no hook %s", hook_names[name]);
  return set_hooks[name];
}

/* The interpreter whose objects this module holds: there is one module in a process. */
static PyInterpreterState *owner;

static bool is_owner(void) {
  if (owner == NULL) owner = PyInterpreterState_Get();
  if (owner == PyInterpreterState_Get()) return true;
  PyErr_SetString(PyExc_ImportError, "nx: another interpreter of this process uses nx");
  return false;
}

static PyObject *hooks(PyObject *self, PyObject *args, PyObject *kwargs) {
  (void)self;
  static char *names[] = {"getitem", "setitem",   "repr",  "html", "namespace",
                          "str",     "attribute", "names", NULL};
  PyObject *given[CORE_N_HOOKS] = {NULL};
  if (!is_owner()) return NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOOOOOO", names, &given[0], &given[1],
                                   &given[2], &given[3], &given[4], &given[5], &given[6],
                                   &given[7]))
    return NULL;
  for (int i = 0; i < CORE_N_HOOKS; i++) {
    if (given[i] == NULL) continue;
    Py_XDECREF(set_hooks[i]);
    set_hooks[i] = Py_NewRef(given[i]);
  }
  return Py_NewRef(Py_None);
}

/* ---- dtypes of several operands */

static PyObject *dtype(PyObject *self, PyObject *of) {
  (void)self;
  nx_dtype code = core_dtype_of(of);
  return code != 0 ? core_dtype_object(code) : NULL;
}

static PyObject *promote(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  (void)self;
  if (core_count("promote", n, 2, 2) < 0) return NULL;
  nx_dtype a = core_dtype_of(args[0]), b = a ? core_dtype_of(args[1]) : 0;
  nx_dtype both = b ? core_promote(a, b) : 0;
  return both != 0 ? core_dtype_object(both) : NULL;
}

static char wider(char a, char b) {
  static const char order[] = "bifc";
  if (a == 0 || b == 0) return a ? a : b;
  return strchr(order, a) > strchr(order, b) ? a : b;
}

/* That of a dtype, or of an array or a scalar of NumPy. */
static nx_dtype dtype_in(PyObject *o) {
  bool has = !PyType_Check(o) && PyObject_HasAttrString(o, "__array_interface__");
  PyObject *dtype = has ? PyObject_GetAttrString(o, "dtype") : Py_NewRef(o);
  nx_dtype code = dtype ? core_dtype_of(dtype) : 0;
  Py_XDECREF(dtype);
  return code;
}

static PyObject *result_type(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  (void)self;
  nx_dtype both = 0;
  char weak = 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    char kind = core_weak_kind(args[i]);
    bool array = core_is_array(args[i]);
    if (array && core_is_weak(args[i])) kind = core_kind(nx_dtype_of(core_tensor(args[i])));
    if (kind != 0) {
      weak = wider(weak, kind == 'u' ? 'i' : kind);
      continue;
    }
    nx_dtype t = array ? nx_dtype_of(core_tensor(args[i])) : dtype_in(args[i]);
    if (t == 0) return NULL;
    both = both == 0 ? t : core_promote(both, t);
  }
  if (both == 0 && weak == 0) return PyErr_Format(PyExc_ValueError, "nx: result_type of nothing");
  if (both == 0) both = core_dtype_of_kind(weak);
  else if (weak != 0) both = core_promote_weak(both, weak);
  return core_dtype_object(both);
}

static PyObject *strong(PyObject *self, PyObject *o) {
  (void)self;
  return core_strong(o);
}

/* The shapes of arrays of one dtype, as bytes: what a plan of calls depends on. None, if one is no
 * array, or has another dtype. */
static PyObject *shapes(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  (void)self;
  enum { MOST = 4 };
  int64_t of[MOST * (NX_MAX_RANK + 1)];
  size_t at = 0;
  if (n < 1 || n > MOST) return Py_NewRef(Py_None);
  for (Py_ssize_t i = 0; i < n; i++) {
    if (!core_is_array(args[i]) || core_is_weak(args[i])) return Py_NewRef(Py_None);
    nx_tensor *x = core_tensor(args[i]);
    const int32_t rank = nx_rank(x);
    if (nx_dtype_of(x) != nx_dtype_of(core_tensor(args[0]))) return Py_NewRef(Py_None);
    of[at++] = rank;
    if (rank > 0) memcpy(of + at, nx_shape(x), sizeof *of * (size_t)rank);
    at += (size_t)rank;
  }
  return PyBytes_FromStringAndSize((const char *)of, (Py_ssize_t)(at * sizeof *of));
}

/* ---- making arrays */

static int copy_of(PyObject *o) { return o == Py_None ? -1 : PyObject_IsTrue(o); }

static PyObject *array(PyObject *self, PyObject *args, PyObject *kwargs) {
  (void)self;
  static char *names[] = {"obj", "dtype", "device", "copy", NULL};
  PyObject *o, *type = Py_None, *where = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOO", names, &o, &type, &where, &copy))
    return NULL;
  nx_dtype code = type != Py_None ? core_dtype_of(type) : 0;
  if (code == 0 && PyErr_Occurred()) return NULL;
  nx_device device =
      where == Py_None && core_is_array(o) ? nx_device_of(core_tensor(o)) : core_device(where);
  PyObject *made = device < 0 ? NULL : core_array_of(o, code, device, copy_of(copy));
  PyObject *result = made ? core_strong(made) : NULL;
  Py_XDECREF(made);
  return result;
}

static PyObject *from_dlpack(PyObject *self, PyObject *args, PyObject *kwargs) {
  (void)self;
  static char *names[] = {"obj", "device", "copy", NULL};
  PyObject *o, *where = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OO", names, &o, &where, &copy)) return NULL;
  if (where == Py_None) return core_from_dlpack(o, -1, copy_of(copy));
  nx_device device = core_device(where);
  return device < 0 ? NULL : core_from_dlpack(o, device, copy_of(copy));
}

/* What a new array has. */
typedef struct form {
  nx_dtype dtype;
  nx_device device;
  int64_t shape[NX_MAX_RANK];
} form;

/* Returns the rank, -1 with an exception. */
static int take_form(form *f, PyObject *shape, PyObject *dtype, PyObject *device) {
  f->dtype = core_dtype_of(dtype);
  f->device = f->dtype ? core_device(device) : -1;
  int n = f->device >= 0 ? core_integers(shape, f->shape, NX_MAX_RANK, "a shape") : -1;
  return n < 0 || core_context() == NULL ? -1 : n;
}

static PyObject *full(PyObject *self, PyObject *args, PyObject *kwargs) {
  (void)self;
  static char *names[] = {"shape", "value", "dtype", "device", NULL};
  PyObject *extents, *value, *type, *where = Py_None;
  form f;
  nx_scalar s;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|O", names, &extents, &value, &type, &where))
    return NULL;
  int n = take_form(&f, extents, type, where);
  if (n < 0 || core_scalar(value, f.dtype, &s) < 0) return NULL;
  core_mark();
  return core_wrap(nx_full(core_context(), f.device, f.dtype, f.shape, n, &s));
}

static PyObject *empty(PyObject *self, PyObject *args, PyObject *kwargs) {
  (void)self;
  static char *names[] = {"shape", "dtype", "device", NULL};
  PyObject *extents, *type, *where = Py_None;
  form f;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O", names, &extents, &type, &where))
    return NULL;
  int n = take_form(&f, extents, type, where);
  if (n < 0) return NULL;
  core_mark();
  return core_wrap(nx_empty(core_context(), f.device, f.dtype, f.shape, n));
}

/* ---- all together */

/* report: what was done; NULL: nobody asks. */
static int realize_all(PyObject *args, nx_report *report) {
  core_list l = {.items = l.room};
  nx_context *c = core_context();
  int done = -1;
  if (c == NULL || core_take_tensors(args, &l) < 0) {
  } else if (report == NULL && core_at_once(nx_realize(c, l.items, l.n, &core_briefly))) {
    done = 0;
  } else {
    core_action a;
    core_begin(&a);
    a.options.report = report;
    done = core_end(&a, nx_realize(c, l.items, l.n, &a.options));
  }
  core_list_free(&l);
  return done;
}

static PyObject *realize(PyObject *self, PyObject *args) {
  (void)self;
  return realize_all(args, NULL) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *report(PyObject *self, PyObject *args) {
  (void)self;
  nx_report r = {.size = sizeof r};
  if (realize_all(args, &r) < 0) return NULL;
#define COUNT(field) #field, (unsigned long long)r.field
  return Py_BuildValue(
      "{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:d,s:d,s:d,s:d,s:d,s:s}", COUNT(nodes),
      COUNT(kernels), COUNT(library_calls), COUNT(runs), COUNT(interpreted), COUNT(plan_hits),
      COUNT(plan_misses), COUNT(kernel_hits), COUNT(kernel_disk_hits), COUNT(kernel_misses),
      COUNT(bytes), COUNT(planned_bytes), COUNT(peak_bytes), "record_ms", r.record_ms, "plan_ms",
      r.plan_ms, "compile_ms", r.compile_ms, "run_ms", r.run_ms, "total_ms", r.total_ms,
      "miss_reason", r.miss_reason);
#undef COUNT
}

static PyObject *dump(PyObject *self, PyObject *args, PyObject *kwargs) {
  (void)self;
  static char *names[] = {"arrays", "stage", NULL};
  const char *stage = "graph";
  PyObject *of;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|s", names, &of, &stage)) return NULL;
  core_list l = {.items = l.room};
  char *text = NULL;
  PyObject *made = NULL;
  bool taken = core_take_tensors(of, &l) == 0;
  if (taken && l.n == 0) PyErr_SetString(PyExc_ValueError, "nx: there are no arrays to dump");
  else if (taken) {
    core_action a;
    core_begin(&a);
    if (core_end(&a, nx_dump(l.items, l.n, stage, &text)) == 0) made = PyUnicode_FromString(text);
    nx_string_free(text);
  }
  core_list_free(&l);
  return made;
}

static PyObject *stats(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  nx_stats s = {.size = sizeof s};
  if (core_context() == NULL) return NULL;
  nx_context_stats(core_context(), &s);
  return Py_BuildValue(
      "{s:K,s:K,s:K,s:K,s:K,s:K}", "pending_nodes", (unsigned long long)s.pending_nodes,
      "pending_bytes", (unsigned long long)s.pending_bytes, "live_bytes",
      (unsigned long long)s.live_bytes, "peak_bytes", (unsigned long long)s.peak_bytes,
      "kernels_compiled", (unsigned long long)s.kernels_compiled, "kernels_generic",
      (unsigned long long)s.kernels_generic);
}

static PyObject *devices(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  nx_context *c = core_context();
  PyObject *l = c ? PyList_New(0) : NULL;
  for (nx_device i = 0; l != NULL && i < nx_device_count(c); i++) {
    nx_device_info d = {.size = sizeof d};
    nx_device_describe(c, i, &d);
    PyObject *row = Py_BuildValue("(sNs)", d.name, PyBool_FromLong(d.available), d.reason);
    if (row == NULL || PyList_Append(l, row) < 0) Py_CLEAR(l);
    Py_XDECREF(row);
  }
  return l;
}

static PyMethodDef functions[] = {
    {"hooks", (PyCFunction)(void (*)(void))hooks, METH_VARARGS | METH_KEYWORDS, NULL},
    {"dtype", dtype, METH_O, "The DType that an object names."},
    {"promote", (PyCFunction)(void (*)(void))promote, METH_FASTCALL,
     "The dtype of an operation on two."},
    {"result_type", (PyCFunction)(void (*)(void))result_type, METH_FASTCALL,
     "The dtype of an operation on arrays, dtypes and Python numbers."},
    {"check_index", (PyCFunction)(void (*)(void))core_check_index, METH_FASTCALL,
     "check_index(x, extent, axis, given): IndexError if x has values that are no places there."},
    {"strong", strong, METH_O, "x; where it is an array that is a number, an array."},
    {"shapes", (PyCFunction)(void (*)(void))shapes, METH_FASTCALL,
     "A key of the shapes of arrays of one dtype; None of others."},
    {"array", (PyCFunction)(void (*)(void))array, METH_VARARGS | METH_KEYWORDS,
     "An array of any object."},
    {"from_dlpack", (PyCFunction)(void (*)(void))from_dlpack, METH_VARARGS | METH_KEYWORDS,
     "An array over what another library exports."},
    {"full", (PyCFunction)(void (*)(void))full, METH_VARARGS | METH_KEYWORDS, NULL},
    {"empty", (PyCFunction)(void (*)(void))empty, METH_VARARGS | METH_KEYWORDS, NULL},
    {"realize", realize, METH_VARARGS, "Computes the values of arrays, in one run."},
    {"report", report, METH_VARARGS, "Computes arrays, and says in numbers what was done."},
    {"dump", (PyCFunction)(void (*)(void))dump, METH_VARARGS | METH_KEYWORDS,
     "What realising arrays would run, as text of one stage."},
    {"place", core_place, METH_O,
     "Number of the storage, offset, address or 0, whether others know that."},
    {"stats", stats, METH_NOARGS, "What the library holds at the moment."},
    {"devices", devices, METH_NOARGS, "(name, available, reason) of each device."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "nx._core", .m_size = -1, .m_methods = functions};

PyMODINIT_FUNC PyInit__core(void) {
  PyObject *m = is_owner() ? PyModule_Create(&definition) : NULL;
  if (m == NULL) return NULL;
  if (PyModule_AddStringConstant(m, "version", nx_version()) == 0 && core_dtype_init(m) == 0 &&
      core_error_init(m) == 0 && core_array_init(m) == 0 && core_windows_init(m) == 0 &&
      core_lending_init(m) == 0 && core_calls_init(m) == 0 && core_threads_init(m) == 0 &&
      core_custom_init(m) == 0 && core_action_init(m) == 0 && core_files_init(m) == 0 &&
      core_function_init(m) == 0 && core_guard_init(m) == 0)
    return m;
  Py_DECREF(m);
  return NULL;
}
