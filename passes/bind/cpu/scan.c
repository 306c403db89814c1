/* SPDX-License-Identifier: ISC */
/* Scans in the CPU binder. The loops of a scan's stage run in order. They carry the result of all
 * blocks before the current one, and the result within the block, which ends after 1024 elements
 * (docs/numerics.md). Lanes run along an outer loop that memory is contiguous along, in vectors of
 * several registers, so that a step reads a few cache lines. If memory is contiguous along the scan
 * itself, each lane is a row: square blocks are loaded and transposed in registers, and transposed
 * back before they are stored, two beside each other where that makes whole cache lines. What is
 * left of the rows is a block under a mask where that is possible, else element after element. */
#include <string.h>

#include "scan.h"

bool nxb_scans(const nxb_binder *b, nxk_value first, nxk_value last) {
  for (nxk_value v = first; v <= last; v++)
    if (b->from->instrs[v].op == NXK_scan) return true;
  return false;
}

/* What the scans of a stage carry, for each lane map: one number for each scan. The products of
 * complex numbers have two, which the scan of the real and that of the imaginary region share. */
typedef struct carried {
  uint32_t n;      /* numbers */
  nxk_value *scan; /* the first scan that a number belongs to */
  /* for each scan, in order: the index of its number, or of the first of two */
  uint32_t *slot;
  nxk_value *before, *within; /* [lane map * n + slot] */
  bool pairs;
  nxk_value lo;        /* for complex products: the number of the first element of the block */
  nxk_value starts[2]; /* whether the element is the first of its block; of the run */
  nxk_value opens;     /* whether the block is the first one; NXK_NONE: there is no other */
  nxb_scan_rows *rows; /* or NULL */
  int64_t at;          /* element of the block that is being written; -1: of no block */
  nxk_value element;   /* its number in the run */
} carried;

static bool takes_pairs(const nxb_binder *b, nxk_value scan) {
  return nxk_takes_pairs(b->from->instrs[scan].kind);
}
static uint32_t width_of(const nxb_binder *b, nxk_value scan) {
  return takes_pairs(b, scan) ? 2 : 1;
}

/* Combines x and y. For complex products the result is y where `first` holds, because nothing
 * precedes y there; other scans have an identity in x. */
static void combine(nxb_binder *b, nxk_value scan, nxk_value first, const nxk_value *x,
                    const nxk_value *y, nxk_value *out) {
  if (!takes_pairs(b, scan)) {
    *out = nxb_op(b, nxk_reduce_op(b->from->instrs[scan].kind), *x, *y);
    return;
  }
  nxk_value args[4] = {x[0], x[1], y[0], y[1]}, made[2] = {NXK_NONE, NXK_NONE};
  nxk_expand_parts(b->to, true, args, made);
  for (int k = 0; k < 2 && !b->to->failed; k++)
    out[k] = NXK_SCALAR3(b->to, NXK_select, first, args[2 + k], made[k]);
}

static nxk_value identity(nxb_binder *b, nxk_value scan, uint16_t lanes) {
  const nxk_instr *in = &b->from->instrs[scan];
  uint64_t bits = nxk_reduce_identity((nxk_reduce_kind)in->kind, (nx_dtype)in->dtype);
  return nxk_splat(b->to, nxk_const(b->to, in->dtype, bits), lanes);
}

/* Whether u and v are the two regions of the same complex products. */
static bool share(const nxb_binder *b, nxk_value u, nxk_value v) {
  const nxk_instr *x = &b->from->instrs[u], *y = &b->from->instrs[v];
  return takes_pairs(b, u) && takes_pairs(b, v) && x->order == y->order &&
         x->args[0] == y->args[0] && x->args[1] == y->args[1];
}

static bool collect(nxb_binder *b, const nxb_stage *s, uint32_t n_maps, carried *c) {
  uint32_t scans = 0;
  for (nxk_value v = s->first; v <= s->last; v++) scans += b->from->instrs[v].op == NXK_scan;
  c->scan = nxb_alloc(b, 2 * scans * sizeof *c->scan);
  c->slot = nxb_alloc(b, scans * sizeof *c->slot);
  if (b->failed) return false;
  scans = 0;
  for (nxk_value v = s->first; v <= s->last; v++) {
    if (b->from->instrs[v].op != NXK_scan) continue;
    uint32_t slot = 0;
    while (slot < c->n && !share(b, c->scan[slot], v)) slot++;
    c->slot[scans++] = slot;
    c->pairs = c->pairs || takes_pairs(b, v);
    for (uint32_t k = 0; slot + k == c->n && k < width_of(b, v); k++) c->scan[c->n++] = v;
  }
  c->before = nxb_alloc(b, (size_t)n_maps * c->n * sizeof *c->before);
  c->within = nxb_alloc(b, (size_t)n_maps * c->n * sizeof *c->within);
  c->opens = NXK_NONE;
  return !b->failed;
}

/* Whether the scan is sequential: it then has no blocks, and `within` is the result of all elements
 * before. */
static bool in_order(const nxb_binder *b, nxk_value scan) {
  return b->from->instrs[scan].order == NXK_ORDER_SEQUENTIAL;
}

/* Writes the carries of a loop, for all lane maps; they stand at the beginning of its body. */
static void open_carries(nxb_binder *b, uint32_t n, const nxk_value *initial, nxk_value *current) {
  for (uint32_t i = 0; i < n && !b->to->failed; i++) current[i] = nxk_carry(b->to, initial[i]);
}

/* Updates what one lane map carries for an element, and sets the value of the scan there. */
static void write_scan(nxb_binder *b, nxb_lane_map *map, const carried *c, nxk_value scan,
                       uint32_t slot, nxk_value *within, nxk_value *before, nxk_value *next) {
  const nxk_instr *in = &b->from->instrs[scan];
  nxk_value x[2] = {nxb_wide(b, map, in->args[0]), NXK_NONE}, y[2];
  uint32_t width = width_of(b, scan);
  if (width == 2) x[1] = nxb_wide(b, map, in->args[1]);
  if (c->scan[slot] == scan) combine(b, scan, c->starts[in_order(b, scan)], within, x, next);
  memcpy(y, next, width * sizeof *y);
  if (!in_order(b, scan) && (width == 1 || c->opens != NXK_NONE))
    combine(b, scan, c->opens, before, next, y);
  nxb_set_value(map, scan, y[in->kind == NXK_PROD_IMAG], 0);
}

/* Writes one element for each lane map; next[i]: the new values of the carries. */
static void write_element(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_stage *s,
                          const carried *c, nxk_value *next) {
  uint32_t scan = 0;
  for (nxk_value v = s->first; v <= s->last && !b->to->failed && !b->failed; v++) {
    nxk_op op = (nxk_op)b->from->instrs[v].op;
    nxk_value written = v;
    if (c->at >= 0 && c->rows->turned[v]) {
      if (op == NXK_load) nxb_set_value(maps, v, c->rows->tile[v][c->at], 0);
      else c->rows->tile[v][c->at] = nxb_wide(b, maps, b->from->instrs[v].args[0]);
      continue;
    }
    if (op == NXK_store && c->rows != NULL && c->rows->staged[v] != NXK_NONE) {
      nxb_stage_column(b, maps, s, c->rows, v, c->element);
      continue;
    }
    for (uint32_t i = 0; i < n_maps && nxb_is_code(op); i++) written = nxb_write(b, &maps[i], v);
    for (uint32_t i = 0; i < n_maps && op == NXK_scan && !b->to->failed; i++) {
      uint32_t at = i * c->n + c->slot[scan];
      write_scan(b, &maps[i], c, v, c->slot[scan], c->within + at, c->before + at, next + at);
    }
    scan += op == NXK_scan;
    v = written;
  }
}

/* Sets a lane map to `lanes` elements of one row, from `at` on, which is a multiple of their
 * number. */
static void show_row(nxb_binder *b, nxb_lane_map *row, const nxb_stage *s, const nxb_scan_rows *r,
                     nxk_value at, int64_t number, int64_t lanes) {
  row->lanes = (uint16_t)lanes;
  row->vector = s->loops[0].value;
  row->base_multiple = lanes;
  nxb_set_index(b, row, &s->loops[0], at, true);
  nxb_set_index(b, row, &r->across, nxb_add(b, r->first, number), false);
  if (r->end != NXK_NONE && !b->to->failed)
    row->active = nxk_active(b->to, at, r->end, (uint16_t)lanes);
}

/* How many elements beyond load v are prefetched. */
static int64_t ahead_of(const nxb_binder *b, const nxb_scan_rows *r, nxk_value v) {
  bool computed;
  if (!r->by_rows) return r->ahead;
  const nxk_access *a = &b->from->accesses[b->from->instrs[v].imm];
  int64_t apart = nxb_stride(b, a, r->across.value, &computed);
  return computed || apart < 0 ? 0 : r->side * apart;
}

static void turn_over(nxb_binder *b, const nxb_scan_rows *r, nxk_value *tile) {
  for (int64_t q = 0; q < r->columns && !b->to->failed && !b->failed; q += r->side)
    nxb_turn_over(b, tile + q, r->side);
}

static void load_tiles(nxb_binder *b, const nxb_lane_map *map, const nxb_stage *s,
                       const nxb_scan_rows *r, nxk_value at) {
  for (nxk_value v = s->first; v <= s->last && !b->to->failed && !b->failed; v++) {
    nxb_lane_map row;
    if (!r->turned[v] || b->from->instrs[v].op != NXK_load || !nxb_lane_map_copy(b, &row, map))
      continue;
    for (int64_t q = 0; q < r->columns && !b->to->failed && !b->failed; q++) {
      nxk_value row_at = nxb_add(b, at, q / r->side * r->side);
      show_row(b, &row, s, r, row_at, q % r->side, r->side);
      row.prefetch = q < r->side ? ahead_of(b, r, v) : 0;
      if (r->staged[v] == NXK_NONE) nxb_write(b, &row, v);
      r->tile[v][q] = r->staged[v] == NXK_NONE ? nxb_wide(b, &row, v)
                                               : nxb_fetched_row(b, r, s, v, row_at, q % r->side);
    }
    turn_over(b, r, r->tile[v]);
  }
}

static void store_tiles(nxb_binder *b, const nxb_lane_map *map, const nxb_stage *s,
                        const nxb_scan_rows *r, nxk_value at) {
  for (nxk_value v = s->first; v <= s->last && !b->to->failed && !b->failed; v++) {
    nxb_lane_map row;
    if (!r->turned[v] || b->from->instrs[v].op != NXK_store || !nxb_lane_map_copy(b, &row, map))
      continue;
    turn_over(b, r, r->tile[v]);
    for (int64_t q = 0; q < r->side && !b->to->failed && !b->failed; q++) {
      nxk_value value = r->tile[v][q];
      if (r->beside > 1) value = nxk_concat(b->to, value, r->tile[v][r->side + q]);
      show_row(b, &row, s, r, at, q, r->columns);
      if (r->staged[v] != NXK_NONE) {
        nxb_stage_row(b, r, s, v, at, q, value, row.active);
        continue;
      }
      row.prefetch = ahead_of(b, r, v);
      nxb_set_value(&row, b->from->instrs[v].args[0], value, 0);
      nxb_write(b, &row, v);
    }
  }
}

/* Writes the element at `at`, or square blocks from there on; next[i]: the new values of the
 * carries. */
static void write_step(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_stage *s,
                       carried *c, bool square, nxk_value at, nxk_value *next) {
  uint32_t n = n_maps * c->n;
  if (square) load_tiles(b, maps, s, c->rows, at);
  for (int64_t q = 0; q < (square ? c->rows->columns : 1) && !b->to->failed && !b->failed; q++) {
    c->at = square ? q : -1;
    nxk_value element = c->element = nxb_add(b, at, q);
    for (uint32_t i = 0; i < n_maps; i++) nxb_set_point(b, &maps[i], s, element, 1);
    if (c->pairs) {
      c->starts[0] = nxb_op(b, NXK_eq, element, c->lo);
      c->starts[1] = nxb_op(b, NXK_eq, element, nxb_int(b, 0));
    }
    write_element(b, maps, n_maps, s, c, next);
    for (uint32_t i = 0; square && i < n; i++) c->within[i] = next[i];
  }
  c->at = -1;
  if (square) store_tiles(b, maps, s, c->rows, at);
}

/* Writes a loop over the elements lo .. hi of the run, or over square blocks of them. c->within is
 * the initial value of the carries, and their final value afterwards. */
static void write_loop(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_stage *s,
                       carried *c, bool square, nxk_bound_value lo, nxk_bound_value hi) {
  uint32_t n = n_maps * c->n;
  nxk_value *next = nxb_alloc(b, n * sizeof *next), *current = nxb_alloc(b, n * sizeof *current),
            *passed = nxb_alloc(b, n * sizeof *passed), *initial = c->within;
  if (b->failed) return;
  nxk_value at = nxk_begin_for(b->to, NXK_SEQ, lo, hi, square ? c->rows->columns : 1);
  open_carries(b, n, initial, current);
  memcpy(passed, current, n * sizeof *passed);
  c->within = passed;
  write_step(b, maps, n_maps, s, c, square, at, next);
  for (uint32_t i = 0; i < n && !b->to->failed; i++) nxk_next(b->to, current[i], next[i]);
  nxk_end(b->to);
  memcpy(initial, current, n * sizeof *initial); /* visible after their loop */
  c->within = initial;
}

/* lo is a multiple of the columns of the square blocks. */
static void write_run(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_stage *s,
                      carried *c, nxk_bound_value lo, nxk_bound_value hi) {
  int64_t columns = c->rows != NULL ? c->rows->columns : 1;
  if (columns > 1) {
    nxk_value whole = nxb_int(b, -columns); /* first, whatever order a compiler has */
    nxk_value squares = nxb_op(b, NXK_and, nxb_bound_value(b, hi), whole);
    if (b->to->failed) return;
    write_loop(b, maps, n_maps, s, c, true, lo, nxb_bound_of(b, squares));
    lo = nxb_bound_of(b, squares);
    if (s->points % columns == 0 && !b->target->generic) return;
  }
  bool masked = columns > 1 && c->rows->masks;
  if (masked) c->rows->end = nxb_bound_value(b, hi);
  write_loop(b, maps, n_maps, s, c, masked, lo, hi);
  if (masked) c->rows->end = NXK_NONE;
}

static void start(nxb_binder *b, const nxb_lane_map *maps, uint32_t n_maps, const carried *c,
                  nxk_value *values) {
  for (uint32_t i = 0; i < n_maps * c->n && !b->to->failed; i++)
    values[i] = identity(b, c->scan[i % c->n], maps[i / c->n].lanes);
}

/* Whether a scan of the stage has more than one block of 1024 elements. In the generic form, too:
 * what blocks before add to each element takes a seventh of the time of rows of 1,000. */
static bool in_blocks(const nxb_binder *b, const carried *c, const nxb_stage *s) {
  bool any = false;
  for (uint32_t i = 0; i < c->n; i++) any = any || !in_order(b, c->scan[i]);
  return any && s->points > NXK_SCAN_BLOCK;
}

static void write_blocks(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_stage *s,
                         carried *c) {
  uint32_t n = n_maps * c->n;
  nxk_value *initial = nxb_alloc(b, n * sizeof *initial), *next = nxb_alloc(b, n * sizeof *next);
  if (b->failed) return;
  start(b, maps, n_maps, c, initial);
  nxk_value block = nxk_begin_for(b->to, NXK_SEQ, nxk_bound_const(0),
                                  nxk_bound_const(nxb_ceil(s->points, NXK_SCAN_BLOCK)), 1);
  open_carries(b, n, initial, c->before);
  nxk_value lo = nxb_mul(b, block, NXK_SCAN_BLOCK), hi = nxb_add(b, lo, NXK_SCAN_BLOCK);
  if (b->target->generic || s->points % NXK_SCAN_BLOCK != 0)
    hi = nxb_op(b, NXK_min, hi, nxb_int(b, s->points));
  start(b, maps, n_maps, c, c->within);
  for (uint32_t i = 0; i < n; i++)
    if (in_order(b, c->scan[i % c->n])) c->within[i] = c->before[i];
  c->lo = lo;
  c->opens = nxb_op(b, NXK_eq, block, nxb_int(b, 0));
  write_run(b, maps, n_maps, s, c, nxk_bound_of(lo), nxk_bound_of(hi));
  for (uint32_t i = 0; i < n && !b->to->failed; i += width_of(b, c->scan[i % c->n])) {
    nxk_value scan = c->scan[i % c->n];
    memcpy(next + i, c->within + i, width_of(b, scan) * sizeof *next);
    if (!in_order(b, scan)) combine(b, scan, c->opens, c->before + i, c->within + i, next + i);
  }
  for (uint32_t i = 0; i < n && !b->to->failed; i++) nxk_next(b->to, c->before[i], next[i]);
  nxk_end(b->to);
}

static void write_scans(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_stage *s,
                        nxb_scan_rows *r) {
  carried c = {.rows = r, .at = -1};
  if (!s->simple) {
    nxi_fail(b->diag, NX_INTERNAL, "", "kernel %s: the loops of %%%u are not one nest",
             b->from->name, s->first);
    return;
  }
  if (!collect(b, s, n_maps, &c)) return;
  if (in_blocks(b, &c, s)) {
    write_blocks(b, maps, n_maps, s, &c);
    return;
  }
  start(b, maps, n_maps, &c, c.before);
  start(b, maps, n_maps, &c, c.within);
  c.lo = nxb_int(b, 0);
  write_run(b, maps, n_maps, s, &c, nxk_bound_const(0), nxk_bound_const(s->points));
}

void nxb_write_scans(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_stage *s) {
  write_scans(b, maps, n_maps, s, NULL);
}

/* ---- a region */

/* True if no access has a constant distance of more than one element along the loop. */
static bool contiguous_along(const nxb_binder *b, nxk_value loop) {
  for (nxk_value v = b->region->first; v <= b->region->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    bool computed;
    if (in->op != NXK_load && in->op != NXK_store) continue;
    int64_t stride = nxb_stride(b, &b->from->accesses[in->imm], loop, &computed);
    if (!computed && (stride < -1 || stride > 1)) return false;
  }
  return true;
}

/* Whether this load or store is contiguous along the scan and not masked, so that it can go through
 * transposed blocks. */
static bool is_turned(const nxb_binder *b, nxk_value v, const nxb_loop *loop) {
  const nxk_instr *in = &b->from->instrs[v];
  bool computed;
  if (in->op != NXK_load && in->op != NXK_store) return false;
  const nxk_access *a = &b->from->accesses[in->imm];
  if (a->mask != NXK_NONE || a->index != NXK_NONE ||
      b->from->buffers[a->buffer].kind == NXK_LOCAL ||
      nxb_stride(b, a, loop->value, &computed) != 1)
    return false;
  nxk_op value = in->op == NXK_store ? (nxk_op)b->from->instrs[in->args[0]].op : NXK_load;
  return !computed && value != NXK_const && value != NXK_param;
}

/* The longest code for which square blocks are used: it is written out for each element of a row of
 * the block. */
enum { LONG_CODE = 48 };

/* Bytes between what is read of a row and what is prefetched of it. A block reads a line of each of
 * as many rows as it has, which are more streams than a prefetcher of the processor follows. */
enum { AHEAD = 512 };

/* Whether the buffers that the stage reads exceed the private cache of a core. */
static bool reads_pass_own_cache(const nxb_binder *b, const nxb_stage *s) {
  int64_t bytes = 0;
  for (nxk_value v = s->first; v <= s->last; v++) {
    if (b->from->instrs[v].op != NXK_load) continue;
    const nxk_buffer *from = &b->from->buffers[b->from->accesses[b->from->instrs[v].imm].buffer];
    bytes += from->elements * (int64_t)nxi_dtype_size(from->dtype);
  }
  return bytes > b->target->l2_bytes;
}

/* Whether the last columns are written as a block under a mask: no element behind the row is
 * accessed for it. One column is quicker by itself. */
static bool may_mask(const nxb_binder *b, const nxb_scan_rows *r, const nxb_stage *s) {
  bool may = nxb_masks_well(b, s->first, s->last);
  for (nxk_value v = s->first; v <= s->last && may; v++) {
    nxk_op op = (nxk_op)b->from->instrs[v].op;
    may = r->turned[v] || (op != NXK_load && op != NXK_store);
  }
  return may && (b->target->generic || s->points % r->columns > 1);
}

/* Plans the scan of rows in lanes; false if that is not possible, or there are too few rows. */
static bool plan_rows(nxb_binder *b, nxb_scan_rows *r, uint32_t *at) {
  const nxb_region *p = b->region;
  const nxb_stage *s = p->stages;
  int64_t widest = 1;
  bool any = false;
  if (p->n_stages != 1 || !s->simple || s->n_loops != 1 || s->loops[0].lower != 0 ||
      s->loops[0].step != 1 || p->n_outer == 0 || nxb_code_cost(b, s->first, s->last) > LONG_CODE)
    return false;
  r->turned = nxb_alloc(b, b->from->n_instrs * sizeof *r->turned);
  r->tile = nxb_alloc(b, b->from->n_instrs * sizeof *r->tile);
  if (b->failed) return false;
  for (nxk_value v = s->first; v <= s->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (in->op == NXK_scan && takes_pairs(b, v)) return false; /* much code */
    r->turned[v] = is_turned(b, v, &s->loops[0]);
    any = any || r->turned[v];
    nx_dtype t = in->op == NXK_store ? nxk_dtype(b->from, in->args[0]) : (nx_dtype)in->dtype;
    int64_t size = r->turned[v] || in->op == NXK_scan ? nxi_dtype_size(t) : 1;
    if (size > widest) widest = size;
  }
  r->side = b->target->vector_bytes / widest < 16 ? b->target->vector_bytes / widest : 16;
  int64_t line = nxb_line_lanes(b, s->first, s->last, s->loops[0].value);
  r->beside = line == 2 * r->side && s->points >= line ? 2 : 1;
  r->columns = r->side * r->beside;
  bool fetches = reads_pass_own_cache(b, s), brief = s->points * widest < 2 * AHEAD;
  r->ahead = fetches && !brief ? AHEAD / widest : 0;
  r->by_rows = fetches && brief && !b->target->generic;
  r->masks = may_mask(b, r, s);
  for (*at = p->n_outer; (*at)-- > 0;)
    if (p->outer[*at].extent >= r->side && p->outer[*at].step == 1 && p->outer[*at].lower == 0)
      break;
  return any && *at < p->n_outer && r->side >= 4 && s->points >= r->side &&
         (p->outer[*at].extent % r->side == 0 || nxb_repeats(b, p->first, p->last));
}

static bool write_stage(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_stage *s,
                        void *user) {
  if (!nxb_scans(b, s->first, s->last)) return false;
  write_scans(b, maps, n_maps, s, user);
  return true;
}

/* Writes the region with `side` rows at a time. The last ones may overlap the ones before. */
static void bind_rows(nxb_binder *b, nxb_scan_rows *r, uint32_t at) {
  const nxb_region *p = b->region;
  nxb_nest nest = {.n = 0};
  nxb_lane_map map, before;
  for (uint32_t i = 0; i < p->n_outer; i++)
    if (i != at) nest.dims[nest.n++] = nxb_outer_dim(b, i, NXB_POINT, 1);
  nxb_dim *rows_dim = &nest.dims[nest.n++];
  *rows_dim = nxb_outer_dim(b, at, NXB_RANGE, r->side);
  if (!nxb_lane_map_init(b, &map) || !nxb_stage_rows(b, r, p->stages)) return;
  nxb_open(b, &nest, &map, nxb_point_cycles(b) * (double)r->side);
  if (!b->to->failed && !b->failed) {
    bool whole = !b->target->generic && r->across.extent % r->side == 0;
    nxk_value lo = rows_dim->lo, hi = rows_dim->hi,
              last = whole ? NXK_NONE : nxb_add(b, hi, -r->side);
    r->first = nxk_begin_for(b->to, NXK_SEQ, nxb_bound_of(b, lo), nxb_bound_of(b, hi), r->side);
    r->group = r->first;
    if (last != NXK_NONE) r->first = nxb_op(b, NXK_min, r->first, last);
    map.lanes = (uint16_t)r->side;
    map.vector = r->across.value;
    nxb_set_index(b, &map, &r->across, r->first, true);
    nxb_write_ready(b, &map);
    if (!nxb_lane_map_copy(b, &before, &map)) return;
    nxb_fetch_staged(b, &before, r, p->stages);
    nxb_write_body(b, &map, 1, p->body_first, p->body_last, write_stage, r);
    nxb_write_staged(b, &before, r, p->stages, hi);
    nxk_end(b->to);
  }
  nxb_close(b, &nest);
}

void nxb_bind_scans(nxb_binder *b) {
  const nxb_region *p = b->region;
  nxk_value best = NXK_NONE;
  nxb_scan_rows r = {.side = 1, .end = NXK_NONE};
  uint32_t at;
  for (uint32_t i = 0; i < p->n_outer; i++)
    if (p->outer[i].extent > 1 && contiguous_along(b, p->outer[i].value)) best = p->outer[i].value;
  if (best == NXK_NONE && plan_rows(b, &r, &at)) {
    r.across = p->outer[at];
    bind_rows(b, &r, at);
  } else if (!b->failed) {
    nxb_bind_points(b, best);
  }
}
