/* SPDX-License-Identifier: ISC */
/* Numbers as operands: `x + 2` in one call, without a tensor for the 2.
 *
 * A number takes the dtype of the tensor that it meets, whatever its own kind: integers wrap to it,
 * floating-point numbers are converted as by nx_cast (rounded once; to an integer dtype toward zero
 * and saturating, NaN to 0; to bool: whether it is not 0), of a complex number a real dtype takes
 * the real part. Nothing is promoted: a frontend in which an integer array and 2.5 give floats
 * casts the array first. What is recorded is exactly what the same operation records of the tensor
 * and of nx_full of rank 0 with the tensor's dtype, so results and plans are the same; it takes
 * little more time than an operation on two tensors.
 *
 * As in ops.h, each function of an operation records it and returns its result, a new handle that
 * is one reference, the caller's; operands are borrowed. NULL and this thread's error on a failure:
 * the statuses of the operation, NX_INVALID_ARGUMENT also for a number that is no operation, and
 * NX_OUT_OF_MEMORY. Operand 0 of an error is the left one. */
#ifndef NX_NUMBER_H
#define NX_NUMBER_H

#include "ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The binary operations of ops.h by number, for tables of frontends. Values never change. */
typedef enum nx_binary_op {
  NX_BINARY_ADD = 0,
  NX_BINARY_SUB = 1,
  NX_BINARY_MUL = 2,
  NX_BINARY_DIV = 3,
  NX_BINARY_MOD = 4,
  NX_BINARY_POW = 5,
  NX_BINARY_ATAN2 = 6,
  NX_BINARY_CMPEQ = 7,
  NX_BINARY_CMPNE = 8,
  NX_BINARY_CMPLT = 9,
  NX_BINARY_CMPLE = 10,
  NX_BINARY_CMPGT = 11,
  NX_BINARY_CMPGE = 12,
  NX_BINARY_MAX = 13,
  NX_BINARY_MIN = 14,
  NX_BINARY_XOR = 15,
  NX_BINARY_OR = 16,
  NX_BINARY_AND = 17,
  NX_BINARY_SHL = 18,
  NX_BINARY_SHR = 19,
  NX_BINARY_COMPLEX = 20,
  NX_BINARY_FLOOR_DIV = 21,
  NX_BINARY_FLOOR_MOD = 22,
  NX_BINARY_LOGADDEXP = 23,
  NX_BINARY_HYPOT = 24
} nx_binary_op;

/** `a op b` of two tensors: nx_binary(a, NX_BINARY_ADD, b) is nx_add(a, b). */
NX_API nx_tensor *nx_binary(nx_tensor *a, nx_binary_op op, nx_tensor *b);

/** `a op b`, where b is a number: `x * 0.5` is nx_binary_f64(x, NX_BINARY_MUL, 0.5). The result has
 * the shape of a, and the dtype that the operation gives of a's. */
NX_API nx_tensor *nx_binary_f64(nx_tensor *a, nx_binary_op op, double b);
/** The same, where b is an integer. */
NX_API nx_tensor *nx_binary_i64(nx_tensor *a, nx_binary_op op, int64_t b);
/** The same for every kind of number; b is read before this returns. Also NX_INVALID_ARGUMENT for
 * NULL, or a number of no known kind. */
NX_API nx_tensor *nx_binary_scalar(nx_tensor *a, nx_binary_op op, const nx_scalar *b);

/** `a op b`, where a is a number: `1 / x` is nx_f64_binary(1, NX_BINARY_DIV, x). The result has the
 * shape of b, and the dtype that the operation gives of b's. */
NX_API nx_tensor *nx_f64_binary(double a, nx_binary_op op, nx_tensor *b);
/** The same, where a is an integer. */
NX_API nx_tensor *nx_i64_binary(int64_t a, nx_binary_op op, nx_tensor *b);
/** The same for every kind of number; a is read before this returns. Also NX_INVALID_ARGUMENT for
 * NULL, or a number of no known kind. */
NX_API nx_tensor *nx_scalar_binary(const nx_scalar *a, nx_binary_op op, nx_tensor *b);

/** nx_full (tensor.h) of a number that is no struct. shape: `rank` extents, NULL for rank 0. All
 * dtypes. The statuses of nx_full. */
NX_API nx_tensor *nx_full_f64(nx_context *context, nx_device device, nx_dtype dtype,
                              const int64_t *shape, int32_t rank, double value);
/** As nx_full_f64, of an integer. */
NX_API nx_tensor *nx_full_i64(nx_context *context, nx_device device, nx_dtype dtype,
                              const int64_t *shape, int32_t rank, int64_t value);

#ifdef __cplusplus
}
#endif
#endif
