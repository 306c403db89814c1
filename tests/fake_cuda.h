/* SPDX-License-Identifier: ISC */
/* A CUDA driver and run-time compiler without a GPU, in one library that tests name with NX_CUDA and NX_NVRTC. "Compiling"
 * keeps the text; loading a module has the C++ compiler make code of it for this processor (cuda_host.h). Addresses of its
 * memory are none of the process, so host code that uses one crashes. Everything is done when a call returns.
 * NXT_PAPER_KEEP=DIRECTORY keeps texts and what was made of them there, for the processes that come later. */
#ifndef NXT_FAKE_CUDA_H
#define NXT_FAKE_CUDA_H

#include <stdint.h>

typedef struct nxt_fake {
  int64_t calls;               /* so far */
  int64_t fail_at;             /* number of the call that fails, counted from 1; 0: none */
  int fail_with;               /* its result */
  int refuses;                 /* not 0: the compiler refuses every source, with that */
  int64_t memory, allocations; /* live bytes and pieces */
  int64_t modules, streams, contexts, handles, products;
  int64_t rows_added, matrices_added; /* by products */
  int64_t launches, most_memory;      /* most_memory: more is refused; 0: no limit */
  char failed[64];                    /* the function that was made to fail */
  void (*seen)(const char *source);   /* or NULL: gets what is compiled, of which no code is made */
} nxt_fake;

/* Exported by the library. */
typedef nxt_fake *nxt_fake_state(void);

#endif
