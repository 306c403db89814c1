/* SPDX-License-Identifier: ISC */
/* Functions that compiled code may call (ir/interp has them). */
#ifndef NXI_CALLED_H
#define NXI_CALLED_H

#include <stdint.h>

#include "ir/op.h"

/* A function over n elements, which fill whole registers; the result is not the operand. */
typedef void nxg_called_function(void *restrict result, const void *x, int64_t n);
/* Compiled code may call it instead of computing it (codegen_llvm/emit_call.c): the same bits,
 * since both are the expansion. bytes: of the values. NULL: there is none for so many of this
 * type. */
nxg_called_function *nxg_called(int64_t bytes, nxk_op op, nx_dtype type);

#endif
