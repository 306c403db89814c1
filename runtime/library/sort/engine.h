/* SPDX-License-Identifier: ISC */
/* The sorting of keys, written once for every kind of element and included once for each by
 * sort/engine.c. No include guard.
 *
 * Before including: SORT_TARGET (attributes), ELEMENT (a type), KEY (an unsigned type), SIGNED_KEY,
 * KEY_OF(element), ELEMENT_NAME(function), ELEMENT_VECTORS(a, n) (sorts by vector instructions, or
 * is false), ELEMENT_LANES (elements that are looked at together), ELEMENT_QUICK (elements are
 * integers, which are partitioned by this nxi_sort_quick, or NULL), ELEMENT_KEY_ALONE (which are
 * the key and nothing else).
 * Elements of equal keys keep their order, except those that are equal as integers.
 *
 * Where vectors are wide, a quicksort partitions elements from one of two arrays to both until few
 * enough for a sorting network are left. It hands what its pivots do not divide to the radix sort.
 *
 * A radix sort looks only at as many leading bits of the keys (of their distance from the least
 * key) as n elements usually need to be told apart, so 64-bit keys cost little more than 32-bit
 * ones. What is then still out of order is moved by insertion; if that is too much, the remaining
 * bits are looked at after all. */

SORT_TARGET static void ELEMENT_NAME(insert)(ELEMENT *a, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    const ELEMENT e = a[i];
    int64_t j = i;
    for (; j > 0 && KEY_OF(a[j - 1]) > KEY_OF(e); j--) a[j] = a[j - 1];
    a[j] = e;
  }
}

/* Few elements: an element's place is the number of lesser ones, counted without branches, and of
 * equal ones before it. */
SORT_TARGET static void ELEMENT_NAME(rank)(ELEMENT *a, int64_t n) {
  typedef SIGNED_KEY vector __attribute__((vector_size(SORT_VECTOR)));
  enum { LANES = SORT_VECTOR / sizeof(SIGNED_KEY) };
  const KEY sign = (KEY)((KEY)1 << (8 * sizeof(KEY) - 1));
  ELEMENT copy[SORT_RANKED_32];
  union {
    vector vectors[SORT_RANKED_32 / LANES];
    SIGNED_KEY keys[SORT_RANKED_32];
  } all, places;
  uint8_t equal[SORT_RANKED_32] = {0};
  for (int64_t i = 0; i < n; i++) {
    copy[i] = a[i];
    all.keys[i] = (SIGNED_KEY)(KEY_OF(a[i]) ^ sign);
  }
  for (int64_t i = n; i % (2 * LANES) != 0; i++) all.keys[i] = 0;
  for (int64_t v = 0; v * LANES < n; v += 2) { /* two at a time, so that a key is read for both */
    const vector one = all.vectors[v], two = all.vectors[v + 1];
    vector lesser_than_one = {0}, lesser_than_two = {0};
    for (int64_t i = 0; i < n; i++) {
      lesser_than_one -= one > all.keys[i];
      lesser_than_two -= two > all.keys[i];
    }
    places.vectors[v] = lesser_than_one;
    places.vectors[v + 1] = lesser_than_two;
  }
  for (int64_t i = 0; i < n; i++) a[places.keys[i] + equal[places.keys[i]]++] = copy[i];
}

/* Sorts a few elements; false if there are too many for that. */
SORT_TARGET static bool ELEMENT_NAME(sort_few)(ELEMENT *a, int64_t n) {
  const bool ranks = n > 4 && SORT_RANKS(KEY);
  if (n > (ranks ? SORT_RANKED : SORT_INSERTION)) {
    if (ELEMENT_VECTORS(a, n)) return true;
    if (!ranks || n > (sizeof(KEY) == 4 ? SORT_RANKED_32 : SORT_RANKED_64)) return false;
  }
  if (ranks) ELEMENT_NAME(rank)(a, n);
  else ELEMENT_NAME(insert)(a, n);
  return true;
}

/* Insertion where most elements are in place. False if it would take too long; then `a` is a little
 * better sorted. */
SORT_TARGET static bool ELEMENT_NAME(finish)(ELEMENT *a, int64_t n) {
  int64_t moves = SORT_MOVES * n;
  KEY last = KEY_OF(a[0]);
  for (int64_t i = 1; i < n; i++) {
    const ELEMENT e = a[i];
    const KEY key = KEY_OF(e);
    if (__builtin_expect(key >= last, 1)) {
      last = key;
      continue;
    }
    int64_t j = i;
    for (; j > 0 && KEY_OF(a[j - 1]) > key; j--) a[j] = a[j - 1];
    a[j] = e;
    moves -= i - j;
    if (moves < 0) return false;
  }
  return true;
}

/* Keys are compared as signed numbers, for which there are vector instructions. */
SORT_TARGET static void ELEMENT_NAME(scan)(const void *elements, int64_t n, nxi_sort_range *range) {
  const ELEMENT *a = elements;
#ifdef ELEMENT_KEY_ALONE
  const nxi_sort_quick *quick = ELEMENT_QUICK;
  if (quick && quick->scan) {
    quick->scan(a, n, range);
    return;
  }
#endif
  const KEY sign = (KEY)((KEY)1 << (8 * sizeof(KEY) - 1));
  SIGNED_KEY least[ELEMENT_LANES], most[ELEMENT_LANES];
  KEY lower[ELEMENT_LANES] = {0};
  for (int k = 0; k < ELEMENT_LANES; k++) least[k] = most[k] = (SIGNED_KEY)(KEY_OF(a[0]) ^ sign);
  int64_t i = 1;
  for (; i + ELEMENT_LANES <= n; i += ELEMENT_LANES)
    for (int k = 0; k < ELEMENT_LANES; k++) {
      const SIGNED_KEY key = (SIGNED_KEY)(KEY_OF(a[i + k]) ^ sign);
      const SIGNED_KEY before = (SIGNED_KEY)(KEY_OF(a[i + k - 1]) ^ sign);
      least[k] = key < least[k] ? key : least[k];
      most[k] = key > most[k] ? key : most[k];
      lower[k] += key < before;
    }
  for (; i < n; i++) {
    const SIGNED_KEY key = (SIGNED_KEY)(KEY_OF(a[i]) ^ sign);
    least[0] = key < least[0] ? key : least[0];
    most[0] = key > most[0] ? key : most[0];
    lower[0] += KEY_OF(a[i]) < KEY_OF(a[i - 1]);
  }
  int64_t descents = (int64_t)lower[0];
  for (int k = 1; k < ELEMENT_LANES; k++) {
    least[0] = least[k] < least[0] ? least[k] : least[0];
    most[0] = most[k] > most[0] ? most[k] : most[0];
    descents += (int64_t)lower[k];
  }
  *range = (nxi_sort_range){.least = (KEY)least[0] ^ sign,
                            .most = (KEY)most[0] ^ sign,
                            .first = KEY_OF(a[0]),
                            .last = KEY_OF(a[n - 1]),
                            .descents = descents};
}

SORT_TARGET static void ELEMENT_NAME(reverse)(ELEMENT *a, int64_t n) {
  for (int64_t i = 0, j = n - 1; i < j; i++, j--) {
    const ELEMENT e = a[i];
    a[i] = a[j];
    a[j] = e;
  }
}

/* Counts the values of several digits at once, those of the least significant digit last. `passes`
 * is a constant where this is inlined. */
SORT_TARGET static SORT_INLINE void ELEMENT_NAME(count)(const ELEMENT *a, int64_t n, KEY least,
                                                        int shift, int passes, int bits,
                                                        uint32_t *counts) {
  const KEY mask = (KEY)((1u << bits) - 1);
  for (int64_t i = 0; i < n; i++) {
    KEY key = (KEY)((KEY)(KEY_OF(a[i]) - least) >> shift);
    for (int p = passes - 1; p >= 0; p--, key = (KEY)(key >> bits))
      counts[(size_t)p << bits | (key & mask)]++;
  }
}

SORT_TARGET static void ELEMENT_NAME(count_digits)(const ELEMENT *a, int64_t n, KEY least,
                                                   int shift, int passes, int bits,
                                                   uint32_t *counts) {
  memset(counts, 0, ((size_t)passes << bits) * sizeof *counts);
  switch (passes) {
    case 1: ELEMENT_NAME(count)(a, n, least, shift, 1, bits, counts); break;
    case 2: ELEMENT_NAME(count)(a, n, least, shift, 2, bits, counts); break;
    case 3: ELEMENT_NAME(count)(a, n, least, shift, 3, bits, counts); break;
    default: ELEMENT_NAME(count)(a, n, least, shift, passes, bits, counts); break;
  }
}

/* Moves a to b by one digit; counts are those of its values. */
SORT_TARGET static SORT_INLINE void ELEMENT_NAME(move)(const ELEMENT *a, ELEMENT *b, int64_t n,
                                                       KEY least, int shift, int bits,
                                                       uint32_t *counts) {
  const KEY mask = (KEY)((1u << bits) - 1);
  uint32_t before = 0;
  for (int64_t v = 0; v < (int64_t)1 << bits; v += 4) {
    const uint32_t one = counts[v], two = one + counts[v + 1], three = two + counts[v + 2],
                   four = three + counts[v + 3];
    counts[v] = before;
    counts[v + 1] = before + one;
    counts[v + 2] = before + two;
    counts[v + 3] = before + three;
    before += four;
  }
  for (int64_t i = 0; i < n; i++) {
    const ELEMENT e = a[i];
    b[counts[(KEY)((KEY)(KEY_OF(e) - least) >> shift) & mask]++] = e;
  }
}

/* Sorts by digits of so many bits, in a and b by turns; returns the one that holds the result. The
 * digits are the first
 * `passes` ones of keys of `width` bits, and more where these do not tell many elements apart.
 * *all: whether they are all. The last digit may overlap the one before it. */
SORT_TARGET static ELEMENT *ELEMENT_NAME(radix)(ELEMENT *a, ELEMENT *b, int64_t n, KEY least,
                                                int width, int passes, int bits, uint32_t *counts,
                                                bool *all) {
  const int top = width > passes * bits ? width : passes * bits;
  int shift = top - passes * bits;
  ELEMENT_NAME(count_digits)(a, n, least, shift, passes, bits, counts);
  while (shift > 0 && nxi_sort_crowded(counts, (uint64_t)n, passes, bits)) {
    shift = shift > bits ? shift - bits : 0;
    ELEMENT_NAME(count_digits)(a, n, least, shift, 1, bits, counts + ((size_t)passes++ << bits));
  }
  *all = shift == 0;
  for (int p = passes - 1; p >= 0; p--) {
    const int at = top > (p + 1) * bits ? top - (p + 1) * bits : 0;
    const KEY value = (KEY)((KEY)(KEY_OF(a[0]) - least) >> at) & (KEY)((1u << bits) - 1);
    uint32_t *counted = counts + ((size_t)p << bits);
    if (counted[value] == n) continue; /* all the same */
    ELEMENT_NAME(move)(a, b, n, least, at, bits, counted);
    ELEMENT *moved = b;
    b = a;
    a = moved;
  }
  return a;
}

/* The radix sort of elements that are in no order and whose keys are in this range. */
SORT_TARGET static ELEMENT *ELEMENT_NAME(sort_digits)(ELEMENT *a, ELEMENT *b, int64_t n,
                                                      const nxi_sort_range *range,
                                                      uint32_t *counts) {
  const int width = nxi_sort_width(range);
  int passes, bits;
  nxi_sort_digits(n, width, sizeof(KEY) == 8, &passes, &bits);
  const KEY least = (KEY)range->least;
  bool all;
  ELEMENT *sorted = ELEMENT_NAME(radix)(a, b, n, least, width, passes, bits, counts, &all);
  if (all || ELEMENT_NAME(finish)(sorted, n)) return sorted;
  passes = (width + SORT_DIGIT - 1) / SORT_DIGIT;
  return ELEMENT_NAME(radix)(sorted, sorted == a ? b : a, n, least, width, passes, SORT_DIGIT,
                             counts, &all);
}

#ifdef ELEMENT_QUICK
SORT_TARGET static inline ELEMENT ELEMENT_NAME(median)(const ELEMENT *a, int64_t apart) {
  const ELEMENT x = a[0], y = a[apart], z = a[2 * apart], low = x < y ? x : y, high = x < y ? y : x,
                upper = high < z ? high : z;
  return low < upper ? upper : low;
}

/* The median of three medians; of nine such for many elements, since a worse pivot then costs more
 * than to look for a better one. */
SORT_TARGET static ELEMENT ELEMENT_NAME(pivot)(const ELEMENT *a, int64_t n) {
  enum { MANY = 1 << 11 };
  const int64_t medians = n < MANY ? 3 : 9, apart = n / (3 * medians);
  ELEMENT some[9];
  for (int64_t i = 0; i < medians; i++) some[i] = ELEMENT_NAME(median)(a + 3 * apart * i, apart);
  for (int64_t i = 0; medians == 9 && i < 3; i++) some[i] = ELEMENT_NAME(median)(some + 3 * i, 1);
  return ELEMENT_NAME(median)(some, 1);
}

/* What pivots have not told apart: from a to `to`, which is a or b. */
SORT_TARGET static void ELEMENT_NAME(sort_rest)(ELEMENT *a, ELEMENT *b, ELEMENT *to, int64_t n,
                                                uint32_t *counts) {
  nxi_sort_range range;
  ELEMENT_NAME(scan)(a, n, &range);
  const ELEMENT *sorted = ELEMENT_NAME(sort_digits)(a, b, n, &range, counts);
  if (sorted != to) memcpy(to, sorted, (size_t)n * sizeof *to);
}

/* Sorts n elements at a, with as much room at b, to `to`, which is a or b. The lower part goes
 * there, the higher part to the other array, and what each leaves free is room for the other. Calls
 * itself for the lower part, `levels` deep at most. whole: a row whose results are written as soon
 * as a piece is sorted, while it is in the nearest cache, or NULL. */
SORT_TARGET static void ELEMENT_NAME(sort_parts)(const nxi_sort_quick *q, ELEMENT *a, ELEMENT *b,
                                                 ELEMENT *to, int64_t n, int levels,
                                                 uint32_t *counts, const nxi_sort_whole *whole) {
  for (; n > q->most && levels > 0; levels--) {
    if (whole && n > SORT_ASKED && whole->part->stopped(whole->part->user)) return;
    const ELEMENT pivot = ELEMENT_NAME(pivot)(a, n);
    ELEMENT *others = to == a ? b : a;
    int64_t low = pivot > 0 ? q->split(a, n, pivot - 1, to, others) : 0;
    if (low > 0) {
      ELEMENT_NAME(sort_parts)(q, to, others + n - low, to, low, levels - 1, counts, whole);
    } else { /* all of them are equal */
      low = q->split(pivot > 0 ? others : a, n, pivot, to, others);
      if (whole) nxi_sort_emit_piece(whole, to, low);
    }
    a = others;
    b = to += low;
    n -= low;
  }
  if (n > q->most) ELEMENT_NAME(sort_rest)(a, b, to, n, counts);
  else if (n > 0) q->network(a, to, n);
  if (whole && n > 0) nxi_sort_emit_piece(whole, to, n);
}

/* Sorts by partitions, where that is quicker than by digits; false: nothing is done. Few values are
 * one digit. */
SORT_TARGET static bool ELEMENT_NAME(sort_quickly)(ELEMENT *a, ELEMENT *b, int64_t n,
                                                   const nxi_sort_range *range, uint32_t *counts) {
  const nxi_sort_quick *quick = ELEMENT_QUICK;
  if (quick == NULL || n > quick->largest || nxi_sort_width(range) <= SORT_DIGIT) return false;
  ELEMENT_NAME(sort_parts)(quick, a, b, a, n, SORT_LEVELS(n), counts, NULL);
  return true;
}

SORT_TARGET static bool ELEMENT_NAME(sort_all)(void *elements, void *room, int64_t n,
                                               uint32_t *counts, const nxi_sort_whole *whole) {
  const nxi_sort_quick *quick = ELEMENT_QUICK;
  if (quick == NULL || quick->largest < INT64_MAX) return false;
  ELEMENT_NAME(sort_parts)(quick, elements, room, elements, n, SORT_LEVELS(n), counts, whole);
  return true;
}
#else
static bool ELEMENT_NAME(sort_all)(void *elements, void *room, int64_t n, uint32_t *counts,
                                   const nxi_sort_whole *whole) {
  return (void)elements, (void)room, (void)n, (void)counts, (void)whole, false;
}
#endif

SORT_TARGET static void *ELEMENT_NAME(sort)(void *elements, void *room, int64_t n,
                                            uint32_t *counts) {
  ELEMENT *a = elements, *b = room;
  if (ELEMENT_NAME(sort_few)(a, n)) return a;
  nxi_sort_range range;
  ELEMENT_NAME(scan)(a, n, &range);
  if (range.descents == 0) return a;
  if (range.descents == n - 1) { /* strictly: no equal keys change places */
    ELEMENT_NAME(reverse)(a, n);
    return a;
  }
#ifdef ELEMENT_QUICK
  if (ELEMENT_NAME(sort_quickly)(a, b, n, &range, counts)) return a;
#endif
  return ELEMENT_NAME(sort_digits)(a, b, n, &range, counts);
}

/* ---- one step of the partition of a long row */

SORT_TARGET static void ELEMENT_NAME(count_values)(const void *elements, int64_t n, uint64_t least,
                                                   int shift, uint32_t *counts) {
  ELEMENT_NAME(count)(elements, n, (KEY)least, shift, 1, SORT_VALUE_BITS, counts);
}

SORT_TARGET static void ELEMENT_NAME(scatter)(const void *elements, int64_t n, void *to,
                                              uint64_t least, int shift, const uint16_t *bucket_of,
                                              int64_t *next) {
  const ELEMENT *a = elements;
  ELEMENT *b = to;
  for (int64_t i = 0; i < n; i++) {
    const ELEMENT e = a[i];
    b[next[bucket_of[(KEY)((KEY)(KEY_OF(e) - (KEY)least) >> shift)]]++] = e;
  }
}

static const nxi_sort_engine ELEMENT_NAME(engine) = {
    .size = sizeof(ELEMENT),
    .sort = ELEMENT_NAME(sort),
    .sort_all = ELEMENT_NAME(sort_all),
    .scan = ELEMENT_NAME(scan),
    .count_values = ELEMENT_NAME(count_values),
    .scatter = ELEMENT_NAME(scatter),
};

#undef ELEMENT
#undef KEY
#undef SIGNED_KEY
#undef KEY_OF
#undef ELEMENT_NAME
#undef ELEMENT_VECTORS
#undef ELEMENT_QUICK
#undef ELEMENT_KEY_ALONE
#undef ELEMENT_LANES
