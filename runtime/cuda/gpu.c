/* SPDX-License-Identifier: ISC */
/* GPUs through the CUDA driver. */
#include "gpu.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ir/alloc.h"
#include "driver.h"
#include "runtime/fork.h"
#include "internal.h"

/* Of the driver's enumerations. */
enum {
  ATTRIBUTE_PROCESSORS = 16,
  ATTRIBUTE_MAJOR = 75,
  ATTRIBUTE_MINOR = 76,
  ATTRIBUTE_SHARED_OPTIN = 97,
  FUNCTION_SHARED = 8,
  RESULT_MEMORY = 2,
  RESULT_ENDED = 4,
  RESULT_NO_CONTEXT = 201,
  RESULT_ECC = 214,
  RESULT_FIRST_FAULT = 700,
  RESULT_LAST_FAULT = 721,
  RESULT_UNKNOWN = 999,
  RESULT_NOT_READY = 600,
  STREAM_NON_BLOCKING = 1,
};
enum { CLASSES = 256, GRANULE = 512 };

/* A piece of free memory, of a class. */
typedef struct piece {
  struct piece *next;
  uint64_t at;
} piece;

struct nxi_gpu {
  const nxi_cuda *cuda;
  int device;
  void *context, *stream;
  nxi_gpu_info info;
  nxi_target target;
  nxi_fork_entry fork_entry;
  bool fork_registered;
  pthread_mutex_t lock; /* of everything below */
  piece *kept[CLASSES];
  int64_t limit;
  nxi_gpu_stats stats;
  nxi_gpu_shelf shelves[NXI_GPU_LIBRARIES];
  struct nxi_kernel_cache *kernels;
  _Atomic bool lost;
  bool forked; /* lost to the parent, whose everything is */
  char why_lost[200];
};

struct nxi_gpu_code {
  nxi_gpu *gpu;
  void *module, *function;
  int64_t shared_bytes;
};

/* ---- failures */

static nx_status is_lost(const nxi_gpu *g, nxi_diag *d) {
  return nxi_fail(d, NX_DEVICE_LOST, "", "the GPU %s is lost: %s", g->info.name, g->why_lost);
}

/* After these the driver's context is of no use any more: faults of kernels and of the GPU, and the driver's own end. */
static bool is_for_good(int result) {
  return (result >= RESULT_FIRST_FAULT && result <= RESULT_LAST_FAULT) || result == RESULT_ECC ||
         result == RESULT_ENDED || result == RESULT_NO_CONTEXT || result == RESULT_UNKNOWN;
}

/* What the driver's result means. */
static nx_status refused(nxi_gpu *g, int result, const char *what, nxi_diag *d) {
  const char *name = NULL, *text = NULL;
  char words[200];
  if (result == RESULT_MEMORY) return nxi_oom(d);
  g->cuda->error_name(result, &name);
  g->cuda->error_text(result, &text);
  snprintf(words, sizeof words, "%s: %.60s (%.100s)", what,
           name != NULL ? name : "an unknown error", text != NULL ? text : "no text");
  if (!is_for_good(result))
    return nxi_fail(d, NX_INTERNAL, "", "the driver of the GPU %s fails at %s", g->info.name,
                    words);
  pthread_mutex_lock(&g->lock);
  if (!atomic_load(&g->lost)) memcpy(g->why_lost, words, sizeof words);
  atomic_store(&g->lost, true);
  pthread_mutex_unlock(&g->lock);
  return is_lost(g, d);
}

/* The driver's calls act on the context that is current on the thread. */
nx_status nxi_gpu_enter(nxi_gpu *g, nxi_diag *d) {
  if (atomic_load_explicit(&g->lost, memory_order_relaxed)) return is_lost(g, d);
  int result = g->cuda->context_push(g->context);
  return result == 0 ? NX_OK : refused(g, result, "entering its context", d);
}

void nxi_gpu_leave(nxi_gpu *g) {
  void *own;
  g->cuda->context_pop(&own);
}

/* ---- what there is */

int32_t nxi_gpu_count(const char **why) {
  const nxi_cuda *cuda = nxi_cuda_get(why);
  int n = 0;
  if (cuda == NULL) return 0;
  if (cuda->device_count(&n) == 0 && n > 0) return n;
  *why = "the CUDA driver finds no GPU";
  return 0;
}

bool nxi_gpu_describe(int32_t number, nxi_gpu_info *out, const char **why) {
  int device = 0, major = 0, minor = 0, shared = 0;
  size_t bytes = 0;
  if (number >= nxi_gpu_count(why)) return false;
  const nxi_cuda *cuda = nxi_cuda_get(why);
  *out = (nxi_gpu_info){0};
  bool good = cuda->device_get(&device, number) == 0 &&
              cuda->device_name(out->name, sizeof out->name, device) == 0 &&
              cuda->device_memory(&bytes, device) == 0 &&
              cuda->device_attribute(&major, ATTRIBUTE_MAJOR, device) == 0 &&
              cuda->device_attribute(&minor, ATTRIBUTE_MINOR, device) == 0 &&
              cuda->device_attribute(&shared, ATTRIBUTE_SHARED_OPTIN, device) == 0 &&
              cuda->device_attribute(&out->processors, ATTRIBUTE_PROCESSORS, device) == 0;
  if (!good) *why = "the CUDA driver does not describe the GPU";
  else if (major < 7) *why = "the GPU is older than compute capability 7.0";
  snprintf(out->arch, sizeof out->arch, "sm_%d%d", major, minor);
  out->memory = bytes;
  out->shared_bytes = shared;
  return good && major >= 7;
}

/* ---- life. After a fork the driver's context is the parent's. */

static void lose_in_child(void *object) {
  nxi_gpu *g = object;
  snprintf(g->why_lost, sizeof g->why_lost, "the process was forked");
  g->forked = true;
  atomic_store(&g->lost, true);
}
static const nxi_fork_hooks fork_hooks = {NULL, NULL, lose_in_child};

static nx_status open_context(nxi_gpu *g, nxi_diag *d) {
  int result = g->cuda->context_retain(&g->context, g->device);
  if (result != 0) {
    g->context = NULL;
    return refused(g, result, "making its context", d);
  }
  nx_status status = nxi_gpu_enter(g, d);
  if (status != NX_OK) return status;
  result = g->cuda->stream_create(&g->stream, STREAM_NON_BLOCKING);
  if (result != 0) {
    g->stream = NULL;
    status = refused(g, result, "making a stream", d);
  }
  nxi_gpu_leave(g);
  return status;
}

nx_status nxi_gpu_open(int32_t number, int64_t memory_limit, nxi_gpu **out, nxi_diag *d) {
  const char *why = NULL;
  nxi_gpu_info info;
  if (!nxi_gpu_describe(number, &info, &why))
    return nxi_fail(d, NX_DEVICE_UNAVAILABLE, "", "%s", why);
  nxi_gpu *g = nxi_calloc(1, sizeof *g);
  if (g == NULL) return nxi_oom(d);
  g->cuda = nxi_cuda_get(&why);
  g->info = info;
  g->limit = memory_limit;
  pthread_mutex_init(&g->lock, NULL);
  for (int i = 0; i < NXI_GPU_LIBRARIES; i++) pthread_mutex_init(&g->shelves[i].lock, NULL);
  nx_status status = NX_OK;
  if (!nxi_target_for_isa(info.arch, &g->target) || g->cuda->device_get(&g->device, number) != 0)
    status =
        nxi_fail(d, NX_DEVICE_UNAVAILABLE, "", "the GPU %s is of no kind that is known", info.name);
  g->target.shared_bytes = info.shared_bytes;
  if (status == NX_OK) status = open_context(g, d);
  if (status == NX_OK && nxi_fork_register(&g->fork_entry, &fork_hooks, g) != NX_OK)
    status = nxi_oom(d);
  else if (status == NX_OK) g->fork_registered = true;
  if (status != NX_OK) nxi_gpu_close(g);
  else *out = g;
  return status;
}

static void free_kept(nxi_gpu *g) {
  for (int i = 0; i < CLASSES; i++)
    while (g->kept[i] != NULL) {
      piece *p = g->kept[i];
      g->kept[i] = p->next;
      if (!g->forked) g->cuda->memory_free(p->at);
      nxi_free(p);
    }
  g->stats.cached = 0;
}

void nxi_gpu_close(nxi_gpu *g) {
  if (g == NULL) return;
  if (g->fork_registered) nxi_fork_unregister(&g->fork_entry);
  /* After a fault these calls may fail, and free what they can. */
  bool entered = g->context != NULL && !g->forked && g->cuda->context_push(g->context) == 0;
  if (entered && g->stream != NULL) g->cuda->stream_wait(g->stream);
  for (int i = 0; i < NXI_GPU_LIBRARIES; i++)
    if (!g->forked && g->shelves[i].state != NULL) g->shelves[i].free(g->shelves[i].state);
  free_kept(g);
  if (entered && g->stream != NULL) g->cuda->stream_destroy(g->stream);
  if (entered) nxi_gpu_leave(g);
  if (g->context != NULL && !g->forked) g->cuda->context_release(g->device);
  for (int i = 0; i < NXI_GPU_LIBRARIES; i++) pthread_mutex_destroy(&g->shelves[i].lock);
  pthread_mutex_destroy(&g->lock);
  nxi_free(g);
}

const nxi_target *nxi_gpu_target(const nxi_gpu *g) { return &g->target; }
const nxi_gpu_info *nxi_gpu_properties(const nxi_gpu *g) { return &g->info; }

void nxi_gpu_set_kernels(nxi_gpu *g, struct nxi_kernel_cache *kernels) { g->kernels = kernels; }
struct nxi_kernel_cache *nxi_gpu_kernels(const nxi_gpu *g) { return g->kernels; }

void *nxi_gpu_stream(const nxi_gpu *g) { return g->stream; }

nxi_gpu_shelf *nxi_gpu_shelf_lock(nxi_gpu *g, nxi_gpu_library which) {
  pthread_mutex_lock(&g->shelves[which].lock);
  return &g->shelves[which];
}

void nxi_gpu_shelf_unlock(nxi_gpu_shelf *s) { pthread_mutex_unlock(&s->lock); }

/* ---- memory: classes in four steps a doubling, so that a freed piece fits requests near its own */

static int class_of(int64_t bytes, int64_t *size) {
  int64_t step = GRANULE / 4;
  int number = 0;
  *size = GRANULE;
  while (*size < bytes) {
    if (++number % 4 == 0) step *= 2;
    if (number == CLASSES - 1) {
      *size = bytes;
      break;
    }
    *size += step;
  }
  return number;
}

/* Lock. */
static uint64_t take_kept(nxi_gpu *g, int number, int64_t size) {
  piece *p = g->kept[number];
  if (p == NULL) return 0;
  uint64_t at = p->at;
  g->kept[number] = p->next;
  g->stats.cached -= size;
  nxi_free(p);
  return at;
}

static nx_status alloc_new(nxi_gpu *g, int64_t size, uint64_t *at, nxi_diag *d) {
  nx_status status = nxi_gpu_enter(g, d);
  if (status != NX_OK) return status;
  int result = g->cuda->memory_alloc(at, (size_t)size);
  if (result == RESULT_MEMORY) { /* what is kept may be what is missing */
    g->cuda->stream_wait(g->stream);
    pthread_mutex_lock(&g->lock);
    free_kept(g);
    pthread_mutex_unlock(&g->lock);
    result = g->cuda->memory_alloc(at, (size_t)size);
  }
  nxi_gpu_leave(g);
  return result == 0 ? NX_OK : refused(g, result, "reserving memory", d);
}

nx_status nxi_gpu_alloc(nxi_gpu *g, int64_t bytes, uint64_t *at, nxi_diag *d) {
  int64_t size;
  int number = class_of(bytes, &size);
  if (atomic_load(&g->lost)) return is_lost(g, d);
  pthread_mutex_lock(&g->lock);
  bool within = g->limit == 0 || g->stats.live <= g->limit - bytes;
  *at = within ? take_kept(g, number, size) : 0;
  if (within) {
    g->stats.live += bytes;
    g->stats.allocations++;
  }
  pthread_mutex_unlock(&g->lock);
  if (!within) return nxi_oom(d);
  nx_status status = *at != 0 ? NX_OK : alloc_new(g, size, at, d);
  pthread_mutex_lock(&g->lock);
  if (status != NX_OK) g->stats.live -= bytes;
  else if (g->stats.live > g->stats.peak) g->stats.peak = g->stats.live;
  pthread_mutex_unlock(&g->lock);
  return status;
}

void nxi_gpu_free(nxi_gpu *g, uint64_t at, int64_t bytes) {
  int64_t size;
  int number = class_of(bytes, &size);
  piece *p = nxi_malloc(sizeof *p);
  pthread_mutex_lock(&g->lock);
  g->stats.live -= bytes;
  if (p != NULL) {
    *p = (piece){g->kept[number], at};
    g->kept[number] = p;
    g->stats.cached += size;
  }
  pthread_mutex_unlock(&g->lock);
  if (p != NULL || g->forked || g->cuda->context_push(g->context) != 0) return;
  g->cuda->stream_wait(g->stream);
  g->cuda->memory_free(at);
  nxi_gpu_leave(g);
}

void nxi_gpu_statistics(nxi_gpu *g, nxi_gpu_stats *out) {
  pthread_mutex_lock(&g->lock);
  *out = g->stats;
  pthread_mutex_unlock(&g->lock);
}

/* ---- the stream */

nx_status nxi_gpu_wait(nxi_gpu *g, const nxi_poll *poll, nxi_diag *d) {
  nx_status status = nxi_gpu_enter(g, d);
  if (status != NX_OK) return status;
  bool asks = poll != NULL && poll->fn != NULL;
  int result = asks ? g->cuda->stream_query(g->stream) : g->cuda->stream_wait(g->stream);
  for (; asks && result == RESULT_NOT_READY && status == NX_OK;
       result = g->cuda->stream_query(g->stream)) {
    struct timespec pause = {0, 50000};
    if (poll->fn(poll->user) != 0)
      status = nxi_fail(d, NX_INTERRUPTED, "", "the poll callback asked to stop");
    else nanosleep(&pause, NULL);
  }
  nxi_gpu_leave(g);
  if (status != NX_OK || result == 0) return status;
  return refused(g, result, "running", d);
}

nx_status nxi_gpu_upload(nxi_gpu *g, uint64_t to, const void *from, int64_t bytes, nxi_diag *d) {
  nx_status status = bytes > 0 ? nxi_gpu_enter(g, d) : NX_OK;
  if (status != NX_OK || bytes <= 0) return status;
  int result = g->cuda->upload(to, from, (size_t)bytes, g->stream);
  if (result == 0) result = g->cuda->stream_wait(g->stream);
  nxi_gpu_leave(g);
  return result == 0 ? NX_OK : refused(g, result, "copying to it", d);
}

nx_status nxi_gpu_download(nxi_gpu *g, void *to, uint64_t from, int64_t bytes, const nxi_poll *poll,
                           nxi_diag *d) {
  nx_status status = nxi_gpu_wait(g, poll, d);
  if (status == NX_OK) status = bytes > 0 ? nxi_gpu_enter(g, d) : NX_OK;
  if (status != NX_OK || bytes <= 0) return status;
  int result = g->cuda->download(to, from, (size_t)bytes, g->stream);
  if (result == 0) result = g->cuda->stream_wait(g->stream);
  nxi_gpu_leave(g);
  return result == 0 ? NX_OK : refused(g, result, "copying from it", d);
}

nx_status nxi_gpu_copy(nxi_gpu *g, uint64_t to, uint64_t from, int64_t bytes, nxi_diag *d) {
  nx_status status = bytes > 0 && to != from ? nxi_gpu_enter(g, d) : NX_OK;
  if (status != NX_OK || bytes <= 0 || to == from) return status;
  int result = g->cuda->copy(to, from, (size_t)bytes, g->stream);
  nxi_gpu_leave(g);
  return result == 0 ? NX_OK : refused(g, result, "copying on it", d);
}

nx_status nxi_gpu_clear(nxi_gpu *g, uint64_t at, int64_t bytes, nxi_diag *d) {
  nx_status status = bytes > 0 ? nxi_gpu_enter(g, d) : NX_OK;
  if (status != NX_OK || bytes <= 0) return status;
  int result = g->cuda->memory_set(at, 0, (size_t)bytes, g->stream);
  nxi_gpu_leave(g);
  return result == 0 ? NX_OK : refused(g, result, "clearing memory", d);
}

/* ---- code */

static int load_function(nxi_gpu_code *c, const void *cubin, const char *entry) {
  const nxi_cuda *cuda = c->gpu->cuda;
  int result = cuda->module_load(&c->module, cubin);
  if (result != 0) {
    c->module = NULL;
    return result;
  }
  result = cuda->module_function(&c->function, c->module, entry);
  if (result == 0 && c->shared_bytes > 48 << 10)
    result = cuda->function_attribute(c->function, FUNCTION_SHARED, (int)c->shared_bytes);
  return result;
}

nx_status nxi_gpu_load(nxi_gpu *g, const void *cubin, const char *entry, int64_t shared_bytes,
                       nxi_gpu_code **out, nxi_diag *d) {
  nxi_gpu_code *c = nxi_calloc(1, sizeof *c);
  if (c == NULL) return nxi_oom(d);
  c->gpu = g;
  c->shared_bytes = shared_bytes;
  nx_status status = nxi_gpu_enter(g, d);
  if (status != NX_OK) {
    nxi_free(c);
    return status;
  }
  int result = load_function(c, cubin, entry);
  if (result != 0 && c->module != NULL) g->cuda->module_unload(c->module);
  nxi_gpu_leave(g);
  if (result == 0) {
    *out = c;
    return NX_OK;
  }
  nxi_free(c);
  return refused(g, result, "loading code", d);
}

void nxi_gpu_unload(nxi_gpu_code *c) {
  if (c == NULL) return;
  if (!c->gpu->forked && c->gpu->cuda->context_push(c->gpu->context) == 0) {
    c->gpu->cuda->stream_wait(c->gpu->stream); /* it may be running */
    c->gpu->cuda->module_unload(c->module);
    nxi_gpu_leave(c->gpu);
  }
  nxi_free(c);
}

nx_status nxi_gpu_launch(const nxi_gpu_code *c, int64_t blocks, int32_t threads, void **arguments,
                         nxi_diag *d) {
  nxi_gpu *g = c->gpu;
  if (blocks <= 0) return NX_OK;
  if (blocks > INT32_MAX) blocks = INT32_MAX; /* blocks take tasks in turn */
  nx_status status = nxi_gpu_enter(g, d);
  if (status != NX_OK) return status;
  int result = g->cuda->launch(c->function, (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1,
                               (unsigned)c->shared_bytes, g->stream, arguments, NULL);
  nxi_gpu_leave(g);
  if (result != 0) return refused(g, result, "starting a kernel", d);
  pthread_mutex_lock(&g->lock);
  g->stats.launches++;
  pthread_mutex_unlock(&g->lock);
  return NX_OK;
}
