/* SPDX-License-Identifier: ISC */
/* The words of the text that version 2 renamed (version.h). A text of version 1 is read with the
 * words of version 1 alone, so that no text mixes both. */
#include "version.h"

#include <string.h>

static const struct {
  const char *before, *now;
} renamed[] = {
    /* operations of graphs */
    {"pair", "interleave"},
    /* operations of kernels */
    {"part", "region"},
    {"rare", "cold"},
    {"pick", "blend"},
    {"fold", "lane_reduce"},
    {"lanes", "step_vector"},
    {"join", "concat"},
    {"swap", "shuffle_xor"},
    {"zip_low", "interleave_low"},
    {"zip_high", "interleave_high"},
    /* what else a kernel's text says */
    {"exact", "nsw"},
    {"own", "private"},
    {"ahead", "prefetch"},
};
enum { RENAMED = sizeof renamed / sizeof *renamed };

const char *nxi_word_in(int version, const char *word) {
  for (int i = 0; version < 2 && i < RENAMED; i++)
    if (strcmp(renamed[i].now, word) == 0) return renamed[i].before;
  return word;
}

static bool is(const char *word, const char *s, uint32_t n) {
  return strlen(word) == n && memcmp(word, s, n) == 0;
}

bool nxi_word_of_today(int version, const char **s, uint32_t *n) {
  for (int i = 0; version < 2 && i < RENAMED; i++) {
    if (is(renamed[i].now, *s, *n)) return false;
    if (!is(renamed[i].before, *s, *n)) continue;
    *s = renamed[i].now;
    *n = (uint32_t)strlen(*s);
    return true;
  }
  return true;
}
