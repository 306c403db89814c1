/* SPDX-License-Identifier: ISC */
/* The shape of strips: how many columns they have, how many registers a value takes, and how many
 * rows are processed together. */
#include "passes/bind/bind.h"

enum { STRIP_BYTES = 4096, HALF_BLOCK = NXB_STRIP_ROWS / 2, SHORT_CODE = 6 };

/* Whether the time of a stage is that of reading rows 16 rows apart: a reduction adds up in 16
 * lanes, and does little else, as a row times a matrix. */
static bool adds_in_lanes(const nxb_binder *b, const nxb_stage *stage) {
  if (nxb_code_cost(b, stage->first, stage->last) > SHORT_CODE) return false;
  for (uint32_t i = 0; i < stage->n_reduces; i++) {
    nxb_order order = nxb_order_of(b->from, stage->reduce[i]);
    if (order.lanes == 16 && order.block == NXB_STRIP_ROWS) return true;
  }
  return false;
}

/* How many rows are processed together. If the data comes from memory it is a whole block: each
 * column is read from 16 rows and added in registers. Of rows that are 16 rows apart it is half a
 * block, since prefetchers of the hardware follow no more streams that are that far apart. */
uint32_t nxb_strip_rows(const nxb_binder *b, const nxb_stage *stage) {
  uint32_t cost = nxb_code_cost(b, stage->first, stage->last);
  if (adds_in_lanes(b, stage)) return HALF_BLOCK;
  if (cost <= 12) return nxb_reads_pass_cache(b, stage) ? NXB_STRIP_ROWS : 4;
  return cost <= 30 ? 2 : 1;
}

/* Registers for each value. If the data comes from memory it is one: with four, 64 cache lines of
 * 16 rows are requested at a time, and the bandwidth is a quarter lower. */
uint32_t nxb_strip_registers(const nxb_binder *b) {
  uint32_t registers = 4;
  for (uint32_t i = 0; i < b->region->n_stages; i++) {
    const nxb_stage *stage = &b->region->stages[i];
    if (!stage->reduces || stage->points < NXB_STRIP_ROWS) continue;
    uint32_t rows = nxb_strip_rows(b, stage);
    if (rows >= HALF_BLOCK && NXB_STRIP_ROWS / rows < registers) registers = NXB_STRIP_ROWS / rows;
  }
  return registers;
}

/* Whether rows are far apart. Pieces of them are longer then, and strips no more than threads need,
 * because prefetchers begin anew with each piece. */
static bool is_far_apart(const nxb_binder *b) {
  for (uint32_t i = 0; i < b->region->n_stages; i++)
    if (b->region->stages[i].reduces && adds_in_lanes(b, &b->region->stages[i])) return true;
  return false;
}

static int64_t least_strips(const nxb_binder *b) {
  return is_far_apart(b) && b->target->threads < 4 ? b->target->threads : 4;
}

int64_t nxb_strip_width(const nxb_binder *b, int64_t extent, int64_t lanes, int64_t widest,
                        int64_t others) {
  int64_t least = least_strips(b), rows = 1,
          width = (is_far_apart(b) ? 2 : 1) * STRIP_BYTES / widest;
  for (uint32_t i = 0; i < b->region->n_stages; i++)
    if (b->region->stages[i].points > rows) rows = b->region->stages[i].points;
  /* later stages read the strip again: it should still be in the cache */
  if (b->region->n_stages > 1) {
    int64_t fits = b->target->l2_bytes / 2 / (rows * widest);
    if (fits < width) width = fits;
    if (width < 256 / widest) width = 256 / widest;
  }
  while (others * nxb_ceil(extent, width) < least && width * widest > 1024) width /= 2;
  if (width < lanes) width = lanes;
  if (b->target->generic) return (int64_t)1 << (63 - __builtin_clzll((uint64_t)width));
  int64_t strips = nxb_ceil(extent, width);
  /* few long strips are divided evenly among the threads */
  if (is_far_apart(b) && others * strips < 4 * least) strips = nxb_ceil(strips, least) * least;
  width = nxb_ceil(extent, strips);
  return nxb_ceil(width, lanes) * lanes;
}

bool nxb_strip_shifts(const nxb_binder *b, int64_t extent, int64_t lanes, int64_t *width) {
  const nxb_region *region = b->region;
  if (b->target->generic || extent % lanes == 0) return false;
  if (!nxb_repeats(b, region->first, region->last)) return false;
  int64_t alike = *width <= extent ? *width : nxb_ceil(extent, 2 * lanes) * lanes;
  bool shifts = alike <= extent && nxb_ceil(extent, alike) * alike <= extent + extent / 16;
  if (shifts) *width = alike;
  return shifts;
}
