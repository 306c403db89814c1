/* SPDX-License-Identifier: ISC */
/* The table that merges equal operations, as table.c and recording share it: its hash, and the sets
 * in which nearly all nodes are. record_lock. */
#ifndef NXI_TABLE_H
#define NXI_TABLE_H

#include "context.h"

/* ---- the hash. Multiplies the words that were mixed so far with a number, or with that and
 * another word, and folds the product: each bit of the words changes about half of the result. It
 * is over ids of operands, not addresses, so that it is the same in every run. */
__extension__ typedef unsigned __int128 nxi_wide;
#define NXI_HASH_ODD UINT64_C(0x9e3779b97f4a7c15)
static inline uint64_t nxi_mix_two(uint64_t hash, uint64_t word, uint64_t other) {
  nxi_wide product = (nxi_wide)(hash ^ word) * (NXI_HASH_ODD ^ other);
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}
static inline uint64_t nxi_mix(uint64_t hash, uint64_t word) { return nxi_mix_two(hash, word, 0); }

/* type: nxi_node_type. */
static inline uint64_t nxi_hash_words(uint32_t type, uint32_t device, uint32_t n_args,
                                      const int64_t *words, uint32_t n) {
  uint64_t head = (uint64_t)type | (uint64_t)n_args << 32 | (uint64_t)device << 56, hash;
  hash = nxi_mix_two(UINT64_C(0xd6e8feb86659fd93), head, n ? (uint64_t)words[0] : 0);
  for (uint32_t i = 1; i < n; i++) hash = nxi_mix(hash, (uint64_t)words[i]);
  return hash;
}
/* What a table keeps of a hash: 0 means "free". */
static inline uint32_t nxi_hash_tag(uint64_t hash) { return (uint32_t)hash ? (uint32_t)hash : 1; }

/* ---- sets by the newest operand */

/* The first place of its set. An operation takes two numbers, its own and its storage's: a set is
 * about half full when the operations of a chain fill it. */
static inline uint32_t nxi_table_set(const nxi_table *t, uint64_t newest) {
  return ((uint32_t)(newest / NXI_SET) & t->set_mask) * NXI_SET;
}

/* Whether there are sets, and room in them. */
static inline bool nxi_table_roomy(const nxi_table *t) {
  return t->set_tags && t->set_used / (NXI_SET / 2) <= t->set_mask;
}

typedef uint32_t nxi_four_tags __attribute__((vector_size(16)));
typedef uint64_t nxi_two_words __attribute__((vector_size(16)));

/* Whether one of the set's tags is this; nearly never. */
static inline bool nxi_table_has_tag(const uint32_t *tags, uint32_t tag) {
  nxi_four_tags first, last;
  memcpy(&first, tags, sizeof first);
  memcpy(&last, tags + NXI_SET / 2, sizeof last);
  nxi_two_words same = (nxi_two_words)((first == tag) | (last == tag));
  return (same[0] | same[1]) != 0;
}

/* The first free place of the set that begins at this one, or -1. */
static inline int32_t nxi_table_free_place(const nxi_table *t, uint32_t set) {
  for (uint32_t i = set; i < set + NXI_SET; i++)
    if (!t->set_tags[i]) return (int32_t)i;
  return -1;
}

static inline void nxi_table_put(nxi_table *t, uint32_t place, uint32_t tag, nxi_node *n) {
  t->set_tags[place] = tag;
  t->set_nodes[place] = n;
  t->set_used++;
  n->place = place;
}

#endif
