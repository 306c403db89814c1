/* SPDX-License-Identifier: ISC */
/* Writes pictures as PNG files, uncompressed: enough for an example, and no library. */
#ifndef NX_EXAMPLES_PNG_H
#define NX_EXAMPLES_PNG_H

#include <stdbool.h>
#include <stdint.h>

/* rgb: width * height pixels of three bytes, rows from top to bottom. width at most 16384. */
bool png_write(const char *path, const uint8_t *rgb, uint32_t width, uint32_t height);

#endif
