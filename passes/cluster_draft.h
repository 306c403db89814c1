/* SPDX-License-Identifier: ISC */
/* Groups while they are being formed: a union-find of drafts, who reads whom, and their final order. */
#ifndef NXP_CLUSTER_DRAFT_H
#define NXP_CLUSTER_DRAFT_H

#include "cluster_space.h"
#include "ir/library.h"

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
  nxp_shape full;
  uint32_t reduced;              /* 0: nothing folded yet */
  uint32_t parent;               /* union-find; itself if alive */
  uint32_t members, last_member; /* list: nodes computed here and nowhere else, roots included */
  uint32_t readers;              /* list: groups that read what this one stores */
  uint32_t size, weight, reads, n_roots; /* weight: size in code */
  uint32_t low, high;                    /* smallest stored node, largest node */
  uint32_t stamp;
  bool scans;      /* `reduced` is the axis that scans run along; nothing is folded */
  bool full_roots; /* stores at the points of the full shape */
} nxp_draft;

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
  nxp_link *links;
  uint32_t n_links, cap_links;
  nxp_member *members;
  uint32_t n_members, cap_members;
  uint32_t stamp;
  bool failed;
} nxp_clusterer;

/* Calls, and scans that are carried out as such. */
static inline bool nxp_is_call(const nxp_clusterer *c, const nxg_node *n) {
  return nxg_ops[n->op].kind == NXG_KIND_CALL || nxp_scan_called(n, c->o->products);
}

/* What runs outside of kernels, and needs its operands in memory. */
static inline bool nxp_is_library(const nxp_clusterer *c, const nxg_node *n) {
  return nxp_is_call(c, n) ||
         (n->op == NXG_matmul && !nxp_matmul_generated(c->g, n, c->o->products));
}

/* Fills nodes (zero), first_user and user. False without memory. */
bool nxp_index_users(nxp_clusterer *c);
/* Whether a fold from which this value of the kept points is made will join the group that walks `full`: then the value is
 * computed once for each of them, outside the inner loops. Looks at a few nodes only. */
bool nxp_rests_on_fold(const nxp_clusterer *c, uint32_t node, const nxp_shape *full,
                       uint32_t reduced, int *budget);
uint32_t nxp_draft_find(nxp_clusterer *c, uint32_t group);
/* NXP_NO_GROUP and c->failed without memory, as below. */
uint32_t nxp_draft_new(nxp_clusterer *c, nxp_group_kind kind, const nxp_shape *full,
                       uint32_t reduced);
void nxp_draft_add_reader(nxp_clusterer *c, uint32_t group, uint32_t reader);
void nxp_draft_add_member(nxp_clusterer *c, uint32_t group, uint32_t node);
/* Whether `to` reads, directly or through others, what `from` stores; undecided after a long search: yes. */
bool nxp_draft_reaches(nxp_clusterer *c, uint32_t from, uint32_t to);
void nxp_draft_merge(nxp_clusterer *c, uint32_t a, uint32_t b);
/* The finished groups, in an order in which each comes after those it reads. */
nx_status nxp_drafts_write(nxp_clusterer *c, nxp_clusters *out, nxi_diag *d);

#endif
