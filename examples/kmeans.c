/* SPDX-License-Identifier: ISC */
/* k-means that stops by itself: a loop carries the centres and how far they moved in the last step,
 * and ends when they no longer do. Which centre is nearest is an argmin over distances; the new
 * centres are a product of the points with one-hot rows, divided by how many there are. */
#include <math.h>
#include <nx/nx.h>
#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 6000, K = 6, CARRIED = 3, MOST_STEPS = 200 };

static void check(nx_status status) {
  nx_error e = {.size = sizeof e};
  if (status == NX_OK) return;
  nx_error_take(&e);
  fprintf(stderr, "kmeans: %s\n", e.message);
  exit(1);
}

static nx_tensor *number(nx_context *c, nx_dtype t, double x) {
  return nx_full(c, 0, t, NULL, 0, NX_NUMBER(x));
}

/* Carried: centres [K, 2], the greatest move, the step. Captured: the points. */
static void placeholders(nx_context *c, nx_tensor **in) {
  in[0] = nx_placeholder(c, 0, NX_F32, NX_SHAPE(K, 2));
  in[1] = nx_placeholder(c, 0, NX_F32, NULL, 0);
  in[2] = nx_placeholder(c, 0, NX_I32, NULL, 0);
  in[3] = nx_placeholder(c, 0, NX_F32, NX_SHAPE(POINTS, 2));
}

static nx_function *moved(nx_context *c) {
  nx_function *f;
  nx_scope *scope = nx_scope_begin(c);
  nx_tensor *in[CARRIED + 1];
  placeholders(c, in);
  nx_tensor *on = nx_cmplt(number(c, NX_F32, 0), in[1]);
  check(nx_function_create(c, in, CARRIED + 1, &on, 1, NULL, &f));
  nx_scope_end(scope);
  return f;
}

/* The number of the nearest centre of each point. */
static nx_tensor *nearest(nx_tensor *centres, nx_tensor *points) {
  nx_tensor *a = nx_reshape(points, NX_SHAPE(POINTS, 1, 2), 0),
            *b = nx_reshape(centres, NX_SHAPE(1, K, 2), 0), *apart = nx_sub(a, b);
  return nx_reduce_argmin(nx_reduce_sum(nx_mul(apart, apart), NX_AXES(2), 0), 1, 0, NX_I32);
}

/* A centre without points stays where it is. */
static nx_function *step(nx_context *c) {
  nx_function *f;
  nx_scope *scope = nx_scope_begin(c);
  nx_tensor *in[CARRIED + 1];
  placeholders(c, in);
  nx_tensor *member = nx_one_hot(nearest(in[0], in[3]), K, NX_F32),
            *sums = nx_matmul(nx_permute(member, NX_AXES(1, 0)), in[3]),
            *counts = nx_reduce_sum(member, NX_AXES(0), 0),
            *column = nx_reshape(counts, NX_SHAPE(K, 1), 0),
            *next = nx_where(nx_cmplt(number(c, NX_F32, 0), column), nx_div(sums, column), in[0]),
            *by = nx_reduce_max(nx_abs(nx_sub(next, in[0])), NX_AXES(0, 1), 0);
  nx_tensor *out[CARRIED] = {next, by, nx_add(in[2], number(c, NX_I32, 1))};
  check(nx_function_create(c, in, CARRIED + 1, out, CARRIED, NULL, &f));
  nx_scope_end(scope);
  return f;
}

/* ---- data: clouds around the corners of a hexagon of radius 5 */

static double uniform(void) {
  static uint64_t state = 42;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(state >> 11) * 0x1p-53;
}

static void make_points(float (*points)[2]) {
  for (int i = 0; i < POINTS; i++)
    for (int axis = 0; axis < 2; axis++) {
      double angle = (i % K) * 3.14159265358979 / 3 - (axis ? 3.14159265358979 / 2 : 0);
      points[i][axis] = (float)(5 * cos(angle) + 2.4 * (uniform() + uniform() + uniform() - 1.5));
    }
}

static bool is_corner(float x, float y) {
  for (int i = 0; i < K; i++)
    if (hypot((double)x - 5 * cos(i * 3.14159265358979 / 3),
              (double)y - 5 * sin(i * 3.14159265358979 / 3)) < 0.2)
      return true;
  return false;
}

int main(void) {
  static float points[POINTS][2], centres[K][2];
  nx_context *c;
  nx_scalar steps;
  make_points(points);
  check(nx_context_create(NULL, &c));
  nx_function *on = moved(c), *body = step(c);
  nx_scope *scope = nx_scope_begin(c);
  nx_tensor *all = nx_empty(c, 0, NX_F32, NX_SHAPE(POINTS, 2));
  check(nx_write(all, points, sizeof points, NULL));
  nx_tensor *first = nx_shrink(all, (const int64_t[]){0, 0}, (const int64_t[]){K, 2}, 2);
  nx_tensor *init[CARRIED] = {first, number(c, NX_F32, 1), number(c, NX_I32, 0)},
            *out[CARRIED] = {NULL};
  nx_loop_options options = {.size = sizeof options, .max_steps = MOST_STEPS};
  check(nx_while(on, body, init, CARRIED, &all, 1, &options, out, CARRIED));
  check(nx_read(out[0], centres, sizeof centres, NULL));
  check(nx_item(out[2], NULL, 0, &steps, NULL));
  nx_scope_end(scope);
  bool right = true;
  printf("%d points, %d centres, at rest after %d steps:\n", POINTS, K, (int)steps.v.i);
  for (int i = 0; i < K; i++) {
    printf("  %7.3f %7.3f\n", (double)centres[i][0], (double)centres[i][1]);
    right = right && is_corner(centres[i][0], centres[i][1]);
  }
  nx_function_release(on);
  nx_function_release(body);
  nx_context_release(c);
  return !right;
}
