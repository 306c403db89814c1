/* SPDX-License-Identifier: ISC */
/* The order in which reductions combine elements (docs/numerics.md, "Reduction order"), as a
 * reducer that is given one element at a time. The kernel interpreter uses it; compiled kernels
 * and the graph interpreter (interp_reduce.c) must give the same bits.
 *
 * Order `lanes`: element k is in block k / 256 and lane k mod 16. Each lane combines its 16
 * elements of a block in order; the blocks are combined in a pairwise tree, and the 16 lanes are
 * then combined by halves. Order `plain`: blocks of 16 elements in order, then the tree. The two
 * `join` orders combine partial results of a split reduction: their blocks have 16 partials (one
 * for each lane), or one.
 *
 * The tree is a binary counter: level i holds the partial result of 2^i blocks, or is empty. At
 * the end the levels that are not empty are combined. A lane that gets no element holds the
 * identity, and combining with that changes no bit. */
#include <string.h>

#include "interp.h"

static int lanes_of(const nxi_reducer *r) {
  return r->order == NXK_ORDER_LANES || r->order == NXK_ORDER_JOIN_LANES ? NXI_REDUCE_LANES : 1;
}

/* Elements of a block: what becomes one partial result (in each lane). */
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
  if (!nxk_finds_index(kind)) {
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

/* Adds partial result number n to the counter: each full level is combined with it and carried
 * up. */
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

/* Combines the levels of the counter from the newest partial result to the oldest; the older one is
 * always the left operand. */
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
  if (r->count == 0) return nxk_reduce_empty(r->kind, r->type);
  int64_t size = block_size(r->order), n = r->count / size;
  if (r->count % size != 0) push_block(r, n++);
  nxi_partial p = join_tree(r, n);
  for (int half = lanes_of(r) / 2; half > 0; half /= 2)
    for (int l = 0; l < half; l++)
      nxi_combine(r->kind, r->type, &p.value[l], &p.index[l], p.value[l + half], p.index[l + half]);
  return nxk_finds_index(r->kind) ? (uint64_t)p.index[0] : p.value[0];
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
