/* SPDX-License-Identifier: ISC */
/* Recording of Fourier transforms. Sizes of all axes but the real one are recorded around the node,
 * as a cut or as zeros. */
#include "nx/fft.h"

#include "linalg.h"
#include "runtime/record/error.h"
#include "runtime/record/record.h"

typedef struct transform {
  nxg_op op;
  uint32_t mask; /* of the axes */
  int32_t last;  /* the one of the real numbers */
  int64_t size;  /* of irfft along it; 0: the default */
} transform;

static nx_tensor *record_wide(const transform *t, nx_tensor *x) {
  nxi_diag d;
  nxi_diag_clear(&d);
  int64_t attrs[3] = {t->mask, 0, 0};
  if (t->op == NXG_rfft || t->op == NXG_irfft) attrs[1] = t->last;
  if (t->op == NXG_irfft) attrs[2] = t->size;
  nxi_operand o = nxi_operand_of(x);
  return nxi_record_inferred(t->op, &o, 1, attrs, nxg_call_attrs(t->op), &d);
}

/* A transform of c32 is that of c64, rounded. */
static nx_tensor *record(const transform *t, nx_tensor *x) {
  if (x->storage->dtype != NX_C32) return record_wide(t, x);
  uint16_t outer = nxi_called_begin(t->op);
  nx_tensor *wide = nxi_widened(x, false),
            *result = wide
                          ? nxi_narrowed(record_wide(t, wide), t->op == NXG_irfft ? NX_F16 : NX_C32)
                          : NULL;
  nx_tensor_release(wide);
  nxi_called_end(outer);
  return result;
}

/* ---- the functions */

static bool find_axes(transform *t, const nx_tensor *x, const int32_t **axes, size_t *n) {
  const char *name = nxg_ops[t->op].name;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxi_axes_given(name, x, axes, n, &d)) nxg_axes_mask(name, x->rank, *axes, *n, &t->mask, &d);
  if (d.status) {
    nxi_fail_null(&d);
    return false;
  }
  if (*n) t->last = (*axes)[*n - 1] < 0 ? (*axes)[*n - 1] + x->rank : (*axes)[*n - 1];
  return true;
}

static nx_tensor *complex_transform(nxg_op op, nx_tensor *x, const int32_t *axes, size_t n) {
  transform t = {.op = op};
  if (!nxi_have_tensor(nxg_ops[op].name, 0, x)) return NULL;
  return find_axes(&t, x, &axes, &n) ? record(&t, x) : NULL;
}

nx_tensor *nx_fft(nx_tensor *x, const int32_t *axes, size_t n_axes) {
  return complex_transform(NXG_fft, x, axes, n_axes);
}

nx_tensor *nx_ifft(nx_tensor *x, const int32_t *axes, size_t n_axes) {
  return complex_transform(NXG_ifft, x, axes, n_axes);
}

nx_tensor *nx_rfft(nx_tensor *x, const int32_t *axes, size_t n_axes) {
  transform t = {.op = NXG_rfft};
  if (!nxi_have_tensor("rfft", 0, x)) return NULL;
  if (!find_axes(&t, x, &axes, &n_axes)) return NULL;
  uint16_t outer = nxi_called_begin(NXG_rfft);
  bool real = nxi_is_float(x->storage->dtype); /* others are refused as what they are */
  nx_tensor *wide = real ? nxi_widened(x, false) : nx_tensor_retain(x),
            *result = wide ? record_wide(&t, wide) : NULL;
  nx_tensor_release(wide);
  nxi_called_end(outer);
  return result;
}

/* ---- sizes */

/* x with the extent of one axis cut or filled with zeros; takes the reference. */
static nx_tensor *with_extent(nx_tensor *x, int32_t axis, int64_t extent) {
  int64_t start[NXG_MAX_RANK] = {0}, stop[NXG_MAX_RANK];
  if (!x || nxi_shape(x)[axis] == extent) return x;
  bool longer = extent > nxi_shape(x)[axis];
  for (int32_t i = 0; i < x->rank; i++)
    stop[i] = i == axis ? (longer ? extent - nxi_shape(x)[i] : extent)
              : longer  ? 0
                        : nxi_shape(x)[i];
  nx_tensor *y =
      longer ? nx_pad(x, start, stop, x->rank, NX_NUMBER(0)) : nx_shrink(x, start, stop, x->rank);
  nx_tensor_release(x);
  return y;
}

/* The first size that is below 1; n if there is none. */
static size_t bad_size(const int64_t *sizes, size_t n) {
  size_t i = 0;
  while (i < n && sizes[i] >= 1) i++;
  return i;
}

static bool check_sizes(const int64_t *sizes, size_t n, size_t n_axes) {
  nxi_diag d;
  nxi_diag_clear(&d);
  bool counted = !n || n == n_axes;
  size_t bad = sizes && counted ? bad_size(sizes, n) : n;
  if (!counted)
    nxi_fail(&d, NX_INVALID_ARGUMENT, "irfft", "irfft: there are %zu sizes for %zu axes", n,
             n_axes);
  else if (n && !sizes)
    nxi_fail(&d, NX_INVALID_ARGUMENT, "irfft", "irfft: the list of sizes is null");
  else if (bad < n)
    nxi_fail(&d, NX_INVALID_ARGUMENT, "irfft", "irfft: size %zu of the list is %lld, below 1", bad,
             (long long)sizes[bad]);
  if (d.status) nxi_fail_null(&d);
  return !d.status;
}

nx_tensor *nx_irfft(nx_tensor *x, const int32_t *axes, size_t n_axes, const int64_t *sizes,
                    size_t n_sizes) {
  transform t = {.op = NXG_irfft};
  if (!nxi_have_tensor("irfft", 0, x)) return NULL;
  if (!find_axes(&t, x, &axes, &n_axes) || !check_sizes(sizes, n_sizes, n_axes)) return NULL;
  if (!n_sizes) return record(&t, x);
  uint16_t outer = nxi_called_begin(NXG_irfft);
  nx_tensor *fitting = nx_tensor_retain(x);
  for (size_t i = 0; i + 1 < n_axes; i++)
    fitting = with_extent(fitting, axes[i] < 0 ? axes[i] + x->rank : axes[i], sizes[i]);
  if (n_axes) t.size = sizes[n_axes - 1];
  nx_tensor *result = fitting ? record(&t, fitting) : NULL;
  nx_tensor_release(fitting);
  nxi_called_end(outer);
  return result;
}
