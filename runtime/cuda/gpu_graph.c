/* SPDX-License-Identifier: ISC */
/* Graphs of a GPU. They are captured on a separate stream, so that other threads can use the stream
 * of work meanwhile.
 *
 * Memory that steps of a graph allocate and free has its address in the graph as long as the graph
 * exists, so it must not be used for anything else: it is scratch, a list of pieces that are never
 * given to other allocations. Graphs run one after the other on one stream, and none relies on the
 * contents of its scratch when it begins, so all of them may share the same pieces. */
#include <string.h>

#include "ir/alloc.h"
#include "ir/platform/thread.h"
#include "state.h"

enum { MOST_SCRATCH = 32, ANYBODY = -1 };

struct nxi_gpu_graph {
  nxi_gpu *gpu;
  void *executable;
  void *source; /* that it was made of, which conditional nodes may need; NULL: destroyed */
  uint32_t n_scratch;
  nxi_gpu_scratch *scratch[MOST_SCRATCH]; /* one reference each */
};

/* The capture of a thread. */
typedef struct capture {
  nxi_gpu *gpu;
  nxi_gpu_graph *graph;
  bool used[MOST_SCRATCH]; /* whether the piece is allocated at present */
  bool refused;
  bool conditions; /* it has conditional nodes */
  uint32_t scope;  /* number of the bodies around what is captured now */
  uint32_t track;
  bool entered[NXP_TRACKS];  /* tracks, since they began */
  int8_t user[MOST_SCRATCH]; /* track that used the piece since tracks began; ANYBODY */
} capture;
static _Thread_local capture *current;

bool nxi_gpu_captures(const nxi_gpu *g) { return current != NULL && current->gpu == g; }
void *nxi_gpu_captured_stream(const nxi_gpu *g) {
  return nxi_gpu_captures(g) ? g->capture_streams[current->scope][current->track] : NULL;
}

nx_status nxi_gpu_capture_refuses(nxi_diag *d) {
  current->refused = true;
  return nxi_fail(d, NX_INTERNAL, "", "a graph of the GPU that waits");
}

/* ---- scratch */

/* A piece of that size that this capture is not using, shared if possible. Lock. */
static nxi_gpu_scratch *find(const nxi_gpu *g, const nxi_gpu_graph *own, int64_t size) {
  for (nxi_gpu_scratch *s = g->scratch; s != NULL; s = s->next) {
    bool has = s->bytes != size || s->lent;
    for (uint32_t i = 0; i < own->n_scratch && !has; i++) has = own->scratch[i] == s;
    if (!has) return s;
  }
  return NULL;
}

/* Allocates a new piece of scratch from the GPU. The capture is suspended meanwhile. */
static nx_status make(nxi_gpu *g, int64_t size, nxi_gpu_scratch **out, nxi_diag *d) {
  nxi_gpu_scratch *s = nxi_calloc(1, sizeof *s);
  if (s == NULL) return nxi_oom(d);
  capture *held = current;
  current = NULL;
  nx_status status = nxi_gpu_alloc(g, size, &s->at, d);
  current = held;
  if (status != NX_OK) {
    nxi_free(s);
    return status;
  }
  s->bytes = size;
  nxi_mutex_lock(&g->lock);
  s->next = g->scratch;
  g->scratch = s;
  s->references = 1;
  nxi_mutex_unlock(&g->lock);
  *out = s;
  return NX_OK;
}

/* Whether the capture has a piece of that size that nothing uses on another track. */
static bool is_free(uint32_t i, int64_t size) {
  const int8_t user = current->user[i];
  return !current->used[i] && current->graph->scratch[i]->bytes == size &&
         (user == ANYBODY || user == (int8_t)current->track);
}

nx_status nxi_gpu_captured_alloc(nxi_gpu *g, int64_t bytes, uint64_t *at, nxi_diag *d) {
  nxi_gpu_graph *own = current->graph;
  int64_t size;
  nxi_gpu_class(bytes, &size);
  uint32_t i = 0;
  while (i < own->n_scratch && !is_free(i, size)) i++;
  if (i == MOST_SCRATCH) {
    current->refused = true;
    return nxi_fail(d, NX_INTERNAL, "", "a graph with too much memory of its own");
  }
  if (i == own->n_scratch) {
    nxi_mutex_lock(&g->lock);
    nxi_gpu_scratch *s = find(g, own, size);
    if (s != NULL) s->references++;
    nxi_mutex_unlock(&g->lock);
    nx_status status = s != NULL ? NX_OK : make(g, size, &s, d);
    if (status != NX_OK) return status;
    own->scratch[own->n_scratch++] = s;
  }
  current->used[i] = true;
  current->user[i] = (int8_t)current->track;
  *at = own->scratch[i]->at;
  return NX_OK;
}

bool nxi_gpu_captured_free(uint64_t at) {
  const nxi_gpu_graph *own = current->graph;
  for (uint32_t i = 0; i < own->n_scratch; i++)
    if (own->scratch[i]->at == at) {
      current->used[i] = false;
      return true;
    }
  /* the memory was allocated before the capture, which may have its address in an argument */
  current->refused = true;
  return false;
}

/* Lock. *gone: to be freed after the lock. */
static void unref(nxi_gpu *g, nxi_gpu_scratch *s, nxi_gpu_scratch **gone) {
  if (--s->references > 0) return;
  nxi_gpu_scratch **at = &g->scratch;
  while (*at != s) at = &(*at)->next;
  *at = s->next;
  s->next = *gone;
  *gone = s;
}

static void free_scratch(nxi_gpu *g, nxi_gpu_scratch *gone) {
  while (gone != NULL) {
    nxi_gpu_scratch *s = gone;
    gone = s->next;
    nxi_gpu_free(g, s->at, s->bytes);
    nxi_free(s);
  }
}

/* ---- graphs */

static bool has_stream(nxi_gpu *g, uint32_t scope, uint32_t track) {
  void **stream = &g->capture_streams[scope][track];
  if (*stream == NULL && g->cuda->stream_create(stream, NXI_CUDA_NON_BLOCKING) != 0) *stream = NULL;
  return *stream != NULL;
}

/* After a capture that did not end well the state of its streams is unknown. */
static void give_up_streams(nxi_gpu *g, uint32_t scope) {
  for (int i = 0; i < NXP_TRACKS; i++) {
    if (g->capture_streams[scope][i] != NULL) g->cuda->stream_destroy(g->capture_streams[scope][i]);
    g->capture_streams[scope][i] = NULL;
  }
}

bool nxi_gpu_capture_begin(nxi_gpu *g) {
  if (current != NULL || !nxi_mutex_try(&g->capture_lock)) return false;
  capture *c = nxi_calloc(1, sizeof *c);
  nxi_gpu_graph *graph = nxi_calloc(1, sizeof *graph);
  bool good = c != NULL && graph != NULL && nxi_gpu_enter(g, NULL) == NX_OK;
  if (good) {
    good = has_stream(g, 0, 0) &&
           g->cuda->capture_begin(g->capture_streams[0][0], NXI_CUDA_CAPTURE_RELAXED) == 0;
    if (!good) nxi_gpu_leave(g);
  }
  if (good) {
    graph->gpu = g;
    *c = (capture){.gpu = g, .graph = graph};
    current = c;
    return true;
  }
  nxi_free(c);
  nxi_free(graph);
  nxi_mutex_unlock(&g->capture_lock);
  return false;
}

/* Scratch that was not freed before the end of the capture belongs to its user until that frees
 * it. */
static bool lend(capture *c) {
  bool any = false;
  nxi_mutex_lock(&c->gpu->lock);
  for (uint32_t i = 0; i < c->graph->n_scratch; i++) {
    if (!c->used[i]) continue;
    c->graph->scratch[i]->references++;
    c->graph->scratch[i]->lent = true;
    atomic_fetch_add(&c->gpu->lent, 1);
    any = true;
  }
  nxi_mutex_unlock(&c->gpu->lock);
  return any;
}

bool nxi_gpu_scratch_returns(nxi_gpu *g, uint64_t at) {
  nxi_gpu_scratch *gone = NULL, *s;
  if (atomic_load_explicit(&g->lent, memory_order_relaxed) == 0) return false;
  nxi_mutex_lock(&g->lock);
  for (s = g->scratch; s != NULL && !(s->lent && s->at == at);) s = s->next;
  if (s != NULL) {
    s->lent = false;
    atomic_fetch_sub(&g->lent, 1);
    unref(g, s, &gone);
  }
  nxi_mutex_unlock(&g->lock);
  free_scratch(g, gone);
  return s != NULL;
}

nxi_gpu_graph *nxi_gpu_capture_end(nxi_gpu *g, bool wanted) {
  capture *c = current;
  nxi_gpu_graph *graph = c->graph;
  void *captured = NULL;
  current = NULL;
  bool ended = g->cuda->capture_end(g->capture_streams[0][0], &captured) == 0;
  bool good = ended && captured != NULL;
  if (!ended) give_up_streams(g, 0);
  if (lend(c) || c->refused || !wanted) good = false;
  if (good && g->cuda->graph_instantiate(&graph->executable, captured, 0) != 0) {
    graph->executable = NULL;
    good = false;
  }
  if (good && c->conditions) graph->source = captured;
  else if (captured != NULL) g->cuda->graph_destroy(captured);
  nxi_gpu_leave(g);
  nxi_mutex_unlock(&g->capture_lock);
  nxi_free(c);
  if (good) return graph;
  nxi_gpu_graph_destroy(graph);
  return NULL;
}

nx_status nxi_gpu_graph_launch(nxi_gpu_graph *graph, nxi_diag *d) {
  nxi_gpu *g = graph->gpu;
  nx_status status = nxi_gpu_enter(g, d);
  if (status != NX_OK) return status;
  int result = g->cuda->graph_launch(graph->executable, g->stream);
  nxi_gpu_leave(g);
  if (result != 0) return nxi_gpu_refused(g, result, "starting a graph", d);
  atomic_fetch_add_explicit(&g->graph_launches, 1, memory_order_relaxed);
  return NX_OK;
}

static nx_status failed(nxi_gpu *g, int result, const char *what, nxi_diag *d) {
  current->refused = true;
  return nxi_gpu_refused(g, result, what, d);
}

/* ---- tracks: a stream each, of which the first is the one that was begun. Another one is in the
 * capture from its first wait for an event of it on, and has to be waited for at the end. */

static void *stream_of(const nxi_gpu *g, uint32_t track) {
  return g->capture_streams[current->scope][track];
}

static int record(const nxi_gpu *g, void **event, uint32_t track) {
  int result = nxi_gpu_make_event(g, event);
  return result == 0 ? g->cuda->event_record(*event, stream_of(g, track)) : result;
}

nx_status nxi_gpu_tracks_begin(nxi_gpu *g, nxi_diag *d) {
  int result = record(g, &g->track_events.begin, 0);
  return result == 0 ? NX_OK : failed(g, result, "beginning to work side by side", d);
}

static int enter_track(nxi_gpu *g, uint32_t track) {
  if (track == 0 || current->entered[track]) return 0;
  current->entered[track] = true;
  return g->cuda->stream_wait_event(stream_of(g, track), g->track_events.begin, 0);
}

nx_status nxi_gpu_track(nxi_gpu *g, uint32_t track, const uint32_t *after, nxi_diag *d) {
  if (!has_stream(g, current->scope, track)) return nxi_gpu_capture_refuses(d);
  int result = enter_track(g, track);
  for (uint32_t i = 0; after != NULL && i < NXP_TRACKS && result == 0; i++) {
    if (after[i] == 0) continue;
    void *event = g->track_events.steps[(after[i] - 1) % NXP_MOST_BESIDE];
    result = g->cuda->stream_wait_event(stream_of(g, track), event, 0);
  }
  current->track = track;
  return result == 0 ? NX_OK : failed(g, result, "working side by side", d);
}

nx_status nxi_gpu_track_mark(nxi_gpu *g, uint32_t number, nxi_diag *d) {
  int result = record(g, &g->track_events.steps[number % NXP_MOST_BESIDE], current->track);
  return result == 0 ? NX_OK : failed(g, result, "working side by side", d);
}

nx_status nxi_gpu_tracks_join(nxi_gpu *g, nxi_diag *d) {
  int result = 0;
  for (uint32_t i = 1; i < NXP_TRACKS; i++) {
    if (current->entered[i] && result == 0) result = record(g, &g->track_events.ends[i], i);
    if (current->entered[i] && result == 0)
      result = g->cuda->stream_wait_event(stream_of(g, 0), g->track_events.ends[i], 0);
    current->entered[i] = false;
  }
  memset(current->user, ANYBODY, sizeof current->user);
  current->track = 0;
  return result == 0 ? NX_OK : failed(g, result, "having worked side by side", d);
}

static void free_event(const nxi_gpu *g, void *event) {
  if (event != NULL) g->cuda->event_destroy(event);
}

void nxi_gpu_tracks_destroy(nxi_gpu *g) {
  nxi_gpu_track_events *e = &g->track_events;
  for (uint32_t i = 0; i < NXI_GPU_SCOPES; i++) give_up_streams(g, i);
  for (int i = 0; i < NXP_MOST_BESIDE; i++) free_event(g, e->steps[i]);
  for (int i = 0; i < NXP_TRACKS; i++) free_event(g, e->ends[i]);
  free_event(g, e->begin);
}

/* ---- conditional nodes */

enum { NODE_EMPTY = 5, NODE_CONDITIONAL = 13, SET_DEPENDENCIES = 1, CAPTURING = 1 };

bool nxi_gpu_has_conditions(const nxi_gpu *g) {
  (void)g;
  return nxi_cuda_get_new() != NULL;
}

/* The graph that is captured into, and the nodes after which the next one comes. */
typedef struct place {
  void *graph, *stream;
  void *const *nodes;
  size_t n;
} place;

static nx_status find_place(nxi_gpu *g, place *p, nxi_diag *d) {
  int capturing = 0;
  const void *edges = NULL;
  p->stream = g->capture_streams[current->scope][0];
  int result = nxi_cuda_get_new()->capture_info(p->stream, &capturing, NULL, &p->graph, &p->nodes,
                                                &edges, &p->n);
  if (result != 0) return failed(g, result, "asking for a capture", d);
  return capturing == CAPTURING ? NX_OK : nxi_gpu_capture_refuses(d);
}

/* The next node comes after this one. */
static nx_status add_node(nxi_gpu *g, const place *p, nxi_cuda_conditional *node, nxi_diag *d) {
  const nxi_cuda_new *cuda = nxi_cuda_get_new();
  void *made = NULL;
  int result = cuda->graph_add_node(&made, p->graph, p->nodes, NULL, p->n, node);
  if (result == 0)
    result = cuda->capture_goes_on_after(p->stream, &made, NULL, 1, SET_DEPENDENCIES);
  return result == 0 ? NX_OK : failed(g, result, "adding a node to a graph", d);
}

nx_status nxi_gpu_condition_handle(nxi_gpu *g, uint64_t *handle, nxi_diag *d) {
  place p;
  nx_status status = find_place(g, &p, d);
  if (status != NX_OK) return status;
  current->conditions = true;
  int result = nxi_cuda_get_new()->conditional_handle(handle, p.graph, g->context, 0, 0);
  return result == 0 ? NX_OK : failed(g, result, "making a handle of a condition", d);
}

nx_status nxi_gpu_add_condition(nxi_gpu *g, nxi_gpu_condition kind, uint64_t handle, void **bodies,
                                uint32_t n, nxi_diag *d) {
  place p;
  nxi_cuda_conditional node = {.type = NODE_CONDITIONAL,
                               .handle = handle,
                               .kind = (int32_t)kind,
                               .n_bodies = n,
                               .context = g->context};
  nx_status status = find_place(g, &p, d);
  if (status == NX_OK) status = add_node(g, &p, &node, d);
  for (uint32_t i = 0; i < n && status == NX_OK; i++) bodies[i] = node.bodies[i];
  return status;
}

nx_status nxi_gpu_body_begin(nxi_gpu *g, void *body, nxi_diag *d) {
  uint32_t scope = current->scope + 1;
  if (scope == NXI_GPU_SCOPES || !has_stream(g, scope, 0)) return nxi_gpu_capture_refuses(d);
  int result = nxi_cuda_get_new()->capture_into(g->capture_streams[scope][0], body, NULL, NULL, 0,
                                                NXI_CUDA_CAPTURE_RELAXED);
  if (result != 0) return failed(g, result, "capturing a body", d);
  current->scope = scope;
  return NX_OK;
}

/* A body without work gets a node that does nothing: no driver says that one may be empty. */
nx_status nxi_gpu_body_end(nxi_gpu *g, nxi_diag *d) {
  place p;
  void *graph = NULL;
  uint32_t scope = current->scope;
  nxi_cuda_conditional nothing = {.type = NODE_EMPTY};
  nx_status status = find_place(g, &p, d);
  if (status == NX_OK && p.n == 0) status = add_node(g, &p, &nothing, d);
  int result = g->cuda->capture_end(g->capture_streams[scope][0], &graph);
  if (result != 0) give_up_streams(g, scope);
  current->scope = scope - 1;
  if (result != 0) return failed(g, result, "capturing a body", d);
  return status;
}

/* Its scratch is freed in the order of the stream, like all memory. */
void nxi_gpu_graph_destroy(nxi_gpu_graph *graph) {
  nxi_gpu_scratch *gone = NULL;
  if (graph == NULL) return;
  nxi_gpu *g = graph->gpu;
  if (graph->executable != NULL && nxi_gpu_enter_to_free(g)) {
    /* nobody says that what conditional nodes need outlives a run */
    if (graph->source != NULL) g->cuda->stream_wait(g->stream);
    g->cuda->graph_executable_destroy(graph->executable);
    if (graph->source != NULL) g->cuda->graph_destroy(graph->source);
    nxi_gpu_leave(g);
  }
  nxi_mutex_lock(&g->lock);
  for (uint32_t i = 0; i < graph->n_scratch; i++) unref(g, graph->scratch[i], &gone);
  nxi_mutex_unlock(&g->lock);
  free_scratch(g, gone);
  nxi_free(graph);
}
