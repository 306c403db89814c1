/* SPDX-License-Identifier: ISC */
/* The step that mutation is most easily wrong in: several assigns in a row, through views made for
 * the purpose, from expressions over views that overlap what is written, each other, and what is
 * written next. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/dtype.h"

typedef struct window {
  nx_tensor *t;
  model_view v; /* the storage is a handle's, or has its only reference here */
} window;

static void print_view(char *text, size_t size, const handle *h, const nxg_view *v) {
  int at = snprintf(text, size, "t%u[from %ld", h->name, (long)v->offset);
  for (int32_t i = 0; i < v->rank; i++)
    at += snprintf(text + at, size - (size_t)at, ", %ld by %ld", (long)v->shape[i],
                   (long)v->strides[i]);
  snprintf(text + at, size - (size_t)at, "]");
}

/* A view of h's whole storage. */
static nx_tensor *strided(world *w, const handle *h, const nxg_view *v) {
  nx_tensor *t;
  MAKE(w, t, nx_as_strided(h->t, v->shape, v->strides, v->rank, v->offset));
  if (!t) fault(w, "no view of t%u", h->name);
  return t;
}

/* Where to write: the whole storage in its order or another one, or a part of it. */
static void choose_target(world *w, const handle *h, nxg_view *v) {
  int64_t n = h->v.storage->elements, rows = 1;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (chance(w, 30)) {
    *v = h->v.view;
    return;
  }
  for (int64_t f = 2; f < 6; f++)
    if (n % f == 0 && chance(w, 40)) rows = f;
  int64_t shape[2] = {rows, n / rows}, start[2], count[2], step[2];
  nxg_view_contiguous(v, 2, shape);
  if (chance(w, 30)) nxg_view_permute(v, (int32_t[]){1, 0}, 2, v, &d);
  if (chance(w, 30)) nxg_view_flip(v, (int32_t[]){(int32_t)below(w, 2)}, 1, v, &d);
  if (chance(w, 40)) return;
  for (int i = 0; i < 2; i++) {
    step[i] = chance(w, 25) ? 2 : chance(w, 20) ? -1 : 1;
    start[i] = chance(w, 50) ? below(w, v->shape[i]) : step[i] < 0 ? v->shape[i] - 1 : 0;
    int64_t room = step[i] > 0 ? (v->shape[i] - start[i] + step[i] - 1) / step[i] : start[i] + 1;
    count[i] = chance(w, 60) ? room : 1 + below(w, room);
  }
  nxg_view_slice(v, start, count, step, v, &d);
}

/* A view of a storage of n elements in the shape of `to`: `to` itself if that fits; as C order has
 * it, backwards, repeated, by other strides. */
static void choose_source(world *w, int64_t n, bool fits, const nxg_view *to, nxg_view *v) {
  int64_t plain[NXG_MAX_RANK], low = 0, high = 0;
  nxg_contiguous_strides(to->rank, to->shape, plain);
  *v = *to;
  if (fits && chance(w, 25)) return;
  for (int32_t i = 0; i < to->rank; i++) {
    int64_t s = chance(w, 50) ? plain[i] : chance(w, 40) ? to->strides[i] : below(w, 5) - 1;
    if (chance(w, 20)) s = -s;
    int64_t reach = s * (to->shape[i] - 1);
    if (high - low + (reach < 0 ? -reach : reach) >= n) s = reach = 0;
    v->strides[i] = s;
    if (reach < 0) low += reach;
    else high += reach;
  }
  v->offset = -low + below(w, n - (high - low));
}

/* One of dst's dtype whose storage is large enough for the view that is chosen; often dst's own. */
static window make_source(world *w, handle *dst, const nxg_view *to, char *text, size_t size) {
  handle *from = dst;
  for (int attempt = 0; attempt < 6 && chance(w, 70); attempt++) {
    handle *h = any_handle(w);
    if (h->v.storage->dtype != dst->v.storage->dtype || !h->v.storage->elements) continue;
    if (h->v.storage->part) continue;
    from = h;
    break;
  }
  window s = {.v = {.storage = from->v.storage}};
  int64_t n = from->v.storage->elements;
  choose_source(w, n, n >= dst->v.storage->elements, to, &s.v.view);
  print_view(text, size, from, &s.v.view);
  s.t = strided(w, from, &s.v.view);
  model_ref(s.v.storage);
  return s;
}

static void drop(window *x) {
  nx_tensor_release(x->t);
  model_unref(x->v.storage);
}

/* a, minus a, or a and b combined. */
static window combine(world *w, handle *dst, const nxg_view *to, char *text, size_t size) {
  char first[200], second[200];
  window a = make_source(w, dst, to, first, sizeof first), b, x = {0};
  snprintf(text, size, "%s", first);
  if (chance(w, 45)) return a;
  b = make_source(w, dst, to, second, sizeof second);
  nxg_op op = dst->v.storage->dtype == NX_BOOL ? NXG_xor : chance(w, 50) ? NXG_add : NXG_sub;
  snprintf(text, size, "%s(%s, %s)", nxg_ops[op].name, first, second);
  MAKE(w, x.t,
       op == NXG_xor   ? nx_xor(a.t, b.t)
       : op == NXG_add ? nx_add(a.t, b.t)
                       : nx_sub(a.t, b.t));
  if (!x.t) fault(w, "no %s", text);
  model_view operands[2] = {a.v, b.v};
  x.v.storage = model_compute(op, 2, operands, NULL, 0, 0, 0, NULL, &x.v.view);
  drop(&a);
  drop(&b);
  return x;
}

void step_overlap(world *w) {
  for (int64_t n = 1 + below(w, 5); n > 0; n--) {
    handle *dst = any_handle(w);
    if (!dst || !is_assignable(dst) || dst->v.storage->part || !model_elements(&dst->v)) return;
    model_view to = {.storage = dst->v.storage};
    char text[500], where[200];
    choose_target(w, dst, &to.view);
    print_view(where, sizeof where, dst, &to.view);
    nx_tensor *t = strided(w, dst, &to.view);
    window source = combine(w, dst, &to.view, text, sizeof text);
    say(w, "assign(%s, %s)", where, text);
    EXPECT_OK(w, nx_assign(t, source.t));
    model_assign(&to, &source.v);
    bool kept = chance(w, 15);
    nx_tensor_release(t);
    if (!kept) {
      drop(&source);
      continue;
    }
    handle *new = add_handle(w, source.t, source.v.storage, &source.v.view);
    say(w, "t%u = what was assigned", new->name);
  }
}
