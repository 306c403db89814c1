/* SPDX-License-Identifier: ISC */
/* The CUDA code generator: bound kernel IR of threads (ir/kernel/kernel.h) -> CUDA C. It prints
 * what the binder decided (passes/bind/gpu/bind_gpu.c) and decides nothing. The text has no
 * #include: it begins with prelude.cuh. */
#ifndef NXI_CODEGEN_CUDA_H
#define NXI_CODEGEN_CUDA_H

#include <stddef.h>

#include "ir/kernel/kernel.h"

/* How the kernel is launched. Its arguments are the launch buffers, then the parameters, then, if
 * scratch_bytes is not 0, a pointer to that many bytes for each block of the grid. Any grid does:
 * blocks take tasks in turn. */
typedef struct nxu_launch {
  char entry[72];
  int32_t threads;
  int64_t shared_bytes;  /* dynamic shared memory of a block */
  int64_t scratch_bytes; /* of a block: LOCAL arrays that are larger than shared memory */
} nxu_launch;

/* Adds the kernel to `out`, without the prelude. Kernels come expanded and legalised; others are
 * refused. shared_most: bytes of shared memory that a block may have. */
nx_status nxu_print(const nxk_kernel *k, int64_t shared_most, nxi_text *out, nxu_launch *launch,
                    nxi_diag *d);

/* What every text begins with. Static. */
const char *nxu_prelude(void);
/* Code of our own that is no kernel IR, to come after it: sort.cuh, scatter.cuh, scan.cuh.
 * Static. */
const char *nxu_sort_code(void);
const char *nxu_scatter_code(void);
const char *nxu_scan_code(void);
const char *nxu_arrays(void); /* arrays.cuh */
/* The type of a variable with an element; small floats are their bits. Static. */
const char *nxu_type(nx_dtype t);

/* ---- nvrtc.c */
/* NULL if code can be compiled here, else the reason. NX_NVRTC in the environment: the library's
 * file. Static. */
const char *nxu_unavailable(void);
/* The same for an architecture such as "sm_90", which the compiler may be too new for, or too
 * old. */
const char *nxu_unavailable_for(const char *arch);
/* "NVRTC 13.0", for keys of caches. Static. */
const char *nxu_environment(void);
/* The code of a whole text (prelude and kernels) for an architecture such as "sm_90", nxi_malloc'd.
 * Thread-safe. */
typedef enum nxu_form { NXU_CUBIN, NXU_PTX } nxu_form;
nx_status nxu_compile(const char *source, const char *name, const char *arch, nxu_form form,
                      void **code, size_t *size, nxi_diag *d);
/* Called with a text that the compiler refused and its words, so that somebody keeps them, and says
 * where at the end of the failure. NULL: nobody does. Set before anything is compiled. */
extern void (*nxu_refused)(const char *name, const char *source, const char *words, nxi_diag *d);
/* What the machine code of a text with one kernel takes of a multiprocessor. */
typedef struct nxu_use {
  int64_t registers; /* of a thread */
  int64_t stack_bytes,
      /* its values in memory, which is slower by far; moved there and back for want of registers */
      spill_bytes;
} nxu_use;
nx_status nxu_measure(const char *source, const char *name, const char *arch, nxu_use *use,
                      nxi_diag *d);

#endif
