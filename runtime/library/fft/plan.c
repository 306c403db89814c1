/* SPDX-License-Identifier: ISC */
/* Plans of complex transforms of one length: which radices in which order, the factors between
 * passes and between steps, the chirps. Everything here follows from the length and the
 * precision. */
#include <math.h>
#include <string.h>

#include "line.h"
#include "ir/alloc.h"

/* The longest length that is computed in passes alone: its two working copies fit in a cache of 512
 * KB. */
static int64_t most_in_passes(int32_t real_bytes) { return real_bytes == 4 ? 16384 : 8192; }

/* ---- roots of unity: each is the product of two roots in long double, in the first eighth of the
 * circle, and is rounded once to the result's type */

typedef struct nxi_root {
  long double re, im;
} nxi_root;

typedef struct nxi_roots {
  int64_t n, step;
  /* exp(-2 pi i x / (8 n)): low for x < step, high for the multiples x of step up to n */
  nxi_root *low, *high;
} nxi_roots;

static nxi_root eighth_root(int64_t x, int64_t n) {
  const long double quarter_pi = 0.785398163397448309615660845819875721L;
  long double angle = quarter_pi * (long double)x / (long double)n;
  return (nxi_root){cosl(angle), -sinl(angle)};
}

static bool roots_create(nxi_roots *r, int64_t n) {
  *r = (nxi_roots){.n = n, .step = 1};
  while (r->step * r->step < n) r->step *= 2;
  int64_t highs = n / r->step + 1;
  r->low = nxi_malloc((size_t)(r->step + highs) * sizeof *r->low);
  if (!r->low) return false;
  r->high = r->low + r->step;
  for (int64_t i = 0; i < r->step; i++) r->low[i] = eighth_root(i, n);
  for (int64_t i = 0; i < highs; i++) r->high[i] = eighth_root(i * r->step, n);
  return true;
}

static void roots_destroy(nxi_roots *r) { nxi_free(r->low); }

/* exp(-2 pi i k / n), 0 <= k < n <= 2^59. */
static nxi_root root_at(const nxi_roots *r, int64_t k) {
  int64_t n = r->n, x = 8 * k, octant = x / n;
  x -= octant * n;
  if (octant & 1) x = n - x;
  nxi_root a = r->high[x / r->step], b = r->low[x % r->step];
  nxi_root w = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  switch (octant) {
    case 0: return w;
    case 1: return (nxi_root){-w.im, -w.re};
    case 2: return (nxi_root){w.im, -w.re};
    case 3: return (nxi_root){-w.re, w.im};
    case 4: return (nxi_root){-w.re, -w.im};
    case 5: return (nxi_root){w.im, w.re};
    case 6: return (nxi_root){-w.im, w.re};
    default: return (nxi_root){w.re, -w.im};
  }
}

/* ---- tables */

/* Allocates an aligned table of `count` reals, followed by 64 bytes so that a vector may be read at
 * its end. */
static void *new_table(nxi_fft_line *l, int64_t count) {
  if (l->n_tables == NXI_FFT_MAX_TABLES || count > INT64_MAX / 32) return NULL;
  char *block = nxi_calloc(1, (size_t)(count * l->real_bytes) + 128);
  if (!block) return NULL;
  l->tables[l->n_tables++] = block;
  return block + (64 - (uintptr_t)block % 64) % 64;
}

static void put(const nxi_fft_line *l, void *table, int64_t at, long double x) {
  if (l->real_bytes == 4) ((float *)table)[at] = (float)x;
  else ((double *)table)[at] = (double)x;
}

static void put_root(const nxi_fft_line *l, void *table, int64_t re, int64_t im, nxi_root w) {
  put(l, table, re, w.re);
  put(l, table, im, w.im);
}

/* Asks the poll at each 2^14th of what is done: some 2 ms of roots. */
static bool goes_on(nxi_fft_line *l, int64_t done) {
  bool asks = done % (1 << 14) == 0 && l->poll && l->poll->fn && !l->stopped;
  if (asks) l->stopped = l->poll->fn(l->poll->user) != 0;
  return !l->stopped;
}

nx_status nxi_fft_incomplete(const nxi_fft_line *l, nxi_diag *d) {
  if (!l->stopped) return nxi_oom(d);
  return nxi_fail(d, NX_INTERRUPTED, "", "%s", nx_status_sentence(NX_INTERRUPTED));
}

const void *nxi_fft_line_unit(nxi_fft_line *l, int64_t n, int64_t count) {
  nxi_roots roots;
  if (!roots_create(&roots, n)) return NULL;
  void *table = new_table(l, 2 * count);
  for (int64_t k = 0; table && k < count && goes_on(l, k); k++)
    put_root(l, table, 2 * k, 2 * k + 1, root_at(&roots, k % n));
  roots_destroy(&roots);
  return l->stopped ? NULL : table;
}

/* The table of an odd radix: see nxi_fft_pass. */
static const void *prime_table(nxi_fft_line *l, int32_t r) {
  nxi_roots roots;
  int64_t h = (r - 1) / 2;
  if (!roots_create(&roots, r)) return NULL;
  void *table = new_table(l, 2 * h * h);
  for (int64_t i = 0; table && i < h * h; i++) {
    nxi_root w = root_at(&roots, (i / h + 1) * (i % h + 1) % r);
    put_root(l, table, 2 * i, 2 * i + 1, (nxi_root){w.re, -w.im});
  }
  roots_destroy(&roots);
  return table;
}

/* ---- radices */

/* The odd prime factors of n, ascending; -1 if one is too large. */
static int32_t odd_factors(int64_t n, int32_t *factor) {
  int32_t count = 0;
  for (int32_t p = 3; p <= NXI_FFT_MAX_PRIME; p += 2)
    for (; n % p == 0; n /= p) factor[count++] = p;
  return n == 1 ? count : -1;
}

/* Factors 2^twos into as few radices as possible, with few of 16, the largest first, because the
 * first pass needs no multiplications by twiddle factors. */
static int32_t even_radices(int32_t twos, int32_t *radix) {
  int32_t count = 0;
  while (twos >= 4 && (twos % 3 == 1 || (twos % 3 == 2 && twos > 5)))
    radix[count++] = 16, twos -= 4;
  for (; twos >= 3; twos -= 3) radix[count++] = 8;
  if (twos > 0) radix[count++] = 1 << twos;
  return count;
}

/* Chooses the radices in the order of the passes. The last pass of a single transform is fastest
 * with radix 4, 8 or 16, after passes whose radices have at least that product. A length without
 * such a factor ends with its largest odd radix, so that the passes before have more groups than a
 * narrow vector has lanes. */
static bool choose_radices(nxi_fft_line *l) {
  int32_t twos = __builtin_ctzll((unsigned long long)l->n), odd[NXI_FFT_MAX_PASSES],
          even[NXI_FFT_MAX_PASSES];
  int32_t odds = odd_factors(l->n >> twos, odd), evens = 0, last = 0, count = 0;
  if (odds < 0) return false;
  if (twos == 4 ? l->n >= 64 : twos > 5 && l->n >= 256) last = 4;
  else if (twos >= 3 && l->n >= 64) last = 3;
  else if (twos >= 2 && l->n >= 8) last = 2;
  evens = even_radices(twos - last, even);
  for (int32_t i = 0; !last && i < evens; i++) l->stage[count++].radix = even[i];
  for (int32_t i = 0; i < odds; i++) {
    bool nine = odd[i] == 3 && i + 1 < odds && odd[i + 1] == 3;
    l->stage[count++].radix = nine ? 9 : odd[i];
    i += nine;
  }
  for (int32_t i = 0; last && i < evens; i++) l->stage[count++].radix = even[i];
  if (last) l->stage[count++].radix = 1 << last;
  l->passes = count;
  return true;
}

/* ---- passes */

/* Fills the table of a last pass: nxi_fft_tail.twiddles. */
static void fill_last(const nxi_fft_line *l, const nxi_fft_stage *s, const nxi_roots *roots,
                      void *flat) {
  const int64_t width = s->width, vectors = (s->done + width - 1) / width;
  for (int64_t v = 0; v < vectors; v++) {
    const int64_t first = (v + 1) * width <= s->done ? v * width : s->done - width;
    for (int64_t m = 1; m < s->radix; m++) {
      const int64_t at = 2 * width * (v * (s->radix - 1) + m - 1);
      for (int32_t i = 0; i < s->width; i++) {
        const int64_t k = first + nxi_fft_local_order(s->width, l->real_bytes, i);
        put_root(l, flat, at + i, at + width + i, root_at(roots, k * m));
      }
    }
  }
}

static int64_t last_reals(const nxi_fft_stage *s) {
  return (s->done + s->width - 1) / s->width * s->width * 2 * (s->radix - 1);
}

/* Fills both tables of a stage: broad by k and m, flat (may be NULL) by m and row. */
static void fill_factors(const nxi_fft_line *l, const nxi_fft_stage *s, const nxi_roots *roots,
                         void *broad, void *flat) {
  int64_t rows = s->done * s->groups;
  for (int64_t k = 0; k < s->done; k++) {
    for (int64_t m = 1; m < s->radix; m++) {
      nxi_root w = root_at(roots, k * m);
      int64_t at = 2 * (k * (s->radix - 1) + m - 1), row = (m - 1) * 2 * rows + k * s->groups;
      put_root(l, broad, at, at + 1, w);
      for (int64_t g = 0; flat && g < s->groups; g++) put_root(l, flat, row + g, row + g + rows, w);
    }
  }
}

static bool stage_tables(nxi_fft_line *l, nxi_fft_stage *s) {
  bool is_prime = s->kernel == NXI_FFT_RADICES - 1;
  if (is_prime && !(s->prime = prime_table(l, s->radix))) return false;
  if (s->done == 1) return true;
  nxi_roots roots;
  if (!roots_create(&roots, s->done * s->radix)) return false;
  void *broad = new_table(l, s->done * (s->radix - 1) * 2);
  int64_t reals = s->last ? last_reals(s) : s->done * s->groups * (s->radix - 1) * 2;
  void *flat = s->row ? NULL : new_table(l, reals);
  bool complete = broad && (flat || s->row);
  if (complete) fill_factors(l, s, &roots, broad, s->last ? NULL : flat);
  if (complete && s->last) fill_last(l, s, &roots, flat);
  roots_destroy(&roots);
  s->broad = broad;
  s->flat = flat;
  return complete;
}

/* Chooses the kernel with which single transforms do a pass: one with lanes if there are enough
 * groups, of the width that takes least. */
static void choose_kernel(const nxi_fft_line *l, nxi_fft_stage *s) {
  const nxi_fft_kernels *k = l->kernels;
  s->kernel = 0;
  while (s->kernel < NXI_FFT_RADICES - 1 && nxi_fft_radices[s->kernel] != s->radix) s->kernel++;
  const bool row = s->groups >= nxi_fft_least_lanes(l);
  const int64_t lanes = row ? s->groups : s->done;
  int64_t least = INT64_MAX;
  for (int32_t w = 0; w < k->widths && (row || s->groups == 1); w++) {
    const int64_t cost = nxi_fft_vectors_cost(k, k->width[w], lanes);
    if (lanes < k->width[w] || cost >= least || !(row || k->last[w][s->kernel])) continue;
    least = cost;
    s->width = k->width[w];
    if (row) s->row = k->wide[w][s->kernel];
    else s->last = k->last[w][s->kernel];
  }
  if (!s->row && !s->last) s->narrow = k->narrow[s->kernel];
}

/* Passes in place leave results in the order of the reversed digits of their numbers. */
static bool find_places(nxi_fft_line *l) {
  int32_t *table = new_table(l, 3 * l->n + 2), *order = table;
  if (!table) return false;
  order[0] = 0;
  for (int32_t i = 0; i < l->passes; i++) {
    nxi_fft_stage *s = &l->stage[i];
    int32_t *next = order + s->done;
    s->order = order;
    for (int64_t at = 0; at < s->done * s->radix; at++)
      next[at] = order[at / s->radix] + (int32_t)(s->done * (at % s->radix));
    order = next;
  }
  int32_t *places = order + l->n;
  for (int64_t at = 0; at < l->n; at++) places[order[at]] = (int32_t)at;
  places[l->n] = (int32_t)l->n;
  l->places = places;
  return true;
}

static nx_status plan_passes(nxi_fft_line *l, nxi_diag *d) {
  int64_t done = 1;
  for (int32_t i = 0; i < l->passes; i++) {
    nxi_fft_stage *s = &l->stage[i];
    s->done = done;
    done *= s->radix;
    s->groups = l->n / done;
    choose_kernel(l, s);
    if (!stage_tables(l, s)) return nxi_oom(d);
    l->apart = s->last && s->width == l->kernels->apart && s->radix % s->width == 0;
  }
  if (nxi_fft_suits_lanes(l) && !find_places(l)) return nxi_oom(d);
  return NX_OK;
}

/* ---- two steps */

/* The length of the first step: a divisor of n near sqrt(n), if possible one for which the strips
 * of both steps are full. */
static int64_t first_length(const nxi_fft_line *l) {
  int64_t lanes = nxi_fft_lanes(l), root = (int64_t)sqrt((double)l->n), near = 1;
  while (root * root > l->n) root--;
  for (int64_t i = root; i > 1 && (near == 1 || i * 4 >= root); i--) {
    if (l->n % i) continue;
    if (near == 1) near = i;
    if (i % lanes == 0 && l->n / i % lanes == 0) return i;
  }
  return near;
}

static bool step_tables(nxi_fft_line *l) {
  int64_t lanes = nxi_fft_lanes(l), least = 16 / l->real_bytes, rows = l->first->n,
          columns = l->second->n;
  int64_t strips = nxi_fft_strips(columns, lanes);
  nxi_roots roots;
  if (!roots_create(&roots, l->n)) return false;
  void *by_row = new_table(l, 2 * rows * strips), *by_lane = new_table(l, 2 * rows * lanes);
  int32_t *in_order = new_table(l, rows);
  for (int64_t s = 0; by_row && by_lane && s < strips; s++) {
    int64_t begin, count;
    nxi_fft_strip(columns, lanes, least, s, &begin, &count);
    for (int64_t k = 0; k < rows && goes_on(l, s * rows + k); k++)
      put_root(l, by_row, 2 * (s * rows + k), 2 * (s * rows + k) + 1, root_at(&roots, begin * k));
  }
  for (int64_t k = 0; by_row && by_lane && k < rows; k++)
    for (int64_t i = 0; i < lanes; i++)
      put_root(l, by_lane, 2 * lanes * k + i, 2 * lanes * k + lanes + i,
               root_at(&roots, i * k % l->n));
  for (int64_t k = 0; in_order && k < rows; k++) in_order[k] = (int32_t)k;
  roots_destroy(&roots);
  l->by_row = by_row;
  l->by_lane = by_lane;
  l->in_order = in_order;
  return by_row && by_lane && in_order && !l->stopped;
}

static nx_status create_passes(int64_t n, const nxi_fft_line *like, nxi_fft_line **out,
                               nxi_diag *d) {
  nxi_fft_line *l = nxi_calloc(1, sizeof *l);
  if (!l) return nxi_oom(d);
  *l = (nxi_fft_line){.n = n, .real_bytes = like->real_bytes, .kernels = like->kernels};
  choose_radices(l);
  *out = l;
  return plan_passes(l, d);
}

static nx_status plan_two_steps(nxi_fft_line *l, nxi_diag *d) {
  l->way = NXI_FFT_TWO_STEPS;
  int64_t n = first_length(l);
  nx_status status = create_passes(n, l, &l->first, d);
  if (!status) status = create_passes(l->n / n, l, &l->second, d);
  if (!status && !step_tables(l)) status = nxi_fft_incomplete(l, d);
  return status;
}

/* ---- chirps */

/* The least length >= least that is 2^k times 1, 3, 5, 7, 9 or 15, k >= 4. */
static int64_t convolution_length(int64_t least) {
  static const int32_t factors[] = {1, 3, 5, 7, 9, 15};
  int64_t best = INT64_MAX;
  for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
    int64_t n = 16 * (int64_t)factors[i];
    while (n < least) n *= 2;
    if (n < best) best = n;
  }
  return best;
}

/* Computes one transform, of the length of the inner line, on this thread. */
static void transform_here(nxi_fft_line *outer, const nxi_fft_batch *b, char *own, char *shared) {
  const nxi_fft_line *l = outer->inner;
  if (nxi_fft_line_local(l)) {
    nxi_fft_batch_here(l, b, own);
    return;
  }
  for (uint32_t phase = 0; phase < nxi_fft_phases(l); phase++)
    for (int64_t task = 0; task < nxi_fft_tasks(l, phase, 1) && goes_on(outer, 0); task++)
      nxi_fft_batch_shared(l, b, phase, task, task + 1, own, shared);
}

/* Writes the chirp exp(-pi i j^2 / n), and the wave: the chirp's conjugate divided by the inner
 * length, for j from -(n - 1) to n - 1, where negative j wrap around to the end of the inner
 * length. */
static void fill_chirps(nxi_fft_line *l, const nxi_roots *roots, void *chirp, void *wave) {
  int64_t m = l->inner->n, square = 0; /* j^2 modulo 2 n */
  for (int64_t j = 0; j < l->n && goes_on(l, j); j++) {
    nxi_root w = root_at(roots, square), v = {w.re / (long double)m, -w.im / (long double)m};
    put_root(l, chirp, 2 * j, 2 * j + 1, w);
    put_root(l, wave, 2 * j, 2 * j + 1, v);
    if (j) put_root(l, wave, 2 * (m - j), 2 * (m - j) + 1, v);
    square = (square + 2 * j + 1) % (2 * l->n);
  }
}

/* Makes the tables of a chirp: the chirp, and the transform of the wave. */
static nx_status chirp_tables(nxi_fft_line *l, const nxi_roots *roots, nxi_diag *d) {
  int64_t m = l->inner->n, own = nxi_fft_own_bytes(l->inner),
          shared = nxi_fft_shared_bytes(l->inner, 1);
  void *chirp = new_table(l, 2 * l->n), *result = chirp ? new_table(l, 2 * m) : NULL;
  char *memory =
      result ? nxi_calloc(1, (size_t)(2 * m * l->real_bytes + own + shared) + 128) : NULL;
  if (!memory) return nxi_oom(d);
  char *scratch = memory + (64 - (uintptr_t)memory % 64) % 64, *wave = scratch + own + shared;
  fill_chirps(l, roots, chirp, wave);
  nxi_fft_batch b = {wave, result, 2 * m, 2 * m, 1, false, false, 0, false};
  transform_here(l, &b, scratch, scratch + own);
  nxi_free(memory);
  if (l->stopped) return nxi_fft_incomplete(l, d);
  l->chirp = chirp;
  l->chirp_result = result;
  return NX_OK;
}

static nx_status plan_chirp(nxi_fft_line *l, nxi_diag *d) {
  l->way = NXI_FFT_CHIRP;
  nx_status status = nxi_fft_line_create(convolution_length(2 * l->n - 1), l->real_bytes,
                                         l->kernels, l->poll, &l->inner, d);
  if (status) return status;
  nxi_roots roots;
  if (!roots_create(&roots, 2 * l->n)) return nxi_oom(d);
  status = chirp_tables(l, &roots, d);
  roots_destroy(&roots);
  return status;
}

/* ---- life */

nx_status nxi_fft_line_create(int64_t n, int32_t real_bytes, const nxi_fft_kernels *kernels,
                              const nxi_poll *poll, nxi_fft_line **out, nxi_diag *d) {
  nxi_fft_line *l = nxi_calloc(1, sizeof *l);
  if (!l) return nxi_oom(d);
  *l = (nxi_fft_line){.n = n, .real_bytes = real_bytes, .kernels = kernels, .poll = poll};
  nx_status status;
  if (!choose_radices(l)) status = plan_chirp(l, d);
  else if (n > most_in_passes(real_bytes)) status = plan_two_steps(l, d);
  else status = plan_passes(l, d);
  l->poll = NULL;
  if (status) nxi_fft_line_destroy(l);
  else *out = l;
  return status;
}

void nxi_fft_line_destroy(nxi_fft_line *l) {
  if (!l) return;
  nxi_fft_line_destroy(l->first);
  nxi_fft_line_destroy(l->second);
  nxi_fft_line_destroy(l->inner);
  for (int32_t i = 0; i < l->n_tables; i++) nxi_free(l->tables[i]);
  nxi_free(l);
}
