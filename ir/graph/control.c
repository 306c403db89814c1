/* SPDX-License-Identifier: ISC */
/* Types of control flow: whether bodies go with operands, and what the results are. */
#include "control.h"

#include <string.h>

uint32_t nxg_control_bodies(nxg_op op, uint32_t n_attrs, uint32_t *first) {
  uint32_t least = op == NXG_while ? NXG_WHILE_ATTRS : op == NXG_case ? 2 : NXG_FOR_ATTRS;
  *first = op == NXG_while ? NXG_WHILE_COND : op == NXG_case ? 1 : NXG_FOR_BODY;
  if (n_attrs < least || (op != NXG_case && n_attrs > least)) return 0;
  return n_attrs - *first;
}

/* ---- what follows from the attributes. Numbers of operands are not checked. */

static const nxg_graph *graph_of(const nxg_control *c, uint32_t body) {
  return nxg_body_find(c->bodies[body])->graph;
}

static void of_while(const int64_t *attrs, uint32_t n_args, nxg_control *c) {
  c->limit = attrs[NXG_WHILE_LIMIT];
  c->count = -1;
  c->n_carried = c->n_results = graph_of(c, 1)->n_outputs;
  c->n_passed = n_args - c->n_carried;
}

static void of_case(uint32_t n_args, nxg_control *c) {
  c->first = 1;
  c->n_passed = n_args - 1;
  c->n_results = graph_of(c, 0)->n_outputs;
}

static void of_for(const int64_t *attrs, uint32_t n_args, nxg_control *c) {
  c->counted = true;
  c->indexed = c->op == NXG_for;
  c->limit = attrs[NXG_FOR_LIMIT];
  c->count = attrs[NXG_FOR_COUNT];
  c->first = c->count < 0;
  c->n_carried = (uint32_t)attrs[NXG_FOR_CARRIED];
  c->n_stacked = (uint32_t)attrs[NXG_FOR_STACKED];
  c->reverse = attrs[NXG_FOR_REVERSE] != 0;
  c->n_passed = n_args - c->first - c->n_carried - c->n_stacked;
  c->n_results = graph_of(c, 0)->n_outputs;
}

static void fill(nxg_op op, uint32_t n_args, const int64_t *attrs, uint32_t n_attrs,
                 nxg_control *c) {
  uint32_t first;
  memset(c, 0, sizeof *c);
  c->op = op;
  c->result = (uint32_t)attrs[0];
  c->n_bodies = nxg_control_bodies(op, n_attrs, &first);
  c->bodies = attrs + first;
  if (op == NXG_while) of_while(attrs, n_args, c);
  else if (op == NXG_case) of_case(n_args, c);
  else of_for(attrs, n_args, c);
}

void nxg_control_of_node(const nxg_node *n, nxg_control *c) {
  fill((nxg_op)n->op, n->n_args, n->attrs, n->n_attrs, c);
}

bool nxg_same_control(const nxg_node *a, const nxg_node *b) {
  return a->op == b->op && a->n_args == b->n_args && a->n_attrs == b->n_attrs &&
         memcmp(a->args, b->args, a->n_args * sizeof *a->args) == 0 &&
         memcmp(a->attrs + 1, b->attrs + 1, (a->n_attrs - 1) * sizeof *a->attrs) == 0;
}

/* ---- checks */

typedef struct checking {
  nxg_control *c;
  const char *name;
  const nxg_type *args;
  uint32_t n_args;
  nxi_diag *d;
} checking;

#define REFUSE(k, ...) nxi_fail((k)->d, NX_INVALID_ARGUMENT, (k)->name, __VA_ARGS__)

static nx_status refuse_operand(const checking *k, uint32_t operand, nx_status status) {
  if (k->d && k->d->operand < 0) k->d->operand = (int32_t)operand;
  return status;
}

static bool same_type(const nxg_type *a, const nxg_type *b) {
  return a->dtype == b->dtype && nxg_same_shape(a->rank, a->shape, b->rank, b->shape);
}

static nxg_type type_of(const nxg_graph *g, uint32_t node) {
  const nxg_node *n = &g->nodes[node];
  return (nxg_type){n->dtype, n->rank, n->shape};
}

static const char *name_of(const nxg_graph *g) { return g->name[0] ? g->name : "body"; }

/* What the body that is named gets or gives, and what it should. */
static nx_status differs(const checking *k, uint32_t body, const char *what, uint32_t i,
                         const nxg_type *is, const char *other, uint32_t number,
                         const nxg_type *wanted) {
  char a[NXG_SHAPE_TEXT], b[NXG_SHAPE_TEXT];
  return REFUSE(k, "%s: %s %u of %.40s is %s%.80s, %s %u is %s%.80s", k->name, what, i,
                name_of(graph_of(k->c, body)), nxi_dtypes[is->dtype].name,
                nxg_format_shape(a, is->rank, is->shape), other, number,
                nxi_dtypes[wanted->dtype].name, nxg_format_shape(b, wanted->rank, wanted->shape));
}

/* The inputs of a body: the number of the step, operands, slices of operands. */
static nx_status check_inputs(const checking *k, uint32_t body) {
  const nxg_control *c = k->c;
  const nxg_graph *g = graph_of(c, body);
  static const nxg_type step = {NX_I64, 0, NULL};
  uint32_t whole = c->n_carried + c->n_passed, at = 0, n = c->indexed + whole + c->n_stacked;
  if (g->n_inputs != n)
    return REFUSE(k, "%s: %.40s has %u inputs where %u are wanted", k->name, name_of(g),
                  g->n_inputs, n);
  if (c->indexed) {
    nxg_type is = type_of(g, g->inputs[at++].node);
    if (!same_type(&is, &step))
      return REFUSE(k, "%s: input 0 of %.40s, the number of the step, is not i64[]", k->name,
                    name_of(g));
  }
  for (uint32_t i = 0; i < whole + c->n_stacked; i++, at++) {
    nxg_type is = type_of(g, g->inputs[at].node), wanted = k->args[c->first + i];
    if (i >= whole) wanted = (nxg_type){wanted.dtype, wanted.rank - 1, wanted.shape + 1};
    if (!same_type(&is, &wanted))
      return refuse_operand(k, c->first + i,
                            differs(k, body, "input", at, &is,
                                    i < whole ? "operand" : "a slice of operand", c->first + i,
                                    &wanted));
  }
  return NX_OK;
}

static nx_status check_carried(const checking *k, uint32_t body) {
  const nxg_graph *g = graph_of(k->c, body);
  for (uint32_t i = 0; i < k->c->n_carried; i++) {
    nxg_type is = type_of(g, g->outputs[i].node), wanted = k->args[k->c->first + i];
    if (!same_type(&is, &wanted))
      return differs(k, body, "output", i, &is, "operand", k->c->first + i, &wanted);
  }
  return NX_OK;
}

static nx_status check_limit(const checking *k) {
  if (k->c->limit >= 0) return NX_OK;
  return REFUSE(k, "%s: the limit of steps is %lld", k->name, (long long)k->c->limit);
}

static nx_status check_while(const checking *k) {
  const nxg_control *c = k->c;
  const nxg_graph *cond = graph_of(c, 0);
  if (c->n_carried > k->n_args)
    return REFUSE(k, "while: %.40s has %u outputs, and there are %u operands",
                  name_of(graph_of(c, 1)), c->n_carried, k->n_args);
  nxg_type holds = type_of(cond, cond->outputs[0].node);
  if (cond->n_outputs != 1 || holds.dtype != NX_BOOL || holds.rank != 0)
    return REFUSE(k, "while: the condition %.40s does not give one bool[]", name_of(cond));
  nx_status status = check_limit(k);
  for (uint32_t body = 0; body < 2 && !status; body++) status = check_inputs(k, body);
  return status ? status : check_carried(k, 1);
}

static nx_status check_number(const checking *k, const char *what, bool truth) {
  const nxg_type *t = &k->args[0];
  char text[NXG_SHAPE_TEXT];
  bool integer = t->dtype == NX_I32 || t->dtype == NX_I64 || (truth && t->dtype == NX_BOOL);
  if (!integer)
    return refuse_operand(k, 0,
                          nxi_fail(k->d, NX_UNSUPPORTED_DTYPE, k->name,
                                   "%s: operand 0, %s, has dtype %s, not %si32 "
                                   "or i64",
                                   k->name, what, nxi_dtypes[t->dtype].name,
                                   truth ? "bool, " : ""));
  if (t->rank == 0) return NX_OK;
  return refuse_operand(k, 0,
                        REFUSE(k, "%s: operand 0, %s, has the shape %s, not []", k->name, what,
                               nxg_format_shape(text, t->rank, t->shape)));
}

static nx_status check_case(const checking *k) {
  const nxg_control *c = k->c;
  const nxg_graph *first = graph_of(c, 0);
  nx_status status = check_number(k, "the index", true);
  if (!status && c->n_bodies > NXG_CONTROL_BRANCHES)
    status = REFUSE(k, "case: it has %u branches, more than %d", c->n_bodies, NXG_CONTROL_BRANCHES);
  for (uint32_t b = 0; b < c->n_bodies && !status; b++) {
    const nxg_graph *g = graph_of(c, b);
    status = check_inputs(k, b);
    if (!status && g->n_outputs != c->n_results)
      status = REFUSE(k, "case: %.40s has %u outputs, %.40s has %u", name_of(g), g->n_outputs,
                      name_of(first), c->n_results);
    for (uint32_t i = 0; i < c->n_results && !status; i++) {
      nxg_type is = type_of(g, g->outputs[i].node), wanted = type_of(first, first->outputs[i].node);
      if (!same_type(&is, &wanted))
        status = differs(k, b, "output", i, &is, "that of branch", 0, &wanted);
    }
  }
  return status;
}

static nx_status check_stacked(const checking *k) {
  const nxg_control *c = k->c;
  for (uint32_t i = k->n_args - c->n_stacked; i < k->n_args; i++) {
    const nxg_type *t = &k->args[i];
    if (t->rank > 0 && t->shape[0] == c->count) continue;
    char text[NXG_SHAPE_TEXT];
    return refuse_operand(k, i,
                          REFUSE(k, "%s: operand %u of shape %s is no stack of %lld slices",
                                 k->name, i, nxg_format_shape(text, t->rank, t->shape),
                                 (long long)c->count));
  }
  return NX_OK;
}

static nx_status check_for(const checking *k, const int64_t *attrs) {
  const nxg_control *c = k->c;
  int64_t carried = attrs[NXG_FOR_CARRIED], stacked = attrs[NXG_FOR_STACKED];
  if (c->count < -1) return REFUSE(k, "%s: the count is %lld", k->name, (long long)c->count);
  if (carried < 0 || stacked < 0 || carried > k->n_args || stacked > k->n_args ||
      c->first + carried + stacked > k->n_args)
    return REFUSE(k, "%s: %lld carried and %lld stacked values of %u operands", k->name,
                  (long long)carried, (long long)stacked, k->n_args);
  if (carried > c->n_results)
    return REFUSE(k, "%s: %.40s has %u outputs, and %lld values are carried", k->name,
                  name_of(graph_of(c, 0)), c->n_results, (long long)carried);
  if (c->first && (stacked > 0 || c->n_results > carried))
    return REFUSE(k, "%s: values are stacked, and the number of steps is not known", k->name);
  nx_status status = c->first ? check_number(k, "the number of steps", false) : NX_OK;
  if (!status) status = check_limit(k);
  if (!status) status = check_stacked(k);
  if (!status) status = check_inputs(k, 0);
  return status ? status : check_carried(k, 0);
}

static nx_status check_ranks(const checking *k) {
  const nxg_control *c = k->c;
  const nxg_graph *g = graph_of(c, c->n_bodies - 1);
  for (uint32_t i = c->n_carried; c->counted && i < c->n_results; i++)
    if (g->nodes[g->outputs[i].node].rank == NXG_MAX_RANK)
      return REFUSE(k, "%s: a stack of result %u would have more than %d axes", k->name, i,
                    NXG_MAX_RANK);
  return NX_OK;
}

nx_status nxg_control_infer(nxg_op op, uint32_t n_args, const nxg_type *args, const int64_t *attrs,
                            uint32_t n_attrs, nxg_control *c, nxi_diag *d) {
  checking k = {c, nxg_ops[op].name, args, n_args, d};
  uint32_t first, n = nxg_control_bodies(op, n_attrs, &first);
  if (n == 0) return REFUSE(&k, "%s: it has %u attributes", k.name, n_attrs);
  for (uint32_t i = 0; i < n; i++)
    if (!nxg_body_find(attrs[first + i])) return REFUSE(&k, "%s: it names no body", k.name);
  fill(op, n_args, attrs, n_attrs, c);
  nx_status status = op == NXG_while  ? check_while(&k)
                     : op == NXG_case ? check_case(&k)
                                      : check_for(&k, attrs);
  if (!status && (attrs[0] < 0 || attrs[0] >= c->n_results))
    status = REFUSE(&k, "%s: there is no result %lld", k.name, (long long)attrs[0]);
  return status ? status : check_ranks(&k);
}

void nxg_control_result(const nxg_control *c, uint32_t k, nx_dtype *dtype, int32_t *rank,
                        int64_t *shape) {
  const nxg_graph *g = graph_of(c, c->n_bodies - 1);
  nxg_type t = type_of(g, g->outputs[k].node);
  bool stacked = c->counted && k >= c->n_carried;
  *dtype = t.dtype;
  *rank = t.rank + stacked;
  if (stacked) shape[0] = c->count;
  for (int32_t i = 0; i < t.rank; i++) shape[i + stacked] = t.shape[i];
}
