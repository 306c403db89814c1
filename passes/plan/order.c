/* SPDX-License-Identifier: ISC */
/* The order of groups. Clustering leaves them in the order in which their values were recorded, as
 * far as their dependences allow. A function that was captured with all of its large values first
 * would hold all of them at once. So the order is tried in which, of the groups that can run, the
 * one comes next after which the least memory is in use, and it is taken if it needs clearly less.
 *
 * What is written in place must stay after what reads the old contents, and after what may fail: no
 * group passes an update or a scatter. The time is linear in the graph, but for a heap. */
#include "internal.h"

#include <string.h>

enum { LEAST_BYTES = 1 << 20 };

/* One group reads a node that another stores. */
typedef struct edge {
  uint32_t before, after, node;
  uint32_t next_source, next_reader; /* the next edge of `after`, and of `before` */
} edge;

/* An entry of the heap. It is out of date if the group has another growth now. */
typedef struct ready {
  int64_t growth;
  uint32_t group;
} ready;

typedef struct orderer {
  const nxg_graph *g;
  nxp_clusters *c;
  edge *edges;
  uint32_t n_edges, cap_edges;
  uint32_t *stack, n_stack, cap_stack;
  ready *heap;
  uint32_t n_heap, cap_heap;
  uint32_t *stamp;             /* node -> last group that visited it, + 1 */
  int64_t *bytes;              /* node -> of its temporary; 0: it has none */
  uint32_t *remaining;         /* node -> how many groups have still to read it */
  uint32_t *sources, *readers; /* group -> its first edge as `after`, as `before` */
  uint32_t *waits;             /* group -> edges to it from groups that have not run */
  uint32_t *segment;           /* group -> how many groups that nothing passes come before it */
  uint32_t *order;             /* the groups in their new order */
  uint32_t n_order;
  int64_t *growth; /* group -> bytes in use after it less those before; INT64_MAX: it has run */
} orderer;

/* ---- who reads what */

static bool visit(orderer *o, uint32_t node) {
  const nxg_node *n = &o->g->nodes[node];
  if (!nxi_grow(&o->stack, &o->cap_stack, o->n_stack + n->n_args, sizeof *o->stack)) return false;
  for (uint32_t a = 0; a < n->n_args; a++) o->stack[o->n_stack++] = n->args[a];
  return true;
}

static bool add_edge(orderer *o, uint32_t before, uint32_t after, uint32_t node) {
  if (!nxi_grow(&o->edges, &o->cap_edges, o->n_edges + 1, sizeof *o->edges)) return false;
  o->edges[o->n_edges] = (edge){before, after, node, o->sources[after], o->readers[before]};
  o->sources[after] = o->readers[before] = o->n_edges++;
  return true;
}

static bool scan(orderer *o, uint32_t group) {
  const nxp_group *members = &o->c->groups[group];
  for (uint32_t i = 0; i < members->n_roots; i++)
    if (!visit(o, members->roots[i].node)) return false;
  while (o->n_stack > 0) {
    uint32_t node = o->stack[--o->n_stack], from = o->c->group_of[node];
    if (o->stamp[node] == group + 1) continue;
    o->stamp[node] = group + 1;
    if (from == group || o->g->nodes[node].op == NXG_input) continue;
    if (from == NXP_NONE ? !visit(o, node) : !add_edge(o, from, group, node)) return false;
  }
  return true;
}

static bool examine(orderer *o) {
  const nxp_clusters *c = o->c;
  for (uint32_t i = 0, segment = 0; i < c->n_groups; i++) {
    bool passed = c->groups[i].kind != NXP_GROUP_UPDATE && c->groups[i].kind != NXP_GROUP_SCATTER;
    if (!passed) segment++;
    o->segment[i] = segment;
    if (!passed) segment++;
    if (!scan(o, i)) return false;
  }
  return true;
}

/* ---- what an order needs */

/* Nothing has run, and all readers are still to come. */
static void begin(orderer *o) {
  memset(o->remaining, 0, o->g->n_nodes * sizeof *o->remaining);
  memset(o->waits, 0, o->c->n_groups * sizeof *o->waits);
  for (uint32_t i = 0; i < o->n_edges; i++) {
    o->remaining[o->edges[i].node]++;
    o->waits[o->edges[i].after]++;
  }
}

static int64_t made_by(const orderer *o, uint32_t group) {
  const nxp_group *members = &o->c->groups[group];
  int64_t bytes = 0;
  for (uint32_t i = 0; i < members->n_roots; i++) bytes += o->bytes[members->roots[i].node];
  return bytes;
}

/* The most bytes of temporaries in use at once. order NULL: as the groups are. */
static int64_t peak_of(orderer *o, const uint32_t *order) {
  int64_t live = 0, peak = 0;
  begin(o);
  for (uint32_t i = 0; i < o->c->n_groups; i++) {
    const uint32_t group = order != NULL ? order[i] : i;
    const nxp_group *members = &o->c->groups[group];
    live += made_by(o, group);
    if (live > peak) peak = live;
    for (uint32_t e = o->sources[group]; e != NXP_NONE; e = o->edges[e].next_source)
      if (--o->remaining[o->edges[e].node] == 0) live -= o->bytes[o->edges[e].node];
    for (uint32_t k = 0; k < members->n_roots; k++)
      if (o->remaining[members->roots[k].node] == 0) live -= o->bytes[members->roots[k].node];
  }
  return peak;
}

/* ---- the heap, the least growth first, of equal ones the first group */

static bool is_less(const ready *a, const ready *b) {
  return a->growth != b->growth ? a->growth < b->growth : a->group < b->group;
}

static bool push(orderer *o, uint32_t group) {
  if (!nxi_grow(&o->heap, &o->cap_heap, o->n_heap + 1, sizeof *o->heap)) return false;
  const ready one = {o->growth[group], group};
  uint32_t at = o->n_heap++;
  for (; at > 0 && is_less(&one, &o->heap[(at - 1) / 2]); at = (at - 1) / 2)
    o->heap[at] = o->heap[(at - 1) / 2];
  o->heap[at] = one;
  return true;
}

static ready pop(orderer *o) {
  const ready top = o->heap[0], last = o->heap[--o->n_heap];
  uint32_t at = 0;
  for (uint32_t child; (child = 2 * at + 1) < o->n_heap; at = child) {
    if (child + 1 < o->n_heap && is_less(&o->heap[child + 1], &o->heap[child])) child++;
    if (!is_less(&o->heap[child], &last)) break;
    o->heap[at] = o->heap[child];
  }
  if (o->n_heap > 0) o->heap[at] = last;
  return top;
}

/* ---- the order */

/* One group has read a node, and the last that is left will free it. */
static bool last_reader_gains(orderer *o, uint32_t node, uint32_t now) {
  const uint32_t from = o->c->group_of[node];
  for (uint32_t e = o->readers[from]; e != NXP_NONE; e = o->edges[e].next_reader) {
    const uint32_t group = o->edges[e].after;
    if (o->edges[e].node != node || o->growth[group] == INT64_MAX) continue;
    o->growth[group] -= o->bytes[node];
    return o->waits[group] > 0 || o->segment[group] != now || push(o, group);
  }
  return true;
}

static bool run(orderer *o, uint32_t group) {
  const uint32_t now = o->segment[group];
  o->order[o->n_order++] = group;
  o->growth[group] = INT64_MAX;
  for (uint32_t e = o->readers[group]; e != NXP_NONE; e = o->edges[e].next_reader) {
    const uint32_t reader = o->edges[e].after;
    if (--o->waits[reader] == 0 && o->segment[reader] == now && !push(o, reader)) return false;
  }
  for (uint32_t e = o->sources[group]; e != NXP_NONE; e = o->edges[e].next_source) {
    const uint32_t node = o->edges[e].node;
    if (--o->remaining[node] == 1 && o->bytes[node] > 0 && !last_reader_gains(o, node, now))
      return false;
  }
  return true;
}

static bool find_order(orderer *o) {
  const uint32_t n = o->c->n_groups;
  begin(o);
  for (uint32_t i = 0; i < n; i++) o->growth[i] = made_by(o, i);
  for (uint32_t i = 0; i < o->n_edges; i++)
    if (o->remaining[o->edges[i].node] == 1)
      o->growth[o->edges[i].after] -= o->bytes[o->edges[i].node];
  for (uint32_t first = 0, last; first < n; first = last) {
    for (last = first; last < n && o->segment[last] == o->segment[first]; last++)
      if (o->waits[last] == 0 && !push(o, last)) return false;
    while (o->n_heap > 0) {
      const ready next = pop(o);
      if (next.growth == o->growth[next.group] && !run(o, next.group)) return false;
    }
  }
  return true;
}

static bool take(orderer *o) {
  nxp_clusters *c = o->c;
  nxp_group *groups = nxi_arena_copy(&c->arena, c->groups, c->n_groups * sizeof *groups);
  if (groups == NULL) return false;
  for (uint32_t i = 0; i < c->n_groups; i++) {
    groups[i] = c->groups[o->order[i]];
    for (uint32_t k = 0; k < groups[i].n_roots; k++) c->group_of[groups[i].roots[k].node] = i;
  }
  c->groups = groups;
  return true;
}

/* ---- the whole */

/* Fills the bytes of temporaries; false: so few that no order matters. */
static bool count_bytes(const nxg_graph *g, const nxp_clusters *c, int64_t *bytes) {
  double all = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    if (c->group_of[i] == NXP_NONE) continue;
    const double own = (double)nxg_node_elements(n) * (double)nxi_dtype_size(n->dtype);
    if (bytes != NULL) bytes[i] = (int64_t)own;
    all += own;
  }
  for (uint32_t i = 0; bytes != NULL && i < g->n_outputs; i++) bytes[g->outputs[i].node] = 0;
  return all >= LEAST_BYTES && all < 0x1p52;
}

static bool allocate(orderer *o) {
  const size_t nodes = o->g->n_nodes, groups = o->c->n_groups;
  o->stamp = nxi_calloc(nodes, sizeof *o->stamp);
  o->bytes = nxi_calloc(nodes, sizeof *o->bytes);
  o->remaining = nxi_calloc(nodes, sizeof *o->remaining);
  o->sources = nxi_malloc(5 * groups * sizeof *o->sources);
  o->growth = nxi_malloc(groups * sizeof *o->growth);
  if (o->stamp == NULL || o->bytes == NULL || o->remaining == NULL || o->sources == NULL ||
      o->growth == NULL)
    return false;
  o->readers = o->sources + groups;
  o->waits = o->readers + groups;
  o->segment = o->waits + groups;
  o->order = o->segment + groups;
  memset(o->sources, 0xff, 2 * groups * sizeof *o->sources);
  return true;
}

static bool order(orderer *o, bool tight) {
  if (!allocate(o)) return false;
  count_bytes(o->g, o->c, o->bytes);
  if (!examine(o)) return false;
  const int64_t before = peak_of(o, NULL);
  if (before < LEAST_BYTES && !tight) return true;
  if (!find_order(o)) return false;
  const int64_t after = peak_of(o, o->order);
  return after >= (tight ? before : before - before / 8) || take(o);
}

bool nxp_order_groups(const nxg_graph *g, nxp_clusters *c, bool tight) {
  orderer o = {.g = g, .c = c};
  if (c->n_groups < 4 || !count_bytes(g, c, NULL)) return true;
  bool ok = order(&o, tight);
  nxi_free(o.edges);
  nxi_free(o.stack);
  nxi_free(o.heap);
  nxi_free(o.stamp);
  nxi_free(o.bytes);
  nxi_free(o.remaining);
  nxi_free(o.sources);
  nxi_free(o.growth);
  return ok;
}
