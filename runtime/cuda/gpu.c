/* SPDX-License-Identifier: ISC */
/* GPUs through the CUDA driver: listing them, opening, closing and losing one, loading and
 * launching code. */
#include <stdio.h>
#include <string.h>

#include "ir/alloc.h"
#include "ir/platform/fork.h"
#include "ir/platform/thread.h"
#include "state.h"

/* Values of the driver's enumerations. */
enum {
  ATTRIBUTE_PROCESSORS = 16,
  ATTRIBUTE_MAJOR = 75,
  ATTRIBUTE_MINOR = 76,
  ATTRIBUTE_SHARED_OPTIN = 97,
  FUNCTION_SHARED = 8,
};

struct nxi_gpu_code {
  nxi_gpu *gpu;
  void *module, *function;
  int64_t shared_bytes;
};

/* ---- failures */

nx_status nxi_gpu_is_lost(const nxi_gpu *g, nxi_diag *d) {
  return nxi_fail(d, NX_DEVICE_LOST, "", "the GPU %s is lost: %s", g->info.name, g->why_lost);
}

/* Whether the driver's context cannot be used any more after this result: faults of kernels, memory
 * and links, the shutdown of the driver, a destroyed context, a lost server between the process and
 * the GPU. */
static bool is_for_good(int result) {
  static const int16_t all[] = {4,   46,  201, 214, 220, 226, 700, 702, 709, 710,
                                714, 715, 716, 717, 718, 719, 721, 806, 810, 999};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i] == result) return true;
  return false;
}

nx_status nxi_gpu_refused(nxi_gpu *g, int result, const char *what, nxi_diag *d) {
  const char *name = NULL, *text = NULL;
  char words[200];
  if (result == NXI_CUDA_NO_MEMORY) return nxi_oom(d);
  g->cuda->error_name(result, &name);
  g->cuda->error_text(result, &text);
  snprintf(words, sizeof words, "%s: %.60s (%.100s)", what,
           name != NULL ? name : "an unknown error", text != NULL ? text : "no text");
  if (!is_for_good(result))
    return nxi_fail(d, NX_INTERNAL, "", "the driver of the GPU %s fails at %s", g->info.name,
                    words);
  nxi_mutex_lock(&g->lock);
  if (!atomic_load(&g->lost)) memcpy(g->why_lost, words, sizeof words);
  atomic_store(&g->lost, true);
  nxi_mutex_unlock(&g->lock);
  return nxi_gpu_is_lost(g, d);
}

nx_status nxi_gpu_fault(nxi_gpu *g, nxi_diag *d) {
  if (atomic_load(&g->lost)) return nxi_gpu_is_lost(g, d);
  int result = g->cuda->stream_query(g->stream);
  return is_for_good(result) ? nxi_gpu_refused(g, result, "running", d) : NX_OK;
}

/* ---- The driver's calls use the context that is current on the thread. A thread that has entered
 * the context need not do so again, and most calls come from such a thread: a launch enters once
 * for all its steps. */

enum { DEEP = 8 };
static _Thread_local const nxi_gpu *inside[DEEP];
static _Thread_local int depth;

/* Deeper than DEEP the context is entered again each time. */
static int enter(nxi_gpu *g) {
  bool already = depth > 0 && depth < DEEP && inside[depth - 1] == g;
  int result = already ? 0 : g->cuda->context_push(g->context);
  if (result != 0) return result;
  if (depth < DEEP) inside[depth] = g;
  depth++;
  return 0;
}

nx_status nxi_gpu_enter(nxi_gpu *g, nxi_diag *d) {
  if (atomic_load_explicit(&g->lost, memory_order_relaxed)) return nxi_gpu_is_lost(g, d);
  int result = enter(g);
  return result == 0 ? NX_OK : nxi_gpu_refused(g, result, "entering its context", d);
}

bool nxi_gpu_enter_to_free(nxi_gpu *g) { return g->context != NULL && !g->forked && enter(g) == 0; }

void nxi_gpu_leave(nxi_gpu *g) {
  void *own;
  depth--;
  bool still = depth > 0 && depth < DEEP && inside[depth - 1] == g;
  if (!still) g->cuda->context_pop(&own);
}

/* ---- the GPUs of the machine */

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

/* ---- opening and closing. After a fork the driver's context belongs to the parent. */

static void lose_in_child(void *object) {
  nxi_gpu *g = object;
  snprintf(g->why_lost, sizeof g->why_lost, "the process was forked");
  g->forked = true;
  atomic_store(&g->lost, true);
}

static nx_status open_context(nxi_gpu *g, nxi_diag *d) {
  int result = g->cuda->context_retain(&g->context, g->device);
  if (result != 0) {
    g->context = NULL;
    return nxi_gpu_refused(g, result, "making its context", d);
  }
  nx_status status = nxi_gpu_enter(g, d);
  if (status != NX_OK) return status;
  result = g->cuda->stream_create(&g->stream, NXI_CUDA_NON_BLOCKING);
  if (result != 0) {
    g->stream = NULL;
    status = nxi_gpu_refused(g, result, "making a stream", d);
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
  g->base.kind = &nxi_cuda_device;
  g->cuda = nxi_cuda_get(&why);
  g->info = info;
  g->limit = memory_limit;
  nxi_mutex_init(&g->lock);
  nxi_mutex_init(&g->capture_lock);
  nxi_gpu_copies_init(g);
  for (int i = 0; i < NXI_GPU_LIBRARIES; i++) nxi_mutex_init(&g->shelves[i].lock);
  nx_status status = NX_OK;
  if (!nxi_target_for_isa(info.arch, &g->target) || g->cuda->device_get(&g->device, number) != 0)
    status =
        nxi_fail(d, NX_DEVICE_UNAVAILABLE, "", "the GPU %s is of no kind that is known", info.name);
  g->target.shared_bytes = info.shared_bytes;
  if (status == NX_OK) status = open_context(g, d);
  if (status == NX_OK &&
      nxi_fork_register_mutex(&g->fork_entry, &g->lock, lose_in_child, g) != NX_OK)
    status = nxi_oom(d);
  else if (status == NX_OK) g->fork_registered = true;
  if (status != NX_OK) nxi_gpu_close(g);
  else *out = g;
  return status;
}

void nxi_gpu_close(nxi_gpu *g) {
  if (g == NULL) return;
  if (g->fork_registered) nxi_fork_unregister(&g->fork_entry);
  /* After a fault these calls may fail, and free what they can. */
  bool entered = nxi_gpu_enter_to_free(g);
  if (entered && g->stream != NULL) g->cuda->stream_wait(g->stream);
  for (int i = 0; i < NXI_GPU_LIBRARIES; i++)
    if (!g->forked && g->shelves[i].state != NULL) g->shelves[i].free(g->shelves[i].state);
  nxi_gpu_free_kept(g);
  nxi_gpu_copies_destroy(g, entered);
  if (entered) nxi_gpu_tracks_destroy(g);
  if (entered && g->stream != NULL) g->cuda->stream_destroy(g->stream);
  if (entered) nxi_gpu_leave(g);
  if (g->context != NULL && !g->forked) g->cuda->context_release(g->device);
  for (int i = 0; i < NXI_GPU_LIBRARIES; i++) nxi_mutex_destroy(&g->shelves[i].lock);
  nxi_mutex_destroy(&g->capture_lock);
  nxi_mutex_destroy(&g->lock);
  nxi_free(g);
}

bool nxi_gpu_is_imagined(const nxi_gpu *g) { return g->texts != NULL; }
const nxi_target *nxi_gpu_target(const nxi_gpu *g) { return &g->target; }
const nxi_gpu_info *nxi_gpu_properties(const nxi_gpu *g) { return &g->info; }

void nxi_gpu_set_kernels(nxi_gpu *g, struct nxi_kernel_cache *kernels) { g->kernels = kernels; }
struct nxi_kernel_cache *nxi_gpu_kernels(const nxi_gpu *g) { return g->kernels; }

struct nxi_pool *nxi_gpu_pool(const nxi_gpu *g) { return g->base.pool; }

void *nxi_gpu_stream(const nxi_gpu *g) {
  void *captured = nxi_gpu_captured_stream(g);
  return captured != NULL ? captured : g->stream;
}

nxi_gpu_shelf *nxi_gpu_shelf_lock(nxi_gpu *g, nxi_gpu_library which) {
  nxi_mutex_lock(&g->shelves[which].lock);
  return &g->shelves[which];
}

void nxi_gpu_shelf_unlock(nxi_gpu_shelf *s) { nxi_mutex_unlock(&s->lock); }

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
  if (result != 0) {
    cuda->module_unload(c->module);
    c->module = NULL;
  }
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
  if (result == NXI_CUDA_NO_MEMORY) {
    nxi_gpu_free_all_kept(g);
    result = load_function(c, cubin, entry);
  }
  nxi_gpu_leave(g);
  if (result == 0) {
    *out = c;
    return NX_OK;
  }
  nxi_free(c);
  return nxi_gpu_refused(g, result, "loading code", d);
}

void nxi_gpu_unload(nxi_gpu_code *c) {
  if (c == NULL) return;
  if (nxi_gpu_enter_to_free(c->gpu)) {
    c->gpu->cuda->stream_wait(c->gpu->stream); /* the code may be running */
    c->gpu->cuda->module_unload(c->module);
    nxi_gpu_leave(c->gpu);
  }
  nxi_free(c);
}

/* The driver may load a function when it is launched first: without memory for that, kept memory
 * goes. Not in a capture, which has no graph then: the steps are started one by one. */
static int launch(const nxi_gpu_code *c, unsigned blocks, unsigned threads, void **arguments) {
  nxi_gpu *g = c->gpu;
  void *stream = nxi_gpu_stream(g);
  int result = NXI_CUDA_NO_MEMORY;
  for (int i = 0; i < 2 && result == NXI_CUDA_NO_MEMORY; i++) {
    if (i > 0 && nxi_gpu_captures(g)) break;
    if (i > 0) nxi_gpu_free_all_kept(g);
    result = g->cuda->launch(c->function, blocks, 1, 1, threads, 1, 1, (unsigned)c->shared_bytes,
                             stream, arguments, NULL);
  }
  return result;
}

nx_status nxi_gpu_launch(const nxi_gpu_code *c, int64_t blocks, int32_t threads, void **arguments,
                         nxi_diag *d) {
  nxi_gpu *g = c->gpu;
  if (blocks <= 0) return NX_OK;
  if (blocks > INT32_MAX) blocks = INT32_MAX; /* each block takes several tasks */
  nx_status status = nxi_gpu_enter(g, d);
  if (status != NX_OK) return status;
  int result = launch(c, (unsigned)blocks, (unsigned)threads, arguments);
  nxi_gpu_leave(g);
  if (result != 0) return nxi_gpu_refused(g, result, "starting a kernel", d);
  atomic_fetch_add_explicit(&g->launches, 1, memory_order_relaxed);
  return NX_OK;
}
