/* SPDX-License-Identifier: ISC */
/* Groups while they are being formed: a union-find of drafts, who reads whom, and their final
 * order. */
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
  uint32_t full;                 /* its shape: nxp_draft_full */
  uint32_t reduced;              /* 0: nothing folded yet */
  uint32_t parent;               /* union-find; itself if alive */
  uint32_t members, last_member; /* list: nodes computed here and nowhere else, roots included */
  uint32_t readers, last_reader; /* list: groups that read what this one stores */
  uint32_t sources, last_source; /* list: groups of which this one reads something */
  uint32_t size, weight, reads, n_roots; /* weight: size in code */
  uint32_t before, after;                /* neighbours in the order of all groups (fuse/order.c) */
  uint64_t label;                        /* rises along that order */
  uint64_t stamp;                        /* the last search that found it, and which way */
  bool scans;      /* `reduced` is the axis that scans run along; nothing is folded */
  bool full_roots; /* stores at the points of the full shape */
} nxp_draft;

/* A group with the label that it had. */
typedef struct nxp_ordered {
  uint64_t label;
  uint32_t group;
} nxp_ordered;
/* What a search has found one way; what is from `next` on has not been looked at. */
typedef struct nxp_front {
  nxp_ordered *found;
  uint32_t n, cap, next;
  uint32_t link; /* the next edge to follow, of the group before `next` */
} nxp_front;

typedef struct nxp_node_state {
  uint32_t contexts[NXP_MAX_CONTEXTS];
  uint8_t n_contexts; /* of a node computed in its users' groups; 0: unused or stored */
  bool must_store, stored;
  nxp_place place;  /* in its only group, or as stored node */
  uint32_t group;   /* that stores it */
  uint32_t uses;    /* ways it is read: directly, and a view each */
  uint32_t expense; /* of computing it from loads */
} nxp_node_state;

typedef struct nxp_clusterer {
  const nxg_graph *g;
  const nxp_cluster_options *o;
  nxp_node_state *nodes;
  uint32_t *first_user, *user; /* users of node i: user[first_user[i]] .. user[first_user[i + 1]] */
  nxp_draft *drafts;
  uint32_t n_drafts, cap_drafts;
  nxp_shape *shapes; /* of drafts: neighbours mostly have the same */
  uint32_t n_shapes, cap_shapes;
  nxp_link *links;
  uint32_t n_links, cap_links;
  nxp_member *members;
  uint32_t n_members, cap_members;
  uint32_t first_draft; /* of the order */
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
/* Calls, and scans that are carried out as such. */
static inline bool nxp_is_call(const nxp_clusterer *c, const nxg_node *n) {
  return nxg_ops[n->op].kind == NXG_KIND_CALL || nxp_scan_called(n, c->o->products);
}

/* What runs outside of kernels, and needs its operands in memory. */
static inline bool nxp_is_library(const nxp_clusterer *c, const nxg_node *n) {
  return nxp_is_call(c, n) ||
         (n->op == NXG_matmul && !nxp_matmul_generated(c->g, n, c->o->products));
}

static inline const nxp_shape *nxp_draft_full(const nxp_clusterer *c, const nxp_draft *d) {
  return &c->shapes[d->full];
}
/* Without memory it keeps the shape that it had, and the clusterer has failed. */
void nxp_draft_set_full(nxp_clusterer *c, nxp_draft *d, const nxp_shape *full);

/* Fills nodes (zero), first_user and user. False without memory. */
bool nxp_index_users(nxp_clusterer *c);
/* Decides of each node what must have memory, and what its value costs from loads. */
void nxp_examine_nodes(nxp_clusterer *c);
void nxp_clusterer_free(nxp_clusterer *c);
/* The operand of a node that the fewest nodes read. */
uint32_t nxp_rarest_operand(const nxp_clusterer *c, const nxg_node *n);
/* Whether a fold from which this value of the kept points is made will join the group that walks
 * `full`: then the value is computed once for each of them, outside the inner loops. Looks at a few
 * nodes only. */
bool nxp_rests_on_fold(const nxp_clusterer *c, uint32_t node, const nxp_shape *full,
                       uint32_t reduced, int *budget);
uint32_t nxp_draft_find(nxp_clusterer *c, uint32_t group);
/* NXP_NO_GROUP and c->failed without memory, as below. */
uint32_t nxp_draft_new(nxp_clusterer *c, nxp_group_kind kind, const nxp_shape *full,
                       uint32_t reduced);
/* `reader`, which `group` does not depend on, reads what `group` stores. */
void nxp_draft_add_reader(nxp_clusterer *c, uint32_t group, uint32_t reader);
void nxp_draft_add_member(nxp_clusterer *c, uint32_t group, uint32_t node);
/* b becomes a part of a: after nxp_order_adjoin, which says that it may. */
void nxp_draft_merge(nxp_clusterer *c, uint32_t a, uint32_t b);
/* The finished groups, in an order in which each comes after those it reads. */
nx_status nxp_drafts_write(nxp_clusterer *c, nxp_clusters *out, nxi_diag *d);

/* ---- fuse/order.c: which groups depend on which. The answers are exact. Only in a graph of
 * thousands of groups that is made to be searched for long may an answer be "they depend",
 * undecided: a fusion less. */

/* Edges that all searches of a graph may follow together: so many, and more for each node. */
enum { NXP_SEARCH_BASE = 1 << 22, NXP_SEARCH_NODE = 64 };
/* A new group, which reads nothing yet, comes before all others. */
void nxp_order_first(nxp_clusterer *c, uint32_t group);
void nxp_order_remove(nxp_clusterer *c, uint32_t group);
/* Whether `a` may come before `b`, because it does not depend on it; then it does so from now on.
 * */
bool nxp_order_before(nxp_clusterer *c, uint32_t a, uint32_t b);
/* The same where it is known that it may. */
void nxp_order_read(nxp_clusterer *c, uint32_t group, uint32_t reader);
/* Whether two groups may become one, because neither depends on the other; then they are neighbours
 * from now on. */
bool nxp_order_adjoin(nxp_clusterer *c, uint32_t a, uint32_t b);

#endif
