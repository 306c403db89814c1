/* SPDX-License-Identifier: ISC */
/* The overhead of the library: recording, replaying, compiling, tiny graphs. */
#include <stdio.h>

#include "bench.h"

enum { CHAIN = 1000 };

typedef struct chain {
  bench_lab *lab;
  nx_tensor *x, *one;
  int nodes;
  bool realise, numbers;
} chain;

static void run_chain(void *state) {
  chain *c = state;
  nx_scope *scope = nx_scope_begin(c->lab->context);
  nx_tensor *y = c->x;
  for (int i = 0; c->numbers && i < c->nodes; i++)
    y = nx_binary_f64(y, i & 1 ? NX_BINARY_MUL : NX_BINARY_SUB, 0.5);
  for (int i = 0; !c->numbers && i < c->nodes; i++) y = i & 1 ? nx_mul(y, c->x) : nx_sub(y, c->one);
  if (c->realise) bench_check(nx_realize(c->lab->context, &y, 1, NULL));
  nx_scope_end(scope);
}

/* numbers: the second operand of each operation is one. */
static double time_chain(bench_lab *lab, int nodes, int64_t elements, bool realise, bool numbers) {
  chain c = {.lab = lab, .nodes = nodes, .realise = realise, .numbers = numbers};
  c.x = bench_random(lab, NX_F32, 1, &elements, -1, 1);
  c.one = bench_random(lab, NX_F32, 1, &elements, 0.1, 0.2);
  bench_way way = {.run = run_chain, .state = &c};
  bench_interleave(&way, 1, lab->rounds, 1e-3);
  nx_tensor_release(c.x);
  nx_tensor_release(c.one);
  return way.median;
}

static void recording(bench_lab *lab) {
  if (bench_wanted(&lab->out, "record one node"))
    bench_put(lab, "record one node", time_chain(lab, CHAIN, 64, false, false) / CHAIN * 1e3, 60e-6,
              1);
  if (bench_wanted(&lab->out, "record a number"))
    bench_put(lab, "record a number", time_chain(lab, CHAIN, 64, false, true) / CHAIN * 1e3, 60e-6,
              1);
}

/* The cost of realising a graph that was seen before, without recording. */
static void replay(bench_lab *lab) {
  static const int sizes[] = {1, 10, 100};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    char name[32];
    snprintf(name, sizeof name, "replay %d nodes", sizes[i]);
    if (!bench_wanted(&lab->out, name)) continue;
    double both = time_chain(lab, sizes[i], 4096, true, false),
           record = time_chain(lab, sizes[i], 4096, false, false);
    bench_put(lab, name, (both - record) * 1e3, (1.5 + 0.05 * sizes[i]) * 1e-3, sizes[i]);
  }
}

typedef struct growing {
  bench_lab *lab;
  nx_tensor *x, *one;
  int nodes;
} growing;

/* Each time the graph is longer by as many operations as one kernel has at most: its kernels are
 * known, its plan is not. */
static void run_growing(void *state) {
  growing *c = state;
  nx_tensor *y = nx_tensor_retain(c->x);
  c->nodes += 128;
  for (int i = 0; i < c->nodes; i++) {
    nx_tensor *next = i & 1 ? nx_neg(y) : nx_add(y, c->one);
    nx_tensor_release(y);
    y = next;
  }
  bench_check(nx_realize(c->lab->context, &y, 1, NULL));
  nx_tensor_release(y);
}

/* Records and realises long graphs that were not seen before. */
static void chains(bench_lab *lab) {
  static const struct {
    const char *name;
    int nodes, rounds;
    double target;
  } sizes[] = {{"chain 1e4", 10000, 25, 10}, {"chain 1e6", 1000000, 5, 1500}};
  int64_t n = 2;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    if (!bench_wanted(&lab->out, sizes[i].name)) continue;
    growing c = {.lab = lab, .nodes = sizes[i].nodes};
    c.x = bench_random(lab, NX_F32, 1, &n, -1, 1);
    c.one = bench_random(lab, NX_F32, 0, NULL, 0.1, 0.2);
    bench_way way = {.run = run_growing, .state = &c};
    bench_interleave(&way, 1, lab->rounds < sizes[i].rounds ? lab->rounds : sizes[i].rounds, 0);
    bench_put(lab, sizes[i].name, way.median * 1e3, sizes[i].target, sizes[i].nodes);
    nx_tensor_release(c.x);
    nx_tensor_release(c.one);
    nx_context_collect(lab->context); /* objects that died must not be freed during later rows */
  }
}

/* Kernels that differ in a constant of the code: each compiles. */
static void compiling(bench_lab *lab) {
  enum { KERNELS = 21 };
  double times[KERNELS];
  int64_t n = 4000000; /* so many that the first result waits for the code */
  if (!bench_wanted(&lab->out, "compile one kernel")) return;
  nx_tensor *x = bench_random(lab, NX_F32, 1, &n, -1, 1);
  for (int i = 0; i < KERNELS; i++) {
    nx_report report = {.size = sizeof report};
    nx_run_options o = {.size = sizeof o, .report = &report};
    nx_scope *scope = nx_scope_begin(lab->context);
    nx_tensor *y = nx_tanh(nx_add(nx_mul(x, x), x));
    for (int k = 0; k <= i; k++) y = nx_add(y, k & 1 ? x : y);
    bench_check(nx_realize(lab->context, &y, 1, &o));
    times[i] = report.compile_ms;
    nx_scope_end(scope);
  }
  for (int i = 0; i < KERNELS; i++) /* insertion sort */
    for (int k = i; k > 0 && times[k] < times[k - 1]; k--) {
      double t = times[k];
      times[k] = times[k - 1];
      times[k - 1] = t;
    }
  bench_put(lab, "compile one kernel", times[KERNELS / 2], 5, KERNELS);
  nx_tensor_release(x);
}

typedef struct reading {
  nx_tensor *x;
} reading;

static void read_item(void *state) {
  reading *r = state;
  int64_t index = 3;
  nx_scalar value;
  bench_check(nx_item(r->x, &index, 1, &value, NULL));
}

/* What a frontend does for `(a + b)[3]`. */
typedef struct small_sum {
  bench_lab *lab;
  nx_tensor *a, *b;
  nx_function *f;
} small_sum;

static void run_small_sum(void *state) {
  small_sum *s = state;
  int64_t index = 3;
  nx_scalar value;
  nx_tensor *y = nx_add(s->a, s->b);
  bench_check(nx_item(y, &index, 1, &value, NULL));
  nx_tensor_release(y);
}
static void call_small_sum(void *state) {
  small_sum *s = state;
  nx_tensor *in[] = {s->a, s->b}, *out = NULL;
  bench_check(nx_function_call(s->f, in, 2, &out, 1, NULL));
  nx_tensor_release(out);
}

static void capture_small_sum(small_sum *s, const int64_t *shape) {
  nx_context *c = s->lab->context;
  nx_tensor *in[2], *y;
  for (int i = 0; i < 2; i++) in[i] = nx_placeholder(c, 0, NX_F32, shape, 1);
  y = nx_add(in[0], in[1]);
  bench_check(nx_function_create(c, in, 2, &y, 1, NULL, &s->f));
  nx_tensor_release(in[0]);
  nx_tensor_release(in[1]);
  nx_tensor_release(y);
}

static void small_sums(bench_lab *lab) {
  const bench_operand o = {.dtype = NX_F32, .rank = 1, .shape = {10}, .low = -1, .high = 1};
  small_sum s = {
      .lab = lab, .a = bench_operand_make(lab, &o, 0), .b = bench_operand_make(lab, &o, 1)};
  bench_case c = {.name = "add 10 and one element",
                  .dtype = "f32",
                  .size = 10,
                  .own = {.run = run_small_sum, .state = &s},
                  .peer = "sumitem f32:10:-1:1 f32:10:-1:1",
                  .target = 1.5e-3};
  if (bench_wanted(&lab->out, c.name)) bench_measure(lab, &c);
  capture_small_sum(&s, o.shape);
  c.name = "add 10 called";
  c.own.run = call_small_sum;
  c.peer = "sum f32:10:-1:1 f32:10:-1:1";
  c.target = 1e-3;
  if (bench_wanted(&lab->out, c.name)) bench_measure(lab, &c);
  nx_function_release(s.f);
  nx_tensor_release(s.a);
  nx_tensor_release(s.b);
}

/* Many sums that do not depend on each other, realised at once. */
enum { MANY = 1000 };
typedef struct many_sums {
  bench_lab *lab;
  nx_tensor *x;
} many_sums;

static void run_many_sums(void *state) {
  many_sums *m = state;
  static nx_tensor *y[MANY];
  nx_scope *scope = nx_scope_begin(m->lab->context);
  for (int64_t i = 0; i < MANY; i++) {
    nx_tensor *row = nx_shrink(m->x, (int64_t[]){i, 0}, (int64_t[]){i + 1, MANY}, 2);
    y[i] = nx_binary_f64(row, NX_BINARY_ADD, 1);
  }
  bench_check(nx_realize(m->lab->context, y, MANY, NULL));
  nx_scope_end(scope);
}

static void many(bench_lab *lab) {
  const bench_operand o = {.dtype = NX_F32, .rank = 2, .shape = {MANY, MANY}, .low = -2, .high = 2};
  if (!bench_wanted(&lab->out, "1000 sums of 1000 at once")) return;
  many_sums m = {.lab = lab, .x = bench_operand_make(lab, &o, 0)};
  bench_measure(lab, &(bench_case){.name = "1000 sums of 1000 at once",
                                   .dtype = "f32",
                                   .size = MANY * MANY,
                                   .own = {.run = run_many_sums, .state = &m},
                                   .peer = "manysums f32:1000x1000:-2:2"});
  nx_tensor_release(m.x);
}

static void items(bench_lab *lab) {
  int64_t n = 64;
  if (!bench_wanted(&lab->out, "one element")) return;
  reading r = {bench_random(lab, NX_F32, 1, &n, -1, 1)};
  bench_way way = {.run = read_item, .state = &r};
  bench_interleave(&way, 1, lab->rounds, 1e-3);
  bench_put(lab, "one element", way.median * 1e3, 0, 1);
  nx_tensor_release(r.x);
}

static void describe(void *state) {
  reading *r = state;
  for (int i = 0; i < CHAIN; i++) {
    nx_tensor_info info = {.size = sizeof info};
    nx_tensor_describe(r->x, &info);
  }
}

static void descriptions(bench_lab *lab) {
  int64_t n = 64;
  if (!bench_wanted(&lab->out, "describe a tensor")) return;
  reading r = {bench_random(lab, NX_F32, 1, &n, -1, 1)};
  bench_way way = {.run = describe, .state = &r};
  bench_interleave(&way, 1, lab->rounds, 1e-3);
  bench_put(lab, "describe a tensor", way.median / CHAIN * 1e3, 20e-6, 1);
  nx_tensor_release(r.x);
}

void bench_overhead(bench_lab *lab) {
  small_sums(lab);
  many(lab);
  if (lab->rounds == 0) return; /* the others have no peers */
  recording(lab);
  replay(lab);
  if (bench_wanted(&lab->out, "tiny 15 nodes of 64"))
    bench_put(lab, "tiny 15 nodes of 64", time_chain(lab, 15, 64, true, false) * 1e3, 0, 15);
  items(lab);
  descriptions(lab);
  chains(lab);
  compiling(lab);
}
