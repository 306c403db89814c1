/* SPDX-License-Identifier: ISC */
/* Locations in the text, which are skipped: loc(..), and the shorter form in which MLIR prints them
 * for readers ("add"(x.py:3:4 to :9), [unknown]). That form has no mark of its own, and MLIR does
 * not read it; what may stand at the same place, an operation, looks different. */
#include "text.h"

#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_blank(char c) { return c == ' ' || c == '\t'; }
static bool ends_line(char c) { return c == '\n' || c == '\r'; }

/* Behind ":3:4" at `at`; NULL: something else is there. */
static const char *behind_place(const char *at, const char *end) {
  for (int i = 0; i < 2; i++) {
    if (end - at < 2 || *at != ':' || !is_digit(at[1])) return NULL;
    for (at++; at < end && is_digit(*at);) at++;
  }
  return at;
}

/* Behind a path and its place. Only one that begins with / or - may have spaces. */
static const char *behind_path(const char *at, const char *end) {
  bool spaces = at < end && (*at == '/' || *at == '-');
  for (; at < end && !ends_line(*at); at++) {
    const char *behind = behind_place(at, end);
    if (behind != NULL) return behind;
    if (!spaces && (is_blank(*at) || strchr("\"%(){}[],=", *at) != NULL)) return NULL;
  }
  return NULL;
}

/* Behind a string; NULL: it does not end on its line. */
static const char *behind_string(const char *at, const char *end) {
  for (at++; at < end && !ends_line(*at); at++) {
    if (*at == '"') return at + 1;
    if (*at == '\\' && end - at > 1 && !ends_line(at[1])) at++;
  }
  return NULL;
}

/* A name, and behind it what was named, which is not what an operation has in its brackets. */
static bool is_named_place(const char *at, const char *end) {
  if ((at = behind_string(at, end)) == NULL) return false;
  bool apart = at < end && is_blank(*at);
  while (at < end && is_blank(*at)) at++;
  if (at >= end || *at != '(') return true;
  for (at++; at < end && is_blank(*at);) at++;
  return !apart && at < end && *at != '%' && *at != ')';
}

static bool is_printed(const char *at, const char *end) {
  if (at >= end || (end - at > 1 && at[0] == '/' && at[1] == '/')) return false;
  if (*at == '"') return is_named_place(at, end);
  return *at == '[' || *at == '<' || behind_path(at, end) != NULL;
}

/* x.py:3:4, x.py:3:4 to :9 or x.py:3:4 to 5:9 */
static bool skip_path(nxh_reader *r) {
  const char *behind = behind_path(r->at, r->end);
  int64_t ignored;
  if (behind == NULL) return nxh_expected(r, "expected a location");
  r->at = behind;
  if (!nxh_eat(r, "to")) return true;
  if (nxh_peek(r) != ':' && !nxh_read_integer(r, &ignored)) return false;
  return nxh_need(r, ":") && nxh_read_integer(r, &ignored);
}

static bool skip_one(nxh_reader *r) {
  nxh_word ignored;
  char c = nxh_peek(r);
  if (c == '[') return nxh_skip_brackets(r);
  if (c == '#') return r->at++, nxh_read_name(r, &ignored);
  if (c == '"') {
    if (!nxh_read_string(r, &ignored)) return false;
    return r->at >= r->end || *r->at != '(' || nxh_skip_brackets(r);
  }
  if (c != '<') return skip_path(r);
  if (!nxh_skip_brackets(r)) return false; /* <stdin>:3:4, or <"data">[..] */
  return nxh_peek(r) == ':' ? skip_path(r) : nxh_peek(r) != '[' || nxh_skip_brackets(r);
}

/* Where it was called from may stand on lines of its own. */
bool nxh_skip_printed_location(nxh_reader *r) {
  do {
    if (!skip_one(r)) return false;
  } while (nxh_eat(r, "at"));
  return true;
}

bool nxh_skip_location(nxh_reader *r) {
  const char *at = r->at;
  while (at < r->end && is_blank(*at)) at++;
  if (is_printed(at, r->end)) return nxh_skip_printed_location(r);
  return !nxh_word_next(r, "loc") || (nxh_eat(r, "loc"), nxh_skip_brackets(r));
}
