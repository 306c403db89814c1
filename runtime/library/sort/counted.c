/* SPDX-License-Identifier: ISC */
/* Sorts long rows of numbers of 8 and 16 bits. How often each number is there says all but the
 * order of zeros of both signs and of several NaNs, which is that of the operand. So threads count
 * blocks of a row, the counts are added, and each number is written as often as it was counted. */
#include <string.h>

#include "core.h"

enum { COUNT, SUM, WRITE, COUNT_SPECIAL, WRITE_SPECIAL, PHASES };
enum {
  BLOCK = 1 << 18,  /* elements that a task counts, about */
  MOST_BLOCKS = 64, /* of a row, at most, ... */
  MOST_BLOCK =
      1 << 19,      /* ... as long as they are not longer than that, so that polls are not late */
  PART = 1 << 16,   /* elements that a task writes, at least */
  MOST_PARTS = 256, /* of a row */
  GROUPS = 256,     /* of numbers, by the leading bits of their keys */
  TABLES = 4,       /* of bytes: a count is read again while it is being written */
  CHUNK = 64,       /* bytes that are written at once */
};

typedef struct block {
  int64_t zeros, nans;
} block;

/* The memory of a row: this struct, then its blocks, their tables and the sums of these. Tables are
 * by the bits of numbers, not by their keys. */
typedef struct counted_row {
  int64_t starts[GROUPS + 1]; /* the places of the first number of each group */
  int64_t zero;               /* the place of the first one */
  uint64_t nan;               /* a NaN, if there are any; they come after all groups */
  bool special;               /* several numbers have one place in the order */
  block blocks[];
} counted_row;

typedef struct work {
  const nxi_sort *sort;
  nxi_sort_stretch row;
  counted_row *state;
  uint32_t *tables;
  int64_t *totals;
  int64_t values;           /* how many numbers there are */
  int64_t number, begin, n; /* of the block or part */
} work;

bool nxi_sort_is_counted(const nxi_sort *s) {
  return s->together && !s->indices && s->from_size <= 2;
}

static int64_t values_of(const nxi_sort *s) { return (int64_t)1 << 8 * s->from_size; }

static int64_t table_bytes(const nxi_sort *s) {
  const int64_t tables = s->from_size == 1 ? TABLES : 1;
  return values_of(s) * tables * (int64_t)sizeof(uint32_t);
}

bool nxi_sort_plan_counted(nxi_sort *s, nxg_call_work *work) {
  const int64_t rows = s->outer * s->inner;
  int64_t blocks = (s->length - 1) / BLOCK + 1, parts = s->length / PART;
  if (blocks > MOST_BLOCKS) blocks = MOST_BLOCKS;
  if (blocks < s->length / MOST_BLOCK) blocks = s->length / MOST_BLOCK + 1;
  s->blocks = blocks;
  s->parts = parts > MOST_PARTS ? MOST_PARTS : parts > 1 ? parts : 1;
  s->state_bytes = nxi_sort_aligned((int64_t)sizeof(counted_row) + blocks * (int64_t)sizeof(block));
  s->block_bytes = table_bytes(s);
  s->row_scratch =
      s->state_bytes + blocks * s->block_bytes + values_of(s) * (int64_t)sizeof(int64_t);
  work->n_phases = nxi_sort_mends(s) ? PHASES : COUNT_SPECIAL;
  for (int phase = 0; phase < PHASES; phase++) {
    work->tasks[phase] = rows * (phase == SUM ? 1 : phase == WRITE ? s->parts : s->blocks);
    work->grain[phase] = 1;
  }
  return !__builtin_mul_overflow(s->row_scratch, rows, &work->shared_bytes);
}

static work work_of(const nxi_sort *s, const nxg_call_part *part, int64_t task) {
  const int64_t each = part->phase == SUM ? 1 : part->phase == WRITE ? s->parts : s->blocks;
  const int64_t row = task / each, i = task % each;
  char *state = (char *)part->shared + row * s->row_scratch, *tables = state + s->state_bytes;
  work w = {.sort = s, .row = nxi_sort_row(s, part, row), .state = (void *)state, .number = i};
  w.tables = (void *)tables;
  w.totals = (void *)(tables + s->blocks * s->block_bytes);
  w.values = values_of(s);
  w.begin = s->length / each * i + s->length % each * i / each;
  w.n = s->length / each * (i + 1) + s->length % each * (i + 1) / each - w.begin;
  return w;
}

/* ---- counting */

#define COUNTER(N, tables)                                                               \
  static void count_##N(const char *from, int64_t stride, int64_t n, uint32_t *counts) { \
    int64_t i = 0;                                                                       \
    for (; i + (tables) <= n; i += (tables))                                             \
      for (int64_t t = 0; t < (tables); t++, from += stride) {                           \
        uint##N##_t x;                                                                   \
        memcpy(&x, from, sizeof x);                                                      \
        counts[(t << N) + x]++;                                                          \
      }                                                                                  \
    for (; i < n; i++, from += stride) {                                                 \
      uint##N##_t x;                                                                     \
      memcpy(&x, from, sizeof x);                                                        \
      counts[x]++;                                                                       \
    }                                                                                    \
  }
COUNTER(8, TABLES)
COUNTER(16, 1)

static void count_block(const work *w) {
  const nxi_sort *s = w->sort;
  const char *from = w->row.from + w->begin * w->row.from_stride;
  uint32_t *counts = w->tables + w->number * (s->block_bytes / (int64_t)sizeof *counts);
  memset(counts, 0, (size_t)s->block_bytes);
  if (s->from_size == 1) count_8(from, w->row.from_stride, w->n, counts);
  else count_16(from, w->row.from_stride, w->n, counts);
}

/* ---- the sums */

/* The number of the key'th place in the order, in which NaNs of one sign come first. */
static SORT_INLINE uint64_t number_of(const nxi_sort_keys *k, uint64_t key) {
  key ^= k->flip;
  if (k->floats) key = key & k->sign ? key ^ k->sign : ~key;
  return key & k->nan;
}

/* Takes the NaNs out of the totals, and finds out whether several numbers have one place. */
static void take_special(const work *w) {
  const nxi_sort_keys *k = &w->sort->keys;
  counted_row *row = w->state;
  int64_t kinds = 0;
  row->nan = 0;
  row->special = false;
  if (!k->floats) return;
  for (uint64_t x = k->largest + 1; x <= k->nan; x++) {
    if ((x & k->magnitude) <= k->largest || w->totals[x] == 0) continue;
    w->totals[x] = 0;
    row->nan = x;
    kinds++;
  }
  row->special = kinds > 1 || (w->totals[0] > 0 && w->totals[k->sign] > 0);
}

static void sum_row(const work *w) {
  const nxi_sort *s = w->sort;
  const int64_t each = w->values / GROUPS,
                tables = s->blocks * (s->block_bytes / (w->values * (int64_t)sizeof *w->tables));
  memset(w->totals, 0, (size_t)w->values * sizeof *w->totals);
  for (int64_t t = 0; t < tables; t++)
    for (int64_t x = 0; x < w->values; x++) w->totals[x] += w->tables[t * w->values + x];
  take_special(w);
  int64_t before = 0;
  for (int64_t group = 0; group < GROUPS; group++) {
    w->state->starts[group] = before;
    for (int64_t key = group * each; key < (group + 1) * each; key++)
      before += w->totals[number_of(&s->keys, (uint64_t)key)];
  }
  w->state->starts[GROUPS] = before;
}

/* ---- writing */

/* Writes a number as often as it fills `bytes` bytes, and perhaps what follows, up to `stop`. */
static SORT_INLINE char *repeat(char *to, const char *stop, uint64_t number, int64_t bytes) {
  uint64_t chunk[CHUNK / 8];
  char *end = to + bytes;
  for (int i = 0; i < CHUNK / 8; i++) chunk[i] = number;
  for (; to < end && stop - to >= CHUNK; to += CHUNK) memcpy(to, chunk, sizeof chunk);
  for (; to < end; to += 8) memcpy(to, &number, end - to < 8 ? (size_t)(end - to) : 8);
  return end;
}

static void scatter(char *to, int64_t stride, uint64_t number, int64_t size, int64_t n) {
  for (int64_t i = 0; i < n; i++) memcpy(to + i * stride, &number, (size_t)size);
}

static char *write_number(const work *w, char *to, const char *stop, uint64_t number, int64_t n) {
  const int64_t size = w->sort->from_size, stride = w->row.to_stride;
  const uint64_t ones = size == 1 ? 0x0101010101010101 : 0x0001000100010001;
  if (stride == size) return repeat(to, stop, number * ones, n * size);
  scatter(to, stride, number, size, n);
  return to + n * stride;
}

static void write_part(const work *w) {
  const nxi_sort *s = w->sort;
  const int64_t each = w->values / GROUPS, *starts = w->state->starts, end = w->begin + w->n;
  char *to = w->row.to + w->begin * w->row.to_stride;
  const char *stop = to + w->n * w->row.to_stride;
  int64_t at = w->begin, group = 0;
  while (group < GROUPS && starts[group + 1] <= at) group++;
  int64_t key = group * each, before = starts[group];
  for (; at < end && key < w->values; key++) {
    const uint64_t x = number_of(&s->keys, (uint64_t)key);
    before += w->totals[x];
    if (before <= at) continue;
    const int64_t until = before < end ? before : end;
    to = write_number(w, to, stop, x, until - at);
    at = until;
  }
  write_number(w, to, stop, w->state->nan, end - at);
}

/* ---- zeros and NaNs in the order of the operand */

static void count_special(const work *w) {
  counted_row *row = w->state;
  block *b = &row->blocks[w->number];
  const nxi_sort *s = w->sort;
  if (!row->special) return;
  if (w->number == 0) row->zero = nxi_sort_first_zero(&s->keys, &w->row, s->length);
  nxi_sort_count_special(&s->keys, &w->row, w->begin, w->n, &b->zeros, &b->nans);
}

static void write_special(const work *w) {
  const counted_row *row = w->state;
  const nxi_sort *s = w->sort;
  if (!row->special) return;
  int64_t zero = row->zero, nan = s->length;
  for (int64_t i = 0; i < s->blocks; i++) {
    if (i < w->number) zero += row->blocks[i].zeros;
    else nan -= row->blocks[i].nans;
  }
  nxi_sort_write_special(&s->keys, &w->row, w->begin, w->n, zero, nan);
}

void nxi_sort_run_counted(const nxi_sort *s, nxg_call_part *part) {
  for (int64_t i = part->begin; i < part->end; i++) {
    const work w = work_of(s, part, i);
    switch (part->phase) {
      case COUNT: count_block(&w); break;
      case SUM: sum_row(&w); break;
      case WRITE: write_part(&w); break;
      case COUNT_SPECIAL: count_special(&w); break;
      default: write_special(&w);
    }
  }
}
