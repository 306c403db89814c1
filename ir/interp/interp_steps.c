/* SPDX-License-Identifier: ISC */
/* The steps that each operation of the graph becomes in the interpreter. */
#include <string.h>

#include "interp_plan.h"

static const nxg_node *node_of(const nxg_planner *b, uint32_t node) { return &b->g->nodes[node]; }

static nxg_place place_of(const nxg_planner *b, uint32_t node) { return b->values[node].place; }

#define NEED(step) \
  if (!(step)) return NX_OUT_OF_MEMORY /* the planner has recorded it */

/* ---- elementwise */

static nxg_map_kernel choose_kernel(nxk_op op, nx_dtype type, nx_dtype result, bool widen) {
  nx_dtype from = widen ? NX_F32 : type;
  switch (op) {
    case NXK_cast:
      return nxg_find_cast(from, widen && nxi_is_small_float(result) ? NX_F32 : result);
    case NXK_bitcast: return nxg_find_bitcast(type, result);
    case NXK_select: return nxg_find_select(type);
    default: return nxg_find_map(op, from);
  }
}

/* The elements of a row of an operand, each of whose rows is one element or lies dense; 0: any
 * number; -1: it has no such rows. */
static int64_t row_length(const nxg_access *a) {
  if (a->dense || a->rank == 0) return 0;
  const int64_t last = a->strides[a->rank - 1];
  return a->rank == 2 && (last == 0 || last == a->size) ? a->shape[1] : -1;
}

static int64_t between_rows(const nxg_access *a, int64_t length) {
  return a->dense ? length * a->size : a->rank == 0 ? 0 : a->strides[0];
}

/* Where operands have rows in common, rows are computed at once. */
static void plan_rows(nxg_step *s) {
  const nxg_access *a = &s->args[0], *b = &s->args[1];
  const int64_t of_a = row_length(a), of_b = row_length(b),
                length = of_a > 0 || of_b > 0 ? (of_a > of_b ? of_a : of_b) : s->n;
  if (of_a < 0 || of_b < 0 || (of_a > 0 && of_b > 0 && of_a != of_b)) return;
  const bool first = !a->dense && (a->rank == 0 || a->repeat),
             second = !b->dense && (b->rank == 0 || b->repeat);
  if (first && second) return;
  s->rows = nxg_row_maps_host(s->scalar, s->dtype,
                              first    ? NXG_FIRST_SINGLE
                              : second ? NXG_SECOND_SINGLE
                                       : NXG_NONE_SINGLE);
  s->numbers[0] = length;
  s->numbers[1] = between_rows(a, length);
  s->numbers[2] = between_rows(b, length);
}

static nx_status plan_map(nxg_planner *b, uint32_t node) {
  const nxg_node *n = node_of(b, node);
  nxk_op op = (nxk_op)nxg_ops[n->op].scalar;
  nx_dtype type = node_of(b, n->args[n->n_args - 1])->dtype;
  bool moves = op == NXK_select || op == NXK_bitcast; /* copies bits */
  nxg_step *s = nxg_plan_step(b, nxg_step_map, nxg_node_elements(n), n->n_args, 3);
  NEED(s);
  s->part = nxg_part_map;
  s->scalar = op;
  s->dtype = type;
  s->result = n->dtype;
  s->widen = nxi_is_small_float(type) && !moves;
  s->narrow = nxi_is_small_float(n->dtype) && s->widen;
  s->kernel = choose_kernel(op, type, n->dtype, s->widen);
  s->loop = nxg_find_loop(op, s->widen ? NX_F32 : type);
  s->to.place = place_of(b, node);
  s->direct = !s->widen;
  if (!nxk_eval_ready(op, nxi_compute_dtype(type))) return nxi_oom(b->d);
  for (uint32_t k = 0; k < n->n_args; k++) {
    nx_status status = nxg_plan_operand(b, n->args[k], &s->args[k]);
    if (status) return status;
    s->direct &= s->args[k].dense;
  }
  if (!s->direct && n->n_args == 2 && (type == NX_F32 || type == NX_F64)) plan_rows(s);
  return NX_OK;
}

/* ---- moving */

nx_status nxg_plan_move(nxg_planner *b, uint32_t node, nxg_place to, int32_t rank,
                        const int64_t *shape, const int64_t *strides) {
  int64_t dense[NXG_MAX_RANK];
  nx_dtype t = node_of(b, node)->dtype;
  nxg_step *s = nxg_plan_step(b, nxg_step_move, nxg_elements(rank, shape), 1, 3);
  NEED(s);
  s->dtype = s->result = t;
  if (!strides) nxg_contiguous_strides(rank, shape, dense);
  nx_status status = nxg_plan_operand(b, node, &s->args[0]);
  return status ? status
                : nxg_plan_access(b, to, t, rank, shape, strides ? strides : dense, &s->to);
}

/* Copies operand `node` into the dense result, from element `offset` on. */
static nx_status plan_part(nxg_planner *b, uint32_t node, uint32_t result, int64_t offset) {
  const nxg_node *n = node_of(b, node), *whole = node_of(b, result);
  int64_t strides[NXG_MAX_RANK];
  nxg_place to = place_of(b, result);
  nxg_contiguous_strides(whole->rank, whole->shape, strides);
  if (nxg_node_elements(n)) to.byte += offset * nxi_dtype_size(n->dtype);
  return nxg_plan_move(b, node, to, n->rank, n->shape, strides);
}

static nx_status plan_pad(nxg_planner *b, uint32_t node) {
  const nxg_node *n = node_of(b, node);
  int64_t strides[NXG_MAX_RANK], offset = 0;
  nxg_step *s = nxg_plan_step(b, nxg_step_fill, nxg_node_elements(n), 1, 0);
  NEED(s);
  s->to.place = place_of(b, node);
  nx_status status = nxg_plan_scalar(b, n->dtype, (uint64_t)n->attrs[0], &s->args[0]);
  if (status) return status;
  nxg_contiguous_strides(n->rank, n->shape, strides);
  if (nxg_node_elements(node_of(b, n->args[0])))
    for (int32_t i = 0; i < n->rank; i++) offset += n->attrs[1 + i] * strides[i];
  return plan_part(b, n->args[0], node, offset);
}

static nx_status plan_cat(nxg_planner *b, uint32_t node) {
  const nxg_node *n = node_of(b, node);
  int64_t strides[NXG_MAX_RANK], offset = 0, axis = n->attrs[0];
  nxg_contiguous_strides(n->rank, n->shape, strides);
  for (uint32_t k = 0; k < n->n_args; k++) {
    nx_status status = plan_part(b, n->args[k], node, offset);
    if (status) return status;
    if (nxg_node_elements(n)) offset += node_of(b, n->args[k])->shape[axis] * strides[axis];
  }
  return NX_OK;
}

static nx_status plan_interleave(nxg_planner *b, uint32_t node) {
  const nxg_node *n = node_of(b, node), *x = node_of(b, n->args[0]);
  int64_t strides[NXG_MAX_RANK];
  nxg_contiguous_strides(x->rank, x->shape, strides);
  for (int32_t i = 0; i < x->rank; i++) strides[i] *= 2;
  for (uint32_t k = 0; k < 2; k++) {
    nxg_place to = place_of(b, node);
    if (nxg_node_elements(x)) to.byte += k * nxi_dtype_size(n->dtype);
    nx_status status = nxg_plan_move(b, n->args[k], to, x->rank, x->shape, strides);
    if (status) return status;
  }
  return NX_OK;
}

/* The old storage is copied whole, then written through the view. */
static nx_status plan_update(nxg_planner *b, uint32_t node) {
  const nxg_node *n = node_of(b, node);
  const int64_t *shape = n->attrs + 2, *strides = shape + n->attrs[1];
  nxg_place to = place_of(b, node);
  nxg_view v = {.rank = (int32_t)n->attrs[1]};
  int64_t low = 0, high = -1;
  nx_status status = nxg_plan_move(b, n->args[0], to, n->rank, n->shape, NULL);
  if (status) return status;
  memcpy(v.shape, shape, (size_t)v.rank * sizeof *shape);
  memcpy(v.strides, strides, (size_t)v.rank * sizeof *strides);
  bool empty = !nxg_view_range(&v, &low, &high);
  if (n->n_args == 2 && !empty) to.byte += n->attrs[0] * nxi_dtype_size(n->dtype);
  status = nxg_plan_move(b, n->args[1], to, v.rank, shape, strides);
  if (status || n->n_args == 2) return status;
  nxg_step *s = &b->p->steps[b->p->n_steps - 1];
  s->alias_range = (uint32_t)node_of(b, n->args[2])->attrs[0];
  s->numbers[0] = low;
  s->numbers[1] = high;
  s->numbers[2] = nxg_node_elements(n);
  return NX_OK;
}

/* ---- scans: the axis last, so that operands come run by run */

static nx_status plan_scan(nxg_planner *b, uint32_t node) {
  const nxg_node *n = node_of(b, node);
  int64_t axis = n->attrs[0], shape[NXG_MAX_RANK], strides[NXG_MAX_RANK], dense[NXG_MAX_RANK];
  nxg_view v;
  nxg_place first;
  nxg_step *s = nxg_plan_step(b, nxg_step_scan, nxg_node_elements(n), n->n_args, 4);
  NEED(s);
  nxg_contiguous_strides(n->rank, n->shape, dense);
  s->dtype = s->result = n->dtype;
  s->numbers[0] = n->shape[axis];
  s->numbers[1] = dense[axis] * nxi_dtype_size(n->dtype);
  s->numbers[2] = nxg_reduce_kind(n->op);
  s->numbers[3] = n->attrs[1];
  nx_status status = NX_OK;
  for (uint32_t arg = 0; !status && arg < n->n_args; arg++) {
    nxg_plan_view(b, n->args[arg], &v, &first);
    int32_t k = 0;
    for (int32_t i = 0; i < n->rank; i++)
      if (i != axis) strides[k++] = v.strides[i];
    strides[k] = v.strides[axis];
    k = 0;
    for (int32_t i = 0; i < n->rank; i++)
      if (i != axis) shape[k++] = n->shape[i];
    shape[k] = n->shape[axis];
    status = nxg_plan_access(b, first, n->dtype, n->rank, shape, strides, &s->args[arg]);
  }
  for (int32_t i = (int32_t)axis; i + 1 < n->rank; i++) dense[i] = dense[i + 1];
  return status
             ? status
             : nxg_plan_access(b, place_of(b, node), n->dtype, n->rank - 1, shape, dense, &s->to);
}

/* ---- gather and scatter */

enum { EXTENT, STRIDE, NODE, LOWEST, MODE, PARTS, SECOND, DROPS };

/* The strides with the one along `axis` replaced by 0: for each index, they address the element
 * whose index along the axis is 0. */
static void strides_beside(int32_t rank, const int64_t *strides, int64_t axis, int64_t *out) {
  for (int32_t i = 0; i < rank; i++) out[i] = i == axis ? 0 : strides[i];
}

static nx_status plan_gather(nxg_planner *b, uint32_t node) {
  const nxg_node *n = node_of(b, node);
  int64_t axis = n->attrs[0], strides[NXG_MAX_RANK];
  nxg_view v;
  nxg_place first;
  nxg_step *s = nxg_plan_step(b, nxg_step_gather, nxg_node_elements(n), 2, 4);
  NEED(s);
  nxg_plan_view(b, n->args[0], &v, &first);
  s->dtype = s->result = n->dtype;
  s->to.place = place_of(b, node);
  s->numbers[EXTENT] = v.shape[axis];
  s->numbers[STRIDE] = v.strides[axis] * nxi_dtype_size(n->dtype);
  s->numbers[NODE] = n->origin;
  s->numbers[LOWEST] = nxg_gathers_starts(n) ? 0 : -v.shape[axis];
  strides_beside(v.rank, v.strides, axis, strides);
  nx_status status = nxg_plan_access(b, first, n->dtype, n->rank, n->shape, strides, &s->args[0]);
  return status ? status : nxg_plan_operand(b, n->args[1], &s->args[1]);
}

/* Adds a cast from the elements of `from` to dense elements at `to`. */
static nx_status plan_cast_step(nxg_planner *b, const nxg_access *from, int64_t n, nx_dtype t,
                                nx_dtype result, nxg_place to) {
  nxg_step *s = nxg_plan_step(b, nxg_step_map, n, 1, 0);
  NEED(s);
  s->scalar = NXK_cast;
  s->dtype = t;
  s->result = result;
  s->widen = nxi_is_small_float(t);
  s->kernel = choose_kernel(NXK_cast, t, result, s->widen);
  s->args[0] = *from;
  s->direct = !s->widen && from->dense;
  s->to.place = to;
  return nxk_eval_ready(NXK_cast, NX_F32) ? NX_OK : nxi_oom(b->d);
}

/* Makes the accesses of a scatter. For rows of parts they address the first part of each complex
 * number; the distance to the second part is a number of the step. */
static nx_status plan_scatter_operands(nxg_planner *b, const nxg_node *n, nxg_place to, nx_dtype t,
                                       nxg_step *s) {
  const nxg_node *indices = node_of(b, n->args[1]);
  int64_t strides[NXG_MAX_RANK], dense[NXG_MAX_RANK], axis = n->attrs[0], parts = s->numbers[PARTS];
  nxg_view row;
  nxg_place first;
  nxg_contiguous_strides(indices->rank, nxg_scatter_shape(n), dense);
  for (int32_t i = 0; i < indices->rank; i++) dense[i] *= parts;
  s->numbers[EXTENT] = nxg_scatter_shape(n)[axis];
  s->numbers[LOWEST] = -s->numbers[EXTENT];
  s->numbers[STRIDE] = dense[axis] * nxi_dtype_size(t);
  strides_beside(indices->rank, dense, axis, strides);
  nx_status status = nxg_plan_access(b, to, t, indices->rank, indices->shape, strides, &s->to);
  if (!status) status = nxg_plan_operand(b, n->args[1], &s->args[1]);
  if (status || parts == 1) return status ? status : nxg_plan_operand(b, n->args[2], &s->args[0]);
  nxg_plan_view(b, n->args[2], &row, &first);
  s->numbers[SECOND] = row.strides[0] * nxi_dtype_size(t);
  nxg_contiguous_strides(indices->rank, indices->shape, strides);
  for (int32_t i = 0; i < indices->rank; i++) strides[i] *= 2 * row.strides[0];
  return nxg_plan_access(b, first, t, indices->rank, indices->shape, strides, &s->args[0]);
}

/* Small floats that updates are combined with are kept in f32 until all have been. */
static nx_status plan_scatter(nxg_planner *b, uint32_t node) {
  const nxg_node *n = node_of(b, node), *indices = node_of(b, n->args[1]);
  int64_t dense[NXG_MAX_RANK];
  nxi_scatter_mode mode = nxg_scatter_mode(n->attrs[1]);
  bool wide = mode != NXI_SCATTER_SET && nxi_is_small_float(n->dtype);
  nx_dtype t = wide ? NX_F32 : n->dtype;
  nxg_place to = place_of(b, node);
  int64_t bytes = nxg_node_elements(n) * nxi_dtype_size(t);
  nx_status status = wide ? nxg_plan_temporary(b, bytes, &to) : NX_OK;
  nxg_access whole;
  if (!status && wide) status = nxg_plan_operand(b, n->args[0], &whole);
  if (!status && wide)
    status = plan_cast_step(b, &whole, nxg_node_elements(n), n->dtype, NX_F32, to);
  else if (!status) status = nxg_plan_move(b, n->args[0], to, n->rank, n->shape, NULL);
  if (status) return status;
  nxg_step *s = nxg_plan_step(b, nxg_step_scatter, nxg_node_elements(indices), 2, 8);
  NEED(s);
  s->dtype = n->dtype;
  s->result = t;
  s->numbers[NODE] = n->origin;
  s->numbers[MODE] = mode;
  s->numbers[DROPS] = nxg_scatter_drops(n);
  s->numbers[PARTS] = nxg_scatters_pairs(n) ? 2 : 1;
  status = plan_scatter_operands(b, n, to, t, s);
  if (status || !wide) return status;
  nxg_contiguous_strides(n->rank, n->shape, dense);
  status = nxg_plan_access(b, to, t, n->rank, n->shape, dense, &whole);
  if (!status)
    status = plan_cast_step(b, &whole, nxg_node_elements(n), t, n->dtype, place_of(b, node));
  return status ? status : nxg_plan_done_with(b, to, bytes);
}

/* ---- making */

static nx_status plan_leaf(nxg_planner *b, uint32_t node) {
  const nxg_node *n = node_of(b, node);
  bool eye = n->op == NXG_eye;
  nxg_step *s = nxg_plan_step(b, eye ? nxg_step_eye : nxg_step_arange, nxg_node_elements(n), 0, 3);
  NEED(s);
  s->part = eye ? NULL : nxg_part_arange;
  s->result = n->dtype;
  s->to.place = place_of(b, node);
  s->numbers[0] = eye ? n->shape[0] : n->attrs[0];
  s->numbers[1] = eye ? n->shape[1] : n->attrs[1];
  s->numbers[2] = eye ? n->attrs[0] : 0;
  return NX_OK;
}

/* ---- reductions: one step for each run; intermediate values have the dtype that is computed in */

/* The input of a reduction: elements of dtype t in the view v, from `first` on. */
typedef struct reduce_input {
  nx_dtype t;
  nxg_view v;
  nxg_place first;
} reduce_input;

/* The shape of the axes of a run, or of all other axes. */
static int32_t pick_axes(const nxg_view *v, uint32_t mask, bool in, int64_t *shape,
                         int64_t *strides) {
  int32_t n = 0;
  for (int32_t i = 0; i < v->rank; i++) {
    if ((mask >> i & 1) != in) continue;
    shape[n] = v->shape[i];
    strides[n++] = v->strides[i];
  }
  return n;
}

/* Whether runs of the same steps begin beside each other, with as many elements as go at once. */
static bool lie_beside(const nxg_step *s) {
  const nxg_access *first = &s->args[0], *along = &s->args[1];
  return first->rank > 0 && first->strides[first->rank - 1] == first->size &&
         first->shape[first->rank - 1] >= NXG_BESIDE_LEAST && along->rank <= 1 &&
         s->numbers[0] > 0 && s->numbers[0] <= NXG_BESIDE_MOST && !s->narrow;
}

static nx_status plan_reduce_step(nxg_planner *b, nxk_reduce_kind kind, nxg_run run,
                                  const reduce_input *in, nx_dtype result, nxg_place to) {
  int64_t shape[NXG_MAX_RANK], strides[NXG_MAX_RANK];
  int32_t rank = pick_axes(&in->v, run.axes, false, shape, strides);
  nxg_step *s = nxg_plan_step(b, nxg_step_reduce, nxg_elements(rank, shape), 2, 1);
  NEED(s);
  s->dtype = in->t;
  s->result = result;
  s->lanes = run.order == NXK_ORDER_LANES;
  s->narrow = nxi_is_small_float(result);
  s->reduce = nxg_find_reduce(kind, in->t);
  s->rounds = s->lanes ? nxg_rounds_host(kind, nxi_compute_dtype(in->t)) : NULL;
  s->to.place = to;
  nx_status status = nxg_plan_access(b, in->first, in->t, rank, shape, strides, &s->args[0]);
  if (status) return status;
  rank = pick_axes(&in->v, run.axes, true, shape, strides);
  s->numbers[0] = nxg_elements(rank, shape);
  nxg_plan_add_work(b, nxg_elements(in->v.rank, in->v.shape));
  status = nxg_plan_access(b, in->first, in->t, rank, shape, strides, &s->args[1]);
  if (status == NX_OK && !s->lanes && lie_beside(s)) s->beside = nxg_besides_host(kind, in->t);
  if (s->lanes && s->args[1].dense && s->numbers[0] >= NXG_RUN_LEAST &&
      s->numbers[0] <= NXG_RUN_MOST)
    s->runs = nxg_runs_host(kind, in->t);
  return status;
}

static nx_status plan_reduce(nxg_planner *b, uint32_t node) {
  const nxg_node *n = node_of(b, node), *a = node_of(b, n->args[0]);
  nxg_run runs[NXG_MAX_RANK];
  reduce_input in = {.t = a->dtype};
  nxk_reduce_kind kind = nxg_reduce_kind(n->op);
  bool arg = nxk_finds_index(kind);
  int32_t left = arg ? 1 : nxg_reduce_runs(a->rank, a->shape, (uint32_t)n->attrs[0], runs);
  if (arg) runs[0] = (nxg_run){1u << n->attrs[0], NXK_ORDER_PLAIN};
  if (left == 0) /* no run is left: the shape may change, the elements do not */
    return nxg_plan_move(b, n->args[0], place_of(b, node), a->rank, a->shape, NULL);
  nxg_plan_view(b, n->args[0], &in.v, &in.first);
  int64_t held = 0;
  while (left-- > 0) {
    nx_dtype t = arg ? NX_I32 : left ? nxi_compute_dtype(n->dtype) : n->dtype;
    nxg_place to = place_of(b, node), from = in.first;
    nxg_view next =
        /* the run's axes stay, with extent 1: the masks of the runs outside it keep their
         * meaning */
        in.v;
    for (int32_t i = 0; i < next.rank; i++)
      if (runs[left].axes >> i & 1) next.shape[i] = 1;
    int64_t bytes = nxg_elements(next.rank, next.shape) * nxi_dtype_size(t);
    nx_status status = left ? nxg_plan_temporary(b, bytes, &to) : NX_OK;
    if (!status) status = plan_reduce_step(b, kind, runs[left], &in, t, to);
    if (!status && held) status = nxg_plan_done_with(b, from, held);
    if (status) return status;
    held = left ? bytes : 0;
    nxg_view_contiguous(&in.v, next.rank, next.shape);
    in.t = t;
    in.first = to;
  }
  return NX_OK;
}

/* ---- library nodes */

static nx_status plan_threefry(nxg_planner *b, uint32_t node) {
  const nxg_node *n = node_of(b, node);
  nxg_step *s = nxg_plan_step(b, nxg_step_threefry, nxg_node_elements(n), 2, 0);
  NEED(s);
  s->to.place = place_of(b, node);
  nx_status status = nxg_plan_operand(b, n->args[0], &s->args[0]);
  return status ? status : nxg_plan_operand(b, n->args[1], &s->args[1]);
}

/* Elements of the f32 copies that a product of small floats may need; negative: too many. One with
 * a vector needs its products instead. */
static int64_t wide_elements(int64_t m, int64_t n, int64_t k) {
  int64_t a, b, c, sum;
  if (nxg_small_matmul(m, n, k)) return 0;
  if (__builtin_mul_overflow(m, k, &a) || __builtin_mul_overflow(k, n, &b) ||
      __builtin_mul_overflow(m, n, &c))
    return -1;
  if (__builtin_add_overflow(a, b, &sum) || __builtin_add_overflow(sum, c, &sum) ||
      sum > INT64_MAX / 16)
    return -1;
  return sum;
}

static nx_status plan_matmul(nxg_planner *b, uint32_t node) {
  const nxg_node *n = node_of(b, node);
  int64_t size = nxi_dtype_size(n->dtype), work, elements = nxg_node_elements(n);
  nxg_step *s = nxg_plan_step(b, nxg_step_matmul, elements, 2, 7);
  NEED(s);
  s->dtype = s->result = n->dtype;
  s->to.place = place_of(b, node);
  for (int k = 0; k < 2; k++) {
    nxg_view v;
    nxg_place first;
    nxg_plan_view(b, n->args[k], &v, &first);
    int32_t r = v.rank;
    s->numbers[k ? 1 : 0] = v.shape[k ? r - 1 : r - 2]; /* n of b, m of a */
    if (k == 0) s->numbers[2] = v.shape[r - 1];
    s->numbers[3 + 2 * k] = v.strides[r - 2] * size;
    s->numbers[4 + 2 * k] = v.strides[r - 1] * size;
    nx_status status = nxg_plan_access(b, first, n->dtype, r - 2, v.shape, v.strides, &s->args[k]);
    if (status) return status;
  }
  const int64_t *v = s->numbers;
  nxg_plan_add_work(b, __builtin_mul_overflow(elements, v[2], &work) ? INT64_MAX : work);
  bool sums = elements && nxi_is_float(n->dtype) && nxg_sums_products(n->dtype, v[0], v[1], v[2]);
  if (sums) s->reduce = nxg_find_reduce(NXK_SUM, n->dtype);
  int64_t wide = sums                                       ? v[2]
                 : elements && nxi_is_small_float(n->dtype) ? wide_elements(v[0], v[1], v[2])
                                                            : 0;
  if (wide < 0) return nxi_oom(b->d);
  if (wide == 0) return NX_OK;
  int64_t bytes = wide * nxi_dtype_size(nxi_compute_dtype(n->dtype));
  nx_status status = nxg_plan_temporary(b, bytes, &s->temporary);
  return status ? status : nxg_plan_done_with(b, s->temporary, bytes);
}

/* ---- all */

nx_status nxg_plan_node(nxg_planner *b, uint32_t node) {
  const nxg_node *n = node_of(b, node);
  switch (nxg_ops[n->op].kind) {
    case NXG_KIND_LEAF: return plan_leaf(b, node);
    case NXG_KIND_MAP: return plan_map(b, node);
    case NXG_KIND_REDUCE: return plan_reduce(b, node);
    case NXG_KIND_STORE: return n->op == NXG_scatter ? plan_scatter(b, node) : plan_update(b, node);
    case NXG_KIND_CALL: return nxg_plan_call(b, node);
    case NXG_KIND_CONTROL: return nxg_plan_control(b, node);
    default: break;
  }
  if (nxg_is_scan(n->op)) return plan_scan(b, node);
  switch (n->op) {
    case NXG_pad: return plan_pad(b, node);
    case NXG_cat: return plan_cat(b, node);
    case NXG_gather: return plan_gather(b, node);
    case NXG_interleave: return plan_interleave(b, node);
    case NXG_threefry: return plan_threefry(b, node);
    case NXG_matmul: return plan_matmul(b, node);
    case NXG_view: return nxg_plan_stored_view(b, node);
    default: return nxg_plan_move(b, n->args[0], place_of(b, node), n->rank, n->shape, NULL);
  }
}
