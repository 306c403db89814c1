/* SPDX-License-Identifier: ISC */
/* cholesky_update: the factor of A + w w^H from that of A, by plane rotations that bring w into it,
 * in n^2 operations. A rotation of the column l and of w, with r the root of l_kk^2 + |w_k|^2, c =
 * l_kk / r and s = w_k / r, is l' = c l + conj(s) w, w' = c w - s l. Of an upper factor the rows
 * are rotated with conj(w). Nothing can fail; what is not finite spreads. LAPACK has no such
 * routine. */
#include <math.h>
#include <string.h>

#include "runtime/library/linalg/columns.h"

enum { SIDE, COSINES }; /* w, then the sines in its place; the cosines */

/* T: the parts' type; W: parts of an element, 1 or 2. */
#define UPDATE(name, T, W, HYPOT)                                                         \
  /* x = c x + conj(s) y; y = c y - s x. */                                               \
  static void rotate_##name(T c, const T *s, T *x, T *y) {                                \
    const T a = x[0], b = y[0];                                                           \
    if (W == 1) {                                                                         \
      x[0] = c * a + s[0] * b;                                                            \
      y[0] = c * b - s[0] * a;                                                            \
      return;                                                                             \
    }                                                                                     \
    const T u = x[W - 1], v = y[W - 1], si = s[W - 1];                                    \
    x[0] = c * a + (s[0] * b + si * v);                                                   \
    x[W - 1] = c * u + (s[0] * v - si * b);                                               \
    y[0] = c * b - (s[0] * a - si * u);                                                   \
    y[W - 1] = c * v - (s[0] * u + si * a);                                               \
  }                                                                                       \
  /* The rotation that makes y zero; the element of the diagonal is real. */              \
  static T meet_##name(T *x, T *y) {                                                      \
    const T size = W == 1 ? (T)fabs(y[0]) : HYPOT(y[0], y[W - 1]), r = HYPOT(x[0], size); \
    const T c = r == 0 ? 1 : x[0] / r;                                                    \
    for (int i = 0; i < W; i++) y[i] = r == 0 ? 0 : y[i] / r;                             \
    x[0] = r;                                                                             \
    if (W == 2) x[W - 1] = 0;                                                             \
    return c;                                                                             \
  }                                                                                       \
  /* Row i of L meets the rotations of the columns before it, and makes its own. */       \
  static void lower_##name(int n, T *l, T *w, T *cosines) {                               \
    for (int i = 0; i < n; i++) {                                                         \
      T mine[2] = {w[W * i], w[W * i + W - 1]};                                           \
      for (int k = 0; k < i; k++)                                                         \
        rotate_##name(cosines[k], w + W * k, l + W * ((int64_t)i * n + k), mine);         \
      cosines[i] = meet_##name(l + W * ((int64_t)i * n + i), mine);                       \
      memcpy(w + W * i, mine, W * sizeof *w);                                             \
    }                                                                                     \
  }                                                                                       \
  static void upper_##name(int n, T *r, T *w) {                                           \
    for (int i = 0; W == 2 && i < n; i++) w[W * i + W - 1] = -w[W * i + W - 1];           \
    for (int k = 0; k < n; k++) {                                                         \
      T *row = r + W * ((int64_t)k * n), s[2] = {w[W * k], w[W * k + W - 1]};             \
      const T c = meet_##name(row + W * k, s);                                            \
      for (int j = k + 1; j < n; j++) rotate_##name(c, s, row + W * j, w + W * j);        \
    }                                                                                     \
  }
UPDATE(f32, float, 1, hypotf)
UPDATE(f64, double, 1, hypot)
UPDATE(c64, float, 2, hypotf)
UPDATE(c128, double, 2, hypot)

static nx_status prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  const double n = nxi_rows(a);
  nxi_batch_work(work, n > 0 ? nxi_batches(a, 2) : 0, 6 * n * n, n * n);
  const double lengths[] = {n, n};
  return nxi_work_state(call, work, a->dtype, lengths, 2, d);
}

static nx_status one(const nxg_call_part *part, int64_t index) {
  const nxg_array *a = &part->call->operands[0];
  const nx_dtype t = a->dtype;
  const int n = nxi_rows(a);
  const size_t row = (size_t)n * (size_t)nxi_dtype_size(t);
  const bool upper = part->call->attrs[0] != 0;
  void *w = nxi_work_array(part, SIDE, NULL), *cosines = nxi_work_array(part, COSINES, NULL),
       *l = nxi_item(a, part->results[0], 2, index);
  memcpy(l, nxi_item(a, part->operands[0], 2, index), (size_t)n * row);
  memcpy(w, nxi_item(&part->call->operands[1], part->operands[1], 1, index), row);
  nxi_zero_triangle(t, n, n, l, upper);
  switch (t) {
    case NX_F32: upper ? upper_f32(n, l, w) : lower_f32(n, l, w, cosines); break;
    case NX_F64: upper ? upper_f64(n, l, w) : lower_f64(n, l, w, cosines); break;
    case NX_C64: upper ? upper_c64(n, l, w) : lower_c64(n, l, w, cosines); break;
    default: upper ? upper_c128(n, l, w) : lower_c128(n, l, w, cosines);
  }
  return NX_OK;
}

static nx_status run(nxg_call_part *part) { return nxi_each_item(part, one); }

const nxg_functions nxi_cholesky_update_functions = {prepare, run, nxi_work_release};
