/* SPDX-License-Identifier: ISC */
/* Distances of words: insertions, deletions, substitutions, and exchanges of two neighbours, each
 * counting one. */
#include "near.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 40 }; /* letters of a word; there are no suggestions for longer words */

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

static unsigned distance(const char *a, size_t n, const char *b, size_t m) {
  uint8_t rows[3][MOST + 1];
  uint8_t *before = rows[0], *last = rows[1], *row = rows[2];
  for (size_t k = 0; k <= m; k++) last[k] = (uint8_t)k;
  memset(before, 0, sizeof rows[0]);
  for (size_t i = 1; i <= n; i++) {
    row[0] = (uint8_t)i;
    for (size_t k = 1; k <= m; k++) {
      unsigned best = least(least(last[k], row[k - 1]) + 1u, last[k - 1] + (a[i - 1] != b[k - 1]));
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
        best = least(best, before[k - 2] + 1u);
      row[k] = (uint8_t)best;
    }
    uint8_t *oldest = before;
    before = last;
    last = row;
    row = oldest;
  }
  return last[m];
}

int nxi_near(const char *word, size_t length, const char *const *known, size_t n) {
  int found = -1;
  unsigned most = length > 2 ? (unsigned)(length + 2) / 3 : 0;
  for (size_t i = 0; i < n && length <= MOST; i++) {
    size_t m = strlen(known[i]);
    if (m > MOST || m < 2) continue;
    unsigned d = distance(word, length, known[i], m);
    if (d > most || d >= m || (found >= 0 && d == most)) continue;
    found = (int)i;
    most = d;
  }
  return found;
}

void nxi_near_text(const char *word, size_t length, const char *const *known, size_t n,
                   char out[NXI_NEAR_TEXT]) {
  int i = nxi_near(word, length, known, n);
  out[0] = 0;
  if (i >= 0) snprintf(out, NXI_NEAR_TEXT, "; did you mean %s?", known[i]);
}
