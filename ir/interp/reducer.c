/* SPDX-License-Identifier: ISC */
/* The order of every reduction (docs/numerics.md, "Reduction order"), written once and streaming.
 *
 * lanes: element k lies in block k / 256, lane k mod 16; a lane takes its 16 elements in order, blocks join
 * in a pairwise tree, then the lanes by halves. plain: blocks of 16 elements in order, then the tree. The
 * orders that join partial results have smaller blocks: one element of each lane, or one element. A tree is a
 * binary counter of partial results: a missing partner passes through. A lane without elements holds the
 * identity, which changes no bit of what it meets. */
#include <string.h>

#include "interp.h"

static int lanes_of(const nxi_reducer *r) {
  return r->order == NXK_ORDER_LANES || r->order == NXK_ORDER_JOIN_LANES ? NXI_REDUCE_LANES : 1;
}

/* Elements that become one partial result of each lane. */
static int64_t block_size(nxk_order order) {
  switch (order) {
    case NXK_ORDER_LANES: return 256;
    case NXK_ORDER_PLAIN:
    case NXK_ORDER_JOIN_LANES: return 16;
    case NXK_ORDER_JOIN: return 1;
    default: return INT64_MAX;
  }
}

void nxi_combine(nxk_reduce_kind kind, nx_dtype type, uint64_t *a, int64_t *a_index, uint64_t b,
                 int64_t b_index) {
  if (!nxi_is_arg(kind)) {
    *a = nxk_reduce_combine(kind, type, *a, b);
  } else if (nxk_arg_better(kind, type, *a, *a_index, b, b_index)) {
    *a = b;
    *a_index = b_index;
  }
}

static void clear_block(nxi_reducer *r) {
  uint64_t identity = nxk_reduce_identity(r->kind, r->type);
  for (int l = 0; l < lanes_of(r); l++) {
    r->block.value[l] = identity;
    r->block.index[l] = INT64_MAX;
  }
}

void nxi_reducer_start(nxi_reducer *r, nxk_reduce_kind kind, nxk_order order, nx_dtype type) {
  r->kind = kind;
  r->order = order;
  r->type = type;
  r->count = 0;
  clear_block(r);
}

static void combine_partials(const nxi_reducer *r, nxi_partial *a, const nxi_partial *b) {
  for (int l = 0; l < lanes_of(r); l++)
    nxi_combine(r->kind, r->type, &a->value[l], &a->index[l], b->value[l], b->index[l]);
}

/* Partial number n joins what it completes. */
static void push_block(nxi_reducer *r, int64_t n) {
  nxi_partial p = r->block;
  int level = 0;
  for (; n >> level & 1; level++) {
    nxi_partial older = r->tree[level];
    combine_partials(r, &older, &p);
    p = older;
  }
  r->tree[level] = p;
}

static uint64_t multiply_add(nx_dtype type, uint64_t a, uint64_t b, uint64_t c) {
  uint64_t args[3] = {a, b, c};
  if (nxi_is_float(type)) return nxk_eval(NXK_fma, type, type, args);
  uint64_t sum[3] = {nxk_eval(NXK_mul, type, type, args), c, 0};
  return nxk_eval(NXK_add, type, type, sum);
}

void nxi_reducer_add(nxi_reducer *r, uint64_t a, uint64_t b) {
  int lane = (int)(r->count % lanes_of(r));
  if (r->kind == NXK_DOT) r->block.value[lane] = multiply_add(r->type, a, b, r->block.value[lane]);
  else nxi_combine(r->kind, r->type, &r->block.value[lane], &r->block.index[lane], a, r->count);
  r->count++;
  int64_t size = block_size(r->order);
  if (r->count % size == 0) {
    push_block(r, r->count / size - 1);
    clear_block(r);
  }
}

/* All partials of the binary counter, the newest first on the right. */
static nxi_partial join_tree(nxi_reducer *r, int64_t n) {
  nxi_partial joined;
  bool any = false;
  memset(&joined, 0, sizeof joined);
  for (int level = 0; n >> level; level++) {
    if (!(n >> level & 1)) continue;
    nxi_partial older = r->tree[level];
    if (any) combine_partials(r, &older, &joined);
    joined = older;
    any = true;
  }
  return joined;
}

uint64_t nxi_reducer_finish(nxi_reducer *r) {
  if (r->count == 0) {
    if (nxi_is_arg(r->kind) || r->kind == NXK_SUM) return 0;
    return nxk_reduce_identity(r->kind, r->type);
  }
  int64_t size = block_size(r->order), n = r->count / size;
  if (r->count % size != 0) push_block(r, n++);
  nxi_partial p = join_tree(r, n);
  for (int half = lanes_of(r) / 2; half > 0; half /= 2)
    for (int l = 0; l < half; l++)
      nxi_combine(r->kind, r->type, &p.value[l], &p.index[l], p.value[l + half], p.index[l + half]);
  return nxi_is_arg(r->kind) ? (uint64_t)p.index[0] : p.value[0];
}

void nxi_scan_pairs(uint64_t held[4], int64_t count, bool blocks, nx_dtype part,
                    const uint64_t element[2], uint64_t y[2]) {
  uint64_t *before = held, *within = held + 2;
  bool starts = count == 0 || (blocks && count % NXK_SCAN_BLOCK == 0);
  if (starts && count == NXK_SCAN_BLOCK) memcpy(before, within, 2 * sizeof *before);
  else if (starts && count > 0) nxk_multiply_pairs(part, before, within, before);
  if (starts) memcpy(within, element, 2 * sizeof *within);
  else nxk_multiply_pairs(part, within, element, within);
  if (blocks && count >= NXK_SCAN_BLOCK) nxk_multiply_pairs(part, before, within, y);
  else memcpy(y, within, 2 * sizeof *y);
}
