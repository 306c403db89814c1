/* SPDX-License-Identifier: ISC */
/* Functions, aliases and the module of a text: each in the form of its own or, like any operation,
 * in general form ("func.func"() <{..}> ({..}) : () -> ()). */
#include "text_names.h"

#include <string.h>

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
        !nxh_add_argument(r, &f->body, name, &type))
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

static bool add_function(nxh_reader *r, nxh_function *f) {
  if (nxh_find_function(r->m, f->name))
    return nxh_expected(r, "there are two functions @%.*s", (int)f->name.length, f->name.at);
  f->end = r->m->n_values;
  nxh_function *slot =
      nxh_push(r, &r->m->functions, &r->m->n_functions, &r->m->cap_functions, sizeof *f);
  if (slot != NULL) *slot = *f;
  return slot != NULL;
}

static nxh_function begin_function(const nxh_reader *r) {
  nxh_function f = {.body.first = r->m->n_values, .line = r->line};
  f.column = (uint32_t)(r->at - r->line_start) + 1;
  return f;
}

static bool read_function(nxh_reader *r) {
  nxh_function f = begin_function(r);
  uint32_t visible = r->n_bindings;
  bool ok = read_head(r, &f) && nxh_need(r, "{") && nxh_enter(r);
  if (ok) {
    ok = nxh_read_block(r, &f.body) && nxh_skip_location(r);
    nxh_leave(r);
  }
  nxh_unbind(r, visible);
  return ok && add_function(r, &f);
}

/* ---- functions in general form */

/* The types of what goes in and comes out, which its attribute says; the arguments have the
 * former. */
static bool take_function_type(nxh_reader *r, const nxh_attr *type, nxh_function *f) {
  const nxh_type *in;
  uint32_t n;
  if (type == NULL || type->kind != NXH_TYPE || type->type->kind != NXH_OTHER ||
      type->type->text.at[0] != '(')
    return nxh_expected(r, "the function has no function_type");
  nxh_reader inside = *r;
  inside.at = type->type->text.at;
  if (!nxh_read_function_type(&inside, &in, &n, &f->results, &f->n_results)) return false;
  bool same = n == f->body.n_args;
  for (uint32_t i = 0; same && i < n; i++)
    same = nxh_types_equal(&in[i], nxh_type_of(r->m, f->body.first + i));
  return same || nxh_expected(r, "arguments of other types than function_type says");
}

/* Attributes of n arguments or results. */
static bool take_port_attrs(nxh_reader *r, const nxh_attr *list, uint32_t n, const nxh_attr **out) {
  if (list == NULL) return true;
  if (list->kind != NXH_LIST || list->list.n != n)
    return nxh_expected(r, "attributes of %u arguments or results, of which there are %u",
                        list->kind == NXH_LIST ? list->list.n : 0, n);
  *out = list->list.items;
  return true;
}

static bool take_function(nxh_reader *r, const nxh_draft *op, nxh_function *f) {
  const nxh_named *attrs = op->attrs.items;
  uint32_t n = op->attrs.n;
  const nxh_attr *name = nxh_find(attrs, n, "sym_name");
  const nxh_attr *visibility = nxh_find(attrs, n, "sym_visibility");
  if (name == NULL || name->kind != NXH_STRING)
    return nxh_expected(r, "the function has no sym_name");
  if (op->n_regions != 1 || op->regions[0].n_ops == 0)
    return nxh_expected(r, "the function has no body");
  f->name = name->word;
  f->body = op->regions[0];
  f->is_private = visibility != NULL && visibility->kind == NXH_STRING &&
                  nxh_word_is(visibility->word, "private");
  return take_function_type(r, nxh_find(attrs, n, "function_type"), f) &&
         take_port_attrs(r, nxh_find(attrs, n, "arg_attrs"), f->body.n_args, &f->arg_attrs) &&
         take_port_attrs(r, nxh_find(attrs, n, "res_attrs"), f->n_results, &f->result_attrs) &&
         add_function(r, f);
}

static bool read_general_function(nxh_reader *r, nxh_function *f) {
  nxh_draft op = {.name = nxh_word_of("func.func")};
  bool ok = nxh_read_general(r, &op) && nxh_skip_location(r) && take_function(r, &op, f);
  nxh_drop_draft(&op);
  return ok;
}

/* ---- aliases and other statements */

/* Whether an alias is named as those of locations are: #loc, #loc1, .. */
static bool names_location(nxh_word name) {
  if (name.length < 4 || memcmp(name.at, "#loc", 4) != 0) return false;
  for (uint32_t i = 4; i < name.length; i++)
    if (name.at[i] < '0' || name.at[i] > '9') return false;
  return true;
}

/* Locations are skipped; of those printed for readers only the alias's name says what they are. */
static bool is_location(nxh_reader *r, nxh_word name) {
  return nxh_word_next(r, "loc") || (names_location(name) && !nxh_at_word(r));
}

static bool read_alias_value(nxh_reader *r, nxh_alias *alias) {
  const char *from = (nxh_peek(r), r->at);
  bool type = alias->name.at[0] == '!';
  if (!(type ? nxh_read_type_attr(r, &alias->value) : nxh_read_attr(r, &alias->value)))
    return false;
  alias->text = (nxh_word){from, (uint32_t)(r->at - from)};
  nxh_alias *slot = nxh_push(r, &r->aliases, &r->n_aliases, &r->cap_aliases, sizeof *slot);
  if (slot != NULL) *slot = *alias;
  return slot != NULL;
}

/* #name = attribute, or !name = type */
static bool read_alias(nxh_reader *r) {
  nxh_alias alias = {0};
  const char *from = r->at++;
  if (r->at < r->end && *r->at == '"') return nxh_expected(r, "expected the name of an alias");
  if (!nxh_read_name(r, &alias.name)) return false;
  alias.name = (nxh_word){from, (uint32_t)(r->at - from)};
  if (!nxh_need(r, "=")) return false;
  if (*from != '#' || !is_location(r, alias.name)) return read_alias_value(r, &alias);
  return nxh_word_next(r, "loc") ? nxh_skip_location(r) : nxh_skip_printed_location(r);
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

/* The same in general form. */
static bool skip_general(nxh_reader *r) {
  const nxh_type *ignored;
  uint32_t n;
  if (nxh_peek(r) != '(') return nxh_expected(r, "expected (");
  if (!nxh_skip_brackets(r)) return false;
  for (char c; (c = nxh_peek(r)) == '<' || c == '(' || c == '{';)
    if (!nxh_skip_brackets(r)) return false;
  return nxh_need(r, ":") && nxh_read_function_type(r, &ignored, &n, &ignored, &n) &&
         nxh_skip_location(r);
}

static bool read_statement(nxh_reader *r) {
  char c = nxh_peek(r);
  nxh_word name;
  if (c == '#' || c == '!') return read_alias(r);
  if (c != '"') return nxh_eat(r, "func.func") ? read_function(r) : skip_statement(r);
  nxh_function f = begin_function(r);
  if (!nxh_read_string(r, &name)) return false;
  return nxh_word_is(name, "func.func") ? read_general_function(r, &f) : skip_general(r);
}

/* ---- the module */

static bool take_module_attrs(nxh_reader *r, nxh_attr_list *attrs) {
  r->m->n_attrs = attrs->n;
  return nxh_settle(r, attrs->items, attrs->n, sizeof *attrs->items, &r->m->attrs);
}

/* module @name attributes {..} {..}, behind the first word */
static bool read_own_module(nxh_reader *r) {
  nxh_attr_list attrs = {0};
  bool ok = !nxh_eat(r, "@") || nxh_read_name(r, &r->m->name);
  if (ok && nxh_eat(r, "attributes")) ok = nxh_read_dict(r, &attrs);
  ok = take_module_attrs(r, &attrs) && ok && nxh_need(r, "{");
  while (ok && !nxh_eat(r, "}")) ok = read_statement(r);
  return ok && nxh_skip_location(r);
}

static bool read_general_body(nxh_reader *r) {
  nxh_word ignored;
  if (!nxh_need(r, "(") || !nxh_need(r, "{")) return false;
  if (nxh_eat(r, "^") && (!nxh_read_name(r, &ignored) || !nxh_need(r, ":"))) return false;
  while (!nxh_eat(r, "}"))
    if (!read_statement(r)) return false;
  return nxh_need(r, ")");
}

/* () <{..}> ({..}) {..} : () -> (), behind "builtin.module" */
static bool read_general_module(nxh_reader *r) {
  nxh_attr_list attrs = {0};
  bool ok = nxh_need(r, "(") && nxh_need(r, ")") && nxh_read_properties(r, &attrs) &&
            read_general_body(r) && nxh_read_dict(r, &attrs);
  const nxh_attr *name = nxh_find(attrs.items, attrs.n, "sym_name");
  if (name != NULL && name->kind == NXH_STRING) r->m->name = name->word;
  return take_module_attrs(r, &attrs) && ok && nxh_need(r, ":") && nxh_need(r, "(") &&
         nxh_need(r, ")") && nxh_need(r, "->") && nxh_need(r, "(") && nxh_need(r, ")") &&
         nxh_skip_location(r);
}

/* What may stand before and behind the module: aliases and resources. */
static bool read_around(nxh_reader *r) {
  for (char c; (c = nxh_peek(r)) == '#' || c == '!' || nxh_at_section(r);)
    if (!(c == '{' ? nxh_read_section(r) : read_alias(r))) return false;
  return true;
}

/* One module, or what one would hold. */
static bool read_module(nxh_reader *r) {
  bool ok = read_around(r);
  if (!ok) return false;
  if (nxh_eat(r, "module") || nxh_eat(r, "builtin.module")) ok = read_own_module(r);
  else if (nxh_eat(r, "\"builtin.module\"")) ok = read_general_module(r);
  else
    while (ok && nxh_peek(r) != 0) ok = nxh_at_section(r) ? nxh_read_section(r) : read_statement(r);
  return ok && read_around(r) &&
         (nxh_peek(r) == 0 || nxh_expected(r, "expected the end of the text"));
}

nx_status nxh_read_text(const char *text, size_t size, nxh_outside *outside, size_t n,
                        nxh_module *out, nxi_diag *d) {
  *out = (nxh_module){0};
  if (size > INT32_MAX) return nxi_fail(d, NX_PARSE, "stablehlo", "a text of more than 2^31 bytes");
  nxh_resources resources = {0};
  nxh_reader *r = nxi_calloc(1, sizeof *r);
  if (r == NULL) return nxi_oom(d);
  *r = (nxh_reader){.text = text, .end = text + size, .at = text, .line_start = text};
  r->line = 1;
  r->m = out;
  r->d = d;
  r->outside = outside;
  r->outside_end = n > 0 ? outside + n : outside;
  r->resources = &resources;
  bool ok = read_module(r);
  if (ok && r->outside != r->outside_end)
    ok = nxh_expected(r, "the text leaves elements out that stand elsewhere");
  if (ok && out->n_functions == 0) ok = nxh_expected(r, "the module has no function");
  nxh_drop_resources(&resources);
  nxi_free(r->bindings);
  nxi_free(r->aliases);
  nxi_free(r);
  if (!ok) nxh_module_destroy(out);
  return ok ? NX_OK : d->status;
}
