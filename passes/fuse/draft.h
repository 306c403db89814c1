/* SPDX-License-Identifier: ISC */
/* Groups while they are being formed (drafts): merging them with union-find, which draft reads
 * which, and their final order. */
#ifndef NXP_CLUSTER_DRAFT_H
#define NXP_CLUSTER_DRAFT_H

#include "space.h"
#include "ir/library/library.h"

#define NXP_NO_GROUP UINT32_MAX
enum { NXP_MAX_CONTEXTS = 4 };

typedef struct nxp_link {
  uint32_t group, next;
} nxp_link;
typedef struct nxp_member {
  uint32_t node, next;
} nxp_member;

typedef struct nxp_draft {
  nxp_group_kind kind;
  uint32_t full;                 /* number of its shape, see nxp_draft_full */
  uint32_t reduced;              /* mask of reduced axes; 0: no reduction yet */
  uint32_t parent;               /* union-find: itself unless merged into another */
  uint32_t members, last_member; /* list: nodes computed here and nowhere else, roots included */
  uint32_t readers, last_reader; /* list: groups that read what this one stores */
  uint32_t sources, last_source; /* list: groups of which this one reads something */
  uint32_t size, weight, reads, n_roots; /* weight: size in code */
  uint32_t before, after;                /* neighbours in the order of all groups (fuse/order.c) */
  uint64_t label;                        /* rises along that order */
  uint64_t stamp;                        /* the last search that found it, and its direction */
  bool scans;      /* it has scans, and `reduced` is their axis; it has no reductions */
  bool full_roots; /* it stores values at the points of the full shape */
  bool crosses;    /* a value at those points reads across the rows, too (nxp_node_state) */
} nxp_draft;

/* A group and its label. */
typedef struct nxp_ordered {
  uint64_t label;
  uint32_t group;
} nxp_ordered;
/* The groups that a search has found in one direction. The edges of those from `next` on have not
 * been followed. */
typedef struct nxp_front {
  nxp_ordered *found;
  uint32_t n, cap, next;
  uint32_t link; /* the next edge to follow, of the group before `next` */
} nxp_front;

enum { NXP_ALONG = 1, NXP_ACROSS = 2 };

typedef struct nxp_node_state {
  uint32_t contexts[NXP_MAX_CONTEXTS];
  uint8_t n_contexts; /* groups in which it is computed with its users; 0: it is unused or stored */
  bool must_store, stored;
  /* How its elements are read from memory, through elementwise work: NXP_ALONG, NXP_ACROSS rows */
  uint8_t reads;
  bool mixes;       /* it is the first to combine both */
  nxp_place place;  /* place in its only group, or in the group that stores it */
  uint32_t group;   /* that stores it */
  uint32_t uses;    /* ways in which it is read: directly, and through each view */
  uint32_t expense; /* cost of computing it from loads */
  bool of_indices;  /* computed of indices and constants, without loads */
} nxp_node_state;

typedef struct nxp_clusterer {
  const nxg_graph *g;
  const nxp_cluster_options *o;
  nxp_node_state *nodes;
  uint32_t *first_user, *user; /* users of node i: user[first_user[i]] .. user[first_user[i + 1]] */
  nxp_draft *drafts;
  uint32_t n_drafts, cap_drafts;
  nxp_shape *shapes; /* shapes of drafts, shared by most neighbours */
  uint32_t n_shapes, cap_shapes;
  nxp_link *links;
  uint32_t n_links, cap_links;
  nxp_member *members;
  uint32_t n_members, cap_members;
  uint32_t first_draft; /* the first in the order */
  uint64_t stamp;
  nxp_front fronts[2];
  int64_t search_budget; /* edges that searches may still follow; each node placed adds some */
  bool failed;
} nxp_clusterer;

static inline bool nxp_is_leaf(const nxp_clusterer *c, uint32_t node) {
  return nxg_ops[c->g->nodes[node].op].kind == NXG_KIND_LEAF;
}
static inline bool nxp_is_view(const nxp_clusterer *c, uint32_t node) {
  return c->g->nodes[node].op == NXG_view;
}
/* Whether a node is a library call, or a scan that is done by one. */
static inline bool nxp_is_call(const nxp_clusterer *c, const nxg_node *n) {
  return nxg_ops[n->op].kind == NXG_KIND_CALL || nxg_is_control(n->op) ||
         nxp_scan_called(c->g, n, c->o->products);
}

/* Whether a node is computed by a library, so that its operands must be in memory. */
static inline bool nxp_is_library(const nxp_clusterer *c, const nxg_node *n) {
  return nxp_is_call(c, n) ||
         (n->op == NXG_matmul && !nxp_matmul_generated(c->g, n, c->o->products));
}

static inline const nxp_shape *nxp_draft_full(const nxp_clusterer *c, const nxp_draft *d) {
  return &c->shapes[d->full];
}
/* If memory is exhausted, the shape is not changed and c->failed is set. */
void nxp_draft_set_full(nxp_clusterer *c, nxp_draft *d, const nxp_shape *full);

/* The cost up to which a value is computed again rather than stored. On a processor it is more for
 * masks of indices alone: passes/kernel/columns_seen.c sees what they hide where they are used. */
uint32_t nxp_cheap(const nxp_clusterer *c, uint32_t node);

/* Whether a GPU computes the value in each of two kernels sooner than one kernel stores it and both
 * load it: it costs less than that, and comes from one array of its own size. */
bool nxp_is_made_again(const nxp_clusterer *c, uint32_t node);
/* Allocates `nodes` (zeroed) and fills first_user and user. False: memory is exhausted. */
bool nxp_index_users(nxp_clusterer *c);
/* Decides of each node what must have memory, and what its value costs from loads. */
void nxp_examine_nodes(nxp_clusterer *c);
void nxp_clusterer_free(nxp_clusterer *c);
/* The operand of a node that the fewest nodes read. */
uint32_t nxp_rarest_operand(const nxp_clusterer *c, const nxg_node *n);
/* Whether a value at the kept points is computed from a reduction that will join the group with
 * this full shape. The value is then computed once for each kept point, outside the inner loops.
 * `budget` limits the number of nodes that are visited. */
bool nxp_rests_on_reduction(const nxp_clusterer *c, uint32_t node, const nxp_shape *full,
                            uint32_t reduced, int *budget);
uint32_t nxp_draft_find(nxp_clusterer *c, uint32_t group);
/* A new draft; NXP_NO_GROUP, with c->failed set, if memory is exhausted. */
uint32_t nxp_draft_new(nxp_clusterer *c, nxp_group_kind kind, const nxp_shape *full,
                       uint32_t reduced);
/* Records that `reader` reads what `group` stores; `group` must not depend on `reader`. */
void nxp_draft_add_reader(nxp_clusterer *c, uint32_t group, uint32_t reader);
void nxp_draft_add_member(nxp_clusterer *c, uint32_t group, uint32_t node);
/* Merges b into a. nxp_order_adjoin must have returned true for them just before. */
void nxp_draft_merge(nxp_clusterer *c, uint32_t a, uint32_t b);
/* The finished groups, in an order in which each comes after those it reads. */
nx_status nxp_drafts_write(nxp_clusterer *c, nxp_clusters *out, nxi_diag *d);

/* ---- fuse/order.c: which groups depend on which. The answers are exact, except that in a graph
 * whose searches exceed their budget an undecided question is answered by "they depend", which at
 * worst prevents a fusion. */

/* The budget of edges that all searches of a graph may follow together: a constant, and an amount
 * for each node. */
enum { NXP_SEARCH_BASE = 1 << 22, NXP_SEARCH_NODE = 64 };
/* Puts a new group before all others; it must not read anything yet. */
void nxp_order_first(nxp_clusterer *c, uint32_t group);
void nxp_order_remove(nxp_clusterer *c, uint32_t group);
/* Whether `a` may come before `b`, because it does not depend on it. If so, `a` is moved before
 * `b`. */
bool nxp_order_before(nxp_clusterer *c, uint32_t a, uint32_t b);
/* Moves `group` before `reader` in the order, where it is known that this is possible. */
void nxp_order_read(nxp_clusterer *c, uint32_t group, uint32_t reader);
/* Whether two groups may be merged, because neither depends on the other. If so, they are made
 * neighbours in the order. */
bool nxp_order_adjoin(nxp_clusterer *c, uint32_t a, uint32_t b);

#endif
