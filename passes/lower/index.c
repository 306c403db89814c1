/* SPDX-License-Identifier: ISC */
/* Index arithmetic of lowering: affine positions over the dimensions of a region, and their
 * decomposition into one index for each axis. If the axes of a reshape do not line up with the
 * dimensions, a dimension is split (the common factorisation of both shapes). If no
 * factorisation exists, the affected indices are computed by division. */
#include "lower.h"

#include <string.h>

void nxw_affine_zero(nxw_affine *a) {
  memset(a, 0, sizeof *a);
  a->extra = NXW_NONE;
}

nxw_affine *nxw_affine_keep(nxw_lower *l, const nxw_affine *a) {
  if (l->kept == NULL || !nxw_affine_equal(l, l->kept, a))
    l->kept = nxi_arena_copy(&l->arena, a, sizeof *a);
  return l->kept;
}

void nxw_affine_add_scaled(nxw_lower *l, nxw_affine *a, const nxw_affine *b, int64_t scale) {
  if (scale == 0) return;
  a->constant += b->constant * scale;
  for (uint32_t i = 0; i < l->dims.n; i++) a->coefficient[i] += b->coefficient[i] * scale;
  if (b->extra == NXW_NONE) return;
  uint32_t scaled = b->extra;
  if (scale != 1)
    scaled = nxw_scalar(l, NXK_mul, NX_I64, scaled, nxw_const_i64(l, scale), NXW_NONE);
  a->extra =
      a->extra == NXW_NONE ? scaled : nxw_scalar(l, NXK_add, NX_I64, a->extra, scaled, NXW_NONE);
}

bool nxw_affine_equal(const nxw_lower *l, const nxw_affine *a, const nxw_affine *b) {
  return a->constant == b->constant && a->extra == b->extra &&
         memcmp(a->coefficient, b->coefficient, l->dims.n * sizeof a->coefficient[0]) == 0;
}

void nxw_axis_index(const nxw_lower *l, uint32_t axis, nxw_affine *a) {
  nxw_affine_zero(a);
  int64_t stride = 1;
  for (uint32_t i = l->dims.n; i-- > 0;) {
    if (l->dims.axis[i] != axis) continue;
    a->coefficient[i] = stride;
    stride *= l->dims.extent[i];
  }
}

void nxw_ravel(nxw_lower *l, int32_t rank, const nxw_affine *indices, const int64_t *strides,
               int64_t offset, nxw_affine *position) {
  nxw_affine_zero(position);
  position->constant = offset;
  for (int32_t i = 0; i < rank; i++) nxw_affine_add_scaled(l, position, &indices[i], strides[i]);
}

bool nxw_affine_range(const nxw_lower *l, const nxw_affine *a, int64_t *low, int64_t *high) {
  *low = *high = a->constant;
  for (uint32_t i = 0; i < l->dims.n; i++) {
    int64_t reach = a->coefficient[i] * (l->dims.extent[i] - 1);
    *(reach < 0 ? low : high) += reach;
  }
  return a->extra == NXW_NONE;
}

/* Splits dimension j into two, of extents extent / factor and factor. */
static bool split_dimension(nxw_lower *l, uint32_t j, int64_t factor) {
  nxw_dims *dims = &l->dims;
  if (dims->n == NXW_MAX_DIMS || l->splits >= 32) return false;
  for (uint32_t i = dims->n; i > j + 1; i--) {
    dims->extent[i] = dims->extent[i - 1];
    dims->axis[i] = dims->axis[i - 1];
  }
  dims->axis[j + 1] = dims->axis[j];
  dims->extent[j + 1] = factor;
  dims->extent[j] /= factor;
  dims->n++;
  if (j < dims->n_outer) dims->n_outer++;
  l->splits++;
  l->split = true;
  return true;
}

/* The narrowest type in which a position can be divided: vector division of 32-bit integers is many
 * times as fast as of 64-bit ones. */
static nx_dtype division_type(const nxw_lower *l, const nxw_affine *position, int32_t rank,
                              const int64_t *shape) {
  int64_t low, high, all = 1;
  for (int32_t m = 0; m < rank && all <= INT32_MAX; m++) all *= shape[m];
  bool narrow = nxw_affine_range(l, position, &low, &high) && all <= INT32_MAX &&
                low >= INT32_MIN && high <= INT32_MAX;
  return narrow ? NX_I32 : NX_I64;
}

/* Computes one index for each axis by dividing the position. */
static bool unravel_by_division(nxw_lower *l, const nxw_affine *position, int32_t rank,
                                const int64_t *shape, nxw_affine *indices) {
  nx_dtype t = division_type(l, position, rank, shape);
  uint32_t value = nxw_scalar(l, NXK_cast, t, nxw_affine_value(l, position), NXW_NONE, NXW_NONE);
  int64_t stride = 1;
  for (int32_t m = rank; m-- > 0;) {
    nxw_affine_zero(&indices[m]);
    if (shape[m] == 1) continue;
    uint32_t index = value;
    if (stride != 1)
      index = nxw_scalar(l, NXK_div, t, index, nxw_const(l, t, (uint64_t)stride), NXW_NONE);
    bool first = true;
    for (int32_t q = 0; q < m; q++) first = first && shape[q] == 1;
    if (!first)
      index = nxw_scalar(l, NXK_mod, t, index, nxw_const(l, t, (uint64_t)shape[m]), NXW_NONE);
    indices[m].extra = nxw_scalar(l, NXK_cast, NX_I64, index, NXW_NONE, NXW_NONE);
    stride *= shape[m];
  }
  return !l->failed;
}

typedef struct nxw_known {
  struct nxw_known *next;
  uint32_t guard;
  int32_t rank;
  const int64_t *shape;
  nxw_affine *position, *indices;
} nxw_known;

void nxw_remember(nxw_lower *l, const nxw_affine *position, int32_t rank, const int64_t *shape,
                  uint32_t guard, const nxw_affine *indices) {
  bool tells = guard != NXW_NONE || position->extra != NXW_NONE;
  nxw_known *k = tells ? nxi_arena_alloc(&l->arena, sizeof *k) : NULL;
  if (k == NULL) return;
  *k = (nxw_known){l->known,
                   guard,
                   rank,
                   shape,
                   nxw_affine_keep(l, position),
                   nxi_arena_copy(&l->arena, indices, (size_t)rank * sizeof *indices)};
  if (k->position != NULL && k->indices != NULL) l->known = k;
}

static bool recall(const nxw_lower *l, const nxw_affine *position, int32_t rank,
                   const int64_t *shape, uint32_t guard, nxw_affine *indices) {
  for (const nxw_known *k = l->known; k != NULL; k = k->next) {
    if (k->guard != guard || !nxg_same_shape(rank, shape, k->rank, k->shape) ||
        !nxw_affine_equal(l, position, k->position))
      continue;
    memcpy(indices, k->indices, (size_t)rank * sizeof *indices);
    return true;
  }
  return false;
}

/* Digits of a number in the mixed radix of `shape`; 0 for extents of 1. The first digit takes what
 * is left, rounded down. Only that digit can be negative, and only where a guard does not hold. */
static void digits(int64_t x, int32_t rank, const int64_t *shape, const int64_t *strides,
                   int64_t *digit) {
  bool first = true;
  for (int32_t m = 0; m < rank; m++) {
    digit[m] = 0;
    if (shape[m] == 1) continue;
    digit[m] = x / strides[m];
    if (first && digit[m] * strides[m] > x) digit[m]--;
    x -= digit[m] * strides[m];
    first = false;
  }
}

/* The index of axis m would exceed its extent: looks for a dimension that can be split so that its
 * outer factor moves in the axis before m. */
static bool split_for_carry(nxw_lower *l, const nxw_affine *position, int32_t rank,
                            const int64_t *shape, const int64_t *strides, int32_t m) {
  int64_t digit[NXG_MAX_RANK];
  for (uint32_t j = 0; j < l->dims.n; j++) {
    int64_t a = position->coefficient[j];
    digits(a < 0 ? -a : a, rank, shape, strides, digit);
    if (a == 0 || digit[m] == 0 || shape[m] % digit[m] != 0) continue;
    int64_t factor = shape[m] / digit[m], extent = l->dims.extent[j];
    if (factor > 1 && factor < extent && extent % factor == 0 && split_dimension(l, j, factor))
      return true;
  }
  return false;
}

/* Writes the digits of the constant and of each coefficient as those of the indices. top[m] is the
 * largest index of axis m. */
static void unravel_by_digits(const nxw_lower *l, const nxw_affine *position, int64_t low,
                              int32_t rank, const int64_t *shape, const int64_t *strides,
                              nxw_affine *indices, int64_t *top) {
  int64_t digit[NXG_MAX_RANK];
  digits(low, rank, shape, strides, top);
  for (int32_t m = 0; m < rank; m++) {
    nxw_affine_zero(&indices[m]);
    indices[m].constant = top[m];
  }
  /* For a negative coefficient the digits are those of its magnitude, counted from the end of the
   * dimension, where the index of each axis is least. */
  for (uint32_t j = 0; j < l->dims.n; j++) {
    int64_t a = position->coefficient[j], last = l->dims.extent[j] - 1;
    if (a == 0) continue;
    digits(a < 0 ? -a : a, rank, shape, strides, digit);
    for (int32_t m = 0; m < rank; m++) {
      top[m] += digit[m] * last;
      indices[m].coefficient[j] = a < 0 ? -digit[m] : digit[m];
      indices[m].constant += a < 0 ? digit[m] * last : 0;
    }
  }
}

/* The digit of *x for this stride that leaves the smallest remainder in magnitude, which replaces
 * *x. So 97 with stride 100 has the digit 1 and the remainder -3. */
static int64_t nearest_digit(int64_t *x, int64_t stride) {
  int64_t down = *x / stride, rest = *x % stride, digit = down;
  if (rest > stride / 2) digit++;
  else if (rest < -(stride / 2)) digit--;
  *x -= digit * stride;
  return digit;
}

/* Writes the indices with digits of either sign: an axis may grow along one dimension and fall
 * along another, as in the gradient of windows. False if an index could leave its axis, since the
 * digits are then not the indices. */
static bool unravel_by_nearest(const nxw_lower *l, const nxw_affine *position, int32_t rank,
                               const int64_t *shape, const int64_t *strides, nxw_affine *indices) {
  int64_t low[NXG_MAX_RANK], high[NXG_MAX_RANK];
  digits(position->constant, rank, shape, strides, low);
  for (int32_t m = 0; m < rank; m++) {
    nxw_affine_zero(&indices[m]);
    indices[m].constant = high[m] = low[m];
  }
  for (uint32_t j = 0; j < l->dims.n; j++) {
    int64_t rest = position->coefficient[j], last = l->dims.extent[j] - 1;
    for (int32_t m = 0; m < rank; m++) {
      if (shape[m] == 1) continue;
      int64_t digit = nearest_digit(&rest, strides[m]);
      indices[m].coefficient[j] = digit;
      *(digit < 0 ? &low[m] : &high[m]) += digit * last;
    }
    if (rest != 0) return false;
  }
  for (int32_t m = 0; m < rank; m++)
    if (low[m] < 0 || high[m] >= shape[m]) return false;
  return true;
}

/* The indices in a storage of this shape of the element that has the indices `inner` in a view.
 * False: the strides of the view do not determine them, or an index is computed. */
static bool indices_through(const nxg_node *view, const nxw_affine *inner, int32_t rank,
                            const int64_t *shape, nxw_affine *indices) {
  int64_t strides[NXG_MAX_RANK], low[NXG_MAX_RANK], high[NXG_MAX_RANK];
  nxg_contiguous_strides(rank, shape, strides);
  digits(view->attrs[0], rank, shape, strides, low);
  for (int32_t m = 0; m < rank; m++) {
    nxw_affine_zero(&indices[m]);
    indices[m].constant = high[m] = low[m];
  }
  for (int32_t i = 0; i < view->rank; i++) {
    int64_t rest = view->attrs[1 + i], last = view->shape[i] - 1;
    if (last == 0) continue; /* the index along it is 0 */
    for (int32_t m = 0; m < rank; m++) {
      if (shape[m] == 1) continue;
      int64_t digit = nearest_digit(&rest, strides[m]);
      if (digit == 0) continue;
      if (inner[i].extra != NXW_NONE) return false;
      indices[m].constant += digit * inner[i].constant;
      for (uint32_t j = 0; j < NXW_MAX_DIMS; j++)
        indices[m].coefficient[j] += digit * inner[i].coefficient[j];
      *(digit < 0 ? &low[m] : &high[m]) += digit * last;
    }
    if (rest != 0) return false;
  }
  for (int32_t m = 0; m < rank; m++)
    if (low[m] < 0 || high[m] >= shape[m]) return false;
  return true;
}

void nxw_remember_through(nxw_lower *l, const nxg_node *view, uint32_t guard,
                          const nxw_affine *inner, const nxw_affine *position) {
  const nxg_node *x = &l->g->nodes[view->args[0]];
  if (guard == NXW_NONE || l->failed) return;
  nxw_affine *indices = nxi_arena_alloc(&l->arena, ((size_t)x->rank + 1) * sizeof *indices);
  l->failed = indices == NULL;
  if (!l->failed && indices_through(view, inner, x->rank, x->shape, indices))
    nxw_remember(l, position, x->rank, x->shape, guard, indices);
}

/* The end of the block of axes that starts at `first`. *all is the product of their extents. */
static int32_t block_end(int32_t first, int32_t rank, const int64_t *shape, const bool *begins,
                         int64_t *all) {
  int32_t end = first;
  for (*all = 1; end < rank && (end == first || !begins[end]); end++) *all *= shape[end];
  return end;
}

/* Writes the number of each block, the row-major index of its axes together, at its first axis.
 * Returns a block whose number may leave its extent, or -1. The first block is not checked: where a
 * guard does not hold, it may have any value. */
static int32_t number_blocks(const nxw_lower *l, const nxw_affine *position, int32_t rank,
                             const int64_t *shape, const int64_t *strides, const bool *begins,
                             nxw_affine *indices) {
  int64_t rest[NXW_MAX_DIMS], constant = position->constant, all, low, high;
  int32_t leaves = -1;
  memcpy(rest, position->coefficient, l->dims.n * sizeof *rest);
  for (int32_t m = 0, end; m < rank; m = end) {
    end = block_end(m, rank, shape, begins, &all);
    int64_t stride = strides[end - 1], digit = constant / stride;
    if (digit * stride > constant) digit--;
    constant -= digit * stride;
    nxw_affine_zero(&indices[m]);
    indices[m].constant = digit;
    for (uint32_t j = 0; j < l->dims.n; j++)
      indices[m].coefficient[j] = nearest_digit(&rest[j], stride);
    nxw_affine_range(l, &indices[m], &low, &high);
    if (m > 0 && leaves < 0 && (low < 0 || high >= all)) leaves = m;
  }
  return leaves;
}

/* The only axis of a block that is not of extent 1; -1 if there are several. */
static int32_t only_axis(int32_t first, int32_t end, const int64_t *shape) {
  int32_t only = -1, n = 0;
  for (int32_t m = first; m < end; m++)
    if (shape[m] != 1 && n++ == 0) only = m;
  return n > 1 ? -1 : n == 1 ? only : first;
}

/* Computes the indices of the axes m .. end - 1 from the number of their block. */
static bool unravel_block(nxw_lower *l, const nxw_affine *number, int32_t m, int32_t end,
                          const int64_t *shape, nxw_affine *indices) {
  int32_t only = only_axis(m, end, shape);
  if (only < 0) return unravel_by_division(l, number, end - m, shape + m, indices + m);
  for (int32_t i = m; i < end; i++) nxw_affine_zero(&indices[i]);
  indices[only] = *number;
  return true;
}

/* Divides only where it must. Axes are grouped into blocks so that there is no carry between
 * blocks, and the numbers of blocks follow from digits. A block of several axes divides its own
 * number, which is small and depends on few dimensions. */
static bool unravel_by_blocks(nxw_lower *l, const nxw_affine *position, int32_t rank,
                              const int64_t *shape, nxw_affine *indices) {
  bool begins[NXG_MAX_RANK];
  int64_t all, strides[NXG_MAX_RANK];
  nxg_contiguous_strides(rank, shape, strides);
  for (int32_t m = 0; m < rank; m++) begins[m] = m == 0 || shape[m] != 1;
  for (int32_t m; (m = number_blocks(l, position, rank, shape, strides, begins, indices)) >= 0;)
    begins[m] = false;
  for (int32_t m = 0, end; m < rank; m = end) {
    end = block_end(m, rank, shape, begins, &all);
    nxw_affine number = indices[m];
    if (!unravel_block(l, &number, m, end, shape, indices)) return false;
  }
  return !l->failed;
}

static int64_t elements_of(int32_t rank, const int64_t *shape) {
  int64_t n = 1;
  for (int32_t m = 0; m < rank; m++) n *= shape[m];
  return n;
}

/* The known indices of this position, under this guard, in another shape with the same number of
 * elements; or NULL. */
static const nxw_known *known_otherwise(const nxw_lower *l, const nxw_affine *position,
                                        int32_t rank, const int64_t *shape, uint32_t guard) {
  int64_t n = elements_of(rank, shape);
  for (const nxw_known *k = l->known; k != NULL && n > 0; k = k->next)
    if (k->guard == guard && elements_of(k->rank, k->shape) == n &&
        nxw_affine_equal(l, position, k->position))
      return k;
  return NULL;
}

/* Computes the indices from those in another shape, for example if a guarded axis is cut in two.
 * They cannot be recovered from the position, which may be outside the axis where the guard does
 * not hold. It divides only within groups of axes that the two shapes divide differently. */
static bool unravel_from(nxw_lower *l, const nxw_known *k, int32_t rank, const int64_t *shape,
                         nxw_affine *indices) {
  for (int32_t from = 0, m = 0, end; m < rank; m = end) {
    int64_t known = 1, wanted = shape[m];
    nxw_affine number;
    nxw_affine_zero(&number);
    /* both shapes have the same number of elements, so the products meet */
    for (end = m + 1; known != wanted;) {
      if (known > wanted) {
        wanted *= shape[end++];
        continue;
      }
      nxw_affine outer = number;
      number = k->indices[from];
      nxw_affine_add_scaled(l, &number, &outer, k->shape[from]);
      known *= k->shape[from++];
    }
    if (!unravel_block(l, &number, m, end, shape, indices)) return false;
  }
  return !l->failed;
}

static bool unravel_with_division(nxw_lower *l, const nxw_affine *position, int32_t rank,
                                  const int64_t *shape, uint32_t guard, nxw_affine *indices) {
  const nxw_known *k = known_otherwise(l, position, rank, shape, guard);
  if (k != NULL) return unravel_from(l, k, rank, shape, indices);
  return position->extra == NXW_NONE ? unravel_by_blocks(l, position, rank, shape, indices)
                                     : unravel_by_division(l, position, rank, shape, indices);
}

bool nxw_unravel(nxw_lower *l, const nxw_affine *position, int32_t rank, const int64_t *shape,
                 uint32_t guard, nxw_affine *indices) {
  int64_t strides[NXG_MAX_RANK], top[NXG_MAX_RANK], low, high;
  if (l->failed) return false;
  if (recall(l, position, rank, shape, guard, indices)) return true;
  nxg_contiguous_strides(rank, shape, strides);
  if (!nxw_affine_range(l, position, &low, &high))
    return unravel_with_division(l, position, rank, shape, guard, indices);
  unravel_by_digits(l, position, low, rank, shape, strides, indices, top);
  int32_t first = 0;
  while (first < rank && shape[first] == 1) first++;
  for (int32_t m = rank;
       /* the first axis is not checked: without its guard it may have any value */
       m-- > first + 1;) {
    if (top[m] < shape[m]) continue;
    if (unravel_by_nearest(l, position, rank, shape, strides, indices)) return true;
    if (split_for_carry(l, position, rank, shape, strides, m)) return false;
    return unravel_with_division(l, position, rank, shape, guard, indices);
  }
  return true;
}

uint32_t nxw_element_number(nxw_lower *l, uint32_t index, int64_t n) {
  if (l->failed || index == NXW_NONE) return NXW_NONE;
  bool narrow = l->exprs[index].dtype == NX_I32 && n <= INT32_MAX;
  nx_dtype t = narrow ? NX_I32 : NX_I64;
  uint64_t mask = narrow ? UINT32_MAX : UINT64_MAX;
  uint32_t x = nxw_scalar(l, NXK_cast, t, index, NXW_NONE, NXW_NONE), zero = nxw_const(l, t, 0),
           extent = nxw_const(l, t, (uint64_t)n & mask),
           last = nxw_const(l, t, (uint64_t)(n - 1) & mask);
  uint32_t negative = nxw_scalar(l, NXK_lt, NX_BOOL, x, zero, NXW_NONE),
           from_end = nxw_scalar(l, NXK_add, t, x, extent, NXW_NONE);
  x = nxw_scalar(l, NXK_select, t, negative, from_end, x);
  x = nxw_scalar(l, NXK_max, t, x, zero, NXW_NONE);
  x = nxw_scalar(l, NXK_min, t, x, last, NXW_NONE);
  return nxw_scalar(l, NXK_cast, NX_I64, x, NXW_NONE, NXW_NONE);
}
