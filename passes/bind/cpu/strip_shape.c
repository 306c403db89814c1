/* SPDX-License-Identifier: ISC */
/* The shape of strips: how many columns they have, how many registers a value takes, and how many
 * rows are processed together. */
#include "passes/bind/bind.h"

enum {
  STRIP_BYTES = 4096,
  LEAST_STRIPS = 4,
  HALF_BLOCK = NXB_STRIP_ROWS / 2,
  SHORT_CODE = 6,
  SMALL_CODE = 12,
  NEAR_BYTES = 512
};

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

/* Points of the other outer loops. */
static int64_t others_of(const nxb_binder *b, const nxb_loop *columns) {
  int64_t others = 1;
  for (uint32_t i = 0; i < b->region->n_outer; i++)
    if (b->region->outer[i].value != columns->value) others *= b->region->outer[i].extent;
  return others;
}

/* Whether a strip has all columns: there are tasks enough without cutting them. */
static bool is_one_strip(const nxb_binder *b, const nxb_loop *columns) {
  const nxb_region *region = b->region;
  int64_t widest = nxb_widest(b, region->first, region->last, columns->value);
  return others_of(b, columns) >= LEAST_STRIPS && columns->extent * widest <= STRIP_BYTES;
}

/* Bytes of a row of what the stage reads from memory, if a strip holds whole rows and each begins
 * where the one before ends; else 0. */
static int64_t adjoining_bytes(const nxb_binder *b, const nxb_stage *stage,
                               const nxb_loop *columns) {
  int64_t bytes = 0;
  if (b->target->generic || stage->n_loops != 1 || !is_one_strip(b, columns)) return 0;
  for (nxk_value v = stage->first; v <= stage->last; v++) {
    if (b->from->instrs[v].op != NXK_load) continue;
    const nxk_access *a = &b->from->accesses[b->from->instrs[v].imm];
    bool computed = false;
    int64_t apart = nxb_stride(b, a, stage->loops[0].value, &computed),
            size = columns->extent * nxi_dtype_size(b->from->buffers[a->buffer].dtype);
    if (computed || a->index != NXK_NONE || (apart != 0 && apart != columns->extent)) return 0;
    if (apart != 0 && size > bytes) bytes = size;
  }
  return bytes;
}

/* Rows from memory that are processed together: a whole block, of which each column is read from 16
 * rows and added in registers. Short rows that follow each other are one stream, which prefetchers
 * of the hardware follow if it is read in its order: a kilobyte of them, or one row. */
static uint32_t rows_from_memory(int64_t adjoining) {
  uint32_t rows = NXB_STRIP_ROWS;
  while (adjoining > 0 && rows > 1 && rows * adjoining > NEAR_BYTES) rows /= 2;
  return rows;
}

bool nxb_strip_in_order(const nxb_binder *b, const nxb_stage *stage, const nxb_loop *columns) {
  return nxb_code_cost(b, stage->first, stage->last) <= SMALL_CODE && !adds_in_lanes(b, stage) &&
         nxb_reads_pass_cache(b, stage) && adjoining_bytes(b, stage, columns) > 0;
}

/* Whether all that a stage finds is largest and smallest floats where those of several rows at once
 * are cheaper than one row after the other (passes/kernel/extreme_chains.c). */
static bool seeks_extremes(const nxb_binder *b, const nxb_stage *stage) {
  bool all = stage->n_reduces > 0 && b->target->vector_bytes < 64;
  for (uint32_t i = 0; i < stage->n_reduces; i++) {
    const nxk_instr *in = &b->from->instrs[stage->reduce[i]];
    all = all && nxb_exact(b->from, stage->reduce[i]) && !nxb_is_arg(b->from, stage->reduce[i]) &&
          nxi_is_float(nxk_dtype(b->from, in->args[0]));
  }
  return all;
}

/* How many rows are processed together. Of rows that are 16 rows apart it is half a block, since
 * prefetchers follow no more streams that are that far apart. */
uint32_t nxb_strip_rows(const nxb_binder *b, const nxb_stage *stage, const nxb_loop *columns) {
  uint32_t cost = nxb_code_cost(b, stage->first, stage->last);
  if (adds_in_lanes(b, stage)) return HALF_BLOCK;
  if (cost <= SMALL_CODE && nxb_reads_pass_cache(b, stage))
    return rows_from_memory(adjoining_bytes(b, stage, columns));
  if (cost <= SMALL_CODE && seeks_extremes(b, stage)) return HALF_BLOCK;
  return cost <= SMALL_CODE ? 4 : cost <= 30 ? 2 : 1;
}

/* A row is one stream then, which goes on with the row that is read next. With pieces of rows, or
 * rows from a cache, partial results in the second level cost more than that gains. */
bool nxb_strip_in_turn(const nxb_binder *b, const nxb_stage *stage, const nxb_loop *columns) {
  enum { LEAST_BLOCKS = 2 };
  const int64_t partials =
      16 * columns->extent * nxb_widest(b, stage->first, stage->last, columns->value);
  return !b->target->generic && b->region->n_stages == 1 && adds_in_lanes(b, stage) &&
         stage->points >= LEAST_BLOCKS * 16 * NXB_STRIP_ROWS &&
         partials <= b->target->l2_bytes / 2 && others_of(b, columns) >= b->target->threads &&
         nxb_reads_pass_cache(b, stage);
}

/* Registers for each value. If the data comes from memory it is one: with four, 64 cache lines of
 * 16 rows are requested at a time, and the bandwidth is a quarter lower. */
static uint32_t strip_registers(const nxb_binder *b, const nxb_loop *columns) {
  uint32_t registers = 4;
  for (uint32_t i = 0; i < b->region->n_stages; i++) {
    const nxb_stage *stage = &b->region->stages[i];
    if (!stage->reduces || stage->points < NXB_STRIP_ROWS) continue;
    uint32_t rows = nxb_strip_rows(b, stage, columns), fitting = NXB_STRIP_ROWS / rows;
    if (rows < HALF_BLOCK) fitting = nxb_strip_in_order(b, stage, columns) ? 1 : 4;
    if (fitting < registers) registers = fitting;
  }
  return registers;
}

uint16_t nxb_strip_lanes(const nxb_binder *b, const nxb_loop *columns) {
  uint16_t lanes = nxb_choose_lanes(b, b->region->first, b->region->last, columns->value,
                                    strip_registers(b, columns));
  while (lanes > 4 && lanes > columns->extent) lanes /= 2;
  return lanes;
}

/* Whether rows are far apart. Pieces of them are longer then, and strips no more than threads need,
 * because prefetchers begin anew with each piece. */
static bool is_far_apart(const nxb_binder *b) {
  for (uint32_t i = 0; i < b->region->n_stages; i++)
    if (b->region->stages[i].reduces && adds_in_lanes(b, &b->region->stages[i])) return true;
  return false;
}

static int64_t least_strips(const nxb_binder *b) {
  return is_far_apart(b) && b->target->threads < LEAST_STRIPS ? b->target->threads : LEAST_STRIPS;
}

int64_t nxb_strip_width(const nxb_binder *b, const nxb_loop *columns, int64_t lanes, int64_t widest,
                        int64_t others) {
  const int64_t extent = columns->extent;
  int64_t least = least_strips(b), rows = 1,
          width = (is_far_apart(b) ? 2 : 1) * STRIP_BYTES / widest;
  const nxb_stage *stage = &b->region->stages[0];
  if (stage->reduces && nxb_strip_in_turn(b, stage, columns))
    return nxb_ceil(extent, lanes) * lanes;
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

bool nxb_strip_overlaps(const nxb_binder *b, int64_t extent, int64_t lanes, int64_t width) {
  return !b->target->generic && extent % lanes != 0 && extent > lanes && extent <= width &&
         nxb_repeats(b, b->region->first, b->region->last);
}
