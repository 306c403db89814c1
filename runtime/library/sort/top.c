/* SPDX-License-Identifier: ISC */
/* The library call top_k: the first elements that sort would give, and their places, along the
 * middle axis of [outer, length, inner]. The order is that of sort, with its ties and its NaNs.
 *
 * A row is read once, in order. Elements that may be among the first ones are candidates: keys with
 * their places, as argsort sorts them. When there is no room for more, the candidates are sorted,
 * those beyond the first `count` are dropped, and the key of the last one that stays becomes the
 * limit: later elements with a key that is not below it cannot be among the first, since equal ones
 * come in the order of the row. A block of keys that are all beyond the limit costs a few vector
 * operations. In the worst case, where each element is better than all before it, as many
 * elements are sorted as dropped.
 *
 * Few long rows are cut into blocks, whose candidates become those of the row in a second phase.
 * Blocks depend on the shape alone, and the result is the same for all divisions. */
#include <string.h>

#include "ir/alloc.h"
#include "ir/dtype.h"
#include "runtime/library/libraries.h"
#include "core.h"

enum {
  BLOCK = 32,              /* keys that are compared with the limit at once */
  TILE = 512,              /* elements of a row that are encoded at once */
  LEAST_ROOM = 256,        /* candidates that are gathered before they are sorted, at least */
  LINE_BYTES = 64,         /* columns of a strip share cache lines ... */
  MOST_COLUMNS = 64,       /* ... of one byte, at most */
  STRIP_BYTES = 1 << 19,   /* of the candidates of a strip */
  TASK_ELEMENTS = 1 << 14, /* of a task, at least */
  TOGETHER_ROWS = 16,      /* fewer rows than this may be cut into blocks ... */
  LEAST_BLOCK = 1 << 15,   /* ... of as many elements at least ... */
  MOST_BLOCKS = 64,        /* ... and as many blocks at most ... */
  BLOCK_SHARE = 8,         /* ... that pass on a share of their elements which is at most 1/8 */
  POLLED = 1 << 17,        /* elements between two polls */
};

/* What passes through the filter; elements of complex numbers are their own keys. */
typedef enum filter { FILTER_32, FILTER_64, FILTER_PAIRS } filter;

typedef struct top {
  nxi_sort sort; /* as if for an argsort */
  nxi_sort_encode encode;
  filter filter;
  bool wide;
  int64_t count, room;     /* the first ones of a row, and candidates that have room */
  int64_t columns, strips; /* neighbouring rows along `inner` that are read together */
  int64_t blocks, block;   /* of a row, and its elements */
  int64_t list_bytes;      /* of the candidates that a block passes on */
} top;

/* The candidates of a row or a block. `spare` is shared by all columns of a strip. */
typedef struct heap {
  nxi_sort_stretch row;
  char *elements;
  int64_t have;
  uint64_t limit;
  bool open; /* there is no limit yet */
} heap;

/* ---- the plan */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static void describe(nxi_sort *s, const nxg_call *call) {
  const nxg_array *a = &call->operands[0];
  const int32_t axis = (int32_t)call->attrs[0];
  *s = (nxi_sort){.dtype = a->dtype,
                  .indices = true,
                  .descending = call->attrs[2] != 0,
                  .outer = 1,
                  .length = a->shape[axis],
                  .inner = 1,
                  .from_size = nxi_dtype_size(a->dtype),
                  .to_size = sizeof(int32_t)};
  for (int32_t i = 0; i < axis; i++) s->outer *= a->shape[i];
  for (int32_t i = axis + 1; i < a->rank; i++) s->inner *= a->shape[i];
  nxi_sort_keys_init(&s->keys, nxi_is_complex(a->dtype) ? nxi_part_dtype(a->dtype) : a->dtype,
                     s->descending);
  nxi_sort_form_of(&s->form, a->dtype, true);
}

static void choose_filter(top *t) {
  nxi_sort_form plain;
  nxi_sort_form_of(&plain, t->sort.dtype, false);
  t->encode = plain.encode;
  t->filter = plain.element == SORT_PAIRS ? FILTER_PAIRS
              : plain.element == SORT_64  ? FILTER_64
                                          : FILTER_32;
  t->wide = nxi_sort_wide();
}

/* False: sizes overflow. */
static bool choose_sizes(top *t, nxg_call_work *work) {
  const nxi_sort *s = &t->sort;
  const int64_t size = (int64_t)s->form.size, rows = s->outer * s->inner;
  t->blocks = 1;
  if (rows < TOGETHER_ROWS)
    t->blocks = most(1, least(least(s->length / LEAST_BLOCK, MOST_BLOCKS),
                              s->length / (t->count * BLOCK_SHARE)));
  t->block = (s->length - 1) / t->blocks + 1;
  if (t->count > INT64_MAX / 8 / size) return false;
  t->room = least(t->count + most(t->count, LEAST_ROOM), t->block) + BLOCK;
  const int64_t bytes = nxi_sort_aligned(t->room * size);
  t->columns = least(least(LINE_BYTES / s->from_size, s->inner), most(1, STRIP_BYTES / bytes));
  t->strips = (s->inner - 1) / t->columns + 1;
  t->list_bytes = nxi_sort_aligned((t->count + 1) * size);
  if (__builtin_mul_overflow(bytes, t->columns + 1, &work->own_bytes)) return false;
  work->own_bytes += nxi_sort_aligned(SORT_COUNTS * (int64_t)sizeof(uint32_t)) +
                     (int64_t)(TILE * sizeof(nxi_sort_pair));
  work->shared_bytes = t->blocks > 1 ? rows * t->blocks * t->list_bytes : 0;
  return true;
}

static nx_status prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  top *t = nxi_calloc(1, sizeof *t);
  if (!t) return nxi_oom(d);
  nxi_sort *s = &t->sort;
  describe(s, call);
  choose_filter(t);
  t->count = call->attrs[1];
  work->n_phases = 1;
  work->grain[0] = 1;
  work->state = t;
  if (t->count == 0 || s->outer == 0 || s->inner == 0) return NX_OK;
  if (!choose_sizes(t, work)) {
    nxi_free(t);
    return nxi_fail(d, NX_INVALID_ARGUMENT, "top_k", "top_k: its operand is too large");
  }
  work->tasks[0] = s->outer * t->strips * t->blocks;
  work->grain[0] = most(1, TASK_ELEMENTS / (t->block * t->columns));
  if (t->blocks > 1) {
    work->n_phases = 2;
    work->tasks[1] = s->outer * s->inner;
    work->grain[1] = 1;
  }
  work->cost = (double)s->outer * (double)s->inner * ((double)s->length + 20 * (double)t->room);
  return NX_OK;
}

static void release(void *state) { nxi_free(state); }

/* ---- the memory of a thread and of the call */

static char *spare_of(const top *t, const nxg_call_part *part, int64_t column) {
  return (char *)part->own + column * nxi_sort_aligned(t->room * (int64_t)t->sort.form.size);
}

static void *keys_of(const top *t, const nxg_call_part *part) {
  return spare_of(t, part, t->columns + 1);
}

static uint32_t *counts_of(const top *t, const nxg_call_part *part) {
  return (void *)((char *)keys_of(t, part) + TILE * sizeof(nxi_sort_pair));
}

/* The candidates that a block passes on, and before them how many they are. */
static char *list_of(const top *t, const nxg_call_part *part, int64_t row, int64_t block) {
  return (char *)part->shared + (row * t->blocks + block) * t->list_bytes;
}

static nxi_sort_stretch row_of(const top *t, const nxg_call_part *part, int64_t outer,
                               int64_t inner) {
  const nxi_sort *s = &t->sort;
  return (nxi_sort_stretch){.from = (const char *)part->operands[0] +
                                    (outer * s->length * s->inner + inner) * s->from_size,
                            .from_stride = s->inner * s->from_size};
}

/* ---- candidates */

/* Sorts them, and drops those that are not among the first. Second keys took the place of the
 * first, which are made again. */
static void drop(const top *t, const nxg_call_part *part, heap *h, char **spare) {
  const nxi_sort *s = &t->sort;
  const bool rekeyed = s->form.rekey != NULL;
  unsigned found = 0;
  char *sorted = nxi_sort_few(s, &h->row, h->elements, *spare, h->have, counts_of(t, part));
  if (sorted != h->elements) {
    *spare = h->elements;
    h->elements = sorted;
  }
  h->have = least(h->have, t->count);
  nxi_sort_pair *pairs = (void *)sorted;
  for (int64_t i = 0; rekeyed && i < h->have; i++)
    s->form.encode(&s->keys, &h->row, (int64_t)pairs[i].index, 1, &pairs[i], &found);
  if (h->have < t->count) return;
  const char *last = sorted + (t->count - 1) * (int64_t)s->form.size;
  uint64_t key;
  memcpy(&key, last, sizeof key); /* of a pair: its key */
  if (s->form.element == SORT_PACKED) key >>= 32;
  h->open = rekeyed && key == UINT64_MAX; /* the second keys decide among equal first ones */
  h->limit = key + rekeyed;
}

/* Whether any of BLOCK keys is below the limit, from the borrow of the difference. */
#define BELOW(N)                                                                  \
  static SORT_INLINE bool below_##N(const uint##N##_t *keys, uint##N##_t limit) { \
    uint##N##_t borrow = 0;                                                       \
    for (int i = 0; i < BLOCK; i++)                                               \
      borrow |= (~keys[i] & limit) | ((~keys[i] | limit) & (keys[i] - limit));    \
    return borrow >> (N - 1);                                                     \
  }
BELOW(32)
BELOW(64)

/* Appends those of n keys that are below the limit; n <= BLOCK. */
#define TAKER(name, key_type, element_type, key_at, element)                                  \
  static SORT_INLINE void take_##name(heap *h, const key_type *keys, int64_t n, int64_t at) { \
    element_type *to = (void *)h->elements;                                                   \
    int64_t have = h->have;                                                                   \
    for (int64_t i = 0; i < n; i++) {                                                         \
      const uint64_t key = (key_at), index = (uint64_t)(at + i);                              \
      (void)index;                                                                            \
      to[have] = (element);                                                                   \
      have += h->open || key < h->limit;                                                      \
    }                                                                                         \
    h->have = have;                                                                           \
  }
TAKER(32, uint32_t, uint64_t, keys[i], key << 32 | index)
TAKER(64, uint64_t, nxi_sort_pair, keys[i], ((nxi_sort_pair){key, index}))
TAKER(pairs, nxi_sort_pair, nxi_sort_pair, keys[i].key, keys[i])

/* Offers the keys of the elements at .. at + n - 1 of the row. */
#define OFFER(name, key_type, below)                                                               \
  static SORT_INLINE void offer_any_##name(const top *t, const nxg_call_part *part, heap *h,       \
                                           char **spare, const void *all, int64_t n, int64_t at) { \
    const key_type *keys = all;                                                                    \
    for (int64_t i = 0; i < n; i += BLOCK) {                                                       \
      const int64_t m = least(n - i, BLOCK);                                                       \
      if (m == BLOCK && !h->open && !(below)) continue;                                            \
      if (h->have + m > t->room) drop(t, part, h, spare);                                          \
      take_##name(h, keys + i, m, at + i);                                                         \
    }                                                                                              \
  }                                                                                                \
  SORT_BOTH(offer_##name, offer_any_##name,                                                        \
            (const top *t, const nxg_call_part *part, heap *h, char **spare, const void *all,      \
             int64_t n, int64_t at),                                                               \
            (t, part, h, spare, all, n, at))
OFFER(32, uint32_t, below_32(keys + i, (uint32_t)h->limit))
OFFER(64, uint64_t, below_64(keys + i, h->limit))
OFFER(pairs, nxi_sort_pair, true)

static void offer(const top *t, const nxg_call_part *part, heap *h, char **spare, int64_t at,
                  int64_t n) {
  void *keys = keys_of(t, part);
  unsigned found = 0;
  t->encode(&t->sort.keys, &h->row, at, n, keys, &found);
  switch (t->filter) {
    case FILTER_32: SORT_WIDER(t->wide, offer_32)(t, part, h, spare, keys, n, at); break;
    case FILTER_64: SORT_WIDER(t->wide, offer_64)(t, part, h, spare, keys, n, at); break;
    default: SORT_WIDER(t->wide, offer_pairs)(t, part, h, spare, keys, n, at); break;
  }
}

/* ---- results */

static void write_row(const top *t, const nxg_call_part *part, const heap *h, int64_t outer,
                      int64_t inner) {
  const nxi_sort *s = &t->sort;
  const int64_t first = outer * t->count * s->inner + inner, size = s->from_size;
  char *values = (char *)part->results[0] + first * size;
  int32_t *places = (int32_t *)part->results[1] + first;
  for (int64_t i = 0; i < t->count; i++) {
    uint32_t index;
    const char *element = h->elements + i * (int64_t)s->form.size;
    if (s->form.element == SORT_PACKED) index = (uint32_t)*(const uint64_t *)(const void *)element;
    else index = (uint32_t)((const nxi_sort_pair *)(const void *)element)->index;
    places[i * s->inner] = (int32_t)index;
    memcpy(values + i * s->inner * size, h->row.from + (int64_t)index * h->row.from_stride,
           (size_t)size);
  }
}

static void pass_on(const top *t, const nxg_call_part *part, const heap *h, int64_t row,
                    int64_t block) {
  char *list = list_of(t, part, row, block);
  const size_t size = t->sort.form.size;
  memcpy(list, &h->have, sizeof h->have);
  memcpy(list + size, h->elements, (size_t)h->have * size);
}

/* ---- the phases */

static bool stopped(const nxg_call_part *part) { return part->stopped(part->user); }

/* A block of the rows of a strip. */
static void read_block(const top *t, const nxg_call_part *part, int64_t task) {
  const nxi_sort *s = &t->sort;
  const int64_t block = task % t->blocks, strip = task / t->blocks % t->strips,
                outer = task / t->blocks / t->strips, inner = strip * t->columns,
                columns = least(t->columns, s->inner - inner), begin = block * t->block,
                end = least(begin + t->block, s->length);
  heap heaps[MOST_COLUMNS];
  char *spare = spare_of(t, part, t->columns);
  for (int64_t c = 0; c < columns; c++)
    heaps[c] = (heap){
        .row = row_of(t, part, outer, inner + c), .elements = spare_of(t, part, c), .open = true};
  for (int64_t at = begin; at < end; at += TILE) {
    if ((at - begin) % POLLED == 0 && stopped(part)) return;
    for (int64_t c = 0; c < columns; c++)
      offer(t, part, &heaps[c], &spare, at, least(TILE, end - at));
  }
  for (int64_t c = 0; c < columns; c++) {
    drop(t, part, &heaps[c], &spare);
    if (t->blocks > 1) pass_on(t, part, &heaps[c], outer * s->inner + inner + c, block);
    else write_row(t, part, &heaps[c], outer, inner + c);
  }
}

/* The blocks of a row, in order, so that equal keys stay in the order of their places. */
static void join_blocks(const top *t, const nxg_call_part *part, int64_t row) {
  const nxi_sort *s = &t->sort;
  const int64_t outer = row / s->inner, inner = row % s->inner, size = (int64_t)s->form.size;
  char *spare = spare_of(t, part, 1);
  heap h = {.row = row_of(t, part, outer, inner), .elements = spare_of(t, part, 0), .open = true};
  for (int64_t block = 0; block < t->blocks; block++) {
    const char *list = list_of(t, part, row, block);
    int64_t n;
    if (stopped(part)) return;
    memcpy(&n, list, sizeof n);
    for (int64_t i = 0, m; i < n; i += m) {
      if (h.have == t->room) drop(t, part, &h, &spare);
      m = least(n - i, t->room - h.have);
      memcpy(h.elements + h.have * size, list + (i + 1) * size, (size_t)(m * size));
      h.have += m;
    }
  }
  drop(t, part, &h, &spare);
  write_row(t, part, &h, outer, inner);
}

static nx_status run(nxg_call_part *part) {
  const top *t = part->state;
  for (int64_t i = part->begin; i < part->end && !stopped(part); i++) {
    if (part->phase == 0) read_block(t, part, i);
    else join_blocks(t, part, i);
  }
  return NX_OK;
}

const nxg_functions nxi_top_functions = {prepare, run, release};
