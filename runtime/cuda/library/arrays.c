/* SPDX-License-Identifier: ISC */
#include "arrays.h"

#include <stdio.h>

#include "codegen_cuda/codegen_cuda.h"
#include "ir/alloc.h"

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

typedef struct named {
  char entry[NXI_ARRAYS_ENTRY], text[NXI_ARRAYS_TEXT];
} named;

static nxi_own_code code_of(nxi_arrays_kernel which, nx_dtype t, named *n) {
  nxi_arrays_instance(which, t, n->entry, n->text);
  return (nxi_own_code){nxu_arrays(), n->text, n->entry, THREADS, shared_bytes(which, t), NULL, 0};
}

nx_status nxi_arrays_get(nxi_gpu *g, nxi_arrays_kernel which, nx_dtype t, nxi_kernel **out,
                         nxi_diag *d) {
  named own;
  const nxi_own_code code = code_of(which, t, &own);
  return nxi_own_code_get(g, &code, out, d);
}

nx_status nxi_arrays_get_all(nxi_gpu *g, const bool needed[NXI_ARRAYS_KERNELS], nx_dtype t,
                             nxi_kernel *out[NXI_ARRAYS_KERNELS], nxi_diag *d) {
  nxi_own_code codes[NXI_ARRAYS_KERNELS];
  nxi_kernel *made[NXI_ARRAYS_KERNELS] = {NULL};
  named *names = nxi_malloc(NXI_ARRAYS_KERNELS * sizeof *names);
  uint32_t n = 0;
  if (names == NULL) return nxi_oom(d);
  for (int i = 0; i < NXI_ARRAYS_KERNELS; i++) {
    const nxi_arrays_kernel which = (nxi_arrays_kernel)i;
    const nx_dtype own = nxi_arrays_of(which) == NXI_ARRAYS_OF_F32 ? NX_F32 : t;
    if (!needed[i]) continue;
    codes[n] = code_of(which, own, &names[n]);
    n++;
  }
  const nx_status status = nxi_own_code_get_all(g, codes, n, made, d);
  n = 0;
  for (int i = 0; i < NXI_ARRAYS_KERNELS; i++)
    if (needed[i]) out[i] = made[n++];
  nxi_free(names);
  return status;
}

nx_status nxi_arrays_run(const nxi_kernel *k, int64_t items, void **arguments, nxi_diag *d) {
  int64_t blocks = items / THREADS + 1;
  return nxi_gpu_launch(nxi_kernel_code(k), blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS, THREADS,
                        arguments, d);
}
