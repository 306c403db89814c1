/* SPDX-License-Identifier: ISC */
/* The nodes of numbers. `x + 2` is recorded as the sum of x and of a view, in the shape of x, of
 * the constant 2: the nodes that nx_add makes of x and a rank-0 nx_full. A context remembers the
 * nodes that it made last for numbers, so that the usual call finds its own with a few comparisons.
 * They are remembered without a reference: the table of nodes, which every node leaves before it
 * dies or gets memory, makes the context forget them (nxi_table_remove). */
#include "number.h"

#include <string.h>

#include "error.h"
#include "ir/platform/lock.h"

static uint32_t place_of(const nxi_number *number, const nxi_operand *o) {
  uint64_t mix = number->bits[0] ^ (number->bits[1] << 1) ^ (uint64_t)number->dtype;
  for (int32_t i = 0; i < o->rank; i++) mix = mix * 31 + (uint64_t)o->shape[i];
  return (uint32_t)((mix * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % NXI_NUMBERS;
}

static bool is_constant_of(nxi_node *full, const nxi_number *number) {
  const int64_t *attrs = nxi_node_attrs(full);
  return (uint64_t)attrs[0] == number->bits[0] &&
         (full->n_attrs < 3 || (uint64_t)attrs[2] == number->bits[1]);
}

/* Whether n is the node of this number. Its constant may have got memory meanwhile, which would be
 * read instead of the number; it has left the table then. */
static bool is_node_of(nxi_node *n, const nxi_number *number, const nxi_operand *o,
                       int32_t device) {
  if (n->dtype != number->dtype || n->device != device || n->rank != o->rank ||
      (o->rank && memcmp(nxi_node_shape(n), o->shape, (size_t)o->rank * sizeof *o->shape)))
    return false;
  nxi_node *full = o->rank ? nxi_node_args(n)[0] : n;
  return (atomic_load_explicit(&full->flags, memory_order_relaxed) & NXI_NODE_LISTED) &&
         is_constant_of(full, number);
}

static nxi_node *make(nx_context *c, const nxi_number *number, const nxi_operand *o,
                      int32_t device) {
  static const int64_t repeats[NXG_MAX_RANK];
  int64_t attrs[3] = {(int64_t)number->bits[0], -1, (int64_t)number->bits[1]};
  nxi_recording r = {.context = c,
                     .op = NXG_full,
                     .dtype = (uint8_t)number->dtype,
                     .device = device,
                     .attrs = attrs,
                     .n_attrs = 2 + nxi_is_complex(number->dtype),
                     .called = nxi_called() ? 0 : number->called};
  nxi_node *full = nxi_record_node(&r, false);
  if (!full || !o->rank) return full;
  return nxi_node_view(c, full, o->rank, o->shape, repeats, 0);
}

nxi_node *nxi_number_node(nx_context *c, const nxi_number *number, const nxi_operand *o,
                          int32_t device) {
  NXI_HELD(&c->record_lock);
  nxi_node **place = &c->numbers[place_of(number, o)], *n = *place;
  if (n && is_node_of(n, number, o, device)) {
    n->refs++;
    return n;
  }
  n = make(c, number, o, device);
  if (!n || !(atomic_load_explicit(&n->flags, memory_order_relaxed) & NXI_NODE_LISTED)) return n;
  atomic_fetch_or_explicit(&n->flags, NXI_NODE_NUMBER, memory_order_relaxed);
  *place = n;
  return n;
}

void nxi_number_forget(nx_context *c, const nxi_node *n) {
  NXI_HELD(&c->record_lock);
  for (uint32_t i = 0; i < NXI_NUMBERS; i++)
    if (c->numbers[i] == n) c->numbers[i] = NULL;
}
