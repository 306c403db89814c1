/* SPDX-License-Identifier: ISC */
/* Random programs of collectives among 1 to 4 devices of the processor, with additions between
 * them, beside a model that computes on arrays of the host in the order of ranks: same bits.
 * Values are realised in any order and number under way. Arguments: first seed, how many. */
#include "tests/util/api.h"

#include "tests/random/generator/internal.h"

enum { MOST = 4, POOL = 10, STEPS = 14, AXES = 3 };

/* A tensor of each member, all of one shape, and what they hold by the model. */
typedef struct value {
  int32_t rank;
  int64_t shape[AXES], n;
  nx_tensor *t[MOST];
  float *at[MOST];
} value;

static nx_group *members[MOST];
static int32_t size;
static value pool[POOL];
static int held;
static nxt_random chance;

static int64_t below(int64_t n) { return nxt_below(&chance, n); }

static value *add(int32_t rank, const int64_t *shape) {
  value *v = &pool[held < POOL ? held++ : below(POOL)];
  for (int32_t r = 0; r < size; r++) nx_tensor_release(v->t[r]), free(v->at[r]);
  *v = (value){.rank = rank, .n = 1};
  for (int32_t i = 0; i < rank; i++) v->n *= v->shape[i] = shape[i];
  for (int32_t r = 0; r < size; r++) v->at[r] = calloc((size_t)v->n + 1, sizeof(float));
  return v;
}

/* A copy, since a new value may take the place of its operand. */
static value copy_of(const value *v) {
  value c = *v;
  for (int32_t r = 0; r < size; r++) {
    c.at[r] = malloc(((size_t)v->n + 1) * sizeof(float));
    memcpy(c.at[r], v->at[r], (size_t)v->n * sizeof(float));
    c.t[r] = nx_tensor_retain(v->t[r]);
  }
  return c;
}
static void drop(value *v) {
  for (int32_t r = 0; r < size; r++) nx_tensor_release(v->t[r]), free(v->at[r]);
}

/* ---- parts of an axis: of the extent `whole`, from `first` on, `n` */

static int64_t product(const int64_t *shape, int32_t from, int32_t to) {
  int64_t n = 1;
  for (int32_t i = from; i < to; i++) n *= shape[i];
  return n;
}

/* Copies n of an axis between two arrays whose shapes differ in that axis alone. */
static void move(float *to, int64_t to_whole, int64_t to_first, const float *from,
                 int64_t from_whole, int64_t from_first, int64_t n, int64_t outer, int64_t inner) {
  for (int64_t o = 0; o < outer; o++)
    memcpy(to + (o * to_whole + to_first) * inner, from + (o * from_whole + from_first) * inner,
           (size_t)(n * inner) * sizeof(float));
}

static void move_part(const value *to, float *into, int64_t to_first, const value *from,
                      const float *at, int64_t from_first, int64_t n, int32_t axis) {
  move(into, to->shape[axis], to_first, at, from->shape[axis], from_first, n,
       product(from->shape, 0, axis), product(from->shape, axis + 1, from->rank));
}

static float combined(nx_reduction op, float a, float b) {
  if (op == NX_REDUCE_SUM) return a + b;
  return op == NX_REDUCE_MIN ? (a < b ? a : b) : (a > b ? a : b);
}

/* ---- steps: each records for all members, and computes the model's values */

static void make(void) {
  int64_t shape[AXES], extents[] = {0, 1, 2, 3, size, 2 * size, 3 * size, below(900)};
  int32_t rank = (int32_t)below(AXES + 1);
  for (int32_t i = 0; i < rank; i++) shape[i] = extents[below(i ? 7 : 8)];
  value *v = add(rank, shape);
  for (int32_t r = 0; r < size; r++) {
    for (int64_t i = 0; i < v->n; i++) v->at[r][i] = (float)(below(2000001) - 1000000) * 1.1e-3f;
    v->t[r] = nx_empty(ctx, r, NX_F32, v->shape, rank);
    OK(nx_write(v->t[r], v->at[r], (size_t)v->n * sizeof(float), NULL));
  }
}

static void double_it(const value *x) {
  value *y = add(x->rank, x->shape);
  for (int32_t r = 0; r < size; r++) {
    y->t[r] = GOOD(nx_add(x->t[r], x->t[r]));
    for (int64_t i = 0; i < y->n; i++) y->at[r][i] = x->at[r][i] + x->at[r][i];
  }
}

static const nx_reduction reductions[] = {NX_REDUCE_SUM, NX_REDUCE_MIN, NX_REDUCE_MAX};

static void reduce(const value *x) {
  nx_reduction op = reductions[below(3)];
  bool parts = x->rank > 0 && x->shape[0] > 0 && below(2);
  value *y = add(x->rank - parts, x->shape + parts);
  int64_t each = parts ? x->shape[0] : 1;
  for (int32_t r = 0; r < size; r++) {
    y->t[r] = GOOD(nx_all_reduce(x->t[r], members[r], op, parts ? NX_REDUCE_PARTS : 0));
    for (int64_t i = 0; i < y->n; i++)
      for (int64_t p = 0; p < size * each; p++) {
        float now = x->at[p / each][p % each * y->n + i];
        y->at[r][i] = p ? combined(op, y->at[r][i], now) : now;
      }
  }
}

static void gather(const value *x, int32_t axis) {
  int64_t shape[AXES], e = x->shape[axis];
  memcpy(shape, x->shape, sizeof shape);
  shape[axis] *= size;
  value *y = add(x->rank, shape);
  for (int32_t r = 0; r < size; r++) {
    y->t[r] = GOOD(nx_all_gather(x->t[r], members[r], axis));
    for (int32_t q = 0; q < size; q++) move_part(y, y->at[r], q * e, x, x->at[q], 0, e, axis);
  }
}

static void scatter(const value *x, int32_t axis) {
  nx_reduction op = reductions[below(3)];
  int64_t shape[AXES], part = x->shape[axis] / size;
  float *all = calloc((size_t)x->n + 1, sizeof *all);
  memcpy(shape, x->shape, sizeof shape);
  shape[axis] = part;
  value *y = add(x->rank, shape);
  for (int64_t i = 0; i < x->n; i++)
    for (int32_t q = 0; q < size; q++) all[i] = q ? combined(op, all[i], x->at[q][i]) : x->at[0][i];
  for (int32_t r = 0; r < size; r++) {
    y->t[r] = GOOD(nx_reduce_scatter(x->t[r], members[r], op, axis));
    move_part(y, y->at[r], 0, x, all, r * part, part, axis);
  }
  free(all);
}

static void exchange(const value *x, int32_t split, int32_t concat) {
  value cut = {.rank = x->rank};
  memcpy(cut.shape, x->shape, sizeof cut.shape);
  cut.shape[split] /= size;
  int64_t shape[AXES], n = product(cut.shape, 0, cut.rank);
  float *piece = malloc(((size_t)n + 1) * sizeof *piece);
  memcpy(shape, cut.shape, sizeof shape);
  shape[concat] *= size;
  value *y = add(x->rank, shape);
  for (int32_t r = 0; r < size; r++) {
    y->t[r] = GOOD(nx_all_to_all(x->t[r], members[r], split, concat));
    for (int32_t q = 0; q < size; q++) {
      move_part(&cut, piece, 0, x, x->at[q], r * cut.shape[split], cut.shape[split], split);
      move_part(y, y->at[r], q * cut.shape[concat], &cut, piece, 0, cut.shape[concat], concat);
    }
  }
  free(piece);
}

static void permute(const value *x) {
  nx_pair pairs[MOST];
  int64_t turn = below(size), n = below(size + 1);
  value *y = add(x->rank, x->shape);
  for (int32_t i = 0; i < n; i++) pairs[i] = (nx_pair){i, (int32_t)((i + turn) % size)};
  for (int32_t r = 0; r < size; r++)
    y->t[r] = GOOD(nx_collective_permute(x->t[r], members[r], pairs, (size_t)n));
  for (int64_t i = 0; i < n; i++)
    memcpy(y->at[pairs[i].to], x->at[pairs[i].from], (size_t)x->n * sizeof(float));
}

static void broadcast(const value *x) {
  int32_t root = (int32_t)below(size);
  value *y = add(x->rank, x->shape);
  for (int32_t r = 0; r < size; r++) {
    y->t[r] = GOOD(nx_collective_broadcast(x->t[r], members[r], root));
    memcpy(y->at[r], x->at[root], (size_t)x->n * sizeof(float));
  }
}

static void step(void) {
  if (held < 2 || below(6) == 0) {
    make();
    return;
  }
  value x = copy_of(&pool[below(held)]);
  int32_t axis = x.rank ? (int32_t)below(x.rank) : -1;
  bool divides = axis >= 0 && x.shape[axis] % size == 0;
  int64_t kind = below(7);
  if (kind == 0) double_it(&x);
  else if (kind == 1) permute(&x);
  else if (kind == 2) broadcast(&x);
  else if (kind == 3 && axis >= 0 && x.n < 4000) gather(&x, axis);
  else if (kind == 4 && divides) scatter(&x, axis);
  else if (kind == 5 && divides) exchange(&x, axis, (int32_t)below(x.rank));
  else reduce(&x);
  drop(&x);
}

/* ---- programs */

static uint32_t word_of(float x) {
  uint32_t word;
  memcpy(&word, &x, sizeof word);
  return word;
}

static void compare(uint64_t seed) {
  for (int k = 0; k < held; k++)
    for (int32_t r = 0; r < size; r++) {
      float *got = malloc(((size_t)pool[k].n + 1) * sizeof *got);
      OK(nx_read(pool[k].t[r], got, (size_t)pool[k].n * sizeof *got, NULL));
      for (int64_t i = 0; i < pool[k].n; i++)
        if (word_of(got[i]) != word_of(pool[k].at[r][i]))
          fail_msg("seed %llu: value %d of rank %d of %d, element %d: %a, not %a",
                   (unsigned long long)seed, k, r, size, (int)i, (double)got[i],
                   (double)pool[k].at[r][i]);
      free(got);
    }
}

static void run(uint64_t seed) {
  nx_device devices[MOST] = {0, 1, 2, 3};
  nx_tensor *all[POOL * MOST];
  chance = (nxt_random){seed};
  size = (int32_t)below(MOST) + 1;
  held = 0;
  memset(pool, 0, sizeof pool);
  OK(nx_group_create(ctx, devices, (size_t)size, NULL, members));
  for (int i = 0; i < STEPS; i++) {
    step();
    if (below(5)) continue;
    OK(nx_realize(ctx, pool[below(held)].t, (size_t)size, NULL));
  }
  size_t n = 0;
  for (int k = held - 1; k >= 0; k--)
    for (int32_t r = 0; r < size; r++) all[n++] = pool[k].t[r];
  OK(nx_realize(ctx, all, n, NULL));
  compare(seed);
  for (int k = 0; k < held; k++) drop(&pool[k]);
  for (int32_t r = 0; r < size; r++) nx_group_release(members[r]);
}

static uint64_t first_seed = 1, programs = 150;

static void all_agree(void **state) {
  (void)state;
  for (uint64_t i = 0; i < programs; i++) run(first_seed + i);
}

static int open_divided(void **state) {
  (void)state;
  nx_context_options o = {.size = sizeof o, .cpu_devices = MOST};
  return nx_context_create(&o, &ctx) != NX_OK;
}

NXT_MAIN(random_groups) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_agree)};
  if (argc > 2) {
    first_seed = strtoull(argv[1], NULL, 10);
    programs = strtoull(argv[2], NULL, 10);
  }
  return cmocka_run_group_tests(tests, open_divided, close_context);
}
