/* SPDX-License-Identifier: ISC */
/* Unroll and jam. In a stencil neighbouring rows read the same elements. Such rows are computed
 * four at a time in one iteration, one after the other, and the elements that they share are
 * loaded once. These loads take most of the time of such code, since at least half of them cross
 * a cache line. Rows left over become a region of their own.
 *
 * The pass also adds prefetches: each row takes so many instructions that a processor does not
 * look far enough ahead to fetch the next rows in time. So what the next rows load for the first
 * time, and where they store, is prefetched while the current rows are computed.
 *
 * Only independent points are combined, and each keeps its own operations, so no bit changes.
 * Needs: logical level. Keeps: bits. */
#include "copies.h"
#include "passes.h"

/* ROWS: rows computed together. MOST_LOADS: loads of a row that are compared with each other.
 * MOST_COST: most vector operations of a row. LEAST_ROWS: the fewest rows for which the pass
 * pays. */
enum { ROWS = NXK_MOST_COPIES, MOST_LOADS = 32, MOST_COST = 60, LEAST_ROWS = 4 * ROWS };

/* ---- choosing the regions whose rows are combined */

static bool is_plain(const nxb_binder *b, nxk_value v, nxk_value column) {
  const nxk_kernel *k = b->from;
  const nxk_instr *in = &k->instrs[v];
  bool computed;
  if (in->op != NXK_load && in->op != NXK_store)
    return in->op < NXK_SCALAR_COUNT || in->op == NXK_const || in->op == NXK_param ||
           in->op == NXK_for || in->op == NXK_end;
  const nxk_access *a = &k->accesses[in->imm];
  bool along = nxb_stride(b, a, column, &computed) == 1 && !computed && a->index == NXK_NONE;
  return a->mask == NXK_NONE &&
         (in->op == NXK_load ? k->buffers[a->buffer].kind == NXK_IN
                             : along && k->buffers[a->buffer].kind != NXK_LOCAL);
}

static bool same_terms(const nxk_access *a, const nxk_access *b) {
  bool same = a->buffer == b->buffer && a->n_terms == b->n_terms;
  for (uint32_t i = 0; same && i < a->n_terms; i++)
    same = a->terms[i].index == b->terms[i].index && a->terms[i].stride == b->terms[i].stride;
  return same;
}

/* Whether load a, `rows` rows further on, loads the same element as load b in one of the rows from
 * 0 to `rows`. */
static bool is_loaded(const nxk_access *a, const nxk_access *b, int64_t stride, int64_t rows) {
  int64_t distance = a->offset + stride * rows - b->offset;
  return same_terms(a, b) && (stride == 0 ? distance == 0
                                          : distance % stride == 0 && distance / stride >= 0 &&
                                                distance / stride < rows);
}

/* Whether ROWS rows together need at most 2/3 of the loads that they need separately. Only loads
 * that vary along the row count. */
static bool shares_loads(const nxb_binder *b, const nxb_region *p, nxk_value row,
                         nxk_value column) {
  const nxk_access *loads[MOST_LOADS];
  uint32_t n = 0, all = 0, distinct = 0;
  bool computed, far;
  for (nxk_value v = p->first; v < p->last; v++) {
    if (b->from->instrs[v].op != NXK_load) continue;
    const nxk_access *a = &b->from->accesses[b->from->instrs[v].imm];
    if (n == MOST_LOADS) return false;
    if (nxb_stride(b, a, column, &computed) == 1 && !computed && a->index == NXK_NONE)
      loads[n++] = a;
  }
  for (uint32_t i = 0; i < n; i++) {
    int64_t stride = nxb_stride(b, loads[i], row, &far);
    if (far) return false;
    for (int64_t r = 0; r < ROWS; r++) {
      bool found = false;
      for (uint32_t j = 0; j < n && !found; j++) found = is_loaded(loads[i], loads[j], stride, r);
      all++;
      distinct += !found;
    }
  }
  return n > 1 && 3 * distinct <= 2 * all;
}

static bool fits(const nxb_binder *b, const nxb_region *p) {
  if (!p->regular || p->n_stages > 0 || p->n_outer < 2) return false;
  const nxb_loop *row = &p->outer[p->n_outer - 2], *column = &p->outer[p->n_outer - 1];
  for (uint32_t i = 0; i < p->n_outer; i++)
    if (p->outer[i].lower != 0 || p->outer[i].step != 1 || p->outer[i].extent < 1) return false;
  for (nxk_value v = p->first + 1; v < p->last; v++)
    if (!is_plain(b, v, column->value)) return false;
  return row->extent >= LEAST_ROWS && nxb_code_cost(b, p->first, p->last) <= MOST_COST &&
         shares_loads(b, p, row->value, column->value);
}

/* ---- prefetching for the next rows */

/* Whether some load of the region, in one of the ROWS rows, is at a distance in [low, high)
 * elements after load a of row r. */
static bool loads_between(const nxk_copies *w, const nxb_region *p, const nxk_access *a, int64_t r,
                          int64_t low, int64_t high) {
  const nxk_kernel *k = w->b.from;
  bool far;
  int64_t stride = nxb_stride(&w->b, a, p->outer[p->n_outer - 2].value, &far);
  for (nxk_value v = p->first; v < p->last; v++) {
    if (k->instrs[v].op != NXK_load) continue;
    const nxk_access *other = &k->accesses[k->instrs[v].imm];
    if (!same_terms(a, other)) continue;
    for (int64_t i = 0; i < ROWS; i++) {
      int64_t distance = other->offset - a->offset + (i - r) * stride;
      if (distance >= low && distance < high) return true;
    }
  }
  return false;
}

/* The prefetch distance of an access in row r: the next group of rows. 0, no prefetch, if another
 * load of the current rows covers that cache line or prefetches it. */
static int64_t distance_ahead(const nxk_copies *w, const nxb_region *p, nxk_value v, int64_t r) {
  const nxk_kernel *k = w->b.from;
  const nxk_access *a = &k->accesses[k->instrs[v].imm];
  bool far, computed;
  int64_t next = ROWS * nxb_stride(&w->b, a, p->outer[p->n_outer - 2].value, &far);
  int64_t line = nxk_line_of(k, a);
  if (next < line || nxb_stride(&w->b, a, p->outer[p->n_outer - 1].value, &computed) != 1) return 0;
  bool again = k->instrs[v].op == NXK_load &&
               (loads_between(w, p, a, r, 1, line) || loads_between(w, p, a, r, next, next + line));
  return again ? 0 : next;
}

static void look_ahead(nxk_copies *w, const nxb_region *p, nxk_value v, int64_t r) {
  nxk_op op = (nxk_op)w->b.from->instrs[v].op;
  if (w->to->failed || (op != NXK_load && op != NXK_store)) return;
  nxk_value to = op == NXK_load ? w->map[r][v] : w->to->n_instrs - 1;
  w->to->accesses[w->to->instrs[to].imm].prefetch = distance_ahead(w, p, v, r);
}

/* ---- writing */

/* Opens the loop over rows: `count` iterations of `rows` rows each, from row `first` on. */
static void open_rows(nxk_copies *w, nxk_value row, int64_t first, int64_t count, int64_t rows) {
  nxk_value i = nxk_begin_range(w->to, NXK_OUTER, count);
  nxk_value base =
      rows == 1 ? i : nxk_scalar(w->to, NXK_mul, 0, i, nxk_const_i(w->to, NX_I64, rows), NXK_NONE);
  for (int64_t r = 0; r < rows; r++) {
    bool moves = first + r > 0;
    w->map[r][row] =
        moves ? nxk_scalar(w->to, NXK_add, 0, base, nxk_const_i(w->to, NX_I64, first + r), NXK_NONE)
              : base;
  }
}

static void write_region(nxk_copies *w, const nxb_region *p, int64_t first, int64_t count,
                         int64_t rows) {
  const nxk_kernel *k = w->b.from;
  bool ahead = rows == ROWS && nxk_is_past_caches(&w->b);
  nxk_value row = p->outer[p->n_outer - 2].value, column = p->outer[p->n_outer - 1].value;
  for (nxk_value v = p->first; v <= p->last && !w->to->failed; v++) {
    const nxk_instr *in = &k->instrs[v];
    if (v == row) open_rows(w, row, first, count, rows);
    else if (in->op == NXK_region || in->op == NXK_for) nxk_copy_once(w, v);
    else if (in->op == NXK_end) nxk_end(w->to);
    else nxk_copy_each(w, v, (uint32_t)rows);
    if (v != column) continue;
    nxk_value end = v + 1;
    while (k->instrs[end].op != NXK_end) end++;
    for (int64_t r = 0; r < rows; r++)
      for (nxk_value i = v + 1; i < end; i++) {
        nxk_copy_decided(w->to, k, i, w->map[r]);
        if (ahead) look_ahead(w, p, i, r);
      }
    v = end - 1;
  }
}

/* Writes a region with ROWS rows at a time and returns its end; returns v if the pass does not pay
 * for it. */
static nxk_value write_out(nxk_copies *w, nxk_value v) {
  nxb_region p;
  bool region = w->b.from->instrs[v].op == NXK_region && nxb_analyze_region(&w->b, v, &p);
  if (!region || !fits(&w->b, &p)) return v;
  int64_t extent = p.outer[p.n_outer - 2].extent, rest = extent % ROWS;
  write_region(w, &p, 0, extent / ROWS, ROWS);
  if (rest > 0) write_region(w, &p, extent - rest, rest, 1);
  return p.last;
}

nxk_kernel *nxk_pass_jam(const nxk_kernel *k, const nxi_target *t, nxi_diag *d) {
  return nxk_write_copies(k, t, ROWS, write_out, d);
}

/* Whether the kernel has two accesses of one input with different offsets. */
bool nxk_has_shared_loads(const nxk_kernel *k) {
  for (uint32_t i = 0; i < k->n_accesses; i++)
    for (uint32_t j = i + 1; j < k->n_accesses && j <= i + MOST_LOADS; j++)
      if (k->accesses[i].offset != k->accesses[j].offset &&
          k->accesses[i].buffer == k->accesses[j].buffer &&
          k->buffers[k->accesses[i].buffer].kind == NXK_IN)
        return true;
  return false;
}
