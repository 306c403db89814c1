/* SPDX-License-Identifier: ISC */
/* Operations in general form, blocks and regions of a text. */
#include "text_names.h"

#include <string.h>

enum { MOST_RESULTS = 65536, MOST_NAMES = 64 };

/* ---- drafts */

void nxh_drop_draft(nxh_draft *op) {
  nxi_free(op->operands);
  nxi_free(op->attrs.items);
  nxi_free(op->regions);
}

bool nxh_read_operand(nxh_reader *r, nxh_draft *op) {
  nxh_value *slot = nxh_push(r, &op->operands, &op->n_operands, &op->cap_operands, sizeof *slot);
  return slot != NULL && nxh_read_value(r, slot);
}

/* A result that nobody names is one all the same. Without an arrow there are as many as operands of
 * a loop or a barrier, none of what ends a region, and one of anything else. */
static uint32_t unnamed_results(const nxh_draft *op, const nxh_op *out) {
  bool many = op->n_regions > 0 || nxh_word_is(op->name, "stablehlo.optimization_barrier");
  if (op->arrow || many) return op->n_results;
  return op->n_results > 0 && !nxh_is_end(out) ? 1 : 0;
}

/* Results have the types at the end: all of them, or the last ones of a list that begins with
 * those of operands. */
static bool add_results(nxh_reader *r, const nxh_draft *op, nxh_op *out) {
  uint32_t n = op->wanted > 0 ? op->wanted : unnamed_results(op, out);
  out->first_result = r->m->n_values;
  out->n_results = n;
  if (n > 0 && op->n_results == 0) return nxh_expected(r, "the operation has no result");
  if (n > op->n_results) return nxh_expected(r, "%u results of %u types", n, op->n_results);
  for (uint32_t i = op->n_results - n; i < op->n_results; i++)
    if (nxh_add_value(r->m, &op->results[i]) == NXH_NONE) return nxh_no_memory(r);
  return true;
}

/* Numbers of dimensions that one attribute holds together become attributes of the operation. */
static bool flatten(nxh_reader *r, nxh_draft *op) {
  static const char *const names[] = {"dimension_numbers", "dot_dimension_numbers",
                                      "ragged_dot_dimension_numbers", "scatter_dimension_numbers",
                                      "channel_handle"};
  for (uint32_t i = 0, n = op->attrs.n; i < n; i++)
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
      nxh_named a = op->attrs.items[i];
      if (!nxh_word_is(a.name, names[k]) || a.value.kind != NXH_DICT) continue;
      for (uint32_t f = 0; f < a.value.dict.n; f++)
        if (!nxh_add_attr(r, &op->attrs, a.value.dict.items[f].name, &a.value.dict.items[f].value))
          return false;
    }
  return true;
}

/* Takes the draft's arrays. */
static bool finish(nxh_reader *r, nxh_draft *op, nxh_op *out) {
  bool ok = flatten(r, op);
  *out = (nxh_op){.name = op->name, .line = op->line, .column = op->column};
  out->n_operands = op->n_operands;
  out->n_attrs = op->attrs.n;
  out->n_regions = op->n_regions;
  ok = add_results(r, op, out) && ok;
  ok = nxh_settle(r, op->operands, op->n_operands, sizeof *op->operands, &out->operands) && ok;
  ok = nxh_settle(r, op->attrs.items, op->attrs.n, sizeof *op->attrs.items, &out->attrs) && ok;
  ok = nxh_settle(r, op->regions, op->n_regions, sizeof *op->regions, &out->regions) && ok;
  return ok;
}

bool nxh_check_operands(nxh_reader *r, const nxh_draft *op, const nxh_type *types, uint32_t n) {
  if (n != op->n_operands) return nxh_expected(r, "%u types of %u operands", n, op->n_operands);
  for (uint32_t i = 0; i < n; i++) {
    const nxh_type *own = &r->m->types[op->operands[i]];
    char is[NXH_TYPE_TEXT], said[NXH_TYPE_TEXT];
    if (nxh_types_equal(own, &types[i])) continue;
    nxh_describe_type(own, is);
    nxh_describe_type(&types[i], said);
    return nxh_expected(r, "operand %u is %s, and the type says %s", i, is, said);
  }
  return true;
}

/* What is behind the arrow. */
static bool read_result_types(nxh_reader *r, nxh_draft *op) {
  op->arrow = true;
  return nxh_check_operands(r, op, op->results, op->n_results) &&
         nxh_read_types(r, &op->results, &op->n_results);
}

bool nxh_read_op_type(nxh_reader *r, nxh_draft *op) {
  if (!nxh_need(r, ":")) return false;
  if (!nxh_read_types(r, &op->results, &op->n_results)) return false;
  if (nxh_eat(r, "->")) return read_result_types(r, op);
  nxh_type *all = NULL, *slot;
  uint32_t n = 0, capacity = 0;
  bool ok = true;
  if (nxh_peek(r) != ',') return true;
  for (uint32_t i = 0; ok && i < op->n_results; i++) {
    ok = (slot = nxh_push(r, &all, &n, &capacity, sizeof *all)) != NULL;
    if (ok) *slot = op->results[i];
  }
  while (ok && nxh_eat(r, ",")) {
    nxh_type type;
    ok = nxh_read_type(r, &type) && (slot = nxh_push(r, &all, &n, &capacity, sizeof *all)) != NULL;
    if (ok) *slot = type;
  }
  op->n_results = n;
  ok = nxh_settle(r, all, n, sizeof *all, &op->results) && ok;
  /* Two operand types, an arrow, and the results. */
  if (ok && nxh_eat(r, "->")) return read_result_types(r, op);
  return ok;
}

bool nxh_read_properties(nxh_reader *r, nxh_attr_list *list) {
  nxh_attr value;
  if (!nxh_eat(r, "<")) return true;
  if (nxh_peek(r) == '{') return nxh_read_dict(r, list) && nxh_need(r, ">");
  if (nxh_peek(r) != '#') return nxh_expected(r, "expected <{ .. }>");
  if (!nxh_read_attr(r, &value)) return false;
  if (value.kind != NXH_DICT) return nxh_expected(r, "properties that are no dictionary");
  for (uint32_t i = 0; i < value.dict.n; i++)
    if (!nxh_add_attr(r, list, value.dict.items[i].name, &value.dict.items[i].value)) return false;
  return nxh_need(r, ">");
}

bool nxh_read_general(nxh_reader *r, nxh_draft *op) {
  if (!nxh_need(r, "(")) return false;
  while (!nxh_eat(r, ")"))
    if ((op->n_operands > 0 && !nxh_need(r, ",")) || !nxh_read_operand(r, op)) return false;
  if (nxh_peek(r) == '[') return nxh_expected(r, "branches between blocks are not supported");
  if (!nxh_read_properties(r, &op->attrs)) return false;
  if (nxh_eat(r, "(")) {
    do {
      if (!nxh_read_region(r, op, NULL, NULL, 0)) return false;
    } while (nxh_eat(r, ","));
    if (!nxh_need(r, ")")) return false;
  }
  return nxh_read_dict(r, &op->attrs) && nxh_read_op_type(r, op);
}

/* ---- operations in a block */

typedef struct result_names {
  nxh_word name[MOST_NAMES];
  uint32_t n[MOST_NAMES], count, total;
} result_names;

/* %a, %b:2 = */
static bool read_result_names(nxh_reader *r, result_names *out) {
  out->count = out->total = 0;
  if (nxh_peek(r) != '%') return true;
  do {
    int64_t n = 1;
    if (out->count == MOST_NAMES)
      return nxh_expected(r, "more than %d names of results", MOST_NAMES);
    if (!nxh_need(r, "%") || !nxh_read_name(r, &out->name[out->count])) return false;
    if (nxh_eat(r, ":") && !nxh_read_integer(r, &n)) return false;
    if (n < 1 || n > MOST_RESULTS) return nxh_expected(r, "%lld results", (long long)n);
    out->n[out->count++] = (uint32_t)n;
    out->total += (uint32_t)n;
  } while (nxh_eat(r, ","));
  return nxh_need(r, "=");
}

static bool bind_results(nxh_reader *r, const result_names *names, nxh_value first) {
  for (uint32_t i = 0; i < names->count; first += names->n[i++])
    if (!nxh_bind(r, names->name[i], first, names->n[i])) return false;
  return true;
}

static bool read_op(nxh_reader *r, nxh_op *out) {
  result_names names;
  nxh_draft op = {0};
  if (!read_result_names(r, &names)) return false;
  char c = nxh_peek(r);
  if (c == '^') return nxh_expected(r, "branches between blocks are not supported");
  op.wanted = names.total;
  op.line = r->line;
  op.column = (uint32_t)(r->at - r->line_start) + 1;
  bool ok =
      c == '"' ? nxh_read_string(r, &op.name) && nxh_read_general(r, &op) : nxh_read_form(r, &op);
  ok = ok && nxh_skip_location(r);
  if (!ok) {
    nxh_drop_draft(&op);
    return false;
  }
  return finish(r, &op, out) && bind_results(r, &names, out->first_result);
}

bool nxh_read_block(nxh_reader *r, nxh_region *out) {
  nxh_op *ops = NULL, *slot;
  uint32_t n = 0, capacity = 0;
  bool ok = true;
  while (ok && !nxh_eat(r, "}")) {
    nxh_op op;
    ok = read_op(r, &op) && (slot = nxh_push(r, &ops, &n, &capacity, sizeof *ops)) != NULL;
    if (ok) *slot = op;
  }
  out->n_ops = n;
  return nxh_settle(r, ops, n, sizeof *ops, &out->ops) && ok;
}

/* ---- regions */

bool nxh_add_argument(nxh_reader *r, nxh_region *region, nxh_word name, const nxh_type *type) {
  nxh_value v = nxh_add_value(r->m, type);
  if (v == NXH_NONE) return nxh_no_memory(r);
  region->n_args++;
  return nxh_bind(r, name, v, 1);
}

/* ^bb0(%a: tensor<f32>, ..): or nothing */
static bool read_block_head(nxh_reader *r, nxh_region *region) {
  nxh_word name;
  nxh_type type;
  if (!nxh_eat(r, "^")) return true;
  if (!nxh_read_name(r, &name)) return false;
  if (nxh_eat(r, "(")) {
    while (!nxh_eat(r, ")")) {
      if (region->n_args > 0 && !nxh_need(r, ",")) return false;
      if (!nxh_need(r, "%") || !nxh_read_name(r, &name) || !nxh_need(r, ":") ||
          !nxh_read_type(r, &type) || !nxh_skip_location(r) ||
          !nxh_add_argument(r, region, name, &type))
        return false;
    }
  }
  return nxh_need(r, ":");
}

bool nxh_read_region(nxh_reader *r, nxh_draft *op, const nxh_word *names, const nxh_type *types,
                     uint32_t n) {
  uint32_t visible = r->n_bindings;
  nxh_region region = {.first = r->m->n_values};
  if (!nxh_enter(r)) return false;
  bool ok = nxh_need(r, "{");
  for (uint32_t i = 0; ok && i < n; i++) ok = nxh_add_argument(r, &region, names[i], &types[i]);
  ok = ok && (n > 0 || read_block_head(r, &region)) && nxh_read_block(r, &region);
  nxh_leave(r);
  nxh_unbind(r, visible);
  nxh_region *slot =
      ok ? nxh_push(r, &op->regions, &op->n_regions, &op->cap_regions, sizeof *slot) : NULL;
  if (slot != NULL) *slot = region;
  return slot != NULL;
}
