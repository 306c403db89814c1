/* SPDX-License-Identifier: ISC */
/* The extension behind `import nx`: Python objects over the C interface. Array is a handle of a
 * tensor; everything recorded goes through core_wrap, everything that computes through an action
 * (core_begin, core_end), which gives the interpreter lock up and lets Ctrl-C through. */
#ifndef NX_PYTHON_CORE_H
#define NX_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

#include <nx/nx.h>

typedef struct core_number core_number;
typedef struct core_guards core_guards;

typedef struct core_array {
  PyObject_HEAD nx_tensor *tensor; /* a reference */
  /* Stands for a number of Python that a captured function takes: others decide dtypes. */
  bool weak;
  uint8_t element;     /* its place in the list of index.c, from 1 on; 0: it is in none */
  bool single;         /* x[3], as NumPy's scalars: an operator in place gives another one */
  core_number *number; /* what is known of it, if it is weak and captured (guard.c), or NULL */
  PyObject *weakrefs;
} core_array;

typedef struct core_dtype {
  PyObject_HEAD nx_dtype code;
} core_dtype;

/* f(x). */
static inline PyObject *core_call(PyObject *f, PyObject *x) {
  return PyObject_CallFunctionObjArgs(f, x, NULL);
}

/* ---- module.c */

/* The context of all arrays, made when it is first asked for; NULL with an exception. */
nx_context *core_context(void);
/* The number of a device of Python: None is the first one, "cpu", "cpu:1", "cuda:0", or a number;
 * -1 with an exception. */
nx_device core_device(PyObject *of);
/* A device's name, a new reference. */
PyObject *core_device_name(nx_device device);

/* Functions in Python that the types call; borrowed, NULL with an exception if it is not set. */
typedef enum core_hook_name {
  CORE_HOOK_GETITEM,
  CORE_HOOK_SETITEM,
  CORE_HOOK_REPR,
  CORE_HOOK_HTML,
  CORE_HOOK_NAMESPACE,
  CORE_HOOK_STR,
  CORE_HOOK_ATTRIBUTE, /* of a name that the type has not: NumPy's methods */
  CORE_HOOK_NAMES,     /* all names of arrays */
  CORE_N_HOOKS
} core_hook_name;
PyObject *core_hook(core_hook_name name);

/* ---- error.c */

int core_error_init(PyObject *module);
/* Raises what this thread's error says; always NULL. The second also says where it was recorded,
 * if that was at an earlier time. */
PyObject *core_fail(void);
PyObject *core_fail_later(void);
/* Raises that an index, whose bits these are, is outside of an axis, which this line of Python
 * names; always NULL. */
PyObject *core_fail_index(int64_t index, bool is_signed, int32_t axis, int64_t extent);
/* The class of a status, borrowed. */
PyObject *core_error_class(nx_status status);
/* Tags what is recorded from now on with the line of Python that runs, for errors. */
void core_mark(void);

/* ---- action.c */

typedef struct core_action {
  nx_run_options options;
  PyThreadState *state;
  unsigned long thread;
  bool nested;        /* within a function that another action calls */
  bool asked;         /* the first question of a poll comes at once, and is not passed on */
  double begun, told; /* of progress: in seconds; 0: nothing was told */
  uint64_t compiled;
} core_action;
int core_action_init(PyObject *module);
/* Gives the lock up until core_end. */
void core_begin(core_action *a);
/* Takes it, and gives 0, or -1 with an exception, perhaps that of a signal handler. */
int core_end(core_action *a, nx_status status);
/* Options of a call that is done at once, with the lock, or not at all. */
extern const nx_run_options core_briefly;
/* Whether such a call has been done; else it has to be called as an action, which has the error. */
bool core_at_once(nx_status status);

/* ---- threads.c */

typedef struct core_entry {
  PyGILState_STATE state;
} core_entry;
int core_threads_init(PyObject *module);
/* Takes the interpreter lock, on any thread; false if there is no memory for that. */
bool core_enter(core_entry *e);
void core_leave(const core_entry *e);
/* Calls f with the lock, on any thread; without memory, and unless too many wait, later on Python's
 * main thread. Does nothing when the interpreter has ended. */
void core_locked(int (*f)(void *), void *of);

/* ---- dtype.c */

int core_dtype_init(PyObject *module);
/* The object of a dtype, a new reference. */
PyObject *core_dtype_object(nx_dtype code);
/* The dtype that an object names: a DType, a name, a type of Python, a dtype of NumPy; 0 with an
 * exception. */
nx_dtype core_dtype_of(PyObject *object);
char core_kind(nx_dtype code); /* b i u f c */
/* That of an operation on both; 0 with an exception. */
nx_dtype core_promote(nx_dtype a, nx_dtype b);
/* That of an array of dtype a and a number of Python of a kind (b i f c). */
nx_dtype core_promote_weak(nx_dtype a, char kind);
/* That of an array of numbers of Python of a kind. */
nx_dtype core_dtype_of_kind(char kind);

/* ---- array.c */

extern PyTypeObject *core_array_type;
int core_array_init(PyObject *module);
/* After something was recorded: carries out what waits if there is much of it; -1 with an
 * exception. */
int core_recorded(void);
/* An array of a handle, which it takes; raises for NULL. */
PyObject *core_wrap(nx_tensor *tensor);
static inline bool core_is_array(PyObject *o) { return Py_TYPE(o) == core_array_type; }
static inline nx_tensor *core_tensor(PyObject *o) { return ((core_array *)o)->tensor; }
static inline bool core_is_weak(PyObject *o) { return ((core_array *)o)->weak; }
/* x of a dtype, as a handle of the caller's; NULL with an exception. Takes x. */
nx_tensor *core_cast(nx_tensor *x, nx_dtype dtype);

/* ---- operators.c */

/* The kind of a number of Python: b i f c; 0 if it is none. */
char core_number_kind(PyObject *o);
/* Likewise; 0 for NumPy's scalars, some of which are numbers of Python: they have a dtype. */
char core_weak_kind(PyObject *o);
/* A number as a scalar that dtype takes; -1 with OverflowError. */
int core_scalar(PyObject *number, nx_dtype dtype, nx_scalar *out);
/* The result of an operation on an array alone, the caller's; if that stands for a number, it does,
 * too. Raises for NULL. */
PyObject *core_derived(nx_tensor *made, PyObject *of);
extern PyType_Slot core_operator_slots[];
PyObject *core_as_complex(PyObject *self, PyObject *unused);
/* x = value, broadcast; value is any that an operator takes. -1 with an exception. */
int core_assign(nx_tensor *x, PyObject *value);

/* ---- index.c */

PyObject *core_getitem(PyObject *self, PyObject *key);
/* Before anything is assigned: elements, which are views, become values; -1 with an exception. */
int core_settle_elements(void);
int core_settle_element(core_array *a); /* this one alone */
void core_element_gone(core_array *a);
int core_setitem(PyObject *self, PyObject *key, PyObject *value);

/* ---- places.c */

PyObject *core_check_index(PyObject *self, PyObject *const *args, Py_ssize_t n);

/* ---- convert.c */

/* An array of an object, as asarray makes it; dtype 0: the object's own. copy: -1 where needed, 0
 * never, 1 always. */
PyObject *core_array_of(PyObject *o, nx_dtype dtype, nx_device device, int copy);
/* The object; of an array that is a number one with the dtype of an array. A new reference. */
PyObject *core_strong(PyObject *o);
/* A list of integers: a number is a list of one. Returns how many, -1 with an exception. */
int core_integers(PyObject *o, int64_t *out, int most, const char *what);
PyObject *core_tolist(nx_tensor *x);
PyObject *core_item(nx_tensor *x, const int64_t *index, size_t n);
/* What is read of x, the caller's: within a capture its value as it was assigned there, which x
 * itself gets at calls alone. NULL with an exception. */
nx_tensor *core_seen(nx_tensor *x);

/* ---- exchange.c */

int core_getbuffer(PyObject *self, Py_buffer *view, int flags);
/* Whether the protocol of buffers has a format for elements of this dtype. */
bool core_has_format(nx_dtype t);
/* Raises what the buffer of this array failed with at last, if a signal's handler raised that; 0:
 * nothing. */
int core_raise_kept(const PyObject *array);
void core_releasebuffer(PyObject *self, Py_buffer *view);
PyObject *core_place(PyObject *self, PyObject *array);
PyObject *core_from_buffer(PyObject *o, int copy);
/* device -1: where it is. */
PyObject *core_from_dlpack(PyObject *o, nx_device device, int copy);
PyObject *core_to_dlpack(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *core_dlpack_device(PyObject *self, PyObject *unused);

/* ---- function.c */

int core_function_init(PyObject *module);

/* ---- guard.c: the numbers of Python that a capture takes */

int core_guard_init(PyObject *module);
/* Before an array is cast: if it stands for a number, that shall be one which the dtype holds. */
void core_number_becomes(PyObject *array, nx_dtype dtype);
/* Where the array cannot stand for its number: the function is captured again with that. */
void core_number_needed(PyObject *array);
/* What is known of a op b, one of which may be a number; of an operation on a alone. -1 with an
 * exception. */
int core_number_made(PyObject *made, PyObject *a, nx_binary_op op, PyObject *b);
int core_number_same(PyObject *made, PyObject *a);
void core_number_free(core_number *n);

/* ---- windows.c */

int core_windows_init(PyObject *module);

/* ---- lending.c */

int core_lending_init(PyObject *module);

/* ---- files.c */

int core_files_init(PyObject *module);

/* ---- custom.c */

int core_custom_init(PyObject *module);
/* The exception of a function of Python that a run has called, if the message is its: a reference,
 * which is the caller's. NULL: it is not. */
PyObject *core_take_pending(const char *message);
/* Whether this thread is inside of such a function. */
bool core_in_custom(void);
/* Raises an exception, which is a class, in all of them, at their next line of Python. */
void core_stop_customs(PyObject *exception);
void core_forget_customs(void);
/* From now on, until the end, such functions that this thread records are added to a list. */
typedef struct core_gathering {
  unsigned long thread;
  PyObject *list;
  struct core_gathering *next;
} core_gathering;
void core_gather(core_gathering *g, PyObject *list);
void core_gather_end(const core_gathering *g);
/* For the collector of cycles: what a graph holds of such a list. */
int core_visit_recorded(PyObject *list, visitproc visit, void *arg);

/* ---- calls.c, which is generated */

int core_calls_init(PyObject *module);

/* ---- chosen.c */

/* What `of` names of the function's arguments, as a tuple: one number, a name if `names`, or
 * several; None: nothing. */
PyObject *core_chosen(PyObject *function, PyObject *of, bool names, const char *what);

/* ---- arguments.c: what the generated functions take */

typedef struct core_list {
  void *items; /* of the element type asked for */
  size_t n;
  bool tensors;  /* of which it holds references */
  void *room[8]; /* short lists */
} core_list;
void core_list_free(core_list *l);
int core_take_tensor(PyObject *o, bool nullable, nx_tensor **out);
int core_take_tensors(PyObject *o, core_list *out);
/* bits: 32 or 64. nullable: None gives items NULL and n NX_ALL if all, else 0. */
int core_take_list(PyObject *o, int bits, bool nullable, bool all, core_list *out);
int core_take_i64(PyObject *o, int64_t low, int64_t high, int64_t *out);
int core_take_f64(PyObject *o, double *out);
int core_take_f64s(PyObject *o, core_list *out);
int core_take_scalar(PyObject *o, nx_scalar *out);
int core_take_dtype(PyObject *o, nx_dtype *out);
/* How many arguments there are, from least to most; -1 with TypeError. */
int core_count(const char *name, Py_ssize_t given, int least, int most);
/* Lists that share a count; -1 with ValueError. */
int core_same_length(size_t a, size_t b);
/* A tuple of handles, which it takes. */
PyObject *core_wrap_all(nx_tensor **of, int n);

#endif
