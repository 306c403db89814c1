/* SPDX-License-Identifier: ISC */
/* Rows as lanes, for one kind of element and one instruction set: included by sort/columns.c for
 * each. No include guard.
 *
 * Before including: COLUMNS_TARGET (attributes), VECTOR, VECTOR_BYTES, WORD, SIGNED_WORD,
 * WORD_BYTES, STEP (words an element), NAME(what), EXCHANGE(a, b) (two elements in vectors: the
 * lesser to *a), LOW(a, b) and HIGH(a, b) (words of the lower or upper half of each 16 bytes by
 * turns), PARTS(row, words, at) (a vector of 16 bytes each of every words-th row) and STORE_PARTS,
 * its opposite. */

enum {
  NAME(words) = 16 / WORD_BYTES,           /* in a part of 16 bytes */
  NAME(lanes) = VECTOR_BYTES / WORD_BYTES, /* rows */
};

/* Transposes the words of as many vectors as a part has words: exchanges word k of part g of vector
 * i with word i of part g of vector k. */
COLUMNS_TARGET static NXI_INLINE void NAME(turn)(VECTOR *v) {
  for (int round = 1; round < NAME(words); round *= 2) {
    VECTOR next[NAME(words)];
    for (int i = 0; i < NAME(words) / 2; i++) {
      next[2 * i] = LOW(v[i], v[i + NAME(words) / 2]);
      next[2 * i + 1] = HIGH(v[i], v[i + NAME(words) / 2]);
    }
    for (int i = 0; i < NAME(words); i++) v[i] = next[i];
  }
}

/* The first column of each stretch of `words` columns; the last stretch overlaps the one before
 * it. */
static inline int64_t NAME(stretch)(int64_t columns, int64_t at) {
  return at + NAME(words) > columns ? columns - NAME(words) : at;
}

/* ---- numbers to keys and back, as in sort/keys.c */

typedef WORD NAME(vector) __attribute__((vector_size(VECTOR_BYTES)));
typedef SIGNED_WORD NAME(signed) __attribute__((vector_size(VECTOR_BYTES)));

/* What a row in memory consists of. */
typedef enum NAME(content) { NAME(keys), NAME(integers), NAME(floats) } NAME(content);

COLUMNS_TARGET static NXI_INLINE void NAME(encode)(const nxi_sort_keys *k, NAME(content) content,
                                                   VECTOR *v, NAME(vector) * found) {
  const WORD sign = (WORD)k->sign, flip = (WORD)k->flip;
  NAME(vector) x = (NAME(vector))*v;
  if (content == NAME(keys)) return;
  if (content == NAME(floats)) {
    const NAME(vector) magnitude = x & (WORD)k->magnitude;
    const NAME(vector) nan = (NAME(vector))(magnitude > (WORD)k->largest);
    const NAME(vector) zero = (NAME(vector))(magnitude == 0);
    const NAME(vector) negative = (NAME(vector))((NAME(signed))x >> (8 * WORD_BYTES - 1));
    *found |= (nan & SORT_HAS_NAN) | (zero & negative & SORT_HAS_MINUS_ZERO);
    x = (((x ^ (negative | sign)) & ~zero) | (zero & sign));
    x = (x ^ flip) | nan;
  } else {
    x ^= flip;
  }
  *v = (VECTOR)x;
}

COLUMNS_TARGET static NXI_INLINE void NAME(decode)(const nxi_sort_keys *k, NAME(content) content,
                                                   VECTOR *v) {
  if (content == NAME(keys)) return;
  NAME(vector) x = (NAME(vector))*v ^ (WORD)k->flip;
  if (content == NAME(floats))
    x ^= (NAME(vector))(~(NAME(signed))x >> (8 * WORD_BYTES - 1)) | (WORD)k->sign;
  *v = (VECTOR)x;
}

/* ---- rows to columns and back */

COLUMNS_TARGET static NXI_INLINE void NAME(read)(const nxi_sort_keys *k, NAME(content) content,
                                                 const char *rows, char *to, int64_t count,
                                                 int64_t columns, VECTOR *c, unsigned *found) {
  const char *from[NAME(lanes)], *ahead = rows + count * columns * WORD_BYTES;
  NAME(vector) some = {0};
  for (int64_t i = 0; i < NAME(lanes); i++)
    from[i] = rows + (i < count ? i : count - 1) * columns * WORD_BYTES;
  for (int64_t i = 0; i < columns; i += NAME(words)) {
    const int64_t at = NAME(stretch)(columns, i);
    VECTOR v[NAME(words)];
    if (content != NAME(keys)) fetch_ahead(ahead, to, i * VECTOR_BYTES, NAME(words) * VECTOR_BYTES);
    for (int w = 0; w < NAME(words); w++) {
      const char **row = from + w;
      v[w] = PARTS(row, NAME(words), at * WORD_BYTES);
      NAME(encode)(k, content, &v[w], &some);
    }
    NAME(turn)(v);
    for (int w = 0; w < NAME(words); w++) c[at + w] = v[w];
  }
  for (int i = 0; content == NAME(floats) && i < NAME(lanes); i++) *found |= (unsigned)some[i];
}

COLUMNS_TARGET static NXI_INLINE void NAME(write)(const nxi_sort_keys *k, NAME(content) content,
                                                  char *rows, int64_t count, int64_t columns,
                                                  const VECTOR *c) {
  for (int64_t i = 0; i < columns; i += NAME(words)) {
    const int64_t at = NAME(stretch)(columns, i);
    char *to = rows + at * WORD_BYTES;
    VECTOR v[NAME(words)];
    for (int w = 0; w < NAME(words); w++) {
      v[w] = c[at + w];
      NAME(decode)(k, content, &v[w]);
    }
    NAME(turn)(v);
    for (int w = 0; w < NAME(words); w++)
      STORE_PARTS(v[w], to + w * columns * WORD_BYTES, NAME(words) * columns * WORD_BYTES,
                  count - w, NAME(words));
  }
}

/* ---- the network */

/* Elements of 8 columns. */
COLUMNS_TARGET static NXI_INLINE void NAME(eight)(VECTOR *c) {
  VECTOR v[8 * STEP];
  for (int i = 0; i < 8 * STEP; i++) v[i] = c[i];
#define X(a, b) EXCHANGE(&v[(a) * STEP], &v[(b) * STEP])
  X(0, 1);
  X(2, 3);
  X(4, 5);
  X(6, 7);
  X(0, 2);
  X(1, 3);
  X(4, 6);
  X(5, 7);
  X(1, 2);
  X(5, 6);
  X(0, 4);
  X(1, 5);
  X(2, 6);
  X(3, 7);
  X(2, 4);
  X(3, 5);
  X(1, 2);
  X(3, 4);
  X(5, 6);
#undef X
  for (int i = 0; i < 8 * STEP; i++) c[i] = v[i];
}

/* Batcher's odd-even merge of two sorted halves: the first step compares columns at a distance of
 * half their number, the next one, without the outermost columns, at a quarter, and so on. Two
 * steps are done together, so that columns are loaded and stored half as often. Only the first n
 * columns exist; the others count as higher than all. */

typedef struct NAME(element) {
  VECTOR words[STEP];
} NAME(element);
#define CX(a, b) EXCHANGE((a).words, (b).words)

/* The first two steps. */
COLUMNS_TARGET static NXI_INLINE void NAME(first)(NAME(element) * c, int64_t half, int64_t n) {
  const int64_t quarter = half / 2;
  for (int64_t i = 0; i < quarter && half + i < n; i++) {
    NAME(element) p, q, r, s;
    const bool all = half + quarter + i < n;
    p = c[i];
    q = c[quarter + i];
    r = c[half + i];
    CX(p, r);
    if (all) {
      s = c[half + quarter + i];
      CX(q, s);
      c[half + quarter + i] = s;
    }
    CX(q, r);
    c[i] = p;
    c[quarter + i] = q;
    c[half + i] = r;
  }
}

/* Two later ones: columns `apart` and apart / 2. */
COLUMNS_TARGET static NXI_INLINE void NAME(two)(NAME(element) * c, int64_t n, int64_t apart) {
  const int64_t near = apart / 2;
  for (int64_t i = 0; i < near; i++) {
    NAME(element) before = c[near + i], p, q, r, s;
    int64_t at = apart + i;
    for (; at + apart + near < n; at += 2 * apart) {
      p = c[at];
      q = c[at + near];
      r = c[at + apart];
      s = c[at + apart + near];
      CX(p, r);
      CX(q, s);
      CX(before, p);
      CX(q, r);
      c[at - near] = before;
      c[at] = p;
      c[at + near] = q;
      c[at + apart] = r;
      before = s;
    }
    if (at < n) { /* the last of the next four columns does not exist */
      p = c[at];
      if (at + apart < n) {
        q = c[at + near];
        r = c[at + apart];
        CX(p, r);
        CX(q, r);
        c[at + near] = q;
        c[at + apart] = r;
      }
      CX(before, p);
      c[at] = p;
    }
    c[at - near] = before;
  }
}

/* The last step, if it has no partner. */
COLUMNS_TARGET static NXI_INLINE void NAME(last)(NAME(element) * c, int64_t n) {
  for (int64_t i = 1; i + 1 < n; i += 2) CX(c[i], c[i + 1]);
}

COLUMNS_TARGET static void NAME(merge)(NAME(element) * c, int64_t half, int64_t n) {
  int64_t apart = half / 4;
  if (n > 2 * half) n = 2 * half;
  NAME(first)(c, half, n);
  for (; apart > 4; apart /= 4) NAME(two)(c, n, apart);
  if (apart == 4) NAME(two)(c, n, 4);
  if (apart == 2) NAME(two)(c, n, 2);
  else NAME(last)(c, n);
}
#undef CX

COLUMNS_TARGET static void NAME(network)(VECTOR *c, int64_t n) {
  memset(c + n * STEP, 0xff, sizeof(VECTOR) * STEP * (size_t)((8 - n % 8) % 8));
  for (int64_t i = 0; i < n; i += 8) NAME(eight)(c + i * STEP);
  for (int64_t half = 8; half < n; half *= 2)
    for (int64_t i = 0; i + half < n; i += 2 * half)
      NAME(merge)((NAME(element) *)c + i, half, n - i);
}

COLUMNS_TARGET static void NAME(sort_keys)(void *rows, int64_t count, int64_t n, void *columns) {
  static const nxi_sort_keys none;
  NAME(read)(&none, NAME(keys), rows, rows, count, n * STEP, columns, NULL);
  NAME(network)(columns, n);
  NAME(write)(&none, NAME(keys), rows, count, n * STEP, columns);
}

#if STEP == 1
COLUMNS_TARGET static void NAME(sort_numbers)(const nxi_sort_keys *keys, const void *from, void *to,
                                              int64_t count, int64_t n, void *columns,
                                              unsigned *found) {
  const nxi_sort_keys k = *keys;
  if (k.floats) NAME(read)(&k, NAME(floats), from, to, count, n, columns, found);
  else NAME(read)(&k, NAME(integers), from, to, count, n, columns, found);
  NAME(network)(columns, n);
  if (k.floats) NAME(write)(&k, NAME(floats), to, count, n, columns);
  else NAME(write)(&k, NAME(integers), to, count, n, columns);
}
#endif

static const nxi_sort_columns NAME(columns) = {
    .lanes = NAME(lanes),
    .least = NAME(words) / STEP,
    .column_bytes = VECTOR_BYTES * STEP,
    .sort_keys = NAME(sort_keys),
#if STEP == 1
    .sort_numbers = NAME(sort_numbers),
#endif
};

#undef WORD
#undef SIGNED_WORD
#undef WORD_BYTES
#undef STEP
#undef NAME
#undef EXCHANGE
#undef LOW
#undef HIGH
