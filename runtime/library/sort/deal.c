/* SPDX-License-Identifier: ISC */
/* Moves keys to their buckets by the partitions of a quicksort. Buckets are consecutive ranges of
 * keys, so a partition at the middle one's bound halves them, and what is left in the end goes to
 * its bucket as a whole. A key takes part in as many partitions as there are bits in the number of
 * buckets, each a fraction of a cycle; to look its bucket up and to count one up there takes
 * longer, since a place that was just counted up has to be read again.
 *
 * Keys are dealt a piece at a time, which stays in the nearest cache with the room beside it. */
#include <string.h>

#include "core.h"

typedef struct dealing {
  const nxi_sort_quick *quick;
  const uint64_t *lasts; /* of each bucket its greatest key */
  int64_t *next;
  char *to;
  size_t size; /* of a key */
} dealing;

/* n keys at `from` belong to the buckets first .. last; there is as much room at `room`. What a
 * partition leaves free of either is room for the next one. Calls itself for the lower half. */
static void deal(const dealing *d, char *from, char *room, int64_t n, int64_t first, int64_t last) {
  while (n > 0 && first < last) {
    const int64_t middle = first + (last - first) / 2;
    const int64_t low = d->quick->split(from, n, d->lasts[middle], room, from);
    deal(d, room, from + (size_t)(n - low) * d->size, low, first, middle);
    n -= low;
    first = middle + 1;
  }
  if (n == 0) return;
  memcpy(d->to + (size_t)d->next[first] * d->size, from, (size_t)n * d->size);
  d->next[first] += n;
}

void nxi_sort_deal(const nxi_sort *s, const nxi_sort_cut *c, char *keys, int64_t n, char *to,
                   int64_t *next, uint32_t *room) {
  const size_t size = s->form.engine->size;
  const int64_t most = (int64_t)(SORT_COUNTS * sizeof *room / size);
  const dealing d = {.quick = nxi_sort_quick_of((int)(8 * size)),
                     .lasts = c->lasts,
                     .next = next,
                     .to = to,
                     .size = size};
  for (int64_t i = 0; i < n; i += most)
    deal(&d, keys + (size_t)i * size, (char *)room, n - i < most ? n - i : most, 0, c->buckets - 1);
}
