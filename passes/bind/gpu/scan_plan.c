/* SPDX-License-Identifier: ISC */
/* What template SCANS of the GPU binder takes, and how it distributes lines over threads. */
#include "passes/bind/gpu/scan_plan.h"

enum {
  SIDE = 64,
  SHORT_LINE = 32,
  AT_ONCE = 32,     /* elements of a column that are loaded together */
  MOST_CODE = 1000, /* operations written out for those elements */
  LEAST_COLUMNS = 8,
  MANY_TASKS = 200,
  MOST_COLUMN_BYTES = 512, /* of a column that a thread loads together */
  /* bytes under way at once for each thread of a block, that use a large GPU well */
  MANY_BYTES = 1 << 13,
  LEAST_BLOCK = 512,     /* elements of a row that is less than a block, and is not for tiles */
  BLOCKS_A_PROCESSOR = 3 /* that share its shared memory, so that some load and some store */
};

/* Blocks of threads that keep a large GPU busy: two for each multiprocessor. As many as a block has
 * threads on the target, so that smaller targets, of tests, have fewer. */
static int64_t enough_tasks(const nxb_binder *b) { return b->target->block_threads; }

/* ---- what fits */

static void mark(nxb_scan_plan *s, nxk_value v) {
  if (v != NXK_NONE) s->needed[v] = 1;
}

/* Marks the code that the operands of the scans need. False: it cannot be separated from the other
 * code. */
static bool mark_needed(const nxb_binder *b, nxb_scan_plan *s) {
  for (uint32_t i = 0; i < s->n; i++) mark(s, b->from->instrs[s->scan[i]].args[0]);
  for (nxk_value v = s->stage->last; v-- > s->stage->first;) {
    const nxk_instr *in = &b->from->instrs[v];
    bool inside = v > s->stage->first && in->block == s->stage->first;
    if (!s->needed[v] || v == s->stage->first) continue;
    if (!inside || !(in->op < NXK_SCALAR_COUNT || in->op == NXK_load || in->op == NXK_const))
      return false;
    for (int i = 0; i < in->n_args; i++) mark(s, in->args[i]);
    if (in->op != NXK_load) continue;
    const nxk_access *a = &b->from->accesses[in->imm];
    for (uint32_t i = 0; i < a->n_terms; i++) mark(s, a->terms[i].index);
    mark(s, a->index);
    mark(s, a->mask);
    mark(s, a->other);
  }
  return true;
}

/* The number of loads and stores that are contiguous along the lines, minus the number of those
 * contiguous across them. */
static int64_t along_lines(const nxb_binder *b, const nxb_stage *stage) {
  const nxb_region *region = b->region;
  int64_t more = 0, stride;
  for (nxk_value v = stage->first; v <= stage->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    bool computed;
    if (in->op != NXK_load && in->op != NXK_store) continue;
    const nxk_access *a = &b->from->accesses[in->imm];
    stride = nxb_stride(b, a, stage->loops[0].value, &computed);
    more += !computed && (stride == 1 || stride == -1);
    if (region->n_outer == 0) continue;
    stride = nxb_stride(b, a, region->outer[region->n_outer - 1].value, &computed);
    more -= !computed && (stride == 1 || stride == -1);
  }
  return more;
}

static bool collect(const nxb_binder *b, nxb_scan_plan *s) {
  bool ordered = false, plain = false;
  for (nxk_value v = s->stage->first; v <= s->stage->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (in->op != NXK_scan) continue;
    if (s->n == NXB_MOST_SCANS || !nxk_is_chain(in->kind) || in->block != s->stage->first)
      return false;
    *(in->order == NXK_ORDER_PLAIN ? &plain : &ordered) = true;
    s->scan[s->n++] = v;
  }
  s->of_row = plain && !ordered ? nxb_ceil(s->length, NXK_SCAN_BLOCK) : 1;
  s->rounds = 1;
  return s->n > 0 && !(plain && ordered);
}

/* Plans columns: as many as there are threads for, fewer if some multiprocessors would have no
 * task. */
static void plan_columns(const nxb_binder *b, nxb_scan_plan *s) {
  int64_t code = nxb_code_cost(b, s->stage->first, s->stage->last);
  s->columns = b->threads;
  while (s->columns > LEAST_COLUMNS &&
         (s->columns * s->of_row > b->threads || s->rows / s->columns < MANY_TASKS))
    s->columns /= 2;
  s->task_rows = s->columns;
  s->lines = s->columns * s->of_row;
  s->width = AT_ONCE;
  while (s->width > 1 && s->width * code > MOST_CODE) s->width /= 2;
}

/* Bytes of an element of each scan. */
static int64_t bytes_of(const nxb_binder *b, const nxb_scan_plan *s) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < s->n; i++) bytes += nxi_dtype_size(b->from->instrs[s->scan[i]].dtype);
  return bytes;
}

/* Plans rows that fit in shared memory. False: they do not, or are so short that tiles of several
 * lines are as good. */
static bool plan_shared(const nxb_binder *b, nxb_scan_plan *s) {
  int64_t line = bytes_of(b, s) * (NXK_SCAN_BLOCK + 1), room = b->target->shared_bytes;
  bool one = s->length >= LEAST_BLOCK && s->length <= NXK_SCAN_BLOCK && s->rows < enough_tasks(b);
  if ((s->of_row < 2 && !one) || s->of_row > b->threads || line * s->of_row > room / 2 || line == 0)
    return false;
  int64_t rows = room / BLOCKS_A_PROCESSOR / (line * s->of_row);
  while (rows > 1 && (rows * s->of_row > b->threads || s->rows / rows < enough_tasks(b))) rows--;
  s->way = NXB_IN_SHARED;
  s->task_rows = rows > 1 ? rows : 1;
  s->lines = s->task_rows * s->of_row;
  s->width = NXK_SCAN_BLOCK;
  s->steps = 1;
  return true;
}

/* Plans columns that are scanned block by block. False: there are too few. */
static bool plan_in_turn(const nxb_binder *b, nxb_scan_plan *s) {
  int64_t code = nxb_code_cost(b, s->stage->first, s->stage->last), bytes = bytes_of(b, s);
  int64_t width = AT_ONCE;
  while (width * s->rows * bytes < MANY_BYTES * b->target->block_threads) width *= 2;
  if (s->of_row < 2 || width * bytes > MOST_COLUMN_BYTES || width * code > MOST_CODE) return false;
  s->way = NXB_IN_TURN;
  s->rounds = s->of_row;
  s->of_row = 1;
  s->columns = s->task_rows = s->lines = b->threads;
  s->width = width;
  s->steps = NXK_SCAN_BLOCK / width;
  return true;
}

/* Plans how rows are divided into lines, lines into tasks, and blocks into tiles. */
static void plan_lines(const nxb_binder *b, nxb_scan_plan *s, bool tiles) {
  bool plain = b->from->instrs[s->scan[0]].order == NXK_ORDER_PLAIN;
  int64_t block = plain && s->length > NXK_SCAN_BLOCK ? NXK_SCAN_BLOCK : s->length;
  int64_t most = tiles ? (b->threads < SIDE ? b->threads : SIDE) : b->threads / LEAST_COLUMNS;
  if (tiles ? plan_shared(b, s) : plan_in_turn(b, s)) return;
  if (s->of_row > most) {
    s->rounds = nxb_ceil(s->of_row, most);
    s->of_row = most;
  }
  if (tiles) {
    s->lines = s->width = most;
    s->task_rows = s->lines / s->of_row;
  } else {
    plan_columns(b, s);
  }
  s->steps = nxb_ceil(block, s->width);
}

/* Whether the region has no code outside its stage except scalar code before it. */
static bool only_stage(const nxb_binder *b, const nxb_stage *stage) {
  for (nxk_value v = b->region->body_first; v <= b->region->body_last; v++) {
    nxk_op op = (nxk_op)b->from->instrs[v].op;
    if (v >= stage->first && v <= stage->last) continue;
    if (v > stage->last || op == NXK_store || op == NXK_cold) return false;
  }
  return true;
}

bool nxb_gpu_plan_scan(nxb_binder *b, nxb_scan_plan *s) {
  const nxb_region *region = b->region;
  *s = (nxb_scan_plan){.rows = 1};
  if (region->n_stages != 1) return false;
  const nxb_stage *stage = s->stage = region->stages;
  if (stage->reduces || !stage->simple || stage->n_loops != 1 || stage->loops[0].lower != 0 ||
      stage->loops[0].step != 1 || stage->points < SHORT_LINE || !only_stage(b, stage))
    return false;
  for (uint32_t i = 0; i < b->from->n_buffers; i++)
    if (b->from->buffers[i].kind == NXK_LOCAL) return false;
  for (uint32_t i = 0; i < region->n_outer; i++) {
    if (region->outer[i].extent < 0) return false;
    s->rows *= region->outer[i].extent;
  }
  s->length = stage->points;
  s->needed = nxb_alloc(b, b->from->n_instrs);
  if (b->failed || !collect(b, s) || !mark_needed(b, s)) return false;
  plan_lines(b, s, along_lines(b, stage) > 0);
  return true;
}

bool nxb_gpu_scans_fit(nxb_binder *b) {
  nxb_scan_plan s;
  return nxb_gpu_plan_scan(b, &s);
}

uint16_t nxb_gpu_scans_threads(nxb_binder *b) {
  nxb_scan_plan s;
  uint16_t threads = b->threads;
  if (!nxb_gpu_plan_scan(b, &s) || s.way != NXB_IN_TURN) return threads;
  while (threads > NXB_WARP && s.rows / threads < enough_tasks(b)) threads /= 2;
  return threads;
}
