/* SPDX-License-Identifier: ISC */
/* Contents that come to the GPU and from it: memory of the caller, which the driver knows nothing
 * of, and memory of the library. The limit is the driver's copy of pinned memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/internal.h"

typedef enum copy_kind {
  FROM_CALLER,
  STARTED, /* until the host goes on */
  FROM_LIBRARY,
  AGAIN,
  TO_CALLER,
  TO_MAPPING
} copy_kind;
static const struct {
  const char *name;
  copy_kind kind;
  int64_t bytes;
} rows[] = {
    {"upload 4 KiB", FROM_CALLER, 4 << 10},
    {"upload 4 KiB, started", STARTED, 4 << 10},
    {"upload 1 MiB", FROM_CALLER, 1 << 20},
    {"upload 2 MiB", FROM_CALLER, 2 << 20}, /* on a stream of copies, not that of work */
    {"upload 64 MiB", FROM_CALLER, 64 << 20},
    {"upload 512 MiB", FROM_CALLER, 512 << 20},
    {"upload 64 MiB of the library's", FROM_LIBRARY, 64 << 20},
    {"import of 64 MiB, used again", AGAIN, 64 << 20},
    {"download 4 KiB", TO_CALLER, 4 << 10},
    {"download 1 MiB", TO_CALLER, 1 << 20},
    {"download 64 MiB", TO_CALLER, 64 << 20},
    {"download 512 MiB", TO_CALLER, 512 << 20},
    {"download 64 MiB, mapped", TO_MAPPING, 64 << 20},
};

typedef struct copying {
  const gpu_lab *lab;
  copy_kind kind;
  int64_t n; /* f32 */
  char *memory;
  nx_tensor *x;
} copying;

/* The kernel that reads what comes is a part of it, and of little account. Returns the seconds. */
static double use(const copying *c, nx_tensor *x) {
  const bench_lab *lab = &c->lab->lab;
  const double begin = bench_now();
  nx_tensor *there = nx_to_device(x, lab->device), *y = nx_reduce_max(there, NX_AXES(0), 0);
  bench_check(nx_realize(lab->context, &y, 1, NULL));
  const double started = bench_now();
  gpu_wait(c->lab);
  const double end = bench_now();
  nx_tensor_release(there);
  nx_tensor_release(y);
  return (c->kind == STARTED ? started : end) - begin;
}

static double time_up(void *state, int repeat) {
  copying *c = state;
  const bench_lab *lab = &c->lab->lab;
  double seconds = 0;
  for (int i = 0; i < repeat; i++) {
    const nx_import_desc d = {.size = sizeof d,
                              .mode = c->kind == AGAIN ? NX_IMPORT_MAPPED : NX_IMPORT_SHARED,
                              .dtype = NX_F32,
                              .rank = 1,
                              .shape = &c->n,
                              .base = c->memory,
                              .bytes = (size_t)c->n * 4};
    nx_tensor *x = NULL;
    if (c->kind == FROM_LIBRARY) {
      x = nx_full(lab->context, 0, NX_F32, &c->n, 1, NX_NUMBER(1));
      bench_check(nx_realize(lab->context, &x, 1, NULL));
    } else {
      bench_check(nx_import(lab->context, &d, &x));
    }
    if (c->kind == AGAIN) use(c, x);
    seconds += use(c, x);
    nx_tensor_release(x);
    nx_context_collect(lab->context);
  }
  return seconds / repeat;
}

static double time_down(void *state, int repeat) {
  copying *c = state;
  const bench_lab *lab = &c->lab->lab;
  double seconds = 0;
  for (int i = 0; i < repeat; i++) {
    nx_tensor *y = nx_neg(c->x);
    bench_check(nx_realize(lab->context, &y, 1, NULL));
    gpu_wait(c->lab);
    const double begin = bench_now();
    if (c->kind == TO_MAPPING) {
      nx_mapping *m = NULL;
      bench_check(nx_map(y, NX_MAP_READ, NULL, &m));
      nx_mapping_release(m);
    } else {
      bench_check(nx_read(y, c->memory, (size_t)c->n * 4, NULL));
    }
    seconds += bench_now() - begin;
    nx_tensor_release(y);
  }
  return seconds / repeat;
}

/* The driver's copy of pinned memory. */
typedef struct pinned {
  const gpu_lab *lab;
  const nxi_cuda *cuda;
  void *memory, *stream;
  uint64_t at;
  int64_t bytes;
  bool up;
} pinned;
static void run_pinned(void *state) {
  const pinned *p = state;
  const int result = p->up ? p->cuda->upload(p->at, p->memory, (size_t)p->bytes, p->stream)
                           : p->cuda->download(p->memory, p->at, (size_t)p->bytes, p->stream);
  if (result != 0) exit(1);
}
static void wait_pinned(void *state) {
  const pinned *p = state;
  p->cuda->stream_wait(p->stream);
}
static bool make_pinned(pinned *p) {
  const char *why;
  p->cuda = nxi_cuda_get(&why);
  p->stream = nxi_gpu_stream(p->lab->gpu);
  bench_check(nxi_gpu_enter(p->lab->gpu, NULL));
  if (p->cuda->host_alloc(&p->memory, (size_t)p->bytes, 0) != 0) {
    nxi_gpu_leave(p->lab->gpu);
    return false;
  }
  memset(p->memory, 1, (size_t)p->bytes);
  bench_check(nxi_gpu_alloc(p->lab->gpu, p->bytes, &p->at, NULL));
  return true;
}
static void end_pinned(const pinned *p) {
  nxi_gpu_free(p->lab->gpu, p->at, p->bytes);
  p->cuda->host_free(p->memory);
  nxi_gpu_leave(p->lab->gpu);
}

static void run_row(gpu_lab *lab, const char *name, copy_kind kind, int64_t bytes) {
  const int64_t all = bytes / lab->shrink < 4096 ? 4096 : bytes / lab->shrink;
  const bool up = kind != TO_CALLER && kind != TO_MAPPING;
  copying c = {.lab = lab, .kind = kind, .n = all / 4, .memory = malloc((size_t)all)};
  pinned p = {.lab = lab, .bytes = all, .up = up};
  if (c.memory == NULL) exit(1);
  memset(c.memory, 1, (size_t)all);
  if (!up) c.x = bench_random(&lab->lab, NX_F32, 1, &c.n, -1, 1);
  bench_way ways[2] = {{.timed = up ? time_up : time_down, .state = &c},
                       {.run = run_pinned, .state = &p, .wait = wait_pinned}};
  const bool limited = make_pinned(&p);
  const int rounds = lab->lab.rounds < 9 ? lab->lab.rounds : 9;
  bench_interleave(ways, limited ? 2 : 1, rounds, 0);
  bench_row row = {.name = name,
                   .dtype = "f32",
                   .size = c.n,
                   .threads = 1,
                   .ms = ways[0].median * 1e3,
                   .target = bytes >= 64 << 20 ? 0.8 : 0};
  if (limited) {
    row.limit_ms = ways[1].median * 1e3;
    row.of_limit = ways[1].ratio;
    end_pinned(&p);
  }
  bench_print(&lab->lab.out, &row);
  if (c.x != NULL) nx_tensor_release(c.x);
  free(c.memory);
  nx_context_collect(lab->lab.context);
}

void gpu_copies(gpu_lab *lab) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (bench_wanted(&lab->lab.out, rows[i].name))
      run_row(lab, rows[i].name, rows[i].kind, rows[i].bytes);
}
