/* SPDX-License-Identifier: ISC */
/* Captured functions. The first call with arguments of a structure, of dtypes and shapes captures
 * what the function records, every later one runs that. Numbers among the arguments are inputs,
 * whose value may change; strings, flags of other types and the like are part of what was captured.
 * Within a capture a captured function is what it is without: its operations are recorded. So it is
 * where it assigns to an array that is also another argument, or that it reads from outside: an
 * input of a captured function is a value of its own, and would not show the assignment. */
#include "core.h"

#include "guard.h"
#include "inputs.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

/* An array among the results. */
typedef struct leaf {
  int32_t argument; /* that it is, whatever was assigned to it; or -1 and */
  int32_t earlier;  /* the leaf that is the same array; or -1: the next output */
  bool weak;
} leaf;

/* What one capture has made. */
typedef struct trace {
  PyObject_HEAD nx_function *function;
  PyObject *result;   /* its structure, with a 0 for each leaf */
  PyObject *recorded; /* the functions of Python that it calls, a list, or NULL */
  leaf *leaves;
  Py_ssize_t n_leaves, n_out;
  core_guards *guards; /* the numbers that it is valid for */
} trace;

static PyTypeObject *jit_type, *trace_type;

static void trace_dealloc(PyObject *self) {
  trace *t = (trace *)self;
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  nx_function_release(t->function);
  Py_XDECREF(t->result);
  Py_XDECREF(t->recorded);
  PyMem_Free(t->leaves);
  core_guards_release(t->guards);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

static int trace_traverse(PyObject *self, visitproc visit, void *arg) {
  trace *t = (trace *)self;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(t->result);
  Py_VISIT(t->recorded);
  return core_visit_recorded(t->recorded, visit, arg);
}

static trace *new_trace(void) {
  trace *t = PyObject_GC_New(trace, trace_type);
  if (t == NULL) return NULL;
  t->function = NULL;
  t->result = t->recorded = NULL;
  t->leaves = NULL;
  t->guards = NULL;
  t->n_leaves = t->n_out = 0;
  PyObject_GC_Track((PyObject *)t);
  return t;
}

/* ---- capturing */

/* A placeholder for each leaf. */
static PyObject *placeholders(const core_tree *t, core_guards *g) {
  PyObject *l = PyList_New((Py_ssize_t)t->n);
  for (size_t i = 0; l != NULL && i < t->n; i++) {
    nx_tensor *x = t->tensors[i];
    PyObject *p = core_wrap(
        nx_placeholder(core_context(), nx_device_of(x), nx_dtype_of(x), nx_shape(x), nx_rank(x)));
    if (p == NULL) {
      Py_CLEAR(l);
      break;
    }
    ((core_array *)p)->weak = t->leaves[i] == NULL || core_is_weak(t->leaves[i]);
    PyList_SetItem(l, (Py_ssize_t)i, p);
    if (core_guard_leaf(g, i, p) < 0) {
      Py_CLEAR(l);
      break;
    }
  }
  return l;
}

/* What the function gets for them: of some numbers their value. */
static PyObject *shown_for(const core_guards *g, PyObject *inputs) {
  PyObject *l = inputs ? PyList_New((Py_ssize_t)g->n) : NULL;
  for (size_t i = 0; l != NULL && i < g->n; i++) {
    PyObject *o = core_guard_shown(g, i, PyList_GetItem(inputs, (Py_ssize_t)i));
    if (o == NULL) Py_CLEAR(l);
    else PyList_SetItem(l, (Py_ssize_t)i, o);
  }
  return l;
}

/* Which leaves belong to donated arguments: a byte for each, NULL if none does. */
static uint8_t *donated_leaves(const jitted *j, PyObject *args, size_t n, bool *failed) {
  if (PyTuple_Size(j->donated) == 0) return NULL;
  uint8_t *flags = PyMem_Calloc(n + 1, 1);
  size_t at = 0;
  *failed = flags == NULL;
  for (Py_ssize_t i = 0; !*failed && i < PyTuple_Size(args); i++) {
    core_tree part = {0};
    int among = -1;
    PyObject *number = PyLong_FromSsize_t(i);
    if (number != NULL) among = PySequence_Contains(j->donated, number);
    *failed = among < 0 || core_tree_add(&part, PyTuple_GetItem(args, i), true) < 0;
    for (size_t k = 0; !*failed && among > 0 && k < part.n; k++)
      flags[at + k] = part.leaves[k] != NULL;
    at += part.n;
    core_tree_free(&part);
    Py_XDECREF(number);
  }
  return flags;
}

static PyObject *structure_of(PyObject *result, size_t n) {
  PyObject *zeros = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; zeros != NULL && i < n; i++)
    PyList_SetItem(zeros, (Py_ssize_t)i, PyLong_FromLong(0));
  Py_ssize_t at = 0;
  PyObject *made = zeros ? core_tree_with(result, zeros, &at, true) : NULL;
  Py_XDECREF(zeros);
  return made;
}

/* The argument that the caller still has, and that a result is; -1: none. */
static int32_t argument_of(PyObject *result, const core_tree *in, const uint8_t *donate) {
  for (size_t k = 0; k < in->n; k++)
    if (result == in->leaves[k] && !core_is_weak(result) && (donate == NULL || !donate[k]))
      return (int32_t)k;
  return -1;
}

static int32_t earlier_than(const core_tree *out, size_t i) {
  for (size_t k = 0; out->leaves[i] != NULL && k < i; k++)
    if (out->leaves[k] == out->leaves[i]) return (int32_t)k;
  return -1;
}

static int describe_leaves(trace *t, const core_tree *in, const core_tree *out,
                           const uint8_t *donate) {
  t->n_leaves = (Py_ssize_t)out->n;
  t->leaves = PyMem_Calloc(out->n + 1, sizeof *t->leaves);
  if (t->leaves == NULL) return PyErr_NoMemory(), -1;
  for (size_t i = 0; i < out->n; i++) {
    PyObject *o = out->leaves[i]; /* NULL: a number */
    t->leaves[i] = (leaf){o != NULL ? argument_of(o, in, donate) : -1, earlier_than(out, i),
                          o == NULL || core_is_weak(o)};
  }
  return 0;
}

/* The tensors of the results that are outputs, in their order. */
static nx_tensor **outputs_of(trace *t, const core_tree *out) {
  nx_tensor **of = PyMem_Calloc(out->n + 1, sizeof *of);
  if (of == NULL) PyErr_NoMemory();
  for (size_t i = 0; of != NULL && i < out->n; i++)
    if (t->leaves[i].argument < 0 && t->leaves[i].earlier < 0) of[t->n_out++] = out->tensors[i];
  return of;
}

/* Numbers that the function has given become arrays. */
static PyObject *finish_trace(jitted *j, PyObject *args, PyObject *inputs, PyObject *result) {
  core_tree in = {0}, out = {.results = true};
  trace *t = new_trace();
  if (t == NULL) return NULL;
  bool failed = core_tree_add(&in, inputs, false) < 0 || core_tree_add(&out, result, true) < 0;
  t->result = failed ? NULL : structure_of(result, out.n);
  failed = failed || t->result == NULL;
  uint8_t *donate = failed ? NULL : donated_leaves(j, args, in.n, &failed);
  failed = failed || describe_leaves(t, &in, &out, donate) < 0;
  nx_tensor **of = failed ? NULL : outputs_of(t, &out);
  failed = of == NULL;
  PyObject *name = failed ? NULL : PyUnicode_AsUTF8String(j->name);
  if (name != NULL) {
    nx_function_options o = {.size = sizeof o, .name = PyBytes_AsString(name), .donate = donate};
    if (nx_function_create(core_context(), in.tensors, in.n, of, (size_t)t->n_out, &o,
                           &t->function) != NX_OK)
      core_fail();
  }
  PyMem_Free(of);
  Py_XDECREF(name);
  PyMem_Free(donate);
  core_tree_free(&in);
  core_tree_free(&out);
  if (t->function == NULL) Py_CLEAR(t);
  return (PyObject *)t;
}

static PyObject *capture(jitted *j, const core_tree *given, core_guards *g, PyObject *args,
                         PyObject *kwargs) {
  PyObject *inputs = placeholders(given, g), *shown = shown_for(g, inputs);
  PyObject *made = NULL, *result = NULL, *a = NULL, *k = NULL;
  PyObject *recorded = PyList_New(0);
  if (recorded != NULL && shown != NULL &&
      core_with_arguments(j, args, kwargs, shown, &a, &k) == 0) {
    core_gathering gathered;
    core_gather(&gathered, recorded);
    if (core_guard_begin(g)) {
      result = PyObject_Call(j->function, a, k);
      core_guard_end(g);
    }
    core_gather_end(&gathered);
  }
  if (result != NULL && !g->again && core_check_arguments(j, given, a, k, shown) == 0)
    made = finish_trace(j, args, inputs, result);
  if (made != NULL && PyList_Size(recorded) > 0) ((trace *)made)->recorded = Py_NewRef(recorded);
  Py_XDECREF(a);
  Py_XDECREF(k);
  Py_XDECREF(result);
  if (made ==
      NULL) { /* an exception keeps what was made in frames: the capture ends all the same */
    PyObject *type, *value, *where;
    PyErr_Fetch(&type, &value, &where);
    nx_capture_end(core_context());
    PyErr_Restore(type, value, where);
  }
  Py_XDECREF(recorded);
  Py_XDECREF(shown);
  Py_XDECREF(inputs);
  return made;
}

/* Anew while too little is known of the numbers: what the function raises then is not the
 * caller's, unless it ends the program. */
static PyObject *capture_all(jitted *j, const core_tree *given, PyObject *args, PyObject *kwargs) {
  core_guards *g = core_guards_of(given, NULL);
  PyObject *made = NULL;
  while (g != NULL) {
    made = capture(j, given, g, args, kwargs);
    if (!g->again || (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))) break;
    PyErr_Clear();
    core_guards *next = core_guards_of(given, g);
    core_guards_release(g);
    g = next;
  }
  if (made != NULL) ((trace *)made)->guards = g;
  else core_guards_release(g);
  return made;
}

/* ---- calling */

static PyObject *key_of(const core_tree *t) {
  PyObject *bytes = PyBytes_FromStringAndSize(t->key, (Py_ssize_t)t->n_key);
  if (bytes == NULL || t->fixed == NULL) return bytes;
  PyObject *fixed = PyList_AsTuple(t->fixed), *key = fixed ? PyTuple_Pack(2, bytes, fixed) : NULL;
  Py_XDECREF(fixed);
  Py_DECREF(bytes);
  return key;
}

/* The traces of a key are a list: each is valid for some numbers. */
static trace *find(jitted *j, const core_tree *t, PyObject *args, PyObject *kwargs) {
  PyObject *key = key_of(t);
  if (key == NULL) return NULL;
  PyObject *all = Py_XNewRef(PyDict_GetItemWithError(j->traces, key)), *found = NULL;
  for (Py_ssize_t i = all ? PyList_Size(all) : 0; found == NULL && i-- > 0;) {
    PyObject *o = PyList_GetItem(all, i);
    if (core_guards_hold(((trace *)o)->guards, t)) found = Py_NewRef(o);
  }
  if (found == NULL && !PyErr_Occurred()) found = capture_all(j, t, args, kwargs);
  else {
    Py_XDECREF(all);
    Py_DECREF(key);
    return (trace *)found;
  }
  if (found != NULL && all == NULL) { /* the function may have called itself */
    all = Py_XNewRef(PyDict_GetItemWithError(j->traces, key));
    if (all == NULL && !PyErr_Occurred()) all = PyList_New(0);
    if (all == NULL || PyDict_SetItem(j->traces, key, all) < 0) Py_CLEAR(found);
  }
  if (found != NULL && PyList_Append(all, found) < 0) Py_CLEAR(found);
  Py_XDECREF(all);
  Py_DECREF(key);
  return (trace *)found;
}

/* The leaf that is an output, which it takes, or an argument. */
static PyObject *leaf_of(const leaf *l, const core_tree *in, nx_tensor *out) {
  if (l->argument >= 0) return Py_NewRef(in->leaves[l->argument]);
  PyObject *a = core_wrap(out);
  if (a != NULL) ((core_array *)a)->weak = l->weak;
  return a;
}

/* Takes the outputs. */
static PyObject *results(trace *t, const core_tree *in, nx_tensor **out) {
  if (t->n_leaves == 1 && PyLong_CheckExact(t->result)) return leaf_of(t->leaves, in, out[0]);
  PyObject *leaves = PyList_New(t->n_leaves);
  Py_ssize_t at = 0;
  for (Py_ssize_t i = 0; i < t->n_leaves; i++) {
    leaf l = t->leaves[i];
    bool own = l.argument < 0 && l.earlier < 0;
    if (leaves == NULL) { /* the outputs that are left are released all the same */
      if (own) nx_tensor_release(out[at++]);
      continue;
    }
    PyObject *a = l.earlier >= 0 && l.argument < 0 ? Py_XNewRef(PyList_GetItem(leaves, l.earlier))
                                                   : leaf_of(&l, in, own ? out[at++] : NULL);
    if (a == NULL) Py_CLEAR(leaves);
    else PyList_SetItem(leaves, i, a);
  }
  if (leaves == NULL) return NULL;
  at = 0;
  PyObject *made = core_tree_with(t->result, leaves, &at, true);
  Py_DECREF(leaves);
  return made;
}

static PyObject *run(trace *t, const core_tree *in) {
  nx_tensor *room[16] = {NULL}, **out = room;
  if (t->n_out > 16) out = PyMem_Calloc((size_t)t->n_out, sizeof *out);
  if (out == NULL) return PyErr_NoMemory();
  const size_t n = (size_t)t->n_out;
  bool done =
      core_at_once(nx_function_call(t->function, in->tensors, in->n, out, n, &core_briefly));
  if (!done) {
    core_action a;
    core_begin(&a);
    done = core_end(&a, nx_function_call(t->function, in->tensors, in->n, out, n, &a.options)) == 0;
  }
  PyObject *made = done ? results(t, in, out) : NULL;
  if (out != room) PyMem_Free(out);
  return made;
}

static PyObject *call(PyObject *self, PyObject *args, PyObject *kwargs) {
  jitted *j = (jitted *)self;
  nx_context *c = core_context();
  if (c == NULL) return NULL;
  if (nx_capturing(c)) return PyObject_Call(j->function, args, kwargs);
  if (core_settle_elements() < 0) return NULL; /* the function may assign */
  core_tree t = {0};
  PyObject *made = NULL;
  if (core_add_all(j, &t, args, kwargs) == 0) {
    core_mark();
    trace *of = find(j, &t, args, kwargs);
    if (of != NULL && nx_function_aliases(of->function, t.tensors, t.n))
      made = PyObject_Call(j->function, args, kwargs);
    else if (of != NULL) made = run(of, &t);
    Py_XDECREF((PyObject *)of);
  }
  core_tree_free(&t);
  return made;
}

/* dump(stage, *args, **kwargs) */
static PyObject *dump(PyObject *self, PyObject *all, PyObject *kwargs) {
  jitted *j = (jitted *)self;
  core_tree t = {0};
  PyObject *made = NULL,
           *stage = PyTuple_Size(all) > 0 ? PyUnicode_AsUTF8String(PyTuple_GetItem(all, 0)) : NULL;
  PyObject *args = PyTuple_GetSlice(all, 1, PyTuple_Size(all));
  if (stage == NULL && !PyErr_Occurred())
    PyErr_SetString(PyExc_TypeError, "nx: dump(stage, *arguments)");
  if (stage != NULL && args != NULL && core_context() != NULL &&
      core_add_all(j, &t, args, kwargs) == 0) {
    trace *of = find(j, &t, args, kwargs);
    char *text = NULL;
    if (of != NULL && nx_function_dump(of->function, PyBytes_AsString(stage), &text) != NX_OK)
      core_fail();
    if (text != NULL) made = PyUnicode_FromString(text);
    nx_string_free(text);
    Py_XDECREF((PyObject *)of);
  }
  Py_XDECREF(stage);
  Py_XDECREF(args);
  core_tree_free(&t);
  return made;
}

static PyObject *get_traces(PyObject *self, void *unused) {
  (void)unused;
  PyObject *key, *all;
  Py_ssize_t at = 0, n = 0;
  while (PyDict_Next(((jitted *)self)->traces, &at, &key, &all)) n += PyList_Size(all);
  return PyLong_FromSsize_t(n);
}
static PyObject *repr(PyObject *self) {
  return PyUnicode_FromFormat("<nx.jit of %R>", ((jitted *)self)->function);
}

/* As a method: bound to its object, which is a fixed argument. */
static PyObject *bind(PyObject *self, PyObject *object, PyObject *class) {
  (void)class;
  if (object == NULL || object == Py_None) return Py_NewRef(self);
  PyObject *types = PyImport_ImportModule("types");
  PyObject *made = types ? PyObject_CallMethod(types, "MethodType", "OO", self, object) : NULL;
  Py_XDECREF(types);
  return made;
}

static int traverse(PyObject *self, visitproc visit, void *arg) {
  jitted *j = (jitted *)self;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(j->function);
  Py_VISIT(j->traces);
  Py_VISIT(j->attributes);
  return 0;
}
static int clear(PyObject *self) {
  jitted *j = (jitted *)self;
  Py_CLEAR(j->function);
  Py_CLEAR(j->traces);
  Py_CLEAR(j->attributes);
  return 0;
}
static void dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (((jitted *)self)->weakrefs != NULL) PyObject_ClearWeakRefs(self);
  clear(self);
  Py_CLEAR(((jitted *)self)->donated);
  Py_CLEAR(((jitted *)self)->fixed);
  Py_CLEAR(((jitted *)self)->name);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

static PyObject *name_of(PyObject *function) {
  PyObject *name = PyObject_GetAttrString(function, "__name__");
  if (name != NULL && PyUnicode_Check(name)) return name;
  Py_XDECREF(name);
  PyErr_Clear();
  return PyUnicode_FromString("f");
}

/* What the function is called and says of itself is the captured function's, too. */
static int take_attributes(PyObject *self, PyObject *function) {
  PyObject *tools = PyImport_ImportModule("functools");
  PyObject *done =
      tools ? PyObject_CallMethod(tools, "update_wrapper", "OO", self, function) : NULL;
  Py_XDECREF(done);
  Py_XDECREF(tools);
  return done != NULL ? 0 : -1;
}

/* As functions: a copy is the function itself, and it is pickled by its name. */
static PyObject *copy(PyObject *self, PyObject *unused) {
  (void)unused;
  return Py_NewRef(self);
}
static PyObject *reduce(PyObject *self, PyObject *unused) {
  (void)unused;
  return PyObject_GetAttrString(self, "__qualname__");
}

/* jit(donate=..): what makes a captured function of one. */
static PyObject *later(PyObject *self, PyObject *donate, PyObject *fixed) {
  PyObject *tools = PyImport_ImportModule("functools");
  PyObject *partial = tools ? PyObject_GetAttrString(tools, "partial") : NULL;
  PyObject *jit = partial ? PyObject_GetAttrString(self, "jit") : NULL;
  PyObject *args = jit ? PyTuple_Pack(1, jit) : NULL;
  PyObject *words = args ? Py_BuildValue("{s:O,s:O}", "donate", donate, "static", fixed) : NULL;
  PyObject *made = words ? PyObject_Call(partial, args, words) : NULL;
  Py_XDECREF(words);
  Py_XDECREF(args);
  Py_XDECREF(jit);
  Py_XDECREF(partial);
  Py_XDECREF(tools);
  return made;
}

static PyObject *jit(PyObject *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"function", "donate", "static", NULL};
  PyObject *function = NULL, *donate = Py_None, *fixed = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$OO", names, &function, &donate, &fixed))
    return NULL;
  if (function == NULL) return later(self, donate, fixed);
  if (!PyCallable_Check(function))
    return PyErr_Format(PyExc_TypeError, "nx: jit of %R, which is no function", function);
  jitted *j = PyObject_GC_New(jitted, jit_type);
  if (j == NULL) return NULL;
  j->function = Py_NewRef(function);
  j->fixed = j->donated = j->name = j->attributes = j->weakrefs = NULL;
  j->traces = PyDict_New();
  bool good =
      j->traces != NULL && (j->donated = core_chosen(function, donate, false, "donate")) != NULL &&
      (fixed == Py_None || (j->fixed = core_chosen(function, fixed, true, "static")) != NULL) &&
      (j->name = name_of(function)) != NULL;
  PyObject_GC_Track((PyObject *)j);
  good = good && take_attributes((PyObject *)j, function) == 0;
  if (!good) Py_CLEAR(j);
  return (PyObject *)j;
}

/* ---- functions of text */

/* f(arrays): the result, or a tuple of them. */
static PyObject *call_parsed(PyObject *self, PyObject *args, PyObject *kwargs) {
  trace *t = (trace *)self;
  nx_tensor **out = PyMem_Calloc((size_t)t->n_out + 1, sizeof *out);
  core_list l = {.items = l.room};
  PyObject *made = NULL;
  if (kwargs != NULL && PyDict_Size(kwargs) > 0)
    PyErr_SetString(PyExc_TypeError, "nx: inputs of a function of text are given in order");
  else if (out == NULL) PyErr_NoMemory();
  else if (core_settle_elements() == 0 && core_take_tensors(args, &l) == 0) {
    core_mark();
    core_action a;
    core_begin(&a);
    nx_status status =
        nx_function_call(t->function, l.items, l.n, out, (size_t)t->n_out, &a.options);
    if (core_end(&a, status) == 0)
      made = t->n_out == 1 ? core_wrap(out[0]) : core_wrap_all(out, (int)t->n_out);
  }
  core_list_free(&l);
  PyMem_Free(out);
  return made;
}

static PyObject *parse(PyObject *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"", "device", NULL};
  PyObject *text, *device = Py_None;
  (void)self;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U|$O:parse", names, &text, &device)) return NULL;
  const nx_parse_options o = {.size = sizeof o, .device = core_device(device)};
  if (PyErr_Occurred()) return NULL;
  core_mark();
  PyObject *bytes = PyUnicode_AsUTF8String(text);
  trace *t = bytes && core_context() ? new_trace() : NULL;
  if (t == NULL) {
    Py_XDECREF(bytes);
    return NULL;
  }
  nx_function_info info = {.size = sizeof info};
  if (nx_function_parse(core_context(), PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes), &o,
                        &t->function) != NX_OK)
    core_fail();
  nx_function_describe(t->function, &info);
  t->n_leaves = t->n_out = (Py_ssize_t)info.outputs;
  Py_DECREF(bytes);
  if (t->function == NULL) Py_CLEAR(t);
  return (PyObject *)t;
}

static PyMethodDef methods[] = {
    {"dump", (PyCFunction)(void (*)(void))dump, METH_VARARGS | METH_KEYWORDS,
     "dump(stage, *arguments): what a call with these arguments runs, as text of one stage."},
    {"__copy__", copy, METH_NOARGS, NULL},
    {"__deepcopy__", copy, METH_O, NULL},
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef properties[] = {
    {"traces", get_traces, NULL, "how often the function was captured", NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(jitted, attributes), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(jitted, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};
static PyType_Slot slots[] = {{Py_tp_dealloc, dealloc},   {Py_tp_call, call},
                              {Py_tp_repr, repr},         {Py_tp_traverse, traverse},
                              {Py_tp_clear, clear},       {Py_tp_methods, methods},
                              {Py_tp_getset, properties}, {Py_tp_descr_get, bind},
                              {Py_tp_members, members},   {0, NULL}};
static PyType_Spec spec = {
    "nx.Jit", sizeof(jitted), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
static PyType_Slot trace_slots[] = {{Py_tp_dealloc, trace_dealloc},
                                    {Py_tp_traverse, trace_traverse},
                                    {Py_tp_call, call_parsed},
                                    {0, NULL}};
static PyType_Spec trace_spec = {
    "nx.Function", sizeof(trace), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, trace_slots};
static PyMethodDef functions[] = {
    {"jit", (PyCFunction)(void (*)(void))jit, METH_VARARGS | METH_KEYWORDS,
     "A function that is captured at its first call and compiled. donate: numbers of the arguments "
     "whose memory results may take. static: numbers and names of arguments that belong to what is "
     "captured: another value of theirs is another capture."},
    {"parse", (PyCFunction)(void (*)(void))parse, METH_VARARGS | METH_KEYWORDS,
     "The function that a program in nxir is, called with arrays on the device; None: the first."},
    {NULL, NULL, 0, NULL}};

int core_function_init(PyObject *module) {
  jit_type = (PyTypeObject *)PyType_FromSpec(&spec);
  trace_type = (PyTypeObject *)PyType_FromSpec(&trace_spec);
  if (jit_type == NULL || trace_type == NULL || PyModule_AddFunctions(module, functions) < 0)
    return -1;
  return PyModule_AddObjectRef(module, "Jit", (PyObject *)jit_type);
}
