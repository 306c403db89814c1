/* SPDX-License-Identifier: ISC */
/* Transposing rows and lanes; products; spectra of real numbers. Included once for each precision,
 * for its widest vectors. */

enum { NAME(pairs) = WIDTH / 2 }; /* in a vector */

/* ---- transforms that are rows of pairs, to lanes of planar rows and back */

static void NAME(gather_slowly)(const nxi_fft_rows *t, const nxi_fft_rows *p, int64_t n,
                                int64_t first, int64_t lanes) {
  REAL *re = t->swapped ? p->im : p->re, *im = t->swapped ? p->re : p->im;
  for (int64_t lane = first; lane < lanes; lane++) {
    const REAL *from = (const REAL *)t->re + lane * t->pitch;
    for (int64_t j = 0; j < n; j++) {
      re[j * p->pitch + lane] = from[2 * j];
      im[j * p->pitch + lane] = from[2 * j + 1];
    }
  }
}

static void NAME(scatter_slowly)(const nxi_fft_rows *p, const int32_t *places,
                                 const nxi_fft_rows *t, int64_t n, int64_t first, int64_t lanes) {
  const REAL *re = t->swapped ? p->im : p->re, *im = t->swapped ? p->re : p->im;
  for (int64_t lane = first; lane < lanes; lane++) {
    REAL *to = (REAL *)t->re + lane * t->pitch;
    for (int64_t j = 0; j < n; j++) {
      to[2 * j] = re[places[j] * p->pitch + lane];
      to[2 * j + 1] = im[places[j] * p->pitch + lane];
    }
  }
}

#if WIDTH == 16
/* A vector is half a vector of one row and half of the row WIDTH / 2 below: halves come from
 * memory, and go there, without an exchange. Two such squares fill lines of the cache. Vectors of 8
 * and 4 numbers have fewer exchanges to save than half rows cost. */
enum { NAME(columns_at_once) = WIDTH / 4, NAME(squares) = 2 };

/* Lane i of v[2 * j] is the real part of column j of row i, of v[2 * j + 1] the imaginary one. */
static INLINE void NAME(load_columns)(const REAL *p, int64_t pitch, const bool local,
                                      V v[WIDTH / 2]) {
  (void)local;
  UNROLL for (int i = 0; i < WIDTH / 2; i++) {
    __m512 low = _mm512_castps256_ps512(_mm256_loadu_ps(p + i * pitch));
    v[i] = (V)_mm512_insertf32x8(low, _mm256_loadu_ps(p + (i + WIDTH / 2) * pitch), 1);
  }
  NAME(exchange1)(v, WIDTH / 2, 1);
  NAME(exchange2)(v, WIDTH / 2, 2);
  NAME(exchange4)(v, WIDTH / 2, 4);
}

static INLINE void NAME(store_columns)(REAL *p, int64_t pitch, const bool local, V v[WIDTH / 2]) {
  (void)local;
  NAME(exchange4)(v, WIDTH / 2, 4);
  NAME(exchange2)(v, WIDTH / 2, 2);
  NAME(exchange1)(v, WIDTH / 2, 1);
  UNROLL for (int i = 0; i < WIDTH / 2; i++) {
    _mm256_storeu_ps(p + i * pitch, _mm512_castps512_ps256((__m512)v[i]));
    _mm256_storeu_ps(p + (i + WIDTH / 2) * pitch, _mm512_extractf32x8_ps((__m512)v[i], 1));
  }
}
#else
enum { NAME(columns_at_once) = NAME(pairs), NAME(squares) = 1 };

static INLINE void NAME(load_columns)(const REAL *p, int64_t pitch, const bool local, V v[WIDTH]) {
  enum { H = NAME(pairs) };
  V a[H], b[H];
  UNROLL for (int i = 0; i < H; i++) {
    a[i] = NAME(load)(p + i * pitch);
    b[i] = NAME(load)(p + (i + H) * pitch);
  }
  NAME(transpose_pairs)(a);
  NAME(transpose_pairs)(b);
  UNROLL for (int i = 0; i < H; i++) {
    v[2 * i] = local ? NAME(local_even)(a[i], b[i]) : NAME(even)(a[i], b[i]);
    v[2 * i + 1] = local ? NAME(local_odd)(a[i], b[i]) : NAME(odd)(a[i], b[i]);
  }
}

static INLINE void NAME(store_columns)(REAL *p, int64_t pitch, const bool local, V v[WIDTH]) {
  enum { H = NAME(pairs) };
  V a[H], b[H];
  UNROLL for (int i = 0; i < H; i++) {
    const V re = v[2 * i], im = v[2 * i + 1];
    a[i] = local ? NAME(local_zip0)(re, im) : NAME(zip0)(re, im);
    b[i] = local ? NAME(local_zip1)(re, im) : NAME(zip1)(re, im);
  }
  NAME(transpose_pairs)(a);
  NAME(transpose_pairs)(b);
  UNROLL for (int i = 0; i < H; i++) {
    NAME(store)(p + i * pitch, a[i]);
    NAME(store)(p + (i + H) * pitch, b[i]);
  }
}
#endif

static INLINE void NAME(gather_in)(const nxi_fft_rows *t, const nxi_fft_rows *p, int64_t n,
                                   int64_t lanes, const bool local, nxi_fft_ahead *ahead) {
  enum { SOME = NAME(columns_at_once), COLUMNS = NAME(squares) * SOME };
  REAL *re = t->swapped ? p->im : p->re, *im = t->swapped ? p->re : p->im;
  int64_t lane = 0, due = due_of(ahead);
  for (; n >= COLUMNS && lane + WIDTH <= lanes; lane += WIDTH) {
    const REAL *from = (const REAL *)t->re + lane * t->pitch;
    for (int64_t at = 0; at < n; at += COLUMNS) {
      const int64_t j = at + COLUMNS <= n ? at : n - COLUMNS; /* the last ones are copied twice */
      UNROLL for (int q = 0; q < COLUMNS; q += SOME) {
        V v[2 * SOME];
        NAME(load_columns)(from + 2 * (j + q), t->pitch, local, v);
        UNROLL for (int i = 0; i < SOME; i++) {
          NAME(store)(re + (j + q + i) * p->pitch + lane, v[2 * i]);
          NAME(store)(im + (j + q + i) * p->pitch + lane, v[2 * i + 1]);
        }
      }
      if (--due == 0) due = fetch_some(ahead);
    }
  }
  stay_due(ahead, due);
  NAME(gather_slowly)(t, p, n, lane, lanes);
}

static INLINE void NAME(scatter_in)(const nxi_fft_rows *p, const int32_t *places,
                                    const nxi_fft_rows *t, int64_t n, int64_t lanes,
                                    const bool local, nxi_fft_ahead *ahead) {
  enum { SOME = NAME(columns_at_once), COLUMNS = NAME(squares) * SOME };
  const REAL *re = t->swapped ? p->im : p->re, *im = t->swapped ? p->re : p->im;
  int64_t lane = 0, due = due_of(ahead);
  for (; n >= COLUMNS && lane + WIDTH <= lanes; lane += WIDTH) {
    REAL *to = (REAL *)t->re + lane * t->pitch;
    for (int64_t at = 0; at < n; at += COLUMNS) {
      const int64_t j = at + COLUMNS <= n ? at : n - COLUMNS;
      UNROLL for (int q = 0; q < COLUMNS; q += SOME) {
        V v[2 * SOME];
        UNROLL for (int i = 0; i < SOME; i++) {
          const int64_t row = places[j + q + i] * p->pitch + lane;
          v[2 * i] = NAME(load)(re + row);
          v[2 * i + 1] = NAME(load)(im + row);
        }
        NAME(store_columns)(to + 2 * (j + q), t->pitch, local, v);
      }
      if (--due == 0) due = fetch_some(ahead);
    }
  }
  stay_due(ahead, due);
  NAME(scatter_slowly)(p, places, t, n, lane, lanes);
}

static void NAME(gather)(const nxi_fft_rows *t, const nxi_fft_rows *p, int64_t n, int64_t lanes,
                         bool local, nxi_fft_ahead *ahead) {
  if (FFT_APART && local) NAME(gather_in)(t, p, n, lanes, true, ahead);
  else NAME(gather_in)(t, p, n, lanes, false, ahead);
}

static void NAME(scatter)(const nxi_fft_rows *p, const int32_t *places, const nxi_fft_rows *t,
                          int64_t n, int64_t lanes, bool local, nxi_fft_ahead *ahead) {
  if (FFT_APART && local) NAME(scatter_in)(p, places, t, n, lanes, true, ahead);
  else NAME(scatter_in)(p, places, t, n, lanes, false, ahead);
}

/* ---- products */

static INLINE C NAME(order)(C a, bool swapped) { return swapped ? (C){a.im, a.re} : a; }

static void NAME(multiply)(const nxi_fft_rows *source, const void *factor,
                           const nxi_fft_rows *target, int64_t n) {
  const REAL *from = source->re, *by = factor;
  REAL *to = target->re;
  int64_t j = 0;
  for (; j + WIDTH <= n; j += WIDTH) {
    C a = NAME(order)(NAME(load_local)(from + 2 * j), source->swapped);
    a = NAME(times)(a, NAME(load_local)(by + 2 * j));
    NAME(store_local)(to + 2 * j, NAME(order)(a, target->swapped));
  }
  if (j == n) return;
  REAL x[2 * WIDTH] = {0}, y[2 * WIDTH] = {0};
  memcpy(x, from + 2 * j, (size_t)(n - j) * 2 * sizeof *x);
  memcpy(y, by + 2 * j, (size_t)(n - j) * 2 * sizeof *y);
  C a = NAME(times)(NAME(order)(NAME(load_local)(x), source->swapped), NAME(load_local)(y));
  NAME(store_local)(x, NAME(order)(a, target->swapped));
  memcpy(to + 2 * j, x, (size_t)(n - j) * 2 * sizeof *x);
}

/* ---- spectra of real numbers (fft/halves.h) in rows. Vectors hold neighbouring k in local order,
 * and those for half - k what belongs to these. */

static INLINE C NAME(load_far)(const REAL *p) {
#if FFT_HALVES
  const int half = NAME(half);
  V a = NAME(load_halves)(p + WIDTH + half, p + WIDTH), b = NAME(load_halves)(p + half, p);
#if BITS == 32
  return (C){(V)_mm256_shuffle_ps((__m256)a, (__m256)b, 0x22),
             (V)_mm256_shuffle_ps((__m256)a, (__m256)b, 0x77)};
#else
  return (C){(V)_mm256_unpacklo_pd((__m256d)a, (__m256d)b),
             (V)_mm256_unpackhi_pd((__m256d)a, (__m256d)b)};
#endif
#else
  V a = NAME(load)(p), b = NAME(load)(p + WIDTH);
  return (C){NAME(far_even)(a, b), NAME(far_odd)(a, b)};
#endif
}

static INLINE void NAME(store_far)(REAL *p, C a) {
#if FFT_HALVES
  __m256d high = (__m256d)NAME(local_zip0)(a.re, a.im), low = (__m256d)NAME(local_zip1)(a.re, a.im);
#define ORDER (BITS == 32 ? 0x1b : 0x4e) /* of pairs of f32, and of halves */
  NAME(store)(p, (V)_mm256_permute4x64_pd(low, ORDER));
  NAME(store)(p + WIDTH, (V)_mm256_permute4x64_pd(high, ORDER));
#undef ORDER
#else
  NAME(store)(p, NAME(far_zip0)(a.re, a.im));
  NAME(store)(p + WIDTH, NAME(far_zip1)(a.re, a.im));
#endif
}

/* The same for fewer elements than a vector. */
static INLINE void NAME(few_halves)(const nxi_fft_half *p, const bool join, int64_t k, int count) {
  const REAL *from = p->source, *unit = p->unit;
  REAL *to = p->target, x[2 * WIDTH] = {0}, y[2 * WIDTH] = {0}, z[2 * WIDTH] = {0};
  for (int i = 0; i < 2 * count; i++) {
    x[i] = from[2 * k + i];
    y[i] = from[2 * (p->half - k - i / 2) + i % 2];
    z[i] = unit[2 * k + i];
  }
  C a = NAME(load_local)(x), b = NAME(load_local)(y);
  if (join) NAME(join_step)(&a, &b, NAME(load_local)(z));
  else NAME(split_step)(&a, &b, NAME(load_local)(z));
  NAME(store_local)(x, a);
  NAME(store_local)(y, b);
  for (int i = 0; i < 2 * count; i++) {
    to[2 * k + i] = x[i];
    to[2 * (p->half - k - i / 2) + i % 2] = y[i];
  }
}

static INLINE void NAME(halves)(const nxi_fft_half *p, const bool join) {
  const REAL *from = p->source, *unit = p->unit;
  REAL *to = p->target;
  int64_t h = p->half, k = p->begin ? p->begin : 1;
  if (p->begin == 0) {
    REAL first = from[0], other = join ? from[2 * h] : from[1];
    to[0] = first + other;
    to[1] = join ? first - other : 0;
    if (!join) to[2 * h] = first - other, to[2 * h + 1] = 0;
  }
  /* Both vectors may share the element h / 2, whose last value is the second one. */
  for (; k + WIDTH <= p->end && k + 2 * WIDTH - 2 <= h - k; k += WIDTH) {
    C a = NAME(load_local)(from + 2 * k), w = NAME(load_local)(unit + 2 * k);
    C b = NAME(load_far)(from + 2 * (h - k - WIDTH + 1));
    if (join) NAME(join_step)(&a, &b, w);
    else NAME(split_step)(&a, &b, w);
    NAME(store_local)(to + 2 * k, a);
    NAME(store_far)(to + 2 * (h - k - WIDTH + 1), b);
  }
  for (; k < p->end; k += WIDTH)
    NAME(few_halves)(p, join, k, (int)(p->end - k < WIDTH ? p->end - k : WIDTH));
}

static void NAME(split)(const nxi_fft_half *p) { NAME(halves)(p, false); }
static void NAME(join)(const nxi_fft_half *p) { NAME(halves)(p, true); }
