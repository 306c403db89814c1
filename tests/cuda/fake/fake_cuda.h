/* SPDX-License-Identifier: ISC */
/* A CUDA driver and run-time compiler without a GPU, in one library that tests name with NX_CUDA
 * and NX_NVRTC. "Compiling"
 * keeps the text; loading a module has the C++ compiler make code of it for this processor
 * (cuda_host.h). Addresses of its
 * memory are none of the process, so host code that uses one crashes.
 *
 * Work of a stream is done when it is started; or, with `delay`, later: pieces of all streams one
 * after the other in an order
 * drawn by chance, as far as streams, events and waits leave it open.
 *
 * Texts and what was made of them are kept in tests/cuda/kernels of the build folder for the
 * processes that come later, under a
 * hash of all that they depend on. In the environment: NXT_FAKE_KEEP=DIRECTORY has them kept there,
 * or, empty, nowhere; NXT_DELAY is `delay` to begin with; NXT_VERSION is the driver's (13000);
 * NXT_KIND is that of the GPUs (90), of which the compiler knows 75, 80, 90 and 100. */
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
  char only[32]; /* not empty: calls count towards fail_at if their names have this in them */
  int64_t events, pinned_pieces, graphs; /* alive; graphs: both kinds */
  int64_t graph_launches, host_waits;    /* host_waits: calls that wait for work */
  int64_t waiting;                       /* pieces of work that were started and are not done */
  uint64_t delay;                        /* not 0: what chance begins with */
  int idle;                              /* launches do nothing: time without them */
  int64_t fault_at;    /* that kernel breaks its GPU for good, counted like launches; 0: none */
  int fail_breaks;     /* what is made to fail is because the GPU breaks then */
  int64_t most_shared; /* memory of a block; 0: 227 KiB */
  unsigned broken;     /* GPUs that are, a bit each */
  int64_t conditions, bodies;       /* conditional nodes that were made; bodies of them that ran */
  void (*seen)(const char *source); /* or NULL: gets what is compiled, of which no code is made */
  /* Others use the GPU too: not 0: what chance begins with by which calls that need memory fail
   * though there was some a moment ago. */
  uint64_t crowd;
  int64_t crowded;       /* calls that failed so */
  int no_waits;          /* not 0: streams do not wait for events, as if nobody had asked */
  int no_capture_waits;  /* not 0: streams that join a capture come after nothing of it */
  int64_t loads;         /* of functions: when they are wanted first, unless they were asked for */
  int64_t most_blocks;   /* of a kernel that run; 0: 16, and the others' tasks are theirs */
  int64_t forked_graphs; /* captured, with nodes that may run side by side; also bodies */
  /* compilations that wait for each other, two seconds at most; and the most that were under way at
   * once since that is not 0 */
  int64_t meet;
  _Atomic int64_t met;
  int64_t registered, peer_bytes; /* pieces of the host's memory; copied from one GPU to another */
  int64_t uploaded;               /* bytes, from the host's memory */
} nxt_fake;

/* Exported by the library. */
typedef nxt_fake *nxt_fake_state(void);

#endif
