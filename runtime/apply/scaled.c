/* SPDX-License-Identifier: ISC */
/* Combiners that add up what they scale by a maximum.
 *
 * Scaled sums: some results are maxima or minima, some may be sums, and each other one is
 * s e(m) + t e(n), where s and t are its own two inputs and e the same function of the inputs of
 * the maxima on either side, and of the maxima. With e(m) = exp(m - max(m, n)) that is the sum of
 * logsumexp. Since the combiner is associative, what an element is multiplied by in the end is e
 * of it and of the maximum of all: the maxima are reduced first, then the products are added up.
 *
 * logaddexp of one operand, as one operation or written out: the logarithm of such a sum. */
#include "body.h"

enum { MOST_VISITS = 20000 };

typedef struct search {
  const nxg_graph *g;
  uint32_t k;
  int visits;
  bool best[NXI_MOST_OPERANDS];       /* results that are a maximum or a minimum */
  bool sums[NXI_MOST_OPERANDS];       /* plain sums */
  uint32_t result[NXI_MOST_OPERANDS]; /* the node of each result */
  uint32_t term[NXI_MOST_OPERANDS];   /* of each other one: the product of the left side */
} search;

static const nxg_node *node_at(const search *s, uint32_t at) {
  return &s->g->nodes[nxi_body_through(s->g, at)];
}

/* The number of an input of the combiner, or UINT32_MAX. */
static uint32_t input_of(const search *s, uint32_t at) {
  const nxg_node *n = node_at(s, at);
  return n->op == NXG_input && n->attrs[0] < 2 * (int64_t)s->k ? (uint32_t)n->attrs[0] : UINT32_MAX;
}

static bool is_best(const search *s, uint32_t at) {
  for (uint32_t j = 0; j < s->k; j++)
    if (s->best[j] && s->result[j] == at) return true;
  return false;
}

/* Whether y is x with the sides exchanged, and x reads the left side of maxima, and maxima,
 * alone. */
static bool same(search *s, uint32_t x, uint32_t y) { // NOLINT(misc-no-recursion)
  x = nxi_body_through(s->g, x), y = nxi_body_through(s->g, y);
  const nxg_node *m = &s->g->nodes[x], *n = &s->g->nodes[y];
  if (s->visits-- <= 0 || m->op != n->op || m->dtype != n->dtype || m->n_args != n->n_args)
    return false;
  if (is_best(s, x)) return x == y;
  uint32_t left = input_of(s, x);
  if (left != UINT32_MAX) return left < s->k && s->best[left] && input_of(s, y) == left + s->k;
  if (x == y && m->n_args == 0) return true;
  if (nxg_ops[m->op].kind != NXG_KIND_MAP) return false;
  for (uint32_t i = 0; i < m->n_args; i++)
    if (!same(s, m->args[i], n->args[i])) return false;
  return true;
}

/* The other factor of a product of input `number`, or UINT32_MAX. */
static uint32_t factor_beside(const search *s, const nxg_node *n, uint32_t number) {
  for (uint32_t i = 0; n->op == NXG_mul && i < 2; i++)
    if (input_of(s, n->args[i]) == number) return n->args[1 - i];
  return UINT32_MAX;
}

/* Whether result j is a scaled sum; its product of the left side goes to s->term[j]. */
static bool is_scaled(search *s, uint32_t j) {
  const nxg_node *sum = &s->g->nodes[s->result[j]];
  for (uint32_t i = 0; sum->op == NXG_add && i < 2; i++) {
    s->term[j] = nxi_body_through(s->g, sum->args[i]);
    uint32_t left = factor_beside(s, &s->g->nodes[s->term[j]], j),
             right = factor_beside(s, node_at(s, sum->args[1 - i]), s->k + j);
    if (left != UINT32_MAX && right != UINT32_MAX) return same(s, left, right);
  }
  return false;
}

static bool find_scaled(const nxi_by *by, search *s) {
  *s = (search){.g = by->f->graph, .k = (uint32_t)by->k, .visits = MOST_VISITS};
  bool found = false;
  for (uint32_t j = 0; j < s->k; j++) {
    nxg_op op = nxi_body_plain(by->f, j);
    s->result[j] = nxi_body_through(s->g, s->g->outputs[j].node);
    s->best[j] = op == NXG_max || op == NXG_min;
    s->sums[j] = op == NXG_add;
    found = found || s->best[j];
  }
  if (!found) return false;
  for (uint32_t j = 0; j < s->k; j++)
    if (!s->best[j] && !s->sums[j] && (!nxi_is_float(by->x[j]->storage->dtype) || !is_scaled(s, j)))
      return false;
  return true;
}

/* The maxima and minima, the initial values among them (which are finite where all elements may be
 * infinite), and seen with the shape of x. */
static bool reduce_best(const nxi_by *by, const search *s, const int32_t *axes, size_t n,
                        nxi_row *out, nx_tensor **in) {
  for (uint32_t j = 0; j < s->k; j++) {
    nx_tensor *x = by->x[j];
    in[j] = in[s->k + j] = x;
    if (!s->best[j]) continue;
    bool most = nxi_body_plain(by->f, j) == NXG_max;
    nx_tensor *best = (most ? nx_reduce_max : nx_reduce_min)(x, axes, n, NX_KEEPDIMS);
    out->at[j] = best ? (most ? nx_max : nx_min)(best, by->init[j]) : NULL;
    in[s->k + j] = out->at[j] ? nx_expand(out->at[j], nxi_shape(x), x->rank) : NULL;
    if (!in[s->k + j]) return false;
  }
  return true;
}

/* The combiner of each element and the maxima of all has the products that are added up. */
static bool record_scaled(nxi_body *b, const nxi_by *by, const search *s, const int32_t *axes,
                          size_t n, nxi_row *x) {
  nx_tensor *in[2 * NXI_MOST_OPERANDS] = {NULL}, *ignored[NXI_MOST_OPERANDS];
  if (!reduce_best(by, s, axes, n, x, in) || !nxi_body_apply(b, in, ignored)) return false;
  for (uint32_t j = 0; j < s->k; j++)
    if (!s->best[j]) {
      nx_tensor *term = s->sums[j] ? by->x[j] : b->values[s->term[j]];
      if (!(x->at[j] = nx_reduce_sum(term, axes, n, NX_KEEPDIMS))) return false;
    }
  return true;
}

/* ---- logaddexp */

static bool is_pair(const search *s, const nxg_node *n, nxg_op op) {
  if (n->op != op) return false;
  uint32_t x = input_of(s, n->args[0]), y = input_of(s, n->args[1]);
  return x + y == 1 && x < 2 && y < 2;
}

static const nxg_node *under(const search *s, const nxg_node *n, nxg_op op) {
  return n && n->op == op ? node_at(s, n->args[0]) : NULL;
}

/* max(a, b) + log1p(exp(-|a - b|)), in either order. */
static bool is_sum_of_logs(const search *s, const nxg_node *n) {
  for (uint32_t i = 0; n->op == NXG_add && i < 2; i++) {
    const nxg_node *rest = under(s, node_at(s, n->args[1 - i]), NXG_log1p);
    rest = under(s, under(s, under(s, rest, NXG_exp), NXG_neg), NXG_abs);
    if (rest && is_pair(s, rest, NXG_sub)) return is_pair(s, node_at(s, n->args[i]), NXG_max);
  }
  return false;
}

/* The same, but a + b where a - b is NaN, as it is for equal infinities. */
static bool is_guarded(const search *s, const nxg_node *n) {
  if (n->op != NXG_where) return false;
  const nxg_node *nan = node_at(s, n->args[0]);
  return nan->op == NXG_cmpne && node_at(s, nan->args[0]) == node_at(s, nan->args[1]) &&
         is_pair(s, node_at(s, nan->args[0]), NXG_sub) &&
         is_pair(s, node_at(s, n->args[1]), NXG_add) && is_sum_of_logs(s, node_at(s, n->args[2]));
}

static bool is_logaddexp(const nxi_by *by) {
  search s = {.g = by->f->graph, .k = 1};
  if (by->k != 1 || !nxi_is_float(by->x[0]->storage->dtype)) return false;
  return nxi_body_plain(by->f, 0) == NXG_logaddexp ||
         is_guarded(&s, node_at(&s, s.g->outputs[0].node));
}

/* log(sum(exp(x - m))) + m in f32 at least; m is the maximum, or 0 where that is not finite. */
static bool record_logsumexp(const int32_t *axes, size_t n, nxi_row *row) {
  nx_dtype own = row->at[0]->storage->dtype, t = nxi_compute_dtype(own);
  nx_tensor *x = own == t ? row->at[0] : nx_cast(row->at[0], t),
            *most = x ? nx_reduce_max(x, axes, n, NX_KEEPDIMS) : NULL,
            *finite = most ? nx_isfinite(most) : NULL,
            *m = finite ? nx_where(finite, most,
                                   nx_full_f64(x->context, x->storage->device, t, NULL, 0, 0))
                        : NULL,
            *e = m ? nx_exp(nx_sub(x, m)) : NULL,
            *sum = e ? nx_reduce_sum(e, axes, n, NX_KEEPDIMS) : NULL,
            *y = sum ? nx_add(nx_log(sum), m) : NULL;
  row->at[0] = y && own != t ? nx_cast(y, own) : y;
  return row->at[0] != NULL;
}

nxi_known nxi_reduce_scaled(nxi_body *b, const nxi_by *by, const int32_t *axes, size_t n,
                            nxi_row *x) {
  search s;
  if (is_logaddexp(by)) {
    uint64_t bits[2];
    bool neutral = nxi_constant_of(by->init[0], bits) &&
                   bits[0] == nxk_reduce_identity(NXK_MAX, by->x[0]->storage->dtype);
    if (!record_logsumexp(axes, n, x)) return NXI_KNOWN_FAILED;
    return neutral ? NXI_KNOWN_COMPLETE : NXI_KNOWN_REDUCED;
  }
  if (!find_scaled(by, &s)) return NXI_KNOWN_NOT;
  return record_scaled(b, by, &s, axes, n, x) ? NXI_KNOWN_REDUCED : NXI_KNOWN_FAILED;
}
