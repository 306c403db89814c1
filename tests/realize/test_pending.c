/* SPDX-License-Identifier: ISC */
/* What is recorded and not computed: state that loops assign and rarely read, the flags that ask
 * actions for more than they are about, and the counters of what waits. */
#include <time.h>
#include <unistd.h>

#include "tests/util/api.h"
#include "tests/util/share.h"

static bool is_realized(nx_tensor *t) {
  nx_tensor_info i = {.size = sizeof i};
  nx_tensor_describe(t, &i);
  return i.flags & NX_TENSOR_REALIZED;
}

/* ---- loops. `w` is what a step trains, m and v are its moments, `key` a generator's */

enum { SIDE = 24, ROWS = 8 };
typedef struct model {
  nx_tensor *w, *m, *v, *key, *x, *cache, *at;
} model;

static nx_tensor *filled(int64_t rows, float value) {
  return GOOD(nx_copy(nx_full(ctx, device(), NX_F32, NX_SHAPE(rows, SIDE), NX_NUMBER(value))));
}

static nx_tensor *square(nx_tensor *y) {
  return GOOD(nx_reduce_sum(nx_mul(y, y), NX_AXES(0, 1), 0));
}

static nx_tensor *turned(nx_tensor *x) { return GOOD(nx_permute(x, NX_AXES(1, 0))); }

static nx_tensor *plain_step(model *k) {
  nx_tensor *y = nx_matmul(k->x, k->w);
  OK(nx_assign(k->w, nx_sub(k->w, nx_mul(nx_matmul(turned(k->x), y), number(1e-3f)))));
  return square(y);
}

static nx_tensor *momentum_step(model *k) {
  nx_tensor *y = nx_tanh(nx_matmul(k->x, k->w));
  nx_tensor *g = nx_matmul(turned(k->x), y);
  OK(nx_assign(k->m, nx_add(nx_mul(k->m, number(0.9f)), g)));
  OK(nx_assign(k->w, nx_sub(k->w, nx_mul(k->m, number(1e-3f)))));
  return square(y);
}

static nx_tensor *adam_step(model *k) {
  nx_tensor *y = nx_matmul(k->x, k->w), *g = nx_matmul(turned(k->x), y);
  nx_tensor *old = number(0.9f), *new = number(0.1f);
  OK(nx_assign(k->m, nx_add(nx_mul(k->m, old), nx_mul(g, new))));
  OK(nx_assign(k->v, nx_add(nx_mul(k->v, old), nx_mul(nx_mul(g, g), new))));
  nx_tensor *step = nx_div(k->m, nx_add(nx_sqrt(k->v), number(1e-4f)));
  OK(nx_assign(k->w, nx_sub(k->w, nx_mul(step, number(1e-3f)))));
  return square(y);
}

/* The weights are read after they have been assigned, and a part of them is. */
static nx_tensor *late_step(model *k) {
  nx_tensor *y = nx_matmul(k->x, k->w), *g = nx_matmul(turned(k->x), y);
  nx_tensor *top = GOOD(nx_shrink(k->w, (int64_t[]){0, 0}, (int64_t[]){2, SIDE}, 2));
  OK(nx_assign(k->w, nx_sub(k->w, nx_mul(g, number(1e-3f)))));
  OK(nx_assign(top, nx_mul(top, number(0.5f))));
  return square(nx_matmul(k->x, k->w));
}

static nx_tensor *generator_step(model *k) {
  nx_tensor *words = GOOD(
      nx_threefry(k->key, nx_add(k->key, nx_full(ctx, device(), NX_U32, NULL, 0, NX_NUMBER(3)))));
  OK(nx_assign(k->key, words));
  nx_tensor *noise = nx_cast(nx_reduce_max(words, NX_AXES(0, 1), 0), NX_F32);
  OK(nx_assign(k->w, nx_add(k->w, nx_mul(noise, number(1e-12f)))));
  return square(nx_matmul(k->x, k->w));
}

/* A row of the cache is written, all of it is read: as in generating text. */
static nx_tensor *cache_step(model *k) {
  nx_tensor *row = GOOD(nx_shrink(k->cache, (int64_t[]){3, 0}, (int64_t[]){4, SIDE}, 2));
  nx_tensor *new = nx_reduce_sum(nx_matmul(k->x, k->w), NX_AXES(0), 1);
  OK(nx_assign(row, nx_add(nx_mul(row, number(0.5f)), new)));
  OK(nx_assign(k->w, nx_mul(k->w, number(0.99f))));
  return square(nx_matmul(k->cache, k->w));
}

typedef struct variant {
  const char *name;
  nx_tensor *(*step)(model *);
  int every;     /* how many steps to a look at the loss */
  bool released; /* the temporaries of a step are gone before it is read */
  bool garbage;  /* or nothing of them is released before the loop ends */
} variant;

static const variant variants[] = {
    {"plain", plain_step, 1, false, false},
    {"plain, released", plain_step, 1, true, false},
    {"plain, garbage", plain_step, 1, false, true},
    {"plain, each tenth", plain_step, 10, true, false},
    {"momentum", momentum_step, 1, true, false},
    {"momentum, each tenth", momentum_step, 10, false, false},
    {"adam", adam_step, 1, true, false},
    {"adam, garbage", adam_step, 1, false, true},
    {"adam, each tenth", adam_step, 10, true, false},
    {"late", late_step, 1, true, false},
    {"generator", generator_step, 1, true, false},
    {"generator, each tenth", generator_step, 10, true, false},
    {"cache", cache_step, 1, true, false},
};

static void begin(model *k) {
  k->w = filled(SIDE, 0.01f);
  k->m = filled(SIDE, 0), k->v = filled(SIDE, 0);
  k->x = filled(ROWS, 0.5f), k->cache = filled(ROWS, 0);
  k->key = GOOD(nx_copy(nx_full(ctx, device(), NX_U32, NX_SHAPE(5, 2), NX_NUMBER(7))));
  nx_tensor *all[] = {k->w, k->m, k->v, k->x, k->cache, k->key};
  OK(nx_realize(ctx, all, 6, NULL));
}

static void end(model *k) {
  nx_tensor *all[] = {k->w, k->m, k->v, k->x, k->cache, k->key};
  for (int i = 0; i < 6; i++) release(all[i]);
}

static double look(nx_tensor *loss, nx_report *r) {
  *r = (nx_report){.size = sizeof *r};
  nx_run_options o = {.size = sizeof o, .report = r};
  nx_scalar v;
  OK(nx_item(loss, NULL, 0, &v, &o));
  return v.v.f[0];
}

enum { STEPS = 120, SETTLED = 60 };

/* eager: all state is realised after each step, so nothing can pile up. */
static double train(const variant *t, bool eager) {
  model k;
  uint64_t nodes = 0;
  double loss = 0;
  begin(&k);
  for (int step = 1; step <= STEPS; step++) {
    nx_report r;
    nx_scope *s = nx_scope_begin(ctx);
    nx_tensor *value = t->step(&k);
    if (t->released) nx_keep(value), nx_scope_end(s);
    nx_tensor *all[] = {k.w, k.m, k.v, k.cache, k.key};
    if (eager) OK(nx_realize(ctx, all, 5, NULL));
    if (step % t->every == 0) {
      loss = look(value, &r);
      if (step == SETTLED) nodes = r.nodes;
      if (!eager && step > SETTLED && (r.nodes != nodes || r.plan_misses)) {
        print_error("%s, step %d: %u nodes, at step %d %u; %u plan misses\n", t->name, step,
                    (unsigned)r.nodes, SETTLED, (unsigned)nodes, (unsigned)r.plan_misses);
        fail();
      }
    }
    if (t->released) release(value);
    else if (!t->garbage) nx_scope_end(s);
  }
  nx_tensor *sum = square(k.w);
  nx_report r;
  loss += look(sum, &r);
  release(sum);
  end(&k);
  return loss;
}

static void state_is_computed_once(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
    nx_scope *s = nx_scope_begin(ctx);
    double lazy = train(&variants[i], false), eager = train(&variants[i], true);
    nx_scope_end(s);
    if (memcmp(&lazy, &eager, sizeof lazy)) {
      print_error("%s: %.17g lazily, %.17g step by step\n", variants[i].name, lazy, eager);
      fail();
    }
  }
}

/* A value that is needed further is kept, one that is not is a temporary as before. */
static void only_needed_state_is_kept(void **state) {
  (void)state;
  nx_tensor *w = filled(SIDE, 1), *x = filled(ROWS, 1);
  nx_tensor *both[] = {w, x};
  OK(nx_realize(ctx, both, 2, NULL));
  OK(nx_assign(w, nx_mul(w, number(3))));
  nx_tensor *y = square(nx_matmul(x, w));
  OK(nx_realize(ctx, &y, 1, NULL));
  assert_true(is_realized(w)); /* y needed it, and w has a handle */
  OK(nx_assign(w, nx_mul(w, number(3))));
  nx_tensor *z = square(nx_matmul(x, w));
  release(w);
  nx_context_collect(ctx);
  nx_stats before = {.size = sizeof before}, after = before;
  nx_context_stats(ctx, &before);
  OK(nx_realize(ctx, &z, 1, NULL));
  nx_context_stats(ctx, &after);
  assert_true(after.live_bytes <= before.live_bytes + 4096);
  nx_tensor *c = vector(5, 0, 1); /* a constant costs nothing twice: it goes on being fused */
  OK(nx_assign(c, nx_full(ctx, device(), NX_F32, NULL, 0, NX_NUMBER(7))));
  nx_tensor *d = nx_add(c, vector(5, 0, 1));
  OK(nx_realize(ctx, &d, 1, NULL));
  assert_false(is_realized(c));
  EXPECT(c, 7, 7, 7, 7, 7);
}

/* ---- recording without end */

static uint64_t resident(void) {
  unsigned long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%*s %lu", &pages) != 1) pages = 0;
  if (f) fclose(f);
  return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* As embedding.md says: what waits is looked at after each step, and computed when it is too
 * much. */
static void hours_of_recording_in_bounded_memory(void **state) {
  (void)state;
  enum { LONG = 100000 };
  nx_tensor *w = vector(64, 0, 1), *mean = constant(64, 0), *total = number(0);
  uint64_t most = 0, settled = 0, runs = 0;
  nx_run_options all = {.size = sizeof all, .flags = NX_DO_PENDING};
  for (int step = 0; step < LONG; step++) {
    nx_scope *s = nx_scope_begin(ctx);
    OK(nx_assign(w, nx_mul(nx_add(w, number(1)), number(0.5f))));
    OK(nx_assign(mean, nx_add(nx_mul(mean, number(0.25f)), w)));
    OK(nx_assign(total, nx_add(total, nx_reduce_sum(w, NX_AXES(0), 0))));
    nx_scope_end(s);
    uint64_t bytes, waiting = nx_pending(ctx, &bytes);
    if (waiting > 500 || bytes > 1 << 20) {
      OK(nx_realize(ctx, NULL, 0, &all));
      runs++;
    }
    if (waiting > most) most = waiting;
    if (step == LONG / 4) settled = resident();
  }
  assert_true(runs > 1000 && most < 600);
  nx_stats s = {.size = sizeof s};
  nx_context_collect(ctx);
  nx_context_stats(ctx, &s);
  assert_true(s.live_bytes < 100000 && s.pending_bytes < 200000);
  /* A sanitizer keeps what was freed, up to 256 MB. */
  if (!SANITIZED) assert_true(resident() < settled + (8u << 20));
}

/* ---- what actions are asked for */

enum { ACTIONS = 9 };

static nx_status act(int action, nx_tensor *t, const nx_run_options *o) {
  static char npy[] = "/tmp/nx_pending_XXXXXX.npy", safe[] = "/tmp/nx_pending_XXXXXX.st";
  float data[10] = {0};
  nx_scalar v;
  nx_mapping *m = NULL;
  nx_tensor *out = NULL;
  nx_status status = NX_OK;
  switch (action) {
    case 0: return nx_realize(ctx, &t, 1, o);
    case 1: return nx_item(t, (int64_t[]){3}, 1, &v, o);
    case 2: return nx_read(t, data, sizeof data, o);
    case 3: return nx_write(t, data, sizeof data, o);
    case 4:
      status = nx_map(t, NX_MAP_READ, o, &m);
      nx_mapping_release(m);
      return status;
    case 5: {
      nx_tensor *p = GOOD(nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(10))), *r = nx_neg(p);
      nx_function *f = NULL;
      OK(nx_function_create(ctx, &p, 1, &r, 1, NULL, &f));
      status = nx_function_call(f, &t, 1, &out, 1, o);
      nx_function_release(f);
      return status;
    }
    case 6:
      status = nx_save_npy(t, npy, o);
      unlink(npy);
      return status;
    case 7:
      status = nx_save_safetensors(ctx, safe, &(nx_named_tensor){"a", t}, 1, NULL, 0, o);
      unlink(safe);
      return status;
    default: return nx_end_sharing(t, o);
  }
}

static void every_action_obeys_the_flags(void **state) {
  (void)state;
  nx_run_options pending = {.size = sizeof pending, .flags = NX_DO_PENDING};
  nx_run_options none = {.size = sizeof none}, bad = {.size = sizeof bad, .flags = 8};
  nx_tensor *x = vector(10, 0, 1);
  OK(nx_realize(ctx, &x, 1, NULL));
  for (int i = 0; i < ACTIONS; i++) {
    nx_tensor *y = GOOD(nx_add(x, x)), *z = GOOD(nx_mul(x, x)), *u = GOOD(nx_sqrt(y));
    OK(act(i, z, &none));
    assert_false(is_realized(u));
    FAILS(NX_INVALID_ARGUMENT, act(i, z, &bad));
    OK(act(i, z, &pending));
    if (!is_realized(u) || !is_realized(y)) {
      print_error("action %d\n", i);
      fail();
    }
  }
}

/* Each value of a loop is kept, some by two names, and consumed by the next: nothing waits
 * afterwards. */
static void a_chain_that_is_kept(void **state) {
  (void)state;
  nx_run_options pending = {.size = sizeof pending, .flags = NX_DO_PENDING};
  nx_tensor *kept[100], *twice[10], *x = vector(10, 0, 1);
  for (int i = 0; i < 100; i++) {
    x = kept[i] = GOOD(nx_neg(nx_sqrt(nx_abs(x))));
    if (i % 10 == 0) twice[i / 10] = GOOD(nx_copy(x));
  }
  assert_true(nx_pending(ctx, NULL) >= 300);
  OK(nx_realize(ctx, NULL, 0, &pending));
  assert_int_equal(nx_pending(ctx, NULL), 0);
  for (int i = 0; i < 100; i++) assert_true(is_realized(kept[i]));
  for (int i = 0; i < 10; i++) assert_true(is_realized(twice[i]));
}

/* A leftover that cannot be computed fails the action; the others are computed all the same. */
static void a_failing_leftover(void **state) {
  (void)state;
  nx_run_options pending = {.size = sizeof pending, .flags = NX_DO_PENDING};
  nx_tensor *x = vector(4, 1, 1), *bad = number(9), *index = GOOD(nx_cast(bad, NX_I32));
  nx_tensor *a = GOOD(nx_neg(x)), *far = GOOD(nx_expand(index, NX_SHAPE(4)));
  nx_tensor *gone = GOOD(nx_gather(x, far, 0)), *b = GOOD(nx_cos(x));
  nx_scalar v = {NX_SCALAR_I64, {.i = 77}};
  FAILS(NX_INDEX_OUT_OF_RANGE, nx_item(a, (int64_t[]){1}, 1, &v, &pending));
  assert_true(v.kind == NX_SCALAR_I64 && v.v.i == 77);
  assert_true(is_realized(a) && is_realized(b) && !is_realized(gone));
  release(gone);
  OK(nx_item(a, (int64_t[]){1}, 1, &v, &pending));
  assert_true(v.v.f[0] == -2);
}

/* Unrelated leftovers are not one graph: each comes again, whatever lives beside it. */
static void leftovers_meet_their_plans_again(void **state) {
  (void)state;
  nx_run_options pending = {.size = sizeof pending, .flags = NX_DO_PENDING};
  nx_tensor *x = vector(50, 1, 1), *y = vector(50, 2, 1);
  nx_tensor *both[] = {x, y};
  OK(nx_realize(ctx, both, 2, NULL));
  uint32_t late = 0;
  for (int round = 0; round < 64; round++) {
    nx_tensor *made[6] = {0};
    nx_scope *s = nx_scope_begin(ctx);
    nx_report r = {.size = sizeof r};
    nx_run_options o = pending;
    o.report = &r;
    int wanted = round < 6 ? 1 << round : round;
    if (wanted & 1) made[0] = nx_sin(x);
    if (wanted & 2) made[1] = nx_mul(x, y);
    if (wanted & 4) made[2] = nx_exp(nx_neg(x));
    if (wanted & 8) made[3] = nx_reduce_sum(nx_mul(y, y), NX_AXES(0), 0);
    if (wanted & 16) made[4] = nx_sub(nx_cos(y), x);
    if (wanted & 32) made[5] = nx_sqrt(nx_add(x, number(0.25f)));
    OK(nx_realize(ctx, NULL, 0, &o));
    if (round >= 6) late += (uint32_t)r.plan_misses;
    for (int i = 0; i < 6; i++) assert_true(!made[i] || is_realized(made[i]));
    nx_scope_end(s);
  }
  assert_int_equal(late, 0);
  /* what shares an operation is one graph, and computes it once */
  nx_tensor *shared =
      nx_matmul(nx_reshape(x, NX_SHAPE(5, 10), 0), nx_reshape(y, NX_SHAPE(10, 5), 0));
  nx_tensor *a = nx_neg(shared), *b = nx_reduce_sum(shared, NX_AXES(0, 1), 0);
  nx_report r = {.size = sizeof r};
  pending.report = &r;
  OK(nx_realize(ctx, &b, 1, &pending));
  assert_true(r.runs == 1 && is_realized(a) && is_realized(b));
}

/* ---- counters */

static void counters_follow_the_work(void **state) {
  (void)state;
  uint64_t bytes = 1;
  nx_context_collect(ctx);
  uint64_t before = nx_pending(ctx, &bytes), at_first = bytes;
  nx_stats s = {.size = sizeof s};
  nx_context_stats(ctx, &s);
  assert_true(s.pending_nodes == before && s.pending_bytes == bytes && s.pinned_bytes <= bytes);
  nx_tensor *x = vector(10000, 0, 1), *one = number(1), *cosine, *y;
  nx_tensor *both[] = {x, one};
  OK(nx_realize(ctx, both, 2, NULL));
  cosine = GOOD(nx_cos(x)), y = GOOD(nx_sin(cosine));
  assert_int_equal(nx_pending(ctx, NULL), before + 2);
  nx_pending(ctx, &bytes);
  assert_true(bytes - at_first < 2000);
  release(x); /* only what is recorded keeps it */
  nx_context_collect(ctx);
  nx_pending(ctx, &bytes);
  nx_context_stats(ctx, &s);
  assert_true(bytes - at_first >= 40000 && s.pinned_bytes >= 40000 && s.pinned_bytes < 60000);
  nx_tensor *z = GOOD(nx_neg(y));
  OK(nx_assign(y, one));
  OK(nx_realize(ctx, &y, 1, NULL));
  nx_pending(ctx, &bytes);
  assert_true(bytes - at_first >= 40000);
  OK(nx_realize(ctx, &z, 1, NULL));
  release(cosine);
  nx_context_collect(ctx);
  assert_int_equal(nx_pending(ctx, &bytes), before);
  assert_int_equal(bytes, at_first);
  assert_int_equal(nx_pending(NULL, &bytes), 0);
}

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* The shortest of some realises of one small tensor, and of some questions for statistics. */
static void measure(nx_tensor *x, double best[2]) {
  nx_run_options pending = {.size = sizeof pending, .flags = NX_DO_PENDING};
  nx_stats s = {.size = sizeof s};
  best[0] = best[1] = 1e9;
  for (int i = 0; i < 200; i++) {
    nx_tensor *z = GOOD(nx_add(x, x));
    double began = now_us();
    OK(nx_realize(ctx, &z, 1, &pending));
    double between = now_us();
    nx_context_stats(ctx, &s);
    double ended = now_us();
    if (between - began < best[0]) best[0] = between - began;
    if (ended - between < best[1]) best[1] = ended - between;
  }
}

static void the_cost_is_that_of_what_is_pending(void **state) {
  (void)state;
  enum { MANY = 50000 };
  static nx_tensor *many[MANY];
  nx_tensor *x = vector(10, 0, 1);
  double few_live[2], many_live[2];
  OK(nx_realize(ctx, &x, 1, NULL));
  measure(x, few_live);
  for (int i = 0; i < MANY; i++) many[i] = GOOD(nx_copy(x));
  OK(nx_realize(ctx, many, MANY, NULL));
  measure(x, many_live);
  assert_true(many_live[0] < 30 * few_live[0] + 20);
  assert_true(many_live[1] < 30 * few_live[1] + 5);
}

NXT_MAIN(pending) {
  nx_context_options o = {.size = sizeof o, .threads = 1, .cache_dir = ""};
  if (nx_context_create(&o, &ctx)) return 1;
  const struct CMUnitTest tests[] = {
      IN_SCOPE(state_is_computed_once),
      IN_SCOPE(only_needed_state_is_kept),
      IN_SCOPE(hours_of_recording_in_bounded_memory),
      IN_SCOPE(every_action_obeys_the_flags),
      IN_SCOPE(a_chain_that_is_kept),
      IN_SCOPE(a_failing_leftover),
      IN_SCOPE(leftovers_meet_their_plans_again),
      IN_SCOPE(counters_follow_the_work),
      IN_SCOPE(the_cost_is_that_of_what_is_pending),
  };
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  nx_context_release(ctx);
  return failures;
}
