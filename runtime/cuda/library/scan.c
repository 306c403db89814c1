/* SPDX-License-Identifier: ISC */
/* Scans with the kernels of scan.cuh. */
#include <assert.h>

#include "calls.h"
#include "codegen_cuda/codegen_cuda.h"
#include "ir/alloc.h"
#include "ir/dtype.h"
#include "runtime/cuda/own_code.h"

/* Blocks of 1024 elements in a tile of a line that has several; threads that scan one in order, and
 * the warps of a carrier that bring it totals, each 32 tiles at once, and twice as many slots. */
enum { BLOCK = 1024, MOST_BLOCKS = 8, IN_ORDER = 128, LOADERS = IN_ORDER / 32 - 1 };
enum { ROOM_FOR = 6 }; /* blocks of threads in a multiprocessor's shared memory */
enum { COLUMNS = 32, STAGES = 8 };

/* How lines are scanned: columns, by warps; tiles of `blocks`, each of them a line, or several of
 * them. exact: the order of additions makes no difference. */
typedef struct form {
  bool exact, columns, shares;
  int32_t threads;
  int64_t blocks, shared_bytes;
} form;

/* The contents of the scratch memory: a ticket, and in words of 64 bits the totals of tiles and the
 * results before them. All of it is cleared. */
typedef struct scan {
  nxi_kernel *kernel;
  form form;
  bool wide;                         /* lines begin at multiples of 16 bytes */
  int64_t length, columns, launched; /* blocks of threads */
  int64_t line_tiles, tiles, totals_at, prefix_at, bytes;
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

static form form_of(const nxg_call *call) {
  const nxg_array *a = &call->operands[0];
  const int64_t size = nxi_dtype_size(a->dtype), length = a->shape[call->attrs[0]];
  const int64_t own = (length + BLOCK - 1) / BLOCK, of = 16 / size;
  form f = {.exact = nxk_any_order(nxg_reduce_kind(call->op), a->dtype),
            .columns = call->attrs[0] + 1 < a->rank};
  f.shares = !nxp_scan_row_fits(own, size);
  f.blocks = !f.shares ? own : size == 8 ? MOST_BLOCKS / 2 : MOST_BLOCKS;
  f.threads = f.columns   ? COLUMNS
              : !f.exact  ? (int32_t)(f.shares ? IN_ORDER : (f.blocks + 1) / 2 * 32)
              : size == 8 ? (int32_t)f.blocks * 64
                          : (int32_t)f.blocks * 32;
  const int64_t carrier = 2 * LOADERS * (32 * f.blocks + 8 / size + 1),
                tile = f.blocks * (BLOCK + of + 2);
  int64_t numbers = f.exact ? f.threads / 32 + 1 : tile;
  if (f.shares && !f.exact && carrier > numbers) numbers = carrier;
  f.shared_bytes = f.columns ? STAGES * 32 * COLUMNS * size : 16 + numbers * size;
  return f;
}

static void add_columns(const nxg_call *call, nxi_text *text) {
  nxi_text_add(text,
               "typedef %s T;\n"
               "extern \"C\" __global__ void __launch_bounds__(%d) nx_scan(const T *from, T *to, "
               "nx_i64 length, nx_i64 columns, nx_u32 pieces, nx_u32 all, int wide) {\n"
               "  extern __shared__ __align__(64) nx_u8 nx_shared[];\n"
               "  nx_scan_columns<T, %s, %d>(from, to, length, columns, pieces, all, wide, (T "
               "*)nx_shared);\n}",
               nxu_type(call->operands[0].dtype), COLUMNS, combinations[nxg_reduce_kind(call->op)],
               STAGES);
}

static void add_lines(const nxg_call *call, const form *f, nxi_text *text) {
  nxi_text_add(text,
               "typedef %s T;\n"
               "extern \"C\" __global__ void __launch_bounds__(%d, %d) nx_scan(const T *from, T "
               "*to, nx_i64 length, nx_u32 line_tiles, nx_u32 tiles, int wide, nx_u32 *ticket, "
               "nx_u64 *totals, nx_u64 *prefix) {\n"
               "  extern __shared__ __align__(64) nx_u8 nx_shared[];\n"
               "  nx_scan_lines<T, %s, %s, %d, %d, %s>(from, to, length, line_tiles, tiles, wide, "
               "ticket, nx_scan_shown<T>{totals, prefix}, (T *)nx_shared);\n}",
               nxu_type(call->operands[0].dtype), f->threads,
               f->exact || f->blocks * nxi_dtype_size(call->operands[0].dtype) > 4 * MOST_BLOCKS
                   ? 1
                   : ROOM_FOR,
               combinations[nxg_reduce_kind(call->op)], f->exact ? "true" : "false", f->threads,
               (int)f->blocks, f->shares ? "true" : "false");
}

static nx_status get_kernel(nxi_gpu *g, const nxg_call *call, scan *s, nxi_diag *d) {
  const form *f = &s->form;
  nxi_text text = {0};
  if (f->columns) add_columns(call, &text);
  else add_lines(call, f, &text);
  nx_status status = text.failed ? nxi_oom(d) : NX_OK;
  nxi_own_code code = {.body = nxu_scan_code(),
                       .instance = text.data,
                       .entry = "nx_scan",
                       .threads = f->threads,
                       .shared_bytes = f->shared_bytes,
                       .tools = nxu_mma_code(),
                       .blocks = s->launched};
  if (status == NX_OK) status = nxi_own_code_get(g, &code, &s->kernel, d);
  nxi_text_free(&text);
  return status;
}

static int64_t aligned(int64_t bytes) { return (bytes + 63) & ~(int64_t)63; }

/* Tiles of lines along memory, and what they show. */
static void plan_lines(scan *s, int64_t lines, int64_t size) {
  const form *f = &s->form;
  const int64_t tile = f->blocks * BLOCK, word_bytes = size == 8 ? 16 : 8;
  s->wide = lines == 1 || s->length * size % 16 == 0;
  s->line_tiles = (s->length + tile - 1) / tile;
  s->tiles = lines * s->line_tiles;
  s->launched = s->tiles + (f->shares && !f->exact);
  if (!f->shares) return;
  s->totals_at = aligned(4);
  s->prefix_at = s->totals_at + aligned(s->tiles * (f->exact ? 1 : f->blocks) * word_bytes);
  s->bytes = f->exact ? s->prefix_at : s->prefix_at + aligned(s->tiles * word_bytes);
}

static nx_status prepare(nxi_gpu *g, const nxg_call *call, nxi_gpu_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  const int64_t axis = call->attrs[0], size = nxi_dtype_size(a->dtype);
  const int64_t elements = nxg_elements(a->rank, a->shape);
  scan *s = nxi_calloc(1, sizeof *s);
  if (s == NULL) return nxi_oom(d);
  s->form = form_of(call);
  s->length = a->shape[axis];
  s->columns = nxg_elements(a->rank - axis - 1, a->shape + axis + 1);
  const int64_t lines = elements == 0 ? 0 : elements / s->length;
  if (s->form.columns) {
    s->wide = s->columns * size % 16 == 0;
    s->tiles = s->columns == 0 ? 0 : (s->columns + COLUMNS - 1) / COLUMNS; /* of each matrix */
    s->launched = s->columns == 0 ? 0 : lines / s->columns * s->tiles;
  } else {
    plan_lines(s, lines, size);
  }
  work->scratch_bytes = s->bytes;
  work->state = s;
  nx_status status = s->launched > INT32_MAX
                         ? nxi_fail(d, NX_INVALID_ARGUMENT, "", "a scan of too many elements")
                         : get_kernel(g, call, s, d);
  if (status != NX_OK) nxi_free(s);
  return status;
}

static nx_status run(nxi_gpu_call_run *r, nxi_diag *d) {
  const scan *s = r->work->state;
  uint64_t from = r->operands[0], to = r->results[0], ticket = r->scratch;
  uint64_t totals = ticket + (uint64_t)s->totals_at, prefix = ticket + (uint64_t)s->prefix_at;
  int64_t length = s->length, columns = s->columns;
  uint32_t line_tiles = (uint32_t)s->line_tiles, tiles = (uint32_t)s->tiles,
           all = (uint32_t)s->launched;
  int wide = s->wide && (from | to) % 16 == 0;
  void *lines[] = {&from, &to, &length, &line_tiles, &tiles, &wide, &ticket, &totals, &prefix};
  void *across[] = {&from, &to, &length, &columns, &tiles, &all, &wide};
  if (s->launched == 0) return NX_OK;
  nx_status status = s->bytes > 0 ? nxi_gpu_clear(r->gpu, ticket, s->bytes, d) : NX_OK;
  if (status == NX_OK)
    status = nxi_gpu_launch(nxi_kernel_code(s->kernel), s->launched, s->form.threads,
                            s->form.columns ? across : lines, d);
  return status;
}

static void release(void *state) {
  scan *s = state;
  nxi_kernel_release(s->kernel);
  nxi_free(s);
}

const nxi_gpu_functions nxi_gpu_scan_functions = {.by = "a kernel that reads once",
                                                  .takes = takes,
                                                  .prepare = prepare,
                                                  .run = run,
                                                  .release = release,
                                                  .captured = true};
