/* SPDX-License-Identifier: ISC */
/* Which elements of a product count. What reads it may never use the others, as a mask is chosen in
 * their place; those may have any value. A plan says so, and the run of a product leaves them
 * out. */
#ifndef NXI_SEEN_H
#define NXI_SEEN_H

#include <stdint.h>

/* A column of each row: `at` in row 0, and `per_row` further in each next one. */
typedef struct nxi_border {
  int64_t at, per_row;
} nxi_border;

/* Columns begin .. end - 1 of a row; borders may lie outside of the matrix. */
typedef struct nxi_seen {
  nxi_border begin, end;
} nxi_seen;

/* All that rows first .. last - 1 use lies between *begin and *end - 1. */
static inline void nxi_seen_by(const nxi_seen *s, int64_t first, int64_t last, int64_t *begin,
                               int64_t *end) {
  *begin = s->begin.at + s->begin.per_row * (s->begin.per_row < 0 ? last - 1 : first);
  *end = s->end.at + s->end.per_row * (s->end.per_row < 0 ? first : last - 1);
}

/* The same of a part of the matrix that begins there. */
static inline nxi_seen nxi_seen_from(const nxi_seen *s, int64_t row, int64_t column) {
  nxi_seen part = *s;
  part.begin.at += s->begin.per_row * row - column;
  part.end.at += s->end.per_row * row - column;
  return part;
}

#endif
