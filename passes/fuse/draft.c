/* SPDX-License-Identifier: ISC */
/* Drafts of fusion groups: merging, reachability, and the order in which they run. */
#include "draft.h"

#include <string.h>

enum { MAX_CAT_INLINE = 4 }; /* operands of a concatenation that is computed where it is read */

uint32_t nxp_draft_find(nxp_clusterer *c, uint32_t group) {
  while (c->drafts[group].parent != group) {
    c->drafts[group].parent = c->drafts[c->drafts[group].parent].parent;
    group = c->drafts[group].parent;
  }
  return group;
}

void nxp_draft_set_full(nxp_clusterer *c, nxp_draft *d, const nxp_shape *full) {
  bool there = c->n_shapes && nxp_shape_equal(&c->shapes[c->n_shapes - 1], full);
  if (!there && !nxi_grow(&c->shapes, &c->cap_shapes, c->n_shapes + 1, sizeof *c->shapes)) {
    c->failed = true;
    return;
  }
  if (!there) c->shapes[c->n_shapes++] = *full;
  d->full = c->n_shapes - 1;
}

uint32_t nxp_draft_new(nxp_clusterer *c, nxp_group_kind kind, const nxp_shape *full,
                       uint32_t reduced) {
  if (!nxi_grow(&c->drafts, &c->cap_drafts, c->n_drafts + 1, sizeof *c->drafts)) {
    c->failed = true;
    return NXP_NO_GROUP;
  }
  c->drafts[c->n_drafts] = (nxp_draft){.kind = kind,
                                       .reduced = reduced,
                                       .parent = c->n_drafts,
                                       .members = NXP_NO_GROUP,
                                       .last_member = NXP_NO_GROUP,
                                       .readers = NXP_NO_GROUP,
                                       .last_reader = NXP_NO_GROUP,
                                       .sources = NXP_NO_GROUP,
                                       .last_source = NXP_NO_GROUP};
  nxp_draft_set_full(c, &c->drafts[c->n_drafts], full);
  if (c->failed) return NXP_NO_GROUP;
  nxp_order_first(c, c->n_drafts);
  return c->n_drafts++;
}

/* Puts a link at the head of a list. */
static void link_to(nxp_clusterer *c, uint32_t group, uint32_t *first, uint32_t *last) {
  c->links[c->n_links] = (nxp_link){group, *first};
  *first = c->n_links++;
  if (*last == NXP_NO_GROUP) *last = *first;
}

/* Appends list y to list x. */
static void append_links(nxp_clusterer *c, uint32_t *x, uint32_t *last_x, uint32_t y,
                         uint32_t last_y) {
  if (y == NXP_NO_GROUP) return;
  if (*x == NXP_NO_GROUP) *x = y;
  else c->links[*last_x].next = y;
  *last_x = last_y;
}

void nxp_draft_add_reader(nxp_clusterer *c, uint32_t group, uint32_t reader) {
  if (group == reader) return;
  if (!nxi_grow(&c->links, &c->cap_links, c->n_links + 2, sizeof *c->links)) {
    c->failed = true;
    return;
  }
  nxp_order_read(c, group, reader);
  link_to(c, reader, &c->drafts[group].readers, &c->drafts[group].last_reader);
  link_to(c, group, &c->drafts[reader].sources, &c->drafts[reader].last_source);
}

void nxp_draft_add_member(nxp_clusterer *c, uint32_t group, uint32_t node) {
  if (!nxi_grow(&c->members, &c->cap_members, c->n_members + 1, sizeof *c->members)) {
    c->failed = true;
    return;
  }
  nxp_draft *d = &c->drafts[group];
  c->members[c->n_members] = (nxp_member){node, NXP_NO_GROUP};
  if (d->members == NXP_NO_GROUP) d->members = c->n_members;
  else c->members[d->last_member].next = c->n_members;
  d->last_member = c->n_members++;
}

void nxp_draft_merge(nxp_clusterer *c, uint32_t a, uint32_t b) {
  nxp_draft *x = &c->drafts[a], *y = &c->drafts[b];
  y->parent = a;
  if (x->members == NXP_NO_GROUP) x->members = y->members;
  else if (y->members != NXP_NO_GROUP) c->members[x->last_member].next = y->members;
  if (y->last_member != NXP_NO_GROUP) x->last_member = y->last_member;
  append_links(c, &x->readers, &x->last_reader, y->readers, y->last_reader);
  append_links(c, &x->sources, &x->last_source, y->sources, y->last_source);
  nxp_order_remove(c, b);
  x->reduced |= y->reduced;
  x->scans = x->scans || y->scans;
  x->size += y->size;
  x->weight += y->weight;
  x->reads += y->reads;
  x->n_roots += y->n_roots;
  x->full_roots = x->full_roots || y->full_roots;
  x->crosses = x->crosses || y->crosses;
}

bool nxp_index_users(nxp_clusterer *c) {
  const nxg_graph *g = c->g;
  uint64_t edges = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++) edges += g->nodes[i].n_args;
  c->nodes = nxi_calloc((size_t)g->n_nodes + 1, sizeof *c->nodes);
  c->first_user = nxi_calloc((size_t)g->n_nodes + 2, sizeof *c->first_user);
  c->user = nxi_malloc((edges + 1) * sizeof *c->user);
  if (c->nodes == NULL || c->first_user == NULL || c->user == NULL) return false;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (uint32_t a = 0; a < g->nodes[i].n_args; a++) c->first_user[g->nodes[i].args[a] + 2]++;
  for (uint32_t i = 0; i < g->n_nodes; i++) c->first_user[i + 2] += c->first_user[i + 1];
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (uint32_t a = 0; a < g->nodes[i].n_args; a++)
      c->user[c->first_user[g->nodes[i].args[a] + 1]++] = i;
  return true;
}

static void store_operand(nxp_clusterer *c, uint32_t node) {
  while (nxp_is_view(c, node)) node = c->g->nodes[node].args[0];
  if (c->g->nodes[node].op != NXG_input) c->nodes[node].must_store = true;
}

/* Elementwise work on fewer bytes is in the first-level cache, whichever way it is read. */
enum { LEAST_ACROSS = 64 << 10 };

enum { NXP_BOTH = NXP_ALONG | NXP_ACROSS };

/* Whether a view repeats few elements, which stay in a cache, whichever way they are read: the
 * vector of a product, the scales of groups. */
static bool repeats(const nxp_clusterer *c, const nxg_node *view) {
  return nxg_node_elements(&c->g->nodes[view->args[0]]) <= nxg_node_elements(view) / 16;
}

/* How a node's user reads memory through it. A value that reads in both ways is probably stored if
 * it has several users, and is then read along its rows. */
static uint8_t reads_through(const nxp_clusterer *c, uint32_t node) {
  const nxg_node *n = &c->g->nodes[node];
  const nxp_node_state *s = &c->nodes[node];
  if (n->op == NXG_view && repeats(c, n)) return 0;
  if (n->op == NXG_view) return nxp_view_crosses(n) ? NXP_ACROSS : NXP_ALONG;
  uint32_t first = c->first_user[node], end = c->first_user[node + 1];
  bool several = end > first && c->user[first] != c->user[end - 1];
  bool stored = s->must_store || n->op == NXG_input || (several && s->reads == NXP_BOTH);
  return stored ? NXP_ALONG : s->reads;
}

/* Finds whether an elementwise node reads along rows, across them, or both. */
static void examine_reads(nxp_clusterer *c, uint32_t node) {
  const nxg_node *n = &c->g->nodes[node];
  nxp_node_state *s = &c->nodes[node];
  bool large = nxg_node_elements(n) >= LEAST_ACROSS / nxi_dtype_size(nxi_compute_dtype(n->dtype));
  bool moves = nxg_ops[n->op].kind == NXG_KIND_MAP || n->op == NXG_copy, both = false;
  if (c->o->target->block_threads > 0 || !moves || !large) return;
  for (uint32_t a = 0; a < n->n_args; a++) {
    uint8_t reads = reads_through(c, n->args[a]);
    both = both || reads == NXP_BOTH;
    s->reads |= reads;
  }
  s->mixes = s->reads == NXP_BOTH && !both;
}

enum { RECOMPUTE_COST = 6, MASK_COST = 24 };

uint32_t nxp_cheap(const nxp_clusterer *c, uint32_t node) {
  const bool mask = c->nodes[node].of_indices && c->g->nodes[node].dtype == NX_BOOL;
  return mask && c->o->target->block_threads == 0 ? MASK_COST : RECOMPUTE_COST;
}

static bool is_of_indices(const nxp_clusterer *c, uint32_t node) {
  const nxg_node *n = &c->g->nodes[node];
  const bool moves = nxg_ops[n->op].kind == NXG_KIND_MAP || nxp_is_view(c, node);
  bool all = moves || n->op == NXG_arange || n->op == NXG_eye || n->op == NXG_full;
  for (uint32_t a = 0; a < n->n_args; a++) all = all && c->nodes[n->args[a]].of_indices;
  return all && !c->nodes[node].must_store;
}

void nxp_examine_nodes(nxp_clusterer *c) {
  const nxg_graph *g = c->g;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    nxp_node_state *s = &c->nodes[i];
    uint64_t expense = nxp_own_cost(n);
    for (uint32_t a = 0; a < n->n_args; a++)
      expense += c->nodes[n->args[a]].must_store ? 1 : c->nodes[n->args[a]].expense;
    nxp_shape full;
    uint32_t reduced;
    if (nxp_reduce_space(g, n, c->o->products, &full, &reduced) ||
        nxp_scan_space(n, &full, &reduced))
      expense = 100000;
    s->expense = (uint32_t)(expense > 100000 ? 100000 : expense);
    s->group = NXP_NO_GROUP;
    bool library = nxp_is_library(c, n);
    s->must_store = library || n->op == NXG_update || n->op == NXG_interleave ||
                    n->op == NXG_scatter || (n->op == NXG_cat && n->n_args > MAX_CAT_INLINE);
    for (uint32_t a = 0; library && a < n->n_args; a++) {
      const uint32_t half = nxp_half_operand(g, n, a, c->o->products);
      store_operand(c, half != UINT32_MAX ? half : n->args[a]);
    }
    if (n->op == NXG_update) store_operand(c, n->args[0]);
    if (n->op == NXG_gather && n->n_args == 3) store_operand(c, n->args[2]);
    if (n->op == NXG_scatter)
      for (uint32_t a = 0; a < n->n_args; a++) store_operand(c, n->args[a]);
    const bool read = c->first_user[i] < c->first_user[i + 1];
    if (!c->o->fuse && read && !nxp_is_leaf(c, i) && !nxp_is_view(c, i)) s->must_store = true;
  }
  for (uint32_t i = 0; i < g->n_outputs; i++) c->nodes[g->outputs[i].node].must_store = true;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    examine_reads(c, i);
    c->nodes[i].of_indices = is_of_indices(c, i);
  }
}

uint32_t nxp_rarest_operand(const nxp_clusterer *c, const nxg_node *n) {
  uint32_t best = n->args[0], fewest = UINT32_MAX;
  for (uint32_t a = 0; a < n->n_args; a++) {
    uint32_t users = c->first_user[n->args[a] + 1] - c->first_user[n->args[a]];
    if (users < fewest) best = n->args[a], fewest = users;
  }
  return best;
}

bool nxp_is_made_again(const nxp_clusterer *c, uint32_t node) {
  enum { GPU_COST = 40, STEPS = 12 };
  const int64_t elements = nxg_node_elements(&c->g->nodes[node]);
  uint32_t from = node, cost = 0;
  if (c->o->target->block_threads == 0) return false;
  for (int step = 0; step < STEPS && cost <= GPU_COST; step++) {
    const nxg_node *n = &c->g->nodes[from];
    uint32_t next = from, large = 0;
    if (nxg_ops[n->op].kind != NXG_KIND_MAP || c->nodes[from].must_store) return step > 0;
    cost += nxp_own_cost(n);
    for (uint32_t i = 0; i < n->n_args; i++) {
      const uint32_t x = nxp_is_view(c, n->args[i]) ? c->g->nodes[n->args[i]].args[0] : n->args[i];
      if (nxg_node_elements(&c->g->nodes[x]) < elements || x == next) continue;
      next = x;
      large++;
    }
    if (large != 1) return false;
    from = next;
  }
  return false;
}

bool nxp_rests_on_reduction(const nxp_clusterer *c, uint32_t node, const nxp_shape *full,
                            uint32_t reduced, int *budget) {
  const nxg_node *n = &c->g->nodes[node];
  nxp_shape walked;
  uint32_t mask;
  if (--*budget < 0) return false;
  if (nxg_ops[n->op].kind == NXG_KIND_REDUCE)
    return nxp_reduce_space(c->g, n, c->o->products, &walked, &mask) && mask == reduced &&
           nxp_shape_equal(&walked, full) &&
           nxp_rows_fit(full, reduced,
                        nxi_dtype_size(nxi_compute_dtype(c->g->nodes[n->args[0]].dtype)),
                        c->o->target);
  if (nxg_ops[n->op].kind != NXG_KIND_MAP) return false;
  for (uint32_t i = 0; i < n->n_args; i++) {
    uint32_t from =
        c->g->nodes[n->args[i]].op == NXG_view ? c->g->nodes[n->args[i]].args[0] : n->args[i];
    if (nxg_node_elements(&c->g->nodes[from]) == nxg_node_elements(n) &&
        nxp_rests_on_reduction(c, from, full, reduced, budget))
      return true;
  }
  return false;
}

/* ---- result */

static bool write_group(nxp_clusterer *c, nxp_clusters *out, uint32_t draft_number,
                        nxp_group *group) {
  const nxp_draft *d = &c->drafts[draft_number];
  group->kind = d->kind;
  group->rank = nxp_draft_full(c, d)->rank;
  memcpy(group->shape, nxp_draft_full(c, d)->extent, sizeof group->shape);
  group->reduced = d->reduced;
  group->size = d->size;
  group->roots = nxi_arena_alloc(&out->arena, d->n_roots * sizeof *group->roots);
  return group->roots != NULL;
}

static bool writes_over(const nxp_draft *d) {
  return d->kind == NXP_GROUP_UPDATE || d->kind == NXP_GROUP_SCATTER;
}

/* Orders the groups so that each comes after those it reads. Updates come as late as possible:
 * groups that read the old contents have then run, and the update can be done in place. */
static bool order_groups(nxp_clusterer *c, uint32_t *order, uint32_t *n_order) {
  uint32_t *waiting = nxi_calloc(c->n_drafts + 1, sizeof *waiting),
           *late = nxi_malloc((c->n_drafts + 1) * sizeof *late);
  uint32_t head = 0, tail = 0, n_late = 0;
  if (waiting == NULL || late == NULL) {
    nxi_free(waiting);
    nxi_free(late);
    return !(c->failed = true);
  }
  for (uint32_t i = 0; i < c->n_drafts; i++)
    for (uint32_t j = c->drafts[i].parent == i ? c->drafts[i].readers : NXP_NO_GROUP;
         j != NXP_NO_GROUP; j = c->links[j].next)
      waiting[nxp_draft_find(c, c->links[j].group)] += nxp_draft_find(c, c->links[j].group) != i;
  for (uint32_t i = c->n_drafts; i-- > 0;) {
    if (c->drafts[i].parent != i || waiting[i] != 0) continue;
    if (writes_over(&c->drafts[i])) late[n_late++] = i;
    else order[tail++] = i;
  }
  while (head < tail || n_late > 0) {
    if (head == tail) order[tail++] = late[--n_late];
    uint32_t i = order[head++];
    for (uint32_t j = c->drafts[i].readers; j != NXP_NO_GROUP; j = c->links[j].next) {
      uint32_t reader = nxp_draft_find(c, c->links[j].group);
      if (reader == i || --waiting[reader] != 0) continue;
      if (writes_over(&c->drafts[reader])) late[n_late++] = reader;
      else order[tail++] = reader;
    }
  }
  *n_order = tail;
  nxi_free(waiting);
  nxi_free(late);
  return true;
}

nx_status nxp_drafts_write(nxp_clusterer *c, nxp_clusters *out, nxi_diag *d) {
  uint32_t n_order = 0, alive = 0;
  uint32_t *order = nxi_malloc((c->n_drafts + 1) * sizeof *order),
           *number = nxi_malloc((c->n_drafts + 1) * sizeof *number);
  for (uint32_t i = 0; i < c->n_drafts; i++) alive += c->drafts[i].parent == i;
  bool ok = order != NULL && number != NULL && order_groups(c, order, &n_order);
  if (ok && n_order != alive) {
    nxi_free(order);
    nxi_free(number);
    return nxi_fail(d, NX_INTERNAL, "", "fusion groups depend on each other in a circle");
  }
  out->groups = ok ? nxi_arena_alloc(&out->arena, (alive + 1) * sizeof *out->groups) : NULL;
  out->group_of =
      ok ? nxi_arena_alloc(&out->arena, (c->g->n_nodes + 1) * sizeof *out->group_of) : NULL;
  ok = ok && out->groups != NULL && out->group_of != NULL;
  for (uint32_t i = 0; ok && i < alive; i++) {
    number[order[i]] = i;
    ok = write_group(c, out, order[i], &out->groups[i]);
  }
  out->n_groups = ok ? alive : 0;
  for (uint32_t i = 0; ok && i < c->g->n_nodes; i++) {
    out->group_of[i] = NXP_NO_GROUP;
    if (!c->nodes[i].stored) continue;
    nxp_group *group =
        &out->groups[out->group_of[i] = number[nxp_draft_find(c, c->nodes[i].group)]];
    group->roots[group->n_roots++] = (nxp_root){i, c->nodes[i].place.space};
  }
  nxi_free(order);
  nxi_free(number);
  return ok ? NX_OK : nxi_oom(d);
}

void nxp_clusterer_free(nxp_clusterer *c) {
  nxi_free(c->nodes);
  nxi_free(c->first_user);
  nxi_free(c->user);
  nxi_free(c->drafts);
  nxi_free(c->shapes);
  nxi_free(c->links);
  nxi_free(c->fronts[0].found);
  nxi_free(c->fronts[1].found);
  nxi_free(c->members);
}
