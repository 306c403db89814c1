/* SPDX-License-Identifier: ISC */
/* What XLA's own attribute, mhlo.sharding, says of how values are divided: a text with the tiles
 * along each dimension, and which partition has which. Programs of before Shardy have it. Those
 * that number partitions in order share one mesh, whose axes are cut where one of them needs it, so
 * that values are known to be divided alike. */
#include <string.h>

#include "shards.h"

enum { MOST_TILES = NX_MAX_RANK + 2, MOST_LISTED = 1024 };

/* Factors of the tiles, from the first dimension on: partitions that differ by one in a factor are
 * `step` apart, and it has `size` of them. Of a list of partitions its own places are meant. */
typedef struct tiles {
  int32_t n_dims; /* with what is behind those of the tensor */
  int64_t dims[MOST_TILES];
  int32_t n;
  int64_t step[NXH_MOST_AXES], size[NXH_MOST_AXES];
  int32_t dim[NXH_MOST_AXES];
  int64_t places;
  const char *list; /* of partitions, in the text; NULL: in order */
  bool whole;       /* nothing is divided */
} tiles;

static const char malformed[] = "a sharding that is malformed";
static const char unknown[] = "a sharding of a form that is not supported";

/* ---- reading */

typedef struct cursor {
  const char *at, *end;
} cursor;

static bool eat(cursor *c, const char *text) {
  size_t n = strlen(text);
  if ((size_t)(c->end - c->at) < n || memcmp(c->at, text, n) != 0) return false;
  c->at += n;
  return true;
}

static bool number(cursor *c, int64_t *out) {
  const char *from = c->at;
  for (*out = 0; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
    *out = *out * 10 + (*c->at - '0');
    if (*out > 1 << 20) return false;
  }
  return c->at > from;
}

/* Numbers between commas; how many, -1: none, or too many. */
static int32_t numbers(cursor *c, int64_t *out, int32_t most) {
  int32_t n = 0;
  do {
    if (n == most || !number(c, &out[n])) return -1;
    n++;
  } while (eat(c, ","));
  return n;
}

/* The dimensions of the tiles in the order in which partitions are numbered by `sizes`, transposed
 * by `order`: a factor for each of their common parts. */
static bool factor(tiles *t, const int64_t *sizes, const int64_t *order, int32_t n) {
  int64_t steps[NXH_MOST_AXES], step = 1;
  int32_t d = 0;
  for (int32_t i = n; i-- > 0; step *= sizes[i]) steps[i] = step;
  int64_t wanted = t->dims[0];
  for (int32_t k = 0; k < n; k++) {
    int64_t left = sizes[order[k]];
    while (left > 1) {
      while (wanted == 1 && d + 1 < t->n_dims) wanted = t->dims[++d];
      int64_t part = left < wanted ? left : wanted;
      if (part == 1 || left % part != 0 || wanted % part != 0 || t->n == NXH_MOST_AXES)
        return false;
      left /= part;
      wanted /= part;
      t->dim[t->n] = d;
      t->size[t->n] = part;
      t->step[t->n++] = steps[order[k]] * left;
    }
  }
  return true;
}

/* <=[2,4]T(1,0), or <=[8] */
static const char *read_order(cursor *c, tiles *t) {
  int64_t sizes[NXH_MOST_AXES], order[NXH_MOST_AXES], places = 1;
  int32_t n = numbers(c, sizes, NXH_MOST_AXES);
  uint32_t seen = 0;
  if (n < 1 || !eat(c, "]")) return malformed;
  for (int32_t i = 0; i < n; i++) {
    order[i] = i;
    if (sizes[i] < 1 || sizes[i] > t->places) return malformed;
    places *= sizes[i];
    if (places > t->places) return malformed;
  }
  if (eat(c, "T(") && (numbers(c, order, n) != n || !eat(c, ")"))) return malformed;
  for (int32_t i = 0; i < n; i++) seen |= order[i] < n ? 1U << order[i] : 0;
  if (places != t->places || __builtin_popcount(seen) != n) return malformed;
  return factor(t, sizes, order, n) ? NULL : unknown;
}

/* 0,1,2,3: kept, for who makes a mesh of it. */
static const char *read_list(cursor *c, tiles *t) {
  int64_t order[MOST_TILES], place;
  bool in_order = true, seen[MOST_LISTED] = {false};
  if (t->places > MOST_LISTED) return unknown;
  t->list = c->at;
  for (int64_t i = 0; i < t->places; i++) {
    if ((i > 0 && !eat(c, ",")) || !number(c, &place) || place >= t->places || seen[place])
      return malformed;
    seen[place] = true;
    in_order = in_order && place == i;
  }
  if (in_order) t->list = NULL;
  if (t->n_dims > NXH_MOST_AXES) return unknown;
  for (int32_t i = 0; i < t->n_dims; i++) order[i] = i;
  return factor(t, t->dims, order, t->n_dims) ? NULL : unknown;
}

static const char *read_tiles(cursor *c, tiles *t, int32_t rank) {
  t->places = 1;
  t->n_dims = numbers(c, t->dims, MOST_TILES);
  if (t->n_dims < 1 || !eat(c, "]")) return malformed;
  for (int32_t i = 0; i < t->n_dims; i++) {
    if (t->dims[i] < 1) return malformed;
    t->places *= t->dims[i];
    if (t->places > 1 << 20) return malformed;
  }
  const char *bad = eat(c, "<=[") ? read_order(c, t) : read_list(c, t);
  if (bad != NULL) return bad;
  bool last = eat(c, " last_tile_dim_replicate") || eat(c, " last_tile_dims={replicated}");
  return t->n_dims == rank + last ? NULL : unknown;
}

static const char *read_text(nxh_word w, int32_t rank, tiles *t) {
  cursor c = {w.at, w.at + w.length};
  *t = (tiles){0};
  if (!eat(&c, "{")) return malformed;
  t->whole = eat(&c, "replicated");
  const char *bad = t->whole ? NULL : eat(&c, "devices=[") ? read_tiles(&c, t, rank) : unknown;
  return bad != NULL ? bad : eat(&c, "}") && c.at == c.end ? NULL : unknown;
}

/* ---- meshes. The first of the module is the one that is shared */

/* The axis of a mesh in order that ends, or begins, at a step; -1: none. */
static int axis_at(const nxh_grid *g, int64_t step, bool begins) {
  int64_t after = 1;
  for (uint32_t i = g->n; i-- > 0;) {
    int64_t before = after * g->sizes[i];
    if ((begins ? before : after) == step) return (int)i;
    after = before;
  }
  return -1;
}

/* Cuts the axis that has this step inside, if it can be. */
static bool cut(nxh_grid *g, int64_t step) {
  int64_t after = 1;
  for (uint32_t i = g->n; i-- > 0; after *= g->sizes[i]) {
    int64_t before = after * g->sizes[i];
    if (step <= after || step >= before) continue;
    if (step % after != 0 || before % step != 0 || g->n == NXH_MOST_AXES) return false;
    memmove(&g->sizes[i + 1], &g->sizes[i], (g->n - i) * sizeof *g->sizes);
    g->sizes[i] = before / step;
    g->sizes[i + 1] = step / after;
    g->n++;
    return true;
  }
  return true;
}

static const nxh_grid *own_grid(const nxh_module *m, nxh_word text) {
  for (uint32_t i = 1; i < m->n_grids; i++)
    if (nxh_words_equal(m->grids[i].name, text)) return &m->grids[i];
  return NULL;
}

/* Of a text whose partitions are in another order, or that cuts the shared mesh where others do
 * not: its factors are the axes. */
static bool add_own(nxh_module *m, nxh_word text, const tiles *t) {
  if (own_grid(m, text) != NULL) return true;
  nxh_grid *g = &m->grids[m->n_grids];
  int64_t *devices = nxi_arena_alloc(&m->arena, (size_t)t->places * sizeof *devices);
  cursor c = {t->list, text.at + text.length};
  if (devices == NULL) return false;
  *g = (nxh_grid){.name = text, .n = (uint32_t)t->n, .places = t->places, .devices = devices};
  memcpy(g->sizes, t->size, (size_t)t->n * sizeof *t->size);
  for (int64_t place = 0; place < t->places; place++) {
    int64_t rest = place;
    if (t->list != NULL) {
      if (place > 0) eat(&c, ",");
      if (!number(&c, &devices[place])) devices[place] = 0;
      continue;
    }
    devices[place] = 0;
    for (int32_t i = t->n; i-- > 0; rest /= t->size[i])
      devices[place] += rest % t->size[i] * t->step[i];
  }
  m->n_grids++;
  return true;
}

/* Makes room for the text in the meshes. What is not understood is refused where it is used. */
static bool note_text(nxh_module *m, const nxh_attr *a, int32_t rank) {
  tiles t;
  if (a->kind != NXH_STRING || read_text(a->word, rank, &t) != NULL || t.whole) return true;
  nxh_grid *shared = &m->grids[0];
  if (m->n_grids == 0) {
    *shared = (nxh_grid){.n = 1, .sizes = {t.places}, .places = t.places};
    m->n_grids = 1;
  }
  bool fits = t.list == NULL && t.places == shared->places;
  for (int32_t i = 0; fits && i < t.n; i++)
    fits = cut(shared, t.step[i]) && cut(shared, t.step[i] * t.size[i]);
  return fits || add_own(m, a->word, &t);
}

/* ---- all texts of a module */

static const nxh_attr *text_of(const nxh_attr *attrs) {
  const nxh_attr *a = attrs != NULL && attrs->kind == NXH_DICT
                          ? nxh_find(attrs->dict.items, attrs->dict.n, "mhlo.sharding")
                          : NULL;
  return a != NULL && a->kind == NXH_STRING ? a : NULL;
}

/* Counts, with m NULL, or notes them. */
typedef struct walk {
  nxh_module *m;
  const nxh_module *of;
  size_t n;
  bool ok;
} walk;

static void visit(walk *w, const nxh_attr *a, int32_t rank) {
  if (a == NULL) return;
  w->n++;
  if (w->m != NULL && w->ok) w->ok = note_text(w->m, a, rank);
}

static void visit_region(walk *w, const nxh_region *region) {
  for (uint32_t i = 0; i < region->n_ops; i++) {
    const nxh_op *op = &region->ops[i];
    if (op->n_results == 1 && nxh_word_is(op->name, "stablehlo.custom_call"))
      visit(w, nxh_get(op, "mhlo.sharding"), nxh_type_of(w->of, op->first_result)->rank);
    for (uint32_t k = 0; k < op->n_regions; k++) visit_region(w, &op->regions[k]);
  }
}

static void visit_all(walk *w) {
  for (uint32_t i = 0; i < w->of->n_functions; i++) {
    const nxh_function *f = &w->of->functions[i];
    for (uint32_t k = 0; f->arg_attrs != NULL && k < f->body.n_args; k++)
      visit(w, text_of(&f->arg_attrs[k]), nxh_type_of(w->of, f->body.first + k)->rank);
    for (uint32_t k = 0; f->result_attrs != NULL && k < f->n_results; k++)
      visit(w, text_of(&f->result_attrs[k]), f->results[k].rank);
    visit_region(w, &f->body);
  }
}

bool nxh_note_shardings(nxh_module *m) {
  walk w = {.of = m, .ok = true};
  if (m->n_grids > 0) return true; /* Shardy's */
  visit_all(&w);
  if (w.n == 0) return true;
  m->grids = nxi_arena_alloc(&m->arena, (w.n + 1) * sizeof *m->grids);
  if (m->grids == NULL) return false;
  w.m = m;
  visit_all(&w);
  return w.ok;
}

/* ---- what a text means */

/* Adds the axes from `first` on that a factor is. */
static const char *add_axes(nxh_sharding *s, int32_t dim, int first, int64_t size) {
  while (size > 1) {
    if (first < 0 || first >= (int)s->grid->n || s->n[dim] == NXH_MOST_AXES) return malformed;
    s->axes[dim][s->n[dim]++] = (uint8_t)first;
    size /= s->grid->sizes[first++];
  }
  return NULL;
}

const char *nxh_read_sharding_text(const nxh_module *m, nxh_word text, int32_t rank,
                                   nxh_sharding *s) {
  tiles t;
  const char *bad = read_text(text, rank, &t);
  *s = (nxh_sharding){0};
  if (bad != NULL || t.whole) return bad;
  const nxh_grid *own = own_grid(m, text);
  s->grid = own != NULL ? own : m->n_grids > 0 ? &m->grids[0] : NULL;
  if (s->grid == NULL || s->grid->places != t.places) return unknown;
  for (int32_t i = 0; bad == NULL && i < t.n; i++) {
    if (t.dim[i] >= rank) continue;
    int first = own != NULL ? i : axis_at(s->grid, t.step[i] * t.size[i], true);
    bad = add_axes(s, t.dim[i], first, t.size[i]);
  }
  return bad;
}
