/* SPDX-License-Identifier: ISC */
/* Takes the integers (and the other constant operands) out of a bound kernel. All walks over a
 * kernel meet its holes in the same order: taking it apart, noting which strides become
 * multiplications, and making the kernel whose holes are parameters. So one walk does all three.
 *
 * A constant is a hole at each of its uses, so that the structure does not depend on which
 * constants happen to be equal. The offset of an access is its distance from the first access of
 * the same buffer: neighbours stay neighbours if all of them move.
 * Needs: bound level. Keeps: bits, for the parameters' values from which the holes were taken. */
#include "generalize.h"

#include <string.h>

#include "ir/kernel/build.h"

/* An index times a parameter, which stands after the index so that loops inside share it. */
typedef struct product {
  nxk_value index; /* of the source */
  int32_t param;
} product;

/* What a walk does: it writes the structure and collects holes (`out`), collects products, or
 * builds (`to`). */
typedef enum purpose { TAKE, PLAN, MAKE } purpose;

typedef struct walk {
  purpose purpose;
  const nxk_kernel *k;
  nxk_anatomy *out;
  nxk_kernel *to;
  nxk_value *map; /* TAKE: the number without constants; MAKE: the new value */
  uint32_t next_value, next_hole;
  const int32_t *param;
  const nxk_hole *literal;
  nxk_value *params;        /* MAKE: the values of the new parameters */
  const nxk_access **first; /* of each buffer */
  product *products;
  uint32_t n_products, cap_products;
  nxk_term *terms; /* of the access at hand, unless a kernel is built */
  uint32_t cap_terms;
  nxk_value tasks; /* of the region, if it is a new parameter */
  bool failed;
} walk;

static const nxk_value HOLE = NXK_NONE - 1; /* in the structure: an operand that is a hole */

/* A hole, filled: the number of its parameter, or NXK_LITERAL and *value. */
static int32_t meet(walk *w, nxk_role role, nx_dtype type, int64_t *value) {
  uint32_t number = w->next_hole++;
  if (w->purpose != TAKE) {
    *value = (int64_t)w->literal[number].value;
    return w->param[number];
  }
  nxk_anatomy *a = w->out;
  if (!nxi_grow(&a->holes, &a->cap_holes, number + 1, sizeof *a->holes)) w->failed = true;
  else a->holes[number] = (nxk_hole){(uint64_t)*value, (uint8_t)type, (uint8_t)role};
  a->n_holes = number + 1;
  *value = 0;
  return NXK_LITERAL;
}

static inline void put(walk *w, const uint64_t *words, uint32_t n) {
  if (w->purpose != TAKE) return;
  nxi_text *t = &w->out->structure;
  const uint32_t bytes = n * (uint32_t)sizeof *words;
  if (t->capacity - t->size <= bytes) {
    nxi_text_put(t, (const char *)words, bytes);
    return;
  }
  memcpy(t->data + t->size, words, bytes);
  t->size += bytes; /* binary: nobody needs a NUL after it */
}

static uint64_t both(uint32_t low, uint32_t high) { return low | (uint64_t)high << 32; }

/* ---- operands */

static nxk_value operand(walk *w, nxk_value v) {
  if (v == NXK_NONE) return v;
  const nxk_instr *in = &w->k->instrs[v];
  if (in->op != NXK_const || in->dtype == NX_BOOL) return w->map[v];
  int64_t value = (int64_t)in->imm;
  int32_t p = meet(w, in->dtype == NX_I64 ? NXK_WORD : NXK_DATA, (nx_dtype)in->dtype, &value);
  if (w->purpose != MAKE) return HOLE;
  return p == NXK_LITERAL ? nxk_const(w->to, (nx_dtype)in->dtype, (uint64_t)value) : w->params[p];
}

static nxk_bound_value bound(walk *w, nxk_bound_value b) {
  if (b.value != NXK_NONE) return (nxk_bound_value){operand(w, b.value), 0};
  int32_t p = meet(w, NXK_PLACE, NX_I64, &b.constant);
  if (p == NXK_LITERAL || w->purpose != MAKE) return b;
  return nxk_bound_of(w->params[p]);
}

/* ---- accesses */

static void note_product(walk *w, nxk_value index, int32_t param) {
  for (uint32_t i = 0; i < w->n_products; i++)
    if (w->products[i].index == index && w->products[i].param == param) return;
  if (!nxi_grow(&w->products, &w->cap_products, w->n_products + 1, sizeof *w->products))
    w->failed = true;
  else w->products[w->n_products++] = (product){index, param};
}

static void add_term(nxk_access *a, nxk_value index, int64_t stride) {
  a->terms[a->n_terms++] = (nxk_term){index, stride};
}

/* The distance of the access from the first one of its buffer, and where that one is. */
static void fill_offset(walk *w, const nxk_access *from, nxk_access *to) {
  const nxk_access **first = &w->first[from->buffer];
  if (*first == NULL) *first = from;
  int64_t parts[2] = {(*first)->offset, from->offset - (*first)->offset};
  to->offset = 0;
  for (int i = 0; i < 2; i++) {
    int32_t p = meet(w, NXK_PLACE, NX_I64, &parts[i]);
    if (p == NXK_LITERAL) to->offset += parts[i];
    else if (w->purpose == MAKE) add_term(to, w->params[p], 1);
  }
}

static void fill_term(walk *w, nxk_term from, nxk_access *to) {
  int32_t p = meet(w, NXK_STRIDE, NX_I64, &from.stride);
  nxk_value index = operand(w, from.index);
  if (p == NXK_LITERAL) {
    add_term(to, index, from.stride);
  } else if (w->purpose == PLAN) {
    note_product(w, from.index, p);
  } else if (w->purpose == MAKE) {
    add_term(to, NXK_SCALAR2(w->to, NXK_mul, index, w->params[p]), 1);
  }
}

/* Lanes that are further apart than complex numbers are at computed indices if the distance is a
 * parameter. */
static void fill_lane_stride(walk *w, uint16_t lanes, nxk_access *to) {
  if (lanes == 1 || to->index != NXK_NONE || (to->lane_stride >= -2 && to->lane_stride <= 2))
    return;
  int32_t p = meet(w, NXK_STRIDE, NX_I64, &to->lane_stride);
  if (p == NXK_LITERAL || w->purpose != MAKE) return;
  nxk_value lane = nxk_step_vector(w->to, nxk_const_i(w->to, NX_I64, 0), lanes);
  to->index = NXK_SCALAR2(w->to, NXK_mul, lane, nxk_splat(w->to, w->params[p], lanes));
  to->lane_stride = 0;
}

/* Room for the terms of an access, two of which are its offset: in the arena of the new kernel, or
 * the walk's own. */
static nxk_term *terms_for(walk *w, uint32_t n) {
  if (w->to != NULL) return nxi_arena_alloc(&w->to->arena, n * sizeof *w->terms);
  return nxi_grow(&w->terms, &w->cap_terms, n, sizeof *w->terms) ? w->terms : NULL;
}

/* The access with its holes filled. */
static bool fill_access(walk *w, uint64_t number, uint16_t lanes, nxk_access *to) {
  const nxk_access *from = &w->k->accesses[number];
  *to = *from;
  to->n_terms = 0;
  to->terms = terms_for(w, from->n_terms + 2);
  if (to->terms == NULL) return !(w->failed = true);
  fill_offset(w, from, to);
  for (uint32_t i = 0; i < from->n_terms; i++) fill_term(w, from->terms[i], to);
  to->index = operand(w, from->index);
  fill_lane_stride(w, lanes, to);
  to->mask = operand(w, from->mask);
  to->other = operand(w, from->other);
  uint64_t words[] = {both(to->buffer, to->n_terms), both(to->index, to->mask),
                      both(to->other, to->flags),    (uint64_t)to->lane_stride,
                      (uint64_t)to->tree_stride,     (uint64_t)to->prefetch};
  put(w, words, sizeof words / sizeof *words);
  for (uint32_t i = 0; i < to->n_terms; i++) put(w, (uint64_t[]){to->terms[i].index}, 1);
  return true;
}

/* ---- instructions */

static void fill_region(walk *w, nxk_instr *in) {
  nxk_region region = w->k->regions[in->imm];
  int32_t p = NXK_LITERAL;
  if (region.tasks_param < 0) p = meet(w, NXK_PLACE, NX_I64, &region.tasks);
  w->tasks = p == NXK_LITERAL || w->purpose != MAKE ? NXK_NONE : w->params[p];
  put(w, (uint64_t[]){(uint64_t)region.tasks_param, (uint64_t)region.tasks_divisor}, 2);
  if (w->purpose != MAKE) return;
  if (p != NXK_LITERAL) {
    region.tasks_param = (int32_t)(w->k->n_params + (uint32_t)p);
    region.tasks_divisor = 1;
  }
  region.instr = w->to->n_instrs;
  in->imm = nxi_add_region(w->to, &region);
}

/* A task loop ends where its region says. */
static void fill_loop(walk *w, nxk_instr *in) {
  nxk_loop loop = w->k->loops[in->imm];
  bool task = loop.kind == NXK_TASK;
  if (!task) loop.lower = bound(w, loop.lower);
  if (!task || loop.upper.value != NXK_NONE) loop.upper = bound(w, loop.upper);
  else if (w->tasks != NXK_NONE) loop.upper = nxk_bound_of(w->tasks);
  uint64_t words[] = {both(loop.kind, loop.unroll | loop.apart << 1 | loop.few << 2),
                      both(loop.lower.value, loop.upper.value), (uint64_t)loop.step};
  put(w, words, sizeof words / sizeof *words);
  if (w->purpose == MAKE) in->imm = nxi_add_loop(w->to, &loop);
}

static void fill_accesses(walk *w, const nxk_instr *from, nxk_instr *in) {
  nxk_access a;
  bool tree = in->op == NXK_tree_push || in->op == NXK_tree_join;
  uint16_t lanes = tree ? 1 : in->op == NXK_store ? w->k->instrs[from->args[0]].lanes : in->lanes;
  if (fill_access(w, in->imm, lanes, &a) && w->purpose == MAKE) in->imm = nxk_add_access(w->to, &a);
  if (in->imm2 == UINT32_MAX) return;
  if (fill_access(w, in->imm2, lanes, &a) && w->purpose == MAKE)
    in->imm2 = nxk_add_access(w->to, &a);
}

static void fill_rest(walk *w, const nxk_instr *from, nxk_instr *in) {
  switch (in->op) {
    case NXK_region: fill_region(w, in); break;
    case NXK_for: fill_loop(w, in); break;
    case NXK_load:
    case NXK_store:
    case NXK_tree_push:
    case NXK_tree_join: fill_accesses(w, from, in); break;
    case NXK_const:
    case NXK_param: put(w, &in->imm, 1); break;
    default: break;
  }
}

static void put_instr(walk *w, const nxk_instr *in) {
  uint64_t second = in->imm2 != UINT32_MAX;
  uint64_t words[3] = {in->op | (uint64_t)in->lanes << 16 | (uint64_t)in->dtype << 32 |
                           (uint64_t)in->kind << 40 | (uint64_t)(in->order | in->flags << 4) << 48 |
                           (in->n_args | second << 4) << 56,
                       both(in->args[0], in->args[1]), both(in->args[2], in->args[3])};
  put(w, words, 3);
}

/* Products of an index stand after it, but not between a loop and its carries, nor between a block
 * and its blends. */
static void write_products(walk *w, nxk_value last) {
  nxk_op next = last + 1 < w->k->n_instrs ? (nxk_op)w->k->instrs[last + 1].op : NXK_end;
  if (w->purpose != MAKE || w->k->instrs[last].block == NXK_NONE || next == NXK_carry ||
      next == NXK_blend)
    return;
  nxk_value from = last;
  while (from > 0 && (w->k->instrs[from].op == NXK_carry || w->k->instrs[from].op == NXK_blend))
    from--;
  for (uint32_t i = 0; i < w->n_products; i++) {
    product p = w->products[i];
    if (p.index >= from && p.index <= last)
      NXK_SCALAR2(w->to, NXK_mul, w->map[p.index], w->params[p.param]);
  }
}

static void visit(walk *w, nxk_value v) {
  nxk_instr in = w->k->instrs[v];
  bool leaf = in.op == NXK_param || in.op == NXK_const;
  if (w->purpose == MAKE && leaf) return; /* they are at the top already */
  if (in.op == NXK_const && in.dtype != NX_BOOL) return;
  for (int i = 0; i < 4; i++) in.args[i] = i < in.n_args ? operand(w, in.args[i]) : NXK_NONE;
  put_instr(w, &in);
  fill_rest(w, &w->k->instrs[v], &in);
  if (w->purpose != MAKE) w->map[v] = w->next_value++;
  else w->map[v] = nxi_append(w->to, &in);
  write_products(w, v);
}

/* ---- whole kernels */

static void visit_buffers(walk *w) {
  put(w, (uint64_t[]){both(w->k->n_buffers, w->k->n_params)}, 1);
  for (uint32_t i = 0; i < w->k->n_buffers; i++) {
    nxk_buffer b = w->k->buffers[i];
    if (b.kind == NXK_LOCAL) meet(w, NXK_ROOM, NX_I64, &b.elements);
    else if (w->k->level == NXK_BOUND) b.elements = -1;
    put(w,
        (uint64_t[]){(uint64_t)b.kind | (uint64_t)b.dtype << 8 | (uint64_t)b.aligned << 16 |
                     (uint64_t)b.restricted << 17},
        1);
    if (w->purpose != MAKE) continue;
    uint32_t number = nxk_add_buffer(w->to, b.kind, b.dtype, b.elements);
    if (number != NXK_NONE) w->to->buffers[number] = b;
  }
  for (uint32_t i = 0; i < w->k->n_params; i++) put(w, (uint64_t[]){w->k->param_types[i]}, 1);
}

static bool walk_all(walk *w, purpose purpose) {
  w->purpose = purpose;
  w->next_hole = w->next_value = 0;
  memset(w->first, 0, (w->k->n_buffers + 1) * sizeof(void *));
  visit_buffers(w);
  for (nxk_value v = 0; v < w->k->n_instrs && !w->failed && (!w->to || !w->to->failed); v++)
    visit(w, v);
  return !w->failed && (w->to == NULL || !w->to->failed);
}

static bool open_walk(walk *w, uint32_t n_params) {
  w->map = nxi_malloc(((size_t)w->k->n_instrs + 1) * sizeof *w->map);
  w->first = nxi_calloc((size_t)w->k->n_buffers + 1, sizeof(void *));
  w->params = nxi_malloc(((size_t)n_params + 1) * sizeof *w->params);
  if (w->map) memset(w->map, 0xff, ((size_t)w->k->n_instrs + 1) * sizeof *w->map);
  return w->map && w->first && w->params;
}

static void close_walk(walk *w) {
  nxi_free(w->map);
  nxi_free(w->first);
  nxi_free(w->params);
  nxi_free(w->products);
  nxi_free(w->terms);
}

bool nxk_dissect(const nxk_kernel *k, nxk_anatomy *out) {
  *out = (nxk_anatomy){0};
  if (k->threads > 0) return false;
  walk w = {.k = k, .out = out};
  bool ok = open_walk(&w, 0) && walk_all(&w, TAKE) && !out->structure.failed;
  close_walk(&w);
  if (!ok) nxk_anatomy_free(out);
  return ok;
}

void nxk_anatomy_free(nxk_anatomy *a) {
  nxi_text_free(&a->structure);
  nxi_free(a->holes);
  *a = (nxk_anatomy){0};
}

/* The parameters, old ones and new ones, and the constants that are no holes. */
static void write_top(walk *w, uint32_t n_params) {
  for (uint32_t i = 0; i < w->k->n_params; i++)
    nxk_add_param(w->to, (nx_dtype)w->k->param_types[i]);
  for (nxk_value v = 0; v < w->k->n_instrs; v++) {
    const nxk_instr *in = &w->k->instrs[v];
    if (in->op == NXK_param) w->map[v] = nxk_param(w->to, (uint32_t)in->imm);
    if (in->op == NXK_const) w->map[v] = nxk_const(w->to, (nx_dtype)in->dtype, in->imm);
  }
  for (uint32_t p = 0; p < n_params; p++) {
    uint32_t hole = 0;
    while (w->param[hole] != (int32_t)p) hole++;
    uint32_t number = nxk_add_param(w->to, (nx_dtype)w->literal[hole].type);
    w->params[p] = number == NXK_NONE ? NXK_NONE : nxk_param(w->to, number);
  }
}

nxk_kernel *nxk_generalize(const nxk_kernel *k, const int32_t *param, const nxk_hole *literal,
                           uint32_t n_params, nxi_diag *d) {
  walk w = {.k = k, .param = param, .literal = literal};
  bool ok = open_walk(&w, n_params) && walk_all(&w, PLAN);
  if (ok) w.to = nxk_create(k->level, k->name);
  ok = ok && w.to != NULL;
  if (ok) {
    memset(w.map, 0xff, ((size_t)k->n_instrs + 1) * sizeof *w.map);
    write_top(&w, n_params);
    ok = walk_all(&w, MAKE);
  }
  close_walk(&w);
  if (ok) return w.to;
  nxk_destroy(w.to);
  nxi_oom(d);
  return NULL;
}

nxk_kernel *nxk_refill(const nxk_kernel *k, const nxk_hole *holes, uint32_t n_holes, nxi_diag *d) {
  size_t bytes = ((size_t)n_holes + 1) * sizeof(int32_t);
  int32_t *param = nxi_malloc(bytes);
  if (param == NULL) {
    nxi_oom(d);
    return NULL;
  }
  memset(param, 0xff, bytes); /* NXK_LITERAL */
  nxk_kernel *to = nxk_generalize(k, param, holes, 0, d);
  nxi_free(param);
  return to;
}
