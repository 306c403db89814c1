/* SPDX-License-Identifier: ISC */
/* The geometry of packed tiles: how the columns that a tile multiplies, and the inner extent, are
 * cut into units, and the walk over the operand that makes one unit. What numbers batches and units
 * stays outside of the walk; inside are a few columns beside each other and a few elements of the
 * inner extent of each. */
#include "packed_tiles.h"

#include "ir/library/tiles.h"

enum {
  LEAST_UNIT = 32, /* columns of a packed tile whose columns lie beside each other: two vectors */
  MOST_UNIT = 128,
  SHORT_LINE = 4,           /* columns that share a byte */
  UNIT_ELEMENTS = 32 << 10, /* of a unit in all: some microseconds for a call of the kernel */
  LEAST_DEPTH = 64,         /* elements of the inner extent in a unit that divides it evenly */
  DEPTH_UNITS =
      8, /* in a packed tile, where none divides it: those at its ends are computed and not used */
};

/* How pieces first .. end - 1 of a walk's axes are cut: a line is pieces `at` .. end - 1, units
 * slide along piece `at`. */
typedef struct cut {
  int32_t first, end, at;
  nxp_units units;
} cut;

static int64_t limited(int64_t x, int64_t least, int64_t most) {
  return x < least ? least : x > most ? most : x;
}

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* ---- the matrices of an operand */

/* What part i of an operand walks: the operand itself, or what is part i of a cat along the inner
 * extent. */
static void part_view(const nxp_step_builder *s, uint32_t operand, int32_t i, nxg_view *v) {
  const nxg_node *n = node_of(s, operand);
  if (n->op != NXG_cat) {
    nxg_node_view(s->b->g, operand, v);
    return;
  }
  const nxg_node *x = node_of(s, n->args[i]);
  nxg_view_contiguous(v, x->rank, x->shape);
}

/* Batch, then what lies closer inside. True: several products of the batch have the same matrix. */
static bool walk_matrices(const nxg_node *product, const nxg_view *v, int32_t along, int32_t deep,
                          bool inner, nxp_walk *walk) {
  bool repeats = false;
  int32_t batch = product->rank - 2, more = product->rank - v->rank, last = inner ? along : deep,
          other = inner ? deep : along;
  *walk = (nxp_walk){.rank = product->rank, .offset = v->offset};
  for (int32_t d = 0; d < batch; d++) {
    walk->extent[d] = product->shape[d];
    walk->from[d] = d < more ? 0 : v->strides[d - more];
    repeats = repeats || (product->shape[d] != 1 && walk->from[d] == 0);
  }
  walk->extent[batch] = v->shape[other];
  walk->from[batch] = v->strides[other];
  walk->extent[batch + 1] = v->shape[last];
  walk->from[batch + 1] = v->strides[last];
  return repeats;
}

bool nxp_packed_matrix(const nxp_step_builder *s, uint32_t product, int i, nxp_packed_tiles *g) {
  const nxg_node *n = node_of(s, product), *operand = node_of(s, n->args[i]);
  nxg_view v;
  bool transposed;
  int64_t ld, batches = 1;
  *g = (nxp_packed_tiles){.base = nxp_operand_base(s, n->args[i]), .image = NXP_NONE, .n_parts = 1};
  nxg_node_view(s->b->g, n->args[i], &v);
  if (!nxp_gemm_layout(&v, &transposed, &ld)) return false;
  int32_t along = i == 0 ? v.rank - 2 : v.rank - 1, deep = i == 0 ? v.rank - 1 : v.rank - 2;
  for (int32_t d = 0; d < n->rank - 2; d++) batches *= n->shape[d];
  g->inner = (i == 1) != transposed;
  g->extent = v.shape[along];
  g->depth = v.shape[deep];
  nxi_tiles tiles =
      nxi_matmul_tiles(batches, n->shape[n->rank - 2], n->shape[n->rank - 1], g->depth);
  g->width = i == 0 ? tiles.rows : tiles.columns;
  g->piece = tiles.depth;
  if (operand->op == NXG_cat) g->n_parts = (int32_t)operand->n_args;
  if (g->n_parts > NXP_PACKED_PARTS || (operand->op == NXG_cat && operand->attrs[0] != deep))
    return false;
  for (int32_t k = 0; k < g->n_parts; k++) {
    nxp_packed_walk *part = &g->parts[k];
    part_view(s, n->args[i], k, &v);
    g->repeats = walk_matrices(n, &v, along, deep, g->inner, &part->walk);
    part->walk.operand = operand->op == NXG_cat ? (uint32_t)k : NXP_NONE;
    part->begin = k > 0 ? g->parts[k - 1].end : 0;
    part->end = part->begin + v.shape[deep];
    if (part->end == part->begin) return false;
  }
  return g->extent > 1 && g->depth > 0 && batches > 0;
}

/* ---- units */

/* Pieces of an axis that together are one unit, from `at` on. */
static void one_line(const nxp_walk *factors, int32_t at, cut *c) {
  c->at = at;
  c->units = (nxp_units){.line = 1};
  for (int32_t p = at; p < c->end; p++) c->units.line *= factors->extent[p];
  c->units.unit = c->units.line;
}

/* Units of `count` indices of piece `at` each. */
static void slide(const nxp_walk *factors, int32_t at, int64_t count, cut *c) {
  one_line(factors, at, c);
  if (count >= factors->extent[at]) return;
  c->units.step = c->units.line / factors->extent[at];
  c->units.unit = count * c->units.step;
}

/* Columns: lines are the innermost factors, as many as make a unit; units are lines, or slide along
 * them. Where those factors are short (the two halves of a byte) and the next one is too long for a
 * unit, units slide along that. */
static void cut_columns(const nxp_packed_tiles *g, const nxp_walk *factors, int64_t depth, cut *c) {
  int64_t least = g->inner ? LEAST_UNIT : 1, most = limited(g->width / 4, least, MOST_UNIT),
          wanted = limited(UNIT_ELEMENTS / depth, least, most);
  int32_t at = c->end - 1;
  int64_t line = factors->extent[at];
  while (at > c->first && line * factors->extent[at - 1] <= wanted) line *= factors->extent[--at];
  if (g->inner && line <= SHORT_LINE && at > c->first) {
    int64_t next = factors->extent[--at], count = (next * line + wanted - 1) / wanted;
    slide(factors, at, (next + count - 1) / count, c);
    return;
  }
  one_line(factors, at, c);
  if (at != c->end - 1 || line <= wanted + wanted / 2) return;
  int64_t count = (line + wanted - 1) / wanted, unit = (line + count - 1) / count;
  if (g->inner) unit = (unit + 15) / 16 * 16;
  slide(factors, at, unit, c);
}

/* The inner extent of a part, of which a packed tile has `piece`, or less. Boundaries of pieces are
 * multiples of `even` from the beginning of the part. True: units lie evenly between them. */
static bool cut_depth(const nxp_walk *factors, int64_t piece, int64_t even, bool whole, cut *c) {
  int64_t best = 0, step = 1, wanted = piece / DEPTH_UNITS;
  one_line(factors, c->first, c);
  if (whole) return true;
  for (int32_t p = c->end; p-- > c->first; step *= factors->extent[p]) {
    int64_t count = even % step == 0 ? common_divisor(even / step, factors->extent[p]) : 0;
    if (count * step <= best) continue;
    best = count * step;
    slide(factors, p, count, c);
  }
  if (best >= LEAST_DEPTH) return true;
  int32_t at = c->end - 1;
  for (step = 1; at > c->first && step * factors->extent[at] <= wanted; at--)
    step *= factors->extent[at];
  int64_t line = step * factors->extent[at], count = (line + wanted - 1) / wanted;
  slide(factors, at, (factors->extent[at] + count - 1) / count, c);
  return false;
}

/* ---- the walk of a unit */

static void add_axis(nxp_walk *walk, int64_t extent, int64_t from, int64_t to) {
  walk->extent[walk->rank] = extent;
  walk->from[walk->rank] = from;
  walk->to[walk->rank++] = to;
}

/* Adds pieces first .. end - 1 of the factors, of which the last one moves `stride` in the packed
 * tile. */
static void add_pieces(nxp_walk *walk, const nxp_walk *factors, int32_t first, int32_t end,
                       int64_t stride) {
  int64_t to[NXG_MAX_RANK] = {0};
  for (int32_t i = end; i-- > first; stride *= factors->extent[i]) to[i] = stride;
  for (int32_t i = first; i < end; i++) add_axis(walk, factors->extent[i], factors->from[i], to[i]);
}

/* What numbers the units of a cut; returns how many axes. */
static int32_t add_outside(nxp_walk *walk, const nxp_walk *factors, const cut *c) {
  int32_t before = walk->rank;
  add_pieces(walk, factors, c->first, c->at, 0);
  if (c->units.step > 0)
    add_axis(walk, (c->units.line - c->units.unit) / c->units.step + 1, factors->from[c->at], 0);
  return walk->rank - before;
}

/* What is inside of a unit; neighbours are `stride` apart in the packed tile. */
static void add_inside(nxp_walk *walk, const nxp_walk *factors, const cut *c, int64_t stride) {
  bool slides = c->units.step > 0;
  if (slides)
    add_axis(walk, c->units.unit / c->units.step, factors->from[c->at], stride * c->units.step);
  add_pieces(walk, factors, c->at + slides, c->end, stride);
}

/* The first and the end of the pieces that axis `axis` became. */
static void pieces_of(const int32_t *axis, int32_t rank, int32_t which, cut *c) {
  c->first = 0;
  while (c->first < rank && axis[c->first] < which) c->first++;
  c->end = c->first;
  while (c->end < rank && axis[c->end] == which) c->end++;
}

/* Cuts one part into units. False: more axes than a walk has. */
static bool cut_part(nxp_packed_tiles *g, nxp_packed_walk *part, const int32_t *axis, int32_t batch,
                     cut *columns, cut *depth) {
  const nxp_walk *factors = &part->walk;
  pieces_of(axis, factors->rank, g->inner ? batch + 1 : batch, columns);
  pieces_of(axis, factors->rank, g->inner ? batch : batch + 1, depth);
  for (part->batch_axes = 0; part->batch_axes < factors->rank && axis[part->batch_axes] < batch;)
    part->batch_axes++;
  if (columns->first == columns->end || factors->rank + 2 > NXG_MAX_RANK) return false;
  bool whole = g->piece >= g->depth || depth->first == depth->end;
  if (!cut_depth(factors, g->piece, common_divisor(g->piece, part->begin), whole, depth) &&
      g->margin[1] < depth->units.unit)
    g->margin[1] = depth->units.unit;
  cut_columns(g, factors, depth->units.unit, columns);
  part->columns = columns->units;
  part->depth = depth->units;
  int64_t unit = columns->units.unit;
  bool fits =
      g->width >= g->extent || (columns->units.step == 0 && unit > 0 && g->width % unit == 0);
  if (!fits && g->margin[0] < columns->units.unit) g->margin[0] = columns->units.unit;
  return true;
}

/* False: a packed tile of more elements than can be counted. */
static bool lay_out(nxp_packed_tiles *g) {
  int64_t width = g->width + 2 * g->margin[0], deep = g->piece + 2 * g->margin[1];
  g->ld = g->inner ? (width + 15) / 16 * 16 : deep;
  /* lines a power of two apart share cache sets */
  if ((g->inner || g->piece < g->depth) && g->ld % 1024 == 0) g->ld += 16;
  return !__builtin_mul_overflow(g->ld, g->inner ? deep : width, &g->elements);
}

static void write_walk(const nxp_packed_tiles *g, nxp_packed_walk *part, const cut *columns,
                       const cut *depth) {
  const nxp_walk factors = part->walk;
  nxp_walk *walk = &part->walk;
  *walk = (nxp_walk){.offset = factors.offset, .operand = factors.operand};
  add_pieces(walk, &factors, 0, part->batch_axes, 0);
  part->column_axes = add_outside(walk, &factors, columns);
  add_outside(walk, &factors, depth);
  walk->outside = walk->rank;
  if (g->inner) add_inside(walk, &factors, depth, g->ld);
  add_inside(walk, &factors, columns, g->inner ? 1 : g->ld);
  if (!g->inner) add_inside(walk, &factors, depth, 1);
}

nx_status nxp_packed_walks(nxp_step_builder *s, uint32_t group, int32_t batch, nxp_packed_tiles *g,
                           bool *ok) {
  cut columns[NXP_PACKED_PARTS] = {{0}}, depth[NXP_PACKED_PARTS] = {{0}};
  *ok = true;
  for (int32_t k = 0; k < g->n_parts && *ok; k++) {
    int32_t axis[NXG_MAX_RANK];
    nx_status status =
        nxp_lower_factors(s->b->lowering, group, &g->parts[k].walk, axis, ok, s->b->d);
    if (status != NX_OK) return status;
    *ok = *ok && cut_part(g, &g->parts[k], axis, batch, &columns[k], &depth[k]);
  }
  *ok = *ok && lay_out(g);
  for (int32_t k = 0; k < g->n_parts && *ok; k++)
    write_walk(g, &g->parts[k], &columns[k], &depth[k]);
  return NX_OK;
}
