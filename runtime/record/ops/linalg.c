/* SPDX-License-Identifier: ISC */
/* Recording of linear algebra that library calls carry out. Floats smaller than f32 are cast to it,
 * c32 to c64, and results cast back. */
#include "linalg.h"

#include <string.h>

#include "runtime/record/error.h"
#include "runtime/record/record.h"

nx_tensor *nxi_widened(nx_tensor *x, bool most) {
  nx_dtype t = x->storage->dtype;
  if (most && nxi_is_float(t) && t != NX_F64) return nx_cast(x, NX_F64);
  if (most && nxi_is_complex(t) && t != NX_C128) return nx_cast(x, NX_C128);
  if (nxi_is_small_float(t)) return nx_cast(x, NX_F32);
  if (t == NX_C32) return nx_cast(x, NX_C64);
  return nx_tensor_retain(x);
}

nx_tensor *nxi_narrowed(nx_tensor *result, nx_dtype t) {
  if (!result || !(nxi_is_small_float(t) || t == NX_C32)) return result;
  bool real = !nxi_is_complex(result->storage->dtype);
  nx_tensor *narrow = nx_cast(result, real ? nxi_part_dtype(t) : t);
  nx_tensor_release(result);
  return narrow;
}

static nx_tensor *record_one(nxg_op op, nx_tensor *a, const int64_t *attrs, uint32_t n_attrs) {
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_operand o = nxi_operand_of(a);
  return nxi_record_inferred(op, &o, 1, attrs, n_attrs, &d);
}

/* What becomes of the operand and of the result. */
enum { WIDEST = 1 /* f64 or c128 */, NARROW = 2 /* the operand's dtype */ };

/* Operations with one matrix and one result. */
static nx_tensor *unary(nxg_op op, nx_tensor *a, int how, const int64_t *attrs, uint32_t n_attrs) {
  if (!nxi_have_tensor(nxg_ops[op].name, 0, a)) return NULL;
  uint16_t outer = nxi_called_begin(op);
  nx_tensor *wide = nxi_widened(a, how & WIDEST), *result = NULL;
  if (wide) result = record_one(op, wide, attrs, n_attrs);
  if (how & NARROW) result = nxi_narrowed(result, a->storage->dtype);
  nx_tensor_release(wide);
  nxi_called_end(outer);
  return result;
}

/* Whether a is a tensor and the flags are known; false: reported. */
static bool check_flags(nxg_op op, nx_tensor *a, uint32_t flags, uint32_t known,
                        const char *names) {
  const char *name = nxg_ops[op].name;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_have_tensor(name, 0, a)) return false;
  if (nxi_check_flags(name, flags, known, names, &d)) return true;
  nxi_fail_null(&d);
  return false;
}

static int64_t gives_nan(uint32_t flags) { return !!(flags & NX_NAN_ON_FAILURE); }

nx_tensor *nx_cholesky(nx_tensor *a, uint32_t flags) {
  int64_t attrs[2] = {flags & NX_UPPER, gives_nan(flags)};
  if (!check_flags(NXG_cholesky, a, flags, NX_UPPER | NX_NAN_ON_FAILURE,
                   "NX_UPPER and NX_NAN_ON_FAILURE"))
    return NULL;
  return unary(NXG_cholesky, a, NARROW, attrs, 2);
}

/* Values, which are f64, in the real dtype of a; takes the reference. */
static nx_tensor *in_input_precision(nx_tensor *values, const nx_tensor *a, uint32_t flags) {
  nx_dtype part = nxi_part_dtype(a->storage->dtype);
  if (!values || !(flags & NX_INPUT_PRECISION) || part == NX_F64) return values;
  nx_tensor *rounded = nx_cast(values, part);
  nx_tensor_release(values);
  return rounded;
}

nx_tensor *nx_eigvalsh(nx_tensor *a, uint32_t flags) {
  int64_t attrs[1] = {gives_nan(flags)};
  if (!check_flags(NXG_eigvalsh, a, flags, NX_INPUT_PRECISION | NX_NAN_ON_FAILURE,
                   "NX_INPUT_PRECISION and NX_NAN_ON_FAILURE"))
    return NULL;
  uint16_t outer = nxi_called_begin(NXG_eigvalsh);
  nx_tensor *values = in_input_precision(unary(NXG_eigvalsh, a, 0, attrs, 1), a, flags);
  nxi_called_end(outer);
  return values;
}

/* With the one flag that there is. */
static nx_tensor *unary_or_nan(nxg_op op, nx_tensor *a, int how, uint32_t flags) {
  int64_t attrs[1] = {gives_nan(flags)};
  if (!check_flags(op, a, flags, NX_NAN_ON_FAILURE, "NX_NAN_ON_FAILURE")) return NULL;
  return unary(op, a, how, attrs, 1);
}

nx_tensor *nx_eigvals(nx_tensor *a) { return nx_eigvals_flags(a, 0); }
nx_tensor *nx_eigvals_flags(nx_tensor *a, uint32_t flags) {
  return unary_or_nan(NXG_eigvals, a, WIDEST, flags);
}
nx_tensor *nx_inv(nx_tensor *a) { return nx_inv_flags(a, 0); }
nx_tensor *nx_inv_flags(nx_tensor *a, uint32_t flags) {
  return unary_or_nan(NXG_inv, a, NARROW, flags);
}
nx_tensor *nx_det(nx_tensor *a) { return unary(NXG_det, a, NARROW, NULL, 0); }

/* ---- several results */

typedef struct call {
  nxg_op op;
  bool most;       /* computed in f64 or c128 */
  uint32_t narrow; /* results that have the operand's dtype */
  uint32_t values; /* results that NX_INPUT_PRECISION is about */
  uint32_t flags;
  int64_t attrs[3]; /* those of the operation, and room for the number of the result */
  uint32_t n_attrs;
} call;

/* Result i of the call, as the caller gets it. */
static nx_tensor *result_of(const call *k, nx_tensor *a, nx_tensor *wide, uint32_t i) {
  int64_t attrs[3] = {k->attrs[0], k->attrs[1], k->attrs[2]};
  attrs[k->n_attrs] = i;
  nx_tensor *made = record_one(k->op, wide, attrs, k->n_attrs + 1);
  if (k->narrow >> i & 1) made = nxi_narrowed(made, a->storage->dtype);
  if (k->values >> i & 1) made = in_input_precision(made, a, k->flags);
  return made;
}

static nx_status several(const call *k, nx_tensor *a, nx_tensor **const out[NXG_CALL_RESULTS]) {
  nx_tensor *made[NXG_CALL_RESULTS] = {NULL};
  uint32_t n = nxg_call_results(k->op);
  if (!nxi_have_tensor(nxg_ops[k->op].name, 0, a)) return NX_INVALID_ARGUMENT;
  uint16_t outer = nxi_called_begin(k->op);
  nx_tensor *wide = nxi_widened(a, k->most);
  bool good = wide != NULL;
  for (uint32_t i = 0; good && i < n; i++) {
    made[i] = result_of(k, a, wide, i);
    good = made[i] != NULL;
  }
  nx_tensor_release(wide);
  nxi_called_end(outer);
  for (uint32_t i = 0; i < n; i++) {
    if (good && out[i]) *out[i] = made[i];
    else nx_tensor_release(made[i]);
  }
  return good ? NX_OK : nxi_error_status();
}

nx_status nx_qr(nx_tensor *a, uint32_t flags, nx_tensor **q, nx_tensor **r) {
  call k = {.op = NXG_qr, .narrow = 3, .n_attrs = 1, .attrs = {!(flags & NX_FULL_MATRICES)}};
  if (!check_flags(k.op, a, flags, NX_FULL_MATRICES, "NX_FULL_MATRICES"))
    return NX_INVALID_ARGUMENT;
  return several(&k, a, (nx_tensor * *const[NXG_CALL_RESULTS]){q, r});
}

nx_status nx_svd(nx_tensor *a, uint32_t flags, nx_tensor **u, nx_tensor **s, nx_tensor **vh) {
  call k = {.op = NXG_svd,
            .narrow = 5,
            .values = 2,
            .flags = flags,
            .n_attrs = 2,
            .attrs = {!!(flags & NX_FULL_MATRICES), gives_nan(flags)}};
  if (!check_flags(k.op, a, flags, NX_FULL_MATRICES | NX_INPUT_PRECISION | NX_NAN_ON_FAILURE,
                   "NX_FULL_MATRICES, NX_INPUT_PRECISION and NX_NAN_ON_FAILURE"))
    return NX_INVALID_ARGUMENT;
  return several(&k, a, (nx_tensor * *const[NXG_CALL_RESULTS]){u, s, vh});
}

nx_status nx_eigh(nx_tensor *a, uint32_t flags, nx_tensor **values, nx_tensor **vectors) {
  call k = {.op = NXG_eigh,
            .narrow = 2,
            .values = 1,
            .flags = flags,
            .n_attrs = 1,
            .attrs = {gives_nan(flags)}};
  if (!check_flags(k.op, a, flags, NX_INPUT_PRECISION | NX_NAN_ON_FAILURE,
                   "NX_INPUT_PRECISION and NX_NAN_ON_FAILURE"))
    return NX_INVALID_ARGUMENT;
  return several(&k, a, (nx_tensor * *const[NXG_CALL_RESULTS]){values, vectors});
}

nx_status nx_eig(nx_tensor *a, nx_tensor **values, nx_tensor **vectors) {
  return nx_eig_flags(a, 0, values, vectors);
}
nx_status nx_eig_flags(nx_tensor *a, uint32_t flags, nx_tensor **values, nx_tensor **vectors) {
  call k = {.op = NXG_eig, .most = true, .n_attrs = 1, .attrs = {gives_nan(flags)}};
  if (!check_flags(k.op, a, flags, NX_NAN_ON_FAILURE, "NX_NAN_ON_FAILURE"))
    return NX_INVALID_ARGUMENT;
  return several(&k, a, (nx_tensor * *const[NXG_CALL_RESULTS]){values, vectors});
}

nx_status nx_lu(nx_tensor *a, nx_tensor **lu, nx_tensor **pivots, nx_tensor **permutation,
                nx_tensor **info) {
  call k = {.op = NXG_lu, .narrow = 1};
  return several(&k, a, (nx_tensor * *const[NXG_CALL_RESULTS]){lu, pivots, permutation, info});
}

nx_status nx_sytrd(nx_tensor *a, uint32_t flags, nx_tensor **packed, nx_tensor **diagonal,
                   nx_tensor **beside, nx_tensor **tau) {
  call k = {.op = NXG_sytrd, .narrow = 15, .n_attrs = 1, .attrs = {!!(flags & NX_UPPER)}};
  if (!check_flags(k.op, a, flags, NX_UPPER, "NX_UPPER")) return NX_INVALID_ARGUMENT;
  return several(&k, a, (nx_tensor * *const[NXG_CALL_RESULTS]){packed, diagonal, beside, tau});
}

nx_status nx_gehrd(nx_tensor *a, nx_tensor **packed, nx_tensor **tau) {
  call k = {.op = NXG_gehrd, .narrow = 3};
  return several(&k, a, (nx_tensor * *const[NXG_CALL_RESULTS]){packed, tau});
}

nx_status nx_schur(nx_tensor *a, uint32_t flags, nx_tensor **t, nx_tensor **z) {
  call k = {.op = NXG_schur, .narrow = 3, .n_attrs = 1, .attrs = {gives_nan(flags)}};
  if (!check_flags(k.op, a, flags, NX_NAN_ON_FAILURE, "NX_NAN_ON_FAILURE"))
    return NX_INVALID_ARGUMENT;
  return several(&k, a, (nx_tensor * *const[NXG_CALL_RESULTS]){t, z});
}

nx_status nx_eig_left(nx_tensor *a, uint32_t flags, nx_tensor **values, nx_tensor **left,
                      nx_tensor **right) {
  call k = {.op = NXG_eig_left, .most = true, .n_attrs = 1, .attrs = {gives_nan(flags)}};
  if (!check_flags(k.op, a, flags, NX_NAN_ON_FAILURE, "NX_NAN_ON_FAILURE"))
    return NX_INVALID_ARGUMENT;
  return several(&k, a, (nx_tensor * *const[NXG_CALL_RESULTS]){values, left, right});
}

nx_status nx_geqrf(nx_tensor *a, nx_tensor **packed, nx_tensor **tau) {
  call k = {.op = NXG_geqrf, .narrow = 3};
  return several(&k, a, (nx_tensor * *const[NXG_CALL_RESULTS]){packed, tau});
}

nx_status nx_geqp3(nx_tensor *a, nx_tensor **packed, nx_tensor **tau, nx_tensor **permutation) {
  call k = {.op = NXG_geqp3, .narrow = 3};
  return several(&k, a, (nx_tensor * *const[NXG_CALL_RESULTS]){packed, tau, permutation});
}

nx_status nx_slogdet(nx_tensor *a, nx_tensor **sign, nx_tensor **log) {
  call k = {.op = NXG_slogdet, .narrow = 3};
  return several(&k, a, (nx_tensor * *const[NXG_CALL_RESULTS]){sign, log});
}

nx_status nx_cholesky_info(nx_tensor *a, uint32_t flags, nx_tensor **factor, nx_tensor **info) {
  call k = {.op = NXG_cholesky_info, .narrow = 1, .n_attrs = 1, .attrs = {flags & NX_UPPER}};
  if (!check_flags(k.op, a, flags, NX_UPPER, "NX_UPPER")) return NX_INVALID_ARGUMENT;
  return several(&k, a, (nx_tensor * *const[NXG_CALL_RESULTS]){factor, info});
}

nx_status nx_inv_info(nx_tensor *a, nx_tensor **inverse, nx_tensor **info) {
  call k = {.op = NXG_inv_info, .narrow = 1};
  return several(&k, a, (nx_tensor * *const[NXG_CALL_RESULTS]){inverse, info});
}

/* ---- A x = b */

nx_tensor *nxi_as_columns(nx_tensor *b, bool vector) {
  int64_t shape[NXG_MAX_RANK + 1];
  if (!vector) return nx_tensor_retain(b);
  memcpy(shape, nxi_shape(b), b->rank * sizeof *shape);
  shape[b->rank] = 1;
  return nx_reshape(b, shape, b->rank + 1, 0);
}

bool nxi_check_dtypes(const char *op, nx_tensor *const *t, uint32_t n) {
  nxi_diag d;
  nxi_diag_clear(&d);
  for (uint32_t i = 0; i < n && !d.status; i++) {
    nx_dtype is = t[i]->storage->dtype, first = t[0]->storage->dtype;
    if (!nxi_is_float(is) && !nxi_is_complex(is))
      nxi_fail(&d, NX_UNSUPPORTED_DTYPE, op,
               "%s: operand %u has dtype %s, which the operation does not admit", op, i,
               nx_dtype_name(is));
    else if (is != first)
      nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: operand %u has dtype %s, operand 0 has %s", op, i,
               nx_dtype_name(is), nx_dtype_name(first));
    d.operand = (int32_t)i;
  }
  if (d.status) nxi_fail_null(&d);
  return !d.status;
}

/* Says of operand 0 what it is not. */
static bool fail_shape(const char *op, const nx_tensor *a, const char *what) {
  char shape[NXG_SHAPE_TEXT];
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: operand 0 of shape %s is %s", op,
           nxg_format_shape(shape, a->rank, nxi_shape(a)), what);
  d.operand = 0;
  nxi_fail_null(&d);
  return false;
}

bool nxi_check_matrices(const char *op, nx_tensor *const *t, uint32_t n) {
  return nxi_check_dtypes(op, t, n) && (t[0]->rank >= 2 || fail_shape(op, t[0], "no matrix"));
}

bool nxi_check_square(const char *op, nx_tensor *a) {
  const int64_t *shape = nxi_shape(a) + a->rank - 2;
  return shape[0] == shape[1] || fail_shape(op, a, "not square");
}

bool nxi_is_side(const char *name, nx_tensor *a, nx_tensor *b, bool vector, bool right) {
  nxi_diag d;
  char left[NXG_SHAPE_TEXT], side[NXG_SHAPE_TEXT];
  nx_tensor *both[2] = {a, b};
  int32_t keep = vector ? 1 : 2, lead_rank;
  int64_t lead[NXG_MAX_RANK];
  nxi_diag_clear(&d);
  nxg_format_shape(left, a->rank, nxi_shape(a));
  nxg_format_shape(side, b->rank, nxi_shape(b));
  const int32_t axis = right ? 1 : keep; /* from the end, of b: as long as a has rows */
  if (b->rank < keep || nxi_shape(b)[b->rank - axis] != nxi_shape(a)[a->rank - 2])
    nxi_fail(&d, NX_INVALID_ARGUMENT, name,
             "%s: operand 1 of shape %s is no right side for the rows of operand 0 of shape %s%s",
             name, side, left, axis != keep ? ", from the right" : "");
  else if (nxg_broadcast(name, a->rank - 2, nxi_shape(a), b->rank - keep, nxi_shape(b), &lead_rank,
                         lead, &d)) {
    nxi_diag_clear(&d);
    nxi_fail(&d, NX_INVALID_ARGUMENT, name,
             "%s: the leading extents of the shapes %s and %s do not broadcast together", name,
             left, side);
  } else if (nxi_common_device(name, both, 2, &d) >= 0) {
    return true;
  }
  d.operand = 1;
  nxi_fail_null(&d);
  return false;
}

nx_tensor *nxi_without_column(nx_tensor *x, bool vector) {
  if (!x || !vector) return x;
  nx_tensor *result = nx_reshape(x, nxi_shape(x), x->rank - 1, 0);
  nx_tensor_release(x);
  return result;
}

nx_tensor *nxi_turned(nx_tensor *x, bool conjugated) {
  int32_t axes[NXG_MAX_RANK];
  for (int32_t i = 0; i < x->rank; i++) axes[i] = i;
  axes[x->rank - 2] = x->rank - 1;
  axes[x->rank - 1] = x->rank - 2;
  nx_tensor *turned = nx_permute(x, axes, (size_t)x->rank);
  if (!turned || !conjugated || !nxi_is_complex(x->storage->dtype)) return turned;
  nx_tensor *result = nx_conj(turned);
  nx_tensor_release(turned);
  return result;
}

/* A x = b; conjugated: of the conjugate of b the conjugate. right: x A = b, seen as A^T x^T = b^T,
 * of which the transposition and the conjugation are in the attributes already. */
typedef struct equation {
  nxg_op op;
  uint32_t flags;
  bool conjugated, right;
  int64_t attrs[4];
  uint32_t n_attrs;
} equation;

/* The right side as the graph takes it. */
static nx_tensor *right_side(const equation *e, nx_tensor *b, bool vector) {
  nx_tensor *columns = e->right && !vector ? nxi_turned(b, false) : nxi_as_columns(b, vector),
            *wide = NULL, *right;
  if (columns) wide = nxi_widened(columns, false);
  right = wide && e->conjugated ? nx_conj(wide) : nx_tensor_retain(wide);
  nx_tensor_release(columns);
  nx_tensor_release(wide);
  return right;
}

static nx_tensor *solve(const equation *e, nx_tensor *a, nx_tensor *b) {
  nx_tensor *both[2] = {a, b}, *x = NULL;
  const char *name = nxg_ops[e->op].name;
  if (!nxi_check_operands(name, both, 2) || !nxi_check_matrices(name, both, 2)) return NULL;
  bool vector = nxi_is_vector(b, e->flags);
  if (!nxi_is_side(name, a, b, vector, e->right)) return NULL;
  uint16_t outer = nxi_called_begin(e->op);
  nx_tensor *wide = nxi_widened(a, false), *right = right_side(e, b, vector);
  if (wide && right) x = nxi_record_leading(e->op, wide, right, 2, e->attrs, e->n_attrs);
  nx_tensor_release(wide);
  nx_tensor_release(right);
  if (x && e->conjugated) {
    nx_tensor *turned = x;
    x = nx_conj(turned);
    nx_tensor_release(turned);
  }
  if (x && e->right && !vector) {
    nx_tensor *columns = x;
    x = nxi_turned(columns, false);
    nx_tensor_release(columns);
  }
  x = nxi_without_column(nxi_narrowed(x, a->storage->dtype), vector);
  nxi_called_end(outer);
  return x;
}

/* One of the two at most. */
static bool check_transposition(nx_tensor *a, uint32_t flags) {
  nxi_diag d;
  if (!check_flags(NXG_triangular_solve, a, flags,
                   NX_UPPER | NX_TRANSPOSED | NX_ADJOINT | NX_UNIT_DIAGONAL | NX_VECTORS |
                       NX_FROM_RIGHT | NX_NAN_ON_FAILURE,
                   "NX_UPPER, NX_TRANSPOSED, NX_ADJOINT, NX_UNIT_DIAGONAL, NX_VECTORS, "
                   "NX_FROM_RIGHT and NX_NAN_ON_FAILURE"))
    return false;
  if (!(flags & NX_TRANSPOSED) || !(flags & NX_ADJOINT)) return true;
  nxi_diag_clear(&d);
  nxi_fail(&d, NX_INVALID_ARGUMENT, "triangular_solve",
           "triangular_solve: the flags hold both NX_TRANSPOSED and NX_ADJOINT");
  nxi_fail_null(&d);
  return false;
}

nx_tensor *nx_triangular_solve(nx_tensor *a, nx_tensor *b, uint32_t flags) {
  if (!check_transposition(a, flags)) return NULL;
  const bool right = flags & NX_FROM_RIGHT, complex = nxi_is_complex(a->storage->dtype),
             turned = flags & (NX_TRANSPOSED | NX_ADJOINT);
  /* of the matrix that x^T is multiplied by: A^T, A, and the conjugate of A */
  const bool conjugated = right ? !(flags & NX_TRANSPOSED) : flags & NX_TRANSPOSED;
  equation e = {.op = NXG_triangular_solve,
                .flags = flags,
                .conjugated = conjugated && complex,
                .right = right,
                .attrs = {!!(flags & NX_UPPER), turned != right, !!(flags & NX_UNIT_DIAGONAL),
                          gives_nan(flags)},
                .n_attrs = 4};
  return solve(&e, a, b);
}

nx_tensor *nx_solve(nx_tensor *a, nx_tensor *b, uint32_t flags) {
  if (!check_flags(NXG_solve, a, flags, NX_VECTORS | NX_NAN_ON_FAILURE,
                   "NX_VECTORS and NX_NAN_ON_FAILURE"))
    return NULL;
  equation e = {.op = NXG_solve, .flags = flags, .attrs = {gives_nan(flags)}, .n_attrs = 1};
  return solve(&e, a, b);
}
