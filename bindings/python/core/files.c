/* SPDX-License-Identifier: ISC */
/* Files: .npy, the archives .npz and .safetensors, and arrays in files of no format. What is loaded
 * is mapped, and read when it is needed. */
#include "core.h"

/* A path, a new reference of bytes; NULL with an exception. */
static PyObject *path_of(PyObject *o) {
  PyObject *bytes = NULL;
  return PyUnicode_FSConverter(o, &bytes) ? bytes : NULL;
}

static PyObject *load_npy(PyObject *self, PyObject *o) {
  (void)self;
  PyObject *path = core_context() ? path_of(o) : NULL;
  if (path == NULL) return NULL;
  const char *text = PyBytes_AsString(path);
  nx_context *c = core_context();
  nx_tensor *x = NULL;
  nx_status status;
  core_mark();
  Py_BEGIN_ALLOW_THREADS status = nx_load_npy(c, text, &x);
  Py_END_ALLOW_THREADS Py_DECREF(path);
  return status == NX_OK ? core_wrap(x) : core_fail();
}

static PyObject *save_npy(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *array, *to;
  if (!PyArg_ParseTuple(args, "O!O", core_array_type, &array, &to)) return NULL;
  PyObject *path = path_of(to);
  if (path == NULL) return NULL;
  core_action a;
  if (core_settle_element((core_array *)array) < 0) return Py_DECREF(path), NULL;
  core_begin(&a);
  int done = core_end(&a, nx_save_npy(core_tensor(array), PyBytes_AsString(path), &a.options));
  Py_DECREF(path);
  return done < 0 ? NULL : Py_NewRef(Py_None);
}

/* ---- archives */

static int load_member(nx_archive *from, const char *name, PyObject *into) {
  nx_tensor *x = NULL;
  core_action a;
  core_mark();
  core_begin(&a);
  if (core_end(&a, nx_archive_load(from, core_context(), name, &a.options, &x)) < 0) return -1;
  PyObject *array = core_wrap(x);
  int status = array ? PyDict_SetItemString(into, name, array) : -1;
  Py_XDECREF(array);
  return status;
}

static int load_metadata(nx_archive *from, PyObject *into) {
  size_t n = nx_archive_metadata(from, 0, NULL, NULL);
  for (size_t i = 0; i < n; i++) {
    const char *key = NULL, *value = NULL;
    nx_archive_metadata(from, i, &key, &value);
    PyObject *text = PyUnicode_FromString(value);
    int status = text ? PyDict_SetItemString(into, key, text) : -1;
    Py_XDECREF(text);
    if (status < 0) return -1;
  }
  return 0;
}

static int load_members(nx_archive *from, PyObject *names, PyObject *into) {
  if (names == Py_None) {
    for (size_t i = 0; i < nx_archive_count(from); i++)
      if (load_member(from, nx_archive_name(from, i), into) < 0) return -1;
    return 0;
  }
  Py_ssize_t n = PySequence_Size(names);
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *name = PySequence_GetItem(names, i);
    const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    int status = text ? load_member(from, text, into) : -1;
    Py_XDECREF(name);
    if (status < 0) return -1;
  }
  return n < 0 ? -1 : 0;
}

static PyObject *load_archive(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *of, *names = Py_None;
  nx_archive *from = NULL;
  if (!PyArg_ParseTuple(args, "O|O", &of, &names) || core_context() == NULL) return NULL;
  PyObject *path = path_of(of);
  if (path == NULL) return NULL;
  nx_status status = nx_archive_open(PyBytes_AsString(path), &from);
  Py_DECREF(path);
  if (status != NX_OK) return core_fail();
  PyObject *arrays = PyDict_New(), *metadata = PyDict_New(), *made = NULL;
  if (arrays != NULL && metadata != NULL && load_members(from, names, arrays) == 0 &&
      load_metadata(from, metadata) == 0)
    made = PyTuple_Pack(2, arrays, metadata);
  nx_archive_close(from);
  Py_XDECREF(arrays);
  Py_XDECREF(metadata);
  return made;
}

/* ---- saving archives: lists of pairs, which point into the dictionaries */

static nx_named_tensor *named(PyObject *arrays, size_t n) {
  nx_named_tensor *list = PyMem_Calloc(n + 1, sizeof *list);
  PyObject *key, *value;
  Py_ssize_t at = 0;
  for (size_t i = 0; list != NULL && PyDict_Next(arrays, &at, &key, &value); i++) {
    list[i].name = PyUnicode_AsUTF8AndSize(key, NULL);
    if (list[i].name != NULL && core_take_tensor(value, false, &list[i].tensor) == 0) continue;
    PyMem_Free(list);
    return NULL;
  }
  return list != NULL ? list : (PyErr_NoMemory(), NULL);
}

static nx_text_pair *pairs(PyObject *texts, size_t n) {
  nx_text_pair *list = PyMem_Calloc(n + 1, sizeof *list);
  PyObject *key, *value;
  Py_ssize_t at = 0;
  for (size_t i = 0; list != NULL && PyDict_Next(texts, &at, &key, &value); i++) {
    list[i].key = PyUnicode_AsUTF8AndSize(key, NULL);
    list[i].value = list[i].key ? PyUnicode_AsUTF8AndSize(value, NULL) : NULL;
    if (list[i].value != NULL) continue;
    PyMem_Free(list);
    return NULL;
  }
  return list != NULL ? list : (PyErr_NoMemory(), NULL);
}

/* The dictionaries are the caller's own: nobody else changes them meanwhile. */
static PyObject *save_safetensors(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *to, *arrays, *metadata;
  if (!PyArg_ParseTuple(args, "OO!O!", &to, &PyDict_Type, &arrays, &PyDict_Type, &metadata))
    return NULL;
  size_t n = (size_t)PyDict_Size(arrays), m = (size_t)PyDict_Size(metadata);
  PyObject *path = core_context() ? path_of(to) : NULL;
  nx_named_tensor *tensors = path ? named(arrays, n) : NULL;
  nx_text_pair *texts = tensors ? pairs(metadata, m) : NULL;
  int done = -1;
  if (texts != NULL) {
    nx_context *c = core_context();
    core_action a;
    core_begin(&a);
    done = core_end(
        &a, nx_save_safetensors(c, PyBytes_AsString(path), tensors, n, texts, m, &a.options));
  }
  PyMem_Free(texts);
  PyMem_Free(tensors);
  Py_XDECREF(path);
  return done < 0 ? NULL : Py_NewRef(Py_None);
}

/* ---- arrays in files of no format */

static PyObject *import_file(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *of, *type, *extents;
  unsigned mode, flags;
  long long offset;
  int64_t shape[NX_MAX_RANK];
  if (!PyArg_ParseTuple(args, "OOOIIL", &of, &type, &extents, &mode, &flags, &offset)) return NULL;
  nx_import_file_desc d = {.size = sizeof d, .mode = mode, .flags = flags, .offset = offset};
  d.dtype = core_dtype_of(type);
  d.rank = d.dtype ? core_integers(extents, shape, NX_MAX_RANK, "a shape") : -1;
  PyObject *path = d.rank >= 0 && core_context() ? path_of(of) : NULL;
  if (path == NULL) return NULL;
  d.shape = shape;
  d.path = PyBytes_AsString(path);
  nx_tensor *x = NULL;
  core_mark();
  nx_status status = nx_import_file(core_context(), &d, &x);
  Py_DECREF(path);
  return status == NX_OK ? core_wrap(x) : core_fail();
}

static PyMethodDef functions[] = {
    {"load_npy", load_npy, METH_O, "load_npy(path)"},
    {"save_npy", save_npy, METH_VARARGS, "save_npy(array, path)"},
    {"load_archive", load_archive, METH_VARARGS, "load_archive(path, names): arrays and metadata."},
    {"save_safetensors", save_safetensors, METH_VARARGS,
     "save_safetensors(path, arrays, metadata)"},
    {"import_file", import_file, METH_VARARGS,
     "import_file(path, dtype, shape, mode, flags, offset)"},
    {NULL, NULL, 0, NULL}};

int core_files_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
