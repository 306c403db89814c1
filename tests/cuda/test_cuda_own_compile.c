/* SPDX-License-Identifier: ISC */
/* NVRTC compiles CUDA C of our own, as the runtime instantiates it for operations on all types, and
 * no kernel keeps values of its threads in memory. A child of this process, in which driver and
 * compiler are fakes (fake_cuda.h), collects the texts. test_cuda_own_compile ARCH [EVERY]: one of
 * so many texts. NXT_ONLY in the environment: those whose instance has this in it;
 * NXT_SHOW: say how many registers. Without NVRTC: skipped, with the reason. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen_cuda/codegen_cuda.h"
#include "tests/cuda/fake/fake_cuda.h"
#include "runtime/cuda/conditions.h"
#include "runtime/cuda/library/calls.h"
#include "runtime/cuda/maker.h"
#include "runtime/cuda/own_code.h"
#include "runtime/cuda/library/scatter.h"
#include "runtime/cuda/library/sort.h"
#include "tests/util/runner.h"

/* ---- the child */

static FILE *to_parent;

static void tell(const char *source) {
  size_t size = strlen(source) + 1;
  fwrite(&size, sizeof size, 1, to_parent);
  fwrite(source, size, 1, to_parent);
}

static bool sorts(nxi_gpu *g) {
  static const nx_dtype types[] = {NX_U8,  NX_F8E4M3, NX_U16, NX_F16, NX_U32,
                                   NX_F32, NX_U64,    NX_F64, NX_C64, NX_C128};
  static const int64_t shapes[][3] = {
      {9, 10, 1}, {1, 4000, 1}, {1, 2000, 1}, {1, 100000, 2}, {1, (int64_t)1 << 31, 1}};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
      for (int indices = 0; indices < 2; indices++) {
        nxi_gpu_sort_shape shape = {.dtype = types[t],
                                    .indices = indices != 0,
                                    .outer = shapes[i][0],
                                    .length = shapes[i][1] - indices,
                                    .inner = shapes[i][2]};
        nxi_gpu_sort *s = NULL;
        int64_t bytes;
        if (nxi_gpu_sort_create(g, &shape, &s, &bytes, NULL) != NX_OK) return false;
        nxi_gpu_sort_destroy(s);
      }
  return true;
}

static bool scans(nxi_gpu *g) {
  static const nx_dtype types[] = {NX_I8,  NX_U8,  NX_I16, NX_U16, NX_I32,
                                   NX_U32, NX_I64, NX_U64, NX_F32, NX_F64};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (int kind = 0; kind < 4; kind++) {
      const nxg_array a = {.dtype = types[t], .rank = 1, .shape = {1 << 20}};
      const nxg_call call = {.op = (nxg_op)(NXG_scan_sum + kind),
                             .n_operands = 1,
                             .n_results = 1,
                             .operands = {a},
                             .results = {a}};
      nxi_gpu_call_work work = {0};
      if (nxi_gpu_scan_functions.prepare(g, &call, &work, NULL) != NX_OK) return false;
      nxi_gpu_scan_functions.release(work.state);
    }
  return true;
}

static bool prepare(const nxi_gpu_functions *f, nxi_gpu *g, const nxg_call *call) {
  nxi_gpu_call_work work = {0};
  if (f->prepare(g, call, &work, NULL) != NX_OK) return false;
  f->release(work.state);
  return true;
}

/* Products of bytes: both types, all layouts, large and small tiles, odd distances. */
static bool products(nxi_gpu *g) {
  static const int64_t extents[] = {4096, 64, 67};
  bool good = true;
  for (int i = 0; i < 48 && good; i++) {
    const int64_t n = extents[i / 16], shape[] = {n, n}, transpose = i % 4;
    const nxg_type types[2] = {{i & 4 ? NX_U8 : NX_I8, 2, shape},
                               {i & 8 ? NX_U8 : NX_I8, 2, shape}};
    nxg_call call;
    good = nxg_call_infer(NXG_matmul_i32, 2, types, &transpose, 1, &call, NULL) == NX_OK &&
           prepare(&nxi_gpu_integer_functions, g, &call);
    if (i % 16 == 0) /* and what turns an operand for the library */
      good = good && prepare(&nxi_gpu_integer_library_functions, g, &call);
  }
  return good;
}

/* By columns, in any order, by elements; as many axes as may be. */
static bool scatters(nxi_gpu *g) {
  static const nx_dtype types[] = {NX_BOOL, NX_U8, NX_U16, NX_U32, NX_U64, NX_F32, NX_F64};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (int i = 0; i < 48; i++) {
      nxi_scatter_mode mode = (nxi_scatter_mode)((i + i / 8) % 8);
      if (nxi_scatter_refuses(mode, types[t])) mode = NXI_SCATTER_SET;
      nxi_scatter shape = {.dtype = types[t],
                           .mode = mode,
                           .pairs = mode < NXI_SCATTER_MUL && nxi_is_float(types[t]) && i & 2,
                           .index = i & 4 ? NX_I64 : NX_I32,
                           .rank = 3,
                           .extent = i & 4 ? 1 << 20 : 100,
                           .shape = {i & 8 ? 1000 : 10, 7, 9},
                           .to = {63, 9, 1},
                           .indices = {9, 0, 1},
                           .updates = {63, 10, 1}};
      nxi_gpu_scatter *s = NULL;
      int64_t bytes;
      if (i & 4) shape.shape[1] = INT64_C(1) << 33; /* counts of 64 bits */
      if (i & 4 && i & 8) shape.shape[1] = 11;
      if (nxi_gpu_scatter_create(g, &shape, i & 16, &s, &bytes, NULL) != NX_OK || s == NULL)
        return false;
      nxi_gpu_scatter_destroy(s);
    }
  nxi_scatter shape = {
      .dtype = NX_F32, .mode = NXI_SCATTER_ADD, .rank = NXI_SCATTER_RANK, .extent = 5};
  for (int32_t i = 0; i < shape.rank; i++) {
    shape.shape[i] = i == 0 ? 70 : 2;
    shape.updates[i] = i % 2 ? 1 : 0;
    shape.indices[i] = i % 3 == 0;
  }
  nxi_gpu_scatter *s = NULL;
  int64_t bytes;
  shape.shape[1] = shape.shape[2] = 1;
  for (int32_t i = 17; i < shape.rank; i++) shape.shape[i] = 1;
  if (nxi_gpu_scatter_create(g, &shape, false, &s, &bytes, NULL) != NX_OK) return false;
  nxi_gpu_scatter_destroy(s);
  return true;
}

/* What sets the values of conditional nodes. */
static bool conditions(nxi_gpu *g) {
  nxi_gpu_control *own = nxi_calloc(1, sizeof *own);
  bool good = own != NULL && nxi_gpu_control_code(g, true, own, NULL) == NX_OK;
  nxi_gpu_control_destroy(own);
  return good;
}

static bool collect(void) {
  nxi_gpu *g = NULL;
  nxi_kernel_cache *kernels = NULL;
  nxt_fake_state *find = NULL;
  setenv("NX_CUDA", NXT_FAKE, 1);
  setenv("NX_NVRTC", NXT_FAKE, 1);
  void *library = dlopen(NXT_FAKE, RTLD_NOW);
  if (library != NULL) *(void **)&find = dlsym(library, "nxt_fake_cuda");
  if (find != NULL) find()->most_shared = 64 << 10; /* of compute capability 7.5 */
  if (find == NULL || nxi_gpu_open(0, 0, &g, NULL) != NX_OK) return false;
  if (nxi_kernel_cache_create_for(&nxi_gpu_maker, g, "", &kernels, NULL) != NX_OK) return false;
  nxi_gpu_set_kernels(g, kernels);
  find()->seen = tell;
  bool good = conditions(g) && sorts(g) && scatters(g) && scans(g) && products(g);
  nxi_kernel_cache_destroy(kernels);
  nxi_gpu_close(g);
  return good;
}

/* ---- the parent */

static int n_texts, every, failures;
static int64_t most_registers;

static void compile(const char *source, const char *arch) {
  nxu_use use = {0};
  nxi_diag d;
  nxi_diag_clear(&d);
  const char *instance = strstr(source, " R;\n"); /* of a sort the first of its types */
  if (instance == NULL) instance = source + strlen(source) - 1;
  while (instance > source && strncmp(instance, "\ntypedef ", 9) != 0) instance--;
  const char *only = getenv("NXT_ONLY");
  if (only != NULL && strstr(instance, only) == NULL) return;
  bool good = nxu_measure(source, "own", arch, &use, &d) == NX_OK;
  if (!good) printf("%s\n%s\n", d.message, instance);
  if (use.stack_bytes + use.spill_bytes > 0)
    printf("%lld bytes of a thread's values are in memory\n%s\n",
           (long long)(use.stack_bytes + use.spill_bytes), instance);
  if (getenv("NXT_SHOW") != NULL)
    printf("%lld registers\n%s\n", (long long)use.registers, instance);
  if (use.registers > most_registers) most_registers = use.registers;
  failures += !good || use.stack_bytes + use.spill_bytes > 0;
}

NXT_MAIN(cuda_own_compile) {
  const char *arch = argc > 1 ? argv[1] : "sm_90";
  int pipes[2], status = 0;
  size_t size;
  every = argc > 2 ? atoi(argv[2]) : 1;
  if (pipe(pipes) != 0) return 1;
  pid_t child = fork();
  if (child == 0) {
    close(pipes[0]);
    to_parent = fdopen(pipes[1], "w");
    bool good = to_parent != NULL && collect();
    _exit(fclose(to_parent) == 0 && good ? 0 : 1);
  }
  close(pipes[1]);
  FILE *in = fdopen(pipes[0], "r");
  bool skipped = nxu_unavailable() != NULL;
  while (in != NULL && fread(&size, sizeof size, 1, in) == 1) {
    char *source = malloc(size);
    if (source == NULL || fread(source, size, 1, in) != 1) return 1;
    if (!skipped && n_texts % every == 0) compile(source, arch);
    n_texts++;
    free(source);
  }
  if (waitpid(child, &status, 0) != child || status != 0) return 1;
  if (skipped) printf("%s\n", nxu_unavailable());
  printf("%d texts, each %dth compiled for %s, %lld registers at most, %d failures\n", n_texts,
         every, arch, (long long)most_registers, failures);
  return skipped ? 77 : failures != 0 || n_texts == 0;
}
