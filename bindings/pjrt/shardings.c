/* SPDX-License-Identifier: ISC */
/* The extension by which callers ask how arguments and results are divided among partitions: as
 * OpSharding, a message of protocol buffers. */
#include <string.h>

#include "calls.h"
#include "bindings/stablehlo/shards.h"
#include "ir/alloc.h"

/* ---- writing the message */

enum { REPLICATED, OTHER = 3, UNREDUCED = 6, MOST_BYTES = 4096 };

typedef struct writer {
  size_t n;
  char at[MOST_BYTES];
} writer;

static void varint(writer *w, uint64_t x) {
  for (; x >= 128 && w->n < MOST_BYTES; x >>= 7) w->at[w->n++] = (char)(x | 128);
  if (w->n < MOST_BYTES) w->at[w->n++] = (char)x;
}

static void number(writer *w, int field, uint64_t x) {
  varint(w, (uint64_t)field << 3);
  varint(w, x);
}

/* Packed. */
static void list(writer *w, int field, const int64_t *x, int64_t n) {
  writer inner = {0};
  for (int64_t i = 0; i < n; i++) varint(&inner, (uint64_t)x[i]);
  varint(w, (uint64_t)field << 3 | 2);
  varint(w, inner.n);
  for (size_t i = 0; i < inner.n && w->n < MOST_BYTES; i++) w->at[w->n++] = inner.at[i];
}

/* The devices tile by tile; of one tile, term by term, those that have the same one beside each
 * other. */
static void list_devices(writer *w, const nxh_sharding *s, int32_t rank, int64_t tiles) {
  int64_t devices[1024] = {0}, used[1024] = {0}, each = s->grid->places / tiles;
  for (int64_t place = 0; place < s->grid->places; place++) {
    int64_t tile = 0;
    for (int32_t d = 0; d < rank; d++) tile = tile * nxh_parts_of(s, d) + nxh_part_at(s, d, place);
    tile = tile * nxh_parts_of(s, NXH_TERMS) + nxh_part_at(s, NXH_TERMS, place);
    devices[tile * each + used[tile]++] = s->grid->devices ? s->grid->devices[place] : place;
  }
  list(w, 4, devices, s->grid->places);
}

static void write_sharding(writer *w, const nxh_sharding *s, int32_t rank) {
  int64_t dims[NX_MAX_RANK + 2] = {0}, kinds[2] = {0}, tiles = 1, n = rank, n_kinds = 0;
  int64_t terms = nxh_parts_of(s, NXH_TERMS);
  for (int32_t d = 0; d < rank; d++) tiles *= dims[d] = nxh_parts_of(s, d);
  if (s->grid == NULL || tiles * terms == 1 || s->grid->places > 1024) {
    number(w, 1, REPLICATED);
    return;
  }
  if (terms == s->grid->places) {
    number(w, 1, UNREDUCED);
    return;
  }
  int64_t same = s->grid->places / (tiles * terms);
  if (terms > 1) dims[n++] = terms, kinds[n_kinds++] = UNREDUCED;
  if (same > 1) dims[n++] = same, kinds[n_kinds++] = REPLICATED;
  number(w, 1, OTHER);
  list(w, 3, dims, n);
  list_devices(w, s, rank, tiles * terms);
  if (terms > 1) list(w, 8, kinds, n_kinds);
  else if (same > 1) number(w, 6, 1);
}

/* ---- the texts of an executable, made with it */

static bool add(nxj_executable *e, size_t i, const nxh_sharding *s, int32_t rank) {
  writer *w = nxi_calloc(1, sizeof *w);
  if (w == NULL) return false;
  write_sharding(w, s, rank);
  char *kept = nxi_malloc(w->n + 1);
  if (kept != NULL) memcpy(kept, w->at, w->n);
  e->shardings[i] = kept;
  e->sharding_sizes[i] = w->n;
  nxi_free(w);
  return kept != NULL;
}

/* Of no outputs there is one, which jaxlib wants to see. */
static size_t n_shardings(const nxj_executable *e) {
  return e->n_in + (e->n_out > 0 ? e->n_out : 1);
}

bool nxj_fill_shardings(nxj_executable *e) {
  const nxh_module *m = nxh_module_of(e->module);
  const nxh_function *f = nxh_default_function(m);
  nxh_sharding *results = NULL, s = {0};
  size_t n = n_shardings(e);
  e->shardings = nxi_calloc(n + 1, sizeof *e->shardings);
  e->sharding_sizes = nxi_calloc(n + 1, sizeof *e->sharding_sizes);
  bool good = e->shardings != NULL && e->sharding_sizes != NULL &&
              nxh_result_shardings(m, f, &results) == NULL;
  for (size_t i = 0; good && i < e->n_in; i++) {
    const nxh_attr *attrs = f->arg_attrs != NULL ? &f->arg_attrs[i] : NULL;
    good = nxh_sharding_of(m, attrs, e->in[i].rank, &s) == NULL && add(e, i, &s, e->in[i].rank);
  }
  for (size_t i = e->n_in; good && i < e->n_in + e->n_out; i++)
    good = add(e, i, &results[i - e->n_in], e->in[i].rank);
  s = (nxh_sharding){0};
  if (good && n > e->n_in + e->n_out) good = add(e, n - 1, &s, 0);
  nxi_free(results);
  return good;
}

void nxj_free_shardings(nxj_executable *e) {
  for (size_t i = 0; e->shardings != NULL && i < n_shardings(e); i++) nxi_free(e->shardings[i]);
  nxi_free((void *)e->shardings);
  nxi_free(e->sharding_sizes);
}

/* ---- calls. NULL: one partition, and nothing to say. */

static nxj_error *of_inputs(void *args) {
  NXJ_TAKE(executable_memories, sizes);
  a->n = a->executable->n_in;
  a->kinds = (const char *const *)a->executable->shardings;
  a->sizes = a->executable->sharding_sizes;
  return NULL;
}

static nxj_error *of_outputs(void *args) {
  NXJ_TAKE(executable_memories, sizes);
  const nxj_executable *e = a->executable;
  a->n = e->n_out > 0 || e->shardings == NULL ? e->n_out : 1;
  a->kinds = e->shardings != NULL ? (const char *const *)e->shardings + e->n_in : NULL;
  a->sizes = e->sharding_sizes != NULL ? e->sharding_sizes + e->n_in : NULL;
  return NULL;
}

const nxj_shardings_extension nxj_shardings = {
    {sizeof nxj_shardings, NXJ_EXTENSION_SHARDINGS, &nxj_layouts.base}, {of_inputs, of_outputs}};
