/* SPDX-License-Identifier: ISC */
/* Updates: in place where nothing reads the old contents later, else on a copy. */
#include "build.h"

static bool same_place(const nxk_access *a, const nxk_access *b) {
  bool same = a->offset == b->offset && a->n_terms == b->n_terms && a->index == NXK_NONE &&
              b->index == NXK_NONE && a->mask == NXK_NONE;
  for (uint32_t i = 0; same && i < a->n_terms; i++) /* not memcmp: terms have padding */
    same = a->terms[i].index == b->terms[i].index && a->terms[i].stride == b->terms[i].stride;
  return same;
}

/* Whether the kernel reads the memory that the update writes at other points than the one it
 * writes. */
static bool reads_elsewhere(const nxp_step_builder *s, const nxk_kernel *k,
                            const nxp_kernel_binding *binding, uint32_t update) {
  const nxg_node *n = node_of(s, update);
  uint32_t old = n->args[0], exact = n->n_args == 3 ? n->args[2] : old;
  const nxk_access *store = NULL;
  for (uint32_t i = 0; i < k->n_instrs; i++)
    if (k->instrs[i].op == NXK_store) store = &k->accesses[k->instrs[i].imm];
  for (uint32_t i = 0; i < k->n_instrs && store != NULL; i++) {
    if (k->instrs[i].op != NXK_load) continue;
    const nxk_access *load = &k->accesses[k->instrs[i].imm];
    uint32_t node = binding->buffer_nodes[load->buffer];
    bool aliased = node == old ||
                   (nxp_alias_of(s, node) >= 0 && nxp_alias_of(s, node) == nxp_alias_of(s, old));
    const nxp_location *there = &s->b->where[node], *here = &s->b->where[old];
    aliased = aliased || (there->kind == here->kind && there->number == here->number);
    if (aliased && (node != exact || !same_place(load, store))) return true;
  }
  return false;
}

/* The input at the start of a chain of updates: alias ranges are inputs relative to it. */
static uint32_t chain_start(const nxp_step_builder *s, uint32_t node) {
  while (node_of(s, node)->op == NXG_update) node = node_of(s, node)->args[0];
  return node;
}

static nxp_location moved_to_alias_range(const nxp_step_builder *s, uint32_t update,
                                         nxp_location where) {
  const nxg_node *n = node_of(s, update);
  uint32_t start = chain_start(s, update);
  if (n->n_args < 3 || node_of(s, start)->op != NXG_input) return where;
  where.alias_range = (uint32_t)node_of(s, n->args[2])->attrs[0];
  where.alias_range_of = (uint32_t)node_of(s, start)->attrs[0];
  return where;
}

/* Whether the view that an update writes has elements before its first one. */
static bool runs_back(const nxg_node *n) {
  const int64_t *strides = n->attrs + 2 + n->attrs[1];
  for (int64_t i = 0; i < n->attrs[1]; i++)
    if (strides[i] < 0) return true;
  return false;
}

nx_status nxp_add_update(nxp_step_builder *s, nxk_kernel *k, const nxp_kernel_binding *binding,
                         uint32_t node) {
  const nxg_node *n = node_of(s, node);
  nxp_location *where = s->b->where, buffers[NXP_MAX_BUFFERS];
  bool over = nxp_takes_over(s, node), via_temporary = over && reads_elsewhere(s, k, binding, node);
  if (over) where[node] = where[n->args[0]];
  else if (!nxp_new_memory(s, node, &where[node]) ||
           !nxp_add_copy(s, node, where[n->args[0]], where[node], node_bytes(s, node)))
    return nxi_oom(s->b->d);
  for (uint32_t i = 0; i < binding->n_buffers; i++) {
    buffers[i] = where[binding->buffer_nodes[i]];
    if (binding->buffer_nodes[i] == node) buffers[i] = moved_to_alias_range(s, node, where[node]);
    k->buffers[i].restricted = false;
    if (buffers[i].alias_range != NXP_NO_ALIAS_RANGE && runs_back(n))
      k->buffers[i].elements = -1; /* not known from where it begins */
  }
  return via_temporary ? nxp_add_via_temporary(s, k, binding, buffers, node)
                       : nxp_add_logical(s, k, buffers, binding, node);
}
