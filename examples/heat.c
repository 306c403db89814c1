/* SPDX-License-Identifier: ISC */
/* Heat spreading in a plate, 256 x 256: an explicit step of the 2-D heat equation, written with
 * slices of a padded plate. The edge is insulated, so the total heat stays what it was. One step is
 * captured as a function and called two thousand times, back and forth between two tensors. */
#include <nx/nx.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 256, STEPS = 2000, PICTURE = 16 };

static void check(nx_status status) {
  nx_error e = {.size = sizeof e};
  if (status == NX_OK) return;
  nx_error_take(&e);
  fprintf(stderr, "heat: %s\n", e.message);
  exit(1);
}

/* The plate moved by (dy, dx), what comes in from outside being a copy of the edge: insulation. */
static nx_tensor *neighbour(nx_tensor *u, int dy, int dx) {
  const int32_t axis = dy != 0 ? 0 : 1;
  const int by = dy + dx;
  int64_t start[2] = {0, 0}, stop[2] = {N, N}, edge_start[2] = {0, 0}, edge_stop[2] = {N, N};
  start[axis] = by > 0 ? 1 : 0;
  stop[axis] = by > 0 ? N : N - 1;
  edge_start[axis] = by > 0 ? N - 1 : 0;
  edge_stop[axis] = by > 0 ? N : 1;
  nx_tensor *inner = nx_shrink(u, start, stop, 2), *edge = nx_shrink(u, edge_start, edge_stop, 2);
  nx_tensor *pieces[2] = {by > 0 ? inner : edge, by > 0 ? edge : inner};
  return nx_cat(pieces, 2, axis);
}

/* u + k (north + south + west + east - 4 u) */
static nx_tensor *step(nx_context *context, nx_tensor *u) {
  nx_tensor *k = nx_full(context, 0, NX_F64, NULL, 0, NX_NUMBER(0.2));
  nx_tensor *four = nx_full(context, 0, NX_F64, NULL, 0, NX_NUMBER(4));
  nx_tensor *around = nx_add(nx_add(neighbour(u, -1, 0), neighbour(u, 1, 0)),
                             nx_add(neighbour(u, 0, -1), neighbour(u, 0, 1)));
  return nx_add(u, nx_mul(k, nx_sub(around, nx_mul(four, u))));
}

static nx_function *capture_step(nx_context *context) {
  nx_function *f;
  nx_tensor *u = nx_placeholder(context, 0, NX_F64, NX_SHAPE(N, N));
  nx_scope *scope = nx_scope_begin(context);
  nx_tensor *next = nx_keep(step(context, u));
  nx_scope_end(scope);
  check(nx_function_create(context, &u, 1, &next, 1, NULL, &f));
  nx_tensor_release(u);
  nx_tensor_release(next);
  return f;
}

/* A hot square and a cold bar on a plate of temperature 0: pads of smaller plates. */
static nx_tensor *first_plate(nx_context *context) {
  nx_scope *scope = nx_scope_begin(context);
  nx_tensor *hot = nx_full(context, 0, NX_F64, NX_SHAPE(64, 64), NX_NUMBER(100));
  nx_tensor *cold = nx_full(context, 0, NX_F64, NX_SHAPE(16, 160), NX_NUMBER(-50));
  hot = nx_pad(hot, (const int64_t[]){32, 48}, (const int64_t[]){N - 96, N - 112}, 2, NX_NUMBER(0));
  cold = nx_pad(cold, (const int64_t[]){180, 48}, (const int64_t[]){N - 196, N - 208}, 2,
                NX_NUMBER(0));
  nx_tensor *u = nx_keep(nx_add(hot, cold));
  nx_scope_end(scope);
  return u;
}

static double total(nx_context *context, nx_tensor *u) {
  nx_scalar sum;
  nx_scope *scope = nx_scope_begin(context);
  check(nx_item(nx_reduce_sum(u, NX_AXES(0, 1), 0), NULL, 0, &sum, NULL));
  nx_scope_end(scope);
  return sum.v.f[0];
}

/* Means of blocks: a reshape to four axes and a reduction of two of them. */
static void draw(nx_context *context, nx_tensor *u) {
  static const char shades[] = "=-, .:+*#@"; /* cold to hot; a blank is about 0 */
  double mean[PICTURE][PICTURE * 2];
  nx_scope *scope = nx_scope_begin(context);
  nx_tensor *blocks =
      nx_reshape(u, NX_SHAPE(PICTURE, N / PICTURE, PICTURE * 2, N / PICTURE / 2), 0);
  check(nx_read(nx_reduce_sum(blocks, NX_AXES(1, 3), 0), mean, sizeof mean, NULL));
  nx_scope_end(scope);
  for (int y = 0; y < PICTURE; y++) {
    for (int x = 0; x < PICTURE * 2; x++) {
      double t = mean[y][x] / (N / PICTURE * N / PICTURE / 2); /* about -50 to 100 */
      int shade = (int)((t + 50) / 150 * 10);
      putchar(shades[shade < 0 ? 0 : shade > 9 ? 9 : shade]);
    }
    putchar('\n');
  }
}

int main(void) {
  nx_context *context;
  nx_report report = {.size = sizeof report};
  nx_run_options options = {.size = sizeof options, .report = &report};
  uint64_t compiled = 0;
  check(nx_context_create(NULL, &context));
  nx_function *f = capture_step(context);
  nx_tensor *plates[2] = {first_plate(context), nx_empty(context, 0, NX_F64, NX_SHAPE(N, N))};
  check(nx_realize(context, plates, 1, NULL));
  double before = total(context, plates[0]);
  printf("before:\n");
  draw(context, plates[0]);
  for (int i = 0; i < STEPS; i++) { /* from one plate into the other */
    check(nx_function_call(f, &plates[i % 2], 1, &plates[1 - i % 2], 1, &options));
    compiled += report.kernel_misses;
  }
  nx_tensor *last = plates[STEPS % 2];
  printf("after %d steps:\n", STEPS);
  draw(context, last);
  double after = total(context, last);
  printf("total heat %.6f before, %.6f after; %llu kernels a step, %llu compiled in all steps\n",
         before, after, (unsigned long long)report.kernels, (unsigned long long)compiled);
  nx_tensor_release(plates[0]);
  nx_tensor_release(plates[1]);
  nx_function_release(f);
  nx_context_release(context);
  return fabs(after - before) > 1e-9 * fabs(before);
}
