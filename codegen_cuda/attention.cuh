/* SPDX-License-Identifier: ISC */
/* Attention of f16 and bf16 on tensor cores: two products with a softmax between them, of which no
 * score is ever in memory. Comes after attention_numbers.cuh.
 *
 * A block of threads has 16 rows (queries) for each warp and goes through the keys three times, a
 * tile at a time: for the largest score of each row, for the sum of exponentials, and for the
 * second product. Each time it multiplies the scores again. Running maxima would need one pass, but
 * they add and round in other ways than the operations that were recorded (docs/numerics.md): here
 * each score is rounded after the product, the factor, the difference, the exponential and the
 * quotient, to 16 bits or to f32, and exponentials are added in the order `lanes`: of a tile of
 * scores a thread has columns 2t, 2t + 1, 2t + 8 and 2t + 9 of each 16, which are four of the 16
 * lanes.
 *
 * Tiles of keys and values come by copies of 16 bytes into one half of the shared memory while the
 * other half is multiplied, and so does what is added to scores. A condition on scores is packed
 * before, a bit for each, so that a thread reads a word for a row of a tile, and what no row of a
 * warp sees is not multiplied. */

/* Columns that are seen: `least` <= column - row <= `most`, if the bit of a condition says so, too;
 * others have the score `fill`. */
struct nx_attention_shape {
  int rows, columns, heads, groups;                         /* of queries, keys; heads of keys */
  int row_tiles, batches, tiles;                            /* batches: outer extent times heads */
  nx_i64 q_outer, q_head, k_outer, k_head, v_outer, v_head; /* elements between them */
  int q_row, k_row, v_row;                                  /* between rows */
  int least, most;
  int parts;                      /* of the values' marks, of a head */
  nx_u32 factor, fill;            /* twice the 16 bits, or f32; factor: 1 if there is none */
  nx_u32 hidden;                  /* what is `fill` when it has been multiplied by the factor */
  nx_i64 added_outer, added_head; /* 16 bits between summands; 0: the same ones */
  nx_i64 seen_outer, seen_head;   /* words of 32 bits between bits */
  int added_row, seen_row;
  int empty;              /* whether rows of nothing but minus infinity have weights of 0 */
  int y_row;              /* lines of the result between rows, heads, and so on */
  nx_u32 y_outer, y_head; /* so many in all */
};
/* What scores are masked with in memory. Of a head they are in shared memory, as few registers are
 * left. */
struct nx_attention_masks {
  const nx_u16 *added;
  const nx_u32 *seen;
};

/* ---- tiles in shared memory */

/* Where a part of 16 bytes of a line of n such parts is: eight neighbouring lines have the same
 * part in different banks; or, `pairs`, four have parts 2i and 2i + 1 there. */
template <int n, bool pairs = false> NX_INLINE int nx_tile_place(int line, int part) {
  const int turn = pairs        ? (n % 8 == 0 ? line & 3 : line >> 1 & 1) * 2
                   : n % 8 == 0 ? line & 7
                   : n % 4 == 0 ? line >> 1 & 3
                                : line >> 2 & 1;
  return (line * n + (part ^ turn)) * 16;
}

/* Starts to copy `lines` lines of n parts, of which `inside` are there, and of these the first
 * `parts` parts; others are zeros. A thread
 * has one part of each line that it copies, and its lines are as far apart as makes their places
 * follow from the first one: so few registers remember places. */
template <int n, int lines, int threads, bool pairs = false>
NX_INLINE void nx_bring_lines(nx_u8 *to, const nx_u16 *from, int row, int inside, int parts = n) {
  const int all = n <= 4    ? 4
                  : n <= 8  ? 8
                  : n <= 16 ? 16
                            : 32,
            apart = threads / all, line = threadIdx.x / all, part = threadIdx.x % all;
  if (all != n && part >= n) return;
  const nx_u16 *at = from + (nx_i64)line * row + part * 8;
  const int place = nx_tile_place<n, pairs>(line, part);
#pragma unroll
  for (int i = 0; i < (lines + apart - 1) / apart; i++) {
    const int own = line + i * apart;
    const bool there = own < inside && part < parts;
    if (lines % apart != 0 && own >= lines) return;
    const int moved = place + i * apart * n * 16,
              here = apart % 8 == 0 ? moved : nx_tile_place<n, pairs>(own, part);
    nx_copy_start(to + here, there ? at + (nx_i64)i * apart * row : from, there ? 16 : 0);
  }
}

/* ---- a block's rows */

/* P: nx_pair or another of attention_numbers.cuh, of a type; D, E: elements of a query, and of a
 * value; warps of a block; keys of a tile. rounds: whether a product with the factor is rounded;
 * if not, it is a power of two. masked: whether there is a condition. added: lines of a tile of
 * summands, 0: there are none, 1: all rows have the same ones, or as many as rows. */
template <class P, int D, int E, int warps, int keys, bool rounds, bool masked, int added>
struct nx_attention {
  enum {
    threads = 32 * warps,
    rows = 16 * warps,
    key_bytes = keys * D * 2,
    stage = keys * (D + E) * 2,
    query_bytes = rows * D * 2,
    wide = P::wide,
    score_bytes = wide ? 4 : 2,
    added_bytes = added * keys * score_bytes,
    kept = D <= 64 ? D / 16 : 1, /* fragments of queries in registers */
    chain = 256 / keys           /* tiles of a block of the order of sums */
  };
  typedef typename P::type T;
  typedef typename P::word word;
  typedef typename P::peak peak;
  const nx_attention_shape &p;
  const nx_u16 *k, *v;
  nx_u8 *shared;
  float *sums;        /* partial sums of blocks of 256 columns, by levels of their tree */
  int first_row, row; /* of the block; of the warp */
  int first, last;    /* tiles that rows of the block see */
  int lane, now;      /* now: the stage that is multiplied */
  bool skips;         /* what no row of the warp sees, as it adds nothing */
  nx_u32 q[kept][4];
  peak above[2]; /* minus the largest scores of rows g and g + 8 */

  __device__ __forceinline__ nx_attention(const nx_attention_shape &shape) : p(shape) {}

  /* Starts to copy a tile of keys, and of values. */
  __device__ __forceinline__ void bring(int tile, int to, bool values) {
    const int column = tile * keys, inside = p.columns - column;
    nx_bring_lines<D / 8, keys, threads>(shared + to * stage, k + (nx_i64)column * p.k_row, p.k_row,
                                         inside);
    if (values)
      nx_bring_lines<E / 8, keys, threads>(shared + to * stage + key_bytes,
                                           v + (nx_i64)column * p.v_row, p.v_row, inside);
    if (added > 0)
      nx_bring_lines<keys * score_bytes / 16, (added > 0 ? added : 1), threads, wide != 0>(
          summands(to), masks()->added + column * (score_bytes / 2), p.added_row,
          added == 1 ? 1 : p.rows - first_row, (inside * score_bytes + 15) / 16);
    nx_copy_group();
  }
  __device__ __forceinline__ const nx_u8 *queries() const { return shared + 2 * stage; }
  __device__ __forceinline__ nx_u8 *summands(int half) const {
    return shared + 2 * stage + query_bytes + half * added_bytes;
  }
  __device__ __forceinline__ void load_queries(nx_u32 (&a)[4], int i) {
    nx_load_rows(a,
                 queries() + nx_tile_place<D / 8>(row - first_row + lane % 16, i * 2 + lane / 16));
  }
  /* Waits for the tile, and starts to bring what comes next: `next`, if there is one. */
  __device__ __forceinline__ void turn(int next, bool values) {
    nx_copy_wait<0>();
    __syncthreads();
    now ^= 1;
    if (next >= 0) bring(next, now ^ 1, values);
  }

  /* Whether scores are without their factor until they are compared. */
  enum { multiplies = !rounds && added == 0 };

  /* The scores of 16 rows, rounded, in words of two columns: of rows g and g + 8 of each 8
   * columns. Of the first pass without the factor, and hidden ones are none, or `whole` ones. */
  template <bool first>
  __device__ __forceinline__ void multiply_scores(int tile, word (&s)[keys / 8][2],
                                                  const nx_u32 (&bits)[2]) {
    const bool whole = added > 0 || (first ? masked : rounds);
    float c[keys / 8][4] = {};
    const nx_u8 *from = shared + now * stage;
#pragma unroll
    for (int i = 0; i < D / 16; i++) {
      nx_u32 a[4];
      if (kept == 1) load_queries(a, i);
#pragma unroll
      for (int j = 0; j < keys / 16; j++) {
        nx_u32 b[4];
        nx_load_rows(b, from + nx_tile_place<D / 8>(j * 16 + lane / 16 * 8 + lane % 8,
                                                    i * 2 + lane / 8 % 2));
        nx_tensor<T, T>::multiply(c[2 * j], kept == 1 ? a : q[kept == 1 ? 0 : i], b);
        nx_tensor<T, T>::multiply(c[2 * j + 1], kept == 1 ? a : q[kept == 1 ? 0 : i], b + 2);
      }
    }
#pragma unroll
    for (int j = 0; j < keys / 8; j++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        s[j][h] = P::word_of(c[j][2 * h], c[j][2 * h + 1]);
        if (whole && (added == 0 || rounds)) s[j][h] = P::times(s[j][h], p.factor);
      }
    if (added > 0) add(s);
    const word fill = P::constant(whole ? p.fill : first ? P::none : p.hidden);
    if (masked) hide_unseen(bits, s, fill);
    if (!sees_all(tile)) hide(tile, s, fill);
  }
  /* Adds the summands. A factor that is a power of two is multiplied at the same time. */
  __device__ __forceinline__ void add(word (&s)[keys / 8][2]) {
    if (wide) return add_floats(s);
    const int line = added == 1 ? 0 : row - first_row + lane % 16;
#pragma unroll
    for (int j = 0; j < keys / 16; j++) {
      nx_u32 b[4];
      nx_load_rows(b, summands(now) + nx_tile_place<keys / 8>(line, j * 2 + lane / 16));
#pragma unroll
      for (int i = 0; i < 4; i++) {
        word &own = s[2 * j + i / 2][i % 2];
        own = P::template plus<!rounds>(own, p.factor, P::constant(b[i]));
      }
    }
  }
  __device__ __forceinline__ void add_floats(word (&s)[keys / 8][2]) {
#pragma unroll
    for (int j = 0; j < keys / 8; j++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const int line = added == 1 ? 0 : row - first_row + lane / 4 + 8 * h;
        const nx_u8 *at = summands(now) + lane % 2 * 8 +
                          nx_tile_place<keys / 4, true>(line, j * 2 + lane % 4 / 2);
        s[j][h] = P::template plus<!rounds>(s[j][h], p.factor, *(const word *)at);
      }
  }
  /* Bits of columns 2t, 2t + 1 of each 8 of a tile, which has at most 32, of rows g and g + 8, from
   * bit 0 on. Whether no row of the warp sees a column. */
  __device__ __forceinline__ bool unseen(int tile, nx_u32 (&bits)[2]) const {
    if (!masked) return false;
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int own = row + lane / 4 + 8 * h, there = own < p.rows ? own : p.rows - 1;
      bits[h] = masks()->seen[(nx_i64)there * p.seen_row + tile * keys / 32] >>
                (tile * keys % 32 + lane % 4 * 2);
    }
    const nx_u32 any = (bits[0] | bits[1]) & (keys < 32 ? 0x0303u : 0x03030303u);
    return __ballot_sync(0xffffffffu, any != 0) == 0;
  }
  __device__ __forceinline__ void hide_unseen(const nx_u32 (&bits)[2], word (&s)[keys / 8][2],
                                              word fill) const {
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
      for (int j = 0; j < keys / 8; j++) s[j][h] = P::seen(bits[h] >> j % 4 * 8, s[j][h], fill);
  }
  /* Whether all rows of the warp see all columns of the tile, and whether none sees one. */
  __device__ __forceinline__ bool sees_all(int tile) const {
    const int column = tile * keys;
    return column + keys <= p.columns && column - (row + 15) >= p.least &&
           column + keys - 1 - row <= p.most;
  }
  __device__ __forceinline__ bool idle() const { return row >= p.rows; }
  __device__ __forceinline__ bool sees_nothing(int tile) const {
    const int column = tile * keys;
    return column - (row + 15) > p.most || column + keys - 1 - row < p.least;
  }
  __device__ __forceinline__ void hide(int tile, word (&s)[keys / 8][2], word fill) const {
#pragma unroll
    for (int j = 0; j < keys / 8; j++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const word was = s[j][h];
#pragma unroll
        for (int i = 0; i < 2; i++) {
          const int column = tile * keys + j * 8 + lane % 4 * 2 + i,
                    ahead = column - (row + lane / 4 + 8 * h);
          const bool seen = ahead >= p.least && ahead <= p.most;
          P::put(s[j][h], i, column >= p.columns ? P::constant(P::none) : seen ? was : fill);
        }
      }
  }

  /* The exponentials of how much scores of 16 columns are below the largest of their rows. */
  template <bool units>
  __device__ __forceinline__ bool exponentials(const word (&s)[keys / 8][2], int j,
                                               float (&e)[8]) const {
    const word four[4] = {s[2 * j][0], s[2 * j][1], s[2 * j + 1][0], s[2 * j + 1][1]};
    return P::template exponentials < multiplies != 0, units > (four, p.factor, above, e);
  }

  /* ---- the three passes; `tail`: the tile that comes after the last one, in the next pass */

  __device__ __forceinline__ void find_largest(int tail) {
    word best[2] = {P::constant(P::none), P::constant(P::none)};
#pragma unroll 1
    for (int tile = first; tile < last; tile++) {
      turn(tile + 1 < last ? tile + 1 : tail, false);
      if (idle() || sees_nothing(tile)) continue;
      word s[keys / 8][2];
      nx_u32 bits[2] = {};
      if (unseen(tile, bits)) {
        best[0] = P::most(best[0], P::constant(p.fill));
        best[1] = P::most(best[1], P::constant(p.fill));
        continue;
      }
      multiply_scores<true>(tile, s, bits);
#pragma unroll
      for (int j = 0; j < keys / 8; j++)
#pragma unroll
        for (int h = 0; h < 2; h++) best[h] = P::most(best[h], s[j][h]);
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int own = row + lane / 4 + 8 * h;
      if (!masked && added == 0) best[h] = P::times(best[h], p.factor);
      if (own + p.least > 0 || own + p.most < p.columns - 1)
        best[h] = P::most(best[h], P::constant(p.fill));
      above[h] = P::peak_of(best[h]);
      if (p.empty) above[h] = P::finite(above[h]);
    }
  }

  /* Adds a block's sums to the tree of the order: block n meets those before it. */
  __device__ __forceinline__ void add_block(int n, float (&sum)[2][4]) {
    int level = 0;
#pragma unroll 1
    for (; n >> level & 1; level++)
#pragma unroll
      for (int i = 0; i < 8; i++)
        sum[i / 4][i % 4] += sums[(level * 8 + i) * threads + threadIdx.x];
#pragma unroll
    for (int i = 0; i < 8; i++) {
      sums[(level * 8 + i) * threads + threadIdx.x] = sum[i / 4][i % 4];
      sum[i / 4][i % 4] = 0;
    }
  }
  /* The sums of n blocks, of which those before the first one are zeros. */
  __device__ __forceinline__ void join_blocks(int n, float (&sum)[2][4]) {
    bool any = false;
#pragma unroll 1
    for (int level = 0; n >> level != 0; level++) {
      if (!(n >> level & 1)) continue;
#pragma unroll
      for (int i = 0; i < 8; i++) {
        const float own = sums[(level * 8 + i) * threads + threadIdx.x];
        sum[i / 4][i % 4] = any ? own + sum[i / 4][i % 4] : own;
      }
      any = true;
    }
  }
  __device__ __forceinline__ void add_exponentials(int tail, bool values, P (&by)[2]) {
    float sum[2][4] = {};
    const int begin = first / chain;
#pragma unroll 1
    for (int level = 0; begin >> level != 0; level++)
#pragma unroll
      for (int i = 0; i < 8; i++) sums[(level * 8 + i) * threads + threadIdx.x] = 0;
#pragma unroll 1
    for (int tile = first; tile < last; tile++) {
      const bool more = tile + 1 < last;
      turn(more ? tile + 1 : tail, !more && values);
      word s[keys / 8][2];
      nx_u32 bits[2] = {};
      if (!idle() && !(skips && sees_nothing(tile)) && !(unseen(tile, bits) && skips)) {
        multiply_scores<false>(tile, s, bits);
#pragma unroll
        for (int j = 0; j < keys / 16; j++) {
          float e[8];
          exponentials<false>(s, j, e);
#pragma unroll
          for (int i = 0; i < 8; i++) sum[i / 2 % 2][i / 4 * 2 + i % 2] += e[i];
        }
      }
      if ((tile + 1) % chain == 0 || !more) add_block(tile / chain, sum);
    }
    join_blocks((last + chain - 1) / chain, sum);
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float low = sum[h][0] + sum[h][2], high = sum[h][1] + sum[h][3];
      low += nx_shuffle(low, 2), high += nx_shuffle(high, 2);
      low += nx_shuffle(low, 1), high += nx_shuffle(high, 1);
      by[h].sum_is(low + high);
    }
  }

  __device__ __forceinline__ void multiply_values(const P (&by)[2], float (&y)[E / 8][4]) {
#pragma unroll 1
    for (int tile = first; tile < last; tile++) {
      turn(tile + 1 < last ? tile + 1 : -1, true);
      word s[keys / 8][2];
      nx_u32 bits[2] = {};
      if (idle() || (skips && sees_nothing(tile)) || (unseen(tile, bits) && skips)) continue;
      multiply_scores<false>(tile, s, bits);
      const nx_u8 *from = shared + now * stage + key_bytes;
#pragma unroll
      for (int j = 0; j < keys / 16; j++) {
        nx_u32 a[P::parts][4];
        float e[8];
        const bool slow = exponentials<true>(s, j, e);
        P::divide(by, e, slow, a);
#pragma unroll
        for (int i = 0; i < E / 16; i++) {
          nx_u32 b[4];
          nx_load_columns(b, from + nx_tile_place<E / 8>(j * 16 + lane % 16, i * 2 + lane / 16));
#pragma unroll
          for (int part = 0; part < P::parts; part++) {
            nx_tensor<T, T>::multiply(y[2 * i], a[part], b);
            nx_tensor<T, T>::multiply(y[2 * i + 1], a[part], b + 2);
          }
        }
      }
    }
  }

  /* Whether what rows of the block do not see adds nothing to them: its weights are 0, and values
   * have no NaN and no infinity. */
  __device__ __forceinline__ bool adds_nothing(const nx_u8 *marks) {
    bool good = true;
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int own = row + lane / 4 + 8 * h;
      if (own < p.rows) good = good && P::vanishes(p.fill, above[h]);
    }
    for (int i = threadIdx.x; i < p.parts; i += threads) good = good && marks[i] == 0;
    int *said = words();
    if (threadIdx.x == 0) *said = 1;
    __syncthreads();
    if (!good) *said = 0;
    __syncthreads();
    return *said != 0;
  }

  /* Words of the block: what adds_nothing says; and what the end has to know and no register keeps,
   * the result's first line, the tile that comes next, and the one of these rows. */
  __device__ __forceinline__ int *words() const {
    return (int *)(shared + 2 * stage + query_bytes + 2 * added_bytes);
  }
  __device__ __forceinline__ nx_attention_masks *masks() const {
    return (nx_attention_masks *)(words() + 4);
  }

  __device__ __forceinline__ void run(const nx_u16 *queries_at, nx_u16 *to, const nx_u8 *marks,
                                      int tile_of_rows) {
    first_row = tile_of_rows * rows;
    row = first_row + threadIdx.x / 32 * 16;
    lane = threadIdx.x % 32, now = 1;
    const int all = (p.columns + keys - 1) / keys, end = first_row + rows - 1;
    first = first_row + p.least > 0 ? (first_row + p.least) / keys : 0;
    last = end + p.most >= p.columns - 1 ? all : end + p.most < 0 ? 0 : (end + p.most) / keys + 1;
    nx_bring_lines<D / 8, rows, threads>(
        shared + 2 * stage, queries_at + (nx_i64)first_row * p.q_row, p.q_row, p.rows - first_row);
    nx_copy_group();
    if (first >= last) first = 0, last = all;
    const bool part = masked || last - first != all;
    skips = part;
    nx_copy_wait<0>();
    __syncthreads();
    if (kept > 1)
#pragma unroll
      for (int i = 0; i < kept; i++) load_queries(q[i], i);
    bring(first, 0, false);
    find_largest(part ? -1 : first);
    if (part) {
      skips = adds_nothing(marks);
      if (!skips) first = 0, last = all;
      bring(first, now ^ 1, false);
    }
    P by[2];
    add_exponentials(first, true, by);
    float y[E / 8][4] = {};
    multiply_values(by, y);
    store(y, to);
  }
  __device__ __forceinline__ void store(const float (&y)[E / 8][4], nx_u16 *to) const {
    const int own_row = words()[3] * rows + threadIdx.x / 32 * 16;
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int own = own_row + lane / 4 + 8 * h;
      if (own >= p.rows) continue;
      const nx_i64 at = ((nx_i64)(nx_u32)words()[1] + (nx_i64)own * p.y_row) * E + lane % 4 * 2;
#pragma unroll
      for (int i = 0; i < E / 8; i++) {
        const nx_score_pair two = {y[i][2 * h], y[i][2 * h + 1]};
        if (P::whole) *(nx_score_pair *)((float *)to + at + i * 8) = two;
        else *(nx_u32 *)(to + at + i * 8) = P::round(two.low, two.high);
      }
    }
  }
};

/* A tile of rows after the other. marks: see nx_mark_values. */
template <class P, int D, int E, int warps, int keys, bool rounds, bool masked, int added>
NX_INLINE void nx_attend(const nx_u16 *q, const nx_u16 *k, const nx_u16 *v, nx_u16 *y,
                         const nx_u8 *marks, nx_attention_masks masks, const nx_attention_shape &p,
                         nx_u8 *shared) {
  typedef nx_attention<P, D, E, warps, keys, rounds, masked, added> one;
  const bool bounded = p.least > -p.rows || p.most < p.columns - 1;
  int number = blockIdx.x;
#pragma unroll 1
  while (number < p.tiles) {
    /* rows that may see most first, so that no block begins a long one at the end */
    const int batch = bounded ? number % p.batches : number / p.row_tiles,
              tile = bounded ? p.row_tiles - 1 - number / p.batches : number % p.row_tiles,
              outer = batch / p.heads, head = batch % p.heads, group = head / (p.heads / p.groups);
    one block(p);
    block.shared = shared;
    block.sums = (float *)(block.words() + (masked || added > 0 ? 8 : 4));
    block.k = k + outer * p.k_outer + group * p.k_head;
    block.v = v + outer * p.v_outer + group * p.v_head;
    if (threadIdx.x == 0) {
      block.words()[1] = outer * p.y_outer + head * p.y_head;
      block.words()[2] = number + gridDim.x;
      block.words()[3] = tile;
      if (masked) block.masks()->seen = masks.seen + outer * p.seen_outer + head * p.seen_head;
      if (added > 0)
        block.masks()->added = masks.added + outer * p.added_outer + head * p.added_head +
                               (nx_i64)(tile * one::rows) * p.added_row;
    }
    block.run(q + outer * p.q_outer + head * p.q_head, y,
              marks + (nx_i64)(outer * p.groups + group) * p.parts, tile);
    number = block.words()[2];
    __syncthreads();
  }
}

/* Marks parts of `lines` values of a head that have NaN or infinity. */
template <class T, int E, int lines>
NX_INLINE void nx_mark_values(const nx_u16 *v, nx_u8 *marks, const nx_attention_shape &p,
                              nx_u8 *said) {
  const nx_u32 full = nx_pair<T>::none & 0x7fff7fffu; /* exponents of infinity */
  const int all = p.batches / p.heads * p.groups * p.parts;
#pragma unroll 1
  for (int number = blockIdx.x; number < all; number += gridDim.x) {
    const int batch = number / p.parts, first = number % p.parts * lines,
              inside = p.columns - first < lines ? p.columns - first : lines,
              words = inside * (E / 8);
    const nx_u16 *from = v + batch / p.groups * p.v_outer + batch % p.groups * p.v_head;
    if (threadIdx.x == 0) *said = 0;
    __syncthreads();
    bool bad = false;
    for (int i = threadIdx.x; i < words; i += 256) {
      const int line = first + i / (E / 8), at = i % (E / 8);
      const uint4 w = *(const uint4 *)(from + (nx_i64)line * p.v_row + at * 8);
      const nx_u32 four[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
      for (int j = 0; j < 4; j++)
        bad = bad || (four[j] & full & 0xffffu) == (full & 0xffffu) ||
              (four[j] & full & 0xffff0000u) == (full & 0xffff0000u);
    }
    if (bad) *said = 1;
    __syncthreads();
    if (threadIdx.x == 0) marks[number] = *said;
    __syncthreads();
  }
}
