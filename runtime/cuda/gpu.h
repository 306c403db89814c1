/* SPDX-License-Identifier: ISC */
/* A GPU as a context uses it: the driver's primary context, one stream in which everything happens
 * in order, and memory. All functions may be called from any thread. */
#ifndef NXI_GPU_H
#define NXI_GPU_H

#include "ir/diag.h"
#include "ir/target.h"
#include "runtime/device.h"

typedef struct nxi_gpu nxi_gpu;

/* GPUs of this machine; 0 with the reason if there are none. */
int32_t nxi_gpu_count(const char **why);
typedef struct nxi_gpu_info {
  char name[64];
  char arch[16]; /* "sm_90" */
  uint64_t memory;
  int32_t processors; /* multiprocessors */
  int64_t shared_bytes;
} nxi_gpu_info;
/* False with the reason. */
bool nxi_gpu_describe(int32_t number, nxi_gpu_info *out, const char **why);

/* memory_limit: most bytes that may be live at once, 0: no limit. NX_DEVICE_UNAVAILABLE,
 * NX_OUT_OF_MEMORY. */
nx_status nxi_gpu_open(int32_t number, int64_t memory_limit, nxi_gpu **out, nxi_diag *d);
/* Waits for all work that was started; all memory must have been freed. NULL is allowed. */
void nxi_gpu_close(nxi_gpu *g);
bool nxi_gpu_is_imagined(const nxi_gpu *g); /* it only has texts shown (shown.h) */
const nxi_target *nxi_gpu_target(const nxi_gpu *g);
const nxi_gpu_info *nxi_gpu_properties(const nxi_gpu *g);

/* Makes the GPU's context current on the thread, until nxi_gpu_leave. Functions that need it do so
 * themselves; it is quicker to enter once before calling many of them. NX_DEVICE_LOST. */
nx_status nxi_gpu_enter(nxi_gpu *g, nxi_diag *d);
void nxi_gpu_leave(nxi_gpu *g);

/* Called inside, when a library has failed: NX_DEVICE_LOST if the reason is that the GPU does not
 * work any more; else NX_OK, and d is not changed. */
nx_status nxi_gpu_fault(nxi_gpu *g, nxi_diag *d);

/* Memory: addresses are multiples of 256. Freed memory is kept and reused, in the order of the
 * stream. */
nx_status nxi_gpu_alloc(nxi_gpu *g, int64_t bytes, uint64_t *at, nxi_diag *d);
/* The same, for memory that the host will fill: no earlier work uses it after the mark *after. */
nx_status nxi_gpu_alloc_after(nxi_gpu *g, int64_t bytes, uint64_t *at, uint64_t *after,
                              nxi_diag *d);
/* after: the mark after which nothing uses it. nxi_gpu_free: work that was started up to now may
 * still use it. */
void nxi_gpu_free(nxi_gpu *g, uint64_t at, int64_t bytes);
void nxi_gpu_free_after(nxi_gpu *g, uint64_t at, int64_t bytes, uint64_t after);
/* Gives kept memory back to the driver. Waits for the work that uses it. */
nx_status nxi_gpu_trim(nxi_gpu *g, nxi_diag *d);
typedef struct nxi_gpu_stats {
  int64_t live, peak, cached;
  uint64_t allocations, launches; /* launches: of kernels, one by one */
  uint64_t graph_launches;        /* of many at once */
} nxi_gpu_stats;
void nxi_gpu_statistics(nxi_gpu *g, nxi_gpu_stats *out);

/* A mark: a point in the stream of work, after all work that was started before (device.h). */
uint64_t nxi_gpu_mark(nxi_gpu *g);

/* Copies. A copy begins when the work up to the mark `after` is done, and runs concurrently with
 * work that was started later. Work that is started after the call sees the bytes. The host's
 * memory may be reused when the call returns. */
nx_status nxi_gpu_upload(nxi_gpu *g, uint64_t to, const void *from, int64_t bytes, uint64_t after,
                         nxi_diag *d);
nx_status nxi_gpu_download(nxi_gpu *g, void *to, uint64_t from, int64_t bytes, uint64_t after,
                           const nxi_poll *poll, nxi_diag *d);
/* A copy from another GPU, after all work that was started on both; work that is started on either
 * after the call comes after the copy. Nothing waits for it. */
nx_status nxi_gpu_copy_from(nxi_gpu *g, uint64_t to, nxi_gpu *other, uint64_t from, int64_t bytes,
                            nxi_diag *d);
/* ---- memory that others use, on streams of their own */
/* A copy of theirs, complete at the end of the call. */
nx_status nxi_gpu_copy_of_others(nxi_gpu *g, uint64_t to, uint64_t from, int64_t bytes,
                                 nxi_diag *d);
/* What others start on that stream later comes after all work that was started here. */
nx_status nxi_gpu_order(nxi_gpu *g, int64_t stream, nxi_diag *d);
/* Waits for all work of everybody; failures are ignored. */
void nxi_gpu_settle(nxi_gpu *g);
int64_t nxi_gpu_stream_number(const nxi_gpu *g); /* of the stream of work */

/* A copy within the GPU, in order with all other work. */
nx_status nxi_gpu_copy(nxi_gpu *g, uint64_t to, uint64_t from, int64_t bytes, nxi_diag *d);
/* Fills memory with a byte; nxi_gpu_clear with zeros. */
nx_status nxi_gpu_fill(nxi_gpu *g, uint64_t at, uint8_t value, int64_t bytes, nxi_diag *d);
nx_status nxi_gpu_clear(nxi_gpu *g, uint64_t at, int64_t bytes, nxi_diag *d);
/* Waits until all work that was started up to the mark has ended; NXI_NOW, or a mark whose event is
 * not there: all that was started. poll may be NULL. NX_INTERRUPTED, NX_DEVICE_LOST. */
nx_status nxi_gpu_wait(nxi_gpu *g, uint64_t mark, const nxi_poll *poll, nxi_diag *d);

/* Code. */
typedef struct nxi_gpu_code nxi_gpu_code;
nx_status nxi_gpu_load(nxi_gpu *g, const void *cubin, const char *entry, int64_t shared_bytes,
                       nxi_gpu_code **out, nxi_diag *d);
void nxi_gpu_unload(nxi_gpu_code *code); /* NULL is allowed */
/* arguments: addresses of the values, in order. */
nx_status nxi_gpu_launch(const nxi_gpu_code *code, int64_t blocks, int32_t threads,
                         void **arguments, nxi_diag *d);

/* Graphs: work, with its addresses and values, that can be started again by one call. Between begin
 * and end, work that this thread starts on the GPU is recorded and not executed. The thread may not
 * wait or copy from or to the host meanwhile, and has to free before the end all memory that it
 * allocates. Other threads are not affected. */
typedef struct nxi_gpu_graph nxi_gpu_graph;
/* False: a capture is not possible now. Nothing has happened, and end must not be called. */
bool nxi_gpu_capture_begin(nxi_gpu *g);
/* NULL: there is no graph, and its work has to be started in another way. */
nxi_gpu_graph *nxi_gpu_capture_end(nxi_gpu *g, bool wanted);
nx_status nxi_gpu_graph_launch(nxi_gpu_graph *graph, nxi_diag *d);
void nxi_gpu_graph_destroy(nxi_gpu_graph *graph); /* it may be running; NULL is allowed */
/* Conditional nodes, in a capture of this thread. Each has one handle, whose value kernels set
 * before the node, and in its bodies: whether the body runs (again), or which of them runs. If one
 * of these functions fails, there is no graph at the end of the capture. */
typedef enum nxi_gpu_condition {
  NXI_GPU_IF = 0,
  NXI_GPU_WHILE = 1,
  NXI_GPU_SWITCH = 2
} nxi_gpu_condition;
enum { NXI_GPU_SCOPES_MOST = 20 }; /* bodies within each other */
bool nxi_gpu_has_conditions(const nxi_gpu *g);
bool nxi_gpu_captures(const nxi_gpu *g); /* whether this thread is capturing */
nx_status nxi_gpu_condition_handle(nxi_gpu *g, uint64_t *handle, nxi_diag *d);
/* Adds the node, after all that was captured before it. bodies: n of them, empty. */
nx_status nxi_gpu_add_condition(nxi_gpu *g, nxi_gpu_condition kind, uint64_t handle, void **bodies,
                                uint32_t n, nxi_diag *d);
/* What is captured goes into that body until the end, which comes in any case if begin was NX_OK.
 * A body may have kernels, copies within the GPU, memory that is set, conditional nodes. */
nx_status nxi_gpu_body_begin(nxi_gpu *g, void *body, nxi_diag *d);
nx_status nxi_gpu_body_end(nxi_gpu *g, nxi_diag *d);
/* Tracks (passes/plan/tracks.c): what is captured on different ones may run side by side. Used in a
 * capture of this thread, in the graph and in each body by itself; if one of these functions
 * fails, there is no graph at the end.
 *
 * From here on there are tracks: all of them come after what has been captured. */
nx_status nxi_gpu_tracks_begin(nxi_gpu *g, nxi_diag *d);
/* What is captured next is on this track, and comes after those steps: numbers + 1 by track, or
 * NULL. */
nx_status nxi_gpu_track(nxi_gpu *g, uint32_t track, const uint32_t *after, nxi_diag *d);
/* What has been captured on this track is step `number`, for which others may wait. */
nx_status nxi_gpu_track_mark(nxi_gpu *g, uint32_t number, nxi_diag *d);
/* What is captured next comes after all tracks. */
nx_status nxi_gpu_tracks_join(nxi_gpu *g, nxi_diag *d);
/* The cache of its kernels, which the GPU does not own. */
struct nxi_kernel_cache;
void nxi_gpu_set_kernels(nxi_gpu *g, struct nxi_kernel_cache *kernels);
struct nxi_kernel_cache *nxi_gpu_kernels(const nxi_gpu *g);

#endif
