/* SPDX-License-Identifier: ISC */
/* What lane_map.c and memory.c call of each other: the bound value of a logical one, and writing
 * loads and stores. */
#ifndef PASSES_BIND_LANE_MAP_H
#define PASSES_BIND_LANE_MAP_H

#include "bind.h"

/* The mapped value (the base of an affine one), constants and parameters included. */
nxk_value nxb_base_of(nxb_binder *b, const nxb_lane_map *map, nxk_value v);
/* The number of each lane within its thread. */
nxk_value nxb_lanes_in_group(nxb_binder *b, const nxb_lane_map *map);
void nxb_set_value(nxb_lane_map *map, nxk_value v, nxk_value bound, int64_t step);

static inline int64_t nxb_step_of(const nxb_lane_map *map, nxk_value v) {
  return map->lanes > 1 ? map->step[v] : 0;
}

static inline uint16_t nxb_lanes_of(const nxb_binder *b, nxk_value bound) {
  return bound < b->to->n_instrs ? b->to->instrs[bound].lanes : 1;
}

/* Writes a load. */
void nxb_write_load(nxb_binder *b, nxb_lane_map *map, nxk_value v);
/* Writes a store, or that and the next one if the two interleave to whole vectors. Returns the last
 * store written. */
nxk_value nxb_write_store(nxb_binder *b, nxb_lane_map *map, nxk_value v);

#endif
