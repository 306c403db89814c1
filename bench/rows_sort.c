/* SPDX-License-Identifier: ISC */
/* Sorting, beside the quickest way of each peer, which need not be stable: one long row, many short
 * ones, columns. */
#include <stdio.h>

#include "bench.h"

typedef struct sorting {
  nx_dtype dtype;
  bool indices;
  int32_t axis;
  int64_t shape[2];
} sorting;

static const sorting sortings[] = {
    {NX_F32, false, 1, {1, 1000}},    {NX_F32, false, 1, {1, 10000}},
    {NX_F32, true, 1, {1, 10000}},    {NX_F32, false, 1, {1, 100000}},
    {NX_F32, false, 1, {1, 1000000}}, {NX_F32, false, 1, {1, 10000000}},
    {NX_F64, false, 1, {1, 1000000}}, {NX_I32, false, 1, {1, 1000000}},
    {NX_I64, false, 1, {1, 1000000}}, {NX_F32, true, 1, {1, 1000}},
    {NX_F32, true, 1, {1, 100000}},   {NX_F32, true, 1, {1, 1000000}},
    {NX_F64, true, 1, {1, 1000000}},  {NX_I64, true, 1, {1, 1000000}},
    {NX_F32, false, 1, {1024, 1024}}, {NX_F32, false, 0, {1024, 1024}},
    {NX_F32, true, 1, {1024, 1024}},  {NX_F64, false, 1, {1024, 1024}},
    {NX_F32, false, 1, {100000, 10}}, {NX_F32, true, 1, {100000, 10}},
    {NX_F32, false, 1, {10000, 100}}, {NX_F64, false, 1, {10000, 100}},
    {NX_F32, false, 1, {33333, 30}},  {NX_F32, false, 1, {4000, 250}},
    {NX_F64, false, 1, {33333, 30}},  {NX_F64, false, 1, {4000, 250}},
    {NX_I32, false, 1, {33333, 30}},  {NX_I32, false, 1, {10000, 100}},
    {NX_I64, false, 1, {33333, 30}},  {NX_I64, false, 1, {10000, 100}},
    {NX_I16, false, 1, {33333, 30}},  {NX_I16, false, 1, {10000, 100}},
    {NX_I16, false, 1, {4000, 250}},  {NX_I16, false, 1, {1000, 1000}},
    {NX_I8, false, 1, {10000, 100}},  {NX_F16, false, 1, {10000, 100}},
    {NX_I16, false, 1, {1, 1000000}}, {NX_I8, false, 1, {1, 1000000}},
    {NX_F32, true, 1, {33333, 30}},   {NX_F32, true, 1, {10000, 100}},
    {NX_F64, true, 1, {33333, 30}},   {NX_F64, true, 1, {10000, 100}},
    {NX_I16, true, 1, {33333, 30}},   {NX_I16, true, 1, {10000, 100}},
    {NX_F32, false, 1, {1000, 1000}}, {NX_F64, false, 1, {1, 1000}},
    {NX_F64, false, 1, {1, 100000}},  {NX_F64, false, 1, {1, 10000000}},
    {NX_F64, false, 1, {1000, 1000}}, {NX_I32, false, 1, {1, 1000}},
    {NX_I32, false, 1, {1, 100000}},  {NX_I32, false, 1, {1, 10000000}},
    {NX_I32, false, 1, {1000, 1000}}, {NX_I64, false, 1, {1, 1000}},
    {NX_I64, false, 1, {1, 100000}},  {NX_I64, false, 1, {1, 10000000}},
    {NX_I64, false, 1, {1000, 1000}}, {NX_F32, true, 1, {1, 10000000}},
    {NX_F32, true, 1, {1000, 1000}},  {NX_F64, true, 1, {1, 1000}},
    {NX_F64, true, 1, {1, 100000}},   {NX_F64, true, 1, {1, 10000000}},
    {NX_F64, true, 1, {1000, 1000}},  {NX_I32, true, 1, {1, 1000}},
    {NX_I32, true, 1, {1, 100000}},   {NX_I32, true, 1, {1, 1000000}},
    {NX_I32, true, 1, {1, 10000000}}, {NX_I32, true, 1, {1000, 1000}},
    {NX_I64, true, 1, {1, 1000}},     {NX_I64, true, 1, {1, 100000}},
    {NX_I64, true, 1, {1, 10000000}}, {NX_I64, true, 1, {1000, 1000}},
};

typedef struct job {
  bench_lab *lab;
  const sorting *what;
  nx_tensor *x;
} job;

static void run_job(void *state) {
  job *j = state;
  nx_tensor *y = j->what->indices ? nx_argsort(j->x, j->what->axis, 0, NX_I32)
                                  : nx_sort(j->x, j->what->axis, 0);
  bench_check(nx_realize(j->lab->context, &y, 1, NULL));
  nx_tensor_release(y);
}

static double range_of(nx_dtype t) {
  return t == NX_I32 || t == NX_I64 ? 1 << 30 : t == NX_I16 ? 1 << 15 : t == NX_I8 ? 1 << 7 : 2;
}

static void run_row(bench_lab *lab, const sorting *what) {
  char name[64], peer[BENCH_LINE];
  const double range = range_of(what->dtype);
  bench_operand o = {.dtype = what->dtype, .rank = 2, .low = -range, .high = range};
  const char *call = what->indices ? "argsort" : "sort", *dtype = nx_dtype_name(what->dtype);
  for (int i = 0; i < 2; i++)
    o.shape[i] = lab->largest > 0 && what->shape[i] > lab->largest ? lab->largest : what->shape[i];
  if (what->shape[0] == 1)
    snprintf(name, sizeof name, "%s %lld %s", call, (long long)what->shape[1], dtype);
  else
    snprintf(name, sizeof name, "%s %lldx%lld axis %d %s", call, (long long)what->shape[0],
             (long long)what->shape[1], what->axis, dtype);
  if (!bench_wanted(&lab->out, name)) return;
  snprintf(peer, sizeof peer, "%s%d", call, what->axis);
  bench_operands_print(&o, 1, peer, sizeof peer);
  job j = {.lab = lab, .what = what, .x = bench_operand_make(lab, &o, 0)};
  nx_tensor *sorted = nx_sort(j.x, what->axis, 0);
  bench_measure(lab, &(bench_case){.name = name,
                                   .dtype = dtype,
                                   .size = o.shape[0] * o.shape[1],
                                   .own = {.run = run_job, .state = &j},
                                   .peer = peer,
                                   .result = &sorted,
                                   .n_results = what->indices ? 0 : 1});
  nx_tensor_release(sorted);
  nx_tensor_release(j.x);
}

void bench_sort(bench_lab *lab) {
  for (size_t i = 0; i < sizeof sortings / sizeof *sortings; i++) run_row(lab, &sortings[i]);
}
