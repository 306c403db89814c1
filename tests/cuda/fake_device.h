/* SPDX-License-Identifier: ISC */
/* A context whose device "cuda" is the fake one (fake_cuda.h), for tests of the interface. */
#ifndef NXT_FAKE_DEVICE_H
#define NXT_FAKE_DEVICE_H

#include "tests/util/api.h"

#include <dlfcn.h>
#include <string.h>

#include "tests/cuda/fake/fake_cuda.h"

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
  static const char *const variables[] = {"NX_CUDA",     "NX_NVRTC", "NX_CUBLAS", "NX_CUFFT",
                                          "NX_CUSOLVER", "NX_NCCL",  NULL};
  for (int i = 0; variables[i] != NULL; i++) setenv(variables[i], NXT_FAKE, 1);
  setenv("NX_CACHE_DIR", "", 1);
  void *library = dlopen(NXT_FAKE, RTLD_NOW);
  nxt_fake_state *find = NULL;
  if (library != NULL) *(void **)&find = dlsym(library, "nxt_fake_cuda");
  if (find == NULL) return 1;
  fake = find();
  return open_context(state);
}

/* Describes objects of the GPU that exist now and did not exist before; NULL: there are none. */
static inline bool is_left(const nxt_fake *before) {
  static const nxt_fake nothing;
  const nxt_fake *was = before != NULL ? before : &nothing;
  const int64_t left[] = {fake->memory - was->memory,
                          fake->modules - was->modules,
                          fake->streams - was->streams,
                          fake->contexts - was->contexts,
                          fake->handles - was->handles,
                          fake->events - was->events,
                          fake->pinned_pieces - was->pinned_pieces,
                          fake->graphs - was->graphs};
  static const char *const names[] = {"bytes",   "modules", "streams",       "contexts",
                                      "handles", "events",  "pinned pieces", "graphs"};
  bool some = false;
  for (int i = 0; i < 8; i++) {
    if (left[i] == 0) continue;
    fprintf(stderr, "left: %lld %s\n", (long long)left[i], names[i]);
    some = true;
  }
  return some;
}

/* Checks the status after a call that was made to fail. */
static inline bool is_failure_of_a_call(nx_status s) {
  return s == NX_OUT_OF_MEMORY || s == NX_INTERNAL || s == NX_COMPILE_FAILED ||
         s == NX_DEVICE_UNAVAILABLE;
}

/* Checks that everything is as before, except for objects that the failed call would have freed. */
static inline void nothing_is_left(const nxt_fake *before) {
  bool gives_back = strstr(fake->failed, "Free") || strstr(fake->failed, "Unload") ||
                    strstr(fake->failed, "Destroy") || strstr(fake->failed, "Release") ||
                    strstr(fake->failed, "Push");
  if (gives_back) {
    const int64_t calls = fake->calls;
    *fake = *before;
    fake->calls = calls;
  }
  assert_int_equal(fake->memory, before->memory);
  assert_int_equal(fake->modules, before->modules);
  assert_int_equal(fake->contexts, before->contexts);
  assert_int_equal(fake->streams, before->streams);
  assert_int_equal(fake->events, before->events);
  assert_int_equal(fake->pinned_pieces, before->pinned_pieces);
  assert_int_equal(fake->graphs, before->graphs);
}

static inline int close_fake(void **state) {
  int failed = close_context(state);
  return is_left(NULL) || failed;
}

#endif
