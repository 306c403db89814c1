/* SPDX-License-Identifier: ISC */
#include "arrays.h"

#include <stdio.h>

#include "codegen_cuda/codegen_cuda.h"

enum { THREADS = 256, MOST_BLOCKS = 1 << 20 }; /* a block takes several tasks */
enum { TILE = -1 };                            /* 32 x 33 elements */

static const struct {
  const char *name, *arguments, *call;
  int shared;
  nxi_arrays_types types;
} rows[] = {
#define ARRAYS(name, shared, types, arguments, call) \
  {#name, arguments, call, shared, NXI_ARRAYS_OF_##types},
#include "arrays.def"
#undef ARRAYS
};

nxi_arrays_types nxi_arrays_of(nxi_arrays_kernel which) { return rows[which].types; }

static int64_t shared_bytes(nxi_arrays_kernel which, nx_dtype t) {
  return rows[which].shared == TILE ? 32 * 33 * nxi_dtype_size(t) : rows[which].shared;
}

void nxi_arrays_instance(nxi_arrays_kernel which, nx_dtype t, char entry[NXI_ARRAYS_ENTRY],
                         char text[NXI_ARRAYS_TEXT]) {
  bool wide = nxi_part_dtype(t) == NX_F64;
  /* These kernels have a block for each matrix: more registers for a thread are worth more than
   * more blocks. */
  bool roomy = which == NXI_ARRAYS_cholesky || which == NXI_ARRAYS_lu;
  snprintf(entry, NXI_ARRAYS_ENTRY, "nx_%s_%s", rows[which].name, nxi_dtypes[t].name);
  snprintf(text, NXI_ARRAYS_TEXT,
           "typedef %s R;\ntypedef %s T;\n"
           "extern \"C\" __global__ void __launch_bounds__(%d%s) %s(%s) {\n%s  %s;\n}",
           wide ? "double" : "float", nxi_is_complex(t) ? "nx_pair<R>" : "R", (int)THREADS,
           roomy ? ", 1" : "", entry, rows[which].arguments,
           rows[which].shared != 0 ? "  extern __shared__ __align__(64) nx_u8 nx_shared[];\n" : "",
           rows[which].call);
}

nx_status nxi_arrays_get(nxi_gpu *g, nxi_arrays_kernel which, nx_dtype t, nxi_kernel **out,
                         nxi_diag *d) {
  char entry[NXI_ARRAYS_ENTRY], instance[NXI_ARRAYS_TEXT];
  nxi_arrays_instance(which, t, entry, instance);
  nxi_own_code code = {nxu_arrays(), instance, entry, THREADS, shared_bytes(which, t), NULL, 0};
  return nxi_own_code_get(g, &code, out, d);
}

nx_status nxi_arrays_run(const nxi_kernel *k, int64_t items, void **arguments, nxi_diag *d) {
  int64_t blocks = items / THREADS + 1;
  return nxi_gpu_launch(nxi_kernel_code(k), blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS, THREADS,
                        arguments, d);
}
