/* SPDX-License-Identifier: ISC */
/* Merges nodes that compute the same value: same operation, operands, attributes and type. Keeps: bits. */
#include "graph_rewrite.h"

#include <string.h>

static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 31);
}

static uint64_t hash_node(const nxg_rewrite *r, const nxg_node *n) {
  uint64_t h = mix(n->op, (uint64_t)n->dtype << 32 | (uint64_t)n->rank << 16 | n->n_attrs);
  for (uint32_t i = 0; i < n->n_args; i++) h = mix(h, r->map[n->args[i]]);
  for (uint32_t i = 0; i < n->n_attrs; i++) h = mix(h, (uint64_t)n->attrs[i]);
  for (uint32_t i = 0; i < n->rank; i++) h = mix(h, (uint64_t)n->shape[i]);
  return h;
}

/* Whether new node `made` is what old node n would become. */
static bool same(const nxg_rewrite *r, const nxg_node *n, const nxg_node *made) {
  if (n->op != made->op || n->dtype != made->dtype || n->rank != made->rank ||
      n->n_args != made->n_args || n->n_attrs != made->n_attrs ||
      memcmp(n->shape, made->shape, n->rank * sizeof *n->shape) != 0)
    return false;
  for (uint32_t i = 0; i < n->n_args; i++)
    if (r->map[n->args[i]] != made->args[i]) return false;
  return n->n_attrs == 0 || memcmp(n->attrs, made->attrs, n->n_attrs * sizeof *n->attrs) == 0;
}

nx_status nxg_pass_cse(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d) {
  nxg_rewrite r;
  nx_status status = nxg_rewrite_begin(&r, g, d);
  if (status != NX_OK) return status;
  uint64_t size = 64;
  while (size < (uint64_t)g->n_nodes * 2) size *= 2;
  uint32_t *table = nxi_malloc(size * sizeof *table);
  if (table == NULL) r.to->failed = true;
  else memset(table, 0xff, size * sizeof *table);
  for (uint32_t i = 0; i < g->n_nodes && !r.to->failed; i++) {
    const nxg_node *n = &g->nodes[i];
    if (n->op == NXG_input) continue;
    uint64_t slot = hash_node(&r, n) & (size - 1);
    while (table[slot] != UINT32_MAX && !same(&r, n, &r.to->nodes[table[slot]]))
      slot = (slot + 1) & (size - 1);
    if (table[slot] != UINT32_MAX) {
      r.map[i] = table[slot];
      r.changed = true;
    } else {
      table[slot] = nxg_rewrite_copy(&r, i);
    }
  }
  nxi_free(table);
  return nxg_rewrite_end(&r, out, changed, d);
}
