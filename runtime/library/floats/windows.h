/* SPDX-License-Identifier: ISC */
/* Products whose second operand is windows of an image (ir/library/windows.h), which are read from
 * a copy of what a tile needs of the image. */
#ifndef NXI_FLOATS_WINDOWS_H
#define NXI_FLOATS_WINDOWS_H

#include "ir/library/windows.h"
#include "multiply.h"

/* Columns first .. last - 1 of product number `batch`, elements begin .. end - 1 of the inner
 * extent: within one tile and piece. */
typedef struct nxi_image_tile {
  int64_t batch, first, last, begin, end;
} nxi_image_tile;

/* Writes the copy to `memory`: layout->bytes, aligned to 64. */
void nxi_image_copy(const nxi_floats_kernels *f, const nxi_image_windows *w,
                    const nxi_image_layout *l, const void *image, const nxi_image_tile *tile,
                    void *memory);

/* Whether the product would be faster with memory. */
bool nxi_image_wants_room(const nxi_floats_kernels *f, const nxi_floats_product *p);
/* As nxi_floats_multiply, with the same bits; n, k and b of the product are those of the copy. */
void nxi_image_multiply(const nxi_floats_kernels *f, const nxi_floats_product *p,
                        const nxi_image_windows *w, const nxi_image_layout *l, int64_t first,
                        const void *memory, void *room);

#endif
