/* SPDX-License-Identifier: ISC */
/* Transforms side by side: their passes, and columns of tensors. */
#include "run.h"

/* STRIP_BYTES: of the real parts, at least, and as many of the imaginary ones. */
enum { STRIP_BYTES = 1 << 13 };

/* Rows without gaps on both sides are one long row. */
void nxi_fft_run_pass(const nxi_fft_kernels *k, int32_t kernel, nxi_fft_pass *p) {
  bool dense =
      p->source.im && p->target.im && p->source.pitch == p->lanes && p->target.pitch == p->lanes;
  if (dense && !p->by_row) {
    p->lanes *= p->groups;
    p->source.pitch = p->target.pitch = p->lanes;
    p->groups = 1;
  }
  k->wide[nxi_fft_width_for(k, p->lanes)][kernel](p);
}

/* ---- passes */

/* Fetches part i of l->passes of the source's neighbours. Hardware does not foresee rows that lie
 * far apart. */
static void fetch_neighbours(const nxi_fft_line *l, const nxi_fft_lanes_run *r, int32_t i) {
  const int64_t end = l->n * (i + 1) / l->passes, bytes = 2 * r->lanes * l->real_bytes;
  for (int64_t row = l->n * i / l->passes; row < end; row++)
    nxi_fft_fetch(nxi_fft_at(l, r->source.re, row * r->source.pitch + r->next), bytes);
}

static nxi_fft_pass pass_of(const nxi_fft_stage *s, int64_t lanes) {
  return (nxi_fft_pass){.done = s->done,
                        .groups = s->groups,
                        .lanes = lanes,
                        .twiddles = s->broad,
                        .prime = s->prime,
                        .radix = s->radix};
}

/* Whether lanes are in local order between the first pass and the last one. */
static bool is_apart(const nxi_fft_line *l, const nxi_fft_lanes_run *r) {
  const int32_t width = l->kernels->apart;
  return width && r->lanes % width == 0 && !r->source.im && !r->target.im && !r->by_lane;
}

/* A single pass could overwrite what it still has to read, so its result goes to a working copy and
 * is then copied to the target. */
void nxi_fft_run_lanes(const nxi_fft_line *l, const nxi_fft_lanes_run *r) {
  const bool apart = is_apart(l, r);
  int64_t elements = l->n * r->lanes;
  nxi_fft_rows from = r->source;
  int32_t copy = r->first_copy, alone = l->passes == 0 || (l->passes == 1 && !r->target.im);
  for (int32_t i = 0; i < l->passes + alone; i++) {
    static const nxi_fft_stage copying = {.radix = 1, .done = 1, .groups = 1};
    const nxi_fft_stage *s = i < l->passes ? &l->stage[i] : &copying;
    bool ends = i == l->passes - 1 + alone;
    if (r->next && i < l->passes) fetch_neighbours(l, r, i);
    nxi_fft_rows to = ends ? r->target : nxi_fft_planar(l, r->scratch, copy, elements, r->lanes);
    nxi_fft_pass p = pass_of(s, r->lanes);
    p.source = from;
    p.target = to;
    p.apart = apart;
    if (ends) {
      if (alone) *(r->by_row ? &p.done : &p.groups) = l->n;
      p.by_row = r->by_row;
      p.by_lane = r->by_lane;
      p.lane_block = nxi_fft_lanes(l);
    }
    nxi_fft_run_pass(l->kernels, s->kernel, &p);
    from = to;
    copy = 1 - copy;
  }
}

void nxi_fft_run_in_place(const nxi_fft_line *l, nxi_fft_rows rows, int64_t lanes, int32_t begin,
                          int32_t end, nxi_fft_ahead *ahead) {
  for (int32_t i = begin; i < end; i++) {
    nxi_fft_pass p = pass_of(&l->stage[i], lanes);
    p.source = p.target = rows;
    p.order = l->stage[i].order;
    p.ahead = ahead;
    nxi_fft_run_pass(l->kernels, l->stage[i].kernel, &p);
  }
}

/* ---- columns */

int64_t nxi_fft_column_lanes(const nxi_fft_line *l) {
  int64_t lanes = nxi_fft_lanes(l), pairs = STRIP_BYTES / (2 * l->real_bytes);
  return l->n * lanes >= pairs ? lanes : pairs / l->n / lanes * lanes;
}

void nxi_fft_columns(const nxi_fft_line *l, const nxi_fft_batch *b, int64_t lanes, void *scratch) {
  nxi_fft_lanes_run r = {.source = {nxi_fft_at(l, b->source, 0), NULL, b->source_pitch, b->inverse},
                         .target = {b->target, NULL, b->target_pitch, b->inverse},
                         .lanes = lanes,
                         .scratch = scratch};
  nxi_fft_run_lanes(l, &r);
}

/* Even rows are the real parts of the complex numbers that are transformed, odd rows the imaginary
 * parts. */
void nxi_fft_real_columns(const nxi_fft_line *l, const nxi_fft_batch *b, int64_t lanes,
                          const void *unit, void *scratch) {
  const nxi_fft_kernels *k = l->kernels;
  int64_t elements = l->n * lanes, pitch = b->inverse ? b->target_pitch : b->source_pitch;
  void *even = nxi_fft_at(l, b->inverse ? b->target : b->source, 0),
       *odd = nxi_fft_at(l, even, pitch);
  nxi_fft_half_lanes h = {.half = l->n, .lanes = lanes, .unit = unit};
  nxi_fft_lanes_run r = {.lanes = lanes, .scratch = scratch};
  if (b->inverse) {
    h.planar = nxi_fft_planar(l, scratch, 0, elements, lanes);
    h.pairs = (nxi_fft_rows){nxi_fft_at(l, b->source, 0), NULL, b->source_pitch, false};
    k->join_lanes[nxi_fft_width_for(k, lanes)](&h);
    r.source = (nxi_fft_rows){h.planar.im, h.planar.re, lanes,
                              false}; /* exchanged parts make the transform inverse */
    r.target = (nxi_fft_rows){odd, even, 2 * pitch, false};
    r.first_copy = 1;
    nxi_fft_run_lanes(l, &r);
    return;
  }
  r.source = (nxi_fft_rows){even, odd, 2 * pitch, false};
  r.target = h.planar =
      nxi_fft_planar(l, scratch, l->passes > 0 ? (l->passes - 1) % 2 : 0, elements, lanes);
  h.pairs = (nxi_fft_rows){b->target, NULL, b->target_pitch, false};
  nxi_fft_run_lanes(l, &r);
  k->split_lanes[nxi_fft_width_for(k, lanes)](&h);
}
