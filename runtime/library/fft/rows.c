/* SPDX-License-Identifier: ISC */
/* Transforms that are rows: short ones several together in lanes, others one at a time. */
#include "run.h"

#include <string.h>

/* Rows of up to SHORT bytes of real parts are transformed several together, in lanes; rows with an
 * odd last radix up to NARROW elements. Longer rows are faster one at a time: what many of them
 * need together leaves the first-level cache. So are those from FULL elements on that fill vectors
 * by themselves. AT_ONCE: bytes of rows that are done one at a time, but pass by pass. IN_TARGET:
 * see starts_in_target. EVERY: bytes of results after which something is moved. */
enum {
  IN_TARGET = 1 << 13,
  SHORT = 800,
  NARROW = 4096,
  FULL = 32,
  TURNED = 128,
  AT_ONCE = 1 << 13,
  EVERY = 256
};

/* Some rows of a batch at a time. unit: as of nxi_fft_run_rows. */
typedef struct rows_run {
  const nxi_fft_line *l;
  const nxi_fft_batch *b;
  const void *unit;
  void *scratch;
  nxi_fft_ahead ahead;
  char *waiting[2]; /* where results wait to go past the caches, by turns */
} rows_run;

static int64_t lines_of(int64_t bytes) { return (bytes + 63) / 64; }

/* Fetches memory within so many times that something is moved. */
static void fetch_within(nxi_fft_ahead *a, int which, const void *from, int64_t bytes,
                         int64_t times) {
  a->from[which] = from;
  a->left[which] = lines_of(bytes);
  a->lines[which] = (a->left[which] + times - 1) / times;
}

/* Moves the results that wait within so many times. */
static void stream_within(nxi_fft_ahead *a, int64_t times) {
  a->each = 64 * ((lines_of(a->bytes) + times) / times);
}

static void stream_now(rows_run *r) {
  nxi_fft_ahead *a = &r->ahead;
  if (a->bytes) r->l->kernels->stream(&(nxi_fft_streamed){a->to, a->results, 0, 0, 1, a->bytes});
  a->bytes = 0;
}

/* Leaves so many results to be streamed while the next ones are computed, in whole lines. */
static void stream_later(rows_run *r, void *to, const void *results, int64_t reals) {
  stream_now(r);
  const int64_t bytes = reals * r->l->real_bytes, before = (int64_t)(-(uintptr_t)to % 64);
  const int64_t head = before < bytes ? before : bytes, tail = (bytes - head) % 64;
  memcpy(to, results, (size_t)head);
  memcpy((char *)to + bytes - tail, (const char *)results + bytes - tail, (size_t)tail);
  r->ahead.to = (char *)to + head;
  r->ahead.results = (const char *)results + head;
  r->ahead.bytes = bytes - head - tail;
  char *other = r->waiting[1];
  r->waiting[1] = r->waiting[0];
  r->waiting[0] = other;
}

/* Where such results wait: lines there are lines of the target. */
static void *waiting_place(const rows_run *r, const void *target) {
  return r->waiting[0] + (uintptr_t)target % 64;
}

/* ---- several rows in lanes */

/* Whether passes of a single transform take five quarters at most of what they would if all lanes
 * of the widest vectors were used. */
static bool fills_vectors(const nxi_fft_line *l) {
  const nxi_fft_kernels *k = l->kernels;
  const int64_t full = l->n * l->passes * nxi_fft_vectors_cost(k, k->width[0], 1);
  int64_t cost = 0;
  for (int32_t i = 0; i < l->passes; i++) {
    const nxi_fft_stage *s = &l->stage[i];
    if (s->narrow) return false;
    const int64_t line = s->row ? s->groups : s->done, lines = s->row ? s->done : 1;
    cost += lines * nxi_fft_vectors_cost(k, s->width, line) * k->width[0] * s->radix;
  }
  return 4 * cost <= 5 * full;
}

/* Rows one at a time are done pass by pass, as many together as the first-level cache holds: so the
 * first numbers of a pass do not wait for the last ones of the pass before. */
static int64_t rows_at_once(const nxi_fft_line *l) {
  bool whole = l->passes > 0 && l->stage[l->passes - 1].last;
  for (int32_t i = 0; i < l->passes - 1; i++) whole = whole && l->stage[i].row;
  const int64_t some = whole ? AT_ONCE / (2 * l->n * l->real_bytes) : 1;
  return some > 1 ? some : 1;
}

/* The same where results go past the caches: the two places where they wait are in the first-level
 * cache, too. Of two rows one is left only if they are pages apart, and so compete for the same
 * sets: what is short waits for itself. */
static int64_t rows_past(const nxi_fft_line *l) {
  const bool pages = 2 * l->n * l->real_bytes % 4096 == 0;
  return l->at_once > 2 || pages ? (l->at_once + 1) / 2 : l->at_once;
}

bool nxi_fft_suits_lanes(nxi_fft_line *l) {
  const int64_t line = 64 / l->real_bytes;
  l->fills = l->n >= FULL && fills_vectors(l);
  l->at_once = rows_at_once(l);
  l->row_reals = (l->n + line - 1) / line * line;
  return l->n * l->real_bytes <= SHORT ||
         (l->n <= NARROW && l->stage[l->passes - 1].radix % 2 == 1);
}

/* Rows that fill vectors go one by one, except where steps transpose on the way: real ones, whose
 * other step is done in lanes, and those up to TURNED elements with more than two passes. */
static bool goes_to_lanes(const nxi_fft_line *l, bool real, bool past) {
  const bool some = l->passes > 2 && l->n <= TURNED && !past,
             turns = l->kernels->end_width && (real || some);
  return l->places && (!l->fills || turns);
}

int64_t nxi_fft_rows_together(const nxi_fft_line *l, bool real, bool past) {
  return goes_to_lanes(l, real, past) ? nxi_fft_lanes(l) : 1;
}

/* Scratch memory begins with what passes work on; two places follow where results wait. */
static int64_t working_bytes(const nxi_fft_line *l, bool together, bool real) {
  const int64_t single = nxi_fft_copies_bytes(l, l->row_reals * l->at_once),
                lanes = (l->n + real) * nxi_fft_column_lanes(l),
                bytes = together ? nxi_fft_copies_bytes(l, lanes) / 2 : 0;
  return single > bytes ? single : bytes;
}
static int64_t waiting_bytes(const nxi_fft_line *l, bool together, bool real) {
  const int64_t lanes = together ? nxi_fft_column_lanes(l) : 0,
                rows = lanes > l->at_once ? lanes : l->at_once;
  return 64 * (lines_of(rows * 2 * (l->n + real) * l->real_bytes) + 5);
}

/* Whether results that go past the caches wait until the next rows are computed, of rows that are
 * done several at a time. Those of a longer row go at once. */
static bool waits(const nxi_fft_line *l, bool real) {
  return goes_to_lanes(l, real, true) || l->at_once > 1;
}

static bool has_together(const nxi_fft_line *l, int64_t rows, bool real, bool past) {
  return goes_to_lanes(l, real, past) && rows >= nxi_fft_lanes(l);
}

int64_t nxi_fft_rows_own_bytes(const nxi_fft_line *l, int64_t rows, bool real, bool past) {
  if (l->way != NXI_FFT_PASSES) return nxi_fft_own_bytes(l);
  const bool together = has_together(l, rows, real, past);
  return working_bytes(l, together, real) +
         (past && waits(l, real) ? 2 * waiting_bytes(l, together, real) : 0);
}

static nxi_fft_rows exchanged(nxi_fft_rows planar) {
  return (nxi_fft_rows){planar.im, planar.re, planar.pitch, false};
}

/* Steps of rows in lanes that transpose on the way, instead of copies to lanes and back. */
typedef struct ends {
  void (*enter)(const nxi_fft_end *); /* NULL: a copy */
  void (*leave)(const nxi_fft_end *);
  int32_t begin, end; /* passes between them */
} ends;

/* Complex rows that go past the caches are copied: what is read of many rows at once waits for
 * memory. */
static ends ends_of(const nxi_fft_line *l, bool joins, bool splits, bool past) {
  const nxi_fft_kernels *k = l->kernels;
  const int64_t middle = l->n / 2 + 1;
  ends e = {NULL, NULL, 0, l->passes};
  if (!k->end_width || l->passes == 0 || (past && !joins && !splits)) return e;
  const nxi_fft_stage *first = &l->stage[0], *last = &l->stage[l->passes - 1];
  if (joins) e.enter = middle >= k->enter_least ? k->enter_join : NULL;
  else if (first->groups >= k->enter_least) e.enter = k->enter[first->kernel];
  if (e.enter && !joins) e.begin = 1;
  if (splits) e.leave = middle >= k->leave_least ? k->leave_split : NULL;
  else if (last->done >= k->leave_least && e.begin < l->passes) e.leave = k->leave[last->kernel];
  if (e.leave && !splits) e.end = l->passes - 1;
  return e;
}

/* How often steps of so many lanes move something: with each so many vectors. */
static int64_t times_of(const nxi_fft_line *l, const ends *e, int64_t lanes, int64_t *every) {
  const int64_t width = l->kernels->width[nxi_fft_width_for(l->kernels, lanes)],
                vectors = lanes / width;
  int64_t times = 0;
  for (int32_t i = e->begin; i < e->end; i++) times += l->n / l->stage[i].radix * vectors;
  if (e->begin)
    times += l->stage[0].groups / l->kernels->enter_least * (lanes / l->kernels->end_width);
  if (e->end < l->passes)
    times +=
        l->stage[l->passes - 1].done / l->kernels->leave_least * (lanes / l->kernels->end_width);
  *every = EVERY / (width * l->real_bytes);
  return times / *every + 1;
}

/* Transforms short rows: transposes them to lanes, transforms them there, in place, and transposes
 * them back. So in the first-level cache there are rows, lanes and results, and the next rows and
 * the lines of the results, which are fetched in order meanwhile: hardware does not foresee pieces
 * of many rows in turn. What goes past the caches is laid down as rows where it waits.
 * unit: rows are n + 1 pairs of a spectrum and 2 n reals, b->inverse: from the former to the
 * latter, and the other step of that is done in lanes, too. NULL: n pairs. */
static void run_short(rows_run *r, int64_t row, int64_t lanes) {
  const nxi_fft_line *l = r->l;
  const nxi_fft_batch *b = r->b;
  const nxi_fft_kernels *k = l->kernels;
  const void *unit = r->unit;
  const bool swapped = b->inverse && !unit, joins = b->inverse && unit, splits = unit && !joins;
  const ends e = ends_of(l, joins, splits, b->past);
  /* to lanes and back alike: fewer columns than a square has are copied in order */
  const bool local = 2 * l->n >= k->apart && !e.enter && !e.leave;
  int64_t every;
  const int64_t in = lanes * b->source_pitch, out = lanes * b->target_pitch,
                times = times_of(l, &e, lanes, &every), left = b->count + b->further - row - lanes;
  nxi_fft_rows source = {nxi_fft_at(l, b->source, row * b->source_pitch), NULL, b->source_pitch,
                         swapped};
  nxi_fft_rows target = {nxi_fft_at(l, b->target, row * b->target_pitch), NULL, b->target_pitch,
                         swapped};
  const int64_t elements = (l->n + (unit != NULL)) * lanes;
  nxi_fft_rows planar = nxi_fft_planar(l, r->scratch, 0, elements, lanes);
  r->ahead.every = r->ahead.due = every;
  fetch_within(&r->ahead, 0, nxi_fft_at(l, source.re, in),
               (left < lanes ? left : lanes) * b->source_pitch * l->real_bytes, times);
  if (!b->past) fetch_within(&r->ahead, 1, target.re, out * l->real_bytes, times);
  stream_within(&r->ahead, times);
  nxi_fft_ahead *ahead = b->near ? NULL : &r->ahead;
  nxi_fft_half_lanes h = {.planar = planar,
                          .pairs = planar,
                          .half = l->n,
                          .lanes = lanes,
                          .unit = unit,
                          .places = joins ? NULL : l->places,
                          .ahead = ahead};
  nxi_fft_end end = {.rows = source,
                     .planar = planar,
                     .count = joins ? l->n : l->stage[0].groups,
                     .lanes = lanes,
                     .twiddles = unit,
                     .places = l->places,
                     .ahead = ahead};
  if (e.enter) {
    e.enter(&end);
  } else {
    k->gather(&source, &planar, l->n + joins, lanes, local, ahead);
    if (joins) k->join_lanes[nxi_fft_width_for(k, lanes)](&h);
  }
  /* exchanged parts make the transform inverse */
  const nxi_fft_rows view = joins ? exchanged(planar) : planar;
  nxi_fft_run_in_place(l, view, lanes, e.begin, e.end, ahead);
  void *result = target.re;
  if (b->past) target.re = waiting_place(r, result);
  if (e.leave) {
    const nxi_fft_stage *last = &l->stage[l->passes - 1];
    end.rows = target;
    end.planar = view;
    end.rows.swapped = b->inverse;
    end.count = splits ? l->n : last->done;
    if (!splits) end.twiddles = last->broad;
    e.leave(&end);
  } else {
    if (splits) k->split_lanes[nxi_fft_width_for(k, lanes)](&h);
    k->scatter(&planar, l->places, &target, l->n + splits, lanes, local, ahead);
  }
  if (b->past) stream_later(r, result, target.re, out);
}

/* As many rows as fill lanes. */
static int64_t run_together(rows_run *r) {
  const nxi_fft_line *l = r->l;
  const int64_t count = r->b->count, least = nxi_fft_lanes(l);
  int64_t row = 0;
  while (count - row >= least && goes_to_lanes(l, r->unit, r->b->past)) {
    int64_t lanes = nxi_fft_column_lanes(l);
    int64_t some = (count - row) / least * least;
    if (some > lanes) some = lanes;
    run_short(r, row, some);
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

/* Some rows one by one, and so many reals from each to the next. */
typedef struct some_rows {
  nxi_fft_rows source, target;
  int64_t source_next, target_next, count;
} some_rows;

static nxi_fft_rows working_rows(const nxi_fft_line *l, void *scratch, int32_t copy, int64_t count,
                                 int64_t pitch) {
  return nxi_fft_planar(l, scratch, copy, count == 1 ? l->n : l->row_reals * count, pitch);
}

/* Fetches part i of l->passes of some memory. */
static void fetch_part(const nxi_fft_line *l, const void *p, int64_t bytes, int32_t i) {
  int64_t lines = lines_of(bytes), begin = lines * i / l->passes;
  nxi_fft_fetch((const char *)p + 64 * begin, 64 * (lines * (i + 1) / l->passes - begin));
}

/* next: memory that is fetched to a cache, a part before each pass. More than one row: of
 * rows_at_once. What a pass reads is kept as single numbers: of a structure that was just written
 * word by word the compiler would load vectors, which wait until the words have left for the
 * cache. */
static void run_some(const nxi_fft_line *l, const some_rows *some, void *scratch,
                     nxi_fft_ahead *ahead, const void *next, int64_t next_bytes) {
  const int64_t count = some->count, elements = count == 1 ? l->n : l->row_reals * count,
                half = nxi_fft_planar_reals(l, elements) * l->real_bytes;
  const bool starts = starts_in_target(l, &some->source, &some->target);
  char *re = some->source.re, *im = NULL;
  int64_t re_next = some->source_next;
  if (l->passes == 0 || !l->stage[0].row) {
    re = (char *)scratch + 2 * half, im = re + half;
    convert_row(l, some->source, (nxi_fft_rows){re, im, 0, false});
  }
  for (int32_t i = 0; i < l->passes; i++) {
    const nxi_fft_stage *s = &l->stage[i];
    char *to = (char *)scratch + 2 * (i % 2) * half, *to_im = to + half;
    int64_t to_next = l->row_reals;
    if (next_bytes > 0) fetch_part(l, next, next_bytes, i);
    if (s->last || (starts && i == 0)) {
      to = some->target.re;
      to_im = s->last ? NULL : nxi_fft_at(l, to, l->n);
      to_next = some->target_next;
    }
    if (s->row) {
      nxi_fft_pass p = {.source = {re, im, im ? s->groups : 2 * s->groups, some->source.swapped},
                        .target = {to, to_im, s->groups, false},
                        .done = s->done,
                        .groups = 1,
                        .lanes = s->groups,
                        .twiddles = s->broad,
                        .prime = s->prime,
                        .radix = s->radix,
                        .apart = l->apart && s->done == 1,
                        .ahead = ahead,
                        .transforms = count,
                        .source_next = re_next,
                        .target_next = to_next};
      s->row(&p);
    } else {
      nxi_fft_tail t = {.source = {re, im, 0, false},
                        .target = {to, to_im, 0, some->target.swapped},
                        .done = s->done,
                        .groups = s->groups,
                        .twiddles = s->flat,
                        .prime = s->prime,
                        .radix = s->radix,
                        .transforms = count,
                        .source_next = re_next,
                        .target_next = to_next,
                        .ahead = ahead};
      (s->last ? s->last : s->narrow)(&t);
    }
    if (s->last) return;
    re = to, im = to_im, re_next = to_next;
  }
  convert_row(l, (nxi_fft_rows){re, im, 0, false}, some->target);
}

/* The pairs of the working copy that no pass reads or writes when the last results are written,
 * and of the one that the first pass does not write. */
static void *last_pairs(const nxi_fft_line *l, void *scratch, int64_t count) {
  bool last = l->passes > 0 && l->stage[l->passes - 1].last;
  return working_rows(l, scratch, (l->passes + last) % 2, count, 0).re;
}
static void *first_pairs(const nxi_fft_line *l, void *scratch, int64_t count) {
  return working_rows(l, scratch, l->stage[0].row != NULL, count, 0).re;
}

/* Rows one by one of complex transforms that stay in the caches: nothing is moved meanwhile. */
static void run_plain(const nxi_fft_line *l, const nxi_fft_batch *b, void *scratch) {
  some_rows some = {.source = {nxi_fft_at(l, b->source, 0), NULL, 0, b->inverse},
                    .target = {b->target, NULL, 0, b->inverse},
                    .source_next = b->source_pitch,
                    .target_next = b->target_pitch};
  for (int64_t left = b->count; left > 0; left -= some.count) {
    some.count = left < l->at_once ? left : l->at_once;
    run_some(l, &some, scratch, NULL, NULL, 0);
    some.source.re = nxi_fft_at(l, some.source.re, some.count * b->source_pitch);
    some.target.re = nxi_fft_at(l, some.target.re, some.count * b->target_pitch);
  }
}

/* Rows one by one, with both steps of a real transform if there is a unit. */
static void run_single(rows_run *r, int64_t row, int64_t count) {
  const nxi_fft_line *l = r->l;
  const nxi_fft_batch *b = r->b;
  const nxi_fft_kernels *k = l->kernels;
  const bool later = r->waiting[0] != NULL;
  const int64_t left = b->count + (later ? b->further : 0) - row - count, in = b->source_pitch,
                out = count * b->target_pitch, times = count * l->passes;
  const void *source = nxi_fft_at(l, b->source, row * in);
  void *result = nxi_fft_at(l, b->target, row * b->target_pitch),
       *target = later     ? waiting_place(r, result)
                 : b->past ? last_pairs(l, r->scratch, count)
                           : result;
  some_rows some = {.source = {nxi_fft_at(l, source, 0), NULL, 0, b->inverse},
                    .target = {target, NULL, 0, b->inverse},
                    .source_next = in,
                    .target_next = b->target_pitch,
                    .count = count};
  nxi_fft_half h = {source, target, l->n, 0, l->n / 2 + 1, r->unit};
  if (r->unit && b->inverse) {
    if (b->past) h.target = first_pairs(l, r->scratch, count);
    some.source.re = h.target;
    some.source_next = b->target_pitch;
    for (int64_t i = 0; i < count; i++) {
      k->join(&h);
      h.source = nxi_fft_at(l, h.source, in);
      h.target = nxi_fft_at(l, h.target, b->target_pitch);
    }
  }
  const void *next = nxi_fft_at(l, source, count * in);
  const int64_t next_bytes = b->past ? (left < count ? left : count) * in * l->real_bytes : 0;
  if (later && times > 0) {
    fetch_within(&r->ahead, 0, next, next_bytes, times);
    stream_within(&r->ahead, times);
  }
  run_some(l, &some, r->scratch, later ? &r->ahead : NULL, next, later ? 0 : next_bytes);
  for (int64_t i = 0; i < count && r->unit && !b->inverse; i++) {
    h.source = h.target = nxi_fft_at(l, target, i * b->target_pitch);
    k->split(&h);
  }
  if (b->past) stream_later(r, result, target, out);
  if (!later) stream_now(r);
}

void nxi_fft_run_rows(const nxi_fft_line *l, const nxi_fft_batch *b, const void *unit,
                      void *scratch) {
  const bool together = has_together(l, b->count, unit, b->past);
  if (!together && !unit && !b->past) {
    run_plain(l, b, scratch);
    return;
  }
  rows_run r = {.l = l, .b = b, .unit = unit, .scratch = scratch};
  if (b->past && waits(l, unit)) {
    r.waiting[0] = (char *)scratch + working_bytes(l, together, unit != NULL);
    r.waiting[1] = r.waiting[0] + waiting_bytes(l, together, unit != NULL);
  }
  const int64_t most = b->past ? rows_past(l) : l->at_once;
  int64_t row = run_together(&r);
  for (int64_t count; row < b->count; row += count) {
    count = b->count - row < most ? b->count - row : most;
    run_single(&r, row, count);
  }
  if (!b->past) return;
  stream_now(&r);
  l->kernels->stream_end();
}
