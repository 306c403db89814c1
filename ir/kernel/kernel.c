/* SPDX-License-Identifier: ISC */
/* The life of a kernel: create, copy, destroy. Its tables grow on their own; the terms of accesses
 * live in the kernel's arena. */
#include "kernel.h"

#include <stdio.h>
#include <string.h>

#include "build.h"

nxk_kernel *nxk_create(nxk_level level, const char *name) {
  nxk_kernel *k = nxi_calloc(1, sizeof *k);
  if (!k) return NULL;
  k->level = level;
  snprintf(k->name, sizeof k->name, "%s", name ? name : "");
  return k;
}

void nxk_destroy(nxk_kernel *k) {
  if (!k) return;
  nxi_builder_destroy(k->builder);
  nxi_free(k->instrs);
  nxi_free(k->loops);
  nxi_free(k->accesses);
  nxi_free(k->buffers);
  nxi_free(k->regions);
  nxi_free(k->param_types);
  nxi_arena_destroy(&k->arena);
  nxi_free(k);
}

static bool copy_table(void *to, uint32_t *count, uint32_t *capacity, const void *from, uint32_t n,
                       size_t element) {
  if (n == 0) return true;
  if (!nxi_grow(to, capacity, n, element)) return false;
  void *copy;
  memcpy(&copy, to, sizeof copy);
  memcpy(copy, from, n * element);
  *count = n;
  return true;
}

#define COPY_TABLE(table) \
  copy_table(&c->table, &c->n_##table, &c->cap_##table, k->table, k->n_##table, sizeof *k->table)

nxk_kernel *nxk_clone(const nxk_kernel *k) {
  nxk_kernel *c = nxk_create(k->level, k->name);
  if (!c) return NULL;
  c->threads = k->threads;
  bool ok =
      COPY_TABLE(instrs) && COPY_TABLE(loops) && COPY_TABLE(accesses) && COPY_TABLE(buffers) &&
      COPY_TABLE(regions) &&
      copy_table(&c->param_types, &c->n_params, &c->cap_params, k->param_types, k->n_params, 1);
  for (uint32_t i = 0; ok && i < c->n_accesses; i++) {
    nxk_access *a = &c->accesses[i];
    if (a->n_terms == 0) continue;
    a->terms = nxi_arena_copy(&c->arena, a->terms, a->n_terms * sizeof *a->terms);
    ok = a->terms != NULL;
  }
  if (!ok) {
    nxk_destroy(c);
    return NULL;
  }
  c->failed = k->failed;
  return c;
}
