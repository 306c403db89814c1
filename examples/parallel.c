/* SPDX-License-Identifier: ISC */
/* Data-parallel training on two spirals: each member of a group has the whole network, and a part
 * of the data. The data are 8 shards whatever the number of members. Gradients are computed for
 * each shard, and all_reduce adds them in the order of shards: so the loss has the same bits on 1,
 * 2, 4 and 8 members, be they devices of this process or processes.
 *
 * Usage: parallel                         on 1, 2, 4 and 8 devices of the processor
 *        mpirun -n 4 parallel --processes  each process is a member */
#include <nx/nx.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHARDS = 8, POINTS = 48, HIDDEN = 16, PARAMETERS = 4, STEPS = 300, MOST = 8 };

/* One member: its network, and its step. */
typedef struct member {
  nx_context *context;
  nx_device device;
  nx_group *group;
  nx_tensor *parameters[PARAMETERS]; /* weight and bias of each layer */
  nx_tensor *points, *targets;       /* [shards, POINTS, 2] and [shards, POINTS, 1] */
  nx_tensor *rate, *loss;
  nx_function *step;
} member;

static void check(nx_status status) {
  nx_error e = {.size = sizeof e};
  if (status == NX_OK) return;
  nx_error_take(&e);
  fprintf(stderr, "parallel: %s\n", e.message);
  exit(1);
}

/* ---- data: points of a square, and whether they are inside of a disc. The same everywhere. */

static double uniform(uint64_t *state) { /* in [-1, 1) */
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(int64_t)*state * 0x1p-63;
}

static nx_tensor *filled(const member *m, const int64_t *shape, int32_t rank, const float *data) {
  size_t n = 1;
  for (int32_t i = 0; i < rank; i++) n *= (size_t)shape[i];
  nx_tensor *t = nx_empty(m->context, m->device, NX_F32, shape, rank);
  check(nx_write(t, data, n * sizeof *data, NULL));
  return t;
}

/* The shards of one of `size` members: points of two spirals, half a turn apart. */
static void take_data(member *m, int32_t rank, int32_t size) {
  static float points[SHARDS * POINTS][2], targets[SHARDS * POINTS];
  uint64_t state = 1;
  int64_t shards = SHARDS / size;
  for (int i = 0; i < SHARDS * POINTS; i++) {
    double r = fabs(uniform(&state)), turn = 4 * r + 3.14159265358979 * (i % 2);
    points[i][0] = (float)(r * cos(turn));
    points[i][1] = (float)(r * sin(turn));
    targets[i] = (float)(i % 2);
  }
  int64_t first = rank * shards * POINTS;
  m->points = filled(m, NX_SHAPE(shards, POINTS, 2), points[first]);
  m->targets = filled(m, NX_SHAPE(shards, POINTS, 1), targets + first);
}

static void make_network(member *m) {
  static const int64_t shapes[PARAMETERS][2] = {{2, HIDDEN}, {1, HIDDEN}, {HIDDEN, 1}, {1, 1}};
  uint64_t state = 7;
  for (int i = 0; i < PARAMETERS; i++) {
    float data[2 * HIDDEN];
    for (int64_t j = 0; j < shapes[i][0] * shapes[i][1]; j++)
      data[j] = (float)(uniform(&state) * (i == 0 ? 3 : 1));
    m->parameters[i] = filled(m, shapes[i], 2, data);
  }
}

/* ---- a step */

static nx_tensor *scaled(nx_tensor *x, double by) { return nx_binary_f64(x, NX_BINARY_MUL, by); }

/* The sum over all shards of all members, of what each shard has. */
static nx_tensor *all_shards(const member *m, nx_tensor *x) {
  return nx_all_reduce(x, m->group, NX_REDUCE_SUM, NX_REDUCE_PARTS);
}

/* Of each shard: the gradients of all parameters, summed over its points. */
static void gradients(const member *m, nx_tensor *hidden, nx_tensor *wrong, nx_tensor **out) {
  nx_tensor *back = nx_matmul(wrong, nx_permute(m->parameters[2], NX_AXES(1, 0)));
  back = nx_mul(back, nx_binary_f64(nx_square(hidden), NX_BINARY_SUB, 1)); /* -(1 - tanh^2) */
  out[0] = nx_neg(nx_matmul(nx_permute(m->points, NX_AXES(0, 2, 1)), back));
  out[1] = nx_neg(nx_reduce_sum(back, NX_AXES(1), NX_KEEPDIMS));
  out[2] = nx_matmul(nx_permute(hidden, NX_AXES(0, 2, 1)), wrong);
  out[3] = nx_reduce_sum(wrong, NX_AXES(1), NX_KEEPDIMS);
}

/* Captures (rate) -> loss, which moves the parameters at every call. */
static void capture_step(member *m) {
  const double points = SHARDS * POINTS;
  nx_tensor *of[PARAMETERS], **p = m->parameters;
  nx_tensor *rate = nx_placeholder(m->context, m->device, NX_F32, NULL, 0);
  nx_scope *scope = nx_scope_begin(m->context);
  nx_tensor *hidden = nx_tanh(nx_add(nx_matmul(m->points, p[0]), p[1]));
  nx_tensor *z = nx_add(nx_matmul(hidden, p[2]), p[3]);
  nx_tensor *wrong = nx_sub(nx_logistic(z), m->targets);
  nx_tensor *each = nx_reduce_sum(nx_square(wrong), NX_AXES(1, 2), 0);
  nx_tensor *loss = scaled(all_shards(m, each), 1 / points);
  gradients(m, hidden, wrong, of);
  for (int i = 0; i < PARAMETERS; i++)
    check(nx_assign(p[i], nx_sub(p[i], nx_mul(all_shards(m, scaled(of[i], 1 / points)), rate))));
  check(nx_function_create(m->context, &rate, 1, &loss, 1, NULL, &m->step));
  nx_scope_end(scope);
  nx_tensor_release(rate);
}

static void begin_member(member *m, int32_t rank, int32_t size) {
  take_data(m, rank, size);
  make_network(m);
  m->loss = nx_empty(m->context, m->device, NX_F32, NULL, 0);
  m->rate = filled(m, NULL, 0, &(float){2});
  capture_step(m);
}

static void end_member(member *m) {
  for (int i = 0; i < PARAMETERS; i++) nx_tensor_release(m->parameters[i]);
  nx_tensor_release(m->points);
  nx_tensor_release(m->targets);
  nx_tensor_release(m->loss);
  nx_tensor_release(m->rate);
  nx_function_release(m->step);
  nx_group_release(m->group);
}

/* ---- training */

/* All members of this process take a step at once: each waits for the others. */
static void take_step(member *all, int n) {
  nx_event *events[MOST];
  for (int i = 0; i < n; i++)
    check(nx_function_call_async(all[i].step, &all[i].rate, 1, &all[i].loss, 1, NULL, &events[i]));
  for (int i = 0; i < n; i++) {
    check(nx_event_wait(events[i], NULL));
    nx_event_release(events[i]);
  }
}

/* The loss of the last step. */
static float train(member *all, int n, int32_t size, bool says) {
  float loss = 0;
  for (int i = 0; i <= STEPS; i++) {
    take_step(all, n);
    check(nx_read(all[0].loss, &loss, sizeof loss, NULL));
    if (says && i % 100 == 0) printf("%d members, step %3d: loss %.6f\n", size, i, (double)loss);
  }
  uint32_t bits;
  memcpy(&bits, &loss, sizeof bits);
  if (says) printf("%d members end with the bits %08x\n", size, bits);
  return loss;
}

static float on_devices(int32_t n) {
  nx_context_options o = {.size = sizeof o, .cpu_devices = n};
  member all[MOST];
  nx_device devices[MOST];
  nx_group *groups[MOST];
  nx_context *c;
  check(nx_context_create(&o, &c));
  for (int32_t i = 0; i < n; i++) devices[i] = i;
  check(nx_group_create(c, devices, (size_t)n, NULL, groups));
  for (int32_t i = 0; i < n; i++) {
    all[i] = (member){.context = c, .device = i, .group = groups[i]};
    begin_member(&all[i], i, n);
  }
  float loss = train(all, n, n, true);
  for (int32_t i = 0; i < n; i++) end_member(&all[i]);
  nx_context_release(c);
  return loss;
}

static float as_a_process(void) {
  member own = {.device = 0};
  check(nx_context_create(NULL, &own.context));
  check(nx_group_join(own.context, 0, NULL, 0, NULL, &own.group));
  int32_t rank = nx_group_rank(own.group), size = nx_group_size(own.group);
  if (SHARDS % size) {
    fprintf(stderr, "parallel: %d processes do not divide %d shards\n", size, SHARDS);
    exit(1);
  }
  begin_member(&own, rank, size);
  float loss = train(&own, 1, size, rank == 0);
  end_member(&own);
  nx_context_release(own.context);
  return loss;
}

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "--processes")) return !(as_a_process() < 0.05f);
  float first = on_devices(1);
  bool same = true;
  for (int32_t n = 2; n <= MOST; n *= 2) {
    same = on_devices(n) == first && same;
  }
  printf("%s\n", same ? "the same bits" : "the bits differ");
  return !same || !(first < 0.05f);
}
