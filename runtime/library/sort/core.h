/* SPDX-License-Identifier: ISC */
/* The parts of sorting and how they fit together:
 *
 *   sort/sort.c     the library calls sort and argsort: what is sorted how, in which phases and
 *                   tasks
 *   sort/keys.c    elements to keys, unsigned integers whose order is the wanted one, and sorted
 *                  keys to results
 *   sort/engine.c  sorts keys that fit the cache, on one thread
 *   sort/quick.c   partitions keys and sorts a few, for its quicksort
 *   sort/rows.c    many rows, each on one thread; rows along other axes
 *   sort/long.c    few long rows, each on all threads
 *   sort/deal.c    moves the keys of a long row to their buckets by partitions
 *   sort/columns.c many short rows of one length together, a row a lane, where vectors are wide
 *   sort/top.c     the library call top_k: the first elements of rows, without sorting the others
 *   sort/vqsort.cc short rows by vector instructions, where Highway is there
 *
 * The sort must be stable. Keys of argsort and of complex numbers contain an index, so no two are
 * equal. Keys of numbers do not, because numbers with equal keys have equal bits. The exceptions
 * are zeros of both signs, which have one key, and NaNs, which have another. They are copied again
 * from the operand afterwards, in its order. */
#ifndef NXI_SORT_CORE_H
#define NXI_SORT_CORE_H

#include "ir/library/library.h"
#include "runtime/library/unroll.h"

enum {
  /* most elements that are sorted by insertion if there are no vector comparisons */
  SORT_INSERTION = 24,
  SORT_RANKED = 32,     /* most elements that are compared each with each by vectors, ... */
  SORT_RANKED_32 = 160, /* ... and if there are no sorting networks, for keys of 32 bits ... */
  SORT_RANKED_64 = 64,  /* ... or 64 */
  SORT_VECTOR = 32,     /* bytes that are compared at a time in that sort */
  SORT_MOVES = 8,       /* most insertions for each element after a radix sort of leading bits */
  SORT_DIGIT = 11,      /* bits at most */
  SORT_DIGITS = 6,      /* at most: 64-bit keys */
  SORT_ASKED = 1 << 18, /* elements of a partition before which is asked about stopping */
  SORT_COUNTS = SORT_DIGITS << SORT_DIGIT, /* uint32_t that an engine needs */
  SORT_VALUE_BITS = 11, /* a long row is divided by this many leading bits of its keys ... */
  SORT_VALUES = 1 << SORT_VALUE_BITS,
  SORT_BUCKETS = 512, /* ... into so many parts at most */
};

/* How deep partitions may go, of as many elements. */
#define SORT_LEVELS(n) (2 * (64 - __builtin_clzll((uint64_t)(n))))

/* Defines a function for every processor and one for those with wider vectors, with `body` inlined
 * in both. */
#define SORT_INLINE NXI_INLINE
#if defined(__x86_64__)
#define SORT_BOTH(name, body, parameters, arguments) \
  static void name parameters { body arguments; }    \
  __attribute__((target("avx2"))) static void name##_wide parameters { body arguments; }
#define SORT_WIDER(wide, name) ((wide) ? name##_wide : name)
#else
#define SORT_BOTH(name, body, parameters, arguments) \
  static void name parameters { body arguments; }
#define SORT_WIDER(wide, name) ((void)(wide), name)
#endif
/* Whether this processor has vectors of 32 bytes, and the instructions that belong to them. */
bool nxi_sort_wide(void);
/* The same for 64 bytes; called only if there are vectors of 32 bytes. */
bool nxi_sort_wider(void);
/* How such vectors are compressed: by a table; by instructions; or by these, and more than a few
 * thousand keys of 64 bits are sorted by digits, as with a table. */
typedef enum nxi_sort_compressing {
  SORT_TABLE,
  SORT_COMPRESSES,
  SORT_COMPRESSES_WORDS
} nxi_sort_compressing;
nxi_sort_compressing nxi_sort_compresses(void);
/* Whether Highway sorts short rows on this processor. */
bool nxi_sort_has_networks(void);
/* For tests: calls that are prepared from now on use vectors of at most this many bytes. Below 32
 * they use only instructions that every processor has, and not Highway. */
void nxi_sort_set_most(int bytes);
/* For tests: one of nxi_sort_compressing; -1: as this processor does. */
void nxi_sort_set_compresses(int how);

/* The range of the keys of a stretch, and how far they are in order. */
typedef struct nxi_sort_range {
  uint64_t least, most, first, last;
  int64_t descents; /* keys that are less than the one before them */
} nxi_sort_range;

/* Bits of the distance between the least and the most; at least 1. */
static inline int nxi_sort_width(const nxi_sort_range *range) {
  return 64 - __builtin_clzll((range->most - range->least) | 1);
}

/* ---- engines */

/* Chooses the number of digits and their bits so that most of n keys of `width` bits differ in
 * them. That takes some bits more than log2 n: 7, or 10 for long keys, which may begin with an
 * exponent of eleven bits. Digits may have as many values as there are elements, since counting is
 * then cheap. */
static inline void nxi_sort_digits(int64_t n, int width, bool long_keys, int *passes, int *bits) {
  const int enough = 64 - __builtin_clzll((uint64_t)n);
  int wanted = enough + (long_keys && n >> 6 < 8 ? 10 : 7), most = SORT_DIGIT;
  if (n >> 6 < 8 && long_keys) most = 7; /* three passes, but few values to count */
  if (wanted > width) wanted = width;
  *passes = (wanted + most - 1) / most;
  if (n >> SORT_DIGIT) wanted = SORT_DIGIT * *passes;
  else if (long_keys && most > 7) wanted = enough + 10;
  if (wanted > width) wanted = width;
  *bits = (wanted + *passes - 1) / *passes;
  if (*bits > SORT_DIGIT) *bits = SORT_DIGIT;
  if (*bits < 2) *bits = 2; /* counts are added four at a time */
}

/* Whether one more digit costs less than insertion of the elements that are equal in the first
 * `passes` digits: it does if on average an element shares these with another one. Estimated from
 * the counts of the first digit, under the assumption that elements are distributed evenly below
 * it. n < 2^32. */
static inline bool nxi_sort_crowded(const uint32_t *counts, uint64_t n, int passes, int bits) {
  uint64_t pairs = 0;
  if (passes == SORT_DIGITS) return false;
  for (int64_t v = 0; v < (int64_t)1 << bits; v++) pairs += (uint64_t)counts[v] * counts[v];
  return pairs / n >> (passes - 1) * bits != 0;
}

typedef struct nxi_sort_pair {
  uint64_t key, index;
} nxi_sort_pair;

typedef enum nxi_sort_element {
  SORT_32,     /* uint32_t, all key */
  SORT_64,     /* uint64_t, all key */
  SORT_PACKED, /* uint64_t: key << 32 | index */
  SORT_PAIRS,  /* nxi_sort_pair */
  SORT_16      /* uint16_t, all key: only rows as lanes, no engine */
} nxi_sort_element;

/* The steps of a quicksort of integers. */
typedef struct nxi_sort_quick {
  /* Partitions n integers: those up to the bound to `lower`, the others to `higher`; returns how
   * many are in `lower`. One of the two may be `from` itself, and both have room for n. */
  int64_t (*split)(const void *from, int64_t n, uint64_t bound, void *lower, void *higher);
  /* Sorts up to `most` integers, n >= 1; `to` may be `from`. */
  void (*network)(const void *from, void *to, int64_t n);
  /* As nxi_sort_engine.scan; NULL: not quicker here. */
  void (*scan)(const void *integers, int64_t n, nxi_sort_range *range);
  int64_t most;
  int64_t largest; /* more than these are sorted by digits sooner */
} nxi_sort_quick;
/* For integers of 32 or 64 bits; NULL where vectors are too narrow. */
const nxi_sort_quick *nxi_sort_quick_of(int bits);
/* For keys of f64, of which NaNs may become the greatest number: sort/rows.c and sort/long.c write
 * NaNs anew. */
const nxi_sort_quick *nxi_sort_quick_of_doubles(void);
/* Sorts a few integers; false if these are too many. */
static inline bool nxi_sort_by_network(const nxi_sort_quick *quick, void *elements, int64_t n) {
  if (quick == NULL || n > quick->most) return false;
  quick->network(elements, elements, n);
  return true;
}

/* A row that one thread sorts as a whole. It asks about stopping, and writes piece by piece. */
typedef struct nxi_sort_whole {
  nxg_call_part *part;
  const struct nxi_sort *sort;
  const struct nxi_sort_stretch *row;
  const char *elements;
} nxi_sort_whole;
/* sort/long.c: n elements at `at` are those that belong there in the end. */
void nxi_sort_emit_piece(const nxi_sort_whole *whole, const void *at, int64_t n);

typedef struct nxi_sort_engine {
  size_t size; /* bytes of an element */
  /* Sorts n >= 0 elements, n < 2^32. Returns where the result is: `elements` or `room`. counts:
   * SORT_COUNTS numbers. */
  void *(*sort)(void *elements, void *room, int64_t n, uint32_t *counts);
  /* Sorts elements in no order, whose keys are in a wide range, by partitions, and writes the
   * results. False, and nothing is done: where partitions are not quick enough to sort more than a
   * cache holds. */
  bool (*sort_all)(void *elements, void *room, int64_t n, uint32_t *counts,
                   const nxi_sort_whole *whole);
  void (*scan)(const void *elements, int64_t n, nxi_sort_range *range); /* n >= 1 */
  /* count_values counts the values (key - least) >> shift, SORT_VALUES of them, and adds to counts;
   * n < 2^32. scatter moves elements to the buckets of these values, in order; next: for each
   * bucket the place of its next element in `to`. */
  void (*count_values)(const void *elements, int64_t n, uint64_t least, int shift,
                       uint32_t *counts);
  void (*scatter)(const void *elements, int64_t n, void *to, uint64_t least, int shift,
                  const uint16_t *bucket_of, int64_t *next);
} nxi_sort_engine;

const nxi_sort_engine *nxi_sort_engine_of(nxi_sort_element element);
const nxi_sort_engine *nxi_sort_engine_of_doubles(void);

/* ---- keys */

enum { SORT_HAS_NAN = 1, SORT_HAS_MINUS_ZERO = 2 };

/* How the bits of a number become a key: floats are sign and magnitude; for others the bits `flip`
 * are inverted. */
typedef struct nxi_sort_keys {
  bool floats, descending;
  uint8_t bytes;      /* of a number; of one part of a complex one */
  uint64_t sign;      /* the sign bit, 0 for unsigned */
  uint64_t magnitude; /* the bits below it */
  uint64_t largest;   /* magnitudes above are NaN */
  uint64_t flip;      /* integers: sign and direction; floats: direction */
  uint64_t nan;       /* the key of NaNs: all ones */
} nxi_sort_keys;

void nxi_sort_keys_init(nxi_sort_keys *keys, nx_dtype part, bool descending);

/* A stretch of a row in memory: elements every `stride` bytes. */
typedef struct nxi_sort_stretch {
  const char *from; /* of the operand's whole row: its first element */
  int64_t from_stride;
  char *to; /* the result's, likewise */
  int64_t to_stride;
  /* the index of the row's first element; others are counted from there in indices that are
   * emitted */
  int64_t base;
} nxi_sort_stretch;

/* Converts the elements begin .. begin + n - 1 of the row's operand to keys at `elements`. */
typedef void (*nxi_sort_encode)(const nxi_sort_keys *keys, const nxi_sort_stretch *row,
                                int64_t begin, int64_t n, void *elements, unsigned *found);
/* Converts n sorted elements to the row's results from `begin` on. */
typedef void (*nxi_sort_emit)(const nxi_sort_keys *keys, const nxi_sort_stretch *row, int64_t begin,
                              int64_t n, const void *elements);

typedef struct nxi_sort_form {
  nxi_sort_encode encode;
  nxi_sort_emit emit;
  /* Complex numbers of 128 bits are sorted by their real parts, and those with equal real parts
   * then by their imaginary parts: this makes the second keys. NULL: there are no second keys. */
  void (*rekey)(const nxi_sort_keys *keys, const nxi_sort_stretch *row, int64_t n,
                nxi_sort_pair *elements);
  nxi_sort_element element;
  const nxi_sort_engine *engine; /* NULL for SORT_16 */
  size_t size;                   /* bytes of an element */
  bool in_place; /* elements are as large as results, and emit may write over them */
} nxi_sort_form;

void nxi_sort_form_of(nxi_sort_form *form, nx_dtype dtype, bool indices);
/* The form for rows as lanes; it differs from nxi_sort_form_of for short numbers. */
void nxi_sort_lanes_form_of(nxi_sort_form *form, nx_dtype dtype, bool indices);

/* Counts the zeros and NaNs of a stretch of the operand; and writes them to the result in order,
 * zeros from *zero on and NaNs from *nan on, which are advanced. Only for sorts of real floats. */
void nxi_sort_count_special(const nxi_sort_keys *keys, const nxi_sort_stretch *row, int64_t begin,
                            int64_t n, int64_t *zeros, int64_t *nans);
void nxi_sort_write_special(const nxi_sort_keys *keys, const nxi_sort_stretch *row, int64_t begin,
                            int64_t n, int64_t zero, int64_t nan);
/* The position of the first zero in the sorted result of n elements. */
int64_t nxi_sort_first_zero(const nxi_sort_keys *keys, const nxi_sort_stretch *row, int64_t n);

/* ---- rows as lanes */

typedef struct nxi_sort_columns {
  int64_t lanes, least; /* rows that are sorted together; elements of a row, at least */
  int64_t column_bytes; /* of an element of all of them */
  /* Sorts `count` rows of n elements that lie one after the other, 1 <= count <= lanes. columns:
   * memory of nxi_sort_columns_bytes, aligned to 64. */
  void (*sort_keys)(void *rows, int64_t count, int64_t n, void *columns);
  /* The same for numbers of the size of elements, from the operand to the result; NULL for
   * pairs. */
  void (*sort_numbers)(const nxi_sort_keys *keys, const void *from, void *to, int64_t count,
                       int64_t n, void *columns, unsigned *found);
} nxi_sort_columns;

/* NULL where this processor has no vectors for it. */
const nxi_sort_columns *nxi_sort_columns_of(nxi_sort_element element);
static inline int64_t nxi_sort_columns_bytes(const nxi_sort_columns *columns, int64_t n) {
  return (n + 7) / 8 * 8 * columns->column_bytes;
}

/* ---- a call */

/* The scratch memory of a thread. */
typedef struct nxi_sort_own {
  uint32_t *counts;               /* SORT_COUNTS */
  struct nxi_sort_cutter *cutter; /* for more elements than an engine can sort */
  void *columns;                  /* for rows as lanes */
  char *elements;                 /* sort/rows.c */
} nxi_sort_own;

/* How a call is done. It depends on the types and attributes of the call only. */
typedef struct nxi_sort {
  nx_dtype dtype;
  bool indices, descending;
  int64_t outer, length, inner;
  nxi_sort_keys keys;
  nxi_sort_form form;
  int64_t from_size, to_size; /* bytes of an element */
  bool in_place;              /* keys are sorted in the result's memory */
  bool together;              /* threads work on a row together; else each has rows of its own */
  bool alone;                 /* there is one thread */
  /* sort/rows.c */
  int64_t columns; /* neighbouring rows along `inner` that are done together */
  /* number of adjacent short rows that are sorted together; 0: rows are not short */
  int64_t batch;
  const nxi_sort_columns *lanes; /* how the rows of a batch are sorted together, if they are ... */
  bool numbers;                  /* ... straight from the operand to the result */
  int64_t row_bytes;             /* of the elements of a row, or of a batch */
  /* sort/long.c */
  int64_t blocks, parts; /* tasks of a row before and after its elements are divided into buckets */
  int64_t block_bytes, state_bytes, row_scratch;
  bool counted; /* sort/counted.c: numbers are counted, and written as often as they were there */
  /* all */
  int64_t cutter_at, elements_at, columns_at; /* in the scratch memory of a thread */
} nxi_sort;

/* A row of the call: outer index * inner + inner index. */
nxi_sort_stretch nxi_sort_row(const nxi_sort *s, const nxg_call_part *part, int64_t row);
nxi_sort_own nxi_sort_own_of(const nxi_sort *s, const nxg_call_part *part);

/* The most elements that an engine sorts; more are divided into parts first. */
int64_t nxi_sort_longest(const nxi_sort *s);
/* Sorts at most that many elements of `row`, by both keys if there are two. Returns where the
 * result is: `elements` or `room`. */
char *nxi_sort_few(const nxi_sort *s, const nxi_sort_stretch *row, char *elements, char *room,
                   int64_t n, uint32_t *counts);

/* sort/rows.c: the one phase of calls that are not `together`; false: sizes overflow. */
bool nxi_sort_plan_rows(nxi_sort *s, nxg_call_work *work);
void nxi_sort_run_rows(const nxi_sort *s, nxg_call_part *part);
/* Restores the zeros and NaNs of a sorted row; does nothing for indices and complex numbers. */
void nxi_sort_mend(const nxi_sort *s, const nxi_sort_stretch *row);
static inline bool nxi_sort_mends(const nxi_sort *s) {
  return s->keys.floats && !s->indices && s->form.element != SORT_PAIRS;
}

/* sort/long.c: the phases of calls that are `together`; false: sizes overflow. */
bool nxi_sort_plan_long(nxi_sort *s, nxg_call_work *work);
void nxi_sort_run_long(const nxi_sort *s, nxg_call_part *part);
/* Sorts n elements of `row`, for any n, and writes the results from position `begin` on. at, spare:
 * the elements of the whole row, and as much room. Returns early when told to stop. */
void nxi_sort_stretch_of(const nxi_sort *s, nxg_call_part *part, const nxi_sort_stretch *row,
                         char *at, char *spare, int64_t begin, int64_t n);
int64_t nxi_sort_cutter_bytes(void);

/* sort/counted.c: the phases of calls that are `together` and count numbers; false: sizes
 * overflow. */
bool nxi_sort_is_counted(const nxi_sort *s);
bool nxi_sort_plan_counted(nxi_sort *s, nxg_call_work *work);
void nxi_sort_run_counted(const nxi_sort *s, nxg_call_part *part);

/* How the elements of a row are divided into buckets, by leading bits of their keys. */
typedef struct nxi_sort_cut {
  int64_t buckets;
  int64_t starts[SORT_BUCKETS + 1]; /* places in the row */
  uint64_t lasts[SORT_BUCKETS];     /* of each bucket the greatest key that belongs to it */
} nxi_sort_cut;
/* sort/deal.c: moves n keys, which are integers for which there are partitions, to their buckets in
 * `to`, and advances the places `next` of the buckets. The keys are lost. room: SORT_COUNTS. */
void nxi_sort_deal(const nxi_sort *s, const nxi_sort_cut *c, char *keys, int64_t n, char *to,
                   int64_t *next, uint32_t *room);

static inline int64_t nxi_sort_aligned(int64_t bytes) { return (bytes + 63) & ~(int64_t)63; }

#endif
