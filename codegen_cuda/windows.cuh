/* SPDX-License-Identifier: ISC */
/* Products of the windows of images with weights, on tensor cores: convolutions whose windows are
 * never in memory. Comes after mma.cuh.
 *
 * An image has its features last; a row of the product is a place of the result, and the inner
 * extent goes over the elements of a window (taps), then over features. A block of 8 warps makes
 * 128 rows of up to `columns` features of the result. For 32 numbers of the inner extent at a time
 * it brings to shared memory what its rows read of the image, zeros where that is outside, and as
 * many of the weights, by copies of 16 bytes that go on while earlier numbers are multiplied.
 * Features are multiples of 8, so 16 bytes are of one tap. Sums are in order. */
enum { NX_WINDOW_ROWS = 128, NX_WINDOW_DEPTH = 32, NX_WINDOW_STEPS = 4 };

/* An axis of images along which windows lie: its extent; of windows how many there are, how far
 * apart, their taps, how far these are apart, and how many zeros come before the image. */
struct nx_window_axis {
  int extent, count, step, taps, dilation, before;
};
struct nx_window_product {
  nx_window_axis y, x;
  int features, columns;           /* of the image, and of the result */
  int rows, depth;                 /* of the product: its rows, and the inner extent */
  nx_u32 row_tiles, tiles;
};

/* Where a part of 16 bytes of a line of 64 is in shared memory: neighbouring lines have the same
 * part in different banks. */
NX_INLINE int nx_window_place(int line, int part) {
  return line * 64 + ((part ^ line >> 1) & 3) * 16;
}

/* What a thread brings of each step: a part of one line of 64, and of every 64th after it. Lines
 * are rows of the product: places of the result. */
struct nx_window_lines {
  enum { lines = NX_WINDOW_ROWS / 64 };
  const nx_u16 *at[lines]; /* where the first tap is, maybe outside of the image */
  int y[lines], x[lines];  /* of that */
  int feature, tap_y, tap_x;

  __device__ __forceinline__ void skip_taps(const nx_window_product &p) {
#pragma unroll 1
    for (; feature >= p.features; feature -= p.features)
      if (++tap_x == p.x.taps) tap_x = 0, tap_y++;
  }
  __device__ __forceinline__ nx_window_lines(const nx_u16 *image, const nx_window_product &p,
                                             int first) {
#pragma unroll
    for (int i = 0; i < lines; i++) {
      const int row = first + i * 64, place = row < p.rows ? row : 0, column = place % p.x.count,
                others = place / p.x.count, line = others % p.y.count;
      const nx_i64 number = others / p.y.count;
      y[i] = row < p.rows ? line * p.y.step - p.y.before : -(1 << 30); /* which is outside */
      x[i] = column * p.x.step - p.x.before;
      at[i] = image + ((number * p.y.extent + (line * p.y.step - p.y.before)) * p.x.extent + x[i]) *
                          p.features;
    }
    feature = threadIdx.x % 4 * 8, tap_y = tap_x = 0;
    skip_taps(p);
  }
  /* more: whether the part is within the inner extent; none: an address that can be read */
  __device__ __forceinline__ void start(const nx_window_product &p, bool more, nx_u8 *to,
                                        const nx_u16 *none) {
    const int down = tap_y * p.y.dilation, across = tap_x * p.x.dilation;
    const nx_i64 off = ((nx_i64)down * p.x.extent + across) * p.features + feature;
#pragma unroll
    for (int i = 0; i < lines; i++) {
      const bool inside = more && (nx_u32)(y[i] + down) < (nx_u32)p.y.extent &&
                          (nx_u32)(x[i] + across) < (nx_u32)p.x.extent;
      nx_copy_start(to + i * 64 * 64, inside ? at[i] + off : none, inside ? 16 : 0);
    }
    feature += NX_WINDOW_DEPTH;
    skip_taps(p);
  }
};

NX_INLINE nx_u32 nx_round_pair(nx_bf16, float a, float b) { return nx_floats_to_bf16s(a, b); }
NX_INLINE nx_u32 nx_round_pair(nx_f16, float a, float b) { return nx_floats_to_halves(a, b); }

/* A warp has 32 rows and half of the columns. */
template <class T, int parts>
NX_INLINE void nx_store_window_rows(nx_u16 *y, const nx_window_product &p, int row, int column,
                                    const float (&sums)[2][parts][4]) {
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int own = row + 16 * i + 8 * h;
      if (own >= p.rows) continue;
#pragma unroll
      for (int j = 0; j < parts; j++)
        if (column + 8 * j < p.columns)
          *(nx_u32 *)(y + (nx_i64)own * p.columns + column + 8 * j) =
              nx_round_pair(T(), sums[i][j][2 * h], sums[i][j][2 * h + 1]);
    }
}

template <class T, int columns>
NX_INLINE void nx_multiply_window_tile(const nx_u16 *image, const nx_u16 *weights, nx_u16 *y,
                                       const nx_window_product &p, int row, int column,
                                       nx_u8 *shared) {
  const int lines = columns / 64, parts = columns / 16, step = (NX_WINDOW_ROWS + columns) * 64;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, own_row = warp / 2 * 32,
            own_column = warp % 2 * (columns / 2), line = threadIdx.x / 4, part = threadIdx.x % 4,
            place = nx_window_place(line, part);
  nx_window_lines bring(image, p, row + line);
  const nx_u16 *from = weights + (nx_i64)(column + line) * p.depth + part * 8;
  int left = p.depth - part * 8; /* of the inner extent, from this part on */
  auto start = [&](int to) {
    bring.start(p, left > 0, shared + to + place, image);
#pragma unroll
    for (int i = 0; i < lines; i++) {
      const bool inside = left > 0 && column + line + i * 64 < p.columns;
      nx_copy_start(shared + to + NX_WINDOW_ROWS * 64 + place + i * 64 * 64,
                    inside ? from + (nx_i64)i * 64 * p.depth : weights, inside ? 16 : 0);
    }
    nx_copy_group();
    from += NX_WINDOW_DEPTH;
    left -= NX_WINDOW_DEPTH;
  };
  float sums[2][parts][4] = {};
#pragma unroll
  for (int i = 0; i < NX_WINDOW_STEPS - 1; i++) start(i * step);
  int now = 0, next = (NX_WINDOW_STEPS - 1) * step;
#pragma unroll 1
  for (int done = 0; done < p.depth; done += NX_WINDOW_DEPTH) {
    nx_copy_wait<NX_WINDOW_STEPS - 2>();
    __syncthreads();
    start(next);
#pragma unroll
    for (int half = 0; half < 2; half++) {
      nx_u32 a[2][4], b[parts / 2][4];
#pragma unroll
      for (int i = 0; i < 2; i++)
        nx_load_rows(a[i], shared + now + nx_window_place(own_row + i * 16 + lane % 16,
                                                          half * 2 + lane / 16));
#pragma unroll
      for (int j = 0; j < parts / 2; j++)
        nx_load_rows(b[j], shared + now + NX_WINDOW_ROWS * 64 +
                               nx_window_place(own_column + j * 16 + lane / 16 * 8 + lane % 8,
                                               half * 2 + lane / 8 % 2));
#pragma unroll
      for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < parts; j++)
          nx_tensor<T, T>::multiply(sums[i][j], a[i], b[j / 2] + j % 2 * 2);
    }
    now = now + step == NX_WINDOW_STEPS * step ? 0 : now + step;
    next = next + step == NX_WINDOW_STEPS * step ? 0 : next + step;
  }
  nx_copy_wait<0>();
  nx_store_window_rows<T, parts>(y, p, row + own_row + lane / 4,
                                 column + own_column + lane % 4 * 2, sums);
}

template <class T, int columns>
NX_INLINE void nx_multiply_windows(const nx_u16 *image, const nx_u16 *weights, nx_u16 *y,
                                   const nx_window_product &p, nx_u8 *shared) {
#pragma unroll 1
  for (nx_u32 number = blockIdx.x; number < p.tiles; number += gridDim.x) {
    nx_multiply_window_tile<T, columns>(image, weights, y, p,
                                        (int)(number % p.row_tiles) * NX_WINDOW_ROWS,
                                        (int)(number / p.row_tiles) * columns, shared);
    __syncthreads();
  }
}
