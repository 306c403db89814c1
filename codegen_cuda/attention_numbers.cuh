/* SPDX-License-Identifier: ISC */
/* Scores of attention.cuh, two at a time, as they are rounded: to the operands' 16 bits (nx_pair),
 * or to f32 (nx_wide), of which weights alone are rounded to 16 bits; of which the product is
 * rounded to 16 bits before (nx_rounded), and its product with a factor (nx_scaled), or all up to
 * the softmax is (nx_late). Comes after mma.cuh.
 *
 * All have the same members:
 *   word         two scores; round: two numbers as 16 bits each
 *   word_of      two sums of products, rounded; one, none: the bits of 1 and of minus infinity
 *   times, plus, below   a product, a sum, and how much scores are below the row's largest, `peak`,
 *                of which minus itself is given; of the latter two maybe with a product before
 *   most, peak_of        the larger ones, and minus the largest one of a row's four threads
 *   finite       a peak that is another one where there is none: exponentials are 0 then
 *   put          half i of a word, of another one; seen: by bits 0 and 1
 *   exponentials of four words, of rows g and g + 8 in turn, as floats that are rounded, times
 *                1 / unit or not; true: they are to be divided slowly
 *   divide       the weights of these, by what divide_by said; whole: of f32, as the sum of as many
 *                parts of 16 bits as there are
 *   vanishes     whether a score's exponential is 0 */

#ifdef NX_ON_HOST
#define NX_PTX3(text, r, a, b, c) nx_host_ptx(text, &(r), a, b, c)
#else
#define NX_PTX3(text, r, a, b, c) asm(text " %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c))
#endif

/* What exp of f32 is made of (ir/expand/exp_log.c), bit for bit: the result is y 2^n, and n is what
 * `shifted` is above 1.5 2^23. */
struct nx_exp_parts {
  float y, shifted;
  __device__ __forceinline__ nx_exp_parts(float x) {
    shifted = x * 0x1.715476p+0f + 0x1.8p+23f;
    const float n = shifted - 0x1.8p+23f, high = nx_fma(n, -0x1.62e43p-1f, x),
                r = nx_fma(n, 0x1.05c61p-29f, high);
    float p = 0x1.6d53bep-10f;
    p = nx_fma(p, r, 0x1.122904p-7f);
    p = nx_fma(p, r, 0x1.5554e2p-5f);
    p = nx_fma(p, r, 0x1.5554aep-3f);
    p = nx_fma(p, r, 0x1p-1f);
    y = nx_fma(nx_fma(p, r, 1.0f), r, 1.0f);
  }
  /* Where nothing is a NaN or subnormal. */
  __device__ __forceinline__ float quick() const {
    return nx_bitcast<float>(nx_bitcast<nx_u32>(y) + (nx_bitcast<nx_u32>(shifted) << 23));
  }
  __device__ __forceinline__ float slow() const { return nx_ldexp(y, shifted - 0x1.8p+23f); }
};

/* ---- of each type: numbers of 16 bits, in f32 or in pairs of their own, which rounds as f32
 * would: of sums because f32 has twice the digits and two more, of products because these are exact
 * in f32 */

template <class T> struct nx_half;
template <> struct nx_half<nx_bf16> {
  static const nx_u32 one = 0x3f803f80u, none = 0xff80ff80u; /* none: minus infinity */
  static __device__ __forceinline__ nx_u32 round(float a, float b) {
    return nx_floats_to_bf16s(a, b);
  }
  static __device__ __forceinline__ float low(nx_u32 x) { return nx_bitcast<float>(x << 16); }
  static __device__ __forceinline__ float high(nx_u32 x) {
    return nx_bitcast<float>(x & 0xffff0000u);
  }
  static __device__ __forceinline__ nx_u32 fma(nx_u32 a, nx_u32 b, nx_u32 c) {
    nx_u32 r;
    NX_PTX3("fma.rn.bf16x2", r, a, b, c);
    return r;
  }
  static __device__ __forceinline__ nx_u32 most(nx_u32 a, nx_u32 b) {
    nx_u32 r;
    NX_PTX2("max.NaN.bf16x2", r, "r", a, b, "r");
    return r;
  }
  /* 2^8 e^x, x <= 0, close enough that it, and 2^-8 of it, round to the bf16 of exp's result: for
   * each of the numbers that x can be, even if the machine's 2^x is wrong by 2^-20, four times what
   * PTX says. 8 keeps what bf16 holds of it from being subnormal in between; a little more than 8
   * moves results away from doubt. */
  static constexpr float unit = 0x1p-8f;
  static __device__ __forceinline__ float many(float x) {
    float r;
    const float power = nx_fma(x, 0x1.715476p+0f, 0x1.000004p+3f);
    NX_PTX1("ex2.approx.ftz.f32", r, "f", power, "f");
    return r;
  }
  /* Whether a quotient of f32 that is next to the one that is rounded has the same 16 bits: what is
   * as close to a number in the middle between two of these, and to one between two of f32, are
   * 2848 pairs of dividend and divisor, of which none decides otherwise. */
  static const bool next_is_enough = true;
  /* Quotients by the sum of a row: products with its inverse (passes/kernel/quotients.c). */
  float inverse;
  __device__ __forceinline__ void divide_by(float sum) { inverse = 1.0f / sum; }
  __device__ __forceinline__ float quotient(float x) const { return x * inverse; }
};
template <> struct nx_half<nx_f16> {
  static const nx_u32 one = 0x3c003c00u, none = 0xfc00fc00u;
  static __device__ __forceinline__ nx_u32 round(float a, float b) {
    return nx_floats_to_halves(a, b);
  }
  static __device__ __forceinline__ float low(nx_u32 x) { return nx_half_to_float((nx_u16)x); }
  static __device__ __forceinline__ float high(nx_u32 x) {
    return nx_half_to_float((nx_u16)(x >> 16));
  }
  static __device__ __forceinline__ nx_u32 fma(nx_u32 a, nx_u32 b, nx_u32 c) {
    nx_u32 r;
    NX_PTX3("fma.rn.f16x2", r, a, b, c);
    return r;
  }
  static __device__ __forceinline__ nx_u32 most(nx_u32 a, nx_u32 b) {
    nx_u32 r;
    NX_PTX2("max.NaN.f16x2", r, "r", a, b, "r");
    return r;
  }
  /* exp of f32 down to -20, from where on it is 0 in f16. */
  static constexpr float unit = 1.0f;
  static __device__ __forceinline__ float many(float number) {
    const nx_exp_parts e(nx_max(number, -20.0f));
    const nx_u32 power = nx_bitcast<nx_u32>(e.shifted) << 23;
    return nx_bitcast<float>(nx_bitcast<nx_u32>(e.y) + (e.y == e.y ? power : 0));
  }
  static const bool next_is_enough = false; /* of 25618 pairs 4 decide otherwise */
  float inverse, rest; /* the inverse is their sum */
  __device__ __forceinline__ void divide_by(float sum) {
    const float near = 1.0f / sum;
    inverse =
        nx_fma(-near, sum, 1.0f) < 0.0f ? nx_bitcast<float>(nx_bitcast<nx_u32>(near) - 1) : near;
    const float left = nx_fma(-inverse, sum, 1.0f) * inverse;
    rest = left < 0x1p-100f ? 0x1p-100f : left; /* NaN as it is */
  }
  __device__ __forceinline__ float quotient(float x) const { return nx_fma(x, inverse, x * rest); }
};

/* ---- scores of 16 bits */

template <class T> struct nx_pair : nx_half<T> {
  typedef nx_half<T> half;
  typedef T type;
  typedef nx_u32 word, peak;
  enum { wide = 0, whole = 0, parts = 1 };
  static __device__ __forceinline__ word constant(nx_u32 bits) { return bits; }
  static __device__ __forceinline__ word word_of(float a, float b) { return half::round(a, b); }
  static __device__ __forceinline__ word times(word s, nx_u32 factor) {
    return half::fma(s, factor, 0x80008000u);
  }
  template <bool multiplies>
  static __device__ __forceinline__ word plus(word s, nx_u32 factor, word x) {
    return half::fma(s, multiplies ? factor : half::one, x);
  }
  /* What scores have that are all the same, as a peak. */
  static __device__ __forceinline__ peak peak_of(word best) {
    best = half::most(best, best >> 16 | best << 16);
    best = half::most(best, nx_shuffle(best, 1));
    return half::most(best, nx_shuffle(best, 2)) ^ 0x80008000u;
  }
  static __device__ __forceinline__ peak finite(peak above) { return above; }
  static __device__ __forceinline__ void put(word &to, int i, word x) {
    to = i == 0 ? x & 0xffffu : to | (x & 0xffff0000u);
  }
  static __device__ __forceinline__ word seen(nx_u32 bits, word s, word fill) {
    const nx_u32 mask = (bits & 1 ? 0xffffu : 0) | (bits & 2 ? 0xffff0000u : 0);
    return (s & mask) | (fill & ~mask);
  }
  static __device__ __forceinline__ nx_u32 exponentials(word s, nx_u32 factor, peak above,
                                                        float unit) {
    const nx_u32 below = half::fma(s, factor, above);
    float low = half::many(half::low(below)), high = half::many(half::high(below));
    if (unit != 1.0f) low *= unit, high *= unit;
    return half::round(low, high);
  }
  template <bool multiplies, bool units>
  static __device__ __forceinline__ bool exponentials(const word (&s)[4], nx_u32 factor,
                                                      const peak (&above)[2], float (&e)[8]) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const nx_u32 two = exponentials(s[i], multiplies ? factor : half::one, above[i % 2],
                                      units ? half::unit : 1.0f);
      e[2 * i] = half::low(two), e[2 * i + 1] = half::high(two);
    }
    return false;
  }
  static __device__ __forceinline__ void divide(const nx_pair (&by)[2], const float (&e)[8], bool,
                                                nx_u32 (&weights)[1][4]) {
#pragma unroll
    for (int i = 0; i < 4; i++)
      weights[0][i] = half::round(by[i % 2].quotient(e[2 * i]), by[i % 2].quotient(e[2 * i + 1]));
  }
  static __device__ __forceinline__ bool vanishes(nx_u32 score, peak above) {
    return (exponentials(score, half::one, above, half::unit) & 0x7fffu) == 0;
  }
  /* sum: of exponentials times 1 / unit, in f32 */
  __device__ __forceinline__ void sum_is(float sum) {
    half::divide_by(half::low(half::round(sum * half::unit, 0)));
  }
};

/* ---- scores of f32 */

struct alignas(8) nx_score_pair {
  float low, high;
};
/* The softmax. weights: whether they stay f32. Three numbers of bf16 are one of f32, each with the
 * next 8 of its digits. */
template <class T, bool weights> struct nx_softmax {
  typedef nx_half<T> half;
  enum { whole = weights, parts = weights ? 3 : 1 };
  static __device__ __forceinline__ float finite(float above) {
    return above == nx_bitcast<float>(0x7f800000u) ? 0.0f : above;
  }
  /* Far below the largest one exponentials may be subnormal, or the quotients; a NaN is there, too.
   * Few words are, unless columns are hidden, so all is done slowly then. */
  static constexpr float far = -50.0f;
  static __device__ __forceinline__ bool exponentials(float (&e)[8]) {
    float least = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) least = nx_min(least, e[i]);
    const bool slow = !(least >= far);
    if (slow) {
#pragma unroll
      for (int i = 0; i < 8; i++) e[i] = nx_exp_parts(e[i] < -110.0f ? -110.0f : e[i]).slow();
    } else {
#pragma unroll
      for (int i = 0; i < 8; i++) e[i] = nx_exp_parts(e[i]).quick();
    }
    return slow;
  }
  /* The quotient is what is recorded, and its rounding another one. A product with the inverse in
   * two parts is next to the quotient at most; how much that is off is exact in f32, and corrects
   * it (Markstein). */
  float sum, inverse, rest;
  __device__ __forceinline__ void sum_is(float is) {
    sum = is == 0.0f ? 1.0f : is; /* 0: of no scores; weights are 0 */
    inverse = 1.0f / sum;
    rest = nx_fma(-inverse, sum, 1.0f) * inverse;
  }
  __device__ __forceinline__ float quotient(float x) const {
    const float near = nx_fma(x, inverse, x * rest);
    return half::next_is_enough && !weights ? near
                                            : nx_fma(nx_fma(-near, sum, x), inverse, near);
  }
  static __device__ __forceinline__ void store(float a, float b, nx_u32 (&to)[parts][4], int i) {
    if (!weights) {
      to[0][i] = half::round(a, b);
      return;
    }
#pragma unroll
    for (int part = 0; part < parts; part++) {
      const nx_u32 low = nx_bitcast<nx_u32>(a), high = nx_bitcast<nx_u32>(b) & 0xffff0000u;
      to[part][i] = low >> 16 | high;
      a -= nx_bitcast<float>(low & 0xffff0000u), b -= nx_bitcast<float>(high);
    }
  }
  template <class P>
  static __device__ __forceinline__ void divide(const P (&by)[2], const float (&e)[8], bool slow,
                                                nx_u32 (&to)[parts][4]) {
    if (slow) {
#pragma unroll
      for (int i = 0; i < 4; i++)
        store(e[2 * i] / by[i % 2].sum, e[2 * i + 1] / by[i % 2].sum, to, i);
    } else {
#pragma unroll
      for (int i = 0; i < 4; i++)
        store(by[i % 2].quotient(e[2 * i]), by[i % 2].quotient(e[2 * i + 1]), to, i);
    }
  }
};

template <class T, bool weights> struct nx_wide : nx_softmax<T, weights> {
  typedef nx_half<T> half;
  typedef nx_softmax<T, weights> softmax;
  typedef T type;
  typedef nx_score_pair word;
  typedef float peak;
  enum { wide = 1 };
  static const nx_u32 one = 0x3f800000u, none = 0xff800000u;
  static __device__ __forceinline__ word constant(nx_u32 bits) {
    return {nx_bitcast<float>(bits), nx_bitcast<float>(bits)};
  }
  static __device__ __forceinline__ nx_u32 round(float a, float b) { return half::round(a, b); }
  static __device__ __forceinline__ word word_of(float a, float b) { return {a, b}; }
  static __device__ __forceinline__ word times(word s, nx_u32 factor) {
    return {s.low * nx_bitcast<float>(factor), s.high * nx_bitcast<float>(factor)};
  }
  template <bool multiplies>
  static __device__ __forceinline__ word plus(word s, nx_u32 factor, word x) {
    const float by = nx_bitcast<float>(factor);
    return multiplies ? word{nx_fma(s.low, by, x.low), nx_fma(s.high, by, x.high)}
                      : word{s.low + x.low, s.high + x.high};
  }
  static __device__ __forceinline__ word most(word a, word b) {
    return {nx_max(a.low, b.low), nx_max(a.high, b.high)};
  }
  static __device__ __forceinline__ peak peak_of(word best) {
    float one = nx_max(best.low, best.high);
    one = nx_max(one, nx_shuffle(one, 1));
    return -nx_max(one, nx_shuffle(one, 2));
  }
  static __device__ __forceinline__ void put(word &to, int i, word x) {
    if (i == 0) to.low = x.low;
    else to.high = x.high;
  }
  static __device__ __forceinline__ word seen(nx_u32 bits, word s, word fill) {
    return {bits & 1 ? s.low : fill.low, bits & 2 ? s.high : fill.high};
  }
  template <bool multiplies, bool units>
  static __device__ __forceinline__ bool exponentials(const word (&s)[4], nx_u32 factor,
                                                      const peak (&above)[2], float (&e)[8]) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const word d = plus<multiplies>(s[i], factor, {above[i % 2], above[i % 2]});
      e[2 * i] = d.low, e[2 * i + 1] = d.high;
    }
    return softmax::exponentials(e);
  }
  static __device__ __forceinline__ bool vanishes(nx_u32 score, peak above) {
    return nx_bitcast<float>(score) + above < -110.0f;
  }
};

template <class T, bool weights> struct nx_rounded : nx_wide<T, weights> {
  typedef nx_half<T> half;
  static __device__ __forceinline__ nx_score_pair word_of(float a, float b) {
    const nx_u32 both = half::round(a, b);
    return {half::low(both), half::high(both)};
  }
};

/* A factor has 16 bits, too, so that its product with a score is exact in f32. */
template <class T, bool weights> struct nx_scaled : nx_rounded<T, weights> {
  static __device__ __forceinline__ nx_score_pair times(nx_score_pair s, nx_u32 factor) {
    const float by = nx_bitcast<float>(factor);
    return nx_rounded<T, weights>::word_of(s.low * by, s.high * by);
  }
};

template <class T, bool weights> struct nx_late : nx_softmax<T, weights> {
  typedef nx_half<T> half;
  typedef nx_pair<T> pair;
  typedef nx_softmax<T, weights> softmax;
  typedef T type;
  typedef nx_u32 word;
  typedef float peak;
  enum { wide = 0 };
  static const nx_u32 one = half::one, none = half::none;
  static __device__ __forceinline__ word constant(nx_u32 bits) { return bits; }
  static __device__ __forceinline__ word round(float a, float b) { return half::round(a, b); }
  static __device__ __forceinline__ word word_of(float a, float b) { return half::round(a, b); }
  static __device__ __forceinline__ word times(word s, nx_u32 factor) {
    return pair::times(s, factor);
  }
  template <bool multiplies>
  static __device__ __forceinline__ word plus(word s, nx_u32 factor, word x) {
    return pair::template plus<multiplies>(s, factor, x);
  }
  static __device__ __forceinline__ word most(word a, word b) { return half::most(a, b); }
  static __device__ __forceinline__ peak peak_of(word best) {
    return half::low(pair::peak_of(best));
  }
  static __device__ __forceinline__ void put(word &to, int i, word x) { pair::put(to, i, x); }
  static __device__ __forceinline__ word seen(nx_u32 bits, word s, word fill) {
    return pair::seen(bits, s, fill);
  }
  template <bool multiplies, bool units>
  static __device__ __forceinline__ bool exponentials(const word (&s)[4], nx_u32 factor,
                                                      const peak (&above)[2], float (&e)[8]) {
    const float by = multiplies ? half::low(factor) : 1.0f;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      e[2 * i] = nx_fma(half::low(s[i]), by, above[i % 2]);
      e[2 * i + 1] = nx_fma(half::high(s[i]), by, above[i % 2]);
    }
    return softmax::exponentials(e);
  }
  static __device__ __forceinline__ bool vanishes(nx_u32 score, peak above) {
    return half::low(score) + above < -110.0f;
  }
};
