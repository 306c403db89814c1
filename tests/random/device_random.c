/* SPDX-License-Identifier: ISC */
/* Random graphs on a device beside the interpreter, through the interface: the same bits.
 * device_random DEVICE [FIRST COUNT [loops]], DEVICE a name such as "cuda"; loops: random loops.
 * Exit status 77: there is no such device here. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/graph/control.h"
#include "ir/op.h"
#include "nx/nx.h"
#include "tests/random/generator/graph.h"
#include "tests/random/generator/loop.h"

enum { INTERP = 1 };

static void die(const char *what) {
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  fprintf(stderr, "%s: %s: %s\n", what, nx_status_name(e.status), e.message);
  exit(1);
}

static nx_device find_device(nx_context *c, const char *name) {
  for (nx_device d = 0; d < nx_device_count(c); d++) {
    nx_device_info info = {.size = sizeof info};
    if (nx_device_describe(c, d, &info) != NX_OK || strcmp(info.name, name) != 0) continue;
    if (info.available) return d;
    printf("the device %s is not available: %s\n", name, info.reason);
    exit(77);
  }
  printf("there is no device %s\n", name);
  exit(77);
}

/* Inputs of a graph on a device, equal for equal seeds. */
static void make_inputs(nx_context *c, const nxg_graph *g, nx_device device, uint64_t seed,
                        nx_tensor **in) {
  nxt_random r = {seed ^ 0x5eed};
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    const nxg_node *n = &g->nodes[g->inputs[i].node];
    int64_t elements = nxg_node_elements(n), bytes = nxi_dtype_bytes(n->dtype, elements);
    void *data = calloc((size_t)bytes + 1, 1);
    if (data == NULL) exit(1);
    (nxt_chance(&r, 50) ? nxt_random_fill : nxt_random_fill_plain)(&r, n->dtype, data, elements);
    in[i] = nx_empty(c, device, n->dtype, n->shape, n->rank);
    if (in[i] == NULL || nx_write(in[i], data, (size_t)bytes, NULL) != NX_OK) die("input");
    free(data);
  }
}

typedef struct outcome {
  nx_status status;
  void *data[64];
  int64_t bytes[64];
  char message[200];
} outcome;

enum { CALLS = 4 }; /* of one function: plans may change how they run */
static int changed;

/* The outcome of the first call; the others must have the same. */
static void call(nx_function *f, const nxg_graph *g, nx_tensor **in, outcome *o, bool first) {
  nx_tensor *out[64] = {NULL};
  o->status = nx_function_call(f, in, g->n_inputs, out, g->n_outputs, NULL);
  for (uint32_t i = 0; i < g->n_outputs && o->status == NX_OK; i++) {
    const nxg_node *n = &g->nodes[g->outputs[i].node];
    o->bytes[i] = nxi_dtype_bytes(n->dtype, nxg_node_elements(n));
    void *data = calloc((size_t)o->bytes[i] + 1, 1);
    if (data == NULL) exit(1);
    o->status = nx_read(out[i], data, (size_t)o->bytes[i], NULL);
    if (o->status == NX_OK && !first && memcmp(data, o->data[i], (size_t)o->bytes[i]) != 0)
      printf("a call of a function differs from the one before\n"), ++changed;
    free(o->data[i]);
    o->data[i] = data;
  }
  for (uint32_t i = 0; i < g->n_outputs; i++) nx_tensor_release(out[i]);
}

static void run(nx_context *c, const nxg_graph *g, const nxi_text *text, nx_device device,
                uint64_t seed, int calls, outcome *o) {
  nx_function *f = NULL;
  nx_tensor *in[64] = {NULL};
  memset(o, 0, sizeof *o);
  if (nx_function_parse(c, text->data, text->size,
                        &(nx_parse_options){.size = sizeof(nx_parse_options), .device = device},
                        &f) != NX_OK)
    die("parse");
  make_inputs(c, g, device, seed, in);
  for (int k = 0; k < calls && o->status == NX_OK; k++) call(f, g, in, o, k == 0);
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  snprintf(o->message, sizeof o->message, "%.199s", e.message);
  for (uint32_t i = 0; i < g->n_inputs; i++) nx_tensor_release(in[i]);
  nx_function_release(f);
}

static bool agree(const nxg_graph *g, const outcome *a, const outcome *b, uint64_t seed) {
  if (a->status != b->status)
    printf("seed %" PRIu64 ": %s (%s), the interpreter %s (%s)\n", seed, nx_status_name(a->status),
           a->message, nx_status_name(b->status), b->message);
  for (uint32_t i = 0; i < g->n_outputs && a->status == NX_OK && b->status == NX_OK; i++) {
    nx_dtype t = g->nodes[g->outputs[i].node].dtype, part = nxi_part_dtype(t);
    int64_t n = nxg_node_elements(&g->nodes[g->outputs[i].node]) * nxi_parts(t);
    for (int64_t e = 0; e < n; e++) {
      uint64_t x = nxi_load_at(a->data[i], part, e), y = nxi_load_at(b->data[i], part, e);
      if (nxi_same_bits(x, y, part)) continue;
      printf("seed %" PRIu64 ": element %lld of output %u is %llx, not %llx\n", seed, (long long)e,
             i, (unsigned long long)x, (unsigned long long)y);
      return false;
    }
  }
  return a->status == b->status;
}

static void drop(outcome *o) {
  for (int i = 0; i < 64; i++) free(o->data[i]);
}

/* Libraries of a GPU have bits of their own; sorts do not. */
static bool has_our_bits(const nxg_graph *g) { /* NOLINT(misc-no-recursion): bodies end */
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    uint32_t op = g->nodes[i].op;
    nxg_control c = {.n_bodies = 0};
    if (nxg_is_control(op)) nxg_control_of_node(&g->nodes[i], &c);
    for (uint32_t b = 0; b < c.n_bodies; b++)
      if (!has_our_bits(nxg_body_find(c.bodies[b])->graph)) return false;
    bool order = op == NXG_sort || op == NXG_argsort || op == NXG_top_k;
    if (nxg_ops[op].kind == NXG_KIND_CALL && !order) return false;
  }
  return true;
}

/* What is written for plans alone, launch parameters and places of updates, has no text that a
 * function takes. */
static bool is_closed(const nxg_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == NXG_update && g->nodes[i].n_args == 3) return false;
  return g->n_params == 0 && g->n_inputs <= 64 && g->n_outputs <= 64;
}

static nxg_graph *make_loop(uint64_t seed) {
  nxt_loop_pair p;
  nxi_diag d;
  if (!nxt_random_loop(seed, &p, &d)) return NULL;
  nxg_destroy(p.plain);
  return p.loop;
}

static bool try_seed(nx_context *c, nx_device device, uint64_t seed, bool loops, uint64_t *tried) {
  nxt_graph_options options = nxt_graph_options_of(seed);
  nxg_graph *g = loops ? make_loop(seed) : nxt_random_graph(seed, &options);
  if (g == NULL && loops) return true;
  if (g == NULL) exit(1);
  bool good = true;
  if (is_closed(g) && has_our_bits(g)) {
    nxi_text text = {0};
    outcome a, b;
    nxg_print(g, &text);
    run(c, g, &text, device, seed, CALLS, &a);
    run(c, g, &text, INTERP, seed, 1, &b);
    good = agree(g, &a, &b, seed);
    drop(&a);
    drop(&b);
    nxi_text_free(&text);
    ++*tried;
  }
  nxg_destroy(g);
  return good;
}

int main(int argc, char **argv) {
  nx_context *c = NULL;
  uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1,
           count = argc > 3 ? strtoull(argv[3], NULL, 10) : 100, failures = 0, tried = 0;
  if (nx_context_create(NULL, &c) != NX_OK) die("context");
  nx_device device = find_device(c, argc > 1 ? argv[1] : "cuda");
  for (uint64_t seed = first; tried < count && seed < first + 20 * count; seed++)
    failures += !try_seed(c, device, seed, argc > 4, &tried);
  printf("%" PRIu64 " random graphs on %s, %" PRIu64 " differ from the interpreter\n", tried,
         argc > 1 ? argv[1] : "cuda", failures);
  nx_context_release(c);
  return failures != 0 || changed != 0 || tried == 0;
}
