/* SPDX-License-Identifier: ISC */
/* The text of graphs. What nx_dump prints with stage "graph" parses back to the same graph:
 *
 *   nxir 2
 *   graph @f(%x: f32[4,3], %y: f32[3]) -> (%z) {
 *     %z = add %x, %y : f32[4,3]
 *   }
 *
 * Texts of version 1, as nx 0.1 wrote them, are read as well.
 */
#ifndef NX_IR_H
#define NX_IR_H

#include "custom.h"
#include "function.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nx_parse_options {
  size_t size;               /**< sizeof(nx_parse_options) */
  nx_device device;          /**< of the tensors: a text names none */
  nx_custom *const *customs; /**< the operations that the text may name; of equal names the first */
  size_t n_customs;
} nx_parse_options;

/** A function from text, `size` bytes of it (no NUL needed). NULL options: device 0. Its inputs and
 * outputs are in the text's order, with the text's names. *f is one reference, the caller's;
 * untouched on failure. NX_PARSE with "line L, column C: what was expected" as the message, or what
 * recording the same would give, with the same position; NX_INVALID_ARGUMENT: a NULL argument;
 * NX_DEVICE_UNAVAILABLE; NX_OUT_OF_MEMORY. Text is never trusted: nothing it says makes the library
 * read out of bounds or allocate more than the text justifies. */
NX_API nx_status nx_function_parse(nx_context *context, const char *text, size_t size,
                                   const nx_parse_options *options, nx_function **f);

#ifdef __cplusplus
}
#endif
#endif
