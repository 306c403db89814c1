/* SPDX-License-Identifier: ISC */
/* The call attention, by the kernels of attention.cuh: one, or two where columns are hidden, since
 * values that have NaN or infinity are not left out then; and one that packs a condition. */
#include "aligned.h"
#include "calls.h"
#include "codegen_cuda/codegen_cuda.h"
#include "ir/alloc.h"
#include "runtime/cuda/own_code.h"

enum {
  LANES = 16,
  MARKED = 256,
  MARK_THREADS = 256,
  NARROW = 64,
  MIDDLE = 96,
  USUAL = 128,
  MOST = NXG_ATTENTION_MOST_ROWS,
  WORDS = 16,
  PACK_THREADS = 256 /* each with a word */
};
enum { ATTEND, MARK, PACK, KERNELS };

/* As nx_attention_shape. */
typedef struct attention_shape {
  int32_t rows, columns, heads, groups, row_tiles, batches, tiles;
  int64_t q_outer, q_head, k_outer, k_head, v_outer, v_head;
  int32_t q_row, k_row, v_row, least, most, parts;
  uint32_t factor, fill, hidden;
  int64_t added_outer, added_head, seen_outer, seen_head;
  int32_t added_row, seen_row, empty, y_row;
  uint32_t y_outer, y_head;
} attention_shape;

typedef struct work {
  nxi_kernel *kernels[KERNELS];
  attention_shape shape;
  nxg_attention_masks masks;
  int32_t warps, keys; /* of a block, of a tile */
  int32_t words;       /* of the packed condition */
  int64_t shared_bytes;
  bool hides, rounds; /* hides: some columns, of some rows */
} work;

/* Extents of an operand, or the result, in the order outer, heads, rows, features, and elements
 * between these. */
typedef struct layout {
  int64_t outer, heads, rows, features, per_outer, per_head, per_row;
} layout;

static layout layout_of(const nxg_call *call, int i) {
  const int64_t *shape =
      i == NXG_ATTENTION_RESULT ? call->results[0].shape : call->operands[i].shape;
  const bool turned = call->attrs[NXG_ATTENTION_TURNED] >> i & 1;
  layout l = {.outer = shape[0],
              .heads = shape[turned ? 2 : 1],
              .rows = shape[turned ? 1 : 2],
              .features = shape[3]};
  l.per_row = (turned ? l.heads : 1) * l.features;
  l.per_head = (turned ? 1 : l.rows) * l.features;
  l.per_outer = l.heads * l.rows * l.features;
  return l;
}

static int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

static int32_t score_bytes(const nxg_call *call) {
  return (int32_t)nxi_dtype_size(nxg_attention_scores(call->operands[0].dtype, call->attrs));
}

/* Lines of a tile of summands. */
static int32_t lines_of(const nxg_call *call, int32_t warps) {
  const int32_t at = nxg_attention_masks_of(call).summand;
  return at < 0 ? 0 : call->operands[at].shape[2] == 1 ? 1 : LANES * warps;
}

/* Shared memory of a block: two tiles of keys, values and summands, queries, some words, and sums
 * of blocks of the order, 8 numbers of each thread for each level of their tree. */
static int64_t shared_of(const nxg_call *call, int32_t warps, int32_t keys) {
  const int64_t features = call->operands[0].shape[3], width = call->operands[2].shape[3];
  int64_t levels = 1;
  for (int64_t n = ceil_div(layout_of(call, 1).rows, MARKED); n > 1; n /= 2) levels++;
  return 2 * keys * (2 * (features + width) + lines_of(call, warps) * score_bytes(call)) +
         LANES * warps * features * 2 + levels * 8 * 32 * warps * (int64_t)sizeof(float) +
         (call->n_operands > 3 ? 2 * WORDS : WORDS);
}

static int64_t widest(const nxg_call *call) {
  const int64_t features = call->operands[0].shape[3], width = call->operands[2].shape[3];
  return features > width ? features : width;
}

/* Whether operands are f16, for which kernels take some more registers. */
static bool are_halves(const nxg_call *call) { return call->operands[0].dtype == NX_F16; }

/* Whether scores are f32, with both masks. */
static bool has_both(const nxg_call *call) {
  return call->n_operands == 5 && call->attrs[NXG_ATTENTION_WIDE] != 0;
}

/* Whether a thread has 128 registers: two blocks of 256 threads on a multiprocessor. */
static bool is_shared(const nxg_call *call) {
  return widest(call) <= (has_both(call) ? NARROW : are_halves(call) ? MIDDLE : USUAL);
}

/* Keys of a tile, of which a thread keeps its part of the scores in registers beside the result;
 * masks in memory leave room for half as many, of which bits are at most a word, and so do scores
 * of f32. */
static int32_t most_keys(const nxg_call *call) {
  const bool wide = call->attrs[NXG_ATTENTION_WIDE] != 0,
             narrow = widest(call) <= NARROW && (wide || !are_halves(call));
  const int32_t most = narrow ? 64 : 32;
  if (!is_shared(call)) return has_both(call) && widest(call) > USUAL ? LANES : most;
  return most / (has_both(call) ? 4 : call->n_operands > 3 || wide ? 2 : 1);
}

/* Large blocks share what they read of keys and values. */
static bool choose(nxi_gpu *g, const nxg_call *call, work *w) {
  const nxi_gpu_info *info = nxi_gpu_properties(g);
  const layout q = layout_of(call, 0);
  const int64_t large = ceil_div(q.rows, 8 * LANES) * q.heads * q.outer;
  for (w->warps = 2 * large >= 3 * info->processors ? 8 : 4; w->warps >= 4; w->warps /= 2)
    for (w->keys = most_keys(call); w->keys >= LANES; w->keys /= 2) {
      w->shared_bytes = shared_of(call, w->warps, w->keys);
      if (w->shared_bytes <= info->shared_bytes) return true;
    }
  return false;
}

static int64_t words_of_line(const nxg_call *call) {
  return 2 * ceil_div(layout_of(call, 1).rows, 64);
}

/* Words of the packed condition. */
static double words_of(const nxg_call *call) {
  const int32_t at = nxg_attention_masks_of(call).condition;
  const int64_t *s = call->operands[at < 0 ? 0 : at].shape;
  return at < 0 ? 0 : (double)s[0] * (double)s[1] * (double)s[2] * (double)words_of_line(call);
}

static bool takes(nxi_gpu *g, const nxg_call *call) {
  work w;
  if (call->op != NXG_attention) return false;
  const layout q = layout_of(call, 0), k = layout_of(call, 1), v = layout_of(call, 2);
  const double tiles = (double)q.outer * (double)q.heads * (double)(q.rows / LANES + 1),
               marks = (double)k.outer * (double)k.heads * (double)(k.rows / MARKED + 1);
  return nxg_attention_fits(call->operands[0].dtype, q.features, v.features, k.rows) &&
         q.rows < MOST && q.per_row < MOST && k.per_row < MOST && v.per_row < MOST &&
         (double)q.outer * (double)q.heads * (double)q.rows < UINT32_MAX && tiles < MOST &&
         marks < MOST && words_of(call) < MOST &&
         nxg_attention_grows(nxg_attention_scores(call->operands[0].dtype, call->attrs),
                             call->attrs[NXG_ATTENTION_SCALE]) &&
         choose(g, call, &w);
}

/* Bits of a score as kernels have them: 16 bits twice. */
static uint32_t word_of(uint32_t bits, nx_dtype t) {
  return t == NX_F32 ? bits : bits << 16 | bits;
}

/* A factor of at most 1 that is a power of two is multiplied without rounding in bf16 and f32,
 * unless there is no number whose product is `fill`: the product and the difference after it are
 * one instruction. What the product would round are numbers near 2^-126, and 2^0 is what their
 * differences give; those of f16 may be as large as 2^-14. */
static void describe_scores(const nxg_call *call, work *w) {
  const int64_t *a = call->attrs;
  const nx_dtype t = nxg_attention_scores(call->operands[0].dtype, a);
  const uint32_t one = (uint32_t)nxi_cast_bits(0x3f800000, NX_F32, t),
                 fraction = t == NX_F32    ? 0x7fffff
                            : t == NX_BF16 ? 0x7f
                                           : 0x3ff,
                 fill = a[NXG_ATTENTION_FILL] < 0 ? 0 : (uint32_t)a[NXG_ATTENTION_FILL],
                 factor = a[NXG_ATTENTION_SCALE] < 0 ? one : (uint32_t)a[NXG_ATTENTION_SCALE];
  const double by = nxi_f64_bits(nxi_cast_bits(factor, t, NX_F64)),
               filled = nxi_f64_bits(nxi_cast_bits(fill, t, NX_F64));
  const uint32_t hidden = (uint32_t)nxi_cast_bits(nxi_bits_f64(filled / by), NX_F64, t);
  const bool good = nxi_f64_bits(nxi_cast_bits(hidden, t, NX_F64)) * by == filled;
  w->rounds = a[NXG_ATTENTION_WIDE] == NXG_WIDE_SCALED ||
              (factor != one && (t == NX_F16 || (factor & fraction) != 0 || factor > one || !good));
  w->shape.factor = word_of(factor, t);
  w->shape.fill = word_of(fill, t);
  w->shape.hidden = word_of(hidden, t);
}

/* How far apart the lines of a mask are, of so many elements; 0: it is the same one. */
static void place_mask(const nxg_array *x, int64_t line, int64_t *outer, int64_t *head,
                       int32_t *row) {
  *row = x->shape[2] == 1 ? 0 : (int32_t)line;
  *head = x->shape[1] == 1 ? 0 : x->shape[2] * line;
  *outer = x->shape[0] == 1 ? 0 : x->shape[1] * x->shape[2] * line;
}

static void describe_masks(const nxg_call *call, work *w) {
  attention_shape *p = &w->shape;
  const int32_t added = w->masks.summand, seen = w->masks.condition;
  if (added >= 0)
    place_mask(&call->operands[added], call->operands[added].shape[3] * score_bytes(call) / 2,
               &p->added_outer, &p->added_head, &p->added_row);
  if (seen >= 0)
    place_mask(&call->operands[seen], words_of_line(call), &p->seen_outer, &p->seen_head,
               &p->seen_row);
  w->words = (int32_t)words_of(call);
}

static void describe(const nxg_call *call, work *w) {
  const layout q = layout_of(call, 0), k = layout_of(call, 1), v = layout_of(call, 2),
               y = layout_of(call, NXG_ATTENTION_RESULT);
  const int64_t *a = call->attrs;
  w->masks = nxg_attention_masks_of(call);
  w->hides = a[NXG_ATTENTION_LEAST] > -q.rows || a[NXG_ATTENTION_MOST] < k.rows - 1 ||
             w->masks.condition >= 0;
  w->shape = (attention_shape){.rows = (int32_t)q.rows,
                               .columns = (int32_t)k.rows,
                               .heads = (int32_t)q.heads,
                               .groups = (int32_t)k.heads,
                               .row_tiles = (int32_t)ceil_div(q.rows, LANES * w->warps),
                               .batches = (int32_t)(q.heads * q.outer),
                               .q_outer = q.per_outer,
                               .q_head = q.per_head,
                               .k_outer = k.per_outer,
                               .k_head = k.per_head,
                               .v_outer = v.per_outer,
                               .v_head = v.per_head,
                               .q_row = (int32_t)q.per_row,
                               .k_row = (int32_t)k.per_row,
                               .v_row = (int32_t)v.per_row,
                               .least = (int32_t)a[NXG_ATTENTION_LEAST],
                               .most = (int32_t)a[NXG_ATTENTION_MOST],
                               .parts = w->hides ? (int32_t)ceil_div(k.rows, MARKED) : 0,
                               .empty = (int32_t)a[NXG_ATTENTION_EMPTY],
                               .y_row = (int32_t)(y.per_row / y.features),
                               .y_outer = (uint32_t)(y.per_outer / y.features),
                               .y_head = (uint32_t)(y.per_head / y.features)};
  describe_scores(call, w);
  describe_masks(call, w);
  w->shape.tiles = (int32_t)(w->shape.row_tiles * q.heads * q.outer);
}

static int64_t marks_of(const work *w, const nxg_call *call) {
  return w->shape.parts * layout_of(call, 1).heads * layout_of(call, 1).outer;
}

static int64_t blocks_of_bits(const work *w) { return ceil_div(w->words, PACK_THREADS); }

/* The numbers that scores are (attention_numbers.cuh). */
static void name_numbers(const nxg_call *call, nxi_text *out) {
  static const char *const names[] = {[NXG_NOT_WIDE] = "nx_pair<",
                                      [NXG_WIDE] = "nx_wide<",
                                      [NXG_WIDE_ROUNDED] = "nx_rounded<",
                                      [NXG_WIDE_LATE] = "nx_late<",
                                      [NXG_WIDE_SCALED] = "nx_scaled<"};
  const int64_t *a = call->attrs;
  nxi_text_add(out, "%s%s%s>", names[a[NXG_ATTENTION_WIDE]],
               call->operands[0].dtype == NX_BF16 ? "nx_bf16" : "nx_f16",
               a[NXG_ATTENTION_WIDE] == NXG_NOT_WIDE ? ""
               : a[NXG_ATTENTION_WHOLE]              ? ", true"
                                                     : ", false");
}

static nx_status get_kernels(nxi_gpu *g, const nxg_call *call, work *w, nxi_diag *d) {
  const char *type = call->operands[0].dtype == NX_BF16 ? "nx_bf16" : "nx_f16";
  const int features = (int)call->operands[0].shape[3], width = (int)call->operands[2].shape[3],
            threads = 32 * w->warps;
  /* four warps are for launches of at most three such blocks a processor, or for large ones */
  const int blocks = !is_shared(call) ? 256 / threads : w->warps == 4 ? 3 : 512 / threads;
  nxi_text texts[KERNELS] = {0}, numbers = {0};
  name_numbers(call, &numbers);
  nxi_text_add(
      &texts[ATTEND],
      "extern \"C\" __global__ void __launch_bounds__(%d, %d) nx_attention_of(const nx_u16 "
      "*q, const nx_u16 *k, const nx_u16 *v, nx_u16 *y, const nx_u8 *marks, "
      "const nx_u16 *added, const nx_u32 *seen, nx_attention_shape p) {\n"
      "  extern __shared__ __align__(1024) nx_u8 nx_shared[];\n"
      "  nx_attend<%s, %d, %d, %d, %d, %s, %s, %d>(q, k, v, y, marks, {added, seen}, p, "
      "nx_shared);\n}",
      threads, blocks, numbers.data == NULL ? "" : numbers.data, features, width, w->warps, w->keys,
      w->rounds ? "true" : "false", w->masks.condition >= 0 ? "true" : "false",
      lines_of(call, w->warps));
  nxi_text_add(&texts[MARK],
               "extern \"C\" __global__ void __launch_bounds__(%d) nx_attention_marks(const nx_u16 "
               "*v, nx_u8 *marks, nx_attention_shape p) {\n"
               "  extern __shared__ __align__(1024) nx_u8 nx_shared[];\n"
               "  nx_mark_values<%s, %d, %d>(v, marks, p, nx_shared);\n}",
               MARK_THREADS, type, width, MARKED);
  nxi_text_add(&texts[PACK],
               "extern \"C\" __global__ void __launch_bounds__(%d) nx_attention_bits(const nx_u8 "
               "*condition, nx_u32 *bits, int columns, int all) {\n"
               "  nx_pack_condition<%d, %s>(condition, bits, columns, all);\n}",
               PACK_THREADS, PACK_THREADS, call->attrs[NXG_ATTENTION_HIDES] ? "true" : "false");
  const nxi_own_code codes[KERNELS] = {{.tools = nxu_mma_code(),
                                        .body = nxu_attention_code(),
                                        .instance = texts[ATTEND].data,
                                        .entry = "nx_attention_of",
                                        .threads = threads,
                                        .shared_bytes = w->shared_bytes,
                                        .blocks = w->shape.tiles},
                                       {.tools = nxu_mma_code(),
                                        .body = nxu_attention_code(),
                                        .instance = texts[MARK].data,
                                        .entry = "nx_attention_marks",
                                        .threads = MARK_THREADS,
                                        .shared_bytes = 16,
                                        .blocks = marks_of(w, call)},
                                       {.body = nxu_attention_masks_code(),
                                        .instance = texts[PACK].data,
                                        .entry = "nx_attention_bits",
                                        .threads = PACK_THREADS,
                                        .blocks = blocks_of_bits(w)}};
  const uint32_t n = w->masks.condition >= 0 ? KERNELS : w->hides ? PACK : MARK;
  const bool failed =
      numbers.failed || texts[ATTEND].failed || texts[MARK].failed || texts[PACK].failed;
  nx_status status = failed ? nxi_oom(d) : nxi_own_code_get_all(g, codes, n, w->kernels, d);
  for (int i = 0; i < KERNELS; i++) nxi_text_free(&texts[i]);
  nxi_text_free(&numbers);
  return status;
}

/* Where the packed condition is in scratch memory, behind the marks. */
static int64_t bits_at(const work *w, const nxg_call *call) {
  return ceil_div(marks_of(w, call), 16) * 16;
}

static void release(void *state) {
  work *w = state;
  for (int i = 0; i < KERNELS; i++) nxi_kernel_release(w->kernels[i]);
  nxi_free(w);
}

static nx_status prepare(nxi_gpu *g, const nxg_call *call, nxi_gpu_call_work *out, nxi_diag *d) {
  work *w = nxi_calloc(1, sizeof *w);
  if (w == NULL) return nxi_oom(d);
  choose(g, call, w);
  describe(call, w);
  nx_status status = get_kernels(g, call, w, d);
  if (status != NX_OK) {
    release(w);
    return status;
  }
  out->scratch_bytes = bits_at(w, call) + 4 * (int64_t)w->words;
  out->state = w;
  return NX_OK;
}

static nx_status run(nxi_gpu_call_run *r, nxi_diag *d) {
  const work *w = r->work->state;
  attention_shape p = w->shape;
  nxi_gpu_aligned a;
  if (p.tiles == 0) return NX_OK;
  nx_status status = nxi_gpu_align(r, true, &a, d);
  if (status != NX_OK) return status;
  uint64_t q = a.at[0], k = a.at[1], v = a.at[2], y = r->results[0], marks = r->scratch;
  const nxg_attention_masks m = w->masks;
  uint64_t added = m.summand >= 0 ? a.at[m.summand] : 0,
           condition = m.condition >= 0 ? a.at[m.condition] : 0,
           seen = r->scratch + (uint64_t)bits_at(w, r->call);
  int32_t columns = p.columns, words = w->words;
  void *marking[] = {&v, &marks, &p}, *packing[] = {&condition, &seen, &columns, &words},
       *attending[] = {&q, &k, &v, &y, &marks, &added, &seen, &p};
  if (w->hides)
    status = nxi_gpu_launch(nxi_kernel_code(w->kernels[MARK]), (uint32_t)marks_of(w, r->call),
                            MARK_THREADS, marking, d);
  if (status == NX_OK && m.condition >= 0)
    status = nxi_gpu_launch(nxi_kernel_code(w->kernels[PACK]), blocks_of_bits(w), PACK_THREADS,
                            packing, d);
  if (status == NX_OK)
    status = nxi_gpu_launch(nxi_kernel_code(w->kernels[ATTEND]), (uint32_t)p.tiles,
                            (uint32_t)(32 * w->warps), attending, d);
  nxi_gpu_align_end(r->gpu, &a);
  return status;
}

const nxi_gpu_functions nxi_gpu_attention_functions = {.by = "a kernel of tensor cores",
                                                       .takes = takes,
                                                       .prepare = prepare,
                                                       .run = run,
                                                       .release = release,
                                                       .captured = true};
