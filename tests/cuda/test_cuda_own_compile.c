/* SPDX-License-Identifier: ISC */
/* NVRTC compiles CUDA C of our own, as the runtime instantiates it for operations on all types,
 * and no kernel keeps values of its threads in memory. An imagined GPU takes the texts down
 * (runtime/cuda/shown.h), many of them in one file, which is compiled as one: what all begin with
 * is read once. test_cuda_own_compile ARCH. NXT_SHARE=n in the environment: every n-th call's;
 * NXT_ONLY: kernels whose instance has this in it; NXT_SHOW: each by itself, and how many
 * registers it uses. Without NVRTC: skipped, with the reason. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen_cuda/codegen_cuda.h"
#include "runtime/cuda/conditions.h"
#include "runtime/cuda/library/arrays.h"
#include "runtime/cuda/library/calls.h"
#include "runtime/cuda/library/scatter.h"
#include "runtime/cuda/library/sort.h"
#include "runtime/cuda/shown.h"
#include "tests/util/runner.h"
#include "tests/util/share.h"

enum { TOGETHER = 32 }; /* kernels of a file */

static const char *arch, *only;
static nxi_device_shown shown;
static nxi_text texts;
static int n_kernels, failures;
static int64_t n_calls;
static int64_t most_registers;

/* ---- files */

/* The text of the kernel with that name, which ends in its number. */
static void print_instance(const char *name) {
  char begin[40];
  snprintf(begin, sizeof begin, "namespace nx_own%s {", strrchr(name, '_'));
  const char *at = strstr(texts.data, begin);
  const char *end = at != NULL ? strstr(at, "\n}\n}\n") : NULL;
  if (end != NULL) printf("%.*s\n", (int)(end + 4 - at), at);
}

static void compile(void) {
  nxu_use use = {0};
  nxi_diag d;
  nxi_diag_clear(&d);
  if (shown.kernels == 0 || (only != NULL && strstr(texts.data, only) == NULL)) return;
  const bool good = nxu_measure(texts.data, "own", arch, &use, &d) == NX_OK;
  if (!good) printf("%s\n", d.message);
  if (use.stack_bytes + use.spill_bytes > 0) {
    printf("%s: %lld bytes of a thread's values are in memory\n", use.in_memory,
           (long long)use.stack_bytes + use.spill_bytes);
    print_instance(use.in_memory);
  }
  if (getenv("NXT_SHOW") != NULL) {
    printf("%lld registers\n", (long long)use.registers);
    print_instance("_1");
  }
  if (good && use.kernels != shown.kernels) printf("%lld kernels\n", (long long)use.kernels);
  failures += !good || use.stack_bytes + use.spill_bytes > 0 || use.kernels != shown.kernels;
  if (use.registers > most_registers) most_registers = use.registers;
}

/* After kernels were taken down: compiles them if they are enough. */
static bool took(nx_status status, bool last) {
  const bool alone = only != NULL || getenv("NXT_SHOW") != NULL;
  if (status != NX_OK || texts.failed) return false;
  if (!last && !alone && shown.kernels < TOGETHER) return true;
  n_kernels += (int)shown.kernels;
  compile();
  texts.size = 0;
  shown.kernels = shown.instances = shown.n_bodies = 0;
  return true;
}

/* ---- kernels */

/* Whether the next call is of those that this run compiles. */
static bool is_taken(void) { return n_calls++ % nxt_share() == 0; }

static bool sorts(nxi_gpu *g) {
  static const nx_dtype types[] = {NX_U8,  NX_F8E4M3, NX_U16, NX_F16, NX_U32,
                                   NX_F32, NX_U64,    NX_F64, NX_C64, NX_C128};
  static const int64_t shapes[][3] = {
      {9, 10, 1},  {9, 1000, 1},   {1, 4000, 1},   {1, 2000, 1},
      {2, 60, 70}, {500, 9000, 1}, {1, 100000, 2}, {1, (int64_t)1 << 31, 1}};
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
        if (!is_taken()) continue;
        nx_status status = nxi_gpu_sort_create(g, &shape, &s, &bytes, NULL);
        nxi_gpu_sort_destroy(s);
        if (!took(status, false)) return false;
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
      if (!is_taken()) continue;
      nx_status status = nxi_gpu_scan_functions.prepare(g, &call, &work, NULL);
      if (status == NX_OK) nxi_gpu_scan_functions.release(work.state);
      if (!took(status, false)) return false;
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
    if (!is_taken()) continue;
    const nxg_type types[2] = {{i & 4 ? NX_U8 : NX_I8, 2, shape},
                               {i & 8 ? NX_U8 : NX_I8, 2, shape}};
    nxg_call call;
    good = nxg_call_infer(NXG_matmul_i32, 2, types, &transpose, 1, &call, NULL) == NX_OK &&
           prepare(&nxi_gpu_integer_functions, g, &call);
    if (i % 16 == 0) /* and what turns an operand for the library */
      good = good && prepare(&nxi_gpu_integer_library_functions, g, &call);
    good = good && took(NX_OK, false);
  }
  return good;
}

/* Products of windows: of 16 bits, few columns and more; of f32 in all layouts, with weights by 16
 * bytes and by 4. */
static bool windows(nxi_gpu *g) {
  static const int64_t image[] = {32, 56, 56, 64};
  bool good = true;
  for (int i = 0; i < 20 && good; i++) {
    const nx_dtype t = i >= 8 && i < 16 ? NX_F32 : i & 1 ? NX_F16 : NX_BF16;
    const int64_t layout = i < 8    ? (i & 4) / 2
                           : i < 16 ? i & 3
                                    : i & 2,
                  attrs[] = {56, 1, 1, 1, 56, 1, 1, 1, layout},
                  columns = i >= 16 ? 256
                            : i & 2 ? 128
                                    : 64,
                  odd = i & 4 ? 63 : 64; /* features, of which weights lie by 4 bytes */
    const bool is_first = layout & NXG_WINDOWS_IMAGE_FIRST;
    const int64_t weights[] = {columns, is_first ? odd : 3, 3, is_first ? 3 : 64},
                  whole[] = {32, odd, 56, 56};
    const nxg_type types[2] = {{t, 4, is_first ? whole : image}, {t, 4, weights}};
    nxg_call call;
    if (!is_taken()) continue;
    good = nxg_call_infer(NXG_matmul_windows, 2, types, attrs, 9, &call, NULL) == NX_OK &&
           prepare(&nxi_gpu_window_functions, g, &call) && took(NX_OK, false);
  }
  return good;
}

/* Attention: both types, narrow rows and the widest, with and without what is hidden, by indices
 * and in memory. */
static bool attention(nxi_gpu *g) {
  enum { FAR = NXG_ATTENTION_FAR };
  static const int64_t one[] = {1, 1, 1, 2048}, each[] = {16, 16, 2048, 2048};
  static const struct {
    nx_dtype t;
    int64_t width, attrs[NXG_ATTENTION_ATTRS];
    const int64_t *summand, *condition;
  } all[] = {{NX_BF16, 48, {0x3e00, -1, -FAR, FAR, 0, 0, 0}, NULL, NULL},
             {NX_F16, 64, {0x3555, 0xfc00, -FAR, 0, 0, 0, 0}, NULL, NULL},
             {NX_BF16, 128, {0x3db5, 0xff80, -FAR, 0, 7, 0, 0}, NULL, NULL},
             {NX_F16, 256, {0x2c00, -1, -FAR, FAR, 0, 0, 0}, NULL, NULL},
             {NX_BF16, 64, {0x3e00, 0xff80, -FAR, FAR, 0, 0, 0}, NULL, each},
             {NX_F16, 64, {0x3555, 0xfc00, -FAR, FAR, 0, 1, 0}, NULL, one},
             {NX_BF16, 128, {0x3db5, 0xff80, -FAR, 0, 0, 0, 0}, NULL, one},
             {NX_BF16, 64, {0x3e00, -1, -FAR, FAR, 0, 0, 0}, each, NULL},
             {NX_F16, 64, {0x3555, -1, -FAR, FAR, 0, 0, 0}, one, NULL},
             {NX_BF16, 128, {0x3db5, 0xff80, -FAR, 0, 0, 0, 0}, each, one},
             {NX_F16, 128, {0x3db5, 0xfc00, -FAR, FAR, 0, 0, 0}, one, each},
             {NX_BF16, 256, {0x3d80, 0xff80, -FAR, FAR, 0, 0, 0}, each, each},
             {NX_BF16, 48, {0x3e000000, -1, -FAR, FAR, 0, 0, 1}, NULL, NULL},
             {NX_BF16, 64, {0x3e000000, -1, -FAR, FAR, 7, 0, 1}, NULL, NULL},
             {NX_BF16, 64, {0x3e000000, 0xff333332, -FAR, 0, 7, 0, 1}, NULL, NULL},
             {NX_F16, 64, {0x3e000000, 0xff800000, -FAR, 0, 0, 0, 1}, NULL, NULL},
             {NX_BF16, 128, {0x3db504f3, 0xff333332, -FAR, 0, 7, 0, 1}, NULL, NULL},
             {NX_BF16, 128, {0x3db504f3, 0xff333332, -FAR, 0, 0, 0, 1}, NULL, one},
             {NX_BF16, 64, {0x3e000000, 0xff333332, -FAR, 0, 0, 0, 1}, NULL, each},
             {NX_BF16, 64, {0x3e000000, -1, -FAR, FAR, 0, 0, 1}, each, NULL},
             {NX_F16, 64, {0x3e000000, 0xff333332, -FAR, FAR, 0, 0, 1}, each, each},
             {NX_BF16, 128, {0x3db504f3, 0xff333332, -FAR, 0, 0, 0, 1}, each, each},
             {NX_F16, 128, {0x3db504f3, -1, -FAR, FAR, 0, 0, 1}, one, NULL},
             {NX_BF16, 128, {0x3db504f3, -1, -FAR, FAR, 0, 0, 1}, each, NULL},
             {NX_F16, 96, {0x3db504f3, 0xff333332, -FAR, 0, 0, 1, 1}, each, each},
             {NX_BF16, 256, {0x3d800000, -1, -FAR, FAR, 0, 0, 1}, NULL, NULL},
             {NX_BF16, 256, {0x3d800000, 0xff800000, -FAR, FAR, 0, 0, 1}, each, each}};

  bool good = true;
  for (size_t i = 0; i < sizeof all / sizeof *all && good; i++) {
    const int64_t shape[] = {16, 2048, 2048, all[i].width}, dense[] = {16, 16, 2048, all[i].width};
    const bool masked = all[i].summand != NULL || all[i].condition != NULL;
    const nxg_type type = {all[i].t, 4, masked ? dense : shape};
    nxg_type types[5] = {type, type, type};
    uint32_t n = 3;
    nxg_call call;
    if (all[i].summand != NULL)
      types[n++] = (nxg_type){nxg_attention_scores(all[i].t, all[i].attrs), 4, all[i].summand};
    if (all[i].condition != NULL) types[n++] = (nxg_type){NX_BOOL, 4, all[i].condition};
    if (!is_taken()) continue;
    good = nxg_call_infer(NXG_attention, n, types, all[i].attrs, NXG_ATTENTION_ATTRS, &call,
                          NULL) == NX_OK &&
           prepare(&nxi_gpu_attention_functions, g, &call) && took(NX_OK, false);
  }
  return good;
}

/* By columns, in any order, by elements; as many axes as may be. */
static bool scatters(nxi_gpu *g) {
  static const nx_dtype types[] = {NX_BOOL, NX_U8, NX_U16, NX_U32, NX_U64, NX_F32, NX_F64};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++, n_calls++)
    for (int i = 0; i < 48; i++) {
      if (!is_taken()) continue;
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
      nx_status status = nxi_gpu_scatter_create(g, &shape, i & 16, &s, &bytes, NULL);
      const bool own = s != NULL;
      nxi_gpu_scatter_destroy(s);
      if (!own || !took(status, false)) return false;
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
  nx_status status = nxi_gpu_scatter_create(g, &shape, false, &s, &bytes, NULL);
  nxi_gpu_scatter_destroy(s);
  return took(status, false);
}

/* What sets the values of conditional nodes. */
static bool conditions(nxi_gpu *g) {
  nxi_gpu_control *own = nxi_calloc(1, sizeof *own);
  if (own == NULL) return false;
  nx_status status = nxi_gpu_control_code(g, true, own, NULL);
  nxi_gpu_control_destroy(own);
  return took(status, false);
}

NXT_MAIN(cuda_own_compile) {
  nxi_target target;
  arch = argc > 1 ? argv[1] : "sm_90";
  only = getenv("NXT_ONLY");
  if (nxu_unavailable() != NULL) {
    printf("%s\n", nxu_unavailable());
    return 77;
  }
  if (!nxi_target_for_isa(arch, &target)) return 1;
  nxi_gpu *g = nxi_gpu_imagine(&target, &shown, &texts);
  if (g == NULL) return 1;
  const bool good = conditions(g) && sorts(g) && scatters(g) && scans(g) && products(g) &&
                    windows(g) && attention(g) && took(NX_OK, true);
  nxi_gpu_forget(g);
  nxi_text_free(&texts);
  printf("%d kernels compiled for %s, %lld registers at most, %d failures\n", n_kernels, arch,
         (long long)most_registers, failures);
  return !good || failures != 0 || n_kernels == 0;
}
