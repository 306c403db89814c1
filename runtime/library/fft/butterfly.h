/* SPDX-License-Identifier: ISC */
/* Transforms of 2, 3, 4, 5, 7, 8, 9 and 16 numbers and of any odd number, lane by lane, forward;
 * included once for each width. Arrays of vectors are registers: indices are constants after
 * inlining. The bits of a transform depend on the order of operations here. */

typedef struct NAME(complex) {
  V re, im;
} NAME(complex);
#define C NAME(complex)

static INLINE C NAME(plus)(C a, C b) { return (C){a.re + b.re, a.im + b.im}; }
static INLINE C NAME(minus)(C a, C b) { return (C){a.re - b.re, a.im - b.im}; }
static INLINE C NAME(times)(C a, C b) {
  return (C){NAME(fms)(a.re, b.re, a.im * b.im), NAME(fma)(a.re, b.im, a.im * b.re)};
}
static INLINE C NAME(times_scalars)(C a, REAL re, REAL im) {
  return NAME(times)(a, (C){NAME(splat)(re), NAME(splat)(im)});
}
static INLINE C NAME(turned)(C a) { return (C){a.im, -a.re}; } /* times -i */

static INLINE void NAME(fft2)(C *x) {
  C a = x[0], b = x[1];
  x[0] = NAME(plus)(a, b);
  x[1] = NAME(minus)(a, b);
}

static INLINE void NAME(fft4)(C *a, C *b, C *c, C *d) {
  C p = NAME(plus)(*a, *c), q = NAME(minus)(*a, *c), r = NAME(plus)(*b, *d),
    s = NAME(minus)(*b, *d);
  *a = NAME(plus)(p, r);
  *b = (C){q.re + s.im, q.im - s.re};
  *c = NAME(minus)(p, r);
  *d = (C){q.re - s.im, q.im + s.re};
}

/* Results q and q + 4 of 8, from element q of the transform of the even numbers, a, and that of the
 * odd ones, b. */
static INLINE void NAME(fft8_join)(C a, C b, const int q, C y[2]) {
  const V h = NAME(splat)((REAL)0x1.6a09e667f3bcdp-1); /* sqrt(1/2) */
  V s, t;
  switch (q) {
    case 0: y[0] = NAME(plus)(a, b), y[1] = NAME(minus)(a, b); break;
    case 1:
      s = b.re + b.im, t = b.im - b.re; /* b * (1 - i) */
      y[0] = (C){NAME(fma)(h, s, a.re), NAME(fma)(h, t, a.im)};
      y[1] = (C){NAME(fnma)(h, s, a.re), NAME(fnma)(h, t, a.im)};
      break;
    case 2:
      y[0] = (C){a.re + b.im, a.im - b.re};
      y[1] = (C){a.re - b.im, a.im + b.re};
      break;
    default:
      s = b.im - b.re, t = b.re + b.im; /* b * (-1 - i) = (s, -t) */
      y[0] = (C){NAME(fma)(h, s, a.re), NAME(fnma)(h, t, a.im)};
      y[1] = (C){NAME(fnma)(h, s, a.re), NAME(fma)(h, t, a.im)};
  }
}

/* Two transforms of four, of the even and of the odd elements. */
static INLINE void NAME(fft8)(C *x) {
  C y[2], z[8];
  NAME(fft4)(&x[0], &x[2], &x[4], &x[6]);
  NAME(fft4)(&x[1], &x[3], &x[5], &x[7]);
  UNROLL for (int q = 0; q < 4; q++) {
    NAME(fft8_join)(x[2 * q], x[2 * q + 1], q, y);
    z[q] = y[0], z[q + 4] = y[1];
  }
  UNROLL for (int q = 0; q < 8; q++) x[q] = z[q];
}

/* Times exp(-2 pi i k / 16), k a constant. */
static INLINE C NAME(turn16)(C a, const int k) {
  const REAL c = (REAL)0x1.d906bcf328d46p-1, s = (REAL)0x1.87de2a6aea963p-2; /* cos, sin(pi / 8) */
  const V h = NAME(splat)((REAL)0x1.6a09e667f3bcdp-1);
  switch (k) {
    case 0: return a;
    case 1: return NAME(times_scalars)(a, c, -s);
    case 2: return (C){h * (a.re + a.im), h * (a.im - a.re)};
    case 3: return NAME(times_scalars)(a, s, -c);
    case 4: return NAME(turned)(a);
    case 6: return (C){h * (a.im - a.re), -(h * (a.re + a.im))};
    default: return NAME(times_scalars)(a, -c, s); /* 9 */
  }
}

/* The two halves of a transform of 16 = 4 * 4: elements q, q + 4, q + 8, q + 12, then 4 k .. 4 k +
 * 3. */
static INLINE void NAME(fft16_first)(C *x, const int q) {
  NAME(fft4)(&x[q], &x[q + 4], &x[q + 8], &x[q + 12]);
  UNROLL for (int k = 1; k < 4; k++) x[q + 4 * k] = NAME(turn16)(x[q + 4 * k], q * k);
}

/* Odd r: with sums and differences of x[i] and x[r - i]. `table`: h = (r - 1) / 2 rows of h pairs
 * (cos, sin)(2 pi (i + 1) (j + 1) / r). */
#define FFT_ODD(name, unroll)                                                                    \
  static INLINE void NAME(name)(C * x, const int r, const REAL *table) {                         \
    const int h = (r - 1) / 2;                                                                   \
    C sum[NXI_FFT_MAX_PRIME / 2], difference[NXI_FFT_MAX_PRIME / 2], first = x[0], total = x[0]; \
    unroll for (int i = 0; i < h; i++) {                                                         \
      sum[i] = NAME(plus)(x[i + 1], x[r - 1 - i]);                                               \
      difference[i] = NAME(minus)(x[i + 1], x[r - 1 - i]);                                       \
      total = NAME(plus)(total, sum[i]);                                                         \
    }                                                                                            \
    x[0] = total;                                                                                \
    unroll for (int k = 0; k < h; k++) {                                                         \
      const REAL *row = table + 2 * h * k;                                                       \
      V c = NAME(splat)(row[0]), s = NAME(splat)(row[1]);                                        \
      C a = {NAME(fma)(c, sum[0].re, first.re), NAME(fma)(c, sum[0].im, first.im)};              \
      C b = {s * difference[0].re, s * difference[0].im};                                        \
      unroll for (int j = 1; j < h; j++) {                                                       \
        c = NAME(splat)(row[2 * j]), s = NAME(splat)(row[2 * j + 1]);                            \
        a = (C){NAME(fma)(c, sum[j].re, a.re), NAME(fma)(c, sum[j].im, a.im)};                   \
        b = (C){NAME(fma)(s, difference[j].re, b.re), NAME(fma)(s, difference[j].im, b.im)};     \
      }                                                                                          \
      x[k + 1] = (C){a.re + b.im, a.im - b.re};                                                  \
      x[r - 1 - k] = (C){a.re - b.im, a.im + b.re};                                              \
    }                                                                                            \
  }
FFT_ODD(fft_odd, UNROLL)
FFT_ODD(fft_prime, )
#undef FFT_ODD

static const REAL NAME(third)[2] = {-0.5, (REAL)0x1.bb67ae8584caap-1};
static const REAL NAME(fifth)[8] = {(REAL)0x1.3c6ef372fe950p-2,  (REAL)0x1.e6f0e134454ffp-1,
                                    (REAL)-0x1.9e3779b97f4a8p-1, (REAL)0x1.2cf2304755a5ep-1,
                                    (REAL)-0x1.9e3779b97f4a8p-1, (REAL)0x1.2cf2304755a5ep-1,
                                    (REAL)0x1.3c6ef372fe950p-2,  (REAL)-0x1.e6f0e134454ffp-1};
static const REAL NAME(seventh)[18] = {
    (REAL)0x1.3f3a0e28bedd1p-1,  (REAL)0x1.904c37505de4bp-1,  (REAL)-0x1.c7b90e3024582p-3,
    (REAL)0x1.f329c0558e969p-1,  (REAL)-0x1.cd4bca9cb5c71p-1, (REAL)0x1.bc4c04d71abc1p-2,
    (REAL)-0x1.c7b90e3024582p-3, (REAL)0x1.f329c0558e969p-1,  (REAL)-0x1.cd4bca9cb5c71p-1,
    (REAL)-0x1.bc4c04d71abc1p-2, (REAL)0x1.3f3a0e28bedd1p-1,  (REAL)-0x1.904c37505de4bp-1,
    (REAL)-0x1.cd4bca9cb5c71p-1, (REAL)0x1.bc4c04d71abc1p-2,  (REAL)0x1.3f3a0e28bedd1p-1,
    (REAL)-0x1.904c37505de4bp-1, (REAL)-0x1.c7b90e3024582p-3, (REAL)0x1.f329c0558e969p-1};

/* 3 * 3. */
static INLINE void NAME(fft9)(C *x) {
  UNROLL for (int q = 0; q < 3; q++) {
    C y[3] = {x[q], x[q + 3], x[q + 6]};
    NAME(fft_odd)(y, 3, NAME(third));
    x[q] = y[0], x[q + 3] = y[1], x[q + 6] = y[2];
  }
  x[4] = NAME(times_scalars)(x[4], (REAL)0x1.8836fa2cf5039p-1, (REAL)-0x1.491b7523c161dp-1);
  x[5] = NAME(times_scalars)(x[5], (REAL)0x1.63a1a7e0b738ap-3, (REAL)-0x1.f838b8c811c17p-1);
  x[7] = NAME(times_scalars)(x[7], (REAL)0x1.63a1a7e0b738ap-3, (REAL)-0x1.f838b8c811c17p-1);
  x[8] = NAME(times_scalars)(x[8], (REAL)-0x1.e11f642522d1cp-1, (REAL)-0x1.5e3a8748a0bf5p-2);
  UNROLL for (int q = 0; q < 3; q++) NAME(fft_odd)(x + 3 * q, 3, NAME(third));
}

/* All of x, for any radix but 16; the results of 9 are in the order of fft_place. */
static INLINE void NAME(fft_radix)(C *x, const int r, const int prime, const void *table) {
  switch (r) {
    case 2: NAME(fft2)(x); break;
    case 3: NAME(fft_odd)(x, 3, NAME(third)); break;
    case 4: NAME(fft4)(&x[0], &x[1], &x[2], &x[3]); break;
    case 5: NAME(fft_odd)(x, 5, NAME(fifth)); break;
    case 7: NAME(fft_odd)(x, 7, NAME(seventh)); break;
    case 8: NAME(fft8)(x); break;
    case 9: NAME(fft9)(x); break;
    case 0: NAME(fft_prime)(x, prime, table); break;
    default: break;
  }
}
