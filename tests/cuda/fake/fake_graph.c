/* SPDX-License-Identifier: ISC */
/* The fake driver's graphs: lists of pieces, each with those that it comes after, copied where they
 * are instantiated and where they are launched. A launch takes the pieces one after the other, in
 * an order drawn by chance of those that the graph allows: a kernel is one piece, so what runs side
 * by side is as if one of the two came first. Streams come into a capture by waiting for an event
 * of it, and have to be waited for before its end. Conditional nodes have bodies, which are graphs
 * too, and follow the rules of cuda.h: a handle is used by one node of its graph; a body has
 * kernels, memory that is set, copies within the GPU and conditional nodes alone, all in one
 * context; a graph with such nodes has one instance at a time, and lives as long as that. */
#include <stdlib.h>
#include <string.h>

#include "fake_stream.h"

/* The value of a handle, whose number is its address. */
typedef struct slot {
  unsigned value;
  bool used;
  struct slot *next;
} slot;

struct graph {
  list work;
  graph *source;    /* of an instance */
  int instances;    /* of a captured one */
  bool body, begun; /* begun: it is or was captured into */
  bool capturing;
  uint64_t capture; /* number of the capture into it */
  uint32_t nodes;
  bool forks; /* its pieces are not in a row */
  int device, conditions;
  slot *slots;
};

enum { IF, WHILE, SWITCH, MOST_BODIES = 64 };
struct condition {
  int references, kind, device;
  slot *value;
  unsigned n;
  graph *bodies[MOST_BODIES];
  void *shown[MOST_BODIES]; /* to the caller */
};

/* ---- life */

static graph *new_graph(void) {
  graph *g = calloc(1, sizeof *g);
  if (g == NULL) return NULL;
  g->device = nxt_fake_device();
  nxt_fake_cuda()->graphs++;
  return g;
}

static void free_graph(graph *g) {
  nxt_fake_empty(&g->work);
  for (slot *s = g->slots, *next; s != NULL; s = next) {
    next = s->next;
    free(s);
  }
  free(g);
  nxt_fake_cuda()->graphs--;
}

/* One with conditional nodes goes when it is no longer running. */
int nxt_fake_destroy(graph *g) {
  if (g->body) return 1;
  if (g->instances > 0) return 1;
  for (bool runs = g->source != NULL && g->conditions > 0; runs && nxt_fake_step(););
  if (g->source != NULL) g->source->instances--;
  free_graph(g);
  return 0;
}

void nxt_fake_keep_condition(condition *c) {
  if (c != NULL) c->references++;
}
void nxt_fake_forget_condition(condition *c) {
  if (c == NULL || --c->references > 0) return;
  for (unsigned i = 0; i < c->n; i++) free_graph(c->bodies[i]);
  free(c);
}

bool nxt_fake_in_body(const stream *s) { return s->captured != NULL && s->captured->body; }

static int copy_list(list *to, const list *from) {
  for (const piece *p = from->first; p != NULL; p = p->next) {
    piece *own = nxt_fake_copy(p);
    if (own == NULL) return 2;
    nxt_fake_append(to, own);
  }
  return 0;
}

/* ---- running */

/* Whether all that the piece comes after is done. */
static bool may_come(const piece *p, const bool *done) {
  for (uint32_t i = 0; i < p->n_after; i++)
    if (!done[p->after[i]]) return false;
  return true;
}

/* Takes a piece that may come out of the list: the one of that number among these. */
static piece *take_one(list *l, const bool *done, uint64_t which) {
  piece *before = NULL;
  for (piece *p = l->first; p != NULL; before = p, p = p->next) {
    if (!may_come(p, done) || which-- > 0) continue;
    if (before == NULL) l->first = p->next;
    else before->next = p->next;
    return p;
  }
  return NULL;
}

/* Copies of the pieces of a graph, in another order. */
static int shuffle(const graph *g, list *l) {
  list out = {0};
  if (!g->forks) return 0;
  bool *done = calloc(g->nodes + 1, sizeof *done);
  if (done == NULL) return 2;
  while (l->first != NULL) {
    uint64_t n = 0;
    for (const piece *p = l->first; p != NULL; p = p->next) n += may_come(p, done);
    piece *p = take_one(l, done, nxt_fake_draw(n));
    done[p->number] = true;
    nxt_fake_append(&out, p);
  }
  free(done);
  *l = out;
  return 0;
}

/* Copies of the body, before all that waits in the stream. */
static void run_body(stream *s, const graph *body) {
  list own = {0};
  nxt_fake_cuda()->bodies++;
  if (copy_list(&own, &body->work) != 0 || shuffle(body, &own) != 0) abort();
  if (own.first == NULL) return;
  for (const piece *p = own.first; p != NULL; p = p->next) nxt_fake_cuda()->waiting++;
  if (s->work.first == NULL) s->work = own;
  else {
    own.last->next = s->work.first;
    s->work.first = own.first;
  }
}

bool nxt_fake_branch(stream *s, const piece *p) {
  const condition *c = p->condition;
  unsigned value = c->value->value;
  if (nxt_fake_cuda()->broken >> c->device & 1) return false;
  if (c->kind == SWITCH) {
    if (value < c->n) run_body(s, c->bodies[value]);
    return false;
  }
  if (value == 0) {
    if (c->n == 2) run_body(s, c->bodies[1]);
    return false;
  }
  if (c->kind == WHILE) {
    piece *again = (piece *)p;
    again->next = s->work.first;
    if (s->work.first == NULL) s->work.end = &again->next, s->work.last = again;
    s->work.first = again;
    nxt_fake_cuda()->waiting++;
  }
  run_body(s, c->bodies[0]);
  return c->kind == WHILE;
}

/* ---- captures */

/* A new node of the graph, after those. */
static void add_piece(graph *g, piece *p, const nodes *after) {
  p->number = g->nodes++;
  p->n_after = 0;
  for (size_t i = 0; i < after->n; i++) p->after[p->n_after++] = after->at[i]->number;
  if (p->number > 0 && (p->n_after != 1 || p->after[0] != p->number - 1)) g->forks = true;
  nxt_fake_append(&g->work, p);
}

int nxt_fake_captures(stream *s, piece *p) {
  graph *g = s->captured;
  bool event = p->act == NULL && p->condition == NULL;
  if (event || (g->body && nxt_fake_device() != g->device)) s->spoilt = true;
  add_piece(g, p, &s->after);
  s->after = (nodes){{p}, 1};
  return 0;
}

int nxt_fake_record_captured(const stream *s, event *e) {
  e->capture = s->captured->capture;
  e->after = s->after;
  return 0;
}

static bool add_node(nodes *to, piece *p) {
  for (size_t i = 0; i < to->n; i++)
    if (to->at[i] == p) return true;
  if (to->n == NXT_FAKE_NODES) return false;
  to->at[to->n++] = p;
  return true;
}

/* The stream with which a capture was begun that is under way. */
static stream *capturing(uint64_t capture) {
  stream *s = nxt_fake_streams();
  while (s != NULL && (s->captured == NULL || s->joined || s->captured->capture != capture))
    s = s->next;
  return s;
}

/* With `no_capture_waits` a stream joins a capture, and comes after nothing. */
int nxt_fake_wait_captured(stream *s, const event *e) {
  const stream *origin = e->capture != 0 ? capturing(e->capture) : NULL;
  if (origin == NULL || (s->captured != NULL && s->captured != origin->captured)) return 905;
  if (s->captured == NULL) {
    s->captured = origin->captured;
    s->after = (nodes){{NULL}, 0};
    s->joined = true;
    s->spoilt = s->work.first != NULL;
  }
  if (nxt_fake_cuda()->no_capture_waits && s->joined) return 0;
  for (size_t i = 0; i < e->after.n; i++)
    if (!add_node(&s->after, e->after.at[i])) return 2;
  return 0;
}

/* Whether everything in the graph comes before the end of its capture. */
static bool is_joined(const graph *g, const nodes *last) {
  bool *reached = calloc(g->nodes + 1, sizeof *reached), all = reached != NULL;
  piece **by_number = calloc(g->nodes + 1, sizeof *by_number);
  if (by_number == NULL) abort();
  for (piece *p = g->work.first; p != NULL; p = p->next) by_number[p->number] = p;
  for (size_t i = 0; i < last->n && all; i++) reached[last->at[i]->number] = true;
  for (uint32_t k = g->nodes; k-- > 0 && all;) {
    all = reached[k];
    for (uint32_t i = 0; i < by_number[k]->n_after && all; i++)
      reached[by_number[k]->after[i]] = true;
  }
  free(by_number);
  free(reached);
  return all;
}

static int begin(stream *s, graph *g) {
  static uint64_t captures;
  if (g == NULL) return 2;
  s->captured = g;
  s->after = (nodes){{NULL}, 0};
  s->spoilt = s->joined = false;
  g->begun = g->capturing = true;
  g->capture = ++captures;
  return 0;
}

/* Streams that joined are out of it. False: one of them was spoilt. */
static bool let_streams_go(const graph *g) {
  bool good = true;
  for (stream *s = nxt_fake_streams(); s != NULL; s = s->next) {
    if (s->captured != g || !s->joined) continue;
    good = good && !s->spoilt;
    s->captured = NULL;
    s->joined = false;
  }
  return good;
}

void nxt_fake_abandon(const stream *s) {
  let_streams_go(s->captured);
  if (!s->captured->body) nxt_fake_destroy(s->captured);
}

EXPORT int cuStreamBeginCapture_v2(void *given, int mode) {
  stream *s = given;
  INSIDE;
  return s->captured != NULL || mode != 2 ? 1 : begin(s, new_graph());
}
EXPORT int cuStreamBeginCaptureToGraph(void *given, void *to, void *const *nodes, const void *edges,
                                       size_t n, int mode) {
  stream *s = given;
  graph *g = to;
  INSIDE;
  if (s->captured != NULL || mode != 2 || nodes != NULL || edges != NULL || n != 0) return 1;
  return !g->body || g->begun || s->device != g->device ? 1 : begin(s, g);
}
EXPORT int cuStreamEndCapture(void *given, void **out) {
  stream *s = given;
  INSIDE;
  graph *g = s->captured;
  if (g == NULL || s->joined) return 1;
  const bool good = let_streams_go(g) && !s->spoilt, joined = is_joined(g, &s->after);
  s->captured = NULL;
  g->capturing = false;
  *out = good && joined ? g : NULL;
  nxt_fake_cuda()->forked_graphs += good && joined && g->forks;
  if (*out != NULL) return 0;
  if (!g->body) nxt_fake_destroy(g);
  else g->capturing = true; /* never whole */
  return good ? 904 : 901;
}
EXPORT int cuStreamGetCaptureInfo_v3(void *given, int *status, uint64_t *id, void **out,
                                     void *const **nodes, const void **edges, size_t *n) {
  stream *s = given;
  INSIDE;
  (void)id;
  *status = s->captured == NULL ? 0 : s->spoilt ? 2 : 1;
  *out = s->captured;
  *nodes = (void *const *)s->after.at;
  *edges = NULL;
  *n = s->after.n;
  return 0;
}
EXPORT int cuStreamUpdateCaptureDependencies_v2(void *given, void **nodes, const void *edges,
                                                size_t n, unsigned flags) {
  stream *s = given;
  INSIDE;
  if (s->captured == NULL) return 401;
  if (edges != NULL || n != 1 || flags != 1) return 1;
  s->after.at[0] = nodes[0];
  s->after.n = 1;
  return 0;
}

/* ---- conditional nodes */

EXPORT int cuGraphConditionalHandleCreate(uint64_t *handle, void *given, void *context,
                                          unsigned value, unsigned flags) {
  graph *g = given;
  INSIDE;
  if ((int)(uintptr_t)context - 1 != g->device || flags > 1 || value != 0) return 1;
  slot *s = calloc(1, sizeof *s);
  if (s == NULL) return 2;
  s->value = 0xdead; /* whoever relies on a value has to set it */
  s->next = g->slots;
  g->slots = s;
  *handle = (uint64_t)(uintptr_t)&s->value;
  return 0;
}

/* CUgraphNodeParams, as far as it is used. */
typedef struct node_params {
  int type, zeros[3];
  uint64_t handle;
  int kind;
  unsigned n;
  void **bodies, *context;
  int64_t rest[26];
} node_params;
_Static_assert(sizeof(node_params) == 256, "of cuda.h");

static bool is_zero(const void *at, size_t bytes) {
  const char *c = at;
  for (size_t i = 0; i < bytes; i++)
    if (c[i] != 0) return false;
  return true;
}

static slot *find_slot(const graph *g, uint64_t handle) {
  slot *s = g->slots;
  while (s != NULL && (uint64_t)(uintptr_t)&s->value != handle) s = s->next;
  return s;
}

static bool good_size(int kind, unsigned n) {
  int version = nxt_fake_version();
  if (kind == WHILE) return n == 1;
  if (kind == IF) return n == 1 || (n == 2 && version >= 12080);
  return kind == SWITCH && n >= 1 && n <= MOST_BODIES && version >= 12080;
}

static int make_condition(graph *g, node_params *given, condition **out) {
  slot *s = find_slot(g, given->handle);
  if (s == NULL || s->used || !good_size(given->kind, given->n) ||
      (int)(uintptr_t)given->context - 1 != g->device || !is_zero(given->rest, sizeof given->rest))
    return 1;
  condition *c = calloc(1, sizeof *c);
  if (c == NULL) return 2;
  *c = (condition){.references = 1, .kind = given->kind, .device = g->device, .value = s};
  for (; c->n < given->n; c->n++) {
    if ((c->shown[c->n] = c->bodies[c->n] = new_graph()) == NULL) abort();
    c->bodies[c->n]->body = true;
  }
  s->used = true;
  given->bodies = c->shown;
  *out = c;
  return 0;
}

static bool find_nodes(const graph *g, void *const *given, size_t n, nodes *out) {
  for (size_t i = 0; i < n; i++) {
    piece *p = g->work.first;
    while (p != NULL && p != given[i]) p = p->next;
    if (p == NULL || !add_node(out, p)) return false;
  }
  return true;
}

EXPORT int cuGraphAddNode_v2(void **node, void *given, void *const *after, const void *edges,
                             size_t n, void *params) {
  graph *g = given;
  node_params *own = params;
  INSIDE;
  nodes all = {{NULL}, 0};
  if (edges != NULL || !find_nodes(g, after, n, &all)) return 1;
  if ((own->type != 5 && own->type != 13) || !is_zero(own->zeros, sizeof own->zeros)) return 1;
  if (own->type == 5 && !is_zero(&own->handle, sizeof *own - 16)) return 1;
  piece *p = calloc(1, sizeof *p + 1);
  if (p == NULL) return 2;
  int result = own->type == 13 ? make_condition(g, own, &p->condition) : 0;
  if (result != 0) {
    free(p);
    return result;
  }
  g->conditions += own->type == 13;
  nxt_fake_cuda()->conditions += own->type == 13;
  p->act = own->type == 5 ? nxt_fake_nothing : NULL;
  add_piece(g, p, &all);
  *node = p;
  return 0;
}

/* Whether all handles have their nodes, and all bodies are whole. */
static bool is_whole(const graph *g) {
  for (const slot *s = g->slots; s != NULL; s = s->next)
    if (!s->used) return false;
  for (const piece *p = g->work.first; p != NULL; p = p->next)
    for (unsigned i = 0; p->condition != NULL && i < p->condition->n; i++) {
      const graph *b = p->condition->bodies[i];
      if (!b->begun || b->capturing || b->work.first == NULL || !is_whole(b)) return false;
    }
  return !g->capturing;
}

/* ---- instances */

EXPORT int cuGraphInstantiateWithFlags(void **out, void *given, unsigned long long flags) {
  graph *source = given;
  INSIDE;
  if (flags != 0 || !is_whole(source) || (source->conditions > 0 && source->instances > 0))
    return 1;
  graph *g = new_graph();
  if (g == NULL) return 2;
  g->conditions = source->conditions;
  g->nodes = source->nodes;
  g->forks = source->forks;
  if (g->conditions > 0) {
    g->source = source;
    source->instances++;
  }
  *out = g;
  return copy_list(&g->work, &source->work);
}
EXPORT int cuGraphLaunch(void *given, void *to) {
  const graph *g = given;
  if (nxt_fake_cuda()->idle) return 0;
  INSIDE;
  nxt_fake_cuda()->graph_launches++;
  list own = {0};
  if (copy_list(&own, &g->work) != 0 || shuffle(g, &own) != 0) return 2;
  for (piece *p = own.first, *next; p != NULL; p = next) {
    next = p->next;
    int result = nxt_fake_add(to, p);
    if (result) return result;
  }
  return 0;
}

static int give_back(void *given) { return nxt_fake_destroy(given); }
GIVES_BACK(cuGraphDestroy, give_back)
GIVES_BACK(cuGraphExecDestroy, give_back)
