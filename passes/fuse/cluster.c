/* SPDX-License-Identifier: ISC */
/* Decides which nodes are computed in one kernel. Nodes are visited from the last to the first,
 * so that all users of a node have their group before the node gets one. A node that needs no
 * memory of its own is computed inside each group that uses it. All others are stored: in a
 * group of their own, or in one that already iterates over the same points.
 *
 * The cost model, in vector operations for each element (scalar_ops.def):
 *  - A value used by several groups that cannot be merged is computed in each of them if that
 *    costs at most nxp_cheap, as much as storing and loading it (GPU: nxp_is_made_again).
 *  - A value read at several positions of one group (x and x shifted) is stored if computing it
 *    at each costs more than nxp_cheap a position.
 *  - An expensive value that is broadcast along outer axes would be computed again at every
 *    point there. It is stored if it has at most a quarter of the points.
 *  - A reduction joins the group of its users if they iterate over its kept axes, or over its
 *    full shape with the result broadcast back. In that case the run must fit the cache, because
 *    later stages read it again, and there must be points for all threads (nxp_rows_fit).
 *  - A group iterates over a longer run only once. It may also store values at the elements of such
 *    a run if there is enough work for all threads (stores_in_runs). So a softmax over few long
 *    rows stores the exp in the loop that sums it: five passes over memory instead of six.
 *  - A large value that combines what is read along rows with what is read across them (x and its
 *    transpose) is not computed in the loops of a reduction, where one of the two is read with a
 *    stride, but stored: elementwise work transposes in tiles (crosses_in).
 *  - Groups that read a common value at the same points are merged, unless one of them depends on
 *    the other, directly or through a third group.
 *  - A group has at most MAX_SIZE operations (a function counts as the instructions it becomes),
 *    MAX_READS distinct reads and MAX_ROOTS stored nodes. This bounds the time in which the largest
 *    kernel compiles, and keeps the time of this pass linear in the size of the graph. */
#include "draft.h"
#include "ir/library/library.h"
#include "passes/kernel/passes.h"

#include <string.h>

enum { MAX_SIZE = 320, MAX_READS = 24, MAX_ROOTS = 8, TIGHT_COST = 64 };

/* ---- merging */

static int64_t element_bytes(const nxp_clusterer *c, uint32_t node) {
  return nxi_dtype_size(nxi_compute_dtype(c->g->nodes[node].dtype));
}

/* Whether a group that reduces runs which do not fit in the cache may also store values at each of
 * their elements, in the one iteration over them. There must be work for all threads: either enough
 * units, or the reduction can be split, which needs a single reduced axis and reductions that
 * kernel/split.c can split. */
static bool stores_in_runs(const nxp_clusterer *c, const nxp_draft *d) {
  bool last = d->reduced >> (nxp_draft_full(c, d)->rank - 1) & 1, arg = false, sum = false;
  int partials = 0;
  for (uint32_t i = d->members; i != NXP_NO_GROUP; i = c->members[i].next) {
    const nxg_node *n = &c->g->nodes[c->members[i].node];
    if (n->op == NXG_matmul) return false;
    if (nxg_ops[n->op].kind != NXG_KIND_REDUCE) continue;
    bool is_arg = nxg_finds_index(n->op);
    arg = arg || is_arg;
    sum = sum || !nxk_any_order(nxg_reduce_kind(n->op), n->dtype);
    partials += 1 + is_arg;
  }
  bool gpu = c->o->target->block_threads > 0;
  int64_t columns = last ? 1 : gpu ? NXK_GPU_COLUMNS : NXK_SPLIT_COLUMNS;
  int64_t strips = nxp_points(nxp_draft_full(c, d), d->reduced, true) / columns;
  bool one_axis = (d->reduced & (d->reduced - 1)) == 0;
  return strips >= (gpu ? NXK_GPU_STRIPS : NXK_SPLIT_STRIPS) ||
         (one_axis && !(arg && sum) && partials <= NXK_MAX_PARTIALS);
}

/* Whether a group that reduces the axes `reduced` (the draft `reducing`) may also do other work at
 * the points of its full shape. */
static bool may_walk(const nxp_clusterer *c, const nxp_draft *reducing, const nxp_shape *full,
                     uint32_t reduced, uint32_t node) {
  return nxp_rows_fit(full, reduced, element_bytes(c, node), c->o->target) ||
         stores_in_runs(c, reducing);
}

/* Whether `node`, at this place of the group, reads across the rows that the group reduces. A store
 * goes along the rows. */
static bool crosses_in(const nxp_clusterer *c, uint32_t node, const nxp_draft *d, nxp_place place) {
  return d->reduced != 0 && !d->scans && place.space == NXP_SPACE_FULL &&
         (c->nodes[node].reads & NXP_ACROSS) != 0;
}

/* Whether groups a and b, which both read `node`, may be merged. If so, they are made neighbours in
 * the order of all groups. */
static bool may_merge(nxp_clusterer *c, uint32_t a, uint32_t b, uint32_t node) {
  const nxp_draft *x = &c->drafts[a], *y = &c->drafts[b];
  if (x->kind != NXP_GROUP_KERNEL || y->kind != NXP_GROUP_KERNEL ||
      !nxp_shape_equal(nxp_draft_full(c, x), nxp_draft_full(c, y)))
    return false;
  /* elementwise work may join a scan; reductions, and scans along other axes, may not */
  if (x->scans || y->scans) {
    if (x->reduced && y->reduced && (x->reduced != y->reduced || x->scans != y->scans))
      return false;
  } else if (x->reduced != y->reduced) {
    uint32_t reduced = x->reduced | y->reduced;
    if ((x->reduced && y->reduced) || (x->reduced ? y : x)->crosses ||
        !may_walk(c, x->reduced ? x : y, nxp_draft_full(c, x), reduced, node))
      return false;
  }
  if (c->o->tight && !x->reduced && !y->reduced) return false;
  if (x->weight + y->weight > MAX_SIZE || x->reads + y->reads > MAX_READS ||
      x->n_roots + y->n_roots > MAX_ROOTS)
    return false;
  return nxp_order_adjoin(c, a, b);
}

/* ---- a node's uses */

typedef struct usage {
  uint32_t contexts[NXP_MAX_CONTEXTS + 1];
  uint32_t n_contexts; /* NXP_MAX_CONTEXTS + 1: too many */
  nxp_place place;     /* the place that all uses have in common, else ANY */
  bool first;
  uint32_t ways;  /* number of different ways in which it is read */
  bool broadcast; /* read through a broadcast along axes outside some axis that it depends on */
} usage;

static void add_context(nxp_clusterer *c, usage *u, uint32_t group) {
  group = nxp_draft_find(c, group);
  for (uint32_t i = 0; i < u->n_contexts; i++)
    if (u->contexts[i] == group) return;
  if (u->n_contexts <= NXP_MAX_CONTEXTS) u->contexts[u->n_contexts++] = group;
}

static void add_place(usage *u, nxp_place p) {
  if (u->first) u->place = p;
  else if (u->place.space != p.space || u->place.broadcast != p.broadcast)
    u->place = (nxp_place){NXP_SPACE_ANY, 0};
  u->first = false;
}

/* Place at which `user` reads an operand. A gather reads its indices at its own points. */
static nxp_place reading_place(const nxp_clusterer *c, uint32_t user, uint32_t operand) {
  const nxg_node *n = &c->g->nodes[user];
  const nxp_node_state *s = &c->nodes[user];
  nxg_kind kind = (nxg_kind)nxg_ops[n->op].kind;
  if (n->op == NXG_gather && n->args[1] == operand && n->args[0] != operand) return s->place;
  if (n->op == NXG_copy || n->op == NXG_interleave || kind == NXG_KIND_MAP || nxg_is_scan(n->op))
    return s->place;
  if (n->op == NXG_update) return (nxp_place){NXP_SPACE_FULL, 0};
  if (kind == NXG_KIND_REDUCE) {
    nxp_shape full;
    uint32_t reduced;
    if (!nxp_reduce_space(c->g, n, c->o->products, &full, &reduced)) return s->place;
    return (nxp_place){s->place.space == NXP_SPACE_ANY ? NXP_SPACE_ANY : NXP_SPACE_FULL, 0};
  }
  return (nxp_place){NXP_SPACE_ANY, 0};
}

/* Whether a user reads its operands at positions other than the points of its group. A value that
 * is computed there is computed once more. */
static bool reads_elsewhere(const nxp_clusterer *c, uint32_t user, uint32_t operand) {
  return c->nodes[user].place.space == NXP_SPACE_ANY ||
         reading_place(c, user, operand).space == NXP_SPACE_ANY;
}

static void add_use(nxp_clusterer *c, usage *u, uint32_t node, uint32_t user,
                    const nxg_node *view) {
  const nxp_node_state *s = &c->nodes[user];
  const nxg_node *n = &c->g->nodes[user];
  if (nxp_is_library(c, n)) {
    add_context(c, u, s->group);
    add_place(u, (nxp_place){NXP_SPACE_ANY, 0});
    return;
  }
  if (n->op == NXG_update && n->args[1] != node &&
      (view == NULL || c->g->nodes[n->args[1]].args != view->args)) {
    add_context(c, u, s->group); /* the memory that is updated, not a value that is read */
    add_place(u, (nxp_place){NXP_SPACE_ANY, 0});
    return;
  }
  if (s->stored) add_context(c, u, s->group);
  for (uint32_t i = 0; i < s->n_contexts; i++) add_context(c, u, s->contexts[i]);
  nxp_place at = reading_place(c, user, view != NULL ? (uint32_t)(view - c->g->nodes) : node);
  if (u->n_contexts == 1)
    at = nxp_operand_place(c->g, nxp_draft_full(c, &c->drafts[u->contexts[0]]), at, view,
                           &c->g->nodes[node]);
  else if (view != NULL || at.space != NXP_SPACE_FULL) at = (nxp_place){NXP_SPACE_ANY, 0};
  add_place(u, at);
}

static bool is_placed(const nxp_clusterer *c, uint32_t user) {
  return c->nodes[user].stored || c->nodes[user].n_contexts > 0;
}

static void collect_uses(nxp_clusterer *c, uint32_t node, usage *u) {
  *u = (usage){.first = true};
  for (uint32_t i = c->first_user[node]; i < c->first_user[node + 1]; i++) {
    uint32_t user = c->user[i];
    if (i > c->first_user[node] && user == c->user[i - 1]) { /* the same user reads it twice */
      u->ways += c->g->nodes[user].op == NXG_cat && is_placed(c, user);
      continue;
    }
    if (!nxp_is_view(c, user)) {
      if (!is_placed(c, user)) continue;
      u->ways += u->ways == 0 || reads_elsewhere(c, user, node);
      u->broadcast = u->broadcast || nxp_reads_again(c->g, user, node, c->nodes[node].expense);
      add_use(c, u, node, user, NULL);
      continue;
    }
    bool used = false;
    for (uint32_t j = c->first_user[user]; j < c->first_user[user + 1]; j++) {
      if (!is_placed(c, c->user[j]) && !nxp_is_view(c, c->user[j])) continue;
      used = true;
      if (nxp_is_view(
              c, c->user[j])) { /* views are composed before this pass; if they are not, the place
                                 * is unknown */
        u->n_contexts = NXP_MAX_CONTEXTS + 1;
        continue;
      }
      add_use(c, u, node, c->user[j], &c->g->nodes[user]);
      u->broadcast =
          u->broadcast || nxp_reads_again(c->g, c->user[j], user, c->nodes[node].expense);
    }
    u->ways += used;
    if (used && nxg_node_elements(&c->g->nodes[user]) / 4 >= nxg_node_elements(&c->g->nodes[node]))
      u->broadcast = true;
  }
}

/* ---- placing */

/* Records that all groups in which a user of a stored node is computed read the group that stores
 * it. */
static void add_readers_through(nxp_clusterer *c, uint32_t node, uint32_t group, uint32_t user,
                                const nxg_node *view) {
  usage one = {.first = true};
  if (!is_placed(c, user)) return;
  add_use(c, &one, node, user, view);
  for (uint32_t k = 0; k < one.n_contexts; k++) nxp_draft_add_reader(c, group, one.contexts[k]);
}

static void store_in(nxp_clusterer *c, uint32_t node, uint32_t group, nxp_place place,
                     const usage *u) {
  nxp_node_state *s = &c->nodes[node];
  nxp_draft *d = &c->drafts[group];
  s->stored = true;
  s->group = group;
  s->place = place;
  s->n_contexts = 0;
  d->n_roots++;
  d->size++;
  d->weight += nxp_weight(&c->g->nodes[node]);
  d->full_roots = d->full_roots || place.space == NXP_SPACE_FULL;
  d->crosses = d->crosses || (place.space == NXP_SPACE_FULL && (s->reads & NXP_ACROSS) != 0);
  nxp_draft_add_member(c, group, node);
  for (uint32_t i = 0; i < u->n_contexts && i < NXP_MAX_CONTEXTS; i++)
    nxp_draft_add_reader(c, group, u->contexts[i]);
  if (u->n_contexts <= NXP_MAX_CONTEXTS) return;
  for (uint32_t i = c->first_user[node]; i < c->first_user[node + 1];
       i++) { /* too many to be listed in u: visit all users */
    uint32_t user = c->user[i];
    if (!nxp_is_view(c, user)) add_readers_through(c, node, group, user, NULL);
    for (uint32_t j = c->first_user[user]; nxp_is_view(c, user) && j < c->first_user[user + 1]; j++)
      if (!nxp_is_view(c, c->user[j]))
        add_readers_through(c, node, group, c->user[j], &c->g->nodes[user]);
  }
}

static void inline_in(nxp_clusterer *c, uint32_t node, const usage *u) {
  nxp_node_state *s = &c->nodes[node];
  s->n_contexts = (uint8_t)u->n_contexts;
  s->place = u->place;
  for (uint32_t i = 0; i < u->n_contexts; i++) {
    s->contexts[i] = u->contexts[i];
    uint32_t times = u->place.space == NXP_SPACE_ANY ? u->ways : 1;
    if (u->place.space == NXP_SPACE_FULL && s->mixes) c->drafts[u->contexts[i]].crosses = true;
    c->drafts[u->contexts[i]].size += times;
    c->drafts[u->contexts[i]].weight += times * nxp_weight(&c->g->nodes[node]);
  }
  if (u->n_contexts == 1) nxp_draft_add_member(c, u->contexts[0], node);
}

/* Makes a group without reductions reduce: its shape becomes the kept axes of the larger shape
 * `full`. */
static void become_reduction(nxp_clusterer *c, uint32_t group, const nxp_shape *full,
                             uint32_t reduced) {
  nxp_draft *d = &c->drafts[group];
  for (uint32_t i = d->members; i != NXP_NO_GROUP; i = c->members[i].next) {
    nxp_place *p = &c->nodes[c->members[i].node].place;
    if (p->space == NXP_SPACE_FULL) *p = (nxp_place){NXP_SPACE_OUTER, reduced};
    else *p = (nxp_place){NXP_SPACE_ANY, 0};
  }
  nxp_draft_set_full(c, d, full);
  d->reduced = reduced;
  d->full_roots = false;
}

/* Tries to compute a reduction in the group of its users. */
static bool join_reduction(nxp_clusterer *c, uint32_t node, const nxp_shape *full, uint32_t reduced,
                           usage *u) {
  if (u->n_contexts != 1 || u->place.space == NXP_SPACE_ANY) return false;
  uint32_t group = u->contexts[0];
  nxp_draft *d = &c->drafts[group];
  nxp_shape kept;
  if (d->kind != NXP_GROUP_KERNEL || d->weight >= MAX_SIZE || d->scans) return false;
  nxp_kept(full, reduced, &kept);
  bool same = nxp_shape_equal(nxp_draft_full(c, d), full);
  if (d->reduced == 0 && u->place.space == NXP_SPACE_FULL &&
      nxp_shape_equal(nxp_draft_full(c, d), &kept)) {
    become_reduction(c, group, full, reduced);
    u->place = (nxp_place){NXP_SPACE_OUTER, reduced};
    return true;
  }
  if (!same || u->place.space != NXP_SPACE_OUTER || u->place.broadcast != reduced || d->crosses)
    return false;
  if (d->reduced != 0 && d->reduced != reduced) return false;
  if (c->g->nodes[node].op == NXG_matmul ||
      !nxp_rows_fit(full, reduced, element_bytes(c, c->g->nodes[node].args[0]), c->o->target))
    return false;
  d->reduced = reduced;
  return true;
}

/* Merges groups that read a common value where may_merge allows it. Reductions over the same points
 * come to share a kernel in this way. */
static void meet(nxp_clusterer *c, uint32_t node, usage *u) {
  for (uint32_t i = 0; i < u->n_contexts && i < NXP_MAX_CONTEXTS; i++) {
    for (uint32_t j = i + 1; j < u->n_contexts && j < NXP_MAX_CONTEXTS;) {
      if (!may_merge(c, u->contexts[i], u->contexts[j], node)) {
        j++;
        continue;
      }
      nxp_draft_merge(c, u->contexts[i], u->contexts[j]);
      u->contexts[j] = u->contexts[--u->n_contexts];
    }
  }
}

/* For a node that is used by more groups than a usage can hold: each group tries to merge with the
 * few that were visited just before it. */
typedef struct meeting {
  uint32_t recent[NXP_MAX_CONTEXTS], n;
} meeting;

static void meet_recent(nxp_clusterer *c, uint32_t node, meeting *m, uint32_t group) {
  group = nxp_draft_find(c, group);
  for (uint32_t i = 0; i < NXP_MAX_CONTEXTS && i < m->n; i++) {
    uint32_t other = nxp_draft_find(c, m->recent[i]);
    if (other == group) return;
    if (may_merge(c, other, group, node)) {
      nxp_draft_merge(c, other, group);
      return;
    }
  }
  m->recent[m->n++ % NXP_MAX_CONTEXTS] = group;
}

static void meet_user(nxp_clusterer *c, uint32_t node, meeting *m, uint32_t user) {
  const nxp_node_state *s = &c->nodes[user];
  if (s->stored) meet_recent(c, node, m, s->group);
  for (uint32_t i = 0; i < s->n_contexts && i < NXP_MAX_CONTEXTS; i++)
    meet_recent(c, node, m, s->contexts[i]);
}

static void meet_many(nxp_clusterer *c, uint32_t node) {
  meeting m = {.n = 0};
  for (uint32_t i = c->first_user[node]; i < c->first_user[node + 1]; i++) {
    uint32_t user = c->user[i];
    if (!nxp_is_view(c, user)) meet_user(c, node, &m, user);
    for (uint32_t j = c->first_user[user]; nxp_is_view(c, user) && j < c->first_user[user + 1]; j++)
      meet_user(c, node, &m, c->user[j]);
  }
}

static void new_group_for(nxp_clusterer *c, uint32_t node, const usage *u) {
  const nxg_node *n = &c->g->nodes[node];
  nxp_shape full;
  uint32_t reduced = 0;
  nxp_group_kind kind = NXP_GROUP_KERNEL;
  nxp_place place = {NXP_SPACE_FULL, 0};
  bool scans = false;
  if (n->op == NXG_update) {
    kind = NXP_GROUP_UPDATE;
    nxp_squeeze((int32_t)n->attrs[1], n->attrs + 2, &full);
  } else if (nxp_is_library(c, n)) {
    kind = nxp_is_call(c, n) ? NXP_GROUP_CALL : NXP_GROUP_MATMUL;
    nxp_squeeze(n->rank, n->shape, &full);
  } else if (n->op == NXG_scatter) {
    kind = NXP_GROUP_SCATTER;
    nxp_squeeze(n->rank, n->shape, &full);
  } else if (nxp_reduce_space(c->g, n, c->o->products, &full, &reduced)) {
    place = (nxp_place){NXP_SPACE_OUTER, reduced};
  } else if (nxp_scan_space(n, &full, &reduced)) {
    scans = true;
  } else {
    const nxg_node *walked =
        n->op == NXG_interleave ? &c->g->nodes[n->args[0]] : n; /* two stores at each point */
    nxp_squeeze(walked->rank, walked->shape, &full);
    kind = n->op == NXG_cat ? NXP_GROUP_CAT : NXP_GROUP_KERNEL;
  }
  uint32_t group = nxp_draft_new(c, kind, &full, reduced);
  if (c->failed) return;
  c->drafts[group].scans = scans;
  store_in(c, node, group, place, u);
}

/* Adds the use by `user` if that is computed in `group`. False if it is computed in other groups as
 * well. */
static bool add_use_in(nxp_clusterer *c, usage *one, uint32_t node, uint32_t user,
                       const nxg_node *view, uint32_t group) {
  usage own = {.first = true};
  if (!is_placed(c, user)) return true;
  add_use(c, &own, node, user, view);
  bool here = false;
  for (uint32_t i = 0; i < own.n_contexts; i++) here = here || own.contexts[i] == group;
  if (!here) return true;
  if (own.n_contexts == 1) add_place(one, own.place);
  return own.n_contexts == 1;
}

/* The place at which `group`, one of several groups that use a node, reads it. */
static nxp_place place_in(nxp_clusterer *c, uint32_t node, uint32_t group) {
  usage one = {.first = true};
  bool known = true;
  for (uint32_t i = c->first_user[node]; known && i < c->first_user[node + 1]; i++) {
    uint32_t user = c->user[i];
    if (!nxp_is_view(c, user)) known = add_use_in(c, &one, node, user, NULL, group);
    for (uint32_t j = c->first_user[user];
         nxp_is_view(c, user) && known && j < c->first_user[user + 1]; j++)
      known = !nxp_is_view(c, c->user[j]) &&
              add_use_in(c, &one, node, c->user[j], &c->g->nodes[user], group);
  }
  return known && !one.first ? one.place : (nxp_place){NXP_SPACE_ANY, 0};
}

/* Whether a group that reads a node point by point may store it. */
static bool may_store(const nxp_clusterer *c, uint32_t node, uint32_t group, nxp_place place) {
  const nxp_draft *d = &c->drafts[group];
  if (d->kind != NXP_GROUP_KERNEL || d->weight >= MAX_SIZE || d->n_roots >= MAX_ROOTS) return false;
  if (place.space == NXP_SPACE_ANY || crosses_in(c, node, d, place)) return false;
  if (d->scans) return place.space == NXP_SPACE_FULL;
  if (place.space == NXP_SPACE_OUTER) return place.broadcast == d->reduced;
  return d->reduced == 0 || may_walk(c, d, nxp_draft_full(c, d), d->reduced, node);
}

/* Stores a node in a group that reads it point by point, if none of the other readers has to run
 * before that group. */
static bool store_with_reader(nxp_clusterer *c, uint32_t node, const usage *u) {
  const nxg_node *n = &c->g->nodes[node];
  if (!c->o->fuse || u->n_contexts > NXP_MAX_CONTEXTS || n->op == NXG_update ||
      n->op == NXG_scatter || n->op == NXG_matmul || n->op == NXG_cat || n->op == NXG_interleave ||
      nxp_is_call(c, n))
    return false;
  if (nxg_node_elements(n) == 0)
    return false; /* a group that reduces it has points, but the node has no elements */
  for (uint32_t i = 0; i < u->n_contexts; i++) {
    uint32_t group = u->contexts[i];
    nxp_place place = u->n_contexts == 1 ? u->place : place_in(c, node, group);
    bool first = may_store(c, node, group, place);
    for (uint32_t k = 0; first && k < u->n_contexts; k++)
      first = k == i || nxp_order_before(c, group, u->contexts[k]);
    if (!first) continue;
    store_in(c, node, group, place, u);
    return true;
  }
  return false;
}

/* Puts all results of one call into one group. This cannot make a dependence cycle, because all
 * results have the same operands. */
static bool store_with_sibling(nxp_clusterer *c, uint32_t node, const usage *u) {
  const nxg_node *n = &c->g->nodes[node];
  if (!nxg_is_control(n->op) && nxg_call_results((nxg_op)n->op) == 1) return false;
  uint32_t shared = nxp_rarest_operand(c, n);
  for (uint32_t i = c->first_user[shared]; i < c->first_user[shared + 1]; i++) {
    uint32_t other = c->user[i];
    if (other == node || !c->nodes[other].stored || !nxg_same_call(n, &c->g->nodes[other]))
      continue;
    store_in(c, node, nxp_draft_find(c, c->nodes[other].group), (nxp_place){NXP_SPACE_FULL, 0}, u);
    return true;
  }
  return false;
}

/* Whether products alone read a node that need not be stored: they multiply what it casts. */
static bool is_read_as_half(const nxp_clusterer *c, uint32_t node, const usage *u) {
  bool products = c->o->products & NXP_OF_HALVES && c->g->nodes[node].op == NXG_cast;
  for (uint32_t i = 0; products && i < u->n_contexts && i < NXP_MAX_CONTEXTS; i++)
    products = c->drafts[u->contexts[i]].kind == NXP_GROUP_MATMUL;
  return products;
}

static bool should_store(const nxp_clusterer *c, uint32_t node, const usage *u) {
  const nxp_node_state *s = &c->nodes[node];
  if (u->n_contexts > NXP_MAX_CONTEXTS) return true; /* more groups than a node can list */
  if (is_read_as_half(c, node, u)) return false;
  const uint32_t cheap = nxp_cheap(c, node), most = c->o->tight ? TIGHT_COST : cheap;
  if (u->n_contexts > 1 && s->expense > most && !nxp_is_made_again(c, node)) return true;
  /* Both words of a block of random bits are results of one computation. */
  uint32_t ways = c->g->nodes[node].op == NXG_threefry ? (u->ways + 1) / 2 : u->ways;
  if (u->place.space == NXP_SPACE_ANY && ways > 1 && s->expense > cheap) return true;
  if (u->broadcast && u->place.space == NXP_SPACE_ANY && s->expense > cheap) return true;
  if (u->broadcast && u->place.space == NXP_SPACE_OUTER && s->expense > cheap) {
    /* The value is hoisted out of the inner loops, and need not be stored, if the axes that it does
     * not depend on are the last ones, or those that the group reduces. */
    const nxp_draft *d = &c->drafts[u->contexts[0]];
    uint32_t last = (uint32_t)1 << (nxp_draft_full(c, d)->rank - 1);
    int budget = 32;
    return !(u->place.broadcast & last) && d->reduced != u->place.broadcast &&
           (d->reduced != 0 ||
            !nxp_rests_on_reduction(c, node, nxp_draft_full(c, d), u->place.broadcast, &budget));
  }
  for (uint32_t i = 0; i < u->n_contexts && s->mixes; i++)
    if (crosses_in(c, node, &c->drafts[u->contexts[i]], u->place)) return true;
  for (uint32_t i = 0; i < u->n_contexts; i++)
    if (c->drafts[u->contexts[i]].weight + u->ways * nxp_weight(&c->g->nodes[node]) > MAX_SIZE ||
        c->drafts[u->contexts[i]].kind == NXP_GROUP_MATMUL ||
        c->drafts[u->contexts[i]].kind == NXP_GROUP_SCATTER ||
        c->drafts[u->contexts[i]].kind == NXP_GROUP_CALL)
      return true;
  return false;
}

static void place_reduction(nxp_clusterer *c, uint32_t node, const nxp_shape *full,
                            uint32_t reduced, usage *u) {
  bool must = c->nodes[node].must_store;
  if (c->o->fuse && join_reduction(c, node, full, reduced, u)) {
    if (must) store_in(c, node, u->contexts[0], u->place, u);
    else inline_in(c, node, u);
    return;
  }
  new_group_for(c, node, u);
}

/* A scan is computed in the group that uses it point by point, if that group has no reductions and
 * no scans along another axis. */
static void place_scan(nxp_clusterer *c, uint32_t node, const nxp_shape *full, uint32_t axis,
                       const usage *u) {
  nxp_draft *d = u->n_contexts == 1 ? &c->drafts[u->contexts[0]] : NULL;
  bool joins = c->o->fuse && d != NULL && u->place.space == NXP_SPACE_FULL &&
               d->kind == NXP_GROUP_KERNEL && nxp_shape_equal(nxp_draft_full(c, d), full) &&
               (d->reduced == 0 || (d->scans && d->reduced == axis)) && d->weight < MAX_SIZE &&
               d->n_roots < MAX_ROOTS;
  if (!joins) {
    new_group_for(c, node, u);
    return;
  }
  d->reduced = axis;
  d->scans = true;
  if (c->nodes[node].must_store) store_in(c, node, u->contexts[0], u->place, u);
  else inline_in(c, node, u);
}

static void place(nxp_clusterer *c, uint32_t node) {
  usage u;
  nxp_shape full;
  uint32_t reduced;
  bool must = c->nodes[node].must_store;
  collect_uses(c, node, &u);
  if (u.n_contexts == 0 && !must) return;
  bool read = !nxp_is_leaf(c, node) || c->g->nodes[node].op == NXG_input;
  if (c->o->fuse && read && u.n_contexts > NXP_MAX_CONTEXTS) {
    meet_many(c, node);
    collect_uses(c, node, &u);
  } else if (c->o->fuse && read && u.n_contexts > 1) {
    meet(c, node, &u);
    if (u.n_contexts == 1) collect_uses(c, node, &u);
  }
  if (nxp_is_leaf(c, node) && !must) {
    for (uint32_t i = 0; i < u.n_contexts && i < NXP_MAX_CONTEXTS; i++)
      c->drafts[u.contexts[i]].reads++;
    return;
  }
  if (nxp_reduce_space(c->g, &c->g->nodes[node], c->o->products, &full, &reduced)) {
    place_reduction(c, node, &full, reduced, &u);
    return;
  }
  if (!nxp_is_call(c, &c->g->nodes[node]) && nxp_scan_space(&c->g->nodes[node], &full, &reduced)) {
    place_scan(c, node, &full, reduced, &u);
    return;
  }
  if (!must && !should_store(c, node, &u)) {
    inline_in(c, node, &u);
    return;
  }
  uint32_t op = c->g->nodes[node].op;
  bool several = nxg_ops[op].kind == NXG_KIND_CALL || nxg_is_control(op);
  if (several && store_with_sibling(c, node, &u)) return;
  if (u.n_contexts == 0 || !store_with_reader(c, node, &u)) new_group_for(c, node, &u);
}

nx_status nxp_cluster(const nxg_graph *g, const nxp_cluster_options *o, nxp_clusters **out,
                      nxi_diag *d) {
  nxp_clusterer c = {.g = g, .o = o, .first_draft = NXP_NO_GROUP, .search_budget = NXP_SEARCH_BASE};
  nxp_clusters *result = nxi_calloc(1, sizeof *result);
  c.failed = result == NULL || !nxp_index_users(&c);
  if (!c.failed) nxp_examine_nodes(&c);
  for (uint32_t i = g->n_nodes; i-- > 0 && !c.failed; c.search_budget += NXP_SEARCH_NODE)
    if (!nxp_is_view(&c, i)) place(&c, i);
  nx_status status = c.failed ? nxi_oom(d) : nxp_drafts_write(&c, result, d);
  nxp_clusterer_free(&c);
  if (status == NX_OK) *out = result;
  else nxp_clusters_destroy(result);
  return status;
}

void nxp_clusters_destroy(nxp_clusters *c) {
  if (c == NULL) return;
  nxi_arena_destroy(&c->arena);
  nxi_free(c);
}
