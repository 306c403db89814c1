/* SPDX-License-Identifier: ISC */
/* Sorting by any comparator: a bitonic network (Batcher 1968) whose merges begin with a turned
 * half, so that every exchange puts the smaller element first. The place of an element goes along:
 * it decides between elements that compare equal, and tells what was added to fill a power of two.
 */
#include <string.h>

#include "body.h"

typedef struct network {
  nxi_body *b;
  uint32_t k; /* operands; the row has the places behind them */
  int64_t n;  /* elements that are the caller's */
} network;

/* (lead.., m) in blocks (lead.., m / 2j, 2, j) */
static nx_tensor *in_blocks(nx_tensor *x, int64_t j) {
  int64_t shape[NXG_MAX_RANK + 2];
  int32_t last = x->rank - 1;
  memcpy(shape, nxi_shape(x), (size_t)last * sizeof *shape);
  shape[last] = nxi_shape(x)[last] / (2 * j);
  shape[last + 1] = 2;
  shape[last + 2] = j;
  return nx_reshape(x, shape, last + 3, NX_MAY_COPY);
}

/* One half of each block, (lead.., m / 2j, 1, j). */
static nx_tensor *half_of(nx_tensor *blocks, int64_t half, bool turned) {
  int32_t last = blocks ? blocks->rank - 1 : 0;
  nx_tensor *part = nxi_part(blocks, last - 1, half, half + 1, 1);
  return turned && part ? nx_flip(part, &last, 1) : part;
}

static nx_tensor *joined_halves(nx_tensor *low, nx_tensor *high, bool turned, nx_tensor *like) {
  int32_t last = low->rank - 1;
  nx_tensor *halves[2] = {low, turned ? nx_flip(high, &last, 1) : high};
  nx_tensor *all = nx_cat(halves, 2, last - 1);
  return all ? nx_reshape(all, nxi_shape(like), like->rank, 0) : NULL;
}

/* Whether the elements of `right` belong before those of `left`. */
static nx_tensor *belongs_before(const network *w, const nxi_row *right, const nxi_row *left) {
  nx_tensor *in[2 * NXI_MOST_OPERANDS], *before = NULL, *behind = NULL;
  for (uint32_t turn = 0; turn < 2; turn++) {
    for (uint32_t i = 0; i < w->k; i++) {
      in[2 * i + turn] = right->at[i];
      in[2 * i + 1 - turn] = left->at[i];
    }
    if (!nxi_body_apply(w->b, in, turn ? &behind : &before)) return NULL;
  }
  nx_tensor *r = right->at[w->k], *l = left->at[w->k],
            *added = nx_binary_i64(l, NX_BINARY_CMPGE, w->n),
            *own = nx_binary_i64(r, NX_BINARY_CMPLT, w->n),
            *no = nx_full_i64(w->b->f->context, w->b->device, NX_BOOL, NULL, 0, 0),
            *kept = nx_and(nx_cmpeq(behind, no), nx_cmplt(r, l));
  return nx_and(own, nx_or(added, nx_or(before, kept)));
}

/* Compares element i of the first half of each block of 2j with its partner in the second. */
static bool stage(const network *w, nxi_row *x, int64_t j, bool turned) {
  nxi_row left, right;
  for (uint32_t i = 0; i <= w->k; i++) {
    nx_tensor *blocks = in_blocks(x->at[i], j);
    left.at[i] = half_of(blocks, 0, false);
    right.at[i] = half_of(blocks, 1, turned);
    if (!left.at[i] || !right.at[i]) return false;
  }
  nx_tensor *exchange = belongs_before(w, &right, &left);
  for (uint32_t i = 0; exchange && i <= w->k; i++) {
    nx_tensor *low = nx_where(exchange, right.at[i], left.at[i]),
              *high = nx_where(exchange, left.at[i], right.at[i]);
    if (!low || !high || !(x->at[i] = joined_halves(low, high, turned, x->at[i]))) return false;
  }
  return exchange != NULL;
}

/* The operands filled up to m elements, and the places. */
static bool fill_up(const network *w, nxi_row *x, int64_t m) {
  int32_t rank = x->at[0]->rank;
  int64_t before[NXG_MAX_RANK] = {0}, after[NXG_MAX_RANK] = {0};
  after[rank - 1] = m - w->n;
  for (uint32_t i = 0; m > w->n && i < w->k; i++)
    if (!(x->at[i] = nx_pad(x->at[i], before, after, (size_t)rank, NX_INTEGER(0)))) return false;
  nx_tensor *count =
      nx_arange(w->b->f->context, w->b->device, NX_I32, NX_INTEGER(0), NX_INTEGER(1), m);
  x->at[w->k] = count ? nx_expand(count, nxi_shape(x->at[0]), rank) : NULL;
  return x->at[w->k] != NULL;
}

bool nxi_sort_network(nxi_body *b, nxi_row *x, uint32_t k) {
  network w = {b, k, nxi_shape(x->at[0])[x->at[0]->rank - 1]};
  int64_t m = 1;
  while (m < w.n) m *= 2;
  if (!fill_up(&w, x, m)) return false;
  for (int64_t merged = 1; merged < m; merged *= 2)
    for (int64_t j = merged; j; j /= 2)
      if (!stage(&w, x, j, j == merged)) return false;
  for (uint32_t i = 0; i < k; i++)
    if (!(x->at[i] = nxi_part(x->at[i], x->at[i]->rank - 1, 0, w.n, 1))) return false;
  return true;
}
