/* SPDX-License-Identifier: ISC */
/* Accesses whose lanes are two to four elements apart: the parts of complex numbers, the channels
 * of an image, every third element of a row. Such loads become loads of whole vectors, which are
 * taken apart by shuffles, and those of neighbouring elements share these vectors. Stores that fill
 * each other's gaps become shuffles and stores of whole vectors. Nothing is accessed before the
 * first element or after the last one that the program accesses: where a vector has lanes that do
 * not exist, neither have the whole vectors. On a GPU the elements of each thread become words. */
#include "lane_map.h"

enum { MOST_APART = 4, LEAST_LANES = 4 };

/* Whether two accesses differ in their offsets alone. */
static bool is_beside(const nxk_access *a, const nxk_access *next) {
  bool same = a->buffer == next->buffer && a->n_terms == next->n_terms && next->mask == a->mask &&
              next->index == a->index && a->flags == next->flags;
  for (uint32_t i = 0; same && i < a->n_terms; i++)
    same = a->terms[i].index == next->terms[i].index && a->terms[i].stride == next->terms[i].stride;
  return same;
}

/* Bytes shuffled three by three need an instruction that permutes bytes. */
static bool shuffles_well(const nxb_binder *b, nx_dtype t, int64_t apart) {
  return apart != 3 || nxi_dtype_size(t) >= 4 || b->target->vector_bytes >= 32;
}

/* Whether an access has no mask, or one that is the same in all lanes, but for
 * lanes that do not exist. */
static bool is_all_or_none(const nxb_binder *b, const nxb_lane_map *map, const nxk_access *a,
                           const nxb_placed *p) {
  if (a->other != NXK_NONE || b->to->failed) return false;
  if (map->active != NXK_NONE)
    return a->mask == NXK_NONE && b->to->instrs[map->active].op == NXK_active;
  return a->mask == NXK_NONE || nxb_lanes_of(b, p->access.mask) == 1;
}

static bool is_strided(const nxb_binder *b, const nxb_lane_map *map, const nxk_access *a,
                       const nxb_placed *p) {
  const nxk_buffer *buffer = &b->from->buffers[a->buffer];
  int64_t apart = p->access.lane_stride;
  return b->threads == 0 && !b->tiny && buffer->kind != NXK_LOCAL && map->lanes >= LEAST_LANES &&
         apart >= 2 && apart <= MOST_APART && p->index == NXK_NONE && !p->twice &&
         is_all_or_none(b, map, a, p) && shuffles_well(b, buffer->dtype, apart);
}

/* ---- loads */

/* The elements that loads of the same block load beside each other, as offsets of their accesses:
 * those in [first, first + apart) share vectors. */
typedef struct window {
  int64_t first, last;
  uint32_t loads;
} window;

/* The smallest offset, not less than `least`, of the loads beside `a` in its block. */
static int64_t next_offset(const nxb_binder *b, nxk_value v, const nxk_access *a, int64_t least) {
  const nxk_kernel *k = b->from;
  int64_t next = a->offset;
  nxk_value block = k->instrs[v].block, end = block == NXK_NONE ? k->n_instrs : b->end_of[block];
  for (nxk_value i = block == NXK_NONE ? 0 : block + 1; i < end; i++) {
    if (k->instrs[i].op != NXK_load || k->instrs[i].block != block) continue;
    const nxk_access *other = &k->accesses[k->instrs[i].imm];
    if (other->offset >= least && other->offset < next && is_beside(a, other)) next = other->offset;
  }
  return next;
}

/* Windows begin at the first offset that is in no window before, so all loads of a block see the
 * same ones. */
static window find_window(const nxb_binder *b, nxk_value v, const nxk_access *a, int64_t apart) {
  window w = {next_offset(b, v, a, INT64_MIN), 0, 0};
  while (a->offset - w.first >= apart) w.first = next_offset(b, v, a, w.first + apart);
  const nxk_kernel *k = b->from;
  nxk_value block = k->instrs[v].block, end = block == NXK_NONE ? k->n_instrs : b->end_of[block];
  for (nxk_value i = block == NXK_NONE ? 0 : block + 1; i < end; i++) {
    if (k->instrs[i].op != NXK_load || k->instrs[i].block != block) continue;
    const nxk_access *other = &k->accesses[k->instrs[i].imm];
    bool inside = other->offset >= w.first && other->offset < w.first + apart;
    if (!inside || !is_beside(a, other)) continue;
    w.loads++;
    if (w.loads == 1 || other->offset > w.last) w.last = other->offset;
  }
  return w;
}

/* The mask of the vector whose first element is `from` elements after the window's: where lanes
 * end, the window of the last one ends `overlap` elements before the next. */
static nxk_value active_elements(nxb_binder *b, const nxb_lane_map *map, uint32_t apart,
                                 int64_t from, uint32_t overlap) {
  if (map->active == NXK_NONE || b->to->failed) return NXK_NONE;
  const nxk_instr in = b->to->instrs[map->active];
  nxk_value left = nxb_op(b, NXK_sub, in.args[1], in.args[0]),
            end = nxb_add(b, nxb_mul(b, left, apart), -(int64_t)overlap);
  return nxk_active(b->to, nxb_int(b, from), end, map->lanes);
}

/* ---- stores */

/* Whether all values are widening casts between the same dtypes. They are then interleaved before
 * the casts, which takes fewer instructions. */
static bool are_widened(const nxb_binder *b, const nxk_value *x, uint32_t n) {
  if (b->to->failed) return false;
  const nxk_instr *a = &b->to->instrs[x[0]];
  if (a->op != NXK_cast) return false;
  nx_dtype from = nxk_dtype(b->to, a->args[0]);
  bool widened = nxi_dtype_size(from) < nxi_dtype_size(a->dtype);
  for (uint32_t i = 1; i < n && widened; i++) {
    const nxk_instr *c = &b->to->instrs[x[i]];
    widened = c->op == NXK_cast && c->dtype == a->dtype && from == nxk_dtype(b->to, c->args[0]);
  }
  return widened;
}

/* One of the n vectors that n interleaved values make. */
static nxk_value interleaved(nxb_binder *b, const nxk_value *x, uint32_t n, uint32_t piece) {
  if (!are_widened(b, x, n)) return nxk_interleave_all(b->to, x, n, piece);
  nx_dtype t = nxk_dtype(b->to, x[0]);
  nxk_value narrow[MOST_APART];
  for (uint32_t i = 0; i < n; i++) narrow[i] = b->to->instrs[x[i]].args[0];
  return nxk_cast_to(b->to, t, interleaved(b, narrow, n, piece));
}

/* Whether the n stores from v on write neighbouring elements, in order. */
static bool fill_gaps(const nxb_binder *b, nxk_value v, uint32_t n) {
  const nxk_kernel *k = b->from;
  if (k->instrs[v].op != NXK_store || n > k->n_instrs - v) return false;
  const nxk_access *a = &k->accesses[k->instrs[v].imm];
  for (uint32_t i = 1; i < n; i++) {
    if (k->instrs[v + i].op != NXK_store) return false;
    const nxk_access *next = &k->accesses[k->instrs[v + i].imm];
    if (!is_beside(a, next) || next->offset != a->offset + i) return false;
  }
  return true;
}

/* ---- on a GPU: rows of two or four elements for each lane, all of which are accessed. The lanes
 * of a thread are words, and are put apart and together within the thread. */

static bool is_row(int64_t apart) { return apart == 2 || apart == 4; }

/* Whether every element of the row is loaded in the block of load v. */
static bool loads_all(const nxb_binder *b, nxk_value v, const nxk_access *a, int64_t apart) {
  const nxk_kernel *k = b->from;
  int64_t first = find_window(b, v, a, apart).first, found = 0;
  nxk_value block = k->instrs[v].block, end = block == NXK_NONE ? k->n_instrs : b->end_of[block];
  for (nxk_value i = block == NXK_NONE ? 0 : block + 1; i < end; i++) {
    if (k->instrs[i].op != NXK_load || k->instrs[i].block != block) continue;
    const nxk_access *other = &k->accesses[k->instrs[i].imm];
    bool inside = other->offset >= first && other->offset < first + apart;
    if (inside && is_beside(a, other)) found |= INT64_C(1) << (other->offset - first);
  }
  return found == (INT64_C(1) << apart) - 1;
}

int64_t nxb_row_of(const nxb_binder *b, nxk_value v, int64_t apart) {
  const nxk_instr *in = &b->from->instrs[v];
  const nxk_access *a = &b->from->accesses[in->imm];
  if (!is_row(apart) || a->mask != NXK_NONE) return 0;
  if (in->op == NXK_load) return loads_all(b, v, a, apart) ? apart : 0;
  nxk_value first = v;
  while (first > 0 && fill_gaps(b, first - 1, (uint32_t)(v - first + 2)) && v - first + 1 < apart)
    first--;
  return fill_gaps(b, first, (uint32_t)apart) ? apart : 0;
}

/* The access of whole rows at the place of an access to one element of each; false: there are no
 * words. first: the offset of the row. */
static bool place_rows(nxb_binder *b, const nxb_lane_map *map, const nxk_access *a, int64_t first,
                       uint32_t apart, nxb_placed *p) {
  nxk_access *x = &p->access;
  uint16_t lanes = (uint16_t)(map->lanes * apart);
  bool computed = p->index != NXK_NONE;
  if (computed && x->group == 0 && map->lanes != b->threads) return false;
  if (computed && x->group == 0) x->group = 1;
  x->group = (uint16_t)(x->group * apart);
  x->lane_stride = 1;
  x->offset += first - a->offset;
  if (map->active != NXK_NONE && nxb_lanes_of(b, map->active) != b->threads) {
    const nxk_instr in = b->to->instrs[map->active];
    if (in.op != NXK_active) return false;
    x->mask =
        nxk_active(b->to, nxb_mul(b, in.args[0], apart), nxb_mul(b, in.args[1], apart), lanes);
  } else {
    x->mask = map->active;
  }
  return nxb_is_whole(b, lanes, a, x);
}

/* Elements of the row that access v is one of; 0: of none. Each thread may have its own index. */
static uint32_t row_at(const nxb_binder *b, const nxb_lane_map *map, nxk_value v,
                       const nxb_placed *p) {
  if (p->twice) return 0;
  if (p->index == NXK_NONE || p->access.group > 1)
    return (uint32_t)nxb_row_of(b, v, p->access.lane_stride);
  if (p->access.lane_stride != 0 || map->lanes != b->threads) return 0;
  for (int64_t apart = MOST_APART; apart >= 2; apart /= 2)
    if (nxb_multiple(b, p->index) % apart == 0 && nxb_row_of(b, v, apart) != 0)
      return (uint32_t)apart;
  return 0;
}

static bool is_of_rows(const nxb_binder *b, const nxb_lane_map *map, const nxk_access *a) {
  return b->threads != 0 && map->lanes > 1 && map->tile == NULL && map->storing == NXK_NONE &&
         a->mask == NXK_NONE && a->other == NXK_NONE && !b->to->failed &&
         b->from->buffers[a->buffer].kind != NXK_LOCAL;
}

static bool load_rows(nxb_binder *b, nxb_lane_map *map, nxk_value v, const nxb_placed *placed) {
  const nxk_access *a = &b->from->accesses[b->from->instrs[v].imm];
  nxb_placed p = *placed;
  if (!is_of_rows(b, map, a)) return false;
  uint32_t apart = row_at(b, map, v, &p);
  if (apart == 0) return false;
  int64_t first = find_window(b, v, a, apart).first;
  if (!place_rows(b, map, a, first, apart, &p)) return false;
  p.access.flags |= NXK_WHOLE;
  nxk_value rows = nxk_load(b->to, &p.access, (uint16_t)(map->lanes * apart));
  nxb_set_value(map, v, nxk_every(b->to, rows, apart, (uint32_t)(a->offset - first)), 0);
  return true;
}

static uint32_t store_rows(nxb_binder *b, nxb_lane_map *map, nxk_value v) {
  const nxk_access *a = &b->from->accesses[b->from->instrs[v].imm];
  nxk_value values[MOST_APART];
  nxb_placed p;
  if (!is_of_rows(b, map, a) || !map->stores || !nxb_place_access(b, map, a, false, &p)) return 0;
  uint32_t apart = row_at(b, map, v, &p);
  if (apart == 0 || !fill_gaps(b, v, apart) || !place_rows(b, map, a, a->offset, apart, &p))
    return 0;
  for (uint32_t i = 0; i < apart; i++) values[i] = nxb_wide(b, map, b->from->instrs[v + i].args[0]);
  p.access.flags = (p.access.flags & ~(uint32_t)NXK_NONTEMPORAL) | NXK_WHOLE;
  nxk_store(b->to, &p.access, nxk_in_turn(b->to, values, apart));
  return apart;
}

/* ---- all */

/* Whether all loads of the region from the same array are in one window: a single stream. */
static bool is_only_window(const nxb_binder *b, const nxk_access *a, window w, int64_t apart) {
  for (nxk_value v = b->region->first; v < b->region->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (in->op != NXK_load || b->from->accesses[in->imm].buffer != a->buffer) continue;
    const nxk_access *other = &b->from->accesses[in->imm];
    if (!is_beside(a, other) || other->offset < w.first || other->offset >= w.first + apart)
      return false;
  }
  return true;
}

/* How many elements beyond the vectors of an array from memory are fetched. A code generator loads
 * them in any order, and prefetchers of hardware follow only lines that are asked for one after the
 * other. */
static int64_t ahead_of_vectors(const nxb_binder *b, const nxk_access *a, window w, int64_t apart) {
  enum { AHEAD_BYTES = 2048 };
  const nxk_buffer *from = &b->from->buffers[a->buffer];
  const int64_t size = nxi_dtype_size(from->dtype);
  if (b->target->generic || b->region->n_stages > 0 || from->kind != NXK_IN ||
      from->elements * size < b->target->l3_bytes / 4 * 3 || !is_only_window(b, a, w, apart))
    return 0;
  return AHEAD_BYTES / size;
}

bool nxb_load_strided(nxb_binder *b, nxb_lane_map *map, nxk_value v, const nxb_placed *p) {
  const nxk_access *a = &b->from->accesses[b->from->instrs[v].imm];
  if (b->threads != 0) return load_rows(b, map, v, p);
  if (!is_strided(b, map, a, p)) return false;
  uint32_t apart = (uint32_t)p->access.lane_stride;
  window w = find_window(b, v, a, apart);
  int64_t in_register = b->target->vector_bytes / nxi_dtype_size(b->from->instrs[v].dtype);
  if (w.loads == 1 && in_register <= apart) return false;
  uint32_t first = (uint32_t)(a->offset - w.first),
           overlap = apart - 1 - (uint32_t)(w.last - w.first);
  const int64_t ahead = ahead_of_vectors(b, a, w, apart);
  nxk_value vectors[MOST_APART];
  for (uint32_t i = 0; i < apart; i++) {
    nxk_access whole = p->access;
    whole.lane_stride = 1;
    if (a->mask != NXK_NONE) whole.flags |= NXK_SKIPS;
    int64_t from = (int64_t)i * map->lanes - (i + 1 == apart ? overlap : 0);
    whole.offset += from - first;
    whole.prefetch = ahead > 0 && i + 1 == apart ? ahead + overlap : ahead;
    if (map->active != NXK_NONE) whole.mask = active_elements(b, map, apart, from, overlap);
    vectors[i] = nxk_load(b->to, &whole, map->lanes);
  }
  nxb_set_value(map, v, nxk_deinterleave(b->to, vectors, apart, first, overlap), 0);
  return true;
}

uint32_t nxb_store_interleaved(nxb_binder *b, nxb_lane_map *map, nxk_value v) {
  const nxk_instr *in = &b->from->instrs[v];
  const nxk_access *a = &b->from->accesses[in->imm];
  nxb_placed p;
  nxk_value values[MOST_APART];
  bool second = v + 1 < b->from->n_instrs && in[1].op == NXK_store;
  if (second && b->threads != 0) return store_rows(b, map, v);
  if (!second || !map->stores || map->storing != NXK_NONE || map->active != NXK_NONE ||
      b->threads != 0 || map->lanes < LEAST_LANES || !nxb_place_access(b, map, a, false, &p) ||
      a->mask != NXK_NONE || !is_strided(b, map, a, &p) ||
      !fill_gaps(b, v, (uint32_t)p.access.lane_stride))
    return 0;
  uint32_t n = (uint32_t)p.access.lane_stride;
  p.access.lane_stride = 1;
  for (uint32_t i = 0; i < n; i++) values[i] = nxb_wide(b, map, in[i].args[0]);
  if (!nxb_is_whole_lines(b, map, a, &p.access)) p.access.flags &= ~(uint32_t)NXK_NONTEMPORAL;
  for (uint32_t i = 0; i < n && !b->to->failed; i++) {
    nxk_store(b->to, &p.access, interleaved(b, values, n, i));
    p.access.offset += map->lanes;
  }
  return n;
}
