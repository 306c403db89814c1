/* SPDX-License-Identifier: ISC */
/* The passes of fft/kernels.h; included once for each width, after fft/vector.h and
 * fft/butterfly.h. A pass of radix 16 works on four elements at a time, because more would not fit
 * in the registers. */

/* The position of the k-th result of a radix. */
static INLINE int NAME(place)(const int r, int k) {
  return r == 16 ? k % 4 * 4 + k / 4 : r == 9 ? k % 3 * 3 + k / 3 : k;
}

/* ---- rows of any layout, as wide passes see them */

#define PLANAR  0
#define PAIRS   1
#define SWAPPED 2
/* The widest vectors get a loop for each combination of layouts. */
#if defined(FFT_PLAIN)
#define FFT_EACH false
#else
#define FFT_EACH (WIDTH * BITS == FFT_BYTES * 8)
#endif
/* Vectors of 32 bytes beside wider ones get those of single transforms. */
#if defined(FFT_PLAIN) || FFT_BYTES < 64
#define FFT_ROWS FFT_EACH
#else
#define FFT_ROWS (WIDTH * BITS >= 256)
#endif

typedef struct NAME(side) {
  REAL *re;
  int64_t gap;         /* distance to the imaginary parts, if they are in another array */
  int64_t pitch, step; /* pitch of rows; step: reals from one lane to the next */
  int layout;          /* PLANAR, PAIRS, SWAPPED */
  bool local;          /* pairs come apart in local order */
} NAME(side);

static INLINE NAME(side) NAME(side_of)(const nxi_fft_rows *rows) {
  REAL *re = rows->re, *im = rows->im;
  return (NAME(side)){re,
                      im ? im - re : 0,
                      rows->pitch,
                      im ? 1 : 2,
                      im ? PLANAR : rows->swapped ? SWAPPED : PAIRS,
                      false};
}

/* Pairs in local order. */
static INLINE C NAME(load_local)(const REAL *p) {
  V a = NAME(load)(p), b = NAME(load)(p + WIDTH);
  return (C){NAME(local_even)(a, b), NAME(local_odd)(a, b)};
}

static INLINE void NAME(store_local)(REAL *p, C a) {
  NAME(store)(p, NAME(local_zip0)(a.re, a.im));
  NAME(store)(p + WIDTH, NAME(local_zip1)(a.re, a.im));
}

static INLINE C NAME(load_pairs)(const REAL *p) {
#if FFT_HALVES
  const int half = NAME(half);
  V a = NAME(load_halves)(p, p + WIDTH), b = NAME(load_halves)(p + half, p + WIDTH + half);
#if BITS == 32
  return (C){(V)_mm256_shuffle_ps((__m256)a, (__m256)b, 0x88),
             (V)_mm256_shuffle_ps((__m256)a, (__m256)b, 0xdd)};
#else
  return (C){(V)_mm256_unpacklo_pd((__m256d)a, (__m256d)b),
             (V)_mm256_unpackhi_pd((__m256d)a, (__m256d)b)};
#endif
#else
  V a = NAME(load)(p), b = NAME(load)(p + WIDTH);
  return (C){NAME(even)(a, b), NAME(odd)(a, b)};
#endif
}

static INLINE void NAME(store_pairs)(REAL *p, C a) {
#if FFT_HALVES && BITS == 32
  __m256 low = _mm256_unpacklo_ps((__m256)a.re, (__m256)a.im),
         high = _mm256_unpackhi_ps((__m256)a.re, (__m256)a.im);
  _mm_storeu_ps(p, _mm256_castps256_ps128(low));
  _mm_storeu_ps(p + 4, _mm256_castps256_ps128(high));
  _mm_storeu_ps(p + 8, _mm256_extractf128_ps(low, 1));
  _mm_storeu_ps(p + 12, _mm256_extractf128_ps(high, 1));
#elif FFT_HALVES
  __m256d low = _mm256_unpacklo_pd((__m256d)a.re, (__m256d)a.im),
          high = _mm256_unpackhi_pd((__m256d)a.re, (__m256d)a.im);
  _mm_storeu_pd(p, _mm256_castpd256_pd128(low));
  _mm_storeu_pd(p + 2, _mm256_castpd256_pd128(high));
  _mm_storeu_pd(p + 4, _mm256_extractf128_pd(low, 1));
  _mm_storeu_pd(p + 6, _mm256_extractf128_pd(high, 1));
#else
  NAME(store)(p, NAME(zip0)(a.re, a.im));
  NAME(store)(p + WIDTH, NAME(zip1)(a.re, a.im));
#endif
}

static INLINE C NAME(take_pairs)(const REAL *p, const bool local) {
  return local ? NAME(load_local)(p) : NAME(load_pairs)(p);
}
static INLINE void NAME(put_pairs)(REAL *p, C a, const bool local) {
  if (local) NAME(store_local)(p, a);
  else NAME(store_pairs)(p, a);
}

/* Loads `count` rows at, at + by, ... to x[0], x[each], ... A single pointer moves over the rows,
 * and the imaginary parts are at a constant distance from it: an address for each row would need
 * too many registers. */
static INLINE void NAME(read)(const NAME(side) * s, int64_t at, int64_t by, C *x, const int count,
                              const int each) {
  const REAL *p = s->re + at;
  if (s->layout == PLANAR) {
    UNROLL for (int l = 0; l < count; l++, p += by) x[l * each] =
        (C){NAME(load)(p), NAME(load)(p + s->gap)};
  } else if (s->layout == SWAPPED) {
    UNROLL for (int l = 0; l < count; l++, p += by) {
      C a = NAME(take_pairs)(p, s->local);
      x[l * each] = (C){a.im, a.re};
    }
  } else {
    UNROLL for (int l = 0; l < count; l++, p += by) x[l * each] = NAME(take_pairs)(p, s->local);
  }
}

static INLINE void NAME(write)(const NAME(side) * s, int64_t at, int64_t by, const C *x,
                               const int count) {
  REAL *p = s->re + at;
  if (s->layout == PLANAR) {
    UNROLL for (int l = 0; l < count; l++, p += by) {
      NAME(store)(p, x[l].re);
      NAME(store)(p + s->gap, x[l].im);
    }
  } else if (s->layout == SWAPPED) {
    UNROLL for (int l = 0; l < count; l++, p += by)
        NAME(put_pairs)(p, (C){x[l].im, x[l].re}, s->local);
  } else {
    UNROLL for (int l = 0; l < count; l++, p += by) NAME(put_pairs)(p, x[l], s->local);
  }
}

/* ---- passes with lanes */

/* Factors of result rows row, row + by, ... */
static INLINE void NAME(by_tables)(const nxi_fft_pass *p, int64_t row, int64_t by, int64_t lane,
                                   C *x, const int count) {
  const REAL *rows = p->by_row, *lanes = (const REAL *)p->by_lane + lane;
  int64_t block = p->lane_block;
  UNROLL for (int l = 0; l < count; l++, row += by) {
    C w = {NAME(load)(lanes + 2 * block * row), NAME(load)(lanes + 2 * block * row + block)};
    x[l] = NAME(times)(x[l], NAME(times_scalars)(w, rows[2 * row], rows[2 * row + 1]));
  }
}

static INLINE void NAME(twiddle)(C *x, const REAL *w) { *x = NAME(times_scalars)(*x, w[0], w[1]); }

/* The place of one vector of one group: its first elements, and the distance to the next. */
typedef struct NAME(place_in) {
  int64_t from, by, to, next;
} NAME(place_in);

static INLINE void NAME(wide_16)(const nxi_fft_pass *p, const REAL *w, int64_t k, int64_t lane,
                                 const NAME(side) * s, const NAME(side) * t, NAME(place_in) at) {
  C x[16];
  UNROLL for (int q = 0; q < 4; q++) {
    NAME(read)(s, at.from + q * at.by, 4 * at.by, x + q, 4, 4);
    if (w) {
      UNROLL for (int l = q; l < 16; l += 4) if (l) NAME(twiddle)(&x[l], w + 2 * (l - 1));
    }
    NAME(fft16_first)(x, q);
  }
  UNROLL for (int q = 0; q < 4; q++) {
    C y[4] = {x[4 * q], x[4 * q + 1], x[4 * q + 2], x[4 * q + 3]};
    NAME(fft4)(&y[0], &y[1], &y[2], &y[3]);
    if (p->by_row) NAME(by_tables)(p, k + q * p->done, 4 * p->done, lane, y, 4);
    NAME(write)(t, at.to + q * at.next, 4 * at.next, y, 4);
  }
}

/* Halves one after the other, and results are stored as soon as they are there: 8 complex numbers
 * fill all registers of AVX2. */
static INLINE void NAME(wide_8)(const nxi_fft_pass *p, const REAL *w, int64_t k, int64_t lane,
                                const NAME(side) * s, const NAME(side) * t, NAME(place_in) at) {
  C x[8], y[2];
  UNROLL for (int q = 0; q < 2; q++) {
    NAME(read)(s, at.from + q * at.by, 2 * at.by, x + q, 4, 2);
    if (w) {
      UNROLL for (int l = q; l < 8; l += 2) if (l) NAME(twiddle)(&x[l], w + 2 * (l - 1));
    }
    NAME(fft4)(&x[q], &x[q + 2], &x[q + 4], &x[q + 6]);
  }
  UNROLL for (int q = 0; q < 4; q++) {
    NAME(fft8_join)(x[2 * q], x[2 * q + 1], q, y);
    if (p->by_row) NAME(by_tables)(p, k + q * p->done, 4 * p->done, lane, y, 2);
    NAME(write)(t, at.to + q * at.next, 4 * at.next, y, 2);
  }
}

static INLINE void NAME(wide_few)(const nxi_fft_pass *p, const int radix, const REAL *w, int64_t k,
                                  int64_t lane, const NAME(side) * s, const NAME(side) * t,
                                  NAME(place_in) at) {
  C x[9], y[9];
  NAME(read)(s, at.from, at.by, x, radix, 1);
  if (w) {
    UNROLL for (int l = 1; l < radix; l++) NAME(twiddle)(&x[l], w + 2 * (l - 1));
  }
  NAME(fft_radix)(x, radix, 0, NULL);
  UNROLL for (int l = 0; l < radix; l++) y[l] = x[NAME(place)(radix, l)];
  if (p->by_row) NAME(by_tables)(p, k, p->done, lane, y, radix);
  NAME(write)(t, at.to, at.next, y, radix);
}

static INLINE void NAME(wide_prime)(const nxi_fft_pass *p, const REAL *w, int64_t k, int64_t lane,
                                    const NAME(side) * s, const NAME(side) * t, NAME(place_in) at) {
  C x[NXI_FFT_MAX_PRIME];
  for (int l = 0; l < p->radix; l++) {
    NAME(read)(s, at.from + l * at.by, 0, x + l, 1, 1);
    if (w && l) NAME(twiddle)(&x[l], w + 2 * (l - 1));
  }
  NAME(fft_prime)(x, p->radix, p->prime);
  for (int l = 0; l < p->radix; l++) {
    if (p->by_row) NAME(by_tables)(p, k + l * p->done, 0, lane, x + l, 1);
    NAME(write)(t, at.to + l * at.next, 0, x + l, 1);
  }
}

/* ANY pass; ROW: one group, no factors that follow, and nothing is fetched meanwhile, as in passes
 * of a single transform; IN_PLACE: one group, no such factors, and an order. */
#define ANY      0
#define ROW      1
#define IN_PLACE 2

/* The last vector of a row may overlap the one before it, so some elements are computed twice. The
 * pass is copied to a local variable, because for the compiler stores could alias the caller's. As
 * constants of the form the numbers of the loop fit the integer registers. On the stack they waited
 * for stores of results that had the same lower 12 bits of an address. */
static INLINE void NAME(wide)(const nxi_fft_pass *pass, const int radix, const int form,
                              NAME(side) s, NAME(side) t) {
  nxi_fft_pass p = *pass;
  if (form != ANY) p.groups = 1, p.by_row = NULL;
  if (form == ROW) p.order = NULL;
  if (form == ROW || p.transforms) p.ahead = NULL;
  const bool in_place = form == IN_PLACE || p.order;
  const REAL *w = p.twiddles;
  const int64_t by = p.groups * s.pitch, r = radix ? radix : p.radix,
                next = in_place ? by : p.done * p.groups * t.pitch;
  int64_t due = due_of(p.ahead);
  for (int64_t place = 0; place < p.done; place++) {
    const int64_t k = in_place ? p.order[place] : place;
    if (w && in_place) w = (const REAL *)p.twiddles + 2 * (r - 1) * k;
    for (int64_t g = 0; g < p.groups; g++) {
      NAME(place_in) at = {place * r * by + g * s.pitch, by, (k * p.groups + g) * t.pitch, next};
      if (in_place) at.to = at.from;
      for (int64_t lane = 0;;) {
        if (radix == 16) NAME(wide_16)(&p, w, k, lane, &s, &t, at);
        else if (radix == 8) NAME(wide_8)(&p, w, k, lane, &s, &t, at);
        else if (radix) NAME(wide_few)(&p, radix, w, k, lane, &s, &t, at);
        else NAME(wide_prime)(&p, w, k, lane, &s, &t, at);
        if (form != ROW && --due == 0) due = fetch_some(p.ahead);
        if (lane + WIDTH >= p.lanes) break;
        int64_t further = lane + 2 * WIDTH <= p.lanes ? WIDTH : p.lanes - lane - WIDTH;
        lane += further;
        at.from += further * s.step;
        at.to += further * t.step;
      }
    }
    if (w) w += 2 * (r - 1);
  }
  stay_due(p.ahead, due);
}

static INLINE void NAME(wide_each)(const nxi_fft_pass *p, const int radix, const int form,
                                   NAME(side) s, NAME(side) t) {
  for (int64_t left = p->transforms;; s.re += p->source_next, t.re += p->target_next) {
    NAME(wide)(p, radix, form, s, t);
    if (p->ahead && p->transforms) fetch_some(p->ahead);
    if (--left <= 0) return;
  }
}

/* Whether it has one group, and not by rows. */
static INLINE bool NAME(is_plain)(const nxi_fft_pass *p) { return p->groups == 1 && !p->by_row; }

/* Calls the pass with constant layouts for the most frequent combinations. A pass to pairs is the
 * last one of lanes, which are rows with others between them. */
static INLINE void NAME(pass)(const nxi_fft_pass *p, const int radix, const bool each) {
  NAME(side) s = NAME(side_of)(&p->source), t = NAME(side_of)(&p->target);
  s.local = t.local = FFT_APART && p->apart;
#define FORM(from, to, a, b, form, is_local, where)                         \
  if (s.layout == from && t.layout == to && s.local == is_local && where) { \
    s.layout = from, t.layout = to, s.step = a, t.step = b;                 \
    s.local = t.local = is_local;                                           \
    NAME(wide_each)(p, radix, form, s, t);                                  \
    return;                                                                 \
  }
#define FORMS(is_local)                            \
  FORM(PAIRS, PLANAR, 2, 1, ANY, is_local, true)   \
  FORM(SWAPPED, PLANAR, 2, 1, ANY, is_local, true) \
  FORM(PLANAR, PAIRS, 1, 2, ANY, is_local, true)   \
  FORM(PLANAR, SWAPPED, 1, 2, ANY, is_local, true)
  if (FFT_EACH) FORM(PLANAR, PLANAR, 1, 1, IN_PLACE, false, NAME(is_plain)(p) && p->order)
  if (each && FFT_ROWS) {
    const bool row = NAME(is_plain)(p) && !p->order && (!p->ahead || p->transforms);
    FORM(PLANAR, PLANAR, 1, 1, ROW, false, row)
    FORM(PAIRS, PLANAR, 2, 1, ROW, FFT_APART, row)
    FORM(SWAPPED, PLANAR, 2, 1, ROW, FFT_APART, row)
  }
  if (each && FFT_EACH) {
    FORMS(false)
    if (FFT_APART) {
      FORMS(true)
    }
  }
#undef FORMS
#undef FORM
  NAME(wide_each)(p, radix, ANY, s, t);
}
#undef ANY
#undef ROW
#undef IN_PLACE

/* clang-format off: it takes the list for one declaration */
#define WIDE(radix, each) \
  static void NAME(pass_##radix)(const nxi_fft_pass *p) { NAME(pass)(p, radix, each); }
WIDE(1, false)
WIDE(2, false)
WIDE(3, false)
WIDE(4, true)
WIDE(5, true)
WIDE(7, false)
WIDE(8, true)
WIDE(9, false)
WIDE(16, true)
WIDE(0, false)
#undef WIDE
/* clang-format on */

/* ---- the last pass of a single transform: vectors hold WIDTH neighbouring k, in local order */

/* Loads WIDTH rows of `radix` numbers: v[l] has column l of the rows that the lanes stand for. What
 * follows the last row may be read, up to the next multiple of a vector. */
static INLINE void NAME(columns)(const REAL *p, const int radix, V *v) {
#define ROW_OF(i) (p + (LOCAL_OF(i)) * radix)
#if FFT_HALVES
  const int half = NAME(half);
  UNROLL for (int l = 0; l < radix; l += half) {
    UNROLL for (int i = 0; i < half; i++) v[l + i] =
        NAME(load_halves)(ROW_OF(i) + l, ROW_OF(i + half) + l);
    NAME(transpose_halves)(v + l);
  }
#else
#if WIDTH * BITS == 512
  if (radix <= WIDTH / 2) {
    NAME(square_of_halves)(p, radix, v);
    return;
  }
#endif
  UNROLL for (int l = 0; l < radix; l += WIDTH) {
    UNROLL for (int i = 0; i < WIDTH; i++) v[l + i] = NAME(load)(ROW_OF(i) + l);
    NAME(transpose)(v + l);
  }
#endif
#undef ROW_OF
}

static INLINE C NAME(table_at)(const REAL *w, int64_t count, int l) {
  const REAL *at = w + 2 * count * (l - 1);
  return (C){NAME(load)(at), NAME(load)(at + count)};
}

/* The number of a radix that column c of rows has. */
static INLINE int NAME(number_in)(const int radix, int c) {
  return FFT_APART && radix % WIDTH == 0 ? c / WIDTH * WIDTH + LOCAL_OF(c % WIDTH) : c;
}

static INLINE void NAME(last_once)(const nxi_fft_tail *p, const int radix, const REAL *re,
                                   const REAL *im, NAME(side) t) {
  const REAL *w = p->twiddles;
  const int64_t count = p->done;
  for (int64_t k = 0;; w += 2 * (radix - 1) * WIDTH) {
    V a[16], b[16];
    C x[16];
    NAME(columns)(re + k * radix, radix, a);
    NAME(columns)(im + k * radix, radix, b);
    UNROLL for (int c = 0; c < radix; c++) x[NAME(number_in)(radix, c)] = (C){a[c], b[c]};
    if (radix == 16) {
      UNROLL for (int q = 0; q < 4; q++) {
        UNROLL for (int l = q; l < 16; l += 4) if (l) x[l] =
            NAME(times)(x[l], NAME(table_at)(w, WIDTH, l));
        NAME(fft16_first)(x, q);
      }
      UNROLL for (int q = 0; q < 4; q++) {
        C y[4] = {x[4 * q], x[4 * q + 1], x[4 * q + 2], x[4 * q + 3]};
        NAME(fft4)(&y[0], &y[1], &y[2], &y[3]);
        NAME(write)(&t, 2 * (k + q * count), 8 * count, y, 4);
      }
    } else {
      C y[9];
      UNROLL for (int l = 1; l < radix; l++) x[l] = NAME(times)(x[l], NAME(table_at)(w, WIDTH, l));
      NAME(fft_radix)(x, radix, 0, NULL);
      UNROLL for (int l = 0; l < radix; l++) y[l] = x[NAME(place)(radix, l)];
      NAME(write)(&t, 2 * k, 2 * count, y, radix);
    }
    if (k + WIDTH >= count) break;
    k += k + 2 * WIDTH <= count ? WIDTH : count - k - WIDTH;
  }
}

static INLINE void NAME(last)(const nxi_fft_tail *p, const int radix) {
  NAME(side) t = NAME(side_of)(&p->target);
  const REAL *re = p->source.re, *im = p->source.im;
  t.local = true;
  for (int64_t left = p->transforms;; t.re += p->target_next) {
    NAME(last_once)(p, radix, re, im, t);
    if (p->ahead) fetch_some(p->ahead);
    if (--left <= 0) return;
    re += p->source_next, im += p->source_next;
  }
}

#define LAST(radix) \
  static void NAME(last_##radix)(const nxi_fft_tail *p) { NAME(last)(p, radix); }
LAST(3)
#if WIDTH <= 8
LAST(4)
#endif
LAST(5)
LAST(7)
LAST(8)
LAST(9)
LAST(16)
#undef LAST
