/* SPDX-License-Identifier: ISC */
/* The shape of strips: how many columns they have, how many registers a value takes, and how many
 * rows are processed together. */
#include "passes/bind/bind.h"

enum { STRIP_BYTES = 4096 };

/* How many rows are processed together. If the data comes from memory it is a whole block: each
 * column is read from 16 rows and added in registers. */
uint32_t nxb_strip_rows(const nxb_binder *b, const nxb_stage *stage) {
  uint32_t cost = nxb_code_cost(b, stage->first, stage->last);
  if (cost <= 12) return nxb_reads_pass_cache(b, stage) ? NXB_STRIP_ROWS : 4;
  return cost <= 30 ? 2 : 1;
}

/* Registers for each value. If the data comes from memory it is one: with four, 64 cache lines of
 * 16 rows are requested at a time, and the bandwidth is a quarter lower. */
uint32_t nxb_strip_registers(const nxb_binder *b) {
  for (uint32_t i = 0; i < b->region->n_stages; i++) {
    const nxb_stage *stage = &b->region->stages[i];
    if (stage->reduces && stage->points >= NXB_STRIP_ROWS &&
        nxb_strip_rows(b, stage) == NXB_STRIP_ROWS)
      return 1;
  }
  return 4;
}

int64_t nxb_strip_width(const nxb_binder *b, int64_t extent, int64_t lanes, int64_t widest,
                        int64_t others) {
  int64_t rows = 1, width = STRIP_BYTES / widest;
  for (uint32_t i = 0; i < b->region->n_stages; i++)
    if (b->region->stages[i].points > rows) rows = b->region->stages[i].points;
  /* later stages read the strip again: it should still be in the cache */
  if (b->region->n_stages > 1) {
    int64_t fits = b->target->l2_bytes / 2 / (rows * widest);
    if (fits < width) width = fits;
    if (width < 256 / widest) width = 256 / widest;
  }
  while (others * nxb_ceil(extent, width) < 4 && width * widest > 1024) width /= 2;
  if (width < lanes) width = lanes;
  if (b->target->generic) return (int64_t)1 << (63 - __builtin_clzll((uint64_t)width));
  width = nxb_ceil(extent, nxb_ceil(extent, width));
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
