/* SPDX-License-Identifier: ISC */
/* Modules in memory: values, and the questions that readers and recording ask. */
#include "module.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/dtype.h"

nxh_value nxh_add_value(nxh_module *m, const nxh_type *type) {
  if (!nxi_grow(&m->types, &m->cap_values, m->n_values + 1, sizeof *m->types)) return NXH_NONE;
  for (int32_t i = 0; type->kind == NXH_TENSOR && i < type->rank; i++)
    m->open = m->open || type->shape[i] < 0;
  m->tuples = m->tuples || type->kind == NXH_TUPLE;
  m->carried = m->carried || type->quant != NULL || type->form != NULL;
  m->types[m->n_values] = *type;
  return m->n_values++;
}

void nxh_module_destroy(nxh_module *m) {
  nxi_arena_destroy(&m->arena);
  nxi_free(m->functions);
  nxi_free(m->types);
  *m = (nxh_module){0};
}

const char *nxh_bad_quant(const nxh_quant *q, nx_dtype storage) {
  if (!nxi_is_integer(storage) || nxi_dtypes[storage].bits > 32)
    return "a quantized type has a storage of at most 32 bits";
  if (!nxi_is_float(q->expressed)) return "a quantized type expresses floats";
  int bits = nxi_dtypes[storage].bits - (nxi_is_signed(storage) ? 1 : 0);
  int64_t most = (INT64_C(1) << bits) - 1, least = nxi_is_signed(storage) ? -most - 1 : 0;
  if (q->min < least || q->max > most || q->min >= q->max)
    return "the limits of a quantized type are not those of its storage";
  if (q->n == 0 || (q->axis < 0 && q->rank == 0 && q->n != 1))
    return "a quantized type has no scale";
  for (uint32_t i = 0; i < q->n; i++) {
    if (!(q->scales[i] > 0) || isinf(q->scales[i])) return "a scale is not positive and finite";
    if (q->zeros[i] < q->min || q->zeros[i] > q->max) return "a zero point is beyond the storage";
  }
  return NULL;
}

bool nxh_make_real(nxh_module *m, nxh_type *type) {
  if (type->quant == NULL && type->form == NULL) return true;
  nxh_type real = *type;
  real.dtype = type->quant != NULL ? type->quant->expressed : type->form->real;
  real.quant = NULL;
  real.form = NULL;
  type->real = nxi_arena_copy(&m->arena, &real, sizeof real);
  return type->real != NULL;
}

/* How the scales are spread; of blocks where there is one it does not matter. */
static bool same_blocks(const nxh_quant *a, const nxh_quant *b) {
  size_t bytes = (size_t)a->rank * sizeof *a->grid;
  if (a->axis < 0 && a->n == 1) return true;
  return a->rank == b->rank && (bytes == 0 || (memcmp(a->grid, b->grid, bytes) == 0 &&
                                               memcmp(a->blocks, b->blocks, bytes) == 0));
}

bool nxh_quants_equal(const nxh_quant *a, const nxh_quant *b) {
  if (a == b) return true;
  return a != NULL && b != NULL && a->expressed == b->expressed && a->min == b->min &&
         a->max == b->max && a->n == b->n && (a->axis < 0) == (b->axis < 0) && same_blocks(a, b) &&
         memcmp(a->scales, b->scales, a->n * sizeof *a->scales) == 0 &&
         memcmp(a->zeros, b->zeros, a->n * sizeof *a->zeros) == 0;
}

bool nxh_same_elements(const nxh_type *a, const nxh_type *b) {
  return a->form == b->form && nxh_quants_equal(a->quant, b->quant);
}

bool nxh_word_is(nxh_word w, const char *text) {
  return strlen(text) == w.length && memcmp(w.at, text, w.length) == 0;
}

const nxh_type nxh_no_type = {.kind = NXH_NO_TYPE};

bool nxh_is_end(const nxh_op *op) {
  return nxh_word_is(op->name, "stablehlo.return") || nxh_word_is(op->name, "func.return") ||
         nxh_word_is(op->name, "sdy.return");
}

bool nxh_words_equal(nxh_word a, nxh_word b) {
  return a.length == b.length && (a.length == 0 || memcmp(a.at, b.at, a.length) == 0);
}

nxh_word nxh_word_of(const char *text) { return (nxh_word){text, (uint32_t)strlen(text)}; }

const nxh_function *nxh_find_function(const nxh_module *m, nxh_word name) {
  for (uint32_t i = 0; i < m->n_functions; i++)
    if (nxh_words_equal(m->functions[i].name, name)) return &m->functions[i];
  return NULL;
}

static bool any_in(const nxh_region *region, bool (*is)(const nxh_op *op)) {
  bool found = false;
  for (uint32_t i = 0; !found && i < region->n_ops; i++) {
    const nxh_op *op = &region->ops[i];
    found = is(op);
    for (uint32_t k = 0; !found && k < op->n_regions; k++) found = any_in(&op->regions[k], is);
  }
  return found;
}

bool nxh_any_op(const nxh_module *m, bool (*is)(const nxh_op *op)) {
  bool found = false;
  for (uint32_t i = 0; !found && i < m->n_functions; i++) found = any_in(&m->functions[i].body, is);
  return found;
}

const nxh_attr *nxh_find(const nxh_named *attrs, uint32_t n, const char *name) {
  for (uint32_t i = 0; i < n; i++)
    if (nxh_word_is(attrs[i].name, name)) return &attrs[i].value;
  return NULL;
}

bool nxh_types_equal(const nxh_type *a, const nxh_type *b) {
  if (a->kind != b->kind || a->dtype != b->dtype || a->index != b->index || a->rank != b->rank ||
      a->n_tuple != b->n_tuple || !nxh_same_elements(a, b) ||
      (a->quant != NULL && a->quant->axis != b->quant->axis))
    return false;
  for (int32_t i = 0; i < a->rank; i++)
    if (a->shape[i] != b->shape[i]) return false;
  for (uint32_t i = 0; i < a->n_tuple; i++)
    if (!nxh_types_equal(&a->tuple[i], &b->tuple[i])) return false;
  return true;
}

void nxh_describe_type(const nxh_type *t, char out[NXH_TYPE_TEXT]) {
  static const char *const others[] = {
      [NXH_NO_TYPE] = "nothing", [NXH_TOKEN] = "a token", [NXH_TUPLE] = "a tuple"};
  const size_t room = NXH_TYPE_TEXT;
  if (t->kind != NXH_TENSOR) {
    snprintf(out, room, "%s", t->kind == NXH_OTHER ? "of another dialect" : others[t->kind]);
    return;
  }
  const char *name = t->form != NULL ? t->form->name : t->dtype ? nx_dtype_name(t->dtype) : "?";
  size_t n = (size_t)snprintf(out, room, "%s[", name);
  for (int32_t i = 0; i < t->rank && n < room; i++) {
    const char *comma = i ? "," : "";
    n += (size_t)(t->shape[i] < 0
                      ? snprintf(out + n, room - n, "%s?", comma)
                      : snprintf(out + n, room - n, "%s%lld", comma, (long long)t->shape[i]));
  }
  if (n < room) snprintf(out + n, room - n, "]");
}

int64_t nxh_elements(const nxh_type *t) {
  int64_t n = 1;
  bool empty = false;
  for (int32_t i = 0; i < t->rank; i++) empty = empty || t->shape[i] == 0;
  for (int32_t i = 0; i < t->rank && !empty; i++)
    if (t->shape[i] < 0 || __builtin_mul_overflow(n, t->shape[i], &n) || n > INT64_C(1) << 62)
      return -1;
  return empty ? 0 : n;
}
