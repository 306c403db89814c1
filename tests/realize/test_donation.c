/* SPDX-License-Identifier: ISC */
/* Results in the memory of donated inputs: a call that may overwrite them gives the bits of one
 * that may not, whatever reads them, and takes no memory where a result can take theirs. */
#include "tests/util/api.h"
#include "tests/util/executor.h"

#include "nx/async.h"
#include "runtime/memory.h"
#include "runtime/realize/run.h"

enum { INPUTS = 4, RESULTS = 4, SOME = 9 };
static int64_t side = 300, bytes; /* of all matrices */

/* ---- functions, of INPUTS matrices */

typedef struct body {
  const char *name;
  /* results; arrays that a call takes memory for if all inputs are donated; SOME: it depends */
  uint32_t n_out, allocated;
  void (*make)(nx_tensor *const *x, nx_tensor **y);
} body;

static nx_tensor *scaled(nx_tensor *x, float by) { return GOOD(nx_mul(x, number(by))); }

/* Parameters and two averages of their gradient. */
static void adam(nx_tensor *const *x, nx_tensor **y) {
  nx_tensor *p = x[0], *m = x[1], *v = x[2], *g = x[3];
  y[0] = GOOD(nx_add(scaled(m, 0.9f), scaled(g, 0.1f)));
  y[1] = GOOD(nx_add(scaled(v, 0.99f), scaled(GOOD(nx_mul(g, g)), 0.01f)));
  nx_tensor *root = GOOD(nx_add(GOOD(nx_sqrt(y[1])), number(1e-6f)));
  y[2] = GOOD(nx_sub(p, scaled(GOOD(nx_div(y[0], root)), 1e-2f)));
}

/* The order of results is not that of what they are computed from. */
static void crossed(nx_tensor *const *x, nx_tensor **y) {
  y[0] = GOOD(nx_add(x[3], number(1)));
  y[1] = GOOD(nx_sub(x[0], x[3]));
  y[2] = GOOD(nx_mul(x[2], x[1]));
  y[3] = GOOD(nx_add(x[1], x[0]));
}

static nx_tensor *turned(nx_tensor *x) { return GOOD(nx_permute(x, (int32_t[]){1, 0}, 2)); }

static void with_transpose(nx_tensor *const *x, nx_tensor **y) {
  y[0] = GOOD(nx_add(x[0], turned(x[0])));
  y[1] = GOOD(nx_sub(x[1], turned(x[2])));
}

static void with_flip(nx_tensor *const *x, nx_tensor **y) {
  y[0] = GOOD(nx_sub(x[0], GOOD(nx_flip(x[0], (int32_t[]){1}, 1))));
  y[1] = GOOD(nx_flip(x[1], (int32_t[]){0}, 1));
}

static nx_tensor *row(nx_tensor *x, int64_t at) {
  nx_tensor *r = GOOD(nx_shrink(x, (int64_t[]){at, 0}, (int64_t[]){at + 1, side}, 2));
  return GOOD(nx_expand(r, NX_SHAPE(side, side)));
}

static void with_row(nx_tensor *const *x, nx_tensor **y) {
  y[0] = GOOD(nx_mul(x[0], row(x[0], side / 2)));
  y[1] = GOOD(nx_add(x[1], row(x[2], 3)));
  y[2] = GOOD(nx_add(x[2], row(x[1], 5)));
}

/* Neighbours, as a heat step reads them. */
static void stencil(nx_tensor *const *x, nx_tensor **y) {
  nx_tensor *above = GOOD(nx_shrink(x[0], (int64_t[]){0, 0}, (int64_t[]){side - 1, side}, 2));
  nx_tensor *first = GOOD(nx_shrink(x[0], (int64_t[]){0, 0}, (int64_t[]){1, side}, 2));
  nx_tensor *both[2] = {first, above};
  y[0] = GOOD(nx_add(x[0], scaled(GOOD(nx_cat(both, 2, 0)), 0.25f)));
}

/* Rows are reduced, and the matrix is read again. */
static void softmax(nx_tensor *const *x, nx_tensor **y) {
  nx_tensor *most = GOOD(nx_reduce_max(x[0], NX_AXES(1), 1)),
            *e = GOOD(nx_exp(GOOD(nx_sub(x[0], most))));
  y[0] = GOOD(nx_div(e, GOOD(nx_reduce_sum(e, NX_AXES(1), 1))));
  y[1] = GOOD(nx_sub(x[1], GOOD(nx_reduce_sum(x[1], NX_AXES(0), 1))));
  y[2] = GOOD(nx_reduce_sum(x[1], NX_AXES(0, 1), 0));
}

/* A later kernel reads what an earlier one could have overwritten. */
static void read_later(nx_tensor *const *x, nx_tensor **y) {
  y[0] = GOOD(nx_neg(x[0]));
  y[1] = GOOD(nx_add(GOOD(nx_matmul(y[0], x[1])), x[0]));
}

/* A product, finished with a donated matrix. */
static void descent(nx_tensor *const *x, nx_tensor **y) {
  nx_tensor *g = GOOD(nx_matmul(turned(x[1]), x[2]));
  y[0] = GOOD(nx_sub(x[0], scaled(g, 0.01f)));
}

static void other_types(nx_tensor *const *x, nx_tensor **y) {
  y[0] = GOOD(nx_cast(x[0], NX_I32));
  y[1] = GOOD(nx_bitcast(x[1], NX_U32));
  y[2] = GOOD(nx_gather(x[2], GOOD(nx_cast(GOOD(nx_mod(x[3], number(7))), NX_I32)), 0));
}

static void same_twice(nx_tensor *const *x, nx_tensor **y) {
  y[0] = GOOD(nx_mul(x[0], number(3)));
  y[1] = GOOD(nx_mul(x[0], number(3)));
  y[2] = GOOD(nx_copy(x[1]));
}

static const body bodies[] = {
    {"adam", 3, 0, adam},
    {"crossed", 4, 0, crossed},
    {"transpose", 2, SOME, with_transpose},
    {"flip", 2, 1, with_flip},
    {"row", 3, 1, with_row},
    {"stencil", 1, 1, stencil},
    {"softmax", 3, SOME, softmax},
    {"read later", 2, SOME, read_later},
    {"descent", 1, SOME, descent},
    {"same twice", 3, SOME, same_twice},
    {"other types", 3, SOME, other_types},
};

static nx_function *captured(const body *b, const uint8_t *donate) {
  nx_tensor *x[INPUTS], *y[RESULTS] = {NULL};
  for (int i = 0; i < INPUTS; i++)
    x[i] = GOOD(nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(side, side)));
  b->make(x, y);
  nx_function_options o = {.size = sizeof o, .name = b->name, .donate = donate};
  nx_function *f = NULL;
  OK(nx_function_create(ctx, x, INPUTS, y, b->n_out, &o, &f));
  return f;
}

static nx_tensor *matrix(int number_of) {
  nx_tensor *t = GOOD(
      nx_arange(ctx, device(), NX_F32, NX_NUMBER((float)number_of), NX_NUMBER(0.37f), side * side));
  t = GOOD(nx_sin(GOOD(nx_reshape(t, NX_SHAPE(side, side), 0))));
  t = GOOD(nx_add(t, number(1.5f)));
  OK(nx_realize(ctx, &t, 1, NULL));
  return t;
}

/* The results of a call, read; nothing of it is left. */
typedef struct results {
  float *of[RESULTS];
} results;

static void read_results(const body *b, nx_tensor **y, results *r) {
  for (uint32_t i = 0; i < b->n_out; i++) {
    r->of[i] = calloc(1, (size_t)bytes);
    nx_tensor *whole = GOOD(nx_expand(y[i], NX_SHAPE(side, side)));
    OK(nx_read(whole, r->of[i], (size_t)bytes, NULL));
    release(whole), release(y[i]);
  }
}

static void free_results(results *r) {
  for (int i = 0; i < RESULTS; i++) free(r->of[i]);
}

static void make_inputs(nx_tensor **x) {
  for (int i = 0; i < INPUTS; i++) x[i] = matrix(i);
}

/* What was not donated has its value. */
static void expect_kept(nx_tensor *const *x, const uint8_t *donate) {
  float *is = malloc((size_t)bytes), *wanted = malloc((size_t)bytes);
  for (int i = 0; i < INPUTS; i++) {
    nx_scalar v;
    if (donate[i]) {
      FAILS(NX_DONATED, nx_item(x[i], (int64_t[]){0, 0}, 2, &v, NULL));
      continue;
    }
    OK(nx_read(x[i], is, (size_t)bytes, NULL));
    OK(nx_read(matrix(i), wanted, (size_t)bytes, NULL));
    assert_memory_equal(is, wanted, (size_t)bytes);
  }
  free(is), free(wanted);
}

static int64_t live(void) {
  nxi_memory_stats s;
  nxi_allocator_stats(ctx->allocator, &s);
  return s.live;
}

static void call(nx_function *f, nx_tensor *const *x, nx_tensor **y, uint32_t n, nx_report *report,
                 bool async) {
  nx_run_options o = {.size = sizeof o, .report = report};
  nx_event *e = NULL;
  *report = (nx_report){.size = sizeof *report};
  if (!async) {
    OK(nx_function_call(f, x, INPUTS, y, n, &o));
    return;
  }
  OK(nx_function_call_async(f, x, INPUTS, y, n, &o, &e));
  OK(nx_event_wait(e, NULL));
  nx_event_release(e);
}

/* Calls it twice with some inputs donated; what the second call took, in bytes. */
static int64_t call_donating(const body *b, const uint8_t *donate, const results *wanted,
                             nx_report *report, bool async) {
  nx_scope *scope = nx_scope_begin(ctx);
  nx_tensor *x[INPUTS], *y[RESULTS] = {NULL};
  nx_function *f = captured(b, donate);
  int64_t took = 0;
  results is = {{NULL}};
  for (int round = 0; round < 2; round++) {
    memset(y, 0, sizeof y);
    make_inputs(x);
    nxi_allocator_reset_peak(ctx->allocator);
    int64_t before = live();
    call(f, x, y, b->n_out, report, async);
    nxi_memory_stats s;
    nxi_allocator_stats(ctx->allocator, &s);
    took = s.peak - before;
    read_results(b, y, &is);
    for (uint32_t i = 0; i < b->n_out; i++)
      assert_memory_equal(is.of[i], wanted->of[i], (size_t)bytes);
    free_results(&is);
    expect_kept(x, donate);
  }
  nx_function_release(f);
  nx_scope_end(scope);
  return took;
}

static void call_plainly(const body *b, results *r) {
  nx_scope *scope = nx_scope_begin(ctx);
  nx_tensor *x[INPUTS], *y[RESULTS] = {NULL};
  nx_function *f = captured(b, NULL);
  make_inputs(x);
  OK(nx_function_call(f, x, INPUTS, y, b->n_out, NULL));
  read_results(b, y, r);
  nx_function_release(f);
  nx_scope_end(scope);
}

static void bits_are_those_of_a_plain_call(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    const body *b = &bodies[i];
    results wanted = {{NULL}};
    call_plainly(b, &wanted);
    for (unsigned mask = 15; mask > 0; mask = mask == 15 ? 11 : mask / 2) {
      const uint8_t donate[INPUTS] = {mask & 1, mask & 2, mask & 4, mask & 8};
      for (int async = 0; async < 2; async++) {
        nx_report r;
        int64_t took = call_donating(b, donate, &wanted, &r, async);
        if (mask != 15) continue;
        printf("%s%s: %.2f arrays\n", b->name, async ? ", async" : "",
               (double)took / (double)bytes);
        if (b->allocated != SOME && r.interpreted == 0)
          assert_true(took < b->allocated * bytes + bytes / 2);
      }
    }
    free_results(&wanted);
  }
}

/* ---- values that something else needs, too */

static nx_function *doubling(void) {
  nx_tensor *x = GOOD(nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(side, side))),
            *y = scaled(x, 2);
  const uint8_t donate = 1;
  nx_function_options o = {.size = sizeof o, .donate = &donate};
  nx_function *f = NULL;
  OK(nx_function_create(ctx, &x, 1, &y, 1, &o, &f));
  return f;
}

static void expect_first(nx_tensor *t, double first) {
  nx_scalar v;
  OK(nx_item(t, (int64_t[]){0, 0}, 2, &v, NULL));
  assert_true(v.v.f[0] == first);
}

static void call_one(nx_function *f, nx_tensor *x, double first) {
  nx_tensor *y = NULL;
  OK(nx_function_call(f, &x, 1, &y, 1, NULL));
  expect_first(y, first);
  release(y);
}

static nx_tensor *imported(float *memory, uint32_t mode) {
  const int64_t shape[2] = {side, side};
  nx_import_desc desc = {.size = sizeof desc,
                         .mode = mode,
                         .dtype = NX_F32,
                         .rank = 2,
                         .shape = shape,
                         .base = memory,
                         .bytes = (size_t)bytes};
  nx_tensor *t = NULL;
  for (int64_t i = 0; i < side * side; i++) memory[i] = 1;
  OK(nx_import(ctx, &desc, &t));
  return t;
}

/* Each a value of its own: equal expressions would be one. */
static nx_tensor *ones(void) {
  float *memory = malloc((size_t)bytes);
  nx_tensor *t = imported(memory, NX_IMPORT_COPY);
  free(memory);
  return t;
}

/* Another handle, a view, a recorded reader, a mapping, memory of the host. */
static void other_names_keep_their_values(void **state) {
  (void)state;
  nx_function *f = doubling();
  for (int round = 0; round < 2; round++) {
    nx_tensor *a = ones(), *b = ones();
    OK(nx_assign(b, a)); /* one value, two storages */
    call_one(f, a, 2);
    expect_first(b, 1);
    nx_tensor *c = ones(), *half = scaled(c, 0.5f);
    call_one(f, c, 2);
    expect_first(half, 0.5);
    nx_tensor *d = ones();
    nx_mapping *m = NULL;
    OK(nx_map(d, NX_MAP_READ, NULL, &m));
    const float *seen = nx_mapping_base(m, NULL);
    call_one(f, d, 2);
    assert_true(seen[0] == 1 && seen[side * side - 1] == 1);
    nx_mapping_release(m);
    for (uint32_t mode = 0; mode < 2; mode++) {
      float *memory = aligned_alloc(64, (size_t)(bytes + 64 - bytes % 64));
      nx_tensor *e = imported(memory, mode ? NX_IMPORT_SHARED : NX_IMPORT_IMMUTABLE);
      call_one(f, e, 2);
      assert_true(memory[0] == 1 && memory[side * side - 1] == 1);
      release(e);
      nx_context_collect(ctx);
      free(memory);
    }
  }
  nx_function_release(f);
}

/* ---- failures */

static int32_t stop(void *user) {
  int *left = user;
  return (*left)-- <= 0;
}

/* Interrupted anywhere, a call gives the inputs back as they were, or it has happened. */
static void interrupted_calls_take_nothing(void **state) {
  (void)state;
  nxi_poll_briefly = true;
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    const body *b = &bodies[i];
    const uint8_t donate[INPUTS] = {1, 1, 1, 1}, none[INPUTS] = {0};
    results wanted = {{NULL}}, is = {{NULL}};
    call_plainly(b, &wanted);
    nx_scope *scope = nx_scope_begin(ctx);
    nx_function *f = captured(b, donate);
    bool over = false;
    for (int point = 0; !over; point += 1 + point / 4) {
      nx_tensor *x[INPUTS], *y[RESULTS] = {NULL};
      int left = point;
      nx_run_options o = {.size = sizeof o, .poll = stop, .user = &left};
      make_inputs(x);
      nx_status status = nx_function_call(f, x, INPUTS, y, b->n_out, &o);
      over = status == NX_OK;
      if (!over) {
        FAILS(NX_INTERRUPTED, status);
        expect_kept(x, none);
        OK(nx_function_call(f, x, INPUTS, y, b->n_out, NULL));
      }
      read_results(b, y, &is);
      for (uint32_t k = 0; k < b->n_out; k++)
        assert_memory_equal(is.of[k], wanted.of[k], (size_t)bytes);
      free_results(&is);
    }
    nx_function_release(f);
    nx_scope_end(scope);
    free_results(&wanted);
  }
  nxi_poll_briefly = false;
}

/* A bad index is found before anything is overwritten, though it depends on the result that could
 * lie in the input's memory. */
static void bad_indices_are_found_before(void **state) {
  (void)state;
  nx_tensor *in[2] = {GOOD(nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(side, side))),
                      GOOD(nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(side, side)))};
  nx_tensor *doubled = scaled(in[0], 2),
            *index = GOOD(nx_cast(GOOD(nx_add(turned(doubled), in[1])), NX_I32)),
            *y[2] = {doubled, GOOD(nx_gather(scaled(in[1], 3), index, 0))};
  const uint8_t donate[2] = {1, 1};
  nx_function_options o = {.size = sizeof o, .donate = donate};
  nx_function *f = NULL;
  OK(nx_function_create(ctx, in, 2, y, 2, &o, &f));
  for (int round = 0; round < 2; round++) {
    nx_tensor *a = ones(), *out[2] = {NULL}, *good = ones(),
              *bad = GOOD(nx_mul(ones(), number((float)side)));
    FAILS(NX_INDEX_OUT_OF_RANGE, nx_function_call(f, (nx_tensor *[]){a, bad}, 2, out, 2, NULL));
    expect_first(a, 1);
    expect_first(bad, (double)side);
    OK(nx_function_call(f, (nx_tensor *[]){a, good}, 2, out, 2, NULL));
    expect_first(out[0], 2);
    expect_first(out[1], 3);
  }
  nx_function_release(f);
}

NXT_MAIN(donation) {
  if (nxt_executor_interprets()) side = 60; /* they take their time */
  bytes = side * side * 4;
  const struct CMUnitTest tests[] = {
      IN_SCOPE(bits_are_those_of_a_plain_call), IN_SCOPE(other_names_keep_their_values),
      IN_SCOPE(interrupted_calls_take_nothing), IN_SCOPE(bad_indices_are_found_before)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
