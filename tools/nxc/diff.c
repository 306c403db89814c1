/* SPDX-License-Identifier: ISC */
/* The differences between two texts, line by line, by a longest common subsequence. After a pass
 * few lines differ; if very many do, only their numbers are printed. */
#include <string.h>

#include "ir/alloc.h"
#include "nxc.h"

enum { MOST_CELLS = 1 << 24 };

typedef struct lines {
  const char **at; /* the beginning of each line, and the end of the text */
  uint32_t n;
} lines;

static bool split(const nxi_text *text, lines *out) {
  const char *end = text->data + text->size;
  uint32_t capacity = 0;
  *out = (lines){0};
  for (const char *at = text->data; text->size > 0 && at < end; out->n++) {
    if (!nxi_grow(&out->at, &capacity, out->n + 2, sizeof *out->at)) return false;
    out->at[out->n] = at;
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    at = stop != NULL ? stop + 1 : end;
    out->at[out->n + 1] = at;
  }
  return true;
}

static size_t length(const lines *l, uint32_t i) { return (size_t)(l->at[i + 1] - l->at[i]); }

static bool same(const lines *a, uint32_t i, const lines *b, uint32_t k) {
  return length(a, i) == length(b, k) && memcmp(a->at[i], b->at[k], length(a, i)) == 0;
}

static void put(nxi_text *out, const char *mark, const lines *l, uint32_t i) {
  nxi_text_add(out, "; %s ", mark);
  nxi_text_put(out, l->at[i], (uint32_t)length(l, i));
}

/* Lines [begin, a_end) of a and [begin, b_end) of b, of which the first differ and the last differ.
 * cells[i][k] is how many lines those from i and from k on have in common. */
static bool walk(const lines *a, uint32_t a_end, const lines *b, uint32_t b_end, uint32_t begin,
                 nxi_text *out) {
  size_t rows = a_end - begin + 1, columns = b_end - begin + 1;
  if (rows * columns > MOST_CELLS) {
    nxi_text_add(out, "; - %zu lines\n; + %zu lines\n", rows - 1, columns - 1);
    return true;
  }
  uint32_t *cells = nxi_calloc(rows * columns, sizeof *cells);
  if (cells == NULL) return false;
  for (size_t i = rows - 1; i-- > 0;)
    for (size_t k = columns - 1; k-- > 0;) {
      uint32_t down = cells[(i + 1) * columns + k], right = cells[i * columns + k + 1];
      cells[i * columns + k] = same(a, begin + (uint32_t)i, b, begin + (uint32_t)k)
                                   ? cells[(i + 1) * columns + k + 1] + 1
                               : down > right ? down
                                              : right;
    }
  uint32_t i = begin, k = begin;
  while (i < a_end || k < b_end) {
    const uint32_t *cell = &cells[(i - begin) * columns + (k - begin)];
    if (i < a_end && k < b_end && same(a, i, b, k)) i++, k++;
    else if (k == b_end || (i < a_end && cell[columns] >= cell[1])) put(out, "-", a, i++);
    else put(out, "+", b, k++);
  }
  nxi_free(cells);
  return true;
}

bool nxc_diff(const nxi_text *before, const nxi_text *after, nxi_text *out) {
  lines a, b = {0};
  bool good = split(before, &a) && split(after, &b);
  uint32_t begin = 0, a_end = a.n, b_end = b.n;
  while (good && begin < a_end && begin < b_end && same(&a, begin, &b, begin)) begin++;
  while (good && a_end > begin && b_end > begin && same(&a, a_end - 1, &b, b_end - 1))
    a_end--, b_end--;
  good = good && walk(&a, a_end, &b, b_end, begin, out);
  nxi_free(a.at);
  nxi_free(b.at);
  return good;
}
