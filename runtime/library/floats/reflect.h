/* SPDX-License-Identifier: ISC */
/* Included by engine.h for each set and type: small matrices, reduced by one reflection after the
 * other. Products with a vector and updates go through whole vectors of rows, from the first cache;
 * so both triangles of a symmetric matrix are kept. */

/* sums += the rows j .. j + n - 1 of a, each times its element of x; n, vectors are constants. */
static NXI_INLINE void TABLE(add_rows)(const REAL *a, int64_t ld, const REAL *x, const int n,
                                       const int vectors, VECTOR *sums) {
  UNROLL
  for (int j = 0; j < n; j++) {
    const VECTOR by = SPREAD(x[j]);
    UNROLL
    for (int k = 0; k < vectors; k++) {
      VECTOR *sum = &sums[j * vectors + k];
      *sum = FMA(LOAD(a + j * ld + k * LANES), by, *sum);
    }
  }
}

enum { TABLE(chains) = 8 }; /* of fma at once */

/* Some vectors of that. */
static NXI_INLINE void TABLE(multiply_some)(const REAL *a, int64_t ld, int64_t rows, const REAL *x,
                                            const int vectors, REAL *y) {
  const int together = TABLE(chains) / vectors;
  VECTOR sums[TABLE(chains)];
  int64_t j = 0;
  UNROLL
  for (int k = 0; k < TABLE(chains); k++) sums[k] = ZERO;
  for (; j + together <= rows; j += together)
    TABLE(add_rows)(a + j * ld, ld, x + j, together, vectors, sums);
  for (; j < rows; j++) TABLE(add_rows)(a + j * ld, ld, x + j, 1, vectors, sums);
  UNROLL
  for (int k = 0; k < vectors; k++) {
    VECTOR sum = sums[k];
    UNROLL
    for (int set = 1; set < together; set++) sum = ADD(sum, sums[set * vectors + k]);
    STORE(y + k * LANES, sum);
  }
}

/* y = a^T x, over whole vectors. */
static void TABLE(multiply_vector)(const REAL *a, int64_t ld, int64_t rows, int64_t n,
                                   const REAL *x, REAL *y) {
  const int64_t vectors = (n + LANES - 1) / LANES;
  for (int64_t k = 0, some; k < vectors; k += some) {
    const REAL *from = a + k * LANES;
    some = vectors - k >= 8 ? 8 : vectors - k >= 4 ? 4 : vectors - k >= 2 ? 2 : 1;
    if (some == 8) TABLE(multiply_some)(from, ld, rows, x, 8, y + k * LANES);
    else if (some == 4) TABLE(multiply_some)(from, ld, rows, x, 4, y + k * LANES);
    else if (some == 2) TABLE(multiply_some)(from, ld, rows, x, 2, y + k * LANES);
    else TABLE(multiply_some)(from, ld, rows, x, 1, y + k * LANES);
  }
}

/* Rows j .. j + rows - 1 of a -= v w^T + w v^T; `rows` is a constant. */
static NXI_INLINE void TABLE(update_rows)(REAL *a, int64_t ld, int64_t n, const REAL *v,
                                          const REAL *w, int64_t j, const int rows) {
  VECTOR by_w[4], by_v[4];
  UNROLL
  for (int i = 0; i < rows; i++) {
    by_w[i] = SPREAD(-v[j + i]);
    by_v[i] = SPREAD(-w[j + i]);
  }
  for (int64_t k = 0; k < n; k += LANES) {
    const VECTOR wk = LOAD(w + k), vk = LOAD(v + k);
    UNROLL
    for (int i = 0; i < rows; i++) {
      REAL *to = a + (j + i) * ld + k;
      STORE(to, FMA(by_v[i], vk, FMA(by_w[i], wk, LOAD(to))));
    }
  }
}

/* x y, over whole vectors. */
static REAL TABLE(dot)(int64_t n, const REAL *x, const REAL *y) {
  VECTOR sum = ZERO, other = ZERO;
  REAL lanes[LANES], all = 0;
  int64_t i = 0;
  for (; i + LANES < n; i += 2 * LANES) {
    sum = FMA(LOAD(x + i), LOAD(y + i), sum);
    other = FMA(LOAD(x + i + LANES), LOAD(y + i + LANES), other);
  }
  if (i < n) sum = FMA(LOAD(x + i), LOAD(y + i), sum);
  STORE(lanes, ADD(sum, other));
  for (int k = 0; k < LANES; k++) all += lanes[k];
  return all;
}

typedef struct TABLE(reflection) {
  REAL left, tau;
} TABLE(reflection);

/* The same where squares would overflow, or lose digits: of numbers that are scaled. */
static TABLE(reflection) TABLE(reflect_scaled)(int64_t n, REAL alpha, REAL *v) {
  double largest = fabs((double)alpha), sum = 0;
  int exponent = 0;
  for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs((double)v[i]));
  if (largest > 0 && largest < (double)INFINITY) frexp(largest, &exponent);
  for (int64_t i = 0; i < n; i++) {
    const double x = ldexp((double)v[i], -exponent);
    sum += x * x;
    v[i] = (REAL)x;
  }
  if (sum == 0) return (TABLE(reflection)){alpha, 0};
  const double own = ldexp((double)alpha, -exponent), length = sqrt(own * own + sum),
               beta = own >= 0 ? -length : length;
  for (int64_t i = 0; i < n; i++) v[i] = (REAL)((double)v[i] / (own - beta));
  return (TABLE(reflection)){(REAL)ldexp(beta, exponent), (REAL)((beta - own) / beta)};
}

/* The reflection of alpha and n numbers beside it to what is left of alpha, and zeros. v: the
 * numbers, and zeros up to a whole vector; they become its vector, in which alpha has a 1. */
static TABLE(reflection) TABLE(reflect)(int64_t n, REAL alpha, REAL *v) {
  const bool single = _Generic(alpha, float: true, default: false);
  const REAL least = single ? (REAL)0x1p-78 : (REAL)0x1p-916,
             most = single ? (REAL)0x1p120 : (REAL)0x1p1000;
  const int64_t whole = (n + LANES - 1) / LANES * LANES;
  const REAL square = TABLE(dot)(whole, v, v), all = alpha * alpha + square;
  if (!(square >= least && all <= most)) return TABLE(reflect_scaled)(n, alpha, v);
  const REAL length = (REAL)sqrt((double)all), beta = alpha >= 0 ? -length : length;
  const VECTOR by = SPREAD(1 / (alpha - beta));
  for (int64_t i = 0; i < whole; i += LANES) STORE(v + i, MUL(LOAD(v + i), by));
  return (TABLE(reflection)){beta, (beta - alpha) / beta};
}

static void TABLE(tridiagonal)(const nxi_floats_tridiagonal *t) {
  _Alignas(64) REAL v[NXI_FLOATS_REFLECTED + LANES], w[NXI_FLOATS_REFLECTED + LANES];
  REAL *a = t->a, *diagonal = t->diagonal, *beside = t->beside, *tau = t->tau;
  const int64_t ld = t->ld;
  for (int64_t n = t->n - 1; n > 0; n--) { /* of what is left without its last row */
    REAL *row = a + n * ld;
    const int64_t whole = (n + LANES - 1) / LANES * LANES;
    diagonal[n] = row[n];
    memcpy(v, row, (size_t)(n - 1) * sizeof *v);
    memset(v + n - 1, 0, (size_t)(whole - n + 1) * sizeof *v);
    const TABLE(reflection) r = TABLE(reflect)(n - 1, row[n - 1], v);
    memcpy(row, v, (size_t)(n - 1) * sizeof *v);
    beside[n - 1] = row[n - 1] = r.left;
    tau[n - 1] = r.tau;
    v[n - 1] = 1;
    if (r.tau == 0) continue;
    const VECTOR by = SPREAD(r.tau);
    int64_t j = 0;
    TABLE(multiply_vector)(a, ld, n, n, v, w);
    for (int64_t i = 0; i < whole; i += LANES) STORE(w + i, MUL(LOAD(w + i), by));
    memset(w + n, 0, (size_t)(whole - n) * sizeof *w); /* of what is left of columns behind */
    const VECTOR half = SPREAD(-r.tau * TABLE(dot)(whole, w, v) / 2);
    for (int64_t i = 0; i < whole; i += LANES) STORE(w + i, FMA(half, LOAD(v + i), LOAD(w + i)));
    for (; j + 4 <= n; j += 4) TABLE(update_rows)(a, ld, n, v, w, j, 4);
    for (; j < n; j++) TABLE(update_rows)(a, ld, n, v, w, j, 1);
  }
  if (t->n > 0) diagonal[0] = a[0];
}

/* Rows j .. j + rows - 1 of a -= v w^T; `rows` is a constant. */
static NXI_INLINE void TABLE(subtract_rows)(REAL *a, int64_t ld, int64_t n, const REAL *v,
                                            const REAL *w, int64_t j, const int rows) {
  VECTOR by[4];
  UNROLL
  for (int i = 0; i < rows; i++) by[i] = SPREAD(-v[j + i]);
  for (int64_t k = 0; k < n; k += LANES) {
    const VECTOR wk = LOAD(w + k);
    UNROLL
    for (int i = 0; i < rows; i++) {
      REAL *to = a + (j + i) * ld + k;
      STORE(to, FMA(by[i], wk, LOAD(to)));
    }
  }
}

/* a -= tau v (v^T a), over whole vectors of columns, of which the first `skipped` stay. */
static void TABLE(apply_reflection)(REAL *a, int64_t ld, int64_t rows, int64_t columns,
                                    int64_t skipped, const REAL *v, REAL tau) {
  _Alignas(64) REAL w[NXI_FLOATS_REFLECTED + LANES];
  const VECTOR by = SPREAD(tau);
  int64_t j = 0;
  if (columns <= 0) return;
  TABLE(multiply_vector)(a, ld, rows, columns, v, w);
  for (int64_t i = 0; i < columns; i += LANES) STORE(w + i, MUL(LOAD(w + i), by));
  memset(w, 0, (size_t)skipped * sizeof *w);
  for (; j + 4 <= rows; j += 4) TABLE(subtract_rows)(a, ld, columns, v, w, j, 4);
  for (; j < rows; j++) TABLE(subtract_rows)(a, ld, columns, v, w, j, 1);
}

/* What is below the diagonal is 0 once a column is done, so that its vector can be gone through
 * again with those behind it. */
static void TABLE(triangular)(const nxi_floats_triangular *t) {
  REAL *a = t->a, *tau = t->tau;
  for (int64_t k = 0; k < t->rows && k < t->columns; k++) {
    const int64_t rows = t->rows - k, before = k / LANES * LANES,
                  whole = (rows + LANES - 1) / LANES * LANES;
    REAL *v = (REAL *)t->v + k * t->v_ld, *own = a + k * t->ld + k;
    for (int64_t i = 1; i < rows; i++) {
      v[i - 1] = own[i * t->ld];
      own[i * t->ld] = 0;
    }
    memset(v + rows - 1, 0, (size_t)(whole - rows + 1) * sizeof *v);
    const TABLE(reflection) r = TABLE(reflect)(rows - 1, *own, v);
    *own = r.left;
    tau[k] = r.tau;
    memmove(v + 1, v, (size_t)(rows - 1) * sizeof *v);
    v[0] = 1;
    if (r.tau != 0)
      TABLE(apply_reflection)(a + k * t->ld + before, t->ld, rows, t->columns - before,
                              k + 1 - before, v, r.tau);
  }
}

static void TABLE(orthogonal)(const nxi_floats_triangular *t, int64_t columns, void *q,
                              int64_t ld) {
  const int64_t least = t->rows < t->columns ? t->rows : t->columns;
  const REAL *tau = t->tau;
  for (int64_t i = 0; i < t->rows; i++) {
    REAL *row = (REAL *)q + i * ld;
    memset(row, 0, (size_t)ld * sizeof *row);
    if (i < columns) row[i] = 1;
  }
  for (int64_t k = least - 1; k >= 0; k--) {
    const int64_t before = k / LANES * LANES;
    if (tau[k] != 0)
      TABLE(apply_reflection)((REAL *)q + k * ld + before, ld, t->rows - k, columns - before, 0,
                              (const REAL *)t->v + k * t->v_ld, tau[k]);
  }
}

/* q = Q q, of the reflections that `tridiagonal` has left; rows of q are whole vectors. */
static void TABLE(reflected)(const nxi_floats_tridiagonal *t, int64_t columns, void *q,
                             int64_t ld) {
  _Alignas(64) REAL v[NXI_FLOATS_REFLECTED + LANES];
  const REAL *a = t->a, *tau = t->tau;
  for (int64_t i = 0; i + 1 < t->n; i++) {
    memcpy(v, a + (i + 1) * t->ld, (size_t)i * sizeof *v);
    v[i] = 1;
    if (tau[i] != 0) TABLE(apply_reflection)(q, ld, i + 1, columns, 0, v, tau[i]);
  }
}
