/* SPDX-License-Identifier: ISC */
/* matmul_i32 as a library call, against sums of 64 bits that are cut to 32: every pair of dtypes,
 * operands transposed or not, batches that are repeated, sizes around those of panels, tiles and
 * pieces, the largest values, for each instruction set that this machine has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/dtype.h"
#include "runtime/library/integers/product.h"
#include "runtime/library/libraries.h"
#include "tests/util/runner.h"

static bool never(void *user) { return (void)user, false; }

/* Memory of exactly so many bytes, so that sanitizers see reads past them. */
static void *filled(int64_t bytes, int pattern) {
  unsigned char *m = malloc((size_t)bytes + (bytes == 0));
  assert_non_null(m);
  for (int64_t i = 0; i < bytes; i++)
    m[i] = (unsigned char)(pattern == 0 ? (i * 2654435761u) >> 11 : pattern == 1 ? 0x80 : 0xff);
  return m;
}

static int64_t value(nx_dtype t, const void *m, int64_t i) {
  if (t == NX_I8) return ((const int8_t *)m)[i];
  if (t == NX_U8) return ((const uint8_t *)m)[i];
  return ((const int16_t *)m)[i];
}

typedef struct problem {
  nx_dtype a, b;
  int64_t batch, m, n, k, transpose;
  int repeated; /* this operand is one matrix; -1: none */
  int pattern;
} problem;

static int32_t wanted(const problem *p, const void *a, const void *b, int64_t batch, int64_t row,
                      int64_t column) {
  const int64_t first = p->repeated == 0 ? 0 : batch * p->m * p->k,
                second = p->repeated == 1 ? 0 : batch * p->n * p->k;
  uint64_t sum = 0;
  for (int64_t k = 0; k < p->k; k++)
    sum += (uint64_t)value(p->a, a, first + (p->transpose & 1 ? k * p->m + row : row * p->k + k)) *
           (uint64_t)value(p->b, b,
                           second + (p->transpose & 2 ? column * p->k + k : k * p->n + column));
  return (int32_t)(uint32_t)sum;
}

static void run(const nxg_call *call, const nxi_target *target, void *const operands[2],
                int32_t *result) {
  nxg_call_work work = {0};
  assert_int_equal(nxi_integers_prepare(call, target, &work, NULL), NX_OK);
  void *own = aligned_alloc(64, ((size_t)work.own_bytes + 63) / 64 * 64), *results[1] = {result};
  assert_non_null(own);
  memset(own, 0xa5, (size_t)work.own_bytes);
  nxg_call_part part = {.call = call,
                        .state = work.state,
                        .begin = 0,
                        .end = work.tasks[0],
                        .operands = operands,
                        .results = results,
                        .own = own,
                        .stopped = never};
  assert_int_equal(nxi_matmul_i32_functions.run(&part), NX_OK);
  nxi_matmul_i32_functions.release(work.state);
  free(own);
}

static void check(const problem *p, const char *isa) {
  const int64_t batch[2] = {p->repeated == 0 ? 1 : p->batch, p->repeated == 1 ? 1 : p->batch};
  const int64_t a[3] = {batch[0], p->transpose & 1 ? p->k : p->m, p->transpose & 1 ? p->m : p->k},
                b[3] = {batch[1], p->transpose & 2 ? p->n : p->k, p->transpose & 2 ? p->k : p->n};
  const nxg_type types[2] = {{p->a, 3, a}, {p->b, 3, b}};
  nxg_call call;
  nxi_target target;
  if (!nxi_target_for_isa(isa, &target)) return;
  assert_int_equal(nxg_call_infer(NXG_matmul_i32, 2, types, &p->transpose, 1, &call, NULL), NX_OK);
  void *operands[2] = {filled(batch[0] * p->m * p->k * nxi_dtype_size(p->a), p->pattern),
                       filled(batch[1] * p->n * p->k * nxi_dtype_size(p->b), p->pattern)};
  int32_t *result = filled(p->batch * p->m * p->n * 4, 2);
  run(&call, &target, operands, result);
  for (int64_t i = 0, at = 0; i < p->batch; i++)
    for (int64_t row = 0; row < p->m; row++)
      for (int64_t column = 0; column < p->n; column++, at++)
        if (result[at] != wanted(p, operands[0], operands[1], i, row, column))
          fail_msg("%s: %s x %s, %lld of %lld x %lld x %lld, transpose %lld: element %lld is %d",
                   isa, nxi_dtypes[p->a].name, nxi_dtypes[p->b].name, (long long)p->batch,
                   (long long)p->m, (long long)p->n, (long long)p->k, (long long)p->transpose,
                   (long long)at, result[at]);
  free(operands[0]), free(operands[1]), free(result);
}

static const char *const sets[] = {"avx512", "avx2", "generic"};
static const nx_dtype dtypes[] = {NX_I8, NX_U8, NX_I16};

static void every_dtype_and_layout(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {{1, 1, 1},    {9, 33, 17},  {4, 8, 64},  {17, 70, 5},
                                     {8, 32, 128}, {3, 100, 31}, {70, 3, 20}, {2, 5, 0}};
  for (size_t set = 0; set < 3; set++)
    for (int i = 0; i < 9; i++)
      for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int64_t transpose = 0; transpose < 4; transpose++) {
          problem p = {dtypes[i / 3],
                       dtypes[i % 3],
                       1,
                       sizes[s][0],
                       sizes[s][1],
                       sizes[s][2],
                       transpose,
                       -1,
                       (int)(s + (size_t)i) % 3};
          check(&p, sets[set]);
        }
}

static void many_pieces_and_tiles(void **state) {
  (void)state;
  for (size_t set = 0; set < 3; set++)
    for (int i = 0; i < 9; i += 2) {
      check(&(problem){dtypes[i / 3], dtypes[i % 3], 1, 5, 150, 1100, i % 4, -1, i % 3}, sets[set]);
      check(&(problem){dtypes[i / 3], dtypes[i % 3], 1, 260, 70, 9, i % 4, -1, 0}, sets[set]);
      check(&(problem){dtypes[i / 3], dtypes[i % 3], 1, 10, 300, 9, i % 4, -1, 0}, sets[set]);
    }
}

static void batches(void **state) {
  (void)state;
  for (size_t set = 0; set < 3; set++)
    for (int repeated = -1; repeated < 2; repeated++)
      for (int64_t transpose = 0; transpose < 4; transpose++)
        check(&(problem){NX_I8, NX_U8, 5, 7, 9, 21, transpose, repeated, 0}, sets[set]);
}

static void what_it_refuses(void **state) {
  (void)state;
  const int64_t one[2] = {3, 4}, other[2] = {4, 5}, row[1] = {4}, plain = 0, bad = 4;
  const nxg_type a = {NX_I8, 2, one}, b = {NX_U8, 2, other}, wide = {NX_I32, 2, other},
                 line = {NX_I8, 1, row};
  nxg_call call;
  assert_int_equal(nxg_call_infer(NXG_matmul_i32, 2, (nxg_type[]){a, b}, &plain, 1, &call, NULL),
                   NX_OK);
  assert_int_equal(nxg_call_infer(NXG_matmul_i32, 2, (nxg_type[]){a, b}, &bad, 1, &call, NULL),
                   NX_INVALID_ARGUMENT);
  assert_int_equal(nxg_call_infer(NXG_matmul_i32, 2, (nxg_type[]){a, a}, &plain, 1, &call, NULL),
                   NX_INVALID_ARGUMENT);
  assert_int_equal(nxg_call_infer(NXG_matmul_i32, 2, (nxg_type[]){a, line}, &plain, 1, &call, NULL),
                   NX_INVALID_ARGUMENT);
  assert_int_equal(nxg_call_infer(NXG_matmul_i32, 2, (nxg_type[]){a, wide}, &plain, 1, &call, NULL),
                   NX_UNSUPPORTED_DTYPE);
}

NXT_MAIN(integers) {
  nxi_use_libraries();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_dtype_and_layout),
      cmocka_unit_test(many_pieces_and_tiles),
      cmocka_unit_test(batches),
      cmocka_unit_test(what_it_refuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
