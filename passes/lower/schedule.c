/* SPDX-License-Identifier: ISC */
/* Writes the expressions of a region as a logical kernel: outer loops, and in them one nest of
 * inner loops for each stage. Every expression is placed in the outermost loop in which all its
 * dimensions are known. A value that a later stage needs again is computed again or, if that is
 * expensive, kept in a LOCAL array. */
#include "lower.h"

#include <string.h>

/* An expression that costs more than this and is needed by two stages is kept in a LOCAL array:
 * storing and loading an element that stays in the cache costs about as much as ten vector
 * operations. */
enum { KEEP_COST = 10, MAX_NESTS = 30 };

typedef struct writer {
  nxw_lower *l;
  nxk_kernel *k;
  uint8_t *needed; /* expression -> whether it is used */
  uint32_t *nests; /* inner expression -> set of stages whose nest computes it */
  uint32_t *loads; /* inner expression -> set of stages whose nest loads it from its LOCAL array */
  nxk_value loop[NXW_MAX_DIMS];
  uint32_t n_stages; /* of reductions; nest number n_stages is the last map */
  uint32_t nest;     /* the nest that is being written */
  uint32_t *stack;
  uint32_t n_stack, cap_stack;
} writer;

static bool push(writer *w, uint32_t e) {
  if (!nxi_grow(&w->stack, &w->cap_stack, w->n_stack + 1, sizeof *w->stack))
    return !(w->l->failed = true);
  w->stack[w->n_stack++] = e;
  return true;
}

static bool push_operands(writer *w, const nxw_expr *e) {
  bool ok = true;
  for (int i = 0; i < e->n_args; i++) ok = ok && push(w, e->args[i]);
  if (e->kind == NXW_LOAD && e->mask != NXW_NONE) ok = ok && push(w, e->mask);
  if (e->kind == NXW_LOAD && e->at->extra != NXW_NONE) ok = ok && push(w, e->at->extra);
  return ok;
}

static bool push_store(writer *w, const nxw_store *s) {
  return push(w, s->value) && (s->at->extra == NXW_NONE || push(w, s->at->extra));
}

/* ---- what is needed, and where */

static bool mark_needed(writer *w) {
  nxw_lower *l = w->l;
  for (uint32_t i = 0; i < l->n_stores; i++)
    if (!push_store(w, &l->stores[i])) return false;
  while (w->n_stack > 0) {
    uint32_t e = w->stack[--w->n_stack];
    if (w->needed[e]) continue;
    w->needed[e] = 1;
    if (l->exprs[e].kind == NXW_REDUCE && (uint32_t)l->exprs[e].stage > w->n_stages)
      w->n_stages = (uint32_t)l->exprs[e].stage;
    if (!push_operands(w, &l->exprs[e])) return false;
  }
  return w->n_stages <= MAX_NESTS;
}

static uint32_t nest_of_store(const writer *w, const nxw_store *s) {
  (void)w;
  int16_t stage = w->l->exprs[s->value].stage;
  if (s->at->extra != NXW_NONE && w->l->exprs[s->at->extra].stage > stage)
    stage = w->l->exprs[s->at->extra].stage;
  return (uint32_t)stage;
}

static int64_t inner_points(const nxw_lower *l) {
  int64_t n = 1;
  for (uint32_t i = l->dims.n_outer; i < l->dims.n; i++) n *= l->dims.extent[i];
  return n;
}

static bool worth_keeping(const writer *w, const nxw_expr *e) {
  int64_t bytes = inner_points(w->l) * nxi_dtype_size(e->dtype);
  return e->cost > KEEP_COST && e->kind != NXW_LOAD && bytes <= w->l->options->target->l2_bytes / 4;
}

static bool mark_nest(writer *w, uint32_t nest) {
  nxw_lower *l = w->l;
  for (uint32_t i = 0; i < l->n_exprs; i++)
    if (w->needed[i] && l->exprs[i].kind == NXW_REDUCE && (uint32_t)l->exprs[i].stage == nest + 1 &&
        !push_operands(w, &l->exprs[i]))
      return false;
  for (uint32_t i = 0; i < l->n_stores; i++)
    if (l->stores[i].inner && nest_of_store(w, &l->stores[i]) == nest &&
        !push_store(w, &l->stores[i]))
      return false;
  while (w->n_stack > 0) {
    uint32_t i = w->stack[--w->n_stack];
    nxw_expr *e = &l->exprs[i];
    uint32_t here = (uint32_t)1 << nest;
    if (!e->inner || ((w->nests[i] | w->loads[i]) & here)) continue;
    if (w->nests[i] != 0 && worth_keeping(w, e)) {
      w->loads[i] |= here;
      continue;
    }
    w->nests[i] |= here;
    if (!push_operands(w, e)) return false;
  }
  return true;
}

/* ---- axes without loops: a launch is for one index of each; the dimensions become strides between
 * launches, or parameters */

static bool row_stride(const nxw_lower *l, const nxw_affine *at, uint32_t axis, int64_t *stride) {
  bool first = true;
  int64_t expected = 0;
  *stride = 0;
  for (uint32_t i = l->dims.n; i-- > 0;) {
    if (l->dims.axis[i] != axis || l->dims.extent[i] == 1) continue;
    if (first) *stride = expected = at->coefficient[i];
    else if (at->coefficient[i] != expected) return false;
    expected *= l->dims.extent[i];
    first = false;
  }
  return true;
}

/* Records how far an access of a buffer moves along each outside dimension; false if two accesses
 * of the buffer differ in that. */
static bool note_strides(nxw_lower *l, const nxw_affine *at, uint32_t buffer, uint8_t *noted) {
  uint32_t axes = (uint32_t)l->outside;
  for (uint32_t axis = 0; axis < axes; axis++) {
    int64_t stride, *slot = &l->binding->row_strides[buffer * axes + axis];
    if (!row_stride(l, at, axis, &stride) || (noted[buffer] && *slot != stride)) return false;
    *slot = stride;
  }
  noted[buffer] = 1;
  return true;
}

static bool is_outside(const nxw_lower *l, uint32_t dim) { return l->dims.axis[dim] < l->outside; }

static void stay_inside(const nxw_lower *l, nxw_affine *at) {
  for (uint32_t i = 0; i < l->dims.n; i++)
    if (is_outside(l, i)) at->coefficient[i] = 0;
}

/* Whether the index along dimension `dim` can be a parameter: there is one for each whole axis. */
static bool has_param(const nxw_lower *l, uint32_t dim) {
  for (uint32_t i = 0; i < l->dims.n; i++)
    if (i != dim && l->dims.axis[i] == l->dims.axis[dim]) return false;
  return true;
}

static bool note_all_strides(writer *w, uint8_t *noted) {
  nxw_lower *l = w->l;
  for (uint32_t i = 0; i < l->n_exprs; i++) {
    const nxw_expr *e = &l->exprs[i];
    if (!w->needed[i]) continue;
    if (e->kind == NXW_DIM && is_outside(l, (uint32_t)e->imm) && !has_param(l, (uint32_t)e->imm))
      return false;
    if (e->kind == NXW_LOAD && !note_strides(l, e->at, e->buffer, noted)) return false;
  }
  for (uint32_t i = 0; i < l->n_stores; i++)
    if (!note_strides(l, l->stores[i].at, l->stores[i].buffer, noted)) return false;
  return true;
}

static bool leave_outside(writer *w) {
  nxw_lower *l = w->l;
  size_t n = l->binding->n_buffers;
  uint8_t *noted = nxi_calloc(n + 1, 1);
  l->binding->row_strides = nxi_calloc(n * (size_t)l->outside + 1, sizeof(int64_t));
  bool memory = noted != NULL && l->binding->row_strides != NULL;
  bool ok = memory && note_all_strides(w, noted);
  nxi_free(noted);
  if (!ok) {
    l->no_rows = memory;
    return false;
  }
  for (uint32_t i = 0; i < l->n_exprs; i++)
    if (l->exprs[i].kind == NXW_LOAD) stay_inside(l, l->exprs[i].at);
  for (uint32_t i = 0; i < l->n_stores; i++) stay_inside(l, l->stores[i].at);
  for (uint32_t i = 0; i < l->dims.n; i++)
    if (is_outside(l, i)) l->dims.extent[i] = 1; /* has no loop */
  return true;
}

/* ---- writing */

static nxk_value value_of(const writer *w, uint32_t e) {
  const nxw_expr *x = &w->l->exprs[e];
  return x->kind == NXW_CONST ? nxk_const(w->k, x->dtype, x->imm) : x->value;
}

static nxk_value bool_value(const writer *w, uint32_t e) {
  return e == NXW_NONE ? NXK_NONE : value_of(w, e);
}

static void access_of(const writer *w, const nxw_affine *at, uint32_t buffer, uint32_t mask,
                      nxk_access *a, nxk_term *terms) {
  memset(a, 0, sizeof *a);
  a->buffer = buffer;
  a->offset = at->constant;
  a->terms = terms;
  for (uint32_t i = 0; i < w->l->dims.n; i++)
    if (at->coefficient[i] != 0) terms[a->n_terms++] = (nxk_term){w->loop[i], at->coefficient[i]};
  a->index = bool_value(w, at->extra);
  a->mask = bool_value(w, mask);
  a->other = NXK_NONE;
}

/* The LOCAL array element of the current inner point. */
static void local_access(const writer *w, uint32_t buffer, nxk_access *a, nxk_term *terms) {
  nxw_affine at;
  int64_t stride = 1;
  nxw_affine_zero(&at);
  for (uint32_t i = w->l->dims.n; i-- > w->l->dims.n_outer;) {
    at.coefficient[i] = w->l->dims.extent[i] == 1 ? 0 : stride;
    stride *= w->l->dims.extent[i];
  }
  access_of(w, &at, buffer, NXW_NONE, a, terms);
}

static uint32_t kernel_param(writer *w, uint32_t launch_param, nx_dtype t) {
  nxp_kernel_binding *b = w->l->binding;
  for (uint32_t i = 0; i < b->n_params; i++)
    if (b->params[i] == launch_param) return i;
  if (!nxi_grow(&b->params, &b->cap_params, b->n_params + 1, sizeof *b->params)) {
    w->l->failed = true;
    return 0;
  }
  b->params[b->n_params++] = launch_param;
  return nxk_add_param(w->k, t);
}

static nxk_value write_expr(writer *w, const nxw_expr *e) {
  nxk_access a;
  nxk_term terms[NXW_MAX_DIMS];
  nxk_value args[4] = {NXK_NONE, NXK_NONE, NXK_NONE, NXK_NONE};
  for (int i = 0; i < e->n_args; i++) args[i] = value_of(w, e->args[i]);
  switch (e->kind) {
    case NXW_PARAM: return nxk_param(w->k, kernel_param(w, (uint32_t)e->imm, e->dtype));
    case NXW_DIM:
      if (!is_outside(w->l, (uint32_t)e->imm)) return w->loop[e->imm];
      return nxk_param(w->k, kernel_param(w, NXP_PARAM_AXIS | w->l->dims.axis[e->imm], NX_I64));
    case NXW_LOAD: access_of(w, e->at, e->buffer, e->mask, &a, terms); return nxk_load(w->k, &a, 1);
    case NXW_SCAN: return nxk_scan(w->k, e->reduce, e->order, args[0], args[1]);
    case NXW_REDUCE: return nxk_reduce(w->k, e->reduce, e->order, args[0], args[1]);
    default: return nxk_scalar_of(w->k, (nxk_op)e->op, e->dtype, args);
  }
}

/* One past the highest dimension an expression depends on, within [first, last). */
static uint32_t depth_of(uint64_t dims, uint32_t first, uint32_t last) {
  for (uint32_t i = last; i-- > first;)
    if (dims >> i & 1) return i + 1;
  return first;
}

/* Writes the expressions of `stage` that depend on no inner dimension and whose loops are open at
 * `depth`. */
static void write_row_code(writer *w, int16_t stage, uint32_t depth) {
  nxw_lower *l = w->l;
  for (uint32_t i = 0; i < l->n_exprs; i++) {
    nxw_expr *e = &l->exprs[i];
    if (!w->needed[i] || e->inner || e->stage != stage || e->kind == NXW_CONST ||
        e->kind == NXW_REDUCE)
      continue;
    if (stage > 0 || depth_of(e->dims, 0, l->dims.n_outer) == depth) e->value = write_expr(w, e);
  }
}

static void write_store(writer *w, const nxw_store *s) {
  nxk_access a;
  nxk_term terms[NXW_MAX_DIMS];
  access_of(w, s->at, s->buffer, NXW_NONE, &a, terms);
  a.flags = s->flags;
  nxk_store(w->k, &a, value_of(w, s->value));
}

static void write_local(writer *w, nxw_expr *e, bool fill) {
  nxk_access a;
  nxk_term terms[NXW_MAX_DIMS];
  if (e->local == NXW_NONE)
    e->local = nxk_add_buffer(w->k, NXK_LOCAL, e->dtype, inner_points(w->l));
  local_access(w, e->local, &a, terms);
  if (fill) nxk_store(w->k, &a, e->value);
  else e->value = nxk_load(w->k, &a, 1);
}

static bool has_value(const writer *w, uint32_t e) {
  return e == NXW_NONE || w->l->exprs[e].kind == NXW_CONST || w->l->exprs[e].value != NXK_NONE;
}

static bool is_ready(const writer *w, const nxw_expr *e) {
  bool ready = true;
  for (int i = 0; i < e->n_args; i++) ready = ready && has_value(w, e->args[i]);
  return ready && (e->kind != NXW_LOAD || (has_value(w, e->mask) && has_value(w, e->at->extra)));
}

/* Writes the inner expressions of the nest whose loops are open at `depth`. LOCAL arrays are read
 * in the innermost loop only, so expressions that use them are written there. */
static void write_inner_code(writer *w, uint32_t depth) {
  nxw_lower *l = w->l;
  uint32_t here = (uint32_t)1 << w->nest;
  bool innermost = depth == l->dims.n;
  for (uint32_t i = 0; i < l->n_exprs; i++) {
    nxw_expr *e = &l->exprs[i];
    if (!w->needed[i] || !e->inner || !((w->nests[i] | w->loads[i]) & here)) continue;
    if (w->loads[i] & here) {
      if (innermost) write_local(w, e, false);
      continue;
    }
    bool its_depth = depth_of(e->dims, l->dims.n_outer, l->dims.n) == depth;
    if (e->value == NXK_NONE && (its_depth || innermost) && is_ready(w, e))
      e->value = write_expr(w, e);
  }
}

static bool nest_is_empty(const writer *w, uint32_t nest) {
  if (nest < w->n_stages) return false;
  for (uint32_t i = 0; i < w->l->n_stores; i++)
    if (w->l->stores[i].inner && nest_of_store(w, &w->l->stores[i]) == nest) return false;
  return true;
}

static void write_nest(writer *w, uint32_t nest) {
  nxw_lower *l = w->l;
  uint32_t here = (uint32_t)1 << nest;
  w->nest = nest;
  for (uint32_t i = 0; i < l->n_exprs; i++)
    if (l->exprs[i].inner) l->exprs[i].value = NXK_NONE;
  for (uint32_t i = l->dims.n_outer; i < l->dims.n; i++) {
    if (l->dims.extent[i] == 1 && i + 1 < l->dims.n) continue;
    w->loop[i] =
        nxk_begin_range(w->k, nest < w->n_stages ? NXK_REDUCE : NXK_MAP, l->dims.extent[i]);
    write_inner_code(w, i + 1);
  }
  for (uint32_t i = 0; i < l->n_exprs; i++) /* fill the arrays that later stages read */
    if ((w->nests[i] & here) && (w->loads[i] >> nest) != 0) write_local(w, &l->exprs[i], true);
  for (uint32_t i = 0; i < l->n_exprs; i++)
    if (w->needed[i] && l->exprs[i].kind == NXW_REDUCE && (uint32_t)l->exprs[i].stage == nest + 1)
      l->exprs[i].value = write_expr(w, &l->exprs[i]);
  for (uint32_t i = 0; i < l->n_stores; i++)
    if (l->stores[i].inner && nest_of_store(w, &l->stores[i]) == nest)
      write_store(w, &l->stores[i]);
  for (uint32_t i = l->dims.n_outer; i < l->dims.n; i++)
    if (l->dims.extent[i] != 1 || i + 1 == l->dims.n) nxk_end(w->k);
}

static void write_all(writer *w) {
  nxw_lower *l = w->l;
  nxk_begin_region(w->k);
  write_row_code(w, 0, 0);
  for (uint32_t i = 0; i < l->dims.n_outer; i++) {
    if (l->dims.extent[i] != 1) w->loop[i] = nxk_begin_range(w->k, NXK_OUTER, l->dims.extent[i]);
    write_row_code(w, 0, i + 1);
  }
  for (uint32_t nest = 0; nest <= w->n_stages; nest++) {
    if (nest > 0) write_row_code(w, (int16_t)nest, l->dims.n_outer);
    if (!nest_is_empty(w, nest)) write_nest(w, nest);
  }
  for (uint32_t i = 0; i < l->n_stores; i++)
    if (!l->stores[i].inner) write_store(w, &l->stores[i]);
  for (uint32_t i = 0; i < l->dims.n_outer; i++)
    if (l->dims.extent[i] != 1) nxk_end(w->k);
  nxk_end(w->k);
}

bool nxw_write_region(nxw_lower *l) {
  writer w = {.l = l, .k = l->kernel};
  size_t n = l->n_exprs ? l->n_exprs : 1;
  w.needed = nxi_calloc(n, sizeof *w.needed);
  w.nests = nxi_calloc(n, sizeof *w.nests);
  w.loads = nxi_calloc(n, sizeof *w.loads);
  bool ok = w.needed != NULL && w.nests != NULL && w.loads != NULL && mark_needed(&w);
  if (ok && l->outside > 0) ok = leave_outside(&w);
  if (ok) nxw_merge_dimensions(l, w.needed);
  for (uint32_t nest = 0; ok && nest <= w.n_stages; nest++) ok = mark_nest(&w, nest);
  if (ok) write_all(&w);
  nxi_free(w.needed);
  nxi_free(w.nests);
  nxi_free(w.loads);
  nxi_free(w.stack);
  if (!ok || l->kernel->failed) l->failed = true;
  return !l->failed;
}
