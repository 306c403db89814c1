/* SPDX-License-Identifier: ISC */
/* QL and QR steps with implicit shifts (Wilkinson's), which are the same but for the direction: in
 * that of the end whose number is smaller. A step computes squares alone, of what is beside the
 * diagonal and of cosines and sines (Pal, Walker and Kahan; Parlett 1980, 8.15), since roots would
 * be twice as long a chain; the numbers beside the diagonal are positive therefore, and the signs
 * of cosines are those of numbers that are there. The rotations of a step are kept, and rows of
 * vectors are turned by all of them at once. Numbers are f64 for all types. */
#include "rotations.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST = NXI_FLOATS_REFLECTED, STEPS = 40, PATIENCE = 12, KEPT = 8, LANES = 16 };

/* A part that has no zeros beside the diagonal: number i of the diagonal is d[i * to], and e[i *
 * to] the square of what is beside that and the next one. The value of number 0 is looked for. */
typedef struct part {
  double *d, *e;
  int to, last;
  double least; /* of e, after a step */
} part;

/* One rotation for a part of two rows. */
static void solve_two(const part *p, double *c, double *s) {
  double *d = p->d;
  const int to = p->to;
  const double half = (d[to] - d[0]) / 2, e = sqrt(p->e[0]),
               tangent = e / (fabs(half) + sqrt(half * half + p->e[0])),
               large = 1 / (1 + tangent * tangent), small = tangent * tangent * large,
               change = e * tangent, first = half < 0 ? d[to] : d[0],
               second = half < 0 ? d[0] : d[to];
  *c = half < 0 ? small : large;
  *s = half < 0 ? large : small;
  d[0] = first - change;
  d[to] = second + change;
  p->e[0] = 0;
}

/* The value of the 2 x 2 matrix at the end that is nearer to d[0]. */
static double shift_of(const part *p) {
  const double root = sqrt(p->e[0]), half = (p->d[p->to] - p->d[0]) / (2 * root);
  if (fabs(half) > 0x1p500) return p->d[0] - root / (2 * half);
  return p->d[0] - root / (half + copysign(sqrt(1 + half * half), half));
}

/* Rotation k is of the numbers last - k and last - 1 - k. True: what is beside number 0 would be
 * negative without another sign of its vector. */
static bool step(part *p, double *c, double *s) {
  double *d = p->d, *e = p->e, sine = 0, cosine = 1, sign = 1, sign_before = 1,
         least = INFINITY; /* sine, cosine: squares */
  const int to = p->to;
  const double shift = shift_of(p);
  double g = d[p->last * to] - shift, square = g * g;
  sign = copysign(1, g);
  for (int i = p->last - 1, k = 0; i >= 0; i--, k++) {
    const double beside = e[i * to], r = square + beside, before = cosine, inverse = r / square,
                 old = g, here = d[i * to];
    if (k > 0) {
      e[(i + 1) * to] = sine * r;
      least = sine * r < least ? sine * r : least;
    }
    cosine = square / r;
    sine = beside / r;
    c[k] = copysign(cosine, sign);
    s[k] = sine;
    g = cosine * (here - shift) - sine * old;
    d[(i + 1) * to] = old + (here - g);
    if (cosine > 0x1p-900) {
      square = g * g * inverse;
      sign_before = sign;
      sign *= copysign(1, g);
    } else {
      square = before * beside;
      sign = -sign_before;
      sign_before = 1;
    }
  }
  e[0] = sine * square;
  d[0] = shift + g;
  p->least = e[0] < least ? e[0] : least;
  return sign < 0;
}

/* Whether e, a square, beside a and b is nothing: beside their product, or, if steps do not make it
 * smaller any more, beside the largest number of the matrix. */
static bool is_nothing(double e, double a, double b, double unit, double largest) {
  return e <= unit * unit * fabs(a) * fabs(b) + DBL_MIN || e <= largest * largest;
}

/* Takes squares, and writes the signs into the vectors. */
static void begin(int n, double *e, char *v, int64_t row, bool single) {
  double sign = 1;
  for (int i = 0; i < n; i++) {
    if (single) ((float *)(void *)(v + i * row))[i] = (float)sign;
    else ((double *)(void *)(v + i * row))[i] = sign;
    if (i + 1 == n) break;
    sign = e[i] < 0 ? -sign : sign;
    e[i] *= e[i];
  }
}

/* The ascending order. */
static void sort(int n, double *d, char *v, int64_t row, size_t size) {
  char kept[MOST * sizeof(double)];
  size *= (size_t)n;
  for (int i = 0; i < n; i++) {
    int least = i;
    for (int j = i + 1; j < n; j++) least = d[j] < d[least] ? j : least;
    if (least == i) continue;
    const double x = d[i];
    d[i] = d[least];
    d[least] = x;
    memcpy(kept, v + i * row, size);
    memcpy(v + i * row, v + least * row, size);
    memcpy(v + least * row, kept, size);
  }
}

/* The end of the part that begins at `first`. */
static int end_of(int first, int n, const double *d, const double *e, double unit, double largest) {
  while (first + 1 < n && !is_nothing(e[first], d[first], d[first + 1], unit, largest)) first++;
  return first;
}

/* Rotations that vectors have not seen yet: a strip of the rows stays in the first cache while all
 * of them turn it. */
typedef struct waiting {
  int n;
  nxi_floats_turn turns[KEPT];
  double c[KEPT][MOST], s[KEPT][MOST];
  double cosines[KEPT][MOST + LANES], sines[KEPT][MOST + LANES];
} waiting;

static void flush(const nxi_floats_kernels *loops, int n, waiting *w) {
  if (w->n > 0) loops->turn(w->turns, w->n, n);
  w->n = 0;
}

bool nxi_rotations(const nxi_floats_kernels *loops, int n, double *d, double *e, void *vectors,
                   int64_t ld) {
  const int64_t row = ld * loops->size;
  const bool single = loops->size == sizeof(float);
  const double unit = single ? 0x1p-28 : DBL_EPSILON / 2;
  double largest = 0;
  int first = 0, last = -1, steps = 0, backwards = 0;
  part p = {.least = 0};
  waiting w;
  w.n = 0;
  for (int i = 0; i < n; i++) {
    const double x = fabs(d[i]), y = i + 1 < n ? fabs(e[i]) : 0;
    largest = x > largest ? x : largest;
    largest = y > largest ? y : largest;
  }
  largest *= unit;
  begin(n, e, vectors, row, single);
  while (first < n) {
    /* numbers of the diagonal are less than four times the largest one */
    const bool none_is_nothing = last >= 0 && p.least > 16 * largest * largest + DBL_MIN;
    const int end =
        none_is_nothing ? last : end_of(first, n, d, e, unit, steps < PATIENCE ? 0 : largest);
    if (end + 1 < n) e[end] = 0;
    if (end == first) {
      first++;
      last = -1;
      continue;
    }
    if (end != last) {
      backwards = fabs(d[end]) < fabs(d[first]);
      last = end;
      steps = 0;
    }
    if (steps++ == STEPS) return false;
    p = backwards ? (part){d + end, e + end - 1, -1, end - first, 0}
                  : (part){d + first, e + first, 1, end - first, 0};
    double *c = w.c[w.n], *s = w.s[w.n];
    const bool negative = p.last > 1 && step(&p, c, s);
    if (p.last == 1) solve_two(&p, c, s);
    w.turns[w.n] = (nxi_floats_turn){.count = p.last,
                                     .row = (char *)vectors + (backwards ? first : end) * row,
                                     .step = backwards ? ld : -ld,
                                     .negative = negative,
                                     .c = c,
                                     .s = s,
                                     .cosines = w.cosines[w.n],
                                     .sines = w.sines[w.n]};
    if (++w.n == KEPT) flush(loops, n, &w);
  }
  flush(loops, n, &w);
  sort(n, d, vectors, row, (size_t)loops->size);
  return true;
}
