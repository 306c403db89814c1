/* SPDX-License-Identifier: ISC */
/* Steps that number elements (gather, scatter, scatters that are assigned to what they read),
 * scans, library calls, and what fails when it is realised. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/dtype.h"

/* A tensor that only one step uses, next to the model's. */
typedef struct pair {
  nx_tensor *t;
  model_view v; /* a reference of the storage */
} pair;

static void drop(pair *p) {
  nx_tensor_release(p->t);
  model_unref(p->v.storage);
}

static pair number_pair(world *w, nx_dtype t, int64_t x) {
  nx_scalar scalar = {NX_SCALAR_I64, {.i = x}};
  int64_t attrs[3] = {(int64_t)nxi_cast_bits((uint64_t)x, NX_I64, nxi_part_dtype(t)), -1, 0};
  pair p;
  MAKE(w, p.t, nx_full(w->c, 0, t, NULL, 0, &scalar));
  p.v.storage =
      model_compute(NXG_full, 0, NULL, attrs, 2 + nxi_is_complex(t), t, 0, NULL, &p.v.view);
  return p;
}

/* ---- indices */

/* Within [-extent, extent), of this shape: from what the program has, or counted. */
static pair indices_of(world *w, int32_t rank, const int64_t *shape, int64_t extent) {
  nxg_view like = {.rank = rank};
  memcpy(like.shape, shape, (size_t)rank * sizeof *shape);
  nx_dtype t = chance(w, 60) ? NX_I32 : NX_I64;
  handle *h = chance(w, 60) ? find_like(w, t, &like) : NULL;
  pair n = number_pair(w, t, extent), counted = {0}, p;
  if (!h) {
    int64_t elements = nxg_elements(rank, shape), first = below(w, 7) - 3, apart = below(w, 4),
            attrs[2] = {(int64_t)nxi_cast_bits((uint64_t)first, NX_I64, t), apart};
    nx_scalar a = {NX_SCALAR_I64, {.i = first}}, b = {NX_SCALAR_I64, {.i = apart}};
    nx_tensor *line;
    MAKE(w, line, nx_arange(w->c, 0, t, &a, &b, elements));
    MAKE(w, counted.t, nx_reshape(line, shape, rank, 0));
    nx_tensor_release(line);
    counted.v.storage = model_compute(NXG_arange, 0, NULL, attrs, 2, t, 1, &elements, &like);
    nxg_view_contiguous(&counted.v.view, rank, shape);
  }
  model_view operands[2] = {h ? h->v : counted.v, n.v};
  MAKE(w, p.t, nx_mod(h ? h->t : counted.t, n.t));
  p.v.storage = model_compute(NXG_mod, 2, operands, NULL, 0, 0, 0, NULL, &p.v.view);
  say(w, "  /* indices: %s%u mod %ld, or counted */", h ? "t" : "none ", h ? h->name : 0,
      (long)extent);
  drop(&n);
  drop(&counted);
  return p;
}

/* The shape of indices for h along the axis, or no more than it on the others. */
static bool choose_indices(world *w, const handle *h, int32_t axis, pair *p) {
  int64_t shape[NXG_MAX_RANK];
  const nxg_view *v = &h->v.view;
  if (!v->shape[axis]) return false;
  for (int32_t i = 0; i < v->rank; i++) {
    shape[i] = v->shape[i];
    if (i == axis ? chance(w, 50) : chance(w, 20))
      shape[i] = below(w, v->shape[i] + (i == axis) + 1);
  }
  *p = indices_of(w, v->rank, shape, v->shape[axis]);
  return true;
}

void step_gather(world *w) {
  handle *h = any_handle(w);
  pair indices;
  if (!h || !h->v.view.rank) return;
  int64_t axis = below(w, h->v.view.rank);
  if (!choose_indices(w, h, (int32_t)axis, &indices)) return;
  handle other = {.v = indices.v, .name = w->n_names}, *operands[2] = {h, &other};
  nx_tensor *x;
  MAKE(w, x, nx_gather(h->t, indices.t, (int32_t)axis));
  result_of(w, x, NXG_gather, 2, operands, &axis, 1, 0);
  drop(&indices);
}

/* Updates of the shape of the indices: the start of another tensor, often of the same storage, or a
 * number. */
static pair updates_of(world *w, const handle *h, const nxg_view *like) {
  handle *from = h->v.storage->part || chance(w, 50) ? (handle *)(uintptr_t)h : similar(w, h);
  pair p = {0};
  nxi_diag d;
  int64_t start[NXG_MAX_RANK] = {0};
  nxi_diag_clear(&d);
  bool fits = chance(w, 70) && from->v.view.rank == like->rank;
  for (int32_t i = 0; fits && i < like->rank; i++) fits = like->shape[i] <= from->v.view.shape[i];
  if (fits) {
    p.v.storage = from->v.storage;
    model_ref(p.v.storage);
    nxg_view_shrink(&from->v.view, start, like->shape, &p.v.view, &d);
    MAKE(w, p.t, nx_shrink(from->t, start, like->shape, (size_t)like->rank));
    say(w, "  /* updates: from t%u */", from->name);
    return p;
  }
  pair n = number_pair(w, h->v.storage->dtype, below(w, 19) - 9);
  p.v = n.v;
  nxg_view_expand(&n.v.view, like->rank, like->shape, &p.v.view, &d);
  MAKE(w, p.t, nx_expand(n.t, like->shape, like->rank));
  nx_tensor_release(n.t);
  return p;
}

/* x = scatter(h, ..), and often assign(h, x), after which x is kept or not. */
void step_scatter(world *w) {
  handle *h = any_handle(w);
  pair indices;
  if (!h || !h->v.view.rank || h->v.storage->frozen || !is_assignable(h)) return;
  nx_dtype t = h->v.storage->dtype;
  int64_t attrs[2] = {below(w, h->v.view.rank)};
  nxi_scatter_mode mode = (nxi_scatter_mode)below(w, NXI_SCATTER_XOR + 1);
  while (t != NX_BOOL && nxi_scatter_refuses(mode, t))
    mode = (nxi_scatter_mode)below(w, NXI_SCATTER_XOR + 1);
  attrs[1] = nxg_scatter_bits(mode);
  if (!choose_indices(w, h, (int32_t)attrs[0], &indices)) return;
  pair updates = updates_of(w, h, &indices.v.view);
  model_view operands[3] = {h->v, indices.v, updates.v}, result;
  nx_tensor *x;
  MAKE(w, x, nx_scatter(h->t, indices.t, updates.t, (int32_t)attrs[0], (nx_scatter_mode)mode, 0));
  result.storage = model_compute(NXG_scatter, 3, operands, attrs, 2, 0, 0, NULL, &result.view);
  drop(&indices);
  drop(&updates);
  if (!result.storage) { /* a dtype that it does not take */
    if (x || nx_error_take(NULL) == NX_OK) fault(w, "scatter(t%u) should have failed", h->name);
    return;
  }
  if (!x) fault(w, "scatter(t%u) failed", h->name);
  bool assigned = chance(w, 70), kept = !assigned || chance(w, 40);
  say(w, "x = scatter(t%u, axis %ld, mode %ld)%s%s", h->name, (long)attrs[0], (long)attrs[1],
      assigned ? "; assign it there" : "", kept ? "" : "; release(x)");
  if (assigned) {
    EXPECT_OK(w, nx_assign(h->t, x));
    model_assign(&h->v, &result);
  }
  if (kept) {
    handle *new = add_handle(w, x, result.storage, &result.view);
    say(w, "t%u = x", new->name);
    return;
  }
  nx_tensor_release(x);
  model_unref(result.storage);
}

/* ---- scans and library calls */

void step_scan(world *w) {
  handle *h = any_handle(w);
  if (!h || !h->v.view.rank) return;
  int64_t op = below(w, 4), attrs[2] = {below(w, h->v.view.rank), 0};
  nx_tensor *x;
  /* in their order, which no row of graphs has */
  if (op >= NX_SCAN_MAX && nxi_is_complex(h->v.storage->dtype)) return;
  MAKE(w, x, nx_associative_scan(h->t, (nx_scan_op)op, (int32_t)attrs[0]));
  result_of(w, x, (nxg_op)((int)NXG_scan_sum + (int)op), 1, &h, attrs, 2, 0);
}

/* Both results of one call, or one of them. */
void step_qr(world *w) {
  handle *h = any_handle(w);
  if (!h || h->v.view.rank < 2 || model_elements(&h->v) > 600) return;
  nx_dtype t = h->v.storage->dtype;
  if (t != NX_F32 && t != NX_F64 && t != NX_C64 && t != NX_C128) return;
  int64_t reduced = chance(w, 50), wanted = 1 + below(w, 3);
  nx_tensor *out[2] = {0};
  handle x = *h, *operand = &x; /* h may be gone when the second result is added */
  model_ref(x.v.storage);
  EXPECT_OK(w, nx_qr(h->t, reduced ? 0 : NX_FULL_MATRICES, wanted & 1 ? &out[0] : NULL,
                     wanted & 2 ? &out[1] : NULL));
  for (int64_t i = 0; i < 2; i++)
    if (wanted >> i & 1) result_of(w, out[i], NXG_qr, 1, &operand, (int64_t[]){reduced, i}, 2, 0);
  model_unref(x.v.storage);
}

/* ---- what fails */

static nx_tensor *bad_value(world *w, handle *h, int64_t axis) {
  pair beyond = number_pair(w, NX_I32, h->v.view.shape[axis] + below(w, 3));
  nx_tensor *indices, *x;
  MAKE(w, indices, nx_expand(beyond.t, h->v.view.shape, h->v.view.rank));
  MAKE(w, x, nx_gather(h->t, indices, (int32_t)axis));
  nx_tensor_release(indices);
  drop(&beyond);
  return x;
}

/* h is assigned what cannot be computed: every look at it fails, and nothing else does, until it is
 * assigned as a whole. */
void step_bad(world *w) {
  handle *h = any_handle(w);
  if (!h || !h->v.view.rank || !model_elements(&h->v) || !is_assignable(h)) return;
  if (h->v.storage->pins || h->v.storage->part || w->shared || w->flags & NX_DEFER_EXPOSED) return;
  model_storage *s = h->v.storage;
  int64_t stride = 1;
  nx_tensor *x = bad_value(w, h, below(w, h->v.view.rank)), *y, *whole;
  if (!x) { /* a dtype that gather does not take */
    nx_error_take(NULL);
    return;
  }
  say(w, "assign(t%u, a gather with bad indices), look at it, fill the whole storage", h->name);
  bool faults = w->faults;
  w->faults = false; /* what a fault looks at, then, is no bad tensor */
  EXPECT_OK(w, nx_assign(h->t, x));
  if (chance(w, 50)) EXPECT_STATUS(w, NX_INDEX_OUT_OF_RANGE, nx_realize(w->c, &x, 1, NULL));
  nx_tensor_release(x);
  MAKE(w, y, nx_copy(h->t));
  if (chance(w, 70)) EXPECT_STATUS(w, NX_INDEX_OUT_OF_RANGE, nx_realize(w->c, &y, 1, NULL));
  handle *other = any_handle(w);
  if (other->v.storage != s && chance(w, 50)) check_handle(w, other);
  if (chance(w, 70)) EXPECT_STATUS(w, NX_INDEX_OUT_OF_RANGE, nx_realize(w->c, &h->t, 1, NULL));
  MAKE(w, whole, nx_as_strided(h->t, &s->elements, &stride, 1, 0));
  pair seven = number_pair(w, s->dtype, 7);
  EXPECT_OK(w, nx_assign(whole, seven.t));
  nxg_view all = whole_of(s);
  model_assign(&(model_view){s, all}, &seven.v);
  if (chance(w, 50)) EXPECT_STATUS(w, NX_INDEX_OUT_OF_RANGE, nx_realize(w->c, &y, 1, NULL));
  w->faults = faults;
  drop(&seven);
  nx_tensor_release(y);
  nx_tensor_release(whole);
}
