/* SPDX-License-Identifier: ISC */
/* Shapes and views: the arithmetic behind every movement operation, at record time, in the text
 * form and in the passes. A view that these functions return addresses only elements of the storage
 * it came from; the strides of dimensions that hold at most one element are carried along but
 * address nothing, so arithmetic on them wraps. */
#include "view.h"

#include <string.h>

/* wide enough for products of any two numbers that a caller gives */
__extension__ typedef __int128 wide;

/* Wrapping products and sums. The stride of a dimension of size 1 may have any value, and
 * arithmetic on it may overflow without harm. */
static int64_t wrap_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
static int64_t wrap_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

/* A shape of rank 0 may be NULL. */
static void copy_extents(int64_t *to, const int64_t *from, int32_t rank) {
  if (rank > 0) memmove(to, from, (size_t)rank * sizeof *to);
}

/* ---- shapes */

const char *nxg_format_shape(char text[NXG_SHAPE_TEXT], int32_t rank, const int64_t *shape) {
  size_t used = 0;
  text[used++] = '[';
  for (int32_t i = 0; i < rank; i++) {
    char digits[24];
    size_t n = 0;
    uint64_t left = shape[i] < 0 ? -(uint64_t)shape[i] : (uint64_t)shape[i];
    do digits[n++] = (char)('0' + left % 10);
    while (left /= 10);
    if (shape[i] < 0) digits[n++] = '-';
    if (used + n + 8 > NXG_SHAPE_TEXT) { /* room for a comma, these digits and ",...]" */
      memcpy(text + used, ",...", 4);
      used += 4;
      break;
    }
    if (i) text[used++] = ',';
    while (n) text[used++] = digits[--n];
  }
  text[used++] = ']';
  text[used] = 0;
  return text;
}

nx_status nxg_shape_check(nx_status bad, const char *op, int32_t rank, const int64_t *shape,
                          int64_t element_bits, int64_t *elements, nxi_diag *d) {
  if (rank < 0 || rank > NXG_MAX_RANK)
    return nxi_fail(d, bad, op, "%s: the rank %d is not in 0 .. %d", op, rank, NXG_MAX_RANK);
  int64_t product = 1, bytes;
  bool empty = false, overflow = false;
  for (int32_t i = 0; i < rank; i++) {
    if (shape[i] < 0) {
      char text[NXG_SHAPE_TEXT];
      return nxi_fail(d, bad, op, "%s: extent %d of the shape %s is negative", op, i,
                      nxg_format_shape(text, rank, shape));
    }
    empty |= shape[i] == 0;
    overflow |= __builtin_mul_overflow(product, shape[i] ? shape[i] : 1, &product);
  }
  overflow = overflow || __builtin_mul_overflow(product, (element_bits + 7) / 8, &bytes);
  if (overflow) {
    char text[NXG_SHAPE_TEXT];
    return nxi_fail(d, bad, op, "%s: the size of the shape %s does not fit in 63 bits", op,
                    nxg_format_shape(text, rank, shape));
  }
  if (elements) *elements = empty ? 0 : product;
  return NX_OK;
}

int64_t nxg_elements(int32_t rank, const int64_t *shape) {
  int64_t n = 1;
  for (int32_t i = 0; i < rank; i++) n *= shape[i];
  return n;
}

void nxg_contiguous_strides(int32_t rank, const int64_t *shape, int64_t *strides) {
  int64_t stride = 1;
  for (int32_t i = rank; i-- > 0;) {
    strides[i] = stride;
    if (shape[i]) stride = wrap_mul(stride, shape[i]);
  }
}

void nxg_view_contiguous(nxg_view *v, int32_t rank, const int64_t *shape) {
  v->rank = rank;
  v->offset = 0;
  copy_extents(v->shape, shape, rank);
  nxg_contiguous_strides(rank, shape, v->strides);
}

void nxg_view_copy(nxg_view *to, const nxg_view *from) {
  to->rank = from->rank;
  to->offset = from->offset;
  copy_extents(to->shape, from->shape, from->rank);
  copy_extents(to->strides, from->strides, from->rank);
}

bool nxg_view_is_contiguous(const nxg_view *v) {
  int64_t stride = 1;
  for (int32_t i = v->rank; i-- > 0;) {
    if (v->strides[i] != stride) return false;
    if (v->shape[i]) stride = wrap_mul(stride, v->shape[i]);
  }
  return true;
}

bool nxg_is_in_order(int32_t rank, const int64_t *shape, const int64_t *strides) {
  int64_t stride = 1;
  for (int32_t i = rank; i-- > 0;) {
    if (shape[i] == 1) continue;
    if (strides[i] != stride) return false;
    if (shape[i]) stride = wrap_mul(stride, shape[i]);
  }
  return true;
}

bool nxg_same_shape(int32_t rank_a, const int64_t *a, int32_t rank_b, const int64_t *b) {
  if (rank_a != rank_b) return false;
  for (int32_t i = 0; i < rank_a; i++)
    if (a[i] != b[i]) return false;
  return true;
}

/* Whether the shorter shape is a prefix of the longer one, as after a reduction of the last
 * axes. */
static bool is_lead(int32_t rank, const int64_t *shorter, const int64_t *longer) {
  for (int32_t i = 0; i < rank; i++)
    if (shorter[i] != longer[i]) return false;
  return true;
}

nx_status nxg_broadcast(const char *op, int32_t rank_a, const int64_t *a, int32_t rank_b,
                        const int64_t *b, int32_t *rank, int64_t *shape, nxi_diag *d) {
  int32_t result = rank_a > rank_b ? rank_a : rank_b;
  int64_t extents[NXG_MAX_RANK] = {0};
  for (int32_t i = 0; i < result; i++) { /* axes counted from the last */
    int64_t x = i < rank_a ? a[rank_a - 1 - i] : 1, y = i < rank_b ? b[rank_b - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      char text_a[NXG_SHAPE_TEXT], text_b[NXG_SHAPE_TEXT];
      bool lost =
          rank_a < rank_b ? is_lead(rank_a, a, b) : rank_b < rank_a && is_lead(rank_b, b, a);
      return nxi_fail(
          d, NX_INVALID_ARGUMENT, op,
          "%s: the shapes %s and %s do not broadcast together: in axis %d, %lld meets "
          "%lld%s",
          op, nxg_format_shape(text_a, rank_a, a), nxg_format_shape(text_b, rank_b, b),
          result - 1 - i, (long long)x, (long long)y,
          lost ? " (axes align at the last one; a reduction with keepdims keeps its own)" : "");
    }
    extents[result - 1 - i] = x == 1 ? y : x;
  }
  nx_status status = nxg_shape_check(NX_INVALID_ARGUMENT, op, result, extents, 8, NULL, d);
  if (status) return status;
  copy_extents(shape, extents, result);
  *rank = result;
  return NX_OK;
}

/* ---- axes */

/* Axes are those of the first operand. */
static nx_status fail_axis(nxi_diag *d, nx_status status) {
  if (d && d->operand < 0) d->operand = 0;
  return status;
}

static nx_status normalize_axis(const char *op, int32_t rank, int32_t axis, int32_t *out,
                                nxi_diag *d) {
  if (axis < -rank || axis >= rank)
    return fail_axis(d, nxi_fail(d, NX_INVALID_ARGUMENT, op,
                                 rank ? "%s: axis %d is out of range for rank %d: axes are %d to %d"
                                      : "%s: axis %d is out of range for rank %d: it has no axes",
                                 op, axis, rank, -rank, rank - 1));
  *out = axis < 0 ? axis + rank : axis;
  return NX_OK;
}

nx_status nxg_axes_mask(const char *op, int32_t rank, const int32_t *axes, size_t n, uint32_t *mask,
                        nxi_diag *d) {
  uint32_t result = 0;
  for (size_t i = 0; i < n; i++) {
    int32_t axis = 0;
    nx_status status = normalize_axis(op, rank, axes[i], &axis, d);
    if (status) return status;
    if (result >> axis & 1)
      return fail_axis(
          d, nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: axis %d is given twice", op, axes[i]));
    result |= 1u << axis;
  }
  *mask = result;
  return NX_OK;
}

/* ---- movement. `out` may be `v`: results are built in a local and copied at the end. */

/* Copies a finished result to `out`. A view without elements gets offset 0 and the strides of C
 * order, so that no later arithmetic uses strides that were never checked. */
static void settle(nxg_view *result, nxg_view *out) {
  for (int32_t i = 0; i < result->rank; i++) {
    if (result->shape[i]) continue;
    result->offset = 0;
    nxg_contiguous_strides(result->rank, result->shape, result->strides);
  }
  out->rank = result->rank;
  out->offset = result->offset;
  copy_extents(out->shape, result->shape, result->rank);
  copy_extents(out->strides, result->strides, result->rank);
}

static nx_status fail_shapes(nxi_diag *d, nx_status status, const char *op, const nxg_view *v,
                             int32_t rank, const int64_t *shape, const char *why) {
  char from[NXG_SHAPE_TEXT], to[NXG_SHAPE_TEXT];
  return nxi_fail(d, status, op, "%s: the operand of shape %s cannot become %s: %s", op,
                  nxg_format_shape(from, v->rank, v->shape), nxg_format_shape(to, rank, shape),
                  why);
}

nx_status nxg_view_expand(const nxg_view *v, int32_t rank, const int64_t *shape, nxg_view *out,
                          nxi_diag *d) {
  nx_status status = nxg_shape_check(NX_INVALID_ARGUMENT, "expand", rank, shape, 8, NULL, d);
  if (status) return status;
  if (rank < v->rank)
    return fail_shapes(d, NX_INVALID_ARGUMENT, "expand", v, rank, shape, "it has more dimensions");
  nxg_view result; /* what lies beyond its rank is nobody's */
  result.rank = rank;
  result.offset = v->offset;
  int32_t added = rank - v->rank;
  for (int32_t i = 0; i < rank; i++) {
    int64_t extent = i < added ? 1 : v->shape[i - added];
    if (extent != shape[i] && extent != 1)
      return fail_shapes(d, NX_INVALID_ARGUMENT, "expand", v, rank, shape,
                         "only extents of 1 expand");
    result.shape[i] = shape[i];
    result.strides[i] = i >= added && extent == shape[i] ? v->strides[i - added] : 0;
  }
  settle(&result, out);
  return NX_OK;
}

/* Strides for result->shape over the same elements. Runs of old dimensions (those of size 1 left
 * out) that hold as many elements as runs of new ones correspond; an old run must be evenly spaced.
 * False if it is not. */
static bool reshape_strides(const nxg_view *v, nxg_view *result) {
  int64_t extents[NXG_MAX_RANK] = {0}, strides[NXG_MAX_RANK] = {0};
  int32_t n = 0;
  for (int32_t i = 0; i < v->rank; i++)
    if (v->shape[i] != 1) extents[n] = v->shape[i], strides[n++] = v->strides[i];
  int32_t old = n, new = result->rank;
  int64_t next =
      1; /* the stride that continues the dimension on the right; dimensions of size 1 get it too */
  while (new > 0) {
    if (result->shape[new - 1] == 1) {
      result->strides[--new] = next;
      continue;
    }
    /* the products of both runs grow until they meet; counts are equal, so both sides have
     * dimensions left */
    int64_t have = extents[--old], want = 1, stride = strides[old];
    int32_t first = new;
    for (want = result->shape[--first]; want != have;) {
      if (want < have) {
        want *= result->shape[--first];
      } else {
        if (strides[old - 1] != wrap_mul(extents[old], strides[old])) return false;
        have *= extents[--old];
      }
    }
    while (new > first) {
      result->strides[--new] = stride;
      stride = wrap_mul(stride, result->shape[new]);
    }
    next = stride;
  }
  return true;
}

nx_status nxg_view_reshape(const nxg_view *v, int32_t rank, const int64_t *shape, nxg_view *out,
                           nxi_diag *d) {
  int64_t elements;
  nx_status status = nxg_shape_check(NX_INVALID_ARGUMENT, "reshape", rank, shape, 8, &elements, d);
  if (status) return status;
  if (elements != nxg_elements(v->rank, v->shape))
    return fail_shapes(d, NX_INVALID_ARGUMENT, "reshape", v, rank, shape,
                       "their numbers of elements differ");
  nxg_view result;
  result.rank = rank;
  result.offset = v->offset;
  if (nxg_same_shape(v->rank, v->shape, rank, shape)) {
    result = *v;
  } else {
    copy_extents(result.shape, shape, rank);
    if (elements == 0) nxg_contiguous_strides(rank, shape, result.strides);
    else if (!reshape_strides(v, &result))
      return fail_shapes(d, NX_NEEDS_COPY, "reshape", v, rank, shape,
                         "its strides cannot express it; make it contiguous first");
  }
  settle(&result, out);
  return NX_OK;
}

nx_status nxg_view_permute(const nxg_view *v, const int32_t *axes, size_t n, nxg_view *out,
                           nxi_diag *d) {
  uint32_t mask = 0;
  if (n != (size_t)v->rank) {
    char text[NXG_SHAPE_TEXT];
    return nxi_fail(d, NX_INVALID_ARGUMENT, "permute",
                    "permute: %zu axes are given for the operand of shape %s", n,
                    nxg_format_shape(text, v->rank, v->shape));
  }
  nx_status status = nxg_axes_mask("permute", v->rank, axes, n, &mask, d);
  if (status) return status;
  nxg_view result;
  result.rank = v->rank;
  result.offset = v->offset;
  for (int32_t i = 0; i < v->rank; i++) {
    int32_t axis = axes[i] < 0 ? axes[i] + v->rank : axes[i];
    result.shape[i] = v->shape[axis];
    result.strides[i] = v->strides[axis];
  }
  settle(&result, out);
  return NX_OK;
}

nx_status nxg_view_shrink(const nxg_view *v, const int64_t *start, const int64_t *stop,
                          nxg_view *out, nxi_diag *d) {
  nxg_view result = *v;
  for (int32_t i = 0; i < v->rank; i++) {
    if (start[i] < 0 || start[i] > stop[i] || stop[i] > v->shape[i]) {
      char text[NXG_SHAPE_TEXT];
      return nxi_fail(d, NX_INDEX_OUT_OF_RANGE, "shrink",
                      "shrink: %lld .. %lld is not a range of axis %d of the shape %s",
                      (long long)start[i], (long long)stop[i], i,
                      nxg_format_shape(text, v->rank, v->shape));
    }
    result.shape[i] = stop[i] - start[i];
    result.offset = wrap_add(result.offset, wrap_mul(start[i], v->strides[i]));
  }
  settle(&result, out);
  return NX_OK;
}

nx_status nxg_view_flip(const nxg_view *v, const int32_t *axes, size_t n, nxg_view *out,
                        nxi_diag *d) {
  uint32_t mask = 0;
  nx_status status = nxg_axes_mask("flip", v->rank, axes, n, &mask, d);
  if (status) return status;
  nxg_view result = *v;
  for (int32_t i = 0; i < v->rank; i++) {
    if (!(mask >> i & 1) || v->shape[i] <= 1)
      continue; /* nothing to reverse; a contiguous view stays contiguous */
    result.offset = wrap_add(result.offset, wrap_mul(v->shape[i] - 1, v->strides[i]));
    /* wraps: without elements a stride may have any value */
    result.strides[i] = wrap_mul(v->strides[i], -1);
  }
  settle(&result, out);
  return NX_OK;
}

/* Whether the `count` indices start, start + step, ... are all in [0, extent). */
static bool slice_in_range(int64_t extent, int64_t start, int64_t count, int64_t step) {
  int64_t distance, last;
  if (step == 0 || count < 0) return false;
  if (count == 0) return true;
  if (start < 0 || start >= extent) return false;
  return !__builtin_mul_overflow(count - 1, step, &distance) &&
         !__builtin_add_overflow(start, distance, &last) && last >= 0 && last < extent;
}

nx_status nxg_view_slice(const nxg_view *v, const int64_t *start, const int64_t *count,
                         const int64_t *step, nxg_view *out, nxi_diag *d) {
  nxg_view result = *v;
  for (int32_t i = 0; i < v->rank; i++) {
    if (!slice_in_range(v->shape[i], start[i], count[i], step[i])) {
      char text[NXG_SHAPE_TEXT];
      return nxi_fail(
          d, step[i] == 0 || count[i] < 0 ? NX_INVALID_ARGUMENT : NX_INDEX_OUT_OF_RANGE, "slice",
          "slice: %lld elements from %lld, %lld apart, do not lie on axis %d of the shape %s",
          (long long)count[i], (long long)start[i], (long long)step[i], i,
          nxg_format_shape(text, v->rank, v->shape));
    }
    result.shape[i] = count[i];
    if (count[i]) result.offset = wrap_add(result.offset, wrap_mul(start[i], v->strides[i]));
    result.strides[i] = wrap_mul(v->strides[i], step[i]);
  }
  settle(&result, out);
  return NX_OK;
}

/* Lowest and highest element, clamped to +-2^120. Strides and offset may have any value; the clamp
 * keeps the sum over 32 dimensions from overflowing. */
static bool wide_range(const nxg_view *v, wide *low, wide *high) {
  *low = *high = v->offset;
  for (int32_t i = 0; i < v->rank; i++) {
    if (v->shape[i] == 0) return false;
    wide distance = (wide)(v->shape[i] - 1) * v->strides[i]; /* below 2^126 */
    wide *end = distance < 0 ? low : high;
    const wide limit = (wide)1 << 120;
    *end = *end + distance > limit ? limit : *end + distance < -limit ? -limit : *end + distance;
  }
  return true;
}

nx_status nxg_view_as_strided(int64_t storage_elements, int32_t rank, const int64_t *shape,
                              const int64_t *strides, int64_t offset, nxg_view *out, nxi_diag *d) {
  nx_status status = nxg_shape_check(NX_INVALID_ARGUMENT, "as_strided", rank, shape, 8, NULL, d);
  if (status) return status;
  nxg_view result;
  result.rank = rank;
  result.offset = offset;
  copy_extents(result.shape, shape, rank);
  copy_extents(result.strides, strides, rank);
  wide low, high;
  if (wide_range(&result, &low, &high) && (low < 0 || high >= storage_elements)) {
    char text[NXG_SHAPE_TEXT], stride_text[NXG_SHAPE_TEXT];
    return nxi_fail(
        d, NX_INVALID_ARGUMENT, "as_strided",
        "as_strided: shape %s with strides %s and offset %lld leaves the storage of shape [%lld]",
        nxg_format_shape(text, rank, shape), nxg_format_shape(stride_text, rank, strides),
        (long long)offset, (long long)storage_elements);
  }
  settle(&result, out);
  return NX_OK;
}

/* ---- questions about views */

bool nxg_view_range(const nxg_view *v, int64_t *low, int64_t *high) {
  wide wide_low, wide_high;
  if (!wide_range(v, &wide_low, &wide_high)) return false;
  *low = (int64_t)wide_low;
  *high = (int64_t)wide_high;
  return true;
}

/* largest span of elements for which overlap is decided exhaustively */
enum { BITMAP_SPAN = 32768 };

/* Visits every index of extents x strides (all positive, span known to be small) and looks for a
 * repeat. */
static bool repeats_in_bitmap(int32_t n, const int64_t *extents, const int64_t *strides) {
  uint64_t seen[BITMAP_SPAN / 64] = {0};
  int64_t index[NXG_MAX_RANK] = {0}, at = 0;
  for (;;) {
    if (seen[at / 64] >> (at % 64) & 1) return true;
    seen[at / 64] |= 1ull << (at % 64);
    int32_t i = n;
    while (i > 0 && ++index[i - 1] == extents[i - 1]) {
      at -= (extents[i - 1] - 1) * strides[i - 1];
      index[--i] = 0;
    }
    if (i == 0) return false;
    at += strides[i - 1];
  }
}

bool nxg_view_overlaps_itself(const nxg_view *v) {
  int64_t extents[NXG_MAX_RANK], strides[NXG_MAX_RANK];
  int32_t n = 0;
  for (int32_t i = 0; i < v->rank; i++)
    if (v->shape[i] == 0) return false;
  for (int32_t i = 0; i < v->rank; i++) { /* insertion sort by the size of the stride */
    if (v->shape[i] == 1) continue;
    if (v->strides[i] == 0 || v->strides[i] == INT64_MIN) return true;
    int64_t stride = v->strides[i] < 0 ? -v->strides[i] : v->strides[i];
    int32_t at = n++;
    for (; at > 0 && strides[at - 1] > stride; at--)
      strides[at] = strides[at - 1], extents[at] = extents[at - 1];
    strides[at] = stride;
    extents[at] = v->shape[i];
  }
  wide span = 0; /* highest index of the dimensions seen so far */
  bool nested = true;
  for (int32_t i = 0; i < n; i++) {
    nested &= strides[i] > span;
    span += (wide)(extents[i] - 1) * strides[i];
  }
  if (nested) return false;
  if (n == 2) { /* the least a, b with a * s0 == b * s1 are s1 / g and s0 / g */
    int64_t g = strides[0], r = strides[1];
    while (r) {
      int64_t t = g % r;
      g = r;
      r = t;
    }
    return strides[1] / g < extents[0] && strides[0] / g < extents[1];
  }
  if (nxg_elements(n, extents) > span + 1) return true;
  return span >= BITMAP_SPAN || repeats_in_bitmap(n, extents, strides);
}
