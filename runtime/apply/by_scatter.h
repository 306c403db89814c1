/* SPDX-License-Identifier: ISC */
/* Updates by a function, in their order: what scatters and select_and_scatter share. */
#ifndef NXI_SCATTER_BY_H
#define NXI_SCATTER_BY_H

#include "body.h"
#include "nx/index.h"

/* What one mode of scatter does of result j of a combiner: NXI_MODE_NONE if none does, NXI_MODE_OLD
 * if the result is the element itself. */
enum { NXI_MODE_NONE = -1, NXI_MODE_OLD = -2 };
int nxi_scatter_mode_of(const nxi_by *by, uint32_t j);
/* Whether the modes have them all. */
bool nxi_is_scatter(const nxi_by *by);
/* x, k rows of n elements, becomes f(x, updates) at the places: m of them, i32 or i64; places that
 * are no element of x are left out. Updates of one place are taken in their order. Handles are the
 * innermost scope's. `called`: the number of the operation. False: reported. */
bool nxi_scatter_rows(const nxi_by *by, uint32_t called, nx_tensor *places, const nxi_row *updates,
                      nxi_row *x);

/* scatter_complex.c: the modes of complex numbers that are combiners of their own: NX_SCATTER_MUL,
 * NX_SCATTER_MIN, NX_SCATTER_MAX. Operands have been checked. */
static inline bool nxi_scatter_takes_rounds(nx_scatter_mode mode, nx_dtype t) {
  return nxi_is_complex(t) && mode >= NX_SCATTER_MUL && mode <= NX_SCATTER_MAX;
}
nx_tensor *nxi_scatter_complex(nx_tensor *x, nx_tensor *indices, nx_tensor *updates, int32_t axis,
                               nx_scatter_mode mode, bool drops);
nx_tensor *nxi_scatter_general_complex(nx_tensor *x, nx_tensor *starts, nx_tensor *updates,
                                       const nx_scatter_numbers *numbers, nx_scatter_mode mode);

#endif
