/* SPDX-License-Identifier: ISC */
/* The table that merges equal operations. Equal means: opcode, dtype, device, shape, attributes and
 * operands (the very same nodes). The hash only finds candidates; the whole key is compared.
 * The table holds no references: a node leaves it when its last reference goes, and when it is
 * realised. All with record_lock. */

#include <string.h>

#include "number.h"
#include "ir/platform/lock.h"
#include "record.h"
#include "table.h"

static bool same_key(nxi_node *a, nxi_node *b) {
  return a->hash == b->hash && a->op == b->op && a->dtype == b->dtype && a->rank == b->rank &&
         a->device == b->device && a->n_args == b->n_args && a->n_attrs == b->n_attrs &&
         a->size == b->size && !memcmp(a->tail, b->tail, a->size - sizeof *a);
}

/* Returns the newest id of the operands, 0 if there are none. Fields are loaded as they were
 * stored, one by one just now: a load that takes several of them at once waits. */
static inline uint64_t hash_node(nxi_node *n) {
  uint32_t n_args = n->n_args;
  nxi_node **args = nxi_node_args(n);
  uint64_t newest = 0, hash = nxi_hash_words(nxi_node_type(n->op, n->dtype, n->rank), n->device,
                                             n_args, n->tail, n->rank + n->n_attrs);
  if (n_args == 2) {
    uint64_t first = args[0]->id, second = args[1]->id;
    n->hash = nxi_hash_tag(nxi_mix_two(hash, first, second));
    return first > second ? first : second;
  }
  for (uint32_t i = 0; i < n_args; i++) {
    uint64_t id = args[i]->id;
    hash = nxi_mix(hash, id);
    newest = id > newest ? id : newest;
  }
  n->hash = nxi_hash_tag(hash);
  return newest;
}

void nxi_table_free(nxi_table *t) {
  nxi_free(t->tags);
  nxi_free(t->nodes);
  nxi_free(t->set_tags);
  nxi_free(t->set_nodes);
  *t = (nxi_table){0};
}

/* Arrays for `places` entries, all free. */
static bool make_arrays(size_t places, uint32_t **tags, nxi_node ***nodes) {
  *tags = places >> 31 ? NULL : nxi_calloc(places, sizeof **tags);
  *nodes = *tags ? nxi_malloc(places * sizeof **nodes) : NULL;
  if (!*nodes) {
    nxi_free(*tags);
    return false;
  }
  return true;
}

/* ---- sets by the newest operand */

/* The first place of its set. */
static uint32_t set_of(const nxi_table *t, const nxi_node *n) {
  nxi_node **args = nxi_node_args((nxi_node *)n);
  uint64_t newest = args[0]->id;
  for (uint32_t i = 1; i < n->n_args; i++)
    if (args[i]->id > newest) newest = args[i]->id;
  return nxi_table_set(t, newest);
}

__attribute__((noinline)) static nxi_node *find_in_set(const nxi_table *t, size_t set, nxi_node *n,
                                                       uint32_t tag) {
  for (size_t i = set; i < set + NXI_SET; i++)
    if (t->set_tags[i] == tag && same_key(n, t->set_nodes[i])) return t->set_nodes[i];
  return NULL;
}

enum { SMALLEST_TABLE = 1024 };

/* Nodes that find no place any more are not merged with later ones. */
__attribute__((noinline)) static bool grow_sets(nxi_table *t) {
  nxi_table grown = *t;
  grown.set_mask = t->set_tags ? t->set_mask * 2 + 1 : SMALLEST_TABLE / NXI_SET - 1;
  size_t places = ((size_t)grown.set_mask + 1) * NXI_SET;
  if (!make_arrays(places, &grown.set_tags, &grown.set_nodes)) return false;
  grown.set_used = 0;
  for (size_t i = 0; t->set_tags && i < places / 2; i++) {
    if (!t->set_tags[i]) continue;
    nxi_node *n = t->set_nodes[i];
    int32_t place = nxi_table_free_place(&grown, set_of(&grown, n));
    if (place < 0) {
      nxi_node_unmark(n, NXI_NODE_LISTED);
      continue;
    }
    nxi_table_put(&grown, (uint32_t)place, t->set_tags[i], n);
  }
  nxi_free(t->set_tags);
  nxi_free(t->set_nodes);
  *t = grown;
  return true;
}

/* ---- the rest: linear probing, removal by shifting back, at most three quarters full */

static bool grow_rest(nxi_table *t) {
  nxi_table grown = *t;
  grown.mask = t->tags ? t->mask * 2 + 1 : SMALLEST_TABLE - 1;
  if (!make_arrays((size_t)grown.mask + 1, &grown.tags, &grown.nodes)) return false;
  for (size_t i = 0; t->tags && i <= t->mask; i++) {
    if (!t->tags[i]) continue;
    uint32_t at = t->tags[i] & grown.mask;
    while (grown.tags[at]) at = (at + 1) & grown.mask;
    grown.tags[at] = t->tags[i];
    grown.nodes[at] = t->nodes[i];
  }
  nxi_free(t->tags);
  nxi_free(t->nodes);
  *t = grown;
  return true;
}

__attribute__((noinline)) static bool add_to_rest(nxi_table *t, nxi_node *n, uint32_t tag,
                                                  nxi_node **equal) {
  if ((!t->tags || t->used > t->mask / 4 * 3) && !grow_rest(t)) return false;
  uint32_t at = tag & t->mask;
  for (; t->tags[at]; at = (at + 1) & t->mask) {
    if (t->tags[at] != tag || !same_key(n, t->nodes[at])) continue;
    *equal = t->nodes[at];
    return true;
  }
  t->tags[at] = tag;
  t->nodes[at] = n;
  t->used++;
  n->place = NXI_NOT_IN_SET;
  return true;
}

__attribute__((noinline)) static void remove_from_rest(nxi_table *t, const nxi_node *n,
                                                       uint32_t tag) {
  uint32_t at = tag & t->mask;
  while (t->tags[at] != tag || t->nodes[at] != n) at = (at + 1) & t->mask;
  for (uint32_t next = (at + 1) & t->mask; t->tags[next]; next = (next + 1) & t->mask) {
    uint32_t wanted = t->tags[next] & t->mask;
    if (((next - wanted) & t->mask) < ((next - at) & t->mask))
      continue; /* it may not move before its place */
    t->tags[at] = t->tags[next];
    t->nodes[at] = t->nodes[next];
    at = next;
  }
  t->tags[at] = 0;
  t->used--;
}

/* ---- both */

bool nxi_table_add(nx_context *c, nxi_node *n, nxi_node **equal) {
  NXI_HELD(&c->record_lock);
  nxi_table *t = &c->table;
  *equal = NULL;
  const uint64_t newest = hash_node(n);
  uint32_t tag = n->hash;
  if (n->n_args == 0) return add_to_rest(t, n, tag, equal);
  if (!nxi_table_roomy(t) && !grow_sets(t)) return false;
  uint32_t set = nxi_table_set(t, newest);
  if (nxi_table_has_tag(t->set_tags + set, tag) && (*equal = find_in_set(t, set, n, tag)))
    return true;
  int32_t place = nxi_table_free_place(t, set);
  if (place < 0) return add_to_rest(t, n, tag, equal);
  nxi_table_put(t, (uint32_t)place, tag, n);
  return true;
}

static nxi_node *find(nx_context *c, nxi_node *n) {
  const nxi_table *t = &c->table;
  hash_node(n);
  uint32_t tag = n->hash;
  if (t->set_tags) {
    nxi_node *found = find_in_set(t, set_of(t, n), n, tag);
    if (found) return found;
  }
  if (t->tags)
    for (uint32_t at = tag & t->mask; t->tags[at]; at = (at + 1) & t->mask)
      if (t->tags[at] == tag && same_key(n, t->nodes[at])) return t->nodes[at];
  return NULL;
}

/* Results may differ in type: what is wanted has the type that the call gives it. */
nxi_node *nxi_table_result(nx_context *c, nxi_node *n, const nxg_array *type, uint32_t attr,
                           uint32_t result) {
  NXI_HELD(&c->record_lock);
  uint32_t words = (uint32_t)type->rank + n->n_attrs + n->n_args;
  nxi_node *like = nxi_malloc(sizeof *like + words * sizeof(int64_t));
  if (!like) return NULL; /* then it is computed by a call of its own */
  memcpy(like, n, sizeof *like);
  like->dtype = (uint8_t)type->dtype;
  like->rank = (uint8_t)type->rank;
  like->size = (uint32_t)(sizeof *like + words * sizeof(int64_t));
  if (type->rank) memcpy(like->tail, type->shape, (size_t)type->rank * sizeof *like->tail);
  memcpy(nxi_node_attrs(like), nxi_node_attrs(n), n->n_attrs * sizeof(int64_t));
  nxi_node_attrs(like)[attr] = result;
  memcpy(nxi_node_args(like), nxi_node_args(n), n->n_args * sizeof(nxi_node *));
  nxi_node *found = find(c, like);
  nxi_free(like);
  return found;
}

/* Apart, so that the usual way saves no registers for it. */
__attribute__((noinline)) static void forget_number(nx_context *c, nxi_node *n) {
  nxi_number_forget(c, n);
  nxi_node_unmark(n, NXI_NODE_NUMBER);
  nxi_table_remove(c, n);
}

void nxi_table_remove(nx_context *c, nxi_node *n) {
  NXI_HELD(&c->record_lock);
  uint8_t flags = atomic_load_explicit(&n->flags, memory_order_relaxed);
  if (flags & NXI_NODE_NUMBER) {
    forget_number(c, n);
    return;
  }
  if (!(flags & NXI_NODE_LISTED)) return;
  flags &= (uint8_t)~NXI_NODE_LISTED;
  atomic_store_explicit(&n->flags, flags, memory_order_relaxed);
  nxi_table *t = &c->table;
  if (n->place == NXI_NOT_IN_SET) {
    remove_from_rest(t, n, n->hash);
    return;
  }
  t->set_tags[n->place] = 0;
  t->set_used--;
}
