/* SPDX-License-Identifier: ISC */
/* Merges neighbouring dimensions of a region that everything moves through as through one: all
 * positions in memory, and all integers that are computed of the numbers of iterations. Then one
 * loop goes through elements that lie in one line, however many axes they have. */
#include "lower.h"

typedef struct merging {
  nxw_lower *l;
  uint8_t *needed; /* expression -> whether it is used */
  uint32_t outer;  /* the dimension that the next one takes in */
} merging;

static bool steps_as_one(const nxw_lower *l, const nxw_affine *at, uint32_t j) {
  return at->coefficient[j] == at->coefficient[j + 1] * l->dims.extent[j + 1];
}

/* ---- sums of both numbers: nxw_affine_value adds the multiple of a dimension to what is before */

/* Whether an expression is a multiple of a dimension. */
static bool is_multiple(const nxw_lower *l, uint32_t e, uint32_t dim, int64_t *by) {
  const nxw_expr *x = &l->exprs[e];
  *by = 1;
  if (x->kind == NXW_DIM) return x->imm == dim;
  if (x->kind != NXW_SCALAR || x->op != NXK_mul || x->dtype != NX_I64) return false;
  const nxw_expr *of = &l->exprs[x->args[0]], *c = &l->exprs[x->args[1]];
  *by = (int64_t)c->imm;
  return c->kind == NXW_CONST && of->kind == NXW_DIM && of->imm == dim;
}

static bool is_sum(const nxw_expr *e) {
  return e->kind == NXW_SCALAR && e->op == NXK_add && e->dtype == NX_I64;
}

/* Whether an expression is [before +] a * outer + b * inner where a step of the outer dimension is
 * as far as all of the inner one. *before: NXW_NONE if there is nothing. */
static bool is_pair(const merging *m, uint32_t e, uint32_t *before) {
  const nxw_lower *l = m->l;
  const nxw_expr *x = &l->exprs[e];
  int64_t a, b;
  *before = NXW_NONE;
  if (!is_sum(x) || !is_multiple(l, x->args[1], m->outer + 1, &b)) return false;
  uint32_t first = x->args[0];
  if (!is_multiple(l, first, m->outer, &a)) {
    if (!is_sum(&l->exprs[first]) || !is_multiple(l, l->exprs[first].args[1], m->outer, &a))
      return false;
    *before = l->exprs[first].args[0];
  }
  return a == b * l->dims.extent[m->outer + 1];
}

/* Whether `user` may read e: what is of one of the dimensions alone is read by such sums only. */
static bool may_read(const merging *m, uint32_t user, uint32_t e) {
  const nxw_lower *l = m->l;
  const nxw_expr *x = &l->exprs[e];
  uint32_t before;
  int64_t by;
  const bool part = is_multiple(l, e, m->outer, &by) || is_multiple(l, e, m->outer + 1, &by) ||
                    (is_sum(x) && is_multiple(l, x->args[1], m->outer, &by));
  if (!part) return true;
  if (user == NXW_NONE) return false;
  if (is_pair(m, user, &before)) return true;
  if (is_multiple(l, user, m->outer, &by) || is_multiple(l, user, m->outer + 1, &by)) return true;
  const nxw_expr *sum =
      &l->exprs[user]; /* the first half of such a sum; who reads it is asked too */
  return is_sum(sum) && sum->args[1] == e && sum->args[0] != e && is_multiple(l, e, m->outer, &by);
}

static bool may_use(const merging *m, uint32_t user) {
  const nxw_expr *e = &m->l->exprs[user];
  bool may = true;
  for (int i = 0; i < e->n_args && may; i++) may = may_read(m, user, e->args[i]);
  if (e->kind != NXW_LOAD) return may;
  return (e->mask == NXW_NONE || may_read(m, NXW_NONE, e->mask)) &&
         (e->at->extra == NXW_NONE || may_read(m, NXW_NONE, e->at->extra));
}

/* ---- what is mergeable */

static bool is_counted(const merging *m) {
  const nxw_lower *l = m->l;
  for (uint32_t i = 0; i < l->n_exprs; i++) {
    const nxw_expr *e = &l->exprs[i];
    if (m->needed[i] && e->kind == NXW_DIM && (e->imm == m->outer || e->imm == m->outer + 1))
      return true;
  }
  return false;
}

/* Whether all integers of both dimensions are of their common number. */
static bool counts_as_one(const merging *m) {
  const nxw_lower *l = m->l;
  if (l->dims.extent[m->outer] == 1 || l->dims.extent[m->outer + 1] == 1) return false;
  for (uint32_t i = 0; i < l->n_exprs; i++)
    if (m->needed[i] && !may_use(m, i)) return false;
  for (uint32_t i = 0; i < l->n_stores; i++) {
    const nxw_store *s = &l->stores[i];
    if (!may_read(m, NXW_NONE, s->value) ||
        (s->at->extra != NXW_NONE && !may_read(m, NXW_NONE, s->at->extra)))
      return false;
  }
  return true;
}

static bool is_mergeable(const merging *m) {
  const nxw_lower *l = m->l;
  const uint32_t j = m->outer;
  if ((j < l->dims.n_outer) != (j + 1 < l->dims.n_outer)) return false;
  for (uint32_t i = 0; i < l->n_exprs; i++)
    if (m->needed[i] && l->exprs[i].kind == NXW_LOAD && !steps_as_one(l, l->exprs[i].at, j))
      return false;
  for (uint32_t i = 0; i < l->n_stores; i++)
    if (!steps_as_one(l, l->stores[i].at, j)) return false;
  return !is_counted(m) || counts_as_one(m);
}

/* ---- merging */

/* Takes the outer dimension out of a sum of both. */
static void shorten(merging *m, uint32_t e) {
  nxw_expr *x = &m->l->exprs[e];
  uint32_t before;
  if (!is_pair(m, e, &before)) return;
  if (before != NXW_NONE) {
    m->needed[x->args[0]] = 0;
    x->args[0] = before;
  } else { /* it is the multiple of the inner one */
    const nxw_expr *inner = &m->l->exprs[x->args[1]];
    x->kind = inner->kind;
    x->op = inner->op;
    x->n_args = inner->n_args;
    x->imm = inner->imm;
    for (int i = 0; i < 4; i++) x->args[i] = inner->args[i];
  }
}

static void merge_with_next(merging *m) {
  nxw_lower *l = m->l;
  const uint32_t j = m->outer;
  int64_t by;
  for (uint32_t i = l->n_exprs; i-- > 0;) /* users before what they read */
    if (m->needed[i]) shorten(m, i);
  for (uint32_t i = 0; i < l->n_exprs; i++)
    if (is_multiple(l, i, j, &by)) m->needed[i] = 0;
  l->dims.extent[j + 1] *= l->dims.extent[j];
  l->dims.extent[j] = 1; /* has no loop */
  for (uint32_t i = 0; i < l->n_exprs; i++)
    if (l->exprs[i].kind == NXW_LOAD) l->exprs[i].at->coefficient[j] = 0;
  for (uint32_t i = 0; i < l->n_stores; i++) l->stores[i].at->coefficient[j] = 0;
}

void nxw_merge_dimensions(nxw_lower *l, uint8_t *needed) {
  merging m = {.l = l, .needed = needed};
  for (; m.outer + 1 < l->dims.n; m.outer++)
    if (is_mergeable(&m)) merge_with_next(&m);
}
