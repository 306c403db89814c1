/* SPDX-License-Identifier: ISC */
/* The order in which a combiner is applied along an axis (docs/numerics.md): groups of eight
 * neighbours, whose results are a shorter axis. What does not fill a group is combined by itself
 * and joins at the end. A level reads its axis once and writes an eighth of it. */
#include <string.h>

#include "body.h"

nx_tensor *nxi_part(nx_tensor *x, int32_t axis, int64_t start, int64_t stop, int64_t step) {
  nx_range ranges[NXG_MAX_RANK];
  if (!x) return NULL;
  for (int32_t i = 0; i < axis; i++) ranges[i] = (nx_range){NX_OPEN, NX_OPEN, 1};
  ranges[axis] = (nx_range){start, stop, step};
  return nx_get(x, ranges, (size_t)axis + 1);
}

bool nxi_pairwise(nxi_body *b, nxi_row *rows, uint32_t n) {
  for (; n > 1; n = (n + 1) / 2) {
    for (uint32_t i = 0; i < n / 2; i++)
      if (!nxi_body_combine(b, &rows[2 * i], &rows[2 * i + 1], &rows[i])) return false;
    if (n % 2) rows[n / 2] = rows[n - 1];
  }
  return true;
}

enum { GROUP = 8, MOST_LEVELS = 22 };

/* Of x the elements start + i * step + j, combined over the j < n, for each i that stays below
 * stop. */
static bool combine_groups(nxi_body *b, const nxi_row *x, int32_t axis, int64_t start, int64_t stop,
                           uint32_t n, nxi_row *out) {
  nxi_row rows[GROUP];
  for (uint32_t j = 0; j < n; j++)
    for (uint32_t i = 0; i < b->k; i++)
      if (!(rows[j].at[i] = nxi_part(x->at[i], axis, start + j, stop, n))) return false;
  if (!nxi_pairwise(b, rows, n)) return false;
  *out = rows[0];
  return true;
}

bool nxi_reduce_axis(nxi_body *b, nxi_row *x, int32_t axis) {
  nxi_row rest[MOST_LEVELS];
  int32_t rests = 0;
  int64_t n = nxi_shape(x->at[0])[axis];
  for (; n > GROUP; n /= GROUP) {
    int64_t whole = n / GROUP * GROUP;
    if (whole < n && !combine_groups(b, x, axis, whole, n, (uint32_t)(n - whole), &rest[rests++]))
      return false;
    if (!combine_groups(b, x, axis, 0, whole, GROUP, x)) return false;
  }
  if (n > 1 && !combine_groups(b, x, axis, 0, n, (uint32_t)n, x)) return false;
  while (rests--)
    if (!nxi_body_combine(b, x, &rest[rests], x)) return false;
  return true;
}

bool nxi_init_rows(const nxi_by *by, int32_t rank, const int64_t *shape, nxi_row *out) {
  for (size_t i = 0; i < by->k; i++) {
    nx_tensor *t = nx_to_device(by->init[i], by->device);
    out->at[i] = t ? nx_expand(t, shape, rank) : NULL;
    if (!out->at[i]) return false;
  }
  return true;
}
