/* SPDX-License-Identifier: ISC */
/* Steps with functions. One is captured from x, a placeholder, and w, a tensor of the program in
 * the shape of x:
 *
 *   y0 = first(x, w);  the assign;  y1 = second(w, x);  results y1 and the extra one
 *
 * A call does the same to the model: the body with its assigns first, then the outputs that the
 * caller gave. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "ir/dtype.h"

enum { ASSIGN_NOTHING, ASSIGN_W, ASSIGN_PART_OF_W, ASSIGN_X, ASSIGNS };
enum { EXTRA_NONE, EXTRA_Y0, EXTRA_W, EXTRA_X, EXTRAS };

static nx_tensor *apply(nxg_op op, nx_tensor *a, nx_tensor *b) {
  return op == NXG_add ? nx_add(a, b) : op == NXG_sub ? nx_sub(a, b) : nx_max(a, b);
}
static const nxg_op choices[] = {NXG_add, NXG_sub, NXG_max};

/* All but the first element along axis 0; the view itself where there is none. */
static bool tail_of(const nxg_view *v, int64_t *start) {
  memset(start, 0, sizeof(int64_t) * NXG_MAX_RANK);
  if (!v->rank || v->shape[0] < 2) return false;
  start[0] = 1;
  return true;
}

/* ---- capture */

static void capture(world *w, function *f, nx_tensor *x, nx_tensor *t, nx_tensor **results,
                    size_t *n) {
  nx_tensor *y0, *y1, *part = NULL, *constant = NULL, *minus = NULL;
  int64_t start[NXG_MAX_RANK];
  nx_scalar three = {NX_SCALAR_C128, {.f = {3, 6}}}; /* as set_number(3) has it */
  MAKE(w, y0, apply(f->first, x, t));
  if (f->assign == ASSIGN_W) EXPECT_OK(w, nx_assign(t, y0));
  if (f->assign == ASSIGN_PART_OF_W) {
    tail_of(&f->w.view, start);
    MAKE(w, part, nx_shrink(t, start, f->w.view.shape, (size_t)f->w.view.rank));
    MAKE(w, constant, nx_full(w->c, 0, f->w.storage->dtype, NULL, 0, &three));
    EXPECT_OK(w, nx_assign(part, constant));
  }
  if (f->assign == ASSIGN_X) {
    MAKE(w, minus, nx_neg(x));
    EXPECT_OK(w, nx_assign(x, minus));
  }
  MAKE(w, y1, apply(f->second, t, x));
  results[0] = y1;
  results[1] =
      f->extra == EXTRA_Y0 ? nx_tensor_retain(y0) : nx_tensor_retain(f->extra == EXTRA_W ? t : x);
  *n = f->extra == EXTRA_NONE ? 1 : 2;
  nx_tensor_release(y0);
  nx_tensor_release(part);
  nx_tensor_release(constant);
  nx_tensor_release(minus);
}

void step_function(world *w) {
  handle *h = any_handle(w);
  if (!h || h->v.storage->dtype == NX_BOOL) return;
  if (w->n_functions == MOST_FUNCTIONS) {
    release_function(w, (uint32_t)below(w, MOST_FUNCTIONS));
    return;
  }
  int64_t n_choices = nxi_is_complex(h->v.storage->dtype) ? 2 : 3; /* these have no max */
  function f = {.w = h->v,
                .first = choices[below(w, n_choices)],
                .second = choices[below(w, n_choices)],
                .assign = (int)below(w, ASSIGNS),
                .extra = (int)below(w, EXTRAS),
                .name = w->n_names++};
  int64_t start[NXG_MAX_RANK];
  if ((f.assign == ASSIGN_W || f.assign == ASSIGN_PART_OF_W) && !is_assignable(h))
    f.assign = ASSIGN_NOTHING;
  if (f.assign == ASSIGN_PART_OF_W && !tail_of(&h->v.view, start)) f.assign = ASSIGN_NOTHING;
  if (!model_elements(&h->v)) f.assign = ASSIGN_NOTHING; /* nothing is captured then */
  f.donate = f.assign != ASSIGN_X && !w->shared && chance(w, 30);
  bool abandon = chance(w, 15);
  say(w, "f%u: y0 = %s(x, t%u); assign %d; y1 = %s(t%u, x); extra %d%s%s", f.name,
      nxg_ops[f.first].name, h->name, f.assign, nxg_ops[f.second].name, h->name, f.extra,
      f.donate ? ", donated" : "", abandon ? ", abandoned" : "");
  const uint8_t donate = f.donate;
  nx_function_options o = {.size = sizeof o, .name = "test", .donate = &donate};
  nx_tensor *x, *results[2];
  size_t n;
  w->capturing = true;
  MAKE(w, x, nx_placeholder(w->c, 0, h->v.storage->dtype, h->v.view.shape, h->v.view.rank));
  capture(w, &f, x, h->t, results, &n);
  if (!abandon) EXPECT_OK(w, nx_function_create(w->c, &x, 1, results, n, &o, &f.f));
  w->capturing = false;
  nx_tensor_release(x);
  nx_tensor_release(results[0]);
  nx_tensor_release(results[1]);
  if (abandon) return;
  model_ref(f.w.storage);
  w->functions[w->n_functions++] = f;
}

void release_function(world *w, uint32_t i) {
  say(w, "release(f%u)", w->functions[i].name);
  nx_function_release(w->functions[i].f);
  model_unref(w->functions[i].w.storage);
  w->functions[i] = w->functions[--w->n_functions];
}

/* ---- calls */

static model_view copy_of(const model_view *v) {
  model_view copy = {model_storage_new(v->storage->dtype, model_elements(v)), {0}};
  nxg_view_contiguous(&copy.view, v->view.rank, v->view.shape);
  model_assign(&copy, v);
  return copy;
}

static model_view compute(nxg_op op, uint32_t n, model_view a, model_view b) {
  model_view v[2] = {a, b}, result = {0};
  result.storage = model_compute(op, n, v, NULL, 0, 0, 0, NULL, &result.view);
  return result;
}

/* The body on the model; x is what the caller gave. Fills the results, new storages. */
static void model_body(const function *f, const model_view *given, model_view *results) {
  model_view x = copy_of(given), y0 = compute(f->first, 2, x, f->w);
  if (f->assign == ASSIGN_W) model_assign(&f->w, &y0);
  if (f->assign == ASSIGN_PART_OF_W) {
    model_view part = f->w, three = {model_storage_new(f->w.storage->dtype, 1), {0}};
    int64_t start[NXG_MAX_RANK];
    nxi_diag d;
    nxi_diag_clear(&d);
    tail_of(&f->w.view, start);
    nxg_view_shrink(&f->w.view, start, f->w.view.shape, &part.view, &d);
    set_number(three.storage->data, f->w.storage->dtype, 0, 3);
    model_assign(&part, &three);
    model_unref(three.storage);
  }
  if (f->assign == ASSIGN_X) {
    model_view minus = compute(NXG_neg, 1, x, x);
    model_assign(&x, &minus);
    model_unref(minus.storage);
  }
  results[0] = compute(f->second, 2, f->w, x);
  results[1] = f->extra == EXTRA_Y0 ? copy_of(&y0) : copy_of(f->extra == EXTRA_W ? &f->w : &x);
  if (f->assign == ASSIGN_X)
    model_assign(given, &x); /* what w is in the body does not depend on what was given */
  model_unref(x.storage);
  model_unref(y0.storage);
}

/* A donated tensor is an error until it is assigned as a whole, and so is what is computed from
 * it. */
static void check_donated(world *w, handle *x) {
  model_storage *s = x->v.storage;
  nx_tensor *whole, *y;
  nx_scalar item;
  int64_t index[NXG_MAX_RANK] = {0}, stride = 1;
  EXPECT_STATUS(w, NX_DONATED, nx_item(x->t, index, (size_t)x->v.view.rank, &item, NULL));
  MAKE(w, y, nx_abs(x->t));
  if (y) EXPECT_STATUS(w, NX_DONATED, nx_realize(w->c, &y, 1, NULL));
  nx_tensor_release(y);
  MAKE(w, whole, nx_as_strided(x->t, &s->elements, &stride, 1, 0));
  random_data(w, s->dtype, s->data, s->elements);
  EXPECT_OK(w, nx_write(whole, s->data, (size_t)nxi_dtype_bytes(s->dtype, s->elements), NULL));
  nx_tensor_release(whole);
}

/* An output that the caller gives: not x's storage, if that is assigned or donated. */
static handle *choose_output(world *w, const function *f, const handle *x, const handle *other) {
  if (!chance(w, 35)) return NULL;
  handle *h = find_like(w, f->w.storage->dtype, &f->w.view);
  if (!h || !is_assignable(h) || h == other) return NULL;
  return f->donate && h->v.storage == x->v.storage ? NULL : h;
}

/* What one call assigns to several imports of the same memory has no order. */
static bool share_memory(const function *f, const handle *x, handle *const given[2]) {
  model_storage *s[4] = {f->w.storage, x->v.storage, given[0] ? given[0]->v.storage : NULL,
                         given[1] ? given[1]->v.storage : NULL};
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < i; k++)
      if (s[i] && s[k] && s[i] != s[k] && model_root(s[i]) == model_root(s[k])) return true;
  return false;
}

void step_call(world *w) {
  if (!w->n_functions) return;
  const function *f = &w->functions[below(w, w->n_functions)];
  handle *x = find_like(w, f->w.storage->dtype, &f->w.view), *given[2] = {0};
  if (!x || w->n_handles + 2 > MOST_HANDLES) return;
  model_storage *s = x->v.storage;
  bool record = chance(w, 40), gone = f->donate && !record;
  if (gone && (s->frozen || s->part || s->read_only || s == f->w.storage || !model_elements(&x->v)))
    return;
  if (f->assign == ASSIGN_X && s->frozen) return;
  nx_status wanted = f->assign != ASSIGN_X || is_assignable(x) ? NX_OK
                     : s->read_only                            ? NX_NOT_WRITABLE
                                                               : NX_INVALID_ARGUMENT;
  size_t n = f->extra == EXTRA_NONE ? 1 : 2;
  nx_tensor *out[2] = {0};
  for (size_t i = 0; i < n; i++) {
    given[i] = choose_output(w, f, x, given[0]);
    if (given[i]) out[i] = given[i]->t;
  }
  if (share_memory(f, x, given)) return;
  if (gone) nx_context_collect(w->c); /* a mapping that was released is none any more */
  uint32_t names[2] = {w->n_names, w->n_names + 1};
  say(w, "t%u, t%u = %s(f%u, t%u)", given[0] ? given[0]->name : names[0],
      given[1] ? given[1]->name : names[1], record ? "record" : "call", f->name, x->name);
  EXPECT_STATUS(w, wanted,
                record ? nx_function_record(f->f, &x->t, 1, out, n)
                       : nx_function_call(f->f, &x->t, 1, out, n, NULL));
  if (wanted) return;
  model_view results[2];
  model_body(f, &x->v, results);
  for (size_t i = 0; i < n; i++)
    if (given[i]) model_assign(&given[i]->v, &results[i]);
  bool faults = w->faults;
  w->faults = false;
  if (gone && !s->pins) check_donated(w, x);
  w->faults = faults;
  for (size_t i = 0; i < 2; i++) {
    if (i < n && !given[i]) add_handle(w, out[i], results[i].storage, &results[i].view);
    else model_unref(results[i].storage);
  }
}
