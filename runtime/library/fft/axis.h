/* SPDX-License-Identifier: ISC */
/* All transforms of a tensor along one axis. */
#ifndef NXI_FFT_AXIS_H
#define NXI_FFT_AXIS_H

#include "line.h"

typedef enum nxi_fft_form { NXI_FFT_COMPLEX, NXI_FFT_FROM_REAL, NXI_FFT_TO_REAL } nxi_fft_form;
typedef enum nxi_fft_layout { NXI_FFT_ROWS, NXI_FFT_SIDE_BY_SIDE, NXI_FFT_STAGED } nxi_fft_layout;

/* source [outer][source_extent][inner], target [outer][target_extent][inner]; the extents are
 * numbers of elements, pairs or reals. line has n elements, or n / 2 for real numbers of even n. */
typedef struct nxi_fft_axis {
  nxi_fft_form form;
  bool inverse;
  bool past; /* the caches, where it is rows that are the result */
  bool near; /* operand and result are in the second-level cache */
  const nxi_fft_line *line;
  int64_t outer, n, inner, source_extent, target_extent;
  const void *unit; /* exp(-2 pi i k / n) for real numbers of even n */
  /* what nxi_fft_axis_choose has chosen */
  nxi_fft_layout layout;
  bool whole; /* tasks compute whole transforms, in one phase */
} nxi_fft_axis;

/* Chooses how the axis is done, from all that is above. */
void nxi_fft_axis_choose(nxi_fft_axis *a);

/* Memory of a run: for each thread, and once. */
int64_t nxi_fft_axis_own_bytes(const nxi_fft_axis *a);
int64_t nxi_fft_axis_shared_bytes(const nxi_fft_axis *a);

/* Phases, one after the other, and the tasks of each, in any order; `grain` tasks are worth a
 * thread. */
int64_t nxi_fft_axis_phases(const nxi_fft_axis *a);
void nxi_fft_axis_phase(const nxi_fft_axis *a, int64_t phase, int64_t *tasks, int64_t *grain);

typedef struct nxi_fft_part {
  const void *source;
  void *target; /* may be the source where the extents are equal */
  char *own, *shared;
  int64_t phase, begin, end;
} nxi_fft_part;
void nxi_fft_axis_run(const nxi_fft_axis *a, const nxi_fft_part *part);

#endif
