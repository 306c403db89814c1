/* SPDX-License-Identifier: ISC */
/* scatter_by: scatter with dimension numbers, by a function. Where modes do what the function says,
 * windows move as in scatter_general; else each element has its place in a row of all of x. */
#include <string.h>

#include "by_scatter.h"
#include "nx/by_function.h"
#include "runtime/record/objects.h"
#include "runtime/record/ops/dimension_numbers.h"

static bool check_updates(const nxi_by *by, nx_tensor *starts, nx_tensor *const *updates,
                          nxi_numbers *n, nxi_windows *w, nxi_diag *d) {
  nx_tensor *all[2 * NXI_MOST_OPERANDS + 1];
  uint32_t count = 0;
  if (!updates)
    return !nxi_fail(d, NX_INVALID_ARGUMENT, by->op, "%s: there are no updates", by->op);
  for (size_t i = 0; i < by->k; i++) all[count++] = by->x[i];
  all[count++] = starts;
  for (size_t i = 0; i < by->k; i++) all[count++] = updates[i];
  if (!nxi_check_operands(by->op, all, count)) return false;
  for (size_t i = 0; i < by->k; i++)
    if (!nxi_numbers_check(n, by->x[i], starts, updates[i], w, d)) return false;
  int32_t device = nxi_common_device(by->op, all, count, d);
  if (device >= 0 && device != by->device)
    nxi_fail(d, NX_INVALID_ARGUMENT, by->op, "%s: the operands are on device %d, updates on %d",
             by->op, by->device, device);
  return !d->status;
}

static bool scatter_windows(const nxi_by *by, nxi_windows *w, nx_tensor *const *updates,
                            nxi_row *x) {
  for (uint32_t j = 0; j < by->k; j++) {
    int mode = nxi_scatter_mode_of(by, j);
    w->x = by->x[j];
    x->at[j] =
        mode == NXI_MODE_OLD ? by->x[j] : nxi_windows_scatter(w, updates[j], (nx_scatter_mode)mode);
    if (!x->at[j]) return false;
  }
  return true;
}

static bool scatter_elements(const nxi_by *by, nxi_windows *w, nx_tensor *const *updates,
                             nxi_row *x) {
  nxi_row u = {0};
  int64_t all = by->x[0]->elements, m = updates[0]->elements;
  nx_tensor *places = nxi_windows_places(w);
  places = places ? nx_reshape(places, &m, 1, NX_MAY_COPY) : NULL;
  if (!places) return false;
  for (uint32_t j = 0; j < by->k; j++) {
    x->at[j] = nx_reshape(by->x[j], &all, 1, NX_MAY_COPY);
    u.at[j] = nx_reshape(updates[j], &m, 1, NX_MAY_COPY);
    if (!x->at[j] || !u.at[j]) return false;
  }
  if (!nxi_scatter_rows(by, NXI_COMPOSITE_scatter_by, places, &u, x)) return false;
  for (uint32_t j = 0; j < by->k; j++)
    if (!(x->at[j] = nx_reshape(x->at[j], nxi_shape(by->x[j]), by->x[j]->rank, 0))) return false;
  return true;
}

static bool scatter(const nxi_by *by, const nxi_numbers *n, nxi_windows *w, nx_tensor *starts,
                    nx_tensor *const *updates, nxi_row *x) {
  for (size_t i = 0; i < by->k; i++) x->at[i] = by->x[i];
  if (!by->x[0]->elements || !updates[0]->elements) return true;
  if (!nxi_numbers_starts(n, starts, w)) return false;
  return nxi_is_scatter(by) ? scatter_windows(by, w, updates, x)
                            : scatter_elements(by, w, updates, x);
}

nx_status nx_scatter_by(nx_function *f, nx_tensor *const *x, nx_tensor *const *updates, size_t n_in,
                        nx_tensor *starts, const nx_scatter_numbers *numbers, nx_tensor **out,
                        size_t n_out) {
  nxi_by by = {"scatter_by", f, x, NULL, n_in, n_out, out, 0, false};
  nxi_numbers n;
  nxi_windows w;
  nxi_body b;
  nxi_row r = {0};
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_by_check(&by)) return nxi_error_status();
  if (!nxi_scatter_numbers(by.op, numbers, &n, &d) ||
      !check_updates(&by, starts, updates, &n, &w, &d))
    return d.status ? nxi_error_report(&d) : nxi_error_status();
  if (!nxi_body_begin(&b, NXI_COMPOSITE_scatter_by, f, by.device)) return nxi_error_status();
  bool good = scatter(&by, &n, &w, starts, updates, &r);
  return nxi_body_end(&b, good, r.at, out, n_in);
}
