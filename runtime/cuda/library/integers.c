/* SPDX-License-Identifier: ISC */
/* Products of matrices of bytes with sums of 32 bits, by cuBLASLt or by the kernels of
 * integers.cuh. The library multiplies i8 by i8, where the inner extent of both operands lies along
 * memory in multiples of 16 bytes and rows of the result are multiples of 16 bytes; large operands
 * that lie across are turned for it first. Other products are those kernels'. Sums wrap, so all of
 * these give the same bits. */
#include <string.h>

#include "aligned.h"
#include "blas.h"
#include "calls.h"
#include "codegen_cuda/codegen_cuda.h"
#include "ir/alloc.h"
#include "runtime/cuda/own_code.h"

/* Of a block of threads: the rows and columns of its tile, and its threads, in the two sizes that
 * there are. LINES: what integers.cuh multiplies at a time, STEPS: and holds of that. */
enum { LARGE = 128, SMALL = 64, LARGE_THREADS = 256, SMALL_THREADS = 128, LINES = 64, STEPS = 3 };
enum {
  LEAST_SHARE = 512, /* of the inner extent, if it is divided */
  BLOCKS_WANTED = 2, /* for each multiprocessor, where it is divided */
  LEAST_OF_LIBRARY = 256,
  LEAST_TURNED = 1024 /* lines of the other operand, so that turning one is little work */
};

/* An axis of the batch: its extent, and bytes along it in both operands; 0: it is repeated. */
typedef struct axis {
  int64_t extent, step[2];
} axis;

typedef struct shape {
  int64_t m, n, k, batches;
  bool along[2]; /* whether the inner extent of the operand lies along memory */
  int32_t rank;
  axis axes[NXG_MAX_RANK]; /* outer ones first */
} shape;

static bool same_kind(const axis *a, const axis *b) {
  return (a->step[0] == 0) == (b->step[0] == 0) && (a->step[1] == 0) == (b->step[1] == 0);
}

/* Axes that both operands have, or that the same one repeats, are one in memory. */
static void add_axis(shape *s, axis next) {
  axis *last = s->rank > 0 ? &s->axes[s->rank - 1] : NULL;
  if (next.extent == 1) return;
  if (last == NULL || !same_kind(last, &next)) {
    s->axes[s->rank++] = next;
    return;
  }
  next.extent *= last->extent;
  *last = next;
}

static void describe(const nxg_call *call, shape *s) {
  const nxg_array *c = &call->results[0];
  const int64_t transpose = call->attrs[0];
  int64_t steps[2][NXG_MAX_RANK];
  *s = (shape){.m = c->shape[c->rank - 2],
               .n = c->shape[c->rank - 1],
               .along = {!(transpose & 1), (transpose & 2) != 0},
               .batches = 1};
  const nxg_array *a = &call->operands[0];
  s->k = a->shape[a->rank - (transpose & 1 ? 2 : 1)];
  for (int i = 0; i < 2; i++) {
    const nxg_array *x = &call->operands[i];
    int64_t step = x->shape[x->rank - 1] * x->shape[x->rank - 2];
    for (int32_t d = x->rank - 2; d-- > 0; step *= x->shape[d])
      steps[i][d] = x->shape[d] == 1 ? 0 : step;
  }
  for (int32_t d = 0; d < c->rank - 2; d++) {
    add_axis(s, (axis){c->shape[d], {steps[0][d], steps[1][d]}});
    s->batches *= c->shape[d];
  }
}

static bool is_product(const nxg_call *call) {
  return call->op == NXG_matmul_i32 && call->operands[0].dtype != NX_I16 &&
         call->operands[1].dtype != NX_I16;
}

/* As integers.cuh has it, if the operands begin at multiples of 16 bytes. */
static bool is_even(const shape *s) {
  return (s->along[0] ? s->k % 16 : s->m % 8) == 0 && (s->along[1] ? s->k % 16 : s->n % 8) == 0;
}

static int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/* ---- kernels */

/* As nx_byte_product of integers.cuh. */
typedef struct byte_product {
  int64_t m, n, k, a_step[2], b_step[2], inner, share;
  uint32_t shares, row_tiles, column_tiles, tiles;
} byte_product;

typedef struct work {
  shape s;
  nxi_kernel *kernel;
  bool even;
  int32_t tile, threads;
} work;

static bool kernel_takes(nxi_gpu *g, const nxg_call *call) {
  (void)g;
  return is_product(call);
}

/* Sets extents and tiles, and divides the inner extent where there are few tiles. */
static void divide(const work *w, int64_t processors, byte_product *p) {
  p->m = w->s.m;
  p->n = w->s.n;
  p->k = w->s.k;
  p->row_tiles = (uint32_t)ceil_div(p->m, w->tile);
  p->column_tiles = (uint32_t)ceil_div(p->n, w->tile);
  const int64_t tiles = p->row_tiles * (int64_t)p->column_tiles * w->s.batches,
                most = ceil_div(p->k, LEAST_SHARE), wanted = BLOCKS_WANTED * processors / tiles,
                shares = wanted < 1      ? 1
                         : wanted < most ? wanted
                                         : most;
  p->share = ceil_div(ceil_div(p->k, shares), LINES) * LINES;
  p->shares = (uint32_t)ceil_div(p->k, p->share);
}

/* Matrices of one launch: of the last two axes. */
static int64_t launched(const shape *s) {
  int64_t batches = 1;
  for (int32_t i = s->rank > 2 ? s->rank - 2 : 0; i < s->rank; i++) batches *= s->axes[i].extent;
  return batches;
}

/* Of one launch. 0: there is no work. */
static int64_t blocks_of(const work *w, int64_t processors) {
  byte_product p;
  if (w->s.m == 0 || w->s.n == 0 || w->s.k == 0 || w->s.batches == 0) return 0;
  divide(w, processors, &p);
  return (int64_t)p.row_tiles * p.column_tiles * p.shares * launched(&w->s);
}

static const char *flag(bool yes) { return yes ? "true" : "false"; }

static nx_status get_kernel(nxi_gpu *g, const nxg_call *call, work *w, nxi_diag *d) {
  const bool large = w->tile == LARGE;
  nxi_text text = {0};
  nxi_text_add(&text,
               "typedef %s A; typedef %s B;\n"
               "extern \"C\" __global__ void __launch_bounds__(%d, %d) nx_bytes(const nx_u8 *a, "
               "const nx_u8 *b, int *c, nx_byte_product p) {\n"
               "  extern __shared__ __align__(1024) nx_u8 nx_shared[];\n"
               "  nx_multiply_bytes<A, B, %s, %s, %s, 2, %d, %d>(a, b, c, p, nx_shared);\n}",
               nxu_type(call->operands[0].dtype), nxu_type(call->operands[1].dtype), w->threads,
               large ? 2 : 4, flag(w->s.along[0]), flag(w->s.along[1]), flag(w->even),
               large ? 4 : 2, large ? 4 : 2);
  nx_status status = text.failed ? nxi_oom(d) : NX_OK;
  nxi_own_code code = {.tools = nxu_mma_code(),
                       .body = nxu_integers_code(),
                       .instance = text.data,
                       .entry = "nx_bytes",
                       .threads = w->threads,
                       .shared_bytes = (int64_t)STEPS * 2 * w->tile * LINES,
                       .blocks = blocks_of(w, nxi_gpu_properties(g)->processors)};
  if (status == NX_OK) status = nxi_own_code_get(g, &code, &w->kernel, d);
  nxi_text_free(&text);
  return status;
}

static nx_status prepare_kernel(nxi_gpu *g, const nxg_call *call, nxi_gpu_call_work *out,
                                nxi_diag *d) {
  work *w = nxi_calloc(1, sizeof *w);
  if (w == NULL) return nxi_oom(d);
  describe(call, &w->s);
  const int64_t tiles = ceil_div(w->s.m, LARGE) * ceil_div(w->s.n, LARGE) * w->s.batches;
  w->even = is_even(&w->s);
  const bool large = w->even && tiles >= nxi_gpu_properties(g)->processors;
  w->tile = large ? LARGE : SMALL;
  w->threads = large ? LARGE_THREADS : SMALL_THREADS;
  nx_status status = get_kernel(g, call, w, d);
  if (status != NX_OK) nxi_free(w);
  else out->state = w;
  return status;
}

static nx_status launch(const nxi_gpu_call_run *r, const byte_product *p, const uint64_t at[3],
                        nxi_diag *d) {
  const work *w = r->work->state;
  uint64_t a = at[0], b = at[1], c = at[2];
  byte_product own = *p;
  void *arguments[] = {&a, &b, &c, &own};
  return nxi_gpu_launch(nxi_kernel_code(w->kernel), p->tiles, w->threads, arguments, d);
}

/* A launch for each index of the axes but the last two. */
static nx_status run_products(const nxi_gpu_call_run *r, byte_product *p, const uint64_t start[3],
                              nxi_diag *d) {
  const work *w = r->work->state;
  const int32_t outer = w->s.rank > 2 ? w->s.rank - 2 : 0;
  const int64_t batches = launched(&w->s);
  int64_t index[NXG_MAX_RANK] = {0};
  uint64_t at[3] = {start[0], start[1], start[2]};
  nx_status status = NX_OK;
  const double tiles = (double)p->row_tiles * p->column_tiles * p->shares * (double)batches;
  if (tiles > INT32_MAX)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "matmul", "matmul: the product has too many tiles");
  p->tiles = (uint32_t)tiles;
  for (bool more = true; more && status == NX_OK;) {
    status = launch(r, p, at, d);
    more = false;
    at[2] += (uint64_t)(batches * p->m * p->n * 4);
    for (int32_t i = outer; i-- > 0 && !more;) {
      more = ++index[i] < w->s.axes[i].extent;
      const int64_t steps = more ? 1 : 1 - w->s.axes[i].extent;
      if (!more) index[i] = 0;
      for (int k = 0; k < 2; k++) at[k] += (uint64_t)(steps * w->s.axes[i].step[k]);
    }
  }
  return status;
}

static nx_status run_kernel(nxi_gpu_call_run *r, nxi_diag *d) {
  const work *w = r->work->state;
  const shape *s = &w->s;
  const axis none = {1, {0, 0}}, *inner = s->rank > 0 ? &s->axes[s->rank - 1] : &none,
             *outer = s->rank > 1 ? &s->axes[s->rank - 2] : &none;
  byte_product p = {.a_step = {outer->step[0], inner->step[0]},
                    .b_step = {outer->step[1], inner->step[1]},
                    .inner = inner->extent};
  nxi_gpu_aligned b;
  divide(w, nxi_gpu_properties(r->gpu)->processors, &p);
  nx_status status = nxi_gpu_align(r, w->even, &b, d);
  if (status != NX_OK) return status;
  if (p.shares > 1) status = nxi_gpu_clear(r->gpu, r->results[0], s->batches * s->m * s->n * 4, d);
  if (status == NX_OK)
    status = run_products(r, &p, (const uint64_t[3]){b.at[0], b.at[1], r->results[0]}, d);
  nxi_gpu_align_end(r->gpu, &b);
  return status;
}

static void release_kernel(void *state) {
  work *w = state;
  nxi_kernel_release(w->kernel);
  nxi_free(w);
}

const nxi_gpu_functions nxi_gpu_integer_functions = {.by = "a kernel of tensor cores",
                                                     .takes = kernel_takes,
                                                     .prepare = prepare_kernel,
                                                     .run = run_kernel,
                                                     .release = release_kernel,
                                                     .captured = true};

/* ---- cuBLASLt */

typedef struct library_work {
  nxi_gpu_product product;
  nxi_kernel *turns;    /* NULL: nothing is turned */
  int64_t turned_at[2]; /* the operand's place in scratch memory; -1: it is not turned */
  int64_t lines[2], length[2], matrices[2]; /* of an operand, as it lies in memory */
} library_work;

/* The product as the library gets it. False: it does not have it, or own kernels are as good. */
static bool is_for_library(const nxg_call *call, nxi_gpu_product *p) {
  shape s;
  if (!is_product(call) || call->operands[0].dtype != NX_I8 || call->operands[1].dtype != NX_I8)
    return false;
  describe(call, &s);
  const axis *batch = s.rank > 0 ? &s.axes[0] : NULL;
  bool large = s.m >= LEAST_OF_LIBRARY && s.n >= LEAST_OF_LIBRARY && s.k >= LEAST_OF_LIBRARY,
       turned = (s.along[0] || s.n >= LEAST_TURNED) && (s.along[1] || s.m >= LEAST_TURNED);
  if (!large || !turned || s.k % 16 != 0 || s.m % (s.along[0] ? 1 : 16) != 0 ||
      s.n % (s.along[1] ? 4 : 16) != 0 || s.rank > 1 || s.batches > INT32_MAX || s.k > INT32_MAX ||
      s.m > INT32_MAX || s.n > INT32_MAX)
    return false;
  *p = (nxi_gpu_product){.dtype = NX_I32,
                         .operands = NX_I8,
                         .alignment = {16, 16, 16},
                         .m = s.m,
                         .n = s.n,
                         .k = s.k,
                         .transposed = {false, true},
                         .ld = {s.k, s.k, s.n},
                         .batches = s.batches};
  for (int i = 0; i < 2; i++) p->batch_strides[i] = batch != NULL ? batch->step[i] : 0;
  p->batch_strides[2] = s.m * s.n;
  return true;
}

static bool library_takes(nxi_gpu *g, const nxg_call *call) {
  nxi_gpu_product p;
  if (!is_for_library(call, &p)) return false;
  if (nxi_gpu_kernels(g) == NULL) return true; /* a GPU that is imagined has all libraries */
  return nxi_gpu_blas_multiplies(g, &p);
}

static nx_status get_turns(nxi_gpu *g, nxi_kernel **out, nxi_diag *d) {
  const nxi_own_code code = {
      .tools = nxu_mma_code(),
      .body = nxu_integers_code(),
      .instance = "extern \"C\" __global__ void __launch_bounds__(256) nx_turn(const nx_u8 *from, "
                  "nx_u8 *to, nx_i64 lines, nx_i64 length, nx_u32 line_tiles, nx_u32 matrix_tiles, "
                  "nx_u32 tiles) {\n"
                  "  extern __shared__ __align__(1024) nx_u8 nx_shared[];\n"
                  "  nx_turn_bytes(from, to, lines, length, line_tiles, matrix_tiles, tiles, "
                  "nx_shared);\n}",
      .entry = "nx_turn",
      .threads = LARGE_THREADS,
      .shared_bytes = (int64_t)LARGE * LINES};
  return nxi_own_code_get(g, &code, out, d);
}

static nx_status prepare_library(nxi_gpu *g, const nxg_call *call, nxi_gpu_call_work *out,
                                 nxi_diag *d) {
  library_work *w = nxi_calloc(1, sizeof *w);
  nx_status status = NX_OK;
  if (w == NULL) return nxi_oom(d);
  is_for_library(call, &w->product);
  for (int i = 0; i < 2; i++) {
    const nxg_array *x = &call->operands[i];
    const int64_t bytes = nxg_elements(x->rank, x->shape);
    const bool along = i == 0 ? !(call->attrs[0] & 1) : (call->attrs[0] & 2) != 0;
    w->turned_at[i] = along ? -1 : out->scratch_bytes;
    w->lines[i] = x->shape[x->rank - 2];
    w->length[i] = x->shape[x->rank - 1];
    w->matrices[i] = bytes / (w->lines[i] * w->length[i]);
    if (along) continue;
    out->scratch_bytes += (bytes + 255) & ~(int64_t)255;
    if (w->turns == NULL) status = get_turns(g, &w->turns, d);
    if (status != NX_OK) break;
  }
  if (status != NX_OK) nxi_free(w);
  else out->state = w;
  return status;
}

static nx_status turn(const nxi_gpu_call_run *r, int i, uint64_t *at, nxi_diag *d) {
  const library_work *w = r->work->state;
  uint64_t from = *at, to = r->scratch + (uint64_t)w->turned_at[i];
  int64_t lines = w->lines[i], length = w->length[i];
  uint32_t line_tiles = (uint32_t)ceil_div(lines, LINES),
           matrix_tiles = line_tiles * (uint32_t)ceil_div(length, LARGE),
           tiles = matrix_tiles * (uint32_t)w->matrices[i];
  void *arguments[] = {&from, &to, &lines, &length, &line_tiles, &matrix_tiles, &tiles};
  *at = to;
  return nxi_gpu_launch(nxi_kernel_code(w->turns), tiles, LARGE_THREADS, arguments, d);
}

static nx_status run_library(nxi_gpu_call_run *r, nxi_diag *d) {
  const library_work *w = r->work->state;
  nxi_gpu_aligned b;
  nx_status status = nxi_gpu_align(r, true, &b, d);
  if (status != NX_OK) return status;
  uint64_t at[4] = {b.at[0], b.at[1], r->results[0], 0};
  for (int i = 0; i < 2 && status == NX_OK; i++)
    if (w->turned_at[i] >= 0) status = turn(r, i, &at[i], d);
  if (status == NX_OK) status = nxi_gpu_matmul(r->gpu, &w->product, at, d);
  nxi_gpu_align_end(r->gpu, &b);
  return status;
}

static void release_library(void *state) {
  library_work *w = state;
  nxi_kernel_release(w->turns);
  nxi_free(w);
}

const nxi_gpu_functions nxi_gpu_integer_library_functions = {.by = "cuBLASLt",
                                                             .takes = library_takes,
                                                             .prepare = prepare_library,
                                                             .run = run_library,
                                                             .release = release_library,
                                                             .captured = true};
