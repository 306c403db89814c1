/* SPDX-License-Identifier: ISC */
/* Takes tuples out of a module that was read: each value that is one becomes its elements, one
 * after the other and those of tuples in it too, wherever values go: into functions, loops and
 * branches, out of them, and to custom calls. Nothing that comes after a reader knows tuples.
 * Values keep their order, so those of a region are still neighbours, above those around it.
 *
 * An artifact may write a type of very many elements in few bytes, so there are at most as many as
 * the bytes of the module make likely. */
#include "module.h"

#include <string.h>

/* What a value has become: `n` values, in a list or first, first + 1, .. */
typedef struct parts {
  nxh_value first;
  uint32_t n;
  const nxh_value *list;
} parts;

typedef struct flattening {
  nxh_module *m;
  nxi_diag *d;
  parts *of; /* of each old value, and of the one after the last */
  nxh_type *types;
  uint32_t n_types;
} flattening;

static nxh_value part(const parts *p, uint32_t i) {
  return p->list != NULL ? p->list[i] : p->first + i;
}

/* ---- types */

/* Counts the elements of a type, and all types in it against the budget. */
static bool count(const nxh_type *t, uint32_t *n, uint64_t *budget) {
  if (*budget == 0) return false;
  --*budget;
  if (t->kind != NXH_TUPLE) return ++*n, true;
  for (uint32_t i = 0; i < t->n_tuple; i++)
    if (!count(&t->tuple[i], n, budget)) return false;
  return true;
}

static uint32_t put_types(const nxh_type *t, nxh_type *to) {
  uint32_t n = 0;
  if (t->kind != NXH_TUPLE) return *to = *t, 1;
  for (uint32_t i = 0; i < t->n_tuple; i++) n += put_types(&t->tuple[i], to + n);
  return n;
}

/* How many elements a type has; those of the module have been counted. */
static uint32_t width(const nxh_type *t) {
  uint32_t n = 0;
  uint64_t budget = UINT64_MAX;
  count(t, &n, &budget);
  return n;
}

/* ---- failures */

static bool fail(flattening *f, const nxh_op *op, const char *what) {
  nxi_fail(f->d, NX_PARSE, "stablehlo", "%s", what);
  nxh_note_place(f->m, op, f->d);
  return false;
}

static void *room(flattening *f, size_t n, size_t size) {
  void *made = nxi_arena_alloc(&f->m->arena, (n + 1) * size);
  if (made == NULL) nxi_oom(f->d);
  return made;
}

/* ---- lists of values */

static const nxh_type *old_type(const flattening *f, nxh_value v) { return &f->m->types[v]; }

static uint32_t total(const flattening *f, const nxh_value *list, uint32_t n) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < n; i++) sum += f->of[list[i]].n;
  return sum;
}

static uint32_t total_of_run(const flattening *f, nxh_value first, uint32_t n) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < n; i++) sum += f->of[first + i].n;
  return sum;
}

/* The parts of all values of a list; NULL: no memory. */
static const nxh_value *spread(flattening *f, const nxh_value *list, uint32_t n) {
  nxh_value *made = room(f, total(f, list, n), sizeof *made), *to = made;
  for (uint32_t i = 0; made != NULL && i < n; i++)
    for (uint32_t k = 0; k < f->of[list[i]].n; k++) *to++ = part(&f->of[list[i]], k);
  return made;
}

/* ---- operations */

/* Its result is another name for the parts of the operands. */
static bool take_tuple(flattening *f, const nxh_op *op) {
  const nxh_type *t = op->n_results == 1 ? old_type(f, op->first_result) : NULL;
  bool fits = t != NULL && t->kind == NXH_TUPLE && t->n_tuple == op->n_operands;
  for (uint32_t i = 0; fits && i < op->n_operands; i++)
    fits = nxh_types_equal(old_type(f, op->operands[i]), &t->tuple[i]);
  if (!fits) return fail(f, op, "the tuple's type is not that of its operands");
  return (f->of[op->first_result].list = spread(f, op->operands, op->n_operands)) != NULL;
}

static bool take_element(flattening *f, const nxh_op *op) {
  const nxh_attr *index = nxh_get(op, "index");
  if (op->n_operands != 1 || op->n_results != 1)
    return fail(f, op, "one tuple has to be given, and one element taken");
  const nxh_type *t = old_type(f, op->operands[0]);
  int64_t i = index != NULL && index->kind == NXH_INT ? index->integer : -1;
  if (t->kind != NXH_TUPLE || i < 0 || i >= t->n_tuple)
    return fail(f, op, "there is no element of that number");
  if (!nxh_types_equal(old_type(f, op->first_result), &t->tuple[i]))
    return fail(f, op, "the result's type is not that of the element");
  uint32_t before = 0, n = f->of[op->first_result].n;
  for (int64_t k = 0; k < i; k++) before += width(&t->tuple[k]);
  nxh_value *list = room(f, n, sizeof *list);
  if (list == NULL) return false;
  for (uint32_t k = 0; k < n; k++) list[k] = part(&f->of[op->operands[0]], before + k);
  f->of[op->first_result].list = list;
  return true;
}

/* What hands values on as they are. */
static bool hands_on(const nxh_op *op) {
  static const char *const names[] = {"func.call",
                                      "func.return",
                                      "stablehlo.case",
                                      "stablehlo.if",
                                      "stablehlo.infeed",
                                      "stablehlo.composite",
                                      "stablehlo.while",
                                      "stablehlo.return",
                                      "stablehlo.custom_call",
                                      "stablehlo.outfeed",
                                      "stablehlo.optimization_barrier"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (nxh_word_is(op->name, names[i])) return true;
  return false;
}

static bool is_tuple(const flattening *f, nxh_value v) { return old_type(f, v)->kind == NXH_TUPLE; }

static bool has_tuples(const flattening *f, const nxh_op *op) {
  bool found = false;
  for (uint32_t i = 0; i < op->n_operands; i++) found = found || is_tuple(f, op->operands[i]);
  for (uint32_t i = 0; i < op->n_results; i++) found = found || is_tuple(f, op->first_result + i);
  for (uint32_t k = 0; k < op->n_regions; k++)
    for (uint32_t i = 0; i < op->regions[k].n_args; i++)
      found = found || is_tuple(f, op->regions[k].first + i);
  return found;
}

static bool flatten_region(flattening *f, nxh_region *region);

static bool flatten_op(flattening *f, nxh_op *op) {
  if (has_tuples(f, op) && !hands_on(op)) return fail(f, op, "it neither takes nor gives tuples");
  const nxh_value *operands = spread(f, op->operands, op->n_operands);
  if (operands == NULL) return false;
  op->n_operands = total(f, op->operands, op->n_operands);
  op->operands = operands;
  op->n_results = total_of_run(f, op->first_result, op->n_results);
  op->first_result = f->of[op->first_result].first;
  for (uint32_t i = 0; i < op->n_regions; i++)
    if (!flatten_region(f, (nxh_region *)(uintptr_t)&op->regions[i])) return false;
  return true;
}

static bool flatten_region(flattening *f, nxh_region *region) {
  uint32_t kept = 0;
  region->n_args = total_of_run(f, region->first, region->n_args);
  region->first = f->of[region->first].first;
  for (uint32_t i = 0; i < region->n_ops; i++) {
    nxh_op *op = &region->ops[i];
    bool makes = nxh_word_is(op->name, "stablehlo.tuple");
    bool takes = nxh_word_is(op->name, "stablehlo.get_tuple_element");
    if (makes ? !take_tuple(f, op) : takes && !take_element(f, op)) return false;
    if (makes || takes) continue;
    if (!flatten_op(f, op)) return false;
    region->ops[kept++] = *op;
  }
  region->n_ops = kept;
  return true;
}

/* ---- functions */

/* Attributes of values: those of tuples are left out, which say where elements belong. */
static bool spread_attrs(flattening *f, const nxh_attr **attrs, const uint32_t *widths,
                         const bool *tuples, uint32_t n, uint32_t flat) {
  nxh_attr *made = room(f, flat, sizeof *made), *to = made;
  if (made == NULL) return false;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < widths[i]; k++)
      *to++ = tuples[i] ? (nxh_attr){.kind = NXH_UNIT} : (*attrs)[i];
  *attrs = made;
  return true;
}

static bool flatten_attrs(flattening *f, const nxh_type *types, uint32_t n,
                          const nxh_attr **attrs) {
  if (*attrs == NULL || types == NULL) return true;
  uint32_t *widths = room(f, n, sizeof *widths), flat = 0;
  bool *tuples = room(f, n, sizeof *tuples);
  if (widths == NULL || tuples == NULL) return false;
  for (uint32_t i = 0; i < n; i++) {
    widths[i] = width(&types[i]);
    tuples[i] = types[i].kind == NXH_TUPLE;
    flat += widths[i];
  }
  return spread_attrs(f, attrs, widths, tuples, n, flat);
}

static bool flatten_results(flattening *f, nxh_function *function, uint64_t *budget) {
  uint32_t flat = 0, n = 0;
  for (uint32_t i = 0; i < function->n_results; i++)
    if (!count(&function->results[i], &flat, budget))
      return nxi_fail(f->d, NX_PARSE, "stablehlo", "tuples of too many elements"), false;
  nxh_type *results = room(f, flat, sizeof *results);
  if (results == NULL ||
      !flatten_attrs(f, function->results, function->n_results, &function->result_attrs))
    return false;
  for (uint32_t i = 0; i < function->n_results; i++)
    n += put_types(&function->results[i], results + n);
  function->results = results;
  function->n_results = n;
  return true;
}

static bool flatten_function(flattening *f, nxh_function *function, uint64_t *budget) {
  const nxh_type *args = function->body.n_args > 0 ? old_type(f, function->body.first) : NULL;
  if (!flatten_results(f, function, budget) ||
      !flatten_attrs(f, args, function->body.n_args, &function->arg_attrs))
    return false;
  function->end = f->of[function->end].first;
  return flatten_region(f, &function->body);
}

/* ---- the module */

static bool make_types(flattening *f, uint64_t *budget) {
  nxh_module *m = f->m;
  uint32_t n = 0;
  for (uint32_t v = 0; v < m->n_values; v++) {
    f->of[v] = (parts){.first = n};
    if (!count(&m->types[v], &f->of[v].n, budget))
      return nxi_fail(f->d, NX_PARSE, "stablehlo", "tuples of too many elements"), false;
    n += f->of[v].n;
  }
  f->of[m->n_values] = (parts){.first = n};
  f->types = nxi_malloc(((size_t)n + 1) * sizeof *f->types);
  if (f->types == NULL) return nxi_oom(f->d), false;
  for (uint32_t v = 0; v < m->n_values; v++) put_types(&m->types[v], f->types + f->of[v].first);
  f->n_types = n;
  return true;
}

nx_status nxh_flatten(nxh_module *m, size_t size, nxi_diag *d) {
  uint64_t budget = m->n_values + size / 4 + 256;
  flattening f = {.m = m, .d = d};
  if (!m->tuples) return NX_OK;
  f.of = nxi_calloc((size_t)m->n_values + 1, sizeof *f.of);
  bool ok = f.of != NULL || (nxi_oom(d), false);
  ok = ok && make_types(&f, &budget);
  for (uint32_t i = 0; ok && i < m->n_functions; i++)
    ok = flatten_function(&f, &m->functions[i], &budget);
  nxi_free(f.of);
  if (!ok) {
    nxi_free(f.types);
    return d->status;
  }
  nxi_free(m->types);
  m->types = f.types;
  m->n_values = m->cap_values = f.n_types;
  return NX_OK;
}
