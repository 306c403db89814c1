/* SPDX-License-Identifier: ISC */
/* The first and the last step of transforms that are rows, done in lanes: vectors are transposed on
 * the way from memory to the first pass, and from the last one to memory, without a copy between.
 * Included once for each precision, for vectors of 32 bytes, halves of which are loaded apart.
 *
 * A unit is the pairs in half a vector, a block those in a whole one: so many columns of WIDTH rows
 * are loaded together, and stored. The last unit or block may overlap the one before it. */
#if FFT_HALVES
enum { NAME(unit) = 64 / BITS, NAME(block) = 2 * NAME(unit) };

/* Columns go to x[0], x[each], ... */
static INLINE void NAME(load_unit)(const REAL *p, int64_t pitch, C *x, const int each) {
  V v[WIDTH / 2];
  UNROLL for (int i = 0; i < WIDTH / 2; i++) v[i] =
      NAME(load_halves)(p + i * pitch, p + (i + WIDTH / 2) * pitch);
  NAME(transpose_halves)(v);
  UNROLL for (int q = 0; q < NAME(unit); q++) x[q * each] = (C){v[2 * q], v[2 * q + 1]};
}

static INLINE void NAME(store_block)(REAL *p, int64_t pitch, const C *x) {
  V a[WIDTH / 2], b[WIDTH / 2];
  UNROLL for (int q = 0; q < NAME(unit); q++) {
    a[2 * q] = x[q].re, a[2 * q + 1] = x[q].im;
    b[2 * q] = x[q + NAME(unit)].re, b[2 * q + 1] = x[q + NAME(unit)].im;
  }
  NAME(transpose_halves)(a);
  NAME(transpose_halves)(b);
  UNROLL for (int i = 0; i < WIDTH / 2; i++) {
    const __m256d u = (__m256d)a[i], v = (__m256d)b[i];
    NAME(store)(p + i * pitch, (V)_mm256_permute2f128_pd(u, v, 0x20));
    NAME(store)(p + (i + WIDTH / 2) * pitch, (V)_mm256_permute2f128_pd(u, v, 0x31));
  }
}

/* Result m of the radix is x[place(radix, m)]. */
static INLINE void NAME(fft_any)(C *x, const int radix) {
  if (radix == 16) {
    UNROLL for (int q = 0; q < 4; q++) NAME(fft16_first)(x, q);
    UNROLL for (int q = 0; q < 4; q++)
        NAME(fft4)(&x[4 * q], &x[4 * q + 1], &x[4 * q + 2], &x[4 * q + 3]);
  } else NAME(fft_radix)(x, radix, 0, NULL);
}

/* Planar rows from a lane on. */
static INLINE NAME(side) NAME(lanes_from)(const nxi_fft_rows *rows, int64_t lane) {
  NAME(side) s = NAME(side_of)(rows);
  s.layout = PLANAR;
  s.re += lane;
  return s;
}

static INLINE void NAME(enter_as)(const nxi_fft_end *end, const int radix, const bool swapped) {
  const nxi_fft_end p = *end;
  const int64_t groups = p.count, pitch = p.rows.pitch;
  int64_t due = due_of(p.ahead);
  for (int64_t lane = 0; lane < p.lanes; lane += WIDTH) {
    const REAL *rows = (const REAL *)p.rows.re + lane * pitch;
    const NAME(side) t = NAME(lanes_from)(&p.planar, lane);
    for (int64_t at = 0; at < groups; at += NAME(unit)) {
      const int64_t g = at + NAME(unit) <= groups ? at : groups - NAME(unit);
      const REAL *from = rows + 2 * g;
      C x[NAME(unit)][16];
      UNROLL for (int l = 0; l < radix; l++, from += 2 * groups)
          NAME(load_unit)(from, pitch, &x[0][l], 16);
      UNROLL for (int q = 0; q < NAME(unit); q++) {
        C y[16];
        if (swapped) {
          UNROLL for (int l = 0; l < radix; l++) x[q][l] = (C){x[q][l].im, x[q][l].re};
        }
        NAME(fft_any)(x[q], radix);
        UNROLL for (int m = 0; m < radix; m++) y[m] = x[q][NAME(place)(radix, m)];
        NAME(write)(&t, (g + q) * t.pitch, groups * t.pitch, y, radix);
      }
      if (--due == 0) due = move_some(p.ahead);
    }
  }
  stay_due(p.ahead, due);
}

static INLINE void NAME(enter)(const nxi_fft_end *p, const int radix) {
  if (p->rows.swapped) NAME(enter_as)(p, radix, true);
  else NAME(enter_as)(p, radix, false);
}

static INLINE void NAME(leave_as)(const nxi_fft_end *end, const int radix, const bool swapped) {
  const nxi_fft_end p = *end;
  const int64_t done = p.count, pitch = p.rows.pitch;
  int64_t due = due_of(p.ahead);
  for (int64_t lane = 0; lane < p.lanes; lane += WIDTH) {
    REAL *rows = (REAL *)p.rows.re + lane * pitch;
    const NAME(side) s = NAME(lanes_from)(&p.planar, lane);
    for (int64_t at = 0; at < done; at += NAME(block)) {
      const int64_t k = at + NAME(block) <= done ? at : done - NAME(block);
      const REAL *w = (const REAL *)p.twiddles + 2 * (radix - 1) * k;
      REAL *to = rows + 2 * k;
      C y[NAME(block)][16];
      UNROLL for (int q = 0; q < NAME(block); q++, w += 2 * (radix - 1)) {
        C x[16];
        NAME(read)(&s, p.places[k + q] * s.pitch, s.pitch, x, radix, 1);
        UNROLL for (int l = 1; l < radix; l++) NAME(twiddle)(&x[l], w + 2 * (l - 1));
        NAME(fft_any)(x, radix);
        UNROLL for (int m = 0; m < radix; m++) {
          const C z = x[NAME(place)(radix, m)];
          y[q][m] = swapped ? (C){z.im, z.re} : z;
        }
      }
      UNROLL for (int m = 0; m < radix; m++, to += 2 * done) {
        C z[NAME(block)];
        UNROLL for (int q = 0; q < NAME(block); q++) z[q] = y[q][m];
        NAME(store_block)(to, pitch, z);
      }
      if (--due == 0) due = move_some(p.ahead);
    }
  }
  stay_due(p.ahead, due);
}

static INLINE void NAME(leave)(const nxi_fft_end *p, const int radix) {
  if (p->rows.swapped) NAME(leave_as)(p, radix, true);
  else NAME(leave_as)(p, radix, false);
}

#define ENTER(radix) \
  static void NAME(enter_##radix)(const nxi_fft_end *p) { NAME(enter)(p, radix); }
ENTER(2)
ENTER(3)
ENTER(4)
ENTER(5)
ENTER(7)
ENTER(8)
ENTER(9)
ENTER(16)
#undef ENTER

/* Four columns of many numbers would be in memory more often than copied ones. */
#define LEAVE(radix) \
  static void NAME(leave_##radix)(const nxi_fft_end *p) { NAME(leave)(p, radix); }
LEAVE(3)
LEAVE(4)
LEAVE(5)
#if BITS == 64
LEAVE(7)
LEAVE(8)
LEAVE(9)
LEAVE(16)
#endif
#undef LEAVE

/* ---- spectra of real numbers (fft/halves.h): p->count is half of them */

static void NAME(leave_split)(const nxi_fft_end *end) {
  const nxi_fft_end p = *end;
  const int64_t half = p.count, middle = half / 2 + 1, pitch = p.rows.pitch;
  int64_t due = due_of(p.ahead);
  for (int64_t lane = 0; lane < p.lanes; lane += WIDTH) {
    REAL *rows = (REAL *)p.rows.re + lane * pitch;
    const NAME(side) s = NAME(lanes_from)(&p.planar, lane);
    for (int64_t at = 0; at < middle; at += NAME(block)) {
      const int64_t k = at + NAME(block) <= middle ? at : middle - NAME(block);
      const REAL *unit = (const REAL *)p.twiddles + 2 * k;
      const int32_t *near = p.places + k, *far = p.places + half - k;
      C a[NAME(block)], b[NAME(block)];
      UNROLL for (int q = 0; q < NAME(block); q++, unit += 2) {
        const bool first = q == 0 && k == 0;
        C x, y;
        NAME(read)(&s, near[q] * s.pitch, 0, &x, 1, 1);
        NAME(read)(&s, (first ? near[0] : far[-q]) * s.pitch, 0, &y, 1, 1);
        if (first) y = (C){x.re - x.im, (V){0}}, x = (C){x.re + x.im, (V){0}};
        else NAME(split_step)(&x, &y, (C){NAME(splat)(unit[0]), NAME(splat)(unit[1])});
        a[q] = x, b[NAME(block) - 1 - q] = y;
      }
      /* both may have the number half / 2, whose last value is the second one */
      NAME(store_block)(rows + 2 * k, pitch, a);
      NAME(store_block)(rows + 2 * (half - k - NAME(block) + 1), pitch, b);
      if (--due == 0) due = move_some(p.ahead);
    }
  }
  stay_due(p.ahead, due);
}

static void NAME(enter_join)(const nxi_fft_end *end) {
  const nxi_fft_end p = *end;
  const int64_t half = p.count, middle = half / 2 + 1, pitch = p.rows.pitch;
  int64_t due = due_of(p.ahead);
  for (int64_t lane = 0; lane < p.lanes; lane += WIDTH) {
    const REAL *rows = (const REAL *)p.rows.re + lane * pitch;
    const NAME(side) t = NAME(lanes_from)(&p.planar, lane);
    for (int64_t at = 0; at < middle; at += NAME(unit)) {
      const int64_t k = at + NAME(unit) <= middle ? at : middle - NAME(unit);
      const REAL *unit = (const REAL *)p.twiddles + 2 * k;
      C a[NAME(unit)], b[NAME(unit)];
      NAME(load_unit)(rows + 2 * k, pitch, a, 1);
      NAME(load_unit)(rows + 2 * (half - k - NAME(unit) + 1), pitch, b, 1);
      UNROLL for (int q = 0; q < NAME(unit); q++, unit += 2) {
        const bool first = q == 0 && k == 0;
        C x = a[q], y = b[NAME(unit) - 1 - q];
        if (first) x = y = (C){x.re + y.re, x.re - y.re};
        else NAME(join_step)(&x, &y, (C){NAME(splat)(unit[0]), NAME(splat)(unit[1])});
        NAME(write)(&t, (k + q) * t.pitch, 0, &x, 1);
        NAME(write)(&t, (first ? 0 : half - k - q) * t.pitch, 0, &y, 1);
      }
      if (--due == 0) due = move_some(p.ahead);
    }
  }
  stay_due(p.ahead, due);
}
#endif
