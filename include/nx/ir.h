/* SPDX-License-Identifier: ISC */
/* The text of graphs. What nx_dump prints with stage "graph" parses back to the same graph:
 *
 *   nxir 1
 *   graph @f(%x: f32[4,3], %y: f32[3]) -> (%z) {
 *     %z = add %x, %y : f32[4,3]
 *   }
 */
#ifndef NX_IR_H
#define NX_IR_H

#include "function.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A function from text, `size` bytes of it (no NUL needed). Its inputs and outputs are in the
 * text's order, with the text's names. NX_PARSE with "line L, column C: what was expected" as the
 * message. Text is never trusted: nothing it says makes the library read out of bounds or allocate
 * more than the text justifies. */
NX_API nx_status nx_function_parse(nx_context *context, const char *text, size_t size,
                                   nx_function **f);
/* The same for tensors of a device other than 0: a text names none. Also NX_DEVICE_UNAVAILABLE. */
NX_API nx_status nx_function_parse_on(nx_context *context, nx_device device, const char *text,
                                      size_t size, nx_function **f);

#ifdef __cplusplus
}
#endif
#endif
