/* SPDX-License-Identifier: ISC */
/* Complex transforms of one length: their plan (radices, factors, chirps) and how many of them are
 * run. The operations of a transform depend on its length and precision only, not on the
 * instruction set, the number of threads, or other transforms of the same call.
 *
 * Lengths with prime factors up to 31 are computed in passes (fft/kernels.h). From a certain length
 * on they are computed in two steps of about sqrt(n), the columns and then the rows of a matrix, so
 * that each strip of neighbours fits in a cache. Other lengths are convolutions with a chirp
 * (Bluestein), by transforms of a length that is computed in passes. */
#ifndef NXI_FFT_LINE_H
#define NXI_FFT_LINE_H

#include "kernels.h"
#include "ir/diag.h"
#include "ir/poll.h"

enum { NXI_FFT_MAX_PASSES = 40, NXI_FFT_MAX_TABLES = 2 * NXI_FFT_MAX_PASSES };

typedef enum nxi_fft_way { NXI_FFT_PASSES, NXI_FFT_TWO_STEPS, NXI_FFT_CHIRP } nxi_fft_way;

/* One pass: its tables for lanes, and its kernel and tables for a single transform. */
typedef struct nxi_fft_stage {
  int32_t radix;
  int64_t done, groups;
  const void *broad; /* nxi_fft_pass.twiddles */
  const void *flat;  /* nxi_fft_tail.twiddles */
  const void *prime;
  const int32_t *order;              /* nxi_fft_pass.order, where passes are done in place */
  int32_t kernel;                    /* index of the radix in nxi_fft_radices */
  int32_t width;                     /* of `row` or `last` */
  void (*row)(const nxi_fft_pass *); /* a single transform: one of these three */
  void (*last)(const nxi_fft_tail *);
  void (*narrow)(const nxi_fft_tail *);
} nxi_fft_stage;

typedef struct nxi_fft_line {
  int64_t n;
  nxi_fft_way way;
  int32_t real_bytes; /* 4 or 8 */
  const nxi_fft_kernels *kernels;
  /* passes */
  int32_t passes;
  nxi_fft_stage stage[NXI_FFT_MAX_PASSES];
  /* where results are after passes in place, n + 1 rows; NULL: rows never go to lanes */
  const int32_t *places;
  bool apart; /* nxi_fft_pass.apart of the first pass of a single transform */
  bool fills; /* passes of a single transform of some length fill the widest vectors */
  int64_t at_once, row_reals; /* rows that are done one at a time, but pass by pass; and of one */
  /* two steps: n = first->n * second->n. chirp: inner->n >= 2 n - 1 */
  struct nxi_fft_line *first, *second, *inner;
  const void *by_row, *by_lane;     /* by_row: one table of first->n pairs for each strip */
  const int32_t *in_order;          /* the numbers up to first->n */
  const void *chirp, *chirp_result; /* n and inner->n pairs */
  void *tables[NXI_FFT_MAX_TABLES]; /* what to free */
  int32_t n_tables;
  const nxi_poll *poll; /* while it is made; NULL: none */
  bool stopped;         /* by the poll */
} nxi_fft_line;

/* Lanes of a strip: 128 bytes of pairs. Bits depend on this number (by the factors between two
 * steps). */
static inline int64_t nxi_fft_lanes(const nxi_fft_line *l) { return l->real_bytes == 4 ? 16 : 8; }
static inline int64_t nxi_fft_least_lanes(const nxi_fft_line *l) {
  return l->kernels->width[l->kernels->widths - 1];
}

/* The index of the widest vectors with at most `lanes` elements; that of the narrowest if there are
 * none. */
static inline int32_t nxi_fft_width_for(const nxi_fft_kernels *k, int64_t lanes) {
  int32_t width = 0;
  while (width < k->widths - 1 && k->width[width] > lanes) width++;
  return width;
}

/* What vectors of `width` elements take for so many lanes. */
static inline int64_t nxi_fft_vectors_cost(const nxi_fft_kernels *k, int64_t width, int64_t lanes) {
  const bool widest = k->widest_cost && width == k->width[0];
  return (lanes + width - 1) / width * (widest ? k->widest_cost : 4);
}

/* n >= 1. NX_OUT_OF_MEMORY, NX_INTERRUPTED. */
nx_status nxi_fft_line_create(int64_t n, int32_t real_bytes, const nxi_fft_kernels *kernels,
                              const nxi_poll *poll, nxi_fft_line **out, nxi_diag *d);
void nxi_fft_line_destroy(nxi_fft_line *l); /* NULL is allowed */
/* exp(-2 pi i k / n) for k < count as pairs, padded so that whole vectors may be read. The table
 * belongs to l. NULL: it is incomplete. */
const void *nxi_fft_line_unit(nxi_fft_line *l, int64_t n, int64_t count);
/* What a table of it that is not complete means: NX_OUT_OF_MEMORY, NX_INTERRUPTED. */
nx_status nxi_fft_incomplete(const nxi_fft_line *l, nxi_diag *d);

/* True if each task computes whole transforms; else several tasks share a transform. */
bool nxi_fft_line_local(const nxi_fft_line *l);
/* Bytes for each thread, and for `groups` transforms that are shared by tasks; multiples of 64. */
int64_t nxi_fft_own_bytes(const nxi_fft_line *l);
/* The same for batches of so many rows at most; real: with a unit (nxi_fft_run_rows), too. */
int64_t nxi_fft_rows_own_bytes(const nxi_fft_line *l, int64_t rows, bool real, bool past);
int64_t nxi_fft_shared_bytes(const nxi_fft_line *l, int64_t groups);

/* Transforms that are rows: of n pairs each, one every pitch reals. Source and target may be the
 * same rows. */
typedef struct nxi_fft_batch {
  const void *source;
  void *target;
  int64_t source_pitch, target_pitch, count;
  bool inverse;
  bool past;       /* the caches, if rows of the target have no gaps */
  int64_t further; /* rows that follow in memory and may be next */
  bool near;       /* all rows are in the second-level cache: none are fetched */
} nxi_fft_batch;
/* Computes a batch on this thread; l must be local. */
void nxi_fft_batch_here(const nxi_fft_line *l, const nxi_fft_batch *b, void *own);
/* The same where l is computed in passes, and for rows of 2 n real numbers and n + 1 pairs (from
 * the latter with b->inverse) if there is a unit: exp(-2 pi i k / 2 n), k <= n / 2. */
void nxi_fft_run_rows(const nxi_fft_line *l, const nxi_fft_batch *b, const void *unit, void *own);
/* Sets l->fills, at_once and row_reals, and says whether rows go to lanes, several together; l is
 * computed in passes and has its kernels. */
bool nxi_fft_suits_lanes(nxi_fft_line *l);
/* The best multiple for numbers of rows that are computed on one thread; real, past: as of
 * nxi_fft_rows_own_bytes. */
int64_t nxi_fft_rows_together(const nxi_fft_line *l, bool real, bool past);

/* For an l that is not local: the phases run one after the other, and the tasks of each in any
 * order. The batch has at most as many transforms as `shared` has memory for; all phases get the
 * same memory. */
uint32_t nxi_fft_phases(const nxi_fft_line *l);
int64_t nxi_fft_tasks(const nxi_fft_line *l, uint32_t phase, int64_t transforms);
void nxi_fft_batch_shared(const nxi_fft_line *l, const nxi_fft_batch *b, uint32_t phase,
                          int64_t begin, int64_t end, void *own, void *shared);

/* Transforms `lanes` neighbouring columns (at least nxi_fft_least_lanes); l must be computed in
 * passes. */
void nxi_fft_columns(const nxi_fft_line *l, const nxi_fft_batch *b, int64_t lanes, void *own);
/* The same for columns of 2 n real numbers: to n + 1 pairs, or back with b->inverse. Pitches count
 * reals, from row to row. */
void nxi_fft_real_columns(const nxi_fft_line *l, const nxi_fft_batch *b, int64_t lanes,
                          const void *unit, void *own);
/* The best number of lanes for a strip of columns. */
int64_t nxi_fft_column_lanes(const nxi_fft_line *l);

/* The number of strips of `total` columns, and the columns of one. All strips have `lanes` columns
 * except the last two, and none has fewer than `least` unless `total` is less. */
int64_t nxi_fft_strips(int64_t total, int64_t lanes);
void nxi_fft_strip(int64_t total, int64_t lanes, int64_t least, int64_t strip, int64_t *begin,
                   int64_t *count);

#endif
