/* SPDX-License-Identifier: ISC */
/* pinv and lstsq, recorded as what they are made of: a singular value decomposition, and products
 * with its parts. */
#include <string.h>

#include "compose.h"
#include "linalg.h"
#include "runtime/record/error.h"
#include "runtime/record/record.h"

static nx_tensor *adjoint(nxi_steps *p, nx_tensor *x) {
  int32_t axes[NXG_MAX_RANK];
  if (!x) return NULL;
  for (int32_t i = 0; i < x->rank; i++) axes[i] = i;
  axes[x->rank - 2] = x->rank - 1;
  axes[x->rank - 1] = x->rank - 2;
  nx_tensor *turned = nxi_step(p, nx_permute(x, axes, x->rank));
  return nxi_is_complex(x->storage->dtype) ? nxi_step(p, nx_conj(turned)) : turned;
}

/* 1/s, or 0 where s is at most rcond times the largest, as a column of dtype t. */
static nx_tensor *inverted(nxi_steps *p, nx_tensor *s, double rcond, nx_dtype t) {
  int64_t start[NXG_MAX_RANK] = {0}, stop[NXG_MAX_RANK];
  int32_t last = s->rank - 1;
  nx_context *c = s->context;
  memcpy(stop, nxi_shape(s), s->rank * sizeof *stop);
  bool none = stop[last] == 0;
  nx_tensor *inverse = s;
  if (!none) {
    stop[last] = 1; /* the largest comes first */
    int32_t device = s->storage->device;
    nx_tensor *factor = nxi_step(p, nx_full(c, device, NX_F64, 0, NULL, NX_NUMBER(rcond))),
              *zero = nxi_step(p, nx_full(c, device, NX_F64, 0, NULL, NX_NUMBER(0))),
              *largest = nxi_step(p, nx_shrink(s, start, stop)),
              *least = nxi_step(p, nx_mul(largest, factor)),
              *counts = nxi_step(p, nx_cmplt(least, s));
    inverse = nxi_step(p, nx_where(counts, nxi_step(p, nx_recip(s)), zero));
  }
  if (!inverse) return NULL;
  memcpy(stop, nxi_shape(s), s->rank * sizeof *stop);
  stop[s->rank] = 1;
  nx_tensor *narrow = nxi_step(p, nx_cast(inverse, t));
  return narrow ? nxi_step(p, nx_reshape(narrow, s->rank + 1, stop)) : NULL;
}

/* V (S^+ (U^H b)); b NULL: the identity. */
static nx_tensor *pseudo_solve(nxi_steps *p, nx_tensor *a, nx_tensor *b, double rcond) {
  nx_tensor *u, *s, *vh;
  if (!a || nx_svd(a, false, &u, &s, &vh) != NX_OK) return NULL;
  nxi_step(p, u), nxi_step(p, s), nxi_step(p, vh);
  nx_tensor *column = inverted(p, s, rcond, a->storage->dtype), *uh = adjoint(p, u),
            *v = adjoint(p, vh);
  nx_tensor *right = b ? nxi_step(p, nx_matmul(uh, b)) : uh;
  return nx_matmul(v, nxi_step(p, nx_mul(column, right)));
}

/* What counts as zero unless the caller says something else: the rounding unit times the larger
 * extent of a. */
static double usual_rcond(const nx_tensor *a) {
  const int64_t *shape = nxi_shape(a) + a->rank - 2;
  nx_dtype t = a->storage->dtype;
  return (t == NX_F64 || t == NX_C128 ? 0x1p-52 : 0x1p-23) *
         (double)(shape[0] > shape[1] ? shape[0] : shape[1]);
}

static double wanted_rcond(const nx_tensor *a, const volatile double *rcond) {
  nxi_fp environment = nxi_fp_enter();
  volatile double wanted = *rcond < 0 ? usual_rcond(a) : *rcond;
  nxi_fp_leave(environment);
  return wanted;
}

static bool is_number(const char *op, double rcond) {
  nxi_diag d;
  if ((nxi_bits_f64(rcond) << 1) <= UINT64_C(0x7ff) << 53) return true;
  nxi_diag_clear(&d);
  nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: rcond is NaN", op);
  nxi_fail_null(&d);
  return false;
}

nx_tensor *nx_pinv(nx_tensor *a, double rcond) {
  if (!nxi_have_tensor("pinv", 0, a)) return NULL;
  if (!nxi_check_matrices("pinv", &a, 1) || !is_number("pinv", rcond)) return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_pinv, a);
  nx_tensor *wide = nxi_step(&s, nxi_widened(a, false)),
            *x = pseudo_solve(&s, wide, NULL, wanted_rcond(a, &rcond));
  return nxi_steps_end(&s, nxi_narrowed(x, a->storage->dtype));
}

nx_tensor *nx_lstsq(nx_tensor *a, nx_tensor *b, double rcond) {
  nx_tensor *both[2] = {a, b};
  bool vector = false;
  if (!nxi_check_operands("lstsq", both, 2) || !nxi_check_matrices("lstsq", both, 2) ||
      !nxi_is_right_side("lstsq", a, b) || !is_number("lstsq", rcond))
    return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_lstsq, a);
  nx_tensor *wide = nxi_step(&s, nxi_widened(a, false)),
            *columns = nxi_step(&s, nxi_as_columns(a, b, &vector)),
            *right = columns ? nxi_step(&s, nxi_widened(columns, false)) : NULL, *x = NULL;
  if (wide && right) x = pseudo_solve(&s, wide, right, wanted_rcond(a, &rcond));
  return nxi_steps_end(&s, nxi_without_column(nxi_narrowed(x, a->storage->dtype), vector));
}
