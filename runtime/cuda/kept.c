/* SPDX-License-Identifier: ISC */
/* Graphs that are kept. A CUDA graph contains the addresses and parameters of a launch, so there is
 * one for each of a few sets of them. Few are enough for what runs repeatedly, because memory that
 * is freed and allocated again comes back at the same address. */
#include "graphs.h"

#include <string.h>

#include "ir/alloc.h"

enum {
  WORTH = 4, /* launches after which making a graph has paid off */
  MOST_WASTED = 8
};

nx_status nxi_gpu_graphs_create(uint32_t words, nxi_gpu_graphs **out, nxi_diag *d) {
  nxi_gpu_graphs *all = nxi_calloc(1, sizeof *all);
  if (all == NULL) return nxi_oom(d);
  all->words = words;
  all->key = nxi_calloc((size_t)words * (NXI_GPU_KEPT + 1), sizeof *all->key);
  if (all->key == NULL) {
    nxi_free(all);
    return nxi_oom(d);
  }
  nxi_mutex_init(&all->lock);
  for (uint32_t i = 0; i < NXI_GPU_KEPT; i++) all->kept[i].key = all->key + (size_t)words * (i + 1);
  *out = all;
  return NX_OK;
}

void nxi_gpu_graphs_destroy(nxi_gpu_graphs *all) {
  if (all == NULL) return;
  for (uint32_t i = 0; i < NXI_GPU_KEPT; i++) {
    nxi_gpu_graph_destroy(all->kept[i].graph);
    nxi_gpu_graph_destroy(all->kept[i].second);
    nxi_free(all->kept[i].more);
  }
  nxi_mutex_destroy(&all->lock);
  nxi_free(all->key);
  nxi_free(all);
}

nxi_gpu_kept *nxi_gpu_graphs_find(nxi_gpu_graphs *all) {
  for (uint32_t i = 0; i < NXI_GPU_KEPT; i++) {
    nxi_gpu_kept *k = &all->kept[i];
    if (k->graph != NULL && memcmp(k->key, all->key, all->words * sizeof *all->key) == 0) return k;
  }
  return NULL;
}

uint32_t nxi_gpu_graphs_seen(nxi_gpu_graphs *all) {
  uint64_t hash = 0;
  for (uint32_t i = 0; i < all->words; i++) {
    hash = (hash ^ all->key[i]) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 29;
  }
  hash |= 1;
  for (uint32_t i = 0; i < NXI_GPU_SEEN; i++)
    if (all->seen[i] == hash) return ++all->times[i];
  const uint32_t at = all->next_seen++ % NXI_GPU_SEEN;
  all->seen[at] = hash;
  return all->times[at] = 1;
}

void nxi_gpu_graphs_forget(nxi_gpu_graphs *all, nxi_gpu_kept *k) {
  all->wasted += k->launches < WORTH;
  nxi_gpu_graph_destroy(k->graph);
  nxi_gpu_graph_destroy(k->second);
  nxi_free(k->more);
  k->graph = k->second = NULL;
  k->more = NULL;
}

/* Returns a free entry; the least recently launched one is dropped if there is none. */
static nxi_gpu_kept *room(nxi_gpu_graphs *all) {
  nxi_gpu_kept *oldest = &all->kept[0];
  for (uint32_t i = 0; i < NXI_GPU_KEPT; i++) {
    nxi_gpu_kept *k = &all->kept[i];
    if (k->graph == NULL) return k;
    if (k->last < oldest->last) oldest = k;
  }
  nxi_gpu_graphs_forget(all, oldest);
  return oldest;
}

bool nxi_gpu_graphs_has_room(const nxi_gpu_graphs *all) {
  for (uint32_t i = 0; i < NXI_GPU_KEPT; i++)
    if (all->kept[i].graph == NULL) return true;
  return false;
}

nxi_gpu_kept *nxi_gpu_graphs_keep(nxi_gpu_graphs *all, nxi_gpu_graph *graph) {
  if (graph == NULL) {
    all->wasted++;
    return NULL;
  }
  nxi_gpu_kept *k = room(all);
  memcpy(k->key, all->key, all->words * sizeof *all->key);
  k->graph = graph;
  k->launches = 0;
  return k;
}

void nxi_gpu_graphs_count(nxi_gpu_graphs *all, nxi_gpu_kept *k, uint32_t launches) {
  bool before = k->launches >= WORTH;
  k->last = ++all->launches;
  k->launches += launches < WORTH ? launches : WORTH;
  if (!before && k->launches >= WORTH && all->wasted > 0) all->wasted--;
}

bool nxi_gpu_graphs_pay(const nxi_gpu_graphs *all) { return all->wasted < MOST_WASTED; }
