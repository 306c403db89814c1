/* SPDX-License-Identifier: ISC */
/* A cache of kernels whose maker of code notes what it is asked for. So the text says what the
 * cache does, and not what another walk over the kernels believes that it does. */
#include "dump_generic.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "passes/kernel/generalize.h"

/* ---- code that is a number */

static const char *no_environment(void) { return ""; }

static nx_status note_kernel(void *user, const nxk_kernel *bound, const char *isa, void **object,
                             size_t *size, char entry[72], nxi_kernel_info *info, nxi_diag *d) {
  nxi_generic_dump *g = user;
  (void)isa, (void)info;
  nxi_text_free(&g->made);
  nxk_print(bound, &g->made);
  memset(entry, 0, 72);
  *size = 1;
  *object = nxi_calloc(1, 1);
  return *object != NULL && !g->made.failed ? NX_OK : nxi_oom(d);
}

static nx_status number_code(void *user, const void *object, size_t size, const char *entry,
                             const nxi_kernel_info *info, void **code, nxi_diag *d) {
  nxi_generic_dump *g = user;
  (void)object, (void)size, (void)entry, (void)info, (void)d;
  *code = (void *)(uintptr_t)++g->codes;
  return NX_OK;
}

static void forget_code(void *code) { (void)code; }
static size_t no_bytes(const void *code) { return (void)code, 0; }

static const nxi_code_maker noting = {no_environment, note_kernel, NULL,
                                      number_code,    forget_code, no_bytes};

/* ---- text */

/* The number of a hash among those met so far, from 1. */
static uint32_t number_of(nxi_text *met, uint64_t hash) {
  uint32_t n = (uint32_t)(met->size / sizeof hash);
  for (uint32_t i = 0; i < n; i++)
    if (memcmp(met->data + i * sizeof hash, &hash, sizeof hash) == 0) return i + 1;
  nxi_text_put(met, (const char *)&hash, sizeof hash);
  return n + 1;
}

/* Integers and floats alike are shown as integers of their bits. */
static void put_values(const nxk_kernel *k, const nxi_kernel_info *info, nxi_text *out) {
  for (uint32_t i = 0; i < info->n_values; i++)
    nxi_text_add(out, " p%u=%lld", k->n_params + i, (long long)info->values[i]);
}

static nx_status put_structure(nxi_generic_dump *g, const nxk_kernel *logical, const nxi_target *t,
                               nxi_text *out, nxi_diag *d) {
  nxk_kernel *bound = NULL;
  nxk_anatomy a;
  nx_status status = nxi_bind_generic(logical, t, false, &bound, d);
  if (status == NX_OK && nxk_dissect(bound, &a)) {
    nxi_kernel_kind kind = nxi_kind_of(logical);
    uint32_t structure = number_of(&g->structures, XXH3_64bits(a.structure.data, a.structure.size));
    nxi_text_add(out, "kind %u, structure %u with %u holes: ", number_of(&g->kinds, kind.number),
                 structure, a.n_holes);
    nxi_kind_free(&kind);
    nxk_anatomy_free(&a);
  }
  nxk_destroy(bound);
  return status;
}

static void put_code(const nxi_generic_dump *g, const nxk_kernel *logical, const nxi_kernel *k,
                     bool made, nxi_text *out) {
  const nxi_kernel_info *info = nxi_kernel_describe(k);
  bool generic = info->values != NULL;
  nxi_text_add(out, "%s code %u", made ? "new" : "shares", (unsigned)(uintptr_t)nxi_kernel_code(k));
  if (generic) put_values(logical, info, out);
  nxi_text_add(out, "\n");
  if (made && generic) nxi_text_put(out, g->made.data, g->made.size);
}

nx_status nxi_generic_dump_add(nxi_generic_dump *g, const nxk_kernel *logical, const nxi_target *t,
                               nxi_text *out, nxi_diag *d) {
  nxi_kernel *k = NULL;
  nxi_kernel_outcome how;
  bool on_gpu = t->block_threads > 0;
  nx_status status = NX_OK;
  if (g->cache == NULL) status = nxi_kernel_cache_create_for(&noting, g, "", &g->cache, d);
  nxi_text_add(out, "; kernel @%s: ", logical->name);
  if (status == NX_OK && !on_gpu) status = put_structure(g, logical, t, out, d);
  nxi_kernel_kind kind = {0};
  if (!on_gpu) kind = nxi_kind_of(logical);
  if (status == NX_OK) status = nxi_get_code(g->cache, logical, t, &kind, &k, &how, d);
  nxi_kind_free(&kind);
  if (status != NX_OK) return status;
  put_code(g, logical, k, how == NXI_KERNEL_COMPILED, out);
  nxi_kernel_release(k);
  return NX_OK;
}

void nxi_generic_dump_free(nxi_generic_dump *g) {
  nxi_kernel_cache_destroy(g->cache);
  nxi_text_free(&g->kinds);
  nxi_text_free(&g->structures);
  nxi_text_free(&g->made);
}
