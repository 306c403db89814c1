/* SPDX-License-Identifier: ISC */
/* The operators of Array. Operands of two dtypes meet in the one that core_promote gives; numbers
 * of Python take the array's, if that can hold their kind. */
#include "core.h"

#include <math.h>
#include <string.h>

/* ---- numbers */

char core_number_kind(PyObject *o) {
  if (PyBool_Check(o)) return 'b';
  if (PyLong_Check(o)) return 'i';
  if (PyFloat_Check(o)) return 'f';
  return PyComplex_Check(o) ? 'c' : 0;
}

char core_weak_kind(PyObject *o) {
  char kind = core_number_kind(o);
  bool plain = kind == 0 || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) ||
               PyComplex_CheckExact(o);
  return plain || !PyObject_HasAttrString(o, "__array_interface__") ? kind : 0;
}

static int64_t lowest(nx_dtype t) {
  size_t bits = nx_dtype_bits(t);
  return core_kind(t) == 'u' ? 0 : -(int64_t)(((uint64_t)1 << (bits - 1)) - 1) - 1;
}
static uint64_t highest(nx_dtype t) {
  size_t bits = nx_dtype_bits(t) - (core_kind(t) == 'i');
  return bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

/* 0 if an integer dtype holds a whole number, 1 if it is above that, -1 below; 2: an exception. */
static int whole(PyObject *number, nx_dtype t, nx_scalar *out) {
  int beyond = 0;
  int64_t i = PyLong_AsLongLongAndOverflow(number, &beyond);
  if (i == -1 && !beyond && PyErr_Occurred()) return 2;
  *out = (nx_scalar){NX_SCALAR_I64, {.i = i}};
  if (beyond == 0) return i < 0 ? (i < lowest(t) ? -1 : 0) : ((uint64_t)i > highest(t) ? 1 : 0);
  if (beyond < 0) return -1;
  uint64_t u = PyLong_AsUnsignedLongLong(number);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return 1;
  }
  *out = (nx_scalar){NX_SCALAR_U64, {.u = u}};
  return u > highest(t) ? 1 : 0;
}

static int refuse(PyObject *number, nx_dtype t, PyObject *error) {
  PyObject *name = core_dtype_object(t);
  if (name != NULL) PyErr_Format(error, "nx: %S is no number of dtype %S", number, name);
  Py_XDECREF(name);
  return -1;
}

/* Whether an integer dtype has a float without its fraction: 0, or -1 with an exception. */
static int fits(PyObject *number, double v, nx_dtype t) {
  if (isnan(v)) return refuse(number, t, PyExc_ValueError);
  double below = (double)lowest(t) - 1, above = ldexp((double)(highest(t) / 2 + 1), 1);
  bool beyond = nx_dtype_bits(t) == 64 && core_kind(t) == 'i' ? v < (double)lowest(t) : v <= below;
  return beyond || v >= above ? refuse(number, t, PyExc_OverflowError) : 0;
}

int core_scalar(PyObject *number, nx_dtype t, nx_scalar *out) {
  char kind = core_number_kind(number), of = core_kind(t);
  if (kind == 'c') {
    *out = (nx_scalar){NX_SCALAR_C128,
                       {.f = {PyComplex_RealAsDouble(number), PyComplex_ImagAsDouble(number)}}};
    return 0;
  }
  if (kind == 'f' || of == 'f' || of == 'c') {
    *out = (nx_scalar){NX_SCALAR_F64, {.f = {PyFloat_AsDouble(number), 0}}};
    if (kind == 'f' && (of == 'i' || of == 'u')) return fits(number, out->v.f[0], t);
    return PyErr_Occurred() ? -1 : 0;
  }
  if (of == 'b') {
    *out = (nx_scalar){NX_SCALAR_I64, {.i = PyObject_IsTrue(number)}};
    return 0;
  }
  int status = whole(number, t, out);
  if (status == 0) return 0;
  return status == 2 ? -1 : refuse(number, t, PyExc_OverflowError);
}

/* ---- operands */

/* Borrowed if it is an array, else a new reference of an array that it converts to; NULL without an
 * exception if it is none of an operator's. It goes to the device of the other operand. */
static PyObject *as_array(PyObject *o, PyObject *other) {
  static const char *const shown[] = {"__dlpack__", "__array_interface__", "__array__"};
  if (core_is_array(o)) return Py_NewRef(o);
  bool good = PyList_Check(o) || PyTuple_Check(o);
  for (int i = 0; i < 3 && !good; i++) good = PyObject_HasAttrString(o, shown[i]);
  nx_device device = core_is_array(other) ? nx_device_of(core_tensor(other)) : 0;
  return good ? core_array_of(o, 0, device, -1) : NULL;
}

/* Both as handles of one dtype, the caller's. */
static int meet(PyObject *a, PyObject *b, nx_tensor **x, nx_tensor **y) {
  nx_dtype s = nx_dtype_of(core_tensor(a)), t = nx_dtype_of(core_tensor(b)), both = s;
  if (core_is_weak(a) != core_is_weak(b)) {
    nx_dtype weak = core_is_weak(a) ? s : t, strong = core_is_weak(a) ? t : s;
    char kind = core_kind(weak);
    both = core_promote_weak(strong, kind == 'u' ? 'i' : kind);
  } else if (s != t) both = core_promote(s, t);
  if (both == 0) return -1;
  core_number_becomes(a, both);
  core_number_becomes(b, both);
  *x = core_cast(nx_tensor_retain(core_tensor(a)), both);
  *y = *x ? core_cast(nx_tensor_retain(core_tensor(b)), both) : NULL;
  if (*x != NULL && *y == NULL) nx_tensor_release(*x);
  return *y != NULL ? 0 : -1;
}

/* What the operation computes in, of what its operands have. */
static nx_dtype works_in(nx_binary_op op, nx_dtype t) {
  char kind = core_kind(t);
  if (op == NX_BINARY_DIV) return kind == 'f' || kind == 'c' ? t : NX_F64;
  if (kind != 'b') return t;
  bool as_byte = op == NX_BINARY_POW || op == NX_BINARY_FLOOR_DIV || op == NX_BINARY_FLOOR_MOD ||
                 op == NX_BINARY_SHL || op == NX_BINARY_SHR;
  return as_byte ? NX_I8 : t;
}

static bool compares(nx_binary_op op) { return op >= NX_BINARY_CMPEQ && op <= NX_BINARY_CMPGE; }

static PyObject *finish(nx_tensor *made, bool weak) {
  PyObject *o = core_wrap(made);
  if (o != NULL) ((core_array *)o)->weak = weak;
  return o;
}

/* u64 against a signed dtype has no common one that holds both: below 0 they differ, above they are
 * compared as u64. */
static PyObject *compare_signs(PyObject *a, nx_binary_op op, PyObject *b) {
  bool left = nx_dtype_of(core_tensor(a)) != NX_U64; /* the signed one */
  nx_tensor *s = core_tensor(left ? a : b), *u = core_tensor(left ? b : a);
  bool below = op == NX_BINARY_CMPNE || (left ? op == NX_BINARY_CMPLT || op == NX_BINARY_CMPLE
                                              : op == NX_BINARY_CMPGT || op == NX_BINARY_CMPGE);
  nx_tensor *negative = nx_binary_i64(s, NX_BINARY_CMPLT, 0), *cast = nx_cast(s, NX_U64);
  nx_tensor *same = left ? nx_binary(cast, op, u) : nx_binary(u, op, cast);
  nx_tensor *constant = nx_full_i64(nx_context_of(s), nx_device_of(s), NX_BOOL, NULL, 0, below);
  PyObject *made = core_wrap(nx_where(negative, constant, same));
  nx_tensor *of[] = {negative, cast, same, constant};
  for (int i = 0; i < 4; i++) nx_tensor_release(of[i]);
  return made;
}

/* a // b of floats as the array API has it: of what is infinite the quotient, rounded down, where
 * nx_floor_div gives NaN, or -1 of finite numbers with another sign. */
static nx_tensor *floor_quotient(nx_tensor *a, nx_tensor *b) {
  nx_tensor *finite = nx_floor_div(a, b), *quotient = nx_div(a, b), *down = nx_floor(quotient);
  nx_tensor *left = nx_isinf(a), *right = nx_isinf(b), *either = nx_or(left, right);
  nx_tensor *made = nx_where(either, down, finite);
  nx_tensor *of[] = {finite, quotient, down, left, right, either};
  for (int i = 0; i < 6; i++) nx_tensor_release(of[i]);
  return made;
}

static nx_tensor *record(nx_tensor *a, nx_binary_op op, nx_tensor *b) {
  bool down = op == NX_BINARY_FLOOR_DIV && core_kind(nx_dtype_of(a)) == 'f';
  return down ? floor_quotient(a, b) : nx_binary(a, op, b);
}

static nx_tensor *record_number(nx_tensor *x, nx_binary_op op, const nx_scalar *number,
                                bool reversed) {
  if (op != NX_BINARY_FLOOR_DIV || core_kind(nx_dtype_of(x)) != 'f')
    return reversed ? nx_scalar_binary(number, op, x) : nx_binary_scalar(x, op, number);
  nx_tensor *full = nx_full(nx_context_of(x), nx_device_of(x), nx_dtype_of(x), NULL, 0, number);
  nx_tensor *made = reversed ? floor_quotient(full, x) : floor_quotient(x, full);
  nx_tensor_release(full);
  return made;
}

static PyObject *of_arrays(PyObject *a, nx_binary_op op, PyObject *b) {
  nx_dtype s = nx_dtype_of(core_tensor(a)), t = nx_dtype_of(core_tensor(b));
  core_mark();
  if (s == t && !core_is_weak(a) && !core_is_weak(b) && works_in(op, s) == s)
    return core_wrap(record(core_tensor(a), op, core_tensor(b)));
  if (compares(op) &&
      ((s == NX_U64 && core_kind(t) == 'i') || (t == NX_U64 && core_kind(s) == 'i')))
    return compare_signs(a, op, b);
  nx_tensor *x, *y;
  if (meet(a, b, &x, &y) < 0) return NULL;
  nx_dtype as = works_in(op, nx_dtype_of(x));
  x = core_cast(x, as);
  y = x ? core_cast(y, as) : (nx_tensor_release(y), NULL);
  bool weak = core_is_weak(a) && core_is_weak(b);
  PyObject *made = y ? finish(record(x, op, y), weak) : NULL;
  if (core_number_made(made, a, op, b) < 0) Py_CLEAR(made);
  nx_tensor_release(x);
  nx_tensor_release(y);
  return made;
}

/* ---- an array and a number */

/* A comparison with a number that the array's dtype does not hold: beyond: 1 above, -1 below. */
static PyObject *compare_beyond(PyObject *array, nx_binary_op op, bool reversed, int beyond) {
  nx_tensor *x = core_tensor(array);
  bool less = (beyond > 0) != reversed; /* whether the left one is the smaller */
  bool truth = op == NX_BINARY_CMPNE || (less ? op == NX_BINARY_CMPLT || op == NX_BINARY_CMPLE
                                              : op == NX_BINARY_CMPGT || op == NX_BINARY_CMPGE);
  nx_tensor *made =
      nx_full_i64(nx_context_of(x), nx_device_of(x), NX_BOOL, nx_shape(x), nx_rank(x), truth);
  return finish(made, core_is_weak(array));
}

static PyObject *of_number(PyObject *array, nx_binary_op op, PyObject *number, bool reversed) {
  char kind = core_number_kind(number);
  nx_dtype t = nx_dtype_of(core_tensor(array)), as = core_promote_weak(t, kind);
  bool weak = core_is_weak(array);
  nx_scalar value;
  as = works_in(op, as);
  if (compares(op) && kind == 'i' && (core_kind(as) == 'i' || core_kind(as) == 'u')) {
    int beyond = whole(number, as, &value);
    if (beyond == 2) return NULL;
    core_mark();
    if (beyond != 0) return compare_beyond(array, op, reversed, beyond);
  } else if (core_scalar(number, as, &value) < 0) {
    core_number_needed(array);
    return NULL;
  }
  core_mark();
  core_number_becomes(array, as);
  nx_tensor *x = core_cast(nx_tensor_retain(core_tensor(array)), as);
  if (x == NULL) return NULL;
  nx_tensor *made = record_number(x, op, &value, reversed);
  nx_tensor_release(x);
  PyObject *result = finish(made, weak);
  if (core_number_made(result, reversed ? number : array, op, reversed ? array : number) < 0)
    Py_CLEAR(result);
  return result;
}

static PyObject *binary(PyObject *a, nx_binary_op op, PyObject *b) {
  if (core_is_array(a) && core_is_array(b)) return of_arrays(a, op, b);
  if (core_is_array(a) && core_weak_kind(b)) return of_number(a, op, b, false);
  if (core_is_array(b) && core_weak_kind(a)) return of_number(b, op, a, true);
  PyObject *x = as_array(a, b), *y = x ? as_array(b, a) : NULL, *made = NULL;
  if (x != NULL && y != NULL) made = of_arrays(x, op, y);
  else if (!PyErr_Occurred()) made = Py_NewRef(Py_NotImplemented);
  Py_XDECREF(x);
  Py_XDECREF(y);
  return made;
}

#define BINARY(name, op) \
  static PyObject *name(PyObject *a, PyObject *b) { return binary(a, op, b); }
BINARY(add, NX_BINARY_ADD)
BINARY(subtract, NX_BINARY_SUB)
BINARY(multiply, NX_BINARY_MUL)
BINARY(divide, NX_BINARY_DIV)
BINARY(floor_divide, NX_BINARY_FLOOR_DIV)
BINARY(remainder_of, NX_BINARY_FLOOR_MOD)
BINARY(bit_and, NX_BINARY_AND)
BINARY(bit_or, NX_BINARY_OR)
BINARY(bit_xor, NX_BINARY_XOR)
BINARY(shift_left, NX_BINARY_SHL)
BINARY(shift_right, NX_BINARY_SHR)

/* Whether an array of integers is raised to a number below 0, which has no result of its dtype. */
static bool is_fraction(PyObject *a, PyObject *b) {
  if (!core_is_array(a) || core_is_array(b) || core_weak_kind(b) != 'i') return false;
  char kind = core_kind(nx_dtype_of(core_tensor(a)));
  int beyond;
  int64_t n = PyLong_AsLongLongAndOverflow(b, &beyond);
  return kind != 'f' && kind != 'c' && (beyond < 0 || (beyond == 0 && n < 0));
}

static PyObject *power(PyObject *a, PyObject *b, PyObject *modulus) {
  if (is_fraction(a, b)) {
    core_number_needed(a); /* of a number the power is a float */
    return PyErr_Format(PyExc_ValueError, "nx: integers have no integer powers below 0: %S", b);
  }
  bool whole = core_is_array(a) && core_is_array(b) && !core_is_weak(a) &&
               strchr("biu", core_kind(nx_dtype_of(core_tensor(a))));
  if (whole) core_number_becomes(b, NX_U64); /* else it raises */
  return modulus == Py_None ? binary(a, NX_BINARY_POW, b) : Py_NewRef(Py_NotImplemented);
}

static PyObject *product(PyObject *a, PyObject *b) {
  PyObject *x = as_array(a, b), *y = x ? as_array(b, a) : NULL, *made = NULL;
  nx_tensor *s, *t;
  core_mark();
  if (x == NULL || y == NULL) {
    if (!PyErr_Occurred()) made = Py_NewRef(Py_NotImplemented);
  } else if (meet(x, y, &s, &t) == 0) {
    made = core_wrap(nx_matmul(s, t));
    nx_tensor_release(s);
    nx_tensor_release(t);
  }
  Py_XDECREF(x);
  Py_XDECREF(y);
  return made;
}

static PyObject *compare(PyObject *a, PyObject *b, int op) {
  static const nx_binary_op of[] = {
      [Py_LT] = NX_BINARY_CMPLT, [Py_LE] = NX_BINARY_CMPLE, [Py_EQ] = NX_BINARY_CMPEQ,
      [Py_NE] = NX_BINARY_CMPNE, [Py_GT] = NX_BINARY_CMPGT, [Py_GE] = NX_BINARY_CMPGE};
  return binary(a, of[op], b);
}

static PyObject *divide_both(PyObject *a, PyObject *b) {
  PyObject *q = floor_divide(a, b);
  if (q == NULL || q == Py_NotImplemented) return q;
  PyObject *r = remainder_of(a, b), *both = r ? PyTuple_Pack(2, q, r) : NULL;
  Py_DECREF(q);
  Py_XDECREF(r);
  return both;
}

/* Whether an element is equal, an action. */
static int contains(PyObject *self, PyObject *value) {
  PyObject *equal = compare(self, value, Py_EQ);
  if (equal == NULL || equal == Py_NotImplemented) return Py_XDECREF(equal), equal ? 0 : -1;
  PyObject *any = core_wrap(nx_reduce_max(core_tensor(equal), NULL, NX_ALL, 0));
  Py_DECREF(equal);
  int is = any ? PyObject_IsTrue(any) : -1;
  Py_XDECREF(any);
  return is;
}

/* ---- one operand */

PyObject *core_derived(nx_tensor *made, PyObject *of) {
  PyObject *result = finish(made, core_is_weak(of));
  if (core_number_same(result, of) < 0) Py_CLEAR(result);
  return result;
}

#define UNARY(name, call)                         \
  static PyObject *name(PyObject *a) {            \
    core_mark();                                  \
    return core_derived(call(core_tensor(a)), a); \
  }
UNARY(negative, nx_neg)
UNARY(invert, nx_not)
UNARY(positive, nx_copy)

static PyObject *absolute(PyObject *a) {
  nx_dtype t = nx_dtype_of(core_tensor(a));
  if (core_kind(t) == 'b' || core_kind(t) == 'u') return positive(a);
  core_mark();
  nx_tensor *made = nx_abs(core_tensor(a));
  if (core_kind(t) != 'c' || made == NULL) return core_derived(made, a);
  nx_tensor *real = nx_real(made);
  nx_tensor_release(made);
  return core_derived(real, a);
}

/* ---- as a number of Python */

static PyObject *one(PyObject *a) {
  nx_tensor *x = core_tensor(a);
  int64_t index[NX_MAX_RANK] = {0};
  if (nx_elements(x) == 1) return core_item(x, index, (size_t)nx_rank(x));
  return PyErr_Format(PyExc_TypeError,
                      "nx: only an array of one element is a number; this has %lld",
                      (long long)nx_elements(x));
}
static int truth(PyObject *a) {
  PyObject *n = one(a);
  int is = n ? PyObject_IsTrue(n) : -1;
  Py_XDECREF(n);
  if (n == NULL && PyErr_ExceptionMatches(PyExc_TypeError) && nx_elements(core_tensor(a)) != 1)
    PyErr_SetString(PyExc_ValueError, "nx: whether an array of several elements, or none, is true "
                                      "is not clear; use any() or all()");
  return is;
}
static PyObject *as_number(PyObject *a, PyObject *(*of)(PyObject *)) {
  PyObject *n = one(a), *made = NULL;
  if (n != NULL && PyComplex_Check(n))
    PyErr_SetString(PyExc_TypeError, "nx: a complex number is no real one");
  else if (n != NULL) made = of(n);
  Py_XDECREF(n);
  return made;
}
static PyObject *as_int(PyObject *a) { return as_number(a, PyNumber_Long); }
static PyObject *as_float(PyObject *a) { return as_number(a, PyNumber_Float); }
static PyObject *as_index(PyObject *a) {
  char kind = core_kind(nx_dtype_of(core_tensor(a)));
  if (nx_rank(core_tensor(a)) == 0 && (kind == 'i' || kind == 'u'))
    return as_number(a, PyNumber_Index);
  return PyErr_Format(PyExc_TypeError, "nx: only an integer array of rank 0 is an index");
}
PyObject *core_as_complex(PyObject *a, PyObject *unused) {
  (void)unused;
  PyObject *n = one(a);
  PyObject *made = n ? core_call((PyObject *)&PyComplex_Type, n) : NULL;
  Py_XDECREF(n);
  return made;
}

/* ---- in place */

static int no_complex(nx_dtype t) {
  PyObject *name = core_dtype_object(t);
  PyErr_Format(PyExc_TypeError, "nx: complex numbers are not assigned to %S; take the real part",
               name);
  Py_DECREF(name);
  return -1;
}

/* Without axes of extent 1 in front that the target has not. Takes src. */
static nx_tensor *stripped(nx_tensor *src, int32_t rank) {
  int32_t extra = nx_rank(src) - rank;
  for (int32_t i = 0; i < extra; i++)
    if (nx_shape(src)[i] != 1) return src;
  if (extra <= 0) return src;
  nx_tensor *made = nx_reshape(src, nx_shape(src) + extra, rank, 0);
  nx_tensor_release(src);
  return made != NULL ? made : (core_fail(), NULL);
}

int core_assign(nx_tensor *x, PyObject *value) {
  nx_dtype t = nx_dtype_of(x);
  core_mark();
  char kind = core_number_kind(value);
  if (kind == 'c' && core_kind(t) != 'c') return no_complex(t);
  if (kind != 0) {
    nx_scalar s;
    if (core_scalar(value, t, &s) < 0) return -1;
    nx_tensor *n = nx_full(nx_context_of(x), nx_device_of(x), t, NULL, 0, &s);
    nx_status status = n ? nx_assign(x, n) : NX_OUT_OF_MEMORY;
    nx_tensor_release(n);
    return status == NX_OK ? core_recorded() : (core_fail(), -1);
  }
  nx_device device = nx_device_of(core_is_array(value) ? core_tensor(value) : x);
  PyObject *v = core_array_of(value, 0, device, -1);
  if (v != NULL) core_number_becomes(v, t);
  bool loses = v && core_kind(nx_dtype_of(core_tensor(v))) == 'c' && core_kind(t) != 'c';
  nx_tensor *src = v && !loses ? core_cast(nx_tensor_retain(core_tensor(v)), t) : NULL;
  Py_XDECREF(v);
  if (loses) return no_complex(t);
  src = src ? stripped(src, nx_rank(x)) : NULL;
  if (src == NULL) return -1;
  nx_status status = nx_assign(x, src);
  nx_tensor_release(src);
  return status == NX_OK ? core_recorded() : (core_fail(), -1);
}

static int rank_of_kind(char kind) {
  return kind == 'b' ? 0 : kind == 'f' ? 2 : kind == 'c' ? 3 : 1;
}

/* Whether an operator in place gives another array: numbers do not change, and elements are none in
 * NumPy either, so that x[i] += 2.5 is x[i] = x[i] + 2.5. */
static bool stays(const core_array *a) { return a->number != NULL || a->single; }

/* Takes `made`: an int array does not become one of floats. */
static PyObject *put(PyObject *a, PyObject *made) {
  if (made == NULL || made == Py_NotImplemented) return made;
  if (stays((core_array *)a)) {
    ((core_array *)made)->single = ((core_array *)a)->single && nx_rank(core_tensor(made)) == 0;
    return made;
  }
  if (core_settle_elements() < 0) {
    Py_DECREF(made);
    return NULL;
  }
  nx_dtype t = nx_dtype_of(core_tensor(a)), s = nx_dtype_of(core_tensor(made));
  PyObject *result = NULL;
  if (rank_of_kind(core_kind(s)) > rank_of_kind(core_kind(t))) {
    PyObject *from = core_dtype_object(s), *to = core_dtype_object(t);
    PyErr_Format(PyExc_TypeError, "nx: a result of dtype %S does not go into an array of dtype %S",
                 from, to);
    Py_DECREF(from);
    Py_DECREF(to);
  } else if (core_assign(core_tensor(a), made) == 0) result = Py_NewRef(a);
  Py_DECREF(made);
  return result;
}
/* put, of operations of elements: `made` has no more axes than `a`. */
static PyObject *put_elements(PyObject *a, PyObject *made) {
  if (made == NULL || made == Py_NotImplemented) return made;
  int32_t has = nx_rank(core_tensor(a)), more = nx_rank(core_tensor(made));
  if (more <= has || stays((core_array *)a)) return put(a, made);
  Py_DECREF(made);
  return PyErr_Format(PyExc_ValueError,
                      "nx: a result of %d dimensions does not go into an array of %d", (int)more,
                      (int)has);
}
#define IN_PLACE(name, of) \
  static PyObject *name(PyObject *a, PyObject *b) { return put_elements(a, of(a, b)); }
IN_PLACE(add_to, add)
IN_PLACE(subtract_from, subtract)
IN_PLACE(multiply_with, multiply)
IN_PLACE(divide_by, divide)
IN_PLACE(floor_divide_by, floor_divide)
IN_PLACE(remainder_by, remainder_of)
IN_PLACE(and_with, bit_and)
IN_PLACE(or_with, bit_or)
IN_PLACE(xor_with, bit_xor)
IN_PLACE(shift_left_by, shift_left)
IN_PLACE(shift_right_by, shift_right)
static PyObject *product_with(PyObject *a, PyObject *b) { return put(a, product(a, b)); }
static PyObject *power_of(PyObject *a, PyObject *b, PyObject *m) {
  return put_elements(a, power(a, b, m));
}

PyType_Slot core_operator_slots[] = {{Py_nb_add, add},
                                     {Py_nb_subtract, subtract},
                                     {Py_nb_multiply, multiply},
                                     {Py_nb_true_divide, divide},
                                     {Py_nb_floor_divide, floor_divide},
                                     {Py_nb_remainder, remainder_of},
                                     {Py_nb_divmod, divide_both},
                                     {Py_nb_power, power},
                                     {Py_nb_and, bit_and},
                                     {Py_nb_or, bit_or},
                                     {Py_nb_xor, bit_xor},
                                     {Py_nb_lshift, shift_left},
                                     {Py_nb_rshift, shift_right},
                                     {Py_nb_matrix_multiply, product},
                                     {Py_nb_negative, negative},
                                     {Py_nb_positive, positive},
                                     {Py_nb_absolute, absolute},
                                     {Py_nb_invert, invert},
                                     {Py_nb_bool, truth},
                                     {Py_nb_int, as_int},
                                     {Py_nb_float, as_float},
                                     {Py_nb_index, as_index},
                                     {Py_nb_inplace_add, add_to},
                                     {Py_nb_inplace_subtract, subtract_from},
                                     {Py_nb_inplace_multiply, multiply_with},
                                     {Py_nb_inplace_true_divide, divide_by},
                                     {Py_nb_inplace_floor_divide, floor_divide_by},
                                     {Py_nb_inplace_remainder, remainder_by},
                                     {Py_nb_inplace_power, power_of},
                                     {Py_nb_inplace_and, and_with},
                                     {Py_nb_inplace_or, or_with},
                                     {Py_nb_inplace_xor, xor_with},
                                     {Py_nb_inplace_lshift, shift_left_by},
                                     {Py_nb_inplace_rshift, shift_right_by},
                                     {Py_nb_inplace_matrix_multiply, product_with},
                                     {Py_sq_contains, contains},
                                     {Py_tp_richcompare, compare},
                                     {Py_tp_hash, PyObject_HashNotImplemented},
                                     {0, NULL}};
