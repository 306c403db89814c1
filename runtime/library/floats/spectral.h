/* SPDX-License-Identifier: ISC */
/* Included by engine.h for each set and type: loops of eigenvalues and singular values. */

/* Some vectors of the rows: the one that all rotations have in common stays in registers. */
static NXI_INLINE void TABLE(turn_some)(const nxi_floats_turn *t, REAL *row, const int vectors) {
  const REAL *c = t->cosines, *s = t->sines;
  const int64_t count = t->count, step = t->step;
  VECTOR carried[4];
  UNROLL
  for (int k = 0; k < vectors; k++) carried[k] = LOAD(row + k * LANES);
  for (int64_t i = 0; i < count; i++) {
    const VECTOR cosine = SPREAD(c[i]), sine = SPREAD(s[i]), minus = SPREAD(-s[i]);
    UNROLL
    for (int k = 0; k < vectors; k++) {
      const VECTOR next = LOAD(row + step + k * LANES);
      STORE(row + k * LANES, FMA(sine, next, MUL(cosine, carried[k])));
      carried[k] = FMA(minus, carried[k], MUL(cosine, next));
    }
    row += step;
  }
  const VECTOR by = SPREAD(t->negative ? -1 : 1);
  UNROLL
  for (int k = 0; k < vectors; k++) STORE(row + k * LANES, MUL(by, carried[k]));
}

static void TABLE(take_roots)(int64_t n, const double *squares, REAL *roots) {
  for (int64_t i = 0; i < n; i++) roots[i] = (REAL)squares[i];
  for (int64_t i = 0; i < n; i += LANES) {
    const VECTOR square = LOAD(roots + i);
    STORE(roots + i, SIGNED(ROOT(ABS(square)), square));
  }
}

static void TABLE(turn)(const nxi_floats_turn *t, int64_t n, int64_t columns) {
  const int64_t vectors = (columns + LANES - 1) / LANES;
  for (int64_t i = 0; i < n; i++) {
    TABLE(take_roots)(t[i].count, t[i].c, t[i].cosines);
    TABLE(take_roots)(t[i].count, t[i].s, t[i].sines);
  }
  for (int64_t k = 0, some; k < vectors; k += some) {
    some = vectors - k >= 4 ? 4 : vectors - k >= 2 ? 2 : 1;
    for (int64_t i = 0; i < n; i++) {
      REAL *row = (REAL *)t[i].row + k * LANES;
      if (some == 4) TABLE(turn_some)(t + i, row, 4);
      else if (some == 2) TABLE(turn_some)(t + i, row, 2);
      else TABLE(turn_some)(t + i, row, 1);
    }
  }
}

/* Columns first .. first + n - 1 of both products; n is a constant here. Those behind are fetched
 * while these are read again. */
static NXI_INLINE void TABLE(pass_columns)(const nxi_floats_pass *p, int64_t first, const int n) {
  const REAL *a = (const REAL *)p->a + first * p->ld, *x = p->x;
  REAL *products = (REAL *)p->products + first, *by = (REAL *)p->by + first, *y = p->y,
       lanes[LANES];
  const int64_t whole = p->rows / LANES * LANES, rest = p->rows - whole;
  const MASK mask = MASK_OF(rest);
  VECTOR sum[4], factor[4];
  UNROLL
  for (int j = 0; j < n; j++) sum[j] = ZERO;
  for (int64_t i = 0; i < whole; i += LANES) {
    const VECTOR xi = LOAD(x + i);
    UNROLL
    for (int j = 0; j < n; j++) sum[j] = FMA(LOAD(a + j * p->ld + i), xi, sum[j]);
  }
  for (int j = 0; j < n && rest > 0; j++)
    sum[j] = FMA(LOAD_SOME(a + j * p->ld + whole, mask), LOAD_SOME(x + whole, mask), sum[j]);
  for (int j = 0; j < n; j++) {
    REAL all = 0;
    STORE(lanes, sum[j]);
    for (int k = 0; k < LANES; k++) all += lanes[k];
    products[j] = all;
    by[j] -= *(const REAL *)p->scale * all;
    factor[j] = SPREAD(by[j]);
  }
  for (int64_t i = 0; i < whole; i += LANES) {
    VECTOR yi = LOAD(y + i);
    UNROLL
    for (int j = 0; j < n; j++) {
      const REAL *at = a + j * p->ld + i;
      __builtin_prefetch(at + n * p->ld);
      yi = FMA(LOAD(at), factor[j], yi);
    }
    STORE(y + i, yi);
  }
  if (rest == 0) return;
  VECTOR yi = LOAD_SOME(y + whole, mask);
  for (int j = 0; j < n; j++) yi = FMA(LOAD_SOME(a + j * p->ld + whole, mask), factor[j], yi);
  STORE_SOME(y + whole, mask, yi);
}

static void TABLE(pass)(const nxi_floats_pass *p) {
  int64_t j = 0;
  for (; j + 4 <= p->columns; j += 4) TABLE(pass_columns)(p, j, 4);
  for (; j < p->columns; j++) TABLE(pass_columns)(p, j, 1);
}

/* The sum of z[i] t and that of t^2, where t = z[i] / (pole[i] - at), of the poles first .. end -
 * 1. */
static void TABLE(secular)(const void *z, const void *poles, int64_t first, int64_t end, double at,
                           double *sums) {
  const REAL *w = z, *p = poles;
  const VECTOR minus = SPREAD((REAL)-at);
  VECTOR sum[2] = {ZERO, ZERO}, slope[2] = {ZERO, ZERO};
  REAL lanes[LANES];
  int64_t i = first;
  for (; i + 2 * LANES <= end; i += 2 * LANES) UNROLL
  for (int k = 0; k < 2; k++) {
    const VECTOR x = LOAD(w + i + k * LANES), t = DIV(x, ADD(LOAD(p + i + k * LANES), minus));
    sum[k] = FMA(x, t, sum[k]);
    slope[k] = FMA(t, t, slope[k]);
  }
  STORE(lanes, ADD(sum[0], sum[1]));
  sums[0] = sums[1] = 0;
  for (int k = 0; k < LANES; k++) sums[0] += (double)lanes[k];
  STORE(lanes, ADD(slope[0], slope[1]));
  for (int k = 0; k < LANES; k++) sums[1] += (double)lanes[k];
  for (; i < end; i++) {
    const double t = (double)w[i] / ((double)p[i] - at);
    sums[0] += (double)w[i] * t;
    sums[1] += t * t;
  }
}
