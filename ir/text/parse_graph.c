/* SPDX-License-Identifier: ISC */
/* Parses the text of a graph: characters, names, and the parts of statements. The text may be
 * hostile: every read is bounded by its end, every list by the highest rank, and the memory that is
 * allocated by a fixed multiple of the text that was read. There is one pass and no recursion;
 * names are looked up in a hash table. */
#include "parse_graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- failures */

nx_status nxg_parse_locate(nxg_parser *p, const char *at, nx_status status) {
  if (p->d->line) return status;
  int32_t line = 1;
  const char *start = p->text;
  for (const char *c = p->text; c < at; c++)
    if (*c == '\n') {
      line += line < INT32_MAX;
      start = c + 1;
    }
  p->d->line = line;
  p->d->column = at - start < INT32_MAX ? (int32_t)(at - start) + 1 : INT32_MAX;
  return status;
}

nx_status nxg_parse_fail(nxg_parser *p, const char *at, nx_status status, const char *format, ...) {
  char message[sizeof p->d->message];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  nxi_fail(p->d, status, "parse", "%s%s", message, nxg_hint_remark(at, p->end));
  return nxg_parse_locate(p, at, status);
}

#define MALFORMED(p, at, ...) nxg_parse_fail(p, at, NX_PARSE, __VA_ARGS__)

static nx_status out_of_memory(nxg_parser *p) { return nxg_parse_locate(p, p->at, nxi_oom(p->d)); }

/* ---- characters. A newline (or the graph's end) ends a statement; `;` starts a comment. */

static bool more(const nxg_parser *p) { return p->at < p->end; }

static void skip_blanks(nxg_parser *p) {
  while (more(p) && (*p->at == ' ' || *p->at == '\t' || *p->at == '\r')) p->at++;
  if (more(p) && *p->at == ';')
    while (more(p) && *p->at != '\n') p->at++;
}

static void skip_lines(nxg_parser *p) {
  for (skip_blanks(p); more(p) && *p->at == '\n'; skip_blanks(p)) p->at++;
}

static bool at_char(nxg_parser *p, char c) {
  skip_blanks(p);
  return more(p) && *p->at == c;
}

static bool take(nxg_parser *p, char c) {
  if (!at_char(p, c)) return false;
  p->at++;
  return true;
}

static nx_status expect(nxg_parser *p, char c, const char *where) {
  return take(p, c) ? NX_OK : MALFORMED(p, p->at, "'%c' is missing %s", c, where);
}

/* Letters, digits, _ and . from here. */
static uint32_t take_word(nxg_parser *p, const char **word) {
  skip_blanks(p);
  *word = p->at;
  while (more(p) && nxg_is_name_char(*p->at) && p->at - *word < 1 << 20) p->at++;
  return (uint32_t)(p->at - *word);
}

static bool word_is(const char *word, uint32_t n, const char *wanted) {
  return strlen(wanted) == n && !memcmp(word, wanted, n);
}

static int shown(uint32_t n) {
  return n > 40 ? 40 : (int)n;
} /* the part of a word that a message quotes */

/* Reads the name after a % or @. */
static nx_status take_name(nxg_parser *p, const char **name, uint32_t *n) {
  *name = p->at;
  if (more(p) && *p->at != ' ' && *p->at != '\t') *n = take_word(p, name);
  else *n = 0;
  if (*n == 0) return MALFORMED(p, *name, "a name is missing here");
  if (*n > NXG_NAME_MOST)
    return MALFORMED(p, *name, "the name %.*s... is longer than %d characters", shown(*n), *name,
                     NXG_NAME_MOST);
  return NX_OK;
}

/* Reads a scalar: the characters of a word, signs, and the colon of nan:0x7fc00001. */
static uint32_t take_scalar(nxg_parser *p, const char **scalar) {
  skip_blanks(p);
  *scalar = p->at;
  for (; more(p) && p->at - *scalar < 1 << 20; p->at++) {
    bool bits = *p->at == ':' && p->at - *scalar >= 3 && !memcmp(p->at - 3, "nan", 3) &&
                p->end - p->at > 1 && p->at[1] == '0';
    if (!nxg_is_name_char(*p->at) && *p->at != '+' && *p->at != '-' && !bits) break;
  }
  return (uint32_t)(p->at - *scalar);
}

static nx_status take_integer(nxg_parser *p, int64_t *value) {
  const char *word;
  uint32_t n = take_scalar(p, &word);
  if (n && nxi_parse_int(word, n, INT64_MIN, INT64_MAX, value)) return NX_OK;
  return MALFORMED(p, word, "%.*s is no integer of 64 bits", n ? shown(n) : 4, n ? word : "this");
}

/* Reads a list like [1,2,3] of at most NXG_MAX_RANK numbers. */
static nx_status take_list(nxg_parser *p, int64_t *list, int32_t *count) {
  nx_status status = expect(p, '[', "before a list");
  int32_t n = 0;
  if (!status && take(p, ']')) {
    *count = 0;
    return NX_OK;
  }
  while (!status) {
    if (n == NXG_MAX_RANK)
      return MALFORMED(p, p->at, "the list has more than %d entries, the highest rank",
                       NXG_MAX_RANK);
    status = take_integer(p, &list[n++]);
    if (status || take(p, ']')) break;
    status = expect(p, ',', "between two entries of a list");
  }
  *count = n;
  return status;
}

/* f32[4,5] */
static nx_status take_type(nxg_parser *p, nx_dtype *dtype, int32_t *rank, int64_t *shape) {
  const char *word;
  char name[16];
  uint32_t n = take_word(p, &word);
  snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : 0, word);
  *dtype = nx_dtype_from_name(name);
  if (!*dtype) {
    char near[NXI_NEAR_TEXT];
    nxg_hint_dtype(word, n, near);
    return MALFORMED(p, word, "%.*s is no element type%s", n ? shown(n) : 4, n ? word : "this",
                     near);
  }
  return take_list(p, shape, rank);
}

/* ---- names of nodes */

static nx_status find_node(nxg_parser *p, const char *at, const char *name, uint32_t n,
                           uint32_t *node) {
  const uint32_t *found = nxg_names_find(&p->names, name, n);
  if (!found) return MALFORMED(p, at, "%%%.*s is not defined here", (int)n, name);
  *node = *found;
  return NX_OK;
}

static nx_status define_node(nxg_parser *p, const char *at, const char *name, uint32_t n,
                             uint32_t node) {
  if (nxg_names_find(&p->names, name, n))
    return MALFORMED(p, at, "%%%.*s is defined twice", (int)n, name);
  if (!nxg_names_add(&p->names, name, n, node)) return out_of_memory(p);
  nxg_node *made = &p->g->nodes[node];
  if (!made->name && !(name[0] >= '0' && name[0] <= '9')) {
    char *kept = nxi_arena_alloc(&p->g->arena, n + 1);
    if (!kept) return out_of_memory(p);
    memcpy(kept, name, n); /* the arena is zeroed, so the copy ends with a zero */
    made->name = kept;
  }
  return NX_OK;
}

/* ---- parts of a statement */

static int hex_digit(char c) {
  char low = (char)(c | 32);
  return c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* "text" with \" \\ \xNN */
static nx_status take_string(nxg_parser *p, char *text, size_t room) {
  const char *start = p->at;
  size_t n = 0;
  nx_status status = expect(p, '"', "before a text");
  if (status) return status;
  while (more(p) && *p->at != '"' && *p->at != '\n') {
    char c = *p->at++;
    if (c == '\\' && more(p)) {
      c = *p->at++;
      if (c == 'x') {
        int high = more(p) ? hex_digit(*p->at) : -1,
            low = p->end - p->at > 1 ? hex_digit(p->at[1]) : -1;
        if (high < 0 || low < 0)
          return MALFORMED(p, p->at, "two hexadecimal digits are missing after \\x");
        c = (char)(high << 4 | low);
        p->at += 2;
      }
    }
    if (!c || n + 1 >= room)
      return MALFORMED(p, start, "the text holds a zero byte or is longer than %zu bytes",
                       room - 1);
    text[n++] = c;
  }
  text[n] = 0;
  return expect(p, '"', "after a text");
}

static nx_status take_tag(nxg_parser *p) {
  const char *word;
  uint32_t n = take_scalar(p, &word);
  if (n && !nxi_parse_scalar(word, n, NX_U64, &p->s.tag)) return NX_OK;
  return MALFORMED(p, word, "the tag is no integer of 64 bits");
}

/* name=value, name=[list], or keepdims. */
static nx_status take_attribute(nxg_parser *p) {
  const char *word;
  uint32_t n = take_word(p, &word);
  if (!n)
    return MALFORMED(p, p->at,
                     "an operand, an attribute, a type or the end of the line is expected here%s",
                     at_char(p, '%') ? "; operands are separated by commas" : "");
  if (word_is(word, n, "tag")) {
    nx_status status = expect(p, '=', "after tag");
    return status ? status : take_tag(p);
  }
  if (word_is(word, n, "note")) {
    nx_status status = expect(p, '=', "after note");
    return status ? status : take_string(p, p->s.note, sizeof p->s.note);
  }
  int key = 0;
  while (key < NXG_KEYS && !word_is(word, n, nxg_key_names[key])) key++;
  if (key == NXG_KEYS) {
    char near[NXI_NEAR_TEXT];
    nxg_hint_attribute(word, n, near);
    return MALFORMED(p, word, "there is no attribute %.*s%s", shown(n), word, near);
  }
  nxg_value *v = &p->s.values[key];
  if (v->at) return MALFORMED(p, word, "the attribute %s is given twice", nxg_key_names[key]);
  v->at = word;
  v->is_list = false;
  v->length = 0;
  if (key == NXG_KEY_keepdims) return NX_OK;
  nx_status status = expect(p, '=', "after the attribute's name");
  if (status) return status;
  v->is_list = at_char(p, '[');
  if (nxg_names_bodies((nxg_key)key)) return nxg_parse_named(p, (nxg_key)key);
  if (v->is_list) return take_list(p, v->list, &v->n);
  const char *scalar;
  v->length = take_scalar(p, &scalar);
  if (!v->length) return MALFORMED(p, p->at, "the attribute %s has no value", nxg_key_names[key]);
  v->at = scalar;
  return NX_OK;
}

static nx_status take_operand(nxg_parser *p) {
  const char *at = p->at, *name;
  uint32_t n, node = 0;
  p->at++; /* the % */
  nx_status status = take_name(p, &name, &n);
  if (!status) status = find_node(p, at, name, n, &node);
  if (status) return status;
  uint32_t count = p->n_operands + 1;
  if (!nxi_grow(&p->operands, &p->cap_operands, count, sizeof *p->operands) ||
      !nxi_grow(&p->operand_at, &p->cap_operand_at, count, sizeof *p->operand_at))
    return out_of_memory(p);
  p->operands[p->n_operands] = node;
  p->operand_at[p->n_operands++] = at;
  return NX_OK;
}

/* The name after `custom`, which must be among those that the caller of the parser gave. */
static nx_status take_custom(nxg_parser *p) {
  char name[NXG_CUSTOM_NAME];
  skip_blanks(p);
  const char *at = p->at;
  nx_status status = take_string(p, name, sizeof name);
  if (status) return status;
  p->s.custom = nxg_customs_find(p->customs, name);
  if (p->s.custom) return NX_OK;
  return nxg_parse_fail(
      p, at, NX_INVALID_ARGUMENT,
      "custom: there is no operation \"%s\" among the %zu that are given with the "
      "text",
      name, p->customs ? p->customs->n : 0);
}

/* Reads the operands; after `full`, the scalar or `param N` that it has instead. */
static nx_status take_operands(nxg_parser *p, bool is_full) {
  if (is_full) {
    p->s.scalar_length = take_scalar(p, &p->s.scalar);
    if (!word_is(p->s.scalar, p->s.scalar_length, "param")) return NX_OK;
    p->s.scalar_length = 0;
    skip_blanks(p);
    const char *at = p->at;
    nx_status status = take_integer(p, &p->s.param);
    /* a number larger than the text is long would only make large tables */
    if (!status && (p->s.param < 0 || p->s.param > p->end - p->text))
      return MALFORMED(p, at, "there is no parameter %lld", (long long)p->s.param);
    if (!status && p->closed)
      return nxg_parse_fail(
          p, at, NX_INVALID_ARGUMENT,
          "full: parameter %lld has a value only inside of a run; write it in its place",
          (long long)p->s.param);
    return status;
  }
  if (!at_char(p, '%')) return NX_OK;
  for (;;) {
    nx_status status = take_operand(p);
    if (status || !take(p, ',')) return status;
    if (at_char(p, '%')) continue;
    const char *at = p->at, *scalar;
    char number[NXI_NEAR_TEXT];
    uint32_t n = take_scalar(p, &scalar);
    nxg_hint_number(scalar, n, number);
    return MALFORMED(p, at, "an operand is missing after the comma%s", number);
  }
}

static void clear_statement(nxg_statement *s) {
  s->scalar_length = 0;
  s->param = -1;
  s->annotation = NULL;
  s->tag = 0;
  s->note[0] = 0;
  for (int key = 0; key < NXG_KEYS; key++) s->values[key].at = NULL;
}

/* Reads the rest of the line after the operands. */
static nx_status take_rest(nxg_parser *p) {
  for (;;) {
    nx_status status;
    skip_blanks(p);
    if (!more(p) || *p->at == '\n' || *p->at == '}') return NX_OK;
    if (take(p, ':')) {
      if (p->s.annotation) return MALFORMED(p, p->at, "a second type is written here");
      skip_blanks(p);
      p->s.annotation = p->at;
      status = take_type(p, &p->s.dtype, &p->s.rank, p->s.shape);
    } else {
      status = take_attribute(p);
    }
    if (status) return status;
  }
}

static nx_status keep_tag(nxg_parser *p, uint32_t node) {
  nxg_node *n = &p->g->nodes[node];
  if (!n->tag) n->tag = p->s.tag; /* if a node has two names, it keeps the first tag */
  if (!p->s.note[0] || n->tag_text) return NX_OK;
  n->tag_text = nxi_arena_copy(&p->g->arena, p->s.note, strlen(p->s.note) + 1);
  return n->tag_text ? NX_OK : out_of_memory(p);
}

static nx_status check_closed(nxg_parser *p, uint32_t node) {
  const nxg_node *n = &p->g->nodes[node];
  uint32_t own = n->op == NXG_gather ? 2 : n->op == NXG_scatter ? 3 : n->n_args;
  if (p->closed && n->n_args > own)
    return nxg_parse_fail(p, p->operand_at[own], NX_INVALID_ARGUMENT,
                          "%s: operand %u has no meaning outside of a plan", nxg_ops[n->op].name,
                          own);
  if (!p->closed || n->op != NXG_update || n->n_args < 3) return NX_OK;
  return nxg_parse_fail(p, p->operand_at[2], NX_INVALID_ARGUMENT,
                        "update: a third operand has no meaning outside of a plan");
}

static nx_status take_statement(nxg_parser *p) {
  const char *at = p->at, *name;
  uint32_t n = 0, node;
  nx_status status = expect(p, '%', "before the name of a statement");
  if (!status) status = take_name(p, &name, &n);
  if (status) return status;
  if (nxg_names_find(&p->names, name, n))
    return MALFORMED(p, at, "%%%.*s is defined twice", (int)n, name);
  status = expect(p, '=', "after the name");
  if (status) return status;
  clear_statement(&p->s);
  p->n_operands = p->n_named = 0;
  p->s.word_length = take_word(p, &p->s.at);
  if (!p->s.word_length) return MALFORMED(p, p->at, "an operation is missing here");
  if (word_is(p->s.at, p->s.word_length, "custom")) status = take_custom(p);
  if (!status) status = take_operands(p, word_is(p->s.at, p->s.word_length, "full"));
  if (!status) status = take_rest(p);
  if (!status) status = nxg_build_statement(p, &node);
  if (!status) status = check_closed(p, node);
  if (!status) status = define_node(p, at, name, n, node);
  return status ? status : keep_tag(p, node);
}

/* ---- head and outputs */

/* `overwrite`, `given`, `spent`, `aligned`, `alias=3`, tag and note, in any order. */
static nx_status take_input_flags(nxg_parser *p, uint32_t *flags, int32_t *alias) {
  for (;;) {
    const char *word;
    skip_lines(p);
    const char *at = p->at;
    uint32_t n = take_word(p, &word);
    nx_status status = NX_OK;
    if (!n) return NX_OK;
    if (word_is(word, n, "overwrite")) {
      *flags |= NXG_INPUT_OVERWRITE;
    } else if (word_is(word, n, "given")) {
      *flags |= NXG_INPUT_GIVEN;
    } else if (word_is(word, n, "spent")) {
      *flags |= NXG_INPUT_SPENT;
    } else if (word_is(word, n, "aligned")) {
      *flags |= NXG_INPUT_ALIGNED;
    } else if (word_is(word, n, "alias")) {
      int64_t value = 0;
      status = expect(p, '=', "after alias");
      if (!status) status = take_integer(p, &value);
      /* plans have a table of aliases; a number larger than the text is long would make it too
       * large */
      if (!status && (value < 0 || value > p->end - p->text || value >= INT32_MAX))
        status = MALFORMED(p, at, "there is no alias %lld", (long long)value);
      *alias = (int32_t)value;
    } else if (word_is(word, n, "tag") || word_is(word, n, "note")) {
      p->at = word;
      status = take_attribute(p);
    } else {
      status = MALFORMED(p, word, "an input has no attribute %.*s", shown(n), word);
    }
    if (status) return status;
  }
}

static nx_status take_input(nxg_parser *p) {
  const char *at = p->at, *name;
  uint32_t n = 0, flags = 0;
  int32_t rank = 0, alias = -1;
  int64_t shape[NXG_MAX_RANK], number = p->g->n_inputs;
  nx_dtype dtype = 0;
  nx_status status = expect(p, '%', "before the name of an input");
  if (!status) status = take_name(p, &name, &n);
  if (!status) status = expect(p, ':', "between an input and its type");
  skip_blanks(p);
  const char *type_at = p->at;
  if (!status) status = take_type(p, &dtype, &rank, shape);
  if (status) return status;
  status = nxg_infer(NXG_input, 0, NULL, &number, 1, dtype, &dtype, &rank, shape, p->d);
  if (status) return nxg_parse_locate(p, type_at, status);
  clear_statement(&p->s);
  status = take_input_flags(p, &flags, &alias);
  if (status) return status;
  uint32_t node = nxg_add_input(p->g, dtype, rank, shape, flags, alias, NULL);
  if (node == UINT32_MAX) return out_of_memory(p);
  status = define_node(p, at, name, n, node);
  return status ? status : keep_tag(p, node);
}

static nx_status take_inputs(nxg_parser *p) {
  nx_status status = expect(p, '(', "before the inputs");
  skip_lines(p);
  if (status || take(p, ')')) return status;
  for (;;) {
    skip_lines(p);
    status = take_input(p);
    skip_lines(p);
    if (status || take(p, ')')) return status;
    status = expect(p, ',', "between two inputs");
    if (status) return status;
  }
}

/* Outputs are written before the nodes that they name. They are therefore read twice: the first
 * time they are skipped, and the second time, when all names are known, they are registered. */
static nx_status take_output(nxg_parser *p, bool defined) {
  const char *at = p->at, *name, *word;
  char label[NXG_NAME_MOST + 1];
  uint32_t n = 0, node = 0;
  nx_status status = expect(p, '%', "before the name of an output");
  if (!status) status = take_name(p, &name, &n);
  if (!status && defined) status = find_node(p, at, name, n, &node);
  if (status) return status;
  skip_lines(p);
  const char *back = p->at;
  uint32_t length = take_word(p, &word);
  if (word_is(word, length, "as")) {
    skip_blanks(p);
    status = take_name(p, &name, &n);
    if (status) return status;
  } else {
    p->at = back;
  }
  if (!defined) return NX_OK;
  snprintf(label, sizeof label, "%.*s", (int)n, name);
  nxg_add_output(p->g, node, label);
  return p->g->failed ? out_of_memory(p) : NX_OK;
}

static nx_status take_outputs(nxg_parser *p, bool defined) {
  nx_status status = expect(p, '(', "before the outputs");
  skip_lines(p);
  if (status || take(p, ')')) return status;
  for (;;) {
    skip_lines(p);
    status = take_output(p, defined);
    skip_lines(p);
    if (status || take(p, ')')) return status;
    status = expect(p, ',', "between two outputs");
    if (status) return status;
  }
}

nx_status nxg_parse_version(nxg_parser *p) {
  const char *word, *at;
  skip_lines(p);
  uint32_t n = take_word(p, &word);
  if (!word_is(word, n, "nxir"))
    return MALFORMED(p, word, "the text does not start with its version, nxir 2");
  skip_blanks(p);
  at = p->at;
  n = take_word(p, &word);
  if (n != 1 || *word < '0' + NXI_TEXT_OLDEST || *word > '0' + NXI_TEXT_NEWEST)
    return MALFORMED(p, at, "version %.*s of the text is unknown; %d to %d are read", shown(n),
                     word, NXI_TEXT_OLDEST, NXI_TEXT_NEWEST);
  p->version = *word - '0';
  skip_blanks(p);
  return more(p) && *p->at != '\n' ? MALFORMED(p, p->at, "the version stands alone on its line")
                                   : NX_OK;
}

nx_status nxg_parse_one(nxg_parser *p) {
  const char *word, *name;
  uint32_t n = 0;
  skip_lines(p);
  uint32_t length = take_word(p, &word);
  if (!word_is(word, length, "graph"))
    return MALFORMED(p, word, "a graph is expected here%s",
                     word_is(word, length, "kernel") ? ", and this is a kernel" : "");
  nx_status status = expect(p, '@', "before the graph's name");
  if (status) return status;
  p->name_at = p->at;
  if (!at_char(p, '(')) status = take_name(p, &name, &n); /* the name may be empty */
  if (status) return status;
  snprintf(p->g->name, sizeof p->g->name, "%.*s", (int)n, n ? name : "");
  status = take_inputs(p);
  skip_lines(p);
  if (!status && (!take(p, '-') || !more(p) || *p->at++ != '>'))
    status = MALFORMED(p, p->at, "'->' is missing before the outputs");
  skip_lines(p);
  const char *outputs = p->at;
  if (!status) status = take_outputs(p, false);
  skip_lines(p);
  if (!status) status = expect(p, '{', "before the statements");
  while (!status) {
    skip_lines(p);
    if (take(p, '}')) break;
    if (!more(p)) return MALFORMED(p, p->at, "the text ends before the graph does");
    status = take_statement(p);
  }
  skip_lines(p);
  const char *end = p->at;
  p->at = outputs;
  if (!status) status = take_outputs(p, true);
  p->at = end;
  return status;
}

/* ---- for the whole of a text */

bool nxg_parse_more(const nxg_parser *p) { return more(p); }
bool nxg_parse_take(nxg_parser *p, char c) { return take(p, c); }
nx_status nxg_parse_name(nxg_parser *p, const char **name, uint32_t *n) {
  return take_name(p, name, n);
}
