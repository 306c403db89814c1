/* SPDX-License-Identifier: ISC */
/* The innermost loops of the Fourier transforms, one set for each instruction set and precision.
 * They differ only in the width of their vectors: each element goes through the same operations, so
 * the sets give the same bits.
 *
 * A transform of n = r1 r2 ... rk is k passes (Stockham, decimation in time). Before a pass of
 * radix r, with `done` = the product of the radices before it, the data are rows: row k * (n /
 * done) + g is the k-th value of the transform of the elements g, g + n / done, g + 2 n / done, ...
 * A pass joins r of these shorter transforms:
 *
 *   row (k + done * m) * groups + g  = sum over l < r of w(r)^(l m) * w(done * r)^(l k) * row (k r
 *                                    + l) * groups + g
 *
 * with groups = n / (done * r), w(n) = exp(-2 pi i / n), and m < r. A row is one element of a
 * single transform, or one element of each of several transforms side by side (lanes). In memory a
 * row is pairs (re, im), or it has its real parts in one array and its imaginary parts in another
 * (planar). */
#ifndef NXI_FFT_KERNELS_H
#define NXI_FFT_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

/* 1 copies; 0 is any odd number up to NXI_FFT_MAX_PRIME. */
enum { NXI_FFT_RADICES = 10, NXI_FFT_MAX_PRIME = 31, NXI_FFT_WIDTHS = 4 };
static const int32_t nxi_fft_radices[NXI_FFT_RADICES] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 0};

/* Local order: which of `width` numbers is in lane i. Of blocks of 16 bytes that hold b numbers,
 * block q has numbers q b / 2 .. q b / 2 + b / 2 - 1, and as many from half a vector further on. */
static inline int32_t nxi_fft_local_order(int32_t width, int32_t real_bytes, int32_t i) {
  const int32_t block = 16 / real_bytes, half = block / 2;
  return i % block / half * (width / 2) + i / block * half + i % half;
}

/* Rows in memory. Pitches count reals from one row to the next. */
typedef struct nxi_fft_rows {
  void *re, *im; /* im NULL: pairs at re */
  int64_t pitch;
  /* pairs are (im, re); if source and target are both swapped, the transform is the inverse one */
  bool swapped;
} nxi_fft_rows;

/* Memory that is moved while kernels compute: two pieces that are needed next are fetched, and
 * results from before are copied past the caches, some lines of the cache each time. A burst of all
 * would fill the buffers between the caches, and what is computed would wait. */
typedef struct nxi_fft_ahead {
  const char *from[2];
  int64_t left[2], lines[2]; /* in all, and each time */
  char *to;                  /* past the caches */
  const char *results;
  int64_t bytes, each; /* whole lines, in all and each time */
  int64_t every, due;  /* vectors of results, and those until the next time */
} nxi_fft_ahead;

typedef struct nxi_fft_pass {
  nxi_fft_rows source, target; /* may be the same memory if lanes is a multiple of the width */
  int64_t done, groups;
  /* contiguous elements of a row; at least the kernel's width, or 1 for kernels that say so */
  int64_t lanes;
  const void *twiddles; /* [done][radix - 1] pairs; NULL: done is 1 */
  /* of other odd radices: (radix - 1) / 2 rows of as many pairs (cos, sin)(2 pi (i + 1)(j + 1) /
   * radix) */
  const void *prime;
  int32_t radix;
  /* Factors of the rows of the result, by row (pairs) and by row and lane (lane_block real parts,
   * then as many imaginary ones); NULL: none. */
  const void *by_row, *by_lane;
  int64_t lane_block;
  nxi_fft_ahead *ahead; /* NULL: none; due with vectors, or with each of several transforms */
  /* vectors of planar rows are in local order, if the kernel has nxi_fft_kernels.apart lanes, and
   * the number of lanes is a multiple of that */
  bool apart;
  /* several transforms of the same form, so many reals from one to the next; 0 is one */
  int64_t transforms, source_next, target_next;
  /* NULL, or results stay in the rows of their operands, so that passes are done in place: then
   * what is at the place of k belongs to order[k], k < done. */
  const int32_t *order;
} nxi_fft_pass;

/* A pass of a single transform with fewer groups than a vector has lanes: neighbouring results are
 * in the lanes. */
typedef struct nxi_fft_tail {
  nxi_fft_rows source, target; /* pitches unused; the source is planar */
  int64_t done, groups;
  /* for l = 1 .. radix - 1: done * groups real parts, as many imaginary ones. Of `last`: for each
   * vector and each l, real parts and imaginary ones in local order; the last vector ends with the
   * last result */
  const void *twiddles;
  const void *prime;
  int32_t radix;
  int64_t transforms, source_next, target_next; /* `last`: as of nxi_fft_pass */
  nxi_fft_ahead *ahead;                         /* `last`: with each transform; NULL: none */
} nxi_fft_tail;

/* The transform of n = 2 half real numbers and that of half pairs of them. */
typedef struct nxi_fft_half {
  const void *source;
  void *target; /* may be the source */
  int64_t half;
  int64_t begin, end; /* numbers k and half - k with begin <= k < end; end <= half / 2 + 1 */
  const void *unit;   /* exp(-2 pi i k / n), k <= half / 2: pairs */
} nxi_fft_half;

/* The same for several transforms side by side. `pairs` may be planar, and the same memory then. */
typedef struct nxi_fft_half_lanes {
  nxi_fft_rows planar, pairs; /* half rows; half + 1 rows */
  int64_t half, lanes;
  const void *unit;
  const int32_t *places; /* where planar rows are, half + 1 of them; NULL: in order */
  nxi_fft_ahead *ahead;
} nxi_fft_half_lanes;

/* The first or the last step of several transforms, which are rows of pairs, done in lanes: planar
 * rows of `lanes` elements, a multiple of nxi_fft_kernels.end_width, in order before it and at
 * `places` after it. */
typedef struct nxi_fft_end {
  nxi_fft_rows rows; /* pitch: from one transform to the next */
  nxi_fft_rows planar;
  int64_t count, lanes;  /* count: groups of the first pass, `done` of the last one, or half */
  const void *twiddles;  /* of the last pass; or exp(-2 pi i k / 2 half), k <= half / 2 */
  const int32_t *places; /* where number k is after the last pass in place */
  nxi_fft_ahead *ahead;
} nxi_fft_end;

/* Rows of so many bytes, one every so many. */
typedef struct nxi_fft_streamed {
  void *to;
  const void *from;
  int64_t to_pitch, from_pitch, rows, bytes;
} nxi_fft_streamed;

typedef struct nxi_fft_kernels {
  int32_t widths;                /* the widest first */
  int32_t width[NXI_FFT_WIDTHS]; /* elements */
  int32_t widest_cost; /* of a vector of 64 bytes, if there are any, where others take 4 */
  /* The width, or 0, of kernels that take pairs apart and put them together with less work in local
   * order. Of that width, `last` with a radix that is a multiple of it expects its source so. */
  int32_t apart;
  void (*wide[NXI_FFT_WIDTHS][NXI_FFT_RADICES])(const nxi_fft_pass *);
  /* groups == 1 and done >= width; radix 3 to 16, but 4 not where the width is 16. Pairs
   * result; up to a vector is read behind the source. */
  void (*last[NXI_FFT_WIDTHS][NXI_FFT_RADICES])(const nxi_fft_tail *);
  /* Any groups and done, any radix except 1; planar result; source and target differ. */
  void (*narrow[NXI_FFT_RADICES])(const nxi_fft_tail *);
  /* Transposes `lanes` transforms, each a row of n pairs, to n planar rows of `lanes` elements, and
   * back: then row j is where number places[j] would be. local: whole vectors of planar rows are in
   * local order if there is a width that is `apart` and n is at least half of that. */
  void (*gather)(const nxi_fft_rows *transforms, const nxi_fft_rows *planar, int64_t n,
                 int64_t lanes, bool local, nxi_fft_ahead *ahead);
  void (*scatter)(const nxi_fft_rows *planar, const int32_t *places, const nxi_fft_rows *transforms,
                  int64_t n, int64_t lanes, bool local, nxi_fft_ahead *ahead);
  /* Steps that transpose on the way, or end_width is 0: the first pass, from rows; the last one, in
   * place of which they leave rows; the step to spectra, and that from them (times 2). `count` is
   * at least enter_least for those from rows and leave_least for those to rows (count / 2 + 1 with
   * spectra). */
  int32_t end_width, enter_least, leave_least;
  void (*enter[NXI_FFT_RADICES])(const nxi_fft_end *);
  void (*leave[NXI_FFT_RADICES])(const nxi_fft_end *);
  void (*leave_split)(const nxi_fft_end *);
  void (*enter_join)(const nxi_fft_end *);
  /* target = source * factor, n pairs; swapped sources and targets as above. */
  void (*multiply)(const nxi_fft_rows *source, const void *factor, const nxi_fft_rows *target,
                   int64_t n);
  void (*split)(
      /* half pairs of the packed transform -> half + 1 of the spectrum; in place */
      const nxi_fft_half *);
  void (*join)(const nxi_fft_half *); /* the reverse, times 2 */
  /* Copies rows past the caches, where there are such stores; other threads may be told of it after
   * the end. */
  void (*stream)(const nxi_fft_streamed *);
  void (*stream_end)(void);
  void (*split_lanes[NXI_FFT_WIDTHS])(
      const nxi_fft_half_lanes *); /* planar -> pairs; lanes >= width */
  void (*join_lanes[NXI_FFT_WIDTHS])(const nxi_fft_half_lanes *); /* pairs -> planar, times 2 */
} nxi_fft_kernels;

extern const nxi_fft_kernels nxi_fft_generic_f32, nxi_fft_generic_f64;
#if defined(__x86_64__)
extern const nxi_fft_kernels nxi_fft_avx2_f32, nxi_fft_avx2_f64;
extern const nxi_fft_kernels nxi_fft_avx512_f32, nxi_fft_avx512_f64;
/* The same, where vectors of 64 bytes are computed by halves. */
extern const nxi_fft_kernels nxi_fft_avx512_halves_f32, nxi_fft_avx512_halves_f64;
#endif

#endif
