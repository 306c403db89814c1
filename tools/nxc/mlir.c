/* SPDX-License-Identifier: ISC */
/* Programs in StableHLO, as text or as a portable artifact: made to functions, or to texts of this
 * library's own form. Constants with elements of their own are inputs of such a text, after those
 * of the program. */
#include <stdio.h>
#include <string.h>

#include "ir/alloc.h"
#include "nx/nx.h"
#include "nxc.h"

/* MLIR begins with its magic number, or after comments with a module, a function or an alias; a
 * text of this library with its version, or with a comment of its own kind. */
bool nxc_is_mlir(const char *text, size_t size) {
  static const char *const words[] = {"module", "builtin.module", "func.func", "#", "//"};
  size_t at = 0;
  if (size >= 4 && memcmp(text, "ML\xEFR", 4) == 0) return true;
  while (at < size && strchr(" \t\r\n", text[at]) != NULL) at++;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    size_t n = strlen(words[i]);
    if (n <= size - at && memcmp(text + at, words[i], n) == 0) return true;
  }
  return false;
}

nx_status nxc_mlir_function(const char *text, size_t size, nx_context *context, nx_device device,
                            const nx_stablehlo_host *host, nx_function **f) {
  nx_stablehlo *module = NULL;
  nx_stablehlo_options o = {.size = sizeof o, .device = device, .host = host};
  nx_status s = nx_stablehlo_parse(text, size, &module);
  if (s == NX_OK) s = nx_stablehlo_function(module, context, &o, f);
  nx_stablehlo_release(module);
  return s;
}

/* The text of the function; free it with nxi_free. */
static char *translate(const char *text, size_t size, size_t *length) {
  nx_context *context = NULL;
  nx_function *f = NULL;
  char *dumped = NULL, *out = NULL;
  nx_context_options o = {.size = sizeof o, .threads = 1};
  if (nx_context_create(&o, &context) == NX_OK &&
      nxc_mlir_function(text, size, context, 0, NULL, &f) == NX_OK &&
      nx_function_dump(f, "graph", &dumped) == NX_OK)
    out = nxi_strdup(dumped);
  if (out != NULL) *length = strlen(out);
  nx_string_free(dumped);
  nx_function_release(f);
  nx_context_release(context);
  return out;
}

char *nxc_read_program(const char *path, size_t *size) {
  char *text = nxc_read_text(path, size);
  if (text == NULL || !nxc_is_mlir(text, *size)) return text;
  char *own = translate(text, *size, size);
  nxi_free(text);
  if (own == NULL) nxc_public_failure(path);
  return own;
}

int nxc_import(int argc, char **argv) {
  const char *file = NULL;
  size_t size;
  if (!nxc_parse(argc, argv, NULL, 0, &file)) return NXC_USAGE;
  if (file == NULL) return nxc_misuse("import wants a file");
  char *text = nxc_read_text(file, &size);
  if (text == NULL) return NXC_FAILED;
  char *graph = translate(text, size, &size);
  nxi_free(text);
  if (graph == NULL) return nxc_public_failure(file);
  nxi_text out = {0};
  nxi_text_put(&out, graph, (uint32_t)size);
  nxi_free(graph);
  return nxc_print_text(&out);
}
