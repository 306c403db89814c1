/* SPDX-License-Identifier: ISC */
/* Sorts rows of any length. A row is divided by the leading bits of its keys into consecutive
 * buckets, and a bucket that fits the cache is sorted. Adjacent values of the leading bits share
 * a bucket as long as it is small. A bucket that is still too large is divided again by the bits
 * that follow.
 *
 * Few long rows are divided by all threads together: they compute the keys of blocks of a row,
 * count them, move them to their buckets, and then sort the buckets. A row, or a bucket that is
 * too large, is treated in the same way by one thread in nxi_sort_stretch_of. */
#include <string.h>

#include "core.h"

enum {
  CACHE_BYTES = 1 << 20,  /* elements that one thread sorts at once */
  BUCKET_BYTES = 1 << 16, /* elements that are not worth being cut further ... */
  DEALT_BYTES = 1 << 18,  /* ... nor by partitions, of which a bucket's sort consists too */
  DEALT_LONGS = 1 << 22,  /* elements of 64 bits of a row that are worth it */
  SHARES = 8,             /* buckets at least, which threads divide among themselves */
  LEAST_BLOCK = 1 << 15,  /* elements */
  MOST_BLOCK = 1 << 19,   /* so that polls are not late */
  USUAL_BLOCKS = 64,      /* of a row, at most, as long as they are not longer than that */
  PART = 1 << 12,         /* elements that a task sorts, at least */
  MOST_PARTS = 256,       /* of a row */
  CHUNK = 1 << 11, /* elements that are encoded and looked at while they are in the nearest cache */
  /* Each level takes SORT_VALUE_BITS off the keys' width, of the second keys after that of the
   * first, or leaves buckets of at most 1/255 of the elements: 6 + 6 + 6 levels. */
  LEVELS = 20,
};

typedef nxi_sort_cut cut;

/* Values of leading bits: how often they are there, and whose bucket they belong to. */
typedef struct tally {
  int64_t totals[SORT_VALUES];
  uint16_t bucket_of[SORT_VALUES];
} tally;

int64_t nxi_sort_longest(const nxi_sort *s) { return CACHE_BYTES / (int64_t)s->form.engine->size; }

static char *place(const nxi_sort *s, char *elements, int64_t i) {
  return elements + i * (int64_t)s->form.engine->size;
}

/* ---- what is known of the keys */

static void join_ranges(nxi_sort_range *sum, const nxi_sort_range *next) {
  if (next->least < sum->least) sum->least = next->least;
  if (next->most > sum->most) sum->most = next->most;
  sum->descents += next->descents + (next->first < sum->last);
  sum->last = next->last;
}

static void scan_chunk(const nxi_sort *s, char *at, int64_t n, nxi_sort_range *range, bool first) {
  nxi_sort_range next;
  s->form.engine->scan(at, n, first ? range : &next);
  if (!first) join_ranges(range, &next);
}

static int shift_of(const nxi_sort_range *range) {
  const int width = nxi_sort_width(range);
  return width > SORT_VALUE_BITS ? width - SORT_VALUE_BITS : 0;
}

/* Whether elements go to their buckets by partitions: those of 64 bits where these are quick, and
 * if the row is so long that moving them one by one waits for memory. */
static bool is_dealt(const nxi_sort *s) {
  if (s->form.element == SORT_32) return nxi_sort_quick_of(32) != NULL;
  if (s->form.element != SORT_64 || s->length < DEALT_LONGS) return false;
  const nxi_sort_quick *quick = nxi_sort_quick_of(64);
  return quick != NULL && quick->largest == INT64_MAX;
}

/* The greatest key below those of a value. What follows the value of the greatest key would have
 * keys that are more than a key can be. */
static uint64_t last_before(const nxi_sort_range *range, int value) {
  const uint64_t distance = ((uint64_t)value << shift_of(range)) - 1;
  return distance < range->most - range->least ? range->least + distance : range->most;
}

/* A bucket takes values until it would have more than 1/255 of the elements. Two neighbours
 * together then have more, so there are 511 at most; and one that has more is of one value. */
static void choose_buckets(const nxi_sort *s, const nxi_sort_range *range, tally *t, int64_t begin,
                           int64_t n, cut *c) {
  const int64_t least = (is_dealt(s) ? DEALT_BYTES : BUCKET_BYTES) / (int64_t)s->form.engine->size;
  int64_t enough = n / 255 + 1, in_bucket = 0, before = begin, bucket = 0;
  if (enough < least && enough < n / SHARES) enough = least < n / SHARES ? least : n / SHARES;
  c->starts[0] = before;
  for (int v = 0; v < SORT_VALUES; v++) {
    if (in_bucket > 0 && in_bucket + t->totals[v] > enough) {
      c->lasts[bucket] = last_before(range, v);
      c->starts[++bucket] = before;
      in_bucket = 0;
    }
    t->bucket_of[v] = (uint16_t)bucket;
    in_bucket += t->totals[v];
    before += t->totals[v];
  }
  c->buckets = bucket + 1;
  c->starts[bucket + 1] = before;
}

/* ---- one thread */

struct nxi_sort_cutter {
  tally tally;
  int64_t next[SORT_BUCKETS];
  uint32_t counts[SORT_VALUES];
  cut levels[LEVELS];
};

int64_t nxi_sort_cutter_bytes(void) {
  return nxi_sort_aligned((int64_t)sizeof(struct nxi_sort_cutter));
}

/* How many have the key of the first one; n >= 1. */
static int64_t count_equal(const nxi_sort_pair *a, int64_t n) {
  int64_t end = 1;
  while (end < n && a[end].key == a[0].key) end++;
  return end;
}

/* Sorts elements with equal real parts by their imaginary parts. */
static void sort_equal(const nxi_sort *s, const nxi_sort_stretch *row, nxi_sort_pair *a,
                       nxi_sort_pair *room, int64_t n, uint32_t *counts) {
  for (int64_t i = 0, m; i < n; i += m) {
    m = count_equal(a + i, n - i);
    if (m == 1) continue;
    s->form.rekey(&s->keys, row, m, a + i);
    nxi_sort_pair *sorted = s->form.engine->sort(a + i, room + i, m, counts);
    if (sorted != a + i) memcpy(a + i, sorted, (size_t)m * sizeof *a);
  }
}

char *nxi_sort_few(const nxi_sort *s, const nxi_sort_stretch *row, char *elements, char *room,
                   int64_t n, uint32_t *counts) {
  char *sorted = s->form.engine->sort(elements, room, n, counts);
  if (s->form.rekey)
    sort_equal(s, row, (void *)sorted, (void *)(sorted == room ? elements : room), n, counts);
  return sorted;
}

/* A stretch that one thread sorts. Elements are in `at`. */
typedef struct stretch {
  const nxi_sort *sort;
  nxg_call_part *part;
  const nxi_sort_stretch *row;
  struct nxi_sort_cutter *cutter;
  uint32_t *counts;
  char *at, *spare; /* of the whole row */
  int64_t begin, n;
  bool second; /* keys are those of imaginary parts */
  int level;
} stretch;

static bool stopped(const stretch *w) { return w->part->stopped(w->part->user); }

enum { PIECE = 1 << 17 }; /* elements between two polls */
static int64_t piece(const stretch *w, int64_t done) {
  return w->n - done < PIECE ? w->n - done : PIECE;
}

static void scan_stretch(const stretch *w, nxi_sort_range *range) {
  for (int64_t i = 0; i < w->n && (i == 0 || !stopped(w)); i += PIECE)
    scan_chunk(w->sort, place(w->sort, w->at, w->begin + i), piece(w, i), range, i == 0);
}

static void emit_stretch(const stretch *w) {
  for (int64_t i = 0; i < w->n && !stopped(w); i += PIECE)
    w->sort->form.emit(&w->sort->keys, w->row, w->begin + i, piece(w, i),
                       place(w->sort, w->at, w->begin + i));
}

static void rekey_stretch(const stretch *w) {
  for (int64_t i = 0; i < w->n && !stopped(w); i += PIECE)
    w->sort->form.rekey(&w->sort->keys, w->row, piece(w, i),
                        (void *)place(w->sort, w->at, w->begin + i));
}

static void sort_small_stretch(const stretch *w) {
  const nxi_sort *s = w->sort;
  char *at = place(s, w->at, w->begin), *spare = place(s, w->spare, w->begin), *sorted;
  if (w->second) sorted = s->form.engine->sort(at, spare, w->n, w->counts);
  else sorted = nxi_sort_few(s, w->row, at, spare, w->n, w->counts);
  s->form.emit(&s->keys, w->row, w->begin, w->n, sorted);
}

/* Moves elements to their buckets in `spare`; false: told to stop. */
static bool cut_stretch(const stretch *w, const nxi_sort_range *range, cut *c) {
  const nxi_sort *s = w->sort;
  struct nxi_sort_cutter *cutter = w->cutter;
  tally *t = &cutter->tally;
  const int shift = shift_of(range);
  memset(t->totals, 0, sizeof t->totals);
  for (int64_t i = 0; i < w->n; i += PIECE) {
    if (stopped(w)) return false;
    memset(cutter->counts, 0, sizeof cutter->counts);
    s->form.engine->count_values(place(s, w->at, w->begin + i), piece(w, i), range->least, shift,
                                 cutter->counts);
    for (int v = 0; v < SORT_VALUES; v++) t->totals[v] += cutter->counts[v];
  }
  choose_buckets(s, range, t, w->begin, w->n, c);
  memcpy(cutter->next, c->starts, (size_t)c->buckets * sizeof *cutter->next);
  for (int64_t i = 0; i < w->n; i += PIECE) {
    char *at = place(s, w->at, w->begin + i);
    if (stopped(w)) return false;
    if (is_dealt(s)) nxi_sort_deal(s, c, at, piece(w, i), w->spare, cutter->next, w->counts);
    else
      s->form.engine->scatter(at, piece(w, i), w->spare, range->least, shift, t->bucket_of,
                              cutter->next);
  }
  return true;
}

/* Calls itself for the buckets: LEVELS deep, and once more at a change to the second keys. */
static void sort_stretch(stretch w) {
  const nxi_sort *s = w.sort;
  if (w.n == 0 || stopped(&w)) return;
  if (w.n <= nxi_sort_longest(s)) {
    sort_small_stretch(&w);
    return;
  }
  nxi_sort_range range = {0};
  scan_stretch(&w, &range);
  const bool first_of_two = s->form.rekey && !w.second;
  if (first_of_two && range.least == range.most) {
    rekey_stretch(&w);
    w.second = true;
    sort_stretch(w);
    return;
  }
  if (range.descents == 0 && !first_of_two) {
    emit_stretch(&w);
    return;
  }
  const cut *c = &w.cutter->levels[w.level];
  if (!cut_stretch(&w, &range, &w.cutter->levels[w.level])) return;
  stretch part = w;
  part.at = w.spare;
  part.spare = w.at;
  part.level++;
  for (int64_t k = 0; k < c->buckets; k++) {
    part.begin = c->starts[k];
    part.n = c->starts[k + 1] - part.begin;
    sort_stretch(part);
  }
}

void nxi_sort_stretch_of(const nxi_sort *s, nxg_call_part *part, const nxi_sort_stretch *row,
                         char *at, char *spare, int64_t begin, int64_t n) {
  const nxi_sort_own own = nxi_sort_own_of(s, part);
  sort_stretch((stretch){.sort = s,
                         .part = part,
                         .row = row,
                         .cutter = own.cutter,
                         .counts = own.counts,
                         .at = at,
                         .spare = spare,
                         .begin = begin,
                         .n = n});
}

/* ---- all threads: the phases */

enum { ENCODE, COUNT, CUT, MOVE, SORT, COUNT_SPECIAL, WRITE_SPECIAL, PHASES };
_Static_assert((int)PHASES <= (int)NXG_CALL_PHASES, "phases of a long row");

typedef struct block {
  nxi_sort_range range;
  unsigned found;
  int64_t zeros, nans;
  int64_t next[SORT_BUCKETS]; /* for each bucket the position of the block's next element */
  uint32_t counts[SORT_VALUES];
} block;

/* The memory of a row of the call: this struct, then its blocks, then its elements. */
typedef struct long_row {
  nxi_sort_range range;
  int64_t zero; /* the place of the first one in the result */
  tally tally;
  cut cut;
  block blocks[];
} long_row;

/* The work of a task: a row and one of its blocks or parts. */
typedef struct work {
  const nxi_sort *sort;
  nxi_sort_stretch row;
  long_row *state;
  block *block;
  char *at, *spare;
  int64_t begin, n; /* of the block or part */
} work;

bool nxi_sort_plan_long(nxi_sort *s, nxg_call_work *work) {
  const int64_t rows = s->outer * s->inner, size = (int64_t)s->form.engine->size;
  int64_t blocks = s->length / LEAST_BLOCK, parts = s->length / PART;
  if (blocks > USUAL_BLOCKS) blocks = USUAL_BLOCKS;
  if (blocks < s->length / MOST_BLOCK) blocks = s->length / MOST_BLOCK + 1;
  s->blocks = blocks > 1 ? blocks : 1;
  s->parts = parts > MOST_PARTS ? MOST_PARTS : parts > 1 ? parts : 1;
  s->state_bytes = nxi_sort_aligned((int64_t)sizeof(long_row) + s->blocks * (int64_t)sizeof(block));
  if (s->length > (INT64_MAX / 4 - s->state_bytes) / size) return false;
  s->row_bytes = nxi_sort_aligned(s->length * size);
  s->row_scratch = s->state_bytes + s->row_bytes * (s->in_place ? 1 : 2);
  s->cutter_at = nxi_sort_aligned(SORT_COUNTS * (int64_t)sizeof(uint32_t));
  work->own_bytes = s->elements_at = s->cutter_at + nxi_sort_cutter_bytes();
  work->n_phases = nxi_sort_mends(s) ? PHASES : COUNT_SPECIAL;
  for (int phase = 0; phase < PHASES; phase++) {
    work->tasks[phase] = rows * (phase == CUT ? 1 : phase == SORT ? s->parts : s->blocks);
    work->grain[phase] = 1;
  }
  return !__builtin_mul_overflow(s->row_scratch, rows, &work->shared_bytes);
}

static work work_of(const nxi_sort *s, const nxg_call_part *part, int64_t task) {
  const int64_t each = part->phase == CUT ? 1 : part->phase == SORT ? s->parts : s->blocks;
  const int64_t number = task / each, i = task % each;
  char *state = (char *)part->shared + number * s->row_scratch;
  work w = {.sort = s, .row = nxi_sort_row(s, part, number), .state = (void *)state};
  w.spare = state + s->state_bytes;
  w.at = s->in_place ? w.row.to : w.spare + s->row_bytes;
  w.block = &w.state->blocks[part->phase == SORT ? 0 : i];
  w.begin = s->length / each * i + s->length % each * i / each;
  w.n = s->length / each * (i + 1) + s->length % each * (i + 1) / each - w.begin;
  return w;
}

static void encode_block(const work *w) {
  const nxi_sort *s = w->sort;
  w->block->found = 0;
  for (int64_t i = 0; i < w->n; i += CHUNK) {
    const int64_t m = w->n - i < CHUNK ? w->n - i : CHUNK;
    char *at = place(s, w->at, w->begin + i);
    s->form.encode(&s->keys, &w->row, w->begin + i, m, at, &w->block->found);
    scan_chunk(s, at, m, &w->block->range, i == 0);
  }
}

static nxi_sort_range range_of(const work *w) {
  nxi_sort_range range = w->state->blocks[0].range;
  for (int64_t i = 1; i < w->sort->blocks; i++) join_ranges(&range, &w->state->blocks[i].range);
  return range;
}

/* Whether the elements are in order already; with two keys, equal first keys may not be. */
static bool is_sorted(const work *w, const nxi_sort_range *range) {
  return range->descents == 0 && !w->sort->form.rekey;
}

/* Whether counts suffice, because each bucket has one key only: each value is written as often as
 * it was counted. */
static bool is_counted(const work *w, const nxi_sort_range *range) {
  const nxi_sort_element element = w->sort->form.element;
  return shift_of(range) == 0 && (element == SORT_32 || element == SORT_64);
}

/* Whether the row is not cut into buckets: one thread sorts it, by partitions, which go through a
 * row that fits no cache more often than a cut does, but there is nothing to count. Few values are
 * counted. */
static bool is_whole(const work *w, const nxi_sort_range *range) {
  const nxi_sort *s = w->sort;
  const nxi_sort_quick *quick = nxi_sort_quick_of(8 * (int)s->form.engine->size);
  return s->alone && s->form.element != SORT_PAIRS && quick && quick->largest == INT64_MAX &&
         shift_of(range) > 0;
}

static bool is_cut(const work *w, const nxi_sort_range *range) {
  return !is_sorted(w, range) && !is_counted(w, range) && !is_whole(w, range);
}

static void count_block(const work *w) {
  const nxi_sort_range range = range_of(w);
  if (is_sorted(w, &range) || is_whole(w, &range)) return;
  memset(w->block->counts, 0, sizeof w->block->counts);
  w->sort->form.engine->count_values(place(w->sort, w->at, w->begin), w->n, range.least,
                                     shift_of(&range), w->block->counts);
}

/* Computes the position to which each block moves its first element of each bucket. */
static void place_blocks(const work *w) {
  long_row *row = w->state;
  for (int64_t i = 0; i < w->sort->blocks; i++) {
    block *b = &row->blocks[i];
    memset(b->next, 0, (size_t)row->cut.buckets * sizeof *b->next);
    for (int v = 0; v < SORT_VALUES; v++) b->next[row->tally.bucket_of[v]] += b->counts[v];
  }
  for (int64_t k = 0; k < row->cut.buckets; k++) {
    int64_t at = row->cut.starts[k];
    for (int64_t i = 0; i < w->sort->blocks; i++) {
      const int64_t count = row->blocks[i].next[k];
      row->blocks[i].next[k] = at;
      at += count;
    }
  }
}

static void cut_row(const work *w) {
  long_row *row = w->state;
  row->range = range_of(w);
  if (is_sorted(w, &row->range) || is_whole(w, &row->range)) return;
  memset(row->tally.totals, 0, sizeof row->tally.totals);
  for (int64_t i = 0; i < w->sort->blocks; i++)
    for (int v = 0; v < SORT_VALUES; v++) row->tally.totals[v] += row->blocks[i].counts[v];
  if (is_counted(w, &row->range)) return;
  choose_buckets(w->sort, &row->range, &row->tally, 0, w->sort->length, &row->cut);
  place_blocks(w);
}

static void move_block(const work *w, const nxg_call_part *part) {
  const nxi_sort *s = w->sort;
  const nxi_sort_range *range = &w->state->range;
  char *at = place(s, w->at, w->begin);
  if (!is_cut(w, range)) return;
  if (is_dealt(s))
    nxi_sort_deal(s, &w->state->cut, at, w->n, w->spare, w->block->next,
                  nxi_sort_own_of(s, part).counts);
  else
    s->form.engine->scatter(at, w->n, w->spare, range->least, shift_of(range),
                            w->state->tally.bucket_of, w->block->next);
}

/* ---- a part of the sorted row */

static void emit_part(const work *w) {
  w->sort->form.emit(&w->sort->keys, &w->row, w->begin, w->n, place(w->sort, w->at, w->begin));
}

static void repeat_values(const work *w) {
  const int64_t *totals = w->state->tally.totals, stop = w->begin + w->n;
  int64_t at = w->begin, value = 0, until = totals[0];
  for (; until <= at; until += totals[++value]) {}
  for (; at < stop; at++) {
    for (; at == until; until += totals[++value]) {}
    const uint64_t key = w->state->range.least + (uint64_t)value;
    if (w->sort->form.element == SORT_32) ((uint32_t *)(void *)w->at)[at] = (uint32_t)key;
    else ((uint64_t *)(void *)w->at)[at] = key;
  }
  emit_part(w);
}

void nxi_sort_emit_piece(const nxi_sort_whole *whole, const void *at, int64_t n) {
  const nxi_sort *s = whole->sort;
  const int64_t begin = ((const char *)at - whole->elements) / (int64_t)s->form.engine->size;
  s->form.emit(&s->keys, whole->row, begin, n, at);
}

/* The first part is all of the row, and the others are nothing. */
static void sort_whole(const work *w, nxg_call_part *part) {
  const nxi_sort *s = w->sort;
  const nxi_sort_whole whole = {part, s, &w->row, w->at};
  if (w->begin > 0) return;
  s->form.engine->sort_all(w->at, w->spare, s->length, nxi_sort_own_of(s, part).counts, &whole);
}

/* Sorts the buckets that begin in this part. */
static void sort_part(const work *w, nxg_call_part *part) {
  const nxi_sort_range *range = &w->state->range;
  const cut *c = &w->state->cut;
  if (is_sorted(w, range)) {
    emit_part(w);
    return;
  }
  if (is_counted(w, range)) {
    repeat_values(w);
    return;
  }
  if (is_whole(w, range)) {
    sort_whole(w, part);
    return;
  }
  for (int64_t k = 0; k < c->buckets; k++)
    if (c->starts[k] >= w->begin && c->starts[k] < w->begin + w->n)
      nxi_sort_stretch_of(w->sort, part, &w->row, w->spare, w->at, c->starts[k],
                          c->starts[k + 1] - c->starts[k]);
}

/* ---- zeros and NaNs in the order of the operand */

static bool found_special(const work *w) {
  unsigned found = 0;
  for (int64_t i = 0; i < w->sort->blocks; i++) found |= w->state->blocks[i].found;
  return found != 0;
}

static void count_special(const work *w) {
  if (!found_special(w)) return;
  const nxi_sort *s = w->sort;
  if (w->begin == 0) w->state->zero = nxi_sort_first_zero(&s->keys, &w->row, s->length);
  nxi_sort_count_special(&s->keys, &w->row, w->begin, w->n, &w->block->zeros, &w->block->nans);
}

static void write_special(const work *w) {
  if (!found_special(w)) return;
  const nxi_sort *s = w->sort;
  int64_t zero = w->state->zero, nan = s->length;
  for (const block *b = w->state->blocks; b < w->state->blocks + s->blocks; b++) {
    if (b < w->block) zero += b->zeros;
    else nan -= b->nans;
  }
  nxi_sort_write_special(&s->keys, &w->row, w->begin, w->n, zero, nan);
}

void nxi_sort_run_long(const nxi_sort *s, nxg_call_part *part) {
  for (int64_t i = part->begin; i < part->end; i++) {
    const work w = work_of(s, part, i);
    switch (part->phase) {
      case ENCODE: encode_block(&w); break;
      case COUNT: count_block(&w); break;
      case CUT: cut_row(&w); break;
      case MOVE: move_block(&w, part); break;
      case SORT: sort_part(&w, part); break;
      case COUNT_SPECIAL: count_special(&w); break;
      default: write_special(&w);
    }
  }
}
