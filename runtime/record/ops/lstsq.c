/* SPDX-License-Identifier: ISC */
/* pinv and lstsq, recorded as what they are made of: a singular value decomposition, and products
 * with its parts. */
#include <string.h>

#include "compose.h"
#include "linalg.h"
#include "runtime/record/error.h"
#include "runtime/record/record.h"

static nx_tensor *adjoint(nxi_steps *p, nx_tensor *x) {
  return x ? nxi_step(p, nxi_turned(x, true)) : NULL;
}

/* What counts as zero unless the caller says something else: the rounding unit times the larger
 * extent of a. */
static double usual_tolerance(const nx_tensor *a) {
  const int64_t *shape = nxi_shape(a) + a->rank - 2;
  nx_dtype t = a->storage->dtype;
  return (t == NX_F64 || t == NX_C128 ? 0x1p-52 : 0x1p-23) *
         (double)(shape[0] > shape[1] ? shape[0] : shape[1]);
}

double nxi_tolerance(const nx_tensor *a, const volatile double *rtol) {
  nxi_fp environment = nxi_fp_enter();
  volatile double wanted = *rtol < 0 ? usual_tolerance(a) : *rtol;
  nxi_fp_leave(environment);
  return wanted;
}

bool nxi_check_tolerance(const char *op, double rtol) {
  nxi_diag d;
  if ((nxi_bits_f64(rtol) << 1) <= UINT64_C(0x7ff) << 53) return true;
  nxi_diag_clear(&d);
  nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: rtol is NaN", op);
  nxi_fail_null(&d);
  return false;
}

/* Up to which part of the largest singular value the others count as zero: one number, or an
 * element for each matrix. */
typedef struct tolerance {
  double number; /* with `each`: in place of those below 0 */
  nx_tensor *each;
} tolerance;

/* The factor of the largest singular value, and what stands for the reciprocals of those that it
 * makes zero: NaN where the factor is. */
static bool factors(nxi_steps *p, const tolerance *t, nx_tensor **factor, nx_tensor **zero) {
  nx_context *c = p->context;
  int64_t shape[NXG_MAX_RANK + 1];
  *factor = nxi_step(p, nx_full(c, p->device, NX_F64, NULL, 0, NX_NUMBER(t->number)));
  *zero = nxi_step(p, nx_full(c, p->device, NX_F64, NULL, 0, NX_NUMBER(0)));
  if (!t->each) return *factor && *zero;
  nx_tensor *wide = nxi_step(p, nx_cast(t->each, NX_F64));
  memcpy(shape, nxi_shape(t->each), t->each->rank * sizeof *shape);
  shape[t->each->rank] = 1;
  nx_tensor *column = wide ? nxi_step(p, nx_reshape(wide, shape, t->each->rank + 1, 0)) : NULL,
            *below = nxi_step(p, nx_cmplt(column, *zero)),
            *number = nxi_step(p, nx_cmpeq(column, column));
  *factor = nxi_step(p, nx_where(below, *factor, column));
  *zero = nxi_step(p, nx_where(number, *zero, column));
  return *factor && *zero;
}

/* 1/s, or 0 where s is at most the tolerance times the largest, as a column of dtype t. */
static nx_tensor *inverted(nxi_steps *p, nx_tensor *s, const tolerance *limit, nx_dtype t) {
  int64_t start[NXG_MAX_RANK] = {0}, stop[NXG_MAX_RANK + 1];
  int32_t last = s->rank - 1;
  nx_tensor *inverse = s, *factor, *zero;
  memcpy(stop, nxi_shape(s), s->rank * sizeof *stop);
  if (stop[last]) {
    stop[last] = 1; /* the largest comes first */
    if (!factors(p, limit, &factor, &zero)) return NULL;
    nx_tensor *largest = nxi_step(p, nx_shrink(s, start, stop, s->rank)),
              *least = nxi_step(p, nx_mul(largest, factor)),
              *counts = nxi_step(p, nx_cmplt(least, s));
    inverse = nxi_step(p, nx_where(counts, nxi_step(p, nx_recip(s)), zero));
  }
  if (!inverse) return NULL;
  memcpy(stop, nxi_shape(inverse), inverse->rank * sizeof *stop);
  stop[inverse->rank] = 1;
  nx_tensor *narrow = nxi_step(p, nx_cast(inverse, t));
  return narrow ? nxi_step(p, nx_reshape(narrow, stop, inverse->rank + 1, 0)) : NULL;
}

/* V (S^+ (U^H b)); b NULL: the identity. With NaN parts of a matrix all of its result is NaN. */
static nx_tensor *pseudo_solve(nxi_steps *p, nx_tensor *a, nx_tensor *b, const tolerance *t,
                               uint32_t flags) {
  nx_tensor *u, *s, *vh;
  if (!a || nx_svd(a, flags & NX_NAN_ON_FAILURE, &u, &s, &vh) != NX_OK) return NULL;
  nxi_step(p, u), nxi_step(p, s), nxi_step(p, vh);
  nx_tensor *column = inverted(p, s, t, a->storage->dtype), *uh = adjoint(p, u),
            *v = adjoint(p, vh);
  nx_tensor *right = b ? nxi_step(p, nx_matmul(uh, b)) : uh;
  return nx_matmul(v, nxi_step(p, nx_mul(column, right)));
}

/* A tolerance for each matrix of a: operand number `operand` of the call. */
static bool check_each(const char *op, const nx_tensor *a, const nx_tensor *each, int32_t operand) {
  char left[NXG_SHAPE_TEXT], right[NXG_SHAPE_TEXT];
  int64_t lead[NXG_MAX_RANK];
  int32_t rank;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_is_float(each->storage->dtype)) {
    nxi_fail(&d, NX_UNSUPPORTED_DTYPE, op, "%s: the tolerances have dtype %s, not one of floats",
             op, nx_dtype_name(each->storage->dtype));
  } else if (nxg_broadcast(op, a->rank - 2, nxi_shape(a), each->rank, nxi_shape(each), &rank, lead,
                           &d)) {
    nxi_diag_clear(&d);
    nxi_fail(&d, NX_INVALID_ARGUMENT, op,
             "%s: the tolerances of shape %s do not broadcast with the matrices of the shape %s",
             op, nxg_format_shape(right, each->rank, nxi_shape(each)),
             nxg_format_shape(left, a->rank, nxi_shape(a)));
  }
  d.operand = operand;
  if (d.status) nxi_fail_null(&d);
  return !d.status;
}

static nx_tensor *pinv(nx_tensor *a, uint32_t flags, const tolerance *t) {
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_pinv, a);
  nx_tensor *wide = nxi_step(&s, nxi_widened(a, false)), *x = NULL;
  x = pseudo_solve(&s, wide, NULL, t, flags);
  return nxi_steps_end(&s, nxi_narrowed(x, a->storage->dtype));
}

static bool check_pinv(const char *op, nx_tensor *a, uint32_t flags) {
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxi_check_flags(op, flags, NX_NAN_ON_FAILURE, "NX_NAN_ON_FAILURE", &d))
    return nxi_check_matrices(op, &a, 1);
  nxi_fail_null(&d);
  return false;
}

nx_tensor *nx_pinv(nx_tensor *a, double rtol) { return nx_pinv_flags(a, rtol, 0); }
nx_tensor *nx_pinv_flags(nx_tensor *a, double rtol, uint32_t flags) {
  if (!nxi_have_tensor("pinv", 0, a) || !check_pinv("pinv", a, flags) ||
      !nxi_check_tolerance("pinv", rtol))
    return NULL;
  return pinv(a, flags, &(tolerance){.number = nxi_tolerance(a, &rtol)});
}

nx_tensor *nx_pinv_rtol(nx_tensor *a, nx_tensor *rtol) { return nx_pinv_rtol_flags(a, rtol, 0); }
nx_tensor *nx_pinv_rtol_flags(nx_tensor *a, nx_tensor *rtol, uint32_t flags) {
  nx_tensor *both[2] = {a, rtol};
  const double usual = -1;
  if (!nxi_check_operands("pinv_rtol", both, 2) || !check_pinv("pinv_rtol", a, flags) ||
      !check_each("pinv_rtol", a, rtol, 1))
    return NULL;
  return pinv(a, flags, &(tolerance){nxi_tolerance(a, &usual), rtol});
}

static bool check_lstsq(const char *op, nx_tensor *a, nx_tensor *b, uint32_t flags) {
  nx_tensor *both[2] = {a, b};
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxi_check_flags(op, flags, NX_VECTORS | NX_NAN_ON_FAILURE, "NX_VECTORS and NX_NAN_ON_FAILURE",
                      &d))
    return nxi_check_matrices(op, both, 2) && nxi_is_side(op, a, b, nxi_is_vector(b, flags), false);
  nxi_fail_null(&d);
  return false;
}

static nx_tensor *lstsq(nx_tensor *a, nx_tensor *b, uint32_t flags, const tolerance *t) {
  const bool vector = nxi_is_vector(b, flags);
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_lstsq, a);
  nx_tensor *wide = nxi_step(&s, nxi_widened(a, false)),
            *columns = nxi_step(&s, nxi_as_columns(b, vector)),
            *right = columns ? nxi_step(&s, nxi_widened(columns, false)) : NULL, *x = NULL;
  if (wide && right) x = pseudo_solve(&s, wide, right, t, flags);
  return nxi_steps_end(&s, nxi_without_column(nxi_narrowed(x, a->storage->dtype), vector));
}

nx_tensor *nx_lstsq(nx_tensor *a, nx_tensor *b, double rtol, uint32_t flags) {
  nx_tensor *both[2] = {a, b};
  if (!nxi_check_operands("lstsq", both, 2) || !check_lstsq("lstsq", a, b, flags) ||
      !nxi_check_tolerance("lstsq", rtol))
    return NULL;
  return lstsq(a, b, flags, &(tolerance){.number = nxi_tolerance(a, &rtol)});
}

nx_tensor *nx_lstsq_rtol(nx_tensor *a, nx_tensor *b, nx_tensor *rtol, uint32_t flags) {
  nx_tensor *all[3] = {a, b, rtol};
  const double usual = -1;
  if (!nxi_check_operands("lstsq_rtol", all, 3) || !check_lstsq("lstsq_rtol", a, b, flags) ||
      !check_each("lstsq_rtol", a, rtol, 2))
    return NULL;
  return lstsq(a, b, flags, &(tolerance){nxi_tolerance(a, &usual), rtol});
}
