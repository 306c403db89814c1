/* SPDX-License-Identifier: ISC */
/* The Mandelbrot set by a loop: every point z of a picture goes on as z^2 + c while |z| <= 2. The
 * loop counts its steps, and carries the points and how many steps each has been inside. What a
 * step makes of a point depends on that point alone, so the whole loop becomes one kernel: each
 * vector of points takes all steps in registers. */
#include <nx/nx.h>
#include <stdio.h>
#include <stdlib.h>

#include "png.h"

enum { WIDTH = 480, HEIGHT = 320, MOST = 200, CARRIED = 4 };

static void check(nx_status status) {
  nx_error e = {.size = sizeof e};
  if (status == NX_OK) return;
  nx_error_take(&e);
  fprintf(stderr, "mandelbrot: %s\n", e.message);
  exit(1);
}

static nx_tensor *number(nx_context *c, nx_dtype t, double x) {
  return nx_full(c, 0, t, NULL, 0, NX_NUMBER(x));
}

/* from + i * step, i = 0 .. n - 1, along the last axis or, as a column, along the first one. */
static nx_tensor *line(nx_context *c, double from, double step, int64_t n, bool column) {
  nx_tensor *x = nx_arange(c, 0, NX_F64, NX_NUMBER(from), NX_NUMBER(step), n);
  const int64_t shape[2] = {column ? n : 1, column ? 1 : n};
  return nx_expand(nx_reshape(x, shape, 2, 0), NX_SHAPE(HEIGHT, WIDTH));
}

/* What the loop carries: step, real and imaginary parts, steps inside. After them come the captured
 * parts of c. */
static void placeholders(nx_context *c, nx_tensor **in) {
  in[0] = nx_placeholder(c, 0, NX_I32, NULL, 0);
  in[1] = nx_placeholder(c, 0, NX_F64, NX_SHAPE(HEIGHT, WIDTH));
  in[2] = nx_placeholder(c, 0, NX_F64, NX_SHAPE(HEIGHT, WIDTH));
  in[3] = nx_placeholder(c, 0, NX_I32, NX_SHAPE(HEIGHT, WIDTH));
  in[4] = nx_placeholder(c, 0, NX_F64, NX_SHAPE(HEIGHT, WIDTH));
  in[5] = nx_placeholder(c, 0, NX_F64, NX_SHAPE(HEIGHT, WIDTH));
}

static nx_function *condition(nx_context *c) {
  nx_function *f;
  nx_scope *scope = nx_scope_begin(c);
  nx_tensor *in[CARRIED + 2];
  placeholders(c, in);
  nx_tensor *on = nx_cmplt(in[0], number(c, NX_I32, MOST));
  check(nx_function_create(c, in, CARRIED + 2, &on, 1, NULL, &f));
  nx_scope_end(scope);
  return f;
}

/* Points that have left stay where they are. */
static nx_function *step(nx_context *c) {
  nx_function *f;
  nx_scope *scope = nx_scope_begin(c);
  nx_tensor *in[CARRIED + 2];
  placeholders(c, in);
  nx_tensor *re = in[1], *im = in[2], *square_re = nx_mul(re, re), *square_im = nx_mul(im, im);
  nx_tensor *inside = nx_cmple(nx_add(square_re, square_im), number(c, NX_F64, 4));
  nx_tensor *product = nx_mul(re, im);
  nx_tensor *next_re = nx_add(nx_sub(square_re, square_im), in[4]),
            *next_im = nx_add(nx_add(product, product), in[5]);
  nx_tensor *out[CARRIED] = {nx_add(in[0], number(c, NX_I32, 1)), nx_where(inside, next_re, re),
                             nx_where(inside, next_im, im), nx_add(in[3], nx_cast(inside, NX_I32))};
  check(nx_function_create(c, in, CARRIED + 2, out, CARRIED, NULL, &f));
  nx_scope_end(scope);
  return f;
}

/* The same with one number at a time. */
static int steps_inside(double re, double im) {
  double x = 0, y = 0;
  int n = 0;
  for (; n < MOST && x * x + y * y <= 4; n++) {
    double next = x * x - y * y + re;
    y = x * y + x * y + im;
    x = next;
  }
  return n;
}

static bool is_right(const int32_t *steps) {
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++)
      if (steps[y * WIDTH + x] != steps_inside(-2.2 + x * 0.00625, -1 + y * 0.00625)) return false;
  return true;
}

static void draw(const int32_t *steps, const char *path) {
  static uint8_t rgb[WIDTH * HEIGHT * 3];
  for (int i = 0; i < WIDTH * HEIGHT; i++) {
    int n = steps[i] == MOST ? 0 : steps[i];
    rgb[3 * i] = (uint8_t)(n * 9 % 256);
    rgb[3 * i + 1] = (uint8_t)(n * 5 % 256);
    rgb[3 * i + 2] = (uint8_t)(n * 13 % 256);
  }
  if (png_write(path, rgb, WIDTH, HEIGHT)) printf("wrote %s\n", path);
  else fprintf(stderr, "mandelbrot: %s cannot be written\n", path);
}

int main(int argc, char **argv) {
  static int32_t steps[HEIGHT * WIDTH];
  nx_context *c;
  nx_scalar taken;
  check(nx_context_create(NULL, &c));
  nx_function *on = condition(c), *body = step(c);
  nx_scope *scope = nx_scope_begin(c);
  nx_tensor *zero = nx_full(c, 0, NX_F64, NX_SHAPE(HEIGHT, WIDTH), NX_NUMBER(0)),
            *parts[2] = {line(c, -2.2, 0.00625, WIDTH, false), line(c, -1, 0.00625, HEIGHT, true)},
            *init[CARRIED] = {number(c, NX_I32, 0), zero, zero, nx_cast(zero, NX_I32)},
            *out[CARRIED] = {NULL};
  check(nx_while(on, body, init, CARRIED, parts, 2, NULL, out, CARRIED));
  check(nx_read(out[3], steps, sizeof steps, NULL));
  check(nx_item(out[0], NULL, 0, &taken, NULL));
  nx_scope_end(scope);
  printf("%d x %d points, %d steps\n", WIDTH, HEIGHT, (int)taken.v.i);
  draw(steps, argc > 1 ? argv[1] : "mandelbrot.png");
  nx_function_release(on);
  nx_function_release(body);
  nx_context_release(c);
  return !is_right(steps);
}
