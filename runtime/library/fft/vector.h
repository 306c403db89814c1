/* SPDX-License-Identifier: ISC */
/* Vectors of WIDTH numbers of type REAL for the Fourier kernels; included once for each width.
 * Every operation here is one IEEE operation in each lane, or moves lanes. The including file
 * defines REAL, BITS (of REAL), WIDTH, and NAME(x), which makes names unique. */
#define V NAME(vector)

typedef REAL V __attribute__((vector_size(WIDTH * BITS / 8)));
typedef REAL NAME(loose)
    __attribute__((vector_size(WIDTH * BITS / 8), aligned(BITS / 8), may_alias));

static INLINE V NAME(load)(const REAL *p) { return *(const NAME(loose) *)p; }
static INLINE void NAME(store)(REAL *p, V a) { *(NAME(loose) *)p = a; }
static INLINE V NAME(splat)(REAL x) { return x - (V){0}; }

/* a * b + c, a * b - c, c - a * b, rounded once. */
#if FFT_FMA && BITS == 32 && WIDTH == 16
static INLINE V NAME(fma)(V a, V b, V c) {
  return (V)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
static INLINE V NAME(fms)(V a, V b, V c) {
  return (V)_mm512_fmsub_ps((__m512)a, (__m512)b, (__m512)c);
}
static INLINE V NAME(fnma)(V a, V b, V c) {
  return (V)_mm512_fnmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
#elif FFT_FMA && BITS == 32 && WIDTH == 8
static INLINE V NAME(fma)(V a, V b, V c) {
  return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
static INLINE V NAME(fms)(V a, V b, V c) {
  return (V)_mm256_fmsub_ps((__m256)a, (__m256)b, (__m256)c);
}
static INLINE V NAME(fnma)(V a, V b, V c) {
  return (V)_mm256_fnmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
#elif FFT_FMA && BITS == 32 && WIDTH == 4
static INLINE V NAME(fma)(V a, V b, V c) {
  return (V)_mm_fmadd_ps((__m128)a, (__m128)b, (__m128)c);
}
static INLINE V NAME(fms)(V a, V b, V c) {
  return (V)_mm_fmsub_ps((__m128)a, (__m128)b, (__m128)c);
}
static INLINE V NAME(fnma)(V a, V b, V c) {
  return (V)_mm_fnmadd_ps((__m128)a, (__m128)b, (__m128)c);
}
#elif FFT_FMA && BITS == 64 && WIDTH == 8
static INLINE V NAME(fma)(V a, V b, V c) {
  return (V)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
static INLINE V NAME(fms)(V a, V b, V c) {
  return (V)_mm512_fmsub_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
static INLINE V NAME(fnma)(V a, V b, V c) {
  return (V)_mm512_fnmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
#elif FFT_FMA && BITS == 64 && WIDTH == 4
static INLINE V NAME(fma)(V a, V b, V c) {
  return (V)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
static INLINE V NAME(fms)(V a, V b, V c) {
  return (V)_mm256_fmsub_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
static INLINE V NAME(fnma)(V a, V b, V c) {
  return (V)_mm256_fnmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
#elif FFT_FMA && BITS == 64 && WIDTH == 2
static INLINE V NAME(fma)(V a, V b, V c) {
  return (V)_mm_fmadd_pd((__m128d)a, (__m128d)b, (__m128d)c);
}
static INLINE V NAME(fms)(V a, V b, V c) {
  return (V)_mm_fmsub_pd((__m128d)a, (__m128d)b, (__m128d)c);
}
static INLINE V NAME(fnma)(V a, V b, V c) {
  return (V)_mm_fnmadd_pd((__m128d)a, (__m128d)b, (__m128d)c);
}
#elif defined(__aarch64__) && BITS == 32
static INLINE V NAME(fma)(V a, V b, V c) {
  return (V)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
static INLINE V NAME(fms)(V a, V b, V c) { return NAME(fma)(a, b, -c); }
static INLINE V NAME(fnma)(V a, V b, V c) {
  return (V)vfmsq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
#elif defined(__aarch64__)
static INLINE V NAME(fma)(V a, V b, V c) {
  return (V)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
static INLINE V NAME(fms)(V a, V b, V c) { return NAME(fma)(a, b, -c); }
static INLINE V NAME(fnma)(V a, V b, V c) {
  return (V)vfmsq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
#else
static INLINE V NAME(fma)(V a, V b, V c) {
  for (int i = 0; i < WIDTH; i++)
    c[i] = BITS == 32 ? (REAL)fmaf((float)a[i], (float)b[i], (float)c[i])
                      : (REAL)fma(a[i], b[i], c[i]);
  return c;
}
static INLINE V NAME(fms)(V a, V b, V c) { return NAME(fma)(a, b, -c); }
static INLINE V NAME(fnma)(V a, V b, V c) { return NAME(fma)(-a, b, c); }
#endif

/* ---- lanes. low and high: blocks of d lanes of a and b in turn, from the even blocks of both and
 * from the odd ones; zip: lanes of a and b in turn, first and second half; even and odd: of a then
 * b; reverse.
 *
 * Local order is that in which even and odd lanes come apart, and are zipped, within blocks of 16
 * bytes: of WIDTH numbers, LOCAL_OF(i) is in lane i. What crosses from one block to another takes
 * longer, and where AVX2 does it, twice as many instructions. far: numbers whose pairs are in
 * reversed order in memory. */
#define X2(f)  f(0), f(1)
#define X4(f)  X2(f), f(2), f(3)
#define X8(f)  X4(f), f(4), f(5), f(6), f(7)
#define X16(f) X8(f), f(8), f(9), f(10), f(11), f(12), f(13), f(14), f(15)
#if WIDTH == 2
#define XW(f) X2(f)
#elif WIDTH == 4
#define XW(f) X4(f)
#elif WIDTH == 8
#define XW(f) X8(f)
#else
#define XW(f) X16(f)
#endif
#define LOW_OF(d, i)  ((i) & (d) ? WIDTH + (i) - (d) : (i))
#define HIGH_OF(d, i) ((i) & (d) ? WIDTH + (i) : (i) + (d))
#define LOW1(i)       LOW_OF(1, i)
#define LOW2(i)       LOW_OF(2, i)
#define LOW4(i)       LOW_OF(4, i)
#define LOW8(i)       LOW_OF(8, i)
#define HIGH1(i)      HIGH_OF(1, i)
#define HIGH2(i)      HIGH_OF(2, i)
#define HIGH4(i)      HIGH_OF(4, i)
#define HIGH8(i)      HIGH_OF(8, i)
#define EVEN(i)       (2 * (i))
#define ODD(i)        (2 * (i) + 1)
#define ZIP0(i)       ((i) / 2 + (i) % 2 * WIDTH)
#define ZIP1(i)       ((i) / 2 + (i) % 2 * WIDTH + WIDTH / 2)
#define BLOCK         (128 / BITS)
#define LOCAL_OF(i) \
  ((i) % BLOCK / (BLOCK / 2) * (WIDTH / 2) + (i) / BLOCK * (BLOCK / 2) + (i) % (BLOCK / 2))
#define LOCAL_ZIP0(i) ((i) / BLOCK * BLOCK + (i) % BLOCK / 2 + (i) % 2 * WIDTH)
#define LOCAL_ZIP1(i) (LOCAL_ZIP0(i) + BLOCK / 2)
#define LOCAL_EVEN(i) \
  ((i) / BLOCK * BLOCK + (i) % (BLOCK / 2) * 2 + (i) % BLOCK / (BLOCK / 2) * WIDTH)
#define LOCAL_ODD(i) (LOCAL_EVEN(i) + 1)
#define LANE_OF(k) \
  ((k) % (WIDTH / 2) / (BLOCK / 2) * BLOCK + (k) / (WIDTH / 2) * (BLOCK / 2) + (k) % (BLOCK / 2))
#define FAR_EVEN(i)    (2 * (WIDTH - 1 - (LOCAL_OF(i))))
#define FAR_ODD(i)     (FAR_EVEN(i) + 1)
#define FAR_ZIP0(i)    ((LANE_OF(WIDTH - 1 - (i) / 2)) + (i) % 2 * WIDTH)
#define FAR_ZIP1(i)    ((LANE_OF(WIDTH / 2 - 1 - (i) / 2)) + (i) % 2 * WIDTH)
#define LANES(a, b, f) __builtin_shufflevector(a, b, XW(f))

static INLINE V NAME(even)(V a, V b) { return LANES(a, b, EVEN); }
static INLINE V NAME(odd)(V a, V b) { return LANES(a, b, ODD); }
static INLINE V NAME(zip0)(V a, V b) { return LANES(a, b, ZIP0); }
static INLINE V NAME(zip1)(V a, V b) { return LANES(a, b, ZIP1); }
static INLINE V NAME(local_zip0)(V a, V b) { return LANES(a, b, LOCAL_ZIP0); }
static INLINE V NAME(local_zip1)(V a, V b) { return LANES(a, b, LOCAL_ZIP1); }
static INLINE V NAME(local_even)(V a, V b) { return LANES(a, b, LOCAL_EVEN); }
static INLINE V NAME(local_odd)(V a, V b) { return LANES(a, b, LOCAL_ODD); }
#if WIDTH * BITS != 256
static INLINE V NAME(far_even)(V a, V b) { return LANES(a, b, FAR_EVEN); }
static INLINE V NAME(far_odd)(V a, V b) { return LANES(a, b, FAR_ODD); }
static INLINE V NAME(far_zip0)(V a, V b) { return LANES(a, b, FAR_ZIP0); }
static INLINE V NAME(far_zip1)(V a, V b) { return LANES(a, b, FAR_ZIP1); }
#endif
/* One step of a transposition: exchanges blocks of d lanes between v[i] and v[i + step]. */
#define EXCHANGE(d)                                                              \
  static INLINE void NAME(exchange##d)(V * v, const int count, const int step) { \
    UNROLL for (int i = 0; i < count; i++) {                                     \
      if (i & step) continue;                                                    \
      V a = v[i], b = v[i + step];                                               \
      v[i] = LANES(a, b, LOW##d);                                                \
      v[i + step] = LANES(a, b, HIGH##d);                                        \
    }                                                                            \
  }
EXCHANGE(1)
#if WIDTH >= 4
EXCHANGE(2)
#endif
#if WIDTH >= 8
EXCHANGE(4)
#endif
#if WIDTH >= 16
EXCHANGE(8)
#endif
#undef EXCHANGE

/* Lane j of v[i] becomes lane i of v[j]. */
static INLINE void NAME(transpose)(V v[WIDTH]) {
  NAME(exchange1)(v, WIDTH, 1);
#if WIDTH >= 4
  NAME(exchange2)(v, WIDTH, 2);
#endif
#if WIDTH >= 8
  NAME(exchange4)(v, WIDTH, 4);
#endif
#if WIDTH >= 16
  NAME(exchange8)(v, WIDTH, 8);
#endif
}

/* The same for pairs of lanes and WIDTH / 2 vectors. */
static INLINE void NAME(transpose_pairs)(V v[WIDTH / 2]) {
#if WIDTH >= 4
  NAME(exchange2)(v, WIDTH / 2, 1);
#endif
#if WIDTH >= 8
  NAME(exchange4)(v, WIDTH / 2, 2);
#endif
#if WIDTH >= 16
  NAME(exchange8)(v, WIDTH / 2, 4);
#endif
  (void)v;
}
#undef XW

/* ---- vectors of AVX2 are two halves, and what crosses from one to the other takes long, but a
 * half that comes from memory may come from anywhere */
#undef FFT_HALVES
#undef FFT_APART
#if FFT_FMA && WIDTH * BITS == 256
#define FFT_HALVES 1
#define FFT_APART  (FFT_BYTES == 32) /* single transforms work in local order: kernels.h, apart */
enum { NAME(half) = WIDTH / 2 };

static INLINE V NAME(load_halves)(const REAL *low, const REAL *high) {
#if BITS == 32
  return (V)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
#else
  return (V)_mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(low)), _mm_loadu_pd(high), 1);
#endif
}

/* Transposes the low halves of as many vectors as a half has numbers, and the high ones. */
static INLINE void NAME(transpose_halves)(V v[WIDTH / 2]) {
#if BITS == 32
  __m256 a = (__m256)v[0], b = (__m256)v[1], c = (__m256)v[2], d = (__m256)v[3];
  __m256d ab = (__m256d)_mm256_unpacklo_ps(a, b), cd = (__m256d)_mm256_unpacklo_ps(c, d);
  v[0] = (V)_mm256_unpacklo_pd(ab, cd), v[1] = (V)_mm256_unpackhi_pd(ab, cd);
  ab = (__m256d)_mm256_unpackhi_ps(a, b), cd = (__m256d)_mm256_unpackhi_ps(c, d);
  v[2] = (V)_mm256_unpacklo_pd(ab, cd), v[3] = (V)_mm256_unpackhi_pd(ab, cd);
#else
  __m256d a = (__m256d)v[0], b = (__m256d)v[1];
  v[0] = (V)_mm256_unpacklo_pd(a, b), v[1] = (V)_mm256_unpackhi_pd(a, b);
#endif
}
#else
#define FFT_HALVES 0
#define FFT_APART  0
#endif

#if FFT_FMA && WIDTH * BITS == 512
/* Transposes WIDTH rows of half as many numbers, in local order: lane i of v[j] is number j of row
 * LOCAL_OF(i). */
static INLINE void NAME(square_of_halves)(const REAL *p, int64_t pitch, V v[WIDTH / 2]) {
  enum { H = WIDTH / 2 };
  UNROLL for (int i = 0; i < H; i++) {
    const REAL *low = p + (LOCAL_OF(i))*pitch, *high = p + (LOCAL_OF(i + H)) * pitch;
#if BITS == 32
    v[i] = (V)_mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(low)),
                                 _mm256_loadu_ps(high), 1);
#else
    v[i] = (V)_mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(low)),
                                 _mm256_loadu_pd(high), 1);
#endif
  }
  NAME(exchange1)(v, H, 1);
  NAME(exchange2)(v, H, 2);
#if WIDTH == 16
  NAME(exchange4)(v, H, 4);
#endif
}
#endif
