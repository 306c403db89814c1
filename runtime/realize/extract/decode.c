/* SPDX-License-Identifier: ISC */
/* From the key of a run back to a graph, for which a plan is made. */
#include <string.h>

#include "ir/platform/lock.h"
#include "runtime/realize/run.h"
#include "runtime/record/error.h"

/* Makes node `slot` of the key a node of the graph. */
static void decode_node(const nxi_run *run, nxg_graph *g, const uint64_t *w, uint32_t slot,
                        uint32_t *nodes, uint32_t *args, bool with_values) {
  uint32_t op = w[0] & 0xffff, n_args = (uint32_t)(w[0] >> 32), n_attrs = (uint32_t)w[1];
  int32_t dtype = (int32_t)(w[0] >> 16 & 0xff), rank = (int32_t)(w[0] >> 24 & 0xff);
  const int64_t *shape = (const int64_t *)(w + 2), *attrs = shape + rank;
  const uint64_t *slots = w + 2 + rank + n_attrs;
  for (uint32_t i = 0; i < n_args; i++) args[i] = nodes[slots[i]];
  int64_t constant[2];
  if (op == NXG_full && with_values && attrs[1] >= 0) {
    constant[0] = (int64_t)run->params[attrs[1]];
    constant[1] = -1;
    attrs = constant;
  }
  nodes[slot] = nxg_add(g, (nxg_op)op, n_args, args, attrs, n_attrs, dtype, rank, shape);
  if (nodes[slot] != UINT32_MAX) g->nodes[nodes[slot]].origin = slot;
}

/* Makes the nodes of the graph, inputs first, so that passes that change nothing need not copy it.
 * nodes: slot -> node; args: room for the operands of one node. */
static void decode_all(const nxi_run *run, nxg_graph *g, uint32_t *nodes, uint32_t *args,
                       bool with_values) {
  for (uint32_t i = 0; i < run->n_inputs; i++) {
    const nxi_run_input *in = &run->inputs[i];
    const uint64_t *w = run->key + in->words_at;
    int32_t rank = (int32_t)(w[0] >> 24 & 0xff);
    nodes[in->slot] = nxg_add_input(g, (int32_t)(w[0] >> 16 & 0xff), rank, (const int64_t *)w + 2,
                                    (uint32_t)w[2 + rank], (int32_t)w[3 + rank], NULL);
  }
  const uint64_t *w = run->key;
  for (uint32_t slot = 0; *w != UINT64_MAX && !g->failed; w = nxi_key_next(w), slot++)
    if ((w[0] & 0xffff) != NXG_input) decode_node(run, g, w, slot, nodes, args, with_values);
  for (uint32_t i = 0; i < run->n_outputs && !g->failed; i++)
    nxg_add_output(g, nodes[w[2 + i]], NULL);
  for (uint32_t i = 0; with_values && i < run->n_tags && !g->failed; i++) {
    const nxi_tag *tag = run->tags[i];
    if (tag) g->failed = !nxg_set_tag(g, nodes[i], nxi_tag_number(tag), nxi_tag_text(tag));
  }
}

nx_status nxi_decode(const nxi_run *run, bool with_values, nxg_graph **out, nxi_diag *d) {
  NXI_NO_LOCK();
  if (run->make_graph) return run->make_graph((nxi_run *)run, out, d);
  nxg_graph *g = nxg_create("f");
  uint32_t most = 1;
  for (const uint64_t *w = run->key; *w != UINT64_MAX; w = nxi_key_next(w))
    if (w[0] >> 32 > most) most = (uint32_t)(w[0] >> 32);
  uint32_t *nodes = nxi_malloc(((size_t)run->n_slots + most) * sizeof *nodes);
  bool good = g && nodes && nxi_grow(&g->nodes, &g->cap_nodes, run->n_slots, sizeof *g->nodes);
  if (good) decode_all(run, g, nodes, nodes + run->n_slots, with_values);
  nxi_free(nodes);
  if (good && !g->failed) {
    *out = g;
    return NX_OK;
  }
  nxg_destroy(g);
  return nxi_oom(d);
}
