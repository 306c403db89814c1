/* SPDX-License-Identifier: ISC */
/* A recurrent network by scans. It reads waves, sample by sample, and says what comes next. The
 * forward scan carries the state and stacks all states; the backward one walks the stacks in
 * reverse, carries the gradient of the state, and adds up those of the weights. Both are in one
 * function, which is called once a training step and moves the weights in place. */
#include <math.h>
#include <nx/nx.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIME = 40, BATCH = 32, STATE = 24, STEPS = 400, WEIGHTS = 5 };

/* state = tanh(x in + state recurrent + bias); y = state out + shift */
enum { IN, RECURRENT, BIAS, OUT, SHIFT };
static const int64_t shapes[WEIGHTS][2] = {
    {1, STATE}, {STATE, STATE}, {1, STATE}, {STATE, 1}, {1, 1}};

typedef struct network {
  nx_context *context;
  nx_tensor *weights[WEIGHTS], *moments[WEIGHTS][2];
} network;

static void check(nx_status status) {
  nx_error e = {.size = sizeof e};
  if (status == NX_OK) return;
  nx_error_take(&e);
  fprintf(stderr, "rnn: %s\n", e.message);
  exit(1);
}

static double uniform(void) {
  static uint64_t state = 7;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(state >> 11) * 0x1p-53;
}

static nx_tensor *number(nx_context *c, double x) {
  return nx_full(c, 0, NX_F32, NULL, 0, NX_NUMBER(x));
}
static nx_tensor *zeros(nx_context *c, int64_t rows, int64_t columns) {
  return nx_full(c, 0, NX_F32, NX_SHAPE(rows, columns), NX_NUMBER(0));
}
static nx_tensor *turned(nx_tensor *x) { return nx_permute(x, NX_AXES(1, 0)); }
static nx_tensor *input(nx_context *c, int64_t rows, int64_t columns) {
  return nx_placeholder(c, 0, NX_F32, NX_SHAPE(rows, columns));
}

/* ---- the bodies of the scans */

/* Carried: the state. Captured: in, recurrent, bias. Slice: x. Stacked: the new state. */
static nx_function *forward_step(nx_context *c) {
  nx_function *f;
  nx_scope *scope = nx_scope_begin(c);
  nx_tensor *in[5] = {input(c, BATCH, STATE), input(c, 1, STATE), input(c, STATE, STATE),
                      input(c, 1, STATE), input(c, BATCH, 1)};
  nx_tensor *sum = nx_add(nx_add(nx_matmul(in[4], in[1]), nx_matmul(in[0], in[2])), in[3]),
            *state = nx_tanh(sum), *out[2] = {state, state};
  check(nx_function_create(c, in, 5, out, 2, NULL, &f));
  nx_scope_end(scope);
  return f;
}

/* Carried: the gradient of the state as later steps make it, those of in, recurrent and bias.
 * Captured: recurrent, out. Slices: x, the state before, the state, the gradient of y. */
static nx_function *backward_step(nx_context *c) {
  nx_function *f;
  nx_scope *scope = nx_scope_begin(c);
  nx_tensor *later = input(c, BATCH, STATE),
            *sums[3] = {input(c, 1, STATE), input(c, STATE, STATE), input(c, 1, STATE)},
            *recurrent = input(c, STATE, STATE), *read = input(c, STATE, 1),
            *x = input(c, BATCH, 1), *before = input(c, BATCH, STATE),
            *state = input(c, BATCH, STATE), *of_y = input(c, BATCH, 1);
  nx_tensor *of_state = nx_add(later, nx_matmul(of_y, turned(read))),
            *of_sum = nx_mul(of_state, nx_sub(number(c, 1), nx_mul(state, state)));
  nx_tensor *in[10] = {later, sums[0], sums[1], sums[2], recurrent, read, x, before, state, of_y};
  nx_tensor *out[4] = {nx_matmul(of_sum, turned(recurrent)),
                       nx_add(sums[0], nx_matmul(turned(x), of_sum)),
                       nx_add(sums[1], nx_matmul(turned(before), of_sum)),
                       nx_add(sums[2], nx_reduce_sum(of_sum, NX_AXES(0), NX_KEEPDIMS))};
  check(nx_function_create(c, in, 10, out, 4, NULL, &f));
  nx_scope_end(scope);
  return f;
}

/* ---- one step of training */

/* All states, [TIME, BATCH, STATE]. */
static nx_tensor *states_of(const network *net, nx_tensor *x) {
  nx_context *c = net->context;
  nx_function *f = forward_step(c);
  nx_tensor *first = zeros(c, BATCH, STATE), *out[2] = {NULL};
  check(nx_scan(f, TIME, &first, 1, net->weights, 3, &x, 1, NULL, out, 2));
  nx_function_release(f);
  return out[1];
}

/* Gradients of all weights, from that of y. */
static void backward(const network *net, nx_tensor *x, nx_tensor *states, nx_tensor *of_y,
                     nx_tensor **gradients) {
  nx_context *c = net->context;
  nx_function *f = backward_step(c);
  nx_tensor *first = nx_full(c, 0, NX_F32, NX_SHAPE(1, BATCH, STATE), NX_NUMBER(0)),
            *all_but_last = nx_shrink(states, (const int64_t[]){0, 0, 0},
                                      (const int64_t[]){TIME - 1, BATCH, STATE}, 3),
            *before = nx_cat((nx_tensor *[]){first, all_but_last}, 2, 0);
  nx_tensor *init[4] = {zeros(c, BATCH, STATE), zeros(c, 1, STATE), zeros(c, STATE, STATE),
                        zeros(c, 1, STATE)},
            *stacks[4] = {x, before, states, of_y}, *out[4] = {NULL};
  nx_loop_options reverse = {.size = sizeof reverse, .reverse = 1};
  check(nx_scan(f, TIME, init, 4, (nx_tensor *[]){net->weights[RECURRENT], net->weights[OUT]}, 2,
                stacks, 4, &reverse, out, 4));
  nx_function_release(f);
  for (int i = 0; i < 3; i++) gradients[i] = out[i + 1];
  nx_tensor *rows = nx_reshape(states, NX_SHAPE(TIME * BATCH, STATE), 0),
            *column = nx_reshape(of_y, NX_SHAPE(TIME * BATCH, 1), 0);
  gradients[OUT] = nx_matmul(turned(rows), column);
  gradients[SHIFT] = nx_reduce_sum(column, NX_AXES(0), NX_KEEPDIMS);
}

/* Adam, in place. */
static void update(network *net, int i, nx_tensor *gradient, nx_tensor *rate) {
  nx_context *c = net->context;
  nx_tensor *of[2] = {gradient, nx_mul(gradient, gradient)};
  const double decay[2] = {0.9, 0.99};
  for (int k = 0; k < 2; k++)
    check(nx_assign(net->moments[i][k], nx_add(nx_mul(net->moments[i][k], number(c, decay[k])),
                                               nx_mul(of[k], number(c, 1 - decay[k])))));
  nx_tensor *by = nx_div(net->moments[i][0], nx_add(nx_sqrt(net->moments[i][1]), number(c, 1e-8)));
  check(nx_assign(net->weights[i], nx_sub(net->weights[i], nx_mul(rate, by))));
}

/* (x, what comes next, rate) -> mean square of the error. */
static nx_function *capture_training(network *net) {
  nx_context *c = net->context;
  nx_function *f;
  nx_scope *scope = nx_scope_begin(c);
  nx_tensor *in[3] = {nx_placeholder(c, 0, NX_F32, NX_SHAPE(TIME, BATCH, 1)),
                      nx_placeholder(c, 0, NX_F32, NX_SHAPE(TIME, BATCH, 1)),
                      nx_placeholder(c, 0, NX_F32, NULL, 0)};
  nx_tensor *states = states_of(net, in[0]),
            *y = nx_add(
                nx_matmul(nx_reshape(states, NX_SHAPE(TIME * BATCH, STATE), 0), net->weights[OUT]),
                net->weights[SHIFT]),
            *error = nx_sub(nx_reshape(y, NX_SHAPE(TIME, BATCH, 1), 0), in[1]),
            *scale = number(c, 1.0 / (TIME * BATCH)), *gradients[WEIGHTS];
  nx_tensor *loss = nx_mul(nx_reduce_sum(nx_mul(error, error), NX_AXES(0, 1, 2), 0), scale);
  backward(net, in[0], states, nx_mul(error, nx_mul(scale, number(c, 2))), gradients);
  for (int i = 0; i < WEIGHTS; i++) update(net, i, gradients[i], in[2]);
  check(nx_function_create(c, in, 3, &loss, 1, NULL, &f));
  nx_scope_end(scope);
  return f;
}

/* ---- weights and waves */

static nx_tensor *random_weights(nx_context *c, int64_t rows, int64_t columns, double most) {
  static float values[STATE * STATE];
  for (int64_t i = 0; i < rows * columns; i++) values[i] = (float)(most * (2 * uniform() - 1));
  nx_tensor *t = nx_empty(c, 0, NX_F32, NX_SHAPE(rows, columns));
  check(nx_write(t, values, (size_t)(rows * columns) * sizeof *values, NULL));
  return t;
}

/* The sum of two sines of random frequencies and phases, and the same one sample later. Returns the
 * mean square of the difference. */
static double make_waves(nx_tensor *x, nx_tensor *next) {
  static float waves[TIME + 1][BATCH];
  double sum = 0;
  for (int b = 0; b < BATCH; b++) {
    double fast = 0.4 + 0.4 * uniform(), slow = 0.1 + 0.1 * uniform(), at = 6.28 * uniform();
    for (int t = 0; t <= TIME; t++)
      waves[t][b] = (float)(0.5 * sin(fast * t + at) + 0.5 * sin(slow * t + 2 * at));
  }
  check(nx_write(x, waves[0], sizeof(float) * TIME * BATCH, NULL));
  check(nx_write(next, waves[1], sizeof(float) * TIME * BATCH, NULL));
  for (int t = 0; t < TIME; t++)
    for (int b = 0; b < BATCH; b++) sum += pow((double)(waves[t + 1][b] - waves[t][b]), 2);
  return sum / (TIME * BATCH);
}

int main(void) {
  network net;
  check(nx_context_create(NULL, &net.context));
  nx_context *c = net.context;
  nx_scope *scope = nx_scope_begin(c);
  for (int i = 0; i < WEIGHTS; i++) {
    double most = i == BIAS || i == SHIFT ? 0 : i == IN ? 0.5 : 1 / sqrt(STATE);
    net.weights[i] = random_weights(c, shapes[i][0], shapes[i][1], most);
    for (int k = 0; k < 2; k++)
      net.moments[i][k] = random_weights(c, shapes[i][0], shapes[i][1], 0);
  }
  nx_function *f = capture_training(&net);
  nx_tensor *in[3] = {nx_empty(c, 0, NX_F32, NX_SHAPE(TIME, BATCH, 1)),
                      nx_empty(c, 0, NX_F32, NX_SHAPE(TIME, BATCH, 1)),
                      nx_empty(c, 0, NX_F32, NULL, 0)},
            *loss = nx_empty(c, 0, NX_F32, NULL, 0);
  double last = 0, unchanged = 0;
  for (int i = 0; i <= STEPS; i++) {
    float rate = (float)(0.01 * (1 - 0.9 * i / STEPS));
    nx_scalar value;
    unchanged = make_waves(in[0], in[1]);
    check(nx_write(in[2], &rate, sizeof rate, NULL));
    check(nx_function_call(f, in, 3, &loss, 1, NULL));
    check(nx_item(loss, NULL, 0, &value, NULL));
    last = value.v.f[0];
    if (i % 100 == 0) printf("step %3d   mean square of the error %.5f\n", i, last);
  }
  printf("of who says that nothing changes: %.5f\n", unchanged);
  nx_scope_end(scope);
  nx_function_release(f);
  nx_context_release(c);
  return last > 0.25 * unchanged;
}
