/* SPDX-License-Identifier: ISC */
/* Graphs that are kept, by addresses and parameters: each is found by the words of its key. */
#ifndef NXI_GPU_GRAPHS_H
#define NXI_GPU_GRAPHS_H

#include "gpu.h"
#include "ir/platform/thread.h"

enum { NXI_GPU_KEPT = 8, NXI_GPU_SEEN = 32 };

typedef struct nxi_gpu_kept {
  uint64_t *key;
  nxi_gpu_graph *graph;  /* NULL: the entry is free */
  nxi_gpu_graph *second; /* what is started after it, or NULL */
  void *more;            /* what its user remembers of it; freed with it */
  uint64_t last;         /* number of the last launch that used it */
  uint32_t launches;
} nxi_gpu_kept;

typedef struct nxi_gpu_graphs {
  nxi_mutex lock;
  uint32_t inputs, outputs, params; /* numbers of these in the key of a plan */
  uint32_t words;                   /* of a key */
  uint64_t *key;                    /* key of the current launch */
  uint64_t seen[NXI_GPU_SEEN];      /* hashes of keys, */
  uint32_t times[NXI_GPU_SEEN];     /* and how often each was seen */
  uint32_t next_seen, wasted;
  uint64_t launches;
  nxi_gpu_kept kept[NXI_GPU_KEPT];
} nxi_gpu_graphs;

nx_status nxi_gpu_graphs_create(uint32_t words, nxi_gpu_graphs **out, nxi_diag *d);
void nxi_gpu_graphs_destroy(nxi_gpu_graphs *all); /* NULL is allowed */
/* The rest with the lock. The graph with the current key, or NULL. */
nxi_gpu_kept *nxi_gpu_graphs_find(nxi_gpu_graphs *all);
/* How often the current key was seen, with this time. */
uint32_t nxi_gpu_graphs_seen(nxi_gpu_graphs *all);
/* Whether no other graph would have to go. */
bool nxi_gpu_graphs_has_room(const nxi_gpu_graphs *all);
/* Keeps a graph under the current key. NULL, a capture that came to nothing, is counted. */
nxi_gpu_kept *nxi_gpu_graphs_keep(nxi_gpu_graphs *all, nxi_gpu_graph *graph);
void nxi_gpu_graphs_forget(nxi_gpu_graphs *all, nxi_gpu_kept *k);
/* A launch of it has succeeded, which was worth as much as `launches`. */
void nxi_gpu_graphs_count(nxi_gpu_graphs *all, nxi_gpu_kept *k, uint32_t launches);
/* Whether making graphs still pays off. */
bool nxi_gpu_graphs_pay(const nxi_gpu_graphs *all);

#endif
