/* SPDX-License-Identifier: ISC */
/* Products of the windows of images with weights: convolutions whose windows are never in memory.
 * Of f16 and bf16 on tensor cores, of f32 in window_floats.cuh. Comes after mma.cuh.
 *
 * A row of the product is a place of the result, and the inner extent goes over the elements of a
 * window (taps) and over features: features last where the image has them last, else features
 * first. A block makes 128 rows of up to `columns` features of the result. For 64 bytes of the
 * inner extent at a time it brings to shared memory what its rows read of the image, zeros where
 * that is outside, and as many of the weights, by copies that go on while earlier numbers are
 * multiplied. Sums are in order. Features may be in groups: each has its part of the image's, of
 * the weights and of the result's.
 *
 * On tensor cores images have their features last, by multiples of 8, so that 16 bytes are of one
 * tap, and a block has 8 warps. Tiles of 256 columns read a quarter less of the second-level cache
 * for a product than those of 128; a warp has 64 x 64 sums of them, and there is one block on a
 * multiprocessor. */
enum { NX_WINDOW_ROWS = 128, NX_WINDOW_STEPS = 4 };

/* An axis of images along which windows lie: its extent; of windows how many there are, how far
 * apart, their taps, how far these are apart, and how many zeros come before the image. */
struct nx_window_axis {
  int extent, count, step, taps, dilation, before;
};
struct nx_window_product {
  nx_window_axis y, x;
  int features, columns;           /* of a group: of the image, and of the result */
  int groups, rows, depth;         /* of a group's product: its rows, and the inner extent */
  int wide;                        /* whether the result can be stored by words */
  nx_u32 row_tiles, column_tiles, tiles;
};

/* A number that the compiler takes for another one: what follows from it is found again, and is in
 * no register meanwhile. */
NX_INLINE nx_u32 nx_again(nx_u32 number) {
#ifndef NX_ON_HOST
  asm volatile("mov.u32 %0, %0;" : "+r"(number));
#endif
  return number;
}

/* What a block makes: the first of its rows, and of its columns in its group. */
struct nx_window_tile {
  int row, column, group;
  __device__ __forceinline__ nx_window_tile(const nx_window_product &p, nx_u32 number,
                                            int columns) {
    row = (int)(number % p.row_tiles) * NX_WINDOW_ROWS;
    number /= p.row_tiles;
    column = (int)(number % p.column_tiles) * columns;
    group = (int)(number / p.column_tiles);
  }
};

/* Where the places of a row begin in the image, maybe outside. */
struct nx_window_place_of {
  int y, x;
  nx_i64 number;
  __device__ __forceinline__ nx_window_place_of(const nx_window_product &p, int row) {
    const int place = row < p.rows ? row : 0, others = place / p.x.count;
    x = place % p.x.count * p.x.step - p.x.before;
    y = row < p.rows ? others % p.y.count * p.y.step - p.y.before : -(1 << 30);
    number = others / p.y.count;
  }
  __device__ __forceinline__ int line() const { return y == -(1 << 30) ? 0 : y; }
};

/* Where a part of 16 bytes of a line of 64 is in shared memory: neighbouring lines have the same
 * part in different banks. */
NX_INLINE int nx_window_place(int line, int part) {
  return line * 64 + ((part ^ line >> 1) & 3) * 16;
}

/* What a thread brings of each step of an image with its features last: a part of one line of 64
 * bytes, and of others, `apart` behind each other. Lines are rows of the product. */
template <class T, int lines, int apart> struct nx_window_lines {
  enum { part = 16 / (int)sizeof(T), depth = 4 * part };
  const T *at[lines]; /* where the first tap is */
  int y[lines], x[lines];
  int feature, tap_y, tap_x;

  __device__ __forceinline__ void skip_taps(const nx_window_product &p) {
#pragma unroll 1
    for (; feature >= p.features; feature -= p.features)
      if (++tap_x == p.x.taps) tap_x = 0, tap_y++;
  }
  __device__ __forceinline__ nx_window_lines(const T *image, const nx_window_product &p,
                                             int first) {
#pragma unroll
    for (int i = 0; i < lines; i++) {
      const nx_window_place_of own(p, first + i * apart);
      y[i] = own.y, x[i] = own.x;
      at[i] = image + ((own.number * p.y.extent + own.line()) * p.x.extent + own.x) *
                          (nx_i64)(p.features * p.groups);
    }
    feature = threadIdx.x % 4 * part, tap_y = tap_x = 0;
    skip_taps(p);
  }
  /* more: whether the part is within the inner extent; none: an address that can be read */
  __device__ __forceinline__ void start(const nx_window_product &p, bool more, nx_u8 *to,
                                        int lines_apart, const T *none) {
    const int down = tap_y * p.y.dilation, across = tap_x * p.x.dilation;
    const nx_i64 off = ((nx_i64)down * p.x.extent + across) * (p.features * p.groups) + feature;
#pragma unroll
    for (int i = 0; i < lines; i++) {
      const bool inside = more && (nx_u32)(y[i] + down) < (nx_u32)p.y.extent &&
                          (nx_u32)(x[i] + across) < (nx_u32)p.x.extent;
      nx_copy_start(to + i * lines_apart * 64, inside ? at[i] + off : none, inside ? 16 : 0);
    }
    feature += depth;
    skip_taps(p);
  }
};

NX_INLINE nx_u32 nx_round_pair(nx_bf16, float a, float b) { return nx_floats_to_bf16s(a, b); }
NX_INLINE nx_u32 nx_round_pair(nx_f16, float a, float b) { return nx_floats_to_halves(a, b); }

/* A warp has 16 `high` rows and 8 `parts` columns. */
template <class T, int high, int parts>
NX_INLINE void nx_store_window_rows(nx_u16 *y, const nx_window_product &p, int row, int column,
                                    const float (&sums)[high][parts][4]) {
  const nx_i64 pitch = (nx_i64)p.groups * p.columns;
#pragma unroll
  for (int i = 0; i < high; i++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int own = row + 16 * i + 8 * h;
      if (own >= p.rows) continue;
#pragma unroll
      for (int j = 0; j < parts; j++)
        if (column + 8 * j < p.columns)
          *(nx_u32 *)(y + own * pitch + column + 8 * j) =
              nx_round_pair(T(), sums[i][j][2 * h], sums[i][j][2 * h + 1]);
    }
}

/* Where a row of the product is in a result with its features first, of the first of them. */
NX_INLINE nx_i64 nx_window_result(const nx_window_product &p, int row, int places) {
  const int number = row / places;
  return (nx_i64)number * p.groups * p.columns * places + (row - number * places);
}

/* That, for rows behind each other. */
struct nx_window_results {
  nx_i64 off;
  int place;
  __device__ __forceinline__ nx_window_results(const nx_window_product &p, int row, int places)
      : off(nx_window_result(p, row, places)), place(row % places) {}
  __device__ __forceinline__ void next(const nx_window_product &p, int apart, int places) {
    place += apart, off += apart;
#pragma unroll 1
    for (; place >= places; place -= places) off += (nx_i64)(p.groups * p.columns - 1) * places;
  }
};

/* A warp has 16 `high` features of the result, or fewer, and 8 `parts` rows. */
template <class T, int high, int parts>
NX_INLINE void nx_store_window_columns(nx_u16 *y, const nx_window_product &p, int row, int column,
                                       const float (&sums)[high][parts][4]) {
  const int places = p.y.count * p.x.count;
  nx_window_results at(p, row, places);
  y += (nx_i64)column * places;
#pragma unroll
  for (int j = 0; j < parts; j++, at.next(p, 8, places)) {
    if (row + 8 * j >= p.rows) break;
    nx_i64 after = at.off + 1;
    if (at.place + 1 == places) after += (nx_i64)(p.groups * p.columns - 1) * places;
#pragma unroll
    for (int i = 0; i < 2 * high; i++) {
      const nx_u32 pair =
          nx_round_pair(T(), sums[i / 2][j][i % 2 * 2], sums[i / 2][j][i % 2 * 2 + 1]);
      nx_u16 *const to = y + (nx_i64)(8 * i) * places;
      if (column + 8 * i >= p.columns) break;
      if (p.wide) {
        *(nx_u32 *)(to + at.off) = pair;
        continue;
      }
      to[at.off] = (nx_u16)pair;
      if (row + 8 * j + 1 < p.rows) to[after] = (nx_u16)(pair >> 16);
    }
  }
}

/* Of the two operands of a fragment's product, whose sums a thread has two of along the second, the
 * second is what neighbours are of in the result: the weights, or, `first`, the image. */
template <class T, int columns, bool first>
NX_INLINE void nx_multiply_window_tile(const nx_u16 *image, const nx_u16 *weights, nx_u16 *y,
                                       const nx_window_product &p, nx_u32 number,
                                       nx_u8 *shared) {
  const nx_window_tile t(p, number, columns);
  enum {
    depth = 32,
    lines = columns / 64,
    high = columns > 128 ? 4 : 2, /* of a warp: sixteens of the first operand */
    parts = columns > 128 ? 8 : columns / 16, /* and eights of the second */
    across = (first ? NX_WINDOW_ROWS : columns) / (8 * parts),
    rows = NX_WINDOW_ROWS * 64
  };
  const int step = rows + columns * 64, lane = threadIdx.x % 32, warp = threadIdx.x / 32,
            own_a = warp / across * (16 * high), own_b = warp % across * (8 * parts),
            line = threadIdx.x / 4,
            part = threadIdx.x % 4, place = nx_window_place(line, part), a_at = first ? rows : 0,
            b_at = first ? 0 : rows;
  nx_window_lines<nx_u16, 2, 64> bring(image + t.group * p.features, p, t.row + line);
  const nx_u16 *from =
      weights + ((nx_i64)t.group * p.columns + t.column + line) * p.depth + part * 8;
  int left = p.depth - part * 8; /* of the inner extent, from this part on */
  auto start = [&](int to) {
    bring.start(p, left > 0, shared + to + place, 64, image);
#pragma unroll
    for (int i = 0; i < lines; i++) {
      const bool inside = left > 0 && t.column + line + i * 64 < p.columns;
      nx_copy_start(shared + to + rows + place + i * 64 * 64,
                    inside ? from + (nx_i64)i * 64 * p.depth : weights, inside ? 16 : 0);
    }
    nx_copy_group();
    from += depth;
    left -= depth;
  };
  float sums[high][parts][4] = {};
#pragma unroll
  for (int i = 0; i < NX_WINDOW_STEPS - 1; i++) start(i * step);
  int now = 0, next = (NX_WINDOW_STEPS - 1) * step;
#pragma unroll 1
  for (int done = 0; done < p.depth; done += depth) {
    nx_copy_wait<NX_WINDOW_STEPS - 2>();
    __syncthreads();
    start(next);
#pragma unroll
    for (int half = 0; half < 2; half++) {
      nx_u32 a[high][4], b[parts / 2][4];
#pragma unroll
      for (int i = 0; i < high; i++)
        nx_load_rows(a[i], shared + now + a_at + nx_window_place(own_a + i * 16 + lane % 16,
                                                                 half * 2 + lane / 16));
#pragma unroll
      for (int j = 0; j < parts / 2; j++)
        nx_load_rows(b[j], shared + now + b_at +
                               nx_window_place(own_b + j * 16 + lane / 16 * 8 + lane % 8,
                                               half * 2 + lane / 8 % 2));
#pragma unroll
      for (int i = 0; i < high; i++)
#pragma unroll
        for (int j = 0; j < parts; j++)
          nx_tensor<T, T>::multiply(sums[i][j], a[i], b[j / 2] + j % 2 * 2);
    }
    now = now + step == NX_WINDOW_STEPS * step ? 0 : now + step;
    next = next + step == NX_WINDOW_STEPS * step ? 0 : next + step;
  }
  nx_copy_wait<0>();
  const nx_window_tile to = first ? nx_window_tile(p, nx_again(number), columns) : t;
  y += (nx_i64)to.group * p.columns * (first ? p.y.count * p.x.count : 1);
  if (first)
    nx_store_window_columns<T, high, parts>(y, p, to.row + own_b + lane % 4 * 2,
                                      to.column + own_a + lane / 4, sums);
  else
    nx_store_window_rows<T, high, parts>(y, p, to.row + own_a + lane / 4,
                                   to.column + own_b + lane % 4 * 2, sums);
}

template <class T, int columns, bool first>
NX_INLINE void nx_multiply_windows(const nx_u16 *image, const nx_u16 *weights, nx_u16 *y,
                                   const nx_window_product &p, nx_u8 *shared) {
#pragma unroll 1
  for (nx_u32 number = blockIdx.x; number < p.tiles; number += gridDim.x) {
    nx_multiply_window_tile<T, columns, first>(image, weights, y, p, number, shared);
    __syncthreads();
  }
}

/* ---- f32
 *
 * Each sum is one chain of fma in the order of the inner extent, as the contract says, so all of
 * its numbers are a thread's. A block has 4 warps, and a thread 8 rows and 8 columns: two times
 * four neighbours of each, for stores of 16 bytes. What is brought of row or column 4q + j of the
 * tile is in a line of shared memory whose number has j first, so that threads beside each other
 * read lines beside each other.
 *
 * Behind the inner extent the image is +0 and weights are -0: a product -0 changes no sum, not even
 * one that is -0. */
enum {
  NX_FLOAT_COLUMNS = 64,
  NX_FLOAT_DEPTH = 16,
  NX_FLOAT_ROWS = NX_WINDOW_ROWS * 64, /* bytes of the image in a step */
  NX_FLOAT_STEP = NX_FLOAT_ROWS + NX_FLOAT_COLUMNS * 64,
  NX_FLOAT_MINUS = 1u << 31 /* -0 */
};

/* What an element of the inner extent reads of an image with its features first: how many bytes
 * from where the row begins, and which bit of the row's says whether that is inside. */
struct alignas(8) nx_window_tap {
  nx_u32 off, bit;
};
NX_INLINE nx_window_tap nx_find_tap(const nx_window_product &p, int k) {
  const nx_u32 taps = (nx_u32)(p.y.taps * p.x.taps), feature = (nx_u32)k / taps,
               tap = (nx_u32)k - feature * taps, down = tap / (nx_u32)p.x.taps,
               across = tap - down * (nx_u32)p.x.taps;
  return {4 * ((feature * (nx_u32)p.y.extent + down * (nx_u32)p.y.dilation) * (nx_u32)p.x.extent +
               across * (nx_u32)p.x.dilation),
          k < p.depth ? tap : 61};
}

/* What a thread brings of an image. first: features are first; all of one row, 4 bytes at once. A
 * bit for each tap, from bit 2 on, says whether it is inside of the image. What the taps of a step
 * are is found in the step before. */
template <bool first> struct nx_float_image {
  const float *at;
  nx_u64 inside;
  nx_window_tap *taps;

  __device__ __forceinline__ nx_float_image(const float *image, const nx_window_product &p,
                                            const nx_window_tile &t, nx_u8 *shared)
      : taps((nx_window_tap *)shared) {
    const nx_window_place_of own(p, t.row + (int)threadIdx.x);
    const nx_i64 plane = (nx_i64)p.y.extent * p.x.extent;
    at = image + (own.number * p.groups + t.group) * p.features * plane +
         (nx_i64)own.line() * p.x.extent + own.x;
    inside = 0;
    int bit = 2;
#pragma unroll 1
    for (int i = 0; i < p.y.taps; i++)
#pragma unroll 1
      for (int j = 0; j < p.x.taps; j++, bit++)
        inside |= (nx_u64)((nx_u32)(own.y + i * p.y.dilation) < (nx_u32)p.y.extent &&
                           (nx_u32)(own.x + j * p.x.dilation) < (nx_u32)p.x.extent)
                  << bit;
    find(p, 0);
  }
  __device__ __forceinline__ void find(const nx_window_product &p, int step) {
    if (threadIdx.x < NX_FLOAT_DEPTH)
      taps[step % 2 * NX_FLOAT_DEPTH + threadIdx.x] =
          nx_find_tap(p, step * NX_FLOAT_DEPTH + threadIdx.x);
  }
  __device__ __forceinline__ void start(const nx_window_product &p, int step, bool, nx_u8 *to) {
    const nx_window_tap *const own = taps + step % 2 * NX_FLOAT_DEPTH;
    to += threadIdx.x * 4;
#pragma unroll
    for (int k = 0; k < NX_FLOAT_DEPTH; k += 2) {
      const uint4 two = *(const uint4 *)(own + k);
      nx_copy_start_word(to + k * NX_WINDOW_ROWS * 4, (const nx_u8 *)at + two.x,
                         (int)(inside >> two.y) & 4);
      nx_copy_start_word(to + (k + 1) * NX_WINDOW_ROWS * 4, (const nx_u8 *)at + two.z,
                         (int)(inside >> two.w) & 4);
    }
    find(p, step + 1);
  }
};

/* Features last: 16 bytes of four rows. Where rows begin is in shared memory, as that would take 16
 * registers. */
struct alignas(16) nx_float_line {
  nx_i64 off;
  int y, x;
};
template <> struct nx_float_image<false> {
  const float *image;
  const nx_float_line *lines;
  int feature, tap_y, tap_x;

  __device__ __forceinline__ void skip_taps(const nx_window_product &p) {
#pragma unroll 1
    for (; feature >= p.features; feature -= p.features)
      if (++tap_x == p.x.taps) tap_x = 0, tap_y++;
  }
  __device__ __forceinline__ nx_float_image(const float *whole, const nx_window_product &p,
                                            const nx_window_tile &t, nx_u8 *shared)
      : image(whole + (nx_i64)t.group * p.features),
        lines((nx_float_line *)shared + threadIdx.x / 4) {
    const nx_window_place_of own(p, t.row + (int)threadIdx.x);
    const nx_float_line line = {
        ((own.number * p.y.extent + own.line()) * p.x.extent + own.x) * (p.features * p.groups),
        own.y, own.x};
    ((nx_float_line *)shared)[threadIdx.x] = line;
    feature = threadIdx.x % 4 * 4, tap_y = tap_x = 0;
    skip_taps(p);
  }
  __device__ __forceinline__ void start(const nx_window_product &p, int, bool more, nx_u8 *to) {
    const int down = tap_y * p.y.dilation, across = tap_x * p.x.dilation,
              line = threadIdx.x / 4;
    const float *const from =
        image + ((nx_i64)down * p.x.extent + across) * (p.features * p.groups) + feature;
    to += nx_window_place(line % 4 * 32 + line / 4, threadIdx.x % 4);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const nx_float_line own = lines[i * 32];
      const bool inside = more && (nx_u32)(own.y + down) < (nx_u32)p.y.extent &&
                          (nx_u32)(own.x + across) < (nx_u32)p.x.extent;
      nx_copy_start(to + i * 512, inside ? from + own.off : image, inside ? 16 : 0);
    }
    feature += NX_FLOAT_DEPTH;
    skip_taps(p);
  }
};

/* What a thread brings of the weights: 16 bytes of two columns, if they lie so (`whole`), else 4
 * bytes of eight. */
template <bool whole> struct nx_float_weights {
  enum { each = whole ? 4 : 1, threads = NX_FLOAT_DEPTH / each, lines = 128 / threads };
  const float *from, *none;
  int k, line, columns; /* of the inner extent; columns that are left from the line on */

  __device__ __forceinline__ nx_float_weights(const float *weights, const nx_window_product &p,
                                              const nx_window_tile &t) {
    line = threadIdx.x / threads, k = threadIdx.x % threads * each;
    columns = p.columns - t.column - line;
    from = weights + ((nx_i64)t.group * p.columns + t.column + line) * p.depth + k;
    none = weights;
  }
  __device__ __forceinline__ void start(const nx_window_product &p, nx_u8 *to) {
    const int part = threadIdx.x % threads * each / 4, word = threadIdx.x % threads * each % 4 * 4;
#pragma unroll
    for (int i = 0; i < NX_FLOAT_COLUMNS / lines; i++) {
      const int own = line + i * lines;
      nx_u8 *const at = to + nx_window_place(own % 4 * 16 + own / 4, part) + word;
      const bool inside = i * lines < columns;
      const float *const source = inside ? from + (nx_i64)i * lines * p.depth : none;
      if (k < p.depth) {
        if (whole) nx_copy_start(at, source, inside ? 16 : 0);
        else nx_copy_start_word(at, source, inside ? 4 : 0);
      } else if (whole) {
        *(uint4 *)at = make_uint4(NX_FLOAT_MINUS, NX_FLOAT_MINUS, NX_FLOAT_MINUS, NX_FLOAT_MINUS);
      } else {
        *(nx_u32 *)at = NX_FLOAT_MINUS;
      }
    }
    from += NX_FLOAT_DEPTH;
    k += NX_FLOAT_DEPTH;
  }
};

NX_INLINE void nx_load_four(float (&to)[4], const nx_u8 *at) {
  const float4 v = *(const float4 *)at;
  to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}

/* Adds what a step brought. a: where a thread's first row is, b: its first column. */
template <bool first>
NX_INLINE void nx_multiply_floats(float (&sums)[8][8], const nx_u8 *shared, int a, int b) {
#pragma unroll 2
  for (int part = 0; part < 4; part++) {
    const nx_u8 *const rows = shared + (first ? a + part * 2048 : a ^ part * 16),
                *const columns = shared + (b ^ part * 16);
    float y[8][4];
#pragma unroll
    for (int j = 0; j < 8; j++) nx_load_four(y[j], columns + j % 4 * 1024 + j / 4 * 512);
#pragma unroll
    for (int i = 0; i < (first ? 4 : 8); i++) {
      float x[2][4];
      if (first) { /* four rows of one number of the inner extent, and four more */
        nx_load_four(x[0], rows + i * 512);
        nx_load_four(x[1], rows + i * 512 + 256);
      } else { /* four numbers of a row */
        nx_load_four(x[0], rows + i % 4 * 2048 + i / 4 * 1024);
      }
#pragma unroll
      for (int k = 0; k < (first ? 8 : 4); k++)
#pragma unroll
        for (int j = 0; j < 8; j++) {
          float &sum = sums[first ? k : i][j];
          sum = nx_fma(x[first ? k / 4 : 0][k % 4], y[j][first ? i : k], sum);
        }
    }
  }
}

/* 16 bytes at once, which the compiler does not make of four stores everywhere. */
NX_INLINE void nx_store_four(float *to, float a, float b, float c, float d) {
#ifdef NX_ON_HOST
  *(float4 *)to = make_float4(a, b, c, d);
#else
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(to), "f"(a), "f"(b), "f"(c), "f"(d)
               : "memory");
#endif
}

NX_INLINE void nx_store_float_rows(float *y, const nx_window_product &p, int row, int column,
                                   const float (&sums)[8][8]) {
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const int own = row + i % 4 + i / 4 * 64;
    float *const to = y + own * ((nx_i64)p.groups * p.columns) + column;
    if (own >= p.rows) continue;
#pragma unroll
    for (int j = 0; j < 8; j += 4) {
      const int off = j / 4 * 32;
      if (p.wide && column + off < p.columns)
        nx_store_four(to + off, sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
#pragma unroll
      for (int k = 0; k < 4; k++)
        if (!p.wide && column + off + k < p.columns) to[off + k] = sums[i][j + k];
    }
  }
}

/* Where four neighbouring rows are 16 bytes of the result. */
NX_INLINE void nx_store_float_words(float *y, const nx_window_product &p, int row, int column,
                                    const float (&sums)[8][8]) {
  const int places = p.y.count * p.x.count;
  y += (nx_i64)column * places;
#pragma unroll
  for (int i = 0; i < 8; i += 4) {
    if (row + i * 16 >= p.rows) continue;
    float *const to = y + nx_window_result(p, row + i * 16, places);
#pragma unroll
    for (int j = 0; j < 8; j++) {
      const int off = j % 4 + j / 4 * 32;
      if (column + off < p.columns)
        nx_store_four(to + (nx_i64)off * places, sums[i][j], sums[i + 1][j], sums[i + 2][j],
                      sums[i + 3][j]);
    }
  }
}
NX_INLINE void nx_store_float_columns(float *y, const nx_window_product &p, int row, int column,
                                      const float (&sums)[8][8]) {
  const int places = p.y.count * p.x.count;
  y += (nx_i64)column * places;
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const int own = row + i % 4 + i / 4 * 64;
    if (own >= p.rows) continue;
    float *const to = y + nx_window_result(p, own, places);
#pragma unroll
    for (int j = 0; j < 8; j++) {
      const int off = j % 4 + j / 4 * 32;
      if (column + off < p.columns) to[(nx_i64)off * places] = sums[i][j];
    }
  }
}

template <bool image_first, bool first, bool whole>
NX_INLINE void nx_multiply_float_tile(const float *image, const float *weights, float *y,
                                      const nx_window_product &p, nx_u32 number,
                                      nx_u8 *shared) {
  const nx_window_tile t(p, number, NX_FLOAT_COLUMNS);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = lane % 8 + warp % 2 * 8,
            column = lane / 8 + warp / 2 * 4,
            a = image_first ? row * 16 : nx_window_place(row, 0),
            b = NX_FLOAT_ROWS + nx_window_place(column, 0);
  nx_float_image<image_first> bring(image, p, t, shared + NX_WINDOW_STEPS * NX_FLOAT_STEP);
  nx_float_weights<whole> bring_weights(weights, p, t);
  auto start = [&](int step, nx_u8 *to) {
    bring.start(p, step, bring_weights.k < p.depth, to);
    bring_weights.start(p, to + NX_FLOAT_ROWS);
    nx_copy_group();
  };
  float sums[8][8] = {};
#pragma unroll
  for (int i = 0; i < NX_WINDOW_STEPS - 1; i++) {
    if (image_first || i == 0) __syncthreads();
    start(i, shared + i * NX_FLOAT_STEP);
  }
  const int last = (NX_WINDOW_STEPS - 1) * NX_FLOAT_STEP;
  int now = 0;
#pragma unroll 1
  for (int step = 0; step * NX_FLOAT_DEPTH < p.depth; step++) {
    nx_copy_wait<NX_WINDOW_STEPS - 2>();
    __syncthreads();
    start(step + NX_WINDOW_STEPS - 1, shared + (now == 0 ? last : now - NX_FLOAT_STEP));
    nx_multiply_floats<image_first>(sums, shared + now, a, b);
    now = now == last ? 0 : now + NX_FLOAT_STEP;
  }
  nx_copy_wait<0>();
  const nx_window_tile to(p, nx_again(number), NX_FLOAT_COLUMNS);
  y += (nx_i64)to.group * p.columns * (first ? p.y.count * p.x.count : 1);
  if (first && p.wide) nx_store_float_words(y, p, to.row + row * 4, to.column + column * 4, sums);
  else if (first) nx_store_float_columns(y, p, to.row + row * 4, to.column + column * 4, sums);
  else nx_store_float_rows(y, p, to.row + row * 4, to.column + column * 4, sums);
}

template <bool image_first, bool first, bool whole>
NX_INLINE void nx_multiply_float_windows(const float *image, const float *weights, float *y,
                                         const nx_window_product &p, nx_u8 *shared) {
#pragma unroll 1
  for (nx_u32 number = blockIdx.x; number < p.tiles; number += gridDim.x) {
    nx_multiply_float_tile<image_first, first, whole>(image, weights, y, p, number, shared);
    __syncthreads();
  }
}
