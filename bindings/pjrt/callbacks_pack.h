/* SPDX-License-Identifier: ISC */
/* Operands and results of functions of the caller as arrays of the host (callbacks_pack.c). Tensors
 * belong to the scope; NULL is a failure, noted in the thread's error. */
#ifndef NXJ_CALLBACKS_PACK_H
#define NXJ_CALLBACKS_PACK_H

#include <stddef.h>

#include "bindings/stablehlo/host_form.h"

/* Where n tensors of types of the host are in one of bytes, and its size. */
size_t nxj_packed_size(const nx_type *types, size_t n, size_t *offsets);
/* That tensor; x is overwritten. */
nx_tensor *nxj_pack(nx_tensor **x, size_t n, const size_t *offsets, size_t size);
/* One of them. */
nx_tensor *nxj_unpack(nx_tensor *bytes, const nx_type *type, size_t offset);

#endif
