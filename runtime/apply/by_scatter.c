/* SPDX-License-Identifier: ISC */
/* Updates by a function. A combiner that is one operation is a mode of scatter. Any other one is
 * applied in rounds: the updates are ordered by how many come before them at their place, so that
 * those of one round have places of their own, and a loop takes a piece of a round in each step. So
 * each place sees its updates one after the other, in their order, however it is carried out. */
#include "by_scatter.h"

#include <string.h>

#include "nx/by_function.h"
#include "nx/control.h"
#include "nx/index.h"
#include "nx/number.h"
#include "runtime/record/objects.h"

/* ---- recognised */

static int mode_of_op(nxg_op op, nx_dtype t) {
  switch (op) {
    case NXG_add: return NX_SCATTER_ADD;
    case NXG_mul: return NX_SCATTER_MUL;
    case NXG_min: return t == NX_BOOL ? NX_SCATTER_AND : NX_SCATTER_MIN;
    case NXG_max: return t == NX_BOOL ? NX_SCATTER_OR : NX_SCATTER_MAX;
    case NXG_and: return NX_SCATTER_AND;
    case NXG_or: return NX_SCATTER_OR;
    case NXG_xor: return NX_SCATTER_XOR;
    default: return NXI_MODE_NONE;
  }
}

int nxi_scatter_mode_of(const nxi_by *by, uint32_t j) {
  const nxg_graph *g = by->f->graph;
  const nxg_node *n = &g->nodes[nxi_body_through(g, g->outputs[j].node)];
  nx_dtype t = by->x[j]->storage->dtype;
  if (n->op == NXG_input && n->attrs[0] == (int64_t)(by->k + j)) return NX_SCATTER_SET;
  if (n->op == NXG_input && n->attrs[0] == (int64_t)j) return NXI_MODE_OLD;
  int mode = mode_of_op(nxi_body_plain(by->f, j), t);
  return mode < 0 || nxi_scatter_refuses((nxi_scatter_mode)mode, t) ? NXI_MODE_NONE : mode;
}

bool nxi_is_scatter(const nxi_by *by) {
  for (uint32_t j = 0; j < by->k; j++)
    if (nxi_scatter_mode_of(by, j) == NXI_MODE_NONE) return false;
  return true;
}

static bool scatter_modes(const nxi_by *by, nx_tensor *places, const nxi_row *updates, nxi_row *x) {
  for (uint32_t j = 0; j < by->k; j++) {
    int mode = nxi_scatter_mode_of(by, j);
    if (mode == NXI_MODE_OLD) continue;
    x->at[j] = nx_scatter(x->at[j], places, updates->at[j], 0, (nx_scatter_mode)mode,
                          NX_DROP_OUT_OF_RANGE);
    if (!x->at[j]) return false;
  }
  return true;
}

/* ---- rounds */

typedef struct rounds {
  const nxi_by *by;
  uint32_t called;
  int64_t n, m, piece;     /* elements; updates; updates that a step looks at */
  nx_tensor *rank, *place; /* of each update in the order of rounds, `piece` more behind */
  nxi_row updates;         /* the same */
} rounds;

/* Bodies carry no i4, u4 and c32: as these they do. */
static nx_dtype carried(nx_dtype t) {
  return t == NX_I4 ? NX_I8 : t == NX_U4 ? NX_U8 : t == NX_C32 ? NX_C64 : t;
}
static nx_dtype dtype_of(const rounds *r, uint32_t j) { return r->by->x[j]->storage->dtype; }

static nx_tensor *taken(nx_tensor *x, nx_tensor *at) {
  return x && at ? nx_gather(x, at, 0) : NULL;
}

static nx_tensor *with_behind(const rounds *r, nx_tensor *x, const nx_scalar *value) {
  int64_t before = 0;
  return x ? nx_pad(x, &before, &r->piece, 1, value) : NULL;
}

/* How many updates before this one, in sorted order, have its place; those of no place come last:
 * their number is m. */
static nx_tensor *rank_of(const rounds *r, nx_tensor *sorted) {
  nx_context *c = sorted->context;
  int32_t device = sorted->storage->device;
  int64_t start[2] = {0, 1}, stop[2] = {r->m - 1, r->m}, none = 0, one = 1;
  nx_tensor *count = nx_arange(c, device, NX_I64, NX_INTEGER(0), NX_INTEGER(1), r->m),
            *before = nx_shrink(sorted, &start[0], &stop[0], 1),
            *after = nx_shrink(sorted, &start[1], &stop[1], 1), *differs, *first;
  differs = before && after ? nx_cmpne(before, after) : NULL;
  differs = differs ? nx_pad(differs, &one, &none, 1, NX_INTEGER(1)) : NULL;
  first = differs && count ? nx_where(differs, count, nx_full_i64(c, device, NX_I64, NULL, 0, 0))
                           : NULL;
  first = first ? nx_associative_scan(first, NX_SCAN_MAX, 0) : NULL;
  nx_tensor *rank = first ? nx_sub(count, first) : NULL;
  nx_tensor *good = rank ? nx_binary_i64(sorted, NX_BINARY_CMPLT, r->n) : NULL;
  return good ? nx_where(good, rank, nx_full_i64(c, device, NX_I64, NULL, 0, r->m)) : NULL;
}

static bool order_updates(rounds *r, nx_tensor *places, const nxi_row *updates) {
  nx_tensor *wide = nx_cast(places, NX_I64);
  nx_tensor *good = wide ? nx_binary_i64(wide, NX_BINARY_CMPGE, 0) : NULL;
  places =
      good ? nx_where(good, nx_binary_i64(wide, NX_BINARY_MIN, r->n),
                      nx_full_i64(places->context, places->storage->device, NX_I64, NULL, 0, r->n))
           : NULL;
  nx_tensor *order = places ? nx_argsort(places, 0, 0, NX_I64) : NULL,
            *sorted = taken(places, order), *rank = sorted ? rank_of(r, sorted) : NULL,
            *rounds_first = rank ? nx_argsort(rank, 0, 0, NX_I64) : NULL,
            *from = taken(order, rounds_first);
  r->rank = with_behind(r, taken(rank, rounds_first), NX_INTEGER(r->m));
  r->place = with_behind(r, taken(sorted, rounds_first), NX_INTEGER(r->n));
  for (uint32_t j = 0; j < r->by->k; j++) {
    nx_tensor *u = from ? nx_cast(updates->at[j], carried(dtype_of(r, j))) : NULL;
    r->updates.at[j] = with_behind(r, taken(u, from), NX_INTEGER(0));
    if (!r->updates.at[j]) return false;
  }
  return r->rank && r->place;
}

/* Where in the order a step begins; k arrays; ranks, places and updates. */
enum { MOST_INPUTS = 2 * NXI_MOST_OPERANDS + 3 };
static uint32_t inputs(const rounds *r, nx_tensor **in) {
  nx_context *c = r->rank->context;
  nx_device device = r->by->device;
  int64_t all = r->m + r->piece;
  uint32_t n = 0, k = (uint32_t)r->by->k;
  in[n++] = nx_placeholder(c, device, NX_I64, NULL, 0);
  for (uint32_t j = 0; j < k; j++)
    in[n++] = nx_placeholder(c, device, carried(dtype_of(r, j)), &r->n, 1);
  in[n++] = nx_placeholder(c, device, NX_I64, &all, 1);
  in[n++] = nx_placeholder(c, device, NX_I64, &all, 1);
  for (uint32_t j = 0; j < k; j++)
    in[n++] = nx_placeholder(c, device, carried(dtype_of(r, j)), &all, 1);
  for (uint32_t i = 0; i < n; i++)
    if (!in[i]) return 0;
  return n;
}

static nx_function *finish(nx_context *c, nx_tensor *const *in, uint32_t n, nx_tensor *const *out,
                           uint32_t n_out) {
  nx_function *f = NULL;
  bool good = n > 0;
  for (uint32_t i = 0; i < n_out; i++) good &= out[i] != NULL;
  if (!good || nx_function_create(c, in, n, out, n_out, NULL, &f) != NX_OK) nx_capture_end(c);
  return f;
}

static nx_tensor *piece_of(const rounds *r, nx_tensor *x, nx_tensor *at) {
  return x ? nx_dynamic_slice(x, &at, &r->piece, 1) : NULL;
}

/* While an update that has a place is left. */
static nx_function *condition(const rounds *r) {
  nx_tensor *in[MOST_INPUTS];
  uint32_t n = inputs(r, in);
  int64_t one = 1;
  nx_tensor *rank = n ? nx_dynamic_slice(in[1 + r->by->k], in, &one, 1) : NULL,
            *on = rank ? nx_reshape(nx_binary_i64(rank, NX_BINARY_CMPLT, r->m), NULL, 0, 0) : NULL;
  return finish(r->rank->context, in, n, &on, 1);
}

/* f of elements and their updates, in the dtypes that are carried. */
static bool apply(const rounds *r, nxi_row *x, const nxi_row *u, nxi_row *out) {
  nxi_body b;
  nx_tensor *in[2 * NXI_MOST_OPERANDS], *result[NXI_MOST_OPERANDS] = {NULL};
  uint32_t k = (uint32_t)r->by->k;
  if (!nxi_body_begin(&b, r->called, r->by->f, r->by->device)) return false;
  bool good = true;
  for (uint32_t j = 0; j < k; j++) {
    in[j] = nx_cast(x->at[j], dtype_of(r, j));
    in[k + j] = nx_cast(u->at[j], dtype_of(r, j));
    good &= in[j] && in[k + j];
  }
  good = good && nxi_body_apply(&b, in, result);
  for (uint32_t j = 0; good && j < k; j++)
    good = (result[j] = nx_cast(result[j], carried(dtype_of(r, j)))) != NULL;
  return nxi_body_end(&b, good, result, out->at, k) == NX_OK;
}

/* The updates of one rank from `at` on, as many as a piece has. */
static nx_function *step(const rounds *r) {
  nx_tensor *in[MOST_INPUTS], *out[NXI_MOST_OPERANDS + 1] = {NULL};
  nxi_row old = {0}, update = {0}, becomes = {0};
  uint32_t n = inputs(r, in), k = (uint32_t)r->by->k;
  int64_t zero = 0, one = 1;
  nx_context *c = r->rank->context;
  nx_tensor *rank = n ? piece_of(r, in[1 + k], in[0]) : NULL,
            *first = rank ? nx_shrink(rank, &zero, &one, 1) : NULL,
            *same = first ? nx_cmpeq(rank, first) : NULL,
            *none = nx_full_i64(c, r->by->device, NX_I64, NULL, 0, r->n),
            *place = same ? nx_where(same, piece_of(r, in[2 + k], in[0]), none) : NULL;
  bool good = place != NULL;
  for (uint32_t j = 0; good && j < k; j++) {
    old.at[j] = nx_gather_clamped(in[1 + j], place, 0);
    update.at[j] = piece_of(r, in[3 + k + j], in[0]);
    good = old.at[j] && update.at[j];
  }
  good = good && apply(r, &old, &update, &becomes);
  for (uint32_t j = 0; good && j < k; j++)
    out[1 + j] = nx_scatter(in[1 + j], place, becomes.at[j], 0, NX_SCATTER_SET,
                            NX_DROP_OUT_OF_RANGE | NX_UNIQUE_INDICES);
  nx_tensor *count = good ? nx_reduce_sum(nx_cast(same, NX_I64), NX_AXES(0), 0) : NULL;
  out[0] = count ? nx_add(in[0], count) : NULL;
  return finish(c, in, good ? n : 0, out, k + 1);
}

static bool run_rounds(const rounds *r, nxi_row *x) {
  nx_tensor *init[NXI_MOST_OPERANDS + 1], *given[NXI_MOST_OPERANDS + 2],
      *out[NXI_MOST_OPERANDS + 1] = {NULL};
  uint32_t k = (uint32_t)r->by->k;
  init[0] = nx_full_i64(r->rank->context, r->by->device, NX_I64, NULL, 0, 0);
  bool good = init[0] != NULL;
  for (uint32_t j = 0; good && j < k; j++)
    good = (init[1 + j] = nx_cast(x->at[j], carried(dtype_of(r, j)))) != NULL;
  given[0] = r->rank;
  given[1] = r->place;
  for (uint32_t j = 0; j < k; j++) given[2 + j] = r->updates.at[j];
  nx_function *on = good ? condition(r) : NULL, *body = on ? step(r) : NULL;
  good = body && nx_while(on, body, init, k + 1, given, k + 2, NULL, out, k + 1) == NX_OK;
  nx_function_release(on);
  nx_function_release(body);
  for (uint32_t j = 0; good && j < k; j++)
    good = (x->at[j] = nx_cast(out[1 + j], dtype_of(r, j))) != NULL;
  return good;
}

bool nxi_scatter_rows(const nxi_by *by, uint32_t called, nx_tensor *places, const nxi_row *updates,
                      nxi_row *x) {
  enum { SMALL = 1024 };
  if (nxi_is_scatter(by)) return scatter_modes(by, places, updates, x);
  rounds r = {.by = by, .called = called, .n = x->at[0]->elements, .m = places->elements};
  r.piece = r.n / 64 > SMALL ? r.n / 64 : SMALL;
  if (r.piece > r.m) r.piece = r.m;
  return order_updates(&r, places, updates) && run_rounds(&r, x);
}
