/* SPDX-License-Identifier: ISC */
/* Which build of this library is running, for keys of what is stored: code made by another build is not used. */
#ifndef NXI_BUILD_ID_H
#define NXI_BUILD_ID_H

#include <stddef.h>

/* The linker's build id of the program or library that holds this code, in hexadecimal; the version where
 * there is none. Writes at most `size` bytes, NUL terminated. */
void nxi_build_id(char *out, size_t size);

#endif
