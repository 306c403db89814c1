/* SPDX-License-Identifier: ISC */
/* The table of fuzz targets, and what all of them use. */
#include "fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const fuzz_target fuzz_targets[] = {
    {"graph", fuzz_graph, fuzz_mutate_graph, fuzz_cross_text, 4096},
    {"recipe", fuzz_recipe, NULL, NULL, 512},
    {"kernel", fuzz_kernel, fuzz_mutate_kernel, fuzz_cross_text, 8192},
    {"npy", fuzz_npy, fuzz_mutate_npy, NULL, 2048},
    {"npz", fuzz_npz, fuzz_mutate_npz, NULL, 4096},
    {"safetensors", fuzz_safetensors, fuzz_mutate_safetensors, NULL, 4096},
    {"dlpack", fuzz_dlpack, NULL, NULL, 256},
    {"cache", fuzz_cache, fuzz_mutate_cache, NULL, 1024},
    {"api", fuzz_api, NULL, NULL, 2048},
    {"stablehlo", fuzz_stablehlo, NULL, fuzz_cross_text, 4096},
};
const size_t fuzz_n_targets = sizeof fuzz_targets / sizeof *fuzz_targets;

const fuzz_target *fuzz_find(const char *name) {
  for (size_t i = 0; i < fuzz_n_targets; i++)
    if (!strcmp(fuzz_targets[i].name, name)) return &fuzz_targets[i];
  return NULL;
}

void (*fuzz_on_wrong)(void);

void fuzz_wrong(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("wrong: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  if (fuzz_on_wrong) fuzz_on_wrong();
  abort();
}

nxt_random fuzz_random_of(const uint8_t *data, size_t n) {
  uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
  for (size_t i = 0; i < n; i++) hash = (hash ^ data[i]) * 0x100000001b3u;
  return (nxt_random){hash};
}
