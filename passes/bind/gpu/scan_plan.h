/* SPDX-License-Identifier: ISC */
/* Private to template SCANS of the GPU binder: how lines are distributed over blocks of threads.
 *
 * In plain order each block of 1024 elements is reduced independently, so each block is a line of
 * its own. There are three ways to scan the blocks of a row:
 *  - If a row fits in shared memory, each element is loaded once: the blocks are scanned there, and
 *    when they are stored, what comes before each of them is added.
 *  - If there are many columns, a thread scans the blocks of its column one after the other, and
 *    loads each element once, so many of them together that few threads use the full bandwidth.
 *  - Otherwise a first pass computes only the totals of the blocks, and a second one the scan. Rows
 *    of many blocks take several rounds.
 * In sequential order a row is one line, read once. */
#ifndef NXB_GPU_SCAN_PLAN_H
#define NXB_GPU_SCAN_PLAN_H

#include "passes/bind/gpu/gpu.h"

enum {
  NXB_MOST_SCANS = 4,
  NXB_STRETCH = 16, /* elements of a tile's row whose code is written out */
  NXB_WALK = 32     /* the same where a thread goes along it, if there are so many */
};

/* How the blocks of a row are scanned (above). */
typedef enum nxb_scan_way { NXB_TWICE, NXB_IN_SHARED, NXB_IN_TURN } nxb_scan_way;

typedef struct nxb_scan_plan {
  const nxb_stage *stage;
  uint32_t n;
  nxk_value scan[NXB_MOST_SCANS];
  uint8_t *needed; /* marks the code that the operands of the scans need */
  int64_t rows, length;
  int64_t columns; /* rows of a task, in neighbouring threads; 0: lines go through tiles */
  /* elements of a line in a tile (a row of its array is one longer), or elements of a column that
   * are loaded together */
  int64_t width;
  int64_t lines;     /* lines of a task */
  int64_t of_row;    /* lines of a row */
  int64_t task_rows; /* rows of a task */
  int64_t rounds;    /* rounds of a row; more than 1 if not all its blocks fit in a task */
  int64_t steps;     /* tiles (or pieces of a column) of a block */
  nxb_scan_way way;
  /* LOCAL arrays; carry: of what comes before each line */
  uint32_t tile[NXB_MOST_SCANS], total[NXB_MOST_SCANS], carry[NXB_MOST_SCANS];
} nxb_scan_plan;

/* False: the region is none of such scans, or memory is exhausted. */
bool nxb_gpu_plan_scan(nxb_binder *b, nxb_scan_plan *s);

#endif
