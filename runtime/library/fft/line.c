/* SPDX-License-Identifier: ISC */
/* Running complex transforms of one length: passes over lanes or over one transform, the strips of
 * two steps, chirps. */
#include "line.h"

#include <string.h>

/* Rows of up to SHORT bytes of real parts are transformed several together, in lanes; rows with
 * narrow passes up to NARROW elements. Longer rows are faster one at a time: what many of them need
 * together leaves the first-level cache. IN_TARGET: see starts_in_target. */
enum { IN_TARGET = 1 << 13, SHORT = 800, NARROW = 4096, STRIP_BYTES = 1 << 14, CHUNK_PAIRS = 8192 };

static void *at(const nxi_fft_line *l, const void *p, int64_t reals) {
  return (char *)(uintptr_t)p + reals * l->real_bytes;
}

/* Calls the kernel, number `kernel` of its width. Rows without gaps on both sides are one long
 * row. */
static void run_pass(const nxi_fft_kernels *k, int32_t kernel, nxi_fft_pass *p) {
  bool dense =
      p->source.im && p->target.im && p->source.pitch == p->lanes && p->target.pitch == p->lanes;
  if (dense && !p->by_row) {
    p->lanes *= p->groups;
    p->source.pitch = p->target.pitch = p->lanes;
    p->groups = 1;
  }
  k->wide[nxi_fft_width_for(k, p->lanes)][kernel](p);
}

/* ---- two planar working copies. There is a gap between the real and the imaginary parts, because
 * at a distance of a power of two both would compete for the same sets of the cache */

static int64_t planar_reals(const nxi_fft_line *l, int64_t elements) {
  int64_t line = 64 / l->real_bytes;
  return (elements + line - 1) / line * line + 5 * line;
}

static nxi_fft_rows planar(const nxi_fft_line *l, void *scratch, int32_t copy, int64_t elements,
                           int64_t pitch) {
  int64_t size = planar_reals(l, elements);
  void *re = at(l, scratch, 2 * copy * size);
  return (nxi_fft_rows){re, at(l, re, size), pitch, false};
}

static int64_t copies_bytes(const nxi_fft_line *l, int64_t elements) {
  return 4 * planar_reals(l, elements) * l->real_bytes;
}

/* ---- lanes */

typedef struct lanes_run {
  nxi_fft_rows source, target;
  int64_t lanes;
  void *scratch;      /* two copies of (n + spare) * lanes */
  int64_t spare;      /* rows behind the others of a copy */
  int32_t first_copy; /* the copy that the first pass may write */
  int64_t next;       /* reals from the source to neighbours that are fetched meanwhile; 0: none */
  const void *after, *result; /* so many bytes are fetched meanwhile, too; NULL: none */
  int64_t after_bytes, result_bytes;
  const void *by_row, *by_lane;
} lanes_run;

static void fetch(const char *p, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(p + i);
}

/* Fetches part i of l->passes of some memory. */
static void fetch_part(const nxi_fft_line *l, const void *p, int64_t bytes, int32_t i) {
  int64_t lines = (bytes + 63) / 64, begin = lines * i / l->passes;
  fetch((const char *)p + 64 * begin, 64 * (lines * (i + 1) / l->passes - begin));
}

/* Fetches part i of l->passes of the source's neighbours. Hardware does not foresee rows that lie
 * far apart. */
static void fetch_neighbours(const nxi_fft_line *l, const lanes_run *r, int32_t i) {
  const int64_t end = l->n * (i + 1) / l->passes, bytes = 2 * r->lanes * l->real_bytes;
  for (int64_t row = l->n * i / l->passes; row < end; row++)
    fetch(at(l, r->source.re, row * r->source.pitch + r->next), bytes);
}

/* A single pass could overwrite what it still has to read, so its result goes to a working copy and
 * is then copied to the target. */
static void run_lanes(const nxi_fft_line *l, const lanes_run *r) {
  int64_t elements = (l->n + r->spare) * r->lanes;
  nxi_fft_rows from = r->source;
  int32_t copy = r->first_copy, alone = l->passes == 0 || (l->passes == 1 && !r->target.im);
  for (int32_t i = 0; i < l->passes + alone; i++) {
    static const nxi_fft_stage copying = {.radix = 1, .done = 1, .groups = 1};
    const nxi_fft_stage *s = i < l->passes ? &l->stage[i] : &copying;
    bool ends = i == l->passes - 1 + alone;
    if (i < l->passes) {
      if (r->next) fetch_neighbours(l, r, i);
      if (r->after) fetch_part(l, r->after, r->after_bytes, i);
      if (r->result) fetch_part(l, r->result, r->result_bytes, i);
    }
    nxi_fft_rows to = ends ? r->target : planar(l, r->scratch, copy, elements, r->lanes);
    nxi_fft_pass p = {
        .source = from, .target = to, .done = s->done, .groups = s->groups, .lanes = r->lanes};
    p.twiddles = s->broad;
    p.prime = s->prime;
    p.radix = s->radix;
    if (ends) {
      if (alone) *(r->by_row ? &p.done : &p.groups) = l->n;
      p.by_row = r->by_row;
      p.by_lane = r->by_lane;
      p.lane_block = nxi_fft_lanes(l);
    }
    run_pass(l->kernels, s->kernel, &p);
    from = to;
    copy = 1 - copy;
  }
}

int64_t nxi_fft_column_lanes(const nxi_fft_line *l) {
  int64_t lanes = nxi_fft_lanes(l), pairs = STRIP_BYTES / (2 * l->real_bytes);
  return l->n * lanes >= pairs ? lanes : pairs / l->n / lanes * lanes;
}

void nxi_fft_columns(const nxi_fft_line *l, const nxi_fft_batch *b, int64_t lanes, void *scratch) {
  lanes_run r = {.source = {at(l, b->source, 0), NULL, b->source_pitch, b->inverse},
                 .target = {b->target, NULL, b->target_pitch, b->inverse},
                 .lanes = lanes,
                 .scratch = scratch};
  run_lanes(l, &r);
}

/* Even rows are the real parts of the complex numbers that are transformed, odd rows the imaginary
 * parts. */
void nxi_fft_real_columns(const nxi_fft_line *l, const nxi_fft_batch *b, int64_t lanes,
                          const void *unit, void *scratch) {
  const nxi_fft_kernels *k = l->kernels;
  int64_t elements = l->n * lanes, pitch = b->inverse ? b->target_pitch : b->source_pitch;
  void *even = at(l, b->inverse ? b->target : b->source, 0), *odd = at(l, even, pitch);
  nxi_fft_half_lanes h = {.half = l->n, .lanes = lanes, .unit = unit};
  lanes_run r = {.lanes = lanes, .scratch = scratch};
  if (b->inverse) {
    h.planar = planar(l, scratch, 0, elements, lanes);
    h.pairs = (nxi_fft_rows){at(l, b->source, 0), NULL, b->source_pitch, false};
    k->join_lanes[nxi_fft_width_for(k, lanes)](&h);
    r.source = (nxi_fft_rows){h.planar.im, h.planar.re, lanes,
                              false}; /* exchanged parts make the transform inverse */
    r.target = (nxi_fft_rows){odd, even, 2 * pitch, false};
    r.first_copy = 1;
    run_lanes(l, &r);
    return;
  }
  r.source = (nxi_fft_rows){even, odd, 2 * pitch, false};
  r.target = h.planar =
      planar(l, scratch, l->passes > 0 ? (l->passes - 1) % 2 : 0, elements, lanes);
  h.pairs = (nxi_fft_rows){b->target, NULL, b->target_pitch, false};
  run_lanes(l, &r);
  k->split_lanes[nxi_fft_width_for(k, lanes)](&h);
}

static void stream_row(const nxi_fft_line *l, void *to, const void *from, int64_t reals) {
  l->kernels->stream(&(nxi_fft_streamed){to, from, 0, 0, 1, reals * l->real_bytes});
}

static nxi_fft_rows exchanged(nxi_fft_rows planar) {
  return (nxi_fft_rows){planar.im, planar.re, planar.pitch, false};
}

/* Transforms short rows: copies them to lanes, transforms them there, and copies them back.
 * The next rows, and those of the result, are fetched in order between passes: hardware does not
 * foresee pieces of many rows in turn. What goes past the caches is laid down as rows in a working
 * copy first. unit: rows are n + 1 pairs of a spectrum and 2 n reals, b->inverse: from the former
 * to the latter, and the other step of that is done in lanes, too. NULL: n pairs. */
static void run_short(const nxi_fft_line *l, const nxi_fft_batch *b, int64_t row, int64_t lanes,
                      const void *unit, void *scratch) {
  const nxi_fft_kernels *k = l->kernels;
  const bool swapped = b->inverse && !unit, joins = b->inverse && unit, splits = unit && !joins;
  const int64_t in = lanes * b->source_pitch, out = lanes * b->target_pitch;
  nxi_fft_rows source = {at(l, b->source, row * b->source_pitch), NULL, b->source_pitch, swapped};
  nxi_fft_rows target = {at(l, b->target, row * b->target_pitch), NULL, b->target_pitch, swapped};
  lanes_run r = {.lanes = lanes,
                 .scratch = scratch,
                 .spare = unit != NULL,
                 .first_copy = 1,
                 .after_bytes = in * l->real_bytes,
                 .result_bytes = out * l->real_bytes};
  nxi_fft_half_lanes h = {.half = l->n, .lanes = lanes, .unit = unit};
  int64_t elements = (l->n + r.spare) * lanes;
  nxi_fft_rows from = planar(l, scratch, 0, elements, lanes),
               to = planar(l, scratch, l->passes % 2, elements, lanes);
  k->gather(&source, &from, l->n + joins, lanes);
  h.planar = h.pairs = joins ? from : to;
  if (joins) k->join_lanes[nxi_fft_width_for(k, lanes)](&h);
  r.source = joins ? exchanged(from) : from; /* exchanged parts make the transform inverse */
  r.target = joins ? exchanged(to) : to;
  if (row + 2 * lanes <= b->count) r.after = at(l, source.re, in);
  if (!b->past) r.result = target.re;
  run_lanes(l, &r);
  if (splits) k->split_lanes[nxi_fft_width_for(k, lanes)](&h);
  void *result = target.re;
  if (b->past) target.re = planar(l, scratch, 1 - l->passes % 2, elements, lanes).re;
  k->scatter(&to, &target, l->n + splits, lanes);
  if (b->past) stream_row(l, result, target.re, out);
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
    void *pair = at(l, in ? from->re : to->re, 2 * j), *second = at(l, pair, 1);
    memcpy(in ? at(l, re, j) : pair, in ? pair : at(l, re, j), size);
    memcpy(in ? at(l, im, j) : second, in ? second : at(l, im, j), size);
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
  run_pass(l->kernels, 0, &p);
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

/* next: a row that is fetched to a cache meanwhile, or NULL. */
static void run_row(const nxi_fft_line *l, nxi_fft_rows data, nxi_fft_rows target, void *scratch,
                    const void *next) {
  const bool starts = starts_in_target(l, &data, &target);
  if (l->passes == 0 || !l->stage[0].row) {
    nxi_fft_rows first = planar(l, scratch, 1, l->n, 0);
    convert_row(l, data, first);
    data = first;
  }
  for (int32_t i = 0; i < l->passes; i++) {
    const nxi_fft_stage *s = &l->stage[i];
    if (next) fetch_part(l, next, 2 * l->n * l->real_bytes, i);
    nxi_fft_rows to = planar(l, scratch, i % 2, l->n, s->groups);
    if (starts && i == 0) to = (nxi_fft_rows){target.re, at(l, target.re, l->n), s->groups, false};
    if (s->row) {
      data.pitch = data.im ? s->groups : 2 * s->groups;
      nxi_fft_pass p = {.source = data,
                        .target = to,
                        .done = s->done,
                        .groups = 1,
                        .lanes = s->groups,
                        .twiddles = s->broad,
                        .prime = s->prime,
                        .radix = s->radix};
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

/* ---- chirps */

static void multiply(const nxi_fft_line *l, const void *source, bool from_swapped,
                     const void *factor, void *target, bool to_swapped, int64_t begin,
                     int64_t end) {
  nxi_fft_rows from = {at(l, source, 2 * begin), NULL, 0, from_swapped};
  nxi_fft_rows to = {at(l, target, 2 * begin), NULL, 0, to_swapped};
  l->kernels->multiply(&from, at(l, factor, 2 * begin), &to, end - begin);
}

static void clear(const nxi_fft_line *l, void *p, int64_t begin, int64_t end) {
  memset(at(l, p, 2 * begin), 0, (size_t)((end - begin) * 2 * l->real_bytes));
}

/* The three products of a convolution, for the elements begin .. end - 1 of the inner length. The
 * result of the second one is swapped, so that the second transform is an inverse one. */
typedef enum nxi_chirp_step { TO_WAVE, THROUGH, FROM_WAVE } nxi_chirp_step;
static void chirp_product(const nxi_fft_line *l, nxi_chirp_step step, const void *source,
                          void *wave, void *target, bool inverse, int64_t begin, int64_t end) {
  int64_t own = end < l->n ? end : l->n;
  if (step == THROUGH) {
    multiply(l, wave, false, l->chirp_result, wave, true, begin, end);
  } else if (step == TO_WAVE) {
    if (own > begin) multiply(l, source, inverse, l->chirp, wave, false, begin, own);
    if (end > l->n) clear(l, wave, begin > l->n ? begin : l->n, end);
  } else if (own > begin) multiply(l, wave, true, l->chirp, target, inverse, begin, own);
}

static int64_t wave_bytes(const nxi_fft_line *l) {
  return (2 * l->inner->n * l->real_bytes + 63) / 64 * 64;
}

static void run_chirp(const nxi_fft_line *l, const void *source, void *target, bool inverse,
                      char *scratch) {
  int64_t m = l->inner->n;
  nxi_fft_batch b = {scratch, scratch, 2 * m, 2 * m, 1, false, false};
  chirp_product(l, TO_WAVE, source, scratch, target, inverse, 0, m);
  nxi_fft_batch_here(l->inner, &b, scratch + wave_bytes(l));
  chirp_product(l, THROUGH, source, scratch, target, inverse, 0, m);
  nxi_fft_batch_here(l->inner, &b, scratch + wave_bytes(l));
  chirp_product(l, FROM_WAVE, source, scratch, target, inverse, 0, m);
}

/* ---- batches on this thread */

bool nxi_fft_line_local(const nxi_fft_line *l) {
  return l->way == NXI_FFT_PASSES || (l->way == NXI_FFT_CHIRP && nxi_fft_line_local(l->inner));
}

static bool goes_to_lanes(const nxi_fft_line *l) {
  return l->way == NXI_FFT_PASSES &&
         (l->n * l->real_bytes <= SHORT || (l->n <= NARROW && l->stage[l->passes - 1].narrow));
}

int64_t nxi_fft_rows_together(const nxi_fft_line *l) {
  return goes_to_lanes(l) ? nxi_fft_lanes(l) : 1;
}

/* As many rows as fill lanes. */
static int64_t run_together(const nxi_fft_line *l, const nxi_fft_batch *b, const void *unit,
                            void *scratch) {
  int64_t row = 0, least = nxi_fft_lanes(l);
  while (b->count - row >= least && goes_to_lanes(l)) {
    int64_t lanes = nxi_fft_column_lanes(l);
    int64_t some = (b->count - row) / least * least;
    if (some > lanes) some = lanes;
    run_short(l, b, row, some, unit, scratch);
    row += some;
  }
  return row;
}

/* The pairs of the working copy that no pass reads or writes when the last results are written,
 * and of the one that the first pass does not write. */
static void *last_pairs(const nxi_fft_line *l, void *scratch) {
  bool last = l->passes > 0 && l->stage[l->passes - 1].last;
  return planar(l, scratch, (l->passes + last) % 2, l->n, 0).re;
}
static void *first_pairs(const nxi_fft_line *l, void *scratch) {
  return planar(l, scratch, l->stage[0].row != NULL, l->n, 0).re;
}

/* One row, with both steps of a real transform if there is a unit. */
static void run_one(const nxi_fft_line *l, const nxi_fft_batch *b, int64_t row, const void *unit,
                    void *scratch) {
  const nxi_fft_kernels *k = l->kernels;
  const void *source = at(l, b->source, row * b->source_pitch), *next = NULL;
  void *result = at(l, b->target, row * b->target_pitch),
       *target = b->past ? last_pairs(l, scratch) : result;
  nxi_fft_half h = {source, target, l->n, 0, l->n / 2 + 1, unit};
  if (b->past && row + 1 < b->count) next = at(l, source, b->source_pitch);
  if (unit && b->inverse) {
    if (b->past) h.target = first_pairs(l, scratch);
    k->join(&h);
    source = h.target;
  }
  nxi_fft_rows from = {at(l, source, 0), NULL, 0, b->inverse}, to = {target, NULL, 0, b->inverse};
  run_row(l, from, to, scratch, next);
  if (unit && !b->inverse) {
    h.source = target;
    k->split(&h);
  }
  if (b->past) stream_row(l, result, target, b->target_pitch);
}

static void run_rows(const nxi_fft_line *l, const nxi_fft_batch *b, const void *unit,
                     void *scratch) {
  int64_t row = run_together(l, b, unit, scratch);
  for (; row < b->count; row++) run_one(l, b, row, unit, scratch);
  if (b->past) l->kernels->stream_end();
}

void nxi_fft_real_rows(const nxi_fft_line *l, const nxi_fft_batch *b, const void *unit,
                       void *scratch) {
  run_rows(l, b, unit, scratch);
}

void nxi_fft_batch_here(const nxi_fft_line *l, const nxi_fft_batch *b, void *scratch) {
  if (l->way == NXI_FFT_PASSES) {
    run_rows(l, b, NULL, scratch);
    return;
  }
  for (int64_t row = 0; row < b->count; row++)
    run_chirp(l, at(l, b->source, row * b->source_pitch), at(l, b->target, row * b->target_pitch),
              b->inverse, scratch);
}

/* ---- strips */

int64_t nxi_fft_strips(int64_t total, int64_t lanes) { return (total + lanes - 1) / lanes; }

void nxi_fft_strip(int64_t total, int64_t lanes, int64_t least, int64_t strip, int64_t *begin,
                   int64_t *count) {
  int64_t rest = total % lanes, full = total / lanes;
  *begin = strip * lanes;
  *count = strip < full ? lanes : rest;
  if (rest == 0 || rest >= least || full == 0 || strip < full - 1) return;
  /* The last two strips share the remaining columns. */
  int64_t left = lanes + rest, first = (left + 1) / 2;
  *begin = (full - 1) * lanes + (strip == full ? first : 0);
  *count = strip == full ? left - first : first;
}

/* ---- two steps, shared by tasks */

typedef struct shared_run {
  const nxi_fft_line *l; /* two steps, or a chirp over them */
  const nxi_fft_batch *b;
  char *own, *shared;
} shared_run;

/* What the first step makes of a strip lies in one piece, which is written in order, and of which
 * the second step reads a square at a time. There are gaps between strips, so that squares do not
 * compete for the same sets of the cache. */
static int64_t strips_of(const nxi_fft_line *l, int64_t total) {
  return nxi_fft_strips(total, nxi_fft_lanes(l));
}
static int64_t strip_reals(const nxi_fft_line *l) {
  enum { GAP = 17 };
  return 2 * nxi_fft_lanes(l) * (l->first->n + GAP);
}
static int64_t middle_bytes(const nxi_fft_line *l) {
  return strips_of(l, l->second->n) * strip_reals(l) * l->real_bytes;
}
/* Bytes of memory for one transform: the rows between the two steps, or the wave of a chirp. */
static int64_t each_bytes(const nxi_fft_line *l) {
  return l->way == NXI_FFT_CHIRP ? wave_bytes(l) : middle_bytes(l);
}
static char *middle(const shared_run *r, int64_t transform) {
  return r->shared + transform * each_bytes(r->l);
}
static int64_t least_rows(const nxi_fft_line *l) { return 16 / l->real_bytes; }
static void first_step(const shared_run *r, int64_t begin, int64_t end) {
  const nxi_fft_line *l = r->l;
  int64_t columns = l->second->n, lanes = nxi_fft_lanes(l), strips = strips_of(l, columns);
  for (int64_t task = begin; task < end; task++) {
    int64_t transform = task / strips, strip = task % strips, first, count;
    nxi_fft_strip(columns, lanes, least_rows(l), strip, &first, &count);
    const void *source = at(l, r->b->source, transform * r->b->source_pitch + 2 * first);
    void *target = at(l, middle(r, transform), strip * strip_reals(l));
    lanes_run run = {.source = {at(l, source, 0), NULL, 2 * columns, r->b->inverse},
                     .target = {target, NULL, 2 * lanes, false},
                     .lanes = count,
                     .scratch = r->own,
                     .next = task + 1 < end && strip + 1 < strips ? 2 * count : 0,
                     .by_row = at(l, l->by_row, 2 * strip * l->first->n),
                     .by_lane = l->by_lane};
    run_lanes(l->first, &run);
  }
}

/* Copies rows first .. first + count - 1 of the second step from the strips of the first one. */
static void gather_strips(const shared_run *r, int64_t transform, int64_t first, int64_t count,
                          const nxi_fft_rows *planar) {
  const nxi_fft_line *l = r->l;
  int64_t lanes = nxi_fft_lanes(l), strips = strips_of(l, l->second->n), column, columns;
  for (int64_t strip = 0; strip < strips; strip++) {
    int64_t place = strip * strip_reals(l) + 2 * lanes * first;
    nxi_fft_strip(l->second->n, lanes, least_rows(l), strip, &column, &columns);
    nxi_fft_rows from = {at(l, middle(r, transform), place), NULL, 2 * lanes, false}, to = *planar;
    to.re = at(l, to.re, column * count);
    to.im = at(l, to.im, column * count);
    if (strip + 1 < strips)
      fetch(at(l, from.re, strip_reals(l)), 2 * lanes * count * l->real_bytes);
    l->kernels->gather(&from, &to, columns, count);
  }
}

static void second_step(const shared_run *r, int64_t begin, int64_t end) {
  const nxi_fft_line *l = r->l, *line = l->second;
  int64_t rows = l->first->n, lanes = nxi_fft_lanes(l), strips = strips_of(l, rows);
  for (int64_t task = begin; task < end; task++) {
    int64_t transform = task / strips, first, count;
    nxi_fft_strip(rows, lanes, least_rows(l), task % strips, &first, &count);
    void *target = at(l, r->b->target, transform * r->b->target_pitch + 2 * first);
    lanes_run run = {.source = planar(line, r->own, 0, line->n * count, count),
                     .target = {target, NULL, 2 * rows, r->b->inverse},
                     .lanes = count,
                     .scratch = r->own,
                     .first_copy = 1};
    gather_strips(r, transform, first, count, &run.source);
    if (r->b->past) { /* by the working copy that the last pass does not read */
      run.target.re = planar(line, r->own, line->passes % 2, line->n * count, 0).re;
      run.target.pitch = 2 * count;
    }
    run_lanes(line, &run);
    int64_t bytes = 2 * count * l->real_bytes;
    if (r->b->past)
      l->kernels->stream(&(nxi_fft_streamed){target, run.target.re, 2 * rows * l->real_bytes, bytes,
                                             line->n, bytes});
  }
  if (r->b->past) l->kernels->stream_end();
}

static int64_t chunks_of(const nxi_fft_line *l) {
  return (l->inner->n + CHUNK_PAIRS - 1) / CHUNK_PAIRS;
}

static void chirp_tasks(const shared_run *r, nxi_chirp_step step, int64_t begin, int64_t end) {
  const nxi_fft_line *l = r->l;
  int64_t m = l->inner->n, chunks = chunks_of(l);
  for (int64_t task = begin; task < end; task++) {
    int64_t transform = task / chunks, from = task % chunks * CHUNK_PAIRS;
    int64_t to = from + CHUNK_PAIRS < m ? from + CHUNK_PAIRS : m;
    chirp_product(l, step, at(l, r->b->source, transform * r->b->source_pitch),
                  middle(r, transform), at(l, r->b->target, transform * r->b->target_pitch),
                  r->b->inverse, from, to);
  }
}

/* Two steps are two phases. The phases of a chirp are: a product, two steps, a product, two steps,
 * a product. */
enum { STEPS = 2, CHIRP_PHASES = 3 + 2 * STEPS };

uint32_t nxi_fft_phases(const nxi_fft_line *l) {
  return l->way == NXI_FFT_CHIRP ? CHIRP_PHASES : STEPS;
}

static bool is_product(uint32_t phase) { return phase % (1 + STEPS) == 0; }

int64_t nxi_fft_tasks(const nxi_fft_line *l, uint32_t phase, int64_t transforms) {
  if (l->way != NXI_FFT_CHIRP)
    return transforms * strips_of(l, phase == 0 ? l->second->n : l->first->n);
  if (is_product(phase)) return transforms * chunks_of(l);
  return nxi_fft_tasks(l->inner, phase % (1 + STEPS) - 1, transforms);
}

void nxi_fft_batch_shared(const nxi_fft_line *l, const nxi_fft_batch *b, uint32_t phase,
                          int64_t begin, int64_t end, void *own, void *shared) {
  shared_run r = {.l = l, .b = b, .own = own, .shared = shared};
  if (l->way != NXI_FFT_CHIRP) {
    (phase == 0 ? first_step : second_step)(&r, begin, end);
  } else if (is_product(phase)) {
    chirp_tasks(&r, (nxi_chirp_step)(phase / (1 + STEPS)), begin, end);
  } else { /* the waves in place; the shared memory after them is for the steps */
    int64_t pitch = each_bytes(l) / l->real_bytes;
    nxi_fft_batch waves = {shared, shared, pitch, pitch, b->count, false, false};
    nxi_fft_batch_shared(l->inner, &waves, phase % (1 + STEPS) - 1, begin, end, own,
                         middle(&r, b->count));
  }
}

/* ---- memory */

int64_t nxi_fft_own_bytes(const nxi_fft_line *l) {
  if (l->way == NXI_FFT_CHIRP)
    return nxi_fft_own_bytes(l->inner) + (nxi_fft_line_local(l->inner) ? wave_bytes(l) : 0);
  if (l->way == NXI_FFT_TWO_STEPS) {
    int64_t longer = l->first->n > l->second->n ? l->first->n : l->second->n;
    return copies_bytes(l, longer * nxi_fft_lanes(l));
  }
  return copies_bytes(l, l->n * nxi_fft_column_lanes(l));
}

int64_t nxi_fft_rows_own_bytes(const nxi_fft_line *l, int64_t rows, bool real) {
  if (l->way != NXI_FFT_PASSES) return nxi_fft_own_bytes(l);
  bool together = goes_to_lanes(l) && rows >= nxi_fft_lanes(l);
  return copies_bytes(l, together ? (l->n + real) * nxi_fft_column_lanes(l) : l->n);
}

int64_t nxi_fft_shared_bytes(const nxi_fft_line *l, int64_t groups) {
  if (nxi_fft_line_local(l)) return 0;
  int64_t inner = l->way == NXI_FFT_CHIRP ? each_bytes(l->inner) : 0;
  return groups * (each_bytes(l) + inner);
}
