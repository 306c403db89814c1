/* SPDX-License-Identifier: ISC */
/* Chooses the kernels of sort_rows.cuh and sort.cuh for a sort, and its memory. */
#include "sort.h"

#include <string.h>

#include "calls.h"
#include "codegen_cuda/codegen_cuda.h"
#include "ir/alloc.h"
#include "ir/dtype.h"
#include "runtime/cuda/own_code.h"
#include "runtime/library/sort/core.h"

enum {
  /* threads of a block that sorts short rows; of one for longer rows, MANY_THREADS */
  FEW_THREADS = 128,
  MANY_THREADS = 512,
  LONG_THREADS = 256, /* NX_SORT_THREADS */
  TURN_THREADS = 256,
  BEGIN_THREADS = 256,
  LANES_THREADS = 128, /* of a block whose warps sort rows in registers */
  MOST_IN_LANES = 1024,
  BLOCK_THREADS = 512,    /* of one that sorts a row by bytes in shared memory */
  MOST_WORDS = 40,        /* registers of a thread of it for elements */
  MOST_BY_FEW = 8192,     /* elements of such rows of which there are fewer than processors */
  COUNTERS = 2 * 256 * 4, /* bytes of nx_warp_counters */
  COUNT_SHARED = 8192 * 4,
  RESIDENT = 6,       /* most blocks of a pass that a multiprocessor runs at once */
  LEAST_PIECE = 8192, /* elements that a block counts */
  MOST_PIECE = 1 << 17,
  NARROW_BITS = 30, /* rows of fewer than 2^30 elements are counted in 32 bits */
};

/* Offsets in the scratch memory. */
typedef struct areas {
  int64_t counts, tickets, looks, cleared, passes, turned, keys[2], other, result, bytes;
} areas;

/* How rows are sorted: by merging in shared memory, by the lanes of a warp, each by a block, or by
 * radix in global memory. */
typedef enum way { MERGED, IN_LANES, BY_BLOCK, BY_RADIX } way;

struct nxi_gpu_sort {
  way way;
  nxi_gpu_sort_shape shape;
  nxi_sort_keys keys;
  int64_t size, to_size;
  bool turned;                   /* transposed so that rows are contiguous, and back */
  bool narrow;                   /* counts */
  int32_t shift, items, threads; /* of short rows; items: of a thread */
  int32_t lanes;                 /* of a row, IN_LANES */
  int64_t tile, tiles, piece;    /* of long rows */
  areas at;
  nxi_kernel *short_rows, *count, *begin, *pass, *turn, *turn_back;
};

/* ---- kernels */

/* The unsigned type in which elements of a dtype are moved. */
static const char *raw_type(nx_dtype t) {
  if (nxi_is_complex(t)) return nxi_dtype_size(t) == 8 ? "nx_pair32" : "nx_pair64";
  switch (nxi_dtype_size(t)) {
    case 1: return "nx_u8";
    case 2: return "nx_u16";
    case 4: return "nx_u32";
    default: return "nx_u64";
  }
}

static bool has_float_keys(nx_dtype t) { return nxi_is_float(t) || nxi_is_complex(t); }

/* The text of an instance: types and numbers, then one of these. */
#define KERNEL "extern \"C\" __global__ void __launch_bounds__(THREADS, BLOCKS) "
#define SHARED "  extern __shared__ __align__(64) nx_u8 nx_shared[];\n"
static const char short_rows_code[] = KERNEL
    "nx_short_rows(const R *from, To *to, nx_i64 groups, nx_i64 rows, nx_i64 group_step, "
    "nx_i64 row_step, nx_i64 step, int length, int shift, nx_u64 flip, nx_u64 largest) {\n" SHARED
    "  const nx_rows shape = {groups, rows, group_step, row_step, step, length, shift};\n"
    "  nx_sort_rows<R, FLOATS, INDICES, THREADS, ITEMS>(from, to, shape, "
    "nx_order{flip, largest}, nx_shared);\n}";
#define ROWS(call)                                                                           \
  "(const R *from, To *to, nx_i64 rows, int length, nx_u64 flip, nx_u64 largest) {\n" SHARED \
  "  " call "(from, to, rows, length, nx_order{flip, largest}, nx_shared);\n}"
static const char lanes_code[] =
    KERNEL "nx_rows_in_lanes" ROWS("nx_sort_lanes<R, FLOATS, INDICES, THREADS, ITEMS, LANES>");
static const char block_code[] =
    KERNEL "nx_rows_by_block" ROWS("nx_sort_block<R, FLOATS, INDICES, THREADS, ITEMS>");
static const char count_code[] =
    KERNEL "nx_count(const R *from, C *counts, nx_i64 rows, nx_i64 length, nx_i64 piece, "
           "nx_u64 flip, nx_u64 largest) {\n" SHARED
           "  nx_sort_count<R, FLOATS>(from, counts, rows, length, piece, nx_order{flip, largest}, "
           "(nx_u32 *)nx_shared);\n}";
static const char begin_code[] =
    KERNEL "nx_begin(C *counts, nx_u32 *passes, nx_i64 rows, nx_i64 length, int bytes) {\n" SHARED
           "  nx_sort_begin(counts, passes, rows, length, bytes, nx_shared);\n}";
static const char pass_code[] =
    KERNEL "nx_pass_rows(const R *from, R *even, R *odd, To *to, To *other, const C *starts, "
           "const nx_u32 *passes, C *looks, nx_u32 *ticket, nx_i64 rows, nx_i64 length, "
           "nx_u32 tiles, int byte, nx_u64 flip, nx_u64 largest) {\n" SHARED
           "  const nx_pass<R, C> p = {from, even, odd, to, other, starts, passes, looks, ticket, "
           "rows, length, tiles, byte};\n"
           "  nx_sort_pass<R, FLOATS, INDICES, C>(p, nx_order{flip, largest}, nx_shared);\n}";
static const char turn_code[] = KERNEL
    "nx_turn_rows(const R *from, R *to, nx_i64 groups, nx_i64 rows, nx_i64 columns) {\n" SHARED
    "  nx_turn(from, to, groups, rows, columns, (R *)nx_shared);\n}";

typedef struct instance {
  const char *body, *code, *entry, *raw;
  bool floats, indices;
  int32_t threads, blocks, items, lanes; /* blocks: of a multiprocessor */
  int64_t shared, launched;              /* launched: blocks */
} instance;

static nx_status get(const nxi_gpu_sort *s, nxi_gpu *g, const instance *i, nxi_kernel **out,
                     nxi_diag *d) {
  nxi_text text = {0};
  nxi_text_add(&text, "typedef %s R;\ntypedef %s To;\ntypedef %s C;\n", i->raw,
               i->indices ? "int" : i->raw, s->narrow ? "nx_u32" : "nx_u64");
  nxi_text_add(&text, "constexpr bool FLOATS = %d, INDICES = %d;\n", i->floats, i->indices);
  nxi_text_add(&text, "constexpr int THREADS = %d, BLOCKS = %d, ITEMS = %d, LANES = %d;\n%s",
               i->threads, i->blocks, i->items, i->lanes, i->code);
  nx_status status = text.failed ? nxi_oom(d) : NX_OK;
  const nxi_own_code code = {i->body,   text.data,       i->entry,   i->threads,
                             i->shared, nxu_sort_keys(), i->launched};
  if (status == NX_OK) status = nxi_own_code_get(g, &code, out, d);
  nxi_text_free(&text);
  return status;
}

/* nx_pass_room */
static int64_t pass_shared(const nxi_gpu_sort *s) {
  const int64_t warps = LONG_THREADS / 32, moved = s->size + (s->shape.indices ? 4 : 0);
  return warps * COUNTERS + s->tile * moved + 16 + 256 * 8 + warps * 4 + 16;
}

/* ---- how many blocks a launch has */

static int64_t turn_blocks(int64_t groups, int64_t rows, int64_t columns) {
  return groups * ((rows + 31) / 32) * ((columns + 31) / 32);
}

/* Short rows of which the elements are not contiguous. */
static bool is_apart(const nxi_gpu_sort *s) { return s->shape.inner > 1 && !s->turned; }

static int64_t short_blocks(const nxi_gpu_sort *s) {
  const nxi_gpu_sort_shape *h = &s->shape;
  const int64_t groups = is_apart(s) ? h->outer : 1,
                per = (int64_t)s->items * s->threads >> s->shift,
                rows = is_apart(s) ? h->inner : h->outer * h->inner;
  return groups * ((rows + per - 1) / per);
}

/* Rows by lanes or blocks are contiguous. */
static int64_t rows_blocks(const nxi_gpu_sort *s) {
  const int64_t rows = s->shape.outer * s->shape.inner, per = s->threads / s->lanes;
  return s->way == BY_BLOCK ? rows : (rows + per - 1) / per;
}

static int64_t count_blocks(const nxi_gpu_sort *s) {
  return s->shape.outer * s->shape.inner * ((s->shape.length + s->piece - 1) / s->piece);
}

static int64_t pass_blocks(const nxi_gpu_sort *s, const nxi_gpu *g) {
  const int64_t tiles = s->shape.outer * s->shape.inner * s->tiles,
                most = (int64_t)nxi_gpu_properties(g)->processors * RESIDENT;
  return tiles < most ? tiles : most;
}

/* ---- which kernels it has */

static nx_status get_turn(nxi_gpu_sort *s, nxi_gpu *g, const char *raw, int64_t size,
                          nxi_kernel **out, nxi_diag *d) {
  const instance turn = {.body = nxu_sort_code(),
                         .code = turn_code,
                         .entry = "nx_turn_rows",
                         .raw = raw,
                         .threads = TURN_THREADS,
                         .blocks = 2,
                         .shared = 32 * 33 * size,
                         .launched = turn_blocks(s->shape.outer, s->shape.length, s->shape.inner)};
  return get(s, g, &turn, out, d);
}

/* Registers that the elements of a thread take, IN_LANES (nx_words). */
static int32_t words_of_lanes(const nxi_gpu_sort *s) {
  return s->items * (s->size > (s->shape.indices ? 2 : 4) ? 2 : 1);
}

static nx_status get_short_rows(nxi_gpu_sort *s, nxi_gpu *g, const instance *both, nxi_diag *d) {
  instance rows = *both;
  int64_t tile = (int64_t)s->items * s->threads;
  rows.body = nxu_sort_rows();
  rows.code = short_rows_code;
  rows.entry = "nx_short_rows";
  rows.threads = s->threads;
  rows.blocks = s->threads == FEW_THREADS ? 4 : 1;
  rows.items = s->items;
  rows.shared = (tile + tile / 32) * (s->size + (rows.indices ? 2 : 0));
  rows.launched = short_blocks(s);
  return get(s, g, &rows, &s->short_rows, d);
}

/* nx_block_room */
static int64_t block_shared(const nxi_gpu_sort *s, int64_t items) {
  const int64_t warps = BLOCK_THREADS / 32, numbers = items * BLOCK_THREADS;
  return warps * COUNTERS + warps * 4 + 64 + numbers * (s->size + (s->shape.indices ? 2 : 0));
}

static nx_status get_rows(nxi_gpu_sort *s, nxi_gpu *g, const instance *both, nxi_diag *d) {
  instance rows = *both;
  const int64_t result = s->to_size > s->size ? s->to_size : s->size;
  rows.body = nxu_sort_rows();
  rows.threads = s->threads;
  rows.items = s->items;
  rows.lanes = s->lanes;
  rows.launched = rows_blocks(s);
  if (s->way == IN_LANES) {
    rows.code = lanes_code;
    rows.entry = "nx_rows_in_lanes";
    rows.blocks = words_of_lanes(s) > 32 ? 3 : 6;
    rows.shared = s->threads / 32 * s->items * 33 * result;
  } else {
    rows.code = block_code;
    rows.entry = "nx_rows_by_block";
    rows.blocks = 1;
    rows.shared = block_shared(s, s->items);
  }
  return get(s, g, &rows, &s->short_rows, d);
}

static nx_status get_long_rows(nxi_gpu_sort *s, nxi_gpu *g, const instance *both, nxi_diag *d) {
  instance pass = *both, count = *both;
  const instance begin = {.body = nxu_sort_code(),
                          .code = begin_code,
                          .entry = "nx_begin",
                          .raw = "nx_u32",
                          .threads = BEGIN_THREADS,
                          .blocks = 2,
                          .shared = 128,
                          .launched = s->shape.outer * s->shape.inner};
  pass.body = count.body = nxu_sort_code();
  pass.code = pass_code;
  pass.entry = "nx_pass_rows";
  pass.shared = pass_shared(s);
  pass.launched = pass_blocks(s, g);
  count.code = count_code;
  count.entry = "nx_count";
  count.indices = false;
  count.shared = COUNT_SHARED;
  count.launched = count_blocks(s);
  nx_status status = get(s, g, &count, &s->count, d);
  if (status == NX_OK) status = get(s, g, &begin, &s->begin, d);
  return status == NX_OK ? get(s, g, &pass, &s->pass, d) : status;
}

/* blocks: the number for which a multiprocessor has enough registers without spilling. */
static nx_status get_kernels(nxi_gpu_sort *s, nxi_gpu *g, nxi_diag *d) {
  const char *raw = raw_type(s->shape.dtype), *back = s->shape.indices ? "nx_u32" : raw;
  const instance both = {.raw = raw,
                         .floats = has_float_keys(s->shape.dtype),
                         .indices = s->shape.indices,
                         .threads = LONG_THREADS,
                         .blocks = !s->narrow || s->size > 8 ? 2
                                   : s->size == 4            ? 4
                                                             : 3};
  nx_status status = NX_OK;
  if (s->turned) status = get_turn(s, g, raw, s->size, &s->turn, d);
  if (s->turned && status == NX_OK) status = get_turn(s, g, back, s->to_size, &s->turn_back, d);
  if (status != NX_OK) return status;
  if (s->way == BY_RADIX) return get_long_rows(s, g, &both, d);
  return s->way == MERGED ? get_short_rows(s, g, &both, d) : get_rows(s, g, &both, d);
}

/* ---- how a sort is done */

static int64_t aligned(int64_t bytes) { return (bytes + 255) & ~(int64_t)255; }

static int64_t take(nxi_gpu_sort *s, int64_t bytes) {
  int64_t at = s->at.bytes;
  s->at.bytes += aligned(bytes);
  return at;
}

/* Elements of a thread for short rows; elements of a tile for long rows. */
static int32_t items_of_short(int64_t size) { return size == 16 ? 4 : 8; }
static int64_t tile_of_long(int64_t size, bool indices) { /* nx_sort_sizes */
  int64_t numbers = size <= 4 ? 16 : 96 / size, both = size <= 4 ? 12 : size == 8 ? 8 : 5;
  return LONG_THREADS * (indices ? both : numbers);
}

/* Interleaved rows are read together. They are transposed first if a block would read fewer than 32
 * contiguous bytes at a time, or if it would have too few rows for its threads. */
static void choose_short(nxi_gpu_sort *s) {
  const nxi_gpu_sort_shape *h = &s->shape;
  s->items = items_of_short(s->size);
  while ((int64_t)1 << s->shift < h->length || 1 << s->shift < s->items) s->shift++;
  s->threads = (int64_t)1 << s->shift <= s->items * FEW_THREADS ? FEW_THREADS : MANY_THREADS;
  int64_t most = (int64_t)s->items * s->threads >> s->shift,
          rows = h->inner < most ? h->inner : most;
  s->turned = h->inner > 1 && (rows * s->size < 32 || 2 * rows < most);
}

/* A row of up to 64 elements has 8 in a lane, and then so many that 8 lanes have it, up to 32. */
static bool choose_lanes(nxi_gpu_sort *s) {
  const nxi_gpu_sort_shape *h = &s->shape;
  if (nxi_is_complex(h->dtype) || h->length > MOST_IN_LANES || (h->indices && s->size == 8))
    return false;
  int64_t slots = 8;
  while (slots < h->length) slots *= 2;
  s->way = IN_LANES;
  s->threads = LANES_THREADS;
  s->items = slots <= 64 ? 8 : slots <= 512 ? 16 : 32;
  s->lanes = (int32_t)(slots / s->items);
  return true;
}

/* Rows that are too long to be merged, if they fill the GPU or are short enough for one launch of
 * few blocks, and rows of small numbers: one or two passes cost less than merging, and four if
 * there are more than 2048 elements. */
static bool choose_block(nxi_gpu_sort *s, const nxi_gpu_info *gpu) {
  static const int32_t items[] = {4, 8, 12, 16, 24, 32};
  const nxi_gpu_sort_shape *h = &s->shape;
  const bool merged = h->length <= (int64_t)items_of_short(s->size) * MANY_THREADS;
  if (nxi_is_complex(h->dtype) || (merged && s->size > (h->length > 2048 ? 4 : 2))) return false;
  if (h->length > MOST_BY_FEW && h->outer * h->inner < gpu->processors) return false;
  for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
    if (items[i] * (int64_t)BLOCK_THREADS < h->length) continue;
    const int32_t words = items[i] * (s->size == 8 ? 4 : 2) + (h->indices ? items[i] : 0);
    if (words > 2 * MOST_WORDS) return false;
    if (block_shared(s, items[i]) > gpu->shared_bytes) return false;
    s->way = BY_BLOCK;
    s->threads = BLOCK_THREADS;
    s->items = items[i];
    s->lanes = 1;
    return true;
  }
  return false;
}

static void choose_long(nxi_gpu_sort *s, int32_t processors) {
  const nxi_gpu_sort_shape *h = &s->shape;
  s->way = BY_RADIX;
  int64_t all = h->outer * h->inner * h->length;
  s->tile = tile_of_long(s->size, h->indices);
  s->tiles = (h->length + s->tile - 1) / s->tile;
  s->narrow = h->length >> NARROW_BITS == 0;
  s->piece = all / (2 * (int64_t)processors);
  if (s->piece < LEAST_PIECE) s->piece = LEAST_PIECE;
  if (s->piece > MOST_PIECE) s->piece = MOST_PIECE;
}

static void choose(nxi_gpu_sort *s, const nxi_gpu *g) {
  const nxi_gpu_sort_shape *h = &s->shape;
  const int64_t longest = (int64_t)items_of_short(s->size) * MANY_THREADS;
  s->turned = h->inner > 1;
  if (h->length <= longest) choose_short(s);
  if (h->inner > 1 && !s->turned) return;
  if (choose_lanes(s) || choose_block(s, nxi_gpu_properties(g))) return;
  if (h->length > longest) choose_long(s, nxi_gpu_properties(g)->processors);
}

/* Chooses memory. Passes alternate between the result and a second array; the keys of an argsort
 * alternate between two separate arrays. If rows are transposed, the result's memory is the second
 * array, and the transposed operand is not needed after the first pass. */
static void choose_memory(nxi_gpu_sort *s) {
  const nxi_gpu_sort_shape *h = &s->shape;
  int64_t n = h->outer * h->inner * h->length, rows = h->outer * h->inner;
  int64_t count = s->narrow ? 4 : 8;
  if (s->way == BY_RADIX) {
    s->at.counts = take(s, rows * s->size * 256 * count);
    s->at.tickets = take(s, s->size * 4);
    s->at.looks = take(s, s->size * rows * s->tiles * 256 * count);
    s->at.cleared = s->at.bytes;
    s->at.passes = take(s, rows * 4);
    if (h->indices && s->size > 1) s->at.keys[0] = take(s, n * s->size);
  }
  if (s->turned) {
    s->at.turned = take(s, n * s->size);
    s->at.result = take(s, n * s->to_size);
    s->at.keys[1] = s->at.turned;
  } else if (s->way == BY_RADIX && s->size > 1) {
    s->at.other = take(s, n * s->to_size);
    if (h->indices && s->size > 2) s->at.keys[1] = take(s, n * s->size);
  }
}

/* The number of elements of a shape; 0 if it is too large. */
static int64_t elements_of(const nxi_gpu_sort_shape *h) {
  int64_t n;
  if (__builtin_mul_overflow(h->outer, h->inner, &n) || __builtin_mul_overflow(n, h->length, &n))
    return 0;
  return n < (int64_t)1 << 40 ? n : 0;
}

bool nxi_gpu_sort_takes(const nxi_gpu_sort_shape *h) {
  return h->outer == 0 || h->length == 0 || h->inner == 0 || elements_of(h) > 0;
}

nx_status nxi_gpu_sort_create(nxi_gpu *g, const nxi_gpu_sort_shape *shape, nxi_gpu_sort **out,
                              int64_t *scratch_bytes, nxi_diag *d) {
  nxi_gpu_sort *s = nxi_calloc(1, sizeof *s);
  if (s == NULL) return nxi_oom(d);
  nx_dtype t = shape->dtype, part = nxi_is_complex(t) ? nxi_part_dtype(t) : t;
  nx_status status = NX_OK;
  s->shape = *shape;
  s->size = nxi_dtype_size(t);
  s->to_size = shape->indices ? 4 : s->size;
  nxi_sort_keys_init(&s->keys, part, shape->descending);
  if (elements_of(shape) > 0) {
    choose(s, g);
    if (shape->length == 1) s->turned = false; /* transposing would not change anything */
    choose_memory(s);
    if (shape->length > 1) status = get_kernels(s, g, d);
  }
  if (status != NX_OK) {
    nxi_gpu_sort_destroy(s);
    return status;
  }
  *scratch_bytes = s->at.bytes;
  *out = s;
  return NX_OK;
}

void nxi_gpu_sort_destroy(nxi_gpu_sort *s) {
  if (s == NULL) return;
  nxi_kernel *const all[] = {s->short_rows, s->count, s->begin, s->pass, s->turn, s->turn_back};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) nxi_kernel_release(all[i]);
  nxi_free(s);
}

/* ---- runs. Arguments are 64-bit numbers; a kernel with a smaller parameter type reads their low
 * bits. */

static nx_status launch(const nxi_kernel *k, int64_t blocks, uint64_t *values, uint32_t n,
                        nxi_diag *d) {
  void *arguments[16];
  for (uint32_t i = 0; i < n; i++) arguments[i] = &values[i];
  return nxi_gpu_launch(nxi_kernel_code(k), blocks, nxi_kernel_describe(k)->threads, arguments, d);
}
#define LAUNCH(k, blocks, ...)                 \
  launch(k, blocks, (uint64_t[]){__VA_ARGS__}, \
         sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), d)

static nx_status turn(const nxi_kernel *k, uint64_t from, uint64_t to, int64_t groups, int64_t rows,
                      int64_t columns, nxi_diag *d) {
  return LAUNCH(k, turn_blocks(groups, rows, columns), from, to, (uint64_t)groups, (uint64_t)rows,
                (uint64_t)columns);
}

static nx_status run_short(const nxi_gpu_sort *s, uint64_t from, uint64_t to, nxi_diag *d) {
  const nxi_gpu_sort_shape *h = &s->shape;
  const bool apart = is_apart(s);
  int64_t groups = apart ? h->outer : 1, rows = apart ? h->inner : h->outer * h->inner;
  return LAUNCH(s->short_rows, short_blocks(s), from, to, (uint64_t)groups, (uint64_t)rows,
                (uint64_t)(h->length * rows), (uint64_t)(apart ? 1 : h->length),
                (uint64_t)(apart ? h->inner : 1), (uint64_t)h->length, (uint64_t)s->shift,
                s->keys.flip, s->keys.largest);
}

static nx_status run_rows(const nxi_gpu_sort *s, uint64_t from, uint64_t to, nxi_diag *d) {
  const nxi_gpu_sort_shape *h = &s->shape;
  return LAUNCH(s->short_rows, rows_blocks(s), from, to, (uint64_t)(h->outer * h->inner),
                (uint64_t)h->length, s->keys.flip, s->keys.largest);
}

static nx_status run_long(const nxi_gpu_sort *s, nxi_gpu *g, uint64_t from, uint64_t to,
                          uint64_t other, uint64_t scratch, nxi_diag *d) {
  const nxi_gpu_sort_shape *h = &s->shape;
  uint64_t rows = (uint64_t)(h->outer * h->inner), length = (uint64_t)h->length;
  uint64_t counts = scratch + (uint64_t)s->at.counts, passes = scratch + (uint64_t)s->at.passes;
  int64_t looks = (int64_t)rows * s->tiles * 256 * (s->narrow ? 4 : 8);
  nx_status status = nxi_gpu_clear(g, counts, s->at.cleared, d);
  if (status == NX_OK)
    status = LAUNCH(s->count, count_blocks(s), from, counts, rows, length, (uint64_t)s->piece,
                    s->keys.flip, s->keys.largest);
  if (status == NX_OK)
    status = LAUNCH(s->begin, (int64_t)rows, counts, passes, rows, length, (uint64_t)s->size);
  for (int64_t b = 0; b < s->size && status == NX_OK; b++)
    status = LAUNCH(s->pass, pass_blocks(s, g), from, scratch + (uint64_t)s->at.keys[0],
                    scratch + (uint64_t)s->at.keys[1], to, other, counts, passes,
                    scratch + (uint64_t)(s->at.looks + b * looks),
                    scratch + (uint64_t)(s->at.tickets + 4 * b), rows, length, (uint64_t)s->tiles,
                    (uint64_t)b, s->keys.flip, s->keys.largest);
  return status;
}

nx_status nxi_gpu_sort_run(const nxi_gpu_sort *s, nxi_gpu *g, uint64_t from, uint64_t to,
                           uint64_t scratch, nxi_diag *d) {
  const nxi_gpu_sort_shape *h = &s->shape;
  uint64_t result = to, other = scratch + (uint64_t)s->at.other;
  nx_status status = NX_OK;
  if (elements_of(h) == 0) return NX_OK;
  if (h->length == 1 && h->indices) return nxi_gpu_clear(g, to, elements_of(h) * s->to_size, d);
  if (h->length == 1) return nxi_gpu_copy(g, to, from, elements_of(h) * s->size, d);
  if (s->turned) {
    uint64_t turned = scratch + (uint64_t)s->at.turned;
    status = turn(s->turn, from, turned, h->outer, h->length, h->inner, d);
    from = turned;
    other = to;
    result = scratch + (uint64_t)s->at.result;
  }
  if (status == NX_OK && s->way == MERGED) status = run_short(s, from, result, d);
  else if (status == NX_OK && s->way == BY_RADIX)
    status = run_long(s, g, from, result, other, scratch, d);
  else if (status == NX_OK) status = run_rows(s, from, result, d);
  if (status != NX_OK || !s->turned) return status;
  return turn(s->turn_back, result, to, h->outer, h->inner, h->length, d);
}

/* ---- the library calls sort and argsort */

static nxi_gpu_sort_shape shape_of(const nxg_call *call) {
  const nxg_array *a = &call->operands[0];
  int32_t axis = (int32_t)call->attrs[0];
  nxi_gpu_sort_shape h = {.dtype = a->dtype,
                          .indices = call->op == NXG_argsort,
                          .descending = call->attrs[1] != 0,
                          .outer = 1,
                          .length = a->shape[axis],
                          .inner = 1};
  for (int32_t i = 0; i < axis; i++) h.outer *= a->shape[i];
  for (int32_t i = axis + 1; i < a->rank; i++) h.inner *= a->shape[i];
  return h;
}

static bool takes(nxi_gpu *g, const nxg_call *call) {
  (void)g;
  if (call->op != NXG_sort && call->op != NXG_argsort) return false;
  nxi_gpu_sort_shape shape = shape_of(call);
  return nxi_gpu_sort_takes(&shape);
}

static nx_status prepare(nxi_gpu *g, const nxg_call *call, nxi_gpu_call_work *work, nxi_diag *d) {
  nxi_gpu_sort_shape shape = shape_of(call);
  nxi_gpu_sort *s = NULL;
  nx_status status = nxi_gpu_sort_create(g, &shape, &s, &work->scratch_bytes, d);
  work->state = s;
  return status;
}

static nx_status run(nxi_gpu_call_run *r, nxi_diag *d) {
  return nxi_gpu_sort_run(r->work->state, r->gpu, r->operands[0], r->results[0], r->scratch, d);
}

static void release(void *state) { nxi_gpu_sort_destroy(state); }

const nxi_gpu_functions nxi_gpu_sort_functions = {.by = "own kernels",
                                                  .takes = takes,
                                                  .prepare = prepare,
                                                  .run = run,
                                                  .release = release,
                                                  .captured = true};
