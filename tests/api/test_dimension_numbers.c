/* SPDX-License-Identifier: ISC */
/* Gather and scatter with StableHLO's dimension numbers beside loops that follow the definitions of
 * its specification, on random numbers: in every way of treating windows that do not fit. */
#include "tests/util/api.h"
#include "tests/util/executor.h"

enum { RANK = 6, MOST = 4096, BY = NX_SCATTER_XOR + 1 };
static nx_function *by; /* 3 a - u */

static uint64_t seed;
static int32_t any(int32_t low, int32_t high) {
  seed = seed * 6364136223846793005U + 1442695040888963407U;
  return low + (int32_t)((seed >> 33) % (uint64_t)(high - low + 1));
}

typedef struct list {
  int32_t n, at[RANK];
} list;

typedef struct trial {
  bool scatters;
  int32_t rank, start_rank, dims, vector_dim;
  int64_t shape[RANK], size[RANK], start_shape[RANK], dim[RANK];
  list window, gone, batching, start_batching, map;
  nx_bounds bounds;
  nx_scatter_mode mode; /* BY: by a function whose result depends on the order */
  int64_t starts[MOST], x[MOST], updates[MOST], wanted[MOST];
  int64_t first_bad; /* -1: none */
} trial;
static trial t;

static bool has(const list *l, int32_t x) {
  for (int32_t i = 0; i < l->n; i++)
    if (l->at[i] == x) return true;
  return false;
}

static int64_t count(int32_t rank, const int64_t *shape) {
  int64_t n = 1;
  for (int32_t i = 0; i < rank; i++) n *= shape[i];
  return n;
}

static void unravel(int64_t i, int32_t rank, const int64_t *shape, int64_t *at) {
  for (int32_t k = rank; k-- > 0; i /= shape[k]) at[k] = i % shape[k];
}

static int64_t ravel(int32_t rank, const int64_t *shape, const int64_t *at) {
  int64_t i = 0;
  for (int32_t k = 0; k < rank; k++) i = i * shape[k] + at[k];
  return i;
}

/* n of the numbers below `end`, in rising order. */
static list some_of(int32_t n, int32_t end) {
  list l = {0};
  for (int32_t i = 0; i < end && l.n < n; i++)
    if (any(0, end - i - 1) < n - l.n) l.at[l.n++] = i;
  return l;
}

static void shuffle(list *l) {
  for (int32_t i = l->n; i-- > 1;) {
    int32_t k = any(0, i), other = l->at[i];
    l->at[i] = l->at[k];
    l->at[k] = other;
  }
}

/* What each axis of the operand is, and the windows. */
static void make_axes(void) {
  t.rank = any(1, 4);
  t.batching.n = t.gone.n = t.map.n = 0;
  for (int32_t i = 0; i < t.rank; i++) {
    t.shape[i] = any(1, 5);
    int32_t kind = any(0, 4);
    if (kind == 0 && t.batching.n < 2) t.batching.at[t.batching.n++] = i;
    else if (kind == 1) t.gone.at[t.gone.n++] = i;
    bool one = has(&t.batching, i) || has(&t.gone, i);
    t.size[i] = one ? 1 : any(0, 1) ? t.shape[i] : any(1, (int32_t)t.shape[i]);
    if (!has(&t.batching, i) && any(0, 3)) t.map.at[t.map.n++] = i;
  }
  shuffle(&t.map);
}

/* The axes of the starts, and those of the result or the updates. */
static void make_dims(void) {
  int64_t batch[RANK] = {0};
  int32_t n = t.batching.n + any(0, 2), windows = t.rank - t.batching.n - t.gone.n;
  list places = some_of(t.batching.n, n);
  shuffle(&places);
  for (int32_t i = 0; i < n; i++) batch[i] = any(1, 4);
  for (int32_t i = 0; i < places.n; i++) batch[places.at[i]] = t.shape[t.batching.at[i]];
  bool one = t.map.n == 1 && any(0, 1);
  t.vector_dim = one ? n : any(0, n);
  t.start_rank = n + !one;
  for (int32_t i = 0, k = 0; i < t.start_rank; i++)
    t.start_shape[i] = i == t.vector_dim ? t.map.n : batch[k++];
  t.start_batching.n = places.n;
  for (int32_t i = 0; i < places.n; i++)
    t.start_batching.at[i] = places.at[i] + (!one && places.at[i] >= t.vector_dim);
  t.dims = n + windows;
  t.window = some_of(windows, t.dims);
  int32_t axis = 0, b = 0;
  for (int32_t i = 0; i < t.dims; i++) {
    if (!has(&t.window, i)) {
      t.dim[i] = batch[b++];
      continue;
    }
    while (has(&t.batching, axis) || has(&t.gone, axis)) axis++;
    t.dim[i] = t.size[axis++];
  }
}

/* The number of the window of an element of the dims, its start, and where the element lies. */
static int64_t window_of(const int64_t *at, int64_t *start, int64_t *inside, bool *fits) {
  int64_t from[RANK] = {0}, window = 0;
  int32_t k = 0, w = 0;
  for (int32_t i = 0; i < t.start_rank; i++) {
    if (i == t.vector_dim) continue;
    while (has(&t.window, k)) k++;
    window = window * t.dim[k] + at[k];
    from[i] = at[k++];
  }
  *fits = true;
  for (int32_t i = 0; i < t.rank; i++) start[i] = inside[i] = 0;
  for (int32_t i = 0; i < t.map.n; i++) {
    if (t.vector_dim < t.start_rank) from[t.vector_dim] = i;
    int64_t s = t.starts[ravel(t.start_rank, t.start_shape, from)], axis = t.map.at[i],
            last = t.shape[axis] - t.size[axis];
    *fits &= s >= 0 && s <= last;
    start[axis] = s < 0 ? 0 : s > last ? last : s;
  }
  for (int32_t i = 0; i < t.batching.n; i++) start[t.batching.at[i]] = from[t.start_batching.at[i]];
  for (int32_t i = 0; i < t.rank; i++)
    if (!has(&t.batching, i) && !has(&t.gone, i)) inside[i] = at[t.window.at[w++]];
  return window;
}

static int64_t combined(int64_t a, int64_t u) {
  if ((int)t.mode == BY) return (int64_t)(3 * (uint64_t)a - (uint64_t)u);
  return t.mode ? a + u : u;
}

/* What the specification says. */
static void compute(void) {
  int64_t n = count(t.dims, t.dim), at[RANK] = {0}, start[RANK] = {0}, inside[RANK] = {0};
  t.first_bad = -1;
  memcpy(t.wanted, t.x, sizeof t.wanted);
  for (int64_t i = 0; i < n; i++) {
    bool fits;
    unravel(i, t.dims, t.dim, at);
    int64_t window = window_of(at, start, inside, &fits);
    for (int32_t k = 0; k < t.rank; k++) start[k] += inside[k];
    int64_t place = ravel(t.rank, t.shape, start);
    if (!fits && (t.first_bad < 0 || window < t.first_bad)) t.first_bad = window;
    bool drop = !fits && t.bounds == NX_BOUNDS_DROP;
    if (!t.scatters) t.wanted[i] = drop ? -9 : t.x[place];
    else if (!drop) t.wanted[place] = combined(t.wanted[place], t.updates[i]);
  }
}

static void make_trial(bool scatters) {
  t.scatters = scatters;
  t.mode = (nx_scatter_mode)(int[]){NX_SCATTER_SET, NX_SCATTER_ADD, BY}[any(0, 2)];
  do {
    make_axes();
    make_dims();
  } while (t.map.n == 0 || count(t.rank, t.shape) > MOST || count(t.dims, t.dim) > MOST);
  int64_t far = any(0, 2);
  for (int64_t i = 0; i < count(t.start_rank, t.start_shape); i++)
    t.starts[i] = any(far ? -2 : 0, far ? 6 : 0);
  for (int64_t i = 0; i < count(t.rank, t.shape); i++) t.x[i] = any(0, 1000);
  for (int64_t i = 0; i < count(t.dims, t.dim); i++) t.updates[i] = any(0, 1000);
}

static nx_tensor *tensor(int32_t rank, const int64_t *shape, const int64_t *from) {
  return GOOD(nx_from_data(ctx, device(), NX_I64, shape, rank, from,
                           (size_t)count(rank, shape) * sizeof *from));
}

#define LIST(l) (l).n ? (l).at : NULL

static nx_tensor *record_gather(nx_tensor *x, nx_tensor *starts) {
  const nx_gather_numbers n = {.size = sizeof n,
                               .n_offset_dims = t.window.n,
                               .n_collapsed_dims = t.gone.n,
                               .n_batching_dims = t.batching.n,
                               .n_start_index_map = t.map.n,
                               .offset_dims = LIST(t.window),
                               .collapsed_slice_dims = LIST(t.gone),
                               .operand_batching_dims = LIST(t.batching),
                               .start_indices_batching_dims = LIST(t.start_batching),
                               .start_index_map = LIST(t.map),
                               .slice_sizes = t.size,
                               .index_vector_dim = t.vector_dim,
                               .bounds = t.bounds,
                               .fill = NX_NUMBER(-9)};
  return nx_gather_general(x, starts, &n);
}

static nx_scatter_numbers scatter_numbers(void) {
  return (nx_scatter_numbers){.size = sizeof(nx_scatter_numbers),
                              .n_update_window_dims = t.window.n,
                              .n_inserted_window_dims = t.gone.n,
                              .n_batching_dims = t.batching.n,
                              .n_scatter_dims_to_operand_dims = t.map.n,
                              .update_window_dims = LIST(t.window),
                              .inserted_window_dims = LIST(t.gone),
                              .input_batching_dims = LIST(t.batching),
                              .scatter_indices_batching_dims = LIST(t.start_batching),
                              .scatter_dims_to_operand_dims = LIST(t.map),
                              .index_vector_dim = t.vector_dim,
                              .bounds = t.bounds};
}

static nx_tensor *record(nx_tensor *x) {
  nx_tensor *starts = tensor(t.start_rank, t.start_shape, t.starts);
  const nx_scatter_numbers n = scatter_numbers();
  if (!t.scatters) return GOOD(record_gather(x, starts));
  nx_tensor *updates = tensor(t.dims, t.dim, t.updates), *y = NULL;
  if ((int)t.mode != BY) return GOOD(nx_scatter_general(x, starts, updates, &n, t.mode, 0));
  OK(nx_scatter_by(by, &x, &updates, 1, starts, &n, &y, 1));
  return y;
}

static void check_trial(void) {
  nx_error e = {.size = sizeof e};
  static int64_t is[MOST];
  nx_scope *s = nx_scope_begin(ctx);
  nx_tensor *y = record(tensor(t.rank, t.shape, t.x));
  int64_t n = t.scatters ? count(t.rank, t.shape) : count(t.dims, t.dim);
  nx_status status = nx_read(y, is, (size_t)n * sizeof *is, NULL);
  if (t.bounds == NX_BOUNDS_CHECK && t.first_bad >= 0) {
    assert_int_equal(status, NX_INDEX_OUT_OF_RANGE);
    assert_int_equal(nx_error_take(&e), status);
    const char *name = !t.scatters         ? "gather_general: "
                       : (int)t.mode == BY ? "scatter_by: "
                                           : "scatter_general: ";
    assert_non_null(strstr(e.message, name));
    assert_non_null(strstr(e.message, ": start "));
  } else {
    OK(status);
    for (int64_t i = 0; i < n; i++)
      if (is[i] != t.wanted[i])
        fail_msg("%s, bounds %d: element %d is %d, not %d", t.scatters ? "scatter" : "gather",
                 (int)t.bounds, (int)i, (int)is[i], (int)t.wanted[i]);
  }
  nx_scope_end(s);
}

/* Fewer where each trial is compiled. */
static void all_as_specified(void **state) {
  int trials = nxt_executor_is("") || nxt_executor_is("interp") ? 400 : 60;
  nx_tensor *in[2] = {GOOD(nx_placeholder(ctx, device(), NX_I64, NULL, 0)),
                      GOOD(nx_placeholder(ctx, device(), NX_I64, NULL, 0))},
            *out = GOOD(nx_sub(nx_binary_i64(in[0], NX_BINARY_MUL, 3), in[1]));
  (void)state;
  OK(nx_function_create(ctx, in, 2, &out, 1, NULL, &by));
  for (int i = 0; i < trials; i++) {
    seed = (uint64_t)i * 977 + 5;
    make_trial(i % 2);
    t.bounds = NX_BOUNDS_CLAMP + (nx_bounds)(i / 2 % 3);
    compute();
    check_trial();
  }
  nx_function_release(by);
}

/* Axes of batches that are no axes are refused before anything is looked up by them. */
static void axes_of_batches(void **state) {
  (void)state;
  static const int32_t odd[] = {-1, 2, 5, 1 << 29}, zero[] = {0}, one[] = {1};
  static const int64_t sizes[] = {1, 1};
  nx_tensor *x = GOOD(nx_full_i64(ctx, device(), NX_F32, NX_SHAPE(2, 2), 1)),
            *starts = GOOD(nx_full_i64(ctx, device(), NX_I32, NX_SHAPE(2, 1), 0)),
            *updates = GOOD(nx_full_i64(ctx, device(), NX_F32, NX_SHAPE(2), 1));
  for (size_t i = 0; i < 8; i++) {
    const int32_t *bad = &odd[i / 2], *operand = i % 2 ? bad : zero, *start = i % 2 ? zero : bad;
    nx_gather_numbers g = {.size = sizeof g,
                           .n_collapsed_dims = 1,
                           .n_batching_dims = 1,
                           .n_start_index_map = 1,
                           .collapsed_slice_dims = one,
                           .operand_batching_dims = operand,
                           .start_indices_batching_dims = start,
                           .start_index_map = one,
                           .slice_sizes = sizes,
                           .index_vector_dim = 1};
    nx_scatter_numbers s = {.size = sizeof s,
                            .n_inserted_window_dims = 1,
                            .n_batching_dims = 1,
                            .n_scatter_dims_to_operand_dims = 1,
                            .inserted_window_dims = one,
                            .input_batching_dims = operand,
                            .scatter_indices_batching_dims = start,
                            .scatter_dims_to_operand_dims = one,
                            .index_vector_dim = 1};
    assert_null(nx_gather_general(x, starts, &g));
    assert_int_equal(nx_error_take(NULL), NX_INVALID_ARGUMENT);
    assert_null(nx_scatter_general(x, starts, updates, &s, NX_SCATTER_SET, 0));
    assert_int_equal(nx_error_take(NULL), NX_INVALID_ARGUMENT);
  }
}

NXT_MAIN(dimension_numbers) {
  const struct CMUnitTest tests[] = {IN_SCOPE(all_as_specified), IN_SCOPE(axes_of_batches)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
