/* SPDX-License-Identifier: ISC */
/* Element types as objects, one for each, and what types operations on two of them have: NumPy's
 * rules, and for the floats that it lacks the smallest type that holds both. */
#include "core.h"

#include <string.h>

static const struct entry {
  nx_dtype code;
  const char *name;
  char kind;
  /* of floats the bits of exponent and fraction; of integers those of the number */
  int exponent, bits;
} entries[] = {
    {NX_BOOL, "bool", 'b', 0, 1},
    {NX_I4, "int4", 'i', 0, 4},
    {NX_U4, "uint4", 'u', 0, 4},
    {NX_I8, "int8", 'i', 0, 8},
    {NX_U8, "uint8", 'u', 0, 8},
    {NX_I16, "int16", 'i', 0, 16},
    {NX_U16, "uint16", 'u', 0, 16},
    {NX_I32, "int32", 'i', 0, 32},
    {NX_U32, "uint32", 'u', 0, 32},
    {NX_I64, "int64", 'i', 0, 64},
    {NX_U64, "uint64", 'u', 0, 64},
    {NX_F8E4M3, "float8_e4m3fn", 'f', 4, 3},
    {NX_F8E5M2, "float8_e5m2", 'f', 5, 2},
    {NX_F16, "float16", 'f', 5, 10},
    {NX_BF16, "bfloat16", 'f', 8, 7},
    {NX_F32, "float32", 'f', 8, 23},
    {NX_F64, "float64", 'f', 11, 52},
    {NX_C32, "complex32", 'c', 5, 10},
    {NX_C64, "complex64", 'c', 8, 23},
    {NX_C128, "complex128", 'c', 11, 52},
    {NX_F8E4M3FNUZ, "float8_e4m3fnuz", 'f', 4, 3},
    {NX_F8E5M2FNUZ, "float8_e5m2fnuz", 'f', 5, 2},
    {NX_F8E8M0, "float8_e8m0fnu", 'f', 8, 0},
    {NX_F4E2M1, "float4_e2m1fn", 'f', 2, 1},
};
enum { N_ENTRIES = sizeof entries / sizeof *entries };

static const struct entry *entry_of(nx_dtype code) {
  for (int i = 0; i < N_ENTRIES; i++)
    if (entries[i].code == code) return &entries[i];
  return &entries[0];
}

char core_kind(nx_dtype code) { return entry_of(code)->kind; }

/* ---- two types */

static nx_dtype sized(char kind, int bits) {
  for (int i = 0; i < N_ENTRIES; i++)
    if (entries[i].kind == kind && entries[i].bits >= bits) return entries[i].code;
  return 0;
}

/* The smallest usual float that holds both. */
static nx_dtype float_of(int exponent, int bits, bool complex) {
  static const nx_dtype real[] = {NX_F16, NX_BF16, NX_F32, NX_F64};
  for (int i = complex ? 2 : 0; i < 4; i++) {
    const struct entry *e = entry_of(real[i]);
    if (e->exponent < exponent || e->bits < bits) continue;
    return complex ? (real[i] == NX_F32 ? NX_C64 : NX_C128) : real[i];
  }
  return complex ? NX_C128 : NX_F64;
}

/* An integer, and a float or complex number: NumPy takes the float that holds such integers. */
static nx_dtype with_integer(const struct entry *whole, const struct entry *number) {
  int most = number->exponent < 8      ? 8
             : number->code == NX_BF16 ? 8
             : number->exponent == 8   ? 16
                                       : 64;
  if (whole->bits <= most) return number->code;
  return float_of(whole->bits <= 16 ? 8 : 11, whole->bits <= 16 ? 23 : 52, number->kind == 'c');
}

static nx_dtype of_integers(const struct entry *a, const struct entry *b) {
  if (a->kind == b->kind) return a->bits >= b->bits ? a->code : b->code;
  const struct entry *s = a->kind == 'i' ? a : b, *u = a->kind == 'i' ? b : a;
  if (s->bits > u->bits) return s->code;
  return u->bits == 64 ? NX_F64 : sized('i', u->bits + 1);
}

nx_dtype core_promote(nx_dtype first, nx_dtype second) {
  const struct entry *a = entry_of(first), *b = entry_of(second);
  if (a == b || b->kind == 'b') return first;
  if (a->kind == 'b') return second;
  bool whole_a = a->kind == 'i' || a->kind == 'u', whole_b = b->kind == 'i' || b->kind == 'u';
  if (whole_a && whole_b) return of_integers(a, b);
  if (whole_a) return with_integer(a, b);
  if (whole_b) return with_integer(b, a);
  bool complex = a->kind == 'c' || b->kind == 'c';
  int exponent = a->exponent > b->exponent ? a->exponent : b->exponent;
  int bits = a->bits > b->bits ? a->bits : b->bits;
  if (a->code == NX_C32 || b->code == NX_C32)
    return exponent <= 5 && bits <= 10 ? NX_C32 : float_of(exponent, bits, true);
  return float_of(exponent, bits, complex);
}

nx_dtype core_promote_weak(nx_dtype a, char kind) {
  const struct entry *e = entry_of(a);
  switch (kind) {
    case 'i': return e->kind == 'b' ? NX_I64 : a;
    case 'f': return e->kind == 'f' || e->kind == 'c' ? a : NX_F64;
    case 'c':
      if (e->kind == 'c') return a;
      if (e->kind != 'f') return NX_C128;
      return float_of(e->exponent, e->bits, true);
    default: return a;
  }
}

nx_dtype core_dtype_of_kind(char kind) {
  return kind == 'b' ? NX_BOOL : kind == 'i' ? NX_I64 : kind == 'f' ? NX_F64 : NX_C128;
}

/* ---- objects */

static PyTypeObject *dtype_type;
static PyObject *objects[NX_F4E2M1 + 1];

PyObject *core_dtype_object(nx_dtype code) { return Py_NewRef(objects[code]); }

/* NumPy's codes. Those of integers of 4 and 8 bytes are names of 4 and 8 bits in programs of nx:
 * they are taken with NumPy's "<" before them alone. */
static const struct {
  const char *code;
  nx_dtype of;
} codes[] = {{"?", NX_BOOL},  {"b1", NX_BOOL}, {"b", NX_I8},   {"i1", NX_I8},  {"h", NX_I16},
             {"i2", NX_I16},  {"i", NX_I32},   {"l", NX_I64},  {"q", NX_I64},  {"B", NX_U8},
             {"u1", NX_U8},   {"H", NX_U16},   {"u2", NX_U16}, {"I", NX_U32},  {"L", NX_U64},
             {"Q", NX_U64},   {"e", NX_F16},   {"f2", NX_F16}, {"f", NX_F32},  {"f4", NX_F32},
             {"d", NX_F64},   {"f8", NX_F64},  {"F", NX_C64},  {"c8", NX_C64}, {"D", NX_C128},
             {"c16", NX_C128}};
static const char *const unclear[] = {"i4", "i8", "u4", "u8"};
static const nx_dtype cleared[] = {NX_I32, NX_I64, NX_U32, NX_U64};

static int number_of_unclear(const char *name) {
  for (int i = 0; i < 4; i++)
    if (!strcmp(unclear[i], name)) return i;
  return -1;
}

static nx_dtype of_code(const char *name) {
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    if (!strcmp(codes[i].code, name)) return codes[i].of;
  return 0;
}

static nx_dtype of_name(const char *name) {
  if (!strncmp(name, "nx.", 3)) name += 3;
  for (int i = 0; i < N_ENTRIES; i++)
    if (!strcmp(entries[i].name, name)) return entries[i].code;
  if (number_of_unclear(name) >= 0) return 0;
  bool ordered = *name == '<' || *name == '=' || *name == '|';
  int as = ordered ? number_of_unclear(name + 1) : -1;
  if (as >= 0) return cleared[as];
  nx_dtype code = of_code(name + ordered);
  return code != 0 || ordered ? code : nx_dtype_from_name(name); /* f32 */
}

/* Forgets an exception, but not that there was no memory: whether that is so. */
static bool forget(void) {
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_MemoryError)) return true;
  PyErr_Clear();
  return false;
}

static nx_dtype of_string(PyObject *o) {
  PyObject *text = PyUnicode_AsUTF8String(o);
  nx_dtype code = text ? of_name(PyBytes_AsString(text)) : 0;
  Py_XDECREF(text);
  return forget() ? 0 : code;
}

/* The name of a dtype of NumPy, or of a type of its scalars: both have one. */
static nx_dtype of_named(PyObject *o) {
  static const char *const names[] = {"name", "__name__"};
  for (int i = 0; i < 2; i++) {
    PyObject *name = PyObject_GetAttrString(o, names[i]);
    nx_dtype code = name && PyUnicode_Check(name) ? of_string(name) : 0;
    if (name && code == 0 && PyUnicode_Check(name) &&
        PyUnicode_CompareWithASCIIString(name, "bool_") == 0)
      code = NX_BOOL;
    Py_XDECREF(name);
    if (forget()) return 0;
    if (code != 0) return code;
  }
  return 0;
}

static nx_dtype find(PyObject *o) {
  if (Py_TYPE(o) == dtype_type) return ((core_dtype *)o)->code;
  if (o == (PyObject *)&PyBool_Type) return NX_BOOL;
  if (o == (PyObject *)&PyLong_Type) return NX_I64;
  if (o == (PyObject *)&PyFloat_Type) return NX_F64;
  if (o == (PyObject *)&PyComplex_Type) return NX_C128;
  return PyUnicode_Check(o) ? of_string(o) : of_named(o);
}

nx_dtype core_dtype_of(PyObject *o) {
  nx_dtype code = find(o);
  if (code != 0 || PyErr_Occurred()) return code;
  bool two = false;
  for (int i = 0; PyUnicode_Check(o) && i < 4; i++)
    two = two || PyUnicode_CompareWithASCIIString(o, unclear[i]) == 0;
  return PyErr_Format(PyExc_TypeError,
                      two ? "nx: %R is of bits in programs of nx, and of bytes in NumPy; \"int8\" "
                            "and others are clear"
                          : "nx: %R is no dtype",
                      o),
         0;
}

static nx_dtype code_of(PyObject *self) { return ((core_dtype *)self)->code; }
static PyObject *get_name(PyObject *self, void *unused) {
  (void)unused;
  return PyUnicode_FromString(entry_of(code_of(self))->name);
}
static PyObject *get_kind(PyObject *self, void *unused) {
  (void)unused;
  return PyUnicode_FromStringAndSize(&entry_of(code_of(self))->kind, 1);
}
static PyObject *get_bits(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromSize_t(nx_dtype_bits(code_of(self)));
}
static PyObject *get_itemsize(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromSize_t((nx_dtype_bits(code_of(self)) + 7) / 8);
}
static PyObject *get_code(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromLong(code_of(self));
}
static PyObject *repr(PyObject *self) {
  return PyUnicode_FromFormat("nx.%s", entry_of(code_of(self))->name);
}
static PyObject *str(PyObject *self) { return get_name(self, NULL); }
static PyObject *compare(PyObject *self, PyObject *other, int op) {
  if (op != Py_EQ && op != Py_NE) return Py_NewRef(Py_NotImplemented);
  bool same = find(other) == code_of(self);
  return PyBool_FromLong(same == (op == Py_EQ));
}
static Py_hash_t hash(PyObject *self) { return code_of(self); }
static PyObject *reduce(PyObject *self, PyObject *unused) {
  (void)unused;
  PyObject *module = PyImport_ImportModule("nx._core");
  PyObject *make = module ? PyObject_GetAttrString(module, "dtype") : NULL;
  PyObject *made = make ? Py_BuildValue("(N(s))", make, entry_of(code_of(self))->name) : NULL;
  Py_XDECREF(module);
  return made;
}

/* nx.float32(x): x as an array of that dtype. */
static PyObject *convert(PyObject *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"", NULL};
  PyObject *o;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O", names, &o)) return NULL;
  nx_device device = core_is_array(o) ? nx_device_of(core_tensor(o)) : 0;
  return core_array_of(o, code_of(self), device, -1);
}

static PyGetSetDef properties[] = {
    {"name", get_name, NULL, "\"float32\"", NULL},
    {"kind", get_kind, NULL, "b, i, u, f or c", NULL},
    {"bits", get_bits, NULL, "of an element", NULL},
    {"itemsize", get_itemsize, NULL, "bytes of an element, rounded up", NULL},
    {"code", get_code, NULL, "the number in C", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyType_Slot slots[] = {{Py_tp_repr, repr},
                              {Py_tp_str, str},
                              {Py_tp_richcompare, compare},
                              {Py_tp_hash, hash},
                              {Py_tp_call, convert},
                              {Py_tp_getset, properties},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, "An element type."},
                              {0, NULL}};
static PyType_Spec spec = {
    "nx.DType", sizeof(core_dtype), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};

int core_dtype_init(PyObject *module) {
  dtype_type = (PyTypeObject *)PyType_FromSpec(&spec);
  PyObject *all = PyDict_New();
  if (dtype_type == NULL || all == NULL) return -1;
  for (int i = 0; i < N_ENTRIES; i++) {
    core_dtype *d = PyObject_New(core_dtype, dtype_type);
    if (d == NULL) return -1;
    d->code = entries[i].code;
    objects[d->code] = (PyObject *)d;
    if (PyDict_SetItemString(all, entries[i].name, (PyObject *)d) < 0) return -1;
  }
  if (PyModule_AddObject(module, "dtypes", all) < 0) return -1;
  return PyModule_AddObjectRef(module, "DType", (PyObject *)dtype_type);
}
