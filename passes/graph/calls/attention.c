/* SPDX-License-Identifier: ISC */
/* Two products of f16 or bf16 with a softmax between them become one call of attention on a GPU,
 * whose kernels keep no scores in memory; so do those with a softmax of f32 behind scores of 16
 * bits, or of f32 with operands that were 16 bits, whose weights are rounded, or, beside values
 * that were bf16, stay f32. What is found is what is recorded: a product of queries and turned
 * keys; maybe a factor; maybe a summand; maybe a constant where a comparison of row and column, or
 * a condition in memory, hides scores; exp of what is below the row's largest; a quotient by the
 * sum of these; a product with the values. Nothing else may use what lies between.
 *
 * The rule is one of shapes and types, so fusion changes no bit. It pays where rows fill the GPU
 * and are so many that scores are more than keys and values (docs/decisions/cuda.md). Heads that
 * share keys and values are seen by strides of 0, and heads that lie behind rows in memory are read
 * so. The softmax may have its rows in another order than a product, as that of heads that share
 * keys, whose rows are positions times heads (attention_rows.h). The result is written as the last
 * of the views and copies has it that put its elements in another order.
 * Needs: composed views. */
#include "attention_memory.h"
#include "attention_sides.h"
#include "attention_softmax.h"
#include "passes/graph/rewrite.h"

#include <string.h>

#include "ir/library/library.h"

enum {
  LEAST_WIDTH = 32,
  NARROW = 128,
  LEAST_ROWS = 64,
  LEAST_COLUMNS = 64,
  MOST_COLUMNS = 1 << 15,
  MOST_OF_NARROW = 1 << 19,
  BLOCK = 64,         /* rows of a small block of threads */
  LEAST_BLOCKS = 132, /* one for each multiprocessor of the largest GPU */
  LEAST_SCORES = 1 << 20,
  MOST = NXG_ATTENTION_MOST_ROWS
};

typedef struct attention {
  nxp_side q, k, v, y; /* y: where the result's rows are wanted */
  nxp_mask summand, condition;
  int64_t attrs[NXG_ATTENTION_ATTRS];
  int64_t rows, columns, features, width;
  int64_t positions, step; /* rows of which bounds speak, and how far apart in the result's order;
                            * 0: all may be rows */
  nxp_rows own;            /* rows of the result, where `rows` of the product are given */
  bool exchanged;          /* scores are a product of keys and queries, turned */
  int32_t batches, shared; /* axes before rows, and how many of these share keys and values */
  int32_t split;           /* axes before heads */
  nx_dtype t;              /* of operands and the result; scores may be f32 */
} attention;

/* ---- what is recorded */

/* The factor of a product with a constant or a quotient by a power of two; what it multiplies. */
static uint32_t scaled(const nxg_graph *g, uint32_t node, int64_t *scale, nxp_rows *rows) {
  const nxg_node *n = &g->nodes[node];
  const nx_dtype t = (nx_dtype)n->dtype;
  if (n->op == NXG_mul)
    for (int i = 0; i < 2; i++)
      if (nxp_full_bits(g, n->args[i], scale)) return nxp_follow_rows(g, n->args[1 - i], rows);
  if (n->op != NXG_div || !nxp_full_bits(g, n->args[1], scale)) return node;
  const int digits = t == NX_F32 ? 23 : t == NX_BF16 ? 7 : 10, bias = t == NX_F16 ? 15 : 127;
  const int64_t power = *scale >> digits & (2 * bias + 1),
                other = *scale & ~((int64_t)(2 * bias + 1) << digits);
  const bool exact = (*scale & ((1 << digits) - 1)) == 0 && power > 0 && power < 2 * bias;
  *scale = exact ? other | (2 * bias - power) << digits : -1;
  return exact ? nxp_follow_rows(g, n->args[0], rows) : node;
}

/* Takes what is added to scores away; returns the rest. */
static uint32_t without_summand(const nxg_graph *g, uint32_t node, attention *a, nxp_rows *rows) {
  const nxg_node *n = &g->nodes[node];
  int64_t scale = -1;
  if (n->op != NXG_add) return node;
  for (int i = 0; i < 2; i++) {
    nxp_rows inner = *rows;
    uint32_t rest = nxp_follow_rows(g, n->args[i], &inner);
    rest = scaled(g, rest, &scale, &inner);
    if (g->nodes[rest].op == NXG_cast) {
      rest = nxp_follow_rows(g, g->nodes[rest].args[0], &inner);
      rest = scaled(g, rest, &scale, &inner);
    }
    if (g->nodes[nxp_follow_columns(g, rest, &inner)].op != NXG_matmul) continue;
    nxp_take_mask(g, n->args[1 - i], &a->summand);
    if (!nxp_see_mask(&a->summand, n, rows)) return UINT32_MAX;
    return nxp_follow_rows(g, n->args[i], rows);
  }
  return node;
}

/* Takes the rows that bounds speak of, which are an axis of a node, `from_end` before its end.
 * False: they are none of `rows`. */
static bool take_positions(const nxg_node *n, int32_t from_end, nxp_rows *rows, attention *a) {
  const int32_t axis = (int32_t)n->rank - from_end;
  int64_t inside = 1, step = 1;
  for (int32_t i = axis + 1; i < (int32_t)n->rank - 1; i++) inside *= n->shape[i];
  a->positions = n->shape[axis];
  if (a->positions < 2 || !nxp_cut_rows(rows, inside) || !nxp_cut_rows(rows, inside * a->positions))
    return false;
  for (int32_t i = rows->rank; i-- > 0; step *= rows->shape[i]) {
    a->step = step;
    if (rows->shape[i] == a->positions && rows->strides[i] == inside) return true;
  }
  return false;
}

/* What is cast to f32 at that place, and then `wide` is `kind`; the node itself, if it is not;
 * UINT32_MAX: the cast has another use, or its operand has. */
static uint32_t cast_of(const nxg_graph *g, const uint32_t *uses, uint32_t node, int64_t kind,
                        attention *a, nxp_rows *rows) {
  const nxg_node *n = &g->nodes[node];
  if (n->op != NXG_cast || n->dtype != NX_F32 || a->attrs[NXG_ATTENTION_WIDE] != NXG_WIDE ||
      g->nodes[n->args[0]].dtype != a->t)
    return node;
  a->attrs[NXG_ATTENTION_WIDE] = kind;
  const uint32_t of = nxp_follow_rows(g, n->args[0], rows);
  return uses[of] == 1 && (kind == NXG_WIDE_LATE || uses[node] == 1) ? of : UINT32_MAX;
}

/* Takes the factor before a cast away, if there is none behind it; returns what it multiplies. Of
 * bf16 a power of two, at most 1, may as well be multiplied behind the cast: what it rounds is
 * below 2^-126, and exp of differences so small is 1. */
static uint32_t scaled_before(const nxg_graph *g, uint32_t node, attention *a, nxp_rows *rows) {
  int64_t scale = -1, *const wide = &a->attrs[NXG_ATTENTION_SCALE];
  const uint32_t rest = scaled(g, node, &scale, rows);
  if (rest == node || scale < 0 || *wide >= 0) return node;
  *wide = (int64_t)nxi_cast_bits((uint64_t)scale, a->t, NX_F32);
  if (a->t != NX_BF16 || (*wide & 0x7fffff) != 0 || *wide > 0x3f800000)
    a->attrs[NXG_ATTENTION_WIDE] = NXG_WIDE_SCALED;
  return rest;
}

/* Goes from scores back to the product; UINT32_MAX: there is none. */
static uint32_t product_of(const nxg_graph *g, const uint32_t *uses, uint32_t scores, attention *a,
                           nxp_rows *rows) {
  nxp_hidden h;
  scores = cast_of(g, uses, scores, NXG_WIDE_LATE, a, rows);
  if (scores == UINT32_MAX) return UINT32_MAX;
  const uint32_t seen = nxp_hidden_scores(g, scores, &h);
  const nxg_node *x = &g->nodes[scores];
  a->attrs[NXG_ATTENTION_FILL] = h.fill;
  a->attrs[NXG_ATTENTION_LEAST] = h.least;
  a->attrs[NXG_ATTENTION_MOST] = h.most;
  a->attrs[NXG_ATTENTION_HIDES] = h.condition != UINT32_MAX && h.hides;
  nxp_take_condition(g, &h, &a->condition);
  if (h.least > -NXG_ATTENTION_FAR || h.most < NXG_ATTENTION_FAR) {
    if (!take_positions(x, h.from_end, rows, a)) return UINT32_MAX;
  }
  if (!nxp_see_mask(&a->condition, x, rows)) return UINT32_MAX;
  const uint32_t node = nxp_follow_rows(g, seen, rows);
  if (node != scores && uses[node] != 1) return UINT32_MAX;
  const uint32_t rest = without_summand(g, node, a, rows);
  if (rest == UINT32_MAX || (rest != node && uses[rest] != 1)) return UINT32_MAX;
  const uint32_t wide = scaled(g, rest, &a->attrs[NXG_ATTENTION_SCALE], rows),
                 cast = cast_of(g, uses, wide, NXG_WIDE_ROUNDED, a, rows);
  if (cast == UINT32_MAX) return UINT32_MAX;
  const uint32_t turned = cast == wide ? cast : scaled_before(g, cast, a, rows);
  const uint32_t product = nxp_follow_columns(g, turned, rows);
  a->exchanged = product != turned;
  if (product != rest && uses[product] != 1) return UINT32_MAX;
  const nx_dtype t = a->attrs[NXG_ATTENTION_WIDE] == NXG_WIDE ? NX_F32 : a->t;
  const bool good =
      nxg_attention_grows(nxg_attention_scores(a->t, a->attrs), a->attrs[NXG_ATTENTION_SCALE]);
  return g->nodes[product].op == NXG_matmul && g->nodes[product].dtype == t && good ? product
                                                                                    : UINT32_MAX;
}

/* ---- how operands lie in memory */

static int settle_all(attention *a, int32_t split) {
  const int32_t few = a->batches - a->shared;
  return nxp_settle_side(&a->q, a->batches, split) + nxp_settle_side(&a->k, few, split) +
         nxp_settle_side(&a->v, few, split) + nxp_settle_side(&a->y, a->batches, split);
}

/* Chooses where heads begin, so that few operands have to be copied. */
static void choose(attention *a) {
  const int32_t few = a->batches - a->shared;
  int best = 7;
  for (int32_t split = 0; split <= few; split++) {
    const int copies = settle_all(a, split) + nxp_settle_mask(&a->summand, a->batches, split) +
                       nxp_settle_mask(&a->condition, a->batches, split);
    if (copies < best) best = copies, a->split = split;
  }
  settle_all(a, a->split);
  nxp_settle_mask(&a->summand, a->batches, a->split);
  nxp_settle_mask(&a->condition, a->batches, a->split);
}

/* Which rows of the result are one operand's rows, as an axis of `rows`: those that bounds speak
 * of; or the last ones, if they are many; or else the most. -1: there is none. */
static int32_t axis_of_rows(const nxp_rows *rows, const attention *a) {
  const int32_t last = rows->rank - 3;
  int32_t best = last;
  int64_t step = 1;
  if (last >= 0 && a->positions == 0 && rows->shape[last] >= LEAST_ROWS) return last;
  for (int32_t i = last; i >= 0; step *= rows->shape[i--]) {
    if (a->positions != 0 && a->step == step && a->positions == rows->shape[i]) return i;
    if (rows->shape[i] > rows->shape[best]) best = i;
  }
  return a->positions == 0 ? best : -1;
}

/* Puts the axis of rows behind the others, in masks, too. False: it is part of one there. */
static bool bring_rows(nxp_rows *rows, attention *a) {
  nxp_mask *const all[] = {&a->summand, &a->condition};
  const int32_t axis = axis_of_rows(rows, a);
  int64_t step = 1;
  if (axis < 0) return false;
  for (int32_t i = axis + 1; i < rows->rank; i++) step *= rows->shape[i];
  a->rows = rows->shape[axis];
  nxg_view_contiguous(&a->own, rows->rank, rows->shape);
  for (int i = 0; i < 2; i++)
    if (all[i]->given && !nxp_bring_axis(&all[i]->v, 1, step, a->rows)) return false;
  return nxp_bring_axis(rows, 2, step, a->rows) && nxp_bring_axis(&a->own, 2, step, a->rows);
}

/* Operands with an axis for each one of the rows that are meant, which are `rows` of the first
 * product (columns, if it is exchanged), and `own` ones of the second. Where such an axis divides
 * rows of a product, its other matrix is the same along it. */
static bool view_operands(const nxg_node *s, const nxg_node *n, const nxp_rows *rows,
                          attention *a) {
  const int64_t all = s->shape[s->rank - (a->exchanged ? 1 : 2)], last = n->shape[n->rank - 2],
                keys = a->features * a->columns, values = a->columns * a->width;
  const int32_t batches = rows->rank - 3;
  if (batches < 0 || rows->strides[batches] >= all || a->own.strides[batches] >= last) return false;
  nxg_view *const q = &a->q.v, *const k = &a->k.v, *const v = &a->v.v;
  nxp_view_rows(rows, a->features, q);
  nxp_view_rows(&a->own, a->width, &a->y.v);
  *k = *v = *q;
  for (int32_t i = batches; i >= 0; i--) {
    const int64_t matrix = rows->strides[i] / all;
    if (a->exchanged) q->strides[i] = matrix * a->features * all + rows->strides[i] % all;
    k->strides[i] = matrix * keys;
    v->strides[i] = a->own.strides[i] / last * values;
  }
  if (a->exchanged) q->strides[batches + 1] = all;
  k->shape[batches] = v->shape[batches] = a->columns;
  k->strides[batches] = a->exchanged ? a->features : 1;
  k->strides[batches + 1] = a->exchanged ? 1 : a->columns;
  v->strides[batches] = a->width, v->shape[batches + 1] = a->width;
  return true;
}

/* Sees operands where they lie, behind copies if that goes together, and gives them and masks the
 * same batches. */
static bool take_operands(const nxg_graph *g, uint32_t i, uint32_t product, const nxp_rows *rows,
                          attention *a, uint32_t result) {
  const nxg_node *n = &g->nodes[i], *s = &g->nodes[product];
  for (int copies = 1; copies >= 0; copies--) {
    nxg_view *all[6] = {&a->q.v, &a->k.v, &a->v.v, &a->y.v};
    int count = 4;
    if (a->summand.given) all[count++] = &a->summand.v;
    if (a->condition.given) all[count++] = &a->condition.v;
    if (!view_operands(s, n, rows, a) || !nxp_order_behind(g, result, i, &a->y.v)) return false;
    if (!nxp_see_side(g, s->args[a->exchanged ? 1 : 0], copies, a->t, &a->q) ||
        !nxp_see_side(g, s->args[a->exchanged ? 0 : 1], copies, a->t, &a->k) ||
        !nxp_see_side(g, n->args[1], copies, a->t, &a->v))
      continue;
    nxg_view like = a->q.v;
    bool good = true;
    for (int k = 1; k < count; k++) good = good && nxp_refine(&like, all[k]);
    if (!good) continue;
    for (int k = 0; k < count; k++) good = good && nxp_divide(all[k], &like);
    a->batches = like.rank - 2;
    a->y.narrow = true;
    if (good) return true;
  }
  return false;
}

static bool pays(const attention *a, nx_dtype t) {
  int64_t blocks = (a->rows + BLOCK - 1) / BLOCK, scores = a->rows * a->columns;
  for (int32_t i = 0; i < a->batches; i++) {
    blocks *= a->q.v.shape[i];
    scores *= a->q.v.shape[i];
    if (blocks > MOST || scores / MOST > MOST) return false;
  }
  const int64_t large = a->features > a->width ? a->features : a->width,
                small = a->features < a->width ? a->features : a->width;
  return nxg_attention_fits(t, a->features, a->width, a->columns) && small >= LEAST_WIDTH &&
         a->rows >= LEAST_ROWS && a->rows <= MOST_OF_NARROW && a->columns >= LEAST_COLUMNS &&
         a->columns <= (large <= NARROW ? MOST_OF_NARROW : MOST_COLUMNS) &&
         blocks >= LEAST_BLOCKS && scores >= LEAST_SCORES;
}

/* The dtype of the numbers that are cast to f32 for an operand. */
static nx_dtype dtype_behind(const nxg_graph *g, uint32_t node) {
  while (g->nodes[node].op == NXG_view || g->nodes[node].op == NXG_copy)
    node = g->nodes[node].args[0];
  return (nx_dtype)g->nodes[g->nodes[node].op == NXG_cast ? g->nodes[node].args[0] : node].dtype;
}

/* The softmax that a product multiplies, if it is rounded to the product's dtype before, or f32 as
 * all that is multiplied is; values are of bf16 then, of which three are an f32. */
static uint32_t take_weights(const nxg_graph *g, const uint32_t *uses, const nxg_node *n,
                             nxp_rows *rows, attention *a) {
  const bool whole = n->dtype == NX_F32;
  uint32_t weights = nxp_follow_rows(g, n->args[0], rows);
  a->t = whole ? dtype_behind(g, n->args[1]) : (nx_dtype)n->dtype;
  if (a->t != NX_BF16 && (whole || a->t != NX_F16)) return UINT32_MAX;
  if (!whole && g->nodes[weights].op == NXG_cast && uses[weights] == 1)
    weights = nxp_follow_rows(g, g->nodes[weights].args[0], rows);
  const nx_dtype t = (nx_dtype)g->nodes[weights].dtype;
  a->attrs[NXG_ATTENTION_WIDE] = t == a->t ? NXG_NOT_WIDE : NXG_WIDE;
  a->attrs[NXG_ATTENTION_WHOLE] = whole;
  return t == NX_F32 || t == a->t ? weights : UINT32_MAX;
}

/* Whether node i is the last product of an attention, of which `result` has all elements. */
static bool find(const nxg_graph *g, const uint32_t *uses, uint32_t i, uint32_t result,
                 attention *a) {
  const nxg_node *n = &g->nodes[i];
  nxp_rows rows;
  bool empty;
  if (n->op != NXG_matmul || !nxp_all_rows(n, &rows)) return false;
  const uint32_t weights = take_weights(g, uses, n, &rows, a);
  if (weights == UINT32_MAX) return false;
  const nxg_node *w = &g->nodes[weights];
  const uint32_t scores = nxp_softmax_of(g, uses, weights, &rows, &empty);
  if (scores == UINT32_MAX || (empty && a->attrs[NXG_ATTENTION_WIDE] == NXG_NOT_WIDE)) return false;
  a->attrs[NXG_ATTENTION_EMPTY] = empty;
  a->columns = w->shape[w->rank - 1];
  const uint32_t product = product_of(g, uses, scores, a, &rows);
  if (product == UINT32_MAX) return false;
  const nxg_node *s = &g->nodes[product], *x = &g->nodes[scores];
  if (!nxp_cut_rows(&rows, s->shape[s->rank - (a->exchanged ? 1 : 2)]) || !bring_rows(&rows, a))
    return false;
  a->features = g->nodes[s->args[0]].shape[s->rank - 1];
  a->width = n->shape[n->rank - 1];
  if (x->shape[x->rank - 1] != a->columns ||
      s->shape[s->rank - (a->exchanged ? 2 : 1)] != a->columns ||
      g->nodes[n->args[1]].shape[n->rank - 2] != a->columns ||
      !take_operands(g, i, product, &rows, a, result) || !pays(a, a->t))
    return false;
  while (a->shared < a->batches) {
    const int32_t axis = a->batches - 1 - a->shared;
    if (a->q.v.shape[axis] != 1 && (a->k.v.strides[axis] != 0 || a->v.v.strides[axis] != 0)) break;
    a->shared++;
  }
  choose(a);
  return true;
}

/* ---- the call */

/* An operand as four axes, of which `count` are batches. */
static uint32_t operand(nxg_rewrite *r, uint32_t i, const nxp_side *s, const attention *a,
                        int32_t count) {
  const nx_dtype from = (nx_dtype)r->from->nodes[s->base].dtype, t = a->t;
  const int32_t split = a->split;
  const nxg_view *v = &s->v;
  int64_t attrs[1 + NXG_MAX_RANK] = {v->offset}, shape[NXG_MAX_RANK], all[4] = {1, 1, 0, 0};
  uint32_t base = r->map[s->base];
  for (int32_t axis = 0; axis < count; axis++) {
    all[axis < split ? 0 : 1] *= v->shape[axis];
    shape[axis] = v->shape[axis];
    attrs[1 + axis] = v->strides[axis];
  }
  for (int32_t axis = 0; axis < 2; axis++) {
    all[2 + axis] = shape[count + axis] = v->shape[v->rank - 2 + axis];
    attrs[1 + count + axis] = v->strides[v->rank - 2 + axis];
  }
  if (!s->whole) {
    base = nxg_rewrite_add(r, i, NXG_view, 1, &base, attrs, 3 + (uint32_t)count, from, count + 2,
                           shape);
    if (!nxg_rewrite_failed(r))
      base = from == t ? nxg_rewrite_copy_of(r, i, base)
                       : nxg_rewrite_add(r, i, NXG_cast, 1, &base, NULL, 0, t, count + 2, shape);
    attrs[0] = 0;
  }
  if (nxg_rewrite_failed(r)) return base;
  if (s->turned) {
    const int64_t heads = all[1];
    all[1] = all[2], all[2] = heads;
  }
  nxg_contiguous_strides(4, all, attrs + 1);
  return nxg_rewrite_add(r, i, NXG_view, 1, &base, attrs, 5, t, 4, all);
}

static uint32_t view_of(nxg_rewrite *r, uint32_t i, uint32_t base, const nxg_view *v) {
  int64_t attrs[1 + NXG_MAX_RANK] = {v->offset};
  memcpy(attrs + 1, v->strides, (size_t)v->rank * sizeof *attrs);
  return nxg_rewrite_add(r, i, NXG_view, 1, &base, attrs, 1 + (uint32_t)v->rank,
                         (nx_dtype)r->to->nodes[base].dtype, v->rank, v->shape);
}

/* A mask as four axes. The columns of a summand are multiples of PART. */
static uint32_t mask_of(nxg_rewrite *r, uint32_t i, const nxp_mask *m, const attention *a) {
  const int64_t part = NXG_ATTENTION_PART, more = (part - a->columns % part) % part;
  int64_t all[4] = {1, 1, m->kept[2] ? a->rows : 1, a->columns}, pad[9] = {[8] = more};
  uint32_t base = r->map[m->base];
  nxg_view v, four;
  for (int32_t axis = 0; axis < a->batches; axis++)
    if (m->kept[axis >= a->split]) all[axis >= a->split] *= m->v.shape[axis];
  nxp_kept_view(m, a->batches, a->split, &v);
  nxg_view_contiguous(&four, 4, all);
  if (m->copied) {
    base = view_of(r, i, base, &v);
    if (!nxg_rewrite_failed(r)) base = nxg_rewrite_copy_of(r, i, base);
  } else {
    four.offset = v.offset;
  }
  if (!nxg_rewrite_failed(r)) base = view_of(r, i, base, &four);
  if (nxg_rewrite_failed(r) || r->to->nodes[base].dtype == NX_BOOL || more == 0) return base;
  all[3] += more;
  return nxg_rewrite_add(r, i, NXG_pad, 1, &base, pad, 9, (nx_dtype)r->to->nodes[base].dtype, 4,
                         all);
}

/* A call's result [outer, heads, rows, width] as all elements of a node, of which a->y says where
 * each one is. */
static uint32_t in_place(nxg_rewrite *r, uint32_t i, uint32_t y, const attention *a) {
  const nxg_node *n = &r->from->nodes[i];
  nxg_view v;
  if (!a->y.whole) {
    nxp_turn_round(&a->y.v, &v);
    y = view_of(r, i, y, &v);
    if (!nxg_rewrite_failed(r)) y = nxg_rewrite_copy_of(r, i, y);
    if (nxg_rewrite_failed(r)) return y;
  }
  nxg_view_contiguous(&v, (int32_t)n->rank, n->shape);
  return view_of(r, i, y, &v);
}

/* i: the product, or what has all of its elements in another order. */
static void rewrite(nxg_rewrite *r, uint32_t i, attention *a) {
  const nxg_node *n = &r->from->nodes[i];
  const int32_t few = a->batches - a->shared;
  const bool turned = a->y.whole && a->y.turned;
  int64_t shape[4] = {1, 1, a->rows, a->width};
  uint32_t args[5] = {0}, n_args = 3;
  for (int32_t axis = 0; axis < a->batches; axis++)
    shape[axis < a->split ? 0 : 1] *= a->q.v.shape[axis];
  if (turned) shape[2] = shape[1], shape[1] = a->rows;
  a->attrs[NXG_ATTENTION_TURNED] =
      a->q.turned | a->k.turned << 1 | a->v.turned << 2 | turned << NXG_ATTENTION_RESULT;
  args[0] = operand(r, i, &a->q, a, a->batches);
  if (!nxg_rewrite_failed(r)) args[1] = operand(r, i, &a->k, a, few);
  if (!nxg_rewrite_failed(r)) args[2] = operand(r, i, &a->v, a, few);
  if (a->summand.given && !nxg_rewrite_failed(r)) args[n_args++] = mask_of(r, i, &a->summand, a);
  if (a->condition.given && !nxg_rewrite_failed(r))
    args[n_args++] = mask_of(r, i, &a->condition, a);
  if (nxg_rewrite_failed(r)) return;
  uint32_t y = nxg_rewrite_add(r, i, NXG_attention, n_args, args, a->attrs, NXG_ATTENTION_ATTRS,
                               (nx_dtype)n->dtype, 4, shape);
  if (!nxg_rewrite_failed(r)) y = in_place(r, i, y, a);
  if (nxg_rewrite_failed(r)) return;
  nxg_rewrite_map(r, i, y);
  r->changed = true;
}

/* How often each node is used for an output, and as an output more than often. Its elements in
 * another order are used as the node is. */
static uint32_t *count_uses(const nxg_graph *g) {
  enum { OFTEN = 3 };
  uint32_t *uses = nxi_calloc((size_t)g->n_nodes + 1, sizeof *uses);
  if (uses == NULL) return NULL;
  for (uint32_t i = 0; i < g->n_outputs; i++)
    uses[nxp_all_elements_of(g, g->outputs[i].node)] += OFTEN;
  for (uint32_t i = g->n_nodes; i-- > 0;)
    for (uint32_t a = 0; a < g->nodes[i].n_args && uses[i] > 0; a++)
      uses[nxp_all_elements_of(g, g->nodes[i].args[a])]++;
  return uses;
}

/* For each node the one that alone uses it, once; UINT32_MAX: there is none. */
static uint32_t *find_users(const nxg_graph *g) {
  const uint32_t several = UINT32_MAX - 1;
  uint32_t *users = nxi_malloc(((size_t)g->n_nodes + 1) * sizeof *users);
  if (users == NULL) return NULL;
  for (uint32_t i = 0; i < g->n_nodes; i++) users[i] = UINT32_MAX;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (uint32_t a = 0; a < g->nodes[i].n_args; a++) {
      uint32_t *own = &users[g->nodes[i].args[a]];
      *own = *own == UINT32_MAX ? i : several;
    }
  for (uint32_t i = 0; i < g->n_outputs; i++) users[g->outputs[i].node] = several;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (users[i] == several) users[i] = UINT32_MAX;
  return users;
}

/* Whether a node becomes the result of an attention: a product, or rather the last node that has
 * all elements of one, each behind a view or a copy that alone uses the one before, if the call
 * can write in its order. */
static bool is_result(const nxg_graph *g, const uint32_t *uses, const uint32_t *users, uint32_t i,
                      attention *a) {
  const uint32_t product = nxp_all_elements_of(g, i);
  const attention none = {.attrs = {[NXG_ATTENTION_SCALE] = -1}};
  attention other = none;
  uint32_t last = product;
  if (g->nodes[product].op != NXG_matmul) return false;
  while (users[last] != UINT32_MAX && nxp_all_elements_of(g, users[last]) == product)
    last = users[last];
  if (i != last && i != product) return false;
  *a = none;
  const bool found = find(g, uses, product, last, a);
  if (found && a->y.whole) return i == last;
  if (last != product && find(g, uses, product, product, &other) && (other.y.whole || !found)) {
    *a = other;
    return i == product;
  }
  return found && i == last;
}

nx_status nxg_pass_attention(const nxg_graph *g, nxp_products products, nxg_graph **out,
                             bool *changed, nxi_diag *d) {
  nxg_rewrite r;
  const bool wanted = (products & NXP_OF_ATTENTION) != 0;
  uint32_t *uses = wanted ? count_uses(g) : NULL, *users = wanted ? find_users(g) : NULL;
  nx_status status =
      wanted && (uses == NULL || users == NULL) ? nxi_oom(d) : nxg_rewrite_begin(&r, g, d);
  const bool begun = status == NX_OK;
  for (uint32_t i = 0; begun && i < g->n_nodes && !nxg_rewrite_failed(&r); i++) {
    attention a;
    if (wanted && is_result(g, uses, users, i, &a)) rewrite(&r, i, &a);
    else nxg_rewrite_copy(&r, i);
  }
  nxi_free(uses);
  nxi_free(users);
  return begun ? nxg_rewrite_end(&r, out, changed) : status;
}
