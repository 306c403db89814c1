/* SPDX-License-Identifier: ISC */
/* The table of bodies. Two graphs are the same body if their texts are, in which bodies that they
 * name are numbers. */
#include "body.h"

#include <string.h>

#include "control.h"
#include "ir/library/custom.h"
#include "ir/platform/lock.h"

typedef struct entry {
  nxg_body body;
  nxg_graph *graph;
  char *text;
  uint32_t size;
  uint64_t hash, references;
} entry;

/* Rising numbers. An entry does not move while it lives. */
static nxi_lock lock = NXI_LOCK_INITIALIZER;
static entry **entries;
static uint32_t n_entries, cap_entries;
static int64_t last_number;

/* The first entry whose number is not below this one. */
static uint32_t place_of(int64_t number) {
  uint32_t low = 0, high = n_entries;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (entries[middle]->body.number < number) low = middle + 1;
    else high = middle;
  }
  return low;
}

static entry *find(int64_t number) {
  uint32_t at = place_of(number);
  return at < n_entries && entries[at]->body.number == number ? entries[at] : NULL;
}

const nxg_body *nxg_body_find(int64_t number) {
  nxi_lock_take(&lock);
  const entry *e = find(number);
  nxi_lock_give(&lock);
  return e ? &e->body : NULL;
}

bool nxg_body_hold(int64_t number) {
  nxi_lock_take(&lock);
  entry *e = find(number);
  if (e) e->references++;
  nxi_lock_give(&lock);
  return e != NULL;
}

static void destroy(entry *e) {
  if (!e) return;
  nxg_destroy(e->graph);
  nxi_free(e->text);
  nxi_free(e);
}

void nxg_body_release(int64_t number) {
  entry *dead = NULL;
  nxi_lock_take(&lock);
  uint32_t at = place_of(number);
  if (at < n_entries && entries[at]->body.number == number && --entries[at]->references == 0) {
    dead = entries[at];
    memmove(entries + at, entries + at + 1, (n_entries - at - 1) * sizeof *entries);
    if (--n_entries == 0) { /* nothing is left when the last one goes */
      nxi_free(entries);
      entries = NULL;
      cap_entries = 0;
    }
  }
  nxi_lock_give(&lock);
  destroy(dead); /* which may release others */
}

/* ---- making them */

static uint64_t hash_of(const char *text, uint32_t n) {
  uint64_t h = 0xcbf29ce484222325u;
  for (uint32_t i = 0; i < n; i++) h = (h ^ (uint8_t)text[i]) * 0x100000001b3u;
  return h;
}

static bool is_bare(const nxg_graph *g) {
  for (uint32_t i = 0; i < g->n_inputs; i++)
    if (g->inputs[i].flags != 0 || g->inputs[i].alias >= 0) return false;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == NXG_update && g->nodes[i].n_args == 3) return false;
  return g->n_params == 0;
}

static nx_status check(const nxg_graph *g, nxg_body *b, nxi_diag *d) {
  if (g->n_outputs == 0)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "body", "the body %s has no outputs", g->name);
  if (!is_bare(g))
    return nxi_fail(d, NX_INVALID_ARGUMENT, "body",
                    "the body %s has parameters, or inputs with more than a type", g->name);
  b->depth = 1;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    nx_dtype t = (nx_dtype)n->dtype;
    b->retyped |= nxi_is_complex(t) || nxi_is_nibble(t) || nxi_is_stored(t) || n->op == NXG_real ||
                  n->op == NXG_imag || n->op == NXG_conj || nxg_is_bool_arithmetic(n);
    b->is_ordered |= n->op == NXG_custom && n->attrs[NXG_CUSTOM_ORDER] != 0;
    b->has_custom |= n->op == NXG_custom;
  }
  for (uint32_t i = 0; i < g->n_bodies; i++) {
    const nxg_body *inner = nxg_body_find(g->bodies[i]);
    b->retyped |= inner->retyped;
    b->is_ordered |= inner->is_ordered;
    b->has_custom |= inner->has_custom;
    b->depth = inner->depth >= b->depth ? inner->depth + 1 : b->depth;
  }
  if (b->depth <= NXG_BODY_DEPTH) return NX_OK;
  return nxi_fail(d, NX_INVALID_ARGUMENT, "body", "the body %s nests deeper than %d bodies",
                  g->name, NXG_BODY_DEPTH);
}

/* An equal body; takes a reference to it. lock */
static entry *equal_to(const entry *e) {
  for (uint32_t i = 0; i < n_entries; i++) {
    entry *x = entries[i];
    if (x->hash != e->hash || x->size != e->size || memcmp(x->text, e->text, e->size) != 0)
      continue;
    x->references++;
    return x;
  }
  return NULL;
}

static nx_status enter(entry *e, int64_t *number, nxi_diag *d) {
  nx_status status = NX_OK;
  nxi_lock_take(&lock);
  entry *same = equal_to(e);
  if (same) {
    *number = same->body.number;
  } else if (!nxi_grow(&entries, &cap_entries, n_entries + 1, sizeof *entries)) {
    status = nxi_oom(d);
  } else {
    e->body.number = *number = ++last_number;
    e->references = 1;
    entries[n_entries++] = e;
  }
  nxi_lock_give(&lock);
  if (same || status) destroy(e);
  return status;
}

nx_status nxg_body_take(nxg_graph *g, int64_t *number, nxi_diag *d) {
  entry *e = nxi_calloc(1, sizeof *e);
  if (!e || g->failed) {
    nxg_destroy(g);
    nxi_free(e);
    return nxi_oom(d);
  }
  e->graph = g;
  e->body.graph = g;
  nx_status status = check(g, &e->body, d);
  nxi_text text = {0};
  nxi_fp environment = nxi_fp_enter(); /* recording takes bodies, and numbers are written as text */
  if (!status) nxg_print_alone(g, &text);
  nxi_fp_leave(environment);
  if (!status && text.failed) status = nxi_oom(d);
  e->text = text.data;
  e->size = text.size;
  if (status) {
    destroy(e);
    return status;
  }
  e->hash = hash_of(e->text, e->size);
  return enter(e, number, d);
}

/* ---- copies */

static void copy_text(nxg_graph *g, const char **to, const char *text) {
  if (!text) return;
  *to = nxi_arena_copy(&g->arena, text, strlen(text) + 1);
  g->failed = g->failed || !*to;
}

static void copy_node(nxg_graph *g, const nxg_graph *from, uint32_t i) {
  const nxg_node *n = &from->nodes[i];
  uint32_t node = nxg_add(g, (nxg_op)n->op, n->n_args, n->args, n->attrs, n->n_attrs, n->dtype,
                          n->rank, n->shape);
  if (node == UINT32_MAX) return;
  nxg_node *made = &g->nodes[node];
  made->tag = n->tag;
  made->called = n->called;
  copy_text(g, &made->name, n->name);
  copy_text(g, &made->tag_text, n->tag_text);
}

nxg_graph *nxg_copy(const nxg_graph *from) {
  nxg_graph *g = nxg_create(from->name);
  if (!g) return NULL;
  for (uint32_t i = 0; i < from->n_nodes && !g->failed; i++) copy_node(g, from, i);
  if (!nxi_grow(&g->inputs, &g->cap_inputs, from->n_inputs + 1, sizeof *g->inputs))
    g->failed = true;
  for (uint32_t i = 0; i < from->n_inputs && !g->failed; i++)
    g->inputs[g->n_inputs++] = from->inputs[i];
  for (uint32_t i = 0; i < from->n_outputs && !g->failed; i++)
    nxg_add_output(g, from->outputs[i].node, from->outputs[i].name);
  g->n_params = from->n_params;
  if (!g->failed) return g;
  nxg_destroy(g);
  return NULL;
}
