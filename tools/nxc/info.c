/* SPDX-License-Identifier: ISC */
/* nxc info: what the library found on this machine, and what is missing and why. */
#include <stdio.h>
#include <string.h>

#include "codegen_llvm/codegen_llvm.h"
#include "nx/nx.h"
#include "nxc.h"
#include "runtime/files/archive.h"
#include "runtime/library/blas/blas.h"
#include "runtime/cache/kernel.h"
#include "ir/platform/cpus.h"
#include "runtime/cuda/library/blas.h"
#include "runtime/cuda/library/cufft.h"
#include "runtime/cuda/library/cusolver.h"
#include "runtime/cuda/driver.h"
#include "runtime/library/sort/core.h"

static void print_size(const char *name, int64_t bytes) {
  if (bytes % (1 << 20) == 0 && bytes > 0) printf("%s %lld MiB", name, (long long)(bytes >> 20));
  else printf("%s %lld KiB", name, (long long)(bytes >> 10));
}

static void print_processor(void) {
  const nxi_target *t = nxi_target_host();
  nxi_cpus cpus;
  nxi_cpus_read(&cpus);
  printf("processor   %s, %s, vectors of %d bytes\n", t->cpu, t->isa, t->vector_bytes);
  printf("threads     %d of %d processors\n", cpus.available, cpus.count);
  print_size("caches      L1", t->l1_bytes);
  print_size(", L2", t->l2_bytes);
  print_size(", L3", t->l3_bytes);
  printf("\n");
}

static void print_llvm(void) {
  const char *reason = nxl_unavailable();
  if (reason != NULL) {
    printf("code        interpreter: %s\n", reason);
    return;
  }
  /* Only the version and the processor; the list of features that follows is a page long. */
  const char *environment = nxl_environment(nxi_target_host()->isa), *end = environment;
  for (int words = 0; *end != '\0' && words < 2; end++) words += *end == ';';
  printf("code        %.*s\n", (int)(end - environment) - (*end != '\0' || end[-1] == ';'),
         environment);
}

static void print_libraries(void) {
  nxi_diag d;
  nxi_diag_clear(&d);
  const nxi_blas *blas = nxi_blas_get(&d);
  if (blas == NULL) printf("BLAS        none: %s\n", d.message);
  else
    printf("BLAS        %s, core %s%s\n            %s\n", blas->file, blas->corename,
           blas->mended ? " (told so: it does not know this processor)" : "", blas->config);
  printf("Highway     %s\n", nxi_sort_has_networks() ? "yes, for short rows that are sorted"
                                                     : "no: sorting is C alone");
  printf("zlib        %s\n", nxi_inflate_works ? "yes" : "no: compressed .npz files are refused");
}

static void print_devices(nx_context *context) {
  for (int32_t i = 0; i < nx_device_count(context); i++) {
    nx_device_info info = {.size = sizeof info};
    if (nx_device_describe(context, i, &info) != NX_OK) continue;
    printf("device %d    %s", i, info.name);
    if (!info.available) printf(": not available: %s", info.reason);
    else if (info.memory > 0) printf(", %.1f GiB of memory", (double)info.memory / (1 << 30));
    printf("\n");
  }
}

/* Libraries for GPUs are listed only if there is a driver. Without a driver none of them is used,
 * and the device's line has the reason. */
static void print_nvidia(void) {
  static const struct {
    const char *name, *without;
    const char *(*missing)(void);
  } libraries[] = {
      {"cuBLASLt", "matrix products are generated kernels", nxi_gpu_blas_missing},
      {"cuFFT", "the host does Fourier transforms", nxi_cufft_missing},
      {"cuSOLVER", "the host factors large matrices", nxi_cusolver_missing},
  };
  const char *why;
  if (nxi_cuda_get(&why) == NULL) return;
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
    const char *missing = libraries[i].missing();
    if (missing == NULL) printf("%-12syes\n", libraries[i].name);
    else printf("%-12sno: %s; %s\n", libraries[i].name, missing, libraries[i].without);
  }
}

static void print_cache(void) {
  nxi_disk_cache *cache = NULL;
  nxi_disk_stats stats;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxi_kernel_disk_open(NULL, &cache, &d) != NX_OK) {
    printf("cache       %s\n", d.message);
    return;
  }
  const char *reason = nxi_disk_reason(cache);
  nxi_disk_stats_read(cache, &stats);
  printf("cache       %s", nxi_disk_directory(cache));
  if (reason != NULL) printf("%snot used: %s\n", nxi_disk_directory(cache)[0] ? ": " : "", reason);
  else
    printf(": %lld kernels, %.1f of at most %.1f MiB\n", (long long)stats.entries,
           (double)stats.bytes / (1 << 20), (double)stats.limit / (1 << 20));
  nxi_disk_close(cache);
}

int nxc_info(int argc, char **argv) {
  nx_context *context = NULL;
  if (!nxc_parse(argc, argv, NULL, 0, NULL)) return NXC_USAGE;
  if (nx_context_create(NULL, &context) != NX_OK) return nxc_public_failure("nxc");
  printf("nx          %s\n", nx_version());
  print_llvm();
  print_processor();
  print_libraries();
  print_devices(context);
  print_nvidia();
  print_cache();
  nx_context_release(context);
  return NXC_OK;
}
