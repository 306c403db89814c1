/* SPDX-License-Identifier: ISC */
/* Products, sums and scatters that a program wants unreduced: where their operands are divided
 * along the very axes that are summed, each process makes its term of its parts, and of products
 * and sums nothing is gathered. */
#include "product.h"
#include "shards.h"

#include <string.h>

#include "ir/dtype.h"

/* The sharding with terms that a constraint, next to the operation, wants of its result. Casts may
 * stand between; the return at the end of the region is neither. */
static bool take_wanted(nxh_recorder *r, const nxh_op *op, nxh_sharding *out) {
  nxh_value v = op->first_result;
  const nxh_op *next = op + 1;
  for (; nxh_word_is(next->name, "builtin.unrealized_conversion_cast"); next++) {
    if (next->n_operands != 1 || next->n_results != 1 || next->operands[0] != v) return false;
    v = next->first_result;
  }
  const nxh_attr *a = nxh_word_is(next->name, "sdy.sharding_constraint") && next->n_operands == 1 &&
                              next->operands[0] == v
                          ? nxh_get(next, "sharding")
                          : NULL;
  const nxh_type *type = nxh_result_type(r, op, 0);
  return a != NULL && type->kind == NXH_TENSOR && type->real == NULL &&
         nxh_read_sharding(r->m, a, type->rank, out) == NULL && out->n[NXH_TERMS] > 0;
}

/* What the parts of the operands make by themselves, dimension by dimension. */
typedef struct made {
  nxh_sharding s;
  int32_t rank;
  bool bad;
} made;

static void add_dimension(made *m, const nxh_sharding *from, int32_t d) {
  m->s.n[m->rank] = from->n[d];
  memcpy(m->s.axes[m->rank++], from->axes[d], from->n[d]);
}

static void add_terms(made *m, const nxh_sharding *from, int32_t d) {
  uint8_t *n = &m->s.n[NXH_TERMS];
  m->bad = m->bad || *n + from->n[d] > NXH_MOST_AXES;
  for (int i = 0; !m->bad && i < from->n[d]; i++) m->s.axes[NXH_TERMS][(*n)++] = from->axes[d][i];
}

static bool same_axes(const nxh_sharding *a, int32_t i, const nxh_sharding *b, int32_t k) {
  return a->n[i] == b->n[k] && memcmp(a->axes[i], b->axes[k], a->n[i]) == 0;
}

/* The terms in any order. */
static bool is_wanted(const made *m, const nxh_sharding *want) {
  bool same = !m->bad && m->s.n[NXH_TERMS] == want->n[NXH_TERMS];
  for (int32_t d = 0; same && d < m->rank; d++) same = same_axes(&m->s, d, want, d);
  for (int i = 0; same && i < want->n[NXH_TERMS]; i++)
    same = memchr(m->s.axes[NXH_TERMS], want->axes[NXH_TERMS][i], m->s.n[NXH_TERMS]) != NULL;
  return same;
}

/* A part of the same mesh that is no term itself. */
static const nxh_shard *part_in(const nxh_recorder *r, const nxh_op *op, uint32_t i,
                                const nxh_sharding *want) {
  const nxh_shard *s = nxh_shard_of(r, op->operands[i]);
  return s != NULL && s->sharding.grid == want->grid && s->sharding.n[NXH_TERMS] == 0 ? s : NULL;
}

/* The term of a product; NULL: it is no such one, or a failure. */
static nx_tensor *product(nxh_recorder *r, const nxh_op *op, const nxh_sharding *want) {
  const nxh_shard *x = part_in(r, op, 0, want), *y = part_in(r, op, 1, want);
  if (x == NULL || y == NULL) return NULL;
  nxh_side a = {.x = x->tensor}, b = {.x = y->tensor};
  if (!nxh_product_axes(r, op, &a, &b) || !nxh_sort_axes(r, &a) || !nxh_sort_axes(r, &b) ||
      a.n_batch != b.n_batch || a.n_contracted != b.n_contracted ||
      a.n_batch + a.n_rest + b.n_rest != (uint32_t)nxh_result_type(r, op, 0)->rank)
    return NULL;
  made m = {.rank = 0};
  for (uint32_t i = 0; i < a.n_batch; i++) {
    m.bad = m.bad || !same_axes(&x->sharding, a.batch[i], &y->sharding, b.batch[i]);
    add_dimension(&m, &x->sharding, a.batch[i]);
  }
  for (uint32_t i = 0; i < a.n_rest; i++) add_dimension(&m, &x->sharding, a.rest[i]);
  for (uint32_t i = 0; i < b.n_rest; i++) add_dimension(&m, &y->sharding, b.rest[i]);
  for (uint32_t i = 0; i < a.n_contracted; i++) {
    m.bad = m.bad || !same_axes(&x->sharding, a.contracted[i], &y->sharding, b.contracted[i]);
    add_terms(&m, &x->sharding, a.contracted[i]);
  }
  if (!is_wanted(&m, want)) return NULL;
  return nxh_product(r, &a, &b, nxh_result_type(r, op, 0)->dtype);
}

/* The term of a sum, to which the first process adds what it begins with. */
static nx_tensor *sum(nxh_recorder *r, const nxh_op *op, const nxh_sharding *want) {
  const nxh_shard *x = part_in(r, op, 0, want);
  const nxh_op *by = op->n_regions == 1 ? nxh_single_op(r, &op->regions[0]) : NULL;
  nx_dtype type = nxh_result_type(r, op, 0)->dtype;
  int32_t axes[NX_MAX_RANK];
  uint32_t n;
  if (x == NULL || by == NULL || !nxh_word_is(by->name, "stablehlo.add") || type == NX_BOOL ||
      nx_dtype_of(x->tensor) != type || !nxh_axes(r, op, "dimensions", axes, &n))
    return NULL;
  made m = {.rank = 0};
  for (int32_t d = 0; d < nx_rank(x->tensor); d++) {
    bool summed = false;
    for (uint32_t i = 0; i < n; i++) summed = summed || axes[i] == d;
    if (summed) add_terms(&m, &x->sharding, d);
    else add_dimension(&m, &x->sharding, d);
  }
  if (m.rank != nxh_result_type(r, op, 0)->rank || !is_wanted(&m, want)) return NULL;
  int64_t place = nxh_place_of(r, want->grid);
  nx_tensor *term = nx_reduce_sum(x->tensor, axes, n, 0);
  if (term == NULL || place < 0 || nxh_part_at(want, NXH_TERMS, place) > 0) return term;
  nx_tensor *first = nxh_in(r, op, 1);
  return first != NULL ? nx_add(first, term) : NULL;
}

/* The dimensions of indices and updates along which windows are scattered, in their order, divided
 * by the axes that `from`, of operand `by`, has for them: those are the terms. False: they are no
 * pairs. */
static bool divide_updates(nxh_recorder *r, const nxh_op *op, uint32_t by, const nxh_sharding *from,
                           nxh_sharding *starts, nxh_sharding *updates, made *m) {
  int32_t window[NX_MAX_RANK], n = nxh_operand_type(r, op, 1)->rank;
  int32_t vector = nxh_axis(op, "index_vector_dim", 0), rank = nxh_operand_type(r, op, 2)->rank;
  int32_t batch[NX_MAX_RANK];
  uint32_t n_window, n_batch, w = 0;
  if (vector < 0 || !nxh_axes(r, op, "update_window_dims", window, &n_window) ||
      !nxh_axes(r, op, "scatter_indices_batching_dims", batch, &n_batch) || n_batch > 0 ||
      n - (vector < n) != rank - (int32_t)n_window)
    return false;
  *starts = *updates = (nxh_sharding){.grid = from->grid};
  for (int32_t d = 0, k = 0; d < rank; d++) {
    if (w < n_window && window[w] == d) {
      w++;
      continue;
    }
    k += k == vector;
    int32_t at = by == 1 ? k : d;
    if (k >= n) return false;
    add_terms(m, from, at);
    starts->n[k] = updates->n[d] = from->n[at];
    memcpy(starts->axes[k++], from->axes[at], from->n[at]);
    memcpy(updates->axes[d], from->axes[at], from->n[at]);
  }
  return true;
}

/* The term of a scatter that adds: what the updates of the process's own part add to the operand,
 * which the first has, and to zeros elsewhere. */
static nx_tensor *scatter(nxh_recorder *r, const nxh_op *op, const nxh_sharding *want) {
  const nxh_op *with = op->n_regions == 1 ? nxh_single_op(r, &op->regions[0]) : NULL;
  nxh_sharding from, starts, updates;
  if (with == NULL || !nxh_word_is(with->name, "stablehlo.add") ||
      nxh_result_type(r, op, 0)->dtype == NX_BOOL ||
      nxh_operand_type(r, op, 1)->kind != NXH_TENSOR ||
      nxh_operand_type(r, op, 2)->kind != NXH_TENSOR)
    return NULL;
  for (uint32_t by = 1; by <= 2; by++) {
    made m = {.rank = nxh_result_type(r, op, 0)->rank};
    if (!nxh_known_sharding(r, op->operands[by], &from) || from.grid != want->grid ||
        from.n[NXH_TERMS] > 0 || !divide_updates(r, op, by, &from, &starts, &updates, &m) ||
        !is_wanted(&m, want))
      continue;
    return nxh_scatter_sum(r, op, nxh_first_term(r, nxh_in(r, op, 0), want),
                           nxh_part_of(r, op->operands[1], &starts),
                           nxh_part_of(r, op->operands[2], &updates));
  }
  return NULL;
}

bool nxh_record_term(nxh_recorder *r, const nxh_op *op) {
  nxh_sharding want;
  bool dot = op->n_operands == 2 && nxh_word_is(op->name, "stablehlo.dot_general");
  bool reduce = op->n_operands == 2 && nxh_word_is(op->name, "stablehlo.reduce");
  bool scatters = op->n_operands == 3 && nxh_word_is(op->name, "stablehlo.scatter");
  if (r->frame->shards == NULL || op->n_results != 1 || !(dot || reduce || scatters) ||
      !take_wanted(r, op, &want) || nxh_place_of(r, want.grid) < 0)
    return false;
  nx_tensor *term = dot      ? product(r, op, &want)
                    : reduce ? sum(r, op, &want)
                             : scatter(r, op, &want);
  if (term == NULL) return false;
  r->frame->shards[op->first_result - r->frame->base] = (nxh_shard){term, want};
  return true;
}

bool nxh_gathers(const nxh_recorder *r, const nxh_op *op) {
  nxh_sharding s;
  nxh_word target = nxh_name(op, "call_target_name");
  if (nxh_word_is(op->name, "sdy.manual_computation") ||
      nxh_word_is(target, "SPMDFullToShardShape") || nxh_word_is(target, "SPMDShardToFullShape"))
    return true;
  const nxh_attr *a = nxh_word_is(op->name, "sdy.sharding_constraint") && op->n_results == 1
                          ? nxh_get(op, "sharding")
                          : NULL;
  const nxh_type *type = a != NULL ? nxh_type_of(r->m, op->first_result) : NULL;
  return type != NULL && type->kind == NXH_TENSOR &&
         nxh_read_sharding(r->m, a, type->rank, &s) == NULL && s.n[NXH_TERMS] > 0;
}
