/* SPDX-License-Identifier: ISC */
/* Scatters and copies that several threads carry out together, against one thread's loop: the same
 * bytes for every number of threads, and nothing beside the result is touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/dtype.h"
#include "ir/op.h"
#include "ir/target.h"
#include "runtime/cpu/cpu.h"
#include "runtime/library/scatter.h"
#include "tests/util/runner.h"

static uint64_t seed = 1;
static uint64_t random_bits(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return seed >> 20;
}

static void *memory(int64_t bytes) {
  void *p = calloc(1, (size_t)bytes);
  assert_non_null(p);
  return p;
}

/* Updates of `n` rows of `width` elements go to rows of a target of `extent`. */
typedef struct trial {
  nx_dtype dtype;
  nxi_scatter_mode mode;
  nx_dtype index;
  int64_t n, width, extent;
  bool turned; /* the updates of a row do not lie side by side */
} trial;

static nx_dtype integers(bool wide) { return wide ? NX_I64 : NX_I32; }

static nxi_scatter scatter_of(const trial *t) {
  return (nxi_scatter){.dtype = t->dtype,
                       .mode = t->mode,
                       .index = t->index,
                       .rank = 2,
                       .axis = 0,
                       .extent = t->extent,
                       .shape = {t->n, t->width},
                       .to = {t->width, 1},
                       .indices = {1, 0},
                       .updates = {t->turned ? 1 : t->width, t->turned ? t->n : 1}};
}

/* Numbers of the dtype that are small and not zero. */
static void fill(const trial *t, char *at, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const int64_t x = 1 + (int64_t)(random_bits() % 5);
    const float f = (float)x / 3;
    const double d = (double)x / 3;
    const int64_t size = nxi_dtype_size(t->dtype);
    const void *from = t->dtype == NX_F32   ? (const void *)&f
                       : t->dtype == NX_F64 ? (const void *)&d
                                            : (const void *)&x;
    memcpy(at + i * size, from, (size_t)size);
  }
}

/* Of each 16 indices one counts from the end, but for bytes. */
static void *indices_of(const trial *t) {
  char *all = memory(t->n * nxi_dtype_size(t->index));
  for (int64_t i = 0; i < t->n; i++) {
    const int64_t from_end = i % 16 || t->index == NX_U8 ? 0 : t->extent,
                  e = (int64_t)(random_bits() % (uint64_t)t->extent) - from_end;
    const int32_t narrow = (int32_t)e;
    if (t->index == NX_U8) all[i] = (char)e;
    else if (t->index == NX_I64) memcpy(all + i * 8, &e, 8);
    else memcpy(all + i * 4, &narrow, 4);
  }
  return all;
}

/* By the scalar evaluator, which shares nothing with the loops. */
static void combine(const trial *t, char *to, const char *from) {
  static const nxk_op ops[] = {
      [NXI_SCATTER_ADD] = NXK_add, [NXI_SCATTER_MUL] = NXK_mul, [NXI_SCATTER_MIN] = NXK_min,
      [NXI_SCATTER_MAX] = NXK_max, [NXI_SCATTER_AND] = NXK_and, [NXI_SCATTER_OR] = NXK_or,
      [NXI_SCATTER_XOR] = NXK_xor};
  const size_t size = (size_t)nxi_dtype_size(t->dtype);
  uint64_t pair[2] = {nxi_load_at(to, t->dtype, 0), nxi_load_at(from, t->dtype, 0)},
           x = t->mode ? nxk_eval(ops[t->mode], t->dtype, t->dtype, pair) : pair[1];
  memcpy(to, &x, size);
}

static void scatter_here(const trial *t, char *to, const char *indices, const char *updates) {
  const int64_t size = nxi_dtype_size(t->dtype);
  for (int64_t i = 0; i < t->n; i++) {
    const uint64_t bits = nxi_load_at(indices, t->index, i);
    int64_t e = (int64_t)nxi_cast_bits(bits, t->index, NX_I64);
    if (e < 0) e += t->extent;
    for (int64_t k = 0; k < t->width; k++)
      combine(t, to + (e * t->width + k) * size,
              updates + (t->turned ? k * t->n + i : i * t->width + k) * size);
  }
}

static void check_scatter(trial t) {
  const int64_t size = nxi_dtype_size(t.dtype), bytes = t.extent * t.width * size;
  char *before = memory(bytes), *wanted = memory(bytes), *got = memory(bytes),
       *updates = memory(t.n * t.width * size), *indices = indices_of(&t);
  const nxi_scatter s = scatter_of(&t);
  fill(&t, before, t.extent * t.width);
  fill(&t, updates, t.n * t.width);
  memcpy(wanted, before, (size_t)bytes);
  scatter_here(&t, wanted, indices, updates);
  for (int32_t threads = 1; threads <= 5; threads += 2) {
    nxi_pool *pool = NULL;
    assert_int_equal(nxi_pool_create(&(nxi_pool_options){.threads = threads}, &pool, NULL), NX_OK);
    memcpy(got, before, (size_t)bytes);
    assert_int_equal(nxi_scatter_run(&s, pool, NULL, got, indices, updates), NX_OK);
    if (memcmp(got, wanted, (size_t)bytes) != 0)
      fail_msg("%s, %ld updates of %ld, %d threads", nx_dtype_name(t.dtype), (long)t.n,
               (long)t.width, threads);
    nxi_pool_destroy(pool);
  }
  free(before), free(wanted), free(got), free(updates), free(indices);
}

static const nx_dtype dtypes[] = {NX_I8, NX_U16, NX_I32, NX_U64, NX_F32, NX_F64};

/* Sums of one column: to few elements, to more than tasks have memory for, from few updates. */
static void columns(void **state) {
  (void)state;
  for (int k = 0; k < 6; k++)
    for (nxi_scatter_mode mode = 0; mode <= NXI_SCATTER_XOR; mode++) {
      if (nxi_scatter_refuses(mode, dtypes[k])) continue;
      check_scatter((trial){dtypes[k], mode, integers(k & 1), 30011, 1, 37, false});
      check_scatter((trial){dtypes[k], mode, integers(!(k & 1)), 30011, 1, 300, false});
      check_scatter((trial){dtypes[k], mode, integers(k & 1), 20011, 1, 20000, false});
      check_scatter((trial){dtypes[k], mode, integers(k & 1), 100, 1, 7, false});
      check_scatter((trial){dtypes[k], mode, NX_U8, 30011, 1, 256, false});
      check_scatter((trial){dtypes[k], mode, NX_U8, 99, 1, 256, false});
      check_scatter((trial){dtypes[k], mode, integers(k & 1), 9001, 3, 7, false});
    }
}

static void rows(void **state) {
  (void)state;
  for (int k = 0; k < 6; k++)
    for (nxi_scatter_mode mode = 0; mode <= NXI_SCATTER_XOR; mode++) {
      if (nxi_scatter_refuses(mode, dtypes[k])) continue;
      check_scatter((trial){dtypes[k], mode, integers(k & 1), 100, 500, 30, false});
      check_scatter((trial){dtypes[k], mode, integers(!(k & 1)), 3, 9001, 2, false});
      check_scatter((trial){dtypes[k], mode, integers(k & 1), 2011, 9, 50, false});
      check_scatter((trial){dtypes[k], mode, integers(k & 1), 2011, 9, 50, true});
      check_scatter((trial){dtypes[k], mode, integers(!(k & 1)), 1011, 70, 2, false});
      check_scatter((trial){dtypes[k], mode, integers(!(k & 1)), 600, 130, 1, true});
      check_scatter((trial){dtypes[k], mode, NX_U8, 100, 300, 30, false});
    }
}

/* ---- any axes, in any order of memory */

/* Strides of an array whose axes lie in memory in a random order. */
static int64_t lay(int32_t rank, const int64_t *shape, int64_t *strides) {
  int32_t order[4] = {0, 1, 2, 3};
  int64_t n = 1;
  for (int32_t i = rank; i-- > 1 && random_bits() % 2;) {
    const int32_t j = (int32_t)(random_bits() % (uint64_t)(i + 1)), other = order[i];
    order[i] = order[j], order[j] = other;
  }
  for (int32_t i = rank; i-- > 0; n *= shape[order[i]]) strides[order[i]] = n;
  return n;
}

static int64_t place_in(const nxi_scatter *s, const int64_t *strides, const int64_t *at) {
  int64_t place = 0;
  for (int32_t i = 0; i < s->rank; i++) place += at[i] * strides[i];
  return place;
}

/* Sums of i32, which all threads give to one element in the same order or not at all. */
static void check_axes(const nxi_scatter *s, int64_t n, int64_t n_to, int64_t n_indices) {
  int32_t *wanted = memory(n_to * 4), *got = memory(n_to * 4), *updates = memory(n * 4),
          *indices = memory(n_indices * 4);
  for (int64_t i = 0; i < n; i++) updates[i] = (int32_t)random_bits();
  for (int64_t i = 0; i < n_indices; i++) /* of which some are outside */
    indices[i] = (int32_t)(random_bits() % (uint64_t)(2 * s->extent + 2)) - (int32_t)s->extent - 1;
  for (int64_t point = 0; point < n; point++) {
    int64_t at[4] = {0}, rest = point;
    for (int32_t i = s->rank; i-- > 0; rest /= s->shape[i]) at[i] = rest % s->shape[i];
    int64_t e = indices[place_in(s, s->indices, at)];
    e += e < 0 ? s->extent : 0;
    const int32_t update = updates[place_in(s, s->updates, at)];
    if (e < 0 || e >= s->extent) continue;
    at[s->axis] = e;
    int32_t *to = &wanted[place_in(s, s->to, at)];
    *to = (int32_t)((uint32_t)*to * (s->mode == NXI_SCATTER_ADD) + (uint32_t)update);
  }
  for (int32_t threads = 1; threads <= 4; threads += 3) {
    nxi_pool *pool = NULL;
    assert_int_equal(nxi_pool_create(&(nxi_pool_options){.threads = threads}, &pool, NULL), NX_OK);
    memset(got, 0, (size_t)n_to * 4);
    assert_int_equal(nxi_scatter_run(s, pool, NULL, got, indices, updates), NX_OK);
    if (memcmp(got, wanted, (size_t)n_to * 4) != 0)
      fail_msg("rank %d, axis %d, %ld updates, %d threads", s->rank, s->axis, (long)n, threads);
    nxi_pool_destroy(pool);
  }
  free(wanted), free(got), free(updates), free(indices);
}

static void axes(void **state) {
  (void)state;
  for (int trial = 0; trial < 600; trial++) {
    static const int64_t extents[] = {1, 2, 3, 1, 9, 40, 0};
    nxi_scatter s = {.dtype = NX_I32,
                     .mode = trial % 2 ? NXI_SCATTER_ADD : NXI_SCATTER_SET,
                     .index = NX_I32,
                     .rank = 1 + (int32_t)(random_bits() % 4),
                     .extent = 1 + (int64_t)(random_bits() % 20)};
    s.axis = (int32_t)(random_bits() % (uint64_t)s.rank);
    for (int32_t i = 0; i < s.rank; i++) s.shape[i] = extents[random_bits() % (trial % 16 ? 6 : 7)];
    if (trial % 3 == 0) s.shape[s.axis] = 700;
    int64_t of_result[4], of_indices[4];
    for (int32_t i = 0; i < s.rank; i++) {
      const bool row = trial % 4 && i != s.axis; /* an index is for all along the axis */
      of_result[i] = i == s.axis ? s.extent : s.shape[i];
      of_indices[i] = row ? 1 : s.shape[i];
    }
    const int64_t n = lay(s.rank, s.shape, s.updates), n_to = lay(s.rank, of_result, s.to),
                  n_indices = lay(s.rank, of_indices, s.indices);
    for (int32_t i = 0; i < s.rank; i++)
      if (of_indices[i] != s.shape[i]) s.indices[i] = 0;
    check_axes(&s, n, n_to, n_indices);
  }
}

/* Bytes around those at which copies are shared out and pass the caches, from and to places that
 * begin nowhere in particular. */
static void copies(void **state) {
  static const int64_t lengths[] = {0, 1, 63, 1 << 18, (1 << 18) + 1, (1 << 20) + 77, 3 << 20};
  const int64_t cache = nxi_target_host()->l3_bytes, most = 1 << 26;
  nxi_pool *pool = NULL;
  (void)state;
  assert_int_equal(nxi_pool_create(&(nxi_pool_options){.threads = 3}, &pool, NULL), NX_OK);
  for (int i = 0; i < 8; i++) {
    const int64_t large = cache < most ? cache / 2 + 131 : most, n = i < 7 ? lengths[i] : large;
    char *from = memory(n + 8), *to = memory(n + 64);
    for (int64_t j = 0; j < n + 8; j++) from[j] = (char)(j * 7 + (j >> 12));
    memset(to, 0x55, (size_t)n + 64);
    assert_int_equal(nxi_copy_run(pool, NULL, to + 5, from + i % 8, n), NX_OK);
    assert_memory_equal(to + 5, from + i % 8, (size_t)n);
    for (int j = 0; j < 5; j++) assert_int_equal(to[j], 0x55);
    for (int64_t j = n + 5; j < n + 64; j++) assert_int_equal(to[j], 0x55);
    free(from), free(to);
  }
  char *both = memory(2 << 20);
  for (int64_t j = 0; j < 2 << 20; j++) both[j] = (char)(j >> 8);
  assert_int_equal(nxi_copy_run(pool, NULL, both + 4096, both, 1 << 20), NX_OK);
  for (int64_t j = 0; j < 1 << 20; j++)
    if (both[j + 4096] != (char)(j >> 8)) fail_msg("byte %ld of a copy to what is read", (long)j);
  free(both);
  nxi_pool_destroy(pool);
}

NXT_MAIN(scatter) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(columns), cmocka_unit_test(rows),
                                     cmocka_unit_test(axes), cmocka_unit_test(copies)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
