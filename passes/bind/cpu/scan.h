/* SPDX-License-Identifier: ISC */
/* What scan.c and scan_rows.c share: scans of rows of which each is a lane. */
#ifndef PASSES_BIND_CPU_SCAN_H
#define PASSES_BIND_CPU_SCAN_H

#include "passes/bind/lane_map.h"

/* Rows that are scanned together, one in each lane. */
typedef struct nxb_scan_rows {
  nxb_loop across; /* the loop over the rows */
  nxk_value first; /* iteration of lane 0 */
  int64_t side;    /* rows and columns of a square block */
  /* neighbouring blocks that are written together, so that they fill cache lines, and the columns
   * of all of them */
  int64_t beside, columns;
  int64_t ahead; /* elements beyond a load that are prefetched, or 0 */
  bool by_rows;  /* what is prefetched is what the next rows have there */
  bool masks;    /* the last columns are a block under a mask */
  /* for a load or store: LOCAL array with the rows of a group one after the other, or NXK_NONE */
  uint32_t *staged;
  nxk_value group; /* the first row of the group; `first` may be less in the last one */
  nxk_value end;   /* of the columns, while such a block is written; else NXK_NONE */
  bool *turned;    /* loads and stores that go through transposed blocks */
  /* for each transposed load: the vector of all lanes at each element of the block; for each
   * transposed store: the vectors to be stored */
  nxk_value (*tile)[16];
} nxb_scan_rows;

static inline nxk_value nxb_bound_value(nxb_binder *b, nxk_bound_value x) {
  return x.value == NXK_NONE ? nxb_int(b, x.constant) : x.value;
}

static inline nxk_bound_value nxb_bound_of(const nxb_binder *b, nxk_value v) {
  int64_t x;
  return nxb_is_constant(b->to, v, &x) ? nxk_bound_const(x) : nxk_bound_of(v);
}

/* Finds the loads and stores that go through arrays, and adds these. False: memory is exhausted. */
bool nxb_stage_rows(nxb_binder *b, nxb_scan_rows *r, const nxb_stage *s);
/* Reads what such loads need of a group, in the order of memory; map: as at its beginning. */
void nxb_fetch_staged(nxb_binder *b, const nxb_lane_map *map, const nxb_scan_rows *r,
                      const nxb_stage *s);
/* Elements of row `number` of the group, from `at` on, of load v; lanes that do not exist are
 * anything. */
nxk_value nxb_fetched_row(nxb_binder *b, const nxb_scan_rows *r, const nxb_stage *s, nxk_value v,
                          nxk_value at, int64_t number);
/* Puts elements of row `number` of the group, from `at` on, into the array of store v. active: the
 * lanes that exist, or NXK_NONE. */
void nxb_stage_row(nxb_binder *b, const nxb_scan_rows *r, const nxb_stage *s, nxk_value v,
                   nxk_value at, int64_t number, nxk_value value, nxk_value active);
/* Puts an element of each row into it. */
void nxb_stage_column(nxb_binder *b, nxb_lane_map *map, const nxb_stage *s, const nxb_scan_rows *r,
                      nxk_value v, nxk_value element);
/* Writes what such arrays hold of a group to memory. map: as at the beginning of the group; hi:
 * where the rows of the task end. */
void nxb_write_staged(nxb_binder *b, const nxb_lane_map *map, const nxb_scan_rows *r,
                      const nxb_stage *s, nxk_value hi);

#endif
