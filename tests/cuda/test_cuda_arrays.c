/* SPDX-License-Identifier: ISC */
/* Tests that NVIDIA's compiler accepts every instance of codegen_cuda/arrays.cuh and keeps its
 * values in registers, except for the memory that a called division needs; and that NVIDIA's
 * libraries have all functions that are used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "codegen_cuda/codegen_cuda.h"
#include "runtime/cuda/library/arrays.h"
#include "runtime/cuda/library/cufft.h"
#include "runtime/cuda/library/cusolver.h"
#include "tests/util/runner.h"

static void measure(nxi_arrays_kernel which, nx_dtype t) {
  char entry[NXI_ARRAYS_ENTRY], instance[NXI_ARRAYS_TEXT];
  nxi_text text = {0};
  nxu_use use = {0};
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_arrays_instance(which, t, entry, instance);
  nxi_text_add(&text, "%s%s\n%s\n", nxu_prelude(), nxu_arrays(), instance);
  assert_false(text.failed);
  nx_status status = nxu_measure(text.data, entry, "sm_90", &use, &d);
  nxi_text_free(&text);
  if (status != NX_OK) fail_msg("%s: %s", entry, d.message);
  if (use.stack_bytes > 64) fail_msg("%s keeps %d bytes in memory", entry, (int)use.stack_bytes);
}

static void every_instance_compiles(void **state) {
  static const nx_dtype types[] = {NX_F32, NX_F64, NX_C64, NX_C128};
  (void)state;
  if (nxu_unavailable() != NULL) {
    fprintf(stderr, "not tried: %s\n", nxu_unavailable());
    skip();
  }
  for (int which = 0; which < NXI_ARRAYS_KERNELS; which++) {
    nxi_arrays_types of = nxi_arrays_of((nxi_arrays_kernel)which);
    for (int t = of == NXI_ARRAYS_OF_PAIRS ? 2 : 0; t < (of == NXI_ARRAYS_OF_F32 ? 1 : 4); t++)
      measure((nxi_arrays_kernel)which, types[t]);
  }
}

/* NVIDIA's libraries, if they are installed, have all functions that are used. */
static void libraries_have_their_symbols(void **state) {
  const char *const missing[] = {nxi_cufft_missing(), nxi_cusolver_missing()};
  (void)state;
  for (int i = 0; i < 2; i++) {
    if (missing[i] == NULL) continue;
    if (strstr(missing[i], "was not found") == NULL) fail_msg("%s", missing[i]);
    fprintf(stderr, "not tried: %s\n", missing[i]);
  }
  if (missing[1] == NULL && !nxi_cusolver_has_eig())
    fprintf(stderr, "not tried: cuSOLVER of CUDA 12.6\n");
}

NXT_MAIN(cuda_arrays) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_instance_compiles),
                                     cmocka_unit_test(libraries_have_their_symbols)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
