/* SPDX-License-Identifier: ISC */
/* Functions of Python as operations of the graph. The function gets arrays of what was computed,
 * and what it returns is copied into the results. An exception of it becomes that of whoever asked
 * for the value. */
#include "core.h"

#include <string.h>

/* ---- the exception of a call that has failed, until it is raised */

static PyObject *pending;
static char said[256];

static void keep_exception(const nx_custom_call *call) {
  PyObject *type, *value, *where;
  PyErr_Fetch(&type, &value, &where);
  PyErr_NormalizeException(&type, &value, &where);
  if (where != NULL) PyException_SetTraceback(value, where);
  PyObject *text = PyObject_Str(value), *name = PyObject_GetAttrString(type, "__name__");
  PyObject *all = text && name ? PyUnicode_FromFormat("%S: %S", name, text) : NULL;
  PyObject *bytes = all ? PyUnicode_AsUTF8String(all) : NULL;
  PyErr_Clear();
  PyOS_snprintf(said, sizeof said, "%.250s", bytes ? PyBytes_AsString(bytes) : "an exception");
  nx_custom_fail(call, NX_INVALID_ARGUMENT, said);
  Py_XDECREF(bytes);
  Py_XDECREF(all);
  Py_XDECREF(name);
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(where);
  Py_XDECREF(pending);
  pending = value;
}

PyObject *core_take_pending(const char *message) {
  if (pending == NULL || strstr(message, said) == NULL) return NULL;
  PyObject *e = pending;
  pending = NULL;
  return e;
}

/* ---- calls that are under way, by thread; under the interpreter lock */

typedef struct inside {
  unsigned long thread;
  bool told; /* to stop */
  struct inside *next;
} inside;

static inside *first;
static core_gathering *gathering; /* of all threads, likewise */

bool core_in_custom(void) {
  const unsigned long thread = PyThread_get_thread_ident();
  for (const inside *i = first; i != NULL; i = i->next)
    if (i->thread == thread) return true;
  return false;
}

void core_stop_customs(PyObject *exception) {
  for (inside *i = first; i != NULL; i = i->next)
    i->told = PyThreadState_SetAsyncExc(i->thread, exception) > 0 || i->told;
}

static void begin(inside *i) {
  *i = (inside){PyThread_get_thread_ident(), false, first};
  first = i;
}

/* What the function was told, and has not seen, is no word for the next one on this thread. */
static void leave(const inside *i) {
  inside **at = &first;
  while (*at != NULL && *at != i) at = &(*at)->next;
  if (*at != NULL) *at = i->next; /* NULL: in a child of fork */
  if (i->told) PyThreadState_SetAsyncExc(i->thread, NULL);
}

/* In a child of fork, which has one thread. */
void core_forget_customs(void) {
  first = NULL;
  gathering = NULL;
}

/* ---- functions, as the graph has them. A captured function that holds itself through one (a
 * method of an object that has the captured function, too) would never go, as the collector of
 * cycles does not see the graph. So the capture keeps what it has recorded, and shows the collector
 * each twice: by its own reference and by the one that its graph holds. */

typedef struct held {
  PyObject_HEAD PyObject *function; /* NULL: it was in a cycle that was collected */
  bool in_graph;
} held;

static PyTypeObject *held_type;

static int held_traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(((held *)self)->function);
  return 0;
}
static int held_clear(PyObject *self) {
  Py_CLEAR(((held *)self)->function);
  return 0;
}
static void held_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  held_clear(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

int core_visit_recorded(PyObject *list, visitproc visit, void *arg) {
  for (Py_ssize_t i = 0; list != NULL && i < PyList_Size(list); i++) {
    PyObject *h = PyList_GetItem(list, i);
    if (((held *)h)->in_graph) Py_VISIT(h);
  }
  return 0;
}

void core_gather(core_gathering *g, PyObject *list) {
  *g = (core_gathering){PyThread_get_thread_ident(), list, gathering};
  gathering = g;
}

void core_gather_end(const core_gathering *g) {
  core_gathering **at = &gathering;
  while (*at != NULL && *at != g) at = &(*at)->next;
  if (*at != NULL) *at = g->next;
}

static held *hold(PyObject *function) {
  held *h = PyObject_GC_New(held, held_type);
  if (h == NULL) return NULL;
  h->function = Py_NewRef(function);
  h->in_graph = false;
  PyObject_GC_Track((PyObject *)h);
  const unsigned long thread = PyThread_get_thread_ident();
  const core_gathering *g = gathering;
  while (g != NULL && g->thread != thread) g = g->next;
  if (g != NULL && PyList_Append(g->list, (PyObject *)h) < 0) Py_CLEAR(h);
  return h;
}

/* ---- a call */

static PyObject *operands_of(const nx_custom_call *call) {
  PyObject *args = PyTuple_New((Py_ssize_t)call->n_operands);
  for (size_t i = 0; args != NULL && i < call->n_operands; i++) {
    const nx_array *o = &call->operands[i];
    size_t bytes = (size_t)o->elements * nx_dtype_bits(o->dtype) / 8;
    const void *data = o->elements > 0 ? o->data : &bytes;
    PyObject *a =
        core_wrap(nx_from_data(core_context(), 0, o->dtype, o->shape, o->rank, data, bytes));
    if (a == NULL) Py_CLEAR(args);
    else PyTuple_SetItem(args, (Py_ssize_t)i, a);
  }
  return args;
}

static void refuse_shape(PyObject *a, const nx_array *to, size_t number) {
  PyObject *is = PyObject_GetAttrString(a, "shape"), *said_shape = PyTuple_New(to->rank);
  for (int i = 0; said_shape != NULL && i < to->rank; i++)
    PyTuple_SetItem(said_shape, i, PyLong_FromLongLong(to->shape[i]));
  if (is != NULL && said_shape != NULL && !PyErr_Occurred())
    PyErr_Format(PyExc_ValueError, "nx: result %zu has the shape %S, not %S, which was said",
                 number, is, said_shape);
  Py_XDECREF(said_shape);
  Py_XDECREF(is);
}

static const char kinds[] = "buifc"; /* each holds those before it, but for signs */

static char wider(char a, char b) { return strchr(kinds, a) > strchr(kinds, b) ? a : b; }

/* The widest kind of a number of Python, or of lists of them; 0: there is none, or something else
 * is among them. */
static char kind_of_numbers(PyObject *o, int depth) {
  if (!PyList_Check(o) && !PyTuple_Check(o)) return core_weak_kind(o);
  char widest = 0;
  for (Py_ssize_t i = 0; depth < NX_MAX_RANK && i < PySequence_Size(o); i++) {
    PyObject *item = PySequence_GetItem(o, i);
    const char kind = item ? kind_of_numbers(item, depth + 1) : 0;
    Py_XDECREF(item);
    PyErr_Clear(); /* another thread has shortened the list */
    if (kind == 0) return 0;
    widest = widest ? wider(widest, kind) : kind;
  }
  return widest;
}

static PyObject *refuse_kind(nx_dtype is, nx_dtype said_dtype, size_t number) {
  PyObject *a = core_dtype_object(is), *b = core_dtype_object(said_dtype);
  if (a != NULL && b != NULL)
    PyErr_Format(PyExc_TypeError, "nx: result %zu has the dtype %S, not %S, which was said", number,
                 a, b);
  Py_XDECREF(a);
  Py_XDECREF(b);
  return NULL;
}

/* A result as an array of the dtype that was said, if that is of a kind that holds it: NumPy's
 * casting "same_kind". Integers of Python may be unsigned: they are asked for their values. */
static PyObject *result_of(PyObject *o, nx_dtype dtype, size_t number) {
  const char said_kind = core_kind(dtype), kind = kind_of_numbers(o, 0);
  if (kind != 0) {
    if (wider(kind, said_kind) == said_kind || (kind == 'i' && said_kind == 'u'))
      return core_array_of(o, dtype, 0, -1);
    return refuse_kind(core_dtype_of_kind(kind), dtype, number);
  }
  PyObject *a = core_array_of(o, 0, 0, -1), *made = NULL;
  if (a == NULL) return NULL;
  const nx_dtype is = nx_dtype_of(core_tensor(a));
  if (nx_elements(core_tensor(a)) == 0 || wider(core_kind(is), said_kind) == said_kind)
    made = core_array_of(a, dtype, 0, -1);
  else refuse_kind(is, dtype, number);
  Py_DECREF(a);
  return made;
}

static int give(const nx_array *to, PyObject *o, size_t number) {
  PyObject *a = result_of(o, to->dtype, number);
  if (a == NULL) return -1;
  nx_tensor *x = core_tensor(a);
  bool same =
      nx_rank(x) == to->rank &&
      (to->rank == 0 || !memcmp(nx_shape(x), to->shape, sizeof(int64_t) * (size_t)to->rank));
  int done = -1;
  if (same) {
    core_action act;
    core_begin(&act);
    size_t bytes = (size_t)to->elements * nx_dtype_bits(to->dtype) / 8;
    done = core_end(&act, bytes > 0 ? nx_read(x, to->data, bytes, &act.options) : NX_OK);
  } else refuse_shape(a, to, number);
  Py_DECREF(a);
  return done;
}

static int give_all(const nx_custom_call *call, PyObject *made) {
  if (call->n_results == 0) return 0;
  if (call->n_results == 1 && !PyTuple_Check(made)) return give(&call->results[0], made, 0);
  if (!PyTuple_Check(made) || PyTuple_Size(made) != (Py_ssize_t)call->n_results) {
    PyErr_Format(PyExc_ValueError, "nx: the function gives %R, not %zu results", made,
                 call->n_results);
    return -1;
  }
  int done = 0;
  for (size_t i = 0; i < call->n_results && done == 0; i++)
    done = give(&call->results[i], PyTuple_GetItem(made, (Py_ssize_t)i), i);
  return done;
}

static nx_status run(const nx_custom_call *call) {
  if (!Py_IsInitialized())
    return nx_custom_fail(call, NX_INVALID_ARGUMENT, "the interpreter of Python has ended");
  core_entry entry;
  if (!core_enter(&entry))
    return nx_custom_fail(call, NX_OUT_OF_MEMORY, "there is no memory for a thread of Python");
  inside here;
  begin(&here);
  PyObject *args = operands_of(call), *function = Py_XNewRef(((held *)call->user)->function);
  PyObject *made = args && function ? PyObject_CallObject(function, args) : NULL;
  if (function == NULL && !PyErr_Occurred())
    PyErr_SetString(PyExc_ReferenceError, "nx: the function went with its captured function");
  nx_status status = NX_OK;
  if (made == NULL || give_all(call, made) < 0) {
    status = here.told ? NX_INTERRUPTED : NX_INVALID_ARGUMENT;
    if (here.told) PyErr_Clear(); /* who asked for the value raises it */
    else keep_exception(call);
  }
  leave(&here);
  Py_XDECREF(made);
  Py_XDECREF(args);
  Py_XDECREF(function);
  core_leave(&entry);
  return status;
}

static int drop(void *user) {
  ((held *)user)->in_graph = false;
  Py_DECREF((PyObject *)user);
  return 0;
}
static void release(void *user) { core_locked(drop, user); }

/* ---- describing and recording */

enum { MOST = 15 };

typedef struct types {
  nx_type of[MOST];
  int64_t shapes[MOST][NX_MAX_RANK];
  size_t n;
} types;

static int too_many(void) {
  PyErr_Format(PyExc_ValueError, "nx: a function has at most %d operands and results", MOST);
  return -1;
}

/* (shape, dtype) of each result. */
static int take_results(types *t, PyObject *list) {
  Py_ssize_t n = PySequence_Size(list);
  if (n < 0 || n > MOST) return n < 0 ? -1 : too_many();
  for (t->n = 0; t->n < (size_t)n; t->n++) {
    PyObject *row = PySequence_GetItem(list, (Py_ssize_t)t->n), *shape, *dtype;
    nx_type *to = &t->of[t->n];
    bool good = row != NULL && PyTuple_Check(row) && PyArg_ParseTuple(row, "OO", &shape, &dtype);
    if (good) to->rank = core_integers(shape, t->shapes[t->n], NX_MAX_RANK, "a shape");
    good = good && to->rank >= 0 && (to->dtype = core_dtype_of(dtype)) != 0;
    to->shape = t->shapes[t->n];
    if (!good && !PyErr_Occurred())
      PyErr_SetString(PyExc_TypeError, "nx: a result is said by (shape, dtype)");
    Py_XDECREF(row);
    if (!good) return -1;
  }
  return 0;
}

static int take_operands(types *t, const core_list *l) {
  if (l->n > MOST) return too_many();
  nx_tensor *const *of = l->items;
  for (t->n = 0; t->n < l->n; t->n++) {
    nx_tensor *x = of[t->n];
    t->of[t->n] = (nx_type){nx_dtype_of(x), nx_rank(x), nx_shape(x)};
  }
  return 0;
}

/* custom(function, operands, results, name, token): what a call records, as a tuple. */
static PyObject *custom(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *function, *operands, *results, *token;
  const char *name;
  types in, out;
  core_list l = {.items = l.room};
  nx_tensor *made[MOST] = {NULL}, *order = NULL;
  nx_custom *c = NULL;
  if (!PyArg_ParseTuple(args, "OOOsO", &function, &operands, &results, &name, &token)) return NULL;
  bool good = core_context() != NULL && core_take_tensors(operands, &l) == 0 &&
              take_operands(&in, &l) == 0 && take_results(&out, results) == 0 &&
              core_take_tensor(token, true, &order) == 0;
  held *h = good ? hold(function) : NULL;
  nx_custom_desc d = {.size = sizeof d, .name = name, .run = run, .user = h};
  good = h != NULL;
  if (good) {
    d.release = release;
    d.flags = order != NULL ? NX_ORDERED : 0;
    d.n_operands = in.n;
    d.operands = in.of;
    d.n_results = out.n;
    d.results = out.of;
    core_mark();
    good = nx_custom_create(core_context(), &d, &c) == NX_OK;
    h->in_graph = good;
    if (good) Py_INCREF((PyObject *)h);
    good = good && nx_custom_record(c, l.items, l.n, order, made, out.n) == NX_OK;
    if (!good) core_fail();
  }
  nx_custom_release(c);
  core_list_free(&l);
  Py_XDECREF((PyObject *)h);
  return good ? core_wrap_all(made, (int)out.n) : NULL;
}

static PyMethodDef functions[] = {{"custom", custom, METH_VARARGS,
                                   "custom(function, operands, results, name, token): records a "
                                   "call of a function of Python."},
                                  {NULL, NULL, 0, NULL}};

static PyType_Slot held_slots[] = {{Py_tp_dealloc, held_dealloc},
                                   {Py_tp_traverse, held_traverse},
                                   {Py_tp_clear, held_clear},
                                   {0, NULL}};
static PyType_Spec held_spec = {
    "nx._core.Held", sizeof(held), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, held_slots};

int core_custom_init(PyObject *module) {
  held_type = (PyTypeObject *)PyType_FromSpec(&held_spec);
  return held_type != NULL ? PyModule_AddFunctions(module, functions) : -1;
}
