/* SPDX-License-Identifier: ISC */
/* Private to the GPU binder: its templates, each of which writes a whole region. */
#ifndef NXB_GPU_H
#define NXB_GPU_H

#include "passes/bind/bind.h"

enum { NXB_WARP = 32 }; /* threads that exchange values by shuffles */

/* Each thread computes one point, or several neighbouring ones. */
void nxb_gpu_points(nxb_binder *b);

/* Several threads of a block share one run. */
bool nxb_gpu_rows_fit(nxb_binder *b);
void nxb_gpu_rows(nxb_binder *b);
/* The threads of a block for such a region, from those of the binder to `most`. */
uint16_t nxb_gpu_rows_threads(const nxb_binder *b, uint16_t most);

/* Each thread scans one line; tiles of lines go through a LOCAL array. */
bool nxb_gpu_scans_fit(nxb_binder *b);
void nxb_gpu_scans(nxb_binder *b);
uint16_t nxb_gpu_scans_threads(nxb_binder *b); /* of a block, at most those of the binder */

/* A block transposes a square of two loops through a LOCAL array. */
bool nxb_gpu_tiles_fit(nxb_binder *b);
void nxb_gpu_tiles(nxb_binder *b);

/* Whether load or store v moves the elements of `each` neighbouring points of the loop as one
 * aligned word, or the same element for all of them, or elements at places that are computed. */
bool nxb_gpu_is_word(const nxb_binder *b, nxk_value v, nxk_value loop, int64_t each);

/* Whether in each access of the region the elements of `each` neighbouring points of the loop are
 * either contiguous and aligned as one word, or the same element. */
bool nxb_gpu_are_words(const nxb_binder *b, nxk_value loop, int64_t each);

/* Combines the partial results of `groups` threads, `width` apart, in a pairwise tree; `wide`
 * neighbouring lanes belong to a thread. All of them have the result. The powers of two width and
 * groups are such that the threads of a block are rows of groups * width of them. */
void nxb_gpu_join_far(nxb_binder *b, nxk_value reduce, nxb_partial *p, int64_t width,
                      int64_t groups, uint16_t wide);

/* Elements that a thread loads in one stage and uses in later ones, too: it keeps them in
 * registers, as rows of one element a lane. first[v]: the load of the same element in the first
 * stage that has one; NXK_NONE: it is in one stage only. */
typedef struct nxb_kept {
  nxk_value *first;
  uint32_t *array; /* of each first load */
  uint8_t *here;   /* for nxb_lane_map.kept */
  int64_t lanes;   /* of a row */
} nxb_kept;

/* 32-bit words of a thread for each element of a run: of what it keeps, or passes on to later
 * stages. At least 1. */
int64_t nxb_gpu_kept_words(const nxb_binder *b);
/* Adds arrays of so many rows of `lanes` for the loads that can be kept. Left out: nothing is
 * kept. */
void nxb_gpu_keep(nxb_binder *b, nxb_kept *kept, int64_t rows, int64_t lanes);
/* Writes the code of a stage; what is kept is loaded in its first stage only. */
void nxb_gpu_write_kept(nxb_binder *b, nxb_lane_map *map, const nxb_kept *kept,
                        const nxb_stage *stage);

#endif
