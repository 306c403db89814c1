/* SPDX-License-Identifier: ISC */
/* Attributes in the text form. Attributes of dialects that have fields, such as
 * #stablehlo.gather<offset_dims = [1], ..>, become dictionaries; those that wrap a word, such as
 * #stablehlo<precision HIGH>, become that word. Of other dialects nothing is read. */
#include <string.h>

#include "text.h"

bool nxh_add_attr(nxh_reader *r, nxh_attr_list *list, nxh_word name, const nxh_attr *value) {
  nxh_named *slot = nxh_push(r, &list->items, &list->n, &list->capacity, sizeof *slot);
  if (slot != NULL) *slot = (nxh_named){name, *value};
  return slot != NULL;
}

bool nxh_take_dict(nxh_reader *r, nxh_attr_list *list, nxh_attr *out) {
  *out = (nxh_attr){.kind = NXH_DICT};
  out->dict.n = list->n;
  bool ok = nxh_settle(r, list->items, list->n, sizeof *list->items, &out->dict.items);
  *list = (nxh_attr_list){0};
  return ok;
}

static bool read_field(nxh_reader *r, nxh_attr_list *list) {
  nxh_word name;
  nxh_attr value = {.kind = NXH_UNIT};
  if (nxh_peek(r) == '"' ? !nxh_read_string(r, &name) : !nxh_read_word(r, &name)) return false;
  if (nxh_eat(r, "=") && !nxh_read_attr(r, &value)) return false;
  return nxh_add_attr(r, list, name, &value);
}

bool nxh_read_fields(nxh_reader *r, const char *close, nxh_attr_list *list) {
  bool first = true;
  while (!nxh_eat(r, close)) {
    if (!first && !nxh_need(r, ",")) return false;
    if (!read_field(r, list)) return false;
    first = false;
  }
  return true;
}

bool nxh_read_dict(nxh_reader *r, nxh_attr_list *list) {
  if (!nxh_eat(r, "{")) return true;
  if (!nxh_enter(r)) return false;
  bool ok = nxh_read_fields(r, "}", list);
  nxh_leave(r);
  return ok;
}

/* ---- lists */

static bool read_list(nxh_reader *r, const char *close, nxh_attr *out) {
  nxh_attr *items = NULL, *slot;
  uint32_t n = 0, capacity = 0;
  bool ok = true;
  while (ok && !nxh_eat(r, close)) {
    nxh_attr item;
    ok = (n == 0 || nxh_need(r, ",")) && nxh_read_attr(r, &item) &&
         (slot = nxh_push(r, &items, &n, &capacity, sizeof *items)) != NULL;
    if (ok) *slot = item;
  }
  *out = (nxh_attr){.kind = NXH_LIST};
  out->list.n = n;
  return nxh_settle(r, items, n, sizeof *items, &out->list.items) && ok;
}

/* array<i64: 1, 2> or array<i64>: read as a list, since nobody asks for the width. */
static bool read_array(nxh_reader *r, nxh_attr *out) {
  nxh_type type;
  if (!nxh_need(r, "<") || !nxh_read_type(r, &type)) return false;
  if (nxh_eat(r, ":")) return read_list(r, ">", out);
  *out = (nxh_attr){.kind = NXH_LIST};
  return nxh_need(r, ">");
}

/* ---- dense<..> */

/* The elements are read behind their type, which stands after them. */
static bool read_dense(nxh_reader *r, nxh_attr *out) {
  nxh_type type;
  if (nxh_peek(r) != '<') return nxh_expected(r, "expected <");
  nxh_reader inside = *r;
  inside.at++;
  if (!nxh_skip_brackets(r)) return false;
  const char *end = r->at - 1;
  if (!nxh_need(r, ":") || !nxh_read_type(r, &type)) return false;
  inside.bindings = r->bindings;
  return nxh_read_elements(&inside, inside.at, end, &type, out);
}

/* ---- attributes of dialects */

static bool skip_rest(nxh_reader *r, const char *from, nxh_attr *out) {
  if (nxh_peek(r) == '<' && !nxh_skip_brackets(r)) return false;
  *out = (nxh_attr){.kind = NXH_OPAQUE};
  out->word = (nxh_word){from, (uint32_t)(r->at - from)};
  return true;
}

/* #dialect<kind WORD> */
static bool read_wrapped(nxh_reader *r, const char *from, nxh_attr *out) {
  nxh_reader start = *r;
  nxh_word kind, word;
  nxh_attr_list fields = {0};
  if (!nxh_need(r, "<") || !nxh_read_word(r, &kind)) return false;
  if (nxh_eat(r, "<")) { /* #dialect<kind<field = .., ..>> */
    bool ok = nxh_read_fields(r, ">", &fields);
    return nxh_take_dict(r, &fields, out) && ok && nxh_need(r, ">");
  }
  if (nxh_at_word(r) && nxh_read_word(r, &word) && nxh_eat(r, ">")) {
    *out = (nxh_attr){.kind = NXH_NAME};
    out->word = word;
    return true;
  }
  *r = start;
  return skip_rest(r, from, out);
}

static bool has_fields(nxh_word name) {
  static const char *const names[] = {
      "stablehlo.gather",          "stablehlo.scatter",       "stablehlo.dot",
      "stablehlo.channel_handle",  "stablehlo.dot_algorithm", "stablehlo.output_operand_alias",
      "stablehlo.result_accuracy", "chlo.ragged_dot",
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (nxh_word_is(name, names[i])) return true;
  return false;
}

/* #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]> */
static bool read_conv(nxh_reader *r, nxh_attr *out) {
  nxh_draft fields = {0};
  bool ok = nxh_need(r, "<") && nxh_read_conv_axes(r, &fields) && nxh_need(r, ">");
  return nxh_take_dict(r, &fields.attrs, out) && ok;
}

static bool read_dialect(nxh_reader *r, nxh_attr *out) {
  const char *from = r->at;
  nxh_word name;
  nxh_attr_list fields = {0};
  const nxh_alias *alias = nxh_eat_alias(r);
  if (alias != NULL) return *out = alias->value, true;
  r->at++;
  if (!nxh_read_word(r, &name)) return false;
  if (nxh_word_is(name, "stablehlo.conv")) return read_conv(r, out);
  if (nxh_word_is(name, "stablehlo") || nxh_word_is(name, "chlo"))
    return nxh_peek(r) == '<' ? read_wrapped(r, from, out) : skip_rest(r, from, out);
  if (!has_fields(name)) return skip_rest(r, from, out);
  bool ok = nxh_need(r, "<") && nxh_read_fields(r, ">", &fields);
  return nxh_take_dict(r, &fields, out) && ok;
}

/* ---- numbers and words */

static bool read_number(nxh_reader *r, nxh_attr *out) {
  const char *from = r->at, *scan = from;
  bool real = false, hex = scan[0] == '0' && r->end - scan > 1 && scan[1] == 'x';
  for (; scan < r->end && !hex; scan++) {
    if (*scan == '.' || *scan == 'e' || *scan == 'E') real = true;
    else if (!(*scan == '-' || *scan == '+' || (*scan >= '0' && *scan <= '9'))) break;
  }
  *out = (nxh_attr){.kind = real ? NXH_FLOAT : NXH_INT};
  nxh_type type = {.kind = NXH_TENSOR, .dtype = NX_F64};
  if (real || hex) {
    nxh_attr element;
    nxh_reader inside = *r;
    while (scan < r->end &&
           (hex && ((*scan >= '0' && *scan <= '9') || *scan == 'x' ||
                    (*scan >= 'a' && *scan <= 'f') || (*scan >= 'A' && *scan <= 'F'))))
      scan++;
    r->at = scan;
    if (nxh_eat(r, ":") && !nxh_read_type(r, &type)) return false;
    type.kind = NXH_TENSOR;
    type.rank = 0;
    if (!nxh_read_elements(&inside, from, scan, &type, &element)) return false;
    *out = element;
    return true;
  }
  if (!nxh_read_integer(r, &out->integer)) return false;
  return !nxh_eat(r, ":") || nxh_read_type(r, &type);
}

bool nxh_read_type_attr(nxh_reader *r, nxh_attr *out) {
  nxh_type type;
  *out = (nxh_attr){.kind = NXH_TYPE};
  if (!nxh_read_type(r, &type)) return false;
  out->type = nxi_arena_copy(&r->m->arena, &type, sizeof type);
  return out->type != NULL || nxh_no_memory(r);
}

static bool word_attr(nxh_reader *r, nxh_attr *out) {
  nxh_word w;
  nx_dtype dtype;
  bool index;
  const char *from = r->at;
  *out = (nxh_attr){.kind = NXH_BOOL};
  if (nxh_eat(r, "true")) return out->integer = 1, true;
  if (nxh_eat(r, "false")) return true;
  if (nxh_eat(r, "unit")) return out->kind = NXH_UNIT, true;
  if (nxh_eat(r, "dense")) return read_dense(r, out);
  if (nxh_eat(r, "array")) return read_array(r, out);
  if (nxh_eat(r, "loc") || nxh_eat(r, "affine_map"))
    return skip_rest(r, from, out) && nxh_peek(r) != '(' ? true : nxh_skip_brackets(r);
  if (nxh_eat(r, "dense_resource")) return nxh_read_elsewhere(r, from, out);
  if (nxh_eat(r, "sparse")) return nxh_expected(r, "sparse elements are not supported");
  if (!nxh_read_word(r, &w)) return false;
  bool is_type = nxh_word_is(w, "tensor") || nxh_word_is(w, "complex") || nxh_word_is(w, "tuple") ||
                 nxh_element_type(w, &dtype, &index);
  if (!is_type) {
    out->kind = NXH_NAME;
    out->word = w;
    return true;
  }
  r->at = from;
  return nxh_read_type_attr(r, out);
}

static bool read_symbol(nxh_reader *r, nxh_attr *out) {
  r->at++;
  *out = (nxh_attr){.kind = NXH_SYMBOL};
  nxh_word ignored;
  if (!nxh_read_name(r, &out->word)) return false;
  while (nxh_eat(r, "::@"))
    if (!nxh_read_name(r, &ignored)) return false;
  return true;
}

static bool read_one(nxh_reader *r, nxh_attr *out) {
  nxh_attr_list fields = {0};
  nxh_type type;
  char c = nxh_peek(r);
  if (c == '"') {
    *out = (nxh_attr){.kind = NXH_STRING};
    return nxh_read_string(r, &out->word) && (!nxh_eat(r, ":") || nxh_read_type(r, &type));
  }
  if (c == '[') return r->at++, read_list(r, "]", out);
  if (c == '{') {
    bool ok = nxh_read_dict(r, &fields);
    return nxh_take_dict(r, &fields, out) && ok;
  }
  if (c == '<') { /* fields of an attribute whose name the operation's form leaves out */
    bool ok = nxh_need(r, "<") && nxh_read_fields(r, ">", &fields);
    return nxh_take_dict(r, &fields, out) && ok;
  }
  if (c == '@') return read_symbol(r, out);
  if (c == '#') return read_dialect(r, out);
  if (c == '-' || (c >= '0' && c <= '9')) return read_number(r, out);
  if (c == '!' || c == '(') return nxh_read_type_attr(r, out);
  if (nxh_at_word(r)) return word_attr(r, out);
  return nxh_expected(r, "expected an attribute");
}

bool nxh_read_attr(nxh_reader *r, nxh_attr *out) {
  if (!nxh_enter(r)) return false;
  bool ok = read_one(r, out);
  nxh_leave(r);
  return ok;
}
