/* SPDX-License-Identifier: ISC */
/* The random graph generator: any operation on an operand that is read in any way. Left to chance,
 * most pairs of the two occur in no graph or in one of 10,000: the census has a table of them. */
#include <string.h>

#include "internal.h"

/* ---- ways to read a value */

static bool exchange_axes(nxt_generator *gen, nxg_view *v) {
  int32_t axes[NXG_MAX_RANK];
  nxi_diag d;
  nxi_diag_clear(&d);
  if (v->rank < 2) return false;
  for (int32_t i = 0; i < v->rank; i++) axes[i] = i;
  int32_t last = v->rank - 1, other = (int32_t)nxt_below(&gen->r, last);
  axes[last] = other;
  axes[other] = last;
  return nxg_view_permute(v, axes, (size_t)v->rank, v, &d) == NX_OK;
}

/* An axis of at least so many elements; -1. */
static int32_t axis_of(nxt_generator *gen, const nxg_view *v, int64_t least) {
  for (int attempt = 0; attempt < 4 && v->rank > 0; attempt++) {
    int32_t axis = (int32_t)nxt_below(&gen->r, v->rank);
    if (v->shape[axis] >= least) return axis;
  }
  return -1;
}

static bool turn_round(nxt_generator *gen, nxg_view *v) {
  int32_t axis = axis_of(gen, v, 2);
  if (axis < 0) return false;
  v->offset += (v->shape[axis] - 1) * v->strides[axis];
  v->strides[axis] = -v->strides[axis];
  return true;
}

/* A new axis at `at`, of so many steps of `stride`. */
static void open_axis(nxg_view *v, int32_t at, int64_t extent, int64_t stride) {
  memmove(v->shape + at + 1, v->shape + at, (size_t)(v->rank - at) * sizeof *v->shape);
  memmove(v->strides + at + 1, v->strides + at, (size_t)(v->rank - at) * sizeof *v->strides);
  v->shape[at] = extent;
  v->strides[at] = stride;
  v->rank++;
}

static bool repeat(nxt_generator *gen, nxg_view *v) {
  if (v->rank >= 8) return false;
  open_axis(v, (int32_t)nxt_below(&gen->r, v->rank + 1), 2 + nxt_below(&gen->r, 3), 0);
  return true;
}

/* Windows along an axis: one index says where a window begins, another one where in it. */
static bool open_windows(nxt_generator *gen, nxg_view *v) {
  int32_t axis = axis_of(gen, v, 3);
  if (axis < 0 || v->rank >= 8) return false;
  int64_t width = 2 + nxt_below(&gen->r, v->shape[axis] < 5 ? v->shape[axis] - 2 : 3);
  v->shape[axis] -= width - 1;
  open_axis(v, v->rank, width, v->strides[axis]);
  return true;
}

static bool cut_off(nxt_generator *gen, nxg_view *v) {
  int32_t axis = axis_of(gen, v, 2);
  if (axis < 0) return false;
  int64_t first = 1 + nxt_below(&gen->r, v->shape[axis] - 1);
  v->offset += first * v->strides[axis];
  v->shape[axis] -= first;
  return true;
}

/* Axes of one element before the others. */
static bool open_many_axes(nxt_generator *gen, nxg_view *v) {
  int32_t rank = 9 + (int32_t)nxt_below(&gen->r, 4);
  while (v->rank < rank) open_axis(v, 0, 1, 1);
  return true;
}

static bool take_nothing(nxt_generator *gen, nxg_view *v) {
  int32_t axis = axis_of(gen, v, 1);
  if (axis >= 0) v->shape[axis] = 0;
  return axis >= 0;
}

uint32_t nxt_read_oddly(nxt_generator *gen, uint32_t x) {
  static bool (*const ways[])(nxt_generator *, nxg_view *) = {
      exchange_axes, turn_round,     repeat,       open_windows,
      cut_off,       open_many_axes, take_nothing, exchange_axes};
  const nxg_node *n = nxt_node_of(gen, x);
  nxg_view v;
  nxg_view_contiguous(&v, n->rank, n->shape);
  return ways[nxt_below(&gen->r, 8)](gen, &v) ? nxt_add_view(gen, x, &v) : UINT32_MAX;
}

/* A square matrix for each of a batch: so that what is true of the elements on the diagonal and of
 * the others stays true. */
uint32_t nxt_read_matrix_oddly(nxt_generator *gen, uint32_t x) {
  const nxg_node *n = nxt_node_of(gen, x);
  nxg_view v;
  nxg_view_contiguous(&v, n->rank, n->shape);
  int32_t row = v.rank - 2;
  int64_t size = v.shape[row];
  switch (nxt_below(&gen->r, 5)) {
    case 0: /* transposed */
      v.strides[row] = 1;
      v.strides[row + 1] = size;
      break;
    case 1: /* from the last element on */
      if (size == 0) return x;
      v.offset = size * size - 1;
      v.strides[row] = -size;
      v.strides[row + 1] = -1;
      break;
    case 2: /* without the first row and column */
      if (size < 2) return x;
      v.offset = size + 1;
      v.shape[row]--;
      v.shape[row + 1]--;
      break;
    case 3: open_axis(&v, 0, 2, 0); break;
    default: open_many_axes(gen, &v);
  }
  return nxt_add_view(gen, x, &v);
}

/* ---- any operation on it */

/* What an operation of this number (below) takes at all. */
static bool suits(const nxt_generator *gen, int64_t number, uint32_t x) {
  const nxg_node *n = nxt_node_of(gen, x);
  bool wide = n->dtype == NX_F32 || n->dtype == NX_F64 || nxi_is_complex(n->dtype);
  if (n->rank == 0 || nxg_node_elements(n) == 0) return false;
  switch (number) {
    case 0: return wide;
    case 1:
    case 2: return n->dtype != NX_BOOL;
    case 3: return n->rank > 1;
    case 4: return nxi_is_float(n->dtype);
    default: return true;
  }
}

/* Keys and counters that lie oddly. */
static uint32_t add_threefry(nxt_generator *gen) {
  nx_dtype t = nxt_chance(&gen->r, 50) ? NX_I32 : NX_U32;
  int64_t shape[4] = {1 + nxt_below(&gen->r, 3), 2 + nxt_below(&gen->r, 4), 2};
  uint32_t key = nxt_matching(gen, t, 3, shape), x;
  if (key == UINT32_MAX) return key;
  x = nxt_chance(&gen->r, 60) ? nxt_add_map_on(gen, key) : nxt_read_oddly(gen, key);
  if (x == UINT32_MAX || nxt_node_of(gen, x)->dtype != t) x = key;
  const nxg_node *n = nxt_node_of(gen, x);
  int64_t own[NXG_MAX_RANK];
  int32_t rank = n->rank;
  memcpy(own, n->shape, (size_t)rank * sizeof *own);
  uint32_t args[2] = {x, nxt_chance(&gen->r, 20) ? x : nxt_matching(gen, t, rank, own)};
  return args[1] == UINT32_MAX ? args[1] : nxt_try(gen, NXG_threefry, 2, args, NULL, 0, 0, 0, NULL);
}

/* All of a new storage is overwritten by what is read. */
static uint32_t add_overwritten(nxt_generator *gen) {
  uint32_t source = nxt_pick(gen);
  const nxg_node *n = nxt_node_of(gen, source);
  nxg_view v;
  nxg_view_contiguous(&v, n->rank, n->shape);
  uint32_t old = nxt_add_full(gen, (nx_dtype)n->dtype, v.rank, v.shape);
  return old == UINT32_MAX ? old : nxt_write_through(gen, old, source, UINT32_MAX, &v);
}

static uint32_t add_map(nxt_generator *gen) { return nxt_add_map_on(gen, nxt_pick(gen)); }

/* What is to be read: most often computed. */
static uint32_t pick_for(nxt_generator *gen, int64_t number) {
  if (nxt_chance(&gen->r, 12)) {
    const int64_t shape[2] = {2 + nxt_below(&gen->r, 9), 2 + nxt_below(&gen->r, 9)};
    return nxt_add_full(gen, nxt_random_dtype(gen), 2, shape);
  }
  uint32_t x = nxt_pick_computed(gen);
  for (int attempt = 0; attempt < 8 && !suits(gen, number, x); attempt++) x = nxt_pick(gen);
  return x;
}

uint32_t nxt_add_in_a_way(nxt_generator *gen) {
  static uint32_t (*const adders[])(nxt_generator *) = {
      nxt_add_call, nxt_add_scan,    nxt_add_scan,   nxt_add_matmul, nxt_add_pair,    nxt_add_pad,
      nxt_add_cat,  nxt_add_indexed, nxt_add_reduce, nxt_add_copy,   add_overwritten, add_map};
  enum { ADDERS = sizeof adders / sizeof adders[0] };
  int64_t number = nxt_below(&gen->r, ADDERS + 4);
  if (number == ADDERS) return add_threefry(gen);
  if (number > ADDERS) number = 0; /* there are many calls */
  uint32_t x = pick_for(gen, number);
  uint32_t odd = x != UINT32_MAX && nxt_chance(&gen->r, 85) ? nxt_read_oddly(gen, x) : x;
  if (odd == UINT32_MAX) return odd;
  gen->forced = odd;
  gen->n_forced = nxt_chance(&gen->r, 30) ? 30 : 2; /* picks: those of the others, too, or hardly */
  uint32_t made = adders[number](gen);
  gen->n_forced = 0;
  if (made == UINT32_MAX || !nxt_chance(&gen->r, 25)) return made;
  gen->forced = made;
  gen->n_forced = 9;
  nxt_add_update(gen);
  gen->n_forced = 0;
  return made;
}
