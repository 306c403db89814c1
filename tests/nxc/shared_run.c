/* SPDX-License-Identifier: ISC */
/* Runs a graph in text form with the shared library, all inputs zero, and prints where its kernels
 * came from: for the test that whoever uses the library shares compiled kernels with nxc. Usage:
 * shared_run FILE.nxir */
#include <stdio.h>
#include <stdlib.h>

#include "nx/nx.h"

enum { MOST = 8 };

static int complain(void) {
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  fprintf(stderr, "%s: %s\n", nx_status_name(e.status), e.message);
  return 1;
}

int main(int argc, char **argv) {
  char text[4096];
  FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
  size_t size = file ? fread(text, 1, sizeof text, file) : 0;
  if (file) fclose(file);
  nx_context *context;
  nx_function *function;
  if (nx_context_create(NULL, &context) || nx_function_parse(context, text, size, NULL, &function))
    return complain();
  nx_tensor *in[MOST], *out[MOST] = {NULL};
  nx_function_info info = {.size = sizeof info};
  nx_function_describe(function, &info);
  if (info.inputs > MOST || info.outputs > MOST) return 1;
  for (size_t i = 0; i < info.inputs; i++) {
    nx_port_info p = {.size = sizeof p};
    nx_function_input(function, i, &p);
    in[i] = nx_empty(context, 0, p.dtype, p.shape, p.rank);
    nx_tensor_info t = {.size = sizeof t};
    nx_tensor_describe(in[i], &t);
    size_t bytes = (size_t)t.elements * (nx_dtype_bits(p.dtype) / 8);
    void *zeros = calloc(bytes ? bytes : 1, 1);
    if (!zeros || nx_write(in[i], zeros, bytes, NULL)) return complain();
    free(zeros);
  }
  nx_report report = {.size = sizeof report};
  nx_run_options options = {.size = sizeof options, .report = &report};
  if (nx_function_call(function, in, info.inputs, out, info.outputs, &options)) return complain();
  printf("%llu kernels, %llu compiled, %llu from disk\n", (unsigned long long)report.kernels,
         (unsigned long long)report.kernel_misses, (unsigned long long)report.kernel_disk_hits);
  for (size_t i = 0; i < info.inputs; i++) nx_tensor_release(in[i]);
  for (size_t i = 0; i < info.outputs; i++) nx_tensor_release(out[i]);
  nx_function_release(function);
  nx_context_release(context);
  return 0;
}
