/* SPDX-License-Identifier: ISC */
/* Operations whose region combines or compares scalars. A region that is one operation of its two
 * arguments is known; others become functions, which the library records over arrays. */
#include "custom.h"

#include <string.h>

#include "ir/dtype.h"

/* The operands of a reduction: n tensors, then n initial values. */
typedef struct request {
  uint32_t n;
  nx_tensor *x[NXH_MOST_OPERANDS], *init[NXH_MOST_OPERANDS], *out[NXH_MOST_OPERANDS];
} request;

static bool check_count(nxh_recorder *r, uint32_t n) {
  return (n >= 1 && n <= NXH_MOST_OPERANDS) ||
         nxh_fail(r, NX_INVALID_ARGUMENT, "%u tensors go together; there may be 1 to %d", n,
                  NXH_MOST_OPERANDS);
}

static bool take(nxh_recorder *r, const nxh_op *op, request *q) {
  *q = (request){.n = op->n_operands / 2};
  if (!check_count(r, q->n)) return false;
  if (op->n_operands % 2 || op->n_regions != 1)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u operands and %u regions", op->n_operands,
                    op->n_regions);
  for (uint32_t i = 0; i < q->n; i++)
    if ((q->x[i] = nxh_in(r, op, i)) == NULL || (q->init[i] = nxh_in(r, op, q->n + i)) == NULL)
      return false;
  return true;
}

static bool give(nxh_recorder *r, const nxh_op *op, const request *q) {
  for (uint32_t i = 0; i < q->n; i++)
    if (!nxh_set(r, op, i, q->out[i])) return false;
  return true;
}

/* ---- reductions that the library has */

typedef nx_tensor *reduction(nx_tensor *, const int32_t *, size_t, uint32_t);

typedef struct known {
  const char *name;
  reduction *reduce;
  nx_tensor *(*combine)(nx_tensor *, nx_tensor *);
  int scan; /* nx_scan_op, or -1 */
} known;

static const known reductions[] = {
    {"stablehlo.add", nx_reduce_sum, nx_add, NX_SCAN_SUM},
    {"stablehlo.multiply", nx_reduce_prod, nx_mul, NX_SCAN_PROD},
    {"stablehlo.maximum", nx_reduce_max, nx_max, NX_SCAN_MAX},
    {"stablehlo.minimum", nx_reduce_min, nx_min, NX_SCAN_MIN},
    {"stablehlo.or", nx_reduce_max, nx_or, NX_SCAN_MAX},
    {"stablehlo.and", nx_reduce_min, nx_and, NX_SCAN_MIN},
};

/* On bool, sums and maxima are "or", products and minima "and". */
static const known *logical(const known *k) {
  return k == NULL                     ? NULL
         : k->reduce == nx_reduce_sum  ? &reductions[4]
         : k->reduce == nx_reduce_prod ? &reductions[5]
         : k->reduce == nx_reduce_max  ? &reductions[4]
                                       : &reductions[5];
}

static const known *find_known(const nxh_recorder *r, const nxh_region *region, nx_dtype dtype) {
  const nxh_op *op = nxh_single_op(r, region);
  for (size_t i = 0; op != NULL && i < sizeof reductions / sizeof *reductions; i++) {
    if (!nxh_word_is(op->name, reductions[i].name)) continue;
    bool bits = i >= 4;
    if (dtype == NX_BOOL) return logical(&reductions[i]);
    return bits ? NULL : &reductions[i];
  }
  return NULL;
}

static bool is_empty(const nx_tensor *x, const int32_t *axes, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (axes[i] < nx_rank(x) && nx_shape(x)[axes[i]] == 0) return true;
  return false;
}

/* Of no elements: the initial value at each place of the other axes. */
static nx_tensor *initial(nx_tensor *x, const int32_t *axes, uint32_t n, nx_tensor *init) {
  int64_t shape[NX_MAX_RANK];
  int32_t rank = 0;
  for (int32_t i = 0; i < nx_rank(x); i++) {
    bool reduced = false;
    for (uint32_t k = 0; k < n; k++) reduced = reduced || axes[k] == i;
    if (!reduced) shape[rank++] = nx_shape(x)[i];
  }
  return nx_contiguous(nx_expand(init, shape, rank));
}

/* ---- reduce */

bool nxh_reduce(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  request q;
  int32_t axes[NX_MAX_RANK];
  uint32_t n;
  if (!take(r, op, &q) || !nxh_axes(r, op, "dimensions", axes, &n)) return false;
  const known *k = q.n == 1 ? find_known(r, &op->regions[0], nx_dtype_of(q.x[0])) : NULL;
  if (k != NULL) {
    if (is_empty(q.x[0], axes, n)) return nxh_set(r, op, 0, initial(q.x[0], axes, n, q.init[0]));
    return nxh_set(r, op, 0, k->combine(q.init[0], k->reduce(q.x[0], axes, n, 0)));
  }
  nx_function *f = nxh_scalar_function(r, &op->regions[0]);
  if (f == NULL) return false;
  bool ok = nx_reduce_by(f, q.x, q.init, q.n, axes, n, 0, q.out, q.n) == NX_OK;
  nx_function_release(f);
  return ok && give(r, op, &q);
}

/* ---- reduce_window */

typedef struct windows {
  int64_t kernel[NX_MAX_RANK], stride[NX_MAX_RANK], dilation[NX_MAX_RANK], base[NX_MAX_RANK],
      before[NX_MAX_RANK], after[NX_MAX_RANK];
  uint32_t n;
} windows;

static bool take_windows(nxh_recorder *r, const nxh_op *op, uint32_t n, windows *w) {
  w->n = n;
  return nxh_need_integers(r, op, "window_dimensions", w->kernel, n) &&
         nxh_list_of(r, op, "window_strides", n, 1, w->stride) &&
         nxh_list_of(r, op, "window_dilations", n, 1, w->dilation) &&
         nxh_list_of(r, op, "base_dilations", n, 1, w->base) &&
         nxh_padding(r, op, n, w->before, w->after);
}

static nx_sliding_window window_of(const windows *w) {
  return (nx_sliding_window){.size = sizeof(nx_sliding_window),
                             .n = (int32_t)w->n,
                             .kernel = w->kernel,
                             .stride = w->stride,
                             .dilation = w->dilation,
                             .base_dilation = w->base,
                             .before = w->before,
                             .after = w->after};
}

static bool trivial(const windows *w, uint32_t i) {
  return w->kernel[i] == 1 && w->stride[i] == 1 && w->base[i] == 1 && w->before[i] == 0 &&
         w->after[i] == 0;
}

/* A window that grows along one axis, from either end, is a scan; *axis is -1 otherwise. JAX writes
 * its cumulative operations so. */
static void as_scan(const windows *w, const nx_tensor *x, int32_t *axis, bool *reverse) {
  *axis = -1;
  for (uint32_t i = 0; i < w->n; i++) {
    if (trivial(w, i)) continue;
    int64_t n = nx_shape(x)[i];
    bool plain = w->kernel[i] == n && w->stride[i] == 1 && w->dilation[i] == 1 && w->base[i] == 1;
    bool up = w->before[i] == n - 1 && w->after[i] == 0,
         down = w->after[i] == n - 1 && w->before[i] == 0;
    if (*axis >= 0 || !plain || !(up || down)) {
      *axis = -1;
      return;
    }
    *axis = (int32_t)i;
    *reverse = !up;
  }
}

/* What combines: a region of the operation, or the body of a function of the module. */
typedef struct combiner {
  const nxh_region *region;
  const nxh_function *of; /* NULL: a region */
} combiner;

static nx_function *make_combiner(nxh_recorder *r, const combiner *c) {
  return c->of != NULL ? nxh_scalar_function_of(r, c->of) : nxh_scalar_function(r, c->region);
}

/* From the end: what is behind is on the left there, and the initial value on the left of all. */
static bool scan_back(nxh_recorder *r, const combiner *c, request *q, int32_t axis) {
  const nx_sliding_window each = {.size = sizeof each}; /* windows of rank 0: the elements */
  nx_tensor *scanned[NXH_MOST_OPERANDS];
  nx_function *turned = nxh_turned_function(r, c->region, c->of), *f = NULL;
  bool ok = turned != NULL && (f = make_combiner(r, c)) != NULL &&
            nx_scan_by(turned, q->x, NULL, q->n, axis, NX_REVERSE, scanned, q->n) == NX_OK &&
            nx_reduce_window(f, scanned, q->init, q->n, &each, q->out, q->n) == NX_OK;
  nx_function_release(turned);
  nx_function_release(f);
  return ok;
}

static bool record_scan(nxh_recorder *r, const nxh_op *op, request *q, const known *k,
                        const combiner *c, int32_t axis, bool reverse) {
  if (k != NULL && nx_dtype_of(q->x[0]) != NX_BOOL) {
    nx_tensor *x = reverse ? nx_flip(q->x[0], &axis, 1) : q->x[0];
    x = nx_associative_scan(x, (nx_scan_op)k->scan, axis);
    if (reverse) x = nx_flip(x, &axis, 1);
    return nxh_set(r, op, 0, k->combine(q->init[0], x));
  }
  if (reverse) return scan_back(r, c, q, axis) && give(r, op, q);
  nx_function *f = make_combiner(r, c);
  if (f == NULL) return false;
  bool ok = nx_scan_by(f, q->x, q->init, q->n, axis, 0, q->out, q->n) == NX_OK;
  nx_function_release(f);
  return ok && give(r, op, q);
}

static bool record_windows(nxh_recorder *r, const nxh_op *op, request *q, const windows *w,
                           const combiner *c) {
  int32_t axis = -1;
  bool reverse = false;
  if (nx_elements(q->x[0]) > 0) as_scan(w, q->x[0], &axis, &reverse);
  const known *k = q->n == 1 ? find_known(r, c->region, nx_dtype_of(q->x[0])) : NULL;
  if (axis >= 0) return record_scan(r, op, q, k, c, axis, reverse);
  nx_function *f = make_combiner(r, c);
  if (f == NULL) return false;
  nx_sliding_window window = window_of(w);
  bool ok = nx_reduce_window(f, q->x, q->init, q->n, &window, q->out, q->n) == NX_OK;
  nx_function_release(f);
  return ok && give(r, op, q);
}

bool nxh_reduce_window(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  request q;
  windows w = {0};
  if (!take(r, op, &q) || !take_windows(r, op, (uint32_t)nx_rank(q.x[0]), &w)) return false;
  return record_windows(r, op, &q, &w, &(combiner){&op->regions[0], NULL});
}

/* Five operands behind the others, which are known when the program is recorded. */
static bool take_dynamic_windows(nxh_recorder *r, const nxh_op *op, uint32_t n, windows *w) {
  int64_t padding[2 * NX_MAX_RANK] = {0}, *lists[] = {w->kernel, w->stride, w->base, w->dilation};
  uint32_t at = op->n_operands - 5, got = 0;
  bool ok = true;
  w->n = n;
  for (uint32_t i = 0; ok && i < 5; i++) {
    nx_tensor *t = nxh_in(r, op, at + i);
    uint32_t wanted = i == 4 ? 2 * n : n;
    ok = t != NULL && nxh_known(r, t, i == 4 ? padding : lists[i], wanted, &got) && got == wanted;
  }
  for (uint32_t i = 0; i < n; i++) w->before[i] = padding[2 * i], w->after[i] = padding[2 * i + 1];
  return ok || nxh_fail(r, NX_INVALID_ARGUMENT, "the windows of %u axes are not known", n);
}

bool nxh_dynamic_windows(nxh_recorder *r, const nxh_op *op) {
  request q;
  windows w = {0};
  uint32_t n = op->n_operands >= 7 ? (op->n_operands - 5) / 2 : 0;
  const nxh_function *f = nxh_called_function(r, op);
  if (!check_count(r, n)) return false;
  if (op->n_operands != 2 * n + 5 || n != op->n_results)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u operands and %u results", op->n_operands,
                    op->n_results);
  if (f == NULL || f->body.n_args != 2 * n || f->n_results != n)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "there is no function of %u scalars", 2 * n);
  q = (request){.n = n};
  for (uint32_t i = 0; i < n; i++)
    if ((q.x[i] = nxh_in(r, op, i)) == NULL || (q.init[i] = nxh_in(r, op, n + i)) == NULL)
      return false;
  return take_dynamic_windows(r, op, (uint32_t)nx_rank(q.x[0]), &w) &&
         record_windows(r, op, &q, &w, &(combiner){&f->body, f});
}

/* ---- sort, map */

bool nxh_sort(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  request q = {.n = op->n_operands};
  if (!check_count(r, q.n)) return false;
  if (op->n_regions != 1) return nxh_fail(r, NX_INVALID_ARGUMENT, "%u regions", op->n_regions);
  for (uint32_t i = 0; i < q.n; i++)
    if ((q.x[i] = nxh_in(r, op, i)) == NULL) return false;
  nx_function *f = nxh_scalar_function(r, &op->regions[0]);
  if (f == NULL) return false;
  int64_t axis = nxh_integer(op, "dimension", -1);
  if (axis < -NX_MAX_RANK || axis >= NX_MAX_RANK) axis = NX_MAX_RANK; /* refused below */
  bool ok = nx_sort_by(f, q.x, q.n, (int32_t)axis, q.out, q.n) == NX_OK;
  nx_function_release(f);
  return ok && give(r, op, &q);
}

/* The region's operations, over arrays in place of scalars. */
bool nxh_map(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  request q = {.n = op->n_operands};
  if (!check_count(r, q.n)) return false;
  if (op->n_regions != 1 || op->regions[0].n_args != q.n)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u operands", q.n);
  for (uint32_t i = 0; i < q.n; i++)
    if ((q.x[i] = nxh_in(r, op, i)) == NULL) return false;
  bool outer = r->over_arrays;
  r->over_arrays = true;
  bool ok = nxh_inline_region(r, &op->regions[0], q.x, q.out, 1);
  r->over_arrays = outer;
  return ok && nxh_set(r, op, 0, nx_expand(q.out[0], nx_shape(q.x[0]), nx_rank(q.x[0])));
}

/* Floats are in total order, in which NaN comes first. */
bool nxh_top_k_of(nxh_recorder *r, const nxh_op *op, nx_tensor *x, int64_t k) {
  nx_tensor *key, *values, *places;
  nx_dtype dtype = op->n_results > 1 ? nxh_result_type(r, op, 1)->dtype : NX_I32;
  key = nxi_is_float(nx_dtype_of(x)) ? nx_total_order(x)
        : nx_dtype_of(x) == NX_BOOL  ? nx_cast(x, NX_U8)
                                     : x;
  if (nx_top_k(key, k, -1, 0, dtype, &values, &places) != NX_OK) return false;
  if (key != x) values = nx_gather(x, places, nx_rank(x) - 1);
  return nxh_set(r, op, 0, values) && nxh_set(r, op, 1, places);
}

bool nxh_top_k(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  nx_tensor *x = nxh_in(r, op, 0);
  return x != NULL && nxh_top_k_of(r, op, x, nxh_integer(op, "k", 0));
}

/* A list of one name, which artifacts have as a string. */
const nxh_function *nxh_called_function(nxh_recorder *r, const nxh_op *op) {
  const nxh_attr *list = nxh_get(op, "called_computations");
  if (list == NULL || list->kind != NXH_LIST || list->list.n != 1) return NULL;
  const nxh_attr *name = &list->list.items[0];
  bool named = name->kind == NXH_SYMBOL || name->kind == NXH_STRING;
  return named ? nxh_find_function(r->m, name->word) : NULL;
}

/* Of the options of ApproxTopK those that say how much may be missed say nothing here. */
bool nxh_approx_top_k(nxh_recorder *r, const nxh_op *op) {
  request q = {.n = op->n_operands / 2};
  int64_t axis = nxh_call_option(op, "reduction_dim", -1), start[NX_MAX_RANK] = {0};
  if (!check_count(r, q.n)) return false;
  if (q.n != op->n_results || op->n_operands % 2 != 0)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u operands and %u results", op->n_operands,
                    op->n_results);
  for (uint32_t i = 0; i < q.n; i++)
    if ((q.x[i] = nxh_in(r, op, i)) == NULL) return false;
  const nxh_function *f = nxh_called_function(r, op);
  if (f == NULL || f->body.n_args != 2 * q.n || f->n_results != 1)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "there is no comparator of %u scalars", 2 * q.n);
  if (axis < 0 || axis >= nx_rank(q.x[0]))
    return nxh_fail(r, NX_INVALID_ARGUMENT, "reduction_dim is out of range");
  nx_function *compare = nxh_scalar_function_of(r, f);
  if (compare == NULL) return false;
  bool ok = nx_sort_by(compare, q.x, q.n, (int32_t)axis, q.out, q.n) == NX_OK;
  nx_function_release(compare);
  for (uint32_t i = 0; ok && i < q.n; i++) {
    const nxh_type *t = nxh_result_type(r, op, i);
    ok = t->rank == nx_rank(q.out[i]);
    q.out[i] = ok ? nx_shrink(q.out[i], start, t->shape, (size_t)t->rank) : NULL;
  }
  return ok ? give(r, op, &q) : nxh_fail(r, NX_INVALID_ARGUMENT, "the results do not fit");
}

bool nxh_select_and_scatter(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  windows w;
  nx_tensor *x = nxh_in(r, op, 0), *source = x != NULL ? nxh_in(r, op, 1) : NULL,
            *init = source != NULL ? nxh_in(r, op, 2) : NULL;
  if (init == NULL) return false;
  if (op->n_regions != 2) return nxh_fail(r, NX_INVALID_ARGUMENT, "%u regions", op->n_regions);
  if (!take_windows(r, op, (uint32_t)nx_rank(x), &w)) return false;
  nx_function *select = nxh_scalar_function(r, &op->regions[0]);
  nx_function *f = select != NULL ? nxh_scalar_function(r, &op->regions[1]) : NULL;
  nx_sliding_window window = window_of(&w);
  nx_tensor *y = f != NULL ? nx_select_and_scatter(select, f, x, source, init, &window) : NULL;
  nx_function_release(select);
  nx_function_release(f);
  return nxh_set(r, op, 0, y);
}
