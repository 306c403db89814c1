/* SPDX-License-Identifier: ISC */
/* Hand-written kernels on dense arrays, for the work before and after calls of NVIDIA's libraries:
 * codegen_cuda/arrays.cuh says what they do. */
#ifndef NXI_GPU_ARRAYS_H
#define NXI_GPU_ARRAYS_H

#include "ir/dtype.h"
#include "runtime/cuda/own_code.h"

typedef enum nxi_arrays_kernel {
#define ARRAYS(name, shared, types, arguments, call) NXI_ARRAYS_##name,
#include "arrays.def"
#undef ARRAYS
  NXI_ARRAYS_KERNELS
} nxi_arrays_kernel;

/* The element types for which a kernel exists. */
typedef enum nxi_arrays_types {
  NXI_ARRAYS_OF_ALL,
  NXI_ARRAYS_OF_PAIRS,
  NXI_ARRAYS_OF_F32
} nxi_arrays_types;
nxi_arrays_types nxi_arrays_of(nxi_arrays_kernel which);
/* The text of an instance, after prelude.cuh and arrays.cuh. entry: the name of its function. */
enum { NXI_ARRAYS_ENTRY = 48, NXI_ARRAYS_TEXT = 1000 };
void nxi_arrays_instance(nxi_arrays_kernel which, nx_dtype t, char entry[NXI_ARRAYS_ENTRY],
                         char text[NXI_ARRAYS_TEXT]);
/* The caller owns the reference in *out. t: the type of the element T; f32, f64, c64, c128. */
nx_status nxi_arrays_get(nxi_gpu *g, nxi_arrays_kernel which, nx_dtype t, nxi_kernel **out,
                         nxi_diag *d);
/* Those of a list that are wanted: needed[which]. out: NULLs before; what is there after a failure
 * is the caller's, too. */
nx_status nxi_arrays_get_all(nxi_gpu *g, const bool needed[NXI_ARRAYS_KERNELS], nx_dtype t,
                             nxi_kernel *out[NXI_ARRAYS_KERNELS], nxi_diag *d);
/* Starts the kernel. arguments: addresses of the values, in order; items: the number of threads
 * that have work. */
nx_status nxi_arrays_run(const nxi_kernel *k, int64_t items, void **arguments, nxi_diag *d);

#endif
