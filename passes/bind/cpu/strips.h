/* SPDX-License-Identifier: ISC */
/* Private to template STRIPS: the strip that is being written, and what is known of the values of
 * its code. */
#ifndef NXB_STRIPS_H
#define NXB_STRIPS_H

#include "passes/bind/bind.h"

typedef struct nxb_strips {
  nxb_binder *b;
  nxb_lane_map map;   /* values that are equal for all columns */
  nxb_lane_map saved; /* a copy of `map` while a loop over the columns is open */
  nxb_lane_map rows[NXB_STRIP_ROWS];
  nxb_dim dim;
  nxk_value end;           /* where the vectors of the strip end */
  nxk_value point;         /* of the outer loop: the first of the vector in the open loop */
  int64_t width, multiple; /* columns of each strip; what their numbers are a multiple of */
  bool shifted;  /* the last strip is as wide as the others, and overlaps the one before */
  bool overlaps; /* so does the last vector of the only strip */
  uint16_t lanes;
  bool *varies;      /* value -> differs from column to column */
  uint32_t *segment; /* value -> its segment */
  uint32_t *home;    /* value -> LOCAL array that keeps it for other segments, NXK_NONE */
} nxb_strips;

/* ---- cpu/strip_values.c */
typedef void (*nxb_operand_visitor)(nxb_strips *s, nxk_value user, nxk_value operand);
/* Calls visit for the arguments of v, and for what its address consists of. */
void nxb_strips_operands(nxb_strips *s, nxk_value v, nxb_operand_visitor visit);
/* The last blend of a cold block. */
nxk_value nxb_last_blend(const nxb_binder *b, nxk_value cold);
/* Fills varies, segment and home. */
void nxb_strips_find_values(nxb_strips *s);

#endif
