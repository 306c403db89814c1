/* SPDX-License-Identifier: ISC */
/* The description of a scatter as it is carried out: updates written to, or combined with, the
 * elements that their indices name along one axis. */
#ifndef NXI_SCATTER_DESCRIPTION_H
#define NXI_SCATTER_DESCRIPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/dtype.h"

enum { NXI_SCATTER_RANK = 32 };
/* What becomes of an element and its update; the numbers of nx_scatter_mode. Integers have all of
 * them, floats the first five, complex numbers the first two, bool the first and the last three. */
typedef enum nxi_scatter_mode {
  NXI_SCATTER_SET,
  NXI_SCATTER_ADD,
  NXI_SCATTER_MUL,
  NXI_SCATTER_MIN,
  NXI_SCATTER_MAX,
  NXI_SCATTER_AND,
  NXI_SCATTER_OR,
  NXI_SCATTER_XOR
} nxi_scatter_mode;

/* NULL, or what elements of the dtype cannot be in this mode. */
static inline const char *nxi_scatter_refuses(nxi_scatter_mode mode, nx_dtype t) {
  static const char *const words[] = {
      "set",    "added", "multiplied", "the least of several", "the largest of several",
      "and-ed", "or-ed", "xor-ed"};
  bool takes = mode == NXI_SCATTER_SET   ? true
               : mode >= NXI_SCATTER_AND ? t == NX_BOOL || nxi_is_integer(t)
               : nxi_is_complex(t)       ? mode == NXI_SCATTER_ADD
                                         : t != NX_BOOL && !nxi_is_stored(t);
  return takes ? NULL : words[mode];
}

typedef struct nxi_scatter {
  nx_dtype dtype; /* a small float only if updates are set */
  nxi_scatter_mode mode;
  nx_dtype index; /* i32, i64, or on processors u8 */
  bool pairs;     /* elements are two numbers of the dtype; strides and extents count pairs */
  int32_t rank, axis;
  int64_t extent;                  /* extent of the axis in the result */
  int64_t shape[NXI_SCATTER_RANK]; /* shape of the updates */
  /* strides in elements; `to` is for the elements of the result with index 0 */
  int64_t to[NXI_SCATTER_RANK], indices[NXI_SCATTER_RANK], updates[NXI_SCATTER_RANK];
} nxi_scatter;

#endif
