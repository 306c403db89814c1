/* SPDX-License-Identifier: ISC */
/* Sorts many rows, each on one thread: the work and memory of such a task. Rows along an inner
 * axis are read a cache line of columns at a time, and their keys are written to memory of the
 * thread column by column, so the operand is read once and in order. Short rows are processed by
 * the hundred: their keys are made together, they are sorted together where vectors are wide
 * enough, and their results are written together. */
#include <string.h>

#include "ir/dtype.h"
#include "core.h"

enum {
  LINE_BYTES = 64,
  MOST_COLUMNS = 64,
  SHORT_ROW = 512,         /* elements */
  BATCH = 1 << 11,         /* elements of short rows that are sorted together */
  STRIP_BYTES = 1 << 19,   /* bytes of keys of columns that are sorted together */
  TILE = 256,              /* rows of a strip whose cache lines stay in the first-level cache */
  TASK_ELEMENTS = 1 << 13, /* least elements of a task if rows are short */
  LANES_ROW = 1 << 10,     /* elements of a row that is sorted together with others */
  LANES_BYTES = 1 << 16,   /* of elements of as many rows as a vector has lanes */
  CHUNK = 1 << 17,         /* elements of a long row between two polls */
};

/* ---- the plan */

/* The number of columns whose keys fit in the cache together. */
static int64_t choose_columns(const nxi_sort *s) {
  int64_t columns = LINE_BYTES / s->from_size, bytes = s->length * (int64_t)s->form.engine->size;
  if (columns > s->inner) columns = s->inner;
  if (s->length > nxi_sort_longest(s)) return 1;
  while (columns > 4 && columns * bytes > STRIP_BYTES) columns /= 2;
  return columns > 1 ? columns : 1;
}

static int64_t strips(const nxi_sort *s) { return (s->inner - 1) / s->columns + 1; }

/* Decides whether rows are sorted together, one row in each lane: if they are short and there are
 * many. */
static void choose_lanes(nxi_sort *s) {
  nxi_sort_form form;
  nxi_sort_lanes_form_of(&form, s->dtype, s->indices);
  const nxi_sort_columns *lanes = form.rekey ? NULL : nxi_sort_columns_of(form.element);
  if (!lanes || s->inner > 1 || s->length < lanes->least || s->outer < lanes->lanes / 2) return;
  if (s->length > LANES_ROW || s->length * lanes->column_bytes > LANES_BYTES) return;
  s->form = form;
  s->in_place = form.in_place;
  s->lanes = lanes;
  s->numbers = !s->indices && !nxi_is_complex(s->dtype) && s->from_size == (int64_t)form.size;
}

static int64_t choose_batch(const nxi_sort *s) {
  const int64_t rows = BATCH / s->length, lanes = s->lanes ? s->lanes->lanes : 1;
  if (s->lanes) return rows > lanes ? rows / lanes * lanes : lanes;
  return s->inner == 1 && s->length <= SHORT_ROW ? rows : 0;
}

bool nxi_sort_plan_rows(nxi_sort *s, nxg_call_work *work) {
  int64_t elements = s->length, task = 1;
  choose_lanes(s);
  const int64_t size = (int64_t)s->form.size;
  s->batch = choose_batch(s);
  s->columns = s->batch ? 1 : choose_columns(s);
  if (s->batch) {
    elements = s->batch * s->length;
    work->tasks[0] = (s->outer - 1) / s->batch + 1;
    task = TASK_ELEMENTS / elements + 1;
  } else {
    work->tasks[0] = s->outer * strips(s);
    if (s->length * s->columns < TASK_ELEMENTS) task = TASK_ELEMENTS / (s->length * s->columns);
  }
  work->grain[0] = task;
  s->cutter_at = nxi_sort_aligned(SORT_COUNTS * (int64_t)sizeof(uint32_t));
  s->columns_at = s->cutter_at;
  s->elements_at = s->cutter_at;
  if (s->lanes) s->elements_at += nxi_sort_columns_bytes(s->lanes, s->length);
  else if (s->length > nxi_sort_longest(s)) s->elements_at += nxi_sort_cutter_bytes();
  int64_t all;
  if (elements > INT64_MAX / 2 / size) return false;
  s->row_bytes = nxi_sort_aligned(elements * size);
  if (__builtin_mul_overflow(s->row_bytes, s->in_place ? 1 : s->columns + 1, &all)) return false;
  return !__builtin_add_overflow(all, s->elements_at, &work->own_bytes);
}

/* ---- a strip: rows next to each other along `inner` */

typedef struct strip {
  nxi_sort_stretch rows[MOST_COLUMNS];
  /* sorting swaps them, so any of them may hold the keys of a row */
  char *elements[MOST_COLUMNS], *spare;
  unsigned found[MOST_COLUMNS];
  int64_t columns;
} strip;

static int64_t tile(const strip *p, int64_t n) { return p->columns > 1 ? TILE : n; }

static void encode_strip(const nxi_sort *s, strip *p) {
  const int64_t n = s->length, size = (int64_t)s->form.engine->size, most = tile(p, n);
  for (int64_t c = 0; c < p->columns; c++) p->found[c] = 0;
  for (int64_t at = 0; at < n; at += most) {
    const int64_t m = n - at > most ? most : n - at;
    for (int64_t c = 0; c < p->columns; c++)
      s->form.encode(&s->keys, &p->rows[c], at, m, p->elements[c] + at * size, &p->found[c]);
  }
}

static void emit_strip(const nxi_sort *s, const strip *p) {
  const int64_t n = s->length, size = (int64_t)s->form.engine->size, most = tile(p, n);
  for (int64_t at = 0; at < n; at += most) {
    const int64_t m = n - at > most ? most : n - at;
    for (int64_t c = 0; c < p->columns; c++)
      s->form.emit(&s->keys, &p->rows[c], at, m, p->elements[c] + at * size);
  }
}

static void sort_strip(const nxi_sort *s, const nxg_call_part *part, int64_t first,
                       int64_t columns) {
  const nxi_sort_own own = nxi_sort_own_of(s, part);
  strip p; /* large, so only the fields that are used are set */
  p.columns = columns;
  p.spare = own.elements;
  for (int64_t c = 0; c < columns; c++) {
    p.rows[c] = nxi_sort_row(s, part, first + c);
    p.elements[c] = s->in_place ? p.rows[c].to : own.elements + (c + 1) * s->row_bytes;
  }
  encode_strip(s, &p);
  for (int64_t c = 0; c < columns; c++) {
    char *sorted = nxi_sort_few(s, &p.rows[c], p.elements[c], p.spare, s->length, own.counts);
    if (sorted == p.elements[c]) continue;
    p.spare = p.elements[c];
    p.elements[c] = sorted;
  }
  emit_strip(s, &p);
  for (int64_t c = 0; c < columns && nxi_sort_mends(s); c++)
    if (p.found[c]) nxi_sort_mend(s, &p.rows[c]);
}

/* ---- a row that does not fit the cache */

static void mend_long(const nxi_sort *s, nxg_call_part *part, const nxi_sort_stretch *row) {
  int64_t zeros, nans, all_nans = 0;
  for (int64_t at = 0; at < s->length && !part->stopped(part->user); at += CHUNK) {
    const int64_t m = s->length - at < CHUNK ? s->length - at : CHUNK;
    nxi_sort_count_special(&s->keys, row, at, m, &zeros, &nans);
    all_nans += nans;
  }
  int64_t zero = nxi_sort_first_zero(&s->keys, row, s->length), nan = s->length - all_nans;
  for (int64_t at = 0; at < s->length && !part->stopped(part->user); at += CHUNK) {
    const int64_t m = s->length - at < CHUNK ? s->length - at : CHUNK;
    nxi_sort_count_special(&s->keys, row, at, m, &zeros, &nans);
    nxi_sort_write_special(&s->keys, row, at, m, zero, nan);
    zero += zeros;
    nan += nans;
  }
}

static void sort_long_row(const nxi_sort *s, nxg_call_part *part, int64_t number) {
  const nxi_sort_own own = nxi_sort_own_of(s, part);
  const nxi_sort_stretch row = nxi_sort_row(s, part, number);
  char *at = s->in_place ? row.to : own.elements + s->row_bytes;
  unsigned found = 0;
  for (int64_t i = 0; i < s->length; i += CHUNK) {
    const int64_t m = s->length - i < CHUNK ? s->length - i : CHUNK;
    if (part->stopped(part->user)) return;
    s->form.encode(&s->keys, &row, i, m, at + i * (int64_t)s->form.engine->size, &found);
  }
  nxi_sort_stretch_of(s, part, &row, at, own.elements, 0, s->length);
  if (found && nxi_sort_mends(s) && !part->stopped(part->user)) mend_long(s, part, &row);
}

/* ---- short rows */

/* Sorts the rows of a batch whose elements are all keys at `elements`. */
static void sort_keys_of(const nxi_sort *s, const nxg_call_part *part, const nxi_sort_stretch *all,
                         int64_t rows, char *elements) {
  const nxi_sort_own own = nxi_sort_own_of(s, part);
  const int64_t n = s->length, bytes = n * (int64_t)s->form.size;
  const int64_t together = s->lanes ? s->lanes->lanes : 1;
  for (int64_t i = 0; i < rows; i += together) {
    char *row = elements + i * bytes, *sorted = row;
    if (s->lanes)
      s->lanes->sort_keys(row, rows - i < together ? rows - i : together, n, own.columns);
    else sorted = nxi_sort_few(s, all, row, own.elements, n, own.counts);
    if (sorted != row) memcpy(row, sorted, (size_t)bytes);
  }
}

static void sort_through_keys(const nxi_sort *s, const nxg_call_part *part,
                              const nxi_sort_stretch *all, int64_t rows, unsigned *found) {
  const nxi_sort_own own = nxi_sort_own_of(s, part);
  const int64_t n = s->length, bytes = n * (int64_t)s->form.size;
  char *elements = s->in_place ? all->to : own.elements + s->row_bytes;
  s->form.encode(&s->keys, all, 0, rows * n, elements, found);
  sort_keys_of(s, part, all, rows, elements);
  if (!s->indices) s->form.emit(&s->keys, all, 0, rows * n, elements);
  for (int64_t i = 0; i < rows && s->indices; i++) {
    nxi_sort_stretch row = *all;
    row.base = i * n;
    row.to = all->to + row.base * s->to_size;
    s->form.emit(&s->keys, &row, 0, n, elements + i * bytes);
  }
}

static void sort_numbers(const nxi_sort *s, const nxg_call_part *part, const nxi_sort_stretch *all,
                         int64_t rows, unsigned *found) {
  const int64_t lanes = s->lanes->lanes, row = s->length * s->to_size;
  for (int64_t i = 0; i < rows; i += lanes)
    s->lanes->sort_numbers(&s->keys, all->from + i * row, all->to + i * row,
                           rows - i < lanes ? rows - i : lanes, s->length,
                           nxi_sort_own_of(s, part).columns, found);
}

static void sort_batch(const nxi_sort *s, const nxg_call_part *part, int64_t first, int64_t rows) {
  const nxi_sort_stretch all = nxi_sort_row(s, part, first);
  unsigned found = 0;
  if (s->numbers) sort_numbers(s, part, &all, rows, &found);
  else sort_through_keys(s, part, &all, rows, &found);
  for (int64_t i = 0; i < rows && found && nxi_sort_mends(s); i++) {
    const nxi_sort_stretch row = nxi_sort_row(s, part, first + i);
    nxi_sort_mend(s, &row);
  }
}

/* ---- the phase */

void nxi_sort_run_rows(const nxi_sort *s, nxg_call_part *part) {
  for (int64_t i = part->begin; i < part->end; i++) {
    if (s->batch) {
      const int64_t first = i * s->batch, rows = s->outer - first;
      sort_batch(s, part, first, rows < s->batch ? rows : s->batch);
      continue;
    }
    const int64_t outer = i / strips(s), inner = i % strips(s) * s->columns;
    const int64_t columns = s->inner - inner < s->columns ? s->inner - inner : s->columns;
    if (s->length > nxi_sort_longest(s)) sort_long_row(s, part, outer * s->inner + inner);
    else sort_strip(s, part, outer * s->inner + inner, columns);
  }
}
