/* SPDX-License-Identifier: ISC */
/* Status values of every action, and the one table they come from. Values never change. */
#ifndef NX_STATUS_H
#define NX_STATUS_H

/** Symbols that belong to the interface; everything else in the library is hidden. */
#if defined(_WIN32)
#define NX_API
#else
#define NX_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** One row a status: name, value, one sentence.
 *
 * Of element types: UNSUPPORTED_DTYPE means that an operand, or the result, may not have this one
 * whatever the others are (a condition that is not bool, indices that are not i32 or i64, a type
 * that a file format lacks). INVALID_ARGUMENT means that each may be, but they do not go together,
 * or that there is no element type of this number. */
#define NX_STATUS_TABLE(X)                                                           \
  X(OK, 0, "success")                                                                \
  X(INVALID_ARGUMENT, 1, "an argument is outside what the operation admits")         \
  X(UNSUPPORTED_DTYPE, 2, "the operation does not admit this element type")          \
  X(NEEDS_COPY, 3, "the strides cannot express this view; make it contiguous first") \
  X(INDEX_OUT_OF_RANGE, 4, "an index is outside the axis it addresses")              \
  X(NOT_POSITIVE_DEFINITE, 5, "the matrix is not positive definite")                 \
  X(SINGULAR, 6, "the matrix is singular")                                           \
  X(NO_CONVERGENCE, 7, "the iteration did not converge")                             \
  X(OUT_OF_MEMORY, 8, "memory is exhausted")                                         \
  X(NOT_WRITABLE, 9, "the storage is read only")                                     \
  X(UNBOUND, 10, "a placeholder has no value")                                       \
  X(DONATED, 11, "the tensor was donated to a function call")                        \
  X(INTERRUPTED, 12, "the poll callback asked to stop")                              \
  X(DEVICE_UNAVAILABLE, 13, "the device is not available")                           \
  X(DEVICE_LOST, 14, "the device stopped working")                                   \
  X(COMPILE_FAILED, 15, "a kernel could not be compiled")                            \
  X(IO, 16, "a file could not be read or written")                                   \
  X(PARSE, 17, "a text or file is malformed")                                        \
  X(INTERNAL, 18, "the library found a fault of its own")                            \
  X(TIMED_OUT, 19, "another member of the group did not come in time")

typedef enum nx_status {
#define NX_STATUS_ROW(name, value, sentence) NX_##name = value,
  NX_STATUS_TABLE(NX_STATUS_ROW)
#undef NX_STATUS_ROW
} nx_status;

/** "NX_OUT_OF_MEMORY" for NX_OUT_OF_MEMORY; "NX_UNKNOWN" for a value outside the table. Static. */
NX_API const char *nx_status_name(nx_status status);
/** The sentence of the table; "not a status of this library" for a value outside it. Static. */
NX_API const char *nx_status_sentence(nx_status status);

#ifdef __cplusplus
}
#endif
#endif
