/* SPDX-License-Identifier: ISC */
/* The steps of a random program. Each chooses from what is alive, calls the interface, does the
 * same to the model, and says what it did; a call that cannot work must fail as the contract
 * says. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/dtype.h"

/* ---- sources */

static nx_scalar integer(int64_t i) { return (nx_scalar){NX_SCALAR_I64, {.i = i}}; }

static void step_source(world *w) {
  nx_dtype t = random_dtype(w);
  int32_t rank;
  int64_t shape[NXG_MAX_RANK], start = below(w, 9) - 4, apart = below(w, 3), attrs[4] = {0};
  nxg_view v;
  nx_tensor *x;
  random_shape(w, &rank, shape);
  nx_scalar a = integer(start), b = integer(apart);
  attrs[0] = (int64_t)nxi_cast_bits((uint64_t)start, NX_I64, nxi_part_dtype(t));
  attrs[1] = (int64_t)nxi_cast_bits((uint64_t)apart, NX_I64, nxi_part_dtype(t));
  bool line = t != NX_BOOL && chance(w, 60);
  if (line) {
    rank = 1;
    shape[0] = below(w, 40);
    MAKE(w, x, nx_arange(w->c, 0, t, &a, &b, shape[0]));
  } else {
    attrs[1] = -1;
    MAKE(w, x, nx_full(w->c, 0, t, shape, rank, &a));
  }
  model_storage *s =
      model_compute(line ? NXG_arange : NXG_full, 0, NULL, attrs,
                    2 + (uint32_t)((1 + line) * nxi_is_complex(t)), t, rank, shape, &v);
  handle *h = add_handle(w, x, s, &v);
  say(w, "t%u = %s(%s %s, %ld, %ld)", h->name, line ? "arange" : "full", nx_dtype_name(t),
      shape_text(&v), (long)start, (long)apart);
}

/* Unspecified until it is written, here at once. */
static void step_empty(world *w) {
  nx_dtype t = random_dtype(w);
  nxg_view v;
  int32_t rank;
  int64_t shape[NXG_MAX_RANK];
  random_shape(w, &rank, shape);
  nxg_view_contiguous(&v, rank, shape);
  model_storage *s = model_storage_new(t, nxg_elements(rank, shape));
  void *data = malloc(model_bytes(t, s->elements));
  random_data(w, t, data, s->elements);
  nx_tensor *x;
  MAKE(w, x, nx_empty(w->c, 0, t, shape, rank));
  handle *h = add_handle(w, x, s, &v);
  size_t bytes = (size_t)nxi_dtype_bytes(t, s->elements);
  bool map = chance(w, 40);
  say(w, "t%u = empty(%s %s), filled by %s", h->name, nx_dtype_name(t), shape_text(&v),
      map ? "mapping" : "write");
  bool faults = w->faults;
  w->faults = false; /* its contents are not what the model says until it is filled */
  if (map) {
    nx_mapping *m = NULL;
    EXPECT_OK(w, nx_map(x, NX_MAP_WRITE, NULL, &m));
    size_t mapped;
    void *base = nx_mapping_base(m, &mapped);
    if (mapped != bytes) fault(w, "the mapping has %zu bytes, not %zu", mapped, bytes);
    memcpy(base, data, bytes);
    nx_mapping_release(m);
  } else {
    EXPECT_OK(w, nx_write(x, data, bytes, NULL));
  }
  w->faults = faults;
  memcpy(s->data, data, bytes);
  free(data);
}

/* ---- views */

/* A random movement of a handle: the view it gives, the status it should have, and random numbers
 * to draw on. */
typedef struct movement {
  handle *h;
  nxg_view *out;
  nx_status wanted;
  int64_t a[NXG_MAX_RANK], b[NXG_MAX_RANK], step[NXG_MAX_RANK]; /* a <= b */
  int32_t axes[NXG_MAX_RANK];                                   /* in any order */
  nxi_diag d;
} movement;

static void draw_movement(world *w, movement *m) {
  const nxg_view *v = &m->h->v.view;
  nxi_diag_clear(&m->d);
  for (int32_t i = 0; i < v->rank; i++) {
    int64_t n = v->shape[i];
    m->a[i] = n ? below(w, n + 1) : 0;
    m->b[i] = m->a[i] + (n - m->a[i] ? below(w, n - m->a[i] + 1) : 0);
    if (chance(w, 50)) m->a[i] = 0, m->b[i] = n;
    m->step[i] = 1 + below(w, 2);
    m->axes[i] = i;
  }
  for (int32_t i = v->rank; i-- > 1;) {
    int32_t other = (int32_t)below(w, i + 1), kept = m->axes[i];
    m->axes[i] = m->axes[other];
    m->axes[other] = kept;
  }
}

static nx_tensor *move_permute(world *w, movement *m) {
  const nxg_view *v = &m->h->v.view;
  nx_tensor *result;
  m->wanted = nxg_view_permute(v, m->axes, (size_t)v->rank, m->out, &m->d);
  MAKE(w, result, nx_permute(m->h->t, m->axes, (size_t)v->rank));
  return result;
}

static nx_tensor *move_shrink(world *w, movement *m) {
  nx_tensor *result;
  m->wanted = nxg_view_shrink(&m->h->v.view, m->a, m->b, m->out, &m->d);
  MAKE(w, result, nx_shrink(m->h->t, m->a, m->b, (size_t)m->h->v.view.rank));
  return result;
}

static nx_tensor *move_flip(world *w, movement *m) {
  const nxg_view *v = &m->h->v.view;
  nx_tensor *result;
  size_t n = v->rank ? (size_t)below(w, v->rank + 1) : 0;
  m->wanted = nxg_view_flip(v, m->axes, n, m->out, &m->d);
  MAKE(w, result, nx_flip(m->h->t, m->axes, n));
  return result;
}

static nx_tensor *move_slice(world *w, movement *m) {
  int64_t *a = m->a, *b = m->b, *step = m->step;
  nx_tensor *result;
  for (int32_t i = 0; i < m->h->v.view.rank; i++) { /* counts, and some steps back */
    b[i] = (b[i] - a[i] + step[i] - 1) / step[i];
    if (b[i] && chance(w, 40)) a[i] += (b[i] - 1) * step[i], step[i] = -step[i];
  }
  m->wanted = nxg_view_slice(&m->h->v.view, a, b, step, m->out, &m->d);
  MAKE(w, result, nx_slice(m->h->t, a, b, step, (size_t)m->h->v.view.rank));
  return result;
}

static nx_tensor *move_reshape(world *w, movement *m) {
  const nxg_view *v = &m->h->v.view;
  nx_tensor *result;
  int64_t n = nxg_elements(v->rank, v->shape), left = n;
  int32_t r = 0;
  for (; left > 1 && r < 4; r++) {
    int64_t f = 2;
    while (left % f) f++;
    m->a[r] = f;
    if (chance(w, 40) || r == 3) m->a[r] = left;
    left /= m->a[r];
  }
  if (!n || chance(w, 30)) m->a[r++] = n ? 1 : 0;
  m->wanted = nxg_view_reshape(v, r, m->a, m->out, &m->d);
  MAKE(w, result, nx_reshape(m->h->t, m->a, r, 0));
  return result;
}

static nx_tensor *move_expand(world *w, movement *m) {
  const nxg_view *v = &m->h->v.view;
  nx_tensor *result;
  int32_t lead = v->rank < 4 ? (int32_t)below(w, 2) : 0, rank = v->rank + lead;
  for (int32_t i = 0; i < rank; i++) {
    int64_t n = i < lead ? 1 : v->shape[i - lead];
    m->a[i] = n == 1 && chance(w, 60) ? 1 + below(w, 3) : n;
  }
  m->wanted = nxg_view_expand(v, rank, m->a, m->out, &m->d);
  MAKE(w, result, nx_expand(m->h->t, m->a, rank));
  return result;
}

static nx_tensor *move_as_strided(world *w, movement *m) {
  int64_t n = m->h->v.storage->elements, *a = m->a, *b = m->b;
  nx_tensor *result;
  a[0] = 1 + below(w, 3), a[1] = 1 + below(w, 3);
  b[0] = below(w, 7) - 2, b[1] = below(w, 4) - 1;
  int64_t offset = n ? below(w, n) : 0;
  m->wanted = nxg_view_as_strided(n, 2, a, b, offset, m->out, &m->d);
  MAKE(w, result, nx_as_strided(m->h->t, a, b, 2, offset));
  return result;
}

static nx_tensor *move(world *w, handle *h, nxg_view *out, const char **op, nx_status *wanted) {
  static const struct {
    const char *op;
    nx_tensor *(*make)(world *w, movement *m);
  } rows[] = {{"permute", move_permute},      {"shrink", move_shrink},   {"flip", move_flip},
              {"slice", move_slice},          {"reshape", move_reshape}, {"expand", move_expand},
              {"as_strided", move_as_strided}};
  movement m = {.h = h, .out = out};
  draw_movement(w, &m);
  int64_t which =
      below(w, h->v.storage->part ? 6 : 7); /* the last one addresses the whole storage */
  nx_tensor *result = rows[which].make(w, &m);
  *op = rows[which].op;
  *wanted = m.wanted;
  return result;
}

static void step_view(world *w) {
  handle *h = any_handle(w);
  if (!h) return;
  nxg_view v;
  const char *op;
  nx_status wanted;
  nx_tensor *x = move(w, h, &v, &op, &wanted);
  if (wanted) {
    if (x) fault(w, "%s(t%u) should be %s", op, h->name, nx_status_name(wanted));
    expect_status(w, wanted, wanted, op);
    return;
  }
  uint32_t from = h->name;
  model_storage *s = h->v.storage;
  model_ref(s);
  handle *new = add_handle(w, x, s, &v);
  say(w, "t%u = %s(t%u) /* %s offset %ld */", new->name, op, from, shape_text(&v), (long)v.offset);
}

/* ---- operations */

static const struct binary {
  nxg_op op;
  nx_tensor *(*call)(nx_tensor *, nx_tensor *);
} binaries[] = {{NXG_add, nx_add},     {NXG_sub, nx_sub}, {NXG_mul, nx_mul},
                {NXG_max, nx_max},     {NXG_min, nx_min}, {NXG_cmplt, nx_cmplt},
                {NXG_cmpeq, nx_cmpeq}, {NXG_and, nx_and}, {NXG_xor, nx_xor}};
static const struct unary {
  nxg_op op;
  nx_tensor *(*call)(nx_tensor *);
} unaries[] = {{NXG_neg, nx_neg},
               {NXG_abs, nx_abs},
               {NXG_sign, nx_sign},
               {NXG_tanh, nx_tanh},
               {NXG_floor, nx_floor}};

void result_of(world *w, nx_tensor *x, nxg_op op, uint32_t n, handle *const *h,
               const int64_t *attrs, uint32_t n_attrs, nx_dtype given) {
  model_view v[4];
  nxg_view result;
  char operands[64];
  int at = 0;
  operands[0] = 0;
  for (uint32_t i = 0; i < n; i++) {
    v[i] = h[i]->v;
    at += snprintf(operands + at, sizeof operands - (size_t)at, "%st%u", i ? ", " : "", h[i]->name);
  }
  model_storage *s = model_compute(op, n, v, attrs, n_attrs, given, 0, NULL, &result);
  if (!s) {
    if (x) fault(w, "%s(%s) should have failed", nxg_ops[op].name, operands);
    if (nx_error_take(NULL) == NX_OK)
      fault(w, "%s(%s) failed without an error", nxg_ops[op].name, operands);
    return;
  }
  if (!x) fault(w, "%s(%s) failed", nxg_ops[op].name, operands);
  handle *new = add_handle(w, x, s, &result);
  say(w, "t%u = %s(%s) /* %s %s */", new->name, nxg_ops[op].name, operands, nx_dtype_name(s->dtype),
      shape_text(&result));
}

handle *similar(world *w, const handle *like) { /* one of its dtype, or itself */
  for (int i = 0; i < 8; i++) {
    handle *h = any_handle(w);
    nxi_diag d;
    int32_t rank;
    int64_t shape[NXG_MAX_RANK];
    nxi_diag_clear(&d);
    if (h->v.storage->dtype != like->v.storage->dtype) continue;
    if (!nxg_broadcast("", like->v.view.rank, like->v.view.shape, h->v.view.rank, h->v.view.shape,
                       &rank, shape, &d) &&
        nxg_elements(rank, shape) < 3000)
      return h;
  }
  return (handle *)(uintptr_t)like;
}

static void step_binary(world *w) {
  handle *h[2] = {any_handle(w)};
  if (!h[0]) return;
  h[1] = similar(w, h[0]);
  const struct binary *b = &binaries[below(w, sizeof binaries / sizeof *binaries)];
  nx_tensor *x;
  MAKE(w, x, b->call(h[0]->t, h[1]->t));
  result_of(w, x, b->op, 2, h, NULL, 0, 0);
}

static void step_unary(world *w) {
  handle *h = any_handle(w);
  if (!h) return;
  const struct unary *u = &unaries[below(w, sizeof unaries / sizeof *unaries)];
  nx_tensor *x;
  MAKE(w, x, u->call(h->t));
  result_of(w, x, u->op, 1, &h, NULL, 0, 0);
}

static void step_where(world *w) {
  handle *a = any_handle(w), *mask = NULL;
  if (!a) return;
  mask = find_like(w, NX_BOOL, &a->v.view);
  if (!mask) return;
  handle *h[3] = {mask, a, similar(w, a)};
  nx_tensor *x;
  MAKE(w, x, nx_where(h[0]->t, h[1]->t, h[2]->t));
  result_of(w, x, NXG_where, 3, h, NULL, 0, 0);
}

static void step_cast(world *w) {
  handle *h = any_handle(w);
  if (!h) return;
  nx_dtype t = random_dtype(w);
  nx_tensor *x;
  MAKE(w, x, nx_cast(h->t, t));
  result_of(w, x, NXG_cast, 1, &h, NULL, 0, t);
}

static void step_reduce(world *w) {
  handle *h = any_handle(w);
  if (!h) return;
  int64_t attrs[2] = {0, below(w, 2)};
  int32_t axes[NXG_MAX_RANK];
  size_t n = 0;
  for (int32_t i = 0; i < h->v.view.rank; i++)
    if (chance(w, 50)) attrs[0] |= 1 << i, axes[n++] = chance(w, 50) ? i : i - h->v.view.rank;
  nx_tensor *x;
  uint32_t flags = attrs[1] ? NX_KEEPDIMS : 0;
  nxg_op op = (nxg_op)((int)NXG_reduce_sum + below(w, 4));
  MAKE(w, x,
       op == NXG_reduce_sum    ? nx_reduce_sum(h->t, axes, n, flags)
       : op == NXG_reduce_prod ? nx_reduce_prod(h->t, axes, n, flags)
       : op == NXG_reduce_max  ? nx_reduce_max(h->t, axes, n, flags)
                               : nx_reduce_min(h->t, axes, n, flags));
  result_of(w, x, op, 1, &h, attrs, 2, 0);
}

static void step_pad(world *w) {
  handle *h = any_handle(w);
  if (!h || model_elements(&h->v) > 400) return;
  int64_t attrs[2 + 2 * NXG_MAX_RANK], value = below(w, 9) - 4;
  int32_t rank = h->v.view.rank;
  nx_dtype t = h->v.storage->dtype;
  attrs[0] = (int64_t)nxi_cast_bits((uint64_t)value, NX_I64, nxi_part_dtype(t));
  attrs[1 + 2 * rank] = 0; /* an imaginary part */
  for (int32_t i = 0; i < 2 * rank; i++) attrs[1 + i] = below(w, 3);
  nx_scalar scalar = integer(value);
  nx_tensor *x;
  MAKE(w, x, nx_pad(h->t, attrs + 1, attrs + 1 + rank, (size_t)rank, &scalar));
  result_of(w, x, NXG_pad, 1, &h, attrs, 1 + 2 * (uint32_t)rank + nxi_is_complex(t), 0);
}

static void step_cat(world *w) {
  handle *h[3] = {any_handle(w)};
  if (!h[0] || !h[0]->v.view.rank) return;
  int64_t axis = below(w, h[0]->v.view.rank);
  h[1] = find_like(w, h[0]->v.storage->dtype, &h[0]->v.view);
  h[2] = similar(w, h[0]);
  uint32_t n = 1 + (uint32_t)below(w, 3);
  nx_tensor *t[3] = {h[0]->t, h[1]->t, h[2]->t}, *x;
  MAKE(w, x, nx_cat(t, n, (int32_t)axis));
  result_of(w, x, NXG_cat, n, h, &axis, 1, 0);
}

static void step_matmul(world *w) {
  handle *a = any_handle(w);
  if (!a || a->v.view.rank != 2) return;
  if (!nxi_is_integer(a->v.storage->dtype)) return; /* a BLAS takes its own order */
  int32_t swap[2] = {1, 0};
  nx_tensor *turned, *x;
  nxg_view v;
  nxi_diag d;
  nxi_diag_clear(&d);
  MAKE(w, turned, nx_permute(a->t, swap, 2));
  nxg_view_permute(&a->v.view, swap, 2, &v, &d);
  MAKE(w, x, nx_matmul(a->t, turned));
  handle other = {.v = {a->v.storage, v}, .name = a->name}, *h[2] = {a, &other};
  result_of(w, x, NXG_matmul, 2, h, NULL, 0, 0);
  nx_tensor_release(turned);
}

static void step_copy(world *w) {
  handle *h = any_handle(w);
  if (!h) return;
  bool contiguous = chance(w, 40);
  nx_tensor *x;
  MAKE(w, x, contiguous ? nx_contiguous(h->t) : nx_copy(h->t));
  if (contiguous && h->v.storage->part) { /* its offset in the larger storage decides */
    nx_tensor_release(x);
    return;
  }
  if (!contiguous || !nxg_view_is_contiguous(&h->v.view) || h->v.view.offset) {
    result_of(w, x, NXG_copy, 1, &h, NULL, 0, 0);
    return;
  }
  nxg_view v = h->v.view;
  uint32_t from = h->name;
  model_storage *s = h->v.storage;
  model_ref(s);
  handle *new = add_handle(w, x, s, &v);
  say(w, "t%u = contiguous(t%u) /* itself */", new->name, from);
}

/* To the device that computes node by node, an operation there, and back. */
static void step_device(world *w) {
  handle *h = any_handle(w);
  if (!h || h->v.storage->dtype == NX_BOOL) return;
  nx_tensor *there, *y, *x;
  MAKE(w, there, nx_to_device(h->t, 1));
  MAKE(w, y, nx_neg(there));
  if (h->v.view.rank) {
    nx_tensor *mixed = nx_add(h->t, there);
    if (mixed || nx_error_take(NULL) != NX_INVALID_ARGUMENT)
      fault(w, "operands on two devices were accepted");
  }
  MAKE(w, x, nx_to_device(y, 0));
  say(w, "/* on device 1: */");
  result_of(w, x, NXG_neg, 1, &h, NULL, 0, 0);
  nx_tensor_release(there);
  nx_tensor_release(y);
}

/* ---- ownership */

static void step_release(world *w) {
  handle *h = any_handle(w);
  if (!h) return;
  if (chance(w, 20)) {
    say(w, "retain(t%u)", h->name);
    nx_tensor_retain(h->t);
    h->refs++;
    return;
  }
  say(w, "release(t%u)", h->name);
  drop_handle(w, h);
}

static void step_scope(world *w) {
  handle *h = any_handle(w);
  if (h && h->scope && h->refs == 1 && chance(w, 40)) {
    say(w, "keep(t%u)", h->name);
    nx_keep(h->t);
    h->scope = 0;
  } else if (w->n_scopes < MOST_SCOPES && chance(w, 50)) {
    say(w, "begin scope %u", w->n_scopes + 1);
    MAKE(w, w->scopes[w->n_scopes], nx_scope_begin(w->c));
    w->n_scopes++;
  } else if (w->n_scopes) { /* the outermost ends all */
    uint32_t to = chance(w, 70) ? w->n_scopes - 1 : 0;
    say(w, "end scope %u", to + 1);
    nx_scope_end(w->scopes[to]);
    w->n_scopes = to;
    for (uint32_t i = w->n_handles; i-- > 0;) {
      h = &w->handles[i];
      if (h->scope <= (int)to) continue;
      h->scope = 0;
      if (--h->refs) continue;
      model_unref(h->v.storage);
      *h = w->handles[--w->n_handles];
    }
  }
}

static void step_tag(world *w) {
  char text[8] = "tag";
  text[2] = (char)('a' + below(w, 26));
  nx_tag_set((uint64_t)below(w, 100), chance(w, 70) ? text : NULL);
}

/* Realises fuse, or do not, from now on. It is the whole process's. */
static void step_fusion(world *w) {
  if (w->shared) return;
  w->unfused = !w->unfused;
  say(w, "%s", w->unfused ? "nothing is fused" : "kernels are fused");
  set_fusion(!w->unfused);
}

static void step_unbound(world *w) {
  nxg_view v;
  int32_t rank;
  int64_t shape[NXG_MAX_RANK];
  random_shape(w, &rank, shape);
  nxg_view_contiguous(&v, rank, shape);
  handle *h = find_like(w, NX_F32, &v);
  nx_tensor *p, *x;
  nx_mapping *m = NULL;
  say(w, "a placeholder, asked for its value");
  MAKE(w, p, nx_placeholder(w->c, 0, NX_F32, shape, rank));
  MAKE(w, x, h ? nx_add(p, h->t) : nx_neg(p));
  EXPECT_STATUS(w, NX_UNBOUND, nx_realize(w->c, &x, 1, NULL));
  EXPECT_STATUS(w, NX_UNBOUND, nx_realize(w->c, &p, 1, NULL));
  EXPECT_STATUS(w, NX_UNBOUND, nx_map(p, NX_MAP_WRITE, NULL, &m));
  nx_tensor_release(p);
  nx_tensor_release(x);
}

void random_step(world *w) {
  static const struct {
    void (*step)(world *);
    int weight;
  } steps[] = {{step_source, 6},      {step_empty, 2},   {step_import, 3},  {step_window, 2},
               {step_end_sharing, 3}, {step_pending, 2}, {step_view, 14},   {step_binary, 9},
               {step_unary, 6},       {step_where, 2},   {step_cast, 3},    {step_reduce, 3},
               {step_pad, 2},         {step_cat, 2},     {step_matmul, 2},  {step_copy, 5},
               {step_device, 1},      {step_assign, 10}, {step_update, 8},  {step_write, 3},
               {step_realize, 5},     {step_item, 3},    {step_read, 4},    {step_hold, 2},
               {step_map, 4},         {step_unmap, 2},   {step_host, 6},    {step_release, 9},
               {step_scope, 3},       {step_tag, 1},     {step_unbound, 1}, {step_function, 3},
               {step_call, 6},        {step_gather, 3},  {step_scatter, 5}, {step_scan, 2},
               {step_qr, 2},          {step_bad, 1},     {step_fusion, 1},  {step_overlap, 8}};
  int total = 0;
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) total += steps[i].weight;
  int64_t at = below(w, total);
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    at -= steps[i].weight;
    if (at >= 0) continue;
    steps[i].step(w);
    return;
  }
}
