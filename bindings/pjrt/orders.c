/* SPDX-License-Identifier: ISC */
/* In which order the elements of a program's arguments and results lie: as the attribute
 * mhlo.layout_mode of each says, or the compile options, else in C order. A program may leave it to
 * the compiler for results, which then lie as they come: a transposed value needs no copy. */
#include <string.h>

#include "bindings/stablehlo/shards.h"
#include "calls.h"
#include "ir/alloc.h"

/* ---- what a program leaves open */

enum { MOST_STEPS = 4096, MOST_DEEP = 16 };

/* Axis i of a result is axis[i] of a value. */
typedef struct turned {
  const nxh_module *m;
  int32_t rank;
  int64_t axis[NX_MAX_RANK];
  int64_t order[NX_MAX_RANK]; /* if an operation said one: axes of the value, from the innermost */
  bool said;
  int steps, deep;
} turned;

/* Results are numbered in the order of the operations; those without any have no number. */
static const nxh_op *find_op(const nxh_region *r, nxh_value v) {
  uint32_t low = 0, high = r->n_ops;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2, at = middle;
    while (at > low && r->ops[at].n_results == 0) at--;
    const nxh_op *op = &r->ops[at];
    if (op->n_results != 0 && v - op->first_result < op->n_results) return op;
    if (op->n_results != 0 && v < op->first_result) high = at;
    else low = middle + 1;
  }
  return NULL;
}

static bool read_axes(const nxh_attr *a, int32_t rank, int64_t *axes) {
  uint32_t seen = 0, n = 0;
  if (a == NULL || !nxh_length(a, &n) || n != (uint32_t)rank) return false;
  for (int32_t i = 0; i < rank; i++) {
    if (!nxh_entry(a, (uint32_t)i, &axes[i]) || axes[i] < 0 || axes[i] >= rank) return false;
    seen |= 1U << axes[i];
  }
  return __builtin_popcount(seen) == rank;
}

static bool turn(turned *t, const nxh_op *op) {
  int64_t axes[NX_MAX_RANK];
  if (!read_axes(nxh_get(op, "permutation"), t->rank, axes)) return false;
  for (int32_t i = 0; i < t->rank; i++) t->axis[i] = axes[t->axis[i]];
  return true;
}

/* A constraint of a layout, which also ends the walk. */
static void obey(turned *t, const nxh_op *op) {
  const nxh_attr *list = nxh_get(op, "result_layouts");
  if (list != NULL && list->kind == NXH_LIST && list->list.n == 1)
    t->said = read_axes(&list->list.items[0], t->rank, t->order);
}

static bool same_shape(const turned *t, nxh_value a, nxh_value b) {
  const nxh_type *x = nxh_type_of(t->m, a), *y = nxh_type_of(t->m, b);
  return x->kind == NXH_TENSOR && y->kind == NXH_TENSOR && x->rank == y->rank &&
         (x->rank == 0 || memcmp(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape) == 0);
}

/* The operand that an elementwise operation is computed along: the first that is no constant and
 * no number that is repeated; NXH_NONE: there is none. */
static nxh_value main_operand(const turned *t, const nxh_region *r, const nxh_op *op) {
  for (uint32_t i = 0; i < op->n_operands; i++) {
    const nxh_op *by = find_op(r, op->operands[i]);
    bool filled = by != NULL && (nxh_word_is(by->name, "stablehlo.constant") ||
                                 nxh_word_is(by->name, "stablehlo.broadcast_in_dim") ||
                                 nxh_word_is(by->name, "stablehlo.iota"));
    if (!filled && same_shape(t, op->operands[i], op->first_result)) return op->operands[i];
  }
  return NXH_NONE;
}

static bool is_layout(const nxh_op *op) {
  return nxh_word_is(op->name, "stablehlo.custom_call") &&
         nxh_word_is(nxh_name(op, "call_target_name"), "LayoutConstraint");
}

static nxh_value follow(turned *t, const nxh_function *f, nxh_value v);

/* The operand of a call that its result is made of, if the function it calls leads to one. */
static nxh_value from_call(turned *t, const nxh_op *op, nxh_value v) {
  const nxh_function *f = nxh_find_function(t->m, nxh_name(op, "callee"));
  const nxh_op *last = f != NULL ? nxh_last(&f->body) : NULL;
  uint32_t i = v - op->first_result;
  if (last == NULL || i >= last->n_operands || f->body.n_args != op->n_operands ||
      t->deep == MOST_DEEP || nxh_type_of(t->m, last->operands[i])->rank != t->rank)
    return NXH_NONE;
  t->deep++;
  nxh_value at = follow(t, f, last->operands[i]);
  t->deep--;
  return at != NXH_NONE ? op->operands[at - f->body.first] : NXH_NONE;
}

/* What a value is made of element by element; NXH_NONE: the walk is over. */
static nxh_value step(turned *t, const nxh_region *r, const nxh_op *op, nxh_value v) {
  const nxh_row *row = nxh_row_of(op);
  if (row == NULL || op->n_operands == 0) return NXH_NONE;
  if (row->record == nxh_call) return from_call(t, op, v);
  if (is_layout(op)) return obey(t, op), NXH_NONE;
  if (row->record == nxh_transpose) return turn(t, op) ? op->operands[0] : NXH_NONE;
  bool as_it_is = row->record == nxh_identity || row->record == nxh_constrain;
  uint32_t i = v - op->first_result;
  if (as_it_is) return i < op->n_operands ? op->operands[i] : NXH_NONE;
  return nxh_of_elements(row) ? main_operand(t, r, op) : NXH_NONE;
}

/* Walks to what a value of a function is made of: an argument of it, or NXH_NONE. */
static nxh_value follow(turned *t, const nxh_function *f, nxh_value v) {
  while (v - f->body.first >= f->body.n_args) {
    const nxh_op *op = find_op(&f->body, v);
    nxh_value from = op != NULL && t->steps++ < MOST_STEPS ? step(t, &f->body, op, v) : NXH_NONE;
    if (from == NXH_NONE || nxh_type_of(t->m, from)->rank != t->rank) return NXH_NONE;
    v = from;
  }
  return v;
}

/* The axes of a result from the innermost, if it lies as what it is made of. */
static void choose(const nxj_executable *e, const nxh_module *m, const nxh_function *f, size_t i) {
  const nxj_port *p = &e->out[i];
  const nxh_op *last = nxh_last(&f->body);
  turned t = {.m = m, .rank = p->rank};
  if (last == NULL || i >= last->n_operands || p->rank > NX_MAX_RANK) return;
  for (int32_t k = 0; k < p->rank; k++) t.axis[k] = k;
  nxh_value from = follow(&t, f, last->operands[i]);
  const int64_t *order = t.order;
  if (from != NXH_NONE) {
    const nxj_port *in = &e->in[from - f->body.first];
    order = in->shape + in->rank;
  } else if (!t.said) {
    for (int32_t k = 0; k < p->rank; k++) t.order[k] = p->rank - 1 - k;
  }
  for (int32_t k = 0; k < p->rank; k++)
    for (int32_t a = 0; a < p->rank; a++)
      if (t.axis[a] == order[k]) p->shape[p->rank + k] = a;
}

/* ---- what is said */

static nxj_error *refuse(const nxj_port *p, const char *what, size_t i, nxh_word said) {
  return nxj_fail(NXJ_UNIMPLEMENTED,
                  "nx: the layout %.*s of %s %zu is not an order of %d axes, or has tiles",
                  said.length < 80 ? (int)said.length : 80, said.at, what, i, p->rank);
}

static nxj_error *set_axes(nxj_port *p, const int64_t *axes, int n, const char *what, size_t i,
                           nxh_word said) {
  nxj_memory_layout layout = {.size = sizeof layout, .type = NXJ_TILED};
  layout.tiled.minor_to_major = axes;
  layout.tiled.n = (size_t)n;
  bool good = n == p->rank && nxj_set_layout(p->shape, (size_t)p->rank, 1, &layout);
  return good ? NULL : refuse(p, what, i, said);
}

/* "{1,0}", or "{1,0:E(4)}" where elements have half a byte. How many axes; -1: it is none. */
static int read_text(nxh_word w, int64_t axes[NX_MAX_RANK]) {
  uint32_t at = 1;
  int n = 0;
  if (w.length < 2 || w.at[0] != '{' || w.at[w.length - 1] != '}') return -1;
  while (w.at[at] >= '0' && w.at[at] <= '9') {
    if (n == NX_MAX_RANK) return -1;
    axes[n] = 0;
    for (; w.at[at] >= '0' && w.at[at] <= '9'; at++)
      axes[n] = axes[n] < NX_MAX_RANK ? axes[n] * 10 + (w.at[at] - '0') : NX_MAX_RANK;
    n++;
    if (w.at[at] != ',') break;
    at++;
  }
  static const char half[] = ":E(4)";
  if (w.length - at == sizeof half && memcmp(w.at + at, half, sizeof half - 1) == 0)
    at += sizeof half - 1;
  return at + 1 == w.length ? n : -1;
}

/* The layout of a port; *open: it is left to the compiler. */
static nxj_error *read_layout(const nxj_executable *e, nxj_port *p, const nxh_attr *attrs,
                              bool result, size_t i, bool *open) {
  static const nxh_word option = {"of the compile options", 22};
  const char *what = result ? "result" : "argument";
  const nxh_attr *a = attrs != NULL && attrs->kind == NXH_DICT
                          ? nxh_find(attrs->dict.items, attrs->dict.n, "mhlo.layout_mode")
                          : NULL;
  int64_t axes[NX_MAX_RANK];
  if (p->token) return NULL;
  if (a == NULL) {
    int n = nxj_layout_option(&e->options, result, i, axes);
    return n == 0 ? NULL : set_axes(p, axes, n, what, i, option);
  }
  if (a->kind != NXH_STRING)
    return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: mhlo.layout_mode of %s %zu is no string", what, i);
  *open = nxh_word_is(a->word, "auto");
  if (*open || nxh_word_is(a->word, "default")) return NULL;
  return set_axes(p, axes, read_text(a->word, axes), what, i, a->word);
}

nxj_error *nxj_fill_layouts(nxj_executable *e, const nxh_module *m, const nxh_function *f) {
  nxj_error *error = NULL;
  bool open = false;
  for (size_t i = 0; error == NULL && i < e->n_in; i++)
    error =
        read_layout(e, &e->in[i], f->arg_attrs != NULL ? &f->arg_attrs[i] : NULL, false, i, &open);
  for (size_t i = 0; error == NULL && i < e->n_out; i++) {
    open = false;
    error = read_layout(e, &e->out[i], f->result_attrs != NULL ? &f->result_attrs[i] : NULL, true,
                        i, &open);
    if (error == NULL && open) choose(e, m, f, i);
  }
  return error;
}
