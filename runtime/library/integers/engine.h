/* SPDX-License-Identifier: ISC */
/* Makes the kernels of one set: included with these macros defined, which it removes.
 *     TABLE(name)             the name of something of this set
 *     OF_BYTES                1: elements are bytes, else words
 *     ROWS, VECTORS           rows of a panel; vectors of columns
 *     VECTOR, LANES           a vector of LANES integers of 32 bits
 *     LOAD(p), STORE(p, v), SPREAD(x), ADD(x, y)
 *     DOT(sum, a, b)          adds to each lane the products of a group */
#define COLUMNS (VECTORS * LANES)
#define GROUP   (OF_BYTES ? 4 : 2)
#define SIZE    (OF_BYTES ? 1 : 2)

static inline void TABLE(finish)(VECTOR sum, const int32_t *column_terms, int32_t row_term,
                                 bool add, int32_t *c) {
  if (OF_BYTES) sum = ADD(sum, ADD(SPREAD(row_term), LOAD(column_terms)));
  if (add) sum = ADD(sum, LOAD(c));
  STORE(c, sum);
}

static void TABLE(multiply)(int64_t groups, const void *a, const void *b, const int32_t *row_terms,
                            const int32_t *column_terms, bool add, int32_t *c, int64_t ld) {
  const int32_t *row = a, *column = b;
  VECTOR sum[ROWS][VECTORS];
  UNROLL
  for (int i = 0; i < ROWS; i++) UNROLL
  for (int j = 0; j < VECTORS; j++) sum[i][j] = SPREAD(0);
  for (int64_t g = 0; g < groups; g++, row += ROWS, column += COLUMNS) {
    VECTOR y[VECTORS];
    UNROLL
    for (int j = 0; j < VECTORS; j++) y[j] = LOAD(column + j * LANES);
    UNROLL
    for (int i = 0; i < ROWS; i++) {
      const VECTOR x = SPREAD(row[i]);
      UNROLL
      for (int j = 0; j < VECTORS; j++) sum[i][j] = DOT(sum[i][j], x, y[j]);
    }
  }
  UNROLL
  for (int i = 0; i < ROWS; i++) UNROLL
  for (int j = 0; j < VECTORS; j++)
    TABLE(finish)(sum[i][j], column_terms + j * LANES, row_terms[i], add, c + i * ld + j * LANES);
}

static void TABLE(pack_rows)(const nxi_integers_source *s, void *panel, int32_t *terms) {
#if OF_BYTES
  pack_bytes(s, ROWS, s->dtype == NX_U8 ? 128 : 0, panel);
  if (s->other_has_sign) sum_rows(panel, -128, (s->depth + 3) / 4, terms);
  else memset(terms, 0, ROWS * sizeof *terms);
#else
  (void)terms;
  pack_words(s, ROWS, panel);
#endif
}

static void TABLE(pack_columns)(const nxi_integers_source *s, void *panel, int32_t *terms) {
#if OF_BYTES
  const bool moved = s->dtype == NX_I8;
  pack_bytes(s, COLUMNS, moved ? 128 : 0, panel);
  if (s->other_has_sign) memset(terms, 0, COLUMNS * sizeof *terms);
  else
    sum_columns(panel, 128, moved ? -128 * 128 * (int32_t)s->depth : 0, (s->depth + 3) / 4, terms);
#else
  (void)terms;
  pack_words(s, COLUMNS, panel);
#endif
}

const nxi_integers_kernels TABLE(nxi_integers) = {
    ROWS, COLUMNS, GROUP, SIZE, TABLE(pack_rows), TABLE(pack_columns), TABLE(multiply),
};

#undef COLUMNS
#undef GROUP
#undef SIZE
#undef TABLE
#undef OF_BYTES
#undef ROWS
#undef VECTORS
#undef VECTOR
#undef LANES
#undef LOAD
#undef STORE
#undef SPREAD
#undef ADD
#undef DOT
