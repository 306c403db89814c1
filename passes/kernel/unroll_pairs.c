/* SPDX-License-Identifier: ISC */
/* Unrolls loops of two to four iterations. If the last outer loop has so few points, and their
 * results are adjacent in memory (the two halves of a byte of i4, the channels of an image), all
 * are computed in one iteration of the loop around it, with adjacent stores that the binder writes
 * as whole vectors. The same is done with an outer loop whose points load adjacent elements, so
 * that they share the vectors that are loaded, and with the loop over the taps of a window, if sums
 * over overlapping windows read something that is the same for all taps. If the last loop of a
 * reduction has two iterations, and any order of them gives the same bits, the two elements are
 * combined first, so that lanes run along contiguous memory.
 *
 * Where channels are the last axis, the taps of a window have a second loop, along which each point
 * reads the next row. Its points share an iteration, too: all rows of a window are read once for
 * each row of results, and the row that the next results need first is fetched meanwhile. The
 * borders, where a row of the window is outside, become regions of their own.
 *
 * On a GPU a thread then moves the row of such points as one word; of the above this is done for
 * elementwise work alone, where there are enough points.
 * Needs: logical level. Keeps: bits. */
#include "copies.h"
#include "passes.h"

/* PAIR: points of a pair, a copy for each. MOST_CODE: vector operations of all copies.
 * LEAST_POINTS: of the outer loops, so that threads and lanes have enough without the taps of a
 * window. GPU_POINTS: the same on a GPU, 256 blocks of 256 threads. */
enum { PAIR = 2, FEW = NXK_MOST_COPIES, MOST_CODE = 200, LEAST_POINTS = 1 << 12 };
enum { GPU_POINTS = 1 << 16 };
/* Sums of all taps of a window that registers hold: 16 of AVX2, with what is read. */
enum { MOST_SUMS = 9 };

/* ---- what is written out */

static bool is_pair(const nxb_loop *loop) {
  return loop->lower == 0 && loop->step == 1 && loop->extent == 2;
}

static bool is_few(const nxb_loop *loop) {
  return loop->lower == 0 && loop->step == 1 && loop->extent >= PAIR && loop->extent <= FEW;
}

static bool is_plain(const nxk_kernel *k, nxk_value v) {
  const nxk_instr *in = &k->instrs[v];
  if (in->op == NXK_load || in->op == NXK_store)
    return k->buffers[k->accesses[in->imm].buffer].kind != NXK_LOCAL;
  return in->op < NXK_SCALAR_COUNT || in->op == NXK_const || in->op == NXK_param ||
         in->op == NXK_for || in->op == NXK_end || in->op == NXK_reduce;
}

/* Whether the points of `few` are adjacent elements of the access, and those of successive
 * iterations of `before` follow each other without a gap. */
static bool weaves(const nxb_binder *b, nxk_value v, const nxb_loop *few, nxk_value before) {
  const nxk_access *a = &b->from->accesses[b->from->instrs[v].imm];
  bool computed, far;
  int64_t stride = nxb_stride(b, a, few->value, &computed), next = nxb_stride(b, a, before, &far);
  return !computed && !far && stride == 1 && next == few->extent && a->mask == NXK_NONE;
}

/* Whether every store (or, if `loads`, some load) weaves, all stores are in the innermost outer
 * loop, and the code is short enough for a copy for each point. */
static bool weaves_region(const nxb_binder *b, const nxb_region *p, const nxb_loop *few,
                          nxk_value before, bool loads) {
  bool any = false;
  for (nxk_value v = p->first + 1; v < p->last; v++) {
    nxk_op op = (nxk_op)b->from->instrs[v].op;
    if (!is_plain(b->from, v)) return false;
    if (op == NXK_store && b->from->instrs[v].block != p->outer[p->n_outer - 1].value) return false;
    if (op != (loads ? NXK_load : NXK_store)) continue;
    bool here = weaves(b, v, few, before);
    any = any || here;
    if (!here && !loads) return false;
  }
  return any && nxb_code_cost(b, p->first, p->last) * few->extent <= MOST_CODE;
}

/* Whether some other loop moves the access as far as this one does: then neighbouring points read
 * the same elements. */
static bool moves_alike(const nxb_binder *b, const nxb_region *p, const nxk_access *a,
                        nxk_value few, int64_t stride) {
  const nxb_stage *s = p->stages;
  bool computed, alike = false;
  for (uint32_t i = 0; i < p->n_outer && !alike; i++)
    alike = p->outer[i].value != few && nxb_stride(b, a, p->outer[i].value, &computed) == stride;
  for (uint32_t i = 0; i < s->n_loops && !alike; i++)
    alike = nxb_stride(b, a, s->loops[i].value, &computed) == stride;
  return alike;
}

/* How far the points of `few` are apart in what they read of overlapping windows, if that is all
 * that differs between them and something is the same for all of them; else INT64_MAX. */
static int64_t tap_distance(const nxb_binder *b, const nxb_region *p, const nxb_loop *few) {
  const nxk_kernel *k = b->from;
  int64_t distance = INT64_MAX;
  bool shared = false, computed;
  for (nxk_value v = p->stages->first; v < p->stages->last; v++) {
    if (k->instrs[v].op != NXK_load) continue;
    const nxk_access *a = &k->accesses[k->instrs[v].imm];
    int64_t stride = nxb_stride(b, a, few->value, &computed);
    shared = shared || !nxb_depends(b, v, few->value);
    if (!nxb_depends(b, v, few->value)) continue;
    if (computed || stride <= 0 || !moves_alike(b, p, a, few->value, stride)) return INT64_MAX;
    if (stride < distance) distance = stride;
  }
  return shared ? distance : INT64_MAX;
}

/* The outer loop over the taps of a window whose sums read what they share once; of several the
 * one whose taps lie closest together. NULL: there is none. */
static const nxb_loop *loop_of_taps(const nxb_binder *b, const nxb_region *p) {
  const nxb_loop *best = NULL;
  int64_t least = INT64_MAX, points = 1;
  if (p->n_stages != 1 || !p->stages->reduces) return NULL;
  for (nxk_value v = p->first + 1; v < p->last; v++) {
    bool store = b->from->instrs[v].op == NXK_store;
    if (!is_plain(b->from, v)) return NULL;
    if (store && b->from->instrs[v].block != p->outer[p->n_outer - 1].value) return NULL;
  }
  for (uint32_t i = 0; i < p->n_outer && points < LEAST_POINTS; i++)
    points *= p->outer[i].extent > 0 ? p->outer[i].extent : 1;
  for (const nxb_loop *few = p->outer; few < p->outer + p->n_outer; few++) {
    int64_t distance = is_few(few) ? tap_distance(b, p, few) : INT64_MAX;
    if (distance >= least) continue;
    least = distance;
    best = few;
  }
  bool pays = best && points >= LEAST_POINTS &&
              nxb_code_cost(b, p->first, p->last) * best->extent <= MOST_CODE;
  return pays ? best : NULL;
}

/* The outer loop whose points are to share an iteration, or NULL. */
static const nxb_loop *woven_loop(const nxb_binder *b, const nxb_region *p) {
  if (!p->regular || p->n_outer < 2) return NULL;
  const nxb_loop *last = &p->outer[p->n_outer - 1], *taps = loop_of_taps(b, p);
  if (taps) return taps;
  if (is_few(last)) return weaves_region(b, p, last, last[-1].value, false) ? last : NULL;
  for (const nxb_loop *few = p->outer; few < last; few++)
    if (is_few(few) && weaves_region(b, p, few, last->value, true)) return few;
  return NULL;
}

/* ---- the same on a GPU */

/* Whether the row that the points of `few` are in each access that weaves is aligned, as far as is
 * known: then a thread moves it as one word. */
static bool are_aligned_rows(const nxb_binder *b, const nxb_region *p, const nxb_loop *few,
                             nxk_value before) {
  if (few->extent != 2 && few->extent != 4) return false;
  for (nxk_value v = p->first + 1; v < p->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if ((in->op != NXK_load && in->op != NXK_store) || !weaves(b, v, few, before)) continue;
    const nxk_access *a = &b->from->accesses[in->imm];
    bool whole = b->from->buffers[a->buffer].aligned && a->offset % few->extent == 0;
    for (uint32_t i = 0; i < a->n_terms; i++)
      whole = whole && (a->terms[i].index == few->value || a->terms[i].stride % few->extent == 0);
    if (!whole) return false;
  }
  return true;
}

/* Whether all stores are contiguous along the loop. */
static bool stores_along(const nxb_binder *b, const nxb_region *p, nxk_value loop) {
  for (nxk_value v = p->first + 1; v < p->last; v++) {
    bool computed;
    if (b->from->instrs[v].op == NXK_store &&
        nxb_stride(b, &b->from->accesses[b->from->instrs[v].imm], loop, &computed) != 1)
      return false;
  }
  return true;
}

/* Results that are adjacent are stored as words only, since threads that store every second element
 * are slower than those that store all; what is loaded as adjacent elements, and stored apart, is
 * loaded once in any case, and by each point of the outer loop otherwise. */
static const nxb_loop *woven_loop_of_gpu(const nxb_binder *b, const nxb_region *p) {
  int64_t points = 1;
  if (!p->regular || p->n_outer < 2 || p->n_stages > 0) return NULL;
  for (uint32_t i = 0; i < p->n_outer; i++) {
    if (p->outer[i].extent < 0) return NULL;
    points *= p->outer[i].extent;
  }
  const nxb_loop *last = &p->outer[p->n_outer - 1];
  if (is_few(last)) {
    bool fits = points / last->extent >= GPU_POINTS &&
                weaves_region(b, p, last, last[-1].value, false) &&
                are_aligned_rows(b, p, last, last[-1].value);
    return fits ? last : NULL;
  }
  for (const nxb_loop *few = p->outer; few < last; few++)
    if (is_few(few) && points / few->extent >= GPU_POINTS && stores_along(b, p, last->value) &&
        weaves_region(b, p, few, last->value, true))
      return few;
  return NULL;
}

static bool is_exact_reduction(const nxk_kernel *k, nxk_value v) {
  const nxk_instr *in = &k->instrs[v];
  return nxk_is_chain(in->kind) && in->order <= NXK_ORDER_SEQUENTIAL && nxb_exact(k, v);
}

/* The last loop of a run if it has two iterations and can be unrolled; else NXK_NONE. */
static nxk_value pair_of_run(const nxb_binder *b, const nxb_stage *s) {
  if (!s->simple || !s->reduces || s->n_loops < 2 || !is_pair(&s->loops[s->n_loops - 1]))
    return NXK_NONE;
  nxk_value pair = s->loops[s->n_loops - 1].value;
  for (nxk_value v = s->first; v < s->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (!is_plain(b->from, v) || in->op == NXK_store) return NXK_NONE;
    if (in->op == NXK_reduce && (!is_exact_reduction(b->from, v) || in->block != pair))
      return NXK_NONE;
  }
  return pair;
}

/* ---- writing */

static void map_points(nxk_copies *w, nxk_value loop, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) w->map[i][loop] = nxk_const_i(w->to, NX_I64, i);
}

/* Whether the code of a run stands at v: then the points follow one another, so that few values are
 * alive at a time. */
static bool in_run(const nxk_kernel *k, nxk_value v) {
  nxk_value block = k->instrs[v].block;
  return block != NXK_NONE && k->instrs[block].op == NXK_for &&
         k->loops[k->instrs[block].imm].kind == NXK_REDUCE && k->instrs[v].op != NXK_for &&
         k->instrs[v].op != NXK_end;
}

/* Writes the code of a run from v on for each of n points. Returns the last instruction written. */
static nxk_value write_points(nxk_copies *w, nxk_value v, uint32_t n) {
  const nxk_kernel *k = w->b.from;
  nxk_value last = v;
  while (in_run(k, last + 1) && k->instrs[last + 1].block == k->instrs[v].block) last++;
  for (uint32_t i = 0; i < n; i++)
    for (nxk_value p = v; p <= last; p++) nxk_copy_decided(w->to, k, p, w->map[i]);
  return last;
}

/* Writes the region with all points of `few` in one iteration. Loops inside it are not duplicated:
 * the points share them. The stores come last. */
static void write_woven(nxk_copies *w, const nxb_region *p, const nxb_loop *few) {
  const nxk_kernel *k = w->b.from;
  nxk_value innermost = p->outer[p->n_outer - 1].value;
  uint32_t n = (uint32_t)few->extent;
  for (nxk_value v = p->first; v <= p->last && !w->to->failed; v++) {
    const nxk_instr *in = &k->instrs[v];
    for (nxk_value s = innermost; in->op == NXK_end && in->block == innermost && s < v; s++)
      if (k->instrs[s].op == NXK_store) nxk_copy_each(w, s, n);
    if (v == few->value) map_points(w, v, n);
    else if (in_run(k, v)) v = write_points(w, v, n);
    else if (in->op == NXK_store) continue;
    else if (in->op == NXK_region || in->op == NXK_for) nxk_copy_once(w, v);
    else if (in->op != NXK_end) nxk_copy_each(w, v, n);
    else if (in->block != few->value) nxk_copy_instr(w->to, k, v, w->map[0]);
  }
}

/* The number of bits that an integer can have: fewer than those of its type if it is the result of
 * a shift or a mask. */
static int64_t bits_of(const nxk_kernel *k, nxk_value v) {
  const nxk_instr *in = &k->instrs[v];
  int64_t bits = nxi_dtypes[in->dtype].bits, by;
  if (in->n_args < 2 || !nxb_is_constant(k, in->args[1], &by)) return bits;
  if (in->op == NXK_shr && by > 0 && by < bits) return bits - by;
  if (in->op == NXK_and && by > 0 && !nxi_is_signed(in->dtype))
    return 64 - __builtin_clzll((uint64_t)by);
  return bits;
}

/* Combines both elements. If they are widening casts and the narrow type can hold the result, they
 * are combined before the cast. */
static nxk_value combined(nxk_copies *w, nxk_reduce_kind kind, nxk_value x, nxk_value y) {
  nxk_op op = nxk_reduce_op(kind);
  if (w->to->failed) return NXK_NONE;
  const nxk_instr *a = &w->to->instrs[x], *b = &w->to->instrs[y];
  nx_dtype wide = a->dtype;
  bool casts = a->op == NXK_cast && b->op == NXK_cast && nxi_is_integer(wide);
  nx_dtype narrow = casts ? nxk_dtype(w->to, a->args[0]) : wide;
  if (casts && nxi_is_integer(narrow) && narrow == nxk_dtype(w->to, b->args[0]) &&
      nxi_dtypes[narrow].bits < nxi_dtypes[wide].bits) {
    int64_t left = bits_of(w->to, a->args[0]), right = bits_of(w->to, b->args[0]);
    int64_t most = left > right ? left : right;
    int64_t need = op == NXK_add ? most + 1 : op == NXK_mul ? left + right : most;
    if (need <= nxi_dtypes[narrow].bits)
      return nxk_cast_to(w->to, wide, nxk_scalar(w->to, op, 0, a->args[0], b->args[0], NXK_NONE));
  }
  return nxk_scalar(w->to, op, 0, x, y, NXK_NONE);
}

static void write_combined(nxk_copies *w, const nxb_stage *s, nxk_value pair) {
  const nxk_kernel *k = w->b.from;
  for (nxk_value v = s->first; v <= s->last && !w->to->failed; v++) {
    const nxk_instr *in = &k->instrs[v];
    if (v == pair) {
      map_points(w, pair, PAIR);
    } else if (in->op == NXK_for) {
      nxk_copy_once(w, v);
    } else if (in->op == NXK_reduce) {
      nxk_value both =
          combined(w, (nxk_reduce_kind)in->kind, w->map[0][in->args[0]], w->map[1][in->args[0]]);
      nxk_map_copies(w, v, nxk_reduce(w->to, in->kind, in->order, both, NXK_NONE));
    } else if (in->op != NXK_end) {
      nxk_copy_each(w, v, PAIR);
    } else if (in->block != pair) {
      nxk_copy_instr(w->to, k, v, w->map[0]);
    }
  }
}

/* ---- rows of taps */

/* The outer loop that moves every load that depends on `few` as far as `few` does, and no less than
 * a cache line: its points are rows, which neighbouring points read in turn. NULL: there is
 * none. */
static const nxb_loop *rows_loop(const nxb_binder *b, const nxb_region *p, const nxb_loop *few) {
  for (const nxb_loop *row = p->outer; row < p->outer + p->n_outer; row++) {
    bool all = row != few;
    for (nxk_value v = p->stages->first; v < p->stages->last && all; v++) {
      bool computed, far;
      if (b->from->instrs[v].op != NXK_load || !nxb_depends(b, v, few->value)) continue;
      const nxk_access *a = &b->from->accesses[b->from->instrs[v].imm];
      int64_t stride = nxb_stride(b, a, few->value, &computed);
      all = !computed && stride == nxb_stride(b, a, row->value, &far) && !far &&
            stride >= nxk_line_of(b->from, a);
    }
    if (all) return row;
  }
  return NULL;
}

/* The second loop over the taps of a window, where the first is written out. */
static const nxb_loop *rows_of_taps(const nxb_binder *b, const nxb_region *p) {
  const nxb_loop *few = p->regular && p->n_outer > 1 ? loop_of_taps(b, p) : NULL;
  if (!few || p->stages->n_reduces < PAIR || p->stages->n_reduces * few->extent > MOST_SUMS)
    return NULL;
  return rows_loop(b, p, few) ? few : NULL;
}

/* Whether another load that depends on `few` reads further on in the row that load v reads. */
static bool reads_further(const nxb_binder *b, const nxb_region *p, const nxb_loop *few,
                          nxk_value v) {
  const nxk_access *a = &b->from->accesses[b->from->instrs[v].imm];
  bool further = false;
  for (nxk_value o = p->stages->first; o < p->stages->last && !further; o++) {
    if (b->from->instrs[o].op != NXK_load || !nxb_depends(b, o, few->value)) continue;
    const nxk_access *other = &b->from->accesses[b->from->instrs[o].imm];
    further = other->buffer == a->buffer && other->offset > a->offset;
  }
  return further;
}

/* Has the row fetched that the next point of `row` is the first to read. */
static void fetch_next_row(nxk_copies *w, const nxb_region *p, const nxb_loop *few,
                           const nxb_loop *row) {
  const nxk_kernel *k = w->b.from;
  for (nxk_value v = p->stages->first; v < p->stages->last && !w->to->failed; v++) {
    bool computed;
    if (k->instrs[v].op != NXK_load) continue;
    bool taps = nxb_depends(&w->b, v, few->value);
    const int64_t next = nxb_stride(&w->b, &k->accesses[k->instrs[v].imm], row->value, &computed);
    if (computed || next <= 0 || (taps && reads_further(&w->b, p, few, v))) continue;
    for (int64_t i = taps ? few->extent - 1 : 0; i < few->extent; i++) {
      const nxk_instr *to = &w->to->instrs[w->map[i][v]];
      if (to->op == NXK_load) w->to->accesses[to->imm].prefetch = next;
    }
  }
}

static nxk_value write_rows(nxk_copies *w, nxk_value v) {
  nxb_region p;
  if (w->b.from->instrs[v].op != NXK_region || !nxb_analyze_region(&w->b, v, &p)) return v;
  const nxb_loop *few = rows_of_taps(&w->b, &p);
  if (few == NULL) return v;
  write_woven(w, &p, few);
  if (nxk_is_past_caches(&w->b)) fetch_next_row(w, &p, few, rows_loop(&w->b, &p, few));
  return p.last;
}

/* The kernel with all taps of windows in one iteration, in place of *k. */
static nxk_kernel *with_rows_of_taps(nxk_kernel *k, const nxi_target *t, nxi_diag *d) {
  nxk_kernel *woven = nxk_write_copies(k, t, FEW, write_rows, d);
  bool same = woven && woven->n_loops == k->n_loops;
  nxk_destroy(k);
  if (woven == NULL || same) return woven;
  nxk_kernel *cut = nxk_pass_index_split(woven, t, d);
  nxk_destroy(woven);
  return cut;
}

/* ---- the pass */

/* Writes the region or run that begins at v with a short loop unrolled, if it has the right form.
 * Returns its last instruction, or v if nothing was written. */
static nxk_value write_out(nxk_copies *w, nxk_value v) {
  const nxk_kernel *k = w->b.from;
  if (k->instrs[v].op == NXK_region) {
    nxb_region p;
    const nxb_loop *few = NULL;
    if (nxb_analyze_region(&w->b, v, &p))
      few = w->b.target->block_threads ? woven_loop_of_gpu(&w->b, &p) : woven_loop(&w->b, &p);
    if (few == NULL) return v;
    write_woven(w, &p, few);
    return p.last;
  }
  if (w->b.target->block_threads || !nxk_begins_run(k, v)) return v;
  nxb_stage s;
  nxb_analyze_stage(&w->b, v, &s);
  nxk_value pair = w->b.failed ? NXK_NONE : pair_of_run(&w->b, &s);
  if (pair == NXK_NONE) return v;
  write_combined(w, &s, pair);
  return s.last;
}

nxk_kernel *nxk_pass_unroll_pairs(const nxk_kernel *k, const nxi_target *t, nxi_diag *d) {
  nxk_kernel *out = nxk_write_copies(k, t, FEW, write_out, d);
  return out && !t->block_threads ? with_rows_of_taps(out, t, d) : out;
}

bool nxk_has_pairs(const nxk_kernel *k) {
  for (uint32_t i = 0; i < k->n_loops; i++) {
    nxk_bound_value upper = k->loops[i].upper;
    if (upper.value == NXK_NONE && upper.constant >= PAIR && upper.constant <= FEW) return true;
  }
  return false;
}
