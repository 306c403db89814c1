/* SPDX-License-Identifier: ISC */
/* Checks that every operation shares: null operands, contexts, dtypes, scalars. */
#include "error.h"
#include "record.h"

nx_tensor *nxi_fail_null(const nxi_diag *d) {
  nxi_error_report(d);
  return NULL;
}

void *nxi_no_memory(const char *op) {
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_oom_in(&d, NX_OUT_OF_MEMORY, op);
  return nxi_fail_null(&d);
}

/* Each check for itself; false: the failure is reported. */
__attribute__((noinline)) static bool check_each(const char *op, nx_tensor *const *t, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (!nxi_have_tensor(op, (int32_t)i, t[i])) return false;
  for (uint32_t i = 1; i < n; i++) {
    if (t[i]->context == t[0]->context) continue;
    nxi_diag d;
    nxi_diag_clear(&d);
    nxi_fail(&d, NX_INVALID_ARGUMENT, op,
             "%s: operand %u belongs to another context than operand 0", op, i);
    d.operand = (int32_t)i;
    nxi_error_report(&d);
    return false;
  }
  return true;
}

bool nxi_check_operands(const char *op, nx_tensor *const *t, uint32_t n) {
  return nxi_plain_operands(t, n) || check_each(op, t, n);
}

bool nxi_dtype_exists(const char *op, nx_dtype dtype, nxi_diag *d) {
  if (nxi_dtype_valid(dtype)) return true;
  nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: there is no dtype %d", op, (int)dtype);
  return false;
}

/* The usual numbers in the usual dtypes, without entering the floating-point environment. False:
 * the others. */
static bool usual_bits(const nx_scalar *v, nx_dtype dtype, uint64_t bits[2]) {
  const int64_t whole = INT64_C(1) << 24;
  bits[1] = 0;
  if (v->kind == NX_SCALAR_F64) return nxi_usual_float(v->v.f[0], dtype, bits);
  if (v->kind != NX_SCALAR_I64) return false;
  bool exact = v->v.i >= -whole && v->v.i <= whole;
  if (dtype == NX_I32) bits[0] = (uint32_t)v->v.i;
  else if (dtype == NX_I64) bits[0] = (uint64_t)v->v.i;
  else if (dtype == NX_F32 && exact) bits[0] = nxi_bits_f32((float)v->v.i);
  else if (dtype == NX_F64 && exact) bits[0] = nxi_bits_f64((double)v->v.i);
  else return false;
  return true;
}

/* Integers wrap, floats round once; of a complex number a real dtype takes the real part, but bool
 * is true if it is not 0. */
bool nxi_scalar_bits(const char *op, const nx_scalar *v, nx_dtype dtype, uint64_t bits[2],
                     nxi_diag *d) {
  if (!v || (unsigned)v->kind > NX_SCALAR_C128) {
    nxi_fail(d, NX_INVALID_ARGUMENT, op,
             v ? "%s: the scalar is of no known kind" : "%s: the scalar is null", op);
    return false;
  }
  if (usual_bits(v, dtype, bits)) return true;
  bool pair = nxi_is_complex(dtype);
  nxi_fp environment = nxi_fp_enter();
  dtype = nxi_part_dtype(dtype);
  bits[1] =
      pair && v->kind == NX_SCALAR_C128 ? nxi_cast_bits(nxi_bits_f64(v->v.f[1]), NX_F64, dtype) : 0;
  switch (v->kind) {
    case NX_SCALAR_I64: *bits = nxi_cast_bits((uint64_t)v->v.i, NX_I64, dtype); break;
    case NX_SCALAR_U64: *bits = nxi_cast_bits(v->v.u, NX_U64, dtype); break;
    default: *bits = nxi_cast_bits(nxi_bits_f64(v->v.f[0]), NX_F64, dtype);
  }
  if (v->kind == NX_SCALAR_C128 && dtype == NX_BOOL && v->v.f[1] != 0) *bits = 1;
  nxi_fp_leave(environment);
  return true;
}

bool nxi_check_flags(const char *op, uint32_t flags, uint32_t known, const char *names,
                     nxi_diag *d) {
  if (!(flags & ~known)) return true;
  nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: the flags 0x%x hold more than %s", op, flags, names);
  return false;
}

/* ---- lists */

bool nxi_check_list(const char *op, const char *what, const void *list, size_t n,
                    const nx_tensor *x, nxi_diag *d) {
  if (n != x->rank)
    nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: the %s has %zu entries for a tensor of rank %d", op,
             what, n, x->rank);
  else if (n && !list) nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: the %s is null", op, what);
  return !d->status;
}

bool nxi_axes_given(const char *op, const nx_tensor *x, const int32_t **axes, size_t *n,
                    nxi_diag *d) {
  static const int32_t all[NXG_MAX_RANK] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                            11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                            22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
  if (*n == NX_ALL && !*axes) {
    *axes = all;
    *n = x->rank;
    return true;
  }
  if (*n == NX_ALL)
    nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: NX_ALL counts no list of axes, only NULL", op);
  else if (!*axes)
    nxi_fail(d, NX_INVALID_ARGUMENT, op,
             "%s: the list of axes is null; NX_ALL_AXES names all, an empty list none", op);
  return !d->status;
}

bool nxi_check_key(const char *op, nx_tensor *key, nxi_diag *d) {
  nx_dtype t = key->storage->dtype;
  char text[NXG_SHAPE_TEXT];
  bool admitted = t == NX_I32 || t == NX_U32;
  if (admitted && key->rank == 1 && nxi_shape(key)[0] == 2) return true;
  d->operand = 0;
  return !nxi_fail(d, admitted ? NX_INVALID_ARGUMENT : NX_UNSUPPORTED_DTYPE, op,
                   "%s: the key is %s%s, not i32 or u32 of shape [2]", op, nxi_dtypes[t].name,
                   nxg_format_shape(text, key->rank, nxi_shape(key)));
}
