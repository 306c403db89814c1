/* SPDX-License-Identifier: ISC */
/* Graphs whose shapes were never seen before: what a loop over batches of all lengths costs, and
 * algorithms that are written out step by step. Each run has other shapes than all before it, so
 * that none warms up: run r of RUNS has each RUNS-th length, from the rth on, so that all have as
 * much to do, and so has each run of a peer (changing, in peers/with_numpy.py). */
#include "expressions.h"

enum { LONGEST = 1 << 20, ROUNDS = 5, RUNS = 8 };
_Static_assert(ROUNDS < RUNS, "the run before the rounds has lengths of its own");

typedef struct lengths {
  bench_lab *lab;
  nx_tensor *x;
  bench_expression *record;
  int64_t first; /* the least length of the first run */
  int run;       /* the number of the next run */
  int count;     /* of lengths in a run */
  int64_t width; /* of rows; 0: the operand is a vector; below 0: there are so many rows */
  double compile_ms;
} lengths;

/* Only of the first run is it said what was compiled. */
static void realise(lengths *l, nx_tensor *y) {
  nx_report report = {.size = sizeof report};
  const nx_run_options options = {.size = sizeof options, .report = &report};
  bench_check(nx_realize(l->lab->context, &y, 1, l->run == 0 ? &options : NULL));
  l->compile_ms += report.compile_ms;
}

static void run_lengths(void *state) {
  lengths *l = state;
  for (int i = 0; i < l->count; i++) {
    nx_scope *scope = nx_scope_begin(l->lab->context);
    int64_t n = l->first + l->run + (int64_t)i * RUNS, width = l->width;
    nx_tensor *x = bench_range(l->x, 0, 0, width == 0 ? n : n * (width > 0 ? width : -width));
    if (width > 0) x = nx_reshape(x, NX_SHAPE(n, width), 0);
    if (width < 0) x = nx_reshape(x, NX_SHAPE(-width, n), 0);
    realise(l, l->record(l->lab, &x));
    nx_scope_end(scope);
  }
  l->run++;
}

static nx_tensor *sum_of_tanh(const bench_lab *lab, nx_tensor **x) {
  (void)lab;
  nx_tensor *y = nx_binary_f64(nx_binary_f64(x[0], NX_BINARY_MUL, 0.5), NX_BINARY_ADD, 1);
  return nx_reduce_sum(nx_tanh(y), NX_AXES(0), 0);
}

/* ---- written out: 64 steps of Floyd and Warshall, each with a row and a column */

static nx_tensor *shortest_paths(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *d = x[0];
  int64_t n = bench_info(d).shape[0];
  (void)lab;
  for (int64_t k = 0; k < n; k++)
    d = nx_min(d, nx_add(bench_range(d, 1, k, 1), bench_range(d, 0, k, 1)));
  return d;
}

/* Cholesky's factor, column by column: the product of its diagonal, which needs all columns. */
static nx_tensor *written_cholesky(const bench_lab *lab, nx_tensor **x) {
  int64_t n = bench_info(x[0]).shape[0];
  nx_tensor *a = nx_add(nx_matmul(x[0], bench_transposed_view(x[0])),
                        nx_eye(lab->context, lab->device, NX_F32, n, n, 0)),
            *product = NULL;
  for (int64_t k = n; k > 0; k--) {
    nx_tensor *first = bench_range(a, 1, 0, 1), *pivot = nx_sqrt(bench_range(first, 0, 0, 1)),
              *column = nx_div(first, pivot);
    product = product == NULL ? pivot : nx_mul(product, pivot);
    if (k == 1) break;
    column = bench_range(column, 0, 1, k - 1);
    a = nx_sub(bench_range(bench_range(a, 0, 1, k - 1), 1, 1, k - 1),
               nx_mul(column, bench_transposed_view(column)));
  }
  return product;
}

/* Attention of the last position to all, keys being values too: a cache that grows. */
static nx_tensor *growing_cache(const bench_lab *lab, nx_tensor **x) {
  int64_t n = bench_info(x[0]).shape[0];
  nx_tensor *query = bench_range(x[0], 0, n - 1, 1),
            *scores = nx_matmul(query, bench_transposed_view(x[0]));
  return (void)lab, nx_matmul(bench_softmax_of(scores), x[0]);
}

static nx_tensor *column_sums(const bench_lab *lab, nx_tensor **x) {
  (void)lab;
  return nx_reduce_sum(x[0], NX_AXES(0), 0);
}

/* A layer of 32 outputs, whose weights and biases are elements of the batch itself. */
static nx_tensor *layer(const bench_lab *lab, nx_tensor **x) {
  enum { OUTPUTS = 32 };
  nx_tensor *weights = bench_transposed_view(bench_range(x[0], 0, 0, OUTPUTS)),
            *biases = bench_range(bench_range(x[0], 0, 0, 1), 1, 0, OUTPUTS);
  (void)lab;
  return nx_binary_f64(nx_add(nx_matmul(x[0], weights), biases), NX_BINARY_MAX, 0);
}

/* The same, of the last 256 positions alone: a cache that slides. */
static nx_tensor *sliding_cache(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *last = bench_range(x[0], 0, bench_info(x[0]).shape[0] - 256, 256);
  return growing_cache(lab, &last);
}

static void run_steps(void *state) {
  lengths *l = state;
  int64_t n = l->first + l->run;
  nx_scope *scope = nx_scope_begin(l->lab->context);
  nx_tensor *x = nx_reshape(bench_range(l->x, 0, 0, n * n), NX_SHAPE(n, n), 0);
  realise(l, l->record(l->lab, &x));
  nx_scope_end(scope);
  l->run++;
}

static const struct {
  const char *name, *peer;
  bench_expression *record;
  void (*run)(void *state);
  int count;
  int64_t first, width;
} rows[] = {
    {"200 lengths: sum of tanh", "lengths f32:1048576:-2:2", sum_of_tanh, run_lengths, 200, 1000,
     0},
    {"16 batches: softmax of 256", "batches f32:1048576:-2:2", bench_softmax, run_lengths, 16, 8,
     256},
    {"16 caches: attention of 1, 64 wide", "caches f32:1048576:-2:2", growing_cache, run_lengths,
     16, 500, 64},
    {"16 caches: attention of 1, 768 wide", "widecaches f32:1048576:-2:2", growing_cache,
     run_lengths, 16, 500, 768},
    {"16 windows of a cache, 64 wide", "windows f32:1048576:-2:2", sliding_cache, run_lengths, 16,
     500, 64},
    {"50 lengths: softmax of 33 rows", "rowlengths f32:1048576:-2:2", bench_softmax, run_lengths,
     50, 20, -33},
    {"50 lengths: sums of columns of 60 rows", "columnlengths f32:1048576:-2:2", column_sums,
     run_lengths, 50, 100, -60},
    {"50 batches: layer of 64 and 32", "layers f32:1048576:-2:2", layer, run_lengths, 50, 32, 64},
    {"64 steps of shortest paths", "", shortest_paths, run_steps, 1, 64, 0},
    {"Cholesky of 60 written out", "", written_cholesky, run_steps, 1, 60, 0},
    {"Cholesky of 300 written out", "", written_cholesky, run_steps, 1, 300, 0},
};

/* Kernels compiled since the context was made. */
static int64_t compiled(const bench_lab *lab) {
  nx_stats stats = {.size = sizeof stats};
  nx_context_stats(lab->context, &stats);
  return (int64_t)stats.kernels_compiled;
}

void bench_shapes(bench_lab *lab) {
  bench_operand o = {.dtype = NX_F32, .rank = 1, .shape = {LONGEST}, .low = -2, .high = 2};
  lengths l = {.lab = lab, .x = bench_operand_make(lab, &o, 0)};
  for (size_t i = 0; i < sizeof rows / sizeof *rows && lab->rounds > 0; i++) {
    if (!bench_wanted(&lab->out, rows[i].name)) continue;
    l.record = rows[i].record;
    l.first = rows[i].first;
    l.run = 0;
    l.count = rows[i].count;
    l.width = rows[i].width;
    l.compile_ms = 0;
    int64_t before = compiled(lab);
    rows[i].run(&l);
    bench_measure(lab, &(bench_case){.name = rows[i].name,
                                     .dtype = "f32",
                                     .size = rows[i].count,
                                     .own = {.run = rows[i].run, .state = &l},
                                     .peer = rows[i].peer,
                                     .least = -1,
                                     .rounds = ROUNDS,
                                     .kernels = compiled(lab) - before,
                                     .compile_ms = l.compile_ms});
  }
  nx_tensor_release(l.x);
}
