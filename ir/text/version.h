/* SPDX-License-Identifier: ISC */
/* The versions of the text: which ones are read, and the words that differ between them. Printers
 * write the newest. Inside of the library every word is that of the newest version. */
#ifndef NXI_TEXT_VERSION_H
#define NXI_TEXT_VERSION_H

#include <stdbool.h>
#include <stdint.h>

enum { NXI_TEXT_OLDEST = 1, NXI_TEXT_NEWEST = 2 };

/* What a version calls `word`. */
const char *nxi_word_in(int version, const char *word);
/* Replaces a word of a version, s[0, n), by the one of today. False: that version has no such word,
 * since it had another one for it. */
bool nxi_word_of_today(int version, const char **s, uint32_t *n);

#endif
