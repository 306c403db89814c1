/* SPDX-License-Identifier: ISC */
/* The nodes of numbers. `x + 2` is recorded as the sum of x and of a view, in the shape of x, of
 * the constant 2: the nodes that nx_add makes of x and a rank-0 nx_full. A context remembers the
 * nodes that it made last for numbers, so that the usual call finds its own with a few comparisons.
 *
 * Those that nobody else has when they are made it keeps, with a reference, and they count neither
 * as pending nor as alive: a program that reads each result at once would make them anew for each
 * operation. What becomes the value of a storage is let go. Others are remembered without a
 * reference. The table of nodes, which every node leaves before it dies or gets memory, makes the
 * context forget either (nxi_table_remove). */
#include "number.h"

#include <string.h>

#include "error.h"
#include "ir/platform/lock.h"
#include "objects.h"
#include "pending.h"

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

/* ---- what the context keeps */

static bool has_flag(const nxi_node *n, uint8_t flag) {
  return atomic_load_explicit(&n->flags, memory_order_relaxed) & flag;
}

static void count_not(nx_context *c, nxi_node *n) {
  nxi_pending_end(c, n);
  c->live_nodes--;
  nxi_node_mark(n, NXI_NODE_KEPT);
}

static void count_again(nx_context *c, nxi_node *n) {
  if (!has_flag(n, NXI_NODE_KEPT)) return;
  nxi_node_unmark(n, NXI_NODE_KEPT);
  c->live_nodes++;
  if (n->state == NXI_PENDING || n->state == NXI_RUNNING) nxi_pending_begin(c, n);
}

static nxi_node *constant_of(nxi_node *n) { return n->n_args ? nxi_node_args(n)[0] : NULL; }

static void keep(nx_context *c, uint32_t place) {
  nxi_node *n = c->numbers[place], *full = constant_of(n);
  if (n->refs != 1 || (full && full->refs != 1)) return;
  n->refs++;
  c->numbers_kept |= 1u << place;
  count_not(c, n);
  if (full) count_not(c, full);
}

/* The node of this place, which is free then. *kept: its reference is the caller's to give up. */
static nxi_node *leave(nx_context *c, uint32_t place, bool *kept) {
  nxi_node *n = c->numbers[place];
  c->numbers[place] = NULL;
  *kept = c->numbers_kept >> place & 1;
  c->numbers_kept &= ~(1u << place);
  if (!*kept) return n;
  nxi_node *full = constant_of(n);
  count_again(c, n);
  if (full) count_again(c, full);
  return n;
}

static void forget_place(nx_context *c, uint32_t place) {
  bool kept;
  nxi_node *n = leave(c, place, &kept);
  if (!n) return;
  nxi_node_unmark(n, NXI_NODE_NUMBER);
  if (kept) nxi_node_unref(c, n);
}

void nxi_number_let_go(nx_context *c, const nxi_node *n) {
  NXI_HELD(&c->record_lock);
  for (uint32_t i = 0; i < NXI_NUMBERS; i++) {
    nxi_node *kept = c->numbers_kept >> i & 1 ? c->numbers[i] : NULL;
    if (kept && (kept == n || constant_of(kept) == n)) forget_place(c, i);
  }
}

void nxi_numbers_drop(nx_context *c) {
  NXI_HELD(&c->record_lock);
  for (uint32_t i = 0; i < NXI_NUMBERS; i++) forget_place(c, i);
}

nxi_node *nxi_number_node(nx_context *c, const nxi_number *number, const nxi_operand *o,
                          int32_t device) {
  NXI_HELD(&c->record_lock);
  uint32_t place = nxi_number_place(number, (uint32_t)o->rank, o->shape);
  nxi_node *n = nxi_number_find(c, place, number, (uint32_t)o->rank, o->shape, device);
  if (n) {
    n->refs++;
    return n;
  }
  n = make(c, number, o, device);
  if (!n || !has_flag(n, NXI_NODE_LISTED) || has_flag(n, NXI_NODE_NUMBER)) return n;
  forget_place(c, place);
  nxi_node_mark(n, NXI_NODE_NUMBER);
  c->numbers[place] = n;
  keep(c, place);
  return n;
}

void nxi_number_forget(nx_context *c, nxi_node *n) {
  NXI_HELD(&c->record_lock);
  bool kept;
  for (uint32_t i = 0; i < NXI_NUMBERS; i++) {
    if (c->numbers[i] != n) continue;
    leave(c, i, &kept);
    n->refs -= kept; /* who makes it leave the table has another one */
  }
}
