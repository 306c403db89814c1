/* SPDX-License-Identifier: ISC */
/* Two products of f16 or bf16 with a softmax between them become one call of attention on a GPU,
 * whose kernels keep no scores in memory; so do those with a softmax of f32, whose weights are
 * rounded, behind a product of f32 with operands that were 16 bits. What is found is what is
 * recorded: a product of queries and turned keys; maybe a factor; maybe a summand; maybe a constant
 * where a comparison of row and column, or a condition in memory, hides scores; exp of what is
 * below the row's largest; a quotient by the sum of these; a product with the values. Nothing else
 * may use what lies between.
 *
 * The rule is one of shapes and types, so fusion changes no bit. It pays where rows fill the GPU
 * and are so many that scores are more than keys and values (docs/decisions/cuda.md). Heads that
 * share keys and values are seen by strides of 0, and heads that lie behind rows in memory are read
 * so.
 * Needs: composed views. */
#include "attention_mask.h"
#include "attention_sides.h"
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

/* What scores are masked with, as a view of their shape. Of an array of four axes it has those of
 * which it is not the same for all. */
typedef struct mask {
  bool given, copied, kept[3]; /* kept: axes before heads, heads, rows */
  uint32_t base;
  nxg_view v;
} mask;

typedef struct attention {
  nxp_side q, k, v;
  mask summand, condition;
  int64_t attrs[NXG_ATTENTION_ATTRS];
  int64_t rows, columns, features, width;
  int32_t batches, shared; /* axes before rows, and how many of these share keys and values */
  int32_t split;           /* axes before heads */
  nx_dtype t;              /* of operands and the result; scores may be f32 */
} attention;

/* ---- what is recorded */

/* What a node is in another shape. */
static uint32_t reshaped(const nxg_graph *g, uint32_t node) {
  while (g->nodes[node].op == NXG_view) {
    const nxg_node *n = &g->nodes[node];
    nxg_view v;
    nxg_node_view(g, node, &v);
    if (v.offset != 0 || !nxg_is_in_order(v.rank, v.shape, v.strides) ||
        nxg_node_elements(n) != nxg_node_elements(&g->nodes[n->args[0]]))
      break;
    node = n->args[0];
  }
  return node;
}

/* The value of each row that a node repeats along its last axis; UINT32_MAX: it does not. */
static uint32_t repeated(const nxg_graph *g, uint32_t node) {
  const nxg_node *n = &g->nodes[node];
  int64_t step = 1;
  nxg_view v;
  if (n->op != NXG_view) return UINT32_MAX;
  nxg_node_view(g, node, &v);
  bool good = v.offset == 0 && (v.strides[v.rank - 1] == 0 || v.shape[v.rank - 1] == 1);
  for (int32_t i = v.rank - 1; i-- > 0; step *= v.shape[i])
    good = good && (v.shape[i] == 1 || v.strides[i] == step);
  good = good && nxg_node_elements(&g->nodes[n->args[0]]) == step;
  return good ? reshaped(g, n->args[0]) : UINT32_MAX;
}

/* Whether a node is a reduction of another one along its last axis. */
static bool reduces(const nxg_graph *g, uint32_t node, nxg_op op, uint32_t of) {
  const nxg_node *n = &g->nodes[node];
  return n->op == op && n->attrs[0] == INT64_C(1) << (g->nodes[n->args[0]].rank - 1) &&
         reshaped(g, n->args[0]) == of;
}

/* What is added to zero, which changes no sum of exponentials. */
static uint32_t without_zero(const nxg_graph *g, uint32_t node) {
  const nxg_node *n = &g->nodes[node];
  int64_t bits;
  for (int i = 0; i < 2 && n->op == NXG_add; i++)
    if (nxp_full_bits(g, n->args[i], &bits) && bits == 0) return reshaped(g, n->args[1 - i]);
  return node;
}

/* A sum, or the same in f32, and rounded. */
static bool sums(const nxg_graph *g, uint32_t node, uint32_t of) {
  const nxg_node *n = &g->nodes[node], *sum, *wide;
  if (n->op != NXG_cast) return reduces(g, without_zero(g, node), NXG_reduce_sum, of);
  const uint32_t inner = without_zero(g, reshaped(g, n->args[0]));
  sum = &g->nodes[inner];
  if (sum->op != NXG_reduce_sum || sum->dtype != NX_F32) return false;
  const uint32_t cast = reshaped(g, sum->args[0]);
  wide = &g->nodes[cast];
  return wide->op == NXG_cast && reduces(g, inner, NXG_reduce_sum, cast) &&
         reshaped(g, wide->args[0]) == of;
}

/* A maximum, or that of it and minus infinity, which may be taken twice. */
static bool is_largest(const nxg_graph *g, uint32_t node, uint32_t of) {
  for (int times = 0; times < 2; times++) {
    const nxg_node *n = &g->nodes[node];
    const int64_t lowest = (int64_t)nxi_cast_bits(0xff800000u, NX_F32, (nx_dtype)n->dtype);
    int64_t bits;
    int at = 0;
    if (n->op != NXG_max) break;
    while (at < 2 && !(nxp_full_bits(g, n->args[at], &bits) && bits == lowest)) at++;
    if (at == 2) return false;
    node = reshaped(g, n->args[1 - at]);
  }
  return reduces(g, node, NXG_reduce_max, of);
}

/* The scores of which a node is the softmax; UINT32_MAX: none. */
static uint32_t scores_of(const nxg_graph *g, const uint32_t *uses, uint32_t node) {
  const nxg_node *n = &g->nodes[node];
  if (n->op != NXG_div || n->rank == 0 || uses[node] != 1) return UINT32_MAX;
  const uint32_t powers = reshaped(g, n->args[0]), sum = repeated(g, n->args[1]);
  const nxg_node *e = &g->nodes[powers];
  if (sum == UINT32_MAX || e->op != NXG_exp || uses[powers] != 2 || uses[sum] != 1 ||
      !sums(g, sum, powers))
    return UINT32_MAX;
  const uint32_t below = reshaped(g, e->args[0]);
  const nxg_node *d = &g->nodes[below];
  if (d->op != NXG_sub || d->rank == 0 || uses[below] != 1 ||
      d->shape[d->rank - 1] != n->shape[n->rank - 1]) /* rows of the same length */
    return UINT32_MAX;
  const uint32_t scores = reshaped(g, d->args[0]), most = repeated(g, d->args[1]);
  const bool good =
      most != UINT32_MAX && uses[most] == 1 && uses[scores] == 2 && is_largest(g, most, scores);
  return good ? scores : UINT32_MAX;
}

/* The factor of a product with a constant or a quotient by a power of two; what it multiplies. */
static uint32_t scaled(const nxg_graph *g, uint32_t node, int64_t *scale) {
  const nxg_node *n = &g->nodes[node];
  const nx_dtype t = (nx_dtype)n->dtype;
  if (n->op == NXG_mul)
    for (int i = 0; i < 2; i++)
      if (nxp_full_bits(g, n->args[i], scale)) return reshaped(g, n->args[1 - i]);
  if (n->op != NXG_div || !nxp_full_bits(g, n->args[1], scale)) return node;
  const int digits = t == NX_F32 ? 23 : t == NX_BF16 ? 7 : 10, bias = t == NX_F16 ? 15 : 127;
  const int64_t power = *scale >> digits & (2 * bias + 1),
                other = *scale & ~((int64_t)(2 * bias + 1) << digits);
  const bool exact = (*scale & ((1 << digits) - 1)) == 0 && power > 0 && power < 2 * bias;
  *scale = exact ? other | (2 * bias - power) << digits : -1;
  return exact ? reshaped(g, n->args[0]) : node;
}

static void take_mask(const nxg_graph *g, uint32_t node, mask *m) {
  nxg_view inner, v;
  m->given = true;
  m->base = g->nodes[node].op == NXG_view ? g->nodes[node].args[0] : node;
  nxg_node_view(g, node, &m->v);
  while (g->nodes[m->base].op == NXG_view) { /* what has become a view of a view */
    v = m->v;
    nxg_node_view(g, m->base, &inner);
    if (!nxp_see_through(&inner, &v) || v.rank != m->v.rank) break;
    m->v = v;
    m->base = g->nodes[m->base].args[0];
  }
}

/* A condition that is a part of a repeated one is repeated like it. */
static void take_condition(const nxg_graph *g, const nxp_hidden *h, mask *m) {
  nxg_view outer;
  if (h->condition == UINT32_MAX) return;
  take_mask(g, h->condition, m);
  if (h->through == UINT32_MAX || h->through == h->condition) return;
  nxg_node_view(g, h->through, &outer);
  const int32_t more = outer.rank - m->v.rank;
  memmove(m->v.shape + more, m->v.shape, (size_t)m->v.rank * sizeof *m->v.shape);
  memmove(m->v.strides + more, m->v.strides, (size_t)m->v.rank * sizeof *m->v.strides);
  for (int32_t i = 0; i < more; i++) m->v.shape[i] = 1, m->v.strides[i] = 0;
  m->v.rank = outer.rank;
  for (int32_t i = 0; i < outer.rank; i++) {
    if (m->v.shape[i] != outer.shape[i]) m->v.strides[i] = 0;
    m->v.shape[i] = outer.shape[i];
  }
}

/* Takes what is added to scores away; returns the rest. */
static uint32_t without_summand(const nxg_graph *g, uint32_t node, attention *a) {
  const nxg_node *n = &g->nodes[node];
  int64_t scale = -1;
  if (n->op != NXG_add) return node;
  for (int i = 0; i < 2; i++) {
    const uint32_t rest = reshaped(g, n->args[i]);
    if (g->nodes[scaled(g, rest, &scale)].op != NXG_matmul) continue;
    take_mask(g, n->args[1 - i], &a->summand);
    return rest;
  }
  return node;
}

/* Goes from scores back to the product; UINT32_MAX: there is none. */
static uint32_t product_of(const nxg_graph *g, const uint32_t *uses, uint32_t scores,
                           attention *a) {
  nxp_hidden h;
  uint32_t node = reshaped(g, nxp_hidden_scores(g, scores, &h));
  a->attrs[NXG_ATTENTION_FILL] = h.fill;
  a->attrs[NXG_ATTENTION_LEAST] = h.least;
  a->attrs[NXG_ATTENTION_MOST] = h.most;
  a->attrs[NXG_ATTENTION_HIDES] = h.condition != UINT32_MAX && h.hides;
  take_condition(g, &h, &a->condition);
  if (node != scores && uses[node] != 1) return UINT32_MAX;
  const uint32_t rest = without_summand(g, node, a);
  if (rest != node && uses[rest] != 1) return UINT32_MAX;
  const uint32_t product = scaled(g, rest, &a->attrs[NXG_ATTENTION_SCALE]);
  if (product != rest && uses[product] != 1) return UINT32_MAX;
  const bool good =
      nxg_attention_grows((nx_dtype)g->nodes[product].dtype, a->attrs[NXG_ATTENTION_SCALE]);
  return g->nodes[product].op == NXG_matmul && good ? product : UINT32_MAX;
}

/* ---- how operands lie in memory */

static int settle_all(attention *a, int32_t split) {
  const int32_t few = a->batches - a->shared;
  return nxp_settle_side(&a->q, a->batches, split) + nxp_settle_side(&a->k, few, split) +
         nxp_settle_side(&a->v, few, split);
}

/* Whether an axis of a mask has several elements in memory. */
static bool moves(const nxg_view *v, int32_t axis) {
  return v->shape[axis] != 1 && v->strides[axis] != 0;
}

/* The axes of a view that a mask keeps, of which there are `count` batches. */
static void narrow(const mask *m, int32_t count, int32_t split, nxg_view *v) {
  *v = (nxg_view){.offset = m->v.offset};
  for (int32_t i = 0; i < m->v.rank; i++) {
    if (i < count + 1 && !m->kept[i < split ? 0 : i < count ? 1 : 2]) continue;
    v->shape[v->rank] = m->v.shape[i];
    v->strides[v->rank++] = m->v.strides[i];
  }
}

/* Finds what of a mask is in memory; 1 if it has to be copied. */
static int settle_mask(mask *m, int32_t count, int32_t split) {
  nxg_view v;
  memset(m->kept, 0, sizeof m->kept);
  if (!m->given) return 0;
  for (int32_t i = 0; i < count + 1; i++)
    if (moves(&m->v, i)) m->kept[i < split ? 0 : i < count ? 1 : 2] = true;
  narrow(m, count, split, &v);
  m->copied = !nxg_is_in_order(v.rank, v.shape, v.strides);
  return m->copied ? 1 : 0;
}

/* Chooses where heads begin, so that few operands have to be copied. */
static void choose(attention *a) {
  const int32_t few = a->batches - a->shared;
  int best = 6;
  for (int32_t split = 0; split <= few; split++) {
    const int copies = settle_all(a, split) + settle_mask(&a->summand, a->batches, split) +
                       settle_mask(&a->condition, a->batches, split);
    if (copies < best) best = copies, a->split = split;
  }
  settle_all(a, a->split);
  settle_mask(&a->summand, a->batches, a->split);
  settle_mask(&a->condition, a->batches, a->split);
}

/* Whether masks have the shape of the scores. */
static bool masks_fit(const attention *a) {
  const mask *const all[] = {&a->summand, &a->condition};
  for (int i = 0; i < 2; i++) {
    const nxg_view *v = &all[i]->v;
    if (all[i]->given &&
        (v->rank < 2 || v->shape[v->rank - 2] != a->rows || v->shape[v->rank - 1] != a->columns ||
         (i == 1 && all[0]->given &&
          !nxg_same_shape(v->rank, v->shape, all[0]->v.rank, all[0]->v.shape))))
      return false;
  }
  return true;
}

/* Gives all operands the same batches: those of masks, or of the operand that has most. */
static bool share_batches(attention *a) {
  nxp_side *const all[] = {&a->q, &a->k, &a->v};
  nxg_view like = a->summand.given ? a->summand.v : a->condition.given ? a->condition.v : a->q.v;
  for (int i = 1; i < 3 && !a->summand.given && !a->condition.given; i++)
    if (all[i]->v.rank > like.rank) like = all[i]->v;
  a->batches = like.rank - 2;
  for (int i = 0; i < 3; i++)
    if (!nxp_divide_side(all[i], &like)) return false;
  return true;
}

/* Sees operands where they lie, behind copies if that goes together. */
static bool take_operands(const nxg_graph *g, uint32_t i, uint32_t product, attention *a) {
  const nxg_node *n = &g->nodes[i], *s = &g->nodes[product];
  for (int copies = 1; copies >= 0; copies--)
    if (nxp_see_side(g, s->args[0], false, copies, a->t, &a->q) &&
        nxp_see_side(g, s->args[1], true, copies, a->t, &a->k) &&
        nxp_see_side(g, n->args[1], false, copies, a->t, &a->v) && share_batches(a))
      return true;
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

/* The extent before the last one that is not 1. */
static int64_t rows_of(const nxg_node *n) {
  int32_t axis = n->rank - 2;
  while (axis > 0 && n->shape[axis] == 1) axis--;
  return axis < 0 ? 1 : n->shape[axis];
}

/* Whether node i is the last product of an attention. */
static bool find(const nxg_graph *g, const uint32_t *uses, uint32_t i, attention *a) {
  const nxg_node *n = &g->nodes[i];
  if (n->op != NXG_matmul || (n->dtype != NX_BF16 && n->dtype != NX_F16)) return false;
  uint32_t weights = reshaped(g, n->args[0]);
  a->t = (nx_dtype)n->dtype;
  if (g->nodes[weights].op == NXG_cast && uses[weights] == 1)
    weights = reshaped(g, g->nodes[weights].args[0]);
  const nx_dtype t = (nx_dtype)g->nodes[weights].dtype;
  const uint32_t scores = scores_of(g, uses, weights);
  if (scores == UINT32_MAX || (t != a->t && t != NX_F32)) return false;
  const uint32_t product = product_of(g, uses, scores, a);
  if (product == UINT32_MAX) return false;
  const nxg_node *s = &g->nodes[product], *x = &g->nodes[scores], *w = &g->nodes[weights];
  a->attrs[NXG_ATTENTION_WIDE] = t != a->t;
  a->rows = s->shape[s->rank - 2];
  a->columns = s->shape[s->rank - 1];
  a->features = g->nodes[s->args[0]].shape[s->rank - 1];
  a->width = n->shape[n->rank - 1];
  if (x->shape[x->rank - 1] != a->columns || rows_of(x) != a->rows ||
      w->shape[w->rank - 1] != a->columns || n->shape[n->rank - 2] != a->rows ||
      n->rank != s->rank || !masks_fit(a) || !take_operands(g, i, product, a) || !pays(a, a->t))
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
static uint32_t mask_of(nxg_rewrite *r, uint32_t i, const mask *m, const attention *a) {
  const int64_t part = NXG_ATTENTION_PART, more = (part - a->columns % part) % part;
  int64_t all[4] = {1, 1, m->kept[2] ? a->rows : 1, a->columns}, pad[9] = {[8] = more};
  uint32_t base = r->map[m->base];
  nxg_view v, four;
  for (int32_t axis = 0; axis < a->batches; axis++)
    if (m->kept[axis >= a->split]) all[axis >= a->split] *= m->v.shape[axis];
  narrow(m, a->batches, a->split, &v);
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

static void rewrite(nxg_rewrite *r, uint32_t i, attention *a) {
  const nxg_node *n = &r->from->nodes[i];
  const int32_t few = a->batches - a->shared;
  int64_t shape[4] = {1, 1, a->rows, a->width}, attrs[1 + NXG_MAX_RANK] = {0};
  uint32_t args[5] = {0}, n_args = 3;
  for (int32_t axis = 0; axis < a->batches; axis++)
    shape[axis < a->split ? 0 : 1] *= a->q.v.shape[axis];
  a->attrs[NXG_ATTENTION_TURNED] = a->q.turned | a->k.turned << 1 | a->v.turned << 2;
  args[0] = operand(r, i, &a->q, a, a->batches);
  if (!nxg_rewrite_failed(r)) args[1] = operand(r, i, &a->k, a, few);
  if (!nxg_rewrite_failed(r)) args[2] = operand(r, i, &a->v, a, few);
  if (a->summand.given && !nxg_rewrite_failed(r)) args[n_args++] = mask_of(r, i, &a->summand, a);
  if (a->condition.given && !nxg_rewrite_failed(r))
    args[n_args++] = mask_of(r, i, &a->condition, a);
  if (nxg_rewrite_failed(r)) return;
  uint32_t y = nxg_rewrite_add(r, i, NXG_attention, n_args, args, a->attrs, NXG_ATTENTION_ATTRS,
                               (nx_dtype)n->dtype, 4, shape);
  if (nxg_rewrite_failed(r)) return;
  nxg_contiguous_strides(n->rank, n->shape, attrs + 1);
  y = nxg_rewrite_add(r, i, NXG_view, 1, &y, attrs, 1 + (uint32_t)n->rank, (nx_dtype)n->dtype,
                      n->rank, n->shape);
  nxg_rewrite_map(r, i, y);
  r->changed = true;
}

/* How often each node is used for an output, and as an output more than often. Another shape of a
 * value is used as the value is. */
static uint32_t *count_uses(const nxg_graph *g) {
  enum { OFTEN = 3 };
  uint32_t *uses = nxi_calloc((size_t)g->n_nodes + 1, sizeof *uses);
  if (uses == NULL) return NULL;
  for (uint32_t i = 0; i < g->n_outputs; i++) uses[reshaped(g, g->outputs[i].node)] += OFTEN;
  for (uint32_t i = g->n_nodes; i-- > 0;)
    for (uint32_t a = 0; a < g->nodes[i].n_args && uses[i] > 0; a++)
      uses[reshaped(g, g->nodes[i].args[a])]++;
  return uses;
}

nx_status nxg_pass_attention(const nxg_graph *g, nxp_products products, nxg_graph **out,
                             bool *changed, nxi_diag *d) {
  nxg_rewrite r;
  const bool wanted = (products & NXP_OF_ATTENTION) != 0;
  uint32_t *uses = wanted ? count_uses(g) : NULL;
  if (wanted && uses == NULL) return nxi_oom(d);
  nx_status status = nxg_rewrite_begin(&r, g, d);
  for (uint32_t i = 0; status == NX_OK && i < g->n_nodes && !nxg_rewrite_failed(&r); i++) {
    attention a = {.attrs = {[NXG_ATTENTION_SCALE] = -1}};
    if (wanted && find(g, uses, i, &a)) rewrite(&r, i, &a);
    else nxg_rewrite_copy(&r, i);
  }
  nxi_free(uses);
  return status == NX_OK ? nxg_rewrite_end(&r, out, changed) : status;
}
