/* SPDX-License-Identifier: ISC */
/* Passes with fewer groups than the narrowest vector has lanes; included once for each precision,
 * for that width. Vectors hold neighbours in the order of the result; their operands are
 * gathered. */

static INLINE V NAME(pick)(const REAL *p, const int64_t at[WIDTH]) {
  V v = {0};
  UNROLL for (int i = 0; i < WIDTH; i++) v[i] = p[at[i]];
  return v;
}

static INLINE void NAME(put)(REAL *p, V a, int64_t count) {
  if (count >= WIDTH) NAME(store)(p, a);
  else
    for (int i = 0; i < count; i++) p[i] = a[i];
}

/* The place of a vector: its rows of the result, and their first elements in the source. */
typedef struct NAME(spot) {
  int64_t first, count, k, g;
  int64_t row[WIDTH], at[WIDTH];
} NAME(spot);

static INLINE void NAME(advance)(NAME(spot) * s, int64_t radix, int64_t groups) {
  for (int64_t i = 0; i < WIDTH; i++) {
    s->row[i] = s->first + i < s->count ? s->first + i : s->count - 1;
    s->at[i] = s->k * radix * groups + s->g;
    if (s->first + i >= s->count - 1) continue;
    if (++s->g == groups) s->g = 0, s->k++;
  }
}

static INLINE C NAME(narrow_load)(const nxi_fft_tail *p, const NAME(spot) * s, int64_t l) {
  const REAL *re = p->source.re, *im = p->source.im, *w = p->twiddles;
  C x = {NAME(pick)(re + l * p->groups, s->at), NAME(pick)(im + l * p->groups, s->at)};
  if (!w || l == 0) return x;
  w += 2 * s->count * (l - 1);
  if (s->first + WIDTH <= s->count)
    return NAME(times)(x, NAME(table_at)(w + s->first, s->count, 1));
  return NAME(times)(x, (C){NAME(pick)(w, s->row), NAME(pick)(w + s->count, s->row)});
}

static INLINE void NAME(narrow_store)(const nxi_fft_tail *p, const NAME(spot) * s, int64_t m, C y) {
  int64_t at = m * s->count + s->first;
  NAME(put)((REAL *)p->target.re + at, y.re, s->count - s->first);
  NAME(put)((REAL *)p->target.im + at, y.im, s->count - s->first);
}

static INLINE void NAME(narrow)(const nxi_fft_tail *pass, const int radix) {
  const nxi_fft_tail p = *pass;
  NAME(spot) s = {.count = p.done * p.groups};
  for (; s.first < s.count; s.first += WIDTH) {
    NAME(advance)(&s, radix ? radix : p.radix, p.groups);
    if (radix == 0) {
      C x[NXI_FFT_MAX_PRIME];
      for (int l = 0; l < p.radix; l++) x[l] = NAME(narrow_load)(&p, &s, l);
      NAME(fft_radix)(x, 0, p.radix, p.prime);
      for (int m = 0; m < p.radix; m++) NAME(narrow_store)(&p, &s, m, x[m]);
      continue;
    }
    C x[16];
    UNROLL for (int l = 0; l < radix; l++) x[l] = NAME(narrow_load)(&p, &s, l);
    if (radix == 16) {
      UNROLL for (int q = 0; q < 4; q++) NAME(fft16_first)(x, q);
      UNROLL for (int q = 0; q < 4; q++)
          NAME(fft4)(&x[4 * q], &x[4 * q + 1], &x[4 * q + 2], &x[4 * q + 3]);
    } else NAME(fft_radix)(x, radix, 0, NULL);
    UNROLL for (int m = 0; m < radix; m++) NAME(narrow_store)(&p, &s, m, x[NAME(place)(radix, m)]);
  }
}

#define NARROW(radix) \
  static void NAME(narrow_##radix)(const nxi_fft_tail *p) { NAME(narrow)(p, radix); }
NARROW(2) NARROW(3) NARROW(4) NARROW(5) NARROW(7) NARROW(8) NARROW(9) NARROW(16) NARROW(0)
#undef NARROW
