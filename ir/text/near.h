/* SPDX-License-Identifier: ISC */
/* "did you mean": the known word that is nearest to a misspelled one. */
#ifndef NXI_NEAR_H
#define NXI_NEAR_H

#include <stddef.h>

/* Returns the number of the nearest of n words, the first one if several are equally near, or -1 if
 * no word is near. Near means at most one change for every three letters, so no change in words of
 * one or two letters. A change inserts, deletes or replaces a letter, or exchanges two
 * neighbours. */
int nxi_near(const char *word, size_t length, const char *const *known, size_t n);
/* "; did you mean WORD?", or nothing. */
enum { NXI_NEAR_TEXT = 64 };
void nxi_near_text(const char *word, size_t length, const char *const *known, size_t n,
                   char out[NXI_NEAR_TEXT]);

#endif
