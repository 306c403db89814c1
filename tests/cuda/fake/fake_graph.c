/* SPDX-License-Identifier: ISC */
/* The fake driver's graphs: lists of pieces, one after the other, copied where they are
 * instantiated and where they are launched. Conditional nodes have bodies, which are graphs too,
 * and follow the rules of cuda.h: a handle is used by one node of its graph; a body has kernels,
 * memory that is set, copies within the GPU and conditional nodes alone, all in one context; a
 * graph with such nodes has one instance at a time, and lives as long as that. */
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

/* Copies of the body, before all that waits in the stream. */
static void run_body(stream *s, const graph *body) {
  list own = {0};
  nxt_fake_cuda()->bodies++;
  if (copy_list(&own, &body->work) != 0) abort();
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

int nxt_fake_captures(stream *s, piece *p) {
  graph *g = s->captured;
  bool event = p->act == NULL && p->condition == NULL;
  if (s->after != (g->work.first != NULL ? g->work.last : NULL)) s->spoilt = true;
  if (g->body && (event || nxt_fake_device() != g->device)) s->spoilt = true;
  nxt_fake_append(&g->work, p);
  s->after = p;
  return 0;
}

static int begin(stream *s, graph *g) {
  if (g == NULL) return 2;
  s->captured = g;
  s->after = NULL;
  s->spoilt = false;
  g->begun = g->capturing = true;
  return 0;
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
  if (g == NULL) return 1;
  bool joined = s->after == (g->work.first != NULL ? g->work.last : NULL);
  s->captured = NULL;
  g->capturing = false;
  *out = s->spoilt || !joined ? NULL : g;
  if (*out != NULL) return 0;
  if (!g->body) nxt_fake_destroy(g);
  else g->capturing = true; /* never whole */
  return s->spoilt ? 901 : 904;
}
EXPORT int cuStreamGetCaptureInfo_v3(void *given, int *status, uint64_t *id, void **out,
                                     void *const **nodes, const void **edges, size_t *n) {
  stream *s = given;
  INSIDE;
  (void)id;
  *status = s->captured == NULL ? 0 : s->spoilt ? 2 : 1;
  *out = s->captured;
  *nodes = (void *const *)&s->after;
  *edges = NULL;
  *n = s->after != NULL;
  return 0;
}
EXPORT int cuStreamUpdateCaptureDependencies_v2(void *given, void **nodes, const void *edges,
                                                size_t n, unsigned flags) {
  stream *s = given;
  INSIDE;
  if (s->captured == NULL) return 401;
  if (edges != NULL || n != 1 || flags != 1) return 1;
  s->after = nodes[0];
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

/* Nodes are in a row here: the new one comes after the last. */
EXPORT int cuGraphAddNode_v2(void **node, void *given, void *const *after, const void *edges,
                             size_t n, void *params) {
  graph *g = given;
  node_params *own = params;
  INSIDE;
  const piece *last = g->work.first != NULL ? g->work.last : NULL;
  if (edges != NULL || n != (last != NULL) || (n == 1 && after[0] != last)) return 1;
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
  nxt_fake_append(&g->work, p);
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
  for (const piece *p = g->work.first; p != NULL; p = p->next) {
    piece *own = nxt_fake_copy(p);
    int result = own != NULL ? nxt_fake_add(to, own) : 2;
    if (result) return result;
  }
  return 0;
}

static int give_back(void *given) { return nxt_fake_destroy(given); }
GIVES_BACK(cuGraphDestroy, give_back)
GIVES_BACK(cuGraphExecDestroy, give_back)
