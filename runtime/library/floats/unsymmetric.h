/* SPDX-License-Identifier: ISC */
/* Included by engine.h for each set and type: loops of matrices that are not symmetric, which are
 * stored by columns. */

#define FMA_ONE(x, y, sum) _Generic((x), float: fmaf, double: fma)(x, y, sum)

/* Columns j .. j + n - 1 of both products, w += a v and y = v^T a; n is a constant here, and v has
 * zeros before `first`. */
static NXI_INLINE void TABLE(multiply_both_sides)(const REAL *a, int64_t ld, int64_t first,
                                                  int64_t end, const REAL *v, int64_t j,
                                                  const int n, REAL *w, REAL *y) {
  VECTOR by[4], sum[4];
  REAL lanes[LANES];
  UNROLL
  for (int k = 0; k < n; k++) {
    by[k] = SPREAD(v[j + k]);
    sum[k] = ZERO;
  }
  for (int64_t i = 0; i < first; i += LANES) {
    VECTOR wi = LOAD(w + i);
    UNROLL
    for (int k = 0; k < n; k++) wi = FMA(LOAD(a + (j + k) * ld + i), by[k], wi);
    STORE(w + i, wi);
  }
  for (int64_t i = first; i < end; i += LANES) {
    const VECTOR vi = LOAD(v + i);
    VECTOR wi = LOAD(w + i);
    UNROLL
    for (int k = 0; k < n; k++) {
      const VECTOR x = LOAD(a + (j + k) * ld + i);
      wi = FMA(x, by[k], wi);
      sum[k] = FMA(x, vi, sum[k]);
    }
    STORE(w + i, wi);
  }
  UNROLL
  for (int k = 0; k < n; k++) {
    REAL all = 0;
    STORE(lanes, sum[k]);
    for (int l = 0; l < LANES; l++) all += lanes[l];
    y[j + k] = all;
  }
}

/* The same columns -= w x^T + v y^T. */
static NXI_INLINE void TABLE(update_both_sides)(REAL *a, int64_t ld, int64_t first, int64_t end,
                                                const REAL *v, const REAL *w, const REAL *x,
                                                const REAL *y, int64_t j, const int n) {
  VECTOR by_w[4], by_v[4];
  UNROLL
  for (int k = 0; k < n; k++) {
    by_w[k] = SPREAD(-x[j + k]);
    by_v[k] = SPREAD(-y[j + k]);
  }
  for (int64_t i = 0; i < first; i += LANES) {
    const VECTOR wi = LOAD(w + i);
    UNROLL
    for (int k = 0; k < n; k++) {
      REAL *to = a + (j + k) * ld + i;
      STORE(to, FMA(by_w[k], wi, LOAD(to)));
    }
  }
  for (int64_t i = first; i < end; i += LANES) {
    const VECTOR wi = LOAD(w + i), vi = LOAD(v + i);
    UNROLL
    for (int k = 0; k < n; k++) {
      REAL *to = a + (j + k) * ld + i;
      STORE(to, FMA(by_v[k], vi, FMA(by_w[k], wi, LOAD(to))));
    }
  }
}

/* (I - tau v v^T) A (I - tau v v^T) of a reflection of rows from k + 1 on. */
static void TABLE(reflect_both_sides)(const nxi_floats_hessenberg *t, int64_t k, const REAL *v,
                                      REAL tau) {
  _Alignas(64) REAL w[NXI_FLOATS_REFLECTED + LANES], x[NXI_FLOATS_REFLECTED + LANES],
      y[NXI_FLOATS_REFLECTED + LANES];
  REAL *a = t->a;
  const int64_t first = (k + 1) / LANES * LANES, end = (t->high + LANES - 1) / LANES * LANES;
  int64_t j = k + 1;
  memset(w, 0, (size_t)end * sizeof *w);
  for (; j + 4 <= t->n; j += 4) TABLE(multiply_both_sides)(a, t->ld, first, end, v, j, 4, w, y);
  for (; j < t->n; j++) TABLE(multiply_both_sides)(a, t->ld, first, end, v, j, 1, w, y);
  const REAL both = TABLE(dot)(end - first, v + first, w + first);
  for (j = k + 1; j < t->n; j++) {
    x[j] = tau * v[j];
    y[j] = tau * (y[j] - both * x[j]);
  }
  for (j = k + 1; j + 4 <= t->n; j += 4)
    TABLE(update_both_sides)(a, t->ld, first, end, v, w, x, y, j, 4);
  for (; j < t->n; j++) TABLE(update_both_sides)(a, t->ld, first, end, v, w, x, y, j, 1);
}

static void TABLE(hessenberg)(const nxi_floats_hessenberg *t) {
  _Alignas(64) REAL v[NXI_FLOATS_REFLECTED + LANES];
  REAL *a = t->a, *tau = t->tau;
  memset(tau, 0, (size_t)t->n * sizeof *tau);
  for (int64_t k = t->low; k + 2 < t->high; k++) {
    REAL *column = a + k * t->ld, *u = (REAL *)t->v + k * t->v_ld;
    const int64_t others = t->high - k - 2;
    memset(u, 0, (size_t)t->v_ld * sizeof *u);
    memcpy(u, column + k + 2, (size_t)others * sizeof *u);
    memset(column + k + 2, 0, (size_t)others * sizeof *u);
    const TABLE(reflection) r = TABLE(reflect)(others, column[k + 1], u);
    column[k + 1] = r.left;
    tau[k] = r.tau;
    memmove(u + 1, u, (size_t)others * sizeof *u);
    u[0] = 1;
    memset(v, 0, sizeof v);
    memcpy(v + k + 1, u, (size_t)(others + 1) * sizeof *u);
    if (r.tau != 0) TABLE(reflect_both_sides)(t, k, v, r.tau);
  }
}

static void TABLE(reflect_columns)(int64_t rows, void *columns, int64_t ld, const void *numbers) {
  const REAL *v = numbers, t = v[0], ta = t * v[1], tb = t * v[2];
  const VECTOR a = SPREAD(v[1]), b = SPREAD(v[2]), by = SPREAD(-t), by_a = SPREAD(-ta),
               by_b = SPREAD(-tb);
  REAL *x = columns, *y = x + ld, *z = y + ld;
  int64_t i = 0;
  for (; i + LANES <= rows; i += LANES) {
    const VECTOR xi = LOAD(x + i), yi = LOAD(y + i), zi = LOAD(z + i),
                 sum = FMA(b, zi, FMA(a, yi, xi));
    STORE(x + i, FMA(sum, by, xi));
    STORE(y + i, FMA(sum, by_a, yi));
    STORE(z + i, FMA(sum, by_b, zi));
  }
  if (i == rows) return;
  const MASK mask = MASK_OF(rows - i);
  const VECTOR xi = LOAD_SOME(x + i, mask), yi = LOAD_SOME(y + i, mask),
               zi = LOAD_SOME(z + i, mask), sum = FMA(b, zi, FMA(a, yi, xi));
  STORE_SOME(x + i, mask, FMA(sum, by, xi));
  STORE_SOME(y + i, mask, FMA(sum, by_a, yi));
  STORE_SOME(z + i, mask, FMA(sum, by_b, zi));
}

static void TABLE(reflect_rows)(int64_t columns, void *rows, int64_t ld, const void *numbers) {
  const REAL *v = numbers, a = v[1], b = v[2], t = -v[0], ta = t * a, tb = t * b;
  REAL *x = rows;
  for (int64_t j = 0; j < columns; j++, x += ld) {
    const REAL sum = FMA_ONE(b, x[2], FMA_ONE(a, x[1], x[0]));
    x[0] = FMA_ONE(sum, t, x[0]);
    x[1] = FMA_ONE(sum, ta, x[1]);
    x[2] = FMA_ONE(sum, tb, x[2]);
  }
}

#undef FMA_ONE
