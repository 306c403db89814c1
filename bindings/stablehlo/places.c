/* SPDX-License-Identifier: ISC */
/* Where an operation stands, for the sentence of a failure. Of a text that is a line and a column.
 * A portable artifact may have, for each operation, where it came from: files with lines, from the
 * innermost call to the outermost, and names, of functions and of what was asked for. Without that
 * it is the number of the operation in its function. The attributes of locations are read only
 * here, and what is malformed in them ends the sentence early. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bytecode.h"

enum { MOST_FRAMES = 3, MOST_PATH = 96, DEPTH = 64 };

typedef struct frame {
  nxh_word file, function; /* the function may be empty */
  uint64_t line, column;
} frame;

/* What is known of one operation. */
typedef struct trace {
  const nxh_artifact *a;
  nxh_word name; /* of the operation */
  frame frames[MOST_FRAMES];
  uint32_t n, left_out;
  int budget; /* attributes that are still looked at */
} trace;

/* ---- attributes of locations */

/* Numbers as in bytecode_bytes.c, without a failure to note: the artifact is read here a second
 * time, and nothing in it makes it invalid. */
static bool varint(nxh_bytes *b, uint64_t *out) {
  nxi_diag ignored = {0};
  nxh_artifact quiet = {.start = b->at, .d = &ignored};
  return nxh_varint(&quiet, b, out);
}

static bool entry_of(const trace *t, uint64_t number, nxh_bytes *out, uint64_t *code) {
  if (number >= t->a->n_attrs) return false;
  const nxh_entry *e = &t->a->entries[number];
  *out = e->bytes;
  return e->custom && nxh_is_dialect(t->a, e->dialect, "builtin") && varint(out, code);
}

enum {
  STRING = 2,
  CALL_SITE = 10,
  FILE_LINE,
  FUSED,
  FUSED_WITH_DATA,
  NAME,
  UNKNOWN,
  FILE_RANGE = 22
};

static bool read_string(const trace *t, nxh_bytes *b, nxh_word *out) {
  uint64_t number, code;
  nxh_bytes inside;
  if (!varint(b, &number) || !entry_of(t, number, &inside, &code) || code != STRING ||
      !varint(&inside, &number) || number >= t->a->n_strings)
    return false;
  *out = t->a->strings[number];
  return true;
}

/* A file with a line and a column; a range is a list of numbers that begins with them. */
static bool read_frame(const trace *t, nxh_bytes *b, bool range, frame *out) {
  uint64_t n = 2;
  if (!read_string(t, b, &out->file) || (range && !varint(b, &n))) return false;
  return (n < 1 || varint(b, &out->line)) && (n < 2 || varint(b, &out->column));
}

static void add_frame(trace *t, const frame *f) {
  if (t->n < MOST_FRAMES) t->frames[t->n++] = *f;
  else t->left_out++;
}

/* name: of what has the location, or empty. A name right in front of a file is a function's, other
 * ones are of the operation, of which the outermost says most. */
static void visit(trace *t, uint64_t number, nxh_word name, int depth) {
  nxh_bytes b;
  uint64_t code, next, n = 1;
  if (depth == DEPTH || t->budget-- <= 0 || !entry_of(t, number, &b, &code)) return;
  if (code == FILE_LINE || code == FILE_RANGE) {
    frame f = {.function = name};
    if (read_frame(t, &b, code == FILE_RANGE, &f)) add_frame(t, &f);
    return;
  }
  if (name.length > 0 && t->name.length == 0) t->name = name;
  name = (nxh_word){0};
  if (code == NAME && !read_string(t, &b, &name)) return;
  if (code == CALL_SITE) n = 2; /* what is called, and from where */
  if ((code == FUSED || code == FUSED_WITH_DATA) && !varint(&b, &n)) return;
  if (code != NAME && code != CALL_SITE && code != FUSED && code != FUSED_WITH_DATA) return;
  for (uint64_t i = 0; i < n && varint(&b, &next); i++) {
    visit(t, next, name, depth + 1);
    if (code != CALL_SITE && t->n > 0) break; /* of several that are fused the first */
  }
  if (name.length > 0 && t->n == 0 && t->name.length == 0) t->name = name;
}

/* ---- words */

typedef struct text {
  char *at;
  size_t left;
} text;

static void say(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(text *t, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int n = vsnprintf(t->at, t->left, format, list);
  va_end(list);
  size_t taken = n < 0 ? 0 : (size_t)n < t->left ? (size_t)n : t->left - 1;
  t->at += taken;
  t->left -= taken;
}

/* The last `most` bytes of a word; of a file of an outer call those behind its last /. */
static nxh_word tail(nxh_word w, uint32_t most, bool short_path) {
  uint32_t from = w.length > most ? w.length - most : 0;
  for (uint32_t i = w.length; short_path && i-- > from;)
    if (w.at[i] == '/') from = i + 1;
  while (from < w.length && ((uint8_t)w.at[from] & 0xC0) == 0x80) from++; /* whole characters */
  return (nxh_word){w.at + from, w.length - from};
}

static void say_word(text *t, nxh_word w, uint32_t most, bool short_path) {
  if (w.length == 0) return;
  nxh_word end = tail(w, most, short_path);
  say(t, "%s%.*s", end.length < w.length && !short_path ? ".." : "", (int)end.length, end.at);
}

static void say_frame(text *t, const frame *f, bool innermost) {
  say_word(t, f->file, MOST_PATH, !innermost);
  say(t, ":%llu:%llu", (unsigned long long)f->line, (unsigned long long)f->column);
  if (f->function.length == 0) return;
  say(t, " (");
  say_word(t, f->function, 40, false);
  say(t, ")");
}

static bool say_trace(text *t, const nxh_module *m, const nxh_op *op) {
  if (m->artifact == NULL || op->location == 0) return false;
  trace of = {.a = m->artifact, .budget = 256};
  visit(&of, op->location - 1, (nxh_word){0}, 0);
  if (of.n == 0 && of.name.length == 0) return false;
  say_word(t, of.name, 80, false);
  for (uint32_t i = 0; i < of.n; i++) {
    say(t, "%s", i > 0 ? ", called from " : of.name.length > 0 ? " at " : "");
    say_frame(t, &of.frames[i], i == 0);
  }
  if (of.left_out > 0) say(t, ", ..");
  return true;
}

/* ---- numbers of operations */

/* Counts the operations before `op`; false: it is not in the region. */
static bool count_before(const nxh_region *region, const nxh_op *op, uint32_t *n) {
  for (uint32_t i = 0; i < region->n_ops; i++) {
    const nxh_op *o = &region->ops[i];
    ++*n;
    if (o == op) return true;
    for (uint32_t k = 0; k < o->n_regions; k++)
      if (count_before(&o->regions[k], op, n)) return true;
  }
  return false;
}

static bool say_number(text *t, const nxh_module *m, const nxh_op *op) {
  for (uint32_t i = 0; i < m->n_functions; i++) {
    uint32_t n = 0;
    const nxh_function *f = &m->functions[i];
    if (!count_before(&f->body, op, &n)) continue;
    say(t, "operation %u of @%.*s", n, (int)f->name.length, f->name.at);
    return true;
  }
  return false;
}

void nxh_describe_place(const nxh_module *m, const nxh_op *op, char *out, size_t size) {
  text t = {out, size};
  if (op->line > 0) say(&t, "line %u, column %u", op->line, op->column);
  else if (!say_trace(&t, m, op) && !say_number(&t, m, op)) say(&t, "byte %u", op->column);
}

void nxh_note_place(const nxh_module *m, const nxh_op *op, nxi_diag *d) {
  char place[NXH_PLACE_TEXT], said[sizeof d->message];
  if (d->line != 0 || d->column != 0) return;
  nxh_describe_place(m, op, place, sizeof place);
  snprintf(said, sizeof said, "%.*s, %s: %s", (int)op->name.length, op->name.at, place, d->message);
  memcpy(d->message, said, sizeof said);
  d->line = (int32_t)op->line;
  d->column = (int32_t)op->column;
}
