/* SPDX-License-Identifier: ISC */
/* What Shardy's attributes say of meshes, and of how values are divided, in the lists that the
 * reader of artifacts leaves (bytecode_attrs.c). */
#include "shards.h"

#include <string.h>

static bool is_list(const nxh_attr *a, uint32_t n) { return a->kind == NXH_LIST && a->list.n == n; }

static bool read_devices(nxi_arena *arena, const nxh_attr *ids, nxh_grid *g) {
  int64_t *devices = nxi_arena_alloc(arena, (size_t)g->places * sizeof *devices);
  if (devices == NULL || ids->list.n != g->places) return false;
  for (int64_t i = 0; i < g->places; i++) {
    devices[i] = ids->list.items[i].integer;
    if (ids->list.items[i].kind != NXH_INT || devices[i] < 0 || devices[i] >= g->places)
      return false;
  }
  g->devices = devices;
  return true;
}

/* A mesh without axes is one device, whose number says which. */
bool nxh_read_grid(nxi_arena *arena, nxh_word name, const nxh_attr *mesh, nxh_grid *g) {
  *g = (nxh_grid){.name = name, .places = 1};
  if (!is_list(mesh, 2)) return false;
  const nxh_attr *axes = &mesh->list.items[0], *ids = &mesh->list.items[1];
  if (axes->kind != NXH_LIST || ids->kind != NXH_LIST || axes->list.n > NXH_MOST_AXES) return false;
  for (; g->n < axes->list.n; g->n++) {
    const nxh_attr *axis = &axes->list.items[g->n];
    if (!is_list(axis, 2) || axis->list.items[0].kind != NXH_STRING ||
        axis->list.items[1].kind != NXH_INT)
      return false;
    g->axes[g->n] = axis->list.items[0].word;
    g->sizes[g->n] = axis->list.items[1].integer;
    if (g->sizes[g->n] < 1 || g->sizes[g->n] > 1 << 20) return false;
    g->places *= g->sizes[g->n];
    if (g->places > 1 << 20) return false;
  }
  return g->n == 0 || ids->list.n == 0 || read_devices(arena, ids, g);
}

static const nxh_grid *find_grid(const nxh_module *m, nxh_word name) {
  for (uint32_t i = 0; i < m->n_grids; i++)
    if (nxh_words_equal(m->grids[i].name, name)) return &m->grids[i];
  return NULL;
}

static int find_axis(const nxh_grid *g, nxh_word name) {
  for (uint32_t i = 0; i < g->n; i++)
    if (nxh_words_equal(g->axes[i], name)) return (int)i;
  return -1;
}

static bool is_taken(const nxh_sharding *s, int axis) {
  for (int32_t d = 0; d <= NXH_TERMS; d++)
    for (int i = 0; i < s->n[d]; i++)
      if (s->axes[d][i] == axis) return true;
  return false;
}

/* Of a dimension, or of the terms of a sum. */
static const char *read_dimension(const nxh_attr *axes, nxh_sharding *s, uint32_t d) {
  if (axes->kind != NXH_LIST) return "a sharding that is malformed";
  uint32_t n = axes->list.n;
  if (n > 0 && axes->list.items[n - 1].kind == NXH_UNIT) {
    s->open |= 1U << d;
    n--;
  }
  if (n > NXH_MOST_AXES) return "a sharding that is malformed";
  for (uint32_t i = 0; i < n; i++) {
    if (axes->list.items[i].kind != NXH_STRING) return "a sharding by a part of an axis";
    int axis = find_axis(s->grid, axes->list.items[i].word);
    if (axis < 0) return "a sharding by an axis that its mesh lacks";
    if (is_taken(s, axis)) return "a sharding that has an axis twice";
    s->axes[d][s->n[d]++] = (uint8_t)axis;
  }
  return NULL;
}

/* Those that a list names, as bits. */
static uint32_t axes_of(const nxh_grid *g, const nxh_attr *names) {
  uint32_t bits = 0;
  for (uint32_t i = 0; i < names->list.n; i++) {
    int axis =
        names->list.items[i].kind == NXH_STRING ? find_axis(g, names->list.items[i].word) : -1;
    if (axis >= 0) bits |= 1U << axis;
  }
  return bits;
}

const char *nxh_read_sharding(const nxh_module *m, const nxh_attr *a, int32_t rank,
                              nxh_sharding *s) {
  *s = (nxh_sharding){0};
  if (a->kind == NXH_STRING) return nxh_read_sharding_text(m, a->word, rank, s);
  bool terms = is_list(a, 4);
  if (!(terms || is_list(a, 3)) || a->list.items[0].kind != NXH_SYMBOL ||
      a->list.items[1].kind != NXH_LIST || a->list.items[2].kind != NXH_LIST)
    return "a sharding of a form that is not supported";
  const nxh_attr *dims = &a->list.items[1];
  s->grid = find_grid(m, a->list.items[0].word);
  if (s->grid == NULL) return "a sharding by a mesh that the module lacks";
  if (dims->list.n > (uint32_t)rank) return "a sharding of more dimensions than the tensor has";
  for (uint32_t d = 0; d < dims->list.n; d++) {
    const char *bad = read_dimension(&dims->list.items[d], s, d);
    if (bad != NULL) return bad;
  }
  s->whole = axes_of(s->grid, &a->list.items[2]);
  return terms ? read_dimension(&a->list.items[3], s, NXH_TERMS) : NULL;
}

void nxh_divide_open(nxh_sharding *s, const nxh_sharding *known, const nxh_type *type) {
  nxh_sharding made = *s;
  int64_t shape[NX_MAX_RANK];
  if (known->grid != s->grid) return;
  for (int32_t d = 0; d < type->rank; d++) {
    bool begins = known->n[d] > s->n[d] && memcmp(known->axes[d], s->axes[d], s->n[d]) == 0;
    for (int i = s->n[d]; begins && s->open >> d & 1 && i < known->n[d]; i++) {
      uint8_t axis = known->axes[d][i];
      if (is_taken(&made, axis) || s->whole >> axis & 1) break;
      made.axes[d][made.n[d]++] = axis;
    }
  }
  if (nxh_local_shape(&made, type, shape)) *s = made;
}

const nxh_attr *nxh_sharding_attr(const nxh_attr *attrs) {
  if (attrs == NULL || attrs->kind != NXH_DICT) return NULL;
  const nxh_attr *a = nxh_find(attrs->dict.items, attrs->dict.n, "sdy.sharding");
  return a != NULL ? a : nxh_find(attrs->dict.items, attrs->dict.n, "mhlo.sharding");
}

const char *nxh_sharding_of(const nxh_module *m, const nxh_attr *attrs, int32_t rank,
                            nxh_sharding *out) {
  *out = (nxh_sharding){0};
  const nxh_attr *a = nxh_sharding_attr(attrs);
  return a == NULL ? NULL : nxh_read_sharding(m, a, rank, out);
}

int64_t nxh_parts_of(const nxh_sharding *s, int32_t d) {
  int64_t parts = 1;
  for (int i = 0; i < s->n[d]; i++) parts *= s->grid->sizes[s->axes[d][i]];
  return parts;
}

bool nxh_local_shape(const nxh_sharding *s, const nxh_type *type, int64_t *shape) {
  for (int32_t d = 0; d < type->rank; d++) {
    int64_t parts = nxh_parts_of(s, d);
    if (type->shape[d] < 0 || type->shape[d] % parts != 0) return false;
    shape[d] = type->shape[d] / parts;
  }
  return true;
}
