/* SPDX-License-Identifier: ISC */
/* Operations in general form, regions, functions and the module of a text. */
#include "text_names.h"

#include <string.h>

enum { MOST_RESULTS = 65536, MOST_NAMES = 64 };

/* ---- drafts */

static void drop_draft(nxh_draft *op) {
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

/* "dialect.name"(%a, %b) <{..}> ({..}, {..}) {..} : (..) -> (..) */
static bool read_general(nxh_reader *r, nxh_draft *op) {
  if (!nxh_read_string(r, &op->name) || !nxh_need(r, "(")) return false;
  while (!nxh_eat(r, ")"))
    if ((op->n_operands > 0 && !nxh_need(r, ",")) || !nxh_read_operand(r, op)) return false;
  if (nxh_eat(r, "<") && (nxh_peek(r) != '{' || !nxh_read_dict(r, &op->attrs) || !nxh_need(r, ">")))
    return nxh_expected(r, "expected <{ .. }>");
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
  op.wanted = names.total;
  op.line = r->line;
  op.column = (uint32_t)(r->at - r->line_start) + 1;
  bool ok = c == '"' ? read_general(r, &op) : nxh_read_form(r, &op);
  ok = ok && nxh_skip_location(r);
  if (!ok) {
    drop_draft(&op);
    return false;
  }
  return finish(r, &op, out) && bind_results(r, &names, out->first_result);
}

/* Operations up to the closing brace, which is skipped. */
static bool read_block(nxh_reader *r, nxh_region *out) {
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

static bool add_argument(nxh_reader *r, nxh_region *region, nxh_word name, const nxh_type *type) {
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
          !add_argument(r, region, name, &type))
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
  for (uint32_t i = 0; ok && i < n; i++) ok = add_argument(r, &region, names[i], &types[i]);
  ok = ok && (n > 0 || read_block_head(r, &region)) && read_block(r, &region);
  nxh_leave(r);
  nxh_unbind(r, visible);
  nxh_region *slot =
      ok ? nxh_push(r, &op->regions, &op->n_regions, &op->cap_regions, sizeof *slot) : NULL;
  if (slot != NULL) *slot = region;
  return slot != NULL;
}

/* ---- functions */

typedef struct attr_array {
  nxh_attr *items;
  uint32_t n, capacity;
} attr_array;

static bool read_port_attrs(nxh_reader *r, attr_array *attrs) {
  nxh_attr_list list = {0};
  nxh_attr *slot = nxh_push(r, &attrs->items, &attrs->n, &attrs->capacity, sizeof *slot), dict;
  if (slot == NULL) return false;
  *slot = (nxh_attr){.kind = NXH_UNIT};
  if (nxh_peek(r) != '{') return true;
  bool ok = nxh_read_dict(r, &list);
  ok = nxh_take_dict(r, &list, &dict) && ok;
  attrs->items[attrs->n - 1] = dict;
  return ok;
}

static bool read_arguments(nxh_reader *r, nxh_function *f, attr_array *attrs) {
  nxh_word name;
  nxh_type type;
  if (!nxh_need(r, "(")) return false;
  while (!nxh_eat(r, ")")) {
    if (f->body.n_args > 0 && !nxh_need(r, ",")) return false;
    if (!nxh_need(r, "%") || !nxh_read_name(r, &name) || !nxh_need(r, ":") ||
        !nxh_read_type(r, &type) || !read_port_attrs(r, attrs) || !nxh_skip_location(r) ||
        !add_argument(r, &f->body, name, &type))
      return false;
  }
  return true;
}

static bool read_results(nxh_reader *r, nxh_function *f, attr_array *attrs) {
  nxh_type *types = NULL, *slot, type;
  uint32_t n = 0, capacity = 0;
  bool ok = true;
  if (!nxh_eat(r, "->")) return true;
  bool brackets = nxh_eat(r, "(");
  if (!brackets || !nxh_eat(r, ")")) do {
      ok = nxh_read_type(r, &type) &&
           (slot = nxh_push(r, &types, &n, &capacity, sizeof *types)) != NULL;
      if (ok) *slot = type;
      if (ok && brackets) ok = read_port_attrs(r, attrs);
    } while (ok && brackets && (nxh_eat(r, ",") || (ok = nxh_need(r, ")"), false)));
  f->n_results = n;
  return nxh_settle(r, types, n, sizeof *types, &f->results) && ok;
}

static bool read_head(nxh_reader *r, nxh_function *f) {
  attr_array in = {0}, out = {0};
  nxh_attr_list ignored = {0};
  f->is_private = nxh_eat(r, "private");
  (void)(nxh_eat(r, "public") || nxh_eat(r, "nested"));
  bool ok = nxh_need(r, "@") && nxh_read_name(r, &f->name) && read_arguments(r, f, &in) &&
            read_results(r, f, &out);
  if (ok && nxh_eat(r, "attributes")) ok = nxh_read_dict(r, &ignored);
  nxi_free(ignored.items);
  ok = nxh_settle(r, in.items, in.n, sizeof *in.items, &f->arg_attrs) && ok;
  return nxh_settle(r, out.items, out.n, sizeof *out.items, &f->result_attrs) && ok;
}

static bool read_function(nxh_reader *r) {
  nxh_function f = {.body.first = r->m->n_values, .line = r->line};
  f.column = (uint32_t)(r->at - r->line_start) + 1;
  uint32_t visible = r->n_bindings;
  bool ok = read_head(r, &f);
  if (ok && nxh_find_function(r->m, f.name))
    ok = nxh_expected(r, "there are two functions @%.*s", (int)f.name.length, f.name.at);
  ok = ok && nxh_need(r, "{") && nxh_enter(r);
  if (ok) {
    ok = read_block(r, &f.body) && nxh_skip_location(r);
    nxh_leave(r);
  }
  nxh_unbind(r, visible);
  f.end = r->m->n_values;
  nxh_function *slot =
      ok ? nxh_push(r, &r->m->functions, &r->m->n_functions, &r->m->cap_functions, sizeof f) : NULL;
  if (slot != NULL) *slot = f;
  return slot != NULL;
}

/* ---- the module */

/* #name = attribute, or the location of something, which is skipped */
static bool read_alias(nxh_reader *r) {
  nxh_word name;
  nxh_attr value = {.kind = NXH_UNIT};
  r->at++;
  if (!nxh_read_word(r, &name) || !nxh_need(r, "=")) return false;
  if (nxh_word_next(r, "loc") ? !nxh_skip_location(r) : !nxh_read_attr(r, &value)) return false;
  nxh_named *slot = nxh_push(r, &r->aliases, &r->n_aliases, &r->cap_aliases, sizeof *slot);
  if (slot != NULL) *slot = (nxh_named){name, value};
  return slot != NULL;
}

/* A statement of a dialect that says how to place work, such as sdy.mesh: up to the end of the line
 * that closes its brackets. */
static bool skip_statement(nxh_reader *r) {
  nxh_word word;
  uint32_t line = r->line;
  if (!nxh_read_word(r, &word)) return false;
  while (nxh_peek(r) != 0 && r->line == line && *r->at != '}') {
    char c = *r->at;
    if (c == '(' || c == '[' || c == '{' || c == '<' ? !nxh_skip_brackets(r) : false) return false;
    if (c == '"' ? !nxh_read_string(r, &word) : false) return false;
    if (c != '"' && c != '(' && c != '[' && c != '{' && c != '<') r->at++;
    line = c == '(' || c == '[' || c == '{' || c == '<' ? r->line : line;
  }
  return true;
}

static bool read_module_head(nxh_reader *r) {
  nxh_attr_list attrs = {0};
  if (!nxh_eat(r, "module") && !nxh_eat(r, "builtin.module")) return true;
  bool ok = !nxh_eat(r, "@") || nxh_read_name(r, &r->m->name);
  if (ok && nxh_eat(r, "attributes")) ok = nxh_read_dict(r, &attrs);
  r->m->n_attrs = attrs.n;
  ok = nxh_settle(r, attrs.items, attrs.n, sizeof *attrs.items, &r->m->attrs) && ok;
  return ok && nxh_need(r, "{");
}

static bool read_module(nxh_reader *r) {
  while (nxh_peek(r) == '#')
    if (!read_alias(r)) return false;
  bool braces = nxh_word_next(r, "module") || nxh_word_next(r, "builtin.module");
  if (!read_module_head(r)) return false;
  while (nxh_peek(r) != 0 && !(braces && *r->at == '}')) {
    if (*r->at == '#'             ? !read_alias(r)
        : nxh_eat(r, "func.func") ? !read_function(r)
                                  : !skip_statement(r))
      return false;
  }
  if (braces && (!nxh_need(r, "}") || !nxh_skip_location(r))) return false;
  while (nxh_peek(r) == '#')
    if (!read_alias(r)) return false;
  return nxh_peek(r) == 0 || nxh_expected(r, "expected the end of the text");
}

nx_status nxh_read_text(const char *text, size_t size, nxh_outside *outside, size_t n,
                        nxh_module *out, nxi_diag *d) {
  *out = (nxh_module){0};
  if (size > INT32_MAX) return nxi_fail(d, NX_PARSE, "stablehlo", "a text of more than 2^31 bytes");
  nxh_reader *r = nxi_calloc(1, sizeof *r);
  if (r == NULL) return nxi_oom(d);
  *r = (nxh_reader){.text = text, .end = text + size, .at = text, .line_start = text};
  r->line = 1;
  r->m = out;
  r->d = d;
  r->outside = outside;
  r->outside_end = n > 0 ? outside + n : outside;
  bool ok = read_module(r);
  if (ok && r->outside != r->outside_end)
    ok = nxh_expected(r, "the text leaves elements out that stand elsewhere");
  if (ok && out->n_functions == 0) ok = nxh_expected(r, "the module has no function");
  nxi_free(r->bindings);
  nxi_free(r->aliases);
  nxi_free(r);
  if (!ok) nxh_module_destroy(out);
  return ok ? NX_OK : d->status;
}
