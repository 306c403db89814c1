/* SPDX-License-Identifier: ISC */
/* Indices whose values are there when they are used are checked at once, as NumPy does it: so an
 * assignment to elements that do not exist is not recorded. All others are checked when the result
 * is computed. */
#include "core.h"

/* Of an array that the program has made itself: larger ones take long beside what recording
 * takes. */
enum { MOST_GIVEN = 1 << 12 };

/* Whether all n elements of a row are from -below up to last - below; else *bad is the first that
 * is not. */
typedef bool (*row_check)(const char *row, int64_t n, int64_t step, int64_t below, int64_t last,
                          int64_t *bad);

/* Below 0 for an element that is no place, whatever it is: sums wrap around. */
static inline int64_t distance(int64_t v, int64_t below, int64_t last) {
  const int64_t at = (int64_t)((uint64_t)v + (uint64_t)below);
  return at | (int64_t)((uint64_t)last - (uint64_t)at);
}

#define ROW_CHECK(type)                                                                           \
  static bool check_##type(const char *row, int64_t n, int64_t step, int64_t below, int64_t last, \
                           int64_t *bad) {                                                        \
    const type *at = (const type *)(const void *)row;                                             \
    int64_t any = 0;                                                                              \
    if (step == 1)                                                                                \
      for (int64_t i = 0; i < n; i++) any |= distance((int64_t)at[i], below, last);               \
    else                                                                                          \
      for (int64_t i = 0; i < n; i++) any |= distance((int64_t)at[i * step], below, last);        \
    for (int64_t i = 0; any < 0; i++) {                                                           \
      *bad = (int64_t)at[i * step];                                                               \
      if (distance(*bad, below, last) < 0) return false;                                          \
    }                                                                                             \
    return true;                                                                                  \
  }
ROW_CHECK(int8_t)
ROW_CHECK(int16_t)
ROW_CHECK(int32_t)
ROW_CHECK(int64_t)
ROW_CHECK(uint8_t)
ROW_CHECK(uint16_t)
ROW_CHECK(uint32_t)
ROW_CHECK(uint64_t)

static row_check check_of(nx_dtype t) {
  switch (t) {
    case NX_I8: return check_int8_t;
    case NX_I16: return check_int16_t;
    case NX_I32: return check_int32_t;
    case NX_I64: return check_int64_t;
    case NX_U8: return check_uint8_t;
    case NX_U16: return check_uint16_t;
    case NX_U32: return check_uint32_t;
    case NX_U64: return check_uint64_t;
    default: return NULL; /* no index, or one of 4 bits: checked when it is used */
  }
}

/* Goes through an array of any strides, row by row. */
static bool check_all(const char *base, const nx_tensor_info *x, int64_t extent, int64_t *bad) {
  const int64_t size = (int64_t)nx_dtype_bits(x->dtype) / 8;
  const int64_t below = core_kind(x->dtype) == 'i' ? extent : 0;
  const row_check check = check_of(x->dtype);
  const bool whole = x->flags & NX_TENSOR_C_CONTIGUOUS;
  const int32_t outer = whole || x->rank == 0 ? 0 : x->rank - 1;
  const int64_t n = whole || x->rank == 0 ? x->elements : x->shape[outer];
  const int64_t step = whole || x->rank == 0 ? 1 : x->strides[outer];
  int64_t index[NX_MAX_RANK] = {0};
  base += x->offset * size;
  for (bool more = x->elements > 0; more;) {
    if (!check(base, n, step, below, below + extent - 1, bad)) return false;
    more = false;
    for (int32_t i = outer; i-- > 0 && !more;) {
      more = ++index[i] < x->shape[i];
      base += (more ? 1 : 1 - x->shape[i]) * x->strides[i] * size;
      if (!more) index[i] = 0;
    }
  }
  return true;
}

/* Whether the values are there, in memory of the host, and will be those that are used: within a
 * capture an array of the program's has other values at other calls. */
static bool is_known(nx_tensor *x, const nx_tensor_info *info, bool given) {
  nx_device_info d = {.size = sizeof d};
  if (!(info->flags & NX_TENSOR_REALIZED) || check_of(info->dtype) == NULL) return false;
  if (!given) return true;
  if (info->elements > MOST_GIVEN || nx_capturing(nx_context_of(x))) return false;
  return nx_device_describe(nx_context_of(x), nx_device_of(x), &d) == NX_OK && d.dlpack_type == 1;
}

/* check_index(x, extent, axis, given): IndexError if elements of x are no places on an axis of that
 * extent, as far as that is known. given: x is the program's, not made of a list here. */
PyObject *core_check_index(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  (void)self;
  int64_t extent, axis, bad = 0;
  if (core_count("check_index", n, 4, 4) < 0 || core_take_i64(args[1], 0, INT64_MAX, &extent) < 0 ||
      core_take_i64(args[2], 0, NX_MAX_RANK, &axis) < 0)
    return NULL;
  if (!core_is_array(args[0])) return PyErr_Format(PyExc_TypeError, "nx: not an Array");
  nx_tensor *x = core_tensor(args[0]);
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(x, &info);
  if (!is_known(x, &info, args[3] == Py_True)) return Py_NewRef(Py_None);
  nx_mapping *mapping = NULL;
  core_action a;
  core_begin(&a);
  if (core_end(&a, nx_map(x, NX_MAP_READ, &a.options, &mapping)) < 0) return NULL;
  bool good = check_all(nx_mapping_base(mapping, NULL), &info, extent, &bad);
  nx_mapping_release(mapping);
  if (good) return Py_NewRef(Py_None);
  return core_fail_index(bad, core_kind(info.dtype) == 'i', (int32_t)axis, extent);
}
