/* SPDX-License-Identifier: ISC */
/* Exceptions of failures, and the lines of Python that recorded what failed.
 *
 * A tag is the number of a code object and the position in its bytes; the line is looked up only
 * for an error. Code objects are kept, so that a number means one of them for ever. */
#include "core.h"

#include <dlfcn.h>
#include <string.h>

/* ---- where something was recorded */

enum { MOST_CODES = 1 << 16 };

typedef struct code_entry {
  PyObject *code; /* a reference */
  bool own;       /* of this package: its caller is meant */
} code_entry;

static code_entry *codes;
static uint32_t n_codes, room;   /* entries by number */
static uint32_t *table, n_table; /* numbers + 1 by address */
static PyObject *name_lasti, *name_back, *own_folder;

/* PyFrame_GetLasti, which Python has since 3.11, and which is no part of the stable ABI; NULL: the
 * attribute says the same, by an object and its number. */
static int (*position_in)(PyFrameObject *);

/* The folder of this package, with a slash behind it; known when its module has been loaded. */
static void find_folder(void) {
  PyObject *module = PyImport_ImportModule("nx._core"); /* .../nx/_core.abi3.so */
  PyObject *file = module ? PyObject_GetAttrString(module, "__file__") : NULL;
  Py_ssize_t n = file ? PyUnicode_GetLength(file) : -1;
  Py_ssize_t slash = n > 0 ? PyUnicode_FindChar(file, '/', 0, n, -1) : -1;
  own_folder = slash >= 0 ? PyUnicode_Substring(file, 0, slash + 1) : NULL;
  Py_XDECREF(module);
  Py_XDECREF(file);
}

static bool is_own(PyObject *code) {
  if (own_folder == NULL) find_folder();
  PyObject *file = PyObject_GetAttrString(code, "co_filename");
  bool own = file != NULL && own_folder != NULL &&
             PyUnicode_Tailmatch(file, own_folder, 0, PY_SSIZE_T_MAX, -1) == 1;
  Py_XDECREF(file);
  PyErr_Clear();
  return own;
}

static bool grow_table(void) {
  uint32_t n = n_table == 0 ? 256 : n_table * 2;
  uint32_t *t = PyMem_Calloc(n, sizeof *t);
  if (t == NULL) return false;
  for (uint32_t i = 0; i < n_codes; i++) {
    uint32_t at = (uint32_t)((uintptr_t)codes[i].code >> 4) & (n - 1);
    while (t[at] != 0) at = (at + 1) & (n - 1);
    t[at] = i + 1;
  }
  PyMem_Free(table);
  table = t;
  n_table = n;
  return true;
}

static bool grow_codes(void) {
  uint32_t n = room == 0 ? 64 : room * 2;
  code_entry *c = PyMem_Realloc(codes, n * sizeof *c);
  if (c == NULL) return false;
  codes = c;
  room = n;
  return true;
}

/* The number of a code object, counted from 1; 0: there are too many. */
static uint32_t number_of(PyObject *code) {
  if (n_table > 0) {
    uint32_t at = (uint32_t)((uintptr_t)code >> 4) & (n_table - 1);
    for (; table[at] != 0; at = (at + 1) & (n_table - 1))
      if (codes[table[at] - 1].code == code) return table[at];
  }
  if (n_codes >= MOST_CODES || (n_codes == room && !grow_codes())) return 0;
  if (n_codes * 2 >= n_table && !grow_table()) return 0;
  codes[n_codes] = (code_entry){Py_NewRef(code), is_own(code)};
  uint32_t at = (uint32_t)((uintptr_t)code >> 4) & (n_table - 1);
  while (table[at] != 0) at = (at + 1) & (n_table - 1);
  return table[at] = ++n_codes;
}

/* The frame that called this one, a new reference; NULL: none. Takes it. */
static PyObject *caller_of(PyObject *frame) {
  PyObject *back = PyObject_GetAttr(frame, name_back);
  Py_DECREF(frame);
  if (back == Py_None) Py_CLEAR(back);
  PyErr_Clear();
  return back;
}

static uint32_t position_of(PyObject *frame) {
  if (position_in != NULL) return (uint32_t)position_in((PyFrameObject *)frame);
  PyObject *at = PyObject_GetAttr(frame, name_lasti);
  uint32_t position = at != NULL ? (uint32_t)PyLong_AsLong(at) : 0;
  Py_XDECREF(at);
  PyErr_Clear();
  return position;
}

/* The tag of the line of Python that runs; 0: there is none. */
static uint64_t tag_here(void) {
  PyObject *frame = (PyObject *)PyThreadState_GetFrame(PyThreadState_Get());
  uint64_t tag = 0;
  while (frame != NULL) {
    PyObject *code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
    uint32_t number = number_of(code);
    Py_DECREF(code);
    if (number == 0) break;
    if (codes[number - 1].own) {
      frame = caller_of(frame);
      continue;
    }
    tag = (uint64_t)number << 32 | position_of(frame);
    break;
  }
  Py_XDECREF(frame);
  return tag;
}

void core_mark(void) { nx_tag_set(tag_here(), NULL); }

/* The line of an offset in the bytes of a code object, by co_lines: (start, end, line). */
static long line_of(PyObject *code, uint32_t offset) {
  PyObject *lines = PyObject_CallMethod(code, "co_lines", NULL), *item;
  long found = -1;
  while (lines != NULL && found < 0 && (item = PyIter_Next(lines)) != NULL) {
    long start = PyLong_AsLong(PyTuple_GetItem(item, 0)),
         end = PyLong_AsLong(PyTuple_GetItem(item, 1));
    PyObject *line = PyTuple_GetItem(item, 2);
    if ((long)offset >= start && (long)offset < end && line != Py_None) found = PyLong_AsLong(line);
    Py_DECREF(item);
  }
  Py_XDECREF(lines);
  PyErr_Clear();
  return found;
}

/* (file, line, function) of a tag, a new reference; None where there is none. */
static PyObject *where_of(uint64_t tag) {
  uint32_t number = (uint32_t)(tag >> 32);
  if (number == 0 || number > n_codes) return Py_NewRef(Py_None);
  PyObject *code = codes[number - 1].code;
  PyObject *file = PyObject_GetAttrString(code, "co_filename"),
           *name = PyObject_GetAttrString(code, "co_name");
  PyObject *where =
      file && name ? Py_BuildValue("(OlO)", file, line_of(code, (uint32_t)tag), name) : NULL;
  Py_XDECREF(file);
  Py_XDECREF(name);
  if (where == NULL) PyErr_Clear();
  return where != NULL ? where : Py_NewRef(Py_None);
}

/* ---- classes */

static PyObject *base_class, *classes[32], *too_deep; /* of NX_INVALID_ARGUMENT, by its sentence */

static const struct row {
  nx_status status;
  const char *name, *doc;
  PyObject **builtin;
} rows[] = {
    {NX_INVALID_ARGUMENT, "InvalidArgument", "An argument does not fit.", &PyExc_ValueError},
    {NX_UNSUPPORTED_DTYPE, "UnsupportedDtype", "The operation does not take this dtype.",
     &PyExc_TypeError},
    {NX_NEEDS_COPY, "NeedsCopy", "Strides cannot express the view.", &PyExc_ValueError},
    {NX_INDEX_OUT_OF_RANGE, "IndexOutOfRange", "An index is outside its axis.", &PyExc_IndexError},
    {NX_NOT_POSITIVE_DEFINITE, "LinAlgError", "A matrix cannot be factored.", &PyExc_ValueError},
    {NX_OUT_OF_MEMORY, "OutOfMemory", "Memory is exhausted.", &PyExc_MemoryError},
    {NX_NOT_WRITABLE, "NotWritable", "The memory is read only.", &PyExc_ValueError},
    {NX_UNBOUND, "Unbound", "A value is asked for that a function's input decides.",
     &PyExc_ValueError},
    {NX_DONATED, "Donated", "The array was given to a call.", &PyExc_ValueError},
    {NX_DEVICE_UNAVAILABLE, "DeviceUnavailable", "The device is not there.", &PyExc_RuntimeError},
    {NX_DEVICE_LOST, "DeviceLost", "The device stopped working.", &PyExc_RuntimeError},
    {NX_COMPILE_FAILED, "CompileFailed", "A kernel could not be compiled.", &PyExc_RuntimeError},
    {NX_IO, "IOFailure", "A file could not be read or written.", &PyExc_OSError},
    {NX_PARSE, "ParseError", "A text or file is malformed.", &PyExc_ValueError},
    {NX_INTERNAL, "InternalError", "The library found a fault of its own.", &PyExc_RuntimeError},
    {NX_TIMED_OUT, "TimedOut", "Another member of a group did not come.", &PyExc_RuntimeError},
};

static int add_class(PyObject *module, const struct row *row, PyObject **to) {
  char name[64] = "nx.";
  strncat(name, row->name, sizeof name - 4);
  PyObject *bases = PyTuple_Pack(2, base_class, *row->builtin);
  PyObject *made = bases ? PyErr_NewExceptionWithDoc(name, row->doc, bases, NULL) : NULL;
  Py_XDECREF(bases);
  if (made == NULL) return -1;
  *to = made;
  return PyModule_AddObjectRef(module, row->name, made);
}

int core_error_init(PyObject *module) {
  base_class = PyErr_NewExceptionWithDoc(
      "nx.Error",
      "A failure of nx: `status`, `op`, `operand`, `index`, and `where` (file, line, function).",
      NULL, NULL);
  if (base_class == NULL || PyModule_AddObjectRef(module, "Error", base_class) < 0) return -1;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (add_class(module, &rows[i], &classes[rows[i].status]) < 0) return -1;
  static const struct row deep = {NX_INVALID_ARGUMENT, "TooDeep",
                                  "Functions of nx.custom call each other too deep.",
                                  &PyExc_RecursionError};
  if (add_class(module, &deep, &too_deep) < 0) return -1;
  classes[NX_SINGULAR] = classes[NX_NO_CONVERGENCE] = classes[NX_NOT_POSITIVE_DEFINITE];
  name_lasti = PyUnicode_InternFromString("f_lasti");
  name_back = PyUnicode_InternFromString("f_back");
  *(void **)(void *)&position_in = dlsym(RTLD_DEFAULT, "PyFrame_GetLasti");
  return name_lasti != NULL && name_back != NULL ? 0 : -1;
}

PyObject *core_error_class(nx_status status) {
  PyObject *found = (unsigned)status < 32 ? classes[status] : NULL;
  return found != NULL ? found : base_class;
}

/* ---- raising */

/* The sentence, and where it was recorded if that is not where it is raised. */
static PyObject *sentence(const nx_error *e, PyObject *where, bool later) {
  const char *hint = e->status == NX_UNBOUND
                         ? "; what a captured function does cannot depend on values of its "
                           "arguments: use nx.where, or name the argument in `static`"
                         : "";
  if (!later || !PyTuple_Check(where)) return PyUnicode_FromFormat("%s%s", e->message, hint);
  return PyUnicode_FromFormat("%s%s (recorded in %U, line %S)", e->message, hint,
                              PyTuple_GetItem(where, 0), PyTuple_GetItem(where, 1));
}

static PyObject *class_of(const nx_error *e) {
  const bool deep = e->status == NX_INVALID_ARGUMENT && strcmp(e->op, "custom") == 0 &&
                    strstr(e->message, "calls are nested deeper") != NULL;
  return deep ? too_deep : core_error_class(e->status);
}

/* The exception of a function of Python, with a note of where its call was recorded: once, if it
 * comes through several. */
static void note(PyObject *error, PyObject *where) {
  if (!PyTuple_Check(where)) return;
  PyObject *text = PyUnicode_FromFormat("nx.custom: recorded in %U, line %S",
                                        PyTuple_GetItem(where, 0), PyTuple_GetItem(where, 1));
  PyObject *notes = PyObject_GetAttrString(error, "__notes__");
  PyErr_Clear();
  int there = notes && text ? PySequence_Contains(notes, text) : 0;
  PyErr_Clear();
  PyObject *done = text && there == 0 ? PyObject_CallMethod(error, "add_note", "O", text) : NULL;
  PyErr_Clear();
  if (!PyObject_HasAttrString(error, "where")) PyObject_SetAttrString(error, "where", where);
  PyErr_Clear(); /* a class of the function's own may refuse either */
  Py_XDECREF(done);
  Py_XDECREF(notes);
  Py_XDECREF(text);
}

static int set(PyObject *error, const char *name, PyObject *value) {
  int status = value ? PyObject_SetAttrString(error, name, value) : -1;
  Py_XDECREF(value);
  return status;
}

/* Raises an exception of a failure; takes `where` and the index. */
static void raise_at(const nx_error *e, PyObject *index, PyObject *where, bool later) {
  PyObject *text = sentence(e, where, later);
  PyObject *class = class_of(e), *error = text ? core_call(class, text) : NULL;
  Py_XDECREF(text);
  if (error != NULL && set(error, "status", PyUnicode_FromString(nx_status_name(e->status))) == 0 &&
      set(error, "op", PyUnicode_FromString(e->op)) == 0 &&
      set(error, "operand", PyLong_FromLong(e->operand)) == 0 &&
      set(error, "index", Py_XNewRef(index)) == 0 && set(error, "where", Py_NewRef(where)) == 0)
    PyErr_SetObject(class, error);
  Py_XDECREF(error);
  Py_XDECREF(index);
  Py_DECREF(where);
}

static void raise_as(const nx_error *e, PyObject *where, bool later) {
  raise_at(e, PyLong_FromLongLong(e->index), where, later);
}

static PyObject *fail(bool later) {
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  if (PyErr_Occurred()) return NULL; /* of a signal, or of Python that the library called */
  if (e.status == NX_OK)
    return PyErr_Format(PyExc_SystemError, "nx: a call failed without a reason");
  PyObject *where = where_of(e.tag), *raised = core_take_pending(e.message);
  if (raised != NULL) {
    note(raised, where);
    PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
    Py_DECREF(raised);
    Py_DECREF(where);
    return NULL;
  }
  raise_as(&e, where, later);
  return NULL;
}

PyObject *core_fail_index(int64_t index, bool is_signed, int32_t axis, int64_t extent) {
  char message[128], number[24];
  const nx_error e = {.size = sizeof e,
                      .status = NX_INDEX_OUT_OF_RANGE,
                      .op = "gather",
                      .message = message,
                      .operand = 1};
  PyOS_snprintf(number, sizeof number, is_signed ? "%lld" : "%llu", (long long)index);
  PyOS_snprintf(message, sizeof message, "nx: index %s is outside axis %d of %lld elements", number,
                axis, (long long)extent);
  PyObject *of = is_signed ? PyLong_FromLongLong(index) : PyLong_FromUnsignedLongLong(index);
  raise_at(&e, of, where_of(tag_here()), false);
  return NULL;
}

PyObject *core_fail(void) { return fail(false); }
PyObject *core_fail_later(void) { return fail(true); }
