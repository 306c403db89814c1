/* SPDX-License-Identifier: ISC */
/* A `while` whose condition assigns. The condition runs once before each step and once more when it
 * does not hold, and what it assigns each time is seen by whatever runs after it:
 *
 *   holds, values = condition(values)
 *   while holds: holds, values = condition(body(values))
 *
 * So the condition is computed before the loop, and by each step after the body. The new condition
 * is the carried value `holds`. */
#include <string.h>

#include "function_control.h"

/* Writes a body's graph into another one, on nodes that its inputs are. outputs: its results. */
static bool write(nxg_graph *to, const nxg_graph *g, const uint32_t *inputs, uint32_t *outputs) {
  uint32_t *map = nxi_malloc(((size_t)g->n_nodes + nxi_loop_most_args(g)) * sizeof *map);
  if (map == NULL) return false;
  for (uint32_t i = 0; i < g->n_inputs; i++) map[g->inputs[i].node] = inputs[i];
  for (uint32_t i = 0; i < g->n_nodes && !to->failed; i++)
    if (g->nodes[i].op != NXG_input) nxi_loop_copy_node(to, g, i, map, map + g->n_nodes);
  for (uint32_t i = 0; i < g->n_outputs; i++) outputs[i] = map[g->outputs[i].node];
  nxi_free(map);
  return !to->failed;
}

/* A graph with the inputs of the new bodies: whether the condition holds, then those of `test`. */
static nxg_graph *with_inputs(const nxg_graph *test, const char *name, uint32_t *holds,
                              uint32_t *inputs) {
  nxg_graph *g = nxg_create(name);
  if (g == NULL) return NULL;
  *holds = nxg_add_input(g, NX_BOOL, 0, NULL, 0, -1, NULL);
  for (uint32_t i = 0; i < test->n_inputs; i++) {
    const nxg_node *n = &test->nodes[test->inputs[i].node];
    inputs[i] = nxg_add_input(g, n->dtype, n->rank, n->shape, 0, -1, n->name);
  }
  return g;
}

static nxg_graph *new_condition(const nxg_graph *test, uint32_t *room) {
  uint32_t holds;
  nxg_graph *g = with_inputs(test, "holds", &holds, room);
  if (g != NULL) nxg_add_output(g, holds, NULL);
  return g;
}

/* room: for inputs, and as many results. */
static nxg_graph *new_step(const nxg_graph *test, const nxg_graph *step, uint32_t *room) {
  uint32_t holds, *inputs = room, *results = room + test->n_inputs + 1;
  nxg_graph *g = with_inputs(test, step->name, &holds, inputs);
  if (g == NULL || !write(g, step, inputs, results)) return g;
  memcpy(inputs, results, step->n_outputs * sizeof *inputs); /* carried values and states */
  if (!write(g, test, inputs, results)) return g;
  for (uint32_t i = 0; i < test->n_outputs; i++) nxg_add_output(g, results[i], NULL);
  return g;
}

/* Takes a graph as body i, which becomes that of the loop. */
static nx_status take(nxi_loop *k, uint32_t i, nxg_graph *g) {
  int64_t number;
  if (g == NULL || g->failed) {
    nxg_destroy(g);
    return nxi_oom(k->d);
  }
  nx_status status = nxg_body_take(g, &number, k->d);
  if (status != NX_OK) return status;
  nxg_body_release(k->numbers[i]);
  k->numbers[i] = number;
  return NX_OK;
}

nx_status nxi_loop_turn(nxi_loop *k, uint32_t *args, uint32_t *n) {
  nxg_graph *test = nxi_loop_body(k, k->bodies[0], NXI_BODY_TEST_AND_VALUES);
  const nxg_graph *step = nxg_body_find(k->numbers[1])->graph;
  uint32_t *room = test ? nxi_malloc((2 * (size_t)test->n_inputs + 2) * sizeof *room) : NULL;
  nx_status status = room != NULL ? NX_OK : nxi_oom(k->d);
  if (status == NX_OK) status = take(k, 0, new_condition(test, room));
  if (status == NX_OK) status = take(k, 1, new_step(test, step, room));
  if (status == NX_OK && !write(k->g, test, args, room)) status = nxi_oom(k->d);
  if (status == NX_OK) {
    uint32_t changed = test->n_outputs - 1;
    memmove(args + 1, args, *n * sizeof *args);
    memcpy(args, room, (changed + 1) * sizeof *args);
    ++*n;
  }
  nxg_destroy(test);
  nxi_free(room);
  return status;
}
