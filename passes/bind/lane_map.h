/* SPDX-License-Identifier: ISC */
/* What lane_map.c, memory.c and strided.c call of each other: the bound value of a logical one, and
 * writing loads and stores. */
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

/* An access at the place that is being written. */
typedef struct nxb_placed {
  nxk_access access;
  nxk_value index; /* one for each lane, or NXK_NONE */
  bool wide;
  bool loads;
  /* each element is loaded for two neighbouring lanes; lane_stride is the distance between such
   * pairs */
  bool twice;
} nxb_placed;

/* Finds the address of the logical access `a` there. False: memory is exhausted. */
bool nxb_place_access(nxb_binder *b, const nxb_lane_map *map, const nxk_access *a, bool loads,
                      nxb_placed *p);
/* True if every vector is one or several whole cache lines. A nontemporal store of part of a line
 * waits in a buffer for the rest of the line. If that does not follow at once, the line goes to
 * memory in pieces, which is several times as slow as a plain store. */
bool nxb_is_whole_lines(const nxb_binder *b, const nxb_lane_map *map, const nxk_access *from,
                        const nxk_access *a);

/* ---- strided.c: two to four elements between neighbouring lanes */
/* Writes load v, which is at `p`, as whole vectors and a shuffle of them. False: it is not of this
 * form, or single elements are as fast. */
bool nxb_load_strided(nxb_binder *b, nxb_lane_map *map, nxk_value v, const nxb_placed *p);
/* Writes store v and those after it as interleaved whole vectors, if together they write every
 * element. Returns their number; 0: they are not of this form. */
uint32_t nxb_store_interleaved(nxb_binder *b, nxb_lane_map *map, nxk_value v);

/* Whether the lanes of each thread are contiguous and aligned to their total size. from: the
 * logical access; lanes: of all threads. */
bool nxb_is_whole(const nxb_binder *b, uint16_t lanes, const nxk_access *from, const nxk_access *a);

/* Writes a load. */
void nxb_write_load(nxb_binder *b, nxb_lane_map *map, nxk_value v);
/* Writes a store, or several if they interleave to whole vectors. Returns the last one written. */
nxk_value nxb_write_store(nxb_binder *b, nxb_lane_map *map, nxk_value v);

#endif
