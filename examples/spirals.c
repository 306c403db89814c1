/* SPDX-License-Identifier: ISC */
/* A small network, 2-32-32-1, learns which of two spirals a point lies on. The forward pass, the
 * backward pass and Adam are written with nx operations and captured as one function: its assigns
 * to the weights happen at every call. The kernels are compiled in the first call and replayed ever
 * after, though the learning rate changes. Writes a picture of what the network believes.
 *
 * Usage: spirals [PICTURE.png] */
#include <nx/nx.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "png.h"

enum { POINTS = 400, HIDDEN = 32, LAYERS = 3, STEPS = 500, SIDE = 256 };

typedef struct layer {
  nx_tensor *weight, *bias; /* [in, out], [out] */
  nx_tensor *moments[2][2]; /* of weight and bias: mean and mean square of their gradients */
} layer;

typedef struct network {
  nx_context *context;
  layer layers[LAYERS];
} network;

static void check(nx_status status) {
  nx_error e = {.size = sizeof e};
  if (status == NX_OK) return;
  nx_error_take(&e);
  fprintf(stderr, "spirals: %s\n", e.message);
  exit(1);
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double uniform(void) { /* in [-1, 1), the same everywhere */
  static uint64_t state = 2;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(int64_t)state * 0x1p-63;
}

static nx_tensor *number(const network *net, double x) {
  return nx_full(net->context, 0, NX_F32, NULL, 0, NX_NUMBER(x));
}

/* ---- the network */

static nx_tensor *filled(nx_context *context, int32_t rank, const int64_t *shape, double scale) {
  int64_t n = 1;
  for (int32_t i = 0; i < rank; i++) n *= shape[i];
  float *data = malloc((size_t)n * sizeof *data);
  if (data == NULL) exit(1);
  for (int64_t i = 0; i < n; i++) data[i] = (float)(uniform() * scale);
  nx_tensor *t = nx_empty(context, 0, NX_F32, shape, rank);
  check(nx_write(t, data, (size_t)n * sizeof *data, NULL));
  free(data);
  return t;
}

static void make_network(network *net, nx_context *context) {
  static const int64_t sizes[LAYERS + 1] = {2, HIDDEN, HIDDEN, 1};
  net->context = context;
  for (int i = 0; i < LAYERS; i++) {
    layer *l = &net->layers[i];
    const int64_t shape[2] = {sizes[i], sizes[i + 1]};
    l->weight = filled(context, 2, shape, sqrt(3.0 / (double)sizes[i]));
    l->bias = filled(context, 1, shape + 1, 0);
    for (int k = 0; k < 2; k++) {
      l->moments[0][k] = filled(context, 2, shape, 0);
      l->moments[1][k] = filled(context, 1, shape + 1, 0);
    }
  }
}

static void free_network(network *net) {
  for (int i = 0; i < LAYERS; i++) {
    layer *l = &net->layers[i];
    nx_tensor_release(l->weight);
    nx_tensor_release(l->bias);
    for (int k = 0; k < 4; k++) nx_tensor_release(l->moments[k / 2][k % 2]);
  }
}

/* hidden[i] is what layer i reads; the result is the logit of each point. */
static nx_tensor *forward(const network *net, nx_tensor *points, nx_tensor **hidden) {
  for (int i = 0; i < LAYERS; i++) {
    hidden[i] = points;
    points = nx_add(nx_matmul(points, net->layers[i].weight), net->layers[i].bias);
    if (i < LAYERS - 1) points = nx_tanh(points);
  }
  return points;
}

static nx_tensor *sigmoid(const network *net, nx_tensor *z) {
  return nx_recip(nx_add(number(net, 1), nx_exp(nx_neg(z))));
}

/* Mean of log(1 + e^z) - t z, without overflow. */
static nx_tensor *loss_of(const network *net, nx_tensor *z, nx_tensor *t) {
  nx_tensor *soft = nx_add(nx_max(z, number(net, 0)), nx_log1p(nx_exp(nx_neg(nx_abs(z)))));
  nx_tensor *sum = nx_reduce_sum(nx_sub(soft, nx_mul(t, z)), NX_AXES(0, 1), 0);
  return nx_mul(sum, number(net, 1.0 / POINTS));
}

/* Adam: both moments and the parameter move in place. */
static void update(const network *net, nx_tensor *parameter, nx_tensor **moments,
                   nx_tensor *gradient, nx_tensor *rate) {
  const double decay[2] = {0.9, 0.99};
  nx_tensor *of[2] = {gradient, nx_mul(gradient, gradient)};
  for (int k = 0; k < 2; k++)
    check(nx_assign(moments[k], nx_add(nx_mul(moments[k], number(net, decay[k])),
                                       nx_mul(of[k], number(net, 1 - decay[k])))));
  nx_tensor *step = nx_div(moments[0], nx_add(nx_sqrt(moments[1]), number(net, 1e-8)));
  check(nx_assign(parameter, nx_sub(parameter, nx_mul(rate, step))));
}

/* From the gradient of the logits back to every parameter. */
static void backward(const network *net, nx_tensor **hidden, nx_tensor *gradient, nx_tensor *rate) {
  for (int i = LAYERS; i-- > 0;) {
    const layer *l = &net->layers[i];
    nx_tensor *by_weight = nx_matmul(nx_permute(hidden[i], NX_AXES(1, 0)), gradient);
    nx_tensor *by_bias = nx_reduce_sum(gradient, NX_AXES(0), 0);
    if (i > 0) { /* through the old weights, and through tanh, whose derivative is 1 - tanh^2 */
      nx_tensor *by_input = nx_matmul(gradient, nx_permute(l->weight, NX_AXES(1, 0)));
      gradient = nx_mul(by_input, nx_sub(number(net, 1), nx_mul(hidden[i], hidden[i])));
    }
    update(net, l->weight, (nx_tensor **)l->moments[0], by_weight, rate);
    update(net, l->bias, (nx_tensor **)l->moments[1], by_bias, rate);
  }
}

/* (points, targets, rate) -> (loss, how many are right); moves the weights at every call. */
static nx_function *capture_training(const network *net) {
  nx_context *c = net->context;
  nx_tensor *in[3] = {nx_placeholder(c, 0, NX_F32, NX_SHAPE(POINTS, 2)),
                      nx_placeholder(c, 0, NX_F32, NX_SHAPE(POINTS, 1)),
                      nx_placeholder(c, 0, NX_F32, NULL, 0)};
  nx_tensor *hidden[LAYERS], *out[2];
  nx_function *f;
  nx_scope *scope = nx_scope_begin(c);
  nx_tensor *z = forward(net, in[0], hidden);
  nx_tensor *right = nx_cmpeq(nx_cmplt(number(net, 0), z), nx_cmplt(number(net, 0.5), in[1]));
  out[0] = nx_keep(loss_of(net, z, in[1]));
  out[1] = nx_keep(nx_reduce_sum(nx_cast(right, NX_I32), NX_AXES(0, 1), 0));
  nx_tensor *gradient = nx_mul(nx_sub(sigmoid(net, z), in[1]), number(net, 1.0 / POINTS));
  backward(net, hidden, gradient, in[2]);
  nx_scope_end(scope);
  check(nx_function_create(c, in, 3, out, 2, NULL, &f));
  for (int i = 0; i < 3; i++) nx_tensor_release(in[i]);
  for (int i = 0; i < 2; i++) nx_tensor_release(out[i]);
  return f;
}

/* ---- data */

/* Two arms, half a turn apart, with a little noise; in [-1, 1]^2. */
static void make_points(float (*points)[2], float *targets) {
  for (int i = 0; i < POINTS; i++) {
    double along = (i / 2 + 1) / (POINTS / 2.0),
           angle = along * 3 * 3.14159265358979 + (i % 2) * 3.14159265358979;
    points[i][0] = (float)(along * cos(angle) * 0.95 + uniform() * 0.02);
    points[i][1] = (float)(along * sin(angle) * 0.95 + uniform() * 0.02);
    targets[i] = (float)(i % 2);
  }
}

static nx_tensor *tensor_of(nx_context *c, int64_t rows, int64_t columns, const void *data) {
  nx_tensor *t = nx_empty(c, 0, NX_F32, NX_SHAPE(rows, columns));
  check(nx_write(t, data, (size_t)(rows * columns) * sizeof(float), NULL));
  return t;
}

/* ---- training */

static double value_of(nx_tensor *t) {
  nx_scalar s;
  check(nx_item(t, NULL, 0, &s, NULL));
  return s.kind == NX_SCALAR_F64 ? s.v.f[0] : (double)s.v.i;
}

/* Returns the share of points that are on the right side at the end. */
static double train(network *net, nx_tensor *points, nx_tensor *targets) {
  nx_context *c = net->context;
  nx_function *f = capture_training(net);
  nx_tensor *in[3] = {points, targets, nx_empty(c, 0, NX_F32, NULL, 0)};
  nx_tensor *out[2] = {nx_empty(c, 0, NX_F32, NULL, 0), nx_empty(c, 0, NX_I32, NULL, 0)};
  nx_report report = {.size = sizeof report};
  nx_run_options options = {.size = sizeof options, .report = &report};
  uint64_t later = 0;
  double began = 0, first = now_ms();
  for (int i = 0; i <= STEPS; i++) {
    /* Adam's correction of young moments and a falling rate, in one number. */
    float rate =
        (float)(0.02 * (1 - 0.9 * i / STEPS) * sqrt(1 - pow(0.99, i + 1)) / (1 - pow(0.9, i + 1)));
    check(nx_write(in[2], &rate, sizeof rate, NULL));
    check(nx_function_call(f, in, 3, out, 2, &options));
    if (i > 0) later += report.kernel_misses;
    if (i == 0)
      printf("first step: %llu kernels and %llu library calls, %llu kernels compiled, %.0f ms\n",
             (unsigned long long)report.kernels, (unsigned long long)report.library_calls,
             (unsigned long long)report.kernel_misses, (began = now_ms()) - first);
    if (i % 100 == 0)
      printf("step %4d   loss %.4f   accuracy %.3f\n", i, value_of(out[0]),
             value_of(out[1]) / POINTS);
  }
  printf("%d more steps: %llu kernels compiled, %.3f ms a step\n", STEPS, (unsigned long long)later,
         (now_ms() - began) / STEPS);
  double accuracy = value_of(out[1]) / POINTS;
  nx_tensor_release(in[2]);
  nx_tensor_release(out[0]);
  nx_tensor_release(out[1]);
  nx_function_release(f);
  return accuracy;
}

/* ---- the picture */

/* The network at every pixel, in one go. */
static void predict(const network *net, float *belief) {
  nx_context *c = net->context;
  static float grid[SIDE * SIDE][2];
  nx_tensor *hidden[LAYERS];
  for (int i = 0; i < SIDE * SIDE; i++) {
    grid[i][0] = (float)(i % SIDE) / (SIDE / 2.0f) - 1;
    grid[i][1] = 1 - (float)(i / SIDE) / (SIDE / 2.0f);
  }
  nx_tensor *points = tensor_of(c, SIDE * SIDE, 2, grid);
  nx_scope *scope = nx_scope_begin(c);
  check(nx_read(sigmoid(net, forward(net, points, hidden)), belief, sizeof(float) * SIDE * SIDE,
                NULL));
  nx_scope_end(scope);
  nx_tensor_release(points);
}

static void put_pixel(uint8_t *rgb, int x, int y, uint8_t red, uint8_t green, uint8_t blue) {
  if (x < 0 || y < 0 || x >= SIDE || y >= SIDE) return;
  memcpy(rgb + 3 * (y * SIDE + x), (const uint8_t[3]){red, green, blue}, 3);
}

static void draw(const network *net, float (*points)[2], const float *targets, const char *path) {
  static float belief[SIDE * SIDE];
  static uint8_t rgb[SIDE * SIDE * 3];
  predict(net, belief);
  for (int i = 0; i < SIDE * SIDE; i++) {
    double b = (double)belief[i];
    put_pixel(rgb, i % SIDE, i / SIDE, (uint8_t)(70 + 150 * b), 130, (uint8_t)(220 - 150 * b));
  }
  for (int i = 0; i < POINTS; i++) {
    int x = (int)((points[i][0] + 1) * (SIDE / 2.0f)),
        y = (int)((1 - points[i][1]) * (SIDE / 2.0f));
    uint8_t shade = targets[i] > 0.5f ? 255 : 0;
    for (int k = 0; k < 4; k++) put_pixel(rgb, x + k % 2, y + k / 2, shade, shade, shade);
  }
  if (png_write(path, rgb, SIDE, SIDE)) printf("wrote %s\n", path);
  else fprintf(stderr, "spirals: %s cannot be written\n", path);
}

int main(int argc, char **argv) {
  static float points[POINTS][2], targets[POINTS];
  network net;
  nx_context *context;
  check(nx_context_create(NULL, &context));
  make_network(&net, context);
  make_points(points, targets);
  nx_tensor *x = tensor_of(context, POINTS, 2, points), *t = tensor_of(context, POINTS, 1, targets);
  double accuracy = train(&net, x, t);
  draw(&net, points, targets, argc > 1 ? argv[1] : "spirals.png");
  nx_tensor_release(x);
  nx_tensor_release(t);
  free_network(&net);
  nx_context_release(context);
  return accuracy < 0.95;
}
