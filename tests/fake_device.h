/* SPDX-License-Identifier: ISC */
/* A context whose device "cuda" is the one on paper (fake_cuda.h), for tests of the interface. */
#ifndef NXT_FAKE_DEVICE_H
#define NXT_FAKE_DEVICE_H

#include "api.h"

#include <dlfcn.h>

#include "fake_cuda.h"

enum { CUDA = 2 };
static nxt_fake *fake;

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
  if (fake->memory || fake->modules || fake->streams || fake->contexts || fake->handles)
    fprintf(stderr, "left: %lld bytes, %lld modules, %lld streams, %lld contexts, %lld handles\n",
            (long long)fake->memory, (long long)fake->modules, (long long)fake->streams,
            (long long)fake->contexts, (long long)fake->handles);
  return failed || fake->memory || fake->modules || fake->streams || fake->contexts ||
         fake->handles;
}

#endif
