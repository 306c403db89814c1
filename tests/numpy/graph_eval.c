/* SPDX-License-Identifier: ISC */
/* Evaluates graphs for a driver in another language (tests/numpy/numpy_ops.py), many in one
 * process.
 *
 * Standard input, until it ends, is a sequence of requests: u32 length of the text, the text, u32
 * number of scalar parameters, their 64 bits each, u32 number of bytes and the elements of all
 * inputs in C order, dense. For each request standard output gets i32 status; for NX_OK the
 * elements of each output, else u32 length and the message. Numbers are in the machine's byte
 * order. The exit status is 1 for input that ends early. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/graph/graph.h"
#include "passes/graph/passes.h"
#include "runtime/library/libraries.h"

static bool take(void *p, size_t n) { return n == 0 || fread(p, n, 1, stdin) == 1; }

static void put(const void *p, size_t n) {
  if (n) fwrite(p, n, 1, stdout);
}

static void refuse(nx_status status, const nxi_diag *d) {
  int32_t code = status;
  uint32_t n = (uint32_t)strlen(d->message);
  put(&code, sizeof code);
  put(&n, sizeof n);
  put(d->message, n);
}

static size_t bytes_of(const nxg_node *n) {
  return (size_t)nxi_dtype_bytes((nx_dtype)n->dtype, nxg_node_elements(n));
}

/* Where each input lies in `bytes`, copied so that each is aligned; NULL if they are not exactly
 * that many. */
static void **place_inputs(const nxg_graph *g, const char *bytes, size_t n) {
  void **memory = calloc(g->n_inputs + 1, sizeof *memory);
  for (uint32_t i = 0; memory && i < g->n_inputs; i++) {
    size_t size = bytes_of(&g->nodes[g->inputs[i].node]);
    memory[i] = malloc(size + 1);
    if (memory[i] && size <= n) memcpy(memory[i], bytes, size);
    n -= size <= n ? size : 0;
    bytes += size;
  }
  return memory;
}

static void **allocate_outputs(const nxg_graph *g) {
  void **memory = calloc(g->n_outputs + 1, sizeof *memory);
  for (uint32_t i = 0; memory && i < g->n_outputs; i++)
    memory[i] = malloc(bytes_of(&g->nodes[g->outputs[i].node]) + 1);
  return memory;
}

static void release(void **memory, uint32_t n) {
  for (uint32_t i = 0; memory && i < n; i++) free(memory[i]);
  free(memory);
}

static void evaluate(const nxg_graph *g, const uint64_t *params, const char *bytes, size_t n) {
  void **inputs = place_inputs(g, bytes, n), **outputs = allocate_outputs(g);
  nxg_program *p = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  nx_status status = nxp_program_create(g, &p, &d);
  if (!status) status = nxg_program_run(p, inputs, params, NULL, outputs, &d);
  if (status) {
    refuse(status, &d);
  } else {
    int32_t code = NX_OK;
    put(&code, sizeof code);
    for (uint32_t i = 0; i < g->n_outputs; i++)
      put(outputs[i], bytes_of(&g->nodes[g->outputs[i].node]));
  }
  nxg_program_destroy(p);
  release(inputs, g->n_inputs);
  release(outputs, g->n_outputs);
}

static void answer(const char *text, uint32_t length, const uint64_t *params, uint32_t n_params,
                   const char *bytes, uint32_t n) {
  nxg_graph *g = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  nx_status status = nxg_parse(text, length, &g, &d);
  if (!status && g->n_params > n_params)
    status = nxi_fail(&d, NX_INVALID_ARGUMENT, "", "parameters are missing");
  if (!status && !nxg_verify(g, NULL))
    status = nxi_fail(&d, NX_INTERNAL, "", "the parsed graph does not verify");
  if (status) refuse(status, &d);
  else evaluate(g, params, bytes, n);
  nxg_destroy(g);
}

/* u32 count, then that many elements of `size` bytes; NULL at the end of input. */
static void *take_array(uint32_t *count, size_t size) {
  if (!take(count, sizeof *count)) return NULL;
  void *p = malloc(*count * size + 1);
  if (p && take(p, *count * size)) return p;
  free(p);
  return NULL;
}

int main(void) {
  nxi_use_libraries();
  static char buffer[1 << 16];
  uint32_t length, n_params, n_bytes;
  bool whole = true;
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  for (char *text; whole && (text = take_array(&length, 1)); free(text)) {
    uint64_t *params = take_array(&n_params, sizeof *params);
    char *bytes = params ? take_array(&n_bytes, 1) : NULL;
    whole = bytes != NULL;
    if (whole) answer(text, length, params, n_params, bytes, n_bytes);
    free(params);
    free(bytes);
  }
  fflush(stdout);
  return !whole;
}
