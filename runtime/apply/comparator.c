/* SPDX-License-Identifier: ISC */
/* Whether a comparator compares keys. It does if it is key(a) < key(b) for one expression of the
 * inputs of either place, or that, or both are equal and another such comparison holds. */
#include <string.h>

#include "body.h"

/* What is left to look at: an expression that shares much may be long as a tree. */
enum { MOST_VISITS = 20000 };
typedef struct search {
  const nxg_graph *g;
  uint32_t n_in;
  int visits;
} search;

/* Whether two expressions are one, with the places of inputs exchanged if `exchanged`. */
static bool same(search *s, uint32_t a, uint32_t b, bool exchanged) { // NOLINT(misc-no-recursion)
  a = nxi_body_through(s->g, a), b = nxi_body_through(s->g, b);
  const nxg_node *m = &s->g->nodes[a], *n = &s->g->nodes[b];
  if (s->visits-- <= 0 || m->op != n->op || m->dtype != n->dtype || m->n_args != n->n_args ||
      m->n_attrs != n->n_attrs || !nxg_same_shape(m->rank, m->shape, n->rank, n->shape))
    return false;
  if (m->op == NXG_input && m->attrs[0] < s->n_in)
    return n->attrs[0] == (exchanged ? m->attrs[0] ^ 1 : m->attrs[0]);
  if (m->n_attrs && memcmp(m->attrs, n->attrs, m->n_attrs * sizeof *m->attrs) != 0) return false;
  for (uint32_t i = 0; i < m->n_args; i++)
    if (!same(s, m->args[i], n->args[i], exchanged)) return false;
  return true;
}

/* Which places an expression reads: bit 0 the first, bit 1 the second. */
static uint32_t places(search *s, uint32_t at) { // NOLINT(misc-no-recursion)
  const nxg_node *n = &s->g->nodes[at];
  uint32_t found = 0;
  if (s->visits-- <= 0) return 3;
  if (n->op == NXG_input) return n->attrs[0] < s->n_in ? 1U << (n->attrs[0] & 1) : 0;
  for (uint32_t i = 0; i < n->n_args && found != 3; i++) found |= places(s, n->args[i]);
  return found;
}

/* key(a) < key(b), or the other way round. */
static bool read_less(search *s, const nxg_node *n, nxi_keys *out) {
  if (n->op != NXG_cmplt || out->n == NXI_MOST_KEYS) return false;
  uint32_t left = places(s, n->args[0]), right = places(s, n->args[1]);
  if (left + right != 3 || !left || !right || !same(s, n->args[0], n->args[1], true)) return false;
  out->node[out->n] = nxi_body_through(s->g, n->args[left == 1 ? 0 : 1]);
  out->descending[out->n++] = left == 2;
  return true;
}

/* Whether it compares by op (cmpeq, cmpne) what `less` compares. */
static bool compares(search *s, uint32_t at, nxg_op op, const nxg_node *less) {
  const nxg_node *n = &s->g->nodes[at];
  if (n->op != op) return false;
  return (same(s, n->args[0], less->args[0], false) && same(s, n->args[1], less->args[1], false)) ||
         (same(s, n->args[0], less->args[1], false) && same(s, n->args[1], less->args[0], false));
}

static const nxg_node *node_at(const search *s, uint32_t at) {
  return &s->g->nodes[nxi_body_through(s->g, at)];
}

/* less or (equal and rest): the rest, or UINT32_MAX; *first: less. */
static uint32_t rest_of_or(search *s, const nxg_node *n, const nxg_node **first) {
  for (int i = 0; n->op == NXG_or && i < 2; i++) {
    const nxg_node *less = node_at(s, n->args[i]), *both = node_at(s, n->args[1 - i]);
    for (int j = 0; less->op == NXG_cmplt && both->op == NXG_and && j < 2; j++) {
      if (!compares(s, nxi_body_through(s->g, both->args[j]), NXG_cmpeq, less)) continue;
      *first = less;
      return both->args[1 - j];
    }
  }
  return UINT32_MAX;
}

/* The same as a choice: where(equal, rest, less), where(unequal, less, rest). */
static uint32_t rest_of_where(search *s, const nxg_node *n, const nxg_node **first) {
  if (n->op != NXG_where) return UINT32_MAX;
  uint32_t condition = nxi_body_through(s->g, n->args[0]);
  bool unequal = s->g->nodes[condition].op == NXG_cmpne;
  const nxg_node *less = node_at(s, n->args[unequal ? 1 : 2]);
  if (less->op != NXG_cmplt || !compares(s, condition, unequal ? NXG_cmpne : NXG_cmpeq, less))
    return UINT32_MAX;
  *first = less;
  return n->args[unequal ? 2 : 1];
}

bool nxi_find_keys(const nx_function *f, nxi_keys *out) {
  search s = {f->graph, f->n_in, MOST_VISITS};
  uint32_t at = f->graph->outputs[0].node;
  out->n = 0;
  for (;;) {
    const nxg_node *n = node_at(&s, at), *less = NULL;
    if (n->op == NXG_cmplt) return read_less(&s, n, out);
    uint32_t rest = rest_of_or(&s, n, &less);
    if (rest == UINT32_MAX) rest = rest_of_where(&s, n, &less);
    if (rest == UINT32_MAX || !read_less(&s, less, out)) return false;
    at = rest;
  }
}

/* ---- keys that order as the elements do */

static bool is_constant(const search *s, uint32_t at, uint64_t bits) {
  const nxg_node *n = node_at(s, at);
  return n->op == NXG_full && n->rank == 0 && n->attrs[1] < 0 && (uint64_t)n->attrs[0] == bits;
}

/* The other operand of an operation of two of which one is this constant; or NULL. */
static const nxg_node *beside(const search *s, const nxg_node *n, nxg_op op, uint64_t bits) {
  for (uint32_t i = 0; n->op == op && i < 2; i++)
    if (is_constant(s, n->args[i], bits)) return node_at(s, n->args[1 - i]);
  return NULL;
}

/* The operand of a total_order, or NULL. */
static const nxg_node *in_total_order(const search *s, const nxg_node *n) {
  for (uint32_t i = 0; n->op == NXG_xor && i < 2; i++) {
    const nxg_node *bits = node_at(s, n->args[i]), *mask = node_at(s, n->args[1 - i]);
    uint64_t width = nxi_dtypes[n->dtype].bits;
    const nxg_node *sign = beside(s, mask, NXG_and, (uint64_t)INT64_MAX >> (64 - width));
    if (!sign || sign->op != NXG_shr || node_at(s, sign->args[0]) != bits) continue;
    if (bits->op == NXG_bitcast && is_constant(s, sign->args[1], width - 1))
      return node_at(s, bits->args[0]);
  }
  return NULL;
}

/* Positive bits above those of infinity: a NaN behind all numbers. */
static bool is_last_nan(nx_dtype dtype, uint64_t bits) {
  switch (dtype) {
    case NX_F64: return bits > UINT64_C(0x7ff) << 52 && bits <= INT64_MAX;
    case NX_F32: return bits > 0x7f800000 && bits <= INT32_MAX;
    case NX_F16: return bits > 0x7c00 && bits <= INT16_MAX;
    case NX_BF16: return bits > 0x7f80 && bits <= INT16_MAX;
    case NX_F8E5M2: return bits > 0x7c && bits <= INT8_MAX;
    case NX_F8E4M3: return bits == 0x7f;
    default: return false;
  }
}

/* Whether n is where(condition, constant, ..), the condition comparing x by op; *rest: the other
 * one. */
static bool replaces(const search *s, const nxg_node *n, nxg_op op, const nxg_node *x,
                     const nxg_node **rest) {
  if (n->op != NXG_where) return false;
  const nxg_node *condition = node_at(s, n->args[0]), *made = node_at(s, n->args[1]);
  *rest = node_at(s, n->args[2]);
  if (condition->op != op || made->op != NXG_full || made->attrs[1] >= 0) return false;
  if (op == NXG_cmpne) /* by a NaN that comes last */
    return node_at(s, condition->args[0]) == x && node_at(s, condition->args[1]) == x &&
           is_last_nan((nx_dtype)made->dtype, (uint64_t)made->attrs[0]);
  return made->attrs[0] == 0 && beside(s, condition, NXG_cmpeq, 0) == x;
}

bool nxi_key_is_element(const nx_function *f, uint32_t key) {
  search s = {f->graph, f->n_in, MOST_VISITS};
  const nxg_node *n = node_at(&s, key), *inner = NULL, *x = NULL;
  if (n->op == NXG_input) return n->dtype != NX_BOOL;
  n = in_total_order(&s, n);
  if (!n || n->op != NXG_where) return false;
  x = node_at(&s, node_at(&s, n->args[0])->args[0]);
  return x->op == NXG_input && replaces(&s, n, NXG_cmpne, x, &inner) &&
         replaces(&s, inner, NXG_cmpeq, x, &inner) && inner == x;
}
