/* SPDX-License-Identifier: ISC */
/* Sorting, beside NumPy's quickest way, which is not stable: one long row, many short ones,
 * columns. */
#include <stdio.h>
#include <string.h>

#include "bench.h"

typedef struct sorting {
  nx_dtype dtype;
  bool indices;
  int32_t axis;
  int64_t shape[2];
} sorting;

static const sorting sortings[] = {
    {NX_F32, false, 1, {1, 1000}},    {NX_F32, false, 1, {1, 100000}},
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
  char name[64], peer[64];
  const int64_t *shape = what->shape;
  const char *call = what->indices ? "argsort" : "sort", *dtype = nx_dtype_name(what->dtype);
  if (shape[0] == 1) snprintf(name, sizeof name, "%s %lld", call, (long long)shape[1]);
  else
    snprintf(name, sizeof name, "%s %lldx%lld axis %d", call, (long long)shape[0],
             (long long)shape[1], what->axis);
  snprintf(peer, sizeof peer, "%s %s %d %lld %lld", call, dtype, what->axis, (long long)shape[0],
           (long long)shape[1]);
  if (!bench_wanted(&lab->out, name)) return;
  const double range = range_of(what->dtype);
  job j = {.lab = lab, .what = what, .x = bench_random(lab, what->dtype, 2, shape, -range, range)};
  bench_way ways[2] = {{.run = run_job, .state = &j},
                       {.run = bench_peer_run, .state = lab->numpy, .foreign = true}};
  bool numpy = bench_peer_setup(lab->numpy, peer);
  bench_interleave(ways, numpy ? 2 : 1, lab->rounds, 1e-3);
  bench_row row = {.name = name,
                   .dtype = dtype,
                   .size = shape[0] * shape[1],
                   .threads = lab->threads,
                   .ms = ways[0].median * 1e3};
  if (numpy) bench_add_peer(&row, "NumPy", ways[1].median * 1e3);
  bench_print(&lab->out, &row);
  nx_tensor_release(j.x);
}

void bench_sort(bench_lab *lab) {
  for (size_t i = 0; i < sizeof sortings / sizeof *sortings; i++) run_row(lab, &sortings[i]);
}
