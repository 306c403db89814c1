/* SPDX-License-Identifier: ISC */
/* Windows of an image as the columns of a product's second operand: where each element is in the
 * image. A product can then read them from a copy of the part of the image that its tile needs,
 * with zeros around it, instead of writing each element once for each window that has it. A plan
 * describes the windows, and reserves memory; the run of a product copies and multiplies. */
#ifndef NXI_WINDOWS_H
#define NXI_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

enum { NXI_WINDOWS_RANK = 16, NXI_WINDOWS_STRIDE = 8 };

/* An axis of the image: `size` elements, `step` apart in memory. Index 0 of everything that moves
 * along it is element `begin`, which is a zero before the image if it is below 0. */
typedef struct nxi_image_axis {
  int64_t size, step, begin;
} nxi_image_axis;

/* One of the two axes along which windows lie beside each other: `count` of them `stride` apart,
 * whose `taps` elements are `dilation` apart. */
typedef struct nxi_image_line {
  nxi_image_axis axis;
  int64_t count, stride, taps, dilation;
} nxi_image_line;

/* What moves along another axis: by `move` elements of it. */
typedef struct nxi_image_dim {
  int32_t axis;
  int64_t extent, move;
} nxi_image_dim;

/* Columns number outer dims, then lines (y), then places in a line (x); a batch numbers those of
 * the outer dims that come first. The inner extent numbers planes, then taps of y and x, or taps
 * first. */
typedef struct nxi_image_windows {
  nxi_image_line y, x;
  int32_t n_axes, n_outer, n_batch, n_planes;
  nxi_image_axis axes[NXI_WINDOWS_RANK];
  nxi_image_dim outer[NXI_WINDOWS_RANK], planes[NXI_WINDOWS_RANK];
  bool taps_first;
  int32_t element; /* bytes */
} nxi_image_windows;

/* The copy for a tile of some columns: images of the outer dims that the tile meets one behind the
 * other, each of some planes; in a plane phases of y and x by stride, in each of them lines. Lines
 * are whole, but where an image has one line: that begins with the tile's first place. */
typedef struct nxi_image_layout {
  int64_t columns;      /* of a tile, at most */
  int64_t planes;       /* at most, of a piece of the inner extent */
  int64_t lines, pitch; /* of a phase, and elements from one line to the next */
  int64_t phases_y, phases_x;
  int64_t plane, image; /* elements from one to the next */
  int64_t images;       /* at most, that a tile meets */
  int64_t table, bytes; /* bytes of where elements of the inner extent are; of all */
} nxi_image_layout;

/* False: too many elements to count. columns: of a tile; depth: of a piece of the inner extent. */
bool nxi_image_lay_out(const nxi_image_windows *w, int64_t columns, int64_t depth,
                       nxi_image_layout *l);

static inline int64_t nxi_image_taps(const nxi_image_windows *w) { return w->y.taps * w->x.taps; }
int64_t nxi_image_planes(const nxi_image_windows *w);

#endif
