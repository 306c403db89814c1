/* SPDX-License-Identifier: ISC */
/* Transforms that are rows: short ones several together in lanes, others one at a time. */
#include "run.h"

#include <string.h>

/* Rows of up to SHORT bytes of real parts are transformed several together, in lanes; rows with
 * narrow passes up to NARROW elements. Longer rows are faster one at a time: what many of them need
 * together leaves the first-level cache. So are complex ones from FULL elements on that fill
 * vectors by themselves; of real ones the other step is faster in lanes. IN_TARGET: see
 * starts_in_target. EVERY: vectors of results after which something is fetched. */
enum { IN_TARGET = 1 << 13, SHORT = 800, NARROW = 4096, FULL = 32, EVERY = 8 };

static void stream_row(const nxi_fft_line *l, void *to, const void *from, int64_t reals) {
  l->kernels->stream(&(nxi_fft_streamed){to, from, 0, 0, 1, reals * l->real_bytes});
}

/* ---- several rows in lanes */

/* Whether the passes of a single transform fill the widest vectors. */
static bool fills_vectors(const nxi_fft_line *l) {
  const int32_t width = l->kernels->width[0];
  for (int32_t i = 0; i < l->passes; i++) {
    const nxi_fft_stage *s = &l->stage[i];
    if (s->narrow || (s->last && s->width < width)) return false;
    if ((s->row ? s->groups : s->done) % width != 0) return false;
  }
  return true;
}

bool nxi_fft_suits_lanes(nxi_fft_line *l) {
  l->fills = l->n >= FULL && fills_vectors(l);
  return l->n * l->real_bytes <= SHORT || (l->n <= NARROW && l->stage[l->passes - 1].narrow);
}

static bool goes_to_lanes(const nxi_fft_line *l, bool real) {
  return l->places && (real || !l->fills);
}

int64_t nxi_fft_rows_together(const nxi_fft_line *l, bool real) {
  return goes_to_lanes(l, real) ? nxi_fft_lanes(l) : 1;
}

int64_t nxi_fft_rows_own_bytes(const nxi_fft_line *l, int64_t rows, bool real) {
  if (l->way != NXI_FFT_PASSES) return nxi_fft_own_bytes(l);
  bool together = goes_to_lanes(l, real) && rows >= nxi_fft_lanes(l);
  return nxi_fft_copies_bytes(l, together ? (l->n + real) * nxi_fft_column_lanes(l) : l->n);
}

static nxi_fft_rows exchanged(nxi_fft_rows planar) {
  return (nxi_fft_rows){planar.im, planar.re, planar.pitch, false};
}

/* Fetches memory within so many times that something is fetched. */
static void fetch_within(nxi_fft_ahead *a, int which, const void *from, int64_t bytes,
                         int64_t times) {
  a->from[which] = from;
  a->left[which] = (bytes + 63) / 64;
  a->lines[which] = (a->left[which] + times - 1) / times;
}

/* How often passes of so many lanes fetch something. */
static int64_t times_of(const nxi_fft_line *l, int64_t lanes) {
  int64_t vectors = lanes / l->kernels->width[nxi_fft_width_for(l->kernels, lanes)], times = 0;
  for (int32_t i = 0; i < l->passes; i++) times += l->n / l->stage[i].radix * vectors;
  return times / EVERY + 1;
}

/* Transforms short rows: copies them to lanes, transforms them there, in place, and copies them
 * back. So in the first-level cache there are rows, lanes and results, and the next rows and the
 * lines of the results, which are fetched in order meanwhile: hardware does not foresee pieces of
 * many rows in turn. What goes past the caches is laid down as rows in a working copy first.
 * unit: rows are n + 1 pairs of a spectrum and 2 n reals, b->inverse: from the former to the
 * latter, and the other step of that is done in lanes, too. NULL: n pairs. */
static void run_short(const nxi_fft_line *l, const nxi_fft_batch *b, int64_t row, int64_t lanes,
                      const void *unit, void *scratch) {
  const nxi_fft_kernels *k = l->kernels;
  const bool swapped = b->inverse && !unit, joins = b->inverse && unit, splits = unit && !joins;
  const int64_t in = lanes * b->source_pitch, out = lanes * b->target_pitch,
                times = times_of(l, lanes), left = b->count - row - lanes;
  nxi_fft_rows source = {nxi_fft_at(l, b->source, row * b->source_pitch), NULL, b->source_pitch,
                         swapped};
  nxi_fft_rows target = {nxi_fft_at(l, b->target, row * b->target_pitch), NULL, b->target_pitch,
                         swapped};
  const int64_t elements = (l->n + (unit != NULL)) * lanes;
  nxi_fft_rows planar = nxi_fft_planar(l, scratch, 0, elements, lanes);
  nxi_fft_ahead ahead = {.every = EVERY, .due = EVERY};
  fetch_within(&ahead, 0, nxi_fft_at(l, source.re, in),
               (left < lanes ? left : lanes) * b->source_pitch * l->real_bytes, times);
  if (!b->past) fetch_within(&ahead, 1, target.re, out * l->real_bytes, times);
  nxi_fft_half_lanes h = {.planar = planar,
                          .pairs = planar,
                          .half = l->n,
                          .lanes = lanes,
                          .unit = unit,
                          .places = joins ? NULL : l->places,
                          .ahead = &ahead};
  k->gather(&source, &planar, l->n + joins, lanes, true, &ahead);
  if (joins) k->join_lanes[nxi_fft_width_for(k, lanes)](&h);
  /* exchanged parts make the transform inverse */
  nxi_fft_run_in_place(l, joins ? exchanged(planar) : planar, lanes, &ahead);
  if (splits) k->split_lanes[nxi_fft_width_for(k, lanes)](&h);
  void *result = target.re;
  if (b->past) target.re = nxi_fft_planar(l, scratch, 1, elements, 0).re;
  k->scatter(&planar, l->places, &target, l->n + splits, lanes, true, &ahead);
  if (b->past) stream_row(l, result, target.re, out);
}

/* As many rows as fill lanes. */
static int64_t run_together(const nxi_fft_line *l, const nxi_fft_batch *b, const void *unit,
                            void *scratch) {
  int64_t row = 0, least = nxi_fft_lanes(l);
  while (b->count - row >= least && goes_to_lanes(l, unit != NULL)) {
    int64_t lanes = nxi_fft_column_lanes(l);
    int64_t some = (b->count - row) / least * least;
    if (some > lanes) some = lanes;
    run_short(l, b, row, some, unit, scratch);
    row += some;
  }
  return row;
}

/* ---- one row */

static void copy_slowly(const nxi_fft_line *l, const nxi_fft_rows *from, const nxi_fft_rows *to) {
  bool in = !from->im;
  void *re = in ? to->re : from->re, *im = in ? to->im : from->im;
  if (in ? from->swapped : to->swapped) {
    void *other = re;
    re = im, im = other;
  }
  size_t size = (size_t)l->real_bytes;
  for (int64_t j = 0; j < l->n; j++) {
    void *pair = nxi_fft_at(l, in ? from->re : to->re, 2 * j), *second = nxi_fft_at(l, pair, 1);
    memcpy(in ? nxi_fft_at(l, re, j) : pair, in ? pair : nxi_fft_at(l, re, j), size);
    memcpy(in ? nxi_fft_at(l, im, j) : second, in ? second : nxi_fft_at(l, im, j), size);
  }
}

/* Converts a row between pairs and planar. */
static void convert_row(const nxi_fft_line *l, nxi_fft_rows from, nxi_fft_rows to) {
  if (l->n < nxi_fft_least_lanes(l)) {
    copy_slowly(l, &from, &to);
    return;
  }
  nxi_fft_pass p = {
      .source = from, .target = to, .done = 1, .groups = 1, .lanes = l->n, .radix = 1};
  nxi_fft_run_pass(l->kernels, 0, &p);
}

/* Whether the first of three passes may write to the target, as planar rows: then one working
 * copy less shares the first-level cache with source and target. */
static bool starts_in_target(const nxi_fft_line *l, const nxi_fft_rows *source,
                             const nxi_fft_rows *target) {
  int64_t bytes = l->n * l->real_bytes;
  bool fits = bytes <= IN_TARGET && bytes % 64 == 0 && (uintptr_t)target->re % 64 == 0;
  return fits && source->re != target->re && l->passes == 3 && l->stage[0].row && l->stage[1].row &&
         l->stage[2].last;
}

/* Fetches part i of l->passes of some memory. */
static void fetch_part(const nxi_fft_line *l, const void *p, int64_t bytes, int32_t i) {
  int64_t lines = (bytes + 63) / 64, begin = lines * i / l->passes;
  nxi_fft_fetch((const char *)p + 64 * begin, 64 * (lines * (i + 1) / l->passes - begin));
}

/* next: a row that is fetched to a cache meanwhile, or NULL. */
static void run_row(const nxi_fft_line *l, nxi_fft_rows data, nxi_fft_rows target, void *scratch,
                    const void *next) {
  const bool starts = starts_in_target(l, &data, &target);
  if (l->passes == 0 || !l->stage[0].row) {
    nxi_fft_rows first = nxi_fft_planar(l, scratch, 1, l->n, 0);
    convert_row(l, data, first);
    data = first;
  }
  for (int32_t i = 0; i < l->passes; i++) {
    const nxi_fft_stage *s = &l->stage[i];
    if (next) fetch_part(l, next, 2 * l->n * l->real_bytes, i);
    nxi_fft_rows to = nxi_fft_planar(l, scratch, i % 2, l->n, s->groups);
    if (starts && i == 0)
      to = (nxi_fft_rows){target.re, nxi_fft_at(l, target.re, l->n), s->groups, false};
    if (s->row) {
      data.pitch = data.im ? s->groups : 2 * s->groups;
      nxi_fft_pass p = {.source = data,
                        .target = to,
                        .done = s->done,
                        .groups = 1,
                        .lanes = s->groups,
                        .twiddles = s->broad,
                        .prime = s->prime,
                        .radix = s->radix,
                        .apart = l->apart && i == 0};
      s->row(&p);
    } else {
      nxi_fft_tail t = {.source = data,
                        .target = s->last ? target : to,
                        .done = s->done,
                        .groups = s->groups,
                        .twiddles = s->flat,
                        .prime = s->prime,
                        .radix = s->radix};
      (s->last ? s->last : s->narrow)(&t);
      if (s->last) return;
    }
    data = to;
  }
  convert_row(l, data, target);
}

/* The pairs of the working copy that no pass reads or writes when the last results are written,
 * and of the one that the first pass does not write. */
static void *last_pairs(const nxi_fft_line *l, void *scratch) {
  bool last = l->passes > 0 && l->stage[l->passes - 1].last;
  return nxi_fft_planar(l, scratch, (l->passes + last) % 2, l->n, 0).re;
}
static void *first_pairs(const nxi_fft_line *l, void *scratch) {
  return nxi_fft_planar(l, scratch, l->stage[0].row != NULL, l->n, 0).re;
}

/* One row, with both steps of a real transform if there is a unit. */
static void run_one(const nxi_fft_line *l, const nxi_fft_batch *b, int64_t row, const void *unit,
                    void *scratch) {
  const nxi_fft_kernels *k = l->kernels;
  const void *source = nxi_fft_at(l, b->source, row * b->source_pitch), *next = NULL;
  void *result = nxi_fft_at(l, b->target, row * b->target_pitch),
       *target = b->past ? last_pairs(l, scratch) : result;
  nxi_fft_half h = {source, target, l->n, 0, l->n / 2 + 1, unit};
  if (b->past && row + 1 < b->count) next = nxi_fft_at(l, source, b->source_pitch);
  if (unit && b->inverse) {
    if (b->past) h.target = first_pairs(l, scratch);
    k->join(&h);
    source = h.target;
  }
  nxi_fft_rows from = {nxi_fft_at(l, source, 0), NULL, 0, b->inverse},
               to = {target, NULL, 0, b->inverse};
  run_row(l, from, to, scratch, next);
  if (unit && !b->inverse) {
    h.source = target;
    k->split(&h);
  }
  if (b->past) stream_row(l, result, target, b->target_pitch);
}

void nxi_fft_run_rows(const nxi_fft_line *l, const nxi_fft_batch *b, const void *unit,
                      void *scratch) {
  int64_t row = run_together(l, b, unit, scratch);
  for (; row < b->count; row++) run_one(l, b, row, unit, scratch);
  if (b->past) l->kernels->stream_end();
}
