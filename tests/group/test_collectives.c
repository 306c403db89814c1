/* SPDX-License-Identifier: ISC */
/* Collectives among devices of the processor: what each gives, beside a reference that is computed
 * from all operands; captured functions and events. What members do differently, or not at all:
 * test_broken.c. Also run with the thread sanitizer. */
#include <pthread.h>
#include <unistd.h>

#include "ir/alloc.h"
#include "members.h"

static float *elements_of(nx_tensor *t, int64_t n) {
  float *data = malloc((size_t)(n ? n : 1) * sizeof *data);
  OK(nx_read(t, data, (size_t)n * sizeof *data, NULL));
  return data;
}

static float combined(nx_reduction op, float a, float b) {
  if (op == NX_REDUCE_SUM) return a + b;
  if (op == NX_REDUCE_PROD) return a * b;
  if (op == NX_REDUCE_MIN) return a < b ? a : b;
  return a > b ? a : b;
}

static float reduced(nx_reduction op, int64_t j) {
  float sum = element(0, j);
  for (int32_t r = 1; r < size; r++) sum = combined(op, sum, element(r, j));
  return sum;
}

static void expect(nx_tensor *t, int64_t n, float (*wanted)(int32_t rank, int64_t j),
                   int32_t rank) {
  float *got = elements_of(t, n);
  for (int64_t j = 0; j < n; j++)
    if (memcmp(&got[j], &(float){wanted(rank, j)}, sizeof *got) != 0)
      fail_msg("rank %d of %d, element %d: %a, not %a", rank, size, (int)j, (double)got[j],
               (double)wanted(rank, j));
  free(got);
}

static void for_all_sizes(void (*test)(void)) {
  for (int32_t n = 1; n <= MOST; n *= 2) {
    begin_group(n, NULL, 60000);
    test();
    end_group();
  }
}

/* ---- each operation */

static nx_reduction reduction;
static float wanted_reduced(int32_t rank, int64_t j) { return (void)rank, reduced(reduction, j); }

/* Few elements, which all gather, and so many that each member reduces a piece; they are no
 * multiple of the members. */
static void reduces(void) {
  static const int64_t few[] = {3, 5}, many[] = {7, 5001};
  const int64_t *shapes[] = {few, many};
  for (int k = 0; k < 2; k++)
    for (reduction = NX_REDUCE_SUM; reduction <= NX_REDUCE_MAX; reduction++) {
      nx_tensor *y[MOST];
      for (int32_t i = 0; i < size; i++)
        y[i] = GOOD(nx_all_reduce(operand(i, shapes[k], 2), members[i], reduction, 0));
      OK(nx_realize(ctx, y, (size_t)size, NULL));
      for (int32_t i = 0; i < size; i++)
        expect(y[i], shapes[k][0] * shapes[k][1], wanted_reduced, i);
    }
}
static void all_reduce(void **state) { (void)state, for_all_sizes(reduces); }

/* Bits, of integers. */
static void reduces_bits(void) {
  nx_tensor *y[2 * MOST];
  for (int32_t i = 0; i < size; i++) {
    nx_tensor *x = GOOD(nx_full(ctx, i, NX_I32, NX_SHAPE(2), NX_INTEGER(1 << i | 512)));
    y[2 * i] = GOOD(nx_all_reduce(x, members[i], NX_REDUCE_AND, 0));
    y[2 * i + 1] = GOOD(nx_all_reduce(x, members[i], NX_REDUCE_OR, 0));
  }
  OK(nx_realize(ctx, y, 2 * (size_t)size, NULL));
  for (int32_t i = 0; i < size; i++) {
    int32_t both[2][2];
    OK(nx_read(y[2 * i], both[0], sizeof both[0], NULL));
    OK(nx_read(y[2 * i + 1], both[1], sizeof both[1], NULL));
    assert_int_equal(both[0][1], size == 1 ? 513 : 512);
    assert_int_equal(both[1][0], 512 | ((1 << size) - 1));
  }
}
static void bits(void **state) { (void)state, for_all_sizes(reduces_bits); }

/* The same parts on any number of members give the same bits. */
enum { PARTS = 8 };
static void reduces_parts(void) {
  static uint8_t first[2][4 * 20003];
  for (int many = 0; many < 2; many++) {
    int64_t n = many ? 20003 : 33, held = PARTS / size;
    nx_tensor *y[MOST];
    for (int32_t i = 0; i < size; i++) {
      float *data = malloc((size_t)(held * n) * sizeof *data);
      for (int64_t p = 0; p < held; p++)
        for (int64_t j = 0; j < n; j++) data[p * n + j] = element((int32_t)(i * held + p), j);
      nx_tensor *x = nx_empty(ctx, i, NX_F32, NX_SHAPE(held, n));
      OK(nx_write(x, data, (size_t)(held * n) * sizeof *data, NULL));
      free(data);
      y[i] = GOOD(nx_all_reduce(x, members[i], NX_REDUCE_SUM, NX_REDUCE_PARTS));
    }
    OK(nx_realize(ctx, y, (size_t)size, NULL));
    for (int32_t i = 0; i < size; i++) {
      float *got = elements_of(y[i], n);
      if (size == 1) memcpy(first[many], got, (size_t)n * sizeof *got);
      assert_memory_equal(got, first[many], (size_t)n * sizeof *got);
      free(got);
    }
  }
}
static void parts(void **state) { (void)state, for_all_sizes(reduces_parts); }

/* Halves are added in f32: in f16, 2048 + 1 is 2048. */
static void narrow_floats(void **state) {
  (void)state;
  begin_group(4, NULL, 60000);
  nx_tensor *y[4];
  for (int32_t i = 0; i < 4; i++)
    y[i] = nx_all_reduce(GOOD(nx_full(ctx, i, NX_F16, NX_SHAPE(3), NX_NUMBER(i ? 1 : 2048))),
                         members[i], NX_REDUCE_SUM, 0);
  OK(nx_realize(ctx, y, 4, NULL));
  EXPECT(nx_cast(y[2], NX_F32), 2052, 2052, 2052); /* 2051 is rounded to even */
  end_group();
}

/* So are those of 8 bits; in f8e4m3, 32 + 1.5 is 32. Bytes of types that are only stored move
 * as they are, and have no sums. */
static void bytes_of_floats(void **state) {
  (void)state;
  begin_group(2, NULL, 60000);
  nx_tensor *y[2], *z[2];
  const uint8_t codes[4] = {0x80, 0xff, 0, 1};
  for (int32_t i = 0; i < 2; i++) {
    nx_tensor *x = GOOD(nx_full(ctx, i, NX_F8E4M3, NX_SHAPE(2, 1), NX_NUMBER(i ? 1.5 : 16)));
    y[i] = GOOD(nx_all_reduce(x, members[i], NX_REDUCE_SUM, NX_REDUCE_PARTS));
    nx_tensor *bits = GOOD(nx_from_data(ctx, i, NX_F8E4M3FNUZ, NX_SHAPE(2), codes + 2 * i, 2));
    z[i] = GOOD(nx_all_gather(bits, members[i], 0));
    assert_null(nx_all_reduce(bits, members[i], NX_REDUCE_SUM, 0));
    error_says(NX_UNSUPPORTED_DTYPE, "f8e4m3fnuz");
  }
  OK(nx_realize(ctx, y, 2, NULL));
  EXPECT(nx_cast(y[1], NX_F32), 36); /* the nearest to 35 */
  uint8_t got[4];
  OK(nx_realize(ctx, z, 2, NULL));
  OK(nx_read(z[0], got, sizeof got, NULL));
  assert_memory_equal(got, codes, sizeof codes);
  end_group();
}

static float wanted_gathered(int32_t rank, int64_t j) { /* [2, 3] along axis 1: [2, 3 size] */
  int64_t row = j / (3 * size), column = j % (3 * size);
  return (void)rank, element((int32_t)(column / 3), row * 3 + column % 3);
}
static float wanted_rows(int32_t rank, int64_t j) {
  return (void)rank, element((int32_t)(j / 6), j % 6);
}
static void gathers(void) {
  nx_tensor *y[2 * MOST];
  for (int32_t i = 0; i < size; i++) {
    nx_tensor *x = operand(i, (int64_t[]){2, 3}, 2);
    y[i] = GOOD(nx_all_gather(x, members[i], -1));
    y[size + i] = GOOD(nx_all_gather(x, members[i], 0));
  }
  OK(nx_realize(ctx, y, 2 * (size_t)size, NULL));
  for (int32_t i = 0; i < size; i++) {
    assert_int_equal(nx_shape(y[i])[1], 3 * size);
    assert_int_equal(nx_shape(y[size + i])[0], 2 * size);
    expect(y[i], 6 * size, wanted_gathered, i);
    expect(y[size + i], 6 * size, wanted_rows, i);
  }
}
static void all_gather(void **state) { (void)state, for_all_sizes(gathers); }

static float wanted_scattered(int32_t rank, int64_t j) { /* [3, 2 size, 2] along axis 1 */
  int64_t a = j / 4, b = j / 2 % 2, c = j % 2;
  return reduced(NX_REDUCE_SUM, a * 4 * size + (rank * 2 + b) * 2 + c);
}
static void scatters(void) {
  nx_tensor *y[MOST];
  for (int32_t i = 0; i < size; i++)
    y[i] = GOOD(nx_reduce_scatter(operand(i, (int64_t[]){3, 2 * size, 2}, 3), members[i],
                                  NX_REDUCE_SUM, 1));
  OK(nx_realize(ctx, y, (size_t)size, NULL));
  for (int32_t i = 0; i < size; i++) expect(y[i], 12, wanted_scattered, i);
}
static void reduce_scatter(void **state) { (void)state, for_all_sizes(scatters); }

static float wanted_exchanged(int32_t rank, int64_t j) { /* [2 size, 3], split 0, concat 1 */
  int64_t row = j / (3 * size), column = j % (3 * size);
  return element((int32_t)(column / 3), (rank * 2 + row) * 3 + column % 3);
}
static float wanted_same_axis(int32_t rank, int64_t j) { /* split 0, concat 0 */
  return element((int32_t)(j / 6), rank * 6 + j % 6);
}
static void exchanges(void) {
  nx_tensor *y[2 * MOST];
  for (int32_t i = 0; i < size; i++) {
    nx_tensor *x = operand(i, (int64_t[]){2 * size, 3}, 2);
    y[i] = GOOD(nx_all_to_all(x, members[i], 0, 1));
    y[size + i] = GOOD(nx_all_to_all(x, members[i], 0, 0));
  }
  OK(nx_realize(ctx, y, 2 * (size_t)size, NULL));
  for (int32_t i = 0; i < size; i++) {
    assert_int_equal(nx_shape(y[i])[0], 2);
    assert_int_equal(nx_shape(y[i])[1], 3 * size);
    expect(y[i], 6 * size, wanted_exchanged, i);
    expect(y[size + i], 6 * size, wanted_same_axis, i);
  }
}
static void all_to_all(void **state) { (void)state, for_all_sizes(exchanges); }

static float wanted_next(int32_t rank, int64_t j) { /* each to the next, the last to none */
  return rank ? element(rank - 1, j) : 0;
}
static float wanted_last(int32_t rank, int64_t j) { return (void)rank, element(size - 1, j); }
static void moves(void) {
  nx_tensor *y[2 * MOST];
  nx_pair pairs[MOST];
  for (int32_t i = 0; i + 1 < size; i++) pairs[i] = (nx_pair){i, i + 1};
  for (int32_t i = 0; i < size; i++) {
    nx_tensor *x = operand(i, (int64_t[]){5}, 1);
    y[i] = GOOD(nx_collective_permute(x, members[i], pairs, (size_t)size - 1));
    y[size + i] = GOOD(nx_collective_broadcast(x, members[i], size - 1));
  }
  OK(nx_realize(ctx, y, 2 * (size_t)size, NULL));
  for (int32_t i = 0; i < size; i++) {
    expect(y[i], 5, wanted_next, i);
    expect(y[size + i], 5, wanted_last, i);
  }
}
static void permute_and_broadcast(void **state) { (void)state, for_all_sizes(moves); }

static void empty_and_scalars(void **state) {
  (void)state;
  begin_group(2, NULL, 60000);
  nx_tensor *y[8];
  for (int32_t i = 0; i < 2; i++) {
    nx_tensor *none = operand(i, (int64_t[]){0, 4}, 2), *one = operand(i, NULL, 0);
    y[4 * i] = GOOD(nx_all_reduce(none, members[i], NX_REDUCE_SUM, 0));
    y[4 * i + 1] = GOOD(nx_all_gather(none, members[i], 1));
    y[4 * i + 2] = GOOD(nx_all_reduce(one, members[i], NX_REDUCE_SUM, 0));
    y[4 * i + 3] = GOOD(nx_collective_broadcast(one, members[i], 0));
  }
  OK(nx_realize(ctx, y, 8, NULL));
  assert_int_equal(nx_shape(y[1])[1], 8);
  EXPECT(y[6], reduced(NX_REDUCE_SUM, 0));
  EXPECT(y[7], element(0, 0));
  end_group();
}

/* ---- order, functions, events */

/* The last collective brings the others with it, and so does the token. */
static void order_is_kept(void **state) {
  (void)state;
  begin_group(4, NULL, 60000);
  nx_tensor *last[4];
  for (int32_t i = 0; i < 4; i++) {
    nx_tensor *x = operand(i, (int64_t[]){3}, 1);
    GOOD(nx_all_gather(x, members[i], 0)); /* nobody reads it */
    last[i] = GOOD(nx_all_reduce(x, members[i], NX_REDUCE_MAX, 0));
  }
  OK(nx_realize(ctx, last, 4, NULL));
  for (int32_t i = 0; i < 4; i++) {
    GOOD(nx_collective_broadcast(last[i], members[i], 2));
    last[i] = nx_group_token(members[i]);
  }
  OK(nx_realize(ctx, last, 4, NULL));
  for (int32_t i = 0; i < 4; i++) nx_tensor_release(last[i]);
  end_group();
}

/* A step of the training of a number, on each device. */
static nx_function *capture(int32_t i) {
  nx_tensor *x = GOOD(nx_placeholder(ctx, i, NX_F32, NX_SHAPE(3)));
  nx_tensor *y = GOOD(nx_all_reduce(nx_mul(x, x), members[i], NX_REDUCE_SUM, 0));
  nx_function *f = NULL;
  nx_tensor *out = GOOD(nx_add(y, x));
  GOOD(nx_all_gather(x, members[i], 0)); /* carried out at each call all the same */
  OK(nx_function_create(ctx, &x, 1, &out, 1, NULL, &f));
  return f;
}

static void functions_meet(void **state) {
  (void)state;
  nx_function *f[4];
  nx_event *e[4];
  begin_group(4, NULL, 60000);
  for (int32_t i = 0; i < 4; i++) f[i] = capture(i);
  nx_tensor *x[4], *y[4];
  nx_report report[4];
  for (int round = 0; round < 3; round++) {
    for (int32_t i = 0; i < 4; i++) {
      nx_run_options o = {.size = sizeof o, .report = &report[i]};
      report[i] = (nx_report){.size = sizeof report[i]};
      const float now = (float)(round + 1), data[] = {now, now, now};
      x[i] = nx_empty(ctx, i, NX_F32, NX_SHAPE(3)), y[i] = NULL;
      OK(nx_write(x[i], data, sizeof data, NULL));
      OK(nx_function_call_async(f[i], &x[i], 1, &y[i], 1, &o, &e[i]));
    }
    for (int32_t i = 0; i < 4; i++) {
      float r = (float)(round + 1);
      OK(nx_event_wait(e[i], NULL));
      nx_event_release(e[i]);
      if (round > 1) assert_int_equal(report[i].plan_misses, 0);
      EXPECT(y[i], 4 * r * r + r, 4 * r * r + r, 4 * r * r + r);
    }
  }
  for (int32_t i = 0; i < 4; i++) nx_function_release(f[i]);
  end_group();
}

typedef struct job {
  int32_t rank;
  float sum;
} job;

static void *loops(void *user) {
  job *j = user;
  nx_tensor *x = nx_full(ctx, j->rank, NX_F32, NX_SHAPE(2), NX_NUMBER(j->rank + 1));
  for (int i = 0; i < 20; i++) {
    nx_tensor *y = nx_all_reduce(x, members[j->rank], NX_REDUCE_SUM, 0), *old = x;
    x = nx_binary_f64(y, NX_BINARY_MUL, 0.5);
    nx_tensor_release(y);
    nx_tensor_release(old);
    float now[2];
    if (nx_read(x, now, sizeof now, NULL)) return NULL;
    j->sum = now[1];
  }
  nx_tensor_release(x);
  return NULL;
}

/* A thread each, and no plan is made again and again. */
static void threads_meet(void **state) {
  (void)state;
  pthread_t threads[4];
  job jobs[4];
  begin_group(4, NULL, 60000);
  for (int32_t i = 0; i < 4; i++) {
    jobs[i] = (job){i, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, loops, &jobs[i]), 0);
  }
  for (int32_t i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  for (int32_t i = 0; i < 4; i++) assert_true(jobs[i].sum == 10.0f / 2 * (1 << 19));
  end_group();
}

/* Members on devices of other kinds: elements go through the host's memory. */
static void meet_on(nx_device first, nx_device second) {
  const nx_device devices[2] = {first, second};
  nx_group *pair[2];
  nx_tensor *y[2];
  OK(nx_group_create(ctx, devices, 2, NULL, pair));
  for (int i = 0; i < 2; i++) {
    nx_tensor *x = GOOD(nx_arange(ctx, devices[i], NX_F32, NX_NUMBER(i), NX_NUMBER(1), 40000));
    y[i] = GOOD(nx_all_reduce(x, pair[i], NX_REDUCE_SUM, 0));
    y[i] = part(nx_mul(y[i], y[i]), 39999, 1, 1);
  }
  nx_event *e[2]; /* neither waits behind the other */
  for (int i = 0; i < 2; i++) OK(nx_realize_async(ctx, &y[i], 1, NULL, &e[i]));
  for (int i = 0; i < 2; i++) {
    OK(nx_event_wait(e[i], NULL));
    nx_event_release(e[i]);
  }
  for (int i = 0; i < 2; i++) {
    EXPECT(y[i], 79999.0f * 79999.0f);
    nx_group_release(pair[i]);
  }
}

static void kinds_meet(void **state) {
  (void)state;
  nx_device_info info = {.size = sizeof info};
  meet_on(0, MOST);
  meet_on(MOST, 5);
  OK(nx_device_describe(ctx, MOST + 1, &info));
  if (!info.available) return;
  meet_on(MOST + 1, 0);
  if (nx_device_count(ctx) > MOST + 2) meet_on(MOST + 2, MOST + 1);
}

/* A loop whose body has a collective: one at each step. */
static void loops_meet(void **state) {
  (void)state;
  nx_tensor *y[2];
  begin_group(2, NULL, 60000);
  for (int32_t i = 0; i < 2; i++) {
    nx_tensor *n = GOOD(nx_placeholder(ctx, i, NX_I64, NULL, 0));
    nx_tensor *x = GOOD(nx_placeholder(ctx, i, NX_F32, NX_SHAPE(3))), *in[2] = {n, x};
    nx_tensor *sum = GOOD(nx_all_reduce(x, members[i], NX_REDUCE_SUM, 0)),
              *init = operand(i, (int64_t[]){3}, 1);
    nx_function *body = NULL;
    OK(nx_function_create(ctx, in, 2, &sum, 1, NULL, &body));
    y[i] = NULL;
    OK(nx_for(NULL, 3, body, &init, 1, NULL, 0, NULL, &y[i], 1));
    nx_function_release(body);
  }
  OK(nx_realize(ctx, y, 2, NULL));
  float first = reduced(NX_REDUCE_SUM, 0) * 4, second = reduced(NX_REDUCE_SUM, 1) * 4;
  for (int32_t i = 0; i < 2; i++) EXPECT(part(y[i], 0, 2, 1), first, second);
  end_group();
}

/* ---- memory */

/* Whatever allocation fails, the call says so and leaves nothing. True: none has failed. */
static bool records_without(int64_t point, nx_tensor *few, nx_tensor *many) {
  nx_group *pair[2];
  nx_tensor *y[3] = {NULL};
  nxi_alloc_fail(point, false);
  if (nx_group_create(ctx, (nx_device[]){0, 1}, 2, NULL, pair) == NX_OK) {
    y[0] = nx_all_reduce(few, pair[0], NX_REDUCE_SUM, 0);
    y[1] = y[0] ? nx_all_reduce(many, pair[0], NX_REDUCE_SUM, 0) : NULL;
    y[2] = y[1] ? nx_collective_permute(few, pair[0], &(nx_pair){0, 1}, 1) : NULL;
    for (int i = 0; i < 2; i++) nx_group_release(pair[i]);
  }
  nxi_alloc_fail(-1, false);
  nx_status status = nx_error_take(NULL);
  assert_int_equal(status, y[2] ? NX_OK : NX_OUT_OF_MEMORY);
  for (int i = 0; i < 3; i++) nx_tensor_release(y[i]);
  return status == NX_OK;
}

static void memory_runs_out(void **state) {
  (void)state;
  int64_t point = 0;
  nx_tensor *few = operand(0, (int64_t[]){3}, 1), *many = operand(0, (int64_t[]){40000}, 1);
  while (!records_without(point, few, many)) point++;
  assert_true(point > 20);
}

/* ---- bad arguments */

static void bad_groups(void **state) {
  (void)state;
  nx_group *g[3] = {NULL};
  nx_group_options o = {.size = sizeof o, .name = "a b"};
  const nx_device twice[] = {0, 1, 0}, none[] = {0, 99};
  assert_int_equal(nx_group_create(ctx, twice, 3, NULL, g), NX_INVALID_ARGUMENT);
  error_says(NX_INVALID_ARGUMENT, "device 0 is member 0 and member 2");
  assert_int_equal(nx_group_create(ctx, none, 2, NULL, g), NX_INVALID_ARGUMENT);
  error_says(NX_INVALID_ARGUMENT, "no device 99");
  FAILS(NX_INVALID_ARGUMENT, nx_group_create(ctx, twice, 0, NULL, g));
  FAILS(NX_INVALID_ARGUMENT, nx_group_create(ctx, NULL, 1, NULL, g));
  FAILS(NX_INVALID_ARGUMENT, nx_group_create(NULL, twice, 1, NULL, g));
  FAILS(NX_INVALID_ARGUMENT, nx_group_create(ctx, twice, 1, NULL, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_group_create(ctx, twice, 1, &o, g));
  assert_null(g[0]);
}

#define REFUSED(status, words, call) \
  do {                               \
    assert_null(call);               \
    error_says((status), (words));   \
  } while (0)

static void bad_operands(void **state) {
  (void)state;
  begin_group(2, "g", 0);
  nx_group *g = members[0];
  nx_tensor *x = operand(0, (int64_t[]){3, 4}, 2), *there = operand(1, (int64_t[]){4}, 1);
  const nx_status bad = NX_INVALID_ARGUMENT;
  REFUSED(bad, "all_reduce: operand 1", nx_all_reduce(x, NULL, NX_REDUCE_SUM, 0));
  REFUSED(bad, "rank 0 of the group \"g\" is device 0", nx_all_reduce(there, g, NX_REDUCE_SUM, 0));
  REFUSED(bad, "no reduction 7", nx_all_reduce(x, g, (nx_reduction)7, 0));
  REFUSED(bad, "NX_REDUCE_PARTS", nx_all_reduce(x, g, NX_REDUCE_SUM, 2));
  REFUSED(bad, "no parts", nx_all_reduce(operand(0, NULL, 0), g, NX_REDUCE_SUM, NX_REDUCE_PARTS));
  REFUSED(NX_UNSUPPORTED_DTYPE, "all_reduce", nx_all_reduce(x, g, NX_REDUCE_AND, 0));
  REFUSED(bad, "all_gather", nx_all_gather(x, g, 2));
  REFUSED(bad, "the extent of axis 0 is 3, no multiple of the 2 members",
          nx_reduce_scatter(x, g, NX_REDUCE_SUM, 0));
  REFUSED(bad, "all_to_all: the extent of axis 0", nx_all_to_all(x, g, 0, 1));
  REFUSED(bad, "all_to_all", nx_all_to_all(x, g, 1, -3));
  REFUSED(bad, "rank 0 sends in pair 0 and in pair 1",
          nx_collective_permute(x, g, (const nx_pair[]){{0, 1}, {0, 0}}, 2));
  REFUSED(bad, "rank 1 gets in pair 0 and in pair 1",
          nx_collective_permute(x, g, (const nx_pair[]){{0, 1}, {1, 1}}, 2));
  REFUSED(bad, "pair 0 has rank 2", nx_collective_permute(x, g, (const nx_pair[]){{0, 2}}, 1));
  REFUSED(bad, "is null", nx_collective_permute(x, g, NULL, 1));
  REFUSED(bad, "no rank 2", nx_collective_broadcast(x, g, 2));
  REFUSED(NX_UNSUPPORTED_DTYPE, "cast it", nx_all_gather(GOOD(nx_cast(x, NX_I4)), g, 0));
  end_group();
}

NXT_MAIN(collectives) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(all_reduce),
      IN_SCOPE(bits),
      IN_SCOPE(parts),
      IN_SCOPE(narrow_floats),
      IN_SCOPE(bytes_of_floats),
      IN_SCOPE(all_gather),
      IN_SCOPE(reduce_scatter),
      IN_SCOPE(all_to_all),
      IN_SCOPE(permute_and_broadcast),
      IN_SCOPE(empty_and_scalars),
      IN_SCOPE(order_is_kept),
      IN_SCOPE(functions_meet),
      IN_SCOPE(threads_meet),
      IN_SCOPE(kinds_meet),
      IN_SCOPE(loops_meet),
      IN_SCOPE(memory_runs_out),
      IN_SCOPE(bad_groups),
      IN_SCOPE(bad_operands),
  };
  return cmocka_run_group_tests(tests, open_divided, close_context);
}
