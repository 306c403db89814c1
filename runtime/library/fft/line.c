/* SPDX-License-Identifier: ISC */
/* Running complex transforms of one length: chirps, and the strips of two steps. */
#include "run.h"

#include <string.h>

enum { CHUNK_PAIRS = 8192 };

/* ---- chirps */

static void multiply(const nxi_fft_line *l, const void *source, bool from_swapped,
                     const void *factor, void *target, bool to_swapped, int64_t begin,
                     int64_t end) {
  nxi_fft_rows from = {nxi_fft_at(l, source, 2 * begin), NULL, 0, from_swapped};
  nxi_fft_rows to = {nxi_fft_at(l, target, 2 * begin), NULL, 0, to_swapped};
  l->kernels->multiply(&from, nxi_fft_at(l, factor, 2 * begin), &to, end - begin);
}

static void clear(const nxi_fft_line *l, void *p, int64_t begin, int64_t end) {
  memset(nxi_fft_at(l, p, 2 * begin), 0, (size_t)((end - begin) * 2 * l->real_bytes));
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
  nxi_fft_batch b = {scratch, scratch, 2 * m, 2 * m, 1, false, false, 0, false};
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

void nxi_fft_batch_here(const nxi_fft_line *l, const nxi_fft_batch *b, void *scratch) {
  if (l->way == NXI_FFT_PASSES) {
    nxi_fft_run_rows(l, b, NULL, scratch);
    return;
  }
  for (int64_t row = 0; row < b->count; row++)
    run_chirp(l, nxi_fft_at(l, b->source, row * b->source_pitch),
              nxi_fft_at(l, b->target, row * b->target_pitch), b->inverse, scratch);
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
 * compete for the same sets of the cache.
 *
 * A result that stays in the caches is its own middle, if it is not the operand, too: then the
 * first step writes a strip as rows of that, of which the second one transforms columns in
 * place. */
static bool is_own_middle(const shared_run *r) {
  return r->b->source != r->b->target && !r->b->past;
}
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
/* Columns of transforms that are their own middle. */
static nxi_fft_rows own_columns(const shared_run *r, int64_t transform, int64_t first) {
  const int64_t at = transform * r->b->target_pitch + 2 * first;
  return (nxi_fft_rows){nxi_fft_at(r->l, r->b->target, at), NULL, 2 * r->l->first->n, false};
}

/* Where the first step leaves a strip: what is to become rows in the working copy that the last
 * pass may write. */
static nxi_fft_rows strip_place(const shared_run *r, int64_t transform, int64_t strip,
                                int64_t count) {
  const nxi_fft_line *l = r->l, *line = l->first;
  if (is_own_middle(r))
    return nxi_fft_planar(l, r->own, (line->passes + 1) % 2, line->n * count, count);
  void *place = nxi_fft_at(l, middle(r, transform), strip * strip_reals(l));
  return (nxi_fft_rows){place, NULL, 2 * nxi_fft_lanes(l), false};
}

static void first_step(const shared_run *r, int64_t begin, int64_t end) {
  const nxi_fft_line *l = r->l, *line = l->first;
  int64_t columns = l->second->n, strips = strips_of(l, columns);
  for (int64_t task = begin; task < end; task++) {
    int64_t transform = task / strips, strip = task % strips, first, count;
    nxi_fft_strip(columns, nxi_fft_lanes(l), least_rows(l), strip, &first, &count);
    const void *source = nxi_fft_at(l, r->b->source, transform * r->b->source_pitch + 2 * first);
    nxi_fft_lanes_run run = {.source = {nxi_fft_at(l, source, 0), NULL, 2 * columns, r->b->inverse},
                             .target = strip_place(r, transform, strip, count),
                             .lanes = count,
                             .scratch = r->own,
                             .next = task + 1 < end && strip + 1 < strips ? 2 * count : 0,
                             .by_row = nxi_fft_at(l, l->by_row, 2 * strip * line->n),
                             .by_lane = l->by_lane};
    nxi_fft_run_lanes(line, &run);
    if (!is_own_middle(r)) continue;
    nxi_fft_rows rows = own_columns(r, transform, first * line->n);
    l->kernels->scatter(&run.target, l->in_order, &rows, line->n, count, false, NULL);
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
    nxi_fft_rows from = {nxi_fft_at(l, middle(r, transform), place), NULL, 2 * lanes, false},
                 to = *planar;
    to.re = nxi_fft_at(l, to.re, column * count);
    to.im = nxi_fft_at(l, to.im, column * count);
    if (strip + 1 < strips)
      nxi_fft_fetch(nxi_fft_at(l, from.re, strip_reals(l)), 2 * lanes * count * l->real_bytes);
    l->kernels->gather(&from, &to, columns, count, false, NULL);
  }
}

static void second_step(const shared_run *r, int64_t begin, int64_t end) {
  const nxi_fft_line *l = r->l, *line = l->second;
  int64_t rows = l->first->n, lanes = nxi_fft_lanes(l), strips = strips_of(l, rows);
  for (int64_t task = begin; task < end; task++) {
    int64_t transform = task / strips, first, count;
    nxi_fft_strip(rows, lanes, least_rows(l), task % strips, &first, &count);
    void *target = nxi_fft_at(l, r->b->target, transform * r->b->target_pitch + 2 * first);
    nxi_fft_lanes_run run = {.source = nxi_fft_planar(line, r->own, 0, line->n * count, count),
                             .target = {target, NULL, 2 * rows, r->b->inverse},
                             .lanes = count,
                             .scratch = r->own,
                             .first_copy = 1};
    if (is_own_middle(r)) {
      run.source = own_columns(r, transform, first);
      run.next = task + 1 < end && task % strips + 1 < strips ? 2 * count : 0;
    } else gather_strips(r, transform, first, count, &run.source);
    if (r->b->past) { /* by the working copy that the last pass does not read */
      run.target.re = nxi_fft_planar(line, r->own, line->passes % 2, line->n * count, 0).re;
      run.target.pitch = 2 * count;
    }
    nxi_fft_run_lanes(line, &run);
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
    chirp_product(l, step, nxi_fft_at(l, r->b->source, transform * r->b->source_pitch),
                  middle(r, transform), nxi_fft_at(l, r->b->target, transform * r->b->target_pitch),
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
    nxi_fft_batch waves = {shared, shared, pitch, pitch, b->count, false, false, 0, false};
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
    return nxi_fft_copies_bytes(l, longer * nxi_fft_lanes(l));
  }
  const int64_t columns = l->n * nxi_fft_column_lanes(l), rows = l->row_reals * l->at_once;
  return nxi_fft_copies_bytes(l, columns > rows ? columns : rows);
}

int64_t nxi_fft_shared_bytes(const nxi_fft_line *l, int64_t groups) {
  if (nxi_fft_line_local(l)) return 0;
  int64_t inner = l->way == NXI_FFT_CHIRP ? each_bytes(l->inner) : 0;
  return groups * (each_bytes(l) + inner);
}
