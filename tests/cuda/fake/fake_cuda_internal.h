/* SPDX-License-Identifier: ISC */
/* What the parts of the fake CUDA share: the driver and compiler (fake_cuda.c), and NVIDIA's
 * libraries, a file each. */
#ifndef NXT_FAKE_CUDA_INTERNAL_H
#define NXT_FAKE_CUDA_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "fake_cuda.h"

#define EXPORT __attribute__((visibility("default")))

/* Counts a call; not 0: it fails with that. */
int nxt_fake_count(const char *name);
/* Others have taken memory that was there: by chance, where the test wants that. */
bool nxt_fake_crowds(void);
/* Whether a context is current on the thread. */
bool nxt_fake_inside(void);
/* The GPU's addresses are that far from the host's. */
#define NXT_FAKE_OFFSET (UINT64_C(1) << 62)
/* The memory behind an address of the GPU. */
char *nxt_fake_host(uint64_t at);
/* fake_memory.c. As memmove and memset, but pages of zeros stay untouched. */
void nxt_fake_move(char *to, const char *from, size_t bytes);
void nxt_fake_set(char *to, unsigned char value, size_t bytes);
int nxt_fake_kind(void); /* 90: of compute capability 9.0 */
EXPORT nxt_fake *nxt_fake_cuda(void);

/* One thread at a time is in the driver. */
void nxt_fake_enter(void);
void nxt_fake_leave(const int *ignored);
/* Everything that was started on the GPU of the thread's context is done. */
int nxt_fake_settle(void);
/* Starts work on a stream: act is called once, with a copy of these bytes; while the stream is
 * captured, whenever the graph runs. */
typedef void nxt_fake_act(void *what);
int nxt_fake_start(void *stream, nxt_fake_act *act, const void *what, size_t bytes);
/* The GPU of the thread's context; -1: there is none. Whether it still works: 0 or a result. */
int nxt_fake_device(void);
int nxt_fake_fault(void);
/* The version of the driver. */
int nxt_fake_version(void);
void nxt_fake_nothing(void *what); /* an act */
/* A kernel is about to run: whether it does. */
bool nxt_fake_runs(int device);

/* Of the driver, for NCCL (fake_stream.c). */
EXPORT int cuEventCreate(void **out, unsigned flags);
EXPORT int cuEventDestroy_v2(void *given);
EXPORT int cuEventRecord(void *given, void *s);
EXPORT int cuStreamWaitEvent(void *given, void *of, unsigned flags);

#define CALL                                                             \
  __attribute__((cleanup(nxt_fake_leave), unused)) const int inside = 0; \
  nxt_fake_enter();                                                      \
  do {                                                                   \
    int failed = nxt_fake_count(__func__);                               \
    if (failed) return failed;                                           \
  } while (0)

/* Most calls need a context that is current on the thread. */
#define INSIDE                                     \
  CALL;                                            \
  do {                                             \
    if (!nxt_fake_inside()) return 201;            \
    if (nxt_fake_fault()) return nxt_fake_fault(); \
  } while (0)

/* Of what acts at once. */
#define SETTLED                        \
  INSIDE;                              \
  do {                                 \
    int unsettled = nxt_fake_settle(); \
    if (unsettled) return unsettled;   \
  } while (0)

#endif
