/* SPDX-License-Identifier: ISC */
/* As LAPACK's laed2 does it. */
#include "deflation.h"

#include <math.h>

/* Makes z[i] 0 and adds it to z[j], if that changes the matrix by no more than may be: its element
 * beside those two on the diagonal, and leaves that out. */
static bool merges(const nxi_deflation *f, int i, int j, double *c, double *s) {
  const double size = hypot(f->z[i], f->z[j]), apart = f->d[j] - f->d[i];
  *c = f->z[j] / size;
  *s = -f->z[i] / size;
  if (!(fabs(apart * *c * *s) <= f->tolerance)) return false;
  const double di = f->d[i], dj = f->d[j], cc = *c * *c, ss = *s * *s;
  f->z[i] = 0;
  f->z[j] = size;
  f->d[i] = di * cc + dj * ss;
  f->d[j] = di * ss + dj * cc;
  return true;
}

/* Sorts what was deflated, of which few are not in place, and puts it behind the others. */
static void put_behind(const nxi_deflation *f, int k, int *others) {
  for (int i = 0; i < f->n - k; i++) {
    const int own = others[i];
    int j = i;
    for (; j > 0 && f->d[others[j - 1]] > f->d[own]; j--) others[j] = others[j - 1];
    others[j] = own;
  }
  for (int i = 0; i < f->n - k; i++) f->places[k + i] = others[i];
}

int nxi_deflate(const nxi_deflation *f, int *others) {
  int k = 0, n_others = 0, waiting = -1;
  for (int i = 0; i < f->n; i++) {
    const int j = f->order[i];
    double c, s;
    if (f->rho * fabs(f->z[j]) <= f->tolerance) {
      others[n_others++] = j;
      continue;
    }
    if (waiting >= 0 && merges(f, waiting, j, &c, &s)) {
      others[n_others++] = waiting;
      if (!f->rotate(f->user, waiting, j, c, s)) return -1;
    } else if (waiting >= 0) {
      f->places[k++] = waiting;
    }
    waiting = j;
  }
  if (waiting >= 0) f->places[k++] = waiting;
  put_behind(f, k, others);
  return k;
}
