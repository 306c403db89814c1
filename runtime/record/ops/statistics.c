/* SPDX-License-Identifier: ISC */
/* reduce_with_initial, reduce_mean and reduce_var, recorded as what they are made of. Means are
 * sums, and a division by how many elements were summed. Sums are computed in f32 at least, and
 * parts of complex numbers are divided one by one, so that an infinity in one part does not make a
 * NaN of the other. */
#include "compose.h"
#include "linalg.h"
#include "runtime/record/error.h"
#include "runtime/record/record.h"

/* ---- with an initial value */

static const struct {
  nxg_op op;
  nx_tensor *(*reduce)(nx_tensor *, const int32_t *, size_t, uint32_t);
  nx_tensor *(*combine)(nx_tensor *, nx_tensor *);
} reductions[] = {[NX_SCAN_SUM] = {NXG_reduce_sum, nx_reduce_sum, nx_add},
                  [NX_SCAN_PROD] = {NXG_reduce_prod, nx_reduce_prod, nx_mul},
                  [NX_SCAN_MAX] = {NXG_reduce_max, nx_reduce_max, nx_max},
                  [NX_SCAN_MIN] = {NXG_reduce_min, nx_reduce_min, nx_min}};

static bool check_initial(const char *op, const nx_tensor *x, uint32_t kind,
                          const nx_tensor *initial, nxi_diag *d) {
  char shape[NXG_SHAPE_TEXT];
  if (kind > NX_SCAN_MIN)
    return !nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: there is no reduction %u", op, kind);
  nx_dtype t = x->storage->dtype, is = initial->storage->dtype;
  if (!nxg_op_admits(reductions[kind].op, t)) {
    d->operand = 0;
    return !nxi_fail(d, NX_UNSUPPORTED_DTYPE, op,
                     "%s: operand 0 has dtype %s, which the operation does not admit: cast it", op,
                     nxi_dtypes[t].name);
  }
  if (initial->rank == 0 && is == t) return true;
  d->operand = 1;
  return !nxi_fail(d, NX_INVALID_ARGUMENT, op,
                   "%s: the initial value is %s of shape %s, not %s of rank 0", op,
                   nxi_dtypes[is].name, nxg_format_shape(shape, initial->rank, nxi_shape(initial)),
                   nxi_dtypes[t].name);
}

/* The initial value where every run is empty. */
static nx_tensor *initial_alone(nxi_steps *s, const nx_tensor *x, nx_tensor *initial, uint32_t mask,
                                bool keep) {
  int64_t shape[NXG_MAX_RANK];
  int32_t rank = 0;
  for (int32_t i = 0; i < x->rank; i++)
    if (!(mask >> i & 1)) shape[rank++] = nxi_shape(x)[i];
    else if (keep) shape[rank++] = 1;
  nx_tensor *here = nxi_step(s, nx_to_device(initial, s->device)),
            *all = here ? nxi_step(s, nx_expand(here, shape, rank)) : NULL;
  return all ? nxi_step(s, nx_copy(all)) : NULL;
}

nx_tensor *nx_reduce_with_initial(nx_tensor *x, nx_scan_op op, nx_tensor *initial,
                                  const int32_t *axes, size_t n, uint32_t flags) {
  static const char name[] = "reduce_with_initial";
  nx_tensor *t[2] = {x, initial}, *y = NULL;
  nxi_diag d;
  uint32_t mask = 0;
  bool empty = false;
  if (!nxi_check_operands(name, t, 2)) return NULL;
  nxi_diag_clear(&d);
  if (check_initial(name, x, (uint32_t)op, initial, &d) && nxi_axes_given(name, x, &axes, &n, &d) &&
      nxi_check_flags(name, flags, NX_KEEPDIMS, "NX_KEEPDIMS", &d))
    nxg_axes_mask(name, x->rank, axes, n, &mask, &d);
  if (d.status) return nxi_fail_null(&d);
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_reduce_with_initial, x);
  for (int32_t i = 0; i < x->rank; i++) empty |= (mask >> i & 1) && nxi_shape(x)[i] == 0;
  if (empty) y = initial_alone(&s, x, initial, mask, flags & NX_KEEPDIMS);
  else if ((y = nxi_step(&s, reductions[op].reduce(x, axes, n, flags))) != NULL)
    y = nxi_step(&s, reductions[op].combine(initial, y));
  return nxi_steps_end(&s, y);
}

/* ---- means */

/* Whether the operand has a dtype of F or C; reports it. */
static bool check_operand(const char *op, const nx_tensor *x) {
  if (!nxi_have_tensor(op, 0, x)) return false;
  if (nxg_op_admits(NXG_sqrt, x->storage->dtype)) return true;
  nxi_diag d;
  nxi_diag_clear(&d);
  d.operand = 0;
  nxi_fail(&d, NX_UNSUPPORTED_DTYPE, op,
           "%s: operand 0 has dtype %s, which the operation does not admit: cast it to a float", op,
           nxi_dtypes[x->storage->dtype].name);
  nxi_error_report(&d);
  return false;
}

/* How many elements of x make one of its sum; anything where there is none. */
static int64_t count_of(const nx_tensor *x, const nx_tensor *sum) {
  return sum->elements ? x->elements / sum->elements : 0;
}

/* x / n, of a complex x part by part. */
static nx_tensor *divided(nxi_steps *s, nx_tensor *x, double n) {
  if (!nxi_is_complex(x->storage->dtype)) return nxi_step(s, nx_binary_f64(x, NX_BINARY_DIV, n));
  nx_tensor *re = nxi_step(s, nx_real(x)), *im = nxi_step(s, nx_imag(x));
  return nxi_step(s, nx_complex(nxi_step(s, nx_binary_f64(re, NX_BINARY_DIV, n)),
                                nxi_step(s, nx_binary_f64(im, NX_BINARY_DIV, n))));
}

static nx_tensor *mean_of(nxi_steps *s, nx_tensor *x, const int32_t *axes, size_t n,
                          uint32_t flags) {
  nx_tensor *sum = nxi_step(s, nx_reduce_sum(x, axes, n, flags));
  return sum ? divided(s, sum, (double)count_of(x, sum)) : NULL;
}

/* As t, if that is smaller than f32, or c32. */
static nx_tensor *narrowed(nxi_steps *s, nx_tensor *x, nx_dtype t) {
  return nxi_is_small_float(t) || t == NX_C32 ? nxi_step(s, nx_cast(x, t)) : x;
}

nx_tensor *nx_reduce_mean(nx_tensor *x, const int32_t *axes, size_t n, uint32_t flags) {
  if (!check_operand("reduce_mean", x)) return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_reduce_mean, x);
  nx_tensor *wide = nxi_step(&s, nxi_widened(x, false)),
            *mean = wide ? mean_of(&s, wide, axes, n, flags) : NULL;
  return nxi_steps_end(&s, mean ? narrowed(&s, mean, x->storage->dtype) : NULL);
}

/* |x|^2 */
static nx_tensor *square(nxi_steps *s, nx_tensor *x) {
  if (!x || !nxi_is_complex(x->storage->dtype)) return nxi_step(s, nx_mul(x, x));
  nx_tensor *re = nxi_step(s, nx_real(x)), *im = nxi_step(s, nx_imag(x));
  return nxi_step(s, nx_add(nxi_step(s, nx_mul(re, re)), nxi_step(s, nx_mul(im, im))));
}

/* Not below 0; in the default floating-point environment. */
static double divisor_of(int64_t count, const volatile double *ddof) {
  nxi_fp environment = nxi_fp_enter();
  volatile double divisor = (double)count - *ddof;
  if (divisor < 0) divisor = 0;
  nxi_fp_leave(environment);
  return divisor;
}

static nx_tensor *var_of(nxi_steps *s, nx_tensor *x, const int32_t *axes, size_t n, uint32_t flags,
                         const double *ddof) {
  nx_tensor *mean = mean_of(s, x, axes, n, flags | NX_KEEPDIMS);
  if (!mean) return NULL;
  nx_tensor *apart = square(s, nxi_step(s, nx_sub(x, mean))),
            *sum = nxi_step(s, nx_reduce_sum(apart, axes, n, flags));
  return sum ? divided(s, sum, divisor_of(count_of(x, sum), ddof)) : NULL;
}

static bool is_number(double ddof) {
  nxi_diag d;
  if ((nxi_bits_f64(ddof) << 1) < UINT64_C(0x7ff) << 53) return true;
  nxi_diag_clear(&d);
  nxi_fail(&d, NX_INVALID_ARGUMENT, "reduce_var", "reduce_var: ddof is infinite or NaN");
  nxi_error_report(&d);
  return false;
}

nx_tensor *nx_reduce_var(nx_tensor *x, const int32_t *axes, size_t n, double ddof, uint32_t flags) {
  if (!check_operand("reduce_var", x) || !is_number(ddof)) return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_reduce_var, x);
  nx_tensor *wide = nxi_step(&s, nxi_widened(x, false)),
            *var = wide ? var_of(&s, wide, axes, n, flags, &ddof) : NULL;
  nx_dtype part = nxi_part_dtype(x->storage->dtype);
  return nxi_steps_end(&s, var ? narrowed(&s, var, part) : NULL);
}
