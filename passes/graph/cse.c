/* SPDX-License-Identifier: ISC */
/* Merges nodes that compute the same value: same operation, operands, attributes and type. But a
 * constant array that a scatter or an update writes over is its own, be it recorded once for
 * several of them: it is then filled where the result lies, and not copied. Keeps: bits. */
#include "rewrite.h"

#include <string.h>

static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 31);
}

static uint64_t hash_node(const nxg_node *n, const uint64_t *hashes) {
  uint64_t h = mix(n->op, (uint64_t)n->dtype << 32 | (uint64_t)n->rank << 16 | n->n_attrs);
  for (uint32_t i = 0; i < n->n_args; i++) h = mix(h, hashes[n->args[i]]);
  for (uint32_t i = 0; i < n->n_attrs; i++) h = mix(h, (uint64_t)n->attrs[i]);
  for (uint32_t i = 0; i < n->rank; i++) h = mix(h, (uint64_t)n->shape[i]);
  return h;
}

static bool same_itself(const nxg_node *n, const nxg_node *made) {
  return n->op == made->op && n->dtype == made->dtype && n->rank == made->rank &&
         n->n_args == made->n_args && n->n_attrs == made->n_attrs &&
         memcmp(n->shape, made->shape, n->rank * sizeof *n->shape) == 0 &&
         (n->n_attrs == 0 || memcmp(n->attrs, made->attrs, n->n_attrs * sizeof *n->attrs) == 0);
}

static bool writes_over(const nxg_node *n) { return n->op == NXG_scatter || n->op == NXG_update; }

/* Whether new node `made` equals what old node n would become. */
static bool same(const nxg_rewrite *r, const nxg_node *n, const nxg_node *made) {
  if (!same_itself(n, made)) return false;
  for (uint32_t i = 0; i < n->n_args; i++) {
    const uint32_t a = r->map[n->args[i]], b = made->args[i];
    const nxg_node *x = &r->to->nodes[a], *y = &r->to->nodes[b];
    const bool own = i == 0 && writes_over(n) && x->op == NXG_full && same_itself(x, y);
    if (a != b && !own) return false;
  }
  return true;
}

/* A filter for nodes that may have an equal. Each node gets a hash of everything that it is
 * computed from, which equal nodes share, and bits record which hashes occur once and which again.
 * Nearly all nodes of a large graph have no equal, and a hash table of all nodes would not fit in
 * the caches. */
typedef struct suspects {
  uint64_t *hash, *met, *met_again; /* hash: by node; met, met_again: bits by hash */
  uint64_t mask;
} suspects;

static bool bit(const uint64_t *bits, uint64_t i) { return bits[i / 64] >> (i % 64) & 1; }

static bool suspects_create(suspects *s, uint32_t n) {
  uint64_t bits = 512;
  while (bits < (uint64_t)n * 8) bits *= 2;
  *s = (suspects){.mask = bits - 1};
  s->hash = nxi_malloc(((size_t)n + 1) * sizeof *s->hash);
  s->met = nxi_calloc(bits / 32, sizeof *s->met);
  s->met_again = s->met != NULL ? s->met + bits / 64 : NULL;
  return s->hash != NULL && s->met != NULL;
}

/* Fills the filter; returns the number of nodes that may have an equal. */
static uint32_t find_suspects(suspects *s, const nxg_graph *g) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    uint64_t h = hash_node(&g->nodes[i], s->hash), at = h & s->mask;
    s->hash[i] = h;
    if (!bit(s->met, at)) s->met[at / 64] |= (uint64_t)1 << (at % 64);
    else s->met_again[at / 64] |= (uint64_t)1 << (at % 64);
  }
  for (uint32_t i = 0; i < g->n_nodes; i++) n += bit(s->met_again, s->hash[i] & s->mask);
  return n;
}

/* Copies a node; a constant array that it writes over, and that has another use or an equal, is
 * made once more. */
static uint32_t copy(nxg_rewrite *r, const suspects *s, uint8_t *used, uint32_t i) {
  const nxg_graph *g = r->from;
  const nxg_node *n = &g->nodes[i];
  const uint32_t old = n->n_args > 0 ? n->args[0] : 0;
  if (!writes_over(n) || g->nodes[old].op != NXG_full ||
      !(used[old] > 1 || bit(s->met_again, s->hash[old] & s->mask)))
    return nxg_rewrite_copy(r, i);
  const nxg_node *full = &g->nodes[old];
  const uint32_t mapped = r->map[old];
  const uint32_t own = nxg_rewrite_add(r, i, NXG_full, 0, NULL, full->attrs, full->n_attrs,
                                       (nx_dtype)full->dtype, full->rank, full->shape);
  if (nxg_rewrite_failed(r)) return own;
  r->map[old] = own;
  r->changed = true;
  const uint32_t made = nxg_rewrite_copy(r, i);
  r->map[old] = mapped;
  return made;
}

/* How often each node is used, 2: more often than once. */
static uint8_t *count_uses(const nxg_graph *g) {
  uint8_t *used = nxi_calloc((size_t)g->n_nodes + 1, 1);
  for (uint32_t i = 0; used != NULL && i < g->n_nodes + g->n_outputs; i++) {
    const bool output = i >= g->n_nodes;
    const uint32_t n_args = output ? 1 : g->nodes[i].n_args;
    for (uint32_t a = 0; a < n_args; a++) {
      uint8_t *of = &used[output ? g->outputs[i - g->n_nodes].node : g->nodes[i].args[a]];
      if (*of < 2) ++*of;
    }
  }
  return used;
}

nx_status nxg_pass_cse(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d) {
  nxg_rewrite r;
  suspects s;
  nx_status status = nxg_rewrite_begin(&r, g, d);
  if (status != NX_OK) return status;
  uint64_t size = 64, n_suspects = suspects_create(&s, g->n_nodes) ? find_suspects(&s, g) : 0;
  while (size < n_suspects * 2) size *= 2;
  uint32_t *table = nxi_malloc(size * sizeof *table);
  uint8_t *used = count_uses(g);
  if (table == NULL || used == NULL || s.hash == NULL || s.met == NULL) r.failed = true;
  else memset(table, 0xff, size * sizeof *table);
  for (uint32_t i = 0; i < g->n_nodes && !nxg_rewrite_failed(&r); i++) {
    const nxg_node *n = &g->nodes[i];
    if (n->op == NXG_input) continue;
    if (!bit(s.met_again, s.hash[i] & s.mask)) {
      copy(&r, &s, used, i);
      continue;
    }
    uint64_t slot = (s.hash[i] >> 8) & (size - 1);
    while (table[slot] != UINT32_MAX && !same(&r, n, &r.to->nodes[table[slot]]))
      slot = (slot + 1) & (size - 1);
    if (table[slot] != UINT32_MAX) {
      nxg_rewrite_map(&r, i, table[slot]);
      r.changed = true;
    } else {
      table[slot] = copy(&r, &s, used, i);
    }
  }
  nxi_free(table);
  nxi_free(used);
  nxi_free(s.hash);
  nxi_free(s.met);
  return nxg_rewrite_end(&r, out, changed);
}
