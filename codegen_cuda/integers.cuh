/* SPDX-License-Identifier: ISC */
/* Products of matrices of bytes on tensor cores, with sums of 32 bits that wrap. Comes after
 * mma.cuh.
 *
 * A block of threads makes a tile of the result. For 64 numbers of the inner extent at a time, the
 * rows of A and the columns of B are brought to shared memory, each as a line of 64 bytes. An
 * operand whose lines lie so in memory (along) is copied while the block multiplies what came
 * before. Of one that lies across, 4 x 4 bytes are exchanged in registers on the way. Three such
 * steps are in shared memory: one is multiplied, one is there, one is on its way.
 *
 * `even`: lines begin at multiples of 16 bytes; of an operand that lies across, the numbers of 8
 * lines do so at multiples of 8. Else words are put together from the aligned ones that they are
 * in, of which each has a byte of the operand. */
enum { NX_DEPTH = 64, NX_STEPS = 3 };

/* Where 16 bytes of a line are in shared memory: lines that a warp stores, or that it loads, at
 * once are in different banks. */
NX_INLINE int nx_place(int line, int part) {
  const int own = line ^ (line >> 5 & 1), turn = (line >> 1 ^ line >> 3) & 3;
  return own * NX_DEPTH + (part ^ turn) * 16;
}
/* The same for line + 16 i and the part + 2 p: line is below 16, and a multiple of 32 or 64 more,
 * if i is below 2 or 4, and the part is below 2. As with other places that differ by bits, a
 * multiple of 1024 may be in `place`: so the places of a step are made of one number. */
NX_INLINE int nx_place_from(int place, int i, int p) {
  return (place ^ ((i ^ p) & 1) * 32 ^ (i >> 1 & 1) * 64) + i * 16 * NX_DEPTH;
}

/* Four bytes, of which the first `n` are the operand's. */
NX_INLINE nx_u32 nx_odd_word(const nx_u8 *at, int n) {
  const int off = (int)((nx_u64)at & 3);
  const nx_u32 *aligned = (const nx_u32 *)(at - off);
  const nx_u32 low = n > 0 ? aligned[0] : 0, high = off > 0 && n > 4 - off ? aligned[1] : 0;
  const nx_u32 word = __funnelshift_r(low, high, 8 * off);
  return n >= 4 ? word : n <= 0 ? 0 : word & (1u << 8 * n) - 1;
}
NX_INLINE int nx_at_most(nx_i64 n, int most) { return n < most ? (int)n : most; }

/* Lines of one operand, from the first of the tile on; the distance between lines (along), or from
 * one number of them to the next. */
struct nx_lines {
  const nx_u8 *at;
  nx_i64 lines, distance;
};

/* Lines that lie along. A thread has `parts` parts of 16 bytes, of every `between`th line. */
template <int lines, int threads, bool even> struct nx_along {
  enum { parts = lines * (NX_DEPTH / 16) / threads, between = threads / 4 };
  nx_u32 kept[even ? 1 : 4 * parts];
  const nx_u8 *at;
  nx_i64 distance;
  int last, place;

  __device__ __forceinline__ nx_along(const nx_lines &m) {
    const int line = threadIdx.x / 4, part = threadIdx.x % 4;
    last = nx_at_most(m.lines - 1, lines) - line;
    at = m.at + 16 * part + line * m.distance;
    distance = m.distance;
    place = nx_place(line, part);
  }
  __device__ __forceinline__ int place_of(int to, int i) const {
    return (to + place ^ (between == 32 ? (i & 1) * 64 : 0)) + i * between * NX_DEPTH;
  }
  /* left: numbers of the inner extent from here on; to: where the step is in shared memory */
  __device__ __forceinline__ void start(nx_i64 left, nx_u8 *shared, int to) {
    const int n = nx_at_most(left, NX_DEPTH) - 16 * (int)(threadIdx.x % 4);
#pragma unroll
    for (int i = 0; i < parts; i++) {
      const nx_u8 *from = at + i * (between * distance);
      const int own = i * between <= last ? n : 0;
      if (even) nx_copy_start(shared + place_of(to, i), from, own > 0 ? 16 : 0);
#pragma unroll
      for (int j = 0; j < 4 && !even; j++)
        kept[4 * i + j] = nx_odd_word(from + 4 * j, own - 4 * j);
    }
    at += NX_DEPTH;
  }
  __device__ __forceinline__ void finish(nx_u8 *shared, int to) {
#pragma unroll
    for (int i = 0; i < parts && !even; i++)
      *(uint4 *)(shared + place_of(to, i)) =
          make_uint4(kept[4 * i], kept[4 * i + 1], kept[4 * i + 2], kept[4 * i + 3]);
  }
};

/* Lines that lie across. A thread has 4 numbers of 8 lines. */
template <int lines, int threads, bool even> struct nx_across {
  nx_u32 kept[8];
  const nx_u8 *at;
  nx_i64 distance;
  int n, place; /* the thread's lines */

  /* Which of a step's numbers the thread has, from which on. */
  __device__ __forceinline__ static int number() {
    return threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 8 * 4;
  }
  __device__ __forceinline__ nx_across(const nx_lines &m) {
    static_assert(threads == 2 * lines, "each thread has some");
    const int line = threadIdx.x / 128 * 64 + threadIdx.x % 8 * 8,
              last = nx_at_most(m.lines, lines) - 8, own = even && line > last ? last : line;
    n = nx_at_most(m.lines, lines) - line;
    distance = m.distance;
    at = m.at + number() * distance + own;
    place = nx_place(line, number() / 16) + number() % 16;
  }
  __device__ __forceinline__ void start(nx_i64 left, nx_u8 *, int) {
    const int some = nx_at_most(left, NX_DEPTH) - number();
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const nx_u8 *from = at + i * distance;
      if (even) {
        const uint2 x = i < some ? *(const uint2 *)from : make_uint2(0, 0);
        kept[2 * i] = x.x, kept[2 * i + 1] = x.y;
      } else {
        kept[2 * i] = nx_odd_word(from, i < some ? n : 0);
        kept[2 * i + 1] = nx_odd_word(from + 4, i < some ? n - 4 : 0);
      }
    }
    at += NX_DEPTH * distance;
  }
  /* The places of a thread's lines, of which the first is a multiple of 8, differ by bits. */
  __device__ __forceinline__ void finish(nx_u8 *shared, int to) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const nx_u32 a = kept[i], b = kept[2 + i], c = kept[4 + i], d = kept[6 + i];
      const nx_u32 ab = __byte_perm(a, b, 0x5140), cd = __byte_perm(c, d, 0x5140),
                   AB = __byte_perm(a, b, 0x7362), CD = __byte_perm(c, d, 0x7362);
      const nx_u32 words[] = {__byte_perm(ab, cd, 0x5410), __byte_perm(ab, cd, 0x7632),
                              __byte_perm(AB, CD, 0x5410), __byte_perm(AB, CD, 0x7632)};
#pragma unroll
      for (int j = 0; j < 4; j++) {
        const int line = 4 * i + j;
        *(nx_u32 *)(shared + (to + place ^ line * NX_DEPTH ^ line / 2 * 16)) = words[j];
      }
    }
  }
};
template <bool along, int lines, int threads, bool even> struct nx_bringing {
  typedef nx_along<lines, threads, even> type;
};
template <int lines, int threads, bool even> struct nx_bringing<false, lines, threads, even> {
  typedef nx_across<lines, threads, even> type;
};

/* A product c = a b of `m` x `n` numbers for each index of two axes of a batch, of which `inner`
 * is the extent of the second; steps: bytes along these axes in a, then in b; 0: it is repeated.
 * The inner extent is divided into `shares` of `share` numbers, which are added to c, if there are
 * several; c is 0 then. */
struct nx_byte_product {
  nx_i64 m, n, k, a_step[2], b_step[2], inner, share;
  nx_u32 shares, row_tiles, column_tiles, tiles; /* tiles: of all shares of the batch */
};

/* Tiles of eight rows follow each other column by column: they have most of A and B in common. */
struct nx_tile {
  nx_u32 row, column, share;
  nx_i64 batch;
  __device__ __forceinline__ nx_tile(const nx_byte_product &p, nx_u32 number) {
    const nx_u32 all = p.row_tiles * p.column_tiles, group = 8 * p.column_tiles;
    const nx_u32 others = number / all;
    number %= all;
    const nx_u32 first = number / group * 8, left = p.row_tiles - first, rows = left < 8 ? left : 8;
    row = first + number % group % rows;
    column = number % group / rows;
    share = others % p.shares;
    batch = others / p.shares;
  }
};

template <int rows, int columns>
NX_INLINE void nx_store_sums(int *c, const nx_byte_product &p, nx_i64 row, nx_i64 column,
                             const int (&sums)[rows][columns][4]) {
#pragma unroll
  for (int i = 0; i < rows; i++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      if (row + 16 * i + 8 * h >= p.m) continue;
      int *at = c + (row + 16 * i + 8 * h) * p.n + column;
#pragma unroll
      for (int j = 0; j < columns; j++) {
        const int x = sums[i][j][2 * h], y = sums[i][j][2 * h + 1];
        const nx_i64 left = p.n - column - 8 * j;
        if (p.shares > 1) {
          if (left > 0) atomicAdd(at + 8 * j, x);
          if (left > 1) atomicAdd(at + 8 * j + 1, y);
        } else if (left > 1 && p.n % 2 == 0) {
          *(uint2 *)(at + 8 * j) = make_uint2((nx_u32)x, (nx_u32)y);
        } else {
          if (left > 0) at[8 * j] = x;
          if (left > 1) at[8 * j + 1] = y;
        }
      }
    }
}

/* Warps: row_warps x column_warps of them; a warp has row_parts x 16 rows, and 32 columns. */
template <class A, class B, bool a_along, bool b_along, bool even, int row_warps, int column_warps,
          int row_parts>
NX_INLINE void nx_multiply_tile(const nx_u8 *a, const nx_u8 *b, int *c, const nx_byte_product &p,
                                const nx_tile &tile, nx_u8 *shared) {
  const int rows = row_warps * row_parts * 16, columns = column_warps * 32,
            threads = row_warps * column_warps * 32, step = (rows + columns) * NX_DEPTH;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int own_row = warp / column_warps * row_parts * 16, own_column = warp % column_warps * 32;
  const nx_i64 row = (nx_i64)tile.row * rows, column = (nx_i64)tile.column * columns,
               outer = tile.batch / p.inner, inner = tile.batch % p.inner;
  const nx_i64 begin = tile.share * p.share,
               length = p.k - begin < p.share ? p.k - begin : p.share;
  const nx_lines left = {a + outer * p.a_step[0] + inner * p.a_step[1] +
                             (a_along ? row * p.k + begin : begin * p.m + row),
                         p.m - row, a_along ? p.k : p.m},
                 right = {b + outer * p.b_step[0] + inner * p.b_step[1] +
                              (b_along ? column * p.k + begin : begin * p.n + column),
                          p.n - column, b_along ? p.k : p.n};
  typename nx_bringing<a_along, rows, threads, even>::type bring_a(left);
  typename nx_bringing<b_along, columns, threads, even>::type bring_b(right);
  const int a_place = nx_place(own_row + lane % 16, lane / 16),
            b_place = rows * NX_DEPTH +
                      nx_place(own_column + lane / 16 * 8 + lane % 8, lane / 8 % 2);
  int sums[row_parts][4][4] = {};
#pragma unroll
  for (int i = 0; i < NX_STEPS - 1; i++) {
    bring_a.start(length - i * NX_DEPTH, shared, i * step);
    bring_b.start(length - i * NX_DEPTH, shared, i * step + rows * NX_DEPTH);
    nx_copy_group();
    bring_a.finish(shared, i * step);
    bring_b.finish(shared, i * step + rows * NX_DEPTH);
  }
  int now = 0, next = (NX_STEPS - 1) * step;
  for (nx_i64 more = length; more > 0; more -= NX_DEPTH) {
    nx_copy_wait<NX_STEPS - 2>();
    __syncthreads();
    bring_a.start(more - (NX_STEPS - 1) * NX_DEPTH, shared, next);
    bring_b.start(more - (NX_STEPS - 1) * NX_DEPTH, shared, next + rows * NX_DEPTH);
    nx_copy_group();
#pragma unroll
    for (int part = 0; part < NX_DEPTH / 32; part++) {
      nx_u32 x[row_parts][4], y[2][4];
#pragma unroll
      for (int i = 0; i < row_parts; i++)
        nx_load_rows(x[i], shared + nx_place_from(now + a_place, i, part));
#pragma unroll
      for (int j = 0; j < 2; j++)
        nx_load_rows(y[j], shared + nx_place_from(now + b_place, j, part));
#pragma unroll
      for (int i = 0; i < row_parts; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
          nx_tensor<A, B>::multiply(sums[i][j], x[i], y[j / 2] + j % 2 * 2);
    }
    bring_a.finish(shared, next);
    bring_b.finish(shared, next + rows * NX_DEPTH);
    now = now + step == NX_STEPS * step ? 0 : now + step;
    next = next + step == NX_STEPS * step ? 0 : next + step;
  }
  nx_copy_wait<0>();
  nx_store_sums<row_parts, 4>(c + tile.batch * p.m * p.n, p, row + own_row + lane / 4,
                              column + own_column + lane % 4 * 2, sums);
}

template <class A, class B, bool a_along, bool b_along, bool even, int row_warps, int column_warps,
          int row_parts>
NX_INLINE void nx_multiply_bytes(const nx_u8 *a, const nx_u8 *b, int *c, const nx_byte_product &p,
                                 nx_u8 *shared) {
#pragma unroll 1
  for (nx_u32 number = blockIdx.x; number < p.tiles; number += gridDim.x) {
    const nx_tile tile(p, number);
    nx_multiply_tile<A, B, a_along, b_along, even, row_warps, column_warps, row_parts>(
        a, b, c, p, tile, shared);
    __syncthreads();
  }
}

/* Exchanges the last two axes of matrices of bytes: `lines` x `length` in memory become `length` x
 * `lines`, both multiples of 16. A block of 256 threads has 64 x 128 of them. */
NX_INLINE void nx_turn_bytes(const nx_u8 *from, nx_u8 *to, nx_i64 lines, nx_i64 length,
                             nx_u32 line_tiles, nx_u32 matrix_tiles, nx_u32 tiles, nx_u8 *shared) {
#pragma unroll 1
  for (nx_u32 number = blockIdx.x; number < tiles; number += gridDim.x) {
    const nx_u32 tile = number % matrix_tiles;
    const nx_i64 batch = number / matrix_tiles * lines * length,
                 line = (nx_i64)(tile % line_tiles) * NX_DEPTH,
                 column = (nx_i64)(tile / line_tiles) * 128;
    const nx_lines m = {from + batch + line * length + column, length - column, length};
    nx_across<128, 256, true> bring(m);
    bring.start(lines - line, shared, 0);
    bring.finish(shared, 0);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int piece = i * 256 + threadIdx.x, own = piece / 4, part = piece % 4;
      if (column + own < length && line + 16 * part < lines)
        *(uint4 *)(to + batch + (column + own) * lines + line + 16 * part) =
            *(const uint4 *)(shared + nx_place(own, part));
    }
    __syncthreads();
  }
}
