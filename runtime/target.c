/* SPDX-License-Identifier: ISC */
/* Detects the processor: instruction sets with the compiler's run-time library, which also checks
 * that the system saves the registers; caches and the name from the system's tables. Nothing here
 * can fail: a property that cannot be found out gets a value that is safe for small machines. */
#include "ir/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/platform/cpus.h"
#include "ir/platform/machine.h"
#include "ir/platform/thread.h"

/* From the narrowest to the widest: a machine that has one also has the earlier ones of its
 * architecture. */
static const struct {
  const char *name;
  int32_t vector_bytes;
} isas[] = {
    {"generic", 16}, /* SSE2 on x86-64 */
#if defined(__aarch64__)
    {"neon", 16},
#elif defined(__x86_64__)
    {"avx2", 32},   /* with FMA, BMI2 and F16C */
    {"avx512", 64}, /* F, BW, DQ, VL, CD: the set of Skylake servers */
#endif
};
enum { ISAS = sizeof isas / sizeof *isas };

static int best_isa(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("f16c"))
    return 0;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512cd"))
    return 1;
#endif
  return ISAS - 1;
}

/* -1: there is no such instruction set, or not on this architecture. */
static int find_isa(const char *name) {
  for (int i = 0; i < ISAS; i++)
    if (strcmp(name, isas[i].name) == 0) return i;
  return -1;
}

/* ---- the machine, once */

static nxi_target machine, host;
static nxi_once once = NXI_ONCE_INITIALIZER;

static void set_isa(nxi_target *t, int isa) {
  snprintf(t->isa, sizeof t->isa, "%s", isas[isa].name);
  t->vector_bytes = isas[isa].vector_bytes;
}

/* What a run can count on of the last cache. A virtual machine with few processors is told the
 * whole cache of its host, of which its neighbours use the rest. */
static int64_t share_of_last(int64_t bytes, int64_t processors) {
  enum { SHARE = 32 << 20 };
  return bytes / SHARE < processors ? bytes : processors * SHARE;
}

void nxi_target_use(nxi_target *t, int32_t threads) {
  t->threads = threads;
  t->l3_bytes = share_of_last(t->l3_bytes, threads);
}

/* It is the one of its family that has AVX-512. */
static bool is_zen_4(void) {
#if defined(__x86_64__)
  return __builtin_cpu_is("amdfam19h") && __builtin_cpu_supports("avx512f");
#else
  return false;
#endif
}

/* Zen 4 writes a vector under a mask by microcode with AVX2, and more slowly than two whole vectors
 * with AVX-512. Zen 3 has not been measured. */
static int32_t shifted_lines(void) { return is_zen_4() ? 32 : 0; }

static void detect(void) {
  nxi_cpus cpus;
  nxi_cache level[4];
  nxi_cpus_read(&cpus);
  machine.threads = cpus.available;
  set_isa(&machine, best_isa());
  nxi_caches_read(cpus.ids_known ? cpus.ids[0] : 0, level);
  machine.l1_bytes = level[1].share;
  machine.l2_bytes = level[2].share;
  machine.l3_bytes = share_of_last(level[3].total, cpus.available); /* of all threads of a run */
  machine.shifted_lines = shifted_lines();
  machine.halves = is_zen_4();
  nxi_cpu_name(machine.cpu, sizeof machine.cpu);
  host = machine;
  const char *wish = getenv("NX_ISA");
  int isa = wish ? find_isa(wish) : -1;
  if (isa >= 0 && isa < best_isa()) set_isa(&host, isa);
}

const nxi_target *nxi_target_host(void) {
  nxi_once_run(&once, detect);
  return &host;
}

/* "sm_90" or "sm_90:64": blocks of a power of two from 32 to 1024 threads. */
static bool gpu_target(const char *isa, nxi_target *out) {
  int major_minor = 0, threads = 256, used = 0, more = 0;
  if (sscanf(isa, "sm_%d%n:%d%n", &major_minor, &used, &threads, &more) < 1) return false;
  bool whole = isa[more > used ? more : used] == 0;
  if (!whole || major_minor < 70 || threads < 32 || threads > 1024 || (threads & (threads - 1)))
    return false;
  *out = machine;
  snprintf(out->isa, sizeof out->isa, "sm_%d", major_minor);
  out->vector_bytes = 4 * threads;
  out->shifted_lines = 0;
  out->block_threads = threads;
  /* The most shared memory of a block, from the table of compute capabilities in the CUDA
   * programming guide. */
  bool most = major_minor == 90 || major_minor == 100 || major_minor == 103;
  out->shared_bytes = most                                     ? 227 << 10
                      : major_minor == 80 || major_minor == 87 ? 163 << 10
                      : major_minor >= 86                      ? 99 << 10
                                                               : 48 << 10;
  return true;
}

bool nxi_target_for_isa(const char *isa, nxi_target *out) {
  nxi_once_run(&once, detect);
  if (strncmp(isa, "sm_", 3) == 0) return gpu_target(isa, out);
  int found = find_isa(isa);
  if (found < 0 || found > best_isa()) return false;
  *out = machine;
  set_isa(out, found);
  return true;
}
