/* SPDX-License-Identifier: ISC */
#include "guard.h"

#include <math.h>
#include <string.h>

/* What an array of a number, or of what was computed from numbers, knows of them. */
struct core_number {
  core_guards *guards;
  int32_t leaf;  /* the number that it is, or -1 */
  uint64_t from; /* the leaves that it depends on; bit 63: also all from 63 on */
  int64_t low, high;
};

#define EXACT ((int64_t)1 << 53) /* up to there float64 has every integer */

/* ---- intervals of leaves */

static int bits_of(int64_t v) {
  static const int sizes[] = {7, 15, 31, 53};
  for (int i = 0; i < 4; i++)
    if (v < ((int64_t)1 << sizes[i]) && v >= -((int64_t)1 << sizes[i])) return sizes[i];
  return 63;
}

static void begin(core_guard *g) {
  g->bounded = false;
  if (g->kind != 'i') return;
  int64_t v = g->value.v.i;
  int bits = bits_of(v);
  if (g->level == 0 && bits < 31) bits = 31;
  int64_t most = bits == 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
  g->high = g->level == 2 ? v : most;
  g->low = g->level == 2 ? v : g->level == 1 && v >= 0 ? 0 : -most - 1;
}

core_guards *core_guards_of(const core_tree *t, const core_guards *before) {
  core_guards *g = PyMem_Calloc(1, sizeof *g + t->n * sizeof g->of[0]);
  if (g == NULL) return PyErr_NoMemory(), NULL;
  g->refs = 1;
  g->n = t->n;
  for (size_t i = 0; i < t->n; i++) {
    g->of[i] = (core_guard){.kind = t->kinds[i],
                            .level = before != NULL ? before->of[i].level : 0,
                            .value = t->values[i]};
    begin(&g->of[i]);
  }
  return g;
}

void core_guards_release(core_guards *g) {
  if (g != NULL && --g->refs == 0) PyMem_Free(g);
}

bool core_same_number(char kind, const nx_scalar *a, const nx_scalar *b) {
  uint64_t s[2], t[2];
  if (kind == 'i' || kind == 'b') return a->v.i == b->v.i;
  memcpy(s, a->v.f, sizeof s);
  memcpy(t, b->v.f, sizeof t);
  return s[0] == t[0] && (kind == 'f' || s[1] == t[1]);
}

static bool holds(const core_guard *g, const nx_scalar *v) {
  if (g->kind == 'i') return v->v.i >= g->low && v->v.i <= g->high;
  if (g->level == 2) return core_same_number(g->kind, v, &g->value);
  return !g->bounded || (v->v.f[0] > g->least && v->v.f[0] < g->most);
}

bool core_guards_hold(const core_guards *g, const core_tree *t) {
  for (size_t i = 0; i < g->n; i++)
    if (g->of[i].kind != 0 && !holds(&g->of[i], &t->values[i])) return false;
  return true;
}

static bool shows(const core_guards *g) {
  for (size_t i = 0; i < g->n; i++)
    if (g->of[i].kind != 0 && g->of[i].level < 2) return true;
  return false;
}
static PyObject *numbers_shown; /* a list, with an item for each capture that shows some */
bool core_guard_begin(core_guards *g) {
  if (!shows(g)) return true;
  g->shown = PyList_Append(numbers_shown, Py_None) == 0;
  return g->shown;
}
void core_guard_end(core_guards *g) {
  if (g->shown) PyList_SetSlice(numbers_shown, 0, 1, NULL);
  g->shown = false;
}
int core_guard_init(PyObject *module) {
  numbers_shown = PyList_New(0);
  return numbers_shown ? PyModule_AddObjectRef(module, "numbers_shown", numbers_shown) : -1;
}

PyObject *core_guard_shown(const core_guards *g, size_t i, PyObject *array) {
  const core_guard *of = &g->of[i];
  const double *f = of->value.v.f;
  if (of->kind == 0 || of->level < 2) return Py_NewRef(array);
  if (of->kind == 'i') return PyLong_FromLongLong(of->value.v.i);
  if (of->kind == 'b') return PyBool_FromLong(of->value.v.i != 0);
  return of->kind == 'f' ? PyFloat_FromDouble(f[0]) : PyComplex_FromDoubles(f[0], f[1]);
}

/* ---- numbers of arrays */

static int attach(PyObject *array, core_guards *g, core_number n) {
  core_array *a = (core_array *)array;
  a->number = PyMem_Malloc(sizeof n);
  if (a->number == NULL) return PyErr_NoMemory(), -1;
  g->refs++;
  *a->number = n;
  a->number->guards = g;
  return 0;
}

void core_number_free(core_number *n) {
  core_guards_release(n->guards);
  PyMem_Free(n);
}

int core_guard_leaf(core_guards *g, size_t i, PyObject *array) {
  uint64_t bit = (uint64_t)1 << (i < 63 ? i : 63);
  return g->of[i].kind == 0 ? 0 : attach(array, g, (core_number){NULL, (int32_t)i, bit, 0, 0});
}

/* The function is captured again, with less left open. */
static void again(core_guards *g, uint64_t from, uint8_t level) {
  g->again = true;
  for (size_t i = 0; i < g->n; i++) {
    core_guard *of = &g->of[i];
    bool is = from >> (i < 63 ? i : 63) & 1;
    if (!is || of->kind == 0 || of->level == 2) continue;
    of->level = level == 2 || of->kind != 'i' ? 2 : (uint8_t)(of->level + 1);
  }
}

static void range(const core_number *n, int64_t *low, int64_t *high) {
  const core_guard *g = n->leaf >= 0 ? &n->guards->of[n->leaf] : NULL;
  *low = g ? g->low : n->low;
  *high = g ? g->high : n->high;
}

static void within(const core_number *n, int64_t low, int64_t high) {
  int64_t is_low, is_high;
  range(n, &is_low, &is_high);
  if (is_low >= low && is_high <= high) return;
  core_guard *g = n->leaf >= 0 ? &n->guards->of[n->leaf] : NULL;
  if (g == NULL || g->value.v.i < low || g->value.v.i > high) {
    again(n->guards, n->from, g != NULL ? 2 : 1);
    return;
  }
  if (g->low < low) g->low = low;
  if (g->high > high) g->high = high;
}

/* A float that loses its fraction in an integer dtype. */
static void whole_within(const core_number *n, double least, double most) {
  core_guard *g = n->leaf >= 0 ? &n->guards->of[n->leaf] : NULL;
  if (g == NULL || !(g->value.v.f[0] > least && g->value.v.f[0] < most)) {
    again(n->guards, n->from, 2);
    return;
  }
  if (!g->bounded || g->least < least) g->least = least;
  if (!g->bounded || g->most > most) g->most = most;
  g->bounded = true;
}

void core_number_becomes(PyObject *array, nx_dtype t) {
  const core_number *n = ((core_array *)array)->number;
  if (n == NULL) return;
  char of = core_kind(nx_dtype_of(core_tensor(array))), kind = core_kind(t);
  bool whole = kind == 'i' || kind == 'u';
  size_t bits = nx_dtype_bits(t) - (kind == 'i');
  if (of == 'i' && (kind == 'f' || kind == 'c')) within(n, -EXACT, EXACT);
  if (of == 'i' && whole) {
    int64_t most = bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
    within(n, kind == 'u' ? 0 : -most - 1, most);
  }
  double above = ldexp(1, (int)bits), below = kind == 'u' ? 0 : -above;
  if (of == 'f' && whole)
    whole_within(n, bits < 53 ? below - 1 : nextafter(below, -INFINITY), above);
}

/* ---- arithmetic */

static int64_t larger(int64_t low, int64_t high) {
  if (low == INT64_MIN) return INT64_MAX;
  int64_t a = low < 0 ? -low : low, b = high < 0 ? -high : high;
  return a > b ? a : b;
}

/* The largest n >= 0 for which base to the power n is in int64; base is 2 at least. */
static int64_t most_power(int64_t base) {
  int64_t p = 1, n = 0;
  while (!__builtin_mul_overflow(p, base, &p)) n++;
  return n;
}

static int64_t most_base(int64_t n) {
  int64_t base = (int64_t)floor(pow(2, 62.9 / (double)n));
  return base < 1 ? 1 : base;
}

typedef struct side {
  const core_number *number; /* NULL: it is its value */
  int64_t low, high;
} side;

static bool power_of(const side *a, const side *b) {
  if (a->number != NULL && b->number != NULL) return false;
  if (a->number == NULL) {
    if (b->number == NULL) return false;
    int64_t base = larger(a->low, a->high);
    within(b->number, 0, base < 2 ? INT64_MAX : most_power(base));
    return true;
  }
  if (b->low < 0) return false;
  if (b->low > 1) within(a->number, -most_base(b->low), most_base(b->low));
  return true;
}

/* The interval of a op b; false if it is in none. */
static bool interval(nx_binary_op op, const side *a, const side *b, int64_t *low, int64_t *high) {
  bool over = false;
  *low = INT64_MIN;
  *high = INT64_MAX;
  if (op == NX_BINARY_ADD || op == NX_BINARY_SUB) {
    bool add = op == NX_BINARY_ADD;
    over = add ? __builtin_add_overflow(a->low, b->low, low)
               : __builtin_sub_overflow(a->low, b->high, low);
    over |= add ? __builtin_add_overflow(a->high, b->high, high)
                : __builtin_sub_overflow(a->high, b->low, high);
  } else if (op == NX_BINARY_MUL) {
    over = __builtin_mul_overflow(larger(a->low, a->high), larger(b->low, b->high), high);
    *low = -*high;
  } else if (op == NX_BINARY_FLOOR_DIV || op == NX_BINARY_FLOOR_MOD) {
    if (b->number == NULL) over = b->low == 0;
    else if (b->number->leaf >= 0 && b->number->guards->of[b->number->leaf].value.v.i > 0)
      within(b->number, 1, INT64_MAX);
    else over = b->low <= 0 && b->high >= 0;
    *high = op == NX_BINARY_FLOOR_DIV ? larger(a->low, a->high) : larger(b->low, b->high);
    *low = -*high;
    over |= a->low == INT64_MIN;
  } else if (op == NX_BINARY_POW) over = !power_of(a, b);
  else if (op == NX_BINARY_SHL || op == NX_BINARY_SHR) over = true;
  return !over;
}

static bool side_of(PyObject *o, side *s) {
  *s = (side){NULL, 0, 0};
  if (!core_is_array(o)) {
    int beyond = 0;
    if (!PyLong_Check(o)) return false;
    s->low = s->high = PyLong_AsLongLongAndOverflow(o, &beyond);
    return beyond == 0;
  }
  s->number = ((core_array *)o)->number;
  char kind = core_kind(nx_dtype_of(core_tensor(o)));
  if (s->number == NULL || (kind != 'i' && kind != 'b')) return false;
  range(s->number, &s->low, &s->high);
  if (kind == 'b') s->low = 0, s->high = 1;
  return true;
}

static const core_number *number_of(PyObject *o) {
  return core_is_array(o) ? ((core_array *)o)->number : NULL;
}

void core_number_needed(PyObject *array) {
  const core_number *n = number_of(array);
  if (n != NULL) again(n->guards, n->from, 2);
}

/* True + True is 2, of arrays true. */
static bool is_bool(PyObject *o) {
  return core_is_array(o) ? nx_dtype_of(core_tensor(o)) == NX_BOOL : PyBool_Check(o) != 0;
}
static void no_bool(PyObject *o) {
  if (number_of(o) != NULL && is_bool(o)) core_number_needed(o);
}

/* inf // 1 is NaN of numbers: those that it comes from are finite. */
static void finite_number(const core_number *n) {
  core_guards *g = n != NULL ? n->guards : NULL;
  for (size_t i = 0; g != NULL && i < g->n; i++) {
    core_guard *of = &g->of[i];
    uint64_t bit = (uint64_t)1 << (i < 63 ? i : 63);
    if (!(n->from & bit) || of->kind != 'f' || of->level == 2) continue;
    if (!isfinite(of->value.v.f[0])) again(g, bit, 2);
    else if (!of->bounded) of->bounded = true, of->least = -INFINITY, of->most = INFINITY;
  }
}

/* 128 // -inf is -1 of numbers, and of arrays what the quotient rounds to. */
static bool is_unbounded(PyObject *o) { return PyFloat_Check(o) && !isfinite(PyFloat_AsDouble(o)); }

int core_number_made(PyObject *made, PyObject *a, nx_binary_op op, PyObject *b) {
  const core_number *x = number_of(a), *y = number_of(b), *of = x ? x : y;
  bool bits = op == NX_BINARY_AND || op == NX_BINARY_OR || op == NX_BINARY_XOR ||
              (op >= NX_BINARY_CMPEQ && op <= NX_BINARY_CMPGE);
  if (!bits && is_bool(a) && is_bool(b)) no_bool(a), no_bool(b); /* also what has no result */
  if (made == NULL || of == NULL || !core_is_weak(made)) return 0;
  if (op == NX_BINARY_FLOOR_DIV || op == NX_BINARY_FLOOR_MOD) {
    finite_number(x), finite_number(y);
    if (is_unbounded(a)) core_number_needed(b);
    if (is_unbounded(b)) core_number_needed(a);
  }
  core_number n = {NULL, -1, (x ? x->from : 0) | (y ? y->from : 0), 0, 0};
  side s, t;
  if (core_kind(nx_dtype_of(core_tensor(made))) == 'i') {
    bool both = side_of(a, &s) && side_of(b, &t);
    if (!both || !interval(op, &s, &t, &n.low, &n.high)) again(of->guards, n.from, 1);
  }
  return attach(made, of->guards, n);
}

int core_number_same(PyObject *made, PyObject *a) {
  const core_number *x = number_of(a);
  core_number n = {NULL, -1, x ? x->from : 0, 0, 0};
  no_bool(a);
  if (made == NULL || x == NULL || !core_is_weak(made)) return 0;
  int64_t low, high;
  range(x, &low, &high);
  n.high = larger(low, high); /* of -x, ~x and abs(x), but for ~ of the largest */
  n.low = n.high == INT64_MAX ? INT64_MIN : -n.high - 1;
  if (low == INT64_MIN && core_kind(nx_dtype_of(core_tensor(a))) == 'i')
    again(x->guards, x->from, 1);
  return attach(made, x->guards, n);
}
