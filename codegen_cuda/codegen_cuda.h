/* SPDX-License-Identifier: ISC */
/* The CUDA code generator: bound kernels with threads (ir/kernel/kernel.h) -> CUDA C. It prints
 * what the binder decided (passes/bind/gpu/bind_gpu.c) and decides nothing itself. The text has no
 * #include; it begins with prelude.cuh. */
#ifndef NXI_CODEGEN_CUDA_H
#define NXI_CODEGEN_CUDA_H

#include <stddef.h>

#include "ir/kernel/kernel.h"

/* How the kernel is launched. Its arguments are the launch buffers, then the parameters, then, if
 * scratch_bytes is not 0, a pointer to that many bytes for each block of the grid. The grid may
 * have any number of blocks: each takes every n-th task. */
typedef struct nxu_launch {
  char entry[72];
  int32_t threads;
  int64_t shared_bytes; /* dynamic shared memory of a block */
  /* global memory of a block for LOCAL arrays that do not fit in shared memory */
  int64_t scratch_bytes;
} nxu_launch;

/* Adds the kernel to `out`, without the prelude. Kernels come expanded and legalised; others are
 * refused. shared_most: bytes of shared memory that a block may have. */
nx_status nxu_print(const nxk_kernel *k, int64_t shared_most, nxi_text *out, nxu_launch *launch,
                    nxi_diag *d);

/* The beginning of every text. A static string. */
const char *nxu_prelude(void);
/* Hand-written code that follows the prelude: sort.cuh, scatter.cuh, scan.cuh. Static strings. */
const char *nxu_sort_keys(void); /* sort_keys.cuh, before both of: */
const char *nxu_sort_rows(void);
const char *nxu_sort_code(void);
const char *nxu_scatter_code(void);
const char *nxu_scan_code(void);
const char *nxu_arrays(void);         /* arrays.cuh */
const char *nxu_mma_code(void);       /* mma.cuh: what products on tensor cores are made of */
const char *nxu_integers_code(void);  /* integers.cuh, after mma.cuh */
const char *nxu_windows_code(void);   /* windows.cuh, after mma.cuh */
const char *nxu_attention_code(void); /* attention_numbers.cuh, attention.cuh; after mma.cuh */
const char *nxu_attention_masks_code(void); /* attention_masks.cuh */
const char *nxu_control_code(void);         /* control.cuh: loops and branches as nodes of graphs */
/* The type of a variable that holds an element; small floats are held as their bits. A static
 * string. */
const char *nxu_type(nx_dtype t);

/* ---- nvrtc.c */
/* NULL if code can be compiled here, else the reason, a static string. NX_NVRTC in the environment
 * names the library's file. */
const char *nxu_unavailable(void);
/* The same for an architecture such as "sm_90". The compiler may be too old for it, or no longer
 * support it. */
const char *nxu_unavailable_for(const char *arch);
/* "NVRTC 13.0", for cache keys. A static string. */
const char *nxu_environment(void);
/* Compiles a whole text (prelude and kernels) for an architecture such as "sm_90". The code is
 * nxi_malloc'd. Thread-safe. */
typedef enum nxu_form { NXU_CUBIN, NXU_PTX } nxu_form;
nx_status nxu_compile(const char *source, const char *name, const char *arch, nxu_form form,
                      void **code, size_t *size, nxi_diag *d);
/* If not NULL: called with a text that the compiler refused and the compiler's messages. It may
 * save them, and append to the failure where they are. Must be set before anything is compiled. */
extern void (*nxu_refused)(const char *name, const char *source, const char *words, nxi_diag *d);
/* The resources of a multiprocessor that the machine code of a text's kernels uses. */
typedef struct nxu_use {
  int64_t kernels, registers; /* registers: of a thread, the most of a kernel */
  /* Of all kernels together. stack: bytes of a thread's variables that are in memory instead of
   * registers; spill: bytes that are stored there and loaded again because there are too few
   * registers */
  int64_t stack_bytes, spill_bytes;
  char in_memory[72]; /* the first kernel of which a thread has values there; "": none has */
} nxu_use;
nx_status nxu_measure(const char *source, const char *name, const char *arch, nxu_use *use,
                      nxi_diag *d);

#endif
