/* SPDX-License-Identifier: ISC */
/* Arithmetic of affine integers: see affine.h. Results are built from the last axis to the first,
 * and axes join when they are added, so that equal integers have one form. */
#include "affine.h"

#include "ir/graph/graph.h"

/* No integer is larger than this in magnitude, so that sums of a few do not overflow. */
static const int64_t most = INT64_C(1) << 45;

/* A result in the making; its axes are in reverse. */
typedef struct building {
  nxg_affine to;
  bool failed;
} building;

static void put_axis(building *b, int64_t extent, int64_t stride) {
  nxg_affine *to = &b->to;
  const int32_t last = to->rank - 1;
  int64_t next;
  if (extent == 1) return;
  if (last >= 0 && !__builtin_mul_overflow(to->strides[last], to->shape[last], &next) &&
      stride == next) {
    to->shape[last] *= extent;
  } else if (to->rank == NXG_AFFINE_AXES) {
    b->failed = true;
  } else {
    to->shape[to->rank] = extent;
    to->strides[to->rank++] = stride;
  }
}

static bool is_small(int64_t x) { return x >= -most && x <= most; }

/* Whether all integers are small. */
static bool stays_small(const nxg_affine *a) {
  int64_t low = a->offset, high = a->offset;
  for (int32_t i = 0; i < a->rank; i++) {
    int64_t reach;
    if (__builtin_mul_overflow(a->strides[i], a->shape[i] - 1, &reach) || !is_small(reach))
      return false;
    *(reach < 0 ? &low : &high) += reach;
  }
  return is_small(low) && is_small(high);
}

static bool finish(const building *b, nxg_affine *out) {
  const nxg_affine *from = &b->to;
  if (b->failed || !is_small(from->offset) || !stays_small(from)) return false;
  const bool constant = from->rank == 1 && from->strides[0] == 0;
  out->offset = from->offset;
  out->rank = constant ? 0 : from->rank;
  for (int32_t i = 0; i < out->rank; i++) {
    out->shape[i] = from->shape[from->rank - 1 - i];
    out->strides[i] = from->strides[from->rank - 1 - i];
  }
  return true;
}

bool nxg_affine_of(int32_t rank, const int64_t *shape, const int64_t *strides, int64_t offset,
                   nxg_affine *out) {
  building b = {.to.offset = offset};
  for (int32_t i = rank; i-- > 0;) {
    if (shape[i] < 1 || !is_small(strides[i]) || !is_small(shape[i])) return false;
    put_axis(&b, shape[i], strides[i]);
  }
  return finish(&b, out);
}

static bool is_listed(const nxg_affine *a, int64_t n, const int64_t *list) {
  for (int64_t p = 0; p < n; p++) {
    int64_t value = a->offset, rest = p;
    for (int32_t i = a->rank; i-- > 0; rest /= a->shape[i])
      value += rest % a->shape[i] * a->strides[i];
    if (value != list[p]) return false;
  }
  return true;
}

bool nxg_affine_of_list(int64_t n, const int64_t *list, nxg_affine *out) {
  building b = {.to.offset = n > 0 ? list[0] : 0};
  nxg_affine a;
  for (int64_t unit = 1; unit < n;) { /* blocks of so many that are one step apart are an axis */
    int64_t blocks = 1, step, next;
    if (!is_small(list[0]) || !is_small(list[unit])) return false;
    step = list[unit] - list[0];
    for (; blocks * unit < n; blocks++)
      if (__builtin_sub_overflow(list[blocks * unit], list[(blocks - 1) * unit], &next) ||
          next != step)
        break;
    if (n % (unit * blocks) != 0) return false;
    put_axis(&b, blocks, step);
    unit *= blocks;
  }
  if (n < 1 || !finish(&b, &a) || !is_listed(&a, n, list)) return false;
  *out = a;
  return true;
}

void nxg_affine_range(const nxg_affine *a, int64_t *low, int64_t *high) {
  *low = *high = a->offset;
  for (int32_t i = 0; i < a->rank; i++) {
    const int64_t reach = a->strides[i] * (a->shape[i] - 1);
    *(reach < 0 ? low : high) += reach;
  }
}

/* The axes of an operand, from the last to the first, of which parts are taken. */
typedef struct walk {
  const nxg_affine *of;
  int32_t next;
  int64_t left, stride; /* what is left of the axis, and a step along that */
} walk;

static void refill(walk *w) {
  if (w->left != 1 || w->next == 0) return;
  w->left = w->of->shape[--w->next];
  w->stride = w->of->strides[w->next];
}

static void take(walk *w, int64_t part) {
  w->left /= part;
  w->stride *= part;
}

bool nxg_affine_add(const nxg_affine *a, const nxg_affine *b, int64_t scale, nxg_affine *out) {
  walk x = {a, a->rank, 1, 0}, y = {b, b->rank, 1, 0};
  building sum = {.to.offset = a->offset};
  int64_t scaled;
  if (__builtin_mul_overflow(b->offset, scale, &scaled) || !is_small(scaled)) return false;
  sum.to.offset += scaled;
  for (;;) {
    refill(&x);
    refill(&y);
    if (x.left == 1 && y.left == 1) break;
    const bool has_x = a->rank > 0, has_y = b->rank > 0;
    const int64_t part = !has_y || (has_x && x.left < y.left) ? x.left : y.left;
    if (part == 1 || (has_x && x.left % part != 0) || (has_y && y.left % part != 0)) return false;
    if (__builtin_mul_overflow(has_y ? y.stride : 0, scale, &scaled) || !is_small(scaled))
      return false;
    put_axis(&sum, part, (has_x ? x.stride : 0) + scaled);
    if (has_x) take(&x, part);
    if (has_y) take(&y, part);
  }
  return finish(&sum, out);
}

bool nxg_affine_divide(const nxg_affine *a, int64_t by, nxg_affine *quotient, nxg_affine *rest) {
  int64_t low, high;
  nxg_affine first, second;
  nxg_affine_range(a, &low, &high);
  if (by < 1 || low < 0) return false;
  building q = {.to.offset = a->offset / by}, r = {.to.offset = a->offset % by};
  for (int32_t i = a->rank; i-- > 0;) {
    int64_t extent = a->shape[i], stride = a->strides[i];
    const int64_t turn = stride > 0 && by % stride == 0 ? by / stride : 1;
    if (turn > 1 && turn < extent && extent % turn == 0) { /* it comes to `by` after `turn` steps */
      put_axis(&q, turn, 0);
      put_axis(&r, turn, stride);
      extent /= turn;
      stride = by;
    }
    const bool whole = stride % by == 0;
    put_axis(&q, extent, whole ? stride / by : 0);
    put_axis(&r, extent, whole ? 0 : stride);
  }
  if (!finish(&q, &first) || !finish(&r, &second)) return false;
  nxg_affine_range(&second, &low, &high);
  if (low < 0 || high >= by) return false;
  *quotient = first;
  *rest = second;
  return true;
}

/* ---- views */

/* What the axes of a view have added to the index of each axis of what it is a view of. */
typedef struct carried {
  const nxg_affine *of;
  int64_t unit[NXG_AFFINE_AXES]; /* positions in C order that a step along the axis is */
  int64_t low[NXG_AFFINE_AXES], high[NXG_AFFINE_AXES];
} carried;

/* The axis along which a step of so many positions goes, if it is a whole number *digit of steps
 * along a single one; -1 otherwise. */
static int32_t single_axis(const carried *c, int64_t step, int64_t *digit) {
  for (int32_t m = 0; m < c->of->rank; m++) {
    if (step < c->unit[m]) continue;
    *digit = step / c->unit[m];
    return step % c->unit[m] == 0 && *digit < c->of->shape[m] ? m : -1;
  }
  return -1;
}

/* Adds an axis of a view, whose steps are of `step` positions. */
static void put_steps(carried *c, building *b, int64_t extent, int64_t step) {
  const int64_t sign = step < 0 ? -1 : 1;
  int64_t rest = step * sign, stride = 0;
  for (int32_t m = 0; m < c->of->rank; m++) {
    const int64_t digit = rest / c->unit[m];
    int64_t reach;
    if (digit >= c->of->shape[m] || __builtin_mul_overflow(digit, extent - 1, &reach)) {
      b->failed = true; /* it leaves the axis */
      return;
    }
    rest -= digit * c->unit[m];
    stride += sign * digit * c->of->strides[m];
    *(sign < 0 ? &c->low[m] : &c->high[m]) += sign * reach;
  }
  put_axis(b, extent, stride);
}

/* The same, cut where the steps come to the end of an axis and go on along the next one. */
static void put_view_axis(carried *c, building *b, int64_t extent, int64_t step) {
  while (step != 0) {
    int64_t digit = 0;
    const int32_t m = single_axis(c, step < 0 ? -step : step, &digit);
    if (m < 0 || c->of->shape[m] % digit != 0) break;
    const int64_t turn = c->of->shape[m] / digit;
    if (turn >= extent || extent % turn != 0) break;
    put_steps(c, b, turn, step);
    extent /= turn;
    step *= turn;
  }
  put_steps(c, b, extent, step);
}

bool nxg_affine_through(const nxg_affine *a, const nxg_view *view, nxg_affine *out) {
  carried c = {.of = a};
  building b = {.to.offset = a->offset};
  int64_t rest = view->offset, unit = 1;
  for (int32_t m = a->rank; m-- > 0; unit *= a->shape[m]) c.unit[m] = unit;
  for (int32_t m = 0; m < a->rank; m++) {
    c.low[m] = c.high[m] = rest / c.unit[m];
    if (c.low[m] < 0 || c.low[m] >= a->shape[m]) return false;
    rest -= c.low[m] * c.unit[m];
    b.to.offset += c.low[m] * a->strides[m];
  }
  for (int32_t i = view->rank; a->rank > 0 && i-- > 0;) {
    if (view->shape[i] < 1 || !is_small(view->strides[i]) || !is_small(view->shape[i]))
      return false;
    put_view_axis(&c, &b, view->shape[i], view->shape[i] == 1 ? 0 : view->strides[i]);
  }
  for (int32_t m = 0; m < a->rank; m++)
    if (c.low[m] < 0 || c.high[m] >= a->shape[m]) return false;
  return finish(&b, out);
}
