/* SPDX-License-Identifier: ISC */
/* Operations on dense arrays before and after calls of NVIDIA's libraries. T is float, double, or a
 * pair of them. Blocks have 256 threads; the grid may have any number of blocks. */
template <class R> struct alignas(2 * sizeof(R)) nx_pair {
  R re, im;
};
#define NX_EACH(i, n) \
  for (nx_i64 i = (nx_i64)blockIdx.x * 256 + threadIdx.x; i < (n); i += (nx_i64)gridDim.x * 256)


template <class R> NX_INLINE nx_pair<R> operator-(nx_pair<R> a) { return {-a.re, -a.im}; }
template <class R> NX_INLINE nx_pair<R> operator-(nx_pair<R> a, nx_pair<R> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class R> NX_INLINE nx_pair<R> operator*(nx_pair<R> a, nx_pair<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
/* Without overflow of the squares. */
template <class R> NX_INLINE nx_pair<R> operator/(nx_pair<R> a, nx_pair<R> b) {
  if (nx_abs(b.re) >= nx_abs(b.im)) {
    R ratio = b.im / b.re, size = b.re + b.im * ratio;
    return {(a.re + a.im * ratio) / size, (a.im - a.re * ratio) / size};
  }
  R ratio = b.re / b.im, size = b.re * ratio + b.im;
  return {(a.re * ratio + a.im) / size, (a.im * ratio - a.re) / size};
}
NX_INLINE float nx_re(float a) { return a; }
NX_INLINE double nx_re(double a) { return a; }
template <class R> NX_INLINE R nx_re(nx_pair<R> a) { return a.re; }
NX_INLINE float nx_im(float) { return 0; }
NX_INLINE double nx_im(double) { return 0; }
template <class R> NX_INLINE R nx_im(nx_pair<R> a) { return a.im; }
NX_INLINE float nx_conj(float a) { return a; }
NX_INLINE double nx_conj(double a) { return a; }
template <class R> NX_INLINE nx_pair<R> nx_conj(nx_pair<R> a) { return {a.re, -a.im}; }
template <class T> struct nx_making {
  NX_INLINE T of(double re, double) { return (T)re; }
};
template <class R> struct nx_making<nx_pair<R>> {
  NX_INLINE nx_pair<R> of(double re, double im) { return {(R)re, (R)im}; }
};
template <class T> NX_INLINE T nx_number(double re, double im = 0) {
  return nx_making<T>::of(re, im);
}
template <class T> NX_INLINE bool nx_finite(T a) {
  return nx_re(a) - nx_re(a) == 0 && nx_im(a) - nx_im(a) == 0;
}
template <class T> NX_INLINE bool nx_is_zero(T a) { return nx_re(a) == 0 && nx_im(a) == 0; }

/* ---- moves */

/* Each matrix, rows x columns, to columns x rows, or to its adjoint, a tile of 32 x 32 at a time.
 * Distances are from one matrix to the next. */
template <class T>
NX_INLINE void nx_transpose(bool adjoint, T *tile, const T *from, T *to, nx_i64 matrices,
                            nx_i64 rows, nx_i64 columns, nx_i64 from_distance, nx_i64 to_distance) {
  nx_i64 down = (rows + 31) / 32, across = (columns + 31) / 32;
  int column = threadIdx.x % 32, row = threadIdx.x / 32;
  for (nx_i64 t = blockIdx.x; t < matrices * down * across; t += gridDim.x) {
    nx_i64 i = t / across % down * 32, j = t % across * 32, matrix = t / across / down;
    const T *source = from + matrix * from_distance;
    T *target = to + matrix * to_distance;
    for (int k = row; k < 32; k += 8)
      if (i + k < rows && j + column < columns)
        tile[k * 33 + column] = source[(i + k) * columns + j + column];
    __syncthreads();
    for (int k = row; k < 32; k += 8)
      if (j + k < columns && i + column < rows) {
        T x = tile[column * 33 + k];
        target[(j + k) * rows + i + column] = adjoint ? nx_conj(x) : x;
      }
    __syncthreads();
  }
}
/* The first `each` of every `distance` elements. */
template <class T>
NX_INLINE void nx_part(const T *from, T *to, nx_i64 n, nx_i64 each, nx_i64 distance) {
  NX_EACH(i, n * each) to[i] = from[i / each * distance + i % each];
}
NX_INLINE void nx_to_double(const float *from, double *to, nx_i64 n) {
  NX_EACH(i, n) to[i] = (double)from[i];
}

/* ---- spectra of real numbers */

/* [outer][extent][inner] to [outer][n / 2 + 1][inner]: truncates, or appends zeros. Imaginary parts
 * that are zero in a spectrum of n real numbers are set to zero. */
template <class R>
NX_INLINE void nx_fit(const nx_pair<R> *from, nx_pair<R> *to, nx_i64 outer, nx_i64 extent,
                      nx_i64 inner, nx_i64 n) {
  nx_i64 half = n / 2 + 1;
  NX_EACH(i, outer * half * inner) {
    nx_i64 k = i / inner % half, o = i / inner / half;
    nx_pair<R> x = {0, 0};
    if (k < extent) x = from[(o * extent + k) * inner + i % inner];
    if (k == 0 || 2 * k == n) x.im = 0;
    to[i] = x;
  }
}
template <class R> NX_INLINE void nx_widen(const R *from, nx_pair<R> *to, nx_i64 n) {
  NX_EACH(i, n) {
    nx_pair<R> x = {from[i], 0};
    to[i] = x;
  }
}
template <class R> NX_INLINE void nx_real_part(const nx_pair<R> *from, R *to, nx_i64 n) {
  NX_EACH(i, n) to[i] = from[i].re;
}

/* ---- matrices in C order, one after the other; info has a number for each, which is not 0 if the
 * matrix is refused */

template <class T>
NX_INLINE void nx_flag(const T *a, int *info, nx_i64 n, nx_i64 rows, nx_i64 columns, int lower) {
  NX_EACH(i, n * rows * columns) {
    bool read = !lower || i % columns <= i / columns % rows;
    if (read && !nx_finite(a[i])) info[i / columns / rows] = 1;
  }
}
/* Copies matrices; those that info flags become zero. lower: copies the lower triangle only, with a
 * real diagonal. */
template <class T>
NX_INLINE void nx_take(const T *from, T *to, const int *info, nx_i64 n, nx_i64 rows, nx_i64 columns,
                       int lower) {
  NX_EACH(i, n * rows * columns) {
    nx_i64 row = i / columns % rows, column = i % columns;
    bool taken = info[i / columns / rows] == 0 && (!lower || column <= row);
    T x = from[i];
    to[i] = nx_number<T>(taken ? nx_re(x) : 0, taken && !(lower && column == row) ? nx_im(x) : 0);
  }
}
template <class T> NX_INLINE void nx_identity(T *to, nx_i64 n, nx_i64 rows, nx_i64 columns) {
  NX_EACH(i, n * rows * columns) to[i] = nx_number<T>(i / columns % rows == i % columns);
}
/* The addresses of matrices that lie one behind the other. */
template <class T> NX_INLINE void nx_addresses(const T *a, nx_u64 *to, nx_i64 each, nx_i64 n) {
  NX_EACH(i, n) to[i] = (nx_u64)(a + i * each);
}
/* Sets zeros above the diagonal, and flags matrices that are not Cholesky factors. */
template <class T> NX_INLINE void nx_lower(T *a, int *info, nx_i64 n, nx_i64 matrices) {
  NX_EACH(i, matrices * n * n) {
    nx_i64 row = i / n % n, column = i % n;
    if (column > row) a[i] = nx_number<T>(0);
    if (column == row && !(nx_re(a[i]) > 0 && nx_finite(a[i]))) info[i / n / n] = 1;
  }
}
template <class T>
NX_INLINE void nx_zero_pivots(const T *a, int *info, nx_i64 n, nx_i64 matrices) {
  NX_EACH(i, matrices * n)
    if (nx_is_zero(a[i / n * n * n + i % n * (n + 1)])) info[i / n] = 1;
}

/* All (i, k) of a square from row and column `first` on, 16 x 16 threads, without a division. */
#define NX_SQUARE(i, k, first, n)                                       \
  for (int i = (first) + (int)threadIdx.x / 16; i < (int)(n); i += 16) \
    for (int k = (first) + (int)threadIdx.x % 16; k < (int)(n); k += 16)

/* Cholesky factors, one block for each matrix: L of A = L L^H in the lower triangle. Stops at a
 * pivot that is not positive. */
template <class T> NX_INLINE void nx_cholesky(T *all, nx_i64 n, nx_i64 matrices) {
  for (nx_i64 m = blockIdx.x; m < matrices; m += gridDim.x) {
    T *a = all + m * n * n;
    for (nx_i64 j = 0; j < n; j++) {
      auto pivot = nx_re(a[j * n + j]);
      __syncthreads();
      if (!(pivot > 0)) break;
      T root = nx_number<T>(sqrt((double)pivot));
      if (threadIdx.x == 0) a[j * n + j] = root;
      for (nx_i64 i = j + 1 + threadIdx.x; i < n; i += 256) a[i * n + j] = a[i * n + j] / root;
      __syncthreads();
      NX_SQUARE(i, k, (int)j + 1, n)
        if (k <= i) a[i * n + k] = a[i * n + k] - a[i * n + j] * nx_conj(a[k * n + j]);
      __syncthreads();
    }
  }
}

/* LU factors, one block for each matrix: P A = L U; pivots count from 1. room: 256 numbers, then
 * 256 indices. */
template <class T>
NX_INLINE void nx_lu(double *room, T *all, nx_i64 *pivots, nx_i64 n, nx_i64 matrices) {
  int me = threadIdx.x, *places = (int *)(room + 256);
  for (nx_i64 m = blockIdx.x; m < matrices; m += gridDim.x) {
    T *a = all + m * n * n;
    for (nx_i64 j = 0; j < n; j++) {
      double most = -1;
      int place = (int)j;
      for (nx_i64 i = j + me; i < n; i += 256) {
        double size = (double)nx_abs(nx_re(a[i * n + j])) + (double)nx_abs(nx_im(a[i * n + j]));
        if (size > most) most = size, place = (int)i;
      }
      room[me] = most, places[me] = place;
      __syncthreads();
      for (int half = 128; half > 0; half /= 2) {
        bool other = me < half && (room[me + half] > room[me] ||
                                   (room[me + half] == room[me] && places[me + half] < places[me]));
        if (other) room[me] = room[me + half], places[me] = places[me + half];
        __syncthreads();
      }
      nx_i64 p = places[0];
      for (nx_i64 k = me; k < n && p != j; k += 256) {
        T x = a[j * n + k];
        a[j * n + k] = a[p * n + k], a[p * n + k] = x;
      }
      if (me == 0) pivots[m * n + j] = p + 1;
      __syncthreads();
      T pivot = a[j * n + j];
      if (nx_is_zero(pivot)) continue;
      for (nx_i64 i = j + 1 + me; i < n; i += 256) a[i * n + j] = a[i * n + j] / pivot;
      __syncthreads();
      NX_SQUARE(i, k, (int)j + 1, n) a[i * n + k] = a[i * n + k] - a[i * n + j] * a[j * n + k];
      __syncthreads();
    }
  }
}
/* Exchanges the rows of x, n x k, as the pivots say. */
template <class T>
NX_INLINE void nx_exchange_rows(T *x, const nx_i64 *pivots, nx_i64 n, nx_i64 k, nx_i64 matrices) {
  NX_EACH(i, matrices * k) {
    T *column = x + i / k * n * k + i % k;
    for (nx_i64 j = 0; j < n; j++) {
      nx_i64 p = pivots[i / k * n + j] - 1;
      T kept = column[j * k];
      column[j * k] = column[p * k], column[p * k] = kept;
    }
  }
}
/* x, n x k, becomes the solution y of A y = x for a triangular A; a block of threads solves 32
 * columns. upper: the matrix to invert is upper triangular; adjoint: it is the adjoint of the
 * matrix that is read. */
template <class T>
NX_INLINE void nx_substitute(const T *all, T *x, nx_i64 n, nx_i64 k, nx_i64 matrices, int upper,
                             int adjoint, int unit) {
  nx_i64 panels = (k + 31) / 32;
  for (nx_i64 task = blockIdx.x; task < matrices * panels; task += gridDim.x) {
    nx_i64 first = task % panels * 32, width = k - first < 32 ? k - first : 32;
    const T *a = all + task / panels * n * n;
    T *y = x + task / panels * n * k + first;
    for (nx_i64 step = 0; step < n; step++) {
      nx_i64 j = upper ? n - 1 - step : step, low = upper ? 0 : j + 1, end = upper ? j : n;
      if (!unit) {
        T pivot = adjoint ? nx_conj(a[j * n + j]) : a[j * n + j];
        for (nx_i64 c = threadIdx.x; c < width; c += 256) y[j * k + c] = y[j * k + c] / pivot;
        __syncthreads();
      }
      const int c = threadIdx.x % 32;
      for (nx_i64 i = low + threadIdx.x / 32; i < end && c < width; i += 8) {
        T factor = adjoint ? nx_conj(a[j * n + i]) : a[i * n + j];
        y[i * k + c] = y[i * k + c] - factor * y[j * k + c];
      }
      __syncthreads();
    }
  }
}

/* ---- matrices of up to 32 x 32: a warp for each, in shared memory, so that no step waits for the
 * block or for memory. Each element takes part in the same operations in the same order as above.
 * room: 32 x 33 elements for each warp that works, which are as many as fit in 33 KB. */

enum { NX_SMALL = 32, NX_SMALL_ROW = 33, NX_SMALL_TILE = 32 * 33 };

/* Between memory and a tile. */
template <class T> NX_INLINE void nx_small_load(T *tile, const T *a, int rows, int columns,
                                                nx_i64 distance) {
  for (int i = 0; i < rows; i++)
    if ((int)threadIdx.x % 32 < columns)
      tile[i * NX_SMALL_ROW + threadIdx.x % 32] = a[i * distance + threadIdx.x % 32];
  __syncwarp();
}
template <class T> NX_INLINE void nx_small_store(const T *tile, T *a, int rows, int columns,
                                                 nx_i64 distance) {
  __syncwarp();
  for (int i = 0; i < rows; i++)
    if ((int)threadIdx.x % 32 < columns)
      a[i * distance + threadIdx.x % 32] = tile[i * NX_SMALL_ROW + threadIdx.x % 32];
  __syncwarp();
}

template <class T>
NX_INLINE void nx_small_cholesky(T *room, T *all, nx_i64 matrices_n, nx_i64 matrices) {
  const int n = (int)matrices_n, warp = threadIdx.x / 32, me = threadIdx.x % 32,
            warps = 32 / (int)sizeof(T);
  if (warp >= warps) return;
  T *tile = room + warp * NX_SMALL_TILE, *row = tile + me * NX_SMALL_ROW;
  for (nx_i64 m = (nx_i64)blockIdx.x * warps + warp; m < matrices; m += (nx_i64)gridDim.x * warps) {
    T *a = all + m * n * n;
    nx_small_load(tile, a, n, n, n);
    for (int j = 0; j < n; j++) {
      auto pivot = nx_re(tile[j * NX_SMALL_ROW + j]);
      __syncwarp();
      if (!(pivot > 0)) break;
      T root = nx_number<T>(sqrt((double)pivot));
      if (me == j) row[j] = root;
      if (me > j && me < n) row[j] = row[j] / root;
      __syncwarp();
      const int end = me < n ? me : -1;
      const T own = row[j];
#pragma unroll 4
      for (int k = j + 1; k <= end; k++)
        row[k] = row[k] - own * nx_conj(tile[k * NX_SMALL_ROW + j]);
      __syncwarp();
    }
    nx_small_store(tile, a, n, n, n);
  }
}

template <class T>
NX_INLINE void nx_small_lu(T *room, T *all, nx_i64 *pivots, nx_i64 matrices_n, nx_i64 matrices) {
  const int n = (int)matrices_n, warp = threadIdx.x / 32, me = threadIdx.x % 32,
            warps = 32 / (int)sizeof(T);
  if (warp >= warps) return;
  T *tile = room + warp * NX_SMALL_TILE, *row = tile + me * NX_SMALL_ROW;
  for (nx_i64 m = (nx_i64)blockIdx.x * warps + warp; m < matrices; m += (nx_i64)gridDim.x * warps) {
    T *a = all + m * n * n;
    nx_small_load(tile, a, n, n, n);
    for (int j = 0; j < n; j++) {
      double most = -1;
      int p = j;
      if (j + me < n) {
        const T x = tile[(j + me) * NX_SMALL_ROW + j];
        const double size = (double)nx_abs(nx_re(x)) + (double)nx_abs(nx_im(x));
        if (size > most) most = size, p = j + me;
      }
#pragma unroll
      for (int half = 16; half > 0; half /= 2) {
        const double other = nx_shuffle(most, half);
        const int place = nx_shuffle(p, half);
        if (other > most || (other == most && place < p)) most = other, p = place;
      }
      if (p != j && me < n) {
        const T x = tile[j * NX_SMALL_ROW + me];
        tile[j * NX_SMALL_ROW + me] = tile[p * NX_SMALL_ROW + me];
        tile[p * NX_SMALL_ROW + me] = x;
      }
      if (me == 0) pivots[m * n + j] = p + 1;
      __syncwarp();
      const T pivot = tile[j * NX_SMALL_ROW + j];
      if (!nx_is_zero(pivot) && me > j && me < n) {
        const T own = row[j] = row[j] / pivot;
#pragma unroll 4
        for (int k = j + 1; k < n; k++) row[k] = row[k] - own * tile[j * NX_SMALL_ROW + k];
      }
      __syncwarp();
    }
    nx_small_store(tile, a, n, n, n);
  }
}

/* As nx_substitute: a warp for 32 columns, of which each thread has one, and waits for nobody. */
template <class T>
NX_INLINE void nx_small_substitute(T *room, const T *all, T *x, nx_i64 matrices_n, nx_i64 k,
                                   nx_i64 matrices, int upper, int adjoint, int unit) {
  const int n = (int)matrices_n, warp = threadIdx.x / 32, me = threadIdx.x % 32,
            warps = 16 / (int)sizeof(T);
  if (warp >= warps) return;
  const nx_i64 panels = (k + 31) / 32;
  T *a = room + 2 * warp * NX_SMALL_TILE, *columns = a + NX_SMALL_TILE, *y = columns + me;
  for (nx_i64 task = (nx_i64)blockIdx.x * warps + warp; task < matrices * panels;
       task += (nx_i64)gridDim.x * warps) {
    const nx_i64 m = task / panels, first = (task - m * panels) * 32;
    const int width = k - first < 32 ? (int)(k - first) : 32;
    nx_small_load(a, all + m * n * n, n, n, n);
    nx_small_load(columns, x + m * n * k + first, n, width, k);
    for (int step = 0; step < n && me < width; step++) {
      const int j = upper ? n - 1 - step : step, low = upper ? 0 : j + 1, end = upper ? j : n;
      if (!unit) {
        const T pivot = a[j * NX_SMALL_ROW + j];
        y[j * NX_SMALL_ROW] = y[j * NX_SMALL_ROW] / (adjoint ? nx_conj(pivot) : pivot);
      }
      const T own = y[j * NX_SMALL_ROW];
#pragma unroll 4
      for (int i = low; i < end; i++) {
        const T factor =
            adjoint ? nx_conj(a[j * NX_SMALL_ROW + i]) : a[i * NX_SMALL_ROW + j];
        y[i * NX_SMALL_ROW] = y[i * NX_SMALL_ROW] - factor * own;
      }
    }
    nx_small_store(columns, x + m * n * k + first, n, width, k);
  }
}

/* ---- determinants */

/* A product kept as mantissa and exponent, so that it neither overflows nor underflows in
 * between. */
struct nx_scaled {
  double re, im, log;
  nx_i64 exponent;
};
NX_INLINE void nx_normalise(nx_scaled *x) {
  double larger = nx_abs(x->re) > nx_abs(x->im) ? nx_abs(x->re) : nx_abs(x->im);
  int e = 0;
  if (!(larger > 0) || !nx_finite(x->re) || !nx_finite(x->im)) return;
  frexp(larger, &e);
  x->re = ldexp(x->re, -e), x->im = ldexp(x->im, -e);
  x->exponent += e;
}
NX_INLINE void nx_multiply(nx_scaled *a, nx_scaled b, bool pairs) {
  double re = a->re * b.re;
  if (pairs) {
    re -= a->im * b.im;
    a->im = a->re * b.im + a->im * b.re;
  }
  a->re = re;
  a->log += b.log;
  a->exponent += b.exponent;
  nx_normalise(a);
}
/* Determinants from LU factors, one block for each matrix. split: `to` gets the sign, and `logs`
 * the logarithm of the magnitude. room: 256 products. */
template <class T, class R>
NX_INLINE void nx_determinant(nx_scaled *room, const T *all, const nx_i64 *pivots, T *to, R *logs,
                              nx_i64 n, nx_i64 matrices, int split) {
  bool pairs = sizeof(T) > sizeof(R);
  for (nx_i64 m = blockIdx.x; m < matrices; m += gridDim.x) {
    nx_scaled product = {1, 0, 0, 0};
    for (nx_i64 i = threadIdx.x; i < n; i += 256) {
      T pivot = all[m * n * n + i * (n + 1)];
      if (pivots[m * n + i] != i + 1) pivot = -pivot;
      nx_scaled x = {(double)nx_re(pivot), (double)nx_im(pivot), 0, 0};
      if (split) {
        double size = hypot(x.re, x.im);
        x.log = log(size);
        x.re = size == 0 ? 0 : x.re / size, x.im = size == 0 ? 0 : x.im / size;
      }
      nx_normalise(&x);
      nx_multiply(&product, x, pairs);
    }
    room[threadIdx.x] = product;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int i = 1; i < 256 && i < n; i++) nx_multiply(&product, room[i], pairs);
      nx_i64 e = product.exponent > 5000    ? 5000
                 : product.exponent < -5000 ? -5000
                                            : product.exponent;
      to[m] = nx_number<T>(ldexp(product.re, (int)e), ldexp(product.im, (int)e));
      if (split) logs[m] = (R)product.log;
    }
    __syncthreads();
  }
}

/* R of matrices that are factored column by column, m x columns each, with zeros below the
 * diagonal: rows x n. */
template <class T>
NX_INLINE void nx_upper_factor(const T *from, T *to, nx_i64 matrices, nx_i64 m, nx_i64 columns,
                               nx_i64 rows, nx_i64 n) {
  NX_EACH(i, matrices * rows * n) {
    nx_i64 row = i / n % rows, column = i % n;
    T x = nx_number<T>(0);
    if (row <= column) x = from[i / n / rows * m * columns + column * m + row];
    to[i] = x;
  }
}

/* The same of rows of C order: the first of m rows. */
template <class T>
NX_INLINE void nx_upper_rows(const T *from, T *to, nx_i64 matrices, nx_i64 m, nx_i64 rows,
                             nx_i64 n) {
  NX_EACH(i, matrices * rows * n) {
    nx_i64 row = i / n % rows;
    T x = nx_number<T>(0);
    if (row <= i % n) x = from[(i / n / rows * m + row) * n + i % n];
    to[i] = x;
  }
}

/* The maximum or the sum of the values of all threads of the block, in a fixed order. */
NX_INLINE double nx_together(double *room, double mine, bool sum) {
  __syncthreads();
  room[threadIdx.x] = mine;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if ((int)threadIdx.x < half) {
      double other = room[threadIdx.x + half];
      room[threadIdx.x] = sum ? room[threadIdx.x] + other : nx_max(room[threadIdx.x], other);
    }
    __syncthreads();
  }
  return room[0];
}
/* The Householder reflection of column j: its factor, and its vector below the diagonal, whose
 * first element is 1 and is not stored. */
template <class T>
NX_INLINE T nx_reflection(double *room, T *a, nx_i64 m, nx_i64 n, nx_i64 j) {
  double most = 0, sum = 0;
  for (nx_i64 i = j + 1 + threadIdx.x; i < m; i += 256) {
    double re = nx_abs((double)nx_re(a[i * n + j])), im = nx_abs((double)nx_im(a[i * n + j]));
    most = nx_max(most, nx_max(re, im));
  }
  most = nx_together(room, most, false);
  T first = a[j * n + j];
  if (most == 0 && nx_im(first) == 0) return nx_number<T>(0);
  for (nx_i64 i = j + 1 + threadIdx.x; i < m && most != 0; i += 256) {
    double re = (double)nx_re(a[i * n + j]) / most, im = (double)nx_im(a[i * n + j]) / most;
    sum += re * re + im * im;
  }
  double below = most == 0 ? 0 : most * sqrt(nx_together(room, sum, true)), re = nx_re(first),
         im = nx_im(first), size = hypot(hypot(re, im), below), beta = re < 0 ? size : -size;
  T rest = nx_number<T>(re - beta, im);
  for (nx_i64 i = j + 1 + threadIdx.x; i < m; i += 256) a[i * n + j] = a[i * n + j] / rest;
  __syncthreads(); /* all have read the first element */
  if (threadIdx.x == 0) a[j * n + j] = nx_number<T>(beta);
  return nx_number<T>((beta - re) / beta, -im / beta);
}
/* Applies a reflection to the column x, whose rows are `step` elements apart. */
template <class T>
NX_INLINE void nx_reflect(const T *a, T factor, T *x, nx_i64 m, nx_i64 n, nx_i64 j, nx_i64 step) {
  T part = x[j * step];
  for (nx_i64 i = j + 1; i < m; i++) part = part - -(nx_conj(a[i * n + j]) * x[i * step]);
  part = factor * part;
  x[j * step] = x[j * step] - part;
  for (nx_i64 i = j + 1; i < m; i++) x[i * step] = x[i * step] - a[i * n + j] * part;
}
/* QR factors, one block for each matrix, m x n: R and the vectors of the reflections replace the
 * matrix; then the first `columns` columns of Q are computed. factors: one for each of the min(m,
 * n) reflections. */
template <class T>
NX_INLINE void nx_qr(double *room, T *all, T *factors, T *all_q, nx_i64 m, nx_i64 n, nx_i64 columns,
                     nx_i64 matrices) {
  nx_i64 least = m < n ? m : n;
  for (nx_i64 which = blockIdx.x; which < matrices; which += gridDim.x) {
    T *a = all + which * m * n, *q = all_q + which * m * columns, *factor = factors + which * least;
    for (nx_i64 j = 0; j < least; j++) {
      T own = nx_reflection(room, a, m, n, j);
      __syncthreads();
      for (nx_i64 k = j + 1 + threadIdx.x; k < n; k += 256)
        nx_reflect(a, nx_conj(own), a + k, m, n, j, n);
      if (threadIdx.x == 0) factor[j] = own;
      __syncthreads();
    }
    for (nx_i64 k = threadIdx.x; k < columns; k += 256) {
      for (nx_i64 i = 0; i < m; i++) q[i * columns + k] = nx_number<T>(i == k);
      for (nx_i64 j = least; j-- > 0;) nx_reflect(a, factor[j], q + k, m, n, j, columns);
    }
    __syncthreads();
  }
}

/* Converts eigenvectors of real matrices, stored in columns, to complex numbers. For a pair of
 * conjugate eigenvalues, two columns hold the real and the imaginary part of the vector of the
 * first, which has the positive imaginary part. */
template <class R>
NX_INLINE void nx_join(const R *from, const nx_pair<R> *values, nx_pair<R> *to, nx_i64 matrices,
                       nx_i64 n) {
  NX_EACH(i, matrices * n * n) {
    nx_i64 m = i / n / n, row = i / n % n, column = i % n;
    R im = values[m * n + column].im;
    nx_i64 first = im < 0 && column > 0 ? column - 1 : column;
    bool pair = im != 0 && first + 1 < n;
    const R *at = from + (m * n + first) * n + row;
    nx_pair<R> x = {at[0], pair ? (im < 0 ? -at[n] : at[n]) : 0};
    to[i] = x;
  }
}
