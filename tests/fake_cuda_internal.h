/* SPDX-License-Identifier: ISC */
/* What the parts of the paper CUDA share: the driver and compiler (fake_cuda.c), and NVIDIA's libraries, a file each. */
#ifndef NXT_FAKE_CUDA_INTERNAL_H
#define NXT_FAKE_CUDA_INTERNAL_H

#include <stdbool.h>

#include "fake_cuda.h"

#define EXPORT __attribute__((visibility("default")))

/* Counts a call; not 0: it fails with that. */
int nxt_fake_count(const char *name);
/* Whether a context is current on the thread. */
bool nxt_fake_inside(void);
/* The memory behind an address of the GPU. */
char *nxt_fake_host(uint64_t at);
EXPORT nxt_fake *nxt_fake_cuda(void);

#define CALL                               \
  do {                                     \
    int failed = nxt_fake_count(__func__); \
    if (failed) return failed;             \
  } while (0)

/* Most calls need a context that is current on the thread. */
#define INSIDE                          \
  do {                                  \
    CALL;                               \
    if (!nxt_fake_inside()) return 201; \
  } while (0)

#endif
