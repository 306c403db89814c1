/* SPDX-License-Identifier: ISC */
/* Index set splitting. Arrays that are joined, padded or rolled are lowered to one loop over all
 * points with conditions that choose the operand. This pass cuts the outer loops of a region where
 * such conditions change. Each box becomes a region of its own, in which the conditions are
 * constant, so that its loads need no masks.
 *
 * A condition counts if it compares affine forms of the outer loops that differ in one loop
 * only. Loops are cut from the outermost on. The number of boxes is bounded by the amount of
 * code that they produce; beyond that bound, and in boxes too small to be cut further, loads
 * keep their masks. A cut of the loop along which stores are contiguous is moved to the cache
 * lines on both sides of it if the stores go past the caches, so that all other stores are whole
 * cache lines.
 *
 * Loops of reductions are not cut: only independent points are, so the order of additions stays.
 * Needs: logical level. Keeps: bits. */
#include <string.h>

#include "passes/bind/bind.h"
#include "passes.h"

/* MOST_CODE: operations in all boxes of a region together. LEAST_POINTS: a region with fewer points
 * is not cut. SMALL_SHARE: a box with less than this fraction of all points is small. MOST_CUTS:
 * cuts of one loop. DEPTH: depth to which operands are followed. SHORT_ROW, LONG_ROW: bytes of a
 * row, see short_rows and is_written_at_once. */
enum {
  MOST_BOXES = 16,
  MOST_CODE = 2000,
  LEAST_POINTS = 1024,
  SMALL_SHARE = 32,
  MOST_CUTS = 1024,
  DEPTH = 12,
  SHORT_ROW = 256,
  LONG_ROW = 1 << 15,
  MANY_ROWS = 64
};

typedef struct form {
  int64_t constant, coefficient[NXB_MAX_DIMS];
} form;

/* left < right (threshold 1) or left <= right (0), as right - left >= threshold. */
typedef struct condition {
  nxk_value v;
  int64_t threshold;
  form difference;
} condition;

typedef struct box {
  int64_t low[NXB_MAX_DIMS], count[NXB_MAX_DIMS];
} box;

typedef struct cutter {
  nxb_binder b; /* what is known about the kernel */
  nxb_region region;
  condition *conditions;
  uint32_t n_conditions;
  box boxes[MOST_BOXES];
  uint32_t n_boxes;
  int64_t points; /* points of the region */
  /* > 1: elements of a cache line, to multiples of which cuts of the last outer loop are moved */
  int64_t line;
  int64_t row_bytes; /* of a row, the last outer loop */
  /* a row is a few cache lines; if rows were cut, each box would go over all these lines
   * again */
  bool short_rows;
  nxk_kernel *to;
  nxk_value *map;
} cutter;

/* ---- conditions */

static bool add_scaled(form *to, const form *x, int64_t scale, uint32_t n) {
  bool over = __builtin_mul_overflow(x->constant, scale, &(int64_t){0});
  to->constant += over ? 0 : x->constant * scale;
  for (uint32_t i = 0; i < n; i++) to->coefficient[i] += x->coefficient[i] * scale;
  return !over;
}

static bool is_small(const form *f, uint32_t n) {
  const int64_t most = INT64_C(1) << 40;
  bool small = f->constant > -most && f->constant < most;
  for (uint32_t i = 0; i < n; i++)
    small = small && f->coefficient[i] > -most && f->coefficient[i] < most;
  return small;
}

/* Finds the value as an affine form of the outer loops. False: it is not one. */
static bool find_form(const cutter *c, nxk_value v, form *f, int depth) {
  const nxk_kernel *k = c->b.from;
  const nxk_instr *in = &k->instrs[v];
  form x, y;
  memset(f, 0, sizeof *f);
  if (in->dtype != NX_I64 || depth == 0) return false;
  if (in->op == NXK_const) {
    f->constant = (int64_t)in->imm;
    return is_small(f, 0);
  }
  for (uint32_t i = 0; i < c->region.n_outer; i++)
    if (c->region.outer[i].value == v) {
      f->coefficient[i] = 1;
      return true;
    }
  if (in->op != NXK_add && in->op != NXK_sub && in->op != NXK_mul) return false;
  if (!find_form(c, in->args[0], &x, depth - 1) || !find_form(c, in->args[1], &y, depth - 1))
    return false;
  uint32_t n = c->region.n_outer;
  bool ok = true;
  if (in->op == NXK_mul) {
    const nxk_instr *factor = &k->instrs[in->args[1]];
    if (factor->op != NXK_const) return false;
    ok = add_scaled(f, &x, (int64_t)factor->imm, n);
  } else {
    ok = add_scaled(f, &x, 1, n) && add_scaled(f, &y, in->op == NXK_add ? 1 : -1, n);
  }
  return ok && is_small(f, n);
}

static void note_condition(cutter *c, nxk_value v) {
  const nxk_instr *in = &c->b.from->instrs[v];
  form left, right;
  if ((in->op != NXK_lt && in->op != NXK_le) || !find_form(c, in->args[0], &left, DEPTH) ||
      !find_form(c, in->args[1], &right, DEPTH))
    return;
  condition *to = &c->conditions[c->n_conditions++];
  *to = (condition){v, in->op == NXK_lt, right};
  add_scaled(&to->difference, &left, -1, c->region.n_outer);
}

/* 1: the condition holds at every point of the box, 0: at none, -1: at some. */
static int truth_in(const cutter *c, const condition *q, const box *r) {
  int64_t low = q->difference.constant, high = low;
  for (uint32_t i = 0; i < c->region.n_outer; i++) {
    int64_t a = q->difference.coefficient[i];
    int64_t first = a * r->low[i], last = a * (r->low[i] + r->count[i] - 1);
    low += first < last ? first : last;
    high += first < last ? last : first;
  }
  return low >= q->threshold ? 1 : high < q->threshold ? 0 : -1;
}

static int64_t floor_div(int64_t a, int64_t d) { /* d > 0 */ return a / d - (a % d < 0); }

/* Finds where the condition changes along loop d in the box: the first index after the change.
 * False: it does not change, or it depends on other loops too. */
static bool find_cut(const cutter *c, const condition *q, const box *r, uint32_t d, int64_t *cut) {
  int64_t a = q->difference.coefficient[d], rest = q->threshold - q->difference.constant;
  if (a == 0 || truth_in(c, q, r) >= 0) return false;
  for (uint32_t i = 0; i < c->region.n_outer; i++) {
    if (i == d || q->difference.coefficient[i] == 0) continue;
    if (r->count[i] != 1) return false;
    rest -= q->difference.coefficient[i] * r->low[i];
  }
  *cut = a > 0 ? -floor_div(-rest, a) : floor_div(-rest, -a) + 1;
  return *cut > r->low[d] && *cut < r->low[d] + r->count[d];
}

/* ---- boxes */

static void insert_cut(int64_t *cuts, uint32_t *n, int64_t cut) {
  uint32_t at = *n;
  while (at > 0 && cuts[at - 1] > cut) at--;
  if ((at > 0 && cuts[at - 1] == cut) || *n == MOST_CUTS) return;
  memmove(cuts + at + 1, cuts + at, (*n - at) * sizeof *cuts);
  cuts[at] = cut;
  ++*n;
}

/* Removes cuts until `most` pieces are left, each time the cut between the two neighbouring pieces
 * that are shortest together. */
static void merge_pieces(int64_t *cuts, uint32_t *n, const box *r, uint32_t d, uint32_t most) {
  while (*n + 1 > most) {
    uint32_t best = 0;
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < *n; i++) {
      int64_t before = i > 0 ? cuts[i - 1] : r->low[d],
              after = i + 1 < *n ? cuts[i + 1] : r->low[d] + r->count[d];
      if (after - before >= least) continue;
      least = after - before;
      best = i;
    }
    --*n;
    memmove(cuts + best, cuts + best + 1, (*n - best) * sizeof *cuts);
  }
}

static int64_t points_of(const cutter *c, const box *r) {
  int64_t n = 1;
  for (uint32_t i = 0; i < c->region.n_outer; i++) n *= r->count[i];
  return n;
}

static bool is_small_box(const cutter *c, const box *r) {
  return points_of(c, r) < c->points / SMALL_SHARE;
}

static uint32_t find_cuts(const cutter *c, const box *r, uint32_t d, int64_t *cuts) {
  uint32_t n = 0;
  int64_t cut, line = d + 1 == c->region.n_outer ? c->line : 1;
  if (c->short_rows && d > 0 && d + 1 == c->region.n_outer) return 0;
  for (uint32_t i = 0; i < c->n_conditions; i++) {
    if (!find_cut(c, &c->conditions[i], r, d, &cut)) continue;
    int64_t low = cut / line * line, high = low == cut ? cut : low + line;
    if (low > r->low[d]) insert_cut(cuts, &n, low);
    if (high < r->low[d] + r->count[d]) insert_cut(cuts, &n, high);
  }
  return n;
}

/* Whether the last loop is not cut although its conditions change there, as in rows of joined
 * arrays. If each piece were a box, every row would be written at several times, and the pieces
 * would not begin at cache lines. The pass `ranges` cuts such loops within the row instead. If
 * nearly all of a row is one piece, as with a border, the loop is cut here. */
static bool is_written_at_once(const cutter *c, const box *r, uint32_t d, const int64_t *cuts,
                               uint32_t n) {
  int64_t longest = 0, row = r->count[d];
  if (d == 0 || d + 1 < c->region.n_outer || c->row_bytes > LONG_ROW ||
      points_of(c, r) < MANY_ROWS * row)
    return false;
  for (uint32_t i = 0; i <= n; i++) {
    int64_t piece = (i < n ? cuts[i] : r->low[d] + row) - (i > 0 ? cuts[i - 1] : r->low[d]);
    longest = piece > longest ? piece : longest;
  }
  return longest < row - row / 4;
}

/* Cuts a box along loop d, and then its pieces along the following loops, into at most `most`
 * boxes. */
static void cut_box(cutter *c, const box *r, uint32_t d, uint32_t most, int64_t *cuts) {
  if (d == c->region.n_outer || most == 1) {
    c->boxes[c->n_boxes++] = *r;
    return;
  }
  uint32_t n = find_cuts(c, r, d, cuts), n_small = 0;
  if (is_written_at_once(c, r, d, cuts, n)) n = 0;
  merge_pieces(cuts, &n, r, d, most);
  box pieces[MOST_BOXES];
  for (uint32_t i = 0; i <= n; i++) {
    pieces[i] = *r;
    pieces[i].low[d] = i > 0 ? cuts[i - 1] : r->low[d];
    pieces[i].count[d] = (i < n ? cuts[i] : r->low[d] + r->count[d]) - pieces[i].low[d];
    n_small += is_small_box(c, &pieces[i]);
  }
  uint32_t n_large = n + 1 - n_small;
  uint32_t each = n_large == 0 ? most / n_small : 3 * n_small + 3 * n_large <= most ? 3 : 1;
  uint32_t room = n_large == 0 ? each : (most - n_small * each) / n_large;
  for (uint32_t i = 0; i <= n; i++)
    cut_box(c, &pieces[i], d + 1, is_small_box(c, &pieces[i]) ? each : room, cuts);
}

/* Sorts the boxes by size, the largest first. The small ones are then adjacent and can share one
 * task. */
static void sort_boxes(cutter *c) {
  for (uint32_t i = 1; i < c->n_boxes; i++) {
    box r = c->boxes[i];
    uint32_t at = i;
    for (; at > 0 && points_of(c, &c->boxes[at - 1]) < points_of(c, &r); at--)
      c->boxes[at] = c->boxes[at - 1];
    c->boxes[at] = r;
  }
}

/* ---- what is worth cutting */

static bool has_masked_load(const cutter *c) {
  const nxk_kernel *k = c->b.from;
  for (nxk_value v = c->region.first; v < c->region.last; v++)
    if (k->instrs[v].op == NXK_load && k->accesses[k->instrs[v].imm].mask != NXK_NONE) return true;
  return false;
}

/* The elements of a cache line if all stores are nontemporal and cover the last outer loop in whole
 * lines; else 1. */
static int64_t line_of_stores(const cutter *c) {
  const nxk_kernel *k = c->b.from;
  int64_t line = 1;
  for (nxk_value v = c->region.first; v < c->region.last; v++) {
    if (k->instrs[v].op != NXK_store) continue;
    const nxk_access *a = &k->accesses[k->instrs[v].imm];
    const nxk_buffer *buffer = &k->buffers[a->buffer];
    if (buffer->kind == NXK_LOCAL) continue;
    int64_t unit = nxk_line_of(k, a);
    bool along = false;
    if (!(a->flags & NXK_NONTEMPORAL) || !buffer->aligned || a->offset % unit != 0) return 1;
    for (uint32_t i = 0; i < a->n_terms; i++) {
      bool last = a->terms[i].index == c->region.outer[c->region.n_outer - 1].value;
      along = along || (last && a->terms[i].stride == 1);
      if (!last && a->terms[i].stride % unit != 0) return 1;
    }
    if (!along) return 1;
    if (unit > line) line = unit;
  }
  return line;
}

static int64_t last_loop_bytes(const cutter *c) {
  int64_t widest = nxb_widest(&c->b, c->region.first, c->region.last, NXK_NONE);
  return c->region.outer[c->region.n_outer - 1].extent * widest;
}

static bool has_plain_loops(const cutter *c) {
  const nxb_region *p = &c->region;
  bool plain = p->regular && p->n_outer > 0;
  for (uint32_t i = 0; i < p->n_outer && plain; i++)
    plain = p->outer[i].lower == 0 && p->outer[i].step == 1 && p->outer[i].extent > 0;
  return plain;
}

/* Finds the boxes of a region; none if it cannot be cut. False: memory is exhausted. */
static bool find_boxes(cutter *c, nxk_value v) {
  c->n_boxes = c->n_conditions = 0;
  if (!nxb_analyze_region(&c->b, v, &c->region)) return false;
  if (!has_plain_loops(c) || !has_masked_load(c)) return true;
  box all = {{0}, {0}};
  c->points = 1;
  for (uint32_t i = 0; i < c->region.n_outer; i++) {
    all.count[i] = c->region.outer[i].extent;
    /* Those of a kernel that was written as text may have any product. */
    bool over = __builtin_mul_overflow(c->points, all.count[i], &c->points);
    if (over || all.count[i] > (INT64_C(1) << 40)) return true;
  }
  int64_t *cuts = nxb_alloc(&c->b, (MOST_CUTS + 1) * sizeof *cuts);
  c->conditions = nxb_alloc(&c->b, (c->region.last - c->region.first) * sizeof *c->conditions);
  if (c->b.failed) return false;
  for (nxk_value i = c->region.first; i < c->region.last; i++) note_condition(c, i);
  c->line = line_of_stores(c);
  c->row_bytes = last_loop_bytes(c);
  c->short_rows = c->row_bytes < SHORT_ROW;
  uint32_t code = nxb_code_cost(&c->b, c->region.first, c->region.last) + 1;
  uint32_t most = MOST_CODE / code < MOST_BOXES ? MOST_CODE / code : MOST_BOXES;
  bool worth = c->n_conditions > 0 && c->points >= LEAST_POINTS && most > 1;
  if (worth) cut_box(c, &all, 0, most, cuts);
  sort_boxes(c);
  return true;
}

/* ---- writing */

static nxk_value open_outer(cutter *c, const box *r, uint32_t d) {
  nxk_value zero = nxk_const_i(c->to, NX_I64, r->low[d]);
  if (r->count[d] == 1) return zero;
  nxk_value i = nxk_begin_range(c->to, NXK_OUTER, r->count[d]);
  return r->low[d] == 0 ? i : nxk_scalar(c->to, NXK_add, 0, i, zero, NXK_NONE);
}

/* The value of the condition at v in the box: 0 or 1 if it is constant there, else -1. */
static int decided(const cutter *c, const box *r, nxk_value v) {
  for (uint32_t i = 0; i < c->n_conditions; i++)
    if (c->conditions[i].v == v) return truth_in(c, &c->conditions[i], r);
  return -1;
}

static uint32_t outer_number(const cutter *c, nxk_value v) {
  uint32_t d = 0;
  while (d < c->region.n_outer && c->region.outer[d].value != v) d++;
  return d;
}

static void write_box(cutter *c, const box *r) {
  const nxk_kernel *from = c->b.from;
  uint32_t n = c->region.n_outer;
  nxk_begin_region(c->to);
  for (nxk_value v = c->region.first + 1; v < c->region.last && !c->to->failed; v++) {
    const nxk_instr *in = &from->instrs[v];
    uint32_t d = outer_number(c, in->op == NXK_end ? in->block : v);
    int truth = in->op == NXK_lt || in->op == NXK_le ? decided(c, r, v) : -1;
    if (d < n && in->op == NXK_for) c->map[v] = open_outer(c, r, d);
    else if (d < n && r->count[d] > 1) nxk_end(c->to);
    else if (d < n) continue;
    else if (truth >= 0) c->map[v] = nxk_const(c->to, NX_BOOL, (uint64_t)truth);
    else nxk_copy_decided(c->to, from, v, c->map);
  }
  nxk_end(c->to);
}

static void write_all(cutter *c, bool *cut) {
  const nxk_kernel *from = c->b.from;
  for (nxk_value v = 0; v < from->n_instrs && !c->to->failed; v++) {
    if (from->instrs[v].op == NXK_region && !find_boxes(c, v)) return;
    if (from->instrs[v].op != NXK_region || c->n_boxes < 2) {
      nxk_copy_instr(c->to, from, v, c->map);
      continue;
    }
    *cut = true;
    for (uint32_t i = 0; i < c->n_boxes; i++) write_box(c, &c->boxes[i]);
    v = c->region.last;
  }
}

/* Destroys *k and returns the kernel that replaces it. */
static nxk_kernel *replaced(nxk_kernel *k, nxk_kernel *by) {
  nxk_destroy(k);
  return by;
}

nxk_kernel *nxk_pass_index_split(const nxk_kernel *k, const nxi_target *t, nxi_diag *d) {
  cutter c = {.b = {.from = k, .target = t}};
  bool cut = false;
  if (!nxk_loads_under_masks(k)) {
    nxk_kernel *same = nxk_clone(k);
    if (same == NULL) nxi_oom(d);
    return same;
  }
  c.to = nxk_create_like(k);
  c.map = nxi_malloc(((size_t)k->n_instrs + 1) * sizeof *c.map);
  bool ok = c.to != NULL && c.map != NULL && nxb_analyze_kernel(&c.b);
  if (ok) {
    memset(c.map, 0xff, ((size_t)k->n_instrs + 1) * sizeof *c.map);
    write_all(&c, &cut);
  }
  ok = ok && !c.b.failed && !c.to->failed;
  nxi_free(c.map);
  nxi_arena_destroy(&c.b.arena);
  if (!ok) {
    nxk_destroy(c.to);
    nxi_oom(d);
    return NULL;
  }
  if (cut) c.to = replaced(c.to, nxk_pass_simplify(c.to, d));
  return cut && c.to != NULL ? replaced(c.to, nxk_merge_loops(c.to, d)) : c.to;
}
