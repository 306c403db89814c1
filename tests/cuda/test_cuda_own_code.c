/* SPDX-License-Identifier: ISC */
/* Tests of hand-written CUDA C in the kernel cache: it is compiled once and launched; a source that
 * is refused is reported with the compiler's messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "runtime/cuda/maker.h"
#include "runtime/cuda/own_code.h"
#include "tests/util/runner.h"

static nxi_gpu *gpu;
static nxi_kernel_cache *kernels;
static const char body[] = "template <class T> NX_INLINE void fill(T *to, T first, int n) {\n"
                           "  for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += gridDim.x * "
                           "32) to[i] = first + (T)i;\n"
                           "}\n";
static const nxi_own_code code = {
    body,
    "extern \"C\" __global__ void __launch_bounds__(32) fill_i32(int *to, int first, int n) {\n"
    "  fill(to, first, n);\n}",
    "fill_i32",
    32,
    0,
    NULL,
    0};

static int open_gpu(void **state) {
  (void)state;
  nxi_diag d;
  nxi_diag_clear(&d);
  setenv("NX_CUDA", NXT_FAKE, 1);
  setenv("NX_NVRTC", NXT_FAKE, 1);
  if (nxi_gpu_open(0, 0, &gpu, &d) != NX_OK) return 1;
  if (nxi_kernel_cache_create_for(&nxi_gpu_maker, gpu, "", &kernels, &d) != NX_OK) return 1;
  nxi_gpu_set_kernels(gpu, kernels);
  return 0;
}

static int close_gpu(void **state) {
  (void)state;
  nxi_kernel_cache_destroy(kernels);
  nxi_gpu_close(gpu);
  return 0;
}

static void an_instance_is_made_once(void **state) {
  (void)state;
  nxi_kernel *k = NULL, *again = NULL;
  int32_t values[100], first = 7, n = 100;
  uint64_t at = 0;
  assert_int_equal(nxi_own_code_get(gpu, &code, &k, NULL), NX_OK);
  assert_int_equal(nxi_own_code_get(gpu, &code, &again, NULL), NX_OK);
  assert_ptr_equal(k, again);
  assert_int_equal(nxi_kernel_describe(k)->threads, 32);
  assert_int_equal(nxi_gpu_alloc(gpu, sizeof values, &at, NULL), NX_OK);
  void *arguments[] = {&at, &first, &n};
  assert_int_equal(nxi_gpu_launch(nxi_kernel_code(k), 3, 32, arguments, NULL), NX_OK);
  assert_int_equal(nxi_gpu_download(gpu, values, at, sizeof values, NXI_NOW, NULL, NULL), NX_OK);
  for (int i = 0; i < 100; i++) assert_int_equal(values[i], 7 + i);
  nxi_gpu_free(gpu, at, sizeof values);
  nxi_kernel_release(k);
  nxi_kernel_release(again);
}

static void what_has_no_such_function_is_refused(void **state) {
  (void)state;
  nxi_own_code wrong = code;
  nxi_kernel *k = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  wrong.entry = "another";
  wrong.body = "struct something {};\ntemplate <class T> NX_INLINE void fill(T *, T, int) {}\n";
  assert_int_equal(nxi_own_code_get(gpu, &wrong, &k, &d), NX_INTERNAL);
  assert_null(k);
}

NXT_MAIN(cuda_own_code) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_instance_is_made_once),
      cmocka_unit_test(what_has_no_such_function_is_refused),
  };
  return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
