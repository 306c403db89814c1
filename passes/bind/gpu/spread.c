/* SPDX-License-Identifier: ISC */
/* How template ROWS distributes the elements of runs over threads, and how many threads it wants.
 *
 * A block has as many threads as keep the elements of a long run in registers, and more if there
 * are too few runs for the multiprocessors. Where elements have 1 or 2 bytes and there are many, a
 * thread has neighbours of them, as words of 4 bytes. */
#include "passes/bind/gpu/spread.h"

enum {
  SHORT_RUN = 32,
  MOST_OWN = 64,          /* elements of a run that a thread keeps in registers */
  MOST_CODE = 1200,       /* operations written out for those elements; see most_own */
  WRITTEN_OUT = 16,       /* consecutive elements of a thread whose loads are issued together */
  MANY_THREADS = 1 << 17, /* about as many as use the full memory bandwidth of a large GPU */
  SECTOR = 32,            /* bytes of the smallest memory transaction */
  LINE = 128,             /* bytes of a cache line */
  LEAST_COLUMNS = 32,     /* of a line of small elements */
  WORD = 16,              /* bytes of the widest access */
  REGISTERS = 1 << 15,    /* registers of a multiprocessor that elements of runs may fill: half */
  FEW_BLOCKS = 264,       /* two for each multiprocessor of a large GPU */
  ENOUGH_BLOCKS = 256,    /* that are left where threads have several neighbours of a run */
  LEAST_OWN = 4           /* elements of a thread for which it is worth having */
};

static int64_t power_of_two_from(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

/* ---- what fits */

/* Finds an order that all reductions of the region can be computed in. False: there is none, or it
 * is sequential. */
static bool common_order(const nxb_binder *b, nxb_spread *s) {
  *s = (nxb_spread){.lanes = 1, .items = INT64_MAX, .near = 1, .columns = 1, .wide = 1};
  for (uint32_t i = 0; i < b->region->n_stages; i++)
    for (uint32_t j = 0; j < b->region->stages[i].n_reduces; j++) {
      nxb_order order = nxb_order_of(b->from, b->region->stages[i].reduce[j]);
      if (order.exact) continue;
      if (order.block == INT64_MAX) return false;
      if (s->items != INT64_MAX && (s->items != order.block || s->lanes != order.lanes))
        return false;
      s->items = order.block;
      s->lanes = order.lanes;
    }
  return true;
}

/* True if the access of a LOCAL array in a stage is at the element numbered as the point of the
 * stage. */
static bool is_at_point(const nxb_binder *b, const nxb_stage *s, const nxk_access *a) {
  int64_t stride = 1;
  uint32_t found = 0;
  if (a->offset != 0 || a->index != NXK_NONE || b->from->buffers[a->buffer].elements != s->points)
    return false;
  for (uint32_t i = s->n_loops; i-- > 0; stride *= s->loops[i].extent) {
    if (s->loops[i].lower != 0 || s->loops[i].step != 1) return false;
    for (uint32_t t = 0; t < a->n_terms; t++)
      if (a->terms[t].index == s->loops[i].value) {
        if (a->terms[t].stride != stride) return false;
        found++;
      }
  }
  uint32_t needed = 0;
  for (uint32_t i = 0; i < s->n_loops; i++) needed += s->loops[i].extent > 1;
  return found == a->n_terms && found >= needed;
}

const nxb_stage *nxb_gpu_stage_of(const nxb_binder *b, nxk_value v) {
  for (uint32_t i = 0; i < b->region->n_stages; i++)
    if (v > b->region->stages[i].first && v < b->region->stages[i].last)
      return &b->region->stages[i];
  return NULL;
}

/* True if each thread uses only its own elements of all LOCAL arrays, so that it can keep them. */
static bool locals_stay(const nxb_binder *b) {
  int64_t points = -1;
  for (nxk_value v = b->region->first; v < b->region->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (in->op != NXK_load && in->op != NXK_store) continue;
    const nxk_access *a = &b->from->accesses[in->imm];
    if (b->from->buffers[a->buffer].kind != NXK_LOCAL) continue;
    const nxb_stage *s = nxb_gpu_stage_of(b, v);
    if (s == NULL || !is_at_point(b, s, a) || (points >= 0 && points != s->points)) return false;
    points = s->points;
  }
  return true;
}

/* Whether accesses that far apart are contiguous, maybe together with others of their block. */
static bool is_near(const nxb_binder *b, nxk_value v, int64_t stride) {
  return stride == 1 || stride == -1 || nxb_row_of(b, v, stride) != 0;
}

/* The number of accesses that are contiguous along the runs, minus the number of those contiguous
 * along the outer points. The latter decide alone if the former are the same for neighbouring
 * points: those move few bytes. */
static int64_t along_runs(const nxb_binder *b) {
  const nxb_region *region = b->region;
  int64_t along = 0, across = 0;
  bool own = false; /* an access along the runs is another one for each point */
  nxk_value outer = region->n_outer ? region->outer[region->n_outer - 1].value : NXK_NONE;
  for (uint32_t i = 0; i < region->n_stages; i++) {
    const nxb_stage *s = &region->stages[i];
    for (nxk_value v = s->first; v < s->last; v++) {
      const nxk_instr *in = &b->from->instrs[v];
      bool computed, varies = false;
      if ((in->op != NXK_load && in->op != NXK_store) ||
          b->from->buffers[b->from->accesses[in->imm].buffer].kind == NXK_LOCAL)
        continue;
      const nxk_access *a = &b->from->accesses[in->imm];
      int64_t apart = outer == NXK_NONE ? 0 : nxb_stride(b, a, outer, &varies);
      int64_t stride = nxb_stride(b, a, s->loops[s->n_loops - 1].value, &computed);
      bool near = !computed && is_near(b, v, stride);
      along += near;
      own = own || (near && (varies || apart != 0));
      across += outer != NXK_NONE && !varies && is_near(b, v, apart);
    }
  }
  return own || across == 0 ? along - across : -across;
}

static int64_t longest_run(const nxb_binder *b) {
  int64_t most = 0;
  for (uint32_t i = 0; i < b->region->n_stages; i++)
    if (b->region->stages[i].points > most) most = b->region->stages[i].points;
  return most;
}

int64_t nxb_gpu_points_of(const nxb_binder *b) {
  int64_t rows = 1;
  for (uint32_t i = 0; i < b->region->n_outer; i++) rows *= b->region->outer[i].extent;
  return rows;
}

bool nxb_gpu_rows_fit(nxb_binder *b) {
  nxb_spread s;
  if (b->region->n_stages == 0 || nxb_scans(b, b->region->first, b->region->last)) return false;
  for (uint32_t i = 0; i < b->region->n_stages; i++)
    if (b->region->stages[i].n_loops == 0) return false;
  int64_t rows = nxb_gpu_points_of(b), along = along_runs(b);
  bool few = rows < (along < 0 ? MANY_THREADS : b->threads), again = b->region->n_stages > 1;
  return common_order(b, &s) && locals_stay(b) && longest_run(b) >= SHORT_RUN &&
         (along > 0 || few || (along < 0 && again && rows > 1));
}

/* ---- shares */

/* Bytes of the widest element that is loaded. */
static int64_t widest_load(const nxb_binder *b) {
  int64_t widest = 1;
  for (nxk_value v = b->region->first; v < b->region->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (in->op != NXK_load) continue;
    int64_t size = nxi_dtype_size(b->from->buffers[b->from->accesses[in->imm].buffer].dtype);
    if (size > widest) widest = size;
  }
  return widest;
}

static int64_t cost_of(const nxb_binder *b, const nxb_stage *stage) {
  int64_t cost = nxb_code_cost(b, stage->first, stage->last);
  return cost > 1 ? cost : 1;
}

/* The most elements of a run for which a thread's code is written out. A stage can pass values to
 * the next one in registers only if all its code is written out. That takes longer to compile, and
 * with long code too many values are live for the registers. */
static int64_t most_own(const nxb_binder *b) {
  int64_t own = b->region->n_stages < 2 ? WRITTEN_OUT : MOST_OWN, cost = 1;
  for (uint32_t i = 0; i < b->region->n_stages; i++)
    if (cost_of(b, &b->region->stages[i]) > cost) cost = cost_of(b, &b->region->stages[i]);
  while (own > WRITTEN_OUT && own * cost > MOST_CODE) own /= 2;
  while (own > 1 && own * cost > 2 * MOST_CODE) own /= 2;
  while (own > 1 && own * nxb_gpu_kept_words(b) * b->threads > REGISTERS) own /= 2;
  return own;
}

static bool has_locals(const nxb_binder *b) {
  for (uint32_t i = 0; i < b->from->n_buffers; i++)
    if (b->from->buffers[i].kind == NXK_LOCAL) return true;
  return false;
}

/* Whether an access is to one of several elements of each run's block, as a part of a complex
 * number. */
static bool has_parts(const nxb_binder *b, nxk_value loop) {
  for (nxk_value v = b->region->first; v < b->region->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    bool computed;
    if (in->op != NXK_load && in->op != NXK_store) continue;
    int64_t stride = nxb_stride(b, &b->from->accesses[in->imm], loop, &computed);
    if (!computed && stride != 1 && nxb_row_of(b, v, stride) != 0) return true;
  }
  return false;
}

/* Neighbouring runs that a thread computes: as many as make a word, if they are words in all
 * accesses. */
static int64_t wide_of(const nxb_binder *b) {
  const nxb_region *region = b->region;
  const nxb_loop *last = &region->outer[region->n_outer - 1];
  int64_t wide = WORD / widest_load(b), cost = cost_of(b, &region->stages[0]);
  if (region->n_stages != 1 || has_locals(b) || has_parts(b, last->value)) return 1;
  while (wide > 1 && (last->extent % wide != 0 || wide * WRITTEN_OUT * cost > MOST_CODE)) wide /= 2;
  while (wide > 1 && !nxb_gpu_are_words(b, last->value, wide)) wide /= 2;
  return wide;
}

/* Sets the number of columns: a cache line of elements, but fewer (at least a sector of a line) if
 * there would be too few loads under way. */
static void set_columns(const nxb_binder *b, nxb_spread *s) {
  int64_t rows = nxb_gpu_points_of(b), size = widest_load(b), least = SECTOR / size;
  int64_t n = LINE / size > LEAST_COLUMNS ? LINE / size : LEAST_COLUMNS;
  if (rows == 1 || along_runs(b) >= 0) return;
  s->wide = wide_of(b);
  while (n > 1 && (n / 2 >= rows || n * s->lanes > b->threads * s->wide)) n /= 2;
  while (n > least && rows * (b->threads * s->wide / n) < MANY_THREADS) n /= 2;
  if (n < s->wide) s->wide = n;
  s->columns = n / s->wide;
}

/* Bytes of the narrowest element that is loaded or stored along runs, of arrays with an element for
 * each point; 0: there is none. */
static int64_t narrowest_of_points(const nxb_binder *b) {
  int64_t narrowest = 0, rows = nxb_gpu_points_of(b);
  for (uint32_t i = 0; i < b->region->n_stages; i++) {
    const nxb_stage *s = &b->region->stages[i];
    for (nxk_value v = s->first; v < s->last; v++) {
      const nxk_instr *in = &b->from->instrs[v];
      if (in->op != NXK_load && in->op != NXK_store) continue;
      const nxk_buffer *buffer = &b->from->buffers[b->from->accesses[in->imm].buffer];
      int64_t size = nxi_dtype_size(buffer->dtype);
      if (buffer->kind == NXK_LOCAL || buffer->elements < rows * s->points) continue;
      if (narrowest == 0 || size < narrowest) narrowest = size;
    }
  }
  return narrowest;
}

/* Whether `near` neighbours of each run are words in all accesses, and threads can have them. */
static bool are_near(const nxb_binder *b, const nxb_spread *s, int64_t near) {
  const int64_t enough = (int64_t)ENOUGH_BLOCKS * b->target->block_threads; /* threads */
  for (uint32_t i = 0; i < b->region->n_stages; i++) {
    const nxb_stage *stage = &b->region->stages[i];
    const nxb_loop *last = &stage->loops[stage->n_loops - 1];
    if (last->extent % near != 0 || last->lower % near != 0 || last->step != 1 ||
        stage->points * nxb_gpu_points_of(b) / (near * WRITTEN_OUT) < enough ||
        (s->items == INT64_MAX && stage->points < near * NXB_WARP) ||
        (s->items != INT64_MAX && b->region->n_stages > 1 && s->items * near > s->own))
      return false;
    for (uint32_t j = 0; j < stage->n_reduces; j++)
      if (nxb_is_arg(b->from, stage->reduce[j])) return false;
    for (nxk_value v = stage->first; v < stage->last; v++) {
      const nxk_instr *in = &b->from->instrs[v];
      if ((in->op == NXK_load || in->op == NXK_store) &&
          b->from->buffers[b->from->accesses[in->imm].buffer].kind != NXK_LOCAL &&
          !nxb_gpu_is_word(b, v, last->value, near))
        return false;
    }
  }
  return true;
}

/* With more than two lanes, a thread would have more than 32 elements of a block of the order. */
static void set_near(const nxb_binder *b, nxb_spread *s) {
  int64_t size = narrowest_of_points(b), near = size > 0 && size < 4 ? 4 / size : 1;
  if (s->columns > 1 || s->wide > 1 || along_runs(b) <= 0) return;
  if (s->items != INT64_MAX && near > 2) near = 2;
  if (s->items != INT64_MAX && s->lanes == 1) near = 1;
  while (near > 1 && !are_near(b, s, near)) near /= 2;
  s->near = near;
}

/* Sets the threads of a run whose order does not matter: 16 elements for each, fewer if threads
 * would be idle. */
static void spread_exact(const nxb_binder *b, nxb_spread *s) {
  int64_t run = longest_run(b), rows = nxb_gpu_points_of(b),
          most = b->threads * s->near / s->columns;
  s->threads = power_of_two_from(nxb_ceil(run * s->near, WRITTEN_OUT));
  while (s->threads < run && rows * s->threads / s->near < MANY_THREADS) s->threads *= 2;
  if (s->threads * s->columns < NXB_WARP * s->near) s->threads = NXB_WARP * s->near / s->columns;
  if (s->threads > most) s->threads = most;
  s->lanes = s->threads;
}

nxb_spread nxb_gpu_spread(const nxb_binder *b) {
  nxb_spread s;
  common_order(b, &s);
  s.own = most_own(b);
  set_columns(b, &s);
  set_near(b, &s);
  if (s.items == INT64_MAX) {
    spread_exact(b, &s);
    return s;
  }
  int64_t run = longest_run(b), rows = nxb_gpu_points_of(b), most = b->threads * s.near / s.columns;
  int64_t blocks = power_of_two_from(nxb_ceil(run, s.lanes * s.items)), at_once = 1;
  while (at_once < blocks && at_once * s.lanes < most &&
         (at_once * s.lanes * s.columns < NXB_WARP * s.near || blocks / at_once > 1 ||
          rows * at_once * s.lanes / s.near < MANY_THREADS))
    at_once *= 2;
  s.threads = s.lanes * at_once;
  return s;
}

nxb_share nxb_gpu_share(const nxb_binder *b, const nxb_spread *s, const nxb_stage *stage) {
  int64_t run = stage->points, at_once = s->threads / s->lanes;
  nxb_share h = {.stage = stage, .blocks = 1, .items = nxb_ceil(run, s->lanes)};
  if (s->items != INT64_MAX) {
    h.blocks = power_of_two_from(nxb_ceil(nxb_ceil(run, s->lanes * s->items), at_once));
    if (h.items > s->items) h.items = s->items;
  } else if (h.items * s->near > s->own && h.items * s->near > WRITTEN_OUT) {
    h.blocks = nxb_ceil(h.items, WRITTEN_OUT / s->near);
    h.items = WRITTEN_OUT / s->near;
  }
  int64_t items = s->items == INT64_MAX ? h.items : s->items;
  h.all = at_once * h.blocks * items * s->lanes == run && h.items == items;
  h.whole = s->items != INT64_MAX && run % (s->items * s->lanes) == 0;
  int64_t each = s->wide * s->near;
  h.unrolled = h.blocks * h.items * each <= s->own;
  h.written = h.unrolled || h.items * each * cost_of(b, stage) <= 2 * MOST_CODE;
  return h;
}

/* Runs of a block. */
int64_t nxb_gpu_runs(const nxb_binder *b, const nxb_spread *s) {
  return b->threads * s->near / s->threads * s->wide;
}

/* Whether elements that stages pass on, or load once more, are in registers. */
bool nxb_gpu_keeps(const nxb_binder *b, const nxb_spread *s) {
  for (uint32_t i = 0; i < b->region->n_stages && b->region->n_stages > 1; i++)
    if (!nxb_gpu_share(b, s, &b->region->stages[i]).unrolled) return false;
  return true;
}

/* The most elements of a run that a thread has in any stage. */
int64_t nxb_gpu_longest_own(const nxb_binder *b, const nxb_spread *s) {
  int64_t most = 1;
  for (uint32_t i = 0; i < b->region->n_stages; i++) {
    nxb_share h = nxb_gpu_share(b, s, &b->region->stages[i]);
    if (h.blocks * h.items > most) most = h.blocks * h.items;
  }
  return most;
}

/* Blocks of threads for the region. */
static int64_t blocks_of(const nxb_binder *b, const nxb_spread *s) {
  return nxb_ceil(nxb_gpu_points_of(b), nxb_gpu_runs(b, s));
}

/* Whether blocks of twice the threads would only be fewer, so that multiprocessors are idle. */
static bool merge_blocks(const nxb_binder *b, int64_t blocks) {
  nxb_binder twice = *b;
  twice.threads *= 2;
  nxb_spread s = nxb_gpu_spread(&twice);
  int64_t left = blocks_of(&twice, &s);
  return left < blocks && left < FEW_BLOCKS;
}

uint16_t nxb_gpu_rows_threads(const nxb_binder *b, uint16_t most) {
  nxb_binder with = *b;
  for (; with.threads < most; with.threads *= 2) {
    nxb_spread s = nxb_gpu_spread(&with);
    int64_t blocks = blocks_of(&with, &s);
    bool more = longest_run(b) >= 2 * LEAST_OWN * with.threads &&
                2 * WRITTEN_OUT * s.wide * with.threads <= REGISTERS;
    if (s.threads * s.columns < with.threads * s.near || !more || merge_blocks(&with, blocks) ||
        (blocks >= FEW_BLOCKS && nxb_gpu_keeps(&with, &s)))
      break;
  }
  return with.threads;
}
