/* SPDX-License-Identifier: ISC */
/* x[...]: numbers, slices, None and one ellipsis give a view, here; what else there is (arrays and
 * masks as indices) goes to Python. */
#include "core.h"

#include <string.h>

typedef struct basic {
  int64_t shape[2 * NX_MAX_RANK], strides[2 * NX_MAX_RANK]; /* of the result, in elements */
  int64_t offset;  /* of its first element, from that of the array */
  int32_t n, rank; /* axes taken so far, and axes of the result */
  bool reshaped;   /* an axis is gone, or is new */
  bool closed;     /* each axis is named: without axes, it is an element */
} basic;

static void add_axis(basic *b, int64_t extent, int64_t stride) {
  b->shape[b->rank] = extent;
  b->strides[b->rank++] = stride;
}

/* The next axis of x, whole. */
static void keep_axis(basic *b, nx_tensor *x) {
  add_axis(b, nx_shape(x)[b->n], nx_strides(x)[b->n]);
  b->n++;
}

enum parsed { PARSED = 0, NOT_BASIC = 1, FAILED = -1 };

static bool is_plain_int(PyObject *o) { return PyLong_Check(o) && !PyBool_Check(o); }

static int take_number(basic *b, nx_tensor *x, PyObject *o) {
  int64_t i, n = nx_shape(x)[b->n];
  if (core_take_i64(o, INT64_MIN, INT64_MAX, &i) < 0) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError))
      PyErr_SetString(PyExc_IndexError, "nx: an index is too large");
    return FAILED;
  }
  if (i < -n || i >= n) {
    PyErr_Format(PyExc_IndexError, "nx: index %lld is outside axis %d of %lld elements",
                 (long long)i, b->n, (long long)n);
    return FAILED;
  }
  b->offset += (i < 0 ? i + n : i) * nx_strides(x)[b->n++];
  b->reshaped = true;
  return PARSED;
}

static int take_slice(basic *b, nx_tensor *x, PyObject *o) {
  Py_ssize_t start, stop, step, n = (Py_ssize_t)nx_shape(x)[b->n];
  if (PySlice_Unpack(o, &start, &stop, &step) < 0) return FAILED;
  const int64_t count = PySlice_AdjustIndices(n, &start, &stop, step), stride = nx_strides(x)[b->n];
  if (count > 0) b->offset += start * stride;
  add_axis(b, count, count > 1 ? step * stride : stride);
  b->n++;
  return PARSED;
}

/* A number of another type, such as a scalar of NumPy's: what it names is a view, too, where an
 * array, though it has no axes, gives a copy. Bools of NumPy's had an index before 2.0. */
static bool is_other_int(PyObject *o) {
  if (!PyIndex_Check(o) || PySequence_Check(o) || PyBool_Check(o)) return false;
  PyObject *dtype = PyObject_GetAttrString(o, "dtype");
  nx_dtype code = dtype ? core_dtype_of(dtype) : NX_I64;
  Py_XDECREF(dtype);
  PyErr_Clear();
  return code != 0 && strchr("iu", core_kind(code)) != NULL;
}

/* How many axes an index takes; -1: it is for Python. */
static int axes_of(PyObject *o) {
  if (PySlice_Check(o) || is_plain_int(o)) return 1;
  if (o == Py_None || o == Py_Ellipsis) return 0;
  return is_other_int(o) ? 1 : -1;
}

static int take(basic *b, nx_tensor *x, PyObject *o, int32_t hidden) {
  if (o == Py_None) {
    add_axis(b, 1, 1);
    b->reshaped = true;
    return PARSED;
  }
  if (o == Py_Ellipsis) {
    for (int32_t i = 0; i < hidden; i++) keep_axis(b, x);
    return PARSED;
  }
  return PySlice_Check(o) ? take_slice(b, x, o) : take_number(b, x, o);
}

static int too_many_axes(void) {
  PyErr_Format(PyExc_IndexError, "nx: an array has %d axes at most", NX_MAX_RANK);
  return FAILED;
}

static int parse(basic *b, nx_tensor *x, PyObject *key) {
  bool many = PyTuple_Check(key), open = false;
  b->offset = 0;
  b->n = b->rank = 0;
  b->reshaped = false;
  Py_ssize_t n = many ? PyTuple_Size(key) : 1;
  int32_t taken = 0, fresh = 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *o = many ? PyTuple_GetItem(key, i) : key;
    int axes = axes_of(o);
    if (axes < 0) return NOT_BASIC;
    taken += axes;
    fresh += o == Py_None;
    if (o == Py_Ellipsis && open) {
      PyErr_SetString(PyExc_IndexError, "nx: an index has one ellipsis at most");
      return FAILED;
    }
    open = open || o == Py_Ellipsis;
  }
  b->closed = taken == nx_rank(x) && (taken > 0 || n == 0) && !open && fresh == 0;
  if (taken > nx_rank(x)) {
    PyErr_Format(PyExc_IndexError, "nx: %d indices for an array of rank %d", taken, nx_rank(x));
    return FAILED;
  }
  if (fresh > NX_MAX_RANK) return too_many_axes();
  int status = PARSED;
  for (Py_ssize_t i = 0; i < n && status == PARSED; i++)
    status = take(b, x, many ? PyTuple_GetItem(key, i) : key, nx_rank(x) - taken);
  while (status == PARSED && b->n < nx_rank(x)) keep_axis(b, x);
  return status;
}

/* Axes of one element continue the axis on their right, as those that reshape makes. */
static void continue_axes(basic *b) {
  int64_t next = 1;
  for (int32_t i = b->rank; i-- > 0;)
    if (b->shape[i] == 1) b->strides[i] = next;
    else next = b->shape[i] * b->strides[i];
}

/* The view, the caller's; NULL with an exception. */
static nx_tensor *view_of(nx_tensor *x, basic *b) {
  nx_tensor_info info = {.size = sizeof info};
  if (b->rank > NX_MAX_RANK) return too_many_axes(), NULL;
  if (b->reshaped) continue_axes(b);
  nx_tensor_describe(x, &info);
  nx_tensor *v = nx_as_strided(x, b->shape, b->strides, b->rank, info.offset + b->offset);
  if (v == NULL) core_fail();
  return v;
}

/* ---- elements. x[3] is a number in NumPy: no assignment to x changes it, nor the other way round,
 * and programs exchange two elements by way of one. Here it is a view until something is assigned,
 * so that reading it costs no copy; what is still in use then becomes a copy first. */

static core_array *elements[32]; /* those that are views */
static uint8_t n_elements;

void core_element_gone(core_array *a) {
  core_array *last = elements[--n_elements];
  elements[a->element - 1] = last;
  last->element = a->element;
  a->element = 0;
}

/* An element that was Unbound, or Donated, stays what it is. */
int core_settle_element(core_array *a) {
  if (a->element == 0) return 0;
  nx_tensor *made = nx_copy(a->tensor);
  nx_error error;
  if (made == NULL && nx_error_take(&error) == NX_OUT_OF_MEMORY) return PyErr_NoMemory(), -1;
  core_element_gone(a);
  if (made == NULL) return 0;
  nx_tensor_release(a->tensor);
  a->tensor = made;
  return 0;
}

int core_settle_elements(void) {
  while (n_elements > 0)
    if (core_settle_element(elements[n_elements - 1]) < 0) return -1;
  return 0;
}

static PyObject *element(nx_tensor *v) {
  core_array *a = (core_array *)core_wrap(v);
  if (a == NULL) return NULL;
  bool full = n_elements == sizeof elements / sizeof *elements;
  if (full && core_settle_element(elements[0]) < 0) {
    Py_DECREF(a);
    return NULL;
  }
  elements[n_elements++] = a;
  a->element = n_elements;
  a->single = true;
  return (PyObject *)a;
}

PyObject *core_getitem(PyObject *self, PyObject *key) {
  basic b;
  if (core_settle_element((core_array *)self) < 0) return NULL;
  int status = parse(&b, core_tensor(self), key);
  if (status == FAILED) return NULL;
  if (status == PARSED) {
    core_mark();
    nx_tensor *v = view_of(core_tensor(self), &b);
    if (v == NULL) return NULL;
    return b.closed && b.rank == 0 ? element(v) : core_wrap(v);
  }
  PyObject *hook = core_hook(CORE_HOOK_GETITEM);
  PyObject *made = hook ? PyObject_CallFunctionObjArgs(hook, self, key, NULL) : NULL;
  if (made != NULL && core_is_array(made) && nx_rank(core_tensor(made)) == 0)
    ((core_array *)made)->single = true;
  return made;
}

int core_setitem(PyObject *self, PyObject *key, PyObject *value) {
  basic b;
  if (value == NULL) {
    PyErr_SetString(PyExc_TypeError, "nx: elements of an array cannot be deleted");
    return -1;
  }
  if (core_settle_elements() < 0) return -1;
  int status = parse(&b, core_tensor(self), key);
  if (status == FAILED) return -1;
  if (status == PARSED) {
    core_mark();
    nx_tensor *v = view_of(core_tensor(self), &b);
    int done = v != NULL ? core_assign(v, value) : -1;
    nx_tensor_release(v);
    return done;
  }
  PyObject *hook = core_hook(CORE_HOOK_SETITEM);
  PyObject *done = hook ? PyObject_CallFunctionObjArgs(hook, self, key, value, NULL) : NULL;
  Py_XDECREF(done);
  return done != NULL ? 0 : -1;
}
