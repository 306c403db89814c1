/* SPDX-License-Identifier: ISC */
/* What the templates for scans share: which values a scan carries, and the code of one element. */
#ifndef NXB_SCAN_H
#define NXB_SCAN_H

#include "passes/bind/bind.h"

/* Rows that are scanned together, one in each lane. */
typedef struct nxb_scan_rows {
  nxb_loop across; /* the loop over the rows */
  nxk_value first; /* iteration of lane 0 */
  int64_t side;    /* rows and columns of a square block */
  bool *turned;    /* loads and stores that go through transposed blocks */
  /* for each transposed load: the vector of all lanes at each element of the block; for each
   * transposed store: the vectors to be stored */
  nxk_value (*tile)[16];
} nxb_scan_rows;

/* What the scans of a stage carry, for each lane map: one number for each scan. The products of
 * complex numbers have two, which the scan of the real and that of the imaginary region share. */
typedef struct nxb_carried {
  uint32_t n;      /* numbers */
  nxk_value *scan; /* the first scan that a number belongs to */
  /* for each scan, in order: the index of its number, or of the first of two */
  uint32_t *slot;
  nxk_value *before, *within; /* [lane map * n + slot] */
  bool pairs;
  nxk_value lo;        /* for complex products: the number of the first element of the block */
  nxk_value starts[2]; /* whether the element is the first of its block; of the run */
  nxk_value opens;     /* whether the block is the first one; NXK_NONE: there is no other */
  nxb_scan_rows *rows; /* or NULL */
  int64_t at;          /* element of the block that is being written */
} nxb_carried;

/* Lists what the scans of a stage carry, with room for the values of n_maps lane maps. */
bool nxb_scan_collect(nxb_binder *b, const nxb_stage *s, uint32_t n_maps, nxb_carried *c);
/* Whether the scan is sequential: it then has no blocks, and `within` is the result of all elements
 * before. */
bool nxb_scan_in_order(const nxb_binder *b, nxk_value scan);
/* Whether a scan of the stage has more than one block of 1024 elements. */
bool nxb_scan_in_blocks(const nxb_binder *b, const nxb_carried *c, const nxb_stage *s);
nxk_value nxb_scan_identity(nxb_binder *b, nxk_value scan, uint16_t lanes);
/* Combines x and y. For complex products the result is y where `first` holds, because nothing
 * precedes y there; other scans have an identity in x. */
void nxb_scan_combine(nxb_binder *b, nxk_value scan, nxk_value first, const nxk_value *x,
                      const nxk_value *y, nxk_value *out);
/* Writes one element for each lane map; next[i]: the new values of the carries. */
void nxb_scan_element(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_stage *s,
                      const nxb_carried *c, nxk_value *next);

/* scan_strips.c: the region with lanes along `loop`, which memory is contiguous along, in strips;
 * false: nothing was written, because the template does not suit it. */
bool nxb_bind_scan_strips(nxb_binder *b, nxk_value loop);

#endif
