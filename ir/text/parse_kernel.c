/* SPDX-License-Identifier: ISC */
/* The parser of kernels (docs/ir.md). The text may be hostile: every read is bounded by its length,
 * every number and name is checked, and memory grows no faster than the text. Builds the
 * instructions as written, without folding or merging; nxk_verify judges what they mean. */
#include <string.h>

#include "ir/kernel/build.h"
#include "print_kernel.h"
#include "scalar_text.h"
#include "version.h"

typedef struct name_entry {
  const char *name; /* in the text; NULL: free */
  uint32_t length;
  nxk_value value;
} name_entry;

typedef struct parser {
  const char *text;
  uint32_t length, at;
  uint32_t line, line_start;
  int version;
  nxk_kernel *kernel;
  nxi_diag *diag;
  bool failed;
  uint32_t depth;
  name_entry *names; /* open addressing, a power of two */
  uint32_t n_names, cap_names;
  nxk_term *terms; /* of the access being read */
  uint32_t n_terms, cap_terms;
} parser;

typedef struct token {
  const char *s;
  uint32_t n;
} token;

/* ---- failures */

static bool fail_here(parser *p, const char *what, token t) {
  if (!p->failed && p->diag && p->diag->status == NX_OK) {
    uint32_t at = t.s ? (uint32_t)(t.s - p->text) : p->at;
    int shown = t.n > 40 ? 40 : (int)t.n;
    nxi_fail(p->diag, NX_PARSE, "", "%s%s%.*s%s", what, t.n ? ": '" : "", shown, t.n ? t.s : "",
             t.n ? "'" : "");
    p->diag->line = (int32_t)p->line;
    p->diag->column = (int32_t)(at - p->line_start + 1);
  }
  p->failed = true;
  return false;
}

static bool fail_memory(parser *p) {
  p->failed = true;
  nxi_oom(p->diag);
  return false;
}

static bool fail(parser *p, const char *what) { return fail_here(p, what, (token){NULL, 0}); }

/* ---- characters and words */

static char peek(const parser *p) { return p->at < p->length ? p->text[p->at] : 0; }

static void skip_blanks(parser *p) {
  while (peek(p) == ' ' || peek(p) == '\t' || peek(p) == '\r') p->at++;
  if (peek(p) == ';')
    while (p->at < p->length && p->text[p->at] != '\n') p->at++;
}

static void skip_lines(parser *p) {
  for (skip_blanks(p); peek(p) == '\n'; skip_blanks(p)) {
    p->line++;
    p->line_start = ++p->at;
  }
}

/* Takes the character if it is next. */
static bool accept(parser *p, char c) {
  skip_blanks(p);
  if (p->at >= p->length || p->text[p->at] != c) return false;
  p->at++;
  return true;
}

static bool expect(parser *p, char c) {
  if (p->failed) return false;
  if (accept(p, c)) return true;
  char message[] = "expected '?'";
  message[10] = c;
  return fail(p, message);
}

static bool in_word(char c, const char *extra) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')
    return true;
  return c && strchr(extra, c);
}

/* Letters, digits and `extra`; may be empty. */
static token read_word(parser *p, const char *extra) {
  skip_blanks(p);
  uint32_t start = p->at;
  while (in_word(peek(p), extra)) p->at++;
  return (token){p->text + start, p->at - start};
}

static bool is(token t, const char *word) {
  return strlen(word) == t.n && memcmp(t.s, word, t.n) == 0;
}

/* Takes what the text's version calls `word`, if it is next. */
static bool accept_word(parser *p, const char *word) {
  uint32_t start = (skip_blanks(p), p->at);
  if (is(read_word(p, ""), nxi_word_in(p->version, word))) return true;
  p->at = start;
  return false;
}

static bool end_line(parser *p) {
  if (p->failed) return false;
  skip_blanks(p);
  return p->at >= p->length || peek(p) == '\n' ? true : fail(p, "expected the end of the line");
}

static int64_t read_int(parser *p, int64_t low, int64_t high) {
  skip_blanks(p);
  uint32_t start = p->at;
  if (peek(p) == '-') p->at++;
  while (peek(p) >= '0' && peek(p) <= '9') p->at++;
  token t = {p->text + start, p->at - start};
  int64_t x = 0;
  if (!p->failed && !nxi_parse_int(t.s, t.n, low, high, &x)) {
    if (t.n) fail_here(p, "a number that is out of range", t);
    else fail(p, "expected a number");
  }
  return x;
}

/* Reads "b12" or "p3": the number of a declared buffer or parameter, less than count. */
static uint32_t read_numbered(parser *p, char letter, uint32_t count) {
  token t = read_word(p, "");
  int64_t x = 0;
  if (p->failed) return 0;
  if (t.n < 2 || t.s[0] != letter || !nxi_parse_int(t.s + 1, t.n - 1, 0, (int64_t)count - 1, &x))
    fail_here(p, letter == 'b' ? "expected a declared buffer" : "expected a declared parameter", t);
  return (uint32_t)x;
}

/* ---- names of values */

static uint32_t hash_name(token t) {
  uint32_t h = 2166136261u;
  for (uint32_t i = 0; i < t.n; i++) h = (h ^ (uint8_t)t.s[i]) * 16777619u;
  return h;
}

static name_entry *name_slot(const parser *p, token t) {
  uint32_t i = hash_name(t) & (p->cap_names - 1);
  while (p->names[i].name &&
         !(p->names[i].length == t.n && memcmp(p->names[i].name, t.s, t.n) == 0))
    i = (i + 1) & (p->cap_names - 1);
  return &p->names[i];
}

static bool grow_names(parser *p) {
  name_entry *old = p->names;
  uint32_t n = p->cap_names, cap = n ? 2 * n : 64;
  name_entry *names = nxi_calloc(cap, sizeof *names);
  if (!names) return fail_memory(p);
  p->names = names;
  p->cap_names = cap;
  for (uint32_t i = 0; i < n; i++)
    if (old[i].name) *name_slot(p, (token){old[i].name, old[i].length}) = old[i];
  nxi_free(old);
  return true;
}

static bool define_name(parser *p, token t, nxk_value value) {
  if (2 * (p->n_names + 1) > p->cap_names && !grow_names(p)) return false;
  name_entry *e = name_slot(p, t);
  if (e->name) return fail_here(p, "a name that was given before", t);
  *e = (name_entry){t.s, t.n, value};
  p->n_names++;
  return true;
}

/* Reads "%name". A name may contain single dots; two dots end it, because they belong to a range:
 * "%3..%6". */
static token read_name(parser *p) {
  if (!expect(p, '%')) return (token){NULL, 0};
  token t = read_word(p, ".");
  for (uint32_t i = 0; i + 1 < t.n; i++)
    if (t.s[i] == '.' && t.s[i + 1] == '.') {
      p->at -= t.n - i;
      t.n = i;
    }
  if (t.n == 0) fail(p, "expected a name");
  return t;
}

static nxk_value read_value(parser *p) {
  token t = read_name(p);
  if (!t.s || p->failed) return NXK_NONE;
  name_entry *e = p->cap_names ? name_slot(p, t) : NULL;
  if (!e || !e->name) {
    fail_here(p, "no such value so far", t);
    return NXK_NONE;
  }
  return e->value;
}

/* ---- declarations */

static nx_dtype dtype_of(token t) {
  for (nx_dtype i = 1; i < NXI_DTYPE_COUNT; i++)
    if (nxi_is_element(i) && is(t, nxi_dtypes[i].name)) return i;
  return 0;
}

static nx_dtype read_dtype(parser *p) {
  token t = read_word(p, "");
  nx_dtype type = dtype_of(t);
  if (!p->failed && !type) fail_here(p, "expected an element type", t);
  return type;
}

/* "f32" or "f32x16" */
static nx_dtype read_type(parser *p, uint16_t *lanes) {
  token t = read_word(p, "");
  const char *x = t.n ? memchr(t.s, 'x', t.n) : NULL;
  int64_t n = 1;
  token name = {t.s, x ? (uint32_t)(x - t.s) : t.n};
  nx_dtype type = dtype_of(name);
  if (p->failed) return 0;
  if (!type || (x && !nxi_parse_int(x + 1, t.n - name.n - 1, 2, NXK_MOST_LANES, &n)))
    fail_here(p, "expected a type", t);
  *lanes = (uint16_t)n;
  return type;
}

static bool read_buffer(parser *p) {
  token kind_name = read_word(p, "");
  int kind = 0;
  while (kind < NXK_BUFFER_KINDS && !is(kind_name, nxi_buffer_kind_name((nxk_buffer_kind)kind)))
    kind++;
  if (kind == NXK_BUFFER_KINDS) return fail_here(p, "expected in, out, inout or local", kind_name);
  nx_dtype type = read_dtype(p);
  if (!expect(p, '[')) return false;
  int64_t most = kind == NXK_LOCAL || !type ? INT64_MAX / 16 : INT64_MAX / nxi_dtype_size(type);
  int64_t elements = accept(p, '?') ? -1 : read_int(p, 0, most);
  if (!expect(p, ']')) return false;
  uint32_t number = nxk_add_buffer(p->kernel, (nxk_buffer_kind)kind, type, elements);
  if (number == NXK_NONE) return fail_memory(p);
  p->kernel->buffers[number].aligned = accept_word(p, "aligned");
  p->kernel->buffers[number].restricted = accept_word(p, "restricted");
  p->kernel->buffers[number].thread_private = accept_word(p, "private");
  return end_line(p);
}

/* Reads "b0: ..." or "p0: ...", which are numbered in order. False without a failure: the line is
 * not a declaration. */
static bool read_declaration(parser *p) {
  uint32_t start = (skip_lines(p), p->at);
  token t = read_word(p, "");
  if (t.n == 0 || !accept(p, ':')) {
    p->at = start;
    return false;
  }
  int64_t number = -1;
  bool buffer = t.s[0] == 'b';
  uint32_t due = buffer ? p->kernel->n_buffers : p->kernel->n_params;
  if ((!buffer && t.s[0] != 'p') || !nxi_parse_int(t.s + 1, t.n - 1, due, due, &number))
    return fail_here(p, "expected the next buffer (b0, b1, ...) or parameter (p0, p1, ...)", t);
  if (buffer) return read_buffer(p);
  nx_dtype type = read_dtype(p);
  if (p->failed) return false;
  if (nxk_add_param(p->kernel, type) == NXK_NONE) return fail_memory(p);
  return end_line(p);
}

/* ---- instructions */

static void read_args(parser *p, nxk_instr *in, int n) {
  for (int i = 0; i < n && !p->failed; i++) {
    if (i && !expect(p, ',')) return;
    in->args[i] = read_value(p);
    in->n_args = (uint8_t)(i + 1);
  }
}

static void read_terms(parser *p, nxk_access *a) {
  p->n_terms = 0;
  while (!p->failed && accept(p, '+')) {
    if (accept_word(p, "idx")) {
      a->index = read_value(p);
      return;
    }
    int64_t stride = read_int(p, INT64_MIN, INT64_MAX);
    expect(p, '*');
    nxk_term term = {read_value(p), stride};
    if (p->failed) return;
    if (!nxi_grow(&p->terms, &p->cap_terms, p->n_terms + 1, sizeof *p->terms)) {
      fail_memory(p);
      return;
    }
    p->terms[p->n_terms++] = term;
  }
}

/* "b0[5 + 16*%3 + idx %4] stride=1 group=4 tree=16 mask=%5 else %6 nontemporal whole skips
 * volatile prefetch=64" */
static uint32_t read_access(parser *p) {
  nxk_access a = nxk_access_at(read_numbered(p, 'b', p->kernel->n_buffers), 0);
  expect(p, '[');
  a.offset = read_int(p, INT64_MIN, INT64_MAX);
  read_terms(p, &a);
  expect(p, ']');
  if (accept_word(p, "stride") && expect(p, '=')) a.lane_stride = read_int(p, INT64_MIN, INT64_MAX);
  if (accept_word(p, "group") && expect(p, '=')) a.group = (uint32_t)read_int(p, 2, 16);
  if (accept_word(p, "tree") && expect(p, '=')) a.tree_stride = read_int(p, INT64_MIN, INT64_MAX);
  if (accept_word(p, "mask") && expect(p, '=')) a.mask = read_value(p);
  if (accept_word(p, "else")) a.other = read_value(p);
  if (accept_word(p, "nontemporal")) a.flags |= NXK_NONTEMPORAL;
  if (accept_word(p, "whole")) a.flags |= NXK_WHOLE;
  if (accept_word(p, "skips")) a.flags |= NXK_SKIPS;
  if (accept_word(p, "volatile")) a.flags |= NXK_VOLATILE;
  if (accept_word(p, "prefetch") && expect(p, '=')) a.prefetch = read_int(p, 1, INT64_C(1) << 40);
  if (p->failed) return 0;
  a.n_terms = p->n_terms;
  a.terms = p->terms;
  uint32_t number = nxk_add_access(p->kernel, &a);
  if (number == NXK_NONE) fail_memory(p);
  return number;
}

static nxk_bound_value read_bound(parser *p) {
  skip_blanks(p);
  if (peek(p) == '%') return nxk_bound_of(read_value(p));
  return nxk_bound_const(read_int(p, INT64_MIN, INT64_MAX));
}

static void read_for(parser *p, nxk_instr *in) {
  token kind_name = read_word(p, "");
  int kind = 0;
  while (kind < NXK_LOOP_KINDS && !is(kind_name, nxi_loop_kind_name((nxk_loop_kind)kind))) kind++;
  if (kind == NXK_LOOP_KINDS) {
    fail_here(p, "expected outer, map, reduce, task or seq", kind_name);
    return;
  }
  nxk_loop loop = {(nxk_loop_kind)kind, read_bound(p), nxk_bound_const(0), 1, false, false, 0};
  if (expect(p, '.')) expect(p, '.');
  loop.upper = read_bound(p);
  if (accept_word(p, "step")) loop.step = read_int(p, INT64_MIN, INT64_MAX);
  if (accept_word(p, "few")) loop.few = (uint32_t)read_int(p, 1, UINT16_MAX);
  loop.unroll = accept_word(p, "unroll");
  loop.apart = accept_word(p, "apart");
  expect(p, '{');
  if (p->failed) return;
  in->imm = nxi_add_loop(p->kernel, &loop);
  in->dtype = NX_I64;
}

static void read_region(parser *p, nxk_instr *in) {
  nxk_region region = {p->kernel->n_instrs, 1, -1, 1};
  if (accept_word(p, "tasks")) {
    expect(p, '=');
    skip_blanks(p);
    if (peek(p) == 'p') {
      region.tasks_param = (int32_t)read_numbered(p, 'p', p->kernel->n_params);
      expect(p, '/');
      region.tasks_divisor = read_int(p, 1, INT64_MAX);
    } else {
      region.tasks = read_int(p, 0, INT64_MAX);
    }
  }
  expect(p, '{');
  if (!p->failed) in->imm = nxi_add_region(p->kernel, &region);
}

static void read_const(parser *p, nxk_instr *in) {
  token t = read_word(p, ".+-:");
  if (p->failed) return;
  const char *fault = nxi_parse_scalar(t.s, t.n, in->dtype, &in->imm);
  if (fault) fail_here(p, fault, t);
}

static void read_reduce_kind(parser *p, nxk_instr *in) {
  token t = read_word(p, "");
  int kind = 0;
  while (kind < NXK_KINDS && !is(t, nxk_reduce_name((nxk_reduce_kind)kind))) kind++;
  if (kind == NXK_KINDS) fail_here(p, "expected a kind of reduction", t);
  in->kind = (uint8_t)kind;
}

static void read_order(parser *p, nxk_instr *in) {
  if (p->failed) return;
  token t = read_word(p, "");
  int order = 0;
  while (order < NXK_ORDERS && !is(t, nxk_order_name((nxk_order)order))) order++;
  if (order == NXK_ORDERS) fail_here(p, "expected an order of reduction", t);
  in->order = (uint8_t)order;
}

/* values, then an access, then for argmax and argmin the access of the indices */
static void read_memory(parser *p, nxk_instr *in, int n_args) {
  read_args(p, in, n_args);
  if (n_args) expect(p, ',');
  if (p->failed) return;
  in->imm = read_access(p);
  if (accept(p, ',')) in->imm2 = read_access(p);
  if (accept_word(p, "index_part")) in->flags = NXK_INDEX_PART;
}

/* `name=` and a number of at most 3. */
static uint64_t read_small(parser *p) {
  expect(p, '=');
  return (uint64_t)read_int(p, 0, 3);
}

/* Two to four values, and which of their lanes. */
static void read_row(parser *p, nxk_instr *in) {
  for (int i = 0; i < 4 && !p->failed && (i == 0 || accept(p, ',')); i++) {
    in->args[i] = read_value(p);
    in->n_args = (uint8_t)(i + 1);
  }
  bool apart = in->op == NXK_deinterleave;
  if (p->failed) return;
  token word = read_word(p, "");
  if (!is(word, apart ? "first" : "piece"))
    fail_here(p, apart ? "expected first=" : "expected piece=", word);
  in->imm = read_small(p);
  if (apart && accept_word(p, "overlap")) in->imm |= read_small(p) << 8;
}

static void read_operands(parser *p, nxk_instr *in) {
  if (in->op < NXK_SCALAR_COUNT) {
    read_args(p, in, nxk_scalars[in->op].arity);
    if (accept_word(p, "nsw")) in->flags = NXK_NSW;
    return;
  }
  switch (in->op) {
    case NXK_const: read_const(p, in); break;
    case NXK_param: in->imm = read_numbered(p, 'p', p->kernel->n_params); break;
    case NXK_region: read_region(p, in); break;
    case NXK_for: read_for(p, in); break;
    case NXK_cold:
      read_args(p, in, 1);
      if (accept_word(p, "apart")) in->flags = NXK_APART;
      expect(p, '{');
      break;
    case NXK_blend: read_args(p, in, 3); break;
    case NXK_load: read_memory(p, in, 0); break;
    case NXK_store: read_memory(p, in, 1); break;
    case NXK_reduce:
    case NXK_scan:
      read_reduce_kind(p, in);
      read_order(p, in);
      read_args(p, in, nxk_kind_args(in->kind));
      break;
    case NXK_next:
    case NXK_interleave_low:
    case NXK_interleave_high:
    case NXK_concat:
    case NXK_active: read_args(p, in, 2); break;
    case NXK_deinterleave:
    case NXK_interleave: read_row(p, in); break;
    case NXK_shuffle_xor:
      read_args(p, in, 1);
      expect(p, ',');
      in->imm = (uint64_t)read_int(p, 1, NXK_MOST_LANES - 1);
      break;
    case NXK_barrier: break;
    case NXK_lane_reduce:
      read_reduce_kind(p, in);
      read_args(p, in, nxk_finds_index(in->kind) ? 2 : 1);
      break;
    case NXK_tree_push:
      read_reduce_kind(p, in);
      read_memory(p, in, nxk_finds_index(in->kind) ? 3 : 2);
      break;
    case NXK_tree_join:
      read_reduce_kind(p, in);
      read_memory(p, in, 1);
      break;
    default: read_args(p, in, 1); break; /* carry, splat, lanes */
  }
}

static nxk_op op_of(const parser *p, token word) {
  bool known = word.n > 0 && nxi_word_of_today(p->version, &word.s, &word.n);
  return known ? nxk_op_from_name(word.s, word.n) : NXK_OP_COUNT;
}

static bool read_instr(parser *p) {
  token name = {NULL, 0};
  if (peek(p) == '%') {
    name = read_name(p);
    expect(p, '=');
  }
  token word = read_word(p, "");
  nxk_op op = op_of(p, word);
  if (p->failed) return false;
  if (op == NXK_OP_COUNT || op == NXK_end) return fail_here(p, "no such operation", word);
  if (nxi_is_named(op) != (name.n > 0))
    return fail_here(
        p, name.n ? "this operation has no result" : "this operation needs a name for its result",
        word);
  nxk_instr in = {.op = (uint16_t)op,
                  .lanes = 1,
                  .args = {NXK_NONE, NXK_NONE, NXK_NONE, NXK_NONE},
                  .imm2 = UINT32_MAX,
                  .block = NXK_NONE};
  if (nxi_is_named(op) && op != NXK_for && op != NXK_cold)
    in.dtype = (uint8_t)read_type(p, &in.lanes);
  else if (accept_word(p, "lanes") && expect(p, '='))
    in.lanes = (uint16_t)read_int(p, 2, NXK_MOST_LANES);
  if (!p->failed) read_operands(p, &in);
  if (!end_line(p)) return false;
  if (nxi_opens(op) && ++p->depth > NXI_MAX_DEPTH) return fail(p, "blocks are nested too deep");
  nxk_value v = nxi_append(p->kernel, &in);
  if (v == NXK_NONE) return fail_memory(p);
  return !name.s || define_name(p, name, v);
}

/* A closing brace: of a block, or of the kernel (then *done). */
static bool read_close(parser *p, bool *done) {
  if (!end_line(p)) return false;
  if (p->depth == 0) {
    *done = true;
    return true;
  }
  nxk_instr in = {.op = NXK_end,
                  .lanes = 1,
                  .args = {NXK_NONE, NXK_NONE, NXK_NONE, NXK_NONE},
                  .imm2 = UINT32_MAX,
                  .block = NXK_NONE};
  p->depth--;
  return nxi_append(p->kernel, &in) != NXK_NONE || fail_memory(p);
}

static bool read_body(parser *p) {
  bool done = false;
  while (read_declaration(p)) continue;
  while (!p->failed && !done) {
    skip_lines(p);
    if (p->at >= p->length) return fail(p, "expected '}': the text ends inside the kernel");
    if (accept(p, '}')) read_close(p, &done);
    else read_instr(p);
  }
  if (p->failed) return false;
  skip_lines(p);
  return p->at >= p->length || fail(p, "expected nothing after the kernel");
}

static bool read_header(parser *p) {
  skip_lines(p);
  if (!accept_word(p, "nxir")) return fail(p, "expected 'nxir 2'");
  p->version = (int)read_int(p, 0, INT32_MAX);
  if (p->version < NXI_TEXT_OLDEST || p->version > NXI_TEXT_NEWEST)
    return fail(p, "this version of the text is not known");
  if (!end_line(p)) return false;
  skip_lines(p);
  if (!accept_word(p, "kernel")) return fail(p, "expected 'kernel'");
  if (!expect(p, '@')) return false;
  token name = read_word(p, ".");
  token level = read_word(p, "");
  bool bound = is(level, "bound");
  if (!bound && !is(level, "logical")) return fail_here(p, "expected logical or bound", level);
  char text[64];
  uint32_t n = name.n < sizeof text ? name.n : sizeof text - 1;
  memcpy(text, name.s, n);
  text[n] = 0;
  p->kernel = nxk_create(bound ? NXK_BOUND : NXK_LOGICAL, text);
  if (!p->kernel) return fail_memory(p);
  if (accept_word(p, "threads") && expect(p, '='))
    p->kernel->threads = (uint32_t)read_int(p, 32, NXK_MAX_THREADS);
  return expect(p, '{') && end_line(p);
}

nx_status nxk_parse(const char *text, size_t length, nxk_kernel **out, nxi_diag *d) {
  nxi_diag own;
  if (!d) d = &own;
  if (d == &own) nxi_diag_clear(d);
  parser p = {
      .text = text, .length = (uint32_t)length, .line = 1, .version = NXI_TEXT_NEWEST, .diag = d};
  if (length >= INT32_MAX) return nxi_fail(d, NX_PARSE, "", "the text is longer than 2 GiB");
  bool ok = read_header(&p) && read_body(&p);
  nxi_free(p.names);
  nxi_free(p.terms);
  if (ok) {
    *out = p.kernel;
    return NX_OK;
  }
  nxk_destroy(p.kernel);
  return d->status;
}
