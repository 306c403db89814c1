/* SPDX-License-Identifier: ISC */
/* Several results of the same values through the interface: a random program is recorded anew for
 * every order in which its results are asked for, realised in one call or one result after the
 * other, and all must have the same bits. What a run records of a program, and which groups fusion
 * makes of it, follows that order. NX_RANDOM in the environment says how many programs, of which a
 * tenth is compiled. */
#include "tests/util/api.h"
#include "tests/util/executor.h"
#include "tests/util/random_values.h"

enum { MOST_VALUES = 24, MOST_RESULTS = 5, MOST_ELEMENTS = 25, ORDERS = 10 };

typedef struct program {
  nxt_random r;
  int64_t shape[2];
  nx_tensor *values[MOST_VALUES];
  uint32_t n;
} program;

static nx_tensor *any(program *p) {
  uint32_t recent = p->n < 5 ? p->n : 5;
  return nxt_chance(&p->r, 50) ? p->values[p->n - 1 - nxt_below(&p->r, recent)]
                               : p->values[nxt_below(&p->r, p->n)];
}

static nx_tensor *of_two(program *p, nx_tensor *(*f)(nx_tensor *, nx_tensor *)) {
  nx_tensor *a = any(p), *b = any(p);
  return GOOD(f(a, b));
}

/* f(...) of handles that are released. */
static nx_tensor *done1(nx_tensor *result, nx_tensor *a) {
  nx_tensor_release(a);
  return GOOD(result);
}
static nx_tensor *done2(nx_tensor *result, nx_tensor *a, nx_tensor *b) {
  nx_tensor_release(b);
  return done1(result, a);
}

static nx_tensor *reduction(program *p) {
  nx_tensor *(*const folds[])(nx_tensor *, const int32_t *, size_t, uint32_t) = {
      nx_reduce_sum, nx_reduce_max, nx_reduce_min, nx_reduce_sum};
  const int32_t axes[2] = {0, 1};
  int64_t which = nxt_below(&p->r, 3);
  int64_t fold = nxt_below(&p->r, 4);
  nx_tensor *x = any(p),
            *folded = GOOD(folds[fold](x, axes + (which == 1), which == 2 ? 2 : 1, NX_KEEPDIMS));
  if (nxt_chance(&p->r, 30)) return done1(nx_expand(folded, p->shape, 2), folded);
  nx_tensor *other = nxt_chance(&p->r, 50) ? x : any(p);
  return done1(nxt_chance(&p->r, 50) ? nx_add(folded, other) : nx_sub(other, folded), folded);
}

static nx_tensor *product(program *p) {
  nx_tensor *x = any(p), *turned = GOOD(nx_permute(any(p), (const int32_t[]){1, 0}, 2)),
            *square = GOOD(nx_matmul(x, turned));
  return done2(nx_matmul(square, any(p)), square, turned);
}

static nx_tensor *transform(program *p) {
  const int32_t axis = (int32_t)nxt_below(&p->r, 2);
  nx_tensor *z = of_two(p, nx_complex), *f = GOOD(nx_fft(z, &axis, 1));
  return done2(nx_real(f), f, z);
}

static nx_tensor *indexed(program *p) {
  int32_t axis = (int32_t)nxt_below(&p->r, 2);
  nx_tensor *order = GOOD(nx_argsort(any(p), axis, 0, NX_I32)), *x = any(p), *updates = any(p);
  if (nxt_chance(&p->r, 50)) return done1(nx_gather(x, order, axis), order);
  nx_scatter_mode mode = nxt_chance(&p->r, 50) ? NX_SCATTER_ADD : NX_SCATTER_SET;
  return done1(nx_scatter(x, order, updates, axis, mode, 0), order);
}

static nx_tensor *sorted(program *p) {
  int32_t axis = (int32_t)nxt_below(&p->r, 2);
  bool descending = nxt_chance(&p->r, 50);
  return GOOD(nx_sort(any(p), axis, descending ? NX_DESCENDING : 0));
}

static nx_tensor *scanned(program *p) {
  int32_t axis = (int32_t)nxt_below(&p->r, 2);
  return GOOD(nx_associative_scan(any(p), NX_SCAN_SUM, axis));
}

/* Rows of two values, as many as one has. */
static nx_tensor *joined(program *p) {
  nx_tensor *both[2] = {any(p), any(p)}, *all = GOOD(nx_cat(both, 2, 0));
  int64_t first = nxt_below(&p->r, p->shape[0] + 1), start[2] = {first, 0},
          stop[2] = {first + p->shape[0], p->shape[1]};
  return done1(nx_shrink(all, start, stop, 2), all);
}

/* A copy of a value of which one row is assigned to. */
static nx_tensor *assigned(program *p) {
  nx_tensor *x = GOOD(nx_copy(any(p)));
  int64_t row = nxt_below(&p->r, p->shape[0]), start[2] = {row, 0},
          stop[2] = {row + 1, p->shape[1]};
  nx_tensor *to = GOOD(nx_shrink(x, start, stop, 2)),
            *from = GOOD(nx_shrink(any(p), start, stop, 2));
  OK(nx_assign(to, from));
  nx_tensor_release(to);
  nx_tensor_release(from);
  return x;
}

static nx_tensor *one_more(program *p) {
  switch (nxt_below(&p->r, 16)) {
    case 0:
    case 1: return of_two(p, nx_add);
    case 2: return of_two(p, nx_mul);
    case 3: return GOOD(nx_tanh(any(p)));
    case 4: return of_two(p, nx_max);
    case 5:
    case 6:
    case 7:
    case 8: return reduction(p);
    case 9:
    case 10: return sorted(p);
    case 11: return product(p);
    case 12: return transform(p);
    case 13: return indexed(p);
    case 14: return joined(p);
    default: return nxt_chance(&p->r, 50) ? assigned(p) : scanned(p);
  }
}

/* The same for the same seed. */
static void record(program *p, uint64_t seed) {
  static const int64_t extents[] = {2, 3, 4, 5};
  *p = (program){.r = {seed * 0x9e3779b97f4a7c15u + 1}};
  for (int i = 0; i < 2; i++) p->shape[i] = extents[nxt_below(&p->r, 4)];
  for (int64_t inputs = 1 + nxt_below(&p->r, 2); inputs > 0; inputs--) {
    float numbers[MOST_ELEMENTS];
    for (int i = 0; i < MOST_ELEMENTS; i++) numbers[i] = (float)nxt_below(&p->r, 64) / 16 - 2;
    nx_tensor *x = GOOD(nx_empty(ctx, device(), NX_F32, p->shape, 2));
    OK(nx_write(x, numbers, (size_t)(p->shape[0] * p->shape[1]) * sizeof *numbers, NULL));
    p->values[p->n++] = x;
  }
  for (int64_t more = 6 + nxt_below(&p->r, MOST_VALUES - 8); more > 0 && p->n < MOST_VALUES;
       more--) {
    nx_tensor *made = one_more(p);
    p->values[p->n++] = made;
  }
}

/* The numbers of the results: the last values and some of the others, in an order that `r`
 * draws. */
static uint32_t choose_results(program *p, nxt_random *r, uint32_t *results) {
  uint32_t n = 2 + (uint32_t)nxt_below(&p->r, MOST_RESULTS - 1);
  for (uint32_t i = 0; i < n; i++)
    results[i] = i < 2 ? p->n - 1 - i : (uint32_t)nxt_below(&p->r, p->n);
  for (uint32_t i = n; r != NULL && i > 1; i--) {
    uint32_t k = (uint32_t)nxt_below(r, i), swapped = results[k];
    results[k] = results[i - 1];
    results[i - 1] = swapped;
  }
  return n;
}

/* Every value of the program after its results have been realised in one order. */
static void run(uint64_t seed, uint32_t order, float (*out)[MOST_ELEMENTS]) {
  program p;
  nxt_random shuffle = {seed ^ ((uint64_t)order << 40)};
  uint32_t results[MOST_RESULTS];
  nx_tensor *wanted[MOST_RESULTS];
  record(&p, seed);
  uint32_t n = choose_results(&p, order > 0 ? &shuffle : NULL, results);
  for (uint32_t i = 0; i < n; i++) wanted[i] = p.values[results[i]];
  if (order % 3 != 2) OK(nx_realize(ctx, wanted, n, NULL));
  for (uint32_t i = 0; i < n && order % 3 == 2; i++) OK(nx_realize(ctx, &wanted[i], 1, NULL));
  for (uint32_t i = 0; i < p.n; i++) {
    OK(nx_read(p.values[i], out[i], (size_t)(p.shape[0] * p.shape[1]) * sizeof(float), NULL));
    nx_tensor_release(p.values[i]);
  }
}

/* All NaNs are one. */
static bool same(const float *a, const float *b) {
  for (int i = 0; i < MOST_ELEMENTS; i++)
    if (memcmp(&a[i], &b[i], sizeof *a) != 0 && !(a[i] != a[i] && b[i] != b[i])) return false;
  return true;
}

static void results_are_the_same_in_every_order(void **state) {
  (void)state;
  const char *wish = getenv("NX_RANDOM");
  uint64_t programs = wish != NULL ? strtoull(wish, NULL, 10) : 100;
  if (!nxt_executor_is("interp")) programs = 1 + programs / 10; /* with kernels to compile */
  nx_context_options o = {.size = sizeof o, .threads = 1};
  OK(nx_context_create(&o, &ctx));
  for (uint64_t seed = 1; seed <= programs; seed++) {
    static float first[MOST_VALUES][MOST_ELEMENTS], other[MOST_VALUES][MOST_ELEMENTS];
    memset(first, 0, sizeof first);
    run(seed, 0, first);
    for (uint32_t order = 1; order < ORDERS; order++) {
      memset(other, 0, sizeof other);
      run(seed, order, other);
      for (uint32_t i = 0; i < MOST_VALUES; i++)
        if (!same(first[i], other[i]))
          fail_msg("program %llu, order %u: value %u differs", (unsigned long long)seed, order, i);
    }
  }
  nx_context_release(ctx);
}

NXT_MAIN(results_api) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(results_are_the_same_in_every_order)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
