/* SPDX-License-Identifier: ISC */
/* Scans of few long lines with the kernels of scan.cuh. */
#include <assert.h>

#include "calls.h"
#include "codegen_cuda/codegen_cuda.h"
#include "ir/alloc.h"
#include "ir/dtype.h"
#include "runtime/cuda/own_code.h"

/* The same numbers as in scan.cuh. */
enum { TILE = 7168, BLOCKS = 7, BLOCK = 1024, THREADS = 256 };
enum { RESIDENT = 8 }; /* most blocks that a multiprocessor runs at once */

/* The contents of the scratch memory: a ticket, the states of tiles, and in words of 64 bits the
 * totals of their blocks and the results before them. All of it is cleared. */
typedef struct scan {
  nxi_kernel *kernel;
  int64_t length, line_tiles, tiles, blocks, totals_at, prefix_at, bytes;
} scan;

static bool takes(nxi_gpu *g, const nxg_call *call) {
  (void)g;
  return nxg_is_scan(call->op);
}

/* The names of the operations in scan.cuh. */
static const char *const combinations[] = {[NXK_SUM] = "NX_SCAN_SUM",
                                           [NXK_PROD] = "NX_SCAN_PROD",
                                           [NXK_MAX] = "NX_SCAN_MAX",
                                           [NXK_MIN] = "NX_SCAN_MIN"};
static_assert(sizeof combinations / sizeof *combinations == NXK_CHAIN_KINDS,
              "what can be scanned has a name");

static nx_status get_kernel(nxi_gpu *g, const nxg_call *call, int64_t blocks, nxi_kernel **out,
                            nxi_diag *d) {
  nx_dtype t = call->operands[0].dtype;
  nxk_reduce_kind kind = nxg_reduce_kind(call->op);
  const char *exact = nxk_any_order(kind, t) ? "true" : "false";
  nxi_text text = {0};
  nxi_text_add(
      &text,
      "typedef %s T;\n"
      "extern \"C\" __global__ void __launch_bounds__(%d, nx_scan_blocks<T, %s>::least) nx_scan("
      "const T *from, T *to, nx_i64 "
      "length, nx_u32 line_tiles, nx_u32 tiles, nx_u32 *ticket, nx_u32 *state, nx_u64 *totals, "
      "nx_u64 *prefix) {\n"
      "  extern __shared__ __align__(64) nx_u8 nx_shared[];\n"
      "  nx_scan_lines<T, %s, %s>(from, to, length, line_tiles, tiles, ticket, "
      "nx_scan_shown<T>{state, totals, prefix}, (T *)nx_shared);\n}",
      nxu_type(t), THREADS, exact, combinations[kind], exact);
  nx_status status = text.failed ? nxi_oom(d) : NX_OK;
  int64_t shared = (BLOCKS * (BLOCK + 3) + 3) / 4 * 4 * nxi_dtype_size(t) + 8;
  nxi_own_code code = {nxu_scan_code(), text.data, "nx_scan", THREADS, shared, NULL, blocks};
  if (status == NX_OK) status = nxi_own_code_get(g, &code, out, d);
  nxi_text_free(&text);
  return status;
}

static int64_t aligned(int64_t bytes) { return (bytes + 63) & ~(int64_t)63; }

static nx_status prepare(nxi_gpu *g, const nxg_call *call, nxi_gpu_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  int64_t words = nxi_dtype_size(a->dtype) == 8 ? 2 : 1, elements = nxg_elements(a->rank, a->shape);
  int64_t totals = nxk_any_order(nxg_reduce_kind(call->op), a->dtype) ? 1 : BLOCKS;
  scan *s = nxi_calloc(1, sizeof *s);
  if (s == NULL) return nxi_oom(d);
  s->length = a->shape[a->rank - 1];
  s->line_tiles = (s->length + TILE - 1) / TILE;
  s->tiles = elements == 0 ? 0 : elements / s->length * s->line_tiles;
  const int64_t most = (int64_t)nxi_gpu_properties(g)->processors * RESIDENT;
  s->blocks = s->tiles < most ? s->tiles : most;
  s->totals_at = aligned((s->tiles + 1) * 4);
  s->prefix_at = s->totals_at + aligned(s->tiles * totals * words * 8);
  work->scratch_bytes = s->bytes = s->prefix_at + aligned(s->tiles * words * 8);
  work->state = s;
  nx_status status = s->tiles > INT32_MAX
                         ? nxi_fail(d, NX_INVALID_ARGUMENT, "", "a scan of too many elements")
                         : get_kernel(g, call, s->blocks, &s->kernel, d);
  if (status != NX_OK) nxi_free(s);
  return status;
}

static nx_status run(nxi_gpu_call_run *r, nxi_diag *d) {
  const scan *s = r->work->state;
  uint64_t from = r->operands[0], to = r->results[0], ticket = r->scratch, state = ticket + 4;
  uint64_t totals = ticket + (uint64_t)s->totals_at, prefix = ticket + (uint64_t)s->prefix_at;
  int64_t length = s->length;
  uint32_t line_tiles = (uint32_t)s->line_tiles, tiles = (uint32_t)s->tiles;
  void *arguments[] = {&from, &to, &length, &line_tiles, &tiles, &ticket, &state, &totals, &prefix};
  if (tiles == 0) return NX_OK;
  nx_status status = nxi_gpu_clear(r->gpu, ticket, s->bytes, d);
  if (status == NX_OK)
    status = nxi_gpu_launch(nxi_kernel_code(s->kernel), s->blocks, THREADS, arguments, d);
  return status;
}

static void release(void *state) {
  scan *s = state;
  nxi_kernel_release(s->kernel);
  nxi_free(s);
}

const nxi_gpu_functions nxi_gpu_scan_functions = {.by = "a kernel that carries",
                                                  .takes = takes,
                                                  .prepare = prepare,
                                                  .run = run,
                                                  .release = release,
                                                  .captured = true};
