/* SPDX-License-Identifier: ISC */
/* What the parts that run transforms of one length share: fft/lanes.c, fft/rows.c, fft/line.c. */
#ifndef NXI_FFT_RUN_H
#define NXI_FFT_RUN_H

#include <stddef.h>

#include "line.h"

static inline void *nxi_fft_at(const nxi_fft_line *l, const void *p, int64_t reals) {
  return (char *)(uintptr_t)p + reals * l->real_bytes;
}

/* Two planar working copies. There is a gap between the real and the imaginary parts, because at a
 * distance of a power of two both would compete for the same sets of the cache. */
static inline int64_t nxi_fft_planar_reals(const nxi_fft_line *l, int64_t elements) {
  const int64_t line = l->real_bytes == 4 ? 16 : 8; /* not a division, of which a run has no time */
  return ((elements + line - 1) & -line) + 5 * line;
}

static inline nxi_fft_rows nxi_fft_planar(const nxi_fft_line *l, void *scratch, int32_t copy,
                                          int64_t elements, int64_t pitch) {
  int64_t size = nxi_fft_planar_reals(l, elements);
  void *re = nxi_fft_at(l, scratch, 2 * copy * size);
  return (nxi_fft_rows){re, nxi_fft_at(l, re, size), pitch, false};
}

static inline int64_t nxi_fft_copies_bytes(const nxi_fft_line *l, int64_t elements) {
  return 4 * nxi_fft_planar_reals(l, elements) * l->real_bytes;
}

/* Calls the kernel, number `kernel` of its width. */
void nxi_fft_run_pass(const nxi_fft_kernels *k, int32_t kernel, nxi_fft_pass *p);

typedef struct nxi_fft_lanes_run {
  nxi_fft_rows source, target;
  int64_t lanes;
  void *scratch;      /* two copies of n * lanes */
  int32_t first_copy; /* the copy that the first pass may write */
  int64_t next;       /* reals from the source to neighbours that are fetched meanwhile; 0: none */
  const void *by_row, *by_lane;
} nxi_fft_lanes_run;

void nxi_fft_run_lanes(const nxi_fft_line *l, const nxi_fft_lanes_run *r);
/* Passes begin .. end - 1 in place, of planar rows without gaps; results of all are at
 * l->places. */
void nxi_fft_run_in_place(const nxi_fft_line *l, nxi_fft_rows rows, int64_t lanes, int32_t begin,
                          int32_t end, nxi_fft_ahead *ahead);

static inline void nxi_fft_fetch(const char *p, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(p + i);
}

#endif
