/* SPDX-License-Identifier: ISC */
/* Fourier transforms and linear algebra. A matrix of a batch that cannot be factored gives NaN. */
#include "record.h"

#include <string.h>

#include "ir/dtype.h"

/* The last n axes. */
static void last_axes(const nx_tensor *x, uint32_t n, int32_t *axes) {
  for (uint32_t i = 0; i < n; i++) axes[i] = nx_rank(x) - (int32_t)n + (int32_t)i;
}

bool nxh_fft(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  int64_t length[NX_MAX_RANK];
  int32_t axes[NX_MAX_RANK];
  uint32_t n;
  double size = 1;
  nx_tensor *x = nxh_in(r, op, 0), *y = NULL;
  nxh_word type = nxh_name(op, "fft_type");
  if (x == NULL) return false;
  if (!nxh_integers(r, op, "fft_length", length, 3, &n) || n == 0 || (int32_t)n > nx_rank(x))
    return nxh_fail(r, NX_INVALID_ARGUMENT, "fft_length is no list of 1 to 3 axes of the operand");
  last_axes(x, n, axes);
  for (uint32_t i = 0; i < n; i++) {
    bool half = i + 1 == n && nxh_word_is(type, "IRFFT");
    if (nx_shape(x)[axes[i]] != (half ? length[i] / 2 + 1 : length[i]))
      return nxh_fail(r, NX_INVALID_ARGUMENT, "fft_length does not fit the operand");
  }
  for (uint32_t i = 0; i < n; i++) size *= (double)length[i];
  if (nxh_word_is(type, "FFT")) y = nx_fft(x, axes, n);
  else if (nxh_word_is(type, "RFFT")) y = nx_rfft(x, axes, n);
  else if (nxh_word_is(type, "IFFT")) y = nx_ifft(x, axes, n);
  else if (nxh_word_is(type, "IRFFT")) y = nx_irfft(x, axes, n, length, n);
  else return nxh_fail(r, NX_INVALID_ARGUMENT, "no such transform");
  if (y != NULL && type.length > 0 && (type.at[0] == 'I') && size > 0) {
    nx_scalar s = {NX_SCALAR_F64, {.f = {size, 0}}};
    y = nx_div(y, nx_full(r->c, r->device, nx_dtype_of(y), NULL, 0, &s));
  }
  return nxh_set(r, op, 0, y);
}

nx_tensor *nxh_adjoint(nx_tensor *x) {
  int32_t axes[NX_MAX_RANK], rank = nx_rank(x);
  for (int32_t i = 0; i < rank; i++) axes[i] = i;
  if (rank >= 2) axes[rank - 2] = rank - 1, axes[rank - 1] = rank - 2;
  nx_tensor *y = nx_permute(x, axes, (size_t)rank);
  return nxi_is_complex(nx_dtype_of(x)) ? nx_conj(y) : y;
}

/* The factor of the upper triangle is that of the lower one of the adjoint. */
nx_tensor *nxh_factor(nx_tensor *a, bool lower) {
  return lower ? nx_cholesky(a, NX_NAN_ON_FAILURE)
               : nx_cholesky(nxh_adjoint(a), NX_UPPER | NX_NAN_ON_FAILURE);
}

bool nxh_cholesky(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  nx_tensor *a = nxh_in(r, op, 0);
  return a != NULL && nxh_set(r, op, 0, nxh_factor(a, nxh_flag(op, "lower")));
}

bool nxh_triangular_solve(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  nx_tensor *a = nxh_in(r, op, 0), *b = a != NULL ? nxh_in(r, op, 1) : NULL;
  nxh_word turned = nxh_name(op, "transpose_a");
  if (b == NULL) return false;
  uint32_t flags = NX_NAN_ON_FAILURE;
  if (!nxh_flag(op, "lower")) flags |= NX_UPPER;
  if (!nxh_flag(op, "left_side")) flags |= NX_FROM_RIGHT;
  if (nxh_flag(op, "unit_diagonal")) flags |= NX_UNIT_DIAGONAL;
  if (nxh_word_is(turned, "TRANSPOSE")) flags |= NX_TRANSPOSED;
  if (nxh_word_is(turned, "ADJOINT")) flags |= NX_ADJOINT;
  return nxh_set(r, op, 0, nx_triangular_solve(a, b, flags));
}
