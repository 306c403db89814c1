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
 * so. The softmax may have its rows in another order than a product, as that of heads that share
 * keys, whose rows are positions times heads (attention_rows.h).
 * Needs: composed views. */
#include "attention_mask.h"
#include "attention_rows.h"
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
  int64_t positions;       /* rows of which bounds speak; 0: none */
  bool exchanged;          /* scores are a product of keys and queries, turned */
  int32_t batches, shared; /* axes before rows, and how many of these share keys and values */
  int32_t split;           /* axes before heads */
  nx_dtype t;              /* of operands and the result; scores may be f32 */
} attention;

/* ---- what is recorded */

/* Whether a node is a reduction along the last axis of another one, of which these are the rows. */
static bool reduces(const nxg_graph *g, uint32_t node, nxg_op op, nxp_rows rows, uint32_t of,
                    const nxp_rows *of_rows) {
  const nxg_node *n = &g->nodes[node];
  return n->op == op && n->attrs[0] == INT64_C(1) << (g->nodes[n->args[0]].rank - 1) &&
         nxp_follow_rows(g, n->args[0], &rows) == of && nxp_same_rows(&rows, of_rows);
}

/* What is added to zero, which changes no sum of exponentials. */
static uint32_t without_zero(const nxg_graph *g, uint32_t node, nxp_rows *rows) {
  const nxg_node *n = &g->nodes[node];
  int64_t bits;
  for (int i = 0; i < 2 && n->op == NXG_add; i++)
    if (nxp_full_bits(g, n->args[i], &bits) && bits == 0)
      return nxp_follow_values(g, n->args[1 - i], rows);
  return node;
}

/* A sum, or the same in f32, and rounded. */
static bool sums(const nxg_graph *g, uint32_t node, nxp_rows rows, uint32_t of,
                 const nxp_rows *of_rows) {
  const bool wide = g->nodes[node].op == NXG_cast;
  if (wide) node = nxp_follow_values(g, g->nodes[node].args[0], &rows);
  node = without_zero(g, node, &rows);
  const nxg_node *sum = &g->nodes[node];
  if (!wide) return reduces(g, node, NXG_reduce_sum, rows, of, of_rows);
  if (sum->op != NXG_reduce_sum || sum->dtype != NX_F32) return false;
  nxp_rows inner = rows;
  const uint32_t cast = nxp_follow_rows(g, sum->args[0], &inner);
  return g->nodes[cast].op == NXG_cast && reduces(g, node, NXG_reduce_sum, rows, cast, &inner) &&
         nxp_follow_rows(g, g->nodes[cast].args[0], &inner) == of && nxp_same_rows(&inner, of_rows);
}

/* A maximum, or that of it and minus infinity, which may be taken twice. */
static bool is_largest(const nxg_graph *g, uint32_t node, nxp_rows rows, uint32_t of,
                       const nxp_rows *of_rows) {
  for (int times = 0; times < 2; times++) {
    const nxg_node *n = &g->nodes[node];
    const int64_t lowest = (int64_t)nxi_cast_bits(0xff800000u, NX_F32, (nx_dtype)n->dtype);
    int64_t bits;
    int at = 0;
    if (n->op != NXG_max) break;
    while (at < 2 && !(nxp_full_bits(g, n->args[at], &bits) && bits == lowest)) at++;
    if (at == 2) return false;
    node = nxp_follow_values(g, n->args[1 - at], &rows);
  }
  return reduces(g, node, NXG_reduce_max, rows, of, of_rows);
}

/* The scores of which a node is the softmax, and which of their rows are meant; UINT32_MAX: there
 * are none. */
static uint32_t scores_of(const nxg_graph *g, const uint32_t *uses, uint32_t node, nxp_rows *rows) {
  const nxg_node *n = &g->nodes[node];
  if (n->op != NXG_div || n->rank == 0 || uses[node] != 1) return UINT32_MAX;
  nxp_rows values = *rows;
  const uint32_t powers = nxp_follow_rows(g, n->args[0], rows),
                 sum = nxp_repeated_values(g, n->args[1], &values);
  const nxg_node *e = &g->nodes[powers];
  if (sum == UINT32_MAX || e->op != NXG_exp || uses[powers] != 2 || uses[sum] != 1 ||
      !sums(g, sum, values, powers, rows))
    return UINT32_MAX;
  const uint32_t below = nxp_follow_rows(g, e->args[0], rows);
  const nxg_node *d = &g->nodes[below];
  if (d->op != NXG_sub || d->rank == 0 || uses[below] != 1 ||
      d->shape[d->rank - 1] != n->shape[n->rank - 1]) /* rows of the same length */
    return UINT32_MAX;
  values = *rows;
  const uint32_t scores = nxp_follow_rows(g, d->args[0], rows),
                 most = nxp_repeated_values(g, d->args[1], &values);
  const bool good = most != UINT32_MAX && uses[most] == 1 && uses[scores] == 2 &&
                    is_largest(g, most, values, scores, rows);
  return good ? scores : UINT32_MAX;
}

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

/* The extent before the last one that is not 1. */
static int64_t rows_of(const nxg_node *n) {
  int32_t axis = (int32_t)n->rank - 2;
  while (axis > 0 && n->shape[axis] == 1) axis--;
  return axis < 0 ? 1 : n->shape[axis];
}

/* A mask of a node's shape as a view of the rows that are meant, which are divided if need be.
 * False: it is none. */
static bool see_rows(mask *m, const nxg_node *n, nxp_rows *rows) {
  const int64_t columns = n->shape[n->rank - 1];
  nxg_view v;
  if (!m->given) return true;
  nxp_view_rows(rows, columns, &v);
  bool good = nxp_see_through(&m->v, &v);
  if (!good && nxp_cut_rows(rows, rows_of(n))) {
    nxp_view_rows(rows, columns, &v);
    good = nxp_see_through(&m->v, &v);
  }
  m->v = v;
  return good;
}

/* Takes what is added to scores away; returns the rest. */
static uint32_t without_summand(const nxg_graph *g, uint32_t node, attention *a, nxp_rows *rows) {
  const nxg_node *n = &g->nodes[node];
  int64_t scale = -1;
  if (n->op != NXG_add) return node;
  for (int i = 0; i < 2; i++) {
    nxp_rows inner = *rows;
    uint32_t rest = nxp_follow_rows(g, n->args[i], &inner);
    rest = nxp_follow_columns(g, scaled(g, rest, &scale, &inner), &inner);
    if (g->nodes[rest].op != NXG_matmul) continue;
    take_mask(g, n->args[1 - i], &a->summand);
    if (!see_rows(&a->summand, n, rows)) return UINT32_MAX;
    return nxp_follow_rows(g, n->args[i], rows);
  }
  return node;
}

/* Whether the last axis of rows is the last but one of a node, so that bounds of its positions are
 * those of rows. */
static bool has_positions(const nxg_node *n, nxp_rows *rows) {
  const int32_t last = rows->rank - 3;
  const int64_t matrix = rows_of(n);
  if (last < 0 || (rows->shape[last] > matrix && !nxp_cut_rows(rows, matrix))) return false;
  return rows->shape[rows->rank - 3] == matrix &&
         (matrix == 1 || rows->strides[rows->rank - 3] == 1);
}

/* Goes from scores back to the product; UINT32_MAX: there is none. */
static uint32_t product_of(const nxg_graph *g, const uint32_t *uses, uint32_t scores, attention *a,
                           nxp_rows *rows) {
  nxp_hidden h;
  const uint32_t seen = nxp_hidden_scores(g, scores, &h);
  const nxg_node *x = &g->nodes[scores];
  a->attrs[NXG_ATTENTION_FILL] = h.fill;
  a->attrs[NXG_ATTENTION_LEAST] = h.least;
  a->attrs[NXG_ATTENTION_MOST] = h.most;
  a->attrs[NXG_ATTENTION_HIDES] = h.condition != UINT32_MAX && h.hides;
  take_condition(g, &h, &a->condition);
  if (h.least > -NXG_ATTENTION_FAR || h.most < NXG_ATTENTION_FAR) {
    if (!has_positions(x, rows)) return UINT32_MAX;
    a->positions = rows->shape[rows->rank - 3];
  }
  if (!see_rows(&a->condition, x, rows)) return UINT32_MAX;
  const uint32_t node = nxp_follow_rows(g, seen, rows);
  if (node != scores && uses[node] != 1) return UINT32_MAX;
  const uint32_t rest = without_summand(g, node, a, rows);
  if (rest == UINT32_MAX || (rest != node && uses[rest] != 1)) return UINT32_MAX;
  const uint32_t turned = scaled(g, rest, &a->attrs[NXG_ATTENTION_SCALE], rows),
                 product = nxp_follow_columns(g, turned, rows);
  a->exchanged = product != turned;
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

/* Divides rows of masks where those of the products are divided. False: they are others. */
static bool fit_masks(attention *a) {
  mask *const all[] = {&a->summand, &a->condition};
  for (int i = 0; i < 2; i++) {
    nxg_view *v = &all[i]->v;
    const int32_t axis = v->rank - 2;
    if (!all[i]->given || (axis >= 0 && v->shape[axis] == a->rows)) continue;
    if (axis < 0 || v->shape[axis] % a->rows != 0 || v->rank == NXG_MAX_RANK) return false;
    for (int32_t k = v->rank++; k > axis; k--) {
      v->shape[k] = v->shape[k - 1];
      v->strides[k] = v->strides[k - 1];
    }
    v->shape[axis] /= a->rows, v->strides[axis] *= a->rows;
    v->shape[axis + 1] = a->rows;
  }
  return true;
}

/* Operands with an axis for each one of the rows that are meant, which are `rows` of the first
 * product (columns, if it is exchanged) and, in their order, all of the second one. Where such an
 * axis divides rows of a product, its other matrix is the same along it. */
static bool view_operands(const nxg_node *s, const nxg_node *n, const nxp_rows *rows,
                          attention *a) {
  const int64_t all = s->shape[s->rank - (a->exchanged ? 1 : 2)], last = n->shape[n->rank - 2],
                keys = a->features * a->columns, values = a->columns * a->width;
  const int32_t batches = rows->rank - 3;
  int64_t step = 1;
  if (batches < 0 || rows->strides[batches] >= all ||
      (a->positions != 0 && a->positions != a->rows) || !fit_masks(a))
    return false;
  nxg_view *const q = &a->q.v, *const k = &a->k.v, *const v = &a->v.v;
  nxp_view_rows(rows, a->features, q);
  *k = *v = *q;
  for (int32_t i = batches; i >= 0; step *= rows->shape[i--]) {
    const int64_t matrix = rows->strides[i] / all;
    if (a->exchanged) q->strides[i] = matrix * a->features * all + rows->strides[i] % all;
    k->strides[i] = matrix * keys;
    v->strides[i] = step / last * values;
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
                          attention *a) {
  const nxg_node *n = &g->nodes[i], *s = &g->nodes[product];
  for (int copies = 1; copies >= 0; copies--) {
    nxg_view *const all[] = {&a->q.v, &a->k.v, &a->v.v, &a->summand.v, &a->condition.v};
    const int count = a->condition.given ? 5 : a->summand.given ? 4 : 3;
    if (!view_operands(s, n, rows, a)) return false;
    if (!nxp_see_side(g, s->args[a->exchanged ? 1 : 0], copies, a->t, &a->q) ||
        !nxp_see_side(g, s->args[a->exchanged ? 0 : 1], copies, a->t, &a->k) ||
        !nxp_see_side(g, n->args[1], copies, a->t, &a->v))
      continue;
    nxg_view like = a->q.v;
    bool good = true;
    for (int k = 1; k < count; k++)
      good = good && ((k == 3 && !a->summand.given) || nxp_refine(&like, all[k]));
    if (!good) continue;
    for (int k = 0; k < count; k++)
      good = good && ((k == 3 && !a->summand.given) || nxp_divide(all[k], &like));
    a->batches = like.rank - 2;
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

/* Whether node i is the last product of an attention. */
static bool find(const nxg_graph *g, const uint32_t *uses, uint32_t i, attention *a) {
  const nxg_node *n = &g->nodes[i];
  nxp_rows rows;
  if (n->op != NXG_matmul || (n->dtype != NX_BF16 && n->dtype != NX_F16) || !nxp_all_rows(n, &rows))
    return false;
  uint32_t weights = nxp_follow_rows(g, n->args[0], &rows);
  a->t = (nx_dtype)n->dtype;
  if (g->nodes[weights].op == NXG_cast && uses[weights] == 1)
    weights = nxp_follow_rows(g, g->nodes[weights].args[0], &rows);
  const nxg_node *w = &g->nodes[weights];
  const nx_dtype t = (nx_dtype)w->dtype;
  const uint32_t scores = scores_of(g, uses, weights, &rows);
  if (scores == UINT32_MAX || (t != a->t && t != NX_F32)) return false;
  a->columns = w->shape[w->rank - 1];
  const uint32_t product = product_of(g, uses, scores, a, &rows);
  if (product == UINT32_MAX) return false;
  const nxg_node *s = &g->nodes[product], *x = &g->nodes[scores];
  if (!nxp_cut_rows(&rows, s->shape[s->rank - (a->exchanged ? 1 : 2)])) return false;
  a->attrs[NXG_ATTENTION_WIDE] = t != a->t;
  a->rows = rows.rank < 3 ? 1 : rows.shape[rows.rank - 3];
  a->features = g->nodes[s->args[0]].shape[s->rank - 1];
  a->width = n->shape[n->rank - 1];
  if (x->shape[x->rank - 1] != a->columns ||
      s->shape[s->rank - (a->exchanged ? 2 : 1)] != a->columns ||
      g->nodes[n->args[1]].shape[n->rank - 2] != a->columns ||
      !take_operands(g, i, product, &rows, a) || !pays(a, a->t))
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
