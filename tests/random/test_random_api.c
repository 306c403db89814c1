/* SPDX-License-Identifier: ISC */
/* Random programs against a model that computes everything at once: tensors, views of views, reads,
 * assigns through any view, mappings with host writes, copies, imports, realises in between,
 * releases in any order. Whatever was recorded must read what the model read at that moment.
 * NX_RANDOM in the environment says how many programs. */
#include "tests/util/api.h"

enum { MOST_STORAGES = 6, MOST_HANDLES = 24, MOST_ELEMENTS = 12, STEPS = 60 };

typedef struct model_storage {
  bool live, imported;
  int32_t n;
  int32_t values[MOST_ELEMENTS];
  int32_t *memory;     /* imported: what the host sees */
  nx_mapping *mapping; /* at most one */
  bool writable;
  int handles;
} model_storage;

typedef struct handle {
  nx_tensor *t;
  int storage;
  int32_t n, at[MOST_ELEMENTS]; /* where its elements lie, in C order */
} handle;

static model_storage storages[MOST_STORAGES];
static handle handles[MOST_HANDLES];
static uint64_t seed;

static uint32_t random_below(uint32_t n) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((seed >> 33) % n);
}

static int free_handle(void) {
  for (int i = 0; i < MOST_HANDLES; i++)
    if (!handles[i].t) return i;
  return -1;
}
static int free_storage(void) {
  for (int i = 0; i < MOST_STORAGES; i++)
    if (!storages[i].live) return i;
  return -1;
}
static handle *any_handle(void) {
  int start = (int)random_below(MOST_HANDLES);
  for (int i = 0; i < MOST_HANDLES; i++)
    if (handles[(start + i) % MOST_HANDLES].t) return &handles[(start + i) % MOST_HANDLES];
  return NULL;
}

static int32_t value_of(const handle *h, int32_t i) {
  return storages[h->storage].values[h->at[i]];
}

/* A handle of a new storage with these values, in C order. */
static handle *add_tensor(nx_tensor *t, int32_t n, const int32_t *values) {
  int s = free_storage(), i = free_handle();
  if (s < 0 || i < 0) {
    nx_tensor_release(t);
    return NULL;
  }
  GOOD(t);
  storages[s] = (model_storage){.live = true, .n = n, .handles = 1};
  memcpy(storages[s].values, values, (size_t)n * sizeof *values);
  handles[i] = (handle){.t = t, .storage = s, .n = n};
  for (int32_t k = 0; k < n; k++) handles[i].at[k] = k;
  return &handles[i];
}

static void forget(handle *h) {
  model_storage *s = &storages[h->storage];
  nx_tensor_release(h->t);
  h->t = NULL;
  if (--s->handles) return;
  nx_mapping_release(s->mapping);
  if (s->imported) { /* nothing is pending on it: the host sees the last values */
    nx_context_collect(ctx);
    assert_memory_equal(s->memory, s->values, (size_t)s->n * sizeof(int32_t));
    free(s->memory);
  }
  s->live = false;
}

static void check(handle *h) {
  int32_t is[MOST_ELEMENTS];
  OK(nx_read(h->t, is, (size_t)h->n * sizeof *is, NULL));
  for (int32_t i = 0; i < h->n; i++) {
    if (is[i] != value_of(h, i))
      fprintf(stderr, "element %d is %d, not %d\n", i, is[i], value_of(h, i));
    assert_int_equal(is[i], value_of(h, i));
  }
}

/* ---- steps */

static void make(void) {
  int64_t n = 1 + random_below(MOST_ELEMENTS);
  int32_t values[MOST_ELEMENTS], start = (int32_t)random_below(5);
  bool full = random_below(2);
  for (int64_t i = 0; i < n; i++) values[i] = full ? start : start + (int32_t)i;
  add_tensor(full ? nx_full(ctx, 0, NX_I32, &n, 1, NX_INTEGER(start))
                  : nx_arange(ctx, 0, NX_I32, NX_INTEGER(start), NX_INTEGER(1), n),
             (int32_t)n, values);
}

static void import_shared(void) {
  int64_t n = 1 + random_below(MOST_ELEMENTS);
  int32_t *memory = malloc((size_t)n * sizeof *memory);
  for (int64_t i = 0; i < n; i++) memory[i] = (int32_t)random_below(9);
  nx_import_desc d = {.size = sizeof d,
                      .mode = NX_IMPORT_SHARED,
                      .dtype = NX_I32,
                      .rank = 1,
                      .shape = &n,
                      .base = memory,
                      .bytes = (size_t)n * sizeof *memory};
  nx_tensor *t = NULL;
  OK(nx_import(ctx, &d, &t));
  handle *h = add_tensor(t, (int32_t)n, memory);
  if (!h) {
    nx_context_collect(ctx);
    free(memory);
    return;
  }
  storages[h->storage].imported = true;
  storages[h->storage].memory = memory;
}

static void view(void) {
  handle *h = any_handle();
  int i = free_handle();
  if (!h || i < 0) return;
  handle v = {.storage = h->storage};
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(h->t, &info);
  if (info.rank == 1 && random_below(4) && h->n > 0) {
    int64_t step = random_below(2) ? 1 + random_below(2) : -(int64_t)(1 + random_below(2)),
            start = random_below((uint32_t)h->n);
    int64_t room = step > 0 ? (h->n - 1 - start) / step : start / -step,
            count = 1 + random_below((uint32_t)room + 1);
    v.t = nx_slice(h->t, &start, &count, &step, 1);
    v.n = (int32_t)count;
    for (int32_t k = 0; k < v.n; k++) v.at[k] = h->at[start + k * step];
  } else if (info.rank == 1 && h->n % 2 == 0) {
    nx_tensor *pairs = nx_reshape(h->t, (int64_t[]){h->n / 2, 2}, 2, 0);
    if (!pairs) { /* never for one axis */
      nx_error_take(NULL);
      return;
    }
    v.t = nx_permute(pairs, NX_AXES(1, 0));
    nx_tensor_release(pairs);
    v.n = h->n;
    for (int32_t k = 0; k < v.n; k++) v.at[k] = h->at[k < v.n / 2 ? 2 * k : 2 * (k - v.n / 2) + 1];
  } else {
    int32_t axis = 0;
    v.t = nx_flip(h->t, &axis, 1);
    v.n = h->n;
    int32_t rows = (int32_t)info.shape[0], width = h->n / rows;
    for (int32_t k = 0; k < v.n; k++) v.at[k] = h->at[(rows - 1 - k / width) * width + k % width];
  }
  GOOD(v.t);
  handles[i] = v;
  storages[v.storage].handles++;
}

static bool same_shape(handle *a, handle *b) {
  nx_tensor_info x = {.size = sizeof x}, y = {.size = sizeof y};
  nx_tensor_describe(a->t, &x);
  nx_tensor_describe(b->t, &y);
  return x.rank == y.rank && !memcmp(x.shape, y.shape, (size_t)x.rank * sizeof *x.shape);
}

/* A pair of handles of one shape; by and by the same one twice. */
static bool any_pair(handle **a, handle **b) {
  *a = any_handle();
  if (!*a) return false;
  *b = *a;
  for (int tries = 0; tries < 8; tries++) {
    handle *other = any_handle();
    if (other && same_shape(*a, other)) *b = other;
  }
  return true;
}

static void compute(void) {
  handle *a, *b;
  if (!any_pair(&a, &b)) return;
  int32_t values[MOST_ELEMENTS];
  uint32_t kind = random_below(4);
  for (int32_t i = 0; i < a->n; i++) {
    uint32_t x = (uint32_t)value_of(a, i), y = (uint32_t)value_of(b, i);
    values[i] = (int32_t)(kind == 0 ? x + y : kind == 1 ? x * y : kind == 2 ? 0u - x : x);
  }
  nx_tensor *t = kind == 0   ? nx_add(a->t, b->t)
                 : kind == 1 ? nx_mul(a->t, b->t)
                 : kind == 2 ? nx_neg(a->t)
                             : nx_copy(a->t);
  add_tensor(t, a->n, values);
}

static void assign(void) {
  handle *dst, *src;
  if (!any_pair(&dst, &src)) return;
  int32_t values[MOST_ELEMENTS];
  bool sum = random_below(2);
  nx_tensor *value = sum ? GOOD(nx_add(dst->t, src->t)) : nx_tensor_retain(src->t);
  for (int32_t i = 0; i < dst->n; i++)
    values[i] = (int32_t)((uint32_t)value_of(src, i) + (sum ? (uint32_t)value_of(dst, i) : 0));
  OK(nx_assign(dst->t, value));
  nx_tensor_release(value);
  for (int32_t i = 0; i < dst->n; i++) storages[dst->storage].values[dst->at[i]] = values[i];
}

static void map_or_write(void) {
  handle *h = any_handle();
  if (!h) return;
  model_storage *s = &storages[h->storage];
  if (s->imported) { /* the host may write at any time */
    if (s->handles) {
      int32_t i = (int32_t)random_below((uint32_t)s->n);
      assert_int_equal(s->memory[i], s->values[i]);
      s->memory[i] = s->values[i] = (int32_t)random_below(100);
    }
    return;
  }
  if (!s->mapping) {
    s->writable = random_below(2);
    OK(nx_map(h->t, s->writable ? NX_MAP_READ | NX_MAP_WRITE : NX_MAP_READ, NULL, &s->mapping));
    return;
  }
  int32_t *p = nx_mapping_base(s->mapping, NULL), i = (int32_t)random_below((uint32_t)s->n);
  if (s->writable) {
    assert_int_equal(p[i], s->values[i]);
    p[i] = s->values[i] = (int32_t)random_below(100);
  } else {
    OK(nx_realize(ctx, &h->t, 1, NULL));
    assert_int_equal(p[i], s->values[i]);
  }
  if (random_below(3) == 0) {
    nx_mapping_release(s->mapping);
    s->mapping = NULL;
  }
}

static void write_elements(void) {
  handle *h = any_handle();
  if (!h) return;
  int32_t values[MOST_ELEMENTS];
  for (int32_t i = 0; i < h->n; i++) values[i] = (int32_t)random_below(50);
  OK(nx_write(h->t, values, (size_t)h->n * sizeof *values, NULL));
  for (int32_t i = 0; i < h->n; i++) storages[h->storage].values[h->at[i]] = values[i];
}

static void realise_some(void) {
  nx_tensor *t[3];
  size_t n = 0;
  for (uint32_t i = 1 + random_below(3); i > 0; i--) {
    handle *h = any_handle();
    if (h) t[n++] = h->t;
  }
  OK(nx_realize(ctx, t, n, NULL));
}

static void step(void) {
  handle *h;
  switch (random_below(14)) {
    case 0:
    case 1: make(); break;
    case 2: import_shared(); break;
    case 3:
    case 4: view(); break;
    case 5:
    case 6: compute(); break;
    case 7:
    case 8: assign(); break;
    case 9: map_or_write(); break;
    case 10: realise_some(); break;
    case 11: write_elements(); break;
    case 12:
      if ((h = any_handle())) check(h);
      break;
    default:
      if (random_below(2) && (h = any_handle())) forget(h);
  }
}

static void program(uint64_t number) {
  seed = number * 0x9e3779b97f4a7c15u + 1;
  for (int i = 0; i < STEPS; i++) step();
  uint32_t order = random_below(MOST_HANDLES);
  for (int i = 0; i < MOST_HANDLES; i++) {
    handle *h = &handles[(order + (uint32_t)i * 7) % MOST_HANDLES];
    if (h->t && random_below(4)) check(h);
    if (h->t) forget(h);
  }
  for (int i = 0; i < MOST_HANDLES; i++)
    if (handles[i].t) forget(&handles[i]);
  nx_context_collect(ctx);
  nx_stats s = {.size = sizeof s};
  nx_context_stats(ctx, &s);
  assert_int_equal(s.pending_nodes, 0);
  assert_int_equal(s.live_bytes, 0);
}

static uint64_t current; /* the program that runs */
static bool finished;

static void programs(void **state) {
  (void)state;
  const char *count = getenv("NX_RANDOM"), *only = getenv("NX_RANDOM_SEED");
  uint64_t n = count ? strtoull(count, NULL, 10) : 300,
           number = only ? strtoull(only, NULL, 10) : 0;
  for (uint64_t i = 0; i < (only ? 1 : n); i++) {
    current = number + i;
    program(current);
  }
  finished = true;
}

static int name_it(void **state) {
  (void)state;
  if (!finished) fprintf(stderr, "NX_RANDOM_SEED=%llu fails\n", (unsigned long long)current);
  return 0;
}

NXT_MAIN(random_api) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(programs, name_it)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
