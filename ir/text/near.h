/* SPDX-License-Identifier: ISC */
/* "did you mean": the known word that is nearest to a misspelled one. */
#ifndef NXI_NEAR_H
#define NXI_NEAR_H

#include <stddef.h>

/* The number of the nearest of n words, -1 if none is near: at most one change for every three
 * letters (one letter more, less, other, or two exchanged), and for words of one or two letters
 * none. The first of those that are equally near. */
int nxi_near(const char *word, size_t length, const char *const *known, size_t n);
/* "; did you mean WORD?", or nothing. */
enum { NXI_NEAR_TEXT = 64 };
void nxi_near_text(const char *word, size_t length, const char *const *known, size_t n,
                   char out[NXI_NEAR_TEXT]);

#endif
