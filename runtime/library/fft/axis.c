/* SPDX-License-Identifier: ISC */
/* Fourier transforms along one axis of a tensor: how they are divided into tasks, and how their
 * elements are accessed. There are three layouts:
 *   rows      the axis is the last one, so each transform is contiguous
 *   columns   the axis is not the last one: neighbouring columns are transformed side by side
 *   staged    all other cases: up to COLUMNS neighbouring transforms are copied to rows of scratch
 *             memory, transformed there and copied back
 * A transform of an even number n of reals is done as one of n / 2 complex numbers, with a step
 * before or after it that is called "halves" here. */
#include "axis.h"

#include <string.h>

/* COLUMNS: transforms staged together. TASK_PAIRS: complex numbers that make a task. CHUNK:
 * elements of a task within one long row. GROUP_PAIRS: complex numbers of the transforms that
 * threads share at a time. TILE: elements copied, or fetched, at a time. */
enum { COLUMNS = 16, TASK_PAIRS = 4096, CHUNK = 4096, GROUP_PAIRS = 1 << 17, TILE = 64 };

typedef struct axis_run {
  const nxi_fft_axis *a;
  const void *source;
  void *target;
  char *own, *shared;
  int64_t first, count; /* staged: these transforms */
} axis_run;

/* Computed in integers, because the pointer to an operand without elements may be null. */
static char *at(const nxi_fft_axis *a, const void *p, int64_t reals) {
  return (char *)((uintptr_t)p + (uintptr_t)(reals * a->line->real_bytes));
}

static bool is_half(const nxi_fft_axis *a) { return a->form != NXI_FFT_COMPLEX && a->n % 2 == 0; }
static int64_t source_reals(const nxi_fft_axis *a) { return a->form == NXI_FFT_FROM_REAL ? 1 : 2; }
static int64_t target_reals(const nxi_fft_axis *a) { return a->form == NXI_FFT_TO_REAL ? 1 : 2; }

static nxi_fft_layout layout_of(const nxi_fft_axis *a) {
  bool whole = a->form != NXI_FFT_TO_REAL || a->source_extent > a->n / 2;
  if (a->inner == 1 && whole && (a->form == NXI_FFT_COMPLEX || is_half(a))) return NXI_FFT_ROWS;
  bool lanes = a->line->way == NXI_FFT_PASSES && a->inner >= nxi_fft_least_lanes(a->line);
  return whole && lanes && (a->form == NXI_FFT_COMPLEX || is_half(a)) ? NXI_FFT_SIDE_BY_SIDE
                                                                      : NXI_FFT_STAGED;
}

void nxi_fft_axis_choose(nxi_fft_axis *a) {
  a->layout = layout_of(a);
  a->whole = nxi_fft_line_local(a->line) || a->layout == NXI_FFT_SIDE_BY_SIDE;
}

/* ---- the step from or to the transform of half length, elements begin .. end - 1 of 1 + n / 4 */

static void half_step(const nxi_fft_axis *a, const void *source, void *target, int64_t begin,
                      int64_t end) {
  nxi_fft_half h = {source, target, a->n / 2, begin, end, a->unit};
  if (a->form == NXI_FFT_FROM_REAL) a->line->kernels->split(&h);
  else a->line->kernels->join(&h);
}

static int64_t half_steps(const nxi_fft_axis *a) { return a->n / 4 + 1; }

/* ---- rows */

static nxi_fft_batch rows_batch(const axis_run *r, int64_t row, int64_t count) {
  const nxi_fft_axis *a = r->a;
  int64_t from = a->source_extent * source_reals(a), to = a->target_extent * target_reals(a);
  nxi_fft_batch b = {at(a, r->source, row * from),
                     at(a, r->target, row * to),
                     from,
                     to,
                     count,
                     a->inverse,
                     a->past,
                     a->outer - row - count,
                     a->near};
  return b;
}

/* Fetches pairs first .. first + count - 1 and the ones that belong to them, of half a spectrum. */
static void fetch_halves(const nxi_fft_axis *a, const void *p, int64_t first, int64_t count) {
  const char *near = at(a, p, 2 * first), *far = at(a, p, a->n - 2 * (first + count));
  for (int64_t i = 0; i < 2 * count * a->line->real_bytes; i += 64) {
    __builtin_prefetch(near + i);
    __builtin_prefetch(far + i);
  }
}

/* The step before the complex transform (to reals), which then works in place, or after it (from
 * reals). The former reads and writes at four places, of which hardware does not foresee enough. */
static void rows_halves(const axis_run *r, int64_t row, int64_t begin, int64_t end) {
  nxi_fft_batch b = rows_batch(r, row, 1);
  if (r->a->form == NXI_FFT_FROM_REAL) {
    half_step(r->a, b.target, b.target, begin, end);
    return;
  }
  for (int64_t from = begin, to; from < end; from = to) {
    to = from + TILE < end ? from + TILE : end;
    int64_t further = to + TILE < end ? TILE : end - to;
    fetch_halves(r->a, b.source, to, further);
    fetch_halves(r->a, b.target, to, further);
    half_step(r->a, b.source, b.target, from, to);
  }
}

/* A real row whose line is a chirp. */
static void transform_chirp(const axis_run *r, int64_t row) {
  const nxi_fft_axis *a = r->a;
  nxi_fft_batch b = rows_batch(r, row, 1);
  if (a->form == NXI_FFT_TO_REAL) {
    rows_halves(r, row, 0, half_steps(a));
    b.source = b.target;
  }
  nxi_fft_batch_here(a->line, &b, r->own);
  if (a->form == NXI_FFT_FROM_REAL) rows_halves(r, row, 0, half_steps(a));
}

static void rows_tasks(const axis_run *r, int64_t begin, int64_t end) {
  const nxi_fft_axis *a = r->a;
  nxi_fft_batch b = rows_batch(r, begin, end - begin);
  if (a->form == NXI_FFT_COMPLEX) nxi_fft_batch_here(a->line, &b, r->own);
  else if (a->line->way == NXI_FFT_PASSES) nxi_fft_run_rows(a->line, &b, a->unit, r->own);
  else
    for (int64_t row = begin; row < end; row++) transform_chirp(r, row);
}

static int64_t chunks_of(int64_t elements) { return (elements + CHUNK - 1) / CHUNK; }

static void halves_tasks(const axis_run *r, int64_t begin, int64_t end) {
  int64_t steps = half_steps(r->a), chunks = chunks_of(steps);
  for (int64_t task = begin; task < end; task++) {
    int64_t from = task % chunks * CHUNK, to = from + CHUNK < steps ? from + CHUNK : steps;
    rows_halves(r, task / chunks, from, to);
  }
}

/* How many transforms threads share at a time: enough work for all threads, in bounded memory. */
static int64_t group_size(const nxi_fft_axis *a) {
  int64_t size = a->line->n < GROUP_PAIRS ? GROUP_PAIRS / a->line->n : 1,
          count = a->outer * a->inner;
  return size < count ? size : count;
}

/* The transforms of group number i; the last group may have fewer. */
static int64_t group_count(const nxi_fft_axis *a, int64_t i) {
  int64_t size = group_size(a), left = a->outer - i * size;
  return left < size ? left : size;
}

static void shared_rows_tasks(const axis_run *r, int64_t group, uint32_t phase, int64_t begin,
                              int64_t end) {
  const nxi_fft_axis *a = r->a;
  nxi_fft_batch b = rows_batch(r, group * group_size(a), group_count(a, group));
  if (a->form == NXI_FFT_FROM_REAL) b.past = false; /* the halves read it */
  if (a->form == NXI_FFT_TO_REAL) {
    b.source = b.target;
    b.source_pitch = b.target_pitch;
  }
  nxi_fft_batch_shared(a->line, &b, phase, begin, end, r->own, r->shared);
}

/* ---- neighbouring columns */

static int64_t column_strips(const nxi_fft_axis *a) {
  return nxi_fft_strips(a->inner, nxi_fft_column_lanes(a->line));
}

static void columns_tasks(const axis_run *r, int64_t begin, int64_t end) {
  const nxi_fft_axis *a = r->a;
  int64_t lanes = nxi_fft_column_lanes(a->line), least = nxi_fft_least_lanes(a->line);
  int64_t strips = column_strips(a);
  for (int64_t task = begin; task < end; task++) {
    int64_t first, count, outer = task / strips, from = source_reals(a), to = target_reals(a);
    nxi_fft_strip(a->inner, lanes, least, task % strips, &first, &count);
    nxi_fft_batch b = {at(a, r->source, (outer * a->source_extent * a->inner + first) * from),
                       at(a, r->target, (outer * a->target_extent * a->inner + first) * to),
                       a->inner * from,
                       a->inner * to,
                       1,
                       a->inverse,
                       false,
                       0,
                       false};
    if (a->form == NXI_FFT_COMPLEX) nxi_fft_columns(a->line, &b, count, r->own);
    else nxi_fft_real_columns(a->line, &b, count, a->unit, r->own);
  }
}

/* ---- staged: rows of n or n / 2 + 1 pairs, or n reals */

static int64_t stage_pitch(const nxi_fft_axis *a) {
  int64_t line = 64 / a->line->real_bytes;
  return (2 * (is_half(a) ? a->n / 2 + 1 : a->n) + line - 1) / line * line + line;
}

static int64_t stage_bytes(const nxi_fft_axis *a) {
  return COLUMNS * stage_pitch(a) * a->line->real_bytes;
}

/* The position of the first element of transform t, counted in real numbers. */
static int64_t start(const nxi_fft_axis *a, int64_t t, int64_t extent, int64_t reals) {
  return (t / a->inner * extent * a->inner + t % a->inner) * reals;
}

/* How elements are copied. ONE: a real number; PAIR: a complex number; WIDEN: a real number
 * becomes a complex one; MIRROR: the conjugate of a complex number; ZERO: complex zeros. Steps
 * are counted in real numbers. */
typedef enum move { ONE, PAIR, WIDEN, MIRROR, ZERO } move;
#define MOVE(type)                                                                        \
  static void move_##type(type *to, int64_t to_step, const type *from, int64_t from_step, \
                          int64_t count, move m) {                                        \
    for (int64_t j = 0; j < count; j++, to += to_step, from += from_step) {               \
      if (m == ZERO) to[0] = to[1] = 0;                                                   \
      else to[0] = from[0];                                                               \
      if (m == PAIR) to[1] = from[1];                                                     \
      if (m == WIDEN) to[1] = 0;                                                          \
      if (m == MIRROR) to[1] = -from[1];                                                  \
    }                                                                                     \
  }
MOVE(float)
MOVE(double)

static void move_elements(const nxi_fft_axis *a, char *to, int64_t to_step, const char *from,
                          int64_t from_step, int64_t count, move m) {
  if (m == ZERO) from = to, from_step = to_step; /* `from` may be null */
  if (a->line->real_bytes == 4)
    move_float((float *)(void *)to, to_step, (const float *)(const void *)from, from_step, count,
               m);
  else
    move_double((double *)(void *)to, to_step, (const double *)(const void *)from, from_step, count,
                m);
}

/* Copies elements begin .. end - 1 of one transform to its row. A spectrum that is shorter than
 * the transform is continued with zeros. For an odd number of reals the second half follows, the
 * conjugates of the first in reverse order. */
static void load_row(const nxi_fft_axis *a, char *row, const char *source, int64_t begin,
                     int64_t end) {
  int64_t reals = source_reals(a), step = a->inner * reals, half = a->n / 2,
          given = a->source_extent;
  if (a->form != NXI_FFT_TO_REAL) {
    int64_t to_step = reals == 1 && is_half(a) ? 1 : 2;
    move_elements(a, at(a, row, begin * to_step), to_step, at(a, source, begin * step), step,
                  end - begin,
                  reals == 2   ? PAIR
                  : is_half(a) ? ONE
                               : WIDEN);
    return;
  }
  if (given > half + 1) given = half + 1;
  int64_t stop = end < given ? end : given;
  if (begin < stop)
    move_elements(a, at(a, row, 2 * begin), 2, at(a, source, begin * step), step, stop - begin,
                  PAIR);
  if (begin == 0 && given > 0) memset(at(a, row, 1), 0, (size_t)a->line->real_bytes);
  int64_t zeros = begin > given ? begin : given,
          mirrors = a->n - given + 1; /* from here on n - j < given */
  stop = end < mirrors || is_half(a) ? end : mirrors;
  if (zeros < stop) move_elements(a, at(a, row, 2 * zeros), 2, source, 0, stop - zeros, ZERO);
  if (is_half(a)) return;
  if (mirrors < begin) mirrors = begin;
  if (mirrors < end && given > 0)
    move_elements(a, at(a, row, 2 * mirrors), 2, at(a, source, (a->n - mirrors) * step), -step,
                  end - mirrors, MIRROR);
}

/* Copies all transforms of a stage, TILE elements of each at a time: neighbouring transforms
 * share cache lines, which are then still in the cache. */
static void load_stage(const axis_run *r, char *stage, int64_t begin, int64_t end) {
  const nxi_fft_axis *a = r->a;
  for (int64_t j = begin; j < end; j += TILE)
    for (int64_t c = 0; c < r->count; c++)
      load_row(a, at(a, stage, c * stage_pitch(a)),
               at(a, r->source, start(a, r->first + c, a->source_extent, source_reals(a))), j,
               j + TILE < end ? j + TILE : end);
}

static void store_stage(const axis_run *r, const char *stage, int64_t begin, int64_t end) {
  const nxi_fft_axis *a = r->a;
  int64_t reals = target_reals(a), step = a->inner * reals,
          apart = reals == 1 && is_half(a) ? 1 : 2;
  for (int64_t j = begin; j < end; j += TILE) {
    int64_t count = end - j < TILE ? end - j : TILE;
    for (int64_t c = 0; c < r->count; c++)
      move_elements(a, at(a, r->target, start(a, r->first + c, a->target_extent, reals) + j * step),
                    step, at(a, stage, c * stage_pitch(a) + j * apart), apart, count,
                    reals == 1 ? ONE : PAIR);
  }
}

/* How many elements of each transform are copied to its row. */
static int64_t loads(const nxi_fft_axis *a) {
  return a->form == NXI_FFT_TO_REAL && is_half(a) ? a->n / 2 + 1 : a->n;
}

static void stage_halves(const axis_run *r, char *stage, int64_t begin, int64_t end) {
  for (int64_t c = 0; c < r->count; c++) {
    char *row = at(r->a, stage, c * stage_pitch(r->a));
    half_step(r->a, row, row, begin, end);
  }
}

static int64_t blocks(const nxi_fft_axis *a) {
  return (a->outer * a->inner + COLUMNS - 1) / COLUMNS;
}
static void set_block(axis_run *r, int64_t block) {
  int64_t left = r->a->outer * r->a->inner - block * COLUMNS;
  r->first = block * COLUMNS;
  r->count = left < COLUMNS ? left : COLUMNS;
}

static void staged_tasks(const axis_run *run, int64_t begin, int64_t end) {
  axis_run r = *run;
  const nxi_fft_axis *a = r.a;
  char *stage = r.own, *scratch = stage + stage_bytes(a);
  nxi_fft_batch b = {stage, stage, stage_pitch(a), stage_pitch(a), 0, a->inverse, false, 0, false};
  for (int64_t block = begin; block < end; block++) {
    set_block(&r, block);
    b.count = r.count;
    load_stage(&r, stage, 0, loads(a));
    if (is_half(a) && a->form == NXI_FFT_TO_REAL) stage_halves(&r, stage, 0, half_steps(a));
    nxi_fft_batch_here(a->line, &b, scratch);
    if (is_half(a) && a->form == NXI_FFT_FROM_REAL) stage_halves(&r, stage, 0, half_steps(a));
    store_stage(&r, stage, 0, a->target_extent);
  }
}

/* ---- phases. If threads share each transform, the axis takes several phases, with all threads
 * waiting between them: the step of half length before it, the phases of the transform, and the
 * step after it. In the staged layout a block of transforms is copied to rows, they are
 * transformed one after the other, and are copied back. */

typedef enum step { WHOLE, HALVES, TRANSFORM, LOAD, STORE } step;
typedef struct phase {
  step step;
  int64_t group;  /* transforms together, or blocks of a stage */
  int64_t row;    /* of a stage */
  uint32_t inner; /* of the line's phases */
} phase;

static int64_t block_phases(const nxi_fft_axis *a) {
  return 2 + (int64_t)COLUMNS * nxi_fft_phases(a->line) + is_half(a);
}

static phase rows_phase(const nxi_fft_axis *a, int64_t at) {
  int64_t inner = nxi_fft_phases(a->line), groups = (a->outer + group_size(a) - 1) / group_size(a);
  if (a->form == NXI_FFT_TO_REAL && at-- == 0) return (phase){.step = HALVES};
  if (at == groups * inner) return (phase){.step = HALVES};
  return (phase){.step = TRANSFORM, .group = at / inner, .inner = (uint32_t)(at % inner)};
}

static phase staged_phase(const nxi_fft_axis *a, int64_t at) {
  int64_t inner = nxi_fft_phases(a->line), count = block_phases(a);
  phase p = {.step = TRANSFORM, .group = at / count};
  at = at % count - 1; /* after the load */
  if (at < 0 || at == count - 2) {
    p.step = at < 0 ? LOAD : STORE;
    return p;
  }
  if (is_half(a) && at == (a->form == NXI_FFT_TO_REAL ? 0 : count - 3)) {
    p.step = HALVES;
    return p;
  }
  if (is_half(a) && a->form == NXI_FFT_TO_REAL) at--;
  p.row = at / inner;
  p.inner = (uint32_t)(at % inner);
  return p;
}

static phase phase_at(const nxi_fft_axis *a, int64_t at) {
  if (a->whole) return (phase){.step = WHOLE};
  return a->layout == NXI_FFT_ROWS ? rows_phase(a, at) : staged_phase(a, at);
}

int64_t nxi_fft_axis_phases(const nxi_fft_axis *a) {
  if (a->outer == 0 || a->inner == 0) return 0;
  if (a->whole) return 1;
  if (a->layout == NXI_FFT_STAGED) return blocks(a) * block_phases(a);
  int64_t groups = (a->outer + group_size(a) - 1) / group_size(a);
  return groups * nxi_fft_phases(a->line) + is_half(a);
}

static int64_t grain_of(int64_t pairs) { return pairs >= TASK_PAIRS ? 1 : TASK_PAIRS / pairs; }

static void whole_tasks(const nxi_fft_axis *a, int64_t *tasks, int64_t *grain) {
  int64_t lanes;
  switch (a->layout) {
    case NXI_FFT_ROWS:
      lanes = nxi_fft_rows_together(a->line, is_half(a), a->past);
      *tasks = a->outer;
      *grain = (grain_of(a->n) + lanes - 1) / lanes * lanes;
      break;
    case NXI_FFT_SIDE_BY_SIDE:
      lanes = nxi_fft_column_lanes(a->line);
      *tasks = a->outer * column_strips(a);
      *grain = grain_of(a->n * (lanes < a->inner ? lanes : a->inner));
      break;
    default: *tasks = blocks(a); *grain = grain_of(a->n * COLUMNS);
  }
}

void nxi_fft_axis_phase(const nxi_fft_axis *a, int64_t number, int64_t *tasks, int64_t *grain) {
  phase p = phase_at(a, number);
  bool rows = a->layout == NXI_FFT_ROWS;
  *grain = 1;
  switch (p.step) {
    case WHOLE: whole_tasks(a, tasks, grain); break;
    case HALVES:
      *tasks = chunks_of(half_steps(a)) * (rows ? a->outer : 1);
      if (rows) *grain = 4;
      break;
    case LOAD: *tasks = chunks_of(loads(a)); break;
    case STORE: *tasks = chunks_of(a->target_extent); break;
    case TRANSFORM: {
      axis_run r = {.a = a};
      if (!rows) set_block(&r, p.group);
      int64_t count = rows ? group_count(a, p.group) : p.row < r.count;
      *tasks = nxi_fft_tasks(a->line, p.inner, count);
    }
  }
}

/* Runs tasks of a phase of the staged layout, whose rows are in shared memory. */
static void stage_tasks(const axis_run *r, const phase *p, int64_t begin, int64_t end) {
  const nxi_fft_axis *a = r->a;
  int64_t pitch = stage_pitch(a), first = begin * CHUNK, last = end * CHUNK;
  int64_t most = p->step == LOAD ? loads(a) : p->step == STORE ? a->target_extent : half_steps(a);
  if (last > most) last = most;
  if (p->step == LOAD) load_stage(r, r->shared, first, last);
  else if (p->step == STORE) store_stage(r, r->shared, first, last);
  else if (p->step == HALVES) stage_halves(r, r->shared, first, last);
  else {
    char *row = at(a, r->shared, p->row * pitch);
    nxi_fft_batch b = {row, row, pitch, pitch, 1, a->inverse, false, 0, false};
    nxi_fft_batch_shared(a->line, &b, p->inner, begin, end, r->own, r->shared + stage_bytes(a));
  }
}

void nxi_fft_axis_run(const nxi_fft_axis *a, const nxi_fft_part *part) {
  axis_run r = {.a = a,
                .source = part->source,
                .target = part->target,
                .own = part->own,
                .shared = part->shared};
  const nxi_fft_layout l = a->layout;
  if (a->whole) {
    (l == NXI_FFT_ROWS           ? rows_tasks
     : l == NXI_FFT_SIDE_BY_SIDE ? columns_tasks
                                 : staged_tasks)(&r, part->begin, part->end);
    return;
  }
  phase p = phase_at(a, part->phase);
  if (l == NXI_FFT_STAGED) {
    set_block(&r, p.group);
    stage_tasks(&r, &p, part->begin, part->end);
  } else if (p.step == HALVES) halves_tasks(&r, part->begin, part->end);
  else shared_rows_tasks(&r, p.group, p.inner, part->begin, part->end);
}

/* ---- memory */

int64_t nxi_fft_axis_own_bytes(const nxi_fft_axis *a) {
  bool staged = a->layout == NXI_FFT_STAGED && nxi_fft_line_local(a->line);
  if (a->layout == NXI_FFT_ROWS)
    return nxi_fft_rows_own_bytes(a->line, a->outer, is_half(a), a->past);
  return nxi_fft_own_bytes(a->line) + (staged ? stage_bytes(a) : 0);
}

int64_t nxi_fft_axis_shared_bytes(const nxi_fft_axis *a) {
  if (nxi_fft_line_local(a->line)) return 0;
  const bool staged = a->layout == NXI_FFT_STAGED, split = a->form == NXI_FFT_FROM_REAL;
  /* Their results are their own middle (fft/line.c): never the operand, and never past the
   * caches. */
  if (!staged && split && a->line->way == NXI_FFT_TWO_STEPS) return 0;
  return nxi_fft_shared_bytes(a->line, staged ? 1 : group_size(a)) + (staged ? stage_bytes(a) : 0);
}
