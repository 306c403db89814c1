/* SPDX-License-Identifier: ISC */
/* Collectives: three members, devices of a context of its own, of which rank 1 is on the device
 * that is checked, and the others are on processors. What rank 1 gets is compared. */
#include "../conformance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 3, OWN = 1 };
static const int64_t shape[] = {2, 3, 2}; /* axis 1 is what is divided */

static nx_context *context; /* made once, of the process */
static nx_device devices[RANKS];

static void open_context(trial *t) {
  nx_context_options o = {.size = sizeof o, .cpu_devices = RANKS};
  nx_device_info wanted = {.size = sizeof wanted}, info = {.size = sizeof info};
  if (nx_device_describe(t->context, t->device, &wanted) != NX_OK ||
      nx_context_create(&o, &context) != NX_OK)
    exit(2);
  for (nx_device d = 0; d < RANKS; d++) devices[d] = d;
  for (nx_device d = RANKS; d < nx_device_count(context); d++)
    if (nx_device_describe(context, d, &info) == NX_OK && !strcmp(info.name, wanted.name))
      devices[OWN] = d;
}

static nx_tensor *tensor_there(trial *t, const array *a, nx_device device) {
  size_t bytes;
  unsigned char *data = packed(t, a, &bytes);
  nx_tensor *x = nx_empty(context, device, a->dtype, a->shape, a->rank);
  if (x && nx_write(x, data, bytes, NULL) != NX_OK) exit(2);
  return x;
}

/* ---- what each records: what rank r gives, and what rank 1 gets */

typedef struct collective {
  nx_tensor *(*record)(nx_tensor *x, nx_group *member, nx_reduction op);
  void (*want)(trial *t, array *const *x, array *want);
  int64_t shape[3]; /* of the result */
  nx_reduction op;
} collective;

static nx_tensor *record_reduce(nx_tensor *x, nx_group *g, nx_reduction op) {
  return nx_all_reduce(x, g, op, 0);
}
static nx_tensor *record_scatter(nx_tensor *x, nx_group *g, nx_reduction op) {
  return nx_reduce_scatter(x, g, op, 1);
}
static nx_tensor *record_gather(nx_tensor *x, nx_group *g, nx_reduction op) {
  return (void)op, nx_all_gather(x, g, 1);
}
static nx_tensor *record_exchange(nx_tensor *x, nx_group *g, nx_reduction op) {
  return (void)op, nx_all_to_all(x, g, 1, 0);
}
static nx_tensor *record_permute(nx_tensor *x, nx_group *g, nx_reduction op) {
  return (void)op, nx_collective_permute(x, g, (const nx_pair[]){{0, 1}, {1, 2}}, 2);
}
static nx_tensor *record_nothing(nx_tensor *x, nx_group *g, nx_reduction op) {
  return (void)op, nx_collective_permute(x, g, &(const nx_pair){1, 0}, 1);
}
static nx_tensor *record_broadcast(nx_tensor *x, nx_group *g, nx_reduction op) {
  return (void)op, nx_collective_broadcast(x, g, 2);
}

/* Where element (i, j, k) of an operand is. */
static size_t at(int64_t i, int64_t j, int64_t k) { return (size_t)((i * 3 + j) * 2 + k); }

static void want_gathered(trial *t, array *const *x, array *want) {
  (void)t;
  for (int64_t n = 0; n < (int64_t)want->n; n++) {
    int64_t i = n / 18, j = n / 2 % 9;
    want->at[n] = x[j / 3]->at[at(i, j % 3, n % 2)];
  }
}
static void want_exchanged(trial *t, array *const *x, array *want) {
  (void)t;
  for (int64_t n = 0; n < (int64_t)want->n; n++)
    want->at[n] = x[n / 4]->at[at(n / 2 % 2, OWN, n % 2)];
}
static void want_first(trial *t, array *const *x, array *want) {
  (void)t;
  memcpy(want->at, x[0]->at, want->n * sizeof *want->at);
}
static void want_last(trial *t, array *const *x, array *want) {
  (void)t;
  memcpy(want->at, x[2]->at, want->n * sizeof *want->at);
}
static void want_zeros(trial *t, array *const *x, array *want) { (void)t, (void)x, (void)want; }

/* In the order of ranks, rounded at each step; sums and products of halves in f32. */
static bits combined(nx_dtype dtype, nx_reduction op, bits a, bits b) {
  value x = decode(dtype, a), y = decode(dtype, b);
  switch (op) {
    case NX_REDUCE_SUM: return encode(dtype, sum_of(dtype, x, y));
    case NX_REDUCE_PROD: return encode(dtype, product_of(dtype, x, y));
    case NX_REDUCE_MIN: return is_less(y, x) ? b : a;
    case NX_REDUCE_MAX: return is_less(x, y) ? b : a;
    case NX_REDUCE_AND: return (bits){a.low & b.low, 0};
    default: return (bits){a.low | b.low, 0};
  }
}

static bool small(nx_dtype t) {
  return format_of(t)->kind == KIND_FLOAT && format_of(t)->bits < 32;
}

static bits reduced(trial *t, array *const *x, size_t i) {
  nx_reduction op = ((const collective *)t->op->detail)->op;
  bool adds = op == NX_REDUCE_SUM || op == NX_REDUCE_PROD;
  nx_dtype own = t->dtype, wide = adds && small(own) ? NX_F32 : own;
  bits sum = converted(own, x[0]->at[i], wide);
  for (int r = 1; r < RANKS; r++) sum = combined(wide, op, sum, converted(own, x[r]->at[i], wide));
  return wide == own ? sum : converted(wide, sum, own);
}
static void want_reduced(trial *t, array *const *x, array *want) {
  for (size_t i = 0; i < want->n; i++) want->at[i] = reduced(t, x, i);
}
static void want_scattered(trial *t, array *const *x, array *want) {
  for (int64_t i = 0; i < (int64_t)want->n; i++) want->at[i] = reduced(t, x, at(i / 2, OWN, i % 2));
}

/* ---- the check */

static bool reduces(const collective *k) {
  return k->want == want_reduced || k->want == want_scattered;
}

/* Numbers that reductions are exact for, but for one that depends on their order in a sum; for
 * moves any bits. */
static array *values_of(trial *t, nx_dtype dtype, int rank) {
  const collective *k = t->op->detail;
  if (!reduces(k)) return some_values(t, dtype, 3, shape, 3 * (unsigned)rank);
  array *x = tame_values(t, dtype, 3, shape, 7 + (unsigned)rank);
  const format *f = format_of(dtype);
  long double one = ldexpl(1, f->precision), own[RANKS] = {one, 1, -one};
  if (f->kind == KIND_FLOAT && k->op != NX_REDUCE_PROD)
    x->at[at(0, OWN, 0)] = encode_real(dtype, own[rank]);
  return x;
}

static void compare(trial *t, nx_tensor *y, const array *want) {
  if (!y) return;
  array *got = new_array(t, nx_dtype_of(y), nx_rank(y), nx_shape(y));
  size_t bytes;
  unsigned char *data = packed(t, got, &bytes);
  if (nx_read(y, data, bytes, NULL) != NX_OK) {
    nx_error error = {.size = sizeof error};
    nx_error_take(&error);
    fault(t, "%s", error.message);
    return;
  }
  for (size_t i = 0; i < got->n; i++) got->at[i] = bits_at(got->dtype, data, i);
  expect(t, tensor_of(t, got), want, reduces(t->op->detail) ? SAME : SAME_BITS, "rank 1 of 3");
}

static void check(trial *t) {
  const collective *k = t->op->detail;
  nx_group *members[RANKS] = {NULL};
  nx_tensor *y[RANKS];
  array *x[RANKS], *want = new_array(t, t->dtype, 3, k->shape);
  if (!context) open_context(t);
  nx_scope *scope = nx_scope_begin(context);
  expect_status(t, nx_group_create(context, devices, RANKS, NULL, members), NX_OK, "a group");
  for (int r = 0; r < RANKS; r++) {
    x[r] = values_of(t, t->dtype, r);
    y[r] = k->record(tensor_there(t, x[r], devices[r]), members[r], k->op);
  }
  k->want(t, x, want);
  if (y[0] && y[1] && y[2])
    expect_status(t, nx_realize(context, y, RANKS, NULL), NX_OK, "realised together");
  else fault(t, "rank 1 records nothing: %s", nx_status_name(nx_error_take(NULL)));
  compare(t, y[OWN], want);
  for (int r = 0; r < RANKS; r++) nx_group_release(members[r]);
  nx_scope_end(scope);
}

/* Of a type that is refused: the first member's. */
static nx_tensor *record(trial *t, nx_dtype dtype) {
  const collective *k = t->op->detail;
  nx_group *members[RANKS];
  if (!context) open_context(t);
  if (nx_group_create(context, devices, RANKS, NULL, members) != NX_OK) exit(2);
  nx_tensor *x = tensor_there(t, values_of(t, dtype, 0), devices[0]);
  nx_tensor *y = k->record(x, members[0], k->op);
  nx_tensor_release(x);
  for (int r = 0; r < RANKS; r++) nx_group_release(members[r]);
  return y;
}

#define HELD \
  ((B | I | F | C | STORED) & ~(TYPE(NX_I4) | TYPE(NX_U4) | TYPE(NX_F4E2M1) | TYPE(NX_C32)))
#define MOVES(name, record_it, wanted, ...) \
  {name, HELD, check, record, &(const collective){record_it, wanted, __VA_ARGS__, 0}, 0, NULL}
#define REDUCES(name, admits, reduction)                                                   \
  {"all_reduce, " name,                                                                    \
   (admits) & HELD,                                                                        \
   check,                                                                                  \
   record,                                                                                 \
   &(const collective){record_reduce, want_reduced, {2, 3, 2}, reduction},                 \
   0,                                                                                      \
   NULL},                                                                                  \
  {                                                                                        \
    "reduce_scatter, " name, (admits) & HELD, check, record,                               \
        &(const collective){record_scatter, want_scattered, {2, 1, 2}, reduction}, 0, NULL \
  }
static const operation collective_table[] = {
    MOVES("all_gather", record_gather, want_gathered, {2, 9, 2}),
    MOVES("all_to_all", record_exchange, want_exchanged, {6, 1, 2}),
    MOVES("collective_permute", record_permute, want_first, {2, 3, 2}),
    MOVES("collective_permute, nothing", record_nothing, want_zeros, {2, 3, 2}),
    MOVES("collective_broadcast", record_broadcast, want_last, {2, 3, 2}),
    REDUCES("sum", B | I | F | C, NX_REDUCE_SUM),
    REDUCES("prod", B | I | F | C, NX_REDUCE_PROD),
    REDUCES("min", B | I | F | C, NX_REDUCE_MIN),
    REDUCES("max", B | I | F | C, NX_REDUCE_MAX),
    REDUCES("and", B | I, NX_REDUCE_AND),
    REDUCES("or", B | I, NX_REDUCE_OR),
};
const family collective_family = {"Collectives", collective_table,
                                  sizeof collective_table / sizeof *collective_table};
