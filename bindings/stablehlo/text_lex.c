/* SPDX-License-Identifier: ISC */
/* Characters and words of the text form. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

bool nxh_expected(nxh_reader *r, const char *format, ...) {
  char said[300];
  va_list list;
  va_start(list, format);
  vsnprintf(said, sizeof said, format, list);
  va_end(list);
  uint32_t column = (uint32_t)(r->at - r->line_start) + 1;
  nxi_fail(r->d, NX_PARSE, "stablehlo", "line %u, column %u: %s", r->line, column, said);
  if (r->d->line == 0) r->d->line = (int32_t)r->line, r->d->column = (int32_t)column;
  return false;
}

bool nxh_no_memory(nxh_reader *r) {
  nxi_oom(r->d);
  return false;
}

static void skip_space(nxh_reader *r) {
  for (; r->at < r->end; r->at++) {
    char c = *r->at;
    if (c == '\n') {
      r->line++;
      r->line_start = r->at + 1;
    } else if (c == '/' && r->end - r->at > 1 && r->at[1] == '/') {
      while (r->at + 1 < r->end && r->at[1] != '\n') r->at++;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return;
    }
  }
}

char nxh_peek(nxh_reader *r) {
  skip_space(r);
  return r->at < r->end ? *r->at : 0;
}

char nxh_peek_second(nxh_reader *r) {
  skip_space(r);
  return r->end - r->at > 1 ? r->at[1] : 0;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool begins_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool in_word(char c) { return begins_word(c) || is_digit(c) || c == '$' || c == '.'; }

bool nxh_eat(nxh_reader *r, const char *text) {
  skip_space(r);
  size_t n = strlen(text), room = (size_t)(r->end - r->at);
  if (n > room || memcmp(r->at, text, n) != 0) return false;
  if (begins_word(text[0]) && n < room && in_word(r->at[n])) return false;
  r->at += n;
  return true;
}

bool nxh_need(nxh_reader *r, const char *text) {
  return nxh_eat(r, text) || nxh_expected(r, "expected %s", text);
}

bool nxh_at_word(nxh_reader *r) { return begins_word(nxh_peek(r)); }

bool nxh_word_next(nxh_reader *r, const char *text) {
  const char *at = (skip_space(r), r->at);
  bool is = nxh_eat(r, text);
  r->at = at;
  return is;
}

bool nxh_read_word(nxh_reader *r, nxh_word *out) {
  if (!nxh_at_word(r)) return nxh_expected(r, "expected a word");
  const char *from = r->at;
  while (r->at < r->end && in_word(*r->at)) r->at++;
  *out = (nxh_word){from, (uint32_t)(r->at - from)};
  return true;
}

/* ---- strings */

int nxh_hex_digit(char c) {
  return is_digit(c)            ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

/* Replaces \n, \t, \\, \" and \XX, in the arena. */
static bool unescape(nxh_reader *r, nxh_word raw, nxh_word *out) {
  char *to = nxi_arena_alloc(&r->m->arena, raw.length + 1);
  if (to == NULL) return nxh_no_memory(r);
  uint32_t n = 0;
  for (uint32_t i = 0; i < raw.length; i++) {
    char c = raw.at[i];
    if (c == '\\' && i + 1 < raw.length) {
      char next = raw.at[++i];
      int high = nxh_hex_digit(next), low = i + 1 < raw.length ? nxh_hex_digit(raw.at[i + 1]) : -1;
      c = next == 'n' ? '\n' : next == 't' ? '\t' : next;
      if (next != 'n' && next != 't' && high >= 0 && low >= 0) {
        c = (char)(high * 16 + low);
        i++;
      }
    }
    to[n++] = c;
  }
  *out = (nxh_word){to, n};
  return true;
}

bool nxh_read_string(nxh_reader *r, nxh_word *out) {
  if (nxh_peek(r) != '"') return nxh_expected(r, "expected a string");
  const char *from = ++r->at;
  bool escapes = false;
  while (r->at < r->end && *r->at != '"' && *r->at != '\n') {
    escapes = escapes || *r->at == '\\';
    r->at += *r->at == '\\' && r->end - r->at > 1 && r->at[1] != '\n' ? 2 : 1;
  }
  if (r->at >= r->end || *r->at != '"') {
    r->at = from - 1;
    return nxh_expected(r, "a string that does not end on its line");
  }
  *out = (nxh_word){from, (uint32_t)(r->at++ - from)};
  return !escapes || unescape(r, *out, out);
}

bool nxh_read_name(nxh_reader *r, nxh_word *out) {
  if (r->at < r->end && *r->at == '"') return nxh_read_string(r, out);
  const char *from = r->at;
  while (r->at < r->end && (in_word(*r->at) || *r->at == '-') &&
         !(*r->at == '-' && r->end - r->at > 1 && r->at[1] == '>'))
    r->at++;
  *out = (nxh_word){from, (uint32_t)(r->at - from)};
  return out->length > 0 || nxh_expected(r, "expected a name");
}

const nxh_alias *nxh_eat_alias(nxh_reader *r) {
  const char *from = r->at;
  nxh_word name;
  if (r->end - from < 2 || !in_word(from[1])) return NULL;
  r->at++;
  nxh_read_name(r, &name);
  name = (nxh_word){from, (uint32_t)(r->at - from)};
  for (uint32_t i = 0; i < r->n_aliases; i++)
    if (nxh_words_equal(r->aliases[i].name, name)) return &r->aliases[i];
  r->at = from;
  return NULL;
}

bool nxh_read_integer(nxh_reader *r, int64_t *out) {
  bool negative = nxh_eat(r, "-");
  if (!is_digit(nxh_peek(r))) return nxh_expected(r, "expected an integer");
  uint64_t value = 0, most = negative ? UINT64_C(1) << 63 : INT64_MAX;
  for (; r->at < r->end && is_digit(*r->at); r->at++)
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, (uint64_t)(*r->at - '0'), &value) || value > most)
      return nxh_expected(r, "an integer beyond 64 bits");
  *out = negative ? (int64_t)(0 - value) : (int64_t)value;
  return true;
}

/* ---- brackets */

static char closing(char open) {
  return open == '(' ? ')' : open == '[' ? ']' : open == '{' ? '}' : open == '<' ? '>' : 0;
}

bool nxh_skip_brackets(nxh_reader *r) {
  char stack[NXH_MOST_NESTED];
  int depth = 0;
  nxh_word ignored;
  do {
    char c = nxh_peek(r);
    if (c == 0) return nxh_expected(r, "a bracket that is not closed");
    if (c == '"') {
      if (!nxh_read_string(r, &ignored)) return false;
      continue;
    }
    if (closing(c) != 0) {
      if (depth == NXH_MOST_NESTED) return nxh_expected(r, "more than %d brackets nest", depth);
      stack[depth++] = closing(c);
    } else if (c == '-' && nxh_peek_second(r) == '>') {
      r->at++;
    } else if (depth > 0 && c == stack[depth - 1]) {
      depth--;
    } else if (depth == 0 || c == ')' || c == ']' || c == '}') {
      return nxh_expected(r, "expected a bracket");
    }
    r->at++;
  } while (depth > 0);
  return true;
}

bool nxh_enter(nxh_reader *r) {
  if (r->depth++ < NXH_MOST_NESTED) return true;
  return nxh_expected(r, "more than %d levels nest", NXH_MOST_NESTED);
}

void nxh_leave(nxh_reader *r) { r->depth--; }

/* ---- growing arrays */

void *nxh_push(nxh_reader *r, void *array, uint32_t *n, uint32_t *capacity, size_t size) {
  if (!nxi_grow(array, capacity, *n + 1, size)) {
    nxh_no_memory(r);
    return NULL;
  }
  char *items = *(char **)array;
  return items + (*n)++ * size;
}

bool nxh_settle(nxh_reader *r, void *array, uint32_t n, size_t size, const void *out) {
  void *copy = n ? nxi_arena_copy(&r->m->arena, array, n * size) : NULL;
  nxi_free(array);
  *(void **)(uintptr_t)out = copy;
  return n == 0 || copy != NULL || nxh_no_memory(r);
}
