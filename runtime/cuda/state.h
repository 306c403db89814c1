/* SPDX-License-Identifier: ISC */
/* The state of an open GPU, shared by gpu.c (opening, errors, code), gpu_memory.c, gpu_copy.c and
 * gpu_graph.c. */
#ifndef NXI_GPU_STATE_H
#define NXI_GPU_STATE_H

#include <stdatomic.h>

#include "driver.h"
#include "internal.h"
#include "ir/platform/fork.h"
#include "ir/platform/thread.h"
#include "passes/plan/plan.h"

/* Values of the driver's enumerations. */
enum {
  NXI_CUDA_INVALID_VALUE = 1,
  NXI_CUDA_NO_MEMORY = 2,
  NXI_CUDA_NO_CONTEXT = 201,
  NXI_CUDA_NOT_READY = 600,
  NXI_CUDA_NON_BLOCKING = 1,   /* streams */
  NXI_CUDA_NO_TIMING = 2,      /* events */
  NXI_CUDA_MEMORY_TYPE = 2,    /* attributes of addresses: of the host, a device, .. */
  NXI_CUDA_CAPTURE_RELAXED = 2 /* captures: other calls of this thread and of others are allowed */
};

/* Captures within each other: one stream each, of the graph and of bodies. */
enum { NXI_GPU_SCOPES = NXI_GPU_SCOPES_MOST + 1 };

/* Events of a capture with tracks: after a step, by its number; where tracks begin; where the last
 * of a track is. */
typedef struct nxi_gpu_track_events {
  void *steps[NXP_MOST_BESIDE], *begin, *ends[NXP_TRACKS];
} nxi_gpu_track_events;

enum { NXI_GPU_MOST_BITS = 48, NXI_GPU_CLASSES = (NXI_GPU_MOST_BITS - 9) * 32 + 1 };

/* A piece of free memory. Those of a class are a heap: none below a piece has a smaller address. */
typedef struct nxi_gpu_piece {
  struct nxi_gpu_piece *below[2];
  uint32_t rank; /* of its shortest way down, which is below[1] */
  uint64_t at;
  uint64_t after; /* the mark after which nothing uses it any more */
} nxi_gpu_piece;

/* Marks: points of the stream of work, numbered from 1, of which the last few can be waited for. */
enum { NXI_GPU_MARKS = 64 };
typedef struct nxi_gpu_marks {
  nxi_mutex lock;
  _Atomic uint64_t last; /* counted before it is recorded */
  void *events[NXI_GPU_MARKS];
  bool recorded[NXI_GPU_MARKS];
} nxi_gpu_marks;

/* Pinned memory in slots, which copies take one after the other. */
enum { NXI_GPU_SLOTS = 8, NXI_GPU_SLOT_BYTES = 512 << 10, NXI_GPU_LARGE_SLOT_BYTES = 8 << 20 };
typedef struct nxi_gpu_ring {
  char *memory; /* of all slots; NULL: there is none */
  int64_t slot_bytes;
  void *events[NXI_GPU_SLOTS]; /* after the last copy of each slot */
  bool used[NXI_GPU_SLOTS];
  uint32_t next;
  bool tried;
} nxi_gpu_ring;

/* A lane between the host and the GPU for one direction: a stream of copies, and pinned memory
 * through which they go, piece by piece. Slots become large with the first large copy: then the
 * threads of the pool fill and empty each of them together. Small copies to the GPU have slots of
 * their own, because they go on the stream of work: a slot that both had would keep a large copy
 * waiting for the work before a small one. */
typedef struct nxi_gpu_lane {
  nxi_mutex lock; /* of the whole copy */
  void *stream;   /* NULL: not made yet */
  nxi_gpu_ring pieces, small;
  bool tried_large;
  bool open;      /* small copies share the slot before the next one, and its event comes later */
  int64_t filled; /* bytes of it */
} nxi_gpu_lane;

/* Memory that graphs use between their steps, and that is never used for anything else. Graphs run
 * one after the other, so they share it. */
typedef struct nxi_gpu_scratch {
  struct nxi_gpu_scratch *next;
  uint64_t at;
  int64_t bytes; /* of its class */
  int references;
  bool lent; /* it was not freed before the end of the capture */
} nxi_gpu_scratch;

struct nxi_gpu {
  nxi_device base;
  const nxi_cuda *cuda;
  int device;
  void *context, *stream;
  nxi_gpu_info info;
  nxi_target target;
  nxi_fork_entry fork_entry;
  bool fork_registered;
  struct nxi_kernel_cache *kernels;
  struct nxi_gpu_texts *texts; /* of a GPU that is imagined (shown.c); else NULL */
  nxi_gpu_shelf shelves[NXI_GPU_LIBRARIES];
  _Atomic uint64_t launches, graph_launches;
  nxi_gpu_marks marks;
  nxi_gpu_lane up, down;
  _Atomic int lent;       /* pieces of scratch */
  nxi_mutex capture_lock; /* protects the next two: one capture at a time */
  void *capture_streams[NXI_GPU_SCOPES][NXP_TRACKS]; /* NULL until there is one */
  nxi_gpu_track_events track_events;                 /* likewise */
  nxi_mutex lock;                                    /* protects everything below */
  nxi_gpu_piece *kept[NXI_GPU_CLASSES];
  nxi_gpu_scratch *scratch;
  int64_t limit;
  uint64_t peers; /* GPUs whose memory it reads by itself, a bit each */
  nxi_gpu_stats stats;
  _Atomic bool lost;
  bool forked; /* this is a child of fork; everything belongs to the parent */
  char why_lost[200];
};

/* ---- gpu.c */
/* Records the failure that a result of the driver means. */
nx_status nxi_gpu_refused(nxi_gpu *g, int result, const char *what, nxi_diag *d);
nx_status nxi_gpu_is_lost(const nxi_gpu *g, nxi_diag *d);
/* Enters the context to free something; failures are ignored. False if the context must not be
 * entered. */
bool nxi_gpu_enter_to_free(nxi_gpu *g);

/* ---- gpu_memory.c */
/* The class of a size, and the size of its pieces. */
int nxi_gpu_class(int64_t bytes, int64_t *size);
void nxi_gpu_free_kept(nxi_gpu *g); /* inside */

/* ---- gpu_copy.c */
void nxi_gpu_copies_init(nxi_gpu *g);
int nxi_gpu_make_event(const nxi_gpu *g, void **event); /* unless it is there; a CUresult */
void nxi_gpu_copies_destroy(nxi_gpu *g, bool entered);  /* no copy may be in progress */

/* ---- gpu_graph.c: memory that a thread allocates while it captures is scratch of the graph */
void *nxi_gpu_captured_stream(const nxi_gpu *g); /* or NULL */
nx_status nxi_gpu_captured_alloc(nxi_gpu *g, int64_t bytes, uint64_t *at, nxi_diag *d);
/* false: it does not belong to the capture */
bool nxi_gpu_captured_free(uint64_t at);
void nxi_gpu_tracks_destroy(nxi_gpu *g); /* inside */
/* records that a graph cannot contain this */
nx_status nxi_gpu_capture_refuses(nxi_diag *d);
bool nxi_gpu_scratch_returns(nxi_gpu *g, uint64_t at); /* whether that was lent scratch */

#endif
