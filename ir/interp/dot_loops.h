/* SPDX-License-Identifier: ISC */
/* The loops of dots.h, compiled for one instruction set by each file that includes this. The
 * blocks, lanes and the tree are those of interp_reduce.c, with a product for each element.
 * NXG_DOTS: the name of the function that gives them. */
#include <string.h>

#include "dots.h"
#include "vector.h"

enum { DOT_LANES = 16, DOT_BLOCK = 256, DOT_LEVELS = 60, DOT_FEW_LEVELS = 9 };
_Static_assert(NXG_DOT_MOST / DOT_BLOCK < 1 << DOT_FEW_LEVELS, "the tree of `many` is too low");

#define DOTS(name, T, V)                                                                           \
  /* A block of m elements; returns how many of its lanes exist. */                                \
  static int dot_block_##name(T *part, const T *a, const T *b, int64_t m) {                        \
    enum { COUNT = DOT_LANES * sizeof(T) / sizeof(V) };                                            \
    int64_t k = DOT_LANES;                                                                         \
    V all[COUNT];                                                                                  \
    for (int l = 0; m < DOT_LANES && l < m; l++) part[l] = a[l] * b[l];                            \
    if (m < DOT_LANES) return (int)m;                                                              \
    for (int l = 0; l < COUNT; l++)                                                                \
      all[l] = ((const V *)(const void *)a)[l] * ((const V *)(const void *)b)[l];                  \
    for (; k + DOT_LANES <= m; k += DOT_LANES)                                                     \
      for (int l = 0; l < COUNT; l++)                                                              \
        all[l] += ((const V *)(const void *)(a + k))[l] * ((const V *)(const void *)(b + k))[l];   \
    memcpy(part, all, sizeof all);                                                                 \
    for (; k < m; k++) part[k % DOT_LANES] += a[k] * b[k];                                         \
    return DOT_LANES;                                                                              \
  }                                                                                                \
  /* The upper half of the lanes joins the lower one until one is left. */                         \
  static T dot_fold_##name(T *part, int width) {                                                   \
    if (width == DOT_LANES) {                                                                      \
      for (int l = 0; l < 8; l++) part[l] = part[l] + part[l + 8];                                 \
      for (int l = 0; l < 4; l++) part[l] = part[l] + part[l + 4];                                 \
      return (part[0] + part[2]) + (part[1] + part[3]);                                            \
    }                                                                                              \
    for (int half = DOT_LANES / 2; half; half /= 2)                                                \
      for (int l = 0; l + half < width && l < half; l++) part[l] = part[l] + part[l + half];       \
    return part[0];                                                                                \
  }                                                                                                \
  static void dot_##name(const void *x, const void *y, int64_t n, void *result) {                  \
    T tree[DOT_LEVELS][DOT_LANES], part[DOT_LANES] = {0};                                          \
    const T *a = x, *b = y;                                                                        \
    int64_t blocks = 0;                                                                            \
    int width = 0;                                                                                 \
    for (int64_t done = 0; done < n; done += DOT_BLOCK, blocks++) {                                \
      int level = 0;                                                                               \
      width =                                                                                      \
          dot_block_##name(part, a + done, b + done, n - done < DOT_BLOCK ? n - done : DOT_BLOCK); \
      for (; blocks >> level & 1; level++, width = DOT_LANES)                                      \
        for (int l = 0; l < DOT_LANES; l++)                                                        \
          part[l] = l < width ? tree[level][l] + part[l] : tree[level][l];                         \
      if (n > DOT_BLOCK) memcpy(tree[level], part, sizeof part);                                   \
    }                                                                                              \
    for (int level = __builtin_ctzll((uint64_t)blocks) + 1; blocks >> level; level++)              \
      if (blocks >> level & 1) {                                                                   \
        for (int l = 0; l < DOT_LANES; l++)                                                        \
          part[l] = l < width ? tree[level][l] + part[l] : tree[level][l];                         \
        width = DOT_LANES;                                                                         \
      }                                                                                            \
    *(T *)result = dot_fold_##name(part, width);                                                   \
  }                                                                                                \
  /* The same for columns: each lane has an element for each of them. */                           \
  typedef T columns_##name[DOT_LANES][NXG_DOT_COLUMNS];                                            \
  static int dots_block_##name(columns_##name part, const T *x, const char *rows,                  \
                               int64_t row_bytes, int64_t m) {                                     \
    for (int64_t k = 0; k < m; k++, rows += row_bytes) {                                           \
      const T *restrict row = (const T *)(const void *)rows, factor = x[k];                        \
      T *restrict sums = part[k % DOT_LANES];                                                      \
      if (k < DOT_LANES)                                                                           \
        for (int j = 0; j < NXG_DOT_COLUMNS; j++) sums[j] = factor * row[j];                       \
      else                                                                                         \
        for (int j = 0; j < NXG_DOT_COLUMNS; j++) sums[j] += factor * row[j];                      \
    }                                                                                              \
    return m < DOT_LANES ? (int)m : DOT_LANES;                                                     \
  }                                                                                                \
  static void dots_join_##name(columns_##name part, columns_##name left, int width) {              \
    for (int l = 0; l < DOT_LANES; l++) {                                                          \
      T *restrict sums = part[l];                                                                  \
      const T *restrict more = left[l];                                                            \
      if (l < width)                                                                               \
        for (int j = 0; j < NXG_DOT_COLUMNS; j++) sums[j] = more[j] + sums[j];                     \
      else memcpy(sums, more, sizeof part[l]);                                                     \
    }                                                                                              \
  }                                                                                                \
  static void dots_##name(const void *x, const void *rows, int64_t row_bytes, int64_t n,           \
                          void *result) {                                                          \
    columns_##name tree[DOT_FEW_LEVELS], part;                                                     \
    int64_t blocks = 0;                                                                            \
    int width = 0;                                                                                 \
    for (int64_t done = 0; done < n; done += DOT_BLOCK, blocks++) {                                \
      int level = 0;                                                                               \
      width = dots_block_##name(part, (const T *)x + done, (const char *)rows + done * row_bytes,  \
                                row_bytes, n - done < DOT_BLOCK ? n - done : DOT_BLOCK);           \
      for (; blocks >> level & 1; level++, width = DOT_LANES)                                      \
        dots_join_##name(part, tree[level], width);                                                \
      memcpy(tree[level], part, sizeof part);                                                      \
    }                                                                                              \
    for (int level = __builtin_ctzll((uint64_t)blocks) + 1; blocks >> level; level++)              \
      if (blocks >> level & 1) {                                                                   \
        dots_join_##name(part, tree[level], width);                                                \
        width = DOT_LANES;                                                                         \
      }                                                                                            \
    for (int half = DOT_LANES / 2; half; half /= 2)                                                \
      for (int l = 0; l + half < width && l < half; l++)                                           \
        for (int j = 0; j < NXG_DOT_COLUMNS; j++) part[l][j] = part[l][j] + part[l + half][j];     \
    memcpy(result, part[0], sizeof part[0]);                                                       \
  }

/* Levels of the tree that the counter marks as full have been written; the analyser does not see
 * that. NOLINTBEGIN(clang-analyzer-core.*) */
DOTS(f32, float, nxg_f32s)
DOTS(f64, double, nxg_f64s)
/* NOLINTEND(clang-analyzer-core.*) */

const nxg_dots *NXG_DOTS(nx_dtype t) {
  static const nxg_dots f32 = {dot_f32, dots_f32}, f64 = {dot_f64, dots_f64};
  return t == NX_F32 ? &f32 : t == NX_F64 ? &f64 : NULL;
}
