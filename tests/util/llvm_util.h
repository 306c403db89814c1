/* SPDX-License-Identifier: ISC */
/* For tests of the LLVM code generator: a kernel legalised, compiled, loaded and run, beside the
 * interpreter. */
#ifndef NXI_TEST_LLVM_UTIL_H
#define NXI_TEST_LLVM_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen_llvm/codegen_llvm.h"
#include "passes/kernel/passes.h"

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifndef WITH_ASAN
#define WITH_ASAN 0
#endif

static const char *const isas[] = {"avx512", "avx2", "generic"};
enum { N_ISAS = 3 };

/* Whether this machine runs code of the isa (those it cannot run are compiled all the same
 * elsewhere). */
static inline bool runs_here(const char *isa) {
#if defined(__x86_64__)
  if (strcmp(isa, "avx512") == 0)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  if (strcmp(isa, "avx2") == 0)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return strcmp(isa, "generic") == 0;
#else
  return strcmp(isa, "neon") == 0;
#endif
}

static inline uint64_t next_random(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* The target the legaliser is told. */
static inline nxi_target target_of(const char *isa) {
  nxi_target t = {0};
  snprintf(t.isa, sizeof t.isa, "%s", isa);
  return t;
}

static inline nxk_kernel *legalized(const nxk_kernel *k, const char *isa) {
  nxi_diag d = {0};
  nxi_target t = target_of(isa);
  nxk_kernel *l = nxk_pass_legalize(k, &t, &d);
  assert_non_null(l);
  nxi_text faults = {0};
  if (!nxk_verify(l, &faults)) fail_msg("legalised kernel: %s", faults.data ? faults.data : "");
  nxi_text_free(&faults);
  return l;
}

static inline void compile_for(const nxk_kernel *k, const nxl_target *t, nxl_form form, void **data,
                               size_t *size) {
  nxi_diag d = {0};
  if (nxl_compile(k, t, form, data, size, &d) != NX_OK)
    fail_msg("%s %s: %s", k->name, t->isa, d.message);
}

static inline void compile_to(const nxk_kernel *k, const char *isa, nxl_form form, void **data,
                              size_t *size) {
  nxl_target t = {0};
  snprintf(t.isa, sizeof t.isa, "%s", isa);
  compile_for(k, &t, form, data, size);
}

/* hasty: as in nxl_target. */
static inline nxl_code *compile_kernel(const nxk_kernel *k, const char *isa, bool hasty) {
  void *object;
  size_t size;
  nxi_diag d = {0};
  nxl_code *code = NULL;
  nxl_target t = {.hasty = hasty};
  snprintf(t.isa, sizeof t.isa, "%s", isa);
  compile_for(k, &t, NXL_OBJECT, &object, &size);
  if (nxl_load(object, size, k->name, &code, &d) != NX_OK)
    fail_msg("%s %s: %s", k->name, isa, d.message);
  nxi_free(object);
  return code;
}

static inline void run_code(const nxl_code *code, const nxk_kernel *k, void *const *buffers,
                            const uint64_t *params, int64_t begin, int64_t end) {
  size_t bytes = (size_t)nxk_scratch_bytes(k);
  void *scratch = aligned_alloc(64, bytes + 64);
  assert_non_null(scratch);
  memset(scratch, 0x5a, bytes + 64);
  nxl_entry(code)(buffers, params, begin, end, scratch);
  free(scratch);
}

#endif
