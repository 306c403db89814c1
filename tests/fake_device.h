/* SPDX-License-Identifier: ISC */
/* A context whose device "cuda" is the one on paper (fake_cuda.h), for tests of the interface. */
#ifndef NXT_FAKE_DEVICE_H
#define NXT_FAKE_DEVICE_H

#include "api.h"

#include <dlfcn.h>

#include "fake_cuda.h"

enum { CUDA = 2 };
static nxt_fake *fake;

static inline nx_tensor *ramp(int64_t n, double step) {
  return GOOD(nx_arange(ctx, CUDA, NX_F32, NX_NUMBER(0), NX_NUMBER(step), n));
}

static inline nx_error take(void) {
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  return e;
}

static inline int open_fake(void **state) {
  setenv("NX_CUDA", NXT_FAKE, 1);
  setenv("NX_NVRTC", NXT_FAKE, 1);
  setenv("NX_CUBLAS", NXT_FAKE, 1);
  setenv("NX_CACHE_DIR", "", 1);
  void *library = dlopen(NXT_FAKE, RTLD_NOW);
  nxt_fake_state *find = NULL;
  if (library != NULL) *(void **)&find = dlsym(library, "nxt_fake_cuda");
  if (find == NULL) return 1;
  fake = find();
  return open_context(state);
}

static inline int close_fake(void **state) {
  int failed = close_context(state);
  const int64_t left[] = {fake->memory,  fake->modules, fake->streams,       fake->contexts,
                          fake->handles, fake->events,  fake->pinned_pieces, fake->graphs};
  static const char *const names[] = {"bytes",   "modules", "streams",       "contexts",
                                      "handles", "events",  "pinned pieces", "graphs"};
  for (int i = 0; i < 8; i++) {
    if (left[i] == 0) continue;
    fprintf(stderr, "left: %lld %s\n", (long long)left[i], names[i]);
    failed = 1;
  }
  return failed;
}

#endif
