/* SPDX-License-Identifier: ISC */
/* Who reads what: decides which updates may take over the memory that they update. */
#include "build.h"

#include <string.h>

int32_t nxp_alias_of(const nxp_step_builder *s, uint32_t node) {
  const nxg_node *n = node_of(s, node);
  return n->op == NXG_input ? s->b->g->inputs[n->attrs[0]].alias : -1;
}

/* Group number `at` reads the memory of a node. */
static void note_read(nxp_step_builder *s, uint32_t node, uint32_t at) {
  int32_t alias = nxp_alias_of(s, node);
  if (s->group_order[node] < at + 1) s->group_order[node] = at + 1;
  if (alias >= 0 && s->alias_order[alias] < at + 1) s->alias_order[alias] = at + 1;
}

static bool visit(nxp_step_builder *s, uint32_t node) {
  if (!nxi_grow(&s->stack, &s->cap_stack, s->n_stack + 1, sizeof *s->stack)) return false;
  s->stack[s->n_stack++] = node;
  return true;
}

/* Notes all memory that the kernels of a group read when group number `at` has its turn. Stamps
 * tell visits apart. */
static bool scan_group(nxp_step_builder *s, uint32_t group, uint32_t at, uint32_t stamp) {
  const nxp_group *members = &s->b->clusters->groups[group];
  for (uint32_t i = 0; i < members->n_roots; i++) {
    const nxg_node *n = node_of(s, members->roots[i].node);
    bool over = n->op == NXG_update || n->op == NXG_scatter; /* operand 0 is written, not read */
    for (uint32_t a = over ? 1 : 0; a < (n->op == NXG_update ? 2 : n->n_args); a++)
      if (!visit(s, n->args[a])) return false;
  }
  while (s->n_stack > 0) {
    uint32_t node = s->stack[--s->n_stack];
    if (s->stamp[node] == stamp) continue;
    s->stamp[node] = stamp;
    if (has_memory(s, node)) {
      if (s->b->clusters->group_of[node] == group) continue;
      note_read(s, node, at);
      s->readers[node] += at == group;
      continue;
    }
    const nxg_node *n = node_of(s, node);
    for (uint32_t a = 0; a < n->n_args; a++)
      if (!visit(s, n->args[a])) return false;
  }
  return true;
}

/* Order + 1 of the last group that reads the memory of a node, whatever input names it. */
static uint32_t last_reader(const nxp_step_builder *s, uint32_t node) {
  uint32_t last = s->group_order[node];
  int32_t alias = nxp_alias_of(s, node);
  return alias >= 0 && s->alias_order[alias] > last ? s->alias_order[alias] : last;
}

/* The operand of a node that says which of its indices is bad, NXP_NONE. */
static uint32_t check_operand(const nxg_node *n) {
  if (n->op == NXG_gather && n->n_args == 3) return n->args[2];
  return n->op == NXG_scatter && n->n_args == 4 ? n->args[3] : NXP_NONE;
}

static void find_checks(nxp_step_builder *s) {
  const nxg_graph *g = s->b->g;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    uint32_t check = check_operand(&g->nodes[i]);
    if (check == NXP_NONE) continue;
    while (g->nodes[check].op == NXG_view) check = g->nodes[check].args[0];
    uint32_t group = s->b->clusters->group_of[check];
    if (group == NXP_NONE || s->check_of[check] != NXP_NONE) continue;
    s->check_of[check] = i;
    if (group + 1 > s->last_failing) s->last_failing = group + 1;
  }
}

bool nxp_examine(nxp_step_builder *s) {
  const nxp_clusters *c = s->b->clusters;
  find_checks(s);
  for (uint32_t i = 0; i < c->n_groups; i++)
    if (!scan_group(s, i, i, i + 1)) return false;
  for (uint32_t i = 0; i < c->n_groups; i++) {
    const nxg_node *first = node_of(s, c->groups[i].roots[0].node);
    if (c->groups[i].kind == NXP_GROUP_CALL &&
        (nxg_is_control(first->op) || nxg_call_fails((nxg_op)first->op)) && i + 1 > s->last_failing)
      s->last_failing = i + 1;
    if (c->groups[i].kind != NXP_GROUP_UPDATE && c->groups[i].kind != NXP_GROUP_SCATTER) continue;
    uint32_t node = c->groups[i].roots[0].node, old = node_of(s, node)->args[0];
    if (nxp_alias_of(s, old) >= 0) s->alias_base[nxp_alias_of(s, old)] = i + 1;
    s->updated_by[old] = s->updated_by[old] == NXP_NONE ? node : old; /* `old` itself: by several */
  }
  return true;
}

bool nxp_read_later(nxp_step_builder *s, uint32_t group, uint32_t product, uint32_t at) {
  return scan_group(s, group, at, s->b->clusters->n_groups + 1 + product);
}

/* Whether update `node` may take over the memory of what it updates. */
bool nxp_takes_over(const nxp_step_builder *s, uint32_t node) {
  const nxg_graph *g = s->b->g;
  uint32_t old = g->nodes[node].args[0];
  int32_t alias = nxp_alias_of(s, old);
  /* a later update copies what it updates, which may be this memory */
  if (alias >= 0 && s->alias_base[alias] > s->b->clusters->group_of[node] + 1) return false;
  uint32_t itself =
      g->nodes[node].op == NXG_update; /* an update knows how to read what it writes */
  if (s->updated_by[old] != node || last_reader(s, old) > s->b->clusters->group_of[node] + itself ||
      s->b->output_of[old])
    return false;
  if (g->nodes[old].op != NXG_input) return true;
  /* What fails must find the inputs as they were. */
  uint32_t flags = g->inputs[g->nodes[old].attrs[0]].flags;
  return (flags & NXG_INPUT_OVERWRITE) &&
         ((flags & NXG_INPUT_SPENT) || s->b->clusters->group_of[node] >= s->last_failing);
}

/* The node whose memory an operand is all of; NXP_NONE. */
static uint32_t memory_of(const nxp_step_builder *s, uint32_t node) {
  nxg_view v;
  const nxg_node *n = node_of(s, node);
  if (n->op != NXG_view) return node;
  nxg_node_view(s->b->g, node, &v);
  bool whole = nxg_view_is_contiguous(&v) && v.offset == 0 &&
               nxg_node_elements(n) == nxg_node_elements(node_of(s, n->args[0]));
  return whole ? n->args[0] : NXP_NONE;
}

static uint32_t base_of(const nxp_step_builder *s, uint32_t node) {
  return node_of(s, node)->op == NXG_view ? node_of(s, node)->args[0] : node;
}

/* Whether carried value `operand` of a loop may lie in its memory from the first step on: nothing
 * else reads it, and what is done to it is not needed if the loop fails. */
bool nxp_loop_takes_over(const nxp_step_builder *s, uint32_t node, uint32_t operand) {
  const nxg_node *n = node_of(s, node);
  uint32_t old = memory_of(s, n->args[operand]);
  if (old == NXP_NONE || !has_memory(s, old) || nxp_alias_of(s, old) >= 0) return false;
  for (uint32_t i = 0; i < n->n_args; i++)
    if (i != operand && base_of(s, n->args[i]) == old) return false;
  if (s->updated_by[old] != NXP_NONE || s->b->output_of[old] ||
      last_reader(s, old) > s->b->clusters->group_of[node] + 1)
    return false;
  if (node_of(s, old)->op != NXG_input) return s->b->where[old].kind == NXP_TEMPORARY;
  return (s->b->g->inputs[node_of(s, old)->attrs[0]].flags & NXG_INPUT_SPENT) != 0;
}
