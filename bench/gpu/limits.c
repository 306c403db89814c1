/* SPDX-License-Identifier: ISC */
/* Kernels that only copy or read bytes. */
#include <stdlib.h>

#include "gpu.h"
#include "runtime/cuda/own_code.h"

/* Every thread moves 16 bytes at a time, and has 4 such loads in flight. Values that are only read
 * are used under a condition that is never true, so that the loads are not removed. */
static const char body[] =
    "template <bool writes> NX_INLINE void traffic(const uint4 *from, uint4 *to, nx_i64 n) {\n"
    "  nx_i64 step = (nx_i64)gridDim.x * 256, i = (nx_i64)blockIdx.x * 256 + threadIdx.x;\n"
    "  unsigned seen = 0;\n"
    "  for (; i + 3 * step < n; i += 4 * step) {\n"
    "    uint4 a = from[i], b = from[i + step], c = from[i + 2 * step], d = from[i + 3 * step];\n"
    "    if (writes) {\n"
    "      to[i] = a; to[i + step] = b; to[i + 2 * step] = c; to[i + 3 * step] = d;\n"
    "    } else {\n"
    "      seen |= a.x ^ b.y ^ c.z ^ d.w ^ a.y ^ b.x ^ c.w ^ d.z;\n"
    "    }\n"
    "  }\n"
    "  for (; i < n; i += step) {\n"
    "    uint4 a = from[i];\n"
    "    if (writes) to[i] = a; else seen |= a.x ^ a.y ^ a.z ^ a.w;\n"
    "  }\n"
    "  if (!writes && seen == 0x5f3759dfu) to[0].x = seen;\n"
    "}\n";
static const nxi_own_code codes[] = {
    [GPU_KERNEL_COPY] = {body,
                         "extern \"C\" __global__ void __launch_bounds__(256) copy_bytes(const "
                         "uint4 *from, uint4 *to, nx_i64 n) {\n  traffic<true>(from, to, n);\n}",
                         "copy_bytes", 256, 0, NULL, 0},
    [GPU_KERNEL_READ] = {body,
                         "extern \"C\" __global__ void __launch_bounds__(256) read_bytes(const "
                         "uint4 *from, uint4 *to, nx_i64 n) {\n  traffic<false>(from, to, n);\n}",
                         "read_bytes", 256, 0, NULL, 0},
};

void gpu_traffic_init(gpu_traffic *t, const gpu_lab *lab, gpu_traffic_kind kind, int64_t bytes) {
  *t = (gpu_traffic){.lab = lab, .kind = kind, .bytes = (bytes + 15) / 16 * 16};
  bench_check(nxi_gpu_alloc(lab->gpu, t->bytes, &t->from, NULL));
  bench_check(nxi_gpu_alloc(lab->gpu, kind == GPU_KERNEL_READ ? 16 : t->bytes, &t->to, NULL));
  if (kind != GPU_DRIVER_COPY)
    bench_check(nxi_own_code_get(lab->gpu, &codes[kind], &t->kernel, NULL));
}

void gpu_traffic_free(gpu_traffic *t) {
  nxi_gpu_free(t->lab->gpu, t->from, t->bytes);
  nxi_gpu_free(t->lab->gpu, t->to, t->kind == GPU_KERNEL_READ ? 16 : t->bytes);
  nxi_kernel_release(t->kernel);
}

void gpu_traffic_run(void *traffic) {
  gpu_traffic *t = traffic;
  nxi_gpu *gpu = t->lab->gpu;
  if (t->kind == GPU_DRIVER_COPY) {
    bench_check(nxi_gpu_copy(gpu, t->to, t->from, t->bytes, NULL));
    return;
  }
  int64_t n = t->bytes / 16, blocks = (n + 255) / 256,
          most = (int64_t)nxi_gpu_properties(gpu)->processors * 32;
  void *arguments[] = {&t->from, &t->to, &n};
  bench_check(nxi_gpu_launch(nxi_kernel_code(t->kernel), blocks < most ? blocks : most, 256,
                             arguments, NULL));
}

void gpu_traffic_wait(void *traffic) { gpu_wait(((const gpu_traffic *)traffic)->lab); }

void gpu_add_limits(gpu_limits *limits, const gpu_lab *lab, double bytes, bool reads,
                    bench_way *ways, size_t *n) {
  *limits = (gpu_limits){.n = bytes == 0 ? 0 : reads ? 1 : GPU_LIMITS, .at = *n};
  for (int i = 0; i < limits->n; i++) {
    gpu_traffic_kind kind = reads ? GPU_KERNEL_READ : i == 0 ? GPU_DRIVER_COPY : GPU_KERNEL_COPY;
    gpu_traffic_init(&limits->all[i], lab, kind, (int64_t)(reads ? bytes : bytes / 2));
    ways[(*n)++] =
        (bench_way){.run = gpu_traffic_run, .state = &limits->all[i], .wait = gpu_traffic_wait};
  }
}

void gpu_report_limits(const gpu_limits *limits, const bench_way *ways, bench_row *row) {
  const bench_way *best = &ways[limits->at];
  if (limits->n == 0) return;
  if (limits->n > 1 && best[1].ratio < best[0].ratio) best++;
  row->limit_ms = best->median * 1e3;
  row->of_limit = best->ratio;
}

void gpu_free_limits(gpu_limits *limits) {
  for (int i = 0; i < limits->n; i++) gpu_traffic_free(&limits->all[i]);
}
