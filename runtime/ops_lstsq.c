/* SPDX-License-Identifier: ISC */
/* pinv and lstsq, recorded as what they are made of: a singular value decomposition, and products with its parts. */
#include "runtime/linalg.h"

/* Handles that a composition makes on its way; all NULL that come after a failure. */
typedef struct parts {
  nx_tensor *made[24];
  uint32_t n;
} parts;

static nx_tensor *keep(parts *p, nx_tensor *t) {
  if (t) p->made[p->n++] = t;
  return t;
}

static void drop(parts *p) {
  while (p->n) nx_tensor_release(p->made[--p->n]);
}

static nx_tensor *adjoint(parts *p, nx_tensor *x) {
  int32_t axes[NXG_MAX_RANK];
  if (!x) return NULL;
  for (int32_t i = 0; i < x->rank; i++) axes[i] = i;
  axes[x->rank - 2] = x->rank - 1;
  axes[x->rank - 1] = x->rank - 2;
  nx_tensor *turned = keep(p, nx_permute(x, axes, x->rank));
  return nxi_is_complex(x->storage->dtype) ? keep(p, nx_conj(turned)) : turned;
}

/* 1/s, or 0 where s is at most rcond times the largest, as a column of dtype t. */
static nx_tensor *inverted(parts *p, nx_tensor *s, double rcond, nx_dtype t) {
  int64_t start[NXG_MAX_RANK] = {0}, stop[NXG_MAX_RANK];
  int32_t last = s->rank - 1;
  nx_context *c = s->context;
  memcpy(stop, nxi_shape(s), s->rank * sizeof *stop);
  bool none = stop[last] == 0;
  nx_tensor *inverse = s;
  if (!none) {
    stop[last] = 1; /* the largest comes first */
    int32_t device = s->storage->device;
    nx_tensor *factor = keep(p, nx_full(c, device, NX_F64, 0, NULL, NX_NUMBER(rcond))),
              *zero = keep(p, nx_full(c, device, NX_F64, 0, NULL, NX_NUMBER(0))),
              *largest = keep(p, nx_shrink(s, start, stop)),
              *least = keep(p, nx_mul(largest, factor)), *counts = keep(p, nx_cmplt(least, s));
    inverse = keep(p, nx_where(counts, keep(p, nx_recip(s)), zero));
  }
  if (!inverse) return NULL;
  memcpy(stop, nxi_shape(s), s->rank * sizeof *stop);
  stop[s->rank] = 1;
  nx_tensor *narrow = keep(p, nx_cast(inverse, t));
  return narrow ? keep(p, nx_reshape(narrow, s->rank + 1, stop)) : NULL;
}

/* V (S^+ (U^H b)); b NULL: the identity. */
static nx_tensor *pseudo_solve(parts *p, nx_tensor *a, nx_tensor *b, double rcond) {
  nx_tensor *u, *s, *vh;
  if (!a || nx_svd(a, false, &u, &s, &vh) != NX_OK) return NULL;
  keep(p, u), keep(p, s), keep(p, vh);
  nx_tensor *column = inverted(p, s, rcond, a->storage->dtype), *uh = adjoint(p, u),
            *v = adjoint(p, vh);
  nx_tensor *right = b ? keep(p, nx_matmul(uh, b)) : uh;
  return nx_matmul(v, keep(p, nx_mul(column, right)));
}

static bool is_matrix(const char *name, const nx_tensor *a) {
  nxi_diag d;
  char shape[NXG_SHAPE_TEXT];
  if (a->rank >= 2) return true;
  nxi_diag_clear(&d);
  nxi_fail(&d, NX_INVALID_ARGUMENT, name, "%s: operand 0 of shape %s is no matrix", name,
           nxg_format_shape(shape, a->rank, nxi_shape(a)));
  d.operand = 0;
  nxi_fail_null(&d);
  return false;
}

/* What counts as zero unless the caller says something else: the rounding unit times the larger extent of a. */
static double usual_rcond(const nx_tensor *a) {
  const int64_t *shape = nxi_shape(a) + a->rank - 2;
  nx_dtype t = a->storage->dtype;
  return (t == NX_F64 || t == NX_C128 ? 0x1p-52 : 0x1p-23) *
         (double)(shape[0] > shape[1] ? shape[0] : shape[1]);
}

nx_tensor *nx_pinv(nx_tensor *a, double rcond) {
  if (!a) return nxi_error_null("pinv", 0);
  if (!is_matrix("pinv", a)) return NULL;
  parts p = {.n = 0};
  nx_tensor *wide = keep(&p, nxi_widened(a, false)),
            *x = pseudo_solve(&p, wide, NULL, rcond < 0 ? usual_rcond(a) : rcond);
  drop(&p);
  return nxi_narrowed(x, a->storage->dtype);
}

nx_tensor *nx_lstsq(nx_tensor *a, nx_tensor *b, double rcond) {
  nx_tensor *both[2] = {a, b};
  bool vector = false;
  if (!nxi_check_operands("lstsq", both, 2) || !is_matrix("lstsq", a) ||
      !nxi_same_dtype("lstsq", a, b))
    return NULL;
  parts p = {.n = 0};
  nx_tensor *wide = keep(&p, nxi_widened(a, false)),
            *columns = keep(&p, nxi_as_columns(a, b, &vector)),
            *right = columns ? keep(&p, nxi_widened(columns, false)) : NULL, *x = NULL;
  if (wide && right) x = pseudo_solve(&p, wide, right, rcond < 0 ? usual_rcond(a) : rcond);
  drop(&p);
  return nxi_without_column(nxi_narrowed(x, a->storage->dtype), vector);
}
