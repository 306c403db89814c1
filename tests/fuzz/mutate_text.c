/* SPDX-License-Identifier: ISC */
/* Mutations of texts of the IRs: lines, tokens, names, numbers, and words from the tables of
 * operations. Types that are optional in a statement are mostly removed, so that it stays valid
 * after changes above it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ir/dtype.h"

/* ---- words */

static const char *const graph_words[] = {
#define GOP(name, ...) #name,
#include "ir/graph/graph_ops.def"
#undef GOP
    "expand", "reshape", "permute", "shrink", "flip", "slice", "as_strided", "contiguous"};
static const char *const kernel_words[] = {
#define SOP(name, ...) #name,
#include "ir/scalar_ops.def"
#undef SOP
#define ROP(name, ...) #name,
#include "ir/reduce_ops.def"
#undef ROP
#define KOP(name, ...) #name,
#include "ir/kernel/kernel_ops.def"
#undef KOP
};
static const char *const graph_extras[] = {"axes=[0]",
                                           "axis=0",
                                           "keepdims",
                                           "axes=[-1]",
                                           "axes=[0,1]",
                                           "shape=[2,3]",
                                           "strides=[1]",
                                           "offset=0",
                                           "start=0",
                                           "step=1",
                                           "before=[1] after=[1]",
                                           "value=0",
                                           "mode=1",
                                           "stop=[1]",
                                           "count=[1]",
                                           "start=[0]",
                                           "step=[-1]",
                                           "result=1",
                                           "descending=1",
                                           "upper=1",
                                           "full=1",
                                           "size=3",
                                           "overwrite",
                                           "aligned",
                                           "alias=0",
                                           "param 0",
                                           "nan",
                                           "inf",
                                           "tag=1",
                                           "note=\"x\"",
                                           "parts0=[-1]",
                                           "unit_diag=1",
                                           "k=1",
                                           " as b",
                                           "; a remark"};
static const char *const kernel_extras[] = {"for seq 0..4",
                                            "for map 0..4",
                                            "for outer 0..4",
                                            "for reduce 0..4",
                                            "for task 0..1",
                                            "step 2",
                                            "region tasks=1 {",
                                            "mask=%1",
                                            "stride=1",
                                            "else %1",
                                            "aligned",
                                            "restricted",
                                            "local f32[4]",
                                            "threads=32",
                                            "sum lanes",
                                            "max plain",
                                            "sequential",
                                            "lanes=8",
                                            "+ 1*%1",
                                            "const i64 1",
                                            "}",
                                            "{",
                                            "x8",
                                            "group=2",
                                            "whole",
                                            "nontemporal",
                                            "private",
                                            "prefetch=64",
                                            "nsw",
                                            "unroll",
                                            "p0: i64",
                                            "tasks=p0/4"};
static const char *const dtypes[] = {
#define NXI_DTYPE(name, ...) #name,
#include "ir/dtype.def"
#undef NXI_DTYPE
};
static const char *const numbers[] = {"0",
                                      "1",
                                      "-1",
                                      "2",
                                      "3",
                                      "4",
                                      "7",
                                      "8",
                                      "16",
                                      "17",
                                      "32",
                                      "33",
                                      "255",
                                      "1024",
                                      "-2",
                                      "5",
                                      "64",
                                      "2147483647",
                                      "-2147483648",
                                      "4294967296",
                                      "9223372036854775807",
                                      "-9223372036854775808",
                                      "1e30",
                                      "0x1p-3",
                                      "0.5"};
#define COUNT(a)  (int64_t)(sizeof(a) / sizeof *(a))
#define ANY(r, a) (a)[nxt_below((r), COUNT(a))]

/* ---- a text that is changed in place */

typedef struct text {
  char *data;
  size_t n, most;
  nxt_random *r;
  bool kernel;
} text;

static size_t below(text *t, size_t n) { return n ? (size_t)nxt_below(t->r, (int64_t)n) : 0; }

/* Replaces `old` bytes at `at`; nothing if there is no room. */
static void splice(text *t, size_t at, size_t old, const char *with, size_t n) {
  if (at + old > t->n || t->n - old + n > t->most) return;
  memmove(t->data + at + n, t->data + at + old, t->n - at - old);
  memcpy(t->data + at, with, n);
  t->n += n - old;
}

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

typedef struct token {
  size_t at, n;
} token;
typedef enum kind { ANY_TOKEN, NAME, NUMBER, WORD, DTYPE } kind;

static bool is_dtype(const char *s, size_t n) {
  for (int64_t i = 0; i < COUNT(dtypes); i++)
    if (strlen(dtypes[i]) == n && !memcmp(dtypes[i], s, n)) return true;
  return false;
}

/* The token at `at`, of one byte at least: a name with its %, @ or b; a number with its sign; a
 * word; a mark. */
static token token_at(const text *t, size_t at) {
  token k = {at, 1};
  char c = t->data[at];
  bool signed_number = c == '-' && at + 1 < t->n && is_digit(t->data[at + 1]);
  if (c != '%' && c != '@' && !is_word(c) && !signed_number) return k;
  while (k.at + k.n < t->n && is_word(t->data[k.at + k.n])) k.n++;
  return k;
}

static bool is_kind(const text *t, token k, kind wanted) {
  char c = t->data[k.at];
  switch (wanted) {
    case NAME: return c == '%' && k.n > 1;
    case NUMBER: return is_digit(c) || (c == '-' && k.n > 1);
    case DTYPE: return is_dtype(t->data + k.at, k.n);
    case WORD: return is_word(c) && !is_digit(c) && !is_dtype(t->data + k.at, k.n);
    default: return c != ' ' && c != '\n';
  }
}

/* Chooses a random token of this kind, with equal probability. False: there is none. */
static bool find(text *t, kind wanted, token *out) {
  size_t seen = 0;
  *out = (token){0, 0};
  for (size_t at = 0; at < t->n;) {
    token k = token_at(t, at);
    at += k.n;
    if (is_kind(t, k, wanted) && below(t, ++seen) == 0) *out = k;
  }
  return seen > 0;
}

static token line_at(const text *t, size_t at) {
  token k = {at, 0};
  while (k.at > 0 && t->data[k.at - 1] != '\n') k.at--;
  while (k.at + k.n < t->n && t->data[k.at + k.n] != '\n') k.n++;
  if (k.at + k.n < t->n) k.n++;
  return k;
}
static token any_line(text *t) { return line_at(t, below(t, t->n)); }

/* ---- mutations */

static void delete_line(text *t) {
  token k = any_line(t);
  splice(t, k.at, k.n, "", 0);
}

/* Copies or moves a line to another place. */
static void copy_line(text *t) {
  char line[512];
  token from = any_line(t);
  if (from.n > sizeof line) return;
  memcpy(line, t->data + from.at, from.n);
  if (nxt_chance(t->r, 50)) splice(t, from.at, from.n, "", 0);
  splice(t, any_line(t).at, 0, line, from.n);
}

static void replace(text *t, kind wanted, const char *with, size_t n) {
  token k;
  if (find(t, wanted, &k)) splice(t, k.at, k.n, with, n);
}

static void change_operand(text *t) {
  char name[80];
  token k;
  if (!find(t, NAME, &k) || k.n > sizeof name) return;
  memcpy(name, t->data + k.at, k.n);
  replace(t, NAME, name, k.n);
}

static size_t new_number(text *t, const char *old, size_t n, char out[40]) {
  char digits[32] = "";
  if (nxt_chance(t->r, 50)) return (size_t)snprintf(out, 40, "%s", ANY(t->r, numbers));
  memcpy(digits, old, n < 31 ? n : 31);
  long long x = strtoll(digits, NULL, 10);
  static const int by[] = {1, -1, 2, -2, 8};
  x = (long long)((unsigned long long)x + (unsigned long long)ANY(t->r, by));
  return (size_t)snprintf(out, 40, "%lld", x);
}

static void change_number(text *t) {
  char with[40];
  token k;
  if (!find(t, NUMBER, &k)) return;
  size_t n = new_number(t, t->data + k.at, k.n, with);
  splice(t, k.at, k.n, with, n);
}

/* Replaces all tokens that are equal to a chosen one: an extent, an element type, a name. */
static void change_everywhere(text *t, kind wanted) {
  char old[80], with[40];
  token k;
  if (!find(t, wanted, &k) || k.n > sizeof old) return;
  size_t old_n = k.n, n;
  memcpy(old, t->data + k.at, old_n);
  if (wanted == NUMBER) n = new_number(t, old, old_n, with);
  else n = (size_t)snprintf(with, sizeof with, "%s", ANY(t->r, dtypes));
  for (size_t at = 0; at < t->n;) {
    k = token_at(t, at);
    at += k.n;
    if (k.n != old_n || memcmp(t->data + k.at, old, old_n)) continue;
    splice(t, k.at, k.n, with, n);
    at = k.at + n;
  }
}

static void change_word(text *t) {
  const char *with = t->kernel ? ANY(t->r, kernel_words) : ANY(t->r, graph_words);
  replace(t, WORD, with, strlen(with));
}

static void change_dtype(text *t) {
  const char *with = ANY(t->r, dtypes);
  replace(t, DTYPE, with, strlen(with));
}

static void insert_extra(text *t) {
  char with[64];
  token k;
  int n = snprintf(with, sizeof with, " %s ",
                   t->kernel ? ANY(t->r, kernel_extras) : ANY(t->r, graph_extras));
  if (find(t, ANY_TOKEN, &k)) splice(t, k.at + k.n, nxt_chance(t->r, 20) ? 1 : 0, with, (size_t)n);
}

static void delete_token(text *t) {
  token k;
  if (find(t, ANY_TOKEN, &k)) splice(t, k.at, k.n, "", 0);
}

/* Adds a new statement after another one: an operation on existing names. */
static void add_statement(text *t) {
  char line[200], a[64] = "%x", b[64] = "%x";
  token k;
  if (t->kernel) {
    insert_extra(t);
    return;
  }
  if (find(t, NAME, &k) && k.n < sizeof a) snprintf(a, sizeof a, "%.*s", (int)k.n, t->data + k.at);
  if (find(t, NAME, &k) && k.n < sizeof b) snprintf(b, sizeof b, "%.*s", (int)k.n, t->data + k.at);
  int two = nxt_chance(t->r, 50), extra = nxt_chance(t->r, 60);
  int n = snprintf(line, sizeof line, "  %%n%d = %s %s%s%s %s\n", (int)nxt_below(t->r, 10),
                   ANY(t->r, graph_words), a, two ? ", " : "", two ? b : "",
                   extra ? ANY(t->r, graph_extras) : "");
  token at = any_line(t);
  if (n > 0 && (size_t)n < sizeof line) splice(t, at.at + at.n, 0, line, (size_t)n);
}

/* Removes the types at the end of statements, except of operations that require their type. */
static void strip_types(text *t) {
  for (size_t at = 0; at < t->n;) {
    token line = line_at(t, at);
    char *colon = memmem(t->data + line.at, line.n, " : ", 3);
    bool statement = memchr(t->data + line.at, '=', line.n) != NULL;
    static const char *const needs[] = {" full ", " arange", " eye", "cast ", " view ", "strided "};
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
      statement = statement && !memmem(t->data + line.at, line.n, needs[i], strlen(needs[i]));
    if (colon && statement && line.n) {
      size_t from = (size_t)(colon - t->data),
             to = line.at + line.n - (t->data[line.at + line.n - 1] == '\n');
      splice(t, from, to - from, "", 0);
      line = line_at(t, line.at);
    }
    at = line.at + (line.n ? line.n : 1);
  }
}

static void change(text *t) {
  switch (nxt_below(t->r, 14)) {
    case 0: delete_line(t); return;
    case 1: copy_line(t); return;
    case 2:
    case 3: change_operand(t); return;
    case 4:
    case 5: change_number(t); return;
    case 6: change_everywhere(t, NUMBER); return;
    case 7: change_everywhere(t, DTYPE); return;
    case 8: change_word(t); return;
    case 9: change_dtype(t); return;
    case 10: insert_extra(t); return;
    case 11: delete_token(t); return;
    case 12: add_statement(t); return;
    default: t->n = fuzz_mutate_bytes((uint8_t *)t->data, t->n, t->most, t->r); return;
  }
}

static size_t mutate(uint8_t *data, size_t n, size_t most, nxt_random *r, bool kernel) {
  text t = {(char *)data, n, most, r, kernel};
  for (int64_t i = nxt_below(r, 4); i >= 0; i--) change(&t);
  if (!kernel && nxt_chance(r, 70)) strip_types(&t);
  return t.n ? t.n : (data[0] = '\n', (size_t)(most > 0));
}

size_t fuzz_mutate_graph(uint8_t *data, size_t n, size_t most, nxt_random *r) {
  size_t made = n == 0 || nxt_below(r, 200) == 0 ? fuzz_make_graph(data, most, r) : 0;
  return made ? made : mutate(data, n, most, r, false);
}
size_t fuzz_mutate_kernel(uint8_t *data, size_t n, size_t most, nxt_random *r) {
  size_t made = n == 0 || nxt_below(r, 1000) == 0 ? fuzz_make_kernel(data, most, r) : 0;
  return made ? made : mutate(data, n, most, r, true);
}

/* Inserts lines of b between lines of a. */
size_t fuzz_cross_text(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                       uint8_t *out, size_t most, nxt_random *r) {
  text from = {(char *)(uintptr_t)b, b_size, b_size, r, false},
       to = {(char *)out, a_size, most, r, false};
  if (a_size > most) return 0;
  memcpy(out, a, a_size);
  for (int64_t i = nxt_below(r, 4); i >= 0 && b_size; i--) {
    token line = any_line(&from);
    splice(&to, any_line(&to).at, 0, from.data + line.at, line.n);
  }
  return to.n;
}
