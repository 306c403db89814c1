/* SPDX-License-Identifier: ISC */
/* Programs that are handed over without the interface's own form of them. A frontend that calls
 * PJRT writes a program as a portable artifact, which takes it several passes over the program and
 * some copies of its constants; one that can print text may give that, with its large constants
 * where they lie, and then loads the executable of these bytes: NX_PJRT_PROGRAM and the number,
 * 8 bytes of the processor's order.
 *
 * The number is random, so that bytes of another process name none of this one's programs. */
#ifndef NXJ_PROGRAMS_H
#define NXJ_PROGRAMS_H

#include <stddef.h>
#include <stdint.h>

#include "nx/status.h"

#define NX_PJRT_PROGRAM "nx program 1\n"

/** Reads a program: `size` bytes of StableHLO's text, in which the n next constants stand where it
 * says dense_resource<__elided__>, as MLIR prints those that it leaves out. constants: their
 * elements in C order, `sizes` bytes of each; not bools, and no elements below a byte. They are
 * copied, or with `lent` read where they lie: *lent is 1 from here on until nothing needs them any
 * more, then 0; it has to live as long, too. The text is copied. 0: what is given is no such
 * program, or there is no memory; why is not said, for the interface's own way says it. */
NX_API uint64_t nx_pjrt_program_new(const char *text, size_t size, const void *const *constants,
                                    const size_t *sizes, size_t n, int32_t *lent);
/** Gives the number up. Executables keep what they need. */
NX_API void nx_pjrt_program_drop(uint64_t number);

#endif
