/* SPDX-License-Identifier: ISC */
/* Linear algebra, batched over leading dimensions. Recorded like every other operation (ops.h). */
#ifndef NX_LINALG_H
#define NX_LINALG_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* I F. (.., n, k) x (.., k, m) -> (.., n, m); both of rank 2 at least; leading dimensions broadcast; any strides,
 * usually without a copy. An inner extent of 0 gives zeros. Integers wrap. f32 and f64 go through BLAS where
 * there is one: the same bits for one library, version and core type. */
NX_API nx_tensor *nx_matmul(nx_tensor *a, nx_tensor *b);

#ifdef __cplusplus
}
#endif
#endif
