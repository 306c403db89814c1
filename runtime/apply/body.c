/* SPDX-License-Identifier: ISC */
/* A function of scalars, checked, and recorded over arrays. A node that depends on the inputs is
 * elementwise, so it is recorded as it is with the arrays' shape; the others are recorded once as
 * they are, and seen with that shape. */
#include "body.h"

#include "ir/alloc.h"
#include "runtime/record/objects.h"

/* ---- checks */

/* The same scalar: a copy, or a view of one element of one. */
static bool is_same_scalar(const nxg_graph *g, const nxg_node *n) {
  return n->op == NXG_copy || (n->op == NXG_view && g->nodes[n->args[0]].rank == 0);
}

static bool depends(const nxg_node *n, const bool *varies, uint32_t n_in) {
  if (n->op == NXG_input) return n->attrs[0] < n_in;
  for (uint32_t i = 0; i < n->n_args; i++)
    if (varies[n->args[i]]) return true;
  return false;
}

static bool *find_varying(const nx_function *f) {
  const nxg_graph *g = f->graph;
  bool *varies = nxi_calloc(g->n_nodes, sizeof *varies);
  for (uint32_t i = 0; varies && i < g->n_nodes; i++)
    varies[i] = depends(&g->nodes[i], varies, f->n_in);
  return varies;
}

static bool check_nodes(const char *op, const char *what, const nx_function *f, const bool *varies,
                        nxi_diag *d) {
  const nxg_graph *g = f->graph;
  char shape[NXG_SHAPE_TEXT];
  for (uint32_t i = 0; i < g->n_nodes && !d->status; i++) {
    const nxg_node *n = &g->nodes[i];
    const char *name = nxi_op_name(n->called ? n->called : n->op);
    if (!varies[i] || (n->op == NXG_input && n->rank == 0)) continue;
    if (n->op == NXG_input)
      nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: input %lld of the %s has the shape %s, not rank 0",
               op, (long long)n->attrs[0], what, nxg_format_shape(shape, n->rank, n->shape));
    else if (n->rank)
      nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: in the %s %s gives the shape %s, not rank 0", op,
               what, name, nxg_format_shape(shape, n->rank, n->shape));
    else if (nxg_ops[n->op].kind != NXG_KIND_MAP && !is_same_scalar(g, n))
      nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: the %s does %s, which is no operation on scalars",
               op, what, name);
  }
  return !d->status;
}

bool nxi_body_check(const char *op, const char *what, nx_function *f, nxi_diag *d) {
  const nxg_graph *g = f->graph;
  if (f->n_effects)
    return !nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: the %s assigns to a tensor", op, what);
  for (uint32_t i = 0; i < f->n_out; i++)
    if (g->nodes[g->outputs[i].node].rank)
      return !nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: result %u of the %s is not rank 0", op, i,
                       what);
  bool *varies = find_varying(f);
  if (!varies) nxi_oom_in(d, nxi_oom(d), op);
  bool good = varies && check_nodes(op, what, f, varies, d);
  nxi_free(varies);
  return good;
}

/* ---- begin and end */

bool nxi_body_begin(nxi_body *b, uint32_t called, nx_function *f, int32_t device) {
  uint32_t n = f->graph->n_nodes;
  *b = (nxi_body){.f = f,
                  .k = f->n_out,
                  .device = device,
                  .outer = nxi_called_begin(called),
                  .varies = find_varying(f),
                  .values = nxi_calloc(n, sizeof(nx_tensor *))};
  bool memory = b->varies && b->values;
  if (memory) b->scope = nx_scope_begin(f->context);
  if (b->scope && !nxi_function_fixed(f, b->varies, b->values)) return true;
  if (!memory) nxi_no_memory(nxi_op_name(called));
  nxi_body_end(b, false, NULL, NULL, 0);
  return false;
}

bool nxi_body_begin_plain(nxi_body *b, uint32_t called, nx_tensor *x, nxi_combiner *plain) {
  *b = (nxi_body){
      .plain = plain, .k = 1, .device = x->storage->device, .outer = nxi_called_begin(called)};
  b->scope = nx_scope_begin(x->context);
  if (b->scope) return true;
  nxi_body_end(b, false, NULL, NULL, 0);
  return false;
}

/* A handle of the caller's scope, if there is one. */
static bool hand_over(nx_tensor *t) {
  if (nxi_scope_add(t)) return true;
  nxi_no_memory("scope");
  return false;
}

nx_status nxi_body_end(nxi_body *b, bool good, nx_tensor *const *result, nx_tensor **out,
                       size_t n) {
  size_t made = 0;
  for (; good && made < n; made++) good = (out[made] = nx_keep(nx_copy(result[made]))) != NULL;
  nx_scope_end(b->scope);
  for (size_t i = 0; good && i < n; i++) good = hand_over(out[i]);
  for (size_t i = 0; !good && i < n; i++) {
    if (i < made) nx_tensor_release(out[i]);
    out[i] = NULL;
  }
  nxi_called_end(b->outer);
  nxi_free(b->varies);
  nxi_free(b->values);
  return good ? NX_OK : nxi_error_status();
}

/* ---- over arrays */

static const int64_t no_strides[NXG_MAX_RANK];

/* A scalar seen with the shape of `like`. */
static nxi_operand operand_like(const nxi_body *b, uint32_t node, nx_tensor *like) {
  nxi_operand o = nxi_operand_of(b->values[node]);
  if (b->varies[node]) return o;
  return (nxi_operand){o.tensor, like->rank, o.offset, nxi_shape(like), no_strides};
}

static nx_tensor *record_map(nxi_body *b, const nxg_node *n, nx_tensor *like) {
  nxi_operand o[4];
  nxi_recording r = {.context = b->f->context,
                     .op = n->op,
                     .dtype = n->dtype,
                     .device = b->device,
                     .rank = like->rank, /* NOLINT: an operand, not null */
                     .shape = nxi_shape(like),
                     .attrs = n->attrs,
                     .n_attrs = n->n_attrs,
                     .n_operands = n->n_args,
                     .operands = o};
  for (uint32_t i = 0; i < n->n_args; i++) o[i] = operand_like(b, n->args[i], like);
  return nxi_record(&r);
}

bool nxi_body_apply(nxi_body *b, nx_tensor *const *in, nx_tensor **out) {
  const nxg_graph *g = b->f->graph;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    if (!b->varies[i]) continue;
    b->values[i] = n->op == NXG_input                    ? in[n->attrs[0]]
                   : nxg_ops[n->op].kind == NXG_KIND_MAP ? record_map(b, n, in[0])
                                                         : b->values[n->args[0]];
    if (!b->values[i]) return false;
  }
  for (uint32_t i = 0; i < b->f->n_out; i++) {
    uint32_t node = g->outputs[i].node;
    out[i] = b->varies[node] ? b->values[node]
                             : nx_expand(b->values[node], nxi_shape(in[0]), in[0]->rank);
    if (!out[i]) return false;
  }
  return true;
}

static bool combine(nxi_body *b, uint32_t k, const nxi_row *left, const nxi_row *right,
                    nxi_row *out) {
  nx_tensor *in[2 * NXI_MOST_OPERANDS] = {NULL};
  if (b->plain) return (out->at[0] = b->plain(left->at[0], right->at[0])) != NULL;
  for (uint32_t i = 0; i < k; i++) {
    in[i] = left->at[i];
    in[k + i] = right->at[i];
  }
  return nxi_body_apply(b, in, out->at);
}

/* Where the right one is not there the left one, and the other way round. */
static bool combine_masked(nxi_body *b, const nxi_row *left, const nxi_row *right, nxi_row *out) {
  uint32_t k = b->k - 1;
  nxi_row both = {0};
  nx_tensor *l = left->at[k], *r = right->at[k], *any = nx_or(l, r);
  if (!any || !combine(b, k, left, right, &both)) return false;
  for (uint32_t i = 0; i < k; i++) {
    nx_tensor *some = nx_where(l, both.at[i], right->at[i]);
    both.at[i] = some ? nx_where(r, some, left->at[i]) : NULL;
    if (!both.at[i]) return false;
  }
  both.at[k] = any;
  *out = both;
  return true;
}

bool nxi_body_combine(nxi_body *b, const nxi_row *left, const nxi_row *right, nxi_row *out) {
  return b->masked ? combine_masked(b, left, right, out) : combine(b, b->k, left, right, out);
}

void nxi_body_mask(nxi_body *b, nx_tensor *mask, nxi_row *x) {
  if (!mask) return;
  b->masked = true;
  x->at[b->k++] = mask;
}

nx_tensor *nxi_body_unmask(nxi_body *b, const nxi_row *x) {
  if (!b->masked) return NULL;
  b->masked = false;
  return x->at[--b->k];
}

/* ---- what is recognised */

uint32_t nxi_body_through(const nxg_graph *g, uint32_t i) {
  while (g->nodes[i].op != NXG_input && is_same_scalar(g, &g->nodes[i])) i = g->nodes[i].args[0];
  return i;
}

nxg_op nxi_body_plain(const nx_function *f, uint32_t j) {
  const nxg_graph *g = f->graph;
  const nxg_node *n = &g->nodes[nxi_body_through(g, g->outputs[j].node)];
  if (nxg_ops[n->op].kind != NXG_KIND_MAP || n->n_args != 2) return NXG_OP_COUNT;
  const nxg_node *a = &g->nodes[nxi_body_through(g, n->args[0])],
                 *b = &g->nodes[nxi_body_through(g, n->args[1])];
  if (a->op != NXG_input || b->op != NXG_input) return NXG_OP_COUNT;
  int64_t left = a->attrs[0], right = b->attrs[0], other = (int64_t)f->n_out + j;
  bool both = (left == j && right == other) || (left == other && right == j);
  return both ? (nxg_op)n->op : NXG_OP_COUNT;
}

bool nxi_constant_of(nx_tensor *t, uint64_t bits[2]) {
  nx_context *c = t->context;
  nxi_operand o = nxi_operand_of(t);
  nxi_record_lock(c);
  nxi_node *n = nxi_operand_node(c, &o);
  const int64_t *attrs = n ? nxi_node_attrs(n) : NULL;
  bool is = n && n->op == NXG_full && n->rank == 0 && attrs[1] < 0;
  if (is) {
    bits[0] = (uint64_t)attrs[0];
    bits[1] = nxi_is_complex(n->dtype) ? (uint64_t)attrs[2] : 0;
  }
  if (n) nxi_node_unref(c, n);
  nxi_record_unlock(c);
  return is;
}

/* ---- operands beside their function */

static bool check_counts(const nxi_by *by, const char *what, nxi_diag *d) {
  size_t results = by->comparator ? 1 : by->k;
  if (by->f->n_in == 2 * by->k && by->f->n_out == results) return true;
  return !nxi_fail(d, NX_INVALID_ARGUMENT, by->op,
                   "%s: a %s of %zu operands has %zu inputs and %zu results, not %u and %u", by->op,
                   what, by->k, 2 * by->k, results, by->f->n_in, by->f->n_out);
}

/* Input i of the function belongs to this operand. */
static size_t operand_of(const nxi_by *by, size_t i) { return by->comparator ? i / 2 : i % by->k; }

static bool check_scalars(const nxi_by *by, nxi_diag *d) {
  const nxg_graph *g = by->f->graph;
  const char *what = by->comparator ? "comparator" : "combiner";
  if (!check_counts(by, what, d) || !nxi_body_check(by->op, what, by->f, d)) return false;
  for (size_t i = 0; i < 2 * by->k; i++) {
    size_t operand = operand_of(by, i);
    nx_dtype is = (nx_dtype)g->nodes[g->inputs[i].node].dtype,
             wanted = by->x[operand]->storage->dtype;
    if (is == wanted) continue;
    d->operand = (int32_t)operand;
    return !nxi_fail(d, NX_INVALID_ARGUMENT, by->op,
                     "%s: operand %zu has dtype %s, input %zu of the %s %s", by->op, operand,
                     nx_dtype_name(wanted), i, what, nx_dtype_name(is));
  }
  for (size_t i = 0; i < by->f->n_out; i++) {
    nx_dtype is = (nx_dtype)g->nodes[g->outputs[i].node].dtype,
             wanted = by->comparator ? NX_BOOL : by->x[i]->storage->dtype;
    if (is == wanted) continue;
    return !nxi_fail(d, NX_INVALID_ARGUMENT, by->op, "%s: result %zu of the %s is %s, not %s",
                     by->op, i, what, nx_dtype_name(is), nx_dtype_name(wanted));
  }
  return true;
}

static bool check_shapes(const nxi_by *by, nxi_diag *d) {
  char first[NXG_SHAPE_TEXT], other[NXG_SHAPE_TEXT];
  const nx_tensor *x = by->x[0];
  for (size_t i = 1; i < by->k; i++) {
    const nx_tensor *y = by->x[i];
    if (nxg_same_shape(x->rank, nxi_shape(x), y->rank, nxi_shape(y))) continue;
    d->operand = (int32_t)i;
    return !nxi_fail(d, NX_INVALID_ARGUMENT, by->op,
                     "%s: operand %zu has the shape %s, operand 0 %s", by->op, i,
                     nxg_format_shape(other, y->rank, nxi_shape(y)),
                     nxg_format_shape(first, x->rank, nxi_shape(x)));
  }
  for (size_t i = 0; by->init && i < by->k; i++) {
    const nx_tensor *y = by->init[i];
    if (y->rank == 0 && y->storage->dtype == by->x[i]->storage->dtype) continue;
    d->operand = (int32_t)(by->k + i);
    return !nxi_fail(
        d, NX_INVALID_ARGUMENT, by->op, "%s: initial value %zu is %s of shape %s, not %s of rank 0",
        by->op, i, nx_dtype_name(y->storage->dtype), nxg_format_shape(other, y->rank, nxi_shape(y)),
        nx_dtype_name(by->x[i]->storage->dtype));
  }
  return true;
}

static bool check_devices(nxi_by *by, nxi_diag *d) {
  nx_tensor *all[2 * NXI_MOST_OPERANDS];
  uint32_t n = 0;
  for (size_t i = 0; i < by->k; i++) all[n++] = by->x[i]; /* NOLINT: not null */
  for (size_t i = 0; by->init && i < by->k; i++) all[n++] = by->init[i];
  if (!nxi_check_operands(by->op, all, n)) return false;
  if (by->f->context != by->x[0]->context) {
    nxi_fail(d, NX_INVALID_ARGUMENT, by->op, "%s: the function is of another context", by->op);
    return nxi_fail_null(d), false;
  }
  int32_t device = by->device = nxi_common_device(by->op, all, n, d);
  if (device >= 0 && by->f->n_sources && by->f->device != device)
    nxi_fail(d, NX_INVALID_ARGUMENT, by->op,
             "%s: the function reads tensors on device %d, the operands are on device %d", by->op,
             by->f->device, device);
  if (!d->status) return true;
  return nxi_fail_null(d), false;
}

bool nxi_by_check(nxi_by *by) {
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_have_function(by->op, 0, by->f)) return false;
  if (by->k < 1 || by->k > NXI_MOST_OPERANDS)
    nxi_fail(&d, NX_INVALID_ARGUMENT, by->op, "%s: %zu operands; there may be 1 to %d", by->op,
             by->k, NXI_MOST_OPERANDS);
  else if (!by->x || !by->out)
    nxi_fail(&d, NX_INVALID_ARGUMENT, by->op, "%s: a list is null", by->op);
  else if (by->n_out != by->k)
    nxi_fail(&d, NX_INVALID_ARGUMENT, by->op, "%s: %zu operands have no %zu results", by->op, by->k,
             by->n_out);
  if (d.status) return nxi_fail_null(&d), false;
  if (!check_devices(by, &d)) return false;
  if (check_scalars(by, &d) && check_shapes(by, &d)) return true;
  return nxi_fail_null(&d), false;
}
